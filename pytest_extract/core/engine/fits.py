"""How well each two of many values fit: bounds of it for all pairs at once, and what the walk says of one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import Any, Final, NamedTuple

from pytest_extract.core.compile.nodes import Array, FieldMetric, Leaf, Node, Object, RecursiveRef, Skip, Union
from pytest_extract.core.engine.context import Fit, Path, ScoringContext, is_present, node_for
from pytest_extract.core.engine.leaf import finish_batches, metric_score, readings, rule_of, transformed
from pytest_extract.core.metrics import equality
from pytest_extract.core.metrics.base import BoundMetric
from pytest_extract.core.metrics.exact import common_weights
from pytest_extract.core.schema.tree import type_fits
from pytest_extract.core.values import MISSING, Json, Value

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
        trial = run.trial()
        trial.walk(trial, node, gold, extracted, path, None)
        finish_batches(trial)
        found = run.known[key] = trial.fit(trial.leaves)
    return found


# --- all pairs at once


class Columns(NamedTuple):
    """Values of gold and of the output at one place, those of a row each; `places`: where those of gold stand."""

    gold: Sequence[Value]
    extracted: Sequence[Value]
    places: Sequence[Path]

    def some(self, rows: Sequence[int], columns: Sequence[int]) -> Columns:
        """Return some of the values of both sides."""
        gold, extracted, places = self
        return Columns([gold[i] for i in rows], [extracted[j] for j in columns], [places[i] for i in rows])

    def at(self, name: str) -> Columns:
        """Return what objects have under a key; MISSING where there is no object."""
        ours, theirs = ([row.get(name, MISSING) if type(row) is dict else MISSING for row in side] for side in self[:2])
        return Columns(ours, theirs, [(*place, name) for place in self.places])


def shares(run: ScoringContext, node: Node, rows: Columns) -> tuple[Any, bool]:
    """Return how well each two rows fit, or more than that, as a matrix, and whether it is exact everywhere."""
    import numpy as np

    scores = np.zeros((len(rows.gold), len(rows.extracted)))
    weights, are_exact = _add_fits(run, node, rows, scores)
    return _shares(scores, weights), are_exact


def metric_shares(metric: BoundMetric, columns: Sequence[tuple[Sequence[Value], Sequence[Value]]]) -> Any:
    """Return the mean of what a metric finds in the columns of each two rows, of those that either has."""
    import numpy as np

    scores, weights = np.zeros([*map(len, columns[0])]), 0.0
    for gold, extracted in columns:
        weights = weights + _add_metric(metric, [(value,) for value in gold], extracted, scores)
    return _shares(scores, weights)


def _shares(scores: Any, weights: Any) -> Any:
    import numpy as np

    scores += np.equal(weights, 0.0)  # nothing is compared: 1.0
    scores /= np.where(np.equal(weights, 0.0), 1.0, weights)
    return scores


def _add_fits(run: ScoringContext, node: Node, values: Columns, scores: Any) -> tuple[Any, bool]:
    """Add the scores of each two values, or more, to a matrix; return their weights, or less, and whether all is exact.

    Those of objects are the sums of their properties', as the walk gives them. One matrix serves all properties: that
    of two lists of 8,400 rows takes half a gigabyte.
    """
    gold, extracted, _ = values
    if isinstance(node, Skip) or all(value is MISSING for value in (*gold, *extracted)):
        return 0.0, True
    regular = all(_is_regular(run, node, value) for value in gold)
    if isinstance(node, Leaf) and regular:
        return _add_leaf(run, node, values, scores)
    if isinstance(node, Object) and regular and all(_is_regular(run, node, value) for value in extracted):
        return _add_object(run, node, values, scores)
    return _add_distinct(run, node, values, scores)


def _is_regular(run: ScoringContext, node: Node, value: Value) -> bool:
    """Whether metrics alone score a value of gold, or it is an object whose properties say all, or is not there."""
    if isinstance(node, Leaf):
        return node.has_only_checks and _fits(node, value)
    if not isinstance(node, Object) or node.checks or node.groups or run.is_ruled_itself(node):
        return False
    if not is_present(value):
        return True
    # of invented keys there is a result, whatever the other side has
    return (
        type(value) is dict and bool(value) and (node.extra != "hallucinate" or node.properties.keys() >= value.keys())
    )


def _fits(leaf: Leaf, value: Value) -> bool:
    return leaf.types is None or not is_present(value) or type_fits(leaf.types, value)


def _add_object(run: ScoringContext, obj: Object, rows: Columns, scores: Any) -> tuple[Any, bool]:
    names = [*obj.properties]
    if obj.extra == "compare":
        found = {name for row in (*rows.gold, *rows.extracted) if type(row) is dict for name in row}
        names += sorted(found - obj.properties.keys())
    weights: Any = 0.0
    are_exact = True
    for name in names:
        node, values = obj.node_of(name), rows.at(name)
        if node is not None:
            weight, is_exact = _add_fits(run, node, values, scores)
            are_exact = are_exact and is_exact
        else:  # the schema says nothing of it: null is as good as a missing key
            ours, theirs = ([value if is_present(value) else MISSING for value in side] for side in values[:2])
            weight = _add_metric(_SAME, [(value,) for value in ours], theirs, scores)
        weights = weights + weight
    return weights, are_exact


def _add_leaf(run: ScoringContext, leaf: Leaf, values: Columns, scores: Any) -> tuple[Any, bool]:
    """Add what the metrics of a leaf say, for gold's value or a further right reading of it."""
    import numpy as np

    gold, extracted, places = values
    is_ruled = run.is_ruled(leaf)
    right = [
        (value, *(readings(run, leaf.pattern, place) if is_ruled else ()))
        for value, place in zip(gold, places, strict=True)
    ]
    may_be_empty = [is_ruled and rule_of(run, leaf.pattern, place) == "either" for place in places]
    weights: Any = 0.0
    for check in leaf.checks:
        ours = [[_changed(run, check, value) for value in cell] for cell in right]
        theirs = [_changed(run, check, value) if _fits(leaf, value) else _OTHER_TYPE for value in extracted]
        one_sided: Any = check.weight / 2 if run.f1 else check.weight
        if is_ruled:
            free = [is_free or MISSING in cell[1:] for is_free, cell in zip(may_be_empty, ours, strict=True)]
            one_sided = np.where(free, 0.0, one_sided)[:, np.newaxis]
        weights = weights + _add_metric(check.likeness or check.metric, ours, theirs, scores, check.weight, one_sided)
    metrics = [check.likeness or check.metric for check in leaf.checks]
    return weights, not is_ruled and all(metric.key is not None or metric.matrix is None for metric in metrics)


def _changed(run: ScoringContext, check: FieldMetric, value: Value) -> Value:
    """Return a value after the transforms of a check; MISSING for null where that is as good."""
    found = transformed(check, value, MISSING)[0][0]
    return MISSING if found is None and run.absent else found


def _add_metric(
    metric: BoundMetric,
    gold: Sequence[Sequence[Value]],
    extracted: Sequence[Value],
    scores: Any,
    weight: float = 1.0,
    one_sided: Any = 1.0,
) -> Any:
    """Add what a metric finds of the distinct values to a matrix, and return the weights.

    `gold`: each value with further right readings, of which the best counts; `one_sided`: what a pair weighs of which
    only one side is there.
    """
    import numpy as np

    right = [tuple(value for value in cell if value is not MISSING) for cell in gold]
    if metric.key is not None:
        np.add(scores, weight, out=scores, where=_equal_keys(metric.key, right, extracted))
    else:
        golds, ours = _distinct(right, lambda cell: tuple(map(_strict, cell)) or None)
        others, theirs = _distinct(extracted, _strict)
        table = np.zeros((len(golds) + 1, len(others) + 1))  # the last are MISSING
        for number in range(max(map(len, golds), default=0) if others else 0):
            values = [cell[number % len(cell)] for cell in golds]
            np.maximum(table[:-1, :-1], _compare_all(metric, values, others), out=table[:-1, :-1])
        _add_cells(scores, ours, theirs, table, weight)
    there = np.array([cell[0] is not MISSING for cell in gold])
    here = np.array([value is not MISSING for value in extracted])
    if there.all() and here.all():
        return weight
    return np.where(np.logical_and.outer(there, here), weight, np.not_equal.outer(there, here) * one_sided)


def _equal_keys(key: Callable[[Json], Hashable], gold: Sequence[Sequence[Json]], extracted: Sequence[Value]) -> Any:
    """Return which values of the output have the key of one of gold's readings."""
    import numpy as np

    numbers: dict[Hashable, int] = {}
    theirs = [
        -1 if value is MISSING or value is _OTHER_TYPE else numbers.setdefault(key(value), len(numbers))
        for value in extracted
    ]
    found: Any = False
    for reading in range(max(map(len, gold), default=0)):
        ours = [numbers.get(key(cell[reading % len(cell)]), -2) if cell else -2 for cell in gold]
        found = found | np.equal.outer(ours, theirs)
    return found


def _compare_all(metric: BoundMetric, gold: Sequence[Json], extracted: Sequence[Json]) -> Any:
    import numpy as np

    if metric.matrix is not None:
        return metric.matrix(gold, extracted)
    scores = np.array([[metric_score(metric, one, other) for other in extracted] for one in gold])
    return np.where((scores >= 0.0) & (scores <= 1.0), scores, 0.0)  # a project's own metric may give anything


def _add_distinct(run: ScoringContext, node: Node, values: Columns, scores: Any) -> tuple[Any, bool]:
    """Add what is known of the distinct values once it is known which node scores those of gold; walk the others."""
    import numpy as np

    gold, extracted, places = values
    is_ruled, content = run.is_ruled(node), run.content
    golds, ours = _distinct(range(len(gold)), lambda i: i if is_ruled else content(gold[i]))
    others, theirs = _distinct(range(len(extracted)), lambda j: content(extracted[j]))
    gold, extracted, places = values = values.some(golds, others)
    if isinstance(node, Array) and run.absent and not run.f1 and not is_ruled:
        table, weights, is_open = _compare_leaves(run, node, values)
        are_exact = False
    else:
        table, weights = np.zeros((2, len(golds), len(others)))
        is_open, are_exact = np.ones(table.shape, bool), True
        for own, rows in _by_node(run, node, gold):
            columns = [
                b for b, value in enumerate(extracted) if not isinstance(own, Object) or _is_regular(run, own, value)
            ]
            cells = np.ix_(rows, columns)
            found = np.zeros((len(rows), len(columns)))
            weights[cells], is_exact = _add_fits(run, own, values.some(rows, columns), found)
            table[cells], is_open[cells] = found, False
            are_exact = are_exact and is_exact
    for a, b in np.argwhere(is_open).tolist():
        table[a, b], weights[a, b], _ = pair_fit(run, node, gold[a], extracted[b], places[a] if is_ruled else ())
    _add_cells(scores, ours, theirs, table)
    return weights[np.ix_(ours, theirs)], are_exact


def _by_node(run: ScoringContext, node: Node, gold: Sequence[Value]) -> Iterator[tuple[Node, list[int]]]:
    """Yield the nodes that score values of gold, with the places of those that need no walk."""
    nodes: dict[int, tuple[Node, list[int]]] = {}
    for place, value in enumerate(gold if not isinstance(node, Array) else ()):
        if is_present(value):
            own = node_for(run, node, value)
            if isinstance(own, Array) or _is_regular(run, own, value):
                nodes.setdefault(id(own), (own, []))[1].append(place)
    yield from nodes.values()


def _add_cells(scores: Any, ours: Sequence[int], theirs: Sequence[int], table: Any, weight: float = 1.0) -> None:
    """Add to each pair of rows what a table says of their cells, as many rows at a time as a cache holds."""
    for start in range(0, len(ours), _ROWS_AT_ONCE):
        rows = slice(start, start + _ROWS_AT_ONCE)
        scores[rows] += weight * table[ours[rows]][:, theirs]


def _strict(value: Value) -> Hashable:
    return None if value is MISSING or value is _OTHER_TYPE else equality.strict_key(value)


def _distinct(values: Sequence[Any], key: Callable[[Any], Hashable | None]) -> tuple[list[Any], list[int]]:
    """Return the distinct values, and the place of each among them; that of one without a key is -1, the last."""
    known: dict[Hashable, Any] = {}
    keys = [key(value) for value in values]
    for own, value in zip(keys, values, strict=True):
        if own is not None:
            known.setdefault(own, value)
    places = {own: place for place, own in enumerate(known)}
    return [*known.values()], [places.get(own, -1) for own in keys]


# --- lists inside rows


def _compare_leaves(run: ScoringContext, array: Array, lists: Columns) -> tuple[Any, Any, Any]:
    """Return bounds of how well lists fit by their leaves, whatever rows these stand in, and where there are none."""
    import numpy as np

    ours, theirs = (
        [_bag(run, array, value, of_gold=of_gold) for value in side]
        for side, of_gold in ((lists.gold, True), (lists.extracted, False))
    )
    leaves = [[{} if bag is None else bag.leaves for bag in side] for side in (ours, theirs)]
    sizes = [np.array([0.0 if bag is None else bag.size for bag in side]) for side in (ours, theirs)]
    return common_weights(*leaves), np.maximum.outer(*sizes), _unlike(ours, theirs)


def _bag(run: ScoringContext, array: Array, value: Value, *, of_gold: bool) -> _Bag | None:
    key = "bag", id(array), run.content(value), of_gold
    if key not in run.known:
        bag = _Bag(of_gold)
        run.known[key] = bag if bag.fill(run, array, value) else None
    found: _Bag | None = run.known[key]
    return found


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
            self.size += sum(check.weight for check in leaves[0].checks)
            for leaf in (node_for(run, node, value),) if self.of_gold else leaves:
                for number, check in enumerate(leaf.checks):  # type: ignore[union-attr]
                    metric = check.likeness or check.metric
                    is_keyed = metric.key is not None and check.transform is None  # others match any value
                    key = metric.key(value) if is_keyed else None
                    self.leaves[id(leaf), number, key] += check.weight
            return True
        if isinstance(node, Union | RecursiveRef):
            inner = node_for(run, node, value)
            return self.taken.setdefault(id(node), id(inner)) == id(inner) and self.fill(run, inner, value, depth)
        if isinstance(node, Array):
            regular = type(value) is list and not node.checks and not node.wrap and depth < _DEEPEST_BAG
            if not regular or not (value or node.empty_absent):
                return False
            return all(self.fill(run, node.row(index), row, depth + 1) for index, row in enumerate(value))
        if not isinstance(node, Object) or depth >= _DEEPEST_BAG or not _is_regular(run, node, value):
            return False
        for name, item in value.items():
            if name not in node.properties and node.extra == "ignore":
                continue
            below = node.node_of(name)
            if below is not None:
                if not self.fill(run, below, item, depth + 1):
                    return False
            elif item is not None:
                self.leaves[id(node), name, equality.same_key(item)] += 1
                self.size += 1
        return True


def _leaves_of(run: ScoringContext, node: Node) -> tuple[Leaf, ...]:
    """Return the leaves of which one scores any value at a place; none where more does, or their weights differ."""
    key = "leaves", id(node)
    if key not in run.known:
        opened = tuple(_opened(node))
        leaves = [leaf for leaf in opened if isinstance(leaf, Leaf) and leaf.has_only_checks]
        weights = {sum(check.weight for check in leaf.checks) for leaf in leaves}
        run.known[key] = opened if len(leaves) == len(opened) and len(weights) == 1 else ()
    found: tuple[Leaf, ...] = run.known[key]
    return found


def _opened(node: Node) -> Iterator[Node]:
    if isinstance(node, Union):
        for _, branch in node.branches:
            yield from _opened(branch)
    elif isinstance(node, Leaf) and node.by_type is not None:
        yield from node.by_type.values()
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
