"""Prints lines and notes, and reads the results files of `runs report` and `runs leaderboard`."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from pytest_extract.core.case_result import CaseResult
from pytest_extract.core.measures.table import MEASURES
from pytest_extract.errors import ConfigError, StoreError
from pytest_extract.report.aggregates import repeated_results_text
from pytest_extract.report.lines import Line, text_of
from pytest_extract.results import read_results


def read_all_results(command: str, paths: Sequence[Path]) -> list[CaseResult]:
    """Return the results of all files, a case on an arm once, the last; raises StoreError, ConfigError for none."""
    kept: dict[tuple[str, str, str], CaseResult] = {}
    count = 0
    for path in paths:
        file = read_results(path)
        if file.torn:
            print_note(command, f"{path}: the last line is cut off (a killed run?); its case is left out")
        for result in file.results:
            _check_measures(result, path)
        count += len(file.results)
        kept.update({(result.file, result.case_id, result.arm.label): result for result in file.results})
    if not kept:
        raise ConfigError(f"no result in {', '.join(map(str, paths))}")
    if len(kept) < count:
        print_note(command, repeated_results_text(count - len(kept)))
    return list(kept.values())


def _check_measures(result: CaseResult, path: Path) -> None:
    """Raise StoreError for a result without a measure that the tables need."""
    for attempt in result.attempts:
        for name in MEASURES if attempt.score is not None else ():
            if attempt.score is not None and name not in attempt.score.measures:
                raise StoreError(
                    f"{path}: the result of {result.nodeid!r} has no measure {name!r}; was the file edited?"
                )


def print_note(command: str, text: str) -> None:
    """Print a note to standard error, beside the output."""
    print(f"pytest-extract {command}: {text}", file=sys.stderr)  # noqa: T201 - printing is the command


def print_lines(lines: Iterable[Line]) -> None:
    """Print lines."""
    sys.stdout.write("".join(f"{text_of(each).rstrip()}\n" for each in lines))


def terminal_width(fallback: int = 120) -> int:
    """Return the columns of the terminal, at least 60; `fallback` without a terminal."""
    return max(60, shutil.get_terminal_size((fallback, 24)).columns)
