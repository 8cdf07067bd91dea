"""Evidence: the places in a document where a value stands, and the nearest text if it stands nowhere.

`find_evidence` searches the text of a document: exactly, then folded (white space, case, dashes, quotes, ligatures,
line breaks inside words; numbers and dates in any notation), then by similarity. `find_boxes` gives the places on the
page of a PDF. Nothing here needs pytest.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, NamedTuple

from pytest_extract.core.values import Json
from pytest_extract.documents import Box, Document, DocumentError
from pytest_extract.evidence.index import TextIndex, TextMatch

__all__ = ("Box", "Evidence", "MatchLevel", "TextLocation", "find_boxes", "find_evidence")

MOST_LOCATIONS: Final = 20
"""Locations listed for one value; further ones are counted."""


class MatchLevel(StrEnum):
    """How the text at a location agrees with the value."""

    EXACT = "exact"
    FOLDED = "folded"
    FUZZY = "fuzzy"


class TextLocation(NamedTuple):
    """A part of the text of a document.

    `page`, `line` and `column` count from 1; `page` is None for a document without pages. `start` and `end` are offsets
    in the text of its page (`document.pages`), in characters from 0; `quote` is the text between them. `similarity` is
    in [0, 1], and 1.0 unless `level` is fuzzy.
    """

    page: int | None
    line: int
    column: int
    start: int
    end: int
    quote: str
    level: MatchLevel
    similarity: float = 1.0

    def __str__(self) -> str:
        page = f"page {self.page}, " if self.page is not None else ""
        return f"{page}line {self.line}, column {self.column}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """Where a value stands in a document.

    `locations`: the exact and folded ones in the order of the text, at most as many as were asked for; `count` counts
    all of them. `nearest`: if there is none, the most similar parts of the text, best first.
    """

    locations: tuple[TextLocation, ...] = ()
    count: int = 0
    nearest: tuple[TextLocation, ...] = ()

    @property
    def found(self) -> bool:
        """Whether the value stands in the document, exactly or folded."""
        return self.count > 0


def find_evidence(
    document: Document, value: Json, *, most: int = MOST_LOCATIONS, nearest: bool = True
) -> Evidence | None:
    """Return where a text or a number stands in a document; None for a value that is not searched for.

    These are null, booleans, lists, objects, empty texts and those of more than 20,000 characters. With `nearest=False`
    the most similar parts of the text are not searched for, which takes most of the time for a value that stands
    nowhere. The index of the document is made once and kept until `document.release()`. Raises DocumentError for a
    document without text: an image, a scanned PDF, a broken file.
    """
    index = _index_of(document)
    found = index.find(value)
    if found is None:
        return None
    pages = len(document.pages) > 1
    if found:
        return Evidence(locations=tuple(_location(index, match, pages) for match in found[:most]), count=len(found))
    similar = index.nearest(value) if nearest else ()
    return Evidence(nearest=tuple(_location(index, match, pages) for match in similar))


def _index_of(document: Document) -> TextIndex:
    index = document.once("evidence", lambda: TextIndex(document.pages))
    if index.is_empty:
        raise DocumentError(f"{document.path or 'the document'}: has no text (a scan?), so no value can be found in it")
    return index


def _location(index: TextIndex, match: TextMatch, pages: bool) -> TextLocation:  # noqa: FBT001 - one caller
    page, start, end = index.page_offsets(match)
    text = index.pages[page]
    return TextLocation(
        page=page + 1 if pages else None,
        line=text.count("\n", 0, start) + 1,
        column=start - text.rfind("\n", 0, start),
        start=start,
        end=end,
        quote=text[start:end],
        level=MatchLevel.FUZZY if match.similarity < 1 else MatchLevel.EXACT if match.exact else MatchLevel.FOLDED,
        similarity=match.similarity,
    )


def find_boxes(document: Document, locations: Sequence[TextLocation]) -> list[tuple[Box, ...]]:
    """Return for each location its boxes on the page of a PDF, one for each line of text; none in other documents.

    The PDF is opened once for all locations. Raises DocumentError for a file that cannot be read.
    """
    spans = [((location.page or 1) - 1, location.start, location.end) for location in locations]
    return document.boxes(spans)
