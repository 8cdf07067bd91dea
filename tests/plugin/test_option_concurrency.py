"""--extract-concurrency: calls run ahead of their items, bounded, each once, and nothing else changes."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

LOGGING = """
import pytest, threading, time
from pathlib import Path

LOG = Path(__file__).parent / "log"
LOCK = threading.Lock()

def note(what, name):
    with LOCK, LOG.open("a") as log:
        log.write(f"{time.monotonic()} {what} {name} {threading.current_thread().name}\\n")

def gather():
    for _ in range(6000):  # a minute: nothing but a failure of the test waits so long
        if LOG.read_text().count(" start ") >= GATHER:
            return
        time.sleep(0.01)

@pytest.fixture(scope="SCOPE")
def extractor():
    def extract(document, case):
        note("start", case.id)
        gather()
        note("end", case.id)
        if "raise" in document.text:
            raise RuntimeError("boom " + case.id)
        return document.text
    return extract
"""

LOOKING = """
from pytest_extract.plugin import session

plan = session.Prefetcher._plan_before_turn

def note_and_plan(self, item):
    with (Path(__file__).parent / "looked").open("a") as log:
        log.write("x")
    plan(self, item)

session.Prefetcher._plan_before_turn = note_and_plan
"""


@pytest.fixture
def many(pytester):
    """Write `count` cases that log their calls; returns a function that reads the log as (start, end, id, thread).

    No call ends before `gather` of them have begun.
    """

    def write(count, scope="session", texts=None, marks=None, gather=1):
        pytester.makeconftest(LOGGING.replace("SCOPE", scope).replace("GATHER", str(gather)))
        cases = [
            {
                "id": f"c{index}",
                "text": (texts or {}).get(index, json.dumps({"n": index})),
                "gold": {"n": index},
                "marks": (marks or {}).get(index, []),
            }
            for index in range(count)
        ]
        schema = {"type": "object", "properties": {"n": {"type": "integer"}}}
        (pytester.path / "all.extract.yaml").write_text(json.dumps({"defaults": {"schema": schema}, "cases": cases}))

        def calls():
            started, found = {}, []
            for line in (pytester.path / "log").read_text().splitlines():
                moment, what, name, thread = line.split()
                if what == "start":
                    started[name] = float(moment)
                else:
                    found.append((started[name], float(moment), name, thread))
            return found

        return calls

    return write


def most_at_once(calls):
    edges = sorted([(start, 1) for start, *_ in calls] + [(end, -1) for _, end, *_ in calls])
    most = now = 0
    for _, step in edges:
        now += step
        most = max(most, now)
    return most


def names(calls):
    return sorted(name for *_, name, _ in calls)


@pytest.mark.parametrize("xdist", [(), ("-n2",)], ids=["one-process", "xdist"])
def test_calls_overlap_up_to_the_bound_and_each_is_made_once(pytester, many, xdist):
    calls = many(16, gather=3)
    result = pytester.runpytest_subprocess("--extract-concurrency=3", *xdist)
    result.assert_outcomes(passed=16)
    assert names(calls()) == sorted(f"c{index}" for index in range(16))
    assert most_at_once(calls()) == 3


def test_one_at_a_time_calls_in_pytests_own_thread(pytester, many):
    calls = many(4)
    pytester.runpytest("--extract-concurrency=1").assert_outcomes(passed=4)
    assert most_at_once(calls()) == 1
    assert {thread for *_, thread in calls()} == {"MainThread"}


def test_an_extractor_made_for_each_case_is_not_called_ahead(pytester, many):
    calls = many(4, scope="function")
    pytester.runpytest("--extract-concurrency=4").assert_outcomes(passed=4)
    assert most_at_once(calls()) == 1


def test_no_case_looks_at_all_that_follow(pytester, many):
    many(60, scope="function")
    conftest = pytester.path / "conftest.py"
    conftest.write_text(conftest.read_text() + LOOKING)
    pytester.runpytest_subprocess("--extract-concurrency=2").assert_outcomes(passed=60)
    assert len((pytester.path / "looked").read_text()) <= 60 * 8


def test_order_of_results_is_that_of_the_items(pytester, many):
    many(9)
    pytester.runpytest("--extract-concurrency=4", "--extract-report=r.jsonl").assert_outcomes(passed=9)
    lines = [json.loads(line) for line in (pytester.path / "r.jsonl").read_text().splitlines()]
    assert [line["case_id"] for line in lines if "case_id" in line] == [f"c{index}" for index in range(9)]


def test_an_exception_in_a_call_ahead_is_shown_with_its_own_case(pytester, many):
    calls = many(5, texts={3: "raise"})
    result = pytester.runpytest("--extract-concurrency=4")
    result.assert_outcomes(passed=4, failed=1)
    result.stdout.fnmatch_lines(["*_ c3 _*", "*raise RuntimeError(*boom*", "BROKEN*::c3 - RuntimeError: boom c3"])
    assert len(calls()) == 5


def test_after_a_failure_under_x_nothing_more_is_started(pytester, many):
    calls = many(40, texts={1: '{"n": 99}'})
    pytester.runpytest("--extract-concurrency=4", "-x").assert_outcomes(passed=1, failed=1)
    assert len(calls()) <= 2 + 4 + 4  # what ran, what was under way, and what took its place meanwhile


def test_what_is_deselected_or_skipped_is_never_called(pytester, many):
    calls = many(6, marks={2: ["skip(reason='no')"], 3: ["skipif(True, reason='no')"], 4: ["xfail(run=False)"]})
    result = pytester.runpytest("--extract-concurrency=4", "--deselect=all.extract.yaml::c5")
    result.assert_outcomes(passed=2, skipped=2, xfailed=1, deselected=1)
    assert names(calls()) == ["c0", "c1"]


def test_a_rerun_calls_again(pytester, many):
    calls = many(3, texts={1: '{"n": 99}'})
    result = pytester.runpytest("--extract-concurrency=4", "--reruns=1", "-p", "rerunfailures")
    result.stdout.fnmatch_lines(["*1 failed, 2 passed, 1 rerun*"])
    assert names(calls()) == ["c0", "c1", "c1", "c2"]


def test_repeats_of_one_case_overlap(pytester, many):
    calls = many(1, gather=3)
    pytester.runpytest("--extract-concurrency=3", "--extract-repeat=6").assert_outcomes(passed=1)
    assert len(calls()) == 6


def test_slots_leave_nothing_behind(pytester, many, monkeypatch, tmp_path):
    many(4)
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    pytester.runpytest_subprocess("--extract-concurrency=2", "-n2", f"--basetemp={tmp_path / 'base'}")
    assert not list(tmp_path.glob("pytest-extract-*"))


def test_a_time_out_of_the_extractor_s_own_is_its_error_and_no_wait(pytester, many):
    many(3)
    conftest = pytester.path / "conftest.py"
    conftest.write_text(conftest.read_text().replace("return document.text", "raise TimeoutError('the model is slow')"))
    result = pytester.runpytest_subprocess("--extract-concurrency=2")
    result.assert_outcomes(failed=3)
    result.stdout.fnmatch_lines(["BROKEN*::c2 - TimeoutError: the model is slow"])


JUDGED = """
import pytest, threading

CHANGED = threading.Condition()
FLYING, MOST = [], []

def call():
    with CHANGED:
        FLYING.append(1)
        MOST.append(len(FLYING))
        CHANGED.notify_all()
        CHANGED.wait_for(lambda: len(FLYING) > 2, timeout=0.05)  # room for one too many
        FLYING.pop()

@pytest.fixture(scope="session")
def extractor():
    def extract(document, case):
        call()
        return {"name": "other " + case.id}
    return extract

@pytest.fixture(scope="session")
def extract_judge():
    def judge(questions):
        call()
        return [1.0] * len(questions)
    return judge

def pytest_sessionfinish():
    print("most in flight:", max(MOST), "calls:", len(MOST))
"""


def test_calls_of_extractor_and_judge_share_one_bound(pytester):
    pytester.makeconftest(JUDGED)
    schema = {"properties": {"name": {"type": "string", "evaluation_config": "string_semantic"}}}
    cases = [{"id": f"c{index}", "text": "x", "gold": {"name": f"n{index}"}} for index in range(8)]
    (pytester.path / "all.extract.yaml").write_text(json.dumps({"defaults": {"schema": schema}, "cases": cases}))
    result = pytester.runpytest_subprocess("--extract-concurrency=2", "-s")
    result.assert_outcomes(passed=8)
    result.stdout.fnmatch_lines(["*most in flight: 2 calls: 16*"])


def test_under_a_debugger_calls_are_made_one_by_one_where_it_stops(pytester, write_case):
    pytester.makeconftest(
        """
        import threading
        import pytest

        @pytest.fixture(scope="session")
        def extractor():
            def extract(document):
                assert threading.current_thread() is threading.main_thread()
                return document.text
            return extract
        """
    )
    for name in "abc":
        write_case(name)
    pytester.runpytest_subprocess("--pdb", "--extract-concurrency=3").assert_outcomes(passed=3)


def test_after_ctrl_c_no_call_begins(pytester: pytest.Pytester, write_case: Callable[..., None]) -> None:
    """Threads that end a call while fixtures are torn down, which takes a second here, take no further one."""
    pytester.makeconftest(
        """
        import os, signal, threading, time
        import pytest

        @pytest.fixture(scope="session")
        def extractor():
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
    for name in "abcdefghijkl":
        write_case(name)
    result = pytester.runpytest_subprocess("-s", "--extract-concurrency=3", timeout=60)
    assert result.ret == pytest.ExitCode.INTERRUPTED
    result.stdout.fnmatch_lines(["*calls: 3*"])
