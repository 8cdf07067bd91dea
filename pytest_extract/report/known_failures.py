"""Known failures of a run as lines: out of the verdict, but still told, above all those that pass by now."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from pytest_extract.core.case_result import CaseResult
from pytest_extract.report.findings import failing, split_known, stale_known
from pytest_extract.report.lines import Line, Span, line, plural, safe_prose
from pytest_extract.report.pattern_counts import read_scores

_MOST: Final = 5


@dataclass(slots=True)
class KnownTotals:
    """Known failures of a run: values that fail as known, their cases, and places where nothing fails any more."""

    values: int = 0
    cases: int = 0
    stale: list[str] = field(default_factory=list)

    def add(self, result: CaseResult) -> None:
        """Add a case."""
        failing, passing = _of(result)
        self.values += failing
        self.cases += failing > 0
        self.stale += [f"{place} ({result.nodeid.rpartition('::')[2]})" for place in passing]


def known_lines(known: KnownTotals) -> list[Line]:
    """Count the values that fail as known, and name the known failures of which nothing fails any more."""
    lines: list[Line] = []
    if known.values:
        told = f"{plural(known.values, 'value')} in {plural(known.cases, 'case')}, not in the verdict"
        lines.append(line(Span("known failures", "head"), f": {told}"))
    if known.stale:
        more = f", and {len(known.stale) - _MOST:,} more" if len(known.stale) > _MOST else ""
        told = f": {safe_prose(', '.join(known.stale[:_MOST]))}{more} (take out of known_failures)"
        lines.append(line(Span("known failures that pass now", "warn"), told))
    return lines


def _of(result: CaseResult) -> tuple[int, list[str]]:
    """Count the values of a case that fail as known; name what passes in all of its repeats."""
    scores = read_scores(result)
    if not result.known or not scores:
        return 0, []
    excused = [split_known(score, result.known).known for score in scores]
    count = sum(len(failing(results)) for results in excused)
    passing = [stale_known(results, result.known) for results in excused]
    return count, [place for place in passing[0] if all(place in places for places in passing)]
