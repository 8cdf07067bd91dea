"""--extract-confirm: the cases that fell run again on both sides, and what fresh runs show is in the verdict."""

from __future__ import annotations

import json
import subprocess

import pytest

CONFTEST = """
import json, pytest
from pathlib import Path
from pytest_extract import Extraction

HERE = Path(__file__).parent

@pytest.fixture(scope="session")
def extractor():
    def extract(document, prompt, case):
        with (HERE / "log").open("a") as log:
            log.write(f"{case.id} {prompt.strip()}\\n")
        gold = json.loads(document.text)
        calls = (HERE / "log").read_text().split("\\n").count(f"{case.id} {prompt.strip()}")
        wrong = json.loads((HERE / "wrong.json").read_text()).get(prompt.strip(), {})
        if gold["n"] in wrong.get("down", []):
            raise ConnectionError("the model is down")
        if gold["n"] in wrong.get("stop", []) and calls == 2:
            raise KeyboardInterrupt
        fails = gold["n"] in wrong.get("always", []) or (gold["n"] in wrong.get("first", []) and calls == 1)
        output = {name: None for name in gold} if fails else gold
        return Extraction(json.dumps(output), cost_usd=0.01)
    return extract
"""
NAMES = ["a", "b", "c"]
SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}, **{name: {"type": "string"} for name in NAMES}}}
UPDATE = "--extract-update-baseline"
GATE = "--extract-gate=regression"
BASELINE = "--extract-baseline=base.json"
CONFIRM = "--extract-confirm"
DEAD = [3, 7, 11, 15]


@pytest.fixture
def project(pytester):
    """Forty cases with the prompt `one`; returns a function that runs them."""
    path = pytester.path
    pytester.makeconftest(CONFTEST)
    golds = [{"n": number, **{name: f"{name}{number}" for name in NAMES}} for number in range(40)]
    cases = [{"id": f"c{gold['n']}", "text": json.dumps(gold), "gold": gold} for gold in golds]
    (path / "p.md").write_text("one\n")
    (path / "all.extract.yaml").write_text(
        json.dumps({"defaults": {"schema": SCHEMA, "prompt": "p.md"}, "cases": cases})
    )
    (path / ".gitignore").write_text("log\nwrong.json\n__pycache__\n.pytest_cache\nextract-recordings\n")

    def run(*arguments, prompt="one", in_process=True, **wrong):
        (path / "p.md").write_text(f"{prompt}\n")
        (path / "wrong.json").write_text(json.dumps({"two": wrong}))
        (path / "log").unlink(missing_ok=True)
        return (pytester.runpytest if in_process else pytester.runpytest_subprocess)("--tb=no", *arguments)

    return run


def git(path, *arguments):
    who = ("-c", "user.email=dev@example.org", "-c", "user.name=dev", "-c", "commit.gpgsign=false")
    subprocess.run(["git", *who, *arguments], cwd=path, check=True, capture_output=True)


def committed(pytester):
    git(pytester.path, "init", "-q")
    git(pytester.path, "add", ".")
    git(pytester.path, "commit", "-qm", "first")


def fresh_calls(pytester, prompt):
    """The calls beyond one of each case, by case."""
    names = [line.split()[0] for line in (pytester.path / "log").read_text().splitlines() if line.endswith(prompt)]
    return {name: count for name in sorted(set(names)) if (count := names.count(name) - 1)}


@pytest.mark.parametrize("xdist", [(), ("-n1",)], ids=["one-process", "xdist"])
def test_a_baseline_of_three_runs_confirms_with_two_of_them(pytester, project, xdist):
    assert project(UPDATE, BASELINE, "--extract-repeat=3").ret == 0
    worse = project(GATE, BASELINE, CONFIRM, *xdist, prompt="two", always=DEAD, in_process=False)
    assert worse.ret == pytest.ExitCode.TESTS_FAILED
    worse.stdout.fnmatch_lines(
        [
            "confirmation: 4 cases that fell run again (* calls at most)",
            "*= regression gate =*",
            "WORSE. fields right 90.0 %, was 100.0 %: worse in 4 of 40 documents (c11, c15, c3, c7), better in 0*",
            "  confirmed by fresh runs of 4 documents that fell (2 before, 2 now): *",
            "  the confirmation took 8 calls, $0.08.",
            "*1 verdict: WORSE in *",
        ]
    )
    found = fresh_calls(pytester, "two")
    assert set(found) == {"c11", "c15", "c3", "c7"}
    assert set(found.values()) == {2}


def test_a_fall_that_does_not_come_back_is_not_confirmed(pytester, project):
    project(UPDATE, BASELINE, "--extract-repeat=3")
    result = project(GATE, BASELINE, CONFIRM, prompt="two", first=DEAD)
    assert result.ret == 0
    result.stdout.fnmatch_lines(
        [
            "UNDECIDED. *",
            "  not confirmed by fresh runs of 4 documents that fell (*): fields right 100.0 %, was 100.0 %: *",
        ]
    )
    result.stdout.no_fnmatch_line("*WORSE*")


def test_without_the_option_the_verdict_names_it_and_its_price(pytester, project):
    (pytester.path / "q.md").write_text("two\n")
    result = project("--extract-prompt=p.md", "--extract-prompt=q.md", GATE, always=DEAD[:3])
    result.stdout.fnmatch_lines(
        [
            "UNDECIDED. *",
            "*to see if the fall is real, run 3 cases that fell again on both sides: pytest --extract-confirm (18 calls, $0.18).",
        ]
    )


def test_a_gate_with_a_budget_confirms_by_itself_and_a_comparison_without_a_gate_does_not(pytester, project):
    project(UPDATE, BASELINE, "--extract-repeat=3")
    result = project(GATE, BASELINE, "--extract-budget=5", prompt="two", always=DEAD)
    result.stdout.fnmatch_lines(["WORSE. *", "  confirmed by fresh runs of 4 documents *", "  the confirmation took *"])
    result = project(BASELINE, "--extract-budget=5", prompt="two", always=DEAD)
    result.stdout.no_fnmatch_line("*confirmation*")


def test_a_fall_on_many_cases_needs_no_fresh_run(pytester, project):
    project(UPDATE, BASELINE, "--extract-repeat=3")
    result = project(GATE, BASELINE, CONFIRM, prompt="two", always=list(range(20)))
    result.stdout.fnmatch_lines(["WORSE. *"])
    assert fresh_calls(pytester, "two") == {}


def test_a_run_as_good_as_its_baseline_needs_none_either(pytester, project):
    project(UPDATE, BASELINE, "--extract-repeat=3")
    result = project(GATE, BASELINE, CONFIRM, prompt="two")
    result.stdout.fnmatch_lines(["PASS*"])
    assert fresh_calls(pytester, "two") == {}


def test_a_baseline_of_one_run_confirms_nothing_and_is_told_what_to_do(pytester, project):
    project(UPDATE, BASELINE, "--extract-repeat=1")
    result = project(GATE, BASELINE, CONFIRM, prompt="two", always=DEAD)
    result.stdout.fnmatch_lines(
        ["WORSE. *", "*not confirmed: the baseline has one run of each case; store a baseline of three runs *"]
    )
    result.stdout.no_fnmatch_line("*confirmed by*")
    assert fresh_calls(pytester, "two") == {}
    result = project(GATE, BASELINE, prompt="two", always=DEAD[:3])
    result.stdout.fnmatch_lines(["UNDECIDED. *", "  to see if the fall is real, store a baseline of three runs *"])


def test_two_variants_of_a_run_are_both_called_again(pytester, project):
    (pytester.path / "q.md").write_text("two\n")
    result = project("--extract-prompt=p.md", "--extract-prompt=q.md", GATE, CONFIRM, always=DEAD)
    result.stdout.fnmatch_lines(
        ["WORSE. [[]p.md -> q.md[]] fields right 90.0 %, was 100.0 %*", "*confirmed by fresh runs of 4 documents*"]
    )
    assert fresh_calls(pytester, "one") == fresh_calls(pytester, "two") == dict.fromkeys(["c11", "c15", "c3", "c7"], 2)


def test_the_base_revision_is_called_again(pytester, project):
    (pytester.path / "wrong.json").write_text("{}")
    committed(pytester)
    result = project("--extract-base-ref=HEAD", GATE, CONFIRM, prompt="two", always=DEAD)
    result.stdout.fnmatch_lines(["WORSE. [[]HEAD -> now[]] *", "*confirmed by fresh runs of 4 documents*"])
    assert fresh_calls(pytester, "one") == dict.fromkeys(["c11", "c15", "c3", "c7"], 2)


def test_recordings_of_the_run_do_not_answer_but_those_of_a_confirmation_do(pytester, project):
    project(UPDATE, BASELINE, "--extract-repeat=3")
    arguments = (GATE, BASELINE, CONFIRM, "--extract-record=once")
    first = project(*arguments, prompt="two", always=DEAD)
    assert sum(fresh_calls(pytester, "two").values()) == 8
    again = project(*arguments, prompt="two", always=DEAD)
    assert not (pytester.path / "log").exists()
    verdicts = [[line for line in result.outlines if line.startswith("  confirmed by")] for result in (first, again)]
    assert verdicts[0] == verdicts[1] != []
    again.stdout.fnmatch_lines(["  the confirmation took 8 outputs replayed from recordings."])
    offline = project(GATE, BASELINE, CONFIRM, "--extract-record=none", prompt="two")
    offline.stdout.fnmatch_lines(["WORSE. *", "  confirmed by *"])


def test_offline_without_recorded_fresh_runs_the_verdict_says_how_to_record_them(pytester, project):
    project(UPDATE, BASELINE, "--extract-repeat=3")
    project("--extract-record=once", prompt="two", always=DEAD)
    result = project(GATE, BASELINE, CONFIRM, "--extract-record=none", prompt="two", always=DEAD)
    result.stdout.fnmatch_lines(
        [
            "  no fresh recording of *recorded for confirmation none, now yes; renew it with: * --extract-record=new.",
            "  not confirmed: 0 of 4 cases could run again, too few to show a fall.",
        ]
    )


def test_the_budget_ends_the_confirmation_too(pytester, project):
    project(UPDATE, BASELINE, "--extract-repeat=3")
    none_left = project(GATE, BASELINE, CONFIRM, "--extract-budget=0.4", prompt="two", always=DEAD)
    none_left.stdout.fnmatch_lines(
        ["WORSE. *", "  the budget of $0.4 is spent.", "  not confirmed: 0 of 4 cases could run again, *"]
    )
    some_left = project(
        GATE, BASELINE, CONFIRM, "--extract-budget=0.46", "--extract-concurrency=1", prompt="two", always=DEAD
    )
    some_left.stdout.fnmatch_lines(["*confirmed by fresh runs of 3 of the 4 documents that fell *"])
    assert sum(fresh_calls(pytester, "two").values()) == 6


def test_a_past_run_can_be_confirmed(pytester, project):
    """The results of shards, joined, are replayed; only the fresh runs call."""
    project(UPDATE, BASELINE, "--extract-repeat=3")
    project("--extract-report=run.jsonl", prompt="two", always=DEAD)
    result = project(GATE, BASELINE, CONFIRM, "--extract-from=run.jsonl", prompt="two", always=DEAD)
    result.stdout.fnmatch_lines(["WORSE. *", "  confirmed by fresh runs of 4 documents*"])
    assert len((pytester.path / "log").read_text().splitlines()) == 8


def test_a_past_run_is_called_again_with_its_own_prompt_only(pytester, project):
    project(UPDATE, BASELINE, "--extract-repeat=3")
    (pytester.path / "q.md").write_text("two\n")
    project("--extract-report=run.jsonl", "--extract-prompt=q.md", always=DEAD)
    past = (GATE, BASELINE, CONFIRM, "--extract-from=run.jsonl")
    other = project(*past, always=DEAD)
    other.stdout.fnmatch_lines(["WORSE. *", "*not confirmed: 4 cases cannot be called *; give --extract-prompt as *"])
    assert not (pytester.path / "log").exists()
    same = project(*past, "--extract-prompt=q.md", always=DEAD)
    same.stdout.fnmatch_lines(["WORSE. *", "  confirmed by fresh runs of 4 documents*"])


def test_the_cases_that_failed_last_are_confirmed_under_xdist_though_they_pass_now(pytester, project):
    project(UPDATE, BASELINE, "--extract-repeat=3")
    project("--extract-gate=case", prompt="two", always=[*range(12)], down=[20], in_process=False)
    result = project(GATE, BASELINE, CONFIRM, "-n2", "--lf", prompt="two", always=DEAD[:3], down=[20], in_process=False)
    result.stdout.fnmatch_lines(["*confirmed by fresh runs of 3 documents *"])
    result.stdout.no_fnmatch_line("*cannot be called*")


def test_an_interrupted_confirmation_says_so(pytester, project):
    project(UPDATE, BASELINE, "--extract-repeat=3")
    result = project(GATE, BASELINE, CONFIRM, prompt="two", always=DEAD, stop=DEAD, in_process=False)
    assert result.ret == pytest.ExitCode.INTERRUPTED
    result.stdout.fnmatch_lines(["*not confirmed: the fresh runs were interrupted; run the command again*"])


def test_the_number_bounds_the_cases(pytester, project):
    project(UPDATE, BASELINE, "--extract-repeat=3")
    project(GATE, BASELINE, f"{CONFIRM}=3", prompt="two", always=DEAD[:3])
    found = fresh_calls(pytester, "two")
    assert len(found) == 3
    assert sum(found.values()) <= 12


def test_a_hard_rule_needs_no_confirmation(pytester, project):
    project(UPDATE, BASELINE, "--extract-repeat=3")
    result = project(GATE, BASELINE, CONFIRM, "--extract-rule=max_fallen=0", prompt="two", always=DEAD)
    result.stdout.fnmatch_lines(["WORSE. fields right 90.0 %, was 100.0 %: *", "  rule: 16 fields fell, *"])
    assert fresh_calls(pytester, "two") == {}


def test_fresh_runs_are_no_results_of_the_run(pytester, project):
    project(UPDATE, BASELINE, "--extract-repeat=3")
    result = project(
        GATE, BASELINE, CONFIRM, "--extract-report=run.jsonl", "--junitxml=junit.xml", prompt="two", always=DEAD
    )
    result.stdout.fnmatch_lines(["*36 passed, 4 below their thresholds, 1 verdict: WORSE in *"])
    lines = (pytester.path / "run.jsonl").read_text().splitlines()
    assert sum('"nodeid"' in line for line in lines) == 40


@pytest.mark.parametrize("value", ["0", "few"])
def test_a_number_that_is_none_is_a_usage_error(pytester, project, value):
    result = project(f"{CONFIRM}={value}")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([f"*--extract-confirm: '{value}' must be a whole number, 1 or more*"])


def test_there_must_be_something_to_confirm(pytester, project):
    result = project(CONFIRM)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*--extract-confirm needs something to compare with: --extract-baseline=FILE*"])


def test_mistakes_in_a_file_are_told_once_under_xdist_too(pytester, project):
    project(UPDATE, BASELINE, "--extract-repeat=3")
    path = pytester.path / "all.extract.yaml"
    content = json.loads(path.read_text())
    content["cases"].append({"id": "bad", "text": "x", "gold": {}, "no_such_key": 1})
    path.write_text(json.dumps(content))
    result = project(GATE, BASELINE, CONFIRM, "-n2", prompt="two", always=DEAD, in_process=False)
    result.stdout.fnmatch_lines(
        [
            "  confirmed by fresh runs of 4 documents*",
            "*= 36 passed, 1 error, 4 below their thresholds, 1 verdict: WORSE in *",
        ]
    )
