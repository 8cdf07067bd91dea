"""`pytest-extract draft DOCS|CASES`: drafts the golds that are not there from several extractors, models or repeats."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from pytest_extract.cases.cache import SchemaCache, compile_structure
from pytest_extract.cases.load import SUFFIXES
from pytest_extract.cases.sources import path_and_pointer
from pytest_extract.cli.files import case_files, load_all_cases, print_note, refuse_options, schema_of_class
from pytest_extract.cli.init import document_patterns, suite_path, write_suite
from pytest_extract.errors import ConfigError
from pytest_extract.files import write_atomic

PLUGIN = "pytest_extract.plugin.named_extractors"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Describe the command and its arguments."""
    parser.description = (
        "Draft the golds that are not there, and write beside each what is left to decide (`pytest-extract review`). "
        "Documents get a suite first, as by `pytest-extract init`. Without --model and --extractor, the suite's own "
        "`extractor` fixture is called. No gold that is there changes. Exit status: 0 all golds are there, 1 not all."
    )
    parser.add_argument("paths", nargs="+", type=Path, metavar="DOCS|CASES", help="documents, case files, or folders")
    parser.add_argument(
        "--schema", metavar="SCHEMA", help="of documents: a file (`file.json#/pointer`), or MODULE:CLASS of pydantic"
    )
    parser.add_argument("--suite", type=Path, metavar="FILE", help="case file of the documents")
    parser.add_argument("--model", action="append", default=[], metavar="PROVIDER/NAME", help="a model; repeatable")
    parser.add_argument(
        "--extractor", action="append", default=[], metavar="MODULE:FUNCTION", help="an extractor; repeatable"
    )
    parser.add_argument("--repeat", type=int, metavar="N", help="extract each document N times with each of them")
    parser.add_argument(
        "--budget", type=float, metavar="USD", help="stop calling when this is spent; needed with --model"
    )
    parser.add_argument("--dry-run", action="store_true", help="forecast calls and cost, and stop")
    parser.add_argument(
        "--pytest",
        action="append",
        default=[],
        metavar="OPTION",
        help="an option for pytest: --pytest=--extract-record=once",
    )


def run(args: argparse.Namespace) -> int:
    """Forecast, run pytest, and say which golds are there now; raises ConfigError for what cannot be drafted."""
    if args.model and args.extractor:
        raise ConfigError("give --model or --extractor, not both: they are called in different ways")
    if args.model and args.budget is None and not args.dry_run:
        raise ConfigError("--model needs --budget=USD, the most that its calls may cost; --dry-run forecasts it")
    suites = _suites(args)
    missing = _missing_golds(suites)
    if not missing:
        print("every gold is there: nothing to draft")  # noqa: T201 - printing is the command
        return 0
    options = [f"--extract-model={name}" for name in (*args.model, *args.extractor)]
    options += [f"--extract-repeat={args.repeat}"] if args.repeat is not None else []
    options += [f"--extract-budget={args.budget}"] if args.budget is not None else []
    options += ["-p", PLUGIN] if args.extractor else []
    command = [
        sys.executable,
        "-m",
        "pytest",
        *map(str, suites),
        "-q",
        "--tb=short",
        "-rN",
        "--extract-update-gold=new",
    ]
    command += [*options, *args.pytest]
    if args.model or args.dry_run:
        forecast = subprocess.run([*command, "--extract-dry-run"], check=False)  # noqa: S603 - our own interpreter
        if args.dry_run or forecast.returncode not in (0, 5):
            return 0 if args.dry_run else 1
    subprocess.run(command, check=False)  # noqa: S603 - as above
    return 0 if all(path.exists() for path in missing) else 1


def _suites(args: argparse.Namespace) -> list[Path]:
    """Return the case files; those of documents are written first, unless they are there."""
    found: list[Path] = []
    documents: list[Path] = []
    for path in args.paths:
        cases = [path] if path.name.endswith(SUFFIXES) else [*case_files([path])] if path.is_dir() else []
        found += cases
        if not cases:
            documents.append(path)
    if not documents:
        refuse_options(args, "without documents", "schema", "suite")
        return found
    patterns = document_patterns(documents)
    if not patterns:
        raise ConfigError(f"neither documents nor case files: {', '.join(map(str, documents))}")
    suite = args.suite or suite_path(patterns)
    if not suite.exists():
        if args.schema is None:
            raise ConfigError(
                "documents need --schema: a file, or MODULE:CLASS of a pydantic model; golds that you have give one: "
                f"pytest-extract schema infer GOLD... -o {suite_path(patterns).with_suffix('').stem}.schema.json"
            )
        write_suite(patterns, suite, _schema_file(args.schema, suite))
    elif args.schema is not None:
        print_note("draft", f"{suite} is there, and names its own schema")
    return [*found, suite]


def _schema_file(given: str, suite: Path) -> str:
    """Return the path of the schema; that of a pydantic model is written beside the suite."""
    module, colon, name = given.partition(":")
    if not colon or Path(path_and_pointer(given)[0]).exists():
        return given
    path = suite.with_name(f"{name.rpartition('.')[2]}.schema.json")
    write_atomic(path, json.dumps(schema_of_class(module, name), indent=2, ensure_ascii=False) + "\n")
    return str(path)


def _missing_golds(suites: Sequence[Path]) -> list[Path]:
    cache = SchemaCache(compile_structure, updates_golds="new")
    cases = load_all_cases(suites, cache, "the cases have mistakes:")
    return [case.gold_path for case in cases if case.gold_is_missing]
