"""The results of all cases of a run, in its only process or in xdist's controller.

They are kept outside of memory: a suite of a hundred thousand cases needs no more than one of ten.
"""

from __future__ import annotations

import os
import stat
import tempfile
import weakref
import zlib
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, TYPE_CHECKING, TextIO, overload

import pytest

from pytest_extract.core.case_result import CaseResult, Spending, Variant
from pytest_extract.plugin.options import SETTINGS, Settings
from pytest_extract.report.summary import Forecast, RunTotals, totals_of
from pytest_extract.results import load_result

if TYPE_CHECKING:
    from pytest_extract.changed.inputs import Selection
    from pytest_extract.plugin.update_gold import DraftedGold, GoldChange


_FASTEST = 1
_MOST_KEPT = 8_000_000
"""Bytes of lines whose results stay in memory once they are read; they take about four times as much."""


class _Spool:
    """Compressed lines in a nameless temporary file; lines for which the disk has no room stay in memory.

    A file of `--extract-report` cannot serve: another run that writes the same file begins by emptying it.
    """

    def __init__(self) -> None:
        self._file: IO[bytes] | None = None
        self._end = 0
        self._full = False
        self._kept: dict[StoredResult, CaseResult] = {}
        self._room = _MOST_KEPT

    def put(self, text: bytes) -> StoredResult:
        packed = zlib.compress(text, _FASTEST)
        if not self._full and self._write(packed):
            self._end += len(packed)
            return StoredResult(self, self._end - len(packed), len(packed), None)
        self._full = True
        return StoredResult(self, 0, 0, packed)

    def _write(self, packed: bytes) -> bool:
        try:
            if self._file is None:
                self._file = tempfile.TemporaryFile(buffering=0)  # noqa: SIM115  # open for as long as it is read
                weakref.finalize(self, self._file.close)
            self._file.seek(self._end)
            return self._file.write(packed) == len(packed)
        except OSError:
            return False

    def load(self, stored: StoredResult) -> CaseResult:
        """Read a result back. Those that fit are kept: the summary, the diffs and each report read all in turn."""
        result = self._kept.get(stored)
        if result is None:
            line = zlib.decompress(self._packed(stored))
            result = load_result(line.decode("ascii"))
            if len(line) <= self._room:
                self._room -= len(line)
                self._kept[stored] = result
        return result

    def _packed(self, stored: StoredResult) -> bytes:
        if stored.packed is not None:
            return stored.packed
        assert self._file is not None  # noqa: S101  # the file exists if anything was written to it
        self._file.seek(stored.start)
        return self._file.read(stored.size)


@dataclass(frozen=True, slots=True, eq=False)
class StoredResult:
    """One result of the run."""

    spool: _Spool
    start: int
    size: int
    packed: bytes | None

    def load(self) -> CaseResult:
        """Read it back."""
        return self.spool.load(self)


class ResultStore(Sequence[CaseResult]):
    """All results so far, in the order in which their cases first ended; each is read back on access.

    A loop holds one result at a time. A case's later result replaces the earlier one.
    """

    def __init__(self) -> None:
        self._spool = _Spool()
        self._stored: list[StoredResult] = []
        self._indices: dict[str, int] = {}

    def store(self, line: str) -> StoredResult:
        """Keep a line of the results file without counting it as a case's result (it will be run again)."""
        return self._spool.put(line.encode("ascii"))

    def put(self, nodeid: str, result: StoredResult) -> None:
        """Make it the result of a case."""
        index = self._indices.setdefault(nodeid, len(self._stored))
        self._stored[index : index + 1] = [result]

    @property
    def nodeids(self) -> Collection[str]:
        """The cases that have a result."""
        return self._indices.keys()

    def __len__(self) -> int:
        return len(self._stored)

    def __iter__(self) -> Iterator[CaseResult]:
        return (stored.load() for stored in self._stored)

    @overload
    def __getitem__(self, index: int) -> CaseResult: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[CaseResult]: ...
    def __getitem__(self, index: int | slice) -> CaseResult | Sequence[CaseResult]:
        if isinstance(index, slice):
            return [stored.load() for stored in self._stored[index]]
        return self._stored[index].load()


_RESULTS = pytest.StashKey["RunResults"]()


@dataclass
class RunResults:
    """The results so far, and what else the reports of cases have brought.

    `selections`: under `--extract-changed`, whether each case was called or replayed, and why.
    `gold_changes`: under `--extract-update-gold`, whether each case's gold was updated. `drafts`: golds written.
    `expected`: failures that an `xfail` mark announced. `write_errors`: what could not be recorded and why, counted.
    `refused`: why outputs are not recorded that hold a secret. `other_code`: what made replayed outputs, counted.
    `redacted`: of each case with hidden secrets, their place, kind and fingerprint. `files`: live reports by path.
    `incomplete`: why such a report is not complete, by path. `params`: those of extractors' fixtures, in their order
    (xdist's controller has them when a worker has ended). `past_variants`: those of `--extract-from`. `skipped`: number
    of cases that a mark or their extractor skipped. `has_mistakes`: whether a case file could not be read. `spending`:
    of all extractions, also those whose results a rerun replaced.
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
    files: dict[Path, TextIO] = field(default_factory=dict)
    incomplete: dict[Path, str] = field(default_factory=dict)
    params: dict[str, None] = field(default_factory=dict)
    past_variants: tuple[Variant, ...] = ()
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
        for path, file in [*self.files.items()]:
            try:
                if len(self.results) == 1:
                    _drop_earlier_lines(file)
                file.write(f"{line}\n")
                file.flush()
            except OSError as error:  # the run goes on: its outputs are paid for
                self.incomplete[path] = f"--extract-report: {path} is not complete: {error.strerror}"
                with suppress(OSError):  # closing tries to write the rest once more
                    self.files.pop(path).close()

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
        """Close the live reports; `drops_earlier`: empty if the run had no result."""
        for file in self.files.values():
            if drops_earlier and not self.results:
                _drop_earlier_lines(file)
            file.close()
        self.files.clear()


def _drop_earlier_lines(file: TextIO) -> None:
    """Empty the results file of an earlier run; a device or a pipe has none."""
    if stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        file.truncate(0)


def open_results(config: pytest.Config) -> None:
    """Open the live reports before anything runs; UsageError when one cannot be written.

    Its content remains until the first result comes, or until the end of a run that skipped all of its cases: a run
    that only collects, or has no case, removes no results.
    """
    run_results = run_results_of(config)
    for path in [each.path for each in run_results.settings.report if each.format.live]:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            run_results.files[path] = path.open("a", encoding="ascii", buffering=1)
        except OSError as error:
            raise pytest.UsageError(f"--extract-report: cannot write {path}: {error.strerror}") from error


def run_results_of(config: pytest.Config) -> RunResults:
    """Return the results of this session so far."""
    if _RESULTS not in config.stash:
        config.stash[_RESULTS] = RunResults(config.stash[SETTINGS])
    return config.stash[_RESULTS]
