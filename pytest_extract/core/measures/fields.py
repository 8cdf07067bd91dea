"""Measures over results: pass_rate and mean_score over field results, precision, recall and F1 over leaf results."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final, NamedTuple

from pytest_extract.core.measures.base import Measure
from pytest_extract.core.results import FieldResult, Status

_LEFT_OUT = frozenset({Status.SKIPPED})


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


def count_leaf_results(leaves: Iterable[FieldResult]) -> Counts:
    """Sum over leaf results; what is skipped or undecided does not count."""
    score, compared, omitted, hallucinated = 0.0, 0, 0, 0
    for leaf in leaves:
        status = leaf.status
        if status is Status.MATCH or status is Status.MISMATCH:
            score += leaf.score
            compared += 1
        elif status is Status.OMISSION:
            omitted += 1
        elif status is Status.HALLUCINATION:
            hallucinated += 1
    return Counts(score, compared, omitted, hallucinated)


def f1(leaves: Iterable[FieldResult]) -> float:
    """Return F1 over leaf results."""
    return count_leaf_results(leaves).f1


def pass_rate(fields: Sequence[FieldResult], *, empty: float = 1.0) -> float:
    """Return passed over evaluated field results; `empty` where none was evaluated (extract-bench: 0.0)."""
    evaluated = [result.passed for result in fields if result.status not in _LEFT_OUT]
    return sum(evaluated) / len(evaluated) if evaluated else empty


def mean_score(fields: Sequence[FieldResult], *, empty: float = 1.0) -> float:
    """Return the weighted mean score of field results; `empty` where none was evaluated or all weigh nothing."""
    evaluated = [result for result in fields if result.status not in _LEFT_OUT]
    weight = sum(result.weight for result in evaluated)
    return sum(result.score * result.weight for result in evaluated) / weight if weight else empty


@dataclass(frozen=True, kw_only=True)
class ScoredResults:
    """What the measures over results look at; `empty` is the rate where no field was evaluated."""

    fields: Sequence[FieldResult]
    leaves: Sequence[FieldResult]
    empty: float = 1.0

    @cached_property
    def counts(self) -> Counts:
        """Sums over the leaf results."""
        return count_leaf_results(self.leaves)


MEASURES: Final[tuple[Measure[[ScoredResults]], ...]] = (
    Measure(
        name="pass_rate",
        function=lambda results: pass_rate(results.fields, empty=results.empty),
        doc="Passed fields / evaluated fields.",
        systems=("ours", "extract-bench"),
    ),
    Measure(
        name="mean_score",
        function=lambda results: mean_score(results.fields, empty=results.empty),
        doc="Weighted mean score of the evaluated fields.",
        systems=("ours", "extract-bench"),
    ),
    Measure(
        name="precision",
        function=lambda results: results.counts.precision,
        doc="Sum of leaf scores / leaves that the output has.",
        systems=("ours", "struct-extract-eval"),
    ),
    Measure(
        name="recall",
        function=lambda results: results.counts.recall,
        doc="Sum of leaf scores / leaves that the gold has.",
        systems=("ours", "struct-extract-eval"),
    ),
    Measure(
        name="f1",
        function=lambda results: results.counts.f1,
        doc="Harmonic mean of precision and recall.",
        systems=("ours", "struct-extract-eval"),
    ),
)


def field_measures(
    fields: Sequence[FieldResult], leaves: Sequence[FieldResult], *, empty: float = 1.0
) -> dict[str, float]:
    """Return the measures over results, by name."""
    results = ScoredResults(fields=fields, leaves=leaves, empty=empty)
    return {measure.name: measure.function(results) for measure in MEASURES}
