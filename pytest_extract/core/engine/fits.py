"""How well each two of many values fit: bounds of it for all pairs at once, and what the walk says of one."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Hashable, Sequence
from typing import Any, Final, NamedTuple

from pytest_extract.core.compile.nodes import Array, Choice, FieldMetric, Leaf, Node, Object, Skip, nodes_at
from pytest_extract.core.engine.context import Fit, Path, ScoringContext, is_present, node_for
from pytest_extract.core.engine.leaf import finish_batches, metric_score, readings, transformed
from pytest_extract.core.metrics.base import BoundMetric
from pytest_extract.core.metrics.exact import common_weights
from pytest_extract.core.schema.tree import type_fits
from pytest_extract.core.values import MISSING, Value, same, same_key, strict_key

DEEPEST_TRIAL: Final = 16
"""Lists inside lists whose rows are tried; deeper ones are compared as one value."""
_DEEPEST_BAG: Final = 32
_MOST_WAYS: Final = 64
"""Alternatives by which one value may be scored; a list with more is walked beside each other list."""
_NOTHING: Final = Fit(0.0, 0.0)
_OTHER_TYPE: Final[Any] = object()
"""In a column of a metric: a value whose type the schema does not allow, and which is wrong beside any of gold's."""
_SAME: Final = BoundMetric(compare=lambda gold, other: float(same(gold, other)), key=same_key)
_ROWS_AT_ONCE: Final = 64


# --- one pair


def pair_fit(run: ScoringContext, node: Node, gold: Value, extracted: Value, path: Path) -> Fit:
    """Return how well two values fit: what the walk itself finds. `path`: of gold's value where rules depend on it."""
    if gold is MISSING and extracted is MISSING:
        return _NOTHING
    if run.depth >= DEEPEST_TRIAL:
        return Fit(float(same(gold, extracted)), 1.0)
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
        weights = weights + _add_metric(metric, gold, extracted, scores)
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
    if not isinstance(node, Object) or node.checks or node.groups or node.pattern in run.ruled:
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
            weight = _add_metric(_SAME, ours, theirs, scores)
        weights = weights + weight
    return weights, are_exact


def _add_leaf(run: ScoringContext, leaf: Leaf, values: Columns, scores: Any) -> tuple[Any, bool]:
    """Add what the metrics of a leaf say; where a case's rules hold, of all that they let be right, which is more."""
    is_ruled = run.is_ruled(leaf)
    right: list[Sequence[Value]] = [(value,) for value in values.gold]
    if is_ruled:
        right = [(*own, *readings(run, leaf.pattern, place)) for own, place in zip(right, values.places, strict=True)]
    weights: Any = 0.0
    for check in leaf.checks:
        extracted = [_changed(run, check, one) if _fits(leaf, one) else _OTHER_TYPE for one in values.extracted]
        one_sided = 0.0 if is_ruled else check.weight / 2 if run.f1 else check.weight
        for number in range(max(map(len, right))):
            gold = [_changed(run, check, cell[number]) if number < len(cell) else MISSING for cell in right]
            weight = _add_metric(check.likeness or check.metric, gold, extracted, scores, check.weight, one_sided)
            weights = weights if number else weights + weight
    metrics = [check.likeness or check.metric for check in leaf.checks]
    return weights, not is_ruled and all(metric.key is not None or metric.matrix is None for metric in metrics)


def _changed(run: ScoringContext, check: FieldMetric, value: Value) -> Value:
    """Return a value after the transforms of a check; MISSING for null where that is as good."""
    found = transformed(check, value, MISSING)[0][0]
    return MISSING if found is None and run.absent else found


def _add_metric(
    metric: BoundMetric,
    gold: Sequence[Value],
    extracted: Sequence[Value],
    scores: Any,
    weight: float = 1.0,
    one_sided: float = 1.0,
) -> Any:
    """Add what a metric finds of the distinct values to a matrix, and return the weights.

    `one_sided`: what a pair weighs of which only one side is there.
    """
    import numpy as np

    if metric.key is not None:
        key = metric.key
        own = _distinct([*gold, *extracted], lambda value: None if _strict(value) is None else (key(value),))[1]
        places = np.array(own, np.int64)
        ours, theirs = places[: len(gold)], places[len(gold) :]
        ours[ours < 0] = -2  # two that are missing are no pair
        np.add(scores, weight, out=scores, where=np.equal.outer(ours, theirs))
    else:
        (golds, rows), (others, columns) = (_distinct(side, _strict) for side in (gold, extracted))
        table = np.zeros((len(golds) + 1, len(others) + 1))  # the last are MISSING
        if golds and others and metric.matrix is not None:
            table[:-1, :-1] = metric.matrix(golds, others)
        elif golds and others:
            found = np.array([[metric_score(metric, one, other) for other in others] for one in golds])
            # a project's own metric may give anything
            table[:-1, :-1] = np.where((found >= 0.0) & (found <= 1.0), found, 0.0)
        _add_cells(scores, rows, columns, table, weight)
    there, here = (np.array([value is not MISSING for value in side]) for side in (gold, extracted))
    if there.all() and here.all():
        return weight
    return np.where(np.logical_and.outer(there, here), weight, np.not_equal.outer(there, here) * one_sided)


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
        nodes: dict[int, tuple[Node, list[int]]] = {}  # what scores values of gold, with the places that need no walk
        for a, value in enumerate(gold if not isinstance(node, Array) else ()):
            if is_present(value):
                own = node_for(run, node, value)
                if isinstance(own, Array) or _is_regular(run, own, value):
                    nodes.setdefault(id(own), (own, []))[1].append(a)
        for own, rows in nodes.values():
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


def _add_cells(scores: Any, ours: Sequence[int], theirs: Sequence[int], table: Any, weight: float = 1.0) -> None:
    """Add to each pair of rows what a table says of their cells, as many rows at a time as a cache holds."""
    for start in range(0, len(ours), _ROWS_AT_ONCE):
        rows = slice(start, start + _ROWS_AT_ONCE)
        scores[rows] += weight * table[ours[rows]][:, theirs]


def _strict(value: Value) -> Hashable:
    return None if value is MISSING or value is _OTHER_TYPE else strict_key(value)


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

    def bag(value: Value, *, of_gold: bool) -> Any:
        """Return what leaves share where they match -> their weight; and the sum of their weights, as `_fill` says."""
        key = "bag", id(array), run.content(value), of_gold
        if key not in run.known:
            leaves: dict[Hashable, float] = defaultdict(float)
            run.known[key] = leaves, _fill(run, leaves, array, value, of_gold=of_gold)
        return run.known[key]

    bags = [bag(value, of_gold=True) for value in lists.gold], [bag(value, of_gold=False) for value in lists.extracted]
    leaves = [[each[0] for each in side] for side in bags]
    sizes = [np.array([each[1] for each in side]) for side in bags]
    return common_weights(*leaves), np.maximum.outer(*sizes), np.isnan(np.add.outer(*sizes))


def _fill(
    run: ScoringContext,
    leaves: dict[Hashable, float],
    node: Node,
    value: Value,
    *,
    of_gold: bool,
    depth: int = 0,
    ways: int = 1,
) -> float:
    """Put the leaves of a value in, and return what they weigh, or less.

    NaN where they are not known: another type, metrics on containers, too many alternatives.
    A value of the output stands there once for each alternative that may score it: which one does, gold says.
    `ways`: how many alternatives those around the value make together.
    """

    def below(inner: Node, part: Value, number: int = 1) -> float:
        return _fill(run, leaves, inner, part, of_gold=of_gold, depth=depth + 1, ways=ways * number)

    if value is MISSING or value is None or isinstance(node, Skip):
        return 0.0
    if isinstance(node, Choice) or (isinstance(node, Leaf) and node.by_type is not None):
        if of_gold:
            nodes = [node_for(run, node, value)]
        else:
            nodes = [*node.by_type.values()] if isinstance(node, Leaf) and node.by_type else [*nodes_at(node, ())]
        if ways * len(nodes) > _MOST_WAYS:
            return math.nan
        sizes = [below(inner, value, len(nodes)) for inner in nodes]
        return math.nan if any(map(math.isnan, sizes)) else min(sizes)
    if isinstance(node, Leaf) and node.has_only_checks:
        for number, check in enumerate(node.checks):
            metric = check.likeness or check.metric
            key = metric.key if check.transform is None else None
            leaves[id(node), number, key and key(value)] += check.weight  # without a key, it matches any value
        return sum(check.weight for check in node.checks)
    if isinstance(node, Array) and type(value) is list and not node.checks and not node.wrap and depth < _DEEPEST_BAG:
        return sum(below(node.row(i), row) for i, row in enumerate(value)) if value or node.empty_absent else math.nan
    if not isinstance(node, Object) or depth >= _DEEPEST_BAG or not _is_regular(run, node, value):
        return math.nan
    size = 0.0
    for name, item in value.items():
        inner = node.node_of(name)
        if name not in node.properties and node.extra == "ignore":
            continue
        if inner is not None:
            size += below(inner, item)
        elif item is not None:
            leaves[id(node), name, same_key(item)] += 1
            size += 1
    return size
