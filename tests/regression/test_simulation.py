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


def drawn(seed, suites, *, runs_after=None, **shape):
    """Draw comparisons of two runs; the second may have another number of repeats."""
    source = random.Random(seed)
    for _ in range(suites):
        if runs_after is None:
            yield compare(*suite(source, **shape))
        else:
            old, new = shape["chances"]
            (before,) = suite(source, **shape | {"chances": (old,)})
            (after,) = suite(source, **shape | {"chances": (new,), "runs": runs_after})
            yield compare(before, after)


def answers(seed, suites, **shape):
    return Counter(decide(comparison, RULES).answer for comparison in drawn(seed, suites, **shape))


def wolves(seed, suites, **shape):
    """How many suites are called worse; without the bounds of the drop, which cannot make them so."""
    tests = (run_tests(comparison, RULES).results for comparison in drawn(seed, suites, **shape))
    return sum(any(test.adjusted <= RULES.alpha for test in found) for found in tests)


def allowance(suites):
    return suites * RULES.alpha + 3 * math.sqrt(suites * RULES.alpha * (1 - RULES.alpha))


def unchanged(rate):
    return (steady(rate), steady(rate))


UNCHANGED = {
    "whole": {"cases": 40, "fields": 12, "chances": unchanged(0.97), "whole": (0.15, 0.15)},
    "hard and easy": {"cases": 30, "fields": 8, "chances": unchanged(0.7), "spread": 0.3},
    "few errors": {"cases": 50, "fields": 20, "chances": unchanged(0.95)},
    "coin toss": {"cases": 25, "fields": 6, "chances": unchanged(0.5)},
    "one field": {"cases": 60, "fields": 1, "chances": unchanged(0.5)},
    "tied": {"cases": 30, "fields": 8, "chances": unchanged(0.9), "tied": 0.3},
    "repeats": {"cases": 20, "fields": 6, "chances": unchanged(0.8), "runs": 3},
    "unequal repeats": {"cases": 20, "fields": 6, "chances": unchanged(0.9), "runs_after": 3},
}


@pytest.mark.parametrize("shape", UNCHANGED.values(), ids=UNCHANGED)
def test_without_a_change_it_cries_wolf_no_more_often_than_it_says(shape):
    """120 suites show what happens without the correction for several tests: 14 to 28 wolves in five of these shapes."""
    assert wolves(1, 120, **shape) <= allowance(120)


@pytest.mark.parametrize(
    ("suites", "shape"),
    [
        (60, {"cases": 20, "chances": unchanged(0.9)}),
        (100, {"cases": 40, "chances": unchanged(0.99), "whole": (0.02, 0.02)}),  # where the most false alarms are due
        (100, {"cases": 40, "chances": unchanged(0.99), "whole": (0.1, 0.1)}),
    ],
)
def test_the_whole_gate_cries_wolf_as_rarely_as_its_tests(suites, shape):
    assert answers(8, suites, fields=6, **shape)[Answer.WORSE] <= allowance(suites)


DROPPED = {
    "everywhere": {"chances": (steady(0.95), steady(0.85))},
    "noisy": {"chances": (steady(0.7), steady(0.6)), "spread": 0.2},
    "two fields": {"chances": (steady(1.0), lambda _source, index: 0.0 if index < 2 else 1.0)},
    "whole answers": {"chances": (steady(0.95), steady(0.85)), "whole": (0.02, 0.02)},
    "tied": {"chances": (steady(0.95), steady(0.85)), "tied": 0.3},
}


@pytest.mark.parametrize("shape", DROPPED.values(), ids=DROPPED)
def test_a_drop_of_ten_points_on_50_cases_of_20_fields_is_found(shape):
    """At a correlation of 0.3 between fields, 50 answers are worth fewer: no test finds it much more often."""
    assert wolves(3, 20, cases=50, fields=20, **shape) >= (0.7 if "tied" in shape else 0.9) * 20


@pytest.mark.parametrize("rate", [0.9, 0.98])
@pytest.mark.parametrize("cases", [10, 40])
def test_without_a_change_the_answer_is_mostly_pass(cases, rate):
    found = answers(5, 40, cases=cases, fields=12, chances=unchanged(rate))
    assert found[Answer.PASS] >= 32  # 90 % of 40 and more are expected
    assert found[Answer.UNDECIDED] <= 7


@pytest.mark.parametrize("runs", [1, 3])
@pytest.mark.parametrize("cases", [2, 4, 20])
def test_a_collapse_is_never_green(cases, runs):
    found = answers(7, 4, cases=cases, fields=6, chances=(steady(0.97), steady(0.0)), runs=runs, runs_after=1)
    assert found == {Answer.WORSE: 4}


@pytest.mark.parametrize("runs", [1, 3])
def test_the_fall_that_a_suite_is_said_to_show_is_found_in_about_eight_of_ten(runs):
    source, found = random.Random(9), 0
    for _ in range(40):
        (before,) = suite(source, cases=40, fields=8, chances=(steady(0.95),), runs=runs)
        (said,) = resolutions(before, RULES)
        (after,) = suite(source, cases=40, fields=8, chances=(steady(0.95 - said.now.mean),))
        found += decide(compare(before, after), RULES).answer is Answer.WORSE
    assert 26 <= found <= 38


def test_the_bound_of_pass_holds():
    """A fall of five points is ruled out in at most 5 % of suites that have one."""
    made = drawn(10, 60, cases=40, fields=20, chances=(steady(0.95), steady(0.90)))
    assert sum(decide(each, RULES).effects[0].bounds.worst < 0.05 for each in made) <= allowance(60)
