"""Outputs and judge answers that could not be saved. They are reported at the end of the run, which then fails."""

from __future__ import annotations

from collections import deque

from pytest_extract.errors import NotWritten


class WriteErrors:
    """Outputs and answers that were not saved, until a report takes them to the end of the run. Thread-safe."""

    def __init__(self) -> None:
        self._errors: deque[tuple[str, str]] = deque()
        self._refused: deque[str] = deque()

    def add_output(self, error: NotWritten) -> None:
        """Add an output whose recording cannot be written."""
        self._add("output", error)

    def add_answer(self, error: NotWritten) -> None:
        """Add an answer of a judge that cannot be written."""
        self._add("judge answer", error)

    def _add(self, what: str, error: NotWritten) -> None:
        self._errors.append((what, f"{error.path.parents[1]} cannot be written: {error.reason}"))

    def add_refused(self, reason: str) -> None:
        """Add an output that is not recorded because it holds a secret."""
        self._refused.append(reason)

    def take(self) -> list[tuple[str, str]]:
        """Return what could not be written, and why, since the last call."""
        return [self._errors.popleft() for _ in range(len(self._errors))]

    def take_refused(self) -> list[str]:
        """Return the reasons of refused recordings since the last call."""
        return [self._refused.popleft() for _ in range(len(self._refused))]
