"""Simulated suites: snapshots with known truth, as two runs of the same cases would give them."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterable, Mapping
from functools import cache

from pytest_extract.core.case_result import Outcome, Variant
from pytest_extract.regression.snapshots import CaseKey, CaseState, FailingField, PatternState

Run = dict[CaseKey, CaseState]
Chance = Callable[[random.Random, int], float]
"""(source, field number) -> how probable it is that the field passes."""


def suite(
    source: random.Random,
    *,
    cases: int,
    fields: int,
    chances: tuple[Chance, ...],
    whole: tuple[float, ...] | None = None,
    runs: int = 1,
    spread: float = 0.0,
    tied: float = 0.0,
) -> tuple[Run, ...]:
    """One run a chance. `whole`: how probable it is that a run of a case fails in every field, as a cut-off answer does.

    `spread`: how much easier or harder a case is than the next; a fact of the case, so the same in all runs.
    `tied`: correlation between the fields of one run, in which they stand and fall together.
    """
    sides: tuple[Run, ...] = tuple({} for _ in chances)
    for number in range(cases):
        ease = source.uniform(-spread, spread)
        for side, chance, lost in zip(sides, chances, whole or (0.0,) * len(chances), strict=True):
            verdicts = [_run(source, fields, chance, lost, ease, tied) for _ in range(runs)]
            failing = failing_of({f"f{index}": [verdict[index] for verdict in verdicts] for index in range(fields)})
            side[CaseKey(f"suite::{number}", "")] = state(str(number), fields, failing, runs=runs)
    return sides


def failing_of(verdicts: Mapping[str, Iterable[bool]]) -> dict[str, FailingField]:
    """Return the fields that failed in some run, by whether they passed in each."""
    runs = {name: tuple(map(bool, passed)) for name, passed in verdicts.items()}
    return {
        name: FailingField(pattern=name, runs=passed, gold="g", value="v")
        for name, passed in runs.items()
        if not all(passed)
    }


def side_of(cases: Iterable[Mapping[str, Iterable[bool]]], fields: int, runs: int) -> Run:
    """Return cases by whether each of their fields that may have failed passed in each run."""
    failing = enumerate(map(failing_of, cases))
    return {CaseKey(f"s::{at:02}", ""): state(str(at), fields, failed, runs=runs) for at, failed in failing}


def _run(source: random.Random, fields: int, chance: Chance, lost: float, ease: float, tied: float) -> list[bool]:
    if source.random() < lost:
        return [False] * fields
    if not tied:
        return [source.random() < chance(source, index) + ease for index in range(fields)]
    common, share = source.random(), math.sqrt(tied)
    lots = (common if source.random() < share else source.random() for _ in range(fields))
    return [lot < chance(source, index) + ease for index, lot in enumerate(lots)]


@cache
def _patterns(fields: int) -> Mapping[str, PatternState]:
    return {f"f{index}": PatternState(of=1, metric="m", gold="g") for index in range(fields)}


def state(case_id: str, fields: int, failing: dict[str, FailingField], *, runs: int = 1, **more: object) -> CaseState:
    return CaseState(
        case_id=case_id,
        variant=Variant(),
        outcome=Outcome.FAILED if failing else Outcome.PASSED,
        runs=runs,
        patterns=_patterns(fields),
        failing=failing,
        **more,
    )


def steady(rate: float) -> Chance:
    return lambda _source, _index: rate
