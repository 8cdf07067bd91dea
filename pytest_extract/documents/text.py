"""Bytes -> text, and HTML -> what a reader of the page sees."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator, Sequence
from typing import Any, Final, TypeAlias

from pytest_extract.documents.base import DocumentError

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
        try:
            encoding = codecs.lookup(declared[1].decode("ascii")).name
            if _OF_PAGES.fullmatch(encoding):
                return data.decode(encoding), encoding
        except (LookupError, ValueError):
            pass
    return data.decode("latin-1"), "latin-1"


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


SHOWN_ELEMENTS: Final = frozenset(
    (
        "address", "article", "aside", "b", "blockquote", "br", "caption", "code", "dd", "div", "dl", "dt", "em",
        "figcaption", "figure", "footer", "h1", "h2", "h3", "h4", "h5", "h6", "header", "hr", "i", "li", "main", "nav",
        "ol", "p", "pre", "s", "section", "small", "strong", "sub", "sup", "table", "tbody", "td", "tfoot", "th",
        "thead", "title", "tr", "u", "ul",
    )
)  # fmt: skip
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
    places = [index for index, char in enumerate(text) if not char.isspace()]
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
        elif event in ("text", "tail") and (count := _length(getattr(element, event))):
            if at + count > len(places):
                return None
            part = [places[at], places[at + count - 1] + 1]
            if before and text[before[1] : part[0]].strip(" ") == "":  # a space between two texts of a line
                before[1] = part[0]
            inside.append(part)
            before = part
            at += count
    return root if at == len(places) and elements <= _MOST_ELEMENTS else None


def _length(text: str) -> int:
    """Return the number of characters that are no space: only these are the same in a page and in its text."""
    return sum(not char.isspace() for char in text)


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
    written: str = etree.tostring(root.getroottree(), encoding="unicode", method="html")
    return written
