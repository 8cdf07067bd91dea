"""Text as it is compared in a search, and the way back from it to the offsets of the text that it was made from."""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Iterable
from functools import lru_cache
from typing import Final, TypeAlias

_DASHES: Final = "\u2010\u2011\u2012\u2013\u2014\u2015\u2212\ufe58\ufe63\uff0d"
_QUOTES: Final = "\u2018\u2019\u201a\u201b\u2032\u02bc\u00b4\u201c\u201d\u201e\u201f\u2033\u00ab\u00bb\u2039\u203a"
_PLAIN: Final = str.maketrans('"`', "''")
_LOOK_ALIKE: Final = {ord(each): "-" for each in _DASHES} | {ord(each): "'" for each in _QUOTES}
_INVISIBLE: Final = frozenset("\u00ad\u200b\u200c\u200d\u2060\ufeff\ufffe")
_MARKS: Final = "\u0300-\u036f"
_PIECES: Final = re.compile(
    rf"((?:[\x21-\x7e](?![{_MARKS}]))+(?: (?:[\x21-\x7e](?![{_MARKS}]))+)*)|(\s+)|(.[{_MARKS}]*)", re.DOTALL
)
"""Plain ASCII words with single spaces between them; white space; another character with its combining marks."""
_LETTERS: Final = re.compile(r"[^\W_]+")

Piece: TypeAlias = tuple[str, int, int]
"""A part of a derived text, and the offsets of its origin."""


class DerivedText:
    """A text made from pieces of another; `span` leads back. A piece as long as its origin is its characters."""

    def __init__(self, pieces: Iterable[Piece]) -> None:
        parts: list[str] = []
        self._starts: list[int] = []
        self._origins: list[tuple[int, int]] = []
        length = 0
        for text, start, end in pieces:
            if text:
                self._starts.append(length)
                self._origins.append((start, end))
                parts.append(text)
                length += len(text)
        self.text: Final = "".join(parts)

    def span(self, start: int, end: int) -> tuple[int, int]:
        """Return the offsets in the origin of the characters from `start` to `end`, of which there is at least one."""
        return self._origin(start)[0], self._origin(end - 1)[1]

    def _origin(self, at: int) -> tuple[int, int]:
        piece = bisect_right(self._starts, at) - 1
        start, end = self._origins[piece]
        size = (self._starts[piece + 1] if piece + 1 < len(self._starts) else len(self.text)) - self._starts[piece]
        if size != end - start:
            return start, end
        return start + at - self._starts[piece], start + at - self._starts[piece] + 1


def fold_text(text: str) -> DerivedText:
    """Fold a text: lower case, equal dashes and quotes, no ligatures, no invisible characters, one space for many."""
    return DerivedText(
        (
            plain.lower().translate(_PLAIN) if plain is not None else " " if space is not None else _folded(other),
            piece.start(),
            piece.end(),
        )
        for piece in _PIECES.finditer(text)
        for plain, space, other in (piece.groups(),)
    )


@lru_cache(maxsize=4096)
def _folded(character: str) -> str:
    if character in _INVISIBLE:
        return ""
    text = unicodedata.normalize("NFKC", character).casefold()
    return unicodedata.normalize("NFC", text).translate(_LOOK_ALIKE).translate(_PLAIN)


def letters_of(text: str) -> DerivedText:
    """Keep the letters and digits of a text: neither punctuation, nor spaces, nor hyphens at the end of a line."""
    return DerivedText((piece[0], piece.start(), piece.end()) for piece in _LETTERS.finditer(text))
