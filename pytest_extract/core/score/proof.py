"""A proof that rows are paired at their best, for less than fitting them costs.

Each pair has its loss, mostly 0, of which each of its two rows takes a share. Nothing is better where any two rows of
different pairs lose together what their shares add up to: summed up along an exchange of partners, that is what its
pairs lose now. (The shares are the potentials of linear programming duality, as in `align.proof`.) Half and half mostly
does; where a row equals one of another pair, its partner takes all. Where one side has rows to spare, its rows take the
whole loss; then a row left over must lose, with any other, what the worst pair does.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from functools import cached_property
from math import inf, isfinite
from operator import ne
from typing import Final, NamedTuple, TypeAlias

from pytest_extract.core.metrics.base import Reach
from pytest_extract.core.score.run import there
from pytest_extract.core.score.table import ABSENT, Pairs, Table
from pytest_extract.core.values import MISSING, Json

Compare: TypeAlias = Callable[[Json, Json], float]
Needs: TypeAlias = Sequence[tuple[int, float]]
"""Rows of the other side, and which share of its weight a pair with each is to lose at least."""
MOST_PAIRS: Final = 4_000
"""Pairs of rows that are looked at; longer lists are fitted at once."""
MOST_COMPARED: Final = 200
"""Cells that are compared by a metric that is no equality."""
_NUMBERS: Final = frozenset({int, float})
_ROUNDING: Final = 1e-9


def proved(table: Table, pairs: Pairs, lost: Mapping[int, float], *, placed: bool) -> bool:
    """Whether no pairing is better than this one; `lost`: what gold's rows lose that are not wholly right.

    `placed`: whether the pairs are all rows as they stand. False too where that is not proved at a low cost.
    """
    if not lost:
        return True
    if len(table.gold) * len(lost) > MOST_PAIRS * table.width:
        return False
    if placed and _columns_tell(table, lost):
        return True
    flawed = [pair for pair in pairs if pair[0] in lost]
    losses = _Losses(table)
    if len(table.gold) == len(table.extracted):
        return _balanced(losses, flawed, [pair for pair in pairs if pair[0] not in lost], lost)
    return _left_over(losses, flawed, pairs, lost, gold=len(table.gold) > len(table.extracted))


def _columns_tell(table: Table, lost: Mapping[int, float]) -> bool:
    """Whether some columns each tell every row with a mistake surely from all others, and weigh enough together.

    Rows stand in their places. Most lists with a mistake end here, so the quickest looks come first.
    """
    bulk, width = table.bulk, table.width
    wanted = (sum(sorted(lost.values())[-2:]) / 2 - _ROUNDING) * (bulk.weight or sum(bulk.weights))
    for place, metric in enumerate(bulk.likeness):
        if metric is None or (metric.key is None and metric.reach is None):
            continue
        ours, theirs = table.gold[place::width], table.extracted[place::width]
        if not _alone(ours, theirs, lost):
            continue  # what is equal has equal keys and is within reach
        if metric.reach is not None:
            tells = _far(ours, theirs, lost, metric.reach)
        elif metric.key is not None and ABSENT.isdisjoint(map(type, [*ours, *theirs])):
            tells = _alone([*map(metric.key, ours)], [*map(metric.key, theirs)], lost)
        else:
            tells = False
        wanted -= bulk.weights[place] if tells else 0.0
        if wanted <= 0.0:
            return True
    return False


def _alone(ours: Sequence[Json], theirs: Sequence[Json], rows: Iterable[int]) -> bool:
    """Whether no other row has what one of these rows has, on either side."""
    for row in rows:
        own, other = ours[row], theirs[row]
        same = int(own == other)
        if theirs.count(own) != same or ours.count(other) != same:
            return False
    return True


def _far(ours: Sequence[Json], theirs: Sequence[Json], rows: Iterable[int], reach: Reach) -> bool:
    """Whether the numbers of these rows are out of reach of every other row's."""
    if not _NUMBERS.issuperset(map(type, ours)) or not _NUMBERS.issuperset(map(type, theirs)):
        return False
    try:
        reaches = [reach(number) for number in ours]
        finite = isfinite(sum(ours) + sum(theirs))
    except OverflowError:
        return False
    return finite and all(_out_of_reach(row, reaches, theirs) for row in rows)


def _out_of_reach(row: int, reaches: Sequence[tuple[float, float]], theirs: Sequence[float]) -> bool:
    (low, high), own = reaches[row], theirs[row]
    partner = int(low <= own <= high)
    if [low <= number <= high for number in theirs].count(True) != partner:
        return False
    return [low <= own <= high for low, high in reaches].count(True) == partner


def _balanced(losses: _Losses, flawed: Pairs, right: Pairs, lost: Mapping[int, float]) -> bool:
    """Prove it where all rows are paired."""
    gold, extracted = losses.keys
    ours, theirs = {gold[n] for n, _ in right}, {extracted[k] for _, k in right}
    shares: dict[int, float] = {}
    for i, j in flawed:
        half = lost[i] / 2
        if half <= losses.unit and gold[i] not in theirs and extracted[j] not in ours:
            shares[i] = half  # one cell that differs is enough, and no right row is the same
            continue
        for share in (half, 0.0, lost[i]):
            rest, enough = lost[i] - share, losses.unit
            row = [(k, share) for _, k in right if share > enough or extracted[k] == gold[i]]
            column = [(n, rest) for n, _ in right if rest > enough or gold[n] == extracted[j]]
            if losses.of_gold(i, row) and losses.of_extracted(j, column):
                shares[i] = share
                break
        else:
            return False
    mutual = [(i, j, shares[i] + lost[n] - shares[n]) for i, _ in flawed for n, j in flawed if i != n]
    return all(
        sum(map(ne, gold[i], extracted[j])) * losses.unit >= least or losses.of_gold(i, [(j, least)])
        for i, j, least in mutual
    )


def _left_over(losses: _Losses, flawed: Pairs, pairs: Pairs, lost: Mapping[int, float], *, gold: bool) -> bool:
    """Prove it where one side has rows to spare: gold, or what was extracted."""
    most = max(lost.values())
    if gold:
        left = {*range(losses.rows[0])} - {i for i, _ in pairs}
        own = all(losses.of_gold(i, [(k, lost[i]) for _, k in pairs if k != j]) for i, j in flawed)
        return own and all(losses.of_gold(i, [(j, most) for _, j in pairs]) for i in left)
    left = {*range(losses.rows[1])} - {j for _, j in pairs}
    own = all(losses.of_extracted(j, [(n, lost[i]) for n, _ in pairs if n != i]) for i, j in flawed)
    return own and all(losses.of_extracted(j, [(i, most) for i, _ in pairs]) for j in left)


class _Column(NamedTuple):
    """A column that counts: keys where its metric is an equality, else its cells and how they compare."""

    weight: float
    gold: Sequence[Hashable]
    extracted: Sequence[Hashable]
    compare: Compare | None


_Own: TypeAlias = tuple[_Column, Json, Sequence[Json], Compare | None]
"""A column, what the row has in it, what the others have, and how the row's is compared with theirs."""


class _Losses:
    """What rows lose with others: at least what their cells lose, looked at column by column until that is enough.

    keys: of gold's and of the extracted rows, in the columns where any two cells that differ score 0.
    unit: which share of its weight a pair loses at least by each of those.
    """

    def __init__(self, table: Table) -> None:
        width, weights = table.width, table.bulk.weights
        self.rows = len(table.gold) // width, len(table.extracted) // width
        self._compared = 0
        self._total = sum(weights)
        columns = [column for place in range(width) if weights[place] > 0 and (column := _column(table, place))]
        self._columns = sorted(columns, key=lambda column: column.compare is not None)
        sure = [column for column in columns if column.compare is None]
        self.unit = min([column.weight for column in sure]) / self._total + _ROUNDING if sure else 0.0
        sides = [column.gold for column in sure], [column.extracted for column in sure]
        gold, extracted = (
            [*zip(*side, strict=True)] or [()] * rows for side, rows in zip(sides, self.rows, strict=True)
        )
        self.keys = gold, extracted
        self._table = table

    def of_gold(self, row: int, needs: Needs) -> bool:
        """Whether a row of gold loses enough with each of some extracted ones."""
        columns = [(column, column.gold[row], column.extracted, column.compare) for column in self._columns]
        return self._loses(columns, needs, lambda other: self._weight(row, other))

    def of_extracted(self, row: int, needs: Needs) -> bool:
        """Whether an extracted row loses enough with each of some of gold."""
        columns = [
            (column, column.extracted[row], column.gold, column.compare and _swapped(column.compare))
            for column in self._columns
        ]
        return self._loses(columns, needs, lambda other: self._weight(other, row))

    def _loses(self, columns: Sequence[_Own], needs: Needs, weight: Callable[[int], float]) -> bool:
        """Look at all columns as if rows weighed all that they can; at what is left then, with what they do weigh."""
        short = self._left(columns, [(other, need * self._total) for other, need in needs if need > _ROUNDING])
        if not short:
            return True
        if all(map(all, self._gaps)):
            return False
        others = {other for other, _ in short}
        # rows that neither have anything lose nothing
        return not self._left(
            columns, [(other, need * weight(other) or inf) for other, need in needs if other in others]
        )

    def _left(self, columns: Sequence[_Own], left: Needs) -> Needs:
        """Return what is still to be lost."""
        for column, own, others, compare in columns:
            if not left:
                break
            left = self._less(left, column, own, others, compare)
        return left

    @cached_property
    def _gaps(self) -> Sequence[Sequence[bool]]:
        return tuple([there(cell) for cell in side] for side in (self._table.gold, self._table.extracted))

    def _weight(self, row: int, other: int) -> float:
        """Return what two rows weigh: cells that neither has do not count."""
        width = self._table.width
        ours, theirs = (
            self._gaps[0][row * width : (row + 1) * width],
            self._gaps[1][other * width : (other + 1) * width],
        )
        held = zip(self._table.bulk.weights, ours, theirs, strict=True)
        return sum([weight for weight, one, two in held if one or two])

    def _less(
        self, left: Needs, column: _Column, own: Json, others: Sequence[Json], compare: Compare | None
    ) -> list[tuple[int, float]]:
        """Return what is still to be lost when this column is looked at."""
        weight = column.weight
        if compare is None:
            less = [(other, need if others[other] == own else need - weight) for other, need in left]
        elif left and self._compared < MOST_COMPARED:
            self._compared += len(left)
            less = [(other, need - weight * _loss(compare, own, others[other])) for other, need in left]
        else:
            return [*left]
        return [(other, need) for other, need in less if need > _ROUNDING]


def _swapped(compare: Compare) -> Compare:
    return lambda extracted, gold: compare(gold, extracted)


def _loss(compare: Compare, own: Json, other: Json) -> float:
    if there(own) and there(other):
        return 1.0 - compare(own, other)
    return 1.0 if there(own) or there(other) else 0.0


def _column(table: Table, place: int) -> _Column | None:
    """Return a column; None where its values are all the same, or are transformed before they are compared."""
    metric, weight = table.bulk.likeness[place], table.bulk.weights[place]
    if metric is None:
        return None
    cells = table.gold[place :: table.width], table.extracted[place :: table.width]
    if len({*cells[0], *cells[1]}) < 2:
        return None
    # what is not there is the same, whether it is null or missing
    sides = [[MISSING if cell is None else cell for cell in side] for side in cells]
    key = metric.key
    if key is not None:
        ours, theirs = ([cell if cell is MISSING else key(cell) for cell in side] for side in sides)
        return _Column(weight, ours, theirs, None)
    numbers = [cell for side in sides for cell in side if cell is not MISSING]
    sure = metric.reach is not None and _are_far(numbers, metric.reach)
    return _Column(weight, sides[0], sides[1], None if sure else metric.compare)


def _are_far(cells: Sequence[Json], reach: Reach) -> bool:
    """Whether cells are numbers of which none is within the reach of another."""
    ordered = sorted({*cells}) if _NUMBERS.issuperset(map(type, cells)) else []
    try:
        reaches = [reach(number) for number in ordered]
        finite = isfinite(sum(ordered))
    except OverflowError:
        return False
    return (
        finite
        and bool(ordered)
        and all(
            below[1] < above and reaches[place][0] > ordered[place - 1]
            for place, (below, above) in enumerate(zip(reaches, ordered[1:], strict=False), 1)
        )
    )
