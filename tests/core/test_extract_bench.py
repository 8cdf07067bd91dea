"""Which places give a field result under the semantics extract-bench, as its published program decides it."""

from __future__ import annotations

import pytest

from pytest_extract import Alignment, Extensions, compile_schema, extend
from pytest_extract.core.results import Status
from pytest_extract.systems import extract_bench_rates, extract_bench_report

EXACT = {"type": "string", "evaluation_config": "string_exact"}
PERSON = {"type": "object", "properties": {"name": EXACT, "age": {"type": "integer"}}}
NULL = {"type": "null"}
ROWS = {"type": "array", "items": EXACT}
ONE = {"name": "Ada", "age": 36}
OTHER = {"name": "Ada", "age": 37}


def score(property_schema, gold, extracted):
    schema = {"type": "object", "properties": {"it": property_schema}}
    return compile_schema(schema, semantics="extract-bench").score({"it": gold}, {"it": extracted})


def fields(*case):
    return [(str(result.path), result.metric, result.score) for result in score(*case).fields]


@pytest.mark.parametrize("types", [["string"], ["string", "null"], ["integer", "string"]], ids=str)
def test_a_type_list_is_a_choice_and_a_choice_without_metric_gives_no_field_result(types):
    assert fields({"type": types}, "x", "y") == []
    assert fields({"type": types, "evaluation_config": "string_exact"}, "x", "y") == [("it", "string_exact", 0.0)]


@pytest.mark.parametrize("nothing", [{}, {"metrics": []}, "skip"], ids=str)
@pytest.mark.parametrize(
    ("place", "gold", "extracted"),
    [
        (ROWS, ["a"], ["b"]),
        ({"anyOf": [ROWS, NULL]}, ["a"], ["b"]),
        ({"anyOf": [PERSON]}, ONE, OTHER),
        ({"anyOf": [PERSON, NULL]}, ONE, OTHER),
        ({"anyOf": [PERSON, EXACT]}, ONE, OTHER),
    ],
    ids=["array", "nullable-array", "one-branch", "nullable-object", "two-branches"],
)
def test_a_configuration_without_metrics_asks_for_none(place, nothing, gold, extracted):
    assert fields({**place, "evaluation_config": nothing}, gold, extracted) == []


def test_the_properties_of_an_object_without_metrics_are_scored_all_the_same():
    assert fields({**PERSON, "evaluation_config": {}}, ONE, OTHER) == [
        ("it.name", "string_exact", 1.0),
        ("it.age", "integer_exact", 0.0),
    ]


@pytest.mark.parametrize("branches", [[PERSON], [PERSON, NULL], [PERSON, EXACT]], ids=["one", "nullable", "two"])
@pytest.mark.parametrize("extracted", [OTHER, "Ada, 36"], ids=["object", "text"])
def test_a_metric_on_a_choice_compares_the_value_as_one(branches, extracted):
    place = {"anyOf": branches, "evaluation_config": "string_exact"}
    assert fields(place, ONE, extracted) == [("it", "string_exact", 0.0)]
    assert fields(place, ONE, ONE) == [("it", "string_exact", 1.0)]


def test_an_aligned_array_with_no_metric_keeps_its_result():
    place = {**ROWS, "evaluation_config": {"metrics": [], "align": "multiset"}}
    assert fields(place, ["a", "b"], ["b"]) == [("it", "array", 0.5)]


PRICED = {"type": "object", "properties": {"sku": EXACT, "price": {"type": "number"}}}
GOLD_ROWS = [{"sku": "a", "price": 2.0}, {"sku": "b", "price": 4.0}, {"sku": "c", "price": 6.0}]


def by_sku(questions):
    """A judge that pairs rows by identity, as the paper asks."""

    def pairs(question):
        places = {row["sku"]: j for j, row in enumerate(question.extracted)}
        return tuple((i, places[row["sku"]]) for i, row in enumerate(question.gold) if row["sku"] in places)

    return [Alignment(pairs(question)) for question in questions]


def priced(*prices, **more):
    return [{"sku": sku, "price": price, **more} for sku, price in zip("abc", prices, strict=False)]


@pytest.mark.parametrize(
    ("extracted", "result", "sets"),
    [
        (priced(999, 1234, 5), (0.0, False), (1.0, 1.0, 1.0)),
        (priced(2, 4, 5), (2 / 3, False), (1.0, 1.0, 1.0)),
        (priced(2, 4, 6.0), (1.0, True), (1.0, 1.0, 1.0)),
        (priced(2, 4), (2 / 3, False), (1.0, 2 / 3, 0.8)),
        (priced(2, 5), (1 / 3, False), (1.0, 2 / 3, 0.8)),
    ],
    ids=["every-price-wrong", "one-wrong", "right", "one-lost", "one-lost-one-wrong"],
)
@pytest.mark.parametrize("flip", [False, True], ids=["in-order", "reversed"])
def test_an_array_counts_the_pairs_that_are_right_in_every_leaf(extracted, result, sets, flip):
    extracted = extracted[::-1] if flip else extracted
    schema = {"type": "object", "properties": {"rows": {"type": "array", "items": PRICED}}}
    found = compile_schema(schema, semantics="extract-bench").score(
        {"rows": GOLD_ROWS}, {"rows": extracted}, judge=by_sku
    )
    (field,) = found.fields
    assert (field.score, field.passed) == (pytest.approx(result[0]), result[1])
    array = found.arrays[0]
    assert (array.set_precision, array.set_recall, array.set_f1) == pytest.approx(sets)
    assert found.to_dict()["arrays"][0]["set_f1"] == pytest.approx(sets[2])


@pytest.mark.parametrize("align", ["position", "best_fit", {"by": "key", "key": "sku"}], ids=["position", "fit", "key"])
def test_other_aligners_count_pairs_by_the_same_rule(align):
    place = {"type": "array", "items": PRICED, "evaluation_config": {"align": align}}
    schema = {"type": "object", "properties": {"rows": place}}
    scorer = compile_schema(schema, semantics="extract-bench")
    wrong = scorer.score({"rows": GOLD_ROWS}, {"rows": priced(2, 4, 5)}).fields[0]
    assert (wrong.score, wrong.passed) == (pytest.approx(2 / 3), False)
    assert wrong.reason == "2 of 3 gold rows are right in every field; 3 rows paired, 0 missing, 0 invented"
    assert scorer.score({"rows": GOLD_ROWS}, {"rows": priced(2, 4, 6)}).fields[0].passed


def test_nested_rows_and_further_checks_count_as_leaves_of_their_pair():
    inner = {"type": "array", "items": {"type": "integer"}, "evaluation_config": {"align": "position"}}
    outer = {"type": "object", "properties": {"sku": EXACT, "parts": inner}}
    schema = {"type": "object", "properties": {"rows": {"type": "array", "items": outer}}}
    gold = [{"sku": "a", "parts": [1, 2]}, {"sku": "b", "parts": [3]}]
    extracted = [{"sku": "a", "parts": [1, 2]}, {"sku": "b", "parts": [3, 4]}]
    found = compile_schema(schema, semantics="extract-bench").score({"rows": gold}, {"rows": extracted}, judge=by_sku)
    assert [(str(field.path), field.score) for field in found.fields] == [("rows", 0.5)]


def test_a_pair_whose_field_nobody_decides_leaves_the_array_undecided():
    item = {"type": "object", "properties": {"sku": EXACT, "said": {"type": "string"}}}
    schema = {"type": "object", "properties": {"rows": {"type": "array", "items": item}}}

    def judge(questions):
        return [by_sku([one])[0] if one.kind == "align" else None for one in questions]

    gold, extracted = [{"sku": "a", "said": "yes"}], [{"sku": "a", "said": "indeed"}]
    scorer = compile_schema(schema, semantics="extract-bench")
    (field,) = scorer.score({"rows": gold}, {"rows": extracted}, judge=judge).fields
    assert field.status is Status.JUDGE_ERROR
    # a pair that is wrong anyway waits for nobody
    (field,) = scorer.score(
        {"rows": [{"sku": "a", "said": "yes"}]},
        {"rows": [{"said": "no", "sku": "b"}]},
        judge=lambda asked: [Alignment(((0, 0),)) if one.kind == "align" else None for one in asked],
    ).fields
    assert (field.status, field.score) == (Status.MISMATCH, 0.0)


@pytest.mark.parametrize(("score", "passed"), [(1.0, True), (0.0, False)])
def test_fields_of_a_batch_metric_are_decided_before_the_pairs_are_counted(score, passed):
    """A batch metric compares all of its fields at the end of the document."""

    @extend.batch()
    def together(pairs):
        return [score for _ in pairs]

    item = {"type": "object", "properties": {"sku": EXACT, "said": {"evaluation_config": "together"}}}
    schema = {"type": "object", "properties": {"rows": {"type": "array", "items": item}}}
    scorer = compile_schema(schema, semantics="extract-bench", extensions=Extensions.of(together))
    rows = [{"sku": "a", "said": "yes"}]
    (field,) = scorer.score({"rows": rows}, {"rows": [{"sku": "a", "said": "indeed"}]}, judge=by_sku).fields
    assert (field.score, field.passed) == (score, passed)


CHOICES = {
    "type-list": {"type": ["number", "null"]},
    "any-of": {"anyOf": [{"type": "number"}, NULL]},
    "one-of": {"oneOf": [NULL, {"type": "number"}]},
    "two-types": {"type": ["number", "string"]},
    "reference": {"$ref": "#/$defs/n"},
}


@pytest.mark.parametrize("place", CHOICES.values(), ids=CHOICES)
def test_a_choice_counts_unless_the_published_rates_are_asked_for(place):
    properties = {"id": EXACT, "it": place}
    schema = {"type": "object", "properties": properties, "$defs": {"n": {"anyOf": [{"type": "number"}, NULL]}}}
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
    place = {"anyOf": [{"type": "object", "properties": {"n": EXACT}}, NULL]}
    rows = {"anyOf": [{**ROWS, "evaluation_config": {"align": "multiset"}}, NULL]}
    schema = {"type": "object", "properties": {"it": place, "rows": rows}}
    gold = {"it": {"n": "x"}, "rows": ["a", "b"]}
    found = compile_schema(schema).score(gold, {"it": {"n": "y"}, "rows": ["a", "c"]})
    assert {(str(each.path), each.passed) for each in found.fields} == {("it.n", False), ("rows", False)}
    assert compile_schema(schema).score(gold, gold).measures["pass_rate"] == 1.0


def test_an_object_that_neither_side_has_is_no_match_where_it_would_be_too_deep():
    same = {"$ref": "#/$defs/T"}
    node = {"type": "object", "properties": {"v": EXACT, "k": {"type": "array", "items": same}, "o": same}}
    tree = {"v": "x"}
    for _ in range(49):
        tree = {"v": "x", "k": [tree]}
    result = compile_schema({**same, "$defs": {"T": node}}, semantics="extract-bench").score(tree, {})
    assert {leaf.status for leaf in result.leaves} == {Status.OMISSION}
    assert result.measures["f1"] == 0
