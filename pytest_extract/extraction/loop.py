"""An event loop in a thread of its own: coroutines run there whatever loop, or none, the caller is in."""

from __future__ import annotations

import threading
from collections.abc import Awaitable
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Self

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
