"""What a suite can show: the smallest fall that a later run of its cases is told to have in 8 of 10 comparisons.

Normal approximations from the noise of the runs at hand; `tests/benchmarks/gate_power.py` holds them against the gate.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from pytest_extract.core.stats.runs import Values
from pytest_extract.regression.field_matching import CasePairs, pair_case
from pytest_extract.regression.multiple_testing import OVERALL_SHARE, SMALLEST_FALL
from pytest_extract.regression.rules import Rules
from pytest_extract.regression.snapshots import Snapshot, counted_states

_LIKELY: Final = 0.8
MORE_CASES: Final = 20
MORE_RUNS: Final = 2
_STEPS: Final = 30  # halvings of an interval of falls
_NORMAL: Final = statistics.NormalDist()


@dataclass(frozen=True, slots=True, kw_only=True)
class Falls:
    """The smallest falls of the mean and of one field that are found; None: not even the loss of everything."""

    mean: float | None
    field: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Resolution:
    """What the cases of one variant show, and what more of them, or more runs of each, would."""

    variant: str
    cases: int
    runs: int
    now: Falls
    more_cases: Falls
    more_runs: Falls


def resolutions(states: Snapshot, rules: Rules) -> list[Resolution]:
    """Return what each variant of a snapshot can show of one later run."""
    by_variant: dict[str, list[CasePairs]] = {}
    for key, state in counted_states(states).items():
        if not state.lost and (pairs := pair_case(state, state)).fields:
            by_variant.setdefault(key.variant, []).append(pairs)
    return [
        resolution_of(
            variant,
            [pairs.overall().before for pairs in cases],
            [{name: runs.before for name, runs in pairs.by_pattern().items()} for pairs in cases],
            fields=sum(pairs.fields for pairs in cases) / len(cases),
            patterns=len({name for pairs in cases for name in pairs.sizes}),
            alpha=rules.alpha,
        )
        for variant, cases in sorted(by_variant.items())
    ]


def resolution_of(
    variant: str,
    wrong: Sequence[Values],
    wrong_by_pattern: Sequence[Mapping[str, Values]],
    *,
    fields: float,
    patterns: int,
    alpha: float,
) -> Resolution:
    """Return what cases show, by the share of wrong fields in each run: of all, and of each pattern that ever failed.

    `fields`: the mean number of fields of a case; `patterns`: how many field patterns there are.
    """
    runs = min(map(len, wrong))
    failing = {name for found in wrong_by_pattern for name in found}
    mean_noise = _noise(wrong)
    field_noise = math.fsum(
        _noise([found.get(name, (0,) * len(side)) for found, side in zip(wrong_by_pattern, wrong, strict=True)])
        for name in failing
    )
    field_noise /= max(1, patterns)
    head, tail = alpha * OVERALL_SHARE, alpha * (1 - OVERALL_SHARE) / (len(failing) + 1)

    def falls(cases: int, runs: int) -> Falls:
        return Falls(
            mean=_smallest_fall(cases, runs, level=head, noise=mean_noise, fields=fields),
            field=_smallest_fall(cases, runs, level=tail, noise=field_noise, fields=1),
        )

    return Resolution(
        variant=variant,
        cases=len(wrong),
        runs=runs,
        now=falls(len(wrong), runs),
        more_cases=falls(len(wrong) + MORE_CASES, runs),
        more_runs=falls(len(wrong), runs + MORE_RUNS),
    )


def _noise(shares: Sequence[Values]) -> float:
    """Return the variance from run to run of one case; of single runs that among cases, as if all of it were luck."""
    sides = [[*map(float, side)] for side in shares]
    repeated = [statistics.variance(side) for side in sides if len(side) > 1]
    return statistics.fmean(repeated) if repeated else statistics.pvariance([side[0] for side in sides])


def _smallest_fall(cases: int, runs: int, *, level: float, noise: float, fields: float) -> float | None:
    """Return the smallest fall of every field by as much that a test at `level` finds; None where it finds none."""
    fewest = math.log(1 / level) / math.log(runs + 1)  # cases that must fall for p to be so small
    likely = _NORMAL.inv_cdf(_LIKELY)
    reach = _NORMAL.inv_cdf(1 - level) + likely

    def found(fall: float) -> bool:
        error = math.sqrt((noise * (1 + 1 / runs) + fall * (1 - fall) / fields) / cases)
        touched = cases * (1 - (1 - fall) ** fields)
        clear = fall >= reach * error and fall - likely * error >= SMALLEST_FALL
        return clear and touched - likely * math.sqrt(touched * (1 - touched / cases)) >= fewest

    if not found(1.0):
        return None
    low, high = 0.0, 1.0
    for _ in range(_STEPS):
        middle = (low + high) / 2
        low, high = (low, middle) if found(middle) else (middle, high)
    return high
