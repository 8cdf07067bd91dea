"""Agreement with extract-bench's published results (scoring.md, "What the vectors ask of us")."""

from __future__ import annotations

import pytest

from pytest_extract.core.scorer import compile_schema
from pytest_extract.errors import SchemaError
from tests.shared_data import jsonl, shared
from tests.vector_judges import extract_bench_judge

shared("vectors/extractbench.jsonl")
VECTORS = list(jsonl("vectors/extractbench.jsonl"))
DIFFERS = {
    "ref:sibling-config-ignored": "config beside $ref wins",
    "config:unknown-metric": "configuration error",
    "config:skip-as-metric": "configuration error",
    "grid:tolerance-bad": "configuration error",
    "grid:tolerance-negative": "configuration error",
    "grid:fuzzy-bad": "configuration error",
}


def keys_of(schema, path):
    """Our keys for a published path: `$.properties.a.properties.b` is ("a", "b"); None inside arrays."""
    keys, node, rest = [], schema, path[1:]
    while rest:
        while "$ref" in node:
            target = schema
            for step in node["$ref"].split("/")[1:]:
                target = target[step]
            node = target
        if rest.startswith(".additionalProperties"):
            keys.append("*")
            node, rest = node["additionalProperties"], rest.removeprefix(".additionalProperties")
            continue
        if not rest.startswith(".properties."):
            return None
        rest = rest.removeprefix(".properties.")
        key = max((k for k in node["properties"] if rest == k or rest.startswith(f"{k}.")), key=len)
        keys.append(key)
        node, rest = node["properties"][key], rest.removeprefix(key)
    return tuple(keys)


def further_keys(schema, path):
    """Whether a path of ours stands for the published path of a typed `additionalProperties`."""
    node = schema
    for key in path:
        if key not in node.get("properties", {}):
            return isinstance(node.get("additionalProperties"), dict)
        node = node["properties"][key]
    return False


@pytest.mark.parametrize("vector", [v for v in VECTORS if "expected" in v], ids=lambda vector: vector["id"])
def test_published_results(vector):
    if set(vector["tags"]) & DIFFERS.keys():
        pytest.skip("differs on purpose")
    schema = vector["schema"]
    scorer = compile_schema(schema, semantics="extract-bench")
    score = scorer.score(vector["gold"], vector["extracted"], judge=extract_bench_judge(vector["judge"]))
    excused = {keys_of(schema, path) for paths in vector["quirks"].values() for path in paths}
    ours = {
        ((*r.path[:-1], "*") if further_keys(schema, r.path) else tuple(r.path), r.metric): (r.score, r.passed)
        for r in score.fields
    }
    theirs = {
        (keys_of(schema, path), metric): (result["score"], result["passed"])
        for path, results in vector["expected"].items()
        for metric, result in results.items()
    }
    ours = {key: value for key, value in ours.items() if key[0] not in excused}
    theirs = {key: value for key, value in theirs.items() if key[0] not in excused}
    assert ours == {key: (pytest.approx(score, abs=1e-9), passed) for key, (score, passed) in theirs.items()}
    if not vector["quirks"]:
        assert score.measures["pass_rate"] == pytest.approx(vector["pass_rate"], abs=1e-9)
        assert score.measures["mean_score"] == pytest.approx(vector["score"], abs=1e-9)


REFUSED = [v for v in VECTORS if "error" in v or set(v["tags"]) & DIFFERS.keys()]


@pytest.mark.parametrize("vector", REFUSED, ids=lambda vector: vector["id"])
def test_what_the_published_program_refuses_is_scored_or_a_configuration_error(vector):
    try:
        scorer = compile_schema(vector["schema"], semantics="extract-bench")
    except SchemaError:
        return
    score = scorer.score(vector["gold"], vector["extracted"], judge=extract_bench_judge(vector["judge"]))
    assert all(0 <= result.score <= 1 for result in (*score.fields, *score.leaves))
