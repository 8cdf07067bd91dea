"""The command `pytest-extract`: one module per command, imported only when it is called."""

from __future__ import annotations

import argparse
import importlib
import io
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Final, NoReturn

USAGE_ERROR: Final = 2

COMMANDS: Final[Mapping[str, tuple[str, str]]] = MappingProxyType(
    {
        "init": ("init", "write a first case, its schema and an extractor"),
        "schema": ("schema", "print the JSON Schema of the case file"),
        "metrics": ("metrics", "list metrics and transforms, or explain one with worked numbers"),
        "infer-schema": ("infer_schema", "infer a JSON Schema from golds"),
        "resolve": ("resolve", "resolve the references and compositions of a schema"),
        "annotate": ("annotate", "write default metrics into a schema"),
        "check": ("check", "check case files, their schemas and golds, without extracting"),
        "import": ("import_", "make case files from a published dataset"),
        "compare": ("compare", "compare two results files: not worse (0), worse (1), cannot tell (3)"),
        "report": ("report", "report on a run: measures, fields, the published systems' numbers"),
        "leaderboard": ("leaderboard", "rank the models and prompts of results files"),
        "score": ("score", "score one output against its gold, as one system or as several side by side"),
        "judge-audit": ("judge_audit", "compare recorded verdicts of the judge with those of people"),
        "recordings": ("recordings", "list recordings, or remove those that no case can use any more"),
        "merge": ("merge", "join the results files of a run that was cut into shards"),
    }
)
"""Command -> module of this package, and what it does in one line."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command and return its exit status; 2 for wrong usage and for files that cannot be read."""
    if argv is None and isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # a terminal of few characters still gets the others told
    arguments = list(sys.argv[1:] if argv is None else argv)
    parser = argparse.ArgumentParser(
        prog="pytest-extract",
        description="Work on extraction cases, their schemas and their results, without running any.",
        formatter_class=argparse.RawDescriptionHelpFormatter,  # a path is not to be broken
        epilog=f"The manual, page by page: {Path(__file__).parents[1] / 'docs'}",
    )
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    chosen = next((word for word in arguments if not word.startswith("-")), None)
    for name, (module, summary) in COMMANDS.items():
        if name == chosen:
            importlib.import_module(f"pytest_extract.cli.{module}").add_parser(commands)
        else:
            commands.add_parser(name, help=summary)
    if chosen is not None and chosen not in COMMANDS:
        from pytest_extract.errors import nearest

        parser.error(f"no command {chosen!r}{nearest(chosen, COMMANDS)}")
    options, unknown = parser.parse_known_args(arguments)
    if unknown:
        _refuse(commands.choices[str(chosen)], unknown)
    return _run(options, COMMANDS[str(chosen)][0])


def _refuse(command: argparse.ArgumentParser, unknown: Sequence[str]) -> NoReturn:
    """End with the command's own usage, and the option that was meant."""
    from pytest_extract.errors import closest

    names = [name for name in command.format_help().replace(",", " ").split() if name.startswith("--")]
    advice = closest(unknown[0].partition("=")[0], names) if unknown[0].startswith("-") else ""
    command.error(f"unrecognized arguments: {' '.join(unknown)}{advice}")


def _run(options: argparse.Namespace, module: str) -> int:
    from pytest_extract.errors import ExtractError

    try:
        status: int = importlib.import_module(f"pytest_extract.cli.{module}").run(options)
    except ExtractError as error:
        print(f"pytest-extract: {error}", file=sys.stderr)  # noqa: T201  # what a command is for
        return USAGE_ERROR
    except BrokenPipeError:  # the reader of our output (head, less) has gone
        sys.stderr.close()
        return 0
    return status
