"""Best fit: pair the rows of two lists so that the summed pair score is highest.

Long lists mostly agree, so equal rows are paired first, and only the rest is compared. That is not always right: taking
an equal pair apart pays when one row of it is far better used elsewhere. It never pays when 1 - score is a distance
(triangle inequality). Otherwise `align_proof` proves the whole best, and it is solved in full where the proof fails.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

from pytest_extract.core.align_proof import proved
from pytest_extract.core.align_solve import Pairs, solve
from pytest_extract.core.columns import CodedColumn, Problem

PUBLISHED_LIMIT = 2_500
"""Cells up to which struct-extract-eval's program aligns, so that its choice among equals can be told."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Split:
    """Equal rows, paired, and the rows left over."""

    same: Pairs
    rows: list[int]
    columns: list[int]


def fit(problem: Problem) -> Pairs:
    """Return the pairs of a best fit with a score above 0, by gold index."""
    split = _split(problem) if _may_split(problem) else None
    if split is None or not split.same:
        return _fit_all(problem)
    if not split.rows or not split.columns:
        return split.same
    if _is_distance(problem):
        return sorted(split.same + solve(problem, split.rows, split.columns).pairs)
    pairs = proved(problem, split.same, split.rows, split.columns)
    return _fit_all(problem) if pairs is None else sorted(pairs)


def _fit_all(problem: Problem) -> Pairs:
    return solve(problem, range(problem.height), range(problem.width)).pairs


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
