"""Finds the JSON in a model's answer: the whole text, a fenced block, or a value inside prose.

The work grows with the length of the text, whatever is in it: `json` reads every value, each stretch is read a fixed
number of times, and a search in prose ends after MOST_PLACES places.
"""

from __future__ import annotations

import json
from dataclasses import field
from typing import Final

from pytest_extract.collector import no_collection
from pytest_extract.core.parse.brackets import MAX_DEPTH, Opened, closing, opened_at
from pytest_extract.core.values import CONTAINERS, MISSING, Json, Missing
from pytest_extract.lazy import dataclass, lazy_pattern

MOST_PLACES: Final = 20_000
"""Brackets in prose that are tried as the beginning of a value; an answer has a handful."""

_FENCE: Final = r"```[ \t]*+[\w+-]*+\s*+"
_OBJECT: Final = r"\{(?=\s*+(?:[\"'}]|[A-Za-z_]\w*+\s*+:|//|/\*))"
_ARRAY: Final = r"\[(?=\s*+[\[{\"'\]])"
_NUMBERS: Final = r"\[(?=\s*+[-0-9tfnNI])(?!\s*+[0-9]++\s*+\])"
_LOOKS_JSON: Final = lazy_pattern(f"{_OBJECT}|{_ARRAY}")
_STRICT: Final = lazy_pattern(r"\[|\{\s*+[\"}]")
_PLACE: Final = lazy_pattern(rf"{_FENCE}(?=[{{\[])|{_OBJECT}|{_ARRAY}|{_NUMBERS}")
"""Where a value may begin: behind a fence, or at a bracket that JSON, or what is meant as JSON, can follow."""
_OPENING_FENCE: Final = lazy_pattern(_FENCE)
_PUNCTUATION: Final = lazy_pattern(r"[\s{}\[\],:\"]*+")
_BLANK: Final = lazy_pattern(r"[\s\ufeff]*+")
_REASONING_END: Final = "</think>"
_WINDOW: Final = 2_000
_LONGEST_TOKEN: Final = 16
"""More characters than a literal or an escape of JSON has: a mistake so close to a window's end may be its end."""
_WORTH_KNOWING: Final = 200
"""Characters read in vain from which on it is worth knowing which brackets inside need not be tried again."""
_COLLECTED: Final = 1_000_000
"""Characters from which on Python's garbage collector is held back while `json` builds the value."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Region:
    """A stretch `text[start:stop]` that holds a JSON value, or (value MISSING) set out to hold one.

    `opened`: how far a broken one was read, where that is known and was far. `formed`: it is JSON in form, and not
    nested too deeply, so that only a number or a repeated key can be wrong.
    """

    start: int
    stop: int
    fenced: bool
    value: Json | Missing
    opened: Opened | None = None
    formed: bool = False

    @property
    def rank(self) -> tuple[bool, bool, int, int]:
        """Order of preference: the last fenced block, else the longest value, objects before bare arrays of scalars."""
        value = self.value
        nested = isinstance(value, list) and any(isinstance(item, dict | list) for item in value)
        structured = isinstance(value, dict) or nested
        return (self.fenced, structured, self.start if self.fenced else self.stop - self.start, self.start)

    @property
    def weight(self) -> tuple[bool, int, int]:
        """Order of preference between a value and a broken one: what stands in a fence, else the longer one."""
        return self.fenced, self.stop - self.start, self.start


@dataclass(slots=True)
class Regions:
    """What a text holds: the best value, the weightiest stretch that is broken JSON, and how many there are.

    `complete`: whether the search came to the end of the text.
    """

    good: Region | None = None
    broken: Region | None = None
    count: int = 0
    complete: bool = True

    def add(self, region: Region) -> None:
        """Keep a region if it is better than those before."""
        self.count += 1
        if region.value is not MISSING:
            self.good = region if self.good is None or region.rank > self.good.rank else self.good
        elif self.broken is None or region.weight > self.broken.weight:
            self.broken = region


@dataclass(slots=True)
class StrictDecoder:
    """`json`, made strict; it says where reading breaks off instead of raising.

    `refused`: whether the value read last is JSON in form and yet refused: a repeated key, NaN, a number out of range.
    """

    refused: bool = False
    _decoder: json.JSONDecoder = field(init=False)

    def __post_init__(self) -> None:
        self._decoder = json.JSONDecoder(
            object_pairs_hook=self._object, parse_float=self._finite, parse_constant=self._constant
        )

    def _object(self, pairs: list[tuple[str, Json]]) -> dict[str, Json]:
        made = dict(pairs)
        if len(made) != len(pairs):
            self.refused = True
        return made

    def _finite(self, token: str) -> float:
        number = float(token)
        if number - number != 0.0:
            self.refused = True
        return number

    def _constant(self, _: str) -> None:
        self.refused = True

    def read(self, text: str, start: int) -> tuple[Json, int] | json.JSONDecodeError | None:
        """Return the value at `start` and the offset behind it; else the mistake, None where its place is not known.

        Where `refused` is set afterwards, the value must not be used.
        """
        self.refused = False
        try:
            if len(text) - start < _COLLECTED:
                return self._decoder.raw_decode(text, start)
            with no_collection():
                return self._decoder.raw_decode(text, start)
        except json.JSONDecodeError as error:
            return error
        except (ValueError, RecursionError):  # an integer with more digits than Python converts; nested too deeply
            return None

    def read_ahead(self, text: str, start: int) -> tuple[Json, int] | int | None:
        """Return what `read` returns, of a mistake its offset, at a cost that grows with what is read.

        `json` counts the lines of all the text before a mistake; a window that begins at the value keeps that short.
        """
        size = _WINDOW
        while True:
            found = self.read(text[start : start + size], 0)
            whole = start + size >= len(text)
            if isinstance(found, tuple):
                return found[0], found[1] + start
            if found is None:
                return None
            if whole or not _cut(found, size):
                return found.pos + start
            size *= 8


def _cut(error: json.JSONDecodeError, size: int) -> bool:
    """Whether the end of a window, and not the text, may be what breaks off the reading."""
    return error.pos >= size - _LONGEST_TOKEN or error.msg.startswith("Unterminated string")


def decode_json(text: str, start: int) -> tuple[Json, int] | None:
    """Strict JSON value that begins at `start`, and the offset behind it; None when there is none."""
    return read_whole(text, start)[0]


def read_whole(text: str, start: int) -> tuple[tuple[Json, int] | None, int | None]:
    """Return what `decode_json` returns, and the offset at which `json` broke off, where it did."""
    try:
        if len(text) - start < _COLLECTED:
            found = _whole.raw_decode(text, start)
        else:
            with no_collection():
                found = _whole.raw_decode(text, start)
    except json.JSONDecodeError as error:
        return None, error.pos
    except (ValueError, RecursionError):  # refused; an integer with more digits than Python converts; nested too deeply
        return None, None
    return (None, None) if _is_nested_too_deeply(text, start, found) else (found, None)


def _unique_keys(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    made = dict(pairs)
    if len(made) != len(pairs):
        raise ValueError("a repeated key")
    return made


def _finite(token: str) -> float:
    number = float(token)
    if number - number != 0.0:
        raise ValueError("out of range")
    return number


def _no_constant(name: str) -> None:
    raise ValueError(name)


_whole: Final = json.JSONDecoder(object_pairs_hook=_unique_keys, parse_float=_finite, parse_constant=_no_constant)
"""Reads like `StrictDecoder`, and holds no state, so that it is made once; it stops at what is refused."""


def _is_nested_too_deeply(text: str, start: int, found: tuple[Json, int]) -> bool:
    """Whether what was read from a text is too deep; a text with too few brackets for that spares the look."""
    value, stop = found
    if stop - start <= 2 * MAX_DEPTH:  # each level takes two brackets
        return False
    return text.count("[", start, stop) + text.count("{", start, stop) > MAX_DEPTH and too_deep(value)


def too_deep(value: Json) -> bool:
    """Whether a value is nested more than MAX_DEPTH levels deep; looks at one level at a time."""
    level = [value] if isinstance(value, dict | list) else []
    for _ in range(MAX_DEPTH):
        level = [
            child
            for node in level
            for child in (node.values() if isinstance(node, dict) else node)
            if isinstance(child, CONTAINERS)
        ]
        if not level:
            return False
    return True


def answer_start(text: str) -> int:
    """Offset behind a leading byte order mark and behind a reasoning model's thoughts (`</think>`)."""
    if text.startswith(("{", "[")):
        return 0
    start = _skip_blank(text, 0)
    if text[start : start + 1] in ("{", "[", '"', "`"):
        return start
    thoughts = text.rfind(_REASONING_END)
    return _skip_blank(text, thoughts + len(_REASONING_END)) if thoughts >= 0 else start


def _skip_blank(text: str, start: int) -> int:
    blank = _BLANK.match(text, start)
    return start if blank is None else blank.end()


def fenced_scalar(text: str, start: int) -> tuple[Json, int] | None:
    """Return the bare value in a fenced block that is all of `text[start:]`, and its offset; None where none is."""
    fence = _OPENING_FENCE.match(text, start)
    if fence is None or text.startswith(("{", "["), fence.end()):
        return None
    found = decode_json(text, fence.end())
    if found is None:
        return None
    return (found[0], fence.end()) if text[found[1] :].strip() in ("", "```") else None


def find_regions(text: str, start: int, *, broken_at: int | None = None) -> Regions:
    """Find the outermost stretches of `text[start:]` that hold JSON or set out to.

    `broken_at`: the mistake in the value at `start`, where that has been read in vain.
    """
    found = Regions()
    search = _JsonSearch(text)
    position = start
    if text[start : start + 1] in ("{", "["):
        read = search.read(start) if broken_at is None else broken_at
        region = search.region(start, read, fenced=False)
        found.add(region)
        position = region.stop
    for _ in range(MOST_PLACES):
        match = _PLACE.search(text, position)
        if match is None:
            return found
        fenced = match[0][0] == "`"
        place = match.end() if fenced else match.start()
        read = search.read(place)
        if isinstance(read, int) and not fenced and not _LOOKS_JSON.match(text, place):
            position = place + 1
            continue
        region = search.region(place, read, fenced=fenced)
        found.add(region)
        position = region.stop
    found.complete = _PLACE.search(text, position) is None
    return found


class _JsonSearch:
    """One search through a text. `_doomed`: brackets that are open where an outer one broke off, so they break, too."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._decoder = StrictDecoder()
        self._doomed: set[int] = set()

    def read(self, place: int) -> tuple[Json, int] | int | None:
        """Read the value at a bracket; where it breaks off after a long way, note which brackets are open there."""
        self._decoder.refused = False
        if place in self._doomed or not _STRICT.match(self._text, place):
            return place
        read = self._decoder.read_ahead(self._text, place)
        if isinstance(read, int) and read - place > _WORTH_KNOWING:
            self._doomed.update(opened_at(self._text, place, read).brackets)
        return read

    def region(self, place: int, read: tuple[Json, int] | int | None, *, fenced: bool) -> Region:
        """Make a region of what was read at a bracket."""
        text = self._text
        if isinstance(read, tuple):
            formed = not _is_nested_too_deeply(text, place, read)
            value = read[0] if formed and not self._decoder.refused else MISSING
            return Region(start=place, stop=read[1], fenced=fenced, value=value, formed=formed)
        opened = opened_at(text, place, read) if read is not None and read - place > _WORTH_KNOWING else None
        end = text.find("```", place if opened is None else opened.position) if fenced else -1
        stop = closing(text, place, end if end >= 0 else len(text), opened=opened)
        return Region(start=place, stop=stop, fenced=fenced, value=MISSING, opened=opened)


def only_punctuation(text: str, start: int, region: Region) -> bool:
    """Whether JSON punctuation, and nothing else, stands beside a region: a bracket too many, and no prose."""
    before, after = text[start : region.start].strip(), text[region.stop :].strip()
    if not before and not after:
        return False
    return not region.fenced and all(_PUNCTUATION.fullmatch(part) is not None for part in (before, after))
