"""Best fit's columns with each value replaced by a small number: equal numbers, equal values."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from pytest_extract.core.matching.columns import Column, Items, Objective, Pair, PairScore, strict_key, strict_keys
from pytest_extract.core.metrics.base import BoundMetric
from pytest_extract.core.values import MISSING, Json, Missing

Pairs: TypeAlias = list[tuple[int, int]]
ABSENT = -1
"""The code of MISSING."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EncodedColumn:
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

    def score(self, gold: int, extracted: int) -> float:
        """Return the metric's score of two present values."""
        if self.equality:
            return 1.0 if gold == extracted else 0.0
        assert self.metric is not None  # noqa: S101 - asked of leaf columns only
        if gold == extracted and self.metric.reflexive:
            return 1.0
        return self.metric.compare(self.values[gold], self.values[extracted])

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


def encode(column: Column) -> EncodedColumn:
    """Replace the values of a column by codes."""
    metric = column.metric
    gold, extracted = strict_keys(column.gold), strict_keys(column.extracted)
    distinct = dict(zip(extracted, column.extracted, strict=True))
    distinct.update(zip(gold, column.gold, strict=True))
    distinct.pop(strict_key(MISSING), None)
    values, keys = list(distinct.values()), list(distinct)
    equal_by = _equality_keys(metric, values)
    table: dict[Hashable, int] = {}
    codes = {key: table.setdefault(by, code) for code, (key, by) in enumerate(zip(keys, equal_by or keys, strict=True))}
    codes[strict_key(MISSING)] = ABSENT
    coded = EncodedColumn(
        gold=list(map(codes.__getitem__, gold)),
        extracted=list(map(codes.__getitem__, extracted)),
        values=values,
        weight=column.weight,
        metric=metric,
        pair=column.pair,
        equality=equal_by is not None,
    )
    return _merge_near(coded)


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


def _merge_near(coded: EncodedColumn) -> EncodedColumn:
    """Make a tolerance an equality where, over the values at hand, it is one."""
    metric = coded.metric
    if coded.equality or metric is None or metric.near is None:
        return coded
    groups = _equivalence(len(coded.values), metric.near(coded.values, coded.values))
    if groups is None:
        return coded
    names = {ABSENT: ABSENT, **dict(enumerate(groups))}
    return EncodedColumn(
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
class EncodedLists:
    """Lists inside rows. `gold[i]`, `extracted[j]`: the places of a row's elements in `problem`.

    Rows with equal codes have the same elements in any order, each of which scores 1 against itself. `gold_alone`,
    `extracted_alone`: what each element weighs without a partner. `gold_floor[i]`, `extracted_floor[j]`: weight of the
    plain leaves in a list, which a pair of lists never falls below.
    """

    problem: EncodedTable
    gold: list[range]
    extracted: list[range]
    gold_codes: list[int]
    extracted_codes: list[int]
    gold_alone: list[float]
    extracted_alone: list[float]
    gold_floor: list[float]
    extracted_floor: list[float]
    memo: dict[tuple[int, int], PairScore] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class EncodedTable:
    """Which gold row belongs to which extracted row, so that the summed pair score is highest.

    `omitted[i]`, `hallucinated[j]`: weight that a row adds to every pair that it is in.
    """

    columns: Sequence[EncodedColumn]
    items: Sequence[EncodedLists]
    height: int
    width: int
    objective: Objective
    omitted: Sequence[float]
    hallucinated: Sequence[float]


def encode_problem(
    columns: Sequence[Column | Items],
    height: int,
    width: int,
    objective: Objective,
    omitted: Sequence[float] | None = None,
    hallucinated: Sequence[float] | None = None,
) -> EncodedTable:
    """Replace the values of all columns by codes, also inside lists."""
    return EncodedTable(
        columns=[encode(column) for column in columns if isinstance(column, Column)],
        items=[_encode_items(column, objective) for column in columns if isinstance(column, Items)],
        height=height,
        width=width,
        objective=objective,
        omitted=omitted or [0.0] * height,
        hallucinated=hallucinated or [0.0] * width,
    )


def row_keys(problem: EncodedTable, rows: Sequence[int], *, gold: bool) -> list[tuple[int, ...]]:
    """Return, for each of these rows, its codes in all columns and lists."""
    codes = [column.gold if gold else column.extracted for column in problem.columns]
    codes += [column.gold_codes if gold else column.extracted_codes for column in problem.items]
    if not codes:
        return [()] * len(rows)
    return list(zip(*(map(column.__getitem__, rows) for column in codes), strict=True))


def perfect(problem: EncodedTable, key: tuple[int, ...]) -> bool:
    """Whether a row with these codes scores 1 against another with the same."""
    return all(column.perfect(code) for column, code in zip(problem.columns, key, strict=False))


def _row_weights(problem: EncodedTable, *, gold: bool, plain: bool) -> list[float]:
    """Return the weight of all leaves of each row without a partner; `plain`: without what a pair function scores."""
    weights = list(problem.omitted if gold else problem.hallucinated)
    for column in problem.columns:
        if plain and column.pair is not None:
            continue
        for row, code in enumerate(column.gold if gold else column.extracted):
            if code != ABSENT:
                weights[row] += column.weight * (1.0 if column.pair is None else _alone(column, code, gold=gold))
    for items in problem.items:
        if plain:
            inside = items.gold_floor if gold else items.extracted_floor
        else:
            inside = _range_sums(
                items.gold_alone if gold else items.extracted_alone, items.gold if gold else items.extracted
            )
        weights = [weight + more for weight, more in zip(weights, inside, strict=True)]
    return weights


def _alone(column: EncodedColumn, code: int, *, gold: bool) -> float:
    return column.pair_of(code, ABSENT).omitted if gold else column.pair_of(ABSENT, code).hallucinated


def _encode_items(items: Items, objective: Objective) -> EncodedLists:
    gold, extracted = _ranges(items.gold), _ranges(items.extracted)
    problem = encode_problem(
        items.columns, sum(items.gold), sum(items.extracted), objective, hallucinated=items.hallucinated
    )
    names: dict[Hashable, int] = {}
    return EncodedLists(
        problem=problem,
        gold=gold,
        extracted=extracted,
        gold_codes=_bag_codes(problem, gold, names, gold=True),
        extracted_codes=_bag_codes(problem, extracted, names, gold=False),
        gold_alone=_row_weights(problem, gold=True, plain=False),
        extracted_alone=_row_weights(problem, gold=False, plain=False),
        gold_floor=_range_sums(_row_weights(problem, gold=True, plain=True), gold),
        extracted_floor=_range_sums(_row_weights(problem, gold=False, plain=True), extracted),
    )


def _ranges(counts: Sequence[int]) -> list[range]:
    ranges, start = [], 0
    for count in counts:
        ranges.append(range(start, start + count))
        start += count
    return ranges


def _range_sums(weights: Sequence[float], ranges: Sequence[range]) -> list[float]:
    return [sum(weights[part.start : part.stop], 0.0) for part in ranges]


def _bag_codes(problem: EncodedTable, ranges: Sequence[range], names: dict[Hashable, int], *, gold: bool) -> list[int]:
    """Return a code for each bag of elements; one with an element that is no match for itself gets its own."""
    size = problem.height if gold else problem.width
    extra = problem.omitted if gold else problem.hallucinated
    keys = row_keys(problem, range(size), gold=gold)
    known: dict[tuple[int, ...], bool] = {}
    for key in keys:
        if key not in known:
            known[key] = perfect(problem, key)
    codes = []
    for row, part in enumerate(ranges):
        bag = tuple(sorted(keys[part.start : part.stop]))
        sound = all(known[keys[element]] and not extra[element] for element in part)
        codes.append(names.setdefault(bag if sound else (gold, row), len(names)))
    return codes
