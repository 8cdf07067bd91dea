from __future__ import annotations

import json
import multiprocessing
import pickle
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from pytest_extract import ConfigError, Extensions, StoreError, bulk, compile_schema
from pytest_extract.bulk import BulkScorer, read_table, result_schema, score_records, score_table, table_of
from pytest_extract.cli import main
from pytest_extract.core.case_result import CaseResult, Outcome
from pytest_extract.core.results import FailureKind
from pytest_extract.results import read_results, write_results
from tests.bulk_metrics import fragile, ibm_judge
from tests.records import results_of

LINE = {"type": "object", "properties": {"sku": {"type": "string"}, "price": {"type": "number"}}}
INVOICE = {
    "type": "object",
    "properties": {
        "vendor": {"type": "string"},
        "total": {"type": "number"},
        "note": {"type": ["string", "null"]},
        "lines": {"type": "array", "items": LINE},
    },
}
NOTE = {"type": "object", "properties": {"text": {"type": "string"}}}
GOLD = {"vendor": "ACME", "total": 9.5, "note": None, "lines": [{"sku": "a", "price": 1}, {"sku": "b", "price": 2}]}
SCORER = BulkScorer(scorer=compile_schema(INVOICE), name="invoices")
POISON = {
    "gold-no-json": {"gold": "{'vendor': 1}"},
    "gold-with-text-around": {"gold": 'Here: {"vendor": "ACME"}'},
    "gold-twice-a-key": {"gold": '{"vendor": 1, "vendor": 2}'},
    "schema-no-json": {"schema": "{"},
    "schema-mistake": {"schema": {"type": "string", "evaluation_config": "string_fuzy"}},
    "tags-list": {"tags": [1]},
    "modality": {"modality": "smell"},
    "unknown-type": {"gold": {"vendor": object()}},
}


def record(number: int, **changes: object) -> dict[str, object]:
    """Return a record whose output is right, or has a wrong value, by its number."""
    output = {**GOLD, "total": 9.5 + number % 3, "lines": GOLD["lines"][:: -1 if number % 2 else 1]}
    plain = {"id": f"r{number}", "gold": json.dumps(GOLD), "output": json.dumps(output), "model": f"m{number % 2}"}
    return {**plain, **changes}


def records(count: int = 60) -> Iterator[dict[str, object]]:
    """Yield records of all kinds: right, wrong, no JSON, with a schema of their own, without a part, poisoned."""
    yield from (record(number) for number in range(count))
    yield record(count, output="I cannot read this.")
    yield record(count + 1, output=None)
    yield record(count + 2, output=f"```json\n{json.dumps(GOLD)}\n```")
    yield record(count + 3, schema=json.dumps(NOTE), gold='{"text": "x"}', output='{"text": "y"}')
    yield record(count + 4, gold="{")
    yield record(count + 5, id=None)
    yield record(count + 6, output='{"vendor": "half a pair \\ud800"}')
    yield record(count + 7, tags='{"supplier": "acme", "complexity": "hard"}', modality="image")


def in_one_process(scorer: BulkScorer, rows: list) -> list[CaseResult]:
    return list(score_records(scorer, rows))


def in_processes(scorer: BulkScorer, rows: list) -> list[CaseResult]:
    return list(score_records(scorer, rows, workers=2))


def arrow(rows: list) -> object:
    pa = pytest.importorskip("pyarrow")
    return pa.Table.from_pylist(rows, schema=pa.schema([(name, pa.string()) for name in bulk.COLUMNS]))


def as_arrow(scorer: BulkScorer, rows: list) -> list[CaseResult]:
    return [result for batch in arrow(rows).to_batches(17) for result in results_of(scorer.score_batch(batch))]


def as_record_batches(scorer: BulkScorer, rows: list) -> list[CaseResult]:
    """Score as Spark's `mapInArrow` does."""
    pa = pytest.importorskip("pyarrow")
    scored = pickle.loads(pickle.dumps(scorer.score_batches))(iter(arrow(rows).to_batches(17)))
    return list(results_of(pa.Table.from_batches(scored, schema=result_schema())))


def as_frames(scorer: BulkScorer, rows: list) -> list[CaseResult]:
    """Score as Dask's `map_partitions` does."""
    pa, pandas = pytest.importorskip("pyarrow"), pytest.importorskip("pandas")
    frame = pandas.DataFrame(rows)
    frames = list(map(pickle.loads(pickle.dumps(scorer.score_batch)), [frame[:20], frame[20:]]))
    empty = result_schema().empty_table().to_pandas()
    assert [list(each.columns) for each in frames] == [list(empty.columns)] * 2
    return [result for each in frames for result in results_of(pa.Table.from_pandas(each, schema=result_schema()))]


@pytest.mark.parametrize("engine", [in_processes, as_arrow, as_record_batches, as_frames])
def test_results_are_the_same_whatever_scores(engine):
    expected = in_one_process(SCORER, list(records()))
    found = engine(pickle.loads(pickle.dumps(SCORER)), list(records()))
    surrogate = "r66"  # a table of Arrow holds half a pair as its escape
    assert [each.case_id for each in found] == [each.case_id for each in expected]
    assert [each for each in found if each.case_id != surrogate] == [
        each for each in expected if each.case_id != surrogate
    ]


def test_whole_numbers_name_records_alike_whatever_holds_them():
    pandas = pytest.importorskip("pandas")
    rows = [record(0, id=number, revision=number) for number in (1, 2, None)]
    frame = pandas.DataFrame(rows)
    assert frame["id"].dtype == float
    expected = [result.nodeid for result in in_one_process(SCORER, rows)]
    assert [*SCORER.score_batch(frame)["nodeid"]] == expected
    assert expected[0] == "invoices::1[m0-1]"


def test_a_batch_without_golds_or_outputs_is_refused():
    pa, pandas = pytest.importorskip("pyarrow"), pytest.importorskip("pandas")
    rows = [{"doc_id": 1, "expected": "{}", "text": "{}"}]
    for batch in (pandas.DataFrame(rows), pa.Table.from_pylist(rows)):
        with pytest.raises(ConfigError, match="there is no column 'gold'; needed are id, gold and output"):
            SCORER.score_batch(batch)
    assert len(SCORER.score_batch(pandas.DataFrame())) == 0


def test_a_record_is_scored_as_a_case_is():
    result = SCORER.score(record(1))
    score = compile_schema(INVOICE).score_text(GOLD, record(1)["output"])
    (attempt,) = result.attempts
    assert attempt.score == score.record()
    assert (result.outcome, result.case_id, result.file, result.variant.label) == ("failed", "r1", "invoices", "m1")
    assert result.nodeid == "invoices::r1[m1]"
    assert result.why == "pass_rate 0.667 is below 1, by 0.333: 2 of 3 fields passed" == attempt.breaches[0].message
    assert result.shape["leaves"] == 7
    assert SCORER.score(record(0)).outcome is Outcome.PASSED


def test_thresholds_gates_and_modality_are_those_of_a_case():
    lenient = BulkScorer(scorer=SCORER.scorer, thresholds={"pass_rate": 0.6, "fields": {"vendor": 1.0}})
    assert lenient.score(record(1)).outcome is Outcome.PASSED
    assert lenient.score(record(1, output='{"vendor": "X", "total": 9.5}')).outcome is Outcome.FAILED
    bare = BulkScorer(scorer=SCORER.scorer, gates={"bare": True}).score(record(0, output=f"So:\n{json.dumps(GOLD)}"))
    assert bare.attempts[0].score.failure.kind is FailureKind.NOT_BARE
    assert SCORER.score(record(0, modality="image")).modality == "image"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"thresholds": {"pass_rat": 1}}, "thresholds.pass_rat: .*did you mean 'pass_rate'"),
        ({"gates": {"bear": True}}, "gates has no key 'bear'"),
        ({"modality": "txt"}, "modality must be text or image or audio, not 'txt'"),
        ({"scorer": INVOICE}, "scorer must be a Scorer, made by compile_schema"),
        (
            {"scorer": compile_schema(INVOICE), "thresholds": {"fields": {"totl": 1}}},
            "thresholds.fields: the schema has no field 'totl'; did you mean 'total'",
        ),
        (
            {"scorer": compile_schema(INVOICE), "thresholds": {"fields": {"lines[]": 1}}},
            r"thresholds.fields: 'lines\[\]' has no score of its own; bound what is in it",
        ),
    ],
)
def test_wrong_arguments_are_refused_before_any_record(arguments, message):
    with pytest.raises(ConfigError, match=message):
        BulkScorer(**arguments)


@pytest.mark.parametrize("changes", POISON.values(), ids=POISON)
def test_a_poisoned_record_is_broken_and_says_why(changes):
    result = SCORER.score(record(7, **changes))
    assert (result.outcome, result.case_id) == (Outcome.BROKEN, "r7")
    assert result.why
    assert result.attempts[0].score is None


def test_a_tag_of_complexity_that_names_no_class_leaves_it_to_the_shape():
    stated = [SCORER.score(record(0, tags={"complexity": given})) for given in ("hard", "odd", ["hard"], None)]
    assert [result.outcome for result in stated] == [Outcome.PASSED] * 4
    assert [result.complexity for result in stated] == ["hard", "medium", "medium", "medium"]


@pytest.mark.parametrize("lacking", ["gold", "output", "id"])
def test_a_record_without_a_part(lacking):
    bare = {name: value for name, value in record(0).items() if name != lacking}
    result = SCORER.score(bare)
    if lacking == "id":
        assert result.case_id.startswith("no-id-")
        assert result.case_id == SCORER.score(dict(bare)).case_id != SCORER.score({**bare, "output": "x"}).case_id
    else:
        assert (
            result.why
            == f"ConfigError: the record has no {lacking!r}; it has {', '.join(map(repr, bare))}".removeprefix(
                "ConfigError: "
            )
        )


def test_a_record_without_a_schema_of_its_own_needs_a_scorer():
    scorer = BulkScorer(options={"nulls": "value"})
    assert "has no scorer" in scorer.score(record(0)).why
    assert scorer.score(record(0, schema=INVOICE)).outcome is Outcome.PASSED


def test_a_bounded_field_is_one_of_the_records_own_schema():
    result = BulkScorer(thresholds={"fields": {"vendor": 1}}).score(record(0, schema=NOTE, gold={"text": "x"}))
    assert (result.outcome, result.why.partition(";")[0]) == (
        Outcome.BROKEN, "thresholds.fields: the schema has no field 'vendor'",
    )  # fmt: skip


def test_a_gold_that_breaks_its_schema_is_no_failure_of_the_model():
    wrong = record(0, gold={"vendor": 5}, output={"vendor": 5})
    assert SCORER.score(wrong).outcome is Outcome.BROKEN
    assert SCORER.score(wrong).why == (
        "the gold does not satisfy its schema: `vendor`: 5 is an integer, a string was expected. "
        "Mend it, or pass gates={'schema': False}"
    )
    assert BulkScorer(scorer=SCORER.scorer, gates={"schema": False}).score(wrong).outcome is Outcome.PASSED
    assert SCORER.score({**wrong, "schema": INVOICE}).outcome is Outcome.FAILED  # what that model was given
    published = BulkScorer(scorer=compile_schema(INVOICE, semantics="extract-bench"))
    assert published.score(wrong).outcome is Outcome.PASSED
    no_schema = BulkScorer(scorer=compile_schema({"type": "strng"})).score(record(0, gold="5", output="5"))
    assert (no_schema.outcome, no_schema.why.partition(":")[0]) == (
        Outcome.BROKEN, "the schema is no valid JSON Schema at /type",
    )  # fmt: skip


def test_schemas_of_records_are_compiled_as_the_scorer_was():
    loose = {"type": "object", "properties": {"text": {"type": "string", "evaluation_config": "string_semantic"}}}
    scorer = BulkScorer(scorer=compile_schema(INVOICE, judge_mode="exact", semantics="extract-bench"))
    result = scorer.score(record(0, schema=json.dumps(loose), gold='{"text": "IBM"}', output='{"text": "ibm"}'))
    assert result.attempts[0].score.semantics == "extract-bench"
    assert result.outcome is not Outcome.BROKEN


def test_an_outage_of_the_provider_is_broken_and_not_wrong():
    record = {"id": "a", "gold": {"a": 1}, "output": '{"a": 1}', "finish_reason": "error"}
    result = BulkScorer(scorer=compile_schema({"properties": {"a": {"type": "integer"}}})).score(record)
    assert (result.outcome, result.attempts[0].score) == ("broken", None)
    assert "broke down" in result.why


def test_a_judge_answers_and_what_stays_open_is_broken():
    schema = {"type": "object", "properties": {"name": {"type": "string", "evaluation_config": "string_semantic"}}}
    judged = BulkScorer(scorer=compile_schema(schema), judge=ibm_judge)
    rows = [{"id": name, "gold": {"name": "IBM"}, "output": {"name": name}} for name in ("IBM", "Big Blue", "HAL")]
    assert [judged.score(row).outcome for row in rows] == ["passed", "passed", "broken"]
    assert [result.outcome for result in score_records(judged, rows, workers=1)] == ["passed", "passed", "broken"]
    assert "no judge for 1 comparison: name" in BulkScorer(scorer=judged.scorer).score(rows[1]).why


def test_threads_share_a_bulk_scorer():
    rows = list(records())
    with ThreadPoolExecutor(4) as threads:
        assert list(threads.map(SCORER.score, rows * 3)) == in_one_process(SCORER, rows) * 3


# --- worker processes


def fragile_scorer(**arguments: object) -> BulkScorer:
    schema = {"type": "object", "properties": {"note": {"type": "string"}}}
    overrides = {"note": {"metric": "fragile"}}
    scorer = compile_schema(schema, overrides=overrides, extensions=Extensions.of(fragile))
    return BulkScorer(scorer=scorer, **arguments)


def fragile_rows(*outputs: str) -> list[dict[str, object]]:
    return [{"id": str(at), "gold": {"note": "x"}, "output": {"note": note}} for at, note in enumerate(outputs)]


@pytest.mark.slow
def test_a_record_that_kills_its_process_costs_itself_only(monkeypatch):
    monkeypatch.setattr(bulk, "CHUNK", 4)
    rows = fragile_rows("x", "y", "segmentation fault", "x", "x", "x", "exit", "x", "x")
    results = list(score_records(fragile_scorer(), rows, workers=2))
    assert [result.outcome for result in results] == [
        "passed", "failed", "broken", "passed", "passed", "passed", "broken", "passed", "passed",
    ]  # fmt: skip
    assert results[2].why == results[6].why == "the process that scored it died"


def test_records_are_read_no_further_than_the_workers_need():
    seen = []

    def endless() -> Iterator[dict[str, object]]:
        number = 0
        while True:
            seen.append(number)
            yield record(number)
            number += 1

    results = score_records(SCORER, endless(), workers=1)
    assert next(results).case_id == "r0"
    results.close()
    assert len(seen) <= 4 * bulk.CHUNK
    assert not multiprocessing.active_children()


def test_an_error_of_the_records_reaches_the_caller_and_no_process_stays():
    def failing() -> Iterator[dict[str, object]]:
        yield record(0)
        raise RuntimeError("the source is gone")

    with pytest.raises(RuntimeError, match="the source is gone"):
        list(score_records(SCORER, failing(), workers=1))
    assert not multiprocessing.active_children()


def test_what_cannot_be_sent_to_a_process_is_said():
    scorer = BulkScorer(scorer=SCORER.scorer, judge=lambda questions: [])
    with pytest.raises(ConfigError, match=r"cannot be sent to another process: .*lambda.*functions of a project"):
        list(score_records(scorer, records(), workers=1))


def test_no_workers_are_too_few():
    with pytest.raises(ConfigError, match="workers must"):
        list(score_records(SCORER, records(), workers=0))


def test_a_script_without_its_guard_is_told(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(
        "from pytest_extract.bulk import BulkScorer, score_records\n"
        "from pytest_extract import compile_schema\n"
        "print(list(score_records(BulkScorer(scorer=compile_schema({})), [{}], workers=1)))\n"
    )
    run = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=120, check=False)
    assert run.returncode == 1
    assert 'below `if __name__ == "__main__":`' in run.stderr


# --- files


def write_jsonl(path: Path, rows: list) -> Path:
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    return path


@pytest.mark.parametrize("workers", [None, 1])
@pytest.mark.parametrize("target", ["results.parquet", "results.jsonl"])
def test_a_table_becomes_a_results_file(tmp_path, target, workers):
    pytest.importorskip("pyarrow")
    rows = [row for row in records(20) if row["id"] != "r26"]
    source = write_jsonl(tmp_path / "table.jsonl", rows)
    totals = score_table(SCORER, str(source), str(tmp_path / target), workers=workers)
    results = read_results(tmp_path / target).results
    assert results == tuple(in_one_process(SCORER, rows))
    outcomes = [result.outcome for result in results]
    assert (totals.passed, totals.failed, totals.broken) == tuple(map(outcomes.count, ("passed", "failed", "broken")))
    assert totals.records == len(rows)
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []


def test_parquet_is_read_as_jsonl_is(tmp_path):
    pa = pytest.importorskip("pyarrow")
    pytest.importorskip("pyarrow.parquet")
    rows = list(records(5))
    pa.parquet.write_table(arrow(rows).append_column("further", pa.nulls(len(rows))), tmp_path / "table.parquet")
    found = list(read_table(tmp_path / "table.parquet"))
    assert [SCORER.score(row) for row in found] == in_one_process(SCORER, rows)
    pa.parquet.write_table(arrow(rows).drop_columns("gold"), tmp_path / "table.parquet")
    with pytest.raises(
        StoreError, match=r"table.parquet: cannot be read: there is no column 'gold'; needed are id, gold and output"
    ):
        list(read_table(tmp_path / "table.parquet"))


def test_a_line_that_cannot_be_read_is_a_broken_record(tmp_path):
    (tmp_path / "t.jsonl").write_text('{"id": 1, "gold": {}, "output": {}}\n\n{"id": 2,\n[]\n', encoding="utf-8")
    results = [SCORER.score(row) for row in read_table(tmp_path / "t.jsonl")]
    assert [(each.case_id, each.outcome) for each in results] == [
        ("1", "passed"), ("line 3", "broken"), ("line 4", "broken"),
    ]  # fmt: skip
    assert results[1].why.startswith("line 3 is no JSON: ")
    assert results[2].why == "line 4 is no JSON object, but []"


@pytest.mark.parametrize("name", ["none.jsonl", "none.parquet", "folder", "noise.parquet"])
def test_a_source_that_cannot_be_read(tmp_path, name):
    pytest.importorskip("pyarrow")
    (tmp_path / "folder").mkdir()
    (tmp_path / "noise.parquet").write_bytes(b"no parquet at all")
    with pytest.raises(StoreError, match=f"{name}: cannot be read: "):
        list(read_table(tmp_path / name))


def run_command(capsys: pytest.CaptureFixture[str], *arguments: object) -> str:
    assert main([*map(str, arguments)]) == 0
    return capsys.readouterr().out


@pytest.mark.parametrize("command", [["report"], ["report", "--json"], ["leaderboard"]], ids=" ".join)
def test_commands_read_parquet_as_they_read_jsonl(tmp_path, capsys, command):
    pytest.importorskip("pyarrow")
    results = in_one_process(SCORER, list(records()))
    for name in ("run.jsonl", "run.parquet"):
        write_results(str(tmp_path / name), results)
    found = [run_command(capsys, *command, tmp_path / name) for name in ("run.jsonl", "run.parquet")]
    assert found[0] == found[1] != ""


@pytest.mark.parametrize("kind", ["html", "markdown", "csv"])
def test_reports_from_parquet_have_the_values(tmp_path, capsys, kind):
    pytest.importorskip("pyarrow")
    results = in_one_process(SCORER, [row for row in records() if row["id"] != "r66"])
    texts = []
    for name in ("run.jsonl", "run.parquet"):
        write_results(tmp_path / name, results)
        run_command(capsys, "report", tmp_path / name, "-o", f"{kind}:{tmp_path / 'report'}")
        texts.append((tmp_path / "report").read_text(encoding="utf-8"))
    assert texts[0].replace("run.jsonl", "run.parquet").split("written")[0] == texts[1].split("written")[0]


def test_merge_writes_parquet(tmp_path, capsys):
    pytest.importorskip("pyarrow")
    results = in_one_process(SCORER, list(records(4))[:4])
    write_results(tmp_path / "a.jsonl", results[:2])
    write_results(tmp_path / "b.parquet", results[2:])
    run_command(capsys, "merge", tmp_path / "a.jsonl", tmp_path / "b.parquet", "-o", tmp_path / "all.parquet")
    assert read_results(tmp_path / "all.parquet").results == tuple(results)


def test_a_parquet_file_of_something_else_is_refused(tmp_path):
    pa, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    parquet.write_table(pa.table({"a": [1]}), tmp_path / "other.parquet")
    with pytest.raises(StoreError, match=r"other.parquet: no table of results.*record_json"):
        read_results(tmp_path / "other.parquet")
    parquet.write_table(pa.table({"record_json": ['{"format": 99}']}), tmp_path / "newer.parquet")
    with pytest.raises(StoreError, match=r"newer.parquet:1: not a result of format 1 \(found 99\)"):
        read_results(tmp_path / "newer.parquet")
    parquet.write_table(pa.table({"record_json": ['{"case": {}}']}), tmp_path / "older.parquet")
    with pytest.raises(
        StoreError, match=r"older.parquet:1: .*earlier .* version wrote it.*write the file anew: .*merge"
    ):
        read_results(tmp_path / "older.parquet")


def test_the_table_can_be_asked_by_column(tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    write_results(tmp_path / "run.parquet", in_one_process(SCORER, list(records())))
    table = parquet.read_table(tmp_path / "run.parquet")
    flat = table.flatten().flatten()
    assert flat.column("measures.pass_rate")[0].as_py() == 1.0
    assert flat.column("gates.schema.passed")[0].as_py() is True
    assert table.column("results")[1].as_py()[1]["gold"] == "9.5"
    assert table_of([]).schema.equals(result_schema())


def test_records_that_differ_behind_a_cut_text_have_names_of_their_own():
    np = pytest.importorskip("numpy")
    records = [{"gold": np.array([*range(2000), last]), "output": "[]"} for last in (1, 2)]
    scorer = BulkScorer(scorer=compile_schema({"type": "array", "items": {"type": "integer"}}))
    first, second = (scorer.score(record) for record in records)
    assert first.case_id != second.case_id
    assert scorer.score({**records[0], "gold": records[0]["gold"].tolist()}).case_id == first.case_id
