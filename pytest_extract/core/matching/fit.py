"""Best fit: pair the rows of two lists so that the summed score is highest. Bound, solve, make exact, repeat.

1. Equal rows are paired, in order.
2. The other rows are assigned by upper bounds of their scores; the pairs chosen are scored exactly, and the assignment
   is repeated with their scores as long as one falls below its bound.
3. The potentials of that assignment show which equal rows may be worth more apart. Those join the other rows, and 2 is
   repeated; where that pays no more, all rows are assigned at once.

Lemma 1: let `bounds >= scores` for every pair of rows, and equal on the pairs of an assignment that is best by the
bounds. It is best by the scores: any other sums to no more by its scores than by its bounds, so to no more than this.

Lemma 2 (duality of linear programming): an assignment is best where every row has a potential such that those of any
two rows sum to their score at least, to exactly it on the pairs, and are 0 for a row without a partner, never less on
the longer side. The other rows have theirs from their own assignment. Two equal rows score 1: theirs are 1 - t and t.
"""

from __future__ import annotations

import sys
from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict, deque
from collections.abc import Hashable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Protocol

from pytest_extract.core.matching import similarity_numpy, similarity_pure
from pytest_extract.core.matching.assignment import Assignment, best_assignment, installed
from pytest_extract.core.matching.columns import Column, PairScore, objective_score, strict_keys
from pytest_extract.core.matching.encoding import ABSENT, EncodedColumn, EncodedTable, Pairs, perfect, row_keys
from pytest_extract.core.matching.ties import equal_in_order, in_order

PUBLISHED_LIMIT = 2_500
"""Cells up to which struct-extract-eval's program aligns, so that its choice among equals can be the same."""
_NUMPY_PAYS = 200_000  # cells times columns from which importing numpy costs less than doing without
_NUMPY_PAYS_LOADED = 5_000
_NUMPY_PAYS_LONG = 200  # rows or columns
_ROUNDS = 4
_PAYS = 0.7  # share of all cells that may be looked at for the sake of equal rows
_ROUNDING = 1e-12
_NOTHING = PairScore(0.0, 0.0, 0.0, 0.0)


class Similarity(Protocol):
    """How alike the rows of two lists are; `has_rough`: whether rough bounds cost less than others."""

    has_rough: bool

    def matrix(self, rows: Sequence[int], columns: Sequence[int], *, rough: bool = False) -> Any:
        """Return upper bounds of the scores of some rows: a list of sequences, or a numpy array.

        `rough`: higher ones, where they cost less.
        """

    def score(self, row: int, column: int) -> float | None:
        """Return the score of a pair of rows; None where the matrix holds it."""


# --- the algorithm


def fit_rows(similarity: Similarity, same: Pairs, rows: Sequence[int], columns: Sequence[int]) -> Pairs:
    """Return a best fit without pairs of score 0; `same`: pairs of equal rows, `rows`, `columns`: all other rows."""
    everything = sorted([*rows, *(i for i, _ in same)]), sorted([*columns, *(j for _, j in same)])
    for _ in range(_ROUNDS):
        cells = len(everything[0]) * len(everything[1])
        if not same or cells - len(same) ** 2 > _PAYS * cells:
            break
        pairs, potentials = assign_rows(similarity, rows, columns, potentials=True)
        apart = _worth_more_apart(similarity, same, rows, columns, potentials)
        if apart is None:
            break
        if not apart:
            return [*same, *pairs]
        rows = sorted([*rows, *(same[place][0] for place in apart)])
        columns = sorted([*columns, *(same[place][1] for place in apart)])
        same = [pair for place, pair in enumerate(same) if place not in apart]
    return assign_rows(similarity, *everything)[0]


def assign_rows(
    similarity: Similarity, rows: Sequence[int], columns: Sequence[int], *, potentials: bool = False
) -> tuple[Pairs, Assignment]:
    """Assign rows by upper bounds, which scores replace until none that is chosen is lower (lemma 1)."""
    scores = similarity.matrix(rows, columns)
    found = best_assignment(scores, potentials=potentials)
    known: set[tuple[int, int]] = set()
    while _make_exact(similarity, rows, columns, scores, found, known):
        found = best_assignment(scores, potentials=potentials)
    return [(rows[i], columns[j]) for i, j in found.pairs if scores[i][j] > 0.0], found


def _make_exact(
    similarity: Similarity,
    rows: Sequence[int],
    columns: Sequence[int],
    scores: Any,
    found: Assignment,
    known: set[tuple[int, int]],
) -> bool:
    """Put the scores of the chosen pairs in the place of their bounds; whether one is lower."""
    lower = False
    for i, j in found.pairs:
        if (i, j) not in known and scores[i][j] > 0.0:
            score = similarity.score(rows[i], columns[j])
            if score is None:
                return False
            known.add((i, j))
            lower = lower or score < scores[i][j] - _ROUNDING
            scores[i][j] = score
    return lower


def _worth_more_apart(
    similarity: Similarity, same: Pairs, rows: Sequence[int], columns: Sequence[int], found: Assignment
) -> set[int] | None:
    """Return the equal pairs that have no potentials as lemma 2 asks; None where finding out is too dear."""
    golds, others = [i for i, _ in same], [j for _, j in same]
    least, most = _limits(similarity, same, rows, columns, found, rough=True)
    if max(least) <= min(most) + _ROUNDING:
        return set()
    if similarity.has_rough:
        lows, highs = sorted(least), sorted(most)
        step = 1 + len(same) // 16
        middle = max([*lows[::step], *highs[::step]], key=lambda t: bisect_right(lows, t) - bisect_left(highs, t))
        unsure = [x for x, (low, high) in enumerate(zip(least, most, strict=True)) if low > middle or high < middle]
        exact = _limits(similarity, [same[x] for x in unsure], rows, columns, found, rough=False)
        for x, low, high in zip(unsure, *exact, strict=True):
            least[x], most[x] = low, high
    apart = {x for x, (low, high) in enumerate(zip(least, most, strict=True)) if low > high + _ROUNDING}
    if apart or max(least) <= min(most) + _ROUNDING:
        return apart  # one t for all fits any two equal pairs, as no score is above 1
    # most get one t, the others the nearest that fits; pairs of rows between the two kinds are looked at
    bounds = sorted(least + most)
    usual = bounds[len(bounds) // 2]
    chosen = [min(max(usual, low), high) for low, high in zip(least, most, strict=True)]
    above = [x for x, t in enumerate(chosen) if t > usual]
    below = [x for x, t in enumerate(chosen) if t < usual]
    if 2 * (len(above) + len(below)) > len(chosen):
        return None
    bids = _highest_by_row(similarity.matrix([golds[x] for x in above], others), chosen) if above else []
    apart = {x for x, bid in zip(above, bids, strict=True) if bid > 1.0 - chosen[x] + _ROUNDING}
    bids = (
        _highest_by_column(similarity.matrix(golds, [others[x] for x in below]), [1.0 - t for t in chosen])
        if below
        else []
    )
    return apart | {x for x, bid in zip(below, bids, strict=True) if bid > chosen[x] + _ROUNDING}


def _limits(
    similarity: Similarity,
    same: Pairs,
    rows: Sequence[int],
    columns: Sequence[int],
    found: Assignment,
    *,
    rough: bool,
) -> tuple[list[float], list[float]]:
    """Return between which potentials the extracted row of each equal pair may be, for the sake of all other rows."""
    golds, others = [i for i, _ in same], [j for _, j in same]
    least = _highest_by_column(similarity.matrix(rows, others, rough=rough), found.rows)
    most = [1.0 - x for x in _highest_by_row(similarity.matrix(golds, columns, rough=rough), found.columns)]
    # the longer side may have rows without a partner, at a potential of 0: none of its own is below
    if len(rows) < len(columns):
        least = [max(x, 0.0) for x in least]
    elif len(rows) > len(columns):
        most = [min(x, 1.0) for x in most]
    return least, most


def _highest_by_column(matrix: Any, potentials: Sequence[float]) -> list[float]:
    """Return, for each column, the highest score - potentials[row]."""
    if not isinstance(matrix, list):
        return similarity_numpy.highest_over_rows(matrix, potentials)
    lowered = [[score - potential for score in row] for row, potential in zip(matrix, potentials, strict=True)]
    return lowered[0] if len(lowered) == 1 else list(map(max, *lowered))


def _highest_by_row(matrix: Any, potentials: Sequence[float]) -> list[float]:
    """Return, for each row, the highest score - potentials[column]."""
    if not isinstance(matrix, list):
        return similarity_numpy.highest_over_columns(matrix, potentials)
    return [max([score - potential for score, potential in zip(row, potentials, strict=True)]) for row in matrix]


# --- rows as columns of values


class _TableSimilarity:
    """How alike encoded rows are; numpy where that pays, which gives the same floats."""

    def __init__(self, problem: EncodedTable, *, exact: bool) -> None:
        self._problem = problem
        self._rough = problem
        self.has_rough = len({column.inexact for column in problem.columns}) > 1
        if self.has_rough:
            columns = [column.anything_matches() if column.inexact else column for column in problem.columns]
            self._rough = replace(problem, columns=columns)
        self._bounded = any(column.contents is not None for column in problem.columns)
        self._exact = exact

    def matrix(self, rows: Sequence[int], columns: Sequence[int], *, rough: bool = False) -> Any:
        problem = self._rough if rough else self._problem
        if self._exact and self._bounded:
            return [[score_of(problem, row, column) for column in columns] for row in rows]
        work = len(rows) * len(columns) * max(1, len(problem.columns))
        if "numpy" in sys.modules:
            pays = work >= _NUMPY_PAYS_LOADED or max(len(rows), len(columns)) >= _NUMPY_PAYS_LONG
        else:
            pays = work >= _NUMPY_PAYS
        module: Any = similarity_numpy if pays and installed("numpy") else similarity_pure
        return module.score_matrix(problem, rows, columns)

    def score(self, row: int, column: int) -> float | None:
        return score_of(self._problem, row, column) if self._bounded and not self._exact else None


def fit(problem: EncodedTable) -> Pairs:
    """Return the pairs of a best fit, without those of score 0."""
    rows, columns = range(problem.height), range(problem.width)
    if not rows or not columns:
        return []
    if problem.objective == "f1" and problem.height * problem.width <= PUBLISHED_LIMIT:
        # every pair is scored, so that ties fall as in the published program
        return assign_rows(_TableSimilarity(problem, exact=True), rows, columns)[0]
    similarity = _TableSimilarity(problem, exact=False)
    same, left, others = _pair_equal_rows(problem)
    if not left or not others:
        return same
    if problem.objective == "mean" and all(column.triangle for column in problem.columns):
        # 1 - score is a distance: along a detour the numerators add up to no less, and a field that only the detour
        # has adds the same to numerator and denominator. Equal rows are then never worth more apart
        return sorted(same + assign_rows(similarity, left, others)[0])
    return sorted(fit_rows(similarity, same, left, others))


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
    return sorted([*kept, *in_order(unlike, partial(score_of, problem), partial(bound_of, problem))])


def _pair_equal_rows(problem: EncodedTable) -> tuple[Pairs, list[int], list[int]]:
    """Pair equal rows in order, as far as they score 1; return the rows and columns left over too."""
    waiting: dict[tuple[int, ...], deque[int]] = {}
    columns = range(problem.width)
    for other, key in enumerate(row_keys(problem, columns, gold=False)):
        if not problem.hallucinated[other]:
            waiting.setdefault(key, deque()).append(other)
    same: Pairs = []
    left: list[int] = []
    doubtful = any(not column.reflexive for column in problem.columns)
    for row, key in enumerate(row_keys(problem, range(problem.height), gold=True)):
        others = waiting.get(key)
        if others and not problem.omitted[row] and not (doubtful and not perfect(problem, key)):
            same.append((row, others.popleft()))
        else:
            left.append(row)
    taken = {other for _, other in same}
    return same, left, [other for other in columns if other not in taken]


def score_of(problem: EncodedTable, row: int, other: int) -> float:
    """Return what a pair of rows scores."""
    parts = [(each.weight, _column_sums(each, each.gold[row], each.extracted[other])) for each in problem.columns]
    return _objective(problem, row, other, parts)


def bound_of(problem: EncodedTable, row: int, other: int) -> float:
    """Return what a pair of rows scores at most, without a look inside nested values that have contents."""
    parts = []
    for column in problem.columns:
        gold, extracted = column.gold[row], column.extracted[other]
        if column.contents is None:
            parts.append((column.weight, _column_sums(column, gold, extracted)))
        else:
            most = column.score_bound(gold, extracted)
            ours, theirs = max(column.floor(gold), most), max(column.floor(extracted), most)
            if problem.objective == "mean":
                ours, theirs = max(ours, theirs), most
            parts.append((column.weight, PairScore(most, most, ours - most, theirs - most)))
    return _objective(problem, row, other, parts)


def _objective(problem: EncodedTable, row: int, other: int, parts: Sequence[tuple[float, PairScore]]) -> float:
    score = compared = 0.0
    omitted, hallucinated = problem.omitted[row], problem.hallucinated[other]
    for weight, part in parts:
        score += weight * part.score
        compared += weight * part.compared
        omitted += weight * part.omitted
        hallucinated += weight * part.hallucinated
    return objective_score(problem.objective, PairScore(score, compared, omitted, hallucinated))


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


# --- the same rows in another order


def pair_all_equal(columns: Sequence[Column], length: int) -> Pairs | None:
    """Pair two lists of this length row by row where they hold the same rows, equal ones in order; else None.

    Equal means the same JSON of the same types. None too where a metric does not find every value equal to itself.
    A list in another order takes half the time with this look at it, before any value is encoded.
    """
    if not all(map(_is_reflexive, columns)):
        return None
    gold, extracted = [], []
    for column in columns:
        gold.append(_strict_values(column, gold=True))
        extracted.append(_strict_values(column, gold=False))
        if set(gold[-1]) != set(extracted[-1]):
            return None
    rows = _as_rows(gold, length)
    waiting: defaultdict[Hashable, list[int]] = defaultdict(list)
    for index, row in enumerate(_as_rows(extracted, length)):
        waiting[row].append(index)
    if Counter(rows) != {row: len(places) for row, places in waiting.items()}:
        return None
    queues = {row: iter(places) for row, places in waiting.items()}
    return [(index, next(queues[row])) for index, row in enumerate(rows)]


def _is_reflexive(column: Column) -> bool:
    return column.contents is not None or (column.metric is not None and column.metric.reflexive)


def _as_rows(columns: Sequence[Sequence[Hashable]], length: int) -> list[Hashable]:
    return list(zip(*columns, strict=True)) if columns else [()] * length


def _strict_values(column: Column, *, gold: bool) -> list[Hashable]:
    if column.contents is not None:
        return [content and content.key for content in column.contents[0 if gold else 1]]
    return strict_keys(column.gold if gold else column.extracted)
