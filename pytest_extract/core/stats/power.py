"""What would decide an undecided comparison: how many more cases, or repeats of the same cases, and what they cost."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

_MOST: Final = 1_000_000
_POWER: Final = statistics.NormalDist().inv_cdf(0.8)
_RULE_OF_THREE: Final = 2.0  # 95 % quantile of a Poisson count of mean 1, less its mean


Answer: TypeAlias = Literal["worse", "not worse"]
_Decides: TypeAlias = Callable[[int, float], bool]
"""(cases, spread) -> whether so many cases, with changes of that variance, would decide."""


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
class Needs:
    """More cases, or more runs of each case, that would probably decide, taking what was seen for the truth.

    towards: the answer that they would most likely give: whichever takes fewer cases. A drop that is smaller than the
    margin but real shows as "worse" in the end, and not seldom before it is shown to be small.
    None where no number would do (up to a million). Calls count both sides, old and new; a cost is None when the price
    of a call is unknown. `guess`: repeats were never measured, so all variation is taken for noise, and the number of
    repeats is the least that could do.
    """

    towards: Answer
    cases: int | None
    repeats: int | None
    cases_calls: int | None
    repeats_calls: int | None
    cases_cost_usd: float | None
    repeats_cost_usd: float | None
    guess: bool


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

    alpha: significance level of the overall test; confidence: of the bound of the drop (`drop_bounds`).
    Normal approximations: this is advice, not the verdict.
    """
    if not sample.changes:
        return None
    have = len(sample.changes)
    drop = -math.fsum(sample.changes) / have
    worst = max([unseen_loss, *map(abs, sample.changes)])
    ways: dict[Answer, _Decides] = {}
    if drop > 0:
        ways["worse"] = _worse(drop, alpha)
    if drop < margin:
        ways["not worse"] = _not_worse(drop, margin, confidence, worst)
    spread = statistics.pvariance(sample.changes)
    totals = {answer: _fewest(decides, spread, have) for answer, decides in ways.items()}
    towards = min(totals, key=lambda answer: _count(totals[answer]))
    return _advice(sample, towards, totals[towards], _runs(sample, ways[towards]), cost_per_call)


def _runs(sample: Sample, decides: _Decides) -> int | None:
    """Return how many repeats of each case would decide: they take away the noise, not what differs between cases."""
    spread = statistics.pvariance(sample.changes)
    noise = spread * sample.repeats if sample.noise is None else min(sample.noise, spread * sample.repeats)
    real = max(0.0, spread - noise / sample.repeats)
    return _least(lambda count: decides(len(sample.changes), real + noise / count), sample.repeats)


def _advice(sample: Sample, towards: Answer, cases: int | None, runs: int | None, cost_per_call: float | None) -> Needs:
    """Return what so many cases or repeats are more than now, with their calls and cost."""
    have = len(sample.changes)
    more = None if cases is None else cases - have
    extra = None if runs is None else runs - sample.repeats
    more_calls = None if more is None else 2 * more * sample.repeats
    extra_calls = None if extra is None else 2 * extra * have
    return Needs(
        towards=towards,
        cases=more,
        repeats=extra,
        cases_calls=more_calls,
        repeats_calls=extra_calls,
        cases_cost_usd=_cost(more_calls, cost_per_call),
        repeats_cost_usd=_cost(extra_calls, cost_per_call),
        guess=sample.noise is None,
    )


def _fewest(decides: _Decides, spread: float, have: int) -> int | None:
    return _least(lambda cases: decides(cases, spread), have)


def _count(total: int | None) -> float:
    return math.inf if total is None else total


def _cost(calls: int | None, price: float | None) -> float | None:
    return None if calls is None or price is None else calls * price


def _worse(drop: float, alpha: float) -> _Decides:
    """Whether the sign-flip test would say "worse" with probability 0.8."""
    reach = statistics.NormalDist().inv_cdf(1 - alpha) + _POWER
    fewest = math.ceil(-math.log2(alpha))  # fewer cases cannot be significant whatever they show
    return lambda cases, spread: cases >= fewest and drop >= reach * math.sqrt(spread / cases)


def _not_worse(drop: float, margin: float, confidence: float, unseen_loss: float) -> _Decides:
    """Whether the upper bound of the drop (`drop_bounds`) would fall below the margin."""
    reach = statistics.NormalDist().inv_cdf(confidence)

    def decides(cases: int, spread: float) -> bool:
        unseen = unseen_loss / (cases + 1)
        return drop + unseen + math.hypot(reach * math.sqrt(spread / cases), _RULE_OF_THREE * unseen) < margin

    return decides


def _least(decides: Callable[[int], bool], have: int) -> int | None:
    """Return the least count above `have` that decides (deciding is monotone), or None up to a million."""
    low, high = have, have + 1
    while not decides(high):
        low, high = high, 2 * high
        if high > _MOST:
            return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if decides(middle) else (middle, high)
    return high
