"""No other pairing of rows scores more, whatever is in them; brute force through the public door says so."""

from __future__ import annotations

import copy
import random
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linear_sum_assignment

from pytest_extract import ConfigError, Verdict
from pytest_extract.core.scorer import compile_schema


def listed(items):
    return {"type": "array", "items": items}


def metric(name, kind="string", **params):
    return {"type": kind, "evaluation_config": {"metrics": [{"metric_id": name, **params}]}}


LEAF = {
    "code": {"type": "string"},
    "name": metric("string_fuzzy", weight=2.0),
    "price": metric("number_tolerance", "number"),
    "kind": metric("string_case_insensitive"),
}
INNER = {"type": "object", "properties": {**LEAF, "tags": listed({"type": "string"})}}
OUTER = {"type": "object", "properties": {"id": {"type": "integer"}, "rows": listed(INNER), "one": INNER}}
CHOICE = {"anyOf": [{"type": "object", "properties": LEAF}, {"type": "string"}, {"type": "null"}]}
ROWS = listed({**OUTER, "properties": {**OUTER["properties"], "any": CHOICE}})
FITTED = compile_schema(ROWS, semantics="default")
PLACED = compile_schema(ROWS, semantics="default", overrides={"$": {"align": "position"}})

texts = st.sampled_from(["a", "A", "ab", "abc", "", None])
inner = st.fixed_dictionaries(
    {"code": texts},
    optional={
        "name": texts,
        "kind": texts,
        "price": st.sampled_from([1, 1.0, 1.0005, 1.001, 2, None]),
        "tags": st.none() | st.lists(st.sampled_from("tuv"), max_size=3),
        "extra": texts,
    },
)
outer = st.fixed_dictionaries(
    {"id": st.integers(1, 2)},
    optional={
        "rows": st.none() | st.lists(inner, min_size=1, max_size=3),
        "one": st.none() | inner,
        "any": texts | inner,
        "more": st.integers(1, 2),
    },
)
near = st.lists(outer, min_size=1, max_size=4)
inner_names = ["code", "name", "kind", "price", "tags"]
values = st.sampled_from(["a", "A", "zz", None, 1, 2.5, True, [], ["t"], {}])


def total(scorer, gold, extracted):
    """Return the summed scores of the outer rows."""
    found = [array for array in scorer.score(gold, extracted, gates={"schema": False}).arrays if not array.path]
    return found[0].recall * len(gold) if found else 0.0


def best_total(gold, extracted):
    """Try every pairing of the outer rows."""
    pairs = {(i, j): total(PLACED, [one], [other]) for i, one in enumerate(gold) for j, other in enumerate(extracted)}
    few, many = sorted((range(len(gold)), range(len(extracted))), key=len)
    turned = len(gold) > len(extracted)
    return max(
        sum(pairs[(j, i) if turned else (i, j)] for i, j in zip(few, order, strict=True))
        for order in permutations(many, len(few))
    )


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


@given(case=mistakes() | st.tuples(near, near))
def test_no_permutation_of_rows_is_better(case):
    assert total(FITTED, *case) == pytest.approx(best_total(*case))


TABLE = {
    "name": {"type": "string"},
    "code": {"type": "string"},
    "price": {"type": "number"},
    "size": {"type": "number", "evaluation_config": "number_tolerance"},
    "note": metric("string_fuzzy"),
    "flag": {"type": "boolean"},
}
# What mistakes look like: columns, gold's rows, extracted rows.
SEEN = {
    "a value that nothing else has": ("name flag", [("a", True), ("b", True)], [("a x", True), ("b", True)]),
    "two wrong values": ("name code", [("a", "x"), ("b", "y")], [("a x", "x"), ("b x", "y")]),
    "another row's value, in a row told by its code": ("name code", [("a", "x"), ("b", "y")], [("b", "x"), ("c", "y")]),
    "a number far from all others": ("price flag", [(1, True), (100, True)], [(7, True), (100, True)]),
    "a number near another's, in a row told by its name": ("size name", [(1, "a"), (2, "b")], [(2, "a"), (3, "b")]),
    "a text most like its own": ("note flag", [("abc", True), ("xyz", True)], [("abd", True), ("xyz", True)]),
    "a lost value": ("name code", [("a", "x"), ("b", "y")], [(None, "x"), ("b", "y")]),
    "an empty row beside": ("name code", [("a", "x"), (None, None)], [("a x", "x"), (None, None)]),
    "an empty column": ("name code", [("a", None), ("b", None)], [("a x", None), ("b", None)]),
    "a lost row": ("name code", [("a", "x"), ("b", "y"), ("c", "x")], [("a x", "x"), ("b", "y")]),
    "an invented row": ("name code", [("a", "x"), ("b", "y")], [("a x", "x"), ("b", "y"), ("c", "x")]),
    "a number beside a text": ("price flag", [(1, True), ("two", True)], [(7, True), ("two", True)]),
    "rows whose values have changed places": ("name flag", [("a", True), ("b", True)], [("b", True), ("a", True)]),
    "a value that a lost row has": ("name flag", [("a", True), ("b", True)], [("b", True)]),
    "a value that an invented row has": ("name flag", [("a", True)], [("b", True), ("a", True)]),
    "a number near an invented row's": ("size flag", [(2, True)], [(7, True), (2.0005, True)]),
    "a text more like another row's": ("note flag", [("abc", True), ("abd", True)], [("abdx", True), ("abc", True)]),
    "values lost and found": ("name flag", [("a", True), (None, True)], [(None, True), ("b", True)]),
}
PAIRS = {
    "an empty column": ((1, 1),),
    "values lost and found": ((0, 1), (1, 0)),
    "a value that an invented row has": ((0, 1),),
    "a value that a lost row has": ((1, 0),),
    "a number near an invented row's": ((0, 1),),
    "a text more like another row's": ((0, 1), (1, 0)),
    "rows whose values have changed places": ((0, 1), (1, 0)),
}


@pytest.mark.parametrize("name", SEEN)
def test_rows_of_a_table_are_paired_by_what_they_have_in_common(name):
    listed_names, *sides = SEEN[name]
    names = listed_names.split()
    rows = {"type": "object", "properties": {name: TABLE[name] for name in names}}
    gold, extracted = ([dict(zip(names, row, strict=True)) for row in side] for side in sides)
    found = compile_schema(listed(rows), semantics="default").score(gold, extracted, gates={"schema": False}).arrays[-1]
    in_place = tuple((place, place) for place in range(min(len(gold), len(extracted))))
    assert found.pairs == PAIRS.get(name, in_place)


@pytest.mark.parametrize("metric_id", ["fuzzy", "string_fuzzy"])
def test_texts_are_paired_best(metric_id):
    stock = ["alpha beta", "alpha bets", "Alpha beta", "gamma", "gamut", "gamma x", "delta", "alp", "omega", "", None]
    items = {"type": ["string", "null"], "evaluation_config": metric_id}
    schema = {"type": "array", "items": items, "evaluation_config": {"align": "best_fit"}}
    scorer = compile_schema(schema, semantics="default")
    placed = compile_schema(schema, semantics="default", overrides={"$": {"align": "position"}})
    pick = random.Random(9)
    for _ in range(100):
        gold = pick.choices(stock, k=pick.randint(2, 5))
        extracted = [pick.choice(stock) if pick.random() < 0.3 else text for text in gold]
        pick.shuffle(extracted)
        extracted = [*extracted, "more"][: len(gold)]
        best = max(total(placed, gold, list(order)) for order in permutations(extracted))
        assert total(scorer, gold, extracted) == pytest.approx(best)


@pytest.mark.parametrize("semantics", ["default", "extract-bench"])
@pytest.mark.parametrize("unlike", [0, 5, 25])
def test_many_long_texts_are_paired_best(unlike, semantics):
    pick = random.Random(unlike)
    gold = ["".join(pick.choices("abcdefgh ", k=60)) for _ in range(25)]
    extracted = [f"{text[:30]}x{text[31:]}" for text in gold[unlike:]]
    extracted += ["".join(pick.choices("abcdefgh ", k=60)) for _ in range(unlike)]
    pick.shuffle(extracted)
    items = {"type": "string", "evaluation_config": "string_fuzzy"}
    schema = {**listed(items), "evaluation_config": {"align": "best_fit"}}
    scorer = compile_schema(schema, semantics=semantics)
    compare = scorer.program.root.items.checks[0].metric.compare
    scores = np.array([[compare(one, other) for other in extracted] for one in gold])
    best = scores[linear_sum_assignment(scores, maximize=True)].sum()
    assert total(scorer, gold, extracted) == pytest.approx(best)


def test_rows_that_only_python_finds_alike_are_not_as_good_as_one_another():
    properties = {
        "number": {"type": "integer", "evaluation_config": "exact"},
        "price": {"type": "integer"},
        "kind": {"type": "string"},
        "tags": listed({"type": "string"}),
    }
    schema = {**listed({"type": "object", "properties": properties}), "evaluation_config": {"align": "best_fit"}}
    gold = [{"number": number, "price": 1, "kind": "z", "tags": ["t"]} for number in (1, True)]
    output = [{"number": number, "price": 2, "kind": "z", "tags": ["t"]} for number in (True, 1)]
    found = compile_schema(schema, semantics="default").score(gold, output, gates={"schema": False})
    assert found.arrays[-1].pairs == ((0, 1), (1, 0))


def test_rows_that_are_nested_deeper_than_anything_is_walked_are_scored():
    deep = 1
    for _ in range(200):
        deep = [deep]
    gold = [{"id": number, "more": deep, "rows": [{"code": "a"}]} for number in range(3)]
    output = [{**row, "id": "wrong"} for row in gold]
    found = FITTED.score(gold, output, gates={"schema": False})
    assert found.arrays[-1].pairs == ((0, 0), (1, 1), (2, 2))


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
    assert FITTED.score(gold, output, gates={"schema": False}).arrays[-1].pairs == pairs


# --- what the case accepts, and what a judge has not decided

TEXT = {"type": "string"}
JUDGED = {**TEXT, "x-eval-compare": "string_semantic"}


def scored(properties, gold, output, **arguments):
    scorer = compile_schema(listed({"type": "object", "properties": properties}), semantics="default")
    return scorer.score(gold, output, gates={"schema": False}, **arguments)


@pytest.mark.parametrize(
    ("gold", "output", "accept", "pairs"),
    [
        ([{"a": "x"}], [{"a": "y"}], {"[].a": ["y"]}, ((0, 0),)),
        ([{"a": "x"}], [{"a": "y"}], {"[0].a": ["y"]}, ((0, 0),)),
        ([{"a": "x"}, {"a": "z"}], [{"a": "q"}, {"a": "y"}], {"[0].a": ["y"]}, ((0, 1),)),
        ([{"a": "x", "b": "1"}], [{"a": "y", "b": "2"}], {"[].a": ["y"], "[].b": ["2"]}, ((0, 0),)),
        (
            [{"a": "x", "b": "1"}, {"a": "x", "b": "2"}],
            [{"a": "x", "b": "9"}, {"a": "x", "b": "3"}],
            {"[0].b": ["3"], "[1].b": ["9"]},
            ((0, 1), (1, 0)),
        ),
        ([{"one": {"a": "x"}}], [{"one": {"a": "y"}}], {"[].one.a": ["y"]}, ((0, 0),)),
        ([{"one": {"a": "x"}}], [{"one": {"a": "y"}}], {"[].one": [{"a": "y"}]}, ((0, 0),)),
        ([{"in": [{"a": "x"}]}], [{"in": [{"a": "y"}]}], {"[0].in[0].a": ["y"]}, ((0, 0),)),
        ([{"a": "x"}, {"b": "k"}], [{"b": "k"}, {"b": "n"}], {"[0]": [{"b": "n"}]}, ((0, 1), (1, 0))),
    ],
    ids=["by pattern", "by path", "among others", "all fields", "crossed", "inside", "as a whole", "list", "row"],
)
def test_a_row_whose_accepted_value_matches_is_paired_with_it(gold, output, accept, pairs):
    fields = {"a": TEXT, "b": TEXT, "one": {"type": "object", "properties": {"a": TEXT}}}
    fields["in"] = listed({"type": "object", "properties": {"a": TEXT}})
    score = scored(fields, gold, output, accept=accept)
    found = next(array for array in score.arrays if not array.path)
    assert found.pairs == pairs
    right = {i for i, _ in pairs}
    assert all(leaf.passed for leaf in score.leaves if leaf.path[0] in right)


def test_many_rows_are_paired_by_what_is_accepted():
    gold = [{"a": f"x{n}", "b": "same"} for n in range(30)]
    output = [{"a": f"y{n}", "b": "same"} for n in reversed(range(30))]
    score = scored({"a": TEXT, "b": TEXT}, gold, output, accept={f"[{n}].a": [f"y{n}"] for n in range(30)})
    assert score.arrays[-1].f1 == 1.0


def test_rows_are_found_by_an_accepted_key():
    fields = {"id": TEXT, "b": TEXT}
    schema = listed({"type": "object", "properties": fields})
    scorer = compile_schema(schema, semantics="default", overrides={"$": {"align": {"by": "key", "key": "id"}}})
    gold, output = [{"id": "1", "b": "x"}, {"id": "2", "b": "y"}], [{"id": "2", "b": "y"}, {"id": "1-A", "b": "z"}]
    score = scorer.score(gold, output, accept={"[].id": ["1-A"]})
    assert score.arrays[-1].pairs == ((0, 1), (1, 0))
    assert [str(leaf.path) for leaf in score.leaves if not leaf.passed] == ["[0].b"]


ONE = [{"a": "x", "b": "one"}], [{"a": "y", "b": "two"}]
TWO = [*ONE[0], {"a": "p", "b": "aaa"}], [*ONE[1], {"a": "z", "b": "bbb"}]
BESIDE = [*ONE[0], {"a": "k", "b": "same"}], [*ONE[1], {"a": "k", "b": "same"}]


@pytest.mark.parametrize(("gold", "output"), [ONE, TWO, BESIDE], ids=["one row", "two rows", "beside an equal row"])
def test_a_row_with_an_undecided_field_is_treated_alike_in_every_list(gold, output):
    score = scored({"a": TEXT, "b": JUDGED}, gold, output)
    assert score.arrays[-1].pairs == tuple((place, place) for place in range(len(gold)))
    assert [str(leaf.status) for leaf in score.leaves][:2] == ["mismatch", "judge_error"]
    assert [str(field.status) for field in score.fields] == ["mismatch"]


@pytest.mark.parametrize(("gold", "output"), [ONE, TWO], ids=["one row", "two rows"])
def test_rows_that_the_judge_finds_unlike_are_two(gold, output):
    score = scored({"a": TEXT, "b": JUDGED}, gold, output, judge=lambda asked: [Verdict(score=0.0) for _ in asked])
    assert score.arrays[-1].pairs == ()
    assert {str(leaf.status) for leaf in score.leaves} == {"omission", "hallucination"}


def test_rows_that_only_the_judge_finds_alike_are_paired():
    score = scored({"b": JUDGED}, [{"b": "one"}], [{"b": "two"}], judge=lambda asked: [Verdict(score=1.0)])
    assert score.arrays[-1].pairs == ((0, 0),)
    assert score.measures["pass_rate"] == 1.0


def test_an_undecided_field_of_a_row_is_not_right():
    gold, output = [{"a": "x", "b": "one"}, {"a": "p", "b": "s"}], [{"a": "x", "b": "two"}, {"a": "p", "b": "s"}]
    score = scored({"a": TEXT, "b": JUDGED}, gold, output)
    assert score.arrays[-1].f1 == 0.75
    (field,) = score.fields
    assert (str(field.status), field.score) == ("judge_error", 0.0)
    assert field.reason == (
        "1 pairs have undecided fields; 2 rows paired (their scores add up to 1.5), 0 missing, 0 invented"
    )
    assert score.measures["pass_rate"] == score.measures["mean_score"] == 0.0


def test_an_empty_list_is_no_missing_key_where_null_is_a_value():
    schema = {
        "type": "array",
        "items": {"type": "object", "properties": {"b": {"type": "array", "items": {"type": "string"}}}},
    }
    rows = [{"b": []}, {"b": ["x"]}, {}]
    found = compile_schema(schema, nulls="value").score(rows, rows[::-1])
    assert found.arrays[-1].pairs == ((0, 2), (1, 1), (2, 0))
    assert found.measures["f1"] == 1.0


@pytest.mark.parametrize("at", range(3))
def test_a_row_whose_further_key_is_null_keeps_its_equal_where_null_is_a_value(at):
    schema = {"type": "array", "items": {"type": "object", "additionalProperties": {"type": "boolean"}}}
    rows = [{"open": None}, {}, {}]
    found = compile_schema(schema, nulls="value").score(rows, [*rows[1 : at + 1], rows[0], *rows[at + 1 :]])
    assert (0, at) in found.arrays[-1].pairs
    assert all(leaf.passed for leaf in found.leaves)


def test_lists_that_are_paired_by_the_content_of_their_rows_are_told_apart_by_it():
    row = {"properties": {"a": {"type": "string"}}}
    inner = {"type": "array", "items": row, "evaluation_config": {"align": "multiset"}}
    schema = {"properties": {"x": {"type": "array", "items": inner, "evaluation_config": {"align": "hungarian"}}}}
    one, other = [{}, {"a": "ACME GmbH"}], [{"a": "acme  gmbh"}, {}]
    score = compile_schema(schema, judge_mode="exact").score({"x": [one, other]}, {"x": [other[::-1], one[::-1]]})
    assert score.measures["f1"] == 1.0


def test_more_rows_than_fit_into_memory_are_an_error_with_a_remedy():
    gold, extracted = ([{"code": f"{side}{n}"} for n in range(20_001)] for side in "ab")
    told = r"^\[\]\.rows\[\]: 20,001 rows of the gold and 20,001 .* 5 GiB .* by key or by position"
    with pytest.raises(ConfigError, match=told):
        FITTED.score([{"rows": gold, "id": 1}], [{"rows": extracted, "id": 1}])
