"""Outputs become JSON or one failure kind with its place; nothing crashes."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_extract import compile_schema, score_text
from pytest_extract.core.parse import Reader, Reading, SchemaFit, parse_output, read_at
from pytest_extract.core.results import FailureKind
from pytest_extract.core.validate import Validator
from pytest_extract.core.values import MAX_DEPTH, MISSING
from tests.core.schemas import NUMBER, TEXT, obj
from tests.strategies import json_values, nested

CHANNEL = '<|channel|>analysis<|message|>{"a": 1}<|end|><|start|>assistant<|channel|>final<|message|>{"a": 2}'
CALL = '<|channel|>commentary to=functions.x <|constrain|>json<|message|>{"a": 1}<|call|>'
READ = {
    "strict": (' {"a": [1, 2.5, null]} \n', {"a": [1, 2.5, None]}, None),
    "empty array": ("[]", [], None),
    "byte order mark": ('\ufeff{"a": 1}', {"a": 1}, "byte order mark"),
    "tagged fence": ('```json\n{"a": 1}\n```', {"a": 1}, "fenced"),
    "plain fence in prose": ('So:\n```\n{"a": 1}\n```\nDone.', {"a": 1}, "fenced"),
    "fence left open": ('```json\n{"a": 1}', {"a": 1}, "fenced"),
    "fence marks in a string": ('```json\n{"s": "```"}\n```', {"s": "```"}, "fenced"),
    "last fence": ('```json\n{"a": 1}\n```\nNo:\n```json\n{"a": 2}\n```', {"a": 2}, "2 JSON values"),
    "prose": ('Sure! {"a": {"b": 1}} Bye {x}', {"a": {"b": 1}}, "around"),
    "prose with citations": ('As [1] says, [2, 3): {"a": 1}.', {"a": 1}, "around"),
    "longest wins": ('Use {} here: {"a": 1}', {"a": 1}, "2 JSON values"),
    "last object, not a list": ('{"a": 1, "b": 2} or {"c": 1} on [1, 2] {}', {"c": 1}, "JSON values"),
    "reasoning": ('<think>{"a": 1}?</think>\n{"a": 2}', {"a": 2}, "reasoning"),
    "thinking in prose": ('So <thinking>{"a": 1}</thinking> {"a": 2}', {"a": 2}, "reasoning"),
    "reasoning tag": ('<reasoning>{"a": 1}</reasoning>\n{"a": 2}', {"a": 2}, "reasoning"),
    "thoughts in brackets": ('[THINK]{"a": 1}[/THINK]{"a": 2}', {"a": 2}, "reasoning"),
    "thoughts in a channel": (CHANNEL, {"a": 2}, "reasoning"),
    "tool call in a channel": (CALL, {"a": 1}, "text around it"),
    "thoughts opened in the prompt": ('{"a": 1}?</think>{"a": 2}', {"a": 2}, "reasoning"),
    "thoughts behind the answer": ('{"a": 2}\n<think>{"a": 1, "b": 2}</think>', {"a": 2}, "reasoning"),
    "a mark in a string": ('So {"a": "<think>"}', {"a": "<think>"}, "around"),
    "no reasoning": ('{"a": "</think>"}', {"a": "</think>"}, None),
    "lone surrogate": ('{"a": "\\ud800"}', {"a": "\ud800"}, None),
    "big integer": ('{"a": 1' + "0" * 400 + "}", {"a": 10**400}, None),
}


@pytest.mark.parametrize(("text", "value", "note"), READ.values(), ids=READ)
def test_text_with_json(text, value, note):
    parsed = parse_output(text)
    assert (parsed.value, parsed.failure) == (value, None)
    assert parsed.text == text
    assert (note is None) == (parsed.notes == ())
    assert note is None or note in parsed.notes[-1] or note in parsed.notes[0]


@pytest.mark.parametrize(
    ("text", "kind", "line", "column"),
    [
        ("", "empty_response", None, None),
        ("I am sorry, I cannot help [1].", "no_json", None, None),
        ('{"a": 1,}', "trailing_comma", 1, 8),
        ('{"a": [1,\n2\n,\n]}', "trailing_comma", 3, 1),
        ('{"a": 1', "truncated_json", 1, 8),
        ('{"a": [1,\n  2,', "truncated_json", 2, 5),
        ('{"a": "x', "truncated_json", 1, 9),
        ('{"a": "x\\', "truncated_json", 1, 10),
        ('{"a": "\\u12', "truncated_json", 1, 12),
        ('{"a": tru', "truncated_json", 1, 10),
        ('{"a": -', "truncated_json", 1, 8),
        ('{"a"', "truncated_json", 1, 5),
        ('{"a": 1,', "truncated_json", 1, 9),
        ("[", "truncated_json", 1, 2),
        ('```json\n{"a": 1,\n```', "truncated_json", 3, 1),
        ('```json\n{"s": "```", "b": }\n```', "malformed_json", 2, 19),
        ('```json\n[{"s": "```"}, {"b": 1,}]\n```', "trailing_comma", 2, 23),
        ('{"a": 1, "b": {"c": 2}, "a": 3}', "duplicate_key", 1, 25),
        ('{"a": NaN}', "malformed_json", 1, 7),
        ('{"a": 1e999}', "malformed_json", 1, 7),
        ('{"a": 1' + "0" * 5000 + "}", "malformed_json", 1, 7),
        ('{"a" 1}', "malformed_json", 1, 6),
        ('{"a": 1 "b": 2}', "malformed_json", 1, 9),
        ('{"a": 01}', "malformed_json", 1, 7),
        ('{"a": "\\x"}', "malformed_json", 1, 8),
        ('{"a": "b\nc"}', "malformed_json", 1, 9),
        ("{'a': 1}", "malformed_json", 1, 2),
        ("{\"a\": 'b'}", "malformed_json", 1, 7),
        ('{"a": True}', "malformed_json", 1, 7),
        ('{"a": 1 /* no */}', "malformed_json", 1, 9),
        ('{"a": 1}}', "malformed_json", 1, 9),
        ('{"a": ?, "b": {"c": 1}}', "malformed_json", 1, 7),
        ("[" * 10_000, "malformed_json", 1, MAX_DEPTH + 1),
        ('{"a":' * 10_000 + "1" + "}" * 10_000, "malformed_json", 1, 5 * MAX_DEPTH + 1),
        ("42", "not_structured", 1, 1),
        ("\n  42", "not_structured", 2, 3),
        ("```json\n42\n```", "not_structured", 2, 1),
        ("```\nnull", "not_structured", 2, 1),
        ('```json\n"{\\"a\\": 1}"\n```\n', "not_structured", 2, 1),
        ("```json\n42 or 43\n```", "no_json", None, None),
    ],
)
def test_text_without_json_tells_kind_and_place(text, kind, line, column):
    parsed = parse_output(text)
    assert parsed.failure is not None
    assert (parsed.failure.kind, parsed.failure.line, parsed.failure.column) == (kind, line, column)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('{"a": 1,234.5}', "found `234.5}`; a number has no separators of thousands in JSON"),
        ('{"a": [1, 01234]}', "`01234]}` is no JSON value"),
        ('{"a": -012}', "`-012}` is no JSON value"),
        ('"{\\"a\\": 1}"', "encoded twice"),
        ('{"rows": [{"x": 1}, {"x": 1, "x": 2}]}', "the key 'x' stands twice in one object"),
    ],
)
def test_what_json_has_not_is_explained(text, told):
    assert told in parse_output(text).failure.message


@pytest.mark.parametrize(
    "text", ['Here: {"a": {"b": 1}, "c": [1, 2,]}', '{"a": 1, "a": 2, }'], ids=["a sound part", "a repeated key"]
)
def test_a_syntax_error_is_told_rather_than(text):
    assert parse_output(text).failure.kind == "trailing_comma"


def test_a_bare_value_is_kept_beside_its_failure():
    assert parse_output(b"42").value == 42
    assert parse_output('"{\\"a\\": 1}"').value == '{"a": 1}'
    fenced = parse_output("```json\n42\n```")
    assert (fenced.value, fenced.notes) == (42, ("JSON taken from a fenced block",))


@pytest.mark.parametrize(
    ("text", "reason", "kind"),
    [
        ('{"a": 1', "length", "truncated_json"),
        ('{"a": [1,], "b": "x', "length", "truncated_json"),
        ('{"a": [1,], "b": "x"}', "stop", "trailing_comma"),
        ('{"a": 1}', "length", "truncated_json"),
        ('{"a": 1}', "FinishReason.MAX_TOKENS", "truncated_json"),
        ({"a": 1}, "length", "truncated_json"),
        ('So {"a": 1}, but page 2 gives {"a": 2, "b', "length", "truncated_json"),
        ('<think>{"a": 1}? But', "length", "truncated_json"),
        ('<think>{"a": 1}? But', "stop", "truncated_json"),
        ('Well: [THINK]{"a": 1}', None, "truncated_json"),
        ("", "length", "empty_response"),
        ("I will think about", "length", "no_json"),
        ("I cannot help with that.", "content_filter", "refusal"),
        ('{"a": "', "content_filter", "refusal"),
        ("", "refusal", "refusal"),
        ('{"a": 1}', "content_filter", "refusal"),
        ('{"a": 1}', "SAFETY", "refusal"),
        ('{"a": 1}', "error", "extractor_error"),
    ],
)
def test_the_finish_reason_is_evidence(text, reason, kind):
    failure = parse_output(text, finish_reason=reason).failure
    assert (failure.kind if failure else None) == kind


@pytest.mark.parametrize(
    ("text", "value", "note"),
    [
        ('{"a": [1, 2,],}', {"a": [1, 2]}, "2 x trailing comma, first at line 1, column 12"),
        ('{"a": 1 // one\n, /* two */ "b": 2} # end', {"a": 1, "b": 2}, "2 x comment"),
        ('```json\n{"a": "```sh", "b": [1,]}\n```', {"a": "```sh", "b": [1]}, "1 x trailing comma"),
        ('{"a": [{"b": 1}, {"b": 2', {"a": [{"b": 1}, {"b": 2}]}, "3 x unclosed bracket"),
        ('{"a": 1, "b": "cut of', {"a": 1}, "1 x unclosed bracket"),
    ],
)
def test_repair_mends_only_when_asked_and_tells(text, value, note):
    assert parse_output(text).failure is not None
    parsed = parse_output(text, repair=True)
    assert (parsed.value, parsed.failure) == (value, None)
    assert any(note in told for told in parsed.notes)


@pytest.mark.parametrize(
    "text",
    ['{"a": NaN}', '{"a": ?}', "{'a': 1}", "{a: 1}", '{"a": True}', '{"a" 1}', '{"a": "b\nc"}', '{"a": 1, "a": 2}'],
)
def test_repair_leaves_what_it_would_have_to_guess(text):
    assert parse_output(text, repair=True) == parse_output(text)


@pytest.mark.parametrize(
    ("output", "kind", "path"),
    [
        (None, "empty_response", None),
        (3.5, "not_structured", None),
        ({"a": [float("nan")]}, "malformed_json", "a[0]"),
        ({"a": {1, 2}}, "malformed_json", "a"),
        (nested(10_000, objects=True), "malformed_json", None),
    ],
    ids=range(5),
)
def test_python_values_without_json(output, kind, path):
    failure = parse_output(output).failure
    assert failure.kind == kind
    assert path is None or str(failure.path) == path


@given(json_values)
def test_every_json_text_is_read_as_json_reads_it(value):
    text = json.dumps(value)
    parsed = parse_output(text)
    assert parsed.value == value
    assert (parsed.failure is None) == isinstance(value, dict | list)
    for slow in (text, json.dumps(value, ensure_ascii=False)):
        assert Reader(slow, 0, len(slow)).read() == value


@given(st.sampled_from("{["), st.text(st.sampled_from("{}[]\",:\\ntruefalse0123.-eEu\n'/#* `"), max_size=40))
def test_strict_readers_accept_the_same_texts(opening, rest):
    text = opening + rest
    fast = read_at(text, 0)
    reader = Reader(text, 0, len(text))
    slow = reader.read()
    if reader.problem is not None:
        assert fast.value is MISSING
    else:
        assert fast == Reading(slow, reader.position)


@given(
    st.text(max_size=60) | st.text(st.sampled_from("{}[]\",:\\ntruefalse01.-\n'/#*`json "), max_size=60), st.booleans()
)
def test_no_text_crashes(text, repair):
    parsed = parse_output(text, repair=repair)
    assert (parsed.value is MISSING) <= (parsed.failure is not None)


@given(json_values.filter(lambda value: isinstance(value, dict | list) and value), st.data())
def test_a_cut_text_is_truncated(value, data):
    text = json.dumps(value)
    cut = text[: data.draw(st.integers(1, len(text) - 1))]
    assert parse_output(cut).failure.kind == "truncated_json"
    assert parse_output(cut, repair=True).failure is None


@pytest.mark.parametrize("repair", [False, True])
def test_a_string_that_breaks_off_at_a_line_is_no_cut(repair):
    failure = parse_output('{"a": 1, "b": "x\n}', repair=repair).failure
    assert (failure.kind, failure.line, failure.column) == (FailureKind.MALFORMED_JSON, 1, 17)
    cut = parse_output('{"a": 1, "b": q', repair=True, finish_reason="length").failure
    assert cut.kind is FailureKind.TRUNCATED_JSON


# --- of several JSON values the one that fits the schema best is the answer, of equals the last

PROPERTIES = {"vendor": TEXT, "total": NUMBER, "note": TEXT}
SCHEMA = {"type": "object", "properties": PROPERTIES, "required": ["vendor", "total"]}
OPTIONAL = {"type": "object", "properties": PROPERTIES}
REFERRED = {"$ref": "#/$defs/Bill", "$defs": {"Bill": SCHEMA}}
EITHER = {"anyOf": [{"type": "object", "properties": {"error": TEXT}, "required": ["error"]}, SCHEMA]}
EITHER_OPTIONAL = {"anyOf": [{"type": "object", "properties": {"error": TEXT}}, OPTIONAL]}
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


@pytest.mark.parametrize(
    "schema",
    [SCHEMA, OPTIONAL, REFERRED, EITHER, EITHER_OPTIONAL],
    ids=["plain", "optional", "$ref", "anyOf", "anyOf, optional"],
)
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


@pytest.mark.parametrize(
    ("schema", "text"),
    [
        (obj(page=NUMBER) | EITHER, f'{GOOD} {{"page": 1}}'),
        (obj(note=TEXT) | {"patternProperties": {"^(vendor|total)$": {}}}, f'{{"note": "a draft"}} {GOOD}'),
    ],
    ids=["keys of an alternative", "keys by pattern"],
)
def test_keys_need_not_be_declared_at_the_root(schema, text):
    assert parse_output(text, fits=SchemaFit(schema, Validator(schema).is_valid)).value == GOLD


def test_a_list_of_scalars_is_the_answer_where_the_schema_wants_one():
    schema = {"type": "array", "items": TEXT}
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


def test_what_was_chosen_is_told():
    score = score_text(SCHEMA, GOLD, f"{DRAFT}\n{GOOD}\n{{}}")
    assert "3 JSON values in the text; took the one at line 2" in score.wrapped.values()
