"""Results that stay in their files: memory holds their places, and each is read again when it is asked for."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from typing import IO, NamedTuple, Self

from pytest_extract.core.case_result import CaseResult
from pytest_extract.errors import StoreError
from pytest_extract.results import ResultsReader, dump_result, load_result


class StoredLine(NamedTuple):
    """The place of a result's line: the file, its first byte, and how many there are."""

    file: IO[bytes]
    start: int
    size: int


class StoredResults:
    """The results of some files, which stay open until it is closed. Those of Parquet are written to a temporary file.

    A file that is replaced meanwhile is read to its end as it was; StoreError where its lines are no longer there.
    """

    def __init__(self) -> None:
        self._files = ExitStack()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._files.close()

    def read(self, reader: ResultsReader) -> Iterator[tuple[StoredLine, CaseResult]]:
        """Yield each result of a file with its place."""
        if reader.is_parquet():
            file = self._files.enter_context(tempfile.TemporaryFile())  # noqa: SIM115 - the stack closes it
            end = 0
            for result in reader:
                line = dump_result(result).encode("ascii")
                file.seek(end)
                file.write(line)
                yield StoredLine(file, end, len(line)), result
                end += len(line)
        else:
            opened = self._files.enter_context(reader.open())
            for start, line, result in reader.read(opened):
                yield StoredLine(opened, start, len(line)), result

    def line(self, stored: StoredLine) -> bytes:
        """Return the line of a result, without the white space around it."""
        stored.file.seek(stored.start)
        line = stored.file.read(stored.size)
        if len(line) < stored.size:
            raise StoreError("a results file became shorter while it was read")
        return line.strip()

    def load(self, stored: StoredLine) -> CaseResult:
        """Return a result."""
        return load_result(self.line(stored).decode("utf-8"))
