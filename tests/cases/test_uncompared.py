"""A gold that is mostly compared with nothing is a mistake of the case, unless the case says so."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pytest_extract.cases.load import LoadedFile, load_cases
from pytest_extract.cases.schemas import SchemaCache

SCHEMA = {"type": "object", "properties": {"name": {"type": "string"}, "age": {"type": "integer"}}}
MOST = {"name": "Ada", "pages": [{"n": 1}, {"n": 2}]}
FEW = {"name": "Ada", "age": 36, "extra": 1}
BASE = "text: x\nschema: s.json\ngold: g.json\nsemantics: extract-bench\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "s.json").write_text(json.dumps(SCHEMA), encoding="utf-8")
    (tmp_path / "g.json").write_text(json.dumps(MOST, indent=1), encoding="utf-8")
    return tmp_path


def load(folder: Path, text: str) -> LoadedFile:
    (folder / "a.extract.yaml").write_text(text, encoding="utf-8")
    return load_cases(folder / "a.extract.yaml", SchemaCache())


def test_the_mistake_stands_at_the_key_in_the_gold(folder: Path) -> None:
    loaded = load(folder, BASE)
    (error,) = loaded.errors
    assert loaded.cases == ()
    assert (error.path.name, error.line, error.column) == ("g.json", 3, 2)
    assert error.message == (
        "2 of 3 gold values are compared with nothing: `pages` (2); declare what stands there, or take the gold as it "
        "is with `uncompared: allow`"
    )


def test_a_gold_inside_the_case_file(folder: Path) -> None:
    gold = "gold:\n  name: Ada\n  pages: [1, 2]\n"
    (error,) = load(folder, BASE.replace("gold: g.json\n", gold)).errors
    assert (error.path.name, error.line, error.column) == ("a.extract.yaml", 5, 3)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(f"{BASE}uncompared: allow\n", id="case"),
        pytest.param(f"defaults: {{uncompared: allow}}\ncases:\n- {{{', '.join(BASE.splitlines())}}}\n", id="defaults"),
        pytest.param(BASE.replace("extract-bench", "default"), id="default-compares-it"),
        pytest.param(f"{BASE}overrides: {{name: skip}}\n".replace("g.json", "{name: a, age: 1, x: 1}"), id="as-many"),
    ],
)
def test_what_is_allowed(folder: Path, text: str) -> None:
    loaded = load(folder, text)
    assert loaded.errors == ()
    assert len(loaded.cases) == 1


def test_a_case_takes_back_what_its_defaults_allow(folder: Path) -> None:
    case = ", ".join((*BASE.splitlines(), "uncompared: refuse"))
    assert load(folder, f"defaults: {{uncompared: allow}}\ncases:\n- {{{case}}}\n").errors


def test_a_lesser_part_of_a_gold_is_no_mistake_and_is_kept_on_the_case(folder: Path) -> None:
    (folder / "g.json").write_text(json.dumps(FEW), encoding="utf-8")
    (case,) = load(folder, BASE).cases
    assert case.uncompared is not None
    assert (dict(case.uncompared.places), case.uncompared.total) == ({"extra": 1}, 3)
