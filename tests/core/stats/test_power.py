"""What would decide: ranges that, followed, mostly do decide (`tests/regression/test_simulation.py`)."""

from __future__ import annotations

import pytest

from pytest_extract.core.stats.power import Sample, needs


def ask(changes, *, repeats=1, noise=None, price=None, unseen_loss=0.5):
    sample = Sample(changes=changes, repeats=repeats, noise=noise)
    return needs(sample, margin=0.05, alpha=0.03, confidence=0.95, unseen_loss=unseen_loss, cost_per_call=price)


def test_nothing_to_learn_from():
    assert ask([]) is None


def test_a_range_has_its_calls_on_both_sides_and_their_price():
    low, high = ask([0.0] * 3, price=0.01).cases
    assert 0 < low.count < high.count
    assert [(each.calls, each.cost_usd) for each in (low, high)] == [
        (2 * each.count, pytest.approx(0.02 * each.count)) for each in (low, high)
    ]


def test_an_unpriced_model_costs_unknown_not_nothing():
    assert ask([0.0] * 3).cases[0].cost_usd is None


def test_repeats_are_advised_only_where_their_noise_was_measured_and_is_what_stands_in_the_way():
    changes = [0.2, -0.2] * 30
    assert ask(changes).repeats is None
    assert ask(changes, repeats=3, noise=0.0).repeats is None
    assert ask(changes, repeats=3, noise=0.12).repeats is not None
    assert ask([0.0] * 3, repeats=3, noise=0.0).repeats is None


def test_more_calls_for_repeats_than_for_one_more_case_of_them():
    found = ask([0.2, -0.2] * 30, repeats=3, noise=0.12)
    assert found.repeats[0].calls == 2 * 60 * found.repeats[0].count
    assert found.cases[0].calls == 2 * 3 * found.cases[0].count


def test_the_advice_counts_on_losses_as_large_as_were_seen():
    mild, grave = ask([0.02, -0.02] * 5), ask([0.9, -0.9] * 5)
    assert mild.cases[1].count < grave.cases[1].count
    assert ask([0.0] * 20, unseen_loss=1.0).cases[0].count > ask([0.0] * 20).cases[0].count


def test_few_cases_that_happened_to_fall_forecast_little():
    """Seen as they are, ten cases that fell by 4 points each would need no further case to be called worse."""
    few, many = ask([-0.3, 0.2] * 4 + [-0.3, 0.3]), ask(([-0.3, 0.2] * 4 + [-0.3, 0.3]) * 10)
    assert few.cases[0].count > many.cases[0].count


def test_where_no_number_of_cases_decides_in_four_of_five_the_upper_end_is_open():
    found = ask([-0.02, -0.03] * 200)
    assert found is not None
    assert found.cases is not None
    assert found.cases[1] is None or found.cases[1].count >= found.cases[0].count
