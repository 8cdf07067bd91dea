"""At most N calls in flight: in this process, or over all xdist workers of a run."""

from __future__ import annotations

import os
import shutil
import tempfile
import threading
import time
from collections import deque
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from pytest_extract.sharing import POLL_S, try_lock, unlock


class ConcurrencyLimit:
    """N slots of one process, given in the order in which they are asked for; pytest's own thread goes first.

    What that thread waits for, the whole run waits for. A semaphore gives a free slot to whoever comes by, and a thread
    that works off a queue comes by most often.
    """

    def __init__(self, count: int) -> None:
        self._free = count
        self._waiting: deque[threading.Event] = deque()
        self._lock = threading.Lock()

    def __enter__(self) -> None:
        turn = threading.Event()
        with self._lock:
            if self._free:
                self._free -= 1
                return
            if threading.current_thread() is threading.main_thread():
                self._waiting.appendleft(turn)
            else:
                self._waiting.append(turn)
        try:
            turn.wait()
        except BaseException:  # Ctrl-C; a slot that was just given must not be lost
            self._give_up(turn)
            raise

    def __exit__(self, *failure: object) -> None:
        with self._lock:
            self._hand_on()

    def _give_up(self, turn: threading.Event) -> None:
        with self._lock:
            if turn in self._waiting:
                self._waiting.remove(turn)
            else:
                self._hand_on()

    def _hand_on(self) -> None:
        if self._waiting:
            self._waiting.popleft().set()
        else:
            self._free += 1


class SharedConcurrencyLimit:
    """N lock files in a folder that all workers know; the system frees the lock of a worker that dies.

    One thread of a process looks for a free one at a time, so that each process gets its share.
    """

    def __init__(self, folder: Path, count: int) -> None:
        folder.mkdir(mode=0o700, exist_ok=True)
        self._paths = [folder / f"slot-{number}" for number in range(count)]
        self._held = threading.local()
        self._turn = ConcurrencyLimit(1)

    def __enter__(self) -> None:
        held = _held(self._paths)
        with self._turn:
            held.__enter__()
        self._held.stack = [*getattr(self._held, "stack", ()), held]

    def __exit__(self, *failure: object) -> None:
        self._held.stack.pop().__exit__(None, None, None)


def concurrency_limit(folder: Path | None, count: int) -> AbstractContextManager[object]:
    """Return the slots of a run; `folder` (from `limit_folder`) where it has several processes."""
    return ConcurrencyLimit(count) if folder is None else SharedConcurrencyLimit(folder, count)


def limit_folder(run_uid: str) -> Path:
    """Return the folder of the run that xdist calls `run_uid`: every worker knows it without being told."""
    return Path(tempfile.gettempdir()) / f"pytest-extract-{run_uid}"


def remove_limit(run_uid: str) -> None:
    """Remove the folder, if the run ever made one."""
    shutil.rmtree(limit_folder(run_uid), ignore_errors=True)


@contextmanager
def _held(paths: list[Path]) -> Iterator[None]:
    file = _wait_for_one(paths)
    try:
        yield
    finally:
        unlock(file)
        os.close(file)


def _wait_for_one(paths: list[Path]) -> int:
    while True:
        for path in paths:
            file = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
            if try_lock(file):
                return file
            os.close(file)
        time.sleep(POLL_S)
