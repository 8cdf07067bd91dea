"""What is kept of a result, and what of two results fell, rose, is new or gone: per field pattern and per case."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pytest_extract.core.case_result import Outcome, Variant
from pytest_extract.core.results import Status
from pytest_extract.core.stats import Runs
from pytest_extract.core.values import MISSING
from pytest_extract.regression.compare import Change, compare, compare_variants
from pytest_extract.regression.snapshots import case_state, snapshot
from tests.regression.make import FILE, INVENTED, attempt, broken, not_run, result, stored

N = {"n": True}
O_IS_TEXT = {"o": ({"x": 1}, "text")}


def test_fields_that_pass_are_counted_and_those_that_fail_are_kept():
    state = case_state(result("a", {"n": True, "items[0].p": True, "items[1].p": False}))
    assert {name: shape.of for name, shape in state.patterns.items()} == {"items[].p": 2, "n": 1}
    (entry,) = state.failing.values()
    assert (entry.pattern, entry.runs, entry.gold, entry.value) == ("items[].p", (False,), "right", "wrong")


BROKE = attempt({"n": False}, outcome=Outcome.ERROR, score=None, error="boom")
REPEATS = {
    "repeats": ([N | {"m": True}, {"n": False, "m": True}, N | {"m": True}], {"n": (True, False, True)}),
    "invented now and then": ([N, N | {"extra": INVENTED}], {"extra": (True, False)}),
    "an object failed once": ([{"o.x": True}, O_IS_TEXT], {"o.x": (True, False)}),
    "an object failed always": ([O_IS_TEXT, {"o": ({"x": 1}, None)}], {"o": (False, False)}),
    "one broke": ([BROKE, attempt(N, index=1)], {}),
}


@pytest.mark.parametrize(("runs", "failing"), REPEATS.values(), ids=REPEATS)
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
    assert replace(result("a", N), outcome=Outcome.ERROR).scores == []


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


def compared(before, after):
    """Compare two lists of results, the first as a run and, with the same answer, as a baseline file."""
    (variant,) = compare(snapshot(before), snapshot(after)).variants
    (filed,) = compare(stored(before), snapshot(after)).variants
    assert (filed.patterns, filed.fields) == (variant.patterns, variant.fields)
    assert filed.cases == variant.cases
    return variant


def of_one_case(before, after):
    return compared([result("a", before)], [result("a", after)])


def kinds(variant):
    return {row.pattern: str(row.kind) for row in variant.patterns}


OBJECT = {"o.x": True, "o.y": True, "n": True}
ROWS = {"r[0].x": True, "r[1].x": False, "r[2].x": True}


@pytest.mark.parametrize(
    ("before", "after", "flips", "change"),
    [
        (N, N, {}, 0),
        ({"n": False}, {"n": False}, {}, 0),
        ({"n": ("g", "one wrong")}, {"n": ("g", "another wrong")}, {}, 0),
        (N | {"m": True}, {"n": False, "m": True}, {"n": "fell"}, -0.5),
        ({"n": False, "m": True}, N | {"m": True}, {"n": "rose"}, 0.5),
        (N, N | {"extra": INVENTED}, {"extra": "fell"}, -0.5),
        (N | {"extra": INVENTED}, N, {"extra": "rose"}, 0.5),
        (OBJECT, O_IS_TEXT | N, {"o": "fell"}, -0.5),
        (O_IS_TEXT | N, OBJECT, {"o": "rose"}, 0.5),
        (ROWS, {"r[0].x": True, "r[1]": ({"x": 1}, "text"), "r[2]": ({"x": 1}, 7)}, {"r[2]": "fell"}, -1 / 3),
        ({"x": True, "y": True}, {"$": ({"x": 1}, 5)}, {"$": "fell"}, -1),
        (attempt(N, metric="exact"), attempt({"n": False}, metric="structure"), {"n": "fell"}, -1),
    ],
)
def test_what_falls_and_rises_in_a_case(before, after, flips, change):
    variant = of_one_case(before, after)
    assert {each.path: str(each.kind) for each in variant.fields} == flips
    assert variant.cases[0].after - variant.cases[0].before == pytest.approx(change)


def test_a_flip_carries_the_values_of_both_sides():
    before, after = {"n": ("g", "old wrong"), "m": True}, {"n": ("g", "g"), "m": ("right", "new wrong"), "x": INVENTED}
    worse, invented, better = of_one_case(before, after).fields
    values = (worse.path, worse.kind, worse.value_before, worse.value_after, worse.gold)
    assert values == ("m", Change.FELL, "right", "new wrong", "right")
    assert (better.path, better.kind, better.value_before, better.value_after) == ("n", Change.ROSE, "old wrong", "g")
    assert (invented.path, invented.value_before) == ("x", MISSING)


def test_rows_of_an_array_are_one_pattern_and_pairs_of_their_own():
    (row,) = of_one_case(ROWS, {"r[0].x": False, "r[1].x": True, "r[2].x": True}).patterns
    assert (row.fields, row.rose, row.fell, row.kind) == (3, 1, 1, Change.SHIFTED)
    assert (row.before, row.after) == pytest.approx((2 / 3, 2 / 3))


def test_a_failed_gate_counts_the_whole_case_and_blames_no_pattern():
    both = N | {"m": True}
    variant = of_one_case(both, attempt(both, failed_gate="schema"))
    assert kinds(variant) == {"(schema gate)": "fell", "n": "unchanged", "m": "unchanged"}
    (row,) = variant.cases
    assert (row.after - row.before, row.kind) == (-1, Change.FELL)


def test_cases_and_fields_on_one_side_are_new_or_gone():
    before = [result("a", N | {"old": True}), result("b", {"k": True})]
    variant = compared(before, [result("a", N | {"new": True}), result("c", {"m": True})])
    rows = [(row.case.rpartition("::")[2], str(row.kind), row.fields) for row in variant.cases]
    assert rows == [("a", "unchanged", 1), ("b", "gone", 0), ("c", "new", 0)]
    assert kinds(variant) == {"n": "unchanged", "old": "gone", "new": "new", "k": "gone", "m": "new"}


@pytest.mark.parametrize(("before", "after"), [(N, broken("a")), (N, not_run("a")), (broken("a"), N)])
def test_an_outage_is_never_a_regression(before, after):
    sides = ([one if not isinstance(one, dict) else result("a", one), result("b", N)] for one in (before, after))
    (variant,) = compare(*map(snapshot, sides)).variants
    assert [(str(row.kind), row.fields) for row in variant.cases] == [("lost", 0), ("unchanged", 1)]
    assert "\n" not in variant.cases[0].why
    assert variant.cases[0].why.startswith("before error") == (after is N)
    assert not variant.fields


@pytest.mark.parametrize(
    ("name", "expected"),
    [("document", "incomparable"), ("gold", "unchanged"), ("schema", "unchanged"), ("prompt", "unchanged")],
)
def test_only_another_document_makes_a_case_another_question(name, expected):
    before = result("a", N)
    after = replace(before, digests=before.digests | {name: "e" * 64})
    assert str(compared([before], [after]).cases[0].kind) == expected


def test_a_changed_gold_value_or_metric_takes_its_field_out_and_says_so():
    before = result("a", {"n": ("1", "1"), "m": True})
    after = replace(result("a", {"n": ("2", "1"), "m": False}), digests=before.digests | {"gold": "e" * 64})
    variant = compared([before], [after])
    assert kinds(variant) == {"n": "incomparable", "m": "fell"}
    assert (variant.cases[0].apart, variant.cases[0].why) == (1, "gold changed")
    variant = of_one_case(N, attempt({"n": False}, metric="exact"))
    assert (variant.cases[0].kind, variant.fields) == (Change.INCOMPARABLE, ())


def test_known_failures_are_left_out_and_told():
    fields = N | {"items[0].tax": True, "items[1].tax": True, "o.x": True}
    after = result("a", fields | {"items[0].tax": False, "o.x": False}, known=("items[].tax", "o"))
    variant = compared([result("a", fields)], [after])
    assert kinds(variant) == {"n": "unchanged"}
    assert variant.known == (f"{FILE}::a: items[0].tax", f"{FILE}::a: o.x")
    one_row = result("a", fields | {"items[0].tax": False, "items[1].tax": False}, known=("items[0].tax",))
    rows = {row.pattern: (row.fields, row.fell) for row in compared([result("a", fields)], [one_row]).patterns}
    assert rows == {"items[].tax": (1, 1), "n": (1, 0), "o.x": (1, 0)}


@pytest.mark.parametrize(
    ("before", "after", "kind"),
    [("111", "101", "shifted"), ("111", "001", "fell"), ("11", "10", "fell"), ("010", "001", "unchanged")],
)
def test_repeats_flip_at_half_and_shift_short_of_it(before, after, kind):
    sides = ([result("a", *({"n": bit == "1"} for bit in bits))] for bits in (before, after))
    assert kinds(compared(*sides)) == {"n": kind}


def test_all_runs_of_both_sides_count_however_many_each_has():
    (case,) = compared([result("a", N)], [result("a", N, {"n": False}, {"n": False})]).cases
    assert (case.kind, case.runs) == (Change.FELL, (1, 3))
    assert (case.before, case.after) == pytest.approx((1, 1 / 3))
    assert case.runs_by_pattern["n"] == Runs((0,), (0, 1, 1))


def test_a_run_that_fails_as_a_whole_is_set_to_the_mean_of_the_others():
    good = {"x": True, "y": True, "z": True}
    one, none = good | {"y": False}, dict.fromkeys(good, False)
    (case,) = compared([result("a", good, one)], [result("a", none, good)]).cases
    assert (case.failed_whole, case.runs_overall) == ((0, 1), Runs((0, 1 / 3), (1, 0)))
    assert case.runs_complete == Runs((0, 1 / 3), (1 / 9, 0))
    assert of_one_case(none, none).cases[0].runs_complete is None
    two = {"x": True, "y": True}
    assert of_one_case(two, dict.fromkeys(two, False)).cases[0].failed_whole == (0, 0)  # two are no whole answer
    assert of_one_case(two, attempt(two, failed_gate="schema")).cases[0].failed_whole == (0, 1)


def test_runs_that_broke_are_counted_by_kind_and_cost_and_latency_are_kept():
    down = attempt({}, outcome=Outcome.ERROR, score=None, error="litellm.RateLimitError: slow down", cost_usd=None)
    right = [attempt(N, latency_s=seconds) for seconds in (1.0, 3.0)]
    (case,) = compared([result("a", right[0])], [result("a", *right, down)]).cases
    assert (case.error_runs, case.errors) == (Runs((0,), (0, 0, 1)), {"RateLimitError": 1})
    assert (case.cost_usd, case.latency_s) == ((0.01, 0.01), (1.0, 2.0))


def test_variants_pair_by_label_and_a_lone_variant_with_a_lone_variant():
    def pairs(before, after):
        sides = [snapshot([result("a", N, variant=Variant(model=model)) for model in side]) for side in (before, after)]
        return [(each.before, each.after, len(each.compared)) for each in compare(*sides).variants]

    assert pairs(["old"], ["new"]) == [("old", "new", 1)]
    assert pairs(["old"], ["old", "new"]) == [("old", "old", 1), ("new", "new", 0)]
    revisions = {"main": N, "now": {"n": False}}
    states = snapshot([result("a", fields, variant=Variant(revision=name)) for name, fields in revisions.items()])
    variant = compare_variants(states, states, "main", "now")
    assert (variant.label, [str(change.kind) for change in variant.fields]) == ("main -> now", ["fell"])


def test_the_same_set_up_is_only_claimed_where_the_extractor_is_known():
    def same(before, after):
        return compare(snapshot([before]), snapshot([after])).variants[0].cases[0].same_setup

    one = result("a", N)
    known = replace(one, digests=one.digests | {"extractor": "7" * 64})
    other = replace(known, digests=known.digests | {"prompt": "8" * 64})
    assert [same(one, one), same(known, known), same(known, other)] == [False, True, False]
