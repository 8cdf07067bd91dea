"""Texts of PDFs, kept between runs by the digest of the file: reading a long one takes half a second of CPU."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import Final

from pytest_extract.errors import NotWritten
from pytest_extract.files import read_regular_text, write_atomic

VERSION: Final = 1
"""Changes whenever we make another text of what the reader gives."""
MOST_STORED_BYTES: Final = 500_000_000
"""Size of the folder from which on the texts that were not used for longest are removed."""
FOLDER: Final = "extract-texts"
"""Name of the folder in pytest's cache directory."""


class TextStore:
    """A folder with a file for each PDF, the texts of its pages; any of them may be deleted.

    A key is the digest of the PDF with the version of what reads it.
    """

    def __init__(self, folder: Callable[[], Path]) -> None:
        self._make_folder = folder
        self._is_tidied = False

    @cached_property
    def _folder(self) -> Path:
        return self._make_folder()

    def read(self, key: str) -> tuple[str, ...] | None:
        """Return the stored pages; None if there are none, or none of this version."""
        path = self._path(key)
        try:
            pages = json.loads(read_regular_text(path))
        except (OSError, ValueError):
            return None
        if not isinstance(pages, list) or not all(isinstance(page, str) for page in pages):
            return None
        with suppress(OSError):  # its last use
            os.utime(path)
        return tuple(pages)

    def write(self, key: str, pages: tuple[str, ...]) -> None:
        """Store the pages of a PDF; a folder that cannot be written stores nothing."""
        with suppress(NotWritten):
            write_atomic(self._path(key), json.dumps(pages))
            if not self._is_tidied:
                self._is_tidied = True
                self._remove_oldest()

    def _path(self, key: str) -> Path:
        return self._folder / f"{key}-{VERSION}.json"

    def _remove_oldest(self) -> None:
        with suppress(OSError):
            files = sorted(
                (found.stat().st_mtime, found.stat().st_size, found) for found in self._folder.glob("*.json")
            )
            size = sum(each for _, each, _ in files)
            for used, own, path in files:
                if size <= MOST_STORED_BYTES or used > time.time() - 60:
                    break
                path.unlink(missing_ok=True)
                size -= own


_store: TextStore | None = None


def use_text_store(folder: Callable[[], Path] | None) -> None:
    """Keep the texts of PDFs from now on, in this process; None: keep none.

    `folder` makes the folder and returns it; it is called for the first PDF, so that a run without one makes none.
    """
    global _store  # noqa: PLW0603  # one folder a process, as pytest has one cache directory
    _store = None if folder is None else TextStore(folder)


def stored_pages(key: str, read: Callable[[], tuple[str, ...]]) -> tuple[str, ...]:
    """Return the stored pages of the PDF with this key, or read and store them."""
    if _store is None:
        return read()
    pages = _store.read(key)
    if pages is None:
        pages = read()
        _store.write(key, pages)
    return pages
