"""Lost and invented values of one list that are much alike: most likely one value, read wrongly."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Final

from pytest_extract.core.results import FieldResult, Status
from pytest_extract.report.findings import Finding
from pytest_extract.report.values import show

ALIKE: Final = 0.6
_MOST_PAIRS: Final = 10_000
"""Pairs of lost and invented values of one field that are looked at; more would take time, and be read by nobody."""
_WIDTH: Final = 40


def with_nearest(findings: Sequence[Finding]) -> list[Finding]:
    """Note beside each lost text of a list the invented one that is most like it.

    Alignment pairs rows by their scores: texts that are not equal may have none, and then stand unpaired.
    """
    invented: dict[str, list[FieldResult]] = defaultdict(list)
    missing: dict[str, int] = defaultdict(int)
    for item, *_ in findings:
        if item.status is Status.HALLUCINATION and isinstance(item.extracted, str) and _in_array(item):
            invented[item.pattern].append(item)
        missing[item.pattern] += item.status is Status.OMISSION
    bounded = {name for name, others in invented.items() if missing[name] * len(others) <= _MOST_PAIRS}
    return [
        _noted(finding, invented[finding.result.pattern]) if finding.result.pattern in bounded else finding
        for finding in findings
    ]


def _in_array(item: FieldResult) -> bool:
    return any(type(step) is int for step in item.path)


def _noted(finding: Finding, invented: Sequence[FieldResult]) -> Finding:
    from rapidfuzz.distance import Indel

    item = finding.result
    if item.status is not Status.OMISSION or not isinstance(item.gold, str) or finding.note:
        return finding
    gold = item.gold
    alike = [(Indel.normalized_similarity(gold, str(other.extracted), score_cutoff=ALIKE), other) for other in invented]
    score, best = max(alike, key=lambda pair: pair[0])
    if score < ALIKE:
        return finding
    return finding._replace(note=f"much like {show(best.extracted, _WIDTH)}, invented at {best.matched or best.path}")
