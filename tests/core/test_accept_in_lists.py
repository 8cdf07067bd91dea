"""Further right readings of a field count when rows are paired, as they do when the rows are scored."""

from __future__ import annotations

import pytest

from pytest_extract import score
from tests.loaded import load_everything

load_everything()

TEXT = {"type": "string"}


def rows_of(**properties):
    return {"type": "object", "properties": {"r": {"type": "array", "items": objects(**properties)}}}


def objects(**properties):
    return {"type": "object", "properties": properties}


NAMES = rows_of(name=TEXT)
PLACES = rows_of(name=TEXT, city=TEXT)
INNER = rows_of(inner=objects(name=TEXT))
CASES = {
    "only-field": (
        NAMES,
        [{"name": "ACME GmbH"}, {"name": "B"}],
        [{"name": "B"}, {"name": "ACME"}],
        {"name": ["ACME"]},
    ),
    "only-row": (NAMES, [{"name": "ACME GmbH"}], [{"name": "ACME"}], {"name": ["ACME"]}),
    "all-fields": (
        PLACES,
        [{"name": "ACME", "city": "Ulm"}, {"name": "B", "city": "Bonn"}],
        [{"name": "B", "city": "Bonn"}, {"name": "Acme Corp", "city": "89073"}],
        {"name": ["Acme Corp"], "city": ["89073"]},
    ),
    "nested": (
        INNER,
        [{"inner": {"name": "A"}}, {"inner": {"name": "B"}}],
        [{"inner": {"name": "B"}}, {"inner": {"name": "a"}}],
        {"inner.name": ["a"]},
    ),
    "whole-object": (
        INNER,
        [{"inner": {"name": "A"}}, {"inner": {"name": "B"}}],
        [{"inner": {"name": "B"}}, {"inner": {"name": "a"}}],
        {"inner": [{"name": "a"}]},
    ),
    "list-in-rows": (
        rows_of(tags={"type": "array", "items": TEXT}),
        [{"tags": ["A"]}, {"tags": ["B"]}],
        [{"tags": ["B"]}, {"tags": ["a"]}],
        {"tags[]": ["a"]},
    ),
    "rows-in-rows": (
        rows_of(q={"type": "array", "items": objects(x=TEXT)}),
        [{"q": [{"x": "A"}, {"x": "Z"}]}, {"q": [{"x": "C"}]}],
        [{"q": [{"x": "C"}]}, {"q": [{"x": "Z"}, {"x": "a"}]}],
        {"q[].x": ["a"]},
    ),
}


@pytest.mark.parametrize(("schema", "gold", "output", "accept"), CASES.values(), ids=CASES)
def test_rows_are_paired_by_right_readings(schema, gold, output, accept):
    found = score(schema, {"r": gold}, {"r": output}, accept={f"r[].{name}": values for name, values in accept.items()})
    assert [leaf for leaf in found.leaves if not leaf.passed] == []
    assert found.measures["f1"] == found.measures["pass_rate"] == 1.0


def test_a_reading_of_one_row_is_none_of_another():
    gold = [{"name": "A", "city": "Ulm"}, {"name": "B", "city": "Bonn"}]
    output = [{"name": "b", "city": "bonn"}, {"name": "a", "city": "ulm"}]
    own = {"r[0].name": ["a"], "r[0].city": ["ulm"], "r[1].name": ["b"], "r[1].city": ["bonn"]}
    assert score(PLACES, {"r": gold}, {"r": output}, accept=own).measures["f1"] == 1.0
    others = {"r[0].name": ["x"], "r[0].city": ["y"]}
    assert score(PLACES, {"r": gold}, {"r": output}, accept=others).measures["f1"] == 0.0


def test_rows_without_a_right_reading_stay_apart():
    found = score(NAMES, {"r": [{"name": "ACME GmbH"}]}, {"r": [{"name": "Other"}]}, accept={"r[].name": ["ACME"]})
    assert sorted(str(leaf.status) for leaf in found.leaves) == ["hallucination", "omission"]
