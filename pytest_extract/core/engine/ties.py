"""Of pairings that are equally good, the one in which rows keep their order, as far as exchanging partners leads."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from itertools import combinations, pairwise
from typing import Final

MOST_COMPARED: Final = 8
"""Pairs up to which each is looked at with each other; in longer lists each with the next."""
_ROUNDING: Final = 1e-12


def equal_in_order(
    pairs: Iterable[tuple[int, int]], ours: Sequence[Hashable], theirs: Sequence[Hashable]
) -> list[tuple[int, int]]:
    """Exchange rows that are equal, so that their partners stand in the order of the rows: no score changes.

    Where some of them have no partner, one that has it in its own place comes first.
    """
    found = pairs if len({*ours}) == len(ours) else _sorted_within(pairs, ours)
    if len({*theirs}) < len(theirs):
        found = [(i, j) for j, i in _sorted_within([(j, i) for i, j in found], theirs)]
    return sorted(found)


def _sorted_within(pairs: Iterable[tuple[int, int]], rows: Sequence[Hashable]) -> list[tuple[int, int]]:
    groups: dict[Hashable, list[tuple[int, int]]] = {}
    for i, j in pairs:
        groups.setdefault(rows[i], []).append((i, j))
    found: list[tuple[int, int]] = []
    for key, group in groups.items():
        partners = sorted(j for _, j in group)
        placed = [j for j in partners if j < len(rows) and rows[j] == key]
        own = dict.fromkeys([*placed, *sorted(i for i, _ in group)])
        found += zip(sorted([*own][: len(group)]), partners, strict=True)
    return found


def in_order(
    pairs: Sequence[tuple[int, int]],
    score: Callable[[int, int], float],
    bound: Callable[[int, int], float] | None = None,
) -> list[tuple[int, int]]:
    """Exchange the partners of two pairs that cross wherever the sum of scores stays the same, until none is left.

    Those that score 1.0 stay, and none comes to score 0.0. `bound`: what a pair scores at most, where that is cheaper
    to find.
    """
    if len(pairs) < 2:
        return [*pairs]
    found = dict(pairs)
    own = {i: score(i, j) for i, j in _crossing(pairs)}
    rows = sorted(i for i, worth in own.items() if worth < 1.0 - _ROUNDING)
    exchanged = True
    while exchanged:
        exchanged = False
        for one, other in _neighbours(rows):
            j, k = found[one], found[other]
            if j < k:
                continue
            least = own[one] + own[other] - _ROUNDING
            if bound is not None and bound(one, k) + bound(other, j) < least:
                continue
            first, second = score(one, k), score(other, j)
            if min(first, second) > 0.0 and first + second >= least:
                found[one], found[other] = k, j
                own[one], own[other] = first, second
                exchanged = True
    return sorted(found.items())


def _crossing(pairs: Sequence[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Give the pairs that cross another: those after which a lower, or before which a higher partner stands."""
    ordered = sorted(pairs)
    lowest_after: list[int] = []
    lowest = ordered[-1][1] + 1 if ordered else 0
    for _, j in reversed(ordered):
        lowest_after.append(lowest)
        lowest = min(lowest, j)
    highest = -1
    for (i, j), after in zip(ordered, reversed(lowest_after), strict=True):
        if after < j or highest > j:
            yield i, j
        highest = max(highest, j)


def _neighbours(rows: Sequence[int]) -> Iterator[tuple[int, int]]:
    return iter(combinations(rows, 2) if len(rows) <= MOST_COMPARED else pairwise(rows))
