"""Text of a PDF, page by page, through pypdfium2 (extra `pdf`); hostile files are bounded and reported, never fatal."""

from __future__ import annotations

import ctypes
import re
import threading
import zlib
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

from pytest_extract.core.results import FailureKind
from pytest_extract.documents.box import Box
from pytest_extract.documents.errors import DocumentError

if TYPE_CHECKING:
    from pypdfium2 import PdfDocument

MAX_STREAM: Final = 32 * 1024 * 1024
"""Bytes that one stream of a PDF may unpack to, images apart: PDFium takes some 15 times as much memory for a page."""
_STREAM: Final = re.compile(rb"(<<[^\0]{0,2000}?>>)\s{0,2}stream\r?\n")
_LINE_END_HYPHEN: Final = "\x02"  # what PDFium makes of a hyphen at the end of a line, in place of the line break
_PDFIUM: Final = threading.Lock()
"""PDFium is not safe to call from several threads; extractors run in threads."""


def pdf_pages(data: bytes, name: str, *, max_pages: int, max_text: int) -> tuple[str, ...]:
    """Return the text of each page.

    Raises DocumentError: pypdfium2 is not installed, the file is broken or locked, or it is beyond a bound: `max_pages`
    pages, `max_text` characters, MAX_STREAM bytes in a stream (kind `page_limit`).
    """
    with open_pdf(data, name) as document:
        return _pages(document, name, max_pages, max_text)


@contextmanager
def open_pdf(data: bytes, name: str) -> Iterator[PdfDocument]:
    """Open a PDF for this thread alone: no other thread uses PDFium until it is closed. Raises as `pdf_pages`."""
    try:
        import pypdfium2
    except ImportError:
        message = f"{name}: the text of a PDF needs pypdfium2; install it: pip install 'pytest-extract[pdf]'"
        raise DocumentError(message) from None
    _check_streams(data, name)
    with _PDFIUM:
        try:
            document = pypdfium2.PdfDocument(data)
        except pypdfium2.PdfiumError as error:
            if "password" in str(error).lower():
                raise DocumentError(f"{name}: the PDF is locked by a password") from error
            raise DocumentError(f"{name}: is not a readable PDF: {error}") from error
        try:
            yield document
        except pypdfium2.PdfiumError as error:
            raise DocumentError(f"{name}: is not a readable PDF: {error}") from error
        finally:
            document.close()


def _check_streams(data: bytes, name: str) -> None:
    """Refuse a file of which a stream unpacks to far more than it should hold."""
    for stream in _STREAM.finditer(data):
        if b"FlateDecode" not in stream[1] or b"/Image" in stream[1]:
            continue
        unpacking = zlib.decompressobj()
        try:
            unpacked = unpacking.decompress(data[stream.end() : data.find(b"endstream", stream.end())], MAX_STREAM)
        except zlib.error:
            continue  # PDFium reads what it can of a damaged stream
        if len(unpacked) == MAX_STREAM:
            size = f"{MAX_STREAM // 1024 // 1024} MB"
            message = f"{name}: a stream of the PDF unpacks to more than the {size} that are read"
            raise DocumentError(message, kind=FailureKind.PAGE_LIMIT)


def _pages(document: PdfDocument, name: str, max_pages: int, max_text: int) -> tuple[str, ...]:
    count = len(document)
    if count > max_pages:
        message = f"{name}: the PDF has {count} pages, more than the {max_pages} that are read"
        raise DocumentError(message, kind=FailureKind.PAGE_LIMIT)
    pages: list[str] = []
    length = 0
    for page in document:
        pages.append(_page_text(page.get_textpage()))
        page.close()
        length += len(pages[-1])
        if length > max_text:
            message = f"{name}: the text of page {len(pages)} passes {max_text} characters"
            raise DocumentError(message, kind=FailureKind.PAGE_LIMIT)
    return tuple(pages)


def _page_text(text: Any) -> str:
    read: str = text.get_text_bounded()
    return read.replace("\r\n", "\n").replace(_LINE_END_HYPHEN, "-")


def pdf_boxes(data: bytes, name: str, spans: Sequence[tuple[int, int, int]]) -> list[tuple[Box, ...]]:
    """Return the boxes of each part of the text, given as page (from 0), start and end in the text of `pdf_pages`.

    Raises DocumentError as `pdf_pages`. A part that the page does not have has no boxes.
    """
    by_page: dict[int, list[int]] = defaultdict(list)
    for index, (page, _, _) in enumerate(spans):
        by_page[page].append(index)
    found: list[tuple[Box, ...]] = [()] * len(spans)
    with open_pdf(data, name) as document:
        for number, indices in by_page.items():
            if not 0 <= number < len(document):
                continue
            page = document[number]
            text = page.get_textpage()
            characters = _character_numbers(_page_text(text), text)
            for index in indices:
                inside = [at for at in characters[slice(*spans[index][1:])] if at is not None]
                if inside:
                    found[index] = _boxes(page, text, inside[0], inside[-1] + 1)
            page.close()
    return found


def _character_numbers(ours: str, text: Any) -> list[int | None]:
    """Return PDFium's number of each character of a page's text; None for the white space.

    Both texts hold the same characters in the same order, but for white space. PDFium counts units of UTF-16.
    """
    units: list[int] = []
    count = 0
    for character in text.get_text_range():
        if not character.isspace():
            units.append(count)
        count += 1 + (ord(character) > 0xFFFF)
    at = iter(units)
    return [None if character.isspace() else next(at, None) for character in ours]


def _boxes(page: Any, text: Any, start: int, end: int) -> tuple[Box, ...]:
    """Return the boxes of a range of characters: PDFium's rectangles, those of one line joined."""
    boxes: list[Box] = []
    for index in range(text.count_rects(start, end - start)):
        box = _shown(page, text.get_rect(index))
        if boxes and _is_same_line(boxes[-1], box):
            last = boxes.pop()
            box = Box(
                min(last.left, box.left),
                min(last.top, box.top),
                max(last.right, box.right),
                max(last.bottom, box.bottom),
            )
        boxes.append(box)
    return tuple(boxes)


def _is_same_line(one: Box, other: Box) -> bool:
    shared = min(one.bottom, other.bottom) - max(one.top, other.top)
    return shared > min(one.bottom - one.top, other.bottom - other.top) / 2


_PRECISION: Final = 1_000_000
"""Width and height, in pixels, of the page for which PDFium computes a place: it gives whole numbers."""


def _shown(page: Any, rectangle: tuple[float, float, float, float]) -> Box:
    """Convert (left, bottom, right, top) of the page's own coordinates: its rotation and cropping are applied."""
    from pypdfium2 import raw

    left, bottom, right, top = rectangle
    corners = []
    for x, y in ((left, top), (right, bottom)):
        across, down = ctypes.c_int(), ctypes.c_int()
        raw.FPDF_PageToDevice(page.raw, 0, 0, _PRECISION, _PRECISION, 0, x, y, across, down)
        corners.append((min(max(across.value / _PRECISION, 0), 1), min(max(down.value / _PRECISION, 0), 1)))
    (one, other), (third, fourth) = corners
    return Box(min(one, third), min(other, fourth), max(one, third), max(other, fourth))
