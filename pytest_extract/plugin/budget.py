"""`--extract-budget`: one purse for all processes of a run, kept in a file that each of them appends to."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from pytest_extract.run_case import NotRun

_UNKNOWN = "unknown"


class Budget:
    """What a run has spent so far, a line for each payment in the order in which they were made."""

    def __init__(self, path: Path, limit: float) -> None:
        self._path = path
        self._limit = limit

    def check(self) -> None:
        """Raise NotRun when the budget is spent, or when a call of unknown cost makes it impossible to keep."""
        costs = [cost for cost, _ in self._payments()]
        if None in costs:
            raise NotRun(
                f"the budget of ${self._limit:g} cannot be kept: a call reported no cost (an unpriced model, or an "
                "extractor without cost_usd)"
            )
        if sum(cost or 0.0 for cost in costs) >= self._limit:
            raise NotRun(f"the budget of ${self._limit:g} is spent")

    def overrun(self) -> str | None:
        """Say by how much the budget was exceeded, and by how many calls under way; None where it was kept."""
        spent, late = 0.0, 0
        for cost, calls in self._payments():
            late += calls if spent >= self._limit else 0
            spent += cost or 0.0
        if spent <= self._limit:
            return None
        were = "1 call was" if late == 1 else f"{late:,} calls were"
        how = f"{were} under way when it was spent" if late else "the last call cost more than was left"
        return f"budget of ${self._limit:g} exceeded by ${spent - self._limit:,.4f}: {how}"

    def _payments(self) -> list[tuple[float | None, int]]:
        lines = (line.split() for line in self._path.read_text(encoding="ascii").splitlines())
        return [(None if cost == _UNKNOWN else float(cost), int(calls)) for cost, calls in lines]

    def spend(self, cost_usd: float | None, calls: int = 1) -> None:
        """Add the cost of some calls; one short append, which no other process's can tear."""
        text = f"{_UNKNOWN if cost_usd is None else repr(float(cost_usd))} {calls}"
        file = os.open(self._path, os.O_WRONLY | os.O_APPEND)
        try:
            os.write(file, f"{text}\n".encode("ascii"))
        finally:
            os.close(file)


def new_budget_file() -> Path:
    """Make the file of a run's purse; whoever makes it removes it."""
    file, name = tempfile.mkstemp(prefix="pytest-extract-", suffix=".spent")
    os.close(file)
    return Path(name)
