"""Finds the JSON in a model's answer: the whole text, a fenced block, or a value inside prose.

The work grows with the length of the text, whatever is in it: `json` reads every value, each stretch is read a fixed
number of times, and a search in prose ends after MOST_PLACES places.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Final, NamedTuple

from pytest_extract.collector import no_collection
from pytest_extract.core.parse.brackets import closing
from pytest_extract.core.parse.fit import FitRank, Fits
from pytest_extract.core.parse.thoughts import Thoughts, ThoughtsAhead, thoughts_before_answer
from pytest_extract.core.values import CONTAINERS, MAX_DEPTH, MISSING, Json, Missing
from pytest_extract.lazy import lazy_pattern

MOST_PLACES: Final = 20_000
"""Brackets in prose that are tried as the beginning of a value; an answer has a handful."""

_FENCE: Final = r"```(?!`)[ \t]*+[\w+-]*+\s*+"
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
_WINDOWS: Final = (2_000, 16_000, 128_000, 1_000_000)
"""Characters in which `json` is tried at a place, before it is given the whole text."""
_LONGEST_TOKEN: Final = 16
"""More characters than a literal or an escape of JSON has: a mistake so close to a window's end may be its end."""
_MOST_IN_VAIN: Final = 4
"""Times the length of the text that are read of lists of numbers that are none, before the search is given up."""
_COLLECTED: Final = 1_000_000
"""Characters from which on Python's garbage collector is held back while `json` builds the value."""


class Reading(NamedTuple):
    """What `json` finds at a place: a value and the offset behind it.

    Without one (MISSING), `stop` is the offset of the mistake, None where the text is JSON in form: it has a key twice,
    a number that is none or cannot be compared, or is nested too deeply. `cut`: the mistake may be that the text ends.
    """

    value: Json | Missing
    stop: int | None = None
    cut: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Region:
    """A stretch `text[start:stop]` that holds a JSON value, or (value MISSING) set out to hold one."""

    start: int
    stop: int
    fenced: bool = False
    value: Json | Missing = MISSING

    @property
    def weight(self) -> tuple[bool, int, int]:
        """Order of preference between a value and a broken one: what stands in a fence, else the longer one."""
        return self.fenced, self.stop - self.start, self.start


@dataclass(slots=True)
class Regions:
    """What a text holds: the best value, the weightiest stretch that is broken JSON, and how many there are.

    `fits`: ranks values by the schema. The best value has the greatest rank, objects before bare arrays of scalars, and
    is the last of equals. `complete`: whether the search came to the end of the text. `thoughts`: the last that stand
    among them.
    """

    fits: Fits | None = None
    good: Region | None = None
    broken: Region | None = None
    count: int = 0
    complete: bool = True
    thoughts: Thoughts | None = None
    _rank: tuple[FitRank, bool] | None = None

    def add(self, region: Region) -> None:
        """Keep a region if it is better than those before."""
        self.count += 1
        if region.value is not MISSING:
            if self.good is None:  # one value needs no rank
                self.good = region
            elif (rank := self._rank_of(region)) >= self._rank_of(self.good):
                self.good, self._rank = region, rank
        elif self.broken is None or region.weight > self.broken.weight:
            self.broken = region

    def take_good(self) -> Region | None:
        """Return the best value; None where there is none, or where a broken one is more likely the answer.

        A broken one is that if it is the longer one; half as long if the best value may be a draft before it, and not
        at all if that fits the schema and comes after it.
        """
        good, broken = self.good, self.broken
        if good is None or broken is None:
            return good
        if good.start > broken.start and self._rank_of(good)[0].valid:
            return good
        fenced, length, start = broken.weight
        return good if good.weight > (fenced, 2 * length if good.start < start else length, start) else None

    def _rank_of(self, region: Region) -> tuple[FitRank, bool]:
        if region is self.good and self._rank is not None:
            return self._rank
        value = region.value
        nested = isinstance(value, list) and any(isinstance(item, CONTAINERS) for item in value)
        rank = FitRank() if self.fits is None else self.fits(value)
        return rank, bool(value) and (isinstance(value, dict) or nested)


def read_strict(text: str, start: int) -> Reading:
    """Read the strict JSON value that begins at `start`."""
    try:
        if len(text) - start < _COLLECTED:
            value, stop = strict_json.raw_decode(text, start)
        else:
            with no_collection():
                value, stop = strict_json.raw_decode(text, start)
    except json.JSONDecodeError as error:
        cut = error.msg.startswith("Unterminated string") or error.pos >= len(text) - _LONGEST_TOKEN
        return Reading(MISSING, error.pos, cut=cut)
    except (ValueError, RecursionError):
        return Reading(MISSING)
    if text.count("[", start, stop) + text.count("{", start, stop) > MAX_DEPTH and too_deep(value):
        return Reading(MISSING)
    return Reading(value, stop)


def _read_ahead(text: str, start: int) -> Reading:
    """Return what `read_strict` returns, at a cost that grows with what is read.

    `json` counts the lines of all the text before a mistake; a window that begins at the value keeps that short.
    """
    for size in _WINDOWS:
        found = read_strict(text[start : start + size], 0)
        if not found.cut or start + size >= len(text):
            return found if found.stop is None else found._replace(stop=found.stop + start)
    return read_strict(text, start)


def decode_json(text: str, start: int) -> tuple[Json, int] | None:
    """Strict JSON value that begins at `start`, and the offset behind it; None when there is none."""
    read = read_strict(text, start)
    return None if read.value is MISSING or read.stop is None else (read.value, read.stop)


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


strict_json: Final = json.JSONDecoder(object_pairs_hook=_unique_keys, parse_float=_finite, parse_constant=_no_constant)


def too_deep(value: Json, depth: int = 0) -> bool:
    """Whether a value that stands so deep is nested more than MAX_DEPTH levels deep; looks at one level at a time."""
    level = [value] if isinstance(value, dict | list) else []
    for _ in range(MAX_DEPTH - depth):
        level = [
            child
            for node in level
            for child in (node.values() if isinstance(node, dict) else node)
            if isinstance(child, CONTAINERS)
        ]
        if not level:
            return False
    return True


class AnswerPlace(NamedTuple):
    """Where an answer begins in a text, and the thoughts that stand before it."""

    start: int
    thoughts: Thoughts | None = None


def find_answer(text: str) -> AnswerPlace:
    """Find the answer behind a leading byte order mark and behind a model's thoughts."""
    if text.startswith("{"):
        return AnswerPlace(0)
    start = _skip_blank(text, 0)
    if text[start : start + 1] in ("{", '"', "`") or (
        text[start : start + 1] == "[" and text[start + 1 : start + 2] != "T"
    ):
        return AnswerPlace(start)
    thoughts = thoughts_before_answer(text, start)
    if thoughts is None or thoughts.stop is None:
        return AnswerPlace(start)
    return AnswerPlace(_skip_blank(text, thoughts.stop), thoughts)


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


def find_regions(text: str, start: int, *, read: Reading | None = None, fits: Fits | None = None) -> Regions:
    """Find the outermost stretches of `text[start:]` that hold JSON or set out to, and stand in no thoughts.

    `read`: what stands at `start`, where that is known. `fits`: ranks values by the schema.
    """
    found = Regions(fits)
    ahead = ThoughtsAhead(text)
    position, in_vain = start, 0
    if text[start : start + 1] in ("{", "[") and not _begins(ahead.at(start), start):
        region = _region(text, start, read_strict(text, start) if read is None else read, fenced=False)
        found.add(region)
        position = region.stop
    for _ in range(MOST_PLACES):
        match = _PLACE.search(text, position)
        thoughts = ahead.at(position)
        if thoughts is not None and (match is None or thoughts.start <= match.start()):
            found = found if thoughts.opened else Regions(fits)  # else all before its end were thoughts
            found.thoughts = thoughts
            if thoughts.stop is None:
                return found
            position = thoughts.stop
            continue
        if match is None or in_vain > _MOST_IN_VAIN * (len(text) + _COLLECTED):
            found.complete = match is None
            return found
        fenced = match[0][0] == "`"
        place = match.end() if fenced else match.start()
        read = _read_ahead(text, place) if _STRICT.match(text, place) else Reading(MISSING, place)
        if read.value is MISSING and not fenced and read.stop is not None and not _LOOKS_JSON.match(text, place):
            in_vain += read.stop - place
            position = place + 1
            continue
        region = _region(text, place, read, fenced=fenced)
        found.add(region)
        position = region.stop
    found.complete = _PLACE.search(text, position) is None
    return found


def _begins(thoughts: Thoughts | None, place: int) -> bool:
    return thoughts is not None and thoughts.start == place


def _region(text: str, place: int, read: Reading, *, fenced: bool) -> Region:
    """Make a region of what was read at a bracket."""
    if read.value is not MISSING and read.stop is not None:
        return Region(start=place, stop=read.stop, fenced=fenced, value=read.value)
    # up to where it breaks off it is JSON, and a fence there is a piece of a text
    end = text.find("```", read.stop) if fenced and read.stop is not None else -1
    return Region(start=place, stop=closing(text, place, end if end >= 0 else len(text)), fenced=fenced)


def only_punctuation(text: str, start: int, region: Region) -> bool:
    """Whether JSON punctuation, and nothing else, stands beside a region: a bracket too many, and no prose."""
    before, after = text[start : region.start].strip(), text[region.stop :].strip()
    if not before and not after:
        return False
    return not region.fenced and all(_PUNCTUATION.fullmatch(part) is not None for part in (before, after))
