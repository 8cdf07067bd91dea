"""Measures over results: pass_rate and mean_score over field results, precision, recall and F1 over leaf results."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import reduce
from operator import add
from typing import Final, NamedTuple

from pytest_extract.core.engine.matches import Kept, weights_of, weights_or_results
from pytest_extract.core.measures.base import Measure
from pytest_extract.core.results import HALLUCINATION, MATCH, MISMATCH, OMISSION, SKIPPED, FieldResult, Status

_new: Final = tuple.__new__


class Counts(NamedTuple):
    """Sums over leaf results: `score` and number of those present on both sides, and of those on one side only."""

    score: float
    compared: int
    omitted: int
    hallucinated: int

    @property
    def precision(self) -> float:
        """Score over what was extracted; 1.0 where that is nothing (struct-extract-eval)."""
        return _share(self.score, self.compared + self.hallucinated)

    @property
    def recall(self) -> float:
        """Score over what gold holds; 1.0 where that is nothing."""
        return _share(self.score, self.compared + self.omitted)

    @property
    def f1(self) -> float:
        """Harmonic mean of precision and recall; 0.0 where both are, 1.0 where nothing was to be scored."""
        return harmonic_mean(self.precision, self.recall)


def harmonic_mean(precision: float, recall: float) -> float:
    """Return the harmonic mean of precision and recall; 0.0 where both are."""
    return 2 * precision * recall / (precision + recall) if precision + recall else 0.0


def _share(score: float, size: int) -> float:
    return score / size if size else 1.0


def count_leaf_results(leaves: Iterable[Kept]) -> Counts:
    """Sum over leaves; what is skipped or undecided does not count.

    Each sum is rounded: 1.0 is added for one match after the other, which loses nothing while the sum is whole.
    """
    total, compared = 0.0, 0
    others: list[Status] = []
    for leaf in leaves:
        if isinstance(leaf, FieldResult):
            if (status := leaf.status) is MATCH or status is MISMATCH:
                compared += 1
                total += leaf.score
            else:
                others.append(status)
            continue
        _, first, stop, _, _, _, _, unlike = leaf
        size = stop - first
        compared += size
        if not unlike and total.is_integer():
            total += size
            continue
        own = [1.0] * size
        for place, result in unlike.items():
            if result and ((status := result.status) is MATCH or status is MISMATCH):
                own[place - first] = result.score
                continue
            own[place - first] = 0.0
            compared -= 1
            if result:
                others.append(result.status)
        total = reduce(add, own, total)
    return _new(Counts, (total, compared, others.count(OMISSION), others.count(HALLUCINATION)))


def f1(leaves: Iterable[FieldResult]) -> float:
    """Return F1 over leaf results."""
    return count_leaf_results(leaves).f1


class ResultMeasures(NamedTuple):
    """The measures over results, in the order of `MEASURES`, whose rows tell what each is."""

    pass_rate: float
    mean_score: float
    precision: float
    recall: float
    f1: float


NO_MEASURES: Final = ResultMeasures(0.0, 0.0, 0.0, 0.0, 0.0)
"""Those of an output that does not count."""

MEASURES: Final = (
    Measure(
        name="pass_rate",
        doc="Passed fields / evaluated fields.",
        systems=("ours", "extract-bench"),
    ),
    Measure(
        name="mean_score",
        doc="Weighted mean score of the evaluated fields.",
        systems=("ours", "extract-bench"),
    ),
    Measure(
        name="precision",
        doc="Sum of leaf scores / leaves that the output has.",
        systems=("ours", "struct-extract-eval"),
    ),
    Measure(
        name="recall",
        doc="Sum of leaf scores / leaves that the gold has.",
        systems=("ours", "struct-extract-eval"),
    ),
    Measure(
        name="f1",
        doc="Harmonic mean of precision and recall.",
        systems=("ours", "struct-extract-eval"),
    ),
)


def field_measures(fields: Iterable[Kept], leaves: Iterable[Kept], *, empty: float = 1.0) -> ResultMeasures:
    """Return the measures over results; `empty` is the rate where no field was evaluated or nothing weighs."""
    counts = count_leaf_results(leaves)
    passed = 0
    scores: list[float] = []
    weights: list[float] = []
    for field in fields:
        if isinstance(field, FieldResult):
            own: Sequence[float | FieldResult] = (field,)
        elif field[-1]:  # others that differ
            own = weights_or_results(field)
        else:
            right = weights_of(field)
            passed += len(right)
            scores += right
            weights += right
            continue
        for one in own:
            if not isinstance(one, FieldResult):
                passed += 1
                scores.append(one)
                weights.append(one)
            elif one.status is not SKIPPED:
                passed += one.passed
                scores.append(one.score * one.weight)
                weights.append(one.weight)
    weight = sum(weights)
    pass_rate, mean_score = (passed / len(weights) if weights else empty), (sum(scores) / weight if weight else empty)
    precision, recall = counts.precision, counts.recall
    return _new(ResultMeasures, (pass_rate, mean_score, precision, recall, harmonic_mean(precision, recall)))
