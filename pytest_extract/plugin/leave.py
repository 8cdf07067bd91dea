"""The end of a process in which calls have not ended: Python would wait for their threads, or hang.

At exit Python joins the threads that libraries started for a call, and a thread that stands in an import keeps the
lock that the exit itself needs.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from contextlib import suppress
from typing import Final

import pytest

from pytest_extract.extraction.loop import LOOP_THREAD

_OURS: Final = "pytest-extract-"
"""How the names of all threads begin in which calls are made."""
_GRACE_S: Final = 2.0
_sessions: list[tuple[pytest.Session, bool]] = []
"""The last session of the process, whose exit status is that of the process, and whether it was interrupted."""


def wait_for_calls() -> None:
    """Give calls under way, which are paid, a moment to be recorded; a further Ctrl-C ends the wait."""
    deadline = time.monotonic() + _GRACE_S
    with suppress(KeyboardInterrupt):
        for thread in _our_threads():
            if thread.name != LOOP_THREAD:  # runs until it is stopped
                thread.join(max(0.0, deadline - time.monotonic()))


def leave_after(session: pytest.Session, *, interrupted: bool) -> None:
    """Have the process end with the status of this session, even if calls never do.

    After an interrupt, it does not wait either for the threads in which libraries make calls.
    """
    if not _sessions:
        # Called before Python joins any thread, and so before `atexit`: as concurrent.futures ends its own threads.
        threading._register_atexit(_leave)  # type: ignore[attr-defined]  # noqa: SLF001
    _sessions[:] = [(session, interrupted)]


def _leave() -> None:
    ((session, interrupted),) = _sessions
    if _our_threads() or (interrupted and threading.active_count() > 1):
        for stream in (sys.stdout, sys.stderr):
            with suppress(Exception):
                stream.flush()
        # A second Ctrl-C may come before pytest has noted the first.
        os._exit(int(session.exitstatus or (pytest.ExitCode.INTERRUPTED if interrupted else pytest.ExitCode.OK)))


def _our_threads() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name.startswith(_OURS)]
