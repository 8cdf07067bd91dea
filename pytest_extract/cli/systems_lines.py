"""The output of `pytest-extract score --as`: each system's numbers, the leaves that make them differ, and why."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Final

from pytest_extract.core.results import Status
from pytest_extract.core.values import MISSING, Json
from pytest_extract.report.lines import plural, safe, safe_prose, shorten
from pytest_extract.report.values import show
from pytest_extract.systems import ENGINES, Cell, SystemComparison

_PATH_WIDTH: Final = 44
_VALUE_WIDTH: Final = 50
_INDEX: Final = re.compile(r"\[-?\d+\]")

Cells = tuple[Cell | None, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Row:
    """Leaves of one pattern that every system judges as it judges the first of them."""

    path: str
    cells: Cells
    count: int

    @property
    def scored_differently(self) -> bool:
        """Whether two systems look at it and give it different scores; else some only do not look."""
        return len({round(cell.score, 9) for cell in self.cells if cell is not None and _looks(cell)}) > 1


def padded(path: str) -> str:
    """Return a path as a column of its own."""
    return f"{shorten(safe(path), _PATH_WIDTH):<{_PATH_WIDTH}}"


def without_a_model(judge: str) -> str:
    """Say who decided what only a judge can decide."""
    return f"semantic fields were decided without a model: --judge {judge}"


def bridge_lines(bridge: SystemComparison, judge: str, most: int | None) -> list[str]:
    """Return everything for people; at most `most` rows of leaves (None: all)."""
    lines = []
    for column in bridge.columns:
        lines.append(column.system)
        lines += [f"  {name:<20} {value:.6g}" for name, value in column.measures.items()]
        if (raw := column.raw_text) is not None:
            numbers = f"format {raw.format}, detailed {raw.detailed:.6g}, strict {raw.strict}"
            lines.append(f"  published protocol on the raw text: {numbers} ({raw.note})")
        lines += [f"  ({safe_prose(note)})" for note in column.notes]
    if any(column.system in ENGINES for column in bridge.columns) and judge != "llm":
        lines.append(without_a_model(judge))
    rows = sorted(_rows(bridge.differing), key=lambda row: not row.scored_differently)
    if not rows:
        return [*lines, "", "every leaf is judged alike"]
    systems = [column.system for column in bridge.columns]
    lines += ["", _counted(rows), f"  {'':<{_PATH_WIDTH}}  {'  '.join(f'{name:<19}' for name in systems)}"]
    for row in rows[:most]:
        lines += _row_lines(row, systems)
    if most is not None and len(rows) > most:
        lines.append(f"  and {plural(len(rows) - most, 'more row')}; --all lists them")
    return [line.rstrip() for line in lines]


def bridge_as_json(bridge: SystemComparison) -> Json:
    """Return everything as plain JSON."""
    systems = [column.system for column in bridge.columns]
    return {
        "systems": {
            column.system: {
                "measures": dict(column.measures),
                "notes": list(column.notes),
                **({} if column.raw_text is None else {"raw_text": asdict(column.raw_text)}),
            }
            for column in bridge.columns
        },
        "differing": {
            path: {name: _cell_as_json(cell) for name, cell in zip(systems, cells, strict=True)}
            for path, cells in bridge.differing.items()
        },
    }


def _cell_as_json(cell: Cell | None) -> Json:
    if cell is None:
        return None
    found: dict[str, Json] = {"status": cell.status, "score": cell.score, "rule": cell.rule}
    sides = {"gold": cell.gold, "extracted": cell.extracted}
    return found | {name: value for name, value in sides.items() if value is not MISSING}


def _counted(rows: Sequence[_Row]) -> str:
    apart = sum(row.count for row in rows if row.scored_differently)
    unseen = sum(row.count for row in rows) - apart
    parts = [f"{plural(apart, 'leaf', 'leaves')} scored differently"] if apart else []
    parts += [f"{plural(unseen, 'leaf', 'leaves')} that not every system looks at"] if unseen else []
    return ", ".join(parts)


def _rows(differing: Mapping[str, Cells]) -> list[_Row]:
    folded: dict[tuple[str, tuple[tuple[str, float] | None, ...]], list[tuple[str, Cells]]] = {}
    for path, cells in differing.items():
        judged = tuple(None if cell is None else (cell.status, round(cell.score, 9)) for cell in cells)
        folded.setdefault((_pattern_of(path), judged), []).append((path, cells))
    return [_Row(path=found[0][0], cells=found[0][1], count=len(found)) for found in folded.values()]


def _row_lines(row: _Row, systems: Sequence[str]) -> Iterator[str]:
    yield f"  {padded(row.path)}  " + "  ".join(f"{_judged(cell):<19}" for cell in row.cells)
    if row.count > 1:
        yield f"      and {row.count - 1} more of {safe(_pattern_of(row.path))}"
    for told, names in _seen(row.cells, systems).items():
        yield f"      {told}: {', '.join(names)}"


def _seen(cells: Cells, systems: Sequence[str]) -> dict[str, list[str]]:
    """Return what was compared -> the systems that did, each with its rule."""
    seen: dict[str, list[str]] = {}
    for name, cell in zip(systems, cells, strict=True):
        if cell is not None and _looks(cell):
            told = f"gold {show(cell.gold, _VALUE_WIDTH)}, extracted {show(cell.extracted, _VALUE_WIDTH)}"
            seen.setdefault(told, []).append(f"{name} ({cell.rule})")
    return seen


def _pattern_of(path: str) -> str:
    return _INDEX.sub("[]", path)


def _looks(cell: Cell) -> bool:
    return cell.status != Status.SKIPPED


def _judged(cell: Cell | None) -> str:
    return "-" if cell is None else f"{cell.status} {cell.score:.3g}"
