"""Which fields are unsteady, and pass^k."""

from __future__ import annotations

import pytest

from pytest_extract.regression.flakiness import flaky_fields, repeat_snapshots, suite_pass_hat_k
from pytest_extract.regression.snapshots import snapshot
from tests.regression.make import INVENTED, broken, result, suite


def test_steady_runs_have_no_unsteady_field():
    assert flaky_fields([snapshot(suite(5, {"n": True, "m": False}))] * 3) == ()


def test_unsteady_fields_are_named_the_worst_first():
    runs = [
        snapshot([result("a", {"n": one, "m": True, "k": False, "items[0].p": two})])
        for one, two in ((True, True), (False, True), (True, True), (False, False))
    ]
    first, second = flaky_fields(runs)
    assert (first.path, first.runs, first.passes, first.values) == ("n", 4, 2, 2)
    assert first.pass_twice == pytest.approx(1 / 6)
    assert (second.path, second.pattern, second.passes) == ("items[0].p", "items[].p", 3)


def test_a_field_invented_now_and_then_is_unsteady():
    runs = [snapshot([result("a", {"n": True})]), snapshot([result("a", {"n": True, "x": INVENTED})])]
    assert [field.path for field in flaky_fields(runs)] == ["x"]


def test_an_outage_is_no_unsteadiness():
    runs = [snapshot([result("a", {"n": False})]), snapshot([broken("a")]), snapshot([result("a", {"n": False})])]
    assert flaky_fields(runs) == ()


def test_repeats_are_taken_apart_into_runs():
    results = [result("a", {"n": True}, {"n": False}), result("b", {"n": True})]
    first, second = repeat_snapshots(results)
    assert [(state.case_id, str(state.outcome)) for state in first.values()] == [("a", "passed"), ("b", "passed")]
    assert [(state.case_id, str(state.outcome), state.runs) for state in second.values()] == [("a", "failed", 1)]
    assert repeat_snapshots([]) == []


def test_pass_hat_k_of_a_suite():
    results = [
        result("a", {"n": True}, {"n": True}, {"n": True}),
        result("b", {"n": True}, {"n": False}, {"n": True}),
        broken("c"),
    ]
    assert suite_pass_hat_k(results) == pytest.approx({1: (1 + 2 / 3) / 2, 2: (1 + 1 / 3) / 2, 3: 0.5})
    assert suite_pass_hat_k([*results, result("d", {"n": False})]).keys() == {1}
    assert suite_pass_hat_k([broken("c")]) == {}


def test_repeats_inside_one_run_show_unsteady_fields_too():
    (field,) = flaky_fields([snapshot([result("a", {"n": True, "m": False}, {"n": False, "m": False})])])
    assert (field.path, field.runs, field.passes) == ("n", 2, 1)
