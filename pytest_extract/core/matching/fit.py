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
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Hashable, Sequence
from dataclasses import replace
from functools import cached_property, partial
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
_SAMPLE = 32
_CANDIDATES = 16
_FIXED_COST = 0.01
_LONG_TEXT = 64  # characters
_FEW_CELLS = 20_000  # between equal and other rows: all are looked at
_FEW_TEXTS = 400  # pairs of long texts that are compared at once
_CUTOFFS = (0.9, 0.7, 0.0)
_CELLS_AT_ONCE = 2_000_000
_SINGLE_PAIR = 60  # cells of a matrix that cost what a pair of rows costs alone
_NOTHING = PairScore(0.0, 0.0, 0.0, 0.0)


class Similarity(Protocol):
    """How alike the rows of two lists are; `is_dear`: whether it takes long to score a pair."""

    is_dear: bool

    def matrix(self, rows: Sequence[int], columns: Sequence[int]) -> Any:
        """Return upper bounds of the scores of some rows: a list of sequences, or a numpy array."""

    def make_exact(self, rows: Sequence[int], columns: Sequence[int], scores: Any, pairs: Pairs) -> bool:
        """Put the scores of chosen pairs (places in the matrix) in the place of their bounds; whether one is lower."""

    def above(
        self,
        rows: Sequence[int],
        columns: Sequence[int],
        row_limits: Sequence[float],
        column_limits: Sequence[float],
    ) -> Pairs:
        """Return the pairs, by their places, whose score may be above the sum of their limits."""


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
    while similarity.make_exact(rows, columns, scores, found.pairs):
        found = best_assignment(scores, potentials=potentials)
    return [(rows[i], columns[j]) for i, j in found.pairs if scores[i][j] > 0.0], found


def _worth_more_apart(
    similarity: Similarity, same: Pairs, rows: Sequence[int], columns: Sequence[int], found: Assignment
) -> set[int] | None:
    """Return the equal pairs that have no potentials as lemma 2 asks; None where finding out is too dear."""
    golds, others = [i for i, _ in same], [j for _, j in same]
    size = len(same)
    usual = 0.0
    unsure = {*range(size)}
    if similarity.is_dear or size * (len(rows) + len(columns)) > _FEW_CELLS:
        usual = _usual_potential(found)
        unsure = {x for _, x in similarity.above(rows, others, found.rows, [usual] * size)}
        unsure |= {x for x, _ in similarity.above(golds, columns, [1.0 - usual] * size, found.columns)}
        if not unsure:
            return set()  # one t for all fits any two equal pairs, as no score is above 1
        if 2 * len(unsure) > size:
            return None
    looked_at = sorted(unsure)
    least, most = _limits(similarity, [same[x] for x in looked_at], rows, columns, found)
    apart = {x for x, low, high in zip(looked_at, least, most, strict=True) if low > high + _ROUNDING}
    if apart or (len(unsure) == size and max(least) <= min(most) + _ROUNDING):
        return apart
    if len(unsure) == size:
        usual = sorted(least + most)[size]
    chosen = {x: min(max(usual, low), high) for x, low, high in zip(looked_at, least, most, strict=True)}
    if 2 * sum(t != usual for t in chosen.values()) > size:
        return None
    # most get one t, the others the nearest that fits; pairs of rows between the two kinds are looked at
    potentials = [chosen.get(x, usual) for x in range(size)]
    raised = [x for x, t in chosen.items() if t > usual]
    lowered = [x for x, t in chosen.items() if t < usual]
    above = similarity.above([golds[x] for x in raised], others, [1.0 - chosen[x] for x in raised], potentials)
    below = similarity.above(
        golds, [others[x] for x in lowered], [1.0 - t for t in potentials], [chosen[x] for x in lowered]
    )
    return {raised[x] for x, _ in above} | {lowered[x] for _, x in below}


def _usual_potential(found: Assignment) -> float:
    """Return a potential of the extracted rows of equal pairs with which few other rows can be worth more to them.

    A row with a limit of 1 needs no look, and one with a high limit a short one.
    """
    rows, columns = (side[:: 1 + len(side) // _SAMPLE] for side in (found.rows, found.columns))
    candidates = sorted({0.0, *(min(max(1.0 - x, 0.0), 1.0) for x in rows), *(min(max(x, 0.0), 1.0) for x in columns)})

    def cost(t: float) -> float:
        gaps = [1.0 - x - t for x in rows] + [t - x for x in columns]
        return sum([_FIXED_COST + gap * gap for gap in gaps if gap > _ROUNDING])

    return min(candidates[:: 1 + len(candidates) // _CANDIDATES], key=cost)


def _limits(
    similarity: Similarity, same: Pairs, rows: Sequence[int], columns: Sequence[int], found: Assignment
) -> tuple[list[float], list[float]]:
    """Return between which potentials the extracted row of each equal pair may be, for the sake of all other rows."""
    least = _highest_by_column(similarity.matrix(rows, [j for _, j in same]), found.rows)
    most = [1.0 - x for x in _highest_by_row(similarity.matrix([i for i, _ in same], columns), found.columns)]
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


def _cells_above(matrix: Any, row_limits: Sequence[float], column_limits: Sequence[float]) -> Pairs:
    """Return the cells that are above the sum of their limits."""
    if not isinstance(matrix, list):
        return similarity_numpy.cells_above(matrix, row_limits, column_limits)
    limits = [limit + _ROUNDING for limit in column_limits]
    return [
        (i, j)
        for i, (row, own) in enumerate(zip(matrix, row_limits, strict=True))
        for j, (score, limit) in enumerate(zip(row, limits, strict=True))
        if score > own + limit
    ]


# --- rows as columns of values


class _TableSimilarity:
    """How alike encoded rows are; numpy where that pays, which gives the same floats."""

    def __init__(self, problem: EncodedTable, *, exact: bool) -> None:
        self._problem = problem
        self._exact = exact
        self._nested = any(column.contents is not None for column in problem.columns)
        # where rows are one text each, only those that are much alike are compared to the end
        self._texts = problem.columns[0] if len(problem.columns) == 1 and problem.columns[0].has_search else None
        self._cutoffs: dict[int, Sequence[float]] = {}  # of rows that were searched: those still to be tried
        everything = range(problem.height), range(problem.width)
        self.is_dear = not exact and self._are_long(*everything)
        self._scored: dict[tuple[int, int], float] = {}
        self._search: Callable[[int, float], dict[int, float]] | None = None

    @cached_property
    def _rough(self) -> EncodedTable:
        """The table with higher bounds of the values that would take long to compare."""
        rows = self._problem.height + self._problem.width
        columns = [
            column.rougher() if column.contents or (column.is_dear and 4 * len(column.values) > rows) else column
            for column in self._problem.columns
        ]
        return replace(self._problem, columns=columns)

    def matrix(self, rows: Sequence[int], columns: Sequence[int]) -> Any:
        if self._exact and self._nested:
            return [[score_of(self._problem, row, column) for column in columns] for row in rows]
        if self._texts is not None and not self._exact and self._are_long(rows, columns):
            self._search = self._texts.search([self._texts.extracted[column] for column in columns])
            return [self._searched_row(self._texts, self._search, row, columns) for row in rows]
        problem = self._rough if self._nested and len(rows) == len(columns) == 1 else self._problem
        return self._module(rows, columns).score_matrix(problem, rows, columns)

    def _are_long(self, rows: Sequence[int], columns: Sequence[int]) -> bool:
        """Whether it pays to compare a text with those only that may be much alike."""
        if self._texts is None or len(rows) * len(columns) < _FEW_TEXTS:
            return False
        texts = [str(self._texts.values[self._texts.gold[row]]) for row in rows[::8] if self._texts.gold[row] != ABSENT]
        return sum(map(len, texts)) > _LONG_TEXT * len(texts)

    def _module(self, rows: Sequence[int], columns: Sequence[int]) -> Any:
        work = len(rows) * len(columns) * max(1, len(self._problem.columns))
        if "numpy" in sys.modules:
            pays = work >= _NUMPY_PAYS_LOADED or max(len(rows), len(columns)) >= _NUMPY_PAYS_LONG
        else:
            pays = work >= _NUMPY_PAYS
        return similarity_numpy if pays and installed("numpy") else similarity_pure

    def _searched_row(
        self, texts: EncodedColumn, search: Callable[[int, float], dict[int, float]], row: int, columns: Sequence[int]
    ) -> list[float]:
        """Return the scores of a row with some columns; those below its next cutoff are that cutoff."""
        cutoff, *more = self._cutoffs.get(row, _CUTOFFS)
        self._cutoffs[row] = more or [0.0]
        code = texts.gold[row]
        scores = {} if code == ABSENT else search(code, cutoff)
        if code == ABSENT:
            scores, cutoff = {ABSENT: 1.0}, 0.0
        return [scores.get(texts.extracted[column], cutoff) for column in columns]

    def make_exact(self, rows: Sequence[int], columns: Sequence[int], scores: Any, pairs: Pairs) -> bool:
        if self._exact or not (self._nested or self._search):
            return False
        lower: set[int] = set()
        for i, j in pairs:
            place = rows[i], columns[j]
            score = self._scored.get(place)
            if score is None:
                score = self._scored[place] = score_of(self._problem, *place)
            if score < scores[i][j] - _ROUNDING:
                lower.add(i)
                scores[i][j] = score
        if self._texts is not None and self._search is not None:
            for i in lower:
                scores[i] = self._searched_row(self._texts, self._search, rows[i], columns)
        return bool(lower)

    def above(
        self,
        rows: Sequence[int],
        columns: Sequence[int],
        row_limits: Sequence[float],
        column_limits: Sequence[float],
    ) -> Pairs:
        # no score is above 1
        lowest = min(column_limits, default=1.0)
        few = [i for i, limit in enumerate(row_limits) if limit + lowest < 1.0 - _ROUNDING]
        lowest = min((row_limits[i] for i in few), default=1.0)
        kept = [j for j, limit in enumerate(column_limits) if limit + lowest < 1.0 - _ROUNDING]
        if not few or not kept:
            return []
        others = [columns[j] for j in kept]
        limits = [column_limits[j] for j in kept]
        if self._texts is not None:
            found = _search_above(self._texts, [rows[i] for i in few], others, [row_limits[i] for i in few], limits)
            return [(few[i], kept[j]) for i, j in found]
        found = []
        step = max(1, _CELLS_AT_ONCE // len(kept))
        for start in range(0, len(few), step):
            part = few[start : start + step]
            above = self._places_above([rows[i] for i in part], others, [row_limits[i] for i in part], limits)
            found += [(part[i], kept[j]) for i, j in above]
        return found

    def _places_above(
        self,
        rows: Sequence[int],
        columns: Sequence[int],
        row_limits: Sequence[float],
        column_limits: Sequence[float],
    ) -> Pairs:
        """Do it for a few rows: those for which rough bounds leave it open are scored."""
        module, rough = self._module(rows, columns), self._rough
        found = _cells_above(module.score_matrix(rough, rows, columns), row_limits, column_limits)
        if rough.columns == self._problem.columns or not found:
            return found
        own, others = sorted({i for i, _ in found}), sorted({j for _, j in found})
        if len(found) * _SINGLE_PAIR > len(own) * len(others):
            scores = module.score_matrix(self._problem, [rows[i] for i in own], [columns[j] for j in others])
            limits = [row_limits[i] for i in own], [column_limits[j] for j in others]
            return [(own[i], others[j]) for i, j in _cells_above(scores, *limits)]
        return [
            (i, j)
            for i, j in found
            if bound_of(self._problem, rows[i], columns[j]) > row_limits[i] + column_limits[j] + _ROUNDING
        ]


def _search_above(
    texts: EncodedColumn,
    rows: Sequence[int],
    columns: Sequence[int],
    row_limits: Sequence[float],
    column_limits: Sequence[float],
) -> Pairs:
    """Return the pairs of rows of one text, by their places, whose score is above the sum of their limits."""
    golds, others = [texts.gold[row] for row in rows], [texts.extracted[column] for column in columns]
    if len(rows) > len(columns):  # what has a search is symmetric
        return [(i, j) for j, i in _search(texts, others, golds, column_limits, row_limits)]
    return _search(texts, golds, others, row_limits, column_limits)


def _search(
    texts: EncodedColumn,
    ours: Sequence[int],
    theirs: Sequence[int],
    our_limits: Sequence[float],
    their_limits: Sequence[float],
) -> Pairs:
    places: dict[int, list[int]] = {}
    for j, code in enumerate(theirs):
        places.setdefault(code, []).append(j)
    search, lowest = texts.search([*places]), min(their_limits)
    found: Pairs = []
    for i, (code, limit) in enumerate(zip(ours, our_limits, strict=True)):
        scores = {ABSENT: 1.0} if code == ABSENT else search(code, max(0.0, limit + lowest))
        for other, score in scores.items():
            found += [(i, j) for j in places.get(other, ()) if score > limit + their_limits[j] + _ROUNDING]
    return found


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
    return objective_score(problem.objective, pair_sums(problem, row, other))


def pair_sums(problem: EncodedTable, row: int, other: int) -> PairScore:
    """Return the weighted sums over the leaves of a pair of rows."""
    parts = [(each.weight, _column_sums(each, each.gold[row], each.extracted[other])) for each in problem.columns]
    return _total(problem, row, other, parts)


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
    return objective_score(problem.objective, _total(problem, row, other, parts))


def _total(problem: EncodedTable, row: int, other: int, parts: Sequence[tuple[float, PairScore]]) -> PairScore:
    score = compared = 0.0
    omitted, hallucinated = problem.omitted[row], problem.hallucinated[other]
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
