"""Rules of the regression gate: error rate, equivalence margin, and hard rules beside statistics."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Final

from pytest_extract.core.stats.runs import LANES, RESAMPLES, SEED
from pytest_extract.errors import ConfigError, nearest


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """Settings of the gate. Rates and drops are shares in [0, 1].

    alpha: how often the gate may say "worse" without a true change, over all of its tests together.
    margin: "not worse" means that a drop of this size is excluded (at confidence 1 - alpha).
    measure: name of the measure that the overall test and the margin are about; None: the share of passed fields.
    min_drop: a fall of less than this is never "worse" by statistics, however sure.
    unseen_loss: what a case that was never seen may lose at worst; it keeps a few equal cases from proving anything.
        None: all of its fields where a whole answer ever failed on either side; else half of them, and the verdict says
        what that assumes.
    overall_share: the part of alpha for the test over all fields; half of the rest is for the same test without answers
        that failed as a whole, and field patterns and tags have what these leave.
    by: tags of the cases, and dimensions that group them (`case_slices`); the mean over all fields is tested for each
        value of each, in the family of the fields.
    max_lost: highest share of cases lost to an outage with which the answer can be "not worse".
    max_gone: highest share of earlier cases missing from the later run with which the answer can be "not worse", as
        the few that remain may not represent the suite. With `statistics` only.
    max_regressed, max_drop, max_pattern_drop: hard rules that ignore noise; None: no such rule.
    max_broken_rise, max_cost_rise, max_latency_rise: hard rules on the share of broken runs (0.02: two more of a
        hundred), and on mean cost and latency of a call (0.2: a fifth more).
    ratchet_slack: how far below its best accepted rate a pattern may fall; None: no ratchet.
    statistics: False leaves only the hard rules.
    allow_drafts: True counts cases whose golds nobody has reviewed.
    resamples, permutations, seed: of the bootstrap and of the permutation tests.
    """

    alpha: float = 0.05
    margin: float = 0.05
    min_drop: float = 0.005
    measure: str | None = None
    unseen_loss: float | None = None
    overall_share: float = 0.6
    by: tuple[str, ...] = ()
    max_lost: float = 0.1
    max_gone: float = 0.5
    max_regressed: int | None = None
    max_drop: float | None = None
    max_pattern_drop: float | None = None
    max_broken_rise: float | None = None
    max_cost_rise: float | None = None
    max_latency_rise: float | None = None
    ratchet_slack: float | None = None
    statistics: bool = True
    allow_drafts: bool = False
    resamples: int = RESAMPLES
    permutations: int = LANES
    seed: int = SEED

    def __post_init__(self) -> None:
        """Raise ConfigError, with the name of the setting, for a value out of range."""
        open_range = {"alpha": self.alpha, "margin": self.margin, "overall_share": self.overall_share}
        for name, value in open_range.items():
            if not 0 < value < 1:
                raise ConfigError(f"{name} must be above 0 and below 1, not {value}")
        shares = {
            "unseen_loss": self.unseen_loss,
            "min_drop": self.min_drop,
            "max_lost": self.max_lost,
            "max_gone": self.max_gone,
            "max_drop": self.max_drop,
            "max_pattern_drop": self.max_pattern_drop,
            "max_broken_rise": self.max_broken_rise,
            "ratchet_slack": self.ratchet_slack,
        }
        for name, share in shares.items():
            if share is not None and (math.isnan(share) or not 0 <= share <= 1):
                raise ConfigError(f"{name} must be from 0 to 1, not {share}")
        at_least_0 = {
            "max_regressed": self.max_regressed,
            "max_cost_rise": self.max_cost_rise,
            "max_latency_rise": self.max_latency_rise,
        }
        for name, limit in at_least_0.items():
            if limit is not None and not limit >= 0:
                raise ConfigError(f"{name} must be 0 or more, not {limit}")
        for name, count in {"resamples": self.resamples, "permutations": self.permutations}.items():
            if count < 100:
                raise ConfigError(f"{name} must be 100 or more, not {count}")


_FORMER: Final = {
    "max_broken": 'it is called max_regressed ("broken" is a call that gave no result)',
    "reserve": "the tests use all of alpha",
}


def read_rule(text: str) -> tuple[str, Any]:
    """Read `NAME=VALUE` of the option `--extract-rule`; ValueError says what is wrong."""
    name, sign, value = (part.strip() for part in text.partition("="))
    kinds: Mapping[str, str] = {field.name: str(field.type) for field in fields(Rules)}
    if sign and name in _FORMER:
        raise ValueError(f"has no rule {name!r} any more: {_FORMER[name]}")
    if not sign or name not in kinds:
        raise ValueError(f"must read NAME=VALUE with a rule of the gate{nearest(name, kinds)}")
    try:
        return name, _rule_value(kinds[name], value)
    except ValueError:
        raise ValueError(f"must give {name} a value of type {kinds[name]}") from None


def _rule_value(kind: str, value: str) -> Any:
    if kind.startswith("tuple"):
        return tuple(part.strip() for part in value.split(",") if part.strip())
    if kind.startswith("bool"):
        return {"true": True, "1": True, "false": False, "0": False}[value.lower()] if value else True
    if kind.startswith("int"):
        return int(value)
    return float(value) if kind.startswith("float") else value
