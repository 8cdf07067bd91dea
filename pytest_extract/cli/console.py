"""Prints lines, texts and notes; whatever their origin, they are safe for a terminal and for a CI service's log."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterable

from pytest_extract.report.lines import Line, printed, safe_controls, text_of


def print_note(command: str, text: str) -> None:
    """Print a note to standard error, beside the output."""
    sys.stderr.write(f"pytest-extract {command}: {safe_controls(text)}\n")


def print_text(text: object) -> None:
    """Print a text that may be of any origin."""
    sys.stdout.write(f"{safe_controls(str(text))}\n")


def print_lines(lines: Iterable[Line]) -> None:
    """Print lines."""
    sys.stdout.write("".join(f"{text_of(printed(each)).rstrip()}\n" for each in lines))


def terminal_width(fallback: int = 120) -> int:
    """Return the columns of the terminal, at least 60; `fallback` without a terminal."""
    return max(60, shutil.get_terminal_size((fallback, 24)).columns)
