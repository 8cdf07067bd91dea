"""Token F1 as SOB computes it: words in lower case, without punctuation and English articles."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final, TypeAlias

from pytest_extract.core.values import Json

WORD = re.compile(r"\w+")
ARTICLES: Final = ("a", "an", "the")
_SPACED: Final = bytes([code if WORD.match(chr(code)) else ord(" ") for code in range(128)]).ljust(256)
"""Translates ASCII: what no word holds becomes a space."""


Words: TypeAlias = tuple[int, Mapping[str, int]]
"""The words of a value as a multiset: how many they are, and how often each occurs."""


def token_f1(gold: Json, value: Json) -> float:
    """F1 of the two multisets of words; 1 when neither has any, 0 when one has none."""
    return words_f1(words(gold), words(value))


def words_f1(expected: Words, found: Words) -> float:
    """F1 of two multisets of words."""
    (size, ours), (other_size, theirs) = expected, found
    if not size or not other_size:
        return 0.0 if size or other_size else 1.0
    both = ours.keys() & theirs.keys()
    shared = sum([min(ours[word], theirs[word]) for word in both]) if both else 0
    return 2 * shared / (size + other_size) if shared else 0.0


def words(value: Json) -> Words:
    """Words of a leaf; null reads "null", true "true", numbers as Python writes them (2.5 is two words)."""
    text = _lowered_text(value)
    if text.isalnum():
        return (0, {}) if text in ARTICLES else (1, {text: 1})
    listed = text.encode().translate(_SPACED).decode().split() if text.isascii() else WORD.findall(text)
    counts: dict[str, int] = {}
    for word in listed:  # a Counter takes longer to be made
        counts[word] = counts.get(word, 0) + 1
    size = len(listed)
    for article in ARTICLES:
        if article in counts:
            size -= counts.pop(article)
    return size, counts


def _lowered_text(value: Json) -> str:
    if type(value) is str:
        return value.lower()
    if value is None:
        return "null"
    try:
        return str(value).lower()
    except ValueError:  # more digits than Python writes in decimal
        return hex(value)
