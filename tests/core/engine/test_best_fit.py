"""No other pairing of rows scores more, whatever is in them; among equally good ones rows keep their order."""

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
from tests.core.schemas import EXACT, INTEGER, JUDGED, NUMBER, TEXT, array, metric, obj, scored, table, told

POSITION = {"overrides": {"$": {"align": "position"}}}
LEAF = {
    "code": TEXT,
    "name": metric("string_fuzzy", weight=2.0),
    "price": metric("number_tolerance", "number"),
    "kind": metric("string_case_insensitive"),
}
INNER = obj(**LEAF, tags=array(TEXT))
CHOICE = {"anyOf": [obj(**LEAF), TEXT, {"type": "null"}]}
FLAT = array(obj(**LEAF))
NESTED = table(id=INTEGER, rows=array(INNER), one=INNER, any=CHOICE)
PUBLISHED = array(obj(name=EXACT, price={**NUMBER, "x-eval-compare": "exact"}, kind=EXACT, more=EXACT))
SCORERS = {
    "flat": (compile_schema(FLAT, semantics="default"), compile_schema(FLAT, semantics="default", **POSITION)),
    "nested": (compile_schema(NESTED, semantics="default"), compile_schema(NESTED, semantics="default", **POSITION)),
    "each undeclared key counts": (
        compile_schema(PUBLISHED | {"x-eval-align": {"ordered": False, "match_by": "best_fit"}}),
        compile_schema(PUBLISHED),
    ),
}


def root_rows(scorer, gold, extracted):
    return [rows for rows in scorer.score(gold, extracted, gates={"schema": False}).arrays if not rows.path]


def total(scorer, gold, extracted):
    """Return the summed scores of the outer rows."""
    return sum(rows.recall * len(gold) for rows in root_rows(scorer, gold, extracted))


def best_total(scorer, gold, extracted):
    """Try every pairing of the outer rows."""
    few, many = sorted((gold, extracted), key=len)
    sides = [[([one], [other]) if few is gold else ([other], [one]) for other in many] for one in few]
    scores = [[sum(rows.f1 for rows in root_rows(scorer, *pair)) for pair in row] for row in sides]
    orders = permutations(range(len(many)), len(few))
    return max(sum(row[place] for row, place in zip(scores, order, strict=True)) for order in orders)


texts = st.sampled_from(["a", "A", "ab", "abc", "", None])
cells = {
    "code": texts,
    "name": texts,
    "kind": texts,
    "price": st.sampled_from([1, 1.0, 1.0005, 1.001, 2, True, None]),
    "tags": st.none() | st.lists(st.sampled_from("tuv"), max_size=3),
    "more": texts,
}
inner = st.fixed_dictionaries({}, optional=cells)
outer = st.fixed_dictionaries(
    {"id": st.integers(1, 2)},
    optional={
        "rows": st.none() | st.lists(inner, max_size=3),
        "one": st.none() | inner,
        "any": texts | inner,
        "more": st.integers(1, 2),
    },
)
anything = st.sampled_from(["a", "A", "zz", None, 1, 2.5, True, [], ["t"], {}])


def near(rows):
    return st.lists(rows, min_size=1, max_size=4)


@st.composite
def mistaken(draw, rows, names):
    """Rows, some of them twice or no objects, and an output with wrong values anywhere in some rows."""
    gold = draw(near(rows))
    gold += draw(st.lists(st.sampled_from(gold), max_size=1))
    output = copy.deepcopy(gold)
    for row in draw(st.lists(st.sampled_from(output), min_size=1, max_size=3)):
        inside = row.get("rows")
        below = [row.get("one"), *(inside if isinstance(inside, list) else [])]
        place = draw(st.sampled_from([row, *(place for place in below if isinstance(place, dict))]))
        place[draw(st.sampled_from(names if place is row else [*cells]))] = draw(anything)
    other = draw(st.lists(st.sampled_from([7, None, "x"]), max_size=1))
    return [*gold, *other], [*output, *other]


ROWS = {
    "flat": st.tuples(near(inner), near(inner)) | mistaken(inner, [*cells]),
    "nested": st.tuples(near(outer), near(outer)) | mistaken(outer, ["id", "rows", "one", "more"]),
    "each undeclared key counts": st.tuples(near(inner), near(inner)),
}


@pytest.mark.parametrize("kind", SCORERS)
@given(st.data())
def test_no_permutation_of_rows_is_better(kind, data):
    fitted, placed = SCORERS[kind]
    gold, extracted = data.draw(ROWS[kind])
    assert total(fitted, gold, extracted) == pytest.approx(best_total(placed, gold, extracted))


@given(st.integers(2, 7), st.sampled_from(["ab", "aab", "a"]), st.data())
def test_no_permutation_is_better_where_columns_repeat(count, names, data):
    gold = [{"code": names[n % len(names)], "kind": f"c{n % 3}", "price": n // 2} for n in range(count)]
    extracted = copy.deepcopy(gold)
    for n in data.draw(st.lists(st.integers(0, count - 1), min_size=1, max_size=4)):
        extracted[n][data.draw(st.sampled_from(["code", "kind", "price"]))] = data.draw(st.sampled_from([n, "a", "c1"]))
    fitted, placed = SCORERS["flat"]
    assert total(fitted, gold, extracted) == pytest.approx(best_total(placed, gold, extracted))


@pytest.mark.parametrize("metric_id", ["fuzzy", "string_fuzzy"])
def test_texts_are_paired_best(metric_id):
    stock = ["alpha beta", "alpha bets", "Alpha beta", "gamma", "gamut", "gamma x", "delta", "alp", "omega", "", None]
    schema = array({**metric(metric_id), "type": ["string", "null"]}, evaluation_config={"align": "best_fit"})
    scorer, placed = compile_schema(schema), compile_schema(schema, **POSITION)
    pick = random.Random(9)
    for _ in range(40):
        gold = pick.choices(stock, k=pick.randint(2, 5))
        extracted = [pick.choice(stock) if pick.random() < 0.3 else text for text in gold]
        pick.shuffle(extracted)
        assert total(scorer, gold, extracted) == pytest.approx(best_total(placed, gold, extracted))


@pytest.mark.parametrize("semantics", ["default", "extract-bench"])
@pytest.mark.parametrize("unlike", [0, 5, 25])
def test_many_long_texts_are_paired_best(unlike, semantics):
    pick = random.Random(unlike)
    gold = ["".join(pick.choices("abcdefgh ", k=60)) for _ in range(25)]
    extracted = [f"{text[:30]}x{text[31:]}" for text in gold[unlike:]]
    extracted += ["".join(pick.choices("abcdefgh ", k=60)) for _ in range(unlike)]
    pick.shuffle(extracted)
    schema = array(metric("string_fuzzy"), evaluation_config={"align": "best_fit"})
    scorer = compile_schema(schema, semantics=semantics)
    compare = scorer.program.root.items.checks[0].metric.compare
    scores = np.array([[compare(one, other) for other in extracted] for one in gold])
    best = scores[linear_sum_assignment(scores, maximize=True)].sum()
    assert total(scorer, gold, extracted) == pytest.approx(best)


COLUMNS = {
    "name": TEXT,
    "code": TEXT,
    "price": NUMBER,
    "flag": {"type": "boolean"},
    "tags": array(TEXT),
    "size": {**NUMBER, "evaluation_config": "number_tolerance"},
    "note": metric("string_fuzzy"),
    "inner": obj(a=INTEGER),
    "lower": {**EXACT, "x-eval-transform": ["lowercase"]},
}
X1 = ("x", {"a": 1})
IN_ORDER = ((0, 0), (1, 1), (2, 2))
CROSSED = ((0, 1), (1, 0))
# Columns, gold's rows, extracted rows, pairs: each row with the one that has more in common, of equally good ones in order.
PAIRED = {
    "a number far from all others": ("price flag", [(1, True), (100, True)], [(7, True), (100, True)], IN_ORDER[:2]),
    "a number near another's": ("size name", [(1, "a"), (2, "b")], [(2, "a"), (3, "b")], IN_ORDER[:2]),
    "a number beside a text": ("price flag", [(1, True), ("two", True)], [(7, True), ("two", True)], IN_ORDER[:2]),
    "a text most like its own": ("note flag", [("abc", 1), ("xyz", 1)], [("abd", 1), ("xyz", 1)], IN_ORDER[:2]),
    "the last row lost": ("name code", [("a", "x"), ("b", "y"), ("c", "x")], [("a x", "x"), ("b", "y")], IN_ORDER[:2]),
    "a value that a lost row has": ("name flag", [("a", True), ("b", True)], [("b", True)], ((1, 0),)),
    "values lost and found": ("name flag", [("a", True), (None, True)], [(None, True), ("b", True)], CROSSED),
    "rows that moved, with mistakes": ("name code price", ["ax1", "bx2"], ["bz2", "aw1"], CROSSED),
    "an empty column": ("name code", [("a", None), ("b", None)], [("a x", None), ("b", None)], ((1, 1),)),
    "a lost row": ("name code", [("a", "x"), ("b", "y"), ("c", "x")], [("a x", "x"), ("c", "x")], ((0, 0), (2, 1))),
    "a value that an invented row has": ("name flag", [("a", True)], [("b", True), ("a", True)], ((0, 1),)),
    "a number near an invented row's": ("size flag", [(2, True)], [(7, True), (2.0005, True)], ((0, 1),)),
    "a text like another row's": ("note flag", [("abc", 1), ("abd", 1)], [("abdx", 1), ("abc", 1)], CROSSED),
    "null is a missing key": ("name code", [("a", None), ("b",)], [("b", None), ("a",)], CROSSED),
    "true is not 1": ("price tags", [(1, ["t"]), (True, ["t"])], [(True, ["u"]), (1, ["u"])], CROSSED),
    "nothing in common": ("name", [("a",), ("b",)], [("a",), ("c",)], ((0, 0),)),
    "as they are after transforms": ("lower price", [("a", 1), ("A", 2)], [("a", 2), ("A", 1)], CROSSED),
    "as good in their order": ("name code", [("a", "p"), ("b", "q")], [("a", "q"), ("b", "p")], IN_ORDER[:2]),
    "as good in their order, of three": ("name code note", ["cbb", "bba", "bbc"], ["cba", "caa", "bcb"], IN_ORDER),
    "an equal row in its place first": ("name price", [("a", 1), ("a", 1)], [("c", 9), ("a", 1)], IN_ORDER[1:2]),
    "equal rows of which one is wrong": ("name inner", [X1] * 3, [("x", {"a": 7}), *[X1] * 2], IN_ORDER),
    "equal rows of which one is lost": ("name inner", [X1] * 3, [X1] * 2, IN_ORDER[:2]),
    "none is right, and one of another name": (
        "name inner",
        [(name, {"a": n}) for n, name in enumerate("xxyx")],
        [(name, {"a": n}) for n, name in enumerate("yxxx", 5)],
        ((0, 1), (1, 2), (2, 0), (3, 3)),
    ),
    "none is right": ("note tags", ["xp", "xq", "yr"], ["yu", "xv", "xw"], ((0, 1), (1, 2), (2, 0))),
}


@pytest.mark.parametrize(("names", "gold", "extracted", "pairs"), PAIRED.values(), ids=PAIRED)
def test_rows_are_paired_by_what_they_have_in_common_and_else_in_order(names, gold, extracted, pairs):
    columns = {name: COLUMNS[name] for name in names.split()}
    sides = ([dict(zip(columns, row, strict=False)) for row in rows] for rows in (gold, extracted))
    rows = scored(table(**columns), *sides).arrays[-1]
    assert rows.pairs == pairs
    assert rows.missing == tuple(set(range(len(gold))) - {i for i, _ in pairs})
    assert rows.extra == tuple(set(range(len(extracted))) - {j for _, j in pairs})


@pytest.mark.parametrize("size", [3, 8, 40])
def test_equal_rows_keep_their_order_among_others(size):
    extracted = [{"k": "x", "n": place % 2} for place in range(size)]
    found = scored(table(k=TEXT, n=NUMBER), [{"k": "x", "n": 1}] * size, extracted).arrays[0]
    assert found.pairs == tuple((place, place) for place in range(size))


@pytest.mark.parametrize("gone", [0, 1, 2])
def test_a_lost_row_is_found_beside_one_with_a_mistake(gone):
    gold = [{"name": name, "code": "x", "price": n, "kind": "n"} for n, name in enumerate("abc")]
    extracted = copy.deepcopy(gold)
    extracted[(gone + 1) % 3]["kind"] = "another"
    del extracted[gone]
    assert scored(FLAT, gold, extracted).arrays[0].missing == (gone,)
    assert scored(FLAT, extracted, gold).arrays[0].extra == (gone,)


@pytest.mark.parametrize(
    "output", [[{"id": 1}, {"id": 2}, {"id": True}], [{"id": 1, "rows": [{"code": "b"}]}, {"id": 2}]]
)
def test_rows_that_python_finds_equal_or_that_a_mistake_makes_like_another_stay_in_order(output):
    gold = [{"id": 1}, {"id": 2}, {"id": 1}][: len(output)]
    assert scored(NESTED, gold, output).arrays[-1].pairs == IN_ORDER[:2]


def test_rows_and_numbers_that_neither_side_fills_lose_nothing():
    fitted, placed = SCORERS["flat"]
    assert total(fitted, [{"price": 1}, {}], [{"price": None}]) == 1.0
    gold = [{"code": "a", "price": None}, {"code": "a"}, {"code": "c", "price": 9}]
    extracted = [{"code": "a"}, {"code": "b", "price": None}, {"code": "c", "price": 9}]
    assert total(fitted, gold, extracted) == pytest.approx(best_total(placed, gold, extracted))


def test_where_null_is_a_value_rows_with_it_are_told_from_rows_without():
    how = {"nulls": "value"}
    rows = [{"b": []}, {"b": ["x"]}, {}]
    assert scored(table(b=array(TEXT)), rows, rows[::-1], how=how).arrays[-1].pairs == ((0, 2), (1, 1), (2, 0))
    for at, shuffled in enumerate([[{"open": None}, {}, {}], [{}, {"open": None}, {}], [{}, {}, {"open": None}]]):
        further = array({"type": "object", "additionalProperties": {"type": "boolean"}})
        found = scored(further, [{"open": None}, {}, {}], shuffled, how=how)
        assert (0, at) in found.arrays[-1].pairs
        assert all(leaf.passed for leaf in found.leaves)


@pytest.mark.parametrize("empty", [{"f": None}, {"f": None, "g": None}])
def test_a_row_of_null_is_as_good_as_a_row_of_nothing_whatever_stands_beside_it(empty):
    for gold, extracted in (([None], [empty]), ([None, {"f": "x"}], [empty, {"f": "y"}])):
        assert (0, 0) in scored(table(f=TEXT, g=TEXT), gold, extracted).arrays[0].pairs


def test_lists_that_are_paired_by_the_content_of_their_rows_are_told_apart_by_it():
    inner = array({"properties": {"a": TEXT}}, evaluation_config={"align": "multiset"})
    one, other = [{}, {"a": "ACME GmbH"}], [{"a": "acme  gmbh"}, {}]
    schema = array(inner, evaluation_config={"align": "hungarian"})
    assert scored(schema, [one, other], [other[::-1], one[::-1]], how={"judge_mode": "exact"}).measures["f1"] == 1.0


def test_further_metrics_of_an_array_see_equal_lists_too():
    rows = array(
        obj(**LEAF), evaluation_config={"metrics": [{"metric_id": "array_llm"}, {"metric_id": "string_exact"}]}
    )
    value = {"rows": [{"name": "a"}, {"name": "b"}]}
    found = scored(obj(rows=rows), value, value, how={"semantics": "extract-bench", "judge_mode": "fuzzy"})
    assert {field.metric for field in found.fields} == {"array_llm", "string_exact"}


# --- what the case accepts

ONE_NAME, TWO = table(a=TEXT), table(a=TEXT, b=TEXT)
TAGS, IN_ROWS = table(t=array(TEXT)), table(q=table(x=TEXT))
OF_ONE = ([{"a": "x", "b": b} for b in side] for side in ("12", "93"))
ACCEPTED = {
    "by pattern": (ONE_NAME, [{"a": "x"}], [{"a": "y"}], {"[].a": ["y"]}, ((0, 0),)),
    "by path": (ONE_NAME, [{"a": "x"}], [{"a": "y"}], {"[0].a": ["y"]}, ((0, 0),)),
    "another reading": (ONE_NAME, [{"a": "x"}], [{"a": "y"}], {"[0].a": ["z"]}, ()),
    "among others": (ONE_NAME, [{"a": "x"}, {"a": "z"}], [{"a": "q"}, {"a": "y"}], {"[0].a": ["y"]}, ((0, 1),)),
    "all fields": (TWO, [{"a": "x", "b": "1"}], [{"a": "y", "b": "2"}], {"[].a": ["y"], "[].b": ["2"]}, ((0, 0),)),
    "of one row, not of another": (TWO, *OF_ONE, {"[0].b": ["3"], "[1].b": ["9"]}, CROSSED),
    "inside": (table(o=obj(a=TEXT)), [{"o": {"a": "x"}}], [{"o": {"a": "y"}}], {"[].o.a": ["y"]}, ((0, 0),)),
    "as a whole": (table(o=obj(a=TEXT)), [{"o": {"a": "x"}}], [{"o": {"a": "y"}}], {"[].o": [{"a": "y"}]}, ((0, 0),)),
    "in a list": (TAGS, [{"t": ["A"]}, {"t": ["B"]}], [{"t": ["B"]}, {"t": ["a"]}], {"[].t[]": ["a"]}, CROSSED),
    "rows in rows": (
        IN_ROWS,
        [{"q": [{"x": "A"}, {"x": "Z"}]}, {"q": [{"x": "C"}]}],
        [{"q": [{"x": "C"}]}, {"q": [{"x": "Z"}, {"x": "a"}]}],
        {"[].q[].x": ["a"]},
        CROSSED,
    ),
    "rows in rows, by path": (IN_ROWS, [{"q": [{"x": "A"}]}], [{"q": [{"x": "B"}]}], {"[0].q[0].x": ["B"]}, ((0, 0),)),
    "a row": (TWO, [{"a": "x"}, {"b": "k"}], [{"b": "k"}, {"b": "n"}], {"[0]": [{"b": "n"}]}, CROSSED),
    "many rows": (
        TWO,
        [{"a": f"x{n}", "b": "same"} for n in range(30)],
        [{"a": f"y{n}", "b": "same"} for n in reversed(range(30))],
        {f"[{n}].a": [f"y{n}"] for n in range(30)},
        tuple((n, 29 - n) for n in range(30)),
    ),
}


@pytest.mark.parametrize(("schema", "gold", "output", "accept", "pairs"), ACCEPTED.values(), ids=ACCEPTED)
def test_a_row_is_paired_with_its_accepted_reading(schema, gold, output, accept, pairs):
    score = scored(schema, gold, output, accept=accept)
    assert next(rows for rows in score.arrays if not rows.path).pairs == pairs
    paired = {i for i, _ in pairs}
    assert all(leaf.passed for leaf in score.leaves if leaf.path[0] in paired)


# --- what a judge has not decided

ROW = {"a": TEXT, "b": JUDGED}
OPEN = [{"a": "x", "b": "one"}], [{"a": "y", "b": "two"}]
AMONG_OTHERS = [*OPEN[0], {"a": "p", "b": "aaa"}], [*OPEN[1], {"a": "z", "b": "bbb"}]
BESIDE_AN_EQUAL = [*OPEN[0], {"a": "k", "b": "same"}], [*OPEN[1], {"a": "k", "b": "same"}]
WITH_A_LIST = [{**OPEN[0][0], "tags": ["u"]}], [{**OPEN[1][0], "tags": ["v"]}]


@pytest.mark.parametrize(("gold", "output"), [OPEN, AMONG_OTHERS, BESIDE_AN_EQUAL, WITH_A_LIST])
def test_a_row_with_an_undecided_field_is_treated_alike_in_every_list(gold, output):
    score = scored(table(**ROW, tags=array(TEXT)), gold, output)
    assert score.arrays[-1].pairs == IN_ORDER[: len(gold)]
    assert told(score.leaves).startswith("[0].a mismatch, [0].b judge_error")
    assert [str(field.status) for field in score.fields] == ["mismatch"]


@pytest.mark.parametrize(("gold", "output"), [OPEN, AMONG_OTHERS])
def test_a_judge_decides_whether_rows_are_one(gold, output):
    rejecting = scored(table(**ROW), gold, output, judge=lambda asked: [Verdict(score=0.0) for _ in asked])
    assert {str(leaf.status) for leaf in rejecting.leaves} == {"omission", "hallucination"}
    agreeing = scored(table(**ROW), gold, output, judge=lambda asked: [Verdict(score=1.0) for _ in asked])
    assert told(agreeing.leaves).startswith("[0].a mismatch, [0].b match")


def test_an_undecided_field_of_a_row_is_not_right():
    gold, output = [{"a": "x", "b": "one"}, {"a": "p", "b": "s"}], [{"a": "x", "b": "two"}, {"a": "p", "b": "s"}]
    score = scored(table(**ROW), gold, output)
    assert score.arrays[-1].f1 == 0.75
    (field,) = score.fields
    assert (str(field.status), field.score) == ("judge_error", 0.0)
    assert field.reason == (
        "1 pairs have undecided fields; 2 rows paired (their scores add up to 1.5), 0 missing, 0 invented"
    )
    assert score.measures["pass_rate"] == score.measures["mean_score"] == 0.0


def test_an_undecided_row_of_weight_0_is_no_row_that_is_wrong():
    score = scored(array({**JUDGED, "x-eval-weight": 0}), ["a"], ["b"])
    assert (told(score.leaves), score.arrays[0].pairs) == ("[0] judge_error", ((0, 0),))


def test_a_judge_is_asked_about_the_rows_that_are_paired_only():
    scorer = compile_schema(table(id=INTEGER, text=JUDGED), semantics="default")
    gold = [{"id": 1, "text": "one"}, {"id": 2, "text": "two"}]
    questions = []
    scorer.score(gold, [{"id": 2, "text": "deux"}, {"id": 1, "text": "un"}], judge=questions.extend)
    assert {(question.gold, question.extracted) for question in questions} == {("one", "un"), ("two", "deux")}


def test_more_rows_than_fit_into_memory_are_an_error_with_a_remedy():
    gold, extracted = ([{"code": f"{side}{n}"} for n in range(20_001)] for side in "ab")
    told = r"^\[\]\.rows\[\]: 20,001 rows of the gold and 20,001 .* 5 GiB .* by key or by position"
    with pytest.raises(ConfigError, match=told):
        SCORERS["nested"][0].score([{"rows": gold, "id": 1}], [{"rows": extracted, "id": 1}])
