"""`pytest-extract merge`: shards into one file, with the same verdict; what overlaps is told."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from pytest_extract.core.case_result import Variant
from pytest_extract.regression.snapshots import snapshot
from pytest_extract.results import dump_result, read_results, write_results
from tests.commands import write
from tests.regression.make import broken, merged_results, not_run, prompt_changed, result, suite

GOOD, BAD = result("a", {"n": True}), result("a", {"n": False})


def test_results_of_cases_and_variants_keep_the_order_of_the_shards():
    other = result("a", {"n": True}, variant=Variant(model="m"))
    merged = merged_results(("1", [result("b", {"n": True})]), ("2", [GOOD, other]))
    assert [(one.case_id, one.variant.label) for one in merged.results] == [("b", ""), ("a", ""), ("a", "m")]
    assert merged.conflicts == ()


@pytest.mark.parametrize(
    ("first", "second", "kept"),
    [
        (GOOD, not_run("a"), GOOD),
        (not_run("a"), GOOD, GOOD),
        (not_run("a"), broken("a"), broken("a")),
        (GOOD, GOOD, GOOD),
        (GOOD, BAD, None),
        (BAD, broken("a"), None),
        (GOOD, replace(GOOD, duration_s=9.0), None),
    ],
)
def test_the_one_that_was_run_is_kept_and_two_that_differ_are_a_conflict(first, second, kept):
    merged = merged_results(("one", [first]), ("two", [second]))
    conflicts = () if kept else (f"{first.nodeid}: one and two differ",)
    assert (merged.results, merged.conflicts) == ((kept or first,), conflicts)


@pytest.mark.parametrize("lines", [[broken("a"), GOOD], [BAD, GOOD], [GOOD, not_run("a")]])
def test_of_a_case_that_a_shard_has_run_again_the_last_run_is_kept(lines):
    merged = merged_results(("one", lines), ("two", [not_run("a")]))
    assert (merged.results, merged.conflicts) == ((GOOD,), ())


@pytest.fixture
def shards(run):
    """Three shards, and the whole run that they are of, which is worse than its base."""
    results = prompt_changed(suite(12, {"n": True, "m": False}))
    runs = {"base": suite(12, {"n": True, "m": True}), "whole": results, "x": [not_run("c0")]}
    runs |= {f"{index}": results[index::3] for index in range(3)}
    for name, made in runs.items():
        write_results(f"{name}.jsonl", made)


def test_merged_shards_hold_the_results_and_the_verdict_of_the_whole_run(shards, run):
    assert "12 results of 3 files" in run("merge 0.jsonl 1.jsonl 2.jsonl -o merged.jsonl").err
    assert snapshot(read_results("merged.jsonl").results) == snapshot(read_results("whole.jsonl").results)
    whole, merged = (run(f"compare --json base.jsonl {name}.jsonl") for name in ("whole", "merged"))
    assert (merged.status, merged.json) == (1, whole.json)
    assert run("merge 0.jsonl").out == Path("0.jsonl").read_text()
    told = run("merge x.jsonl whole.jsonl -o out.jsonl")
    assert (told.status, len(read_results("out.jsonl").results)) == (0, 12)


def test_a_conflict_writes_nothing(shards, run):
    write_results("x.jsonl", [result("c0", {"n": True, "m": True})])
    told = run("merge whole.jsonl x.jsonl -o out.jsonl")
    assert (told.status, Path("out.jsonl").exists()) == (1, False)
    assert "::c0: whole.jsonl and x.jsonl differ" in told.err


def test_a_torn_last_line_is_told_and_a_damaged_one_leaves_nothing(run):
    line = dump_result(GOOD)
    write(
        {"torn.jsonl": f"{line}\n{line[:99]}", "bad.jsonl": f"{line}\n{line.replace('status', 'statuz', 1)}\n{line}\n"}
    )
    run("merge bad.jsonl -o out.jsonl").assert_refused("bad.jsonl:2: not a whole result")
    assert not Path("out.jsonl").exists()
    told = run("merge torn.jsonl -o out.jsonl")
    assert (told.status, "cut off" in told.err) == (0, True)


def test_merged_lines_stay_as_they_are(run):
    spaced = json.dumps(json.loads(dump_result(GOOD))).replace('"tags": {}', '"tags": {"kind": "é"}')
    other = dump_result(result("z", {"n": True}))
    write({"1.jsonl": f"{spaced}\n\n", "2.jsonl": f"{other}\n{spaced}"})
    assert run("merge 1.jsonl 2.jsonl").out == f"{spaced}\n{other}\n"
    assert run("merge 1.jsonl 2.jsonl -o 1.jsonl").status == 0  # a shard can be the output
    assert Path("1.jsonl").read_text("utf-8") == f"{spaced}\n{other}\n"
