"""Two lists of rows as columns: what best fit compares, and the same with each value replaced by a small number."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, TypeAlias

from pytest_extract.core.metrics.base import BoundMetric
from pytest_extract.core.metrics.plain import json_text
from pytest_extract.core.values import MISSING, Json, Missing

Objective: TypeAlias = Literal["mean", "f1"]
ABSENT = -1
"""The code of MISSING."""


class PairScore(NamedTuple):
    """Score of one pair of values as weighted sums over the leaves inside.

    `score`: sum of the scores of leaves present on both sides, `compared`: their weight; `omitted`, `hallucinated`:
    weight of leaves in gold only, in extracted only.
    """

    score: float
    compared: float
    omitted: float
    hallucinated: float


Pair: TypeAlias = Callable[[Json | Missing, Json | Missing], PairScore]


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """One field of all rows, transformed already; MISSING where a row does not have it.

    A leaf has a `metric`, and counts `weight` where it is present on either side. Anything nested has a `pair`
    instead: the score of two values, of which one may be MISSING; it must depend on nothing but the two values.
    """

    gold: Sequence[Json | Missing]
    extracted: Sequence[Json | Missing]
    weight: float = 1.0
    metric: BoundMetric | None = None
    pair: Pair | None = None

    def __post_init__(self) -> None:
        if (self.metric is None) is (self.pair is None):
            raise ValueError("a column has either a metric or a pair function")


@dataclass(frozen=True, slots=True, kw_only=True)
class CodedColumn:
    """A column whose values are numbered: equal codes mean equal values, ABSENT means MISSING.

    `equality`: two present values score 1 where their codes are equal, and 0 elsewhere; nothing else is left to
    compare. `values[code]` is one value of that code.
    """

    gold: list[int]
    extracted: list[int]
    values: list[Json]
    weight: float
    metric: BoundMetric | None
    pair: Pair | None
    equality: bool
    memo: dict[tuple[int, int], PairScore] = field(default_factory=dict)

    @property
    def triangle(self) -> bool:
        """Whether 1 - score is a distance, with absence as one more value at distance 1 from every other."""
        return self.equality or (self.metric is not None and self.metric.triangle)

    def pair_of(self, gold: int, extracted: int) -> PairScore:
        """Return the score of a nested pair, scored once."""
        known = self.memo.get((gold, extracted))
        if known is None:
            assert self.pair is not None  # noqa: S101 - asked of nested columns only
            known = self.memo[gold, extracted] = self.pair(self._value(gold), self._value(extracted))
        return known

    def _value(self, code: int) -> Json | Missing:
        return MISSING if code == ABSENT else self.values[code]

    def perfect(self, code: int) -> bool:
        """Whether the value of this code scores 1 against itself."""
        if self.equality or code == ABSENT:
            return True
        if self.metric is not None:
            value = self.values[code]
            return self.metric.reflexive or self.metric.compare(value, value) == 1.0
        score, compared, omitted, hallucinated = self.pair_of(code, code)
        return score == compared and not omitted and not hallucinated


def strict_key(value: Json) -> Hashable:
    """Return a key that two values share when they are the same JSON of the same types: 1, 1.0 and true all differ."""
    if isinstance(value, dict | list):
        return (type(value), json_text(value))
    return (type(value), value if value == value else "nan")  # noqa: PLR0124 - NaN


def encode(column: Column) -> CodedColumn:
    """Replace the values of a column by codes."""
    metric = column.metric
    gold, extracted = _strict_keys(column.gold), _strict_keys(column.extracted)
    distinct = dict(zip(extracted, column.extracted, strict=True))
    distinct.update(zip(gold, column.gold, strict=True))
    distinct.pop(strict_key(MISSING), None)
    values, keys = list(distinct.values()), list(distinct)
    equal_by = _equality_keys(metric, values)
    table: dict[Hashable, int] = {}
    codes = {
        key: table.setdefault(by, code) for code, (key, by) in enumerate(zip(keys, equal_by or keys, strict=True))
    }
    codes[strict_key(MISSING)] = ABSENT
    coded = CodedColumn(
        gold=list(map(codes.__getitem__, gold)),
        extracted=list(map(codes.__getitem__, extracted)),
        values=values,
        weight=column.weight,
        metric=metric,
        pair=column.pair,
        equality=equal_by is not None,
    )
    return _merge_near(coded)


def _strict_keys(column: Sequence[Json | Missing]) -> list[Hashable]:
    """Return the strict keys of a whole column, without a call a value where its types allow.

    A NaN may then differ from another; it is compared with it later, and not paired first.
    """
    if {list, dict}.isdisjoint(map(type, column)):
        return list(zip(map(type, column), column, strict=True))
    return list(map(strict_key, column))


def _equality_keys(metric: BoundMetric | None, values: Sequence[Json]) -> list[Hashable] | None:
    """Return what makes values equal for a metric that is an equality; None where it is none.

    A metric that is not reflexive gives keys that differ from themselves where a value does not equal itself.
    """
    if metric is None or metric.key is None:
        return None
    keys = list(map(metric.key, values))
    if not metric.reflexive and any(key != metric.key(value) for key, value in zip(keys, values, strict=True)):
        return None
    return keys


def _merge_near(coded: CodedColumn) -> CodedColumn:
    """Make a tolerance an equality where, over the values at hand, it is one."""
    metric = coded.metric
    if coded.equality or metric is None or metric.near is None:
        return coded
    groups = _equivalence(len(coded.values), metric.near(coded.values, coded.values))
    if groups is None:
        return coded
    names = {ABSENT: ABSENT, **dict(enumerate(groups))}
    return CodedColumn(
        gold=[names[code] for code in coded.gold],
        extracted=[names[code] for code in coded.extracted],
        values=coded.values,
        weight=coded.weight,
        metric=metric,
        pair=None,
        equality=True,
    )


def _equivalence(size: int, near: Iterable[tuple[int, int, float]]) -> list[int] | None:
    """Return the group of each value where near values fall into groups of all-alike; None where they do not."""
    alike: list[set[int]] = [set() for _ in range(size)]
    for one, other, score in near:
        if score != 1.0:
            return None
        alike[one].add(other)
    groups = [min(others, default=ABSENT) for others in alike]
    for one, others in enumerate(alike):
        if one not in others or (len(others) > 1 and any(alike[other] != others for other in others)):
            return None
    return groups


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """Which gold row belongs to which extracted row, so that the summed pair score is highest.

    `omitted[i]`, `hallucinated[j]`: weight that a row adds to every pair that it is in.
    """

    columns: Sequence[CodedColumn]
    height: int
    width: int
    objective: Objective
    omitted: Sequence[float]
    hallucinated: Sequence[float]


def f1_of(score: float, expected: float, given: float) -> float:
    """Return the harmonic mean of score / given and score / expected, each 1.0 where there is nothing to divide by."""
    precision = score / given if given else 1.0
    recall = score / expected if expected else 1.0
    return 2 * precision * recall / (precision + recall) if precision + recall else 0.0
