"""Scores rows of flat objects all at once: what is equal is kept by C loops, only cells that differ are walked."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import chain, compress, count, groupby, repeat
from math import fsum
from operator import is_not, ne
from typing import Final, NamedTuple, TypeAlias

from pytest_extract.core.plan.nodes import SCALARS, Array, Bulk, Object
from pytest_extract.core.results import FieldResult, Status
from pytest_extract.core.score.pairs import row_fit
from pytest_extract.core.score.run import Path, Run, there
from pytest_extract.core.values import MISSING, FieldPath, Json, Missing

Pairs: TypeAlias = Sequence[tuple[int, int]]
Rows: TypeAlias = Sequence[Json]
Cells: TypeAlias = Sequence[Json | Missing]
Row: TypeAlias = tuple[Json | Missing, ...]
_new: Final = tuple.__new__
_RESULTS: Final = repeat(FieldResult)
_MATCHES: Final = repeat(Status.MATCH)
_ONES: Final = repeat(1.0)
_TRUES: Final = repeat(True)  # noqa: FBT003 - a value
_NONES: Final = repeat(None)
_MISSINGS: Final = repeat(MISSING)
_DICT: Final = frozenset({dict})
_ABSENT: Final = frozenset({type(None), Missing})
_CELLS: Final = SCALARS | _ABSENT


class Table(NamedTuple):
    """Two lists of flat objects, laid out: their cells, row after row in the order of the schema, and their types.

    `gaps`: whether gold lacks a cell. `ragged`: whether a row lacks a property, where a null stands for it elsewhere.
    """

    items: Object
    bulk: Bulk
    gold: Cells
    extracted: Cells
    kinds: list[type]
    other_kinds: list[type]
    gaps: bool
    ragged: bool

    @property
    def width(self) -> int:
        """Cells in a row."""
        return len(self.bulk.patterns)

    def is_whole(self, pairs: Pairs) -> bool:
        """Whether these pairs are all rows of both lists as they stand."""
        size = len(pairs)
        return len(self.gold) == len(self.extracted) == size * self.width and pairs == identity(size)

    def rows(self) -> tuple[list[Row], list[Row]]:
        """Return the cells of each of gold's and of the extracted rows."""
        return self.columns(range(self.width))

    def columns(self, places: Iterable[int]) -> tuple[list[Row], list[Row]]:
        """Return, of each row, the cells in some columns."""
        width = self.width
        gold, extracted = ([side[place::width] for place in places] for side in (self.gold, self.extracted))
        return [*zip(*gold, strict=True)], [*zip(*extracted, strict=True)]

    def nulled(self) -> Table:
        """Return the table with a null for whatever a row lacks."""
        gold, extracted = ([None if cell is MISSING else cell for cell in side] for side in (self.gold, self.extracted))
        return self._replace(gold=gold, extracted=extracted)

    def take(self, pairs: Pairs) -> Table:
        """Return the rows of some pairs, in their order."""
        ours, theirs = self.rows()
        gold = [*chain.from_iterable([ours[i] for i, _ in pairs])]
        extracted = [*chain.from_iterable([theirs[j] for _, j in pairs])]
        return self._replace(
            gold=gold, extracted=extracted, kinds=[*map(type, gold)], other_kinds=[*map(type, extracted)]
        )


class Walked(NamedTuple):
    """What scoring some pairs of rows gave: pairs with nothing in common, taken back, and the others' summed scores.

    `lost`: gold rows that are not wholly right, and which share of their weight is lost at most.
    """

    undone: set[tuple[int, int]]
    total: float
    lost: dict[int, float]


@lru_cache(maxsize=64)
def identity(size: int) -> tuple[tuple[int, int], ...]:
    """Return the pairs of a list with itself."""
    return tuple((index, index) for index in range(size))


def lay_out(run: Run, array: Array, gold: Rows, extracted: Rows) -> Table | None:
    """Lay out two lists; None unless their rows are objects with nothing but scalars, all of them declared."""
    items = array.items
    if type(items) is not Object or items.bulk is None or array.prefix or (run.both_passed and items.other is not None):
        return None
    bulk, ragged = items.bulk, False
    try:
        ours = [*chain.from_iterable(map(bulk.values, gold))]
        theirs = [*chain.from_iterable(map(bulk.values, extracted))]
        # each has all that is declared: then as many keys as cells are no more
        declared = items.extra == "ignore" or sum(map(len, chain(gold, extracted))) == len(ours) + len(theirs)
    except (KeyError, TypeError, IndexError):  # a row that lacks a property, or is no object
        if run.free or not _DICT.issuperset(map(type, chain(gold, extracted))):
            return None
        ours, theirs, ragged = _ragged(items, gold), _ragged(items, extracted), True
        declared = items.extra == "ignore" or all(row.keys() <= items.names for row in chain(gold, extracted))
    kinds, others = [*map(type, ours)], [*map(type, theirs)]
    there = {*kinds}
    if not declared or not there <= _CELLS or not (kinds == others or _CELLS.issuperset(others)):
        return None
    return _new(Table, (items, bulk, ours, theirs, kinds, others, not there.isdisjoint(_ABSENT), ragged))


def _ragged(items: Object, rows: Rows) -> list[Json | Missing]:
    return [*chain.from_iterable([map(row.get, items.places.names, _MISSINGS) for row in rows])]


def keep_equal(run: Run, table: Table, path: Path, at: Path | None) -> bool:
    """Keep a match for every cell of two tables; False, with nothing kept, where one is no match.

    Most lists of a good output end here, so that it does as little as can be, all of it by C loops.
    """
    items, bulk, ours, theirs, kinds, others, gaps, _ = table
    if ours != theirs or kinds != others or (gaps and not _quiet(run, items)):
        return False
    if bulk.odd and not all(sure.issuperset(kinds[place :: table.width]) for place, sure in bulk.odd):
        return False
    size = len(ours) // len(bulk.patterns)
    wheres = None if at is None else items.places.table(at, size)
    matches = _matches(table, items.places.table(path, size), wheres)
    if gaps:
        present = [kind not in _ABSENT for kind in kinds]
        run.vacuous += present.count(False)
        matches = compress(matches, present)
    _keep(run, items, [*matches])
    return True


def keep_pairs(
    run: Run,
    array: Array,
    table: Table,
    pairs: Pairs,
    path: Path,
    at: Path | None,
    odd: Sequence[int] | None = None,
) -> Walked:
    """Score pairs of rows: whatever matches at once, then each other cell in its place; `odd`: these, where known."""
    if not table.is_whole(pairs):
        table, odd = table.take(pairs), None
    where = _places(table.items, pairs, path, at)
    matches = [*_matches(table, *where)]
    return _Pairs(run, array, table, pairs, where).walk(matches, odd_cells(table) if odd is None else odd)


def _quiet(run: Run, items: Object) -> bool:
    """Whether a cell that neither side has gives no result."""
    return run.absent and not (run.both_passed and items.field)


def odd_cells(table: Table) -> list[int]:
    """Return the cells that are no match at a glance: unlike values or types, nothing there, or an unsure metric."""
    _, bulk, ours, theirs, kinds, others, gaps, _ = table
    odd: set[int] = set()
    if ours != theirs:
        odd.update(compress(count(), map(ne, ours, theirs)))
    if kinds != others:
        odd.update(compress(count(), map(is_not, kinds, others)))
    if gaps:
        odd.update(compress(count(), map(_ABSENT.__contains__, kinds)))
    for place, sure in bulk.odd:
        odd.update(cell for cell in range(place, len(kinds), table.width) if kinds[cell] not in sure)
    return sorted(odd)


def _places(
    items: Object, pairs: Pairs, path: Path, at: Path | None
) -> tuple[Sequence[FieldPath], Sequence[FieldPath | None] | None]:
    """Return where each cell of some pairs stands, and where the extracted one does if not there."""
    if at is None and pairs == identity(len(pairs)):
        return items.places.table(path, len(pairs)), None
    width, table = len(items.places.names), items.places.table(path, max(i for i, _ in pairs) + 1)
    others = items.places.table(path if at is None else at, max(j for _, j in pairs) + 1)
    nowhere = (None,) * width
    places = chain.from_iterable([table[i * width : (i + 1) * width] for i, _ in pairs])
    wheres = chain.from_iterable(
        [nowhere if i == j and at is None else others[j * width : (j + 1) * width] for i, j in pairs]
    )
    return [*places], [*wheres]


def _matches(
    table: Table, places: Sequence[FieldPath], wheres: Sequence[FieldPath | None] | None
) -> Iterator[FieldResult]:
    """Make a match of every cell."""
    _, patterns, metrics, params, weights, _ = table.bulk
    size = len(table.gold) // len(patterns)
    values = zip(
        places, patterns * size, metrics * size, params * size, _MATCHES, _ONES, _TRUES, table.gold, table.extracted,
        _NONES, weights * size, _NONES if wheres is None else wheres, strict=False,  # some never end
    )  # fmt: skip
    return map(_new, _RESULTS, values)


def _keep(run: Run, items: Object, results: list[FieldResult]) -> None:
    run.leaves += results
    if items.field:
        run.fields += results


class _Pairs:
    """Pairs of rows whose matches are made; walks the cells that are none."""

    def __init__(
        self,
        run: Run,
        array: Array,
        table: Table,
        pairs: Pairs,
        where: tuple[Sequence[FieldPath], Sequence[FieldPath | None] | None],
    ) -> None:
        self.run = run
        self.array = array
        self.table = table
        self.pairs = pairs
        self.places, self.wheres = where
        self.quiet = _quiet(run, table.items)

    def walk(self, matches: list[FieldResult], odd: Sequence[int]) -> Walked:
        """Keep the matches, and in their order the results of the odd cells."""
        run, items, width = self.run, self.table.items, self.table.width
        undone: set[tuple[int, int]] = set()
        lost: dict[int, float] = {}
        scores: list[float] = []
        done = 0
        for row, cells in groupby(odd, width.__rfloordiv__):
            _keep(run, items, matches[done : row * width])
            done = (row + 1) * width
            mark = run.mark()
            self._walk_row(matches, cells, row * width)
            if run.flaws > mark.flaws:
                fit = row_fit(run, self.array, run.leaves[mark.leaves :])
                lost[self.pairs[row][0]] = fit.lost
                scores.append(fit.score)
                if fit.apart:
                    run.take_back(mark)
                    undone.add(self.pairs[row])
        _keep(run, items, matches[done:])
        return Walked(undone, fsum([*scores, len(self.pairs) - len(scores)]), lost)

    def _walk_row(self, matches: list[FieldResult], cells: Iterable[int], start: int) -> None:
        run, table = self.run, self.table
        end = start + table.width
        entries = table.items.entries
        for cell in cells:
            _keep(run, table.items, matches[start:cell])
            start = cell + 1
            gold, extracted = table.gold[cell], table.extracted[cell]
            if self.quiet and not there(gold) and not there(extracted):
                run.vacuous += 1
                continue
            plan = entries[cell % table.width].plan
            where = None if self.wheres is None else self.wheres[cell]
            run.walkers[type(plan)](run, plan, gold, extracted, self.places[cell], where)
        _keep(run, table.items, matches[start:end])
