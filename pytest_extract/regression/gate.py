"""The regression gate in one call: compare, hold against the ratchet, decide."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from pytest_extract.core.case_result import CaseResult
from pytest_extract.regression.baseline import Baseline
from pytest_extract.regression.changes import Comparison
from pytest_extract.regression.compare import compare, compare_arms
from pytest_extract.regression.decision import Decision, decide
from pytest_extract.regression.ratchet import Ratchet, check_ratchet
from pytest_extract.regression.rules import Rules
from pytest_extract.regression.snapshot import Snapshot, snapshot


class GateDecision(NamedTuple):
    """A comparison and what it comes to."""

    comparison: Comparison
    verdict: Decision


def evaluate_gate(
    before: Snapshot, after: Snapshot, rules: Rules, *, best: Baseline | None = None, same_run: bool = False
) -> GateDecision:
    """Judge one snapshot against another. `best` holds the best rates, needed where the rules have a ratchet.

    Raises ConfigError where the rules name a measure that the cases do not have.
    """
    comparison = compare(before, after, same_run=same_run)
    ratchet = Ratchet()
    if best is not None and rules.ratchet_slack is not None:
        ratchet = check_ratchet(best, after, slack=rules.ratchet_slack)
    return GateDecision(comparison, decide(comparison, rules, ratchet))


def evaluate_run(results: Sequence[CaseResult], baseline: Baseline, rules: Rules) -> GateDecision:
    """Judge a run against a baseline (`--extract-gate regression`)."""
    return evaluate_gate(baseline.cases, snapshot(results), rules, best=baseline)


def evaluate_base(results: Sequence[CaseResult], base: str, rules: Rules) -> GateDecision:
    """Judge every other arm of a run against its arm `base`, all in one: alpha is for all arms together."""
    states = snapshot(results)
    others = sorted({key.arm for key in states} - {base})
    comparison = Comparison(arms=tuple(compare_arms(states, states, base, other) for other in others))
    return GateDecision(comparison, decide(comparison, rules))
