"""Calibration as a table: a row for all values and one for each field."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Final

from pytest_extract.core.aggregate.bootstrap import Estimate
from pytest_extract.core.aggregate.calibration import Calibration
from pytest_extract.core.values import Json
from pytest_extract.report.lines import Line, number_text, plural, safe_prose
from pytest_extract.report.table import Table

_HEADS: Final = ("", "values", "confidence", "right", "95 %", "calibration error", "95 %")


def calibration_lines(arm: str, parts: Mapping[str, Calibration], *, width: int) -> list[Line]:
    """Show the calibration of an arm: all values first, then the fields, worst calibrated first."""
    overall, *fields = parts.items()
    rows = [overall, *sorted(fields, key=lambda part: -part[1].error.mean)]
    title = f"{safe_prose(arm)}: confidence" if arm else "confidence"
    head = f"{title} of {number_text(overall[1].values)} values in {plural(overall[1].cases, 'case')}"
    cells = [(safe_prose(name) or "all", *_cells(each)) for name, each in rows]
    return Table(_HEADS, cells, head).lines(width)


def _cells(part: Calibration) -> tuple[str, ...]:
    right, error = part.accuracy, part.error
    numbers = (number_text(part.values), _three(part.confidence), _three(right.mean), _between(right))
    return (*numbers, _three(error.mean), _between(error))


def _three(value: float) -> str:
    return number_text(round(value, 3))


def _between(estimate: Estimate) -> str:
    return f"{_three(estimate.low)} - {_three(estimate.high)}"


def calibration_record(arm: str, parts: Mapping[str, Calibration]) -> dict[str, Json]:
    """Return the calibration of one arm as JSON: of all values, and by field."""
    overall, *fields = ((name, asdict(each)) for name, each in parts.items())
    return {"arm": arm, "overall": overall[1], "fields": dict(fields)}
