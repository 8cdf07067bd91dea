"""The JSON Schema of the case file and the checker say the same."""

from __future__ import annotations

import json

import jsonschema
import pytest

from pytest_extract.cases.load import load_cases
from pytest_extract.cases.model import FILE_KEYS, LIMITS, case_file_schema, case_keys, renewed_schema
from pytest_extract.cases.schemas import SchemaCache
from pytest_extract.core.gates import COVERAGE_MODES, MODALITIES
from pytest_extract.core.measures import MEASURES
from pytest_extract.core.output_shape import SHAPES, UNITS
from pytest_extract.core.rules import RULE_KEYS, SEVERITIES
from pytest_extract.core.schema.annotations import parse_override
from pytest_extract.core.semantics import SEMANTICS
from tests.cases.test_mistakes import GOLD, SCHEMA

DOCUMENT = json.loads(case_file_schema())
DEFS = DOCUMENT["$defs"]
BASE = {"text": "x", "schema": SCHEMA, "gold": GOLD}


def test_it_is_a_json_schema_that_describes_every_key():
    jsonschema.Draft202012Validator.check_schema(DOCUMENT)
    assert set(DOCUMENT["properties"]) == {*case_keys(), *FILE_KEYS}
    assert set(DEFS["case"]["properties"]) == set(case_keys())
    assert all("description" in DEFS[key] for key in case_keys())


def test_its_measures_are_those_of_the_table():
    """After a change of a measure, `python -m pytest_extract.docs` renews it."""
    assert case_file_schema() == renewed_schema()


def test_it_lists_the_checker_s_words():
    assert list(DEFS["semantics"]["enum"]) == list(SEMANTICS)
    assert tuple(DEFS["modality"]["enum"]) == MODALITIES
    assert tuple(DEFS["gates"]["properties"]["coverage"]["anyOf"][1]["properties"]["mode"]["enum"]) == COVERAGE_MODES
    assert list(DEFS["thresholds"]["properties"]) == [*MEASURES, "fields", "measures", *LIMITS]
    assert (tuple(DEFS["output_shape"]["enum"]), tuple(DEFS["unit"]["enum"])) == (tuple(SHAPES), tuple(UNITS))
    rule = DEFS["rules"]["items"]["anyOf"][1]["properties"]
    assert (tuple(rule), tuple(rule["severity"]["enum"])) == (RULE_KEYS, SEVERITIES)
    told: list[str] = []
    keys = DEFS["overrides"]["additionalProperties"]["anyOf"][1]["properties"]
    parse_override(dict.fromkeys(keys), "", lambda message, _where: told.append(message))
    assert not [message for message in told if message.startswith("no key ")]


GOOD = {
    "bare": {},
    "id text": {"id": "acme 1"},
    "id number": {"id": 7},
    "gold null": {"gold": None, "schema": True},
    "schema true": {"schema": True},
    "one mark": {"marks": "slow"},
    "marks": {"marks": ["slow", "xfail(reason='x')"]},
    "tags": {"tags": {"a": "b", "n": 1.5, "ok": True}},
    "repeat": {"repeat": 3},
    "repeat of": {"repeat": {"of": 3}},
    "repeat pass": {"repeat": {"of": 3, "pass": 2}},
    "accept": {"accept": {"vendor.name": ["A", None]}},
    "absent": {"absent": {"po_number": "must", "total": "either"}},
    "known": {"known_failures": [{"path": "total"}, {"path": "items[].tax", "until": "2027-01-31", "reason": "x"}]},
    "gates": {"gates": {"schema": False, "coverage": {"mode": "soft", "floor": 0.5}}},
    "no coverage gate": {"gates": {"coverage": False}},
    "thresholds": {
        "thresholds": {"f1": 0, "strict": 1, "fields": {"total": 0.5}, "max_cost_usd": 0, "max_latency_s": 9}
    },
    "overrides": {"overrides": {"total": "number", "items": {"align": "best_fit"}, "vendor.name": {"skip": True}}},
    "semantics": {"semantics": "default", "nulls": "value", "modality": "audio", "question": "?"},
    "post": {"post_process": "reclassify_nulls"},
    "posts": {"post_process": [{"name": "reclassify_nulls", "both_absent_skip": False}, "propagate_batch_errors"]},
    "uncompared": {"uncompared": "allow"},
    "uncompared refused": {"uncompared": "refuse"},
    "empty defaults": {"defaults": {}},
    "defaults": {"defaults": {"tags": {"a": "b"}}},
}
BAD = {
    "unknown": {"golf": 1},
    "id": {"id": "a::b"},
    "id space": {"id": " a"},
    "id newline": {"id": "a\nb"},
    "uncompared": {"uncompared": "yes"},
    "uncompared flag": {"uncompared": True},
    "schema": {"schema": 5},
    "schema empty": {"schema": " "},
    "gold empty": {"gold": ""},
    "both": {"document": "a.txt"},
    "both with a pattern": {"documents": "*.txt"},
    "patterns": {"text": None, "documents": []},
    "marks": {"marks": 1},
    "mark": {"marks": [1]},
    "tags": {"tags": {"a": None}},
    "tag list": {"tags": ["a"]},
    "repeat": {"repeat": 0},
    "repeat float": {"repeat": 1.5},
    "repeat pass": {"repeat": {"pass": 1}},
    "accept": {"accept": {"vendor.name": "A"}},
    "accept empty": {"accept": {"vendor.name": []}},
    "absent": {"absent": {"total": "may"}},
    "known": {"known_failures": {"path": "total"}},
    "known path": {"known_failures": [{"reason": "x"}]},
    "known until": {"known_failures": [{"path": "total", "until": "soon"}]},
    "gates": {"gates": {"parse": True}},
    "gate": {"gates": {"schema": "no"}},
    "floor": {"gates": {"coverage": {"floor": 2}}},
    "no floor": {"gates": {"coverage": {"floor": 0}}},
    "measure": {"thresholds": {"passrate": 1}},
    "share": {"thresholds": {"f1": 1.5}},
    "cost": {"thresholds": {"max_cost_usd": -1}},
    "fields": {"thresholds": {"fields": {"total": "x"}}},
    "override": {"overrides": {"total": 1}},
    "override key": {"overrides": {"total": {"metrik": "number"}}},
    "post": {"post_process": 1},
    "post without name": {"post_process": [{"absent_values": []}]},
    "semantics": {"semantics": "theirs"},
    "nulls": {"nulls": "no"},
    "modality": {"modality": "video"},
    "question": {"question": 1},
    "defaults": {"defaults": 1},
    "defaults key": {"defaults": {"golf": 1}},
    "cases beside": {"cases": [BASE]},
}


@pytest.mark.parametrize("keys", GOOD.values(), ids=GOOD.keys())
def test_both_take_what_is_right(tmp_path, keys):
    raw = {**BASE, **keys}
    jsonschema.validate(raw, DOCUMENT)
    assert _errors(tmp_path, raw) == ()


@pytest.mark.parametrize("keys", BAD.values(), ids=BAD.keys())
def test_both_refuse_what_is_wrong(tmp_path, keys):
    raw = {**BASE, **keys}
    assert not jsonschema.Draft202012Validator(DOCUMENT).is_valid(raw)
    assert _errors(tmp_path, raw) != ()


@pytest.mark.parametrize(
    "raw",
    [
        {},
        {"text": "x"},
        {"text": "x", "schema": {}},
        {"cases": []},
        {"cases": [1]},
        {"cases": [BASE], "dataset": "a"},
        [],
    ],
    ids=str,
)
def test_both_refuse_a_file_without_its_parts(tmp_path, raw):
    assert not jsonschema.Draft202012Validator(DOCUMENT).is_valid(raw)
    assert _errors(tmp_path, raw) != ()


def test_both_take_cases_and_datasets(tmp_path):
    (tmp_path / "a.jsonl").write_text(json.dumps(BASE), encoding="utf-8")
    for raw in ({"cases": [BASE, {**BASE, "id": "b"}]}, {"dataset": "a.jsonl"}, {"dataset": "a.jsonl", "defaults": {}}):
        jsonschema.validate(raw, DOCUMENT)
        assert _errors(tmp_path, raw) == ()


def _errors(folder, raw):
    (folder / "a.txt").write_text("x", encoding="utf-8")
    path = folder / "a.extract.yaml"
    path.write_text(json.dumps(raw, ensure_ascii=False), encoding="utf-8")
    return load_cases(path, SchemaCache()).errors
