"""Positions in a text, its mistakes, and JSON numbers, for the readers of YAML and of JSON."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Final, NamedTuple, TypeAlias

from pytest_extract.core.values import Json, Step
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
