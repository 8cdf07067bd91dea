"""--extract-baseline, --extract-update-baseline, --extract-gate=regression, --extract-rule."""

from __future__ import annotations

import json
from xml.etree import ElementTree as ET

import pytest

CONFTEST = """
import json, pytest
from pathlib import Path

@pytest.fixture(scope="session")
def extractor():
    def extract(document, case):
        wrong = json.loads((Path(__file__).parent / "wrong.json").read_text())
        gold = json.loads(document.text)
        if gold["n"] in wrong.get("down", []):
            raise ConnectionError("the model is down")
        return {**gold, "total": -1} if gold["n"] in wrong.get("total", []) else gold
    return extract
"""
FLIPPING = """
import json, pytest

@pytest.fixture(scope="session")
def extractor():
    seen = set()
    def extract(document):
        gold = json.loads(document.text)
        first = gold["n"] not in seen
        seen.add(gold["n"])
        return {**gold, "total": -1} if gold["n"] == 1 and first else gold
    return extract
"""
SCHEMA = {
    "type": "object",
    "properties": {"n": {"type": "integer"}, "total": {"type": "number"}, "name": {"type": "string"}},
}


@pytest.fixture
def suite(pytester):
    """Write `count` cases; returns a function that runs them while the named fields are wrong."""

    def write(count):
        pytester.makeconftest(CONFTEST)
        golds = [{"n": index, "total": index * 2.5, "name": f"case {index}"} for index in range(count)]
        cases = [{"id": f"c{gold['n']}", "text": json.dumps(gold), "gold": gold} for gold in golds]
        content = {"defaults": {"schema": SCHEMA}, "cases": cases}
        (pytester.path / "all.extract.yaml").write_text(json.dumps(content))

        def run(*arguments, **wrong):
            (pytester.path / "wrong.json").write_text(json.dumps(wrong))
            return pytester.runpytest("--extract-baseline=base.json", *arguments)

        return run

    return write


UPDATE = "--extract-update-baseline"
GATE = "--extract-gate=regression"


def test_a_gate_beside_a_baseline_that_is_written_says_that_it_did_not_compare(pytester, suite):
    run = suite(4)
    run(UPDATE)
    written = run(UPDATE, GATE, total=[0, 1, 2, 3])
    written.stdout.fnmatch_lines(["*the regression gate did not compare: this run is the baseline now"])
    assert "did not compare" not in run(UPDATE).stdout.str()


def test_a_run_as_good_as_its_baseline_is_green(pytester, suite):
    run = suite(40)
    written = run(UPDATE, total=[3])
    written.stdout.fnmatch_lines(
        ["baseline written: *base.json (40 cases)", "  40 cases with 1 run of each before and one later show *"]
    )
    same = run(GATE, total=[3])
    assert same.ret == 0  # c3 is below its thresholds, and was before
    same.stdout.fnmatch_lines(["*40 cases, 120 fields compared (*", "*= regression gate =*", "PASS. fields right *"])
    same.stdout.no_fnmatch_line("*fell (*")


@pytest.mark.parametrize("xdist", [(), ("-n2",)], ids=["one-process", "xdist"])
def test_a_field_that_got_worse_beyond_noise_turns_the_run_red(pytester, suite, xdist):
    run = suite(20)
    assert run(UPDATE).ret == 0
    worse = run(GATE, *xdist, total=list(range(12)))
    assert worse.ret == pytest.ExitCode.TESTS_FAILED
    worse.stdout.fnmatch_lines(
        [
            "*= regression gate =*",
            "WORSE. fields right *",
            "*total: 40.0 % right, was 100.0 %: *",
            "*1 verdict: WORSE in *",
        ]
    )


@pytest.mark.parametrize("xdist", [(), ("-n2",)], ids=["one-process", "xdist"])
def test_the_first_of_two_prompts_of_one_name_is_the_base(pytester, suite, xdist):
    suite(20)
    prompts = [pytester.mkdir(name) / "p.md" for name in ("old", "new")]
    for prompt, text in zip(prompts, ["good", "bad"], strict=True):
        prompt.write_text(text)
    pytester.makeconftest(
        """
        import json, pytest

        @pytest.fixture(scope="session")
        def extractor():
            return lambda document, prompt: json.loads(document.text) if prompt == "good" else {}
        """
    )
    result = pytester.runpytest(*xdist, GATE, *(f"--extract-prompt={prompt}" for prompt in prompts))
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(["*WORSE*old/p.md -> new/p.md*"])


def test_without_the_gate_a_baseline_only_reports(pytester, suite):
    run = suite(20)
    run(UPDATE)
    told = run("--extract-gate=none", total=list(range(12)))
    assert told.ret == 0
    told.stdout.fnmatch_lines(["*= this run compared with its baseline =*", "WORSE. *"])
    told.stdout.no_fnmatch_line("*verdict: WORSE*")


@pytest.mark.parametrize(("inconclusive", "status"), [("pass", 0), ("warn", 0), ("fail", 1)])
def test_a_fall_that_may_be_noise_is_undecided(pytester, suite, inconclusive, status):
    run = suite(20)
    run(UPDATE)
    result = run(GATE, f"--extract-inconclusive={inconclusive}", total=[0, 1, 2, 3])
    assert result.ret == status
    result.stdout.fnmatch_lines(["UNDECIDED. *total: *it may be noise.", "*1 verdict: UNDECIDED in *"])


@pytest.mark.parametrize(("total", "word"), [([], "PASS"), ([0, 1, 2, 3], "UNDECIDED"), (range(12), "WORSE")])
def test_the_verdict_is_a_test_of_the_junit_file(pytester, suite, total, word):
    run = suite(20)
    run(UPDATE)
    result = run(GATE, "--junitxml=junit.xml", total=[*total])
    (found,) = [
        case for case in ET.parse(pytester.path / "junit.xml").iter("testcase") if case.get("name") == "regression gate"
    ]
    assert [child.tag for child in found] == {"PASS": [], "UNDECIDED": ["skipped"], "WORSE": ["failure"]}[word]
    assert word == "PASS" or any(f"{word}. fields right " in (child.text or "") for child in found)
    result.stdout.fnmatch_lines([f"*1 verdict: {word} in *"])


def test_a_hard_rule_needs_no_statistics(pytester, suite):
    run = suite(3)
    run(UPDATE)
    assert run(GATE, "--extract-rule=max_fallen=1", total=[0]).ret == 0
    assert run(GATE, "--extract-rule=max_fallen=0", total=[0]).ret == 1


def test_an_outage_is_broken_and_no_regression(pytester, suite):
    run = suite(20)
    run(UPDATE)
    result = run(GATE, "--tb=no", down=[1])
    assert result.ret == pytest.ExitCode.TESTS_FAILED  # the broken case, which says so itself
    result.stdout.fnmatch_lines(["BROKEN *::c1 - *"])
    result.stdout.no_fnmatch_line("WORSE. *")


def test_a_gate_that_compared_nothing_is_not_green(pytester, suite):
    run = suite(2)
    run(UPDATE)
    (pytester.path / "all.extract.yaml").rename(pytester.path / "other.extract.yaml")
    text = (pytester.path / "other.extract.yaml").read_text().replace('"c0"', '"x0"').replace('"c1"', '"x1"')
    (pytester.path / "other.extract.yaml").write_text(text)
    result = run(GATE)
    assert result.ret == pytest.ExitCode.TESTS_FAILED


def test_only_selected_cases_are_replaced_and_gone_ones_dropped(pytester, suite):
    run = suite(4)
    run(UPDATE)
    content = json.loads((pytester.path / "all.extract.yaml").read_text())
    content["cases"].pop()
    (pytester.path / "all.extract.yaml").write_text(json.dumps(content))
    run(UPDATE, "-k", "c0", total=[0, 1]).stdout.fnmatch_lines(
        ["*(1 case, 2 kept as they were, 1 dropped that no longer exist)"]
    )
    cases = json.loads((pytester.path / "base.json").read_text())["cases"]
    assert sorted(cases) == ["all.extract.yaml::c0", "all.extract.yaml::c1", "all.extract.yaml::c2"]
    assert list(cases["all.extract.yaml::c0"][""]["failing"]) == ["total"]
    assert "failing" not in cases["all.extract.yaml::c1"][""]


def test_a_run_that_writes_golds_is_compared_with_nothing_and_says_no_verdict(pytester, suite):
    run = suite(2)
    run(UPDATE)
    pytester.makeini("[pytest]\nextract_gate = regression\n")
    result = run("--extract-update-gold=new")
    assert result.ret == 0
    result.stdout.no_fnmatch_line("*UNDECIDED*")


def test_a_run_that_did_not_complete_writes_no_baseline(pytester, suite):
    run = suite(4)
    result = run(UPDATE, "-x", total=[0])
    result.stdout.fnmatch_lines(["baseline not written: the run did not complete*"])
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    assert not (pytester.path / "base.json").exists()


def test_ci_writes_no_baseline_unless_forced(pytester, suite, monkeypatch):
    run = suite(2)
    monkeypatch.setenv("CI", "true")
    refused = run(UPDATE)
    assert refused.ret == pytest.ExitCode.USAGE_ERROR
    refused.stderr.fnmatch_lines(["*a baseline is not written in CI*--extract-force*"])
    assert run(UPDATE, "--extract-force").ret == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((GATE,), "*base.json: no such baseline; write one with --extract-update-baseline*"),
        (("--extract-rule=max_falen=0",), "*did you mean 'max_fallen'*"),
        (("--extract-rule=alpha=2",), "*alpha must be above 0 and below 1*"),
    ],
)
def test_mistakes_are_told_before_anything_runs(pytester, suite, arguments, message):
    result = suite(1)(*arguments)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([message])


@pytest.mark.parametrize(
    ("baseline", "message"),
    [
        ("folder", "*--extract-baseline: cannot write *folder: it is a folder; name a file*"),
        ("file/base.json", "*--extract-baseline: cannot write *base.json: *; name a file*"),
        (
            "file",
            "*file: not a baseline, or a damaged one*; remove it and write it anew with --extract-update-baseline*",
        ),
    ],
)
def test_a_baseline_that_cannot_be_written_is_told_before_anything_runs(pytester, suite, baseline, message):
    run = suite(1)
    pytester.mkdir("folder")
    (pytester.path / "file").write_text("{", encoding="utf-8")
    result = run(f"--extract-baseline={baseline}", "--extract-update-baseline")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([message])
    assert (pytester.path / "file").read_text(encoding="utf-8") == "{"


@pytest.mark.parametrize("option", [GATE, "--extract-rule=alpha=0.1"])
@pytest.mark.parametrize("xdist", [(), ("-n1",)], ids=["one-process", "xdist"])
def test_a_comparison_without_anything_to_compare_with_is_an_error(pytester, suite, option, xdist):
    suite(1)
    result = pytester.runpytest_subprocess(option, *xdist)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*needs something to compare with: --extract-baseline=FILE*"])


def test_params_of_the_extractor_and_the_variants_of_a_past_run_are_compared(pytester, suite):
    suite(20)
    pytester.makeconftest(
        """
        import json, pytest

        @pytest.fixture(params=["good", "bad"])
        def extractor(request):
            wrong = {"total": -1} if request.param == "bad" else {}
            return lambda document: {**json.loads(document.text), **wrong}
        """
    )
    rule = (GATE, "--extract-rule=alpha=0.04", "--extract-confirm")
    result = pytester.runpytest(*rule, "--extract-report=run.jsonl")
    result.stdout.fnmatch_lines(["WORSE. [[]good -> bad[]] *"])
    again = pytester.runpytest(GATE, "--extract-from=run.jsonl")
    again.stdout.fnmatch_lines(["WORSE. [[]good -> bad[]] *"])


def test_repeats_list_each_unsteady_field_once(pytester, suite):
    suite(4)
    pytester.makeconftest(FLIPPING)
    result = pytester.runpytest("--extract-repeat=2", "--extract-concurrency=1")
    told = [line for line in result.outlines if "c1 total: passed 1 of 2 runs" in line]
    assert len(told) == 1
    result.stdout.fnmatch_lines(["repeats: *; 1 unsteady field", "  *c1 total: passed 1 of 2 runs*"])


def test_a_replay_of_what_the_baseline_was_written_from_has_not_changed(suite):
    """However few the cases: the same outputs, made by the same code, leave nothing to doubt."""
    run = suite(3)
    assert run(UPDATE, "--extract-record=all", "--extract-gate=none", total=[0]).ret == 0
    replayed = run(GATE, "--extract-record=none", total=[0, 1])
    assert replayed.ret == 0
    replayed.stdout.fnmatch_lines(["PASS. fields right *no result changed*"])


def test_a_recording_made_by_other_code_is_another_setup(pytester, suite):
    run = suite(3)
    run(UPDATE, "--extract-record=all")
    pytester.makeconftest(CONFTEST + "\n# a change\n")
    run("--extract-record=all", "--extract-gate=none")
    replayed = run(GATE, "--extract-record=none")
    replayed.stdout.fnmatch_lines(["PASS. *; falls of the mean above 50.0 points are ruled out."])


JUDGED = {"properties": {**SCHEMA["properties"], "name": {"type": "string", "evaluation_config": "string_semantic"}}}


def test_fields_decided_by_another_judge_are_not_compared(pytester, suite):
    run = suite(3)
    content = json.loads((pytester.path / "all.extract.yaml").read_text())
    content["defaults"]["schema"] = SCHEMA | JUDGED
    (pytester.path / "all.extract.yaml").write_text(json.dumps(content))
    run(UPDATE, "--extract-judge=fuzzy")
    compared = run(GATE, "--extract-judge=exact")
    compared.stdout.fnmatch_lines(["*3 cases, 6 fields compared*", "*name*incomparable*"])
    compared.stdout.fnmatch_lines(["*not or only in part comparable (judge changed)*"])


def test_the_gate_judges_by_tag(pytester, suite):
    run = suite(40)
    content = json.loads((pytester.path / "all.extract.yaml").read_text())
    for index, case in enumerate(content["cases"]):
        case["tags"] = {"kind": "credit" if index < 8 else "invoice", "depth": "flat"}
        case["modality"] = "image" if index < 8 else "text"
    (pytester.path / "all.extract.yaml").write_text(json.dumps(content))
    run(UPDATE)
    judged = run(GATE, "--extract-rule=by=kind", total=list(range(8)))
    judged.stdout.fnmatch_lines(["*kind=credit: fields right 66.7 %, was 100.0 %: worse in 8 of 8 documents*"])
    judged.stdout.no_fnmatch_line("*kind=invoice*")
    split = run(GATE, "--extract-by=kind", "--extract-by=depth", total=list(range(8)))
    split.stdout.fnmatch_lines(["  kind *cases *before *after *p", "  credit * 8 *100 % *66.7 % *"])
    split.stdout.fnmatch_lines(["  depth *cases *before *after *p", "  2 *40 *100 % *93.3 % *"])
    split.stdout.fnmatch_lines(["*kind=credit: fields right 66.7 %, was 100.0 %: worse in 8 of 8 documents*"])
    named = run(GATE, "--extract-by=modality", "--extract-by=tag:depth", "--extract-by=failure", total=list(range(8)))
    named.stdout.fnmatch_lines(["  tag:depth *cases *before *after *p", "  flat *40 *100 % *93.3 % *"])
    named.stdout.fnmatch_lines(["*modality=image: fields right 66.7 %, was 100.0 %: worse in 8 of 8 documents*"])
    named.stdout.no_fnmatch_line("*no compared case has the tag*")
    named.stdout.no_fnmatch_line("*depth=flat: *")  # all cases have it


PRICED = """
import json, pytest
from pytest_extract import Extraction

@pytest.fixture(scope="session")
def extractor():
    return lambda document: Extraction(output=json.loads(document.text), cost_usd=0.01)
"""


def test_a_baseline_of_three_paid_runs_tells_their_price(pytester, suite):
    run = suite(2)
    pytester.makeconftest(PRICED)
    run(UPDATE, "--extract-repeat=3")
    stored = json.loads((pytester.path / "base.json").read_text())["cases"]["all.extract.yaml::c0"][""]
    assert stored["runs"] == 3
    judged = run(GATE)
    judged.stdout.fnmatch_lines(
        ["*2 cases: 3 runs of each before, 1 run now.", "*cost of a call $0.01, was $0.01 (+0 %)."]
    )


WITH_A_PRICE = """
import json, pytest
from pathlib import Path
from pytest_extract import Extraction

@pytest.fixture(scope="session")
def extractor():
    def extract(document):
        with (Path(__file__).parent / "calls").open("a") as log:
            log.write(".")
        return Extraction(document.text, cost_usd=PRICE)
    return extract
"""


@pytest.fixture
def calls(pytester, suite):
    """Three cases of an extractor with a price; returns how often it was called since."""
    suite(3)

    def priced(price="0.01"):
        pytester.makeconftest(WITH_A_PRICE.replace("PRICE", price))

        def count():
            log = pytester.path / "calls"
            made = len(log.read_text()) if log.exists() else 0
            log.unlink(missing_ok=True)
            return made

        return count

    return priced


BASE = "--extract-baseline=base.json"


@pytest.mark.parametrize("xdist", [(), ("-n2",)], ids=["one-process", "xdist"])
def test_a_baseline_that_a_model_makes_has_three_runs_of_each_case(pytester, calls, xdist):
    count = calls()
    written = pytester.runpytest(UPDATE, BASE, *xdist)
    written.stdout.fnmatch_lines(["baseline written: * (3 cases, 3 runs of each)"])
    assert count() == 9
    cases = json.loads((pytester.path / "base.json").read_text())["cases"]
    assert {case[""]["runs"] for case in cases.values()} == {3}
    pytester.runpytest(GATE, BASE).stdout.fnmatch_lines(["  3 cases: 3 runs of each before, 1 run now."])


def test_a_number_of_runs_that_is_given_holds(pytester, calls):
    count = calls()
    one = pytester.runpytest(UPDATE, BASE, "--extract-repeat=1")
    one.stdout.fnmatch_lines(["baseline written: * (3 cases)"])
    assert count() == 3


def test_an_extractor_without_a_price_runs_once(pytester, calls):
    count = calls("None")
    pytester.runpytest(UPDATE, BASE).stdout.fnmatch_lines(["baseline written: * (3 cases)"])
    assert count() == 3


def test_a_replayed_baseline_stays_one_run_and_costs_nothing(pytester, calls):
    count = calls()
    pytester.runpytest("--extract-record=once")
    assert count() == 3
    pytester.runpytest(UPDATE, BASE, "--extract-record=once")
    assert count() == 0
    (pytester.path / "base.json").unlink()
    pytester.runpytest("--extract-report=run.jsonl")
    count()
    pytester.runpytest(UPDATE, BASE, "--extract-from=run.jsonl").stdout.fnmatch_lines(
        ["baseline written: * (3 cases)*"]
    )
    assert count() == 0


def stored_case(pytester, case):
    return json.loads((pytester.path / "base.json").read_text())["cases"][f"all.extract.yaml::{case}"][""]


def test_added_runs_stand_after_the_earlier_ones_up_to_a_number(pytester, suite):
    run = suite(4)
    run(UPDATE, total=[1])
    added = run(f"{UPDATE}=add", total=[2])
    added.stdout.fnmatch_lines(["baseline written: *base.json (4 cases, 2 runs of each)"])
    failing = [stored_case(pytester, case).get("failing", {}) for case in ("c0", "c1", "c2")]
    assert [each["total"]["runs"] for each in failing if each] == [[False, True], [True, False]]
    assert stored_case(pytester, "c1")["measures"]["pass_rate"] == [2 / 3, 1.0]
    run(f"{UPDATE}=add", "--extract-rule=keep_runs=2")
    assert [stored_case(pytester, case)["runs"] for case in ("c0", "c1", "c2")] == [2, 2, 2]
    assert [[*stored_case(pytester, case).get("failing", ())] for case in ("c0", "c1", "c2")] == [[], [], ["total"]]


def test_a_path_after_the_option_is_an_error_that_says_where_it_belongs(pytester, suite):
    run = suite(2)
    result = run(UPDATE, "all.extract.yaml")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(
        [
            f"*'all.extract.yaml' must be one of replace, add; put all.extract.yaml before {UPDATE}, or give {UPDATE}=replace"
        ]
    )


def change_a_gold(pytester):
    path = pytester.path / "all.extract.yaml"
    content = json.loads(path.read_text())
    content["cases"][0]["gold"]["name"] = "another"
    path.write_text(json.dumps(content))


def test_earlier_runs_go_where_the_gold_changed(pytester, suite):
    run = suite(2)
    run(UPDATE)
    change_a_gold(pytester)
    run(f"{UPDATE}=add").stdout.fnmatch_lines(["baseline written: *(2 cases, 1 to 2 runs of each)"])


def test_a_replay_adds_no_run(pytester, suite):
    run = suite(2)
    run(UPDATE, "--extract-record=once")
    run(f"{UPDATE}=add", "--extract-record=once")
    assert stored_case(pytester, "c0")["runs"] == 1


def test_a_changed_gold_leaves_the_other_cases_in_the_comparison(pytester, suite):
    run = suite(20)
    run(UPDATE)
    change_a_gold(pytester)
    run(GATE, total=[3]).stdout.fnmatch_lines(["PASS. *", "  20 cases: 1 run of each before, 1 run now."])
