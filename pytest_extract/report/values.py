"""A JSON value as a short text that is safe to print."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from itertools import islice
from typing import Final

from pytest_extract.core.values import Json, Missing
from pytest_extract.report.lines import ELLIPSIS, left_part, plural, right_part, safe, shorten, text_width

_MOST_PARTS: Final = 12
WHOLE: Final = 1_000_000
"""Width at which values are shown whole; only megabytes are shortened."""
_LEAST_TEXT: Final = 8
"""Columns of a text that is shortened."""


def show(value: Json | Missing, width: int, *, at: int = 0) -> str:
    """Write a value as JSON-like text of about `width` columns, with marks for what is left out.

    Of a long text, the part around the character `at` is shown, by default its beginning and its end.
    """
    match value:
        case Missing.MISSING:
            return "(missing)"
        case str():
            return _show_text(value, width, at)
        case list() | dict():
            return _show_container(value, width)
        case int() if not isinstance(value, bool) and value.bit_length() > 10_000:
            return f"(an integer of {value.bit_length():,} bits)"
        case _:
            return shorten(safe(_scalar_text(value)), width)


def _scalar_text(value: object) -> str:
    if type(value) is float and math.isfinite(value):  # `json.dumps` writes the same in ten times the time
        return repr(value)
    if value is None or isinstance(value, bool | int | float):
        return json.dumps(value)
    return repr(value)


def _show_text(value: str, width: int, at: int) -> str:
    # The text is cut before it is escaped, so that the time does not grow with its length.
    if len(value) <= max(width - 2, 5):
        shown = safe(value)
        if text_width(shown) <= width - 2:
            return f'"{shown}"'
    count = f" ({len(value):,} characters)"
    room = width - len(count) - 2
    if room < _LEAST_TEXT:  # the text says more than its length
        count, room = "", max(width - 2, _LEAST_TEXT)
    head, tail = room * 2 // 3, room - room * 2 // 3 - 1
    if len(value) <= room and text_width(value) <= room:
        return f'"{shorten(safe(value), max(width - 2, _LEAST_TEXT))}"'
    if at > len(left_part(value[:room], head)):
        return f'"{_text_around(value, at, room)}"{count}'
    begin, end = left_part(value[:head], head), right_part(value[max(len(value) - tail, 0) :], tail)
    return f'"{shorten(safe(begin + ELLIPSIS + end), room)}"{count}'


def _text_around(value: str, at: int, room: int) -> str:
    """Show the part around the character `at`, which is near the end if the text ends soon after it."""
    most = room - 2
    after = left_part(value[at : at + most], most - room // 2)
    before = right_part(value[max(at - most, 0) : at], most - text_width(after))
    part = left_part(safe(before + after), most)
    return f"{ELLIPSIS}{part}{ELLIPSIS if at + len(after) < len(value) else ''}"


def _show_container(value: list[Json] | dict[str, Json], width: int) -> str:
    """Show all of a container if it fits, else its first items, with counts of what is inside them."""
    if width >= WHOLE:
        return shorten(safe(json.dumps(value, ensure_ascii=False, default=repr)), width)
    whole = _inline_text(value, width)
    if whole is not None:
        return whole
    opening, closing = ("[", "]") if isinstance(value, list) else ("{", "}")
    parts: list[str] = []
    used = 2
    for name, item in _labelled_items(value):
        room = width - len(f", {ELLIPSIS} {len(value) - len(parts) - 1:,} more") * (len(parts) + 1 < len(value))
        text = shorten(name + _item_text(item, max(width // 2, 12)), max(room - 2, 12))
        if parts and used + text_width(text) + 2 > room:
            break
        parts.append(text)
        used += text_width(text) + 2
    left = len(value) - len(parts)
    more = f", {ELLIPSIS} {left:,} more" if left else ""
    return f"{opening}{', '.join(parts)}{more}{closing}"


def _labelled_items(value: list[Json] | dict[str, Json]) -> Iterator[tuple[str, Json]]:
    if isinstance(value, dict):
        return ((f"{safe(str(key))}: ", item) for key, item in islice(value.items(), _MOST_PARTS))
    return (("", item) for item in islice(value, _MOST_PARTS))


def _item_text(item: Json, width: int) -> str:
    if isinstance(item, list | dict):
        return _inline_text(item, width) or _size_text(item)
    return show(item, width)


def _inline_text(value: Json, room: int) -> str | None:
    """Write a whole value; None if it takes more than `room` characters."""
    if isinstance(value, str):
        text = f'"{safe(value)}"' if len(value) <= room else ""
        return text if text and text_width(text) <= room else None
    if not isinstance(value, list | dict):
        text = show(value, room)
        return text if text_width(text) <= room else None
    if len(value) > _MOST_PARTS or room < 2:
        return None
    parts: list[str] = []
    left = room - 2
    for name, item in _labelled_items(value):
        inner = _inline_text(item, left - text_width(name))
        if inner is None:
            return None
        parts.append(name + inner)
        left -= text_width(parts[-1]) + 2
    text = ", ".join(parts)
    if text_width(text) > room - 2:
        return None
    return f"[{text}]" if isinstance(value, list) else f"{{{text}}}"


def _size_text(value: list[Json] | dict[str, Json]) -> str:
    if not value:
        return "[]" if isinstance(value, list) else "{}"
    return f"[{plural(len(value), 'item')}]" if isinstance(value, list) else f"{{{plural(len(value), 'key')}}}"
