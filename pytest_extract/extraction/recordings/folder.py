"""The folder of recordings."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

DEFAULT_FOLDER: Final = "extract-recordings"
"""Folder of recordings where no option names another."""
JUDGE_FOLDER: Final = "judge"


def recording_files(folder: Path) -> Iterator[Path]:
    """Yield the files of all recordings below `folder`, sorted, without the judge's."""
    return (path for path in sorted(folder.glob("*/*.json")) if path.parent.name != JUDGE_FOLDER)
