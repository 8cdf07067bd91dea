"""Every single comparison in the published vectors, by metric alone: no schema walk, no alignment."""

from __future__ import annotations

import re
from collections import Counter

import pytest

from pytest_extract.core.metrics import METRICS, PRESETS
from pytest_extract.core.metrics.base import check_params, with_defaults
from pytest_extract.core.transforms import TRANSFORMS
from pytest_extract.core.values import MISSING
from tests.core.metrics.helpers import bound
from tests.shared_data import jsonl

DEFAULTS = {
    "string": "string_semantic",
    "integer": "integer_exact",
    "number": "number_tolerance",
    "boolean": "boolean_exact",
}


def configured(config, kind):
    """(metric, params) pairs of an `evaluation_config` as published; none where it is refused or on purpose an error."""
    if config is None:
        config = DEFAULTS.get(kind)
    if isinstance(config, str):
        return [PRESETS[config]] if config in PRESETS else []
    if isinstance(config, dict):
        entries = [entry for entry in config.get("metrics", []) if isinstance(entry, dict)]
        # the same metric twice: the last one's result is kept
        named = {entry["metric_id"]: entry.get("params") or {} for entry in entries if entry["metric_id"] in METRICS}
        return list(named.items())
    return []


def lookup(value, names):
    for name in names:
        value = value.get(name, MISSING) if isinstance(value, dict) else MISSING
    return value


def extract_bench_comparisons():
    for vector in jsonl("vectors/extractbench.jsonl"):
        quirks = {path for paths in vector.get("quirks", {}).values() for path in paths}
        for path, results in vector.get("expected", {}).items():
            names = re.findall(r"\.properties\.([^.]+)", path)
            if path in quirks or path != "$" + "".join(f".properties.{name}" for name in names):
                continue
            node = vector["schema"]
            for name in names:
                node = node.get("properties", {}).get(name, {})
            gold, extracted = lookup(vector["gold"], names), lookup(vector["extracted"], names)
            for name, params in configured(node.get("evaluation_config"), node.get("type")):
                # absence is decided before a metric, and an empty array is absent on an array node
                if name in results and not any(v is None or v is MISSING or v == [] for v in (gold, extracted)):
                    yield vector, path, name, params, gold, extracted, results[name]


def test_extract_bench_fields_agree():
    seen: Counter[str] = Counter()
    for vector, path, name, params, gold, extracted, expected in extract_bench_comparisons():
        spec = METRICS[name]
        if check_params(params, spec.params, name):
            seen["refused by us"] += 1
            continue
        metric = bound(name, params, "extract-bench")
        score = metric.compare(gold, extracted)
        if metric.judged:
            # the vectors' judges say 1.0 wherever our check needs no judge
            assert score in (0.0, 1.0)
            assert score == 0.0 or metric.aligns or expected["score"] == 1.0, (vector["id"], path)
            seen["judged"] += 1
            continue
        assert score == pytest.approx(expected["score"], abs=1e-9), (vector["id"], path, name, gold, extracted)
        assert (score >= metric.threshold) == expected["passed"], (vector["id"], path, name, gold, extracted)
        seen[name] += 1
    assert seen["string_fuzzy"] > 500
    assert all(seen[name] > 50 for name in set(PRESETS) - {"string_semantic", "string_llm", "array_llm"}), seen


def struct_extract_eval_comparisons():
    for vector in jsonl("vectors/xeval.jsonl"):
        properties = vector["schema"].get("properties", {})
        if vector.get("post_process") or "expected" not in vector:
            continue
        records = zip(vector["gold"], vector["extracted"], vector["expected"]["records"], strict=True)
        for gold, extracted, record in records:
            for path, status, score, comparator in record["fields"]:
                node = properties.get(path, {})
                if "properties" in node or "items" in node or status not in ("match", "mismatch"):
                    continue
                if comparator in METRICS and comparator != "semantic" and "x-eval-compare" in node:
                    yield vector, node, gold[path], extracted[path], score


def test_struct_extract_eval_fields_agree():
    seen: Counter[str] = Counter()
    for vector, node, gold, extracted, score in struct_extract_eval_comparisons():
        compare = node["x-eval-compare"]
        ((name, params),) = compare.items() if isinstance(compare, dict) else [(compare, {})]
        values = [gold, extracted]
        for step in node.get("x-eval-transform", []):
            ((transform, given),) = step.items() if isinstance(step, dict) else [(step, {})]
            apply = TRANSFORMS[transform].make(with_defaults(given, TRANSFORMS[transform].params))
            values = [apply(value) for value in values]
            seen[transform] += 1
        metric = bound(name, params, "struct-extract-eval")
        assert metric.compare(*values) == score, (vector["id"], name, params, gold, extracted)
        seen[name] += 1
    assert {*seen} >= {"exact", "numeric", "oneof", "lowercase", "strip", "sort_tokens", "round_digits", "type_convert"}
