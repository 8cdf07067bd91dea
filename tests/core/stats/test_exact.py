"""Exact tests and their correction, against enumeration and textbook numbers."""

from __future__ import annotations

import itertools
import random
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_extract.core.stats.exact import attainable, mcnemar, sign_flip

small_changes = st.lists(st.integers(-6, 6).map(lambda n: Fraction(n, 7)), max_size=9)


def enumerated(changes):
    """The definition: of all ways to choose signs, the share that loses at least as much."""
    signs = list(itertools.product((1, -1), repeat=len(changes)))
    seen = sum(changes)
    return sum(sum(s * abs(c) for s, c in zip(sign, changes, strict=True)) <= seen for sign in signs) / len(signs)


@pytest.mark.parametrize(
    ("broken", "fixed", "expected"),
    [(0, 0, 1.0), (1, 0, 0.5), (0, 1, 1.0), (5, 0, 1 / 32), (9, 0, 1 / 512), (8, 2, 56 / 1024), (2, 8, 1013 / 1024)],
)
def test_mcnemar_is_the_binomial_tail(broken, fixed, expected):
    assert mcnemar(broken, fixed) == pytest.approx(expected, abs=1e-15)


def test_mcnemar_with_many_flips_stays_a_number():
    assert 0 < mcnemar(5200, 4800) < 0.0001


@given(small_changes)
def test_sign_flip_is_the_enumeration(changes):
    result = sign_flip(changes)
    assert result.p == pytest.approx(enumerated(changes), abs=1e-12)
    assert result.smallest == 0.5 ** sum(change != 0 for change in changes)


@given(st.integers(0, 30), st.integers(0, 30))
def test_with_one_field_a_case_it_is_mcnemar(broken, fixed):
    assert sign_flip([-1] * broken + [1] * fixed).p == pytest.approx(mcnemar(broken, fixed), abs=1e-12)


@given(small_changes.map(lambda changes: changes[:7]), st.sampled_from([0.01, 0.05, 0.2]))
def test_it_never_says_worse_too_often_when_signs_are_a_coin_toss(changes, alpha):
    p_values = [
        sign_flip([sign * change for sign, change in zip(signs, changes, strict=True)]).p
        for signs in itertools.product((1, -1), repeat=len(changes))
    ]
    assert sum(p <= alpha for p in p_values) <= alpha * len(p_values)


def test_cases_without_change_do_not_count():
    assert sign_flip([Fraction(-1, 3), 0, Fraction(0), Fraction(1, 5)]) == sign_flip([Fraction(-1, 3), Fraction(1, 5)])
    assert sign_flip([]) == sign_flip([0, 0.0]) == (1.0, 1.0)


def test_changes_without_a_small_common_unit_are_rounded_and_still_right():
    source = random.Random(3)
    changes = [source.gauss(-0.1, 0.3) for _ in range(14)]
    assert sign_flip(changes).p == pytest.approx(enumerated(changes), abs=0.002)


def test_thousands_of_cases_give_a_p_value_that_is_never_too_small():
    source = random.Random(4)
    even = [source.choice((-1, 1)) for _ in range(3000)]
    lost = even.count(-1)
    assert sign_flip(even).p == pytest.approx(mcnemar(lost, 3000 - lost), rel=1e-3)
    assert sign_flip([-1] * 3000).p < 1e-12
    assert sign_flip(even[:2000]).p == pytest.approx(mcnemar(even[:2000].count(-1), even[:2000].count(1)), abs=1e-9)


@pytest.mark.parametrize(
    ("smallest", "expected"),
    [
        ([], ()),
        ([1.0] * 50, ()),
        ([0.001, *[1.0] * 50], (0,)),
        ([0.03, 0.03, 0.001], (2,)),
        ([0.02, 0.02, 0.001], (2,)),
        ([0.01, 0.01, 0.001], (0, 1, 2)),
        ([0.03, 1.0], (0,)),
    ],
)
def test_patterns_that_cannot_be_significant_are_not_paid_for(smallest, expected):
    assert attainable(smallest, 0.05) == expected
