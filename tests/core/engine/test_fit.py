"""Rows of flat objects: paired at a glance where that proves to be the best, cells scored as one by one."""

from __future__ import annotations

from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_extract.core.scorer import compile_schema

ROW = {
    "type": "object",
    "properties": {
        "name": {"type": "string"},
        "code": {"type": "string", "evaluation_config": "string_case_insensitive"},
        "price": {"type": "number", "evaluation_config": {"metrics": [{"metric_id": "number_tolerance"}]}},
        "note": {"type": "string", "evaluation_config": {"metrics": [{"metric_id": "fuzzy", "weight": 0.5}]}},
    },
}
PUBLISHED = {
    "name": {"type": "string"},
    "code": {"type": "string"},
    "price": {"type": "number"},
    "note": {"type": "string"},
}
FITTED = compile_schema({"type": "array", "items": ROW}, semantics="default")
PLACED = compile_schema({"type": "array", "items": ROW}, semantics="default", overrides={"$": {"align": "position"}})

cells = {
    "name": st.sampled_from(["a", "b", "c", "a ", None]),
    "code": st.sampled_from(["x", "X", "y", None]),
    "price": st.sampled_from([1, 1.0, 2, 3.5, True, None]),
    "note": st.sampled_from(["first", "fist", "", None]),
}
rows = st.lists(st.fixed_dictionaries({}, optional=cells), min_size=1, max_size=5)


def total(gold, extracted):
    """Return the summed scores of rows paired as they stand."""
    found = PLACED.score(gold, extracted, gates={"schema": False}).arrays
    return found[0].recall * len(gold) if found else 0.0


def best_total(gold, extracted):
    """Try every pairing."""
    scores = [[total([one], [other]) for other in extracted] for one in gold]
    if len(gold) > len(extracted):
        scores = [*zip(*scores, strict=True)]
    few, many = sorted((len(gold), len(extracted)))
    return max(sum(scores[i][j] for i, j in enumerate(order)) for order in permutations(range(many), few))


@given(gold=rows, extracted=rows)
def test_no_pairing_is_better(gold, extracted):
    array = FITTED.score(gold, extracted, gates={"schema": False}).arrays[0]
    assert array.recall * len(gold) == pytest.approx(best_total(gold, extracted))


@given(gold=rows, edits=st.lists(st.tuples(st.integers(0, 4), st.sampled_from(list(cells)), st.data()), max_size=3))
def test_no_pairing_is_better_than_that_of_a_few_mistakes(gold, edits):
    extracted = [dict(row) for row in gold]
    for place, name, data in edits:
        extracted[place % len(gold)][name] = data.draw(cells[name])
    array = FITTED.score(gold, extracted, gates={"schema": False}).arrays[0]
    assert array.recall * len(gold) == pytest.approx(best_total(gold, extracted))


@given(gold=rows, extracted=rows)
def test_cells_score_as_they_do_in_objects_of_their_own(gold, extracted):
    found = PLACED.score(gold, extracted, gates={"schema": False})
    single = compile_schema(ROW, semantics="default")
    alone = [
        result
        for one, other in zip(gold, extracted, strict=False)
        for result in single.score(one, other, gates={"schema": False}).leaves
    ]
    count = len(alone)
    assert [result[2:11] for result in found.leaves[:count]] == [result[2:11] for result in alone]
    assert [result.path[1:] for result in found.leaves[:count]] == [result.path for result in alone]


def row(name, price=1):
    return {"name": name, "code": "x", "price": price, "note": "n"}


def test_rows_stay_in_place_where_nothing_is_better():
    gold = [row("a", 1), row("b", 2)]
    extracted = [row("a", 2), row("b", 1)]
    assert FITTED.score(gold, extracted).arrays[0].pairs == ((0, 0), (1, 1))


def test_rows_leave_their_places_where_that_is_better():
    gold = [row("a", 1), row("b", 2), row("c", 3)]
    extracted = [{**row("b", 2), "code": "z"}, {**row("a", 1), "code": "w"}, row("c", 3)]
    assert FITTED.score(gold, extracted).arrays[0].pairs == ((0, 1), (1, 0), (2, 2))


def test_an_equal_row_in_the_same_place_is_taken_before_others():
    gold = [row("a"), row("a"), row("b", 7)]
    extracted = [row("c", 9), row("a"), row("b", 7)]
    assert FITTED.score(gold, extracted).arrays[0].pairs == ((0, 0), (1, 1), (2, 2))


@pytest.mark.parametrize("gone", [0, 1, 2])
def test_a_lost_row_is_found_beside_one_with_a_mistake(gone):
    gold = [row("a", 1), row("b", 2), row("c", 3)]
    extracted = [dict(one) for one in gold]
    extracted[(gone + 1) % 3]["note"] = "another"
    del extracted[gone]
    array = FITTED.score(gold, extracted).arrays[0]
    assert array.missing == (gone,)
    invented = FITTED.score(extracted, gold).arrays[0]
    assert invented.extra == (gone,)


def test_null_and_a_missing_key_are_no_difference_between_rows():
    gold = [{"name": "a", "code": None}, {"name": "b"}, {"name": "c", "price": 4}]
    extracted = [{"name": "b", "code": None}, {"name": "a"}, {"name": "c", "price": 5}]
    score = FITTED.score(gold, extracted)
    assert score.arrays[0].pairs == ((0, 1), (1, 0), (2, 2))
    assert [str(result.path) for result in score.leaves if not result.passed] == ["[2].price"]


def test_rows_with_nothing_in_common_are_left_apart():
    array = FITTED.score([row("a"), {"name": "b"}], [row("a"), {"name": "c"}]).arrays[0]
    assert (array.pairs, array.missing, array.extra) == (((0, 0),), (1,), (1,))


def test_true_is_not_1_where_python_finds_rows_equal():
    leaves = FITTED.score([row("a", 1)], [row("a", True)]).leaves
    assert [(str(result.path), result.passed) for result in leaves if not result.passed] == [("[0].price", False)]


def test_a_judge_is_asked_about_the_rows_that_are_paired_only():
    schema = {
        "type": "array",
        "items": {
            "type": "object",
            "properties": {
                "id": {"type": "integer"},
                "text": {"type": "string", "evaluation_config": "string_semantic"},
            },
        },
    }
    scorer = compile_schema(schema, semantics="default")
    gold = [{"id": 1, "text": "one"}, {"id": 2, "text": "two"}]
    questions = scorer.questions(gold, [{"id": 2, "text": "deux"}, {"id": 1, "text": "un"}])
    assert {(question.gold, question.extracted) for question in questions} == {("one", "un"), ("two", "deux")}


def test_further_metrics_of_an_array_see_equal_lists_too():
    metrics = {"metrics": [{"metric_id": "array_llm"}, {"metric_id": "string_exact"}]}
    schema = {"type": "object", "properties": {"rows": {"type": "array", "items": ROW, "evaluation_config": metrics}}}
    scorer = compile_schema(schema, semantics="extract-bench", judge_mode="fuzzy")
    value = {"rows": [row("a"), row("b")]}
    assert {result.metric for result in scorer.score(value, value).fields} == {"array_llm", "string_exact"}


def test_null_and_a_missing_number_are_no_difference_that_keeps_rows_apart():
    gold = [{"name": "a", "price": None}, {"name": "a"}, {"name": "c", "price": 9}]
    extracted = [{"name": "a"}, {"name": "b", "price": None}, {"name": "c", "price": 9}]
    score = FITTED.score(gold, extracted)
    assert score.arrays[0].recall * len(gold) == pytest.approx(best_total(gold, extracted))


def many(count, names):
    return [{"name": names[index % len(names)], "code": f"c{index % 3}", "price": index // 2} for index in range(count)]


@given(
    rows=st.integers(2, 7),
    names=st.sampled_from(["ab", "abc", "aab", "a"]),
    wrong=st.lists(st.tuples(st.integers(0, 6), st.sampled_from(list(cells)), st.data()), min_size=1, max_size=4),
)
def test_no_pairing_is_better_where_columns_repeat(rows, names, wrong):
    gold = many(rows, names)
    extracted = [dict(row) for row in gold]
    for place, name, data in wrong:
        extracted[place % rows][name] = data.draw(cells[name] | st.sampled_from([place // 2, place]))
    array = FITTED.score(gold, extracted, gates={"schema": False}).arrays[0]
    assert array.recall * len(gold) == pytest.approx(best_total(gold, extracted))


def test_rows_that_neither_side_fills_lose_nothing():
    array = FITTED.score([{"price": 1}, {}], [{"price": None}], gates={"schema": False}).arrays[0]
    assert array.recall * 2 == 1.0


def test_values_are_told_apart_as_they_are_after_their_transforms():
    name = {"type": "string", "x-eval-compare": "exact", "x-eval-transform": ["lowercase"]}
    schema = {"type": "array", "items": {"type": "object", "properties": {"name": name, "n": {"type": "integer"}}}}
    gold = [{"name": "a", "n": 1}, {"name": "A", "n": 2}]
    extracted = [{"name": "a", "n": 2}, {"name": "A", "n": 1}]
    assert compile_schema(schema, semantics="default").score(gold, extracted).arrays[0].pairs == ((0, 1), (1, 0))


@given(gold=rows, extracted=rows, more=st.lists(st.sets(st.sampled_from("uvw")), min_size=5, max_size=5))
def test_no_pairing_is_better_where_each_undeclared_key_counts(gold, extracted, more):
    metric = {"x-eval-compare": "exact"}
    row = {"type": "object", "properties": {name: {**column, **metric} for name, column in PUBLISHED.items()}}
    schema = {"type": "array", "items": row}
    fitted = compile_schema(
        {**schema, "x-eval-align": {"ordered": False, "match_by": "best_fit"}}, semantics="struct-extract-eval"
    )
    placed = compile_schema(schema, semantics="struct-extract-eval")
    extracted = [{**row, **dict.fromkeys(sorted(keys), 1)} for row, keys in zip(extracted, more, strict=False)]

    def f1(one, other):
        return placed.score([one], [other], gates={"schema": False}).arrays[0].f1

    scores = [[f1(one, other) for other in extracted] for one in gold]
    if len(gold) > len(extracted):
        scores = [*zip(*scores, strict=True)]
    few, many = sorted((len(gold), len(extracted)))
    best = max(sum(scores[i][j] for i, j in enumerate(order)) for order in permutations(range(many), few))
    array = fitted.score(gold, extracted, gates={"schema": False}).arrays[0]
    assert array.recall * len(gold) == pytest.approx(best)
