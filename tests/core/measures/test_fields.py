"""Numbers over results, counted by hand."""

from __future__ import annotations

import pytest

from pytest_extract import score
from pytest_extract.core.measures import count_leaves, field_measures
from pytest_extract.core.results import FieldResult, Status
from pytest_extract.core.values import FieldPath
from tests.core.schemas import INTEGER, TEXT, obj, table


def result(status, score=None, weight=1.0):
    value = score if score is not None else float(status is Status.MATCH)
    return FieldResult(FieldPath(("a",)), "a", "m", {}, status, value, status is Status.MATCH, 1, 1, None, weight)


MATCH, MISMATCH, OMISSION = Status.MATCH, Status.MISMATCH, Status.OMISSION
HALLUCINATION, SKIPPED, JUDGE_ERROR = Status.HALLUCINATION, Status.SKIPPED, Status.JUDGE_ERROR
CASES = {
    "all-kinds": ([MATCH, MATCH, MISMATCH, OMISSION, HALLUCINATION, SKIPPED, JUDGE_ERROR], 0.5, 0.5, 0.5),
    "nothing": ([], 1.0, 1.0, 1.0),
    "only-skipped": ([SKIPPED], 1.0, 1.0, 1.0),
    "only-omitted": ([OMISSION], 1.0, 0.0, 0.0),
    "only-invented": ([HALLUCINATION], 0.0, 1.0, 0.0),
    "only-wrong": ([MISMATCH], 0.0, 0.0, 0.0),
    "one-omitted": ([MATCH, OMISSION], 1.0, 0.5, 2 / 3),
}


@pytest.mark.parametrize(("statuses", "precision", "recall", "f1"), CASES.values(), ids=CASES)
def test_precision_recall_and_f1(statuses, precision, recall, f1):
    counts = count_leaves([result(status) for status in statuses])
    assert (counts.precision, counts.recall, counts.f1) == pytest.approx((precision, recall, f1))


def test_scores_count_in_part_and_by_weight_and_skipped_fields_not():
    assert count_leaves([result(MISMATCH, 0.5), result(MATCH)]).precision == 0.75
    assert field_measures([result(MATCH, weight=3.0), result(MISMATCH, 0.2)], [])["mean_score"] == pytest.approx(0.8)
    for others in ([result(MISMATCH), result(SKIPPED)], [result(JUDGE_ERROR)]):
        assert field_measures([result(MATCH), *others], [])["pass_rate"] == 0.5


def test_what_nothing_was_evaluated_gives_is_for_the_semantics_to_say():
    measures = field_measures([], [], empty=0.0)
    assert (measures.pop("pass_rate"), measures.pop("mean_score")) == (0.0, 0.0)
    assert set(measures.values()) == {1.0}
    assert field_measures([result(MATCH, weight=0.0)], [])["mean_score"] == 1.0


SIZES = {"type": "array", "items": INTEGER}
BILL = obj(vendor=TEXT, note={"type": ["string", "null"]}, items=table(name=TEXT, sizes=SIZES))
ROWS, WRONG = [{"name": "bolt", "sizes": [1, 2]}, {"name": "nut", "sizes": [3]}], {"name": "nut", "sizes": [4]}


@pytest.mark.parametrize(
    ("gold", "output", "expected"),
    [
        pytest.param({"vendor": "A"}, {"vendor": "A"}, (1.0, 1.0, 1.0, 1.0), id="two-places-kept-empty"),
        pytest.param({"vendor": "A"}, {"vendor": "A", "note": "x"}, (0.5, 0.5, 1.0, 1.0), id="a-value-invented"),
        pytest.param({"note": None}, {"note": None, "vendor": "A"}, (0.0, 2 / 3, 1.0, 1.0), id="null-kept"),
        pytest.param({"items": ROWS}, {"items": ROWS[::-1]}, (1.0, 1.0, 1.0, 1.0), id="rows-in-another-order"),
        pytest.param({"items": ROWS}, {"items": ROWS[:1]}, (0.6, 1.0, 1.0, 0.5), id="a-row-missing"),
        pytest.param({"items": ROWS[:1]}, {"items": ROWS}, (0.6, 1.0, 0.5, 1.0), id="a-row-invented"),
        pytest.param({"items": ROWS}, {"items": [ROWS[0], WRONG]}, (2 / 3, 1.0, 0.5, 0.5), id="a-row-wrong-inside"),
        pytest.param({"items": ROWS}, {}, (0.0, 1.0, 1.0, 0.0), id="no-row-at-all"),
    ],
)
def test_emptiness_and_rows_are_measured_by_themselves(gold, output, expected):
    measures = score(BILL, gold, output).measures
    names = ("leaf_accuracy", "kept_empty", "row_precision", "row_recall")
    assert tuple(measures[name] for name in names) == pytest.approx(expected)


def test_rows_of_an_output_that_breaks_its_schema_are_not_right():
    measures = score(BILL, {"items": ROWS}, {"items": ROWS, "vendor": 1}).measures
    assert (measures["row_f1"], measures["kept_empty"]) == (0.0, 0.0)
