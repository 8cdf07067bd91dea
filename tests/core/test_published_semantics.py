"""Corners of the published semantics: which places give a field result under extract-bench, and how transforms tell values apart."""

from __future__ import annotations

import pytest

from pytest_extract import Alignment, Extensions, compile_schema, extend
from pytest_extract.core.results import Status
from pytest_extract.systems import extract_bench_rates, extract_bench_report
from tests.core.schemas import EXACT as PUBLISHED_EXACT
from tests.core.schemas import INTEGER, NUMBER, TEXT, array, metric, obj, scored, table, told

EXACT = metric("string_exact")
PERSON = obj(name=EXACT, age=INTEGER)
NULL = {"type": "null"}
ROWS = array(EXACT)
ONE = {"name": "Ada", "age": 36}
OTHER = {"name": "Ada", "age": 37}


def fields(place, gold, extracted):
    score = compile_schema(obj(it=place), semantics="extract-bench").score({"it": gold}, {"it": extracted})
    return [(str(result.path), result.metric, result.score) for result in score.fields]


@pytest.mark.parametrize("types", [["string"], ["string", "null"], ["integer", "string"]], ids=str)
def test_a_type_list_is_a_choice_and_a_choice_without_metric_gives_no_field_result(types):
    assert fields({"type": types}, "x", "y") == []
    assert fields({"type": types, "evaluation_config": "string_exact"}, "x", "y") == [("it", "string_exact", 0.0)]


BARE = {
    "array": (ROWS, ["a"], ["b"]),
    "nullable array": ({"anyOf": [ROWS, NULL]}, ["a"], ["b"]),
    "one branch": ({"anyOf": [PERSON]}, ONE, OTHER),
    "nullable object": ({"anyOf": [PERSON, NULL]}, ONE, OTHER),
    "two branches": ({"anyOf": [PERSON, EXACT]}, ONE, OTHER),
}


@pytest.mark.parametrize("nothing", [{}, {"metrics": []}, "skip"], ids=str)
@pytest.mark.parametrize(("place", "gold", "extracted"), BARE.values(), ids=BARE)
def test_a_configuration_without_metrics_asks_for_none(place, nothing, gold, extracted):
    assert fields({**place, "evaluation_config": nothing}, gold, extracted) == []


def test_the_properties_of_an_object_without_metrics_are_scored_all_the_same():
    found = fields({**PERSON, "evaluation_config": {}}, ONE, OTHER)
    assert found == [("it.name", "string_exact", 1.0), ("it.age", "integer_exact", 0.0)]


@pytest.mark.parametrize("branches", [[PERSON], [PERSON, NULL], [PERSON, EXACT]], ids=["one", "nullable", "two"])
@pytest.mark.parametrize("extracted", [OTHER, "Ada, 36"], ids=["object", "text"])
def test_a_metric_on_a_choice_compares_the_value_as_one(branches, extracted):
    place = {"anyOf": branches, "evaluation_config": "string_exact"}
    assert fields(place, ONE, extracted) == [("it", "string_exact", 0.0)]
    assert fields(place, ONE, ONE) == [("it", "string_exact", 1.0)]


def test_an_aligned_array_with_no_metric_keeps_its_result():
    place = {**ROWS, "evaluation_config": {"metrics": [], "align": "multiset"}}
    assert fields(place, ["a", "b"], ["b"]) == [("it", "array", 0.5)]


PRICED = obj(sku=EXACT, price=NUMBER)


def by_sku(questions):
    """Pair rows by identity, as the paper asks a judge to."""

    def pairs(question):
        places = {row["sku"]: j for j, row in enumerate(question.extracted)}
        return tuple((i, places[row["sku"]]) for i, row in enumerate(question.gold) if row["sku"] in places)

    return [Alignment(pairs(question)) for question in questions]


def priced(*prices):
    return [{"sku": sku, "price": price} for sku, price in zip("abc", prices, strict=False)]


@pytest.mark.parametrize(
    ("extracted", "result", "sets"),
    [
        (priced(999, 1234, 5), 0.0, (1.0, 1.0, 1.0)),
        (priced(2, 4, 5), 2 / 3, (1.0, 1.0, 1.0)),
        (priced(2, 4, 6.0), 1.0, (1.0, 1.0, 1.0)),
        (priced(2, 4), 2 / 3, (1.0, 2 / 3, 0.8)),
        (priced(2, 5), 1 / 3, (1.0, 2 / 3, 0.8)),
    ],
)
@pytest.mark.parametrize("align", ["judge", {"by": "key", "key": "sku"}], ids=["judge", "key"])
def test_an_array_counts_the_pairs_that_are_right_in_every_leaf(align, extracted, result, sets):
    rows = array(PRICED, evaluation_config={"metrics": [{"metric_id": "array_llm"}], "align": align})
    scorer = compile_schema(obj(rows=rows), semantics="extract-bench")
    for order in (extracted, extracted[::-1]):
        found = scorer.score({"rows": priced(2.0, 4.0, 6.0)}, {"rows": order}, judge=by_sku)
        assert [(field.score, field.passed) for field in found.fields] == [(pytest.approx(result), result == 1.0)]
        (each,) = found.arrays
        assert (each.set_precision, each.set_recall, each.set_f1) == pytest.approx(sets)
        assert found.to_dict()["arrays"][0]["set_f1"] == pytest.approx(sets[2])


@pytest.mark.parametrize("align", ["position", "best_fit"])
def test_other_aligners_count_pairs_by_the_same_rule(align):
    scorer = compile_schema(obj(rows=array(PRICED, evaluation_config={"align": align})), semantics="extract-bench")
    (wrong,), (right,) = (
        scorer.score({"rows": priced(2.0, 4.0, 6.0)}, {"rows": priced(2, 4, last)}).fields for last in (5, 6)
    )
    assert (wrong.score, wrong.passed, right.passed) == (pytest.approx(2 / 3), False, True)
    assert wrong.reason == "2 of 3 gold rows are right in every field; 3 rows paired, 0 missing, 0 invented"


def test_nested_rows_and_further_checks_count_as_leaves_of_their_pair():
    schema = obj(rows=table(sku=EXACT, parts=array(INTEGER, evaluation_config={"align": "position"})))
    gold = [{"sku": "a", "parts": [1, 2]}, {"sku": "b", "parts": [3]}]
    extracted = [{"sku": "a", "parts": [1, 2]}, {"sku": "b", "parts": [3, 4]}]
    found = scored(schema, {"rows": gold}, {"rows": extracted}, how={"semantics": "extract-bench"}, judge=by_sku)
    assert told(found.fields) == "rows mismatch 0.5"
    assert found.fields[0].reason == "1 of 2 gold rows are right in every field; 2 rows paired, 0 missing, 0 invented"


def test_a_pair_whose_field_nobody_decides_leaves_the_array_undecided_unless_it_is_wrong_anyway():
    def judge(questions):
        return [Alignment(((0, 0),)) if one.kind == "align" else None for one in questions]

    scorer = compile_schema(obj(rows=table(sku=EXACT, said=TEXT)), semantics="extract-bench")
    gold = {"rows": [{"sku": "a", "said": "yes"}]}
    for sku, status in (("a", Status.JUDGE_ERROR), ("b", Status.MISMATCH)):
        (field,) = scorer.score(gold, {"rows": [{"sku": sku, "said": "indeed"}]}, judge=judge).fields
        assert (field.status, field.score) == (status, 0.0)


@pytest.mark.parametrize("score", [1.0, 0.0])
def test_fields_of_a_batch_metric_are_decided_before_the_pairs_are_counted(score):
    """A batch metric compares all of its fields at the end of the document."""

    @extend.batch()
    def together(pairs):
        return [score for _ in pairs]

    schema = obj(rows=table(sku=EXACT, said={"evaluation_config": "together"}))
    scorer = compile_schema(schema, semantics="extract-bench", extensions=Extensions.of(together))
    gold, extracted = ({"rows": [{"sku": "a", "said": said}]} for said in ("yes", "indeed"))
    (field,) = scorer.score(gold, extracted, judge=by_sku).fields
    assert (field.score, field.passed) == (score, score == 1.0)


CHOICES = {
    "type list": {"type": ["number", "null"]},
    "any of": {"anyOf": [NUMBER, NULL]},
    "one of": {"oneOf": [NULL, NUMBER]},
    "two types": {"type": ["number", "string"]},
    "reference": {"$ref": "#/$defs/n"},
}


@pytest.mark.parametrize("place", CHOICES.values(), ids=CHOICES)
def test_a_choice_counts_unless_the_published_rates_are_asked_for(place):
    schema = {**obj(id=EXACT, it=place), "$defs": {"n": {"anyOf": [NUMBER, NULL]}}}
    case = {"id": "a", "it": 2.5}, {"id": "a", "it": 999}
    for scorer in (compile_schema(schema), compile_schema(schema, semantics="extract-bench", as_published=False)):
        found = scorer.score(*case)
        assert (found.semantics, found.measures["pass_rate"], found.added) == ("extract-bench", 0.5, ("it",))
        assert scorer.score(case[0], case[0]).measures["pass_rate"] == 1.0
        assert extract_bench_rates([found.record()]).pass_rate == 1.0
        row = found.to_dict()
        assert extract_bench_report(row["fields"], added=row["added"]).evaluated == 1
    published = compile_schema(schema, semantics="extract-bench").score(*case)
    assert (published.measures["pass_rate"], published.added) == (1.0, ())


def test_a_nullable_object_and_a_nullable_array_count_by_what_is_in_them():
    rows = {"anyOf": [{**ROWS, "evaluation_config": {"align": "multiset"}}, NULL]}
    scorer = compile_schema(obj(it={"anyOf": [obj(n=EXACT), NULL]}, rows=rows))
    gold = {"it": {"n": "x"}, "rows": ["a", "b"]}
    assert told(scorer.score(gold, {"it": {"n": "y"}, "rows": ["a", "c"]}).fields) == "it.n mismatch, rows mismatch 0.5"
    assert scorer.score(gold, gold).measures["pass_rate"] == 1.0


def test_an_object_that_neither_side_has_is_no_match_where_it_would_be_too_deep():
    same = {"$ref": "#/$defs/T"}
    tree = {"v": "x"}
    for _ in range(47):
        tree = {"v": "x", "k": [tree]}
    schema = {**same, "$defs": {"T": obj(v=EXACT, k=array(same), o=same)}}
    result = scored(schema, tree, {}, how={"semantics": "extract-bench"})
    assert {leaf.status for leaf in result.leaves} == {Status.OMISSION}
    assert result.measures["f1"] == 0


# --- struct-extract-eval


def compared(kind, compare, *transforms):
    converted = [{"type_convert": {"to": to}} for to in transforms]
    return {"type": kind, "x-eval-compare": compare, "x-eval-transform": converted}


@pytest.mark.parametrize(
    ("field", "value", "status"),
    [
        (compared("boolean", "numeric"), True, "match"),
        (compared("boolean", "numeric", "str"), True, "mismatch"),  # "True" is no number, even beside itself
        (compared("number", "numeric", "str"), 2.5, "match"),
        (compared("string", "numeric", "bool"), "true", "match"),
        (compared("string", "numeric"), "true", "mismatch"),
        (compared("integer", {"oneof": {"values": ["1"]}}, "str"), 1, "match"),
        (compared("integer", {"oneof": {"values": [1]}}, "str"), 1, "mismatch"),
    ],
)
def test_a_metric_sees_equal_values_as_the_transforms_leave_them(field, value, status):
    document = {"a": value, "b": "x"}
    found = scored(obj(a=field, b=PUBLISHED_EXACT), document, document, how={"semantics": "struct-extract-eval"})
    assert told(found.leaves) == f"a {status}, b match"
