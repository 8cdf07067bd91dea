"""What would decide an undecided comparison: how many more cases, or repeats of the same cases, and what they cost."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

_MOST: Final = 100_000
_RULE_OF_THREE: Final = 2.0  # 95 % quantile of a Poisson count of mean 1, less its mean
_EVEN: Final = 0.5
_LIKELY: Final = 0.8
_UNSEEN_SPREAD: Final = 3.0  # set by simulation (`tests/benchmarks/gate_power.py --part advice`)
_NORMAL: Final = statistics.NormalDist()


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """What planning needs of a comparison.

    changes: mean after - before of each case; repeats: runs of each case on each side;
    noise: variance of one case's change if it were run once, as far as repeats show it; None when nothing was repeated.
    """

    changes: Sequence[float]
    repeats: int
    noise: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Further:
    """So many more cases or repeats, with the calls on both sides and their cost; None: price unknown."""

    count: int
    calls: int
    cost_usd: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Needs:
    """What would decide, one way or the other, in half and in four of five suites that look like this one.

    `cases`: further cases; `repeats`: further runs of each case, only where repeats were measured and could decide. The
    second of a pair is None where no number up to 100,000 would do, both are None where the first would not.
    """

    cases: tuple[Further, Further | None] | None
    repeats: tuple[Further, Further | None] | None


def needs(
    sample: Sample,
    *,
    margin: float,
    alpha: float,
    confidence: float,
    unseen_loss: float,
    cost_per_call: float | None = None,
) -> Needs | None:
    """Plan what would decide; None without a case to learn from.

    alpha: significance level of the overall test; confidence: of the bound of the drop (`unseen_drop_bound`).
    What was seen is shrunk first: true drops are taken for normal around 0 with the margin as standard deviation, so
    few cases that happened to fall forecast little. The variance includes one unseen case.
    Normal approximations: this is advice, not the verdict.
    """
    if not sample.changes:
        return None
    have = len(sample.changes)
    unseen = max([unseen_loss, *map(abs, sample.changes)])
    spread = statistics.pvariance([*sample.changes, -unseen])
    drop = -math.fsum(sample.changes) / have
    error = spread / have
    weight = margin**2 / (margin**2 + error)
    expected, doubt = drop * weight, margin**2 * error / (margin**2 + error)

    def decision_chance(cases: int, variance: float, mean: float, sd: float) -> float:
        """How probable it is that the test or the bound decides; the mean drop of so many cases has mean and sd."""
        error = math.sqrt(variance / cases)
        worse = max(_NORMAL.inv_cdf(1 - alpha) * error, 0.0)
        rest = unseen / (cases + 1)
        fine = margin - rest - math.hypot(_NORMAL.inv_cdf(confidence) * error, _RULE_OF_THREE * rest)
        normal = statistics.NormalDist(mean, max(sd, 1e-12))
        return 1.0 if fine >= worse else 1 - normal.cdf(worse) + normal.cdf(fine)

    def with_cases(more: int, variance: float) -> float:
        """How probable a decision is when so many cases come to these."""
        total = have + more
        mean = (have * drop + more * expected) / total
        return decision_chance(total, variance, mean, more / total * math.sqrt(doubt + variance / more))

    # Few cases seldom show how much others vary: a case in which everything fails is rare.
    wide = spread * (1 + _UNSEEN_SPREAD / math.sqrt(have))
    cases = [
        _least(lambda more: with_cases(more, spread), _EVEN),
        _least(lambda more: with_cases(more, wide), _LIKELY),
    ]
    repeats: list[int | None] = [None, None]
    if sample.noise is not None:
        noise = min(sample.noise, spread * sample.repeats)
        real = max(0.0, spread - noise / sample.repeats)

        def with_repeats(extra: int) -> float:
            """How probable a decision of these cases is, each run so often more."""
            runs = sample.repeats + extra
            sd = math.sqrt(noise / have * (1 / sample.repeats - 1 / runs))
            return decision_chance(have, real + noise / runs, expected, sd)

        repeats = [_least(with_repeats, chance) for chance in (_EVEN, _LIKELY)]
    return Needs(
        cases=_range(cases, 2 * sample.repeats, cost_per_call),
        repeats=_range(repeats, 2 * have, cost_per_call),
    )


def _range(counts: Sequence[int | None], calls: int, price: float | None) -> tuple[Further, Further | None] | None:
    """Return amounts with the calls that each case or repeat takes."""
    amounts = [
        None if count is None else Further(count=count, calls=count * calls, cost_usd=_cost(count * calls, price))
        for count in counts
    ]
    return None if amounts[0] is None else (amounts[0], amounts[1])


def _cost(calls: int, price: float | None) -> float | None:
    return None if price is None else calls * price


def _least(chance_of: Callable[[int], float], chance: float) -> int | None:
    """Return the least count with that chance, found by doubling; None beyond the most."""
    high = 1
    while chance_of(high) < chance:
        if high > _MOST:
            return None
        high *= 2
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if chance_of(middle) >= chance else (middle, high)
    return high
