"""Fresh runs of the cases that fell: what is chosen, how often it runs, and what the fresh runs decide."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from pytest_extract.regression.compare import compare
from pytest_extract.regression.facts import Rules, Subject, run_tests
from pytest_extract.regression.gate import (
    FIRST_SHARE,
    Answer,
    Spent,
    VariantPlan,
    confirm,
    decide,
    decide_confirmed,
    fallen_cases,
    held_runs,
    plan_variant,
    rests_on_few,
    suspects_of,
)
from pytest_extract.regression.snapshots import CaseKey, FailingField
from tests.regression.simulate import state, steady, suite

RULES = Rules()
LEVEL = RULES.alpha * FIRST_SHARE


def run(wrong, cases=40, fields=4, runs=1):
    """A side in which the fields of some cases fail: {case: {field: "0110"}} (1 is right)."""
    made = {}
    for number in range(cases):
        failing = {
            f"f{field}": FailingField(pattern=f"f{field}", runs=tuple(bit == "1" for bit in bits), gold="g", value="v")
            for field, bits in wrong.get(number, {}).items()
        }
        made[CaseKey(f"s::{number:02}", "")] = state(str(number), fields, failing, runs=runs)
    return made


def dead(*numbers, fields=4, bits="0"):
    return {number: dict.fromkeys(range(fields), bits) for number in numbers}


def planned(before, after, rules=RULES, **more):
    comparison = compare(before, after)
    (variant,) = comparison.variants
    return plan_variant(variant, run_tests(comparison, rules).results, rules, **{"most": 10, **more})


def decided(wrong_now, fresh_before, fresh_now, runs=2):
    """Decide on 40 cases of which some fail now, with fresh runs of those that fell."""
    before, after = run({}), run(wrong_now)
    first = decide(compare(before, after), RULES, level=LEVEL)
    plan = planned(before, after)
    assert isinstance(plan, VariantPlan)
    sides = [
        {key: each for key, each in run(wrong, runs=runs).items() if key.case in plan.cases}
        for wrong in (fresh_before, fresh_now)
    ]
    return first, decide_confirmed(first, confirm(first.comparison, [plan], compare(*sides), Spent(calls=9), RULES))


def test_the_cases_that_fell_are_chosen_the_worst_first():
    half = dict.fromkeys(range(2), "0")
    plan = planned(run({}), run({3: half, 7: half, 5: {0: "0"}}))
    assert plan.cases == ("s::03", "s::07", "s::05")
    assert set(plan.suspects) == {(Subject.OVERALL, ""), (Subject.PATTERN, "f0")}


def test_where_cases_died_these_alone_run_again_and_as_often_as_it_takes():
    plan = planned(run({}), run({**dead(3, 7), 5: {0: "0"}, 6: {1: "0"}}))
    assert (plan.cases, plan.runs) == (("s::03", "s::07"), 4)


def test_cases_that_fell_in_the_suspected_field_come_before_others():
    wrong = {number: {0: "0"} for number in range(6)} | {20: {1: "0", 2: "0"}}
    plan = planned(run({30: {3: "0"}, 31: {3: "0"}, 32: {3: "0"}}), run(wrong))
    assert plan.suspects == ((Subject.PATTERN, "f0"), (Subject.OVERALL, ""))
    assert plan.cases == tuple(f"s::{number:02}" for number in (*range(6), 20))


def test_no_more_cases_run_again_than_asked_for():
    plan = planned(run({}), run(dead(*range(12))), most=3)
    assert len(plan.cases) == 3
    assert plan.calls <= 12


@pytest.mark.parametrize(("fell", "runs", "calls"), [(10, 2, 40), (5, 2, 20), (3, 3, 18), (2, 4, 16), (1, 7, 14)])
def test_fewer_cases_have_more_runs_and_never_more_calls_than_four_a_case(fell, runs, calls):
    plan = planned(run({}), run(dead(*range(fell))))
    assert (plan.runs, plan.calls) == (runs, calls)


def test_a_confirmation_that_cannot_show_a_fall_is_not_planned():
    assert "cannot show a fall" in planned(run({}), run(dead(1)), most=1)
    assert "cannot show a fall" in planned(run({}), run(dead(1)), held={"s::01": 1})


def test_a_fall_that_luck_gives_every_other_time_is_not_worth_a_call():
    assert "luck" in planned(run(dead(1, 2, 3)), run(dead(4, 5)))


def test_only_cases_that_can_run_again_are_planned():
    before, after = run({}), run(dead(1, 2, 3))
    assert planned(before, after, among={"s::02", "s::03"}).cases == ("s::02", "s::03")
    assert planned(before, after, among=set()) == "none of the 3 cases that fell can be run again"
    assert planned(before, after, held={"s::02": 4}).cases == ("s::02",)


def test_a_fall_that_the_fresh_runs_show_is_worse():
    first, last = decided(dead(1, 2, 3), {}, dead(1, 2, 3, bits="000"), runs=3)
    assert (first.answer, last.answer) == (Answer.UNDECIDED, Answer.WORSE)
    assert last.reasons[0].startswith(
        "fields right 92.5 %, was 100.0 %: worse in 3 of 40 documents (01, 02, 03), better in 0"
    )
    assert last.reasons[1].startswith(
        "confirmed by fresh runs of 3 documents that fell (3 before, 3 now): fields right 0.0 %, was 100.0 %: "
        "worse in 3 of 3 documents (01, 02, 03), better in 0; 9 answers failed as a whole, 0 before (change -100"
    )


def test_a_fall_that_does_not_come_back_is_not_worse():
    first, last = decided(dead(1, 2, 3), {}, {}, runs=3)
    assert (first.answer, last.answer) == (Answer.UNDECIDED, Answer.PASS)
    assert any("not confirmed by fresh runs of 3 documents" in warning for warning in last.warnings)
    assert last.advice == ()


def test_a_red_on_few_cases_needs_the_fresh_runs():
    first, last = decided({n: {0: "0", 1: "0"} for n in range(7)}, {}, {}, runs=2)
    assert (first.answer, last.answer) == (Answer.WORSE, Answer.UNDECIDED)
    assert last.reasons[0].startswith("in the first runs fields right 91.2 %")


def test_a_field_in_doubt_that_holds_up_is_a_pass():
    first, last = decided({n: {0: "0"} for n in range(4)}, {}, {}, runs=3)
    assert (first.answer, last.answer) == (Answer.UNDECIDED, Answer.PASS)
    assert last.reasons[0].startswith("fields right 97.5 %, was 100.0 %; no fall found; falls of the mean above ")
    assert any("not confirmed by fresh runs" in warning for warning in last.warnings)


def test_without_a_fresh_result_the_first_runs_decide():
    first = decide(compare(run({}), run(dead(1, 2, 3))), RULES, level=LEVEL)
    plan = planned(run({}), run(dead(1, 2, 3)))
    last = decide_confirmed(first, confirm(first.comparison, [plan], compare({}, {}), Spent(), RULES))
    assert (last.answer, last.reasons) == (first.answer, first.reasons)


def test_a_confirmed_fall_of_less_than_half_a_point_is_not_worse():
    before, after = run({}, cases=400), run(dead(1), cases=400)
    first = decide(compare(before, after), RULES, level=LEVEL)
    plan = planned(before, after)
    names = {CaseKey(case, "") for case in plan.cases}
    sides = [
        {key: each for key, each in run(wrong, cases=3, runs=6).items() if key in names}
        for wrong in ({}, dead(1, bits="000000"))
    ]
    found = confirm(first.comparison, [plan], compare(*sides), Spent(), RULES)
    assert found.tests[0].significant
    assert decide_confirmed(first, found).answer is not Answer.WORSE  # one of 400 is a quarter of a point


def test_the_first_run_of_a_baseline_chooses_and_the_others_confirm():
    states = {key.case: each for key, each in run({1: {0: "011"}}, runs=3).items()}
    assert held_runs(states)["s::01"] == 2
    state = replace(states["s::01"], rules={"start <= end": (False, True, True)})
    first, later = state.with_runs(0, 1), state.with_runs(1, 3)
    assert first.failing["f0"].runs == (False,)
    assert (later.runs, dict(later.failing)) == (2, {})
    assert (first.rules, later.rules) == ({"start <= end": (False,)}, {"start <= end": (True, True)})


def test_repeats_that_stop_once_decided_hold_back_what_every_case_has():
    """A case that is decided after two runs has no third: those that have one disagreed in the first two."""
    states = {key.case: each for key, each in run({}, runs=2).items()}
    states["s::01"] = replace(states["s::01"], runs=3)
    assert set(held_runs(states).values()) == {1}
    states["s::02"] = replace(states["s::02"], runs=1, broken=1)
    assert "s::02" not in held_runs(states)


def test_a_red_rests_on_few_cases_only_where_its_p_is_no_smaller_than_luck_of_this_kind():
    few = decide(compare(run({}), run(dead(*range(7)))), RULES)
    assert rests_on_few(few.tests, few.effects[0], RULES, 10)
    assert not rests_on_few(few.tests, few.effects[0], RULES, 6)
    many_runs = decide(compare(run({}, runs=8), run(dead(*range(4), bits="0" * 8), runs=8)), Rules())
    assert many_runs.answer is Answer.WORSE
    assert not rests_on_few(many_runs.tests, many_runs.effects[0], RULES, 10)


def test_a_suspect_is_what_luck_gives_least_often():
    comparison = compare(run({20: {1: "0"}, 21: {1: "0"}}), run({number: {2: "0"} for number in range(8)}))
    found = suspects_of("", run_tests(comparison, RULES).results)
    assert (found[0].subject, found[0].name) == (Subject.PATTERN, "f2")
    assert fallen_cases(comparison.variants[0], (Subject.PATTERN, "f2"), RULES) == [
        f"s::0{number}" for number in range(8)
    ]
    assert suspects_of("", run_tests(compare(run({}), run({})), RULES).results) == ()


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
        if isinstance(plan, str):
            worse += first.answer is Answer.WORSE
            continue
        sides = suite(source, cases=20, fields=6, chances=(steady(0.8),) * 2, runs=plan.runs)
        fresh = compare(*({key: each for key, each in side.items() if key.case in plan.cases} for side in sides))
        found = confirm(first.comparison, [plan], fresh, Spent(), RULES)
        confirmed += bool(found.fallen)
        worse += first.answer is Answer.WORSE or bool(found.fallen)  # more often than the gate says it
    assert confirmed <= 6  # 2.5 % of 80, and three standard errors
    assert worse <= 10


def test_the_tests_of_both_stages_are_told_by_one_p():
    before, after = run({}), run(dead(*range(7)))
    (half,) = {test.adjusted for test in run_tests(compare(before, after), RULES, level=LEVEL).results[:1]}
    (whole,) = {test.adjusted for test in run_tests(compare(before, after), RULES).results[:1]}
    assert half >= whole
    assert run_tests(compare(before, after), RULES, level=LEVEL).results[0].level == RULES.alpha


def test_the_fresh_runs_are_tested_for_nothing_but_the_suspects():
    before, after = run({}), run(dead(1, 2, 3))
    comparison = compare(before, after)
    tests = run_tests(comparison, RULES, only={"": [(Subject.PATTERN, "f1")]}).results
    assert {(test.subject, test.name) for test in tests} == {(Subject.OVERALL, ""), (Subject.PATTERN, "f1")}
