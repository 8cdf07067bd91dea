"""Thresholds of confidence: proposed on one part of the cases for a precision, and checked on the other part."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from pytest_extract.core.aggregate.auto_accept import (
    CONFIDENCE,
    cases_needed,
    p_if_all_right,
    precision_lower_bound,
    shows_precision,
    total_counts,
)
from pytest_extract.core.auto_accept import AcceptedCounts, decided_leaves
from pytest_extract.core.case_result import CaseResult

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
