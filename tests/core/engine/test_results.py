"""Laws of results and of the measures over them, for every schema and every two values."""

from __future__ import annotations

import copy
import json
import pickle

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from pytest_extract.core.measures import field_measures
from pytest_extract.core.results import Status
from pytest_extract.core.scorer import compile_schema
from pytest_extract.core.values import MISSING, value_at
from pytest_extract.errors import SchemaError
from tests.core.schemas import EXACT, INTEGER, NUMBER, TEXT, array, metric, obj, scored, table
from tests.strategies import any_json, json_values, near_values, schemas

FUZZY = {"judge_mode": "fuzzy"}
some = any_json | near_values


@pytest.mark.parametrize("semantics", ["default", "extract-bench"])
@given(schema=schemas, gold=some, extracted=some)
def test_any_json_against_any_schema_scores_within_bounds(semantics, schema, gold, extracted):
    score = scored(schema, gold, extracted, how={"semantics": semantics, **FUZZY})
    for result in (*score.fields, *score.leaves):
        assert 0.0 <= result.score <= 1.0
        assert result.status is not Status.JUDGE_ERROR
        assert str(result.path)
    assert all(0.0 <= value <= 1.0 for value in score.measures.values())


@given(schema=json_values, value=json_values)
def test_any_json_as_schema_scores_or_is_a_schema_error(schema, value):
    try:
        scorer = compile_schema(schema)
    except SchemaError:
        return
    assert scorer.score(value, value).measures.keys() >= {"pass_rate", "f1", "strict"}


@given(schema=schemas, value=near_values)
def test_a_value_scores_1_against_itself_and_nothing_scores_0(schema, value):
    score = scored(schema, value, json.loads(json.dumps(value)), how=FUZZY)
    assert all(leaf.status is Status.MATCH for leaf in score.leaves)
    assert all(field.passed for field in score.fields)
    if score.gates.structural:
        assert [score.measures[name] for name in ("pass_rate", "mean_score", "precision", "recall", "f1")] == [1.0] * 5
    nothing = scored(schema, value, MISSING, how=FUZZY)
    assert nothing.measures["pass_rate"] == 0.0
    assert not any(leaf.status is Status.MATCH and leaf.gold is not None for leaf in nothing.leaves)


ROW = obj(name=TEXT, price=NUMBER, tags=array(TEXT))
rows = st.lists(
    st.fixed_dictionaries(
        {},
        optional={
            "name": st.sampled_from(["a", "b", "c", None]),
            "price": st.sampled_from([1, 2, 2.5]),
            "tags": st.lists(st.sampled_from(["t", "u"]), max_size=2),
        },
    )
    | st.sampled_from([None, "text", 1]),
    max_size=5,
)


@given(gold=rows, extracted=rows, order=st.randoms(use_true_random=False))
def test_rows_are_paired_or_not_once_in_any_order_and_one_invented_never_raises_precision(gold, extracted, order):
    assume(gold and extracted)
    shuffled = order.sample(extracted, len(extracted))
    invented = [*extracted, {"name": "invented", "price": 77}]
    one, other, more = (scored(array(ROW), gold, found) for found in (extracted, shuffled, invented))
    found, moved = (next(rows for rows in score.arrays if not rows.path) for score in (one, other))
    assert sorted([*(i for i, _ in found.pairs), *found.missing]) == [*range(len(gold))]
    assert sorted([*(j for _, j in found.pairs), *found.extra]) == [*range(len(extracted))]
    assert found.f1 == pytest.approx(moved.f1)
    assert one.measures["mean_score"] == pytest.approx(other.measures["mean_score"])
    assert one.measures["pass_rate"] == other.measures["pass_rate"]
    assert more.measures["precision"] <= one.measures["precision"] + 1e-12


# --- a document of every kind of place

CELLS = {"name": metric("string_fuzzy"), "count": INTEGER, "price": metric("number_exact", "number", weight=0.3)}
DOCUMENT = obj(**CELLS, owner=obj(**CELLS), rows=table(**CELLS), tags=array(TEXT), state=TEXT)
SCORERS = {name: compile_schema(DOCUMENT, semantics=name) for name in ("default", "extract-bench")}
cells = st.fixed_dictionaries(
    {},
    optional={
        "name": st.sampled_from(["Ada Lovelace", "Ada Lovelac", "Bob", "", None]),
        "count": st.sampled_from([0, 1, True, None]),
        "price": st.sampled_from([0.0, -0.0, 1, 1.5, None]),
    },
)
rest = st.fixed_dictionaries(
    {},
    optional={
        "owner": cells | st.none(),
        "rows": st.lists(cells, max_size=4),
        "tags": st.lists(st.sampled_from("ab"), max_size=3),
        "state": st.sampled_from("xy"),
    },
)
documents = st.builds(lambda top, others: top | others, cells, rest)


@pytest.mark.parametrize("semantics", SCORERS)
@given(gold=documents, other=st.none() | documents)
def test_measures_are_those_of_results_and_right_leaves_show_the_values_of_their_places(semantics, gold, other):
    extracted = copy.deepcopy(gold) if other is None else other
    score = SCORERS[semantics].score(gold, extracted)
    assert score.leaves is score.leaves
    assert score.ungated == field_measures(score.fields, score.leaves, empty=score._empty, vacuous=score.vacuous)
    for leaf in score.leaves:
        if leaf.score == 1.0 and leaf.reason is None and not any(type(step) is int and step < 0 for step in leaf.path):
            shown = value_at(gold, leaf.path), value_at(extracted, leaf.matched or leaf.path)
            assert repr((leaf.gold, leaf.extracted)) == repr(shown)  # 0.0 is not -0.0, 1 is not True
    if semantics == "default":  # a field that is a leaf is one object
        leaves = {id(leaf) for leaf in score.leaves}
        assert all(id(field) in leaves for field in score.fields if field.path not in {("rows",), ("tags",)})


def test_results_keep_the_values_of_the_time_of_scoring_and_a_pickle_holds_them():
    gold = {"name": "Bob", "rows": [{"name": "a", "count": 1, "price": 2.0}], "owner": {"count": 3}, "state": "xy"}
    output = copy.deepcopy(gold) | {"state": 1}
    score, other = (SCORERS["default"].score(copy.deepcopy(gold), output) for _ in range(2))
    known = score.leaves
    output["name"], output["state"], output["owner"]["count"] = "Eve", "z", 4
    output["rows"][0]["count"] = 5
    output["rows"].clear()
    assert other.leaves == known
    assert [leaf.reason for leaf in known if not leaf.passed] == ["a string expected, got an integer"]
    copied = pickle.loads(pickle.dumps(score))
    assert (copied.fields, copied.leaves, copied.ungated) == (score.fields, score.leaves, score.ungated)


@pytest.mark.parametrize(
    ("gold", "extracted", "reason"),
    [
        (None, "x", "gold has nothing here, and the other side is a string, not an object"),
        ([1], None, "extracted has nothing here, and the other side is an array, not an object"),
        ({}, None, "extracted has nothing here"),
    ],
)
def test_a_value_of_another_type_beside_nothing_is_told(gold, extracted, reason):
    (leaf,) = scored(obj(a=obj(b=TEXT)), {"a": gold}, {"a": extracted}, how={"nulls": "value"}).leaves
    assert leaf.reason == reason


# --- rows

DEFAULT = {
    "name": TEXT,
    "price": metric("number_tolerance", "number", weight=3.0),
    "note": metric("string_fuzzy", weight=0.5),
    "flag": {"type": "boolean"},
}
PUBLISHED = {
    "name": {**EXACT, "x-eval-transform": ["lowercase"]},
    "price": {**NUMBER, "x-eval-compare": {"numeric": {"tolerance": {"abs": 0.5}}}},
    "note": EXACT,
    "flag": {"type": "boolean", "x-eval-compare": "exact"},
}
values = {
    "name": st.sampled_from(["a", "A", "b", 1, None]),
    "price": st.sampled_from([1, 1.0, 1.4, True, "1", None]),
    "note": st.sampled_from(["first", "fist", "", None]),
    "flag": st.sampled_from([True, False, 1, None]),
}
full, ragged = st.fixed_dictionaries(values), st.fixed_dictionaries({}, optional=values)


def lacking(names):
    """Return rows that lack the same properties."""
    return st.lists(st.tuples(*[st.fixed_dictionaries({name: values[name] for name in names})] * 2), min_size=1)


alike = st.lists(st.sampled_from([*values]), min_size=1, unique=True).flatmap(lacking)


@pytest.mark.parametrize(
    ("semantics", "columns"), [("default", DEFAULT), ("extract-bench", DEFAULT), ("struct-extract-eval", PUBLISHED)]
)
@given(pairs=st.lists(st.tuples(full, full) | st.tuples(ragged, ragged), min_size=1, max_size=4) | alike)
def test_rows_score_as_they_do_alone(semantics, columns, pairs):
    how = {"semantics": semantics, **FUZZY}
    gold, extracted = ({"rows": list(side)} for side in zip(*pairs, strict=True))
    aligned = {"overrides": {"rows": {"align": "position"}}}
    together = scored(obj(rows=table(**columns)), gold, extracted, how={**how, **aligned})
    alone = [scored(obj(**columns), *pair, how=how) for pair in pairs]
    expected = [(("rows", index, *leaf.path), leaf[2:11]) for index, one in enumerate(alone) for leaf in one.leaves]
    assert [(leaf.path, leaf[2:11]) for leaf in together.leaves] == expected
    assert together.vacuous == sum(one.vacuous for one in alone)
    if semantics != "struct-extract-eval":
        (array_result,) = together.arrays
        assert array_result.recall * len(pairs) == pytest.approx(sum(worth(one.leaves) for one in alone))


def worth(leaves):
    """Return the weighted mean score of a row's leaves."""
    counted = [leaf for leaf in leaves if leaf.status not in (Status.SKIPPED, Status.JUDGE_ERROR)]
    weight = sum(leaf.weight for leaf in counted)
    return sum(leaf.weight * leaf.score for leaf in counted) / weight if weight else 1.0


def row(name, price=None, note="n", flag=None):
    return {"name": name, "price": price, "note": note, "flag": flag}


def test_what_rows_that_are_left_apart_lack_is_counted_on_each_side():
    score = scored(table(**DEFAULT), [row("a", note="abc")], [row("c", note="xyz")])
    assert score.arrays[0].pairs == ()
    assert score.vacuous == 4  # two cells of the missing row, two of the invented one
    score = scored(table(**DEFAULT), [row("a", 1, "abc"), row("b", 2)], [row("c", 7, "xyz", flag=False), row("b", 2)])
    assert (score.arrays[0].pairs, score.vacuous) == (((1, 1),), 2)


def test_a_wrong_cell_of_a_row_that_moved_is_told_with_both_places():
    schema = table(id=TEXT, cells=table(**DEFAULT))
    one = {"id": "one", "cells": [row("a", 1), row("b", 2)]}
    two = {"id": "two", "cells": [row("c", 3), row("d", 4)]}
    leaves = scored(schema, [one, two], [two, {**one, "cells": [row("a", 1), row("b", 5)]}]).leaves
    assert [(str(leaf.path), str(leaf.matched), leaf.extracted) for leaf in leaves if not leaf.passed] == [
        ("[0].cells[1].price", "[1].cells[1].price", 5)
    ]
    places = {str(leaf.path): str(leaf.matched) for leaf in leaves}
    assert (places["[0].id"], places["[0].cells[0].name"]) == ("[1].id", "[1].cells[0].name")
