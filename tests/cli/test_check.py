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


def test_a_share_beyond_1_is_refused(folder, capsys):
    assert main(["check", str(folder), "--coverage", "90"]) == 2
    assert "--coverage must be a number from 0 to 1, such as 0.9, not 90" in capsys.readouterr().err


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


def test_fields_that_cannot_fail_a_case_and_thresholds_of_0_are_warned_of(tmp_path, capsys):
    schema = (
        "{type: object, properties: {a: {type: string}, b: {type: number}, r: {type: array, items: {type: string}}, "
        "s: {type: string}}}"
    )
    (tmp_path / "x.extract.yaml").write_text(
        f"text: x\nschema: {schema}\ngold: {{a: x, b: 1, r: [q], s: t}}\n"
        "overrides: {a: {threshold: 0}, r: {threshold: 0}, s: skip}\n"
        "thresholds: {pass_rate: 1, mean_score: 0, fields: {b: 0}}\n",
        encoding="utf-8",
    )
    assert main(["check", str(tmp_path)]) == 0
    found = [line.partition(": warning: x: ")[2] for line in capsys.readouterr().out.splitlines()]
    assert [told for told in found if told] == [
        "no wrong value of 2 fields can fail a case: `a`, `r`",
        "a threshold of 0 bounds nothing: `mean_score: 0`, `fields: {b: 0}`",
    ]


@pytest.mark.parametrize(
    ("thresholds", "free"),
    [
        ("{pass_rate: 1}", "`a`, `rows[].c`, `none`"),
        ("{pass_rate: 1, fields: {a: 1}}", "`rows[].c`, `none`"),
        ("{mean_score: 0.9}", "`rows[].c`, `none`"),
        ("{pass_rate: 1, f1: 0.5}", ""),
    ],
)
def test_a_field_can_fail_where_some_bound_is_about_it(tmp_path, capsys, thresholds, free):
    exact = "{type: string, evaluation_config: string_exact}"
    idle = "{type: string, evaluation_config: {metric_id: string_exact, threshold: 0}}"
    rows = f"{{type: array, items: {{type: object, properties: {{k: {exact}, c: {idle}}}}}, evaluation_config: {{align: position}}}}"
    (tmp_path / "x.extract.yaml").write_text(
        f"text: x\nschema: {{type: object, properties: {{a: {idle}, b: {exact}, rows: {rows}, "
        "none: {type: string, evaluation_config: {}}}}\n"
        f"gold: {{a: x, b: y, rows: [{{k: p, c: q}}]}}\nthresholds: {thresholds}\n",
        encoding="utf-8",
    )
    assert main(["check", str(tmp_path)]) == 0
    told = capsys.readouterr().out
    assert (f"can fail a case: {free}\n" in told) if free else ("can fail a case" not in told)


def test_slips_in_a_schema_are_told_with_their_places(folder, capsys):
    text = (
        '{"type": "object",\n "properteis": {"v": {"type": "string"}},\n "properties": {"total": {"x-eval-metric": 1}}}'
    )
    (folder / "s.json").write_text(text, encoding="utf-8")
    assert main(["check", str(folder)]) == 1
    told = capsys.readouterr().out
    assert "s.json:2:16: the schema at /properteis: no keyword 'properteis'; did you mean 'properties'?" in told
    assert "s.json:3:44: the schema at /properties/total/x-eval-metric: no annotation 'x-eval-metric'; known: " in told


@pytest.mark.parametrize("gold", ["{}", "{total: null, notes: ''}", "{notes: null}"])
def test_a_gold_without_a_value_is_warned_of_unless_that_is_meant(folder, capsys, gold):
    schema = "{type: object, properties: {total: {type: [number, 'null']}, notes: {type: [string, 'null']}}}"
    case = f"text: y\nschema: {schema}\ngold: {gold}\n"
    path = folder / "good.extract.yaml"
    path.write_text(case, encoding="utf-8")
    assert main(["check", str(path)]) == 0
    assert f"{path}:3:7: warning: the gold has no value, so that only an invented one" in capsys.readouterr().out
    path.write_text(f"{case}absent: {{$: must}}\n", encoding="utf-8")
    assert main(["check", str(path)]) == 0
    assert capsys.readouterr().out == "1 good case in 1 file, no mistake\n"


def test_a_name_that_a_published_system_does_not_have_is_told(tmp_path, capsys):
    """A project may have registered a comparator of its own there, which means something else."""
    schema = {
        "type": "object",
        "properties": {
            "due": {"type": "string", "x-eval-compare": "date"},
            "paid": {"type": "string", "x-eval-compare": "date"},
            "name": {"type": "string", "x-eval-compare": "exact", "x-eval-transform": ["strip", "nfkc"]},
        },
    }
    case = {"text": "x", "schema": schema, "gold": {"due": "2026-01-02", "paid": "2026-01-03", "name": "a"}}
    (tmp_path / "a.extract.yaml").write_text(json.dumps(case), encoding="utf-8")
    assert main(["check", str(tmp_path)]) == 0
    told = capsys.readouterr().out.splitlines()[0]
    assert told.startswith(
        "`date` is ours, not struct-extract-eval's, at /properties/due and 1 more place; "
        "`nfkc` is ours, not struct-extract-eval's, at /properties/name: if this schema meant a comparator"
    )


def test_a_name_that_the_project_has_registered_is_its_own(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "own_names.py").write_text(
        "from pytest_extract import extend\n@extend.metric()\ndef date(gold, extracted):\n    return gold == extracted\n",
        encoding="utf-8",
    )
    schema = {"type": "object", "properties": {"due": {"type": "string", "x-eval-compare": "date"}}}
    case = {"text": "x", "schema": schema, "gold": {"due": "2026-01-02"}}
    (tmp_path / "a.extract.yaml").write_text(json.dumps(case), encoding="utf-8")
    assert main(["check", "--extensions", "own_names"]) == 0
    assert capsys.readouterr().out == "1 good case in 1 file, no mistake\n"
