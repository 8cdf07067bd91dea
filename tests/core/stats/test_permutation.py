"""Permutations of runs within cases, against enumeration."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_extract.core.stats import Permutations, Runs, mcnemar

values = st.integers(0, 4).map(lambda number: number / 4)
few_runs = st.builds(
    Runs,
    st.lists(values, min_size=1, max_size=3).map(tuple),
    st.lists(values, min_size=1, max_size=2).map(tuple),
)
suites = st.lists(few_runs, min_size=1, max_size=4)


def permuted(cases, **options):
    """Return the permutations of some cases, and the one statistic of them all."""
    permutations = Permutations([case.shape for case in cases], [dict(enumerate(cases))], **options)
    return permutations, permutations.statistics[0]


def p_of(cases, **options):
    permutations, statistic = permuted(cases, **options)
    return permutations.p_value(statistic.as_large())


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
    return sum(loss >= observed - 1e-9 for loss in losses) / len(losses)


@given(suites)
def test_it_is_the_enumeration_of_all_ways_to_rearrange_runs_within_cases(cases):
    assert p_of(cases) == pytest.approx(p_by_definition(cases), abs=1e-12)


@given(st.integers(0, 6), st.integers(0, 6))
def test_with_one_run_a_side_and_one_field_it_is_mcnemars_test(broken, fixed):
    cases = [Runs((0,), (1,))] * broken + [Runs((1,), (0,))] * fixed
    assert p_of(cases) == pytest.approx(mcnemar(broken, fixed), abs=1e-12)


@pytest.mark.parametrize("shape", [(1, 1), (5, 1), (1, 4), (3, 3), (2, 3), (7, 5)])
def test_every_way_to_choose_the_later_runs_is_as_likely(shape):
    """The loss of a case whose only run that is not 0 is `run` says whether that run is taken for a later one."""
    before, after = shape
    every = [[float(run == place) for place in range(before + after)] for run in range(before + after)]
    single = [{0: Runs(tuple(row[:before]), tuple(row[before:]))} for row in every]
    many = {case: Runs((0.0,), (1.0,)) for case in range(1, 20)}  # more arrangements than lanes: they are drawn
    permutations = Permutations([shape, *[(1, 1)] * 19], [*single, many], lanes=40_000)
    assert not permutations.counted
    later = np.array([statistic.sums > 0 for statistic in permutations.statistics[:-1]])
    assert {*later.sum(axis=0).tolist()} == {after}
    assert later[:, 0].tolist() == [False] * before + [True] * after
    share = after / (before + after)
    both = share * (after - 1) / (before + after - 1)
    assert later.mean(axis=1) == pytest.approx([share] * len(later), abs=0.015)
    for one, other in itertools.combinations(later, 2):
        assert (one & other).mean() == pytest.approx(both, abs=0.015)


@given(suites, st.sampled_from([0.03, 0.05, 0.2]))
def test_the_interval_leaves_out_no_change_exactly_if_the_test_is_significant(cases, level):
    permutations, statistic = permuted(cases)
    limits = permutations.limits(statistic)
    assert (limits.lower(permutations.most(level)) > 0) == (p_of(cases) <= level)


@settings(max_examples=40)
@given(suites, st.sampled_from([0.05, 0.2]))
def test_the_limit_is_where_the_test_of_that_drop_becomes_significant(cases, level):
    permutations, statistic = permuted(cases)
    lower = permutations.limits(statistic).lower(permutations.most(level))
    if math.isfinite(lower):
        assert p_by_definition(cases, lower - 0.001) <= level
        assert p_by_definition(cases, lower + 0.001) > level


def test_few_cases_exclude_nothing():
    permutations, statistic = permuted([Runs((0,), (1,))] * 3)
    limits, most = permutations.limits(statistic), permutations.most(0.025)
    assert (limits.lower(most), limits.upper(most)) == (-math.inf, math.inf)


def test_values_need_no_common_unit():
    cases = [Runs((0.1234567 * number, 0.2), (0.7654321 / number,)) for number in range(1, 7)]
    assert p_of(cases) == pytest.approx(p_by_definition(cases), abs=1e-12)


def test_a_sampled_p_value_has_two_standard_errors_added():
    sampled = permuted([Runs((0,), (1,))] * 40, lanes=2_500)[0]
    assert not sampled.counted

    def p(count):
        return sampled.p_value(np.arange(2_500) < count)

    assert p(100) == pytest.approx(0.04 + 2 * math.sqrt(0.04 * 0.96 / 2_500))
    assert p(sampled.most(0.05)) <= 0.05 < p(sampled.most(0.05) + 1)
    counted = permuted([Runs((0,), (1,))] * 4)[0]
    assert counted.p_value(np.ones(counted.lanes, dtype=bool)) == 1.0
