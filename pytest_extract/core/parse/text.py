"""Finds the JSON in a model's answer: the whole text, a fenced block, or a value inside prose.

The work grows with the length of the text, whatever is in it: `json` reads every value, each stretch is read a fixed
number of times, and a search in prose ends after MOST_PLACES places.
"""

from __future__ import annotations

import json
from dataclasses import field
from typing import Final, NamedTuple

from pytest_extract.collector import no_collection
from pytest_extract.core.parse.brackets import MAX_DEPTH, Opened, closing, is_shallow, opened_at
from pytest_extract.core.parse.fit import FitRank, Fits
from pytest_extract.core.parse.thoughts import Thoughts, ThoughtsAhead, thoughts_before_answer
from pytest_extract.core.values import CONTAINERS, MISSING, Json, Missing
from pytest_extract.lazy import dataclass, lazy_pattern

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
_WORTH_KNOWING: Final = 200
"""Characters read in vain from which on it is worth knowing which brackets inside need not be tried again."""
_COLLECTED: Final = 1_000_000
"""Characters from which on Python's garbage collector is held back while `json` builds the value."""


class Reading(NamedTuple):
    """What `json` finds at a place.

    `value`: MISSING where there is no JSON, or JSON that is refused. `stop`: the offset behind the value, or of the
    mistake; None where that is not known. `formed`: it is JSON in form, whatever is refused. `deep`: nested deeper than
    MAX_DEPTH. `objects`: how many there are. `number`: how many of them close before the first number that is NaN or
    out of range, None where none is. `repeated`: how many close before the first that has a key twice, or None.
    """

    value: Json | Missing
    stop: int | None = None
    formed: bool = False
    deep: bool = False
    objects: int = 0
    number: int | None = None
    repeated: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Region:
    """A stretch `text[start:stop]` that holds a JSON value, or (value MISSING) set out to hold one.

    `read`: what `json` finds there, where reading it again would say no more. `opened`: how far a broken one is JSON,
    where that is far.
    """

    start: int
    stop: int
    fenced: bool = False
    value: Json | Missing = MISSING
    read: Reading | None = None
    opened: Opened | None = None

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


@dataclass(slots=True)
class StrictDecoder:
    """`json`, made strict: it reads on behind what it refuses, and says where reading breaks off instead of raising.

    `unclosed`: whether a string without an end broke off the last reading.
    """

    unclosed: bool = False
    _objects: int = 0
    _number: int | None = None
    _repeated: int | None = None
    _decoder: json.JSONDecoder = field(init=False)

    def __post_init__(self) -> None:
        self._decoder = json.JSONDecoder(
            object_pairs_hook=self._object, parse_float=self._finite, parse_constant=self._constant
        )

    def _object(self, pairs: list[tuple[str, Json]]) -> dict[str, Json]:
        made = dict(pairs)
        if len(made) != len(pairs) and self._repeated is None:
            self._repeated = self._objects
        self._objects += 1
        return made

    def _finite(self, token: str) -> float:
        number = float(token)
        if number - number != 0.0:
            self._note_number()
        return number

    def _constant(self, _: str) -> None:
        self._note_number()

    def _note_number(self) -> None:
        if self._number is None:
            self._number = self._objects

    def read(self, text: str, start: int, *, shift: int = 0) -> Reading:
        """Read the value at `start`; `shift` is added to its `stop`."""
        self.unclosed, self._objects, self._number, self._repeated = False, 0, None, None
        if len(text) - start < _COLLECTED:
            return self._read(text, start, shift)
        with no_collection():
            return self._read(text, start, shift)

    def _read(self, text: str, start: int, shift: int) -> Reading:
        try:
            found = self._decoder.raw_decode(text, start)
        except json.JSONDecodeError as error:
            self.unclosed = error.msg.startswith("Unterminated string")
            return Reading(MISSING, error.pos + shift, number=self._number)
        except RecursionError:  # nested too deeply
            return Reading(MISSING, number=self._number)
        except ValueError:  # an integer with more digits than Python converts
            self._note_number()
            return Reading(MISSING, number=self._number)
        deep = _is_nested_too_deeply(text, start, found)
        stop, objects, number, repeated = found[1] + shift, self._objects, self._number, self._repeated
        if not deep and number is None and repeated is None:
            return Reading(found[0], stop, formed=True)
        return Reading(MISSING, stop, formed=True, deep=deep, objects=objects, number=number, repeated=repeated)

    def read_ahead(self, text: str, start: int) -> Reading:
        """Return what `read` returns, at a cost that grows with what is read.

        `json` counts the lines of all the text before a mistake; a window that begins at the value keeps that short.
        """
        for size in _WINDOWS:
            end = start + size
            found = self.read(text[start:end], 0, shift=start)
            if found.formed or found.stop is None or end >= len(text):
                return found
            if not self.unclosed and found.stop < end - _LONGEST_TOKEN:  # the end of the window is not to blame
                return found
        return self.read(text, start)


def decode_json(text: str, start: int) -> tuple[Json, int] | None:
    """Strict JSON value that begins at `start`, and the offset behind it; None when there is none."""
    read = read_whole(text, start)
    return None if read.value is MISSING or read.stop is None else (read.value, read.stop)


def read_whole(text: str, start: int) -> Reading:
    """Read the value at `start`, most likely all of the text."""
    if len(text) - start < _COLLECTED:
        try:
            found = _whole.raw_decode(text, start)
        except json.JSONDecodeError as error:
            return Reading(MISSING, error.pos)
        except (ValueError, RecursionError):
            pass  # for `StrictDecoder` to say more
        else:
            if not _is_nested_too_deeply(text, start, found):
                return Reading(found[0], found[1], formed=True)
    return StrictDecoder().read(text, start)


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
"""Holds no state, unlike `StrictDecoder`, so that it is made once; it stops at what is refused."""


def _is_nested_too_deeply(text: str, start: int, found: tuple[Json, int]) -> bool:
    """Whether what was read from a text is too deep; a text with too few brackets for that spares the look."""
    value, stop = found
    if stop - start <= 2 * MAX_DEPTH:  # each level takes two brackets
        return False
    brackets = text.count("[", start, stop) + text.count("{", start, stop)
    if brackets <= MAX_DEPTH:
        return False
    # in a short text the look at the values is over before the pattern is compiled
    return not (stop - start >= _COLLECTED and is_shallow(text, start, stop)) and too_deep(value)


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
    search = _JsonSearch(text)
    ahead = ThoughtsAhead(text)
    position = start
    if text[start : start + 1] in ("{", "[") and not _begins(ahead.at(start), start):
        known = search.read(start) if read is None else (read, _opened(text, start, read))
        region = _region(text, start, *known, fenced=False)
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
        if match is None:
            return found
        fenced = match[0][0] == "`"
        place = match.end() if fenced else match.start()
        read, opened = search.read(place)
        if not (read.formed or fenced or read.stop is None or _LOOKS_JSON.match(text, place)):
            position = place + 1
            continue
        region = _region(text, place, read, opened, fenced=fenced)
        found.add(region)
        position = region.stop
    found.complete = _PLACE.search(text, position) is None
    return found


def _begins(thoughts: Thoughts | None, place: int) -> bool:
    return thoughts is not None and thoughts.start == place


class _JsonSearch:
    """One search through a text. `_doomed`: brackets that are open where an outer one broke off, so they break, too."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._decoder = StrictDecoder()
        self._doomed: set[int] = set()

    def read(self, place: int) -> tuple[Reading, Opened | None]:
        """Read the value at a bracket; where it breaks off after a long way, say and note which are open there."""
        if place in self._doomed or not _STRICT.match(self._text, place):
            return Reading(MISSING, place), None
        read = self._decoder.read_ahead(self._text, place)
        opened = _opened(self._text, place, read)
        if opened is not None:
            self._doomed.update(opened.brackets)
        return read, opened


def _opened(text: str, place: int, read: Reading) -> Opened | None:
    """Say how far the value at a bracket is JSON, where it breaks off after a long way."""
    if read.formed or read.stop is None or read.stop - place <= _WORTH_KNOWING:
        return None
    return opened_at(text, place, read.stop)


def _region(text: str, place: int, read: Reading, opened: Opened | None, *, fenced: bool) -> Region:
    """Make a region of what was read at a bracket."""
    if read.formed and read.stop is not None:
        known = None if read.deep else read
        return Region(start=place, stop=read.stop, fenced=fenced, value=read.value, read=known)
    # up to where it breaks off it is JSON, and a fence there is a piece of a text
    end = text.find("```", place if read.stop is None else read.stop) if fenced else -1
    stop = closing(text, place, end if end >= 0 else len(text), opened=opened)
    known = None if opened is None and read.stop is not None else read
    return Region(start=place, stop=stop, fenced=fenced, read=known, opened=opened)


def only_punctuation(text: str, start: int, region: Region) -> bool:
    """Whether JSON punctuation, and nothing else, stands beside a region: a bracket too many, and no prose."""
    before, after = text[start : region.start].strip(), text[region.stop :].strip()
    if not before and not after:
        return False
    return not region.fenced and all(_PUNCTUATION.fullmatch(part) is not None for part in (before, after))
