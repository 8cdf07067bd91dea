"""Best assignment: one column for each row of a matrix of scores, so that their sum is highest.

Shortest augmenting paths (Crouse, "On implementing 2D rectangular assignment algorithms", IEEE TAES 52(4), 2016). Among
equally good assignments the choice is that of `scipy.optimize.linear_sum_assignment`, so that a result does not depend
on whether scipy is installed.
"""

from __future__ import annotations

import sys
from array import array
from collections.abc import Sequence
from heapq import heappop, heappush
from importlib.util import find_spec
from typing import Any, NamedTuple

_SCIPY_PAYS = 40_000  # cells from which importing scipy costs less than doing without
_SCIPY_PAYS_LOADED = 400
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
    if not _with_scipy(len(scores) * len(scores[0])):
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
    """Find the potentials of a best assignment with all rows assigned: the lowest of the columns, by Bellman-Ford."""
    import numpy as np

    matched = matrix[rows, columns]
    # entry [k, l]: by how much column l's potential must exceed column k's
    needed = matrix[np.ix_(rows, columns)] - matched[:, None]
    lowest = np.zeros(len(columns))
    for _ in range(len(columns)):
        higher = np.maximum(lowest, (lowest[:, None] + needed).max(axis=0))
        settled = bool((higher <= lowest + _ROUNDING).all())
        lowest = higher
        if settled:
            break
    column_potentials, row_potentials = np.zeros(matrix.shape[1]), np.zeros(matrix.shape[0])
    column_potentials[columns] = lowest
    row_potentials[rows] = matched - lowest
    return row_potentials.tolist(), column_potentials.tolist()


def _with_scipy(cells: int) -> bool:
    if "scipy.optimize" in sys.modules:
        return cells >= _SCIPY_PAYS_LOADED and sys.modules["scipy.optimize"] is not None
    return cells >= _SCIPY_PAYS and installed("scipy")


def installed(package: str) -> bool:
    """Whether a package can be imported, without importing it."""
    if package in sys.modules:
        return sys.modules[package] is not None
    return find_spec(package) is not None


def assign(scores: Sequence[Sequence[float]]) -> Assignment:
    """Solve in plain Python; every cell is looked at once, and again only where a path may still lead through it."""
    if not scores or not scores[0]:
        return Assignment([], [0.0] * len(scores), [0.0] * (len(scores[0]) if scores else 0))
    if len(scores) <= len(scores[0]):
        search = _Search([array("d", [-score for score in row]) for row in scores])
        pairs, rows, columns = search.run()
        return Assignment(pairs, [-x for x in rows], [-x for x in columns])
    search = _Search([array("d", [-row[column] for row in scores]) for column in range(len(scores[0]))])
    pairs, columns, rows = search.run()
    return Assignment(sorted((row, column) for column, row in pairs), [-x for x in rows], [-x for x in columns])


class _Search:
    """State of one run on a cost matrix with no more rows than columns.

    The textbook loop scans every open column for every row that the path reaches. Here a row's columns are taken in
    order of cost, only as far as they can matter: no column potential is above `ceiling` (0, but for rounding), so a
    column's cost bounds its distance from below. Distances are the same sums in the same order, so ties fall the same.
    """

    def __init__(self, costs: list[array[float]]) -> None:
        self.costs = costs
        self.width = len(costs[0])
        self.row_potential = [0.0] * len(costs)
        self.column_potential = [0.0] * self.width
        self.ceiling = 0.0
        self.row_of = [-1] * self.width
        self.column_of = [-1] * len(costs)
        self.order: list[array[int] | None] = [None] * len(costs)

    def run(self) -> tuple[list[tuple[int, int]], list[float], list[float]]:
        for row in range(len(self.costs)):
            if not self._direct(row):
                _Path(self, row).augment()
        pairs = list(enumerate(self.column_of))
        return pairs, self.row_potential, self.column_potential

    def _direct(self, row: int) -> bool:
        """Take the row's cheapest column where that is unique and free: the common case needs no search."""
        reduced = [cost - potential for cost, potential in zip(self.costs[row], self.column_potential, strict=True)]
        lowest = min(reduced)
        column = reduced.index(lowest)
        if self.row_of[column] >= 0 or reduced.count(lowest) > 1:
            return False
        self.row_potential[row] = lowest
        self.row_of[column] = row
        self.column_of[row] = column
        return True

    def columns_by_cost(self, row: int) -> array[int]:
        order = self.order[row]
        if order is None:
            order = self.order[row] = array("l", sorted(range(self.width), key=self.costs[row].__getitem__))
        return order


class _Path:
    """The cheapest path from one unassigned row to an unassigned column, by Dijkstra's algorithm."""

    def __init__(self, search: _Search, start: int) -> None:
        self.search = search
        self.start = start
        self.distance: dict[int, float] = {}
        self.came_from: dict[int, int] = {}
        self.done: dict[int, float] = {}
        self.opened: dict[int, int] = {}
        self.levels: list[float] = []
        self.tied: dict[float, list[tuple[int, int]]] = {}
        self.free: dict[float, list[int]] = {}
        self.frontier: list[tuple[float, int, int, float]] = []
        self.slots = _Slots(search.width)

    def augment(self) -> None:
        row, travelled = self.start, 0.0
        while True:
            self._open(row, travelled)
            travelled, column = self._nearest()
            self.done[column] = travelled
            moved = self.slots.remove(column)
            if moved in self.distance and moved not in self.done:
                self._queue(moved)
            row = self.search.row_of[column]
            if row < 0:
                break
        self._update_potentials(travelled)
        self._flip(column)

    def _open(self, row: int, travelled: float) -> None:
        self.opened[row] = len(self.opened)
        heappush(self.frontier, (self._bound(row, 0, travelled), row, 0, travelled))

    def _nearest(self) -> tuple[float, int]:
        """Return the lowest distance and its column: a free one, the last in order; else the first in order."""
        while self.frontier and self.frontier[0][0] <= self._lowest():
            self._step()
        lowest = self._lowest()
        free = [column for column in self.free.get(lowest, ()) if self.distance[column] == lowest]
        return lowest, max(free, key=self.slots.place) if free else self.tied[lowest][0][1]

    def _queue(self, column: int) -> None:
        """Keep a column with those of the same distance, by its place."""
        distance = self.distance[column]
        tied = self.tied.get(distance)
        if tied is None:
            tied = self.tied[distance] = []
            heappush(self.levels, distance)
        heappush(tied, (self.slots.place(column), column))

    def _lowest(self) -> float:
        """Return the lowest distance of an open column; drops what has been done, moved or come nearer since."""
        while self.levels:
            level = self.levels[0]
            tied = self.tied[level]
            while tied:
                place, column = tied[0]
                if column not in self.done and self.distance[column] == level and self.slots.place(column) == place:
                    return level
                heappop(tied)
            del self.tied[heappop(self.levels)]
        return _INFINITE

    def _step(self) -> None:
        """Look at the next cheapest column of the row that may reach furthest down."""
        _, row, index, travelled = heappop(self.frontier)
        search = self.search
        column = search.columns_by_cost(row)[index]
        if column not in self.done:
            cost = search.costs[row][column]
            distance = travelled + cost - search.row_potential[row] - search.column_potential[column]
            known = self.distance.get(column, _INFINITE)
            if distance < known:
                self.distance[column] = distance
                self.came_from[column] = row
                self._queue(column)
                if search.row_of[column] < 0:
                    self.free.setdefault(distance, []).append(column)
            elif distance == known and self.opened[row] < self.opened[self.came_from[column]]:
                self.came_from[column] = row  # the plain loop would have come from the row that it reached first
        if index + 1 < search.width:
            heappush(self.frontier, (self._bound(row, index + 1, travelled), row, index + 1, travelled))

    def _bound(self, row: int, index: int, travelled: float) -> float:
        search = self.search
        cost = search.costs[row][search.columns_by_cost(row)[index]]
        return travelled + cost - search.row_potential[row] - search.ceiling

    def _update_potentials(self, travelled: float) -> None:
        search = self.search
        search.row_potential[self.start] += travelled
        for column, distance in self.done.items():
            row = search.row_of[column]
            if row >= 0:
                search.row_potential[row] += travelled - distance
            search.column_potential[column] -= travelled - distance
            search.ceiling = max(search.ceiling, search.column_potential[column])

    def _flip(self, column: int) -> None:
        search = self.search
        while True:
            row = self.came_from[column]
            search.row_of[column] = row
            column, search.column_of[row] = search.column_of[row], column
            if row == self.start:
                return


class _Slots:
    """Order in which scipy scans the open columns: last to first, a removed one's place taken by the last open one."""

    def __init__(self, width: int) -> None:
        self.size = width
        self.width = width
        self.moved: dict[int, int] = {}
        self.holder: dict[int, int] = {}

    def place(self, column: int) -> int:
        return self.moved.get(column, self.width - 1 - column)

    def remove(self, column: int) -> int:
        """Close a column; return the one that takes its place, itself where none does."""
        place = self.place(column)
        self.size -= 1
        last = self.holder.get(self.size, self.width - 1 - self.size)
        if last != column:
            self.holder[place] = last
            self.moved[last] = place
        return last
