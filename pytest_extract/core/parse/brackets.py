"""Matches the brackets of JSON text without reading its values: what is open at a place, and where it closes.

Regular expressions step over strings and over whole flat lists and objects at once, so that long texts cost little; all
of them are possessive, and so linear.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from pytest_extract.lazy import lazy_pattern

MAX_DEPTH: Final = 200
"""Deepest nesting that is read; real outputs stay below 20, and everything behind may recurse this far."""
_DEEPEST: Final = 5 * MAX_DEPTH
"""Nesting from which on nobody asks any more where it closes."""

STRING: Final = r'"[^"\\]*+(?:\\.[^"\\]*+)*+"'
_PLAIN: Final = r'[^"\[\]{}]*+'
_NO_BRACKET: Final = rf"{_PLAIN}(?:{STRING}{_PLAIN})*+"
_FLAT: Final = rf"(?:\[{_NO_BRACKET}\]|\{{{_NO_BRACKET}\}})"
_NEXT: Final = lazy_pattern(rf"{_PLAIN}(?:(?:{STRING}|{_FLAT}){_PLAIN})*+([\[\]{{}}])", re.DOTALL)
_NEXT_OF_ALL: Final = lazy_pattern(rf"{_NO_BRACKET}([\[\]{{}}])", re.DOTALL)
_NO_COMMA: Final = r'[^",\[\]{}]*+'
_ITEM: Final = rf"{_NO_COMMA}(?:(?:{STRING}|{_FLAT}){_NO_COMMA})*+"
_ITEMS: Final = lazy_pattern(rf"(?:{_ITEM},)*+", re.DOTALL)
_END_OR_BRACKET: Final = lazy_pattern(rf"{_ITEM}([,\[{{])", re.DOTALL)
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


def closing(text: str, place: int, end: int, *, opened: Opened | None = None) -> int:
    """Offset behind the bracket that closes the one at `place`; `end` where none does.

    `opened`: what is known of the value there, which saves the way to it.
    """
    depth, position = (1, place + 1) if opened is None else (len(opened.brackets), opened.position)
    while depth <= _DEEPEST and (found := _NEXT.match(text, position, end)) is not None:
        position = found.end()
        depth += 1 if found[1] in "{[" else -1
        if depth == 0:
            return position
    return end


def opened_at(text: str, start: int, end: int) -> Opened:
    """Find where to take up reading before `end`, in a value that begins at `start` and is JSON up to there.

    A bracket that is nested deeper than MAX_DEPTH ends the search.
    """
    brackets = [start]
    position, first = start + 1, True
    while True:
        pattern = _NEXT if len(brackets) < MAX_DEPTH else _NEXT_OF_ALL
        found = pattern.match(text, position, end)
        if found is None:
            break
        if found[1] in "{[" and len(brackets) == MAX_DEPTH:
            end = found.end() - 1
            break
        position = found.end()
        first = found[1] in "{["
        if first:
            brackets.append(position - 1)
        else:
            brackets.pop()
    items = _ITEMS.match(text, position, end)
    if items is not None and items.end() > position:
        return Opened(brackets, items.end() - 1, first=False, end=end)
    return Opened(brackets, position, first, end)


def object_end(text: str, start: int, end: int, *, number: int, objects: int) -> int:
    """Offset behind the object that closes as the one with this number, from 1, of so many in `text[start:end]`."""
    piece = _PLAIN_END if text.count("}", start, end) == objects else _OBJECT_END
    found = re.compile(rf"(?:{piece}){{{number}}}+", re.DOTALL).match(text, start, end)
    return end if found is None else found.end()


def item_start(text: str, place: int, end: int, *, number: int) -> int:
    """Offset behind so many items of the list or object at `place`, which has more."""
    flat = re.compile(rf"(?:{_ITEM},){{{number}}}+", re.DOTALL).match(text, place + 1, end)
    if flat is not None:
        return flat.end()
    position = place + 1
    while number and (found := _END_OR_BRACKET.match(text, position, end)) is not None:
        if found[1] == ",":
            position = found.end()
            number -= 1
        else:
            position = closing(text, found.start(1), end)
    return position
