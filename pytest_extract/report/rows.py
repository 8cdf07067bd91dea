"""Rows told as a whole: missing, invented, swapped or in another order, in place of a line for each of their fields."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple, TypeAlias

from pytest_extract.core.values import MISSING
from pytest_extract.report.entries import Entry
from pytest_extract.report.lines import plural

_STEP: Final = re.compile(r'\[(-?\d+)\]|\["(?:[^"\\]|\\.)*"\]|[^\[]+')
_MOST_LISTED: Final = 8


class Row(NamedTuple):
    """A row by its array (`$` for the root), its index there, and its path as text; `depth`: rows around it."""

    array: str
    at: int
    text: str
    depth: int


Members: TypeAlias = Sequence[tuple[str, Entry]]
"""The entries of a row, each with the rest of its path inside the row."""


def rows_of(path: str) -> list[tuple[Row, str]]:
    """Return the rows that a path stands in, outermost first, each with the rest of the path inside it."""
    found: list[tuple[Row, str]] = []
    for step in _STEP.finditer(path):
        if step[1] is not None:
            row = Row(path[: step.start()] or "$", int(step[1]), path[: step.end()], len(found))
            found.append((row, path[step.end() :]))
    return found


def fold_rows(entries: Sequence[Entry]) -> list[Entry]:
    """Tell each row that is missing, invented or only elsewhere in one entry; the outermost such row of nested ones."""
    rows: dict[Row, list[tuple[str, Entry]]] = defaultdict(list)
    for item in entries:
        for row, rest in rows_of(item.path):
            rows[row].append((rest, item))
    folded: dict[Row, Entry | None] = {}
    by_depth = sorted(rows, key=lambda row: row.depth)
    for row in by_depth:
        whole = None if _inside(row, folded) else _one_sided(row, rows[row])
        if whole is not None:
            folded[row] = whole
    for depth in sorted({row.depth for row in by_depth}):
        level = {row: rows[row] for row in by_depth if row.depth == depth and not _inside(row, folded)}
        folded |= _moved(level)
    return _told_once(entries, folded)


def _inside(row: Row, folded: Mapping[Row, Entry | None]) -> bool:
    return any(outer in folded for outer, _ in rows_of(row.text))


def _told_once(entries: Sequence[Entry], folded: Mapping[Row, Entry | None]) -> list[Entry]:
    told: set[Row] = set()
    out: list[Entry] = []
    for item in entries:
        row = next((row for row, _ in rows_of(item.path) if row in folded), None)
        if row is None:
            out.append(item)
        elif row not in told:
            told.add(row)
            if (whole := folded[row]) is not None:
                out.append(whole)
    return out


def _one_sided(row: Row, members: Members) -> Entry | None:
    """Fold a row of which every leaf is an omission, or every leaf an invention."""
    statuses = {item.status for _, item in members}
    if len(members) < 2 or statuses not in ({"omission"}, {"hallucination"}):
        return None
    first = members[0][1]
    lost = statuses == {"omission"}
    value = {rest.lstrip(".") or "$": item.gold if lost else item.extracted for rest, item in members}
    return first._replace(
        path=row.text,
        metric="row",
        params={},
        gold=value if lost else MISSING,
        extracted=MISSING if lost else value,
        reason=None,
        matched=_row_text(first.matched, row.depth),
        weight=max(item.weight for _, item in members),
        note=f"{'whole row missing' if lost else 'invented row'}, {plural(len(members), 'field')}",
        stands_for=len(members),
    )


def _row_text(path: str | None, depth: int) -> str | None:
    rows = [] if path is None else rows_of(path)
    return rows[depth][0].text if depth < len(rows) else None


def _moved(rows: Mapping[Row, Members]) -> dict[Row, Entry | None]:
    """Fold rows whose values stand, all alike, in another row of the same array: `rows 3 and 4 swapped`.

    The first row of each tale carries it; the others map to None.
    """
    arrays: dict[str, dict[Row, Members]] = defaultdict(dict)
    for row, members in rows.items():
        if all(item.status in {"match", "mismatch"} and item.matched is None for _, item in members):
            arrays[row.array][row] = members
    folded: dict[Row, Entry | None] = {}
    for array, members_of in arrays.items():
        stands_at = _where(members_of)
        for one, other in stands_at.items():
            if stands_at.get(other) == one and one.at < other.at:
                folded |= _tale(array, members_of, [one, other], f"rows {one.at} and {other.at} swapped")
        rest = sorted((row for row in stands_at if row not in folded), key=lambda row: row.at)
        if len(rest) > 1 and {stands_at[row] for row in rest} == set(rest):
            folded |= _tale(array, members_of, rest, _order(rest, stands_at))
    return folded


def _order(rows: Sequence[Row], stands_at: Mapping[Row, Row]) -> str:
    listed = ", ".join(f"{row.at} at {stands_at[row].at}" for row in rows[:_MOST_LISTED])
    return f"{len(rows)} rows in another order: {listed}{', …' if len(rows) > _MOST_LISTED else ''}"


def _where(rows: Mapping[Row, Members]) -> dict[Row, Row]:
    """Map each failing gold row to the other failing row where just its values were extracted."""
    bad = {row: members for row, members in rows.items() if any(item.status != "match" for _, item in members)}
    extracted = {_content({rest: item.extracted for rest, item in members}): row for row, members in bad.items()}
    golds = {row: _content({rest: item.gold for rest, item in members}) for row, members in bad.items()}
    return {row: at for row, content in golds.items() if (at := extracted.get(content)) is not None and at != row}


def _content(values: Mapping[str, object]) -> str:
    return json.dumps(values, sort_keys=True, default=repr)


def _tale(array: str, members_of: Mapping[Row, Members], rows: Sequence[Row], note: str) -> dict[Row, Entry | None]:
    wrong = [item for row in rows for _, item in members_of[row] if item.status != "match"]
    told = wrong[0]._replace(
        path=array,
        metric="order",
        params={},
        gold=MISSING,
        extracted=MISSING,
        reason=None,
        score=min(item.score for item in wrong),
        weight=max(item.weight for item in wrong),
        note=note,
        stands_for=len(wrong),
    )
    return {rows[0]: told} | dict.fromkeys(rows[1:])
