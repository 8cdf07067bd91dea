"""What a snapshot keeps of a result."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pytest_extract.core.case_result import Outcome, Variant
from pytest_extract.core.results import Status
from pytest_extract.core.values import MISSING
from pytest_extract.regression.snapshots import CaseKey, case_state, snapshot
from tests.regression.make import FILE, INVENTED, attempt, broken, not_run, result


def test_a_case_is_keyed_by_file_id_and_variant():
    states = snapshot([result("a", {"x": True}), result("a", {"x": True}, variant=Variant(model="m"))])
    assert set(states) == {CaseKey(f"{FILE}::a", ""), CaseKey(f"{FILE}::a", "m")}


def test_fields_that_pass_are_counted_and_those_that_fail_are_kept():
    state = case_state(result("a", {"n": True, "items[0].p": True, "items[1].p": False}))
    assert {name: shape.of for name, shape in state.patterns.items()} == {"items[].p": 2, "n": 1}
    assert set(state.failing) == {"items[1].p"}
    entry = state.failing["items[1].p"]
    assert (entry.pattern, entry.runs, entry.gold, entry.value) == ("items[].p", (False,), "right", "wrong")


def test_repeats_keep_each_run_s_verdict():
    state = case_state(result("a", {"n": True, "m": True}, {"n": False, "m": True}, {"n": True, "m": True}))
    assert state.runs == 3
    assert state.failing["n"].runs == (True, False, True)
    assert "m" not in state.failing


def test_an_invented_field_passes_in_the_runs_that_do_not_have_it():
    state = case_state(result("a", {"n": True}, {"n": True, "extra": INVENTED}))
    assert state.failing["extra"].runs == (True, False)
    assert state.failing["extra"].invented
    assert state.failing["extra"].gold is MISSING
    assert state.patterns["extra"].of == 0


def test_fields_inside_a_container_that_failed_as_a_whole_failed_too():
    state = case_state(result("a", {"o.x": True, "o.y": True}, {"o": ({"x": 1}, "text")}))
    assert set(state.failing) == {"o.x", "o.y"}
    assert state.failing["o.x"].runs == (True, False)


def test_a_container_that_always_fails_as_a_whole_is_kept_as_one_field():
    state = case_state(result("a", {"o": ({"x": 1}, "text")}, {"o": ({"x": 1}, None)}))
    assert state.failing["o"].runs == (False, False)


def test_skipped_fields_and_those_that_no_judge_decided_are_no_evidence():
    run = attempt({"n": True, "m": False, "k": False})
    statuses = (Status.MATCH, Status.SKIPPED, Status.JUDGE_ERROR)
    leaves = tuple(leaf._replace(status=status) for leaf, status in zip(run.score.leaves, statuses, strict=True))
    state = case_state(result("a", replace(run, score=replace(run.score, leaves=leaves))))
    assert set(state.patterns) == {"n"}
    assert not state.failing


def test_repeats_that_broke_are_left_out():
    outage = attempt({"n": False}, outcome=Outcome.BROKEN, score=None, error="boom")
    state = case_state(result("a", outage, attempt({"n": True}, index=1)))
    assert (state.runs, state.lost) == (1, False)


@pytest.mark.parametrize("made", [broken("a"), not_run("a"), result("a")], ids=["broken", "not run", "no attempt"])
def test_a_case_without_a_scored_run_is_lost(made):
    assert case_state(made).lost


def test_failed_gates_means_and_costs_are_kept():
    gated = attempt({"n": True}, failed_gate="schema", index=1, cost_usd=0.03)
    state = case_state(result("a", attempt({"n": True}), gated))
    assert state.gates == {"schema": (True, False)}
    assert state.measures["pass_rate"] == (1.0, 0.0)
    assert state.cost_usd == pytest.approx(0.02)


def test_an_unpriced_call_is_not_counted_as_free():
    state = case_state(result("a", attempt({"n": True}, cost_usd=None), attempt({"n": True}, index=1)))
    assert state.cost_usd == pytest.approx(0.01)
    assert case_state(result("a", attempt({"n": True}, cost_usd=None))).cost_usd is None


def test_gold_and_metric_have_digests_of_their_own():
    base = case_state(result("a", {"n": True}))
    other_gold = case_state(result("a", {"n": ("other", "other")}))
    other_metric = case_state(result("a", attempt({"n": True}, metric="fuzzy")))
    assert base.patterns["n"].gold != other_gold.patterns["n"].gold
    assert base.patterns["n"].metric == other_gold.patterns["n"].metric
    assert base.patterns["n"].metric != other_metric.patterns["n"].metric


def test_another_judge_changes_judged_fields_only():
    def shapes(judge):
        runs = [attempt({"n": True}), attempt({"m": True}, metric="semantic")]
        return [case_state(result("a", run, digests={"judge": judge})).patterns for run in runs]

    (plain, judged), (plain_then, judged_then) = shapes("1" * 64), shapes("2" * 64)
    assert plain["n"] == plain_then["n"]
    assert judged["m"].metric != judged_then["m"].metric


def test_a_measure_that_is_no_number_is_left_out():
    run = attempt({"n": True})
    run.score.measures.update(odd=float("nan"))
    assert set(case_state(result("a", run)).measures) == {"f1", "pass_rate"}
