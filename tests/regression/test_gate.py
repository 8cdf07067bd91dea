"""WORSE, PASS, UNDECIDED: each rule, each reason, each exit status."""

from __future__ import annotations

import json
import random
import re
from dataclasses import fields, replace
from importlib import resources
from pathlib import Path

import pytest

from pytest_extract.cli.compare import comparison_record
from pytest_extract.core.case_result import Variant
from pytest_extract.core.scorer import compile_schema
from pytest_extract.core.stats import mcnemar
from pytest_extract.errors import ConfigError
from pytest_extract.regression.compare import compare
from pytest_extract.regression.facts import Effect, Rules, Subject, read_rule, run_tests, tag_effects
from pytest_extract.regression.gate import Answer, evaluate_base, evaluate_gate, exit_status, level_text
from pytest_extract.regression.snapshots import case_state, snapshot
from pytest_extract.report.lines import text_of
from pytest_extract.report.run_report import gate_lines
from tests.regression.make import attempt, broken, not_run, prompt_changed, result, suite
from tests.regression.simulate import steady
from tests.regression.simulate import suite as simulated

GOOD = {"n": True, "m": True, "k": True, "items[0].p": True}
BAD = GOOD | {"m": False}


def verdict(before, after, **rules):
    return evaluate_gate(snapshot(before), snapshot(prompt_changed(after)), Rules(**rules))


def test_a_field_that_breaks_everywhere_is_worse_and_named():
    found = verdict(suite(12, GOOD), suite(12, BAD))
    assert found.answer is Answer.WORSE
    assert any(
        reason.startswith(
            "m: 0.0 % right, was 100.0 %: worse in 12 of 12 documents (c0, c1, c10, c11, c2 and 7 more), better in 0"
        )
        for reason in found.reasons
    )


@pytest.mark.parametrize(
    ("of_the_others", "told"), [("invoice.md", ", better in 0, all with credit.md"), ("credit.md", ", better in 0 (p ")]
)
def test_a_field_that_falls_with_one_of_several_prompts_names_it(of_the_others, told):
    before = suite(24, GOOD)
    after = [*suite(12, BAD), *(each for each in suite(24, GOOD) if int(each.case_id[1:]) >= 12)]
    sides = [
        [replace(each, prompt_file="credit.md" if int(each.case_id[1:]) < 12 else of_the_others) for each in side]
        for side in (before, after)
    ]
    assert any(reason.startswith("m: ") and told in reason for reason in verdict(*sides).reasons)


SCORER = compile_schema({"properties": {"total": {"type": "number"}, "name": {"type": "string"}}})


def scored(case_id, *outputs):
    gold = {"total": 1200 + int(case_id[1:]), "name": f"Company {case_id}"}
    outputs = [{**gold, **output(gold)} for output in outputs]
    scores = [SCORER.score(gold, output).record() for output in outputs]
    return result(case_id, *(attempt({}, index=index, score=score) for index, score in enumerate(scores)))


def right(_gold):
    return {}


def thousandfold(gold):
    return {"total": gold["total"] * 1000}


def cut(gold):
    return {"name": gold["name"][:7]}


def test_reasons_name_the_kinds_of_new_mistakes():
    before = [scored(f"c{number}", right) for number in range(40)]
    after = [
        scored(f"c{n}", thousandfold if n < 10 else (lambda _: {"total": 17.25}) if n < 12 else right)
        for n in range(40)
    ]
    decision = verdict(before, after)
    assert decision.answer is Answer.WORSE
    told = "new mistakes: 10 power of ten (1,000 times the gold), 2 others"
    assert all(reason.endswith(told) or told in reason for reason in decision.reasons)
    assert f"better in 0; {told} (change " in decision.reasons[0]
    field = next(reason for reason in decision.reasons if reason.startswith("total: "))
    assert f"better in 0; {told} (p " in field
    lines = [text_of(each) for each in gate_lines(decision, width=200, verbosity=1)]
    assert any(each.endswith("-> 1201000 (gold 1201): 1,000 times the gold") for each in lines)
    fields = json.loads(json.dumps(comparison_record(decision)))["comparison"]["variants"][0]["fields"]
    assert {(each["mistake"] or {}).get("kind") for each in fields} == {"power_of_ten", None}


def wrapped(case_id):
    gold = {"total": 1200, "name": f"Company {case_id}"}
    return result(case_id, attempt({}, score=SCORER.score(gold, {"data": gold}).record()))


def test_reasons_count_a_mistake_of_several_values_once():
    before = [scored(f"c{number}", right) for number in range(40)]
    after = [wrapped(f"c{n}") if n < 12 else scored(f"c{n}", right) for n in range(40)]
    assert "new mistakes: 12 wrapped (all of it stands under the key `data`)" in verdict(before, after).reasons[0]


def test_the_mistake_is_that_of_the_last_failing_run_and_a_fixed_field_has_none():
    state = case_state(scored("c1", thousandfold, cut, thousandfold, right))
    assert {path: entry.mistake.kind for path, entry in state.failing.items()} == {
        "total": "power_of_ten",
        "name": "affix",
    }
    before, after = [scored(f"c{n}", thousandfold) for n in range(30)], [scored(f"c{n}", right) for n in range(30)]
    assert all(change.mistake is None for change in verdict(before, after).comparison.variants[0].fields)


def test_one_fixed_and_another_broken_is_worse():
    found = verdict(suite(12, GOOD | {"n": False}), suite(12, BAD))
    assert found.answer is Answer.WORSE
    assert found.reasons[0].startswith("fields right 75.0 %, was 75.0 %; m: 0.0 % right, was 100.0 %: ")
    assert not any(reason.startswith(("n:", "all fields")) for reason in found.reasons)


def test_one_flip_among_many_cases_is_no_regression():
    after = [*suite(59, GOOD), result("c59", BAD)]
    assert verdict(suite(60, GOOD), after).answer is Answer.PASS


@pytest.mark.parametrize(("cases", "excluded"), [(3, "50.0"), (20, "14.3"), (60, "4.9")])
def test_equal_results_pass_and_say_what_so_few_cases_exclude(cases, excluded):
    found = verdict(suite(cases, GOOD), suite(cases, GOOD))
    assert found.answer is Answer.PASS
    assert found.reasons == (
        f"fields right 100.0 %, was 100.0 %; no fall found; falls of the mean above {excluded} points are ruled out",
    )


def test_with_a_margin_pass_needs_that_it_is_excluded():
    assert verdict(suite(60, GOOD), suite(60, GOOD), margin=0.05).answer is Answer.PASS
    found = verdict(suite(50, GOOD), suite(50, GOOD), margin=0.05)
    assert found.answer is Answer.UNDECIDED
    assert found.reasons[0].endswith("points are ruled out, and a fall of 5.0 points must be (margin)")


def test_a_run_held_against_itself_is_not_worse_however_small():
    run = snapshot(suite(3, BAD))
    assert evaluate_gate(run, run, Rules(), same_run=True).answer is Answer.PASS


def test_cases_that_the_change_does_not_touch_say_nothing_about_it():
    run = [replace(one, digests={**one.digests, "extractor": "7" * 64}) for one in suite(3, GOOD)]
    touched = prompt_changed(run[:1]) + run[1:]
    found = evaluate_gate(snapshot(run), snapshot(touched), Rules())
    assert found.effects[0].cases == 1
    assert "no fall of the mean is ruled out by 1 case" in found.reasons[0] or "above 75.0 points" in found.reasons[0]


def test_a_replay_of_recordings_is_not_worse_however_small_and_says_what_it_did_not_see():
    replayed = [result(f"c{number}", attempt(GOOD, recorded=True)) for number in range(3)]
    found = evaluate_gate(snapshot(suite(3, GOOD)), snapshot(replayed), Rules())
    assert found.answer is Answer.PASS
    assert any("replayed" in note for note in found.notes)
    other_prompt = evaluate_gate(snapshot(suite(3, GOOD)), snapshot(prompt_changed(replayed)), Rules())
    assert "falls of the mean above 50.0 points are ruled out" in other_prompt.reasons[0]


def test_an_outage_of_every_case_compared_nothing_and_is_never_green():
    found = verdict(suite(20, GOOD), [broken(f"c{number}") for number in range(20)])
    assert (found.answer, found.compared_nothing) == (Answer.UNDECIDED, True)
    assert {exit_status(found, how) for how in (None, "pass", "warn")} == {3}
    assert exit_status(found, "fail") == 1


def test_no_results_at_all_compared_nothing():
    assert verdict([], []).compared_nothing
    assert verdict(suite(3, GOOD), []).compared_nothing
    assert verdict([], suite(3, GOOD)).compared_nothing


@pytest.mark.parametrize(("lost", "answer"), [(4, Answer.PASS), (5, Answer.UNDECIDED), (20, Answer.UNDECIDED)])
def test_an_outage_of_some_cases_is_no_regression_but_of_many_leaves_doubt(lost, answer):
    after = suite(100, GOOD)[lost:] + [broken(f"c{number}") for number in range(lost)]
    found = verdict(suite(100, GOOD), after)
    assert found.answer is answer


@pytest.mark.parametrize(
    ("gone", "rules", "answer"),
    [
        (0, {}, Answer.PASS),
        (50, {}, Answer.PASS),
        (51, {}, Answer.UNDECIDED),
    ],
)
def test_cases_that_are_gone_are_noted_and_when_most_are_the_rest_does_not_stand_for_them(gone, rules, answer):
    found = verdict(suite(100, GOOD), suite(100, GOOD)[gone:], **rules)
    assert found.answer is answer
    assert [note.partition(" are ")[0] for note in found.notes] == [f"{gone} of 100 earlier cases"] * bool(gone)
    if answer is Answer.UNDECIDED:
        assert f"{gone} of 100 earlier cases are not in this run" in found.reasons[0]


def test_a_replay_of_a_few_of_the_cases_is_no_proof_for_all():
    replayed = [result(f"c{number}", attempt(GOOD, recorded=True)) for number in range(10)]
    assert evaluate_gate(snapshot(replayed), snapshot(replayed[:4]), Rules()).answer is Answer.UNDECIDED


def test_gone_cases_make_a_worse_run_no_better():
    assert verdict(suite(100, GOOD), suite(100, BAD)[60:]).answer is Answer.WORSE


def test_new_cases_do_not_make_up_for_those_that_are_gone():
    after = suite(100, GOOD)[60:] + [result(f"new{number}", GOOD) for number in range(60)]
    assert verdict(suite(100, GOOD), after).answer is Answer.UNDECIDED


def test_a_variant_that_was_not_run_at_all_is_noted():
    variants = [Variant(model="one"), Variant(model="two")]
    before = [each for variant in variants for each in suite(60, GOOD, variant=variant)]
    found = verdict(before, before[:60])
    assert found.answer is Answer.PASS
    (note,) = (note for note in found.notes if "60 of 60 earlier cases are not in this run" in note)
    assert "--extract-update-baseline" not in note  # it keeps the variant


def test_a_spent_budget_is_no_regression():
    after = suite(100, GOOD)[30:] + [not_run(f"c{number}") for number in range(30)]
    found = verdict(suite(100, GOOD), after)
    assert found.answer is Answer.UNDECIDED
    assert "30 of 100 cases" in found.reasons[0]


def test_a_failed_gate_is_worse_though_every_field_is_right():
    gated = [result(f"c{number}", attempt(GOOD, failed_gate="schema")) for number in range(12)]
    found = verdict(suite(12, GOOD), gated)
    assert found.answer is Answer.WORSE
    assert any(reason.startswith("(schema gate): 0.0 % right, was 100.0 %") for reason in found.reasons)


def test_fields_of_one_case_are_one_piece_of_evidence():
    """Twenty fields that break in one answer are one event; McNemar alone would call it proven."""
    wide = {f"f{number}": True for number in range(20)}
    after = [result("c0", dict.fromkeys(wide, False)), *suite(30, wide)[1:]]
    found = verdict(suite(30, wide), after)
    overall = next(test for test in found.tests if test.pattern is None)
    assert (overall.p, mcnemar(broken=20, fixed=0) < 0.0001) == (0.5, True)
    assert found.answer is not Answer.WORSE


@pytest.mark.parametrize(
    ("rules", "broken_fields", "answer"),
    [
        ({"max_fallen": 0}, 0, Answer.PASS),
        ({"max_fallen": 0}, 1, Answer.WORSE),
        ({"max_fallen": 2}, 2, Answer.PASS),
        ({"max_fallen": 2}, 3, Answer.WORSE),
        ({"max_drop": 0.005}, 2, Answer.PASS),
        ({"max_drop": 0.005}, 3, Answer.WORSE),
        ({"max_drop": 0.0}, 0, Answer.PASS),
    ],
)
def test_hard_rules(rules, broken_fields, answer):
    after = suite(100, BAD)[:broken_fields] + suite(100, GOOD)[broken_fields:]
    assert verdict(suite(100, GOOD), after, **rules).answer is answer


def test_a_named_measure_can_be_judged():
    found = verdict(suite(12, GOOD), suite(12, BAD), measure="f1")
    assert found.effects[0].measure == "f1"
    assert (found.effects[0].before, found.effects[0].after) == (1.0, 0.75)


def test_an_unknown_measure_is_a_mistake_with_the_nearest_name():
    with pytest.raises(ConfigError, match="did you mean 'pass_rate'"):
        verdict(suite(12, GOOD), suite(12, GOOD), measure="pas_rate")


@pytest.mark.parametrize("name", [field.name for field in fields(Rules)])
def test_every_rule_is_read_and_stands_in_the_manual(name):
    package = Path(str(resources.files("pytest_extract")))
    sources = [path.read_text("utf-8") for path in package.rglob("*.py") if path.name != "rules.py"]
    assert any(re.search(rf"rules\.{name}\b", source) for source in sources)
    assert re.search(rf"^\| .*`{name}`.* \|", (package / "docs" / "regression.md").read_text("utf-8"), re.MULTILINE)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("alpha", 0.0),
        ("alpha", 1.0),
        ("margin", -0.1),
        ("margin", float("nan")),
        ("max_cost_rise", -0.1),
        ("max_latency_rise", float("nan")),
        ("max_drop", float("nan")),
        ("max_fallen", -1),
        ("max_dead", -1),
    ],
)
def test_settings_out_of_range_are_refused(name, value):
    with pytest.raises(ConfigError, match=name):
        Rules(**{name: value})


def test_several_variants_are_judged_each_by_itself():
    """One of two models got worse: pooled, the steady one would water it down."""
    steady, weak = Variant(model="steady"), Variant(model="weak")
    before = suite(12, GOOD, variant=steady) + suite(12, GOOD, variant=weak)
    after = suite(12, GOOD, variant=steady) + suite(12, BAD, variant=weak)
    found = verdict(before, after)
    assert found.answer is Answer.WORSE
    assert all(reason.startswith("[weak]") for reason in found.reasons)


def of_variants(results, *labels):
    return [result for result in results if result.variant.label in labels]


def test_two_variants_of_one_run_are_judged():
    run = suite(12, GOOD, variant=Variant(revision="main")) + suite(12, BAD, variant=Variant(revision="now"))
    assert evaluate_base(of_variants(run, "main", "now"), "main", Rules()).answer is Answer.WORSE
    assert evaluate_base(of_variants(run, "now", "main"), "now", Rules()).answer is not Answer.WORSE


def test_several_variants_against_a_base_share_one_error_budget():
    names = ("base", "one", "two", "three")
    run = [case for name in names for case in suite(12, GOOD, variant=Variant(model=name))]
    weak = (
        suite(12, GOOD | {"m": False}, variant=Variant(model="weak"))[:6]
        + suite(12, GOOD, variant=Variant(model="weak"))[6:]
    )
    alone = evaluate_base(of_variants([*run, *weak], "base", "weak"), "base", Rules())
    together = evaluate_base([*run, *weak], "base", Rules())
    assert [variant.after for variant in together.comparison.variants] == ["one", "three", "two", "weak"]
    assert alone.tests[0].adjusted == together.tests[0].adjusted  # variants without a change cost nothing
    assert together.answer is Answer.WORSE
    assert {test.variant for test in together.tests if test.adjusted <= 0.05} == {"base -> weak"}


def test_a_new_variant_has_nothing_to_be_held_against_and_says_so():
    before = suite(60, GOOD, variant=Variant(model="a"))
    after = suite(60, GOOD, variant=Variant(model="a")) + suite(60, BAD, variant=Variant(model="b"))
    found = verdict(before, after)
    assert found.answer is Answer.PASS
    assert "[before -> b] no earlier result: nothing to compare it with yet" in found.notes


def test_what_is_not_comparable_is_told_with_the_way_out():
    before = suite(60, GOOD)
    after = [replace(one, digests={**one.digests, "gold": "e" * 64}) for one in suite(60, GOOD | {"m": ("x", "y")})]
    found = verdict(before, after)
    assert found.answer is Answer.PASS
    assert any("gold changed" in note and "--extract-from" in note for note in found.notes)


@pytest.mark.parametrize(
    ("answer", "inconclusive", "status"),
    [
        (Answer.PASS, None, 0),
        (Answer.PASS, "fail", 0),
        (Answer.WORSE, None, 1),
        (Answer.WORSE, "pass", 1),
        (Answer.UNDECIDED, None, 3),
        (Answer.UNDECIDED, "pass", 0),
        (Answer.UNDECIDED, "warn", 0),
        (Answer.UNDECIDED, "fail", 1),
    ],
)
def test_exit_status(answer, inconclusive, status):
    found = replace(verdict(suite(3, GOOD), suite(3, GOOD)), answer=answer)
    assert exit_status(found, inconclusive) == status


def wide(wrong=(), fields=20):
    return {f"f{number}": number not in wrong for number in range(fields)}


ALL = range(20)


def repeated(count, *runs, dead=0):
    """`count` cases; the runs are right, but those of the first `dead` cases all wrong."""
    return [
        result(f"c{number}", *[wide(ALL if number < dead else ()) for _ in range(*runs)]) for number in range(count)
    ]


@pytest.mark.parametrize(("cases", "runs"), [(50, (10, 10)), (200, (3, 3)), (50, (5, 1)), (50, (1, 5))])
def test_a_few_cases_that_fail_in_every_run_are_proven_by_their_runs(cases, runs):
    """One run a side cannot show it: four cases have one chance in sixteen to fall together."""
    before, after = repeated(cases, runs[0]), repeated(cases, runs[1], dead=4)
    found = verdict(before, after)
    assert found.answer is Answer.WORSE
    assert found.reasons[0].startswith("fields right 9")
    assert any(test.significant for test in found.tests)
    single = verdict(repeated(cases, 1), repeated(cases, 1, dead=4))
    assert not any(test.significant for test in single.tests)


def test_all_runs_of_a_baseline_count_against_one_run_of_now():
    """A field that fails in 1 of 6 cases now, and in one of five runs then, is less surprising than one that never did."""
    steady = [result(f"c{number}", *[wide()] * 5) for number in range(40)]
    shaky = [result(f"c{number}", *[wide()] * 3, *[wide({0})] * 2) for number in range(40)]
    after = [result(f"c{number}", wide({0} if number < 7 else ())) for number in range(40)]
    p_steady, p_shaky = (
        next(test.p for test in verdict(before, after).tests if test.name == "f0") for before in (steady, shaky)
    )
    assert p_steady < 0.001
    assert p_shaky > 0.05


def trade(cases, gain, gained, loss):
    """Of `cases` cases of twenty fields, `gained` gain `gain` fields and the others lose `loss`."""
    before = [result(f"c{n:03}", wide(range(gain)) if n < gained else wide()) for n in range(cases)]
    after = [result(f"c{n:03}", wide() if n < gained else wide(range(loss))) for n in range(cases)]
    return before, after


def test_many_small_losses_for_a_few_large_gains_are_no_fall_of_the_mean():
    """The mean stays; the fields that fell are named by tests of their own."""
    found = verdict(*trade(100, 4, 20, 1), measure="f1")
    overall = next(test for test in found.tests if test.subject is Subject.OVERALL)
    assert overall.adjusted > 0.05


def test_the_interval_that_is_shown_leaves_out_no_change_exactly_if_the_mean_is_called_worse():
    for fallen in range(20):
        after = [result(f"c{n}", wide({n % 20} if n < fallen else ())) for n in range(30)]
        found = verdict(suite(30, wide()), after)
        overall = next(test for test in found.tests if test.subject is Subject.OVERALL)
        assert (found.effects[0].bounds.high < 0) == (overall.adjusted <= 0.05)


def test_a_sure_fall_of_less_than_half_a_point_is_a_note():
    before, after = suite(400, wide()), [result(f"c{n}", wide({n % 20} if n < 30 else ())) for n in range(400)]
    found = verdict(before, after)
    assert found.answer is Answer.PASS
    assert any(note.startswith("all fields fell by 0.4 points, beyond noise") for note in found.notes)


def test_small_losses_that_fewer_whole_failures_make_up_for_are_a_note():
    before = [result(f"c{n:03}", wide(ALL if n >= 194 else ())) for n in range(200)]
    after = [result(f"c{n:03}", wide({n % 20} if n < 60 else ())) for n in range(200)]
    found = verdict(before, after)
    complete = next(test for test in found.tests if test.subject is Subject.COMPLETE)
    assert complete.beyond_noise
    assert complete.fall < 0.005 < complete.drop
    assert found.answer is Answer.PASS
    assert any("beyond noise, but the mean of all by less than 0.5 points" in note for note in found.notes)
    assert verdict(before[:196], after[:196]).answer is Answer.WORSE  # two fewer may be chance


def test_nearly_all_is_told_from_all():
    effect = Effect(
        variant="", measure="fields right", cases=50, before=1.0, after=0.9998, bounds=None, runs=((1, 1), (1, 1))
    )
    assert level_text(effect) == "fields right > 99.9 %, was 100.0 %"
    assert level_text(replace(effect, after=0.0002, before=0.5)) == "fields right < 0.1 %, was 50.0 %"


def test_pass_is_not_said_of_a_field_that_fell_with_nothing_against_it():
    after = [result(f"c{n}", wide({0} if n < 4 else ())) for n in range(50)]
    found = verdict(suite(50, wide()), after)
    assert found.answer is Answer.UNDECIDED
    (reason,) = found.reasons
    assert reason == (
        "fields right 99.6 %, was 100.0 %; f0: 92.0 % right, was 100.0 %: worse in 4 of 50 documents (c0, c1, c2, c3), "
        "better in 0 (p = 0.062 after correction); it may be noise"
    )
    assert found.advice[0] == "look first at c0, c1, c2, c3"
    assert found.advice[1].endswith(
        "run 4 cases that fell again on both sides: pytest --extract-confirm (16 calls, $0.16)"
    )


def test_a_fall_as_luck_gives_it_is_no_fall():
    before, after = simulated(random.Random(3), cases=60, fields=20, chances=(steady(0.9),) * 2)
    found = evaluate_gate(before, after, Rules())
    assert found.answer is Answer.PASS


def test_a_rise_of_broken_runs_is_tested_and_named_by_kind():
    refused = [broken(f"c{n}", why="BadRequestError: content filtered") for n in range(5)]
    found = verdict(suite(50, GOOD), [*refused, *suite(50, GOOD)[5:]])
    assert found.answer is Answer.UNDECIDED
    assert found.broken[0].p == 0.5**5
    assert found.reasons[0].endswith(
        "5 of 50 cases broke, 0 before (5 BadRequestError): more than chance gives (p = 0.031); "
        "an outage, or the change itself: to see which, run c0, c1, c2, c3, c4 again: pytest --lf"
    )
    assert verdict([*refused, *suite(50, GOOD)[5:]], [*refused, *suite(50, GOOD)[5:]]).broken[0].p == 1.0


@pytest.mark.parametrize(("rule", "what"), [("max_cost_rise", "cost"), ("max_latency_rise", "latency")])
def test_cost_and_latency_of_a_call_are_in_every_verdict_and_can_be_ruled(rule, what):
    before = [result(f"c{n}", attempt(GOOD, cost_usd=0.01, latency_s=1.0)) for n in range(60)]
    after = [result(f"c{n}", attempt(GOOD, cost_usd=0.012, latency_s=1.2)) for n in range(60)]
    found = verdict(before, after)
    assert {change.what: change.rise for change in found.calls} == pytest.approx({"cost": 0.2, "latency": 0.2})
    assert verdict(before, after, **{rule: 0.2}).answer is Answer.PASS
    ruled = verdict(before, after, **{rule: 0.19})
    assert ruled.answer is Answer.WORSE
    assert f"; rule: {what} of a call " in ruled.reasons[0]
    assert ruled.reasons[0].endswith("(+20 %), at most +19 % allowed")


def test_a_replay_has_no_cost_or_latency_of_its_own():
    replayed = [result(f"c{n}", attempt(GOOD, recorded=True, latency_s=2.0)) for n in range(3)]
    before = [result(f"c{n}", attempt(GOOD, latency_s=1.0)) for n in range(3)]
    assert verdict(before, replayed).calls == ()


def by_kind(dead):
    """Sixty cases, six of kind `credit`, of three runs each; those of one kind are wrong where `dead`."""
    kinds = ["credit" if number < 6 else "invoice" for number in range(60)]
    return [
        result(f"c{number}", *[wide(ALL if kind == dead else ()) for _ in range(3)], tags={"kind": kind})
        for number, kind in enumerate(kinds)
    ]


def test_a_document_type_that_breaks_is_named_by_its_tag():
    found = verdict(by_kind(None), by_kind("credit"), by=("kind",))
    assert found.answer is Answer.WORSE
    (reason,) = [reason for reason in found.reasons if reason.startswith("kind=")]
    assert reason.startswith(
        "kind=credit: fields right 0.0 %, was 100.0 %: worse in 6 of 6 documents (c0, c1, c2, c3, c4 and 1 more), better in 0"
    )
    tests = {test.name: test for test in found.tests if test.subject is Subject.TAG}
    assert (tests["kind=credit"].drop, tests["kind=invoice"].drop) == (1.0, 0.0)
    rows = [" ".join(text_of(each).split()) for each in gate_lines(found)]
    start = rows.index("kind cases before after p")
    assert rows[start + 1 : start + 3] == ["credit 6 100 % 0 % <0.001", "invoice 54 100 % 100 %"]


def test_values_of_a_tag_are_shown_beside_the_cases_without_it():
    before, after = by_kind(None), by_kind("credit")
    few = [
        [replace(each, tags={}) if index > 30 else each for index, each in enumerate(side)] for side in (before, after)
    ]
    (variant,) = verdict(*few, by=("kind",)).comparison.variants
    found = tag_effects(variant, Rules(by=("kind", "other")))
    assert [(each.tag, each.value, each.cases, each.before, each.after) for each in found] == [
        ("kind", "credit", 6, 1.0, 0.0),
        ("kind", "invoice", 25, 1.0, 1.0),
        ("kind", "(none)", 29, 1.0, 1.0),
    ]


def test_tags_are_in_the_family_of_the_fields_and_an_unknown_one_is_noted():
    found = verdict(by_kind(None), by_kind(None), by=("kinds",))
    assert [test for test in found.tests if test.subject is Subject.TAG] == []
    assert "no compared case has the tag 'kinds'; did you mean 'kind'?" in found.notes
    assert read_rule("by=kind, domain") == ("by", ("kind", "domain"))


def test_judging_by_tag_raises_no_more_false_alarms():
    source, alarms = random.Random(4), 0
    rules = Rules(by=("kind",))
    for _ in range(60):
        before, after = simulated(source, cases=30, fields=4, chances=(steady(0.8),) * 2)
        tagged = {key: replace(state, slices={"kind": int(state.case_id) % 6}) for key, state in after.items()}
        alarms += any(test.adjusted <= 0.05 for test in run_tests(compare(before, tagged), rules).results)
    assert alarms <= 8


def dead(count, numbers, runs=1, **more):
    """`count` cases of several runs, right but for some of which nothing can be read."""
    return [
        result(
            f"c{number}",
            *[attempt(wide(), index=run, failed_gate="parse" if number in numbers else "") for run in range(runs)],
            **more,
        )
        for number in range(count)
    ]


@pytest.mark.parametrize(
    ("cases", "runs", "died", "answer"),
    [
        (50, 3, 1, Answer.PASS),
        (50, 3, 2, Answer.WORSE),
        (50, 1, 1, Answer.PASS),
        (50, 1, 2, Answer.UNDECIDED),
        (50, 1, 3, Answer.UNDECIDED),
        (50, 1, 4, Answer.WORSE),
        (4, 1, 4, Answer.WORSE),
        (4, 1, 3, Answer.WORSE),
        (2, 1, 2, Answer.WORSE),
        (1, 1, 1, Answer.UNDECIDED),
    ],
)
def test_dead_cases_are_named_and_decide_where_they_are_no_noise(cases, runs, died, answer):
    found = verdict(dead(cases, (), runs), dead(cases, range(died)))
    assert found.answer is answer
    texts = found.warnings if answer is Answer.PASS else found.reasons
    ids = ", ".join(f"c{number}" for number in range(died))
    plural = "document" if cases == 1 else "documents"
    assert any(f"{died} of {cases} {plural} died ({ids})" in text for text in texts)


def test_dead_cases_of_a_suite_in_which_answers_fail_by_chance_are_left_to_the_tests():
    before = [*dead(49, (), 3), result("c49", attempt(wide()), attempt(wide(), index=1, failed_gate="parse"))]
    found = verdict(before, dead(50, range(2)))
    assert found.answer is Answer.PASS
    assert "2 of 50 documents died (c0, c1)" in found.warnings[0]


def test_an_answer_that_never_could_be_read_is_neither_dead_nor_noise():
    found = verdict(dead(50, [7], 3), dead(50, [7, 8, 9]))
    assert found.answer is Answer.WORSE
    assert found.collapses[0].cases == ("invoices/acme.extract.yaml::c8", "invoices/acme.extract.yaml::c9")


def test_one_wrong_field_of_two_kills_no_case():
    after = [result("c0", {"a": False, "b": True}), *suite(1, {"a": True, "b": True})[1:]]
    assert verdict(suite(1, {"a": True, "b": True}), after).collapses == ()


def test_a_tag_all_of_whose_cases_died_is_named():
    def tagged(numbers):
        return [
            replace(each, tags={"kind": "credit" if number < 2 else "invoice"})
            for number, each in enumerate(dead(50, numbers))
        ]

    found = verdict(tagged(()), tagged(range(2)))
    assert found.answer is Answer.WORSE
    assert "2 of 50 documents died (c0, c1), all of kind=credit: right before" in found.reasons[0]


def test_a_limit_on_dead_cases_is_a_hard_rule():
    assert verdict(dead(50, ()), dead(50, range(3)), max_dead=3).answer is Answer.PASS
    assert verdict(dead(50, ()), dead(50, range(1)), max_dead=0).answer is Answer.WORSE
    assert read_rule("max_dead=2") == ("max_dead", 2)
    with pytest.raises(ValueError, match="a rule of the gate"):
        read_rule("max_daed")


def test_a_doubtful_fall_is_one_that_the_same_tests_find_at_a_weaker_level():
    after = [result(f"c{n}", wide({0} if n < 4 else ())) for n in range(50)]
    found = verdict(suite(50, wide()), after)
    (doubtful,) = [test for test in found.tests if test.doubtful]
    assert (doubtful.name, doubtful.significant) == ("f0", False)
    assert verdict(suite(50, wide()), after, alpha=0.1).answer is Answer.WORSE


@pytest.mark.parametrize(
    ("cases", "wrong", "answer"), [(3, 3, "WORSE"), (2, 2, "WORSE"), (3, 2, "PASS"), (1, 1, "PASS")]
)
def test_a_suite_of_few_fields_that_is_all_wrong_has_died(cases, wrong, answer):
    def run(bad):
        return [result(f"c{number}", {"a": number >= bad}) for number in range(cases)]

    found = verdict(run(0), run(wrong))
    assert found.answer == answer
    assert any("died" in text for text in found.reasons) == (answer == "WORSE")
