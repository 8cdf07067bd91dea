r"""The results file: one `CaseResult` a line, as JSON with a version number.

The text also travels from xdist workers to the controller; `--extract-from`, `compare` and `merge` read it.
Text is plain ASCII (`\u` escapes), so that lone surrogates survive any transport. The same results as a table of
Parquet (`parquet`) are read wherever a results file is, and written where its name ends in `.parquet`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from pathlib import Path
from typing import BinaryIO, Final

from pytest_extract.core.case_result import Attempt, Breach, CaseResult, Outcome, Usage, Variant
from pytest_extract.core.result_json import dump_json, from_json, to_json
from pytest_extract.core.results import DECLINED, ScoreRecord
from pytest_extract.core.values import FieldPath, Json, writable
from pytest_extract.errors import StoreError
from pytest_extract.files import MOST_BATCHED_BYTES, MOST_BULK_BYTES, open_regular, write_bytes_atomic
from pytest_extract.redact import TALLY, Owned, Secret, clean_message, current, withheld

__all__ = [
    "Attempt",
    "Breach",
    "CaseResult",
    "Outcome",
    "ResultsFile",
    "ResultsReader",
    "ScoreRecord",
    "Usage",
    "Variant",
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
    return {**marked, **{name: record[name] for name in ("nodeid", "case_id", "file", "variant", "digests")}}


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
        return (result for _line, result in self.lines())

    def lines(self) -> Iterator[tuple[bytes, CaseResult]]:
        """Yield each result with its line, without the white space around it."""
        if self._is_parquet():
            from pytest_extract.parquet import read_parquet

            yield from ((dump_result(result).encode("ascii"), result) for result in read_parquet(self.path))
            return
        with self._open(MOST_BULK_BYTES) as file:
            for number, line in enumerate(file, start=1):
                if not line.strip():
                    continue
                try:
                    result = load_result(line.decode("utf-8"))
                except (StoreError, UnicodeDecodeError) as error:
                    if line.endswith((b"\n", b"\r")):
                        raise StoreError(f"{self.path}:{number}: {error}") from error
                    self.torn = True
                else:
                    yield line.strip(), result

    def has_same_content(self, other: ResultsReader) -> bool:
        """Whether another file has the same lines, but for empty ones and white space around them.

        It is read as far as the first difference.
        """
        with self._open(MOST_BATCHED_BYTES) as one, other._open(MOST_BATCHED_BYTES) as two:
            lines = ((text for line in file if (text := line.strip())) for file in (one, two))
            return all(here == there for here, there in zip_longest(*lines))

    def _is_parquet(self) -> bool:
        with self._open(MOST_BATCHED_BYTES) as file:
            return file.read(len(_MAGIC)) == _MAGIC

    def _open(self, most: int) -> BinaryIO:
        try:
            return open_regular(self.path, most)
        except OSError as error:
            raise StoreError(f"{self.path}: cannot be read: {error}") from error


def write_results(path: Path | str, results: Iterable[CaseResult]) -> None:
    """Write a whole results file, atomically, result by result: as Parquet where the name ends in `.parquet`."""
    path = Path(path)
    if path.suffix.lower() == ".parquet":
        from pytest_extract.parquet import write_parquet

        write_parquet(path, results)
    else:
        write_bytes_atomic(path, lambda file: file.writelines(f"{dump_result(each)}\n".encode() for each in results))
