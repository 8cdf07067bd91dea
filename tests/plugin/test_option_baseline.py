"""--extract-baseline, --extract-update-baseline, --extract-gate=regression, --extract-rule."""

import json
from xml.etree import ElementTree as ET

import pytest

from tests.plugin.conftest import GREEN, RED, refused, shows

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
ALL_12 = list(range(12))
BASE = "--extract-baseline=base.json"


def gold(number, **keys):
    return {"n": number, "total": number * 2.5, "name": f"case {number}", **keys}


@pytest.fixture
def suite(pytester, run, write_extractor, write_suite):
    """Write `count` cases; returns a function that runs them while the named fields are wrong."""

    def write(count):
        write_extractor(EXTRACT)
        write_suite([{"gold": gold(number)} for number in range(count)], schema=SCHEMA)
        return run_suite

    def run_suite(*args, status=None, lines=(), **wrong):
        (pytester.path / "wrong.json").write_text(json.dumps(wrong))
        return run(BASE, *args, status=status, lines=lines)

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
    shown = "  40 cases with 1 run of each before and one later show *"
    written = run(UPDATE, total=[3], lines=["baseline written: *base.json (40 cases)", shown])
    lines = ["*40 cases, 120 fields compared (*", "*= regression gate =*", "PASS. fields right *"]
    same = run(GATE, total=[3], status=GREEN, lines=lines)  # c3 is below its thresholds, and was before
    same.stdout.no_fnmatch_line("*fell (*")
    assert "did not compare" not in written.stdout.str()
    run(UPDATE, GATE, total=ALL_12, lines=["*the regression gate did not compare: this run is the baseline now"])


NOISE = "UNDECIDED. fields right *total: *it may be noise."
FALL = "*total: 40.0 % right, was 100.0 %: *"


@pytest.mark.parametrize(
    ("total", "args", "status", "lines", "in_junit"),
    [
        ([], [], 0, ["PASS. fields right *", "*1 verdict: PASS in *"], []),
        ([0, 1, 2, 3], [], 0, [NOISE, "*1 verdict: UNDECIDED in *"], ["skipped"]),
        ([0, 1, 2, 3], ["--extract-rule=inconclusive=warn"], 0, [NOISE], ["skipped"]),
        ([0, 1, 2, 3], ["--extract-rule=inconclusive=fail"], 1, [NOISE], ["failure"]),
        (ALL_12, [], 1, ["WORSE. fields right *", FALL, "*1 verdict: WORSE in *"], ["failure"]),
        (ALL_12, ["-n2"], 1, ["WORSE. fields right *", FALL, "*1 verdict: WORSE in *"], ["failure"]),
    ],
)
def test_the_verdict_decides_the_run_and_is_a_test_of_the_junit_file(
    pytester, suite, total, args, status, lines, in_junit
):
    run = suite(20)
    run(UPDATE, status=GREEN)
    run(GATE, "--junitxml=junit.xml", *args, total=total, status=status, lines=["*= regression gate =*", *lines])
    tests = ET.parse(pytester.path / "junit.xml").iter("testcase")  # what the run has just written
    (found,) = [each for each in tests if each.get("name") == "regression gate"]
    assert [child.tag for child in found] == in_junit
    assert [child for child in found if lines[0].partition(" *")[0] not in (child.text or "")] == []


def test_without_the_gate_a_baseline_only_reports(suite):
    run = suite(20)
    run(UPDATE)
    lines = ["*= this run compared with its baseline =*", "WORSE. *"]
    told = run("--extract-gate=none", total=ALL_12, status=GREEN, lines=lines)
    told.stdout.no_fnmatch_line("*verdict: WORSE*")


def test_the_first_of_two_prompts_of_one_name_is_the_base_under_xdist_too(suite, run, write_extractor, write_files):
    suite(20)
    write_extractor('return json.loads(document.text) if prompt == "good" else {}', "document, prompt")
    write_files({"old/p.md": "good", "new/p.md": "bad"})
    prompts = ("--extract-prompt=old/p.md", "--extract-prompt=new/p.md")
    run("-n2", GATE, *prompts, status=RED, lines=["*WORSE*old/p.md -> new/p.md*"])


def test_a_hard_rule_needs_no_statistics_and_an_outage_is_no_regression(suite):
    run = suite(20)
    run(UPDATE)
    run(GATE, "--extract-rule=max_fallen=1", total=[0], status=GREEN)
    run(GATE, "--extract-rule=max_fallen=0", total=[0], status=RED)
    down = run(GATE, "--tb=no", down=[1], status=RED, lines=["ERROR *::c1 - *"])  # which says so itself
    down.stdout.no_fnmatch_line("WORSE. *")


def test_a_gate_that_compared_nothing_is_not_green(suite, write_suite):
    run = suite(2)
    run(UPDATE)
    write_suite([{"id": "other", "gold": gold(0)}], schema=SCHEMA)
    run(GATE, status=RED)


def test_only_selected_cases_are_replaced_and_gone_ones_dropped(suite, stored):
    suite(4)(UPDATE)
    lines = ["*(1 case, 2 kept as they were, 1 dropped that no longer exist)"]
    suite(3)(UPDATE, "-k", "c0", total=[0, 1], lines=lines)
    assert {name: [*case.get("failing", ())] for name, case in stored().items()} == {
        "c0": ["total"],
        "c1": [],
        "c2": [],
    }


def test_a_run_that_writes_golds_is_compared_with_nothing_and_says_no_verdict(pytester, suite):
    run = suite(2)
    run(UPDATE)
    pytester.makeini("[pytest]\nextract_gate = regression\n")
    run("--extract-update-gold=new", status=GREEN).stdout.no_fnmatch_line("*UNDECIDED*")


def test_a_run_that_did_not_complete_writes_no_baseline(pytester, suite):
    suite(4)(UPDATE, "-x", total=[0], status=RED, lines=["baseline not written: the run did not complete*"])
    assert not (pytester.path / "base.json").exists()


def test_ci_writes_no_baseline_unless_forced(suite, monkeypatch):
    run = suite(2)
    monkeypatch.setenv("CI", "true")
    refused(run(UPDATE), "*--extract-update-baseline writes nothing in CI*--extract-force*")
    run(UPDATE, "--extract-force", status=GREEN)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([GATE], "*base.json: no such baseline; write one with --extract-update-baseline*"),
        (["--extract-rule=max_falen=0"], "*did you mean 'max_fallen'*"),
        (["--extract-rule=alpha=2"], "*alpha must be above 0 and below 1*"),
        ([UPDATE, "--extract-baseline=folder"], "*cannot write *folder: it is a folder, not a regular file; name a file*"),
        ([UPDATE, "--extract-baseline=file/base.json"], "*cannot write *base.json: *; name a file*"),
        ([UPDATE, "--extract-baseline=file"], f"*file: no baseline of version 2, or a damaged one*; * write it anew with {UPDATE}*"),
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


@pytest.mark.parametrize("arguments", [(GATE,), (GATE, "-n1"), ("--extract-rule=alpha=0.1",), ("--extract-confirm",)])
def test_a_comparison_without_anything_to_compare_with_is_an_error(pytester, suite, arguments):
    suite(1)
    refused(pytester.runpytest_subprocess(*arguments), "*needs something to compare with: --extract-baseline=FILE*")


def test_params_of_the_extractor_and_the_variants_of_a_past_run_are_compared(suite, run, write_extractor):
    suite(20)
    wrong = 'wrong = {"total": -1} if request.param == "bad" else {}\nreturn {**json.loads(document.text), **wrong}'
    write_extractor(wrong, needs="request", fixture="(params=['good', 'bad'])")
    worse = ["WORSE. [[]good -> bad[]] *"]
    run(GATE, "--extract-rule=alpha=0.04", "--extract-confirm", "--extract-report=run.jsonl", lines=worse)
    run(GATE, "--extract-from=run.jsonl", lines=worse)


def test_a_replay_has_not_changed_unless_other_code_recorded_it(suite, add_to_conftest):
    """However few the cases: the same outputs, made by the same code, leave nothing to doubt."""
    run = suite(3)
    run(UPDATE, "--extract-record=all", "--extract-gate=none", total=[0], status=GREEN)
    replay = (GATE, "--extract-record=none")
    run(*replay, total=[0, 1], status=GREEN, lines=["PASS. fields right *no result changed*"])
    add_to_conftest("# a change\n")
    run("--extract-record=all", "--extract-gate=none", total=[0])
    run(*replay, lines=["PASS. *; falls of the mean above 63.2 points are ruled out."])


def test_fields_decided_by_another_judge_are_not_compared(suite, write_suite):
    run = suite(3)
    judged = {"name": {"type": "string", "evaluation_config": "string_semantic"}}
    schema = {**SCHEMA, "properties": {**SCHEMA["properties"], **judged}}
    write_suite([{"gold": gold(number)} for number in range(3)], schema=schema)
    run(UPDATE, "--extract-judge=fuzzy")
    compared = run(GATE, "--extract-judge=exact", lines=["*3 cases, 6 fields compared*", "*name*incomparable*"])
    shows(compared, "*not or only in part comparable (judge changed)*")


def test_the_gate_judges_by_tag(suite, write_suite):
    run = suite(40)
    credit = {"tags": {"kind": "credit", "depth": "flat"}, "modality": "image"}
    invoice = {"tags": {"kind": "invoice", "depth": "flat"}, "modality": "text"}
    write_suite([{"gold": gold(n), **(credit if n < 8 else invoice)} for n in range(40)], schema=SCHEMA)
    run(UPDATE)
    wrong = list(range(8))
    fell = "*{}: fields right 66.7 %, was 100.0 %: worse in 8 of 8 documents*"
    judged = run(GATE, "--extract-rule=by=kind", total=wrong, lines=[fell.format("kind=credit")])
    judged.stdout.no_fnmatch_line("*kind=invoice*")
    dimensions = [f"--extract-by={each}" for each in ("modality", "tag:depth", "failure")]
    depths = ["  tag:depth *cases *before *after *p", "  flat *40 *100 % *93.3 % *"]
    named = run(GATE, *dimensions, total=wrong, lines=depths)
    shows(named, "  modality *cases *before *after *p", "  image * 8 *100 % *66.7 % *")
    shows(named, fell.format("modality=image"))
    for line in ("*no compared case has the tag*", "*depth=flat: *"):  # all cases have it
        named.stdout.no_fnmatch_line(line)


PAID = "return Extraction(document.text, cost_usd=0.01)"


@pytest.mark.parametrize("xdist", [(), ("-n2",)], ids=["one-process", "xdist"])
def test_a_baseline_that_a_model_makes_has_three_runs_of_each_case(suite, write_extractor, calls, stored, xdist):
    run = suite(3)
    write_extractor(PAID)
    run(UPDATE, *xdist, lines=["baseline written: * (3 cases, 3 runs of each)"])
    assert calls() == 9
    assert {case["runs"] for case in stored().values()} == {3}
    cost = "*cost of a call $0.01, was $0.01 (+0 %)."
    run(GATE, lines=["  3 cases: 3 runs of each before, 1 run now.", cost])


@pytest.mark.parametrize(
    ("body", "args", "called"),
    [
        (PAID, ["--extract-repeat=1"], 3),
        (PAID, ["--extract-record=once"], 0),
        (PAID, ["--extract-from=run.jsonl"], 0),
        ("return document.text", [], 3),
    ],
    ids=["asked-for", "recorded", "past-run", "free"],
)
def test_one_run_of_each_is_enough(suite, run, write_extractor, calls, body, args, called):
    in_suite = suite(3)
    write_extractor(body)
    run("--extract-record=once", "--extract-report=run.jsonl")
    assert calls() == 3
    in_suite(UPDATE, *args, lines=["baseline written: * (3 cases)*"])
    assert calls() == called


def test_added_runs_stand_after_the_earlier_ones_up_to_a_number(suite, stored):
    run = suite(4)
    run(UPDATE, total=[1])
    run(f"{UPDATE}=add", total=[2], lines=["baseline written: *base.json (4 cases, 2 runs of each)"])
    runs = {name: case["failing"]["total"]["runs"] for name, case in stored().items() if "failing" in case}
    assert runs == {"c1": [False, True], "c2": [True, False]}
    assert stored()["c1"]["measures"]["pass_rate"] == [2 / 3, 1.0]
    run(f"{UPDATE}=add", "--extract-rule=keep_runs=2", "--extract-record=once")
    run(f"{UPDATE}=add", "--extract-record=once")  # a replay adds no run
    assert {case["runs"] for case in stored().values()} == {2}
    assert [name for name, case in stored().items() if case.get("failing")] == ["c2"]


def test_a_changed_gold_ends_the_earlier_runs_of_its_case_alone(suite, write_suite):
    run = suite(20)
    run(UPDATE)
    changed = {"gold": gold(0, name="another"), "text": json.dumps(gold(0))}
    write_suite([changed, *({"gold": gold(number)} for number in range(1, 20))], schema=SCHEMA)
    run(GATE, total=[3], lines=["PASS. *", "  20 cases: 1 run of each before, 1 run now."])
    run(f"{UPDATE}=add", lines=["baseline written: *(20 cases, 1 to 2 runs of each)"])
