"""Permutations of runs within cases, against enumeration."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_extract.core.stats.exact import sign_flip
from pytest_extract.core.stats.permutation import (
    Arrangements,
    LaneSum,
    LaterRuns,
    Runs,
    Statistic,
    lane_values,
    lanes_at_least,
)

values = st.integers(0, 4).map(lambda number: Fraction(number, 4))
few_runs = st.builds(
    Runs,
    st.lists(values, min_size=1, max_size=3).map(tuple),
    st.lists(values, min_size=1, max_size=2).map(tuple),
)
suites = st.lists(few_runs, min_size=1, max_size=4)


def permuted(cases, **options):
    """Return the statistic of some cases in all its arrangements."""
    arrangements = Arrangements([case.shape for case in cases], **options)
    statistic, later = Statistic(cases), LaterRuns(arrangements.shapes)
    for index, lanes in enumerate(arrangements):
        statistic.take(index, lanes)
        later.take(index, lanes)
    statistic.finish()
    return arrangements, statistic, later


def p_of(cases, **options):
    arrangements, statistic, _ = permuted(cases, **options)
    return arrangements.p_value(statistic.at_least(statistic.observed, arrangements.every).bit_count())


def every_loss(cases, shift=0):
    """The definition: the total loss in each way to choose the later runs, the truly later ones lowered by `shift`."""
    ways = []
    for case in cases:
        runs = [*case.before, *(value - shift for value in case.after)]
        picks = itertools.combinations(range(len(runs)), len(case.after))
        totals = [(sum(runs[run] for run in pick), sum(runs)) for pick in picks]
        ways.append([late / len(case.after) - (all_ - late) / len(case.before) for late, all_ in totals])
    return [sum(choice) for choice in itertools.product(*ways)]


def p_by_definition(cases, shift=0):
    observed = sum(case.loss - shift for case in cases)
    losses = every_loss(cases, shift)
    return sum(loss >= observed for loss in losses) / len(losses)


@given(suites)
def test_it_is_the_enumeration_of_all_ways_to_rearrange_runs_within_cases(cases):
    assert p_of(cases) == pytest.approx(p_by_definition(cases), abs=1e-12)


@given(st.lists(st.integers(-4, 4).map(lambda number: Fraction(number, 4)), max_size=10))
def test_with_one_run_a_side_it_is_the_sign_flip_test(changes):
    cases = [Runs((max(change, Fraction(0)),), (max(-change, Fraction(0)),)) for change in changes]
    assert p_of([case for case in cases if case.varies]) == pytest.approx(sign_flip(changes).p, abs=1e-12)


@given(suites)
def test_the_observed_arrangement_is_the_first_lane(cases):
    statistic = permuted(cases)[1]
    assert lanes_at_least(statistic.digits, statistic.observed, 1) & 1
    assert not lanes_at_least(statistic.digits, statistic.observed + 1, 1) & 1


@settings(max_examples=25)
@given(suites)
def test_a_sample_has_the_mean_and_the_variance_that_are_worked_out(cases):
    many = cases * 16
    arrangements, statistic, _ = permuted(many, lanes=2_000)
    if statistic.sd:
        losses = lane_values(statistic.digits, arrangements.lanes)
        mean = sum(losses) / len(losses)
        spread = math.sqrt(sum((loss - mean) ** 2 for loss in losses) / len(losses))
        assert mean == pytest.approx(statistic.mean, abs=5 * statistic.sd / math.sqrt(2_000))
        assert spread == pytest.approx(statistic.sd, rel=0.15)


@pytest.mark.parametrize("shape", [(1, 1), (5, 1), (1, 4), (3, 3), (2, 3), (7, 5)])
def test_every_way_to_choose_the_later_runs_is_as_likely(shape):
    before, after = shape
    lanes = Arrangements([shape], lanes=40_000).further(before, after)
    chosen = [tuple(run for run, mask in enumerate(lanes) if mask >> lane & 1) for lane in range(1, 4_000)]
    assert {len(choice) for choice in chosen} == {after}
    assert tuple(run for run, mask in enumerate(lanes) if mask & 1) == tuple(range(before, before + after))
    share = after / (before + after)
    for mask in lanes:
        assert mask.bit_count() / 40_000 == pytest.approx(share, abs=0.015)
    pairs = [(mask & other).bit_count() / 40_000 for mask, other in itertools.combinations(lanes, 2)]
    both = share * (after - 1) / (before + after - 1)
    assert pairs == pytest.approx([both] * len(pairs), abs=0.015)


@given(st.lists(st.tuples(st.lists(st.booleans(), min_size=8, max_size=8), st.integers(0, 300)), max_size=12))
def test_sums_by_lane_are_sums(added):
    total = LaneSum()
    for bits, weight in added:
        total.add(sum(bit << lane for lane, bit in enumerate(bits)), weight)
    expected = [sum(weight for bits, weight in added if bits[lane]) for lane in range(8)]
    digits = total.digits()
    assert lane_values(digits, 8) == expected
    for least in {0, 1, *expected, max(expected) + 1}:
        reached = lanes_at_least(digits, least, 255)
        assert [bool(reached >> lane & 1) for lane in range(8)] == [number >= least for number in expected]


@given(suites, st.sampled_from([0.03, 0.05, 0.2]))
def test_the_interval_leaves_out_no_change_exactly_if_the_test_is_significant(cases, level):
    arrangements, statistic, later = permuted(cases)
    most = arrangements.most(level)
    limits = later.limits(statistic, arrangements.lanes)
    assert (limits.lower(most) > 0) == (p_of(cases) <= level)


@settings(max_examples=40)
@given(suites, st.sampled_from([0.05, 0.2]))
def test_the_limit_is_where_the_test_of_that_drop_becomes_significant(cases, level):
    arrangements, statistic, later = permuted(cases)
    lower = later.limits(statistic, arrangements.lanes).lower(arrangements.most(level))
    if math.isfinite(lower):
        assert p_by_definition(cases, Fraction(lower - 0.001)) <= level
        assert p_by_definition(cases, Fraction(lower + 0.001)) > level


def test_few_cases_exclude_nothing():
    arrangements, statistic, later = permuted([Runs((0,), (1,))] * 3)
    limits = later.limits(statistic, arrangements.lanes)
    most = arrangements.most(0.025)
    assert (limits.lower(most), limits.upper(most)) == (-math.inf, math.inf)


def test_values_without_a_small_common_unit_are_rounded_to_a_grid():
    cases = [Runs((0.1234567 * number, 0.2), (0.7654321 / number,)) for number in range(1, 7)]
    assert p_of(cases) == pytest.approx(p_by_definition(cases), abs=0.005)


def test_a_sampled_p_value_has_two_standard_errors_added():
    sampled = Arrangements([(1, 1)] * 40, lanes=2_500)
    assert not sampled.counted
    assert sampled.p_value(100) == pytest.approx(0.04 + 2 * math.sqrt(0.04 * 0.96 / 2_500))
    assert sampled.p_value(sampled.most(0.05)) <= 0.05 < sampled.p_value(sampled.most(0.05) + 1)
    assert Arrangements([(1, 1)] * 4).p_value(Arrangements([(1, 1)] * 4).lanes) == 1.0
