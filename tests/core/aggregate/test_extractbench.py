"""ExtractBench's report numbers and rates."""

from __future__ import annotations

import dataclasses

import pytest

from pytest_extract.core.aggregate.extractbench import absent_side, document_report, rates, shown_path
from pytest_extract.core.measures.coverage import Coverage, coverage
from tests.records import score_record
from tests.shared_data import jsonl


def plain(report):
    """A report in the form of the vectors."""
    confusion = report.confusion
    judged = report.judged
    return {
        "evaluated": report.evaluated,
        "passed": report.passed,
        "failed": report.failed,
        "confusion": {
            **dataclasses.asdict(confusion),
            "precision": confusion.precision,
            "recall": confusion.recall,
            "f1": confusion.f1,
        },
        "by_metric": {name: dataclasses.asdict(passed) for name, passed in report.by_metric.items()},
        "by_type": {name: dataclasses.asdict(passed) for name, passed in report.by_type.items()},
        "fail_reasons": dict(report.fail_reasons),
        "fail_prefixes": dict(report.fail_prefixes),
        "llm": None if judged is None else {**dataclasses.asdict(judged), "buckets": dict(judged.buckets)},
    }


def agrees(found, expected):
    """Compare nested numbers, floats to 1e-9."""
    if isinstance(expected, dict):
        return found.keys() == expected.keys() and all(agrees(found[name], value) for name, value in expected.items())
    return found == expected if expected is None else abs(found - expected) <= 1e-9


def test_published_reports():
    """From the published results of each document to its published report and coverage."""
    seen = 0
    for vector in jsonl("vectors/extractbench.jsonl"):
        if "error" in vector:
            continue
        seen += 1
        results = {**vector["expected"], **vector["internal"]}
        rows = [
            {"path": path, "metric": metric, **result} for path, of in results.items() for metric, result in of.items()
        ]
        report = document_report(rows)
        expected = vector["report"]
        found = coverage(vector["schema"], vector["gold"], vector["extracted"])
        assert dataclasses.asdict(found) == expected.pop("coverage"), vector["id"]
        assert agrees(plain(report), expected), vector["id"]
        assert report.pass_rate == pytest.approx(vector["pass_rate"], abs=1e-9)
        assert report.score == pytest.approx(vector["score"], abs=1e-9)
        for path, shown in vector.get("normalized", {}).items():
            assert shown_path(path) == shown
    assert seen > 200


def row(metric="string_exact", status="match", score=1.0, path="a", **values):
    return {"path": path, "metric": metric, "status": status, "score": score, "passed": score == 1.0, **values}


@pytest.mark.parametrize(
    ("result", "side"),
    [
        (row(gold="x", extracted="x"), None),
        (row(), "both"),
        (row(gold=None), "both"),
        (row("array_llm", gold=[], extracted=None), "both"),
        (row(gold=[], extracted=[]), None),
        (row(status="omission", score=0.0, gold="x"), "extracted"),
        (row(status="hallucination", score=0.0, extracted="x"), "gold"),
        (row(status="mismatch", score=0.0, gold="x", extracted="y"), None),
        ({"path": "a", "metric": "m", "score": 1.0, "passed": True, "reason": "both_empty_array"}, "both"),
        ({"path": "a", "metric": "m", "score": 0.0, "passed": False, "reason": "gold_null"}, "gold"),
        ({"path": "a", "metric": "m", "score": 1.0, "passed": True}, None),
    ],
)
def test_which_side_is_absent(result, side):
    assert absent_side(result) == side


def test_a_report_of_our_own_results():
    report = document_report(
        [
            row(gold="x", extracted="x"),
            row(gold=None, extracted=None),
            row("number_tolerance", "mismatch", 0.0, "b.c", gold=1, extracted=2),
            row("string_semantic", "mismatch", 0.3, "b.d", gold="p", extracted="q"),
            row("boolean_exact", "omission", 0.0, "e", gold=True),
            row("text", "hallucination", 0.0, "f", extracted="z"),
            row(status="skipped", score=0.0, path="g"),
        ]
    )
    assert (report.evaluated, report.passed, report.failed) == (6, 2, 4)
    assert dataclasses.asdict(report.confusion) == {"tp": 1, "fp": 1, "fn": 3, "tn": 1}
    assert report.confusion.precision == 0.5
    assert report.confusion.recall == 0.25
    assert report.confusion.f1 == pytest.approx(1 / 3)
    assert report.fail_prefixes == {"b": 2, "e": 1, "f": 1}
    reasons = {"numeric_mismatch": 1, "semantic_mismatch": 1, "extracted_absent": 1, "gold_absent": 1}
    assert report.fail_reasons == reasons
    assert report.judged is not None
    assert report.judged.buckets == {"0.2-0.4": 1}


def test_a_report_of_nothing():
    report = document_report([])
    assert (report.pass_rate, report.score, report.judged) == (0.0, 0.0, None)
    assert (report.confusion.precision, report.confusion.recall) == (1.0, 1.0)


def score(pass_rate, *, schema=True, failure=None):
    failed = {"parse": "no JSON"} if failure else {} if schema else {"schema": "it breaks"}
    return score_record(failure=failure, failed=failed, measures={"pass_rate": pass_rate})


def test_rates_keep_validity_and_accuracy_apart():
    found = rates([score(1.0), score(0.5), score(0.9, schema=False), score(0.0, failure="truncated_json"), score(0.5)])
    assert (found.documents, found.valid) == (5, 3)
    assert found.valid_rate == pytest.approx(0.6)
    assert found.pass_rate == pytest.approx(2.0 / 5)
    assert found.accuracy_on_valid == pytest.approx(2.0 / 3)
    assert found.failures == {"schema_violation": 1, "truncated_json": 1}


def test_rates_of_nothing():
    found = rates([])
    assert (found.valid_rate, found.pass_rate, found.accuracy_on_valid) == (0.0, 0.0, 0.0)


def test_coverage_counts_empty_containers_of_objects():
    schema = {"properties": {"a": {"properties": {"b": {}}, "required": ["b"]}}, "required": ["c"]}
    gold = {"a": {"b": 1}, "c": [], "d": [[], {}], "e": {}}
    assert coverage(schema, gold, {"c": [1]}) == Coverage(both=0, missing=3, spurious=1, required_missing=2)
