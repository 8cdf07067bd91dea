"""Lines for what is missing, invented or moved as a whole, in place of a line for each of its fields."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

from pytest_extract.report.entries import Entry
from pytest_extract.report.moves import Row, moved, rows_of, shifted
from pytest_extract.report.wholes import containers_of, fold_wholes


def fold_rows(entries: Sequence[Entry]) -> list[Entry]:
    """Tell in one entry what is missing or invented as a whole, and rows that are only elsewhere."""
    rows: dict[Row, list[tuple[str, Entry]]] = defaultdict(list)
    for item in entries:
        for row, rest in rows_of(item.path):
            rows[row].append((rest, item))
    folded: dict[str, Entry | None] = shifted(rows)
    folded = {**fold_wholes(item for item in entries if not _inside(item.path, folded)), **folded}
    for depth in sorted({row.depth for row in rows}):
        folded |= moved({row: rows[row] for row in rows if row.depth == depth and not _inside(row.text, folded)})
    return _told_once(entries, folded)


def _places(path: str) -> list[str]:
    """Return the paths that tell of a place when they are folded: those above it, and itself."""
    return [*(container.text for container in containers_of(path)), path]


def _inside(path: str, folded: Mapping[str, Entry | None]) -> bool:
    return any(place in folded for place in _places(path))


def _told_once(entries: Sequence[Entry], folded: Mapping[str, Entry | None]) -> list[Entry]:
    told: set[str] = set()
    out: list[Entry] = []
    for item in entries:
        place = next((place for place in _places(item.path) if place in folded), None)
        if place is None:
            out.append(item)
        elif place not in told:
            told.add(place)
            if (whole := folded[place]) is not None:
                out.append(whole)
    return out
