"""Matches the brackets of JSON text without reading its values: what is open at a place, and where it closes.

Regular expressions step over strings, and over whole lists and objects at once, so that long texts cost little; all of
them are possessive, and so linear.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from pytest_extract.lazy import lazy_pattern

MAX_DEPTH: Final = 200
"""Deepest nesting that is read; real outputs stay below 20, and everything behind may recurse this far."""
_DEEPEST: Final = 5 * MAX_DEPTH
"""Nesting from which on nobody asks any more where it closes."""
_LEVELS: Final = 8
"""Levels of brackets that a pattern steps over; in a text made for it, each character may be looked at as often."""
_WINDOW: Final = 64_000
"""Characters in which a list or object is stepped over: a longer one is entered, and not read to its end twice."""

STRING: Final = r'"[^"\\]*+(?:\\.[^"\\]*+)*+"'
_PLAIN: Final = r'[^"\[\]{}]*+'
_NO_BRACKET: Final = rf"{_PLAIN}(?:{STRING}{_PLAIN})*+"


def _content(levels: int) -> str:
    """Return the pattern of text that holds brackets nested so many levels deep, and closes all of them."""
    if levels == 0:
        return _NO_BRACKET
    return rf"{_NO_BRACKET}(?:[\[{{]{_content(levels - 1)}[\]}}]{_NO_BRACKET})*+"


_SHALLOW: Final = rf"[\[{{]{_content(_LEVELS - 1)}[\]}}]"
_SHALLOW_VALUE: Final = lazy_pattern(_SHALLOW, re.DOTALL)
_NEXT: Final = lazy_pattern(rf"{_content(_LEVELS)}([\[\]{{}}])", re.DOTALL)
_NEXT_OF_ALL: Final = lazy_pattern(rf"{_NO_BRACKET}([\[\]{{}}])", re.DOTALL)
_NO_COMMA: Final = r'[^",\[\]{}]*+'
_ITEM: Final = rf"{_NO_COMMA}(?:(?:{STRING}|{_SHALLOW}){_NO_COMMA})*+"
_MANY: Final = 100
_MANY_ITEMS: Final = lazy_pattern(rf"(?:{_ITEM},){{{_MANY}}}+", re.DOTALL)
_ONE_ITEM: Final = lazy_pattern(rf"{_ITEM},", re.DOTALL)
_MEMBER: Final = lazy_pattern(rf'[^"]*+({STRING})(?:{_ITEM}(,))?', re.DOTALL)
_ITEM_AND_BRACKET: Final = lazy_pattern(rf"{_ITEM}[\[{{]", re.DOTALL)
_OBJECT_END: Final = rf'(?:[^"}}]++|{STRING})*+\}}'
_PLAIN_END: Final = r"[^}]*+\}"
"""The end of an object where no string holds a closing brace."""


class Opened(NamedTuple):
    """Where reading can be taken up again inside broken JSON.

    `brackets`: offsets of the brackets that are open, outermost first; `position`: behind the last complete item of
    the innermost, or behind its bracket where there is no item before (`first`); `end`: how far the text is JSON.
    """

    brackets: list[int]
    position: int
    first: bool
    end: int


def is_shallow(text: str, start: int, end: int) -> bool:
    """Whether the list or object that is `text[start:end]`, and JSON, is nested no deeper than patterns step over."""
    return _SHALLOW_VALUE.fullmatch(text, start, end) is not None


def _brackets(text: str, position: int, end: int, depth: int) -> Iterator[tuple[int, bool]]:
    """Yield the offset behind each bracket of `text[position:end]`, and whether it opens; pairs may be left out.

    `depth`: how many are open at `position`. What is left out is nested no deeper than MAX_DEPTH.
    """
    # A bracket, a string or a pair that the window cuts matches nothing, so a window's end changes no answer but
    # which pairs are left out. A window is twice as long as what the last one did not get over, at least.
    pattern = _NEXT if depth + _LEVELS <= MAX_DEPTH else _NEXT_OF_ALL
    window = position
    while True:
        found = pattern.match(text, position, window)
        if found is not None:
            position = found.end()
            opens = found[1] in "{["
            depth += 1 if opens else -1
            # a bracket that could not be stepped over tends to be followed by another
            pattern = _NEXT_OF_ALL if opens or depth + _LEVELS > MAX_DEPTH else _NEXT
            yield position, opens
        elif window < end:
            window = min(end, max(window + _WINDOW, 2 * window - position))
        else:
            return


def closing(text: str, place: int, end: int, *, opened: Opened | None = None) -> int:
    """Offset behind the bracket that closes the one at `place`; `end` where none does.

    `opened`: what is known of the value there, which saves the way to it.
    """
    depth, position = (1, place + 1) if opened is None else (len(opened.brackets), opened.position)
    for behind, opens in _brackets(text, position, end, depth):
        depth += 1 if opens else -1
        if depth == 0:
            return behind
        if depth > _DEEPEST:
            break
    return end


def opened_at(text: str, start: int, end: int) -> Opened:
    """Find where to take up reading before `end`, in a value that begins at `start` and is JSON up to there.

    A bracket that is nested deeper than MAX_DEPTH ends the search.
    """
    brackets = [start]
    position, first = start + 1, True
    for behind, opens in _brackets(text, position, end, 1):
        if opens and len(brackets) == MAX_DEPTH:
            end = behind - 1
            break
        position, first = behind, opens
        if opens:
            brackets.append(behind - 1)
        else:
            brackets.pop()
    items, behind = shallow_items(text, position, end)
    return Opened(brackets, behind - 1, first=False, end=end) if items else Opened(brackets, position, first, end)


def object_end(text: str, start: int, end: int, *, number: int, objects: int) -> int:
    """Offset behind the object that closes as the one with this number, from 1, of so many in `text[start:end]`."""
    piece = _PLAIN_END if text.count("}", start, end) == objects else _OBJECT_END
    found = re.compile(rf"(?:{piece}){{{number}}}+", re.DOTALL).match(text, start, end)
    return end if found is None else found.end()


def members(text: str, place: int, end: int) -> Iterator[tuple[str, int]]:
    """Yield the key of each member of the object at `place` that begins before `end`, as written, and its offset.

    The last member may be cut.
    """
    position = place + 1
    while (member := _MEMBER.match(text, position, end)) is not None:
        yield member[1], member.start(1)
        position = member.end()
        if member[2] is None:  # the last, or one that is nested too deeply to be stepped over
            deep = _ITEM_AND_BRACKET.match(text, position, end)
            if deep is None:
                return
            position = closing(text, deep.end() - 1, end)


def shallow_items(text: str, position: int, end: int) -> tuple[int, int]:
    """Count the items that end from `position` on, up to the first that is nested too deeply to be stepped over.

    Returns their number and the offset behind them.
    """
    count = 0
    while True:
        many = _MANY_ITEMS.match(text, position, min(position + _WINDOW, end))
        if many is not None:
            position = many.end()
            count += _MANY
            continue
        for _ in range(_MANY):
            item = _ONE_ITEM.match(text, position, end)
            if item is None:
                return count, position
            position = item.end()
            count += 1
