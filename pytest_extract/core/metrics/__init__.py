"""The one table of metrics, read-only: name -> spec; and ExtractBench's presets."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from pytest_extract.core.arguments import json_argument
from pytest_extract.core.metrics import contacts, dates, exact, numbers, quantity, texts
from pytest_extract.core.metrics.base import BoundMetric, MetricSpec, SemanticsName, checked_params
from pytest_extract.core.values import Json
from pytest_extract.errors import ConfigError, nearest

_FAMILIES: Final = (exact, numbers, texts, dates, quantity, contacts)

METRICS: Final[Mapping[str, MetricSpec]] = MappingProxyType(
    {row.name: row for family in _FAMILIES for row in vars(family).values() if isinstance(row, MetricSpec)}
)
"""Every built-in metric."""

JUDGED: Final = frozenset(
    row.name for row in METRICS.values() if any(param.name == "pass_threshold" for param in row.params)
)
"""Metrics that a judge decides; under `--extract-judge=exact` and `fuzzy` the scorer does in its place."""

_PRESETS = (
    "string_exact string_fuzzy string_case_insensitive string_semantic string_llm number_exact number_tolerance "
    "integer_exact boolean_exact array_llm"
)
PRESETS: Final[Mapping[str, Mapping[str, Json]]] = MappingProxyType(
    {name: {} for name in _PRESETS.split()}
    | {"string_fuzzy": {"threshold": 0.8}, "number_tolerance": {"tolerance": 0.001}}
)
"""ExtractBench's presets: metric -> parameters; bare, `number_tolerance` is 1,000 times narrower."""


def bind_metric(
    name: str, params: Mapping[str, Json] | None = None, semantics: SemanticsName = "default"
) -> BoundMetric:
    """Return a built-in metric with its parameters fixed; raises ConfigError for a wrong name or parameter."""
    spec = METRICS.get(name)
    if spec is None:
        raise ConfigError(f"no metric {name!r}{nearest(name, METRICS)}")
    return spec.bind(checked_params(params, spec.params, name), semantics)


def compare_values(
    name: str,
    gold: Json,
    extracted: Json,
    params: Mapping[str, Json] | None = None,
    semantics: SemanticsName = "default",
) -> float:
    """Return the score in [0, 1] that a metric gives two values, to try a metric out; raises ConfigError."""
    return bind_metric(name, params, semantics).compare(
        json_argument("gold", gold), json_argument("extracted", extracted)
    )
