"""The suite gate: measures of the whole run against their lowest values (`extract_suite_thresholds`)."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from pytest_extract.core.case_result import CaseResult, counted
from pytest_extract.core.values import ROUNDING, nearly, text_below
from pytest_extract.errors import ConfigError, nearest
from pytest_extract.regression.snapshots import case_state

COMPLETE_ROWS: Final = "complete_rows"
"""A bound of the suite that is no mean: the row up to which every long list is complete, as far as one breaks off."""


def check_suite(results: Iterable[CaseResult], thresholds: Mapping[str, float]) -> list[tuple[bool, str]]:
    """Compare each variant's means with the thresholds (measure -> lowest mean that passes).

    Each comes as passed or not, and a text; what passed first. A mean is over scored cases, each the mean of its
    repeats; cases that broke or were not run do not count, nor do those that are no samples, where some are. A run
    without a scored case does not pass. Raises ConfigError, with the nearest name, for a measure that no case has.
    """
    scored: dict[str, list[Mapping[str, float]]] = {}
    samples = counted(results)
    for result in samples:
        state = case_state(result)
        cases = scored.setdefault(state.variant.label, [])
        if not state.lost:
            cases.append({name: statistics.fmean(values) for name, values in state.measures.items()})
    if not scored:
        return [(False, "no case was run, so nothing was measured")]
    found: list[tuple[bool, str]] = []
    for variant, cases in sorted(scored.items()):
        label = f"[{variant}] " if variant else ""
        if not cases:
            found.append((False, f"{label}no case was scored, so nothing was measured"))
            continue
        for measure, bound in thresholds.items():
            if measure == COMPLETE_ROWS:
                found.append(_complete_rows([each for each in samples if each.variant.label == variant], bound, label))
                continue
            values = [measures[measure] for measures in cases if measure in measures]
            if not values:
                known = {name for measures in cases for name in measures}
                raise ConfigError(f"extract_suite_thresholds: no measure {measure!r}{nearest(measure, known)}")
            mean = statistics.fmean(values)
            passed = mean >= bound - ROUNDING
            how = f"reaches {bound:g}" if passed else f"< {bound:g} over {len(values)} cases"
            shown = nearly(mean, 1, 4) or f"{mean:.4f}" if passed else text_below(mean, bound, "f", 4)
            found.append((passed, f"{label}{measure} {shown} {how}"))
    return sorted(found, key=lambda each: not each[0])


def _complete_rows(results: Sequence[CaseResult], bound: float, label: str) -> tuple[bool, str]:
    from pytest_extract.core.aggregate.lists import list_recalls

    edges = [(each.edge.at, each.pattern) for each in list_recalls(results) if each.edge is not None]
    row, pattern = min(edges, default=(None, ""))
    if row is None:
        return True, f"{label}{COMPLETE_ROWS}: no list breaks off"
    passed = row >= bound
    return passed, f"{label}{COMPLETE_ROWS} {row:,} ({pattern}) {'reaches' if passed else '<'} {bound:g}"
