"""What each kind of place scores, under each semantics: small cases made by hand from the rules."""

from __future__ import annotations

import copy
from concurrent.futures import ThreadPoolExecutor

import pytest

from pytest_extract.core.results import Status
from pytest_extract.core.scorer import compile_schema
from pytest_extract.core.values import MAX_DEPTH, MISSING
from tests.core.schemas import EXACT, INTEGER, NUMBER, TEXT, array, metric, obj, scored, table, told

CHAIN = {"$ref": "#/$defs/n", "$defs": {"n": obj(v=TEXT, next={"$ref": "#/$defs/n"})}}
KINDS = {"oneOf": [obj(kind={"const": "a"}, n=INTEGER), obj(kind={"const": "b"}, n=TEXT)]}
CHAINS = [{"v": "1", "next": {"v": "2", "next": {"v": end}}} for end in "34"]
NULL = {"type": "null"}
AB, AN_INTEGER = obj(a=TEXT, b=TEXT), obj(a=INTEGER)
O12 = {"o": {"a": 1}}, {"o": {"a": 2}}
ROWS = [{"a": "1", "b": "p"}, {"a": "2", "b": "q"}]
SHUFFLED = [{"a": "2", "b": "q"}, {"a": "1", "b": "z"}]

DEFAULT = {
    "folded": (obj(a=TEXT), {"a": "e\u0301  x"}, {"a": "\u00e9 x"}, "a match"),
    "differs": (obj(a=TEXT), {"a": "x"}, {"a": "y"}, "a mismatch"),
    "missing": (obj(a=TEXT), {"a": "x"}, {}, "a missing"),
    "null is absent": (obj(a=TEXT), {"a": "x"}, {"a": None}, "a missing"),
    "invented": (obj(a=TEXT), {"a": None}, {"a": "x"}, "a invented"),
    "both absent": (obj(a=TEXT), {"a": None}, {}, ""),
    "true is not 1": (obj(a=INTEGER), {"a": 1}, {"a": True}, "a mismatch"),
    "1 is 1.0": (obj(a=NUMBER), {"a": 1}, {"a": 1.0}, "a match"),
    "tolerance": (obj(a=NUMBER), {"a": 1e9}, {"a": 1e9 + 0.5}, "a match"),
    "undeclared key": (obj(a=TEXT), {"a": "x"}, {"a": "x", "b": 1}, "a match, b invented"),
    "undeclared in gold": (obj(a=TEXT), {"b": 1}, {"b": 1}, "b match"),
    "undeclared only in gold": (obj(a=TEXT), {"a": "x", "b": 1}, {"a": "x"}, "a match, b missing"),
    "undeclared for missing": (obj(a=TEXT, b=TEXT), {"a": "x", "c": 1}, {"a": "x", "c": 1}, "a match, c match"),
    "undeclared in gold only": (AB, {"b": "x", "z": 1}, {"a": "x", "b": "y"}, "a invented, b mismatch, z missing"),
    "undeclared in gold, which is all": (obj(a=TEXT), {"b": 1}, {}, "b missing"),
    "key with a dot": (obj(**{"a.b": TEXT}), {"a.b": "x"}, {"a.b": "x"}, '["a.b"] match'),
    "key with a bracket": (obj(**{"a[0]": TEXT}), {"a[0]": "x"}, {"a[0]": "y"}, '["a[0]"] mismatch'),
    "missing object": (obj(o=obj(a=TEXT, b=TEXT)), {"o": {"a": "x", "b": None}}, {}, "o.a missing"),
    "nulled object": (obj(o=obj(a=TEXT)), {"o": {"a": "x"}}, {"o": None}, "o.a missing"),
    "empty object": (obj(o=obj(a=TEXT)), {"o": {}}, {}, "o missing"),
    "invented object": (obj(o=obj(a=TEXT)), {}, {"o": {"a": "x", "z": 1}}, "o.a invented, o.z invented"),
    "object of wrong type": (obj(o=obj(a=TEXT)), {"o": {"a": "x"}}, {"o": "x"}, "o mismatch"),
    "same wrong type": (obj(o=obj(a=TEXT)), {"o": "x"}, {"o": "x"}, "o match"),
    "further keys": ({"additionalProperties": INTEGER}, {"x": 1, "y": 2}, {"x": 1, "y": 3}, "x match, y mismatch"),
    "pattern keys": ({"patternProperties": {"^n_": NUMBER}}, {"n_a": 1}, {"n_a": 1.0}, "n_a match"),
    "bag": (array(TEXT), ["a", "b"], ["b", "c"], "[1] match, [0] missing, [-1] invented"),
    "bag with repeats": (array(INTEGER), [1, 1, 2], [1, 2, 2], "[0] match, [2] match, [1] missing, [-1] invented"),
    "empty array is absent": (obj(a=array(TEXT)), {"a": []}, {}, ""),
    "missing array": (obj(a=array(TEXT)), {"a": ["x", "y"]}, {}, "a[0] missing, a[1] missing"),
    "array of wrong type": (obj(a=array(TEXT)), {"a": ["x"]}, {"a": "x"}, "a mismatch"),
    "rows reordered": (table(a=TEXT, b=TEXT), ROWS, SHUFFLED, "[0].a match, [0].b mismatch, [1].a match, [1].b match"),
    "rows with nothing in common": (table(a=TEXT), [{"a": "1"}], [{"a": "2"}], "[0].a missing, [-1].a invented"),
    "row of wrong type": (table(a=TEXT), [{"a": "1"}, "text"], ["text", {"a": "1"}], "[0].a match, [1] match"),
    "tuple": ({"prefixItems": [TEXT, INTEGER]}, ["a", 1], ["b", 1], "[0] mismatch, [1] match"),
    "any of": (obj(v={"anyOf": [INTEGER, obj(k=TEXT), NULL]}), {"v": {"k": "x"}}, {"v": {"k": "y"}}, "v.k mismatch"),
    "one of, by constant": (KINDS, {"kind": "b", "n": "e\u0301"}, {"kind": "b", "n": "\u00e9"}, "kind match, n match"),
    "type list": (obj(v={"type": ["number", "string"]}), {"v": 1}, {"v": 1.0}, "v match"),
    "all of": ({"allOf": [obj(a=TEXT), obj(b=INTEGER)]}, {"a": "x", "b": 1}, {"a": "x"}, "a match, b missing"),
    "recursive": (CHAIN, *CHAINS, "v match, next.v match, next.next.v mismatch"),
    "dangling reference": (obj(v={"$ref": "#/nowhere"}), {"v": {"a": [1]}}, {"v": {"a": [1.0]}}, "v match"),
    "no schema": (True, {"a": 1}, {"a": 2}, "$ mismatch"),
    "scalar root": (INTEGER, 1, 2, "$ mismatch"),
    "no output": (obj(a=TEXT, b=array(TEXT)), {"a": "x", "b": ["y"]}, MISSING, "a missing, b[0] missing"),
}


@pytest.mark.parametrize(("schema", "gold", "extracted", "expected"), DEFAULT.values(), ids=DEFAULT)
def test_default(schema, gold, extracted, expected):
    before = copy.deepcopy((gold, extracted))
    assert told(scored(schema, gold, extracted).leaves) == expected
    assert before == (gold, extracted)  # scoring changes neither


SKIP = {"x-eval-skip": True}
AS_ONE = obj(o={**obj(a=EXACT), "x-eval-compare": "exact"})
KEYED = {**table(id=EXACT, v=EXACT), "x-eval-align": {"match_by": "key_field", "key": "id"}}

STRUCT_EXTRACT_EVAL = {
    "null is a value": (obj(a=EXACT), {"a": None}, {"a": None}, "a match"),
    "null against missing": (obj(a=EXACT), {"a": None}, {}, "a missing"),
    "both empty": (obj(a=EXACT), {}, {}, "$ match"),
    "undeclared in gold is ignored": (obj(a=EXACT), {"z": 1}, {"y": 1}, "y invented"),
    "missing subtree": (obj(l=array(EXACT)), {"l": ["p", "q"]}, {"b": 1}, "l[0] missing, l[1] missing, b invented"),
    "missing object with a list": (obj(o=obj(l=array(EXACT))), {"o": {"l": ["p"]}}, {}, "o.l[0] missing"),
    "empty object costs nothing": (obj(o=obj(a=EXACT)), {"o": {}}, {"b": 1}, "b invented"),
    "empty array costs one": (obj(l=array(EXACT)), {"l": []}, {"b": 1}, "l missing, b invented"),
    "invented rows count down": (array(EXACT), ["a"], ["a", "b", "c"], "[0] match, [-1] invented, [-2] invented"),
    "skipped leaf": (obj(a=EXACT | SKIP), {}, {}, "$ match"),
    "skipped leaf beside another": (obj(a=TEXT | SKIP, b=EXACT), {"b": "x"}, {"b": "x"}, "a skipped, b match"),
    "skipped object": (obj(o=obj(a=EXACT) | SKIP), {"o": {"a": "x"}}, {"o": {"a": "y"}}, "o skipped"),
    "skipped row is scored": (array(obj(a=EXACT) | SKIP), [{"a": "x"}, {"a": "y"}], [{"a": "x"}], "[0].a match"),
    "by key": (
        KEYED,
        [{"id": "1", "v": "a"}, {"id": "2", "v": "b"}],
        [{"id": "2", "v": "b"}, {"id": "3", "v": "c"}],
        "[1].id match, [1].v match, [0].id missing, [0].v missing, [-1].id invented, [-1].v invented",
    ),
    "container as one": (AS_ONE, {"o": {"a": "x"}}, {"o": {"a": "y"}}, "o mismatch"),
    "container as one, missing": (AS_ONE, {"o": {"a": "x"}}, {}, "o.a missing"),
    "transform": (obj(a={**EXACT, "x-eval-transform": ["strip", "lowercase"]}), {"a": " X"}, {"a": "x "}, "a match"),
    "transform of wrong type": (obj(a={**EXACT, "x-eval-transform": ["strip"]}), {"a": "5"}, {"a": 5}, "a mismatch"),
}


@pytest.mark.parametrize(
    ("schema", "gold", "extracted", "expected"), STRUCT_EXTRACT_EVAL.values(), ids=STRUCT_EXTRACT_EVAL
)
def test_struct_extract_eval(schema, gold, extracted, expected):
    assert told(scored(schema, gold, extracted, how={"semantics": "struct-extract-eval"}).leaves) == expected


CONFIGURED = obj(a={"anyOf": [metric("string_exact"), NULL]})
SKIPPED, AS_TEXT = {"evaluation_config": "skip"}, {"evaluation_config": "string_exact"}
TWICE = {**TEXT, "evaluation_config": {"metrics": [{"metric_id": "exact"}, {"metric_id": "string_fuzzy"}]}}
LISTED = array(INTEGER, evaluation_config={"metrics": [{"metric_id": "array_llm"}], "align": "multiset"})
EXTRACT_BENCH = {
    "equal": (obj(a=INTEGER), {"a": 1}, {"a": 1}, "a match"),
    "both absent passes": (obj(a=INTEGER), {}, {"a": None}, "a match"),
    "undeclared is ignored": (obj(a=INTEGER), {"a": 1}, {"a": 1, "b": 2}, "a match"),
    "wrong type": (obj(a=metric("string_exact")), {"a": "1"}, {"a": 1}, "a mismatch"),
    "two metrics": (obj(a=TWICE), {"a": "abcd"}, {"a": "abce"}, "a mismatch, a mismatch 0.75"),
    "skipped": (obj(a=TEXT | SKIPPED), {"a": "x"}, {"a": "y"}, ""),
    "object with a metric": (obj(o=AN_INTEGER | AS_TEXT), *O12, "o mismatch, o.a mismatch"),
    "nulled object": (obj(o=AB | {"nullable": True}), {"o": {"a": "x"}}, {"o": None}, "o.a missing, o.b match"),
    "empty object against missing": (obj(o=obj(a=INTEGER)), {"o": {}}, {}, "o.a match"),
    "array metric on a string": (obj(a=metric("array_llm")), {"a": "x"}, {"a": "x"}, "a match"),
    "skipped optional object": (obj(o={"anyOf": [AN_INTEGER, NULL], **SKIPPED}), *O12, ""),
    "skipped object is passed through": (obj(o=AN_INTEGER | SKIPPED), *O12, "o.a mismatch"),
    "recall of an array": (obj(a=LISTED), {"a": [1, 2, 3, 4]}, {"a": [4, 3, 2, 9]}, "a match 0.75"),
    "an array as one": (obj(a=array(INTEGER) | metric("exact", "array")), {"a": [1, 2]}, {"a": [2, 1]}, "a mismatch"),
    "config of a branch gives leaf results only": (CONFIGURED, {"a": "x"}, {"a": "y"}, ""),
}


@pytest.mark.parametrize(("schema", "gold", "extracted", "expected"), EXTRACT_BENCH.values(), ids=EXTRACT_BENCH)
def test_extract_bench(schema, gold, extracted, expected):
    how = {"semantics": "extract-bench", "judge_mode": "fuzzy"}
    assert told(scored(schema, gold, extracted, how=how).fields) == expected


def test_a_branch_that_fits_gold_scores_with_its_config():
    assert told(scored(CONFIGURED, {"a": "x"}, {"a": "y"}).leaves) == "a mismatch"


def test_an_array_has_its_pairing_and_the_papers_numbers_and_a_field_its_f1():
    gold = {"rows": [{"a": "1", "b": "p"}, {"a": "2", "b": "q"}]}
    extracted = {"rows": [{"a": "9", "b": "9"}, {"a": "2", "b": "x"}, {"a": "1", "b": "p"}]}
    score = scored(obj(rows=table(a=TEXT, b=TEXT)), gold, extracted)
    (rows,) = score.arrays
    assert (rows.pairs, rows.missing, rows.extra) == (((0, 2), (1, 1)), (), (0,))
    assert (rows.precision, rows.recall, rows.f1) == (0.5, 0.75, 0.6)
    assert told(score.fields) == "rows mismatch 0.6"
    places = {str(leaf.path): str(leaf.matched) for leaf in score.leaves}
    assert (places["rows[0].a"], places["rows[-1].a"]) == ("rows[2].a", "rows[0].a")


@pytest.mark.parametrize(("output", "recall"), [("see table", 0.0), ([{"a": 1, "b": 2}, "x"], 0.5)])
def test_rows_lost_to_another_type_are_lost_rows(output, recall):
    rows = {**table(a=NUMBER, b=NUMBER), "type": ["array", "string"]}
    gold = {"items": [{"a": 1, "b": 2}, {"a": 3, "b": 4}]}
    assert scored(obj(items=rows), gold, {"items": output}).measures["row_recall"] == recall


def test_agreement_on_absence_is_counted():
    score = scored(obj(a=TEXT, b=TEXT, c=array(TEXT)), {"a": "x"}, {"a": "x", "b": None, "c": []})
    assert (score.vacuous, told(score.leaves)) == (2, "a match")


def test_nulls_can_be_values():
    schema = obj(a=TEXT, b=TEXT)
    found = scored(schema, {"a": None, "b": None}, {"a": None}, how={"nulls": "value"})
    assert told(found.leaves) == "a match, b missing"
    assert told(scored({**schema, "x-eval-nulls": "value"}, {"a": None}, {"a": None}).leaves) == "a match"


LIST = obj(l=array(TEXT))
ACCEPTED = {
    "a field": (obj(v=TEXT), {"v": "ACME GmbH"}, {"v": "ACME"}, {"v": ["ACME"]}, "v match"),
    "an object": (obj(o=obj(k=TEXT)), {"o": {"k": "x"}}, {"o": {"k": "y"}}, {"o": [{"k": "y"}]}, "o.k match"),
    "where gold has nothing": (obj(v=TEXT), {"v": None}, {"v": "n/a"}, {"v": ["n/a"]}, "v match"),
    "nothing": (obj(v=TEXT), {"v": "x"}, {}, {"v": [None]}, ""),
    "any row": (LIST, {"l": ["a", "c"]}, {"l": ["a", "b"]}, {"l[]": ["b"]}, "l[0] match, l[1] match"),
    "one row": (LIST, {"l": ["a", "c"]}, {"l": ["b", "a"]}, {"l[1]": ["b"]}, "l[0] match, l[1] match"),
    "other row": (
        LIST,
        {"l": ["a", "c"]},
        {"l": ["b", "a"]},
        {"l[0]": ["b"]},
        "l[0] match, l[1] missing, l[-1] invented",
    ),
    "most": (LIST, {"l": ["x", "y"]}, {"l": ["b", "d"]}, {"l[0]": ["b", "d"], "l[1]": ["b"]}, "l[0] match, l[1] match"),
    "an invented row": (LIST, {"l": ["a"]}, {"l": ["a", "b"]}, {"l[]": ["b"]}, "l[0] match, l[-1] invented"),
    "an invented list": (LIST, {"l": []}, {"l": ["b"]}, {"l[]": ["b"]}, "l[-1] invented"),
    "a value of a list or none": (LIST, {"l": ["a", "b"]}, {"l": ["b"]}, {"l[]": [None]}, "l[1] match"),
    "an object that is not there": (obj(o=obj(a=TEXT)), {"o": {"a": "x"}}, {}, {"o": [{}]}, "o.a missing"),
}


@pytest.mark.parametrize(("schema", "gold", "extracted", "accept", "expected"), ACCEPTED.values(), ids=ACCEPTED)
def test_accepted_readings_are_right_too(schema, gold, extracted, accept, expected):
    assert told(scored(schema, gold, extracted, accept=accept).leaves) == expected


def test_a_result_shows_gold_where_another_reading_is_right():
    (leaf,) = scored(obj(v=TEXT), {"v": "ACME GmbH"}, {"v": "ACME"}, accept={"v": ["ACME"]}).leaves
    assert (leaf.gold, leaf.extracted) == ("ACME GmbH", "ACME")
    (leaf,) = scored(
        table(n=TEXT),
        [{"n": "one"}],
        [{"n": "1"}],
        how={"overrides": {"$": {"align": "position"}}},
        accept={"[].n": ["1"]},
    ).leaves
    assert (leaf.gold, leaf.extracted, leaf.passed) == ("one", "1", True)


@pytest.mark.parametrize("extracted", [{}, {"l": None}, {"l": []}])
@pytest.mark.parametrize("reading", [None, []])
def test_a_list_that_may_be_absent_may_be_so_in_every_way(reading, extracted):
    assert scored(LIST, {"l": ["x"]}, extracted, accept={"l": [reading]}).leaves == ()
    assert told(scored(LIST, {"l": ["x"]}, extracted, accept={"l": [["y"]]}).leaves) == "l[0] missing"


def test_a_field_that_may_stay_empty_is_skipped_when_one_side_is():
    absent = {"a": "either", "l": "either"}
    full = {"a": "x", "l": ["y"]}
    for gold, extracted in ((full, {}), ({}, full)):
        score = scored(obj(a=TEXT, l=array(TEXT)), gold, extracted, absent=absent)
        assert {result.status for result in score.fields} == {Status.SKIPPED}
        assert score.measures["pass_rate"] == 1.0
    assert told(scored(obj(a=TEXT), {"a": "x"}, {"a": "y"}, absent=absent).leaves) == "a mismatch"


# --- what is nested deep


def deep(levels, end=None):
    value = end
    for _ in range(levels):
        value = {"next": value, "v": "x"}
    return value


def test_threads_may_share_a_recursive_schema():
    scorer = compile_schema(CHAIN)
    with ThreadPoolExecutor(8) as pool:
        counts = list(pool.map(lambda _: len(scorer.score(deep(40), deep(40)).leaves), range(32)))
    assert counts == [40] * 32


@pytest.mark.parametrize("align", ["hungarian", "multiset", "position"])
def test_lists_of_lists_of_as_many_levels_as_are_read_are_scored(align):
    gold, extracted = [1], [2]
    for _ in range(MAX_DEPTH - 1):
        gold, extracted = [gold], [extracted, 0]
    assert scored(array({"$ref": "#"}), gold, extracted, how={"overrides": {"$": {"align": align}}}).leaves


def test_nested_alignments_do_not_multiply():
    gold, extracted = ["a"], ["b"]
    for level in range(40):
        gold, extracted = [gold, str(level)], [str(-level - 1), extracted]
    assert scored(array({"anyOf": [TEXT, {"$ref": "#"}]}), gold, extracted).leaves


def test_a_difference_deep_inside_is_not_looked_for_twice_a_level():
    gold, extracted, items = 1, True, INTEGER
    for _ in range(60):
        gold, extracted, items = [gold], [extracted], array(items)
    for schema in (items, array({"anyOf": [{"$ref": "#"}, INTEGER]})):
        statuses = {str(leaf.status) for leaf in scored(schema, gold, extracted).leaves}
        assert statuses == {"omission", "hallucination"}


@pytest.mark.timeout(60)
@pytest.mark.parametrize("judge_mode", ["llm", "fuzzy", "exact"])
@pytest.mark.parametrize(
    ("gold", "extracted", "passed"),
    [
        ([True, True], [True, True], True),
        ([[[True]], True], [[[True]], True], True),
        ([], [], True),
        ([True], [[[[True]]]], None),
        ([True] * 20, [False] * 20, None),
    ],
)
def test_rows_that_may_be_lists_of_themselves_end(judge_mode, gold, extracted, passed):
    schema = array({"type": ["boolean", "array"], "$ref": "#"}, evaluation_config="array_llm")
    score = scored(schema, gold, extracted, how={"semantics": "extract-bench", "judge_mode": judge_mode})
    assert passed is None or [field.passed for field in score.fields] == [passed]
    assert not passed or all(leaf.passed for leaf in score.leaves)


# --- the empty list


@pytest.mark.parametrize("schema", [array(TEXT), obj(b=array(TEXT))])
def test_an_empty_list_equals_itself_also_as_a_value(schema):
    empty, wrong = ([], ["x"]) if schema["type"] == "array" else ({"b": []}, {"b": ["x"]})
    how = {"semantics": "extract-bench", "nulls": "value", "judge_mode": "fuzzy"}
    for gold, extracted in ((empty, empty), (empty, wrong), (wrong, empty)):
        (field,) = scored(schema, gold, extracted, how=how).fields
        assert (field.passed, field.score) == (gold == extracted, float(gold == extracted))


@pytest.mark.parametrize("metric_id", ["string_case_insensitive", "string_exact"])
@pytest.mark.parametrize("align", ["best_fit", "position", "multiset"])
def test_an_empty_list_that_is_aligned_without_array_llm_equals_itself(metric_id, align):
    node = {"items": {}, "evaluation_config": {"align": align}}
    for schema in (node, {"anyOf": [node]}):
        how = {"overrides": {"b": {"metric": metric_id}}, "judge_mode": "exact"}
        scorer = compile_schema({"properties": {"b": schema}}, **how)
        assert all(field.passed for field in scorer.score({"b": []}, {"b": []}).fields)
        invented = scorer.score({"b": []}, {"b": ["x"]}).fields
        assert {field.passed for field in invented} == {False}


def test_array_llm_of_a_value_that_need_not_be_a_list_recalls_nothing_as_published():
    schema = {"properties": {"b": {"evaluation_config": "array_llm"}}}
    assert told(scored(schema, {"b": []}, {"b": []}, how={"semantics": None}).fields) == "b mismatch"
    assert told(scored(schema, {"b": []}, {"b": []}, how={"semantics": None, "nulls": "value"}).fields) == "b match"
