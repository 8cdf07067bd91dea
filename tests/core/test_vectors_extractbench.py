"""Agreement with extract-bench's published results (scoring.md, "What the vectors ask of us")."""

from __future__ import annotations

import dataclasses
import re
from collections import Counter
from functools import partial

import pytest

from pytest_extract.core.aggregate import content_coverage, extract_bench_report
from pytest_extract.core.scorer import compile_schema
from pytest_extract.errors import SchemaError
from tests.core.aggregate.test_extractbench import published_row
from tests.shared_data import jsonl, shared
from tests.vector_judges import extract_bench_judge

shared("vectors/extractbench.jsonl")
VECTORS = list(jsonl("vectors/extractbench.jsonl"))
near = partial(pytest.approx, abs=1e-9)
BAD_PARAMETER = re.compile(r"parameter '\w+' must|needs the parameter|no metric '")
"""What our configuration errors say where the published program takes a default, or scores the metric 0."""


def without_config_beside_ref(node):
    """The schema as the published program reads it: `evaluation_config` beside `$ref` is dropped."""
    if isinstance(node, list):
        return [without_config_beside_ref(one) for one in node]
    if not isinstance(node, dict):
        return node
    dropped = {"evaluation_config"} if "$ref" in node else set()
    return {key: without_config_beside_ref(value) for key, value in node.items() if key not in dropped}


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


def refused(vector):
    """The configuration error that ours gives to a vector's schema, None where it compiles."""
    try:
        compile_schema(vector["schema"], semantics="extract-bench")
    except SchemaError as error:
        return str(error)
    return None


def scored(vector):
    """Our score of a vector, its schema as the published program reads it."""
    scorer = compile_schema(without_config_beside_ref(vector["schema"]), semantics="extract-bench")
    return scorer.score(vector["gold"], vector["extracted"], judge=extract_bench_judge(vector["judge"]))


def excused(vector):
    """Paths whose published results are defects (scoring.md names them; the vector lists them)."""
    return {keys_of(vector["schema"], path) for paths in vector["quirks"].values() for path in paths}


def own_keys(schema, path):
    """Keys of a path of ours, further keys as the one place that they share in the published program."""
    return (*path[:-1], "*") if further_keys(schema, path) else tuple(path)


EXPECTED = [(vector, refused(vector)) for vector in VECTORS if "expected" in vector]
PUBLISHED = [vector for vector, error in EXPECTED if error is None]


def test_only_a_bad_parameter_or_metric_is_refused_where_the_published_program_scores():
    for vector, error in EXPECTED:
        assert error is None or BAD_PARAMETER.search(error), vector["id"]


def in_report(report):
    """A document report with its first keys as published: cut at the first dot, and no key is `properties` there."""
    found = dataclasses.asdict(report)
    prefixes = Counter()
    for key, count in report.fail_prefixes.items():
        prefixes["$" if key == "properties" else key.split(".")[0]] += count
    return {**found, "fail_prefixes": dict(prefixes), "score": near(report.score)}


@pytest.mark.parametrize("vector", PUBLISHED, ids=lambda vector: vector["id"])
def test_published_results(vector):
    """Field results, the report over them (published rows give the published reports elsewhere), and the coverage."""
    schema, score, skipped = vector["schema"], scored(vector), excused(vector)
    ours = [
        (field, row)
        for field, row in zip(score.fields, score.to_dict()["fields"], strict=True)
        if own_keys(schema, field.path) not in skipped
    ]
    theirs = [
        (path, metric, result)
        for path, results in vector["expected"].items()
        for metric, result in results.items()
        if keys_of(schema, path) not in skipped
    ]
    approx = {(keys_of(schema, path), name): (near(r["score"]), r["passed"]) for path, name, r in theirs}
    assert {(own_keys(schema, field.path), field.metric): (field.score, field.passed) for field, _ in ours} == approx
    if not vector["quirks"]:
        assert score.measures["pass_rate"] == near(vector["pass_rate"])
        assert score.measures["mean_score"] == near(vector["score"])
    published = [published_row(path, metric, result) for path, metric, result in theirs]
    assert in_report(extract_bench_report([row for _, row in ours])) == in_report(extract_bench_report(published))
    coverage = content_coverage(schema, vector["gold"], vector["extracted"])
    assert dataclasses.asdict(coverage) == vector["report"]["coverage"]


CONFIGURATION = re.compile(r"evaluation_config|evaluation preset|has no attribute 'metrics'")
REFUSED = [v for v in VECTORS if "error" in v]


def has_bare_metric(node):
    """Whether a configuration is a metric without the list around it: refused as published, accepted by ours."""
    if isinstance(node, list):
        return any(map(has_bare_metric, node))
    if not isinstance(node, dict):
        return False
    config = node.get("evaluation_config")
    return (isinstance(config, dict) and "metric_id" in config) or any(map(has_bare_metric, node.values()))


@pytest.mark.parametrize("vector", REFUSED, ids=lambda vector: vector["id"])
def test_what_the_published_program_refuses_is_scored_or_a_configuration_error(vector):
    """A mistake in the configuration is one for both; wrong types, lacking keys and other schemas are scored."""
    if CONFIGURATION.search(vector["error"]["message"]):
        assert (refused(vector) is None) == has_bare_metric(vector["schema"])
        return
    score = scored(vector)
    assert all(0 <= result.score <= 1 for result in (*score.fields, *score.leaves))
