"""A/A: one configuration against itself: how often the gate would cry wolf, and which fields are unsteady."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import permutations

from pytest_extract.regression.decision import Answer
from pytest_extract.regression.flakiness import FlakyField, flaky_fields
from pytest_extract.regression.gate import evaluate_gate
from pytest_extract.regression.rules import Rules
from pytest_extract.regression.snapshot import Snapshot


@dataclass(frozen=True, slots=True, kw_only=True)
class AATest:
    """What judging every run by every other gave: `worse` of `comparisons` is how often the gate cried wolf.

    The comparisons share runs, so their number is no number of independent trials. Unsteady fields: the worst first.
    """

    runs: int
    comparisons: int
    worse: int
    cannot_tell: int
    alpha: float
    fields: int
    unsteady: tuple[FlakyField, ...]
    reasons: tuple[str, ...]

    @property
    def rate(self) -> float:
        """Share of comparisons that said "worse"; there is no true change in any of them."""
        return self.worse / self.comparisons


def aa_test(runs: Sequence[Snapshot], rules: Rules) -> AATest:
    """Judge each run by each other one, in both directions.

    Raises ValueError for fewer than two runs: one run has nothing to be held against.
    """
    if len(runs) < 2:
        raise ValueError("an A/A test needs at least two runs")
    rules = replace(rules, ratchet_slack=None)
    verdicts = [evaluate_gate(before, after, rules).verdict for before, after in permutations(runs, 2)]
    answers = [verdict.answer for verdict in verdicts]
    reasons = {reason for verdict in verdicts if verdict.answer is Answer.WORSE for reason in verdict.reasons}
    unsteady = flaky_fields(runs)
    return AATest(
        runs=len(runs),
        comparisons=len(verdicts),
        worse=answers.count(Answer.WORSE),
        cannot_tell=answers.count(Answer.CANNOT_TELL),
        alpha=rules.alpha,
        fields=max(verdict.pairs for verdict in verdicts),
        unsteady=unsteady,
        reasons=tuple(sorted(reasons)),
    )
