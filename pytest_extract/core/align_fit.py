"""Best fit: pair the rows of two lists so that the summed pair score is highest.

Long lists mostly agree, so equal rows are paired first, and only the rest is compared. That is not always right: taking
an equal pair apart pays when one row of it is far better used elsewhere. It never pays when 1 - score is a distance
(triangle inequality). Otherwise the whole is proved best by linear programming duality, and solved in full where the
proof fails.
"""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pytest_extract.core import align_numpy, align_pure
from pytest_extract.core.assignment import Assignment, best_assignment, installed
from pytest_extract.core.columns import CodedColumn, Problem

Pairs = list[tuple[int, int]]
PUBLISHED_LIMIT = 2_500
"""Cells up to which struct-extract-eval's program aligns, so that its choice among equals can be told."""
_NUMPY_PAYS = 200_000  # cells times columns from which importing numpy costs less than doing without
_NUMPY_PAYS_LOADED = 5_000
_PROOF_PAYS = 0.75
_ROUNDING = 1e-12


@dataclass(frozen=True, slots=True, kw_only=True)
class _Split:
    """Equal rows, paired, and the rows left over."""

    same: Pairs
    rows: list[int]
    columns: list[int]


def fit(problem: Problem) -> Pairs:
    """Return the pairs of a best fit with a score above 0, by gold index."""
    everything = _Split(same=[], rows=list(range(problem.height)), columns=list(range(problem.width)))
    split = _split(problem) if _may_split(problem) else everything
    if not split.same:
        return _solve(problem, everything)[0]
    if not split.rows or not split.columns:
        return split.same
    if _is_distance(problem):
        return sorted(split.same + _solve(problem, split)[0])
    pairs = _proved(problem, split)
    return _solve(problem, everything)[0] if pairs is None else sorted(split.same + pairs)


def _may_split(problem: Problem) -> bool:
    return problem.objective == "mean" or problem.height * problem.width > PUBLISHED_LIMIT


def _is_distance(problem: Problem) -> bool:
    """Whether 1 - score is a distance between rows.

    A weighted mean over the fields that either row has is one where each field's is: along a detour the numerators add
    up to no less, and a field that only the detour has adds the same to numerator and denominator.
    """
    return problem.objective == "mean" and all(column.triangle for column in problem.columns)


def _split(problem: Problem) -> _Split:
    """Pair equal rows in order, as far as they score 1."""
    waiting: dict[tuple[int, ...], deque[int]] = {}
    for index, key in enumerate(_keys(problem.columns, problem.width, gold=False)):
        if not problem.hallucinated[index]:
            waiting.setdefault(key, deque()).append(index)
    same: Pairs = []
    rows: list[int] = []
    taken: set[int] = set()
    for index, key in enumerate(_keys(problem.columns, problem.height, gold=True)):
        others = waiting.get(key)
        if others and not problem.omitted[index] and _perfect(problem.columns, key):
            same.append((index, others[0]))
            taken.add(others.popleft())
        else:
            rows.append(index)
    return _Split(same=same, rows=rows, columns=[index for index in range(problem.width) if index not in taken])


def _keys(columns: Sequence[CodedColumn], length: int, *, gold: bool) -> list[tuple[int, ...]]:
    if not columns:
        return [()] * length
    return list(zip(*(column.gold if gold else column.extracted for column in columns), strict=True))


def _perfect(columns: Sequence[CodedColumn], key: tuple[int, ...]) -> bool:
    return all(column.perfect(code) for column, code in zip(columns, key, strict=True))


def _backend(problem: Problem, cells: int) -> Any:
    """Choose numpy where it is installed and the work is large enough; both give the same floats."""
    work = cells * max(1, len(problem.columns))
    loaded = "numpy" in sys.modules
    if work >= (_NUMPY_PAYS_LOADED if loaded else _NUMPY_PAYS) and installed("numpy"):
        return align_numpy
    return align_pure


def _solve(
    problem: Problem, split: _Split, backend: Any = None, *, potentials: bool = False
) -> tuple[Pairs, Assignment]:
    rows, columns = split.rows, split.columns
    backend = backend or _backend(problem, len(rows) * len(columns))
    scores = backend.score_matrix(problem, rows, columns)
    found = best_assignment(scores, potentials=potentials)
    return [(rows[i], columns[j]) for i, j in found.pairs if scores[i][j] > 0], found


def _proved(problem: Problem, split: _Split) -> Pairs | None:
    """Pair the rest, and prove that together with the equal pairs it is best; None where that cannot be shown.

    Each equal pair gets the potentials 1 - t and t with one t for all, which fits any two equal pairs, as no score is
    above 1. What remains to be seen is that potentials of the rest and of the equal pairs cover their scores.
    """
    same, rows, columns = split.same, split.rows, split.columns
    cells = problem.height * problem.width - len(same) ** 2
    if cells > _PROOF_PAYS * problem.height * problem.width:
        return None
    backend = _backend(problem, cells)
    pairs, found = _solve(problem, split, backend, potentials=True)
    to_same = backend.score_matrix(problem, rows, [other for _, other in same])
    from_same = backend.score_matrix(problem, [row for row, _ in same], columns)
    least = max(backend.highest_over_rows(to_same, found.rows))
    most = 1.0 - max(backend.highest_over_columns(from_same, found.columns))
    if len(rows) <= len(columns):
        least = max(least, 0.0)
    else:
        most = min(most, 1.0)
    return pairs if least <= most + _ROUNDING else None
