"""The ratchet: a field pattern must not fall below the best rate that was ever accepted into the baseline.

A hard rule: a best rate was partly luck, so a ratchet without slack cries wolf more often than the statistical gate.
"""

from __future__ import annotations

from typing import NamedTuple

from pytest_extract.gating.baseline import Baseline, pattern_rates
from pytest_extract.gating.snapshot import Snapshot


class Fallen(NamedTuple):
    """A pattern of an arm below its best accepted rate (shares of passed fields, in [0, 1])."""

    arm: str
    pattern: str
    best: float
    now: float


def fallen_patterns(baseline: Baseline, run: Snapshot, *, slack: float) -> tuple[Fallen, ...]:
    """Return the patterns more than `slack` below their best accepted rate; the worst first.

    A rate is only held against the best where every case of the baseline that has the pattern was scored in this run:
    a selection of cases, or an outage, has another rate without anything having changed.
    """
    fallen: list[Fallen] = []
    for arm, best in baseline.best.items():
        states = {key: state for key, state in run.items() if key.arm == arm and not state.lost}
        missing = {
            pattern
            for key, state in baseline.cases.items()
            if key.arm == arm and key not in states
            for pattern in state.patterns
        }
        rates = pattern_rates(states.values())
        fallen += [
            Fallen(arm, pattern, rate, rates[pattern])
            for pattern, rate in best.items()
            if pattern in rates and pattern not in missing and rates[pattern] < rate - slack - 1e-6
        ]
    return tuple(sorted(fallen, key=lambda row: (row.now - row.best, row.arm, row.pattern)))
