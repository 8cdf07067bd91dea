"""Lists to the end: how many rows are found by position and by length, and where a list breaks off."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Final

from pytest_extract.core.aggregate.lists import BOUNDS, ListRecall, Recall, list_recalls
from pytest_extract.core.case_result import CaseResult
from pytest_extract.report.lines import Line, percent, plural, prose, safe_prose
from pytest_extract.report.table import Table

_MOST: Final = 5
_STARTS: Final[Mapping[int, int]] = {end: start + 1 for start, end in pairwise((0, *BOUNDS))}


def list_lines(recalls: Sequence[ListRecall], *, width: int) -> list[Line]:
    """Say of each list that breaks off how far it is complete."""
    texts = [f"{_name(each)} {edge_text(each)}" for each in recalls if each.edge is not None]
    more = [f"and {plural(len(texts) - _MOST, 'more list')} that break off"] if len(texts) > _MOST else []
    return [each for text in (*texts[:_MOST], *more) for each in prose(text, "warn", indent=0, width=width)]


def edge_text(recall: ListRecall) -> str:
    """Say up to where a list is complete, and how many rows are found beyond."""
    edge = recall.edge
    if edge is None:
        return f"breaks off nowhere, up to {plural(recall.longest, 'row')}"
    bounds = "" if edge.low == edge.high else f" (95 %: {edge.low:,} to {edge.high:,})"
    if edge.by == "position":
        where = f"to row {edge.at:,}{bounds}"
    else:
        where = f"in lists of up to {plural(edge.at, 'row')}{bounds}"
    whole = "is complete" if edge.before > 0.995 else f"has {percent(edge.before)} of its rows"
    return f"{whole} {where}, and has {percent(edge.after)} of those beyond"


def list_tables(results: Iterable[CaseResult]) -> list[Table]:
    """Write the recall of rows by position and by length as tables, for the lists that lack the most rows."""
    tables = []
    for recall in list_recalls(results)[:_MOST]:
        ends = sorted({*recall.by_position, *recall.by_length})
        rows = [(_range(end), *_cells(recall.by_position.get(end)), *_cells(recall.by_length.get(end))) for end in ends]
        heads = ("row, or length", "rows at it", "found", "rows in lists of it", "found")
        notes = [f"{plural(recall.lists, 'list')}; {safe_prose(recall.pattern)} {edge_text(recall)}"]
        tables.append(Table(heads, rows, f"{_name(recall)}: rows found", notes))
    return tables


def _name(recall: ListRecall) -> str:
    variant = f" [{recall.variant}]" if recall.variant else ""
    return safe_prose(f"{recall.pattern}{variant}")


def _range(end: int) -> str:
    return f"{_STARTS[end]:,} to {end:,}"


def _cells(recall: Recall | None) -> tuple[str, str]:
    return ("-", "-") if recall is None else (f"{recall.rows:,}", percent(recall.share))
