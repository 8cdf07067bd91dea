r"""The results file: one `CaseResult` a line, as JSON with a version number.

The text also travels from xdist workers to the controller; `--extract-from`, `compare` and `merge` read it.
Text is plain ASCII (`\u` escapes), so that lone surrogates survive any transport. The same results as a table of
Parquet are read wherever a results file is, and written where its name ends in `.parquet`. `pyarrow` (extra `parquet`)
is imported where a table is made or read.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields, replace
from functools import cache
from itertools import chain, islice
from pathlib import Path
from typing import IO, Any, BinaryIO, Final, TypeAlias

from pytest_extract.core.case_result import Attempt, Breach, CaseResult, Outcome, Usage, Variant
from pytest_extract.core.complexity import Shape
from pytest_extract.core.result_json import dump_json, from_json, to_json
from pytest_extract.core.results import DECLINED, FieldResult, ScoreRecord
from pytest_extract.core.values import FieldPath, json_type
from pytest_extract.errors import ConfigError, StoreError
from pytest_extract.files import MOST_BATCHED_BYTES, MOST_BULK_BYTES, open_regular, write_bytes_atomic
from pytest_extract.redact import TALLY, Owned, clean_message, current, with_texts, withheld

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


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultsFile:
    """What a results file holds; `torn`: its last line was cut off, as a killed run leaves it."""

    results: tuple[CaseResult, ...]
    torn: bool = False


def dump_result(result: CaseResult) -> str:
    """One line of the results file, without the newline.

    The result is written as it is: of one that has just been measured, `safe_form` is what may leave the process.
    """
    return dump_json({"format": FORMAT, **to_json(result)})


def safe_form(result: CaseResult, owned: Owned | None = None) -> tuple[str, CaseResult]:
    """Return a result without secrets, as a line and read from it: the form in which it leaves its process.

    Reports, baselines, JUnit XML and the terminal are made from this form, so that all of them hide the same. Messages
    are cleaned, and a secret among values is replaced by a mark. An output with a secret is left out as a whole, and
    `withheld` has the reason: only the output that was scored may be scored again. `owned`: whether a secret is in the
    user's own files (gold, document), and so is data.
    """
    why = result.why
    if why and result.outcome in {Outcome.ERROR, Outcome.NOT_RUN}:
        why = clean_message(why)
    result = replace(result, why=why, attempts=tuple(map(_with_clean_messages, result.attempts)))
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
        score = attempt["score"] or {}
        for place in chain.from_iterable(score.get(name, ()) for name in ("fields", "leaves", "arrays")):
            for name in ("path", "matched"):
                if place.get(name):  # key by key, so that it stays a path
                    place[name] = str(FieldPath(current().hide_in(list(FieldPath.parse(place[name])), found)))
    marked = current().hide_in(record, found)
    note = f"hidden in this result: {', '.join(sorted({secret.kind for secret in found}))}"
    for attempt in marked["attempts"]:
        attempt["notes"] = [*attempt["notes"], note]
    of_case = {name: record[name] for name in ("nodeid", "case_id", "file", "variant", "digests")}
    line = dump_json({**marked, **of_case})  # the names of the case stay
    return line, load_result(line)


def _with_clean_messages(attempt: Attempt) -> Attempt:
    """Clean messages of exceptions and providers; messages of the scorer are about data, and stay."""
    score = attempt.score
    if score is not None and score.failure is not None and score.failure.kind in DECLINED:
        score = replace(score, failure=replace(score.failure, message=clean_message(score.failure.message)))
    error = attempt.error and clean_message(attempt.error)
    adjustments, notes = (tuple(map(clean_message, texts)) for texts in (attempt.adjustments, attempt.notes))
    return replace(attempt, score=score, error=error, adjustments=adjustments, notes=notes)


def load_result(line: str) -> CaseResult:
    """Read one line; StoreError when it is no result, or of another version."""
    try:
        record = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise StoreError(f"not JSON: {error}") from error
    found = record.pop("format", None) if isinstance(record, dict) else None
    if found != FORMAT:
        raise StoreError(
            f"not a result of format {FORMAT} (found {found!r}): an earlier or a later version wrote it, or another "
            "program; write the file anew: run the cases again, or make a table of Parquet from the results in JSONL "
            "(`pytest-extract merge RESULTS.jsonl -o RESULTS.parquet`)"
        )
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
        for number, line in enumerate(self._lines(), start=1):
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

    def begins_with(self, pattern: re.Pattern[bytes]) -> bool:
        """Whether the file begins so, within its first hundred bytes."""
        with self._open(MOST_BATCHED_BYTES) as file:
            return pattern.match(file.read(100)) is not None

    def _lines(self) -> Iterator[bytes]:
        if self.begins_with(re.compile(b"PAR1")):
            yield from (f"{line}\n".encode() for line in _lines_of_parquet(self.path))
        else:
            with self._open(MOST_BULK_BYTES) as file:
                yield from file

    def _open(self, most: int) -> BinaryIO:
        try:
            return open_regular(self.path, most)
        except OSError as error:
            raise StoreError(f"{self.path}: cannot be read: {error}") from error


def write_results(path: Path | str, results: Iterable[CaseResult]) -> None:
    """Write a whole results file, atomically, result by result: as Parquet where the name ends in `.parquet`."""
    path = Path(path)
    if path.suffix.lower() == ".parquet":
        write_parquet(path, results)
    else:
        write_bytes_atomic(path, lambda file: file.writelines(f"{dump_result(each)}\n".encode() for each in results))


# --- a table of Arrow, a row for each attempt: the Parquet form, and what engines pass on

Table: TypeAlias = Any
"""A table or record batch of pyarrow, which has no type annotations of its own."""

ROWS_AT_ONCE: Final = 2_000
"""Rows of a batch, and of a row group: what is held in memory at once."""
_LINE: Final = "record_json"
"""Column with the line of a results file from which a result is read back, in the first row of a case."""


def import_pyarrow() -> Any:
    """Import pyarrow; ConfigError where it is not installed."""
    try:
        import pyarrow as pa
        import pyarrow.parquet
    except ImportError as error:
        raise ConfigError("results as Parquet need pyarrow: pip install 'pytest-extract[parquet]'") from error
    return pa


@cache
def result_schema() -> Any:
    """Return the Arrow schema of a table of results (`pyarrow.Schema`).

    A row is one attempt of a case. `results` holds the field and leaf results, each once. `gold`, `extracted`,
    `params`, `output` and `record_json` are JSON texts; a null `gold` or `extracted` is a key that is not there.
    Results are read from `record_json`, which the first row of a case has; other columns are for queries.
    """
    from pytest_extract.core.measures import MEASURES

    pa = import_pyarrow()
    text, number, count, flag = pa.string(), pa.float64(), pa.int64(), pa.bool_()

    def texts(names: str) -> list[tuple[str, Any]]:
        return [(name, text) for name in names.split()]

    result = [
        *texts("path pattern metric params status"), ("score", number), ("passed", flag),
        *texts("gold extracted reason"), ("weight", number), ("matched", text),
        ("field", flag), ("leaf", flag), ("passed_empty", flag),
        *texts("gold_type extracted_type"), ("confidence", number), ("citations", text),
    ]  # fmt: skip
    gate = pa.struct([("passed", flag), ("factor", number), ("why", text)])
    columns = [
        *texts("nodeid case_id file model prompt revision outcome why"),
        ("attempt", pa.int32()),
        *texts("attempt_outcome error semantics failure_kind failure_message"),
        ("gates", pa.struct([(name, gate) for name in ("parse", "root", "schema", "coverage")])),
        ("measures", pa.struct([(name, number) for name in MEASURES])),
        ("results", pa.list_(pa.struct(result))),
        *texts("output complexity modality"),
        ("shape", pa.struct([(each.name, count) for each in fields(Shape)])),
        *((name, number) for name in ("cost_usd", "latency_s", "duration_s")),
        (_LINE, text),
    ]
    return pa.schema(columns)


def table_of(results: Iterable[CaseResult]) -> Table:
    """Return results as one table, in their order; a case without an attempt has one row."""
    pa = import_pyarrow()
    rows = [row for result in results for row in _rows_of(result)]
    try:
        return pa.Table.from_pylist(rows, schema=result_schema())
    except UnicodeEncodeError:
        # halves of surrogate pairs, which Arrow's UTF-8 cannot hold, become escapes
        rows = with_texts(rows, lambda text: text.encode("utf-8", "backslashreplace").decode("utf-8"))
        return pa.Table.from_pylist(rows, schema=result_schema())


def write_parquet(path: Path, results: Iterable[CaseResult]) -> None:
    """Write results as a Parquet file, atomically; a few thousand of them are held in memory at once."""
    pa = import_pyarrow()
    remaining = iter(results)

    def write(file: IO[bytes]) -> None:
        with pa.parquet.ParquetWriter(file, result_schema(), compression="zstd") as writer:
            while len(table := table_of(islice(remaining, ROWS_AT_ONCE))):
                writer.write_table(table)

    write_bytes_atomic(path, write)


def _rows_of(result: CaseResult) -> Iterator[dict[str, Any]]:
    """Yield a row for each attempt of a case, one without where it has none; Arrow takes what is a column."""
    record = to_json(result)
    case = record | record["variant"] | {"model": result.variant.model or result.variant.param}
    if not result.attempts:
        yield {**case, "results": [], _LINE: dump_result(result)}
    for index, attempt in enumerate(result.attempts):
        own = record["attempts"][index]
        score = own["score"] or {}
        failure = score.get("failure") or {}
        yield {
            **case,
            **score,
            **own,
            "outcome": record["outcome"],
            "attempt": attempt.index,
            "attempt_outcome": own["outcome"],
            "output": None if attempt.output is None else dump_json(attempt.output),
            "failure_kind": failure.get("kind"),
            "failure_message": failure.get("message"),
            "results": [] if attempt.score is None else [*_result_rows(attempt.score)],
            _LINE: None if index else dump_result(result),
        }


def _result_rows(score: ScoreRecord) -> Iterator[dict[str, Any]]:
    """Yield the columns of each leaf and field result once: a result may be both."""
    fields: dict[tuple[FieldPath, str], list[FieldResult]] = defaultdict(list)
    for result in score.fields:
        fields[result.path, result.metric].append(result)
    for result in score.leaves:
        same = fields[result.path, result.metric]
        is_field = result in same
        if is_field:
            same.remove(result)
        yield _result_columns(result, field=is_field, leaf=True)
    for result in chain.from_iterable(fields.values()):
        yield _result_columns(result, field=True, leaf=False)


def _result_columns(result: FieldResult, *, field: bool, leaf: bool) -> dict[str, Any]:
    record = to_json(result)
    for name in record.keys() & {"params", "gold", "extracted", "citations"}:
        record[name] = dump_json(record[name])
    types = {f"{name}_type": json_type(getattr(result, name)) for name in ("gold", "extracted")}
    return {**record, **types, "field": field, "leaf": leaf, "passed_empty": result.passed_empty}


def _lines_of_parquet(path: Path) -> Iterator[str]:
    """Yield the results of a Parquet file as lines, a batch in memory at a time; StoreError for another file."""
    pa = import_pyarrow()
    try:
        with open_regular(path, MOST_BATCHED_BYTES) as source, pa.parquet.ParquetFile(source) as file:
            for batch in file.iter_batches(ROWS_AT_ONCE, columns=[_LINE]):
                yield from (line for line in batch.column(_LINE).to_pylist() if line is not None)
    except (pa.ArrowException, OSError, KeyError, ValueError) as error:
        raise StoreError(f"{path}: no table of results can be read: {type(error).__name__}: {error}") from error
