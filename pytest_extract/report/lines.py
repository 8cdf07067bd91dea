"""Text as lines of styled spans, safe to print, values as short texts, and the one model of a table.

Whoever shows a line or a table, on the terminal, in Markdown or on the page, maps its styles in its own way.
"""

from __future__ import annotations

import json
import re
import traceback
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple, TypeAlias, cast

from pytest_extract.core.values import MISSING, Json, Missing
from pytest_extract.core.words import plural

Style: TypeAlias = Literal["plain", "head", "bad", "good", "warn", "dim", "mark"]
ELLIPSIS: Final = "…"
NO_VARIANT: Final = "(no model)"
"""Stands for the label of a variant without one."""
_HARMFUL: Final = re.compile(
    # control characters, surrogates, direction marks and overrides, line separators, and what XML may not hold
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ufffe\uffff]"
)
_COMMAND: Final = re.compile(
    r"#(?=#[a-z_-]*\[)"  # Azure Pipelines `##vso[`, TeamCity `##teamcity[`, GitHub's old `##[`: anywhere in a line
    r"|(?<!\S):(?=:[a-z][\w-]*(?:::| ))"  # GitHub, Gitea `::notice title=x::`: a wrapped line may begin with a word
    r"|(?<=section_start):(?=\d)|(?<=section_end):(?=\d)|(?<=travis_fold):|(?<=travis_time):"  # GitLab, Travis
    r"|^(?:-(?=--\s)|\+(?=\+\+\s)|~(?=~~\s)|\^(?=\^\^\s+\+\+\+))",  # Buildkite
    re.IGNORECASE | re.MULTILINE,
)
"""First characters of what a CI service that reads the log takes for a command."""
_COMMAND_HINTS: Final = ("##", "::", "section_", "travis_", "---", "+++", "~~~", "^^^")
"""One of them is in every command; looking for them is many times faster."""
_NAMED: Final = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}


class Span(NamedTuple):
    """A piece of a line in one style; `text` holds no control characters."""

    text: str
    style: Style = "plain"


Line: TypeAlias = tuple[Span, ...]


def line(*parts: str | Span, indent: int = 0) -> Line:
    """Make a line; a bare text is plain."""
    spans = tuple([Span(part) if type(part) is str else cast("Span", part) for part in parts if part])
    return (Span(" " * indent), *spans) if indent else spans


def told(text: str, style: Style = "plain", *, indent: int = 0) -> Line:
    """Make a line of a text of any origin: what is harmful in it is escaped."""
    return line(Span(safe_prose(text), style), indent=indent)


def text_of(spans: Iterable[Span]) -> str:
    """Return a line without its styles."""
    return "".join(span.text for span in spans)


_NARROWEST: Final = 20
"""Text is not wrapped to fewer columns than this."""


def prose(text: str, style: Style, *, indent: int, width: int) -> list[Line]:
    """Break a sentence at spaces into lines of at most `width` columns; nothing of it is left out."""
    return wrap_spans((Span(safe_prose(text), style),), indent=indent, width=width)


def wrap_spans(spans: Sequence[Span], *, indent: int, width: int) -> list[Line]:
    """Break styled text at spaces into lines of at most `width` columns; a longer word is broken anywhere."""
    room = max(width - indent, _NARROWEST)
    text = text_of(spans).rstrip()
    lines: list[Line] = []
    start = 0
    while start < len(text) or not lines:
        end = start + len(left_part(text[start : start + room], room))
        words = text[start:end].rpartition(" ")[0].rstrip()
        if words and text[end : end + 1].strip():  # the line would end within a word
            end = start + len(words)
        written = start + len(text[start:end].rstrip())
        lines.append(line(*_cut_spans(spans, start, written), indent=indent))
        start = end
        while text.startswith(" ", start):
            start += 1
    return lines


def _cut_spans(spans: Iterable[Span], start: int, end: int) -> Iterator[Span]:
    """Yield the part of styled text between two characters."""
    at = 0
    for text, style in spans:
        piece = text[max(start - at, 0) : max(end - at, 0)]
        at += len(text)
        if piece:
            yield Span(piece, style)


def text_width(text: str) -> int:
    """Return the columns that a text takes on a terminal, as pytest counts them: wide characters two, marks none."""
    if text.isascii():
        return len(text)
    return sum(map(_char_width, unicodedata.normalize("NFC", text)))


@lru_cache(1_000)
def _char_width(char: str) -> int:
    code = ord(char)
    if 0x200B <= code <= 0x200F or 0x2028 <= code <= 0x202E or 0x2060 <= code <= 0x2063:
        return 0
    if unicodedata.category(char) in {"Me", "Mn"}:
        return 0
    return 2 if unicodedata.east_asian_width(char) in {"F", "W"} else 1


def left_part(text: str, width: int) -> str:
    """Return the longest beginning of a text that takes at most `width` columns, and has as many characters."""
    text = text[: max(width, 0)]
    if text.isascii():
        return text
    used = 0
    for index, char in enumerate(text):
        used += _char_width(char)
        if used > width:
            return text[:index]
    return text


def right_part(text: str, width: int) -> str:
    """Return the longest end of a text that takes at most `width` columns, and has as many characters."""
    end = text[len(text) - min(len(text), max(width, 0)) :]
    return left_part(end[::-1], width)[::-1]


def padded(text: str, width: int) -> str:
    """Fill a text with spaces up to `width` columns."""
    return text + " " * (width - text_width(text))


def titled(title: str, text: str, width: int) -> list[Line]:
    """Write `title: text` in one line, or the text below its title if the line is too long."""
    whole = line(Span(f"{title}: ", "head"), Span(safe_prose(text), "bad"), indent=2)
    if text_width(text_of(whole)) <= width:
        return [whole]
    return [line(Span(f"{title}:", "head"), indent=2), *prose(text, "bad", indent=4, width=width)]


def safe(text: str) -> str:
    r"""Escape whatever could act on a terminal or a CI service that reads the log, or hide in it.

    Control characters, escape sequences, bidirectional overrides, zero-width characters, odd spaces and lone
    surrogates become `\x1b`, `\u202e` and the like, commands of CI services `\x23#vso[...]`; printable text of any
    script stays.
    """
    return safe_prose(text.replace("\\", "\\\\"))


def safe_prose(text: str) -> str:
    """Like `safe`, for messages: a backslash stays itself."""
    if not text.isprintable():
        text = "".join(char if char.isprintable() else _escape(char) for char in text)
    return break_commands(text)


def safe_controls(text: str) -> str:
    r"""Escape only what acts on a terminal or a CI service, turns the direction of writing, or breaks XML.

    Unlike `safe_prose` it leaves line breaks, tabs, spaces of all kinds and joiners alone.
    """
    return break_commands(_HARMFUL.sub(lambda found: _escape(found[0]), text))


def break_commands(text: str) -> str:
    """Escape the first character of each command of a CI service, so that the service shows it and does not obey."""
    if not any(hint in text for hint in _COMMAND_HINTS):
        return text
    return _COMMAND.sub(lambda found: f"\\x{ord(found[0]):02x}", text)


def printed(spans: Line) -> Line:
    """Return a line as it is printed: one that its spans make a command of, or that is cut before one, is broken."""
    text = text_of(spans)
    broken = break_commands(text)
    return spans if broken == text else (Span(broken),)


def _escape(char: str) -> str:
    if char in _NAMED:
        return _NAMED[char]
    code = ord(char)
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def shorten(text: str, width: int) -> str:
    """Cut to `width` columns, from the middle, with an ellipsis where something is left out."""
    if len(text) <= width and text_width(text) <= width:
        return text
    width = max(width, 5)
    head = (width - 1) * 2 // 3
    return left_part(text, head) + ELLIPSIS + right_part(text, width - 1 - head)


_PACKAGE: Final = Path(__file__).parents[1]
_LONGEST_MESSAGE: Final = 200


def render_error(what: str, error: Exception) -> str:
    """Explain that `what` cannot be shown, with the error and the line of this package that raised it."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if _PACKAGE in Path(frame.filename).parents]
    place = f" in {Path(frames[-1].filename).relative_to(_PACKAGE)}:{frames[-1].lineno}" if frames else ""
    message = shorten(safe_prose(f"{type(error).__name__}: {error}"), _LONGEST_MESSAGE)
    return f"{what} cannot be shown: {message}{place}; this is a defect of pytest-extract, the verdict holds"


# --- a JSON value as a short text that is safe to print

WHOLE: Final = 1_000_000
"""Width at which values are shown whole; only megabytes are shortened."""
_LEAST_TEXT: Final = 8
"""Columns of a text that is shortened."""


def show(value: Json | Missing, width: int, *, at: int = 0) -> str:
    """Write a value as JSON-like text of about `width` columns, with marks for what is left out.

    Of a long text, the part around the character `at` is shown, by default its beginning and its end; of a list or
    an object that does not fit the beginning, and its size.
    """
    if value is MISSING:
        return "(missing)"
    if isinstance(value, str):
        return _show_text(value, width, at)
    if isinstance(value, list | dict) and width < WHOLE:
        text = ""
        for piece in _pieces(value, width):
            text += piece
            if text_width(text) > width:
                size = f"{ELLIPSIS} ({plural(len(value), 'item' if isinstance(value, list) else 'key')})"
                return left_part(text, width - len(size)) + size
        return text
    if isinstance(value, int) and value.bit_length() > 10_000:
        return f"(an integer of {value.bit_length():,} bits)"
    return shorten(safe(json.dumps(value, ensure_ascii=False, default=repr)), width)


def _show_text(value: str, width: int, at: int) -> str:
    room = max(width - 2, _LEAST_TEXT)
    if len(value) <= room and text_width(shown := safe(value)) <= room:
        return f'"{shown}"'
    count = f" ({len(value):,} characters)"
    if len(value) <= room or room - len(count) < _LEAST_TEXT:  # the text says more than its length
        count = ""
    room -= len(count)
    # The text is cut before it is escaped, so that the time does not grow with its length.
    if at <= room * 2 // 3:
        ends = value if len(value) <= 2 * room else value[:room] + value[-room:]
        return f'"{shorten(safe(ends), room)}"{count}'
    before = right_part(value[max(at - room, 0) : at], room // 2 - 1)
    after = left_part(value[at : at + room], room - 2 - text_width(before))
    part = left_part(safe(before + after), room - 2)
    return f'"{ELLIPSIS}{part}{ELLIPSIS if at + len(after) < len(value) else ""}"{count}'


def _pieces(value: Json, width: int) -> Iterator[str]:
    """Yield the parts of a value's text one after the other, so that nobody writes more of it than is shown."""
    if not isinstance(value, list | dict):
        yield show(value, width)
        return
    opening, closing = "[]" if isinstance(value, list) else "{}"
    items = value.items() if isinstance(value, dict) else (("", item) for item in value)
    yield opening
    for at, (name, item) in enumerate(items):
        yield f"{', ' if at else ''}{f'{safe(str(name))}: ' if isinstance(value, dict) else ''}"
        yield from _pieces(item, width)
    yield closing


def first_difference(gold: str, extracted: str) -> int:
    """Return the index of the first difference, or the length of the shorter text if the other begins with it."""
    from rapidfuzz.distance import Prefix

    return Prefix.similarity(gold, extracted)


# --- tables

_INDENT: Final = 2
_NARROWEST_NAME: Final = 24
"""Names are not shortened below this width; in a narrower column each has a line of its own."""


class Column(NamedTuple):
    """A column of a table: its head, how a value of it is written, and its name in JSON, by default the head."""

    head: str
    write: Callable[[Any], str] = str
    name: str = ""


@dataclass(frozen=True, slots=True)
class Table:
    """Columns and rows of values: names in the first column, figures in the others; a title above, notes below.

    A column whose values are texts may be its head alone. A value that is None is written as a dash. `styles`: one for
    each row, if not all are plain. `numbered`: each name has the number of its row before it.
    """

    columns: Sequence[Column | str]
    rows: Sequence[Sequence[Any]]
    title: str = ""
    notes: Sequence[str] = ()
    styles: Sequence[Style] = ()
    numbered: bool = False

    @property
    def heads(self) -> list[str]:
        """The heads of the columns."""
        first, *others = [each if isinstance(each, str) else each.head for each in self.columns]
        return [f"   {first}" if self.numbered else first, *others]

    @property
    def cells(self) -> list[list[str]]:
        """The rows as they are written."""
        writers = [str if isinstance(each, str) else each.write for each in self.columns]
        rows = [
            ["-" if value is None else write(value) for write, value in zip(writers, row, strict=True)]
            for row in self.rows
        ]
        if not self.numbered:
            return rows
        return [[f"{number:>2} {name}", *figures] for number, (name, *figures) in enumerate(rows, start=1)]

    def record(self) -> dict[str, Json]:
        """Return the table as JSON, each row with its values by the names of the columns."""
        names = [each if isinstance(each, str) else each.name or each.head for each in self.columns]
        rows: list[Json] = [dict(zip(names, row, strict=True)) for row in self.rows]
        return {"title": self.title, "rows": rows, "notes": list(self.notes)}

    def first(self, most: int | None, noun: str, hint: str = "") -> Table:
        """Return the first `most` rows, all if None, and a note that counts the others."""
        left = 0 if most is None else len(self.rows) - most
        if left <= 0:
            return self
        more = f"and {plural(left, f'more {noun}')}{hint}"
        return replace(self, rows=self.rows[:most], styles=self.styles[:most], notes=(more, *self.notes))

    def lines(self, width: int) -> list[Line]:
        """Write the table for a terminal.

        If the names do not fit beside the figures, each has a line of its own above its figures.
        """
        rows = [self.heads, *self.cells]
        wide = [max(map(len, column)) for column in zip(*rows, strict=True)][1:]
        names = [safe_prose(row[0]) for row in rows]
        longest = max(map(text_width, names))
        room = width - _INDENT - sum(each + 1 for each in wide)
        stacked = room < min(longest, _NARROWEST_NAME)
        styles: list[Style] = ["dim", *(self.styles or ["plain"] * len(self.rows))]
        lines = prose(self.title, "head", indent=0, width=width) if self.title else []
        for name, (_, *cells), style in zip(names, rows, styles, strict=True):
            figures = "".join(f" {cell:>{size}}" for cell, size in zip(cells, wide, strict=True))
            if stacked:
                lines.append(line(Span(shorten(name, width - _INDENT), style), indent=_INDENT))
                lines.append(line(Span(figures[1:], style), indent=2 * _INDENT))
            else:
                column = min(longest, room)
                lines.append(line(Span(f"{padded(shorten(name, column), column)}{figures}", style), indent=_INDENT))
        return lines + [each for note in self.notes for each in prose(note, "dim", indent=_INDENT, width=width)]
