"""Best assignment of some rows of two lists, on numpy where that pays and in plain Python elsewhere."""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Callable, Sequence
from heapq import nlargest
from typing import Any, NamedTuple, TypeAlias

from pytest_extract.core.matching import solve_numpy, solve_pure
from pytest_extract.core.matching.assignment import Assignment, best_assignment, installed
from pytest_extract.core.matching.encoding import EncodedTable, Pairs

ScoreOf: TypeAlias = Callable[[EncodedTable, int, int], float]
"""Score of one pair of rows, lists inside paired."""
_NUMPY_PAYS = 200_000  # cells times columns from which importing numpy costs less than doing without
FURTHER = 8
"""Pairs that a disappointed row has scored for each one that it had before."""
_NUMPY_PAYS_LOADED = 5_000


class Solution(NamedTuple):
    """The pairs with a score above 0; potentials of the rows and columns asked about, where asked for."""

    pairs: Pairs
    rows: list[float]
    columns: list[float]


def backend(problem: EncodedTable, rows: int, columns: int) -> Any:
    """Choose between `solve_numpy` and `solve_pure` for this many rows; both give the same floats."""
    work = rows * columns * max(1, len(problem.columns))
    for items in problem.items:
        density = items.problem.height * items.problem.width / (problem.height * problem.width)
        work += int(rows * columns * density) * max(1, len(items.problem.columns))
    pays = _NUMPY_PAYS_LOADED if "numpy" in sys.modules else _NUMPY_PAYS
    return solve_numpy if work >= pays and installed("numpy") else solve_pure


def solve(
    problem: EncodedTable,
    rows: Sequence[int],
    columns: Sequence[int],
    score_of: ScoreOf,
    module: Any = None,
    *,
    potentials: bool = False,
    exact: bool = False,
) -> Solution:
    """Pair these gold rows with these extracted rows so that the summed score is highest.

    `exact`: score every pair, also where rows have lists inside, so that ties fall as in the published program.
    """
    module = module or backend(problem, len(rows), len(columns))
    if exact and problem.items:
        scores = [[score_of(problem, row, column) for column in columns] for row in rows]
    else:
        scores = module.score_matrix(problem, rows, columns)
    found = best_assignment(scores, potentials=potentials)
    if problem.items and not exact:
        found = _refine(problem, rows, columns, scores, found, score_of, potentials=potentials)
    pairs = [(rows[i], columns[j]) for i, j in found.pairs if scores[i][j] > 0]
    return Solution(pairs, found.rows, found.columns)


def _refine(
    problem: EncodedTable,
    rows: Sequence[int],
    columns: Sequence[int],
    scores: Any,
    found: Assignment,
    score_of: ScoreOf,
    *,
    potentials: bool,
) -> Assignment:
    """Replace upper bounds by scores until an assignment holds none: then none can be better.

    Only pairs that are best by their bounds are scored, a small part of all. To score a pair is cheap beside another
    assignment: a row that is disappointed has its best other bounds scored too, eight times as many each time.
    """
    scored: defaultdict[int, set[int]] = defaultdict(set)
    while True:
        bounds = [(i, j) for i, j in found.pairs if j not in scored[i] and scores[i][j] > 0]
        if not bounds:
            return found
        for i, j in bounds:
            hoped = scores[i][j]
            scores[i][j] = score_of(problem, rows[i], columns[j])
            scored[i].add(j)
            if scores[i][j] < hoped:
                for other in _best_bounds(scores[i], scored[i], FURTHER * len(scored[i])):
                    scores[i][other] = score_of(problem, rows[i], columns[other])
                    scored[i].add(other)
        found = best_assignment(scores, potentials=potentials)


def _best_bounds(row: Any, scored: set[int], count: int) -> list[int]:
    cells = list(row)
    return nlargest(count, (place for place in range(len(cells)) if place not in scored), key=cells.__getitem__)
