"""Scores of many pairs of rows with numpy: the same floats as `similarity_pure`, of the same sums in the same order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pytest_extract.core.matching.encoding import ABSENT, EncodedColumn, EncodedTable

Floats = Any
"""A numpy array of float64."""
_CELLS_AT_ONCE = 2_000_000
_ROUNDING = 1e-12


def score_matrix(problem: EncodedTable, rows: Sequence[int], columns: Sequence[int]) -> Floats:
    """Return the pair scores of some gold rows with some extracted rows, shape [len(rows), len(columns)].

    Where nested values have contents, these are upper bounds.
    """
    import numpy as np

    matrix = np.empty((len(rows), len(columns)))
    step = max(1, _CELLS_AT_ONCE // max(1, len(columns)))
    for start in range(0, len(rows), step):
        part = rows[start : start + step]
        matrix[start : start + len(part)] = _score_part(problem, part, columns)
    return matrix


def _score_part(problem: EncodedTable, rows: Sequence[int], columns: Sequence[int]) -> Floats:
    import numpy as np

    leaves = [column for column in problem.columns if column.pair is None]
    golds = [np.array([column.gold[row] for row in rows]) for column in leaves]
    others = [np.array([column.extracted[other] for other in columns]) for column in leaves]
    bounded = [column for column in problem.columns if column.contents is not None]
    bounds = [_content_bounds(column, rows, columns) for column in bounded]
    sums = _sums(problem, rows, columns, golds, others, bounds)
    expected, given = np.zeros(len(rows)), np.zeros(len(columns))
    for column, gold, other in zip(leaves, golds, others, strict=True):
        expected += column.weight * (gold != ABSENT)
        given += column.weight * (other != ABSENT)
    expected = (expected + np.array([problem.omitted[row] for row in rows]))[:, None]
    hallucinated = np.array([problem.hallucinated[other] for other in columns])
    if problem.objective == "f1":
        return _f1(problem, rows, columns, sums, expected, given + hallucinated, bounds)
    union = _union(leaves, golds, others, expected)
    if hallucinated.any():
        union = union + hallucinated
    for column in problem.columns:
        if column.pair is not None and column.contents is None:
            part = _nested(column, rows, columns)
            union = union + column.weight * (part[1] + part[2] + part[3])
    for column, bound in zip(bounded, bounds, strict=True):
        union = union + np.maximum(*_content_weights(column, rows, columns, bound))
    return _divide(sums, union)


def _sums(
    problem: EncodedTable,
    rows: Sequence[int],
    columns: Sequence[int],
    golds: list[Any],
    others: list[Any],
    bounds: Sequence[Floats],
) -> Floats:
    """Return the weighted sums of leaf scores of each pair; of contents, upper bounds."""
    import numpy as np

    sums = np.zeros((len(rows), len(columns)))
    leaves = [column for column in problem.columns if column.pair is None]
    for column, gold, other in zip(leaves, golds, others, strict=True):
        _add_column(sums, column, gold, other)
    found = iter(bounds)
    for column in problem.columns:
        if column.pair is not None:
            part = _nested(column, rows, columns)[0] if column.contents is None else next(found)
            sums = sums + column.weight * part
    return sums


def _content_weights(
    column: EncodedColumn, rows: Sequence[int], columns: Sequence[int], bound: Floats
) -> tuple[Floats, Floats]:
    """Return what nested values weigh at least, gold's and the extracted; never less than their score."""
    import numpy as np

    ours = np.array([column.floor(column.gold[row]) for row in rows])[:, None]
    theirs = np.array([column.floor(column.extracted[other]) for other in columns])
    return column.weight * np.maximum(ours, bound), column.weight * np.maximum(theirs, bound)


def _content_bounds(column: EncodedColumn, rows: Sequence[int], columns: Sequence[int]) -> Floats:
    """Return the known scores of nested values, elsewhere upper bounds."""
    import numpy as np

    golds, gold_at = np.unique([column.gold[row] for row in rows], return_inverse=True)
    others, other_at = np.unique([column.extracted[other] for other in columns], return_inverse=True)
    bounds = [[column.score_bound(gold, other) for other in others.tolist()] for gold in golds.tolist()]
    return np.array(bounds)[gold_at[:, None], other_at]


def _union(leaves: Sequence[EncodedColumn], golds: list[Any], others: list[Any], expected: Floats) -> Floats:
    union = expected
    for column, gold, other in zip(leaves, golds, others, strict=True):
        lacking, present = gold == ABSENT, other != ABSENT
        if lacking.any() and present.any():
            union = union + column.weight * (lacking[:, None] & present)
    return union


def _f1(
    problem: EncodedTable,
    rows: Sequence[int],
    columns: Sequence[int],
    sums: Floats,
    expected: Floats,
    given: Floats,
    bounds: Sequence[Floats],
) -> Floats:
    for column in problem.columns:
        if column.pair is not None and column.contents is None:
            part = _nested(column, rows, columns)
            expected = expected + column.weight * (part[1] + part[2])
            given = given + column.weight * (part[1] + part[3])
    bounded = [column for column in problem.columns if column.contents is not None]
    for column, bound in zip(bounded, bounds, strict=True):
        ours, theirs = _content_weights(column, rows, columns, bound)
        expected, given = expected + ours, given + theirs
    precision, recall = _divide(sums, given), _divide(sums, expected)
    total = precision + recall
    return _divide(2 * precision * recall, total, empty=0.0)


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
        alike = (gold[:, None] == other) & (gold != ABSENT)[:, None]
        sums += alike if column.weight == 1.0 else column.weight * alike
        return
    golds, gold_at = np.unique(gold, return_inverse=True)
    others, other_at = np.unique(other, return_inverse=True)
    scores = np.zeros((len(golds), len(others)))
    # ABSENT sorts first and keeps its zeros
    top, left = int(golds[0] == ABSENT), int(others[0] == ABSENT)
    scores[top:, left:] = _value_scores(column, golds[top:].tolist(), others[left:].tolist())
    sums += column.weight * scores[np.ix_(gold_at, other_at)]


def _value_scores(column: EncodedColumn, golds: list[int], others: list[int]) -> Floats:
    """Return the metric's scores of distinct gold values with distinct extracted values."""
    import numpy as np

    metric, values = column.metric, column.values
    assert metric is not None  # noqa: S101 - leaves only
    scores = np.zeros((len(golds), len(others)))
    if not golds or not others:
        return scores
    if metric.near is not None:
        for one, other, score in metric.near([values[c] for c in golds], [values[c] for c in others]):
            scores[one, other] = score
    elif metric.matrix is not None:
        scores = metric.matrix([values[c] for c in golds], [values[c] for c in others])
    else:
        for one, code in enumerate(golds):
            scores[one] = [
                1.0 if metric.reflexive and code == other else metric.compare(values[code], values[other])
                for other in others
            ]
    return scores


def _nested(column: EncodedColumn, rows: Sequence[int], columns: Sequence[int]) -> Floats:
    """Return score, compared, omitted and hallucinated of every nested pair, shape [4, rows, columns]."""
    import numpy as np

    golds, gold_at = np.unique([column.gold[row] for row in rows], return_inverse=True)
    others, other_at = np.unique([column.extracted[other] for other in columns], return_inverse=True)
    parts = np.zeros((4, len(golds), len(others)))
    for one, gold in enumerate(golds.tolist()):
        for two, other in enumerate(others.tolist()):
            if gold != ABSENT or other != ABSENT:
                parts[:, one, two] = column.pair_of(gold, other)
    return parts[:, gold_at[:, None], other_at]


def highest_over_rows(matrix: Floats, potentials: Sequence[float]) -> list[float]:
    """Return, for each column, the highest score - potentials[row]."""
    import numpy as np

    result: list[float] = (matrix - np.array(potentials)[:, None]).max(axis=0).tolist()
    return result


def highest_over_columns(matrix: Floats, potentials: Sequence[float]) -> list[float]:
    """Return, for each row, the highest score - potentials[column]."""
    import numpy as np

    result: list[float] = (matrix - np.array(potentials)).max(axis=1).tolist()
    return result


def cells_above(matrix: Floats, row_limits: Sequence[float], column_limits: Sequence[float]) -> list[tuple[int, int]]:
    """Return the cells that are above the sum of their limits."""
    import numpy as np

    over = matrix > np.array(row_limits)[:, None] + np.array(column_limits) + _ROUNDING
    return list(zip(*(places.tolist() for places in over.nonzero()), strict=True))
