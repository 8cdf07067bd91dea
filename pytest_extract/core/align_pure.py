"""Scores of many pairs of rows in plain Python. `align_numpy` gives the same floats from the same sums."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Sequence
from typing import TypeAlias

from pytest_extract.core.columns import ABSENT, CodedColumn, PairScore, Problem, f1_of

Matrix: TypeAlias = list[Sequence[float]]
_AddRow: TypeAlias = Callable[[int, list[float]], None]


def score_matrix(problem: Problem, rows: Sequence[int], columns: Sequence[int]) -> Matrix:
    """Return the pair scores of some gold rows with some extracted rows, a list of arrays."""
    leaves = [column for column in problem.columns if column.metric is not None]
    nested = [column for column in problem.columns if column.pair is not None]
    adders = [_adder(column, rows, columns) for column in leaves]
    weigh = _mean_row if problem.objective == "mean" else _f1_row
    given = _given(problem, leaves, columns)
    matrix: Matrix = []
    for row in rows:
        sums = [0.0] * len(columns)
        for column, add in zip(leaves, adders, strict=True):
            if column.gold[row] != ABSENT:
                add(column.gold[row], sums)
        expected = sum((c.weight for c in leaves if c.gold[row] != ABSENT), 0.0) + problem.omitted[row]
        if nested:
            matrix.append(array("d", _nested_row(problem, leaves, nested, row, columns, sums, expected, given)))
        else:
            matrix.append(array("d", weigh(problem, leaves, row, columns, sums, expected, given)))
    return matrix


def _given(problem: Problem, leaves: Sequence[CodedColumn], columns: Sequence[int]) -> list[float]:
    """Return, for each extracted row, the weight of the leaves that it has."""
    return [
        sum((c.weight for c in leaves if c.extracted[column] != ABSENT), 0.0) + problem.hallucinated[column]
        for column in columns
    ]


def _union(
    problem: Problem, leaves: Sequence[CodedColumn], row: int, columns: Sequence[int], expected: float
) -> list[float]:
    """Return, for each extracted row, the weight of the leaves that it or the gold row has."""
    union = [expected] * len(columns)
    for column in leaves:
        if column.gold[row] == ABSENT and column.weight:
            codes, weight = column.extracted, column.weight
            for place, other in enumerate(columns):
                if codes[other] != ABSENT:
                    union[place] += weight
    if any(problem.hallucinated):
        union = [weight + problem.hallucinated[other] for weight, other in zip(union, columns, strict=True)]
    return union


def _mean_row(
    problem: Problem,
    leaves: Sequence[CodedColumn],
    row: int,
    columns: Sequence[int],
    sums: list[float],
    expected: float,
    given: list[float],
) -> list[float]:
    del given
    union = _union(problem, leaves, row, columns, expected)
    return [score / weight if weight else 1.0 for score, weight in zip(sums, union, strict=True)]


def _f1_row(
    problem: Problem,
    leaves: Sequence[CodedColumn],
    row: int,
    columns: Sequence[int],
    sums: list[float],
    expected: float,
    given: list[float],
) -> list[float]:
    del problem, leaves, row, columns
    return [f1_of(score, expected, weight) for score, weight in zip(sums, given, strict=True)]


def _nested_row(
    problem: Problem,
    leaves: Sequence[CodedColumn],
    nested: Sequence[CodedColumn],
    row: int,
    columns: Sequence[int],
    sums: list[float],
    expected: float,
    given: list[float],
) -> list[float]:
    mean = problem.objective == "mean"
    union = _union(problem, leaves, row, columns, expected) if mean else given
    result = []
    for place, other in enumerate(columns):
        score, wanted, weight = sums[place], expected, union[place]
        for column in nested:
            part = _nested_part(column, row, other)
            score += column.weight * part.score
            if mean:
                weight += column.weight * (part.compared + part.omitted + part.hallucinated)
            else:
                wanted += column.weight * (part.compared + part.omitted)
                weight += column.weight * (part.compared + part.hallucinated)
        result.append((score / weight if weight else 1.0) if mean else f1_of(score, wanted, weight))
    return result


_NOTHING = PairScore(0.0, 0.0, 0.0, 0.0)


def _nested_part(column: CodedColumn, row: int, other: int) -> PairScore:
    gold, extracted = column.gold[row], column.extracted[other]
    return _NOTHING if gold == extracted == ABSENT else column.pair_of(gold, extracted)


def _adder(column: CodedColumn, rows: Sequence[int], columns: Sequence[int]) -> _AddRow:
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
    return _compare_adder(column, places)


def _equality_adder(places: dict[int, list[int]], weight: float) -> _AddRow:
    def add(gold: int, sums: list[float]) -> None:
        for place in places.get(gold, ()):
            sums[place] += weight

    return add


def _near_adder(column: CodedColumn, golds: list[int], places: dict[int, list[int]]) -> _AddRow:
    assert column.metric is not None  # noqa: S101 - leaves only
    assert column.metric.near is not None  # noqa: S101
    others, values, weight = list(places), column.values, column.weight
    found: dict[int, list[tuple[int, float]]] = {}
    for one, other, score in column.metric.near([values[c] for c in golds], [values[c] for c in others]):
        found.setdefault(golds[one], []).append((others[other], weight * score))

    def add(gold: int, sums: list[float]) -> None:
        for other, score in found.get(gold, ()):
            for place in places[other]:
                sums[place] += score

    return add


def _compare_adder(column: CodedColumn, places: dict[int, list[int]]) -> _AddRow:
    others, weight = list(places), column.weight
    targets = list(places.values())
    scan = _scan(column, others)
    known: dict[int, Sequence[float]] = {}

    def add(gold: int, sums: list[float]) -> None:
        row = known.get(gold)
        if row is None:
            row = known[gold] = array("d", scan(gold))
        for score, where in zip(row, targets, strict=True):
            if score:
                for place in where:
                    sums[place] += weight * score

    return add


def _scan(column: CodedColumn, others: list[int]) -> Callable[[int], Sequence[float]]:
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
