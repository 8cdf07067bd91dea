"""`pytest-extract draft`: a suite for documents, and the golds that are not there."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.commands import write

EXTRACTORS = """
import re
def one(document):
    return {"vendor": document.text.splitlines()[0], "total": float(re.search(r"due: ([0-9.]+)", document.text)[1])}
def two(document):
    found = one(document)
    return {**found, "total": found["total"] + 90} if "b" in found["vendor"] else found
same = one
"""
MODEL = "from pydantic import BaseModel\nclass Invoice(BaseModel):\n    vendor: str\n    total: float\n"
ONE, TWO, SAME = (f"--extractor some_extractors:{name}" for name in ("one", "two", "same"))


@pytest.fixture
def draft(run, monkeypatch):
    monkeypatch.setenv("PYTEST_ADDOPTS", "-p no:randomly -p no:asyncio -p no:cacheprovider")
    write({f"docs/{name}.txt": f"ACME {name}\nTotal due: 12.50 EUR\n" for name in "ab"})
    write({"some_extractors.py": EXTRACTORS, "some_models.py": MODEL})
    return lambda words: run(f"draft {words}")


def test_documents_become_a_suite_with_drafts(draft):
    pytest.importorskip("pydantic")
    told = draft(f"docs --schema some_models:Invoice {ONE} {TWO}")
    assert told.status == 0
    assert "golds: 2 drafted (1 value to decide; next: pytest-extract review)" in told.out
    assert "b.json: draft of 2 outputs: 1 value agreed, 1 to decide: total" in told.out
    gold = Path("cases/golds/b.json")
    assert json.loads(gold.read_text()) == {"vendor": "ACME b", "total": 12.5}
    gold.write_text('{"vendor": "mine", "total": 1}')
    assert draft(f"docs {ONE} {TWO}")[:2] == (0, "every gold is there: nothing to draft\n")
    assert gold.read_text() == '{"vendor": "mine", "total": 1}'


def test_a_gold_that_no_output_can_make_is_named(draft):
    write({"s.json": {"type": "object", "required": ["iban"], "properties": {"iban": {"type": "string"}}}})
    told = draft(f"docs/a.txt --schema s.json {ONE} --pytest=-p --pytest=no:cacheprovider")
    assert told.status == 1
    assert "golds: 1 undrafted\n  cases/golds/a.json: not drafted: the output fails the schema gate" in told.out
    assert "fix the schema or the extractor and draft again" in told.out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("docs", "golds that you have give one: pytest-extract schema infer GOLD... -o docs.schema.json"),
        ("docs --schema some_models:Nothing", "some_models:Nothing gives no JSON Schema"),
        ("docs --model a/b", "--model needs --budget=USD"),
        ("docs --model a/b --extractor c:d", "not both"),
        ("some_dir", "neither documents nor case files: some_dir"),
    ],
)
def test_what_cannot_be_drafted_is_said_before_anything_is_written(draft, words, message):
    draft(words).assert_refused(message)
    assert not Path("cases").exists()


def test_named_extractors_come_before_a_fixture_and_are_different_functions(draft):
    fixture = "import pytest\n@pytest.fixture\ndef extractor():\n    return lambda document: {'total': 7}\n"
    schema = {"type": "object", "properties": {"vendor": {"type": "string"}, "total": {"type": "number"}}}
    case = {"document": "docs/b.txt", "schema": schema, "gold": "g.json"}
    write({"conftest.py": fixture, "t.extract.yaml": case})
    told = draft(f"t.extract.yaml {ONE} {SAME}")
    assert told.status == 1
    assert "some_extractors:one and --extractor some_extractors:same are one function" in told.out + told.err
    assert "draft of 2 outputs: 1 value agreed, 1 to decide: total" in draft(f"t.extract.yaml {ONE} {TWO}").out
