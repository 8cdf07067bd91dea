"""The one table of metrics, read-only: name -> spec; and ExtractBench's presets."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module
from types import MappingProxyType
from typing import Final

from pytest_extract.core.arguments import json_argument
from pytest_extract.core.metrics.base import BoundMetric, MetricSpec, SemanticsName, check_params
from pytest_extract.core.values import Json
from pytest_extract.errors import ConfigError, nearest

_FAMILIES: Final[Mapping[str, tuple[str, ...]]] = {
    "exact": ("text", "exact", "boolean", "string_exact", "string_case_insensitive", "boolean_exact"),
    "numbers": ("number", "integer", "number_exact", "number_tolerance", "integer_exact", "numeric"),
    "texts": ("fuzzy", "string_fuzzy", "token_f1", "contains", "limited_text", "regex"),
    "dates": ("date",),
    "amounts": ("locale_number", "money"),
    "quantity": ("quantity",),
    "contacts": ("phone", "url", "email"),
    "choices": ("oneof", "oneof_with_gold", "set", "multiset"),
    "judged": ("string_semantic", "string_llm", "semantic", "array_llm"),
}
"""Module of this package -> the metrics of its table `SPECS`. A family is imported when one of them is first used."""

JUDGED: Final = frozenset(_FAMILIES["judged"])
"""Metrics that a judge decides; under `--extract-judge=exact` and `fuzzy` the scorer does in its place."""


class _Metrics(Mapping[str, MetricSpec]):
    """The metrics of all families; names are known without an import."""

    def __init__(self) -> None:
        self._family_of = {name: family for family, names in _FAMILIES.items() for name in names}
        self._loaded: dict[str, MetricSpec] = {}

    def __getitem__(self, name: str) -> MetricSpec:
        if name not in self._loaded:
            family = import_module(f"{__name__}.{self._family_of[name]}")
            self._loaded |= {spec.name: spec for spec in family.SPECS}
        return self._loaded[name]

    def __contains__(self, name: object) -> bool:
        return name in self._family_of

    def __iter__(self) -> Iterator[str]:
        return iter(self._family_of)

    def __len__(self) -> int:
        return len(self._family_of)


METRICS: Final[Mapping[str, MetricSpec]] = _Metrics()
"""Every built-in metric."""

_EXTRACT_BENCH = (
    "string_exact",
    "string_case_insensitive",
    "string_semantic",
    "string_llm",
    "number_exact",
    "integer_exact",
    "boolean_exact",
    "array_llm",
)

PRESETS: Final[Mapping[str, tuple[str, Mapping[str, Json]]]] = MappingProxyType(
    {name: (name, MappingProxyType({})) for name in _EXTRACT_BENCH}
    | {
        "string_fuzzy": ("string_fuzzy", MappingProxyType({"threshold": 0.8})),
        "number_tolerance": ("number_tolerance", MappingProxyType({"tolerance": 0.001})),
    }
)
"""ExtractBench's presets: name -> (metric, parameters); bare, `number_tolerance` is 1,000 times narrower."""


def bind_metric(
    name: str, params: Mapping[str, Json] | None = None, semantics: SemanticsName = "default"
) -> BoundMetric:
    """Return a built-in metric with its parameters fixed; raises ConfigError for a wrong name or parameter."""
    spec = METRICS.get(name)
    if spec is None:
        raise ConfigError(f"no metric {name!r}{nearest(name, METRICS)}")
    problems = check_params(params or {}, spec.params, name)
    if problems:
        raise ConfigError("; ".join(problems))
    return spec.bind(params or {}, semantics)


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
