"""WORSE, PASS, UNDECIDED: each rule, each reason, each exit status."""

from __future__ import annotations

import json
import random
import re
import sys
from dataclasses import fields, replace
from importlib import resources
from pathlib import Path

import pytest

from pytest_extract.bulk import BulkScorer
from pytest_extract.cli.compare import comparison_record
from pytest_extract.core.case_result import Origin, Variant
from pytest_extract.core.scorer import compile_schema
from pytest_extract.core.stats import mcnemar
from pytest_extract.errors import ConfigError
from pytest_extract.regression.compare import compare
from pytest_extract.regression.facts import Effect, Rules, Subject, read_rule, run_tests
from pytest_extract.regression.gate import Answer, evaluate_base, evaluate_gate, exit_status, level_text
from pytest_extract.regression.snapshots import case_state, snapshot
from pytest_extract.report.lines import text_of
from pytest_extract.report.run_report import comparison_title, gate_lines
from tests.regression.make import attempt, broken, not_run, prompt_changed, result, suite
from tests.regression.simulate import steady
from tests.regression.simulate import suite as simulated

WORSE, PASS, UNDECIDED = Answer.WORSE, Answer.PASS, Answer.UNDECIDED
GOOD = {"n": True, "m": True, "k": True, "items[0].p": True}
BAD = GOOD | {"m": False}
EVERY = range(20)


def wide(wrong=()):
    """Twenty fields, of which some are wrong."""
    return {f"f{number}": number not in wrong for number in EVERY}


def some(few, of, bad=BAD, good=GOOD):
    """`of` cases, of which the first `few` have other fields."""
    return suite(few, bad) + suite(of, good)[few:]


def verdict(before, after, **rules):
    return evaluate_gate(snapshot(before), snapshot(prompt_changed(after)), Rules(**rules))


def overall(found):
    return next(test for test in found.tests if test.subject is Subject.OVERALL)


def dead(count, numbers, runs=1, **more):
    """`count` cases of several runs, right but for some of which nothing can be read."""
    good, lost = ([attempt(wide(), index=run, failed_gate=gate) for run in range(runs)] for gate in ("", "parse"))
    return [result(f"c{number}", *(lost if number in numbers else good), **more) for number in range(count)]


def of_models(**models):
    """Return a run of some variants: their names, and the fields of their twelve cases."""
    return [each for name, fields in models.items() for each in suite(12, fields, variant=Variant(model=name))]


def out(count, made=broken):
    return [made(f"c{number}") for number in range(count)]


GATED = [result(f"c{number}", attempt(GOOD, failed_gate="schema")) for number in range(12)]
OTHER_GOLD = [replace(each, digests=each.digests | {"gold": "e" * 64}) for each in suite(60, GOOD | {"m": ("x", "y")})]
UNREAD = [result("c0", attempt({"a": False, "b": False}, failed_gate="parse"))]
OF_60, OF_100 = suite(60, GOOD), suite(100, GOOD)
CHANCE = [*dead(49, (), 3), result("c49", attempt(wide()), attempt(wide(), index=1, failed_gate="parse"))]
NEW = [result(f"new{number}", GOOD) for number in range(60)]
CREDIT = {"tags": {"kind": "credit"}}
CREDITS = suite(9, GOOD, **CREDIT)
TAG_DIED = [[*dead(2, numbers, **CREDIT), *dead(50, ())[2:]] for numbers in ((), range(2))]
MOST_DIED, FIELD = "2 of 50 documents died (c0, c1)", "m: 0.0 % right, was 100.0 %: worse in 12 of 12 documents "


@pytest.mark.parametrize(
    ("before", "after", "rules", "answer", "told"),
    [
        (suite(12, GOOD), suite(12, BAD), {}, WORSE, f"{FIELD}(c0, c1, c10, c11, c2 and 7 more), better in 0"),
        (suite(12, GOOD | {"n": False}), suite(12, BAD), {}, WORSE, f"fields right 75.0 %, was 75.0 %; {FIELD}"),
        (OF_60, some(1, 60), {}, PASS, "no fall found"),
        (OF_60[:3], OF_60[:3], {}, PASS, "no fall found; falls of the mean above 63.2 points are ruled out"),
        (OF_60, OF_60, {"margin": 0.05}, PASS, "no fall found; falls of the mean above 4.9 points are ruled out"),
        (OF_60[:58], OF_60[:58], {"margin": 0.05}, UNDECIDED, "out, and a fall of 5.0 points must be (margin)"),
        (suite(12, GOOD), GATED, {}, WORSE, "(schema gate): 0.0 % right, was 100.0 %"),
        (suite(1, {"a": True, "b": True}), UNREAD, {"max_fallen": 0}, WORSE, "rule: 2 fields fell, at most 0 allowed"),
        (OF_60, some(0, 60), {"max_fallen": 0, "max_drop": 0.0}, PASS, ""),
        (OF_60, some(1, 60), {"max_fallen": 0}, WORSE, "rule: 1 field fell, at most 0 allowed"),
        (OF_60, some(2, 60), {"max_fallen": 2}, PASS, ""),
        (OF_60, some(2, 60), {"max_drop": 0.0084}, PASS, ""),
        (OF_60, some(2, 60), {"max_drop": 0.0083}, WORSE, "rule: "),
        (OF_100, some(2, 100), {"max_drop": 0.005}, PASS, ""),  # the very drop that is allowed
        (OF_100, some(3, 100), {"max_drop": 0.005}, WORSE, "rule: "),
        (OF_60, OTHER_GOLD, {}, PASS, "(gold changed); score the old outputs under today's schema and gold: --ext"),
        (of_models(steady=GOOD, weak=GOOD), of_models(steady=GOOD, weak=BAD), {}, WORSE, "[weak] fields right 75.0 %"),
        (of_models(a=GOOD), of_models(a=GOOD, b=BAD), {}, PASS, "[b] no earlier result: nothing to compare"),
        (of_models(a=GOOD, b=GOOD), of_models(a=GOOD), {}, PASS, "remove the baseline and write it anew"),
        (dead(50, (), 3), dead(50, range(1)), {}, PASS, "1 of 50 documents died (c0)"),
        (dead(50, (), 3), dead(50, range(2)), {}, WORSE, MOST_DIED),
        (dead(50, ()), dead(50, range(1)), {}, PASS, "1 of 50 documents died (c0)"),
        (dead(50, ()), dead(50, range(2)), {}, UNDECIDED, MOST_DIED),
        (dead(50, ()), dead(50, range(3)), {}, UNDECIDED, "3 of 50 documents died (c0, c1, c2)"),
        (dead(50, ()), dead(50, range(4)), {}, WORSE, "4 of 50 documents died (c0, c1, c2, c3)"),
        (dead(4, ()), dead(4, range(3)), {}, WORSE, "3 of 4 documents died (c0, c1, c2)"),
        (dead(2, ()), dead(2, range(2)), {}, WORSE, "2 of 2 documents died (c0, c1)"),
        (dead(1, ()), dead(1, range(1)), {}, UNDECIDED, "1 of 1 document died (c0)"),
        (dead(1, ()), dead(1, range(1)), {"margin": 0.9}, UNDECIDED, "no fall of the mean is ruled out, and a fall of"),
        (CHANCE, dead(50, range(2)), {}, PASS, MOST_DIED),  # where answers fail by chance the tests decide
        (CHANCE, dead(50, range(30)), {}, WORSE, "30 of 50 documents died"),  # unless most died
        (dead(50, (), 7), dead(50, range(1)), {}, UNDECIDED, "1 of 50 documents died (c0)"),  # luck gives 1 of 8 so
        (*TAG_DIED, {}, WORSE, f"{MOST_DIED}, all of kind=credit: right before"),
        (dead(50, ()), dead(50, range(3)), {"max_dead": 3}, PASS, "3 of 50 documents died"),
        (dead(50, ()), dead(50, range(1)), {"max_dead": 0}, WORSE, "1 of 50 documents died"),
        (OF_100, out(4) + OF_100[4:], {}, PASS, "no fall found"),
        (OF_100, out(5) + OF_100[5:], {}, UNDECIDED, "5 of 100 cases ended in error, 0 before (5 ConnectionError)"),
        (OF_100, out(10, not_run) + OF_100[10:], {}, PASS, "no fall found"),
        (OF_100, out(11, not_run) + OF_100[11:], {}, UNDECIDED, "11 of 100 cases ended in error or were not run"),
        (OF_100, OF_100[50:], {}, PASS, "50 of 100 earlier cases are not in this run, and not judged"),
        (OF_100, OF_100[51:], {}, UNDECIDED, "51 of 100 earlier cases are not in this run, and the others do not"),
        (OF_100, OF_100[60:] + NEW, {}, UNDECIDED, "60 of 100 earlier cases are not in this run, and the others"),
        (OF_60, NEW, {}, UNDECIDED, "no case has its id and the path of its file from the rootdir in both runs"),
        (OF_100, suite(100, BAD)[60:], {}, WORSE, "60 of 100 earlier cases are not in this run"),
        (suite(3, {"a": True}), suite(3, {"a": False}), {}, WORSE, "died"),
        (suite(2, {"a": True}), suite(2, {"a": False}), {}, WORSE, "died"),
        (suite(3, {"a": True}), some(2, 3, {"a": False}, {"a": True}), {}, PASS, "no fall found"),
        (suite(1, {"a": True}), suite(1, {"a": False}), {}, PASS, "no fall found"),
        (CREDITS, CREDITS, {"by": ("kinds",)}, PASS, "has the tag 'kinds'; did you mean 'kind'?"),
    ],
)
def test_answers_and_what_they_tell(before, after, rules, answer, told):
    found = verdict(before, after, **rules)
    assert found.answer is answer
    assert told in "\n".join((*found.reasons, *found.warnings, *found.notes))


def test_where_nothing_is_gone_and_a_field_rose_neither_is_told():
    found = verdict(suite(12, GOOD | {"n": False}), suite(12, BAD))
    assert not any(reason.startswith(("n:", "all fields")) for reason in found.reasons)
    assert not found.notes


def test_a_variant_that_is_gone_is_none_that_the_run_is_compared_with():
    found = verdict(of_models(a=GOOD, b=GOOD), of_models(a=GOOD))
    assert comparison_title(found, is_gate=False) == "this run compared with its baseline"


@pytest.mark.parametrize(
    ("of_the_others", "told"), [("invoice.md", ", better in 0, all with credit.md"), ("credit.md", ", better in 0 (p ")]
)
def test_a_field_that_falls_with_one_of_several_prompts_names_it(of_the_others, told):
    def prompted(cases):
        names = ["credit.md"] * 12 + [of_the_others] * 12
        return [replace(each, prompt_file=name) for each, name in zip(cases, names, strict=True)]

    found = verdict(prompted(suite(24, GOOD)), prompted(some(12, 24)))
    assert any(reason.startswith("m: ") and told in reason for reason in found.reasons)


SCORER = compile_schema({"properties": {"total": {"type": "number"}, "name": {"type": "string"}}})


def scored(case_id, *outputs):
    """Score outputs that differ from the gold as given; each is a function of it."""
    gold = {"total": 1200 + int(case_id[1:]), "name": f"Company {case_id}"}
    scores = [SCORER.score(gold, output(gold)).record() for output in outputs]
    return result(case_id, *(attempt({}, index=index, score=score) for index, score in enumerate(scores)))


def right(gold):
    return gold


def thousandfold(gold):
    return gold | {"total": gold["total"] * 1000}


def test_reasons_name_the_kinds_of_new_mistakes():
    def output(number):
        return thousandfold if number < 10 else (lambda gold: gold | {"total": 17.25}) if number < 12 else right

    before = [scored(f"c{number}", right) for number in range(40)]
    decision = verdict(before, [scored(f"c{number}", output(number)) for number in range(40)])
    assert decision.answer is WORSE
    told = "; among new mistakes: 10 power of ten (1,000 times the gold)"
    assert all(told in reason for reason in decision.reasons)
    assert f"better in 0{told} (change " in decision.reasons[0]
    assert any(reason.startswith("total: ") and f"better in 0{told} (p " in reason for reason in decision.reasons)
    lines = [text_of(each) for each in gate_lines(decision, width=200, verbosity=1)]
    assert any(each.endswith("-> 1201000 (gold 1201): 1,000 times the gold") for each in lines)
    changes = json.loads(json.dumps(comparison_record(decision)))["comparison"]["variants"][0]["fields"]
    assert {(each["mistake"] or {}).get("kind") for each in changes} == {"power_of_ten", None}
    mended = verdict([scored(f"c{n}", thousandfold) for n in range(30)], before[:30])
    assert all(change.mistake is None for change in mended.comparison.variants[0].fields)


def test_a_mistake_of_several_values_counts_once_and_is_that_of_the_last_failing_run():
    before = [scored(f"c{number}", right) for number in range(40)]
    after = [scored(f"c{n}", (lambda gold: {"data": gold}) if n < 12 else right) for n in range(40)]
    assert "among new mistakes: 12 wrapped (all of it stands under the key `data`)" in verdict(before, after).reasons[0]
    state = case_state(scored("c1", thousandfold, lambda gold: gold | {"name": "Company"}, thousandfold, right))
    kinds = {path: entry.mistake.kind for path, entry in state.failing.items()}
    assert kinds == {"total": "power_of_ten", "name": "affix"}


def test_what_the_change_does_not_touch_says_nothing_about_it():
    run = [replace(one, digests={**one.digests, "extractor": "7" * 64}) for one in suite(3, GOOD)]
    found = evaluate_gate(snapshot(run), snapshot(prompt_changed(run[:1]) + run[1:]), Rules())
    assert found.effects[0].cases == 1
    assert found.reasons[0].endswith("falls of the mean above 95.0 points are ruled out")
    fell = [replace(run[2], attempts=suite(1, BAD)[0].attempts)]
    found = evaluate_gate(snapshot(run), snapshot(prompt_changed(run[:1]) + run[1:2] + fell))
    assert found.effects[0].cases == 2  # what fell counts, whether it is touched or not
    again = evaluate_gate(snapshot(run), snapshot(run))
    assert (again.effects[0].cases, again.effects[0].bounds is None) == (3, False)  # where nothing is, all count


def test_a_replay_of_recordings_is_not_worse_however_small_and_says_what_it_did_not_see():
    replayed = [result(f"c{number}", attempt(GOOD, recorded=True)) for number in range(10)]
    found = evaluate_gate(snapshot(suite(3, GOOD)), snapshot(replayed[:3]), Rules())
    assert found.answer is PASS
    assert any("replayed" in note for note in found.notes)
    assert evaluate_gate(snapshot(replayed), snapshot(replayed[:4]), Rules()).answer is UNDECIDED  # few of the cases


@pytest.mark.parametrize(("before", "after"), [(20, out(20)), (0, []), (3, []), (0, suite(3, GOOD))])
def test_what_compared_nothing_is_never_green(before, after):
    found = verdict(suite(before, GOOD), after)
    assert (found.answer, found.compared_nothing) == (UNDECIDED, True)
    assert [exit_status(replace(found, rules=Rules(inconclusive=how))) for how in (None, "warn", "fail")] == [3, 3, 1]


def test_fields_of_one_case_are_one_piece_of_evidence():
    """Twenty fields that break in one answer are one event; McNemar alone would call it proven."""
    found = verdict(suite(30, wide()), some(1, 30, wide(EVERY), wide()))
    assert (overall(found).p, mcnemar(broken=20, fixed=0) < 0.0001) == (0.5, True)
    assert found.answer is not WORSE


def test_the_mean_and_the_mean_of_whole_answers_have_parts_of_alpha():
    found = verdict(suite(12, GOOD), suite(12, BAD))
    adjusted = {test.subject: test.adjusted for test in found.tests if test.subject is not Subject.PATTERN}
    assert adjusted == pytest.approx({Subject.OVERALL: 0.5**12 / 0.6, Subject.COMPLETE: 0.5**12 / 0.2})


def test_a_field_pays_for_the_mean_beside_it_that_did_not_fall():
    before, after = suite(35, wide()) + some(40, 40, wide({1}))[35:], some(7, 40, wide({0}), wide())
    found = verdict(before, after)
    (field,) = [test for test in found.tests if test.name == "f0"]
    assert (field.p, field.significant, overall(found).significant) == (0.5**7, True, False)
    assert field.adjusted > field.luck


def test_a_named_measure_is_judged_without_cases_that_have_known_failures():
    found = verdict(suite(12, GOOD), suite(12, BAD), measure="f1")
    assert found.answer is WORSE
    assert (found.effects[0].measure, found.effects[0].before, found.effects[0].after) == ("f1", 1.0, 0.75)
    with pytest.raises(ConfigError, match="did you mean 'pass_rate'"):
        verdict(suite(12, GOOD), suite(12, GOOD), measure="pas_rate")
    known = verdict(suite(12, GOOD), suite(12, BAD, known=("m",)), measure="pass_rate")
    assert known.answer is not WORSE
    assert any("pass_rate counts a known failure" in note for note in known.notes)


@pytest.mark.parametrize("metrics", [["exact", "case"], ["case", "exact"]])
def test_a_field_is_right_where_all_of_its_metrics_find_it_so(metrics):
    ids = {"exact": "string_exact", "case": "string_case_insensitive"}
    config = {"metrics": [{"metric_id": ids[name]} for name in metrics]}
    scorer = compile_schema({"properties": {"a": {"type": "string", "evaluation_config": config}}})

    def run(output):
        score = scorer.score({"a": "x"}, {"a": output}).record()
        return [result(f"c{number}", attempt({}, score=score)) for number in range(20)]

    assert [verdict(run("x"), run(output)).answer for output in "xX"] == [PASS, WORSE]
    bounded = BulkScorer(scorer=scorer, thresholds={"fields": {"a": 1.0}})
    assert "field a 0.5 is below 1" in bounded.score({"id": "c", "gold": {"a": "x"}, "output": {"a": "X"}}).why


@pytest.mark.parametrize("synthetic", ["before", "after"])
def test_samples_are_compared_with_samples_and_a_run_without_them_case_by_case(synthetic):
    made = [replace(each, origin=Origin.SYNTHETIC, case_id=f"s{each.case_id}") for each in suite(6, GOOD)]
    after = made if synthetic == "after" else suite(4, GOOD)
    found = verdict([*suite(4, GOOD), *made], after)
    assert (found.answer, found.comparison.pairs) == (PASS, 4 * len(after))


@pytest.mark.parametrize("name", [field.name for field in fields(Rules)])
def test_every_rule_is_read_and_stands_in_the_manual(name):
    package = Path(str(resources.files("pytest_extract")))
    sources = [path.read_text("utf-8") for path in package.rglob("*.py") if path.name != "rules.py"]
    assert any(re.search(rf"rules\.{name}\b", source) for source in sources)
    assert re.search(rf"^\| .*`{name}`.* \|", (package / "docs" / "regression.md").read_text("utf-8"), re.MULTILINE)


OUT_OF_RANGE = "alpha=0 alpha=1 margin=-0.1 margin=nan max_drop=nan max_fallen=-1 max_dead=-1 keep_runs=0"


@pytest.mark.parametrize("rule", [*OUT_OF_RANGE.split(), "max_cost_rise=-0.1", "max_latency_rise=nan"])
def test_settings_out_of_range_are_refused(rule):
    name, value = read_rule(rule)
    with pytest.raises(ConfigError, match=name):
        Rules(**{name: value})


def test_rules_are_read_from_text():
    assert (read_rule("max_dead=2"), read_rule("by=kind, domain")) == (("max_dead", 2), ("by", ("kind", "domain")))
    with pytest.raises(ValueError, match="a rule of the gate"):
        read_rule("max_daed")
    with pytest.raises(ValueError, match="must give inconclusive one of warn, fail"):
        read_rule("inconclusive=pass")


def test_several_variants_against_a_base_share_one_error_budget():
    steady = of_models(base=GOOD, one=GOOD, two=GOOD, three=GOOD)
    weak = of_models(weak=BAD)[:6] + of_models(weak=GOOD)[6:]
    alone = evaluate_base(steady[:12] + weak, "base", Rules())
    together = evaluate_base(steady + weak, "base", Rules())
    assert [variant.after for variant in together.comparison.variants] == ["one", "three", "two", "weak"]
    assert alone.tests[0].adjusted == together.tests[0].adjusted  # variants without a change cost nothing
    assert together.answer is WORSE
    assert {test.variant for test in together.tests if test.adjusted <= 0.05} == {"base -> weak"}
    two = evaluate_base(of_models(base=GOOD, one=BAD, two=BAD), "base", Rules())
    one = evaluate_base(of_models(base=GOOD, one=BAD), "base", Rules())
    assert overall(two).adjusted == pytest.approx(2 * overall(one).adjusted)  # where two may have fallen
    assert evaluate_base(of_models(base=BAD, now=GOOD), "base", Rules()).answer is not WORSE


@pytest.mark.parametrize(("variants", "answer"), [(1, WORSE), (2, UNDECIDED), (10, PASS)])
def test_variants_in_which_few_cases_changed_share_alpha_too(variants, answer):
    """Five cases changed in each, which has a p-value of 1/32 where all of them fell, as in the first variant."""
    sides = ([], [])
    for number in range(variants):
        fell = 5 if number == 0 else 2
        before, after = suite(fell, GOOD) + suite(5, BAD)[fell:], suite(fell, BAD) + suite(5, GOOD)[fell:]
        for side, changed in zip(sides, (before, after), strict=True):
            rows = changed + suite(20, GOOD)[5:]
            side.extend(replace(row, variant=Variant(model=f"v{number}")) for row in rows)
    assert verdict(*sides).answer is answer


def repeated(count, runs, dead=0):
    """`count` cases; the runs are right, but those of the first `dead` cases all wrong."""
    return [result(f"c{number}", *[wide(EVERY if number < dead else ())] * runs) for number in range(count)]


@pytest.mark.parametrize(("cases", "runs"), [(50, (10, 10)), (200, (3, 3)), (50, (5, 1)), (50, (1, 5))])
def test_a_few_cases_that_fail_in_every_run_are_proven_by_their_runs(cases, runs):
    """One run a side cannot show it: four cases have one chance in sixteen to fall together."""
    found = verdict(repeated(cases, runs[0]), repeated(cases, runs[1], dead=4))
    assert found.answer is WORSE
    assert found.reasons[0].startswith("fields right 9")
    assert any(test.significant for test in found.tests)
    single = verdict(repeated(cases, 1), repeated(cases, 1, dead=4))
    assert not any(test.significant for test in single.tests)


def test_all_runs_of_a_baseline_count_against_one_run_of_now():
    """A field that fails in 1 of 6 cases now is less surprising where it failed in two of five runs before."""
    after = some(7, 40, wide({0}), wide())
    p_never, p_before = (
        next(test.p for test in verdict(before, after).tests if test.name == "f0")
        for runs in ([wide()] * 5, [wide()] * 3 + [wide({0})] * 2)
        for before in [[result(f"c{number}", *runs) for number in range(40)]]
    )
    assert p_never < 0.001
    assert p_before > 0.05


def test_many_small_losses_for_a_few_large_gains_are_no_fall_of_the_mean():
    """The mean stays; the fields that fell are named by tests of their own."""
    before, after = some(20, 100, wide(range(4)), wide()), some(20, 100, wide(), wide({0}))
    found = verdict(before, after, measure="f1")
    assert found.effects[0].before == pytest.approx(found.effects[0].after)
    assert overall(found).adjusted > 0.05


def one_wrong(few, of):
    """`of` cases of twenty fields; the first `few` have one wrong field each, in turn."""
    return [result(f"c{n:03}", wide({n % 20} if n < few else ())) for n in range(of)]


def test_the_interval_that_is_shown_leaves_out_no_change_exactly_if_the_mean_is_called_worse():
    called = []
    for fallen in EVERY:
        found = verdict(one_wrong(0, 30), one_wrong(fallen, 30))
        called.append(overall(found).adjusted <= 0.05)
        assert (found.effects[0].bounds.high < 0) == called[-1]
    assert {*called} == {True, False}


def test_a_sure_fall_of_less_than_half_a_point_is_a_note():
    found = verdict(one_wrong(0, 400), one_wrong(30, 400))
    assert found.answer is PASS
    assert any(note.startswith("all fields fell by 0.4 points, beyond noise") for note in found.notes)


def test_small_losses_that_fewer_whole_failures_make_up_for_are_a_note():
    before, after = one_wrong(0, 194) + [result(f"c{n}", wide(EVERY)) for n in range(194, 200)], one_wrong(60, 200)
    found = verdict(before, after)
    complete = next(test for test in found.tests if test.subject is Subject.COMPLETE)
    assert complete.beyond_noise
    assert complete.fall < 0.005 < complete.drop
    assert found.answer is PASS
    assert any("beyond noise, but the mean of all by less than 0.5 points" in note for note in found.notes)
    assert verdict(before[:197], after[:197]).answer is WORSE  # three fewer may be chance


def test_nearly_all_is_told_from_all():
    shared = {"variant": "", "measure": "fields right", "cases": 50, "bounds": None, "runs": ((1, 1), (1, 1))}
    assert level_text(Effect(before=1.0, after=0.9998, **shared)) == "fields right > 99.9 %, was 100.0 %"
    assert level_text(Effect(before=0.5, after=0.0002, **shared)) == "fields right < 0.1 %, was 50.0 %"


def test_pass_is_not_said_of_a_field_that_fell_with_nothing_against_it():
    before, after = suite(50, wide()), some(4, 50, wide({0}), wide())
    found = verdict(before, after)
    assert found.answer is UNDECIDED
    assert " ".join(found.reasons) == (
        "fields right 99.6 %, was 100.0 %; f0: 92.0 % right, was 100.0 %: worse in 4 of 50 documents (c0, c1, c2, c3), "
        "better in 0 (p = 0.062 after correction); it may be noise"
    )
    assert found.advice[0] == "look first at c0, c1, c2, c3"
    again = "run 4 cases that fell again on both sides: pytest --extract-confirm (16 calls, $0.16)"
    assert found.advice[1].endswith(again)
    (doubtful,) = [test for test in found.tests if test.doubtful]
    assert (doubtful.name, doubtful.significant) == ("f0", False)
    assert verdict(before, after, alpha=0.1).answer is WORSE  # what the same tests find at a weaker level


def test_a_rise_of_broken_runs_is_tested_and_named_by_kind():
    refused = [broken(f"c{n}", why="BadRequestError: content filtered") for n in range(5)] + suite(50, GOOD)[5:]
    found = verdict(suite(50, GOOD), refused)
    assert (found.answer, found.errors[0].p) == (UNDECIDED, 0.5**5)
    assert found.reasons[0].endswith(
        "5 of 50 cases ended in error, 0 before (5 BadRequestError): more than chance gives (p = 0.031); "
        "an outage, or the change itself: to see which, run c0, c1, c2, c3, c4 again: pytest --lf"
    )
    assert verdict(refused, refused).errors[0].p == 1.0


def called(**more):
    return [result(f"c{number}", attempt(GOOD, **more)) for number in range(60)]


@pytest.mark.parametrize(("rule", "what"), [("max_cost_rise", "cost"), ("max_latency_rise", "latency")])
def test_cost_and_latency_of_a_call_are_in_every_verdict_and_can_be_ruled(rule, what):
    before, after = called(cost_usd=0.01, latency_s=1.0), called(cost_usd=0.012, latency_s=1.2)
    found = verdict(before, after)
    rises = {change.what: change.after / change.before - 1 for change in found.calls}
    assert rises == pytest.approx({"cost": 0.2, "latency": 0.2})
    assert verdict(before, after, **{rule: 0.2}).answer is PASS
    ruled = verdict(before, after, **{rule: 0.19})
    assert ruled.answer is WORSE
    assert f"; rule: {what} of a call " in ruled.reasons[0]
    assert ruled.reasons[0].endswith("(+20 %), at most +19 % allowed")
    assert verdict(before, called(recorded=True, latency_s=2.0)).calls == ()  # a replay has none of its own


def by_kind(dead):
    """Sixty cases, six of kind `credit`, of three runs each; those of one kind are wrong where `dead`."""
    kinds = ["credit" if number < 6 else "invoice" for number in range(60)]
    return [
        result(f"c{number}", *[wide(EVERY if kind == dead else ())] * 3, tags={"kind": kind})
        for number, kind in enumerate(kinds)
    ]


def test_a_document_type_that_breaks_is_named_by_its_tag():
    before, after = by_kind(None), by_kind("credit")
    found = verdict(before, after, by=("kind",))
    assert found.answer is WORSE
    (reason,) = [reason for reason in found.reasons if reason.startswith("kind=")]
    documents = "worse in 6 of 6 documents (c0, c1, c2, c3, c4 and 1 more), better in 0"
    assert reason.startswith(f"kind=credit: fields right 0.0 %, was 100.0 %: {documents}")
    rows = [" ".join(text_of(each).split()) for each in gate_lines(found)]
    start = rows.index("kind cases before after p")
    assert rows[start + 1 : start + 3] == ["credit 6 100 % 0 % <0.001", "invoice 54 100 % 100 %"]
    of_all = verdict(suite(12, GOOD, **CREDIT), suite(12, BAD, **CREDIT), by=("kind",))
    assert not any(test.subject is Subject.TAG for test in of_all.tests)  # the mean is of all that have it
    few = [[*side[:31], *(replace(each, tags={}) for each in side[31:])] for side in (before, after)]
    rows = [" ".join(text_of(each).split()) for each in gate_lines(verdict(*few, by=("kind", "other")))]
    assert rows[rows.index("kind cases before after p") + 3] == "(none) 29 100 % 100 %"


def test_judging_by_tag_raises_no_more_false_alarms(monkeypatch):
    monkeypatch.setattr("pytest_extract.core.stats.LANES", 1_000)
    source, alarms = random.Random(4), 0
    for _ in range(60):
        before, after = simulated(source, cases=30, fields=4, chances=(steady(0.8),) * 2)
        tagged = {key: replace(state, slices={"kind": int(state.case_id) % 6}) for key, state in after.items()}
        tests = run_tests(compare(before, tagged), Rules(by=("kind",))).results
        alarms += any(test.adjusted <= 0.05 for test in tests)
    assert alarms <= 8


def test_an_answer_that_never_could_be_read_is_neither_dead_nor_noise():
    found = verdict(dead(50, [7], 3), dead(50, [7, 8, 9]))
    assert found.answer is WORSE
    assert found.collapses[0].cases == ("invoices/acme.extract.yaml::c8", "invoices/acme.extract.yaml::c9")
    one_of_two = result("c0", {"a": False, "b": True})
    assert verdict(suite(1, {"a": True, "b": True}), [one_of_two]).collapses == ()


@pytest.mark.slow
def test_a_case_of_many_wrong_fields_is_paired_in_linear_time():
    def calls(size):
        sides = [snapshot(suite(1, {f"k{n}": n % 2 == side for n in range(size)})) for side in (0, 1)]
        counted = 0

        def count(_frame, event, _arg):
            nonlocal counted
            counted += event in ("call", "c_call")

        sys.setprofile(count)
        try:
            evaluate_gate(*sides)
        finally:
            sys.setprofile(None)
        return counted

    assert calls(2_000) < 3 * calls(1_000)


def test_outputs_of_other_code_are_no_evidence_for_pass(pytester):
    pytester.makeconftest(
        "import pytest\n@pytest.fixture\ndef extractor(): return lambda document: {'a': document.text}\n"
    )
    schema = {"type": "object", "properties": {"a": {"type": "string"}}}
    cases = [{"id": f"c{number}", "text": f"t{number}", "gold": {"a": f"t{number}"}} for number in range(3)]
    (pytester.path / "all.extract.yaml").write_text(json.dumps({"defaults": {"schema": schema}, "cases": cases}))
    options = ["--extract-record=once", "--extract-baseline=b.json"]
    pytester.runpytest(*options, "--extract-update-baseline", "--extract-force").assert_outcomes(passed=3)
    conftest = pytester.path / "conftest.py"
    conftest.write_text(conftest.read_text().replace("document.text}", "document.text + '!'}"))
    gate = [*options, "--extract-gate=regression"]
    told = pytester.runpytest(*gate)
    told.stdout.fnmatch_lines(["UNDECIDED. *; 3 cases replayed outputs of other code than today's*"])
    pytester.runpytest(*gate, "--extract-other-code=allow").stdout.fnmatch_lines(["PASS. *"])
