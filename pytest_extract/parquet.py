"""Results as a table of Arrow, a row for each attempt: the Parquet form of the results file, and what engines pass on.

`pyarrow` (extra `parquet`) is imported where a table is made or read. The columns are those of `result_schema`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import fields
from functools import cache
from itertools import islice
from pathlib import Path
from typing import IO, Any, Final, TypeAlias

from pytest_extract.core.case_result import Attempt, CaseResult
from pytest_extract.core.complexity import Shape
from pytest_extract.core.field_metadata import citations_to_json, metadata_from_json
from pytest_extract.core.measures.table import MEASURES
from pytest_extract.core.result_json import fields_from_json, fields_to_json
from pytest_extract.core.results import STATUS_OF, AnnotatedResult, FieldResult, ScoreRecord
from pytest_extract.core.score_json import (
    dump_json,
    path_of,
    score_from_json,
    score_to_json_without_results,
)
from pytest_extract.core.shared_results import SharedResults
from pytest_extract.core.values import MISSING, FieldPath, Json, json_type, writable
from pytest_extract.errors import ConfigError, StoreError
from pytest_extract.files import MOST_BATCHED_BYTES, open_regular, write_bytes_atomic

Table: TypeAlias = Any
"""A table or record batch of pyarrow, which has no type annotations of its own."""

FORMAT: Final = "1"
ROWS_AT_ONCE: Final = 2_000
"""Rows of a batch, and of a row group: what is held in memory at once."""
_FORMAT_KEY: Final = b"pytest_extract.format"
_GATES: Final = ("parse", "root", "schema", "coverage")
_SHAPE: Final = tuple(each.name for each in fields(Shape))
_CASE_COLUMNS: Final = frozenset(
    {"nodeid", "case_id", "file", "arm", "outcome", "why", "attempts", "complexity", "modality", "shape", "duration_s"}
)
_ATTEMPT_COLUMNS: Final = frozenset({"index", "outcome", "score", "output", "error", "cost_usd", "latency_s"})
_SCORE_COLUMNS: Final = frozenset({"format", "semantics", "failure", "measures", "gates", "empty_passes"})
_SKIPPED_VALUES: Final = frozenset({"path", "params", "gold", "extracted", "matched", "confidence", "citations"})
"""Columns of a field result that only a reader of values needs."""


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
    each once. `gold`, `extracted`, `params`, `output` and `rest_json` are JSON texts; a null `gold` or `extracted` is a
    key that is not there. `rest_json` holds what has no column of its own.
    """
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
        ("rest_json", text),
    ]  # fmt: skip
    return pa.schema(columns, metadata={_FORMAT_KEY: FORMAT.encode()})


# --- writing


def table_of(results: Iterable[CaseResult]) -> Table:
    """Return results as one table, in their order; a case without an attempt has one row."""
    rows = _Rows()
    for result in results:
        rows.add(result)
    return rows.table()


def tables_of(results: Iterable[CaseResult]) -> Iterator[Table]:
    """Yield results as tables of a few thousand each, in their order."""
    remaining = iter(results)
    while len(table := table_of(islice(remaining, ROWS_AT_ONCE))):
        yield table


def write_parquet(path: Path, results: Iterable[CaseResult]) -> None:
    """Write results as a Parquet file, atomically; a few thousand of them are held in memory at once."""
    write_tables(path, tables_of(results))


def write_tables(path: Path, tables: Iterable[Table]) -> None:
    """Write tables of `result_schema` as one Parquet file, atomically, small ones together."""
    pa = import_pyarrow()

    def write(file: IO[bytes]) -> None:
        waiting: list[Table] = []
        with pa.parquet.ParquetWriter(file, result_schema(), compression="zstd") as writer:
            for table in tables:
                waiting.append(table)
                if sum(map(len, waiting)) >= ROWS_AT_ONCE:
                    writer.write_table(pa.concat_tables(waiting))
                    waiting = []
            if waiting:
                writer.write_table(pa.concat_tables(waiting))

    write_bytes_atomic(path, write)


class _PathTexts(dict[FieldPath, str]):
    """The texts of paths, each made once: the records of a table have the same ones."""

    def __missing__(self, path: FieldPath) -> str:
        text = self[path] = str(path)
        return text


class _Rows:
    """Columns being filled, as flat lists: converted to Arrow at once, they take a tenth of the time of dicts."""

    def __init__(self) -> None:
        self._columns: dict[str, list[Any]] = {name: [] for name in result_schema().names if name != "results"}
        self._offsets = [0]
        self._results: list[tuple[Any, ...]] = []
        self._texts = _PathTexts()
        self._params: dict[int, tuple[Mapping[str, Json], str]] = {}

    def add(self, result: CaseResult) -> None:
        arm, case_rest = result.arm, _rest_of(result, _CASE_COLUMNS)
        if further := {name: value for name, value in result.shape.items() if name not in _SHAPE}:
            case_rest["shape"] = further
        if arm.mode is not None:  # few runs compare modes: it has no column
            case_rest["mode"] = arm.mode
        case = {
            "nodeid": result.nodeid, "case_id": result.case_id, "file": result.file, "model": arm.model,
            "prompt": arm.prompt, "revision": arm.revision, "outcome": str(result.outcome), "why": result.why,
            "complexity": result.complexity, "modality": result.modality, "shape": result.shape,
            "duration_s": result.duration_s,
        }  # fmt: skip
        if not result.attempts:
            self._append({**case, "rest_json": _rest_text(case=case_rest)}, ())
        for attempt in result.attempts:
            row: dict[str, Any] = {
                **case,
                "attempt": attempt.index,
                "attempt_outcome": str(attempt.outcome),
                "error": attempt.error,
                "output": _output_text(attempt.output),
                "cost_usd": attempt.cost_usd,
                "latency_s": attempt.latency_s,
            }
            score_rest: dict[str, Json] = {}
            if attempt.score is not None:
                score = score_to_json_without_results(attempt.score)
                row |= _score_columns(score)
                score_rest = _score_rest(score)
            attempt_rest = _rest_of(attempt, _ATTEMPT_COLUMNS)
            row["rest_json"] = _rest_text(case=case_rest, attempt=attempt_rest, score=score_rest)
            self._append(row, () if attempt.score is None else _with_roles(attempt.score))
            case_rest = {}  # the first row of a case has it

    def _append(self, row: Mapping[str, Any], results: Iterable[tuple[FieldResult, bool, bool]]) -> None:
        for name, column in self._columns.items():
            column.append(row.get(name))
        self._results += [self._result_values(*each) for each in results]
        self._offsets.append(len(self._results))

    def _result_values(self, result: FieldResult, field: bool, leaf: bool) -> tuple[Any, ...]:  # noqa: FBT001
        path, pattern, metric, params, status, score, passed, gold, extracted, reason, weight, matched = result
        known = self._params.get(id(params))
        if known is None:  # `params` is kept with its text: the id of what is gone may come again
            known = self._params[id(params)] = params, dump_json(dict(params))
        return (
            self._texts[path], pattern, metric, known[1], status.value, score, passed,
            None if gold is MISSING else dump_json(gold),
            None if extracted is MISSING else dump_json(extracted),
            reason, weight, None if matched is None else str(matched), field, leaf, result.passed_empty,
            json_type(gold), json_type(extracted),
            *_metadata_columns(result),
        )  # fmt: skip

    def table(self) -> Table:
        pa = import_pyarrow()
        schema = result_schema()
        kind = schema.field("results").type.value_type
        values = list(zip(*self._results, strict=True)) or [()] * kind.num_fields
        members = [_array(pa, column, kind.field(index).type) for index, column in enumerate(values)]
        results = pa.ListArray.from_arrays(
            pa.array(self._offsets, pa.int32()), pa.StructArray.from_arrays(members, fields=list(kind))
        )
        arrays = [
            results if name == "results" else _array(pa, self._columns[name], schema.field(name).type)
            for name in schema.names
        ]
        return pa.Table.from_arrays(arrays, schema=schema)


def _metadata_columns(result: FieldResult) -> tuple[float | None, str | None]:
    if not isinstance(result, AnnotatedResult):
        return None, None
    confidence, citations = result.metadata
    return confidence, dump_json(citations_to_json(citations)) if citations else None


def _array(pa: Any, values: Sequence[Any], kind: Any) -> Any:
    """Return an Arrow array; half a surrogate pair, which Arrow's UTF-8 cannot hold, is written as its escape."""
    try:
        return pa.array(values, kind)
    except UnicodeEncodeError:
        return pa.array([_without_surrogates(value) for value in values], kind)


def _without_surrogates(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode("utf-8")
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


def _score_columns(score: Mapping[str, Json]) -> dict[str, Any]:
    failure = score["failure"] or {}
    return {
        **{name: score[name] for name in ("semantics", "gates", "measures")},
        "failure_kind": failure.get("kind"),
        "failure_message": failure.get("message"),
    }


def _score_rest(score: Mapping[str, Json]) -> dict[str, Json]:
    """Return what is not empty of a score's JSON and has no column; of the failure, its place."""
    rest = {name: value for name, value in score.items() if value and name not in _SCORE_COLUMNS}
    if further := {name: value for name, value in score["measures"].items() if name not in MEASURES}:
        rest["measures"] = further
    failure = score["failure"]
    if failure is not None and (failure["line"] is not None or failure["path"] is not None):
        rest["failure"] = failure
    return rest


def _rest_of(instance: CaseResult | Attempt, columns: frozenset[str]) -> dict[str, Json]:
    """Return the fields of a result that have no column of their own, where they are not what they are by default."""
    kind: Any = type(instance)
    others = [name for name, default in _fields_with_defaults(kind, columns) if getattr(instance, name) != default]
    return fields_to_json(instance, but=instance.__dataclass_fields__.keys() - others) if others else {}


@cache
def _fields_with_defaults(kind: Any, columns: frozenset[str]) -> Sequence[tuple[str, Any]]:
    """Return the fields of a result type that are no columns, each with its default."""
    others = [each for each in fields(kind) if each.name not in columns]
    return [(each.name, each.default_factory() if callable(each.default_factory) else each.default) for each in others]


def _rest_text(**parts: Mapping[str, Json]) -> str | None:
    rest = {name: part for name, part in parts.items() if part}
    if not rest:
        return None
    try:
        return dump_json(rest)
    except (TypeError, ValueError, RecursionError):
        return dump_json(writable(rest))


def _output_text(output: Json) -> str | None:
    if output is None:
        return None
    try:
        return dump_json(output)
    except (TypeError, ValueError, RecursionError):
        return dump_json(writable(output))


# --- reading


def read_parquet(path: Path, *, shared: SharedResults | None = None) -> Iterator[CaseResult]:
    """Yield the results of a Parquet file, a batch in memory at a time; StoreError where it is none of ours.

    With `shared`, results have no paths, values, parameters and outputs, and the columns of these are not read.
    """
    pa = import_pyarrow()
    try:
        with open_regular(path, MOST_BATCHED_BYTES) as source, pa.parquet.ParquetFile(source) as file:
            _check_schema(file.schema_arrow)
            columns = None if shared is None else _columns_without_values(file.schema)
            yield from _cases(
                row for batch in file.iter_batches(ROWS_AT_ONCE, columns=columns) for row in _rows_of(batch, shared)
            )
    except (pa.ArrowException, OSError, KeyError, TypeError, ValueError) as error:
        raise StoreError(f"{path}: no table of results can be read: {type(error).__name__}: {error}") from error


def results_of(table: Table) -> Iterator[CaseResult]:
    """Yield the results that a table of `result_schema` holds."""
    pa = import_pyarrow()
    try:
        _check_schema(table.schema)
        yield from _cases(_rows_of(table.select(result_schema().names).cast(result_schema())))
    except (pa.ArrowException, KeyError, TypeError, ValueError) as error:
        raise StoreError(f"no table of results: {type(error).__name__}: {error}") from error


def _check_schema(schema: Any) -> None:
    """Raise ValueError for a table of another kind or version; engines drop the metadata, so it need not be there."""
    found = (schema.metadata or {}).get(_FORMAT_KEY, FORMAT.encode()).decode("utf-8", "replace")
    if found != FORMAT:
        raise ValueError(f"it has format {found}, and this version reads {FORMAT}")
    if lacking := [name for name in result_schema().names if name not in schema.names]:
        raise ValueError(f"it has no column {lacking[0]!r}; the columns are {', '.join(result_schema().names)}")


def _columns_without_values(schema: Any) -> list[str]:
    """Return the columns of a Parquet schema but those of values; how members of lists are called differs by writer."""
    paths = [schema.column(index).path for index in range(len(schema))]
    steps = [(path, path.split(".")) for path in paths]
    return [
        path
        for path, (top, *_, last) in ((path, [*parts, parts[-1]]) for path, parts in steps)
        if top != "output" and not (top == "results" and last in _SKIPPED_VALUES)
    ]


def _rows_of(table: Table, shared: SharedResults | None = None) -> Iterator[dict[str, Any]]:
    """Yield each row of a table or batch, its results as tuples of a method that makes one."""
    columns = {name: table.column(name) for name in table.schema.names if name in result_schema().names}
    nested = _flat(columns.pop("results"))
    ends = nested.offsets.to_pylist()
    struct = nested.values
    members = {struct.type.field(index).name: column.to_pylist() for index, column in enumerate(struct.flatten())}
    results = _field_results(members) if shared is None else _shared_results(members, shared)
    roles = list(zip(members["field"], members["leaf"], strict=True))
    lists = {name: column.to_pylist() for name, column in columns.items()}
    for index in range(len(table)):
        row = {name: values[index] for name, values in lists.items()}
        span = range(ends[index], ends[index + 1])
        row["fields"] = tuple([results[at] for at in span if roles[at][0]])
        row["leaves"] = tuple([results[at] for at in span if roles[at][1]])
        yield row


def _flat(column: Any) -> Any:
    """Return a column of lists as one list array, whose offsets and values fit together."""
    pa = import_pyarrow()
    chunks = getattr(column, "chunks", None)
    if chunks is None:
        return column
    return pa.concat_arrays(chunks) if chunks else pa.array([], result_schema().field("results").type)


def _field_results(members: Mapping[str, list[Any]]) -> list[FieldResult]:
    params: dict[str, Mapping[str, Json]] = {}
    rows = zip(*(members[name] for name in FieldResult._fields), strict=True)
    results = [_field_result(row, params) for row in rows]
    for at, (confidence, citations) in enumerate(zip(members["confidence"], members["citations"], strict=True)):
        if confidence is not None or citations is not None:
            reported = {"confidence": confidence, "citations": json.loads(citations or "[]")}
            results[at] = AnnotatedResult.of(results[at], metadata_from_json(reported))
    return results


def _shared_results(members: Mapping[str, list[Any]], shared: SharedResults) -> list[FieldResult]:
    checked = ("pattern", "metric", "status", "score", "passed", "weight")
    rows = zip(*(members[name] for name in checked), strict=True)
    types = zip(members["gold_type"], members["extracted_type"], strict=True)
    reasons = zip(members["reason"], members["passed_empty"], strict=True)
    return [
        shared.result((*row, both, reason if empty else None))
        for row, both, (reason, empty) in zip(rows, types, reasons, strict=True)
    ]


def _field_result(row: tuple[Any, ...], known: dict[str, Mapping[str, Json]]) -> FieldResult:
    path, pattern, metric, params, status, score, passed, gold, extracted, reason, weight, matched = row
    if params not in known:
        known[params] = json.loads(params)
    return FieldResult(
        path_of(path), pattern, metric, known[params], STATUS_OF[status], score, passed,
        MISSING if gold is None else json.loads(gold),
        MISSING if extracted is None else json.loads(extracted),
        reason, weight, None if matched is None else path_of(matched),
    )  # fmt: skip


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


def _rest_in(row: Mapping[str, Any], part: str) -> dict[str, Json]:
    text = row["rest_json"]
    rest: dict[str, Json] = {} if text is None else json.loads(text).get(part, {})
    return rest


def _case(row: Mapping[str, Any], attempts: Sequence[Attempt]) -> CaseResult:
    rest, shape = _rest_in(row, "case"), row["shape"] or {}
    mode = rest.pop("mode", None)
    known = {
        **rest,
        **{name: row[name] for name in ("nodeid", "case_id", "file", "outcome", "why", "complexity", "modality")},
        "arm": {**{name: row[name] for name in ("model", "prompt", "revision")}, "mode": mode},
        "shape": {name: value for name, value in shape.items() if value is not None} | rest.get("shape", {}),
        "duration_s": row["duration_s"],
        "attempts": (),
    }
    result: CaseResult = fields_from_json(CaseResult, known, given={"attempts": tuple(attempts)})
    return result


def _attempt(row: Mapping[str, Any]) -> Attempt:
    known = {
        **_rest_in(row, "attempt"),
        "index": row["attempt"],
        "outcome": row["attempt_outcome"],
        "error": row["error"],
        "output": None if row.get("output") is None else json.loads(row["output"]),
        "cost_usd": row["cost_usd"],
        "latency_s": row["latency_s"],
    }
    score = None if row["semantics"] is None else _score(row)
    attempt: Attempt = fields_from_json(Attempt, known, given={"score": score})
    return attempt


def _score(row: Mapping[str, Any]) -> ScoreRecord:
    rest = _rest_in(row, "score")
    failure = None
    if row["failure_kind"] is not None:
        failure = rest.get("failure", {}) | {"kind": row["failure_kind"], "message": row["failure_message"]}
    measures = {name: value for name, value in row["measures"].items() if value is not None}
    record = {
        "arrays": (),
        "vacuous": 0,
        "questions": 0,
        **rest,
        "semantics": row["semantics"],
        "failure": failure,
        "measures": measures | rest.get("measures", {}),
        "gates": row["gates"],
    }
    return score_from_json(record, (row["fields"], row["leaves"]))
