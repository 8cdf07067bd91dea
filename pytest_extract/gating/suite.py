"""The suite gate: measures of the whole run against their lowest values (`extract_suite_thresholds`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pytest_extract.core.case_result import CaseResult
from pytest_extract.errors import ConfigError, nearest
from pytest_extract.gating.snapshot import CaseState, case_state


@dataclass(frozen=True, slots=True, kw_only=True)
class SuiteRow:
    """One measure of one arm: the plain mean over its scored cases (each the mean of its repeats) and its bound."""

    arm: str
    measure: str
    bound: float
    value: float
    cases: int

    @property
    def told(self) -> str:
        """The arm, the measure and its mean, as text."""
        return f"{_prefix(self.arm)}{self.measure} {self.value:.4f}"

    @property
    def passed(self) -> bool:
        """Whether the bound is met; a rounding error in the last digits does not miss it."""
        return self.value >= self.bound - 1e-12


@dataclass(frozen=True, slots=True, kw_only=True)
class SuiteVerdict:
    """All rows, and why the suite is not green (empty: it is). `lost`: cases that were broken or not run."""

    rows: tuple[SuiteRow, ...]
    reasons: tuple[str, ...]
    lost: int

    @property
    def passed(self) -> bool:
        """Whether the suite is green: every bound met, and something measured."""
        return not self.reasons


def check_suite(results: Sequence[CaseResult], thresholds: Mapping[str, float]) -> SuiteVerdict:
    """Hold each arm's means against the thresholds (measure -> lowest mean that passes).

    Cases that broke or were not run take no part in a mean; they are counted in `lost`. A run in which nothing was
    scored is not green. Raises ConfigError, with the nearest name, for a measure that no case has.
    """
    states = [case_state(result) for result in results]
    scored = [state for state in states if not state.lost]
    rows: list[SuiteRow] = []
    for label in sorted({state.arm.label for state in scored}):
        rows += _rows(label, [state for state in scored if state.arm.label == label], thresholds)
    reasons = [_missed(row) for row in rows if not row.passed]
    silent = sorted({state.arm.label for state in states} - {state.arm.label for state in scored})
    reasons += [f"{_prefix(label)}no case was scored, so nothing was measured" for label in silent]
    if not states:
        reasons.append("no case was run, so nothing was measured")
    return SuiteVerdict(rows=tuple(rows), reasons=tuple(reasons), lost=len(states) - len(scored))


def _rows(label: str, states: Sequence[CaseState], thresholds: Mapping[str, float]) -> list[SuiteRow]:
    rows: list[SuiteRow] = []
    for measure, bound in thresholds.items():
        values = [state.measures[measure] for state in states if measure in state.measures]
        if not values:
            known = {name for state in states for name in state.measures}
            raise ConfigError(f"extract_suite_thresholds: no measure {measure!r}{nearest(measure, known)}")
        mean = sum(values) / len(values)
        rows.append(SuiteRow(arm=label, measure=measure, bound=bound, value=mean, cases=len(values)))
    return rows


def _missed(row: SuiteRow) -> str:
    return f"{row.told} < {row.bound:g} over {row.cases} cases"


def _prefix(arm: str) -> str:
    return f"[{arm}] " if arm else ""
