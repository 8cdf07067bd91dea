"""`pytest-extract check --schema SCHEMA GOLD...`: checks golds without cases against a schema."""

from __future__ import annotations

import argparse
import sys

from pytest_extract.cli.files import read_records, read_schema
from pytest_extract.core.validate.validator import Validator
from pytest_extract.errors import ConfigError
from pytest_extract.schema_tools.golds import validate_golds


def add_gold_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of checking golds without a case."""
    golds = parser.add_argument_group(
        "golds without a case", "PATHs are then golds: JSON or YAML files, or .jsonl with one gold a line"
    )
    golds.add_argument("--schema", metavar="SCHEMA", help="JSON Schema; `file.json#/pointer` reaches inside")
    golds.add_argument("--each", action="store_true", help="a file that holds an array holds one gold an item")
    golds.add_argument("--id-field", metavar="NAME", help="field that names a record; missing or unusable is a mistake")
    golds.add_argument("--strict-types", action="store_true", help="a value of another type (but null) is a mistake")
    golds.add_argument("--no-warn-missing", action="store_true", help="do not list declared fields that are not there")
    golds.add_argument("--no-json-schema", action="store_true", help="leave out JSON Schema validation proper")


def check_golds(args: argparse.Namespace) -> int:
    """Print what is wrong with the golds; return 0 without mistakes, 1 with; unreadable files raise ExtractError."""
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
    return 1 if mistakes else 0


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _say(text: object) -> None:
    sys.stdout.write(f"{text}\n".encode("utf-8", "backslashreplace").decode("utf-8"))
