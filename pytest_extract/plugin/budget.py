"""`--extract-budget`: one purse for all processes of a run, kept in a file that each of them appends to."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from pytest_extract.run import NotRun

_UNKNOWN = "unknown"


class Purse:
    """What a run has spent so far. Without a `limit` nothing is ever refused."""

    def __init__(self, path: Path, limit: float) -> None:
        self._path = path
        self._limit = limit

    def check(self) -> None:
        """Raise NotRun when the budget is spent, or when a call of unknown cost makes it impossible to keep."""
        lines = self._path.read_text(encoding="ascii").split()
        if _UNKNOWN in lines:
            raise NotRun(
                f"the budget of ${self._limit:g} cannot be kept: a call reported no cost (an unpriced model, or an "
                "extractor without cost_usd)"
            )
        spent = sum(map(float, lines))
        if spent >= self._limit:
            raise NotRun(f"the budget of ${self._limit:g} is spent")

    def spend(self, cost_usd: float | None) -> None:
        """Add the cost of a call; one short append, which no other process's can tear."""
        text = _UNKNOWN if cost_usd is None else repr(float(cost_usd))
        file = os.open(self._path, os.O_WRONLY | os.O_APPEND)
        try:
            os.write(file, f"{text}\n".encode("ascii"))
        finally:
            os.close(file)


def new_purse_file() -> Path:
    """Make the file of a run's purse; whoever makes it removes it."""
    file, name = tempfile.mkstemp(prefix="pytest-extract-", suffix=".spent")
    os.close(file)
    return Path(name)
