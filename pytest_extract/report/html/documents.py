"""The documents of the page: texts, images and pages of PDFs, and where values stand in them; bounded in size."""

from __future__ import annotations

import base64
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from pytest_extract.cases.model import Case
from pytest_extract.core.case_result import CaseResult
from pytest_extract.core.values import MISSING, Json, Missing, iter_leaves
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
"""Values that stand nowhere in a document and are shown with the nearest text, whose search is slow."""
_NEAREST_WIDTH: Final = 60
_MOST_INSIDE: Final = 8
"""Values inside a row or an object that are searched."""
_PAGE_WIDTH: Final = 900
_IMAGES: Final = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp", "image/bmp", "image/avif"})
"""Images that a browser shows and that hold no script."""


@dataclass(slots=True)
class PageDocument:
    """A document on the page: what finds values in it, and the places and pages (from 1) at which they stand."""

    index: int
    document: Document
    all_documents: PageDocuments
    name: str = ""
    kind: str = ""
    pages: set[int] = field(default_factory=set)
    notes: dict[str, None] = field(default_factory=dict)
    has_text: bool = True
    locations: dict[TextLocation, int] = field(default_factory=dict)
    known: dict[tuple[object, ...], tuple[list[int], int]] = field(default_factory=dict)
    nearest: dict[tuple[object, ...], tuple[int, str] | None] = field(default_factory=dict)

    def __post_init__(self) -> None:
        path, media_type = self.document.path, self.document.media_type
        self.name = short_name(path.name if path is not None else "text of the case")
        if media_type == "application/pdf":
            self.kind = "pdf"
        elif media_type in _IMAGES:
            self.kind = "image"
        elif media_type in {"text/html", "application/xhtml+xml"}:
            self.kind = "html"
        else:
            self.kind = "other" if media_type.startswith(("image/", "audio/")) else "text"

    @property
    def is_complete(self) -> bool:
        """Whether a value without a place stands nowhere in the document."""
        return self.has_text and self.all_documents.searches < MOST_SEARCHES

    def add_problem(self, error: DocumentError) -> None:
        """Note an error, without the path of the file: its name stands there."""
        text = str(error)
        path = self.document.path
        self.notes[message(text if path is None else text.removeprefix(f"{path}: "))] = None

    def places_of(self, value: Json | Missing) -> tuple[list[int], int]:
        """Return the numbers of a value's places among those of the document, and the count of all its places."""
        if value is MISSING:
            return [], 0
        if isinstance(value, dict | list):
            leaves = islice(iter_leaves(value), _MOST_INSIDE)
            inside = [found for _, leaf in leaves for found in self.places_of(leaf)[0][:1]]
            return inside, len(inside)
        key = (type(value), value)
        if key not in self.known:
            self.known[key] = self._search(value)
        return self.known[key]

    def _search(self, value: Json) -> tuple[list[int], int]:
        from pytest_extract.documents.evidence import find_evidence

        if self.all_documents.searches >= MOST_SEARCHES:
            return [], 0
        self.all_documents.searches += 1
        try:
            evidence = find_evidence(self.document, value, most=MOST_PLACES, nearest=False)
        except DocumentError as error:
            self.has_text = False
            if self.kind == "image":
                self.notes["an image: values are not marked in it"] = None
            else:
                self.add_problem(error)
            return [], 0
        if evidence is None or not evidence.found:
            return [], 0
        return [self._place_of(location) for location in evidence.locations], evidence.count

    def nearest_to(self, value: Json) -> tuple[int, str] | None:
        """Return the place and the text that is most similar to a value that stands nowhere; None if none is."""
        from pytest_extract.documents.evidence import find_evidence

        key = (type(value), value)
        if key not in self.nearest:
            if len(self.nearest) >= MOST_NEAREST:
                self.notes[f"nearest texts of the first {MOST_NEAREST} values only"] = None
                return None
            evidence = find_evidence(self.document, value, most=1)
            near = None if evidence is None else evidence.nearest
            self.nearest[key] = None if near is None else (self._place_of(near), show(near.quote, _NEAREST_WIDTH))
        return self.nearest[key]

    def _place_of(self, location: TextLocation) -> int:
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


class PageDocuments:
    """The documents of the cases on a page, each once: added case by case, worst first, and written at the end."""

    def __init__(self, find_case: FindCase | None, pages: PageChoice) -> None:
        self._find_case = find_case
        self._choice = pages
        self._by_digest: dict[str, PageDocument] = {}
        self.searches = 0
        self._left_out = 0
        self._text_room, self._image_room = MOST_TEXTS, MOST_IMAGE_BYTES
        self._cut: set[int] = set()

    def of_case(self, result: CaseResult) -> PageDocument | str | None:
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
            self._by_digest[digest] = PageDocument(len(self._by_digest), case.document, self)
        return self._by_digest[digest]

    def data(self) -> tuple[list[dict[str, Json]], list[str]]:
        """Return the documents as data, and sentences on what was left out."""
        found: list[dict[str, Json]] = []
        for shown in self._by_digest.values():
            pages: list[Json] = []
            try:
                pages = self._pages(shown)
            except DocumentError as error:
                shown.add_problem(error)
            places = shown.places()
            found.append(
                {"name": shown.name, "kind": shown.kind, "pages": pages, "places": places, "notes": [*shown.notes]}
            )
            shown.document.release()
        limits = [f"{plural(len(self._cut), 'document')} without all of its text or pages"] if self._cut else []
        if self._left_out:
            limits.append(f"{plural(self._left_out, 'case')} without a document: {MOST_DOCUMENTS} documents are shown")
        if self.searches >= MOST_SEARCHES:
            limits.append(f"places in documents for the first {MOST_SEARCHES:,} values")
        return found, limits

    def _pages(self, shown: PageDocument) -> list[Json]:
        """Return the pages to show as data, as text where they are no image. Raises DocumentError."""
        document = shown.document
        if shown.kind == "other":
            raise DocumentError(f"a browser cannot show {document.media_type}")
        if shown.kind == "image":
            size = len(document.bytes)
            if size > self._image_room:
                raise DocumentError(f"the page has no room for an image of {size:,} bytes")
            self._image_room -= size
            return [{"n": 1, "i": document.data_url}]
        texts = document.pages
        every = range(1, len(texts) + 1)
        chosen = [number for number in every if number in (shown.pages or {1})]
        if self._choice == "all" or not shown.has_text:  # where the values of a scan stand, nobody knows
            chosen = [*every]
        images = self._images(shown, chosen)
        found: list[Json] = []
        for number in chosen:
            page: dict[str, Json] = {"n": number}
            if number in images:
                image = images[number]
                page["i"] = f"data:image/webp;base64,{base64.b64encode(image.data).decode('ascii')}"
                page["s"] = [image.width, image.height]
            elif shown.has_text:
                whole = texts[number - 1]
                page["t"] = document_text(whole[: min(MOST_TEXT, self._text_room)])
                self._text_room -= len(page["t"])
                if len(page["t"]) < len(whole):
                    self._cut.add(shown.index)
                elif shown.kind == "html":
                    page["h"] = document.outline()
            else:
                continue
            found.append(page)
        if shown.kind == "pdf":
            which = f"{len(chosen):,} of {plural(len(every), 'page')}: those with a value of the case"
            if len(chosen) == len(every):
                which = f"all {len(every):,} pages" if len(every) > 1 else "1 page"
            counts = {"as text": len(found) - len(images), "not shown": len(chosen) - len(found)}
            shown.notes[", ".join([which, *(f"{count:,} {how}" for how, count in counts.items() if count)])] = None
        return found

    def _images(self, shown: PageDocument, chosen: Sequence[int]) -> dict[int, PageImage]:
        """Render pages of a PDF (from 1) as images, as far as there is room."""
        if shown.kind != "pdf" or self._choice == "none":
            return {}
        from pytest_extract.documents.pdf import pdf_images

        wanted = [number - 1 for number in chosen[:MOST_PAGES]]
        content, room = shown.document.bytes, self._image_room
        try:
            images = pdf_images(content, shown.name, wanted, form="WEBP", width=_PAGE_WIDTH, most_bytes=room)
        except DocumentError as error:
            shown.add_problem(error)
            return {}
        self._image_room -= sum(len(image.data) for image in images)
        if len(images) < len(chosen):
            shown.notes["the report has no room for more images"] = None
        return dict(zip(chosen, images, strict=False))
