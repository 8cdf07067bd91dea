"""Rows laid out as a table score as each of them does in a document of its own."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_extract.core.results import Status
from pytest_extract.core.scorer import compile_schema

DEFAULT = {
    "name": {"type": "string"},
    "price": {"type": "number", "evaluation_config": {"metrics": [{"metric_id": "number_tolerance", "weight": 3.0}]}},
    "note": {"type": "string", "evaluation_config": {"metrics": [{"metric_id": "string_fuzzy", "weight": 0.5}]}},
    "flag": {"type": "boolean"},
}
FAIRMAT = {
    "name": {"type": "string", "x-eval-compare": "exact", "x-eval-transform": ["lowercase"]},
    "price": {"type": "number", "x-eval-compare": {"numeric": {"tolerance": {"abs": 0.5}}}},
    "note": {"type": "string", "x-eval-compare": "exact"},
    "flag": {"type": "boolean", "x-eval-compare": "exact"},
}
WAYS = {"default": DEFAULT, "extract-bench": DEFAULT, "struct-extract-eval": FAIRMAT}
cells = {
    "name": st.sampled_from(["a", "A", "b", 1, None]),
    "price": st.sampled_from([1, 1.0, 1.4, True, "1", None]),
    "note": st.sampled_from(["first", "fist", "", None]),
    "flag": st.sampled_from([True, False, 1, None]),
}
full = st.fixed_dictionaries(cells)
ragged = st.fixed_dictionaries({}, optional=cells)
some_names = st.lists(st.sampled_from([*cells]), min_size=1, unique=True)
alike = some_names.flatmap(
    lambda names: st.lists(st.tuples(*[st.fixed_dictionaries({name: cells[name] for name in names})] * 2), min_size=1)
)  # all rows lack the same properties


def scorers(semantics):
    row = {"type": "object", "properties": WAYS[semantics]}
    many = {"type": "object", "properties": {"rows": {"type": "array", "items": row}}}
    align = {"rows": {"align": "position"}}
    return (
        compile_schema(many, semantics=semantics, overrides=align, judge_mode="fuzzy"),
        compile_schema(row, semantics=semantics, judge_mode="fuzzy"),
    )


def worth(leaves):
    """Return the weighted mean score of a row's leaves."""
    counted = [leaf for leaf in leaves if leaf.status not in (Status.SKIPPED, Status.JUDGE_ERROR)]
    weight = sum(leaf.weight for leaf in counted)
    return sum(leaf.weight * leaf.score for leaf in counted) / weight if weight else 1.0


@pytest.mark.parametrize("semantics", WAYS)
@given(pairs=st.lists(st.tuples(full, full) | st.tuples(ragged, ragged), min_size=1, max_size=4) | alike)
def test_rows_score_as_they_do_alone(semantics, pairs):
    listed, single = scorers(semantics)
    together = listed.score({"rows": [gold for gold, _ in pairs]}, {"rows": [other for _, other in pairs]}, gates={})
    alone = [single.score(gold, other, gates={}) for gold, other in pairs]
    expected = [(("rows", index, *leaf.path), leaf[2:11]) for index, one in enumerate(alone) for leaf in one.leaves]
    assert [(leaf.path, leaf[2:11]) for leaf in together.leaves] == expected
    assert together.vacuous == sum(one.vacuous for one in alone)
    if semantics != "struct-extract-eval":
        (array,) = together.arrays
        assert array.recall * len(pairs) == pytest.approx(sum(worth(one.leaves) for one in alone))


def fitted(gold, extracted):
    rows = {"type": "array", "items": {"type": "object", "properties": DEFAULT}}
    return compile_schema(rows, semantics="default").score(gold, extracted, gates={})


def full_row(name, price=None, note="n", flag=None):
    return {"name": name, "price": price, "note": note, "flag": flag}


def test_full_rows_with_nothing_in_common_are_left_apart():
    gold = [full_row("a", 1, "abc", flag=True), full_row("b", 2)]
    score = fitted(gold, [full_row("c", 7, "xyz", flag=False), full_row("b", 2)])
    assert (score.arrays[0].pairs, score.arrays[0].missing, score.arrays[0].extra) == (((1, 1),), (0,), (0,))
    assert score.vacuous == 1


def test_what_rows_that_are_left_apart_lack_is_counted_on_each_side():
    score = fitted([full_row("a", note="abc")], [full_row("c", note="xyz")])
    assert score.arrays[0].pairs == ()
    assert score.vacuous == 4  # two cells of the missing row, two of the invented one


def test_a_wrong_cell_of_a_row_that_moved_is_told_with_both_places():
    gold = [full_row("a", 1), full_row("b", 2), full_row("c", 3)]
    leaves = fitted(gold, [full_row("c", 3), full_row("a", 1), full_row("b", 9)]).leaves
    wrong = [(str(leaf.path), str(leaf.matched), leaf.extracted) for leaf in leaves if not leaf.passed]
    assert wrong == [("[1].price", "[2].price", 9)]
    assert [str(leaf.matched) for leaf in leaves if leaf.path[0] == 0] == ["[1].name", "[1].price", "[1].note"]


def test_a_list_inside_a_row_that_moved_stands_where_its_row_does():
    inner = {"type": "array", "items": {"type": "object", "properties": DEFAULT}}
    row = {"type": "object", "properties": {"id": {"type": "string"}, "cells": inner}}
    scorer = compile_schema({"type": "array", "items": row}, semantics="default")
    one = {"id": "one", "cells": [full_row("a", 1), full_row("b", 2)]}
    two = {"id": "two", "cells": [full_row("c", 3), full_row("d", 4)]}
    wrong = {**one, "cells": [full_row("a", 1), full_row("b", 5)]}
    leaves = scorer.score([one, two], [two, wrong], gates={}).leaves
    told = [(str(leaf.path), str(leaf.matched)) for leaf in leaves if not leaf.passed]
    assert told == [("[0].cells[1].price", "[1].cells[1].price")]
    assert {str(leaf.path): str(leaf.matched) for leaf in leaves}["[0].cells[0].name"] == "[1].cells[0].name"
