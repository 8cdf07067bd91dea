"""An output that could not be scored, as lines: what is wrong with it, where, and the text around the place."""

from __future__ import annotations

from typing import Final

from pytest_extract.core.results import Failure
from pytest_extract.report.lines import Line, Span, line, plural, safe, safe_prose, titled
from pytest_extract.report.values import show

_CONTEXT: Final = 2
"""Lines of the output shown before the place."""


def output_lines(failure: Failure, output: object, width: int) -> list[Line]:
    """Show a failure, and the output around its line and column, with a caret below."""
    place = _where(failure)
    head = titled(f"{failure.kind}{place}", failure.message, width)
    if not isinstance(output, str):
        return head if output is None else [*head, line("output: ", show(output, width - 12), indent=2)]
    if output.strip() in failure.message:  # nothing, or quoted there whole
        return head
    if not failure.line:
        return [*head, line(f"output ({plural(len(output), 'character')}): ", show(output, width - 32), indent=2)]
    return [*head, *_excerpt(output, failure.line, failure.column or 1, width)]


def _where(failure: Failure) -> str:
    if failure.line:
        return f" at line {failure.line}, column {failure.column}"
    return "" if failure.path is None else f" at {safe_prose(str(failure.path))}"


def _excerpt(output: str, row: int, column: int, width: int) -> list[Line]:
    texts = output.split("\n")
    row = min(row, len(texts))
    left = max(column - (width - 12) * 2 // 3, 0)
    lines: list[Line] = []
    for index in range(max(row - 1 - _CONTEXT, 0), row):
        piece = texts[index][left : left + width - 12]
        lines.append(line(Span(f"{index + 1:>4} | ", "dim"), safe(piece), indent=2))
    before = safe(texts[row - 1][left : max(column - 1, 0)])
    return [*lines, line(Span(f"{'':>4} | ", "dim"), Span(" " * len(before) + "^", "mark"), indent=2)]
