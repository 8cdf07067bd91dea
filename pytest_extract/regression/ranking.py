"""Arms (models, prompts) ranked by the share of fields that are right, and which of them the cases tell apart."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from pytest_extract.core.stats.runs import Runs
from pytest_extract.core.stats.share_bound import share_upper_bound
from pytest_extract.regression.field_matching import changed_digests
from pytest_extract.regression.snapshots import CaseState, Snapshot

ALPHA: Final = 0.05
_MEASURE: Final = "pass_rate"


@dataclass(frozen=True, slots=True, kw_only=True)
class RankedArm:
    """One arm. `right`: share of right fields, mean over the cases with a result; None without one.

    `low` and `high` bound it, for all arms together at 95 %. `tied`: the arms that are not better or worse beyond
    noise, the best first. `cost_usd` and `latency_s`: means of a call, None where unknown.
    """

    arm: str
    right: float | None
    low: float = 0.0
    high: float = 1.0
    tied: tuple[str, ...] = ()
    cost_usd: float | None = None
    latency_s: float | None = None


def rank_arms(states: Snapshot) -> list[RankedArm]:
    """Rank the arms of a snapshot, the best first; those without a result last.

    Two arms are told apart by a permutation test of the runs of the cases that both have, of either sign, corrected
    for the number of pairs. Source: Holm (1979), "A simple sequentially rejective multiple test procedure".
    """
    arms: dict[str, dict[str, CaseState]] = {}
    for key, state in sorted(states.items()):
        cases = arms.setdefault(key.arm, {})
        if not state.lost and _MEASURE in state.measures:
            cases[key.case] = state
    rates = {arm: [_rate(state) for state in cases.values()] for arm, cases in arms.items() if cases}
    means = {arm: math.fsum(found) / len(found) for arm, found in rates.items()}
    ranked = sorted(means, key=lambda arm: -means[arm])
    apart = _told_apart({arm: arms[arm] for arm in ranked})
    confidence = 1 - ALPHA / (2 * max(1, len(ranked)))
    return [
        RankedArm(
            arm=arm,
            right=means[arm],
            low=1 - _upper_bound([1 - rate for rate in rates[arm]], confidence),
            high=_upper_bound(rates[arm], confidence),
            tied=tuple(other for other in ranked if other != arm and {arm, other} not in apart),
            cost_usd=_mean([state.cost_usd for state in arms[arm].values()]),
            latency_s=_mean([state.latency_s for state in arms[arm].values()]),
        )
        for arm in ranked
    ] + [RankedArm(arm=arm, right=None) for arm in arms if arm not in means]


def _rate(state: CaseState) -> float:
    return math.fsum(state.measures[_MEASURE]) / len(state.measures[_MEASURE])


def _upper_bound(rates: Sequence[float], confidence: float) -> float:
    return share_upper_bound(rates, [1.0] * len(rates), confidence)


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return math.fsum(known) / len(known) if known else None


def _told_apart(arms: Mapping[str, Mapping[str, CaseState]]) -> list[set[str]]:
    """Return the pairs of arms whose difference is beyond noise."""
    pairs = [({one, other}, _p_of_difference(arms[one], arms[other])) for one, other in itertools.combinations(arms, 2)]
    pairs.sort(key=lambda pair: pair[1])
    beyond = itertools.takewhile(lambda item: item[1][1] <= ALPHA / (len(pairs) - item[0]), enumerate(pairs))
    return [pair for _, (pair, _) in beyond]


def _p_of_difference(one: Mapping[str, CaseState], other: Mapping[str, CaseState]) -> float:
    """Return the p-value that two arms differ on the cases that both have, with the same documents and golds."""
    shared = [(one[case], other[case]) for case in one if case in other]
    runs = [
        Runs(was.measures[_MEASURE], now.measures[_MEASURE])
        for was, now in shared
        if not changed_digests(was, now, ("document", "gold"))
    ]
    losses = [each for each in runs if each.varies]
    if not losses:
        return 1.0
    from pytest_extract.core.stats.permutation import Permutations

    gains = [Runs(*(tuple(-value for value in side) for side in (each.before, each.after))) for each in losses]
    tests = Permutations([each.shape for each in losses], [dict(enumerate(losses)), dict(enumerate(gains))])
    return min(1.0, 2 * min(tests.p_value(statistic.as_large()) for statistic in tests.statistics))
