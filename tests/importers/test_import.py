"""Case files from datasets laid out as the published ones, made by hand."""

from __future__ import annotations

import copy
import dataclasses
import itertools
import json
import re
from pathlib import Path

import pytest

from pytest_extract.cases.load import load_cases
from pytest_extract.cases.schemas import SchemaCache
from pytest_extract.cli import main
from pytest_extract.core.gates import GateConfig
from pytest_extract.extraction.call import Extraction
from pytest_extract.results import read_results
from pytest_extract.run_case import run_case
from tests.shared_data import jsonl as jsonl_of
from tests.small_pdf import small_pdf

SCHEMA = {"type": "object", "properties": {"total": {"type": "number", "evaluation_config": "number_exact"}}}


def put(path, value):
    path.parent.mkdir(parents=True, exist_ok=True)
    text = value if isinstance(value, str) else json.dumps(value, indent=1)
    path.write_text(text, encoding="utf-8")


@pytest.fixture
def bench(tmp_path):
    """A dataset as ExtractBench lays it out: a plain and a wrapped schema, a gold that breaks its schema."""
    folder = tmp_path / "src" / "finance" / "bills"
    put(folder / "bills-schema.json", SCHEMA)
    put(folder / "pdf+gold" / "[a] one: #1.pdf", "%PDF")
    put(folder / "pdf+gold" / "[a] one: #1.gold.json", {"total": 1})
    put(folder / "pdf+gold" / "two.pdf", "%PDF")
    put(folder / "pdf+gold" / "two.gold.json", {"total": "1"})
    put(folder / "pdf+gold" / "lost.gold.json", {"total": 1})
    other = tmp_path / "src" / "hiring" / "cv"
    put(other / "cv-schema.json", {"name": "cv", "description": "x", "schema_definition": SCHEMA})
    put(other / "pdf+gold" / "ada.pdf", "%PDF")
    put(other / "pdf+gold" / "ada.gold.json", {"total": 2})
    return tmp_path


def loaded(*files):
    cache = SchemaCache()
    found = [load_cases(file, cache) for file in files]
    assert [error for each in found for error in each.errors] == []
    return [case for each in found for case in each.cases]


@pytest.mark.parametrize("how", [[], ["--copy"]], ids=["referenced", "copied"])
def test_extract_bench(bench, capsys, how):
    assert main(["import", "extract-bench", str(bench / "src"), str(bench / "out"), *how]) == 0
    told = capsys.readouterr()
    assert told.out.startswith("3 cases in ")
    assert "the schema gates of their cases are off: 1\n" in told.out
    assert "lost.gold.json: left out, lost.pdf is not there" in told.err
    files = [bench / "out/finance/bills/bills.extract.yaml", bench / "out/hiring/cv/cv.extract.yaml"]
    cases = loaded(*files)
    assert [(case.id, case.gates.schema) for case in cases] == [("(a) one: #1", True), ("two", False), ("ada", True)]
    assert {case.semantics for case in cases} == {"extract-bench"}
    assert [dict(case.tags) for case in cases[1:]] == [
        {"domain": "finance", "schema": "bills"},
        {"domain": "hiring", "schema": "cv"},
    ]
    assert all(case.document.media_type == "application/pdf" for case in cases)
    where = bench / ("out" if how else "src")
    assert all(where in case.gold_path.resolve().parents for case in cases)
    text = files[0].read_text(encoding="utf-8")
    assert "#   two: total: '1' is a string, a number was expected\n" in text.replace('"1"', "'1'")
    assert text.count("    gates:\n      schema: false\n") == 1


def test_that_a_judge_will_be_needed_is_said_beforehand(bench, capsys):
    judged = {"type": "object", "properties": {"name": {"type": "string", "evaluation_config": "string_semantic"}}}
    put(bench / "src/hiring/cv/cv-schema.json", judged)
    put(bench / "src/hiring/cv/pdf+gold/ada.gold.json", {"name": "Ada"})
    assert main(["import", "extract-bench", str(bench / "src"), str(bench / "out")]) == 0
    assert "cases with fields that only a judge can compare (" in (told := capsys.readouterr().out)
    assert "give --extract-judge-model=PROVIDER/NAME" in told
    rows = [{"id": n, "text": "x", "category": "c", "true_depth": 3, "json": '{"name": "A"}'} for n in range(3)]
    schemas = [judged, judged, SCHEMA]
    lines = [json.dumps({**row, "schema": json.dumps(schema)}) for row, schema in zip(rows, schemas, strict=True)]
    put(bench / "part.jsonl", "\n".join(lines))
    assert main(["import", "deepjsoneval", str(bench / "part.jsonl"), str(bench / "dj")]) == 0
    assert capsys.readouterr().out.endswith("): 2\n")


def test_no_judge_is_mentioned_where_none_is_needed(bench, capsys):
    assert main(["import", "extract-bench", str(bench / "src"), str(bench / "out")]) == 0
    assert "--extract-judge" not in capsys.readouterr().out


def test_nothing_is_written_over_unless_asked(bench, capsys):
    args = ["import", "extract-bench", str(bench / "src"), str(bench / "out")]
    assert main(args) == 0
    assert main(args) == 2
    assert "bills.extract.yaml" in capsys.readouterr().err
    assert main([*args, "--force"]) == 0


def test_copied_files_are_not_written_over_unless_asked(bench, capsys):
    gold = bench / "out/finance/bills/two.gold.json"
    put(gold, {"total": 7})
    args = ["import", "extract-bench", str(bench / "src"), str(bench / "out"), "--copy"]
    assert main(args) == 2
    assert f"already there: {gold}; nothing was written" in capsys.readouterr().err
    assert [path for path in (bench / "out").rglob("*") if path.is_file()] == [gold]
    assert json.loads(gold.read_text()) == {"total": 7}


def test_a_copied_gold_is_shown_before_it_is_replaced(bench, capsys):
    args = ["import", "extract-bench", str(bench / "src"), str(bench / "out"), "--copy"]
    assert main(args) == 0
    capsys.readouterr()
    folder = bench / "out/finance/bills"
    put(folder / "two.gold.json", {"total": 7, "note": "checked\x1b[2J"})
    assert main([*args, "--force"]) == 0
    told = capsys.readouterr().out.splitlines()
    assert told[:-2] == [
        f'{folder / "two.gold.json"}: total: 7 -> "1"',
        f'{folder / "two.gold.json"}: note: "checked\\x1b[2J" -> (missing)',
    ]
    assert json.loads((folder / "two.gold.json").read_text()) == {"total": "1"}


def test_a_gold_that_cannot_be_shown_is_not_replaced(bench, capsys):
    gold = bench / "out/finance/bills/two.gold.json"
    put(gold, '{"total": 7')
    args = ["import", "extract-bench", str(bench / "src"), str(bench / "out"), "--copy", "--force"]
    assert main(args) == 2
    assert "two.gold.json:1:12: not JSON" in capsys.readouterr().err
    assert [path for path in (bench / "out").rglob("*") if path.is_file()] == [gold]
    assert gold.read_text() == '{"total": 7'


def test_golds_of_a_dataset_are_shown_before_they_are_replaced(tmp_path, capsys):
    source = jsonl(tmp_path / "part.jsonl", row(7), row(8), row(9), row(5, schema='{"type": "string"}', json='"one"'))
    args = ["import", "deepjsoneval", source, str(tmp_path / "out")]
    assert main(args) == 0
    assert main(args) == 2
    capsys.readouterr()
    assert main([*args, "--force"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 1
    dataset = tmp_path / "out/deepjsoneval.jsonl"
    lines = [json.loads(line) for line in dataset.read_text().splitlines()]
    lines[0]["gold"]["total"] = 15
    (named,) = (tmp_path / "out/deepjsoneval-golds").iterdir()
    put(named, '"two"')
    put(dataset, "".join(json.dumps(line) + "\n" for line in lines))
    jsonl(
        tmp_path / "part.jsonl",
        row(7), row(8, json='{"total": "x"}'), row(5, schema='{"type": "string"}', json='"one"'),
    )  # fmt: skip
    assert main([*args, "--force"]) == 0
    assert capsys.readouterr().out.splitlines()[:-2] == [
        f"{dataset}: 7: total: 15 -> 1.5",
        f'{dataset}: 8: total: 1.5 -> "x"',
        f"{dataset}: 9: total: 1.5 -> (missing)",
        f'{dataset}: 5: $: "two" -> "one"',
    ]
    assert json.loads(dataset.read_text().splitlines()[0])["gold"] == {"total": 1.5}
    assert named.read_text() == '"one"\n'


def row(number, **more):
    values = {"id": number, "schema": json.dumps(SCHEMA), "text": "Text\nof it", "json": '{"total": 1.5}'}
    return {**values, "category": "Bill", "true_depth": 3, **more}


def jsonl(path, *rows):
    put(path, "".join(each if isinstance(each, str) else json.dumps(each) + "\n" for each in rows))
    return str(path)


def test_deepjsoneval(tmp_path, capsys):
    source = jsonl(tmp_path / "part.jsonl", row(7), row(8, json='{"total": "x"}'))
    assert main(["import", "deepjsoneval", source, str(tmp_path / "out")]) == 0
    assert capsys.readouterr().out.startswith("2 cases in ")
    good, broken = loaded(*(tmp_path / "out").glob("*.extract.yaml"))
    assert (good.id, good.gold, good.gates.schema, dict(good.tags)) == (
        "7", {"total": 1.5}, True, {"category": "Bill", "true_depth": "3"},
    )  # fmt: skip
    assert good.document.text == "Text\nof it"
    assert (broken.id, broken.gates.schema) == ("8", False)
    text = (tmp_path / "out/deepjsoneval.extract.yaml").read_text(encoding="utf-8")
    assert "#   8: total: " in text


def workbook(path, *rows):
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    for each in rows:
        book.active.append(each)
    book.save(path)
    return str(path)


def test_deepjsoneval_as_a_workbook_gives_the_cases_of_its_lines(tmp_path, capsys):
    rows = [row(7, text="Ein Text – “so”\nund 中文"), row(8, json='{"total": "x"}')]
    cells = [[*rows[0]], *([*each.values()] for each in rows), [None] * 6]
    assert main(["import", "deepjsoneval", workbook(tmp_path / "d.xlsx", *cells), str(tmp_path / "one")]) == 0
    assert main(["import", "deepjsoneval", jsonl(tmp_path / "d.jsonl", *rows), str(tmp_path / "two")]) == 0
    for written in (tmp_path / "one").iterdir():
        assert written.read_bytes() == (tmp_path / "two" / written.name).read_bytes()
    assert capsys.readouterr().out.count("2 cases in ") == 2


def test_a_workbook_that_cannot_be_read_is_named(tmp_path, capsys):
    cells = [["id", "schema", "text"], [1, "{}", "x"]]
    assert main(["import", "deepjsoneval", workbook(tmp_path / "d.xlsx", *cells), str(tmp_path / "out")]) == 2
    assert "d.xlsx:2: a row of DeepJSONEval has the text 'json'" in capsys.readouterr().err
    (tmp_path / "e.xlsx").write_bytes(b"PK\x03\x04 not a workbook \x92")
    assert main(["import", "deepjsoneval", str(tmp_path / "e.xlsx"), str(tmp_path / "out")]) == 2
    assert "e.xlsx: is no workbook that can be read" in capsys.readouterr().err


def record(gold, schema=SCHEMA, *, response=None, metadata=None, **given):
    return {
        "metadata": metadata or {},
        "input": {"json_schema": schema, **given},
        "output": {"ground_truth": gold, "candidate_response": response},
    }


def test_sob(tmp_path, capsys):
    hard = {"record_id": "r1", "model_id": "m", "schema_complexity": "odd", "difficulty": "hard", "category": "table"}
    source = jsonl(
        tmp_path / "records.jsonl",
        record({"total": 1}, response={"total": 2}, metadata=hard),
        record({"total": 1}, context="The bill", question="How much?"),
        record("a text", {"type": "string"}, response="no JSON"),
        record({"total": 1}, {"type": "strnig"}),
    )
    assert main(["import", "sob", source, str(tmp_path / "out"), "--modality", "image"]) == 0
    assert "3 of 4: the records hold no document" in capsys.readouterr().err
    *rest, broken = loaded(tmp_path / "out/sob.extract.yaml")
    first, second, third = rest
    assert (first.id, first.document.text, first.modality) == ("1-r1", '{"total": 2}', "image")
    tags = {"record_id": "r1", "model_id": "m", "category": "table", "complexity": "hard", "modality": "image"}
    assert dict(first.tags) == tags
    assert (second.document.text, second.question) == ("The bill", "How much?")
    assert (third.gold, third.document.text) == ("a text", "no JSON")
    assert not broken.gates.schema


def test_sob_records_have_the_modality_that_their_file_is_named_after(tmp_path):
    source = jsonl(tmp_path / "response_model_audio.jsonl", record({"total": 1}, response={"total": 2}))
    assert main(["import", "sob", source, str(tmp_path / "out")]) == 0
    assert [case.modality for case in loaded(tmp_path / "out/sob.extract.yaml")] == ["audio"]


def answers(model, *responses, **given):
    """Records of one model; the gold of the last one breaks its schema."""
    golds = [*range(len(responses) - 1), "x"]
    return [
        record(
            {"total": gold}, response=response, metadata={"record_id": f"r{gold}", "model_id": model, "difficulty": "hard"},
            **given,
        )
        for gold, response in zip(golds, responses, strict=True)
    ]  # fmt: skip


GOOD = answers("good", {"total": 0}, '{"total": 1}', {"total": "x"})
BAD = answers("bad", {"total": 5}, "no JSON", None)


def ranked(capsys, path):
    capsys.readouterr()
    assert main(["leaderboard", str(path), "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    return {row["variant"]: (row["coverage"], row["json_pass_rate"], row["value_accuracy"]) for row in rows}


def with_document(records):
    return [{**each, "input": {**each["input"], "context": "The bill"}} for each in records]


@pytest.mark.parametrize("documents", [True, False])
def test_responses_of_several_models_are_scored_and_ranked(tmp_path, capsys, monkeypatch, documents):
    monkeypatch.chdir(tmp_path)
    rows = with_document(GOOD + BAD) if documents else GOOD + BAD
    assert main(["import", "sob", jsonl(tmp_path / "records.jsonl", *rows), "cases"]) == 0
    told = capsys.readouterr().out
    assert f"{3 if documents else 6} cases in " in told
    assert "6 responses of 2 models scored; rank them: pytest-extract leaderboard cases/sob-responses.jsonl" in told
    results = read_results(tmp_path / "cases/sob-responses.jsonl").results
    assert {(each.case_id, each.variant.model) for each in results} == {
        (name, model) for name in ("1-r0", "2-r1", "3-rx") for model in ("good", "bad")
    }
    assert {each.tags["model_id"] == each.variant.model for each in results} == {True}
    found = ranked(capsys, "cases/sob-responses.jsonl")
    assert list(found) == ["good", "bad"]
    assert found["good"] == pytest.approx((1, 2 / 3, 2 / 3))
    assert found["bad"] == pytest.approx((1, 1 / 3, 0))
    cases = loaded(tmp_path / "cases/sob.extract.yaml")
    assert ["model_id" in case.tags for case in cases] == ([False] * 3 if documents else [True] * 6)


def test_responses_are_scored_again_without_a_call(pytester, capsys):
    source = jsonl(pytester.path / "records.jsonl", *with_document(GOOD + BAD))
    assert main(["import", "sob", source, "cases"]) == 0
    result = pytester.runpytest("cases", "--extract-from=cases/sob-responses.jsonl", "--extract-report=r.jsonl", "-q")
    result.assert_outcomes(passed=3, failed=3)
    assert ranked(capsys, "r.jsonl") == ranked(capsys, "cases/sob-responses.jsonl")
    before, after = (
        {(each.case_id, each.variant): each.attempts[0].score.measures for each in read_results(Path(name)).results}
        for name in ("cases/sob-responses.jsonl", "r.jsonl")
    )
    assert before == after


def test_a_schema_in_a_provider_s_spelling_belongs_to_the_response(tmp_path, capsys):
    """Of three models one was given the schema in another spelling, which its response breaks: there is one suite."""
    theirs = {**SCHEMA, "property_ordering": ["total"], "required": ["sum"]}
    rows = with_document([*answers("other", {"total": 0}, {"total": 1}, None, schema=theirs), *GOOD, *BAD])
    assert main(["import", "sob", jsonl(tmp_path / "records.jsonl", *rows), str(tmp_path / "out")]) == 0
    assert "3 cases in " in capsys.readouterr().out
    found = ranked(capsys, tmp_path / "out/sob-responses.jsonl")
    assert {name: coverage for name, (coverage, _, _) in found.items()} == {"good": 1, "bad": 1, "other": 1}
    assert found["good"] == pytest.approx((1, 2 / 3, 2 / 3))
    assert found["other"] == pytest.approx((1, 0, 0))
    cases = loaded(tmp_path / "out/sob.extract.yaml")
    assert [(case.id, case.schema) for case in cases] == [("1-r0", SCHEMA), ("2-r1", SCHEMA), ("3-rx", SCHEMA)]


def test_records_that_ask_something_else_are_cases_of_their_own(tmp_path, capsys):
    (first,) = with_document(GOOD[:1])
    rows = [first]
    for part, name, value in [
        ("metadata", "record_id", "r9"), ("input", "question", "How much?"), ("input", "context", "Another bill"),
        ("output", "ground_truth", {"total": 9}),
    ]:  # fmt: skip
        row = copy.deepcopy(first)
        row["metadata"]["model_id"] = name
        row[part][name] = value
        rows.append(row)
    assert main(["import", "sob", jsonl(tmp_path / "records.jsonl", *rows), str(tmp_path / "out")]) == 0
    assert "5 cases in " in capsys.readouterr().out


def test_what_is_known_of_a_record_of_sob_becomes_its_tags(tmp_path, capsys):
    known = {"record_id": "r1", "source_category": "receipts", "type": "scan", "pages": 2, "empty": "", "list": [1]}
    of_models = [{**known, "model_id": name, "seconds": at} for at, name in enumerate(["a", "b"])]
    rows = [record({"total": 1}, response={"total": 1}, metadata=each, context="The bill") for each in of_models]
    assert main(["import", "sob", jsonl(tmp_path / "r.jsonl", *rows), str(tmp_path / "out")]) == 0
    (case,) = loaded(tmp_path / "out/sob.extract.yaml")
    tags = {"record_id": "r1", "source_category": "receipts", "category": "receipts", "type": "scan", "pages": "2"}
    assert dict(case.tags) == {**tags, "modality": "text"}
    results = read_results(tmp_path / "out/sob-responses.jsonl").results
    assert [each.tags["seconds"] for each in results] == ["0", "1"]
    report = ["report", str(tmp_path / "out/sob-responses.jsonl")]
    assert main([*report, "--by", "category"]) == 0
    assert "receipts" in capsys.readouterr().out
    assert main([*report, "--by", "complexty"]) == 2
    assert capsys.readouterr().err.count("complexity") == 1


def test_repeated_records_of_a_model_stay_cases_of_their_own(tmp_path, capsys):
    source = jsonl(tmp_path / "records.jsonl", *with_document(GOOD[:1] * 2 + BAD[:1]))
    assert main(["import", "sob", source, str(tmp_path / "out")]) == 0
    assert "2 cases in " in capsys.readouterr().out
    results = read_results(tmp_path / "out/sob-responses.jsonl").results
    assert [(each.case_id, each.variant.model) for each in results] == [
        ("1-r0", "good"),
        ("1-r0", "bad"),
        ("2-r0", "good"),
    ]


def test_records_without_responses_make_no_results(tmp_path, capsys):
    (row,) = copy.deepcopy(with_document(GOOD[:1]))
    del row["output"]["candidate_response"]
    assert main(["import", "sob", jsonl(tmp_path / "r.jsonl", row), str(tmp_path / "out")]) == 0
    assert "scored" not in capsys.readouterr().out
    assert not (tmp_path / "out/sob-responses.jsonl").exists()


@pytest.mark.parametrize(
    ("dataset", "lines", "message"),
    [
        ("deepjsoneval", ["{\n"], "part.jsonl:1:2: "),
        ("deepjsoneval", ["[1]\n"], "part.jsonl:1: a record is a JSON object"),
        ("deepjsoneval", [row(1), row(2, schema=None)], "part.jsonl:2: a row of DeepJSONEval has the text 'schema'"),
        ("deepjsoneval", [row(1, json="{")], "part.jsonl:1: 'json' holds no JSON text"),
        ("deepjsoneval", [], "there is no record to import"),
        ("sob", [{"input": {}}], "part.jsonl:1: a record of SOB has input.json_schema"),
        ("extract-bench", [], "no folder with a *-schema.json beside pdf+gold/ is there"),
    ],
    ids=["json", "list", "key", "inner", "empty", "sob", "folder"],
)
def test_what_cannot_be_imported_is_told(tmp_path, capsys, dataset, lines, message):
    source = jsonl(tmp_path / "part.jsonl", *lines)
    assert (
        main(["import", dataset, str(tmp_path if dataset == "extract-bench" else source), str(tmp_path / "out")]) == 2
    )
    assert message in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_a_source_that_is_not_there(tmp_path, capsys):
    assert main(["import", "sob", str(tmp_path / "none"), str(tmp_path)]) == 2
    assert "none is not there" in capsys.readouterr().err


def test_golds_with_values_that_nothing_compares_are_told_and_allowed(bench, capsys):
    golds = bench / "src" / "finance" / "bills" / "pdf+gold"
    put(golds / "[a] one: #1.gold.json", {"total": 1, "sum": {"net": 1, "tax": 2}})
    put(golds / "two.gold.json", {"total": 1, "sum": 2})
    assert main(["import", "extract-bench", str(bench / "src"), str(bench / "out")]) == 0
    told = capsys.readouterr()
    assert "one: #1.gold.json: 2 of 3 gold values are compared with nothing: `sum` (2)" in told.err
    file = bench / "out/finance/bills/bills.extract.yaml"
    text = file.read_text(encoding="utf-8")
    assert text.count("  uncompared: allow\n") == 1
    assert [case.uncompared is not None for case in loaded(file)] == [True, True]


def test_a_dataset_allows_golds_that_nothing_compares(tmp_path, capsys):
    row = {"id": 1, "schema": json.dumps(SCHEMA), "text": "x", "json": json.dumps({"sum": 1}), "category": "c"}
    put(tmp_path / "rows.jsonl", json.dumps(row))
    assert main(["import", "deepjsoneval", str(tmp_path / "rows.jsonl"), str(tmp_path / "out")]) == 0
    assert "import: 1: 1 of 1 gold values are compared with nothing: `sum` (1)" in capsys.readouterr().err
    (case,) = loaded(tmp_path / "out" / "deepjsoneval.extract.yaml")
    assert case.uncompared is not None


def test_published_responses_have_the_published_numbers(tmp_path):
    """Responses that are JSON values; the published program reads no JSON in a text that is a response."""
    expected, rows = {}, []
    for vector in jsonl_of("vectors/sob.jsonl"):
        given, output = vector["record"]["input"], vector["record"]["output"]
        answered = isinstance(output.get("candidate_response"), dict | list) and "ground_truth" in output
        if "expected" in vector and vector["modality"] == "text" and answered and "json_schema" in given:
            metadata = {**vector["record"]["metadata"], "record_id": vector["id"]}
            rows.append({**vector["record"], "metadata": metadata})
            expected[vector["id"]] = vector["expected"]
    assert main(["import", "sob", jsonl(tmp_path / "records.jsonl", *rows), str(tmp_path / "out")]) == 0
    results = read_results(tmp_path / "out/sob-responses.jsonl").results
    scored = {each.tags["record_id"]: each.attempts[0].score for each in results}
    assert set(scored) == set(expected)
    readable = {name: score for name, score in scored.items() if score is not None}
    assert len(readable) > 0.9 * len(scored)
    for name, score in readable.items():
        published = expected[name]
        found = (score.measures["value_accuracy"], score.measures["faithfulness"], score.measures["json_pass"])
        wanted = (published["leaf_value_em"], published["value_token_f1"], published["schema_compliance"])
        assert found == pytest.approx(wanted, abs=1e-9), name


INVOICE = {"type": "object", "properties": {"total": {"type": "number"}, "items": {"type": "array"}}}
OUTPUT = {"total": 7, "items": ["a", "x"]}


def corrections(tmp_path, *rows):
    put(tmp_path / "in" / "invoice.schema.json", INVOICE)
    put(tmp_path / "in" / "docs" / "4711.txt", "Total 9.50")
    put(tmp_path / "in" / "fixed.jsonl", "\n".join(map(json.dumps, rows)))
    return main(["import", "corrections", str(tmp_path / "in" / "fixed.jsonl"), str(tmp_path / "cases")])


BY_FIELD = {
    "id": "4711", "document": "docs/4711.txt", "schema": "invoice.schema.json", "output": OUTPUT,
    "corrections": {"total": 9.5, "items[1]": "b"}, "by": "ada", "at": "2026-11-02",
}  # fmt: skip
AS_A_WHOLE = {"text": "Total 3", "schema": INVOICE, "output": OUTPUT, "corrected": {"total": 3}, "tags": {"of": "fax"}}


def test_corrections_become_regression_tests(tmp_path, capsys):
    assert corrections(tmp_path, BY_FIELD, AS_A_WHOLE) == 0
    assert "2 cases in " in capsys.readouterr().out
    first, second = loaded(tmp_path / "cases" / "corrections.extract.yaml")
    assert (first.id, first.origin, first.document.text) == ("4711", "correction", "Total 9.50")
    assert first.gold == {"total": 9.5, "items": ["a", "b"]}
    assert dict(first.tags) == {"corrected_by": "ada", "corrected_at": "2026-11-02"}
    assert (second.id, second.gold, second.tags["of"]) == ("corrections-2", {"total": 3}, "fax")


@pytest.mark.parametrize(
    ("row", "told"),
    [
        ({**BY_FIELD, "correction": 1}, "a correction has no key 'correction'; did you mean 'corrections'?"),
        ({**BY_FIELD, "text": "x"}, "a correction has either `document`, a path, or `text`"),
        ({**BY_FIELD, "corrected": {}}, "a correction has `schema`, and either `corrected` or `corrections`"),
        ({**BY_FIELD, "document": "docs/1.txt"}, "docs/1.txt is no file beside fixed.jsonl"),
        ({**BY_FIELD, "corrections": {"total.net": 1}}, "the schema has no field 'total.net'"),
        ({**BY_FIELD, "corrections": {"items[9]": "z"}}, "the output has no place items[9]; write the whole value as"),
        (
            {**BY_FIELD, "corrections": {"totl": 9}},
            "the schema has no field 'totl'; did you mean 'total'?; if it is right, write the whole value as",
        ),
        ({**BY_FIELD, "corrections": []}, "must be an object of field paths and their right values"),
        ({**BY_FIELD, "corrections": {"total": 7.0}}, "the correction changes nothing"),
        (
            {**BY_FIELD, "schema": "invoice.schema.json#/$defs/x"},
            "nothing stands at the pointer '/$defs/x' of invoice.sch",
        ),
        ({**AS_A_WHOLE, "tags": ["q"]}, "`tags` must be "),
        ({**AS_A_WHOLE, "id": ["q"]}, "`id` must be "),
        ({**AS_A_WHOLE, "schema": 5}, "`schema` must be "),
        ({**AS_A_WHOLE, "id": "4711"}, "the id '4711' is taken by line 1; give each correction an id of its own"),
    ],
)
def test_a_correction_that_cannot_be_used_is_told_with_its_line(tmp_path, capsys, row, told):
    assert corrections(tmp_path, BY_FIELD, row) == 2
    error = capsys.readouterr().err
    assert "fixed.jsonl:2" in error
    assert told in error
    assert not (tmp_path / "cases").exists()


def test_every_correction_that_cannot_be_used_is_told_at_once(tmp_path, capsys):
    assert corrections(tmp_path, {**BY_FIELD, "text": "x"}, BY_FIELD, {**BY_FIELD, "corrections": []}) == 2
    assert re.findall(r"fixed\.jsonl:(\d)", capsys.readouterr().err) == ["1", "3"]


def test_a_gold_that_is_mended_has_its_gate_again(tmp_path, capsys):
    broken = {**AS_A_WHOLE, "id": "fax", "corrected": {"total": "three"}}
    assert corrections(tmp_path, broken) == 0
    assert main(["check", str(tmp_path / "cases")]) == 0
    assert corrections(tmp_path, {**AS_A_WHOLE, "id": "fax"}) == 2
    assert "already there" in capsys.readouterr().err
    command = ["import", "corrections", str(tmp_path / "in" / "fixed.jsonl"), str(tmp_path / "cases"), "--force"]
    assert main(command) == 0
    assert 'fax: total: "three" -> 3' in capsys.readouterr().out
    (case,) = loaded(tmp_path / "cases" / "corrections.extract.yaml")
    assert (case.gold, case.gates.schema) == ({"total": 3}, True)


def test_a_correction_gives_what_the_output_left_out(tmp_path):
    right = {"vendor.name": "ACME", "lines[0].qty": 2, "lines[1].qty": 3}
    schema = {
        "type": "object",
        "properties": {
            "vendor": {"type": "object", "properties": {"name": {"type": "string"}}},
            "lines": {"type": "array", "items": {"type": "object", "properties": {"qty": {"type": "integer"}}}},
        },
    }
    row = {"text": "ACME 2 3", "schema": schema, "output": {"vendor": None}, "corrections": right}
    assert corrections(tmp_path, row) == 0
    (case,) = loaded(tmp_path / "cases" / "corrections.extract.yaml")
    assert case.gold == {"vendor": {"name": "ACME"}, "lines": [{"qty": 2}, {"qty": 3}]}


def test_a_correction_takes_its_schema_from_a_place_in_a_file(tmp_path):
    put(tmp_path / "in" / "all.json", {"schemas/": {"invoice": INVOICE}})
    row = {**BY_FIELD, "schema": "all.json#/schemas~1/invoice", "output": {"total": 1, "items": ["a"], "extra": 1}}
    row["corrections"] = {"total": True, "items[1]": [], "extra": 2}
    assert corrections(tmp_path, row) == 0
    (case,) = loaded(tmp_path / "cases" / "corrections.extract.yaml")
    assert (case.schema, case.gold) == (INVOICE, {"total": True, "items": ["a", []], "extra": 2})


LLAMA = {
    "data_schema": {
        "type": "object",
        "properties": {
            "name": {"type": "string"},
            "due": {"type": "string"},
            "paid": {"type": ["string", "null"]},
            "rows": {"type": "array", "items": {"type": "object", "properties": {"n": {"type": "integer"}}}},
        },
    },
    "expected_output": {"name": "Ada", "due": "2026-03-05", "paid": None, "rows": [{"n": 1}, {"n": 2}]},
    "_field_rules": {
        "name": {
            "evidence": [
                {"page": 1, "bbox": [0.1, 0.2, 0.3, 0.1], "value": "Ada", "layer": "word"},
                {"page": 2, "bbox": [0.1, 0.2, 0.3, 0.0], "value": "A. Lovelace"},
            ]
        },
        "rows[0].n": {
            "normalizers": ["phone_digits"],
            "evidence": [
                {"page": 1, "bbox": [0.0, 0.0, 0.1, 0.1], "value": 1},
                {"page": 1, "bbox": [0.0, 0.0, 0.1, 0.5], "value": 1, "coarse": True},
            ],
        },
    },
    "tags": ["T3", "P2"],
}


@pytest.fixture
def llama(tmp_path):
    put(tmp_path / "src" / "short" / "form.test.json", LLAMA)
    (tmp_path / "src" / "short" / "form.pdf").write_bytes(small_pdf("a scan"))
    return tmp_path


def test_the_extract_bench_of_run_llama(llama, capsys):
    assert main(["import", "llama-extract-bench", str(llama / "src"), str(llama / "cases")]) == 0
    told = capsys.readouterr()
    assert told.out.startswith("1 case in ")
    assert "1 fields have normalizers" in told.err
    (case,) = loaded(llama / "cases" / "llama-extract-bench.extract.yaml")
    assert (case.id, case.gold, case.nulls) == ("short/form", LLAMA["expected_output"], "value")
    assert dict(case.tags) == {"group": "short", "tags": "T3, P2"}
    assert dict(case.accept) == {"name": ("A. Lovelace",)}
    assert dict(case.overrides) == {"due": "date"}
    assert {name: [(place.page, place.box) for place in places] for name, places in case.evidence.items()} == {
        "name": [(1, (0.1, 0.2, 0.4, pytest.approx(0.3))), (2, None)],
        "rows[0].n": [(1, (0.0, 0.0, 0.1, 0.5))],
    }


@pytest.mark.parametrize(
    ("output", "f1"),
    [
        (LLAMA["expected_output"], 1.0),
        ({"name": "A. Lovelace", "due": "2026-03-05", "paid": None, "rows": [{"n": 2}, {"n": 1}]}, 1.0),
        ({"name": "Ada  ", "due": "2026-03-05", "paid": None, "rows": [{"n": 1}, {"n": 2}]}, 1.0),
        ({"name": "Ada", "due": "2026-03-05", "paid": None, "rows": [{"n": 1}]}, 8 / 9),
        ({"name": "ada", "due": "2026-03-05", "paid": "x", "rows": [{"n": 1}, {"n": 2}]}, 0.6),
    ],
)
def test_its_value_f1_is_that_of_the_cells(llama, output, f1):
    """Every scalar field and every cell of a row counts, null too; rows in any order, no tolerance."""
    assert main(["import", "llama-extract-bench", str(llama / "src"), str(llama / "cases")]) == 0
    (case,) = loaded(llama / "cases" / "llama-extract-bench.extract.yaml")
    score = case.scorer.score_text(case.gold, json.dumps(output), case.score_options)
    assert score.measures["f1"] == pytest.approx(f1)


@pytest.mark.parametrize(
    ("citation", "right"),
    [
        ({"page": 1, "box": [0.1, 0.2, 0.4, 0.3]}, 1.0),
        ({"page": 1}, 1.0),
        ({"page": 2, "box": [0.7, 0.7, 0.9, 0.9]}, 1.0),
        ({"page": 1, "box": [0.7, 0.7, 0.9, 0.9]}, 0.0),
        ({"page": 3}, 0.0),
    ],
)
def test_citations_are_held_against_its_evidence_on_scans_too(llama, citation, right):
    (llama / "src" / "short" / "form.pdf").write_bytes(small_pdf(" "))
    assert main(["import", "llama-extract-bench", str(llama / "src"), str(llama / "cases")]) == 0
    (case,) = loaded(llama / "cases" / "llama-extract-bench.extract.yaml")
    extraction = Extraction(LLAMA["expected_output"], citations={"name": [citation]})
    score = run_case(case, lambda _: extraction, nodeid="n", file="f").attempts[0].score
    assert score.measures["citation_precision"] == right


@pytest.mark.parametrize(("name", "rule"), [("rows[].n", {"evidence": []}), ("name", {"evidence": ["p1"]})])
def test_a_rule_of_run_llama_of_another_form_is_told(llama, capsys, name, rule):
    put(llama / "src" / "short" / "form.test.json", {**LLAMA, "_field_rules": {name: rule}})
    assert main(["import", "llama-extract-bench", str(llama / "src"), str(llama / "cases")]) == 2
    assert f"form.test.json:1: the rule of '{name}' is of another form: " in capsys.readouterr().err


def test_a_file_of_run_llama_without_a_document_is_told(llama, capsys):
    (llama / "src" / "short" / "form.pdf").unlink()
    assert main(["import", "llama-extract-bench", str(llama / "src"), str(llama / "cases")]) == 2
    assert "form.test.json:1: no document form (.pdf, .docx" in capsys.readouterr().err


def cells(value, schema, path=()):
    """Yield path and value of every scalar that the schema declares; rows by their place."""
    if schema.get("type") == "array":
        for index, row in enumerate(value or []):
            yield from cells(row, schema["items"], (*path, index))
    elif "properties" in schema:
        for name, part in schema["properties"].items():
            if isinstance(value, dict) and (name in value or part.get("type") == "array"):
                yield from cells(value.get(name), part, (*path, name))
    else:
        yield path, " ".join(value.split()) if isinstance(value, str) else value


def value_f1(gold, output):
    """Value F1 as run-llama's ExtractBench describes it, for one list of rows: the pairing with most equal cells."""
    schema, best = LLAMA["data_schema"], 0.0
    ours = dict(cells(gold, schema))
    for order, first in itertools.product(itertools.permutations(output.get("rows", [])), range(3)):
        found = cells({**output, "rows": [{}] * first + list(order)}, schema)
        theirs = {path: value for path, value in found if value is not None or path[0] != "rows"}
        right = sum(path in ours and ours[path] == value for path, value in theirs.items())
        best = max(best, 2 * right / (len(ours) + len(theirs)))
    return best


ROWS = LLAMA["expected_output"]["rows"]
CHANGES = [
    {}, {"name": "Eve"}, {"name": " Ada "}, {"name": None}, {"paid": "yes"}, {"due": "2026-05-03"}, {"rows": ROWS[::-1]}, {"rows": ROWS[:1]},
    {"rows": ROWS[1:]}, {"rows": [*ROWS, {"n": 3}]}, {"rows": [{"n": 9}, ROWS[1]]}, {"rows": [ROWS[0], ROWS[0]]},
    {"rows": [{"n": 3}, *ROWS[::-1]]}, {"name": "Eve", "paid": "x", "rows": ROWS[1:]}, {"due": "2026-05-03", "rows": [{"n": 8}, {"n": 9}]},
]  # fmt: skip


@pytest.mark.parametrize("change", CHANGES, ids=str)
def test_f1_is_the_value_f1_of_run_llama(llama, change):
    assert main(["import", "llama-extract-bench", str(llama / "src"), str(llama / "cases")]) == 0
    (case,) = loaded(llama / "cases" / "llama-extract-bench.extract.yaml")
    output = {**LLAMA["expected_output"], **change}
    options = dataclasses.replace(case.score_options, gates=GateConfig(schema=False), accept={})
    score = case.scorer.score_text(case.gold, json.dumps(output), options)
    assert score.measures["f1"] == pytest.approx(value_f1(LLAMA["expected_output"], output))


@pytest.mark.parametrize("change", CHANGES, ids=str)
def test_the_value_f1_of_run_llama_is_that_of_its_package(change):
    package = pytest.importorskip(
        "extract_bench.evaluation.metrics.extract.unified_evidence_metric", reason="pip install llama-extract-bench"
    )
    gold = LLAMA["expected_output"]
    output = {**gold, **change}
    found = package.compute_unified_evidence_metrics(gold, output, [], data_schema=LLAMA["data_schema"])
    (theirs,) = (each.value for each in found if each.metric_name == "extract_unified_value_f1")
    assert value_f1(gold, output) == pytest.approx(theirs)
