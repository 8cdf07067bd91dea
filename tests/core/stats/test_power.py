"""What would decide: numbers that, followed, do decide."""

from __future__ import annotations

import pytest

from pytest_extract.core.stats.interval import drop_bounds
from pytest_extract.core.stats.power import Sample, needs


def ask(changes, *, repeats=1, noise=None, price=None):
    sample = Sample(changes=changes, repeats=repeats, noise=noise)
    return needs(sample, margin=0.05, alpha=0.025, confidence=0.95, unseen_loss=0.5, cost_per_call=price)


def test_nothing_to_learn_from():
    assert ask([]) is None


def test_following_the_advice_on_equal_results_decides():
    asked = ask([0.0] * 3, price=0.01)
    assert asked.towards == "not worse"
    assert drop_bounds([0.0] * (3 + asked.cases), unseen_loss=0.5).worst < 0.05
    assert drop_bounds([0.0] * (3 + asked.cases - 8), unseen_loss=0.5).worst >= 0.05
    assert asked.cases_calls == 2 * asked.cases
    assert asked.cases_cost_usd == pytest.approx(0.02 * asked.cases)


def test_repeats_do_not_stand_in_for_cases_that_were_never_seen():
    asked = ask([0.0] * 3)
    assert (asked.repeats, asked.repeats_calls, asked.repeats_cost_usd) == (None, None, None)


def test_noise_is_cut_by_repeats_where_cases_suffice():
    changes = [0.2, -0.2] * 30
    asked = ask(changes, price=0.5)
    assert asked.guess
    assert asked.repeats is not None
    assert asked.repeats_calls == 2 * asked.repeats * len(changes)
    assert asked.repeats_cost_usd == pytest.approx(0.5 * asked.repeats_calls)


def test_measured_noise_tells_what_repeats_cannot_mend():
    changes = [0.2, -0.2] * 30
    assert ask(changes, repeats=3, noise=0.0).repeats is None
    assert ask(changes, repeats=3, noise=0.12).repeats is not None
    assert not ask(changes, repeats=3, noise=0.12).guess


def test_a_drop_beyond_the_margin_asks_for_what_shows_it():
    asked = ask([-0.3, 0.0, -0.3])
    assert asked.towards == "worse"
    assert asked.cases > 0


@pytest.mark.parametrize("drop", [0.035, 0.05 - 1e-12], ids=["small", "just below the margin"])
def test_a_real_drop_below_the_margin_shows_as_worse_before_it_shows_to_be_small(drop):
    asked = ask([0.1 - drop, -0.1 - drop] * 8)
    assert asked.towards == "worse"
    assert asked.cases > 0


def test_where_the_bound_is_nearer_than_the_drop_it_is_what_decides():
    assert ask([0.02, -0.03] * 8).towards == "not worse"


def test_an_unpriced_model_costs_unknown_not_nothing():
    assert ask([0.0] * 3).cases_cost_usd is None


def test_the_advice_counts_on_losses_as_large_as_were_seen():
    mild, grave = ask([0.02, -0.02] * 5), ask([0.9, -0.9] * 5)
    assert mild.cases < grave.cases


@pytest.mark.parametrize("changes", [[0.05, -0.05] * 10, [0.1, 0.0, -0.1, 0.0] * 5, [0.0] * 19 + [-0.1]])
def test_following_the_advice_on_noisy_results_decides(changes):
    """The sample is repeated until it has about the advised size; the real bound must then be near the margin."""
    asked = ask(changes)
    size = len(changes) + asked.cases
    repeated = (changes * (size // len(changes) + 1))[:size]
    assert drop_bounds(repeated, unseen_loss=0.5).worst < 0.055
