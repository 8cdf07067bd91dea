"""Variants (models, prompts) ranked by the share of fields that are right, and which of them the cases tell apart."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from pytest_extract.core.stats.runs import Runs, share_upper_bound
from pytest_extract.regression.field_matching import changed_digests
from pytest_extract.regression.snapshots import CaseState, Snapshot, counted_states

ALPHA: Final = 0.05
_MEASURE: Final = "pass_rate"


@dataclass(frozen=True, slots=True, kw_only=True)
class RankedVariant:
    """One variant. `right`: share of right fields, mean over the cases with a result; None without one.

    `low` and `high` bound it, for all variants together at 95 %. `tied`: those that are not better or worse beyond
    noise, the best first. `cost_usd` and `latency_s`: means of a call, None where unknown.
    """

    variant: str
    right: float | None
    low: float = 0.0
    high: float = 1.0
    tied: tuple[str, ...] = ()
    cost_usd: float | None = None
    latency_s: float | None = None


def rank_variants(states: Snapshot) -> list[RankedVariant]:
    """Rank the variants of a snapshot, the best first; those without a result last.

    Two variants are told apart by a permutation test of the runs of the cases that both have, of either sign, corrected
    for the number of pairs. Source: Holm (1979), "A simple sequentially rejective multiple test procedure".
    """
    variants: dict[str, dict[str, CaseState]] = {}
    for key, state in sorted(counted_states(states).items()):
        cases = variants.setdefault(key.variant, {})
        if not state.lost and _MEASURE in state.measures:
            cases[key.case] = state
    rates = {variant: [_rate(state) for state in cases.values()] for variant, cases in variants.items() if cases}
    means = {variant: math.fsum(found) / len(found) for variant, found in rates.items()}
    ranked = sorted(means, key=lambda variant: -means[variant])
    apart = _told_apart({variant: variants[variant] for variant in ranked})
    confidence = 1 - ALPHA / (2 * max(1, len(ranked)))
    return [
        RankedVariant(
            variant=variant,
            right=means[variant],
            low=1 - _upper_bound([1 - rate for rate in rates[variant]], confidence),
            high=_upper_bound(rates[variant], confidence),
            tied=tuple(other for other in ranked if other != variant and {variant, other} not in apart),
            cost_usd=_mean([state.cost_usd for state in variants[variant].values()]),
            latency_s=_mean([state.latency_s for state in variants[variant].values()]),
        )
        for variant in ranked
    ] + [RankedVariant(variant=variant, right=None) for variant in variants if variant not in means]


def _rate(state: CaseState) -> float:
    return math.fsum(state.measures[_MEASURE]) / len(state.measures[_MEASURE])


def _upper_bound(rates: Sequence[float], confidence: float) -> float:
    return share_upper_bound(rates, [1.0] * len(rates), confidence)


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return math.fsum(known) / len(known) if known else None


def _told_apart(variants: Mapping[str, Mapping[str, CaseState]]) -> list[set[str]]:
    """Return the pairs of variants whose difference is beyond noise."""
    pairs = [
        ({one, other}, _p_of_difference(variants[one], variants[other]))
        for one, other in itertools.combinations(variants, 2)
    ]
    pairs.sort(key=lambda pair: pair[1])
    beyond = itertools.takewhile(lambda item: item[1][1] <= ALPHA / (len(pairs) - item[0]), enumerate(pairs))
    return [pair for _, (pair, _) in beyond]


def _p_of_difference(one: Mapping[str, CaseState], other: Mapping[str, CaseState]) -> float:
    """Return the p-value that two variants differ on the cases that both have, with the same documents and golds."""
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
