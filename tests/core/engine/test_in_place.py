"""Rows with lists in them, of which few differ where they are: paired in place where nothing is better."""

from __future__ import annotations

import copy

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_extract.core.engine import array, in_place, pairing, rows
from pytest_extract.core.scorer import compile_schema
from tests.core.engine.test_contents import FITTED, PLACED, ROWS, best_total, context, outer, total

inner_names = ["code", "name", "kind", "price", "tags"]
values = st.sampled_from(["a", "A", "zz", None, 1, 2.5, True, [], ["t"], {}])


@st.composite
def mistakes(draw):
    """Rows, some of them twice or no objects, and an output with wrong values anywhere in some rows."""
    gold = draw(st.lists(outer, min_size=2, max_size=4))
    gold += draw(st.lists(st.sampled_from(gold), max_size=1))
    output = copy.deepcopy(gold)
    for row in draw(st.lists(st.sampled_from(output), min_size=1, max_size=3)):
        inside = row.get("rows")
        places = [row, row.get("one"), *(inside if isinstance(inside, list) else [])]
        place = draw(st.sampled_from([place for place in places if isinstance(place, dict)]))
        place[draw(st.sampled_from(["id", "rows", "one", "more"] if place is row else inner_names))] = draw(values)
    for other in draw(st.lists(st.sampled_from([7, None, "x"]), max_size=1)):
        gold.append(other)
        output.append(other)
    return gold, output


two_rows = st.tuples(st.lists(outer, min_size=2, max_size=2), st.lists(outer, min_size=2, max_size=2))


@given(case=mistakes() | two_rows)
def test_no_permutation_is_better_than_rows_in_their_places(case):
    gold, output = case
    assert total(FITTED, gold, output) == pytest.approx(best_total(gold, output))


@given(case=mistakes() | two_rows)
def test_results_are_those_of_rows_that_are_paired_by_all_their_scores(case):
    gold, output = case
    found = FITTED.score(gold, output, gates={"schema": False})
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(in_place, "unlike_rows", lambda *_: None)
        others = FITTED.score(gold, output, gates={"schema": False})
    assert (found.leaves, found.fields, found.arrays) == (others.leaves, others.fields, others.arrays)
    assert found.vacuous == others.vacuous


@given(case=mistakes() | two_rows)
def test_no_score_is_above_its_bound(case):
    gold, output = case
    run, array = context()
    unlike = [place for place, row in enumerate(gold) if row != output[place]]
    rows = in_place.rows_in_place(run, array.items, gold, output, unlike)
    if rows is None:
        return
    while True:
        for row, one in enumerate(gold):
            for column, other in enumerate(output):
                if row in unlike or column in unlike:
                    assert total(FITTED, [one], [other]) <= rows.bounds[row][column] + 1e-9
        if not rows.tighten():
            break


@pytest.mark.parametrize("nulls", ["absent", "value"])
@pytest.mark.parametrize("kind", ["string", "number"])
@given(
    gold=st.lists(st.sampled_from(["a", "a ", "b", "c", 1, 1.0, True, 0.0, -0.0, None]), min_size=1, max_size=5),
    changes=st.lists(st.tuples(st.integers(0, 4), st.sampled_from(["a", "A", "d", 1, 2, False, None])), max_size=2),
)
def test_equal_values_are_kept_as_they_are_scored(kind, nulls, gold, changes):
    output = [*gold]
    for place, value in changes:
        output[place % len(gold)] = value
    scorer = compile_schema({"type": "array", "items": {"type": kind}}, semantics="ours", nulls=nulls)
    found = scorer.score(gold, output)
    with pytest.MonkeyPatch.context() as patch:
        for module in (array, rows):
            patch.setattr(module, "equal_values", lambda *_: False)
        expected = scorer.score(gold, output)
    assert (found.leaves, found.fields, found.arrays) == (expected.leaves, expected.fields, expected.arrays)
    assert found.vacuous == expected.vacuous


def test_a_long_list_with_one_mistake_is_not_assigned(monkeypatch):
    gold = [
        {"id": number, "rows": [{"code": f"{number} {place}", "kind": "x"} for place in range(4)]}
        for number in range(20)
    ]
    output = copy.deepcopy(gold)
    output[7]["rows"][2]["code"] = "wrong"
    expected = PLACED.score(gold, output)
    monkeypatch.setattr(pairing, "pair_rows", None)
    found = FITTED.score(gold, output)
    assert found.leaves == expected.leaves
    assert found.arrays == expected.arrays


@pytest.mark.parametrize(
    ("output", "pairs"),
    [
        ([{"id": 1}, {"id": 2}, {"id": True}], ((0, 0), (1, 1))),
        ([{"id": 1, "rows": [{"code": "b"}]}, {"id": 2}], ((0, 0), (1, 1))),
    ],
    ids=["true is not 1", "the mistake makes it like another row"],
)
def test_rows_that_python_finds_equal_are_looked_at(output, pairs):
    gold = [{"id": 1}, {"id": 2}, {"id": 1}][: len(output)]
    assert compile_schema(ROWS, semantics="ours").score(gold, output, gates={"schema": False}).arrays[-1].pairs == pairs


def test_rows_that_only_python_finds_alike_are_not_as_good_as_one_another():
    schema = {
        "type": "array",
        "items": {
            "type": "object",
            "properties": {
                "number": {"type": "integer", "evaluation_config": "exact"},
                "price": {"type": "integer"},
                "kind": {"type": "string"},
                "tags": {"type": "array", "items": {"type": "string"}},
            },
        },
        "evaluation_config": {"align": "best_fit"},
    }
    gold = [{"number": number, "price": 1, "kind": "z", "tags": ["t"]} for number in (1, True)]
    output = [{"number": number, "price": 2, "kind": "z", "tags": ["t"]} for number in (True, 1)]
    found = compile_schema(schema, semantics="ours").score(gold, output, gates={"schema": False})
    assert found.arrays[-1].pairs == ((0, 1), (1, 0))


def test_rows_that_are_nested_too_deep_to_be_written_are_scored():
    deep = 1
    for _ in range(3_000):
        deep = [deep]
    gold = [{"id": number, "more": deep, "rows": [{"code": "a"}]} for number in range(3)]
    output = [{**row, "id": "wrong"} for row in gold]
    found = FITTED.score(gold, output, gates={"schema": False})
    assert found.arrays[-1].pairs == ((0, 0), (1, 1), (2, 2))
