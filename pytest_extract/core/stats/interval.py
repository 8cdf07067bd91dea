"""How large a change may be: the interval of the permutation test, and a bound of the drop from few cases."""

from __future__ import annotations

import math
import random
import statistics
from collections.abc import Sequence
from typing import Final

from pytest_extract.core.stats.permutation import SEED, Arrangements, LaterRuns, Runs, Statistic
from pytest_extract.lazy import dataclass

RESAMPLES: Final = 2000


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """Mean change over cases (after - before), its two-sided interval, and the one-sided upper bound of the drop.

    All in the unit of the differences. `low` and `high` enclose the change at `interval`: the changes that the
    permutation test does not reject (infinite where so few cases reject none). `worst` is at `confidence`.
    """

    change: float
    low: float
    high: float
    interval: float
    worst: float
    confidence: float


def drop_bounds(
    differences: Sequence[float],
    *,
    unseen_loss: float,
    confidence: float = 0.95,
    resamples: int = RESAMPLES,
    seed: int = SEED,
) -> Bounds:
    """Bounds of the mean of one difference a case, from one run on each side.

    The interval inverts the sign-flip test, half of 1 - `confidence` on either side. Raises ValueError on an empty
    sample. See `unseen_drop_bound` for `worst`.
    """
    if not differences:
        raise ValueError("no case to resample")
    values = [float(value) for value in differences]
    arrangements = Arrangements([(1, 1)] * len(values), seed=seed)
    later, losses = LaterRuns(arrangements.shapes), Statistic([Runs((value,), (0.0,)) for value in values])
    for case, lanes in enumerate(arrangements):
        later.take(case, lanes)
        losses.take(case, lanes)
    losses.finish()
    limits = later.limits(losses, arrangements.lanes)
    most = arrangements.most((1 - confidence) / 2)
    worst = unseen_drop_bound(values, unseen_loss=unseen_loss, confidence=confidence, resamples=resamples, seed=seed)
    return Bounds(
        change=math.fsum(values) / len(values),
        low=-limits.upper(most),
        high=-limits.lower(most),
        interval=confidence,
        worst=worst,
        confidence=confidence,
    )


_MANY: Final = 5_000  # cases from which on the mean of a resample is taken for normal


def unseen_drop_bound(
    differences: Sequence[float],
    *,
    unseen_loss: float,
    confidence: float = 0.95,
    resamples: int = RESAMPLES,
    seed: int = SEED,
) -> float:
    """Return the upper bound of the mean drop that few cases cannot make small, at least 0.

    Bootstrap of one difference a case: whole cases are drawn, so fields of a case may hang together. One more case is
    put into the sample: one that lost `unseen_loss` (or the largest change seen, if that is larger). Without it, twenty
    equal cases, or three, would prove that nothing ever drops. With it and no change at all, n cases bound the drop by
    about 3 `unseen_loss` / (n + 1) at 95 %: the rule of three. Beyond 1,000 cases fewer resamples are drawn (400 at
    least), beyond 5,000 the mean is taken for normal.
    Source: Efron (1979); Hanley and Lippman-Hand (1983) for the rule of three.
    """
    values = [float(value) for value in differences]
    values.append(-max([unseen_loss, *map(abs, values)]))
    if len(values) > _MANY:
        reach = statistics.NormalDist().inv_cdf(confidence) * statistics.pstdev(values) / math.sqrt(len(values))
        return max(0.0, reach - math.fsum(values) / len(values))
    resamples = min(resamples, max(400, 1000 * RESAMPLES // len(values)))
    return max(0.0, -quantile(_resampled_means(values, resamples, seed), 1 - confidence))


def _resampled_means(values: Sequence[float], resamples: int, seed: int) -> list[float]:
    source = random.Random(seed)  # noqa: S311 - statistics, not secrets
    size = len(values)
    return sorted(math.fsum(source.choices(values, k=size)) / size for _ in range(resamples))


def quantile(ordered: Sequence[float], share: float) -> float:
    """Quantile of sorted numbers, linear between neighbours (numpy's default rule). Raises IndexError when empty."""
    place = share * (len(ordered) - 1)
    lower = math.floor(place)
    upper = min(lower + 1, len(ordered) - 1)
    return ordered[lower] + (ordered[upper] - ordered[lower]) * (place - lower)
