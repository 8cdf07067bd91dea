"""Variants ranked by the fields that are right: intervals for all together, and ties where the cases tell nothing apart."""

from __future__ import annotations

import random
from itertools import combinations

import pytest

from pytest_extract.core.case_result import Variant
from pytest_extract.regression.snapshots import snapshot
from pytest_extract.regression.suite import RankedVariant, rank_variants
from tests.regression.make import broken, result

FIELDS = [f"f{number}" for number in range(10)]


def run_of(model, cases, right, source, **more):
    """Results of a model whose every field is right by chance."""
    return [
        result(f"c{number}", {name: source.random() < right for name in FIELDS}, variant=Variant(model=model), **more)
        for number in range(cases)
    ]


def ranked(*results):
    return {place.variant: place for place in rank_variants(snapshot([one for found in results for one in found]))}


def test_the_best_comes_first_and_is_tied_with_what_the_cases_do_not_tell_from_it():
    source = random.Random(5)
    places = ranked(*(run_of(name, 60, right, source) for name, right in (("c", 0.6), ("a", 0.9), ("b", 0.89))))
    assert [*places][2] == "c"
    assert (places["a"].tied, places["b"].tied, places["c"].tied) == (("b",), ("a",), ())
    for name, right in (("a", 0.9), ("b", 0.89), ("c", 0.6)):
        assert places[name].low < right < places[name].high
        assert places[name].high - places[name].low < 0.3


def test_a_few_cases_tell_nothing_apart_and_bound_little():
    places = ranked(
        [result("c1", {"f": True}, variant=Variant(model="a"))],
        [result("c1", {"f": False}, variant=Variant(model="b"))],
    )
    assert (places["a"].right, places["b"].right) == (1.0, 0.0)
    assert places["a"].tied == ("b",)
    assert (places["a"].low < 0.1, places["b"].high > 0.9) == (True, True)


def test_a_variant_without_a_result_is_last_and_tied_with_none():
    places = ranked(
        [result("c1", {"f": False}, variant=Variant(model="a"))], [broken("c1", variant=Variant(model="0"))]
    )
    assert [*places] == ["a", "0"]
    assert places["0"] == RankedVariant(variant="0", right=None)


def test_cases_whose_gold_changed_between_the_runs_tell_nothing():
    source = random.Random(5)
    good, bad = run_of("a", 60, 0.9, source), run_of("b", 60, 0.3, source)
    assert ranked(good, bad)["a"].tied == ()
    other = {"document": "d" * 64, "gold": "7" * 64}
    assert ranked(good, run_of("b", 60, 0.3, source, digests=other))["a"].tied == ("b",)


@pytest.mark.slow
def test_equal_variants_are_seldom_told_apart_however_many_there_are():
    source = random.Random(11)
    suites, models = 40, "abcd"
    wrong = 0
    for _ in range(suites):
        places = ranked(*(run_of(name, 8, 0.8, source) for name in models))
        wrong += any(two not in places[one].tied for one, two in combinations(models, 2))
    assert wrong / suites <= 0.15  # 5 % of suites, and three standard errors


@pytest.mark.parametrize("models", [2, 8])
def test_intervals_are_wider_the_more_variants_there_are(models):
    source = random.Random(3)
    places = ranked(*(run_of(f"m{number}", 40, 0.9, source) for number in range(models)))
    alone = ranked(run_of("m0", 40, 0.9, random.Random(3)))["m0"]
    assert places["m0"].low < alone.low <= alone.right == places["m0"].right <= alone.high < places["m0"].high
