"""The one model of a table: the terminal, Markdown and the page draw it, each in its own way."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from pytest_extract.report.lines import Line, Span, Style, line, padded, plural, prose, safe_prose, shorten, text_width

_INDENT: Final = 2
_NARROWEST_NAME: Final = 24
"""Names are not shortened below this width; in a narrower column each has a line of its own."""


@dataclass(frozen=True, slots=True)
class Table:
    """Column heads and rows: names in the first column, figures in the others; a title above, notes below.

    `styles`: one for each row, if not all are plain.
    """

    heads: Sequence[str]
    rows: Sequence[Sequence[str]]
    title: str = ""
    notes: Sequence[str] = ()
    styles: Sequence[Style] = ()

    def first(self, most: int | None, noun: str, hint: str = "") -> Table:
        """Return the first `most` rows, all if None, and a note that counts the others."""
        left = 0 if most is None else len(self.rows) - most
        if left <= 0:
            return self
        more = f"and {plural(left, f'more {noun}')}{hint}"
        return replace(self, rows=self.rows[:most], styles=self.styles[:most], notes=(more, *self.notes))

    def lines(self, width: int) -> list[Line]:
        """Write the table for a terminal.

        If the names do not fit beside the figures, each has a line of its own above its figures.
        """
        wide = [max([len(head), *(len(row[index]) for row in self.rows)]) for index, head in enumerate(self.heads)][1:]
        names = [safe_prose(name) for name in (self.heads[0], *(row[0] for row in self.rows))]
        longest = max(map(text_width, names))
        room = width - _INDENT - sum(each + 1 for each in wide)
        stacked = room < min(longest, _NARROWEST_NAME)
        styles: list[Style] = ["dim", *(self.styles or ["plain"] * len(self.rows))]
        lines = prose(self.title, "head", indent=0, width=width) if self.title else []
        for index, (name, cells) in enumerate(zip(names, (self.heads, *self.rows), strict=True)):
            figures = "".join(f" {cell:>{size}}" for cell, size in zip(cells[1:], wide, strict=True))
            style = styles[index]
            if stacked:
                lines.append(line(Span(shorten(name, width - _INDENT), style), indent=_INDENT))
                lines.append(line(Span(figures[1:], style), indent=2 * _INDENT))
            else:
                column = min(longest, room)
                lines.append(line(Span(f"{padded(shorten(name, column), column)}{figures}", style), indent=_INDENT))
        return lines + [each for note in self.notes for each in prose(note, "dim", indent=_INDENT, width=width)]
