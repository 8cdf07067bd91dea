"""The exact test of a share by cases: the binomial test where fields stand alone, and its error rate where they do not."""

from __future__ import annotations

import math
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_extract.core.stats import share_p_value, share_upper_bound


def binomial(wrong: int, cases: int, rate: float) -> float:
    return sum(math.comb(cases, k) * rate**k * (1 - rate) ** (cases - k) for k in range(wrong + 1))


@pytest.mark.parametrize("cases", [1, 2, 3, 7, 19, 20, 21, 59, 300])
@pytest.mark.parametrize("rate", [0.01, 0.05, 0.3, 0.9])
@pytest.mark.parametrize("size", [1, 12])
def test_fields_that_fall_together_give_the_binomial_test(cases, rate, size):
    for wrong in {0, 1, min(cases, 4)}:
        part = [size] * wrong + [0] * (cases - wrong)
        assert share_p_value(part, [size] * cases, rate) == pytest.approx(binomial(wrong, cases, rate), abs=1e-9)


def test_the_rule_of_three():
    assert share_upper_bound([0] * 59, [1] * 59) == pytest.approx(1 - 0.05 ** (1 / 59), abs=1e-5)
    assert share_upper_bound([0] * 59, [30] * 59) == pytest.approx(1 - 0.05 ** (1 / 59), abs=1e-5)


def test_nothing_shows_nothing():
    assert share_p_value([], [], 0.5) == share_p_value([0.0], [0.0], 0.5) == 1.0
    assert share_upper_bound([], []) == share_upper_bound([0.0], [0.0]) == 1.0


@pytest.mark.parametrize("rate", [0, 1, -0.1, 1.5])
def test_a_rate_that_is_none_is_refused(rate):
    with pytest.raises(ValueError, match="between 0 and 1"):
        share_p_value([1], [2], rate)


CASES = st.lists(st.tuples(st.integers(0, 12), st.integers(0, 12)), min_size=1, max_size=15)


@settings(max_examples=40)
@given(CASES, st.floats(0.01, 0.99))
def test_it_is_a_probability_that_grows_with_each_wrong_field(cases, rate):
    part, whole = [min(pair) for pair in cases], [max(pair) for pair in cases]
    p = share_p_value(part, whole, rate)
    assert 0 <= p <= 1
    for index, (one, size) in enumerate(zip(part, whole, strict=True)):
        if one < size:
            assert share_p_value([*part[:index], one + 1, *part[index + 1 :]], whole, rate) >= p - 1e-9


@settings(max_examples=25)
@given(CASES)
def test_the_bound_is_what_the_test_does_not_reject(cases):
    part, whole = [min(pair) for pair in cases], [max(pair) for pair in cases]
    bound = share_upper_bound(part, whole)
    if sum(whole):
        assert bound >= sum(part) / sum(whole) - 1e-6
    if 0.001 < bound < 0.999:
        assert share_p_value(part, whole, bound + 1e-4) <= 0.05 + 1e-6
        assert share_p_value(part, whole, bound - 1e-4) >= 0.05 - 1e-6


def drawn(source, kind, cases, rate):
    """Draw parts and wholes whose true share is `rate`: fields alone, together, or with a rate of each case's own."""
    part, whole = [], []
    for _ in range(cases):
        size = source.randint(1, 12)
        own = source.betavariate(rate / 2, (1 - rate) / 2) if kind == "own rates" else rate
        together = size * (source.random() < rate)
        part.append(together if kind == "together" else sum(source.random() < own for _ in range(size)))
        whole.append(size)
    return part, whole


@pytest.mark.parametrize("kind", ["alone", "together", "own rates"])
@pytest.mark.parametrize(("cases", "rate"), [(30, 0.15), (80, 0.05)])
def test_a_share_of_exactly_the_rate_is_called_smaller_in_at_most_five_percent(kind, cases, rate):
    source = random.Random(5)
    suites = 120
    wrongly = sum(share_p_value(*drawn(source, kind, cases, rate), rate) <= 0.05 for _ in range(suites))
    assert wrongly <= 0.05 * suites + 2 * math.sqrt(0.05 * 0.95 * suites)
