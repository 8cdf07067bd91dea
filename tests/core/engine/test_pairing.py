"""How rows are paired: by key, by value, at a glance."""

from __future__ import annotations

import copy
import itertools
import json
import random
from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_extract.core.engine.context import DEEPEST
from pytest_extract.core.results import Status
from pytest_extract.core.scorer import compile_schema

TEXT = {"type": "string"}
ROW = {
    "type": "object",
    "properties": {
        "sku": {"type": "string"},
        "name": {"type": "string", "evaluation_config": "string_fuzzy"},
        "price": {"type": "number"},
    },
}
ROWS = {"type": "array", "items": ROW}


def pairing_of(gold, extracted, align):
    scorer = compile_schema(ROWS, semantics="default", overrides={"$": align})
    (found,) = scorer.score(gold, extracted, gates={"schema": False}).arrays
    return found.pairs, found.missing, found.extra


def row(sku, name="n", price=1):
    return {"sku": sku, "name": name, "price": price}


KEYS = {
    "plain": ({"key": "sku"}, [row("a"), row("b")], [row("b"), row("c")], ((1, 0),), (0,), (1,)),
    "composite": (
        {"key": ["sku", "price"]},
        [row("a", price=1), row("a", price=2)],
        [row("a", price=2), row("a", price=1.0)],
        ((0, 1), (1, 0)),
        (),
        (),
    ),
    "repeated": (
        {"key": "sku"},
        [row("a", "1"), row("a", "2")],
        [row("a", "2"), row("a", "1")],
        ((0, 1), (1, 0)),
        (),
        (),
    ),
    "repeated-once": ({"key": "sku"}, [row("a", "1"), row("a", "2")], [row("b"), row("a", "2")], ((1, 1),), (0,), (0,)),
    "repeated-and-nothing-else": (
        {"key": "sku"},
        [{"sku": "a", "x": 1}, {"sku": "a", "x": 2}],
        [{"sku": "a", "x": 3}],
        ((0, 0),),
        (1,),
        (),
    ),
    "repeated-typo": (
        {"key": "sku", "key_cutoff": 0.8},
        [row("SKU-10023", "1"), row("SKU-10023", "2")],
        [row("SKU-10O23", "2"), row("SKU-10O23", "1"), row("SKU-1OO23", "1")],
        ((0, 1), (1, 0)),
        (),
        (2,),
    ),
    "unusable": (
        {"key": "sku"},
        [row(True, "m", 2), row(None), "x", {"sku": "b"}],
        [row(True), {"name": "z"}, row("a")],
        ((1, 0),),
        (0, 2, 3),
        (2, 1),
    ),
    "typo": ({"key": "sku"}, [row("SKU-10023")], [row("SKU-10O23")], (), (0,), (0,)),
    "typo-forgiven": ({"key": "sku", "key_cutoff": 0.8}, [row("SKU-10023")], [row("SKU-10O23")], ((0, 0),), (), ()),
    "typo-too-far": ({"key": "sku", "key_cutoff": 0.9}, [row("SKU-10023")], [row("SKU-10O23")], (), (0,), (0,)),
    "in-a-mapping": ({"align": {"by": "key", "key": "sku"}}, [row("a")], [row("a")], ((0, 0),), (), ()),
}


@pytest.mark.parametrize(("align", "gold", "extracted", "pairs", "missing", "extra"), KEYS.values(), ids=KEYS)
def test_by_key(align, gold, extracted, pairs, missing, extra):
    assert pairing_of(gold, extracted, align) == (pairs, missing, extra)


def test_scalars_are_paired_by_what_their_metric_finds_equal():
    schema = {"type": "array", "items": {"type": "string", "evaluation_config": "string_fuzzy"}}
    scorer = compile_schema(schema, semantics="default")
    (found,) = scorer.score(["New York City", "Oslo"], ["Oslo", "New York Cty", "Rome"]).arrays
    assert (found.pairs, found.extra) == (((0, 1), (1, 0)), (2,))


small_rows = st.lists(
    st.fixed_dictionaries(
        {},
        optional={
            "sku": st.sampled_from(["a", "b"]),
            "name": st.sampled_from(["one", "two", "once"]),
            "price": st.sampled_from([1, 1.0, 2, True, None]),
        },
    ),
    min_size=1,
    max_size=5,
)


def best_sum(scores):
    """The highest sum of any assignment, by trying them all."""
    height, width = len(scores), len(scores[0])
    if height > width:
        return best_sum([list(column) for column in zip(*scores, strict=True)])
    return max(sum(scores[i][j] for i, j in enumerate(order)) for order in permutations(range(width), height))


@given(gold=small_rows, extracted=small_rows)
def test_short_lists_are_paired_best(gold, extracted):
    one = compile_schema(ROW, semantics="default")
    scores = [
        [one.score(ours, theirs, gates={"schema": False}).measures["mean_score"] for theirs in extracted]
        for ours in gold
    ]
    scorer = compile_schema(ROWS, semantics="default")
    (found,) = scorer.score(gold, extracted, gates={"schema": False}).arrays
    assert sum(scores[i][j] for i, j in found.pairs) == pytest.approx(best_sum(scores))


ORDER = {
    "type": "object",
    "properties": {"id": {"type": "integer"}, "items": {"type": "array", "items": ROW}},
}
orders = st.lists(
    st.fixed_dictionaries({"id": st.sampled_from([1, 2, 3])}, optional={"items": st.none() | st.just([]) | small_rows}),
    min_size=1,
    max_size=4,
)


@given(gold=orders, extracted=orders)
def test_rows_with_lists_inside_are_paired_best_also_where_lists_are_empty(gold, extracted):
    one = compile_schema({"type": "array", "items": ORDER}, semantics="default")
    scores = [
        [one.score([ours], [theirs], gates={"schema": False}).arrays[-1].f1 for theirs in extracted] for ours in gold
    ]
    found = one.score(gold, extracted, gates={"schema": False}).arrays[-1]
    assert sum(scores[i][j] for i, j in found.pairs) == pytest.approx(best_sum(scores))


keyed_rows = st.lists(
    st.fixed_dictionaries(
        {"sku": st.sampled_from(["SKU-10023", "SKU-10024", "SKU-1002", None])},
        optional={
            "name": st.sampled_from(["one", "two", "once", None]),
            "price": st.sampled_from([1, 1.0, 2, None]),
            "tags": st.lists(st.sampled_from(["t", "u"]), max_size=2),
        },
    ),
    max_size=6,
)
KEYED = {
    "type": "array",
    "items": {
        "type": "object",
        "properties": {**ROW["properties"], "tags": {"type": "array", "items": {"type": "string"}}},
    },
}


@pytest.mark.parametrize("align", [{"key": "sku"}, {"key": "sku", "key_cutoff": 0.8}, {"key": ["sku", "price"]}])
@given(gold=keyed_rows, extracted=keyed_rows, order=st.randoms(use_true_random=False))
def test_the_order_of_rows_with_keys_changes_no_number(align, gold, extracted, order):
    scorer = compile_schema(KEYED, semantics="default", overrides={"$": align})
    shuffled = [order.sample(rows, len(rows)) for rows in (gold, extracted)]
    one, other = (scorer.score(*rows, gates={"schema": False}) for rows in ((gold, extracted), shuffled))
    for name in ("pass_rate", "mean_score", "precision", "recall", "f1"):  # the published measures go by position
        assert one.measures[name] == pytest.approx(other.measures[name])
    assert pairs_of(one, gold, extracted) == pairs_of(other, *shuffled)


def pairs_of(score, gold, extracted):
    """The root's pairs by what they hold."""
    (found,) = [array for array in score.arrays if not array.path] or [None]
    return found and sorted(json.dumps([gold[i], extracted[j]], sort_keys=True) for i, j in found.pairs)


LISTS_OR_VALUES = {
    "type": "array",
    "items": {
        "anyOf": [{"type": "array", "items": {"type": "string"}}, {"type": "string"}],
        "evaluation_config": {"metrics": [{"metric_id": "array_llm"}]},
    },
    "evaluation_config": {"align": "hungarian"},
}


def test_equal_values_score_alike_whatever_lists_live_at_their_addresses():
    """A value that `array_llm` compares as a list of itself is wrapped in a list that lives for one comparison."""
    scorer = compile_schema(LISTS_OR_VALUES, judge_mode="fuzzy")
    for seed in range(300):
        rng = random.Random(seed)
        one = [
            [rng.choice(["a", "b", "c", ["a", "b"], ["c"], [], 1, None]) for _ in range(rng.randint(1, 6))]
            for _ in "ge"
        ]
        scores = [
            [(str(r.path), r.status, r.score) for r in scorer.score(*copy.deepcopy(one)).leaves] for _ in range(4)
        ]
        assert scores.count(scores[0]) == 4, one


@pytest.mark.parametrize("extracted", list(itertools.permutations(["X ", 1, 1.0])), ids=repr)
def test_a_multiset_of_undeclared_values_pairs_what_their_types_find_equal(extracted):
    scorer = compile_schema({"type": "array", "evaluation_config": {"align": "multiset"}}, semantics="default")
    assert scorer.score([1.0, "X", 1.0], list(extracted)).measures["pass_rate"] == 1.0


def test_an_undecided_row_of_weight_0_is_no_row_that_is_wrong():
    items = {"x-eval-compare": "string_semantic", "x-eval-weight": 0}
    score = compile_schema({"items": items}).score(["a"], ["b"])
    assert [result.status for result in score.leaves] == [Status.JUDGE_ERROR]
    assert score.arrays[0].pairs == ((0, 0),)


def test_a_row_with_an_undecided_field_is_not_left_apart():
    fields = {"a": TEXT, "b": {**TEXT, "x-eval-compare": "string_semantic"}, "tags": {"type": "array", "items": TEXT}}
    scorer = compile_schema({"type": "array", "items": {"type": "object", "properties": fields}}, semantics="default")
    score = scorer.score([{"a": "x", "b": "one", "tags": ["u"]}], [{"a": "y", "b": "two", "tags": ["v"]}])
    assert score.arrays[-1].pairs == ((0, 0),)
    assert {str(leaf.path): leaf.status for leaf in score.leaves}["[0].b"] is Status.JUDGE_ERROR


# --- what has no partner


def left_over(schema, gold, output, **how):
    score = compile_schema(schema, semantics=how.pop("semantics", "default"), judge_mode="exact").score(
        gold, output, **how
    )
    return [(str(leaf.path), leaf.metric, leaf.status) for leaf in score.leaves if leaf.status is not Status.MATCH]


@pytest.mark.parametrize("empty", [{"f": None}, {"f": None, "g": None}])
def test_a_row_of_null_is_as_good_as_a_row_of_nothing_whatever_stands_beside_it(empty):
    items = {"type": "object", "properties": {"f": {"type": "string"}, "g": {"type": "string"}}}
    scorer = compile_schema({"type": "array", "items": items})
    for gold, extracted in (([None], [empty]), ([None, {"f": "x"}], [empty, {"f": "y"}])):
        (rows,) = scorer.score(gold, extracted).arrays
        assert (0, 0) in rows.pairs


def test_a_value_that_is_transformed_to_null_is_not_missing():
    items = {"type": "array", "items": {**TEXT, "x-eval-compare": "text", "x-eval-transform": ["null_if"]}}
    assert left_over(items, ["a", "N/A", "b"], ["a"]) == [("[2]", "text", Status.OMISSION)]


def test_a_value_of_a_list_that_may_be_missing_is_not_missing():
    schema = {"type": "object", "properties": {"tags": {"type": "array", "items": TEXT}}}
    assert left_over(schema, {"tags": ["a", "b"]}, {"tags": ["b"]}, accept={"tags[]": [None]}) == []


def test_the_readings_of_an_object_are_none_of_an_object_that_is_not_there():
    schema = {"type": "object", "properties": {"owner": {"type": "object", "properties": {"a": TEXT}}}}
    omitted = [("owner.a", "text", Status.OMISSION)]
    assert left_over(schema, {"owner": {"a": "x"}}, {}, accept={"owner": [{}]}) == omitted


def test_a_text_for_a_list_that_is_missing_is_a_shape_under_struct_extract_eval():
    inner = {"type": "array", "items": {**TEXT, "x-eval-compare": "exact"}, "x-eval-compare": "exact"}
    schema = {"type": "object", "properties": {"rows": {"type": "array", "items": inner}}}
    found = left_over(schema, {"rows": ["x", "z"]}, {"rows": ["x"]}, semantics="struct-extract-eval")
    assert found == [("rows[1]", "structure", Status.OMISSION)]


def test_a_row_that_is_not_there_has_no_result_of_its_own_metrics():
    row = {"type": "object", "properties": {"a": TEXT}, "evaluation_config": "string_exact"}
    schema = {"type": "object", "properties": {"rows": {"type": "array", "items": row}}}
    gold, output = {"rows": [{"a": "x"}, {"a": "y"}]}, {"rows": [{"a": "x"}]}
    assert left_over(schema, gold, output, semantics="extract-bench") == [
        ("rows[1].a", "string_semantic", Status.OMISSION)
    ]


@pytest.mark.parametrize(("depth", "metric"), [(DEEPEST - 2, "text"), (DEEPEST - 1, "structure")])
def test_values_beyond_the_deepest_place_are_counted_as_one(depth, metric):
    node = {"type": "object", "properties": {"n": {"$ref": "#/$defs/n"}, "tags": {"type": "array", "items": TEXT}}}
    gold, output = {"tags": ["a", "b"]}, {"tags": ["a"]}
    for _ in range(depth):
        gold, output = {"n": gold}, {"n": output}
    found = left_over({"$defs": {"n": node}, "$ref": "#/$defs/n"}, gold, output)
    assert [(of, status) for _, of, status in found] == [(metric, Status.OMISSION)]
