"""`pytest-extract draft`: a suite for documents, and the golds that are not there."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pytest_extract.cli import main

EXTRACTORS = """
import re
def one(document):
    return {"vendor": document.text.splitlines()[0], "total": float(re.search(r"due: ([0-9.]+)", document.text)[1])}
def two(document):
    found = one(document)
    return {**found, "total": found["total"] + 90} if "b" in found["vendor"] else found
"""
MODEL = """
from pydantic import BaseModel
class Invoice(BaseModel):
    vendor: str
    total: float
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTEST_ADDOPTS", "-p no:randomly -p no:asyncio -p no:cacheprovider")
    for name in ("a", "b"):
        path = tmp_path / "docs" / f"{name}.txt"
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"ACME {name}\nTotal due: 12.50 EUR\n", encoding="utf-8")
    (tmp_path / "some_extractors.py").write_text(EXTRACTORS, encoding="utf-8")
    (tmp_path / "some_models.py").write_text(MODEL, encoding="utf-8")
    return tmp_path


def test_documents_become_a_suite_with_drafts(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("pydantic")
    both = ["--extractor", "some_extractors:one", "--extractor", "some_extractors:two"]
    assert main(["draft", "docs", "--schema", "some_models:Invoice", *both]) == 0
    told = capfd.readouterr().out
    assert "2 of 2 golds drafted, 1 value to decide; next: pytest-extract review" in told
    assert "b.json: draft of 2 outputs: 1 value agreed, 1 to decide: total" in told
    golds = folder / "cases" / "golds"
    assert json.loads((golds / "b.json").read_text()) == {"vendor": "ACME b", "total": 12.5}
    (golds / "b.json").write_text('{"vendor": "mine", "total": 1}')
    assert main(["draft", "docs", *both]) == 0
    assert capfd.readouterr().out == "every gold is there: nothing to draft\n"
    assert (golds / "b.json").read_text() == '{"vendor": "mine", "total": 1}'


def test_a_gold_that_no_output_can_make_is_named(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (folder / "s.json").write_text(
        '{"type": "object", "required": ["iban"], "properties": {"iban": {"type": "string"}}}'
    )
    assert (
        main(
            [
                "draft",
                "docs/a.txt",
                "--schema",
                "s.json",
                "--extractor",
                "some_extractors:one",
                "--pytest=-p",
                "--pytest=no:cacheprovider",
            ]
        )
        == 1
    )
    told = capfd.readouterr().out
    assert (
        "0 of 1 gold drafted\n  cases/docs.extract.yaml::a[some_extractors:one]: not drafted: the output fails the schema gate"
        in told
    )
    assert "fix the schema or the extractor and draft again" in told


@pytest.mark.parametrize(
    ("args", "message"),
    [
        pytest.param(
            ["docs"],
            "golds that you have give one: pytest-extract schema infer GOLD... -o docs.schema.json",
            id="schema",
        ),
        pytest.param(
            ["docs", "--schema", "some_models:Nothing"], "some_models:Nothing gives no JSON Schema", id="model"
        ),
        pytest.param(["docs", "--model", "a/b"], "--model needs --budget=USD", id="budget"),
        pytest.param(["docs", "--model", "a/b", "--extractor", "c:d"], "not both", id="both"),
        pytest.param(["some_dir"], "neither documents nor case files: some_dir", id="nothing"),
    ],
)
def test_what_cannot_be_drafted_is_said_before_anything_is_written(
    folder: Path, capfd: pytest.CaptureFixture[str], args: list[str], message: str
) -> None:
    assert main(["draft", *args]) == 2
    assert message in capfd.readouterr().err
    assert not (folder / "cases").exists()


def test_named_extractors_come_before_a_fixture_and_are_different_functions(
    folder: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    fixture = "import pytest\n@pytest.fixture\ndef extractor():\n    return lambda document: {'v': 'C'}\n"
    (folder / "conftest.py").write_text(fixture)
    (folder / "letters.py").write_text("def a(): return {'v': 'A'}\ndef b(): return {'v': 'B'}\nc = a\n")
    schema = {"type": "object", "properties": {"v": {"type": "string"}}}
    (folder / "t.extract.yaml").write_text(json.dumps({"text": "A B C", "schema": schema, "gold": "g.json"}))
    draft = ["draft", "t.extract.yaml", "--extractor", "letters:a", "--extractor"]
    assert main([*draft, "letters:c"]) == 1
    assert "letters:a and --extractor letters:c are one function" in "".join(capfd.readouterr())
    assert main([*draft, "letters:b"]) == 0
    assert "draft of 2 outputs: 0 values agreed, 1 to decide: v" in capfd.readouterr().out
