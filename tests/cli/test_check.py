"""`pytest-extract check` and `pytest-extract schema print`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pytest_extract.cli import main

SCHEMA = {"type": "object", "properties": {"total": {"type": "number"}, "notes": {"type": "string"}}}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "s.json").write_text(json.dumps(SCHEMA), encoding="utf-8")
    (tmp_path / "good.extract.yaml").write_text(
        "text: x\nschema: s.json\ngold: {total: 1, notes: a}\n", encoding="utf-8"
    )
    return tmp_path


def test_good_cases_pass(folder, capsys):
    assert main(["check", str(folder)]) == 0
    assert capsys.readouterr().out == "1 good case in 1 file, no mistake\n"


def test_mistakes_are_told_with_their_places(folder, capsys):
    path = folder / "sub" / "bad.extract.yaml"
    path.parent.mkdir()
    path.write_text("text: x\nschema: ../s.json\ngold: {total: x}\nmark: slow\n", encoding="utf-8")
    assert main(["check", str(folder)]) == 1
    told = capsys.readouterr().out.splitlines()
    assert told[0].startswith(f"{path}:3:15: the gold does not satisfy its schema at total: ")
    assert told[1].startswith(f"{path}:4:1: unknown key 'mark'; did you mean 'marks'?")
    assert told[2:] == ["1 good case in 2 files, 2 mistakes"]


def test_github_actions_get_an_annotation_for_each_finding(folder, capsys, monkeypatch):
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.setenv("GITHUB_WORKSPACE", str(folder))
    assert main(["check", str(folder)]) == 0
    assert "::" not in capsys.readouterr().out
    (folder / "bad.extract.yaml").write_text("text: x\nschema: s.json\ngold: {}\nmark: slow\n", encoding="utf-8")
    (folder / "twin.extract.yaml").write_text("text: x\nschema: s.json\ngold: {total: 1, notes: a}\n", encoding="utf-8")
    assert main(["check", str(folder)]) == 1
    error, warning = [line for line in capsys.readouterr().out.splitlines() if line.startswith("::")]
    assert error.startswith("::error file=bad.extract.yaml,line=4,title=mistake in a case file::unknown key 'mark'")
    assert warning.startswith("::warning file=twin.extract.yaml,line=1,")


def test_a_shared_schema_s_mistake_is_told_once(folder, capsys):
    (folder / "s.json").write_text('{"properties": {"a": {"evaluation_config": "nope"}}}', encoding="utf-8")
    (folder / "second.extract.yml").write_text("text: x\nschema: s.json\ngold: {}\n", encoding="utf-8")
    assert main(["check", str(folder)]) == 1
    told = capsys.readouterr().out.splitlines()
    assert len(told) == 2
    assert told[0].startswith(f"{folder / 's.json'}:1:")


def test_golds_can_be_held_to_more_than_the_schema(folder, capsys):
    path = folder / "more.extract.yaml"
    path.write_text("text: x\nschema: s.json\ngold:\n  total: 1\n  extra: 2\n", encoding="utf-8")
    assert main(["check", str(path)]) == 0
    capsys.readouterr()
    assert main(["check", "--golds", str(path)]) == 1
    out = capsys.readouterr().out
    assert f"{path}:5:10: gold: " in out
    assert "extra" in out
    assert "notes" in out


def test_nothing_to_check_is_wrong_usage(tmp_path, capsys):
    assert main(["check", str(tmp_path)]) == 2
    assert "no case file (*.extract.yaml, *.extract.yml)" in capsys.readouterr().err


def test_the_schema_of_the_case_file_is_printed(capsys):
    assert main(["schema", "print"]) == 0
    assert json.loads(capsys.readouterr().out)["title"] == "pytest-extract case file"


def test_gold_values_that_are_compared_with_nothing_are_warned_of(folder, capsys):
    path = folder / "few.extract.yaml"
    gold = "gold:\n  total: 1\n  notes: x\n  extra: 2\n"
    path.write_text(f"text: x\nschema: s.json\nsemantics: extract-bench\n{gold}", encoding="utf-8")
    assert main(["check", str(path)]) == 0
    assert capsys.readouterr().out.splitlines() == [
        f"{path}:7:3: warning: 1 of 3 gold values are compared with nothing: `extra` (1)",
        "1 good case in 1 file, no mistake, 1 warning",
    ]
