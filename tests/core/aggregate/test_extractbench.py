"""ExtractBench's report numbers and rates."""

from __future__ import annotations

import dataclasses
import re
from collections import Counter

import pytest

from pytest_extract import compile_schema
from pytest_extract.core.aggregate import (
    ContentCoverage,
    content_coverage,
    extract_bench_rates,
    extract_bench_report,
)
from pytest_extract.core.values import FieldPath
from tests.records import field_result, score_record
from tests.shared_data import jsonl


def plain(report):
    """A report in the form of the vectors."""
    found, confusion = dataclasses.asdict(report), report.confusion
    rates = {name: getattr(confusion, name) for name in ("precision", "recall", "f1")}
    prefixes = Counter()  # first keys as published: cut at the first dot, also of one that is in a key
    for key, count in report.fail_prefixes.items():
        prefixes[key.split(".")[0]] += count
    own = {"failed": report.failed, "confusion": {**found["confusion"], **rates}, "fail_prefixes": dict(prefixes)}
    return {**found, **own, "llm": found["judged"]}


def close(expected):
    """Nested numbers, floats to 1e-9."""
    if isinstance(expected, dict):
        return {name: close(value) for name, value in expected.items()}
    return pytest.approx(expected, abs=1e-9) if isinstance(expected, float) else expected


ABSENT = re.compile(r"(both|gold|extracted)_(missing|null|empty_array|absent)")
STATUSES = {"both": "match", "gold": "hallucination", "extracted": "omission"}


def published_row(path, metric, result):
    """A published result as one of ours."""
    first = re.sub(r"\.?properties\.?", ".", path.removeprefix("$")).strip(".").split(".")[0]
    place = str(FieldPath((first,))) if first else "$"
    metric = metric.partition("#")[0]  # a judge that failed is `error#1` there
    absent = ABSENT.fullmatch(str(result.get("reason")))
    if absent is None:
        return {"path": place, "metric": metric, "status": "match" if result["passed"] else "mismatch", **result}
    side, kind = absent.groups()
    values = {side: []} if kind == "empty_array" else {}
    reason = "both are missing" if side == "both" else None
    return {"path": place, "metric": metric, **result, "status": STATUSES[side], "reason": reason, **values}


def test_published_reports():
    """From the published results of each document to its published report and coverage."""
    seen = 0
    for vector in jsonl("vectors/extractbench.jsonl"):
        if "error" in vector:
            continue
        seen += 1
        results = ((path, *each) for path, of in vector["expected"].items() for each in of.items())
        report = extract_bench_report(published_row(*each) for each in results)
        expected = vector["report"]
        found = content_coverage(vector["schema"], vector["gold"], vector["extracted"])
        assert dataclasses.asdict(found) == expected.pop("coverage"), vector["id"]
        ours = plain(report)
        assert {name: ours[name] for name in expected} == close(expected), vector["id"]
        assert report.pass_rate == pytest.approx(vector["pass_rate"], abs=1e-9)
        assert report.score == pytest.approx(vector["score"], abs=1e-9)
    assert seen > 200


def row(metric="string_exact", status="match", score=1.0, path="a", **values):
    return {"path": path, "metric": metric, "status": status, "score": score, "passed": score == 1.0, **values}


def test_a_report_of_our_own_results():
    report = extract_bench_report(
        [
            row(gold="x", extracted="x"),
            row(gold=None, extracted=None, reason="both are null"),
            row("array_llm", reason="both are absent: gold empty, extracted missing"),
            row("number_tolerance", "mismatch", 0.0, "b.c", gold=1, extracted=2),
            row("string_semantic", "mismatch", 0.3, "b.d", gold="p", extracted="q"),
            row("boolean_exact", "omission", 0.0, "e", gold=True),
            row("text", "hallucination", 0.0, "f", extracted="z"),
            row(status="skipped", score=0.0, path="g"),
        ]
    )
    assert (report.evaluated, report.passed, report.failed) == (7, 3, 4)
    assert dataclasses.asdict(report.confusion) == {"tp": 1, "fp": 1, "fn": 3, "tn": 2}
    rates = (report.confusion.precision, report.confusion.recall, report.confusion.f1)
    assert rates == pytest.approx((0.5, 0.25, 1 / 3))
    assert report.fail_prefixes == {"b": 2, "e": 1, "f": 1}
    reasons = {"numeric_mismatch": 1, "semantic_mismatch": 1, "extracted_absent": 1, "gold_absent": 1}
    assert report.fail_reasons == reasons
    assert report.judged.buckets == {"0.2-0.4": 1, "0.8-1.0": 1}


def score(passed, fields, *, schema=True, failure=None, skipped=0):
    failed = {"parse": "no JSON"} if failure else {} if schema else {"schema": "it breaks"}
    results = [field_result("a", 1, 1 if number < passed else 2) for number in range(fields)]
    results += [field_result("a", 1, 2, status="skipped")] * skipped
    return score_record(failure=failure, failed=failed, fields=tuple(results))


def test_rates_pool_fields_and_count_those_of_invalid_outputs_as_failed():
    invalid, cut = score(9, 10, schema=False), score(0, 3, failure="truncated_json")
    found = extract_bench_rates([score(10, 10, skipped=3), score(1, 2), invalid, cut])
    assert (found.documents, found.valid) == (4, 2)
    assert (found.fields, found.passed, found.valid_fields) == (25, 11, 12)
    assert (found.valid_rate, found.pass_rate, found.accuracy_on_valid) == pytest.approx((0.5, 11 / 25, 11 / 12))
    assert found.failures == {"schema_violation": 1, "truncated_json": 1}


def test_a_rate_of_nothing_is_undefined_and_not_zero():
    report = extract_bench_report([])
    assert (report.pass_rate, report.score, report.judged) == (0.0, 0.0, None)
    assert (report.confusion.precision, report.confusion.recall) == (1.0, 1.0)
    for scores, rates in (([], (None, None, None)), ([score(0, 3, failure="no_json")], (0.0, 0.0, None))):
        found = extract_bench_rates(scores)
        assert (found.valid_rate, found.pass_rate, found.accuracy_on_valid) == rates


def test_a_key_with_a_dot_is_one_key_in_the_failures_by_first_key():
    schema = {"type": "object", "properties": {"a.b": {"type": "object", "properties": {"c": {"type": "integer"}}}}}
    found = compile_schema(schema).score({"a.b": {"c": 1}, 'say "x.y"': 1}, {"a.b": {"c": 2}, 'say "x.y"': 2})
    assert extract_bench_report(found.to_dict()["fields"]).fail_prefixes == {"a.b": 1, 'say "x.y"': 1}
    assert extract_bench_report([row(status="mismatch", score=0.0, path="$")]).fail_prefixes == {"$": 1}


@pytest.mark.parametrize("metrics", [["string_exact"], ["string_exact", "array_llm"]])
def test_an_array_that_is_empty_on_both_sides_agrees_on_absence_whatever_its_metrics(metrics):
    config = {"metrics": [{"metric_id": metric} for metric in metrics]}
    schema = {"type": "object", "properties": {"a": {"type": "array", "evaluation_config": config}}}
    found = compile_schema(schema).score({"a": []}, {"a": []}).to_dict()["fields"]
    assert extract_bench_report(found).confusion.tn == len(metrics)


def test_coverage_counts_empty_containers_of_objects():
    schema = {"properties": {"a": {"properties": {"b": {}}, "required": ["b"]}}, "required": ["c"]}
    gold = {"a": {"b": 1}, "c": [], "d": [[], {}], "e": {}}
    counts = {"both": 0, "missing": 3, "spurious": 1, "required_missing": 2}
    assert content_coverage(schema, gold, {"c": [1]}) == ContentCoverage(**counts)
