"""The document of a case: where it is, what kind it is, and its content, read lazily and once.

Content is untrusted: a hostile file ends in a DocumentError, never in a crash of the run.
"""

from __future__ import annotations

import base64
import builtins
import hashlib
import os
import threading
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, TypeVar

from pytest_extract.documents.base import Box, DocumentError
from pytest_extract.files import MOST_BULK_BYTES, read_regular

__all__ = ("MEDIA_TYPES", "Box", "Document", "DocumentError", "media_type_of")

T = TypeVar("T")

MAX_PAGES: Final = 2_000
"""Pages that are read of a PDF; a longer one is a `page_limit` failure."""
MAX_TEXT: Final = 50_000_000
"""Characters that are read of a PDF, all pages together."""

MEDIA_TYPES: Final = MappingProxyType(
    {
        ".txt": "text/plain", ".text": "text/plain", ".log": "text/plain", ".eml": "text/plain",
        ".md": "text/markdown", ".markdown": "text/markdown",
        ".html": "text/html", ".htm": "text/html", ".xhtml": "application/xhtml+xml",
        ".csv": "text/csv", ".tsv": "text/tab-separated-values",
        ".xml": "application/xml", ".yaml": "application/yaml", ".yml": "application/yaml",
        ".json": "application/json", ".jsonl": "application/jsonl",
        ".pdf": "application/pdf",
        ".png": "image/png", ".jpg": "image/jpeg", ".jpeg": "image/jpeg", ".gif": "image/gif", ".webp": "image/webp",
        ".bmp": "image/bmp", ".tif": "image/tiff", ".tiff": "image/tiff", ".heic": "image/heic", ".avif": "image/avif",
        ".svg": "image/svg+xml",
        ".mp3": "audio/mpeg", ".wav": "audio/wav", ".flac": "audio/flac", ".ogg": "audio/ogg", ".opus": "audio/opus",
        ".m4a": "audio/mp4", ".aac": "audio/aac", ".aiff": "audio/aiff",
        ".docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
        ".xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
        ".pptx": "application/vnd.openxmlformats-officedocument.presentationml.presentation",
    }
)  # fmt: skip
"""Media type by suffix; a table of our own, because the system's differs from machine to machine."""
_OTHER: Final = "application/octet-stream"
_TEXTUAL: Final = frozenset(
    ("application/json", "application/jsonl", "application/xml", "application/xhtml+xml", "application/yaml", _OTHER)
)


def media_type_of(name: str) -> str:
    """Return the media type of a file's suffix; `application/octet-stream` for an unknown one."""
    return MEDIA_TYPES.get(os.path.splitext(name)[1].lower(), _OTHER)  # noqa: PTH122 - ten thousand times, faster


class Document:
    """A document by path, or an inline text.

    `path` is None for an inline text; `media_type` follows from the path's suffix unless given. Everything else is read
    when first asked for, once, also when several threads ask at the same time.
    """

    def __init__(
        self, path: str | Path | None = None, *, text: str | None = None, media_type: str | None = None
    ) -> None:
        if (path is None) == (text is None):
            raise TypeError("a document has either a path or a text")
        self.media_type: Final = media_type or ("text/plain" if path is None else media_type_of(str(path)))
        self._path = None if path is None else Path(path)
        self._inline = text
        self._reader: Callable[[Document], str | None] | None = None
        self._read: dict[str, Any] = {}
        self._lock = threading.RLock()

    @property
    def path(self) -> Path | None:
        """The file, None for an inline text."""
        return self._path

    @property
    def file(self) -> Path | None:
        """The file that the project holds: `path`, or where an altered document comes from."""
        return self.path

    def __repr__(self) -> str:
        return f"Document({str(self.path)!r})" if self.path is not None else f"Document(text={self._inline!r:.40})"

    def once(self, name: str, read: Callable[[], T]) -> T:
        """Return what `read` made when it was first asked for under this name, since the last release."""
        with self._lock:
            if name not in self._read:
                self._read[name] = read()
            value: T = self._read[name]
            return value

    @property
    def bytes(self) -> bytes:
        """The file's bytes, or the inline text's in UTF-8."""
        return self.once("bytes", self._read_bytes)

    def _read_bytes(self) -> builtins.bytes:
        if self._inline is not None:
            return self._inline.encode("utf-8", "surrogatepass")
        assert self.path is not None  # noqa: S101 - the constructor's rule
        try:
            return read_regular(self.path, MOST_BULK_BYTES)
        except OSError as error:
            raise DocumentError(f"{self.path}: cannot be read: {error.strerror or error}") from error

    @property
    def sha256(self) -> str:
        """Digest of the content (hex): line ends of a text file do not count, as git may change them at a checkout."""
        return self.once("sha256", self._digest)

    def _digest(self) -> str:
        # what git, too, takes for a text
        is_text_file = self._inline is None and b"\0" not in self.bytes
        content = self.bytes.replace(b"\r\n", b"\n") if is_text_file else self.bytes
        return hashlib.sha256(content).hexdigest()

    @property
    def data_url(self) -> str:
        """The bytes as a `data:` URL, as providers take images, audio and PDF."""
        return f"data:{self.media_type};base64,{base64.b64encode(self.bytes).decode('ascii')}"

    @property
    def text(self) -> str:
        """The document's text.

        Text, Markdown, JSON: as it is, line ends as newlines. HTML: what a reader sees.
        PDF: its pages, a form feed between them.
        Raises DocumentError for images, audio and other kinds, which have none. What a reader of the project gives
        (`read_by`) stands in place of it.
        """
        given = self.given_text
        if given is not None:
            return given
        if self.media_type == "application/pdf":
            return self.once("text", lambda: "\f".join(self.pages))
        return self.once("text", self._read_text)

    @property
    def pages(self) -> tuple[str, ...]:
        """The text of each page of a PDF; every other text is one page."""
        given = self.given_text
        if given is not None and self.media_type == "application/pdf":
            return tuple(given.split("\f"))
        if self.media_type == "application/pdf":
            return self.once("pages", self._read_pages)
        return (self.text,)

    @property
    def pages_read(self) -> int | None:
        """The number of pages of a PDF whose text was read; None of others."""
        pages = self._read.get("pages")
        return None if pages is None else len(pages)

    def read_by(self, reader: Callable[[Document], str | None]) -> None:
        """Let `reader` give the text (a form feed between the pages of a PDF), or None for the document's own.

        It gets a document of the same content without a reader, when the text is first asked for.
        """
        self._reader = reader

    @property
    def given_text(self) -> str | None:
        """What the reader of `read_by` gives; None where there is none, or the document's own text holds."""
        return None if self._reader is None else self.once("given", self._read_given)

    def without_reader(self) -> Document:
        """Return a document of the same content whose text is its own."""
        return Document(self.path, text=self.source_text if self.path is None else None, media_type=self.media_type)

    def _read_given(self) -> str | None:
        assert self._reader is not None  # noqa: S101 - asked only where there is one
        name = str(self.path or "the document")
        try:
            given = self._reader(self.without_reader())
        except DocumentError:
            raise
        except Exception as error:
            raise DocumentError(f"{name}: its text could not be read: {type(error).__name__}: {error}") from error
        if given is not None and not isinstance(given, str):
            raise DocumentError(f"{name}: its text must be a str or None, not {type(given).__name__}")
        return given

    @property
    def encoding(self) -> str:
        """The encoding that the text was read in; `latin-1` if it is neither declared nor UTF-8."""
        if self._inline is not None:
            return "utf-8"
        return self.once("decoded", self._decode)[1]

    def boxes(self, spans: Sequence[tuple[int, int, int]]) -> list[tuple[Box, ...]]:
        """Return for parts of a PDF's text the boxes that hold them on the page, a box for each line; () elsewhere.

        A part is (number of the page from 0, start, end): offsets in the text of that page, as in `pages`. The PDF is
        opened once for all. Raises DocumentError for a file that cannot be read.
        """
        if self.media_type != "application/pdf" or not spans:
            return [()] * len(spans)
        from pytest_extract.documents.pdf import pdf_boxes

        return pdf_boxes(self.bytes, str(self.path or "the document"), spans)

    @property
    def source_text(self) -> str:
        """The text as it stands in the file, line ends as newlines: of HTML with its markup."""
        return self._inline if self._inline is not None else self.once("decoded", self._decode)[0]

    def outline(self) -> list[Any] | None:
        """Return the elements of an HTML document around its text (`documents.text.html_outline`); None of others."""
        if self.media_type not in ("text/html", "application/xhtml+xml"):
            return None
        from pytest_extract.documents.text import html_outline

        return html_outline(self.source_text, self.text)

    def release(self) -> None:
        """Forget bytes and texts, so that ten thousand documents need not fit in memory; asked again, read again."""
        with self._lock:
            for name in ("bytes", "text", "pages", "decoded", "evidence", "given"):
                self._read.pop(name, None)

    def _decode(self) -> tuple[str, str]:
        from pytest_extract.documents.text import decode

        text, encoding = decode(self.bytes)
        return text.replace("\r\n", "\n"), encoding

    def _read_text(self) -> str:
        is_textual = self.media_type.startswith("text/") or self.media_type in _TEXTUAL
        if self._inline is None and (not is_textual or (self.media_type == _OTHER and b"\0" in self.bytes)):
            raise DocumentError(
                f"{self.path}: {self.media_type} has no text; hand `document.data_url` to a model that can see or hear"
                " it, or read `document.bytes` with a library that knows it"
            )
        text = self.source_text
        if self.media_type in ("text/html", "application/xhtml+xml"):
            from pytest_extract.documents.text import html_text

            return html_text(text, str(self.path or "the document"))
        return text

    def _read_pages(self) -> tuple[str, ...]:
        from pytest_extract.documents.pdf import pdf_pages, reader_version, stored_pages

        name = str(self.path or "the document")
        read = partial(pdf_pages, self.bytes, name, max_pages=MAX_PAGES, max_text=MAX_TEXT)
        return stored_pages(f"{self.sha256}-{reader_version()}", read)
