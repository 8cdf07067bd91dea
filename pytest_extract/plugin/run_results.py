"""The results of all cases of a run in its only process, or in xdist's controller, as pytest's reports bring them."""

from __future__ import annotations

import os
import time
import zlib
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Final, TextIO

import pytest
from _pytest._code.code import ExceptionRepr

from pytest_extract.changed import Selection
from pytest_extract.core.case_result import CaseResult, Outcome, Spending, Variant
from pytest_extract.core.words import plural
from pytest_extract.plugin.items import CASE, CaseRepr, FramedRepr, Note, crash_of, escape_name
from pytest_extract.plugin.options import SETTINGS, Settings
from pytest_extract.report.summary import Forecast, RunTotals, totals_of
from pytest_extract.results import dump_result, load_result

_FASTEST = 1
_MOST_KEPT = 1_000_000
"""Bytes of packed results that stay in memory once they are read: the summary, diffs and reports read all in turn."""
EVERY_S: Final = {"terminal": 10.0, "CI": 60.0}
"""Seconds between two lines of progress; elsewhere (a pipe, a file) there is none."""


def unpacked(packed: bytes) -> CaseResult:
    """Read a result from its compressed line of the results file."""
    return load_result(zlib.decompress(packed).decode("ascii"))


class ResultStore(Collection[CaseResult]):
    """All results so far, packed, in the order in which their cases first ended; each is read back on access.

    A loop holds one result at a time, but for the first of a run. A case's later result replaces the earlier one.
    """

    def __init__(self) -> None:
        self._packed: dict[str, bytes] = {}
        self._read: dict[str, CaseResult] = {}
        self._room = _MOST_KEPT

    def put(self, nodeid: str, packed: bytes) -> None:
        """Make it the result of a case."""
        self._packed[nodeid] = packed
        self._read.pop(nodeid, None)

    def _load(self, nodeid: str) -> CaseResult:
        packed = self._packed[nodeid]
        result = self._read.get(nodeid) or unpacked(packed)
        if nodeid not in self._read and self._room >= len(packed):
            self._read[nodeid] = result
            self._room -= len(packed)
        return result

    def __len__(self) -> int:
        return len(self._packed)

    def __iter__(self) -> Iterator[CaseResult]:
        return map(self._load, self._packed)

    def __contains__(self, result: object) -> bool:
        return any(each == result for each in self)


_RESULTS = pytest.StashKey["RunResults"]()


@dataclass
class RunResults:
    """The results so far, and what else the reports of cases have brought.

    `selections`: under `--extract-changed`, whether each case was called or replayed, and why.
    `expected`: failures that an `xfail` mark announced. `notes`: what was not recorded, made by other code, or hidden.
    `files`: live reports by path. `incomplete`: why such a report is not complete, by path. `params`: those of
    extractors' fixtures, in their order (xdist's controller has them when a worker has ended). `skipped`: number of
    cases that a mark or their extractor skipped. `has_mistakes`: whether a case file could not be read. `spending`: of
    all extractions, also those whose results a rerun replaced.
    """

    settings: Settings
    results: ResultStore = field(default_factory=ResultStore)
    forecasts: list[Forecast] = field(default_factory=list)
    judge_spending: Spending = field(default_factory=Spending)
    selections: dict[str, Selection] = field(default_factory=dict)
    expected: set[str] = field(default_factory=set)
    notes: Counter[Note] = field(default_factory=Counter)
    files: dict[Path, TextIO] = field(default_factory=dict)
    incomplete: dict[Path, str] = field(default_factory=dict)
    params: dict[str, None] = field(default_factory=dict)
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

    def add(self, nodeid: str, line: str, packed: bytes, result: CaseResult) -> None:
        """Keep a result, and write it at once: a killed run keeps what it had."""
        totals, self._totals, known = self._totals, None, len(self.results)
        self.results.put(nodeid, packed)
        if totals is not None and len(self.results) > known:  # where it replaces a result, all are read again
            with suppress(Exception):  # raised again, and told, by who asks for the totals
                totals.add(result)
                self._totals = totals
        for path, file in [*self.files.items()]:
            try:
                if len(self.results) == 1:
                    file.truncate(0)  # the lines of an earlier run
                file.write(f"{line}\n")
                file.flush()
            except OSError as error:  # the run goes on: its outputs are paid for
                self.incomplete[path] = f"--extract-report: {path} is not complete: {error.strerror}"
                with suppress(OSError):  # closing tries to write the rest once more
                    self.files.pop(path).close()

    def take_side_effects(self, case: Mapping[str, Any]) -> None:
        """Take what else the report of a case brought: failed recordings, hidden secrets, what judges have used."""
        self.notes.update(map(tuple, case.get("notes", ())))
        self.judge_spending += Spending(**case.get("judge_spending", {}))

    def close(self, *, drops_earlier: bool = False) -> None:
        """Close the live reports; `drops_earlier`: empty if the run had no result."""
        for file in self.files.values():
            if drops_earlier and not self.results:
                with suppress(OSError):  # it can only grow
                    file.truncate(0)
            file.close()
        self.files.clear()


def open_results(config: pytest.Config) -> None:
    """Open the live reports before anything runs; that they can be written is known.

    Its content remains until the first result comes, or until the end of a run that skipped all of its cases: a run
    that only collects, or has no case, removes no results.
    """
    run_results = run_results_of(config)
    for path in [each.path for each in run_results.settings.report if each.format.live]:
        path.parent.mkdir(parents=True, exist_ok=True)
        run_results.files[path] = path.open("a", encoding="ascii", buffering=1)


def put_crash_on_report(
    nodeid: str, report: pytest.TestReport, config: pytest.Config, planned: Iterable[Variant]
) -> None:
    """Add the result of the case in which an xdist worker died to xdist's report.

    Only the node id is known of it, and an id may end in brackets: it names a variant if the run has it, or has
    `planned` it.
    """
    file, _, name = nodeid.partition("::")
    variants = [totals.variant for totals in run_results_of(config).totals.variants.values()]
    variants += planned
    ends = {escape_name(f"[{variant.label}]"): variant for variant in variants if variant.label}
    end = max(filter(name.endswith, ends), key=len, default="")
    worker = getattr(getattr(getattr(report, "node", None), "gateway", None), "id", "?")
    result = CaseResult(
        nodeid=nodeid,
        case_id=name.removesuffix(end),
        file=file,
        variant=ends.get(end, Variant()),
        outcome=Outcome.ERROR,
        why=f"the xdist worker {worker} crashed while running this case",
    )
    setattr(report, CASE, {"line": dump_result(result)})


def take_from_report(report: pytest.TestReport, config: pytest.Config) -> None:
    """Move a case's result from its report to the run's results; a case that will be rerun has none yet.

    pytest keeps every report to the end, so what is moved is removed from the report.
    """
    run_results = run_results_of(config)
    case: dict[str, Any] = vars(report).pop(CASE)
    if "forecast" in case:
        run_results.forecasts.append(Forecast(**case["forecast"]))
        return
    result = load_result(case["line"])
    packed = zlib.compress(case["line"].encode("ascii"), _FASTEST)
    if not case.get("stands"):
        run_results.spending += Spending.of([result])
    if str(report.outcome) != "rerun":
        run_results.add(report.nodeid, case["line"], packed, result)
    if report.skipped and hasattr(report, "wasxfail"):
        run_results.expected.add(report.nodeid)
    if case.get("selection") is not None:
        run_results.selections[report.nodeid] = Selection(**case["selection"])
    run_results.take_side_effects(case)
    # In the style of this process's terminal: xdist sends only the text of a worker's `longrepr`.
    if case.get("evidence") is not None:
        report.longrepr = CaseRepr(
            partial(unpacked, packed), case["evidence"], crash_of(report.location, result), config
        )
    elif result.outcome is Outcome.ERROR and report.when == "call" and isinstance(report.longrepr, ExceptionRepr):
        told = "ERROR: the extractor raised; this case says nothing about the extraction"
        report.longrepr = FramedRepr(report.longrepr, told if config.getoption("tbstyle", "auto") != "line" else "")


def run_results_of(config: pytest.Config) -> RunResults:
    """Return the results of this session so far."""
    if _RESULTS not in config.stash:
        config.stash[_RESULTS] = RunResults(config.stash[SETTINGS])
    return config.stash[_RESULTS]


class Progress:
    """Tells how far a run is, on a terminal and in CI, unless pytest is to be quiet.

    `cases`: how many will run, 0 until they are collected.
    """

    def __init__(self, config: pytest.Config) -> None:
        self._reporter: pytest.TerminalReporter | None = config.pluginmanager.getplugin("terminalreporter")
        on_terminal = self._reporter is not None and self._reporter.isatty
        place = "terminal" if on_terminal else "CI" if os.environ.get("CI") else None
        self._every_s = None if place is None or config.get_verbosity() < 0 else EVERY_S[place]
        self._started = self._told = time.monotonic()
        self.cases = 0

    def tell(self, run_results: RunResults) -> None:
        """Write `120 of 200 cases, 2 errors, $4.10 of about $6.83, 2.1 cases a second, 38 s left` if it is time to."""
        now = time.monotonic()
        if self._reporter is None or self._every_s is None or now - self._told < self._every_s:
            return
        done, spent = len(run_results.results), run_results.spending
        if not done:  # a dry run, or a first case that is run again
            return
        self._told = now
        parts = [f"{done:,} of {plural(max(self.cases, done), 'case')}"]
        errors = run_results.totals.outcomes[Outcome.ERROR]
        if errors:
            parts.append(plural(errors, "error"))
        if spent.calls > spent.unpriced:
            forecast = spent.cost_usd * max(self.cases, done) / done
            parts.append(f"${spent.cost_usd:,.2f} of about ${forecast:,.2f}")
        rate = done / (now - self._started)
        parts.append(f"{rate:,.1f} cases a second" if rate >= 1 else f"{60 * rate:,.1f} cases a minute")
        parts.append(f"{_duration((self.cases - done) / rate)} left")
        write_own_line(self._reporter, ", ".join(parts))


def write_own_line(reporter: pytest.TerminalReporter, text: str) -> None:
    """Write a line that begins at the left, also after the dots of xdist, which `ensure_newline` does not know."""
    if reporter._tw.width_of_current_line:  # noqa: SLF001
        reporter.write("\n")
        reporter.currentfspath = None
    reporter.write_line(text)


def _duration(seconds: float) -> str:
    if seconds < 100:
        return f"{max(seconds, 0):.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 100 else f"{minutes // 60} h {minutes % 60} min"
