"""Where the values of failing fields stand in the document, as text; the cases of results, found again."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Final

from pytest_extract.cases.cache import SchemaCache, compile_structure
from pytest_extract.cases.load import load_cases
from pytest_extract.cases.model import Case
from pytest_extract.core.case_result import CaseResult
from pytest_extract.core.values import MISSING, Json
from pytest_extract.documents import Document, DocumentError
from pytest_extract.documents.evidence import Evidence, MatchLevel, find_evidence
from pytest_extract.errors import ExtractError
from pytest_extract.report.findings import failed_results
from pytest_extract.report.values import show

MOST_LISTED: Final = 3
"""Locations listed for one value; further ones are counted."""
_NEAREST_WIDTH: Final = 60


def value_locations(result: CaseResult, document: Document) -> dict[str, str]:
    """Map the path of each failing field to the locations of its gold and extracted values in the document."""
    leaves = {str(leaf.path): leaf for score in reversed(result.scores) for leaf in failed_results(score.leaves)}
    found: dict[str, str] = {}
    for path, leaf in leaves.items():
        parts = [
            location_text(side, evidence)
            for side, value in (("gold", leaf.gold), ("extracted", leaf.extracted))
            if value is not MISSING and (evidence := _evidence(document, value, most=MOST_LISTED)) is not None
        ]
        if parts:
            found[path] = "; ".join(parts)
    return found


def _evidence(document: Document, value: Json, *, most: int = 1, nearest: bool = True) -> Evidence | None:
    """Find a value; None for one that cannot be searched, and in a document without text (an image, audio)."""
    try:
        return find_evidence(document, value, most=most, nearest=nearest)
    except DocumentError:
        return None


def locator(document: Document) -> Callable[[Json], str | None]:
    """Return what says where a value stands in a document: "" for nowhere, None where that cannot be said."""

    def locate(value: Json) -> str | None:
        evidence = _evidence(document, value, nearest=False)
        if evidence is None:
            return None
        return str(evidence.locations[0]) if evidence.found else ""

    return locate


def stands_exactly(document: Document, value: Json) -> bool:
    """Whether a document has a value to the letter, but for white space."""
    evidence = _evidence(document, value, nearest=False)
    return evidence is not None and evidence.found and evidence.locations[0].level is MatchLevel.EXACT


def location_text(side: str, evidence: Evidence) -> str:
    """Say where a value stands: `gold at page 3, line 5, column 1`, or that it stands nowhere, and the nearest text."""
    if evidence.found:
        more = (
            f" and {evidence.count - len(evidence.locations)} more" if evidence.count > len(evidence.locations) else ""
        )
        return f"{side} at {'; '.join(map(str, evidence.locations))}{more}"
    near = f" (nearest: {show(found.quote, _NEAREST_WIDTH)} at {found})" if (found := evidence.nearest) else ""
    return f"{side} stands nowhere in the document{near}"


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
