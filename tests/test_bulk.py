"""Tables of outputs: whatever scores them, each record costs only itself, and its result is that of a case."""

import json
import math
import multiprocessing
import pickle
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from pytest_extract import ConfigError, Extensions, StoreError, bulk, compile_schema
from pytest_extract.bulk import BulkScorer, read_table, result_schema, score_records, score_table, table_of
from pytest_extract.core.case_result import Outcome
from pytest_extract.core.results import FailureKind
from pytest_extract.results import read_results, write_results
from tests.bulk_metrics import fragile, ibm_judge
from tests.core.schemas import NUMBER, TEXT, metric, obj, table
from tests.records import results_of

OPTIONAL = {"type": ["string", "null"]}
INVOICE = obj(vendor=TEXT, total=NUMBER, note=OPTIONAL, lines=table(sku=TEXT, price=NUMBER))
NOTE = obj(text=TEXT)
GOLD = {"vendor": "ACME", "total": 9.5, "note": None, "lines": [{"sku": "a", "price": 1}, {"sku": "b", "price": 2}]}
SCORER = BulkScorer(scorer=compile_schema(INVOICE), name="invoices")
SURROGATE = "r66"
"""The record of `records()` with half a surrogate pair: a table of Arrow holds its escape."""
needs_arrow = pytest.mark.usefixtures("pa")


@pytest.fixture
def pa():
    pytest.importorskip("pyarrow.parquet")
    return pytest.importorskip("pyarrow")


def record(number, **changes):
    """Return a record whose output is right, or has a wrong value, by its number."""
    output = {**GOLD, "total": 9.5 + number % 3, "lines": GOLD["lines"][:: -1 if number % 2 else 1]}
    plain = {"id": f"r{number}", "gold": json.dumps(GOLD), "output": json.dumps(output), "model": f"m{number % 2}"}
    return {**plain, **changes}


def records(count=60):
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


def outcomes(scorer, *rows):
    return [scorer.score(row).outcome for row in rows]


# --- engines


def arrow(rows):
    pa = pytest.importorskip("pyarrow")
    return pa.Table.from_pylist(rows, schema=pa.schema([(name, pa.string()) for name in bulk.COLUMNS]))


def in_processes(scorer, rows):
    return list(score_records(scorer, rows, workers=2))


def as_arrow(scorer, rows):
    return [result for batch in arrow(rows).to_batches(17) for result in results_of(scorer.score_batch(batch))]


def as_record_batches(scorer, rows):
    """Score as Spark's `mapInArrow` does."""
    pa = pytest.importorskip("pyarrow")
    scored = pickle.loads(pickle.dumps(scorer.score_batches))(iter(arrow(rows).to_batches(17)))
    return list(results_of(pa.Table.from_batches(scored, schema=result_schema())))


def as_frames(scorer, rows):
    """Score as Dask's `map_partitions` does."""
    pa, pandas = pytest.importorskip("pyarrow"), pytest.importorskip("pandas")
    frame = pandas.DataFrame(rows)
    frames = list(map(pickle.loads(pickle.dumps(scorer.score_batch)), [frame[:20], frame[20:]]))
    empty = result_schema().empty_table().to_pandas()
    assert [list(each.columns) for each in frames] == [list(empty.columns)] * 2
    return [result for each in frames for result in results_of(pa.Table.from_pandas(each, schema=result_schema()))]


@pytest.mark.parametrize("engine", [in_processes, as_arrow, as_record_batches, as_frames])
def test_results_are_the_same_whatever_scores(engine):
    rows = list(records())
    expected = [SCORER.score(row) for row in rows]
    found = engine(pickle.loads(pickle.dumps(SCORER)), rows)
    assert [each.case_id for each in found] == [each.case_id for each in expected]
    assert all(each in found for each in expected if each.case_id != SURROGATE)


def test_threads_share_a_bulk_scorer():
    rows = list(records())
    with ThreadPoolExecutor(4) as threads:
        assert list(threads.map(SCORER.score, rows)) == list(score_records(SCORER, rows))


def test_records_are_named_alike_whatever_holds_them():
    np, pandas = pytest.importorskip("numpy"), pytest.importorskip("pandas")
    rows = [record(0, id=number, revision=number) for number in (1, 2, None)]
    frame = pandas.DataFrame(rows)
    assert frame["id"].dtype == float
    expected = [SCORER.score(row).nodeid for row in rows]
    assert [*SCORER.score_batch(frame)["nodeid"]] == expected
    assert expected[0] == "invoices::1[m0-1]"
    # those without an id by all of their content
    scorer = BulkScorer(scorer=compile_schema({"type": "array", "items": {"type": "integer"}}))
    one, other = ({"gold": np.array([*range(2000), last]), "output": "[]"} for last in (1, 2))
    first, second, third = (scorer.score(row).case_id for row in (one, other, {**one, "gold": one["gold"].tolist()}))
    assert first == third != second
    assert first.startswith("no-id-")
    nans = (np.array([*range(2000), np.nan]), np.array([np.nan]), [[math.nan]])
    unlike = [{**one, "output": output} for output in nans]
    assert len({scorer.score(row).case_id for row in unlike}) == 3
    (attempt,) = scorer.score(unlike[1]).attempts
    assert (attempt.output, str(attempt.score.failure)) == ("[NaN]", "malformed_json at [0]: nan is no JSON value")


# --- a record


def test_a_record_is_scored_as_a_case_is():
    result = SCORER.score(record(1))
    (attempt,) = result.attempts
    assert attempt.score == compile_schema(INVOICE).score_text(GOLD, record(1)["output"]).record()
    assert (result.outcome, result.case_id, result.file, result.variant.label) == ("failed", "r1", "invoices", "m1")
    assert result.nodeid == "invoices::r1[m1]"
    assert result.why == "pass_rate 0.667 is below 1, by 0.333: 2 of 3 fields passed" == attempt.breaches[0].message
    assert result.shape["leaves"] == 7
    assert SCORER.score(record(0)).outcome is Outcome.PASSED


def test_thresholds_gates_modality_and_complexity_are_those_of_a_case():
    lenient = BulkScorer(scorer=SCORER.scorer, thresholds={"pass_rate": 0.6, "fields": {"vendor": 1.0}})
    assert outcomes(lenient, record(1), record(1, output='{"vendor": "X", "total": 9.5}')) == ["passed", "failed"]
    bare = BulkScorer(scorer=SCORER.scorer, gates={"bare": True}).score(record(0, output=f"So:\n{json.dumps(GOLD)}"))
    assert bare.attempts[0].score.failure.kind is FailureKind.NOT_BARE
    assert SCORER.score(record(0, modality="image")).modality == "image"
    stated = [SCORER.score(record(0, tags={"complexity": given})) for given in ("hard", "odd", ["hard"], None)]
    assert [result.outcome for result in stated] == [Outcome.PASSED] * 4
    assert [result.complexity for result in stated] == ["hard", "medium", "medium", "medium"]


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"thresholds": {"pass_rat": 1}}, "thresholds.pass_rat: .*did you mean 'pass_rate'"),
        ({"thresholds": {"max_cost_usd": 1}}, "knows no latency and no cost"),
        ({"gates": {"bear": True}}, "gates has no key 'bear'"),
        ({"modality": "txt"}, "modality must be text or image or audio, not 'txt'"),
        ({"scorer": INVOICE}, "scorer must be a Scorer, made by compile_schema"),
        ({"thresholds": {"fields": {"totl": 1}}}, "the schema has no field 'totl'; did you mean 'total'"),
        ({"thresholds": {"fields": {"lines[]": 1}}}, r"'lines\[\]' is skipped, or has no score of its own"),
    ],
)
def test_wrong_arguments_are_refused_before_any_record(keys, message):
    with pytest.raises(ConfigError, match=message):
        BulkScorer(**{"scorer": SCORER.scorer, **keys})


IN_NOTE = {"schema": NOTE, "gold": {"text": "x"}}
NO_SCHEMA = BulkScorer(scorer=compile_schema({"type": "strng"}))


@pytest.mark.parametrize(
    ("scorer", "changes", "why"),
    [
        (SCORER, {"gold": "{'vendor': 1}"}, "`gold` is a text, and no JSON: "),
        (SCORER, {"gold": 'Here: {"vendor": "ACME"}'}, "`gold` is a text, and no JSON: it has text around its JSON"),
        (SCORER, {"gold": '{"vendor": 1, "vendor": 2}'}, "`gold` is a text, and no JSON: "),
        (SCORER, {"gold": {"vendor": object()}}, "`gold`"),
        (SCORER, {"schema": "{"}, "`schema` is a text, and no JSON: "),
        (SCORER, {"schema": {"type": "string", "evaluation_config": "string_fuzy"}}, "string_fuzy"),
        (SCORER, {"tags": [1]}, "`tags` must be a mapping, not [1]"),
        (SCORER, {"modality": "smell"}, "modality must be text or image or audio"),
        (SCORER, {"finish_reason": "error"}, "the provider broke down"),
        (SCORER, {"gold": {"vendor": 5}}, "a string was expected. Fix it, or pass gates={'schema': False}"),
        (BulkScorer(options={"nulls": "value"}), {}, "the record has no `schema`, and the BulkScorer has no scorer"),
        (BulkScorer(thresholds={"fields": {"vendor": 1}}), IN_NOTE, "thresholds.fields: the schema has no field"),
        (NO_SCHEMA, {"gold": "5"}, "the schema is no valid JSON Schema at /type"),
    ],
)
def test_a_poisoned_record_is_an_error_and_says_why(scorer, changes, why):
    result = scorer.score(record(7, **changes))
    assert (result.outcome, result.case_id) == (Outcome.ERROR, "r7")
    assert why in result.why
    assert result.attempts[0].score is None


@pytest.mark.parametrize("lacking", ["gold", "output"])
def test_a_record_without_a_part(lacking):
    bare = {name: value for name, value in record(0).items() if name != lacking}
    assert SCORER.score(bare).why == f"the record has no {lacking!r}; it has {', '.join(map(repr, bare))}"


def test_a_record_may_have_a_schema_of_its_own():
    wrong = record(0, gold={"vendor": 5}, output={"vendor": 5})
    assert outcomes(BulkScorer(options={"nulls": "value"}), record(0, schema=INVOICE)) == ["passed"]
    assert outcomes(SCORER, {**wrong, "schema": INVOICE}) == ["failed"]  # what that model was given
    assert outcomes(BulkScorer(scorer=SCORER.scorer, gates={"schema": False}), wrong) == ["passed"]
    published = BulkScorer(scorer=compile_schema(INVOICE, judge_mode="exact", semantics="extract-bench"))
    loose = json.dumps(obj(text=metric("string_semantic")))
    result = published.score(record(0, schema=loose, gold='{"text": "IBM"}', output='{"text": "ibm"}'))
    assert result.attempts[0].score.semantics == "extract-bench"  # compiled as the scorer was
    assert result.outcome is not Outcome.ERROR
    assert outcomes(published, wrong) == ["passed"]


def test_a_judge_answers_and_what_stays_open_is_an_error():
    judged = BulkScorer(scorer=compile_schema(obj(name=metric("string_semantic"))), judge=ibm_judge)
    rows = [{"id": name, "gold": {"name": "IBM"}, "output": {"name": name}} for name in ("IBM", "Big Blue", "HAL")]
    assert outcomes(pickle.loads(pickle.dumps(judged)), *rows) == ["passed", "passed", "error"]
    assert "no judge for 1 comparison: name" in BulkScorer(scorer=judged.scorer).score(rows[1]).why


# --- worker processes


@pytest.mark.slow
def test_a_record_that_kills_its_process_costs_itself_only(monkeypatch):
    monkeypatch.setattr(bulk, "CHUNK", 4)
    scorer = compile_schema(
        obj(note=TEXT), overrides={"note": {"metric": "fragile"}}, extensions=Extensions.of(fragile)
    )
    texts = ["x", "y", "segmentation fault", "x", "x", "x", "exit", "x", "x"]
    rows = [{"id": str(at), "gold": {"note": "x"}, "output": {"note": text}} for at, text in enumerate(texts)]
    results = list(score_records(BulkScorer(scorer=scorer), rows, workers=2))
    ends = {"x": "passed", "y": "failed"}
    assert [result.outcome for result in results] == [ends.get(text, "error") for text in texts]
    assert results[2].why == results[6].why == "the process that scored it died"


def test_records_are_read_no_further_than_the_workers_need_and_their_error_reaches_the_caller():
    seen = []

    def source(most):
        for number in range(most):
            seen.append(number)
            yield record(number)
        raise RuntimeError("the source is gone")

    results = score_records(SCORER, source(10_000), workers=1)
    assert next(results).case_id == "r0"
    results.close()
    assert len(seen) <= 4 * bulk.CHUNK
    with pytest.raises(RuntimeError, match="the source is gone"):
        list(score_records(SCORER, source(1), workers=1))
    assert not multiprocessing.active_children()


def test_what_workers_cannot_do_is_said(tmp_path):
    scorer = BulkScorer(scorer=SCORER.scorer, judge=lambda questions: [])
    with pytest.raises(ConfigError, match=r"cannot be sent to another process: .*lambda.*functions of a project"):
        list(score_records(scorer, records(), workers=1))
    with pytest.raises(ConfigError, match="workers must"):
        list(score_records(SCORER, records(), workers=0))
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


@needs_arrow
@pytest.mark.parametrize(("target", "workers"), [("results.parquet", None), ("results.jsonl", 1)])
def test_a_table_becomes_a_results_file(tmp_path, target, workers):
    rows = [row for row in records(20) if row["id"] != "r26"]
    source = tmp_path / "table.jsonl"
    source.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    totals = score_table(SCORER, str(source), str(tmp_path / target), workers=workers)
    results = read_results(tmp_path / target).results
    assert results == tuple(score_records(SCORER, rows))
    ends = [result.outcome for result in results]
    assert totals == bulk.BulkTotals(**{end: ends.count(end) for end in ("passed", "failed", "error")})
    assert totals.records == len(rows)
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(["table.jsonl", target])


def test_parquet_is_read_as_jsonl_is(tmp_path, pa):
    rows, path = list(records(5)), tmp_path / "table.parquet"
    pa.parquet.write_table(arrow(rows).append_column("further", pa.nulls(len(rows))), path)
    assert [SCORER.score(row) for row in read_table(path)] == list(score_records(SCORER, rows))
    pa.parquet.write_table(arrow(rows).drop_columns("gold"), path)
    lacking = "there is no column 'gold'; needed are id, gold and output"
    with pytest.raises(StoreError, match=f"table.parquet: cannot be read: {lacking}"):
        list(read_table(path))
    pandas = pytest.importorskip("pandas")
    rows = [{"doc_id": 1, "expected": "{}", "text": "{}"}]
    for batch in (pandas.DataFrame(rows), pa.Table.from_pylist(rows)):
        with pytest.raises(ConfigError, match=lacking):
            SCORER.score_batch(batch)
    assert len(SCORER.score_batch(pandas.DataFrame())) == 0


def test_a_line_that_cannot_be_read_is_a_broken_record(tmp_path):
    (tmp_path / "t.jsonl").write_text('{"id": 1, "gold": {}, "output": {}}\n\n{"id": 2,\n[]\n', encoding="utf-8")
    one, two, three = (SCORER.score(row) for row in read_table(tmp_path / "t.jsonl"))
    assert (one.case_id, one.outcome) == ("1", "passed")
    assert (two.case_id, two.outcome, two.why.partition(": ")[0]) == ("line 3", "error", "line 3 is no JSON")
    assert (three.case_id, three.why) == ("line 4", "line 4 is no JSON object, but []")


@needs_arrow
@pytest.mark.parametrize("name", ["none.jsonl", "none.parquet", "folder", "noise.parquet"])
def test_a_source_that_cannot_be_read(tmp_path, name):
    (tmp_path / "folder").mkdir()
    (tmp_path / "noise.parquet").write_bytes(b"no parquet at all")
    with pytest.raises(StoreError, match=f"{name}: cannot be read: "):
        list(read_table(tmp_path / name))


@needs_arrow
def test_commands_read_parquet_as_they_read_jsonl(run):
    every = list(score_records(SCORER, records(6)))
    results = [result for result in every if result.case_id != "r12"]  # whose half a pair parquet holds as its escape
    told = []
    for name in ("run.jsonl", "run.parquet"):
        write_results(name, every)
        told.append([run(command, name)[:2] for command in ("report", "report --json", "leaderboard")])
        write_results(name, results)
        assert run(f"report {name} -o csv:report").status == 0
        told[-1].append(Path("report").read_text(encoding="utf-8").replace(name, "run"))
    assert told[0] == told[1]
    assert {status for status, _ in told[0][:3]} == {0}
    write_results("a.jsonl", results[:2])
    write_results("b.parquet", results[2:])
    assert run("merge a.jsonl b.parquet -o all.parquet").status == 0
    assert read_results("all.parquet").results == tuple(results)


@pytest.mark.parametrize(
    ("column", "value", "message"),
    [
        ("a", "x", ": no table of results.*record_json"),
        ("record_json", '{"format": 99}', r":1: not a result of format 1 \(found 99\)"),
        ("record_json", '{"case": {}}', ":1: .*earlier .* version wrote it.*write the file anew: .*merge"),
    ],
)
def test_a_parquet_file_of_something_else_is_refused(tmp_path, pa, column, value, message):
    pa.parquet.write_table(pa.table({column: [value]}), tmp_path / "other.parquet")
    with pytest.raises(StoreError, match=f"other.parquet{message}"):
        read_results(tmp_path / "other.parquet")


def test_the_table_can_be_asked_by_column(tmp_path, pa):
    write_results(tmp_path / "run.parquet", score_records(SCORER, [record(0), record(1)]))
    table = pa.parquet.read_table(tmp_path / "run.parquet")
    flat = table.flatten().flatten()
    assert flat.column("measures.pass_rate")[0].as_py() == 1.0
    assert flat.column("gates.schema.passed")[0].as_py() is True
    assert table.column("results")[1].as_py()[1]["gold"] == "9.5"
    assert table_of([]).schema.equals(result_schema())
