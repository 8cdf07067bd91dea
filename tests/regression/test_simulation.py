"""Error control, by simulation with fixed seeds: suites whose truth is known.

Under no change the gate may say "worse" in at most alpha = 5 % of suites; the luck of the simulation is allowed for (three
standard errors). `tests/benchmarks/gate_power.py` simulates more.
"""

from __future__ import annotations

import math
import random
from collections import Counter

import pytest

from pytest_extract.regression.compare import compare
from pytest_extract.regression.gate import Answer, decide
from pytest_extract.regression.multiple_testing import run_tests
from pytest_extract.regression.rules import Rules
from pytest_extract.regression.snapshots import CaseKey
from tests.regression.simulate import steady, suite

RULES = Rules(resamples=100, permutations=1_000)


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
    assert answers(8, 100, cases=20, fields=6, chances=(steady(0.9),) * 2)[Answer.WORSE] <= allowance(100)


def test_with_unequal_repeats_it_cries_wolf_no_more_often_either():
    source = random.Random(2)
    worse = 0
    for _ in range(200):
        (before,) = suite(source, cases=20, fields=6, chances=(steady(0.9),))
        (after,) = suite(source, cases=20, fields=6, chances=(steady(0.9),), runs=3)
        worse += any(test.adjusted <= RULES.alpha for test in run_tests(compare(before, after), RULES).results)
    assert worse <= allowance(200)


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
    assert wolves(3, 40, cases=50, fields=20, **shape) >= (0.7 if "tied" in shape else 0.9) * 40


@pytest.mark.parametrize(
    "chances",
    [(steady(1.0), steady(1.0)), (steady(0.9), steady(0.9)), (steady(0.9), steady(0.8)), (steady(1.0), steady(0.0))],
    ids=["equal", "noise", "ten points", "everything"],
)
def test_three_cases_cannot_tell(chances):
    assert answers(4, 60, cases=3, fields=20, chances=chances) == {Answer.CANNOT_TELL: 60}


def test_without_a_change_fifty_steady_cases_mostly_say_so():
    assert answers(5, 60, cases=50, fields=20, chances=(steady(0.98),) * 2)[Answer.NOT_WORSE] >= 45


@pytest.mark.parametrize("cases", [10, 40])
def test_a_drop_of_the_margin_is_rarely_called_not_worse(cases):
    found = answers(6, 150, cases=cases, fields=20, chances=(steady(0.95), steady(0.90)))
    assert found[Answer.NOT_WORSE] <= allowance(150)


def test_a_drop_of_the_margin_by_lost_answers_needs_the_strictest_setting():
    """Whole answers that fail are the hardest to exclude; `unseen_loss=1` is the setting that assumes them."""
    source = random.Random(7)
    strict = Rules(resamples=100, permutations=1_000, unseen_loss=1.0)
    calm = 0
    for _ in range(150):
        before, after = suite(source, cases=30, fields=5, chances=(steady(1.0),) * 2, whole=(0.0, 0.05))
        calm += decide(compare(before, after), strict).answer is Answer.NOT_WORSE
    assert calm <= allowance(150)


def test_following_the_advice_on_more_cases_decides_in_about_four_of_five():
    """The further cases are fresh: what was seen was partly luck, and the advice has to allow for that."""
    source = random.Random(9)
    asked = decided = 0
    for _ in range(60):
        before, after = suite(source, cases=20, fields=8, chances=(steady(0.95),) * 2)
        verdict = decide(compare(before, after), RULES)
        needs = verdict.effects[0].needs
        if verdict.answer is not Answer.CANNOT_TELL or needs is None or needs.cases is None or needs.cases[1] is None:
            continue
        more = suite(source, cases=needs.cases[1].count, fields=8, chances=(steady(0.95),) * 2)
        further = [{CaseKey(f"further::{key.case}", ""): state for key, state in side.items()} for side in more]
        larger = compare(before | further[0], after | further[1])
        asked += 1
        bounds = decide(larger, RULES).effects[0].bounds
        decided += bounds.high < 0 or bounds.worst < RULES.margin
    assert asked >= 20
    assert decided >= 0.7 * asked
