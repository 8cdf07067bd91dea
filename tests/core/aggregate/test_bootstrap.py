"""Intervals of columns that share the draws of the first."""

from __future__ import annotations

import random

import pytest

from pytest_extract.core.aggregate import intervals
from tests.cpu_time import cpu_seconds

RNG = random.Random(3)
COLUMNS = {
    "first": [float(RNG.random() < 0.8) for _ in range(300)],
    "same": [],
    "other": [RNG.choice((0.25, 0.5, 1.0)) for _ in range(300)],
}
COLUMNS["same"] = COLUMNS["first"]
WEIGHTS = [RNG.choice((0.0, 1.0, 3.0)) for _ in range(300)]
both = pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["plain", "weighted"])


def flat(found):
    return [number for each in found.values() for number in (each.mean, each.low, each.high)]


@both
def test_the_first_column_is_drawn_as_before_and_the_others_with_it(weights):
    own = intervals(COLUMNS, weights, samples=200)
    shared = intervals(COLUMNS, weights, samples=200, own_draws=False)
    assert flat({"first": shared["first"]}) == pytest.approx(flat({"first": own["first"]}), rel=1e-12)
    assert shared["same"] == shared["first"]
    assert own["same"] != own["first"]


@both
def test_shared_draws_give_intervals_of_the_same_width(weights):
    own = intervals(COLUMNS, weights, samples=2_000)["other"]
    shared = intervals(COLUMNS, weights, samples=2_000, own_draws=False)["other"]
    assert shared.mean == own.mean
    width = own.high - own.low
    assert (shared.low, shared.high) == pytest.approx((own.low, own.high), abs=0.12 * width)


def test_rows_without_weight_have_a_mean_of_zero():
    found = intervals({"a": [1.0, 0.5]}, [0.0, 0.0], samples=10, own_draws=False)
    assert flat(found) == [0.0, 0.0, 0.0]


def test_columns_that_share_their_draws_take_a_fraction_of_the_time():
    columns = {str(n): [RNG.random() for _ in range(5_000)] for n in range(16)}

    def seconds(**how):
        return cpu_seconds(lambda: intervals(columns, samples=400, **how), calls=2)

    assert 5 * seconds(own_draws=False) < seconds()
