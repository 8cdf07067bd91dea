"""The terminal of pytest: how cases and lines of a report are shown, equal causes told once, no secret in logs."""

from __future__ import annotations

import copy
import logging
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, TypeAlias

import pytest
from _pytest._code.code import ExceptionRepr, ReprEntry, ReprFileLocation, TerminalRepr
from _pytest._io import TerminalWriter

from pytest_extract.core.case_result import CaseResult, Outcome
from pytest_extract.lazy import lazy_pattern
from pytest_extract.redact import TALLY, Secret, clean_message, current
from pytest_extract.report.lines import Line, Style, plural, printed, safe_controls, safe_prose, text_of

MARKUP: Final[Mapping[Style, Mapping[str, bool]]] = {
    "plain": {},
    "head": {"bold": True},
    "bad": {"red": True},
    "good": {"green": True},
    "warn": {"yellow": True},
    "dim": {"light": True},
    "mark": {"bold": True, "cyan": True},
}

CASE: Final = "extract_case"
"""Attribute of a report with what a case brings: text and builtins, which xdist sends to the controller."""
Note: TypeAlias = tuple[str, str]
"""What is not recorded (an output, a judge answer, a secret), made by other code or hidden (its place), and why."""
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


def crash_of(location: tuple[str, int | None, str], result: CaseResult) -> ReprFileLocation:
    """Return where a case stands and why it fails, for short summaries."""
    return ReprFileLocation(location[0], (location[1] or 0) + 1, short_reason(result))


class CaseRepr(TerminalRepr):
    """A failing case; the terminal that it is written to decides width and colours."""

    def __init__(
        self,
        load: Callable[[], CaseResult],
        evidence: Mapping[str, str],
        crash: ReprFileLocation,
        config: pytest.Config,
    ) -> None:
        self.load = load  # not the result: pytest keeps all that it shows at the end of the run
        self.evidence = dict(evidence)
        self.reprcrash = crash
        self.config = config

    def toterminal(self, tw: TerminalWriter) -> None:
        """Write the case's lines, then its position as `path:line`."""
        if self.config.getoption("tbstyle", "auto") == "line":  # pytest writes the crash line itself
            return
        result = self.load()
        if result.outcome is Outcome.BROKEN:
            tw.line("BROKEN: this case says nothing about the extraction", yellow=True, bold=True)
        write_case(tw, result, self.config, self.evidence)
        tw.line("")
        tw.line(f"{self.reprcrash.path}:{self.reprcrash.lineno}: {result.outcome}")


def write_case(
    writer: TerminalWriter, result: CaseResult, config: pytest.Config, evidence: Mapping[str, str] | None = None
) -> None:
    """Write how a case differs from its gold, as far as the verbosity asks for it."""
    from pytest_extract.report.diff import DiffOptions, case_lines  # a passing case has no diff

    brief = config.getoption("tbstyle", "auto") == "short"
    options = DiffOptions(verbosity=config.get_verbosity(), brief=brief, width=max(writer.fullwidth - 1, 40))
    write_lines(writer, case_lines(result, options, evidence or {}))


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


_FEWEST: Final = 4
"""Reports of one cause that are folded: a few are read as they are."""
_MOST_NAMED: Final = 5
_OF_A_REQUEST: Final = lazy_pattern(
    r"\breq[_-]\w+|\b[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}\b|\b[0-9a-f]{16,}\b|\b0x[0-9a-f]+\b"
    r"|\b\d{4}-\d\d-\d\d[T ]\d\d:[\d:.]+Z?",
    re.IGNORECASE,
)
"""What tells one request from the next in messages of one cause: its number, its time, an address in memory."""


def one_of_each_cause(reports: Sequence[Any], verbosity: int) -> list[Any]:
    """Return the reports without those that only repeat a cause; all of them with -vv."""
    if verbosity >= 2:
        return [*reports]
    groups: dict[object, list[Any]] = {}
    for report in reports:
        cause = _cause(report)
        groups.setdefault(id(report) if cause is None else cause, []).append(report)
    shown = []
    for first, *others in groups.values():
        if 1 + len(others) < _FEWEST:
            shown += [first, *others]
        else:
            report = copy.copy(first)
            report.longrepr = _FoldedRepr(first, others, verbosity)
            shown.append(report)
    return shown


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
