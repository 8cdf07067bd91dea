"""Rows of flat objects laid out as cells: what is equal is seen by C loops, only cells that differ are looked at."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import chain, compress, count, repeat
from operator import is_not, ne
from typing import Final, NamedTuple, TypeAlias

from pytest_extract.core.compile.nodes import SCALARS, Array, FlatTable, Object
from pytest_extract.core.engine.context import Path, ScoringContext
from pytest_extract.core.values import MISSING, FieldPath, Json, Missing

Pairs: TypeAlias = Sequence[tuple[int, int]]
Rows: TypeAlias = Sequence[Json]
Cells: TypeAlias = Sequence[Json | Missing]
Row: TypeAlias = tuple[Json | Missing, ...]
_new: Final = tuple.__new__
_MISSINGS: Final = repeat(MISSING)
_DICT: Final = frozenset({dict})
ABSENT: Final = frozenset({type(None), Missing})
_CELLS: Final = SCALARS | ABSENT


class RowFit(NamedTuple):
    """The score of a pair of rows; `lost`: the share of its weight that is wrong, undecided leaves included.

    `apart`: its rows have nothing in common, and best fit had better leave them apart.
    """

    score: float
    lost: float
    apart: bool


class CellDiff(NamedTuple):
    """How the cells of two tables compare, by their places, ascending.

    differing: cells with unlike values or types, and those of which a metric is not sure. both_absent: cells that
    neither side has, which give no result.
    """

    differing: Sequence[int]
    both_absent: Sequence[int]


NO_DIFFERENCE: Final = CellDiff((), ())


class Table(NamedTuple):
    """Two lists of flat objects, laid out: their cells, row after row in the order of the schema, and their types.

    `diff`: of the rows as they stand, empty where there are more on one side.
    """

    items: Object
    bulk: FlatTable
    gold: Cells
    extracted: Cells
    diff: CellDiff

    @property
    def width(self) -> int:
        """Cells in a row."""
        return len(self.bulk.patterns)

    def rows(self) -> tuple[list[Row], list[Row]]:
        """Return the cells of each of gold's and of the extracted rows."""
        return self.columns(range(self.width))

    def columns(self, places: Iterable[int]) -> tuple[list[Row], list[Row]]:
        """Return, of each row, the cells in some columns."""
        width = self.width
        gold, extracted = ([side[place::width] for place in places] for side in (self.gold, self.extracted))
        return [*zip(*gold, strict=True)], [*zip(*extracted, strict=True)]

    def take(self, run: ScoringContext, pairs: Pairs) -> Table:
        """Return the rows of some pairs, in their order; the table itself where these are all rows as they stand."""
        size = len(pairs)
        if len(self.gold) == len(self.extracted) == size * self.width and pairs == identity(size):
            return self
        ours, theirs = self.rows()
        gold = [*chain.from_iterable([ours[i] for i, _ in pairs])]
        extracted = [*chain.from_iterable([theirs[j] for _, j in pairs])]
        diff = with_unsure(diff_cells(run, gold, extracted) or NO_DIFFERENCE, self.bulk, gold)
        return self._replace(gold=gold, extracted=extracted, diff=diff)


@lru_cache(maxsize=64)
def identity(size: int) -> tuple[tuple[int, int], ...]:
    """Return the pairs of a list with itself."""
    return tuple((index, index) for index in range(size))


def to_table(run: ScoringContext, array: Array, gold: Rows, extracted: Rows) -> Table | None:
    """Lay out two lists; None unless their rows are scalars, or objects with nothing but declared scalars."""
    items = array.table
    if items is None or items.bulk is None:
        return None
    if run.both_passed and (items.other is not None or items.field):
        return None  # there even what neither side has gives a result
    bulk = items.bulk
    if array.items is not items:
        return _scalars(run, items, bulk, gold, extracted)
    try:
        ours = [*chain.from_iterable(map(bulk.values, gold))]
        theirs = [*chain.from_iterable(map(bulk.values, extracted))]
        # each has all that is declared: then as many keys as cells are no more
        declared = items.extra == "ignore" or sum(map(len, chain(gold, extracted))) == len(ours) + len(theirs)
    except (KeyError, TypeError, IndexError):  # a row that lacks a property, or is no object
        if run.empty_is_free or not _DICT.issuperset(map(type, chain(gold, extracted))):
            return None
        ours, theirs = _ragged(items, gold), _ragged(items, extracted)
        declared = items.extra == "ignore" or all(row.keys() <= items.names for row in chain(gold, extracted))
    if not declared:
        return None
    if len(ours) != len(theirs):
        return Table(items, bulk, ours, theirs, NO_DIFFERENCE) if _are_cells(ours, theirs) else None
    diff = diff_cells(run, ours, theirs)
    if diff is None:
        return None
    if bulk.unsure:
        diff = with_unsure(diff, bulk, ours)
    return _new(Table, (items, bulk, ours, theirs, diff))


def _scalars(run: ScoringContext, items: Object, bulk: FlatTable, ours: Rows, theirs: Rows) -> Table | None:
    """Lay out two lists of plain values: a table of one column."""
    if len(ours) != len(theirs):
        return Table(items, bulk, ours, theirs, NO_DIFFERENCE) if _are_cells(ours, theirs) else None
    diff = diff_cells(run, ours, theirs)
    return None if diff is None else Table(items, bulk, ours, theirs, with_unsure(diff, bulk, ours))


def _are_cells(ours: Cells, theirs: Cells) -> bool:
    return _CELLS.issuperset(map(type, ours)) and _CELLS.issuperset(map(type, theirs))


def _ragged(items: Object, rows: Rows) -> list[Json | Missing]:
    return [*chain.from_iterable([map(row.get, items.places.names, _MISSINGS) for row in rows])]


def diff_cells(run: ScoringContext, ours: Cells, theirs: Cells) -> CellDiff | None:
    """Look at the cells of two tables of one size, whatever their metrics; None where some hold lists or objects."""
    kinds, others = [*map(type, ours)], [*map(type, theirs)]
    held, same = {*kinds}, kinds == others
    if not held <= _CELLS or not (same or _CELLS.issuperset(others)):
        return None
    differing = [] if same and ours == theirs else [*compress(count(), map(ne, ours, theirs))]
    if not same:
        differing = sorted({*differing, *compress(count(), map(is_not, kinds, others))})
    if held.isdisjoint(ABSENT):
        return CellDiff(differing, ()) if differing else NO_DIFFERENCE
    gaps = [*compress(count(), map(ABSENT.__contains__, kinds))]
    if not run.absent:
        return CellDiff(sorted({*differing, *gaps}), ())
    both_absent = gaps if same else [cell for cell in gaps if others[cell] in ABSENT]
    return CellDiff(sorted({*differing}.difference(both_absent)) if differing else (), both_absent)


def with_unsure(diff: CellDiff, bulk: FlatTable, ours: Cells) -> CellDiff:
    """Add the cells of types that their metrics are not sure of."""
    width, differing = len(bulk.patterns), {*diff.differing}
    for place, sure in bulk.unsure:
        if not sure.issuperset(map(type, ours[place::width])):
            differing.update(cell for cell in range(place, len(ours), width) if type(ours[cell]) not in sure)
    return CellDiff(sorted(differing), diff.both_absent) if len(differing) > len(diff.differing) else diff


def places_of(
    items: Object, pairs: Pairs, path: Path, at: Path | None
) -> tuple[Sequence[FieldPath], Sequence[FieldPath | None] | None]:
    """Return where each cell of some pairs stands, and where the extracted one does if not there."""
    width, table = len(items.places.names), items.places.table(path, max(i for i, _ in pairs) + 1)
    others = items.places.table(path if at is None else at, max(j for _, j in pairs) + 1)
    nowhere = (None,) * width
    places = chain.from_iterable([table[i * width : (i + 1) * width] for i, _ in pairs])
    wheres = chain.from_iterable(
        [nowhere if i == j and at is None else others[j * width : (j + 1) * width] for i, j in pairs]
    )
    return [*places], [*wheres]
