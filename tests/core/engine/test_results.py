"""Results and the measures over them, whatever the values."""

from __future__ import annotations

import copy
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_extract.core.measures import field_measures
from pytest_extract.core.scorer import compile_schema

ROW = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "evaluation_config": "string_fuzzy"},
        "count": {"type": "integer"},
        "price": {"type": "number", "evaluation_config": {"metrics": [{"metric_id": "number_exact", "weight": 0.3}]}},
    },
}
SCHEMA = {
    "type": "object",
    "properties": {
        **ROW["properties"],
        "owner": ROW,
        "rows": {"type": "array", "items": ROW},
        "tags": {"type": "array", "items": {"type": "string"}},
        "state": {"type": "string"},
    },
}
SCORERS = {name: compile_schema(SCHEMA, semantics=name) for name in ("default", "extract-bench")}

cells = st.fixed_dictionaries(
    {},
    optional={
        "name": st.sampled_from(["Ada Lovelace", "Ada Lovelac", "Bob", "", None]),
        "count": st.sampled_from([0, 1, True, None]),
        "price": st.sampled_from([0.0, -0.0, 1, 1.5, None]),
    },
)
documents = st.builds(
    lambda top, rest: top | rest,
    cells,
    st.fixed_dictionaries(
        {},
        optional={
            "owner": cells | st.none(),
            "rows": st.lists(cells, max_size=4),
            "tags": st.lists(st.sampled_from("ab"), max_size=3),
            "state": st.sampled_from("xy"),
        },
    ),
)
pairs = documents.flatmap(lambda gold: st.tuples(st.just(gold), st.just(copy.deepcopy(gold)) | documents))


def value_at(document, path):
    for step in path:
        document = document[step]
    return document


@pytest.mark.parametrize("semantics", SCORERS)
@given(pairs)
def test_measures_are_those_of_the_results(semantics, pair):
    score = SCORERS[semantics].score(*pair)
    before = score.ungated
    assert before == field_measures(score.fields, score.leaves, empty=score._empty, vacuous=score.vacuous)
    assert score.ungated == before


@pytest.mark.parametrize("semantics", SCORERS)
@given(pairs)
def test_right_leaves_show_the_values_of_their_places(semantics, pair):
    score = SCORERS[semantics].score(*pair)
    for result in score.leaves:
        if (
            result.score == 1.0
            and result.reason is None
            and min([0, *filter(lambda s: type(s) is int, result.path)]) == 0
        ):
            shown = value_at(pair[0], result.path), value_at(pair[1], result.matched or result.path)
            assert repr((result.gold, result.extracted)) == repr(shown)  # 0.0 is not -0.0, 1 is not True


@given(pairs)
def test_a_field_result_that_is_a_leaf_result_is_one_object(pair):
    score = SCORERS["default"].score(*pair)
    ids = {id(leaf) for leaf in score.leaves}
    assert all(id(field) in ids for field in score.fields if field.path not in {("rows",), ("tags",)})
    assert score.leaves is score.leaves


def test_results_keep_the_values_of_the_time_of_scoring():
    gold = {"name": "Bob", "rows": [{"name": "a", "count": 1, "price": 2.0}], "owner": {"count": 3}}
    output = copy.deepcopy(gold)
    gold["state"], output["state"] = "xy", "xz"
    score, other = (SCORERS["default"].score(copy.deepcopy(gold), output) for _ in range(2))
    known = score.leaves
    output["name"], output["state"], output["owner"]["count"] = "Eve", "z", 4
    output["rows"][0]["count"] = 5
    output["rows"].clear()
    assert other.leaves == known
    assert [leaf.reason for leaf in known if not leaf.passed] == ["texts differ from character 2 on"]


@pytest.mark.parametrize(
    ("gold", "extracted", "reason"),
    [
        (None, "x", "gold has nothing here, and the other side is a string, not an object"),
        ([1], None, "extracted has nothing here, and the other side is an array, not an object"),
        ({}, None, "extracted has nothing here"),
    ],
)
def test_a_value_of_another_type_in_place_of_an_object_is_told_where_the_other_side_has_nothing(
    gold, extracted, reason
):
    schema = {"type": "object", "properties": {"a": {"type": "object", "properties": {"b": {"type": "string"}}}}}
    (leaf,) = compile_schema(schema, nulls="value").score({"a": gold}, {"a": extracted}).leaves
    assert leaf.reason == reason


def test_a_pickle_holds_the_results():
    score = SCORERS["default"].score({"name": "Bob", "state": "x"}, {"name": "Bob", "state": "y"})
    copied = pickle.loads(pickle.dumps(score))
    assert (copied.fields, copied.leaves, copied.ungated) == (score.fields, score.leaves, score.ungated)
