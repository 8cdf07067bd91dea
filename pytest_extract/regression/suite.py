"""What one run shows by itself: its means against `extract_suite_thresholds`, flaky fields, variants ranked."""

from __future__ import annotations

import itertools
import statistics
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from math import comb
from typing import Final

from pytest_extract.core.case_result import CaseResult, Outcome, counted
from pytest_extract.core.stats import Runs, p_of_rise, share_upper_bound
from pytest_extract.core.values import ROUNDING, nearly, text_below
from pytest_extract.errors import ConfigError, nearest
from pytest_extract.regression.compare import changed_digests, mean_of
from pytest_extract.regression.snapshots import (
    CaseKey,
    CaseState,
    FailingField,
    Snapshot,
    case_state,
    counted_states,
    snapshot,
)

COMPLETE_ROWS: Final = "complete_rows"
"""A bound of the suite that is no mean: the row up to which every long list is complete, as far as one breaks off."""


def check_suite(results: Iterable[CaseResult], thresholds: Mapping[str, float]) -> list[tuple[bool, str]]:
    """Compare each variant's means with the thresholds (measure -> lowest mean that passes).

    Each comes as passed or not, and a text; what passed first. A mean is over scored cases, each the mean of its
    repeats; cases in error or not run do not count, nor do those that are no samples, where some are. A run
    without a scored case does not pass. Raises ConfigError, with the nearest name, for a measure that no case has.
    """
    scored: dict[str, list[Mapping[str, float]]] = {}
    samples = counted(results)
    for result in samples:
        state = case_state(result)
        cases = scored.setdefault(state.variant.label, [])
        if not state.lost:
            cases.append({name: statistics.fmean(values) for name, values in state.measures.items()})
    if not scored:
        return [(False, "no case was run, so nothing was measured")]
    found: list[tuple[bool, str]] = []
    for variant, cases in sorted(scored.items()):
        label = f"[{variant}] " if variant else ""
        if not cases:
            found.append((False, f"{label}no case was scored, so nothing was measured"))
            continue
        for measure, bound in thresholds.items():
            if measure == COMPLETE_ROWS:
                found.append(_complete_rows([each for each in samples if each.variant.label == variant], bound, label))
                continue
            values = [measures[measure] for measures in cases if measure in measures]
            if not values:
                known = {name for measures in cases for name in measures}
                raise ConfigError(f"extract_suite_thresholds: no measure {measure!r}{nearest(measure, known)}")
            mean = statistics.fmean(values)
            passed = mean >= bound - ROUNDING
            how = f"reaches {bound:g}" if passed else f"< {bound:g} over {len(values)} cases"
            shown = nearly(mean, 1, 4) or f"{mean:.4f}" if passed else text_below(mean, bound, "f", 4)
            found.append((passed, f"{label}{measure} {shown} {how}"))
    return sorted(found, key=lambda each: not each[0])


def _complete_rows(results: Collection[CaseResult], bound: float, label: str) -> tuple[bool, str]:
    from pytest_extract.core.aggregate.slices import list_recalls

    edges = [(each.edge.at, each.pattern) for each in list_recalls(results) if each.edge is not None]
    row, pattern = min(edges, default=(None, ""))
    if row is None:
        return True, f"{label}{COMPLETE_ROWS}: no list breaks off"
    passed = row >= bound
    return passed, f"{label}{COMPLETE_ROWS} {row:,} ({pattern}) {'reaches' if passed else '<'} {bound:g}"


def suite_pass_hat_k(results: Iterable[CaseResult]) -> dict[int, float]:
    """Return pass^k of the suite for each k: the mean over cases of the probability that k runs in a row all pass.

    A run is a scored repeat; k goes up to the fewest that any scored case has, so that every k is over the same cases.
    Empty where nothing was scored. Repeats that stop early, once decided, bias it; `--extract-repeat` runs them all.
    Source: tau-bench (Yao et al. 2024), section 5: of a case, C(passes, k) / C(runs, k) is the unbiased estimate.
    """
    counts: list[tuple[int, int]] = []
    for result in results:
        scored = [one.outcome for one in result.attempts if one.outcome in (Outcome.PASSED, Outcome.FAILED)]
        if scored:
            counts.append((scored.count(Outcome.PASSED), len(scored)))
    most = min((of for _passes, of in counts), default=0)
    return {k: sum(comb(passes, k) / comb(of, k) for passes, of in counts) / len(counts) for k in range(1, most + 1)}


def flaky_fields(results: Iterable[CaseResult]) -> list[tuple[CaseKey, str, FailingField]]:
    """Return the fields, by path, that passed in some repeats of their case and failed in others; the worst first."""
    fields = [
        (key, path, entry)
        for key, state in snapshot(results).items()
        for path, entry in state.failing.items()
        if any(entry.runs)
    ]
    return sorted(fields, key=lambda each: (abs(2 * sum(each[2].runs) - len(each[2].runs)), each[0].case, each[1]))


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
    rates = {
        variant: [statistics.fmean(state.measures[_MEASURE]) for state in cases.values()]
        for variant, cases in variants.items()
        if cases
    }
    means = {variant: statistics.fmean(found) for variant, found in rates.items()}
    ranked = sorted(means, key=lambda variant: -means[variant])
    pairs = [
        (_p_of_difference(variants[one], variants[other]), {one, other})
        for one, other in itertools.combinations(ranked, 2)
    ]
    by_p = enumerate(sorted(pairs, key=lambda pair: pair[0]))
    beyond_noise = itertools.takewhile(lambda each: each[1][0] <= ALPHA / (len(pairs) - each[0]), by_p)
    apart = [pair for _, (_, pair) in beyond_noise]
    confidence = 1 - ALPHA / (2 * max(1, len(ranked)))
    return [
        RankedVariant(
            variant=variant,
            right=means[variant],
            low=1 - share_upper_bound([1 - rate for rate in rates[variant]], [1.0] * len(rates[variant]), confidence),
            high=share_upper_bound(rates[variant], [1.0] * len(rates[variant]), confidence),
            tied=tuple(other for other in ranked if other != variant and {variant, other} not in apart),
            cost_usd=mean_of([state.cost_usd for state in variants[variant].values()]),
            latency_s=mean_of([state.latency_s for state in variants[variant].values()]),
        )
        for variant in ranked
    ] + [RankedVariant(variant=variant, right=None) for variant in variants if variant not in means]


def _p_of_difference(one: Mapping[str, CaseState], other: Mapping[str, CaseState]) -> float:
    """Return the p-value that two variants differ on the cases that both have, with the same documents and golds."""
    shared = [(one[case], other[case]) for case in one if case in other]
    sides = [
        (was.measures[_MEASURE], now.measures[_MEASURE])
        for was, now in shared
        if not changed_digests(was, now, ("document", "gold"))
    ]
    p = min(p_of_rise([Runs(*each) for each in sides]), p_of_rise([Runs(now, was) for was, now in sides]))
    return min(1.0, 2 * p)
