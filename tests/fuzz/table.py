"""Tables for people, and what the harnesses share."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path

from pytest_extract.regression.baseline import CI

ROOT = Path(__file__).resolve().parents[2]


def put_row(cells: Sequence[object], widths: Sequence[int]) -> None:
    """Print one row as soon as it is known."""
    print("  ".join(str(cell).ljust(width) for cell, width in zip(cells, widths, strict=True)).rstrip(), flush=True)


def put_table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Print rows in columns as wide as they need to be."""
    lines = [[str(cell) for cell in row] for row in (head, *rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(head))]
    for line in lines:
        put_row(line, widths)


def quiet_env(**more: str) -> dict[str, str]:
    """Return an environment for a pytest run of its own, without what the developer's shell or CI adds to it."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST_", "EXTRACT_"))}
    for name in (*CI, "FORCE_COLOR"):
        kept.pop(name, None)
    return {
        **kept,
        "PYTHONPATH": str(ROOT),
        "PYTEST_ADDOPTS": "-p no:randomly -p no:asyncio -p no:anyio -p no:hypothesispytest",
        **more,
    }
