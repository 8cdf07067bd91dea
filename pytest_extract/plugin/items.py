"""Cases as pytest items, with fixtures and marks."""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Mapping
from dataclasses import asdict, replace
from functools import cached_property
from pathlib import Path
from types import FunctionType, ModuleType
from typing import TYPE_CHECKING, Any, Protocol, cast

import pytest
from _pytest._code.code import TerminalRepr, Traceback, filter_traceback
from _pytest.fixtures import FixtureLookupErrorRepr, TopRequest
from _pytest.skipping import evaluate_xfail_marks

from pytest_extract.cases.model import Case
from pytest_extract.core.case_result import CaseResult, Origin, Outcome, Spending, Variant
from pytest_extract.errors import ExtractError
from pytest_extract.plugin.options import Settings
from pytest_extract.plugin.project import ItemFixtures, RunWith, check_not_parametrized, has_fixture
from pytest_extract.plugin.terminal import (
    CASE,
    CaseFailed,
    CaseRepr,
    Note,
    TextRepr,
    clean_report,
    crash_of,
    short_reason,
)
from pytest_extract.redact import TALLY, Owned, find_secrets_of_process, held_by
from pytest_extract.report.lines import safe_controls
from pytest_extract.report.summary import Forecast
from pytest_extract.results import load_result, safe_form

if TYPE_CHECKING:
    from pytest_extract.changed import Selection
    from pytest_extract.plugin.update_gold import GoldChange, GoldWriter

_PACKAGE = Path(__file__).parents[1]
_STDLIB = Path(os.__file__).parent


class ExtractModule(Protocol):
    """The case file as its items see it (`ExtractFile`, whose module knows items)."""

    obj: ModuleType
    """What stands for the file where pytest and its plugins want a module."""
    variants: Collection[Variant]
    """The variants that its cases may have."""


class CaseRunner(Protocol):
    """The session as its items see it (`ExtractSession`, whose modules know items)."""

    settings: Settings
    fixtures: ItemFixtures
    gold_writer: GoldWriter | None

    selections: Mapping[str, Selection]

    def take_notes(self) -> list[Note]:
        """Return what was not recorded, or made by other code, since the last call."""

    def check_extractor(self, item: ExtractItem) -> None:
        """Raise ConfigError for an item that has no extractor."""

    def forecast(self, item: ExtractItem) -> Forecast:
        """Estimate the calls and the cost of a case."""

    def run_item(self, item: ExtractItem) -> CaseResult:
        """Run a case."""

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
        return cast("ExtractModule", self.parent).obj

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
        return self.runner.fixtures.info_for(self, self._run_with)

    @cached_property
    def fixturenames(self) -> list[str]:
        """Names of the fixtures that the set-up makes: a replayed case needs no extractor until a call is needed."""
        return self.runner.fixtures.names_to_set_up(self, self._run_with)

    @property
    def _run_with(self) -> RunWith:
        prompt = self.case.prompt if self.runner.settings.prompt else None
        return RunWith(self.variant, None if prompt is None else prompt.path)

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
        settings = self.runner.settings
        self.forget()
        if settings.dry_run:
            self.forecast = self.runner.forecast(self)
            pytest.skip("dry run: nothing was called")
        self.result = self.runner.run_item(self)
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
        if self.runner.gold_writer is not None:
            several = len(cast("ExtractModule", self.parent).variants) > 1
            cases = (item.case for item in self.session.items if isinstance(item, ExtractItem))
            self.gold_change = self.runner.gold_writer.write(
                self.case, self.result, self.owned, several=several, cases=cases
            )
            if (
                self.gold_change.kind not in {"kept", "unchanged"} and self.error is None
            ):  # red under every gate: nobody has reviewed the gold
                from pytest_extract.plugin.update_gold import failed_for_new_gold

                self.result = failed_for_new_gold(self.result, self.gold_change)
                raise CaseFailed(short_reason(self.result))
        outcome = self.result.outcome
        if self.error is not None and outcome is Outcome.BROKEN:
            raise self.error
        if outcome is Outcome.BROKEN or (
            outcome is Outcome.FAILED and (settings.gate == "case" or self._fails_under_every_gate())
        ):
            raise CaseFailed(short_reason(self.result))

    def _fails_under_every_gate(self) -> bool:
        """Whether the case is a regression test, or an xfail mark announces that it fails: an `x`, never passed."""
        if self.case.origin is Origin.CORRECTION:
            return True
        xfail = None if self.config.getoption("runxfail", default=True) else evaluate_xfail_marks(self)
        if xfail is None or xfail.raises is None:
            return xfail is not None
        return isinstance(xfail.raises, type | tuple) and issubclass(CaseFailed, xfail.raises)

    @cached_property
    def owned(self) -> Owned:
        """Whether a secret is part of the case's gold or document, and so is data."""
        return held_by(lambda: _texts_of_case(self.case))

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
        if (
            isinstance(excinfo.value, CaseFailed)
            and self.gold_change is not None
            and self.gold_change.kind in {"drafted", "undrafted"}
        ):  # without a gold there is no diff
            assert self.result is not None  # noqa: S101  # the case has run
            return TextRepr(self.result.breaches[0].message, (self.location[0], self.case.line), "")
        if isinstance(excinfo.value, CaseFailed):
            line, result = self.safe_form
            # Shown from its line in the results file, as on an xdist controller: an output of any type is JSON there.
            crash = crash_of(self.location, result)
            return CaseRepr(lambda: load_result(line), self._evidence(result), crash, self.config)
        if isinstance(excinfo.value, ExtractError):
            heading = "BROKEN: " if self.result is not None else ""
            return TextRepr(str(excinfo.value), (self.location[0], self.case.line), heading)
        return super().repr_failure(excinfo, style or ("long" if traceback_style == "auto" else traceback_style))

    def _evidence(self, result: CaseResult) -> Mapping[str, str]:
        """With -v: path of each failing field -> where gold and extracted values occur in the document."""
        if self.config.get_verbosity() < 1:
            return {}
        from pytest_extract.report.findings import value_locations

        return value_locations(result, self.case.document)

    def _repr_failure_py(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> TerminalRepr:
        """Show an error of a case's set-up as one message: pytest calls this, not `repr_failure`, for a set-up."""
        if isinstance(excinfo.value, ExtractError):
            return TextRepr(str(excinfo.value), (self.location[0], self.case.line), "")
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
        below = (i for i in range(ours[0] if ours else 0, len(entries)) if not _is_machinery(Path(entries[i].path)))
        shown = entries[next(below, 0) :].filter(excinfo)
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


def put_on_report(item: ExtractItem, call: pytest.CallInfo[None], report: pytest.TestReport) -> None:
    """Add the case's result to the report of its call, or of its failed set-up."""
    clean_report(report)
    if call.when == "teardown":
        item.forget()
    if call.when == "teardown" or (call.when == "setup" and not report.failed):
        return
    if item.forecast is not None:
        setattr(report, CASE, {"forecast": asdict(item.forecast)})
    result = item.result
    if result is None:
        if call.excinfo is None or not report.failed:
            return  # skipped by a mark or by its extractor: the case did not run
        result = _result_of_error(item, call.excinfo)
    line, safe_result = item.safe_form if result is item.result else safe_form(result, item.owned)
    _put_junit_properties(item, safe_result)
    shown, selection = report.longrepr, item.runner.selections.get(item.nodeid)
    told = {
        "line": line,
        "stands": item.stands,
        "gold_change": item.gold_change and list(item.gold_change),
        "judge_spending": asdict(item.judge_spending),
        "notes": [*item.runner.take_notes(), *dict.fromkeys((place, kind) for place, kind, _ in TALLY.taken())],
        "selection": selection and asdict(selection),
        "evidence": shown.evidence if isinstance(shown, CaseRepr) else None,
    }
    setattr(report, CASE, told)
    report.extract_outcome = str(result.outcome)  # type: ignore[attr-defined]  # for what pytest shows of it
    report.extract_gold_change = item.gold_change and item.gold_change.kind  # type: ignore[attr-defined]


def _put_junit_properties(item: ExtractItem, result: CaseResult) -> None:
    """Give an item the properties that pytest writes into JUnit XML at its teardown; those of an earlier run go."""
    if not item.config.getoption("xmlpath", None):
        return
    from pytest_extract.report.exports import PROPERTY, junit_properties

    others = [each for each in item.user_properties if not each[0].startswith(PROPERTY)]
    item.user_properties[:] = [*others, *junit_properties(result)]


def _result_of_error(item: ExtractItem, excinfo: pytest.ExceptionInfo[BaseException]) -> CaseResult:
    from pytest_extract.run_case import keys_in_result

    match excinfo.value:
        case ExtractError() as error:
            why = str(error).partition("\n")[0]
        case pytest.FixtureLookupError() as error:
            why = error.msg or f"fixture {error.argname!r} not found"
        case error:
            why = f"{excinfo.typename}: {error}"
    return CaseResult(
        nodeid=item.nodeid,
        case_id=item.case.id,
        file=item.nodeid.partition("::")[0],
        variant=item.variant,
        outcome=Outcome.BROKEN,
        why=why,
        **keys_in_result(item.case),
    )


def _case() -> None: ...


def _is_machinery(path: Path) -> bool:
    """Whether a frame is between a case and the user's code: ours, or one that waits for a coroutine."""
    return any(folder in path.parents for folder in (_PACKAGE, _STDLIB / "asyncio", _STDLIB / "concurrent"))


def _texts_of_case(case: Case) -> list[str]:
    """Return the texts of the user's own files of a case: a secret in them is data."""
    from pytest_extract.documents import DocumentError

    own = json.dumps([case.gold, dict(case.accept), case.schema, case.question, case.prompt and case.prompt.text])
    try:
        return [own, case.document.text]
    except DocumentError:  # an image has no text
        return [own]


def escape_name(text: str) -> str:
    """Escape control and direction characters, so that a name can be part of a node id and of JUnit XML."""
    return safe_controls(text).replace("\n", "\\n").replace("\t", "\\t")
