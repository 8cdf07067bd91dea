"""Which fields are unsteady, and pass^k."""

from __future__ import annotations

import pytest

from pytest_extract.core.case_result import Outcome
from pytest_extract.regression.suite import flaky_fields, suite_pass_hat_k
from tests.regression.make import INVENTED, attempt, broken, result


def test_steady_runs_have_no_unsteady_field():
    assert flaky_fields([result(name, *[{"n": True, "m": False}] * 3) for name in "abc"]) == ()


def test_unsteady_fields_are_named_the_worst_first():
    runs = [
        {"n": one, "m": True, "k": False, "items[0].p": two}
        for one, two in ((True, True), (False, True), (True, True), (False, False))
    ]
    first, second = flaky_fields([result("a", *runs)])
    assert (first.path, first.runs, first.passes) == ("n", 4, 2)
    assert first.pass_twice == pytest.approx(1 / 6)
    assert (second.path, second.pattern, second.passes) == ("items[0].p", "items[].p", 3)


def test_a_field_invented_now_and_then_is_unsteady():
    (field,) = flaky_fields([result("a", {"n": True}, {"n": True, "x": INVENTED})])
    assert field.path == "x"


def test_an_outage_is_no_unsteadiness():
    lost = attempt({}, index=1, outcome=Outcome.BROKEN, score=None)
    assert flaky_fields([result("a", {"n": False}, lost, {"n": False})]) == ()


def test_pass_hat_k_of_a_suite():
    results = [
        result("a", {"n": True}, {"n": True}, {"n": True}),
        result("b", {"n": True}, {"n": False}, {"n": True}),
        broken("c"),
    ]
    assert suite_pass_hat_k(results) == pytest.approx({1: (1 + 2 / 3) / 2, 2: (1 + 1 / 3) / 2, 3: 0.5})
    assert suite_pass_hat_k([*results, result("d", {"n": False})]).keys() == {1}
    assert suite_pass_hat_k([broken("c")]) == {}
