"""The files of a folder of recordings, including those that other processes are writing."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from pytest_extract.sharing import SharedLog

DEFAULT_FOLDER: Final = "extract-recordings"
"""Folder of recordings where no option names another."""
JUDGE_FOLDER: Final = "judge"


def recording_files(folder: Path) -> Iterator[Path]:
    """Yield the files of all recordings below `folder`, sorted, without the judge's."""
    return (path for path in sorted(folder.glob("*/*.json")) if path.parent.name != JUDGE_FOLDER)


class Index:
    """Finds a recording by the name of its file, in the folder of whatever case. Safe to share between threads."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._lock = threading.Lock()
        self._paths: dict[str, Path] = {}
        self._log: SharedLog | None = None

    def find(self, name: str) -> Path | None:
        """Return the file of that name; the folder is listed once, and its log read from then on."""
        with self._lock:
            if self._log is None:
                self._log = SharedLog(self._folder)  # before the listing, so that no new file is missed
                self._paths |= {path.name: path for path in recording_files(self._folder)}
            for line in self._log.read_new():
                self._paths[Path(line).name] = self._folder / line
            path = self._paths.get(name)
        return path if path is not None and path.exists() else None

    def add(self, path: Path) -> None:
        """Add a new file, and append it to the log for other processes."""
        with self._lock:
            self._paths[path.name] = path
            if self._log is not None:
                self._log.append(path.relative_to(self._folder).as_posix())
