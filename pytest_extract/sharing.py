"""Of all threads and processes of a user that want the same thing at once, one makes it, so that it is paid for once.

The others wait for the lock of its key, and then look for what was made. The locks are files in the system's folder for
temporary files, because a store may be read-only, or in git; the system frees the locks of a process that dies.
"""

from __future__ import annotations

import os
import stat
import tempfile
import time
from collections.abc import Collection, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

from pytest_extract.core.values import text_digest

if TYPE_CHECKING:
    from filelock import BaseFileLock

POLL_S: Final = 0.01
LONGEST_WAIT_S: Final = 600.0
"""Longest wait for others: a process may be stopped, or at a debugger's prompt."""


@contextmanager
def making(store: Path, keys: Collection[str]) -> Iterator[None]:
    """Hold the locks of things that are kept in `store`; each key is one open file.

    Look for each key again inside the block: another process may have made it since. Where files cannot be locked, or
    others keep a lock for too long, the block runs without. Locks are taken in the order of their names, so that no two
    wait for each other.
    """
    from filelock import FileLock, Timeout

    subject = os.path.realpath(store)
    until = time.monotonic() + LONGEST_WAIT_S
    with ExitStack() as held:
        with suppress(OSError, Timeout):
            folder = _lock_folder()
            for name in sorted(text_digest(f"{subject}\n{key}")[:32] for key in keys):
                lock = FileLock(folder / f"{name}.lock")
                lock.acquire(timeout=max(0.0, until - time.monotonic()), poll_interval=POLL_S)
                held.callback(_release, lock, folder / f"{name}.lock")
        yield


def _release(lock: BaseFileLock, path: Path) -> None:
    """Release a lock and remove its file; who has opened that file meanwhile finds what was made."""
    with suppress(OSError):  # Windows removes no open file
        path.unlink()
    lock.release()


def _lock_folder() -> Path:
    user = os.getuid() if hasattr(os, "getuid") else 0
    folder = Path(tempfile.gettempdir()) / f"pytest-extract-{user}"
    folder.mkdir(mode=0o700, exist_ok=True)
    found = folder.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != user:
        raise PermissionError(f"{folder} belongs to another user")
    return folder
