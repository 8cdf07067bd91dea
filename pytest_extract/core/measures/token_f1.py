"""Token F1 as SOB computes it: words in lower case, without punctuation and English articles."""

from __future__ import annotations

import re
from typing import Final

from pytest_extract.core.values import Json

_WORD = re.compile(r"\w+")
_ARTICLES: Final = frozenset({"a", "an", "the"})
_SPACES: Final = {code: " " for code in range(128) if not _WORD.match(chr(code))}
_FEW: Final = 16


def token_f1(gold: Json, value: Json) -> float:
    """F1 of the two multisets of words; 1 when neither has any, 0 when one has none."""
    return words_f1(words(gold), words(value))


def words_f1(expected: list[str], found: list[str]) -> float:
    """F1 of two multisets of words."""
    if not expected or not found:
        return 0.0 if expected or found else 1.0
    shared = _shared(expected, found)
    return 2 * shared / (len(expected) + len(found)) if shared else 0.0


def words(value: Json) -> list[str]:
    """Words of a leaf; null reads "null", true "true", numbers as Python writes them (2.5 is two words)."""
    text = _lowered_text(value)
    if text.isalnum():
        return [] if text in _ARTICLES else [text]
    found = text.translate(_SPACES).split() if text.isascii() else _WORD.findall(text)
    return found if _ARTICLES.isdisjoint(found) else [word for word in found if word not in _ARTICLES]


def _lowered_text(value: Json) -> str:
    if type(value) is str:
        return value.lower()
    if value is None:
        return "null"
    try:
        return str(value).lower()
    except ValueError:  # more digits than Python writes in decimal
        return hex(value)


def _shared(one: list[str], other: list[str]) -> int:
    """Size of the intersection of two multisets; few words are compared faster one by one."""
    if len(other) > _FEW:
        return sum([min(one.count(word), other.count(word)) for word in {*one} & {*other}])
    rest = list(other)
    for word in one:
        if word in rest:
            rest.remove(word)
    return len(other) - len(rest)
