"""A folder of recordings: which files there are, also those that other processes make just now."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from pytest_extract.sharing import SharedLog

JUDGE_FOLDER: Final = "judge"


def recording_files(folder: Path) -> Iterator[Path]:
    """Yield the files of all recordings below `folder`, sorted, without the judge's."""
    return (path for path in sorted(folder.glob("*/*.json")) if path.parent.name != JUDGE_FOLDER)


class Index:
    """Finds a recording by the name of its file, whatever case's folder it lies in. Safe to share between threads."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._lock = threading.Lock()
        self._paths: dict[str, Path] = {}
        self._news: SharedLog | None = None

    def find(self, name: str) -> Path | None:
        """Return the file of that name; the folder is gone through once, and from then on the news of it."""
        with self._lock:
            if self._news is None:
                self._news = SharedLog(self._folder)  # first, lest a file made meanwhile be in neither
                self._paths |= {path.name: path for path in recording_files(self._folder)}
            for line in self._news.read_new():
                self._paths[Path(line).name] = self._folder / line
            path = self._paths.get(name)
        return path if path is not None and path.exists() else None

    def add(self, path: Path) -> None:
        """Take in a file that was written just now, and tell the others."""
        with self._lock:
            self._paths[path.name] = path
            if self._news is not None:
                self._news.append(path.relative_to(self._folder).as_posix())
