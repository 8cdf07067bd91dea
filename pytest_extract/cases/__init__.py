"""Case files: from YAML, JSON and JSONL text to checked, frozen cases; each mistake has file, line and column.

The modules read files, but no document. They import neither pytest nor models.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_extract.lazy import lazy_names

if TYPE_CHECKING:
    from pytest_extract.cases.load import LoadedFile as LoadedFile
    from pytest_extract.cases.load import load_cases as load_cases
    from pytest_extract.cases.model import Case as Case
else:
    __getattr__, __dir__, __all__ = lazy_names(__name__, {"cases.load": "LoadedFile load_cases", "cases.model": "Case"})
