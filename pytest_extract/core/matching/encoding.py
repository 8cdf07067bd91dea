"""Best fit's columns with each value replaced by a small number: equal numbers, equal values."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import field
from itertools import chain, count
from math import inf
from typing import Any, Final, TypeAlias

from pytest_extract.core.matching.columns import Column, Content, Objective, Pair, PairScore, shared_weight
from pytest_extract.core.metrics.base import BoundMetric, Near
from pytest_extract.core.metrics.equality import keys_of
from pytest_extract.core.metrics.vectorized import are_apart, finite_numbers
from pytest_extract.core.values import MISSING, Json, Value
from pytest_extract.lazy import dataclass

Pairs: TypeAlias = list[tuple[int, int]]
ABSENT = -1
"""The code of MISSING."""
NOTHING: Final = PairScore(0.0, 0.0, 0.0, 0.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class EncodedColumn:
    """A column whose values are numbered: equal codes mean equal values, ABSENT means MISSING.

    `equality`: two present values score 1 where their codes are equal, and 0 elsewhere; nothing else is left to
    compare. `values[code]` is one value of that code. `contents[code]`: what a nested value holds, where that bounds
    its scores.
    """

    gold: Sequence[int]
    extracted: Sequence[int]
    values: Sequence[Json] | Mapping[int, Json]
    weight: float
    metric: BoundMetric | None
    pair: Pair | None
    equality: bool
    memo: dict[tuple[int, int], PairScore] = field(default_factory=dict)
    contents: Mapping[int, Content] | None = None
    shared: dict[tuple[int, int], float] = field(default_factory=dict)

    @property
    def bounding(self) -> BoundMetric | None:
        """The metric whose scores are no lower than those of the values: their own, where none is faster."""
        return self.metric and (self.metric.bound or self.metric)

    @property
    def bounded(self) -> bool:
        """Whether scores are first bounded, and found only for pairs that may be chosen."""
        return self.contents is not None or self.bounding is not self.metric

    @property
    def has_search(self) -> bool:
        """Whether the values that score highest, or may, are found without a look at all of them."""
        return self.bounding is not None and not self.equality and self.bounding.search is not None

    def search(self, codes: Sequence[int]) -> Callable[[int, float], list[tuple[list[int], float]]]:
        """Return the function from a code and a cutoff to places of these codes, with bounds from the cutoff on."""
        assert self.bounding is not None  # noqa: S101 - where has_search
        assert self.bounding.search is not None  # noqa: S101
        places: dict[int, list[int]] = {}
        for place, code in enumerate(codes):
            places.setdefault(code, []).append(place)
        absent = [(places.pop(ABSENT, []), 1.0)]
        groups = [*places.values()]
        find = self.bounding.search([self.values[code] for code in places])

        def found(code: int, cutoff: float) -> list[tuple[list[int], float]]:
            return absent if code == ABSENT else [(groups[at], score) for at, score in find(self.values[code], cutoff)]

        return found

    def most(self, codes: set[int], others: set[int], *, gold: bool) -> Mapping[int, float]:
        """Return what present values score at most with any of the other present ones; `gold`: whether they are gold's.

        0 where that is left out. Of nested values, these are sums of scores.
        """
        if self.contents is not None:
            heaviest = max((self.contents[other].weight for other in others), default=0.0)
            return {code: min(self.contents[code].weight, heaviest) for code in codes}
        if self.equality:
            return dict.fromkeys(codes & others, 1.0)
        if self.metric is None or self.metric.near is None:
            return dict.fromkeys(codes, 1.0) if others else {}
        sides = [*codes], [*others]
        found = self.metric.near(*([self.values[code] for code in side] for side in (sides if gold else sides[::-1])))
        most: dict[int, float] = {}
        for one, other, score in found:
            code = sides[0][one if gold else other]
            most[code] = max(score, most.get(code, 0.0))
        return most

    @property
    def detour(self) -> float:
        """How much more 1 - score may be than by way of a third value; absence is one at distance 1 from all others."""
        if self.equality:
            return 0.0
        return inf if self.metric is None else self.metric.detour

    def score(self, gold: int, extracted: int) -> float:
        """Return the metric's score of two present values."""
        if self.equality:
            return 1.0 if gold == extracted else 0.0
        assert self.metric is not None  # noqa: S101 - asked of leaf columns only
        if gold == extracted and self.metric.reflexive:
            return 1.0
        return self.metric.compare(self.values[gold], self.values[extracted])

    def sums(self, gold: int, extracted: int) -> PairScore:
        """Return the sums over the leaves of a pair of values; nested ones are scored once."""
        if gold == extracted == ABSENT:
            return NOTHING
        if self.pair is None or self.contents is not None:
            weight = 1.0 if self.contents is None else self.contents[gold if extracted == ABSENT else extracted].weight
            if gold == ABSENT:
                return PairScore(0.0, 0.0, 0.0, weight)
            if extracted == ABSENT:
                return PairScore(0.0, 0.0, weight, 0.0)
            if self.pair is None:
                return PairScore(self.score(gold, extracted), 1.0, 0.0, 0.0)
            if gold == extracted:
                return PairScore(weight, weight, 0.0, 0.0)
        known = self.memo.get((gold, extracted))
        if known is None:
            known = self.memo[gold, extracted] = self.pair(self._value(gold), self._value(extracted))
        return known

    def parts(self, gold: int, extracted: int, objective: Objective, most: float | None = None) -> PairScore:
        """Return the sums of a pair, or such that score no lower; `most`: the `score_bound` of nested values."""
        if gold == extracted == ABSENT:
            return NOTHING
        if self.metric is not None and self.metric.bound is not None and ABSENT not in (gold, extracted):
            return PairScore(self.metric.bound.compare(self.values[gold], self.values[extracted]), 1.0, 0.0, 0.0)
        if self.contents is None:
            return self.sums(gold, extracted)
        most = self.score_bound(gold, extracted) if most is None else most
        ours, theirs = max(self.floor(gold), most), max(self.floor(extracted), most)
        if objective == "mean":  # what only one side has may be compared with what only the other one has
            ours, theirs = max(ours, theirs), most
        return PairScore(most, most, ours - most, theirs - most)

    def score_bound(self, gold: int, extracted: int) -> float:
        """Return the score of two nested values where it is known, else what their contents share."""
        if ABSENT in (gold, extracted):
            return 0.0
        known = self.memo.get((gold, extracted))
        if known is not None:
            return known.score
        assert self.contents is not None  # noqa: S101 - columns with contents only
        bound = self.shared.get((gold, extracted))
        if bound is None:
            bound = self.shared[gold, extracted] = shared_weight(self.contents[gold], self.contents[extracted])
        return bound

    def score_bounds(self, golds: Sequence[int], others: Sequence[int]) -> list[list[float]]:
        """Return `score_bound` of all pairs: a look at pairs that share something, key by key, not at each."""
        assert self.contents is not None  # noqa: S101 - columns with contents only
        bounds = [[0.0] * len(others) for _ in golds]
        ours = [(row, self.contents[gold]) for row, gold in zip(bounds, golds, strict=True) if gold != ABSENT]
        theirs = [(place, self.contents[other]) for place, other in enumerate(others) if other != ABSENT]
        for number, column in enumerate(ours[0][1].columns if ours else ()):
            places: dict[Hashable, list[int]] = {}
            for place, content in theirs:
                for key in content.bags[number]:
                    places.setdefault(key, []).append(place)
            for row, content in ours:
                shared = Counter(chain.from_iterable([places[key] for key in content.bags[number] if key in places]))
                for place, times in shared.items():
                    row[place] += column.weight * times
        for gold, row in zip(golds, bounds, strict=True) if self.memo else ():
            known = [self.memo.get((gold, other)) for other in others]
            row[:] = [bound if score is None else score.score for bound, score in zip(row, known, strict=True)]
        return bounds

    def floor(self, code: int) -> float:
        """Return what a value counts in any pair, before the column's weight."""
        return 0.0 if code == ABSENT else 1.0 if self.contents is None else self.contents[code].floor

    def _value(self, code: int) -> Value:
        return MISSING if code == ABSENT else self.values[code]

    @property
    def reflexive(self) -> bool:
        """Whether every value scores 1 against itself."""
        return self.equality or self.contents is not None or (self.metric is not None and self.metric.reflexive)

    def perfect(self, code: int) -> bool:
        """Whether the value of this code scores 1 against itself."""
        if code == ABSENT or self.reflexive:
            return True
        if self.metric is not None:
            value = self.values[code]
            return self.metric.compare(value, value) == 1.0
        score, compared, omitted, hallucinated = self.sums(code, code)
        return score == compared and not omitted and not hallucinated


def encode(column: Column) -> EncodedColumn:
    """Replace the values of a column by codes; nested values with contents by the same where these are."""
    metric, contents = column.metric, column.contents
    gold, extracted = column.keys()
    codes: dict[Any, int] = defaultdict(count().__next__, {MISSING: ABSENT})
    theirs, ours = [*map(codes.__getitem__, extracted)], [*map(codes.__getitem__, gold)]
    values: list[Any] = [*codes][1:]
    if gold is not column.gold:  # keys that stand for the values
        keyed = dict(zip(chain(extracted, gold), chain(column.extracted, column.gold), strict=True))
        values = [value for key, value in keyed.items() if key is not MISSING]
    equal_by = equality_keys(metric, values)
    if equal_by is not None and equal_by is not values and len({*equal_by}) < len(equal_by):
        first = dict(zip(reversed(equal_by), range(len(values) - 1, -1, -1), strict=True))
        same = [*map(first.__getitem__, equal_by), ABSENT]  # ABSENT is the last place, too
        theirs, ours = [same[code] for code in theirs], [same[code] for code in ours]
    return EncodedColumn(
        gold=ours,
        extracted=theirs,
        values=values,
        weight=column.weight,
        metric=metric,
        pair=column.pair,
        equality=equal_by is not None,
        contents=contents and {codes[one.key]: one for one in chain(*contents) if one is not None},
    )


def equality_keys(metric: BoundMetric | None, values: Sequence[Json]) -> Sequence[Hashable] | None:
    """Return what makes values equal for a metric that is an equality, or is one over these values; else None.

    A metric that is not reflexive gives keys that differ from themselves where a value does not equal itself.
    """
    if metric is None:
        return None
    if metric.key is None:
        return None if metric.near is None else _near_groups(metric, metric.near, values)
    keys = keys_of(metric.key, values)
    if not metric.reflexive and any(key != metric.key(value) for key, value in zip(keys, values, strict=True)):
        return None
    return keys


def _near_groups(metric: BoundMetric, near: Near, values: Sequence[Json]) -> Sequence[int] | None:
    """Return the group of each value where near values fall into groups of all-alike; None where they do not."""
    if metric.reach is not None and metric.reflexive:
        numbers = finite_numbers(values)
        if numbers is not None and are_apart(sorted(numbers), metric.reach):
            return range(len(values))
    alike: dict[int, set[int]] = {}
    like_themselves = 0
    for one, other, score in near(values, values):
        if score != 1.0:
            return None
        if one == other:
            like_themselves += 1
        else:
            alike.setdefault(one, {one}).add(other)
    if like_themselves < len(values) or any(alike.get(other) != group for group in alike.values() for other in group):
        return None
    return [min(alike.get(one, (one,))) for one in range(len(values))]


@dataclass(frozen=True, slots=True, kw_only=True)
class EncodedTable:
    """Which gold row belongs to which extracted row, so that the summed pair score is highest."""

    columns: Sequence[EncodedColumn]
    height: int
    width: int
    objective: Objective


def encode_problem(columns: Sequence[Column], height: int, width: int, objective: Objective) -> EncodedTable:
    """Replace the values of all columns by codes."""
    return EncodedTable(columns=[encode(column) for column in columns], height=height, width=width, objective=objective)


def row_codes(problem: EncodedTable) -> tuple[list[int], list[int]]:
    """Return numbers of gold's and of the extracted rows, the same for the same codes in all columns."""
    if not problem.columns:
        return [0] * problem.height, [0] * problem.width
    gold = [*zip(*(column.gold for column in problem.columns), strict=True)]
    extracted = [*zip(*(column.extracted for column in problem.columns), strict=True)]
    numbers: dict[tuple[int, ...], int] = {}
    return [*map(numbers.setdefault, gold, count())], [*map(numbers.setdefault, extracted, count(len(gold)))]


def perfect(problem: EncodedTable, row: int) -> bool:
    """Whether a row of gold scores 1 against another with the same codes."""
    return all(column.perfect(column.gold[row]) for column in problem.columns)
