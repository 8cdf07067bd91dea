"""Cases as pytest items, with fixtures and marks; how they and lines of a report are shown, and no secret with them."""

from __future__ import annotations

import copy
import json
import logging
import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from types import FunctionType, ModuleType
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeAlias, cast

import pytest
from _pytest._code.code import ExceptionRepr, ReprFileLocation, TerminalRepr, Traceback, filter_traceback
from _pytest._io import TerminalWriter
from _pytest.fixtures import FixtureLookupErrorRepr, TopRequest
from _pytest.skipping import evaluate_xfail_marks

from pytest_extract.cases.model import Case
from pytest_extract.core.case_result import CaseResult, Origin, Outcome, Spending, Variant
from pytest_extract.core.words import listed, plural
from pytest_extract.errors import ExtractError
from pytest_extract.plugin.options import Settings
from pytest_extract.plugin.project import ItemFixtures, check_not_parametrized, has_fixture
from pytest_extract.redact import TALLY, Owned, Secret, clean_message, current, find_secrets_of_process, held_by
from pytest_extract.report.lines import Line, Style, printed, safe_controls, safe_prose
from pytest_extract.report.summary import Forecast
from pytest_extract.results import load_result, safe_form

if TYPE_CHECKING:
    from pytest_extract.plugin.update_gold import GoldChange

_PACKAGE = Path(__file__).parents[1]
_STDLIB = Path(os.__file__).parent


class CaseRunner(Protocol):
    """The session as its items see it (`ExtractSession`, whose modules know items)."""

    settings: Settings
    fixtures: ItemFixtures

    def check_extractor(self, item: ExtractItem) -> None:
        """Raise ConfigError for an item that has no extractor."""

    def run_item(self, item: ExtractItem) -> None:
        """Run a case, whose item keeps the result."""

    def finish_item(self, item: ExtractItem) -> None:
        """Drop what was prefetched for a case."""


class ExtractItem(pytest.Item):
    """One case on one variant.

    What only a run of the item needs is made when it runs: thousands of items are collected to be deselected, or to be
    run by another worker, and every object in memory makes each of Python's garbage collections longer.
    """

    cls = instance = None
    result: CaseResult | None = None
    error: Exception | None = None
    forecast: Forecast | None = None
    judge_spending = Spending()
    gold_change: GoldChange | None = None
    before_rerun: CaseResult | None = None
    """What pytest-rerunfailures runs the case again for: it stands where the budget allows no further run."""
    stands: bool = False
    """Whether `result` is that of the run before, whose calls are counted already."""
    fresh_runs: int = 0
    """Runs of a case that fell, which nothing but a recording of the same runs may replace; 0 for every other item."""
    # pytest calls `_initrequest` before an item runs that has none, and takes it away after each run
    _request: Any = None

    def __init__(self, *, case: Case, variant: Variant, runner: CaseRunner, **rest: Any) -> None:
        super().__init__(**rest)
        self.case = case
        self.variant = variant
        self.runner = runner
        self.funcargs: dict[str, object] = {}

    def getparent(self, cls: type[Any]) -> Any:
        """Give the case file as the module: fixtures of module scope then live as long as the file runs."""
        return self.parent if cls is pytest.Module else super().getparent(cls)

    # Projects' hooks, pytest and its plugins take every item for a function in a module.

    @property
    def module(self) -> ModuleType:
        """The module in which a test would stand."""
        module: ModuleType = cast("pytest.Module", self.parent).obj  # see ExtractFile.obj
        return module

    @property
    def originalname(self) -> str:
        """The name that the case has on every variant."""
        return self.case.id

    @cached_property
    def obj(self) -> Any:
        """A function of the case's name: `skipif` evaluates a condition with its globals."""
        function: Any = FunctionType(_case.__code__, {}, self.case.id)
        function.__module__ = self.module.__name__
        return function

    @property
    def function(self) -> Any:
        """The function in place of a test's."""
        return self.obj

    @cached_property
    def _fixtureinfo(self) -> Any:
        """Look up autouse fixtures, those of `usefixtures`, and the ones that a case itself needs."""
        return self.runner.fixtures.info_for(self)

    @cached_property
    def fixturenames(self) -> list[str]:
        """Names of the fixtures that the set-up makes: a replayed case needs no extractor until a call is needed."""
        return self.runner.fixtures.names_to_set_up(self)

    def _initrequest(self) -> None:
        self.funcargs = {}
        self._request = TopRequest(self, _ispytest=True)  # type: ignore[arg-type]

    def fixture(self, name: str) -> Any:
        """Return the value of a fixture for this item; None where no conftest or plugin defines it."""
        return self._request.getfixturevalue(name) if has_fixture(self, name) else None

    def setup(self) -> None:
        """Set up all fixtures."""
        check_not_parametrized(self, self.fixturenames)
        self._request._fillfixtures()  # noqa: SLF001  # as pytest's own items that are no functions do
        find_secrets_of_process()  # a fixture may have read a .env file; other threads may not read the environment
        self.runner.check_extractor(self)

    def runtest(self) -> None:
        """Run the case; raise for an outcome that fails the item."""
        self.forget()
        self.runner.run_item(self)
        if self.forecast is not None:
            pytest.skip("dry run: nothing was called")
        assert self.result is not None  # noqa: S101  # it has run
        if self.before_rerun is not None and self.result.outcome is Outcome.NOT_RUN and not self.result.attempts:
            *others, last = self.before_rerun.attempts
            told = replace(last, notes=(*last.notes, f"not run again: {self.result.why}"))
            self.result, self.stands = replace(self.before_rerun, attempts=(*others, told)), True
        if self.fresh_runs:
            return  # what it shows, the regression gate says
        # Not a local name: plugins that run items again keep every exception, and with it this frame, to the end.
        if self.ihook.pytest_extract_result.get_hookimpls():
            self.ihook.pytest_extract_result(item=self, result=self.safe_form[1])
        if self.result.outcome is Outcome.NOT_RUN:
            pytest.skip(f"not run: {self.result.why}")
        outcome = self.result.outcome
        if self.error is not None and outcome is Outcome.ERROR:
            raise self.error
        if outcome is Outcome.ERROR or (
            outcome is Outcome.FAILED and (self.runner.settings.gate == "case" or self._fails_under_every_gate())
        ):
            raise CaseFailed(short_reason(self.result))

    def _fails_under_every_gate(self) -> bool:
        """Whether the case is a regression test, has a new gold, or an xfail mark announces that it fails: an `x`."""
        if self.case.origin is Origin.CORRECTION or (self.gold_change is not None and self.gold_change.needs_review):
            return True
        xfail = None if self.config.getoption("runxfail", default=True) else evaluate_xfail_marks(self)
        if xfail is None or xfail.raises is None:
            return xfail is not None
        return isinstance(xfail.raises, type | tuple) and issubclass(CaseFailed, xfail.raises)

    def keep_error(self, error: Exception) -> None:
        """Keep the first exception of the extractor."""
        self.error = self.error or error

    @cached_property
    def owned(self) -> Owned:
        """Whether a secret is part of the case's gold or document, and so is data."""

        def texts() -> list[str]:  # the user's own files
            from pytest_extract.documents import DocumentError

            case = self.case
            prompt = case.prompt and case.prompt.text
            own = json.dumps([case.gold, dict(case.accept), case.schema, case.question, prompt])
            try:
                return [own, case.document.text]
            except DocumentError:  # an image has no text
                return [own]

        return held_by(texts)

    def forget(self) -> None:
        """Drop the result of a run: pytest keeps items to the end, and may run one again."""
        if self.result is not None and hasattr(self, "execution_count") and not self.stands:
            self.before_rerun = self.result
        self.stands = False
        self.result = self.error = None
        vars(self).pop("owned", None)
        vars(self).pop("safe_form", None)

    @cached_property
    def safe_form(self) -> tuple[str, CaseResult]:
        """The result as a line of the results file, made once for the terminal, the report and the file; and read."""
        assert self.result is not None  # noqa: S101  # nobody asks before the case has run
        return safe_form(self.result, self.owned)

    def teardown(self) -> None:
        """Release the document, so that ten thousand need not fit in memory."""
        self.runner.finish_item(self)
        self.case.document.release()

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> str | TerminalRepr:
        """Show a failed case as its diff, anything else from the user's own frames on."""
        traceback_style: Any = self.config.getoption("tbstyle", "auto")
        is_draft = self.gold_change is not None and self.gold_change.is_draft
        if isinstance(excinfo.value, CaseFailed) and is_draft:  # without a gold there is no diff
            assert self.result is not None  # noqa: S101  # the case has run
            return self._told(self.result.breaches[0].message)
        if isinstance(excinfo.value, CaseFailed):
            line, result = self.safe_form
            evidence: Mapping[str, str] = {}
            if self.config.get_verbosity() > 0:
                from pytest_extract.report.findings import value_locations

                evidence = value_locations(result, self.case.document)
            # Shown from its line in the results file, as on an xdist controller: an output of any type is JSON there.
            return CaseRepr(lambda: load_result(line), evidence, crash_of(self.location, result), self.config)
        return super().repr_failure(excinfo, style or ("long" if traceback_style == "auto" else traceback_style))

    def _told(self, text: str, heading: str = "") -> FramedRepr:
        """Show a mistake in a few lines; short summaries show the first."""
        crash = ReprFileLocation(self.location[0], self.case.line, text.partition("\n")[0])
        return FramedRepr(heading + text, crash=crash)

    def _repr_failure_py(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> TerminalRepr:
        """Show an error of ours as one message: pytest calls this, not `repr_failure`, for a set-up."""
        if isinstance(excinfo.value, ExtractError):
            return self._told(str(excinfo.value), "ERROR: " if self.result is not None else "")
        shown = super()._repr_failure_py(excinfo, style)
        if isinstance(shown, FixtureLookupErrorRepr):
            # The trace to a missing fixture begins at the case, where pytest takes ours for the function of a test.
            below = [text for text in shown.tblines[1:] if "def _case()" not in text]
            shown.tblines = [f"file {self.case.path}, line {self.case.line}", *below]
            if len(shown.tblines) == 1:
                shown.filename, shown.firstlineno = self.case.path, self.case.line - 1
        return shown

    def _traceback_filter(self, excinfo: pytest.ExceptionInfo[BaseException]) -> Any:
        """Show the frames below ours: those of the user's extractor or fixture, the middle ones in short."""
        entries = excinfo.traceback
        ours = [index for index, entry in enumerate(entries) if _PACKAGE in Path(entry.path).parents]
        # Between a case and the user's code: ours, and what waits for a coroutine.
        machinery = {_PACKAGE, _STDLIB / "asyncio", _STDLIB / "concurrent"}
        below = range(ours[0] if ours else 0, len(entries))
        users = (index for index in below if machinery.isdisjoint(Path(entries[index].path).parents))
        shown = entries[next(users, 0) :].filter(excinfo)
        shown = shown.filter(filter_traceback) or shown  # a fixture that raises is below pytest's own frames
        if self.config.getoption("tbstyle", "auto") != "auto":
            return shown
        return Traceback([*shown[:1], *(entry.with_repr_style("short") for entry in shown[1:-1]), *shown[1:][-1:]])

    @cached_property
    def location(self) -> tuple[str, int | None, str]:
        """Give file, line and name as reports show them; JUnit XML cannot hold every file's name."""
        file, line, name = super().location
        return escape_name(file), line, name

    def reportinfo(self) -> tuple[os.PathLike[str], int, str]:
        """File, line (from 0) and name of the case."""
        return self.case.path, self.case.line - 1, self.name


def _case() -> None: ...


def escape_name(text: str) -> str:
    """Escape control and direction characters, so that a name can be part of a node id and of JUnit XML."""
    return safe_controls(text).replace("\n", "\\n").replace("\t", "\\t")


# how cases are shown

_MARKUP: Final = {"head": "bold", "bad": "red", "good": "green", "warn": "yellow", "dim": "light", "mark": "bold cyan"}
"""What pytest's terminal writer calls the styles of lines, but the plain one."""
CASE: Final = "extract_case"
"""Attribute of a report with what a case brings: text and builtins, which xdist sends to the controller."""
Note: TypeAlias = tuple[Style, str]
"""What is not recorded, made by other code or hidden, as a sentence for the end of the run; a "bad" one fails it."""
_SHORTEST_ELSEWHERE: Final = 8
"""Characters of a secret that is hidden wherever it occurs, also without the context that shows it to be one."""


class CaseFailed(Exception):
    """Raised by an item whose case fails; the terminal shows the result instead."""


def short_reason(result: CaseResult) -> str:
    """Return a line for short summaries: the first bound missed, or the error."""
    if result.outcome is Outcome.ERROR or not result.breaches:
        return safe_prose(result.why or "no reason given")
    first, *others = result.breaches
    return safe_prose(first.message) + (f" (and {len(others)} more)" if others else "")


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
        if result.outcome is Outcome.ERROR:
            tw.line("ERROR: this case says nothing about the extraction", yellow=True, bold=True)
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


class FramedRepr(TerminalRepr):
    """A text, or what pytest shows of a report, with a line before or after it; short summaries read `crash`."""

    def __init__(self, inner: Any, before: str = "", after: str = "", crash: ReprFileLocation | None = None) -> None:
        self.inner = inner
        self.before = before
        self.after = after
        self.reprcrash = crash or getattr(inner, "reprcrash", None)

    def toterminal(self, tw: TerminalWriter) -> None:
        """Write the line before, what is framed, and the line after."""
        if self.before:
            tw.line(self.before, yellow=True, bold=True)
        if isinstance(self.inner, str):
            for each in self.inner.split("\n"):
                tw.line(safe_prose(each))
        else:
            self.inner.toterminal(tw)
        if self.after:
            tw.line(safe_prose(self.after), yellow=True, bold=True)


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
        for span in each:
            writer.write(span.text, **dict.fromkeys(_MARKUP.get(span.style, "").split(), True))
        writer.write("\n")


_OF_A_REQUEST: Final = re.compile(
    r"\breq[_-]\w+|\b[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}\b|\b[0-9a-f]{16,}\b|\b0x[0-9a-f]+\b"
    r"|\b\d{4}-\d\d-\d\d[T ]\d\d:[\d:.]+Z?",
    re.IGNORECASE,
)
"""What tells one request from the next in messages of one cause: its number, its time, an address in memory."""


def one_of_each_cause(reports: Sequence[Any]) -> list[Any]:
    """Return the reports without those that only repeat a cause."""
    groups: dict[object, list[Any]] = {}
    for report in reports:
        groups.setdefault(_cause(report), []).append(report)
    return [_folded(first, others) if others else first for first, *others in groups.values()]


def _cause(report: Any) -> object:
    """Return what is equal for reports of one cause, message and place but not the case; its own where none is told."""
    if getattr(report, "extract_outcome", None) != Outcome.ERROR or not isinstance(report, pytest.TestReport):
        return id(report)
    shown: Any = report.longrepr
    while isinstance(shown, FramedRepr) and not isinstance(shown.inner, str):
        shown = shown.inner
    crash = getattr(shown, "reprcrash", None)
    place = (crash.path, crash.lineno) if crash is not None and isinstance(shown, ExceptionRepr) else None
    return report.when, place, _OF_A_REQUEST.sub("#", str(shown) if crash is None else crash.message)


def _folded(first: Any, others: Sequence[Any]) -> Any:
    """Return the first report with a line on the others; short summaries count them before the message."""
    crash = getattr(first.longrepr, "reprcrash", None)
    if crash is None:
        path, lineno, _ = first.location
        crash = ReprFileLocation(path, (lineno or 0) + 1, str(first.longrepr).partition("\n")[0])
    count, names = plural(len(others), "more case"), [each.nodeid.rpartition("::")[2] for each in others]
    counted = ReprFileLocation(crash.path, crash.lineno, f"and {count}: {crash.message}")
    report = copy.copy(first)
    report.longrepr = FramedRepr(
        first.longrepr, after=f"{count} failed for the same reason: {listed(names)}", crash=counted
    )
    return report


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
