"""Fresh runs of the cases that fell: what is chosen, how often it runs, and what the fresh runs decide."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from pytest_extract.core.case_result import Spending
from pytest_extract.regression.compare import compare
from pytest_extract.regression.facts import Rules, Subject, losses_of, run_tests
from pytest_extract.regression.gate import (
    FIRST_SHARE,
    Answer,
    confirm,
    decide,
    decide_confirmed,
    held_runs,
    plan_variant,
    rests_on_few,
    suspects_of,
)
from tests.regression.simulate import side_of, steady, suite

RULES = Rules()
LEVEL = RULES.alpha * FIRST_SHARE
WORSE, PASS, UNDECIDED = Answer.WORSE, Answer.PASS, Answer.UNDECIDED
OVERALL = (Subject.OVERALL, "")


def run(wrong, cases=40, fields=4, runs=1):
    """A side in which the fields of some cases fail: {case: {field: "0110"}} (1 is right)."""
    bits = [wrong.get(number, {}).items() for number in range(cases)]
    return side_of([{f"f{field}": [bit == "1" for bit in each] for field, each in case} for case in bits], fields, runs)


def wrong_in(cases, fields, bits="0"):
    return {number: dict.fromkeys(fields, bits) for number in cases}


def dead(*numbers, bits="0"):
    return wrong_in(numbers, range(4), bits)


def planned(before, after, **more):
    comparison = compare(before, after)
    (variant,) = comparison.variants
    return plan_variant(variant, run_tests(comparison, RULES).results, RULES, **{"most": 10, **more})


def decided(wrong_now, fresh_before, fresh_now, cases=40, runs=3):
    """Decide on cases of which some fail now, with fresh runs of those that fell."""
    before, after = run({}, cases), run(wrong_now, cases)
    first = decide(compare(before, after), RULES, level=LEVEL)
    plan = planned(before, after)
    sides = [
        {key: each for key, each in run(wrong, runs=runs).items() if key.case in plan.cases}
        for wrong in (fresh_before, fresh_now)
    ]
    found = confirm(first.comparison, [plan], compare(*sides), Spending(calls=9), RULES)
    return first, found, decide_confirmed(first, found)


def test_the_cases_that_fell_are_chosen_the_worst_first_and_those_of_the_suspected_field_before_others():
    plan = planned(run({}), run(wrong_in((3, 7), range(2)) | {5: {0: "0"}}))
    assert plan.cases == ("s::03", "s::07", "s::05")
    assert set(plan.suspects) == {OVERALL, (Subject.PATTERN, "f0")}
    plan = planned(run(wrong_in((30, 31, 32), [3])), run(wrong_in(range(6), [0]) | {20: {1: "0", 2: "0"}}))
    assert plan.suspects == ((Subject.PATTERN, "f0"), OVERALL)
    assert plan.cases == tuple(f"s::{number:02}" for number in (*range(6), 20))


def test_a_suspect_is_what_luck_gives_least_often():
    comparison = compare(run(wrong_in((20, 21), [1])), run(wrong_in(range(8), [2])))
    first, *_ = suspects_of("", run_tests(comparison, RULES).results)
    assert first.suspect == (Subject.PATTERN, "f2")
    losses = losses_of(comparison.variants[0], first.suspect, RULES)
    assert [case for case, loss in losses.items() if loss > 0] == [f"s::0{number}" for number in range(8)]
    assert suspects_of("", run_tests(compare(run({}), run({})), RULES).results) == ()


def test_where_cases_died_these_alone_run_again_and_as_often_as_it_takes():
    plan = planned(run({}), run({**dead(3, 7), 5: {0: "0"}, 6: {1: "0"}}))
    assert (plan.cases, plan.runs) == (("s::03", "s::07"), 4)


@pytest.mark.parametrize(
    ("fell", "most", "runs", "calls"),
    [(10, 10, 2, 40), (5, 10, 2, 20), (3, 10, 3, 18), (2, 10, 4, 16), (1, 10, 7, 14), (12, 3, 2, 12)],
)
def test_fewer_cases_have_more_runs_and_never_more_calls_than_four_a_case(fell, most, runs, calls):
    plan = planned(run({}), run(dead(*range(fell))), most=most)
    assert (len(plan.cases), plan.runs, plan.calls) == (min(fell, most), runs, calls)


def test_what_could_show_nothing_is_not_planned():
    assert planned(run({}), run(dead(1)), most=1) is None
    assert planned(run({}), run(dead(1)), held={"s::01": 1}) is None
    assert planned(run(dead(1, 2, 3)), run(dead(4, 5))) is None


def test_only_cases_that_can_run_again_are_planned():
    before, after = run({}), run(dead(1, 2, 3))
    assert planned(before, after, among={"s::02", "s::03"}).cases == ("s::02", "s::03")
    assert planned(before, after, among=set()) is None
    assert planned(before, after, held={"s::02": 4}).cases == ("s::02",)


def test_a_fall_that_the_fresh_runs_show_is_worse():
    first, _, last = decided(dead(1, 2, 3), {}, dead(1, 2, 3, bits="000"))
    assert (first.answer, last.answer) == (UNDECIDED, WORSE)
    documents = "documents (01, 02, 03), better in 0"
    assert last.reasons[0].startswith(f"fields right 92.5 %, was 100.0 %: worse in 3 of 40 {documents}")
    assert last.reasons[1].startswith(
        "confirmed by fresh runs of 3 documents that fell (3 before, 3 now): fields right 0.0 %, was 100.0 %: "
        f"worse in 3 of 3 {documents}; 9 answers failed as a whole, 0 before (change -100"
    )


NO_FALL, FIRST = "fields right 97.5 %, was 100.0 %; no fall found; falls of ", "in the first runs fields right"
GONE_AGAIN = {
    "dead cases": (dead(1, 2, 3), 3, (UNDECIDED, PASS), "fields right 92.5 %, was 100.0 %"),
    "a field in doubt": (wrong_in(range(4), [0]), 3, (UNDECIDED, PASS), NO_FALL),
    "a red on few cases": (wrong_in(range(7), range(2)), 2, (WORSE, UNDECIDED), f"{FIRST} 91.2 %"),
    "a red but for the part of alpha": (wrong_in(range(5), [0]), 2, (UNDECIDED, UNDECIDED), f"{FIRST} 96.9 %"),
}


@pytest.mark.parametrize(("wrong_now", "runs", "answers", "reason"), GONE_AGAIN.values(), ids=GONE_AGAIN)
def test_a_fall_that_does_not_come_back_is_not_worse(wrong_now, runs, answers, reason):
    first, _, last = decided(wrong_now, {}, {}, runs=runs)
    assert (first.answer, last.answer) == answers
    assert last.reasons[0].startswith(reason)
    if last.answer is PASS:
        assert any("not confirmed by fresh runs of" in warning for warning in last.warnings)
        assert last.advice == ()


def test_without_a_fresh_result_the_first_runs_decide():
    first = decide(compare(run({}), run(dead(1, 2, 3))), RULES, level=LEVEL)
    plan = planned(run({}), run(dead(1, 2, 3)))
    last = decide_confirmed(first, confirm(first.comparison, [plan], compare({}, {}), Spending(), RULES))
    assert (last.answer, last.reasons) == (first.answer, first.reasons)


def test_a_confirmed_fall_of_less_than_half_a_point_is_not_worse():
    _, found, last = decided(dead(1), {}, dead(1, bits="000000"), cases=400, runs=6)
    assert found.tests[0].significant
    assert last.answer is not WORSE  # one of 400 is a quarter of a point


def test_the_first_run_of_a_baseline_chooses_and_the_others_confirm():
    states = {key.case: each for key, each in run({1: {0: "011"}}, runs=3).items()}
    assert held_runs(states)["s::01"] == 2
    first, later = states["s::01"].with_runs(0, 1), states["s::01"].with_runs(1, 3)
    assert first.failing["f0"].runs == (False,)
    assert (later.runs, dict(later.failing)) == (2, {})


def test_repeats_that_stop_once_decided_hold_back_what_every_case_has():
    """A case that is decided after two runs has no third: those that have one disagreed in the first two."""
    states = {key.case: each for key, each in run({}, runs=2).items()}
    states["s::01"] = replace(states["s::01"], runs=3)
    assert set(held_runs(states).values()) == {1}
    states["s::02"] = replace(states["s::02"], runs=1, errors={"E": 1})
    assert "s::02" not in held_runs(states)


def test_a_red_rests_on_few_cases_only_where_its_p_is_no_smaller_than_luck_of_this_kind():
    few = decide(compare(run({}), run(dead(*range(7)))), RULES)
    assert [rests_on_few(few.tests, few.effects[0], RULES, most) for most in (10, 6)] == [True, False]
    many_runs = decide(compare(run({}, runs=8), run(dead(*range(4), bits="0" * 8), runs=8)), RULES)
    assert many_runs.answer is WORSE
    assert not rests_on_few(many_runs.tests, many_runs.effects[0], RULES, 10)


@pytest.mark.slow
def test_without_a_change_the_gate_with_its_confirmation_cries_wolf_in_at_most_five_percent(monkeypatch):
    """The choice is made by the first runs, which are as noisy as can be; only fresh runs are tested."""
    monkeypatch.setattr("pytest_extract.core.stats.LANES", 1_000)
    source = random.Random(11)
    worse = confirmed = 0
    for _ in range(80):
        before, after = suite(source, cases=20, fields=6, chances=(steady(0.8),) * 2)
        first = decide(compare(before, after), RULES, level=LEVEL)
        plan = planned(before, after)
        if plan is None:
            worse += first.answer is WORSE
            continue
        sides = suite(source, cases=20, fields=6, chances=(steady(0.8),) * 2, runs=plan.runs)
        fresh = compare(*({key: each for key, each in side.items() if key.case in plan.cases} for side in sides))
        found = confirm(first.comparison, [plan], fresh, Spending(), RULES)
        confirmed += bool(found.fallen)
        worse += first.answer is WORSE or bool(found.fallen)  # more often than the gate says it
    assert confirmed <= 6  # 2.5 % of 80, and three standard errors
    assert worse <= 10


def test_both_stages_are_told_by_one_p_and_the_second_tests_nothing_but_the_suspects():
    comparison = compare(run({}), run(dead(*range(7))))
    half, whole = run_tests(comparison, RULES, level=LEVEL).results[0], run_tests(comparison, RULES).results[0]
    assert half.adjusted == pytest.approx(whole.adjusted * RULES.alpha / LEVEL)
    assert half.level == RULES.alpha
    only = run_tests(comparison, RULES, only={"": [(Subject.PATTERN, "f1")]}).results
    assert {test.suspect for test in only} == {OVERALL, (Subject.PATTERN, "f1")}
