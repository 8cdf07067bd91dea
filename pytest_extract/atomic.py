"""Atomic file writes, also with many concurrent processes: a file is either complete or absent."""

from __future__ import annotations

import errno
import os
import secrets
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Final

from pytest_extract.errors import NotWritten
from pytest_extract.sharing.locks import try_lock

_try_lock: Final = None if sys.platform == "win32" else try_lock
"""Locks an open file until it is closed or its process ends; None on Windows, where no open file can be replaced."""
_PREFIX: Final = ".pytest-extract-"
_SUFFIX: Final = ".tmp"
_OLD_S: Final = 24 * 3600.0
"""Age from which a temporary file is left over, where files cannot be locked."""
_MOST_TIDIED: Final = 200
_tidied: Final[set[Path]] = set()
"""Folders in which this process has looked for what killed processes left."""


def write_atomic(path: Path, text: str) -> None:
    """Write `text` (UTF-8) to `path`, replacing what is there; a reader sees the old or the new file, never a part.

    A link stays one: what it points to is replaced. Into what is neither file nor folder (/dev/stdout, a pipe), text is
    written as it comes. Raises NotWritten when it cannot be written.
    """
    if _is_stream(path):
        _pour(path, text)
        return
    target = Path(os.path.realpath(path))
    with _scratch(target, text) as scratch:
        scratch.replace(target)


def check_file(path: Path) -> None:
    """Raise NotWritten where `write_atomic` cannot write `path`: found out by trying, and nothing of it stays."""
    try:
        if path.is_dir():
            raise IsADirectoryError(errno.EISDIR, "it is a folder")
        if not _is_stream(path):
            check_folder(Path(os.path.realpath(path)).parent)
        elif not os.access(path, os.W_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    except OSError as error:
        raise NotWritten(path, error) from error


def check_folder(folder: Path) -> None:
    """Raise NotWritten where no file can be made in `folder`, which need not be there yet: tried, and nothing stays."""
    made: list[Path] = []
    try:
        for missing in reversed([place for place in (folder, *folder.parents) if not place.exists()]):
            missing.mkdir(exist_ok=True)
            made.append(missing)
        with tempfile.TemporaryFile(dir=folder):  # permission bits say nothing to root, of /proc, or of what is mounted
            pass
    except OSError as error:
        raise NotWritten(folder, error) from error
    finally:
        for place in reversed(made):
            with suppress(OSError):  # another process uses it by now
                place.rmdir()


def _is_stream(path: Path) -> bool:
    """Whether writing does not replace what is there: a device, a pipe."""
    return path.parent == Path("/dev") or (path.exists() and not (path.is_file() or path.is_dir()))


def _pour(path: Path, text: str) -> None:
    try:
        with path.open("a", encoding="utf-8", errors="surrogatepass", newline="\n") as file:
            file.write(text)
    except OSError as error:
        raise NotWritten(path, error) from error


def write_once(path: Path, text: str) -> bool:
    """Write `text` (UTF-8) to `path` unless it exists; whether this call wrote it. The first of many writers wins.

    Raises NotWritten when it cannot be written.
    """
    with _scratch(path, text) as scratch:
        try:
            os.link(scratch, path)
        except FileExistsError:
            return False
        except OSError:  # no hard links on this file system: exclusive creation, whole but for a crash within it
            return _create(path, text)
        return True


@contextmanager
def _scratch(path: Path, text: str) -> Iterator[Path]:
    """Give a temporary file beside `path` that holds `text`, and remove it where it is still there at the end."""
    scratch: Path | None = None
    held: int | None = None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        scratch, file = _new_scratch(path.parent)
        with file:
            if _try_lock is not None:
                held = os.dup(file.fileno())  # keeps the lock: closing the file is what tells of a full disk on NFS
            file.write(text)
        if path.parent not in _tidied:
            if len(_tidied) >= _MOST_TIDIED:  # a run may write into a folder for each of its cases
                _tidied.clear()
            _tidied.add(path.parent)
            _tidy(path.parent, scratch.stat().st_mtime)
        yield scratch
    except OSError as error:
        raise NotWritten(path, error) from error
    finally:
        if held is not None:
            os.close(held)
        if scratch is not None:
            scratch.unlink(missing_ok=True)


def _new_scratch(folder: Path) -> tuple[Path, IO[str]]:
    """Make a temporary file in `folder`, locked where files can be: that tells it from what a killed process left."""
    while True:
        path = folder / f"{_PREFIX}{secrets.token_hex(8)}{_SUFFIX}"  # tempfile's own would be closed to everybody else
        file = path.open("x", encoding="utf-8", errors="surrogatepass", newline="\n")
        if _try_lock is None:
            return path, file
        try:
            is_ours = _try_lock(file.fileno())
        except OSError:  # no locks on this file system
            return path, file
        if is_ours and os.fstat(file.fileno()).st_nlink:
            return path, file
        file.close()  # another process came between making and locking, and took it for left over


def _tidy(folder: Path, now: float) -> None:
    """Remove temporary files of processes that were killed; `now` by the clock of the file system."""
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if entry.name.startswith(_PREFIX) and entry.name.endswith(_SUFFIX):
                with suppress(OSError):  # gone by now, or another user's
                    _remove_left_over(entry, now)


def _remove_left_over(entry: os.DirEntry[str], now: float) -> None:
    if not entry.is_file(follow_symlinks=False):
        return
    path = Path(entry.path)
    is_old = now - entry.stat(follow_symlinks=False).st_mtime > _OLD_S
    if _try_lock is None:
        if is_old:
            path.unlink()
        return
    file = os.open(path, os.O_RDWR)
    try:
        try:
            if not _try_lock(file):  # a living process is writing it
                return
        except OSError:  # no locks on this file system
            if not is_old:
                return
        path.unlink()
    finally:
        os.close(file)


def _create(path: Path, text: str) -> bool:
    try:
        with path.open("x", encoding="utf-8", errors="surrogatepass", newline="\n") as file:
            file.write(text)
    except FileExistsError:
        return False
    return True
