"""Case files: from YAML, JSON and JSONL text to checked, frozen cases; each mistake has file, line and column.

The modules read files, but no document. They import neither pytest nor models.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_extract.lazy import lazy_names

if TYPE_CHECKING:
    from pytest_extract.cases.load import LoadedFile, load_cases
    from pytest_extract.cases.model import Case

__all__ = [
    "Case",
    "LoadedFile",
    "load_cases",
]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "cases.load": "LoadedFile load_cases",
        "cases.model": "Case",
    },
)
