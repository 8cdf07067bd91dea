"""Calls of models through litellm: one completion (`complete`), and the built-in extractor (`LitellmExtractor`).

A completion is retried, timed, priced, its tokens counted, its failures told apart. The extractor makes one zero-shot
call, whose prompt has instructions, schema, question, and the document as a content part.
"""

from __future__ import annotations

import base64
import io
import json
import os
import random
import re
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, wait
from contextlib import nullcontext, redirect_stdout, suppress
from dataclasses import dataclass, field, replace
from functools import cache, partial
from importlib.util import find_spec
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, Literal, TypeAlias, TypeVar

from pytest_extract.core.case_result import Usage
from pytest_extract.core.parse import finish_of, line_column
from pytest_extract.core.results import Failure, FailureKind
from pytest_extract.core.schema.source import map_parts
from pytest_extract.core.values import Json
from pytest_extract.errors import ConfigError, ExtractError, closest, nearest
from pytest_extract.extraction.call import Extraction
from pytest_extract.extraction.provider_errors import (
    AttemptTimeout,
    ErrorInAnswer,
    MalformedAnswer,
    Outage,
    error_in_answer,
    failure_kind,
    is_final,
    reason,
    refused_wishes,
    retry_after,
    told_error,
)
from pytest_extract.schema_tools.strict import STRICT_VERSION, StrictSchema, strict_schema

_BYTES_PER_TOKEN: Final = 4
"""The usual figure for English text and JSON; a script with more bytes a character has fewer characters a token."""
ATTACHMENT_TOKENS: Final = 1_500
"""Tokens counted for a document that is no text (a page or an image, a minute of audio)."""


def text_tokens(text: str) -> int:
    """Estimate the tokens of a text."""
    return -(-len(text.encode("utf-8", "surrogatepass")) // _BYTES_PER_TOKEN)


def message_tokens(messages: Iterable[Mapping[str, Json]]) -> int:
    """Estimate the tokens of chat messages."""
    contents = [message.get("content") for message in messages]
    parts = [part for content in contents for part in (content if isinstance(content, list) else [content])]
    texts = [part.get("text") if isinstance(part, dict) else part or "" for part in parts]
    return sum(text_tokens(text) if isinstance(text, str) else ATTACHMENT_TOKENS for text in texts)


def reported_usage(usage: Any, text: str) -> Usage | None:
    """Read the tokens that a provider reports; None where it says nothing of them.

    Where a server leaves them out, clients give zeros. A prompt is never empty, nor is the answer that holds `text`.
    """
    names = ("prompt_tokens", "completion_tokens", "total_tokens")
    prompt, completion, total = (getattr(usage, name, None) for name in names)
    if not (prompt or completion or total):
        return None
    completion = None if text and not completion else completion
    return Usage(prompt_tokens=prompt or None, completion_tokens=completion, total_tokens=total or None)


T = TypeVar("T")
_LONGEST_BUILD: Final = 200
_ESTIMATED: Final = (
    "the provider did not report all tokens: the cost is unknown, about ${:.2g} by the length of the texts"
)
_IMPORT: Final = threading.Lock()
_CLIENTS: Final = r"(?:litellm|openai|anthropic|pydantic|httpx|httpcore|aiohttp|tiktoken|tokenizers)(?:\.|$)"
Message = Mapping[str, Json]


@dataclass(frozen=True, slots=True, kw_only=True)
class Retry:
    """How long a call may take and how often it is tried.

    `timeout_s` bounds one attempt, from its start to the last byte of the answer. After attempt n the wait is between
    half and all of `first_wait_s * 2**n`, or what the server's Retry-After asks for; a server that asks for more than
    `longest_wait_s` ends the call at once.
    """

    attempts: int = 5
    timeout_s: float = 300.0
    first_wait_s: float = 1.0
    longest_wait_s: float = 60.0


class LlmError(ExtractError):
    """A call of a model that gave no answer: network, limits, credentials, a failing server.

    `kind` is set where the model or provider declined the input for what it is.
    """

    def __init__(self, message: str, *, kind: FailureKind | None = None) -> None:
        super().__init__(message)
        self.kind = kind


def load_litellm() -> Any:
    """Import litellm without its look-ups on the network at start; ConfigError, saying what to install, without it."""
    os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
    try:
        imported = "litellm" in sys.modules
        # Its own deprecations would fail it in a suite that turns warnings to errors. The filters are the whole
        # process's, and not to be touched without need.
        with _IMPORT, nullcontext() if imported else warnings.catch_warnings(action="ignore"):
            import litellm

            litellm.telemetry = False
            litellm.suppress_debug_info = True
            if not imported:  # its first call imports as much again, and warns as well: let it be one to nobody
                with suppress(Exception):
                    nothing = [{"role": "user", "content": "none"}]
                    litellm.completion(model="openai/none", messages=nothing, mock_response="none")
    except ImportError as error:
        raise ConfigError(
            f"calling a model needs litellm ({error}); install it with: pip install 'pytest-extract[llm]'"
        ) from error
    return litellm


_NO_OPTIONS: Final = frozenset(
    {"model", "messages", "retry", "preferred", "outage", "timeout", "max_retries", "num_retries"}
)
"""What a call sets by itself."""


def check_call_options(options: Mapping[str, Json]) -> None:
    """Raise ConfigError for an option that a call sets by itself, and for a streamed answer, which is none to read."""
    for name in _NO_OPTIONS & options.keys():
        raise ConfigError(
            f"options={{{name!r}: ...}}: a call sets it by itself; retry=Retry(timeout_s=..., attempts=...) says "
            "how long and how often to try"
        )
    if options.get("stream"):
        raise ConfigError("options={'stream': ...}: an answer is read as a whole; leave it out")


def complete(
    model: str,
    messages: Sequence[Message],
    *,
    retry: Retry | None = None,
    preferred: Mapping[str, Json] | None = None,
    outage: Outage | None = None,
    **options: Json,
) -> Extraction:
    """Ask `model` once more until it answers or `retry` is used up; not at all once `outage` says that it is in vain.

    `options` go to litellm as they are; `preferred` ones (a temperature) are left out for a model that has no such
    option, or says so in its error. Raises LlmError, without secrets in its text.
    """
    retry, outage = retry or Retry(), outage or Outage()
    if retry.attempts < 1:
        raise ConfigError(f"a call needs at least one attempt, not {retry.attempts}")
    litellm = load_litellm()
    wishes = {name: value for name, value in (preferred or {}).items() if name not in options}
    refused = [name for name in wishes if name in outage.refused(model)]
    attempt = 0
    while (over := outage.over(model)) is None:
        granted = {name: value for name, value in wishes.items() if name not in refused}
        begin = time.perf_counter()
        try:
            request = {"model": model, "messages": list(messages), **granted, **options}
            response = _response(litellm, request, retry.timeout_s)
            extraction = _extraction(litellm, model, messages, response, time.perf_counter() - begin)
        except Exception as raised:  # whatever a provider's client raises ends here
            error = error_in_answer(raised) or raised
            if more := refused_wishes(litellm, error, granted):
                refused += more
                continue
            backoff = min(retry.longest_wait_s, retry.first_wait_s * 2.0**attempt)
            spread = backoff * random.uniform(0.5, 1.0)  # noqa: S311 - of retries, no secret
            pause = spread if (asked := retry_after(error)) is None else asked
            attempt += 1
            is_last = attempt >= outage.attempts(model, error, retry.attempts)
            if is_last or is_final(error) or pause > retry.longest_wait_s:
                times = "" if attempt == 1 else f" after {attempt} attempts"
                told = f"{model}{times}: {reason(litellm, model, error, options)}"
                raise LlmError(outage.failed(model, error, told), kind=failure_kind(error)) from raised
            time.sleep(pause)
        else:
            outage.answered(model, refused)
            left_out = tuple(f"{model} refuses the option `{name}`: asked without it" for name in refused)
            return replace(extraction, adjustments=left_out)
    raise LlmError(over)


def started(work: Callable[[], T]) -> Future[T]:
    """Run `work` in a daemon thread; the future has its result or its exception."""
    future: Future[T] = Future()

    def run() -> None:
        try:
            future.set_result(work())
        except BaseException as error:  # noqa: BLE001  # handed to the waiting thread
            future.set_exception(error)

    threading.Thread(target=run, name="pytest-extract-call", daemon=True).start()
    return future


def _response(litellm: Any, request: Mapping[str, Json], timeout_s: float) -> Any:
    # litellm runs event loops of its own also in its synchronous call: in a thread, the caller's are not touched.
    # Its `timeout` bounds each read, so that a server which sends a byte now and then is never too late for it.
    # What bounds the attempt is the wait for the thread, which Ctrl-C ends at once. Nothing can end the thread.
    # Where a suite turns warnings to errors, those of litellm and its clients would fail every call. Said before
    # each one because pytest restores the filters after each test; catch_warnings would race between threads.
    warnings.filterwarnings("ignore", module=_CLIENTS)
    answer = started(partial(litellm.completion, timeout=timeout_s, max_retries=0, num_retries=0, **request))
    wait([answer], timeout=min(timeout_s, threading.TIMEOUT_MAX))
    if not answer.done():  # a time-out that the call raises itself is the call's own error
        raise AttemptTimeout(
            f"no complete answer within {timeout_s:g} s, the time limit of one attempt "
            "(--extract-timeout, in Python Retry.timeout_s)"
        )
    return answer.result()


def _extraction(litellm: Any, model: str, messages: Sequence[Message], response: Any, latency_s: float) -> Extraction:
    choices = getattr(response, "choices", None)
    if not choices:
        raise MalformedAnswer("the server's answer is no chat completion: its list `choices` is empty")
    message = choices[0].message
    extra = getattr(message, "provider_specific_fields", None) or {}
    finish_reason = _finish_reason(choices[0], extra)
    text = message.content or ""
    usage = reported_usage(getattr(response, "usage", None), text)
    cost = estimate = None
    with suppress(Exception):  # they raise many things for a model without a price, and that is what None says
        if usage and usage.complete:
            cost = float(litellm.completion_cost(completion_response=response, model=model))
        else:
            prompt, completion = (usage.prompt_tokens, usage.completion_tokens) if usage else (None, None)
            prompt = message_tokens(messages) if prompt is None else prompt
            estimate = price(model, prompt, text_tokens(text) if completion is None else completion)
    if estimate == 0:  # a model that runs here costs nothing for any number of tokens
        cost, estimate = 0.0, None
    served = (getattr(response, name, None) for name in ("model", "system_fingerprint"))
    return Extraction(
        text,
        usage=usage,
        latency_s=latency_s,
        cost_usd=cost,
        estimated_usd=estimate,
        finish_reason=finish_reason,
        failure=_failure(message, extra, text, finish_reason),
        notes=() if estimate is None else (_ESTIMATED.format(estimate),),
        build=" ".join(each for each in served if isinstance(each, str))[:_LONGEST_BUILD] or None,
    )


_ELSEWHERE: Final = {
    "tool_calls": "offer the model no tools, or read the call in an extractor of yours",
    "reasoning_content": "turn off the server's reasoning parser, or give the model more tokens",
}
"""What an answer without a text may have in its place, and what to do then."""


def _failure(message: Any, extra: Mapping[str, Any], text: str, finish_reason: str | None) -> Failure | None:
    refusal = getattr(message, "refusal", None) or extra.get("refusal")
    if refusal or finish_of(finish_reason).refused:
        return Failure(kind=FailureKind.REFUSAL, message=refusal or "the provider's content filter cut the answer off")
    if text.strip():
        return None
    told = f"the model's answer is empty (finish reason: {finish_reason})"
    for name, remedy in _ELSEWHERE.items():
        if getattr(message, name, None):
            told += f"; all of it stands in `{name}`: {remedy}"
    return Failure(kind=FailureKind.EMPTY_RESPONSE, message=told)


def _finish_reason(choice: Any, message: Mapping[str, Any]) -> str | None:
    """Return why an answer ended; raises ErrorInAnswer where it, or its message, tells that the service broke down."""
    beside = getattr(choice, "provider_specific_fields", None) or {}
    if error := told_error(beside.get("error")) or told_error(message.get("error")):
        raise error
    # litellm makes `stop` of a reason that it does not know
    told, native = choice.finish_reason, beside.get("native_finish_reason")
    if finish_of(native).outage:
        raise ErrorInAnswer(f"it ended with the finish reason {native}")
    return next((each for each in (told, native) if finish_of(each).early), told)


def price(model: str, prompt_tokens: int, completion_tokens: int) -> float | None:
    """Return what so many tokens of `model` cost in USD by the plain prices of litellm's table; None if it has none.

    Prices for long inputs or at night are not counted.
    """
    provider, _, name = model.partition("/")
    entry = price_table().get(model) or price_table().get(name, {})
    if model not in price_table() and entry.get("litellm_provider") != provider:
        return None
    each_prompt, each_completion = entry.get("input_cost_per_token"), entry.get("output_cost_per_token")
    if each_prompt is None or each_completion is None:
        return None
    return float(prompt_tokens * each_prompt + completion_tokens * each_completion)


def check_model(model: str) -> None:
    """Raise ConfigError for a name that litellm can call no provider by; imports litellm only for an unusual name."""
    if "litellm" not in sys.modules:
        if find_spec("litellm") is None:  # what replays needs none; a call says what to install
            return
        provider, slash, _ = model.partition("/")
        providers = {entry.get("litellm_provider") for entry in price_table().values()}
        if model in price_table() or (slash and provider in providers):
            return
    litellm = load_litellm()
    with redirect_stdout(io.StringIO()):  # it prints a list of providers
        try:
            litellm.get_llm_provider(model)
        except Exception as error:
            raise ConfigError(
                f"no model {model!r}: litellm knows no provider of that name{closest(model, price_table())}; "
                "write PROVIDER/NAME, such as openai/gpt-4o (a server of your own: openai/NAME and OPENAI_API_BASE)"
            ) from error


@cache
def price_table() -> Mapping[str, Mapping[str, Any]]:
    """Return litellm's table of models, read without importing litellm; empty where it is not installed."""
    spec = find_spec("litellm")
    for folder in (spec.submodule_search_locations or ()) if spec is not None else ():
        with suppress(OSError, ValueError):
            text = (Path(folder) / "model_prices_and_context_window_backup.json").read_text(encoding="utf-8")
            table: Mapping[str, Mapping[str, Any]] = json.loads(text)
            return table
    return {}


PROMPT_VERSION: Final = 1
"""Raised whenever the words below change: it is one of the parameters that recordings are kept by."""

INSTRUCTIONS: Final = (
    "Read the document and give the data that the JSON Schema describes.\n"
    "Take every value from the document, as it is written there; where the document does not have it, give null or "
    "leave the key out. Give all items of every list.\n"
    "Answer with one JSON value that satisfies the schema, and nothing else: no comment, no code fence."
)
STRUCTURED_INSTRUCTIONS: Final = (
    "Read the document and give its data in the form that is asked for.\n"
    "Take every value from the document, as it is written there; where the document does not have it, give null. "
    "Give all items of every list."
)
_AUDIO_FORMATS: Final = {"wave": "wav", "mpeg": "mp3", "mp4": "m4a"}
"""What requests call the formats that media types call otherwise."""

PLACEHOLDERS: Final = ("document", "document_name", "schema", "question")
"""What a prompt may name in braces: `{schema}` or `{{ schema }}`. What it does not name follows below it."""
_PLACEHOLDER: Final = re.compile(r"(\\?)(\{\{\s*([A-Za-z_]\w*)\s*\}\}|\{([A-Za-z_]\w*)\})")


def prompt_mistakes(prompt: str, *, has_question: bool) -> Iterator[str]:
    """Yield `LINE:COLUMN: what is wrong` of each placeholder of a prompt that nothing can stand for."""
    for found in _PLACEHOLDER.finditer(prompt):
        escaped, whole, name = found[1], found[2], found[3] or found[4]
        problem = ""
        if not escaped and name not in PLACEHOLDERS:
            problem = f"no placeholder {whole}{nearest(name, PLACEHOLDERS)}; for the text itself, write \\{whole}"
        elif not escaped and name == "question" and not has_question:
            problem = f"{whole} stands for the `question` of a case, and there is none"
        if problem:
            line, column = line_column(prompt, found.start())
            yield f"{line}:{column}: {problem}"


def messages(
    document: Any, schema: Json, *, question: str | None, prompt: str | None, structured: bool = False
) -> list[dict[str, Json]]:
    """Return the chat messages of one extraction. `prompt` replaces our words, and may have placeholders.

    `structured`: the provider holds the model to the schema, which stands in the prompt only where that names it.
    Raises ConfigError for a placeholder that nothing can stand for.
    """
    template = (STRUCTURED_INSTRUCTIONS if structured else INSTRUCTIONS) if prompt is None else prompt
    for mistake in prompt_mistakes(template, has_question=bool(question)):
        raise ConfigError(f"the prompt, {mistake}")
    attached = attachment(document)
    name = document.path.name if document.path is not None else "document"
    values = {
        "document": document.text if attached is None else f"(the attached file {name})",
        "document_name": name,
        "schema": readable_json(schema_for_model(schema)),
        "question": str(question),
    }
    named = {found[3] or found[4] for found in _PLACEHOLDER.finditer(template) if not found[1]}
    filled = _PLACEHOLDER.sub(lambda found: found[2] if found[1] else values[found[3] or found[4]], template)
    parts = [filled] if filled.strip() else []
    if not structured and "schema" not in named:
        parts.append(f"JSON Schema:\n{values['schema']}")
    if question and "question" not in named:
        parts.append(f"Question: {question}")
    if attached is None:
        if "document" not in named:
            parts.append(f"Document:\n{document.text}")
        return [{"role": "user", "content": "\n\n".join(parts)}]
    texts = [{"type": "text", "text": "\n\n".join(parts)}] if parts else []
    return [{"role": "user", "content": [*texts, attached]}]


def readable_json(value: Json) -> str:
    """Return JSON in its own script: a model copies its keys, and escapes would cost tokens and errors."""
    text = json.dumps(value, indent=1, ensure_ascii=False)
    try:
        text.encode()
    except UnicodeEncodeError:  # half a surrogate pair, which neither a request nor a file can hold
        return json.dumps(value, indent=1)
    return text


def attachment(document: Any) -> dict[str, Json] | None:
    """Return the document as a content part (PDF: `file`, image: `image_url`, audio: `input_audio`); None: as text.

    A text that the project gives goes in place of the file, which may hold what was taken out of that text.
    """
    if document.given_text is not None:
        return None
    media_type = document.media_type
    if media_type == "application/pdf":
        name = document.path.name if document.path is not None else "document.pdf"
        return {"type": "file", "file": {"filename": name, "file_data": document.data_url}}
    if media_type.startswith("image/") and media_type != "image/svg+xml":
        return {"type": "image_url", "image_url": {"url": document.data_url}}
    if media_type.startswith("audio/"):
        data = base64.b64encode(document.bytes).decode("ascii")
        name = media_type.removeprefix("audio/").removeprefix("x-").removeprefix("vnd.")
        return {"type": "input_audio", "input_audio": {"data": data, "format": _AUDIO_FORMATS.get(name, name)}}
    return None


def schema_for_model(schema: Json) -> Json:
    """Return the schema without scoring annotations: they are no business of the model, and may hold the answers."""
    if isinstance(schema, dict):
        schema = {
            key: part for key, part in schema.items() if key != "evaluation_config" and not key.startswith("x-eval-")
        }
    return map_parts(schema, schema_for_model)


def response_format(strict: dict[str, Json], name: str = "extraction") -> dict[str, Json]:
    """Return the option `response_format` of a call for a strict schema."""
    return {"type": "json_schema", "json_schema": {"name": name, "schema": strict, "strict": True}}


Mode: TypeAlias = Literal["prompt", "structured"]
MODES: Final[tuple[Mode, ...]] = ("prompt", "structured")
_PREFERRED: Final[Mapping[str, Json]] = MappingProxyType({"temperature": 0.0})
_CONNECTION: Final = frozenset(
    {"api_key", "api_base", "base_url", "api_version", "organization", "headers", "extra_headers"}
)
"""Options of the connection to a model, which do not change its answers: recordings do not depend on them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LitellmExtractor:
    """Ask `model` (`PROVIDER/NAME`, as litellm names it) for the JSON of a document.

    mode: `prompt` puts the schema into the prompt; `structured` hands it over as the response format instead, in the
    form that the provider enforces (see `strict_schema`), and gives the answer back in terms of the case's schema.
    options: further options of `litellm.completion` (`temperature`, `max_tokens`, `api_base`, ...).
    Temperature is 0 unless an option says otherwise, or the model takes none: that is told in the results.
    """

    model: str
    mode: Mode = "prompt"
    retry: Retry = field(default_factory=Retry)
    options: Mapping[str, Json] = field(default_factory=dict)
    _outage: Outage = field(default_factory=Outage, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if self.mode not in MODES:
            raise ConfigError(f"no extraction mode {self.mode!r}{nearest(self.mode, MODES)}")
        check_call_options(self.options)
        if self.mode == "structured" and "response_format" in self.options:
            raise ConfigError("options={'response_format': ...}: mode='structured' sets it; leave one of both out")

    def __call__(self, document: Any, schema: Json, question: str | None = None, prompt: object = None) -> Extraction:
        """Return the model's text, or the failure that it met the document with.

        `prompt` (text, or a `Prompt`) replaces the built-in instructions. Raises LlmError when no
        answer came, without secrets in its text, and SchemaError for a schema that cannot be strict, without a call.
        """
        strict = strict_schema(schema) if self.mode == "structured" else None
        words = None if prompt is None else str(prompt)
        asked = messages(document, schema, question=question, prompt=words, structured=strict is not None)
        structured = {} if strict is None else {"response_format": response_format(strict.schema)}
        try:
            answer = complete(
                self.model,
                asked,
                retry=self.retry,
                preferred=_PREFERRED,
                outage=self._outage,
                **structured,
                **self.options,
            )
        except LlmError as error:
            if error.kind is None:
                raise
            # A request that is declined is not billed; without a known cost a budget would end here.
            return Extraction(None, cost_usd=0.0, failure=Failure(kind=error.kind, message=str(error)))
        return answer if strict is None else _in_terms_of_schema(answer, strict)

    def extract_schema(self, schema: Json) -> Json:
        """Return what of a schema the model sees: recordings stay fresh when only scoring annotations change."""
        return schema_for_model(schema)

    @property
    def extract_params(self) -> Mapping[str, Json]:
        """What of this extractor, besides the model, changes its answers: recordings are kept by it."""
        return {
            "extractor": "litellm",
            "mode": self.mode,
            **({"strict_schema": STRICT_VERSION} if self.mode == "structured" else {}),
            "instructions": PROMPT_VERSION,
            **_PREFERRED,
            **{name: value for name, value in self.options.items() if name not in _CONNECTION},
        }


def _in_terms_of_schema(extraction: Extraction, strict: StrictSchema) -> Extraction:
    """Return what a model answered to a strict schema as the schema has it, and list what the strict one lost."""
    lost = tuple(
        f"structured output is not held to `{keyword}` at {', '.join(pointer or '/' for pointer in pointers)}"
        for keyword, pointers in strict.dropped.items()
    )
    adjusted = replace(extraction, adjustments=(*extraction.adjustments, *lost))
    try:
        answer = json.loads(extraction.output)
        value = strict.restored(answer)
    except (ValueError, RecursionError):  # cut off, refused, or no JSON: scored as it is
        return adjusted
    return adjusted if value == answer else replace(adjusted, output=json.dumps(value, ensure_ascii=False))
