"""How numbers, shares, counts and lists are written in a sentence."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum

from pytest_extract.core.values import nearly


class Word(StrEnum):
    """Words of results files and tables; `text` is what people read for one."""

    @property
    def text(self) -> str:
        """The word without underscores."""
        return self.replace("_", " ")


def number_text(value: float) -> str:
    """Write a number for people: at least four significant digits, no trailing zeros, thousands apart: `0.9474`."""
    if 1e3 <= abs(value) < 1e15 or (value == int(value) and abs(value) < 1e15):
        return f"{value:,.0f}"
    return f"{value:.4g}"


def score_number(value: float) -> str:
    """Write a score or a mean of scores, with at most four decimal places: `0.9474`. Only 0 is `0`, and only 1 `1`."""
    return nearly(value, 1, 4) or number_text(round(value, 4))


def percent(value: float) -> str:
    """Write a share as a percentage: `83.3 %`. Only none is `0 %`, and only all `100 %`: else `< 0.1 %`, `> 99.9 %`."""
    return f"{nearly(value) or number_text(round(value * 100, 1))} %"


def plural(count: int, noun: str, nouns: str | None = None) -> str:
    """Count things: `1 field`, `3 fields`."""
    return f"{count:,} {noun if count == 1 else nouns or f'{noun}s'}"


def first_of(texts: Sequence[str], most: int, noun: str = "", hint: str = "") -> list[str]:
    """Return the first `most` texts, and one that counts the others: `… and 3 more`, `… and 1 more line`."""
    left = len(texts) - most
    if left <= 0:
        return [*texts]
    return [*texts[:most], f"… and {plural(left, f'more {noun}') if noun else f'{left:,} more'}{hint}"]


def listed(names: Sequence[str], most: int = 5, nouns: str = "") -> str:
    """Name the first `most` in a sentence, and count the others: `a, b and 3 more`."""
    left = len(names) - most
    named = ", ".join(names[:most])
    return f"{named} and {left:,} more{nouns and f' {nouns}'}" if left > 0 else named
