"""The table of the kinds of mistakes: its examples, mistakes made by its own rules, and laws for every row."""

from __future__ import annotations

import json
from itertools import product
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_extract import compile_schema
from pytest_extract.core.mistakes import (
    MOST_NAMED,
    ComparedOutput,
    MistakeKind,
    compared_results,
    mistakes_by_path,
    table,
    values,
)
from pytest_extract.core.mistakes.table import MISTAKE_KINDS, name_mistakes
from pytest_extract.core.values import copied
from pytest_extract.schema_tools.golds import infer_schema
from tests.cpu_time import calls_of
from tests.records import field_result
from tests.strategies import json_values, nested


def named(gold, extracted, *, in_document=None, overrides=None):
    scorer = compile_schema(infer_schema([gold]), overrides=overrides)
    score = scorer.score(gold, extracted)
    output = ComparedOutput(
        results=compared_results(score.leaves, score.fields),
        gold=gold,
        extracted=extracted,
        arrays=score.arrays,
        in_document=in_document,
    )
    found = name_mistakes(output)
    if in_document is None:
        assert found == score.mistakes
    assert {path for mistake in found for path in mistake.paths} <= {result.path for result in output.failing}
    return found


OF_VALUES = [kind for kind in vars(values).values() if isinstance(kind, MistakeKind)]


def said(kind, gold, extracted):
    """Return what a kind of two values says of them."""
    results = [field_result("a", gold, extracted)]
    return "".join(
        text for _, text in kind.find(ComparedOutput(results=results, gold=gold, extracted=extracted), results)
    )


@pytest.mark.parametrize("kind", MISTAKE_KINDS.values(), ids=lambda kind: kind.name)
def test_the_example_of_a_kind_has_its_name_and_text(kind):
    gold, extracted, text, document = kind.example
    if kind in OF_VALUES:
        gold, extracted = ({"field": side, "other": "as it is"} for side in (gold, extracted))
    in_document = (lambda value: str(value) in document) if document else None
    assert [(each.kind, each.text) for each in named(gold, extracted, in_document=in_document)] == [(kind.name, text)]


def test_another_form_of_a_letter_is_no_markup():
    (mistake,) = named({"a": "M\xfcller"}, {"a": "Mu\u0308ller"}, overrides={"a": "exact"})
    assert mistake.kind == "marks"


def test_every_kind_has_its_place_in_the_table_a_sentence_and_one_rule():
    written = [*OF_VALUES, *(kind for kind in vars(table).values() if isinstance(kind, MistakeKind))]
    assert {kind.name for kind in written} == set(MISTAKE_KINDS)
    for name, kind in MISTAKE_KINDS.items():
        assert name == kind.name
        assert kind.doc.endswith(".")


@given(json_values, json_values)
def test_rules_never_raise_and_say_nothing_of_equal_values(gold, extracted):
    for kind in OF_VALUES:
        assert isinstance(said(kind, gold, extracted), str)
        assert said(kind, gold, copied(gold)) == "" or kind.name == "placeholder"


HOSTILE = (
    10**4299, -(10**400), 1e308, -0.0, float("nan"), float("inf"), "\ud800", "9" * 5000, "1e999", "-" * 3000, "( " * 3000,
    "a " * 3000, "1." * 2000, "<" * 3000, "[" * 3000, "&amp;" * 900, "rn" * 900, nested(90), nested(90, objects=True),
    [10**4299, "\udc00"], "A" * 10**5, 0, "", None, True, "1", 1.5, "2024-01-01",
)  # fmt: skip


def test_rules_take_hostile_values_in_their_stride():
    scorer = compile_schema({})
    pairs = Random(1).sample([*product(HOSTILE, HOSTILE)], 40)
    for gold, extracted in pairs:
        for kind in OF_VALUES:
            assert isinstance(said(kind, gold, extracted), str)
        assert isinstance(scorer.score({"a": gold, "b": [gold]}, {"a": extracted, "b": [extracted, 1]}).mistakes, tuple)


@pytest.mark.parametrize("more", [0, 1, MOST_NAMED])
def test_of_very_many_failing_results_the_first_are_named(more):
    scorer = compile_schema({"properties": {"items": {"type": "array", "items": {"type": "integer"}}}})
    gold = list(range(10, MOST_NAMED + 10 + more))
    found = scorer.score({"items": gold}, {"items": [1000 * value for value in gold]}).mistakes
    paths = [path for mistake in found for path in mistake.paths]
    assert paths == [("items", index) for index in range(MOST_NAMED)]


def calls_to_name(scorer, gold, output):
    """Count the calls of naming the mistakes of an output."""
    score = scorer.score(gold, output)
    calls = calls_of(lambda: score.mistakes)
    assert 0 < len(score.mistakes) <= MOST_NAMED
    return calls


@pytest.mark.slow
def test_the_number_of_rows_does_not_multiply_the_time():
    """Only the first failing results are looked at, and invented rows are not compared with each other."""
    row = {"type": "object", "properties": {"name": {"type": "string"}, "price": {"type": "number"}}}
    scorer = compile_schema({"properties": {"rows": {"type": "array", "items": row}}})

    def of_wrong(rows):
        sides = ({"rows": [{"name": f"name {n}", "price": n + add} for n in range(rows)]} for add in (0, 7))
        return calls_to_name(scorer, *sides)

    def of_invented(rows):
        invented = [{"name": "x" * 50, "price": -n} for n in range(rows)]
        gold = [{"name": "Bolt", "price": 2.5}, {"name": "Nut", "price": 10.0}]
        return calls_to_name(scorer, {"rows": gold}, {"rows": invented})

    assert of_wrong(4_000) < 3 * of_wrong(1_000)
    assert of_invented(1_600) < 6 * of_invented(400)


@settings(max_examples=15)
@given(json_values, json_values)
def test_a_score_names_failing_results_only(gold, extracted):
    gold, extracted = {"a": gold, "b": [gold, extracted]}, {"a": extracted, "b": [extracted]}
    named(gold, extracted)
    assert named(gold, copied(gold)) == ()


@given(st.text(max_size=50), st.text(max_size=50))
def test_texts_have_one_name_at_most(gold, extracted):
    assert len(mistakes_by_path(named({"a": gold, "b": "c"}, {"a": extracted, "b": "c"}))) <= 1


ELSEWHERE = "another value of the document"
NUMBERS = {1190, 1109, 1309.4, 1309, 1834, 1334, "RE-118", "RE-181", 450000, 450}
DOCUMENT = {"2024-03-15", "2023-11-30", "ACME", "Initech", *NUMBERS}


@pytest.mark.parametrize(
    ("gold", "extracted", "text"),
    [
        ("2024-03-15", "2023-11-30", ELSEWHERE),
        ("ACME", "Globex Corporation", "not found in the document; the gold's value is"),
        ("ACME", "Initech", ELSEWHERE),
        ("Hooli", "Globex Corporation", None),  # neither stands there
        (None, "Globex", "not found in the document; the gold has no value"),
        (None, "Initech", "the gold has no value; it is found in the document"),
        # before what digits look like, and behind a unit
        (1190, 1109, ELSEWHERE),
        (1309.4, 1309, ELSEWHERE),
        (1834, 1334, ELSEWHERE),
        ("RE-118", "RE-181", ELSEWHERE),
        (450000, 450, "1/1,000 of the gold"),
    ],
)
def test_the_document_tells_where_a_value_is_from(gold, extracted, text):
    found = named({"a": gold, "b": 1}, {"a": extracted, "b": 1}, in_document=lambda value: value in DOCUMENT)
    assert [each.text for each in found] == ([] if text is None else [text])


INVOICE = {"vendor": "ACME", "total": 12.5}
CALL = {"name": "extract", "arguments": json.dumps(INVOICE)}
TAXED = {"net": 1190, "total": 1309, "tax": 119, "number": "2024-118", "order": "2024-181", "discount": 1309.5}
AS_TEXT = "all of it stands as JSON in a text"
ROWS = [{"sku": "a", "price": 10}, {"sku": "b", "price": 20}]


@pytest.mark.parametrize(
    ("gold", "extracted", "kind", "text"),
    [
        (INVOICE, CALL, "wrapped", f"{AS_TEXT} under the key `arguments`"),
        ({"items": ROWS}, {"items": [json.dumps(row) for row in ROWS]}, "wrapped", f"{AS_TEXT} in 2 rows"),
        # one key of two, or none of none, is not all of it
        (INVOICE, [{"vendor": "Globex"}], "wrong_type", "an array instead of an object"),
        ({"a": {}}, {"a": '{"vendor": 1}'}, "wrong_type", "a string instead of an object"),
        # the value of another field before what its digits look like
        (TAXED, TAXED | {"net": 119}, "other_value", "the value of `tax`"),
        (TAXED, TAXED | {"total": 119}, "other_value", "the value of `tax`"),
        (TAXED, TAXED | {"total": 1190}, "other_value", "the value of `net`"),
        (TAXED, TAXED | {"net": 1309}, "other_value", "the value of `total`"),
        (TAXED, TAXED | {"number": "2024-181"}, "other_value", "the value of `order`"),
        (TAXED, TAXED | {"total": 1309.5}, "other_value", "the value of `discount`"),
    ],
)
def test_a_mistake_that_several_rules_know(gold, extracted, kind, text):
    assert [(each.kind, each.text) for each in named(gold, extracted)] == [(kind, text)]


def test_a_row_of_nulls_is_named_at_its_list():
    (found,) = named({"rows": ROWS}, {"rows": [*ROWS, {"sku": None, "price": None}]})
    assert (found.kind, [*map(str, found.paths)]) == ("invented_row", ["rows"])
    assert found.text == "row 2 is not in the gold"


@pytest.mark.parametrize(
    ("gold", "extracted"),
    [
        (5000, 1000),
        ("13:26", "16:23"),
        ("Junior Manager", "Senior Manager"),
        ("Orange KG", "Orange SA"),
        ("USD", "US"),
        ("12,5 Mio. EUR", "800 EUR"),
        ("FR", "USD"),
        ("kg", "Wh"),
        ("J45.9", "J459"),
    ],
)
def test_values_that_are_alike_by_chance_have_no_name(gold, extracted):
    assert named({"a": gold, "b": "c"}, {"a": extracted, "b": "c"}) == ()
