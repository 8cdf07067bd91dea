"""Bounds of a change: what few cases may and may not prove."""

from __future__ import annotations

import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_extract.core.stats.interval import drop_bounds, unseen_drop_bound

changes = st.lists(st.integers(-10, 10).map(lambda n: n / 10), min_size=1, max_size=25)


def test_no_case_no_bound():
    with pytest.raises(ValueError, match="no case"):
        drop_bounds([], unseen_loss=0.5)


@pytest.mark.parametrize(("cases", "excludes"), [(3, False), (10, False), (25, False), (40, True), (200, True)])
def test_equal_results_exclude_a_drop_of_five_points_only_with_enough_cases(cases, excludes):
    found = drop_bounds([0.0] * cases, unseen_loss=0.5)
    assert (found.worst < 0.05) is excludes
    few = cases == 3
    assert (found.change, found.low, found.high) == (0.0, *((-math.inf, math.inf) if few else (0.0, 0.0)))


@pytest.mark.parametrize("cases", [20, 59, 100])
def test_without_any_change_the_bound_is_the_rule_of_three(cases):
    assert drop_bounds([0.0] * cases, unseen_loss=1.0).worst == pytest.approx(3 / (cases + 1), abs=1e-9)


@given(changes)
def test_the_interval_holds_the_change_and_the_same_input_gives_the_same_numbers(values):
    found = drop_bounds(values, unseen_loss=0.5, resamples=300)
    assert found == drop_bounds(values, unseen_loss=0.5, resamples=300)
    assert found.low - 1e-9 <= found.change <= found.high + 1e-9
    assert found.worst >= -found.change - 1e-9 or found.worst == 0.0


@given(changes)
def test_expecting_more_of_unseen_cases_never_makes_the_bound_smaller(values):
    mild = drop_bounds(values, unseen_loss=0.2, resamples=300).worst
    assert drop_bounds(values, unseen_loss=1.0, resamples=300).worst >= mild - 1e-9


def test_a_true_drop_is_rarely_excluded():
    """At 95 % confidence, a bound below the true drop comes up in about one suite of twenty, or less."""
    source = random.Random(11)
    misses = 0
    for _ in range(200):
        values = [-sum(source.random() < 0.05 for _ in range(20)) / 20 for _ in range(30)]
        misses += unseen_drop_bound(values, unseen_loss=0.5, resamples=200) < 0.05
    assert misses <= 15
