"""Results where they come together: the only process, or xdist's controller."""

from __future__ import annotations

import os
import stat
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TextIO

import pytest

from pytest_extract.core.case_result import CaseResult, Outcome
from pytest_extract.plugin.golds import GoldChange
from pytest_extract.plugin.options import SETTINGS, Settings
from pytest_extract.report.diff import Look
from pytest_extract.report.summary import Forecast, JudgeSpending
from pytest_extract.results_file import dump_result, load_result

if TYPE_CHECKING:
    from pytest_extract.gating.changed import Choice

_GATHERED = pytest.StashKey["Gathered"]()


@dataclass(slots=True)
class Gathered:
    """All results so far, by node id in the order in which they ended; a rerun's takes the place of the one before.

    `choices`: under `--extract-changed`, whether each case was called or replayed, and why.
    `golds`: under `--extract-update-gold`, what became of each case's gold.
    `expected`: failures that an `xfail` mark had announced. `torn`: why the results file is not complete.
    `unkept`: what could not be recorded and why, counted.
    """

    settings: Settings
    results: dict[str, CaseResult] = field(default_factory=dict)
    forecasts: list[Forecast] = field(default_factory=list)
    judged: JudgeSpending = field(default_factory=JudgeSpending)
    choices: dict[str, Choice] = field(default_factory=dict)
    golds: dict[str, GoldChange] = field(default_factory=dict)
    expected: set[str] = field(default_factory=set)
    unkept: Counter[tuple[str, str]] = field(default_factory=Counter)
    out: TextIO | None = None
    torn: str | None = None

    def add(self, result: CaseResult) -> None:
        """Keep a result, and write it at once: a killed run keeps what it had."""
        self.results[result.nodeid] = result
        if self.out is not None:
            try:
                if len(self.results) == 1:
                    _empty(self.out)
                self.out.write(f"{dump_result(result)}\n")
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
    config.stash[_GATHERED] = gathered = Gathered(settings)
    if settings.results is None:
        return
    try:
        settings.results.parent.mkdir(parents=True, exist_ok=True)
        gathered.out = settings.results.open("a", encoding="ascii", buffering=1)
    except OSError as error:
        raise pytest.UsageError(f"--extract-results: cannot write {settings.results}: {error.strerror}") from error


def gathered_of(config: pytest.Config) -> Gathered:
    """Return the results of this session so far."""
    if _GATHERED not in config.stash:
        config.stash[_GATHERED] = Gathered(config.stash[SETTINGS])
    return config.stash[_GATHERED]


def take_from_report(report: pytest.TestReport, config: pytest.Config) -> None:
    """Gather the result on a report, and dress its text for this terminal. What will be rerun counts nothing yet."""
    forecast = getattr(report, "extract_forecast", None)
    if forecast is not None:
        gathered_of(config).forecasts.append(Forecast(**forecast))
        return
    result = load_result(getattr(report, "extract_result"))  # noqa: B009  # no attribute that pytest declares
    if str(report.outcome) != "rerun":
        gathered_of(config).add(result)
    gold = getattr(report, "extract_gold", None)
    if gold is not None:
        gathered_of(config).golds[result.nodeid] = GoldChange(*gold)
    if report.skipped and hasattr(report, "wasxfail"):
        gathered_of(config).expected.add(result.nodeid)
    choice = getattr(report, "extract_choice", None)
    if choice is not None:
        from pytest_extract.gating.changed import Choice

        gathered_of(config).choices[result.nodeid] = Choice(**{**choice, "reasons": tuple(choice["reasons"])})
    gathered_of(config).unkept.update(map(tuple, getattr(report, "extract_unkept", ())))
    gathered_of(config).judged += JudgeSpending(**getattr(report, "extract_judged", {}))
    _dress(report, result, config)


def _dress(report: pytest.TestReport, result: CaseResult, config: pytest.Config) -> None:
    from _pytest._code.code import ExceptionRepr

    from pytest_extract.plugin.show import BrokenRepr, CaseRepr

    shown: dict[str, Any] | None = getattr(report, "extract_shown", None)
    if shown is not None:
        look = Look(verbosity=shown["verbosity"], brief=shown["style"] == "short")
        report.longrepr = CaseRepr(result, look, shown["places"], (shown["path"], shown["line"]), shown["style"])
    elif result.outcome is Outcome.BROKEN and report.when == "call" and isinstance(report.longrepr, ExceptionRepr):
        report.longrepr = BrokenRepr(report.longrepr, config.getoption("tbstyle", "auto"))
