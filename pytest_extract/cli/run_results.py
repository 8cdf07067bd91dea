"""Reads the results files of `report`, `leaderboard` and their like."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from pytest_extract.cli.files import print_note
from pytest_extract.core.case_result import CaseResult
from pytest_extract.core.measures.table import SCORE_MEASURES
from pytest_extract.errors import ConfigError, StoreError
from pytest_extract.report.aggregates import repeated_results_text
from pytest_extract.results import ResultsReader


def read_all_results(command: str, paths: Sequence[Path]) -> list[CaseResult]:
    """Return the results of all files, a case on a variant once for each file; raises StoreError, ConfigError for none.

    Files that have a case on the same variant are runs of their own: their variants bear the file's name as well. Other
    files are parts of one run. A later line of a file replaces an earlier one of the same case and variant.
    """
    kept: dict[tuple[str, str, str], dict[int, CaseResult]] = {}
    replaced = 0
    for number, path in enumerate(paths):
        reader = ResultsReader(path)
        for result in reader:
            _check_measures(result, path)
            found = kept.setdefault((result.file, result.case_id, result.variant.label), {})
            replaced += number in found
            found[number] = result
        if reader.torn:
            print_note(command, f"{path}: the last line is cut off (a killed run?); its case is left out")
    if not kept:
        raise ConfigError(f"no result in {', '.join(map(str, paths))}")
    if replaced:
        print_note(command, repeated_results_text(replaced))
    several = {label for (_file, _case, label), found in kept.items() if len(found) > 1}
    names = _names_of_files(paths)
    return [
        _named_after_file(result, names[number]) if result.variant.label in several else result
        for found in kept.values()
        for number, result in found.items()
    ]


def runs_over_time(results: Sequence[CaseResult], paths: Sequence[Path]) -> tuple[str, ...]:
    """Return the labels of one variant's runs, a file each and in their order; none where variants are several."""
    variants = {result.variant for result in results}
    names = _names_of_files(paths)
    found = tuple(one.label for name in names for one in variants if (one.model or "").endswith(f"({name})"))
    return found if len(found) == len(variants) == len(names) > 1 else ()


def _names_of_files(paths: Sequence[Path]) -> list[str]:
    """Return a name for each file: its stem, or all of its path where another has the stem; a number for a repeat."""
    stems = [path.stem for path in paths]
    names = [stem if stems.count(stem) == 1 else str(path) for stem, path in zip(stems, paths, strict=True)]
    if len({*paths}) == 1:
        names = stems
    before = [names[:index].count(name) for index, name in enumerate(names)]
    return [f"{name}, {count + 1}" if count else name for name, count in zip(names, before, strict=True)]


def _named_after_file(result: CaseResult, name: str) -> CaseResult:
    variant = replace(result.variant, model=f"{result.variant.model or ''} ({name})".strip())
    return replace(result, variant=variant, nodeid=f"{result.nodeid} ({name})")


def _check_measures(result: CaseResult, path: Path) -> None:
    """Raise StoreError for a result without a measure that the tables need."""
    for attempt in result.attempts:
        for name in SCORE_MEASURES if attempt.score is not None else ():
            if attempt.score is not None and name not in attempt.score.measures:
                raise StoreError(
                    f"{path}: the result of {result.nodeid!r} has no measure {name!r}; was the file edited?"
                )
