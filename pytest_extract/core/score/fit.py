"""Best fit of tables: a pairing that is likely the best, and a proof that it is, for less than fitting them costs.

Most rows of an output are gold's, and most others differ in a cell or two. So rows stay in their places, or equal ones
are paired and then those most alike. Each pair has its loss, mostly 0, of which each of its two rows takes a share.
Nothing is better where any two rows of different pairs lose together what their shares add up to: summed up along an
exchange of partners, that is what its pairs lose now. Where one side has rows to spare, its rows take the whole loss;
then a row left over must lose, with any other, what the worst pair does. (The shares are the potentials of linear
programming duality, as in `align.proof`.) What two rows lose is bounded by their cells that are surely wrong.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from itertools import product
from math import isfinite
from operator import sub
from typing import Final

from pytest_extract.core.metrics.base import Reach
from pytest_extract.core.score.cells import is_plain, metric_of, rows_score, unlike
from pytest_extract.core.score.table import Pairs, Row, Table, identity
from pytest_extract.core.values import MISSING, Json, Missing

MOST_PAIRS: Final = 4_000
"""Pairs of rows that are looked at; longer lists are fitted at once."""
MOST_SCORED: Final = 60
"""Pairs that are scored because a look at them does not tell."""
_ROUNDING: Final = 1e-9
_NOTHING: Final = frozenset({type(None), Missing})
_NUMBERS: Final = frozenset({int, float})
_ALIKE: Final = (frozenset({str}), _NUMBERS, frozenset({bool}))
"""Types of which equal values have equal keys."""


def likely(table: Table, odd: Sequence[int]) -> Pairs | None:
    """Pair rows as they stand, where that is likely; else equal ones, then the most alike; None if that is too much.

    `odd`: the cells that differ where rows stand.
    """
    width = table.width
    height = len(table.gold) // width
    if len(table.gold) == len(table.extracted):
        unlike_rows = [row * width for row in {cell // width for cell in odd}]
        theirs = {(*table.extracted[cell : cell + width],) for cell in unlike_rows}
        if theirs.isdisjoint([(*table.gold[cell : cell + width],) for cell in unlike_rows]):
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
    """Pair the most alike of all, then the most alike of the others, and so on."""
    pairs: list[tuple[int, int]] = []
    left, right = {*rows}, {*columns}
    for _, _, i, j in sorted((unlike(ours[i], theirs[j]), abs(i - j), i, j) for i, j in product(rows, columns)):
        if i in left and j in right:
            pairs.append((i, j))
            left.remove(i)
            right.remove(j)
    return pairs


def proved(table: Table, pairs: Pairs, lost: dict[int, float]) -> bool:
    """Whether no pairing is better than this one; `lost`: what gold's rows lose that are not wholly right.

    False too where that is not proved at a low cost.
    """
    if not lost:
        return True
    if len(table.gold) * len(lost) > MOST_PAIRS * table.width:
        return False
    sure: list[int] = []
    enough = min(len(lost), 2)  # cells that differ: more than one row, or two, with one mistake each lose
    for place, values in _telling(table):
        if _is_sure(table, place, values):
            sure.append(place)
            if len(sure) == enough and _Proof(table, pairs, lost, sure, 0).holds():
                return True
    return bool(sure) and _Proof(table, pairs, lost, sure, MOST_SCORED).holds()


def _telling(table: Table) -> list[tuple[int, set[Json]]]:
    """Return the columns that count and what they hold, those first that tell most rows apart."""
    width, weights = table.width, table.bulk.weights
    columns = [
        (place, {*table.gold[place::width], *table.extracted[place::width]})
        for place in range(width)
        if weights[place] > 0
    ]
    return sorted((column for column in columns if len(column[1]) > 1), key=lambda column: -len(column[1]))


def _is_sure(table: Table, place: int, values: set[Json]) -> bool:
    """Whether any two cells of a column that differ score 0."""
    kinds = {*map(type, values)} - _NOTHING
    metric = metric_of(table.items.entries[place].plan)
    if metric is None or not any(kinds <= alike for alike in _ALIKE):
        return False
    values = values - {None, MISSING}
    if metric.key is not None:
        return len({*map(metric.key, values)}) == len(values)
    return metric.reach is not None and kinds <= _NUMBERS and _are_far(values, metric.reach)


def _are_far(numbers: Iterable[float], reach: Reach) -> bool:
    """Whether no number is within the reach of another; not where one is no finite number."""
    ordered = sorted(numbers)
    if len(ordered) < 2:
        return True
    largest = max(-ordered[0], ordered[-1])
    try:
        low, high = reach(largest)
        return isfinite(sum(ordered)) and min(map(sub, ordered[1:], ordered)) > max(largest - low, high - largest)
    except OverflowError:
        return False


class _Proof:
    """Rows by their cells that decide surely; each that differs loses `unit` of a pair's weight at least."""

    def __init__(self, table: Table, pairs: Pairs, lost: dict[int, float], sure: Sequence[int], scored: int) -> None:
        self.table = table
        self.pairs = pairs
        self.lost = lost
        self.scored = scored
        # what is not there is the same, whether it is null or missing
        self.gold, self.extracted = table.nulled().columns(sure) if table.ragged else table.columns(sure)
        self.unit = min(table.bulk.weights[place] for place in sure) / sum(table.bulk.weights)

    def holds(self) -> bool:
        flawed = [pair for pair in self.pairs if pair[0] in self.lost]
        right = [pair for pair in self.pairs if pair[0] not in self.lost]
        ours, theirs = len(self.gold), len(self.extracted)
        return self._balanced(flawed, right) if ours == theirs else self._left_over(flawed, gold=ours > theirs)

    def _balanced(self, flawed: Pairs, right: Pairs) -> bool:
        """Prove it where all rows are paired."""
        ours, theirs = {self.gold[i] for i, _ in right}, {self.extracted[j] for _, j in right}
        shares: dict[int, float] = {}
        for i, j in flawed:
            lost = self.lost[i]
            if lost / 2 <= self.unit + _ROUNDING and self.gold[i] not in theirs and self.extracted[j] not in ours:
                shares[i] = lost / 2  # no right row is the same, and one cell that differs is enough
                continue
            row = min((self._loss(i, k, lost / 2) for _, k in right), default=1.0)
            column = min((self._loss(n, j, lost - row) for n, _ in right), default=1.0)
            if row + column < lost - _ROUNDING:
                row = min((self._loss(i, k, lost - column) for _, k in right), default=1.0)
            if row + column < lost - _ROUNDING:
                return False
            shares[i] = (row + lost - column) / 2
        mutual = ((i, j, shares[i] + self.lost[n] - shares[n]) for i, _ in flawed for n, j in flawed if i != n)
        return all(self._loses(i, j, least) for i, j, least in mutual)

    def _left_over(self, flawed: Pairs, *, gold: bool) -> bool:
        """Prove it where one side has rows to spare: gold, or what was extracted."""
        most = max(self.lost.values())
        if gold:
            left = {*range(len(self.gold))} - {i for i, _ in self.pairs}
            own = [(i, k, self.lost[i]) for i, _ in flawed for _, k in self.pairs]
            spare = [(i, j, most) for i in left for _, j in self.pairs]
        else:
            left = {*range(len(self.extracted))} - {j for _, j in self.pairs}
            own = [(n, j, self.lost[i]) for i, j in flawed for n, _ in self.pairs]
            spare = [(i, j, most) for j in left for i, _ in self.pairs]
        return all(self._loses(*one) for one in own + spare)

    def _loses(self, row: int, other: int, least: float) -> bool:
        """Whether a gold row with an extracted row loses this."""
        return self._loss(row, other, least) >= least - _ROUNDING

    def _loss(self, row: int, other: int, least: float) -> float:
        """Return what a gold row with an extracted row loses at least; exactly, where that may be less than this."""
        known = unlike(self.gold[row], self.extracted[other]) * self.unit
        if known >= least - _ROUNDING:
            return known
        self.scored -= 1
        if self.scored < 0 or not is_plain(self.table):
            return known
        width, (gold, extracted) = self.table.width, (self.table.gold, self.table.extracted)
        ours, theirs = gold[row * width : (row + 1) * width], extracted[other * width : (other + 1) * width]
        return 1.0 - rows_score(self.table, ours, theirs)
