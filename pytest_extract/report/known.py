"""Known failures of a run as lines: out of the verdict, but still told, above all those that pass by now."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from pytest_extract.core.case_result import CaseResult
from pytest_extract.report.findings import failing, split_known, stale_known
from pytest_extract.report.lines import Line, Span, line, plural, safe_prose
from pytest_extract.report.tallies import read_scores

_MOST: Final = 5


def known_lines(results: Sequence[CaseResult]) -> list[Line]:
    """Count the values that fail as known, and name the known failures of which nothing fails any more."""
    values = 0
    cases: set[str] = set()
    stale: list[str] = []
    for result in results:
        count, passing = _of(result)
        values += count
        if count:
            cases.add(result.nodeid)
        stale += [f"{place} ({result.nodeid.rpartition('::')[2]})" for place in passing]
    lines: list[Line] = []
    if values:
        told = f"{plural(values, 'value')} in {plural(len(cases), 'case')}, not in the verdict"
        lines.append(line(Span("known failures", "head"), f": {told}"))
    if stale:
        more = f", and {len(stale) - _MOST:,} more" if len(stale) > _MOST else ""
        told = f": {safe_prose(', '.join(stale[:_MOST]))}{more} (take out of known_failures)"
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
