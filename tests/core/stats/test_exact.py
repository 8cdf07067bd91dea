"""McNemar's test and the correction for several tests, against textbook numbers."""

from __future__ import annotations

import pytest

from pytest_extract.core.stats import attainable, mcnemar


@pytest.mark.parametrize(
    ("broken", "fixed", "expected"),
    [(0, 0, 1.0), (1, 0, 0.5), (0, 1, 1.0), (5, 0, 1 / 32), (9, 0, 1 / 512), (8, 2, 56 / 1024), (2, 8, 1013 / 1024)],
)
def test_mcnemar_is_the_binomial_tail(broken, fixed, expected):
    assert mcnemar(broken, fixed) == pytest.approx(expected, abs=1e-15)


def test_mcnemar_with_many_flips_stays_a_number():
    assert 0 < mcnemar(5200, 4800) < 0.0001


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
