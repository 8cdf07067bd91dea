"""Locations of values in the text of a document: line and column, and the page if the document has pages."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from pytest_extract.core.case_result import CaseResult
from pytest_extract.core.values import MISSING, Json
from pytest_extract.documents import Document, DocumentError
from pytest_extract.report.findings import failed_results

MOST_LOCATIONS: Final = 3
"""Locations listed for one value; further ones are counted."""
LONGEST_SEARCHED: Final = 500
"""Longer texts are not searched for."""


class TextLocation(NamedTuple):
    """A location in the text of a document, counted from 1; `page` is None for a document without pages."""

    page: int | None
    line: int
    column: int

    def __str__(self) -> str:
        page = f"page {self.page}, " if self.page is not None else ""
        return f"{page}line {self.line}, column {self.column}"


def page_texts(pages: Sequence[str] | None, text: str) -> list[tuple[int | None, str]]:
    """Pair the text of each page with its number; None is the number of a text without pages."""
    if not pages or len(pages) == 1:
        return [(None, text)]
    return [(number, page) for number, page in enumerate(pages, start=1)]


def find_value(value: Json, pages: Sequence[tuple[int | None, str]]) -> tuple[list[TextLocation], int]:
    """Return the first locations of a scalar, and the number of all; case is ignored if there is no exact match."""
    wanted = _value_pattern(value)
    if wanted is None:
        return [], 0
    if not any(wanted.search(text) for _, text in pages):
        wanted = re.compile(wanted.pattern, re.IGNORECASE)
    found: list[TextLocation] = []
    count = 0
    for page, text in pages:
        for match in wanted.finditer(text):
            count += 1
            if len(found) < MOST_LOCATIONS:
                start = match.start()
                line = text.count("\n", 0, start) + 1
                found.append(TextLocation(page, line, start - text.rfind("\n", 0, start)))
    return found, count


def _value_pattern(value: Json) -> re.Pattern[str] | None:
    """Match a text with any white space, a number with or without thousands separators and decimals."""
    if isinstance(value, str):
        words = value.split()
        if not words or len(value) > LONGEST_SEARCHED:
            return None
        start = r"(?<!\w)" if words[0][0].isalnum() else ""
        return re.compile(start + r"\s+".join(map(re.escape, words)))
    if isinstance(value, int | float) and not isinstance(value, bool):
        return _number_pattern(value)
    return None


def _number_pattern(value: Json) -> re.Pattern[str] | None:
    text = f"{abs(value):.6f}".rstrip("0").rstrip(".") if isinstance(value, float) else str(abs(value))
    whole, _, fraction = text.partition(".")
    if not whole.isdecimal() or len(whole) > 30:
        return None
    groups: list[str] = []
    while whole:
        groups.insert(0, whole[-3:])
        whole = whole[:-3]
    digits = r"[.,'\u2019\s]?".join(groups)
    tail = rf"[.,]{fraction}0*" if fraction else r"(?:[.,]0+)?"
    return re.compile(rf"(?<![\d.,]){digits}{tail}(?![\d]|[.,]\d)")


def value_locations(result: CaseResult, document: Document) -> dict[str, str]:
    """Map the path of each failing field to the locations of its gold and extracted values in the document."""
    try:
        pages = page_texts(document.pages, document.text)
    except DocumentError:  # an image or audio has no text
        return {}
    found: dict[str, str] = {}
    for attempt in result.attempts:
        for leaf in failed_results(attempt.score.leaves) if attempt.score is not None else ():
            path = str(leaf.path)
            if path not in found:
                sides = (("gold", leaf.gold), ("extracted", leaf.extracted))
                texts = [_locations_text(side, value, pages) for side, value in sides if value is not MISSING]
                found[path] = "; ".join(text for text in texts if text)
    return {path: text for path, text in found.items() if text}


def locator(document: Document) -> Callable[[Json], str | None]:
    """Return what says where a scalar stands in a document: "" for nowhere, None where that cannot be said."""
    try:
        pages = page_texts(document.pages, document.text)
    except DocumentError:  # an image or audio has no text
        return lambda _value: None

    def locate(value: Json) -> str | None:
        if _value_pattern(value) is None:
            return None
        found, _ = find_value(value, pages)
        return str(found[0]) if found else ""

    return locate


def _locations_text(side: str, value: Json, pages: Sequence[tuple[int | None, str]]) -> str:
    if _value_pattern(value) is None:
        return ""
    found, count = find_value(value, pages)
    if not found:
        return f"{side} stands nowhere in the document"
    more = f" and {count - len(found)} more" if count > len(found) else ""
    return f"{side} at {'; '.join(map(str, found))}{more}"
