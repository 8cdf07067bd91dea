"""Metrics with feedback for prompt optimizers; nothing here imports one of them, and nothing is sent anywhere."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Unpack

from pytest_extract.core.measures import FieldCounts
from pytest_extract.core.scorer import Keywords, Score, compile_schema, split_keywords
from pytest_extract.core.values import Json
from pytest_extract.errors import ConfigError, nearest

__all__ = ("ScoreWithFeedback", "optimizer_metric")


@dataclass(frozen=True, slots=True)
class ScoreWithFeedback:
    """A measure of one output in [0, 1], and `Score.feedback()`; `float()` gives the measure.

    `objective_scores`: the mean score of the values of each field pattern, an objective of its own for GEPA.
    """

    score: float
    feedback: str
    objective_scores: Mapping[str, float] = field(default_factory=dict)

    def __float__(self) -> float:
        return self.score


def optimizer_metric(
    schema: Json,
    *,
    gold: str = "gold",
    output: str = "output",
    measure: str = "pass_rate",
    most: int = 10,
    **keywords: Unpack[Keywords],
) -> Callable[..., Any]:
    """Return a metric for DSPy, GEPA included: `metric(example, prediction, ...)` with a score and its feedback.

    gold: the field of the example that holds the gold value; output: the field of the prediction that holds the output
    (text, or any value that an extractor may return). measure: the score; most: mistakes in the feedback; `keywords`:
    those of `score_text` (`judge`, `overrides`, `confidence`, ...). Where DSPy is loaded the metric returns a
    `dspy.Prediction` of the same three, else a `ScoreWithFeedback`. Raises SchemaError and ConfigError as
    `compile_schema` does, and the metric ConfigError for a field that is not there or an unknown measure.
    """
    compiling, options = split_keywords(keywords)
    scorer = compile_schema(schema, **compiling)

    def metric(example: Any, prediction: Any, trace: Any = None, *_more: Any, **_named: Any) -> Any:  # noqa: ARG001
        found = scorer.score_text(_field(example, gold), _field(prediction, output), options)
        if measure not in found.measures:
            raise ConfigError(f"no measure {measure!r}{nearest(measure, found.measures)}")
        result = ScoreWithFeedback(found.measures[measure], found.feedback(most), _score_by_pattern(found))
        dspy = sys.modules.get("dspy")
        return result if dspy is None else dspy.Prediction(**asdict(result))

    return metric


def _score_by_pattern(found: Score) -> dict[str, float]:
    """Return the mean score of each field pattern; 0 where the output as a whole does not count."""
    counts: dict[str, FieldCounts] = {}
    for leaf in found.leaves:
        counts.setdefault(leaf.pattern, FieldCounts()).add(leaf)
    valid = found.unread is None and found.gates.structural
    return {name: each.mean_score if valid else 0.0 for name, each in counts.items() if each.total}


def _field(record: Any, name: str) -> Any:
    if isinstance(record, Mapping):
        if name in record:
            return record[name]
    elif hasattr(record, name):
        return getattr(record, name)
    raise ConfigError(
        f"the metric looks for {name!r}, and {type(record).__name__} has none; name it by gold= or output="
    )
