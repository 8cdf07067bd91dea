"""Comparisons of all pairs of two columns at once, with the numbers of the pair by pair comparison.

They are an offer to alignment: numpy is imported inside, and nothing here is needed to score one pair.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Hashable, Iterator, Sequence
from functools import cache, partial
from operator import sub
from typing import Any, Literal, TypeAlias

from pytest_extract.core.metrics.base import Against, Compare, Matrix, Near, Reach, Search
from pytest_extract.core.values import Json

Floats = Any
"""A numpy array of float64."""
_NUMBERS = frozenset({int, float})


def key_matrix(key: Callable[[Json], Hashable]) -> Matrix:
    """Make the matrix of an equality from its key."""

    def matrix(gold: Sequence[Json], extracted: Sequence[Json]) -> Floats:
        import numpy as np

        ids: dict[Hashable, int] = {}
        rows = np.fromiter((ids.setdefault(key(v), len(ids)) for v in gold), np.int64, len(gold))
        columns = np.fromiter((ids.setdefault(key(v), len(ids)) for v in extracted), np.int64, len(extracted))
        return (rows[:, None] == columns[None, :]).astype(np.float64)

    return matrix


def number_matrix(
    convert: Callable[[Json], float | None], kernel: Callable[[Floats, Floats], Floats], compare: Compare
) -> Matrix:
    """Make a matrix from a kernel over finite floats; values that `convert` refuses are compared pair by pair.

    `kernel` gets a column vector and a row vector and returns a matrix of booleans.
    """

    def matrix(gold: Sequence[Json], extracted: Sequence[Json]) -> Floats:
        import numpy as np

        rows = [convert(value) for value in gold]
        columns = [convert(value) for value in extracted]
        left = np.array([0.0 if v is None else v for v in rows], np.float64)[:, None]
        right = np.array([0.0 if v is None else v for v in columns], np.float64)[None, :]
        with np.errstate(all="ignore"):
            result = kernel(left, right).astype(np.float64)
        odd = [j for j, value in enumerate(columns) if value is None]
        for i, value in enumerate(rows):
            for j in range(len(columns)) if value is None else odd:
                result[i, j] = compare(gold[i], extracted[j])
        return result

    return matrix


Texts: TypeAlias = Callable[[Sequence[Json]], Sequence[str | None]]
"""The texts that many values are compared by; None for a value without one."""


Edits: TypeAlias = Literal["Levenshtein", "Indel"]
"""What is counted in 1 - edits / most edits: with substitutions, or insertions and deletions only (rapidfuzz)."""


def text_matrix(
    normal: Callable[[Json], str | None], compare: Compare, at_once: Texts | None = None, edits: Edits = "Levenshtein"
) -> Matrix:
    """Make the matrix of normalised similarity; values without a text are compared pair by pair.

    `at_once`: `normal` of many values.
    """
    texts_of = at_once or partial(_each, normal)

    def matrix(gold: Sequence[Json], extracted: Sequence[Json]) -> Floats:
        import numpy as np
        from rapidfuzz.process import cdist

        rows, columns = texts_of(gold), texts_of(extracted)
        result = cdist(
            [text or "" for text in rows],
            [text or "" for text in columns],
            scorer=edit_similarity(edits),
            dtype=np.float64,
        )
        odd = [j for j, text in enumerate(columns) if text is None]
        for i, text in enumerate(rows):
            for j in range(len(columns)) if text is None else odd:
                result[i, j] = compare(gold[i], extracted[j])
        return result

    return matrix


def _each(normal: Callable[[Json], str | None], values: Sequence[Json]) -> Sequence[str | None]:
    return [*map(normal, values)]


@cache
def edit_similarity(edits: Edits) -> Any:
    """Return rapidfuzz's function of two texts."""
    from rapidfuzz import distance

    return getattr(distance, edits).normalized_similarity


def text_against(normal: Callable[[Json], str | None], compare: Compare, edits: Edits = "Levenshtein") -> Against:
    """Make the row by row form of normalised similarity; values without a text go pair by pair."""

    def against(extracted: Sequence[Json]) -> Callable[[Json], Sequence[float]]:
        similarity = edit_similarity(edits)
        texts = [normal(value) for value in extracted]
        odd = [j for j, text in enumerate(texts) if text is None]
        plain_texts = [text or "" for text in texts]

        def scores(gold: Json) -> Sequence[float]:
            text = normal(gold)
            if text is None:
                return [compare(gold, value) for value in extracted]
            row = [similarity(text, other) for other in plain_texts]
            for j in odd:
                row[j] = compare(gold, extracted[j])
            return row

        return scores

    return against


@cache
def _extract() -> Any:
    """Import what searches, once: a statement inside a function takes as long as comparing two texts."""
    from rapidfuzz.process import extract

    return extract


def text_search(
    normal: Callable[[Json], str | None], compare: Compare, at_once: Texts | None = None, edits: Edits = "Levenshtein"
) -> Search:
    """Make the search by normalised similarity; values without a text are compared pair by pair."""
    texts_of = at_once or partial(_each, normal)

    def search(extracted: Sequence[Json]) -> Callable[[Json, float], list[tuple[int, float]]]:
        extract = _extract()
        similarity = edit_similarity(edits)
        texts = texts_of(extracted)
        odd = [j for j, text in enumerate(texts) if text is None]
        sizes = [-1 if text is None else len(text) for text in texts]
        places = sorted(range(len(texts)), key=sizes.__getitem__)[len(odd) :]
        lengths, ordered = [sizes[j] for j in places], [texts[j] for j in places]

        def scores(gold: Json, cutoff: float) -> list[tuple[int, float]]:
            text = normal(gold)
            if text is None:
                return [(j, compare(gold, value)) for j, value in enumerate(extracted)]
            # the difference of two lengths is edited at least, so that the others' lengths are bounded
            share = cutoff if edits == "Levenshtein" else cutoff / (2 - cutoff)
            first = bisect_left(lengths, share * len(text) - 1)
            last = bisect_right(lengths, len(text) / share + 1) if share else len(lengths)
            near = ordered[first:last]
            found = extract(text, near, scorer=similarity, limit=None, score_cutoff=cutoff)
            return [(places[first + n], score) for _, score, n in found] + [
                (j, compare(gold, extracted[j])) for j in odd
            ]

        return scores

    return search


def number_near(
    convert: Callable[[Json], float | None],
    reach: Reach,
    compare: Compare,
    key: Callable[[Json], Hashable],
) -> Near:
    """Make the near pairs of a tolerance: `reach` is the range of extracted numbers that a gold number can match.

    Values that `convert` refuses match only where their keys are equal.
    """

    def near(gold: Sequence[Json], extracted: Sequence[Json]) -> Iterator[tuple[int, int, float]]:
        theirs = _floats(extracted, convert)
        ours = theirs if gold is extracted else _floats(gold, convert)
        known = {j: number for j, number in enumerate(theirs) if number is not None}
        order = sorted(known, key=known.__getitem__)
        numbers = [known[j] for j in order]
        others = _by_key([j for j, number in enumerate(theirs) if number is None], extracted, key)
        for i, number in enumerate(ours):
            if number is None:
                candidates = others.get(key(gold[i]), [])
            else:
                low, high = reach(number)
                start = bisect_left(numbers, low)
                candidates = order[start : bisect_right(numbers, high, start)]
            for j in candidates:
                score = compare(gold[i], extracted[j])
                if score > 0:
                    yield i, j, score

    return near


def finite_numbers(values: Sequence[Any]) -> Sequence[float] | None:
    """Return values that are all finite numbers, and no greater than a float can be, as they are; else None."""
    try:
        return values if {*map(type, values)} <= _NUMBERS and math.isfinite(math.fsum(values)) else None
    except (OverflowError, ValueError):  # infinities of both signs; a sum that is too large
        return None


def are_apart(numbers: Sequence[float], reach: Reach) -> bool:
    """Whether none of some ascending numbers is within reach of another."""
    if len(numbers) > 1:
        low, high = reach(max(numbers[-1], -numbers[0]))  # none reaches further
        if min(map(sub, numbers[1:], numbers)) > high - low:
            return True
    below = -math.inf
    before = -math.inf
    for number in numbers:
        low, high = reach(number)
        if number <= below or low <= before:
            return False
        below, before = high, number
    return True


def _floats(values: Sequence[Json], convert: Callable[[Json], float | None]) -> Sequence[float | None]:
    return list(map(convert, values)) if (numbers := finite_numbers(values)) is None else numbers


def _by_key(
    places: Sequence[int], values: Sequence[Json], key: Callable[[Json], Hashable]
) -> dict[Hashable, list[int]]:
    found: dict[Hashable, list[int]] = {}
    for place in places:
        found.setdefault(key(values[place]), []).append(place)
    return found


def exact_float(value: Json) -> float | None:
    """Return a JSON number as a float where that loses nothing and it is finite, else None."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, int) and not isinstance(value, bool) and -(2**53) <= value <= 2**53:
        return float(value)
    return None
