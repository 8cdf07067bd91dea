"""The suite gate: measures of the whole run against their lowest values (`extract_suite_thresholds`)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from pytest_extract.core.case_result import CaseResult
from pytest_extract.errors import ConfigError, nearest
from pytest_extract.regression.snapshots import case_state


@dataclass(frozen=True, slots=True, kw_only=True)
class SuiteRow:
    """One measure of one arm: the plain mean over its scored cases (each the mean of its repeats) and its bound."""

    arm: str
    measure: str
    bound: float
    value: float
    cases: int

    @property
    def text(self) -> str:
        """The arm, the measure and its mean, as text."""
        return f"{_arm_prefix(self.arm)}{self.measure} {self.value:.4f}"

    @property
    def passed(self) -> bool:
        """Whether the bound is met; a rounding error in the last digits does not miss it."""
        return self.value >= self.bound - 1e-12


@dataclass(frozen=True, slots=True, kw_only=True)
class SuiteDecision:
    """All rows, and the reasons why the suite fails (empty: it passes). `lost`: cases that were broken or not run."""

    rows: tuple[SuiteRow, ...]
    reasons: tuple[str, ...]
    lost: int

    @property
    def passed(self) -> bool:
        """Whether every bound is met, and something was measured."""
        return not self.reasons


def check_suite(results: Iterable[CaseResult], thresholds: Mapping[str, float]) -> SuiteDecision:
    """Compare each arm's means with the thresholds (measure -> lowest mean that passes).

    Cases that broke or were not run do not count in a mean; `lost` is their number. A run without a scored case does
    not pass. Raises ConfigError, with the nearest name, for a measure that no case has.
    """
    scored: dict[str, list[Mapping[str, float]]] = {}
    lost = 0
    for result in results:
        state = case_state(result)
        measures = scored.setdefault(state.arm.label, [])
        if state.lost:
            lost += 1
        else:
            measures.append({name: sum(values) / len(values) for name, values in state.measures.items()})
    rows: list[SuiteRow] = []
    for label, cases in sorted(scored.items()):
        rows += _rows_of_arm(label, cases, thresholds) if cases else []
    reasons = [_missed(row) for row in rows if not row.passed]
    silent = sorted(label for label, cases in scored.items() if not cases)
    reasons += [f"{_arm_prefix(label)}no case was scored, so nothing was measured" for label in silent]
    if not scored:
        reasons.append("no case was run, so nothing was measured")
    return SuiteDecision(rows=tuple(rows), reasons=tuple(reasons), lost=lost)


def _rows_of_arm(label: str, cases: Sequence[Mapping[str, float]], thresholds: Mapping[str, float]) -> list[SuiteRow]:
    rows: list[SuiteRow] = []
    for measure, bound in thresholds.items():
        values = [measures[measure] for measures in cases if measure in measures]
        if not values:
            known = {name for measures in cases for name in measures}
            raise ConfigError(f"extract_suite_thresholds: no measure {measure!r}{nearest(measure, known)}")
        mean = sum(values) / len(values)
        rows.append(SuiteRow(arm=label, measure=measure, bound=bound, value=mean, cases=len(values)))
    return rows


def _missed(row: SuiteRow) -> str:
    return f"{row.text} < {row.bound:g} over {row.cases} cases"


def _arm_prefix(arm: str) -> str:
    return f"[{arm}] " if arm else ""
