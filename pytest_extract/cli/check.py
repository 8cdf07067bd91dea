"""`pytest-extract check`: errors in case files and golds, recordings that no case uses."""

from __future__ import annotations

import argparse
import functools
import os
from collections import Counter
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from pytest_extract.cases.load import load_cases
from pytest_extract.cases.model import Case
from pytest_extract.cases.schemas import SchemaCache
from pytest_extract.cli.files import (
    found_case_files,
    load_extensions,
    print_note,
    print_text,
    read_records,
    read_schema,
    refuse_options,
    write_json,
)
from pytest_extract.core.scorer import compile_schema
from pytest_extract.core.validate import Validator
from pytest_extract.core.words import listed, percent, plural
from pytest_extract.errors import ConfigError
from pytest_extract.extraction.recordings import DEFAULT_FOLDER
from pytest_extract.golds import lint
from pytest_extract.schema_tools.golds import validate_golds


def check_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.add_argument("paths", nargs="*", type=Path, metavar="PATH", help="case files or folders (default: .)")
    parser.add_argument("--extensions", metavar="MODULE[:NAME]", help="the project's own metrics, such as `conftest`")
    parser.add_argument("--golds", action="store_true", help="refuse undeclared and missing fields, and other types")
    parser.add_argument("--evidence", action="store_true", help="warn of gold values not found in the document")
    parser.add_argument(
        "--recordings", type=Path, default=Path(DEFAULT_FOLDER), metavar="DIR", help="default: %(default)s"
    )
    parser.add_argument("--prune", action="store_true", help="remove the recordings that no case can use any more")
    parser.add_argument("--mutate", action="store_true", help="warn of fields of which likely mistakes pass")
    parser.add_argument("--coverage", nargs="?", type=float, const=0.0, metavar="SHARE", help="list what no gold has")
    parser.add_argument("--strict", action="store_true", help="exit status 1 for warnings too")
    parser.add_argument("--json", action="store_true", help="print a JSON array of all findings in place of lines")
    golds = parser.add_argument_group(
        "golds without a case", "PATHs are then golds: JSON or YAML files, or .jsonl with one gold a line"
    )
    golds.add_argument("--schema", metavar="SCHEMA", help="JSON Schema; `file.json#/pointer` reaches inside")


def run_check(args: argparse.Namespace) -> int:
    """List every mistake with file, line and column.

    Warn of gold values that no comparison reaches, thresholds that cannot pass, thresholds, fields and golds that
    cannot fail, keys that are not unique, documents that occur twice and, of folders, files and recordings that no case
    uses. --coverage lists what of each schema no gold has. Exit status: 0 no mistake and, with --coverage=SHARE, golds
    that have this share (0 to 1) of it; 1 otherwise, 2 nothing to check.
    """
    if args.schema is not None:
        of_cases = ("golds", "evidence", "mutate", "coverage", "extensions", "recordings", "prune", "json")
        refuse_options(args, "with --schema", *of_cases)
        return _check_golds(args)
    if args.coverage is not None and not 0 <= args.coverage <= 1:
        raise ConfigError(f"--coverage must be a number from 0 to 1, such as 0.9, not {args.coverage:g}")
    cache = SchemaCache(functools.partial(compile_schema, extensions=load_extensions(args.extensions)))
    paths = args.paths or [Path()]
    are_all_looked_at = all(path.is_dir() for path in paths)
    if args.prune and not are_all_looked_at:
        raise ConfigError("--prune needs folders: what other cases use is not known")
    if args.prune and not args.recordings.is_dir():
        raise ConfigError(f"--prune: there is no folder {args.recordings}; --recordings=DIR names another")
    files = found_case_files(paths)
    loaded = [load_cases(file, cache) for file in files]
    all_cases = [case for each in loaded for case in each.cases]
    cases = [case for case in all_cases if not case.altered]
    findings = [lint.LintFinding(kind="case_file", error=error) for each in loaded for error in each.errors]
    are_all_read = not findings
    for case in cases if args.golds else ():
        problems = validate_golds([case.gold], case.schema, strict_types=True)
        places = [(problem.path, f"gold: {problem.message}") for problem in problems]
        findings += lint.gold_findings(case, "undeclared", places)
    findings += lint.lint_cases(cases)
    findings += lint.mutation_findings(cases) if args.mutate else ()
    if are_all_read and are_all_looked_at:
        findings += lint.unused_files(cases, [*files, *cache.defaults_files])
        findings += lint.check_recordings(all_cases, args.recordings)
    evidence = lint.check_evidence(cases) if args.evidence else None
    findings += evidence.findings if evidence is not None else ()
    once = {str(finding): finding for finding in findings}  # a mistake in a shared schema is listed once
    told = sorted(once.values(), key=lambda finding: finding.severity == "warning")
    mistakes = sum(finding.severity == "mistake" for finding in told)
    coverage = lint.schema_coverage(cases) if args.coverage is not None else []
    if args.json:
        write_json([*(finding.to_dict() for finding in told), *(each.to_dict() for each in coverage)])
    else:
        for finding in told:
            print_text(finding)
        if evidence is not None:
            print_text(f"evidence: {evidence}")
        _print_notes(cases)
        for each in coverage:
            below = f", below {args.coverage:g}" if each.share < args.coverage else ""
            states = f"{each.covered:,} of {plural(len(each.states), 'state')}, {plural(each.golds, 'gold')}{below}"
            print_text(f"schema coverage: {os.path.relpath(each.path)} {percent(each.share)} ({states})")
            for field, missing in each.missing.items():
                print_text(f"  {field}: never {', '.join(missing)}")
        wrong = plural(mistakes, "mistake") if mistakes else "no mistake"
        warned = f", {plural(len(told) - mistakes, 'warning')}" if len(told) > mistakes else ""
        print_text(f"{plural(len(cases), 'good case')} in {plural(len(files), 'file')}, {wrong}{warned}")
    if args.prune:
        _prune(told, are_all_read=are_all_read)
    return 1 if mistakes or (args.strict and told) or any(each.share < args.coverage for each in coverage) else 0


def _print_notes(cases: Iterable[Case]) -> None:
    """Name the lists that any order passes in, and the metrics that a published system would not know."""
    found = lint.unordered_lists(cases)
    if found:
        remedy = 'where it matters, write `"x-eval-align": {"ordered": true}` there, or the override `align: position`'
        print_text(f"order is not compared in lists of values: {listed(found)}; {remedy}")
    ours = lint.names_of_ours(cases)
    if ours:
        advice = "if this schema meant a comparator or transform of its own project, register that by the same name"
        print_text(f"{'; '.join(ours)}: {advice}")


def _prune(findings: Iterable[lint.LintFinding], *, are_all_read: bool) -> None:
    """Remove the unused recordings among findings, and say so."""
    if not are_all_read:
        print_note("check", "no recording was removed: the cases have mistakes, so what they use cannot be told")
        return
    unused = [finding.error.path for finding in findings if finding.kind == "unused_recording"]
    for path in unused:
        path.unlink(missing_ok=True)
        with suppress(OSError):  # what else is in the folder keeps it
            path.parent.rmdir()
    print_note("check", f"removed {plural(len(unused), 'unused recording')}")


def _check_golds(args: argparse.Namespace) -> int:
    """Print what is wrong with golds; return 0 without mistakes, 1 with; unreadable files raise ExtractError."""
    schema = read_schema(args.schema)
    if not args.paths:
        raise ConfigError("--schema needs the golds to check")
    validator = Validator(schema)
    if validator.problem is not None:
        raise ConfigError(f"{args.schema} is no valid JSON Schema: {validator.problem}")
    counts: Counter[str] = Counter()
    records = [*read_records(args.paths)]
    problems = validate_golds([gold for _, gold in records], schema)
    for index, (where, gold) in enumerate(records):
        found = [(each.severity, f"`{each.path}`: {each.message}") for each in problems if each.record == index]
        found += [("error", str(each)) for each in validator.errors(gold)]
        counts.update(severity for severity, _ in found)
        for severity, message in found:
            print_text(f"{where}: {severity}: {message}")
    told = f"{plural(counts['error'], 'mistake')}, {plural(counts['warning'], 'warning')}"
    print_text(f"{plural(len(records), 'gold')}: {told}")
    return 1 if counts["error"] or (args.strict and counts["warning"]) else 0
