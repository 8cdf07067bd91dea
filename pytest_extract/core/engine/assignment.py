"""Best assignment: one column for each row of a matrix of scores, so that their sum is highest.

Small matrices are solved here, by shortest augmenting paths (Crouse, "On implementing 2D rectangular assignment
algorithms", IEEE TAES 52(4), 2016), for importing scipy takes longer than solving them. Among equally good assignments
the choice is that of `scipy.optimize.linear_sum_assignment`, which solves all others.
"""

from __future__ import annotations

from operator import sub
from typing import Any, Final

MOST_CELLS: Final = 400
"""Pairs that are looked at in plain Python; for more, numpy and scipy are imported."""
_INFINITE = float("inf")


def assign(scores: Any) -> list[tuple[int, int]]:
    """Return a best assignment of a matrix of scores, by row: a list of rows, or a two-dimensional numpy array."""
    if not len(scores) or not len(scores[0]):
        return []
    if len(scores) * len(scores[0]) > MOST_CELLS:
        from scipy.optimize import linear_sum_assignment

        rows, columns = linear_sum_assignment(scores, maximize=True)
        return list(zip(rows.tolist(), columns.tolist(), strict=True))
    if len(scores) <= len(scores[0]):
        return [*enumerate(_PathSearch([[-score for score in row] for row in scores]).column_of)]
    search = _PathSearch([[-score for score in column] for column in zip(*scores, strict=True)])
    return sorted((row, column) for column, row in enumerate(search.column_of))


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
