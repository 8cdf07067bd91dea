"""Comparisons of all pairs of two columns at once, with the numbers of the pair by pair comparison.

They are an offer to alignment: numpy is imported inside, and nothing here is needed to score one pair.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from functools import cache, partial
from typing import Any, Literal, TypeAlias

from pytest_extract.core.metrics.base import Compare, Matrix
from pytest_extract.core.values import Json

Floats = Any
"""A numpy array of float64."""


def key_matrix(key: Callable[[Json], Hashable]) -> Matrix:
    """Make the matrix of an equality from its key."""

    def matrix(gold: Sequence[Json], extracted: Sequence[Json], least: float = 0.0) -> Floats:
        import numpy as np

        del least
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

    def matrix(gold: Sequence[Json], extracted: Sequence[Json], least: float = 0.0) -> Floats:
        import numpy as np

        del least
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

    def matrix(gold: Sequence[Json], extracted: Sequence[Json], least: float = 0.0) -> Floats:
        import numpy as np
        from rapidfuzz.process import cdist

        rows, columns = texts_of(gold), texts_of(extracted)
        result = cdist(
            [text or "" for text in rows],
            [text or "" for text in columns],
            scorer=edit_similarity(edits),
            dtype=np.float64,
            score_cutoff=least,
        ).clip(least)
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


def exact_float(value: Json) -> float | None:
    """Return a JSON number as a float where that loses nothing and it is finite, else None."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, int) and not isinstance(value, bool) and -(2**53) <= value <= 2**53:
        return float(value)
    return None
