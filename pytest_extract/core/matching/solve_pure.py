"""Scores of many pairs of rows in plain Python. `solve_numpy` gives the same floats from the same sums."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Callable, Sequence
from operator import add
from typing import TypeAlias

from pytest_extract.core.matching.columns import PairScore, f1_of
from pytest_extract.core.matching.encoding import ABSENT, EncodedColumn, EncodedLists, EncodedTable

Matrix: TypeAlias = list[Sequence[float]]
_AddRow: TypeAlias = Callable[[int, list[float]], None]
_NOTHING = PairScore(0.0, 0.0, 0.0, 0.0)


def score_matrix(problem: EncodedTable, rows: Sequence[int], columns: Sequence[int]) -> Matrix:
    """Return the pair scores of some gold rows with some extracted rows, a list of arrays.

    Where rows have lists inside, these are upper bounds.
    """
    bounds = [_item_bounds(items, rows, columns) for items in problem.items]
    sums = _sum_matrix(problem, rows, columns, bounds)
    leaves = [column for column in problem.columns if column.pair is None]
    given = _given(problem, leaves, columns)
    matrix: Matrix = []
    for place, row in enumerate(rows):
        weights = _item_weights(problem, row, columns, [bound[place] for bound in bounds])
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


def _sum_matrix(
    problem: EncodedTable, rows: Sequence[int], columns: Sequence[int], bounds: Sequence[list[list[float]]]
) -> Matrix:
    """Return the weighted sums of leaf scores of each pair; of lists inside, upper bounds."""
    leaves = [column for column in problem.columns if column.pair is None]
    adders = [_adder(column, rows, columns) for column in leaves]
    matrix: Matrix = []
    for row in rows:
        sums = [0.0] * len(columns)
        for column, adder in zip(leaves, adders, strict=True):
            if column.gold[row] != ABSENT:
                adder(column.gold[row], sums)
        for column in problem.columns:
            if column.pair is not None:
                for place, other in enumerate(columns):
                    sums[place] += column.weight * _part(column, row, other).score
        matrix.append(array("d", sums))
    for bound in bounds:
        matrix = [array("d", map(add, sums, line)) for sums, line in zip(matrix, bound, strict=True)]
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
        if column.pair is not None:
            for place, other in enumerate(columns):
                part = _part(column, row, other)
                wanted[place] += column.weight * (part.compared + part.omitted)
                offered[place] += column.weight * (part.compared + part.hallucinated)
    return wanted, offered


def _expected(problem: EncodedTable, leaves: Sequence[EncodedColumn], row: int) -> float:
    return sum((c.weight for c in leaves if c.gold[row] != ABSENT), 0.0) + problem.omitted[row]


def _item_weights(
    problem: EncodedTable, row: int, columns: Sequence[int], bounds: Sequence[list[float]]
) -> list[tuple[list[float], list[float], list[float]]]:
    """Return what lists weigh at least: both sides together, gold's, the extracted; never less than their score."""
    weights = []
    for items, bound in zip(problem.items, bounds, strict=True):
        gold = items.gold_floor[row]
        ours = [max(gold, most) for most in bound]
        theirs = [max(items.extracted_floor[other], most) for other, most in zip(columns, bound, strict=True)]
        weights.append((list(map(max, ours, theirs)), ours, theirs))
    return weights


def _given(problem: EncodedTable, leaves: Sequence[EncodedColumn], columns: Sequence[int]) -> list[float]:
    """Return, for each extracted row, the weight of the leaves that it has."""
    return [
        sum((c.weight for c in leaves if c.extracted[column] != ABSENT), 0.0) + problem.hallucinated[column]
        for column in columns
    ]


def _union(problem: EncodedTable, leaves: Sequence[EncodedColumn], row: int, columns: Sequence[int]) -> list[float]:
    """Return, for each extracted row, the weight of the leaves that it or the gold row has, but for lists."""
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
        if column.pair is not None:
            for place, other in enumerate(columns):
                part = _part(column, row, other)
                union[place] += column.weight * (part.compared + part.omitted + part.hallucinated)
    return union


def _item_bounds(items: EncodedLists, rows: Sequence[int], columns: Sequence[int]) -> list[list[float]]:
    """Return upper bounds of the summed leaf scores of lists: each element with its best partner, from both sides."""
    ours = [element for row in rows for element in items.gold[row]]
    theirs = [element for column in columns for element in items.extracted[column]]
    inside = [_item_bounds(inner, ours, theirs) for inner in items.problem.items]
    matrix = _sum_matrix(items.problem, ours, theirs, inside)
    lines = iter(matrix)
    bounds = []
    for row in rows:
        block = [next(lines) for _ in items.gold[row]]
        start, line = 0, []
        for column in columns:
            stop = start + len(items.extracted[column])
            cells = [scores[start:stop] for scores in block] if stop > start else []
            line.append(_most(cells))
            start = stop
        bounds.append(line)
    return bounds


def _most(cells: Sequence[Sequence[float]]) -> float:
    if not cells:
        return 0.0
    by_rows = sum(map(max, cells), 0.0)
    return min(by_rows, sum(map(max, zip(*cells, strict=True)), 0.0))


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


def highest_over_rows(matrix: Matrix, potentials: Sequence[float]) -> list[float]:
    """Return, for each column, the highest score - potentials[row]."""
    highest = [-1.0] * len(matrix[0])
    for row, potential in zip(matrix, potentials, strict=True):
        highest = [max(known, score - potential) for known, score in zip(highest, row, strict=True)]
    return highest


def highest_over_columns(matrix: Matrix, potentials: Sequence[float]) -> list[float]:
    """Return, for each row, the highest score - potentials[column]."""
    return [max(score - potential for score, potential in zip(row, potentials, strict=True)) for row in matrix]
