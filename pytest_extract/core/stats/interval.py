"""How large a change may be: bootstrap over cases, and an upper bound of the drop that few cases cannot make small."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

RESAMPLES: Final = 2000
SEED: Final = 20_240_229


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """Mean change over cases (after - before), its two-sided interval, and the one-sided upper bound of the drop.

    All in the unit of the differences. `worst` is at `confidence`; `low` and `high` enclose the change at 95 %.
    """

    change: float
    low: float
    high: float
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
    """Bootstrap the mean of one difference a case; whole cases are drawn, so fields of a case may hang together.

    The interval is the percentile interval. For the bound of the drop, one more case is put into the sample: one
    that lost `unseen_loss` (or the largest change seen, if that is larger). Without it, twenty equal cases, or
    three, would prove that nothing ever drops. With it and no change at all, n cases bound the drop by about
    3 `unseen_loss` / (n + 1) at 95 %: the rule of three. Beyond 1,000 cases fewer resamples are drawn (400 at least):
    the mean of so many hardly moves. Raises ValueError on an empty sample.
    Source: Efron (1979); Hanley and Lippman-Hand (1983) for the rule of three.
    """
    if not differences:
        raise ValueError("no case to resample")
    values = [float(value) for value in differences]
    resamples = min(resamples, max(400, 1000 * RESAMPLES // len(values)))
    means = _resampled_means(values, resamples, seed)
    unseen = max([unseen_loss, *map(abs, values)])
    smoothed = _resampled_means([*values, -unseen], resamples, seed)
    return Bounds(
        change=math.fsum(values) / len(values),
        low=quantile(means, 0.025),
        high=quantile(means, 0.975),
        worst=max(0.0, -quantile(smoothed, 1 - confidence)),
        confidence=confidence,
    )


def _resampled_means(values: Sequence[float], resamples: int, seed: int) -> list[float]:
    if not any(values):
        return [0.0] * resamples
    source = random.Random(seed)  # noqa: S311 - statistics, not secrets
    size = len(values)
    return sorted(math.fsum(source.choices(values, k=size)) / size for _ in range(resamples))


def quantile(ordered: Sequence[float], share: float) -> float:
    """Quantile of sorted numbers, linear between neighbours (numpy's default rule). Raises IndexError when empty."""
    place = share * (len(ordered) - 1)
    lower = math.floor(place)
    upper = min(lower + 1, len(ordered) - 1)
    return ordered[lower] + (ordered[upper] - ordered[lower]) * (place - lower)
