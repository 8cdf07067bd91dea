"""`pytest-extract check` and `recordings`: errors in case files and golds, recordings that no case uses."""

from __future__ import annotations

import argparse
import functools
import os
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

from pytest_extract.cases.load import load_cases
from pytest_extract.cases.model import Case
from pytest_extract.cases.schemas import SchemaCache, compile_structure
from pytest_extract.cli.files import (
    found_case_files,
    load_all_cases,
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
from pytest_extract.extraction.caching_judge import answer_files, idle_days
from pytest_extract.extraction.recordings import (
    DEFAULT_FOLDER,
    JUDGE_FOLDER,
    CaseInputs,
    Recording,
    read_recording,
    recording_files,
)
from pytest_extract.golds import lint
from pytest_extract.schema_tools.golds import validate_golds

_MOST_LISTS: Final = 5


def check_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.add_argument("paths", nargs="*", type=Path, metavar="PATH", help="case files or folders (default: .)")
    parser.add_argument("--extensions", metavar="MODULE[:NAME]", help="the project's own metrics, such as `conftest`")
    parser.add_argument("--golds", action="store_true", help="refuse undeclared and missing fields, and other types")
    parser.add_argument("--evidence", action="store_true", help="warn of gold values not found in the document")
    parser.add_argument(
        "--recordings", type=Path, default=Path(DEFAULT_FOLDER), metavar="DIR", help="default: %(default)s"
    )
    parser.add_argument("--mutate", action="store_true", help="warn of fields of which likely mistakes pass")
    parser.add_argument("--coverage", nargs="?", type=float, const=0.0, metavar="SHARE", help="list what no gold has")
    parser.add_argument("--strict", action="store_true", help="exit status 1 for warnings too")
    parser.add_argument("--json", action="store_true", help="print a JSON array of all findings in place of lines")
    golds = parser.add_argument_group(
        "golds without a case", "PATHs are then golds: JSON or YAML files, or .jsonl with one gold a line"
    )
    golds.add_argument("--schema", metavar="SCHEMA", help="JSON Schema; `file.json#/pointer` reaches inside")
    golds.add_argument("--each", action="store_true", help="a file that holds an array holds one gold an item")
    golds.add_argument("--id-field", metavar="NAME", help="field that names a record; missing or unusable is a mistake")
    golds.add_argument("--strict-types", action="store_true", help="a value of another type (but null) is a mistake")
    golds.add_argument("--no-warn-missing", action="store_true", help="do not list declared fields that are not there")
    golds.add_argument("--no-json-schema", action="store_true", help="leave out JSON Schema validation proper")


def run_check(args: argparse.Namespace) -> int:
    """List every mistake with file, line and column.

    Warn of gold values that no comparison reaches, thresholds that cannot pass, thresholds, fields and golds that
    cannot fail, keys that are not unique, documents that occur twice and, of folders, files and recordings that no case
    uses. --coverage lists what of each schema no gold has. Exit status: 0 no mistake and, with --coverage=SHARE, golds
    that have this share (0 to 1) of it; 1 otherwise, 2 nothing to check.
    """
    if args.schema is not None:
        refuse_options(
            args, "with --schema", "golds", "evidence", "mutate", "coverage", "extensions", "recordings", "json"
        )
        return _check_golds(args)
    refuse_options(args, "without --schema", "each", "id-field", "strict-types", "no-warn-missing", "no-json-schema")
    if args.coverage is not None and not 0 <= args.coverage <= 1:
        raise ConfigError(f"--coverage must be a number from 0 to 1, such as 0.9, not {args.coverage:g}")
    cache = SchemaCache(functools.partial(compile_schema, extensions=load_extensions(args.extensions)))
    paths = args.paths or [Path()]
    files = found_case_files(paths)
    cases: list[Case] = []
    findings: list[lint.LintFinding] = []
    for file in files:
        loaded = load_cases(file, cache)
        cases += (case for case in loaded.cases if not case.altered)
        findings += (lint.LintFinding(kind="case_file", error=error) for error in loaded.errors)
    are_all_read = not findings
    findings += _undeclared(cases) if args.golds else ()
    findings += lint.lint_cases(cases)
    findings += lint.mutation_findings(cases) if args.mutate else ()
    if are_all_read and all(path.is_dir() for path in paths):
        findings += lint.unused_files(cases, [*files, *cache.defaults_files])
        findings += lint.unused_recordings(cases, args.recordings)
    evidence = lint.check_evidence(cases) if args.evidence else None
    findings += evidence.findings if evidence is not None else ()
    told = [*{str(finding): finding for finding in findings}.values()]  # a mistake in a shared schema is listed once
    told.sort(key=lambda finding: finding.severity == "warning")
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
        if told and os.environ.get("GITHUB_ACTIONS") == "true":
            _print_annotations(told)
    return 1 if mistakes or (args.strict and told) or any(each.share < args.coverage for each in coverage) else 0


def _print_notes(cases: Iterable[Case]) -> None:
    """Name the lists that any order passes in, and the metrics that a published system would not know."""
    found = lint.unordered_lists(cases)
    if found:
        remedy = 'where it matters, write `"x-eval-align": {"ordered": true}` there, or the override `align: position`'
        print_text(f"order is not compared in lists of values: {listed(found, _MOST_LISTS)}; {remedy}")
    ours = lint.names_of_ours(cases)
    if ours:
        advice = "if this schema meant a comparator or transform of its own project, register that by the same name"
        print_text(f"{'; '.join(ours)}: {advice}")


def _print_annotations(findings: Iterable[lint.LintFinding]) -> None:
    """Print findings as the commands by which GitHub Actions annotates files."""
    from pytest_extract.report.exports import file_problem, github_commands
    from pytest_extract.report.run_report import repository_root

    root = repository_root(Path.cwd())
    problems = []
    for each in findings:
        level = "error" if each.severity == "mistake" else each.severity
        problems.append(file_problem(each.error.path, each.error.line or 1, each.error.message, root, level))
    print("\n".join(github_commands(problems)))  # noqa: T201 - commands that GitHub is to obey


def _undeclared(cases: Iterable[Case]) -> Iterator[lint.LintFinding]:
    for case in cases:
        problems = validate_golds([case.gold], case.schema, strict_types=True)
        places = [(problem.path, f"gold: {problem.message}") for problem in problems]
        yield from lint.gold_findings(case, "undeclared", places)


def _check_golds(args: argparse.Namespace) -> int:
    """Print what is wrong with golds; return 0 without mistakes, 1 with; unreadable files raise ExtractError."""
    schema = read_schema(args.schema)
    if not args.paths:
        raise ConfigError("--schema needs the golds to check")
    validator = None if args.no_json_schema else Validator(schema)
    if validator is not None and validator.problem is not None:
        raise ConfigError(f"{args.schema} is no valid JSON Schema: {validator.problem}")
    counts: Counter[str] = Counter()
    records = [*read_records(args.paths, each=args.each)]
    problems = validate_golds(
        [gold for _, gold in records],
        schema,
        id_field=args.id_field,
        warn_missing=not args.no_warn_missing,
        strict_types=args.strict_types,
    )
    for index, (where, gold) in enumerate(records):
        found = [(each.severity, f"`{each.path}`: {each.message}") for each in problems if each.record == index]
        found += [("error", str(each)) for each in (validator.errors(gold) if validator is not None else ())]
        counts.update(severity for severity, _ in found)
        for severity, message in found:
            print_text(f"{where}: {severity}: {message}")
    told = f"{plural(counts['error'], 'mistake')}, {plural(counts['warning'], 'warning')}"
    print_text(f"{plural(len(records), 'gold')}: {told}")
    return 1 if counts["error"] or (args.strict and counts["warning"]) else 0


def recordings_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    actions = parser.add_subparsers(required=True, metavar="list|prune")
    listing = actions.add_parser("list", help="list recordings, each used or unused, and why")
    listing.add_argument("--unused", action="store_true", help="only those that no case can use")
    listing.set_defaults(prune=False, dry_run=False)
    pruning = actions.add_parser("prune", help="remove the unused ones")
    pruning.add_argument("--dry-run", action="store_true", help="only say what would be removed")
    pruning.set_defaults(prune=True, unused=True)
    for action in (listing, pruning):
        action.add_argument("paths", nargs="*", type=Path, metavar="PATH", help="case files or folders (default: .)")
        action.add_argument(
            "--answers-unused-for", type=float, metavar="DAYS", help="the judge's answers too, unused for so long"
        )
        action.add_argument("--recordings", type=Path, default=Path(DEFAULT_FOLDER), metavar="DIR")
        action.add_argument("--root", type=Path, default=Path(), metavar="DIR", help="pytest's rootdir")


def run_recordings(args: argparse.Namespace) -> int:
    """List recordings, or remove those that no case can use any more.

    A recording is unused when no case has its document, schema, question and prompt any more. Models, parameters and
    repeats do not count: they are options of a run. What a judge is asked depends on outputs: its answers are unused
    when no run on this machine has used them for some days (a checkout counts as use). Nothing is removed where case
    files have mistakes.
    """
    days = args.answers_unused_for
    if days is not None and not days >= 0:
        raise ConfigError(f"--answers-unused-for: an invalid number of days: {days:g}; give 0 or more")
    root = args.root.resolve()
    if not args.recordings.is_dir():
        print_note("recordings", f"there is no folder {args.recordings}; --recordings=DIR names another")
    files = [file.resolve() for file in found_case_files(args.paths or [args.root])]
    problem = "the cases have mistakes, so what is used cannot be told:"
    cases = load_all_cases(files, SchemaCache(compile_structure), problem)
    known = CaseInputs(cases, root)
    recordings = [read_recording(path) for path in recording_files(args.recordings)]
    why_unused = {recording.path: known.why_unused(recording) for recording in recordings}
    for recording in recordings:
        why = why_unused[recording.path]
        if why is not None or not args.unused:
            use = "used  " if why is None else "unused"
            print_text(f"{use} {recording.path.as_posix()}  {_origin(recording)}{f': {why}' if why else ''}")
    unused = [path for path, why in why_unused.items() if why is not None]
    removed = "" if not args.prune else " (none removed: dry run)" if args.dry_run else ", removed"
    print_text(f"{len(recordings)} recordings, {len(unused)} unused{removed}")
    if days is not None:
        answers = answer_files(args.recordings / JUDGE_FOLDER)
        idle = [path for path in answers if idle_days(path) >= days]
        for path in idle:
            print_text(f"unused {path.as_posix()}: for {idle_days(path):.0f} days")
        print_text(f"{len(answers)} answers of judges, {len(idle)} unused for {days:g} days{removed}")
        unused += idle
    for path in unused if args.prune and not args.dry_run else ():
        path.unlink(missing_ok=True)
        with suppress(OSError):  # what else is in the folder keeps it
            path.parent.rmdir()
    return 0


def _origin(recording: Recording) -> str:
    """Return the case of a recording, with the model, prompt and revision that it is of."""
    inputs, prompt = recording.body["inputs"], recording.body["inputs"]["prompt"] or {}
    details = [inputs["model"], prompt.get("name"), recording.body["revision"]]
    details += [f"repeat {inputs['repeat'] + 1}"] if inputs["repeat"] else []
    text = ", ".join(str(detail) for detail in details if detail)
    return f"{recording.body['case']} ({text})" if text else str(recording.body["case"])
