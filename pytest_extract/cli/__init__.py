"""The command `pytest-extract`: each command in a module of this package, imported only when it is called."""

from __future__ import annotations

import argparse
import importlib
import io
import re
import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

__all__ = ["main"]

COMMANDS: Final[Mapping[str, tuple[str, str]]] = {
    "init": ("suites", "write a first case, its schema and an extractor"),
    "import": ("suites", "make case files from a published dataset"),
    "draft": ("suites", "draft the golds that are not there from models or extractors"),
    "review": ("golds", "decide what is open in golds, or what fails in a run, on a page or here"),
    "agree": ("golds", "measure how far two sets of golds agree, or the judge with people"),
    "check": ("check", "check case files, their schemas and golds, without extracting"),
    "score": ("score", "score one output against its gold, as one system or as several side by side"),
    "explain": ("score", "list metrics and transforms, or explain one with worked numbers"),
    "report": ("report", "report on a run: measures, fields, the published systems' numbers"),
    "compare": ("compare", "compare two results files: PASS (0), WORSE (1), UNDECIDED (3)"),
    "merge": ("report", "join the results files of a run that was cut into shards"),
    "bisect": ("compare", "find the hunk of a prompt or schema by which a field fell"),
    "leaderboard": ("report", "rank the models and prompts of results files"),
    "schema print": ("schema", "print the JSON Schema of the case file"),
    "schema infer": ("schema", "infer a JSON Schema from golds"),
    "schema annotate": ("schema", "write default metrics into a schema"),
    "schema resolve": ("schema", "resolve the references and compositions of a schema"),
}
"""Name -> the module of this package that has a command, and what it does in one line, in the order of a day's work.

Its arguments and itself are the functions `name_arguments` and `run_name`, whose docstring is its help. The name of a
command of the group `schema` is `schema NAME`.
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command and return its exit status; 2 for wrong usage and for files that cannot be read."""
    if argv is None and isinstance(sys.stdout, io.TextIOWrapper):
        # a terminal with a small character set shows escapes instead of failing
        sys.stdout.reconfigure(errors="backslashreplace")
    arguments = list(sys.argv[1:] if argv is None else argv)
    named = [name for name in COMMANDS if arguments[: name.count(" ") + 1] == name.split()]
    options, unknown = _parser(named).parse_known_args(arguments)
    from pytest_extract.errors import ExtractError, closest

    if unknown:
        known = re.findall(r"--[a-z-]+", options.parser.format_help())
        meant = closest(unknown[0].partition("=")[0], known)
        options.parser.error(f"unrecognized arguments: {' '.join(unknown)}{meant}")
    changed = {name for name, value in vars(options).items() if value != options.parser.get_default(name)}
    options.given = frozenset(name.rstrip("_").replace("_", "-") for name in changed)
    run: Callable[[argparse.Namespace], int] = options.run
    try:
        return run(options)
    except ExtractError as error:
        from pytest_extract.report.lines import safe_controls

        print(f"pytest-extract: {safe_controls(str(error))}", file=sys.stderr)  # noqa: T201  # what a command is for
        return 2
    except BrokenPipeError:  # the reader of our output (head, less) has gone
        sys.stderr.close()
        return 0


def _parser(described: Collection[str]) -> argparse.ArgumentParser:
    """Return the parser of all commands, with the arguments of some: each of them imports its module."""
    parser = argparse.ArgumentParser(
        prog="pytest-extract",
        description="Work on cases, schemas and results; `draft` and `bisect` run cases.",
        formatter_class=argparse.RawDescriptionHelpFormatter,  # keeps a path in one piece
        epilog=f"The manual, page by page: {Path(__file__).parents[1] / 'docs'}",
    )
    parser.add_argument("--version", action="store_true", help="print the version")
    parser.add_argument("--print-completion", metavar="SHELL", help="print completion for a shell (needs shtab)")
    parser.set_defaults(parser=parser, run=_without_command)
    homes = {"": parser.add_subparsers(title="commands", metavar="COMMAND")}
    for name, (home, summary) in COMMANDS.items():
        group, _, last = name.rpartition(" ")
        if group not in homes:
            grouped = homes[""].add_parser(group, help="work on JSON Schemas")
            grouped.set_defaults(parser=grouped)
            homes[group] = grouped.add_subparsers(title="commands", metavar="COMMAND")
        own = homes[group].add_parser(last, help=summary)
        if name in described:
            module: Any = importlib.import_module(f"pytest_extract.cli.{home}")
            getattr(module, f"{last}_arguments")(own)
            run = getattr(module, f"run_{last}")
            own.description = run.__doc__
            own.set_defaults(parser=own, run=run)
    return parser


def _without_command(options: argparse.Namespace) -> int:
    """Print the version, the completion script of all commands for a shell, or help."""
    if options.version:
        from importlib.metadata import version

        print(f"pytest-extract {version('pytest-extract')}")  # noqa: T201 - what is asked for
    elif options.print_completion:
        if find_spec("shtab") is None:
            options.parser.error("--print-completion needs shtab: pip install shtab")
        import shtab

        if options.print_completion not in shtab.SUPPORTED_SHELLS:
            known = ", ".join(shtab.SUPPORTED_SHELLS)
            options.parser.error(f"--print-completion: {options.print_completion!r} is none of {known}")
        print(shtab.complete(_parser(COMMANDS), options.print_completion))  # noqa: T201 - as above
    else:
        options.parser.print_help()
    return 0
