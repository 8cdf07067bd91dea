"""SOB's measures by hand, and where the published program raises; its rows: `tests/core/test_vectors_measures.py`."""

from __future__ import annotations

import pytest
from hypothesis import given

from pytest_extract import score
from pytest_extract.core.gates import GateConfig
from pytest_extract.core.measures import PUBLISHED_NAMES
from pytest_extract.core.measures.published import (
    CoverageGate,
    DocumentPair,
    DocumentSchema,
    path_map,
    sob_measures,
    token_f1,
)
from pytest_extract.core.values import MISSING
from tests.strategies import json_values

FLAT = {
    "type": "object",
    "properties": {
        "name": {"type": "string"},
        "count": {"type": "integer"},
        "price": {"type": "number"},
        "tags": {"type": "array", "items": {"type": "string"}},
    },
    "required": ["name", "tags"],
}
GOLD = {"name": "The Red Fox", "count": 3, "price": 2.5, "tags": ["x", "y"]}
ALL_ONE, NOTHING = (dict.fromkeys(PUBLISHED_NAMES, value) for value in (1.0, 0.0))
WRONG = {"value_accuracy": 0.0, "faithfulness": 0.0, "perfect": 0.0}


def measure(extracted, gold=GOLD, schema=FLAT, modality="text", coverage=None):
    return sob_measures(
        DocumentPair(gold, extracted, DocumentSchema(schema)), coverage or GateConfig().coverage(modality)
    )


@pytest.mark.parametrize(
    ("extracted", "expected"),
    [
        (GOLD, {}),
        ({**GOLD, "name": "red fox"}, {"value_accuracy": 0.8, "perfect": 0.0}),
        ({**GOLD, "name": "red cat"}, {"value_accuracy": 0.8, "faithfulness": 0.9, "perfect": 0.0}),
        ({**GOLD, "count": 3.0}, {"faithfulness": (4 + 2 / 3) / 5, "type_safety": 0.8, "perfect": 0.0}),
        ({**GOLD, "tags": ["y", "x"]}, {"value_accuracy": 0.6, "faithfulness": 0.6, "perfect": 0.0}),
        # coverage 8/9 is below 0.95
        ({**GOLD, "tags": ["x"]}, WRONG | {"path_recall": 0.8, "structure_coverage": 8 / 9}),
        # breaks the schema: everything hardened away
        ({"name": "The Red Fox", "count": 3, "price": 2.5}, NOTHING | {"json_parse": 1.0, "required_key_recall": 0.5}),
        ('{"name": "The Red Fox"}', NOTHING),
        (MISSING, NOTHING),
        (None, NOTHING),
    ],
)
def test_by_hand(extracted, expected):
    assert measure(extracted) == pytest.approx({**ALL_ONE, **expected}, abs=1e-12)


def test_other_modalities_gate_softly_and_a_case_may_choose_its_gate():
    fewer = {**GOLD, "tags": ["x"]}
    for modality in ("image", "audio"):
        soft = measure(fewer, modality=modality)
        assert soft["value_accuracy"] == soft["faithfulness"] == pytest.approx(0.8 * (8 / 9 / 0.9) ** 2)
    lenient, off = CoverageGate(mode="hard", floor=0.8), CoverageGate(mode="off", floor=0.95)
    assert measure(fewer, coverage=lenient)["value_accuracy"] == pytest.approx(0.8)
    assert measure({"name": "The Red Fox", "tags": []}, coverage=off)["value_accuracy"] == pytest.approx(0.2)


@pytest.mark.parametrize(
    ("schema", "value", "typed"),
    [
        ({"properties": {"a": {"type": "string"}}}, {"a": "x"}, 0),  # no `type: object` on the way
        ({"type": "object", "properties": {"a": {"type": ["string", "null"]}}}, {"a": None}, 0),
        ({"type": "object", "properties": {"a": {"type": ["string", "null"]}}}, {"a": "x"}, 1),
        ({"type": "object", "properties": {"a": {"type": ["string", "integer"]}}}, {"a": 2}, 1),
        ({"type": "object", "properties": {"a": {"type": ["string", "integer", "null"]}}}, {"a": None}, 1),
        ({"type": "object", "properties": {"a": {"type": ["null"]}}}, {"a": None}, 1),
        ({"type": "object", "properties": {"a": {"anyOf": [{"type": "string"}]}}}, {"a": "x"}, 0),
        ({"type": "object", "properties": {"a": {"type": "number"}}}, {"a": 1}, 1),
        ({"type": "object", "properties": {"a": {"type": "number"}}}, {"a": True}, 0),
        ({"type": "object", "properties": {"a.b": {"type": "string"}}}, {"a.b": "x"}, 0),
        ({"type": "object", "properties": {"a[x]": {"type": "string"}}}, {"a[x]": "x"}, 1),
        ({"type": "object", "properties": {"a[": {"type": "string"}}}, {"a[": "x"}, 1),
        ({"type": "array", "items": {"type": "array", "items": {"type": "integer"}}}, [[1, 2], [3.0]], 2),
        ({"type": "array", "items": [{"type": "string"}]}, ["x"], 0),
    ],
)
def test_declared_types(schema, value, typed):
    assert measure(value, gold=value, schema=schema)["type_safety"] == typed / len(path_map(value)[0])


@pytest.mark.parametrize(
    ("gold", "value", "score"),
    [
        ("a", "the", 1.0),
        ("", "an", 1.0),
        ("the", "the cat", 0.0),
        ("null", None, 1.0),
        (None, "null", 1.0),
        (True, "TRUE", 1.0),
        (True, 1, 0.0),
        (2.5, "5 2", 1.0),
        (3, 3.0, 2 / 3),
        (-3, 3, 1.0),
        ("1,000", 1000, 0.0),
        ("don't", "dont", 0.0),
        ("snake_case", "snake case", 0.0),
        ("北京 市", "北京市", 0.0),
        ("x x y", "x y y", 2 / 3),
        ("one two three " * 10, "three two one " * 10, 1.0),
        pytest.param(10**5000, 10**5000, 1.0, id="5001 digits"),
    ],
)
def test_token_f1(gold, value, score):
    assert token_f1(gold, value) == pytest.approx(score)


@pytest.mark.parametrize(
    ("gold", "extracted", "perfect"),
    [
        ({"a": 1}, {"a": 1.0}, 0.0),
        ({"a": 1}, {"a": True}, 0.0),
        ({"a": 0.0}, {"a": -0.0}, 0.0),
        ({"a": 1, "b": []}, {"b": [], "a": 1}, 1.0),
        ({"a": {}}, {"a": []}, 0.0),
        ({"a": {}}, {}, 0.0),
        ({"x.y": 1, "x": {"y": 1}}, {"x": {"y": 1}, "x.y": 1.0}, 0.0),
        (None, MISSING, 1.0),
        (None, None, 1.0),
        (None, "x", 1.0),  # what is no object or array counts as not parsed, and that as null
        ("x", "x", 0.0),
        ([], MISSING, 0.0),
    ],
)
def test_perfect_compares_the_json_text(gold, extracted, perfect):
    assert measure(extracted, gold=gold, schema={})["perfect"] == perfect


@given(json_values)
def test_a_copy_is_perfect(value):
    measures = measure(value, gold=value, schema={})
    assert measures["perfect"] == float(value is None or isinstance(value, dict | list))
    if path_map(value)[0]:
        assert measures["value_accuracy"] == measures["faithfulness"] == measures["structure_coverage"] == 1.0


@pytest.mark.parametrize(
    ("schema", "value", "measures"),
    [
        # the path of the root's own key "" is empty, and an empty path is none
        ({"": {"type": "string"}}, {"": "v"}, {"value_accuracy": 0.0, "path_recall": 0.0, "type_safety": 0.0}),
        ({"": {"type": "string"}, "b": {"type": "string"}}, {"": "v", "b": "w"}, {"path_recall": 1.0}),
        ({"": {"type": "object", "properties": {"b": {"type": "string"}}}}, {"": {"b": "w"}}, {"type_safety": 0.0}),
        # names between dots; an empty one is none
        ({"a.": {"type": "string"}}, {"a.": "v"}, {"value_accuracy": 1.0, "type_safety": 0.0}),
        ({"a.": {"type": "string"}, "a": {"type": "string"}}, {"a.": "v"}, {"type_safety": 1.0}),
        ({"a[0]b": {"type": "string"}}, {"a[0]b": "v"}, {"type_safety": 0.0}),
        # brackets without a number stop the published program: read as any key
        ({"a[x]": {"type": "string"}}, {"a[x]": "v"}, {"type_safety": 1.0}),
        ({"a[": {"type": "string"}}, {"a[": "v"}, {"type_safety": 1.0}),
    ],
)
def test_paths_of_odd_names(schema, value, measures):
    found = measure(value, gold=value, schema={"type": "object", "properties": schema})
    assert {name: found[name] for name in measures} == measures


A_ROW = {"type": "object", "required": ["a"], "properties": {"a": {}}}
ROWS_OF_B = {"type": "object", "required": ["b"], "properties": {"b": {"type": "array", "items": A_ROW}}}


@pytest.mark.parametrize(
    ("schema", "value", "recall"),
    [
        ({"$schema": "http://json-schema.org/draft-07/schema#", "$ref": "#/definitions/any", **A_ROW}, {}, 0.0),
        ({"type": "array", "prefixItems": [{}], "items": A_ROW}, [{}], 0.0),
        ({"type": "array", "items": A_ROW}, [], 0.0),
        (ROWS_OF_B, {"b": []}, 0.5),
        (ROWS_OF_B, {"b": [{}, {"a": None}]}, 1.0),
        ({"type": "array", "items": {"type": "array", "items": A_ROW}}, [[], [{"a": 1}]], 1.0),
        # a key named like a row is found among the rows
        ({**A_ROW, "properties": {"a": {"type": "array"}, "a[]": {}}, "required": ["a[]", ""]}, {"a": [1], "": 1}, 0.5),
    ],
)
def test_each_required_key_is_missed_once_wherever_no_row_on_the_way_to_it_has_it(schema, value, recall):
    assert measure(value, schema={**schema, "definitions": {"any": {}}})["required_key_recall"] == recall


@pytest.mark.parametrize("schema", [None, [], "{}", {"type": "strnig"}], ids=str)
def test_what_is_no_schema_fails_its_gate_and_is_no_error(schema):
    found = score(schema, {"a": 1}, {"a": 1})
    assert not found.gates.schema.passed
    assert "the schema itself is invalid" in found.gates.schema.why
    assert found.measures["json_parse"] == found.measures["perfect"] == 1.0
    assert found.measures["json_pass"] == found.measures["value_accuracy"] == found.measures["pass_rate"] == 0.0
    assert [(str(result.path), result.passed) for result in found.fields] == [("$", True)]
