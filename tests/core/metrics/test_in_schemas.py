"""Metrics and transforms where a schema or an override puts them, and what is said of a place where they have no effect."""

from __future__ import annotations

import pytest

from pytest_extract import compile_schema
from pytest_extract.bulk import BulkScorer
from pytest_extract.core.case_result import Outcome
from pytest_extract.errors import SchemaError
from pytest_extract.testing import assert_extraction
from tests.core.schemas import NUMBER, TEXT, obj
from tests.cpu_time import calls_of


@pytest.mark.parametrize(
    ("key", "gold", "extracted", "of_key"),
    [
        ("sku", "AB  1", "AB 1", None),
        ("day", "2024-03-05", "2024-03-05T00:00:00", None),
        ("sku", "AB-1", "ab-1", {"transform": ["lowercase"]}),
    ],
)
def test_rows_are_aligned_by_a_key_as_its_field_is_compared(key, gold, extracted, of_key):
    row = obj(sku=TEXT, day={"type": "string", "format": "date"}, n=NUMBER)
    overrides = {"rows": {"align": "key", "key": key}} | ({f"rows[].{key}": of_key} if of_key else {})
    scorer = compile_schema(obj(rows={"type": "array", "items": row}), overrides=overrides)
    rest = {"sku": "x", "day": "2024-01-01", "n": 1}
    score = scorer.score({"rows": [rest | {key: gold}]}, {"rows": [rest | {key: extracted}]})
    assert (score.measures["f1"], score.arrays[0].pairs) == (1.0, ((0, 0),))


@pytest.mark.parametrize(
    ("overrides", "told"),
    [
        ({"tags": {"transform": ["lowercase"]}}, r"`transform`: no effect on an array .* such as 'tags\[\]'"),
        ({"party": {"weight": 0, "threshold": 0}}, "`weight` and `threshold`: no effect on an object"),
        ({"rows[].parts": {"weight": 0}}, "`weight`: no effect on an array"),
        ({"rows": {"align": "key", "key": "skuu"}}, "the rows have no 'skuu' to be aligned by; did you mean 'sku'"),
    ],
)
def test_an_override_without_effect_is_refused(overrides, told):
    texts = {"type": "array", "items": TEXT}
    whole = obj(tags=texts, party=obj(name=TEXT), rows={"type": "array", "items": obj(sku=TEXT, parts=texts)})
    with pytest.raises(SchemaError, match=told):
        compile_schema(whole, overrides=overrides)


@pytest.mark.parametrize("other", [{"type": "array", "items": TEXT}, obj(name=TEXT)])
def test_an_override_may_be_for_one_of_several_alternatives(other):
    own = obj(value={"anyOf": [TEXT, other]})
    score = compile_schema(own, overrides={"value": {"transform": ["lowercase"]}}).score({"value": "a"}, {"value": "A"})
    assert score.measures["f1"] == 1.0


def test_a_value_that_a_transform_makes_null_has_no_value():
    overrides = {"start": {"metric": "date", "transform": ["null_if"]}}
    record = {"start": "N/A", "end": "2024-01-01"}
    score = compile_schema(obj(start=TEXT, end=TEXT), overrides=overrides).score(record, record)
    assert [str(leaf.path) for leaf in score.leaves] == ["end"]


def test_the_gate_of_rules_is_switched_off_wherever_outputs_are_scored():
    whole, rules, record = obj(a=NUMBER, b=NUMBER), ["a == b"], {"a": 1, "b": 2}
    scorer = compile_schema(whole, rules=rules)
    for gates, outcome in ((None, Outcome.FAILED), ({"rules": False}, Outcome.PASSED)):
        scored = BulkScorer(scorer=scorer, gates=gates).score({"id": "x", "gold": record, "output": record})
        assert scored.outcome == outcome
    assert_extraction(record, gold=record, schema=whole, rules=rules, gates={"rules": False})


@pytest.mark.parametrize(
    ("use", "gold", "extracted"),
    [
        ("token_f1", "item {} of a blue kind", "item {} of a blue kind each"),
        ("set", "a{}", "b{}"),
        ("money", "{} EUR", "{} EUR (net)"),
        ({"oneof_with_gold": {"values": ["x"]}}, "a{}", "b{}"),
    ],
)
def test_rows_that_all_differ_in_a_field_are_compared_by_columns(use, gold, extracted):
    own = obj(text={"type": "string", "x-eval-compare": use}, n={"type": "integer", "x-eval-compare": "number"})
    scorer = compile_schema({"type": "array", "items": own}, semantics="default")

    def rows(text, numbers):
        return [{"text": text.format(number), "n": number} for number in numbers]

    def calls(size):
        sides = rows(gold, range(size)), rows(extracted, reversed(range(size)))
        assert len(scorer.score(*sides).arrays[0].pairs) == size
        return calls_of(lambda: scorer.score(*sides))

    assert calls(200) < 3 * calls(100)
