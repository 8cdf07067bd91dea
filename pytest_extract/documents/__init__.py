"""The document of a case: where it is, what kind it is, and its content, read lazily and once.

Content is untrusted: a hostile file ends in a DocumentError, never in a crash of the run.
"""

from __future__ import annotations

import base64
import builtins
import codecs
import hashlib
import os
import re
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, TypeAlias, TypeVar

from pytest_extract.documents.pdf import Box, DocumentError, Span, ask_pdf, pdf_pages, stored_pages
from pytest_extract.files import MOST_BULK_BYTES, read_regular

__all__ = ("MEDIA_TYPES", "Box", "Document", "DocumentError")

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
_PDF: Final = "application/pdf"
HTML: Final = ("text/html", "application/xhtml+xml")
_TEXTUAL: Final = frozenset(
    ("application/json", "application/jsonl", "application/xml", "application/xhtml+xml", "application/yaml", _OTHER)
)


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
        suffix = ".txt" if path is None else os.path.splitext(path)[1].lower()  # noqa: PTH122 - a thousand times, faster
        self.media_type: Final = media_type or MEDIA_TYPES.get(suffix, _OTHER)
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
        return self.once("text", lambda: "\f".join(self.pages))

    @property
    def pages(self) -> tuple[str, ...]:
        """The text of each page of a PDF; every other text is one page."""
        given = self.given_text
        if given is None:
            return self.once("pages", self._read_pages)
        return tuple(given.split("\f")) if self.media_type == _PDF else (given,)

    @property
    def pages_read(self) -> int | None:
        """The number of pages of a PDF whose text was read; None of others."""
        pages = self._read.get("pages")
        return None if pages is None or self.media_type != _PDF else len(pages)

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
        return self._decoded()[1]

    @property
    def source_text(self) -> str:
        """The text as it stands in the file, line ends as newlines: of HTML with its markup."""
        return self._decoded()[0]

    def _decoded(self) -> tuple[str, str]:
        if self._inline is not None:
            return self._inline, "utf-8"
        return self.once("decoded", lambda: decode(self.bytes))

    def boxes(self, spans: Sequence[Span]) -> list[tuple[Box, ...]]:
        """Return for parts of a PDF's text the boxes that hold them on the page, a box for each line; () elsewhere.

        A part is (number of the page from 0, start, end): offsets in the text of that page, as in `pages`. The PDF is
        opened once for all. Raises DocumentError for a file that cannot be read.
        """
        if self.media_type != _PDF or not spans:
            return [()] * len(spans)
        found, _ = ask_pdf("read_boxes", self.bytes, str(self.path or "the document"), spans=spans)
        return [tuple(Box(*box) for box in boxes) for boxes in found]

    def outline(self) -> list[Any] | None:
        """Return the elements of an HTML document around its text (`html_outline`); None of others."""
        if self.media_type not in HTML:
            return None
        return html_outline(self.source_text, self.text)

    def release(self) -> None:
        """Forget bytes and texts, so that ten thousand documents need not fit in memory; asked again, read again."""
        with self._lock:
            for name in ("bytes", "text", "pages", "decoded", "evidence", "given"):
                self._read.pop(name, None)

    def _read_pages(self) -> tuple[str, ...]:
        if self.media_type == _PDF:
            name = str(self.path or "the document")
            read = partial(pdf_pages, self.bytes, name, max_pages=MAX_PAGES, max_text=MAX_TEXT)
            return stored_pages(self.sha256, read)
        is_textual = self.media_type.startswith("text/") or self.media_type in _TEXTUAL
        if self._inline is None and (not is_textual or (self.media_type == _OTHER and b"\0" in self.bytes)):
            raise DocumentError(
                f"{self.path}: {self.media_type} has no text; hand `document.data_url` to a model that can see or hear"
                " it, or read `document.bytes` with a library that knows it"
            )
        text = self.source_text
        return (html_text(text, str(self.path or "the document")) if self.media_type in HTML else text,)


# --- bytes -> text

_BOMS: Final = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_DECLARED = re.compile(
    rb"""(?:<meta[^>]{0,200}charset|<\?xml[^>]{0,200}encoding)\s*=\s*["']?\s*([\w.:-]{1,40})""", re.IGNORECASE
)
_HEAD: Final = 4096
_OF_PAGES: Final = re.compile(r"cp(125\d|8\d\d|9\d\d)|iso(8859-|2022_).+|koi8-.|gb.+|big5.*|euc_.+|shift_jis.*|mac-.+")
"""Codecs of Python in which pages are written; its others are no texts, or show ASCII otherwise."""


def decode(data: bytes) -> tuple[str, str]:
    """Return the text, line ends as newlines, and its encoding: by its byte order mark, UTF-8, as declared, or Latin-1.

    Latin-1 gives every byte a character, so a text of unknown encoding is read with some letters wrong and never lost.
    """
    encoding = next((encoding for mark, encoding in _BOMS if data.startswith(mark)), "utf-8")
    try:
        text = data.decode(encoding, "strict" if encoding == "utf-8" else "replace")
    except UnicodeDecodeError:
        text, encoding = _as_declared(data) or (data.decode("latin-1"), "latin-1")
    return text.replace("\r\n", "\n"), encoding


def _as_declared(data: bytes) -> tuple[str, str] | None:
    declared = _DECLARED.search(data[:_HEAD])
    if declared is None:
        return None
    with suppress(LookupError, ValueError):
        encoding = codecs.lookup(declared[1].decode("ascii")).name
        if _OF_PAGES.fullmatch(encoding):
            return data.decode(encoding), encoding
    return None


_HIDDEN: Final = frozenset(("script", "style", "template"))
_BLOCKS: Final = frozenset(
    (
        "address", "article", "aside", "blockquote", "body", "br", "caption", "dd", "details", "div", "dl", "dt",
        "fieldset", "figcaption", "figure", "footer", "form", "h1", "h2", "h3", "h4", "h5", "h6", "header", "hr",
        "html", "li", "main", "nav", "ol", "option", "p", "pre", "section", "summary", "table", "tbody", "tfoot",
        "thead", "title", "tr", "ul",
    )
)  # fmt: skip
_CELLS: Final = frozenset(("td", "th"))
_END_OF_PAGE: Final = re.compile(rb"</(html|body)\s*>", re.IGNORECASE)
"""What ends a page for the parser, but not for a reader, who sees what stands behind it as well."""
_DEEPEST: Final = 2_000
"""Elements inside each other that are read; the parser leaves out what is a little deeper."""


def html_text(source: str, name: str = "the page") -> str:
    """Return the text that a reader of the page sees, its title first; markup that is no HTML is read as text.

    A line per block, cells of a row apart by a tab, `pre` as it is, no empty lines at the ends or in a row.
    Raises DocumentError for a page of too many elements inside each other.
    """
    lines: list[str] = []
    line = ""
    preformatted = 0
    for event, element in _seen(_parsed(source), name):
        if event in ("text", "tail"):
            text = getattr(element, event)
            if not preformatted:
                text = re.sub(r"[ \t\n\r\f]+", " ", text)
            elif "\n" in text:
                *whole, text = text.split("\n")
                lines += [line + whole[0], *whole[1:]]
                line = ""
            line += text
        elif element.tag in _CELLS and event == "start" and line:
            line += "\t"
        elif element.tag in _BLOCKS:
            if not preformatted:
                line = re.sub(r" *\t *", "\t", re.sub(r" {2,}", " ", line)).strip(" ").rstrip("\t")
            if line := line.rstrip() if preformatted else line:
                lines.append(line)
                line = ""
            if element.tag == "pre":
                preformatted += 1 if event == "start" else -1
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip("\n")


def _parsed(source: str) -> Any:
    """Return the root of a page."""
    from lxml import etree

    data = _END_OF_PAGE.sub(b"\n", source.encode("utf-8", "replace"))
    root = etree.fromstring(data, etree.HTMLParser(huge_tree=True, encoding="utf-8"))
    return etree.Element("html") if root is None else root


def _seen(root: Any, name: str = "the page") -> Iterator[tuple[str, Any]]:
    """Yield what a reader sees of a page, in order: the `start` and the `end` of elements, their `text` and `tail`."""
    from lxml import etree

    walk = etree.iterwalk(root, events=("start", "end", "comment", "pi"))
    depth = 0
    for event, element in walk:
        is_seen = event in ("start", "end") and element.tag not in _HIDDEN
        if event == "start":
            depth += 1
            if depth > _DEEPEST:
                raise DocumentError(f"{name}: more than {_DEEPEST:,} elements of its HTML stand inside each other")
            if not is_seen:
                walk.skip_subtree()
                continue
            yield "start", element
            if element.text:
                yield "text", element
            continue
        if event == "end":
            depth -= 1
        if is_seen:
            yield "end", element
        if element.tail:
            yield "tail", element


_OF_WORDS: Final = frozenset(("b", "code", "em", "i", "s", "small", "strong", "sub", "sup", "u"))
_NEVER_SHOWN: Final = frozenset(("body", "details", "fieldset", "form", "html", "option", "summary"))
SHOWN_ELEMENTS: Final = (_BLOCKS - _NEVER_SHOWN) | _CELLS | _OF_WORDS
"""Elements that `html_outline` keeps: none of them loads, runs or submits anything."""
_MOST_ELEMENTS: Final = 20_000
_MOST_LEVELS: Final = 60
_MOST_SPAN: Final = 100

Outline: TypeAlias = list[Any]
"""An element: its name, columns and rows that it spans, and its content: elements, and [start, end] of texts."""


def html_outline(source: str, text: str) -> Outline | None:
    """Return the elements of a page around its text: `SHOWN_ELEMENTS` without attributes but the spans of cells.

    `text` is what `html_text` returns; texts are given by their offsets in it. None for a page with too many elements.
    """
    places = _letters(text)
    root: Outline = ["div", 1, 1]
    open_: list[tuple[Any, Outline]] = [(None, root)]
    before: list[int] = []
    elements = at = 0
    for event, element in _seen(_parsed(source)):
        inside = open_[-1][1]
        if event == "start" and element.tag in SHOWN_ELEMENTS and len(open_) <= _MOST_LEVELS:
            spans = [_span(element.get(name)) if element.tag in _CELLS else 1 for name in ("colspan", "rowspan")]
            inside.append(["div" if element.tag == "title" else element.tag, *spans])
            open_.append((element, inside[-1]))
            elements += 1
        elif event == "end" and open_[-1][0] is element:
            open_.pop()
        elif event in ("text", "tail") and (count := len(_letters(getattr(element, event)))):
            if at + count > len(places):
                return None
            part = [places[at], places[at + count - 1] + 1]
            if before and text[before[1] : part[0]].strip(" ") == "":  # a space between two texts of a line
                before[1] = part[0]
            inside.append(part)
            before = part
            at += count
    return root if at == len(places) and elements <= _MOST_ELEMENTS else None


def _letters(text: str) -> list[int]:
    """Return the offsets of the characters that are no space: only these are the same in a page and in its text."""
    return [at for at, char in enumerate(text) if not char.isspace()]


def _span(text: str | None) -> int:
    """Return the columns or rows that a cell spans; of a number with very many digits, the first tell enough."""
    return min(int(text[:9]) or 1, _MOST_SPAN) if text is not None and text.isascii() and text.isdigit() else 1


def html_with(source: str, text: str, edits: Sequence[tuple[int, int, str]]) -> str | None:
    """Return a page with other texts in some places, which are given by their offsets in `html_text(source)`.

    None for a page whose characters cannot be found in it in the order of the text.
    """
    from lxml import etree

    root = _parsed(source)
    pieces = [(element, event) for event, element in _seen(root) if event in ("text", "tail")]
    texts = [getattr(element, part) for element, part in pieces]
    if "".join("".join(texts).split()) != "".join(text.split()):
        return None
    shown = [(number, at) for number, piece in enumerate(texts) for at in _letters(piece)]
    places = dict(zip(_letters(text), shown, strict=True))
    new: dict[tuple[int, int], str] = {}
    for start, end, other in edits:
        first, *others = [places[index] for index in range(start, end) if index in places]
        new |= {first: other.strip(), **dict.fromkeys(others, "")}
    for number, (element, part) in enumerate(pieces):
        setattr(element, part, "".join(new.get((number, at), char) for at, char in enumerate(texts[number])))
    written: str = etree.tostring(root.getroottree(), encoding="unicode", method="html")
    return written
