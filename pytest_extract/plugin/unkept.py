"""What was paid for and could not be written down: told at the end of the run, which is red for it."""

from __future__ import annotations

from collections import Counter, deque
from typing import Final

from pytest_extract.errors import NotWritten
from pytest_extract.report.lines import Line, Span, line, plural, safe_prose

_OUTPUT: Final = "output"
_ANSWER: Final = "judge answer"
_MOST: Final = 3


class Unkept:
    """Outputs and answers that were not kept, as what and why, until they are taken. Any thread may add some."""

    def __init__(self) -> None:
        self._found: deque[tuple[str, str]] = deque()

    def output(self, error: NotWritten) -> None:
        """Add an output whose recording cannot be written."""
        self._add(_OUTPUT, error)

    def answer(self, error: NotWritten) -> None:
        """Add an answer that cannot be written."""
        self._add(_ANSWER, error)

    def _add(self, what: str, error: NotWritten) -> None:
        self._found.append((what, f"{error.path.parents[1]} cannot be written: {error.reason}"))

    def taken(self) -> list[tuple[str, str]]:
        """Return what was added since the last time."""
        return [self._found.popleft() for _ in range(len(self._found))]


def unkept_lines(unkept: Counter[tuple[str, str]]) -> list[Line]:
    """Tell what was not kept, why, and what that comes to."""
    if not unkept:
        return []
    lines = [
        line(Span("not recorded", "head"), ": ", Span(safe_prose(f"{plural(count, what)}; {why}"), "bad"))
        for (what, why), count in unkept.most_common(_MOST)
    ]
    told = "they count in this run, and will be paid for again in the next; give a folder that can be written to"
    return [*lines, line(f"{told} (--extract-recordings=DIR)", indent=2)]
