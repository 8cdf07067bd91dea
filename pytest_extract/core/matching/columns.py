"""Two lists of rows as columns of values: what best fit compares."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from collections.abc import Set as AbstractSet
from itertools import accumulate, pairwise
from typing import Final, Literal, NamedTuple, TypeAlias

from pytest_extract.core.metrics.base import BoundMetric
from pytest_extract.core.metrics.equality import json_text
from pytest_extract.core.values import CONTAINERS, MISSING, Json, Value
from pytest_extract.lazy import dataclass

Objective: TypeAlias = Literal["mean", "f1"]


class PairScore(NamedTuple):
    """Score of one pair of values as weighted sums over the leaves inside.

    `score`: sum of the scores of leaves present on both sides, `compared`: their weight; `omitted`, `hallucinated`:
    weight of leaves in gold only, in extracted only.
    """

    score: float
    compared: float
    omitted: float
    hallucinated: float


Pair: TypeAlias = Callable[[Value, Value], PairScore]


_AGAIN: Final = object()
_EQUAL_KINDS: Final = frozenset({bool, int, float})  # of which Python finds some values equal


class LeafColumn:
    """The leaves of rows at one place of the schema, which may be inside lists.

    `sizes`: how many leaves each row has. `read`: returns the keys of all leaves, of which only equal ones match; None
    where unlike leaves may match. `counts`: whether the leaves count in any comparison.
    """

    __slots__ = ("_keys", "_read", "counts", "sizes", "weight")

    def __init__(
        self, sizes: Sequence[int], weight: float, read: Callable[[], Sequence[Hashable]] | None, *, counts: bool
    ) -> None:
        self.sizes = sizes
        self.weight = weight
        self.counts = counts
        self._read = read
        self._keys: Sequence[Sequence[Hashable]] = ()

    @property
    def exact(self) -> bool:
        """Whether only leaves with equal keys match."""
        return self._read is not None

    def bag(self, row: int) -> AbstractSet[Hashable]:
        """Return what a row has: as many of its leaves match another's as their bags share, at most."""
        if self._read is None:
            return {*range(self.sizes[row])}
        if not self._keys:
            keys = self._read()
            self._keys = [keys[start:end] for start, end in pairwise(accumulate(self.sizes, initial=0))]
        return bag(self._keys[row])


class Content:
    """What a nested value holds: an upper bound of its score with another, without a look at their structure.

    `key`: two values with the same key match in every leaf. `columns`: their leaves, of which the value has those of
    `row`. `weight`: of all leaves; `floor`: of those that count in any comparison.
    """

    __slots__ = ("_bags", "columns", "floor", "key", "row", "weight")

    def __init__(self, key: Hashable, columns: Sequence[LeafColumn], row: int) -> None:
        self.key = key
        self.columns = columns
        self.row = row
        weights = [column.weight * column.sizes[row] for column in columns]
        self.weight = sum(weights)
        self.floor = sum([weight for column, weight in zip(columns, weights, strict=True) if column.counts])
        self._bags: Sequence[AbstractSet[Hashable]] | None = None

    @property
    def bags(self) -> Sequence[AbstractSet[Hashable]]:
        """The leaves of each column."""
        if self._bags is None:
            self._bags = [column.bag(self.row) for column in self.columns]
        return self._bags


def bag(keys: Sequence[Hashable]) -> set[Hashable]:
    """Return keys as a set, in which one that comes again is another."""
    found: set[Hashable] = {*keys}
    if len(found) < len(keys):
        again = [(key, times) for key, times in Counter(keys).items() if times > 1]
        found.update((_AGAIN, key, time) for key, times in again for time in range(1, times))
    return found


def shared_weight(one: Content, other: Content) -> float:
    """Return the weight of the leaves that two nested values could match at most: a multiset intersection.

    Each leaf is compared with one leaf at most, however lists inside are paired, and scores at most its weight.
    """
    bags = zip(one.columns, one.bags, other.bags, strict=True)
    return sum([column.weight * len(ours & theirs) for column, ours, theirs in bags])


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """One field of all rows, transformed already; MISSING where a row does not have it.

    A leaf has a `metric`, and counts `weight` where it is present on either side. Anything nested has a `pair`
    instead: the score of two values, of which one may be MISSING; it must depend on nothing but the two values.
    `contents`: of the nested values of gold and of the extracted ones, where the two bound the scores of `pair`.
    """

    gold: Sequence[Value]
    extracted: Sequence[Value]
    weight: float = 1.0
    metric: BoundMetric | None = None
    pair: Pair | None = None
    contents: tuple[Sequence[Content | None], Sequence[Content | None]] | None = None

    def __post_init__(self) -> None:
        if (self.metric is None) is (self.pair is None):
            raise ValueError("a column has either a metric or a pair function")

    def keys(self) -> Sequence[Sequence[Hashable]]:
        """Return a key for each value of both sides, the same for the same JSON or the same contents."""
        if self.contents is None:
            return strict_keys(self.gold, self.extracted)
        return [[MISSING if content is None else content.key for content in side] for side in self.contents]


def strict_key(value: Json) -> Hashable:
    """Return a key that two values share when they are the same JSON of the same types: 1, 1.0 and true all differ."""
    if isinstance(value, CONTAINERS):
        return (type(value), json_text(value))
    return (type(value), value if value == value else "nan")  # noqa: PLR0124 - NaN


def strict_keys(*sides: Sequence[Value]) -> list[Sequence[Hashable]]:
    """Return the strict keys of the sides of a column; MISSING is its own.

    Most columns are their own keys. A NaN may then differ from another; it is compared with it later, not paired first.
    """
    kinds = set[type]().union(*[map(type, side) for side in sides])
    if len(kinds & _EQUAL_KINDS) <= 1 and kinds.isdisjoint((list, dict)):
        return [*sides]
    return [[value if value is MISSING else strict_key(value) for value in side] for side in sides]


def f1_of(score: float, expected: float, given: float) -> float:
    """Return the harmonic mean of score / given and score / expected, each 1.0 where there is nothing to divide by."""
    precision = score / given if given else 1.0
    recall = score / expected if expected else 1.0
    return 2 * precision * recall / (precision + recall) if precision + recall else 0.0


def objective_score(objective: Objective, sums: PairScore) -> float:
    """Return the weighted mean leaf score of a pair, or its F1; 1.0 where nothing is scorable."""
    score, compared, omitted, hallucinated = sums
    if objective == "f1":
        return f1_of(score, compared + omitted, compared + hallucinated)
    total = compared + omitted + hallucinated
    return score / total if total else 1.0
