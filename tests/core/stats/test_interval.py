"""Bounds of a change: what few cases may and may not prove."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_extract.core.stats import unseen_drop_bound

changes = st.lists(st.integers(-10, 10).map(lambda n: n / 10), min_size=1, max_size=25)


@pytest.mark.parametrize(("cases", "excludes"), [(3, False), (10, False), (25, False), (40, True), (200, True)])
def test_equal_results_exclude_a_drop_of_five_points_only_with_enough_cases(cases, excludes):
    assert (unseen_drop_bound([0.0] * cases, unseen_loss=0.5) < 0.05) is excludes


@pytest.mark.parametrize("cases", [20, 59, 100])
def test_without_any_change_the_bound_is_the_rule_of_three(cases):
    assert unseen_drop_bound([0.0] * cases, unseen_loss=1.0) == pytest.approx(3 / (cases + 1), abs=1e-9)


@given(changes)
def test_the_bound_holds_the_drop_and_the_same_input_gives_the_same_number(values):
    found = unseen_drop_bound(values, unseen_loss=0.5, resamples=300)
    assert found == unseen_drop_bound(values, unseen_loss=0.5, resamples=300)
    assert found >= -sum(values) / len(values) - 1e-9 or found == 0.0


@given(changes)
def test_expecting_more_of_unseen_cases_never_makes_the_bound_smaller(values):
    mild = unseen_drop_bound(values, unseen_loss=0.2, resamples=300)
    assert unseen_drop_bound(values, unseen_loss=1.0, resamples=300) >= mild - 1e-9


def test_a_true_drop_is_rarely_excluded():
    """At 95 % confidence, a bound below the true drop comes up in about one suite of twenty, or less."""
    source = random.Random(11)
    misses = 0
    for _ in range(200):
        values = [-sum(source.random() < 0.05 for _ in range(20)) / 20 for _ in range(30)]
        misses += unseen_drop_bound(values, unseen_loss=0.5, resamples=200) < 0.05
    assert misses <= 15
