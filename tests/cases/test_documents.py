"""`documents:`: a case for each document that a pattern matches."""

from __future__ import annotations

import os

import pytest

from pytest_extract.cases.schemas import SchemaCache

SCHEMA = {"type": "object", "properties": {"a": {"type": "string"}}}
KEYS = "schema: s.json\ngold: golds/{stem}.json\n"


@pytest.fixture
def load_all(load):
    """Load a case file beside a folder of documents, some of them hidden, and one of their golds."""
    files = {"s.json": SCHEMA}
    for name in ("born.v2", "acme", "sub/deep/acme", ".hidden/x", "sub/.x"):
        files |= {f"docs/{name}.txt": name, f"golds/{name}.json": {"a": name}}

    def run(text, cache=None, without=(), **more):
        kept = {name: value for name, value in {**files, **more}.items() if name not in without}
        return load(text, "all.extract.yaml", cache, **kept)

    return run


def test_one_line_makes_a_case_for_each_document_in_order(load_all):
    loaded = load_all(f"documents: docs/*.txt\n{KEYS}")
    assert loaded.errors == ()
    assert [(case.id, case.document.text, case.gold) for case in loaded.cases] == [
        ("acme", "acme", {"a": "acme"}),
        ("born.v2", "born.v2", {"a": "born.v2"}),
    ]


def test_paths_below_the_fixed_folder_name_the_cases(load_all):
    loaded = load_all(
        "defaults: {schema: s.json}\n"
        "cases: [{documents: docs/**/*.txt, gold: 'golds/{path}.json', question: 'a {name}?'}]\n"
    )
    assert loaded.errors == ()
    assert [(case.id, case.question, case.gold_path.name) for case in loaded.cases] == [
        ("acme", "a {name}?", "acme.json"),
        ("born.v2", "a {name}?", "born.v2.json"),
        ("sub/deep/acme", "a {name}?", "acme.json"),
    ]


def test_the_id_of_a_document_stays_when_others_come(load_all):
    text = f"documents: [docs/*.txt, docs/acme.txt]\nid: 'inv {{stem}}'\n{KEYS}"
    assert [case.id for case in load_all(text).cases] == ["inv acme", "inv born.v2"]
    more = {"docs/aaa.txt": "", "golds/aaa.json": {}}
    assert [case.id for case in load_all(text, **more).cases] == ["inv aaa", "inv acme", "inv born.v2"]


def test_a_document_without_gold_keeps_only_its_own_case_from_running(load_all):
    text = f"documents: docs/*.txt\n{KEYS}"
    loaded = load_all(text, without=["golds/acme.json"])
    assert [case.id for case in loaded.cases] == ["born.v2"]
    (error,) = loaded.errors
    assert (error.line, error.column) == (3, 7)
    assert "no file" in error.message
    assert "--extract-update-gold=new" in error.message
    writing = load_all(text, SchemaCache(updates_golds="new"), without=["golds/acme.json"])
    assert [(case.id, case.gold_is_missing) for case in writing.cases] == [("acme", True), ("born.v2", False)]


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ("documents: docs/**/*.txt\ngold: golds/{stem}.json", "sub/deep/acme.txt has the gold"),
        (
            "documents: docs/*.txt\nid: one\ngold: {a: x}",
            "has the id 'one' of another case; write `id` with {path}, or",
        ),
        ("documents: [docs/*.txt, docs/sub/deep/*.txt]\ngold: {a: x}", "entries of `cases`, each with its own `id`"),
    ],
)
def test_mistakes_name_the_document_and_the_line(load_all, keys, message):
    (error,) = load_all(f"{keys}\nschema: s.json\n").errors
    assert message in error.message
    assert error.line == 1


@pytest.mark.skipif(os.name == "nt", reason="no file has such a name there")
def test_a_document_whose_name_is_no_id_is_told(load_all):
    (error,) = load_all("documents: odd/*.txt\nschema: s.json\ngold: {a: x}\n", **{"odd/a::b.txt": ""}).errors
    assert "the id of odd/a::b.txt must be a printable text without `::`" in error.message
    assert error.line == 1


def test_a_default_pattern_gives_way_to_a_document(load_all):
    loaded = load_all(
        "defaults: {documents: docs/*.txt, schema: s.json}\n"
        "cases: [{document: docs/acme.txt, gold: {a: x}}, {gold: 'golds/{stem}.json', id: 'all {stem}'}]\n"
    )
    assert loaded.errors == ()
    assert [case.id for case in loaded.cases] == ["all-1", "all acme", "all born.v2"]
