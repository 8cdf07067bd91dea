"""Rules of the regression gate: error rate, equivalence margin, and hard rules beside statistics."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from pytest_extract.core.stats.interval import RESAMPLES, SEED
from pytest_extract.errors import ConfigError, nearest


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """Settings of the gate. Rates and drops are shares in [0, 1].

    alpha: how often the gate may say "worse" without a true change, over all of its tests together.
    margin: "not worse" means that a drop of this size is excluded (at confidence 1 - alpha).
    measure: name of the measure that the overall test and the margin are about; None: the share of passed fields.
    unseen_loss: what a case that was never seen may lose at worst; it keeps a few equal cases from proving anything.
    overall_share: the part of the rest of alpha for the test over all fields; field patterns share what remains.
    reserve: the part of alpha that no test uses. Two runs never have quite the same conditions (a provider drifts, a
        baseline was selected); the reserve keeps the rate below alpha nevertheless.
    max_lost: highest share of cases lost to an outage with which the answer can be "not worse".
    max_gone: highest share of earlier cases missing from the later run with which the answer can be "not worse", as
        the few that remain may not represent the suite. With `statistics` only.
    max_broken, max_drop, max_pattern_drop: hard rules that ignore noise; None: no such rule.
    ratchet_slack: how far below its best accepted rate a pattern may fall; None: no ratchet.
    statistics: False leaves only the hard rules.
    allow_drafts: True counts cases whose golds nobody has reviewed.
    """

    alpha: float = 0.05
    margin: float = 0.05
    measure: str | None = None
    unseen_loss: float = 0.5
    overall_share: float = 0.7
    reserve: float = 0.2
    max_lost: float = 0.1
    max_gone: float = 0.5
    max_broken: int | None = None
    max_drop: float | None = None
    max_pattern_drop: float | None = None
    ratchet_slack: float | None = None
    statistics: bool = True
    allow_drafts: bool = False
    resamples: int = RESAMPLES
    seed: int = SEED

    def __post_init__(self) -> None:
        """Raise ConfigError, with the name of the setting, for a value out of range."""
        open_range = {"alpha": self.alpha, "margin": self.margin, "overall_share": self.overall_share}
        for name, value in open_range.items():
            if not 0 < value < 1:
                raise ConfigError(f"{name} must be above 0 and below 1, not {value}")
        shares = {
            "unseen_loss": self.unseen_loss,
            "reserve": self.reserve,
            "max_lost": self.max_lost,
            "max_gone": self.max_gone,
            "max_drop": self.max_drop,
            "max_pattern_drop": self.max_pattern_drop,
            "ratchet_slack": self.ratchet_slack,
        }
        for name, share in shares.items():
            if share is not None and (math.isnan(share) or not 0 <= share <= 1):
                raise ConfigError(f"{name} must be from 0 to 1, not {share}")
        if self.reserve == 1:
            raise ConfigError("reserve must be below 1: it leaves the tests nothing")
        if self.max_broken is not None and self.max_broken < 0:
            raise ConfigError(f"max_broken must be 0 or more, not {self.max_broken}")
        if self.resamples < 100:
            raise ConfigError(f"resamples must be 100 or more, not {self.resamples}")


def read_rule(text: str) -> tuple[str, Any]:
    """Read `NAME=VALUE` of the option `--extract-rule`; ValueError says what is wrong."""
    name, sign, value = (part.strip() for part in text.partition("="))
    kinds: Mapping[str, str] = {field.name: str(field.type) for field in fields(Rules)}
    if not sign or name not in kinds:
        raise ValueError(f"must read NAME=VALUE with a rule of the gate{nearest(name, kinds)}")
    try:
        return name, _rule_value(kinds[name], value)
    except ValueError:
        raise ValueError(f"must give {name} a value of type {kinds[name]}") from None


def _rule_value(kind: str, value: str) -> Any:
    if kind.startswith("bool"):
        return {"true": True, "1": True, "false": False, "0": False}[value.lower()] if value else True
    if kind.startswith("int"):
        return int(value)
    return float(value) if kind.startswith("float") else value
