"""The regression gate: compares two snapshots and decides WORSE, PASS or UNDECIDED, with reasons.

WORSE needs evidence beyond noise, dead cases, or a broken hard rule. UNDECIDED says that something fell and may be
noise, or that too much is missing. PASS says which falls are excluded. Outages are evidence of neither, and a
comparison of nothing never passes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from enum import StrEnum
from typing import Literal, TypeAlias

from pytest_extract.core.case_result import CaseResult, Origin
from pytest_extract.regression.baseline import Baseline
from pytest_extract.regression.compare import CaseComparison, Change, Comparison, compare, compare_with_variant
from pytest_extract.regression.confirmation import Confirmation
from pytest_extract.regression.facts import Facts, establish_facts, run_tests
from pytest_extract.regression.reasons import (
    advice_texts,
    assurance_text,
    confirmed_texts,
    doubt_texts,
    level_text,
    note_texts,
    rule_texts,
    unconfirmed_texts,
    warning_texts,
    worse_texts,
)
from pytest_extract.regression.rules import Rules
from pytest_extract.regression.snapshots import Snapshot, counted_states, snapshot

Inconclusive: TypeAlias = Literal["pass", "warn", "fail"]
EXIT_PASS, EXIT_WORSE, EXIT_USAGE, EXIT_UNDECIDED = 0, 1, 2, 3


class Answer(StrEnum):
    """The three answers of the gate."""

    WORSE = "WORSE"
    PASS = "PASS"  # noqa: S105  # no password
    UNDECIDED = "UNDECIDED"


@dataclass(frozen=True, slots=True, kw_only=True)
class GateDecision(Facts):
    """The answer of the gate with its reasons, and the facts that it is decided from.

    `warnings`: what a reader of PASS has to know. `advice`: what to do next. `confirmation`: fresh runs of the cases
    that fell, None where there are none. `by_rule`: a hard rule is broken.
    """

    answer: Answer
    reasons: tuple[str, ...]
    notes: tuple[str, ...]
    warnings: tuple[str, ...] = ()
    advice: tuple[str, ...] = ()
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
    same_run: bool = False,
    level: float | None = None,
) -> GateDecision:
    """Compare two snapshots and decide. `same_run`: both are known to be one and the same run. `level`: as in `decide`.

    Raises ConfigError if `rules.measure` names a measure that the cases do not have.
    """
    if any(state.origin is Origin.SAMPLE for state in after.values()):  # else the run is compared case by case
        before, after = counted_states(before), counted_states(after)
    compared = compare(before, after, same_run=same_run)
    return decide(compared, rules, level=level)


def evaluate_run(
    results: Sequence[CaseResult], baseline: Baseline, rules: Rules, *, level: float | None = None
) -> GateDecision:
    """Compare a run with a baseline and decide (`--extract-gate=regression`)."""
    return evaluate_gate(baseline.cases, snapshot(results), rules, level=level)


def evaluate_base(
    results: Sequence[CaseResult], base: str, rules: Rules, *, level: float | None = None
) -> GateDecision:
    """Compare every other variant of a run with its variant `base`, and decide once: `alpha` holds for all together."""
    states = counted_states(snapshot(results))
    return decide(compare_with_variant(states, base), rules, level=level)


def decide(comparison: Comparison, rules: Rules | None = None, *, level: float | None = None) -> GateDecision:
    """Decide on a comparison.

    `level`: the rate of false WORSE answers of the tests, `rules.alpha` by default; less where a confirmation is to
    have the rest. Raises ConfigError where `rules.measure` names a measure that the cases do not have.
    """
    rules = rules or Rules()
    if rules.measure is not None:
        comparison = _comparable_in(comparison, rules.measure)
    facts = establish_facts(comparison, rules, level=level)
    worse, doubts = worse_texts(facts), doubt_texts(facts)
    if worse:
        answer, reasons = Answer.WORSE, _with_level(worse, facts)
    elif doubts:
        answer, reasons = Answer.UNDECIDED, _with_level(doubts, facts)
    else:
        answer, reasons = Answer.PASS, [assurance_text(effect) for effect in facts.effects]
    found = {field.name: getattr(facts, field.name) for field in fields(Facts)}
    passed = answer is Answer.PASS
    return GateDecision(
        **found,
        answer=answer,
        reasons=tuple(reasons),
        notes=tuple(note_texts(facts)),
        warnings=tuple(warning_texts(facts)) if passed else (),
        advice=() if passed else tuple(advice_texts(facts, undecided=answer is Answer.UNDECIDED)),
        by_rule=bool(rule_texts(facts)) or (facts.rules.max_dead is not None and facts.has_died),
    )


def _with_level(reasons: Sequence[str], facts: Facts) -> list[str]:
    """Return the reasons, the first with the numbers of the suite where it has others."""
    first, *others = reasons
    if len(facts.effects) != 1 or level_text(facts.effects[0]) in first:
        return [first, *others]
    return [f"{level_text(facts.effects[0])}; {first}", *others]


def decide_confirmed(first: GateDecision, confirmation: Confirmation) -> GateDecision:
    """Decide by the fresh runs of the cases that fell; `first` is that of the first runs at their part of alpha.

    A fall that they confirm is WORSE. One that they do not is PASS where nothing else is in doubt, but UNDECIDED where
    the first runs alone would have been WORSE at all of alpha. Where too few cases ran again on both sides, the first
    runs decide.
    """
    if not confirmation.enough:
        missing = unconfirmed_texts(confirmation, first)
        return replace(first, advice=(*first.advice, *missing), confirmation=confirmation)
    if confirmation.fallen:
        reasons, advice = confirmed_texts(confirmation, first), advice_texts(first, undecided=False)
        return replace(
            first, answer=Answer.WORSE, reasons=tuple(reasons), advice=tuple(advice), confirmation=confirmation
        )
    failed, others = unconfirmed_texts(confirmation, first), doubt_texts(first, falls=False)
    alone = run_tests(first.comparison, first.rules).results
    if not others and first.answer is not Answer.WORSE and not any(test.significant for test in alone):
        return replace(
            first,
            answer=Answer.PASS,
            reasons=tuple(assurance_text(effect) for effect in first.effects),
            warnings=(*failed, *warning_texts(first)),
            advice=(),
            confirmation=confirmation,
        )
    seen, *further = first.reasons
    return replace(
        first,
        answer=Answer.UNDECIDED,
        reasons=(f"in the first runs {seen}", *failed, *further, *(each for each in others if each not in further)),
        advice=tuple(advice_texts(first, undecided=True, confirm=False)),
        confirmation=confirmation,
    )


def exit_status(decision: GateDecision, inconclusive: Inconclusive | None = None) -> int:
    """Exit status of `compare`: 0 PASS, 1 WORSE, 3 UNDECIDED.

    `inconclusive` maps the last to 0 (pass, warn) or 1 (fail); but a comparison of nothing stays 3, or becomes 1.
    """
    match decision.answer, inconclusive:
        case Answer.PASS, _:
            return EXIT_PASS
        case (Answer.WORSE, _) | (_, "fail"):
            return EXIT_WORSE
        case _, "pass" | "warn" if not decision.compared_nothing:
            return EXIT_PASS
        case _:
            return EXIT_UNDECIDED


def _comparable_in(comparison: Comparison, measure: str) -> Comparison:
    """Return a comparison without the cases whose measures count what the fields' comparison leaves out."""
    why = f"{measure} counts a known failure, or a field whose gold or metric changed"
    variants = []
    for variant in comparison.variants:
        cases = (
            CaseComparison(case=row.case, kind=Change.INCOMPARABLE, why=why) if row.measures_differ else row
            for row in variant.cases
        )
        variants.append(replace(variant, cases=tuple(cases)))
    return replace(comparison, variants=tuple(variants))
