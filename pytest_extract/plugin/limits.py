"""What a run may use: so many calls at the same time (`--extract-concurrency`), so much money (`--extract-budget`)."""

from __future__ import annotations

import os
import shutil
import tempfile
import threading
import time
from collections import deque
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from pytest_extract.files import POLL_S
from pytest_extract.run_case import NotRun

if TYPE_CHECKING:
    from filelock import BaseFileLock

_UNKNOWN_COST = "unknown"
_ESTIMATED = "estimated"
_REPORTED = "reported"


class ConcurrencyLimit:
    """At most `count` calls at the same time in one process, in the order of asking; the main thread goes first.

    The whole run waits for what the main thread waits for. A semaphore gives a free slot to any thread, and a thread
    that works off a queue asks most often.
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
        except BaseException:  # Ctrl-C; a slot that was given meanwhile must not be lost
            with self._lock:
                if turn in self._waiting:
                    self._waiting.remove(turn)
                else:
                    self._release()
            raise

    def __exit__(self, *failure: object) -> None:
        with self._lock:
            self._release()

    def _release(self) -> None:
        if self._waiting:
            self._waiting.popleft().set()
        else:
            self._free += 1


class SharedConcurrencyLimit:
    """At most `count` calls at the same time in all xdist workers of a run: a lock file for each call.

    The system releases the lock of a worker that dies. One thread of a process looks for a free lock at a time, so that
    each process gets its share.
    """

    def __init__(self, folder: Path, count: int) -> None:
        folder.mkdir(mode=0o700, exist_ok=True)
        self._paths = [folder / f"slot-{number}" for number in range(count)]
        self._locked = threading.local()
        self._one_thread = ConcurrencyLimit(1)

    def __enter__(self) -> None:
        with self._one_thread:
            lock = self._lock_any()
        self._locked.locks = [*getattr(self._locked, "locks", ()), lock]

    def __exit__(self, *failure: object) -> None:
        self._locked.locks.pop().release()

    def _lock_any(self) -> BaseFileLock:
        from filelock import FileLock, Timeout

        while True:
            for path in self._paths:
                lock = FileLock(path)
                with suppress(Timeout):
                    lock.acquire(blocking=False)
                    return lock
            time.sleep(POLL_S)


class CallSlots:
    """The slots of all calls of a run, extractor's and judge's; none is given any more when the run has ended."""

    def __init__(self, limit: ConcurrencyLimit | SharedConcurrencyLimit) -> None:
        self._limit = limit
        self._closed = False

    def __enter__(self) -> None:
        self._limit.__enter__()
        if self._closed:  # also for who has waited for a slot meanwhile
            self._limit.__exit__()
            raise NotRun("the run has ended")

    def __exit__(self, *failure: object) -> None:
        self._limit.__exit__(*failure)

    def close(self) -> None:
        """Let no call begin from now on."""
        self._closed = True


def concurrency_limit(folder: Path | None, count: int) -> ConcurrencyLimit | SharedConcurrencyLimit:
    """Return the limit of a run; `folder` (from `limit_folder`) where the run has several processes."""
    return ConcurrencyLimit(count) if folder is None else SharedConcurrencyLimit(folder, count)


def limit_folder(run_uid: str) -> Path:
    """Return the folder of the run that xdist calls `run_uid`: every worker can compute it."""
    return Path(tempfile.gettempdir()) / f"pytest-extract-{run_uid}"


def remove_limit(run_uid: str) -> None:
    """Remove the folder, if the run made one."""
    shutil.rmtree(limit_folder(run_uid), ignore_errors=True)


class _Payment(NamedTuple):
    """What some calls cost: known, estimated, or (None) neither."""

    usd: float | None
    calls: int
    estimated: bool


class Budget:
    """What a run has spent: a file to which all processes of the run append a line for each payment.

    Each call looks, so only what was appended since the last look is read.
    """

    def __init__(self, path: Path, limit: float) -> None:
        self._path = path
        self._limit = limit
        self._lock = threading.Lock()
        self._bytes_read = 0
        self._payments: list[_Payment] = []
        self._spent = 0.0
        self._unknown = False

    def check(self) -> None:
        """Raise NotRun when the budget is spent, or when a call of unknown cost makes it impossible to keep."""
        self._read()
        if self._unknown:
            raise NotRun(
                f"the budget of ${self._limit:g} cannot be kept: a call reported no cost (an unpriced model, or an "
                "extractor without cost_usd)"
            )
        if self._spent >= self._limit:
            raise NotRun(f"the budget of ${self._limit:g} is spent")

    def overrun(self) -> str | None:
        """Say by how much the budget was exceeded, and by how many calls under way; None where it was kept."""
        self._read()
        spent, late = 0.0, 0
        for payment in self._payments:
            late += payment.calls if spent >= self._limit else 0
            spent += payment.usd or 0.0
        if spent <= self._limit:
            return None
        were = "1 call was" if late == 1 else f"{late:,} calls were"
        how = f"{were} under way when it was spent" if late else "the last call cost more than was left"
        return f"budget of ${self._limit:g} exceeded by ${spent - self._limit:,.4f}: {how}"

    def estimate(self) -> str | None:
        """Say what of the budget is spent by an estimate only; None where all costs were reported."""
        self._read()
        guessed = [payment for payment in self._payments if payment.estimated]
        if not guessed:
            return None
        calls, usd = sum(payment.calls for payment in guessed), sum(payment.usd or 0.0 for payment in guessed)
        told = "1 call that" if calls == 1 else f"{calls:,} calls that"
        return (
            f"budget of ${self._limit:g}: about ${usd:,.6f} is counted for {told} reported no cost, an "
            "estimate by the length of the texts"
        )

    def _read(self) -> None:
        with self._lock, self._path.open("rb") as file:
            file.seek(self._bytes_read)
            for line in file:
                usd, calls, how = line.decode("ascii").split()
                payment = _Payment(None if usd == _UNKNOWN_COST else float(usd), int(calls), how == _ESTIMATED)
                self._payments.append(payment)
                self._spent += payment.usd or 0.0
                self._unknown |= payment.usd is None
                self._bytes_read += len(line)

    def spend(self, cost_usd: float | None, calls: int = 1, *, estimated_usd: float | None = None) -> None:
        """Add the cost of some calls, or the estimate of it where it is unknown.

        It is one short append, which other processes cannot interrupt.
        """
        usd = estimated_usd if cost_usd is None else cost_usd
        how = _ESTIMATED if cost_usd is None and usd is not None else _REPORTED
        text = f"{_UNKNOWN_COST if usd is None else repr(float(usd))} {calls} {how}"
        file = os.open(self._path, os.O_WRONLY | os.O_APPEND)
        try:
            os.write(file, f"{text}\n".encode("ascii"))
        finally:
            os.close(file)


def new_budget_file() -> Path:
    """Create the file of a run's budget; the caller removes it."""
    file, name = tempfile.mkstemp(prefix="pytest-extract-", suffix=".spent")
    os.close(file)
    return Path(name)
