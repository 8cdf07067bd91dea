"""Call a user's extractor with those of the arguments that its signature names, sync or async.

`Extraction` is what it gives, and what all that it may return becomes. Coroutines run in a loop in a thread of its own,
whatever loop, or none, the caller is in.
"""

from __future__ import annotations

import dataclasses
import inspect
import math
import re
import threading
import time
from collections.abc import Awaitable, Mapping
from contextlib import closing, nullcontext
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Any, Final

from pytest_extract.core.arguments import NotJson, json_argument, json_output, kept_text, mapping
from pytest_extract.core.case_result import Usage
from pytest_extract.core.parse import IN_RESPONSE, finish_of, is_response, no_value
from pytest_extract.core.results import DECLINED, Failure, FailureKind, ReportedMetadata
from pytest_extract.core.values import Json
from pytest_extract.errors import ConfigError, ExtractError, nearest
from pytest_extract.extraction.provider_errors import failure_kind, summary
from pytest_extract.redact import clean_message

if TYPE_CHECKING:
    import asyncio


@dataclass(frozen=True, slots=True)
class Extraction:
    """An output with what is known about the call that made it.

    output: text, or a value that is JSON (of the types in `core.arguments.plain_json`), before any parsing.
    usage: tokens (`Usage`, or a mapping with its names); latency_s: seconds; cost_usd: None when unknown, never 0 then.
    estimated_usd: what a budget counts where the cost is unknown; None if there is no estimate either.
    finish_reason: that of the provider; `length` marks an output that was cut off, `error` an outage: no output at all.
    recorded: replayed from a recording, so tokens, cost and latency are those of the recorded call; other_code: which
    another version of the extractor's code has made.
    failure: set if the provider declined (refusal, context length, page limit) or returned nothing.
    adjustments: what of the request was changed for the model (a temperature that it does not take).
    notes: remarks for readers of the result (a redacted recording).
    extractor: the digest of the code that made the output, set by a run; None where a recording does not have it.
    build: the model that served the call, as its provider names it (a version, a fingerprint): a change of it is told.
    confidence: by value a number from 0 to 1, as an object that is nested as the output or has paths for keys
    (`{"total": 0.93, "items[0].price": 0.7}`); a single number is that of the whole output.
    citations: by value, in the same way, a list of citations: quotes, or objects with `page`, `quote` and `box`.
    """

    output: Any
    _: KW_ONLY
    usage: Usage | Mapping[str, int | None] | None = None
    latency_s: float | None = None
    cost_usd: float | None = None
    estimated_usd: float | None = None
    finish_reason: str | None = None
    recorded: bool = False
    other_code: bool = False
    failure: Failure | None = None
    adjustments: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    extractor: str | None = None
    build: str | None = None
    confidence: Any = None
    citations: Any = None

    @property
    def reported(self) -> ReportedMetadata | None:
        """Confidence and citations as they are scored; None where the extractor returned neither."""
        reported = ReportedMetadata(self.confidence, self.citations)
        return None if reported == ReportedMetadata() else reported


class ProviderOutage(ExtractError):
    """An extractor returned what came before its provider broke down: the case is an error, whatever stands in it."""


class ExtractionFailure(ExtractError):
    """Raised by an extractor if a model or its provider declined: the case has failed, and is no error.

    kind: `page_limit`, `context_length`, `refusal` or `schema_rejected`; message: that of the provider.
    usage, cost_usd: what the call took; a request that is declined is rarely billed, so 0 where nothing is given.
    """

    def __init__(
        self,
        kind: FailureKind | str,
        message: str,
        *,
        usage: Usage | Mapping[str, int | None] | None = None,
        cost_usd: float | None = 0.0,
    ) -> None:
        super().__init__(message)
        if kind not in DECLINED:
            raise ConfigError(
                f"ExtractionFailure has no kind {str(kind)!r}{nearest(kind, DECLINED)}; "
                "an output that cannot be used is returned as it is; any other exception says that the extractor broke"
            )
        self.kind = FailureKind(kind)
        self.message = message
        self.usage = usage
        self.cost_usd = cost_usd


def as_extraction(returned: Any, latency_s: float | None = None, *, gold: Json = None) -> Extraction:
    """Make an `Extraction` of whatever an extractor returned; a latency that it did not report is filled in.

    Values become plain JSON, so that a live and a replayed output are alike. Raises ConfigError on an output of a type
    that JSON does not have, on the response of a model's client (unless `gold` is one), and on a usage, cost or latency
    that is none: it would fail later, in every sum. Raises ProviderOutage where the finish reason tells of one.
    An output that no JSON holds has a failure, and becomes a text (`kept_text`) that nobody parses.
    """
    given = returned if isinstance(returned, Extraction) else Extraction(returned)
    finish, failure = finish_of(given.finish_reason), given.failure
    if finish.outage:
        raise ProviderOutage(f"the provider broke down while it answered (finish_reason={finish.reason})")
    if failure is not None and failure.kind is FailureKind.EXTRACTOR_ERROR:
        raise ProviderOutage(failure.message)
    if is_response(given.output) and not is_response(gold):
        raise ConfigError(f"the extractor returned a response as a client gives it; return {IN_RESPONSE}")
    output = given.output
    try:
        output = kept_text(output) if isinstance(output, bytes | bytearray) else json_output(output)
    except NotJson as problem:
        output, failure = kept_text(output), failure or no_value(problem)
    return dataclasses.replace(
        given,
        output=output,
        failure=failure,
        usage=usage_of(given.usage),
        cost_usd=_amount("cost_usd", given.cost_usd),
        estimated_usd=_amount("estimated_usd", given.estimated_usd),
        latency_s=latency_s if given.latency_s is None else _amount("latency_s", given.latency_s),
        finish_reason=None if given.finish_reason is None else str(given.finish_reason),
        build=None if given.build is None else str(given.build),
        confidence=_reported("confidence", given.confidence, dict | int | float),
        citations=_reported("citations", given.citations, dict | list),
    )


_REPORTED: Final = {
    "confidence": "a mapping of value to number from 0 to 1, or a number",
    "citations": "a mapping of value to list of citations, or a list of them",
}


def _reported(name: str, value: Any, kinds: Any) -> Any:
    """Return what an extractor reports beside its output as plain JSON."""
    plain = None if value is None else json_argument(f"Extraction({name}=...)", value)
    if plain is not None and (not isinstance(plain, kinds) or isinstance(plain, bool)):
        raise _wrong(name, _REPORTED[name], value)
    return plain


def _amount(name: str, value: Any) -> float | None:
    if value is None:
        return None
    if not isinstance(value, bool) and hasattr(value, "__float__"):  # a Decimal, too, and what numpy has
        amount = float(value)
        if math.isfinite(amount) and amount >= 0:
            return amount
    raise _wrong(name, "a number, 0 or more", value)


_USAGE_NAMES: Final[Mapping[str, str]] = {
    "input_tokens": "prompt_tokens",
    "output_tokens": "completion_tokens",
    **{name: name for name in ("prompt_tokens", "completion_tokens", "total_tokens")},
}
"""What clients call the tokens that are counted; their details are others."""


def usage_of(usage: Any) -> Usage | None:
    """Return `usage` as `Usage`: itself, or what a mapping or a client's usage object has of `_USAGE_NAMES`."""
    if usage is None or isinstance(usage, Usage):
        return usage
    is_mapping = isinstance(usage, Mapping)
    given = usage if is_mapping else {name: getattr(usage, name) for name in _USAGE_NAMES if hasattr(usage, name)}
    counts = {name: given[name] for name in _USAGE_NAMES if given.get(name) is not None}
    if not _USAGE_NAMES.keys() & given.keys() and (given or not is_mapping):
        raise _wrong("usage", f"a mapping or an object with {', '.join(_USAGE_NAMES)}", usage)
    for name, count in counts.items():
        if not isinstance(count, int) or isinstance(count, bool) or count < 0:
            raise _wrong("usage", f"whole numbers of tokens, 0 or more, for {name}", count)
    return Usage(**{_USAGE_NAMES[name]: count for name, count in counts.items()})


def _wrong(name: str, wanted: str, value: object) -> ConfigError:
    return ConfigError(f"Extraction({name}=...) takes {wanted}, not {value!r:.60}")


LOOP_THREAD: Final = "pytest-extract-loop"
_PATIENCE_S: Final = 1.0


class BackgroundLoop:
    """One loop for all calls of a session, so that an async client made in a session fixture stays on its loop.

    Started by the first `run`; safe to use from several threads at once.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None

    def run(self, work: Awaitable[Any]) -> Any:
        """Wait for `work` on the loop; its exception is raised here. Ctrl-C or a time-out here cancels it there."""
        import asyncio

        future = asyncio.run_coroutine_threadsafe(_wait_for(work), self._started())
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise

    def close(self) -> None:
        """Cancel what still runs, close the loop and end its thread; a later `run` starts a new one.

        A coroutine that blocks, or that takes no cancellation, is left behind with its thread after a second.
        """
        with self._lock:
            loop, thread = self._loop, self._thread
            self._loop = self._thread = None
        if loop is not None and thread is not None:
            loop.call_soon_threadsafe(loop.stop)
            thread.join(_PATIENCE_S)

    def _started(self) -> asyncio.AbstractEventLoop:
        import asyncio

        with self._lock:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                self._thread = threading.Thread(target=_serve, args=(self._loop,), name=LOOP_THREAD, daemon=True)
                self._thread.start()
            return self._loop


async def _wait_for(work: Awaitable[Any]) -> Any:
    return await work


def _serve(loop: asyncio.AbstractEventLoop) -> None:
    import asyncio

    with asyncio.Runner(loop_factory=lambda: loop) as runner:  # at its end, it cancels what still runs
        runner.get_loop().run_forever()


def awaited(returned: Any, loop: BackgroundLoop | None) -> Any:
    """Return what a user's function has returned, or what it comes to: on `loop`, else on one made for this call."""
    if not inspect.isawaitable(returned):
        return returned
    with closing(BackgroundLoop()) if loop is None else nullcontext(loop) as used:
        return used.run(returned)


ARGUMENTS: Final = ("document", "schema", "question", "prompt", "model", "case")
"""What an extractor may name in its signature."""
_ABOUT_LOOPS: Final = re.compile(
    r"different (event )?loop|inside a task|event loop is (closed|already running)|no (running|current) event loop"
    r"|cannot be called from a running event loop|within the same event loop|bound to a different|no running loop",
    re.IGNORECASE,
)
"""What asyncio, aiohttp, anyio and drivers of databases say when something belongs to another event loop."""
_LOOP_HINT: Final = (
    "an async extractor runs in an event loop of its own, in a thread, and one that is not async in threads without a "
    "loop: make what belongs to a loop (a client, a lock) inside an async extractor, at its first call"
)
_EXAMPLE: Final = "def extract(document, schema): ..."


def call_extractor(fn: object, *, loop: BackgroundLoop | None = None, **arguments: Any) -> Extraction:
    """Call `fn` and return what it gave as an `Extraction`, with the measured latency if it reports none.

    `arguments` are the six of `ARGUMENTS`. A coroutine runs on `loop`; without one, on a loop made for this call in a
    thread of its own. Raises ConfigError for an unusable extractor; exceptions of the extractor propagate, but
    ExtractionFailure becomes an output.
    """
    bound = bind(fn, arguments)
    assert callable(fn)  # noqa: S101  # `bind` has checked it
    started = time.perf_counter()
    try:
        returned = awaited(fn(*bound.args, **bound.kwargs), loop)
    except RuntimeError as error:
        if _ABOUT_LOOPS.search(str(error)):
            error.add_note(_LOOP_HINT)
        raise
    except ExtractionFailure as declined:  # an answer of the provider's, recorded and replayed like any other
        failure = Failure(kind=declined.kind, message=clean_message(declined.message))
        returned = Extraction(None, usage=declined.usage, cost_usd=declined.cost_usd, failure=failure)
    latency_s = time.perf_counter() - started
    if inspect.isgenerator(returned) or inspect.isasyncgen(returned):
        raise ConfigError("the extractor is a generator (it has `yield` in it); return the output instead")
    return as_extraction(returned, latency_s, gold=getattr(arguments.get("case"), "gold", None))


def bind(fn: object, arguments: Mapping[str, Any]) -> inspect.BoundArguments:
    """Choose the arguments for `fn`; ConfigError when its signature asks for others.

    Calling it with the six names and any values checks an extractor before anything is paid for.
    """
    if not callable(fn):
        raise ConfigError(
            f"the fixture `extractor` gave {fn!r:.80}, which cannot be called; return a function from it: {_EXAMPLE}"
        )
    try:
        signature = inspect.signature(fn)
    except (TypeError, ValueError) as error:
        raise ConfigError(
            f"the extractor {fn!r:.80} has no signature to read; wrap it in a function: {_EXAMPLE}"
        ) from error
    bound = signature.bind_partial()
    for name, parameter in signature.parameters.items():
        if parameter.kind is parameter.VAR_KEYWORD:
            bound.arguments[name] = {other: arguments[other] for other in arguments if other not in bound.arguments}
        elif parameter.kind is not parameter.VAR_POSITIONAL and name in arguments:
            bound.arguments[name] = arguments[name]
        elif parameter.kind is not parameter.VAR_POSITIONAL and parameter.default is parameter.empty:
            known = nearest(name, ARGUMENTS)
            raise ConfigError(f"the extractor asks for {name!r}{known}; anything else needs a default")
    bound.apply_defaults()
    return bound


def failure_of(error: BaseException) -> Failure:
    """Read an exception of an extractor: the provider declined (see `DECLINED`), or an error."""
    return Failure(kind=failure_kind(error) or FailureKind.EXTRACTOR_ERROR, message=summary(error))


def recorded_params(extractor: object) -> Mapping[str, Json]:
    """Return the attribute `extract_params` of an extractor as JSON, {} without one; ConfigError where it is none."""
    given = mapping("extract_params", getattr(extractor, "extract_params", None))
    params: Mapping[str, Json] = json_argument("extract_params", given)
    return params
