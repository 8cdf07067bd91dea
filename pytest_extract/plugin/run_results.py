"""The results of all cases of a run, in its only process or in xdist's controller."""

from __future__ import annotations

import os
import stat
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TextIO

import pytest

from pytest_extract.core.case_result import CaseResult
from pytest_extract.core.spending import Spending
from pytest_extract.plugin.options import SETTINGS, Settings
from pytest_extract.plugin.result_store import ResultStore, StoredResult
from pytest_extract.report.totals import Forecast, RunTotals, totals_of

if TYPE_CHECKING:
    from pytest_extract.plugin.update_gold import DraftedGold, GoldChange
    from pytest_extract.regression.selection import Selection

_RESULTS = pytest.StashKey["RunResults"]()


@dataclass
class RunResults:
    """The results so far, and what else the reports of cases have brought.

    `selections`: under `--extract-changed`, whether each case was called or replayed, and why.
    `gold_changes`: under `--extract-update-gold`, whether each case's gold was updated. `drafts`: golds written.
    `expected`: failures that an `xfail` mark announced. `write_errors`: what could not be recorded and why, counted.
    `refused`: why outputs are not recorded that hold a secret. `other_code`: what made replayed outputs, counted.
    `redacted`: of each case with hidden secrets, their place, kind and fingerprint. `incomplete`: why the results file
    is not complete. `skipped`: number of cases that a mark or their extractor skipped. `has_mistakes`: whether a case
    file could not be read. `spending`: of all extractions, also those whose results a rerun replaced.
    """

    settings: Settings
    results: ResultStore = field(default_factory=ResultStore)
    forecasts: list[Forecast] = field(default_factory=list)
    judge_spending: Spending = field(default_factory=Spending)
    selections: dict[str, Selection] = field(default_factory=dict)
    gold_changes: dict[str, GoldChange] = field(default_factory=dict)
    drafts: list[DraftedGold] = field(default_factory=list)
    expected: set[str] = field(default_factory=set)
    write_errors: Counter[tuple[str, str]] = field(default_factory=Counter)
    refused: list[str] = field(default_factory=list)
    other_code: Counter[str] = field(default_factory=Counter)
    redacted: list[frozenset[tuple[str, str, str]]] = field(default_factory=list)
    file: TextIO | None = None
    incomplete: str | None = None
    skipped: int = 0
    has_mistakes: bool = False
    spending: Spending = field(default_factory=Spending)
    _totals: RunTotals | None = field(default_factory=RunTotals)

    @property
    def totals(self) -> RunTotals:
        """The totals of the results so far."""
        if self._totals is None:
            self._totals = totals_of(self.results)
        return self._totals

    @property
    def reruns(self) -> Spending:
        """What extractions took whose results a later run of the same case replaced."""
        return self.spending - self.totals.spending

    @property
    def selected_cases(self) -> bool:
        """Whether the run had a case at all, were it only to skip it."""
        return bool(self.results) or self.skipped > 0

    def add(self, nodeid: str, line: str, stored: StoredResult, result: CaseResult) -> None:
        """Keep a result, and write it at once: a killed run keeps what it had."""
        self._count(nodeid, result)
        self.results.put(nodeid, stored)
        if self.file is None:
            return
        try:
            if len(self.results) == 1:
                self._drop_earlier_lines()
            self.file.write(f"{line}\n")
            self.file.flush()
        except OSError as error:  # the run goes on: its outputs are paid for
            self.incomplete = f"--extract-results: {self.settings.results} is not complete: {error.strerror}"
            with suppress(OSError):  # closing tries to write the rest once more
                self.close()

    def _drop_earlier_lines(self) -> None:
        """Empty the results file of an earlier run; a device or a pipe has none."""
        if self.file is not None and stat.S_ISREG(os.fstat(self.file.fileno()).st_mode):
            self.file.truncate(0)

    def _count(self, nodeid: str, result: CaseResult) -> None:
        """Add a result to the totals; where it replaces one, or cannot be added, they are read again when asked for."""
        if self._totals is None:
            return
        try:
            if nodeid in self.results.nodeids:
                self._totals = None
            else:
                self._totals.add(result)
        except Exception:  # noqa: BLE001  # raised again, and told, by who asks for the totals
            self._totals = None

    def close(self, *, drops_earlier: bool = False) -> None:
        """Close the results file; `drops_earlier`: empty if the run had no result."""
        if drops_earlier and not self.results:
            self._drop_earlier_lines()
        file, self.file = self.file, None
        if file is not None:
            file.close()


def open_results(config: pytest.Config) -> None:
    """Open the results file before anything runs; UsageError when it cannot be written.

    Its content remains until the first result comes, or until the end of a run that skipped all of its cases: a run
    that only collects, or has no case, removes no results.
    """
    settings = config.stash[SETTINGS]
    config.stash[_RESULTS] = run_results = RunResults(settings)
    if settings.results is None:
        return
    try:
        settings.results.parent.mkdir(parents=True, exist_ok=True)
        run_results.file = settings.results.open("a", encoding="ascii", buffering=1)
    except OSError as error:
        raise pytest.UsageError(f"--extract-results: cannot write {settings.results}: {error.strerror}") from error


def run_results_of(config: pytest.Config) -> RunResults:
    """Return the results of this session so far."""
    if _RESULTS not in config.stash:
        config.stash[_RESULTS] = RunResults(config.stash[SETTINGS])
    return config.stash[_RESULTS]
