"""Rules across fields: their grammar, the values that they read, their outcomes, and their mistakes."""

from __future__ import annotations

import pickle
from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_extract import SchemaError, SchemaErrors, compile_schema
from pytest_extract.core.result_json import from_json
from pytest_extract.core.results import RuleStatus, ScoreRecord
from tests.core.schemas import INTEGER, NUMBER, TEXT, obj, table
from tests.cpu_time import calls_of
from tests.strategies import any_json, nested

AMOUNT = {"type": ["number", "string", "null"]}
SCHEMA = obj(
    **dict.fromkeys(("total", "net", "tax", "net-income", "größe", "µ", "from", "class"), NUMBER),
    **dict.fromkeys(("text_total", "start", "end", "zip"), TEXT),
    paid={"evaluation_config": {"metric_id": "money"}},
    paid_de={"evaluation_config": {"metric_id": "money", "params": {"locale": "de"}}},
    count=INTEGER,
    signed={"evaluation_config": {"metric_id": "date", "params": {"order": "DMY"}}},
    approved={"type": "boolean"},
    periods=table(end=TEXT),
    items=table(sku=TEXT, quantity=NUMBER, price=AMOUNT, total=AMOUNT, lines=table(amount=NUMBER)),
    rows=table(x=NUMBER),
    pair={"type": "array", "prefixItems": [NUMBER, NUMBER]},
)
ITEMS = {
    "items": [
        {"sku": "a", "quantity": 2, "price": 600, "total": "1,200.00", "lines": [{"amount": 1000}, {"amount": 200}]},
        {"sku": "b", "quantity": 1, "price": 40, "total": 40, "lines": [{"amount": 40}]},
    ]
}
HELD, BROKEN, UNCHECKED, NOT_APPLICABLE = RuleStatus


def checked(rule, extracted, gold=None):
    (compiled,) = compile_schema(SCHEMA, semantics="default", rules=[rule]).rules
    return compiled.result(extracted if gold is None else gold, extracted)


@pytest.mark.parametrize(
    ("rule", "document", "status", "message"),
    [
        # sums and counts
        ("sum(items[].total) == total", ITEMS | {"total": 1240}, HELD, "sum(items[].total) = 1,240, total = 1,240"),
        ("sum(items[].total) == total", ITEMS | {"total": 1250.5}, BROKEN, "sum(items[].total) = 1,240, total = 1,250.5 (off by 10.5)"),
        ("count(items) == count", ITEMS | {"count": 2}, HELD, "count(items) = 2, count = 2"),
        ("count(items[]) == count", ITEMS | {"count": 3}, BROKEN, "count(items[]) = 2, count = 3 (off by 1)"),
        ("count(items) == count", {"count": 3}, BROKEN, "count(items) = 0, count = 3 (off by 3)"),
        ("count(items[].sku) == count_distinct(items[].sku)", ITEMS, HELD, None),
        ("sum(items[].price) / count(items) == 320", ITEMS, HELD, None),
        ("count(items[].lines) == 3", ITEMS, HELD, "count(items[].lines) = 3"),
        ("sum(items[].quantity * items[].price) == total", ITEMS | {"total": 1240}, HELD, None),
        ("sum(items[].lines[].amount) == 1240", ITEMS, HELD, None),
        ("items[].price <= total", ITEMS | {"total": 500}, BROKEN, "items[0]: items[].price = 600, total = 500; 1 of 2 rows"),
        ("net == 0", {"net": 1e-7}, BROKEN, "net = 1.00000E-7 (off by 1.00000E-7)"),
        # arithmetic, precedence, signs
        ("net + tax == total", {"net": 0.1, "tax": 0.2, "total": 0.3}, HELD, None),
        ("total - net * 2 == -(1 + 2) * 4 / 6", {"total": 2, "net": 2}, HELD, None),
        ("abs(net) == 5", {"net": -5}, HELD, None),
        ("round(total / 3, 2) == 0.33", {"total": 1}, HELD, None),
        ("round(total) == 3", {"total": 2.5}, HELD, None),
        ("total != 5", {"total": 5}, BROKEN, "total = 5"),
        ('["net-income"] > 0', {"net-income": 1}, HELD, None),
        ("größe > 0", {"größe": 1}, HELD, None),
        ("µ > 0", {"µ": 1}, HELD, "µ = 1"),
        ("from <= class", {"from": 1, "class": 2}, HELD, "from = 1, class = 2"),
        ("-(net - tax) == $.total", {"net": 1, "tax": 3, "total": 2}, HELD, "-(net - tax) = 2, $.total = 2"),
        ("  net ==\n    total  ", {"net": 1, "total": 1}, HELD, "net = 1, total = 1"),
        ("zip == 'from $ to []'", {"zip": "from $ to []"}, HELD, None),
        ("periods[0].end < periods[-1].end", {"periods": [{"end": "2024-01-01"}, {"end": "2025-01-01"}]}, HELD, None),
        ("pair[0] < pair[1]", {"pair": [1, 2]}, HELD, None),
        # values as their metrics read them
        ("paid == total", {"paid": "$1,234.50", "total": 1234.5}, HELD, None),
        ("paid_de == total", {"paid_de": "1.234,50 €", "total": 1234.5}, HELD, None),
        ("paid == paid_de", {"paid": "5 USD", "paid_de": "5 €"}, HELD, "paid = 5, paid_de = 5"),
        ("text_total == total", {"text_total": "(1,200.00)", "total": -1200}, HELD, None),
        ("text_total == 5", {"text_total": "5 %"}, HELD, None),
        ("total == 7", {"total": "about 7"}, UNCHECKED, None),
        ("total == 1", {"total": True}, UNCHECKED, None),
        ("text_total == 7", {"text_total": "x"}, UNCHECKED, None),
        ("approved == true", {"approved": False}, BROKEN, "approved = false"),
        ("total == 1", {"total": "9" * 5_000}, UNCHECKED, None),
        ("paid == 1", {"paid": "x"}, UNCHECKED, 'paid is "x", which cannot be read'),
        ("net / tax == 1", {"net": 1, "tax": 0}, UNCHECKED, "net / tax divides by 0"),
        ("net == 1", {"net": {"a": 1}}, UNCHECKED, "net is an object, not a value"),
        ("zip == '007'", {"zip": "7"}, BROKEN, 'zip = "7"'),
        ("zip == text_total", {"zip": "1,240.00", "text_total": "1240"}, HELD, None),
        ("zip < text_total", {"zip": "a", "text_total": "b"}, UNCHECKED, None),
        # dates
        ("start <= end", {"start": "2026-01-02", "end": "2026-01-02T10:00:00Z"}, HELD, None),
        ("start <= end", {"start": "2026-02", "end": "2026-01-31"}, BROKEN, "start = 2026-02, end = 2026-01-31"),
        ("start < end", {"start": "2026-01", "end": "2026-01-31"}, BROKEN, None),
        ("start <= '2026-01-01'", {"start": "2026-01-02"}, BROKEN, "start = 2026-01-02"),
        ("signed == '2026-02-01'", {"signed": "1.2.2026"}, HELD, None),
        ("end - start >= 30", {"start": "2026-01-01", "end": "2026-01-31"}, UNCHECKED, 'end is "2026-01-31", which is no number'),
        ("start == end", {"start": "2026-01-01", "end": "2026-01-03"}, BROKEN, "start = 2026-01-01, end = 2026-01-03"),
        ("start == end", {"start": "2026-01-01T10:00Z", "end": "2026-01-01T11:00+01:00"}, HELD, None),
        ("start == end", {"start": "2026-01-01T10:00", "end": "2026-01-01T11:00"}, BROKEN, "start = 2026-01-01T10:00:00, end = 2026-01-01T11:00:00"),
        ("periods[].end <= end", {"periods": [{"end": "2025-12-31"}, {"end": "2024-12-31"}], "end": "2025-12-31"}, HELD, None),
        # rows
        ("items[].quantity >= 1", ITEMS, HELD, "items[0]: items[].quantity = 2"),
        ("items[].quantity * items[].price == items[].total", {"items": [{"quantity": 1, "price": 2, "total": 2}, {"quantity": 2, "price": 2, "total": 5}]}, BROKEN, "items[1]: items[].quantity * items[].price = 4, items[].total = 5 (off by 1); 1 of 2 rows"),
        ("items[].price <= sum(items[].price)", ITEMS, HELD, None),
        ({"rule": "sum(lines[].amount) == total", "each": "items[]"}, {"items": [ITEMS["items"][0], {"total": 41, "lines": [{"amount": 40}]}]}, BROKEN, "items[1]: sum(lines[].amount) = 40, total = 41 (off by 1); 1 of 2 rows"),
        ({"rule": "total <= $.total", "each": "items"}, ITEMS | {"total": 1240}, HELD, None),
        ({"rule": "price <= sum($.items[].price)", "each": "items"}, ITEMS, HELD, None),
        # tolerances
        ({"rule": "net == total", "abs": 0.01}, {"net": 1, "total": 1.01}, HELD, None),
        ({"rule": "net == total", "abs": 0.01}, {"net": 1, "total": 1.02}, BROKEN, None),
        ({"rule": "net == total", "rel": 1e-9}, {"net": 4006381333931, "total": 4006381330931}, HELD, None),
        ({"rule": "net == total", "rel": 0.01}, {"net": 100, "total": 101}, HELD, None),
        ("sum(items[].total) == total", {"items": [{"total": 4006381333931}, {"total": 0}], "total": 4006381330931}, BROKEN, None),
        ({"rule": "net < total", "abs": 1}, {"net": 100, "total": 101}, BROKEN, None),
        ({"rule": "net <= total", "abs": 1}, {"net": 102, "total": 101}, HELD, None),
        ({"rule": "start == end", "abs": 3}, {"start": "2026-01-01", "end": "2026-01-04"}, BROKEN, None),
        # nothing to compute with
        ("sum(items[].total) == total", {"items": [], "total": 5}, NOT_APPLICABLE, None),
        ("net + tax == total", {"net": None, "tax": 1, "total": 1}, NOT_APPLICABLE, "net is null"),
        ("net == total", {}, NOT_APPLICABLE, "net is missing"),
        ("items[].price > 0", {"items": [{"price": None}, {"price": 1}]}, HELD, "items[1]: items[].price = 1; 1 of 2 rows"),
        ("items[].price > 0", {"items": None}, NOT_APPLICABLE, "items has no rows"),
        ("items[].price > 0", {"items": "none"}, UNCHECKED, "items is no array"),
    ],
)  # fmt: skip
def test_outcome_of_a_rule(rule, document, status, message):
    result = checked(rule, document)
    assert (result.status, result.message if message is not None else None) == (status, message), result.message


@pytest.mark.parametrize(
    ("rule", "gold", "extracted", "status", "message"),
    [
        ("net == total", {"net": 1, "total": 1}, {"net": 1}, UNCHECKED, "total is missing; not so in the gold"),
        ("net == total", {"net": 1, "total": 1}, {"net": 1, "total": None}, UNCHECKED, "total is null; not so in the gold"),
        ("net == total", {"net": 1}, {"net": 1}, NOT_APPLICABLE, "total is missing"),
        ("net == total", {"net": 1}, {"net": 1, "total": 2}, BROKEN, "net = 1, total = 2 (off by 1)"),
        ("sum(items[].total) == 1240", ITEMS, {"items": []}, UNCHECKED, "sum(items[].total) has no value to compute with; not so in the gold"),
        ("items[].quantity > 0", ITEMS, {"items": [{"quantity": 1}, {}]}, UNCHECKED, "items[1].quantity is missing; not so in the gold"),
    ],
)  # fmt: skip
def test_a_value_that_only_the_output_lacks_leaves_a_rule_unchecked(rule, gold, extracted, status, message):
    result = checked(rule, extracted, gold)
    assert (result.status, result.message) == (status, message)


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        ("total", "a rule compares two sides by one of == != <= >= < >"),
        ("total = 3", "invalid syntax at '= 3'; a rule looks like `net + tax == total`"),
        ("net is tax", "at 'is tax'"),
        ("größe == 'x", "unterminated string literal (detected at line 1) at"),
        ("total == 1; net == 2", "at '; net == 2'"),
        ("f'{total}' == 1", "is no field, number, text or function of a rule"),
        ("1j == total", "'1j' is no field, number, text or function of a rule"),
        ("sum(*items) == 1", "'*items' is no field"),
        ("(net := 1) == 1", "'net := 1' is no field"),
        ("abs(net, tax) == 1", "abs takes one expression"),
        ("__import__('os').system('x') == 1", "is no field, number, text or function of a rule"),
        ("total == ", "invalid syntax at"),
        ("net <= total <= tax", "a rule has one comparison"),
        ("(net == total", "'(' was never closed at '(net == total'"),
        ("[x for x in items] == 1", "at 'x for x in items] == 1'"),
        ("(lambda: 1) == 1", "at ': 1) == 1'"),
        ("max(start, end) == start", "no function 'max'; known: sum, count, count_distinct, abs, round"),
        ("sum(1) == total", "sum(1): sum takes an expression with a field in it"),
        ("total ** 2 == 1", "'total ** 2' is no field"),
        ("größe == items[1:2].total", "'items[1:2].total' is no field"),
        ("summ(items[].total) == total", "no function 'summ'; did you mean 'sum'?"),
        ("round(total, net) == 1", "round takes one expression, and the decimal places, from 0 to 10"),
        ("sum(items[].totl) == total", "the schema has no field 'items[].totl'; did you mean 'items[].total'?"),
        ("totl == 1", "the schema has no field 'totl'; did you mean 'total'?"),
        ("items == total", "'items' is an array: name what is in it"),
        ("items[].total == rows[].x", "the rows of rows[] and items[] do not belong together"),
        ("sum(count(items)) == 1", "inside no other sum or count"),
        ("count(items[].quantity * items[].price) == 1", "count takes one field"),
        ("1 == 2", "names no field"),
        ("__import__('os') == 1", "no function '__import__'"),
        ("total.__class__ == 1", "the schema has no field 'total.__class__'"),
        ("(" * 300 + "total" + ")" * 300 + " == 1", "too many nested parentheses"),
        ("-" * 980 + "total == 1", "nested too deep"),
        ("total == " + "1+" * 600 + "1", "at most 1,000 characters"),
        ({"rule": "total == 1", "each": "total"}, "the schema has no array 'total'"),
        ({"rule": "totl == 1", "each": "items[]"}, "the schema has no field 'totl' in items[]; did you mean 'total'?"),
        ({"rule": "total == 1", "abs": -1}, "`abs` must be a number of 0 or more, not -1"),
        ({"rul": "total == 1"}, "a rule has no key 'rul'"),
        ({"abs": 1}, "needs `rule`, its text"),
        (5, "must be a rule such as 'start <= end'"),
    ],
)
def test_mistakes_in_a_rule(rule, words):
    with pytest.raises(SchemaError) as caught:
        compile_schema(SCHEMA, semantics="default", rules=["total == 1", rule])
    assert any(words in error.message and error.at[:2] == ("rules", 1) for error in caught.value.errors), caught.value


def test_rules_of_the_schema_come_first_count_once_and_choose_no_semantics():
    schema = {**obj(a=NUMBER), "x-eval-rules": ["a > 0"]}
    scorer = compile_schema(schema, rules=["a > 0", "a < 9"])
    assert scorer.semantics == "default"
    assert [(rule.text, rule.of_schema) for rule in scorer.rules] == [("a > 0", True), ("a < 9", False)]
    with pytest.raises(SchemaError) as caught:
        compile_schema({**schema, "x-eval-rules": ["a > 0", {"rule": "b > 0"}]})
    assert caught.value.pointer == "/x-eval-rules/1/rule"
    with pytest.raises(SchemaError, match="the schema has the rule 'a > 0' with another tolerance; change it there"):
        compile_schema(schema, rules=[{"rule": "a > 0", "abs": 1}])
    with pytest.raises(SchemaError, match="stands at the root only"):
        compile_schema(obj(a=schema))


def test_all_mistakes_of_rules_are_told_at_once():
    rules = ["totl == 1", "total ==", "total == 1", "total == 1", "items > items"]
    with pytest.raises(SchemaErrors) as caught:
        compile_schema(SCHEMA, semantics="default", rules=rules)
    assert [error.at[1] for error in caught.value.errors] == [0, 1, 3, 4]


def test_rules_change_no_result_and_no_measure_but_their_own():
    gold, extracted = ITEMS | {"total": 1240, "net": 5}, ITEMS | {"total": 1250, "net": 5}
    without = compile_schema(SCHEMA, semantics="default").score(gold, extracted).record()
    rules = ["sum(items[].total) == total", "net == 5", "tax > 0"]
    scorer = compile_schema(SCHEMA, semantics="default", rules=rules)
    score = scorer.score(gold, extracted)
    record = score.record()
    assert (record.fields, record.leaves, record.gates) == (without.fields, without.leaves, without.gates)
    assert {**record.measures} == {**without.measures, "rules_held": 0.5}
    assert [rule.status for rule in score.rules] == [BROKEN, HELD, NOT_APPLICABLE]
    assert [rule.fails for rule in score.rules] == [True, False, False]
    assert from_json(ScoreRecord, score.to_dict()) == record
    assert pickle.loads(pickle.dumps(score)).rules == score.rules
    assert len(pickle.loads(pickle.dumps(scorer)).rules) == len(rules)


def test_an_output_that_cannot_be_read_leaves_all_rules_unchecked():
    score = compile_schema(SCHEMA, semantics="default", rules=["net == 5", "tax > 0"]).score_text({"net": 5}, "no JSON")
    assert [(rule.status, rule.message) for rule in score.rules] == [
        (UNCHECKED, "there is no output"),
        (NOT_APPLICABLE, "there is no output"),
    ]
    assert score.measures["rules_held"] == 0.0


RULES = [
    "sum(items[].total) == total",
    "items[].quantity * items[].price == items[].total",
    {"rule": "sum(lines[].amount) / count(lines) <= $.total - price", "each": "items[]"},
    "start >= signed",
    "count_distinct(items[].sku) == count(items)",
    "round(abs(net / tax), 2) != paid - paid_de",
    "periods[-1].end >= start",
]


def any_of(*names):
    return st.fixed_dictionaries({}, optional=dict.fromkeys(names, any_json))


documents = any_of("total", "net", "tax", "paid", "paid_de", "start", "end", "signed", "text_total")
item = any_of("sku", "quantity", "price", "total", "lines")


@settings(deadline=None)
@given(any_json | documents, any_json | st.lists(item, max_size=4), any_json | st.lists(any_of("end"), max_size=3))
def test_no_document_raises(document, items, periods):
    if isinstance(document, dict):
        document = {**document, "items": items, "periods": periods}
    for rule in compile_schema(SCHEMA, semantics="default", rules=RULES).rules:
        assert 0 < len(rule.result(document, document).message) < 2_000


@given(st.text(alphabet="ab[]().,\"'+-*/<>=!0189_$ \\\n", max_size=60))
def test_any_text_is_a_rule_or_a_mistake(text):
    with suppress(SchemaError):
        compile_schema({}, rules=[text])


def test_a_large_document_is_read_once():
    """A sum that every row needs is computed once, so that the work grows with the rows and not with their square."""
    rows = [{"x": index % 7} for index in range(600)]
    rule = compile_schema(SCHEMA, semantics="default", rules=["rows[].x <= sum(rows[].x)"]).rules[0]
    assert rule.result({"rows": rows}, {"rows": rows}).status is HELD
    assert calls_of(lambda: rule.result({"rows": rows}, {"rows": rows})) < 200 * len(rows)


def test_very_large_values_are_no_trouble():
    assert checked("net == total", {"net": nested(3_000), "total": 1}).status is UNCHECKED
    assert checked("net * net == total", {"net": 10**3000, "total": 10**6000}).status is HELD
