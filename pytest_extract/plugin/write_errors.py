"""What was paid for and could not be written down: told at the end of the run, which is red for it."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable, Sequence
from typing import Final

from pytest_extract.errors import NotWritten
from pytest_extract.report.lines import Line, Span, line, plural, safe_prose

_OUTPUT: Final = "output"
_ANSWER: Final = "judge answer"
_MOST: Final = 3
_MOST_KINDS: Final = 5


class WriteErrors:
    """Outputs and answers that were not kept, as what and why, until they are taken. Any thread may add some."""

    def __init__(self) -> None:
        self._found: deque[tuple[str, str]] = deque()
        self._refused: deque[str] = deque()

    def output(self, error: NotWritten) -> None:
        """Add an output whose recording cannot be written."""
        self._add(_OUTPUT, error)

    def answer(self, error: NotWritten) -> None:
        """Add an answer that cannot be written."""
        self._add(_ANSWER, error)

    def refused(self, why: str) -> None:
        """Add an output that is not recorded, as it holds a secret."""
        self._refused.append(why)

    def refusals(self) -> list[str]:
        """Return what was refused since the last time."""
        return [self._refused.popleft() for _ in range(len(self._refused))]

    def _add(self, what: str, error: NotWritten) -> None:
        self._found.append((what, f"{error.path.parents[1]} cannot be written: {error.reason}"))

    def taken(self) -> list[tuple[str, str]]:
        """Return what was added since the last time."""
        return [self._found.popleft() for _ in range(len(self._found))]


def refused_lines(refused: Sequence[str]) -> list[Line]:
    """Tell which outputs are not recorded, as they hold a secret."""
    told = [line(Span("not recorded", "head"), ": ", Span(safe_prose(each), "warn")) for each in dict.fromkeys(refused)]
    if len(told) > _MOST:
        told[_MOST:] = [line(f"and {plural(len(told) - _MOST, 'more output')} with a secret", indent=2)]
    return told


def hidden_lines(hidden: Sequence[Iterable[tuple[str, str, str]]]) -> list[Line]:
    """Tell how many secrets were hidden, and where: `2 secrets (OPENAI_API_KEY, AWS key) in 1 error message`."""
    cases: Counter[str] = Counter()
    secrets: dict[str, set[tuple[str, str]]] = {}
    for case in hidden:
        cases.update({place for place, _, _ in case})
        for place, kind, fingerprint in case:
            secrets.setdefault(place, set()).add((kind, fingerprint))
    lines = []
    for place, found in secrets.items():
        kinds = sorted({kind for kind, _ in found})
        shown = ", ".join(kinds[:_MOST_KINDS])
        more = f" and {len(kinds) - _MOST_KINDS} more kinds" if len(kinds) > _MOST_KINDS else ""
        told = f"{plural(len(found), 'secret')} ({shown}{more}) in {plural(cases[place], place)}"
        lines.append(line(Span("redacted", "head"), ": ", Span(safe_prose(told), "warn")))
    return lines


def write_error_lines(unkept: Counter[tuple[str, str]]) -> list[Line]:
    """Tell what was not kept, why, and what that comes to."""
    if not unkept:
        return []
    lines = [
        line(Span("not recorded", "head"), ": ", Span(safe_prose(f"{plural(count, what)}; {why}"), "bad"))
        for (what, why), count in unkept.most_common(_MOST)
    ]
    told = "they count in this run, and will be paid for again in the next; give a folder that can be written to"
    return [*lines, line(f"{told} (--extract-recordings=DIR)", indent=2)]
