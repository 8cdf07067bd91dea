"""`pytest-extract check PATH...`: validate case files, or golds against a schema, without extracting anything."""

from __future__ import annotations

import argparse
import functools
import importlib
import os
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final

from pytest_extract.cases.cache import SchemaCache
from pytest_extract.cases.load import SUFFIXES, load_cases
from pytest_extract.cli.files import read_records, read_schema
from pytest_extract.core.extensions import Extensions
from pytest_extract.core.scorer import compile_schema
from pytest_extract.core.validate import Validator
from pytest_extract.errors import CaseFileError, ConfigError
from pytest_extract.schema_tools.golds import validate_golds

FAILED: Final = 1


def add_parser(subparsers: Any) -> None:
    """Add the command to the parser of `pytest-extract`."""
    parser = subparsers.add_parser(
        "check",
        help="validate cases without extracting",
        description="Validate case files (*.extract.yaml, in folders too), their schemas, golds and configuration; or "
        "with --schema golds. Nothing is extracted, no document is opened. Exit status: 0 all right, 1 mistakes, 2 usage.",
    )
    parser.add_argument("paths", nargs="*", type=Path, metavar="PATH", help="default: the current folder")
    parser.add_argument(
        "--extensions", metavar="MODULE:NAME", help="Extensions object with your project's own metrics and the like"
    )
    golds = parser.add_argument_group("golds (PATHs are then golds: JSON or YAML, .jsonl with one a line)")
    golds.add_argument("--schema", metavar="SCHEMA", help="JSON Schema; `file.json#/pointer` reaches inside")
    golds.add_argument("--each", action="store_true", help="a file that holds an array holds one gold an item")
    golds.add_argument("--id-field", metavar="NAME", help="field that names a record; missing or unusable is a mistake")
    golds.add_argument("--strict-types", action="store_true", help="a value of another type (but null) is a mistake")
    golds.add_argument("--no-warn-missing", action="store_true", help="do not list declared fields that are not there")
    golds.add_argument("--no-json-schema", action="store_true", help="leave out JSON Schema validation proper")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Print every mistake; return 0 without any, 1 with some. What is not there to check raises ExtractError."""
    return _check_golds(args) if args.schema else _check_cases(args)


def _say(text: object) -> None:
    sys.stdout.write(f"{text}\n".encode("utf-8", "backslashreplace").decode("utf-8"))


# --- cases


def _check_cases(args: argparse.Namespace) -> int:
    extensions = _extensions(args.extensions)
    cache = SchemaCache(functools.partial(compile_schema, extensions=extensions))
    files = cases = mistakes = 0
    for path in _case_files(args.paths or [Path()]):
        loaded = load_cases(path, cache)
        files, cases, mistakes = files + 1, cases + len(loaded.cases), mistakes + len(loaded.errors)
        for error in loaded.errors:
            _say(error)
    if not files:
        raise ConfigError(f"no case file (*{SUFFIXES[0]}) in {', '.join(map(str, args.paths)) or 'the current folder'}")
    _say(f"{_count(cases, 'good case')} in {_count(files, 'file')}, {_count(mistakes, 'mistake')}")
    return FAILED if mistakes else 0


def _case_files(paths: Iterable[Path]) -> Iterator[Path]:
    """Yield the case files at `paths`: a file itself, or all in a folder, dot folders left out."""
    for path in paths:
        if path.is_file():
            yield path
        elif path.is_dir():
            for folder, names, files in os.walk(path):
                names[:] = sorted(name for name in names if not name.startswith("."))
                yield from (Path(folder, name) for name in sorted(files) if name.endswith(SUFFIXES))
        else:
            raise CaseFileError("no such file or folder", path=path)


def _extensions(given: str | None) -> Extensions | None:
    if given is None:
        return None
    module, _, name = given.partition(":")
    sys.path.insert(0, str(Path.cwd()))
    try:
        found = getattr(importlib.import_module(module), name or "extensions")
    except (ImportError, AttributeError, ValueError) as error:
        raise ConfigError(f"--extensions {given}: {error}") from error
    finally:
        sys.path.pop(0)
    if not isinstance(found, Extensions):
        raise ConfigError(f"--extensions {given}: an Extensions object is needed, not {type(found).__name__}")
    return found


# --- golds


def _check_golds(args: argparse.Namespace) -> int:
    schema = read_schema(args.schema)
    if not args.paths:
        raise ConfigError("--schema needs the golds to check")
    records = list(read_records(args.paths, each=args.each))
    validator = None if args.no_json_schema else Validator(schema)
    if validator is not None and validator.problem is not None:
        raise ConfigError(f"{args.schema} is no valid JSON Schema: {validator.problem}")
    problems = validate_golds(
        [gold for _, gold in records],
        schema,
        id_field=args.id_field,
        warn_missing=not args.no_warn_missing,
        strict_types=args.strict_types,
    )
    mistakes = sum(problem.severity == "error" for problem in problems)
    for index, (where, gold) in enumerate(records):
        for problem in problems:
            if problem.record == index:
                _say(f"{where}: {problem.severity}: `{problem.path}`: {problem.message}")
        for violation in validator.errors(gold) if validator is not None else ():
            mistakes += 1
            _say(f"{where}: error: {violation}")
    warnings = sum(problem.severity == "warning" for problem in problems)
    counts = f"{_count(mistakes, 'mistake')}, {_count(warnings, 'warning')}"
    _say(f"{_count(len(records), 'gold')}: {counts}")
    return FAILED if mistakes else 0


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
