"""Making a metric as scoring does, and the form of most tests here: a value, what is it too, and what is not."""

from __future__ import annotations

from typing import Any

from pytest_extract.core.metrics import METRICS
from pytest_extract.core.metrics.base import BoundMetric, check_params


def bound(name: str, params: dict[str, Any] | None = None, semantics: Any = "default") -> BoundMetric:
    spec = METRICS[name]
    assert check_params(params or {}, spec.params, name) == []
    return spec.bind(params or {}, semantics)


def check(metric: BoundMetric, gold: Any, alike: list[Any], unlike: list[Any]) -> None:
    """Hold that each value scores 1 against the gold or 0."""
    assert [value for value in alike if metric.compare(gold, value) != 1.0] == [], f"are {gold!r}"
    assert [value for value in unlike if metric.compare(gold, value) != 0.0] == [], f"are not {gold!r}"
