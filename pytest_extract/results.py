r"""The results file: one `CaseResult` a line, as JSON with a version number.

The text also travels from xdist workers to the controller; `--extract-from`, `compare` and `merge` read it.
Text is plain ASCII (`\u` escapes), so that lone surrogates survive any transport. The same results as a table of
Parquet (`parquet`) are read wherever a results file is, and written where its name ends in `.parquet`.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from itertools import count, zip_longest
from pathlib import Path
from typing import IO, BinaryIO, Final, NamedTuple, Self

from pytest_extract.core.case_result import Arm, Attempt, Breach, CaseResult, Outcome, Usage
from pytest_extract.core.result_json import dump_json, from_json, to_json
from pytest_extract.core.results import DECLINED, FieldResult, ScoreRecord
from pytest_extract.core.shared_values import SharedValues
from pytest_extract.core.values import MISSING, FieldPath, Json, writable
from pytest_extract.errors import StoreError
from pytest_extract.files import MOST_BATCHED_BYTES, MOST_BULK_BYTES, open_regular, write_bytes_atomic
from pytest_extract.redact.secrets import TALLY, Owned, Secret, clean_message, current, withheld

__all__ = [
    "Arm",
    "Attempt",
    "Breach",
    "CaseResult",
    "Outcome",
    "ResultsFile",
    "ResultsReader",
    "ScoreRecord",
    "Usage",
    "dump_result",
    "load_result",
    "read_results",
    "write_results",
]

FORMAT: Final = 1
_MAGIC: Final = b"PAR1"
"""How a Parquet file begins."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultsFile:
    """What a results file holds; `torn`: its last line was cut off, as a killed run leaves it."""

    results: tuple[CaseResult, ...]
    torn: bool = False


def dump_result(result: CaseResult) -> str:
    """One line of the results file, without the newline. Never raises, whatever the extractor returned.

    The result is written as it is: of one that has just been measured, `safe_form` is what may leave the process.
    """
    record = {"format": FORMAT, **to_json(result)}
    try:
        return dump_json(record)
    except (TypeError, ValueError, RecursionError):
        return dump_json(writable(record))


def safe_form(result: CaseResult, owned: Owned | None = None) -> tuple[str, CaseResult]:
    """Return a result without secrets, as a line and read from it: the form in which it leaves its process.

    Reports, baselines, JUnit XML and the terminal are made from this form, so that all of them hide the same. Messages
    are cleaned, and a secret among values is replaced by a mark. An output with a secret is left out as a whole, and
    `withheld` has the reason: only the output that was scored may be scored again. `owned`: whether a secret is in the
    user's own files (gold, document), and so is data. Outputs of the result may still be of types of Python's own.
    """
    result = _with_clean_messages(result)
    text = dump_result(result)
    found = [each for each in current().find(text) if owned is None or not owned(each)]
    if not found:
        return text, result
    TALLY.add("result", found)
    record = json.loads(text)
    for attempt in record["attempts"]:
        attempt["withheld"] = withheld(attempt["output"], owned)
        if attempt["withheld"] is not None:
            attempt["output"] = None
    line = dump_json(_marked(record, found))
    return line, load_result(line)


def _with_clean_messages(result: CaseResult) -> CaseResult:
    """Clean messages of exceptions and providers; messages of the scorer are about data, and stay."""
    attempts = tuple(map(_with_clean_attempt, result.attempts))
    why = result.why
    if why and result.outcome in {Outcome.BROKEN, Outcome.NOT_RUN}:
        why = clean_message(why)
    return replace(result, why=why, attempts=attempts)


def _with_clean_attempt(attempt: Attempt) -> Attempt:
    score = attempt.score
    if score is not None and score.failure is not None and score.failure.kind in DECLINED:
        score = replace(score, failure=replace(score.failure, message=clean_message(score.failure.message)))
    error = attempt.error and clean_message(attempt.error)
    adjustments, notes = (tuple(map(clean_message, texts)) for texts in (attempt.adjustments, attempt.notes))
    return replace(attempt, score=score, error=error, adjustments=adjustments, notes=notes)


def _marked(record: dict[str, Json], found: Sequence[Secret]) -> dict[str, Json]:
    """Return a record with marks for secrets; the names of the case stay."""
    for attempt in record["attempts"]:
        _mark_paths(attempt["score"] or {}, found)
    marked: dict[str, Json] = current().hide_in(record, found)
    note = f"hidden in this result: {', '.join(sorted({secret.kind for secret in found}))}"
    for attempt in marked["attempts"]:
        attempt["notes"] = [*attempt["notes"], note]
    return {**marked, **{name: record[name] for name in ("nodeid", "case_id", "file", "arm", "digests")}}


def _mark_paths(score: Json, found: Sequence[Secret]) -> None:
    """Put marks for secrets into paths key by key, so that each stays a path."""
    for result in (*score.get("fields", ()), *score.get("leaves", ()), *score.get("arrays", ())):
        for name in ("path", "matched"):
            if result.get(name):
                result[name] = str(FieldPath(current().hide_in(list(FieldPath.parse(result[name])), found)))


def load_result(line: str) -> CaseResult:
    """Read one line; StoreError when it is no result, or of another version."""
    try:
        record = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise StoreError(f"not JSON: {error}") from error
    found = record.pop("format", None) if isinstance(record, dict) else None
    if found != FORMAT:
        raise StoreError(f"not a result of format {FORMAT} (found {found!r}): written by another version?")
    try:
        result: CaseResult = from_json(CaseResult, record)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise StoreError(f"not a whole result: {type(error).__name__}: {error}") from error
    return result


def without_values(result: CaseResult, shared: SharedValues) -> CaseResult:
    """Return a result without outputs, paths and values, only of their types, so that a large run takes little memory.

    `shared` keeps what such results have in common.
    """

    def short(each: FieldResult) -> FieldResult:
        gold, extracted = (side if side is MISSING else type(side)() for side in (each.gold, each.extracted))
        reason = each.reason if each.passed_empty else None
        kept = each._replace(
            path=FieldPath(), params={}, gold=gold, extracted=extracted, reason=reason, matched=None, citations=()
        )
        key = each.pattern, each.metric, each.status, each.score, each.passed, reason, each.weight, each.confidence
        return shared.kept((*key, type(gold), type(extracted)), kept)

    def score(found: ScoreRecord) -> ScoreRecord:
        fields, leaves = (tuple(map(short, each)) for each in (found.fields, found.leaves))
        measures, gates = shared.mapping(found.measures), shared.value(found.gates)
        return replace(found, fields=fields, leaves=leaves, arrays=(), measures=measures, gates=gates)

    attempts = tuple(
        replace(each, output=None, score=None if each.score is None else score(each.score)) for each in result.attempts
    )
    return replace(
        result,
        attempts=attempts,
        arm=shared.value(result.arm),
        tags=shared.mapping(result.tags),
        shape=shared.mapping(result.shape),
        uncompared=shared.mapping(result.uncompared),
        digests={},
        breaches=(),
    )


def read_results(path: Path | str) -> ResultsFile:
    """Read a results file; StoreError with `path:line` for a bad line.

    A last line that was cut off, as a killed run leaves it, is left out; `torn` says so.
    """
    reader = ResultsReader(Path(path))
    return ResultsFile(results=tuple(reader), torn=reader.torn)


class ResultsReader:
    """Reads a results file line by line, so that memory holds one result; StoreError with `path:line` for a bad line.

    Of a Parquet file, a batch is read at a time. `torn`: after the last line, whether that was cut off.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.torn = False

    def __iter__(self) -> Iterator[CaseResult]:
        if self.is_parquet():
            from pytest_extract.parquet import read_parquet

            yield from read_parquet(self.path)
        else:
            with self.open() as file:
                yield from (result for _start, _line, result in self.read(file))

    def has_same_content(self, other: ResultsReader) -> bool:
        """Whether another file has the same lines, but for empty ones and white space around them.

        It is read as far as the first difference.
        """
        with self.open(MOST_BATCHED_BYTES) as one, other.open(MOST_BATCHED_BYTES) as two:
            lines = ((text for line in file if (text := line.strip())) for file in (one, two))
            return all(here == there for here, there in zip_longest(*lines))

    def is_parquet(self) -> bool:
        """Whether the file is a table of Parquet, and has no lines."""
        try:
            with open_regular(self.path, MOST_BATCHED_BYTES) as file:
                return file.read(len(_MAGIC)) == _MAGIC
        except OSError as error:
            raise StoreError(f"{self.path}: cannot be read: {error}") from error

    def open(self, most: int = MOST_BULK_BYTES) -> BinaryIO:
        """Open the file, of at most so many bytes."""
        try:
            return open_regular(self.path, most)
        except OSError as error:
            raise StoreError(f"{self.path}: cannot be read: {error}") from error

    def read(self, file: BinaryIO) -> Iterator[tuple[int, bytes, CaseResult]]:
        """Yield the first byte of each line of the open file, the line, and its result.

        Whoever gets them may read elsewhere in the file in between.
        """
        start = 0
        for number in count(1):
            try:
                file.seek(start)
                line = file.readline()
            except OSError as error:
                raise StoreError(f"{self.path}: cannot be read: {error}") from error
            if not line:
                return
            if line.strip():
                try:
                    result = load_result(line.decode("utf-8"))
                except (StoreError, UnicodeDecodeError) as error:
                    if line.endswith((b"\n", b"\r")):
                        raise StoreError(f"{self.path}:{number}: {error}") from error
                    self.torn = True
                else:
                    yield start, line, result
            start += len(line)


def write_results(path: Path | str, results: Iterable[CaseResult]) -> None:
    """Write a whole results file, atomically, result by result: as Parquet where the name ends in `.parquet`."""
    path = Path(path)
    if path.suffix.lower() == ".parquet":
        from pytest_extract.parquet import write_parquet

        write_parquet(path, results)
    else:
        write_bytes_atomic(path, lambda file: file.writelines(f"{dump_result(each)}\n".encode() for each in results))


# --- results that stay in their files


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
