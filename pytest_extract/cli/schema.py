"""`pytest-extract schema`: print the JSON Schema of the case file, for editors and other checkers."""

from __future__ import annotations

import argparse
from importlib.resources import files
from typing import Any


def case_file_schema() -> str:
    """Return the text of the JSON Schema of the case file."""
    return files("pytest_extract.cases").joinpath("case.schema.json").read_text(encoding="utf-8")


def add_parser(subparsers: Any) -> None:
    """Add the command to the parser of `pytest-extract`."""
    parser = subparsers.add_parser(
        "schema",
        help="print the JSON Schema of the case file",
        description="Print the JSON Schema of *.extract.yaml, for completion and validation in an editor.",
    )
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Print the schema; exit status 0."""
    del args
    print(case_file_schema(), end="")  # noqa: T201 - printing is the command
    return 0
