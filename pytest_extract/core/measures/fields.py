"""Measures over results: pass_rate and mean_score over field results, precision, recall and F1 over leaf results."""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce
from itertools import repeat
from operator import add
from typing import TYPE_CHECKING, Final, NamedTuple

from pytest_extract.core.measures.base import Measure
from pytest_extract.core.results import FieldResult, Status

if TYPE_CHECKING:
    from pytest_extract.core.engine.matches import Kept


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
        precision, recall = self.precision, self.recall
        return 2 * precision * recall / (precision + recall) if precision + recall else 0.0


def _share(score: float, size: int) -> float:
    return score / size if size else 1.0


def count_leaf_results(leaves: Iterable[Kept]) -> Counts:
    """Sum over leaves; what is skipped or undecided does not count.

    Each sum is rounded, as if 1.0 were added for one match after the other; to a whole number, all at once is the same.
    """
    score, compared = 0.0, 0
    statuses: list[Status] = []
    for leaf in leaves:
        if not isinstance(leaf, FieldResult):
            size = leaf.stop - leaf.start
            compared += size
            score = score + size if score.is_integer() else reduce(add, repeat(1.0, size), score)
        elif (status := leaf.status) is Status.MATCH or status is Status.MISMATCH:
            compared += 1
            score += leaf.score
        else:
            statuses.append(status)
    return Counts(score, compared, statuses.count(Status.OMISSION), statuses.count(Status.HALLUCINATION))


def f1(leaves: Iterable[FieldResult]) -> float:
    """Return F1 over leaf results."""
    return count_leaf_results(leaves).f1


class ResultMeasures(NamedTuple):
    """The measures over results, each as its row of the table tells."""

    pass_rate: float
    mean_score: float
    precision: float
    recall: float
    f1: float


MEASURES: Final[tuple[Measure[[ResultMeasures]], ...]] = (
    Measure(
        name="pass_rate",
        function=lambda results: results.pass_rate,
        doc="Passed fields / evaluated fields.",
        systems=("ours", "extract-bench"),
    ),
    Measure(
        name="mean_score",
        function=lambda results: results.mean_score,
        doc="Weighted mean score of the evaluated fields.",
        systems=("ours", "extract-bench"),
    ),
    Measure(
        name="precision",
        function=lambda results: results.precision,
        doc="Sum of leaf scores / leaves that the output has.",
        systems=("ours", "struct-extract-eval"),
    ),
    Measure(
        name="recall",
        function=lambda results: results.recall,
        doc="Sum of leaf scores / leaves that the gold has.",
        systems=("ours", "struct-extract-eval"),
    ),
    Measure(
        name="f1",
        function=lambda results: results.f1,
        doc="Harmonic mean of precision and recall.",
        systems=("ours", "struct-extract-eval"),
    ),
)


def field_measures(fields: Iterable[Kept], leaves: Iterable[Kept], *, empty: float = 1.0) -> dict[str, float]:
    """Return the measures over results, by name; `empty` is the rate where no field was evaluated or nothing weighs."""
    counts = count_leaf_results(leaves)
    passed = 0
    scores: list[float] = []
    weights: list[float] = []
    for field in fields:
        if not isinstance(field, FieldResult):
            right = field.weights
            passed += len(right)
            scores += right
            weights += right
        elif field.status is not Status.SKIPPED:
            passed += field.passed
            scores.append(field.score * field.weight)
            weights.append(field.weight)
    weight = sum(weights)
    found = ResultMeasures(
        passed / len(weights) if weights else empty,
        sum(scores) / weight if weight else empty,
        counts.precision,
        counts.recall,
        counts.f1,
    )
    return {measure.name: measure.function(found) for measure in MEASURES}
