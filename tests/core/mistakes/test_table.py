"""The table of the kinds of mistakes: its examples, mistakes made by its own rules, and laws for every row."""

from __future__ import annotations

import json
from collections import Counter
from itertools import product
from random import Random
from sys import setprofile

import pytest
from hypothesis import given
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


@pytest.mark.parametrize("kind", MISTAKE_KINDS.values(), ids=lambda kind: kind.name)
def test_the_example_of_a_kind_has_its_name_and_text(kind):
    gold, extracted, text, document = kind.example
    if kind.compare is not None:
        gold, extracted = ({"field": side, "other": "as it is"} for side in (gold, extracted))
    in_document = (lambda value: str(value) in document) if document else None
    assert [(each.kind, each.text) for each in named(gold, extracted, in_document=in_document)] == [(kind.name, text)]


def test_every_kind_of_a_family_has_its_place_in_the_table():
    written = [kind for family in (table, values) for kind in vars(family).values()]
    assert {kind.name for kind in written if isinstance(kind, MistakeKind)} == set(MISTAKE_KINDS)


def test_every_kind_has_a_sentence_and_one_rule():
    for name, kind in MISTAKE_KINDS.items():
        assert name == kind.name
        assert kind.doc.endswith(".")
        assert (kind.compare is None) is not (kind.find is None)


@given(json_values, json_values)
def test_rules_never_raise_and_say_nothing_of_equal_values(gold, extracted):
    for kind in MISTAKE_KINDS.values():
        if kind.compare is not None:
            assert isinstance(kind.compare(gold, extracted), str)
            assert kind.compare(gold, copied(gold)) == "" or kind.name == "placeholder"


HOSTILE = (
    10**5000, -(10**400), 1e308, -0.0, float("nan"), float("inf"), "\ud800", "9" * 5000, "1e999", "-" * 3000, "( " * 3000,
    "a " * 3000, "1." * 2000, "<" * 3000, "[" * 3000, "&amp;" * 900, "rn" * 900, nested(2_000), nested(2_000, objects=True),
    [10**5000, "\udc00"], "A" * 10**5, 0, "", None, True, "1", 1.5, "2024-01-01",
)  # fmt: skip


def test_rules_take_hostile_values_in_their_stride():
    scorer = compile_schema({})
    pairs = Random(1).sample([*product(HOSTILE, HOSTILE)], 60)
    for gold, extracted in pairs:
        for kind in MISTAKE_KINDS.values():
            assert kind.compare is None or isinstance(kind.compare(gold, extracted), str)
        assert isinstance(scorer.score({"a": gold, "b": [gold]}, {"a": extracted, "b": [extracted, 1]}).mistakes, tuple)


@pytest.mark.parametrize("more", [0, 1, MOST_NAMED])
def test_of_very_many_failing_results_the_first_are_named(more):
    scorer = compile_schema({"properties": {"items": {"type": "array", "items": {"type": "integer"}}}})
    gold = list(range(10, MOST_NAMED + 10 + more))
    found = scorer.score({"items": gold}, {"items": [1000 * value for value in gold]}).mistakes
    paths = [path for mistake in found for path in mistake.paths]
    assert paths == [("items", index) for index in range(MOST_NAMED)]


@pytest.mark.slow
def test_the_number_of_failing_results_does_not_multiply_the_time():
    """The work for ten times the rows stays the same: only the first failing results are looked at."""
    row = {"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "number"}}}
    scorer = compile_schema({"properties": {"rows": {"type": "array", "items": row}}})

    def calls(rows):
        gold = {"rows": [{"a": f"name {n}", "b": n} for n in range(rows)]}
        output = {"rows": [{"a": f"name {n}", "b": n + 7} for n in range(rows)]}
        score = scorer.score(gold, output)
        counted = Counter()

        def count(_frame, event, _arg):
            counted[event] += 1

        setprofile(count)
        try:
            assert len(score.mistakes) <= MOST_NAMED
        finally:
            setprofile(None)
        return counted["call"]

    assert calls(8_000) < 3 * calls(2_000)


@pytest.mark.slow
def test_many_invented_rows_are_not_compared_with_each_other():
    row = {"type": "object", "properties": {"name": {"type": "string"}, "price": {"type": "number"}}}
    scorer = compile_schema({"properties": {"items": {"type": "array", "items": row}}})
    gold = {"items": [{"name": "Bolt", "price": 2.5}, {"name": "Nut", "price": 10.0}]}

    def calls(rows):
        score = scorer.score(gold, {"items": [{"name": "x" * 50, "price": -n} for n in range(rows)]})
        counted = Counter()

        def count(_frame, event, _arg):
            counted[event] += 1

        setprofile(count)
        try:
            assert score.mistakes
        finally:
            setprofile(None)
        return counted["call"]

    assert calls(1_600) < 6 * calls(400)


@given(json_values, json_values)
def test_a_score_names_failing_results_only(gold, extracted):
    gold, extracted = {"a": gold, "b": [gold, extracted]}, {"a": extracted, "b": [extracted]}
    named(gold, extracted)
    assert named(gold, copied(gold)) == ()


@given(st.text(max_size=50), st.text(max_size=50))
def test_texts_have_one_name_at_most_in_both_directions(one, other):
    for gold, extracted in ((one, other), (other, one)):
        found = mistakes_by_path(named({"a": gold, "b": "c"}, {"a": extracted, "b": "c"}))
        assert len(found) <= 1


@pytest.mark.parametrize(
    ("gold", "extracted", "kinds"),
    [
        pytest.param({"date": "2024-03-15"}, {"date": "2023-11-30"}, {"date": "other_value"}, id="another-date"),
        pytest.param(
            {"name": "ACME"}, {"name": "Globex Corporation"}, {"name": "not_in_document"}, id="invented-value"
        ),
        pytest.param({"name": "ACME"}, {"name": "Initech"}, {"name": "other_value"}, id="another-value"),
        pytest.param({"name": "Hooli"}, {"name": "Globex Corporation"}, {}, id="neither-stands-there"),
        pytest.param({"name": None, "a": 1}, {"name": "Globex", "a": 1}, {"name": "not_in_document"}, id="no-gold"),
        pytest.param({"name": None, "a": 1}, {"name": "Initech", "a": 1}, {"name": "invented"}, id="no-gold-but-there"),
    ],
)
def test_the_document_tells_where_a_value_is_from(gold, extracted, kinds):
    document = {"2024-03-15", "2023-11-30", "ACME", "Initech"}
    found = named(gold, extracted, in_document=lambda value: value in document)
    assert {str(path): mistake.kind for path, mistake in mistakes_by_path(found).items()} == kinds


INVOICE = {"vendor": "ACME", "total": 12.5}
ROWS = [{"sku": "a", "price": 10}, {"sku": "b", "price": 20}]


@pytest.mark.parametrize(
    ("gold", "extracted", "text"),
    [
        pytest.param(
            INVOICE,
            {"name": "extract", "arguments": json.dumps(INVOICE)},
            "all of it stands as JSON in a text under the key `arguments`",
            id="arguments",
        ),
        pytest.param(
            {"vendor": "ACME", "items": ROWS},
            {"vendor": "ACME", "items": [json.dumps(row) for row in ROWS]},
            "all of it stands as JSON in a text in 2 rows",
            id="rows",
        ),
    ],
)
def test_what_stands_in_a_text_is_wrapped(gold, extracted, text):
    assert [(each.kind, each.text) for each in named(gold, extracted)] == [("wrapped", text)]


def test_a_row_of_nulls_is_named_at_its_list():
    gold = {"rows": [{"name": "Bolt", "net": 12}, {"name": "Nut", "net": 17}]}
    found = named(gold, {"rows": [*gold["rows"], {"name": None, "net": None}]})
    assert [(each.kind, [str(path) for path in each.paths], each.text) for each in found] == [
        ("invented_row", ["rows"], "row 2 is empty")
    ]


@pytest.mark.parametrize(
    ("gold", "extracted"),
    [
        pytest.param(5000, 1000, id="round-numbers"),
        pytest.param("13:26", "16:23", id="times"),
        pytest.param("Junior Manager", "Senior Manager", id="words"),
        pytest.param("Orange KG", "Orange SA", id="legal-forms"),
        pytest.param("USD", "US", id="codes"),
        pytest.param("12,5 Mio. EUR", "800 EUR", id="amounts"),
        pytest.param("FR", "USD", id="country-and-currency"),
        pytest.param("kg", "Wh", id="units-of-two-kinds"),
        pytest.param("J45.9", "J459", id="codes-that-begin-like-a-unit"),
    ],
)
def test_values_that_are_alike_by_chance_have_no_name(gold, extracted):
    assert named({"a": gold, "b": "c"}, {"a": extracted, "b": "c"}) == ()


INVOICE_WITH_TAX = {
    "net": 1190,
    "total": 1309,
    "tax": 119,
    "number": "2024-118",
    "order": "2024-181",
    "discount": 1309.5,
}


@pytest.mark.parametrize(
    ("field", "extracted", "of"),
    [
        pytest.param("net", 119, "tax", id="a tenth"),
        pytest.param("total", 119, "tax", id="a digit less"),
        pytest.param("total", 1190, "net", id="net for total"),
        pytest.param("net", 1309, "total", id="total for net"),
        pytest.param("number", "2024-181", "order", id="two digits swapped"),
        pytest.param("total", 1309.5, "discount", id="more decimals"),
    ],
)
def test_the_value_of_another_field_is_named_before_its_digits(field, extracted, of):
    found = named(INVOICE_WITH_TAX, INVOICE_WITH_TAX | {field: extracted})
    assert [(each.kind, each.text) for each in found] == [("other_value", f"the value of `{of}`")]


@pytest.mark.parametrize(("gold", "extracted"), [(1190, 1109), (1309.4, 1309), (1834, 1334), ("RE-118", "RE-181")])
def test_what_stands_elsewhere_in_the_document_is_named_before_its_digits(gold, extracted):
    (found,) = named({"total": gold}, {"total": extracted}, in_document=lambda _: True)
    assert (found.kind, found.text) == ("other_value", "another value of the document")


def test_a_number_in_another_unit_of_the_document_keeps_its_name():
    (found,) = named({"total": 450000}, {"total": 450}, in_document=lambda _: True)
    assert found.kind == "power_of_ten"
