"""Confidence over a run: calibration, thresholds and whether they hold, and the decision on auto-accept."""

from __future__ import annotations

import hashlib
import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from itertools import chain, takewhile
from typing import Final, NamedTuple

from pytest_extract.core.aggregate import Estimate
from pytest_extract.core.case_result import AcceptedCounts, AutoAccept, CaseResult, count_accepted, decided_leaves
from pytest_extract.core.stats import share_p_value, share_upper_bound

CONFIDENCE: Final = 0.95
"""How sure a statement on precision is."""


class Shown(StrEnum):
    """What the cases of a run show of a precision that is asked for."""

    HOLDS = "holds"
    MISSED = "missed"
    UNDECIDED = "undecided"


@dataclass
class CaseCounts:
    """Accepted values case by case, and what they show of the precision; asked for when all cases are there."""

    by_case: list[AcceptedCounts] = field(default_factory=list)

    @cached_property
    def total(self) -> AcceptedCounts:
        """All cases together."""
        return AcceptedCounts(*map(sum, zip(*self.by_case, strict=True)))

    @property
    def accepted(self) -> list[float]:
        """The number of accepted values of each case that has one."""
        return [each.accepted for each in self.by_case if each.accepted]

    @property
    def wrong(self) -> list[float]:
        """How many of them are wrong."""
        return [each.wrong for each in self.by_case if each.accepted]

    @cached_property
    def lowest(self) -> float:
        """The precision that the cases show: the one-sided lower bound at `CONFIDENCE`, 0.0 without accepted values."""
        return 1 - share_upper_bound(self.wrong, self.accepted, CONFIDENCE)

    def shows(self, precision: float, level: float = 1 - CONFIDENCE) -> bool:
        """Whether the lower bound (at 1 - `level`) reaches a precision; one test, where the bound takes many."""
        return share_p_value(self.wrong, self.accepted, 1 - precision) <= level

    def p_if_all_right(self, precision: float) -> float:
        """Return the p-value that cases of these sizes would give a precision if every accepted value were right."""
        return share_p_value([0.0] * len(self.accepted), self.accepted, 1 - precision)

    def shown(self, precision: float) -> Shown:
        """Say what the cases show of a precision; missed: fewer of the accepted are right."""
        if self.lowest >= precision:
            return Shown.HOLDS
        return Shown.MISSED if self.total.precision < precision else Shown.UNDECIDED

    def needed(self, precision: float) -> int | None:
        """Return how many cases of these sizes, without a wrong value, would show a precision; None without any."""
        cases = len(self.accepted)
        if not cases:
            return None
        p = self.p_if_all_right(precision)
        if p <= 0.0:
            return cases
        return max(1, math.ceil(cases * math.log(1 - CONFIDENCE) / math.log(p) - 1e-9))


@dataclass(kw_only=True)
class AutoAcceptDecision:
    """One rule on one variant: its counts, and the accepted values that are wrong, by pattern."""

    variant: str
    rule: AutoAccept
    counts: CaseCounts = field(default_factory=CaseCounts)
    wrong: Counter[str] = field(default_factory=Counter)

    @property
    def shown(self) -> Shown | None:
        """Whether the precision is shown, None where none is asked for."""
        return None if self.rule.precision is None else self.counts.shown(self.rule.precision)


@dataclass
class AutoAcceptTotals:
    """The decisions of a run on each rule on each variant, in the order of their first case."""

    by_rule: dict[tuple[str, str], AutoAcceptDecision] = field(default_factory=dict)

    @property
    def decisions(self) -> list[AutoAcceptDecision]:
        """The decisions, asked for after the last case."""
        return [*self.by_rule.values()]

    def add(self, result: CaseResult) -> None:
        """Add a case; one without a rule adds nothing."""
        rule, variant, scores = result.auto_accept, result.variant.label, result.scores
        if rule is None:
            return
        decision = self.by_rule.setdefault((variant, repr(rule)), AutoAcceptDecision(variant=variant, rule=rule))
        counts = []
        for score in scores:
            usable = score.gates.structural
            counts.append(count_accepted(score.leaves, rule, result.known, usable=usable))
            decided = decided_leaves(score.leaves, result.known) if usable else []
            decision.wrong.update(leaf.pattern for leaf in decided if rule.accepts(leaf) and not leaf.passed)
        if counts:
            mean = (sum(each) / len(counts) for each in zip(*counts, strict=True))
            decision.counts.by_case.append(AcceptedCounts(*mean))


ALL_FIELDS: Final = ""
"""In place of a pattern: one threshold for all fields."""


class ConfidentValue(NamedTuple):
    """One decided value: its confidence (None without), and whether it is right. Of k repeats each weighs 1 / k."""

    confidence: float | None
    right: bool
    weight: float = 1.0


CaseValues = Sequence[ConfidentValue]


@dataclass
class CaseConfidences:
    """The decided values of the cases of one variant, by case and pattern; `ALL_FIELDS` has those of all patterns."""

    cases: dict[str, dict[str, list[ConfidentValue]]] = field(default_factory=lambda: defaultdict(dict))

    def add(self, result: CaseResult) -> None:
        """Add a case; one without a scored repeat adds nothing."""
        for score in result.scores:
            values = self.cases[f"{result.file}::{result.case_id}"]
            for leaf in decided_leaves(score.leaves, result.known):
                confidence = leaf.confidence if score.gates.structural else None
                value = ConfidentValue(confidence, leaf.passed, 1 / len(result.scores))
                for pattern in {leaf.pattern, ALL_FIELDS}:
                    values.setdefault(pattern, []).append(value)

    @property
    def patterns(self) -> list[str]:
        """The patterns with a confidence somewhere, in the order of the first."""
        every = chain.from_iterable(values.items() for values in self.cases.values())
        found = (pattern for pattern, listed in every if any(value.confidence is not None for value in listed))
        return [pattern for pattern in dict.fromkeys(found) if pattern != ALL_FIELDS]

    def values_of(self, pattern: str, cases: Iterable[str] | None = None) -> list[CaseValues]:
        """Return the values of a pattern, or of all fields, a list a case."""
        return [self.cases[case].get(pattern, []) for case in (self.cases if cases is None else cases)]

    def halves(self) -> tuple[list[str], list[str]]:
        """Split the cases into two halves by the digests of their names, so that every run splits them alike."""
        ordered = sorted(self.cases, key=lambda case: hashlib.sha256(case.encode("utf-8", "surrogatepass")).digest())
        return ordered[0::2], ordered[1::2]


def accepted_at(cases: Sequence[CaseValues], threshold: float) -> CaseCounts:
    """Count the values of each case that reach a threshold."""
    counts = CaseCounts()
    for values in cases:
        taken = [each for each in values if each.confidence is not None and each.confidence >= threshold]
        wrong = [each for each in taken if not each.right]
        weights = (math.fsum(each.weight for each in listed) for listed in (values, taken, wrong))
        counts.by_case.append(AcceptedCounts(*weights))
    return counts


def propose_threshold(cases: Sequence[CaseValues], precision: float) -> float | None:
    """Return the lowest confidence down to which every threshold tried shows the precision; None where none does.

    Two chains test thresholds from the highest down, each at half of the level and up to its first that fails, so that
    all that pass hold together. One begins where so many cases reach the threshold that none may be wrong, the other
    where so many do that some may; numbers of cases alone decide where. Source: fixed-sequence testing, as in
    Angelopoulos, Bates, Candes, Jordan and Lei (2021), "Learn then Test".
    """
    confidences = (value.confidence for values in cases for value in values if value.confidence is not None)
    seen = sorted({math.floor(confidence * 10_000) / 10_000 for confidence in confidences}, reverse=True)
    step = max(1, math.ceil(len(seen) / 40))  # at most 40, and the last
    candidates = [*dict.fromkeys((*seen[::step], *seen[-1:]))]
    counts = [accepted_at(cases, candidate) for candidate in candidates]
    at_best = [each.p_if_all_right(precision) for each in counts]
    level = (1 - CONFIDENCE) / 2
    passed = []
    for least in (level, level**2):
        start = next((index for index, p in enumerate(at_best) if p <= least), len(candidates))
        shown = takewhile(lambda index: counts[index].shows(precision, level), range(start, len(candidates)))
        passed += [candidates[index] for index in shown]
    return min(passed, default=None)


class ThresholdProposal(NamedTuple):
    """The threshold of a pattern (`ALL_FIELDS`: of all), with what it gives where it was proposed and checked.

    `every`: what a threshold of 0 gives where one was looked for. `needed`: how many such cases without a wrong value
    would show the precision.
    """

    pattern: str
    every: CaseCounts
    needed: int | None
    threshold: float | None
    proposed: CaseCounts | None
    checked: CaseCounts | None


def propose_thresholds(confidences: CaseConfidences, precision: float) -> list[ThresholdProposal]:
    """Propose a threshold for all fields and for each pattern on one half of the cases; check it on the other."""
    first, second = confidences.halves()
    proposals = []
    for pattern in (ALL_FIELDS, *confidences.patterns):
        halves = [confidences.values_of(pattern, half) for half in (first, second)]
        every, threshold = accepted_at(halves[0], 0.0), propose_threshold(halves[0], precision)
        at = [None if threshold is None else accepted_at(half, threshold) for half in halves]
        proposals.append(
            ThresholdProposal(
                pattern=pattern,
                every=every,
                needed=every.needed(precision),
                threshold=threshold,
                proposed=at[0],
                checked=at[1],
            )
        )
    return proposals


BINS: Final = 10
RESAMPLES: Final = 1_000


class Calibration(NamedTuple):
    """How a confidence relates to being right, over the values that have one; each estimate with its 95 % interval.

    accuracy: share of right values. error: expected calibration error, the mean distance of confidence and share over
    `BINS` bins of equal width, weighted by their values. Source: Naeini et al. (2015). Both intervals come from a
    bootstrap over cases: percentiles for the accuracy. Noise raises the error, and resampling adds noise, so its
    percentiles would be too high: its interval is the error plus and minus what the signed gaps of the bins move,
    added up, in 95 % of the resamples.
    """

    values: float
    cases: int
    confidence: float
    accuracy: Estimate
    error: Estimate


def calibrate(cases: Sequence[CaseValues], *, resamples: int = RESAMPLES) -> Calibration | None:
    """Calibrate the values of cases; None where no value has a confidence."""
    import numpy as np

    found = [[each for each in values if each.confidence is not None] for values in cases]
    used = [values for values in found if values]
    if not used:
        return None
    sums = np.zeros((len(used), BINS + 3))  # of confidence less right by bin; of all values, confidences, right ones
    for row, values in zip(sums, used, strict=True):
        for confidence, right, weight in values:
            if confidence is not None:
                row[min(int(confidence * BINS), BINS - 1)] += weight * (confidence - right)
                row[BINS:] += weight, weight * confidence, weight * right
    total = sums.sum(axis=0)
    drawn = np.random.default_rng(20_260_101).multinomial(len(used), [1 / len(used)] * len(used), resamples) @ sums
    low, high = np.quantile(drawn[:, BINS + 2] / drawn[:, BINS], (0.025, 0.975)).tolist()
    gaps, drawn_gaps = total[:BINS] / total[BINS], drawn[:, :BINS] / drawn[:, BINS, None]
    error = float(abs(gaps).sum())
    reach = float(np.quantile(abs(drawn_gaps - gaps).sum(axis=1), 0.95))
    return Calibration(
        values=float(total[BINS]),
        cases=len(used),
        confidence=float(total[BINS + 1] / total[BINS]),
        accuracy=Estimate(mean=float(total[BINS + 2] / total[BINS]), low=low, high=high),
        error=Estimate(mean=error, low=max(0.0, error - reach), high=min(1.0, error + reach)),
    )


def calibrations(found: CaseConfidences) -> dict[str, Calibration]:
    """Calibrate all values of a variant (`ALL_FIELDS`), then those of each field; empty where none has a confidence."""
    parts = {pattern: calibrate(found.values_of(pattern)) for pattern in (ALL_FIELDS, *found.patterns)}
    return {pattern: each for pattern, each in parts.items() if each is not None}
