r"""The results file: one `CaseResult` a line, as JSON with a version number.

The text also travels from xdist workers to the controller; `--extract-from`, `compare` and `merge` read it.
Text is plain ASCII (`\u` escapes), so that lone surrogates survive any transport. The same results as a table of
Parquet are read wherever a results file is, and written where its name ends in `.parquet`. `pyarrow` (extra `parquet`)
is imported where a table is made or read.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cache
from itertools import islice, zip_longest
from pathlib import Path
from typing import IO, Any, BinaryIO, Final, TypeAlias

from pytest_extract.core.case_result import Attempt, Breach, CaseResult, Outcome, Usage, Variant
from pytest_extract.core.complexity import Shape
from pytest_extract.core.result_json import dump_json, from_json, to_json
from pytest_extract.core.results import DECLINED, FieldResult, ScoreRecord
from pytest_extract.core.values import FieldPath, Json, json_type, writable
from pytest_extract.errors import ConfigError, StoreError
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
        write_parquet(path, results)
    else:
        write_bytes_atomic(path, lambda file: file.writelines(f"{dump_result(each)}\n".encode() for each in results))


# --- a table of Arrow, a row for each attempt: the Parquet form, and what engines pass on

Table: TypeAlias = Any
"""A table or record batch of pyarrow, which has no type annotations of its own."""

ROWS_AT_ONCE: Final = 2_000
"""Rows of a batch, and of a row group: what is held in memory at once."""
_FORMAT_KEY: Final = b"pytest_extract.format"
_GATES: Final = ("parse", "root", "schema", "coverage")
_SHAPE: Final = tuple(each.name for each in fields(Shape))
_VARIANT: Final = ("model", "prompt", "revision")
_CASE: Final = ("nodeid", "case_id", "file", "outcome", "why", "complexity", "modality", "duration_s")
_ATTEMPT: Final = ("error", "cost_usd", "latency_s")
_JSON: Final = ("params", "gold", "extracted", "citations")
"""Columns of a field result that are JSON texts."""


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

    A row is one attempt of a case; the rows of a case follow each other. `results` holds the field and leaf results,
    each once. `gold`, `extracted`, `params`, `output` and `record_json` are JSON texts; a null `gold` or `extracted` is
    a key that is not there. Results are read from `record_json`, `output` and `results`; other columns are for queries.
    """
    from pytest_extract.core.measures import MEASURES

    pa = import_pyarrow()
    text, number, count, flag = pa.string(), pa.float64(), pa.int64(), pa.bool_()
    result = pa.struct(
        [
            *((name, text) for name in ("path", "pattern", "metric", "params", "status")),
            ("score", number), ("passed", flag), ("gold", text), ("extracted", text), ("reason", text),
            ("weight", number), ("matched", text), ("field", flag), ("leaf", flag), ("passed_empty", flag),
            ("gold_type", text), ("extracted_type", text),
            ("confidence", number), ("citations", text),
        ]
    )  # fmt: skip
    gate = pa.struct([("passed", flag), ("factor", number), ("why", text)])
    columns = [
        *((name, text) for name in ("nodeid", "case_id", "file", "model", "prompt", "revision", "outcome", "why")),
        ("attempt", pa.int32()),
        *((name, text) for name in ("attempt_outcome", "error", "semantics", "failure_kind", "failure_message")),
        ("gates", pa.struct([(name, gate) for name in _GATES])),
        ("measures", pa.struct([(name, number) for name in MEASURES])),
        ("results", pa.list_(result)),
        ("output", text),
        ("complexity", text), ("modality", text), ("shape", pa.struct([(name, count) for name in _SHAPE])),
        ("cost_usd", number), ("latency_s", number), ("duration_s", number),
        ("record_json", text),
    ]  # fmt: skip
    return pa.schema(columns, metadata={_FORMAT_KEY: str(FORMAT).encode()})


def table_of(results: Iterable[CaseResult]) -> Table:
    """Return results as one table, in their order; a case without an attempt has one row."""
    pa = import_pyarrow()
    rows = [row for result in results for row in _rows_of(result)]
    try:
        return pa.Table.from_pylist(rows, schema=result_schema())
    except UnicodeEncodeError:
        return pa.Table.from_pylist(_without_surrogates(rows), schema=result_schema())


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
    """Yield a row for each attempt of a case, one without an attempt where it has none."""
    record = to_json(replace(result, attempts=()))
    case = {name: record[name] for name in (*_CASE, "shape")} | {name: record["variant"][name] for name in _VARIANT}
    case["model"] = case["model"] or record["variant"]["param"]
    parts: dict[str, Json] = {"case": record}
    if not result.attempts:
        yield {**case, "results": [], "record_json": _text(parts)}
    for attempt in result.attempts:
        yield case | _attempt_columns(attempt, parts)
        parts = {}  # the first row of a case has it


def _attempt_columns(attempt: Attempt, parts: Mapping[str, Json]) -> dict[str, Any]:
    score = attempt.score
    record = to_json(replace(attempt, score=None, output=None))
    output = None if attempt.output is None else _text(attempt.output)
    row = {"attempt": attempt.index, "attempt_outcome": record["outcome"], "output": output, "results": []}
    row |= {name: record[name] for name in _ATTEMPT}
    parts = {**parts, "attempt": record}
    if score is not None:
        record = parts["score"] = to_json(replace(score, fields=(), leaves=()))
        failure = record["failure"] or {}
        row |= {name: record[name] for name in ("semantics", "measures", "gates")}
        row |= {f"failure_{name}": failure.get(name) for name in ("kind", "message")}
        row["results"] = [_result_columns(*each) for each in _with_roles(score)]
    return {**row, "record_json": _text(parts)}


def _result_columns(result: FieldResult, field: bool, leaf: bool) -> dict[str, Any]:  # noqa: FBT001
    record = to_json(result)
    texts: dict[str, Any] = {name: dump_json(record[name]) for name in _JSON if name in record}
    types = {f"{name}_type": json_type(getattr(result, name)) for name in ("gold", "extracted")}
    return {**record, **texts, **types, "field": field, "leaf": leaf, "passed_empty": result.passed_empty}


def _without_surrogates(value: Any) -> Any:
    """Return a value with the escapes of half surrogate pairs, which Arrow's UTF-8 cannot hold."""
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode("utf-8")
    if isinstance(value, list):
        return [*map(_without_surrogates, value)]
    return {name: _without_surrogates(each) for name, each in value.items()} if isinstance(value, Mapping) else value


def _with_roles(score: ScoreRecord) -> Iterator[tuple[FieldResult, bool, bool]]:
    """Yield each result once with (is a field result, is a leaf result); both orders stay as they are."""
    leaves = score.leaves
    places = {(leaf.path, leaf.metric): index for index, leaf in enumerate(leaves)}
    done = 0
    for field in score.fields:
        index = places.get((field.path, field.metric), -1)
        if index < done or not (leaves[index] is field or leaves[index] == field):
            yield field, True, False
            continue
        for leaf in leaves[done:index]:
            yield leaf, False, True
        yield field, True, True
        done = index + 1
    for leaf in leaves[done:]:
        yield leaf, False, True


def _text(value: Json) -> str:
    try:
        return dump_json(value)
    except (TypeError, ValueError, RecursionError):
        return dump_json(writable(value))


def read_parquet(path: Path) -> Iterator[CaseResult]:
    """Yield the results of a Parquet file, a batch in memory at a time; StoreError where it is none of ours."""
    pa = import_pyarrow()
    try:
        with open_regular(path, MOST_BATCHED_BYTES) as source, pa.parquet.ParquetFile(source) as file:
            _check_schema(file.schema_arrow)
            yield from _cases(row for batch in file.iter_batches(ROWS_AT_ONCE) for row in batch.to_pylist())
    except (pa.ArrowException, OSError, KeyError, TypeError, ValueError) as error:
        raise StoreError(f"{path}: no table of results can be read: {type(error).__name__}: {error}") from error


def results_of(table: Table) -> Iterator[CaseResult]:
    """Yield the results that a table of `result_schema` holds."""
    pa = import_pyarrow()
    try:
        _check_schema(table.schema)
        yield from _cases(table.select(result_schema().names).cast(result_schema()).to_pylist())
    except (pa.ArrowException, KeyError, TypeError, ValueError) as error:
        raise StoreError(f"no table of results: {type(error).__name__}: {error}") from error


def _check_schema(schema: Any) -> None:
    """Raise ValueError for a table of another kind or version; engines drop the metadata, so it need not be there."""
    found = (schema.metadata or {}).get(_FORMAT_KEY, str(FORMAT).encode()).decode("utf-8", "replace")
    if found != str(FORMAT):
        raise ValueError(f"it has format {found}, and this version reads {FORMAT}")
    if lacking := [name for name in result_schema().names if name not in schema.names]:
        raise ValueError(f"it has no column {lacking[0]!r}; the columns are {', '.join(result_schema().names)}")


def _cases(rows: Iterable[dict[str, Any]]) -> Iterator[CaseResult]:
    """Yield cases from rows; the rows of a case follow each other, the attempt of index 0 first."""
    first: dict[str, Any] | None = None
    attempts: list[Attempt] = []
    for row in rows:
        if first is not None and (not row["attempt"] or not _is_same_case(first, row)):
            yield _case(first, attempts)
            first = None
        if first is None:
            first, attempts = row, []
        if row["attempt"] is not None:
            attempts.append(_attempt(row))
    if first is not None:
        yield _case(first, attempts)


def _is_same_case(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    return all(one[name] == other[name] for name in ("nodeid", "model", "prompt", "revision"))


def _case(row: Mapping[str, Any], attempts: Sequence[Attempt]) -> CaseResult:
    result: CaseResult = from_json(CaseResult, json.loads(row["record_json"])["case"], attempts=tuple(attempts))
    return result


def _attempt(row: Mapping[str, Any]) -> Attempt:
    parts = json.loads(row["record_json"])
    score: ScoreRecord | None = None
    if "score" in parts:
        results = [(_result(each), each["field"], each["leaf"]) for each in row["results"]]
        fields = tuple(result for result, is_field, _ in results if is_field)
        leaves = tuple(result for result, _, is_leaf in results if is_leaf)
        score = from_json(ScoreRecord, parts["score"], fields=fields, leaves=leaves)
    output = None if row["output"] is None else json.loads(row["output"])
    attempt: Attempt = from_json(Attempt, parts["attempt"], score=score, output=output)
    return attempt


def _result(row: Mapping[str, Any]) -> FieldResult:
    record = {name: row[name] for name in FieldResult._fields if row[name] is not None}
    result: FieldResult = from_json(
        FieldResult, record | {name: json.loads(record[name]) for name in _JSON if name in record}
    )
    return result
