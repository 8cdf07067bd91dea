"""Bytes -> text, and HTML -> what a reader of the page sees."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, TypeAlias

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


def decode(data: bytes) -> tuple[str, str]:
    """Return the text and the encoding it was read in: by its byte order mark, as UTF-8, as declared, else Latin-1.

    Latin-1 gives every byte a character, so a text of unknown encoding is read with some letters wrong and never lost.
    """
    for mark, encoding in _BOMS:
        if data.startswith(mark):
            return data.decode(encoding, "replace"), encoding
    try:
        return data.decode("utf-8"), "utf-8"
    except UnicodeDecodeError:
        pass
    declared = _DECLARED.search(data[:_HEAD])
    if declared is not None:
        name = declared[1].decode("ascii")
        try:
            # An encoding of pages shows ASCII, in which it is declared, as it is.
            if _is_of_pages(name) and declared[0].decode(name) == declared[0].decode("latin-1"):
                return data.decode(name), codecs.lookup(name).name
        except ValueError:  # of every kind: codecs raise more than UnicodeDecodeError
            pass
    return data.decode("latin-1"), "latin-1"


_NOT_OF_PAGES: Final = frozenset(
    ("charmap", "idna", "mbcs", "oem", "punycode", "raw-unicode-escape", "undefined", "unicode-escape", "utf-7")
)
"""Codecs of Python from and to text that no page is written in, or that read it differently on each machine."""


def _is_of_pages(name: str) -> bool:
    try:
        codec = codecs.lookup(name)
    except (LookupError, ValueError):
        return False
    is_text = codec._is_text_encoding  # noqa: SLF001 - keeps `hex`, `zip` and their like out
    return is_text and codec.name.replace("_", "-") not in _NOT_OF_PAGES


_DROPPED: Final = frozenset(("script", "style", "template", "head"))
_BLOCKS: Final = frozenset(
    (
        "address", "article", "aside", "blockquote", "body", "caption", "dd", "details", "div", "dl", "dt", "fieldset",
        "figcaption", "figure", "footer", "form", "h1", "h2", "h3", "h4", "h5", "h6", "header", "hr", "html", "li",
        "main", "nav", "ol", "option", "p", "pre", "section", "summary", "table", "tbody", "tfoot", "thead", "title",
        "tr", "ul",
    )
)  # fmt: skip
_CELLS: Final = frozenset(("td", "th"))
_SPACE = re.compile(r"[ \t\n\r\f]+")
_CHUNK: Final = 16_384
_DEEPEST: Final = 2_000
"""Open elements from which on the parser begins anew: it looks through all of them at each closing tag."""


class _Reader:
    """Collects the visible text: a line per block, cells of a row apart by a tab, `pre` as it is.

    The methods are those that lxml calls on a parser's target; `depth`: how many elements are open.
    """

    def __init__(self) -> None:
        self.depth = 0
        self._lines: list[str] = []
        self._line: list[str] = []
        self._dropped: list[str] = []
        self._title = False
        self._pre = 0

    def text(self) -> str:
        """Return the lines so far, without empty ones at the ends or in a row."""
        self._break()
        text = "\n".join(self._lines)
        return re.sub(r"\n{3,}", "\n\n", text).strip("\n")

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        """Take an opening tag."""
        del attributes
        self.depth += 1
        if tag == "title":
            self._title = True
        elif self._dropped[-1:] == ["head"] and tag in _BLOCKS and tag != "html":
            self._dropped.clear()  # a head that was never closed
        elif tag in _DROPPED:
            self._dropped.append(tag)
        if tag == "br":
            self._break()
        elif tag in _BLOCKS:
            self._break()
            self._pre += tag == "pre"
        elif tag in _CELLS and self._line:
            self._line.append("\t")

    def end(self, tag: str) -> None:
        """Take a closing tag."""
        self.depth -= 1
        if tag == "title":
            self._break()
            self._title = False
        elif tag in _DROPPED and tag in self._dropped:
            while self._dropped.pop() != tag:
                pass
        elif tag in _BLOCKS:
            self._break()
            if tag == "pre":
                self._pre = max(0, self._pre - 1)

    def data(self, data: str) -> None:
        """Take a piece of text."""
        if self._dropped and not self._title:
            return
        if self._pre:
            first, *more = data.split("\n")
            self._line.append(first)
            for line in more:
                self._lines.append("".join(self._line))
                self._line = [line]
        else:
            self._line.append(_SPACE.sub(" ", data))

    def close(self) -> None:
        """Take the end of the text."""

    def _break(self) -> None:
        raw = "".join(self._line)
        line = (
            raw.rstrip() if self._pre else re.sub(r" *\t *", "\t", re.sub(r" {2,}", " ", raw)).strip(" ").rstrip("\t")
        )
        if line:
            self._lines.append(line)
        self._line = []


def html_text(source: str) -> str:
    """Return the text that a reader of the page sees, its title first; markup that is no HTML is read as text."""
    reader = _Reader()
    _read_html(source, reader)
    return reader.text()


def _read_html(source: str, reader: _Reader) -> None:
    from lxml import etree

    parser: etree.HTMLParser | None = None
    for chunk in _chunks(source.encode("utf-8", "replace")):
        if parser is None:
            reader.depth = 0
            parser = etree.HTMLParser(target=reader, huge_tree=True, encoding="utf-8")
        parser.feed(chunk)
        if reader.depth > _DEEPEST:
            parser.close()
            parser = None
    if parser is not None:
        parser.close()


SHOWN_ELEMENTS: Final = frozenset(
    (
        "address", "article", "aside", "b", "blockquote", "br", "caption", "code", "dd", "div", "dl", "dt", "em",
        "figcaption", "figure", "footer", "h1", "h2", "h3", "h4", "h5", "h6", "header", "hr", "i", "li", "main", "nav",
        "ol", "p", "pre", "s", "section", "small", "strong", "sub", "sup", "table", "tbody", "td", "tfoot", "th",
        "thead", "title", "tr", "u", "ul",
    )
)  # fmt: skip
"""Elements that `html_outline` keeps: none of them loads, runs or submits anything."""
_EMPTY: Final = frozenset(("br", "hr"))
_MOST_ELEMENTS: Final = 20_000
_MOST_LEVELS: Final = 60
_MOST_SPAN: Final = 100

Outline: TypeAlias = list[Any]
"""An element: its name, columns and rows that it spans, and its content: elements, and [start, end] of texts."""


class _OutlineReader(_Reader):
    """Collects the elements of a page besides its text; texts are counted in characters that are no space."""

    def __init__(self) -> None:
        super().__init__()
        self.root: Outline = ["div", 1, 1]
        self.texts: list[list[int]] = []
        self.elements = 0
        self._at = 0
        self._open: list[tuple[str, Outline]] = []

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        super().start(tag, attributes)
        inside = self._open[-1][1] if self._open else self.root
        if tag in SHOWN_ELEMENTS and len(self._open) < _MOST_LEVELS and (self._title or not self._dropped):
            spans = [_span(attributes.get(name)) if tag in _CELLS else 1 for name in ("colspan", "rowspan")]
            element: Outline = ["div" if tag == "title" else tag, *spans]
            inside.append(element)
            self.elements += 1
            if tag not in _EMPTY:
                self._open.append((tag, element))

    def end(self, tag: str) -> None:
        super().end(tag)
        for index in range(len(self._open) - 1, -1, -1):
            if self._open[index][0] == tag:
                del self._open[index:]
                break

    def data(self, data: str) -> None:
        super().data(data)
        if self._dropped and not self._title:
            return
        count = sum(not char.isspace() for char in data)
        if count:
            self.texts.append([self._at, self._at + count])
            self._at += count
            (self._open[-1][1] if self._open else self.root).append(self.texts[-1])


def _span(text: str | None) -> int:
    """Return the columns or rows that a cell spans; of a number with very many digits, the first tell enough."""
    return min(int(text[:9]) or 1, _MOST_SPAN) if text is not None and text.isascii() and text.isdigit() else 1


def html_outline(source: str, text: str) -> Outline | None:
    """Return the elements of a page around its text: `SHOWN_ELEMENTS` without attributes but the spans of cells.

    `text` is what `html_text` returns; texts are given by their offsets in it. None for a page with too many elements.
    """
    reader = _OutlineReader()
    _read_html(source, reader)
    places = [index for index, char in enumerate(text) if not char.isspace()]
    if reader.elements > _MOST_ELEMENTS or (reader.texts and reader.texts[-1][1] != len(places)):
        return None
    for index, part in enumerate(reader.texts):
        part[:] = places[part[0]], places[part[1] - 1] + 1
        if index:
            before = reader.texts[index - 1]
            between = text[before[1] : part[0]]
            if between and not between.strip(" "):  # a space between two texts of a line
                before[1] = part[0]
    return reader.root


def html_with(source: str, text: str, edits: Sequence[tuple[int, int, str]]) -> str | None:
    """Return a page with other texts in some places, which are given by their offsets in `html_text(source)`.

    None for a page whose characters cannot be found in it in the order of the text.
    """
    from lxml import etree

    tree = etree.fromstring(source.encode("utf-8", "replace"), etree.HTMLParser(huge_tree=True, encoding="utf-8"))
    pieces = [] if tree is None else [*_visible_texts(tree)]
    shown = [
        (number, at, char)
        for number, (element, part) in enumerate(pieces)
        for at, char in enumerate(getattr(element, part))
        if not char.isspace()
    ]
    places = {index: number for number, index in enumerate(i for i, char in enumerate(text) if not char.isspace())}
    if [char for _, _, char in shown] != [text[index] for index in places]:
        return None
    new: dict[tuple[int, int], str] = {}
    for start, end, other in edits:
        first, *others = [shown[places[index]][:2] for index in range(start, end) if index in places]
        new |= {first: other.strip(), **dict.fromkeys(others, "")}
    for number, (element, part) in enumerate(pieces):
        whole = getattr(element, part)
        setattr(element, part, "".join(new.get((number, at), char) for at, char in enumerate(whole)))
    written: str = etree.tostring(tree.getroottree(), encoding="unicode", method="html")
    return written


def _visible_texts(element: Any) -> Iterator[tuple[Any, str]]:
    """Yield what holds each visible text of a page, in their order: an element, and `text` or `tail`."""
    waiting = [(element, "text")]  # no recursion: elements are nested as deep as a page likes
    while waiting:
        each, part = waiting.pop()
        is_shown = isinstance(each.tag, str) and each.tag not in _DROPPED
        if getattr(each, part) and (is_shown or part == "tail"):
            yield each, part
        if part == "text":
            waiting.append((each, "tail"))
            if is_shown:
                waiting += [(child, "text") for child in each.iterchildren(reversed=True)]
            elif each.tag == "head":
                yield from ((child, "text") for child in each.iterchildren("title") if child.text)


def _chunks(data: bytes) -> Iterator[bytes]:
    """Cut a page into pieces, each but the first beginning with a tag where one is near."""
    start = 0
    while start < len(data):
        stop = start + _CHUNK
        tag = data.rfind(b"<", start + 1, stop) if stop < len(data) else -1
        stop = tag if tag > 0 else stop
        yield data[start:stop]
        start = stop
