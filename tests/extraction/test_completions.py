"""One completion over real HTTP: what is retried, what is final, and what is kept of an answer."""

from __future__ import annotations

import builtins
import sys
import time
from dataclasses import replace

import pytest

from pytest_extract.core.case_result import Usage
from pytest_extract.core.results import FailureKind
from pytest_extract.errors import ConfigError
from pytest_extract.extraction.litellm import LlmError, Retry, complete, load_litellm, price, price_table
from pytest_extract.extraction.provider_errors import Outage, retry_after, summary
from tests.llm_server import (
    MODEL,
    LlmServer,
    Reply,
    answer,
    context_length,
    dripping,
    failed,
    llm_server,
    malformed,
    rate_limited,
    server_error,
    slow,
)

__all__ = ["llm_server"]
PATIENT = Retry(attempts=3, timeout_s=60.0, first_wait_s=1.0, longest_wait_s=20.0)
NEVER = 3600.0


def ask(waits=None, *, retry=PATIENT, model=MODEL, **options):
    messages = [{"role": "user", "content": "hi"}]
    return complete(model, messages, retry=retry, sleep=(waits if waits is not None else []).append, **options)


def test_an_answer_with_what_the_provider_says_about_it(llm_server):
    llm_server.say(answer("hello", tokens=(100, 20)))
    got = ask()
    assert (got.output, got.finish_reason, got.failure) == ("hello", "stop", None)
    assert got.usage == Usage(prompt_tokens=100, completion_tokens=20, total_tokens=120)
    assert got.cost_usd is None, "litellm has no price for the test model, and no price is not 0"
    assert 0 < got.latency_s < 60


def test_a_priced_model_costs(llm_server):
    llm_server.say(answer("hello", tokens=(1000, 100)))
    got = ask(model="openai/gpt-4o-mini")
    assert got.cost_usd == pytest.approx(price("openai/gpt-4o-mini", 1000, 100))
    assert got.cost_usd == pytest.approx(1000 * 0.15e-6 + 100 * 0.6e-6)
    assert price("openai/test-model", 1, 1) is None


def test_an_answer_counts_where_no_price_can_be_looked_up(llm_server, monkeypatch):
    load_litellm()
    monkeypatch.setattr(sys.modules["litellm"], "__spec__", None)
    price_table.cache_clear()
    llm_server.say(reporting(None))
    got = ask(model="openai/gpt-4o-mini")
    assert (got.output, got.cost_usd, got.estimated_usd) == ("hello", None, None)


def reporting(usage):
    body = {**answer("hello").body, "usage": usage}
    return Reply(body={key: value for key, value in body.items() if value != "left out"})


UNREPORTED = {
    "left out": ("left out", None),
    "null": (None, None),
    "empty": ({}, None),
    "zeros": ({"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}, None),
    "no answer": (
        {"prompt_tokens": 90, "completion_tokens": 0, "total_tokens": 90},
        Usage(prompt_tokens=90, total_tokens=90),
    ),
    "no prompt": ({"completion_tokens": 9}, Usage(completion_tokens=9)),
    "a sum": ({"total_tokens": 99}, Usage(total_tokens=99)),
}


@pytest.mark.parametrize(("usage", "kept"), UNREPORTED.values(), ids=UNREPORTED)
def test_tokens_that_are_not_reported_are_unknown_and_their_cost_is_estimated(llm_server, usage, kept):
    llm_server.say(reporting(usage), reporting(usage))
    got = ask(model="openai/gpt-4o-mini")
    assert (got.usage, got.cost_usd) == (kept, None)
    prompt, completion = (kept.prompt_tokens, kept.completion_tokens) if kept else (None, None)
    assert got.estimated_usd == pytest.approx(price("openai/gpt-4o-mini", prompt or 1, completion or 2))
    unpriced = ask()
    assert (unpriced.cost_usd, unpriced.estimated_usd) == (None, None)


def test_a_model_without_a_fee_costs_nothing_however_many_tokens(llm_server):
    llm_server.say(reporting("left out"))
    got = ask(model="publicai/allenai/Olmo-3-7B-Instruct", api_base=llm_server.url, api_key="none")
    assert (got.usage, got.cost_usd, got.estimated_usd) == (None, 0.0, None)


def test_the_estimate_counts_attachments_and_scripts_by_bytes(llm_server):
    llm_server.say(reporting("left out"))
    parts = [
        {"type": "text", "text": "\u59d3\u540d" * 20},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA=="}},
    ]
    got = complete("openai/gpt-4o-mini", [{"role": "user", "content": parts}])
    assert got.estimated_usd == pytest.approx(price("openai/gpt-4o-mini", 1500 + 30, 2))


DIED = {"code": 502, "message": "the upstream died"}


def told(text, *, on_choice=None, in_message=None, beside=None):
    """Return an answer of status 200 with more keys on its choice, in its message, or beside its choices."""
    body = answer(text, **(in_message or {})).body
    body["choices"][0] |= on_choice or {}
    return Reply(body={**body, **(beside or {})})


OUTAGES = {
    "error beside text": told('{"a', on_choice={"finish_reason": "error", "error": DIED}),
    "error beside a whole text": told('{"a": 1}', on_choice={"error": DIED}),
    "error without content": told(None, on_choice={"error": DIED}),
    "error in the message": told(None, in_message={"error": DIED}),
    "error as a text": told('{"a', on_choice={"error": "the upstream died"}),
    "error with an unusual code": told('{"a', on_choice={"error": {**DIED, "code": "upstream_error"}}),
    "error beside the choices": told('{"a": 1}', beside={"error": DIED}),
    "error in place of choices": Reply(body={"error": DIED}),
    "error of 429": told('{"a', on_choice={"error": {**DIED, "code": 429}}),
    "finish reason error": told('{"a": 1}', on_choice={"finish_reason": "error"}),
    "finish reason of one service": told('{"a": 1}', on_choice={"finish_reason": "insufficient_system_resource"}),
}


@pytest.mark.parametrize("outage", OUTAGES.values(), ids=OUTAGES)
def test_an_outage_told_in_an_answer_is_tried_again(llm_server, outage):
    llm_server.say(outage, answer("ok"))
    waits = []
    assert ask(waits).output == "ok"
    assert len(waits) == 1


@pytest.mark.parametrize("where", ["error beside text", "error beside the choices", "error in the message"])
def test_an_outage_that_lasts_is_told_in_the_provider_s_words(llm_server, where):
    llm_server.otherwise = OUTAGES[where]
    with pytest.raises(
        LlmError, match=r"after 3 attempts: .*status 200, tells of an error: the upstream died"
    ) as error:
        ask()
    assert error.value.kind is None


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        ({"code": 400, "message": "This model's maximum context length is 8192 tokens."}, FailureKind.CONTEXT_LENGTH),
        ({"code": 402, "message": "Insufficient credits"}, None),
    ],
)
def test_an_error_told_in_an_answer_means_what_its_status_means(llm_server, error, kind):
    llm_server.otherwise = told(None, on_choice={"error": error})
    with pytest.raises(LlmError) as raised:
        ask()
    assert (raised.value.kind, len(llm_server.requests)) == (kind, 1)


@pytest.mark.parametrize("nothing", [None, {}, {"code": None, "message": ""}, ""], ids=repr)
def test_an_error_that_says_nothing_is_none(llm_server, nothing):
    llm_server.say(told("ok", on_choice={"error": nothing}))
    assert ask().output == "ok"


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


OPENAI_LIMIT = (
    "Rate limit reached on requests per min (RPM): Limit 3, Used 3. You can increase your rate limit by adding a payment "
    "method to your account at https://platform.openai.com/account/billing."
)
GEMINI_LIMIT = "You exceeded your current quota, please check your plan and billing details."
RETRIED = {
    "per minute, OpenAI": (failed(429, OPENAI_LIMIT, code="rate_limit_exceeded", headers={"Retry-After": "7"}), [7.0]),
    "per minute, Gemini": (failed(429, GEMINI_LIMIT, headers={"Retry-After": "7"}), [7.0]),
    "per minute, in words": (failed(429, f"{GEMINI_LIMIT}\nPlease retry in 1.07s."), None),
    "a word of the input": (failed(500, "the billing address could not be parsed"), None),
    "gateway": (failed(522, "connection timed out"), None),
    "rate limit": (rate_limited(), None),
    "rate limit that says how long": (rate_limited(7), [7.0]),
    "500": (server_error(500), None),
    "503": (server_error(503), None),
    "malformed": (malformed(), None),
    "no choices": (Reply(body=[1]), None),
    "empty choices": (Reply(body={**answer("x").body, "choices": []}), None),
}


@pytest.mark.parametrize(("first", "expected"), RETRIED.values(), ids=RETRIED)
def test_a_passing_fault_is_tried_again(llm_server, first, expected):
    llm_server.say(first, answer("ok"))
    waits = []
    assert ask(waits).output == "ok"
    assert len(llm_server.requests) == 2
    if expected is None:
        assert len(waits) == 1
        assert 0.5 <= waits[0] <= 1.0
    else:
        assert waits == expected


@pytest.mark.slow
def test_a_time_out_is_tried_again(llm_server):
    llm_server.say(slow(NEVER, answer("late")))
    llm_server.otherwise = answer("ok")
    waits = []
    assert ask(waits, retry=replace(PATIENT, timeout_s=3.0)).output == "ok"
    assert waits, "the first answer never comes"


@pytest.mark.slow
def test_an_answer_that_drips_is_given_up_in_time_and_tried_again(llm_server):
    """Each byte comes soon enough for a limit of each read; the whole would take minutes."""
    llm_server.say(dripping(0.5, answer("late")))
    llm_server.otherwise = answer("ok")
    begin = time.monotonic()
    waits = []
    assert ask(waits, retry=replace(PATIENT, timeout_s=3.0)).output == "ok"
    assert waits, "the first answer takes minutes"
    assert time.monotonic() - begin < 30


@pytest.mark.slow
def test_an_answer_that_always_drips_says_how_long_it_may_take(llm_server):
    llm_server.otherwise = dripping(0.5, answer("late"))
    begin = time.monotonic()
    expected = r"after 2 attempts: AttemptTimeout: no complete answer within 1\.5 s, .*--extract-timeout"
    with pytest.raises(LlmError, match=expected):
        ask(retry=replace(PATIENT, attempts=2, timeout_s=1.5))
    assert time.monotonic() - begin < 20
    assert len(llm_server.requests) == 2


def test_empty_choices_are_explained(llm_server):
    llm_server.otherwise = Reply(body={**answer("x").body, "choices": []})
    with pytest.raises(LlmError, match=r"after 3 attempts: MalformedAnswer: .* `choices` is empty"):
        ask()
    assert len(llm_server.requests) == 3


def test_a_lost_connection_says_what_broke_it(monkeypatch):
    with LlmServer() as gone:
        env = gone.env
    for name, value in env.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(LlmError, match=r"after 3 attempts: .*Connection error\. \(ConnectionRefusedError: "):
        ask()


def test_waits_grow_and_end(llm_server):
    llm_server.otherwise = server_error()
    waits = []
    with pytest.raises(LlmError, match=r"after 3 attempts: .*InternalServerError"):
        ask(waits)
    assert len(llm_server.requests) == 3
    assert 0.5 <= waits[0] <= 1.0 <= waits[1] <= 2.0


FINAL = {
    "context length": (context_length(), FailureKind.CONTEXT_LENGTH),
    "page limit": (failed(400, "A maximum of 100 PDF pages may be provided."), FailureKind.PAGE_LIMIT),
    "content policy": (
        failed(400, "rejected by our content policy", code="content_policy_violation"),
        FailureKind.REFUSAL,
    ),
    "a body of its own": (
        Reply(status=422, body={"detail": "This model's maximum context length is 8192 tokens"}),
        FailureKind.CONTEXT_LENGTH,
    ),
    "vllm": (
        failed(400, "The decoder prompt (length 9000) is longer than the maximum model length of 8192."),
        FailureKind.CONTEXT_LENGTH,
    ),
    "xai": (
        Reply(status=400, body={"error": "This model's maximum prompt length is 131072 but the request has 136973."}),
        FailureKind.CONTEXT_LENGTH,
    ),
    "kimi": (failed(400, "Your request exceeded model token limit: 262144"), FailureKind.CONTEXT_LENGTH),
    "glm": (failed(400, "Prompt exceeds max length", code="1261"), FailureKind.CONTEXT_LENGTH),
    "qwen": (
        failed(400, "<400> InternalError.Algo.InvalidParameter: Range of input length should be [1, 30720]"),
        FailureKind.CONTEXT_LENGTH,
    ),
    "too many bytes": (
        Reply(status=413, body={"error": {"type": "request_too_large", "message": "Request exceeds the maximum size"}}),
        FailureKind.CONTEXT_LENGTH,
    ),
    "qwen's inspection": (failed(400, "Input data may contain inappropriate content."), FailureKind.REFUSAL),
    "the code of a refusal": (
        failed(400, "The request was rejected", code="content_filter"),
        FailureKind.REFUSAL,
    ),
    "kimi's refusal": (
        failed(400, "The request was rejected because it was considered high risk"),
        FailureKind.REFUSAL,
    ),
    "what the answer repeats of the request": (
        Reply(status=422, body={"detail": [{"msg": "no list", "input": "on the maximum context length"}]}),
        None,
    ),
    "moderation": (failed(403, 'your input was flagged for "violence"'), FailureKind.REFUSAL),
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
    assert caught.value.kind is kind
    assert len(llm_server.requests) == 1


@pytest.mark.parametrize(
    ("status", "body", "told"),
    [
        (401, {"detail": "Unauthorized"}, "Error code: 401: Unauthorized"),
        (400, {"error": "no such thing"}, "Error code: 400: no such thing"),
        (422, {"detail": [{"loc": ["body", "seed"], "msg": "no", "input": "all"}]}, "Error code: 422: body seed no"),
        (400, {"error": {"message": "no such thing", "type": "invalid_request_error"}}, "- no such thing"),
    ],
)
def test_an_error_is_told_in_the_words_of_any_body(llm_server, status, body, told):
    llm_server.otherwise = Reply(status=status, body=body)
    with pytest.raises(LlmError) as caught:
        ask()
    assert str(caught.value).splitlines()[0].endswith(told)


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


def test_options_reach_the_request_and_an_unsupported_preference_is_left_out(llm_server):
    ask(max_tokens=5, preferred={"temperature": 0.0})
    ask(model="openai/o3", preferred={"temperature": 0.0})
    assert llm_server.bodies[0]["max_tokens"] == 5
    assert llm_server.bodies[0]["temperature"] == 0.0
    assert "temperature" not in llm_server.bodies[1]


def test_an_unsupported_option_is_an_error(llm_server):
    with pytest.raises(LlmError, match="temperature"):
        ask(model="openai/o3", temperature=0.0)
    assert llm_server.requests == []


def test_it_works_inside_a_running_loop(llm_server):
    import asyncio

    async def inside():
        return ask()

    assert asyncio.run(inside()).output == "{}"


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"Retry-After": "1.5"}, 1.5),
        ({"retry-after-ms": "250", "retry-after": "1"}, 0.25),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "-1"}, None),
    ],
)
def test_retry_after_in_every_form(headers, seconds):
    class Response:
        pass

    error = ValueError()
    error.response = Response()
    error.response.headers = headers
    assert retry_after(error) == seconds


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


def test_only_the_preference_that_the_error_names_is_left_out(llm_server):
    ask(model="openai/o3", preferred={"temperature": 0.0, "top_p": 0.5, "seed": 7}, max_completion_tokens=3)
    (body,) = llm_server.bodies
    assert body["max_completion_tokens"] == 3
    assert "temperature" not in body
    assert body["seed"] == 7


REFUSED = {
    "openai": (
        "temperature",
        "Unsupported value: 'temperature' does not support 0 with this model. Only the default (1).",
    ),
    "anthropic": ("temperature", "`temperature` may only be set to 1 when thinking is enabled."),
    "capital": ("temperature", "Temperature is deprecated for this model"),
    "pydantic": ("seed", '[{"type":"extra_forbidden","loc":["body","seed"],"msg":"Extra inputs are not permitted"}]'),
    "fastapi": ("temperature", {"detail": [{"loc": ["body", "temperature"], "msg": "extra fields not permitted"}]}),
    "camel case": (
        "response_format",
        'Invalid JSON payload received. Unknown name "responseFormat": Cannot find field.',
    ),
    "another word": ("response_format", "This model does not support structured outputs"),
    "vllm": ("response_format", "guided_json is not supported by this backend"),
    "top p": ("top_p", "temperature_x: `top-p` must be 1"),
}


@pytest.mark.parametrize("status", [400, 422])
@pytest.mark.parametrize(("option", "told"), REFUSED.values(), ids=REFUSED)
def test_a_wish_that_an_error_names_is_left_out_and_that_is_told(llm_server, option, told, status):
    preferred = {"temperature": 0.0, "seed": 7, "top_p": 0.5, "response_format": {"type": "json_object"}}
    refusal = failed(status, told) if isinstance(told, str) else Reply(status=status, body=told)
    llm_server.otherwise = lambda body: refusal if option in body else answer("ok")
    outage = Outage()
    first, again = (ask(preferred=preferred, outage=outage) for _ in range(2))
    assert first.adjustments == (f"{MODEL} refuses the option `{option}`: asked without it",)
    assert again.adjustments == first.adjustments
    assert [option in body for body in llm_server.bodies] == [True, False, False], "the next call is spared the error"
    for body in llm_server.bodies:
        assert preferred.keys() - {option} <= body.keys()


def test_what_one_call_left_out_as_a_wish_goes_with_the_next_where_it_is_asked_for(llm_server):
    outage = Outage()
    llm_server.say(failed(400, "temperature is not supported"))
    ask(preferred={"temperature": 0.0}, outage=outage)
    got = ask(temperature=0.0, outage=outage)
    assert got.adjustments == ()
    assert llm_server.bodies[-1]["temperature"] == 0.0


def test_wishes_are_left_out_one_after_another(llm_server):
    def reply(body):
        named = next((name for name in ("temperature", "seed") if name in body), None)
        return answer("ok") if named is None else failed(400, f"Unknown parameter: '{named}'.")

    llm_server.otherwise = reply
    assert len(ask(preferred={"temperature": 0.0, "seed": 7}).adjustments) == 2
    assert len(llm_server.requests) == 3


@pytest.mark.parametrize(
    ("reply", "options"),
    [
        (failed(400, "'temperature' does not support 0"), {"temperature": 0.0}),
        (failed(400, "could not read the image"), {"preferred": {"temperature": 0.0}}),
        (failed(403, "temperature is locked for your project"), {"preferred": {"temperature": 0.0}}),
        (failed(400, "max_tokens is too large: 100000"), {"max_tokens": 100_000}),
    ],
    ids=["the user's own", "not named", "another status", "a value"],
)
def test_other_errors_change_nothing(llm_server, reply, options):
    llm_server.otherwise = reply
    with pytest.raises(LlmError):
        ask(**options)
    assert len(llm_server.requests) == 1


@pytest.mark.parametrize(
    ("old", "new"), [("max_tokens", "max_completion_tokens"), ("max_completion_tokens", "max_tokens")]
)
def test_the_limit_of_an_answer_goes_by_the_name_that_the_model_knows(llm_server, old, new):
    told = f"Unsupported parameter: '{old}' is not supported with this model. Use '{new}' instead."
    llm_server.otherwise = lambda body: failed(400, told) if old in body else answer("ok")
    got = ask(**{old: 90})
    assert got.adjustments == (f"{MODEL} refuses the option `{old}`: asked with `{new}`",)
    assert llm_server.bodies[-1][new] == 90


def test_a_limit_that_no_name_is_right_for_is_an_error(llm_server):
    llm_server.otherwise = failed(400, "max_tokens, max_completion_tokens: Extra inputs are not permitted")
    with pytest.raises(LlmError, match="not permitted"):
        ask(max_tokens=9)
    assert len(llm_server.requests) == 2


def test_a_long_message_is_shortened():
    told = summary(ValueError("x" * 2000))
    assert told.startswith("ValueError: xxx")
    assert told.endswith("... (2,000 characters)")
    assert len(told) < 600
