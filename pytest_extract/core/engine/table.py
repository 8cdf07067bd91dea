"""Rows of flat objects laid out as cells: what is equal is seen by C loops, only cells that differ are looked at."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from itertools import chain, compress, count, repeat
from math import fsum
from operator import is_not, ne
from typing import Any, Final, NamedTuple, TypeAlias

from pytest_extract.core.compile.nodes import SCALARS, Array, FlatTable, Object
from pytest_extract.core.engine.context import Path, ScoringContext
from pytest_extract.core.engine.matches import NO_OTHERS, Others
from pytest_extract.core.results import Pairing
from pytest_extract.core.values import MISSING, FieldPath, Json, Missing, Value

Pairs: TypeAlias = Sequence[tuple[int, int]]
Rows: TypeAlias = Sequence[Json]
Cells: TypeAlias = Sequence[Value]
Places: TypeAlias = tuple[Sequence[FieldPath], Sequence[FieldPath | None] | None]
"""Where cells stand, and where the extracted ones do if not there."""
_new: Final = tuple.__new__
_MISSINGS: Final = repeat(MISSING)
_DICT: Final = frozenset({dict})
ABSENT: Final = frozenset({type(None), Missing})
_CELLS: Final = SCALARS | ABSENT
RowFit: TypeAlias = tuple[float, float, bool]
"""The score of a pair of rows; the share of its weight that is lost, undecided leaves included; and whether they have
nothing in common and are left apart. A plain tuple, as thousands are made."""


class CellDiff(NamedTuple):
    """How the cells of two tables compare, by their places, ascending.

    differing: cells with unlike values or types, and those of which a metric is not sure. both_absent: cells that
    neither side has, which give no result.
    """

    differing: Sequence[int]
    both_absent: Sequence[int]


NO_DIFFERENCE: Final = CellDiff((), ())


class Table(NamedTuple):
    """Two lists of flat objects, laid out: their cells, row after row in the order of the schema.

    `declared`: the object of the schema; `items`: with the properties that some row has, which are the columns.
    `full`: whether each row has these and no others. `diff`: of the rows as they stand; empty where one side has more.
    `width`: cells in a row.
    """

    declared: Object
    items: Object
    full: bool
    bulk: FlatTable
    gold: Cells
    extracted: Cells
    diff: CellDiff
    width: int

    @property
    def height(self) -> int:
        """Rows of gold."""
        return len(self.gold) // self.width

    @property
    def declared_width(self) -> int:
        """Cells in a row that has all declared properties."""
        return len(self.declared.entries)

    def rows(self) -> tuple[Sequence[Any], Sequence[Any]]:
        """Return the cells of each of gold's and of the extracted rows; the one cell of a row that has no other."""
        width = self.width
        if width == 1:
            return self.gold, self.extracted
        return [*zip(*[iter(self.gold)] * width, strict=True)], [*zip(*[iter(self.extracted)] * width, strict=True)]

    def take(self, run: ScoringContext, pairs: Pairs) -> Table:
        """Return the rows of some pairs, in their order; the table itself where these are all rows as they stand."""
        size = len(pairs)
        if len(self.gold) == len(self.extracted) == size * self.width and pairs == identity(size):
            return self
        ours, theirs = self.rows()
        gold, extracted = [ours[i] for i, _ in pairs], [theirs[j] for _, j in pairs]
        if self.width > 1:
            gold, extracted = [*chain.from_iterable(gold)], [*chain.from_iterable(extracted)]
        diff = diff_cells(run, self.bulk, gold, extracted) or NO_DIFFERENCE
        return self._replace(gold=gold, extracted=extracted, diff=diff)


class Walked(NamedTuple):
    """What scoring some pairs of rows gave: the pairing without those that have nothing in common, and summed scores.

    `lost`: which pairs (by their places among all) are not wholly right, and which share of their weight is lost at
    most.
    """

    pairing: Pairing
    total: float
    lost: Mapping[int, float]

    @classmethod
    def of(cls, pairing: Pairing, fits: Mapping[int, RowFit]) -> Walked:
        """Return what pairs gave that are right but for some, by their places, which fit as these say."""
        pairs, missing, extra = pairing
        if not fits:
            return _new(cls, (pairing, float(len(pairs)), {}))
        scores, lost, undone = [float(len(pairs) - len(fits))], {}, set()
        for row, (score, share, apart) in fits.items():
            scores.append(score)
            lost[row] = share
            if apart:
                undone.add(pairs[row])
        if undone:
            from pytest_extract.core.matching.pairing import paired  # few pairs have nothing in common

            height, width = len(pairs) + len(missing), len(pairs) + len(extra)
            pairing = paired([pair for pair in pairs if pair not in undone], height, width)
        return _new(cls, (pairing, fsum(scores), lost))  # exact, so that the order of rows changes nothing


class LikelyPairing(NamedTuple):
    """A pairing that is likely the best one, and whether what its pairs gave proves it.

    `aligned`: the rows of its pairs, where they are laid out.
    """

    pairing: Pairing
    aligned: Table | None
    is_best: Callable[[Walked], bool]


ListTable: TypeAlias = tuple[list[Json], list[Json], Table]
"""Two lists, with the table of their rows as they stand."""


@lru_cache(maxsize=64)
def identity(size: int) -> tuple[tuple[int, int], ...]:
    """Return the pairs of a list with itself."""
    return tuple((index, index) for index in range(size))


def to_table(run: ScoringContext, array: Array, gold: Rows, extracted: Rows) -> Table | None:
    """Lay out two lists, and keep full tables; None unless rows are scalars, or objects of declared scalars only."""
    declared = array.table
    if declared is None or declared.bulk is None:
        return None
    if run.both_passed and (declared.other is not None or declared.field):
        return None  # there even what neither side has gives a result
    found = _lay_out(declared, gold, extracted) if array.items is declared else (declared, False, gold, extracted)
    if found is None:
        return None
    items, full, ours, theirs = found
    if run.empty_is_free and (items is not declared or MISSING in chain(ours, theirs)):
        return None
    bulk = items.bulk or declared.bulk
    diff = diff_cells(run, bulk, ours, theirs)
    if diff is None:
        return None
    table = _new(Table, (declared, items, full, bulk, ours, theirs, diff, len(bulk.leaves)))
    if full and not run.depth:
        run.tables.append((gold, extracted, table))
    return table


def _lay_out(declared: Object, gold: Rows, extracted: Rows) -> tuple[Object, bool, Cells, Cells] | None:
    """Return the properties that some row has, whether each has them all and no others, and the cells.

    None if a row is no object, or has what is not declared and not to be ignored.
    """
    try:
        items = declared.part(gold[0])
        if sum(map(len, chain(gold, extracted))) == (len(gold) + len(extracted)) * len(items.entries):
            # as many keys as cells: a row that has all of these has no other
            ours, theirs = map(items.places.pick, gold), map(items.places.pick, extracted)
            return items, True, [*chain.from_iterable(ours)], [*chain.from_iterable(theirs)]
    except (KeyError, TypeError, IndexError):  # a row that lacks a property, or is no object
        pass
    if not _DICT.issuperset(map(type, chain(gold, extracted))):
        return None
    names = {*chain(*gold, *extracted)}
    if declared.extra != "ignore" and not names <= declared.names:
        return None
    items = declared.part(names & declared.names)
    return items, False, _ragged(items, gold), _ragged(items, extracted)


def _ragged(items: Object, rows: Rows) -> list[Value]:
    return [*chain.from_iterable([map(row.get, items.places.names, _MISSINGS) for row in rows])]


def diff_cells(run: ScoringContext, bulk: FlatTable, ours: Cells, theirs: Cells) -> CellDiff | None:
    """Look at the cells of two tables; None where some hold lists or objects."""
    kinds, others = [*map(type, ours)], [*map(type, theirs)]
    held, same = {*kinds}, kinds == others
    if not held <= _CELLS or not (same or _CELLS.issuperset(others)):
        return None
    if len(ours) != len(theirs):
        return NO_DIFFERENCE
    differing = set() if same and ours == theirs else {*compress(count(), map(ne, ours, theirs))}
    if not same:
        differing.update(compress(count(), map(is_not, kinds, others)))
    both_absent: Sequence[int] = ()
    if not held.isdisjoint(ABSENT):
        gaps = [*compress(count(), map(ABSENT.__contains__, kinds))]
        if run.absent:
            both_absent = gaps if same else [cell for cell in gaps if others[cell] in ABSENT]
            differing.difference_update(both_absent)
        else:
            differing.update(gaps)
    width = len(bulk.leaves)
    for place, sure in bulk.unsure:
        if not held <= sure and not sure.issuperset(kinds[place::width]):
            differing.update(cell for cell in range(place, len(ours), width) if kinds[cell] not in sure)
    return _new(CellDiff, (sorted(differing), both_absent)) if differing or both_absent else NO_DIFFERENCE


def places_of(items: Object, pairs: Pairs, path: Path, at: Path | None) -> Places:
    """Return where each cell of some pairs stands, and where the extracted one does if not there."""
    if at is None and pairs == identity(len(pairs)):
        return items.places.table(path, len(pairs)), None
    height, most = map(max, zip(*pairs, strict=True))
    width, table = len(items.places.names), items.places.table(path, height + 1)
    others = items.places.table(path if at is None else at, most + 1)
    if width == 1:
        return [table[i] for i, _ in pairs], [None if i == j and at is None else others[j] for i, j in pairs]
    nowhere = (None,) * width
    places = chain.from_iterable([table[i * width : (i + 1) * width] for i, _ in pairs])
    wheres = chain.from_iterable(
        [nowhere if i == j and at is None else others[j * width : (j + 1) * width] for i, j in pairs]
    )
    return [*places], [*wheres]


def places_in_order(items: Object, size: int, path: Path, at: Path | None) -> Places:
    """Return the same for so many rows as they stand."""
    return items.places.table(path, size), None if at is None else items.places.table(at, size)


def equal_values(items: Object, gold: Cells, extracted: Cells) -> bool:
    """Whether the values of two lists are equal, each with the one in its place, and surely match."""
    kinds = [*map(type, gold)]
    return kinds == [*map(type, extracted)] and items.entries[0].fast.issuperset(kinds) and gold == extracted


def keep_cells(
    run: ScoringContext, items: Object, gold: Cells, extracted: Cells, places: Places, others: Others = NO_OTHERS
) -> None:
    """Keep a match for every cell but others."""
    paths, wheres = places
    run.keep((items.properties, 0, len(gold), paths, wheres, gold, extracted, others), items)
