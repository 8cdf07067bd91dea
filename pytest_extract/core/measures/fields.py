"""Measures over results: pass_rate and mean_score over field results, precision, recall and F1 over leaf results."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Final, NamedTuple

from pytest_extract.core.measures.base import Measure
from pytest_extract.core.results import (
    HALLUCINATION,
    MATCH,
    MISMATCH,
    OMISSION,
    SKIPPED,
    FieldResult,
    Status,
)


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


def count_leaf_results(leaves: Iterable[FieldResult]) -> Counts:
    """Sum over leaves; what is skipped or undecided does not count."""
    total = 0.0
    found: Counter[Status] = Counter()
    for leaf in leaves:
        status = leaf.status
        found[status] += 1
        if status is MATCH or status is MISMATCH:
            total += leaf.score
    return Counts(total, found[MATCH] + found[MISMATCH], found[OMISSION], found[HALLUCINATION])


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


def field_measures(
    fields: Iterable[FieldResult], leaves: Iterable[FieldResult], *, empty: float = 1.0
) -> ResultMeasures:
    """Return the measures over results; `empty` is the rate where no field was evaluated or nothing weighs."""
    evaluated = [field for field in fields if field.status is not SKIPPED]
    weight = sum([field.weight for field in evaluated])
    counts = count_leaf_results(leaves)
    return ResultMeasures(
        pass_rate=sum([field.passed for field in evaluated]) / len(evaluated) if evaluated else empty,
        mean_score=sum([field.score * field.weight for field in evaluated]) / weight if weight else empty,
        precision=counts.precision,
        recall=counts.recall,
        f1=counts.f1,
    )
