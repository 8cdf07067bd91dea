"""The baseline file: small, sorted, the same for the same results, and only written when it may be."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_extract.core.case_result import Variant
from pytest_extract.errors import StoreError
from pytest_extract.regression.baseline import (
    Falls,
    as_stored,
    dump_baseline,
    in_ci,
    load_baseline,
    read_baseline,
    refusal,
    resolutions,
    update_baseline,
    updated_baseline,
)
from pytest_extract.regression.facts import Rules
from pytest_extract.regression.gate import Answer, evaluate_gate
from pytest_extract.regression.snapshots import snapshot
from tests.regression.make import FILE, INVENTED, attempt, broken, not_run, result, stored, suite
from tests.strategies import json_values

FIELDS = {"n": True, "items[0].p": False, "items[1].p": True}


def text_of(*results):
    return dump_baseline(updated_baseline(None, snapshot(results)))


@pytest.mark.parametrize(
    "extracted",
    [["x", {"y": None}], "x" * 5000, '"' * 5000, "\x01" * 5000, "\\" * 401, ["ü"] * 900, {"a" * 500: 1}],
    ids=["short", "letters", "quotes", "controls", "backslashes", "list", "key"],
)
def test_it_comes_back_as_it_was_written_with_long_values_cut_once(extracted):
    results = [
        result("a", FIELDS, FIELDS | {"n": False, "extra": INVENTED}),
        result("b", attempt({"n": ("ü\ud800", extracted)}, failed_gate="schema"), variant=Variant(model="m")),
    ]
    text = text_of(*results)
    assert load_baseline(text) == load_baseline("\ufeff" + text) == updated_baseline(None, snapshot(results))
    assert dump_baseline(load_baseline(text)) == text
    assert load_baseline(text.replace('"outcome"', '"rules": {"a <= b": [true]}, "outcome"')) == load_baseline(text)
    assert len(text) < 3000
    assert ("5002 characters" in text) == (extracted == "x" * 5000)


@given(st.dictionaries(st.sampled_from("abcd"), st.tuples(json_values, json_values), min_size=1), st.integers(1, 3))
def test_what_is_stored_reads_the_same(fields, runs):
    for state in snapshot([result("x", *[fields] * runs)]).values():
        assert as_stored(as_stored(state)) == as_stored(state)


def test_it_is_sorted_small_and_one_changed_field_changes_few_lines():
    results = [result(name, FIELDS) for name in "cab"]
    text = text_of(*results)
    assert text == text_of(*reversed(results))
    keys = [line.strip().partition('"')[2].partition('"')[0] for line in text.splitlines() if FILE in line]
    assert keys == [f"{FILE}::{name}" for name in "abc"]
    changed = set(text_of(results[0], results[1], result("b", FIELDS | {"n": False})).splitlines()) - {
        *text.splitlines()
    }
    assert any('"n": {"gold": "right", "pattern": "n", "runs": [false], "value": "wrong"}' in line for line in changed)
    assert len(changed) <= 5
    assert len(text_of(result("a", {f"items[{number}].p": True for number in range(1000)}))) < 1500


def test_what_it_was_made_of_passes_however_strict_the_rules():
    runs = [attempt({"a": True, "b": True, "c": False}, cost_usd=0.0104, latency_s=1.04)]
    results = [result(name, *runs) for name in "abc"]
    rules = Rules(measure="pass_rate", max_drop=0.0, max_cost_rise=0.0, max_latency_rise=0.0)
    found = evaluate_gate(stored(results), snapshot(results), rules)
    assert (found.answer, found.by_rule) == (Answer.PASS, False)


HEAD = '{"kind": "pytest-extract baseline", "version": '


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("{", "no baseline of version 2, or a damaged one"),
        ("[" * 100_000, "RecursionError"),
        ("[]", "damaged"),
        ('{"format": 1}', "'kind'"),
        ('{"format": 1}\n{"format": 1}', "damaged"),
        (HEAD + "99}", "version 99"),
        (HEAD + "2}", "'cases'"),
        (HEAD + '2, "cases": {"a": {"": {}}}}', "damaged"),
        (HEAD + '2, "cases": []}', "damaged"),
        ("null", "damaged"),
        (None, "no such baseline"),
    ],
)
def test_what_is_no_baseline_is_refused_with_what_to_do(tmp_path, text, what):
    path = tmp_path / "baseline.json"
    if text is not None:
        path.write_text(text)
    with pytest.raises(StoreError, match=what) as raised:
        read_baseline(path)
    assert str(path) in str(raised.value)
    assert "write" in str(raised.value)
    assert "--extract-update-baseline" in str(raised.value)


@pytest.mark.parametrize("runs", ["2", [], [True, False], [2]])
def test_runs_that_are_no_truth_values_of_each_run_are_damage(runs):
    record = json.loads(text_of(result("a", FIELDS)))
    record["cases"][f"{FILE}::a"][""]["failing"]["items[0].p"]["runs"] = runs
    with pytest.raises(StoreError, match="damaged"):
        load_baseline(json.dumps(record))


def test_an_update_replaces_what_was_run_and_keeps_what_broke_or_was_not_selected(tmp_path):
    path = tmp_path / "deep" / "baseline.json"
    first = update_baseline(path, suite(3, FIELDS))
    assert update_baseline(path, [broken("c0"), result("c1", FIELDS)]) == first
    second = update_baseline(path, [result("c1", {"n": False})])
    assert read_baseline(path) == second
    assert [set(state.failing) for state in second.cases.values()] == [{"items[0].p"}, {"n"}, {"items[0].p"}]
    third = update_baseline(path, [result("c0", FIELDS)], gone=[f"{FILE}::c1"])
    assert [key.case for key in third.cases] == [f"{FILE}::c0", f"{FILE}::c2"]
    assert [found.name for found in path.parent.iterdir()] == ["baseline.json"]


def test_a_single_variant_takes_the_place_of_a_single_one():
    one, two = Variant(model="one"), Variant(model="two")
    old = updated_baseline(None, snapshot(suite(3, FIELDS, variant=one)))
    part = updated_baseline(old, snapshot([result("c0", FIELDS, variant=two)]))
    assert sorted(key.variant for key in part.cases) == ["one", "one", "one", "two"]
    run = snapshot([result("c0", FIELDS, variant=two), broken("c1", variant=two), broken("c2", variant=two)])
    for keep_runs in (None, 10):
        new = updated_baseline(old, run, keep_runs=keep_runs)
        assert {key.variant for key in new.cases} == {"two"}
        assert [(state.variant, state.runs) for state in new.cases.values()] == [(two, 1), (one, 1), (one, 1)]


def test_what_the_cases_of_a_baseline_can_show():
    def shown(results):
        return resolutions(snapshot(results), Rules())[0].now

    steady = shown(suite(20, FIELDS))
    noisy = shown(result(f"c{number}", FIELDS, dict.fromkeys(FIELDS, number % 2 == 0)) for number in range(20))
    assert 0 < steady.mean < steady.field < 1
    assert noisy.mean > steady.mean
    assert shown(suite(2, FIELDS)) == Falls(mean=None, field=None)


GOOD = result("a", FIELDS)


@pytest.mark.parametrize(
    ("results", "completed", "why"),
    [
        ([GOOD], True, None),
        ([GOOD], False, "did not complete"),
        ([GOOD, not_run("b")], True, "1 of 2 cases were not run"),
        ([], True, "no case was run"),
        ([broken("a")], True, "every case ended in error"),
    ],
)
def test_when_it_is_refused(results, completed, why):
    found = refusal(results, completed=completed)
    assert (found is None) if why is None else (why in found)


def test_in_ci():
    assert all(map(in_ci, [{"CI": "true"}, {"CI": "1"}, {"GITHUB_ACTIONS": "true"}, {"JENKINS_URL": "https://ci"}]))
    assert not any(map(in_ci, [{}, {"CI": "false"}, {"CI": ""}]))
