"""Finds the JSON in a model's answer: the whole text, a fenced block, or a value inside prose."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Final, NoReturn

from pytest_extract.core.parse.reader import MAX_DEPTH
from pytest_extract.core.values import MISSING, Json, Missing

_OPENING = re.compile(r"[{\[]")
_FENCE = re.compile(r"```[ \t]*[\w+-]*[^\S\n]*\n?\s*")
_LOOKS_JSON = re.compile(r"\{\s*(?:[\"'}]|[A-Za-z_]\w*\s*:|//|/\*)|\[\s*[\[{\"'\]]")
_CITATION = re.compile(r"\[\s*\d+\s*\]")
_BRACKETS = re.compile(r"\"(?:[^\"\\]++|\\.)*+\"?|[\[\]{}]", re.DOTALL)
_PUNCTUATION = re.compile(r"[\s{}\[\],:\"]*")
_REASONING_END: Final = "</think>"


class _Refused(ValueError):
    """A value that `json` accepts and JSON does not; the reader then says what and where."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Region:
    """A stretch `text[start:stop]` that holds a JSON value, or (value MISSING) set out to hold one."""

    start: int
    stop: int
    fenced: bool
    value: Json | Missing

    @property
    def rank(self) -> tuple[bool, bool, int, int]:
        """Order of preference: the last fenced block, else the longest value, objects before bare arrays of scalars."""
        value = self.value
        nested = isinstance(value, list) and any(isinstance(item, dict | list) for item in value)
        structured = isinstance(value, dict) or nested
        return (self.fenced, structured, self.start if self.fenced else self.stop - self.start, self.start)


def _object(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    made = dict(pairs)
    if len(made) != len(pairs):
        raise _Refused
    return made


def _finite(token: str) -> float:
    number = float(token)
    if number - number != 0.0:
        raise _Refused
    return number


def _constant(_: str) -> NoReturn:
    raise _Refused


_DECODER: Final = json.JSONDecoder(object_pairs_hook=_object, parse_float=_finite, parse_constant=_constant)


def decode(text: str, start: int) -> tuple[Json, int] | None:
    """Strict JSON value that begins at `start`, and the offset behind it; None when there is none."""
    try:
        value, stop = _DECODER.raw_decode(text, start)
    except (ValueError, RecursionError):
        return None
    brackets = text.count("[", start, stop) + text.count("{", start, stop)
    if brackets > MAX_DEPTH and too_deep(value):
        return None
    return value, stop


def too_deep(value: Json) -> bool:
    """Whether a value is nested more than MAX_DEPTH levels deep; looks at one level at a time."""
    level = [value] if isinstance(value, dict | list) else []
    for _ in range(MAX_DEPTH):
        level = [
            child
            for node in level
            for child in (node.values() if isinstance(node, dict) else node)
            if isinstance(child, dict | list)
        ]
        if not level:
            return False
    return True


def answer_start(text: str) -> int:
    """Offset behind a leading byte order mark and behind a reasoning model's thoughts (`</think>`)."""
    start = _skip_blank(text, 0)
    if text[start : start + 1] in ("{", "[", '"', "`"):
        return start
    thoughts = text.rfind(_REASONING_END)
    return _skip_blank(text, thoughts + len(_REASONING_END)) if thoughts >= 0 else start


def _skip_blank(text: str, start: int) -> int:
    while start < len(text) and (text[start].isspace() or text[start] == "\ufeff"):
        start += 1
    return start


def fenced_scalar(text: str, start: int) -> tuple[Json, int] | None:
    """Return the bare value in a fenced block that is all of `text[start:]`, and its offset; None where none is."""
    fence = _FENCE.match(text, start)
    found = None if fence is None else decode(text, fence.end())
    if fence is None or found is None or isinstance(found[0], dict | list):
        return None
    return (found[0], fence.end()) if text[found[1] :].strip() in ("", "```") else None


def regions(text: str, start: int) -> list[Region]:
    """Outermost stretches of `text[start:]` that hold JSON or set out to, in order."""
    fences = {match.end() for match in _FENCE.finditer(text, start)}
    found: list[Region] = []
    position = start
    while (opening := _OPENING.search(text, position)) is not None:
        place = opening.start()
        region = _region(text, place, fenced=place in fences, first=place == start)
        if region is not None:
            found.append(region)
        position = region.stop if region is not None else place + 1
    return found


def _region(text: str, place: int, *, fenced: bool, first: bool) -> Region | None:
    decoded = decode(text, place)
    expected = fenced or first
    if decoded is not None:
        value, stop = decoded
        if not expected and _CITATION.fullmatch(text, place, stop):
            return None
        return Region(start=place, stop=stop, fenced=fenced, value=value)
    if not expected and not _LOOKS_JSON.match(text, place):
        return None
    return Region(start=place, stop=_closing(text, place, fenced=fenced), fenced=fenced, value=MISSING)


def _closing(text: str, place: int, *, fenced: bool) -> int:
    """Offset behind the bracket that closes the one at `place`; else the fence's end, else the text's."""
    end = text.find("```", place) if fenced else -1
    end = end if end >= 0 else len(text)
    depth = 0
    for token in _BRACKETS.finditer(text, place, end):
        if token[0] in "{[":
            depth += 1
        elif token[0] in "}]":
            depth -= 1
            if depth == 0:
                return token.end()
    return end


def only_punctuation(text: str, start: int, region: Region) -> bool:
    """Whether JSON punctuation, and nothing else, stands beside a region: a bracket too many, and no prose."""
    before, after = text[start : region.start].strip(), text[region.stop :].strip()
    if not before and not after:
        return False
    return not region.fenced and all(_PUNCTUATION.fullmatch(part) is not None for part in (before, after))
