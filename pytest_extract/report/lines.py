"""Text as lines of styled spans, safe to print, and as tables; whoever shows a line maps its styles to colours."""

from __future__ import annotations

import re
import traceback
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final, Literal, NamedTuple, TypeAlias, cast

Style: TypeAlias = Literal["plain", "head", "bad", "good", "warn", "dim", "mark"]
ELLIPSIS: Final = "…"
_HARMFUL: Final = re.compile(
    # control characters, surrogates, direction marks and overrides, line separators, and what XML may not hold
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ufffe\uffff]"
)
_NAMED: Final = {"\n": "\\n", "\r": "\\r", "\t": "\\t", "\\": "\\\\"}


class Span(NamedTuple):
    """A piece of a line in one style; `text` holds no control characters."""

    text: str
    style: Style = "plain"


Line: TypeAlias = tuple[Span, ...]


def line(*parts: str | Span, indent: int = 0) -> Line:
    """Make a line; a bare text is plain."""
    spans = tuple([Span(part) if type(part) is str else cast("Span", part) for part in parts if part])
    return (Span(" " * indent), *spans) if indent else spans


def text_of(spans: Iterable[Span]) -> str:
    """Return a line without its styles."""
    return "".join(span.text for span in spans)


def prose(text: str, style: Style, *, indent: int, width: int) -> list[Line]:
    """Break a sentence at spaces into lines of at most `width` characters; nothing of it is left out."""
    import textwrap

    broken = textwrap.wrap(safe_prose(text), max(width - indent, 20), break_on_hyphens=False) or [""]
    return [line(Span(piece, style), indent=indent) for piece in broken]


def titled(title: str, text: str, width: int) -> list[Line]:
    """Write `title: text` in one line, or the text below its title if the line is too long."""
    whole = line(Span(f"{title}: ", "head"), Span(safe_prose(text), "bad"), indent=2)
    if len(text_of(whole)) <= width:
        return [whole]
    return [line(Span(f"{title}:", "head"), indent=2), *prose(text, "bad", indent=4, width=width)]


def safe(text: str) -> str:
    r"""Escape whatever could act on a terminal or hide in it.

    Control characters, escape sequences, bidirectional overrides, zero-width characters, odd spaces and lone
    surrogates become `\x1b`, `\u202e` and the like; printable text of any script stays.
    """
    if text.isprintable() and "\\" not in text:
        return text
    return "".join(char if char.isprintable() and char != "\\" else _escape(char) for char in text)


def safe_prose(text: str) -> str:
    """Like `safe`, for messages: a backslash stays itself."""
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else _escape(char) for char in text)


def safe_controls(text: str) -> str:
    r"""Escape only what acts on a terminal, turns the direction of writing, or breaks XML: for text in any script.

    Unlike `safe_prose` it leaves line breaks, tabs, spaces of all kinds and joiners alone.
    """
    return _HARMFUL.sub(lambda found: _escape(found[0]), text)


def _escape(char: str) -> str:
    if char in _NAMED:
        return _NAMED[char]
    code = ord(char)
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def shorten(text: str, width: int) -> str:
    """Cut to `width` characters, from the middle, with an ellipsis where something is left out."""
    if len(text) <= width:
        return text
    width = max(width, 5)
    head = (width - 1) * 2 // 3
    return text[:head] + ELLIPSIS + text[len(text) - (width - 1 - head) :]


def number_text(value: float) -> str:
    """Write a number for people: four significant digits, no trailing zeros, thousands apart: `0.9474`, `1,389`."""
    if value == int(value) and abs(value) < 1e15:
        return f"{int(value):,}"
    return f"{value:.4g}"


def score_number(value: float) -> str:
    """Write a score or a mean of scores, with at most four decimal places: `0.9474`."""
    return number_text(round(value, 4))


def percent(value: float) -> str:
    """Write a share as a percentage: `83.3 %`."""
    return f"{number_text(round(value * 100, 1))} %"


def plural(count: int, noun: str, nouns: str | None = None) -> str:
    """Count things: `1 field`, `3 fields`."""
    return f"{count:,} {noun if count == 1 else nouns or f'{noun}s'}"


_TABLE_INDENT: Final = 2
_NARROWEST_NAME: Final = 24
"""Names are not shortened below this width; in a narrower column each has a line of its own."""


def text_table(heads: Sequence[str], rows: Sequence[Sequence[str]], width: int) -> list[Line]:
    """Write a table: names in the first column, figures in the others.

    If the names do not fit beside the figures, each has a line of its own above its figures.
    """
    wide = [max([len(head), *(len(row[index]) for row in rows)]) for index, head in enumerate(heads)][1:]
    names = [safe_prose(name) for name in (heads[0], *(row[0] for row in rows))]
    longest = max(len(name) for name in names)
    room = width - _TABLE_INDENT - sum(each + 1 for each in wide)
    stacked = room < min(longest, _NARROWEST_NAME)
    lines: list[Line] = []
    for index, (name, cells) in enumerate(zip(names, (heads, *rows), strict=True)):
        figures = "".join(f" {cell:>{size}}" for cell, size in zip(cells[1:], wide, strict=True))
        style: Style = "plain" if index else "dim"
        if stacked:
            lines.append(line(Span(shorten(name, width - _TABLE_INDENT), style), indent=_TABLE_INDENT))
            lines.append(line(Span(figures[1:], style), indent=2 * _TABLE_INDENT))
        else:
            column = min(longest, room)
            lines.append(line(Span(f"{shorten(name, column):<{column}}{figures}", style), indent=_TABLE_INDENT))
    return lines


_PACKAGE: Final = Path(__file__).parents[1]
_LONGEST_MESSAGE: Final = 200


def render_error(what: str, error: Exception) -> str:
    """Explain that `what` cannot be shown, with the error and the line of this package that raised it."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if _PACKAGE in Path(frame.filename).parents]
    place = f" in {Path(frames[-1].filename).relative_to(_PACKAGE)}:{frames[-1].lineno}" if frames else ""
    message = shorten(safe_prose(f"{type(error).__name__}: {error}"), _LONGEST_MESSAGE)
    return f"{what} cannot be shown: {message}{place}; this is a defect of pytest-extract, the verdict holds"
