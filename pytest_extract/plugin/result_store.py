"""The results of a run, kept outside of memory: a suite of a hundred thousand cases needs no more than one of ten."""

from __future__ import annotations

import tempfile
import weakref
import zlib
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import IO, overload

from pytest_extract.core.case_result import CaseResult
from pytest_extract.results import load_result

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
