"""The shape of a case and the class that it gives."""

from __future__ import annotations

import json

import pytest
from hypothesis import given

from pytest_extract.core.complexity import SchemaShape, count_values, depth_class
from tests.shared_data import jsonl, shared
from tests.strategies import any_json, json_values

FLAT = {"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "number"}}}


def shape_of(schema, gold):
    return SchemaShape(schema).of(gold)


ORDER = {
    "properties": {
        "vendor": FLAT,
        "rows": {"type": "array", "items": {"properties": {"n": {}, "tags": {"type": "array", "items": {}}}}},
    }
}


def test_shape():
    gold = {"vendor": {"a": "x", "b": None}, "rows": [{"n": 1, "tags": ["p", "q"]}, {"n": 2, "tags": []}]}
    shape = shape_of(ORDER, gold)
    assert shape.to_dict() == {
        "fields": 4,
        "breadth": 2,
        "depth": 3,
        "arrays": 2,
        "array_items": 4,
        "leaves": 6,
        "values": 5,
    }
    assert shape.complexity == "medium"


@pytest.mark.parametrize(
    ("schema", "fields", "breadth", "depth"),
    [
        ({}, 1, 0, 1),
        (True, 1, 0, 1),
        (FLAT, 2, 2, 2),
        ({"properties": {"p": FLAT, "q": FLAT}}, 4, 2, 3),
        ({"properties": {"p": {"$ref": "#/$defs/f"}}, "$defs": {"f": FLAT}}, 2, 2, 3),
        ({"properties": {"child": {"$ref": "#"}, "name": {}}}, 1, 2, 2),
        ({"properties": {"p": {"$ref": "other.json"}, "name": {}}}, 2, 2, 2),
        ({"anyOf": [FLAT, {"type": "null"}]}, 2, 2, 2),
        ({"oneOf": [FLAT, {"properties": {"p": FLAT}}]}, 2, 2, 3),
        ({"allOf": [FLAT, {"properties": {"c": {}}}]}, 3, 3, 2),
        ({"properties": {"c": {}}, "allOf": [FLAT]}, 3, 3, 2),
    ],
)
def test_declared_shape(schema, fields, breadth, depth):
    shape = shape_of(schema, None)
    assert (shape.fields, shape.breadth, shape.depth) == (fields, breadth, depth)


@pytest.mark.parametrize(
    ("gold", "complexity"),
    [
        ({"a": "x"}, "easy"),
        ({"a": list(range(11))}, "medium"),
        ({"a": list(range(101))}, "hard"),
        ({"a": {"b": 1}}, "medium"),
        ({"a": {"b": {"c": {"d": 1}}}}, "hard"),
    ],
)
def test_the_hardest_dimension_decides(gold, complexity):
    assert shape_of(FLAT, gold).complexity == complexity


def test_many_fields_are_hard():
    def wide(count):
        return {"properties": {f"k{index}": {} for index in range(count)}}

    assert [shape_of(wide(count), {}).complexity for count in (10, 11, 50, 51)] == [
        "easy",
        "medium",
        "medium",
        "hard",
    ]


@pytest.mark.parametrize(("depth", "level"), [(2, None), (3, "medium"), (4, "medium"), (5, "hard"), (9, "hard")])
def test_the_split_by_depth(depth, level):
    assert depth_class(depth) == level


def test_mutual_references_are_measured_in_time():
    names = [f"d{index}" for index in range(40)]
    tangled = {"properties": {name: {"$ref": f"#/$defs/{name}"} for name in names}}
    shape = shape_of({**tangled, "$defs": dict.fromkeys(names, tangled)}, {})
    assert shape.breadth == 40


def nested(depth):
    value: object = {}
    for _ in range(depth):
        value = {"properties": {"a": value}}
    return value


def test_deep_schemas_do_not_crash():
    assert shape_of(nested(10_000), nested(10_000)).complexity == "hard"


@given(json_values, any_json)
def test_any_json_has_a_shape(schema, gold):
    shape = shape_of(schema, gold)
    assert shape.complexity in ("easy", "medium", "hard")
    assert shape.values <= shape.leaves


def test_depth_is_deepjsonevals():
    for row in jsonl("data/deepjsoneval/part.jsonl"):
        assert shape_of(json.loads(row["schema"]), json.loads(row["json"])).depth == int(row["true_depth"])


GOLD_VALUES = {
    "sport/swimming": {
        "ma_2023_sw_M-table1": (133, 116),
        "ma_2023_sw_M-table2": (67, 67),
        "ma_2023_sw_M-table3": (67, 67),
    },
    "hiring/resume": {
        "Resume-Academic01": (400, 398),
        "Resume-Finance": (55, 54),
        "Resume-IT": (74, 73),
        "Resume-Legal": (54, 53),
    },
    "finance/credit_agreement": {
        "adbe_credit_agreement_2000_08_09": (26, 25),
        "amzn_credit_agreement_2014_09_05": (18, 18),
        "ibm_credit_agreement_2019_07_18": (49, 48),
        "mmm_credit_agreement_2019_11_15": (24, 23),
    },
    "finance/10kq": {
        "adp_10q_fy2025q2": (1161, 1140),
        "nke_10q_fy2025q2": (1388, 1328),
        "wdc_10q_fy2025q2": (1389, 1357),
    },
    "academic/research": {"shah24--flashattention-3": (96, 96)},
}
"""Of each gold: scalars with and without nulls.

The dataset's counts (522 for swimming, 9,071 for 10-Q, ...) take nulls in: the seven 10-Qs of its repository hold 9,064
scalars, 8,825 of them not null (what is missing there is one row of seven).
"""


@pytest.mark.parametrize("folder", GOLD_VALUES)
def test_gold_values_of_extract_bench(folder):
    home = shared(f"data/extract-bench/dataset/{folder}/pdf+gold")
    for name, counts in GOLD_VALUES[folder].items():
        found = count_values(json.loads((home / f"{name}.gold.json").read_text(encoding="utf-8")))
        assert (found.leaves, found.values) == counts, name
