"""`pytest-extract check [PATH ...]`: lists all errors in case files, their schemas and golds, without extracting."""

from __future__ import annotations

import argparse
import functools
from collections.abc import Iterable, Iterator
from pathlib import Path

from pytest_extract.cases.cache import SchemaCache
from pytest_extract.cases.gold import gold_source
from pytest_extract.cases.load import SUFFIXES, load_cases
from pytest_extract.cases.model import Case
from pytest_extract.cases.sources import Mistake, errors_of
from pytest_extract.cli.check_golds import add_gold_arguments, check_golds
from pytest_extract.cli.files import load_extensions
from pytest_extract.cli.recordings import case_files
from pytest_extract.core.scorer import compile_schema
from pytest_extract.errors import CaseFileError, ConfigError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Describe the command and its arguments."""
    parser.description = (
        "Tell every mistake with file, line and column; warn of gold values that no comparison reaches. "
        "Exit status: 0 no mistake, 1 some, 2 nothing to check."
    )
    parser.add_argument(
        "paths", nargs="*", type=Path, metavar="PATH", help="case files, or folders of them (default: .)"
    )
    parser.add_argument(
        "--extensions",
        metavar="MODULE[:NAME]",
        help="the project's own metrics: a module with decorated functions (conftest), or an Extensions object in it",
    )
    parser.add_argument(
        "--golds",
        action="store_true",
        help="hold golds to more than their JSON Schema: no undeclared field, no declared one left out, no other type",
    )
    add_gold_arguments(parser)


def run(args: argparse.Namespace) -> int:
    """Check and print; exit status 1 where there is a mistake. Raises ConfigError when there is no case file."""
    if args.schema is not None:
        return check_golds(args)
    cache = SchemaCache(functools.partial(compile_schema, extensions=load_extensions(args.extensions)))
    files = list(case_files(args.paths or [Path()]))
    if not files:
        raise ConfigError(f"no case file ({', '.join(f'*{suffix}' for suffix in SUFFIXES)}) here")
    cases: list[Case] = []
    errors: dict[str, CaseFileError] = {}  # a shared schema's mistake is told once, however many files name it
    for file in files:
        loaded = load_cases(file, cache)
        cases.extend(loaded.cases)
        errors.update({str(error): error for error in loaded.errors})
    if args.golds:
        errors.update({str(error): error for error in _gold_errors(cases)})
    warnings = {str(warning): warning for warning in _uncompared(cases)}
    for text in (*errors, *warnings):
        print(text)  # noqa: T201  # printing is the command
    print(_summary(len(cases), len(files), len(errors), len(warnings)))  # noqa: T201  # as above
    return 1 if errors else 0


def _uncompared(cases: Iterable[Case]) -> Iterator[CaseFileError]:
    """Yield a warning for each gold with values that no comparison reaches; a case where they are most is no case."""
    for case in cases:
        if case.uncompared is not None:
            source = gold_source(case)
            where = (*case.gold_steps, *case.uncompared.first)
            yield from errors_of([Mistake(source, where, f"warning: {case.uncompared}", on_key=True)], source.path)


def _gold_errors(cases: Iterable[Case]) -> Iterator[CaseFileError]:
    from pytest_extract.schema_tools.golds import validate_golds

    seen: set[tuple[int, int]] = set()
    for case in cases:
        if (id(case.gold), id(case.scorer)) in seen:
            continue
        seen.add((id(case.gold), id(case.scorer)))
        problems = validate_golds([case.gold], case.schema, strict_types=True)
        if problems:
            source = gold_source(case)
            told = [Mistake(source, (*case.gold_steps, *item.path), f"gold: {item.message}") for item in problems]
            yield from errors_of(told, source.path)


def _summary(cases: int, files: int, mistakes: int, warnings: int) -> str:
    parts = ((cases, "good case"), (files, "file"), (mistakes, "mistake"), (warnings, "warning"))
    good, among, wrong, warned = (f"{number} {noun}{'' if number == 1 else 's'}" for number, noun in parts)
    return f"{good} in {among}, {wrong if mistakes else 'no mistake'}{f', {warned}' if warnings else ''}"
