"""The terminal of pytest: lines of a report, progress of a long run, equal causes told once, no secret in logs."""

from __future__ import annotations

import copy
import logging
import os
import re
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

import pytest
from _pytest._code.code import ExceptionRepr, ReprEntry, ReprFileLocation, TerminalRepr
from _pytest._io import TerminalWriter

from pytest_extract.core.case_result import CaseResult, Outcome
from pytest_extract.lazy import lazy_pattern
from pytest_extract.plugin.run_results import RunResults
from pytest_extract.redact import TALLY, Secret, clean_message, current
from pytest_extract.report.lines import Line, Style, plural, printed, safe_controls, safe_prose, text_of

if TYPE_CHECKING:
    from pytest_extract.report.diff import DiffOptions


MARKUP: Final[Mapping[Style, Mapping[str, bool]]] = {
    "plain": {},
    "head": {"bold": True},
    "bad": {"red": True},
    "good": {"green": True},
    "warn": {"yellow": True},
    "dim": {"light": True},
    "mark": {"bold": True, "cyan": True},
}

_SHORTEST_ELSEWHERE: Final = 8
"""Characters of a secret that is hidden wherever it occurs, also without the context that shows it to be one."""


class CaseFailed(Exception):
    """Raised by an item whose case fails; the terminal shows the result instead."""


def short_reason(result: CaseResult) -> str:
    """Return a line for short summaries: the first bound missed, or the error."""
    if result.outcome is Outcome.BROKEN:
        return safe_prose(result.why or "no reason given")
    first = safe_prose(result.breaches[0].message) if result.breaches else safe_prose(result.why or "")
    more = f" (and {len(result.breaches) - 1} more)" if len(result.breaches) > 1 else ""
    return first + more


class CaseRepr(TerminalRepr):
    """A failing case; the terminal that it is written to decides width and colours."""

    def __init__(
        self,
        load: Callable[[], CaseResult],
        options: DiffOptions,
        evidence: Mapping[str, str],
        crash: ReprFileLocation,
        style: str = "auto",
    ) -> None:
        self.load = load  # not the result: pytest keeps all that it shows at the end of the run
        self.options = options
        self.evidence = dict(evidence)
        self.style = style
        self.reprcrash = crash

    def toterminal(self, tw: TerminalWriter) -> None:
        """Write the case's lines, then its position as `path:line`."""
        if self.style == "line":  # pytest writes the crash line itself
            return
        from pytest_extract.report.diff import case_lines  # a passing case has no diff

        result = self.load()
        if result.outcome is Outcome.BROKEN:
            tw.line("BROKEN: this case says nothing about the extraction", yellow=True, bold=True)
        options = replace(self.options, width=max(tw.fullwidth - 1, 40))
        write_lines(tw, case_lines(result, options, self.evidence))
        tw.line("")
        tw.line(f"{self.reprcrash.path}:{self.reprcrash.lineno}: {result.outcome}")


class TextRepr(TerminalRepr):
    """A mistake in a few lines; short summaries show the first."""

    def __init__(self, text: str, location: tuple[str, int], heading: str = "") -> None:
        self.text = heading + text
        self.reprcrash = ReprFileLocation(location[0], location[1], text.partition("\n")[0])

    def toterminal(self, tw: TerminalWriter) -> None:
        """Write the text."""
        for each in self.text.split("\n"):
            tw.line(safe_prose(each))


class BrokenRepr(TerminalRepr):
    """An exception of the extractor, under a heading that separates it from a failed case."""

    def __init__(self, inner: Any, style: str) -> None:
        self.inner = inner
        self.style = style
        self.reprcrash = getattr(inner, "reprcrash", None)

    def toterminal(self, tw: TerminalWriter) -> None:
        """Write the heading and the traceback."""
        if self.style != "line":
            tw.line("BROKEN: the extractor raised; this case says nothing about the extraction", yellow=True, bold=True)
        self.inner.toterminal(tw)


def clean_report(report: pytest.TestReport | pytest.CollectReport) -> None:
    """Hide secrets and escape harmful characters in all that pytest shows and writes of an item.

    These are the traceback, captured output, the reason of a skip and properties; the text may come from a model or a
    provider. A lone surrogate in it could neither be sent to an xdist controller nor written to a report, and would end
    the whole run. A secret found in one part ("Bearer ...") is hidden in the others too (a local variable).
    """
    places = {"longrepr": "error message", "sections": "captured text", "user_properties": "property"}
    found: list[Secret] = []

    def clean(text: str) -> str:
        cleaned = current().clean(text)
        for secret in cleaned.secrets:  # a cookie is `session=VALUE`, and the value may occur alone elsewhere
            parts = dict.fromkeys((secret.text, *re.split(r"[=;,\s]+", secret.text)))
            found.extend(Secret(secret.kind, part) for part in parts if len(part) >= _SHORTEST_ELSEWHERE)
        TALLY.add(place, cleaned.secrets)
        return safe_controls(str(cleaned.value))

    given = {name: value for name in places if (value := getattr(report, name, None))}
    for name, place in places.items():  # noqa: B007  # `clean` reads the place
        if name in given:
            given[name] = _map_texts(given[name], clean)
    for name, value in given.items():
        setattr(report, name, _map_texts(value, lambda text: current().hide(text, found)) if found else value)


def _map_texts(value: Any, change: Callable[[str], str]) -> Any:
    if isinstance(value, str):
        return change(value)
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        # Lines are changed as one text, for a private key has many.
        ended = all(each.endswith("\n") for each in value)
        text = change(("" if ended else "\n").join(value))
        return text.splitlines(keepends=True) if ended else text.split("\n")
    if isinstance(value, list | tuple):
        changed = [_map_texts(item, change) for item in value]
        return changed if isinstance(value, list) else getattr(value, "_make", tuple)(changed)  # also a named tuple
    if isinstance(value, TerminalRepr) and not isinstance(value, CaseRepr):  # whose result is clean already
        for name, inner in vars(value).items():
            setattr(value, name, _map_texts(inner, change))
    return value


def write_lines(writer: Any, lines: Iterable[Line]) -> None:
    """Write styled lines; `writer` is pytest's TerminalWriter or TerminalReporter."""
    for each in map(printed, lines):
        if not writer.hasmarkup:
            writer.write(text_of(each))
        else:
            for span in each:
                writer.write(span.text, **MARKUP[span.style])
        writer.write("\n")


def assertion_lines(op: str, left: object, right: object, verbosity: int) -> list[str] | None:
    """Return the diff of `output == Gold(...)` in an assert; None where no gold is compared, or no equality."""
    from pytest_extract.testing import Gold, diff_of_score

    gold, output = (right, left) if isinstance(right, Gold) else (left, right)
    if op != "==" or not isinstance(gold, Gold):
        return None
    score, breaches = gold.check(output)
    return ["the extraction is not equal to gold", *diff_of_score(score, breaches, output, verbosity=verbosity)]


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


EVERY_S: Final = {"terminal": 10.0, "CI": 60.0}
"""Seconds between two lines; elsewhere (a pipe, a file) there is none."""


class Progress:
    """Tells how far a run is, on a terminal and in CI, unless pytest is to be quiet.

    `cases`: how many will run, 0 until they are collected.
    """

    def __init__(self, config: pytest.Config) -> None:
        self._reporter: pytest.TerminalReporter | None = config.pluginmanager.getplugin("terminalreporter")
        on_terminal = self._reporter is not None and self._reporter.isatty
        place = "terminal" if on_terminal else "CI" if os.environ.get("CI") else None
        self._every_s = None if place is None or config.get_verbosity() < 0 else EVERY_S[place]
        self._started = self._told = time.monotonic()
        self.cases = 0

    def tell(self, run_results: RunResults) -> None:
        """Write a line if it is time for one."""
        now = time.monotonic()
        if self._reporter is None or self._every_s is None or now - self._told < self._every_s:
            return
        if not run_results.results:  # a dry run, or a first case that is run again
            return
        self._told = now
        if self._reporter._tw.width_of_current_line:  # noqa: SLF001  # `ensure_newline` does not know xdist's dots
            self._reporter.write("\n")
            self._reporter.currentfspath = None
        self._reporter.write_line(self._text(run_results, now - self._started))

    def _text(self, run_results: RunResults, seconds: float) -> str:
        """Return `120 of 200 cases, 2 errors, $4.10 of about $6.83, 2.1 cases a second, 38 s left`."""
        done, spent = len(run_results.results), run_results.spending
        parts = [f"{done:,} of {plural(max(self.cases, done), 'case')}"]
        errors = run_results.totals.outcomes[Outcome.BROKEN]
        if errors:
            parts.append(plural(errors, "error"))
        if spent.calls > spent.unpriced:
            forecast = spent.cost_usd * max(self.cases, done) / done
            parts.append(f"${spent.cost_usd:,.2f} of about ${forecast:,.2f}")
        rate = done / seconds
        parts.append(f"{rate:,.1f} cases a second" if rate >= 1 else f"{60 * rate:,.1f} cases a minute")
        parts.append(f"{_duration((self.cases - done) / rate)} left")
        return ", ".join(parts)


def _duration(seconds: float) -> str:
    if seconds < 100:
        return f"{max(seconds, 0):.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 100 else f"{minutes // 60} h {minutes % 60} min"


def clean_logs(config: pytest.Config) -> None:
    """Have live logs and the log file of a session show no secret; captured logs are cleaned with their report."""
    plugin = config.pluginmanager.getplugin("logging-plugin")
    if plugin is None:
        return
    for handler in (plugin.log_cli_handler, plugin.log_file_handler):
        handler.setFormatter(_CleanFormatter(handler.formatter))


class _CleanFormatter(logging.Formatter):
    """Formats as pytest does; the text of a record may come from a model, a provider or its client."""

    def __init__(self, inner: logging.Formatter) -> None:
        super().__init__()
        self._inner = inner

    def format(self, record: logging.LogRecord) -> str:
        """Escape harmful characters before pytest adds its colours, and hide secrets in whatever it has made."""
        shown = copy.copy(record)
        shown.msg, shown.args = safe_controls(record.getMessage()), None
        if record.exc_info:
            shown.exc_text = safe_controls(record.exc_text or self._inner.formatException(record.exc_info))
        shown.stack_info = record.stack_info and safe_controls(record.stack_info)
        return clean_message(self._inner.format(shown), "log")
