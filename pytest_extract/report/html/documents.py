"""The documents of the page: texts, images and pages of PDFs, and where values stand in them; bounded in size."""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from pytest_extract.cases.model import Case
from pytest_extract.core.case_result import CaseResult
from pytest_extract.core.values import MISSING, Json, Missing
from pytest_extract.documents import Document, DocumentError
from pytest_extract.report.html.text import document_text, message, short_name
from pytest_extract.report.lines import plural
from pytest_extract.report.values import show

if TYPE_CHECKING:
    from pytest_extract.documents.evidence import TextLocation
    from pytest_extract.documents.pdf import PageImage

PageChoice: TypeAlias = Literal["none", "evidence", "all"]
"""Which pages of PDFs are shown as images."""
FindCase: TypeAlias = Callable[[CaseResult], Case | None]
"""Finds the case of a result, with its document; None if it is not there any more."""

MOST_DOCUMENTS: Final = 300
"""Documents on the page."""
MOST_TEXT: Final = 200_000
"""Characters of one document's text."""
MOST_TEXTS: Final = 6_000_000
"""Characters of all documents."""
MOST_IMAGE_BYTES: Final = 3_000_000
"""Bytes of all images, before they are written as text."""
MOST_PAGES: Final = 40
"""Pages of one PDF that are shown as images."""
MOST_SEARCHES: Final = 20_000
"""Values that are searched in documents."""
MOST_PLACES: Final = 3
"""Places shown for one value; further ones are counted."""
MOST_NEAREST: Final = 40
"""Values of one case that stand nowhere in its document and are shown with the nearest text, whose search is slow."""
_NEAREST_WIDTH: Final = 60
_MOST_INSIDE: Final = 8
"""Values inside a row or an object that are searched."""
_PAGE_WIDTH: Final = 900
_IMAGES: Final = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp", "image/bmp", "image/avif"})
"""Images that a browser shows and that hold no script."""


@dataclass(slots=True)
class _Shown:
    """A document on the page: its index, the pages (from 1) that have evidence, and the places of values."""

    index: int
    document: Document
    name: str
    kind: str
    pages: set[int] = field(default_factory=set)
    notes: list[str] = field(default_factory=list)
    has_text: bool = True
    locations: dict[TextLocation, int] = field(default_factory=dict)
    known: dict[tuple[object, ...], tuple[list[int], int]] = field(default_factory=dict)
    nearest: dict[tuple[object, ...], tuple[int, str] | None] = field(default_factory=dict)
    page_count: int = 0

    def add_note(self, text: str) -> None:
        """Add a note once."""
        if text not in self.notes:
            self.notes.append(text)

    def chosen_pages(self, choice: PageChoice) -> list[int]:
        """Return the pages to show: those with evidence, or the first; all of a scan, whose evidence nobody knows."""
        if choice == "all" or self.page_count == 1 or not self.has_text:
            return [*range(1, self.page_count + 1)]
        return [number for number in sorted(self.pages or {1}) if number <= self.page_count]

    def place_of(self, location: TextLocation) -> int:
        """Return the number of a place, the same for all values that are found there, and show its page."""
        from pytest_extract.documents.evidence import MatchLevel

        self.pages.add(location.page or 1)
        place = location._replace(level=MatchLevel.FOLDED, similarity=1.0)
        return self.locations.setdefault(place, len(self.locations))

    def places(self) -> list[Json]:
        """Return the places as data: [page, start, end, boxes]; a box is left, top, right and bottom as shares."""
        from pytest_extract.documents.evidence import find_boxes

        try:
            boxes = find_boxes(self.document, [*self.locations])
        except DocumentError:
            boxes = [()] * len(self.locations)
        return [
            [location.page or 1, location.start, location.end, [[round(side, 4) for side in box] for box in found]]
            for location, found in zip(self.locations, boxes, strict=True)
        ]


@dataclass(slots=True)
class CaseEvidence:
    """Where the values of one case stand in its document."""

    shown: _Shown
    documents: PageDocuments
    nearest_searches: int = 0

    @property
    def is_complete(self) -> bool:
        """Whether a value without a place stands nowhere in the document."""
        return self.shown.has_text and self.documents.searches < MOST_SEARCHES

    def places_of(self, value: Json | Missing) -> tuple[list[int], int]:
        """Return the numbers of a value's places among those of the document, and the count of all its places."""
        if value is MISSING:
            return [], 0
        if isinstance(value, dict | list):
            inside = [found for each in _scalars(value) for found in self.places_of(each)[0][:1]]
            return inside, len(inside)
        key = (type(value), value)
        if key not in self.shown.known:
            self.shown.known[key] = self._search(value)
        return self.shown.known[key]

    def _search(self, value: Json) -> tuple[list[int], int]:
        from pytest_extract.documents.evidence import find_evidence

        if self.documents.searches >= MOST_SEARCHES:
            return [], 0
        self.documents.searches += 1
        try:
            evidence = find_evidence(self.shown.document, value, most=MOST_PLACES, nearest=False)
        except DocumentError as error:
            self.shown.has_text = False
            self.shown.add_note(
                "an image: values are not marked in it"
                if self.shown.kind == "image"
                else _without_folder(error, self.shown.document)
            )
            return [], 0
        if evidence is None or not evidence.found:
            return [], 0
        return [self.shown.place_of(location) for location in evidence.locations], evidence.count

    def nearest_to(self, value: Json) -> tuple[int, str] | None:
        """Return the place and the text that is most similar to a value that stands nowhere; None if none is."""
        from pytest_extract.documents.evidence import find_evidence

        key, known = (type(value), value), self.shown.nearest
        if key not in known:
            if self.nearest_searches >= MOST_NEAREST:
                self.shown.add_note(f"nearest texts of the first {MOST_NEAREST} values of a case only")
                return None
            self.nearest_searches += 1
            evidence = find_evidence(self.shown.document, value, most=1)
            location = None if evidence is None else evidence.nearest
            known[key] = (
                None if location is None else (self.shown.place_of(location), show(location.quote, _NEAREST_WIDTH))
            )
        return known[key]


def _without_folder(error: DocumentError, document: Document) -> str:
    """Return the message of an error with the name of the file in place of its path."""
    text = str(error)
    return message(text if document.path is None else text.removeprefix(f"{document.path}: "))


def _scalars(value: Json) -> list[Json]:
    found: list[Json] = []
    stack = [value]
    while stack and len(found) < _MOST_INSIDE:
        node = stack.pop()
        if isinstance(node, dict):
            stack.extend(reversed(list(node.values())))
        elif isinstance(node, list):
            stack.extend(reversed(node))
        else:
            found.append(node)
    return found


class PageDocuments:
    """The documents of the cases on a page, each once: added case by case, worst first, and written at the end."""

    def __init__(self, find_case: FindCase | None, pages: PageChoice) -> None:
        self._find_case = find_case
        self._choice = pages
        self._by_digest: dict[str, _Shown] = {}
        self.searches = 0
        self._left_out = 0

    def of_case(self, result: CaseResult) -> CaseEvidence | str | None:
        """Return what finds the values of a case in its document, or a sentence why it is not shown; None: unknown."""
        if self._find_case is None:
            return None
        digest = result.digests.get("document", "")
        if digest not in self._by_digest and len(self._by_digest) >= MOST_DOCUMENTS:
            self._left_out += 1
            return f"The page has room for {MOST_DOCUMENTS} documents; this one is left out."
        try:
            case = self._find_case(result)
            if case is None:
                return "The case, and with it its document, is not there any more."
            if case.document.sha256 != digest:
                return "The document has changed since the run, so it is not shown."
        except DocumentError as error:
            return message(str(error))
        if digest not in self._by_digest:
            document = case.document
            name = document.path.name if document.path is not None else "text of the case"
            self._by_digest[digest] = _Shown(len(self._by_digest), document, short_name(name), _kind_of(document))
        return CaseEvidence(self._by_digest[digest], self)

    def data(self) -> tuple[list[dict[str, Json]], list[str]]:
        """Return the documents as data, and sentences on what was left out."""
        texts, images = MOST_TEXTS, MOST_IMAGE_BYTES
        without: int = 0
        found: list[dict[str, Json]] = []
        for shown in self._by_digest.values():
            data: dict[str, Json] = {"name": shown.name, "kind": shown.kind, "pages": []}
            try:
                if shown.kind == "image":
                    data["pages"], used = _image_page(shown.document, images)
                    images -= used
                elif shown.kind != "other":
                    rendered = self._rendered(shown, images)
                    images -= sum(len(image.data) for image in rendered.values())
                    data["pages"], used, cut = _pages(shown, self._choice, rendered, texts)
                    texts -= used
                    without += cut
            except DocumentError as error:
                shown.add_note(_without_folder(error, shown.document))
            if shown.kind == "other":
                shown.notes.append(f"a browser cannot show {shown.document.media_type}")
            data["places"] = shown.places()
            data["notes"] = shown.notes
            found.append(data)
            shown.document.release()
        limits = [f"{plural(without, 'document')} without all of its text or pages"] if without else []
        if self._left_out:
            limits.append(f"{plural(self._left_out, 'case')} without a document: {MOST_DOCUMENTS} documents are shown")
        if self.searches >= MOST_SEARCHES:
            limits.append(f"places in documents for the first {MOST_SEARCHES:,} values")
        return found, limits

    def _rendered(self, shown: _Shown, room: int) -> dict[int, PageImage]:
        """Render the pages of a PDF that are chosen as images, by page (from 1), as far as there is room."""
        if shown.kind != "pdf" or self._choice == "none":
            return {}
        from pytest_extract.documents.pdf import pdf_images

        shown.page_count = len(shown.document.pages)
        chosen = shown.chosen_pages(self._choice)
        wanted = [number - 1 for number in chosen[:MOST_PAGES]]
        try:
            images = pdf_images(
                shown.document.bytes, shown.name, wanted, form="WEBP", width=_PAGE_WIDTH, most_bytes=room
            )
        except DocumentError as error:
            shown.add_note(_without_folder(error, shown.document))
            return {}
        if len(images) < len(chosen):
            shown.add_note("the report has no room for more images")
        return dict(zip(chosen, images, strict=False))


def _kind_of(document: Document) -> str:
    if document.media_type == "application/pdf":
        return "pdf"
    if document.media_type in _IMAGES:
        return "image"
    if document.media_type in {"text/html", "application/xhtml+xml"}:
        return "html"
    return "text" if not document.media_type.startswith(("image/", "audio/")) else "other"


def _image_page(document: Document, room: int) -> tuple[list[Json], int]:
    size = len(document.bytes)
    if size > room:
        raise DocumentError(f"the page has no room for an image of {size:,} bytes")
    return [{"n": 1, "i": document.data_url}], size


def _pages(
    shown: _Shown, choice: PageChoice, rendered: Mapping[int, PageImage], room: int
) -> tuple[list[Json], int, bool]:
    """Return the chosen pages as data, as text where they are no image; the characters used; whether text was cut."""
    texts: Sequence[str] = ()
    if not rendered or (shown.has_text and len(rendered) < len(shown.chosen_pages(choice))):
        texts = shown.document.pages
        shown.page_count = len(texts)
    chosen = shown.chosen_pages(choice)
    used, cut = 0, False
    found: list[Json] = []
    for number in chosen:
        page: dict[str, Json] = {"n": number}
        if number in rendered:
            image = rendered[number]
            page["i"] = f"data:image/webp;base64,{base64.b64encode(image.data).decode('ascii')}"
            page["s"] = [image.width, image.height]
        elif texts:
            whole = texts[number - 1]
            text = document_text(whole[: min(MOST_TEXT, max(room - used, 0))])
            cut = cut or len(text) < len(whole)
            page["t"] = text
            used += len(text)
            if shown.kind == "html" and len(text) == len(whole):
                page["h"] = shown.document.outline()
        else:
            continue
        found.append(page)
    if shown.kind == "pdf":
        shown.add_note(_pages_note(shown, choice, images=len(rendered), texts=len(found) - len(rendered)))
    return found, used, cut


def _pages_note(shown: _Shown, choice: PageChoice, *, images: int, texts: int) -> str:
    """Say which pages of a PDF are shown, and how."""
    count, chosen = shown.page_count, len(shown.chosen_pages(choice))
    if chosen == count:
        which = f"all {plural(count, 'page')}" if count > 1 else "1 page"
    else:
        which = f"{chosen:,} of {plural(count, 'page')}: those with a value of the case"
    left = chosen - images - texts
    parts = [which, *([f"{texts:,} as text"] if texts else []), *([f"{left:,} not shown"] if left else [])]
    return ", ".join(parts)
