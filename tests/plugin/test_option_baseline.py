"""--extract-baseline, --extract-update-baseline, --extract-gate=regression, --extract-rule."""

from __future__ import annotations

import json
from xml.etree import ElementTree as ET

import pytest

from tests.plugin.conftest import refused, shows

SCHEMA = {
    "type": "object",
    "properties": {"n": {"type": "integer"}, "total": {"type": "number"}, "name": {"type": "string"}},
}
EXTRACT = """
wrong = json.loads((HERE / "wrong.json").read_text())
gold = json.loads(document.text)
if gold["n"] in wrong.get("down", []):
    raise ConnectionError("the model is down")
return {**gold, "total": -1} if gold["n"] in wrong.get("total", []) else gold
"""
UPDATE = "--extract-update-baseline"
GATE = "--extract-gate=regression"
BASE = "--extract-baseline=base.json"


def gold(number, **keys):
    return {"n": number, "total": number * 2.5, "name": f"case {number}", **keys}


@pytest.fixture
def suite(pytester, write_extractor, write_suite):
    """Write `count` cases; returns a function that runs them while the named fields are wrong."""

    def write(count):
        write_extractor(EXTRACT)
        write_suite([{"gold": gold(number)} for number in range(count)], schema=SCHEMA)

        def run(*arguments, **wrong):
            (pytester.path / "wrong.json").write_text(json.dumps(wrong))
            return pytester.runpytest(BASE, *arguments)

        return run

    return write


@pytest.fixture
def stored(pytester):
    """Read what the baseline holds of the cases."""

    def read():
        cases = json.loads((pytester.path / "base.json").read_text())["cases"]
        return {name.partition("::")[2]: case[""] for name, case in cases.items()}

    return read


def test_a_run_as_good_as_its_baseline_is_green(suite):
    run = suite(40)
    written = run(UPDATE, total=[3])
    shows(
        written, "baseline written: *base.json (40 cases)", "  40 cases with 1 run of each before and one later show *"
    )
    same = run(GATE, total=[3])
    assert same.ret == 0  # c3 is below its thresholds, and was before
    shows(same, "*40 cases, 120 fields compared (*", "*= regression gate =*", "PASS. fields right *")
    same.stdout.no_fnmatch_line("*fell (*")
    assert "did not compare" not in written.stdout.str()
    written = run(UPDATE, GATE, total=[0, 1, 2, 3])
    shows(written, "*the regression gate did not compare: this run is the baseline now")


ALL_12 = list(range(12))


NOISE = "UNDECIDED. fields right *total: *it may be noise."
FALL = "*total: 40.0 % right, was 100.0 %: *"


@pytest.mark.parametrize(
    ("total", "arguments", "status", "lines", "in_junit"),
    [
        ([], [], 0, ["PASS. fields right *", "*1 verdict: PASS in *"], []),
        ([0, 1, 2, 3], [], 0, [NOISE, "*1 verdict: UNDECIDED in *"], ["skipped"]),
        ([0, 1, 2, 3], ["--extract-inconclusive=pass"], 0, [NOISE], ["skipped"]),
        ([0, 1, 2, 3], ["--extract-inconclusive=fail"], 1, [NOISE], ["failure"]),
        (ALL_12, [], 1, ["WORSE. fields right *", FALL, "*1 verdict: WORSE in *"], ["failure"]),
        (ALL_12, ["-n2"], 1, ["WORSE. fields right *", FALL, "*1 verdict: WORSE in *"], ["failure"]),
    ],
)
def test_the_verdict_decides_the_run_and_is_a_test_of_the_junit_file(
    pytester, suite, total, arguments, status, lines, in_junit
):
    run = suite(20)
    assert run(UPDATE).ret == 0
    result = run(GATE, "--junitxml=junit.xml", *arguments, total=total)
    assert result.ret == status
    shows(result, "*= regression gate =*", *lines)
    tests = ET.parse(pytester.path / "junit.xml").iter("testcase")  # what the run has just written
    (found,) = [each for each in tests if each.get("name") == "regression gate"]
    assert [child.tag for child in found] == in_junit
    assert [child for child in found if lines[0].partition(" *")[0] not in (child.text or "")] == []


def test_without_the_gate_a_baseline_only_reports(suite):
    run = suite(20)
    run(UPDATE)
    told = run("--extract-gate=none", total=ALL_12)
    assert told.ret == 0
    shows(told, "*= this run compared with its baseline =*", "WORSE. *")
    told.stdout.no_fnmatch_line("*verdict: WORSE*")


@pytest.mark.parametrize("xdist", [(), ("-n2",)], ids=["one-process", "xdist"])
def test_the_first_of_two_prompts_of_one_name_is_the_base(pytester, suite, write_extractor, xdist):
    suite(20)
    write_extractor('return json.loads(document.text) if prompt == "good" else {}', "document, prompt")
    for folder, text in (("old", "good"), ("new", "bad")):
        (pytester.mkdir(folder) / "p.md").write_text(text)
    result = pytester.runpytest(*xdist, GATE, "--extract-prompt=old/p.md", "--extract-prompt=new/p.md")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    shows(result, "*WORSE*old/p.md -> new/p.md*")


def test_a_hard_rule_needs_no_statistics_and_an_outage_is_no_regression(suite):
    run = suite(20)
    run(UPDATE)
    assert run(GATE, "--extract-rule=max_fallen=1", total=[0]).ret == 0
    assert run(GATE, "--extract-rule=max_fallen=0", total=[0]).ret == 1
    down = run(GATE, "--tb=no", down=[1])
    assert down.ret == pytest.ExitCode.TESTS_FAILED  # the broken case, which says so itself
    shows(down, "BROKEN *::c1 - *")
    down.stdout.no_fnmatch_line("WORSE. *")


def test_a_gate_that_compared_nothing_is_not_green(suite, write_suite):
    run = suite(2)
    run(UPDATE)
    write_suite([{"id": "other", "gold": gold(0)}], schema=SCHEMA)
    assert run(GATE).ret == pytest.ExitCode.TESTS_FAILED


def test_only_selected_cases_are_replaced_and_gone_ones_dropped(suite, stored):
    run = suite(4)
    run(UPDATE)
    run = suite(3)
    replaced = run(UPDATE, "-k", "c0", total=[0, 1])
    shows(replaced, "*(1 case, 2 kept as they were, 1 dropped that no longer exist)")
    assert {name: [*case.get("failing", ())] for name, case in stored().items()} == {
        "c0": ["total"],
        "c1": [],
        "c2": [],
    }


def test_a_run_that_writes_golds_is_compared_with_nothing_and_says_no_verdict(pytester, suite):
    run = suite(2)
    run(UPDATE)
    pytester.makeini("[pytest]\nextract_gate = regression\n")
    result = run("--extract-update-gold=new")
    assert result.ret == 0
    result.stdout.no_fnmatch_line("*UNDECIDED*")


def test_a_run_that_did_not_complete_writes_no_baseline(pytester, suite):
    result = suite(4)(UPDATE, "-x", total=[0])
    shows(result, "baseline not written: the run did not complete*")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    assert not (pytester.path / "base.json").exists()


def test_ci_writes_no_baseline_unless_forced(suite, monkeypatch):
    run = suite(2)
    monkeypatch.setenv("CI", "true")
    refused(run(UPDATE), "*a baseline is not written in CI*--extract-force*")
    assert run(UPDATE, "--extract-force").ret == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([GATE], "*base.json: no such baseline; write one with --extract-update-baseline*"),
        (["--extract-rule=max_falen=0"], "*did you mean 'max_fallen'*"),
        (["--extract-rule=alpha=2"], "*alpha must be above 0 and below 1*"),
        ([UPDATE, "--extract-baseline=folder"], "*cannot write *folder: it is a folder; name a file*"),
        ([UPDATE, "--extract-baseline=file/base.json"], "*cannot write *base.json: *; name a file*"),
        ([UPDATE, "--extract-baseline=file"], f"*file: not a baseline, or a damaged one*; * write it anew with {UPDATE}*"),
        ([UPDATE, "all.extract.yaml"], f"*must be one of replace, add; put all.extract.yaml before {UPDATE}, or give {UPDATE}=replace"),
    ],
)  # fmt: skip
def test_mistakes_are_told_before_anything_runs(pytester, suite, calls, arguments, message):
    run = suite(1)
    pytester.mkdir("folder")
    (pytester.path / "file").write_text("{")
    refused(run(*arguments), message)
    assert calls() == 0
    assert (pytester.path / "file").read_text() == "{"


@pytest.mark.parametrize("arguments", [(GATE,), (GATE, "-n1"), ("--extract-rule=alpha=0.1",)])
def test_a_comparison_without_anything_to_compare_with_is_an_error(pytester, suite, arguments):
    suite(1)
    refused(pytester.runpytest_subprocess(*arguments), "*needs something to compare with: --extract-baseline=FILE*")


def test_params_of_the_extractor_and_the_variants_of_a_past_run_are_compared(pytester, suite, write_extractor):
    suite(20)
    wrong = 'wrong = {"total": -1} if request.param == "bad" else {}\nreturn {**json.loads(document.text), **wrong}'
    write_extractor(wrong, needs="request", fixture="(params=['good', 'bad'])")
    result = pytester.runpytest(GATE, "--extract-rule=alpha=0.04", "--extract-confirm", "--extract-report=run.jsonl")
    shows(result, "WORSE. [[]good -> bad[]] *")
    shows(pytester.runpytest(GATE, "--extract-from=run.jsonl"), "WORSE. [[]good -> bad[]] *")


def test_repeats_list_each_unsteady_field_once(pytester, suite, write_extractor):
    suite(4)
    write_extractor(
        """
        first = case.id == "c1" and not os.environ.get("SEEN")
        if first:
            os.environ["SEEN"] = "c1"
        return {**json.loads(document.text), "total": -1} if first else document.text
        """,
        "document, case",
    )
    result = pytester.runpytest("--extract-repeat=2", "--extract-concurrency=1")
    assert len([line for line in result.outlines if "c1 total: passed 1 of 2 runs" in line]) == 1
    shows(result, "repeats: *; 1 unsteady field", "  *c1 total: passed 1 of 2 runs*")


def test_a_replay_has_not_changed_unless_other_code_recorded_it(suite, pytester):
    """However few the cases: the same outputs, made by the same code, leave nothing to doubt."""
    run = suite(3)
    assert run(UPDATE, "--extract-record=all", "--extract-gate=none", total=[0]).ret == 0
    replayed = run(GATE, "--extract-record=none", total=[0, 1])
    assert replayed.ret == 0
    shows(replayed, "PASS. fields right *no result changed*")
    conftest = pytester.path / "conftest.py"
    conftest.write_text(conftest.read_text() + "\n# a change\n")
    run("--extract-record=all", "--extract-gate=none", total=[0])
    shows(run(GATE, "--extract-record=none"), "PASS. *; falls of the mean above 50.0 points are ruled out.")


def test_fields_decided_by_another_judge_are_not_compared(suite, write_suite):
    run = suite(3)
    judged = {"name": {"type": "string", "evaluation_config": "string_semantic"}}
    schema = {**SCHEMA, "properties": {**SCHEMA["properties"], **judged}}
    write_suite([{"gold": gold(number)} for number in range(3)], schema=schema)
    run(UPDATE, "--extract-judge=fuzzy")
    compared = run(GATE, "--extract-judge=exact")
    shows(compared, "*3 cases, 6 fields compared*", "*name*incomparable*")
    shows(compared, "*not or only in part comparable (judge changed)*")


def test_the_gate_judges_by_tag(suite, write_suite):
    run = suite(40)
    credit = {"tags": {"kind": "credit", "depth": "flat"}, "modality": "image"}
    invoice = {"tags": {"kind": "invoice", "depth": "flat"}, "modality": "text"}
    write_suite([{"gold": gold(n), **(credit if n < 8 else invoice)} for n in range(40)], schema=SCHEMA)
    run(UPDATE)
    wrong = list(range(8))
    judged = run(GATE, "--extract-rule=by=kind", total=wrong)
    told = "*kind=credit: fields right 66.7 %, was 100.0 %: worse in 8 of 8 documents*"
    shows(judged, told)
    judged.stdout.no_fnmatch_line("*kind=invoice*")
    split = run(GATE, "--extract-by=kind", "--extract-by=depth", total=wrong)
    shows(split, "  kind *cases *before *after *p", "  credit * 8 *100 % *66.7 % *")
    shows(split, "  depth *cases *before *after *p", "  2 *40 *100 % *93.3 % *")
    shows(split, told)
    named = run(GATE, "--extract-by=modality", "--extract-by=tag:depth", "--extract-by=failure", total=wrong)
    shows(named, "  tag:depth *cases *before *after *p", "  flat *40 *100 % *93.3 % *")
    shows(named, told.replace("kind=credit", "modality=image"))
    named.stdout.no_fnmatch_line("*no compared case has the tag*")
    named.stdout.no_fnmatch_line("*depth=flat: *")  # all cases have it


@pytest.mark.parametrize("xdist", [(), ("-n2",)], ids=["one-process", "xdist"])
def test_a_baseline_that_a_model_makes_has_three_runs_of_each_case(suite, write_extractor, calls, stored, xdist):
    run = suite(3)
    write_extractor("return Extraction(document.text, cost_usd=0.01)")
    shows(run(UPDATE, *xdist), "baseline written: * (3 cases, 3 runs of each)")
    assert calls() == 9
    assert {case["runs"] for case in stored().values()} == {3}
    shows(run(GATE), "  3 cases: 3 runs of each before, 1 run now.", "*cost of a call $0.01, was $0.01 (+0 %).")


def test_one_run_is_enough_where_it_is_asked_for_free_or_replayed(pytester, suite, write_extractor, calls):
    run = suite(3)
    write_extractor("return Extraction(document.text, cost_usd=0.01)")
    pytester.runpytest("--extract-record=once", "--extract-report=run.jsonl")
    assert calls() == 3
    for arguments, expected in (
        (["--extract-repeat=1"], 3),
        (["--extract-record=once"], 0),
        (["--extract-from=run.jsonl"], 0),
    ):
        (pytester.path / "base.json").unlink(missing_ok=True)
        shows(run(UPDATE, *arguments), "baseline written: * (3 cases)*")
        assert calls() == expected
    write_extractor("return document.text")
    shows(run(UPDATE), "baseline written: * (3 cases)")
    assert calls() == 3


def test_added_runs_stand_after_the_earlier_ones_up_to_a_number(suite, stored):
    run = suite(4)
    run(UPDATE, total=[1])
    shows(run(f"{UPDATE}=add", total=[2]), "baseline written: *base.json (4 cases, 2 runs of each)")
    runs = {name: case["failing"]["total"]["runs"] for name, case in stored().items() if "failing" in case}
    assert runs == {"c1": [False, True], "c2": [True, False]}
    assert stored()["c1"]["measures"]["pass_rate"] == [2 / 3, 1.0]
    run(f"{UPDATE}=add", "--extract-rule=keep_runs=2")
    assert {case["runs"] for case in stored().values()} == {2}
    assert [name for name, case in stored().items() if case.get("failing")] == ["c2"]


def test_a_replay_adds_no_run(suite, stored):
    run = suite(2)
    run(UPDATE, "--extract-record=once")
    run(f"{UPDATE}=add", "--extract-record=once")
    assert stored()["c0"]["runs"] == 1


def test_a_changed_gold_ends_the_earlier_runs_of_its_case_alone(suite, write_suite):
    run = suite(20)
    run(UPDATE)
    changed = {"gold": gold(0, name="another"), "text": json.dumps(gold(0))}
    write_suite([changed, *({"gold": gold(number)} for number in range(1, 20))], schema=SCHEMA)
    shows(run(GATE, total=[3]), "PASS. *", "  20 cases: 1 run of each before, 1 run now.")
    shows(run(f"{UPDATE}=add"), "baseline written: *(20 cases, 1 to 2 runs of each)")
