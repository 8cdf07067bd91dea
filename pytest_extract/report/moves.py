"""Rows that stand elsewhere in their array: swapped, in another order, or moved up or down by lost or invented rows."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple, TypeAlias

from pytest_extract.core.values import MISSING, Json
from pytest_extract.report.entries import Entry
from pytest_extract.report.lines import plural
from pytest_extract.report.wholes import STEP

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
    for step in STEP.finditer(path):
        if step["at"] is not None:
            row = Row(path[: step.start()] or "$", int(step["at"]), path[: step.end()], len(found))
            found.append((row, path[step.end() :]))
    return found


def shifted(rows: Mapping[Row, Members]) -> dict[str, Entry | None]:
    """Fold what one gap or one insertion does to rows that are compared by position: all rows after it differ.

    The first row of each tale carries it; the others map to None.
    """
    arrays: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        arrays[row.array].append(row)
    folded: dict[str, Entry | None] = {}
    for array, found in arrays.items():
        lost = [row for row in found if {item.status for _, item in rows[row]} == {"omission"}]
        invented = [row for row in found if {item.status for _, item in rows[row]} == {"hallucination"}]
        if bool(lost) != bool(invented):
            folded |= _shift(array, rows, found, lost or invented)
    return folded


def _shift(
    array: str, rows: Mapping[Row, Members], found: Sequence[Row], beyond: Sequence[Row]
) -> dict[str, Entry | None]:
    """Leave as many rows out of the longer side as are `beyond` the end of the other; fold if the rest then agrees."""
    both = sorted((row for row in found if row not in beyond), key=lambda row: row.at)
    ends = sorted(beyond, key=lambda row: abs(row.at))
    first = next((i for i, row in enumerate(both) if any(item.status != "match" for _, item in rows[row])), None)
    if first is None or any(_is_paired(rows[row]) for row in both):
        return {}
    gap, count = ends[0].at >= 0, len(ends)
    longer = [_side(rows[row], gold=gap) for row in [*both, *ends]]
    shorter = [_side(rows[row], gold=not gap) for row in both]
    if list(map(_content, longer[first + count :])) != list(map(_content, shorter[first:])):
        return {}
    out = [_tidy(row) for row in longer[first : first + count]]
    note = _shift_note(both[first].at, count, len(both) - first, gap=gap)
    told = _tale(array, rows, [*both[first:], *ends], note)
    head = told[both[first].text]
    return told if head is None else told | {both[first].text: _beside(head, out if count > 1 else out[0], gap=gap)}


def _shift_note(at: int, count: int, after: int, *, gap: bool) -> str:
    where = f"row {at}" if count == 1 else f"rows {at} to {at + count - 1}"
    moved_rows = f"{plural(after, 'row')} after {'stands' if after == 1 else 'stand'} {plural(count, 'place')}"
    return f"{where} {'missing' if gap else 'invented'}, {moved_rows} {'earlier' if gap else 'later'}"


def _beside(head: Entry, value: Json, *, gap: bool) -> Entry:
    if gap:
        return head._replace(status="omission", gold=value)
    return head._replace(status="hallucination", extracted=value)


def _is_paired(members: Members) -> bool:
    """Whether alignment, not position, has chosen what the row is compared with."""
    return any(item.matched is not None or item.status not in {"match", "mismatch"} for _, item in members)


def _side(members: Members, *, gold: bool) -> dict[str, Json]:
    return {rest: item.gold if gold else item.extracted for rest, item in members}


def _tidy(row: Mapping[str, Json]) -> Json:
    return row[""] if list(row) == [""] else {rest.lstrip("."): value for rest, value in row.items()}


def moved(rows: Mapping[Row, Members]) -> dict[str, Entry | None]:
    """Fold rows whose values stand, all alike, in another row of the same array: `rows 3 and 4 swapped`.

    The first row of each tale carries it; the others map to None.
    """
    arrays: dict[str, dict[Row, Members]] = defaultdict(dict)
    for row, members in rows.items():
        if all(item.status in {"match", "mismatch"} and item.matched is None for _, item in members):
            arrays[row.array][row] = members
    folded: dict[str, Entry | None] = {}
    for array, members_of in arrays.items():
        stands_at = _where(members_of)
        for one, other in stands_at.items():
            if stands_at.get(other) == one and one.at < other.at:
                folded |= _tale(array, members_of, [one, other], f"rows {one.at} and {other.at} swapped")
        rest = sorted((row for row in stands_at if row.text not in folded), key=lambda row: row.at)
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


def _tale(array: str, members_of: Mapping[Row, Members], rows: Sequence[Row], note: str) -> dict[str, Entry | None]:
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
    return {rows[0].text: told} | dict.fromkeys(row.text for row in rows[1:])
