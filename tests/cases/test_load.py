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
from pytest_extract.cases.model import KnownFailure, Mark, Repeat, case_keys
from pytest_extract.cases.schemas import SchemaCache
from pytest_extract.core.scorer import compile_schema
from pytest_extract.errors import CaseFileError
from tests.strategies import json_values

SCHEMA = {
    "type": "object",
    "properties": {
        "vendor": {"type": "object", "properties": {"name": {"type": "string"}}},
        "po_number": {"type": ["string", "null"]},
        "odd key": {"type": "string"},
        "total": {"type": "number"},
        "notes": {"type": "string"},
        "items": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "price": {"type": "number"},
                    "tax": {"type": "number"},
                    "description": {"type": "string"},
                },
            },
        },
    },
}
GOLD = {"vendor": {"name": "ACME"}, "total": 1.5, "items": [{"price": 1.5, "tax": 0}]}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "acme.pdf").write_bytes(b"%PDF")
    (tmp_path / "acme.txt").write_text("Invoice", encoding="utf-8")
    (tmp_path / "invoice.schema.json").write_text(json.dumps(SCHEMA), encoding="utf-8")
    (tmp_path / "acme.gold.json").write_text(json.dumps(GOLD), encoding="utf-8")
    (tmp_path / "prompts").mkdir()
    (tmp_path / "prompts" / "invoice.md").write_text("Extract.\n", encoding="utf-8")
    return tmp_path


def _load(folder: Path, text: str, name: str = "acme.extract.yaml", cache: SchemaCache | None = None):
    path = folder / name
    path.write_text(text, encoding="utf-8")
    loaded = load_cases(path, SchemaCache() if cache is None else cache)
    assert loaded.errors == ()
    return loaded.cases


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


def test_the_contract_s_example(folder):
    (case,) = _load(folder, CONTRACT)
    assert (case.id, case.path, case.line) == ("acme", folder / "acme.extract.yaml", 1)
    assert case.document.path == folder / "acme.pdf"
    assert case.schema == SCHEMA
    assert case.schema_path == folder / "invoice.schema.json"
    assert (case.gold, case.gold_path, case.gold_steps) == (GOLD, folder / "acme.gold.json", ())
    assert case.question == "What was billed?"
    assert case.prompt is not None
    assert case.prompt.text == str(case.prompt) == "Extract.\n"
    assert case.prompt.sha256 == hashlib.sha256(b"Extract.\n").hexdigest()
    assert (case.semantics, case.nulls, case.modality) == ("default", None, "text")
    assert case.marks == (Mark(name="slow"), Mark(name="xfail", kwargs={"reason": "scanned upside down"}))
    assert dict(case.tags) == {"supplier": "acme"}
    assert case.repeat == Repeat(of=3, passes=2)
    assert dict(case.accept) == {"vendor.name": ("ACME", "ACME GmbH")}
    assert dict(case.absent) == {"po_number": "must", "notes": "either"}
    assert case.known_failures == (KnownFailure(path="items[].tax", until=date(2027, 1, 31), reason="EX-412"),)
    assert case.gates.schema is True
    assert dict(case.thresholds.measures) == {"pass_rate": 0.95}
    assert dict(case.thresholds.fields) == {"total": 1.0, "items[].description": 0.8}
    assert (case.thresholds.max_cost_usd, case.thresholds.max_latency_s) == (0.02, 30.0)
    assert dict(case.overrides) == {"items": {"align": "hungarian"}, "notes": "skip"}


def test_a_bare_case_has_the_contract_s_defaults(folder):
    (case,) = _load(folder, "document: acme.pdf\nschema: invoice.schema.json\ngold: acme.gold.json\n")
    assert case.id == "acme"
    assert case.modality == "image"
    assert case.repeat == Repeat(of=1, passes=1)
    assert dict(case.thresholds.measures) == {"pass_rate": 1.0}
    assert (case.marks, case.known_failures, case.prompt, case.question) == ((), (), None, None)


def test_a_known_failure_expires_after_its_day():
    known = KnownFailure(path="total", until=date(2027, 1, 31))
    assert not known.expired(date(2027, 1, 31))
    assert known.expired(date(2027, 2, 1))
    assert not KnownFailure(path="total").expired(date(2999, 1, 1))


@pytest.mark.parametrize(
    ("name", "modality"),
    [
        ("a.txt", "text"),
        ("a.html", "text"),
        ("a.png", "image"),
        ("a.pdf", "image"),
        ("a.mp3", "audio"),
        ("a.bin", "text"),
    ],
)
def test_the_modality_follows_the_document(folder, name, modality):
    (folder / name).write_bytes(b"x")
    (case,) = _load(folder, f"document: {name}\nschema: {{}}\ngold: {{}}\n")
    assert case.modality == modality


@pytest.mark.parametrize(
    ("thresholds", "measures"),
    [
        ("{}", {"pass_rate": 1.0}),
        ("{max_cost_usd: 1}", {"pass_rate": 1.0}),
        ("{f1: 0.5}", {"f1": 0.5}),
        ("{fields: {total: 0.5}}", {}),
    ],
)
def test_pass_rate_is_asked_where_no_measure_and_no_field_is(folder, thresholds, measures):
    text = "text: x\nschema: invoice.schema.json\ngold: acme.gold.json\n"
    (case,) = _load(folder, f"{text}thresholds: {thresholds}\n")
    assert dict(case.thresholds.measures) == measures


def test_everything_can_stand_inline(folder):
    (case,) = _load(folder, "text: |\n  Total: 3\nschema: {properties: {total: {type: number}}}\ngold: {total: 3}\n")
    assert case.document.text == "Total: 3\n"
    assert case.gold == {"total": 3}
    assert (case.gold_path, case.gold_steps) == (folder / "acme.extract.yaml", ("gold",))
    assert case.schema == {"properties": {"total": {"type": "number"}}}
    assert case.modality == "text"


def test_a_schema_inside_a_file_and_yaml_files(folder):
    (folder / "all.yaml").write_text(
        "$defs:\n  a/b: {type: object, properties: {n: {type: number}}}\n", encoding="utf-8"
    )
    (folder / "gold.yml").write_text("n: 3\n", encoding="utf-8")
    (case,) = _load(folder, "text: x\nschema: all.yaml#/$defs/a~1b\ngold: gold.yml\n")
    assert case.schema == {"type": "object", "properties": {"n": {"type": "number"}}}
    assert case.gold == {"n": 3}


def test_a_schema_inside_a_file_may_refer_to_the_rest_of_it(folder):
    (folder / "api.yaml").write_text(
        "parts:\n  Money: {type: number}\n  Invoice: {properties: {n: {$ref: '#/parts/Money'}}}\n", encoding="utf-8"
    )
    (case,) = _load(folder, "text: x\nschema: api.yaml#/parts/Invoice\ngold: {n: 3}\n")
    assert case.schema == {"properties": {"n": {"$ref": "#/$defs/Money"}}, "$defs": {"Money": {"type": "number"}}}
    assert case.scorer.score(case.gold, {"n": 3}).measures["perfect"] == 1


def test_a_mistake_in_what_a_schema_refers_to_is_placed_where_it_stands(folder):
    (folder / "api.yaml").write_text(
        "Money:\n  type: numbr\nInvoice: {properties: {n: {$ref: '#/Money'}}}\n", encoding="utf-8"
    )
    path = folder / "acme.extract.yaml"
    path.write_text("text: x\nschema: api.yaml#/Invoice\ngold: {n: 3}\n", encoding="utf-8")
    (error,) = load_cases(path).errors
    assert (error.path.name, error.line, error.column) == ("api.yaml", 2, 9)


def test_what_many_cases_say_alike_is_checked_against_the_schema_and_kept_once(folder, monkeypatch):
    looked_up = []
    monkeypatch.setattr("pytest_extract.cases.schemas.declared", lambda name, _: looked_up.append(name) or True)
    defaults = "defaults: {schema: invoice.schema.json, gold: acme.gold.json, thresholds: {fields: {total: 1}}}\n"
    cases = _load(folder, defaults + "cases:\n" + "- {text: x, accept: {vendor.name: [A]}}\n" * 3)
    assert len(cases) == 3
    assert sorted(looked_up) == ["total", "vendor.name"]
    assert len({id(case.thresholds) for case in cases}) == len({id(case.accept) for case in cases}) == 1


def test_fields_are_kept_in_the_spelling_of_results(folder):
    text = "text: x\nschema: invoice.schema.json\ngold: acme.gold.json\n"
    (case,) = _load(folder, text + 'absent: {"odd key": must, "$.notes": either, "items[0].tax": either}\n')
    assert list(case.absent) == ['["odd key"]', "notes", "items[0].tax"]


def test_case_names():
    assert case_name(Path("a/acme.extract.yaml")) == "acme"
    assert case_name(Path("b.c.extract.yml")) == "b.c"


def test_cases_share_defaults_and_win_over_them(folder):
    text = """defaults:
  schema: invoice.schema.json
  text: shared
  tags: {kind: invoice, supplier: nobody}
  marks: [slow]
  thresholds: {f1: 0.5, fields: {total: 1, notes: 1}}
  gates: {coverage: {mode: soft, floor: 0.5}}
  overrides: {po_number: skip}
cases:
- gold: acme.gold.json
- id: second
  document: acme.txt
  gold: acme.gold.json
  tags: {supplier: acme}
  marks: []
  thresholds: {f1: 0.9, fields: {total: 0.1}}
  gates: {coverage: {floor: 0.9}}
  overrides: {total: {metric: number}}
"""
    first, second = _load(folder, text)
    assert (first.id, first.line) == ("acme-1", 10)
    assert first.document.text == "shared"
    assert dict(first.tags) == {"kind": "invoice", "supplier": "nobody"}
    assert first.marks == (Mark(name="slow"),)
    assert (second.id, second.line) == ("second", 11)
    assert second.document.path == folder / "acme.txt"
    assert dict(second.tags) == {"kind": "invoice", "supplier": "acme"}
    assert second.marks == ()
    assert dict(second.thresholds.measures) == {"f1": 0.9}
    assert dict(second.thresholds.fields) == {"total": 0.1, "notes": 1.0}
    assert dict(second.overrides) == {"po_number": "skip", "total": {"metric": "number"}}
    assert first.scorer is not second.scorer
    assert first.gold is second.gold


def test_defaults_can_stand_in_a_file_whose_paths_are_its_own(folder):
    (folder / "shared").mkdir()
    (folder / "shared" / "d.yaml").write_text(
        "schema: ../invoice.schema.json\ndocument: ../acme.txt\n", encoding="utf-8"
    )
    (folder / "deep").mkdir()
    (case,) = _load(folder, "defaults: ../shared/d.yaml\ngold: ../acme.gold.json\n", "deep/x.extract.yaml")
    assert case.id == "x"
    assert case.document.path is not None
    assert case.document.path.samefile(folder / "acme.txt")
    assert case.gold == GOLD


def test_a_mistake_in_a_defaults_file_is_placed_there(folder):
    (folder / "d.yaml").write_text("schema: invoice.schema.json\ntags: {a: 1, a: 2}\nrepeat: 0\n", encoding="utf-8")
    (folder / "x.extract.yaml").write_text("defaults: d.yaml\ntext: x\ngold: {}\n", encoding="utf-8")
    loaded = load_cases(folder / "x.extract.yaml", SchemaCache())
    assert [(error.path.name, error.line, error.column) for error in loaded.errors] == [
        ("d.yaml", 2, 14),
        ("d.yaml", 3, 9),
    ]
    assert loaded.cases == ()
    (folder / "d.yaml").write_text("- a\n", encoding="utf-8")
    (error,) = load_cases(folder / "x.extract.yaml", SchemaCache()).errors
    assert (error.path.name, error.line) == ("d.yaml", 1)
    (folder / "d.yaml").write_text("a: [\n", encoding="utf-8")
    (error,) = load_cases(folder / "x.extract.yaml", SchemaCache()).errors
    assert (error.path.name, error.line) == ("d.yaml", 2)


def test_a_dataset_is_a_case_a_line(folder):
    rows = [
        {"id": 7, "text": "a", "gold": {"total": 1}},
        {"text": "b", "gold": {"total": 2}, "tags": {"n": 1.5, "ok": True}},
    ]
    (folder / "records.jsonl").write_text("\n\n".join(map(json.dumps, rows)), encoding="utf-8")
    first, second = _load(folder, "dataset: records.jsonl\ndefaults: {schema: invoice.schema.json, tags: {a: b}}\n")
    assert (first.id, first.path.name, first.line) == ("7", "records.jsonl", 1)
    assert (second.id, second.path.name, second.line) == ("acme-3", "records.jsonl", 3)
    assert dict(second.tags) == {"a": "b", "n": "1.5", "ok": "true"}
    assert (second.gold_path.name, second.gold_line, second.gold_steps) == ("records.jsonl", 3, ("gold",))
    assert first.scorer is second.scorer


def test_files_are_read_and_schemas_compiled_once(folder):
    compiled = []

    def compile_counted(schema, **how):
        compiled.append(how)
        return compile_schema(schema, **how)

    cache = SchemaCache(compile_counted)
    row = "{text: x, schema: invoice.schema.json, gold: acme.gold.json, prompt: prompts/invoice.md}"
    many = _load(folder, "cases:\n" + f"- {row}\n" * 50, cache=cache)
    (other,) = _load(folder, row, "other.extract.yaml", cache=cache)
    assert len(compiled) == 1
    assert len({id(case.scorer) for case in (*many, other)}) == 1
    assert len({id(case.schema) for case in (*many, other)}) == 1
    assert len({id(case.prompt) for case in (*many, other)}) == 1
    assert len({id(case.gold) for case in (*many, other)}) == 1
    (inline,) = _load(
        folder, f"text: x\nschema: {json.dumps(SCHEMA)}\ngold: {{}}\n", "inline.extract.yaml", cache=cache
    )
    assert inline.scorer is other.scorer
    (own,) = _load(
        folder, f"{row[1:-1].replace(', ', chr(10))}\noverrides: {{notes: skip}}\n", "own.extract.yaml", cache=cache
    )
    assert own.scorer is not other.scorer
    assert len(compiled) == 2


def test_no_document_is_opened(folder, monkeypatch):
    opened: list[str] = []

    def noted(path, *rest, **how):
        opened.append(Path(path).name)
        return real(path, *rest, **how)

    real = open
    for module in ("builtins", "io"):
        monkeypatch.setattr(f"{module}.open", noted)
    (case,) = _load(folder, "document: acme.txt\nschema: invoice.schema.json\ngold: acme.gold.json\n")
    assert sorted(set(opened)) == ["acme.extract.yaml", "acme.gold.json", "invoice.schema.json"]
    assert case.document.text == "Invoice"
    assert opened[-1] == "acme.txt"


def test_windows_line_ends_and_a_byte_order_mark_do_no_harm(folder):
    text = "\ufefftext: |\r\n  a\r\n  b\r\nschema: {}\r\ngold: {}\r\n"
    (folder / "w.extract.yaml").write_bytes(text.encode())
    (case,) = load_cases(folder / "w.extract.yaml", SchemaCache()).cases
    assert case.document.text == "a\nb\n"


def test_a_field_that_only_the_gold_has_can_be_named(folder):
    schema = "{type: object, properties: {a: {type: string}}, additionalProperties: true}"
    (case,) = _load(folder, f"text: x\nschema: {schema}\ngold: {{a: x, b: [{{c: y}}]}}\naccept: {{b: [[]]}}\n")
    assert dict(case.accept) == {"b": ([],)}


def test_a_recursive_schema_s_fields_can_be_named_at_any_depth(folder):
    schema = '{"$ref": "#/$defs/n", "$defs": {"n": {"type": "object", "properties": {"v": {"type": "string"}, "kids": {"type": "array", "items": {"$ref": "#/$defs/n"}}}}}}'
    text = f"text: x\nschema: {schema}\ngold: {{v: x}}\n"
    (case,) = _load(folder, text + "absent: {'kids[].kids[].kids[].v': either}\n")
    assert list(case.absent) == ["kids[].kids[].kids[].v"]
    (folder / "acme.extract.yaml").write_text(text + "absent: {'kids[].kids[].kids[].w': either}\n", encoding="utf-8")
    (error,) = load_cases(folder / "acme.extract.yaml", SchemaCache()).errors
    assert "no field 'kids[].kids[].kids[].w'" in error.message


_keys = st.sampled_from([*case_keys(), "cases", "defaults", "dataset", "treshold"])
_values = json_values | st.sampled_from(
    [
        "acme.txt",
        "acme.gold.json",
        "invoice.schema.json",
        "records.jsonl",
        ".",
        "",
        "items[].tax",
        {"fields": {"total": 1}},
    ]
)
_mappings = st.dictionaries(_keys, _values, max_size=6)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    _mappings | st.fixed_dictionaries({"cases": st.lists(_mappings | json_values, max_size=3), "defaults": _mappings})
)
@example({"cases": [{"id": 1, "text": "x", "schema": True, "gold": None}]})
@example({"text": "x", "schema": {"$ref": "#"}, "gold": {}})
@example({"text": "x", "schema": {"$ref": "http://example.invalid/x"}, "gold": {}})
@example({"text": "x", "schema": {"pattern": "(("}, "gold": "acme.gold.json", "thresholds": {"fields": {"[": 1}}})
def test_any_mapping_gives_cases_or_errors(folder, raw):
    _gives_cases_or_errors(folder, yaml.safe_dump(raw, allow_unicode=True))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.text(st.characters(codec="utf-8"), max_size=60))
@example("cases: [{<<: 1, <<: 2}]")
@example("defaults: &a {tags: {b: c}}\ncases: [*a]")
@example("dataset: acme.extract.yaml")
def test_any_text_gives_cases_or_errors(folder, text):
    _gives_cases_or_errors(folder, text)


def _gives_cases_or_errors(folder: Path, text: str) -> None:
    path = folder / "any.extract.yaml"
    path.write_bytes(text.encode())
    loaded = load_cases(path, SchemaCache())
    assert loaded.cases or loaded.errors
    assert all(isinstance(error, CaseFileError) and error.message for error in loaded.errors)


@pytest.mark.parametrize(
    "text",
    [
        "text: x\ngold: {name: ACME, total: 1}\nschema: SCHEMA\n",
        "defaults: {schema: SCHEMA, text: x}\ncases: [{gold: {name: ACME, total: 1}}]\n",
    ],
)
def test_a_schema_in_a_case_file_refers_to_other_files(folder: Path, text: str) -> None:
    schema = {
        "$defs": {"n": {"type": "number"}},
        "properties": {"total": {"$ref": "#/$defs/n"}, "name": {"$ref": "common.json#/$defs/Name"}},
    }
    (folder / "common.json").write_text('{"$defs": {"Name": {"type": "string"}}}', encoding="utf-8")
    (case,) = _load(folder, text.replace("SCHEMA", json.dumps(schema)))
    assert case.scorer.score(case.gold, {"name": "ACNE", "total": 1}).measures["pass_rate"] == 0.5
    assert [file.name for file in case.schema_files] == ["common.json"]
    (folder / "common.json").write_text('{"$defs": {"Name": {"maxLength": 3}}}', encoding="utf-8")
    (error,) = load_cases(case.path, SchemaCache()).errors
    assert "the gold does not satisfy its schema at name" in error.message


@pytest.mark.skipif(os.name == "nt", reason="links need a right there")
@pytest.mark.parametrize("keys", ["text: x\nschema: ../s.json\ngold: ../g.json\n", "dataset: ../d.jsonl\n"])
def test_paths_behind_a_link_are_those_of_what_it_points_to(tmp_path: Path, keys: str) -> None:
    (tmp_path / "real" / "cases").mkdir(parents=True)
    (tmp_path / "project").mkdir()
    (tmp_path / "project" / "cases").symlink_to("../real/cases")
    (tmp_path / "real" / "s.json").write_text("{}", encoding="utf-8")
    (tmp_path / "real" / "g.json").write_text("{}", encoding="utf-8")
    record = '{"text": "x", "schema": "s.json", "gold": "g.json"}'
    (tmp_path / "real" / "d.jsonl").write_text(record, encoding="utf-8")
    (tmp_path / "real" / "cases" / "a.extract.yaml").write_text(keys, encoding="utf-8")
    loaded = load_cases(tmp_path / "project" / "cases" / "a.extract.yaml", SchemaCache())
    assert (len(loaded.cases), loaded.errors) == (1, ())
