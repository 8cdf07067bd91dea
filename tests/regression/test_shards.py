"""Shards joined into one run; what overlaps is told."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pytest_extract.core.case_result import Variant
from tests.regression.make import broken, merged_results, not_run, result

GOOD, BAD = result("a", {"n": True}), result("a", {"n": False})


def test_results_keep_the_order_of_the_shards():
    merged = merged_results(("1", [result("b", {"n": True})]), ("2", [GOOD]))
    assert [one.case_id for one in merged.results] == ["b", "a"]
    assert (merged.notes, merged.conflicts) == ((), ())


def test_variants_of_a_case_are_results_of_their_own():
    merged = merged_results(("1", [GOOD]), ("2", [result("a", {"n": True}, variant=Variant(model="m"))]))
    assert len(merged.results) == 2


@pytest.mark.parametrize(
    ("first", "second", "kept"),
    [
        (GOOD, not_run("a"), GOOD),
        (not_run("a"), GOOD, GOOD),
        (broken("a"), BAD, BAD),
        (BAD, broken("a"), BAD),
        (not_run("a"), broken("a"), broken("a")),
    ],
    ids=["run, not run", "not run, run", "broken, failed", "failed, broken", "not run, broken"],
)
def test_the_one_that_got_further_is_kept_and_told(first, second, kept):
    merged = merged_results(("one", [first]), ("two", [second]))
    assert merged.results == (kept,)
    assert "one and two" in merged.notes[0]
    assert merged.conflicts == ()


def test_the_same_result_twice_is_kept_once_however_long_it_took():
    merged = merged_results(("one", [GOOD]), ("two", [replace(GOOD, duration_s=9.0)]))
    assert merged.results == (GOOD,)
    assert "the same" in merged.notes[0]
    assert merged.conflicts == ()


@pytest.mark.parametrize(("first", "second"), [(GOOD, BAD), (BAD, GOOD)])
def test_two_results_that_differ_are_a_conflict(first, second):
    merged = merged_results(("one", [first]), ("two", [second]))
    assert merged.results == (second,)
    assert len(merged.conflicts) == 1
    assert merged.notes == ()
