"""Results files of commands: read, joined, and what is odd about them told."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from pytest_extract.core.case_result import CaseResult
from pytest_extract.core.measures.table import MEASURES
from pytest_extract.errors import ConfigError, StoreError
from pytest_extract.report.leaderboard import told_twice
from pytest_extract.report.lines import Line, text_of
from pytest_extract.results_file import read_results

_MEASURES: Final = frozenset(MEASURES)
_GATES: Final = ("parse", "root", "schema")
_ROW: Final = frozenset({"path", "pattern", "status", "score"})


def read_all(command: str, paths: Sequence[Path], *, fields: bool = False) -> list[CaseResult]:
    """Return the results of all files, a case on an arm once, the last; raises StoreError, ConfigError for none.

    `fields`: each comparison is told one by one, and has to have all that this takes.
    """
    kept: dict[tuple[str, str, str], CaseResult] = {}
    count = 0
    for path in paths:
        file = read_results(path)
        if file.torn:
            say(command, f"{path}: the last line is cut off (a killed run?); its case is left out")
        for result in file.results:
            _check(result, path, fields=fields)
        count += len(file.results)
        kept.update({(result.file, result.case_id, result.arm.label): result for result in file.results})
    if not kept:
        raise ConfigError(f"no result in {', '.join(map(str, paths))}")
    if len(kept) < count:
        say(command, told_twice(count - len(kept)))
    return list(kept.values())


def _check(result: CaseResult, path: Path, *, fields: bool) -> None:
    """Raise StoreError for a result whose inner parts are not what a run writes (a file that was edited, say)."""
    scores = [attempt.score for attempt in result.attempts if attempt.score is not None]
    whole = (
        all(isinstance(text, str) for text in (result.nodeid, result.file, result.case_id, result.modality))
        and all(isinstance(size, int) for size in result.shape.values())
        and all(_is_score(score) and (not fields or _tells_fields(score)) for score in scores)
    )
    if not whole:
        raise StoreError(f"{path}: the result of {result.nodeid!r} is not one that a run writes; was the file edited?")


def _is_score(score: Mapping[str, Any]) -> bool:
    measures, gates, leaves = (score.get(name) for name in ("measures", "gates", "leaves"))
    failure = score.get("failure")
    return (
        isinstance(measures, Mapping)
        and measures.keys() >= _MEASURES
        and all(isinstance(value, int | float) for value in measures.values())
        and isinstance(gates, Mapping)
        and all(isinstance(gates.get(name), Mapping) and "passed" in gates[name] for name in _GATES)
        and isinstance(leaves, list)
        and all(
            isinstance(row, Mapping) and row.keys() >= _ROW and isinstance(row["score"], int | float) for row in leaves
        )
        and (failure is None or (isinstance(failure, Mapping) and "kind" in failure))
    )


def _tells_fields(score: Mapping[str, Any]) -> bool:
    rows = [score["leaves"], score.get("fields")]
    return all(
        isinstance(each, list) and all(isinstance(row, Mapping) and row.keys() >= {*_ROW, "metric"} for row in each)
        for each in rows
    )


def say(command: str, text: str) -> None:
    """Tell the user something beside the output."""
    print(f"pytest-extract {command}: {text}", file=sys.stderr)  # noqa: T201 - printing is the command


def put(lines: Iterable[Line]) -> None:
    """Print lines."""
    sys.stdout.write("".join(f"{text_of(each).rstrip()}\n" for each in lines))


def width() -> int:
    """Columns of the terminal."""
    return max(60, shutil.get_terminal_size((120, 24)).columns)
