"""Laws of the gate, for any runs."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_extract.cli.compare import comparison_record
from pytest_extract.core.case_result import Outcome
from pytest_extract.core.values import MAX_DEPTH
from pytest_extract.regression.compare import Change, compare
from pytest_extract.regression.gate import Answer, decide
from pytest_extract.regression.snapshots import snapshot
from pytest_extract.regression.suite import flaky_fields
from pytest_extract.report.lines import text_of
from pytest_extract.report.run_report import gate_lines
from tests.regression.make import INVENTED, merged_results, not_run, result, stored
from tests.strategies import nested


@pytest.fixture(autouse=True, scope="module")
def _fewer_arrangements():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("pytest_extract.core.stats.LANES", 1_000)
        yield


PATHS = ("a", "b.c", "items[0].p", "items[1].p", "d")
runs = st.lists(st.fixed_dictionaries({path: st.booleans() for path in PATHS}), min_size=1, max_size=3)
suites = st.lists(st.tuples(runs, runs), min_size=1, max_size=14)


def results_of(drawn, which, extra=None):
    return [result(f"c{number}", *[run | (extra or {}) for run in pair[which]]) for number, pair in enumerate(drawn)]


def side(drawn, which, extra=None):
    return snapshot(results_of(drawn, which, extra))


def is_worse(before, after):
    return decide(compare(before, after)).answer is Answer.WORSE


@given(suites)
def test_a_run_is_never_worse_than_itself(drawn):
    run = side(drawn, 0)
    (variant,) = compare(run, run).variants
    assert not is_worse(run, run)
    assert (variant.fields, {row.kind for row in variant.cases}) == ((), {Change.UNCHANGED})


@given(suites)
def test_swapping_the_sides_swaps_what_rose_and_fell(drawn):
    sides = side(drawn, 0), side(drawn, 1)
    there, back = compare(*sides).variants[0], compare(*reversed(sides)).variants[0]
    assert [row.after - row.before for row in there.cases] == [row.before - row.after for row in back.cases]
    mirrored = {row.pattern: (row.rose, row.fell) for row in back.patterns}
    assert {row.pattern: (row.fell, row.rose) for row in there.patterns} == mirrored


@given(suites)
def test_what_only_fell_is_not_worse_the_other_way_round(drawn):
    """A second run in which no field passes that failed before."""
    lowered = [
        (before, [{path: old[path] and new[path] for path in PATHS} for old, new in zip(before, after, strict=False)])
        for before, after in drawn
    ]
    before, after = side(lowered, 0), side(lowered, 1)
    assert not (is_worse(before, after) and is_worse(after, before))


@given(suites, st.booleans())
def test_a_pattern_that_did_not_change_turns_nothing_into_worse_nor_hides_it(drawn, passed):
    same = {"same": passed}
    assert is_worse(side(drawn, 0), side(drawn, 1)) == is_worse(side(drawn, 0, same), side(drawn, 1, same))


@given(suites)
def test_one_more_field_that_falls_or_is_invented_makes_nothing_better(drawn):
    before, after = side(drawn, 0), side(drawn, 1)
    if is_worse(before, after):
        assert is_worse(side(drawn, 0, {"x": True}), side(drawn, 1, {"x": False}))
    plain, invented = (compare(before, run).variants[0].cases for run in (after, side(drawn, 1, {"extra": INVENTED})))
    assert all(new.after <= old.after for new, old in zip(invented, plain, strict=True))


@given(suites, st.data())
def test_an_outage_never_makes_it_worse(drawn, data):
    before, after = side(drawn, 0), side(drawn, 1)
    struck = data.draw(st.sets(st.sampled_from(sorted(after))))
    cut = [{key: state for key, state in run.items() if key not in struck} for run in (before, after)]
    out = {key: replace(state, outcome=Outcome.ERROR) if key in struck else state for key, state in after.items()}
    assert is_worse(before, out) == is_worse(*cut)


@given(suites, st.integers(1, 4))
def test_shards_are_the_whole_whether_they_overlap_or_not(drawn, count):
    whole = results_of(drawn, 1)
    lost = [not_run(one.case_id) for one in whole]
    apart = [(f"s{index}", whole[index::count]) for index in range(count)]
    for shards in (apart, [("a", whole), ("b", lost)], [("a", lost), ("b", whole)], [("a", whole), ("b", whole)]):
        merged = merged_results(*shards)
        assert snapshot(merged.results) == snapshot(whole)
        assert merged.conflicts == ()


ODD = {"deep": nested(MAX_DEPTH, []), "huge": 10**4000, "surrogate": "\ud800", "mixed": {"a": [None, True, 1e308]}}


@pytest.mark.parametrize("odd", ODD.values(), ids=ODD)
def test_no_value_stops_the_gate(odd):
    good, bad = {"n": ("g", "g"), "m": True}, {"n": ("g", odd), "m": True}
    before, after = snapshot([result("a", good)]), snapshot([result("a", bad)])
    verdict = decide(compare(before, after))
    assert [change.path for change in verdict.comparison.variants[0].fields] == ["n"]
    assert stored([result("a", bad)]).keys() == after.keys()
    assert all(text_of(line).isprintable() for line in gate_lines(verdict))
    assert json.dumps(comparison_record(verdict))
    assert len(flaky_fields([result("a", good, bad)])) == 1
