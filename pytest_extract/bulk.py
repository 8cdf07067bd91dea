"""Scores tables of any size: an iterator, worker processes, or batch by batch for Ray Data, Dask and Spark.

A record has `id`, `gold` and `output`, and may have a `schema` of its own. The same records give the same results
whatever scores them. Results are those of a pytest run (`CaseResult`), so every command reads them.
"""

from __future__ import annotations

import json
import pickle
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from itertools import islice
from pathlib import Path
from typing import Any, Final, TypeAlias

from pytest_extract.cases.model import Thresholds, checked_argument
from pytest_extract.cases.schemas import field_problem
from pytest_extract.core import arguments
from pytest_extract.core.arguments import NotJson, json_argument, kept_text, plain_json
from pytest_extract.core.case_result import Attempt, CaseResult, Outcome, Variant
from pytest_extract.core.complexity import complexity_of
from pytest_extract.core.parse import parse_output
from pytest_extract.core.results import FailureKind, Judge
from pytest_extract.core.scorer import ScoreOptions, Scorer, compile_schema
from pytest_extract.core.values import MISSING, Json, short_repr, text_digest
from pytest_extract.errors import ConfigError, ExtractError, StoreError
from pytest_extract.files import MOST_BULK_BYTES, open_regular
from pytest_extract.redact import clean_message
from pytest_extract.results import ROWS_AT_ONCE, Table, import_pyarrow, result_schema, table_of, write_results
from pytest_extract.run_case import Requirements, judged, with_bounded_measures

__all__ = ["BulkScorer", "read_table", "result_schema", "score_records", "score_table", "table_of"]

Record: TypeAlias = Mapping[str, Json]
CHUNK: Final = 100
"""Records that a worker process gets at once."""
COLUMNS: Final = ("id", "gold", "output", "schema", "modality", "tags", "model", "prompt", "revision", "finish_reason")
"""Columns that are read; `id`, `gold` and `output` are needed."""
_NEEDED: Final = ("gold", "output")
_UNREADABLE: Final = "unreadable"
"""Key of a record that could not be read: why."""


@dataclass(frozen=True, kw_only=True)
class BulkScorer:
    """Scores records, one by one or as batches of a table; it pickles and threads may share it.

    scorer: what scores the records without a `schema` of their own; None where each has one.
    name: what the table is called in results, where the path of a case file stands else.
    options: arguments of `compile_schema` for the schemas of records; by default those that `scorer` was made with.
    thresholds, gates, modality: as in a case; a record's own `modality` comes before. Each field with a bound is one
    that the schema declares.
    confidence: the shape in which outputs hold values with their confidence, as in a case.
    judge: who answers what only a judge can decide; a record that stays undecided is an error.
    """

    scorer: Scorer | None = None
    name: str = "table"
    options: Mapping[str, Any] | None = None
    thresholds: Mapping[str, Any] = field(default_factory=dict)
    gates: Mapping[str, Any] | None = None
    modality: str = "text"
    confidence: Mapping[str, Json] | str | None = None
    judge: Judge | None = None

    def __post_init__(self) -> None:
        arguments.instance("scorer", self.scorer, Scorer, "a Scorer, made by compile_schema()")
        thresholds = self._bounds.thresholds
        if thresholds.max_latency_s is not None or thresholds.max_cost_usd is not None:
            raise ConfigError("thresholds: a table of outputs knows no latency and no cost of their calls")
        if self.scorer is not None:
            self._check_fields(self.scorer)

    @cached_property
    def _options(self) -> ScoreOptions:
        return ScoreOptions(judge=self.judge, modality=self.modality, gates=self.gates, confidence=self.confidence)

    @cached_property
    def _bounds(self) -> Requirements:
        thresholds = Thresholds.of(checked_argument("thresholds", self.thresholds))
        return Requirements(thresholds=thresholds, absent={}, rules=self._options.rules_gate)

    def score(self, record: Record) -> CaseResult:
        """Score one record. Whatever is wrong with it, or raised, makes it an error that says why; nothing is raised.

        A text as `gold` or `schema` is JSON, one as `output` is what a model wrote.
        """
        try:
            return self._scored(record)
        except Exception as error:  # noqa: BLE001 - a record costs nothing but itself
            why = str(error) if isinstance(error, ExtractError) else f"{type(error).__name__}: {error}"
            return self.error(record, clean_message(why))

    def score_batch(self, batch: Table) -> Table:
        """Score a batch: a table of Arrow gives one of Arrow, a pandas frame gives a frame.

        The result has the columns of `result_schema()`. This is what `ray.data.Dataset.map_batches` (with
        `batch_format="pyarrow"`) and Dask's `map_partitions` call. Raises ConfigError without a column of
        golds or outputs.
        """
        found = table_of(map(self.score, _records_in(batch)))
        return found.to_pandas() if _is_frame(batch) else found

    def score_batches(self, batches: Iterable[Any]) -> Iterator[Any]:
        """Score one record batch of Arrow after the other: what Spark's `DataFrame.mapInArrow` calls."""
        for batch in batches:
            yield from self.score_batch(batch).to_batches()

    def error(self, record: Record, why: str) -> CaseResult:
        """Return the result of a record that could not be scored."""
        attempt = Attempt(index=0, outcome=Outcome.ERROR, error=why)
        return CaseResult(**self._identity(record), outcome=Outcome.ERROR, why=why, attempts=(attempt,))

    def _identity(self, record: Record) -> dict[str, Any]:
        named = {name: record.get(name) for name in ("model", "prompt", "revision")}
        variant = Variant(**{name: None if given is None else _text_of(given) for name, given in named.items()})
        if (given := record.get("id")) is not None and given != "":
            name = _text_of(given)
        else:  # named by its content, whatever scores it
            content = [_text_of(_plain_output(record.get(part))) for part in ("gold", "output", "schema", _UNREADABLE)]
            name = f"no-id-{text_digest(json.dumps(content))[:12]}"
        nodeid = f"{self.name}::{name}" + (f"[{variant.label}]" if variant.label else "")
        return {"nodeid": nodeid, "case_id": name, "file": self.name, "variant": variant}

    def _scored(self, record: Record) -> CaseResult:
        if _UNREADABLE in record:
            raise ConfigError(str(record[_UNREADABLE]))
        for name in _NEEDED:
            if name not in record:
                raise ConfigError(f"the record has no {name!r}; it has {', '.join(map(repr, record)) or 'nothing'}")
        options = replace(
            self._options, modality=record.get("modality") or self.modality, finish_reason=record.get("finish_reason")
        )
        tags = _value_of("tags", record.get("tags"))
        if not isinstance(tags, Mapping | None):
            raise ConfigError(f"`tags` must be a mapping, not {short_repr(tags)}")
        gold = _value_of("gold", record["gold"])
        scorer = self._scorer_for(record.get("schema"))
        # a record's own schema may be what a model was given, in another spelling than the gold's
        if record.get("schema") is None and (problem := scorer.gold_problem(gold, options)) is not None:
            raise ConfigError(problem)
        score = scorer.score_text(gold, record["output"], options)
        score = with_bounded_measures(score, gold, self._bounds.thresholds)
        if score.failure is not None and score.failure.kind is FailureKind.EXTRACTOR_ERROR:
            return self.error(record, score.failure.message)
        outcome, breaches, error = judged(self._bounds, score)
        attempt = Attempt(
            index=0,
            outcome=outcome,
            score=score.record(),
            output=_plain_output(record["output"]),
            error=error,
            breaches=breaches,
            finish_reason=options.finish_reason,
            notes=(*score.wrapped.values(), *score.notes),
        )
        shape = scorer.shape_of(gold)
        return CaseResult(
            **self._identity(record),
            outcome=outcome,
            why=error or "; ".join(breach.message for breach in breaches) or None,
            breaches=() if error else breaches,
            attempts=(attempt,),
            tags=tags or {},
            complexity=complexity_of(tags or {}, shape),
            modality=options.modality,
            shape=shape.to_dict(),
        )

    def _scorer_for(self, schema: Json) -> Scorer:
        if schema is None:
            if self.scorer is None:
                raise ConfigError("the record has no `schema`, and the BulkScorer has no scorer for such records")
            return self.scorer
        options = self.options
        if options is None and self.scorer is not None:
            options = {name: value for name, value in self.scorer.source.items() if name != "schema"}
        given = _value_of("schema", schema) if isinstance(schema, str) else schema
        scorer = compile_schema(given, **(options or {}))
        self._check_fields(scorer)
        return scorer

    def _check_fields(self, scorer: Scorer) -> None:
        """Refuse bounds on fields that have no score: they would pass whatever is extracted."""
        for place in self._bounds.thresholds.fields:
            problem = field_problem(place, scorer.program, None, bounded=True)
            if problem is not None:
                raise ConfigError(f"thresholds.fields: {problem}")


def _text_of(given: object) -> str:
    """Write what names a record: a frame holds whole numbers as floats where some row has none."""
    return str(int(given) if isinstance(given, float) and given.is_integer() else given)


def _value_of(name: str, given: Json) -> Json:
    """Return a gold, schema or tags: of a text its JSON, else the value, with lists and mappings of Python's own."""
    if not isinstance(given, str):
        return json_argument(f"`{name}`", given)
    parsed = parse_output(given)
    if parsed.value is not MISSING and not parsed.wrapped:
        return parsed.value
    why = "it has text around its JSON" if parsed.failure is None else str(parsed.failure)
    raise ConfigError(f"`{name}` is a text, and no JSON: {why}")


def _plain_output(output: object) -> Json:
    """Return an output as it is kept: engines hand lists over as arrays of numpy, or as lists."""
    if output is None or isinstance(output, str):
        return output
    try:
        return plain_json(output)
    except NotJson:
        return kept_text(output)


# --- batches


def _is_frame(batch: Table) -> bool:
    return type(batch).__module__.partition(".")[0] == "pandas"


def _records_in(batch: Table) -> Iterator[Record]:
    if _is_frame(batch):
        names = [name for name in batch.columns if name in COLUMNS]
        known = batch[names].astype(object)
        columns = [known[name].where(known[name].notna(), None).tolist() for name in names]
    else:
        names = [name for name in batch.schema.names if name in COLUMNS]
        columns = [batch.column(name).to_pylist() for name in names]
    lacking = [name for name in _NEEDED if name not in names]
    if len(batch) and lacking:  # an engine may hand over no rows without any columns
        raise ConfigError(f"there is no column {lacking[0]!r}; needed are id, gold and output")
    return (dict(zip(names, values, strict=True)) for values in zip(*columns, strict=True))


# --- one process, or worker processes


def score_records(scorer: BulkScorer, records: Iterable[Record], *, workers: int | None = None) -> Iterator[CaseResult]:
    """Yield the result of each record, in the order of the records; memory holds a few hundred of them.

    `workers`: None scores in this process; a number starts so many processes. A record that kills its process is an
    error and costs no other record anything. A script that starts processes has its own calls below
    `if __name__ == "__main__":`, as `multiprocessing` wants it.
    """
    arguments.count("workers", workers)
    if workers is None:
        yield from map(scorer.score, records)
        return
    try:
        message = pickle.dumps(scorer)
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        advice = "functions of a project (metrics, judges, ...) must be those of a module, not of another function"
        raise ConfigError(f"the scorer cannot be sent to another process: {error}; {advice}") from error
    remaining = iter(records)
    chunks = iter(lambda: list(islice(remaining, CHUNK)), [])
    while True:
        sent: deque[list[Record]] = deque()
        found: deque[Future[list[CaseResult]]] = deque()
        with _pool(workers) as pool:
            try:
                for chunk in chunks:
                    sent.append(chunk)  # kept first: the pool may end at the moment that takes it
                    found.append(pool.submit(_score_chunk, message, chunk))
                    if len(found) > 2 * workers:
                        yield from found.popleft().result()
                        sent.popleft()
                while found:
                    yield from found.popleft().result()
                    sent.popleft()
            except BrokenProcessPool:
                pass  # one of these kills its process, and all of the pool end with it
            else:
                return
            finally:
                pool.shutdown(cancel_futures=True)
        for chunk in sent:
            yield from _alone(scorer, chunk, message)


@dataclass(frozen=True, slots=True, kw_only=True)
class BulkTotals:
    """How the records of a table ended."""

    passed: int = 0
    failed: int = 0
    error: int = 0

    @property
    def records(self) -> int:
        """All records."""
        return self.passed + self.failed + self.error


def score_table(
    scorer: BulkScorer, source: Path | str, target: Path | str, *, workers: int | None = None
) -> BulkTotals:
    """Score the records of a Parquet or JSONL file, and write the results file, as Parquet by its name.

    `workers`: as in `score_records`. Raises StoreError for a source that cannot be read.
    """
    counts: Counter[str] = Counter()

    def counted() -> Iterator[CaseResult]:
        for result in score_records(scorer, read_table(source), workers=workers):
            counts[result.outcome] += 1
            yield result

    write_results(target, counted())
    return BulkTotals(**counts)


def read_table(path: Path | str) -> Iterator[Record]:
    """Yield the records of a Parquet or JSONL file, a batch or line in memory; StoreError if it cannot be read.

    A line that is no JSON object is a record that `BulkScorer.score` takes for an error; its id is its line.
    """
    path = Path(path)
    try:
        if path.suffix.lower() == ".parquet":
            pa = import_pyarrow()
            with pa.parquet.ParquetFile(path) as file:
                names = [name for name in file.schema_arrow.names if name in COLUMNS]
                for batch in file.iter_batches(ROWS_AT_ONCE, columns=names):
                    yield from _records_in(batch)
        else:
            with open_regular(path, MOST_BULK_BYTES) as lines:
                yield from (_record_of(line, number) for number, line in enumerate(lines, start=1) if line.strip())
    except (OSError, ValueError, ConfigError) as error:
        raise StoreError(f"{path}: cannot be read: {error}") from error


def _record_of(line: bytes, number: int) -> Record:
    try:
        record = json.loads(line)
        if isinstance(record, dict):
            return {name: record[name] for name in COLUMNS if name in record}
        why = f"no JSON object, but {short_repr(record)}"
    except (ValueError, RecursionError) as error:
        why = f"no JSON: {error}"
    return {"id": f"line {number}", _UNREADABLE: f"line {number} is {why}"}


# --- worker processes


@lru_cache(maxsize=1)
def _unpickled(message: bytes) -> BulkScorer:
    scorer: BulkScorer = pickle.loads(message)  # noqa: S301 - from the process that started this one
    return scorer


def _score_chunk(message: bytes, records: Sequence[Record]) -> list[CaseResult]:
    return [*map(_unpickled(message).score, records)]


def _alone(scorer: BulkScorer, records: Sequence[Record], message: bytes) -> Iterator[CaseResult]:
    """Score records in a process of their own; where it dies, in halves, until the record is alone that kills it."""
    try:
        with _pool(1) as pool:
            yield from pool.submit(_score_chunk, message, records).result()
    except BrokenProcessPool:
        if len(records) == 1:
            yield scorer.error(records[0], "the process that scored it died")
            return
        middle = len(records) // 2
        yield from _alone(scorer, records[:middle], message)
        yield from _alone(scorer, records[middle:], message)


def _pool(workers: int) -> ProcessPoolExecutor:
    import multiprocessing

    pool = ProcessPoolExecutor(workers, mp_context=multiprocessing.get_context("spawn"))
    try:
        pool.submit(int).result()
    except BrokenProcessPool as error:
        raise ConfigError(
            "a worker process ended at its start; its own message stands above. A script that starts processes has its "
            'calls below `if __name__ == "__main__":`, as the documentation of multiprocessing says'
        ) from error
    return pool
