"""Auto-accept over a run: what the cases show, and thresholds that are proposed on one half and hold on the other."""

from __future__ import annotations

import math
import random

import pytest

from pytest_extract import compile_schema
from pytest_extract.core.aggregate.confidence import (
    ALL_FIELDS,
    AutoAcceptTotals,
    CaseConfidences,
    CaseCounts,
    ConfidentValue,
    Shown,
    accepted_at,
    propose_threshold,
    propose_thresholds,
)
from pytest_extract.core.case_result import (
    AcceptedCounts,
    Attempt,
    AutoAccept,
    CaseResult,
    Outcome,
    Variant,
    count_accepted,
)
from pytest_extract.report.summary import auto_accept_text
from tests.core.aggregate.confident_suites import calibrated, counts_of, over_confident, suite, true_precision

NAMES = ("a", "b")
SCORER = compile_schema({"type": "object", "properties": {name: {"type": "integer"} for name in NAMES}})
RULE = AutoAccept(confidence=0.9, precision=0.9)


def score_of(*values, repeats=1):
    """Score an output whose fields `a`, `b` have (confidence, right)."""
    gold = dict.fromkeys(NAMES[: len(values)], 1)
    output = {
        name: {"value": 1 if right else 2, "confidence": confidence}
        for name, (confidence, right) in zip(NAMES, values, strict=False)
    }
    return SCORER.score(gold, output, confidence="wrapper").record()


def result_of(number, *scores, rule=RULE, outcome=Outcome.PASSED, known=(), variant=""):
    attempts = tuple(Attempt(index=index, outcome=outcome, score=score) for index, score in enumerate(scores))
    return CaseResult(
        nodeid=f"a.extract.yaml::{number}", case_id=str(number), file="a.extract.yaml", variant=Variant(model=variant or None),
        outcome=outcome, attempts=attempts, auto_accept=rule, known=known,
    )  # fmt: skip


def decide(results):
    totals = AutoAcceptTotals()
    for result in results:
        totals.add(result)
    return totals.decisions


def test_values_at_and_above_the_threshold_are_accepted():
    found = count_accepted(score_of((0.9, True), (0.89, False)).leaves, RULE)
    assert found == AcceptedCounts(decided=2, accepted=1, wrong=0)
    assert (found.precision, found.coverage) == (1.0, 0.5)


def test_a_field_may_have_a_threshold_of_its_own():
    score = score_of((0.95, True), (0.95, False))
    assert count_accepted(score.leaves, AutoAccept(confidence=0.9, fields={"b": 0.99})).wrong == 0
    assert count_accepted(score.leaves, AutoAccept(fields={"b": 0.9})) == AcceptedCounts(decided=2, accepted=1, wrong=1)


def test_values_without_confidence_and_outputs_that_break_the_schema_are_not_accepted():
    bare = SCORER.score({"a": 1}, {"a": 1}).record()
    assert count_accepted(bare.leaves, RULE, usable=bare.gates.structural).accepted == 0
    broken = SCORER.score({"a": 1}, {"a": {"value": "x", "confidence": 1}}, confidence="wrapper").record()
    assert count_accepted(broken.leaves, RULE, usable=broken.gates.structural) == AcceptedCounts(decided=1)


def test_a_precision_is_shown_with_enough_cases_only():
    right = [result_of(number, score_of((0.95, True), (0.5, False))) for number in range(40)]
    (enough,) = decide(right)
    (few,) = decide(right[:20])
    assert (enough.shown, few.shown) == (Shown.HOLDS, Shown.UNDECIDED)
    assert enough.counts.lowest == pytest.approx(0.05 ** (1 / 40), abs=1e-5)
    assert few.counts.needed(0.9) == 29
    assert auto_accept_text(enough) == (
        "auto-accept at confidence 0.9 holds 90 %: 40 of 40 accepted values right (100 %), at least 92.7 % by case "
        "(95 % sure); coverage 50 %, 40 cases"
    )
    assert auto_accept_text(few).endswith("20 cases; about 29 cases without a wrong value would show it")


def test_nearly_all_is_told_from_all():
    right, wrong = score_of((0.95, True), (0.95, True)), score_of((0.95, False))
    (decision,) = decide([result_of(number, right if number else wrong) for number in range(11_001)])
    assert "22,000 of 22,001 accepted values right (> 99.9 %)" in auto_accept_text(decision)


def test_a_precision_that_is_missed_names_the_fields():
    results = [result_of(number, score_of((0.95, number % 5 > 0), (0.95, True))) for number in range(30)]
    (decision,) = decide(results)
    assert decision.shown is None or decision.shown is not Shown.HOLDS
    assert decision.wrong == {"a": 6}
    (missed,) = decide([result_of(number, score_of((0.95, number % 2 > 0))) for number in range(30)])
    assert missed.shown is Shown.MISSED
    assert "misses 90 %: 15 of 30 accepted values right (50 %)" in auto_accept_text(missed)


def test_broken_cases_known_failures_and_repeats():
    broken = result_of(1, score_of((0.95, False)), outcome=Outcome.BROKEN)
    known = result_of(2, score_of((0.95, False), (0.95, True)), known=("a",))
    twice = result_of(3, score_of((0.95, False)), score_of((0.95, True)))
    (decision,) = decide([broken, known, twice])
    assert decision.counts.total == AcceptedCounts(decided=2, accepted=2, wrong=0.5)
    assert len(decision.counts.accepted) == 2


def test_each_rule_and_variant_is_decided_by_itself():
    other = AutoAccept(confidence=0.5)
    results = [
        result_of(1, score_of((0.95, True))),
        result_of(1, score_of((0.95, False)), variant="m"),
        result_of(2, score_of((0.95, True)), rule=other),
        result_of(3, score_of((0.95, True)), rule=None),
    ]
    found = decide(results)
    assert [(each.variant, each.rule, each.counts.total.wrong) for each in found] == [
        ("", RULE, 0),
        ("m", RULE, 1),
        ("", other, 0),
    ]
    assert found[2].shown is None
    assert "at least" in auto_accept_text(found[2])
    nothing = decide([result_of(1, score_of((0.1, True)))])[0]
    assert nothing.counts.needed(0.9) is None
    assert "no value reaches it" in auto_accept_text(nothing)


@pytest.mark.parametrize("truth", [calibrated, over_confident])
@pytest.mark.parametrize("together", [0.0, 0.5])
def test_the_promise_of_the_gate_holds_in_95_percent_of_suites(truth, together):
    """The hardest case: the true precision is a hair below what is asked for. The manual has the figures of 1,000 suites."""
    source = random.Random(15)
    asked = true_precision(truth, 0.85) + 1e-9
    suites = 100
    wrongly = 0
    for _ in range(suites):
        cases = suite(source, truth, cases=60, fields=6, together=together)
        wrongly += CaseCounts([counts_of(values, 0.85) for values in cases]).shows(asked)
    assert wrongly <= 0.05 * suites + 2 * math.sqrt(0.05 * 0.95 * suites)


@pytest.mark.parametrize("truth", [calibrated, over_confident])
def test_a_threshold_proposed_on_one_half_holds_on_the_other(truth):
    source = random.Random(16)
    suites, proposed, held, observed = 10, 0, 0, 0
    for _ in range(suites):
        drawn = suite(source, truth, cases=240, fields=5)
        cases = [[ConfidentValue(*value) for value in values] for values in drawn]
        threshold = propose_threshold(cases[0::2], 0.9)
        if threshold is not None:
            proposed += 1
            held += true_precision(truth, threshold) >= 0.9
            observed += accepted_at(cases[1::2], threshold).total.precision >= 0.9
    assert proposed >= 0.9 * suites
    assert held >= 0.95 * proposed - 1
    assert observed >= 0.9 * proposed - 1


def test_thresholds_by_field_are_proposed_and_checked_on_different_cases():
    source = random.Random(4)
    confidences = CaseConfidences()
    for number in range(200):
        # `a` is right above 0.5, `b` at random
        first, second = source.random(), source.random()
        confidences.add(
            result_of(number, score_of((first, first > 0.5 or source.random() < 0.5), (second, source.random() < 0.5)))
        )
    one, two = confidences.halves()
    assert (len(one), len(two), set(one) & set(two)) == (100, 100, set())
    by_pattern = {each.pattern: each for each in propose_thresholds(confidences, 0.8)}
    assert set(by_pattern) == {ALL_FIELDS, "a", "b"}
    assert by_pattern["b"].threshold is None
    found = by_pattern["a"]
    assert 0.2 < found.threshold < 0.6
    assert found.proposed.lowest >= 0.8
    assert found.checked.total.precision >= 0.8
    assert propose_thresholds(confidences, 0.8)[1] == found, "the same every time"
    assert by_pattern["b"].needed <= len(by_pattern["b"].every.accepted)


def test_too_few_cases_say_how_many_are_needed():
    counts = CaseCounts([AcceptedCounts(5, 5, 0)] * 40)
    assert counts.needed(0.99) == 299
    assert CaseCounts([AcceptedCounts(5, 0, 0)]).needed(0.99) is None
    assert counts.lowest == pytest.approx(0.05 ** (1 / 40), abs=1e-5)
    assert propose_threshold([[ConfidentValue(0.9, True)]] * 40, 0.99) is None
