"""Lost and invented values of one list that are much alike: most likely one value, read wrongly."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Final

from pytest_extract.report.entries import Entry
from pytest_extract.report.values import show

ALIKE: Final = 0.6
_MOST_PAIRS: Final = 10_000
"""Pairs of lost and invented values of one field that are looked at; more would take time, and be read by nobody."""
_WIDTH: Final = 40


def with_nearest(entries: Sequence[Entry]) -> list[Entry]:
    """Note beside each lost text of a list the invented one that is most like it.

    Alignment pairs rows by their scores: texts that are not equal may have none, and then stand unpaired.
    """
    invented: dict[str, list[Entry]] = defaultdict(list)
    lost: dict[str, int] = defaultdict(int)
    for item in entries:
        if item.status == "hallucination" and isinstance(item.extracted, str) and "[" in item.path:
            invented[item.pattern].append(item)
        lost[item.pattern] += item.status == "omission"
    bounded = {name for name, others in invented.items() if lost[name] * len(others) <= _MOST_PAIRS}
    return [_noted(item, invented[item.pattern]) if item.pattern in bounded else item for item in entries]


def _noted(item: Entry, invented: Sequence[Entry]) -> Entry:
    from rapidfuzz.distance import Indel

    if item.status != "omission" or not isinstance(item.gold, str) or item.note:
        return item
    gold = item.gold
    alike = [(Indel.normalized_similarity(gold, str(other.extracted), score_cutoff=ALIKE), other) for other in invented]
    score, best = max(alike, key=lambda pair: pair[0])
    if score < ALIKE:
        return item
    return item._replace(note=f"much like {show(best.extracted, _WIDTH)}, invented at {best.matched or best.path}")
