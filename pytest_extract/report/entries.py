"""The comparisons of a scored output as typed entries, from their wire form; and rows that only changed places."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from pytest_extract.core.values import MISSING, Json, Missing, Step
from pytest_extract.report.lines import plural

_STEP: Final = re.compile(r'\[(-?\d+)\]|\[("(?:[^"\\]|\\.)*")\]|\.?([^.\[\]]+)')
FAILING: Final = frozenset({"mismatch", "omission", "hallucination", "judge_error"})


class Entry(NamedTuple):
    """One comparison, or several that one line tells (`note` says how)."""

    path: str
    pattern: str
    metric: str
    params: Mapping[str, Json]
    status: str
    score: float
    gold: Json | Missing
    extracted: Json | Missing
    reason: str | None
    weight: float
    matched: str | None
    note: str = ""
    stands_for: int = 1

    @property
    def label(self) -> str:
        """The metric with its parameters: `number(rel=0.01)`."""
        given = {name: value for name, value in self.params.items() if value is not None}
        if not given:
            return self.metric
        return f"{self.metric}({', '.join(f'{name}={_param(value)}' for name, value in given.items())})"


def _param(value: Json) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


def entry(record: Mapping[str, Any]) -> Entry:
    """Read one result of `Score.to_dict()`; a left-out `gold` or `extracted` is MISSING."""
    return Entry(
        path=record["path"],
        pattern=record["pattern"],
        metric=record["metric"],
        params=record.get("params") or {},
        status=record["status"],
        score=record["score"],
        gold=record.get("gold", MISSING),
        extracted=record.get("extracted", MISSING),
        reason=record.get("reason"),
        weight=record.get("weight", 1.0),
        matched=record.get("matched"),
    )


def steps_of(path: str) -> tuple[Step, ...]:
    """Split the text of a path into its steps again; `$` has none."""
    if path == "$":
        return ()
    return tuple(
        int(index) if index else json.loads(quoted) if quoted else name for index, quoted, name in _STEP.findall(path)
    )


def failing(entries: Iterable[Entry]) -> list[Entry]:
    """Return what failed, worst first: by score, then by weight, then as it stands in the document."""
    bad = [item for item in entries if item.status in FAILING]
    return sorted(bad, key=lambda item: (item.score, -item.weight))


class _Row(NamedTuple):
    array: str
    at: int
    text: str


def _row_of(path: str) -> tuple[_Row, str] | None:
    """Find the outermost row that a path stands in, and the rest of the path inside it."""
    match = re.match(r'^((?:[^\["]|\["(?:[^"\\]|\\.)*"\])*?)\[(-?\d+)\]', path)
    if match is None:
        return None
    return _Row(match[1] or "$", int(match[2]), path[: match.end()]), path[match.end() :]


def fold_rows(entries: Sequence[Entry]) -> list[Entry]:
    """Tell rows that are missing, invented or only elsewhere in one entry each, in place of one per leaf."""
    rows: dict[_Row, list[tuple[str, Entry]]] = defaultdict(list)
    for item in entries:
        found = _row_of(item.path)
        if found is not None:
            rows[found[0]].append((found[1], item))
    folded: dict[_Row, Entry | None] = {
        row: whole for row, members in rows.items() if (whole := _one_sided(row, members))
    }
    folded |= _moved({row: members for row, members in rows.items() if row not in folded})
    told: set[_Row] = set()
    out: list[Entry] = []
    for item in entries:
        found = _row_of(item.path)
        if found is None or found[0] not in folded:
            out.append(item)
        elif found[0] not in told:
            told.add(found[0])
            if (whole := folded[found[0]]) is not None:
                out.append(whole)
    return out


def _one_sided(row: _Row, members: Sequence[tuple[str, Entry]]) -> Entry | None:
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
        matched=_row_text(first.matched),
        weight=max(item.weight for _, item in members),
        note=f"{'whole row missing' if lost else 'invented row'}, {plural(len(members), 'field')}",
        stands_for=len(members),
    )


def _row_text(path: str | None) -> str | None:
    found = None if path is None else _row_of(path)
    return None if found is None else found[0].text


def _moved(rows: Mapping[_Row, Sequence[tuple[str, Entry]]]) -> dict[_Row, Entry | None]:
    """Fold rows whose values stand, all alike, in another row of the same array: `rows 3 and 4 swapped`.

    The first row of each tale carries it; the others map to None.
    """
    arrays: dict[str, dict[int, Sequence[tuple[str, Entry]]]] = defaultdict(dict)
    for row, members in rows.items():
        if all(item.status in {"match", "mismatch"} and item.matched is None for _, item in members):
            arrays[row.array][row.at] = members
    folded: dict[_Row, Entry | None] = {}
    for array, by_index in arrays.items():
        stands_at = _where(by_index)
        for one, other in stands_at.items():
            if other in stands_at and stands_at[other] == one and one < other:
                folded |= _tale(array, by_index, (one, other), f"rows {one} and {other} swapped")
        cycle = sorted(row for row in stands_at if _Row(array, row, row_text(array, row)) not in folded)
        if len(cycle) > 1 and sorted(stands_at[row] for row in cycle) == cycle:
            listed = ", ".join(f"{row} at {stands_at[row]}" for row in cycle[:8])
            more = ", …" if len(cycle) > 8 else ""
            folded |= _tale(array, by_index, tuple(cycle), f"{len(cycle)} rows in another order: {listed}{more}")
    return folded


def row_text(array: str, index: int) -> str:
    """Path of a row as text: `items[3]`; rows of a root array are `[3]`."""
    return f"{'' if array == '$' else array}[{index}]"


def _where(by_index: Mapping[int, Sequence[tuple[str, Entry]]]) -> dict[int, int]:
    """Map each failing gold row to the other failing row where just its values were extracted."""
    bad = {i: members for i, members in by_index.items() if any(item.status != "match" for _, item in members)}
    extracted = {_content({rest: item.extracted for rest, item in members}): i for i, members in bad.items()}
    golds = {i: _content({rest: item.gold for rest, item in members}) for i, members in bad.items()}
    return {i: extracted[content] for i, content in golds.items() if content in extracted and extracted[content] != i}


def _content(values: Mapping[str, object]) -> str:
    return json.dumps(values, sort_keys=True, default=repr)


def _tale(
    array: str, by_index: Mapping[int, Sequence[tuple[str, Entry]]], rows: tuple[int, ...], note: str
) -> dict[_Row, Entry | None]:
    members = [item for row in rows for _, item in by_index[row] if item.status != "match"]
    told = members[0]._replace(
        path=array,
        metric="order",
        params={},
        gold=MISSING,
        extracted=MISSING,
        reason=None,
        score=min(item.score for item in members),
        weight=max(item.weight for item in members),
        note=note,
        stands_for=len(members),
    )
    keys = [_Row(array, row, row_text(array, row)) for row in rows]
    return {keys[0]: told} | dict.fromkeys(keys[1:])
