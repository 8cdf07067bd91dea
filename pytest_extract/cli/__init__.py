"""The command `pytest-extract`: one module per command, imported only when it is called."""

from __future__ import annotations

import argparse
import importlib
import io
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType, ModuleType
from typing import Final, NamedTuple, NoReturn

__all__ = ["main"]

USAGE_ERROR: Final = 2


class Command(NamedTuple):
    """A command: the module of this package that has its arguments and runs it, and what it does in one line."""

    module: str
    summary: str


COMMANDS: Final[Mapping[str, Command]] = MappingProxyType(
    {
        "init": Command("init", "write a first case, its schema and an extractor"),
        "draft": Command("draft", "draft the golds that are not there from models or extractors"),
        "review": Command("review", "decide what is open in golds, or what fails in a run, on a page or here"),
        "agree": Command("agree", "measure on which fields the golds of two reviewers agree"),
        "check": Command("check", "check case files, their schemas and golds, without extracting"),
        "score": Command("score", "score one output against its gold, as one system or as several side by side"),
        "metrics": Command("metrics", "list metrics and transforms, or explain one with worked numbers"),
        "recordings": Command("recordings", "list recordings, or remove those that no case can use any more"),
        "judge-audit": Command("judge_audit", "compare recorded verdicts of the judge with those of people"),
        "import": Command("import_", "make case files from a published dataset"),
        "schema print": Command("schema", "print the JSON Schema of the case file"),
        "schema infer": Command("infer_schema", "infer a JSON Schema from golds"),
        "schema annotate": Command("annotate", "write default metrics into a schema"),
        "schema resolve": Command("resolve", "resolve the references and compositions of a schema"),
        "runs report": Command("report", "report on a run: measures, fields, the published systems' numbers"),
        "runs compare": Command("compare", "compare two results files: not worse (0), worse (1), cannot tell (3)"),
        "runs merge": Command("merge", "join the results files of a run that was cut into shards"),
        "runs leaderboard": Command("leaderboard", "rank the models and prompts of results files"),
    }
)
"""Name -> command; the name of a command of a group is `GROUP COMMAND`."""

ALIASES: Final[Mapping[str, str]] = MappingProxyType(
    {
        "schema": "schema print",
        "infer-schema": "schema infer",
        "annotate": "schema annotate",
        "resolve": "schema resolve",
        "report": "runs report",
        "compare": "runs compare",
        "merge": "runs merge",
        "leaderboard": "runs leaderboard",
    }
)
"""Earlier name -> name of the command; they work for one more release."""

GROUPS: Final = tuple(dict.fromkeys(name.partition(" ")[0] for name in COMMANDS if " " in name))


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command and return its exit status; 2 for wrong usage and for files that cannot be read."""
    if argv is None and isinstance(sys.stdout, io.TextIOWrapper):
        # a terminal with a small character set shows escapes instead of failing
        sys.stdout.reconfigure(errors="backslashreplace")
    arguments = list(sys.argv[1:] if argv is None else argv)
    typed, rest = _typed_name(arguments)
    command = COMMANDS.get(ALIASES.get(typed, typed))
    if command is None or (typed in GROUPS and rest[:1] in (["-h"], ["--help"])):
        _exit_with_help(typed, rest)
    module = importlib.import_module(f"pytest_extract.cli.{command.module}")
    parser = argparse.ArgumentParser(prog=f"pytest-extract {typed}")
    module.add_arguments(parser)
    options, unknown = parser.parse_known_args(rest)
    if unknown:
        _refuse_arguments(parser, unknown)
    return _run_command(module, options)


def _typed_name(arguments: Sequence[str]) -> tuple[str, Sequence[str]]:
    """Return the name of a command as it is typed, "" without one, and the arguments after it."""
    words = [word for word in arguments[:2] if not word.startswith("-")]
    count = 0 if not arguments or arguments[0].startswith("-") else len(words) if words[0] in GROUPS else 1
    return " ".join(arguments[:count]), arguments[count:]


def _exit_with_help(typed: str, rest: Sequence[str]) -> NoReturn:
    """End with the help of `pytest-extract` or of a group, or with what is wrong with a name."""
    group = next((name for name in GROUPS if typed.partition(" ")[0] == name), "")
    names = [name for name in COMMANDS if name.startswith(f"{group} " if group else "")]
    prog = f"pytest-extract {group}".strip()
    parser = argparse.ArgumentParser(
        prog=prog,
        usage=f"{prog} [-h] COMMAND ...",
        description=f"Work on extraction cases, schemas and results, without running any case.{_command_list(names)}",
        formatter_class=argparse.RawDescriptionHelpFormatter,  # keeps the columns, and a path in one piece
        epilog=f"also: {_aliases(names)}\n\nThe manual, page by page: {Path(__file__).parents[1] / 'docs'}",
    )
    if typed not in {"", group}:
        from pytest_extract.errors import nearest

        parser.error(f"no command {typed!r}{nearest(typed, [*names, *ALIASES])}")
    _, unknown = parser.parse_known_args(rest)
    if unknown:
        _refuse_arguments(parser, unknown)
    parser.error("the following arguments are required: COMMAND")


def _command_list(names: Sequence[str]) -> str:
    """Return one line for each command, those of a group together below a heading."""
    lines: list[str] = []
    heading = ""
    for name in names:
        group = name.partition(" ")[0] if " " in name else "commands"
        if group != heading:
            lines += ["", f"{group}:"]
            heading = group
        lines.append(f"  {name:<18}{COMMANDS[name].summary}")
    return "\n".join(["", *lines])


def _aliases(names: Sequence[str]) -> str:
    """Return the earlier names of commands, three a line."""
    pairs = [f"{alias} = {name}" for alias, name in ALIASES.items() if name in names]
    return ",\n      ".join(", ".join(pairs[at : at + 3]) for at in range(0, len(pairs), 3))


def _refuse_arguments(command: argparse.ArgumentParser, unknown: Sequence[str]) -> NoReturn:
    """End with the command's own usage, and the option that was meant."""
    from pytest_extract.errors import closest

    names = [name for name in command.format_help().replace(",", " ").split() if name.startswith("--")]
    advice = closest(unknown[0].partition("=")[0], names) if unknown[0].startswith("-") else ""
    command.error(f"unrecognized arguments: {' '.join(unknown)}{advice}")


def _run_command(module: ModuleType, options: argparse.Namespace) -> int:
    from pytest_extract.errors import ExtractError

    try:
        status: int = module.run(options)
    except ExtractError as error:
        from pytest_extract.report.lines import safe_controls

        print(f"pytest-extract: {safe_controls(str(error))}", file=sys.stderr)  # noqa: T201  # what a command is for
        return USAGE_ERROR
    except BrokenPipeError:  # the reader of our output (head, less) has gone
        sys.stderr.close()
        return 0
    return status
