"""The command `pytest-extract`: each command in a module of this package, imported only when it is called."""

from __future__ import annotations

import argparse
import importlib
import io
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, NamedTuple, NoReturn

__all__ = ["main"]

USAGE_ERROR: Final = 2


class Command(NamedTuple):
    """A command: the module of this package that has its arguments and runs it, and what it does in one line.

    Those of a command `name` are its functions `name_arguments` and `run_name`, whose docstring is its help.
    """

    module: str
    summary: str


_SECTIONS: Final[Mapping[str, Mapping[str, Command]]] = MappingProxyType(
    {
        "cases and golds": {
            "init": Command("suites", "write a first case, its schema and an extractor"),
            "import": Command("suites", "make case files from a published dataset"),
            "draft": Command("suites", "draft the golds that are not there from models or extractors"),
            "review": Command("golds", "decide what is open in golds, or what fails in a run, on a page or here"),
            "agree": Command("golds", "measure how far two sets of golds agree, or the judge with people"),
            "check": Command("check", "check case files, their schemas and golds, without extracting"),
            "recordings": Command("check", "list recordings, or remove those that no case can use any more"),
        },
        "scores": {
            "score": Command("score", "score one output against its gold, as one system or as several side by side"),
            "explain": Command("score", "list metrics and transforms, or explain one with worked numbers"),
        },
        "runs": {
            "report": Command("report", "report on a run: measures, fields, the published systems' numbers"),
            "compare": Command("compare", "compare two results files: PASS (0), WORSE (1), UNDECIDED (3)"),
            "merge": Command("report", "join the results files of a run that was cut into shards"),
            "bisect": Command("compare", "find the hunk of a prompt or schema by which a field fell"),
            "leaderboard": Command("report", "rank the models and prompts of results files"),
        },
        "schemas": {
            "schema print": Command("schema", "print the JSON Schema of the case file"),
            "schema infer": Command("schema", "infer a JSON Schema from golds"),
            "schema annotate": Command("schema", "write default metrics into a schema"),
            "schema resolve": Command("schema", "resolve the references and compositions of a schema"),
        },
    }
)
COMMANDS: Final[Mapping[str, Command]] = MappingProxyType(
    {name: command for section in _SECTIONS.values() for name, command in section.items()}
)
"""Name -> command, in the order of a day's work; the name of a command of the group `schema` is `schema NAME`."""
_GROUP: Final = "schema"


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command and return its exit status; 2 for wrong usage and for files that cannot be read."""
    if argv is None and isinstance(sys.stdout, io.TextIOWrapper):
        # a terminal with a small character set shows escapes instead of failing
        sys.stdout.reconfigure(errors="backslashreplace")
    arguments = list(sys.argv[1:] if argv is None else argv)
    words = 2 if arguments[:1] == [_GROUP] and not "".join(arguments[1:2]).startswith("-") else 1
    typed = " ".join(arguments[:words])
    if typed not in COMMANDS:
        return _without_command(typed, arguments)
    parser = argparse.ArgumentParser(prog=f"pytest-extract {typed}")
    run = _described(typed, parser)
    options, unknown = parser.parse_known_args(arguments[words:])
    if unknown:
        _refuse_arguments(parser, unknown)
    changed = {name for name, value in vars(options).items() if value != parser.get_default(name)}
    options.given = frozenset(name.rstrip("_").replace("_", "-") for name in changed)
    return _run_command(run, options)


def _described(command: str, parser: argparse.ArgumentParser) -> Callable[[argparse.Namespace], int]:
    """Add the arguments of a command to a parser, and return what runs it, whose docstring describes it."""
    module: Any = importlib.import_module(f"pytest_extract.cli.{COMMANDS[command].module}")
    name = command.rpartition(" ")[2]
    getattr(module, f"{name}_arguments")(parser)
    run: Callable[[argparse.Namespace], int] = getattr(module, f"run_{name}")
    parser.description = run.__doc__
    return run


def _without_command(typed: str, arguments: Sequence[str]) -> int:
    """Print help, the version or a shell's completion; refuse what is none of these."""
    is_group = arguments[:1] == [_GROUP]
    listed: list[str] = []
    for heading, commands in _SECTIONS.items():
        rows = [f"  {name:<18}{each.summary}" for name, each in commands.items() if not is_group or _GROUP in name]
        listed += ["", f"{heading}:", *rows] if rows else []
    parser = argparse.ArgumentParser(
        prog="pytest-extract schema" if is_group else "pytest-extract",
        usage="%(prog)s [-h] COMMAND ...",
        description="\n".join(["Work on cases, schemas and results; `draft` and `bisect` run cases.", *listed]),
        formatter_class=argparse.RawDescriptionHelpFormatter,  # keeps the columns, and a path in one piece
        epilog=f"The manual, page by page: {Path(__file__).parents[1] / 'docs'}",
    )
    parser.add_argument("--version", action="store_true", help="print the version")
    parser.add_argument("--print-completion", metavar="SHELL", help="print completion for a shell (needs shtab)")
    if typed and typed != _GROUP and not typed.startswith("-"):
        from pytest_extract.errors import nearest

        names = [name for name in COMMANDS if not is_group or name.startswith(_GROUP)]
        parser.error(f"no command {typed!r}{nearest(typed, names)}")
    options, unknown = parser.parse_known_args(arguments[is_group:])
    if unknown:
        _refuse_arguments(parser, unknown)
    if options.version:
        from importlib.metadata import version

        print(f"pytest-extract {version('pytest-extract')}")  # noqa: T201 - what is asked for
    elif options.print_completion:
        print(_completion(parser, options.print_completion))  # noqa: T201
    else:
        parser.print_help()
    return 0


def _completion(parser: argparse.ArgumentParser, shell: str) -> str:
    """Return the completion script of all commands."""
    try:
        import shtab
    except ImportError:
        parser.error("--print-completion needs shtab: pip install shtab")
    if shell not in shtab.SUPPORTED_SHELLS:
        parser.error(f"--print-completion: {shell!r} is none of {', '.join(shtab.SUPPORTED_SHELLS)}")
    whole = argparse.ArgumentParser(prog="pytest-extract")
    commands = whole.add_subparsers()
    of_group = commands.add_parser(_GROUP, help="work on JSON Schemas").add_subparsers()
    for name, command in COMMANDS.items():
        home = of_group if name.startswith(f"{_GROUP} ") else commands
        _described(name, home.add_parser(name.rpartition(" ")[2], help=command.summary))
    return str(shtab.complete(whole, shell))


def _refuse_arguments(command: argparse.ArgumentParser, unknown: Iterable[str]) -> NoReturn:
    """End with the command's own usage, and the option that was meant."""
    from pytest_extract.errors import closest

    first, *more = unknown
    names = [name for name in command.format_help().replace(",", " ").split() if name.startswith("--")]
    advice = closest(first.partition("=")[0], names) if first.startswith("-") else ""
    command.error(f"unrecognized arguments: {' '.join([first, *more])}{advice}")


def _run_command(run: Callable[[argparse.Namespace], int], options: argparse.Namespace) -> int:
    from pytest_extract.errors import ExtractError

    try:
        return run(options)
    except ExtractError as error:
        from pytest_extract.report.lines import safe_controls

        print(f"pytest-extract: {safe_controls(str(error))}", file=sys.stderr)  # noqa: T201  # what a command is for
        return USAGE_ERROR
    except BrokenPipeError:  # the reader of our output (head, less) has gone
        sys.stderr.close()
        return 0
