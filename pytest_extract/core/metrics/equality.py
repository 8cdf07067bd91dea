"""Plain facts about JSON values that every metric family needs: equality, keys and texts, total on any value.

Python's own `==`, `repr` and `json.dumps` stop at 1,000 levels of nesting and at integers of 4,300 digits;
these go on, and agree with them wherever they work.
"""

from __future__ import annotations

import json
import math
import unicodedata
from collections.abc import Callable, Hashable, Mapping
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from pytest_extract.core.values import CONTAINERS, NUMBERS, Json, json_type

Scalars = Callable[[Json, Json], bool]


def fold(text: str) -> str:
    """Return `text` after Unicode NFC with each run of white space as one space and none at the ends."""
    return " ".join((text if text.isascii() else unicodedata.normalize("NFC", text)).split())


def fold_case(text: str) -> str:
    """Return `fold(text)` without case (Unicode casefold, so "STRASSE" and "straße" agree)."""
    return fold(text.lower()) if text.isascii() else fold(fold(text).casefold())


def folding(*, case_sensitive: bool) -> Callable[[str], str]:
    """Return `fold` or `fold_case`."""
    return fold if case_sensitive else fold_case


_WIDE = {0xFF01 + offset: 0x21 + offset for offset in range(94)}
_INVISIBLE = [0x00AD, *range(0x200B, 0x2010), *range(0x202A, 0x202F), *range(0x2060, 0x206A), 0xFEFF]
_PLAIN_FORMS: Mapping[int, int | str | None] = MappingProxyType(
    {**_WIDE, 0xFFE0: "¢", 0xFFE1: "£", 0xFFE5: "¥", 0xFFE6: "₩", **dict.fromkeys(_INVISIBLE)}
)


def written(text: str) -> str:
    """Return `fold(text)` as a reader of numbers, dates and the like sees it.

    Full-width letters, digits and signs are the plain ones; what cannot be seen (marks of direction, joiners, soft
    hyphens), as copied from PDF files, is gone.
    """
    return " ".join(text.split()) if text.isascii() else fold(text.translate(_PLAIN_FORMS))


def a_type(value: Json) -> str:
    """Name the JSON type with its article: "a string", "an array", "null"."""
    name = json_type(value)
    if name == "null":
        return name
    return f"{'an' if name[0] in 'aeiou' else 'a'} {name}"


def types_differ(gold: Json, extracted: Json) -> str:
    """Say which type was expected, and which came."""
    return f"{a_type(gold)} expected, got {a_type(extracted)}"


def short(value: Json, limit: int = 60) -> str:
    """Return the value as JSON text, cut after `limit` characters."""
    text = json_text(value)
    return text if len(text) <= limit else f"{text[:limit]}..."


def is_number(value: Json) -> bool:
    """Whether the value is a JSON number that is one: no boolean, no NaN."""
    return isinstance(value, NUMBERS) and not isinstance(value, bool) and not is_nan(value)


def is_nan(value: Json) -> bool:
    """Whether the value is NaN; total, unlike `math.isnan`, which refuses large integers."""
    return isinstance(value, float) and math.isnan(value)


# --- equality


def same(gold: Json, extracted: Json) -> bool:
    """JSON equality: numbers by value (1 is 1.0), true is never 1, NaN is itself, key order does not count."""
    return _equal(gold, extracted, _same_scalars)


def python_equal(gold: Json, extracted: Json) -> bool:
    """Python's `==` (1 == 1.0 == True) at any depth; NaN is itself."""
    return _equal(gold, extracted, python_scalars)


def _same_scalars(gold: Json, extracted: Json) -> bool:
    if isinstance(gold, bool) is not isinstance(extracted, bool):
        return False
    return python_scalars(gold, extracted)


def python_scalars(gold: Json, extracted: Json) -> bool:
    """`python_equal` of two values of which none is a list or an object."""
    return bool(gold == extracted or (is_nan(gold) and is_nan(extracted)))


def _equal(gold: Json, extracted: Json, scalars: Scalars) -> bool:
    stack = [(gold, extracted)]
    while stack:
        one, other = stack.pop()
        if isinstance(one, dict) and isinstance(other, dict):
            if one.keys() != other.keys():
                return False
            stack.extend((one[key], other[key]) for key in one)
        elif isinstance(one, list) and isinstance(other, list):
            if len(one) != len(other):
                return False
            stack.extend(zip(one, other, strict=True))
        elif isinstance(one, CONTAINERS) or isinstance(other, CONTAINERS) or not scalars(one, other):
            return False
    return True


# --- keys: equal exactly where the values are


def same_key(value: Json) -> Hashable:
    """Return a hashable key that two values share exactly where `same` holds."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool) or value is None:
        return (value, "")
    if isinstance(value, NUMBERS):
        return ("nan",) if is_nan(value) else (value,)
    return ("container", _write(value, _number_as_value, _COMPACT))


def text_key(value: Json) -> Hashable:
    """Return the key of `text`: a string after NFC and white space folding, any other value as `same_key`."""
    return fold(value) if isinstance(value, str) else same_key(value)


def typed_key(value: Json) -> Hashable:
    """Return a key shared where the types are one and Python's `==` holds (struct-extract-eval's exact)."""
    if isinstance(value, CONTAINERS):
        return (type(value), _write(value, _python_as_value, _COMPACT))
    return (type(value), "nan" if is_nan(value) else value)


# --- texts


class _Style(NamedTuple):
    comma: str
    colon: str
    ordered: bool
    quoted: Callable[[str], str]


_ENCODER: Final = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def json_text(value: Json) -> str:
    """Return canonical JSON (sorted keys, no white space, 1 and 1.0 differ) of any value."""
    try:
        return _ENCODER.encode(value)
    except (RecursionError, ValueError, TypeError):
        return _write(value, _json_scalar, _COMPACT)


def python_text(value: Json) -> str:
    """Return Python's `str` of any value: text as it is, `True`, `None`, lists and dicts by repr."""
    if isinstance(value, str):
        return value
    try:
        return str(value)
    except (RecursionError, ValueError):
        return _write(value, _python_scalar, _PYTHON)


def _big(value: int) -> str:
    try:
        return str(value)
    except ValueError:  # Python's limit of 4,300 digits
        return hex(value)


def _json_scalar(value: Json) -> str:
    if isinstance(value, int) and not isinstance(value, bool):
        return _big(value)
    try:
        return _ENCODER.encode(value)
    except TypeError:  # no JSON: an object from a caller's own code
        return repr(value)


def _python_scalar(value: Json) -> str:
    return _big(value) if isinstance(value, int) and not isinstance(value, bool) else repr(value)


def _number_as_value(value: Json) -> str:
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return _json_scalar(value)


def _python_as_value(value: Json) -> str:
    return _number_as_value(int(value) if isinstance(value, bool) else value)


_COMPACT = _Style(",", ":", ordered=True, quoted=_ENCODER.encode)
_PYTHON = _Style(", ", ": ", ordered=False, quoted=repr)


def _write(value: Json, scalar: Callable[[Json], str], style: _Style) -> str:
    """Write any value without recursion."""
    parts: list[str] = []
    waiting: list[tuple[bool, Any]] = [(False, value)]  # whether it is written already, and what; the last is the next
    while waiting:
        is_text, item = waiting.pop()
        if is_text or not isinstance(item, CONTAINERS):
            parts.append(item if is_text else scalar(item))
            continue
        if isinstance(item, dict):
            names = sorted(item) if style.ordered else item
            inside = [(f"{style.quoted(name)}{style.colon}", item[name]) for name in names]
        else:
            inside = [("", row) for row in item]
        opening, closing = "{}" if isinstance(item, dict) else "[]"
        parts.append(opening)
        waiting.append((True, closing))
        for place, (before, inner) in reversed([*enumerate(inside)]):
            waiting += (False, inner), (True, f"{style.comma if place else ''}{before}")
    return "".join(parts)
