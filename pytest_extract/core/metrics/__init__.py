"""The one table of metrics, read-only: name -> spec; and ExtractBench's presets."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from pytest_extract.core.metrics import (
    amounts,
    choices,
    contacts,
    dates,
    equal,
    fuzzy,
    judged,
    numbers,
    patterns,
    quantity,
    sets,
    tokens,
)
from pytest_extract.core.metrics.base import MetricSpec
from pytest_extract.core.values import Json

_FAMILIES = (equal, numbers, fuzzy, tokens, dates, amounts, quantity, contacts, choices, sets, patterns, judged)

METRICS: Final[Mapping[str, MetricSpec]] = MappingProxyType(
    {spec.name: spec for family in _FAMILIES for spec in family.SPECS}
)
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
