"""Best assignment of some rows of two lists, on numpy where that pays and in plain Python elsewhere."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any, NamedTuple, TypeAlias

from pytest_extract.core import align_numpy, align_pure
from pytest_extract.core.assignment import best_assignment, installed
from pytest_extract.core.columns import Problem

Pairs: TypeAlias = list[tuple[int, int]]
_NUMPY_PAYS = 200_000  # cells times columns from which importing numpy costs less than doing without
_NUMPY_PAYS_LOADED = 5_000


class Solution(NamedTuple):
    """The pairs with a score above 0; potentials of the rows and columns asked about, where asked for."""

    pairs: Pairs
    rows: list[float]
    columns: list[float]


def backend(problem: Problem, cells: int) -> Any:
    """Choose between `align_numpy` and `align_pure` for this many pairs of rows; both give the same floats."""
    work = cells * max(1, len(problem.columns))
    pays = _NUMPY_PAYS_LOADED if "numpy" in sys.modules else _NUMPY_PAYS
    return align_numpy if work >= pays and installed("numpy") else align_pure


def solve(
    problem: Problem, rows: Sequence[int], columns: Sequence[int], module: Any = None, *, potentials: bool = False
) -> Solution:
    """Pair these gold rows with these extracted rows so that the summed score is highest."""
    module = module or backend(problem, len(rows) * len(columns))
    scores = module.score_matrix(problem, rows, columns)
    found = best_assignment(scores, potentials=potentials)
    pairs = [(rows[i], columns[j]) for i, j in found.pairs if scores[i][j] > 0]
    return Solution(pairs, found.rows, found.columns)
