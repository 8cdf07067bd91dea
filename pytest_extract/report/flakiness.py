"""Repeats as lines: how likely k runs in a row pass, and which fields pass now and then."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from pytest_extract.core.case_result import CaseResult
from pytest_extract.regression.flakiness import FlakyField, flaky_fields, repeat_snapshots, suite_pass_hat_k
from pytest_extract.report.lines import Line, Span, line, plural, safe_prose
from pytest_extract.report.values import percent

MOST: Final = 10
"""Unsteady fields that are shown without `-v`."""


def repeat_lines(results: Sequence[CaseResult], *, verbosity: int = 0) -> list[Line]:
    """Tell what the repeats of a run show; nothing where no case was run twice."""
    if all(len(result.attempts) < 2 for result in results):
        return []
    rates = suite_pass_hat_k(results)
    fields = flaky_fields(repeat_snapshots(results))
    if max(rates, default=0) < 2 and not fields:
        return []
    told = ", ".join(f"pass^{k} {percent(rate)}" for k, rate in rates.items())
    count = plural(len(fields), "unsteady field")
    lines = [line(Span("repeats: ", "head"), f"{told}; {count}")]
    most = len(fields) if verbosity >= 1 else MOST
    lines += [_field_line(field) for field in fields[:most]]
    left = plural(len(fields) - most, "more field")
    return [*lines, line(Span(f"... and {left} (-v shows all)", "dim"), indent=2)] if len(fields) > most else lines


def _field_line(field: FlakyField) -> Line:
    """Tell one unsteady field."""
    arm = f" [{field.arm}]" if field.arm else ""
    rate = f"passed {field.passes} of {plural(field.runs, 'run')}, {plural(field.values, 'value')}"
    return line(
        safe_prose(f"{field.case}{arm} {field.path}: {rate}; twice in a row {percent(field.pass_twice)}"), indent=2
    )
