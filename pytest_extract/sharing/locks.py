"""Locks on open files, between threads and processes; the system frees those of a process that dies.

Where a file system has none, locking raises OSError.
"""

from __future__ import annotations

import sys

if sys.platform == "win32":  # pragma: no cover
    import msvcrt
    import os

    _BEHIND_ALL_TEXT = 1 << 30  # what is locked can be neither read nor written there

    def try_lock(file: int, *, shared: bool = False) -> bool:  # noqa: ARG001  # there are no shared ones there
        """Lock an open file, for itself or beside others that share; False where somebody else's lock forbids it."""
        os.lseek(file, _BEHIND_ALL_TEXT, os.SEEK_SET)
        try:
            msvcrt.locking(file, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True

    def unlock(file: int) -> None:
        """Let go of a lock."""
        os.lseek(file, _BEHIND_ALL_TEXT, os.SEEK_SET)
        msvcrt.locking(file, msvcrt.LK_UNLCK, 1)
else:
    import fcntl

    def try_lock(file: int, *, shared: bool = False) -> bool:
        """Lock an open file, for itself or beside others that share; False where somebody else's lock forbids it."""
        try:
            fcntl.flock(file, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def unlock(file: int) -> None:
        """Let go of a lock. Closing would do so too, but not where a child process has the file still open."""
        fcntl.flock(file, fcntl.LOCK_UN)
