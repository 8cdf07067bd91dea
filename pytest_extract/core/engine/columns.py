"""Rows laid out as columns, whose fits add up to those of the rows, as the walk gives them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Sequence
from functools import cached_property
from typing import Any, Final, NamedTuple, Protocol

from pytest_extract.core.compile.nodes import Array, FieldMetric, Leaf, Node, Object, RecursiveRef, Skip, Union
from pytest_extract.core.engine.batch import finish_batches
from pytest_extract.core.engine.context import Fit, Path, ScoringContext, is_present
from pytest_extract.core.engine.leaf import readings, rule_of, transformed
from pytest_extract.core.engine.walk import leaf_for, node_for, node_of_undeclared, score_missing
from pytest_extract.core.metrics import equality
from pytest_extract.core.metrics.base import BoundMetric
from pytest_extract.core.metrics.exact import common_weights
from pytest_extract.core.results import HALLUCINATION, OMISSION
from pytest_extract.core.schema.conformance import type_fits
from pytest_extract.core.values import MISSING, Json, Value, canonical_json

DEEPEST_TRIAL: Final = 16
"""Lists inside lists whose rows are tried; deeper ones are compared as one value."""
_DEEPEST_BAG: Final = 32
_NOTHING: Final = Fit(0.0, 0.0)
_OTHER_TYPE: Final[Any] = object()
"""In a column of a metric: a value whose type the schema does not allow, and which is wrong beside any of gold's."""
_SAME: Final = BoundMetric(compare=lambda gold, other: float(equality.same(gold, other)), key=equality.same_key)
_ROWS_AT_ONCE: Final = 64


# --- one pair


def pair_fit(run: ScoringContext, node: Node, gold: Value, extracted: Value, path: Path) -> Fit:
    """Return how well two values fit: what the walk itself finds. `path`: of gold's value where rules depend on it."""
    if gold is MISSING and extracted is MISSING:
        return _NOTHING
    if run.depth >= DEEPEST_TRIAL:
        return Fit(float(equality.same(gold, extracted)), 1.0)
    key = id(node), run.content(gold), run.content(extracted), path
    found: Fit | None = run.known.get(key)
    if found is None:
        trial = run.trial
        begin = trial.mark()
        if run.empty_is_free and extracted is MISSING:
            score_missing(trial, node, gold, OMISSION, path, None)
        elif run.empty_is_free and gold is MISSING:
            score_missing(trial, node, extracted, HALLUCINATION, path, None)
        else:
            trial.walk(node, gold, extracted, path, None)
        finish_batches(trial)
        found = run.known[key] = trial.fit(trial.leaves)
        trial.rollback(begin)
    return found


# --- columns


class Column(Protocol):
    """What rows have at one place, whose fits add up to those of the rows."""

    @property
    def is_exact(self) -> bool:
        """Whether its bounds are fits."""

    def fit(self, i: int, j: int) -> Fit:
        """Return how well a cell of gold and one of the output fit."""

    def add_to(self, scores: Any) -> Any:
        """Add the bounds of all pairs to a matrix, and return their weights: scores no lower, weights no higher."""


class RowRules(NamedTuple):
    """What a case says of the values of a column, row by row of gold: further right readings; whether it may be empty.

    threshold: from which score on a reading is right.
    """

    readings: Sequence[tuple[Json, ...]]
    may_be_empty: Sequence[bool]
    threshold: float


class MetricColumn:
    """Values that a metric compares; MISSING where a row has none. What it says of all pairs at once are bounds."""

    def __init__(
        self,
        gold: Sequence[Value],
        extracted: Sequence[Value],
        metric: BoundMetric,
        weight: float = 1.0,
        *,
        f1: bool = False,
        rules: RowRules | None = None,
    ) -> None:
        self.gold = gold
        self.extracted = extracted
        self.metric = metric
        self.weight = weight
        self.rules = rules
        self.is_exact = metric.key is not None or (metric.matrix is None and rules is None)
        self.one_sided = Fit(0.0, weight / 2 if f1 else weight)

    def fit(self, i: int, j: int) -> Fit:
        """Compare two values."""
        gold, extracted = self.gold[i], self.extracted[j]
        if gold is MISSING or extracted is MISSING:
            is_free = gold is extracted or (self.rules is not None and self.rules.may_be_empty[i])
            return _NOTHING if is_free else self.one_sided
        if extracted is _OTHER_TYPE:
            return Fit(0.0, self.weight)
        if self.rules is not None:
            right = (gold, *self.rules.readings[i])
            gold = next((one for one in right if self.metric.compare(one, extracted) >= self.rules.threshold), gold)
        return Fit(self.weight * self._compare(gold, extracted), self.weight)

    def _compare(self, gold: Json, extracted: Json) -> float:
        kind = type(gold)
        if self.metric.reflexive and kind is type(extracted) and kind is not float and gold == extracted:
            return 1.0
        score = self.metric.compare(gold, extracted)
        return score if 0.0 <= score <= 1.0 else 0.0  # a project's own metric may give anything

    def add_to(self, scores: Any) -> Any:
        """Compare keys, or the distinct values, all at once where the metric can."""
        import numpy as np

        key, matrix = self.metric.key, self.metric.matrix
        if key is not None:
            known: dict[Hashable, int] = {}
            ours, theirs = (
                [lacking if _strict(value) is None else known.setdefault(key(value), len(known)) for value in side]
                for side, lacking in ((self.gold, -1), (self.extracted, -2))
            )
            np.add(scores, self.weight, out=scores, where=np.equal.outer(ours, theirs))
        else:
            (golds, ours), (others, theirs) = _distinct(self.gold, _strict), _distinct(self.extracted, _strict)
            table = np.zeros((len(golds) + 1, len(others) + 1))  # the last are MISSING
            if golds and others and matrix is not None:
                table[:-1, :-1] = matrix(golds, others)
            elif golds and others:
                table[:-1, :-1] = [[self._compare(one, other) for other in others] for one in golds]
            _add_cells(scores, ours, theirs, table, self.weight)
        there, here = (np.array([value is not MISSING for value in side]) for side in (self.gold, self.extracted))
        if self.rules is not None:
            for cells in self._right_by_reading(self.rules, there):
                scores[cells] += self.weight  # a bound: gold's own score is in it already
        if there.all() and here.all():
            return self.weight
        one_sided = np.not_equal.outer(there, here) * self.one_sided.weight
        if self.rules is not None:
            one_sided[np.array(self.rules.may_be_empty)] = 0.0
        return np.where(np.logical_and.outer(there, here), self.weight, one_sided)

    def _right_by_reading(self, rules: RowRules, there: Any) -> Iterator[Any]:
        """Yield blocks of cells in which a further reading of gold is right, and gold's own value is not."""
        import numpy as np

        others, places = _distinct(self.extracted, _strict)
        golds, rows = _distinct([*zip(self.gold, rules.readings, strict=True)], _with_readings)
        for number, (gold, right) in enumerate(golds):
            found = [
                self.metric.compare(gold, value) < rules.threshold
                and any(self.metric.compare(one, value) >= rules.threshold for one in right)
                for value in others
            ]
            if any(found):
                ours = np.logical_and(np.equal(rows, number), there)
                yield np.ix_(ours, np.array([*found, False])[places])


def _with_readings(cell: tuple[Value, tuple[Json, ...]]) -> Hashable | None:
    gold, right = cell
    return None if gold is MISSING or not right else (_strict(gold), tuple(map(_strict, right)))


class _Block(NamedTuple):
    """Values of gold and of the output, by their places among the distinct ones, that one leaf or object scores.

    `columns`: their fits add up to those of the values.
    """

    golds: list[int]
    others: list[int]
    columns: list[Column]


class NodeColumn:
    """Values of which no metric says all: lists, objects, alternatives, fields that wait for a judge or a batch."""

    def __init__(
        self,
        run: ScoringContext,
        node: Node,
        gold: Sequence[Value],
        extracted: Sequence[Value],
        places: Sequence[Path] | None,
    ) -> None:
        self.run = run
        self.node = node
        self.gold = gold
        self.extracted = extracted
        self.places = places
        self.has_bags = places is None and not run.f1 and run.absent and isinstance(node, Array)
        content: Callable[[Value], Hashable] = run.content
        self._golds = _distinct([*range(len(gold))], lambda i: content(gold[i]) if places is None else i)
        self._others = _distinct([*range(len(extracted))], lambda j: content(extracted[j]))

    @property
    def is_exact(self) -> bool:
        """Whether its bounds are fits."""
        return not self.has_bags and all(column.is_exact for block in self._blocks for column in block.columns)

    @cached_property
    def _blocks(self) -> list[_Block]:
        """Values that need no walk, once it is known which node scores those of gold."""
        if self.places is not None or isinstance(self.node, Array):
            return []
        nodes: dict[int, tuple[Node, list[int]]] = {}
        for place, row in enumerate(self._golds[0]):
            value = self.gold[row]
            if is_present(value):
                node = node_for(self.run, self.node, value)
                nodes.setdefault(id(node), (node, []))[1].append(place)
        return [block for node, places in nodes.values() for block in self._blocks_of(node, places)]

    def _blocks_of(self, node: Node, places: list[int]) -> Iterator[_Block]:
        golds = [self.gold[self._golds[0][place]] for place in places]
        others = [self.extracted[row] for row in self._others[0]]
        if isinstance(node, Leaf) and all(_fits(node, value) for value in golds):
            columns = columns_at(self.run, node, golds, others, [()] * len(golds))
            if all(isinstance(column, MetricColumn) for column in columns):
                yield _Block(places, [*range(len(others))], columns)
        elif isinstance(node, Array) and all(type(value) is list for value in golds):
            lists = [place for place, value in enumerate(others) if not is_present(value) or type(value) is list]
            column = NodeColumn(self.run, node, golds, [others[place] for place in lists], None)
            yield _Block(places, lists, [column])
        elif isinstance(node, Object) and _is_regular(self.run, node, golds):
            regular = [place for place, value in enumerate(others) if _is_regular(self.run, node, [value])]
            rows = _present([others[place] for place in regular])
            yield _Block(places, regular, columns_of(self.run, node, golds, rows, [()] * len(golds)))

    def fit(self, i: int, j: int) -> Fit:
        """Walk two values."""
        path = () if self.places is None else self.places[i]
        return pair_fit(self.run, self.node, self.gold[i], self.extracted[j], path)

    def _bag(self, value: Value, *, of_gold: bool) -> _Bag | None:
        key = "bag", id(self.node), self.run.content(value), of_gold
        if key not in self.run.known:
            bag = _Bag(of_gold)
            self.run.known[key] = bag if bag.fill(self.run, self.node, value) else None
        found: _Bag | None = self.run.known[key]
        return found

    def add_to(self, scores: Any) -> Any:
        """Compare what one metric compares all at once, or the leaves of two lists whatever rows they stand in.

        The distinct values that remain are walked.
        """
        import numpy as np

        (golds, ours), (others, theirs) = self._golds, self._others
        bags = [
            [self._bag(side[row], of_gold=of_gold) if self.has_bags else None for row in rows]
            for side, rows, of_gold in ((self.gold, golds, True), (self.extracted, others, False))
        ]
        sizes = [np.array([0.0 if bag is None else bag.size for bag in side]) for side in bags]
        leaves = [[{} if bag is None else bag.leaves for bag in side] for side in bags]
        table, weights, is_open = common_weights(*leaves), np.maximum.outer(*sizes), _unlike(*bags)
        for block in self._blocks:
            cells = np.ix_(block.golds, block.others)
            found = np.zeros((len(block.golds), len(block.others)))
            weights[cells] = sum(column.add_to(found) for column in block.columns)
            table[cells], is_open[cells] = found, False
        for a, b in np.argwhere(is_open).tolist():
            table[a, b], weights[a, b], _ = self.fit(golds[a], others[b])
        _add_cells(scores, ours, theirs, table)
        return weights[np.ix_(ours, theirs)]


def _fits(leaf: Leaf, value: Value) -> bool:
    return leaf.types is None or not is_present(value) or type_fits(leaf.types, value)


def _add_cells(scores: Any, ours: Sequence[int], theirs: Sequence[int], table: Any, weight: float = 1.0) -> None:
    """Add to each pair of rows what a table says of their cells, as many rows at a time as a cache holds."""
    for start in range(0, len(ours), _ROWS_AT_ONCE):
        rows = slice(start, start + _ROWS_AT_ONCE)
        scores[rows] += weight * table[ours[rows]][:, theirs]


def _strict(value: Value) -> Hashable:
    if value is MISSING or value is _OTHER_TYPE:
        return None
    return type(value), canonical_json(value) if type(value) in (dict, list) else value


def _distinct(values: Sequence[Any], key: Callable[[Any], Hashable | None]) -> tuple[list[Any], list[int]]:
    """Return the distinct values, and the place of each among them; that of one without a key is -1, the last."""
    known: dict[Hashable, int] = {}
    firsts: list[Any] = []
    codes: list[int] = []
    for value in values:
        own = key(value)
        if own is None:
            codes.append(-1)
            continue
        code = known.setdefault(own, len(known))
        if code == len(firsts):
            firsts.append(value)
        codes.append(code)
    return firsts, codes


class _Bag:
    """The leaves of a list, whatever rows they stand in, for bounds of how well it fits another one.

    leaves: their weight by what they share where they match; a value of the output stands there once for each leaf
    that may score it. size: the sum of their weights. taken: of places with alternatives, the node that scores all.
    """

    def __init__(self, of_gold: bool) -> None:  # noqa: FBT001 - the side
        self.of_gold = of_gold
        self.leaves: Counter[Hashable] = Counter()
        self.size = 0.0
        self.taken: dict[int, int] = {}

    def fill(self, run: ScoringContext, node: Node, value: Value, depth: int = 0) -> bool:
        """Put the leaves of a value in; False where they are not known: another type, metrics on containers."""
        if value is MISSING or value is None or isinstance(node, Skip):
            return True
        if leaves := _leaves_of(run, node):
            own = (node_for(run, node, value),) if self.of_gold else leaves
            self.size += sum(check.weight for check in leaves[0].checks)
            for leaf in own:
                self._add(leaf, value)  # type: ignore[arg-type]
            return True
        if isinstance(node, Union | RecursiveRef):
            inner = node_for(run, node, value)
            return self.taken.setdefault(id(node), id(inner)) == id(inner) and self.fill(run, inner, value, depth)
        if isinstance(node, Array):
            regular = type(value) is list and not node.checks and not node.wrap and depth < _DEEPEST_BAG
            if not regular or not (value or node.empty_absent):
                return False
            nodes = [*node.prefix, *[node.items] * (len(value) - len(node.prefix))]
            return all(self.fill(run, own, row, depth + 1) for own, row in zip(nodes, value, strict=False))
        if not isinstance(node, Object) or node.checks or node.groups or depth >= _DEEPEST_BAG:
            return False
        if type(value) is not dict or not value or has_invented_keys(node, value):
            return False
        entries = (entry for entry in node.entries if entry.name in value)
        known = all(self.fill(run, entry.node, value[entry.name], depth + 1) for entry in entries)
        return known and (node.extra == "ignore" or self._fill_undeclared(run, node, value, depth))

    def _fill_undeclared(self, run: ScoringContext, obj: Object, value: dict[str, Json], depth: int) -> bool:
        for name in value.keys() - obj.names:
            node = node_of_undeclared(obj, name)
            if node is not None:
                if not self.fill(run, node, value[name], depth + 1):
                    return False
            elif value[name] is not None:
                self.leaves[id(obj), name, equality.same_key(value[name])] += 1
                self.size += 1
        return True

    def _add(self, leaf: Leaf, value: Json) -> None:
        for number, check in enumerate(leaf.checks):
            metric = check.likeness or check.metric
            key = None if metric.key is None or check.transform is not None else metric.key(value)  # None: with any
            self.leaves[id(leaf), number, key] += check.weight  # type: ignore[assignment]


def _leaves_of(run: ScoringContext, node: Node) -> tuple[Leaf, ...]:
    """Return the leaves of which one scores any value at a place; none where more does, or their weights differ."""
    key = "leaves", id(node)
    if key not in run.known:
        opened = tuple(_opened(run, node))
        leaves = [leaf for leaf in opened if isinstance(leaf, Leaf) and leaf.has_only_checks]
        weights = {sum(check.weight for check in leaf.checks) for leaf in leaves}
        run.known[key] = opened if len(leaves) == len(opened) and len(weights) == 1 else ()
    found: tuple[Leaf, ...] = run.known[key]
    return found


def _opened(run: ScoringContext, node: Node) -> Iterator[Node]:
    if isinstance(node, Union):
        for _, branch in node.branches:
            yield from _opened(run, branch)
    elif isinstance(node, Leaf) and node.by_type is not None:
        yield from (leaf_for(run, node, kind) for kind in (*node.by_type, None))
    else:
        yield node


def _unlike(ours: Sequence[_Bag | None], theirs: Sequence[_Bag | None]) -> Any:
    """Return of which two bags nothing is known: one is none, or took another alternative at the same place."""
    import numpy as np

    sides = [
        _distinct(bags, lambda bag: None if bag is None else frozenset(bag.taken.items())) for bags in (ours, theirs)
    ]
    (golds, rows), (others, columns) = sides
    table = np.ones((len(golds) + 1, len(others) + 1), bool)  # the last are those that are none
    for a, bag in enumerate(golds):
        for b, other in enumerate(others):
            table[a, b] = any(other.taken.get(place, node) != node for place, node in bag.taken.items())
    return table[np.ix_(rows, columns)]


def columns_of(
    run: ScoringContext,
    obj: Object,
    gold: Sequence[Value],
    extracted: Sequence[Value],
    places: Sequence[Path],
) -> list[Column]:
    """Lay out objects, or MISSING, as columns; those inside each other as columns of the outer ones."""
    columns: list[Column] = []
    for entry in obj.entries:
        ours, theirs = _values(gold, entry.name), _values(extracted, entry.name)
        if isinstance(entry.node, Skip) or all(value is MISSING for value in (*ours, *theirs)):
            continue
        below = [(*place, entry.name) for place in places]
        if isinstance(entry.node, Object) and _is_regular(run, entry.node, [*ours, *theirs]):
            columns += columns_of(run, entry.node, _present(ours), _present(theirs), below)
        else:
            columns += columns_at(run, entry.node, ours, theirs, below)
    if obj.extra == "compare":
        for name in sorted({name for row in (*gold, *extracted) if row is not MISSING for name in row} - obj.names):
            node, ours, theirs = node_of_undeclared(obj, name), _values(gold, name), _values(extracted, name)
            if node is None:
                columns.append(MetricColumn(_present(ours), _present(theirs), _SAME, f1=run.f1))
            else:
                columns += columns_at(run, node, ours, theirs, [(*place, name) for place in places])
    return columns


def _values(rows: Sequence[Value], name: str) -> list[Value]:
    return [MISSING if row is MISSING else row.get(name, MISSING) for row in rows]


def columns_at(
    run: ScoringContext, node: Node, gold: Sequence[Value], extracted: Sequence[Value], places: Sequence[Path]
) -> list[Column]:
    """Return values as a column of each of their metrics, where nothing else scores them."""
    ruled = places if run.is_ruled(node) else None
    leaf = _only_node(run, node, gold)
    if not isinstance(leaf, Leaf) or not leaf.has_only_checks or not all(_fits(leaf, value) for value in gold):
        return [NodeColumn(run, node, gold, extracted, ruled)]
    if ruled is not None and not _takes_rules(run, leaf, gold, ruled):
        return [NodeColumn(run, node, gold, extracted, ruled)]
    return [_metric_column(run, leaf, check, gold, extracted, ruled) for check in leaf.checks]


def _takes_rules(run: ScoringContext, leaf: Leaf, gold: Sequence[Value], places: Sequence[Path]) -> bool:
    """Whether further readings of values change nothing but their metric: no judge, no null, none of an empty gold."""
    if any(check.likeness is not None or check.metric.judged for check in leaf.checks):
        return False
    right = [readings(run, leaf.pattern, place) for place in places]
    return not any(own and (None in own or not is_present(value)) for own, value in zip(right, gold, strict=True))


def _metric_column(
    run: ScoringContext,
    leaf: Leaf,
    check: FieldMetric,
    gold: Sequence[Value],
    extracted: Sequence[Value],
    places: Sequence[Path] | None,
) -> MetricColumn:
    ours = [_changed(run, check, value) for value in gold]
    theirs = [_changed(run, check, value) if _fits(leaf, value) else _OTHER_TYPE for value in extracted]
    rules = None
    if places is not None:
        right = [tuple(_changed(run, check, each) for each in readings(run, leaf.pattern, place)) for place in places]
        rules = RowRules(right, [rule_of(run, leaf.pattern, place) == "either" for place in places], check.threshold)
    return MetricColumn(ours, theirs, check.likeness or check.metric, check.weight, f1=run.f1, rules=rules)


def _changed(run: ScoringContext, check: FieldMetric, value: Value) -> Value:
    """Return a value after the transforms of a check; MISSING for null where that is as good."""
    found = transformed(check, value, MISSING)[0][0]
    return MISSING if found is None and run.absent else found


def _only_node(run: ScoringContext, node: Node, gold: Sequence[Value]) -> Node:
    """Return the one node that scores all values of gold, of those that a place with alternatives has; else its own."""
    if not isinstance(node, Union | RecursiveRef) and not (isinstance(node, Leaf) and node.by_type is not None):
        return node
    nodes = {id(own): own for own in (node_for(run, node, value) for value in gold if is_present(value))}
    alike = len(nodes) == 1 and (all(map(is_present, gold)) or (run.absent and _leaves_of(run, node)))
    return next(iter(nodes.values())) if alike else node


def _present(values: Sequence[Value]) -> list[Value]:
    return [MISSING if value is None else value for value in values]


def _is_regular(run: ScoringContext, obj: Object, values: Sequence[Value]) -> bool:
    """Whether each of some values is an object whose properties say all, or is not there."""
    if obj.checks or obj.groups or run.is_ruled_itself(obj):
        return False
    some: list[Any] = [value for value in values if is_present(value)]
    return all(type(value) is dict and value for value in some) and not any(
        has_invented_keys(obj, value) for value in some
    )


def has_invented_keys(obj: Object, row: dict[str, Json]) -> bool:
    """Whether an object has keys that are invented whatever the other side has."""
    return obj.extra == "hallucinate" and not obj.names.issuperset(row)
