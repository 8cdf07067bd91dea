"""Coordination of the processes of one user on one machine, so that nothing is paid for twice.

Of all threads and processes that want the same thing, one has the lease and makes it (`Leases`). The others wait until
its lease ends, and read in the log what was made (`SharedLog`). A lease is a file that is locked while it holds; the
system frees the locks of a process that dies. Without file locks, or without the folder, each one makes everything.
"""

from __future__ import annotations

import os
import stat
import sys
import tempfile
import threading
import time
import weakref
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from pytest_extract.core.values import text_digest

POLL_S: Final = 0.01
LONGEST_WAIT_S: Final = 600.0
"""Longest wait for the leases of others: a process may be stopped, or at a debugger's prompt."""
_LONGEST_WAIT_FOR_NOTES_S: Final = 10.0
"""The notes are used for about a millisecond; only a process that is stopped in between keeps them longer."""
_LEASE_SUFFIX: Final = ".claim"
_LOG_NAME: Final = "news"

if sys.platform == "win32":  # pragma: no cover
    import msvcrt

    _BEHIND_ALL_TEXT = 1 << 30  # a locked part of a file can be neither read nor written

    def try_lock(file: int, *, shared: bool = False) -> bool:  # noqa: ARG001  # Windows has no shared locks
        """Lock an open file, exclusively or shared; False if another lock forbids it. OSError without file locks."""
        os.lseek(file, _BEHIND_ALL_TEXT, os.SEEK_SET)
        try:
            msvcrt.locking(file, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True

    def unlock(file: int) -> None:
        """Release a lock."""
        os.lseek(file, _BEHIND_ALL_TEXT, os.SEEK_SET)
        msvcrt.locking(file, msvcrt.LK_UNLCK, 1)
else:
    import fcntl

    def try_lock(file: int, *, shared: bool = False) -> bool:
        """Lock an open file, exclusively or shared; False if another lock forbids it. OSError without file locks."""
        try:
            fcntl.flock(file, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def unlock(file: int) -> None:
        """Release a lock. Closing the file releases it too, unless a child process has the file open as well."""
        fcntl.flock(file, fcntl.LOCK_UN)


class SharedNotes:
    """Files about `subject`, a folder, that all processes at work with it read and write.

    They are in the system's folder for temporary files, because the subject may be read-only, or in git. Failures raise
    OSError.
    """

    def __init__(self, subject: Path) -> None:
        self._prefix = text_digest(os.path.realpath(subject))[:16]

    @contextmanager
    def exclusive(self, longest_wait_s: float = _LONGEST_WAIT_FOR_NOTES_S) -> Iterator[Path]:
        """Give the folder of all notes to this thread alone. TimeoutError if another one keeps it too long."""
        folder = _notes_folder()
        file = os.open(folder / "turn", os.O_RDWR | os.O_CREAT, 0o600)
        try:
            until = time.monotonic() + longest_wait_s
            while not try_lock(file):
                if time.monotonic() >= until:
                    raise TimeoutError("another process keeps the notes locked")
                time.sleep(POLL_S)
            try:
                yield folder
            finally:
                unlock(file)
        finally:
            os.close(file)

    def path(self, folder: Path, name: str) -> Path:
        """Return the file of a note about the subject."""
        return folder / f"{self._prefix}-{name}"

    def paths(self, folder: Path, suffix: str) -> list[Path]:
        """Return the files of the notes about the subject whose names end with `suffix`."""
        return sorted(folder.glob(f"{self._prefix}-*{suffix}"))


def _notes_folder() -> Path:
    user = os.getuid() if hasattr(os, "getuid") else 0
    folder = Path(tempfile.gettempdir()) / f"pytest-extract-{user}"
    folder.mkdir(mode=0o700, exist_ok=True)
    found = folder.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != user:
        raise PermissionError(f"{folder} belongs to another user")
    return folder


@dataclass(slots=True)
class Lease:
    """Of the wanted keys, those that this thread makes (`mine`), and those that others are making (`theirs`)."""

    mine: frozenset[str]
    theirs: frozenset[str] = frozenset()
    _files: list[int] = field(default_factory=list)

    def leave_to(self, file: int, keys: frozenset[str]) -> None:
        """Leave keys to the holder of the lock on `file`, which `wait` closes."""
        self.mine -= keys
        self.theirs |= keys
        self._files.append(file)

    def wait(self, longest_s: float = LONGEST_WAIT_S) -> None:
        """Wait until the others' leases end; what they have not made by then can be made here."""
        until = time.monotonic() + longest_s
        try:
            for file in self._files:
                while not try_lock(file, shared=True) and time.monotonic() < until:
                    time.sleep(POLL_S)
        finally:
            self.close()

    def close(self) -> None:
        """Close the files of the others' leases, without waiting."""
        while self._files:
            os.close(self._files.pop())


class Leases:
    """The leases on things that are stored in `subject`, a folder: one file for each, with its keys."""

    def __init__(self, subject: Path) -> None:
        self._notes = SharedNotes(subject)

    @contextmanager
    def lease(self, keys: Collection[str]) -> Iterator[Lease]:
        """Take the lease of all keys that nobody else is making, until the block ends; only then wait for the others.

        Look for each key again inside the block: another process may have made it since. Without file locks, all keys
        are this thread's.
        """
        lease, path, file = self._take(frozenset(keys))
        try:
            yield lease
        except BaseException:
            lease.close()
            raise
        finally:
            if file is not None:
                _release(path, file)

    def _take(self, keys: frozenset[str]) -> tuple[Lease, Path, int | None]:
        """Return a lease, and the open file of its own keys if it has any."""
        lease = Lease(keys)
        path = Path()
        try:
            with self._notes.exclusive() as folder:
                for other in self._notes.paths(folder, _LEASE_SUFFIX):
                    with suppress(FileNotFoundError):  # it has ended
                        _leave_held_keys(lease, other)
                path = self._notes.path(folder, os.urandom(8).hex() + _LEASE_SUFFIX)
                return lease, path, _write_lease(path, lease.mine) if lease.mine else None
        except OSError:
            lease.close()
            return Lease(keys), path, None


def _leave_held_keys(lease: Lease, path: Path) -> None:
    """Leave the keys of another lease to it; remove the file if its process is dead."""
    file = os.open(path, os.O_RDWR)
    try:
        is_dead = try_lock(file, shared=True)
        held = frozenset() if is_dead else lease.mine & frozenset(path.read_text(encoding="ascii").split())
    except OSError:
        os.close(file)
        raise
    if held:
        lease.leave_to(file, held)
        return
    os.close(file)
    if is_dead:
        path.unlink(missing_ok=True)


def _write_lease(path: Path, keys: frozenset[str]) -> int:
    file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        os.write(file, "\n".join(sorted(keys)).encode("ascii"))
        try_lock(file)  # nobody else knows the file yet
    except OSError:
        _release(path, file)
        raise
    return file


def _release(path: Path, file: int) -> None:
    with suppress(OSError):
        unlock(file)
    os.close(file)
    with suppress(OSError):  # another process is looking at the file, and removes it
        path.unlink(missing_ok=True)


class SharedLog:
    """Lines that all processes at work with `subject`, a folder, read from each other; it ends with the last process.

    Where the file cannot be opened, nothing is written and nothing is read.
    """

    def __init__(self, subject: Path) -> None:
        self._notes = SharedNotes(subject)
        self._lock = threading.Lock()
        self._file: int | None = None
        self._read = 0
        with suppress(OSError):
            self._file = self._opened()
            weakref.finalize(self, _leave_log, self._notes, self._file)

    def _opened(self) -> int:
        """Open the file and share a lock on it; a file that nobody shares is emptied."""
        with self._notes.exclusive() as folder:
            file = os.open(self._notes.path(folder, _LOG_NAME), os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
            if try_lock(file):
                os.ftruncate(file, 0)
                unlock(file)
            try_lock(file, shared=True)
        return file

    def append(self, line: str) -> None:
        """Add a line, by one short write that other processes' writes do not split."""
        if self._file is not None:
            with suppress(OSError), self._lock:
                os.write(self._file, f"{line}\n".encode())

    def read_new(self) -> list[str]:
        """Return the lines since the last call, this process's own included."""
        if self._file is None:
            return []
        with self._lock:
            os.lseek(self._file, self._read, os.SEEK_SET)
            found = b""
            while more := os.read(self._file, 1 << 16):
                found += more
            whole = found[: found.rfind(b"\n") + 1]
            self._read += len(whole)
        return whole.decode().splitlines()


def _leave_log(notes: SharedNotes, file: int) -> None:
    """Close the log, and remove it if no other process has it. It waits for nothing: this may run at any point."""
    with suppress(OSError), notes.exclusive(longest_wait_s=0.0) as folder:
        if try_lock(file):
            notes.path(folder, _LOG_NAME).unlink(missing_ok=True)
    os.close(file)
