"""Lines of a report on pytest's terminal: styles become colours, and a failing case a `TerminalRepr`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any, Final

import pytest
from _pytest._code.code import ReprFileLocation, TerminalRepr
from _pytest._io import TerminalWriter

from pytest_extract.core.case_result import CaseResult, Outcome
from pytest_extract.redact.secrets import TALLY, Secret, current
from pytest_extract.report.diff import DiffOptions, case_lines
from pytest_extract.report.lines import Line, Style, safe_controls, safe_prose, text_of

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
"""Characters of a secret that is also looked for where nothing tells that it is one."""


class CaseFailed(Exception):
    """Raised by an item whose case is not green; never shown itself: its result is."""


def short_reason(result: CaseResult) -> str:
    """One line for short summaries: the first bound missed, or what broke."""
    if result.outcome is Outcome.BROKEN:
        return safe_prose(result.why or "no reason given")
    first = safe_prose(result.breaches[0].message) if result.breaches else safe_prose(result.why or "")
    more = f" (and {len(result.breaches) - 1} more)" if len(result.breaches) > 1 else ""
    return first + more


class CaseRepr(TerminalRepr):
    """A failing case: width and colours are taken from the terminal that it is written to."""

    def __init__(
        self,
        load: Callable[[], CaseResult],
        look: DiffOptions,
        places: Mapping[str, str],
        crash: ReprFileLocation,
        style: str = "auto",
    ) -> None:
        self.load = load  # pytest keeps what it shows at the end of the run from the start
        self.look = look
        self.places = dict(places)
        self.style = style
        self.reprcrash = crash

    def toterminal(self, tw: TerminalWriter) -> None:
        """Write the case's lines, then its place as `path:line`."""
        if self.style == "line":  # pytest writes the crash line itself
            return
        result = self.load()
        if result.outcome is Outcome.BROKEN:
            tw.line("BROKEN: this case says nothing about the extraction", yellow=True, bold=True)
        look = replace(self.look, width=max(tw.fullwidth - 1, 40))
        write_lines(tw, case_lines(result, look, self.places))
        tw.line("")
        tw.line(f"{self.reprcrash.path}:{self.reprcrash.lineno}: {result.outcome}")


class TextRepr(TerminalRepr):
    """A mistake told in a few lines; the first stands in short summaries."""

    def __init__(self, text: str, location: tuple[str, int], heading: str = "") -> None:
        self.text = heading + text
        self.reprcrash = ReprFileLocation(location[0], location[1], text.partition("\n")[0])

    def toterminal(self, tw: TerminalWriter) -> None:
        """Write the text."""
        for each in self.text.split("\n"):
            tw.line(safe_prose(each))


class BrokenRepr(TerminalRepr):
    """An exception of the extractor, under a heading that says that it is no verdict."""

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
    the whole run. What is a secret in one place ("Bearer ...") is one in the others too (a local variable).
    """
    places = {"longrepr": "error message", "sections": "captured text", "user_properties": "property"}
    found: list[Secret] = []

    def clean(text: str) -> str:
        cleaned = current().clean(text)
        for secret in cleaned.secrets:  # a cookie is `session=VALUE`, and the value may stand alone elsewhere
            parts = dict.fromkeys((secret.text, *re.split(r"[=;,\s]+", secret.text)))
            found.extend(Secret(secret.kind, part) for part in parts if len(part) >= _SHORTEST_ELSEWHERE)
        TALLY.add(place, cleaned.secrets)
        return safe_controls(str(cleaned.value))

    given = {name: value for name in places if (value := getattr(report, name, None))}
    for name, place in places.items():  # noqa: B007  # `clean` reads the place
        if name in given:
            given[name] = _each_text(given[name], clean)
    for name, value in given.items():
        setattr(report, name, _each_text(value, lambda text: current().hide(text, found)) if found else value)


def _each_text(value: Any, change: Callable[[str], str]) -> Any:
    if isinstance(value, str):
        return change(value)
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        return _changed_lines(value, change)
    if isinstance(value, list | tuple):
        return type(value)(_each_text(item, change) for item in value)
    if isinstance(value, TerminalRepr) and not isinstance(value, CaseRepr):  # that one is made of a clean result
        for name, inner in vars(value).items():
            setattr(value, name, _each_text(inner, change))
    return value


def _changed_lines(lines: list[str], change: Callable[[str], str]) -> list[str]:
    """Change lines as one text, for a private key has many."""
    ended = all(each.endswith("\n") for each in lines)
    text = change(("" if ended else "\n").join(lines))
    return text.splitlines(keepends=True) if ended else text.split("\n")


def write_lines(writer: Any, lines: Iterable[Line]) -> None:
    """Write styled lines; `writer` is pytest's TerminalWriter or TerminalReporter."""
    for each in lines:
        if not writer.hasmarkup:
            writer.write(text_of(each))
        else:
            for span in each:
                writer.write(span.text, **MARKUP[span.style])
        writer.write("\n")
