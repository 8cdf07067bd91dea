"""Lines of a report on pytest's terminal: styles become colours, and a failing case a `TerminalRepr`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

import pytest
from _pytest._code.code import ReprFileLocation, TerminalRepr
from _pytest._io import TerminalWriter

from pytest_extract.core.case_result import CaseResult, Outcome
from pytest_extract.redact.secrets import TALLY, Secret, current
from pytest_extract.report.lines import Line, Style, printed, safe_controls, safe_prose, text_of

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
        return type(value)(_map_texts(item, change) for item in value)
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
