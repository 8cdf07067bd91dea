"""The regression gate: compares two snapshots and decides "worse", "not worse" or "cannot tell", with reasons.

"Worse" needs evidence beyond noise, or a broken hard rule. "Not worse" needs evidence too: that a drop of the margin
is excluded. Without either, the answer is "cannot tell". Outages are evidence of neither, and a comparison of nothing
never passes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Literal, TypeAlias

from pytest_extract.core.case_result import CaseResult
from pytest_extract.regression.baseline import Baseline
from pytest_extract.regression.changes import Comparison
from pytest_extract.regression.compare import compare, compare_with_arm
from pytest_extract.regression.confirmation import Confirmation
from pytest_extract.regression.effects import (
    BrokenRuns,
    CallChange,
    Effect,
    call_changes,
    count_broken_runs,
    measure_effect,
)
from pytest_extract.regression.multiple_testing import TestResult, Tests, run_tests
from pytest_extract.regression.ratchet import RatchetCheck, check_ratchet
from pytest_extract.regression.reasons import (
    advice_texts,
    assurance_text,
    broken_rule_texts,
    confirmed_texts,
    doubt_texts,
    fallen_text,
    note_texts,
    significant_falls,
    unconfirmed_texts,
    warning_texts,
)
from pytest_extract.regression.rules import Rules
from pytest_extract.regression.snapshots import Snapshot, snapshot

Inconclusive: TypeAlias = Literal["pass", "warn", "fail"]
EXIT_NOT_WORSE, EXIT_WORSE, EXIT_USAGE, EXIT_CANNOT_TELL = 0, 1, 2, 3


class Answer(StrEnum):
    """The three answers of the gate."""

    WORSE = "worse"
    NOT_WORSE = "not worse"
    CANNOT_TELL = "cannot tell"


@dataclass(frozen=True, slots=True, kw_only=True)
class GateDecision:
    """The answer of the gate with its reasons, and the comparison, tests and effects that it is decided from.

    `warnings`: what a reader of "not worse" has to know. `advice`: what to do next. `confirmation`: fresh runs of the
    cases that fell, None where there are none. `by_rule`: a hard rule is broken.
    """

    answer: Answer
    reasons: tuple[str, ...]
    notes: tuple[str, ...]
    comparison: Comparison
    tests: tuple[TestResult, ...]
    effects: tuple[Effect, ...]
    rules: Rules
    warnings: tuple[str, ...] = ()
    advice: tuple[str, ...] = ()
    broken: tuple[BrokenRuns, ...] = ()
    calls: tuple[CallChange, ...] = ()
    confirmation: Confirmation | None = None
    by_rule: bool = False

    @property
    def compared_nothing(self) -> bool:
        """Whether no (case, field) pair was compared; such a decision never passes, whatever `inconclusive` says."""
        return self.comparison.pairs == 0


def evaluate_gate(
    before: Snapshot,
    after: Snapshot,
    rules: Rules | None = None,
    *,
    best: Baseline | None = None,
    same_run: bool = False,
    level: float | None = None,
) -> GateDecision:
    """Compare two snapshots and decide. `best`: the baseline with the best accepted rates, for `rules.ratchet_slack`.

    `same_run`: both are known to be one and the same run. `level`: as in `decide`. Raises ConfigError if
    `rules.measure` names a measure that the cases do not have.
    """
    rules = rules or Rules()
    comparison = compare(before, after, same_run=same_run)
    if best is None or rules.ratchet_slack is None:
        return decide(comparison, rules, level=level)
    return decide(comparison, rules, check_ratchet(best, after, slack=rules.ratchet_slack), level=level)


def evaluate_run(
    results: Sequence[CaseResult], baseline: Baseline, rules: Rules, *, level: float | None = None
) -> GateDecision:
    """Compare a run with a baseline and decide (`--extract-gate=regression`)."""
    return evaluate_gate(baseline.cases, snapshot(results), rules, best=baseline, level=level)


def evaluate_base(
    results: Sequence[CaseResult], base: str, rules: Rules, *, level: float | None = None
) -> GateDecision:
    """Compare every other arm of a run with its arm `base` and decide once: `alpha` holds for all arms together."""
    states = snapshot(results)
    return decide(compare_with_arm(states, states, base), rules, level=level)


def decide(
    comparison: Comparison,
    rules: Rules | None = None,
    ratchet: RatchetCheck | None = None,
    *,
    level: float | None = None,
) -> GateDecision:
    """Decide on a comparison. Each pattern below its best accepted rate (`ratchet`) is a broken hard rule.

    `level`: the rate of false "worse" answers of the tests, `rules.alpha` by default; less where a confirmation is to
    have the rest. Raises ConfigError where `rules.measure` names a measure that the cases do not have.
    """
    rules = rules or Rules()
    ratchet = ratchet or RatchetCheck()
    tests = run_tests(comparison, rules, level=level) if rules.statistics else Tests()
    intervals = {interval.arm: interval for interval in tests.intervals()}
    effects = tuple(measure_effect(arm, rules, intervals.get(arm.label)) for arm in comparison.arms if arm.compared)
    broken = tuple(found for arm in comparison.arms if (found := count_broken_runs(arm, rules)) is not None)
    calls = tuple(change for arm in comparison.arms for change in call_changes(arm))
    ruled = [
        *broken_rule_texts(comparison, effects, broken, calls, rules),
        *map(fallen_text, ratchet.fallen),
    ]
    worse = [
        *ruled,
        *significant_falls(tests.results, effects, comparison, rules),
    ]
    doubts = doubt_texts(comparison, effects, tests.results, broken, rules)
    warnings: list[str] = []
    advice: list[str] = []
    if worse:
        answer, reasons = Answer.WORSE, worse
        advice = advice_texts(comparison, effects, tests.results, broken, rules, undecided=False)
    elif doubts:
        answer, reasons = Answer.CANNOT_TELL, doubts
        advice = advice_texts(comparison, effects, tests.results, broken, rules, undecided=True)
    else:
        answer, reasons = Answer.NOT_WORSE, [assurance_text(effect, rules) for effect in effects]
        warnings = warning_texts(comparison, effects, tests.results, rules)
    return GateDecision(
        answer=answer,
        reasons=tuple(reasons),
        notes=tuple(note_texts(comparison, effects, tests.results, ratchet, rules)),
        comparison=comparison,
        tests=tests.results,
        effects=effects,
        rules=rules,
        warnings=tuple(warnings),
        advice=tuple(advice),
        broken=broken,
        calls=calls,
        by_rule=bool(ruled),
    )


def decide_confirmed(first: GateDecision, confirmation: Confirmation) -> GateDecision:
    """Decide by the fresh runs of the cases that fell; `first` is that of the first runs at their part of alpha.

    A fall that they confirm is "worse". One that they do not is not: the answer is "not worse" where nothing else is in
    doubt, else "cannot tell", because the cases that did not fall were not run again. Where too few cases ran again on
    both sides, the first runs decide.
    """
    rules, comparison, effects = first.rules, first.comparison, first.effects
    if not confirmation.enough:
        missing = unconfirmed_texts(confirmation, rules)
        return replace(first, advice=(*first.advice, *missing), confirmation=confirmation)
    if confirmation.fallen:
        answer, reasons = Answer.WORSE, confirmed_texts(confirmation, comparison, effects, rules)
        advice = advice_texts(comparison, effects, first.tests, first.broken, rules, undecided=False)
        return replace(first, answer=answer, reasons=tuple(reasons), advice=tuple(advice), confirmation=confirmation)
    failed = unconfirmed_texts(confirmation, rules)
    others = doubt_texts(comparison, effects, (), first.broken, rules)
    if first.answer is Answer.CANNOT_TELL and not others:
        warnings = warning_texts(comparison, effects, first.tests, rules)
        return replace(
            first,
            answer=Answer.NOT_WORSE,
            reasons=tuple(assurance_text(effect, rules) for effect in effects),
            warnings=(*failed, *warnings),
            advice=(),
            confirmation=confirmation,
        )
    seen = [f"in the first runs {reason}" for reason in first.reasons] if first.answer is Answer.WORSE else []
    advice = advice_texts(comparison, effects, first.tests, first.broken, rules, undecided=True, confirm=False)
    return replace(
        first,
        answer=Answer.CANNOT_TELL,
        reasons=(*(seen or first.reasons)[:1], *failed, *(seen or first.reasons)[1:], *(others if seen else ())),
        advice=tuple(advice),
        confirmation=confirmation,
    )


def exit_status(decision: GateDecision, inconclusive: Inconclusive | None = None) -> int:
    """Exit status of `compare`: 0 not worse, 1 worse, 3 cannot tell.

    `inconclusive` maps the last to 0 (pass, warn) or 1 (fail); but a comparison of nothing stays 3, or becomes 1.
    """
    match decision.answer, inconclusive:
        case Answer.NOT_WORSE, _:
            return EXIT_NOT_WORSE
        case (Answer.WORSE, _) | (_, "fail"):
            return EXIT_WORSE
        case _, "pass" | "warn" if not decision.compared_nothing:
            return EXIT_NOT_WORSE
        case _:
            return EXIT_CANNOT_TELL
