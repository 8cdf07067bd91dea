"""What a number does not rest on: passes without a value on either side, gold values that are compared with nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from pytest_extract.core.case_result import CaseResult
from pytest_extract.core.results import ScoreRecord, Status
from pytest_extract.core.uncompared import uncompared_text
from pytest_extract.report.lines import Line, line, plural, prose, safe_prose
from pytest_extract.report.pattern_counts import read_scores

_MOST: Final = 5
BY_EMPTINESS: Final = "right by emptiness"


class EmptyPasses(NamedTuple):
    """Passed field results of an output, and how many of them have no value on either side.

    compared: whether there is any result that counts.
    """

    empty: int
    passed: int
    compared: bool

    @classmethod
    def of(cls, score: ScoreRecord) -> EmptyPasses:
        """Count the field results of a score."""
        compared = any(result.status is not Status.SKIPPED for result in (*score.fields, *score.leaves))
        return cls(score.empty_passes, sum(result.passed for result in score.fields), compared)

    @property
    def is_most(self) -> bool:
        """Whether the pass rate says little: nothing was compared, or most of what passed is empty on both sides."""
        return not self.compared or self.empty > self.passed - self.empty

    def __str__(self) -> str:
        if not self.compared:
            return "nothing was compared"
        return f"{self.empty:,} of {plural(self.passed, 'passed field')}"


def mostly_empty(result: CaseResult) -> EmptyPasses | None:
    """Return the passes of the first repeat of a case that are mostly or all empty, None where none is."""
    return next((passes for passes in map(EmptyPasses.of, read_scores(result)) if passes.is_most), None)


class UncomparedCase(NamedTuple):
    """Gold values of a case that are compared with nothing, by pattern; `total`: all of its gold values."""

    case_id: str
    places: Mapping[str, int]
    total: int

    @classmethod
    def of(cls, result: CaseResult) -> UncomparedCase | None:
        """Return those of a case; None where all gold values are compared."""
        if not result.uncompared:
            return None
        return cls(result.case_id, result.uncompared, result.shape.get("leaves", 0))

    def __str__(self) -> str:
        return uncompared_text(self.places, self.total)


@dataclass(slots=True)
class EmptinessTotals:
    """Cases of a run whose passes are mostly empty, by node id; gold values that no comparison reaches, by case."""

    passes: dict[str, EmptyPasses] = field(default_factory=dict)
    uncompared: dict[tuple[str, str], UncomparedCase] = field(default_factory=dict)

    @classmethod
    def of(cls, results: Iterable[CaseResult]) -> EmptinessTotals:
        """Add up cases."""
        totals = cls()
        for result in results:
            totals.add(result)
        return totals

    def add(self, result: CaseResult) -> None:
        """Add a case."""
        if (passes := mostly_empty(result)) is not None:
            self.passes[result.nodeid] = passes
        if (uncompared := UncomparedCase.of(result)) is not None:
            self.uncompared[result.file, result.case_id] = uncompared


def emptiness_lines(totals: EmptinessTotals, *, width: int, verbosity: int = 0) -> list[Line]:
    """Name the cases most of whose passed fields are empty, and count the gold values that no comparison reaches."""
    return [*_empty_lines(totals.passes, width, verbosity), *_uncompared_lines(totals, width, verbosity)]


def _empty_lines(passes: Mapping[str, EmptyPasses], width: int, verbosity: int) -> list[Line]:
    if not passes:
        return []
    named = [f"{nodeid.rpartition('::')[2]} ({count})" for nodeid, count in passes.items()]
    shown = named if verbosity > 0 else named[:_MOST]
    more = f", and {len(named) - len(shown):,} more (-v shows all)" if len(shown) < len(named) else ""
    head = f"{BY_EMPTINESS}, without a value on either side, in {plural(len(passes), 'case')}:"
    return prose(f"{head} {', '.join(shown)}{more}", "warn", indent=0, width=width)


def _uncompared_lines(totals: EmptinessTotals, width: int, verbosity: int) -> list[Line]:
    cases = totals.uncompared.values()
    if not cases:
        return []
    places: Counter[str] = Counter()
    for case in cases:
        places.update(case.places)
    text = f"{uncompared_text(places, sum(case.total for case in cases))}, in {plural(len(cases), 'case')}"
    lines = prose(text, "warn", indent=0, width=width)
    if verbosity > 0:
        lines += [line(safe_prose(f"{case.case_id}: {case}"), indent=2) for case in cases]
    return lines
