"""The hooks of pytest, in the order of a session: start, collect, run, report, finish.

Each hook imports the module that does its work, so that a run without extract cases loads nothing of the package.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
import time
from collections.abc import Generator, Sequence
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from pytest_extract.core.case_result import CaseResult
    from pytest_extract.core.extensions import Extensions
    from pytest_extract.documents import Document
    from pytest_extract.plugin.collect import ExtractFile
    from pytest_extract.plugin.options import Settings
    from pytest_extract.plugin.run_results import Progress
    from pytest_extract.plugin.session import ExtractSession
    from pytest_extract.regression.gate import GateDecision

SUFFIXES = (".extract.yaml", ".extract.yml")


class OwnModules:
    """Finds the modules of this package before pytest's import hook does.

    That hook rewrites the asserts of plugins, and to do so reads and hashes the source of each module at each run: it
    doubles the time of our imports, and no assert of ours is part of a test.
    """

    @staticmethod
    def find_spec(name: str, path: Sequence[str] | None = None, target: object = None) -> ModuleSpec | None:
        """Find a module of the package by its path, and none of another."""
        del target
        return PathFinder.find_spec(name, path) if name.startswith("pytest_extract.") else None


class Hooks:
    """Hooks that a `conftest.py` or a plugin may implement."""

    def pytest_extract_extensions(self, config: pytest.Config) -> Extensions | None:
        """Return what schemas and cases may name besides what is built in.

        These are metrics, transforms, aligners and post-processors.

        An `Extensions` of functions with a decorator of `pytest_extract.extend`. Called when the first case file of a
        folder is collected, never without one. What a `conftest.py` gives holds for the cases in its folder and below;
        the nearest wins. Decorated functions of a `conftest.py`, or of a plugin module, need no hook: they are found.
        """

    @pytest.hookspec(firstresult=True)
    def pytest_extract_document(self, document: Document) -> str | None:
        """Return the text of a document (own OCR, de-identification), or None for the text that it has.

        Called when the text is first asked for, and again after it was released; `document` has its own text, path and
        bytes. A PDF's pages are told apart by form feeds. The first hook that returns a text wins.
        """

    def pytest_extract_result(self, item: pytest.Item, result: CaseResult) -> None:
        """Do something with the result of a case (send it to a tracer, a dashboard), without the secrets in it.

        Called when the case has run, in the process that ran it: under xdist, in a worker.
        """

    def pytest_extract_verdict(self, config: pytest.Config, verdict: GateDecision) -> None:
        """Do something with the verdict of the regression gate, once, before it is shown.

        `verdict.answer` is `WORSE`, `PASS` or `UNDECIDED`; `verdict.reasons` are its sentences. Under xdist,
        called in the controller.
        """


def pytest_addoption(parser: pytest.Parser) -> None:  # noqa: D103  # the hooks' own documentation says what they do
    from pytest_extract.plugin.options import add_options

    add_options(parser)


def pytest_addhooks(pluginmanager: pytest.PytestPluginManager) -> None:  # noqa: D103
    sys.meta_path.insert(0, OwnModules)  # once a session, also for one inside another
    pluginmanager.add_hookspecs(Hooks)


def pytest_configure(config: pytest.Config) -> None:  # noqa: D103
    from pytest_extract.plugin.options import RUN, SETTINGS, SharedRun, settings_from

    config.stash[SETTINGS] = settings = settings_from(config)
    run = SharedRun(time.time(), Path(tempfile.gettempdir()) / f"pytest-extract-{os.urandom(16).hex()}")
    if given := getattr(config, "workerinput", {}).get("extract_run"):
        run = SharedRun(given[0], Path(given[1]))
    else:
        config.add_cleanup(lambda: shutil.rmtree(run.folder, ignore_errors=True))
    config.stash[RUN] = run
    config.addinivalue_line("markers", "extract: an extraction case; every case of a *.extract.yaml file has this mark")
    config.add_cleanup(lambda: sys.meta_path.remove(OwnModules))
    config.pluginmanager.register(SessionHooks(config, settings), "pytest_extract_session")


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> ExtractFile | None:  # noqa: D103
    if not file_path.name.endswith(SUFFIXES):
        return None
    from pytest_extract.plugin.collect import ExtractFile, node_id_of_file

    return ExtractFile.from_parent(parent, path=file_path, nodeid=node_id_of_file(file_path, parent.config.rootpath))


def _session(request: pytest.FixtureRequest) -> ExtractSession:
    from pytest_extract.plugin.session import session_of

    return session_of(request.config)


@pytest.fixture(scope="session")
def extract_model(request: pytest.FixtureRequest) -> str | None:
    """Give the --extract-model value of this item, or None."""
    return _session(request).variants[0].model


@pytest.fixture(scope="session")
def extract_prompt(request: pytest.FixtureRequest) -> Path | None:
    """Give the --extract-prompt file of this item, or None."""
    return _session(request).prompt_path(_session(request).variants[0])


@pytest.fixture(scope="session")
def extract_mode(request: pytest.FixtureRequest) -> str:
    """Give the --extract-mode value of this item."""
    return _session(request).settings.mode[0]


@pytest.fixture
def extract_extensions(request: pytest.FixtureRequest) -> Extensions:
    """Give what cases beside this test may name: the project's own metrics, transforms, aligners, post-processors."""
    return _session(request).extensions.at(request.path)[0]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(  # noqa: D103
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if is_case(item.nodeid):
        from pytest_extract.plugin.items import ExtractItem
        from pytest_extract.plugin.session import put_on_report

        if isinstance(item, ExtractItem):
            put_on_report(item, call, report)
    return report


def is_case(nodeid: str) -> bool:
    """Tell whether a node id is that of something in a case file."""
    return nodeid.partition("::")[0].endswith(SUFFIXES)


def pytest_assertrepr_compare(config: pytest.Config, op: str, left: object, right: object) -> list[str] | None:  # noqa: D103
    if op != "==" or "pytest_extract.testing" not in sys.modules:
        return None
    from pytest_extract.testing import Gold, diff_of_score

    gold, output = (right, left) if isinstance(right, Gold) else (left, right)
    if not isinstance(gold, Gold):
        return None
    score, breaches = gold.check(output)
    diff = diff_of_score(score, breaches, output, verbosity=config.get_verbosity())
    return ["the extraction is not equal to gold", *diff]


def pytest_report_teststatus(report: pytest.TestReport) -> tuple[str, str, Any] | None:
    """Say ERROR or DRAFTED where pytest says FAILED, and BELOW where a case misses bounds that are no gate."""
    if getattr(report, "extract_gold_change", None) == "drafted":
        return "drafted", "d", ("DRAFTED", {"yellow": True})
    outcome = getattr(report, "extract_outcome", None)
    if outcome == "error" and report.failed and report.when == "call":
        return "failed", "E", "ERROR"
    if outcome == "failed" and report.passed and report.extract_gold_change is None:
        return "below their thresholds", "b", ("BELOW", {"yellow": True})
    return None


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> Generator[None]:
    """Fold equal causes in pytest's own sections (but with -vv); write the verdict of the gate below all summaries."""
    stats = terminalreporter.stats
    red: dict[str, list[Any]] = {name: stats[name] for name in ("failed", "error") if name in stats}
    of_cases = any(hasattr(report, "extract_outcome") for reports in red.values() for report in reports)
    if of_cases and config.get_verbosity() < 2:
        from pytest_extract.plugin.items import one_of_each_cause

        stats.update({name: one_of_each_cause(reports) for name, reports in red.items()})
    try:
        yield
    finally:
        stats.update(red)
    if "pytest_extract.plugin.finish" in sys.modules:
        from pytest_extract.plugin.finish import write_verdict

        write_verdict(terminalreporter, config)


class SessionHooks:
    """The hooks that pytest gives no config: registered once per session."""

    def __init__(self, config: pytest.Config, settings: Settings) -> None:
        self.config = config
        self.settings = settings
        self.is_worker = hasattr(config, "workerinput")
        self.collection_errors: list[str] = []
        self.progress: Progress | None = None

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionstart(self) -> None:  # noqa: D102
        if self.settings.opens_files:
            from pytest_extract.plugin.collect import open_files

            open_files(self.config)

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:  # noqa: D102
        from pytest_extract.plugin.options import RUN

        run = self.config.stash[RUN]
        node.workerinput["extract_run"] = [run.started, str(run.folder)]

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:  # noqa: D102
        from pytest_extract.plugin.options import PARAMS, USAGE_ERROR

        output = getattr(node, "workeroutput", None) or {}
        if USAGE_ERROR in output:
            raise pytest.UsageError(output[USAGE_ERROR])
        if PARAMS in output:
            from pytest_extract.plugin.run_results import run_results_of

            run_results_of(self.config).params.update(dict.fromkeys(output[PARAMS]))

    @pytest.hookimpl(tryfirst=True)
    def pytest_collectreport(self, report: pytest.CollectReport) -> None:  # noqa: D102
        if report.failed and is_case(report.nodeid):
            from pytest_extract.plugin.items import clean_report

            clean_report(report)
            self.collection_errors.append(report.longreprtext)

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_finish(self, session: pytest.Session) -> None:  # noqa: D102
        if "pytest_extract.plugin.collect" in sys.modules:
            from pytest_extract.plugin.collect import check_options

            check_options(session)
        self._expect_cases([item.nodeid for item in session.items])

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, ids: Sequence[str]) -> None:  # noqa: D102
        self._expect_cases(ids)

    def _expect_cases(self, nodeids: Sequence[str]) -> None:
        """Begin to tell how far the run is."""
        cases = sum(map(is_case, nodeids))
        if not cases or self.is_worker:
            return
        from pytest_extract.plugin.run_results import Progress

        self.progress = self.progress or Progress(self.config)
        self.progress.cases = cases

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> None:
        """Run the good cases although others have mistakes; a broken Python file still stops the run."""
        if self.collection_errors and len(self.collection_errors) == session.testsfailed and not session.shouldfail:
            session.config.option.continue_on_collection_errors = True

    @pytest.hookimpl(wrapper=True, tryfirst=True, specname="pytest_runtestloop")
    def pytest_runtestloop_confirm(self, session: pytest.Session) -> Generator[None, object, object]:
        """Run the cases that fell again, where the regression gate is to be confirmed."""
        done = yield
        if self.settings.confirm is not None and not self.is_worker:
            from pytest_extract.plugin.regression import confirm_decision

            confirm_decision(session)
        return done

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:  # noqa: D102
        if self.is_worker or not is_case(report.nodeid):
            return
        from pytest_extract.plugin.run_results import run_results_of, take_from_report

        if hasattr(report, "extract_case"):
            take_from_report(report, self.config)
            if self.progress is not None:
                self.progress.tell(run_results_of(self.config))
        elif report.skipped:
            run_results_of(self.config).skipped += 1

    @pytest.hookimpl(tryfirst=True)
    def pytest_keyboard_interrupt(self) -> None:
        """Begin no call any more."""
        if "pytest_extract.plugin.session" in sys.modules:
            from pytest_extract.plugin.session import started_session

            session = started_session(self.config)
            if session is not None:
                session.stop_calls()

    @pytest.hookimpl(optionalhook=True)
    def pytest_handlecrashitem(self, crashitem: str, report: pytest.TestReport) -> None:  # noqa: D102
        if is_case(crashitem):
            from pytest_extract.plugin.run_results import put_crash_on_report
            from pytest_extract.plugin.session import session_of

            put_crash_on_report(crashitem, report, self.config, session_of(self.config).variants)

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:  # noqa: D102
        if "pytest_extract.plugin.session" in sys.modules or "pytest_extract.plugin.run_results" in sys.modules:
            from pytest_extract.plugin.finish import finish

            finish(session, self.collection_errors)

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:  # noqa: D102
        if "pytest_extract.plugin.run_results" in sys.modules:
            from pytest_extract.plugin.finish import write_summary

            write_summary(terminalreporter, self.config)
