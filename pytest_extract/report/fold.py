"""Folds comparisons into findings: one line for what is missing, invented, moved or swapped as a whole."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, TypeAlias

from pytest_extract.core.results import FieldResult, Status
from pytest_extract.core.values import MISSING, FieldPath, Json, Step, path_text
from pytest_extract.report.findings import FAILING, Finding
from pytest_extract.report.lines import plural

Path: TypeAlias = tuple[Step, ...]
Members: TypeAlias = Sequence[tuple[Path, FieldResult]]
"""The results of a row, each with the rest of its path inside the row."""
Folded: TypeAlias = dict[Path, Finding | None]
"""A place -> the finding that stands for all results inside; None where another place's finding does."""

_MOST_LISTED: Final = 8
_ONE_SIDED: Final = frozenset({Status.OMISSION, Status.HALLUCINATION})


def fold(results: Sequence[FieldResult]) -> list[Finding]:
    """Return a finding for each result that failed, but one for each row, object or array that is wrong as a whole."""
    rows = _rows(results)
    folded: Folded = _shifted(rows)
    folded |= {place: found for place, found in _wholes(results, folded).items() if place not in folded}
    for depth in sorted({_depth(row) for row in rows}):
        level = {row: members for row, members in rows.items() if _depth(row) == depth and not _is_inside(row, folded)}
        folded |= _moved(level)
    return _each_once([result for result in results if result.status in FAILING], folded)


def _rows(results: Iterable[FieldResult]) -> dict[Path, Members]:
    """Return the rows of the arrays in which anything fails, by path; nested rows are in their outer rows too."""
    failing = {
        result.path[:index]
        for result in results
        if result.status in FAILING
        for index, step in enumerate(result.path)
        if type(step) is int
    }
    rows: dict[Path, list[tuple[Path, FieldResult]]] = defaultdict(list)
    for result in results:
        path = result.path
        for index, step in enumerate(path):
            if type(step) is int and path[:index] in failing:
                rows[path[: index + 1]].append((path[index + 1 :], result))
    return dict(rows)


def _depth(row: Path) -> int:
    return sum(type(step) is int for step in row)


def _index(row: Path) -> int:
    index = row[-1]
    assert isinstance(index, int)  # noqa: S101 - rows end in their index
    return index


def _is_inside(path: Path, folded: Mapping[Path, object]) -> bool:
    return any(path[:size] in folded for size in range(1, len(path) + 1))


def _each_once(results: Sequence[FieldResult], folded: Folded) -> list[Finding]:
    done: set[Path] = set()
    findings: list[Finding] = []
    for result in results:
        path = result.path
        place = next((path[:size] for size in range(1, len(path) + 1) if path[:size] in folded), None)
        if place is None:
            findings.append(Finding(result))
        elif place not in done:
            done.add(place)
            if (whole := folded[place]) is not None:
                findings.append(whole)
    return findings


# Missing or invented as a whole


def _wholes(results: Sequence[FieldResult], folded: Mapping[Path, object]) -> dict[Path, Finding]:
    """Map each outermost container whose fields are all missing, or all invented, to its finding."""
    members: dict[Path, list[FieldResult]] = defaultdict(list)
    for result in results:
        if result.status in _ONE_SIDED and not _is_inside(result.path, folded):
            for size in range(1, len(result.path)):
                members[result.path[:size]].append(result)
    spoiled: set[Path] = set()
    for result in results:
        if result.path[:1] in members and result.status not in _ONE_SIDED and not _is_inside(result.path, folded):
            spoiled.update(result.path[:size] for size in range(1, len(result.path)))
    found: dict[Path, Finding] = {}
    for place in sorted(members.keys() - spoiled, key=len):
        if not _is_inside(place, found) and (whole := _whole(place, members[place])) is not None:
            found[place] = whole
    return found


def _whole(place: Path, members: Sequence[FieldResult]) -> Finding | None:
    first = members[0]
    if len(members) < 2 or any(result.status is not first.status for result in members):
        return None
    missing = first.status is Status.OMISSION
    kind = "row" if type(place[-1]) is int else "array" if type(first.path[len(place)]) is int else "object"
    value = _assembled([(r.path[len(place) :], r.gold if missing else r.extracted) for r in members])
    count = plural(len(members), "field")
    if kind == "array":
        if len(value) == 1:
            return None  # then its row says the same, and where it stands
        count = plural(len(value), "row" if isinstance(value[0], dict | list) else "value")
    matched = first.matched
    result = first._replace(
        path=FieldPath(place),
        metric=kind,
        params={},
        gold=value if missing else MISSING,
        extracted=MISSING if missing else value,
        reason=None,
        matched=None if matched is None or len(matched) < len(place) else FieldPath(matched[: len(place)]),
        weight=max(result.weight for result in members),
    )
    note = f"{f'whole {kind} missing' if missing else f'invented {kind}'}, {count}"
    return Finding(result, note, len(members))


def _assembled(leaves: Sequence[tuple[Path, Json]]) -> Json:
    """Put a value together from the paths and values of its fields."""
    inside: dict[Step, list[tuple[Path, Json]]] = defaultdict(list)
    for path, value in leaves:
        if path:
            inside[path[0]].append((path[1:], value))
    if not inside:
        return leaves[0][1]
    if all(type(step) is int for step in inside):
        return [_assembled(below) for below in inside.values()]
    return {str(step): _assembled(below) for step, below in inside.items()}


# Rows after a missing or an invented one, compared by position


def _shifted(rows: Mapping[Path, Members]) -> Folded:
    """Fold what one gap or one insertion does to rows that are compared by position: all rows after it differ."""
    arrays: dict[Path, list[Path]] = defaultdict(list)
    for row in rows:
        arrays[row[:-1]].append(row)
    folded: Folded = {}
    for array, found in arrays.items():
        missing = [row for row in found if {result.status for _, result in rows[row]} == {Status.OMISSION}]
        invented = [row for row in found if {result.status for _, result in rows[row]} == {Status.HALLUCINATION}]
        if bool(missing) != bool(invented):
            folded |= _shift(array, rows, found, missing or invented)
    return folded


def _shift(array: Path, rows: Mapping[Path, Members], found: Sequence[Path], beyond: Sequence[Path]) -> Folded:
    """Leave as many rows out of the longer side as are `beyond` the end of the other; fold if the rest then agrees."""
    both = sorted((row for row in found if row not in beyond), key=_index)
    ends = sorted(beyond, key=lambda row: abs(_index(row)))
    is_match = [all(result.status is Status.MATCH for _, result in rows[row]) for row in both]
    if all(is_match) or any(_is_paired(rows[row]) for row in both):
        return {}
    first = is_match.index(False)
    gap, count = _index(ends[0]) >= 0, len(ends)
    longer = [_side(rows[row], gold=gap) for row in [*both, *ends]]
    shorter = [_side(rows[row], gold=not gap) for row in both]
    if list(map(_content, longer[first + count :])) != list(map(_content, shorter[first:])):
        return {}
    note = _shift_note(_index(both[first]), count, len(both) - first, gap=gap)
    folded = _as_one(array, rows, [*both[first:], *ends], note)
    head = folded[both[first]]
    assert head is not None  # noqa: S101 - the first row carries the finding
    left_out = [_assembled(row) for row in longer[first : first + count]]
    value = left_out if count > 1 else left_out[0]
    if gap:
        result = head.result._replace(status=Status.OMISSION, gold=value)
    else:
        result = head.result._replace(status=Status.HALLUCINATION, extracted=value)
    return folded | {both[first]: head._replace(result=result)}


def _shift_note(at: int, count: int, after: int, *, gap: bool) -> str:
    where = f"row {at}" if count == 1 else f"rows {at} to {at + count - 1}"
    moved_rows = f"{plural(after, 'row')} after {'stands' if after == 1 else 'stand'} {plural(count, 'place')}"
    return f"{where} {'missing' if gap else 'invented'}, {moved_rows} {'earlier' if gap else 'later'}"


def _is_paired(members: Members) -> bool:
    """Whether alignment, not position, has chosen what the row is compared with."""
    both_sides = (Status.MATCH, Status.MISMATCH)
    return any(result.matched is not None or result.status not in both_sides for _, result in members)


def _side(members: Members, *, gold: bool) -> list[tuple[Path, Json]]:
    return [(rest, result.gold if gold else result.extracted) for rest, result in members]


# Rows whose values stand, all alike, in another row


def _moved(rows: Mapping[Path, Members]) -> Folded:
    """Fold rows whose values stand, all alike, in another row of the same array: `rows 3 and 4 swapped`."""
    arrays: dict[Path, dict[Path, Members]] = defaultdict(dict)
    for row, members in rows.items():
        if not _is_paired(members):
            arrays[row[:-1]][row] = members
    folded: Folded = {}
    for array, members_of in arrays.items():
        stands_at = _where(members_of)
        for one, other in stands_at.items():
            if stands_at.get(other) == one and _index(one) < _index(other):
                folded |= _as_one(array, members_of, [one, other], f"rows {one[-1]} and {other[-1]} swapped")
        rest = sorted((row for row in stands_at if row not in folded), key=_index)
        if len(rest) > 1 and {stands_at[row] for row in rest} == set(rest):
            folded |= _as_one(array, members_of, rest, _order(rest, stands_at))
    return folded


def _order(rows: Sequence[Path], stands_at: Mapping[Path, Path]) -> str:
    listed = ", ".join(f"{row[-1]} at {stands_at[row][-1]}" for row in rows[:_MOST_LISTED])
    return f"{len(rows)} rows in another order: {listed}{', …' if len(rows) > _MOST_LISTED else ''}"


def _where(rows: Mapping[Path, Members]) -> dict[Path, Path]:
    """Map each failing gold row to the other failing row where just its values were extracted."""
    bad = [row for row, members in rows.items() if any(result.status is not Status.MATCH for _, result in members)]
    extracted = {_content(_side(rows[row], gold=False)): row for row in bad}
    golds = {row: _content(_side(rows[row], gold=True)) for row in bad}
    return {row: at for row, content in golds.items() if (at := extracted.get(content)) is not None and at != row}


def _content(values: Sequence[tuple[Path, Json]]) -> str:
    return json.dumps({path_text(path): value for path, value in values}, sort_keys=True, default=repr)


def _as_one(array: Path, members_of: Mapping[Path, Members], rows: Sequence[Path], note: str) -> Folded:
    """Make one finding of the wrong results of some rows; the first row carries it."""
    wrong = [result for row in rows for _, result in members_of[row] if result.status is not Status.MATCH]
    result = wrong[0]._replace(
        path=FieldPath(array),
        metric="order",
        params={},
        gold=MISSING,
        extracted=MISSING,
        reason=None,
        score=min(result.score for result in wrong),
        weight=max(result.weight for result in wrong),
    )
    return {rows[0]: Finding(result, note, len(wrong)), **dict.fromkeys(rows[1:])}
