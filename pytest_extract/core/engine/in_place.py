"""Rows with lists in them that stand in their places, each with its partner: the usual list with a few mistakes.

The rows are scored where they stand, and no other pairing is tried where this one proves to be the best.

Lemma: let `bounds >= scores` for every pair of rows, and equal where rows stand in their places. If rows in their
places are a best assignment by the bounds, they are one by the scores (`matching.fit`, lemma 1).

A score is at most (m - d) / n: two rows whose leaves weigh m and n, m <= n, match in m at most, and not in the leaves
of weight d that they cannot share: of each property that is compared by equality, the values that not both have.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from itertools import accumulate, chain, pairwise
from math import fsum
from operator import ne
from typing import Any, Final, NamedTuple

from pytest_extract.core.compile.nodes import Array, Leaf, Node, Object, Skip
from pytest_extract.core.engine.context import ScoringContext
from pytest_extract.core.engine.leaf import transformed
from pytest_extract.core.matching.assignment import best_assignment
from pytest_extract.core.metrics.equality import json_text, keys_of
from pytest_extract.core.values import MISSING, Json

MOST_CELLS: Final = 400
"""Pairs with an unlike row up to which their bounds pay."""
_ROUNDING: Final = 1e-12
_AGAIN: Final = object()


def unlike_rows(
    run: ScoringContext, array: Array, gold: Sequence[Json], extracted: Sequence[Json]
) -> Sequence[int] | None:
    """Return the rows that differ from their partners; None if nothing is proved of them."""
    if len(gold) != len(extracted) or array.align.mode != "best_fit" or array.prefix or array.checks:
        return None
    if run.f1 or run.empty_is_free or not run.absent or run.accept or run.absent_rules:
        return None
    try:
        unlike = [index for index, differs in enumerate(map(ne, gold, extracted)) if differs]
    except RecursionError:
        return None
    few = len(unlike) == 1 or len(unlike) * len(gold) <= MOST_CELLS
    return unlike if few and _is_additive(array.items) else None


def _is_additive(node: Node) -> bool:
    """Whether the weight of what a value holds is the same whatever it is compared with."""
    if isinstance(node, Leaf):
        return node.has_only_checks and all(
            check.batch is None and check.likeness is None and not check.metric.judged for check in node.checks
        )
    if isinstance(node, Object):
        if node.groups or node.checks or node.other is not None or node.patterns:
            return False
        return all(_is_additive(entry.node) for entry in node.entries)
    if isinstance(node, Array):
        known = node.align.mode in ("best_fit", "position", "multiset", "key")
        return known and not (node.prefix or node.checks or node.wrap) and _is_additive(node.items)
    return isinstance(node, Skip)


def are_alike(rows: Sequence[Json]) -> bool:
    """Whether all rows hold the same, so that one pairing with other rows is as good as another."""
    return all(row == rows[0] for row in rows) and len({*map(json_text, rows)}) == 1


class InPlace:
    """Rows in their places, and `bounds`: what each row of gold scores at most with each extracted row.

    With each property that is looked at, they come closer to the scores.
    """

    def __init__(self, unlike: Sequence[int], columns: Sequence[_Column], height: int) -> None:
        self.unlike = unlike
        self._columns = sorted([column for column in columns if column.keys], key=_distinct_keys)
        weights = [sum(own) for own in zip(*[column.weights for column in columns], strict=True)]
        place_of = {row: place for place, row in enumerate(unlike, height)}
        self._places = [(row, column) for row in range(height) for column in unlike]
        self._places += [(row, column) for row in unlike for column in range(height) if column not in place_of]
        # the rows of each of these pairs, the most that they match in, and what counts
        self._pairs = [(row, place_of.get(column, column)) for row, column in self._places]
        self._most = [min(weights[one], weights[other]) for one, other in self._pairs]
        self._weights = [max(weights[one], weights[other]) for one, other in self._pairs]
        self.bounds = [[1.0] * height for _ in range(height)]

    def is_likely(self) -> bool:
        """Whether every row is more like its partner than like another one, or in place as good as elsewhere."""
        while not self._stand_out():
            if not self.look_at_more():
                unlike, bounds = self.unlike, self.bounds
                alike = any(bounds[one][other] >= 1.0 for one in unlike for other in unlike if one != other)
                return not alike and self._is_best()
        return True

    def is_best(self, scores: Mapping[int, float]) -> bool:
        """Whether no pairing is better, given the scores of unlike rows in their places."""
        for row, score in scores.items():
            self.bounds[row][row] = score
        while not self._is_best():
            if not self.look_at_more(but=scores.keys()):
                return False
        return True

    def _is_best(self) -> bool:
        best = fsum([self.bounds[row][column] for row, column in best_assignment(self.bounds).pairs])
        return best <= fsum([row[index] for index, row in enumerate(self.bounds)]) + _ROUNDING

    def _stand_out(self) -> bool:
        bounds = self.bounds
        return all(
            row == column or bounds[row][column] < min(bounds[row][row], bounds[column][column])
            for row, column in self._places
        )

    def look_at_more(self, but: AbstractSet[int] = frozenset()) -> bool:
        """Look at one more property, the one with the most different values; False if there is none.

        `but`: rows whose score in their places is known.
        """
        if not self._columns:
            return False
        weight, own, keys = self._columns.pop()
        bags = [*map(_bag, keys)]
        self._most = [
            most - min(own[one], own[other]) + weight * len(bags[one] & bags[other])
            for most, (one, other) in zip(self._most, self._pairs, strict=True)
        ]
        for (row, column), most, weight in zip(self._places, self._most, self._weights, strict=True):
            if row != column or row not in but:
                self.bounds[row][column] = most / weight if weight else 1.0
        return True


def rows_in_place(
    items: Object, gold: Sequence[Json], extracted: Sequence[Json], unlike: Sequence[int]
) -> InPlace | None:
    """Lay out rows; None where a value is not of its kind."""
    rows = [[row] for row in [*gold, *(extracted[row] for row in unlike)]]
    found = [*_columns(items, rows, len(gold))]
    columns = [column for column in found if column is not None]
    return InPlace(unlike, columns, len(gold)) if 0 < len(columns) == len(found) else None


class _Column(NamedTuple):
    """A property of rows, or of what lists in them hold.

    `weights`: of the leaves of each row. `keys`: of each row's leaves, which match if theirs are equal.
    """

    weight: float
    weights: Sequence[float]
    keys: Sequence[Sequence[Hashable]]


def _distinct_keys(column: _Column) -> int:
    return len({*chain.from_iterable(column.keys)})


def _columns(node: Node, values: Sequence[Sequence[Json]], height: int) -> Iterator[_Column | None]:
    """Give the columns of a node; None for one of which nothing is known.

    `values`: what each row has there, the first `height` of them in gold, where no key may be undeclared.
    """
    if isinstance(node, Object):
        gold: Any = chain.from_iterable(values[:height])
        are_objects = {dict, type(None)}.issuperset(map(type, chain.from_iterable(values)))
        if not are_objects or not all(value is None or value.keys() <= node.names for value in gold):
            yield None
            return
        for name, child, *_ in node.entries:
            yield from _columns(child, [[value.get(name) for value in own if value] for own in values], height)
    elif isinstance(node, Array):
        if not {list, type(None)}.issuperset(map(type, chain.from_iterable(values))):
            yield None
            return
        inside = [[*chain.from_iterable([value for value in own if value])] for own in values]
        yield from _columns(node.items, inside, height)
    elif isinstance(node, Leaf):
        for check in node.checks:
            read = values
            if check.transform is not None:
                read = [[transformed(check, value, MISSING)[0][0] for value in own] for own in values]
            present = [[value for value in own if value is not None] for own in read]
            keys = keys_of(check.metric.key, [*chain.from_iterable(present)]) if check.metric.key else ()
            ends = accumulate(map(len, present), initial=0)
            own_keys = [keys[start:end] for start, end in pairwise(ends)] if check.metric.key else ()
            yield _Column(check.weight, [check.weight * len(own) for own in present], own_keys)


def _bag(keys: Sequence[Hashable]) -> set[Hashable]:
    """Return keys as a set, in which one that comes again is another."""
    bag: set[Hashable] = {*keys}
    if len(bag) < len(keys):
        for key, times in Counter(keys).items():
            bag.update((_AGAIN, key, time) for time in range(1, times))
    return bag
