"""`pytest-extract review [RUN.jsonl | CASES]`: decides what is open in golds, on a page of this machine or here."""

from __future__ import annotations

import argparse
import getpass
import subprocess
from pathlib import Path

from pytest_extract.cases.edit import read_gold
from pytest_extract.cases.load import load_cases
from pytest_extract.cases.schemas import SchemaCache
from pytest_extract.cli.files import found_case_files, print_note, print_text, refuse_options
from pytest_extract.core.values import MISSING, Json
from pytest_extract.errors import ConfigError, ExtractError
from pytest_extract.golds.review import (
    Action,
    Reviewer,
    ReviewItem,
    failing_items,
    merged_items,
    open_items,
    read_typed,
)
from pytest_extract.report.lines import safe_prose
from pytest_extract.report.values import show
from pytest_extract.results import ResultsReader

KEYS: dict[str, Action] = {"a": "accept", "k": "keep", "o": "also", "e": "edit", "x": "absent", "d": "dispute"}
HELP = (
    "a accept 1 - 1..9 accept that - k keep the gold - o also accept - e edit - x absent - d dispute - s skip - q quit"
)
_WIDTH = 200


def review_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.add_argument("paths", nargs="*", type=Path, metavar="RUN.jsonl|CASES", help="files or folders (default: .)")
    parser.add_argument("--terminal", action="store_true", help="ask here, in place of a page")
    parser.add_argument("--by", metavar="NAME", help="who decides (default: git's user.name, or the user's name)")
    parser.add_argument("--port", type=int, default=0, help="port of the page on 127.0.0.1 (default: a free one)")
    parser.add_argument("--open", action="store_true", help="open the page in the browser")
    parser.add_argument("--list", action="store_true", help="list what is open, and decide nothing")


def run_review(args: argparse.Namespace) -> int:
    """Decide what is open in golds.

    Open are the fields of drafts on which outputs disagree or that stand nowhere in the document, what reviewers
    disputed and, with results files, the failing fields of a run. Each decision is written at once, to that place of
    the gold alone; who decided is kept beside the gold. Exit status: 0 nothing is open any more, 1 something is, or a
    case file has a mistake.
    """
    if args.list:
        refuse_options(args, "with --list", "terminal", "by", "port", "open")
    if args.terminal:
        refuse_options(args, "with --terminal", "port", "open")
    runs = [path for path in args.paths if path.suffix == ".jsonl"]
    cache = SchemaCache()
    files = found_case_files([path for path in args.paths if path not in runs] or [Path()])
    loaded = [load_cases(file, cache) for file in files]
    mistakes = [str(error) for file in loaded for error in file.errors]
    cases = [case for file in loaded for case in file.cases if not case.altered]
    notes: list[str] = []
    failing = [item for path in runs for item in failing_items(cases, ResultsReader(path), notes, Path())]
    items = merged_items([*open_items(cases), *failing])
    for note in (*mistakes, *notes):
        print_note("review", note)
    if not items:
        print_text("nothing else is open" if mistakes else "nothing is open")
        return 1 if mistakes else 0
    reviewer = Reviewer(args.by or user_name(), items, cases)
    if args.list:
        for item in items:
            print_text(safe_prose(f"{item.title}: {item.why}"))
    elif args.terminal:
        ask_in_terminal(reviewer)
    else:
        _serve(reviewer, args)
    print_text(f"{sum(bool(item.done) for item in items)} of {len(items)} decided")
    return 0 if not mistakes and all(item.done and item.done != "disputed" for item in items) else 1


def user_name() -> str:
    """Return git's user.name, or the name of the user."""
    try:
        done = subprocess.run(["git", "config", "user.name"], capture_output=True, text=True, check=False, timeout=10)  # noqa: S607 - git on the path
        return done.stdout.strip() or getpass.getuser()
    except (OSError, subprocess.SubprocessError, KeyError):
        return "unknown"


def _serve(reviewer: Reviewer, args: argparse.Namespace) -> None:
    from pytest_extract.golds.review_server import ReviewServer

    try:
        server = ReviewServer(reviewer, args.port)
    except OSError as error:
        raise ConfigError(f"--port {args.port}: {error.strerror or error}") from error
    with server:
        print(f"{len(reviewer.items)} to decide: {server.address}", flush=True)  # noqa: T201 - printing is the command
        print("Ctrl+C ends the review; every decision is written already", flush=True)  # noqa: T201 - as above
        if args.open:
            import webbrowser

            webbrowser.open(server.address)
        try:
            server.serve_forever(poll_interval=0.2)
        except KeyboardInterrupt:
            print()  # noqa: T201 - as above


def ask_in_terminal(reviewer: Reviewer) -> None:
    """Ask for each open item in turn; end of input and `q` leave the rest open."""
    print(HELP)  # noqa: T201 - printing is the command
    for number, item in enumerate(reviewer.items, start=1):
        print(f"\n[{number}/{len(reviewer.items)}] {safe_prose(item.title)}: {safe_prose(item.why)}")  # noqa: T201
        for place, candidate in enumerate(item.candidates, start=1):
            shown = "(absent)" if candidate.value is MISSING else show(candidate.value, _WIDTH)
            where = "nowhere in the document" if candidate.evidence == "" else candidate.evidence or ""
            about = ", ".join(filter(None, (*candidate.sources, where)))
            print(f"  {place}  {shown}  ({safe_prose(about)})")  # noqa: T201 - as above
        while not item.done:
            answer = _read("> ")
            if answer in (None, "q"):
                return
            if answer == "s":
                break
            try:
                print(f"  {_decided(reviewer, item, str(answer))}")  # noqa: T201 - as above
            except (ExtractError, ValueError, RecursionError) as error:  # the latter: of JSON that no reader takes
                print(f"  {safe_prose(str(error))}")  # noqa: T201 - as above


def _decided(reviewer: Reviewer, item: ReviewItem, answer: str) -> str:
    if answer.isdecimal():
        return reviewer.decide(item, "accept", choice=int(answer) - 1)
    action = KEYS.get(answer)
    if action is None:
        return HELP
    value: Json = None
    if action == "edit":
        typed = _read("  new value (JSON, or a text): ")
        if typed is None:
            return "left as it is"
        value = read_typed(typed, item.case, item.path, read_gold(item.case))
    return reviewer.decide(item, action, value=value)


def _read(prompt: str) -> str | None:
    try:
        return input(prompt).strip()
    except (EOFError, KeyboardInterrupt):
        print()  # noqa: T201 - printing is the command
        return None
