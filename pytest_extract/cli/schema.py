"""`pytest-extract schema print`: prints the JSON Schema of case files, for editors and other checkers."""

from __future__ import annotations

import argparse

from pytest_extract.cases.keys import case_file_schema


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Describe the command and its arguments."""
    parser.description = "Print the JSON Schema of *.extract.yaml, for completion and validation in an editor."


def run(args: argparse.Namespace) -> int:
    """Print the schema; exit status 0."""
    del args
    print(case_file_schema(), end="")  # noqa: T201 - printing is the command
    return 0
