"""Best fit of tables: a pairing that is likely the best. `score.proof` says whether it is.

Most rows of an output are gold's, and most others differ in a cell or two. So rows stay in their places, or equal ones
are paired and then those most alike.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from itertools import product

from pytest_extract.core.align.ties import in_order
from pytest_extract.core.score.cells import unlike
from pytest_extract.core.score.proof import MOST_PAIRS
from pytest_extract.core.score.table import Pairs, Row, Table, identity


def likely(table: Table) -> Pairs | None:
    """Pair rows as they stand, where that is likely; else equal ones, then the most alike; None if that is too much."""
    width = table.width
    height = len(table.gold) // width
    if len(table.gold) == len(table.extracted):
        unlike_rows = [row * width for row in {cell // width for cell in table.glance.odd}]
        theirs = {(*table.extracted[cell : cell + width],) for cell in unlike_rows}
        if len(unlike_rows) == 1 or theirs.isdisjoint([(*table.gold[cell : cell + width],) for cell in unlike_rows]):
            # what cannot be proved at a low cost is not worth scoring first
            return identity(height) if len(unlike_rows) * height <= MOST_PAIRS else None
    return _moved(*table.rows())


def _moved(ours: Sequence[Row], theirs: Sequence[Row]) -> Pairs | None:
    """Pair equal rows, those in the same place first, then the others as they are most alike."""
    pairs = [(i, i) for i, (one, other) in enumerate(zip(ours, theirs, strict=False)) if one == other]
    pairs += _equal(ours, theirs, *_left(pairs, len(ours), len(theirs)))
    left = _left(pairs, len(ours), len(theirs))
    if len(left[0]) * len(left[1]) > MOST_PAIRS:
        return None
    return sorted(pairs + _most_alike(ours, theirs, *left))


def _left(pairs: Pairs, height: int, width: int) -> tuple[list[int], list[int]]:
    rows, columns = {i for i, _ in pairs}, {j for _, j in pairs}
    return [i for i in range(height) if i not in rows], [j for j in range(width) if j not in columns]


def _equal(
    ours: Sequence[Hashable], theirs: Sequence[Hashable], rows: Iterable[int], columns: Sequence[int]
) -> list[tuple[int, int]]:
    waiting: dict[Hashable, list[int]] = {}
    for j in reversed(columns):
        waiting.setdefault(theirs[j], []).append(j)
    return [(i, waiting[ours[i]].pop()) for i in rows if waiting.get(ours[i])]


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
