"""Best assignment: one column for each row of a matrix of scores, so that their sum is highest.

Shortest augmenting paths (Crouse, "On implementing 2D rectangular assignment algorithms", IEEE TAES 52(4), 2016). Among
equally good assignments the choice is that of `scipy.optimize.linear_sum_assignment`, so that a result does not depend
on whether scipy is installed.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.util import find_spec
from operator import sub
from typing import Any, NamedTuple

_SCIPY_PAYS = 40_000  # cells from which importing scipy costs less than doing without
_SCIPY_PAYS_LOADED = 64
_POTENTIALS_PAY_LOADED = 400  # scipy gives none: they are found after it
_ROUNDING = 1e-12
_INFINITE = float("inf")


class Assignment(NamedTuple):
    """An assignment of the `min(rows, columns)` best pairs, and the proof that none is better.

    `pairs`: (row, column), by row. `rows`, `columns`: potentials with rows[i] + columns[j] >= scores[i][j] everywhere,
    equal on the pairs; on the longer side they are >= 0, and 0 where nothing is assigned.
    """

    pairs: list[tuple[int, int]]
    rows: list[float]
    columns: list[float]


def best_assignment(scores: Any, *, potentials: bool = False) -> Assignment:
    """Return a best assignment of a matrix of scores in [0, 1]: a list of rows, or a two-dimensional numpy array.

    Large ones go to scipy where it is installed; the pairs are the same without it. Potentials are empty unless
    asked for.
    """
    if not len(scores) or not len(scores[0]):
        return Assignment([], [0.0] * len(scores), [])
    if not _with_scipy(len(scores) * len(scores[0]), potentials=potentials):
        return assign(scores if isinstance(scores, list) else scores.tolist())
    import numpy as np
    from scipy.optimize import linear_sum_assignment

    matrix = np.asarray(scores, dtype=float)
    chosen = linear_sum_assignment(matrix, maximize=True)
    pairs = list(zip(chosen[0].tolist(), chosen[1].tolist(), strict=True))
    if not potentials:
        return Assignment(pairs, [], [])
    if matrix.shape[0] > matrix.shape[1]:
        columns, rows = _potentials(matrix.T, chosen[1], chosen[0])
    else:
        rows, columns = _potentials(matrix, chosen[0], chosen[1])
    return Assignment(pairs, rows, columns)


def _potentials(matrix: Any, rows: Any, columns: Any) -> tuple[list[float], list[float]]:
    """Find the potentials of a best assignment with all rows assigned, by Bellman-Ford.

    Those of the columns are the lowest; the lowest from half of the score on, where no column is left over.
    """
    import numpy as np

    matched = matrix[rows, columns]
    # entry [k, l]: by how much column l's potential must exceed column k's
    needed = matrix.take(columns, axis=1).take(rows, axis=0) - matched[:, None]
    lowest = matched / 2 if len(columns) == matrix.shape[1] else np.zeros(len(columns))
    raised = np.arange(len(columns))  # only what was raised can raise others
    for _ in range(len(columns)):
        higher = (lowest[raised, None] + needed[raised]).max(axis=0)
        raised = np.flatnonzero(higher > lowest + _ROUNDING)
        if not len(raised):
            break
        lowest[raised] = higher[raised]
    column_potentials, row_potentials = np.zeros(matrix.shape[1]), np.zeros(matrix.shape[0])
    column_potentials[columns] = lowest
    row_potentials[rows] = matched - lowest
    return row_potentials.tolist(), column_potentials.tolist()


def _with_scipy(cells: int, *, potentials: bool) -> bool:
    if "scipy.optimize" in sys.modules:
        pays = _POTENTIALS_PAY_LOADED if potentials else _SCIPY_PAYS_LOADED
        return cells >= pays and sys.modules["scipy.optimize"] is not None
    return cells >= _SCIPY_PAYS and installed("scipy")


def installed(package: str) -> bool:
    """Whether a package can be imported, without importing it."""
    if package in sys.modules:
        return sys.modules[package] is not None
    return find_spec(package) is not None


def assign(scores: Sequence[Sequence[float]]) -> Assignment:
    """Solve in plain Python."""
    if not scores or not scores[0]:
        return Assignment([], [0.0] * len(scores), [0.0] * (len(scores[0]) if scores else 0))
    if len(scores) <= len(scores[0]):
        search = _PathSearch([[-score for score in row] for row in scores])
        return Assignment([*enumerate(search.column_of)], *search.highest_potentials())
    search = _PathSearch([[-score for score in column] for column in zip(*scores, strict=True)])
    columns, rows = search.highest_potentials()
    return Assignment(sorted((row, column) for column, row in enumerate(search.column_of)), rows, columns)


class _PathSearch:
    """The cheapest assignment of all rows of a cost matrix that has no more rows than columns."""

    def __init__(self, costs: list[list[float]]) -> None:
        self.costs = costs
        width = len(costs[0])
        self.row_potential = [0.0] * len(costs)
        self.column_potential = [0.0] * width
        self.row_of = [-1] * width
        self.column_of = [-1] * len(costs)
        for row in range(len(costs)):
            if not self._take_cheapest(row):
                self._augment(row)

    def highest_potentials(self) -> tuple[list[float], list[float]]:
        """Return the potentials of rows and columns, of the scores."""
        return [-x for x in self.row_potential], [-x for x in self.column_potential]

    def _take_cheapest(self, row: int) -> bool:
        """Take the row's cheapest column where that is unique and free: the common case needs no search."""
        reduced = list(map(sub, self.costs[row], self.column_potential))
        lowest = min(reduced)
        column = reduced.index(lowest)
        if self.row_of[column] >= 0 or reduced.count(lowest) > 1:
            return False
        self.row_potential[row] = lowest
        self.row_of[column] = row
        self.column_of[row] = column
        return True

    def _augment(self, start: int) -> None:
        """Assign a row by the cheapest path to a free column (Dijkstra); columns are scanned in scipy's order."""
        costs, row_of, potential = self.costs, self.row_of, self.column_potential
        remaining = list(range(len(row_of) - 1, -1, -1))
        distance = [_INFINITE] * len(row_of)
        came_from = [-1] * len(row_of)
        done: list[int] = []
        row, travelled = start, 0.0
        while row >= 0:
            row_costs, row_potential = costs[row], self.row_potential[row]
            lowest, place = _INFINITE, -1
            for index, column in enumerate(remaining):
                reached = travelled + row_costs[column] - row_potential - potential[column]
                if reached < distance[column]:
                    distance[column] = reached
                    came_from[column] = row
                else:
                    reached = distance[column]
                if reached < lowest or (reached == lowest and row_of[column] < 0):
                    lowest, place = reached, index
            travelled, column = lowest, remaining[place]
            remaining[place] = remaining[-1]
            remaining.pop()
            done.append(column)
            row = row_of[column]
        self.row_potential[start] += travelled
        for column in done:
            if row_of[column] >= 0:
                self.row_potential[row_of[column]] += travelled - distance[column]
            potential[column] -= travelled - distance[column]
        column = done[-1]
        while row != start:
            row = row_of[column] = came_from[column]
            column, self.column_of[row] = self.column_of[row], column
