"""Best assignment: pairs of rows whose summed score is highest."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from pytest_extract.core.engine.columns import Column

_ROUNDING: Final = 1e-12
_LEAST: Final = 1e-8
"""What two rows at opposite ends of their lists lose: less than any difference of scores that means something."""


def assign(scores: Any) -> list[tuple[int, int]]:
    """Return a best assignment of a matrix of scores, by row: a list of rows, or a two-dimensional numpy array."""
    if not len(scores) or not len(scores[0]):
        return []
    from scipy.optimize import linear_sum_assignment

    rows, columns = linear_sum_assignment(scores, maximize=True)
    return list(zip(rows.tolist(), columns.tolist(), strict=True))


def fitting_pairs(
    columns: Sequence[Column],
    height: int,
    width: int,
    *,
    known: Mapping[tuple[int, int], float] | None = None,
    places: tuple[Sequence[int], Sequence[int]] | None = None,
) -> list[tuple[int, int]]:
    """Return the best assignment of the pairs of rows that have anything in common.

    Scores are upper bounds at first. Those of the chosen pairs are made exact, with some of the next best ones of a row
    that scores less, and the assignment is repeated until it rests on exact scores: no other can be better.

    `known`: scores of pairs that the columns do not give. `places`: where the rows stand; of equally good assignments
    the one that keeps their order is taken. Without it, it is the one that scipy finds.
    """
    import numpy as np

    scores = _bounds(columns, height, width)
    exact = dict(known or {})
    for pair, score in exact.items():
        scores[pair] = score
    ours, theirs = (np.array(side, np.float64) for side in places or ((0,) * height, (0,) * width))
    most = max(height, width, *ours, *theirs)

    def lost(i: int, which: Any) -> Any:
        """Of pairs that cross, the squares add up to more than of those that do not."""
        steps = (theirs[which] - ours[i]) / most
        return _LEAST * steps * steps

    for i in range(height if places else 0):
        scores[i] -= lost(i, slice(None))

    def make_exact(i: int, j: int) -> bool:
        """Put the score of a pair in the place of its bound; whether it is lower."""
        if (i, j) in exact:
            return False
        fits = [column.fit(i, j) for column in columns]
        weight = sum(fit.weight for fit in fits)
        exact[i, j] = sum(fit.score for fit in fits) / weight if weight else 1.0
        bound, scores[i, j] = scores[i, j], exact[i, j] - lost(i, j)
        return bool(scores[i, j] < bound - _ROUNDING)

    are_bounds = not all(column.is_exact for column in columns)
    looks = 1
    while True:
        chosen = assign(scores)
        lowered = [i for i, j in chosen if are_bounds and make_exact(i, j)]
        if not lowered:
            return [(i, j) for i, j in chosen if scores[i, j] + lost(i, j) > _ROUNDING]
        looks *= 2
        for i in lowered:
            for j in np.argsort(scores[i])[-looks:].tolist():
                make_exact(i, j)


def _bounds(columns: Sequence[Column], height: int, width: int) -> Any:
    import numpy as np

    scores, weights = np.zeros((height, width)), np.zeros((1, 1))
    for column in columns:
        weights = weights + column.add_to(scores)
    scores += weights <= 0.0  # nothing is compared: 1.0
    scores /= np.where(weights > 0.0, weights, 1.0)
    return scores
