"""Best fit: pair the rows of two lists so that the summed pair score is highest.

Long lists mostly agree, so equal rows are paired first, and only the rest is compared. That is not always right: taking
an equal pair apart pays when one row of it is far better used elsewhere. It never pays when 1 - score is a distance
(triangle inequality). Otherwise `proof` proves the whole best, and it is solved in full where the proof fails.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from pytest_extract.core.matching.columns import PairScore, objective_score
from pytest_extract.core.matching.encoding import (
    ABSENT,
    EncodedColumn,
    EncodedLists,
    EncodedTable,
    Pairs,
    perfect,
    row_keys,
)
from pytest_extract.core.matching.proof import proved
from pytest_extract.core.matching.solve import solve
from pytest_extract.core.matching.ties import equal_in_order, in_order

PUBLISHED_LIMIT = 2_500
"""Cells up to which struct-extract-eval's program aligns, so that its choice among equals can be told."""
_NOTHING = PairScore(0.0, 0.0, 0.0, 0.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Split:
    """Equal rows, paired, and the rows left over."""

    same: Pairs
    rows: list[int]
    columns: list[int]


def fit(problem: EncodedTable, rows: Sequence[int], columns: Sequence[int]) -> Pairs:
    """Return the pairs of a best fit of these gold rows and these extracted rows, without those of score 0."""
    if not rows or not columns:
        return []
    may_split = problem.objective == "mean" or len(rows) * len(columns) > PUBLISHED_LIMIT
    split = _split(problem, rows, columns) if may_split else None
    if split is None or not split.same:
        return solve(problem, rows, columns, score_of, exact=not may_split).pairs
    if not split.rows or not split.columns:
        return split.same
    if _is_distance(problem):
        return sorted(split.same + solve(problem, split.rows, split.columns, score_of).pairs)
    pairs = proved(problem, split.same, split.rows, split.columns, score_of)
    return solve(problem, rows, columns, score_of).pairs if pairs is None else sorted(pairs)


def ordered(problem: EncodedTable, pairs: Pairs) -> Pairs:
    """Return a pairing as good as this one, in which rows keep their order as far as that goes.

    Equal rows stay together; which of several equal ones these are goes by their order.
    """
    ours = row_keys(problem, range(problem.height), gold=True)
    theirs = row_keys(problem, range(problem.width), gold=False)
    alone = [*zip(ours, problem.omitted, strict=True)], [*zip(theirs, problem.hallucinated, strict=True)]
    pairs = equal_in_order(pairs, *alone)
    unlike = [(i, j) for i, j in pairs if ours[i] != theirs[j]]
    kept = {*pairs}.difference(unlike)
    return sorted([*kept, *in_order(unlike, partial(score_of, problem))])


def _is_distance(problem: EncodedTable) -> bool:
    """Whether 1 - score is a distance between rows.

    A weighted mean over the fields that either row has is one where each field's is: along a detour the numerators add
    up to no less, and a field that only the detour has adds the same to numerator and denominator.
    """
    return problem.objective == "mean" and not problem.items and all(column.triangle for column in problem.columns)


def _split(problem: EncodedTable, rows: Sequence[int], columns: Sequence[int]) -> _Split:
    """Pair equal rows in order, as far as they score 1."""
    waiting: dict[tuple[int, ...], deque[int]] = {}
    for other, key in zip(columns, row_keys(problem, columns, gold=False), strict=True):
        if not problem.hallucinated[other]:
            waiting.setdefault(key, deque()).append(other)
    same: Pairs = []
    left: list[int] = []
    taken: set[int] = set()
    for row, key in zip(rows, row_keys(problem, rows, gold=True), strict=True):
        others = waiting.get(key)
        if others and not problem.omitted[row] and perfect(problem, key):
            same.append((row, others[0]))
            taken.add(others.popleft())
        else:
            left.append(row)
    return _Split(same=same, rows=left, columns=[other for other in columns if other not in taken])


def score_of(problem: EncodedTable, row: int, other: int) -> float:
    """Return what a pair of rows scores."""
    return objective_score(problem.objective, _pair_sums(problem, row, other))


def _pair_sums(problem: EncodedTable, row: int, other: int) -> PairScore:
    """Score one pair of rows, lists inside paired by best fit."""
    score = compared = 0.0
    omitted, hallucinated = problem.omitted[row], problem.hallucinated[other]
    parts = [
        (column.weight, _column_sums(column, column.gold[row], column.extracted[other])) for column in problem.columns
    ]
    parts += [(1.0, _list_sums(items, row, other)) for items in problem.items]
    for weight, part in parts:
        score += weight * part.score
        compared += weight * part.compared
        omitted += weight * part.omitted
        hallucinated += weight * part.hallucinated
    return PairScore(score, compared, omitted, hallucinated)


def _column_sums(column: EncodedColumn, gold: int, extracted: int) -> PairScore:
    if gold == extracted == ABSENT:
        return _NOTHING
    if column.pair is not None:
        return column.pair_of(gold, extracted)
    if gold == ABSENT:
        return PairScore(0.0, 0.0, 0.0, 1.0)
    if extracted == ABSENT:
        return PairScore(0.0, 0.0, 1.0, 0.0)
    return PairScore(column.score(gold, extracted), 1.0, 0.0, 0.0)


def _list_sums(items: EncodedLists, row: int, other: int) -> PairScore:
    """Score two lists, once for all rows that have the same."""
    codes = items.gold_codes[row], items.extracted_codes[other]
    known = items.memo.get(codes)
    if known is None:
        known = items.memo[codes] = _fitted_sums(items, row, other)
    return known


def _fitted_sums(items: EncodedLists, row: int, other: int) -> PairScore:
    ours, theirs = items.gold[row], items.extracted[other]
    pairs = fit(items.problem, ours, theirs)
    parts = [_pair_sums(items.problem, *pair) for pair in pairs]
    lost, invented = set(ours).difference(i for i, _ in pairs), set(theirs).difference(j for _, j in pairs)
    parts += [PairScore(0.0, 0.0, items.gold_alone[i], 0.0) for i in sorted(lost)]
    parts += [PairScore(0.0, 0.0, 0.0, items.extracted_alone[j]) for j in sorted(invented)]
    return PairScore(*map(sum, zip(_NOTHING, *parts, strict=True)))
