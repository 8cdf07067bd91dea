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
from pytest_extract.regression.compare import match_variants
from pytest_extract.regression.facts import Rules
from pytest_extract.regression.snapshots import snapshot
from tests.regression.make import FILE, INVENTED, attempt, broken, not_run, result, suite
from tests.strategies import json_values

FIELDS = {"n": True, "items[0].p": False, "items[1].p": True}


def baseline_of(*results):
    return updated_baseline(None, snapshot(results))


def test_it_comes_back_as_it_was_written():
    baseline = baseline_of(
        result("a", FIELDS, FIELDS | {"n": False, "extra": INVENTED}),
        result(
            "b",
            attempt({"n": ("ü\ud800", ["x", {"y": None}])}, failed_gate="schema"),
            variant=Variant(model="m", prompt="p"),
        ),
    )
    again = load_baseline(dump_baseline(baseline))
    assert again == baseline
    assert dump_baseline(again) == dump_baseline(baseline)


def test_it_is_sorted_and_does_not_depend_on_the_order_of_the_results():
    results = [result(name, FIELDS) for name in "cab"]
    text = dump_baseline(baseline_of(*results))
    assert text == dump_baseline(baseline_of(*reversed(results)))
    names = [line.strip().partition('"')[2].partition('"')[0] for line in text.splitlines() if FILE in line]
    assert names == [f"{FILE}::{name}" for name in "abc"]


def test_one_changed_field_changes_few_lines():
    before = dump_baseline(baseline_of(*(result(name, FIELDS) for name in "abc"))).splitlines()
    after = dump_baseline(baseline_of(*(result(n, FIELDS | {"n": n != "b"}) for n in "abc"))).splitlines()
    changed = set(after) - set(before)
    assert any('"n": {"gold": "right", "pattern": "n", "runs": [false], "value": "wrong"}' in line for line in changed)
    assert len(changed) <= 5


def test_it_stays_small():
    many = {f"items[{number}].p": True for number in range(1000)}
    assert len(dump_baseline(baseline_of(result("a", many)))) < 1500


def test_a_long_value_is_cut_and_says_so():
    text = dump_baseline(baseline_of(result("a", {"n": ("g", "x" * 5000)})))
    assert "5002 characters" in text
    assert len(text) < 2000


@given(st.dictionaries(st.sampled_from("abcd"), st.tuples(json_values, json_values), min_size=1), st.integers(1, 3))
def test_what_is_stored_reads_the_same(fields, runs):
    for state in snapshot([result("x", *[fields] * runs)]).values():
        assert as_stored(as_stored(state)) == as_stored(state)


@pytest.mark.parametrize("value", ["x" * 5000, '"' * 5000, "\x01" * 5000, "\\" * 401, ["ü"] * 900, {"a" * 500: 1}])
def test_a_long_value_is_cut_once(value):
    baseline = baseline_of(result("a", {"n": ("g", value)}))
    assert load_baseline(dump_baseline(baseline)) == baseline


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("{", "not a baseline"),
        ("[" * 100_000, "not a baseline"),
        ("[]", "not a baseline"),
        ('{"format": 1}', "not a baseline"),
        ('{"kind": "pytest-extract baseline", "version": 99}', "version 99"),
        ('{"kind": "pytest-extract baseline", "version": 2}', "damaged"),
        ('{"kind": "pytest-extract baseline", "version": 2, "cases": {"a": {"": {}}}}', "damaged"),
        ('{"kind": "pytest-extract baseline", "version": 2, "cases": []}', "damaged"),
    ],
)
def test_what_is_no_baseline_is_refused_with_what_to_do(tmp_path, text, what):
    path = tmp_path / "baseline.json"
    path.write_text(text)
    with pytest.raises(StoreError, match=what) as raised:
        read_baseline(path)
    assert str(path) in str(raised.value)


@pytest.mark.parametrize("runs", ["2", [], [True, False], [2]])
def test_runs_that_are_no_truth_values_of_each_run_are_damage(runs):
    record = json.loads(dump_baseline(baseline_of(result("a", FIELDS))))
    record["cases"][f"{FILE}::a"][""]["failing"]["items[0].p"]["runs"] = runs
    with pytest.raises(StoreError, match="damaged"):
        load_baseline(json.dumps(record))


def test_a_missing_file_says_how_to_write_one(tmp_path):
    with pytest.raises(StoreError, match="--extract-update-baseline"):
        read_baseline(tmp_path / "none.json")


def test_what_is_no_baseline_is_not_read_as_one():
    assert load_baseline("\ufeff" + dump_baseline(baseline_of())) == baseline_of()  # as some editors save it
    assert load_baseline(dump_baseline(baseline_of())) == baseline_of()
    assert load_baseline('{"format": 1}\n{"format": 1}') is None
    assert load_baseline("null") is None


def test_only_selected_cases_are_replaced(tmp_path):
    path = tmp_path / "deep" / "baseline.json"
    update_baseline(path, [result("a", FIELDS), result("b", FIELDS)])
    baseline = update_baseline(path, [result("b", {"n": False})])
    assert read_baseline(path) == baseline
    assert {key.case: len(state.failing) for key, state in baseline.cases.items()} == {
        f"{FILE}::a": 1,
        f"{FILE}::b": 1,
    }
    assert set(baseline.cases[next(key for key in baseline.cases if key.case.endswith("b"))].failing) == {"n"}
    assert [found.name for found in path.parent.iterdir()] == ["baseline.json"]


def test_cases_that_are_gone_can_be_dropped(tmp_path):
    path = tmp_path / "baseline.json"
    update_baseline(path, suite(3, FIELDS))
    kept = update_baseline(path, [result("c0", FIELDS)], gone=[f"{FILE}::c1"])
    assert sorted(key.case for key in kept.cases) == [f"{FILE}::c0", f"{FILE}::c2"]


def test_a_broken_case_keeps_its_old_entry(tmp_path):
    path = tmp_path / "baseline.json"
    old = update_baseline(path, suite(2, FIELDS))
    assert update_baseline(path, [broken("c0"), result("c1", FIELDS)]) == old


def test_a_single_variant_takes_the_place_of_a_single_one():
    one, two = Variant(model="one"), Variant(model="two")
    old = baseline_of(*suite(3, FIELDS, variant=one))
    part = updated_baseline(old, snapshot([result("c0", FIELDS, variant=two)]))
    assert sorted(key.variant for key in part.cases) == ["one", "one", "one", "two"]
    run = snapshot([result("c0", FIELDS, variant=two), broken("c1", variant=two), broken("c2", variant=two)])
    for keep_runs in (None, 10):
        new = updated_baseline(old, run, keep_runs=keep_runs)
        assert {key.variant for key in new.cases} == {"two"}
        assert [(state.variant, state.runs) for state in new.cases.values()] == [(two, 1), (one, 1), (one, 1)]
    assert len(match_variants(new.cases, snapshot(suite(3, FIELDS, variant=Variant(model="three"))))) == 1


def test_what_the_cases_of_a_baseline_can_show():
    def shown(results):
        return resolutions(snapshot(results), Rules())[0].now

    steady = shown(suite(20, FIELDS))
    noisy = shown(result(f"c{number}", FIELDS, dict.fromkeys(FIELDS, number % 2 == 0)) for number in range(20))
    assert 0 < steady.mean < steady.field < 1
    assert noisy.mean > steady.mean
    assert shown(suite(2, FIELDS)) == Falls(mean=None, field=None)


@pytest.mark.parametrize(
    ("results", "completed", "why"),
    [
        ([result("a", FIELDS)], True, None),
        ([result("a", FIELDS)], False, "did not complete"),
        ([result("a", FIELDS), not_run("b")], True, "1 of 2 cases were not run"),
        ([], True, "no case was run"),
        ([broken("a")], True, "every case broke"),
    ],
)
def test_when_it_is_refused(results, completed, why):
    found = refusal(results, completed=completed)
    assert (found is None) == (why is None)
    assert why is None or why in found


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({}, False),
        ({"CI": "true"}, True),
        ({"CI": "1"}, True),
        ({"CI": "false"}, False),
        ({"CI": ""}, False),
        ({"GITHUB_ACTIONS": "true"}, True),
        ({"JENKINS_URL": "https://ci"}, True),
    ],
)
def test_in_ci(environment, expected):
    assert in_ci(environment) is expected
