"""--extract-concurrency: calls run ahead of their items, bounded, each once, and nothing else changes."""

import json

import pytest

from tests.plugin.conftest import results, shows

SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}}}
LOGGING = """
import pytest, threading, time
from pathlib import Path

LOG = Path(__file__).parent / "log"
LOCK = threading.Lock()

def note(what, name):
    with LOCK, LOG.open("a") as log:
        log.write(f"{what} {name} {threading.current_thread().name}\\n")

def gather():
    for _ in range(6000):  # a minute: nothing but a failure of the test waits so long
        if LOG.read_text().count("start ") >= GATHER:
            return
        time.sleep(0.01)

@pytest.fixture(scope="SCOPE")
def extractor():
    def extract(document, case):
        note("start", case.id)
        gather()
        note("end", case.id)
        if "raise" in document.text:
            raise TimeoutError("slow " + case.id)
        return document.text
    return extract
"""
LOOKING = """
from pytest_extract.plugin import session

will_run = session._will_run

def note_and_tell(item):
    with (Path(__file__).parent / "looked").open("a") as log:
        log.write("x")
    return will_run(item)

session._will_run = note_and_tell
"""


@pytest.fixture
def many(pytester, write_suite):
    """Write `count` cases that log their calls; returns a function that reads the log as (what, case, thread).

    No call ends before `gather` of them have begun.
    """

    def write(count, scope="session", texts=None, marks=None, gather=1, head=""):
        pytester.makeconftest(LOGGING.replace("SCOPE", scope).replace("GATHER", str(gather)) + head)
        cases = [{"gold": {"n": number}, "marks": (marks or {}).get(number, [])} for number in range(count)]
        for number, text in (texts or {}).items():
            cases[number]["text"] = text
        write_suite(cases, schema=SCHEMA)
        return lambda: [line.split() for line in (pytester.path / "log").read_text().splitlines()]

    return write


def most_at_once(log):
    most = now = 0
    for what, *_ in log:
        now += 1 if what == "start" else -1
        most = max(most, now)
    return most


def names(log):
    return sorted(name for what, name, _ in log if what == "end")


@pytest.mark.parametrize("xdist", [(), ("-n2",)], ids=["one-process", "xdist"])
def test_calls_overlap_up_to_the_bound_and_each_is_made_once(pytester, many, xdist, monkeypatch, tmp_path):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    log = many(16, gather=3)
    result = pytester.runpytest_subprocess("--extract-concurrency=3", *xdist, f"--basetemp={tmp_path / 'base'}")
    result.assert_outcomes(passed=16)
    assert names(log()) == sorted(f"c{number}" for number in range(16))
    assert most_at_once(log()) == 3
    assert not list(tmp_path.glob("pytest-extract-*")), "a slot was left behind"


@pytest.mark.parametrize(("scope", "bound"), [("session", 1), ("function", 4)])
def test_calls_of_one_at_a_time_or_of_an_extractor_for_each_case_do_not_overlap(run, many, scope, bound):
    log = many(4, scope=scope)
    run(f"--extract-concurrency={bound}", passed=4)
    assert most_at_once(log()) == 1
    assert {thread for *_, thread in log()} == {"MainThread"}


def test_no_case_looks_at_all_that_follow(pytester, many):
    many(60, scope="function", head=LOOKING)
    pytester.runpytest_subprocess("--extract-concurrency=2").assert_outcomes(passed=60)
    assert len((pytester.path / "looked").read_text()) <= 60 * 8


def test_results_and_exceptions_of_calls_ahead_stand_with_their_cases_in_their_order(pytester, many):
    log = many(9, texts={3: "raise"})
    result = pytester.runpytest_subprocess("--extract-concurrency=4", "--extract-report=r.jsonl")
    result.assert_outcomes(passed=8, failed=1)
    shows(result, "*_ c3 _*", "*raise TimeoutError(*slow*", "ERROR*::c3 - TimeoutError: slow c3")
    assert [each.case_id for each in results(pytester)] == [f"c{number}" for number in range(9)]
    assert len(names(log())) == 9


def test_after_a_failure_under_x_nothing_more_is_started(run, many):
    log = many(40, texts={1: '{"n": 99}'})
    run("--extract-concurrency=4", "-x", passed=1, failed=1)
    assert len(names(log())) <= 2 + 4 + 4  # what ran, what was under way, and what took its place meanwhile


def test_what_is_deselected_or_skipped_is_never_called(run, many):
    log = many(6, marks={2: ["skip(reason='no')"], 3: ["skipif(True, reason='no')"], 4: ["xfail(run=False)"]})
    run("--extract-concurrency=4", "--deselect=all.extract.yaml::c5", passed=2, skipped=2, xfailed=1, deselected=1)
    assert names(log()) == ["c0", "c1"]


def test_a_rerun_calls_again(run, many):
    log = many(3, texts={1: '{"n": 99}'})
    run("--extract-concurrency=4", "--reruns=1", "-p", "rerunfailures", lines=["*1 failed, 2 passed, 1 rerun*"])
    assert names(log()) == ["c0", "c1", "c1", "c2"]


def test_repeats_of_one_case_overlap(run, many):
    log = many(1, gather=3)
    run("--extract-concurrency=3", "--extract-repeat=6", passed=1)
    assert len(names(log())) == 6


JUDGE = """
def gather():
    time.sleep(0.05)  # room for one call too many

@pytest.fixture(scope="session")
def extract_judge():
    def judge(questions):
        note("start", "judge")
        gather()
        note("end", "judge")
        return [1.0] * len(questions)
    return judge
"""


def test_calls_of_extractor_and_judge_share_one_bound(run, many, write_suite):
    log = many(8, head=JUDGE)
    cases = [{"text": json.dumps({"n": f"other {number}"}), "gold": {"n": f"name {number}"}} for number in range(8)]
    write_suite(cases, schema={"properties": {"n": {"type": "string", "evaluation_config": "string_semantic"}}})
    run("--extract-concurrency=2", passed=8)
    assert most_at_once(log()) == 2
    assert len(names(log())) == 16


def test_under_a_debugger_calls_are_made_one_by_one_where_it_stops(pytester, many):
    log = many(3)
    pytester.runpytest_subprocess("--pdb", "--extract-concurrency=3").assert_outcomes(passed=3)
    assert {thread for *_, thread in log()} == {"MainThread"}


def test_after_ctrl_c_no_call_begins(pytester, write_fixture, write_suite):
    """Threads that end a call while fixtures are torn down, which takes a second here, take no further one."""
    write_fixture(
        """
        calls = []
        def extract(document):
            calls.append(1)
            if len(calls) == 3:
                threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT)).start()
            time.sleep(0.6)
            return document.text
        yield extract
        time.sleep(1)
        print("calls:", len(calls))
        """
    )
    write_suite([{"gold": {"n": number}} for number in range(12)], schema=SCHEMA)
    result = pytester.runpytest_subprocess("-s", "--extract-concurrency=3", timeout=60)
    assert result.ret == pytest.ExitCode.INTERRUPTED
    shows(result, "*calls: 3*")
