"""Calibration: the error against a slow twin, and intervals that hold the truth."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_extract.core.aggregate.confidence import ConfidentValue, calibrate
from tests.core.aggregate.confident_suites import calibrated, over_confident, suite

VALUES = st.lists(
    st.lists(st.tuples(st.sampled_from([0.0, 0.1, 0.25, 0.5, 0.55, 0.9, 1.0]), st.booleans()), max_size=6),
    min_size=1,
    max_size=8,
)


def cases_of(drawn):
    return [[ConfidentValue(*value) for value in values] for values in drawn]


@settings(max_examples=60)
@given(VALUES)
def test_the_numbers_are_those_of_a_slow_twin(drawn):
    found = calibrate(cases_of(drawn), resamples=2)
    flat = [value for values in drawn for value in values]
    if not flat:
        assert found is None
        return
    error = 0.0
    for index in range(10):
        inside = [value for value in flat if min(int(value[0] * 10), 9) == index]
        error += abs(sum(confidence - right for confidence, right in inside)) / len(flat)
    assert found.error.mean == pytest.approx(error)
    assert found.error.low <= found.error.mean <= found.error.high
    assert found.accuracy.mean == pytest.approx(sum(right for _, right in flat) / len(flat))


def test_over_confidence_is_an_error_and_calibration_is_none():
    source = random.Random(8)
    good = calibrate(cases_of(suite(source, calibrated, cases=150, fields=8)), resamples=100)
    bad = calibrate(cases_of(suite(source, over_confident, cases=150, fields=8)), resamples=100)
    assert good.error.mean < 0.03
    assert bad.error.low > 0.1
    assert bad.error.low < 2 * (1 - bad.confidence) < bad.error.high, "what it is in truth"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("truth", "error"), [(calibrated, 0.0), (over_confident, 0.2)], ids=["calibrated", "over-confident"]
)
@pytest.mark.parametrize("cases", [50, 400])
@pytest.mark.parametrize("together", [0, 1])
def test_the_interval_of_the_error_holds_the_truth(truth, error, cases, together):
    source = random.Random(10)
    suites = [suite(source, truth, cases=cases, fields=2, together=together) for _ in range(100)]
    intervals = [calibrate(cases_of(drawn), resamples=200).error for drawn in suites]
    assert sum(not each.low <= error <= each.high for each in intervals) <= 10


def test_intervals_are_by_case():
    source = random.Random(9)
    alone = calibrate(cases_of(suite(source, over_confident, cases=60, fields=10)), resamples=150).accuracy
    together = calibrate(
        cases_of(suite(source, over_confident, cases=60, fields=10, together=1)), resamples=150
    ).accuracy
    assert together.high - together.low > 1.5 * (alone.high - alone.low)


def test_values_without_confidence_and_nothing():
    assert calibrate([]) is None
    assert calibrate([[ConfidentValue(None, True)]]) is None
    found = calibrate([[ConfidentValue(None, False), ConfidentValue(1.0, True)]], resamples=3)
    assert (found.values, found.accuracy.mean, found.error.mean) == (1, 1.0, 0.0)
