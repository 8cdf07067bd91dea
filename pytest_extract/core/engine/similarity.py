"""Scores of all pairs of two lists of rows, as the walk gives them: upper bounds at first, where that is faster."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from heapq import nlargest
from typing import Any, Final, Self

from pytest_extract.core.compile.nodes import Node, Object
from pytest_extract.core.engine.assignment import MOST_CELLS
from pytest_extract.core.engine.columns import (
    Column,
    MetricColumn,
    column_of,
    columns_of,
    has_invented_keys,
    pair_fit,
)
from pytest_extract.core.engine.context import Fit, Path, ScoringContext, equal
from pytest_extract.core.metrics.base import BoundMetric
from pytest_extract.core.results import STRUCTURE
from pytest_extract.core.values import MISSING, Json

_ROUNDING: Final = 1e-12
_NEARLY: Final = 0.9


class Similarity:
    """Upper bounds of the scores of all pairs of rows, to be made exact one by one.

    `scores`: a list of rows, or a numpy array.
    """

    def __init__(
        self,
        columns: Sequence[Column],
        height: int,
        width: int,
        odd: tuple[Iterable[int], Iterable[int]] = ((), ()),
        fit_odd: Callable[[int, int], Fit] | None = None,
    ) -> None:
        """`odd`: rows of either side that no columns hold; `fit_odd` says how well a pair with one of them fits."""
        self._columns = columns
        self._odd = frozenset(odd[0]), frozenset(odd[1])
        self._fit_odd = fit_odd
        self._exact: set[tuple[int, int]] = set()
        self._is_exact = all(column.is_exact for column in columns)
        self._looks = 1
        self._texts = next((one for one in columns if isinstance(one, MetricColumn) and len(columns) == 1), None)
        self._cut: set[int] = set()  # rows whose scores are told as `_NEARLY` where they are lower
        if height * width <= MOST_CELLS:
            self.scores: Any = self._few(height, width)
        elif self._texts is not None and self._texts.has_long_texts:
            self._cut = {*range(height)}
            self.scores = _many(columns, height, width, _NEARLY)
        else:
            self.scores = _many(columns, height, width)
        for i in range(height):
            for j in range(width) if i in self._odd[0] else self._odd[1]:
                self.scores[i][j] = self._fit(i, j).share

    @classmethod
    def of_rows(
        cls, run: ScoringContext, node: Node, gold: Sequence[Json], extracted: Sequence[Json], places: Sequence[Path]
    ) -> Self:
        """Compare rows that one node scores."""
        height, width = len(gold), len(extracted)
        ruled = run.is_ruled(node)
        if not isinstance(node, Object) or node.checks or node.groups:
            return cls([column_of(run, node, gold, extracted, places)], height, width)
        odd = tuple([place for place, row in enumerate(side) if _is_odd(run, node, row)] for side in (gold, extracted))
        sides = [[row if type(row) is dict else MISSING for row in side] for side in (gold, extracted)]
        columns = columns_of(run, node, sides[0], sides[1], places)
        others = [[MISSING if type(row) is dict or row is None else row for row in side] for side in (gold, extracted)]
        if any(row is not MISSING for side in others for row in side):  # no objects: right only against equal ones
            same = BoundMetric(name=STRUCTURE, compare=lambda one, other: float(equal(run, one, other)))
            columns.append(MetricColumn(others[0], others[1], same, f1=run.f1))

        def fit_odd(i: int, j: int) -> Fit:
            return pair_fit(run, node, gold[i], extracted[j], places[i] if ruled else ())

        return cls(columns, height, width, (odd[0], odd[1]), fit_odd)

    def make_exact(self, i: int, j: int) -> bool:
        """Put the score of a pair in the place of its bound; whether it is lower."""
        if self._is_exact or (i, j) in self._exact:
            return False
        self._exact.add((i, j))
        bound, self.scores[i][j] = self.scores[i][j], self._fit(i, j).share
        return bool(self.scores[i][j] < bound - _ROUNDING)

    def sharpen(self, rows: Sequence[int]) -> None:
        """Lower the bounds of rows that score less than they seemed to, a wider look each time."""
        cut = [i for i in rows if i in self._cut]
        if cut and self._texts is not None:
            self._cut.difference_update(cut)
            self._exact = {pair for pair in self._exact if pair[0] in self._cut}
            self.scores[cut] = _many([self._texts.only(cut)], len(cut), len(self._texts.extracted))
            return
        self._looks *= 2
        for i in rows:
            for j in nlargest(self._looks, range(len(self.scores[i])), key=self.scores[i].__getitem__):
                self.make_exact(i, j)

    def score(self, i: int, j: int) -> float:
        """Return what a pair scores."""
        self.make_exact(i, j)
        return float(self.scores[i][j])

    def _fit(self, i: int, j: int) -> Fit:
        if self._fit_odd is not None and (i in self._odd[0] or j in self._odd[1]):
            return self._fit_odd(i, j)
        return _sum(column.fit(i, j) for column in self._columns)

    def _few(self, height: int, width: int) -> list[list[float]]:
        columns = self._columns
        return [[_sum(column.bound(i, j) for column in columns).share for j in range(width)] for i in range(height)]


def _many(columns: Sequence[Column], height: int, width: int, least: float = 0.0) -> Any:
    """Return the bounds of all pairs at once, as a numpy array; those below `least` may be told as that."""
    import numpy as np

    scores, weights = np.zeros((height, width)), np.zeros((1, 1))
    for column in columns:
        weights = weights + column.add_to(scores, least)
    scores += weights <= 0.0  # nothing is compared: 1.0
    scores /= np.where(weights > 0.0, weights, 1.0)
    return scores


def _is_odd(run: ScoringContext, obj: Object, row: Json) -> bool:
    """Whether more than its properties says how a row is scored: `{}` against null, a reading of all of it."""
    return run.is_ruled_itself(obj) or (type(row) is dict and (not row or has_invented_keys(obj, row)))


def _sum(fits: Iterable[Fit]) -> Fit:
    score = weight = 0.0
    for own, its_weight, _ in fits:
        score += own
        weight += its_weight
    return Fit(score, weight)
