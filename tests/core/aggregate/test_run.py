"""A run's aggregate from case results."""

from __future__ import annotations

import pytest

from pytest_extract.core.aggregate import (
    CaseMeasures,
    aggregate,
    by_depth,
    case_rows,
    measure_means,
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
    attempts = tuple(
        Attempt(index=index, outcome=Outcome.BROKEN if index in broken else outcome, score=given)
        for index, given in enumerate(scores)
    )
    return CaseResult(
        nodeid=name,
        case_id=name,
        file="f",
        variant=Variant(model=model),
        outcome=outcome,
        attempts=attempts,
        complexity=complexity,
        shape={"depth": depth},
    )


RUN = [
    result("a", score(1.0)),
    result("b", score(0.5), score(0.7), complexity="hard", depth=5),
    result("c", outcome=Outcome.BROKEN),
    result("d", outcome=Outcome.NOT_RUN),
    result("e", score(0.0, failure="no_json"), outcome=Outcome.FAILED, complexity="medium", depth=3),
]


def test_rows_are_cases_with_the_mean_of_their_repeats():
    rows = case_rows(RUN)
    assert [(row.case, row.weight, row.depth) for row in rows] == [("a", 1.0, 2), ("b", 3.0, 5), ("e", 2.0, 3)]
    assert rows[1].measures["f1"] == pytest.approx(0.6)


def test_a_broken_repeat_takes_no_part():
    (row,) = case_rows([result("a", score(1.0), score(0.0), broken=(1,))])
    assert row.measures["f1"] == 1.0
    assert case_rows([result("a", score(0.0), broken=(0,))]) == []


def test_means_are_plain_and_weighted():
    found = aggregate(RUN, samples=50)
    assert (found.cases, found.scored, found.broken, found.not_run) == (5, 3, 1, 1)
    means = found.measures["pass_rate"]
    assert means.plain.mean == pytest.approx((1.0 + 0.6 + 0.0) / 3)
    assert means.weighted is not None
    assert means.weighted.mean == pytest.approx((1.0 + 3 * 0.6 + 0.0) / 6)
    assert means.plain.low <= means.plain.mean <= means.plain.high
    assert list(found.measures) == list(MEASURES)


def test_without_known_complexity_there_is_no_weighted_mean():
    found = aggregate([result("a", score(1.0), complexity=None)], samples=10)
    assert found.sob_weighted is None
    assert found.measures["f1"].weighted is None


def test_all_systems_have_their_numbers():
    found = aggregate(RUN, samples=50)
    assert found.rates.valid_rate == pytest.approx(3 / 4)
    assert found.rates.failures == {"no_json": 1}
    assert found.sob is not None
    assert found.sob.metrics["schema_compliance"].mean == pytest.approx((1.0 + 0.6) / 3)
    assert found.by_depth["medium"] == {"syntax": 0.0, "key_match": 0.0, "strict": 0.0}
    assert found.by_depth["hard"]["strict"] == pytest.approx(0.6)
    assert found.by_depth["all"]["strict"] == pytest.approx(1.6 / 3)
    assert found.fields["a"].match == 1
    assert found.fields["a"].mismatch == 2
    assert found.fields["a"].records == {"a", "b"}


def test_a_run_of_nothing():
    found = aggregate([])
    assert (found.cases, found.measures, found.sob, found.by_depth) == (0, {}, None, {})
    assert aggregate([result("c", outcome=Outcome.BROKEN)]).scored == 0


def test_measures_that_not_every_row_has_are_left_out():
    rows = [CaseMeasures(case="a", measures={"f1": 1.0, "recall": 1.0}), CaseMeasures(case="b", measures={"f1": 0.0})]
    assert list(measure_means(rows, samples=10)) == ["f1"]
    assert by_depth(rows)["all"] == {"syntax": 0.0, "key_match": 0.0, "strict": 0.0}


@pytest.mark.parametrize("times", [1, 400], ids=["few cases", "many cases"])
def test_some_measures_alone_have_the_plain_intervals_of_all(times):
    results = [result("a", score(1.0)), result("a", score(1.0)), result("b", score(0.0))] * times
    some = aggregate(results, samples=5, measures=("f1",))
    assert some.measures["f1"].plain == aggregate(results, samples=5).measures["f1"].plain
    assert (some.measures["f1"].weighted, some.sob, some.fields) == (None, None, {})
    assert some.rates == aggregate(results, samples=5).rates
