"""Results where they come together: the only process, or xdist's controller."""

from __future__ import annotations

import os
import stat
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, TextIO

import pytest

from pytest_extract.core.case_result import Outcome
from pytest_extract.plugin.options import SETTINGS, Settings
from pytest_extract.plugin.result_store import ResultStore, StoredResult
from pytest_extract.plugin.update_gold import GoldChange
from pytest_extract.report.diff import DiffOptions
from pytest_extract.report.totals import Forecast, JudgeSpending, RunTotals, totals_of

if TYPE_CHECKING:
    from pytest_extract.regression.selection import Selection

RESULT = "extract_result"
"""Attribute of a report that brings a case's result here, as a line of the results file."""
_RESULTS = pytest.StashKey["RunResults"]()


@dataclass
class RunResults:
    """What the reports of all cases have brought so far.

    `choices`: under `--extract-changed`, whether each case was called or replayed, and why.
    `golds`: under `--extract-update-gold`, what became of each case's gold.
    `expected`: failures that an `xfail` mark had announced. `torn`: why the results file is not complete.
    `unkept`: what could not be recorded and why, counted. `refused`: outputs that are not recorded, as they hold a
    secret. `hidden`: of each case with some, place, kind and fingerprint of the secrets that were hidden.
    """

    settings: Settings
    results: ResultStore = field(default_factory=ResultStore)
    forecasts: list[Forecast] = field(default_factory=list)
    judged: JudgeSpending = field(default_factory=JudgeSpending)
    choices: dict[str, Selection] = field(default_factory=dict)
    golds: dict[str, GoldChange] = field(default_factory=dict)
    expected: set[str] = field(default_factory=set)
    unkept: Counter[tuple[str, str]] = field(default_factory=Counter)
    refused: list[str] = field(default_factory=list)
    hidden: list[frozenset[tuple[str, str, str]]] = field(default_factory=list)
    out: TextIO | None = None
    torn: str | None = None

    @cached_property
    def totals(self) -> RunTotals:
        """What the results of the run add up to, asked for when no more will come."""
        return totals_of(self.results)

    def add(self, nodeid: str, line: str, stored: StoredResult) -> None:
        """Keep a result, and write it at once: a killed run keeps what it had."""
        self.results.put(nodeid, stored)
        if self.out is not None:
            try:
                if len(self.results) == 1:
                    _empty(self.out)
                self.out.write(f"{line}\n")
                self.out.flush()
            except OSError as error:  # the run goes on: what it gives is paid for
                self._give_up_writing(error)

    def close(self) -> None:
        """Close the results file."""
        out, self.out = self.out, None
        if out is not None:
            out.close()

    def _give_up_writing(self, error: OSError) -> None:
        self.torn = f"--extract-results: {self.settings.results} is not complete: {error.strerror}"
        with suppress(OSError):  # it tries to write the rest once more
            self.close()


def _empty(file: TextIO) -> None:
    """Drop what an earlier run wrote; a device or a pipe has nothing to drop."""
    if stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        file.truncate(0)


def open_results(config: pytest.Config) -> None:
    """Open the results file before anything runs; UsageError when it cannot be written.

    What is in it stays until the first result comes: a run that only collects, or has no case, takes away no results.
    """
    settings = config.stash[SETTINGS]
    config.stash[_RESULTS] = gathered = RunResults(settings)
    if settings.results is None:
        return
    try:
        settings.results.parent.mkdir(parents=True, exist_ok=True)
        gathered.out = settings.results.open("a", encoding="ascii", buffering=1)
    except OSError as error:
        raise pytest.UsageError(f"--extract-results: cannot write {settings.results}: {error.strerror}") from error


def run_results_of(config: pytest.Config) -> RunResults:
    """Return the results of this session so far."""
    if _RESULTS not in config.stash:
        config.stash[_RESULTS] = RunResults(config.stash[SETTINGS])
    return config.stash[_RESULTS]


def take_from_report(report: pytest.TestReport, config: pytest.Config) -> None:
    """Gather the result on a report, and dress its text for this terminal. What will be rerun counts nothing yet.

    pytest keeps every report to the end, so what is gathered is taken off.
    """
    brought = vars(report)
    gathered = run_results_of(config)
    forecast = brought.pop("extract_forecast", None)
    if forecast is not None:
        gathered.forecasts.append(Forecast(**forecast))
        return
    line: str = brought.pop(RESULT)
    stored = gathered.results.store(line)
    if str(report.outcome) != "rerun":
        gathered.add(report.nodeid, line, stored)
    gold = brought.get("extract_gold")
    if gold is not None:
        gathered.golds[report.nodeid] = GoldChange(*gold)
    if report.skipped and hasattr(report, "wasxfail"):
        gathered.expected.add(report.nodeid)
    choice = brought.pop("extract_choice", None)
    if choice is not None:
        from pytest_extract.regression.selection import Selection

        gathered.choices[report.nodeid] = Selection(**{**choice, "reasons": tuple(choice["reasons"])})
    gathered.unkept.update(map(tuple, brought.pop("extract_unkept", ())))
    gathered.refused += brought.pop("extract_refused", ())
    if hidden := brought.pop("extract_hidden", ()):
        gathered.hidden.append(frozenset(map(tuple, hidden)))
    gathered.judged += JudgeSpending(**brought.pop("extract_judged", {}))
    _dress(report, brought.pop("extract_shown", None), stored, config)


def _dress(
    report: pytest.TestReport, shown: dict[str, Any] | None, stored: StoredResult, config: pytest.Config
) -> None:
    from _pytest._code.code import ExceptionRepr, ReprFileLocation

    from pytest_extract.plugin.terminal import BrokenRepr, CaseRepr

    if shown is not None:
        look = DiffOptions(verbosity=shown["verbosity"], brief=shown["style"] == "short")
        crash = ReprFileLocation(shown["path"], shown["line"], shown["message"])
        report.longrepr = CaseRepr(stored.load, look, shown["places"], crash, shown["style"])
    elif (
        getattr(report, "extract_outcome", None) == Outcome.BROKEN
        and report.when == "call"
        and isinstance(report.longrepr, ExceptionRepr)
    ):
        report.longrepr = BrokenRepr(report.longrepr, config.getoption("tbstyle", "auto"))
