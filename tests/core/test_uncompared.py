"""Gold values that no comparison reaches, counted by the compiled schema and by changing each in turn; ExtractBench's golds."""

from __future__ import annotations

import copy
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_extract import compile_schema
from pytest_extract.core.results import Status
from pytest_extract.core.uncompared import find_uncompared
from pytest_extract.core.values import iter_leaves, replaced
from tests.core.schemas import EXACT, TEXT, array, obj, scored, table
from tests.golden_digests import published_golds
from tests.shared_data import shared

BENCH = {"semantics": "extract-bench", "judge_mode": "exact"}
STRUCT = {"semantics": "struct-extract-eval"}


def found(schema, gold, **how):
    return find_uncompared(compile_schema(schema, **how).program, gold)


NODE = {"$defs": {"node": obj(a=TEXT, next={"$ref": "#/$defs/node"})}, "$ref": "#/$defs/node"}
AS_ONE = obj(a=obj(b=TEXT) | {"evaluation_config": {"metrics": [{"metric_id": "string_exact"}]}})
UNCOMPARED = {
    "undeclared key": (obj(a=TEXT), {"a": "x", "b": {"c": [1, None]}}, BENCH, {"b": 2}),
    "default compares it": (obj(a=TEXT), {"a": "x", "b": {"c": [1, None]}}, {}, None),
    "in rows": (obj(rows=table(name=TEXT)), {"rows": [{"name": "x", "n": 1}, {"n": 2}]}, BENCH, {"rows[].n": 2}),
    "object without properties": ({"type": "object"}, {"a": 1}, BENCH, {"a": 1}),
    "nothing said of it": (obj(a={}), {"a": {"b": 1}}, BENCH, None),
    "wrong kind": (obj(a=TEXT), {"a": {"b": 1}}, BENCH, None),
    "wrong root": (obj(a=TEXT), ["x"], BENCH, None),
    "empty containers": (obj(a=TEXT), {"b": {}, "c": []}, BENCH, None),
    "pattern properties": (obj(a=TEXT) | {"patternProperties": {"^b": TEXT}}, {"b": "x"}, BENCH, {"b": 1}),
    "further properties": (obj(a=TEXT) | {"additionalProperties": TEXT}, {"b": "x"}, BENCH, None),
    "struct-extract-eval": (obj(a=EXACT), {"a": "x", "b": 1}, STRUCT, {"b": 1}),
    "alternative": ({"anyOf": [obj(a=TEXT), {"type": "null"}]}, {"a": "x", "b": 1}, BENCH, {"b": 1}),
    "recursive": (NODE, {"a": "x", "next": {"next": {"b": 1}}}, BENCH, {"next.next.b": 1}),
    "compared as a whole": (AS_ONE, {"a": {"b": "x", "c": 1}}, {"semantics": "default"}, None),
}


@pytest.mark.parametrize(("schema", "gold", "how", "expected"), UNCOMPARED.values(), ids=UNCOMPARED)
def test_what_no_comparison_reaches(schema, gold, how, expected):
    uncompared = found(schema, gold, **how)
    assert (uncompared and dict(uncompared.places)) == expected


def test_what_is_skipped_on_purpose_is_counted_apart():
    schema = obj(a=TEXT, b={**TEXT, "evaluation_config": "skip"}, c=obj(d=TEXT))
    gold = {"a": "x", "b": "y", "c": {"d": "z", "e": 1}, "f": 2}
    uncompared = found(schema, gold, overrides={"c": "skip"}, **BENCH)
    assert (uncompared.total, uncompared.skipped, dict(uncompared.places)) == (5, 3, {"f": 1})
    assert not uncompared.is_most
    assert found(schema, {"b": "y", "c": {"d": "z"}}, overrides={"c": "skip"}, **BENCH) is None


def test_the_sentence_names_the_largest_places_and_most_is_more_than_what_is_compared():
    uncompared = found(obj(a=TEXT), {"a": "x", **{f"k{n}": [0] * n for n in range(1, 8)}}, **BENCH)
    assert str(uncompared) == (
        "28 of 29 gold values are compared with nothing: `k7` (7), `k6` (6), `k5` (5), `k4` (4), `k3` (3) and 2 more"
    )
    assert uncompared.is_most
    assert not found(obj(a=TEXT), {"a": "x", "b": 1}, **BENCH).is_most


def unseen(scorer, gold):
    """Paths of the values that may change in the output without any field or leaf result changing: the slow way."""
    same = outcome(scorer.score(gold, gold))
    changed = {path: replaced(gold, path, "a value that is nowhere else") for path, _ in iter_leaves(gold)}
    return [path for path, output in changed.items() if outcome(scorer.score(gold, output)) == same]


def outcome(score):
    results = (*score.fields, *score.leaves)
    return [(result.path, result.status, result.score) for result in results if result.status is not Status.SKIPPED]


NAMES = st.sampled_from(["a", "b", "c"])
VALUES = st.recursive(
    st.sampled_from(["x", "y"]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=6,
)
SCHEMAS = st.recursive(
    st.sampled_from([TEXT, {**TEXT, "evaluation_config": "skip"}]),
    lambda inner: (
        inner.map(array)
        | st.builds(
            lambda properties, more: obj(**properties) | {"additionalProperties": more},
            st.dictionaries(NAMES, inner, min_size=1, max_size=2),
            st.booleans() | inner,
        )
    ),
    max_leaves=6,
)


@given(st.dictionaries(NAMES, SCHEMAS, min_size=1, max_size=2), st.dictionaries(NAMES, VALUES, min_size=1))
def test_it_counts_what_may_change_unseen(properties, gold):
    for semantics in ("default", "extract-bench"):
        scorer = compile_schema(obj(**properties), semantics=semantics, judge_mode="exact")
        uncompared = find_uncompared(scorer.program, gold)
        total = sum(1 for _ in iter_leaves(gold))
        if uncompared is not None:
            assert uncompared.total == total
            assert len(unseen(scorer, gold)) == uncompared.count + uncompared.skipped
        elif not any("skip" in json.dumps(part) for part in properties.values()):
            assert unseen(scorer, gold) == []


# --- ExtractBench's golds (shared data; skipped without)

DATASET = "data/extract-bench/dataset"
GOLDS = {name: (schema, gold) for name, schema, gold in published_golds()}


@pytest.mark.parametrize("semantics", ["extract-bench", "default"])
@pytest.mark.parametrize(("schema", "gold"), GOLDS.values(), ids=GOLDS)
def test_a_gold_scores_1_against_itself_without_a_judge_and_every_value_is_looked_at(schema, gold, semantics):
    score = scored(schema, gold, copy.deepcopy(gold), how={"semantics": semantics})
    assert score.questions_asked == 0
    assert [score.measures[name] for name in ("pass_rate", "mean_score", "precision", "recall", "f1")] == [1.0] * 5
    if semantics == "default":
        seen = {leaf.path for leaf in score.leaves}  # where a value stands, or around it
        for place, value in iter_leaves(gold):
            assert value is None or any(place[:end] in seen for end in range(len(place) + 1)), place


def test_items_of_the_wrong_type_inside_arrays_are_scored():
    shared(DATASET)
    schema, gold = next(both for name, both in GOLDS.items() if name.startswith("shah24"))
    spoilt = copy.deepcopy(gold)
    first = next(key for key, value in gold.items() if isinstance(value, list) and value)
    spoilt[first][0] = ["not", "of", "this", "type"]
    score = scored(schema, gold, spoilt, how={"judge_mode": "fuzzy"})
    assert {leaf.status for leaf in score.leaves} >= {Status.MATCH, Status.HALLUCINATION}
    assert score.measures["f1"] < 1.0


def test_what_of_the_published_golds_is_compared_with_nothing():
    """What the compiled schema says agrees with changing every value in turn."""
    shared(DATASET)
    counts = {}
    for name, (schema, gold) in GOLDS.items():
        scorer = compile_schema(schema, judge_mode="exact")
        uncompared = find_uncompared(scorer.program, gold)
        counts[name] = 0 if uncompared is None else uncompared.count
        if sum(1 for _ in iter_leaves(gold)) < 100:
            assert len(unseen(scorer, gold)) == (0 if uncompared is None else uncompared.count + uncompared.skipped)
    assert sum(count > 0 for count in counts.values()) == 10
    assert (counts["ma_2023_sw_M-table1"], counts["ma_2023_sw_M-table2"], counts["Resume-Academic01"]) == (0, 66, 86)
