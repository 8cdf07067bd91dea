from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from pytest_extract.results import read_results
from tests.llm_server import LlmServer, Reply, answer, llm_server
from tests.plugin.conftest import GOLD

__all__ = ["llm_server"]
Write = Callable[..., None]
COSTS = """
import pytest
from pytest_extract.extraction.call import Extraction

@pytest.fixture
def extractor():
    def extract(document):
        with open("calls", "a") as log:
            log.write("x")
        return Extraction(document.text, cost_usd={cost})
    return extract
"""


def project(pytester: pytest.Pytester, write_case: Write, cost: str, cases: int = 5) -> None:
    pytester.makeconftest(COSTS.format(cost=cost))
    for number in range(cases):
        write_case(f"c{number}", question=f"What of {number}?")


def test_cases_left_when_the_budget_is_spent_are_not_run_and_the_run_is_not_green(
    pytester: pytest.Pytester, write_case: Write
) -> None:
    project(pytester, write_case, "0.5")
    result = pytester.runpytest("--extract-budget=1", "--extract-concurrency=1", "--extract-report=r.jsonl")
    result.assert_outcomes(passed=2, skipped=3)
    assert result.ret == pytest.ExitCode.INTERRUPTED
    result.stdout.fnmatch_lines(
        ["5 cases: 2 passed, 3 not run; *", "not run: 3 cases: the budget of $1 is spent", "cost: $1.0000"]
    )
    lines = (pytester.path / "r.jsonl").read_text(encoding="utf-8").splitlines()
    assert [json.loads(line)["outcome"] for line in lines] == ["passed"] * 2 + ["not_run"] * 3


def test_all_workers_have_one_purse(pytester: pytest.Pytester, write_case: Write) -> None:
    project(pytester, write_case, "1.0", cases=10)
    pytester.runpytest("--extract-budget=3", "--extract-concurrency=1", "-n2")
    assert len((pytester.path / "calls").read_text(encoding="utf-8")) in {3, 4}  # the other worker may be in a call


def test_a_call_of_unknown_cost_ends_the_run(pytester: pytest.Pytester, write_case: Write) -> None:
    project(pytester, write_case, "None")
    result = pytester.runpytest("--extract-budget=100", "--extract-concurrency=1")
    result.assert_outcomes(passed=1, skipped=4)
    result.stdout.fnmatch_lines(["not run: 4 cases: the budget of $100 cannot be kept: a call reported no cost*"])


def test_within_the_budget_all_is_green(pytester: pytest.Pytester, write_case: Write) -> None:
    project(pytester, write_case, "0.01")
    result = pytester.runpytest("--extract-budget=1")
    result.assert_outcomes(passed=5)
    assert result.ret == pytest.ExitCode.OK


@pytest.mark.parametrize(
    ("cost", "message"),
    [
        pytest.param("0.5", "cost 0.5 USD is above 0.02 USD, by 0.48", id="above"),
        pytest.param("None", "max_cost_usd 0.02 cannot be checked: the cost is unknown*", id="unknown"),
    ],
)
def test_a_case_may_bound_its_cost(pytester: pytest.Pytester, write_case: Write, cost: str, message: str) -> None:
    pytester.makeconftest(COSTS.format(cost=cost))
    write_case("a", thresholds={"max_cost_usd": 0.02})
    result = pytester.runpytest()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines([f"*{message}"])


def test_a_case_that_failed_and_cannot_be_run_again_has_failed(pytester: pytest.Pytester, write_case: Write) -> None:
    pytester.makeconftest(COSTS.format(cost="0.5"))
    write_case("a", output="{}")
    args = ("-p", "rerunfailures", "--reruns=3", "--extract-budget=1", "--extract-report=r.jsonl")
    result = pytester.runpytest(*args)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(
        ["*not run again: the budget of $1 is spent*", "cost: $1.0000 ($0.5000 of it for 1 call before reruns)"]
    )
    result.stdout.fnmatch_lines(["*1 failed, 3 rerun*"])
    (one,) = read_results(pytester.path / "r.jsonl").results
    assert (one.outcome, one.attempts[0].cost_usd) == ("failed", 0.5)


def test_a_case_may_bound_its_time(pytester: pytest.Pytester, write_case: Write) -> None:
    pytester.makeconftest(COSTS.format(cost="0, latency_s=31.5"))
    write_case("a", thresholds={"max_latency_s": 30})
    pytester.runpytest().stdout.fnmatch_lines(["*latency 31.5 s is above 30 s, by 1.5*"])


def test_a_dry_run_calls_nothing_and_tells_what_it_would_take(pytester: pytest.Pytester, write_case: Write) -> None:
    project(pytester, write_case, "0.01", cases=2)
    write_case("thrice", repeat=3)
    result = pytester.runpytest("--extract-dry-run", "--extract-model=m", "--extract-model=n", "-n1")
    result.assert_outcomes(skipped=6)
    assert result.ret == pytest.ExitCode.OK
    assert not (pytester.path / "calls").exists()
    result.stdout.fnmatch_lines(["6 cases: 10 calls, 0 recorded", "10 calls without a known price, not counted"])


def test_a_dry_run_counts_what_is_recorded(pytester: pytest.Pytester, write_case: Write) -> None:
    project(pytester, write_case, "0.01", cases=2)
    pytester.runpytest("--extract-record=once", "--extract-report=r.jsonl", "-k", "c0")
    again = pytester.runpytest("--extract-from=r.jsonl", "--extract-dry-run", "-k", "c0")
    again.stdout.fnmatch_lines(["1 case: 0 calls, 1 recorded"])
    result = pytester.runpytest("--extract-record=once", "--extract-dry-run")
    result.stdout.fnmatch_lines(["2 cases: 1 call, 1 recorded"])


@pytest.mark.parametrize(
    ("args", "told"),
    [
        (["--extract-concurrency=1"], "budget of $1 exceeded by $0.2000: what a call costs is known when it ends"),
        (["--extract-concurrency=3"], "budget of $1 exceeded by $*: what a call costs is known when it ends"),
    ],
    ids=["one by one", "at once"],
)
def test_what_was_spent_beyond_the_budget_is_told(
    pytester: pytest.Pytester, write_case: Write, args: list[str], told: str
) -> None:
    project(pytester, write_case, "0.6", cases=6)
    if args[0].endswith("3"):
        conftest = pytester.path / "conftest.py"
        # the first three calls end together, so that none has spent anything when the others begin
        together = (
            "import threading\nMET = threading.Event()\nFIRST = threading.Barrier(3, MET.set)\n"
            "def meet():\n    if not MET.is_set():\n        FIRST.wait(20)\n"
        )
        text = conftest.read_text().replace("return Ex", "meet()\n        return Ex")
        conftest.write_text(together + text.replace("@pytest.fixture", '@pytest.fixture(scope="session")'))
    pytester.runpytest("--extract-budget=1", *args).stdout.fnmatch_lines([told])


def test_a_budget_that_is_kept_is_not_told(pytester: pytest.Pytester, write_case: Write) -> None:
    project(pytester, write_case, "0.5", cases=2)
    pytester.runpytest("--extract-budget=1").stdout.no_fnmatch_line("*exceeded*")


def without_tokens(text: str) -> Reply:
    return Reply(body={**answer(text).body, "usage": {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}})


@pytest.mark.usefixtures("called_model")
def test_calls_without_reported_tokens_are_estimated_for_the_budget(
    pytester: pytest.Pytester, write_case: Write, llm_server: LlmServer
) -> None:
    llm_server.otherwise = without_tokens(json.dumps(GOLD))
    for number in range(20):
        write_case(f"c{number}", f"document {number}")
    result = pytester.runpytest(
        "--extract-model=openai/gpt-4o-mini", "--extract-budget=0.0002", "--extract-report=r.jsonl"
    )
    assert result.ret == pytest.ExitCode.INTERRUPTED
    result.stdout.fnmatch_lines(
        [
            "not run: *: the budget of $0.0002 is spent",
            "cost: unknown (* calls without reported tokens)",
            "budget of $0.0002: about $0.000* is counted for * calls that reported no cost, an estimate by *",
        ]
    )
    called = [one.attempts[0] for one in read_results(pytester.path / "r.jsonl").results if one.attempts]
    assert len(called) == len(llm_server.requests) < 20
    for attempt in called:
        assert (attempt.usage, attempt.cost_usd) == (None, None)
        assert "the provider did not report all tokens: the cost is unknown, about $" in attempt.notes[0]


@pytest.mark.usefixtures("called_model")
def test_an_unpriced_model_without_tokens_ends_the_run(
    pytester: pytest.Pytester, write_case: Write, llm_server: LlmServer
) -> None:
    llm_server.otherwise = without_tokens(json.dumps(GOLD))
    write_case("a")
    write_case("b")
    result = pytester.runpytest("--extract-model=openai/new", "--extract-budget=1", "--extract-concurrency=1")
    result.assert_outcomes(passed=1, skipped=1)
    result.stdout.fnmatch_lines(["not run: 1 case: the budget of $1 cannot be kept: *"])


@pytest.mark.usefixtures("called_model", "echo")
def test_a_judge_without_reported_tokens_is_estimated(
    pytester: pytest.Pytester, write_case: Write, llm_server: LlmServer
) -> None:
    llm_server.otherwise = without_tokens("no verdict")
    schema = {"type": "object", "properties": {"a": {"type": "string", "evaluation_config": "string_semantic"}}}
    write_case("a", {"a": "automobile"}, schema=schema, gold={"a": "car"})
    result = pytester.runpytest("--extract-judge=llm", "--extract-judge-model=openai/gpt-4o-mini", "--extract-budget=1")
    result.stdout.fnmatch_lines(
        [
            "judge: * cost: unknown (* without reported tokens)",
            "budget of $1: about $0.000* is counted for * that reported no cost*",
        ]
    )


@pytest.mark.parametrize("args", [[], ["-n1"]], ids=["plain", "n1"])
def test_an_extractor_may_estimate_its_cost(pytester: pytest.Pytester, write_case: Write, args: list[str]) -> None:
    project(pytester, write_case, "None, estimated_usd=0.5")
    result = pytester.runpytest("--extract-budget=1", "--extract-concurrency=1", *args)
    result.assert_outcomes(passed=2, skipped=3)
    result.stdout.fnmatch_lines(["budget of $1: about $1.000000 is counted for 2 calls that reported no cost*"])
