"""Lists that hold the same rows in another order: seen before anything is compared."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable, Sequence

from pytest_extract.core.columns import Column, Items, strict_keys

Pairs = list[tuple[int, int]]


def pair_all_equal(columns: Sequence[Column | Items], length: int) -> Pairs | None:
    """Pair two lists of this length row by row where they hold the same rows, equal ones in order; else None.

    Equal means the same JSON of the same types. None too where a metric does not find every value equal to itself.
    """
    if not all(map(_is_reflexive, columns)):
        return None
    waiting: defaultdict[Hashable, list[int]] = defaultdict(list)
    for index, row in enumerate(_rows(columns, length, gold=False)):
        waiting[row].append(index)
    rows = _rows(columns, length, gold=True)
    if Counter(rows) != {row: len(places) for row, places in waiting.items()}:
        return None
    queues = {row: iter(places) for row, places in waiting.items()}
    return [(index, next(queues[row])) for index, row in enumerate(rows)]


def _is_reflexive(column: Column | Items) -> bool:
    if isinstance(column, Items):
        return not any(column.hallucinated or ()) and all(map(_is_reflexive, column.columns))
    return column.metric is not None and column.metric.reflexive


def _rows(columns: Sequence[Column | Items], length: int, *, gold: bool) -> list[Hashable]:
    if not columns:
        return [()] * length
    return list(zip(*(_values(column, gold=gold) for column in columns), strict=True))


def _values(column: Column | Items, *, gold: bool) -> list[Hashable]:
    if isinstance(column, Column):
        return strict_keys(column.gold if gold else column.extracted)
    counts = column.gold if gold else column.extracted
    elements = iter(_rows(column.columns, sum(counts), gold=gold))
    return [frozenset(Counter(next(elements) for _ in range(count)).items()) for count in counts]
