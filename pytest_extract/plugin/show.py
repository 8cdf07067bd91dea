"""Lines of a report on pytest's terminal: styles become colours, and a failing case a `TerminalRepr`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any, Final

from _pytest._code.code import ReprFileLocation, TerminalRepr
from _pytest._io import TerminalWriter

from pytest_extract.core.case_result import CaseResult, Outcome
from pytest_extract.report.diff import Look, case_lines
from pytest_extract.report.lines import Line, Style, safe, safe_prose, text_of

MARKUP: Final[Mapping[Style, Mapping[str, bool]]] = {
    "plain": {},
    "head": {"bold": True},
    "bad": {"red": True},
    "good": {"green": True},
    "warn": {"yellow": True},
    "dim": {"light": True},
    "mark": {"bold": True, "cyan": True},
}
_HARMFUL: Final = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")


class CaseFailed(Exception):
    """Raised by an item whose case is not green; never shown itself: its result is."""


def headline(result: CaseResult) -> str:
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
        look: Look,
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


def printable(value: Any) -> Any:
    """Escape, in text or in what pytest made of an exception, characters that act on a terminal or are none.

    The text may come from a model's output. A lone surrogate in it could neither be sent to an xdist controller nor
    written to a report, and would end the whole run.
    """
    if isinstance(value, str):
        return _HARMFUL.sub(lambda found: safe(found[0]), value)
    if isinstance(value, list | tuple):
        return type(value)(map(printable, value))
    if isinstance(value, TerminalRepr):
        for name, inner in vars(value).items():
            setattr(value, name, printable(inner))
    return value


def write_lines(writer: Any, lines: Iterable[Line]) -> None:
    """Write styled lines; `writer` is pytest's TerminalWriter or TerminalReporter."""
    for each in lines:
        if not writer.hasmarkup:
            writer.write(text_of(each))
        else:
            for span in each:
                writer.write(span.text, **MARKUP[span.style])
        writer.write("\n")
