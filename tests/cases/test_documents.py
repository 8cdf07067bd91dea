"""`documents:`: a case for each document that a pattern matches."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pytest_extract.cases.load import load_cases
from pytest_extract.cases.schemas import SchemaCache

SCHEMA = {"type": "object", "properties": {"a": {"type": "string"}}}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "s.json").write_text(json.dumps(SCHEMA), encoding="utf-8")
    for name in ("born.v2", "acme", "sub/deep/acme", ".hidden/x", "sub/.x"):
        path = tmp_path / "docs" / f"{name}.txt"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name, encoding="utf-8")
        gold = tmp_path / "golds" / f"{name}.json"
        gold.parent.mkdir(parents=True, exist_ok=True)
        gold.write_text(json.dumps({"a": name}), encoding="utf-8")
    return tmp_path


def load(folder: Path, text: str, cache: SchemaCache | None = None):
    path = folder / "all.extract.yaml"
    path.write_text(text, encoding="utf-8")
    return load_cases(path, cache)


def test_one_line_makes_a_case_for_each_document_in_order(folder: Path) -> None:
    loaded = load(folder, "documents: docs/*.txt\nschema: s.json\ngold: golds/{stem}.json\n")
    assert loaded.errors == ()
    assert [(case.id, case.document.text, case.gold) for case in loaded.cases] == [
        ("acme", "acme", {"a": "acme"}),
        ("born.v2", "born.v2", {"a": "born.v2"}),
    ]


def test_paths_below_the_fixed_folder_name_the_cases(folder: Path) -> None:
    loaded = load(
        folder,
        "defaults: {schema: s.json}\n"
        "cases: [{documents: docs/**/*.txt, gold: 'golds/{path}.json', tags: {from: 'f-{path}'}, question: '{name}?'}]\n",
    )
    assert loaded.errors == ()
    assert [(case.id, case.question, case.tags["from"], case.gold_path.name) for case in loaded.cases] == [
        ("acme", "acme.txt?", "f-acme", "acme.json"),
        ("born.v2", "born.v2.txt?", "f-born.v2", "born.v2.json"),
        ("sub/deep/acme", "acme.txt?", "f-sub/deep/acme", "acme.json"),
    ]


def test_the_id_of_a_document_stays_when_others_come(folder: Path) -> None:
    text = "documents: [docs/*.txt, docs/acme.txt]\nschema: s.json\ngold: golds/{stem}.json\nid: 'inv {stem}'\n"
    before = [case.id for case in load(folder, text).cases]
    (folder / "docs" / "aaa.txt").write_text("", encoding="utf-8")
    (folder / "golds" / "aaa.json").write_text("{}", encoding="utf-8")
    assert [case.id for case in load(folder, text).cases] == ["inv aaa", *before]
    assert before == ["inv acme", "inv born.v2"]


def test_a_document_without_gold_keeps_only_its_own_case_from_running(folder: Path) -> None:
    (folder / "golds" / "acme.json").unlink()
    text = "documents: docs/*.txt\nschema: s.json\ngold: golds/{stem}.json\n"
    loaded = load(folder, text)
    assert [case.id for case in loaded.cases] == ["born.v2"]
    (error,) = loaded.errors
    assert (error.line, error.column) == (3, 7)
    assert "no file" in error.message
    assert "--extract-update-gold=new" in error.message
    writing = load(folder, text, SchemaCache(updates_golds="new"))
    assert [(case.id, case.gold_is_missing) for case in writing.cases] == [("acme", True), ("born.v2", False)]


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        pytest.param("documents: docs/**/*.txt\ngold: golds/{stem}.json", "sub/deep/acme.txt has the gold", id="gold"),
        pytest.param("documents: docs/*.txt\nid: one\ngold: {a: x}", "has the id 'one' of another case", id="id"),
        pytest.param("documents: '**.pdf'\ngold: {a: x}", "no document matches|cannot be used", id="nothing"),
        pytest.param(
            "documents: docs/b*.txt\nid: 'a::{stem}'\ngold: {a: x}",
            "must be a printable text|without `::`",
            id="id-text",
        ),
    ],
)
def test_mistakes_name_the_document_and_the_line(folder: Path, keys: str, message: str) -> None:
    loaded = load(folder, f"{keys}\nschema: s.json\n")
    assert len(loaded.errors) == 1
    assert any(part in loaded.errors[0].message for part in message.split("|"))
    assert loaded.errors[0].line in (1, 2)


def test_a_default_pattern_gives_way_to_a_document(folder: Path) -> None:
    loaded = load(
        folder,
        "defaults: {documents: docs/*.txt, schema: s.json}\n"
        "cases: [{document: docs/acme.txt, gold: {a: x}}, {gold: 'golds/{stem}.json', id: 'all {stem}'}]\n",
    )
    assert loaded.errors == ()
    assert [case.id for case in loaded.cases] == ["all-1", "all acme", "all born.v2"]
