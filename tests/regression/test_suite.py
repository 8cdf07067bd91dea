"""The suite gate: means of the run against their bounds."""

from __future__ import annotations

import pytest

from pytest_extract import compile_schema
from pytest_extract.core.case_result import Variant
from pytest_extract.errors import ConfigError
from pytest_extract.regression.suite import check_suite
from tests.regression.make import attempt, broken, not_run, result


def half_right(variant=None):
    return [
        result("a", {"n": True, "m": True}, variant=variant),
        result("b", {"n": True, "m": False}, {"n": False, "m": False}, variant=variant),
    ]


@pytest.mark.parametrize(("bound", "passed"), [(0.625, True), (0.6251, False), (0.0, True), (1.0, False)])
def test_the_mean_over_cases_of_the_mean_over_repeats(bound, passed):
    ((found, text),) = check_suite(half_right(), {"pass_rate": bound})
    assert found is passed
    assert text.startswith("pass_rate 0.6250 ")


def test_every_missed_bound_is_told():
    found = check_suite(half_right(), {"pass_rate": 0.9, "f1": 0.5})
    assert [passed for passed, _ in found] == [True, False]
    assert found[1][1] == "pass_rate 0.6250 < 0.9 over 2 cases"


def test_rounding_does_not_miss_a_bound():
    results = [result(str(number), {"n": True}) for number in range(10)]
    for one in results:
        one.attempts[0].score.measures["pass_rate"] = 0.1
    assert check_suite(results, {"pass_rate": 0.1})[0][0]


def test_nearly_all_is_told_from_all():
    results = [result(str(number), {"n": True}) for number in range(10)]
    for one in results:
        one.attempts[0].score.measures["pass_rate"] = 0.99997
    assert check_suite(results, {"pass_rate": 1.0}) == [(False, "pass_rate 0.99997 < 1 over 10 cases")]
    assert check_suite(results, {"pass_rate": 0.9}) == [(True, "pass_rate > 0.9999 reaches 0.9")]


def test_outages_take_no_part():
    found = check_suite([*half_right(), broken("c"), not_run("d")], {"pass_rate": 0.6})
    assert found == [(True, "pass_rate 0.6250 reaches 0.6")]


@pytest.mark.parametrize("results", [[], [broken("a")], [not_run("a")]], ids=["nothing", "broken", "not run"])
def test_a_suite_that_measured_nothing_is_not_green(results):
    ((passed, text),) = check_suite(results, {"pass_rate": 0.0})
    assert not passed
    assert "nothing was measured" in text


def test_without_bounds_a_scored_run_has_nothing_to_miss():
    assert check_suite(half_right(), {}) == []


def test_each_variant_has_to_pass():
    results = [*half_right(Variant(model="a")), result("a", {"n": True}, variant=Variant(model="b"))]
    assert check_suite(results, {"pass_rate": 0.9}) == [
        (True, "[b] pass_rate 1.0000 reaches 0.9"),
        (False, "[a] pass_rate 0.6250 < 0.9 over 2 cases"),
    ]
    silent = check_suite([*half_right(Variant(model="a")), broken("a", variant=Variant(model="b"))], {"pass_rate": 0.1})
    assert silent[-1] == (False, "[b] no case was scored, so nothing was measured")


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
