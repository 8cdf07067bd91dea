"""The ratchet: field patterns that fell below their best accepted rate."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, NamedTuple

from pytest_extract.regression.baseline import Baseline, pattern_rates
from pytest_extract.regression.snapshots import Snapshot

_RATE_ROUNDING: Final = 1e-6  # rates in the baseline file have six digits


class FallenPattern(NamedTuple):
    """A pattern of an arm below its best accepted rate (shares of passed fields, in [0, 1])."""

    arm: str
    pattern: str
    best: float
    now: float


@dataclass(frozen=True, slots=True, kw_only=True)
class RatchetCheck:
    """A run compared with the best accepted rates. `unchecked`: (arm, pattern) of which some cases are missing.

    It is a hard rule: a best rate was partly luck, so without slack it raises more false alarms than the statistics.
    """

    fallen: tuple[FallenPattern, ...] = ()
    unchecked: tuple[tuple[str, str], ...] = ()


def check_ratchet(baseline: Baseline, run: Snapshot, *, slack: float) -> RatchetCheck:
    """Find the patterns that are more than `slack` below their best accepted rate; the worst first.

    A rate is compared with the best only if every case of the baseline that has the pattern was scored in this run: the
    rate of a selection of cases differs without any change.
    """
    fallen: list[FallenPattern] = []
    unchecked: list[tuple[str, str]] = []
    for arm, best in baseline.best.items():
        states = {key: state for key, state in run.items() if key.arm == arm and not state.lost}
        missing = _patterns_of_missing(baseline, arm, states)
        rates = pattern_rates(states.values())
        for pattern, rate in best.items():
            if pattern in missing:
                unchecked.append((arm, pattern))
            elif pattern in rates and rates[pattern] < rate - slack - _RATE_ROUNDING:
                fallen.append(FallenPattern(arm, pattern, rate, rates[pattern]))
    worst_first = sorted(fallen, key=lambda row: (row.now - row.best, row.arm, row.pattern))
    return RatchetCheck(fallen=tuple(worst_first), unchecked=tuple(unchecked))


def _patterns_of_missing(baseline: Baseline, arm: str, states: Snapshot) -> set[str]:
    missing = (state for key, state in baseline.cases.items() if key.arm == arm and key not in states)
    return {pattern for state in missing for pattern in state.patterns}
