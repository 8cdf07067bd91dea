"""A decision of the regression gate as plain JSON, for `compare --json` and other programs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from enum import StrEnum
from fractions import Fraction
from typing import Any, Final

from pytest_extract.core.results import NamedMistake
from pytest_extract.core.values import MISSING, Json
from pytest_extract.regression.gate import GateDecision
from pytest_extract.regression.snapshots import json_or_placeholder

FORMAT: Final = 3
_VALUES: Final = frozenset({"value_before", "value_after", "gold"})


def decision_record(decision: GateDecision) -> dict[str, Json]:
    """Return a decision with its comparison and tests: an object for each dataclass, with the names of its fields.

    Shares are numbers in [0, 1]; a missing value has no key.
    """
    return {"format": FORMAT, "pairs": decision.comparison.pairs, **_plain(decision)}


def _plain(value: Any) -> Json:
    if is_dataclass(value):
        parts = ((each.name, getattr(value, each.name)) for each in fields(value))
        return {
            name: json_or_placeholder(part) if name in _VALUES else _plain(part)
            for name, part in parts
            if part is not MISSING
        }
    if isinstance(value, NamedMistake):
        return {"kind": value.kind, "text": value.text}
    if isinstance(value, Mapping):
        return {str(key): _plain(part) for key, part in value.items()}
    if isinstance(value, tuple | list):
        return [_plain(part) for part in value]
    if isinstance(value, Fraction):
        return float(value)
    return str(value) if isinstance(value, StrEnum) else value
