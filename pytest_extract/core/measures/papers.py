"""Measures of papers, for comparison with their numbers; worked out only where a case bounds them."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final, NamedTuple

from pytest_extract.core.measures.base import Measure
from pytest_extract.core.values import Json

_LEAST_SIMILARITY: Final = 0.5


class _Similarity(NamedTuple):
    """The similarities of the leaves of two values, added up, and how many leaves there are on either side."""

    total: float
    leaves: int

    @property
    def mean(self) -> float:
        """The mean similarity, 1.0 without a leaf."""
        return self.total / self.leaves if self.leaves else 1.0


def anls_star(gold: Json, extracted: Json) -> float:
    """Return ANLS*: the mean similarity of the leaves of both sides, lists paired best, none below one half.

    Source: Peer et al., arXiv 2402.03848. A value ten times too large costs next to nothing.
    """
    try:
        return _compared(gold, extracted).mean
    except RecursionError:  # nested hundreds of levels deep
        return 0.0


def _compared(gold: Json, extracted: Json) -> _Similarity:
    if isinstance(gold, dict) and isinstance(extracted, dict):
        parts = [_compared(gold.get(key), extracted.get(key)) for key in gold.keys() | extracted.keys()]
        free = sum(key not in gold and _is_nothing(extracted[key]) for key in extracted)  # counts, and earns nothing
        return _Similarity(sum(part.total for part in parts) - free, sum(part.leaves for part in parts))
    if isinstance(gold, list) and isinstance(extracted, list):
        return _compared_lists(gold, extracted)
    most = max(_size(gold), _size(extracted))
    if gold is None:
        return _Similarity(float(_is_nothing(extracted)), most)
    if isinstance(gold, dict | list) or isinstance(extracted, dict | list) or extracted is None:
        return _Similarity(0.0, most)
    from rapidfuzz.distance import Levenshtein

    one, other = (" ".join(str(side).lower().split()) for side in (gold, extracted))
    similarity = Levenshtein.normalized_similarity(one, other)
    return _Similarity(similarity if similarity >= _LEAST_SIMILARITY else 0.0, most)


def _compared_lists(gold: list[Json], extracted: list[Json]) -> _Similarity:
    from pytest_extract.core.engine.assignment import assign  # few ask for it

    table = [[_compared(one, other) for other in extracted] for one in gold]
    scores = [[cell.mean for cell in row] for row in table]
    for i, one in enumerate(gold):
        for j, other in enumerate(extracted):
            if one == other:  # first among those that are as similar
                scores[i][j] = math.nextafter(scores[i][j], math.inf)
    pairs = assign(scores)
    left = {*range(len(gold))} - {i for i, _ in pairs}, {*range(len(extracted))} - {j for _, j in pairs}
    alone = sum(_size(gold[i]) for i in left[0]) + sum(_size(extracted[j]) for j in left[1])
    return _Similarity(sum(table[i][j].total for i, j in pairs), sum(table[i][j].leaves for i, j in pairs) + alone)


def _size(value: Json) -> int:
    if isinstance(value, dict | list):
        return sum(map(_size, value.values() if isinstance(value, dict) else value))
    return 1


def _is_nothing(value: Json) -> bool:
    return value is None or value in ({}, [], "")


PAPER_MEASURES: Final[Mapping[str, Callable[[Json, Json], float]]] = MappingProxyType({"anls_star": anls_star})
MEASURES: Final = (
    Measure("anls_star", "ANLS* (arXiv 2402.03848). Needs a threshold; for comparison with papers, not for a gate."),
)
