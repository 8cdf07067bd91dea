"""Where processes of one user on one machine leave each other notes about a folder that they share."""

from __future__ import annotations

import os
import stat
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from pytest_extract.digest import sha256
from pytest_extract.sharing.locks import try_lock, unlock

POLL_S: Final = 0.01
_TURN_S: Final = 10.0
"""For how long a turn is waited for. One takes a millisecond; only a process that was stopped within keeps it."""


class SharedFolder:
    """The notes about `subject`, in the system's folder for temporary files: the subject may be read-only, or in git.

    What goes wrong here raises OSError; it costs a call made twice at worst.
    """

    def __init__(self, subject: Path) -> None:
        self._prefix = sha256(os.path.realpath(subject))[:16]

    @contextmanager
    def turn(self, patience_s: float = _TURN_S) -> Iterator[Path]:
        """Give the folder of all notes, to this thread alone as long as it takes."""
        folder = _own_folder()
        file = os.open(folder / "turn", os.O_RDWR | os.O_CREAT, 0o600)
        try:
            _wait(file, patience_s)
            try:
                yield folder
            finally:
                unlock(file)
        finally:
            os.close(file)

    def path(self, folder: Path, name: str) -> Path:
        """Return the file of a note about the subject."""
        return folder / f"{self._prefix}-{name}"

    def paths(self, folder: Path, ending: str) -> list[Path]:
        """Return the files of notes about the subject whose names end so."""
        return sorted(folder.glob(f"{self._prefix}-*{ending}"))


def _wait(file: int, patience_s: float) -> None:
    until = time.monotonic() + patience_s
    while not try_lock(file):
        if time.monotonic() >= until:
            raise TimeoutError("another process keeps its turn")
        time.sleep(POLL_S)


def _own_folder() -> Path:
    user = os.getuid() if hasattr(os, "getuid") else 0
    folder = Path(tempfile.gettempdir()) / f"pytest-extract-{user}"
    folder.mkdir(mode=0o700, exist_ok=True)
    found = folder.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != user:
        raise PermissionError(f"{folder} is somebody else's")
    return folder
