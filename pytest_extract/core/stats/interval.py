"""How large a change may be: the interval of the permutation test, and a bound of the drop from few cases."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from pytest_extract.core.stats.runs import RESAMPLES, SEED


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
    import numpy as np

    drawn = np.random.default_rng(seed).choice(values, (resamples, len(values)))
    return max(0.0, -float(np.quantile(drawn.mean(axis=1), 1 - confidence)))
