"""Error control, by simulation with fixed seeds: suites whose truth is known.

Under no change the gate may say WORSE in at most alpha = 5 % of suites; the luck of the simulation is allowed for (three
standard errors). `tests/benchmarks/gate_power.py` simulates more.
"""

from __future__ import annotations

import math
import random
from collections import Counter

import pytest

from pytest_extract.regression.baseline import resolutions
from pytest_extract.regression.compare import compare
from pytest_extract.regression.facts import Rules, run_tests
from pytest_extract.regression.gate import Answer, decide
from tests.regression.simulate import steady, suite

pytestmark = pytest.mark.slow

RULES = Rules()


@pytest.fixture(autouse=True)
def _fewer_arrangements(monkeypatch):
    monkeypatch.setattr("pytest_extract.core.stats.LANES", 1_000)


def answers(seed, suites, **shape):
    source = random.Random(seed)
    counts = Counter()
    for _ in range(suites):
        before, after = suite(source, **shape)
        counts[decide(compare(before, after), RULES).answer] += 1
    return counts


def wolves(seed, suites, **shape):
    """How many suites are called worse; without the bounds of the drop, which cannot make them so."""
    source = random.Random(seed)
    count = 0
    for _ in range(suites):
        before, after = suite(source, **shape)
        count += any(test.adjusted <= RULES.alpha for test in run_tests(compare(before, after), RULES).results)
    return count


def allowance(suites):
    return suites * RULES.alpha + 3 * math.sqrt(suites * RULES.alpha * (1 - RULES.alpha))


NO_CHANGE = {
    "whole answers fail": {"cases": 40, "fields": 12, "chances": (steady(0.97),) * 2, "whole": (0.15, 0.15)},
    "hard and easy cases": {"cases": 30, "fields": 8, "chances": (steady(0.7),) * 2, "spread": 0.3},
    "few errors": {"cases": 50, "fields": 20, "chances": (steady(0.95),) * 2},
    "coin toss": {"cases": 25, "fields": 6, "chances": (steady(0.5),) * 2},
    "one field": {"cases": 60, "fields": 1, "chances": (steady(0.5),) * 2},
    "fields that stand and fall together": {"cases": 30, "fields": 8, "chances": (steady(0.9),) * 2, "tied": 0.3},
    "repeats": {"cases": 20, "fields": 6, "chances": (steady(0.8),) * 2, "runs": 3},
}
SUITES = 120
"""Enough to see what happens without the correction for several tests: 14 to 28 wolves in five of these shapes."""


@pytest.mark.parametrize("shape", NO_CHANGE.values(), ids=NO_CHANGE)
def test_without_a_change_it_cries_wolf_no_more_often_than_it_says(shape):
    assert wolves(1, SUITES, **shape) <= allowance(SUITES)


def test_the_whole_gate_cries_wolf_as_rarely_as_its_tests():
    assert answers(8, 60, cases=20, fields=6, chances=(steady(0.9),) * 2)[Answer.WORSE] <= allowance(60)


def test_with_unequal_repeats_it_cries_wolf_no_more_often_either():
    source = random.Random(2)
    worse = 0
    for _ in range(100):
        (before,) = suite(source, cases=20, fields=6, chances=(steady(0.9),))
        (after,) = suite(source, cases=20, fields=6, chances=(steady(0.9),), runs=3)
        worse += any(test.adjusted <= RULES.alpha for test in run_tests(compare(before, after), RULES).results)
    assert worse <= allowance(100)


DROP = {
    "everywhere": {"chances": (steady(0.95), steady(0.85))},
    "on noisy fields": {"chances": (steady(0.7), steady(0.6)), "spread": 0.2},
    "in two fields of twenty": {
        "chances": (steady(1.0), lambda _source, index: 0.0 if index < 2 else 1.0),
    },
    "with answers that fail as a whole": {"chances": (steady(0.95), steady(0.85)), "whole": (0.02, 0.02)},
    "in fields that stand and fall together": {"chances": (steady(0.95), steady(0.85)), "tied": 0.3},
}


@pytest.mark.parametrize("shape", DROP.values(), ids=DROP)
def test_a_drop_of_ten_points_on_50_cases_of_20_fields_is_found(shape):
    """At a correlation of 0.3 between fields, 50 answers are worth fewer: no test finds it much more often."""
    assert wolves(3, 20, cases=50, fields=20, **shape) >= (0.7 if "tied" in shape else 0.9) * 20


@pytest.mark.parametrize("rate", [0.9, 0.98])
@pytest.mark.parametrize("cases", [10, 40])
def test_without_a_change_the_answer_is_mostly_pass(cases, rate):
    found = answers(5, 40, cases=cases, fields=12, chances=(steady(rate),) * 2)
    assert found[Answer.PASS] >= 32  # 90 % of 40 and more are expected
    assert found[Answer.UNDECIDED] <= 7


@pytest.mark.parametrize("whole", [0.02, 0.1])
def test_answers_that_fail_by_chance_are_no_collapse(whole):
    """The most false alarms are expected at some 2 % of single runs, where none or few failed before."""
    found = answers(6, 100, cases=40, fields=6, chances=(steady(0.99),) * 2, whole=(whole, whole))
    assert found[Answer.WORSE] <= allowance(100)


@pytest.mark.parametrize("runs", [1, 3])
@pytest.mark.parametrize("cases", [2, 4, 20])
def test_a_collapse_is_never_green(cases, runs):
    source = random.Random(7)
    for _ in range(4):
        (before,) = suite(source, cases=cases, fields=6, chances=(steady(0.97),), runs=runs)
        (after,) = suite(source, cases=cases, fields=6, chances=(steady(0.0),))
        assert decide(compare(before, after), RULES).answer is Answer.WORSE


@pytest.mark.parametrize("runs", [1, 3])
def test_the_fall_that_a_suite_is_said_to_show_is_found_in_about_eight_of_ten(runs):
    source, found, count = random.Random(9), 0, 40
    for _ in range(count):
        (before,) = suite(source, cases=40, fields=8, chances=(steady(0.95),), runs=runs)
        (said,) = resolutions(before, RULES)
        (after,) = suite(source, cases=40, fields=8, chances=(steady(0.95 - said.now.mean),))
        found += decide(compare(before, after), RULES).answer is Answer.WORSE
    assert 0.65 * count <= found <= 0.95 * count


def test_the_bound_of_pass_holds():
    """A fall of five points is ruled out in at most 5 % of suites that have one."""
    source, missed = random.Random(10), 0
    for _ in range(60):
        before, after = suite(source, cases=40, fields=20, chances=(steady(0.95), steady(0.90)))
        missed += decide(compare(before, after), RULES).effects[0].bounds.worst < 0.05
    assert missed <= allowance(60)
