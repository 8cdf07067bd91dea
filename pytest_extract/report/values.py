"""One value, and what differs between two: short, safe to print, with the differing characters marked."""

from __future__ import annotations

import difflib
import json
import math
from collections.abc import Sequence
from itertools import islice
from typing import Final

from pytest_extract.core.values import MISSING, Json, Missing, json_type
from pytest_extract.report.lines import ELLIPSIS, Span, line, number, plural, safe, shorten

ALIKE: Final = 0.4
"""Texts less similar than this differ throughout: marking single characters would only confuse."""
LONGEST_COMPARED: Final = 2_000
"""Characters of a text that are looked at for marks; the first difference decides where the window lies."""
_MOST_PARTS: Final = 12
WHOLE: Final = 1_000_000
"""Width that stands for "all of it": nothing but a value of a megabyte is shortened."""


def show(value: Json | Missing, width: int) -> str:
    """Write a value as JSON-like text, at most about `width` characters; what is left out is said."""
    match value:
        case Missing.MISSING:
            return "(missing)"
        case str():
            return _show_text(value, width)
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


def _show_text(value: str, width: int) -> str:
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
    return f'"{shorten(safe(value[:head] + ELLIPSIS + value[len(value) - tail :]), room)}"{count}'


def _show_container(value: list[Json] | dict[str, Json], width: int) -> str:
    """Show a few items, and all of a large list only when asked for the whole."""
    if width >= WHOLE:
        return shorten(safe(json.dumps(value, ensure_ascii=False, default=repr)), width)
    opening, closing = ("[", "]") if isinstance(value, list) else ("{", "}")
    parts: list[str] = []
    used = 2
    named = isinstance(value, dict)
    entries = islice(value.items() if isinstance(value, dict) else enumerate(value), _MOST_PARTS)
    for key, item in entries:
        name = f"{safe(str(key))}: " if named else ""
        inner = _count(item) if isinstance(item, list | dict) else show(item, max(width // 2, 12))
        text = shorten(name + inner, max(width, 12))
        if parts and used + len(text) + 2 > width:
            break
        parts.append(text)
        used += len(text) + 2
    left = len(value) - len(parts)
    more = f", {ELLIPSIS} {left:,} more" if left else ""
    return f"{opening}{', '.join(parts)}{more}{closing}"


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
        return _text_difference(gold, extracted, width)
    if _is_number(gold) and _is_number(extracted):
        return line(_number_difference(gold, extracted))
    if json_type(gold) != json_type(extracted):
        return line(f"{json_type(extracted)} where gold has {json_type(gold)}")
    return ()


def _is_number(value: Json) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _number_difference(gold: float, extracted: float) -> str:
    try:
        off = extracted - gold
        relative = off / abs(gold) if gold else math.inf
    except OverflowError:
        return "off by more than a float holds"
    if not math.isfinite(off):
        return ""
    if not gold or abs(relative) >= 100:
        return f"off by {off:+.4g}"
    return f"off by {relative:+.2%}" if abs(relative) >= 0.0001 else f"off by {relative:+.1e} of gold"


def _text_difference(gold: str, extracted: str, width: int) -> tuple[Span, ...]:
    if gold == extracted:
        return ()
    start = _common_start(gold, extracted)
    left = max(start - LONGEST_COMPARED // 4, 0)
    one, other = gold[left : left + LONGEST_COMPARED], extracted[left : left + LONGEST_COMPARED]
    matcher = difflib.SequenceMatcher(None, one, other, autojunk=False)
    if matcher.real_quick_ratio() < ALIKE or matcher.quick_ratio() < ALIKE or matcher.ratio() < ALIKE:
        return ()
    return _window(_marked(one, other, matcher.get_opcodes()), width, cut_left=left > 0)


def _common_start(one: str, other: str) -> int:
    for index, (left, right) in enumerate(zip(one, other, strict=False)):
        if left != right:
            return index
    return min(len(one), len(other))


def _marked(gold: str, extracted: str, opcodes: Sequence[tuple[str, int, int, int, int]]) -> list[Span]:
    """Merge both texts: equal parts as they are, `[gold→extracted]`, `[-lost]` and `[+invented]` where they part."""
    spans: list[Span] = []
    for kind, g1, g2, e1, e2 in opcodes:
        if kind == "equal":
            spans.append(Span(safe(gold[g1:g2])))
        elif kind == "delete":
            spans.append(Span(f"[-{safe(gold[g1:g2])}]", "mark"))
        elif kind == "insert":
            spans.append(Span(f"[+{safe(extracted[e1:e2])}]", "mark"))
        else:
            spans.append(Span(f"[{safe(gold[g1:g2])}→{safe(extracted[e1:e2])}]", "mark"))
    return spans


def _window(spans: list[Span], width: int, *, cut_left: bool) -> tuple[Span, ...]:
    """Keep the marks and a little of what stands around them; say how many more differences there are."""
    first = next(index for index, span in enumerate(spans) if span.style == "mark")
    lead = spans[first - 1].text if first else ""
    kept = [Span((ELLIPSIS if cut_left or len(lead) > 12 else "") + lead[-12:])] if lead or cut_left else []
    used = len(kept[0].text) if kept else 0
    index = first
    while index < len(spans) and used < width:
        span = spans[index]
        room = max(width - used, 8)
        kept.append(Span(shorten(span.text, room if span.style == "mark" else min(room, 40)), span.style))
        used += len(kept[-1].text)
        index += 1
    left = sum(1 for span in spans[index:] if span.style == "mark")
    if left:
        kept.append(Span(f"{ELLIPSIS} and {plural(left, 'more difference')}"))
    return tuple(kept)


def percent(value: float) -> str:
    """Write a share: `83.3 %`."""
    return f"{number(round(value * 100, 1))} %"
