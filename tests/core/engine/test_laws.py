"""Laws that hold for every schema and every two values."""

from __future__ import annotations

import json

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from pytest_extract.core.results import Status
from pytest_extract.core.scorer import compile_schema
from pytest_extract.core.values import MISSING
from pytest_extract.errors import SchemaError
from tests.strategies import any_json, json_values, near_values, schemas

SEMANTICS = ("default", "extract-bench")
ROW = {
    "type": "object",
    "properties": {
        "name": {"type": "string"},
        "price": {"type": "number"},
        "tags": {"type": "array", "items": {"type": "string"}},
    },
}
ROWS = {"type": "object", "properties": {"rows": {"type": "array", "items": ROW}}}
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


def scored(schema, gold, extracted, semantics="default", **how):
    return compile_schema(schema, semantics=semantics, judge_mode="fuzzy").score(
        gold, extracted, gates={"schema": False}, **how
    )


@pytest.mark.parametrize("semantics", SEMANTICS)
@given(schema=schemas, gold=any_json | near_values, extracted=any_json | near_values)
def test_any_json_against_any_schema_scores_within_bounds(semantics, schema, gold, extracted):
    score = scored(schema, gold, extracted, semantics)
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
def test_a_value_scores_1_against_itself(schema, value):
    score = scored(schema, value, json.loads(json.dumps(value)))
    assert score.leaves == tuple(result for result in score.leaves if result.status is Status.MATCH)
    assert all(field.passed for field in score.fields)
    if score.gates.structural:
        assert [score.measures[name] for name in ("pass_rate", "mean_score", "precision", "recall", "f1")] == [1.0] * 5


@given(gold=rows, extracted=rows, order=st.randoms(use_true_random=False))
def test_shuffling_a_best_fit_array_changes_no_number(gold, extracted, order):
    shuffled = list(extracted)
    order.shuffle(shuffled)
    one, other = scored(ROWS, {"rows": gold}, {"rows": extracted}), scored(ROWS, {"rows": gold}, {"rows": shuffled})
    assert [array.f1 for array in one.arrays if str(array.path) == "rows"] == pytest.approx(
        [array.f1 for array in other.arrays if str(array.path) == "rows"]
    )
    assert one.measures["mean_score"] == pytest.approx(other.measures["mean_score"])
    assert one.measures["pass_rate"] == other.measures["pass_rate"]


@given(gold=rows, extracted=rows)
def test_a_spurious_row_never_raises_precision(gold, extracted):
    assume(extracted)
    invented = {"name": "invented", "price": 77}
    before = scored(ROWS, {"rows": gold}, {"rows": extracted})
    after = scored(ROWS, {"rows": gold}, {"rows": [*extracted, invented]})
    assert after.measures["precision"] <= before.measures["precision"] + 1e-12
    assert len(after.arrays) == len(before.arrays)


@given(gold=rows, extracted=rows)
def test_every_row_is_paired_missing_or_invented_once(gold, extracted):
    assume(gold and extracted)
    pairing = next(a for a in scored(ROWS, {"rows": gold}, {"rows": extracted}).arrays if str(a.path) == "rows")
    assert sorted([i for i, _ in pairing.pairs] + list(pairing.missing)) == list(range(len(gold)))
    assert sorted([j for _, j in pairing.pairs] + list(pairing.extra)) == list(range(len(extracted)))


@given(schema=schemas, gold=near_values)
def test_a_missing_output_has_recall_0(schema, gold):
    score = scored(schema, gold, MISSING)
    assert score.measures["pass_rate"] == 0.0
    assert not any(result.status is Status.MATCH and result.gold is not None for result in score.leaves)
