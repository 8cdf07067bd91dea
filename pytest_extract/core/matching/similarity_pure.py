"""Scores of many pairs of rows in plain Python. `similarity_numpy` gives the same floats from the same sums."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import repeat
from typing import TypeAlias

from pytest_extract.core.matching.columns import f1_of
from pytest_extract.core.matching.encoding import ABSENT, EncodedColumn, EncodedTable

Matrix: TypeAlias = list[Sequence[float]]
_AddRow: TypeAlias = Callable[[int, list[float]], None]
_KEPT = 1_000_000
"""Scores of a column's values that are kept, for values that come again."""


def score_matrix(problem: EncodedTable, rows: Sequence[int], columns: Sequence[int]) -> Matrix:
    """Return the pair scores of some gold rows with some extracted rows, a list of arrays.

    Those of bounded columns are upper bounds.
    """
    leaves = [column for column in problem.columns if column.pair is None]
    nested = [column for column in problem.columns if column.pair is not None]
    adders = [_adder(column, rows, columns) for column in leaves]
    given = [_weight(leaves, [column.extracted[other] for column in leaves]) for other in columns]
    bounds = [
        None
        if column.contents is None
        else column.score_bounds([column.gold[row] for row in rows], [column.extracted[other] for other in columns])
        for column in nested
    ]
    matrix: Matrix = []
    for place, row in enumerate(rows):
        sums = [0.0] * len(columns)
        for column, adder in zip(leaves, adders, strict=True):
            if column.gold[row] != ABSENT:
                adder(column.gold[row], sums)
        expected = _weight(leaves, [column.gold[row] for column in leaves])
        parts = [
            (
                column.weight,
                [
                    column.parts(column.gold[row], column.extracted[other], problem.objective, most)
                    for other, most in zip(columns, repeat(None) if bound is None else bound[place], strict=False)
                ],
            )
            for column, bound in zip(nested, bounds, strict=True)
        ]
        for weight, scores in parts:
            sums = [total + weight * part.score for total, part in zip(sums, scores, strict=True)]
        if problem.objective == "mean":
            union = _union(leaves, row, columns, expected)
            for weight, scores in parts:
                union = [
                    total + weight * (part.compared + part.omitted + part.hallucinated)
                    for total, part in zip(union, scores, strict=True)
                ]
            matrix.append(array("d", map(_ratio, sums, union)))
        else:
            ours, theirs = [expected] * len(columns), given
            for weight, scores in parts:
                ours = [
                    total + weight * (part.compared + part.omitted) for total, part in zip(ours, scores, strict=True)
                ]
                theirs = [
                    total + weight * (part.compared + part.hallucinated)
                    for total, part in zip(theirs, scores, strict=True)
                ]
            matrix.append(array("d", map(f1_of, sums, ours, theirs)))
    return matrix


def _ratio(score: float, weight: float) -> float:
    return score / weight if weight else 1.0


def _weight(leaves: Sequence[EncodedColumn], codes: Sequence[int]) -> float:
    """Return the weight of the leaves that a row has."""
    return sum([leaf.weight for leaf, code in zip(leaves, codes, strict=True) if code != ABSENT], 0.0)


def _union(leaves: Sequence[EncodedColumn], row: int, columns: Sequence[int], expected: float) -> list[float]:
    """Return, for each extracted row, the weight of the leaves that it or the gold row has, but for nested ones."""
    union = [expected] * len(columns)
    for column in leaves:
        if column.gold[row] == ABSENT and column.weight:
            codes, weight = column.extracted, column.weight
            for place, other in enumerate(columns):
                if codes[other] != ABSENT:
                    union[place] += weight
    return union


def _adder(column: EncodedColumn, rows: Sequence[int], columns: Sequence[int]) -> _AddRow:
    """Make the function that adds one leaf column's weighted scores of a gold value to a row of sums."""
    places: dict[int, list[int]] = {}
    for place, other in enumerate(columns):
        if column.extracted[other] != ABSENT:
            places.setdefault(column.extracted[other], []).append(place)
    scores = _scorer(column, rows, places)

    def add_row(gold: int, sums: list[float]) -> None:
        for where, score in scores(gold):
            if score:
                for place in where:
                    sums[place] += column.weight * score

    return add_row


def _scorer(
    column: EncodedColumn, rows: Sequence[int], places: Mapping[int, list[int]]
) -> Callable[[int], Iterable[tuple[list[int], float]]]:
    """Make the function from a gold code to its scores with extracted values, and the places of these."""
    if column.equality:
        return lambda gold: [(places[gold], 1.0)] if gold in places else ()
    metric, values, others = column.bounding, column.values, [*places]
    assert metric is not None  # noqa: S101 - leaves only
    theirs = [values[code] for code in others]
    if metric.near is not None:
        golds = sorted({column.gold[row] for row in rows} - {ABSENT})
        found: dict[int, list[tuple[list[int], float]]] = {}
        for one, other, score in metric.near([values[code] for code in golds], theirs):
            found.setdefault(golds[one], []).append((places[others[other]], score))
        return lambda gold: found.get(gold, ())
    against = None if metric.against is None else metric.against(theirs)

    @lru_cache(_KEPT // max(1, len(others)))
    def scores(gold: int) -> Sequence[float]:
        if against is not None:
            return array("d", against(values[gold]))
        return array("d", [column.score(gold, other) for other in others])

    return lambda gold: zip(places.values(), scores(gold), strict=True)
