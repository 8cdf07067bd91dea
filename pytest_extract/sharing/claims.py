"""Who is at work on what just now: of all that want the same thing, over threads and processes, one makes it.

A claim is a file that its maker holds a lock on, with the keys of what it is making. The lock goes with the process,
however that ends, so that nobody waits for the dead.
"""

from __future__ import annotations

import os
import secrets
import time
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from pytest_extract.sharing.locks import try_lock, unlock
from pytest_extract.sharing.place import POLL_S, SharedFolder

PATIENCE_S: Final = 600.0
"""For how long others' work is waited for: a process may be stopped, or at a debugger's prompt."""
_ENDING: Final = ".claim"


@dataclass(slots=True)
class Claim:
    """What of the wanted is this thread's to make (`mine`), and what others are making."""

    mine: frozenset[str]
    theirs: frozenset[str] = frozenset()
    _files: list[int] = field(default_factory=list)

    def leave(self, keys: frozenset[str], file: int) -> None:
        """Leave keys to another, who holds the lock on `file`; it is closed when it has been waited for."""
        self.mine -= keys
        self.theirs |= keys
        self._files.append(file)

    def wait(self, patience_s: float = PATIENCE_S) -> None:
        """Wait until the others have finished, well or not: what they made is there then, or can be made here."""
        until = time.monotonic() + patience_s
        try:
            for file in self._files:
                while not try_lock(file, shared=True) and time.monotonic() < until:
                    time.sleep(POLL_S)
        finally:
            self.forget()

    def forget(self) -> None:
        """Wait for nobody."""
        while self._files:
            os.close(self._files.pop())


class Claims:
    """The claims on things that are kept in `subject`, a folder."""

    def __init__(self, subject: Path) -> None:
        self._place = SharedFolder(subject)

    @contextmanager
    def claim(self, keys: Collection[str]) -> Iterator[Claim]:
        """Claim what nobody else is making; who has made it lets go by leaving. Wait for the others only after that.

        After claiming, look once more: what is wanted may have been made since it was looked for. Where files cannot
        be locked, all is this thread's.
        """
        claim, own = self._claimed(frozenset(keys))
        try:
            yield claim
        except BaseException:
            claim.forget()
            raise
        finally:
            if own is not None:
                own.release()

    def _claimed(self, keys: frozenset[str]) -> tuple[Claim, _Own | None]:
        claim = Claim(keys)
        try:
            with self._place.turn() as folder:
                self._part(folder, claim)
                own = _Own.made(self._place.path(folder, secrets.token_hex(8) + _ENDING), claim.mine)
        except OSError:
            claim.forget()
            return Claim(keys), None
        return claim, own

    def _part(self, folder: Path, claim: Claim) -> None:
        """Leave to others what they have claimed; remove the claims of the dead."""
        for path in self._place.paths(folder, _ENDING):
            with suppress(FileNotFoundError):  # let go of since
                file, taken = _held(path, claim.mine)
                if file is not None:
                    claim.leave(taken, file)


def _held(path: Path, keys: frozenset[str]) -> tuple[int | None, frozenset[str]]:
    """Return which of the keys a claim holds, and its file, open, if it holds any; remove it if its process is dead."""
    file = os.open(path, os.O_RDWR)
    try:
        dead = try_lock(file, shared=True)
        taken = frozenset() if dead else keys & frozenset(path.read_text(encoding="ascii").split())
    except OSError:
        os.close(file)
        raise
    if taken:
        return file, taken
    os.close(file)
    if dead:
        path.unlink(missing_ok=True)
    return None, taken


@dataclass(frozen=True, slots=True)
class _Own:
    """The file of this thread's claim."""

    path: Path
    file: int

    @classmethod
    def made(cls, path: Path, keys: frozenset[str]) -> _Own | None:
        if not keys:
            return None
        own = cls(path, os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
        try:
            os.write(own.file, "\n".join(sorted(keys)).encode("ascii"))
            try_lock(own.file)  # nobody else knows of it yet
        except OSError:
            own.release()
            raise
        return own

    def release(self) -> None:
        with suppress(OSError):
            unlock(self.file)
        os.close(self.file)
        with suppress(OSError):  # somebody looks at it just now, and removes it
            self.path.unlink(missing_ok=True)
