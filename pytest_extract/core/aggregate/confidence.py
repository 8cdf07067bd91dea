"""Confidence over a run: calibration, thresholds and whether they hold, and the decision on auto-accept."""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from typing import TYPE_CHECKING, Final, NamedTuple

from pytest_extract.core.aggregate.bootstrap import Estimate
from pytest_extract.core.auto_accept import AcceptedCounts, AutoAccept, count_accepted, decided_leaves
from pytest_extract.core.case_result import CaseResult
from pytest_extract.core.stats.runs import share_p_value, share_upper_bound

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt


CONFIDENCE: Final = 0.95
"""How sure a statement on precision is."""


class Shown(StrEnum):
    """What the cases of a run show of a precision that is asked for."""

    HOLDS = "holds"
    MISSED = "missed"
    UNDECIDED = "undecided"


@dataclass(frozen=True, slots=True, kw_only=True)
class AutoAcceptDecision:
    """One rule on one variant: its counts over the cases, and what they show.

    cases: with at least one accepted value; lowest: the precision that the cases show at `CONFIDENCE`, by case.
    needed: cases without a wrong value that would show the precision, at the sizes of these. wrong: accepted values
    that are wrong, by pattern. None for `needed` where no precision is asked for or no value is accepted.
    """

    variant: str
    rule: AutoAccept
    counts: AcceptedCounts
    cases: int
    lowest: float
    needed: int | None
    wrong: Counter[str]

    @property
    def shown(self) -> Shown | None:
        """Whether the precision is shown, None where none is asked for; missed: fewer of the accepted are right."""
        precision = self.rule.precision
        if precision is None:
            return None
        if self.lowest >= precision:
            return Shown.HOLDS
        return Shown.MISSED if self.counts.precision < precision else Shown.UNDECIDED


def precision_lower_bound(counts: Sequence[AcceptedCounts]) -> float:
    """Return the precision that cases show: the one-sided lower bound at `CONFIDENCE`, 0.0 without accepted values."""
    wrong, accepted = [each.wrong for each in counts], [each.accepted for each in counts]
    return 1 - share_upper_bound(wrong, accepted, CONFIDENCE)


def shows_precision(counts: Sequence[AcceptedCounts], precision: float, level: float = 1 - CONFIDENCE) -> bool:
    """Whether the lower bound (at 1 - `level`) reaches a precision; one test, where the bound takes many."""
    wrong, accepted = [each.wrong for each in counts], [each.accepted for each in counts]
    return share_p_value(wrong, accepted, 1 - precision) <= level


def cases_needed(counts: Sequence[AcceptedCounts], precision: float) -> int | None:
    """Return how many cases of these sizes, without a wrong value, would show a precision; None without any."""
    cases = sum(each.accepted > 0 for each in counts)
    if not cases:
        return None
    p = p_if_all_right(counts, precision)
    if p <= 0.0:
        return cases
    return max(1, math.ceil(cases * math.log(1 - CONFIDENCE) / math.log(p) - 1e-9))


def p_if_all_right(counts: Sequence[AcceptedCounts], precision: float) -> float:
    """Return the p-value that cases of these sizes would give a precision if every accepted value were right."""
    accepted = [each.accepted for each in counts if each.accepted]
    return share_p_value([0.0] * len(accepted), accepted, 1 - precision)


def total_counts(counts: Iterable[AcceptedCounts]) -> AcceptedCounts:
    """Add up counts of cases."""
    return AcceptedCounts(*map(sum, zip(*counts, strict=True)))


@dataclass
class AutoAcceptTotals:
    """The counts of a run, case by case, for each rule on each variant."""

    rules: dict[tuple[str, str], AutoAccept] = field(default_factory=dict)
    counts: dict[tuple[str, str], list[AcceptedCounts]] = field(default_factory=dict)
    wrong: dict[tuple[str, str], Counter[str]] = field(default_factory=dict)

    def add(self, result: CaseResult) -> None:
        """Add a case; one without a rule adds nothing."""
        rule = result.auto_accept
        if rule is None:
            return
        key = result.variant.label, repr(rule)
        self.rules.setdefault(key, rule)
        counts, wrong = self.counts.setdefault(key, []), self.wrong.setdefault(key, Counter())
        scores = result.scores
        if not scores:
            return
        found = total_counts(
            count_accepted(score.leaves, rule, result.known, usable=score.gates.structural) for score in scores
        )
        counts.append(AcceptedCounts(*(each / len(scores) for each in found)))  # a mean over the repeats
        for score in scores if found.wrong else ():
            leaves = decided_leaves(score.leaves, result.known) if score.gates.structural else []
            wrong.update(leaf.pattern for leaf in leaves if not leaf.passed and rule.accepts(leaf))

    @cached_property
    def decisions(self) -> list[AutoAcceptDecision]:
        """The decisions on all rules, in the order of their first case; asked for after the last case."""
        return [
            AutoAcceptDecision(
                variant=key[0],
                rule=rule,
                counts=total_counts(self.counts[key]),
                cases=sum(each.accepted > 0 for each in self.counts[key]),
                lowest=precision_lower_bound(self.counts[key]),
                needed=None if rule.precision is None else cases_needed(self.counts[key], rule.precision),
                wrong=self.wrong[key],
            )
            for key, rule in self.rules.items()
        ]


ALL_FIELDS: Final = ""
"""In place of a pattern: one threshold for all fields."""
_MOST_CANDIDATES: Final = 40
_DIGITS: Final = 4


class ConfidentValue(NamedTuple):
    """One decided value: its confidence (None without), and whether it is right. Of k repeats each weighs 1 / k."""

    confidence: float | None
    right: bool
    weight: float = 1.0


CaseValues = Sequence[ConfidentValue]


@dataclass
class CaseConfidences:
    """The decided values of the cases of one variant, by case and pattern."""

    cases: dict[str, dict[str, list[ConfidentValue]]] = field(default_factory=dict)

    def add(self, result: CaseResult) -> None:
        """Add a case; one without a scored repeat adds nothing."""
        scores = result.scores
        if not scores:
            return
        values = self.cases.setdefault(f"{result.file}::{result.case_id}", {})
        for score in scores:
            usable = score.gates.structural
            for leaf in decided_leaves(score.leaves, result.known):
                confidence = leaf.confidence if usable else None
                value = ConfidentValue(confidence, leaf.passed, 1 / len(scores))
                values.setdefault(leaf.pattern, []).append(value)

    @property
    def patterns(self) -> list[str]:
        """The patterns with a confidence somewhere, in the order of their first value."""
        found: dict[str, bool] = {}
        for values in self.cases.values():
            for pattern, listed in values.items():
                found[pattern] = found.get(pattern, False) or any(value.confidence is not None for value in listed)
        return [pattern for pattern, any_confidence in found.items() if any_confidence]

    def values_of(self, pattern: str, cases: Iterable[str] | None = None) -> list[CaseValues]:
        """Return the values of a pattern, or of all fields, a list a case."""
        chosen = self.cases if cases is None else cases
        if pattern != ALL_FIELDS:
            return [self.cases[case].get(pattern, []) for case in chosen]
        return [[value for values in self.cases[case].values() for value in values] for case in chosen]

    def halves(self) -> tuple[list[str], list[str]]:
        """Split the cases into two halves by the digests of their names, so that every run splits them alike."""
        ordered = sorted(self.cases, key=lambda case: hashlib.sha256(case.encode("utf-8", "surrogatepass")).digest())
        return ordered[0::2], ordered[1::2]


def accepted_at(cases: Sequence[CaseValues], threshold: float) -> list[AcceptedCounts]:
    """Count the values of each case that reach a threshold."""
    counts = []
    for values in cases:
        decided = accepted = wrong = 0.0
        for confidence, right, weight in values:
            decided += weight
            if confidence is not None and confidence >= threshold:
                accepted += weight
                wrong += 0.0 if right else weight
        counts.append(AcceptedCounts(decided, accepted, wrong))
    return counts


def propose_threshold(cases: Sequence[CaseValues], precision: float) -> float | None:
    """Return the lowest confidence down to which every threshold tried shows the precision; None where none does.

    Two chains test thresholds from the highest down, each at half of the level and up to its first that fails, so that
    all that pass hold together. One begins where so many cases reach the threshold that none may be wrong, the other
    where so many do that some may; numbers of cases alone decide where. Source: fixed-sequence testing, as in
    Angelopoulos, Bates, Candes, Jordan and Lei (2021), "Learn then Test".
    """
    scale = 10**_DIGITS
    seen = sorted(
        {
            math.floor(value.confidence * scale) / scale
            for each in cases
            for value in each
            if value.confidence is not None
        },
        reverse=True,
    )
    step = max(1, -(-len(seen) // _MOST_CANDIDATES))
    candidates = [*seen[::step]]
    if seen and candidates[-1] != seen[-1]:
        candidates.append(seen[-1])
    counts = [accepted_at(cases, candidate) for candidate in candidates]
    at_best = [p_if_all_right(each, precision) for each in counts]
    level = (1 - CONFIDENCE) / 2
    best = None
    for least in (level, level**2):
        start = next((index for index, p in enumerate(at_best) if p <= least), len(candidates))
        for candidate, each in zip(candidates[start:], counts[start:], strict=True):
            if not shows_precision(each, precision, level):
                break
            best = candidate if best is None else min(best, candidate)
    return best


@dataclass(frozen=True, slots=True, kw_only=True)
class PartCounts:
    """What a threshold gives on one part of the cases; `lowest`: the precision that its cases show."""

    counts: AcceptedCounts
    cases: int
    lowest: float

    @classmethod
    def of(cls, cases: Sequence[CaseValues], threshold: float) -> PartCounts:
        """Count the values of a part."""
        counts = accepted_at(cases, threshold)
        used = sum(each.accepted > 0 for each in counts)
        return cls(counts=total_counts(counts), cases=used, lowest=precision_lower_bound(counts))


@dataclass(frozen=True, slots=True, kw_only=True)
class ThresholdProposal:
    """The threshold of a pattern (`ALL_FIELDS`: of all), with what it gives where it was proposed and checked.

    Without one: `cases` that have a confidence for the pattern on the first part, and `needed`, how many without a
    wrong value would show the precision if all were accepted.
    """

    pattern: str
    threshold: float | None
    proposed: PartCounts | None
    checked: PartCounts | None
    cases: int
    needed: int | None


def propose_thresholds(confidences: CaseConfidences, precision: float) -> list[ThresholdProposal]:
    """Propose a threshold for all fields and for each pattern on one half of the cases; check it on the other."""
    first, second = confidences.halves()
    proposals = []
    for pattern in (ALL_FIELDS, *confidences.patterns):
        values = confidences.values_of(pattern, first)
        threshold, every = propose_threshold(values, precision), accepted_at(values, 0.0)
        proposed = checked = None
        if threshold is not None:
            proposed = PartCounts.of(values, threshold)
            checked = PartCounts.of(confidences.values_of(pattern, second), threshold)
        proposals.append(
            ThresholdProposal(
                pattern=pattern,
                threshold=threshold,
                proposed=proposed,
                checked=checked,
                cases=sum(each.accepted > 0 for each in every),
                needed=cases_needed(every, precision),
            )
        )
    return proposals


BINS: Final = 10
RESAMPLES: Final = 1_000
_SEED: Final = 20_260_101


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """How a confidence relates to being right, over the values that have one; each estimate with its 95 % interval.

    accuracy: share of right values. error: expected calibration error, the mean distance of confidence and share over
    `BINS` bins of equal width, weighted by their values. The intervals are percentiles of a bootstrap over cases.
    Source: Naeini et al. (2015).
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
    drawn = np.random.default_rng(_SEED).multinomial(len(used), [1 / len(used)] * len(used), resamples) @ sums
    return Calibration(
        values=float(total[BINS]),
        cases=len(used),
        confidence=float(total[BINS + 1] / total[BINS]),
        accuracy=_estimate(total[BINS + 2] / total[BINS], drawn[:, BINS + 2] / drawn[:, BINS]),
        error=_estimate(_error(total), _error(drawn)),
    )


def _error(sums: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    error: npt.NDArray[np.float64] = abs(sums[..., :BINS]).sum(axis=-1) / sums[..., BINS]
    return error


def _estimate(value: npt.ArrayLike, drawn: npt.NDArray[np.float64]) -> Estimate:
    import numpy as np

    low, high = np.quantile(drawn, (0.025, 0.975)).tolist()
    return Estimate(mean=float(np.asarray(value)), low=low, high=high)


def calibrations(found: CaseConfidences) -> dict[str, Calibration]:
    """Calibrate all values of a variant (`ALL_FIELDS`), then those of each field; empty where none has a confidence."""
    parts = {pattern: calibrate(found.values_of(pattern)) for pattern in (ALL_FIELDS, *found.patterns)}
    return {pattern: each for pattern, each in parts.items() if each is not None}
