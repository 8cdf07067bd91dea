"""JSON text -> plain values, and on demand the line and column of any of them; positions and numbers for YAML, too.

Stricter than `json.loads`: a duplicate key, NaN, Infinity and a number out of range are mistakes with their place.
Places are computed by a second pass over the tokens, only when there is a mistake to report.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Final, NamedTuple, TypeAlias

from pytest_extract.core.schema.source import escape
from pytest_extract.core.values import Json, Step
from pytest_extract.errors import nearest
from pytest_extract.lazy import lazy_pattern

MAX_DEPTH: Final = 500
"""Deepest nesting of a case file, schema or gold; more is a mistake or an attack, and would end Python's recursion."""

Steps: TypeAlias = tuple[Step, ...]

_NUMBER = lazy_pattern(r"-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?")


class SourcePosition(NamedTuple):
    """Line and column in a text, from 1."""

    line: int
    column: int


class TextTarget(NamedTuple):
    """A part of a text to look up: the value at `steps`, or the key that leads to it."""

    steps: Steps
    on_key: bool = False


class TextProblem(NamedTuple):
    """A mistake in a text whose rest is readable; `steps` is the place of the invalid part in the value."""

    steps: Steps
    message: str
    place: SourcePosition


class TextError(Exception):
    """A text that cannot be read at all: what is wrong, and where (None: the text as a whole)."""

    def __init__(self, message: str, place: SourcePosition | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.place = place


@dataclass(frozen=True, slots=True)
class ParsedFile:
    """A text's value, and its mistakes; an invalid part is None in `value`.

    `rows`: first line of each item of a list that is a value of the root mapping, by its key (`cases:` needs it).
    """

    value: Json
    problems: tuple[TextProblem, ...] = ()
    rows: dict[str, list[int]] = field(default_factory=dict)


def parse_json_number(text: str) -> Json:
    """Return the number that JSON reads in `text`, or None when it is none; ValueError when it is out of range."""
    if text.isdecimal() and text.isascii() and (text[0] != "0" or text == "0"):
        return int(text)  # most numbers of a case file
    match = _NUMBER.fullmatch(text)
    if match is None:
        return None
    if match.group(1) is None and match.group(2) is None:
        return int(text)
    value = float(text)
    if math.isinf(value):
        raise ValueError(text)
    return value


_TOKEN = lazy_pattern(r'"(?:[^"\\]|\\.)*"|[{}\[\]:,]|[^\s{}\[\]:,"]+', re.DOTALL)
_BRACKET = lazy_pattern(r"[\[\]{}]")
_INDEX = lazy_pattern(r"0|[1-9][0-9]{0,8}")
_HUGE = lazy_pattern(r"[eE]\+?[0-9]{3}|[0-9]{309}")


class _Suspect(Exception):
    """The text is JSON but for something that the second pass will name."""


def read_json(text: str, first_line: int = 1) -> ParsedFile:
    """Read one JSON document that begins at line `first_line` of its file; TextError where there is no reading on."""
    _bound_depth(text, first_line)
    try:
        value = json.loads(text, object_pairs_hook=_unique, parse_constant=_refuse)
    except json.JSONDecodeError as error:
        raise _unreadable(text, error, first_line) from None
    except (_Suspect, ValueError):  # ValueError: an integer with more digits than Python converts
        return _read_suspect(text, first_line)
    return _read_suspect(text, first_line) if _HUGE.search(text) else ParsedFile(value)


def _unreadable(text: str, error: json.JSONDecodeError, first_line: int) -> TextError:
    """Return what stops the reading; a trailing comma has its own position with every version of Python."""
    before = text[: error.pos].rstrip()
    if text[error.pos : error.pos + 1] in ("}", "]") and before.endswith(","):
        error = json.JSONDecodeError("a comma before the end", text, len(before) - 1)
    elif error.msg.startswith("Illegal trailing comma"):
        error = json.JSONDecodeError("a comma before the end", text, error.pos)
    comment = "; JSON has no comments" if error.doc.startswith(("//", "/*"), error.pos) else ""
    return TextError(f"not JSON: {error.msg}{comment}", SourcePosition(error.lineno + first_line - 1, error.colno))


def _read_suspect(text: str, first_line: int) -> ParsedFile:
    try:
        value = json.loads(text, parse_int=_in_range, parse_float=_in_range, parse_constant=lambda _: None)
    except json.JSONDecodeError as error:
        raise _unreadable(text, error, first_line) from None
    return ParsedFile(value, tuple(_problems(text, first_line)))


def _bound_depth(text: str, first_line: int) -> None:
    """Refuse what would end Python's recursion; brackets inside strings are told apart only when it looks so."""
    if text.count("[") + text.count("{") <= MAX_DEPTH:
        return
    deepest = max(accumulate(1 if bracket in "[{" else -1 for bracket in _BRACKET.findall(text)), default=0)
    if deepest <= MAX_DEPTH:
        return
    depth = 0
    for match in _TOKEN.finditer(text):
        part = match.group()
        depth += 1 if part in "[{" else -1 if part in "]}" else 0
        if depth > MAX_DEPTH:
            place = Lines(text, first_line).place(match.start())
            raise TextError(f"nested deeper than {MAX_DEPTH} levels", place)


def find_in_json(text: str, targets: Collection[TextTarget], first_line: int = 1) -> dict[TextTarget, SourcePosition]:
    """Return the places of those targets that are there; of a duplicate key the last."""
    wanted = set(targets)
    lines = Lines(text, first_line)
    return {token.target: lines.place(token.offset) for token in _walk(text) if token.target in wanted}


def _unique(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    value = dict(pairs)
    if len(value) != len(pairs):
        raise _Suspect
    return value


def _refuse(_: str) -> Json:
    raise _Suspect


def _in_range(text: str) -> Json:
    try:
        return parse_json_number(text)
    except ValueError:
        return None


def _problems(text: str, first_line: int) -> Iterator[TextProblem]:
    seen: set[TextTarget] = set()
    lines = Lines(text, first_line)
    for target, offset, part in _walk(text):
        if target.on_key and target in seen:
            yield TextProblem(target.steps[:-1], f"duplicate key {target.steps[-1]!r}", lines.place(offset))
        elif part in ("NaN", "Infinity", "-Infinity"):
            yield TextProblem(target.steps, f"{part} is no JSON number", lines.place(offset))
        elif part[0] in "-0123456789" and not target.on_key:
            try:
                parse_json_number(part)
            except ValueError:
                yield TextProblem(target.steps, "the number is out of range", lines.place(offset))
        seen.add(target)


class _Token(NamedTuple):
    target: TextTarget
    offset: int
    text: str


def _walk(text: str) -> Iterator[_Token]:
    """Yield each key and each value's first token with its path; `text` is known to be JSON."""
    steps: list[Step] = []
    expect_key = False
    for match in _TOKEN.finditer(text):
        part = match.group()
        if part == ":":
            expect_key = False
        elif part == ",":
            last = steps[-1]
            expect_key = isinstance(last, str)
            if isinstance(last, int):
                steps[-1] = last + 1
        elif part in "}]":
            steps.pop()
        elif expect_key:
            steps[-1] = json.loads(part)
            yield _Token(TextTarget(tuple(steps), on_key=True), match.start(), part)
        else:
            yield _Token(TextTarget(tuple(steps)), match.start(), part)
            if part in "{[":
                steps.append("" if part == "{" else 0)
                expect_key = part == "{"


def value_spans(text: str) -> Iterator[tuple[Steps, int, int, int]]:
    """Yield (path, entry, start, end) of every value, containers after their parts; `text` is known to be JSON.

    `entry`: where the key begins that leads to the value; elsewhere, the value itself.
    """
    open_at: list[tuple[Steps, int, int]] = []
    ends = (match.end() for match in _TOKEN.finditer(text) if match.group() in "}]")
    closing = next(ends, None)
    key: int | None = None
    for token in _walk(text):
        while open_at and closing is not None and closing <= token.offset:
            yield (*open_at.pop(), closing)
            closing = next(ends, None)
        if token.target.on_key:
            key = token.offset
            continue
        entry, key = token.offset if key is None else key, None
        if token.text in "{[":
            open_at.append((token.target.steps, entry, token.offset))
        else:
            yield token.target.steps, entry, token.offset, token.offset + len(token.text)
    while open_at and closing is not None:
        yield (*open_at.pop(), closing)
        closing = next(ends, None)


class Lines:
    """Offsets to lines and columns; offsets are asked for in rising order, so each is found from the one before."""

    def __init__(self, text: str, first_line: int = 1) -> None:
        self._text = text
        self._line = first_line
        self._start = 0

    def place(self, offset: int) -> SourcePosition:
        """Return the line and column of an offset."""
        newline = self._text.find("\n", self._start, offset)
        while newline >= 0:
            self._line += 1
            self._start = newline + 1
            newline = self._text.find("\n", self._start, offset)
        return SourcePosition(self._line, offset - self._start + 1)


def pointer_steps(value: Json, pointer: str) -> Steps | None:
    """Return the path that a JSON pointer (RFC 6901) names in `value`, or None if there is nothing."""
    steps: list[Step] = []
    if pointer and not pointer.startswith("/"):
        return None
    for part in pointer.split("/")[1:]:
        name = part.replace("~1", "/").replace("~0", "~")
        if isinstance(value, list) and _INDEX.fullmatch(name) and int(name) < len(value):
            steps.append(int(name))
            value = value[int(name)]
        elif isinstance(value, dict) and name in value:
            steps.append(name)
            value = value[name]
        else:
            return None
    return tuple(steps)


def pointer_advice(value: Json, pointer: str) -> str:
    """Say what is near the first part of a pointer that leads nowhere: `; did you mean '/properties'?`."""
    if not pointer.startswith("/"):
        return "; a pointer starts with `/`"
    before = ""
    for part in pointer.split("/")[1:]:
        steps = pointer_steps(value, f"/{part}")
        if steps is None:
            names = [f"{before}/{escape(name)}" for name in value] if isinstance(value, dict) else []
            return nearest(f"{before}/{part}", names)
        value, before = value[steps[0]], f"{before}/{part}"
    return ""
