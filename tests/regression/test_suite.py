"""What one run shows by itself: means against their bounds, unsteady fields, and variants ranked."""

from __future__ import annotations

import random
from itertools import combinations

import pytest

from pytest_extract import compile_schema
from pytest_extract.core.case_result import Outcome, Variant
from pytest_extract.errors import ConfigError
from pytest_extract.regression.snapshots import snapshot
from pytest_extract.regression.suite import RankedVariant, check_suite, flaky_fields, rank_variants, suite_pass_hat_k
from tests.regression.make import INVENTED, attempt, broken, not_run, result

N = {"n": True}
NOT = {"n": False}


def half_right(variant=None):
    return [
        result("a", {"n": True, "m": True}, variant=variant),
        result("b", {"n": True, "m": False}, {"n": False, "m": False}, variant=variant),
    ]


def measured(value):
    made = [attempt(N) for _ in range(10)]
    for one in made:
        one.score.measures["pass_rate"] = value
    return [result(str(number), one) for number, one in enumerate(made)]


A, B = Variant(model="a"), Variant(model="b")
TWO = [*half_right(A), result("a", N, variant=B)]
BELOW, NOTHING = "pass_rate 0.6250 < 0.9 over 2 cases", "no case was scored, so nothing was measured"


@pytest.mark.parametrize(
    ("results", "bounds", "found"),
    [
        (half_right(), {}, []),
        (half_right(), {"pass_rate": 0.625}, ["+ pass_rate 0.6250 reaches 0.625"]),
        (half_right(), {"pass_rate": 0.9, "f1": 0.5}, ["+ f1 0.6250 reaches 0.5", f"- {BELOW}"]),
        (half_right(), {"pass_rate": 0.6251}, ["- pass_rate 0.6250 < 0.6251 over 2 cases"]),
        ([*half_right(), broken("c"), not_run("d")], {"pass_rate": 0.6}, ["+ pass_rate 0.6250 reaches 0.6"]),
        (measured(0.1), {"pass_rate": 0.1}, ["+ pass_rate 0.1000 reaches 0.1"]),
        (measured(0.99997), {"pass_rate": 1.0}, ["- pass_rate 0.99997 < 1 over 10 cases"]),
        (measured(0.99997), {"pass_rate": 0.9}, ["+ pass_rate > 0.9999 reaches 0.9"]),
        ([], {"f1": 0.0}, ["- no case was run, so nothing was measured"]),
        ([broken("a"), not_run("b")], {"f1": 0.0}, [f"- {NOTHING}"]),
        (TWO, {"pass_rate": 0.9}, ["+ [b] pass_rate 1.0000 reaches 0.9", f"- [a] {BELOW}"]),
        ([*half_right(A), broken("a", variant=B)], {"f1": 0.1}, ["+ [a] f1 0.6250 reaches 0.1", f"- [b] {NOTHING}"]),
    ],
)
def test_the_mean_over_cases_of_the_mean_over_repeats_is_held_against_its_bound(results, bounds, found):
    assert [f"{'+' if passed else '-'} {text}" for passed, text in check_suite(results, bounds)] == found


def test_an_unknown_measure_is_a_mistake_with_the_nearest_name():
    with pytest.raises(ConfigError, match="did you mean 'pass_rate'"):
        check_suite(half_right(), {"passrate": 0.5})


@pytest.mark.parametrize(
    ("found", "bound", "text"),
    [
        (80, 50, "complete_rows 80 (rows) reaches 50"),
        (80, 300, "complete_rows 80 (rows) < 300"),
        (150, 300, "complete_rows: no list breaks off"),
    ],
)
def test_the_row_at_which_lists_break_off_can_be_bounded(found, bound, text):
    scorer = compile_schema({"type": "object", "properties": {"rows": {"type": "array", "items": {"type": "integer"}}}})
    results = []
    for length in (30, 60, 90, 120, 150):
        gold = [*range(length)]
        score = scorer.score({"rows": gold}, {"rows": gold[:found]}).record()
        results.append(result(f"c{length}", attempt({}, score=score)))
    assert check_suite(results, {"complete_rows": bound}) == [("<" not in text, text)]


LOST = attempt({}, outcome=Outcome.ERROR, score=None)


STEADY = [{"n": True, "m": False}] * 3


@pytest.mark.parametrize(("runs", "paths"), [(STEADY, []), ([N, N | {"x": INVENTED}], ["x"]), ([NOT, LOST, NOT], [])])
def test_a_field_that_passes_now_and_then_is_unsteady(runs, paths):
    assert [path for _, path, _ in flaky_fields([result("a", *runs)])] == paths


def test_unsteady_fields_are_named_the_worst_first():
    verdicts = ((True, True), (False, True), (True, True), (False, False))
    found = flaky_fields([result("a", *({"n": one, "m": True, "items[0].p": two} for one, two in verdicts))])
    assert [(path, sum(field.runs), len(field.runs)) for _, path, field in found] == [("n", 2, 4), ("items[0].p", 3, 4)]


def test_pass_hat_k_of_a_suite():
    results = [result("a", N, N, N), result("b", N, NOT, N), broken("c")]
    assert suite_pass_hat_k(results) == pytest.approx({1: (1 + 2 / 3) / 2, 2: (1 + 1 / 3) / 2, 3: 0.5})
    assert suite_pass_hat_k([*results, result("d", NOT)]).keys() == {1}
    assert suite_pass_hat_k([broken("c")]) == {}


def run_of(model, cases, right, source, **more):
    """Results of a model whose ten fields are right by chance."""
    return [
        result(
            f"c{number}",
            {f"f{index}": source.random() < right for index in range(10)},
            variant=Variant(model=model),
            **more,
        )
        for number in range(cases)
    ]


def ranked(*runs):
    return {place.variant: place for place in rank_variants(snapshot([one for found in runs for one in found]))}


def test_the_best_comes_first_and_is_tied_with_what_the_cases_do_not_tell_from_it():
    source, rights = random.Random(5), {"c": 0.6, "a": 0.9, "b": 0.89}
    places = ranked(*(run_of(name, 60, right, source) for name, right in rights.items()))
    assert [*places][2] == "c"
    assert {name: place.tied for name, place in places.items()} == {"a": ("b",), "b": ("a",), "c": ()}
    for name, right in rights.items():
        assert places[name].low < right < places[name].high < places[name].low + 0.3


def test_a_few_cases_tell_nothing_apart_and_bound_little_and_none_are_last():
    places = ranked(
        [result("c1", N, variant=A), result("c1", NOT, variant=B), broken("c1", variant=Variant(model="0"))]
    )
    assert [*places] == ["a", "b", "0"]
    assert [(place.right, place.tied) for place in places.values()] == [(1.0, ("b",)), (0.0, ("a",)), (None, ())]
    assert (places["a"].low < 0.1, places["b"].high > 0.9) == (True, True)
    assert places["0"] == RankedVariant(variant="0", right=None)


def test_cases_whose_gold_changed_between_the_runs_tell_nothing():
    source = random.Random(5)
    good = run_of("a", 60, 0.9, source)
    assert ranked(good, run_of("b", 60, 0.3, source))["a"].tied == ()
    other = {"document": "d" * 64, "gold": "7" * 64}
    assert ranked(good, run_of("b", 60, 0.3, source, digests=other))["a"].tied == ("b",)


@pytest.mark.slow
def test_equal_variants_are_seldom_told_apart_however_many_there_are():
    source = random.Random(11)
    wrong = 0
    for _ in range(40):
        places = ranked(*(run_of(name, 8, 0.8, source) for name in "abcd"))
        wrong += any(two not in places[one].tied for one, two in combinations("abcd", 2))
    assert wrong / 40 <= 0.15  # 5 % of suites, and three standard errors


def test_intervals_are_wider_the_more_variants_there_are():
    source = random.Random(3)
    alone, *others = (run_of(f"m{number}", 40, 0.9, source) for number in range(8))
    one, two, eight = (ranked(alone, *more)["m0"] for more in ([], others[:1], others))
    assert eight.low < two.low < one.low <= one.right == eight.right <= one.high < two.high < eight.high
