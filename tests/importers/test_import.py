"""Case files from datasets laid out as the published ones, made by hand, and from corrections."""

from __future__ import annotations

import dataclasses
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
from tests.shared_data import jsonl
from tests.small_pdf import small_pdf

SCHEMA = {"type": "object", "properties": {"total": {"type": "number", "evaluation_config": "number_exact"}}}
JUDGED = {"type": "object", "properties": {"name": {"type": "string", "evaluation_config": "string_semantic"}}}


def put(path, value):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(value if isinstance(value, str) else json.dumps(value, indent=1), encoding="utf-8")


def put_lines(path, *rows):
    put(path, "".join(each if isinstance(each, str) else json.dumps(each) + "\n" for each in rows))


@pytest.fixture
def run_import(tmp_path, monkeypatch, capsys):
    """Import a dataset from below a folder; returns what is printed."""
    monkeypatch.chdir(tmp_path)

    def run(dataset, source, *options, status=0, target="out"):
        assert main(["import", dataset, source, target, *options]) == status
        return capsys.readouterr()

    return run


def loaded(*files):
    cache = SchemaCache()
    found = [load_cases(Path(file), cache) for file in files]
    assert [error for each in found for error in each.errors] == []
    return [case for each in found for case in each.cases]


@pytest.fixture
def bench(tmp_path):
    """A plain and a wrapped schema, a gold that breaks its schema, and one without a document."""
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


def test_extract_bench(bench, run_import):
    told = run_import("extract-bench", "src")
    assert told.out.startswith("3 cases in ")
    assert "the schema gates of their cases are off: 1\n" in told.out
    assert "lost.gold.json: left out, lost.pdf is not there" in told.err
    assert "--extract-judge" not in told.out
    files = [bench / "out/finance/bills/bills.extract.yaml", bench / "out/hiring/cv/cv.extract.yaml"]
    cases = loaded(*files)
    assert [(case.id, case.gates.schema) for case in cases] == [("(a) one: #1", True), ("two", False), ("ada", True)]
    assert {case.semantics for case in cases} == {"extract-bench"}
    assert [dict(case.tags) for case in cases[1:]] == [
        {"domain": "finance", "schema": "bills"},
        {"domain": "hiring", "schema": "cv"},
    ]
    assert all(case.document.media_type == "application/pdf" for case in cases)
    assert all(bench / "src" in case.gold_path.resolve().parents for case in cases)
    text = files[0].read_text(encoding="utf-8")
    assert "#   two: total: '1' is a string, a number was expected\n" in text.replace('"1"', "'1'")
    assert text.count("    gates:\n      schema: false\n") == 1
    assert "bills.extract.yaml" in run_import("extract-bench", "src", status=2).err


def test_that_a_judge_will_be_needed_is_said_beforehand(bench, run_import):
    put(bench / "src/hiring/cv/cv-schema.json", JUDGED)
    put(bench / "src/hiring/cv/pdf+gold/ada.gold.json", {"name": "Ada"})
    told = run_import("extract-bench", "src").out
    assert "cases with fields that only a judge can compare (" in told
    assert "give --extract-judge-model=PROVIDER/NAME" in told
    judged = {"schema": json.dumps(JUDGED), "json": '{"name": "A"}'}
    put_lines(bench / "part.jsonl", row(1, **judged), row(2, **judged), row(3))
    assert run_import("deepjsoneval", "part.jsonl", target="dj").out.endswith("): 2\n")


def test_golds_with_values_that_nothing_compares_are_told_and_allowed(bench, run_import):
    golds = bench / "src" / "finance" / "bills" / "pdf+gold"
    put(golds / "[a] one: #1.gold.json", {"total": 1, "sum": {"net": 1, "tax": 2}})
    put(golds / "two.gold.json", {"total": 1, "sum": 2})
    told = run_import("extract-bench", "src").err
    assert "one: #1.gold.json: 2 of 3 gold values are compared with nothing: `sum` (2)" in told
    file = bench / "out/finance/bills/bills.extract.yaml"
    assert file.read_text(encoding="utf-8").count("  uncompared: allow\n") == 1
    assert [case.uncompared is not None for case in loaded(file)] == [True, True]


# --- DeepJSONEval


def row(number, **more):
    values = {"id": number, "schema": json.dumps(SCHEMA), "text": "Text\nof it", "json": '{"total": 1.5}'}
    return {**values, "category": "Bill", "true_depth": 3, **more}


def put_workbook(path, *rows):
    book = pytest.importorskip("openpyxl").Workbook()
    for each in rows:
        book.active.append(each)
    book.save(path)


def test_deepjsoneval_as_lines_and_as_a_workbook(tmp_path, run_import):
    text = "Ein Text – “so”\nund 中文"
    rows = [row(7, text=text), row(8, json='{"total": "x"}'), row(9, json='{"sum": 1}')]
    put_lines(tmp_path / "part.jsonl", *rows)
    told = run_import("deepjsoneval", "part.jsonl")
    assert told.out.startswith("3 cases in ")
    assert "scored" not in told.out
    assert "import: 9: 1 of 1 gold values are compared with nothing: `sum` (1)" in told.err
    good, broken, uncompared = loaded("out/deepjsoneval.extract.yaml")
    assert (good.id, good.gold, good.document.text, good.gates.schema) == ("7", {"total": 1.5}, text, True)
    assert dict(good.tags) == {"category": "Bill", "true_depth": "3"}
    assert (broken.id, broken.gates.schema) == ("8", False)
    assert "#   8: total: " in Path("out/deepjsoneval.extract.yaml").read_text(encoding="utf-8")
    assert uncompared.uncompared is not None
    put_workbook(tmp_path / "part.xlsx", [*rows[0]], *([*each.values()] for each in rows), [None] * 6)
    assert run_import("deepjsoneval", "part.xlsx", target="two").out.startswith("3 cases in ")
    for written in (tmp_path / "two").iterdir():
        assert written.read_bytes() == (tmp_path / "out" / written.name).read_bytes()


def test_a_workbook_that_cannot_be_read_is_named(tmp_path, run_import):
    put_workbook(tmp_path / "d.xlsx", ["id", "schema", "text"], [1, "{}", "x"])
    told = run_import("deepjsoneval", "d.xlsx", status=2).err
    assert "d.xlsx:2: a row of DeepJSONEval has the text 'json'" in told
    (tmp_path / "e.xlsx").write_bytes(b"PK\x03\x04 not a workbook \x92")
    assert "e.xlsx: is no workbook that can be read" in run_import("deepjsoneval", "e.xlsx", status=2).err


@pytest.mark.parametrize(
    ("dataset", "lines", "message"),
    [
        ("deepjsoneval", ["{\n"], "part.jsonl:1:2: "),
        ("deepjsoneval", ["[1]\n"], "part.jsonl:1: a record is a JSON object"),
        ("deepjsoneval", [row(1), row(2, schema=None)], "part.jsonl:2: a row of DeepJSONEval has the text 'schema'"),
        ("deepjsoneval", [row(1, json="{")], "part.jsonl:1: 'json' holds no JSON text"),
        ("deepjsoneval", [], "there is no record to import"),
        ("sob", [{"input": {}}], "part.jsonl:1: a record of SOB has input.json_schema"),
        ("sob", None, "part.jsonl is not there"),
        ("extract-bench", [], "no folder with a *-schema.json beside pdf+gold/ is there"),
    ],
    ids=["json", "list", "key", "inner", "empty", "sob", "absent", "folder"],
)
def test_what_cannot_be_imported_is_told(tmp_path, run_import, dataset, lines, message):
    if lines is not None:
        put_lines(tmp_path / "part.jsonl", *lines)
    source = "." if dataset == "extract-bench" else "part.jsonl"
    assert message in run_import(dataset, source, status=2).err
    assert not (tmp_path / "out").exists()


# --- SOB


def record(gold, schema=SCHEMA, *, response=None, metadata=None, **given):
    return {
        "metadata": metadata or {},
        "input": {"json_schema": schema, **given},
        "output": {"ground_truth": gold, "candidate_response": response},
    }


@pytest.fixture
def run_sob(tmp_path, run_import):
    """Import records; returns what is printed, the cases and the scored responses."""

    def run(*records, file="records.jsonl", options=()):
        put_lines(tmp_path / file, *records)
        told = run_import("sob", file, *options)
        responses = tmp_path / "out/sob-responses.jsonl"
        results = read_results(responses).results if responses.exists() else ()
        return told, loaded("out/sob.extract.yaml"), results

    return run


def test_sob(run_sob):
    hard = {"record_id": "r1", "model_id": "m", "schema_complexity": "odd", "difficulty": "hard", "category": "table"}
    told, (first, second, third, broken), _ = run_sob(
        record({"total": 1}, response={"total": 2}, metadata=hard),
        record({"total": 1}, context="The bill", question="How much?"),
        record("a text", {"type": "string"}, response="no JSON"),
        record({"total": 1}, {"type": "strnig"}),
        options=["--modality", "image"],
    )
    assert "3 of 4: the records hold no document" in told.err
    assert (first.id, first.document.text, first.modality) == ("1-r1", '{"total": 2}', "image")
    tags = {"record_id": "r1", "model_id": "m", "category": "table", "complexity": "hard", "modality": "image"}
    assert dict(first.tags) == tags
    assert (second.document.text, second.question) == ("The bill", "How much?")
    assert (third.gold, third.document.text) == ("a text", "no JSON")
    assert not broken.gates.schema


def answers(model, *responses, **given):
    """Records of one model; the gold of the last one breaks its schema."""
    golds = [*range(len(responses) - 1), "x"]
    known = {"model_id": model, "difficulty": "hard"}
    return [
        record({"total": gold}, response=response, metadata={"record_id": f"r{gold}", **known}, **given)
        for gold, response in zip(golds, responses, strict=True)
    ]


def with_document(records):
    return [{**each, "input": {**each["input"], "context": "The bill"}} for each in records]


GOOD = answers("good", {"total": 0}, '{"total": 1}', {"total": "x"})
BAD = answers("bad", {"total": 5}, "no JSON", None)
(ASKED,) = with_document(GOOD[:1])


def ranked(capsys, path):
    capsys.readouterr()
    assert main(["leaderboard", path, "--json"]) == 0
    (board,) = json.loads(capsys.readouterr().out)
    return {
        row["variant"]: (row["cover"], row["json_pass_rate"], row["value_accuracy"])
        for row in board["tables"][1]["rows"]
    }


@pytest.mark.parametrize("documents", [True, False])
def test_responses_of_several_models_are_scored_and_ranked(run_sob, capsys, documents):
    told, cases, results = run_sob(*(with_document(GOOD + BAD) if documents else GOOD + BAD))
    assert f"{3 if documents else 6} cases in " in told.out
    assert "6 responses of 2 models scored; rank them: pytest-extract leaderboard out/sob-responses.jsonl" in told.out
    assert {(each.case_id, each.variant.model) for each in results} == {
        (name, model) for name in ("1-r0", "2-r1", "3-rx") for model in ("good", "bad")
    }
    assert {each.tags["model_id"] == each.variant.model for each in results} == {True}
    found = ranked(capsys, "out/sob-responses.jsonl")
    assert list(found) == ["good", "bad"]
    assert found["good"] == pytest.approx((1, 2 / 3, 2 / 3))
    assert found["bad"] == pytest.approx((1, 1 / 3, 0))
    assert ["model_id" in case.tags for case in cases] == ([False] * 3 if documents else [True] * 6)


def test_responses_are_scored_again_without_a_call(pytester, capsys):
    put_lines(pytester.path / "records.jsonl", *with_document(GOOD + BAD))
    assert main(["import", "sob", "records.jsonl", "cases"]) == 0
    result = pytester.runpytest("cases", "--extract-from=cases/sob-responses.jsonl", "--extract-report=r.jsonl", "-q")
    result.assert_outcomes(passed=3, failed=3)
    assert ranked(capsys, "r.jsonl") == ranked(capsys, "cases/sob-responses.jsonl")
    before, after = (
        {(each.case_id, each.variant): each.attempts[0].score.measures for each in read_results(Path(name)).results}
        for name in ("cases/sob-responses.jsonl", "r.jsonl")
    )
    assert before == after


def test_a_schema_in_a_provider_s_spelling_belongs_to_the_response(run_sob, capsys):
    """Of three models one was given the schema in another spelling, which its response breaks: there is one suite."""
    theirs = {**SCHEMA, "property_ordering": ["total"], "required": ["sum"]}
    other = answers("other", {"total": 0}, {"total": 1}, None, schema=theirs)
    _, cases, _ = run_sob(*with_document([*other, *GOOD, *BAD]))
    found = ranked(capsys, "out/sob-responses.jsonl")
    assert {name: coverage for name, (coverage, _, _) in found.items()} == {"good": 1, "bad": 1, "other": 1}
    assert found["good"] == pytest.approx((1, 2 / 3, 2 / 3))
    assert found["other"] == pytest.approx((1, 0, 0))
    assert [(case.id, case.schema) for case in cases] == [("1-r0", SCHEMA), ("2-r1", SCHEMA), ("3-rx", SCHEMA)]


def test_records_that_ask_something_else_are_cases_of_their_own(run_sob):
    changes = [
        ("metadata", {"model_id": "other"}),
        ("metadata", {"record_id": "r9"}),
        ("input", {"question": "How much?"}),
        ("input", {"context": "Another bill"}),
        ("output", {"ground_truth": {"total": 9}}),
    ]
    others = [{**ASKED, part: {**ASKED[part], **change}} for part, change in changes]
    _, cases, results = run_sob(ASKED, *others, ASKED)  # the last is of the same model as the first
    assert [case.id for case in cases] == ["1-r0", "3-r9", "4-r0", "5-r0", "6-r0", "7-r0"]
    assert [each.case_id for each in results][:2] == ["1-r0", "1-r0"]


def test_what_is_known_of_a_record_of_sob_becomes_its_tags(run_sob, capsys):
    known = {"record_id": "r1", "source_category": "receipts", "type": "scan", "pages": 2, "empty": "", "list": [1]}
    of_models = [{**known, "model_id": name, "seconds": at} for at, name in enumerate(["a", "b"])]
    records = [record({"total": 1}, response={"total": 1}, metadata=each, context="The bill") for each in of_models]
    unanswered = {**ASKED, "output": {"ground_truth": {"total": 0}}}
    _, (case, other), results = run_sob(*records, unanswered, file="response_model_audio.jsonl")
    tags = {"record_id": "r1", "source_category": "receipts", "category": "receipts", "type": "scan", "pages": "2"}
    assert dict(case.tags) == {**tags, "modality": "audio"}
    assert [(each.case_id, each.tags["seconds"]) for each in results] == [(case.id, "0"), (case.id, "1")]
    assert other.modality == "audio"
    report = ["report", "out/sob-responses.jsonl", "--by"]
    assert main([*report, "category"]) == 0
    assert "receipts" in capsys.readouterr().out
    assert main([*report, "complexty"]) == 2
    assert capsys.readouterr().err.count("complexity") == 1


def test_records_without_responses_make_no_results(run_sob):
    told, _, results = run_sob({**ASKED, "output": {"ground_truth": {"total": 0}}})
    assert "scored" not in told.out
    assert (results, Path("out/sob-responses.jsonl").exists()) == ((), False)


def test_published_responses_have_the_published_numbers(run_sob):
    """Responses that are JSON values; the published program reads no JSON in a text that is a response."""
    expected, rows = {}, []
    for vector in jsonl("vectors/sob.jsonl"):
        given, output = vector["record"]["input"], vector["record"]["output"]
        answered = isinstance(output.get("candidate_response"), dict | list) and "ground_truth" in output
        if "expected" in vector and vector["modality"] == "text" and answered and "json_schema" in given:
            metadata = {**vector["record"]["metadata"], "record_id": vector["id"]}
            rows.append({**vector["record"], "metadata": metadata})
            expected[vector["id"]] = vector["expected"]
    _, _, results = run_sob(*rows)
    scored = {each.tags["record_id"]: each.attempts[0].score for each in results}
    assert set(scored) == set(expected)
    known = [each for each in results if expected[each.tags["record_id"]]["known_difficulty"]]
    assert len(known) > 50
    assert [each.complexity for each in known] == [expected[each.tags["record_id"]]["difficulty"] for each in known]
    readable = {name: score for name, score in scored.items() if score is not None}
    assert len(readable) > 0.9 * len(scored)
    for name, score in readable.items():
        published = expected[name]
        found = (score.measures["value_accuracy"], score.measures["faithfulness"], score.measures["json_pass"])
        wanted = (published["leaf_value_em"], published["value_token_f1"], published["schema_compliance"])
        assert found == pytest.approx(wanted, abs=1e-9), name


# --- corrections

INVOICE = {"type": "object", "properties": {"total": {"type": "number"}, "items": {"type": "array"}}}
OUTPUT = {"total": 7, "items": ["a", "x"]}
BY_FIELD = {
    "id": "4711", "document": "docs/4711.txt", "schema": "invoice.schema.json", "output": OUTPUT,
    "corrections": {"total": 9.5, "items[1]": "b"}, "by": "ada", "at": "2026-11-02",
}  # fmt: skip
AS_A_WHOLE = {"text": "Total 3", "schema": INVOICE, "output": OUTPUT, "corrected": {"total": 3}, "tags": {"of": "fax"}}


@pytest.fixture
def correct(tmp_path, run_import):
    """Import corrections; returns what is printed."""
    put(tmp_path / "in" / "invoice.schema.json", INVOICE)
    put(tmp_path / "in" / "all.json", {"schemas/": {"invoice": INVOICE}})
    put(tmp_path / "in" / "docs" / "4711.txt", "Total 9.50")

    def run(*rows, status=0):
        put_lines(tmp_path / "in" / "fixed.jsonl", *rows)
        return run_import("corrections", "in/fixed.jsonl", status=status)

    return run


def corrected_cases():
    return loaded("out/corrections.extract.yaml")


def test_corrections_become_regression_tests(correct):
    in_a_file = {**BY_FIELD, "id": "part", "schema": "all.json#/schemas~1/invoice", "output": {"items": [], "extra": 1}}
    rows = {"type": "array", "items": {"type": "object", "properties": {"qty": {"type": "integer"}}}}
    vendor = {"type": "object", "properties": {"name": {"type": "string"}}}
    left_out = {
        "text": "ACME 2 3",
        "schema": {"type": "object", "properties": {"vendor": vendor, "lines": rows}},
        "output": {"vendor": None},
        "corrections": {"vendor.name": "ACME", "lines[0].qty": 2, "lines[1].qty": 3},
    }
    values = {"total": True, "items[0]": [], "extra": 2}
    assert "4 cases in " in correct(BY_FIELD, AS_A_WHOLE, {**in_a_file, "corrections": values}, left_out).out
    first, second, third, fourth = corrected_cases()
    assert (first.id, first.origin, first.document.text) == ("4711", "correction", "Total 9.50")
    assert first.gold == {"total": 9.5, "items": ["a", "b"]}
    assert dict(first.tags) == {"corrected_by": "ada", "corrected_at": "2026-11-02"}
    assert (second.id, second.gold, second.tags["of"]) == ("corrections-2", {"total": 3}, "fax")
    assert (third.schema, third.gold) == (INVOICE, {"total": True, "items": [[]], "extra": 2})
    assert fourth.gold == {"vendor": {"name": "ACME"}, "lines": [{"qty": 2}, {"qty": 3}]}


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"correction": 1}, "a correction has no key 'correction'; did you mean 'corrections'?"),
        (
            {"text": "x"},
            "a correction has `schema`, either `document` or `text`, and either `corrected` or `corrections`",
        ),
        ({"corrected": {}}, "and either `corrected` or `corrections`"),
        ({"document": 5}, "`document` must be "),
        ({"document": "docs/1.txt"}, "docs/1.txt is no file beside the corrections"),
        ({"schema": "gone.json"}, "gone.json: cannot be read: No such file"),
        ({"corrections": {"a..b": 1}}, "'a..b' is not a path"),
        ({"corrections": {"total.net": 1}}, "the schema has no field 'total.net'"),
        ({"corrections": {"items[9]": "z"}}, "the output has no place items[9]; write the whole value as"),
        ({"corrections": {"items[-1]": "z"}}, "the output has no place items[-1]"),
        # of what stands in the way, nothing goes unseen
        ({"output": '{"total": 7}'}, "the output has no place total"),
        ({"output": {**OUTPUT, "items": {"0": "a"}}}, "the output has no place items[1]"),
        ({"corrections": {"items": "none", "items[0]": "b"}}, "the output has no place items[0]"),
        (
            {"corrections": {"totl": 9}},
            "the schema has no field 'totl'; did you mean 'total'?; if it is right, write the whole value as",
        ),
        ({"corrections": []}, "must be an object of field paths and their right values"),
        ({"corrections": {"total": 7.0}}, "the correction changes nothing"),
        ({"schema": "invoice.schema.json#/$defs/x"}, "invoice.schema.json: nothing stands at #/$defs/x"),
        ({"tags": ["q"]}, "`tags` must be "),
        ({"id": ["q"]}, "`id` must be "),
        ({"schema": 5}, "`schema` must be "),
        ({}, "the id '4711' is taken; give each correction an id of its own"),
    ],
)
def test_a_correction_that_cannot_be_used_is_told_with_its_line(tmp_path, correct, change, told):
    error = correct(BY_FIELD, {**BY_FIELD, **change}, status=2).err
    assert re.findall(r"fixed\.jsonl:(\d)", error) == ["2"]
    assert told in error
    assert not (tmp_path / "out").exists()


def test_what_is_there_is_never_written_over(tmp_path, correct):
    text_gold = {**AS_A_WHOLE, "id": "fax", "schema": {"type": "string"}, "corrected": "three"}
    correct(text_gold)
    (named,) = (tmp_path / "out/corrections-golds").iterdir()
    dataset = tmp_path / "out/corrections.jsonl"
    dataset.unlink()
    (tmp_path / "out/corrections.extract.yaml").unlink()
    named.write_text('"3"')
    assert f"already there: {named.relative_to(tmp_path)}; nothing was written" in correct(text_gold, status=2).err
    assert named.read_text() == '"3"'
    assert not dataset.exists()


# --- the ExtractBench of run-llama

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
def import_llama(tmp_path, run_import):
    """Import a file with its document; returns what is printed."""

    def run(status=0, document="form.pdf", **changes):
        put(tmp_path / "src" / "short" / "form.test.json", {**LLAMA, **changes})
        (tmp_path / "src" / "short" / document).write_bytes(small_pdf(" "))
        return run_import("llama-extract-bench", "src", status=status)

    return run


def llama_case():
    (case,) = loaded("out/llama-extract-bench.extract.yaml")
    return case


def test_the_extract_bench_of_run_llama(import_llama):
    told = import_llama()
    assert told.out.startswith("1 case in ")
    assert "1 fields have normalizers" in told.err
    case = llama_case()
    assert (case.id, case.gold, case.nulls) == ("short/form", LLAMA["expected_output"], "value")
    assert dict(case.tags) == {"group": "short", "tags": "T3, P2"}
    assert dict(case.accept) == {"name": ("A. Lovelace",)}
    assert dict(case.overrides) == {"due": "date"}
    assert {name: [(place.page, place.box) for place in places] for name, places in case.evidence.items()} == {
        "name": [(1, (0.1, 0.2, 0.4, pytest.approx(0.3))), (2, None)],
        "rows[0].n": [(1, (0.0, 0.0, 0.1, 0.5))],
    }
    accepted = {**LLAMA["expected_output"], "name": "A. Lovelace"}
    assert case.scorer.score_text(case.gold, json.dumps(accepted), case.score_options).measures["f1"] == 1


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"_field_rules": {"rows[].n": {"evidence": []}}}, "the rule of 'rows[].n' is of another form: "),
        ({"_field_rules": {"name": {"evidence": ["p1"]}}}, "the rule of 'name' is of another form: "),
        ({"_field_rules": ["name"]}, "`_field_rules`, `test_rules` or `tags` is of another form: "),
        ({"tags": 5}, "`_field_rules`, `test_rules` or `tags` is of another form: "),
        ({"document": "other.pdf"}, "no document form (.pdf, .docx"),
    ],
)
def test_a_file_of_run_llama_that_cannot_be_used_is_told(import_llama, changes, told):
    assert f"form.test.json:1: {told}" in import_llama(status=2, **changes).err


CITATIONS = [
    ({"page": 1, "box": [0.1, 0.2, 0.4, 0.3]}, 1.0),
    ({"page": 1}, 1.0),
    ({"page": 2, "box": [0.7, 0.7, 0.9, 0.9]}, 1.0),
    ({"page": 1, "box": [0.7, 0.7, 0.9, 0.9]}, 0.0),
    ({"page": 3}, 0.0),
]


def test_citations_are_held_against_its_evidence_on_scans_too(import_llama):
    import_llama()
    case = llama_case()
    for citation, right in CITATIONS:
        extraction = Extraction(LLAMA["expected_output"], citations={"name": [citation]})
        score = run_case(case, lambda _, given=extraction: given, nodeid="n", file="f").attempts[0].score
        assert score.measures["citation_precision"] == right, citation


ROWS = LLAMA["expected_output"]["rows"]
VALUE_F1 = [
    ({}, 1),
    ({"name": "Eve"}, 4 / 5),
    ({"name": " Ada "}, 1),
    ({"name": None}, 4 / 5),
    ({"paid": "yes"}, 4 / 5),
    ({"due": "2026-05-03"}, 4 / 5),
    ({"rows": ROWS[::-1]}, 1),
    ({"rows": ROWS[:1]}, 8 / 9),
    ({"rows": ROWS[1:]}, 8 / 9),
    ({"rows": [*ROWS, {"n": 3}]}, 10 / 11),
    ({"rows": [{"n": 9}, ROWS[1]]}, 4 / 5),
    ({"rows": [ROWS[0], ROWS[0]]}, 4 / 5),
    ({"rows": [{"n": 3}, *ROWS[::-1]]}, 10 / 11),
    ({"name": "Eve", "paid": "x", "rows": ROWS[1:]}, 4 / 9),
    ({"due": "2026-05-03", "rows": [{"n": 8}, {"n": 9}]}, 2 / 5),
]
"""Every scalar and every cell counts, null too; rows in any order."""


def test_the_value_f1_of_run_llama_is_that_of_its_package():
    package = pytest.importorskip(
        "extract_bench.evaluation.metrics.extract.unified_evidence_metric", reason="pip install llama-extract-bench"
    )
    gold = LLAMA["expected_output"]
    for change, f1 in VALUE_F1:
        found = package.compute_unified_evidence_metrics(gold, {**gold, **change}, [], data_schema=LLAMA["data_schema"])
        (theirs,) = (each.value for each in found if each.metric_name == "extract_unified_value_f1")
        assert theirs == pytest.approx(f1), change


def test_f1_is_the_value_f1_of_run_llama(import_llama):
    import_llama()
    case = llama_case()
    options = dataclasses.replace(case.score_options, gates=GateConfig(schema=False), accept={})
    for change, f1 in VALUE_F1:
        output = {**LLAMA["expected_output"], **change}
        score = case.scorer.score_text(case.gold, json.dumps(output), options)
        assert score.measures["f1"] == pytest.approx(f1), change
