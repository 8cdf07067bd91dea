"""Gold values that no comparison reaches: counted by the compiled schema, and by changing each value in turn."""

from __future__ import annotations

import copy
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_extract import compile_schema
from pytest_extract.core.results import Status
from pytest_extract.core.uncompared import find_uncompared
from pytest_extract.core.values import iter_leaves
from tests.shared_data import shared

TEXT = {"type": "string"}
CHANGED = "a value that is nowhere else"


def found(schema, gold, **how):
    return find_uncompared(compile_schema(schema, **how).program, gold)


def places(schema, gold, **how):
    uncompared = found(schema, gold, **how)
    return None if uncompared is None else dict(uncompared.places)


def table(**properties):
    return {"type": "object", "properties": properties}


BENCH = {"semantics": "extract-bench", "judge_mode": "exact"}
STRUCT = {"semantics": "struct-extract-eval"}
EXACT = {"type": "string", "x-eval-compare": "exact"}
ROWS = table(rows={"type": "array", "items": table(name=TEXT)})


@pytest.mark.parametrize(
    ("schema", "gold", "how", "expected"),
    [
        pytest.param(table(a=TEXT), {"a": "x", "b": {"c": [1, None]}}, BENCH, {"b": 2}, id="undeclared-key"),
        pytest.param(table(a=TEXT), {"a": "x", "b": {"c": [1, None]}}, {}, None, id="default-compares-it"),
        pytest.param(ROWS, {"rows": [{"name": "x", "n": 1}, {"n": 2}]}, BENCH, {"rows[].n": 2}, id="in-rows"),
        pytest.param({"type": "object"}, {"a": 1}, BENCH, {"a": 1}, id="object-without-properties"),
        pytest.param(table(a={}), {"a": {"b": 1}}, BENCH, None, id="nothing-said-of-it"),
        pytest.param(table(a=TEXT), {"a": {"b": 1}}, BENCH, None, id="wrong-kind"),
        pytest.param(table(a=TEXT), ["x"], BENCH, None, id="wrong-root"),
        pytest.param(table(a=TEXT), {"b": {}, "c": []}, BENCH, None, id="empty-containers"),
        pytest.param(
            {**table(a=TEXT), "patternProperties": {"^b": TEXT}}, {"b": "x"}, BENCH, {"b": 1}, id="pattern-properties"
        ),
        pytest.param({**table(a=TEXT), "additionalProperties": TEXT}, {"b": "x"}, BENCH, None, id="additional"),
        pytest.param(table(a=EXACT), {"a": "x", "b": 1}, STRUCT, {"b": 1}, id="struct-extract-eval"),
        pytest.param(
            {"anyOf": [table(a=TEXT), {"type": "null"}]}, {"a": "x", "b": 1}, BENCH, {"b": 1}, id="alternative"
        ),
        pytest.param(
            {"$defs": {"node": table(a=TEXT, next={"$ref": "#/$defs/node"})}, "$ref": "#/$defs/node"},
            {"a": "x", "next": {"next": {"b": 1}}},
            BENCH,
            {"next.next.b": 1},
            id="recursive",
        ),
        pytest.param(
            table(a={**table(b=TEXT), "evaluation_config": {"metrics": [{"metric_id": "string_exact"}]}}),
            {"a": {"b": "x", "c": 1}},
            {"semantics": "default"},
            None,
            id="compared-as-a-whole",
        ),
    ],
)
def test_what_no_comparison_reaches(schema, gold, how, expected):
    assert places(schema, gold, **how) == expected


def test_what_is_skipped_on_purpose_is_counted_apart():
    schema = table(a=TEXT, b={"type": "string", "evaluation_config": "skip"}, c=table(d=TEXT))
    gold = {"a": "x", "b": "y", "c": {"d": "z", "e": 1}, "f": 2}
    uncompared = found(schema, gold, overrides={"c": "skip"}, **BENCH)
    assert uncompared is not None
    assert (uncompared.total, uncompared.skipped, dict(uncompared.places)) == (5, 3, {"f": 1})
    assert not uncompared.is_most
    assert found(schema, {"b": "y", "c": {"d": "z"}}, overrides={"c": "skip"}, **BENCH) is None


def test_most_is_more_than_what_is_compared():
    assert not found(table(a=TEXT), {"a": "x", "b": 1}, **BENCH).is_most
    assert found(table(a=TEXT), {"a": "x", "b": [1, 2]}, **BENCH).is_most


def test_the_sentence_names_the_largest_places():
    gold = {"a": "x", **{f"k{n}": [0] * n for n in range(1, 8)}}
    text = str(found(table(a=TEXT), gold, **BENCH))
    assert text == (
        "28 of 29 gold values are compared with nothing: `k7` (7), `k6` (6), `k5` (5), `k4` (4), `k3` (3) and 2 more "
        "places"
    )


def unseen(scorer, gold):
    """Paths of the values that may change in the output without any field or leaf result changing: the slow way."""
    same = outcome(scorer.score(gold, gold))
    paths = []
    for path, _ in iter_leaves(gold):
        output = copy.deepcopy(gold)
        inside = output
        for step in path[:-1]:
            inside = inside[step]
        inside[path[-1]] = CHANGED
        if outcome(scorer.score(gold, output)) == same:
            paths.append(path)
    return paths


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
    lambda inner: st.one_of(
        st.builds(lambda items: {"type": "array", "items": items}, inner),
        st.builds(
            lambda properties, more: {"type": "object", "properties": properties, "additionalProperties": more},
            st.dictionaries(NAMES, inner, min_size=1, max_size=2),
            st.one_of(st.booleans(), inner),
        ),
    ),
    max_leaves=6,
)


@given(st.dictionaries(NAMES, SCHEMAS, min_size=1, max_size=2), st.dictionaries(NAMES, VALUES, min_size=1))
def test_it_counts_what_may_change_unseen(properties, gold):
    for semantics in ("default", "extract-bench"):
        scorer = compile_schema({"type": "object", "properties": properties}, semantics=semantics, judge_mode="exact")
        uncompared = find_uncompared(scorer.program, gold)
        total = sum(1 for _ in iter_leaves(gold))
        if uncompared is not None:
            assert uncompared.total == total
            assert len(unseen(scorer, gold)) == uncompared.count + uncompared.skipped
        elif not any("skip" in json.dumps(part) for part in properties.values()):
            assert unseen(scorer, gold) == []


def test_the_published_golds():
    """ExtractBench's own golds; what the compiled schema says agrees with changing every value in turn."""
    counts = {}
    for path in sorted(shared("data/extract-bench/dataset").rglob("*.gold.json")):
        (schema,) = path.parents[1].glob("*-schema.json")
        node = json.loads(schema.read_text(encoding="utf-8"))
        gold = json.loads(path.read_text(encoding="utf-8"))
        scorer = compile_schema(node.get("schema_definition", node), judge_mode="exact")
        uncompared = find_uncompared(scorer.program, gold)
        counts[path.name.removesuffix(".gold.json")] = 0 if uncompared is None else uncompared.count
        if sum(1 for _ in iter_leaves(gold)) < 100:
            assert len(unseen(scorer, gold)) == (0 if uncompared is None else uncompared.count + uncompared.skipped)
    assert sum(count > 0 for count in counts.values()) == 10
    assert (counts["ma_2023_sw_M-table1"], counts["ma_2023_sw_M-table2"], counts["Resume-Academic01"]) == (0, 66, 86)
