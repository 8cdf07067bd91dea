"""Rules of the regression gate: its error rate, what it judges by, and hard rules beside statistics."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from pytest_extract.errors import ConfigError, nearest


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """Settings of the gate. Rates and drops are shares in [0, 1].

    alpha: how often the gate may say WORSE without a true change, over all of its tests together.
    margin: PASS needs that a fall of the mean of this size is excluded (at confidence 1 - alpha); None: it does not.
    measure: name of the measure that the overall test and the margin are about; None: the share of passed fields.
    by: tags of the cases, and dimensions that group them (`case_slices`); the mean over all fields is tested for each
        value of each, in the family of the fields.
    max_dead: highest number of dead cases; None: see `regression.facts`.
    max_fallen, max_drop: hard rules on the number of fields that fell and the fall of the measure; None: no rule.
    max_cost_rise, max_latency_rise: hard rules on mean cost and latency of a call (0.2: a fifth more).
    keep_runs: runs of a case that a baseline keeps, the last ones, where a run is added to it.
    allow_drafts: True counts cases whose golds nobody has reviewed.
    """

    alpha: float = 0.05
    margin: float | None = None
    measure: str | None = None
    by: tuple[str, ...] = ()
    max_dead: int | None = None
    max_fallen: int | None = None
    max_drop: float | None = None
    max_cost_rise: float | None = None
    max_latency_rise: float | None = None
    keep_runs: int = 10
    allow_drafts: bool = False

    def __post_init__(self) -> None:
        """Raise ConfigError, with the name of the setting, for a value out of range."""
        for name in ("alpha", "margin"):
            share = getattr(self, name)
            if share is not None and not 0 < share < 1:
                raise ConfigError(f"{name} must be above 0 and below 1, not {share}")
        if self.max_drop is not None and not 0 <= self.max_drop <= 1:
            raise ConfigError(f"max_drop must be from 0 to 1, not {self.max_drop}")
        if self.keep_runs < 1:
            raise ConfigError(f"keep_runs must be 1 or more, not {self.keep_runs}")
        for name in ("max_dead", "max_fallen", "max_cost_rise", "max_latency_rise"):
            limit = getattr(self, name)
            if limit is not None and not limit >= 0:
                raise ConfigError(f"{name} must be 0 or more, not {limit}")


def read_rule(text: str) -> tuple[str, Any]:
    """Read `NAME=VALUE` of the option `--extract-rule`; ValueError says what is wrong."""
    name, sign, value = (part.strip() for part in text.partition("="))
    kinds: Mapping[str, str] = {field.name: str(field.type) for field in fields(Rules)}
    if not sign or name not in kinds:
        raise ValueError(f"must read NAME=VALUE with a rule of the gate{nearest(name, kinds)}")
    try:
        return name, _rule_value(kinds[name], value)
    except (ValueError, KeyError):
        raise ValueError(f"must give {name} a value of type {kinds[name]}") from None


def _rule_value(kind: str, value: str) -> Any:
    if kind.startswith("tuple"):
        return tuple(part.strip() for part in value.split(",") if part.strip())
    if kind.startswith("bool"):
        return {"true": True, "1": True, "false": False, "0": False}[value.lower()] if value else True
    if kind.startswith("int"):
        return int(value)
    return float(value) if kind.startswith("float") else value
