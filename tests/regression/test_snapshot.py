"""What a snapshot keeps of a result."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pytest_extract.core.case_result import Outcome, Variant
from pytest_extract.core.results import Status
from pytest_extract.core.values import MISSING
from pytest_extract.regression.snapshots import CaseKey, case_state, snapshot
from tests.regression.make import FILE, INVENTED, attempt, broken, not_run, result

N = {"n": True}
TEXT_FOR_OBJECT = {"o": ({"x": 1}, "text")}


def test_a_case_is_keyed_by_file_id_and_variant():
    states = snapshot([result("a", N), result("a", N, variant=Variant(model="m"))])
    assert set(states) == {CaseKey(f"{FILE}::a", ""), CaseKey(f"{FILE}::a", "m")}


def test_fields_that_pass_are_counted_and_those_that_fail_are_kept():
    state = case_state(result("a", {"n": True, "items[0].p": True, "items[1].p": False}))
    assert {name: shape.of for name, shape in state.patterns.items()} == {"items[].p": 2, "n": 1}
    (entry,) = state.failing.values()
    assert (entry.pattern, entry.runs, entry.gold, entry.value) == ("items[].p", (False,), "right", "wrong")


@pytest.mark.parametrize(
    ("runs", "failing"),
    [
        ([N | {"m": True}, {"n": False, "m": True}, N | {"m": True}], {"n": (True, False, True)}),
        ([N, N | {"extra": INVENTED}], {"extra": (True, False)}),
        ([{"o.x": True, "o.y": True}, TEXT_FOR_OBJECT], {"o.x": (True, False), "o.y": (True, False)}),
        ([TEXT_FOR_OBJECT, {"o": ({"x": 1}, None)}], {"o": (False, False)}),
        ([attempt({"n": False}, outcome=Outcome.BROKEN, score=None, error="boom"), attempt(N, index=1)], {}),
    ],
    ids=["repeats", "invented now and then", "an object failed once", "an object failed always", "one broke"],
)
def test_a_failing_field_keeps_each_run_s_verdict(runs, failing):
    state = case_state(result("a", *runs))
    assert {path: entry.runs for path, entry in state.failing.items()} == failing
    assert (state.runs, state.lost) == (len(next(iter(failing.values()), "1")), False)


def test_an_invented_field_has_no_gold():
    state = case_state(result("a", N | {"extra": INVENTED}))
    assert (state.failing["extra"].invented, state.failing["extra"].gold) == (True, MISSING)
    assert state.patterns["extra"].of == 0


def test_skipped_fields_and_those_that_no_judge_decided_are_no_evidence():
    run = attempt({"n": True, "m": False, "k": False})
    statuses = (Status.MATCH, Status.SKIPPED, Status.JUDGE_ERROR)
    leaves = tuple(leaf._replace(status=status) for leaf, status in zip(run.score.leaves, statuses, strict=True))
    state = case_state(result("a", replace(run, score=replace(run.score, leaves=leaves))))
    assert (set(state.patterns), dict(state.failing)) == ({"n"}, {})


@pytest.mark.parametrize("made", [broken("a"), not_run("a"), result("a")], ids=["broken", "not run", "no attempt"])
def test_a_case_without_a_scored_run_is_lost_and_takes_part_in_no_measure(made):
    assert case_state(made).lost
    assert made.scores == []
    assert replace(result("a", N), outcome=Outcome.BROKEN).scores == []


def test_failed_gates_means_and_costs_are_kept():
    gated = attempt(N, failed_gate="schema", index=1, cost_usd=0.03)
    state = case_state(result("a", attempt(N), gated))
    assert (state.gates, state.measures["pass_rate"]) == ({"schema": (True, False)}, (1.0, 0.0))
    assert state.cost_usd == pytest.approx(0.02)
    unpriced = attempt(N, cost_usd=None)
    assert case_state(result("a", unpriced, gated)).cost_usd == pytest.approx(0.03)  # not counted as free
    assert case_state(result("a", unpriced)).cost_usd is None


def test_gold_metric_and_judge_of_a_field_have_digests_of_their_own():
    def digests(what, metric="text", judge="1"):
        made = result("a", attempt({"n": what}, metric=metric), digests={"judge": judge * 64})
        return case_state(made).patterns["n"]

    plain, judged = digests(True), digests(True, "semantic")
    assert plain.gold != digests(("other", "other")).gold
    assert plain.metric == digests(("other", "other")).metric
    assert plain.metric != digests(True, "fuzzy").metric
    assert plain == digests(True, judge="2")
    assert judged.metric != digests(True, "semantic", judge="2").metric


def test_a_measure_that_is_no_number_is_left_out():
    run = attempt(N)
    run.score.measures.update(odd=float("nan"))
    assert set(case_state(result("a", run)).measures) == {"f1", "pass_rate"}
