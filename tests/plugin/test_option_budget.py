"""--extract-budget and --extract-dry-run, and what a case may cost."""

import json

import pytest

from tests.llm_server import LlmServer, Reply, answer, llm_server
from tests.plugin.conftest import GOLD, GREEN, RED, STOPPED, plain_and_workers, results

__all__ = ["llm_server"]
ONE_BY_ONE = "--extract-concurrency=1"


@pytest.fixture
def project(write_extractor, write_case):
    """Write an extractor that reports this cost, and cases of different questions."""

    def write(cost, cases=5, **keys):
        write_extractor(f"return Extraction(document.text, cost_usd={cost})")
        for number in range(cases):
            write_case(f"c{number}", question=f"What of {number}?", **keys)

    return write


def test_cases_left_when_the_budget_is_spent_are_not_run_and_the_run_is_not_green(pytester, run, project):
    project("0.5")
    lines = ["5 cases: 2 passed, 3 not run; *", "not run: 3 cases: the budget of $1 is spent", "cost: $1.0000"]
    spent = ("--extract-budget=1", ONE_BY_ONE, "--extract-report=r.jsonl")
    run(*spent, passed=2, skipped=3, status=STOPPED, lines=lines)
    assert [each.outcome for each in results(pytester)] == ["passed"] * 2 + ["not_run"] * 3
    run("--extract-budget=3", passed=5, status=GREEN).stdout.no_fnmatch_line("*exceeded*")


def test_all_workers_have_one_purse(pytester, project, calls):
    project("1.0", cases=10)
    pytester.runpytest("--extract-budget=3", ONE_BY_ONE, "-n2")
    assert calls() in {3, 4}  # the other worker may be in a call


def test_a_call_of_unknown_cost_ends_the_run(run, project):
    project("None")
    why = "not run: 4 cases: the budget of $100 cannot be kept: a call reported no cost*"
    run("--extract-budget=100", ONE_BY_ONE, passed=1, skipped=4, lines=[why])


@plain_and_workers
def test_an_extractor_may_estimate_its_cost(run, project, workers):
    project("None, estimated_usd=0.5")
    told = "budget of $1: about $1.000000 is counted for 2 calls that reported no cost*"
    run("--extract-budget=1", ONE_BY_ONE, *workers, passed=2, skipped=3, lines=[told])


@pytest.mark.parametrize(
    ("reported", "bound", "message"),
    [
        ("0.5", {"max_cost_usd": 0.02}, "cost 0.5 USD is above 0.02 USD, by 0.48"),
        ("None", {"max_cost_usd": 0.02}, "max_cost_usd 0.02 cannot be checked: the cost is unknown*"),
        ("0, latency_s=31.5", {"max_latency_s": 30}, "latency 31.5 s is above 30 s, by 1.5*"),
    ],
)
def test_a_case_may_bound_its_cost_and_its_time(run, project, reported, bound, message):
    project(reported, cases=1, thresholds=bound)
    run(failed=1, lines=[f"*{message}"])


def test_a_case_that_failed_and_cannot_be_run_again_has_failed(pytester, run, project, write_case):
    project("0.5", cases=0)
    write_case("a", output="{}")
    cost = "cost: $1.0000 ($0.5000 of it for 1 call before reruns)"
    lines = ["*not run again: the budget of $1 is spent*", cost, "*1 failed, 3 rerun*"]
    reruns = ("-p", "rerunfailures", "--reruns=3")
    run(*reruns, "--extract-budget=1", "--extract-report=r.jsonl", status=RED, lines=lines)
    (one,) = results(pytester)
    assert (one.outcome, one.attempts[0].cost_usd) == ("failed", 0.5)


def test_a_dry_run_calls_nothing_and_tells_what_it_would_take(run, project, write_case, calls):
    project("0.01", cases=2)
    write_case("thrice", repeat=3)
    lines = ["6 cases: 10 calls, 0 recorded", "10 calls without a known price, not counted"]
    models = ("--extract-model=m", "--extract-model=n")
    run("--extract-dry-run", *models, "-n1", skipped=6, status=GREEN, lines=lines)
    assert calls() == 0


def test_a_dry_run_counts_what_is_recorded(pytester, run, project):
    project("0.01", cases=2)
    pytester.runpytest("--extract-record=once", "--extract-report=r.jsonl", "-k", "c0")
    run("--extract-from=r.jsonl", "--extract-dry-run", "-k", "c0", lines=["1 case: 0 calls, 1 recorded"])
    run("--extract-record=once", "--extract-dry-run", lines=["2 cases: 1 call, 1 recorded"])


def test_what_was_spent_beyond_the_budget_is_told(run, project, write_extractor, calls):
    project("0.6", cases=6)
    beyond = "budget of $1 exceeded by ${}: what a call costs is known when it ends"
    run("--extract-budget=1", ONE_BY_ONE, lines=[beyond.format("0.2000")])
    assert calls() == 2
    # the first three calls end together, so that none has spent anything when the others begin
    meeting = (
        'if os.path.getsize(HERE / "calls") < 4:\n    meet.wait(20)\nreturn Extraction(document.text, cost_usd=0.6)'
    )
    write_extractor(meeting, "document, meet=threading.Barrier(3)")
    run("--extract-budget=1", "--extract-concurrency=3", lines=[beyond.format("*")])


def without_tokens(text: str) -> Reply:
    return Reply(body={**answer(text).body, "usage": {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}})


@pytest.mark.usefixtures("called_model")
def test_calls_without_reported_tokens_are_estimated_for_the_budget(pytester, run, write_case, llm_server: LlmServer):
    llm_server.otherwise = without_tokens(json.dumps(GOLD))
    for number in range(20):
        write_case(f"c{number}", f"document {number}")
    lines = [
        "not run: *: the budget of $0.0002 is spent",
        "cost: unknown (* calls without reported tokens)",
        "budget of $0.0002: about $0.000* is counted for * calls that reported no cost, an estimate by *",
    ]
    cheap = ("--extract-model=openai/gpt-4o-mini", "--extract-budget=0.0002")
    run(*cheap, "--extract-report=r.jsonl", status=STOPPED, lines=lines)
    called = [one.attempts[0] for one in results(pytester) if one.attempts]
    assert len(called) == len(llm_server.requests) < 20
    for attempt in called:
        assert (attempt.usage, attempt.cost_usd) == (None, None)
        assert "the provider did not report all tokens: the cost is unknown, about $" in attempt.notes[0]
    unpriced = ("--extract-model=openai/new", "--extract-budget=1")
    why = "not run: 10 cases: the budget of $1 cannot be kept: *"
    run(*unpriced, ONE_BY_ONE, "-k", "c1", passed=1, skipped=10, lines=[why])


@pytest.mark.usefixtures("called_model", "echo")
def test_a_judge_without_reported_tokens_is_estimated(run, write_case, llm_server: LlmServer):
    llm_server.otherwise = without_tokens("no verdict")
    schema = {"type": "object", "properties": {"a": {"type": "string", "evaluation_config": "string_semantic"}}}
    write_case("a", {"a": "automobile"}, schema=schema, gold={"a": "car"})
    lines = [
        "judge: * cost: unknown (* without reported tokens)",
        "budget of $1: about $0.000* is counted for * that reported no cost*",
    ]
    run("--extract-judge=llm", "--extract-judge-model=openai/gpt-4o-mini", "--extract-budget=1", lines=lines)
