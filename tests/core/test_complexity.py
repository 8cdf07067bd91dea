"""The shape of a case and the class that it gives."""

from __future__ import annotations

import json

import pytest
from hypothesis import given

from pytest_extract.core.complexity import count_values, depth_class, shapes_of
from tests.core.schemas import NUMBER, TEXT, array, obj
from tests.shared_data import jsonl, shared
from tests.strategies import any_json, json_values, nested

FLAT = obj(a=TEXT, b=NUMBER)


def shape_of(schema, gold):
    return shapes_of(schema)(gold)


def test_shape():
    order = obj(vendor=FLAT, rows=array(obj(n={}, tags=array({}))))
    gold = {"vendor": {"a": "x", "b": None}, "rows": [{"n": 1, "tags": ["p", "q"]}, {"n": 2, "tags": []}]}
    shape = shape_of(order, gold)
    counts = {"fields": 4, "breadth": 2, "depth": 3, "arrays": 2, "array_items": 4, "leaves": 6, "values": 5}
    assert shape.to_dict() == counts
    assert shape.complexity == "medium"


@pytest.mark.parametrize(
    ("schema", "fields", "breadth", "depth"),
    [
        ({}, 1, 0, 1),
        (True, 1, 0, 1),
        (FLAT, 2, 2, 2),
        (obj(p=FLAT, q=FLAT), 4, 2, 3),
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


def wide(count):
    return obj(**{f"k{index}": {} for index in range(count)})


@pytest.mark.parametrize(
    ("schema", "gold", "complexity"),
    [
        (FLAT, {"a": "x"}, "easy"),
        (FLAT, {"a": [0] * 11}, "medium"),
        (FLAT, {"a": [0] * 101}, "hard"),
        (FLAT, {"a": {"b": 1}}, "medium"),
        (FLAT, {"a": {"b": {"c": {"d": 1}}}}, "hard"),
        (wide(10), {}, "easy"),
        (wide(11), {}, "medium"),
        (wide(50), {}, "medium"),
        (wide(51), {}, "hard"),
        (nested(10_000, {}, objects=True, key="items"), nested(10_000, objects=True), "hard"),
    ],
    ids=range(10),
)
def test_the_hardest_dimension_decides(schema, gold, complexity):
    assert shape_of(schema, gold).complexity == complexity


@pytest.mark.parametrize(("depth", "level"), [(2, None), (3, "medium"), (4, "medium"), (5, "hard"), (9, "hard")])
def test_the_split_by_depth(depth, level):
    assert depth_class(depth) == level


def test_objects_in_objects_may_be_deep():
    deep = {}
    for _ in range(10_000):
        deep = obj(a=deep)
    assert shape_of(deep, deep).complexity == "hard"


def test_mutual_references_are_measured_in_time():
    names = [f"d{index}" for index in range(40)]
    tangled = {"properties": {name: {"$ref": f"#/$defs/{name}"} for name in names}}
    shape = shape_of({**tangled, "$defs": dict.fromkeys(names, tangled)}, {})
    assert shape.breadth == 40


@given(json_values, any_json)
def test_any_json_has_a_shape(schema, gold):
    shape = shape_of(schema, gold)
    assert shape.complexity in ("easy", "medium", "hard")
    assert shape.values <= shape.leaves


def test_depth_is_deepjsonevals():
    for row in jsonl("data/deepjsoneval/part.jsonl"):
        assert shape_of(json.loads(row["schema"]), json.loads(row["json"])).depth == int(row["true_depth"])


# Of a gold: scalars, and those of them that are not null. The dataset's own counts take nulls in.
GOLD_VALUES = {
    "sport/swimming/pdf+gold/ma_2023_sw_M-table1": (133, 116),
    "sport/swimming/pdf+gold/ma_2023_sw_M-table2": (67, 67),
    "sport/swimming/pdf+gold/ma_2023_sw_M-table3": (67, 67),
    "hiring/resume/pdf+gold/Resume-Academic01": (400, 398),
    "hiring/resume/pdf+gold/Resume-Finance": (55, 54),
    "hiring/resume/pdf+gold/Resume-IT": (74, 73),
    "hiring/resume/pdf+gold/Resume-Legal": (54, 53),
    "finance/credit_agreement/pdf+gold/adbe_credit_agreement_2000_08_09": (26, 25),
    "finance/credit_agreement/pdf+gold/amzn_credit_agreement_2014_09_05": (18, 18),
    "finance/credit_agreement/pdf+gold/ibm_credit_agreement_2019_07_18": (49, 48),
    "finance/credit_agreement/pdf+gold/mmm_credit_agreement_2019_11_15": (24, 23),
    "finance/10kq/pdf+gold/adp_10q_fy2025q2": (1161, 1140),
    "finance/10kq/pdf+gold/nke_10q_fy2025q2": (1388, 1328),
    "finance/10kq/pdf+gold/wdc_10q_fy2025q2": (1389, 1357),
    "academic/research/pdf+gold/shah24--flashattention-3": (96, 96),
}


@pytest.mark.parametrize(("name", "counts"), GOLD_VALUES.items())
def test_gold_values_of_extract_bench(name, counts):
    found = count_values(json.loads(shared(f"data/extract-bench/dataset/{name}.gold.json").read_text(encoding="utf-8")))
    assert (found.leaves, found.values) == counts
