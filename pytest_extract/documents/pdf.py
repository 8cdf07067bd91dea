"""Text of a PDF, page by page, through pypdfium2 (extra `pdf`); hostile files are bounded and reported, never fatal."""

from __future__ import annotations

import re
import threading
import zlib
from typing import TYPE_CHECKING, Final

from pytest_extract.core.results import FailureKind
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
            return _pages(document, name, max_pages, max_text)
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
        text = page.get_textpage().get_text_bounded()
        pages.append(text.replace("\r\n", "\n").replace(_LINE_END_HYPHEN, "-"))
        page.close()
        length += len(pages[-1])
        if length > max_text:
            message = f"{name}: the text of page {len(pages)} passes {max_text} characters"
            raise DocumentError(message, kind=FailureKind.PAGE_LIMIT)
    return tuple(pages)
