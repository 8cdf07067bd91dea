"""Calibration as tables: the reliability of a confidence by bins with a plot, and a row for each field and slice."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Final

from pytest_extract.core.aggregate.bootstrap import Estimate
from pytest_extract.core.aggregate.calibration import Calibration
from pytest_extract.core.values import Json
from pytest_extract.report.lines import Line, Span, line, number_text, plural, prose, safe_prose, text_table

_WIDTH: Final = 30
_HEADS: Final = ("", "values", "right", "95 %", "calibration error", "95 %", "AUROC", "95 %", "AURC")


def calibration_lines(
    title: str, overall: Calibration, parts: Mapping[str, Mapping[str, Calibration]], *, width: int
) -> list[Line]:
    """Show the reliability of a confidence over all values, then a table of the fields and one for each dimension."""
    right = overall.accuracy
    head = (
        f"{title}: {number_text(overall.values)} values of {plural(overall.cases, 'case')}, mean confidence "
        f"{_three(overall.confidence)}, right {_three(right.mean)} ({_between(right)})"
    )
    lines = [*prose(head, "head", indent=0, width=width)]
    numbers = [
        f"expected calibration error {_three(overall.error.mean)} ({_between(overall.error)})",
        "AUROC -" if overall.auroc is None else f"AUROC {_three(overall.auroc.mean)} ({_between(overall.auroc)})",
        f"area under the risk-coverage curve {_three(overall.aurc.mean)} ({_between(overall.aurc)})",
    ]
    lines += [line(text, indent=2) for text in numbers]
    heads = ("confidence", "values", "mean", "right", "95 %", "right: #, confidence: |")
    lines += text_table(heads, [_bin_cells(overall, index) for index in range(len(overall.bins))], width)
    for dimension, found in parts.items():
        ordered = sorted(found.items(), key=lambda part: -part[1].error.mean)
        rows = [_part_cells(safe_prose(name), each) for name, each in ordered]
        lines += [line(), line(Span(f"{safe_prose(dimension)}, worst calibrated first", "dim"))]
        lines += text_table(_HEADS, rows, width)
    return lines


def _bin_cells(overall: Calibration, index: int) -> list[str]:
    each = overall.bins[index]
    closed = "]" if each.high == 1 else ")"
    name = f"[{each.low:g}, {each.high:g}{closed}"
    right = each.right
    numbers = [number_text(each.count), _three(each.confidence), _three(right.mean), _between(right)]
    return [name, *numbers, _bar(right.mean, each.confidence)]


def _bar(share: float, confidence: float) -> str:
    """Draw the share of right values as a bar, with a mark where the confidence is."""
    bar = list("#" * round(share * _WIDTH) + "." * (_WIDTH - round(share * _WIDTH)))
    bar[min(round(confidence * _WIDTH), _WIDTH - 1)] = "|"
    return "".join(bar)


def _part_cells(name: str, part: Calibration) -> list[str]:
    auroc = ["-", ""] if part.auroc is None else [_three(part.auroc.mean), _between(part.auroc)]
    return [
        name,
        number_text(part.values),
        _three(part.accuracy.mean),
        _between(part.accuracy),
        _three(part.error.mean),
        _between(part.error),
        *auroc,
        _three(part.aurc.mean),
    ]


def _three(value: float) -> str:
    return number_text(round(value, 3))


def _between(estimate: Estimate) -> str:
    return f"{_three(estimate.low)} - {_three(estimate.high)}"


def calibration_record(
    arm: str, source: str, overall: Calibration, parts: Mapping[str, Mapping[str, Calibration]]
) -> dict[str, Json]:
    """Return the calibration of one arm as JSON; `parts` by dimension and name."""
    split = {name: {key: asdict(each) for key, each in found.items()} for name, found in parts.items()}
    return {"arm": arm, "confidence": source, "overall": asdict(overall), **split}
