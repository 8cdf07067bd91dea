"""`pytest-extract recordings list | prune`: lists recordings and removes those that no case can use."""

from __future__ import annotations

import argparse
from contextlib import suppress
from pathlib import Path

from pytest_extract.cases.schemas import SchemaCache, compile_structure
from pytest_extract.cli.files import found_case_files, load_all_cases, print_note, print_text
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
        if why_unused[recording.path] is not None or not args.unused:
            print_text(_recording_line(recording, why_unused[recording.path]))
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


def _recording_line(recording: Recording, why: str | None) -> str:
    inputs = recording.body["inputs"]
    details = [inputs["model"], inputs["prompt"] and inputs["prompt"]["name"], recording.body["revision"]]
    if inputs["repeat"]:
        details.append(f"repeat {inputs['repeat'] + 1}")
    details_text = ", ".join(str(detail) for detail in details if detail)
    case = recording.body["case"] + (f" ({details_text})" if details_text else "")
    return f"{'used  ' if why is None else 'unused'} {recording.path.as_posix()}  {case}{f': {why}' if why else ''}"
