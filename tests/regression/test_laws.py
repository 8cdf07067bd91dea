"""Laws of the gate, for any runs."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_extract.cli.compare import comparison_record
from pytest_extract.core.case_result import Outcome
from pytest_extract.regression.baseline import dump_baseline, load_baseline, updated_baseline
from pytest_extract.regression.compare import Change, compare
from pytest_extract.regression.facts import Rules
from pytest_extract.regression.gate import Answer, decide
from pytest_extract.regression.snapshots import snapshot
from pytest_extract.regression.suite import flaky_fields
from pytest_extract.report.lines import text_of
from pytest_extract.report.run_report import gate_lines
from tests.regression.make import INVENTED, broken, merged_results, result
from tests.strategies import nested

RULES = Rules()


@pytest.fixture(autouse=True, scope="module")
def _fewer_arrangements():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("pytest_extract.core.stats.LANES", 1_000)
        yield


PATHS = ("a", "b.c", "items[0].p", "items[1].p", "d")
fields = st.fixed_dictionaries({path: st.booleans() for path in PATHS})
runs = st.lists(fields, min_size=1, max_size=3)
suites = st.lists(st.tuples(runs, runs), min_size=1, max_size=14)


def side(drawn, which, extra=None):
    return snapshot(
        [result(f"c{number}", *[run | (extra or {}) for run in pair[which]]) for number, pair in enumerate(drawn)]
    )


def judged(before, after):
    return decide(compare(before, after), RULES)


@given(suites)
def test_a_run_is_never_worse_than_itself(drawn):
    run = side(drawn, 0)
    comparison = compare(run, run)
    assert decide(comparison, RULES).answer is not Answer.WORSE
    assert not comparison.variants[0].fields
    assert {row.kind for row in comparison.variants[0].cases} == {Change.UNCHANGED}


@given(suites)
def test_a_baseline_file_says_what_the_run_itself_would_say(drawn):
    run, after = side(drawn, 0), side(drawn, 1)
    stored = load_baseline(dump_baseline(updated_baseline(None, run))).cases
    direct, filed = compare(run, after), compare(stored, after)
    assert direct.variants[0].patterns == filed.variants[0].patterns
    assert [row.change for row in direct.variants[0].cases] == [row.change for row in filed.variants[0].cases]
    assert decide(direct, RULES).answer is decide(filed, RULES).answer


@given(suites)
def test_swapping_the_sides_swaps_fixed_and_broken(drawn):
    there, back = (
        compare(side(drawn, 0), side(drawn, 1)).variants[0],
        compare(side(drawn, 1), side(drawn, 0)).variants[0],
    )
    assert [row.change for row in there.cases] == [-row.change for row in back.cases]
    mirrored = {row.pattern: (row.rose, row.fell) for row in back.patterns}
    assert {row.pattern: (row.fell, row.rose) for row in there.patterns} == mirrored


@given(suites)
def test_what_only_broke_is_not_worse_the_other_way_round(drawn):
    """A second run in which no field passes that failed before."""
    lowered = [
        (before, [{path: old[path] and new[path] for path in PATHS} for old, new in zip(before, after, strict=False)])
        for before, after in drawn
    ]
    before, after = side(lowered, 0), side(lowered, 1)
    if judged(before, after).answer is Answer.WORSE:
        assert judged(after, before).answer is not Answer.WORSE


@given(suites, st.booleans())
def test_a_pattern_that_did_not_change_turns_nothing_into_worse_nor_hides_it(drawn, passed):
    plain = judged(side(drawn, 0), side(drawn, 1)).answer
    more = judged(side(drawn, 0, {"same": passed}), side(drawn, 1, {"same": passed})).answer
    assert (plain is Answer.WORSE) == (more is Answer.WORSE)


@given(suites)
def test_breaking_one_more_field_never_turns_worse_into_something_better(drawn):
    before, after = side(drawn, 0), side(drawn, 1)
    if judged(before, after).answer is Answer.WORSE:
        assert judged(side(drawn, 0, {"x": True}), side(drawn, 1, {"x": False})).answer is Answer.WORSE


@given(suites)
def test_inventing_a_field_never_makes_a_case_better(drawn):
    invented = compare(side(drawn, 0), side(drawn, 1, {"extra": INVENTED})).variants[0]
    plain = compare(side(drawn, 0), side(drawn, 1)).variants[0]
    assert all(new.after <= old.after for new, old in zip(invented.cases, plain.cases, strict=True))


@given(suites, st.data())
def test_an_outage_never_makes_it_worse(drawn, data):
    before, after = side(drawn, 0), side(drawn, 1)
    struck = data.draw(st.sets(st.sampled_from(sorted(after))))
    cut = {key: state for key, state in before.items() if key not in struck}
    out = {key: replace(state, outcome=Outcome.BROKEN) if key in struck else state for key, state in after.items()}
    expected = judged(cut, {key: after[key] for key in cut}).answer
    assert (judged(before, out).answer is Answer.WORSE) == (expected is Answer.WORSE)


@given(suites, st.integers(1, 4))
def test_shards_give_the_verdict_of_the_whole(drawn, count):
    whole = [result(f"c{number}", *pair[1]) for number, pair in enumerate(drawn)]
    shards = [(f"s{index}", whole[index::count]) for index in range(count)]
    merged = merged_results(*shards)
    assert not merged.conflicts
    assert not merged.notes
    assert snapshot(merged.results) == snapshot(whole)
    assert judged(side(drawn, 0), snapshot(merged.results)) == judged(side(drawn, 0), snapshot(whole))


@given(suites)
def test_overlapping_shards_keep_what_was_run(drawn):
    whole = [result(f"c{number}", *pair[1]) for number, pair in enumerate(drawn)]
    lost = [broken(one.case_id) for one in whole]
    for order in ([("a", whole), ("b", lost)], [("a", lost), ("b", whole)], [("a", whole), ("b", whole)]):
        merged = merged_results(*order)
        assert snapshot(merged.results) == snapshot(whole)
        assert len(merged.notes) == len(whole)
        assert not merged.conflicts


@pytest.mark.parametrize(
    "odd",
    [nested(10_000, []), 10**5000, "\ud800", float("nan"), {"a": [None, True, 1e308]}],
    ids=["deep", "huge", "surrogate", "nan", "mixed"],
)
def test_no_value_stops_the_gate(odd):
    before = snapshot([result("a", {"n": ("g", "g"), "m": True})])
    after = snapshot([result("a", {"n": ("g", odd), "m": True})])
    comparison = compare(before, after)
    verdict = decide(comparison, RULES)
    assert [change.path for change in comparison.variants[0].fields] == ["n"]
    assert load_baseline(dump_baseline(updated_baseline(None, after))).cases.keys() == after.keys()
    assert all(text_of(line).isprintable() for line in gate_lines(verdict))
    assert json.dumps(comparison_record(verdict))
    assert len(flaky_fields([result("a", {"n": ("g", "g")}, {"n": ("g", odd)})])) == 1
