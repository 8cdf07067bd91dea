"""Values at the edge of what metrics read and allow, and what is said of a place that cannot have its effect."""

from __future__ import annotations

import sys

import pytest

from pytest_extract import compare_values, compile_schema
from pytest_extract.bulk import BulkScorer
from pytest_extract.core.case_result import Outcome
from pytest_extract.errors import SchemaError
from pytest_extract.testing import assert_extraction

TEXT, NUMBER = {"type": "string"}, {"type": "number"}


def schema(**properties):
    return {"type": "object", "properties": properties}


@pytest.mark.parametrize(
    ("metric", "gold", "extracted", "params", "score"),
    [
        # a point behind an abbreviation is no decimal point
        ("money", 500, "Rs.500", {}, 1.0),
        ("money", 1500, "Rs.1,500", {}, 1.0),
        ("money", 0.5, "Rs.500", {}, 0.0),
        ("money", 0.5, "$.50", {}, 1.0),
        # a tolerance admits its own bound
        ("number", 19.99, 20.0, {"abs": 0.01}, 1.0),
        ("number", 19.99, 20.0000001, {"abs": 0.01}, 0.0),
        ("number", 1.0, 1.1, {"rel": 0.1}, 1.0),
        ("numeric", 1.1, 1.0, {"tolerance": {"abs": 0.1}}, 1.0),
        ("numeric", 1.0, 1.1, {"tolerance": {"rel": 0.1}}, 1.0),
        ("money", 1.0, 1.3, {"abs": 0.3}, 1.0),
        ("money", 100, 70, {"rel": 0.3}, 1.0),
        ("quantity", "10 mg", "13 mg", {"rel": 0.3}, 1.0),
        # an unknown unit is no known one in another case
        ("quantity", "5 M", "5 m", {}, 0.0),
        ("quantity", "5 widgets", "5 Widgets", {}, 1.0),
        ("quantity", "-25 to -15 °C", "-25 °C to -15 °C", {}, 1.0),
        # zones of hours alone, and behind a time that is written out
        ("date", "2024-03-15T10:00:00Z", "2024-03-15 10:00:00+00", {"time": True}, 1.0),
        ("date", "2024-03-15T10:00:00Z", "2024-03-15 10:00:00+01", {"time": True}, 0.0),
        ("date", "2024-03-15T10:00:00Z", "Fri, 15 Mar 2024 11:00:00 +0100", {"order": "DMY", "time": True}, 1.0),
        ("date", "2024-03-15", "15 March 2024 10:30 UTC", {"order": "DMY"}, 1.0),
        ("date", "2024-03-15T10:00:00Z", "2024-03-16T10:00:00Z", {"time": True, "tolerance_days": 1}, 1.0),
        ("date", "2024-03-15T10:00:00Z", "2024-03-16T10:00:01Z", {"time": True, "tolerance_days": 1}, 0.0),
        # what separates a query is escaped in a value of it
        ("url", "https://x.org/?a=1&b=2", "https://x.org/?a=1%26b%3D2", {}, 0.0),
        ("url", "https://x.org/?a=\ud800", "https://x.org/?a=\ud800", {}, 1.0),
        ("url", "x.org:8080/?n=http://y.org", "http://x.org:8080/?n=http%3A%2F%2Fy.org", {"ignore_scheme": True}, 1.0),
    ],
)
def test_edges(metric, gold, extracted, params, score):
    assert compare_values(metric, gold, extracted, params) == score


@pytest.mark.parametrize(
    ("key", "gold", "extracted", "of_key"),
    [
        ("sku", "AB  1", "AB 1", {}),
        ("day", "2024-03-05", "2024-03-05T00:00:00", {}),
        ("sku", "AB-1", "ab-1", {"transform": ["lowercase"]}),
    ],
)
def test_rows_are_aligned_by_a_key_as_its_field_is_compared(key, gold, extracted, of_key):
    row = schema(sku=TEXT, day={"type": "string", "format": "date"}, n=NUMBER)
    overrides = {"rows": {"align": "key", "key": key}} | ({f"rows[].{key}": of_key} if of_key else {})
    scorer = compile_schema(schema(rows={"type": "array", "items": row}), overrides=overrides)
    rest = {"sku": "x", "day": "2024-01-01", "n": 1}
    score = scorer.score({"rows": [rest | {key: gold}]}, {"rows": [rest | {key: extracted}]})
    assert (score.measures["f1"], score.arrays[0].pairs) == (1.0, ((0, 0),))


@pytest.mark.parametrize(
    ("overrides", "told"),
    [
        ({"tags": {"transform": ["lowercase"]}}, "`transform`: no effect on an array .* such as 'tags\\[\\]'"),
        ({"party": {"weight": 0, "threshold": 0}}, "`weight` and `threshold`: no effect on an object"),
        ({"rows[].parts": {"weight": 0}}, "`weight`: no effect on an array"),
        ({"rows": {"align": "key", "key": "skuu"}}, "the rows have no 'skuu' to be aligned by; did you mean 'sku'"),
    ],
)
def test_an_override_without_effect_is_refused(overrides, told):
    texts = {"type": "array", "items": TEXT}
    whole = schema(tags=texts, party=schema(name=TEXT), rows={"type": "array", "items": schema(sku=TEXT, parts=texts)})
    with pytest.raises(SchemaError, match=told):
        compile_schema(whole, overrides=overrides)


@pytest.mark.parametrize("other", [{"type": "array", "items": TEXT}, schema(name=TEXT)])
def test_an_override_may_be_for_one_of_several_alternatives(other):
    own = schema(value={"anyOf": [TEXT, other]})
    score = compile_schema(own, overrides={"value": {"transform": ["lowercase"]}}).score({"value": "a"}, {"value": "A"})
    assert score.measures["f1"] == 1.0


def test_a_value_that_a_transform_makes_null_has_no_value():
    overrides = {"start": {"metric": "date", "transform": ["null_if"]}}
    scorer = compile_schema(schema(start=TEXT, end=TEXT), overrides=overrides, rules=["start <= end"])
    record = {"start": "N/A", "end": "2024-01-01"}
    score = scorer.score(record, record)
    assert [rule.status for rule in score.rules] == ["not_applicable"]
    assert [str(leaf.path) for leaf in score.leaves] == ["end"]


def test_the_gate_of_rules_is_switched_off_wherever_outputs_are_scored():
    scorer = compile_schema(schema(a=NUMBER, b=NUMBER), rules=["a == b"])
    record = {"a": 1, "b": 2}
    outcomes = [
        BulkScorer(scorer=scorer, gates=gates).score({"id": "x", "gold": record, "output": record}).outcome
        for gates in (None, {"rules": False})
    ]
    assert outcomes == [Outcome.FAILED, Outcome.PASSED]
    assert_extraction(record, gold=record, schema=schema(a=NUMBER, b=NUMBER), rules=["a == b"], gates={"rules": False})


@pytest.mark.parametrize(
    ("use", "pair"),
    [
        ("token_f1", lambda number: (f"item {number} of a blue kind", f"item {number} of a blue kind each")),
        ({"set": {"separator": ";"}}, lambda number: (f"a{number};b;c", f"a{number};b;d")),
        ("money", lambda number: (f"{number} EUR", f"{number} EUR (net)")),
        ({"oneof_with_gold": {"values": ["x"]}}, lambda number: (f"a{number}", f"b{number}")),
    ],
    ids=["token_f1", "set", "money", "oneof_with_gold"],
)
def test_rows_that_all_differ_in_a_field_are_compared_by_columns(use, pair):
    own = schema(text={"type": "string", "x-eval-compare": use}, n={"type": "integer", "x-eval-compare": "number"})
    scorer = compile_schema({"type": "array", "items": own}, semantics="default")

    def calls(size):
        sides = ([{"text": pair(number)[side], "n": number} for number in range(size)] for side in (0, 1))
        gold, extracted = sides
        counted = 0

        def count(_frame, event, _arg):
            nonlocal counted
            counted += event == "call"

        scorer.score(gold[:2], extracted[:2])
        sys.setprofile(count)
        try:
            score = scorer.score(gold, extracted[::-1])
        finally:
            sys.setprofile(None)
        assert len(score.arrays[0].pairs) == size
        return counted

    assert calls(200) < 3 * calls(100)
