"""Models called without a project's extractor: what they answer, what they refuse, and what is told before a call."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace

import pytest

from pytest_extract.errors import ConfigError
from pytest_extract.extraction.litellm import check_model, load_litellm, price, price_table
from tests.llm_server import (
    MODEL,
    LlmServer,
    answer,
    context_length,
    dripping,
    empty,
    failed,
    llm_server,
    truncated,
)
from tests.llm_server import refused as declined
from tests.plugin.conftest import GOLD, refused, results

__all__ = ["llm_server"]
try:
    load_litellm()  # once, not in every inner run
except ConfigError as missing:
    pytest.skip(str(missing), allow_module_level=True)
pytestmark = pytest.mark.usefixtures("called_model")
ASKED = f"--extract-model={MODEL}"
ONE_BY_ONE = "--extract-concurrency=1"
RIGHT = answer(json.dumps(GOLD))
OPTIONAL = {"type": "object", "properties": {"vendor": {"type": "string", "pattern": "^A"}, "note": {"type": "string"}}}
MODELS = ("openai/gpt-4o", "gpt-4o-mini", "anthropic/claude-sonnet-4-5", "gemini/gemini-2.5-flash", "openai/made-up")


@pytest.fixture
def write_documents(write_case):
    """Write cases `c0`, `c1`, ... whose documents differ, so that no answer serves two of them."""

    def write(count):
        for number in range(count):
            write_case(f"c{number}", f"document {number}")

    return write


REPLIES = {
    "bare": RIGHT,
    "cut": truncated('{"vendor": "AC'),
    "declined": declined("I cannot"),
    "down": failed(401, "Incorrect API key"),
    "empty": empty(),
    "fenced": answer(f"Here:\n```json\n{json.dumps(GOLD)}\n```"),
    "long": context_length(),
    "rejected": failed(400, "Invalid schema for response_format 'extraction'"),
}


def test_a_model_is_called_where_there_is_no_extractor(write_case, run, llm_server):
    llm_server.otherwise = lambda body: next(REPLIES[name] for name in REPLIES if f"a {name} one" in json.dumps(body))
    for name in REPLIES:
        write_case(name, f"a {name} one")
    told = [
        "  truncated_json: cut at the token limit (finish_reason=length)*",
        "  refusal: *I cannot*",
        "ERROR: *Incorrect API key*",
        "  empty_response: *",
        "  context_length:*",
        "  schema_rejected:*",
        "tokens: 55 in, 35 out; cost: *",
    ]
    result = run(ASKED, passed=2, failed=6, lines=told)
    result.stdout.no_fnmatch_line("*Traceback*")
    assert len(llm_server.requests) == 8


def test_a_project_s_extractor_goes_before_the_built_in_one(write_case, run, llm_server, echo):
    write_case("acme")
    run(ASKED, passed=1)
    assert llm_server.bodies == []


def test_structured_mode_holds_the_model_to_the_schema_and_lists_what_is_lost(pytester, write_case, run, llm_server):
    llm_server.otherwise = answer('{"vendor": "ACME", "note": null}')
    write_case("acme", schema=OPTIONAL, gold={"vendor": "ACME"})
    lost = "structured output is not held to `pattern` at /properties/vendor"
    for mode in ("once", "none"):
        args = [ASKED, "--extract-mode=structured", "--extract-report=r.jsonl", f"--extract-record={mode}"]
        run(*args, passed=1, lines=[f"requests changed: 1 case: {lost}"])
        (attempt,) = results(pytester)[0].attempts
        assert (attempt.output, attempt.adjustments) == ('{"vendor": "ACME"}', (lost,))
    (body,) = llm_server.bodies
    assert body["response_format"]["json_schema"]["strict"] is True


@pytest.mark.parametrize("args", [[], ["--extract-mode=prompt"], ["-n1"]], ids=["alone", "beside prompt", "n1"])
def test_a_schema_that_cannot_be_strict_is_told_before_the_first_call(write_case, run, llm_server, args):
    write_case("good")
    for name in ("a", "b"):
        write_case(name, schema={**OPTIONAL, "additionalProperties": {"type": "string"}}, gold={"vendor": "ACME"})
    result = run(ASKED, *args, "--extract-mode=structured")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    told = [line for line in (*result.outlines, *result.errlines) if "--extract-mode=structured: " in line]
    assert len(told) == 2
    assert all("at /: keys that are not known before (additionalProperties)" in line for line in told)
    assert llm_server.requests == []


def test_a_fixture_that_hands_mode_and_model_on_is_told_as_early(write_case, write_fixture, run, llm_server):
    body = "import pytest_extract\nreturn pytest_extract.LitellmExtractor(model=extract_model, mode=extract_mode)"
    write_fixture(body, "extract_model, extract_mode")
    write_case("a", schema={"type": "object"}, gold={"vendor": "ACME"})
    strict = "*at /: an object with any keys: no strict schema says that*"
    refused(run(ASKED, "--extract-mode=structured"), strict)
    run(ASKED, failed=1)


def test_a_wrong_placeholder_of_a_prompt_is_told_before_the_first_call(write_case, write_files, run, llm_server):
    write_files({"p.md": "Read it.\nBy {schema_str}: {document}"})
    write_case("a")
    refused(run(ASKED, "--extract-prompt=p.md"), "*p.md:2:4: no placeholder {schema_str}*")
    assert llm_server.bodies == []


@pytest.mark.slow
def test_a_slow_attempt_ends_after_extract_timeout_and_the_next_counts(write_case, run, llm_server):
    llm_server.say(dripping(0.5, RIGHT))
    llm_server.otherwise = RIGHT
    write_case("acme")
    result = run(ASKED, "--extract-timeout=2.5", passed=1)
    assert len(llm_server.requests) == 2
    assert result.duration < 60, "the first answer takes minutes"


def test_a_model_that_takes_no_temperature_is_asked_without_and_the_run_says_so(
    pytester, write_documents, run, llm_server
):
    told = "Unsupported value: 'temperature' does not support 0 with this model."
    llm_server.otherwise = lambda body: failed(400, told) if "temperature" in body else RIGHT
    write_documents(3)
    text = f"{MODEL} refuses the option `temperature`: asked without it"
    for _ in range(2):  # the second run replays
        args = [ASKED, ONE_BY_ONE, "--extract-record=once", "--extract-report=r.jsonl"]
        run(*args, passed=3, lines=[f"requests changed: 3 cases: {text}"])
        assert {each.attempts[0].adjustments for each in results(pytester)} == {(text,)}
    assert len(llm_server.requests) == 4


IMPORTED_BY = """
import sys, threading

class Watch:
    def find_spec(self, name, path=None, target=None):
        if name == "litellm":
            print("\\nlitellm imported by", threading.current_thread().name)

sys.meta_path.insert(0, Watch())
"""


def test_what_calls_need_is_imported_in_pytests_own_thread(pytester, write_case, run, llm_server, monkeypatch):
    """The first case is replayed while the next is called ahead; the import must not meet the filters between them."""
    llm_server.otherwise = RIGHT
    write_case("a")
    run(ASKED, "--extract-record=once", passed=1)
    write_case("b", "another document")
    pytester.makeconftest(IMPORTED_BY)
    for name, value in llm_server.env.items():
        monkeypatch.setenv(name, value)
    result = pytester.runpytest_subprocess(ASKED, "--extract-record=once", "-s", "-Werror")
    result.assert_outcomes(passed=2)
    looked_up = {line for line in result.outlines if "litellm imported by" in line}  # by the import, and before it
    assert looked_up == {"litellm imported by MainThread"}


# errors of a provider


PERMANENT = [
    (401, "Incorrect API key provided"),
    (403, "Project has no access to it"),
    (404, "The model `test-model` does not exist"),
    (400, "invalid model ID"),
    (429, "You exceeded your current quota"),
]


def test_a_run_ends_such_calls_of_each_model_and_tells_their_cause_once(write_documents, run, llm_server):
    errors = {f"test-model-{status}": (status, message) for status, message in PERMANENT}
    llm_server.otherwise = lambda body: failed(*errors[body["model"]])
    write_documents(6)
    models = [f"--extract-model=openai/{name}" for name in errors]
    result = run(*models, ONE_BY_ONE, "-q", failed=6 * len(errors))
    assert Counter(request.body["model"] for request in llm_server.requests) == dict.fromkeys(errors, 3)
    told = [f"ERROR: openai/{name}: *{message}*" for name, (_, message) in errors.items()]
    result.stdout.fnmatch_lines_random(told)
    assert result.stdout.str().count("5 more cases failed for the same reason: ") == len(errors)
    assert result.stdout.str().count("\nno call of this model can succeed: ") == len(errors)


def test_a_judge_without_access_is_asked_three_times(write_case, run, llm_server, echo):
    llm_server.otherwise = failed(401, "Incorrect API key provided")
    schema = {"type": "object", "properties": {"a": {"type": "string", "evaluation_config": "string_semantic"}}}
    for number in range(10):
        write_case(f"c{number}", {"a": f"automobile {number}"}, schema=schema, gold={"a": "car"})
    judge = ("--extract-judge=llm", f"--extract-judge-model={MODEL}")
    run(*judge, ONE_BY_ONE, "-q", failed=10, lines=["9 more cases failed for the same reason: *"])
    assert len(llm_server.requests) == 3


def test_errors_of_single_documents_stop_nothing(write_documents, run, llm_server):
    write_documents(8)
    llm_server.say(*[failed(400, "could not read the image")] * 5)
    llm_server.otherwise = RIGHT
    run(ASKED, ONE_BY_ONE, "-q", failed=5, passed=3)


def test_a_key_that_is_not_set_is_named_at_once(write_documents, run, llm_server, monkeypatch):
    write_documents(20)
    for change in (lambda name: monkeypatch.setenv(name, ""), monkeypatch.delenv):
        change("OPENAI_API_KEY")
        told = [f"ERROR: {MODEL}: OPENAI_API_KEY is not set (*", "19 more cases failed*"]
        assert run(ASKED, "-q", failed=20, lines=told).duration < 20
    assert llm_server.requests == []


@pytest.mark.slow
def test_an_unreachable_host_is_tried_a_little(write_documents, run, monkeypatch):
    with LlmServer() as gone:
        for name, value in gone.env.items():
            monkeypatch.setenv(name, value)
    write_documents(20)
    told = [f"ERROR: {MODEL} after 3 attempts: *(ConnectionRefusedError: *", "19 more cases failed*"]
    assert run(ASKED, "-q", failed=20, lines=told).duration < 30


def test_the_verdict_says_whether_the_provider_served_another_build(pytester, write_case, run, llm_server):
    def served(text, fingerprint):
        reply = answer(text)
        return replace(reply, body={**reply.body, "system_fingerprint": fingerprint})

    for name in ("a", "b", "c"):
        write_case(name, schema=OPTIONAL, gold={"vendor": "ACME"})
    baseline = (ASKED, "--extract-baseline=b.json")
    llm_server.otherwise = served('{"vendor": "ACME"}', "fp_a")
    run(*baseline, "--extract-update-baseline", "--extract-repeat=1", "--extract-record=once", passed=3)
    gate = (*baseline, "--extract-gate=regression")
    same = f"  note: [[]{MODEL}] the provider served the same build of the model in 3 cases"
    run(*gate, "--extract-report=r.jsonl", lines=[same])
    run(*gate, "--extract-record=none").stdout.no_fnmatch_line("*same build*")
    (build,) = {result.attempts[0].build for result in results(pytester)}
    assert str(build).endswith("test-model fp_a")
    llm_server.otherwise = served('{"vendor": "ACME Inc"}', "fp_b")
    told = "*another build of the model in 3 of 3 cases: *test-model fp_b, was *test-model fp_a"
    run(*gate, lines=["WORSE.*", f"  note: [[]{MODEL}] same prompt and code, {told}"])


# names and prices of models


@pytest.mark.parametrize("model", MODELS)
def test_prices_are_those_of_litellm(model):
    assert len(price_table()) > 1_000
    asked = price(model, 1_000, 100)
    assert (asked is None) == (model == "openai/made-up")
    if asked is not None:
        assert asked == pytest.approx(sum(load_litellm().cost_per_token(model, 1_000, 100)))


def test_a_model_of_a_known_provider_may_have_any_name_and_others_are_refused(capsys):
    for model in (*MODELS, "ollama/mine", "hosted_vllm/a/b", "azure/our-deployment", "openrouter/a/b"):
        check_model(model)
    for model in ("gpt4o", "nope/gpt-4o", "opnai/gpt-4o", "/x"):
        with pytest.raises(ConfigError, match="litellm knows no provider"):
            check_model(model)
    assert capsys.readouterr().out == ""


def test_a_run_with_such_a_name_ends_before_the_first_case(pytester, write_case, run, write_extractor):
    judged = {"type": "object", "properties": {"vendor": {"type": "string", "x-eval-compare": "semantic"}}}
    write_case("a", schema=judged, gold={"vendor": "ACME GmbH"})
    told = "*--extract-model=gpt4o: no model 'gpt4o': *did you mean 'gpt-4o'*"
    refused(run("--extract-model=gpt4o"), told)
    write_extractor("return document.text")
    refused(run("--extract-judge-model=gpt4o"), "*--extract-judge-model=gpt4o: no model 'gpt4o'*")
    write_extractor("return document.text", "document, model")
    write_case("a")
    run("--extract-model=house blend", passed=1)  # an extractor's own names are its own business


def test_a_forecast_does_not_import_litellm(pytester, write_case):
    write_case("a")
    pytester.makeconftest("import sys\ndef pytest_unconfigure():\n    print('litellm', 'litellm' in sys.modules)\n")
    result = pytester.runpytest_subprocess("--extract-dry-run", "--extract-model=openai/gpt-4o", "-s")
    result.stdout.fnmatch_lines(["cost: about $0.00*", "litellm False"])
