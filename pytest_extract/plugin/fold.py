"""Equal causes once: of the cases that broke for one reason, pytest's sections show the first and count the others."""

from __future__ import annotations

import copy
import re
from collections.abc import Sequence
from typing import Any, Final

import pytest
from _pytest._code.code import ExceptionRepr, ReprEntry, ReprFileLocation, TerminalRepr
from _pytest._io import TerminalWriter

from pytest_extract.core.case_result import Outcome
from pytest_extract.lazy import lazy_pattern
from pytest_extract.plugin.terminal import BrokenRepr
from pytest_extract.report.lines import plural, safe_prose

_STATS: Final = ("failed", "error")
_FEWEST: Final = 4
"""Reports of one cause that are folded: a few are read as they are."""
_MOST_NAMED: Final = 5
_OF_A_REQUEST: Final = lazy_pattern(
    r"\breq[_-]\w+|\b[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}\b|\b[0-9a-f]{16,}\b|\b0x[0-9a-f]+\b"
    r"|\b\d{4}-\d\d-\d\d[T ]\d\d:[\d:.]+Z?",
    re.IGNORECASE,
)
"""What tells one request from the next in messages of one cause: its number, its time, an address in memory."""


class FoldedSections:
    """While pytest writes its sections, `fold` keeps there one report of each cause; all of them count afterwards."""

    def __init__(self, stats: dict[str, list[Any]], verbosity: int) -> None:
        self._stats = stats
        self._verbosity = verbosity
        self._all: dict[str, list[Any]] = {}

    def fold(self) -> None:
        """Take the reports out that only repeat a cause; none with -vv."""
        if self._verbosity >= 2:
            return
        for name in _STATS:
            if name in self._stats:
                self._all[name] = self._stats[name]
                self._stats[name] = _folded(self._stats[name], self._verbosity)

    def unfold(self) -> None:
        """Put them back."""
        self._stats.update(self._all)
        self._all = {}


def _folded(reports: Sequence[Any], verbosity: int) -> list[Any]:
    groups: dict[object, list[Any]] = {}
    for report in reports:
        cause = _cause(report)
        groups.setdefault(id(report) if cause is None else cause, []).append(report)
    return [
        report
        for group in groups.values()
        for report in ([_shown(group[0], group[1:], verbosity)] if len(group) >= _FEWEST else group)
    ]


def _cause(report: Any) -> object:
    """Return what is equal for reports of one cause: message and frames, not the case; None where none is told."""
    if getattr(report, "extract_outcome", None) != Outcome.BROKEN or not isinstance(report, pytest.TestReport):
        return None
    shown: Any = report.longrepr
    while isinstance(shown, BrokenRepr):
        shown = shown.inner
    if isinstance(shown, str):
        return report.when, _OF_A_REQUEST.sub("#", shown)
    crash = getattr(shown, "reprcrash", None)
    frames: list[object] = []
    if isinstance(shown, ExceptionRepr):
        frames.append((crash.path, crash.lineno) if crash is not None else str(shown))
        entries = shown.reprtraceback.reprentries
        frames += [str(each.reprfileloc) for each in entries if isinstance(each, ReprEntry) and each.reprfileloc]
    return report.when, _OF_A_REQUEST.sub("#", crash.message if crash is not None else str(shown)), *frames


def _shown(first: Any, others: Sequence[Any], verbosity: int) -> Any:
    """Return the first report with the number and the names of the others below it."""
    report = copy.copy(first)
    report.longrepr = _FoldedRepr(first, others, verbosity)
    return report


class _FoldedRepr(TerminalRepr):
    """What the first case shows, and a line on the others; short summaries count them before the message."""

    def __init__(self, first: Any, others: Sequence[Any], verbosity: int) -> None:
        self.inner = first.longrepr
        names = [each.nodeid.rpartition("::")[2] for each in others]
        named = names if verbosity >= 1 else names[:_MOST_NAMED]
        more = ", … (-v names all)" if len(named) < len(names) else ""
        count = plural(len(others), "more case")
        self.line = f"{count} failed for the same reason: {', '.join(named)}{more}"
        crash = getattr(self.inner, "reprcrash", None)
        if crash is None:
            path, lineno, _ = first.location
            crash = ReprFileLocation(path, (lineno or 0) + 1, str(self.inner).partition("\n")[0])
        self.reprcrash = ReprFileLocation(crash.path, crash.lineno, f"and {count}: {crash.message}")

    def toterminal(self, tw: TerminalWriter) -> None:
        """Write the first case, then the line."""
        if isinstance(self.inner, str):
            tw.line(self.inner)
        else:
            self.inner.toterminal(tw)
        tw.line(safe_prose(self.line), yellow=True, bold=True)
