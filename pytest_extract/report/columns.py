"""A table as lines: names to the left, figures in columns, and no line longer than the window where that can be."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from pytest_extract.report.lines import Line, Span, Style, line, safe_prose, shorten

_INDENT: Final = 2
_LEAST: Final = 24
"""Characters that a name is shortened to at most; with less room it has a line of its own."""


def table(heads: Sequence[str], rows: Sequence[Sequence[str]], width: int) -> list[Line]:
    """Write a head and rows of the same length; the first column holds names, the others figures.

    Where the window is too narrow for names of a readable length, each stands above its figures.
    """
    wide = [max([len(head), *(len(row[index]) for row in rows)]) for index, head in enumerate(heads)][1:]
    names = [safe_prose(name) for name in (heads[0], *(row[0] for row in rows))]
    longest = max(len(name) for name in names)
    room = width - _INDENT - sum(each + 1 for each in wide)
    stacked = room < min(longest, _LEAST)
    lines: list[Line] = []
    for index, (name, cells) in enumerate(zip(names, (heads, *rows), strict=True)):
        figures = "".join(f" {cell:>{size}}" for cell, size in zip(cells[1:], wide, strict=True))
        style: Style = "plain" if index else "dim"
        if stacked:
            lines.append(line(Span(shorten(name, width - _INDENT), style), indent=_INDENT))
            lines.append(line(Span(figures[1:], style), indent=2 * _INDENT))
        else:
            column = min(longest, room)
            lines.append(line(Span(f"{shorten(name, column):<{column}}{figures}", style), indent=_INDENT))
    return lines
