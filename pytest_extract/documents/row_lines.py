"""Lines of a document that look like the rows of a list, and that none of its rows is read from.

It needs no gold: a table of twenty lines of which an output has eighteen is seen by the shape of the lines.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from pytest_extract.core.values import FieldPath, Json, Step, iter_leaves, short_repr
from pytest_extract.documents import Document
from pytest_extract.documents.evidence import find_evidence

_MOST_LOCATIONS: Final = 200
_NUMBER: Final = re.compile(r"[^\w\s]{0,3}\d[\d.,'/:-]*[^\w\s]{0,2}[A-Za-z]{0,3}")
_NEAR: Final = 3
"""Lines that may stand between two rows: the second line of a cell, a heading."""
_LEAST_ROWS: Final = 3
_LEAST_VALUES: Final = 2
_LEAST_SHARE: Final = 0.25


class RowLine(NamedTuple):
    """A line of a document: its page, None where there are none, its number on that from 1, and its text."""

    page: int | None
    number: int
    text: str


def lines_without_row(document: Document, rows: Sequence[Json], others: Sequence[Json] = ()) -> list[RowLine]:
    """Return the lines near those of the rows that have their shape and belong to no row; empty where that is unclear.

    `others`: rows of other lists, and texts of single fields, whose lines belong to them. A row belongs to the line
    that holds most of its values, at least two. The shape of a line is its sequence of numbers and words. Raises
    DocumentError for a document without text.
    """
    lines = [
        RowLine(page if len(document.pages) > 1 else None, number, text)
        for page, content in enumerate(document.pages, start=1)
        for number, text in enumerate(content.split("\n"), start=1)
    ]
    places = {(line.page, line.number): index for index, line in enumerate(lines)}
    taken = {place for row in rows if (place := _line_of(document, row, places)) is not None}
    shapes = Counter(_shape(lines[index].text) for index in taken)
    usual = {shape for shape, count in shapes.items() if count >= max(2, _LEAST_SHARE * len(taken)) and len(shape) > 1}
    if len(taken) < _LEAST_ROWS or not usual:
        return []
    alike = [index for index, line in enumerate(lines) if index in taken or _shape(line.text) in usual]
    near = set(taken)
    for order in (alike, alike[::-1]):  # down from each row, then up
        for index in order:
            if not near.isdisjoint(range(index - _NEAR, index + _NEAR + 1)):
                near.add(index)
    missing = near - taken
    for other in others if missing else ():
        if isinstance(other, str):
            missing -= set(_lines_with(document, other, places))
        else:
            missing.discard(_line_of(document, other, places))
    return [lines[index] for index in sorted(missing)]


def _line_of(document: Document, row: Json, places: dict[tuple[int | None, int], int]) -> int | None:
    counts: Counter[int] = Counter()
    for _, value in iter_leaves(row):
        counts.update(set(_lines_with(document, value, places)))
    best, count = next(iter(counts.most_common(1)), (None, 0))
    return best if count >= _LEAST_VALUES else None


def _lines_with(document: Document, value: Json, places: dict[tuple[int | None, int], int]) -> list[int]:
    evidence = find_evidence(document, value, most=_MOST_LOCATIONS, nearest=False)
    return [] if evidence is None else [places[each.page, each.line] for each in evidence.locations]


def _shape(line: str) -> tuple[str, ...]:
    kinds = ["number" if _NUMBER.fullmatch(word) else "word" for word in line.split()]
    return tuple(kind for index, kind in enumerate(kinds) if kind == "number" or kinds[index - 1 : index] != ["word"])


_MOST_SHOWN: Final = 3
_WIDTH: Final = 60


def more_rows(document: Document, value: Json) -> Iterator[tuple[FieldPath, str]]:
    """Yield the lists of a value for which the document shows more rows, with a sentence that names the lines."""
    lists = [*_lists_of_rows(value)]
    single = [leaf for place, leaf in iter_leaves(value) if not any(isinstance(step, int) for step in place)]
    texts = [leaf for leaf in single if isinstance(leaf, str) and " " in leaf.strip()]  # one word may be in every row
    for path, rows in lists:
        others = [row for _, other in lists if other is not rows for row in other]
        lines = lines_without_row(document, rows, [*texts, *others]) if len(rows) >= _LEAST_ROWS else []
        if lines:
            named = [
                f"{'' if line.page is None else f'page {line.page}, '}line {line.number} "
                f"{short_repr(' '.join(line.text.split()), _WIDTH)}"
                for line in lines[:_MOST_SHOWN]
            ]
            more = f", and {len(lines) - _MOST_SHOWN} more" if len(lines) > _MOST_SHOWN else ""
            verb = "1 more line looks like one" if len(lines) == 1 else f"{len(lines)} more lines look like some"
            yield FieldPath(path), f"has {len(rows)} rows; {verb}: {'; '.join(named)}{more}"


def _lists_of_rows(value: Json, path: tuple[Step, ...] = ()) -> Iterator[tuple[tuple[Step, ...], list[Json]]]:
    """Yield the lists that hold objects, with their places."""
    if isinstance(value, list) and any(isinstance(row, dict) for row in value):
        yield path, value
    parts = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for step, part in parts:
        yield from _lists_of_rows(part, (*path, step))
