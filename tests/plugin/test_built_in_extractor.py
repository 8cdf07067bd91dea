from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from functools import partial

import pytest

from pytest_extract.errors import ConfigError
from pytest_extract.extraction.litellm import load_litellm
from pytest_extract.results import read_results
from tests.llm_server import (
    MODEL,
    LlmServer,
    Reply,
    answer,
    context_length,
    dripping,
    empty,
    failed,
    llm_server,
    refused,
    truncated,
)
from tests.plugin.conftest import GOLD

__all__ = ["llm_server"]
try:
    load_litellm()  # once, not in every inner run
except ConfigError as missing:
    pytest.skip(str(missing), allow_module_level=True)
pytestmark = pytest.mark.usefixtures("called_model")
Write = Callable[..., None]


@pytest.mark.parametrize(
    ("reply", "outcome", "text"),
    [
        pytest.param(answer(json.dumps(GOLD)), "passed", "tokens: 11 in, 7 out; cost: *", id="good"),
        pytest.param(answer(f"Here:\n```json\n{json.dumps(GOLD)}\n```"), "passed", "1 case: 1 passed*", id="fenced"),
        pytest.param(empty(), "failed", "  empty_response: *", id="empty"),
        pytest.param(
            truncated('{"vendor": "AC'),
            "failed",
            "  truncated_json: cut at the token limit (finish_reason=length)*",
            id="truncated",
        ),
        pytest.param(refused("I cannot"), "failed", "  refusal: *I cannot*", id="refused"),
        pytest.param(context_length(), "failed", "  context_length:*", id="context-length"),
        pytest.param(
            failed(400, "Invalid schema for response_format 'extraction'"), "failed", "  schema_rejected:*", id="schema"
        ),
        pytest.param(failed(401, "Incorrect API key"), "failed", "BROKEN: *", id="no-access"),
    ],
)
def test_a_model_is_called_where_there_is_no_extractor(
    pytester: pytest.Pytester, write_case: Write, llm_server: LlmServer, reply: object, outcome: str, text: str
) -> None:
    llm_server.otherwise = reply  # type: ignore[assignment]
    write_case("acme", "Invoice of ACME")
    result = pytester.runpytest(f"--extract-model={MODEL}")
    result.assert_outcomes(**{outcome: 1})
    result.stdout.fnmatch_lines([text])
    result.stdout.no_fnmatch_line("*Traceback*")
    assert "Invoice of ACME" in json.dumps(llm_server.bodies[0]["messages"])


OPTIONAL = {"type": "object", "properties": {"vendor": {"type": "string", "pattern": "^A"}, "note": {"type": "string"}}}


def test_structured_mode_holds_the_model_to_the_schema_and_lists_what_is_lost(
    pytester: pytest.Pytester, write_case: Write, llm_server: LlmServer
) -> None:
    llm_server.otherwise = answer('{"vendor": "ACME", "note": null}')
    write_case("acme", schema=OPTIONAL, gold={"vendor": "ACME"})
    lost = "structured output is not held to `pattern` at /properties/vendor"
    args = [f"--extract-model={MODEL}", "--extract-mode=structured", "--extract-report=r.jsonl"]
    result = pytester.runpytest(*args, "--extract-record=once")
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines([f"requests changed: 1 case: {lost}"])
    assert llm_server.bodies[0]["response_format"]["json_schema"]["strict"] is True
    pytester.runpytest(*args, "--extract-record=none").assert_outcomes(passed=1)
    (attempt,) = read_results(pytester.path / "r.jsonl").results[0].attempts
    assert (attempt.output, attempt.adjustments) == ('{"vendor": "ACME"}', (lost,))
    assert len(llm_server.requests) == 1


@pytest.mark.parametrize("args", [[], ["--extract-mode=prompt"], ["-n1"]], ids=["alone", "beside prompt", "n1"])
def test_a_schema_that_cannot_be_strict_is_told_before_the_first_call(
    pytester: pytest.Pytester, write_case: Write, llm_server: LlmServer, args: list[str]
) -> None:
    write_case("good")
    for name in ("a", "b"):
        write_case(name, schema={**OPTIONAL, "additionalProperties": {"type": "string"}}, gold={"vendor": "ACME"})
    result = pytester.runpytest(f"--extract-model={MODEL}", *args, "--extract-mode=structured")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    told = [line for line in (*result.outlines, *result.errlines) if "--extract-mode=structured: " in line]
    assert len(told) == 2
    assert all("at /: keys that are not known before (additionalProperties)" in line for line in told)
    assert llm_server.requests == []


def test_a_fixture_that_hands_mode_and_model_on_is_told_as_early(
    pytester: pytest.Pytester, write_case: Write, llm_server: LlmServer
) -> None:
    pytester.makeconftest(
        """
        import pytest
        from pytest_extract import LitellmExtractor

        @pytest.fixture(scope="session")
        def extractor(extract_model, extract_mode):
            return LitellmExtractor(model=extract_model, mode=extract_mode)
        """
    )
    write_case("a", schema={"type": "object"}, gold={"vendor": "ACME"})
    result = pytester.runpytest(f"--extract-model={MODEL}", "--extract-mode=structured")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*at /: an object with any keys: no strict schema says that*"])
    pytester.runpytest(f"--extract-model={MODEL}").assert_outcomes(failed=1)


def test_a_project_s_extractor_goes_before_the_built_in_one(
    pytester: pytest.Pytester, write_case: Write, llm_server: LlmServer, echo: None
) -> None:
    write_case("acme")
    pytester.runpytest(f"--extract-model={MODEL}").assert_outcomes(passed=1)
    assert llm_server.bodies == []


@pytest.mark.slow
def test_a_slow_attempt_ends_after_extract_timeout_and_the_next_counts(
    pytester: pytest.Pytester, write_case: Write, llm_server: LlmServer
) -> None:
    llm_server.say(dripping(0.5, answer(json.dumps(GOLD))))
    llm_server.otherwise = answer(json.dumps(GOLD))
    write_case("acme")
    result = pytester.runpytest(f"--extract-model={MODEL}", "--extract-timeout=2.5")
    result.assert_outcomes(passed=1)
    assert len(llm_server.requests) == 2
    assert result.duration < 60, "the first answer takes minutes"


def test_a_model_that_takes_no_temperature_is_asked_without_and_the_run_says_so(
    pytester: pytest.Pytester, write_case: Write, llm_server: LlmServer
) -> None:
    told = "Unsupported value: 'temperature' does not support 0 with this model."
    llm_server.otherwise = lambda body: failed(400, told) if "temperature" in body else answer(json.dumps(GOLD))
    for number in range(3):
        write_case(f"c{number}", f"document {number}")
    text = f"{MODEL} refuses the option `temperature`: asked without it"
    args = [f"--extract-model={MODEL}", "--extract-concurrency=1", "--extract-record=once", "--extract-report=r.jsonl"]
    for _ in range(2):  # the second run replays
        result = pytester.runpytest(*args)
        result.assert_outcomes(passed=3)
        result.stdout.fnmatch_lines([f"requests changed: 3 cases: {text}"])
        results = read_results(pytester.path / "r.jsonl").results
        assert {each.attempts[0].adjustments for each in results} == {(text,)}
    assert len(llm_server.requests) == 4


IMPORTED_BY = """
import sys, threading

class Watch:
    def find_spec(self, name, path=None, target=None):
        if name == "litellm":
            print("\\nlitellm imported by", threading.current_thread().name)

sys.meta_path.insert(0, Watch())
"""


def test_what_calls_need_is_imported_in_pytests_own_thread(
    pytester: pytest.Pytester, write_case: Write, llm_server: LlmServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first case is replayed while the next is called ahead; the import must not meet the filters between them."""
    llm_server.otherwise = answer(json.dumps(GOLD))
    write_case("a")
    pytester.runpytest(f"--extract-model={MODEL}", "--extract-record=once").assert_outcomes(passed=1)
    write_case("b", "another document")
    pytester.makeconftest(IMPORTED_BY)
    for name, value in llm_server.env.items():
        monkeypatch.setenv(name, value)
    result = pytester.runpytest_subprocess(f"--extract-model={MODEL}", "--extract-record=once", "-s", "-Werror")
    result.assert_outcomes(passed=2)
    looked_up = {line for line in result.outlines if "litellm imported by" in line}  # by the import, and before it
    assert looked_up == {"litellm imported by MainThread"}


@pytest.mark.parametrize(
    ("reply", "told"),
    [
        pytest.param(failed(401, "Incorrect API key provided: not-a-key"), "*Incorrect API key*", id="wrong-key"),
        pytest.param(failed(403, "Project has no access to it"), "*no access*", id="no-access"),
        pytest.param(failed(404, "The model `test-model` does not exist"), "*does not exist*", id="no-model"),
        pytest.param(failed(400, "invalid model ID"), "*invalid model ID*", id="invalid-model"),
        pytest.param(failed(429, "You exceeded your current quota"), "*quota*", id="quota"),
    ],
)
def test_after_three_equal_permanent_errors_no_call_is_made(
    pytester: pytest.Pytester, write_case: Write, llm_server: LlmServer, reply: Reply, told: str
) -> None:
    llm_server.otherwise = reply
    for number in range(12):
        write_case(f"c{number}", f"document {number}")
    result = pytester.runpytest(f"--extract-model={MODEL}", "--extract-concurrency=1", "-q")
    result.assert_outcomes(failed=12)
    assert len(llm_server.requests) == 3
    result.stdout.fnmatch_lines(
        [
            f"BROKEN: {MODEL}: {told}",
            "no call of this model can succeed: *",
            "11 more cases failed for the same reason: *",
        ]
    )


def test_errors_of_single_documents_stop_nothing(
    pytester: pytest.Pytester, write_case: Write, llm_server: LlmServer
) -> None:
    for number in range(8):
        write_case(f"c{number}", f"document {number}")
    llm_server.say(*[failed(400, "could not read the image")] * 5)
    llm_server.otherwise = answer(json.dumps(GOLD))
    result = pytester.runpytest(f"--extract-model={MODEL}", "--extract-concurrency=1", "-q")
    result.assert_outcomes(failed=5, passed=3)


@pytest.mark.parametrize("empty", [True, False], ids=["empty", "unset"])
def test_a_key_that_is_not_set_is_named_at_once(
    pytester: pytest.Pytester,
    write_case: Write,
    llm_server: LlmServer,
    monkeypatch: pytest.MonkeyPatch,
    empty: bool,
) -> None:
    if empty:
        monkeypatch.setenv("OPENAI_API_KEY", "")
    else:
        monkeypatch.delenv("OPENAI_API_KEY")
    for number in range(20):
        write_case(f"c{number}")
    result = pytester.runpytest(f"--extract-model={MODEL}", "-q")
    result.assert_outcomes(failed=20)
    result.stdout.fnmatch_lines([f"BROKEN: {MODEL}: OPENAI_API_KEY is not set (*", "19 more cases failed*"])
    assert llm_server.requests == []
    assert result.duration < 20


@pytest.mark.slow
def test_an_unreachable_host_is_tried_a_little(
    pytester: pytest.Pytester, write_case: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    with LlmServer() as gone:
        env = gone.env
    for name, value in env.items():
        monkeypatch.setenv(name, value)
    for number in range(20):
        write_case(f"c{number}")
    result = pytester.runpytest(f"--extract-model={MODEL}", "-q")
    result.assert_outcomes(failed=20)
    result.stdout.fnmatch_lines(
        [f"BROKEN: {MODEL} after 3 attempts: *(ConnectionRefusedError: *", "19 more cases failed*"]
    )
    assert result.duration < 30


def test_a_judge_without_access_is_asked_three_times(
    pytester: pytest.Pytester, write_case: Write, llm_server: LlmServer, echo: None
) -> None:
    llm_server.otherwise = failed(401, "Incorrect API key provided")
    schema = {"type": "object", "properties": {"a": {"type": "string", "evaluation_config": "string_semantic"}}}
    for number in range(10):
        write_case(f"c{number}", {"a": f"automobile {number}"}, schema=schema, gold={"a": "car"})
    result = pytester.runpytest(
        "--extract-judge=llm", f"--extract-judge-model={MODEL}", "--extract-concurrency=1", "-q"
    )
    result.assert_outcomes(failed=10)
    assert len(llm_server.requests) == 3
    result.stdout.fnmatch_lines(["9 more cases failed for the same reason: *"])


def test_a_wrong_placeholder_of_a_prompt_is_told_before_the_first_call(
    pytester: pytest.Pytester, llm_server: LlmServer, write_case: Write
) -> None:
    (pytester.path / "p.md").write_text("Read it.\nBy {schema_str}: {document}", encoding="utf-8")
    write_case("a")
    result = pytester.runpytest(f"--extract-model={MODEL}", "--extract-prompt=p.md")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*p.md:2:4: no placeholder {schema_str}*"])
    assert llm_server.bodies == []


VARIANT = f"[[]{MODEL}]"


def test_the_verdict_says_whether_the_provider_served_another_build(
    pytester: pytest.Pytester, llm_server: LlmServer, write_case: Write
) -> None:
    def served(text: str, fingerprint: str) -> Reply:
        reply = answer(text)
        return replace(reply, body={**reply.body, "system_fingerprint": fingerprint})

    for name in ("a", "b", "c"):
        write_case(name, schema=OPTIONAL, gold={"vendor": "ACME"})
    run = partial(pytester.runpytest, f"--extract-model={MODEL}", "--extract-baseline=b.json")
    llm_server.otherwise = served('{"vendor": "ACME"}', "fp_a")
    run("--extract-update-baseline", "--extract-repeat=1", "--extract-record=once").assert_outcomes(passed=3)
    gate = partial(run, "--extract-gate=regression")
    same = "the provider served the same build of the model in 3 cases"
    gate("--extract-report=r.jsonl").stdout.fnmatch_lines([f"  note: {VARIANT} {same}"])
    gate("--extract-record=none").stdout.no_fnmatch_line("*same build*")
    builds = [result.attempts[0].build for result in read_results(pytester.path / "r.jsonl").results]
    assert len(set(builds)) == 1
    assert str(builds[0]).endswith("test-model fp_a")
    llm_server.otherwise = served('{"vendor": "ACME Inc"}', "fp_b")
    told = "*another build of the model in 3 of 3 cases: *test-model fp_b, was *test-model fp_a"
    gate().stdout.fnmatch_lines(["WORSE.*", f"  note: {VARIANT} same prompt and code, {told}"])
