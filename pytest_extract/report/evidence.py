"""Where a value occurs in the text of a document: line and column, and the page when pages are known."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from pytest_extract.core.case_result import CaseResult
from pytest_extract.core.values import MISSING, Json
from pytest_extract.documents import Document, DocumentError
from pytest_extract.report.findings import failing

MOST: Final = 3
"""Places told of one value; more are only counted."""
LONGEST: Final = 500
"""Characters of a text that is looked for."""


class TextLocation(NamedTuple):
    """A place in a document's text, all counted from 1; `page` is None for a document without pages."""

    page: int | None
    line: int
    column: int

    def __str__(self) -> str:
        page = f"page {self.page}, " if self.page is not None else ""
        return f"{page}line {self.line}, column {self.column}"


def page_texts(pages: Sequence[str] | None, text: str) -> list[tuple[int | None, str]]:
    """Pair each page's text with its number; a document without pages is one text without a number."""
    if not pages or len(pages) == 1:
        return [(None, text)]
    return [(number, page) for number, page in enumerate(pages, start=1)]


def places(value: Json, pages: Sequence[tuple[int | None, str]]) -> tuple[list[TextLocation], int]:
    """Return the first places where a scalar occurs, and how many there are in all; in any case if in no exact one."""
    wanted = _patterns(value)
    if wanted is None:
        return [], 0
    if not any(wanted.search(text) for _, text in pages):
        wanted = re.compile(wanted.pattern, re.IGNORECASE)
    found: list[TextLocation] = []
    count = 0
    for page, text in pages:
        for start in _occurrences(wanted, text):
            count += 1
            if len(found) < MOST:
                found.append(_place(page, text, start))
    return found, count


def _occurrences(pattern: re.Pattern[str], text: str) -> Iterator[int]:
    return (match.start() for match in pattern.finditer(text))


def _place(page: int | None, text: str, start: int) -> TextLocation:
    line = text.count("\n", 0, start) + 1
    return TextLocation(page, line, start - (text.rfind("\n", 0, start) + 1) + 1)


def _patterns(value: Json) -> re.Pattern[str] | None:
    """Match a text whatever its white space, or a number with and without thousands separators and decimals."""
    if isinstance(value, str):
        words = value.split()
        if not words or len(value) > LONGEST:
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


def result_places(result: CaseResult, document: Document) -> dict[str, str]:
    """Path of each failing field -> where its gold and extracted values occur in the document's text."""
    try:
        pages = page_texts(document.pages, document.text)
    except DocumentError:  # an image or audio has no text to look in
        return {}
    found: dict[str, str] = {}
    for attempt in result.attempts:
        for leaf in failing(attempt.score.leaves) if attempt.score is not None else ():
            path = str(leaf.path)
            if path not in found:
                sides = (("gold", leaf.gold), ("extracted", leaf.extracted))
                told = [_told(side, value, pages) for side, value in sides if value is not MISSING]
                found[path] = "; ".join(text for text in told if text)
    return {path: text for path, text in found.items() if text}


def _told(side: str, value: Json, pages: Sequence[tuple[int | None, str]]) -> str:
    if _patterns(value) is None:
        return ""
    found, count = places(value, pages)
    if not found:
        return f"{side} stands nowhere in the document"
    more = f" and {count - len(found)} more" if count > len(found) else ""
    return f"{side} at {'; '.join(map(str, found))}{more}"
