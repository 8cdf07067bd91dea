"""Best fit of tables: a pairing that is likely the best. `score.proof` says whether it is.

Most rows of an output are gold's, and most others differ in a cell or two. So rows stay in their places, or equal ones
are paired and then those most alike.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from itertools import product
from typing import Final

from pytest_extract.core.engine.cells import unlike
from pytest_extract.core.engine.table import Pairs, Row, Table, identity
from pytest_extract.core.matching.pairing import paired
from pytest_extract.core.matching.ties import equal_in_order, in_order

MOST_PAIRS: Final = 4_000
"""Rows that are compared to find the most alike; more are fitted at once."""


def likely(table: Table) -> Pairs | None:
    """Pair rows as they stand, where that is likely; else equal ones, then the most alike; None if that is too much."""
    width = table.width
    height = len(table.gold) // width
    if len(table.gold) == len(table.extracted):
        unlike_rows = [row * width for row in {cell // width for cell in table.glance.odd}]
        if len(unlike_rows) == 1:
            return identity(height)
        theirs = {(*table.extracted[cell : cell + width],) for cell in unlike_rows}
        if theirs.isdisjoint([(*table.gold[cell : cell + width],) for cell in unlike_rows]):
            return identity(height)
    return _moved(*table.rows())


def _moved(ours: Sequence[Row], theirs: Sequence[Row]) -> Pairs | None:
    """Pair equal rows, then the others as they are most alike; which of several equal rows these are goes by order."""
    pairs = _equal(ours, theirs)
    if len(pairs) < min(len(ours), len(theirs)):
        _, rows, columns = paired(pairs, len(ours), len(theirs))
        if len(rows) * len(columns) > MOST_PAIRS:
            return None
        pairs += _most_alike(ours, theirs, rows, columns)
    return equal_in_order(pairs, ours, theirs)


def _equal(ours: Sequence[Hashable], theirs: Sequence[Hashable]) -> list[tuple[int, int]]:
    waiting: dict[Hashable, list[int]] = {}
    for j in range(len(theirs) - 1, -1, -1):
        waiting.setdefault(theirs[j], []).append(j)
    return [(i, waiting[row].pop()) for i, row in enumerate(ours) if waiting.get(row)]


def _most_alike(
    ours: Sequence[Row], theirs: Sequence[Row], rows: Sequence[int], columns: Sequence[int]
) -> list[tuple[int, int]]:
    """Pair the most alike of all, then the most alike of the others, and so on; in order, where that is no worse."""
    pairs: list[tuple[int, int]] = []
    left, right = {*rows}, {*columns}
    for _, _, i, j in sorted((unlike(ours[i], theirs[j]), abs(i - j), i, j) for i, j in product(rows, columns)):
        if i in left and j in right:
            pairs.append((i, j))
            left.remove(i)
            right.remove(j)
    return in_order(pairs, lambda i, j: 1.0 - unlike(ours[i], theirs[j]) / len(ours[i]))
