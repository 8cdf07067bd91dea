"""Rows with lists in them that stand in their places, each with its partner: the usual list with a few mistakes.

The rows are scored where they stand, and no other pairing is tried where this one proves to be the best.

Lemma: let `bounds >= scores` for every pair of rows, and equal where rows stand in their places. If rows in their
places are a best assignment by the bounds, they are one by the scores (`matching.fit`, lemma 1).

A score is at most (m - d) / n: two rows whose leaves weigh m and n, m <= n, match in m at most, and not in the leaves
of weight d that they cannot share: of each property that is compared by equality, the values that not both have.
"""

from __future__ import annotations

import marshal
from collections.abc import Mapping, Sequence
from itertools import chain
from math import fsum
from operator import ne
from typing import Final

from pytest_extract.core.compile.nodes import Array, Object
from pytest_extract.core.engine.contents import ContentReader, IrregularError
from pytest_extract.core.engine.context import ScoringContext
from pytest_extract.core.engine.table import LikelyPairing, Walked, identity
from pytest_extract.core.matching.assignment import best_assignment
from pytest_extract.core.matching.columns import LeafColumn
from pytest_extract.core.results import Pairing
from pytest_extract.core.values import MARSHAL_VERSION, Json

MOST_BOUNDS: Final = 400
"""Pairs with an unlike row up to which their bounds pay."""
_ROUNDING: Final = 1e-12
_new: Final = tuple.__new__


def likely_in_place(
    run: ScoringContext, array: Array, gold: Sequence[Json], extracted: Sequence[Json]
) -> LikelyPairing | None:
    """Return the pairing of rows in their places, where that is likely the best one."""
    items, unlike = array.items, unlike_rows(run, array, gold, extracted)
    if not unlike or not isinstance(items, Object):
        return None
    alike = _are_alike(gold) or _are_alike(extracted)
    rows = None if alike else rows_in_place(run, items, gold, extracted, unlike)
    if not alike and (rows is None or not rows.is_likely()):
        return None
    found = _new(Pairing, (identity(len(gold)), (), ()))

    def is_best(walked: Walked) -> bool:
        scores = {row: 1.0 - lost for row, lost in walked.lost.items()}
        # 1 and true are equal for Python, but not when they are scored
        return walked.pairing == found and scores.keys() <= {*unlike} and (rows is None or rows.is_best(scores))

    return _new(LikelyPairing, (found, None, is_best))


def unlike_rows(
    run: ScoringContext, array: Array, gold: Sequence[Json], extracted: Sequence[Json]
) -> Sequence[int] | None:
    """Return the rows that differ from their partners; None if nothing is proved of them."""
    if len(gold) != len(extracted) or array.prefix or array.checks or run.accept or run.absent_rules:
        return None
    try:
        unlike = [index for index, differs in enumerate(map(ne, gold, extracted)) if differs]
    except RecursionError:
        return None
    few = len(unlike) == 1 or len(unlike) * len(gold) <= MOST_BOUNDS
    return unlike if few else None


def _are_alike(rows: Sequence[Json]) -> bool:
    """Whether all rows hold the same, so that one pairing with other rows is as good as another."""
    try:
        first = marshal.dumps(rows[0], MARSHAL_VERSION)
        return all(marshal.dumps(row, MARSHAL_VERSION) == first for row in rows[1:])
    except ValueError:  # nested too deep
        return False


class RowsInPlace:
    """Rows in their places, and `bounds`: what each row of gold scores at most with each extracted row.

    With each property that is looked at, they come closer to the scores.
    """

    def __init__(self, unlike: Sequence[int], columns: Sequence[tuple[LeafColumn, LeafColumn]], height: int) -> None:
        self.unlike = unlike
        weights = [0.0] * (height + len(unlike))
        for one, other in columns:
            sizes = chain(one.sizes, other.sizes)
            weights = [weight + one.weight * size for weight, size in zip(weights, sizes, strict=True)]
        # the last are the cheapest to look at
        self._columns = sorted([pair for pair in columns if pair[0].exact], key=_size, reverse=True)
        place_of = {row: place for place, row in enumerate(unlike, height)}
        self._places = [(row, column) for row in range(height) for column in unlike]
        self._places += [(row, column) for row in unlike for column in range(height) if column not in place_of]
        # the rows of each of these pairs, the most that they match in, and what counts
        self._pairs = [(row, place_of.get(column, column)) for row, column in self._places]
        self._most = [min(weights[one], weights[other]) for one, other in self._pairs]
        self._weights = [max(weights[one], weights[other]) for one, other in self._pairs]
        self.bounds = [[1.0] * height for _ in range(height)]

    def is_likely(self) -> bool:
        """Whether every row is more like its partner than like another one, or in place as good as elsewhere."""
        while not self._prefer_partners():
            if not self.tighten():
                unlike, bounds = self.unlike, self.bounds
                alike = any(bounds[one][other] >= 1.0 for one in unlike for other in unlike if one != other)
                return not alike and self._is_best()
        return True

    def is_best(self, scores: Mapping[int, float]) -> bool:
        """Whether no pairing is better, given the scores of unlike rows in their places."""
        while True:
            for row, score in scores.items():
                self.bounds[row][row] = score
            if self._is_best():
                return True
            if not self.tighten():
                return False

    def _is_best(self) -> bool:
        best = fsum([self.bounds[row][column] for row, column in best_assignment(self.bounds).pairs])
        return best <= fsum([row[index] for index, row in enumerate(self.bounds)]) + _ROUNDING

    def _prefer_partners(self) -> bool:
        bounds = self.bounds
        return all(
            row == column or bounds[row][column] < min(bounds[row][row], bounds[column][column])
            for row, column in self._places
        )

    def tighten(self) -> bool:
        """Lower the bounds by a look at one more property; False if there is none."""
        if not self._columns:
            return False
        ours, theirs = self._columns.pop()
        bags = [column.bag(row) for column in (ours, theirs) for row in range(len(column.sizes))]
        self._most = [
            most - ours.weight * (min(len(bags[one]), len(bags[other])) - len(bags[one] & bags[other]))
            for most, (one, other) in zip(self._most, self._pairs, strict=True)
        ]
        for (row, other), most, weight in zip(self._places, self._most, self._weights, strict=True):
            self.bounds[row][other] = most / weight if weight else 1.0
        return True


def rows_in_place(
    run: ScoringContext, items: Object, gold: Sequence[Json], extracted: Sequence[Json], unlike: Sequence[int]
) -> RowsInPlace | None:
    """Lay out rows; None where they are not scored leaf by leaf, or a judge scores some of them."""
    ours, theirs = ContentReader(run, gold=True), ContentReader(run, gold=False)
    try:
        ours.read(items, gold, range(len(gold) + 1))
        theirs.read(items, [extracted[row] for row in unlike], range(len(unlike) + 1))
    except IrregularError:
        return None
    if ours.judged or theirs.judged:
        return None
    return RowsInPlace(unlike, [*zip(ours.columns, theirs.columns, strict=True)], len(gold))


def _size(columns: tuple[LeafColumn, LeafColumn]) -> int:
    return sum(columns[0].sizes)
