"""Repeats: when to stop, pass^k."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_extract.core.case_result import decided, pass_hat_k


@pytest.mark.parametrize(
    ("passes", "failures", "needed", "of", "expected"),
    [
        (0, 0, 2, 3, False),
        (1, 1, 2, 3, False),
        (2, 0, 2, 3, True),
        (0, 2, 2, 3, True),
        (0, 1, 3, 3, True),
        (2, 0, 3, 3, False),
        (3, 0, 3, 3, True),
        (0, 0, 0, 1, True),
    ],
)
def test_decided(passes, failures, needed, of, expected):
    assert decided(passes, failures, needed, of) is expected


@given(st.integers(1, 6).flatmap(lambda of: st.tuples(st.just(of), st.integers(0, of))), st.data())
def test_stopping_early_never_changes_the_verdict(shape, data):
    of, needed = shape
    run = data.draw(st.lists(st.booleans(), min_size=of, max_size=of))
    made = data.draw(st.integers(0, of))
    passes, failures = sum(run[:made]), made - sum(run[:made])
    futures = {sum(run[:made]) + sum(rest) >= needed for rest in itertools.product((0, 1), repeat=of - made)}
    assert decided(passes, failures, needed, of) is (len(futures) == 1)


def test_pass_hat_k_is_the_share_of_k_runs_that_all_pass():
    runs = [True, True, False, True, False]
    chosen = list(itertools.combinations(runs, 2))
    assert pass_hat_k(3, 5, 2) == pytest.approx(sum(all(pair) for pair in chosen) / len(chosen))
    assert pass_hat_k(3, 5, 1) == pytest.approx(0.6)
    assert pass_hat_k(1, 5, 2) == 0.0


@pytest.mark.parametrize("k", [0, 6])
def test_more_runs_than_were_made_is_an_error(k):
    with pytest.raises(ValueError, match="needs at least"):
        pass_hat_k(3, 5, k)
