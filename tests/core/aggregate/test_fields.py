"""Tables by field pattern, and struct-extract-eval's run numbers."""

from __future__ import annotations

import pytest

from pytest_extract.core.aggregate import field_table, struct_eval_run
from tests.records import field_result
from tests.shared_data import jsonl

_STATUS = {"batch_error": "judge_error"}


def test_published_runs():
    """From the published leaf results of each record to the published numbers of the run."""
    seen = 0
    for vector in jsonl("vectors/xeval.jsonl"):
        if "error" in vector:
            continue
        seen += 1
        records = [
            [
                field_result("$", status=_STATUS.get(status, status), score=score)._replace(path=path)
                for path, status, score, _ in record["fields"]
            ]
            for record in vector["expected"]["records"]
        ]
        run = struct_eval_run(records)
        expected = vector["expected"]["run"]
        per_field = {
            path: [counts.mean_score, counts.match, counts.mismatch, counts.omission, counts.hallucination]
            for path, counts in run.per_field.items()
        }
        assert per_field.keys() == expected["per_field"].keys(), vector["id"]
        for path, numbers in expected.pop("per_field").items():
            assert per_field[path] == pytest.approx(numbers, abs=1e-9), vector["id"]
        assert {name: getattr(run, name) for name in expected} == pytest.approx(expected, abs=1e-9), vector["id"]
    assert seen > 200


def leaf(pattern, status, score=0.0):
    return field_result(pattern.replace("[]", "[0]"), status=status, score=score, pattern=pattern)


def test_the_table_counts_by_pattern():
    table = field_table(
        [
            ("one", [leaf("rows[].a", "match", 1.0), leaf("rows[].a", "mismatch", 0.5), leaf("b", "skipped")]),
            ("two", [leaf("rows[].a", "omission"), leaf("c", "judge_error")]),
            ("three", [leaf("rows[].a", "hallucination")]),
        ]
    )
    assert list(table) == ["rows[].a", "c"]
    counts = table["rows[].a"]
    assert (counts.match, counts.mismatch, counts.omission, counts.hallucination) == (1, 1, 1, 1)
    assert counts.records == {"one", "two", "three"}
    assert counts.mean_score == pytest.approx(1.5 / 4)
    assert counts.precision == counts.recall == counts.f1 == pytest.approx(0.5)
    assert (table["c"].total, table["c"].undecided) == (0, 1)


def test_nothing_to_count():
    run = struct_eval_run([])
    assert (run.mean_precision, run.mean_recall, run.mean_f1, run.total_records) == (1.0, 1.0, 1.0, 0)
    assert field_table([]) == {}
    only_errors = struct_eval_run([[leaf("a", "judge_error")]])
    assert (only_errors.mean_f1, only_errors.total_fields, only_errors.total_batch_errors) == (1.0, 0, 1)
