"""Which places give a field result under the semantics extract-bench, as its published program decides it."""

from __future__ import annotations

import pytest

from pytest_extract import compile_schema

EXACT = {"type": "string", "evaluation_config": "string_exact"}
PERSON = {"type": "object", "properties": {"name": EXACT, "age": {"type": "integer"}}}
NULL = {"type": "null"}
ROWS = {"type": "array", "items": EXACT}
ONE = {"name": "Ada", "age": 36}
OTHER = {"name": "Ada", "age": 37}


def score(property_schema, gold, extracted):
    schema = {"type": "object", "properties": {"it": property_schema}}
    return compile_schema(schema, semantics="extract-bench").score({"it": gold}, {"it": extracted})


def fields(*case):
    return [(str(result.path), result.metric, result.score) for result in score(*case).fields]


@pytest.mark.parametrize("types", [["string"], ["string", "null"], ["integer", "string"]], ids=str)
def test_a_type_list_is_a_choice_and_a_choice_without_metric_gives_no_field_result(types):
    assert fields({"type": types}, "x", "y") == []
    assert fields({"type": types, "evaluation_config": "string_exact"}, "x", "y") == [("it", "string_exact", 0.0)]


@pytest.mark.parametrize("nothing", [{}, {"metrics": []}, "skip"], ids=str)
@pytest.mark.parametrize(
    ("place", "gold", "extracted"),
    [
        (ROWS, ["a"], ["b"]),
        ({"anyOf": [ROWS, NULL]}, ["a"], ["b"]),
        ({"anyOf": [PERSON]}, ONE, OTHER),
        ({"anyOf": [PERSON, NULL]}, ONE, OTHER),
        ({"anyOf": [PERSON, EXACT]}, ONE, OTHER),
    ],
    ids=["array", "nullable-array", "one-branch", "nullable-object", "two-branches"],
)
def test_a_configuration_without_metrics_asks_for_none(place, nothing, gold, extracted):
    assert fields({**place, "evaluation_config": nothing}, gold, extracted) == []


def test_the_properties_of_an_object_without_metrics_are_scored_all_the_same():
    assert fields({**PERSON, "evaluation_config": {}}, ONE, OTHER) == [
        ("it.name", "string_exact", 1.0),
        ("it.age", "integer_exact", 0.0),
    ]


@pytest.mark.parametrize("branches", [[PERSON], [PERSON, NULL], [PERSON, EXACT]], ids=["one", "nullable", "two"])
@pytest.mark.parametrize("extracted", [OTHER, "Ada, 36"], ids=["object", "text"])
def test_a_metric_on_a_choice_compares_the_value_as_one(branches, extracted):
    place = {"anyOf": branches, "evaluation_config": "string_exact"}
    assert fields(place, ONE, extracted) == [("it", "string_exact", 0.0)]
    assert fields(place, ONE, ONE) == [("it", "string_exact", 1.0)]


def test_an_aligned_array_with_no_metric_keeps_its_result():
    place = {**ROWS, "evaluation_config": {"metrics": [], "align": "multiset"}}
    assert fields(place, ["a", "b"], ["b"]) == [("it", "array", 0.5)]
