"""Measures over results: pass_rate and mean_score over field results, precision, recall and F1 over leaf results."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import reduce
from itertools import compress
from operator import add, itemgetter
from typing import Any, Final, NamedTuple

from pytest_extract.core.measures.base import Measure
from pytest_extract.core.results import SCORED, FieldResult, Status

_status_of: Final[Any] = itemgetter(FieldResult._fields.index("status"))
_score_of: Final[Any] = itemgetter(FieldResult._fields.index("score"))


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


def count_leaf_results(leaves: Sequence[FieldResult]) -> Counts:
    """Sum over leaf results; what is skipped or undecided does not count."""
    statuses = [*map(_status_of, leaves)]
    scores: Iterable[float] = map(_score_of, leaves)
    others = [status for status in statuses if status is not Status.MATCH]
    compared = len(statuses) - len(others) + others.count(Status.MISMATCH)
    if compared < len(statuses):
        scores = compress(scores, map(SCORED.__contains__, statuses))
    omitted, hallucinated = others.count(Status.OMISSION), others.count(Status.HALLUCINATION)
    return Counts(reduce(add, scores, 0.0), compared, omitted, hallucinated)  # from Python 3.12 on `sum` rounds less


def f1(leaves: Sequence[FieldResult]) -> float:
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


def field_measures(
    fields: Sequence[FieldResult], leaves: Sequence[FieldResult], *, empty: float = 1.0
) -> dict[str, float]:
    """Return the measures over results, by name; `empty` is the rate where no field was evaluated or nothing weighs."""
    counts = count_leaf_results(leaves)
    evaluated = [result for result in fields if result.status is not Status.SKIPPED]
    passed, weight = sum([result.passed for result in evaluated]), sum([result.weight for result in evaluated])
    score = sum([result.score * result.weight for result in evaluated])
    found = ResultMeasures(
        passed / len(evaluated) if evaluated else empty,
        score / weight if weight else empty,
        counts.precision,
        counts.recall,
        counts.f1,
    )
    return {measure.name: measure.function(found) for measure in MEASURES}
