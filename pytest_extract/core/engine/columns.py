"""Rows laid out as columns, whose fits add up to those of the rows, as the walk gives them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Any, Final, Protocol

from pytest_extract.core.compile.nodes import Array, FieldMetric, Leaf, Node, Object, Skip
from pytest_extract.core.engine.batch import finish_batches
from pytest_extract.core.engine.context import Fit, Path, ScoringContext, is_present
from pytest_extract.core.engine.leaf import transformed
from pytest_extract.core.engine.walk import score_missing
from pytest_extract.core.metrics import equality
from pytest_extract.core.metrics.base import BoundMetric
from pytest_extract.core.results import HALLUCINATION, OMISSION
from pytest_extract.core.schema.conformance import type_fits
from pytest_extract.core.values import MISSING, Json, Value

DEEPEST_TRIAL: Final = 16
"""Lists inside lists whose rows are tried; deeper ones are compared as one value."""
_DEEPEST_BAG: Final = 32
_NOTHING: Final = Fit(0.0, 0.0)
_ROWS_AT_ONCE: Final = 64


def single_check(node: Node) -> FieldMetric | None:
    """Return a leaf's one check, where the leaf is scored by nothing else."""
    if not isinstance(node, Leaf) or not node.has_only_checks or len(node.checks) != 1:
        return None
    return node.checks[0] if node.checks[0].batch is None else None


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
    ) -> None:
        self.gold = gold
        self.extracted = extracted
        self.metric = metric
        self.weight = weight
        self.is_exact = metric.matrix is None or metric.key is not None
        self.one_sided = Fit(0.0, weight / 2 if f1 else weight)

    def fit(self, i: int, j: int) -> Fit:
        """Compare two values."""
        gold, extracted = self.gold[i], self.extracted[j]
        if gold is MISSING or extracted is MISSING:
            return _NOTHING if gold is extracted else self.one_sided
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
                [lacking if value is MISSING else known.setdefault(key(value), len(known)) for value in side]
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
        there, other = (np.array([value is not MISSING for value in side]) for side in (self.gold, self.extracted))
        if there.all() and other.all():
            return self.weight
        one_sided = np.not_equal.outer(there, other) * self.one_sided.weight
        return np.where(np.logical_and.outer(there, other), self.weight, one_sided)


class NodeColumn:
    """Values that need a walk: lists, alternatives, fields of several metrics or with rules of the case."""

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
        self.is_exact = places is not None or run.f1 or not run.absent or not isinstance(node, Array)

    def fit(self, i: int, j: int) -> Fit:
        """Walk two values."""
        path = () if self.places is None else self.places[i]
        return pair_fit(self.run, self.node, self.gold[i], self.extracted[j], path)

    def _bag(self, value: Value) -> Counter[Hashable] | None:
        key = "bag", id(self.node), self.run.content(value)
        if key not in self.run.known:
            bag: Counter[Hashable] = Counter()
            self.run.known[key] = bag if _fill(bag, self.run, self.node, value) else None
        found: Counter[Hashable] | None = self.run.known[key]
        return found

    def add_to(self, scores: Any) -> Any:
        """Walk the distinct values, or compare the leaves of two lists whatever rows they stand in."""
        import numpy as np

        content: Callable[[Value], Hashable] = self.run.content
        golds, ours = _distinct([*range(len(self.gold))], lambda i: content(self.gold[i]) if self.places is None else i)
        others, theirs = _distinct([*range(len(self.extracted))], lambda j: content(self.extracted[j]))
        bags = [
            [None if self.is_exact else self._bag(side[row]) for row in rows]
            for side, rows in ((self.gold, golds), (self.extracted, others))
        ]
        sizes = [np.array([0.0 if bag is None else bag.total() for bag in side]) for side in bags]
        table, weights = _shared(*bags), np.maximum.outer(*sizes)
        for a, i in enumerate(golds):
            for b in range(len(others)) if bags[0][a] is None else [b for b, bag in enumerate(bags[1]) if bag is None]:
                table[a, b], weights[a, b], _ = self.fit(i, others[b])
        _add_cells(scores, ours, theirs, table)
        return weights[np.ix_(ours, theirs)]


def _add_cells(scores: Any, ours: Sequence[int], theirs: Sequence[int], table: Any, weight: float = 1.0) -> None:
    """Add to each pair of rows what a table says of their cells, as many rows at a time as a cache holds."""
    for start in range(0, len(ours), _ROWS_AT_ONCE):
        rows = slice(start, start + _ROWS_AT_ONCE)
        scores[rows] += weight * table[ours[rows]][:, theirs]


def _strict(value: Value) -> Hashable:
    if value is MISSING:
        return None
    return type(value), equality.json_text(value) if type(value) in (dict, list) else value


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


def _fill(bag: Counter[Hashable], run: ScoringContext, node: Node, value: Value, depth: int = 0) -> bool:
    """Put the leaves of a value into a bag, by what they share where they match, with their weight.

    False where that is not known: another type, alternatives, metrics on containers.
    """
    if value is MISSING or value is None or isinstance(node, Skip):
        return True
    if isinstance(node, Object):
        regular = type(value) is dict and value and not node.checks and not node.groups and depth < _DEEPEST_BAG
        if not regular or not (node.extra == "ignore" or node.names.issuperset(value)):
            return False
        return all(
            _fill(bag, run, entry.node, value[entry.name], depth + 1) for entry in node.entries if entry.name in value
        )
    if isinstance(node, Array):
        regular = type(value) is list and not node.checks and not node.wrap and depth < _DEEPEST_BAG
        if not regular or not (value or node.empty_absent):
            return False
        nodes = [*node.prefix, *[node.items] * (len(value) - len(node.prefix))]
        return all(_fill(bag, run, own, row, depth + 1) for own, row in zip(nodes, value, strict=False))
    if not isinstance(node, Leaf) or not node.has_only_checks or any(check.batch is not None for check in node.checks):
        return False
    for number, check in enumerate(node.checks):
        metric = check.likeness or check.metric
        key = None if metric.key is None or check.transform is not None else metric.key(value)  # None: with any other
        bag[id(node), number, key] += check.weight  # type: ignore[assignment]
    return True


def _shared(ours: Sequence[Mapping[Hashable, float] | None], theirs: Sequence[Mapping[Hashable, float] | None]) -> Any:
    """Return the weight that each two bags have in common."""
    import numpy as np

    def by_leaf(bags: Iterable[Mapping[Hashable, float] | None]) -> dict[Hashable, tuple[list[int], list[float]]]:
        found: dict[Hashable, tuple[list[int], list[float]]] = {}
        for place, bag in enumerate(bags):
            for leaf, weight in (bag or {}).items():
                places, weights = found.setdefault(leaf, ([], []))
                places.append(place)
                weights.append(weight)
        return found

    total = np.zeros((len(ours), len(theirs)))
    others = by_leaf(theirs)
    for leaf, (rows, weights) in by_leaf(ours).items():
        if leaf in others:
            columns, other_weights = others[leaf]
            total[np.ix_(rows, columns)] += np.minimum.outer(weights, other_weights)
    return total


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
            columns.append(column_of(run, entry.node, ours, theirs, below))
    if obj.extra == "compare":
        ours, theirs = _undeclared(gold, obj.names), _undeclared(extracted, obj.names)
        if any(value is not MISSING for value in (*ours, *theirs)):
            rest = run.known.setdefault(("undeclared", id(obj)), obj._replace(entries=(), groups=()))
            columns.append(NodeColumn(run, rest, ours, theirs, places if run.is_ruled(obj) else None))
    return columns


def _values(rows: Sequence[Value], name: str) -> list[Value]:
    return [MISSING if row is MISSING else row.get(name, MISSING) for row in rows]


def _undeclared(rows: Sequence[Value], names: frozenset[str]) -> list[Value]:
    """Return of each row what its properties do not say, MISSING where that is nothing."""
    return [
        MISSING
        if row is MISSING or names.issuperset(row)
        else {name: value for name, value in row.items() if name not in names}
        for row in rows
    ]


def column_of(
    run: ScoringContext, node: Node, gold: Sequence[Value], extracted: Sequence[Value], places: Sequence[Path]
) -> Column:
    """Return values as a column of their metric where nothing else scores them."""
    if run.is_ruled(node):
        return NodeColumn(run, node, gold, extracted, places)
    check = single_check(node)
    if check is None or not isinstance(node, Leaf):
        return NodeColumn(run, node, gold, extracted, None)
    if node.types and not all(type_fits(node.types, value) for value in (*gold, *extracted) if is_present(value)):
        return NodeColumn(run, node, gold, extracted, None)
    sides = gold, extracted
    if check.transform is not None:
        sides = tuple([transformed(check, value, MISSING)[0][0] for value in side] for side in sides)  # type: ignore[assignment]
    ours, theirs = (_present(side) for side in sides) if run.absent else sides
    return MetricColumn(ours, theirs, check.likeness or check.metric, check.weight, f1=run.f1)


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
