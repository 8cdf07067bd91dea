"""Fixed, broken, unchanged, new, gone: per field pattern and per case, with the values before and after."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pytest_extract.core.case_result import Outcome, Variant
from pytest_extract.core.stats import Runs
from pytest_extract.core.values import MISSING
from pytest_extract.regression.baseline import Baseline, dump_baseline, load_baseline, updated_baseline
from pytest_extract.regression.compare import Change, compare, compare_variants
from pytest_extract.regression.snapshots import snapshot
from tests.regression.make import FILE, INVENTED, attempt, broken, not_run, result


def straight(results):
    return snapshot(results)


def through_a_file(results):
    return load_baseline(dump_baseline(updated_baseline(None, snapshot(results)))).cases


@pytest.fixture(params=[straight, through_a_file], ids=["run", "baseline"])
def compared(request):
    """Compare two lists of results, the first as a run or as it comes back from a baseline file."""

    def compared(before, after):
        (variant,) = compare(request.param(before), snapshot(after)).variants
        return variant

    return compared


def kinds(variant):
    return {row.pattern: str(row.kind) for row in variant.patterns}


@pytest.mark.parametrize(
    ("before", "after", "kind", "rates"),
    [
        (True, True, "unchanged", (1.0, 1.0)),
        (False, False, "unchanged", (0.0, 0.0)),
        (True, False, "fell", (1.0, 0.0)),
        (False, True, "rose", (0.0, 1.0)),
        (("g", "one wrong"), ("g", "another wrong"), "unchanged", (0.0, 0.0)),
    ],
    ids=["passes", "fails", "fell", "rose", "wrong in another way"],
)
def test_one_field(compared, before, after, kind, rates):
    variant = compared([result("a", {"n": before, "m": True})], [result("a", {"n": after, "m": True})])
    assert kinds(variant) == {"n": kind, "m": "unchanged"}
    assert str(variant.cases[0].kind) == kind
    row = next(row for row in variant.patterns if row.pattern == "n")
    assert (row.before, row.after) == rates
    assert variant.cases[0].fields == 2


def test_a_flip_carries_the_values_of_both_sides(compared):
    variant = compared(
        [result("a", {"n": ("g", "old wrong"), "m": True})],
        [result("a", {"n": ("g", "g"), "m": ("right", "new wrong")})],
    )
    (worse, better) = variant.fields
    assert (worse.path, worse.kind, worse.value_before, worse.value_after, worse.gold) == (
        ("m", Change.FELL, "right", "new wrong", "right")
    )
    assert (better.path, better.kind, better.value_before, better.value_after) == ("n", Change.ROSE, "old wrong", "g")


def test_rows_of_an_array_are_one_pattern_and_pairs_of_their_own(compared):
    before = [result("a", {"items[0].p": True, "items[1].p": False, "items[2].p": True})]
    after = [result("a", {"items[0].p": False, "items[1].p": True, "items[2].p": True})]
    (row,) = compared(before, after).patterns
    assert (row.fields, row.rose, row.fell, row.kind) == (3, 1, 1, Change.SHIFTED)
    assert (row.before, row.after) == (pytest.approx(2 / 3), pytest.approx(2 / 3))


def test_an_invented_field_is_broken_where_the_other_side_was_rightly_silent(compared):
    variant = compared([result("a", {"n": True})], [result("a", {"n": True, "extra": INVENTED})])
    assert kinds(variant) == {"n": "unchanged", "extra": "fell"}
    assert variant.fields[0].value_before is MISSING
    assert variant.cases[0].change == -0.5
    back = compared([result("a", {"n": True, "extra": INVENTED})], [result("a", {"n": True})])
    assert kinds(back) == {"n": "unchanged", "extra": "rose"}


def test_a_container_that_fails_as_a_whole_is_one_broken_field(compared):
    good = result("a", {"o.x": True, "o.y": True, "n": True})
    bad = result("a", {"o": ({"x": 1}, "a text"), "n": True})
    variant = compared([good], [bad])
    assert [(change.path, str(change.kind)) for change in variant.fields] == [("o", "fell")]
    assert variant.cases[0].fields == 2
    back = compared([bad], [good])
    assert [(change.path, str(change.kind)) for change in back.fields] == [("o", "rose")]


def test_a_value_of_the_wrong_type_is_held_against_the_field_s_own_metric(compared):
    wrong_type = attempt({"n": False}, metric="structure")
    variant = compared([result("a", attempt({"n": True}, metric="exact"))], [result("a", wrong_type)])
    assert kinds(variant) == {"n": "fell"}


def test_a_row_that_fails_as_a_whole_covers_its_fields(compared):
    good = result("a", {"r[0].x": True, "r[1].x": False, "r[2].x": True})
    bad = result("a", {"r[0].x": True, "r[1]": ({"x": 1}, "text"), "r[2]": ({"x": 1}, 7)})
    variant = compared([good], [bad])
    found = {change.path: str(change.kind) for change in variant.fields}
    assert found == {"r[2]": "fell"}


def test_a_document_that_fails_at_its_root_is_one_broken_field(compared):
    variant = compared([result("a", {"x": True, "y": True})], [result("a", {"$": ({"x": 1}, 5)})])
    assert variant.cases[0].change == -1
    assert [change.path for change in variant.fields] == ["$"]


def test_a_failed_gate_counts_the_whole_case_and_blames_no_pattern(compared):
    good, bad = attempt({"n": True, "m": True}), attempt({"n": True, "m": True}, failed_gate="schema")
    variant = compared([result("a", good)], [result("a", bad)])
    assert kinds(variant) == {"(schema gate)": "fell", "n": "unchanged", "m": "unchanged"}
    assert variant.cases[0].change == -1
    assert variant.cases[0].kind is Change.FELL


def test_cases_on_one_side_are_new_or_gone(compared):
    variant = compared(
        [result("a", {"n": True}), result("b", {"k": True})], [result("a", {"n": True}), result("c", {"m": True})]
    )
    assert {row.case.rpartition("::")[2]: str(row.kind) for row in variant.cases} == {
        "a": "unchanged",
        "b": "gone",
        "c": "new",
    }
    assert kinds(variant) == {"n": "unchanged", "k": "gone", "m": "new"}


def test_a_field_that_gold_gained_or_lost_is_new_or_gone(compared):
    variant = compared([result("a", {"n": True, "old": True})], [result("a", {"n": True, "new": True})])
    assert kinds(variant) == {"n": "unchanged", "old": "gone", "new": "new"}
    assert variant.cases[0].fields == 1


@pytest.mark.parametrize("lost", [broken("a"), not_run("a")], ids=["broken", "not run"])
def test_an_outage_is_never_a_regression(lost):
    good = [result("a", {"n": True}), result("b", {"n": True})]
    (variant,) = compare(snapshot(good), snapshot([lost, good[1]])).variants
    assert [str(row.kind) for row in variant.cases] == ["lost", "unchanged"]
    assert "\n" not in variant.cases[0].why
    assert not variant.fields
    assert sum(row.fields for row in variant.cases) == 1


@pytest.mark.parametrize(
    ("name", "expected"),
    [("document", "incomparable"), ("gold", "unchanged"), ("schema", "unchanged"), ("prompt", "unchanged")],
)
def test_only_another_document_makes_a_case_another_question(compared, name, expected):
    before = result("a", {"n": True})
    after = replace(before, digests=before.digests | {name: "e" * 64})
    assert str(compared([before], [after]).cases[0].kind) == expected


def test_a_changed_gold_value_takes_its_field_out_and_says_so(compared):
    before = result("a", {"n": ("1", "1"), "m": True})
    after = replace(result("a", {"n": ("2", "1"), "m": False}), digests=before.digests | {"gold": "e" * 64})
    variant = compared([before], [after])
    assert kinds(variant) == {"n": "incomparable", "m": "fell"}
    assert variant.cases[0].apart == 1
    assert variant.cases[0].why == "gold changed"


def test_another_metric_is_another_question(compared):
    variant = compared([result("a", attempt({"n": True}))], [result("a", attempt({"n": False}, metric="exact"))])
    assert str(variant.cases[0].kind) == "incomparable"
    assert not variant.fields


def test_known_failures_are_left_out_and_told(compared):
    before = result("a", {"n": True, "items[0].tax": True, "items[1].tax": True, "o.x": True})
    after = replace(
        result("a", {"n": True, "items[0].tax": False, "items[1].tax": True, "o.x": False}), known=("items[].tax", "o")
    )
    variant = compared([before], [after])
    assert kinds(variant) == {"n": "unchanged"}
    assert variant.known == (f"{FILE}::a: items[0].tax", f"{FILE}::a: o.x")


def test_one_known_row_leaves_the_others_in(compared):
    before = result("a", {"items[0].tax": True, "items[1].tax": True})
    after = replace(result("a", {"items[0].tax": False, "items[1].tax": False}), known=("items[0].tax",))
    (row,) = compared([before], [after]).patterns
    assert (row.fields, row.fell) == (1, 1)


def test_repeats_flip_at_half_and_shift_short_of_it(compared):
    def runs(*passed):
        return [result("a", *({"n": one} for one in passed))]

    assert kinds(compared(runs(1, 1, 1), runs(1, 0, 1))) == {"n": "shifted"}
    assert kinds(compared(runs(1, 1, 1), runs(0, 0, 1))) == {"n": "fell"}
    assert kinds(compared(runs(1, 1), runs(1, 0))) == {"n": "fell"}
    assert kinds(compared(runs(0, 1, 0), runs(0, 0, 1))) == {"n": "unchanged"}


def test_all_runs_of_both_sides_count_however_many_each_has(compared):
    variant = compared([result("a", {"n": True})], [result("a", {"n": True}, {"n": False}, {"n": False})])
    assert kinds(variant) == {"n": "fell"}
    assert variant.cases[0].runs == (1, 3)
    assert (variant.cases[0].before, variant.cases[0].after) == pytest.approx((1, 1 / 3))
    assert variant.cases[0].runs_by_pattern["n"] == Runs((0,), (0, 1, 1))


def test_a_run_that_fails_as_a_whole_is_set_to_the_mean_of_the_others(compared):
    good, one, none = (
        {"x": True, "y": second, "z": first} for first, second in ((True, True), (True, False), (False, False))
    )
    none = dict.fromkeys(none, False)
    case = compared([result("a", good, one)], [result("a", none, good)]).cases[0]
    assert case.failed_whole == (0, 1)
    assert case.runs_overall == Runs((0, 1 / 3), (1, 0))
    assert case.runs_complete == Runs((0, 1 / 3), (1 / 9, 0))
    assert compared([result("a", none)], [result("a", none)]).cases[0].runs_complete is None


def test_two_fields_that_fail_together_are_no_answer_that_failed_as_a_whole(compared):
    case = compared([result("a", {"x": True, "y": True})], [result("a", {"x": False, "y": False})]).cases[0]
    assert case.failed_whole == (0, 0)
    gated = [result("a", attempt({"x": True}, failed_gate="schema"))]
    assert compared([result("a", {"x": True})], gated).cases[0].failed_whole == (0, 1)


def test_runs_that_broke_are_counted_by_kind_and_cost_and_latency_are_kept(compared):
    down = attempt({}, outcome=Outcome.BROKEN, score=None, error="litellm.RateLimitError: slow down", cost_usd=None)
    right = [attempt({"n": True}, latency_s=seconds) for seconds in (1.0, 3.0)]
    case = compared([result("a", right[0])], [result("a", *right, down)]).cases[0]
    assert case.runs_broken == Runs((0,), (0, 0, 1))
    assert case.errors == {"RateLimitError": 1}
    assert (case.cost_usd, case.latency_s) == ((0.01, 0.01), (1.0, 2.0))


def test_variants_pair_by_label_and_a_lone_variant_with_a_lone_variant():
    old, new = Variant(model="old"), Variant(model="new")
    one = compare(snapshot([result("a", {"n": True}, variant=old)]), snapshot([result("a", {"n": True}, variant=new)]))
    assert [(variant.before, variant.after) for variant in one.variants] == [("old", "new")]
    two = compare(
        snapshot([result("a", {"n": True}, variant=old)]),
        snapshot([result("a", {"n": True}, variant=variant) for variant in (old, new)]),
    )
    assert [(variant.before, variant.after, len(variant.compared)) for variant in two.variants] == [
        ("old", "old", 1),
        ("", "new", 0),
    ]


def test_two_variants_of_one_run():
    states = snapshot(
        [
            result("a", {"n": True}, variant=Variant(revision="main")),
            result("a", {"n": False}, variant=Variant(revision="now")),
        ]
    )
    variant = compare_variants(states, states, "main", "now")
    assert variant.label == "main -> now"
    assert [str(change.kind) for change in variant.fields] == ["fell"]


def test_runs_from_different_folders_pair_by_id():
    (variant,) = compare(
        snapshot([result("a", {"n": True}, file="/one/x.extract.yaml"), result("d", {"n": True}, file="/one/y")]),
        snapshot([result("a", {"n": False}, file="x.extract.yaml"), result("d", {"n": True}, file="y")]),
    ).variants
    assert [str(row.kind) for row in variant.cases] == ["fell", "unchanged"]


def test_a_folder_may_begin_with_a_dot_where_runs_are_from_different_folders():
    (variant,) = compare(
        snapshot([result("a", {"n": True}, file="/one/.cases/x.extract.yaml")]),
        snapshot([result("a", {"n": False}, file=".cases/x.extract.yaml")]),
    ).variants
    assert [str(row.kind) for row in variant.cases] == ["fell"]


def test_the_same_set_up_is_only_claimed_where_the_extractor_is_known():
    one = result("a", {"n": True})
    known = replace(one, digests=one.digests | {"extractor": "7" * 64})
    assert not compare(snapshot([one]), snapshot([one])).variants[0].cases[0].same_setup
    assert compare(snapshot([known]), snapshot([known])).variants[0].cases[0].same_setup
    assert compare(snapshot([one]), snapshot([one]), same_run=True).variants[0].cases[0].same_setup
    other = replace(known, digests=known.digests | {"prompt": "8" * 64})
    assert not compare(snapshot([known]), snapshot([other])).variants[0].cases[0].same_setup


def test_a_case_that_was_broken_before_is_lost_too():
    (variant,) = compare(snapshot([broken("a")]), snapshot([result("a", {"n": True})])).variants
    assert variant.cases[0].kind is Change.LOST
    assert variant.cases[0].why.startswith("before broken")


def test_a_baseline_keeps_the_old_entry_of_a_case_that_broke():
    old = updated_baseline(None, snapshot([result("a", {"n": True})]))
    assert updated_baseline(old, snapshot([broken("a")])).cases == old.cases
    assert isinstance(old, Baseline)
    assert next(iter(old.cases.values())).outcome is Outcome.PASSED
