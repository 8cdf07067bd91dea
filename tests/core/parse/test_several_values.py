"""Which of several JSON values in one text is the answer: the one that fits the schema best, of equals the last."""

from __future__ import annotations

import json

import pytest

from pytest_extract import compile_schema, score_text
from pytest_extract.core.parse import parse_output

PROPERTIES = {"vendor": {"type": "string"}, "total": {"type": "number"}, "note": {"type": "string"}}
SCHEMA = {"type": "object", "properties": PROPERTIES, "required": ["vendor", "total"]}
OPTIONAL = {"type": "object", "properties": PROPERTIES}
REFERRED = {"$ref": "#/$defs/Bill", "$defs": {"Bill": SCHEMA}}
EITHER = {"anyOf": [{"type": "object", "properties": {"error": {"type": "string"}}, "required": ["error"]}, SCHEMA]}
ROWS = {"type": "array", "items": SCHEMA}
GOLD = {"vendor": "Nordwind AG", "total": 1234.5}
GOOD = json.dumps(GOLD)
DRAFT = json.dumps({"vendor": "Nordwind Holding SE", "total": 99.0, "note": "first reading"})


def fenced(text):
    return f"```json\n{text}\n```"


ANSWERS = {
    "the schema, then the answer": f"Schema: {json.dumps(SCHEMA)}\nAnswer: {GOOD}",
    "the answer, then the schema": f"{GOOD}\nThis follows {json.dumps(SCHEMA)}.",
    "fenced answer, fenced pages": f"{fenced(GOOD)}\nPages:\n{fenced(json.dumps({'page': 1}))}",
    "bare answer, fenced example of another thing": f"{GOOD}\nA row:\n{fenced(json.dumps({'row': [1, 2]}))}",
    "bare answer, a list of sources": f'{GOOD}\nSources: ["page 1", "page 2"] {{"confidence": 0.9}}',
    "draft, then corrected": f"First: {DRAFT}\nCorrected: {GOOD}",
    "fenced draft, then a bare answer": f"Draft:\n{fenced(DRAFT)}\nFinal: {GOOD}",
    "bare draft, then a fenced answer": f"Draft: {DRAFT}\nFinal:\n{fenced(GOOD)}",
    "JSON lines, the last one counts": f"{DRAFT}\n{GOOD}",
    "a template that is no JSON, then the answer": f'I fill {{"vendor": ..., "total": ..., "note": ...}}: {GOOD}',
    "an empty object behind the answer": f"{GOOD} and nothing else {{}}",
}


@pytest.mark.parametrize("schema", [SCHEMA, OPTIONAL, REFERRED, EITHER], ids=["plain", "optional", "$ref", "anyOf"])
@pytest.mark.parametrize("text", ANSWERS.values(), ids=ANSWERS)
def test_the_value_that_fits_the_schema_is_the_answer(text, schema):
    score = score_text(schema, GOLD, text)
    assert (score.measures["pass_rate"], score.failure) == (1.0, None)
    assert score.wrapped


@pytest.mark.parametrize(
    "text",
    [
        f"Such a row: {GOOD}\nAll of them: [{GOOD}, {GOOD}]",
        f"[{GOOD}, {GOOD}]\non pages [1, 2] {{'a': 'broken'}} and {GOOD}",
        f'[{{"page": 1}}, {{"page": 2}}, {{"page": 3}}] [{GOOD}, {GOOD}] ["a", "b"]',
    ],
)
def test_the_list_that_fits_a_list_of_objects_is_the_answer(text):
    assert score_text(ROWS, [GOLD, GOLD], text).measures["pass_rate"] == 1.0


def test_a_list_of_scalars_is_the_answer_where_the_schema_wants_one():
    schema = {"type": "array", "items": {"type": "string"}}
    text = 'Of {"a": 1} and pages [1, 2] I take ["b", "c"]. Done: {"ok": true}'
    assert score_text(schema, ["b", "c"], text).measures["pass_rate"] == 1.0


def test_of_values_that_break_the_schema_the_one_with_most_of_its_keys_is_the_answer():
    wrong = '{"vendor": "Nordwind AG", "total": "1,234.5"}'
    score = score_text(SCHEMA, GOLD, f'{{"vendor": "for example"}} {wrong} {{"page": 1}} [1, 2]')
    assert score.failure.kind == "schema_violation"
    assert [leaf.path for leaf in score.leaves if leaf.passed] == [("vendor",)]


def test_values_with_their_confidence_are_ranked_by_the_values():
    shaped = {name: {"value": value, "confidence": 0.9} for name, value in GOLD.items()}
    scorer = compile_schema(SCHEMA)
    text = f'Form: {{"value": "", "confidence": 0}}\n{json.dumps(shaped)}\n{{"confidence": 0.9, "value": "sure"}}'
    assert scorer.score_text(GOLD, text, confidence="wrapper").measures["pass_rate"] == 1.0


@pytest.mark.parametrize("text", [f'{DRAFT} corrected: {GOOD[:-1]}, "note": "second", }}', f"{DRAFT}\n{DRAFT[:-1]},}}"])
def test_a_broken_answer_is_not_replaced_by_the_draft_before_it(text):
    assert score_text(SCHEMA, GOLD, text).failure.kind == "trailing_comma"


def test_without_a_schema_the_last_is_the_answer_and_objects_go_before_lists_of_scalars():
    assert parse_output('{"a": 1, "b": 2} or {"c": 1} on [1, 2] {}').value == {"c": 1}


def test_what_was_chosen_is_told():
    score = score_text(SCHEMA, GOLD, f"{DRAFT}\n{GOOD}\n{{}}")
    assert "3 JSON values in the text; took the one at line 2" in score.wrapped.values()
