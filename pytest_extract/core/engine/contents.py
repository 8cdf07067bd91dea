"""What lists inside rows hold, leaf by leaf, each leaf as a number.

Equal lists are seen at once, a score is bounded without pairing, and two lists are paired and scored without results.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import partial
from itertools import chain
from typing import Any, Final, NamedTuple, TypeAlias

from pytest_extract.core.compile.nodes import Array, FieldMetric, Leaf, Node, Object, Skip
from pytest_extract.core.engine.cells import is_plain
from pytest_extract.core.engine.context import ScoringContext, is_present
from pytest_extract.core.engine.leaf import transformed
from pytest_extract.core.engine.quick_fit import fit_table
from pytest_extract.core.engine.table import to_table
from pytest_extract.core.matching.columns import Bags, Content, Pair, PairScore, strict_key
from pytest_extract.core.matching.encoding import ABSENT, EncodedColumn, EncodedTable, merge_near
from pytest_extract.core.matching.fit import pair_sums
from pytest_extract.core.matching.pairing import Pairing, best_fit_encoded, by_position
from pytest_extract.core.metrics.base import BoundMetric
from pytest_extract.core.schema.conformance import type_fits
from pytest_extract.core.values import MISSING, Json, Missing

_COLUMN_BITS: Final = 20
_Name: TypeAlias = tuple[int, int]
"""Of a column: the identity of its node, and which of its metrics."""
_NOTHING: Final[dict[str, Any]] = {}


class IrregularError(Exception):
    """A value is not scored leaf by leaf: it is of the wrong kind, or a union, a batch or an aligner scores it."""


class _ContentColumn:
    """A leaf or a list inside the elements of a list: what all its values have in common.

    `number`: what leaves must share to match, where their codes do not say all. `counts`: whether the leaves count in
    any comparison. `exact`: whether they match only their like.
    """

    __slots__ = ("counts", "exact", "metric", "number", "pair", "scores", "shared", "values", "weight")

    def __init__(self, number: int, check: FieldMetric | None = None, pair: Pair | None = None) -> None:
        self.number = number
        self.pair = pair
        self.metric: BoundMetric | None = None
        self.weight, self.counts, self.exact = 1.0, True, True
        if check is not None:
            self.metric = metric = check.likeness or check.metric
            self.weight, self.exact = check.weight, metric.key is not None
            self.counts = metric is check.metric and not metric.judged
        self.values: dict[int, Json] = {}
        self.scores: dict[tuple[int, int], PairScore] = {}
        self.shared: dict[tuple[int, int], float] = {}


class _Elements:
    """The elements of some lists of an array, one list after the other; `depth`: lists that may still be inside.

    columns: codes of each column's values. undeclared: keys of each element that the schema does not have.
    scored: whether the lists can be scored by their codes.
    """

    __slots__ = ("columns", "depth", "gold", "scored", "undeclared")

    def __init__(self, depth: int, *, gold: bool) -> None:
        self.depth, self.gold = depth, gold
        self.columns: dict[_Name, Sequence[int]] = {}
        self.undeclared: list[int] = []
        self.scored = True


class _ListTable(NamedTuple):
    """The elements of one list among others: codes by column, and undeclared keys."""

    elements: _Elements
    start: int
    end: int

    @property
    def size(self) -> int:
        return self.end - self.start

    def column(self, name: _Name) -> Sequence[int]:
        codes = self.elements.columns.get(name)
        return [ABSENT] * self.size if codes is None else codes[self.start : self.end]

    @property
    def undeclared(self) -> Sequence[int]:
        return self.elements.undeclared[self.start : self.end] or [0] * self.size


def _names(node: Node) -> list[_Name]:
    """Return the names of the columns of rows, in the order of the schema."""
    if isinstance(node, Object):
        return [name for entry in node.entries for name in _names(entry.node)]
    if isinstance(node, Leaf):
        return [(id(node), place) for place, _ in enumerate(node.checks)]
    return [(id(node), 0)] if isinstance(node, Array) else []


class Contents:
    """The contents of the lists of one scoring; each list is read once, each distinct leaf is looked at once.

    `walked`: makes the function that scores two lists of an array by walking them.
    """

    def __init__(self, run: ScoringContext, walked: Callable[[Array], Pair]) -> None:
        self._run = run
        self._walked = walked
        self._columns: dict[_Name, _ContentColumn] = {}
        self._pairs: dict[int, Pair] = {}
        self._by_key: dict[int, Content] = {}
        self._numbers: dict[Hashable, int] = {}
        self._codes: dict[Hashable, dict[Hashable, int]] = {}
        # with the list itself, so that no other list gets its id
        self._lists: dict[tuple[int, int, bool], tuple[Json, Content, _ListTable | None]] = {}

    def of(self, array: Array, values: Sequence[Json | Missing], depth: int, *, gold: bool) -> list[Content | None]:
        """Return what the lists of some rows hold; None where there is none. Raise IrregularError if it is unknown."""
        names: list[tuple[int, int, bool] | None] = []
        unread: dict[tuple[int, int, bool], list[Json]] = {}
        for value in values:
            if not is_present(value) or (value == [] and array.empty_absent):
                if value is None and self._run.empty_is_free:
                    raise IrregularError
                names.append(None)
                continue
            if type(value) is not list or not value or depth <= 0:
                raise IrregularError
            name = id(array), id(value), gold
            names.append(name)
            if name not in self._lists:
                unread[name] = value
        if unread:
            self._read(array, unread, depth, gold=gold)
        return [None if name is None else self._lists[name][1] for name in names]

    def _read(self, array: Array, lists: Mapping[tuple[int, int, bool], list[Json]], depth: int, *, gold: bool) -> None:
        """Read lists of one array together, column by column."""
        values = [*chain.from_iterable(lists.values())]
        if not self._is_regular(array) or (isinstance(array.items, Object) and not all(values)):
            raise IrregularError
        elements = _Elements(depth, gold=gold)
        numbers = self._numbers
        codes = [numbers.setdefault(code, len(numbers)) for code in self._value_codes(array.items, values, elements)]
        columns = [(self._columns[name], own, ABSENT in own) for name, own in elements.columns.items()]
        is_direct = elements.scored and array.align.mode != "key" and not (self._run.f1 or self._run.empty_is_free)
        start = 0
        for name, value in lists.items():
            end = start + len(value)
            own = codes[start:end] if array.align.mode == "position" else sorted(codes[start:end])
            weight = float(sum(elements.undeclared[start:end]))
            floor = 0.0
            for column, own_codes, has_gaps in columns:
                if column.pair is None:
                    gaps = own_codes[start:end].count(ABSENT) if has_gaps else 0
                    more = column.weight * (end - start - gaps)
                    weight += more
                    floor += more if column.counts else 0.0
                else:
                    inside = [self._by_key[code] for code in own_codes[start:end] if code != ABSENT]
                    weight += sum([content.weight for content in inside])
                    floor += sum([content.floor for content in inside])
            table = _ListTable(elements, start, end)
            found = Content(self._number_of((id(array), *own)), weight, floor, partial(self._bags, table))
            self._by_key.setdefault(found.key, found)
            self._lists[name] = value, found, table if is_direct else None
            start = end

    def _bags(self, table: _ListTable) -> Bags:
        """Return the weight of the leaves of a list, by what they must share to match."""
        exact: dict[int, float] = {}
        inexact: dict[int, float] = {}
        for name in table.elements.columns:
            column, codes = self._columns[name], table.column(name)
            weight, number = column.weight, column.number
            if column.pair is not None:
                for code in codes:
                    if code != ABSENT:
                        inside = self._by_key[code].bags
                        for own, more in ((exact, inside.exact), (inexact, inside.inexact)):
                            for place, each in more.items():
                                own[place] = own.get(place, 0.0) + each
            elif column.exact:
                for code in codes:
                    if code != ABSENT:
                        place = code << _COLUMN_BITS | number
                        exact[place] = exact.get(place, 0.0) + weight
            else:
                inexact[number] = weight * (len(codes) - codes.count(ABSENT))
        return Bags(exact, inexact)

    def pair(self, array: Array) -> Pair:
        """Return the function that scores two lists of an array, one of which may be missing."""
        known = self._pairs.get(id(array))
        if known is not None:
            return known
        walked = self._walked(array)

        def score(gold: Json | Missing, extracted: Json | Missing) -> PairScore:
            ours, theirs = self._table_of(array, gold, gold=True), self._table_of(array, extracted, gold=False)
            if ours is None or theirs is None or type(gold) is not list or type(extracted) is not list:
                return walked(gold, extracted)
            if array.align.mode == "multiset":
                return self._intersection(ours, theirs)
            problem = self._problem(array, ours, theirs)
            if array.align.mode == "position":
                found = by_position(ours.size, theirs.size)
            else:
                table = to_table(self._run, array, gold, extracted) if array.table is array.items else None
                if table is not None and not is_plain(table):
                    return walked(gold, extracted)
                quick = table and fit_table(self._run, table, by_likelihood=array.align.mode == "best_fit")
                found = quick or best_fit_encoded(problem)
            rules = self._run.rules
            if not (rules.accept or rules.absent):
                self._run.remember(array, found, (gold, extracted))
            return self._sums(problem, found, ours, theirs)

        self._pairs[id(array)] = score
        return score

    def _table_of(self, array: Array, value: Json | Missing, *, gold: bool) -> _ListTable | None:
        # a list with the content of one of the other side may stand for it
        known = self._lists.get((id(array), id(value), gold)) or self._lists.get((id(array), id(value), not gold))
        return None if known is None else known[2]

    def _sums(self, problem: EncodedTable, found: Pairing, ours: _ListTable, theirs: _ListTable) -> PairScore:
        """Return the sums that walking two lists with this pairing would give."""
        score = compared = omitted = hallucinated = 0.0
        for i, j in found.pairs:
            sums = pair_sums(problem, i, j)
            score, compared = score + sums.score, compared + sums.compared
            omitted, hallucinated = omitted + sums.omitted, hallucinated + sums.hallucinated
        if found.missing:
            omitted += self._weight(ours, found.missing)
        if found.extra:
            hallucinated += self._weight(theirs, found.extra)
            hallucinated += sum([theirs.undeclared[j] for j in found.extra])
        return PairScore(score, compared, omitted, hallucinated)

    def _problem(self, array: Array, ours: _ListTable, theirs: _ListTable) -> EncodedTable:
        columns = []
        for name in _names(array.items):
            column = self._columns.get(name)
            if column is None or not (name in ours.elements.columns or name in theirs.elements.columns):
                continue
            columns.append(
                merge_near(
                    EncodedColumn(
                        gold=ours.column(name),
                        extracted=theirs.column(name),
                        values=column.values,
                        weight=column.weight,
                        metric=column.metric,
                        pair=column.pair,
                        equality=column.pair is None and column.exact,
                        memo=column.scores,
                        contents=None if column.pair is None else self._by_key,
                        shared=column.shared,
                    )
                )
            )
        return EncodedTable(
            columns=columns,
            height=ours.size,
            width=theirs.size,
            objective="mean",
            omitted=[0.0] * ours.size,
            hallucinated=theirs.undeclared,
        )

    def _weight(self, table: _ListTable, rows: Sequence[int]) -> float:
        """Return the weight of the leaves of some elements."""
        weight = 0.0
        for name in table.elements.columns:
            column, codes = self._columns[name], table.column(name)
            present = [codes[row] for row in rows if codes[row] != ABSENT]
            if column.pair is None:
                weight += column.weight * len(present)
            else:
                weight += sum([self._by_key[code].weight for code in present])
        return weight

    def _intersection(self, ours: _ListTable, theirs: _ListTable) -> PairScore:
        """Return the sums of two lists of values of which equal ones are paired."""
        (name,) = ours.elements.columns
        gold, extracted = Counter(ours.column(name)), Counter(theirs.column(name))
        gold.pop(ABSENT, None)
        extracted.pop(ABSENT, None)
        weight = self._columns[name].weight
        both = weight * sum([min(gold[code], extracted[code]) for code in gold.keys() & extracted.keys()])
        return PairScore(both, both, weight * gold.total() - both, weight * extracted.total() - both)

    def _is_regular(self, array: Array) -> bool:
        """Whether a list is scored by nothing but its elements, each with one other at most, equal ones first."""
        if array.prefix or array.checks or array.wrap:
            return False
        mode = array.align.mode
        if mode in ("best_fit", "judge"):
            return True
        if mode == "multiset" and isinstance(array.items, Leaf) and len(array.items.checks) == 1:
            check = array.items.checks[0]
            if check.likeness is None and check.metric.key is not None:
                return True
        rules = self._run.rules
        return mode in ("position", "key") and not (self._run.empty_is_free or rules.accept or rules.absent)

    def _number_of(self, code: Hashable) -> int:
        return self._numbers.setdefault(code, len(self._numbers))

    def _value_codes(self, node: Node, values: Sequence[Json | Missing], elements: _Elements) -> Sequence[Hashable]:
        """Add the leaves of some values of one node; return a code for each value, the same for the same content."""
        if isinstance(node, Leaf):
            return self._leaf_codes(node, values, elements)
        if isinstance(node, Skip) or not any(map(is_present, values)):
            return [ABSENT] * len(values)
        if isinstance(node, Object):
            return self._object_codes(node, values, elements)
        if not isinstance(node, Array):
            raise IrregularError
        contents = self.of(node, values, elements.depth - 1, gold=elements.gold)
        codes = [ABSENT if content is None else content.key for content in contents]
        name = id(node), 0
        column = self._columns.get(name)
        if column is None:
            column = self._columns[name] = _ContentColumn(len(self._columns), pair=self.pair(node))
        for code, value in zip(codes, values, strict=True):
            if code != ABSENT:
                column.values.setdefault(code, value)
        elements.columns[name] = codes
        return codes

    def _object_codes(self, node: Object, values: Sequence[Json | Missing], elements: _Elements) -> Sequence[Hashable]:
        if node.groups or node.checks:
            raise IrregularError
        rows = [_NOTHING if value is None or value is MISSING else value for value in values]
        if not {dict}.issuperset(map(type, rows)) or {} in values:
            raise IrregularError
        columns: list[Sequence[Hashable]] = [
            self._value_codes(entry.node, [row.get(entry.name, MISSING) for row in rows], elements)
            for entry in node.entries
        ]
        if node.extra != "ignore" and not all(row.keys() <= node.names for row in rows):
            if self._run.empty_is_free or node.extra == "compare":
                raise IrregularError
            undeclared = [len(row.keys() - node.names) for row in rows]
            if not elements.gold:
                before = elements.undeclared or [0] * len(undeclared)
                elements.undeclared = [one + more for one, more in zip(before, undeclared, strict=True)]
            columns.append([object() if count else ABSENT for count in undeclared])
        return [*zip(*columns, strict=True)] if columns else [ABSENT] * len(values)

    def _leaf_codes(self, leaf: Leaf, values: Sequence[Json | Missing], elements: _Elements) -> Sequence[Hashable]:
        if not (leaf.has_only_checks and leaf.checks):
            raise IrregularError
        columns = []
        for place, check in enumerate(leaf.checks):
            # what may break, or what a judge decides without a look at likeness, must be walked
            elements.scored = elements.scored and check.metric.judged is (check.likeness is not None)
            name = id(leaf), place  # a check may belong to several leaves
            column = self._columns.get(name)
            if column is None:
                column = self._columns[name] = _ContentColumn(len(self._columns), check)
            known = self._codes.setdefault((id(check), leaf.types), {})
            keys: list[Hashable] = [*zip(map(type, values), values, strict=True)]
            try:
                unknown = dict(zip(keys, values, strict=True))
            except TypeError:  # lists and objects
                keys = [*map(strict_key, values)]
                unknown = dict(zip(keys, values, strict=True))
            for key, value in unknown.items():
                if key not in known:
                    known[key] = self._leaf_code(leaf, check, value)
            codes = [*map(known.__getitem__, keys)]
            if not column.exact:
                for code, value in zip(codes, values, strict=True):
                    if code not in column.values:
                        column.values[code] = transformed(check, value, MISSING)[0][0]
            elements.columns[name] = codes
            columns.append(codes)
        return columns[0] if len(columns) == 1 else [*zip(*columns, strict=True)]

    def _leaf_code(self, leaf: Leaf, check: FieldMetric, value: Json | Missing) -> int:
        """Return the number of a leaf value, the same for values that match."""
        if value is MISSING or (self._run.absent and value is None):
            return ABSENT
        if check.batch is not None:
            raise IrregularError
        if leaf.types is not None and value is not None and not type_fits(leaf.types, value):
            raise IrregularError
        metric = check.metric if check.likeness is None else check.likeness
        value = transformed(check, value, MISSING)[0][0]
        if self._run.absent and value is None:
            return ABSENT
        key = strict_key(value) if metric.key is None else metric.key(value)
        equals_itself = metric.reflexive or (metric.key is not None and key == metric.key(value))
        return self._number_of((id(check), key) if equals_itself else object())
