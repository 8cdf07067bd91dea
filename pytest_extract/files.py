"""Reads and writes files: regular files up to a size limit, atomic writes among many processes, and making things once.

A device has no end, and a pipe waits for a writer forever, so neither is read. A written file is complete or absent.

Of all threads and processes of a user that want the same thing at once, one makes it, so that it is paid for once. The
others wait for the lock of its key, and then look for what was made. The locks are files in the system's folder for
temporary files, because a store may be read-only, or in git; the system frees the locks of a process that dies.
"""

from __future__ import annotations

import errno
import json
import math
import os
import stat
import tempfile
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING, BinaryIO, Final, TextIO, TypeVar

from pytest_extract.core.values import Json, text_digest
from pytest_extract.errors import NotWritten, StoreError

if TYPE_CHECKING:
    from filelock import BaseFileLock

T = TypeVar("T")
MOST_BYTES: Final = 64 * 1024**2
"""Largest case file, schema, gold, prompt, recording, or the like."""
MOST_BULK_BYTES: Final = 2 * 1024**3
"""Largest file of many records, and largest document: a dataset, results, a baseline."""
MOST_BATCHED_BYTES: Final = 1024**4
"""Largest file that is read in batches: a table of Parquet."""


def read_regular(path: str | Path, most: int = MOST_BYTES, *, streams: bool = False) -> bytes:
    """Return the bytes of a file; OSError, with `strerror`, for what is no regular file or larger than `most`.

    `streams`: somebody names the file to have it read now, so that a pipe or device will do (`/dev/stdin`).
    """
    if not streams:  # not even opened, as that waits for the other end of a pipe
        _check(os.stat(path), most)  # noqa: PTH116 - a file a case, and pathlib takes five times as long
    with open(path, "rb", buffering=0) as file:  # noqa: PTH123 - as above
        size = os.fstat(file.fileno()).st_size
        parts: list[bytes] = []
        count = 0
        # some more at once than the size that the system tells: of a file that grows, of /proc, of a pipe
        while part := file.read(max(min(size, most) + 1 - count, 65_536)):
            parts.append(part)
            count += len(part)
            if count > most:  # it grows, or is a stream
                raise OSError(errno.EFBIG, f"it has more than {most:,} bytes, the most that are read")
    return parts[0] if len(parts) == 1 else b"".join(parts)


def _check(found: os.stat_result, most: float = math.inf) -> None:
    if (kind := other_kind(found.st_mode)) is not None:
        raise OSError(errno.EINVAL, f"it is {kind}, not a regular file")
    if found.st_size > most:
        raise OSError(errno.EFBIG, f"it has {found.st_size:,} bytes, and at most {most:,} are read")


def open_regular(path: Path, most: int = MOST_BYTES) -> BinaryIO:
    """Open a file to be read line by line; OSError as `read_regular`."""
    _check(path.stat(), most)
    return path.open("rb")


def read_regular_text(path: Path, most: int = MOST_BYTES) -> str:
    """Return the text of a UTF-8 file, line ends as newlines; OSError as `read_regular`, or UnicodeDecodeError."""
    text = read_regular(path, most).decode("utf-8")
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text


def other_kind(mode: int) -> str | None:
    """Name what a file is where it is no regular one: `a named pipe`."""
    if stat.S_ISREG(mode):
        return None
    return "a folder" if stat.S_ISDIR(mode) else "a named pipe" if stat.S_ISFIFO(mode) else "a device or a socket"


def write_atomic(path: Path, text: str) -> None:
    """Write `text` (UTF-8) to `path`, replacing what is there; a reader sees the old or the new file, never a part.

    A link stays one: what it points to is replaced. A file keeps its access rights. Raises NotWritten when it cannot be
    written, or is no regular file.
    """
    _replace(path, lambda file: file.write(text))


def write_bytes_atomic(path: Path, write: Callable[[IO[bytes]], object]) -> None:
    """Write what `write` puts into an open file to `path`, piece by piece, and else as `write_atomic`."""
    _replace(path, lambda file: write(file.buffer))


def _replace(path: Path, write: Callable[[TextIO], object]) -> None:
    _check_place(path)
    target = Path(os.path.realpath(path))
    # a file of tempfile is readable by its owner only
    scratch = target.parent / f".pytest-extract-{os.urandom(8).hex()}.tmp"
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with scratch.open("x", encoding="utf-8", errors="surrogatepass", newline="\n") as file:
            write(file)
        with suppress(OSError):  # nothing is there yet, or the file system has no such rights
            scratch.chmod(stat.S_IMODE(target.stat().st_mode))
        scratch.replace(target)
    except OSError as error:
        raise NotWritten(target, error) from error
    finally:
        with suppress(OSError):  # it has taken its place, or could not be made
            scratch.unlink()


def check_file(path: Path) -> None:
    """Raise NotWritten where `write_atomic` cannot write `path`: found out by trying, and nothing of it stays."""
    _check_place(path)
    check_folder(Path(os.path.realpath(path)).parent)


def _check_place(path: Path) -> None:
    """Raise NotWritten for what no file can take the place of: a folder, a pipe, a device."""
    if path.parent == Path("/dev"):  # `/dev/stdout` may lead to a regular file that others write to
        raise NotWritten(path, OSError("it is a device, not a regular file"))
    try:
        with suppress(FileNotFoundError):
            _check(path.stat())
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


# --- what is kept between runs: recordings, answers of judges, texts of documents


def read_kept(path: Path, what: str, read: Callable[[Json], T]) -> T:
    """Return what `read` makes of a kept JSON file; StoreError, also for one that is damaged."""
    try:
        return read(json.loads(read_regular_text(path)))
    except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        raise StoreError(
            f"{path}: no {what} that can be read ({type(error).__name__}: {error}); delete it, or record it again with "
            "--extract-record=all"
        ) from error


def keep(path: Path, text: str, on_write_error: Callable[[NotWritten], None] | None = None) -> NotWritten | None:
    """Write a file that is kept; return, and tell, why it cannot be: what was paid for counts all the same."""
    try:
        write_atomic(path, text)
    except NotWritten as error:
        if on_write_error is not None:
            on_write_error(error)
        return error
    return None


POLL_S: Final = 0.01
LONGEST_WAIT_S: Final = 600.0
"""Longest wait for others: a process may be stopped, or at a debugger's prompt."""


@contextmanager
def making(store: Path, keys: Collection[str]) -> Iterator[bool]:
    """Hold the locks of things that are kept in `store`, and give whether they are; each key is one open file.

    Look for each key again inside the block: another process may have made it since. Where files cannot be locked, or
    others keep a lock for too long, the block runs without. Locks are taken in the order of their names, so that no two
    wait for each other.
    """
    from filelock import FileLock, Timeout

    subject = os.path.realpath(store)
    until = time.monotonic() + LONGEST_WAIT_S
    are_held = False
    with ExitStack() as held:
        with suppress(OSError, Timeout):
            user = os.getuid() if hasattr(os, "getuid") else 0
            folder = Path(tempfile.gettempdir()) / f"pytest-extract-{user}"
            folder.mkdir(mode=0o700, exist_ok=True)
            found = folder.lstat()
            is_ours = stat.S_ISDIR(found.st_mode) and found.st_uid == user
            for name in sorted(text_digest(f"{subject}\n{key}")[:32] for key in keys if is_ours):
                lock = FileLock(folder / f"{name}.lock")
                lock.acquire(timeout=max(0.0, until - time.monotonic()), poll_interval=POLL_S)
                held.callback(_release, lock, folder / f"{name}.lock")
            are_held = is_ours
        yield are_held


def _release(lock: BaseFileLock, path: Path) -> None:
    """Release a lock and remove its file; who has opened that file meanwhile finds what was made."""
    with suppress(OSError):  # Windows removes no open file
        path.unlink()
    lock.release()


def display_path(path: Path, root: Path) -> str:
    """Return a path for messages: relative to `root` if it is below."""
    resolved = path if path.is_absolute() else root / path
    return (resolved.relative_to(root) if resolved.is_relative_to(root) else resolved).as_posix()


def own_place(path: Path) -> Path:
    """Return where a file is, whichever way led there; a file that is a symbolic link is the link, as in git."""
    return path.parent.resolve() / path.name
