"""Lists that hold the same rows in another order: seen before anything is compared."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable, Sequence

from pytest_extract.core.matching.columns import Column, Items, strict_keys

Pairs = list[tuple[int, int]]


def pair_all_equal(columns: Sequence[Column | Items], length: int) -> Pairs | None:
    """Pair two lists of this length row by row where they hold the same rows, equal ones in order; else None.

    Equal means the same JSON of the same types. None too where a metric does not find every value equal to itself.
    """
    if not all(map(_is_reflexive, columns)):
        return None
    gold, extracted = [], []
    for column in columns:
        gold.append(_values(column, gold=True))
        extracted.append(_values(column, gold=False))
        if set(gold[-1]) != set(extracted[-1]):
            return None
    rows = _rows(gold, length)
    waiting: defaultdict[Hashable, list[int]] = defaultdict(list)
    for index, row in enumerate(_rows(extracted, length)):
        waiting[row].append(index)
    if Counter(rows) != {row: len(places) for row, places in waiting.items()}:
        return None
    queues = {row: iter(places) for row, places in waiting.items()}
    return [(index, next(queues[row])) for index, row in enumerate(rows)]


def _is_reflexive(column: Column | Items) -> bool:
    if isinstance(column, Items):
        return not any(column.hallucinated or ()) and all(map(_is_reflexive, column.columns))
    return column.metric is not None and column.metric.reflexive


def _rows(columns: Sequence[Sequence[Hashable]], length: int) -> list[Hashable]:
    return list(zip(*columns, strict=True)) if columns else [()] * length


def _values(column: Column | Items, *, gold: bool) -> list[Hashable]:
    if isinstance(column, Column):
        return strict_keys(column.gold if gold else column.extracted)
    counts = column.gold if gold else column.extracted
    inside = [_values(inner, gold=gold) for inner in column.columns]
    elements = iter(_rows(inside, sum(counts)))
    return [frozenset(Counter(next(elements) for _ in range(count)).items()) for count in counts]
