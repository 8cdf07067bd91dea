"""Files that are whole or not there, also when many processes write at once."""

from __future__ import annotations

import errno
import os
import secrets
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from pytest_extract.errors import NotWritten


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
    """Give a closed temporary file beside `path` that holds `text`, and remove it where it still stands at the end."""
    scratch: Path | None = None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        scratch = path.parent / f".{secrets.token_hex(8)}.tmp"  # tempfile's own would be closed to everybody else
        with scratch.open("x", encoding="utf-8", errors="surrogatepass", newline="\n") as file:
            file.write(text)
        yield scratch
    except OSError as error:
        raise NotWritten(path, error) from error
    finally:
        if scratch is not None:
            scratch.unlink(missing_ok=True)


def _create(path: Path, text: str) -> bool:
    try:
        with path.open("x", encoding="utf-8", errors="surrogatepass", newline="\n") as file:
            file.write(text)
    except FileExistsError:
        return False
    return True
