"""The decision on auto-accept over a run: whether the share of right values that a case asks for is shown."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from typing import Final

from pytest_extract.core.auto_accept import AcceptedCounts, AutoAccept, count_accepted, decided_leaves
from pytest_extract.core.case_result import CaseResult
from pytest_extract.core.stats.share_bound import share_p_value, share_upper_bound

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
