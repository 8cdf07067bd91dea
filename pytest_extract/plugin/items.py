"""Case files as pytest collectors, cases as pytest items with fixtures and marks."""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Collection, Iterator
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import pytest
from _pytest._code.code import ReprFileLocation, TerminalRepr, filter_traceback
from _pytest.fixtures import FixtureLookupErrorRepr, TopRequest
from _pytest.skipping import evaluate_xfail_marks

from pytest_extract.cases.load import LoadedFile, load_cases
from pytest_extract.cases.model import Case, Mark
from pytest_extract.core.case_result import Arm, CaseResult, Outcome
from pytest_extract.documents import DocumentError
from pytest_extract.errors import CaseFileError, ConfigError, ExtractError
from pytest_extract.plugin.arms import parametrized, visible, wanted
from pytest_extract.plugin.session import ExtractSession, session_of
from pytest_extract.plugin.terminal import CaseFailed, CaseRepr, TextRepr, short_reason
from pytest_extract.plugin.update_gold import GoldChange, not_green
from pytest_extract.redact.secrets import Owned, find_secrets_of_process, held_by
from pytest_extract.report.lines import safe_controls
from pytest_extract.report.totals import Forecast, JudgeSpending
from pytest_extract.results import dump_safely, load_result

PACKAGE = Path(__file__).parents[1]
_STDLIB = Path(os.__file__).parent
_MOST_MISTAKES = 100


class ExtractFile(pytest.File):
    """A case file: its good cases as items, its mistakes as a collection error beside them."""

    # pytest and its plugins read `obj` of whatever stands where a module would (see ExtractItem.getparent)
    obj = None

    def collect(self) -> Iterator[pytest.Item | pytest.Collector]:
        """Read the file; when nothing in it can run, the file itself is the collection error."""
        run = session_of(self.config)
        try:
            cache = run.project.cache_for(self.path)
        except ConfigError as error:  # two of the project's extensions clash
            raise self.CollectError(str(error)) from error
        loaded: LoadedFile = load_cases(self.path, cache=cache)
        errors = list(loaded.errors)
        run.load_revisions(self.path, loaded.cases)
        ids = {case.id for case in loaded.cases}
        items = [item for case in loaded.cases for item in self._items(case, ids, run, errors)]
        if errors and not items:
            raise self.CollectError(_told(errors, self.config))
        yield from items
        if errors:
            run.mistakes_beside_good_cases = True
            yield ExtractMistakes.from_parent(self, name="mistakes", errors=errors)

    def _items(
        self, case: Case, ids: Collection[str], run: ExtractSession, errors: list[CaseFileError]
    ) -> list[ExtractItem]:
        try:
            marks = _marks(case)
        except (pytest.fail.Exception, pytest.PytestUnknownMarkWarning) as error:  # --strict-markers, or -W error
            errors.append(CaseFileError(f"{case.id}: {error}", path=case.path, line=case.line))
            return []
        given = ((arm, run.on_arm(case, self.path, arm)) for arm in run.arms)
        return [_item(self, on_arm, arm, marks, ids) for arm, on_arm in given if on_arm is not None]


def nodeid_of(path: Path, root: Path) -> str | None:
    """Return the node id of a case file that pytest would give none that holds; None has pytest give its own.

    pytest names a file outside of rootdir after the argument that led to it, and a file that is the argument not at
    all: cases of two files would have one id, and one result. A name with control or direction characters it writes
    into JUnit XML as it is, which no reader takes then.
    """
    # asked for each of ten thousand files, and `is_relative_to` takes ten times as long
    if str(path).startswith(f"{root}{os.sep}") and str(path).isprintable():
        return None
    try:
        return _safe_id(Path(os.path.relpath(path, root)).as_posix())
    except ValueError:  # another drive
        return _safe_id(path.as_posix())


def _safe_id(text: str) -> str:
    return safe_controls(text).replace("\n", "\\n").replace("\t", "\\t")


def _texts_of(case: Case) -> list[str]:
    """Return what the user's own files hold of a case: a secret in them is data."""
    own = json.dumps([case.gold, dict(case.accept), case.schema, case.question, case.prompt and case.prompt.text])
    try:
        return [own, case.document.text]
    except DocumentError:  # an image has no text
        return [own]


class ExtractMistakes(pytest.Collector):
    """The mistakes of a file that also has good cases."""

    def __init__(self, *, errors: list[CaseFileError], **rest: Any) -> None:
        super().__init__(**rest)
        self.errors = errors

    def collect(self) -> Iterator[pytest.Item]:
        """Tell all mistakes at once."""
        raise self.CollectError(_told(self.errors, self.config))


def _told(errors: list[CaseFileError], config: pytest.Config) -> str:
    most = len(errors) if config.get_verbosity() >= 2 else _MOST_MISTAKES
    left = len(errors) - most
    more = [f"... and {left:,} more (-vv shows all, and so does `pytest-extract check`)"] if left > 0 else []
    return "\n".join([*map(str, errors[:most]), *more])


def _mark(mark: Mark) -> pytest.MarkDecorator:
    decorator: pytest.MarkDecorator = getattr(pytest.mark, mark.name)
    # with_args, as calling it with one function would decorate that
    return decorator.with_args(*mark.args, **mark.kwargs)


def _marks(case: Case) -> list[pytest.MarkDecorator]:
    """Make the case's marks; a warning about an unknown one names the case file."""
    if not case.marks:
        return []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        marks = [_mark(mark) for mark in case.marks]
    for each in caught:
        warnings.warn_explicit(each.message, each.category, str(case.path), case.line)
    return marks


def _item(
    parent: ExtractFile, case: Case, arm: Arm, marks: list[pytest.MarkDecorator], ids: Collection[str]
) -> ExtractItem:
    name = _safe_id(f"{case.id}[{arm.label}]" if arm.label else case.id)
    if "[" in name and not name.endswith("]"):
        # pytest 9.2 takes what follows the bracket for parameters and closes it: `[a] b` would show as `[a] b]`
        rounded = name.replace("[", "(").replace("]", ")")
        name = name if rounded in ids else rounded
    # As a text: pytest 9.2 takes its brackets for parameters then, as it does in the ids that --lf and --sw keep.
    nodeid = f"{parent.nodeid}::{name}"
    item: ExtractItem = ExtractItem.from_parent(parent, name=name, nodeid=nodeid, case=case, arm=arm)
    for mark in marks:
        item.add_marker(mark)
    return item


def _is_machinery(path: str | Path) -> bool:
    """Whether a frame stands between a case and the user's code: ours, or what waits for a coroutine."""
    place = Path(path)
    return any(folder in place.parents for folder in (PACKAGE, _STDLIB / "asyncio", _STDLIB / "concurrent"))


class _NoFunction:
    """Stands where pytest looks for an item's function: `skipif` evaluates a condition beside its globals."""

    __doc__ = None
    __globals__: ClassVar[dict[str, object]] = {}


class ExtractItem(pytest.Item):
    """One case on one arm.

    What only a run of the item needs is made when it runs: thousands are collected to be deselected, or to be run by
    another worker, and every object that waits makes each of Python's garbage collections longer.
    """

    obj = _NoFunction()
    result: CaseResult | None = None
    error: Exception | None = None
    written: str | None = None
    forecast: Forecast | None = None
    judged = JudgeSpending()
    gold: GoldChange | None = None
    _line: str | None = None
    # pytest calls `_initrequest` before an item runs that has none, and takes it away after each run
    _request: Any = None

    def __init__(self, *, case: Case, arm: Arm, **rest: Any) -> None:
        super().__init__(**rest)
        self.case = case
        self.arm = arm
        self.funcargs: dict[str, object] = {}

    def getparent(self, cls: type[Any]) -> Any:
        """Give the case file as the module: fixtures of module scope then live as long as the file runs."""
        return self.parent if cls is pytest.Module else super().getparent(cls)

    @property
    def function(self) -> Any:
        """Give `pytest --fixtures-per-test` something to name the place of: it takes every item for a function."""
        return wanted

    @cached_property
    def _fixtureinfo(self) -> Any:
        """Look up autouse fixtures, those of `usefixtures`, and the ones that a case itself needs."""
        return session_of(self.config).fixture_info(self)

    @cached_property
    def fixturenames(self) -> list[str]:
        """Names of the fixtures that the set-up makes: what replays needs no extractor until a call is needed."""
        return session_of(self.config).names_to_set_up(self)

    def _initrequest(self) -> None:
        self.funcargs = {}
        self._request = TopRequest(self, _ispytest=True)  # type: ignore[arg-type]

    def fixture(self, name: str) -> Any:
        """Value of a fixture for this item; None where no conftest or plugin defines it."""
        return self._request.getfixturevalue(name) if visible(self, name) else None

    def setup(self) -> None:
        """Set up all fixtures."""
        problem = parametrized(self)
        if problem is not None:
            raise ConfigError(problem)
        self._request._fillfixtures()  # noqa: SLF001  # as pytest's own items that are no functions do
        find_secrets_of_process()  # a fixture may have read a .env file; other threads may not read the environment
        session_of(self.config).check_ready(self)

    def runtest(self) -> None:
        """Run the case; the verdict's side that fails the item becomes an exception."""
        run = session_of(self.config)
        self.forget()
        if run.settings.dry_run:
            self.forecast = run.forecast(self)
            pytest.skip("dry run: nothing was called")
        self.result = run.run_item(self)
        # Not a local name: plugins that run items again keep every exception, and with it this frame, to the end.
        if self.result.outcome is Outcome.NOT_RUN:
            pytest.skip(f"not run: {self.result.why}")
        if run.settings.update_gold:
            self.gold = run.golds.write(self.case, self.result, self.owned)
            if self.gold.kind == "updated":  # red under every gate: nobody has looked at the new gold
                self.result = not_green(self.result, self.gold)
                raise CaseFailed(short_reason(self.result))
        outcome = self.result.outcome
        if self.error is not None and outcome is Outcome.BROKEN:
            raise self.error
        if outcome is Outcome.BROKEN or (
            outcome is Outcome.FAILED and (run.settings.gate == "case" or self._failure_is_expected())
        ):
            raise CaseFailed(short_reason(self.result))

    def _failure_is_expected(self) -> bool:
        """Whether an xfail mark announces that the case fails: it shows as `x` under every gate, never as passed."""
        xfail = None if self.config.option.runxfail else evaluate_xfail_marks(self)
        if xfail is None or xfail.raises is None:
            return xfail is not None
        return isinstance(xfail.raises, type | tuple) and issubclass(CaseFailed, xfail.raises)

    @cached_property
    def owned(self) -> Owned:
        """Whether a secret stands in the case's gold or document, so that it is data."""
        return held_by(lambda: _texts_of(self.case))

    def forget(self) -> None:
        """Drop what a run of this item left: pytest keeps items to the end, and may run one again."""
        self.result = self.error = self._line = None
        vars(self).pop("owned", None)

    @property
    def line(self) -> str:
        """The result as a line of the results file: made once for the terminal, the report and the file."""
        assert self.result is not None  # noqa: S101  # nobody asks before the case has run
        if self._line is None:
            self._line = dump_safely(self.result, self.owned)
        return self._line

    def teardown(self) -> None:
        """Let go of the document, so that ten thousand need not fit in memory."""
        session_of(self.config).finish_item(self)
        self.case.document.release()

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> str | TerminalRepr:
        """Show a failed case as its diff, anything else from the user's own frames on."""
        run = session_of(self.config)
        if isinstance(excinfo.value, CaseFailed):
            # Shown from its written form, as on an xdist controller: whatever the extractor returned is tame there.
            result = load_result(self.line)
            crash = ReprFileLocation(self.location[0], self.case.line, short_reason(result))
            return CaseRepr(lambda: result, run.look, run.places_of(self, result), crash, run.style)
        if isinstance(excinfo.value, ExtractError):
            heading = "BROKEN: " if self.result is not None else ""
            return TextRepr(str(excinfo.value), (self.location[0], self.case.line), heading)
        return super().repr_failure(excinfo, style or run.traceback_style)

    def _repr_failure_py(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> TerminalRepr:
        """Show what keeps a case from being set up as one message: pytest asks here, not above, about a set-up."""
        if isinstance(excinfo.value, ExtractError):
            return TextRepr(str(excinfo.value), (self.location[0], self.case.line), "")
        shown = super()._repr_failure_py(excinfo, style)
        return self._placed(shown) if isinstance(shown, FixtureLookupErrorRepr) else shown

    def _placed(self, shown: FixtureLookupErrorRepr) -> FixtureLookupErrorRepr:
        """Begin the way to a missing fixture at the case: pytest looks there for a function, and finds no source."""
        shown.tblines = [f"file {self.case.path}, line {self.case.line}", *shown.tblines[1:]]
        if len(shown.tblines) == 1:
            shown.filename, shown.firstlineno = self.case.path, self.case.line - 1
        return shown

    def _traceback_filter(self, excinfo: pytest.ExceptionInfo[BaseException]) -> Any:
        """Show the frames below ours: those of the user's extractor or fixture."""
        entries = excinfo.traceback
        ours = [index for index, entry in enumerate(entries) if PACKAGE in Path(entry.path).parents]
        below = (i for i in range(ours[0] if ours else 0, len(entries)) if not _is_machinery(entries[i].path))
        shown = entries[next(below, 0) :].filter(excinfo)
        return shown.filter(filter_traceback) or shown  # a fixture that raises stands below pytest's own frames

    @cached_property
    def location(self) -> tuple[str, int | None, str]:
        """Give file, line and name as reports show them; JUnit XML cannot hold every file's name."""
        file, line, name = super().location
        return _safe_id(file), line, name

    def reportinfo(self) -> tuple[os.PathLike[str], int, str]:
        """File, line (from 0) and name of the case."""
        return self.case.path, self.case.line - 1, self.name
