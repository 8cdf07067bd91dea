"""Finds the cases of results again, for reports that show the document or the line of a case."""

from __future__ import annotations

from pathlib import Path

from pytest_extract.cases.cache import SchemaCache
from pytest_extract.cases.load import load_cases
from pytest_extract.cases.model import Case
from pytest_extract.cases.structure import compile_structure
from pytest_extract.core.case_result import CaseResult
from pytest_extract.errors import ExtractError


class CaseFinder:
    """Reads the case files of results below one of several folders, each file once."""

    def __init__(self, *roots: Path) -> None:
        self._roots = roots
        self._files: dict[str, dict[str, Case]] = {}
        self._cache = SchemaCache(compile_structure)

    def __call__(self, result: CaseResult) -> Case | None:
        """Return the case of a result; None if its file does not have it, or cannot be read."""
        if result.file not in self._files:
            self._files[result.file] = self._load(result.file)
        return self._files[result.file].get(result.case_id)

    def _load(self, file: str) -> dict[str, Case]:
        for root in self._roots:
            path = root / file
            if path.is_file():
                try:
                    return {case.id: case for case in load_cases(path, cache=self._cache).cases}
                except (ExtractError, OSError):
                    return {}
        return {}
