"""The ratchet: a field pattern must not fall below the best rate that was ever accepted into the baseline.

A hard rule: a best rate was partly luck, so a ratchet without slack cries wolf more often than the statistical gate.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, NamedTuple

from pytest_extract.regression.baseline import Baseline, pattern_rates
from pytest_extract.regression.snapshot import Snapshot

_ROUNDING: Final = 1e-6  # rates in the file have six digits


class Fallen(NamedTuple):
    """A pattern of an arm below its best accepted rate (shares of passed fields, in [0, 1])."""

    arm: str
    pattern: str
    best: float
    now: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Ratchet:
    """What holding a run against the best rates gave. `unchecked`: patterns (with their arm) with cases missing."""

    fallen: tuple[Fallen, ...] = ()
    unchecked: tuple[tuple[str, str], ...] = ()


def check_ratchet(baseline: Baseline, run: Snapshot, *, slack: float) -> Ratchet:
    """Find the patterns that are more than `slack` below their best accepted rate; the worst first.

    A rate is only held against the best where every case of the baseline that has the pattern was scored in this run:
    a selection of cases, or an outage, has another rate without anything having changed.
    """
    fallen: list[Fallen] = []
    unchecked: list[tuple[str, str]] = []
    for arm, best in baseline.best.items():
        states = {key: state for key, state in run.items() if key.arm == arm and not state.lost}
        missing = _patterns_of_missing(baseline, arm, states)
        rates = pattern_rates(states.values())
        for pattern, rate in best.items():
            if pattern in missing:
                unchecked.append((arm, pattern))
            elif pattern in rates and rates[pattern] < rate - slack - _ROUNDING:
                fallen.append(Fallen(arm, pattern, rate, rates[pattern]))
    worst_first = sorted(fallen, key=lambda row: (row.now - row.best, row.arm, row.pattern))
    return Ratchet(fallen=tuple(worst_first), unchecked=tuple(unchecked))


def _patterns_of_missing(baseline: Baseline, arm: str, states: Snapshot) -> set[str]:
    missing = (state for key, state in baseline.cases.items() if key.arm == arm and key not in states)
    return {pattern for state in missing for pattern in state.patterns}
