"""What processes have made since they began: a list that each of them adds to, and that is gone with the last one."""

from __future__ import annotations

import os
import threading
import weakref
from contextlib import suppress
from pathlib import Path

from pytest_extract.sharing.locks import try_lock, unlock
from pytest_extract.sharing.place import SharedFolder


class News:
    """Lines that all who are at work with `subject`, a folder, read from each other.

    Nothing is told and nothing heard where that cannot be done.
    """

    def __init__(self, subject: Path) -> None:
        self._place = SharedFolder(subject)
        self._lock = threading.Lock()
        self._file: int | None = None
        self._read = 0
        with suppress(OSError):
            self._file = self._opened()
            weakref.finalize(self, _left, self._place, self._file)

    def _opened(self) -> int:
        """Open the list, and share a lock on it; a list that nobody shares any more starts anew."""
        with self._place.turn() as folder:
            file = os.open(self._place.path(folder, "news"), os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
            if try_lock(file):
                os.ftruncate(file, 0)
                unlock(file)
            try_lock(file, shared=True)
        return file

    def tell(self, line: str) -> None:
        """Add a line; one short append, which no other process's can tear."""
        if self._file is not None:
            with suppress(OSError), self._lock:
                os.write(self._file, f"{line}\n".encode())

    def heard(self) -> list[str]:
        """Return the lines that were added since the last time, this process's own among them."""
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


def _left(place: SharedFolder, file: int) -> None:
    """Close the list, and remove it where nobody else has it. Nothing is waited for: this may happen at any point."""
    with suppress(OSError), place.turn(patience_s=0.0) as folder:
        if try_lock(file):
            place.path(folder, "news").unlink(missing_ok=True)
    os.close(file)
