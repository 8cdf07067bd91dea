"""schema infer, resolve, annotate, print, and explain: the commands as they are typed."""

from __future__ import annotations

import json
from functools import partial
from importlib import resources
from pathlib import Path

import pytest

from pytest_extract.core.metrics import METRICS
from pytest_extract.core.scorer import compile_schema
from pytest_extract.core.transforms import TRANSFORMS
from tests.commands import write
from tests.core.schemas import NUMBER, TEXT, obj

SCHEMA = obj(a={"$ref": "#/$defs/A", "description": "kept"}) | {"$defs": {"A": TEXT}}


@pytest.fixture
def call(run):
    """Run a command where a schema and golds are, with the exit status that is expected."""
    write({"s.json": SCHEMA, "gold.json": {"a": "x", "n": 1}, "more.jsonl": '{"n": 2.5}\n\n{"a": null}\n'})
    write({"w.json": {"wrapped": {"items": {"$ref": "#/no"}}}, "broken.jsonl": '{"n": 1}\n{"n": }\n'})
    write({"within.json": {"z": {"properties": {"a": {"$ref": "#/w"}}}, "w": {"type": "string"}}})
    return partial(run, status=0)


def test_the_schema_of_the_case_file_is_printed(call):
    assert call("schema print").json["title"] == "pytest-extract case file"


def test_infer(call):
    found = call("schema infer gold.json more.jsonl --first-type").json
    assert found == obj(a=TEXT, n={"type": "integer"})
    write({"list.json": [{"n": 1}, {"n": 2.5}]})
    assert call("schema infer list.json --each --annotate x-eval -o out.json").out == ""
    wanted = obj(n=NUMBER | {"x-eval-compare": "numeric"}) | {"required": ["n"]}
    assert json.loads(Path("out.json").read_text()) == wanted


def test_half_a_surrogate_pair_is_escaped(call):
    write({"odd.json": '{"\\ud800": 1}'})
    wanted = {"type": "object", "properties": {"\ud800": {"type": "integer"}}, "required": ["\ud800"]}
    call("schema infer odd.json -o out.json")
    assert call("schema infer odd.json").json == json.loads(Path("out.json").read_text()) == wanted


@pytest.mark.parametrize("name", ["Model", "Data", "Typed"])
def test_a_class_gives_its_schema(call, name):
    pytest.importorskip("pydantic")
    code = (
        "from dataclasses import dataclass\nfrom typing_extensions import TypedDict\nfrom pydantic import BaseModel\n"
        "class Model(BaseModel):\n    total: float\n"
        "@dataclass\nclass Data:\n    total: float\n"
        "class Typed(TypedDict):\n    total: float\n"
    )
    write({"some_classes.py": code})
    schema = call(f"schema infer some_classes:{name}").json
    assert (schema["properties"]["total"]["type"], schema["required"]) == ("number", ["total"])
    assert "give it alone" in call(f"schema infer some_classes:{name} gold.json", status=2).err


def test_resolve(call):
    assert call("schema resolve s.json").json["properties"] == {"a": {"type": "string", "description": "kept"}}
    assert call("schema resolve s.json --published").json["properties"] == {"a": {"type": "string"}}


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("schema infer json:Nothing", "gives no JSON Schema"),
        ("schema infer gold.json -o gold.json/of.json", "cannot be written"),
        ("schema infer broken.jsonl", "broken.jsonl:2:"),
        ("schema resolve w.json#/wrapped", "at /items: the reference '#/no' leads nowhere"),
        ("schema resolve w.json#/x", "nothing stands at #/x"),
        ("schema annotate s.json --metric text", "no JSON type 'text' to annotate"),
        ("schema annotate s.json --metric string=fuzy", "did you mean 'fuzzy'"),
        ("schema annotate s.json --metric string={", "argument --metric: '{' is no JSON"),
        ("schema annotate s.json --write", "--write goes with --golds"),
        ("schema annotate within.json#/z --golds gold.json", "refers to other parts of the file"),
        ("explain fuzy", "no metric or transform 'fuzy'; did you mean 'fuzzy'?"),
    ],
)
def test_what_cannot_be_done_is_told(call, command, message):
    assert message in call(command, status=2).err


@pytest.mark.parametrize(
    ("words", "config"),
    [
        ("", {"x-eval-compare": "exact"}),
        ("--dialect evaluation_config", {"evaluation_config": "string_semantic"}),
        ("--metric string=text", {"x-eval-compare": "text"}),
        ("""--metric 'string={"fuzzy": {"threshold": 0.9}}'""", {"x-eval-compare": {"fuzzy": {"threshold": 0.9}}}),
    ],
)
def test_annotate(call, words, config):
    assert call(f"schema annotate s.json {words}").json["$defs"]["A"] == {"type": "string", **config}


@pytest.mark.parametrize(
    ("said", "key", "config"),
    [
        ({"evaluation_config": "string_exact"}, "evaluation_config", "number_tolerance"),
        ({"x-eval-compare": "exact"}, "x-eval-compare", "numeric"),
        ({}, "x-eval-compare", "numeric"),
    ],
)
def test_annotate_goes_on_in_the_schema_s_own_dialect(call, said, key, config):
    write({"own.json": obj(a=TEXT | said, n=NUMBER)})
    annotated = call("schema annotate own.json").json
    assert annotated["properties"]["n"] == {"type": "number", key: config}
    assert compile_schema(annotated, judge_mode="exact").semantics != "default"


YAML_SCHEMA = """\
# orders
type: object
properties:
  number:
    type: string
    # our own
  vendor: {type: string}   # as printed
"""
ANNOTATED = YAML_SCHEMA.replace("    #", "    x-eval-compare: exact\n    #").replace(
    "g}", 'g, "x-eval-compare": "fuzzy"}'
)


def test_annotate_by_golds_shows_the_changes_and_keeps_comments(call):
    write({"o.yaml": YAML_SCHEMA})
    write({"g.jsonl": '{"number": "A-1", "vendor": "ACME"}\n{"number": "A-2", "vendor": "Muller AG"}\n'})
    annotate = "schema annotate o.yaml --golds g.jsonl"
    shown = call(annotate).out
    assert "+    x-eval-compare: exact\n     # our own\n-  vendor: {type: string}   # as printed\n" in shown
    call(f"{annotate} -o new.yaml")
    assert (Path("new.yaml").read_text(), Path("o.yaml").read_text()) == (ANNOTATED, YAML_SCHEMA)
    assert call(f"{annotate} --write").out == shown
    assert Path("o.yaml").read_text() == ANNOTATED
    assert call(f"{annotate} --write").out == ""


def test_annotate_by_golds_keeps_the_order_of_a_json_schema_inside_its_file(call):
    text = '{\n  "z": {"properties": {"b": {"type": "string"},   "a": {"type": "string"}}},\n  "y": 1\n}\n'
    write({"o.json": text, "g.json": {"a": "ACME", "b": "A-1"}})
    call("schema annotate o.json#/z --golds g.json --write")
    for name, metric in (("b", "exact"), ("a", "fuzzy")):
        field = f'"{name}": {{"type": "string"'
        text = text.replace(field, f'{field}, "x-eval-compare": "{metric}"')
    assert Path("o.json").read_text() == text


def test_explain_lists_everything_and_explains_one_with_its_numbers(call):
    shown = call("explain").out
    assert all(f"  {name} " in shown for name in [*METRICS, *TRANSFORMS])
    shown = call("explain number_tolerance round_digits").out
    assert "- `tolerance` (default 1e-06): largest difference that passes" in shown
    assert 'As a preset: `{"tolerance": 0.001}`.' in shown
    assert ">>> compare_values('number_tolerance', 1.0, 1.001, {'tolerance': 0.001})\n1.0\n" in shown
    assert '; `1250` becomes `1200` with `{"digits": -2}`.' in shown


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


def test_explain_knows_a_project_s_own(call):
    write({"my_own_ones.py": MINE})
    shown = call("explain --extensions my_own_ones").out
    assert "  initials                 First letters.\n" in shown
    assert "aligners (explained by: pytest-extract explain NAME)\n  by_sku " in shown
    shown = call("explain --extensions my_own_ones initials propagate_batch_errors").out
    assert "### `initials`\n\nFirst letters. And more.\n\n- `most` (default 3): int\n" in shown
    assert "### `propagate_batch_errors`\n" in shown


def test_the_manual_is_what_the_command_prints(call):
    page = (resources.files("pytest_extract.docs") / "metrics.md").read_text(encoding="utf-8")
    printed = call("explain --markdown").out
    assert page == printed, "write it anew: pytest-extract explain --markdown > .../docs/metrics.md"
    shown = call("explain --markdown fuzzy").out
    assert "### `fuzzy`\n" in shown
    assert ">>> compare_values('fuzzy', 'kitten', 'sitting')\n0.571428" in shown
