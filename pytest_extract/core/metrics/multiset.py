"""Multisets whose common part is counted fast."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable
from typing import NamedTuple


class Bag(NamedTuple):
    """How often each item occurs, and how many there are."""

    counts: Counter[Hashable]
    size: int


def bag_of(items: Iterable[Hashable], *, repeats: bool = True) -> Bag:
    """Count items; without `repeats` each once."""
    counts = Counter(items) if repeats else Counter(dict.fromkeys(items, 1))
    return Bag(counts, counts.total())


def common(one: Bag, other: Bag) -> int:
    """Return the size of the multiset intersection."""
    if len(one.counts) > len(other.counts):
        one, other = other, one
    counts = other.counts
    return sum([min(number, counts[item]) for item, number in one.counts.items() if item in counts])


def bag_f1(one: Bag, other: Bag) -> float:
    """Return 2 * common / (size + size); two empty bags are equal."""
    size = one.size + other.size
    return 2 * common(one, other) / size if size else 1.0
