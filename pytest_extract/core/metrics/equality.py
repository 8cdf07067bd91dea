"""Plain facts about JSON values that every metric family needs: folding, equality and keys, total on any value."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Callable, Hashable, Mapping
from types import MappingProxyType

from pytest_extract.core.values import (
    CONTAINERS,
    NUMBERS,
    Json,
    canonical_json,
    json_type,
    scalar_text,
    with_article,
    written_json,
)


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
    {**_WIDE, 0x2010: "-", 0x2011: "-", 0xFFE0: "¢", 0xFFE1: "£", 0xFFE5: "¥", 0xFFE6: "₩", **dict.fromkeys(_INVISIBLE)}
)


def written(text: str) -> str:
    """Return `fold(text)` as a reader of numbers, dates and the like sees it.

    Full-width letters, digits and signs are the plain ones; what cannot be seen (marks of direction, joiners, soft
    hyphens), as copied from PDF files, is gone.
    """
    return " ".join(text.split()) if text.isascii() else fold(text.translate(_PLAIN_FORMS))


def a_type(value: Json) -> str:
    """Name the JSON type with its article: "a string", "an array", "null"."""
    return with_article(json_type(value))


def types_differ(gold: Json, extracted: Json) -> str:
    """Say which type was expected, and which came."""
    return f"{a_type(gold)} expected, got {a_type(extracted)}"


def short(value: Json, limit: int = 60) -> str:
    """Return the value as JSON text, cut after `limit` characters."""
    text = canonical_json(value)
    return text if len(text) <= limit else f"{text[:limit]}..."


def is_number(value: Json) -> bool:
    """Whether the value is a JSON number that is one: no boolean, no NaN."""
    return isinstance(value, NUMBERS) and not isinstance(value, bool) and not is_nan(value)


def is_nan(value: Json) -> bool:
    """Whether the value is NaN; total, unlike `math.isnan`, which refuses large integers."""
    return isinstance(value, float) and math.isnan(value)


# --- equality: keys that two values share exactly where they are equal


def same(gold: Json, extracted: Json) -> bool:
    """JSON equality: numbers by value (1 is 1.0), true is never 1, NaN is itself, key order does not count."""
    return same_key(gold) == same_key(extracted)


def python_equal(gold: Json, extracted: Json) -> bool:
    """Python's `==` (1 == 1.0 == True) at any depth; NaN is itself."""
    return _python_key(gold) == _python_key(extracted)


def same_key(value: Json) -> Hashable:
    """Return a hashable key that two values share exactly where `same` holds."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool) or value is None:
        return (value, "")
    if isinstance(value, NUMBERS):
        return ("nan",) if is_nan(value) else (value,)
    return ("container", written_json(value, _number_as_value))


def text_key(value: Json) -> Hashable:
    """Return the key of `text`: a string after NFC and white space folding, any other value as `same_key`."""
    return fold(value) if isinstance(value, str) else same_key(value)


def typed_key(value: Json) -> Hashable:
    """Return a key shared where the types are one and Python's `==` holds (struct-extract-eval's exact)."""
    return type(value), _python_key(value)


def _python_key(value: Json) -> Hashable:
    if isinstance(value, CONTAINERS):
        return ("container", written_json(value, _python_as_value))
    return same_key(int(value) if isinstance(value, bool) else value)


def strict_key(value: Json) -> Hashable:
    """Return a key that two values share when they are the same JSON of the same types: 1, 1.0 and true all differ."""
    if isinstance(value, CONTAINERS):
        return type(value), canonical_json(value)
    return type(value), value if value == value else "nan"  # noqa: PLR0124 - NaN


def _number_as_value(value: Json) -> str:
    return scalar_text(int(value) if isinstance(value, float) and value.is_integer() else value)


def _python_as_value(value: Json) -> str:
    return _number_as_value(int(value) if isinstance(value, bool) else value)


def python_text(value: Json) -> str:
    """Return Python's `str` of a value; canonical JSON of one that is too deep or too long for it."""
    try:
        return str(value)
    except (RecursionError, ValueError):
        return canonical_json(value)
