"""Measures over results: pass_rate and mean_score over field results, precision, recall and F1 over leaf results."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

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


def count(leaves: Iterable[FieldResult]) -> Counts:
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
    return count(leaves).f1


def pass_rate(fields: Sequence[FieldResult], *, empty: float = 1.0) -> float:
    """Return passed over evaluated field results; `empty` where none was evaluated (extract-bench: 0.0)."""
    evaluated = [result.passed for result in fields if result.status not in _LEFT_OUT]
    return sum(evaluated) / len(evaluated) if evaluated else empty


def mean_score(fields: Sequence[FieldResult], *, empty: float = 1.0) -> float:
    """Return the weighted mean score of field results; `empty` where none was evaluated or all weigh nothing."""
    evaluated = [result for result in fields if result.status not in _LEFT_OUT]
    weight = sum(result.weight for result in evaluated)
    return sum(result.score * result.weight for result in evaluated) / weight if weight else empty


def field_measures(
    fields: Sequence[FieldResult], leaves: Sequence[FieldResult], *, empty: float = 1.0
) -> dict[str, float]:
    """Return the five measures that hang on results."""
    counts = count(leaves)
    return {
        "pass_rate": pass_rate(fields, empty=empty),
        "mean_score": mean_score(fields, empty=empty),
        "precision": counts.precision,
        "recall": counts.recall,
        "f1": counts.f1,
    }
