"""Call a user's extractor with those of the arguments that its signature names, sync or async.

Coroutines run in a loop in a thread of its own, whatever loop, or none, the caller is in.
"""

from __future__ import annotations

import inspect
import re
import threading
import time
from collections.abc import Awaitable, Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Self

from pytest_extract.core.arguments import json_argument, mapping
from pytest_extract.core.results import Failure, FailureKind
from pytest_extract.core.values import Json
from pytest_extract.errors import ConfigError, nearest
from pytest_extract.extraction.base import Extraction, ExtractionFailure, as_extraction
from pytest_extract.extraction.llm.errors import failure_kind, summary
from pytest_extract.redact.secrets import clean_message

if TYPE_CHECKING:
    import asyncio


LOOP_THREAD: Final = "pytest-extract-loop"
_PATIENCE_S: Final = 1.0


class BackgroundLoop:
    """One loop for all calls of a session, so that an async client made in a session fixture stays on its loop.

    Started by the first `run`; safe to use from several threads at once; a context manager that closes itself.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

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


async def _give_up(tasks: set[asyncio.Task[Any]]) -> None:
    import asyncio

    for task in tasks:
        task.cancel()
    if tasks:
        await asyncio.wait(tasks)


async def _wait_for(work: Awaitable[Any]) -> Any:
    return await work


def _serve(loop: asyncio.AbstractEventLoop) -> None:
    import asyncio

    asyncio.set_event_loop(loop)
    try:
        loop.run_forever()
        loop.run_until_complete(_give_up(asyncio.all_tasks(loop)))
        loop.run_until_complete(loop.shutdown_asyncgens())
    finally:
        asyncio.set_event_loop(None)
        loop.close()


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
    positional, named = bind(fn, arguments)
    assert callable(fn)  # noqa: S101  # `bind` has checked it
    started = time.perf_counter()
    try:
        returned = fn(*positional, **named)
        if inspect.isawaitable(returned):
            returned = _awaited(returned, loop)
    except RuntimeError as error:
        if _ABOUT_LOOPS.search(str(error)):
            error.add_note(_LOOP_HINT)
        raise
    except ExtractionFailure as declined:  # an answer of the provider's, recorded and replayed like any other
        failure = Failure(kind=declined.kind, message=clean_message(declined.message))
        returned = Extraction(None, usage=declined.usage, cost_usd=declined.cost_usd, failure=failure)
    latency_s = time.perf_counter() - started
    _refuse_generator(returned)
    return as_extraction(returned, latency_s, gold=getattr(arguments.get("case"), "gold", None))


def bind(fn: object, arguments: Mapping[str, Any]) -> tuple[list[Any], dict[str, Any]]:
    """Choose the positional and the named arguments for `fn`; ConfigError when its signature asks for others.

    Calling it with the six names and any values checks an extractor before anything is paid for.
    """
    positional: list[Any] = []
    named: dict[str, Any] = {}
    for name, parameter in _signature(fn).parameters.items():
        match parameter.kind:
            case inspect.Parameter.VAR_KEYWORD:
                named = {**arguments, **named}
            case inspect.Parameter.VAR_POSITIONAL:
                continue
            case inspect.Parameter.POSITIONAL_ONLY:
                positional.append(arguments[name] if name in arguments else _default(parameter))
            case _ if name in arguments:
                named[name] = arguments[name]
            case _:
                _default(parameter)
    return positional, named


def failure_of(error: BaseException) -> Failure:
    """Read an exception of an extractor: the provider declined (see `DECLINED`), or an error."""
    return Failure(kind=failure_kind(error) or FailureKind.EXTRACTOR_ERROR, message=summary(error))


def _signature(fn: object) -> inspect.Signature:
    if not callable(fn):
        raise ConfigError(
            f"the fixture `extractor` gave {fn!r:.80}, which cannot be called; return a function from it: {_EXAMPLE}"
        )
    try:
        return inspect.signature(fn)
    except (TypeError, ValueError) as error:
        raise ConfigError(
            f"the extractor {fn!r:.80} has no signature to read; wrap it in a function: {_EXAMPLE}"
        ) from error


def _default(parameter: inspect.Parameter) -> Any:
    if parameter.default is inspect.Parameter.empty:
        hint = nearest(parameter.name, ARGUMENTS)
        if "did you mean" not in hint:
            hint = f"; it may name: {', '.join(ARGUMENTS)}; anything else needs a default"
        raise ConfigError(f"the extractor asks for {parameter.name!r}{hint}")
    return parameter.default


def _awaited(returned: Awaitable[Any], loop: BackgroundLoop | None) -> Any:
    if loop is not None:
        return loop.run(returned)
    with BackgroundLoop() as own:
        return own.run(returned)


def _refuse_generator(returned: object) -> None:
    if inspect.isgenerator(returned) or inspect.isasyncgen(returned):
        raise ConfigError("the extractor is a generator (it has `yield` in it); return the output instead")


def recorded_params(extractor: object) -> Mapping[str, Json]:
    """Return the attribute `extract_params` of an extractor as JSON, {} without one; ConfigError where it is none."""
    given = mapping("extract_params", getattr(extractor, "extract_params", None))
    params: Mapping[str, Json] = json_argument("extract_params", given)
    return params
