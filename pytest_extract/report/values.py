"""One value, and what differs between two: short, safe to print, with the differing characters marked."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from itertools import islice
from typing import Final

from pytest_extract.core.values import MISSING, Json, Missing, json_type
from pytest_extract.report.lines import ELLIPSIS, Span, line, number, plural, safe, shorten
from pytest_extract.report.texts import text_difference

_MOST_PARTS: Final = 12
WHOLE: Final = 1_000_000
"""Width that stands for "all of it": nothing but a value of a megabyte is shortened."""


def show(value: Json | Missing, width: int, *, at: int = 0) -> str:
    """Write a value as JSON-like text, at most about `width` characters; what is left out is said.

    Of a long text, the part around the character `at` is shown; by default its beginning and its end.
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
            return shorten(safe(_scalar(value)), width)


def _scalar(value: object) -> str:
    if value is None or isinstance(value, bool | int | float):
        return json.dumps(value)
    return repr(value)


def _show_text(value: str, width: int, at: int) -> str:
    # A slice first: escaping a megabyte to show forty characters of it is wasted.
    if len(value) <= max(width - 2, 5):
        shown = safe(value)
        if len(shown) <= width - 2:
            return f'"{shown}"'
    count = f" ({len(value):,} characters)"
    room = max(width - len(count) - 2, 8)
    head, tail = room * 2 // 3, room - room * 2 // 3 - 1
    if len(value) <= head + tail + 1:
        return f'"{shorten(safe(value), max(width - 2, 8))}"'
    if at > head:
        return f'"{_around(value, at, room)}"{count}'
    return f'"{shorten(safe(value[:head] + ELLIPSIS + value[len(value) - tail :]), room)}"{count}'


def _around(value: str, at: int, room: int) -> str:
    start = min(at - room // 2, len(value) - room + 2)
    part = safe(value[start : start + room - 2])[: room - 2]
    return f"{ELLIPSIS}{part}{ELLIPSIS if start + room - 2 < len(value) else ''}"


def _show_container(value: list[Json] | dict[str, Json], width: int) -> str:
    """Show all of it where it fits, else a few items, what is inside those only counted."""
    if width >= WHOLE:
        return shorten(safe(json.dumps(value, ensure_ascii=False, default=repr)), width)
    whole = _flow(value, width)
    if whole is not None:
        return whole
    opening, closing = ("[", "]") if isinstance(value, list) else ("{", "}")
    parts: list[str] = []
    used = 2
    for name, item in _named(value):
        room = width - len(f", {ELLIPSIS} {len(value) - len(parts) - 1:,} more") * (len(parts) + 1 < len(value))
        text = shorten(name + _inner(item, max(width // 2, 12)), max(room - 2, 12))
        if parts and used + len(text) + 2 > room:
            break
        parts.append(text)
        used += len(text) + 2
    left = len(value) - len(parts)
    more = f", {ELLIPSIS} {left:,} more" if left else ""
    return f"{opening}{', '.join(parts)}{more}{closing}"


def _named(value: list[Json] | dict[str, Json]) -> Iterator[tuple[str, Json]]:
    if isinstance(value, dict):
        return ((f"{safe(str(key))}: ", item) for key, item in islice(value.items(), _MOST_PARTS))
    return (("", item) for item in islice(value, _MOST_PARTS))


def _inner(item: Json, width: int) -> str:
    if isinstance(item, list | dict):
        return _flow(item, width) or _count(item)
    return show(item, width)


def _flow(value: Json, room: int) -> str | None:
    """Write a value whole; None where that takes more than `room` characters."""
    if isinstance(value, str):
        text = f'"{safe(value)}"' if len(value) <= room else ""
        return text if 0 < len(text) <= room else None
    if not isinstance(value, list | dict):
        text = show(value, room)
        return text if len(text) <= room else None
    if len(value) > _MOST_PARTS or room < 2:
        return None
    parts: list[str] = []
    left = room - 2
    for name, item in _named(value):
        inner = _flow(item, left - len(name))
        if inner is None:
            return None
        parts.append(name + inner)
        left -= len(parts[-1]) + 2
    text = ", ".join(parts)
    if len(text) > room - 2:
        return None
    return f"[{text}]" if isinstance(value, list) else f"{{{text}}}"


def _count(value: list[Json] | dict[str, Json]) -> str:
    if not value:
        return "[]" if isinstance(value, list) else "{}"
    return f"[{plural(len(value), 'item')}]" if isinstance(value, list) else f"{{{plural(len(value), 'key')}}}"


def difference(gold: Json | Missing, extracted: Json | Missing, width: int) -> tuple[Span, ...]:
    """Say what differs inside two values: marked characters, the error of a number, or their types.

    No spans when there is nothing to say beyond the two values.
    """
    if gold is MISSING or extracted is MISSING or gold is None or extracted is None:
        return ()
    if isinstance(gold, str) and isinstance(extracted, str):
        return text_difference(gold, extracted, width)
    if _is_number(gold) and _is_number(extracted):
        return line(_number_difference(gold, extracted))
    if json_type(gold) != json_type(extracted):
        return line(f"{json_type(extracted)} where gold has {json_type(gold)}")
    return ()


def _is_number(value: Json) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _number_difference(gold: float, extracted: float) -> str:
    try:
        off = float(extracted - gold)
        relative = off / abs(gold) if gold else math.inf
    except OverflowError:  # an integer may have thousands of digits
        return "off by more than a float holds"
    if not math.isfinite(off):
        return ""
    if not gold or abs(relative) >= 100:
        return f"off by {off:+.4g}"
    return f"off by {relative:+.2%}" if abs(relative) >= 0.0001 else f"off by {relative:+.1e} of gold"


def percent(value: float) -> str:
    """Write a share: `83.3 %`."""
    return f"{number(round(value * 100, 1))} %"
