"""Scores of many pairs of rows with numpy: the same floats as `similarity_pure`, of the same sums in the same order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pytest_extract.core.matching.columns import Objective
from pytest_extract.core.matching.encoding import ABSENT, EncodedColumn, EncodedTable

Floats = Any
"""A numpy array of float64."""
_CELLS_AT_ONCE = 2_000_000
_ROUNDING = 1e-12
_SPARSE = 1_000  # cells for each near pair from which pairs are added one by one


def score_matrix(problem: EncodedTable, rows: Sequence[int], columns: Sequence[int]) -> Floats:
    """Return the pair scores of some gold rows with some extracted rows, shape [len(rows), len(columns)].

    Those of bounded columns are upper bounds.
    """
    import numpy as np

    step = max(1, _CELLS_AT_ONCE // max(1, len(columns)))
    if len(rows) <= step:
        return _score_part(problem, rows, columns)
    matrix = np.empty((len(rows), len(columns)))
    for start in range(0, len(rows), step):
        part = rows[start : start + step]
        matrix[start : start + len(part)] = _score_part(problem, part, columns)
    return matrix


def _score_part(problem: EncodedTable, rows: Sequence[int], columns: Sequence[int]) -> Floats:
    import numpy as np

    leaves = [column for column in problem.columns if column.pair is None]
    golds = [np.fromiter(map(column.gold.__getitem__, rows), np.int64, len(rows)) for column in leaves]
    others = [np.fromiter(map(column.extracted.__getitem__, columns), np.int64, len(columns)) for column in leaves]
    sums = np.zeros((len(rows), len(columns)))
    expected, given = np.zeros(len(rows)), np.zeros(len(columns))
    for column, gold, other in zip(leaves, golds, others, strict=True):
        _add_column(sums, column, gold, other)
        expected += column.weight * (gold != ABSENT)
        given += column.weight * (other != ABSENT)
    expected = expected[:, None]
    nested = [
        (column.weight, _nested(column, rows, columns, problem.objective))
        for column in problem.columns
        if column.pair is not None
    ]
    for weight, part in nested:
        sums = sums + weight * part[0]
    if problem.objective == "f1":
        for weight, part in nested:
            expected = expected + weight * (part[1] + part[2])
            given = given + weight * (part[1] + part[3])
        precision, recall = _divide(sums, given), _divide(sums, expected)
        return _divide(2 * precision * recall, precision + recall, empty=0.0)
    union = _union(leaves, golds, others, expected)
    for weight, part in nested:
        union = union + weight * (part[1] + part[2] + part[3])
    return _divide(sums, union)


def _union(leaves: Sequence[EncodedColumn], golds: list[Any], others: list[Any], expected: Floats) -> Floats:
    union = expected
    for column, gold, other in zip(leaves, golds, others, strict=True):
        if (lacking := gold == ABSENT).any():
            union = union + column.weight * (lacking[:, None] & (other != ABSENT))
    return union


def _divide(above: Floats, below: Floats, empty: float = 1.0) -> Floats:
    import numpy as np

    if below.all():
        return np.divide(above, below)
    below = np.broadcast_to(below, above.shape)
    return np.divide(above, below, out=np.full(above.shape, empty), where=below != 0)


def _add_column(sums: Floats, column: EncodedColumn, gold: Any, other: Any) -> None:
    """Add one leaf column's weighted scores to the sums."""
    import numpy as np

    if column.equality:
        alike = (gold - (gold == ABSENT))[:, None] == other  # absent on both sides is not alike
        sums += alike if column.weight == 1.0 else column.weight * alike
        return
    golds, gold_at = np.unique(gold, return_inverse=True)
    others, other_at = np.unique(other, return_inverse=True)
    # ABSENT sorts first and scores nothing
    top, left = int(golds[0] == ABSENT), int(others[0] == ABSENT)
    ours, theirs = golds[top:].tolist(), others[left:].tolist()
    metric, values = column.bounding, column.values
    assert metric is not None  # noqa: S101 - leaves only
    if metric.near is not None:
        near = [*metric.near([values[code] for code in ours], [values[code] for code in theirs])]
        if len(near) * _SPARSE < sums.size:
            for one, another, score in near:
                sums[np.ix_(gold == ours[one], other == theirs[another])] += column.weight * score
            return
        scores = np.zeros((len(ours), len(theirs)))
        for one, another, score in near:
            scores[one, another] = score
    elif metric.matrix is not None and ours and theirs:
        scores = metric.matrix([values[code] for code in ours], [values[code] for code in theirs])
    else:
        scores = np.array([[column.score(one, another) for another in theirs] for one in ours])
    if top or left:
        scores = np.pad(scores.reshape(len(ours), len(theirs)), ((top, 0), (left, 0)))
    sums += (column.weight * scores).take(other_at, axis=1).take(gold_at, axis=0)


def _nested(column: EncodedColumn, rows: Sequence[int], columns: Sequence[int], objective: Objective) -> Floats:
    """Return score, compared, omitted and hallucinated of every nested pair, shape [4, rows, columns]."""
    import numpy as np

    golds, gold_at = np.unique([column.gold[row] for row in rows], return_inverse=True)
    others, other_at = np.unique([column.extracted[other] for other in columns], return_inverse=True)
    if column.contents is None:
        pairs = [[column.parts(gold, other, objective) for other in others.tolist()] for gold in golds.tolist()]
        parts = np.array(pairs).transpose(2, 0, 1)
    else:
        most = np.array(column.score_bounds(golds.tolist(), others.tolist()))
        ours = np.maximum(np.array([column.floor(gold) for gold in golds.tolist()])[:, None], most)
        theirs = np.maximum([column.floor(other) for other in others.tolist()], most)
        if objective == "mean":
            ours, theirs = np.maximum(ours, theirs), most
        parts = np.array([most, most, ours - most, theirs - most])
    return parts.take(other_at, axis=2).take(gold_at, axis=1)


def highest(matrix: Floats, potentials: Sequence[float]) -> list[float]:
    """Return, for each row, the highest score - potentials[column]."""
    import numpy as np

    result: list[float] = (matrix - np.array(potentials)).max(axis=1).tolist()
    return result


def cells_above(matrix: Floats, row_limits: Sequence[float], column_limits: Sequence[float]) -> list[tuple[int, int]]:
    """Return the cells that are above the sum of their limits."""
    import numpy as np

    over = matrix > np.array(row_limits)[:, None] + (np.array(column_limits) + _ROUNDING)
    return [divmod(place, matrix.shape[1]) for place in np.flatnonzero(over).tolist()]
