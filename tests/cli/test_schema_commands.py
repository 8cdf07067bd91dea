"""schema infer, resolve, annotate, check, explain: the commands as they are typed."""

from __future__ import annotations

import json
import os
import re
from contextlib import contextmanager
from importlib import resources

import pytest

from pytest_extract.cli import main
from pytest_extract.core.metrics import METRICS
from pytest_extract.core.scorer import compile_schema
from pytest_extract.core.transforms import TRANSFORMS
from pytest_extract.core.validate import Validator

SCHEMA = {
    "type": "object",
    "properties": {"a": {"$ref": "#/$defs/A", "description": "kept"}},
    "$defs": {"A": {"type": "string"}},
}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "s.json").write_text(json.dumps(SCHEMA))
    (tmp_path / "gold.json").write_text('{"a": "x", "n": 1}')
    (tmp_path / "more.jsonl").write_text('{"n": 2.5}\n\n{"a": null}\n')
    return tmp_path


def call(command, *words):
    return main([*command.split(), *map(str, words)])


@contextmanager
def refused(capsys, match):
    """The command ends with exit status 2 and a message that matches."""
    yield
    assert re.search(match, capsys.readouterr().err)


def test_infer_schema(folder, capsys):
    assert call("schema infer", "gold.json", "more.jsonl", "--first-type") == 0
    assert json.loads(capsys.readouterr().out) == {
        "type": "object",
        "properties": {"a": {"type": "string"}, "n": {"type": "integer"}},
    }


def test_infer_schema_wide_and_annotated_into_a_file(folder, capsys):
    (folder / "list.json").write_text('[{"n": 1}, {"n": 2.5}]')
    assert call("schema infer", "list.json", "--each", "--annotate", "x-eval", "-o", "out.json") == 0
    assert capsys.readouterr().out == ""
    assert json.loads((folder / "out.json").read_text()) == {
        "type": "object",
        "properties": {"n": {"type": "number", "x-eval-compare": "numeric"}},
        "required": ["n"],
    }


def test_inferred_by_default_a_schema_holds_for_its_own_golds(folder, capsys):
    golds = [
        {"due": "2026-01-01", "total": 1, "rows": [{"n": 1}]},
        {"due": None, "total": 2.5, "rows": []},
        {"due": None},
    ]
    (folder / "golds.json").write_text(json.dumps(golds))
    assert call("schema infer", "golds.json", "--each") == 0
    validator = Validator(json.loads(capsys.readouterr().out))
    assert all(validator.is_valid(gold) for gold in golds)


@pytest.mark.parametrize("name", ["Model", "Data", "Typed"])
def test_a_class_gives_its_schema(folder, capsys, name):
    pytest.importorskip("pydantic")
    (folder / "some_classes.py").write_text(
        "from dataclasses import dataclass\nfrom typing_extensions import TypedDict\nfrom pydantic import BaseModel\n"
        "class Model(BaseModel):\n    total: float\n"
        "@dataclass\nclass Data:\n    total: float\n"
        "class Typed(TypedDict):\n    total: float\n"
    )
    assert call("schema infer", f"some_classes:{name}") == 0
    schema = json.loads(capsys.readouterr().out)
    assert schema["properties"]["total"]["type"] == "number"
    assert schema["required"] == ["total"]
    with refused(capsys, "gives no JSON Schema"):
        assert call("schema infer", "some_classes:Nothing") == 2
    with refused(capsys, "give it alone"):
        assert call("schema infer", f"some_classes:{name}", "gold.json") == 2


def test_half_a_surrogate_pair_is_escaped(folder, capsys):
    (folder / "odd.json").write_text('{"\\ud800": 1}')
    wanted = {"type": "object", "properties": {"\ud800": {"type": "integer"}}, "required": ["\ud800"]}
    assert call("schema infer", "odd.json") == call("schema infer", "odd.json", "-o", "out.json") == 0
    assert json.loads(capsys.readouterr().out) == json.loads((folder / "out.json").read_text()) == wanted


def test_what_cannot_be_written_is_told(folder, capsys):
    with refused(capsys, "cannot be written"):
        assert call("schema infer", "gold.json", "-o", "gold.json/of.json") == 2


def test_a_broken_line_is_told_with_its_place(folder, capsys):
    (folder / "more.jsonl").write_text('{"n": 1}\n{"n": }\n')
    with refused(capsys, r"more\.jsonl:2:"):
        assert call("schema infer", "more.jsonl") == 2


def test_resolve(folder, capsys):
    assert call("schema resolve", "s.json") == 0
    assert json.loads(capsys.readouterr().out)["properties"] == {"a": {"type": "string", "description": "kept"}}
    assert call("schema resolve", "s.json", "--published") == 0
    assert json.loads(capsys.readouterr().out)["properties"] == {"a": {"type": "string"}}


def test_resolve_inside_a_file_and_a_dangling_reference(folder, capsys):
    (folder / "w.json").write_text(json.dumps({"wrapped": {"items": {"$ref": "#/no"}}}))
    with refused(capsys, "at /items: the reference '#/no' leads nowhere"):
        assert call("schema resolve", "w.json#/wrapped") == 2
    with refused(capsys, "nothing stands at #/x"):
        assert call("schema resolve", "w.json#/x") == 2


@pytest.mark.parametrize(
    ("words", "config"),
    [
        ([], {"x-eval-compare": "exact"}),
        (["--dialect", "evaluation_config"], {"evaluation_config": "string_semantic"}),
        (["--metric", "string=text"], {"x-eval-compare": "text"}),
        (
            ["--metric", 'string={"fuzzy": {"threshold": 0.9}}'],
            {"x-eval-compare": {"fuzzy": {"threshold": 0.9}}},
        ),
    ],
)
def test_annotate(folder, capsys, words, config):
    assert call("schema annotate", "s.json", *words) == 0
    assert json.loads(capsys.readouterr().out)["$defs"]["A"] == {"type": "string", **config}


@pytest.mark.parametrize(
    ("said", "key", "config"),
    [
        ({"evaluation_config": "string_exact"}, "evaluation_config", "number_tolerance"),
        ({"x-eval-compare": "exact"}, "x-eval-compare", "numeric"),
        ({}, "x-eval-compare", "numeric"),
    ],
    ids=["evaluation_config", "x-eval", "none"],
)
def test_annotate_goes_on_in_the_schema_s_own_dialect(folder, capsys, said, key, config):
    schema = {"type": "object", "properties": {"a": {"type": "string", **said}, "n": {"type": "number"}}}
    (folder / "own.json").write_text(json.dumps(schema))
    assert call("schema annotate", "own.json") == 0
    annotated = json.loads(capsys.readouterr().out)
    assert annotated["properties"]["n"] == {"type": "number", key: config}
    assert compile_schema(annotated, judge_mode="exact").semantics != "default"


@pytest.mark.parametrize(
    ("metric", "message"),
    [
        ("text", "no JSON type 'text' to annotate"),
        ("string=fuzy", "did you mean 'fuzzy'"),
    ],
)
def test_annotate_tells_a_wrong_metric(folder, metric, message, capsys):
    with refused(capsys, message):
        assert call("schema annotate", "s.json", "--metric", metric) == 2


def test_annotate_tells_parameters_that_are_no_json(folder, capsys):
    with refused(capsys, "argument --metric: '{' is no JSON"), pytest.raises(SystemExit, match="2"):
        call("schema annotate", "s.json", "--metric", "string={")


CASE = "text: hello\nschema: s.json\ngold: {a: x}\n"


def test_check_knows_the_metrics_of_a_project(folder, capsys):
    (folder / "s.json").write_text('{"type": "object", "properties": {"a": {"x-eval-compare": "my_metric"}}}')
    (folder / "a.extract.yaml").write_text(CASE)
    (folder / "mine.py").write_text(
        "from pytest_extract import BoundMetric, Extensions, MetricSpec\n"
        "make = lambda params, semantics: BoundMetric(name='my_metric', compare=lambda g, e: float(g == e))\n"
        "extensions = Extensions(metrics={'my_metric': MetricSpec(name='my_metric', make=make, doc='Mine.')})\n"
        "other = 5\n"
    )
    assert call("check", "a.extract.yaml") == 1
    assert "my_metric" in capsys.readouterr().out
    assert call("check", "a.extract.yaml", "--extensions", "mine:extensions") == 0
    with refused(capsys, "an Extensions object is needed, not int"):
        assert call("check", "a.extract.yaml", "--extensions", "mine:other") == 2
    with refused(capsys, "No module named"):
        assert call("check", "a.extract.yaml", "--extensions", "no_such_module_here:x") == 2


def test_check_golds(folder, capsys):
    assert call("check", "--schema", "s.json", "gold.json", "more.jsonl") == 1
    assert capsys.readouterr().out.splitlines() == [
        "gold.json: error: `n`: the schema declares no such field; known: a",
        "more.jsonl:1: error: `n`: the schema declares no such field; known: a",
        "more.jsonl:1: warning: `a`: declared by the schema, but not there",
        "more.jsonl:3: error: `a`: null where a string was expected",
        "3 golds: 3 mistakes, 1 warning",
    ]


def test_check_golds_without_json_schema(folder, capsys):
    (folder / "good.json").write_text('[{"a": null, "id": 1}, {"a": "x", "id": 2}]')
    words = ["--schema", "s.json", "good.json", "--each", "--id-field", "id", "--strict-types", "--no-json-schema"]
    assert call("check", *words) == 0
    assert capsys.readouterr().out == "2 golds: 0 mistakes, 0 warnings\n"


def test_check_golds_needs_golds_and_a_schema(folder, capsys):
    with refused(capsys, "needs the golds"):
        assert call("check", "--schema", "s.json") == 2
    (folder / "s.json").write_text('{"type": "strnig"}')
    with refused(capsys, "no valid JSON Schema"):
        assert call("check", "--schema", "s.json", "gold.json") == 2


def test_metrics_lists_everything(capsys):
    assert call("explain") == 0
    shown = capsys.readouterr().out
    assert all(f"  {name} " in shown for name in [*METRICS, *TRANSFORMS])


MINE = """
from pytest_extract import extend

@extend.metric()
def initials(gold, extracted, *, most: int = 3):
    'First letters. And more.'
    return 1.0

@extend.aligner()
def by_sku(gold, extracted):
    'Pair by SKU.'
    return []
"""


def test_metrics_lists_and_explains_a_project_s_own(folder, capsys):
    (folder / "my_own_ones.py").write_text(MINE)
    assert call("explain", "--extensions", "my_own_ones") == 0
    shown = capsys.readouterr().out
    assert "  initials                 First letters.\n" in shown
    assert "aligners (explained by: pytest-extract explain NAME)\n  by_sku " in shown
    assert call("explain", "--extensions", "my_own_ones", "initials", "propagate_batch_errors") == 0
    shown = capsys.readouterr().out
    assert "### `initials`\n\nFirst letters. And more.\n\n- `most` (default 3): int\n" in shown
    assert "### `propagate_batch_errors`\n" in shown


def test_metrics_explains_one_with_its_numbers(capsys):
    assert call("explain", "number_tolerance", "round_digits") == 0
    shown = capsys.readouterr().out
    assert "- `tolerance` (default 1e-06): largest difference that passes" in shown
    assert 'As a preset: `{"tolerance": 0.001}`.' in shown
    assert ">>> compare_values('number_tolerance', 1.0, 1.001, {'tolerance': 0.001})\n1.0\n" in shown
    assert ">>> transform_value('round_digits', 1250, {'digits': -2})\n1200\n" in shown


def test_the_manual_is_what_the_command_prints(capsys):
    assert call("explain", "--markdown") == 0
    page = (resources.files("pytest_extract.docs") / "metrics.md").read_text(encoding="utf-8")
    assert page == capsys.readouterr().out, "write it anew: pytest-extract explain --markdown > .../docs/metrics.md"


def test_one_entry_as_markdown(capsys):
    assert call("explain", "--markdown", "fuzzy") == 0
    shown = capsys.readouterr().out
    assert "### `fuzzy`\n" in shown
    assert "- `threshold` (default 0.8): lowest score that passes" in shown
    assert ">>> compare_values('fuzzy', 'kitten', 'sitting')\n0.571428" in shown


def test_metrics_tells_an_unknown_name(capsys):
    with refused(capsys, r"no metric or transform 'fuzy'; did you mean 'fuzzy'\?"):
        assert call("explain", "fuzy") == 2


YAML_SCHEMA = """\
# orders
type: object
properties:
  number:
    type: string
    # our own
  vendor: {type: string}   # as printed
"""
ANNOTATED = """\
# orders
type: object
properties:
  number:
    type: string
    x-eval-compare: exact
    # our own
  vendor: {type: string, "x-eval-compare": "fuzzy"}   # as printed
"""


def test_annotate_by_golds_shows_the_changes_and_keeps_comments(folder, capsys):
    (folder / "o.yaml").write_text(YAML_SCHEMA)
    (folder / "g.jsonl").write_text('{"number": "A-1", "vendor": "ACME"}\n{"number": "A-2", "vendor": "Muller AG"}\n')
    assert call("schema annotate", "o.yaml", "--golds", "g.jsonl") == 0
    shown = capsys.readouterr().out
    assert "+    x-eval-compare: exact\n     # our own\n-  vendor: {type: string}   # as printed\n" in shown
    assert (folder / "o.yaml").read_text() == YAML_SCHEMA
    assert call("schema annotate", "o.yaml", "--golds", "g.jsonl", "-o", "new.yaml") == 0
    assert ((folder / "new.yaml").read_text(), (folder / "o.yaml").read_text()) == (ANNOTATED, YAML_SCHEMA)
    capsys.readouterr()
    assert call("schema annotate", "o.yaml", "--golds", "g.jsonl", "--write") == 0
    assert capsys.readouterr().out == shown
    assert (folder / "o.yaml").read_text() == ANNOTATED
    assert call("schema annotate", "o.yaml", "--golds", "g.jsonl", "--write") == 0
    assert capsys.readouterr().out == ""


def test_annotate_by_golds_keeps_the_order_of_a_json_schema_inside_its_file(folder, capsys):
    text = '{\n  "z": {"properties": {"b": {"type": "string"},   "a": {"type": "string"}}},\n  "y": 1\n}\n'
    (folder / "o.json").write_text(text)
    (folder / "g.json").write_text('{"a": "ACME", "b": "A-1"}')
    assert call("schema annotate", "o.json#/z", "--golds", "g.json", "--write") == 0
    assert (folder / "o.json").read_text() == text.replace(
        '"b": {"type": "string"', '"b": {"type": "string", "x-eval-compare": "exact"'
    ).replace('"a": {"type": "string"', '"a": {"type": "string", "x-eval-compare": "fuzzy"')


def test_annotate_adds_a_key_to_a_list_and_leaves_the_rest_of_the_file_as_it_is(folder):
    rows = '"items": {"type": "object", "properties": {"sku": {"type": "string", "x-eval-compare": "exact"}}}'
    text = (
        '\ufeff{\n  "properties": {\n    "rows": { "type": "array",\n      ROWS\n    }\n  },\n  "maxProperties": 1.0\n}'
    )
    text = text.replace("ROWS", rows).replace("\n", "\r\n")
    (folder / "o.json").write_bytes(text.encode())
    (folder / "o.json").chmod(0o600)
    (folder / "g.jsonl").write_text(
        '{"rows": [{"sku": "A-1"}, {"sku": "B-2"}]}\n{"rows": [{"sku": "C-3"}, {"sku": "D-4"}]}\n'
    )
    assert call("schema annotate", "o.json", "--golds", "g.jsonl", "--write") == 0
    before, added, after = (folder / "o.json").read_bytes().decode().partition(f'{rows},\r\n      "x-eval-align": {{')
    assert added
    assert before + rows + after.partition("\r\n      }")[2] == text
    assert os.name == "nt" or (folder / "o.json").stat().st_mode & 0o777 == 0o600


def test_annotate_writes_into_the_schema_by_golds_only(folder, capsys):
    with refused(capsys, "--write goes with --golds"):
        assert call("schema annotate", "s.json", "--write") == 2


def test_annotate_by_golds_says_what_it_cannot_write(folder, capsys):
    (folder / "o.json").write_text('{"z": {"properties": {"a": {"$ref": "#/w"}}}, "w": {"type": "string"}}')
    (folder / "g.json").write_text('{"a": "ACME"}')
    with refused(capsys, "refers to other parts of the file"):
        assert call("schema annotate", "o.json#/z", "--golds", "g.json") == 2
