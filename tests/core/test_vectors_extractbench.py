"""Agreement with extract-bench's published results (scoring.md, "What the vectors ask of us")."""

from __future__ import annotations

import json

import pytest

from pytest_extract.core.results import Alignment, Verdict
from pytest_extract.core.scorer import compile_schema
from pytest_extract.errors import SchemaError
from tests.shared_data import jsonl, shared

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


def text_of(value):
    return value if isinstance(value, str) else canonical(value)


def canonical(value):
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def folded_equality(gold, extracted):
    one, other = (" ".join(text_of(value).casefold().split()) for value in (gold, extracted))
    return 1.0 if one == other else 0.0


def token_jaccard(gold, extracted):
    one, other = (set(text_of(value).casefold().split()) for value in (gold, extracted))
    return len(one & other) / len(one | other) if one | other else 1.0


def canonical_multiset(gold, extracted):
    waiting = [canonical(item) for item in extracted]
    pairs = []
    for index, item in enumerate(map(canonical, gold)):
        if item in waiting:
            pairs.append((index, waiting.index(item)))
            waiting[waiting.index(item)] = None
    return Alignment(tuple(pairs))


STRINGS = {"folded_equality": folded_equality, "token_jaccard": token_jaccard}


def judge_of(rules):
    """The vector's rule as a judge; the rules that stand for a model out of order decide nothing."""

    def answer(question):
        if question.kind == "align":
            usable = rules["array"] == "canonical_multiset"
            return canonical_multiset(question.gold, question.extracted) if usable else None
        rule = STRINGS.get(rules["string"])
        return None if rule is None else Verdict(rule(question.gold, question.extracted))

    return lambda questions: [answer(question) for question in questions]


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
    score = scorer.score(vector["gold"], vector["extracted"], judge=judge_of(vector["judge"]))
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
    score = scorer.score(vector["gold"], vector["extracted"], judge=judge_of(vector["judge"]))
    assert all(0 <= result.score <= 1 for result in (*score.fields, *score.leaves))
