"""Prints lines and notes, and reads the results files of `runs report` and `runs leaderboard`."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from pytest_extract.core.case_result import CaseResult
from pytest_extract.core.measures.table import MEASURES
from pytest_extract.core.results import FieldResult
from pytest_extract.core.values import MISSING, FieldPath
from pytest_extract.errors import ConfigError, StoreError
from pytest_extract.report.aggregates import repeated_results_text
from pytest_extract.report.lines import Line, text_of
from pytest_extract.results import ResultsReader


def read_all_results(command: str, paths: Sequence[Path], *, values: bool = True) -> list[CaseResult]:
    """Return the results of all files, a case on an arm once, the last; raises StoreError, ConfigError for none.

    Without `values`, results have no outputs, paths and values, so that a large run takes little memory.
    """
    kept: dict[tuple[str, str, str], CaseResult] = {}
    shared: dict[tuple[object, ...], FieldResult] = {}
    count = 0
    for path in paths:
        reader = ResultsReader(path)
        for result in reader:
            _check_measures(result, path)
            count += 1
            key = (result.file, result.case_id, result.arm.label)
            kept[key] = result if values else _without_values(result, shared)
        if reader.torn:
            print_note(command, f"{path}: the last line is cut off (a killed run?); its case is left out")
    if not kept:
        raise ConfigError(f"no result in {', '.join(map(str, paths))}")
    if len(kept) < count:
        print_note(command, repeated_results_text(count - len(kept)))
    return list(kept.values())


def _without_values(result: CaseResult, shared: dict[tuple[object, ...], FieldResult]) -> CaseResult:
    """Return a result with what aggregates read; `shared` holds each distinct field result once."""

    def shorten(item: FieldResult) -> FieldResult:
        key = (item.pattern, item.metric, item.status, item.score, item.passed, item.weight, item.passed_empty)
        if key not in shared:
            side, reason = (None, item.reason) if item.passed_empty else (MISSING, None)
            shared[key] = item._replace(
                path=FieldPath(), params={}, gold=side, extracted=side, reason=reason, matched=None
            )
        return shared[key]

    attempts = []
    for attempt in result.attempts:
        score = attempt.score
        if score is not None:
            fields, leaves = tuple(map(shorten, score.fields)), tuple(map(shorten, score.leaves))
            score = replace(score, fields=fields, leaves=leaves, arrays=())
        attempts.append(replace(attempt, score=score, output=None))
    return replace(result, attempts=tuple(attempts), digests={}, breaches=())


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
