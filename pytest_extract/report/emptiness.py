"""What a number does not rest on: passes without a value on either side, gold values that are compared with nothing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from pytest_extract.core.case_result import CaseResult
from pytest_extract.core.results import ScoreRecord, Status
from pytest_extract.core.uncompared import uncompared_text
from pytest_extract.report.lines import Line, line, plural, prose, safe_prose
from pytest_extract.report.tallies import read_scores

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


def emptiness_lines(results: Sequence[CaseResult], *, width: int, verbosity: int = 0) -> list[Line]:
    """Name the cases most of whose passed fields are empty, and count the gold values that no comparison reaches."""
    return [*_empty_lines(results, width, verbosity), *_uncompared_lines(results, width, verbosity)]


def _empty_lines(results: Sequence[CaseResult], width: int, verbosity: int) -> list[Line]:
    found = {result.nodeid: told for result in results if (told := mostly_empty(result)) is not None}
    if not found:
        return []
    named = [f"{nodeid.rpartition('::')[2]} ({told})" for nodeid, told in found.items()]
    shown = named if verbosity > 0 else named[:_MOST]
    more = f", and {len(named) - len(shown):,} more (-v shows all)" if len(shown) < len(named) else ""
    head = f"{BY_EMPTINESS}, without a value on either side, in {plural(len(found), 'case')}:"
    return prose(f"{head} {', '.join(shown)}{more}", "warn", indent=0, width=width)


def _uncompared_lines(results: Sequence[CaseResult], width: int, verbosity: int) -> list[Line]:
    by_case = {(result.file, result.case_id): result for result in results if result.uncompared}
    if not by_case:
        return []
    places: dict[str, int] = {}
    total = 0
    for result in by_case.values():
        total += result.shape.get("leaves", 0)
        for pattern, count in result.uncompared.items():
            places[pattern] = places.get(pattern, 0) + count
    text = f"{uncompared_text(places, total)}, in {plural(len(by_case), 'case')}"
    lines = prose(text, "warn", indent=0, width=width)
    if verbosity > 0:
        for (_, case_id), result in by_case.items():
            told = f"{case_id}: {uncompared_of(result)}"
            lines += [line(safe_prose(told), indent=2)]
    return lines


def uncompared_of(result: CaseResult) -> str | None:
    """Say how many gold values of a case are compared with nothing; None where all are compared."""
    return uncompared_text(result.uncompared, result.shape.get("leaves", 0)) if result.uncompared else None
