"""Calling a user's extractor: which arguments it gets, sync and async, and what is made of its answer."""

from __future__ import annotations

import asyncio
import datetime as dt
import functools
import json
import math
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from decimal import Decimal
from types import SimpleNamespace

import pydantic
import pytest

from pytest_extract.core.case_result import Usage
from pytest_extract.core.results import DECLINED, Failure, FailureKind
from pytest_extract.errors import ConfigError
from pytest_extract.extraction.call import (
    ARGUMENTS,
    BackgroundLoop,
    Extraction,
    ExtractionFailure,
    ProviderOutage,
    as_extraction,
    call_extractor,
    failure_of,
)
from tests.strategies import NO_JSON

GIVEN = {name: name.upper() for name in ARGUMENTS}


def call(fn, **more):
    return call_extractor(fn, **GIVEN, **more)


def fails_with(error):
    """Return an extractor that raises this, and one that does so later."""

    def fails():
        raise error

    async def fails_later():
        raise error

    return fails, fails_later


class Client:
    def method(self, document):
        return document

    async def later(self, schema):
        return schema

    def __call__(self, case, *, model):
        return [case, model]


def positional_only(schema, document, /, case=3):
    return [schema, document, case]


SIGNATURES = {
    "none": (lambda: "x", "x"),
    "any order": (lambda prompt, document: [prompt, document], ["PROMPT", "DOCUMENT"]),
    "keyword only": (lambda *, question: question, "QUESTION"),
    "defaults of its own": (lambda document, retries=3: [document, retries], ["DOCUMENT", 3]),
    "default of a known name is not used": (lambda model="m": model, "MODEL"),
    "some and all": (lambda case, **rest: [case, *sorted(rest)], ["CASE", *sorted({*ARGUMENTS} - {"case"})]),
    "star": (lambda document, *rest: [document, rest], ["DOCUMENT", []]),
    "positional only": (positional_only, ["SCHEMA", "DOCUMENT", "CASE"]),
    "method": (Client().method, "DOCUMENT"),
    "callable object": (Client(), ["CASE", "MODEL"]),
    "partial": (functools.partial(lambda document, flag: [document, flag], flag=1), ["DOCUMENT", 1]),
    "async method": (Client().later, "SCHEMA"),
    "lambda that returns a coroutine": (lambda schema: Client().later(schema), "SCHEMA"),
}


@pytest.mark.parametrize(("fn", "expected"), SIGNATURES.values(), ids=SIGNATURES)
def test_an_extractor_gets_what_it_names(fn, expected):
    assert call(fn).output == expected


def generator(document):
    yield document


REFUSED = {
    "not callable": ("model", "cannot be called; return a function"),
    "misspelt": (lambda docment: 1, "did you mean 'document'?"),
    "unknown": (lambda retries: 1, "known: "),
    "unknown keyword": (lambda *, zzz: 1, "asks for 'zzz'"),
    "no signature": (dict, "has no signature"),
    "generator": (generator, r"it has `yield` in it"),
}


@pytest.mark.parametrize(("fn", "message"), REFUSED.values(), ids=REFUSED)
def test_an_unusable_extractor_is_told_what_is_wrong(fn, message):
    with pytest.raises(ConfigError, match=message):
        call(fn)


async def slow_echo(document):
    await asyncio.sleep(0.01)
    return document


def test_a_shared_loop_serves_all_calls_and_several_threads():
    loops = []

    async def which(document):
        loops.append(asyncio.get_running_loop())
        await asyncio.sleep(0)
        return document

    with closing(BackgroundLoop()) as loop, ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda _: call(which, loop=loop), range(5)))
    assert (len(loops), len(set(loops)), loops[0].is_closed()) == (5, 1, True)


def test_a_closed_loop_cancels_what_still_runs_and_starts_anew():
    states = []

    async def left_behind():
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            states.append("cancelled")
            raise

    async def starts():
        states.append(asyncio.create_task(left_behind()))
        await asyncio.sleep(0)

    loop = BackgroundLoop()
    call(starts, loop=loop)
    loop.close()
    loop.close()
    assert states[1:] == ["cancelled"]
    assert call(slow_echo, loop=loop).output == "DOCUMENT"
    loop.close()


ABOUT_LOOPS = [
    "Timeout context manager should be used inside a task",
    "Task <Task-1> got Future <Future> attached to a different loop",
    "<asyncio.locks.Lock object> is bound to a different event loop",
    "Event loop is closed",
    "There is no current event loop in thread 'x'.",
    "no running event loop",
]


@pytest.mark.parametrize("message", [*ABOUT_LOOPS, "the model is closed for a different reason"])
def test_an_extractors_own_error_comes_through_and_one_about_event_loops_says_where_it_runs(message):
    for extractor in fails_with(RuntimeError(message)):
        with pytest.raises(RuntimeError) as raised:
            call(extractor)
        notes = "".join(getattr(raised.value, "__notes__", []))
        assert ("inside an async extractor, at its first call" in notes) == (message in ABOUT_LOOPS)


# --- what is made of what it returns


class Line(pydantic.BaseModel):
    net_price: float = pydantic.Field(alias="netPrice")


OUTPUTS = {
    "model": (Line(netPrice=1.5), {"netPrice": 1.5}),  # under its aliases
    "models": ([Line(netPrice=1.5), {"a": 1}], [{"netPrice": 1.5}, {"a": 1}]),
    "model in an Extraction": (Extraction(Line(netPrice=1.5)), {"netPrice": 1.5}),
    "other types": ({"total": Decimal("12.10"), "rows": ({"n": 1},)}, {"total": 12.1, "rows": [{"n": 1}]}),
}


@pytest.mark.parametrize(("returned", "output"), OUTPUTS.values(), ids=OUTPUTS)
def test_other_dresses_of_json_are_taken_for_what_they_are(returned, output):
    assert call(lambda: returned).output == output


def test_json_is_not_touched_and_a_value_that_no_text_holds_is_a_failure_with_its_place():
    output = {"a": [1]}
    assert call(lambda: output).output is output
    for name, value in NO_JSON.items():
        found = call(lambda value=value: {"rows": [value], "at": (dt.date(2026, 1, 2),)})
        assert found.failure.kind == "malformed_json"
        assert found.failure.path[:2] == ("rows", 0)
        assert (found.output is None) == (name in {"digits", "deep"})
        assert found.output is None or found.output.endswith('], "at": ["2026-01-02"]}')
    assert call(lambda: bytearray("{é".encode())).output == "{é"


def test_a_reported_latency_stays_and_a_missing_one_is_measured():
    assert call(lambda: Extraction("x", latency_s=12.5)).latency_s == 12.5
    assert 0 <= call(lambda: "x").latency_s < 12


class ClientUsage:
    prompt_tokens = 3

    @property
    def completion_tokens(self):
        return 4


USAGES = {
    "none": (None, None),
    "mapping": ({"prompt_tokens": 3}, Usage(prompt_tokens=3)),
    "default": (Usage(total_tokens=1), Usage(total_tokens=1)),
    "attributes of a class": (ClientUsage(), Usage(prompt_tokens=3, completion_tokens=4)),
    "other names": (SimpleNamespace(input_tokens=3, output_tokens=4), Usage(prompt_tokens=3, completion_tokens=4)),
    "no counts": (SimpleNamespace(prompt_tokens=None, completion_tokens=None), Usage()),
    "details": ({"total_tokens": 7, "details": {"cached": 1}}, Usage(total_tokens=7)),
}


@pytest.mark.parametrize(("usage", "expected"), USAGES.values(), ids=USAGES)
def test_usage_in_every_form(usage, expected):
    assert as_extraction(Extraction("x", usage=usage)).usage == expected


@pytest.mark.parametrize(("value", "amount"), [(2, 2.0), (Decimal("0.002"), 0.002), (None, None)])
def test_what_a_call_took_is_a_number(value, amount):
    made = as_extraction(Extraction("x", cost_usd=value, latency_s=value))
    assert (made.cost_usd, made.latency_s) == (amount, amount)


A_NUMBER = "takes a number, 0 or more"
NO_NUMBERS = ["0.5", -1, math.nan, math.inf, True, [1]]
TOKENS = "whole numbers of tokens, 0 or more, for prompt_tokens"


@pytest.mark.parametrize(
    ("name", "values", "message"),
    [
        ("cost_usd", NO_NUMBERS, rf"Extraction\(cost_usd=...\) {A_NUMBER}"),
        ("latency_s", NO_NUMBERS, rf"Extraction\(latency_s=...\) {A_NUMBER}"),
        ("usage", [{"prompt_tokens": count} for count in ("5", -1, 1.5, True)], TOKENS),
        ("usage", [{"promt_tokens": 1}], "prompt_tokens"),
        ("usage", [7], "not 7"),
    ],
)
def test_a_cost_a_time_or_usage_that_is_none_is_refused(name, values, message):
    for value in values:
        with pytest.raises(ConfigError, match=message):
            as_extraction(Extraction("x", **{name: value}))


TEXT = '{"total": 1}'
CHOICE = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": TEXT}}
CALL = {"id": "c1", "type": "function", "function": {"name": "save", "arguments": TEXT}}
CALLED = {"index": 0, "finish_reason": "tool_calls", "message": {"role": "assistant", "tool_calls": [CALL]}}
CHAT = {"id": "1", "object": "chat.completion", "created": 1, "model": "m", "choices": [CHOICE]}
SAID = [{"type": "text", "text": TEXT}]
USED = [{"type": "tool_use", "name": "save", "input": {}}]
OUT = [{"type": "message", "content": [{"type": "output_text", "text": TEXT}]}]

RESPONSES = {
    "chat completion": CHAT,
    "chat completion with a tool call": {**CHAT, "choices": [CALLED]},
    "responses": {"object": "response", "created_at": 1, "output": OUT},
    "Anthropic": {"type": "message", "role": "assistant", "content": SAID, "stop_reason": "end_turn"},
    "tool of Anthropic": {"type": "message", "content": USED, "stop_reason": "tool_use"},
    "Gemini": {"candidates": [{"content": {"parts": [{"text": TEXT}], "role": "model"}}], "usageMetadata": {}},
    "Ollama": {"model": "m", "message": {"role": "assistant", "content": TEXT}, "done": True},
    "Bedrock": {"output": {"message": {"role": "assistant", "content": [{"text": TEXT}]}}, "stopReason": "end_turn"},
}
PARTS = {
    "message": CALLED["message"] | {"content": None},
    "tool call": CALL,
    "LangChain": {"content": TEXT, "type": "ai", "response_metadata": {}},
    "HTTP": SimpleNamespace(status_code=200, headers={}, text=TEXT),
}


def spoken(value):
    """Make objects of mappings, as a client does."""
    if isinstance(value, dict):
        return SimpleNamespace(**{name: spoken(inner) for name, inner in value.items()})
    return [spoken(inner) for inner in value] if isinstance(value, list) else value


@pytest.mark.parametrize("response", (RESPONSES | PARTS).values(), ids=RESPONSES | PARTS)
def test_a_response_of_a_client_is_a_mistake_of_the_extractor(response):
    forms = [response, spoken(response), *([json.dumps(response, indent=1)] if response in RESPONSES.values() else [])]
    for returned in forms:
        with pytest.raises(ConfigError, match="returned a response as a client gives it; return the text"):
            call(lambda returned=returned: returned)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("package", "name"), [("openai.types.chat", "ChatCompletion"), ("litellm", "ModelResponse")])
def test_a_response_is_known_in_the_classes_of_the_clients(package, name):
    made = getattr(pytest.importorskip(package), name)(**CHAT)
    with pytest.raises(ConfigError, match=r"response\.choices\[0\]\.message\.content"):
        call(lambda: made)


MODELS_WRITE = [
    {"choices": ["a", "b"], "output": 1},
    {"content": "text", "role": "author"},
    {"message": {"content": "text"}},
    {"function": "sales", "arguments": TEXT},
    {"id": "P-7", "type": "pump", "function": None},
    {"name": "save", "arguments": TEXT},
    json.dumps(CALL),
    '{"choices": [',
]


@pytest.mark.parametrize("output", MODELS_WRITE, ids=str)
def test_what_a_model_may_write_is_an_output(output):
    assert call(lambda: output).output == output


def test_a_response_is_an_output_where_the_gold_is_one():
    assert call_extractor(lambda case: CHAT, case=SimpleNamespace(gold=CHAT)).output == CHAT


# --- what did not work


def test_an_outage_that_an_extractor_returns_is_raised():
    with pytest.raises(ProviderOutage, match=r"broke down while it answered \(finish_reason=error\)"):
        call(lambda: Extraction('{"a": 1}', finish_reason="error"))


@pytest.mark.parametrize("kind", sorted(DECLINED))
def test_an_extractor_says_that_its_model_declined(kind):
    for extract in fails_with(ExtractionFailure(str(kind), "1,200 pages", usage={"prompt_tokens": 3}, cost_usd=0.25)):
        found = call(extract)
        assert found.failure == Failure(kind=kind, message="1,200 pages")
        assert (found.output, found.cost_usd, found.usage) == (None, 0.25, Usage(prompt_tokens=3))
        assert found.latency_s is not None
    assert call(fails_with(ExtractionFailure(str(kind), "no"))[0]).cost_usd == 0.0, "unless the extractor says so"


@pytest.mark.parametrize("kind", ["page_limits", "extractor_error", "no_json"])
def test_a_kind_that_is_none_of_a_provider_s_is_refused(kind):
    with pytest.raises(ConfigError, match=f"no kind '{kind}'.*page_limit"):
        ExtractionFailure(kind, "x")


class ContextWindowExceededError(Exception):
    """As litellm names it."""


class StatusError(Exception):
    status_code = 400


BROKE = FailureKind.EXTRACTOR_ERROR
SCHEMA_REJECTIONS = [
    "Invalid schema for response_format 'extraction': In context=(), 'additionalProperties' is required to be supplied",
    "litellm.BadRequestError: OpenAIException - Invalid schema for response_format 'x': schema must have 5000 properties",
    "The specified schema produces a constraint that has too many states for serving.",
    "A schema in GenerationConfig in the request exceeds the maximum allowed nesting depth.",
    "Invalid JSON payload received. Unknown name \"const\" at 'generation_config.response_schema.properties[0]'",
    "output_format.schema: For 'object' type, 'additionalProperties' must be explicitly set to false",
    "Schema is too complex for compilation. Simplify your tool schemas or reduce the number of strict tools.",
    "The compiled grammar is too large, which would cause performance issues.",
    "The provided JSON schema contains features not supported by xgrammar.",
    "Failed to convert the grammar from JSON schema to EBNF",
]


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (ContextWindowExceededError("x"), FailureKind.CONTEXT_LENGTH),
        (StatusError("prompt is too long: 210000 tokens > 200000 maximum"), FailureKind.CONTEXT_LENGTH),
        (StatusError("The document has 1200 pages, which exceeds what is supported"), FailureKind.PAGE_LIMIT),
        (StatusError("Output blocked by content filtering policy"), FailureKind.REFUSAL),
        *((StatusError(text), FailureKind.SCHEMA_REJECTED) for text in SCHEMA_REJECTIONS),
        (StatusError("invalid model"), BROKE),
        (StatusError("Unsupported parameter: 'response_format' is not supported with this model"), BROKE),
        (StatusError("tools[0].function.parameters: a list is wanted"), BROKE),
        (ValueError("Invalid schema for response_format"), BROKE),
        (ValueError("my page limit of the context window"), BROKE),
    ],
)
def test_what_an_exception_means(error, kind):
    assert failure_of(error).kind is kind


ASYNC_SUITE = """
import pytest
from pytest_extract.extraction.call import call_extractor

async def extract(document):
    return document

@pytest.mark.asyncio
async def test_inside_pytest_asyncio():
    assert call_extractor(extract, document="a").output == "a"

@pytest.fixture
async def client():
    yield "c"

@pytest.mark.asyncio
async def test_beside_an_async_fixture(client):
    assert call_extractor(extract, document=client).output == "c"

def test_sync():
    assert call_extractor(extract, document="b").output == "b"
"""


def test_it_gets_along_with_pytest_asyncio(pytester):
    pytest.importorskip("pytest_asyncio")
    pytester.makepyfile(ASYNC_SUITE)
    pytester.makeini(
        "[pytest]\nasyncio_mode = auto\nfilterwarnings = error\nasyncio_default_fixture_loop_scope = function"
    )
    pytester.runpytest_subprocess("-p", "no:randomly").assert_outcomes(passed=3)
