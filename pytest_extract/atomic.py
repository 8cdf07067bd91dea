"""Files that are whole or not there, also when many processes write at once."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Self

from pytest_extract.errors import StoreError


def write_atomic(path: Path, text: str) -> None:
    """Write `text` (UTF-8) to `path`, replacing what is there; a reader sees the old or the new file, never a part.

    Raises StoreError when the folder cannot be written.
    """
    with _scratch(path, text) as scratch:
        Path(scratch.name).replace(path)


def write_once(path: Path, text: str) -> bool:
    """Write `text` (UTF-8) to `path` unless it exists; whether this call wrote it. The first of many writers wins."""
    with _scratch(path, text) as scratch:
        try:
            os.link(scratch.name, path)
        except FileExistsError:
            return False
        except OSError:  # no hard links on this file system: exclusive creation, whole but for a crash within it
            return _create(path, text)
        return True


class _scratch:  # noqa: N801
    """A closed temporary file beside `path` that holds `text`; removed at the end where it still stands."""

    def __init__(self, path: Path, text: str) -> None:
        self.path = path
        self.text = text
        self.name = ""

    def __enter__(self) -> Self:
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            handle, self.name = tempfile.mkstemp(dir=self.path.parent, prefix=".", suffix=".tmp")
            with os.fdopen(handle, "w", encoding="utf-8", errors="surrogatepass", newline="\n") as file:
                file.write(self.text)
        except OSError as error:
            raise StoreError(f"{self.path}: cannot be written: {error.strerror or error}") from error
        return self

    def __exit__(self, *_: object) -> None:
        Path(self.name).unlink(missing_ok=True)


def _create(path: Path, text: str) -> bool:
    try:
        with path.open("x", encoding="utf-8", errors="surrogatepass", newline="\n") as file:
            file.write(text)
    except FileExistsError:
        return False
    return True
