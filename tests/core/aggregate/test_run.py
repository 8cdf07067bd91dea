"""A run's aggregate from case results: rows, means, tables by field."""

from __future__ import annotations

import pytest

from pytest_extract.core.aggregate import (
    CaseMeasures,
    by_depth,
    case_rows,
    field_table,
    measure_means,
    struct_eval_run,
)
from pytest_extract.core.case_result import Attempt, CaseResult, Outcome, Variant
from pytest_extract.core.measures import MEASURES
from tests.records import field_result, score_record


def score(value=1.0, failure=None):
    leaf = field_result("a", 1, 1 if value == 1.0 else 2, score=value)
    return score_record(
        *([leaf] if failure is None else []),
        fields=(leaf,),
        failure=failure,
        failed={} if failure is None else {"parse": "no JSON"},
        measures=dict.fromkeys(MEASURES, value),
    )


def result(name, *scores, outcome=Outcome.PASSED, model=None, complexity="easy", depth=2, broken=()):
    outcomes = [Outcome.ERROR if index in broken else outcome for index in range(len(scores))]
    attempts = [Attempt(index=index, outcome=outcomes[index], score=given) for index, given in enumerate(scores)]
    return CaseResult(
        nodeid=name, case_id=name, file="f", variant=Variant(model=model), outcome=outcome, attempts=tuple(attempts),
        complexity=complexity, shape={"depth": depth},
    )  # fmt: skip


RUN = [
    result("a", score(1.0)),
    result("b", score(0.5), score(0.7), complexity="hard", depth=5),
    result("c", outcome=Outcome.ERROR),
    result("d", outcome=Outcome.NOT_RUN),
    result("e", score(0.0, failure="no_json"), outcome=Outcome.FAILED, complexity="medium", depth=3),
]


def test_rows_are_cases_with_the_mean_of_their_repeats():
    rows = case_rows(RUN)
    assert [(row.weight, row.depth) for row in rows] == [(1.0, 2), (3.0, 5), (2.0, 3)]
    assert rows[1].measures["f1"] == pytest.approx(0.6)
    (half,) = case_rows([result("a", score(1.0), score(0.0), broken=(1,))])
    assert half.measures["f1"] == 1.0, "a broken repeat takes no part"
    assert case_rows([result("a", score(0.0), broken=(0,))]) == []


def test_what_there_is_nothing_for_is_left_out():
    assert (measure_means([]), by_depth([])) == ({}, {})
    assert case_rows([result("c", outcome=Outcome.ERROR)]) == []
    unknown = measure_means(case_rows([result("a", score(1.0), complexity=None)]), samples=10)
    assert unknown["f1"].weighted is None
    rows = [CaseMeasures(measures={"f1": 1.0, "recall": 1.0}), CaseMeasures(measures={"f1": 0.0})]
    assert list(measure_means(rows, samples=10)) == ["f1"]
    assert by_depth(rows)["all"] == {"syntax": 0.0, "key_match": 0.0, "strict": 0.0}


def leaf(pattern, status, score=0.0):
    return field_result(pattern.replace("[]", "[0]"), status=status, score=score, pattern=pattern)


def test_the_table_of_fields_counts_by_pattern():
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
    assert field_table([]) == {}


def test_struct_extract_eval_s_numbers_of_nothing():
    """Its published runs: `tests/core/test_vectors_xeval.py`."""
    run = struct_eval_run([])
    assert (run.mean_precision, run.mean_recall, run.mean_f1, run.total_records) == (1.0, 1.0, 1.0, 0)
    undecided = struct_eval_run([[leaf("a", "judge_error")]])
    assert (undecided.mean_f1, undecided.total_fields, undecided.total_batch_errors) == (1.0, 0, 1)
