"""Best fit: pair the rows of two lists so that the summed score is highest. Bound, solve, make exact, repeat.

1. Equal rows are paired, in order.
2. The other rows are assigned by upper bounds of their scores; the pairs chosen are scored exactly, and the assignment
   is repeated with their scores as long as one falls below its bound.
3. The potentials of that assignment show which equal rows may be worth more apart. Those join the other rows, and 2 is
   repeated; after a few rounds all rows are assigned at once.

Lemma 1: let `bounds >= scores` for every pair of rows, and equal on the pairs of an assignment that is best by the
bounds. It is best by the scores: any other sums to no more by its scores than by its bounds, so to no more than this.

Lemma 2 (duality of linear programming): an assignment is best where every row has a potential such that those of any
two rows sum to their score at least, to exactly it on the pairs, and are 0 for a row without a partner, never less on
the longer side. The other rows have theirs from their own assignment. Two equal rows score 1, the most that rows can
score: theirs are 1 - t and t, and with one t for all of them, they sum to enough with each other.

Lemma 3: two equal rows, b, are never worth more apart under "mean" where columns compared by equality, in which b's
value comes once on either side, weigh as much as all columns may break the triangle inequality (`BoundMetric.detour`).
Let i and j be the rows that another assignment pairs with them. In each column 1 - score is a distance, absence being
one more value at distance 1 from all others. By way of b, the weights lost add up to those that i and j lose together,
less what columns break, plus each column with such a value, plus each field that only b has. The latter also adds its
weight to what the losses are divided by, which makes no share of it smaller. So b with b, and i with j, lose no more.

Of the other equal rows, a row needs no look where all that it could share with them, column by column, is no more than
its potential and theirs. Most rows share too little.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from functools import cached_property, partial
from itertools import chain
from typing import Any, TypeAlias

from pytest_extract.core.matching import similarity_numpy, similarity_pure
from pytest_extract.core.matching.assignment import Assignment, best_assignment, installed
from pytest_extract.core.matching.columns import Column, Objective, PairScore, objective_score
from pytest_extract.core.matching.encoding import (
    ABSENT,
    EncodedColumn,
    EncodedTable,
    Pairs,
    encode_problem,
    perfect,
    row_codes,
)
from pytest_extract.core.matching.pairing import pair_equal, paired
from pytest_extract.core.matching.ties import equal_in_order, in_order
from pytest_extract.core.results import Pairing

PUBLISHED_LIMIT = 2_500
"""Cells up to which struct-extract-eval's program aligns, so that its choice among equals can be the same."""
_NUMPY_PAYS = 200_000  # cells times columns from which importing numpy costs less than doing without
_NUMPY_PAYS_LOADED = 5_000
_NUMPY_PAYS_LONG = 200  # rows or columns
_ROUNDS = 4
_PAYS = 0.7  # share of all cells that may be looked at for the sake of equal rows
_ROUNDING = 1e-12
_LONG_TEXT = 64  # characters
_FEW_TEXTS = 400  # pairs of long texts that are compared at once
_CUTOFFS = (0.9, 0.7, 0.0)
_CELLS_AT_ONCE = 2_000_000
_FEW_CELLS = 20_000  # between equal and other rows: all are looked at
Search: TypeAlias = Callable[[int, float], list[tuple[list[int], float]]]


# --- the algorithm


def best_fit(columns: Sequence[Column], height: int, width: int, *, objective: Objective) -> Pairing:
    """Pair `height` gold rows with `width` extracted rows so that the summed pair score is highest.

    A pair's score is the weighted mean of its leaf scores ("mean") or its F1 ("f1"); 1.0 where nothing is scorable.
    Pairs of score 0 are undone. Equal rows are paired in order where the sum stays highest. Among equal
    assignments the choice is scipy's under "f1", as in struct-extract-eval, and rows keep their order under "mean".
    There is no size limit; memory is 8 bytes a cell, and some blocks of bounded size.
    Nested values with `contents` are scored in full only where a pair of rows may be worth it.
    """
    if not height or not width:
        return paired([], height, width)
    if height == width and objective == "mean":
        same = pair_all_equal(columns, height)
        if same is not None:
            return paired(same, height, width)
    similarity = Similarity(encode_problem(columns, height, width, objective))
    pairs = fit(similarity)
    return paired(ordered(similarity, pairs) if objective == "mean" else pairs, height, width)


def fit(similarity: Similarity) -> Pairs:
    """Return the pairs of a best fit, without those of score 0."""
    problem = similarity.problem
    rows, columns = range(problem.height), range(problem.width)
    if problem.objective == "f1" and problem.height * problem.width <= PUBLISHED_LIMIT:
        # every pair is scored, so that ties fall as in the published program
        scores = [[similarity.score(row, column) for column in columns] for row in rows]
        return [(i, j) for i, j in best_assignment(scores).pairs if scores[i][j] > 0.0]
    equal, left, others = _pair_equal_rows(similarity)
    if not left or not others:
        return [*equal]
    kept, unsure = _never_apart(problem, [*equal])
    return sorted([*kept, *fit_rows(similarity, unsure, left, others)])


def _never_apart(problem: EncodedTable, same: Pairs) -> tuple[Pairs, Pairs]:
    """Return the equal pairs that lemma 3 keeps together, and the others."""
    most = sum([column.weight * column.detour for column in problem.columns if column.weight])
    exact = [column for column in problem.columns if column.equality]
    if problem.objective != "mean" or most > sum([column.weight for column in exact]):
        return [], same
    unique = [0.0] * len(same)
    for column in sorted(exact, key=lambda column: -len(column.values)):
        if min(unique, default=most) >= most:
            return same, []
        times = Counter(chain(column.gold, column.extracted))  # 2: once on either side
        codes = map(column.gold.__getitem__, [i for i, _ in same])
        unique = [weight + column.weight * (times[code] == 2) for weight, code in zip(unique, codes, strict=True)]
    pairs = [*zip(same, unique, strict=True)]
    return [pair for pair, weight in pairs if weight >= most], [pair for pair, weight in pairs if weight < most]


def fit_rows(similarity: Similarity, same: Pairs, rows: Sequence[int], columns: Sequence[int]) -> Pairs:
    """Return a best fit without pairs of score 0; `same`: pairs of equal rows, `rows`, `columns`: all other rows."""
    for _ in range(_ROUNDS):
        cells = (len(rows) + len(same)) * (len(columns) + len(same))
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
    return assign_rows(similarity, sorted([*rows, *(i for i, _ in same)]), sorted([*columns, *(j for _, j in same)]))[0]


def assign_rows(
    similarity: Similarity, rows: Sequence[int], columns: Sequence[int], *, potentials: bool = False
) -> tuple[Pairs, Assignment]:
    """Assign rows by upper bounds, which scores replace until none that is chosen is lower (lemma 1)."""
    scores = similarity.bounds(rows, columns)
    found = best_assignment(scores, potentials=potentials)
    while similarity.make_exact(rows, columns, scores, found.pairs):
        found = best_assignment(scores, potentials=potentials)
    return [(rows[i], columns[j]) for i, j in found.pairs if scores[i][j] > 0.0], found


def _worth_more_apart(
    similarity: Similarity, same: Pairs, rows: Sequence[int], columns: Sequence[int], found: Assignment
) -> set[int] | None:
    """Return the equal pairs that have no potentials as lemma 2 asks; None where finding out is too dear."""
    size = len(same)
    usual = 0.0
    unsure = {*range(size)}
    if similarity.searches or similarity.bounded or size * (len(rows) + len(columns)) > _FEW_CELLS:
        usual, unsure = _reached(similarity, same, rows, columns, found)
        if not unsure:
            return set()
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
    golds, others = [i for i, _ in same], [j for _, j in same]
    potentials = [chosen.get(x, usual) for x in range(size)]
    raised = [x for x, t in chosen.items() if t > usual]
    lowered = [x for x, t in chosen.items() if t < usual]
    above = similarity.above([golds[x] for x in raised], others, [1.0 - chosen[x] for x in raised], potentials)
    below = similarity.above(
        golds, [others[x] for x in lowered], [1.0 - t for t in potentials], [chosen[x] for x in lowered]
    )
    return {raised[x] for x, _ in above} | {lowered[x] for _, x in below}


def _reached(
    similarity: Similarity, same: Pairs, rows: Sequence[int], columns: Sequence[int], found: Assignment
) -> tuple[float, set[int]]:
    """Return a potential for the extracted rows of equal pairs, and the pairs for which it is not enough."""
    golds, others = [i for i, _ in same], [j for _, j in same]
    # the t that each of gold's rows asks for at most, and the 1 - t that each extracted row does
    ours, theirs = similarity.reach(rows, columns, same)
    ours = [most - x - _ROUNDING for most, x in zip(ours, found.rows, strict=True)]
    theirs = [most - x - _ROUNDING for most, x in zip(theirs, found.columns, strict=True)]
    # all rows that ask for more are looked at; with a half, where potentials start, it is often those of one side only
    middle = min(1.0, max(0.0, (max(ours) + 1.0 - max(theirs)) / 2))
    t = min(0.5, middle, key=lambda t: sum([x > t for x in ours]) + sum([x > 1.0 - t for x in theirs]))
    far = [i for i, x in enumerate(ours) if x > t]
    above = similarity.above([rows[i] for i in far], others, [found.rows[i] for i in far], [t] * len(same))
    far = [j for j, x in enumerate(theirs) if x > 1.0 - t]
    below = similarity.above(golds, [columns[j] for j in far], [1.0 - t] * len(same), [found.columns[j] for j in far])
    return t, {x for _, x in above} | {x for x, _ in below}


def _limits(
    similarity: Similarity, same: Pairs, rows: Sequence[int], columns: Sequence[int], found: Assignment
) -> tuple[list[float], list[float]]:
    """Return between which potentials the extracted row of each equal pair may be, for the sake of all other rows."""
    to_rows = similarity.bounds(rows, [j for _, j in same])
    least = _highest([*zip(*to_rows, strict=True)] if isinstance(to_rows, list) else to_rows.T, found.rows)
    most = [1.0 - x for x in _highest(similarity.bounds([i for i, _ in same], columns), found.columns)]
    # the longer side may have rows without a partner, at a potential of 0: none of its own is below
    if len(rows) < len(columns):
        least = [max(x, 0.0) for x in least]
    elif len(rows) > len(columns):
        most = [min(x, 1.0) for x in most]
    return least, most


def _highest(matrix: Any, potentials: Sequence[float]) -> list[float]:
    """Return, for each row, the highest score - potentials[column]."""
    if not isinstance(matrix, list):
        return similarity_numpy.highest(matrix, potentials)
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


# --- how alike rows are


class Similarity:
    """How alike encoded rows are; numpy where that pays, which gives the same floats."""

    def __init__(self, problem: EncodedTable) -> None:
        self.problem = problem
        self.bounded = any(column.bounded for column in problem.columns)
        # where rows are one text each, only those that are much alike are compared to the end
        self._texts = problem.columns[0] if len(problem.columns) == 1 and problem.columns[0].has_search else None
        self._cutoffs: dict[int, Sequence[float]] = {}  # of rows that were searched: those still to be tried
        self._search: Search | None = None
        self._scored: dict[tuple[int, int], float] = {}
        # the scores of some rows, where they are no bounds, and their places
        self._known: tuple[Any, dict[int, int], dict[int, int]] = [], {}, {}

    @cached_property
    def searches(self) -> bool:
        """Whether rows above a limit are found without a look at all of them."""
        everything = range(self.problem.height), range(self.problem.width)
        return self._texts is not None and self._are_long(self._texts, *everything)

    @cached_property
    def row_codes(self) -> tuple[list[int], list[int]]:
        """Numbers of gold's and of the extracted rows, the same for rows that are equal."""
        return row_codes(self.problem)

    def score(self, row: int, other: int) -> float:
        """Return what a pair of rows scores."""
        matrix, rows, columns = self._known
        if row in rows and other in columns:
            return float(matrix[rows[row]][columns[other]])
        found = self._scored.get((row, other))
        if found is None:
            found = self._scored[row, other] = self._summed(row, other, EncodedColumn.sums)
        return found

    def bound(self, row: int, other: int) -> float:
        """Return what a pair of rows scores at most, where that is cheaper to find."""
        sums = partial(EncodedColumn.parts, objective=self.problem.objective)
        return self._summed(row, other, sums) if self.bounded else 1.0

    def _summed(self, row: int, other: int, sums: Callable[[EncodedColumn, int, int], PairScore]) -> float:
        score = compared = omitted = hallucinated = 0.0
        for column in self.problem.columns:
            part = sums(column, column.gold[row], column.extracted[other])
            score += column.weight * part.score
            compared += column.weight * part.compared
            omitted += column.weight * part.omitted
            hallucinated += column.weight * part.hallucinated
        return objective_score(self.problem.objective, PairScore(score, compared, omitted, hallucinated))

    def bounds(self, rows: Sequence[int], columns: Sequence[int]) -> Any:
        """Return upper bounds of the scores of some rows: a list of sequences, or a numpy array."""
        if self.bounded and len(rows) == len(columns) == 1:
            return [[self.score(rows[0], columns[0])]]
        if self._texts is not None and self._are_long(self._texts, rows, columns):
            self._search = self._texts.search([self._texts.extracted[column] for column in columns])
            return [self._searched_row(self._search, self._texts.gold[row], row, columns) for row in rows]
        return self._module(rows, columns).score_matrix(self.problem, rows, columns)

    def _are_long(self, texts: EncodedColumn, rows: Sequence[int], columns: Sequence[int]) -> bool:
        """Whether it pays to compare a text with those only that may be much alike."""
        if len(rows) * len(columns) < _FEW_TEXTS:
            return False
        some = [str(texts.values[texts.gold[row]]) for row in rows[::8] if texts.gold[row] != ABSENT]
        return sum(map(len, some)) > _LONG_TEXT * len(some)

    def _module(self, rows: Sequence[int], columns: Sequence[int]) -> Any:
        work = len(rows) * len(columns) * max(1, len(self.problem.columns))
        if "numpy" in sys.modules:
            pays = work >= _NUMPY_PAYS_LOADED or max(len(rows), len(columns)) >= _NUMPY_PAYS_LONG
        else:
            pays = work >= _NUMPY_PAYS
        return similarity_numpy if pays and installed("numpy") else similarity_pure

    def _searched_row(self, search: Search, code: int, row: int, columns: Sequence[int]) -> list[float]:
        """Return bounds of a row's scores with all that were searched; those below its next cutoff are that cutoff."""
        cutoff, *more = self._cutoffs.get(row, _CUTOFFS)
        self._cutoffs[row] = more or [0.0]
        scores = [0.0 if code == ABSENT else cutoff] * len(columns)
        for places, score in search(code, cutoff):
            for place in places:
                scores[place] = self._scored.get((row, columns[place]), score)
        return scores

    def make_exact(self, rows: Sequence[int], columns: Sequence[int], scores: Any, pairs: Pairs) -> bool:
        """Put the scores of chosen pairs (places in the matrix) in the place of their bounds; whether one is lower."""
        if not (self.bounded or self._search):
            self._known = scores, *({x: place for place, x in enumerate(side)} for side in (rows, columns))
            return False
        lower: set[int] = set()
        for i, j in pairs:
            score = self.score(rows[i], columns[j])
            if score < scores[i][j] - _ROUNDING:
                lower.add(i)
                scores[i][j] = score
        if self._texts is not None and self._search is not None:
            for i in lower:
                scores[i] = self._searched_row(self._search, self._texts.gold[rows[i]], rows[i], columns)
        return bool(lower)

    def reach(self, rows: Sequence[int], columns: Sequence[int], same: Pairs) -> tuple[list[float], list[float]]:
        """Return what gold rows, and what extracted ones, score at most with a row of equal pairs, column by column."""
        if any(column.pair is not None and column.contents is None for column in self.problem.columns):
            return [1.0] * len(rows), [1.0] * len(columns)
        golds = [i for i, _ in same]
        equal = [{*map(column.gold.__getitem__, golds)} - {ABSENT} for column in self.problem.columns]
        return self._reach(rows, equal, gold=True), self._reach(columns, equal, gold=False)

    def _reach(self, rows: Sequence[int], equal: Sequence[set[int]], *, gold: bool) -> list[float]:
        scores, weights = [0.0] * len(rows), [0.0] * len(rows)
        for column, codes in zip(self.problem.columns, equal, strict=True):
            own = [*map((column.gold if gold else column.extracted).__getitem__, rows)]
            most = column.most({*own} - {ABSENT}, codes, gold=gold)
            scores = [score + column.weight * most.get(code, 0.0) for score, code in zip(scores, own, strict=True)]
            if column.contents is None:
                weights = [weight + column.weight * (code != ABSENT) for weight, code in zip(weights, own, strict=True)]
            else:
                counted = [column.weight * max(column.floor(code), most.get(code, 0.0)) for code in own]
                weights = [weight + counts for weight, counts in zip(weights, counted, strict=True)]
        if self.problem.objective == "f1":
            weights = [(weight + score) / 2 for weight, score in zip(weights, scores, strict=True)]
        return [min(1.0, score / weight) if weight else 1.0 for score, weight in zip(scores, weights, strict=True)]

    def above(
        self, rows: Sequence[int], columns: Sequence[int], row_limits: Sequence[float], column_limits: Sequence[float]
    ) -> Pairs:
        """Return the pairs, by their places, whose score may be above the sum of their limits."""
        if not rows or not columns:
            return []
        if self._texts is not None:
            return _search_above(self._texts, rows, columns, row_limits, column_limits)
        found: Pairs = []
        step = max(1, _CELLS_AT_ONCE // len(columns))
        for start in range(0, len(rows), step):
            matrix = self.bounds(rows[start : start + step], columns)
            cells = _cells_above(matrix, row_limits[start : start + step], column_limits)
            found += [(start + i, j) for i, j in cells]
        return found


def _search_above(
    texts: EncodedColumn,
    rows: Sequence[int],
    columns: Sequence[int],
    row_limits: Sequence[float],
    column_limits: Sequence[float],
) -> Pairs:
    """Return the pairs of rows of one text, by their places, whose score may be above the sum of their limits."""
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
    search, lowest = texts.search(theirs), min(their_limits)
    found: Pairs = []
    for i, (code, limit) in enumerate(zip(ours, our_limits, strict=True)):
        if limit + lowest < 0.0:  # any score is above that, and not all of 0 are found
            found += [(i, j) for j, other in enumerate(their_limits) if limit + other < 0.0]
        for places, score in search(code, min(1.0, max(0.0, limit + lowest))):
            found += [(i, j) for j in places if score > limit + their_limits[j] + _ROUNDING]
    return found


def ordered(similarity: Similarity, pairs: Pairs) -> Pairs:
    """Return a pairing as good as this one, in which rows keep their order as far as that goes.

    Equal rows stay together; which of several equal ones these are goes by their order.
    """
    ours, theirs = similarity.row_codes
    pairs = equal_in_order(pairs, ours, theirs)
    unlike = [(i, j) for i, j in pairs if ours[i] != theirs[j]]
    moved = in_order(unlike, similarity.score, similarity.bound)
    return pairs if moved == unlike else sorted({**dict(pairs), **dict(moved)}.items())


def _pair_equal_rows(similarity: Similarity) -> Pairing:
    """Pair equal rows in order, as far as they score 1."""
    problem, found = similarity.problem, pair_equal(*similarity.row_codes)
    if all(column.reflexive for column in problem.columns):
        return found
    return paired([pair for pair in found.pairs if perfect(problem, pair[0])], problem.height, problem.width)


# --- the same rows in another order


def pair_all_equal(columns: Sequence[Column], length: int) -> Pairs | None:
    """Pair two lists of this length row by row where they hold the same rows, equal ones in order; else None.

    Equal means the same JSON of the same types. None too where a metric does not find every value equal to itself.
    A list in another order takes half the time with this look at it, before any value is encoded.
    """
    sides: tuple[list[Sequence[Hashable]], list[Sequence[Hashable]]] = [], []
    for column in columns:
        if column.contents is None and not (column.metric and column.metric.reflexive):
            return None
        values = column.keys()
        if {*values[0]} != {*values[1]}:
            return None
        for side, own in zip(sides, values, strict=True):
            side.append(own)
    pairs = pair_equal(*([*zip(*side, strict=True)] if side else [()] * length for side in sides)).pairs
    return [*pairs] if len(pairs) == length else None
