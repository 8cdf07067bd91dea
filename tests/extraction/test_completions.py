"""One completion over real HTTP: what is retried, what is final, and what is kept of an answer."""

from __future__ import annotations

import asyncio
import builtins
import sys
import time
from dataclasses import replace

import pytest

from pytest_extract.core.case_result import Usage
from pytest_extract.core.results import FailureKind
from pytest_extract.errors import ConfigError
from pytest_extract.extraction.litellm import LlmError, Retry, complete, load_litellm, price, price_table
from pytest_extract.extraction.provider_errors import Outage, summary
from tests.llm_server import (
    MODEL,
    LlmServer,
    Reply,
    answer,
    context_length,
    dripping,
    failed,
    malformed,
    rate_limited,
    server_error,
    slow,
)

PATIENT = Retry(attempts=3, timeout_s=60.0, first_wait_s=1.0, longest_wait_s=20.0)
PRICED = "openai/gpt-4o-mini"


def ask(*, retry=PATIENT, model=MODEL, content="hi", **options):
    return complete(model, [{"role": "user", "content": content}], retry=retry, **options)


def told(text, *, on_choice=None, in_message=None, **beside):
    """Return an answer of status 200 with more keys on its choice, in its message, or beside its choices."""
    body = answer(text, **(in_message or {})).body
    body["choices"][0] |= on_choice or {}
    return Reply(body={name: value for name, value in {**body, **beside}.items() if value != "left out"})


def test_an_answer_with_what_the_provider_says_about_it(llm_server):
    llm_server.otherwise = answer("hello", tokens=(1000, 100))
    got = ask()
    assert (got.output, got.finish_reason, got.failure) == ("hello", "stop", None)
    assert got.usage == Usage(prompt_tokens=1000, completion_tokens=100, total_tokens=1100)
    assert got.cost_usd is None, "litellm has no price for the test model, and no price is not 0"
    assert price(MODEL, 1, 1) is None
    assert 0 < got.latency_s < 60
    assert ask(model=PRICED).cost_usd == pytest.approx(price(PRICED, 1000, 100)) == 1000 * 0.15e-6 + 100 * 0.6e-6


def test_it_works_inside_a_running_loop(llm_server):
    async def inside():
        return ask()

    assert asyncio.run(inside()).output == "{}"


@pytest.mark.parametrize(
    ("said", "kept"),
    [
        ({"native_finish_reason": "RECITATION"}, "RECITATION"),
        ({"finish_reason": "length", "native_finish_reason": "MAX_TOKENS"}, "length"),
        ({"native_finish_reason": "completed"}, "stop"),
        ({"finish_reason": "eos"}, "stop"),
    ],
)
def test_the_finish_reason_is_the_one_that_ends_an_answer_early(llm_server, said, kept):
    llm_server.say(told("ok", on_choice=said))
    assert ask().finish_reason == kept


# --- what it cost

ZEROS = {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}
UNREPORTED = {
    "left out": ("left out", None),
    "null": (None, None),
    "empty": ({}, None),
    "zeros": (ZEROS, None),
    "no answer": (ZEROS | {"prompt_tokens": 90, "total_tokens": 90}, Usage(prompt_tokens=90, total_tokens=90)),
    "no prompt": ({"completion_tokens": 9}, Usage(completion_tokens=9)),
    "a sum": ({"total_tokens": 99}, Usage(total_tokens=99)),
}


@pytest.mark.parametrize(("usage", "kept"), UNREPORTED.values(), ids=UNREPORTED)
def test_tokens_that_are_not_reported_are_unknown_and_their_cost_is_estimated(llm_server, usage, kept):
    llm_server.otherwise = told("hello", usage=usage)
    got, unpriced = ask(model=PRICED), ask()
    assert (got.usage, got.cost_usd) == (kept, None)
    prompt, completion = (kept.prompt_tokens, kept.completion_tokens) if kept else (None, None)
    assert got.estimated_usd == pytest.approx(price(PRICED, prompt or 1, completion or 2))
    assert (unpriced.cost_usd, unpriced.estimated_usd) == (None, None)


def test_the_estimate_counts_attachments_and_scripts_by_bytes(llm_server):
    llm_server.say(told("hello", usage=None))
    text = {"type": "text", "text": "\u59d3\u540d" * 20}
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA=="}}
    assert ask(model=PRICED, content=[text, image]).estimated_usd == pytest.approx(price(PRICED, 1500 + 30, 2))


def test_a_model_without_a_fee_costs_nothing_however_many_tokens(llm_server):
    llm_server.say(told("hello", usage=None))
    got = ask(model="publicai/allenai/Olmo-3-7B-Instruct", api_base=llm_server.url, api_key="none")
    assert (got.usage, got.cost_usd, got.estimated_usd) == (None, 0.0, None)


def test_an_answer_counts_where_no_price_can_be_looked_up(llm_server, monkeypatch):
    load_litellm()
    monkeypatch.setattr(sys.modules["litellm"], "__spec__", None)
    price_table.cache_clear()
    llm_server.say(told("hello", usage=None))
    got = ask(model=PRICED)
    assert (got.output, got.cost_usd, got.estimated_usd) == ("hello", None, None)


# --- what passes is tried again

DIED = {"code": 502, "message": "the upstream died"}
ASKED_TO_WAIT = {"Retry-After": "7"}
PER_MINUTE = (
    "Rate limit reached on requests per min (RPM): Limit 3, Used 3. You can increase your rate limit by adding a payment "
    "method to your account at https://platform.openai.com/account/billing."
)
QUOTA = "You exceeded your current quota, please check your plan and billing details."
PASSING = {
    "per minute, OpenAI": (failed(429, PER_MINUTE, code="rate_limit_exceeded", headers=ASKED_TO_WAIT), 7.0),
    "per minute, Gemini": (failed(429, QUOTA, headers=ASKED_TO_WAIT), 7.0),
    "per minute, in words": (failed(429, f"{QUOTA}\nPlease retry in 1.07s."), None),
    "rate limit": (rate_limited(), None),
    "in milliseconds": (failed(429, "", headers={"retry-after-ms": "250", "retry-after": "1"}), 0.25),
    "nobody knows when": (failed(429, "", headers={"retry-after": "soon"}), None),
    "since a while": (failed(429, "", headers={"retry-after": "-1"}), None),
    "a word of the input": (failed(500, "the billing address could not be parsed"), None),
    "500": (server_error(500), None),
    "503": (server_error(503), None),
    "gateway": (failed(522, "connection timed out"), None),
    "malformed": (malformed(), None),
    "no choices": (Reply(body=[1]), None),
    "empty choices": (told("x", choices=[]), None),
    "error beside text": (told('{"a', on_choice={"finish_reason": "error", "error": DIED}), None),
    "error beside a whole text": (told('{"a": 1}', on_choice={"error": DIED}), None),
    "error without content": (told(None, on_choice={"error": DIED}), None),
    "error in the message": (told(None, in_message={"error": DIED}), None),
    "error as a text": (told('{"a', on_choice={"error": "the upstream died"}), None),
    "error with an unusual code": (told('{"a', on_choice={"error": DIED | {"code": "upstream_error"}}), None),
    "error beside the choices": (told('{"a": 1}', error=DIED), None),
    "error in place of choices": (Reply(body={"error": DIED}), None),
    "error of 429": (told('{"a', on_choice={"error": DIED | {"code": 429}}), None),
    "finish reason error": (told('{"a": 1}', on_choice={"finish_reason": "error"}), None),
    "finish reason of one service": (told("{}", on_choice={"finish_reason": "insufficient_system_resource"}), None),
}


@pytest.mark.parametrize(("first", "asked_to_wait"), PASSING.values(), ids=PASSING)
def test_a_passing_fault_is_tried_again(llm_server, waits, first, asked_to_wait):
    llm_server.say(first, answer("ok"))
    assert ask().output == "ok"
    (waited,) = waits
    assert len(llm_server.requests) == 2
    assert waited == asked_to_wait or (asked_to_wait is None and 0.5 <= waited <= 1.0)


LASTS = {
    "empty choices": r"MalformedAnswer: .* `choices` is empty",
    "error beside text": "status 200, tells of an error: the upstream died",
    "500": "InternalServerError",
}


@pytest.mark.parametrize(("fault", "words"), LASTS.items(), ids=LASTS)
def test_waits_grow_and_end_with_the_words_of_a_fault_that_lasts(llm_server, waits, fault, words):
    llm_server.otherwise = PASSING[fault][0]
    with pytest.raises(LlmError, match=f"after 3 attempts: .*{words}") as raised:
        ask()
    assert (raised.value.kind, len(llm_server.requests)) == (None, 3)
    assert 0.5 <= waits[0] <= 1.0 <= waits[1] <= 2.0


@pytest.mark.slow
@pytest.mark.parametrize("late", [slow(3600, answer("late")), dripping(0.5, answer("late"))], ids=["slow", "dripping"])
def test_an_answer_that_comes_too_late_is_given_up_in_time_and_tried_again(llm_server, waits, late):
    """Each byte that drips comes soon enough for a limit of each read; the whole would take minutes."""
    llm_server.say(late)
    llm_server.otherwise = answer("ok")
    begin = time.monotonic()
    assert ask(retry=replace(PATIENT, timeout_s=3.0)).output == "ok"
    assert len(waits) == 1
    assert time.monotonic() - begin < 30


@pytest.mark.slow
def test_an_answer_that_always_drips_says_how_long_it_may_take(llm_server):
    llm_server.otherwise = dripping(0.5, answer("late"))
    expected = r"after 2 attempts: AttemptTimeout: no complete answer within 1\.5 s, .*--extract-timeout"
    with pytest.raises(LlmError, match=expected):
        ask(retry=replace(PATIENT, attempts=2, timeout_s=1.5))
    assert len(llm_server.requests) == 2


def test_a_lost_connection_says_what_broke_it(monkeypatch):
    with LlmServer() as gone:
        for name, value in gone.env.items():
            monkeypatch.setenv(name, value)
    with pytest.raises(LlmError, match=r"after 3 attempts: .*Connection error\. \(ConnectionRefusedError: "):
        ask()


# --- what lasts is told at once

LENGTH = FailureKind.CONTEXT_LENGTH
REFUSAL = FailureKind.REFUSAL
XAI = "This model's maximum prompt length is 131072 but the request has 136973."
TOO_LONG = "This model's maximum context length is 8192 tokens"
FINAL = {
    "context length": (context_length(), LENGTH),
    "page limit": (failed(400, "A maximum of 100 PDF pages may be provided."), FailureKind.PAGE_LIMIT),
    "content policy": (failed(400, "rejected by our content policy", code="content_policy_violation"), REFUSAL),
    "a body of its own": (Reply(status=422, body={"detail": TOO_LONG}), LENGTH),
    "vllm": (failed(400, "The decoder prompt (length 9000) is longer than the maximum model length of 8192."), LENGTH),
    "xai": (Reply(status=400, body={"error": XAI}), LENGTH),
    "kimi": (failed(400, "Your request exceeded model token limit: 262144"), LENGTH),
    "glm": (failed(400, "Prompt exceeds max length", code="1261"), LENGTH),
    "qwen": (failed(400, "<400> InvalidParameter: Range of input length should be [1, 30720]"), LENGTH),
    "too many bytes": (Reply(status=413, body={"error": {"type": "request_too_large", "message": "Too big"}}), LENGTH),
    "qwen's inspection": (failed(400, "Input data may contain inappropriate content."), REFUSAL),
    "the code of a refusal": (failed(400, "The request was rejected", code="content_filter"), REFUSAL),
    "kimi's refusal": (failed(400, "The request was rejected because it was considered high risk"), REFUSAL),
    "moderation": (failed(403, 'your input was flagged for "violence"'), REFUSAL),
    "error in an answer": (told(None, on_choice={"error": {"code": 400, "message": TOO_LONG}}), LENGTH),
    "no money, in an answer": (told(None, on_choice={"error": {"code": 402, "message": "No credits"}}), None),
    "repeats the request": (Reply(status=422, body={"detail": [{"msg": "no list", "input": TOO_LONG}]}), None),
    "wrong key": (failed(401, "Incorrect API key"), None),
    "unknown model": (failed(404, "The model does not exist"), None),
    "no money": (failed(429, "You exceeded your current quota", code="insufficient_quota"), None),
    "no credit": (failed(400, "Your credit balance is too low"), None),
    "asked to wait for an hour": (rate_limited(3600), None),
}


@pytest.mark.parametrize(("reply", "kind"), FINAL.values(), ids=FINAL)
def test_a_lasting_fault_is_told_at_once(llm_server, reply, kind):
    llm_server.otherwise = reply
    with pytest.raises(LlmError) as caught:
        ask()
    assert (caught.value.kind, len(llm_server.requests)) == (kind, 1)


@pytest.mark.parametrize("nothing", [None, {}, {"code": None, "message": ""}, ""], ids=repr)
def test_an_error_that_says_nothing_is_none(llm_server, nothing):
    llm_server.say(told("ok", on_choice={"error": nothing}))
    assert ask().output == "ok"


@pytest.mark.parametrize(
    ("status", "body", "words"),
    [
        (401, {"detail": "Unauthorized"}, "Error code: 401: Unauthorized"),
        (400, {"error": "no such thing"}, "Error code: 400: no such thing"),
        (422, {"detail": [{"loc": ["body", "seed"], "msg": "no", "input": "all"}]}, "Error code: 422: body seed no"),
        (400, {"error": {"message": "no such thing", "type": "invalid_request_error"}}, "- no such thing"),
    ],
)
def test_an_error_is_told_in_the_words_of_any_body(llm_server, status, body, words):
    llm_server.otherwise = Reply(status=status, body=body)
    with pytest.raises(LlmError) as caught:
        ask()
    assert str(caught.value).splitlines()[0].endswith(words)


def test_an_answer_that_the_client_cannot_read_is_asked_for_once(llm_server):
    llm_server.otherwise = answer([{"type": "text", "text": "{}"}])
    with pytest.raises(LlmError, match="cannot read the server's answer: `content`: Input should be a valid string"):
        ask()
    assert len(llm_server.requests) == 1


def test_no_secret_in_the_error(llm_server):
    llm_server.otherwise = failed(401, "Incorrect API key provided: sk-planted0123456789abcdef")
    with pytest.raises(LlmError) as caught:
        ask(extra_headers={"X-Api-Key": "planted-header"})
    assert "planted" not in str(caught.value)
    assert "[redacted: API key]" in str(caught.value)


def test_a_long_message_is_shortened():
    words = summary(ValueError("x" * 2000))
    assert words.startswith("ValueError: xxx")
    assert words.endswith("... (2,000 characters)")
    assert len(words) < 600


def test_without_litellm_it_says_what_to_install(monkeypatch):
    real = builtins.__import__

    def without(name, *rest, **more):
        if name == "litellm":
            raise ModuleNotFoundError("No module named 'litellm'")
        return real(name, *rest, **more)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(ConfigError, match=r"pip install 'pytest-extract\[llm\]'"):
        load_litellm()


def test_a_call_without_an_attempt_is_refused():
    with pytest.raises(ConfigError, match="at least one attempt, not 0"):
        ask(retry=Retry(attempts=0))


# --- options that a model does not take

WISHES = {"temperature": 0.0, "seed": 7, "top_p": 0.5, "response_format": {"type": "json_object"}}


def test_options_reach_the_request_and_of_the_wishes_only_those_that_the_model_has(llm_server):
    ask(max_tokens=5, preferred={"temperature": 0.0})
    ask(model="openai/o3", preferred={"temperature": 0.0, "top_p": 0.5, "seed": 7}, max_completion_tokens=3)
    first, other = llm_server.bodies
    assert (first["max_tokens"], first["temperature"]) == (5, 0.0)
    assert (other["max_completion_tokens"], other["seed"], "temperature" in other) == (3, 7, False)
    with pytest.raises(LlmError, match="temperature"):
        ask(model="openai/o3", temperature=0.0)
    assert len(llm_server.requests) == 2


def refusing(option, said):
    """A model that refuses an option."""
    return lambda body: said if option in body else answer("ok")


EXTRA = '[{"type":"extra_forbidden","loc":["body","seed"],"msg":"Extra inputs are not permitted"}]'
REFUSED = {
    "openai": ("temperature", "Unsupported value: 'temperature' does not support 0 with this model."),
    "anthropic": ("temperature", "`temperature` may only be set to 1 when thinking is enabled."),
    "capital": ("temperature", "Temperature is deprecated for this model"),
    "pydantic": ("seed", EXTRA),
    "fastapi": ("temperature", {"detail": [{"loc": ["body", "temperature"], "msg": "extra fields not permitted"}]}),
    "camel case": ("response_format", 'Unknown name "responseFormat": Cannot find field.'),
    "another word": ("response_format", "This model does not support structured outputs"),
    "vllm": ("response_format", "guided_json is not supported by this backend"),
    "top p": ("top_p", "temperature_x: `top-p` must be 1"),
}


@pytest.mark.parametrize("status", [400, 422])
@pytest.mark.parametrize(("option", "said"), REFUSED.values(), ids=REFUSED)
def test_a_wish_that_an_error_names_is_left_out_and_that_is_told(llm_server, option, said, status):
    refusal = failed(status, said) if isinstance(said, str) else Reply(status=status, body=said)
    llm_server.otherwise = refusing(option, refusal)
    outage = Outage()
    first, again = (ask(preferred=WISHES, outage=outage) for _ in range(2))
    assert first.adjustments == again.adjustments == (f"{MODEL} refuses the option `{option}`: asked without it",)
    assert [option in body for body in llm_server.bodies] == [True, False, False], "the next call is spared the error"
    assert all(WISHES.keys() - {option} <= body.keys() for body in llm_server.bodies)


def test_what_one_call_left_out_as_a_wish_goes_with_the_next_where_it_is_asked_for(llm_server):
    outage = Outage()
    llm_server.say(failed(400, "temperature is not supported"))
    ask(preferred={"temperature": 0.0}, outage=outage)
    assert ask(temperature=0.0, outage=outage).adjustments == ()
    assert llm_server.bodies[-1]["temperature"] == 0.0


def test_wishes_are_left_out_one_after_another(llm_server):
    def reply(body):
        named = next((name for name in ("temperature", "seed") if name in body), None)
        return answer("ok") if named is None else failed(400, f"Unknown parameter: '{named}'.")

    llm_server.otherwise = reply
    assert len(ask(preferred={"temperature": 0.0, "seed": 7}).adjustments) == 2
    assert len(llm_server.requests) == 3


OTHER_ERRORS = {
    "the user's own": (failed(400, "'temperature' does not support 0"), {"temperature": 0.0}, 1),
    "not named": (failed(400, "could not read the image"), {"preferred": {"temperature": 0.0}}, 1),
    "another status": (failed(403, "temperature is locked for your project"), {"preferred": {"temperature": 0.0}}, 1),
}


@pytest.mark.parametrize(("reply", "options", "calls"), OTHER_ERRORS.values(), ids=OTHER_ERRORS)
def test_other_errors_change_nothing(llm_server, reply, options, calls):
    llm_server.otherwise = reply
    with pytest.raises(LlmError):
        ask(**options)
    assert len(llm_server.requests) == calls
