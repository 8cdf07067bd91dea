"""Finds the JSON in a model's answer: the whole text, a fenced block, or a value inside prose.

The work grows with the length of the text, whatever is in it: `json` reads every value, each stretch is read a fixed
number of times, and a search in prose ends after MOST_PLACES places.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, NamedTuple, TypeAlias

from pytest_extract.core.parse.answers import Thoughts, next_thoughts
from pytest_extract.core.schema.source import Key
from pytest_extract.core.schema.tree import Schema
from pytest_extract.core.values import CONTAINERS, MAX_DEPTH, MISSING, Json, Missing
from pytest_extract.lazy import lazy_pattern

Fits: TypeAlias = Callable[[Json], "FitRank"]
_MOST_LEVELS: Final = 4
"""Levels of alternatives inside alternatives whose keys are known."""


class FitRank(NamedTuple):
    """How well a value fits, the better the greater: whether it satisfies the schema, and the share of its keys.

    share: of its keys and the required ones, those that are there and declared; 0.0 where it has nothing to do with the
    schema, whatever that admits.
    """

    valid: bool = False
    share: float = 0.0


class SchemaFit:
    """A schema that values are held against; `admits` says whether one satisfies it."""

    def __init__(self, schema: Json, admits: Callable[[Json], bool]) -> None:
        self._schema = Schema(schema)
        self._admits = admits
        self._keys: dict[Key, tuple[frozenset[str], frozenset[str]]] = {}

    def __call__(self, value: Json) -> FitRank:
        """Rank a value."""
        if isinstance(value, list):
            items = self._schema.node(Schema.root).items
            share = sum(self._share(items, row) for row in value) / len(value) if value else 1.0
        else:
            share = self._share(Schema.root, value)
        return FitRank(share > 0 and self._admits(value), share)

    def _share(self, key: Key | None, value: Json) -> float:
        """Return the share of keys at one place; no names: any key may stand there."""
        if key not in self._keys and key is not None:
            self._keys[key] = self._names(key, _MOST_LEVELS) or frozenset(), self._schema.node(key).required
        names, required = self._keys[key] if key is not None else (frozenset(), frozenset())
        if not isinstance(value, dict):
            return float(not names)
        known = len(names & value.keys()) if names else len(value)
        return known / len(value.keys() | required) if value else 0.0

    def _names(self, key: Key, levels: int) -> frozenset[str] | None:
        """Return the keys that objects at a place are known to have; None where any may stand."""
        node = self._schema.node(key)
        if node.patterns or isinstance(node.additional, tuple):
            return None
        names = frozenset(node.properties)
        for branch in node.branches if levels else ():
            more = self._names(branch, levels - 1)
            if more is None:
                return None
            names |= more
        return names


MOST_PLACES: Final = 20_000
"""Brackets in prose that are tried as the beginning of a value; an answer has a handful."""

_FENCE: Final = r"```(?!`)[ \t]*+[\w+-]*+\s*+"
_OBJECT: Final = r"\{(?=\s*+(?:[\"'}]|[A-Za-z_]\w*+\s*+:|//|/\*))"
_ARRAY: Final = r"\[(?=\s*+[\[{\"'\]])"
_PLACE: Final = lazy_pattern(rf"{_FENCE}(?=[{{\[])|{_OBJECT}|{_ARRAY}")
"""Where a value may begin: behind a fence, or at a bracket that JSON, or what is meant as JSON, can follow."""
_BRACKET: Final = lazy_pattern(r"[{\[]")
_OPENING_FENCE: Final = lazy_pattern(_FENCE)
_TEXT: Final = r'"[^"\\]*+(?:\\.[^"\\]*+)*+"'
_NEXT_BRACKET: Final = lazy_pattern(rf'[^"\[\]{{}}]*+(?:{_TEXT}[^"\[\]{{}}]*+)*+([\[\]{{}}])', re.DOTALL)
_DEEPEST: Final = 5 * MAX_DEPTH
"""Nesting from which on nobody asks any more where it closes."""


class Reading(NamedTuple):
    """What `json` finds at a place: a value and the offset behind it.

    Without one (MISSING), `stop` is the offset of the mistake, None where the text is JSON in form: it has a key twice,
    a number that is none or cannot be compared, or is nested too deeply.
    """

    value: Json | Missing
    stop: int | None = None


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
    """The stretches of a text that hold JSON or set out to, in their order.

    `complete`: whether the search came to the end of the text. `thoughts`: the last that stand among them.
    """

    found: list[Region]
    complete: bool = False
    thoughts: Thoughts | None = None

    def choose(self, fits: Fits | None) -> Region | None:
        """Return the answer: the value that fits best, objects before bare arrays of scalars, the last of equals.

        A broken stretch is more likely the answer if it is longer than that value; half as long if the value may be a
        draft before it, and not at all if the value fits the schema and comes after it.
        """

        def rank(region: Region) -> tuple[FitRank, bool]:
            value = region.value
            nested = isinstance(value, list) and any(isinstance(item, CONTAINERS) for item in value)
            return fits(value) if fits else FitRank(), bool(value) and (isinstance(value, dict) or nested)

        good = max((each for each in reversed(self.found) if each.value is not MISSING), key=rank, default=None)
        broken = max((each for each in self.found if each.value is MISSING), key=lambda each: each.weight, default=None)
        if good is None or broken is None:
            return good or broken
        if good.start > broken.start and rank(good)[0].valid:
            return good
        fenced, length, start = broken.weight
        return good if good.weight > (fenced, 2 * length if good.start < start else length, start) else broken


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


STRICT: Final = json.JSONDecoder(object_pairs_hook=_unique_keys, parse_float=_finite, parse_constant=_no_constant)


def read_at(text: str, start: int) -> Reading:
    """Read the strict JSON value that begins at `start`."""
    try:
        value, stop = STRICT.raw_decode(text, start)
    except json.JSONDecodeError as error:
        return Reading(MISSING, error.pos)
    except (ValueError, RecursionError):
        return Reading(MISSING)
    return Reading(MISSING) if too_deep(value) else Reading(value, stop)


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


def closing(text: str, place: int, end: int) -> int:
    """Offset behind the bracket that closes the one at `place`; `end` where none does."""
    depth, position = 1, place + 1
    while depth <= _DEEPEST and (found := _NEXT_BRACKET.match(text, position, end)) is not None:
        position = found.end()
        depth += 1 if found[1] in "{[" else -1
        if depth == 0:
            return position
    return end


def whole_value(text: str, start: int) -> Region | None:
    """Return the value that is all of `text[start:]`, in a fenced block or as it stands; None where none is."""
    fence = _OPENING_FENCE.match(text, start)
    place = start if fence is None else fence.end()
    read = read_at(text, place)
    if read.value is MISSING or read.stop is None or text[read.stop :].strip() not in ("", "```" if fence else ""):
        return None
    return Region(start=place, stop=read.stop, fenced=fence is not None, value=read.value)


def find_regions(text: str, start: int) -> Regions:
    """Find the outermost stretches of `text[start:]` that hold JSON or set out to, and stand in no thoughts."""
    regions = Regions([])
    ahead = next_thoughts(text, start)
    position = start
    # what begins with a bracket sets out to be JSON, whatever follows
    match = _BRACKET.match(text, start) or _PLACE.search(text, start)
    for _ in range(MOST_PLACES):
        if ahead is not None and ahead.start < position:
            ahead = next_thoughts(text, position)
        if match is not None and match.start() < position:
            match = _PLACE.search(text, position)
        if ahead is not None and (match is None or ahead.start <= match.start()):
            # what closes unopened thoughts says that all before it were thoughts
            regions = Regions(regions.found if ahead.opened else [], thoughts=ahead)
            if ahead.stop is None:
                regions.complete = True
                return regions
            position = ahead.stop
            continue
        if match is None:
            break
        fenced = match[0][0] == "`"
        place = match.end() if fenced else match.start()
        read = read_at(text, place)
        if read.value is not MISSING and read.stop is not None:
            position = read.stop
        else:  # up to where it breaks off it is JSON, and a fence there is a piece of a text
            end = text.find("```", read.stop) if fenced and read.stop is not None else -1
            position = closing(text, place, end if end >= 0 else len(text))
        regions.found.append(Region(start=place, stop=position, fenced=fenced, value=read.value))
    regions.complete = _PLACE.search(text, position) is None
    return regions
