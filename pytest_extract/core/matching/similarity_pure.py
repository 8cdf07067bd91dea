"""Scores of many pairs of rows in plain Python. `similarity_numpy` gives the same floats from the same sums."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Callable, Sequence
from operator import add
from typing import TypeAlias

from pytest_extract.core.matching.columns import PairScore, f1_of
from pytest_extract.core.matching.encoding import ABSENT, EncodedColumn, EncodedTable

Matrix: TypeAlias = list[Sequence[float]]
_AddRow: TypeAlias = Callable[[int, list[float]], None]
_NOTHING = PairScore(0.0, 0.0, 0.0, 0.0)


def score_matrix(problem: EncodedTable, rows: Sequence[int], columns: Sequence[int]) -> Matrix:
    """Return the pair scores of some gold rows with some extracted rows, a list of arrays.

    Where nested values have contents, these are upper bounds.
    """
    leaves = [column for column in problem.columns if column.pair is None]
    bounded = [column for column in problem.columns if column.contents is not None]
    sums = _sum_matrix(problem, rows, columns)
    given = _given(problem, leaves, columns)
    matrix: Matrix = []
    for place, row in enumerate(rows):
        weights = [_content_weights(column, row, columns) for column in bounded]
        if problem.objective == "mean":
            union = _union(problem, leaves, row, columns)
            for more, _, _ in weights:
                union = list(map(add, union, more))
            matrix.append(array("d", map(_ratio, sums[place], union)))
        else:
            wanted, offered = _f1_weights(problem, leaves, row, columns, given)
            for _, ours, theirs in weights:
                wanted, offered = list(map(add, wanted, ours)), list(map(add, offered, theirs))
            matrix.append(array("d", map(f1_of, sums[place], wanted, offered)))
    return matrix


def _ratio(score: float, weight: float) -> float:
    return score / weight if weight else 1.0


def _sum_matrix(problem: EncodedTable, rows: Sequence[int], columns: Sequence[int]) -> Matrix:
    """Return the weighted sums of leaf scores of each pair; of contents, upper bounds."""
    leaves = [column for column in problem.columns if column.pair is None]
    adders = [_adder(column, rows, columns) for column in leaves]
    matrix: Matrix = []
    for row in rows:
        sums = [0.0] * len(columns)
        for column, adder in zip(leaves, adders, strict=True):
            if column.gold[row] != ABSENT:
                adder(column.gold[row], sums)
        for column in problem.columns:
            if column.contents is not None:
                for place, other in enumerate(columns):
                    sums[place] += column.weight * column.score_bound(column.gold[row], column.extracted[other])
            elif column.pair is not None:
                for place, other in enumerate(columns):
                    sums[place] += column.weight * _part(column, row, other).score
        matrix.append(array("d", sums))
    return matrix


def _part(column: EncodedColumn, row: int, other: int) -> PairScore:
    gold, extracted = column.gold[row], column.extracted[other]
    return _NOTHING if gold == extracted == ABSENT else column.pair_of(gold, extracted)


def _f1_weights(
    problem: EncodedTable, leaves: Sequence[EncodedColumn], row: int, columns: Sequence[int], given: list[float]
) -> tuple[list[float], list[float]]:
    """Return, for each extracted row, the weight that could be found and the weight that was offered."""
    wanted, offered = [_expected(problem, leaves, row)] * len(columns), list(given)
    for column in problem.columns:
        if column.pair is not None and column.contents is None:
            for place, other in enumerate(columns):
                part = _part(column, row, other)
                wanted[place] += column.weight * (part.compared + part.omitted)
                offered[place] += column.weight * (part.compared + part.hallucinated)
    return wanted, offered


def _expected(problem: EncodedTable, leaves: Sequence[EncodedColumn], row: int) -> float:
    return sum((c.weight for c in leaves if c.gold[row] != ABSENT), 0.0) + problem.omitted[row]


def _content_weights(
    column: EncodedColumn, row: int, columns: Sequence[int]
) -> tuple[list[float], list[float], list[float]]:
    """Return what nested values weigh at least: together, gold's, the extracted; never less than their score."""
    gold, weight = column.gold[row], column.weight
    bounds = [column.score_bound(gold, column.extracted[other]) for other in columns]
    floor = column.floor(gold)
    ours = [weight * max(floor, bound) for bound in bounds]
    theirs = [
        weight * max(column.floor(column.extracted[other]), bound) for other, bound in zip(columns, bounds, strict=True)
    ]
    return list(map(max, ours, theirs)), ours, theirs


def _given(problem: EncodedTable, leaves: Sequence[EncodedColumn], columns: Sequence[int]) -> list[float]:
    """Return, for each extracted row, the weight of the leaves that it has."""
    return [
        sum((c.weight for c in leaves if c.extracted[column] != ABSENT), 0.0) + problem.hallucinated[column]
        for column in columns
    ]


def _union(problem: EncodedTable, leaves: Sequence[EncodedColumn], row: int, columns: Sequence[int]) -> list[float]:
    """Return, for each extracted row, the weight of the leaves that it or the gold row has, but for contents."""
    union = [_expected(problem, leaves, row)] * len(columns)
    for column in leaves:
        if column.gold[row] == ABSENT and column.weight:
            codes, weight = column.extracted, column.weight
            for place, other in enumerate(columns):
                if codes[other] != ABSENT:
                    union[place] += weight
    extra = problem.hallucinated
    union = [weight + extra[other] for weight, other in zip(union, columns, strict=True)]
    for column in problem.columns:
        if column.pair is not None and column.contents is None:
            for place, other in enumerate(columns):
                part = _part(column, row, other)
                union[place] += column.weight * (part.compared + part.omitted + part.hallucinated)
    return union


def _adder(column: EncodedColumn, rows: Sequence[int], columns: Sequence[int]) -> _AddRow:
    """Make the function that adds one leaf column's weighted scores of a gold value to a row of sums."""
    places: dict[int, list[int]] = {}
    for place, other in enumerate(columns):
        if column.extracted[other] != ABSENT:
            places.setdefault(column.extracted[other], []).append(place)
    if column.equality:
        return _equality_adder(places, column.weight)
    assert column.metric is not None  # noqa: S101 - leaves only
    if column.metric.near is not None:
        golds = sorted({column.gold[row] for row in rows} - {ABSENT})
        return _near_adder(column, golds, places)
    return _compare_adder(column, Counter(column.gold[row] for row in rows), places)


def _equality_adder(places: dict[int, list[int]], weight: float) -> _AddRow:
    def add_row(gold: int, sums: list[float]) -> None:
        for place in places.get(gold, ()):
            sums[place] += weight

    return add_row


def _near_adder(column: EncodedColumn, golds: list[int], places: dict[int, list[int]]) -> _AddRow:
    assert column.metric is not None  # noqa: S101 - leaves only
    assert column.metric.near is not None  # noqa: S101
    others, values, weight = list(places), column.values, column.weight
    found: dict[int, list[tuple[int, float]]] = {}
    for one, other, score in column.metric.near([values[c] for c in golds], [values[c] for c in others]):
        found.setdefault(golds[one], []).append((others[other], weight * score))

    def add_row(gold: int, sums: list[float]) -> None:
        for other, score in found.get(gold, ()):
            for place in places[other]:
                sums[place] += score

    return add_row


def _compare_adder(column: EncodedColumn, uses: Counter[int], places: dict[int, list[int]]) -> _AddRow:
    others, weight = list(places), column.weight
    targets = list(places.values())
    scan = _scan(column, others)
    known: dict[int, Sequence[float]] = {}

    def add_row(gold: int, sums: list[float]) -> None:
        row = known.get(gold)
        if row is None:
            row = scan(gold)
            if uses[gold] > 1:
                known[gold] = array("d", row)
        for score, where in zip(row, targets, strict=True):
            if score:
                for place in where:
                    sums[place] += weight * score

    return add_row


def _scan(column: EncodedColumn, others: list[int]) -> Callable[[int], Sequence[float]]:
    """Make the function from a gold code to its scores with these extracted codes."""
    metric, values = column.metric, column.values
    assert metric is not None  # noqa: S101 - leaves only
    theirs = [values[code] for code in others]
    if metric.against is not None:
        against = metric.against(theirs)
        return lambda gold: against(values[gold])
    compare, reflexive = metric.compare, metric.reflexive
    coded = list(zip(others, theirs, strict=True))

    def scores(gold: int) -> Sequence[float]:
        value = values[gold]
        return [1.0 if reflexive and code == gold else compare(value, other) for code, other in coded]

    return scores
