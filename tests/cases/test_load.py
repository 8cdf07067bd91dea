"""Case files to cases: every key, defaults, datasets, sharing."""

from __future__ import annotations

import hashlib
import json
import os
from datetime import date
from pathlib import Path

import pytest
import yaml
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from pytest_extract.cases.load import case_name, load_cases
from pytest_extract.cases.model import KnownFailure, Mark, Repeat, Thresholds, case_keys, parse_mark
from pytest_extract.cases.schemas import SchemaCache, compile_structure, without_annotations
from pytest_extract.core.scorer import compile_schema
from pytest_extract.errors import CaseFileError
from tests.cases.conftest import GOLD, SCHEMA
from tests.core.test_complexity import nested
from tests.strategies import json_values

BASE = "text: x\nschema: invoice.schema.json\ngold: acme.gold.json\n"
INLINE = {"text": "x", "schema": {}, "gold": {}}

CONTRACT = """document: acme.pdf
schema: invoice.schema.json
gold: acme.gold.json
id: acme
question: What was billed?
prompt: prompts/invoice.md
semantics: default
modality: text
marks: [slow, "xfail(reason='scanned upside down')"]
tags: {supplier: acme}
repeat: {of: 3, pass: 2}
accept: {"vendor.name": ["ACME", "ACME GmbH"]}
absent: {po_number: must, notes: either}
known_failures: [{path: "items[].tax", until: 2027-01-31, reason: EX-412}]
gates: {schema: true, coverage: {mode: hard, floor: 0.95}}
thresholds:
  pass_rate: 0.95
  fields: {"total": 1.0, "items[].description": 0.8}
  max_cost_usd: 0.02
  max_latency_s: 30
overrides:
  "items": {align: hungarian}
  "notes": skip
"""


def test_the_contract_s_example(folder, load_case):
    case = load_case(CONTRACT, **{"acme.pdf": "%PDF", "prompts/invoice.md": "Extract.\n"})
    expected = {
        "schema": SCHEMA,
        "schema_path": folder / "invoice.schema.json",
        "gold": GOLD,
        "gold_path": folder / "acme.gold.json",
        "marks": (Mark(name="slow"), Mark(name="xfail", kwargs={"reason": "scanned upside down"})),
        "repeat": Repeat(of=3, passes=2),
        "accept": {"vendor.name": ("ACME", "ACME GmbH")},
        "absent": {"po_number": "must", "notes": "either"},
        "known_failures": (KnownFailure(path="items[].tax", until=date(2027, 1, 31), reason="EX-412"),),
    }
    assert {name: getattr(case, name) for name in expected} == expected
    assert case.document.path == folder / "acme.pdf"
    assert case.prompt.text == str(case.prompt) == "Extract.\n"
    assert case.prompt.sha256 == hashlib.sha256(b"Extract.\n").hexdigest()
    assert case.gates.schema is True
    assert case.thresholds == Thresholds(
        measures={"pass_rate": 0.95},
        fields={"total": 1.0, "items[].description": 0.8},
        max_cost_usd=0.02,
        max_latency_s=30.0,
    )
    assert case_name(Path("b.c.extract.yml")) == "b.c"


@pytest.mark.parametrize(
    ("name", "modality"),
    [("a.html", "text"), ("a.png", "image"), ("a.pdf", "image"), ("a.mp3", "audio"), ("a.bin", "text"), (None, "text")],
)
def test_the_modality_of_a_bare_case_follows_the_document(load_case, name, modality):
    keys = {"document": name, "schema": {}, "gold": {}} if name else INLINE
    case = load_case(keys, **{name or "a.txt": "x"})
    assert (case.id, case.modality, case.repeat) == ("acme", modality, Repeat(of=1, passes=1))
    assert (case.marks, case.known_failures, case.prompt, case.question) == ((), (), None, None)


@pytest.mark.parametrize(
    ("thresholds", "measures"),
    [
        ("{}", {"pass_rate": 1.0}),
        ("{max_cost_usd: 1}", {"pass_rate": 1.0}),
        ("{f1: 0.5}", {"f1": 0.5}),
        ("{fields: {total: 0.5}}", {}),
    ],
)
def test_pass_rate_is_asked_where_no_measure_and_no_field_is(load_case, thresholds, measures):
    assert dict(load_case(f"{BASE}thresholds: {thresholds}\n").thresholds.measures) == measures


def test_windows_line_ends_and_a_byte_order_mark_do_no_harm(folder):
    path = folder / "w.extract.yaml"
    path.write_bytes("\ufefftext: |\r\n  a\r\n  b\r\nschema: {}\r\ngold: {}\r\n".encode())
    assert load_cases(path).cases[0].document.text == "a\nb\n"


def test_fields_are_kept_in_the_spelling_of_results(load_case):
    case = load_case(f'{BASE}absent: {{"odd key": must, "$.notes": either, "items[0].tax": either}}\n')
    assert list(case.absent) == ['["odd key"]', "notes", "items[0].tax"]


# --- defaults and datasets


def test_cases_share_defaults_and_win_over_them(folder, load):
    text = """defaults:
  schema: invoice.schema.json
  text: shared
  tags: {kind: invoice, supplier: nobody}
  marks: [slow]
  thresholds: {f1: 0.5, fields: {total: 1, notes: 1}}
  overrides: {po_number: skip}
cases:
- gold: acme.gold.json
- id: second
  document: acme.txt
  gold: acme.gold.json
  tags: {supplier: acme}
  marks: []
  thresholds: {f1: 0.9, fields: {total: 0.1}}
  overrides: {total: {metric: number}}
"""
    first, second = load(text).cases
    assert (first.id, first.line, first.document.text) == ("acme-1", 9, "shared")
    assert dict(first.tags) == {"kind": "invoice", "supplier": "nobody"}
    assert first.marks == (Mark(name="slow"),)
    assert (second.id, second.line, second.document.path) == ("second", 10, folder / "acme.txt")
    assert dict(second.tags) == {"kind": "invoice", "supplier": "acme"}
    assert second.marks == ()
    assert dict(second.thresholds.measures) == {"f1": 0.9}
    assert dict(second.thresholds.fields) == {"total": 0.1, "notes": 1.0}
    assert dict(second.overrides) == {"po_number": "skip", "total": {"metric": "number"}}
    assert first.scorer is not second.scorer
    assert first.gold is second.gold


def test_defaults_can_stand_in_a_file_whose_paths_are_its_own(folder, load_case):
    shared = {"shared/d.yaml": "schema: ../invoice.schema.json\ndocument: ../acme.txt\n"}
    case = load_case("defaults: ../shared/d.yaml\ngold: ../acme.gold.json\n", "deep/x.extract.yaml", **shared)
    assert (case.id, case.gold) == ("x", GOLD)
    assert case.document.path.samefile(folder / "acme.txt")


@pytest.mark.parametrize(
    ("defaults", "places"),
    [
        ("schema: invoice.schema.json\ntags: {a: 1, a: 2}\nrepeat: 0\n", [(2, 14), (3, 9)]),
        ("- a\n", [(1, 1)]),
        ("a: [\n", [(2, 1)]),
    ],
)
def test_a_mistake_in_a_defaults_file_is_placed_there(load, defaults, places):
    loaded = load("defaults: d.yaml\ntext: x\ngold: {}\n", **{"d.yaml": defaults})
    assert [(error.path.name, error.line, error.column) for error in loaded.errors] == [
        ("d.yaml", *at) for at in places
    ]
    assert loaded.cases == ()


def test_a_dataset_is_a_case_a_line(load):
    rows = [
        {"id": 7, "text": "a", "gold": {"total": 1}},
        {"text": "b", "gold": {"total": 2}, "tags": {"n": 1.5, "ok": True}},
    ]
    lines = {"records.jsonl": "\n\n".join(map(json.dumps, rows))}
    loaded = load("dataset: records.jsonl\ndefaults: {schema: invoice.schema.json, tags: {a: b}}\n", **lines)
    first, second = loaded.cases
    assert (first.id, first.path.name, first.line) == ("7", "records.jsonl", 1)
    assert (second.id, second.path.name, second.line) == ("acme-3", "records.jsonl", 3)
    assert dict(second.tags) == {"a": "b", "n": "1.5", "ok": "true"}
    assert (second.gold_path.name, second.gold_line, second.gold_steps) == ("records.jsonl", 3, ("gold",))
    assert first.scorer is second.scorer


# --- schemas


def test_a_schema_inside_a_file_may_refer_to_the_rest_of_it(load, load_case):
    text = "text: x\nschema: api.yaml#/parts~1/Invoice\ngold: gold.yml\n"
    api = "parts/:\n  Money: {type: number}\n  Invoice: {properties: {n: {$ref: '#/parts~1/Money'}}}\n"
    case = load_case(text, **{"api.yaml": api, "gold.yml": "n: 3\n"})
    assert case.schema == {"properties": {"n": {"$ref": "#/$defs/Money"}}, "$defs": {"Money": {"type": "number"}}}
    assert case.scorer.score(case.gold, {"n": 3}).measures["perfect"] == 1
    (error,) = load(text, **{"api.yaml": api.replace("number", "numbr")}).errors
    assert (error.path.name, error.line, error.column) == ("api.yaml", 2, 17)


@pytest.mark.parametrize("is_shared", [False, True])
def test_a_schema_in_a_case_file_refers_to_other_files(load, load_case, is_shared):
    schema = {
        "$defs": {"n": {"type": "number"}},
        "properties": {"total": {"$ref": "#/$defs/n"}, "name": {"$ref": "common.json#/$defs/Name"}},
    }
    keys = {"text": "x", "gold": {"name": "ACME", "total": 1}}
    content = {"defaults": {"schema": schema}, "cases": [keys]} if is_shared else {**keys, "schema": schema}
    case = load_case(content, **{"common.json": {"$defs": {"Name": {"type": "string"}}}})
    assert case.scorer.score(case.gold, {"name": "ACNE", "total": 1}).measures["pass_rate"] == 0.5
    assert [file.name for file in case.schema_files] == ["common.json"]
    (error,) = load(content, **{"common.json": {"$defs": {"Name": {"maxLength": 3}}}}).errors
    assert "the gold does not satisfy its schema at name" in error.message


OWN_METRIC = {
    "type": "object",
    "x-eval-post": "mine",
    "properties": {
        "a": {"type": "string", "x-eval-compare": "mine", "const": {"x-eval-compare": 1}},
        "evaluation_config": {"type": "array", "items": {"anyOf": [{"evaluation_config": "mine"}, {"type": "null"}]}},
        "o": {"type": "object", "properties": {"b": {"type": "integer"}}},
    },
}


def test_cases_whose_metrics_are_the_project_s_own_can_be_read_without_them(load):
    plain = without_annotations(OWN_METRIC)
    assert plain["properties"].keys() == OWN_METRIC["properties"].keys()
    assert plain["properties"]["a"] == {"type": "string", "const": {"x-eval-compare": 1}}
    assert "mine" not in str(plain)
    without_annotations(nested(10_000))
    case = {
        **INLINE,
        "schema": OWN_METRIC,
        "gold": {"o": {"b": 1}},
        "overrides": {"a": "mine"},
        "post_process": "mine",
        "thresholds": {"measures": {"mine": 0.5}, "fields": {"o": 0.5}},
        "absent": {"o": "either"},
    }
    assert load(case).errors
    assert load(case, cache=SchemaCache(compile_structure)).errors == ()
    (error,) = load({**case, "absent": {"b": "must"}}, cache=SchemaCache(compile_structure)).errors
    assert "'b'" in error.message


# --- golds that are mostly compared with nothing

PERSON = {"type": "object", "properties": {"name": {"type": "string"}, "age": {"type": "integer"}}}
UNSEEN = {**INLINE, "schema": PERSON, "gold": "g.json", "semantics": "extract-bench"}
PAGES = {"name": "Ada", "pages": [{"n": 1}, {"n": 2}]}


def test_a_gold_that_is_mostly_compared_with_nothing_is_a_mistake(load):
    loaded = load(UNSEEN, **{"g.json": json.dumps(PAGES, indent=1)})
    (error,) = loaded.errors
    assert loaded.cases == ()
    assert (error.path.name, error.line, error.column) == ("g.json", 3, 2)
    assert error.message == (
        "2 of 3 gold values are compared with nothing: `pages` (2); declare what stands there, or take the gold as it "
        "is with `uncompared: allow`"
    )
    assert len(load({"defaults": {"uncompared": "allow"}, "cases": [{**UNSEEN, "uncompared": "refuse"}]}).errors) == 1
    (error,) = load(
        "text: x\nschema: s.json\nsemantics: extract-bench\ngold:\n  name: Ada\n  pages: [1, 2]\n", **{"s.json": PERSON}
    ).errors
    assert (error.path.name, error.line, error.column) == ("acme.extract.yaml", 6, 3)


@pytest.mark.parametrize(
    "content",
    [
        pytest.param({**UNSEEN, "uncompared": "allow"}, id="case"),
        pytest.param({"defaults": {"uncompared": "allow"}, "cases": [UNSEEN]}, id="defaults"),
        pytest.param({**UNSEEN, "semantics": "default"}, id="default-compares-it"),
        pytest.param({**UNSEEN, "gold": {"name": "a", "age": 1, "x": 1}, "overrides": {"name": "skip"}}, id="as-many"),
    ],
)
def test_what_is_allowed(load_case, content):
    load_case(content, **{"g.json": PAGES})


def test_a_lesser_part_of_a_gold_is_no_mistake_and_is_kept_on_the_case(load_case):
    case = load_case({**UNSEEN, "gold": {"name": "Ada", "age": 36, "extra": 1}})
    assert (dict(case.uncompared.places), case.uncompared.total) == ({"extra": 1}, 3)


# --- what is read


def test_files_are_read_and_schemas_compiled_once(load, load_case):
    compiled = []

    def compile_counted(schema, **how):
        compiled.append(how)
        return compile_schema(schema, **how)

    cache = SchemaCache(compile_counted)
    row = {"text": "x", "schema": "invoice.schema.json", "gold": "acme.gold.json", "prompt": "prompt.md"}
    many = load({"cases": [row] * 50}, cache=cache).cases
    other = load_case(row, "other.extract.yaml", cache)
    for name in ("scorer", "schema", "prompt", "gold"):
        assert len({id(getattr(case, name)) for case in (*many, other)}) == 1
    inline = load_case({**INLINE, "schema": SCHEMA}, "inline.extract.yaml", cache)
    assert inline.scorer is other.scorer
    own = load_case({**row, "overrides": {"notes": "skip"}}, "own.extract.yaml", cache)
    assert own.scorer is not other.scorer
    assert len(compiled) == 2


def test_no_document_is_opened(load_case, monkeypatch):
    opened: list[str] = []

    def noted(path, *rest, **how):
        opened.append(Path(path).name)
        return real(path, *rest, **how)

    real = open
    for module in ("builtins", "io"):
        monkeypatch.setattr(f"{module}.open", noted)
    case = load_case(BASE.replace("text: x", "document: acme.txt"))
    assert sorted(set(opened)) == ["acme.extract.yaml", "acme.gold.json", "invoice.schema.json"]
    assert case.document.text == "Invoice"
    assert opened[-1] == "acme.txt"


@pytest.mark.skipif(os.name == "nt", reason="links need a right there")
@pytest.mark.parametrize("keys", ["text: x\nschema: ../s.json\ngold: ../g.json\n", "dataset: ../d.jsonl\n"])
def test_paths_behind_a_link_are_those_of_what_it_points_to(folder, load, keys):
    files = {"s.json": {}, "g.json": {}, "d.jsonl": {"text": "x", "schema": "s.json", "gold": "g.json"}}
    load(keys, "real/cases/a.extract.yaml", **{f"real/{name}": value for name, value in files.items()})
    (folder / "project").mkdir()
    (folder / "project" / "cases").symlink_to("../real/cases")
    loaded = load_cases(folder / "project" / "cases" / "a.extract.yaml")
    assert (len(loaded.cases), loaded.errors) == (1, ())


# --- marks


@pytest.mark.parametrize(
    ("text", "mark"),
    [
        (" slow ", Mark(name="slow")),
        ("timeout(30)", Mark(name="timeout", args=(30,))),
        ("flaky(-1, [1, 'a'], on={'a': None})", Mark(name="flaky", args=(-1, [1, "a"]), kwargs={"on": {"a": None}})),
        (r"skip(reason='\d')", Mark(name="skip", kwargs={"reason": r"\d"})),
    ],
)
def test_marks_are_names_or_calls_with_literals(text, mark):
    assert parse_mark(text) == mark


NO_MARKS = ["", "x(", "a b", "a.b", "a.b()", "1", "\0", "__import__('os').system('x')", "xfail(__import__('os'))"]
HOSTILE = ["xfail(**{'a': 1})", "x " * 20_000, "xfail(" + "(" * 4000 + ")" * 4000 + ")", "xfail(" + "-" * 5000 + "1)"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        *((text, "is no mark; expected a name, or a call") for text in (*NO_MARKS, *HOSTILE)),
        ("parametrize('x', [1, 2])", "`parametrize` makes no cases: write them under `cases:`"),
        ("parametrize", "`parametrize` makes no cases"),
    ],
    ids=lambda text: text[:25].replace("\0", "nul") or "empty",
)
def test_anything_else_is_refused_in_words(text, words):
    with pytest.raises(ValueError, match=words):
        parse_mark(text)


@given(st.text(max_size=40))
def test_no_text_does_more_than_parse(text):
    try:
        told = parse_mark(text).name.isidentifier()
    except ValueError as error:
        told = bool(str(error))
    assert told


# --- anything else

_names = ["acme.txt", "acme.gold.json", "invoice.schema.json", "records.jsonl", ".", "", "items[].tax"]
_keys = st.sampled_from([*case_keys(), "cases", "defaults", "dataset", "treshold"])
_values = json_values | st.sampled_from([*_names, {"fields": {"total": 1}}])
_mappings = st.dictionaries(_keys, _values, max_size=6)
_files = st.fixed_dictionaries({"cases": st.lists(_mappings | json_values, max_size=3), "defaults": _mappings})
_texts = st.text(st.characters(codec="utf-8"), max_size=60)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=2 * settings().max_examples)
@given(_mappings | _files | _texts)
@example({"cases": [{"id": 1, "text": "x", "schema": True, "gold": None}]})
@example({"text": "x", "schema": {"$ref": "#"}, "gold": {}})
@example({"text": "x", "schema": {"$ref": "http://example.invalid/x"}, "gold": {}})
@example({"text": "x", "schema": {"pattern": "(("}, "gold": "acme.gold.json", "thresholds": {"fields": {"[": 1}}})
@example("cases: [{<<: 1, <<: 2}]")
@example("dataset: acme.extract.yaml")
def test_anything_gives_cases_or_errors(folder, content):
    path = folder / "any.extract.yaml"
    text = content if isinstance(content, str) else yaml.safe_dump(content, allow_unicode=True)
    path.write_bytes(text.encode())
    loaded = load_cases(path)
    assert loaded.cases or loaded.errors
    assert all(isinstance(error, CaseFileError) and error.message for error in loaded.errors)
