"""Tests of changes and shares: against textbook numbers, enumeration, and their rates of error."""

from __future__ import annotations

import itertools
import math
import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_extract.core.case_result import decided
from pytest_extract.core.stats import (
    Permutations,
    Runs,
    mcnemar,
    share_p_value,
    share_upper_bound,
    tarone_count,
    unseen_drop_bound,
)


@pytest.mark.parametrize(
    ("broken", "fixed", "expected"),
    [(0, 0, 1.0), (1, 0, 0.5), (0, 1, 1.0), (5, 0, 1 / 32), (9, 0, 1 / 512), (8, 2, 56 / 1024), (2, 8, 1013 / 1024)],
)
def test_mcnemar_is_the_binomial_tail(broken, fixed, expected):
    assert mcnemar(broken, fixed) == pytest.approx(expected, abs=1e-15)
    assert 0 < mcnemar(5200, 4800) < 0.0001


@pytest.mark.parametrize(
    ("smallest", "expected"),
    [
        ([], 1),
        ([1.0] * 50, 1),
        ([0.001, *[1.0] * 50], 1),
        ([0.03, 0.03, 0.001], 2),
        ([0.02, 0.02, 0.001], 3),
        ([0.01, 0.01, 0.001], 3),
        ([1 / 32] * 10, 2),
        ([0.03, 1.0], 1),
    ],
)
def test_patterns_that_cannot_be_significant_are_not_paid_for(smallest, expected):
    assert tarone_count(smallest, 0.05) == expected


# --- permutations of runs within cases

quarters = st.integers(0, 4).map(lambda number: number / 4)
before, after = (st.lists(quarters, min_size=1, max_size=most).map(tuple) for most in (3, 2))
few_runs = st.builds(Runs, before, after)
suites = st.lists(few_runs, min_size=1, max_size=4)


def permuted(cases, **options):
    """Return the permutations of some cases, and the one statistic of them all."""
    permutations = Permutations(
        [(len(case.before), len(case.after)) for case in cases], [dict(enumerate(cases))], **options
    )
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


@settings(max_examples=40)
@given(suites, st.sampled_from([0.03, 0.05, 0.2]))
def test_the_limit_is_where_the_test_of_that_drop_becomes_significant(cases, level):
    permutations, statistic = permuted(cases)
    lower = permutations.limits(statistic, permutations.most(level))[0][0]
    assert (lower > 0) == (p_of(cases) <= level)
    if math.isfinite(lower):
        assert p_by_definition(cases, lower - 0.001) <= level
        assert p_by_definition(cases, lower + 0.001) > level


def test_few_cases_exclude_nothing():
    permutations, statistic = permuted([Runs((0,), (1,))] * 3)
    assert permutations.limits(statistic, permutations.most(0.025)) == [(-math.inf, math.inf)]


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


# --- what few cases may and may not prove of a change

changes = st.lists(st.integers(-10, 10).map(lambda n: n / 10), min_size=1, max_size=25)


@pytest.mark.parametrize("cases", [3, 20, 59, 100])
def test_without_any_change_the_bound_is_the_rule_of_three(cases):
    assert unseen_drop_bound([0.0] * cases) == pytest.approx(1 - 0.05 ** (1 / cases), abs=1e-5)


@given(changes)
def test_the_bound_holds_the_drop(values):
    assert unseen_drop_bound(values) >= max(0.0, -sum(values) / len(values)) - 1e-6


def test_a_true_drop_is_rarely_excluded():
    """At 95 % confidence, a bound below the true drop comes up in about one suite of twenty, or less."""
    source = random.Random(11)
    misses = 0
    for _ in range(200):
        values = [-sum(source.random() < 0.05 for _ in range(20)) / 20 for _ in range(30)]
        misses += unseen_drop_bound(values) < 0.05
    assert misses <= 15


# --- the share of wrong fields by cases


def binomial(wrong: int, cases: int, rate: float) -> float:
    return sum(math.comb(cases, k) * rate**k * (1 - rate) ** (cases - k) for k in range(wrong + 1))


@pytest.mark.parametrize("cases", [1, 2, 3, 7, 19, 20, 21, 59, 300])
@pytest.mark.parametrize("rate", [0.01, 0.05, 0.3, 0.9])
@pytest.mark.parametrize("size", [1, 12])
def test_fields_that_fall_together_give_the_binomial_test(cases, rate, size):
    for wrong in {0, 1, min(cases, 4)}:
        part = [size] * wrong + [0] * (cases - wrong)
        assert share_p_value(part, [size] * cases, rate) == pytest.approx(binomial(wrong, cases, rate), abs=1e-9)


def test_the_rule_of_three():
    assert share_upper_bound([0] * 59, [30] * 59) == pytest.approx(1 - 0.05 ** (1 / 59), abs=1e-5)
    assert share_upper_bound([], []) == share_p_value([], [], 0.5) == 1.0  # nothing shows nothing
    assert share_upper_bound([0.0], [0.0]) == share_p_value([0.0], [0.0], 0.5) == 1.0


@pytest.mark.parametrize("rate", [0, 1, -0.1, 1.5])
def test_a_rate_that_is_none_is_refused(rate):
    with pytest.raises(ValueError, match="between 0 and 1"):
        share_p_value([1], [2], rate)


CASES = st.lists(st.tuples(st.integers(0, 12), st.integers(0, 12)), min_size=1, max_size=15)


@settings(max_examples=25)
@given(CASES, st.floats(0.01, 0.99))
def test_a_share_has_a_probability_that_grows_with_each_wrong_field_and_a_bound_that_it_does_not_reject(cases, rate):
    part, whole = [min(pair) for pair in cases], [max(pair) for pair in cases]
    p = share_p_value(part, whole, rate)
    assert 0 <= p <= 1
    for index, (one, size) in enumerate(zip(part, whole, strict=True)):
        if one < size:
            assert share_p_value([*part[:index], one + 1, *part[index + 1 :]], whole, rate) >= p - 1e-9
    bound = share_upper_bound(part, whole)
    assert not sum(whole) or bound >= sum(part) / sum(whole) - 1e-6
    if 0.001 < bound < 0.999:
        assert share_p_value(part, whole, bound + 1e-4) <= 0.05 + 1e-6
        assert share_p_value(part, whole, bound - 1e-4) >= 0.05 - 1e-6


def drawn(source, kind, cases, rate):
    """Draw parts and wholes whose true share is `rate`: fields alone, together, or with a rate of each case's own."""
    part, whole = [], []
    for _ in range(cases):
        size = source.randint(1, 12)
        own = source.betavariate(rate / 2, (1 - rate) / 2) if kind == "own rates" else rate
        together = size * (source.random() < rate)
        part.append(together if kind == "together" else sum(source.random() < own for _ in range(size)))
        whole.append(size)
    return part, whole


@pytest.mark.parametrize("kind", ["alone", "together", "own rates"])
@pytest.mark.parametrize(("cases", "rate"), [(30, 0.15), (80, 0.05)])
def test_a_share_of_exactly_the_rate_is_called_smaller_in_at_most_five_percent(kind, cases, rate):
    source = random.Random(5)
    suites = 120
    wrongly = sum(share_p_value(*drawn(source, kind, cases, rate), rate) <= 0.05 for _ in range(suites))
    assert wrongly <= 0.05 * suites + 2 * math.sqrt(0.05 * 0.95 * suites)


# --- repeats


@given(st.integers(1, 6).flatmap(lambda of: st.tuples(st.just(of), st.integers(0, of))), st.data())
def test_stopping_early_never_changes_the_verdict(shape, data):
    of, needed = shape
    run = data.draw(st.lists(st.booleans(), min_size=of, max_size=of))
    made = data.draw(st.integers(0, of))
    passes, failures = sum(run[:made]), made - sum(run[:made])
    futures = {sum(run[:made]) + sum(rest) >= needed for rest in itertools.product((0, 1), repeat=of - made)}
    assert decided(passes, failures, needed, of) is (len(futures) == 1)
