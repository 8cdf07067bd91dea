"""Documents with one thing changed: a value taken out, numbers or dates written otherwise, pages shuffled, a scan.

The places of values are those that `evidence` finds. What cannot be changed as asked is a DocumentError, never a
document that is left as it is.
"""

from __future__ import annotations

import builtins
import random
import tempfile
from collections.abc import Callable, Iterator, Mapping
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from pytest_extract.core.metrics.dates import read_iso
from pytest_extract.core.metrics.numbers import LOCALES, read_written
from pytest_extract.core.values import FieldPath, Json, is_number, iter_leaves, short_repr, value_at
from pytest_extract.core.words import listed
from pytest_extract.documents import HTML, Document, DocumentError, html_with
from pytest_extract.documents.pdf import ask_pdf, pdf_page_sizes

if TYPE_CHECKING:
    from pytest_extract.documents.evidence import TextLocation

_MOST_PLACES: Final = 10_000
_MOST_ROUNDS: Final = 5
_PDF: Final = "application/pdf"
_NUMBERS: Final = str.maketrans(".,", ",.")


class Alteration(NamedTuple):
    """What is changed: `kind` is a key of `ALTERATIONS`, `how` its value in a case file."""

    kind: str
    how: str

    @property
    def name(self) -> str:
        """Text in ids and tables: `without-total`, `decimal-comma`."""
        return f"{self.kind}-{self.how}"


class AlteredDocument(Document):
    """A document that is made from another when it is first read; `path` is a file of its own with the same name."""

    def __init__(self, source: Document, alteration: Alteration, gold: Json) -> None:
        super().__init__(text="", media_type=source.media_type)
        self._inline = None
        self._source = source
        self._alteration = alteration
        self._gold = gold

    @property
    def file(self) -> Path | None:
        """The file of the document that is altered."""
        return self._source.file

    @property
    def path(self) -> Path | None:
        """A temporary file with the altered content; None for an inline text."""
        return self._source.path and self.once("file", partial(self._write, self._source.path.name))

    def __repr__(self) -> str:
        return f"{self._source!r} {self._alteration.name}"

    def _write(self, name: str) -> Path:
        path = Path(tempfile.mkdtemp(dir=_folder().name), name)
        path.write_bytes(self.bytes)
        return path

    def _read_bytes(self) -> builtins.bytes:
        # what is taken out of a PDF has its place in the file's own text
        source = self._source.without_reader() if self.media_type == _PDF else self._source
        return ALTERATIONS[self._alteration.kind](source, self._alteration.how, self._gold)

    def release(self) -> None:
        """Forget content and places, of the source as well; the file stays to the end of the process."""
        super().release()
        self._source.release()


@cache
def _folder() -> tempfile.TemporaryDirectory[str]:
    """Return the folder of altered files, which is removed at the end of the process."""
    return tempfile.TemporaryDirectory(prefix="pytest-extract-")


def _places(document: Document, value: Json) -> tuple[TextLocation, ...]:
    from pytest_extract.documents.evidence import find_evidence

    evidence = find_evidence(document, value, most=_MOST_PLACES, nearest=False)
    return () if evidence is None else evidence.locations


def _found(document: Document, gold: Json) -> set[FieldPath]:
    """Return the places of the gold whose values stand in a document."""
    return {path for path, value in iter_leaves(gold) if document.text.strip() and _places(document, value)}


def _without(document: Document, how: str, gold: Json) -> bytes:
    """Take a value out, wherever it stands; no other value of the gold may go with it."""
    path = FieldPath.parse(how)
    value = value_at(gold, path)
    shown = f"{how} ({short_repr(value, 40)})"
    places = _places(document, value)
    if not places:
        raise DocumentError(f"{shown} stands nowhere in the document, so it cannot be taken out")
    left = document
    for _ in range(_MOST_ROUNDS):  # a value that stands there exactly is looked for in no other notation
        if document.media_type == _PDF:
            spans = [((each.page or 1) - 1, each.start, each.end) for each in places]
            _, data = ask_pdf("write_without", left.bytes, str(left.path), spans=spans)
        else:
            data = _rewritten(left, {place: " " * len(place.quote) for place in places})
        left = _with_content(document, data)
        places = _places(left, value) if left.text.strip() else ()
        if not places:
            break
    else:
        raise DocumentError(f"{shown} cannot be taken out of the document: it can be read all the same")
    lost = sorted(str(place) for place in _found(document, gold) - _found(left, gold) if place != path)
    if lost:
        raise DocumentError(f"{shown} cannot be taken out of the document alone: {listed(lost)} would go")
    return left.bytes


def _with_content(document: Document, data: bytes) -> Document:
    """Return a document of the same kind that holds other bytes."""
    other = Document("altered", media_type=document.media_type)
    other.once("bytes", lambda: data)
    return other


def _decimal_comma(value: Json, quote: str) -> str | None:
    """Write a number as in 1.234,50."""
    written = read_written(quote, (LOCALES["en"],)) if is_number(value) else None
    return quote.translate(_NUMBERS) if written is not None and set(quote) & set(".,") else None


def _day_first(value: Json, _quote: str) -> str | None:
    """Write a date as in 31/12/2026; one with a time of day stays, which would be lost."""
    date = read_iso(value) if isinstance(value, str) else None
    is_day = date is not None and date.day is not None and date.time is None
    return f"{date.day:02d}/{date.month:02d}/{date.year}" if date is not None and is_day else None


_NOTATIONS: Final[Mapping[str, tuple[Callable[[Json, str], str | None], str]]] = {
    "comma": (_decimal_comma, "number of the gold that has a separator in the document"),
    "day-first": (_day_first, "date of the gold that is found in the document"),
}


def _with_values_rewritten(document: Document, how: str, gold: Json) -> bytes:
    """Write the values of the gold in another notation, wherever they stand."""
    if document.media_type == _PDF:
        raise DocumentError("the text of a PDF cannot be written otherwise; use a text or HTML document")
    rewrite, what = _NOTATIONS[how]
    places = [
        (place, rewrite(value, place.quote)) for _, value in iter_leaves(gold) for place in _places(document, value)
    ]
    new = {place: text for place, text in places if text is not None}
    if not new:
        raise DocumentError(f"there is no {what}")
    return _rewritten(document, new)


def _rewritten(document: Document, new: Mapping[TextLocation, str]) -> bytes:
    """Return a text, or HTML, with other texts at some places; of places that overlap, the longest counts."""
    text = document.text
    edits: list[tuple[int, int, str]] = []
    for place, other in sorted(new.items(), key=lambda each: (each[0].start, -each[0].end)):
        if not edits or place.start >= edits[-1][1]:
            edits.append((place.start, place.end, other))
    if document.media_type in HTML:
        found = html_with(document.source_text, text, edits)
        if found is None:
            raise DocumentError("the HTML is laid out in a way that cannot be changed")
        return found.encode(document.encoding, "xmlcharrefreplace")  # as its `<meta>` says
    for start, end, other in reversed(edits):
        text = text[:start] + other + text[end:]
    return text.encode(document.encoding, "replace")


def _with_pages_shuffled(document: Document, _how: str, _gold: Json) -> bytes:
    """Put the pages of a PDF into another order, always the same one."""
    count = _page_count(document)
    if count < 2:
        raise DocumentError("a document of one page has no other order of pages")
    rng = random.Random(count)  # noqa: S311 - no secret
    while (order := rng.sample(range(count), count)) == [*range(count)]:
        pass
    return ask_pdf("write_pages", document.bytes, str(document.path), order=order)[1]


def _scanned(document: Document, how: str, _gold: Json) -> bytes:
    """Make pages of a PDF pictures without text."""
    count, dpi = _page_count(document), int(how.removesuffix("dpi"))
    return ask_pdf("write_scan", document.bytes, str(document.path), images=count, dpi=dpi)[1]


def _page_count(document: Document) -> int:
    if document.media_type != _PDF:
        raise DocumentError(f"only a PDF has pages, not {document.media_type}")
    return len(pdf_page_sizes(document.bytes, str(document.path)))


ALTERATIONS: Final[Mapping[str, Callable[[Document, str, Json], bytes]]] = {
    "without": _without,
    "decimal": _with_values_rewritten,
    "dates": _with_values_rewritten,
    "pages": _with_pages_shuffled,
    "scan": _scanned,
}


def alterations(given: list[dict[str, Any]]) -> Iterator[Alteration]:
    """Yield what the key `variants` of a case asks for; a list of fields is a variant each."""
    for entry in given:
        for kind, how in entry.items():
            yield from (Alteration(kind, each) for each in (how if isinstance(how, list) else [how]))
