"""Results files of commands: read, joined, and what is odd about them told."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from pytest_extract.core.case_result import CaseResult
from pytest_extract.errors import ConfigError
from pytest_extract.report.leaderboard import told_twice
from pytest_extract.report.lines import Line, text_of
from pytest_extract.results_file import read_results


def read_all(command: str, paths: Sequence[Path]) -> list[CaseResult]:
    """Return the results of all files, a case on an arm once, the last; raises StoreError, ConfigError for none."""
    kept: dict[tuple[str, str, str], CaseResult] = {}
    count = 0
    for path in paths:
        file = read_results(path)
        if file.torn:
            say(command, f"{path}: the last line is cut off (a killed run?); its case is left out")
        count += len(file.results)
        kept.update({(result.file, result.case_id, result.arm.label): result for result in file.results})
    if not kept:
        raise ConfigError(f"no result in {', '.join(map(str, paths))}")
    if len(kept) < count:
        say(command, told_twice(count - len(kept)))
    return list(kept.values())


def say(command: str, text: str) -> None:
    """Tell the user something beside the output."""
    print(f"pytest-extract {command}: {text}", file=sys.stderr)  # noqa: T201 - printing is the command


def put(lines: Iterable[Line]) -> None:
    """Print lines."""
    sys.stdout.write("".join(f"{text_of(each).rstrip()}\n" for each in lines))


def width() -> int:
    """Columns of the terminal."""
    return max(60, shutil.get_terminal_size((120, 24)).columns)
