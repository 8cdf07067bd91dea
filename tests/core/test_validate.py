"""The schema gate's yes or no, and its reasons."""

from __future__ import annotations

import re

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st
from referencing.exceptions import Unresolvable

from pytest_extract.core.validate import Validator
from tests.strategies import json_values

ROWS = {
    "type": "object",
    "properties": {
        "rows": {"type": "array", "items": {"$ref": "#/$defs/row"}},
        "day": {"type": "string", "pattern": r"^\d{4}-\d{2}$"},
    },
    "required": ["rows"],
    "$defs": {"row": {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}},
}


@pytest.mark.parametrize(
    ("value", "error"),
    [
        ({"rows": [{"n": 1}, {"n": 2.0}]}, None),
        ({"rows": [{"n": 1}, {"n": "x"}]}, '`rows[1].n`: "x" is a string, an integer was expected'),
        ({"rows": [{}]}, '`rows[0]`: "n" is a required property'),
        ({"rows": [], "day": "2024-01"}, None),
        ({"rows": [], "day": "2024-01\n"}, "`day`: "),
        ({"rows": [], "day": "٢٠٢٤-٠١"}, "`day`: "),
        ({"rows": [], "day": "2024"}, '`day`: "2024" does not match'),
        ([], "`$`: [] is an array, an object was expected"),
    ],
)
def test_verdict_and_reason(value, error):
    validator = Validator(ROWS)
    found = validator.first_error(value)
    assert validator.is_valid(value) == validator.is_valid_draft7(value) == (error is None)
    assert found is None if error is None else str(found).startswith(error)


@pytest.mark.parametrize(
    ("schema", "value", "valid"),
    [
        ({"type": "integer"}, 3.0, True),
        ({"type": "integer"}, True, False),
        ({"enum": [1, "a"]}, True, False),
        ({"enum": [1]}, 1.0, True),
        ({"const": None}, None, True),
        ({"type": "string", "format": "date"}, "no date", True),
        ({"contentMediaType": "application/json"}, "{", True),
        ({"type": "string", "maxLength": 1}, "\ud800", True),
        ({"additionalProperties": {"type": "integer"}}, {"\ud800": 1}, True),
        ({"minimum": 5}, 10**400, True),
        ({"minimum": 5}, -(10**400), False),
        ({"multipleOf": 0.1}, 0.3, True),
        ({"uniqueItems": True}, [1, True, "1"], True),
        ({"uniqueItems": True}, [1, 1.0], False),
        ({"pattern": "(?i)^a$"}, "A", True),
        ({"not": {"pattern": r"^\d$"}}, "٢", True),
        ({"pattern": r"^(?<year>\d{4})-(?<month>\d\d)$"}, "2026-03", True),
        ({"pattern": r"^\cA[\s\S]\w$"}, "\x01\na", True),
        ({"pattern": r"^\p{Lu}\p{L}+(?=m)m$"}, "Özlem", True),
        ({"pattern": r"^(.)\1$"}, "aa", True),
        ({"pattern": "a"}, "\ud800a", True),
        ({"pattern": r"^(?!x)a$"}, "a", True),
        ({"pattern": r"^(?!x)\d\u{31}[$]$"}, "31$", True),
        ({"pattern": r"^(?!x)a$"}, "a\n", False),
        ({"patternProperties": {"^a$": {"type": "integer"}}, "additionalProperties": False}, {"a\n": 1}, False),
        (True, {"a": 1}, True),
        (False, {"a": 1}, False),
        ({}, None, True),
    ],
)
def test_verdicts_on_odd_schemas_and_values(schema, value, valid):
    assert Validator(schema).is_valid(value) is valid


@pytest.mark.parametrize(
    ("schema", "problem"),
    [
        (None, "a JSON Schema is an object, not null"),
        ([], "a JSON Schema is an object, not array"),
        ({"properties": {"a": {"type": "strnig"}}}, "at /properties/a/type: "),
        ({"required": "a"}, "at /required: "),
        ({"pattern": "("}, "at /pattern: "),
        ({"$defs": {"a": {"type": "strnig"}}}, "at /$defs/a/type: "),
    ],
)
def test_an_unusable_schema_is_kept_as_a_problem(schema, problem):
    validator = Validator(schema)
    assert validator.problems
    assert validator.problem.startswith(problem)
    assert not validator.is_valid({})
    assert problem in str(validator.first_error({}))


def test_all_that_is_wrong_with_a_schema_is_told_once():
    schema = {
        "type": "objekt",
        "properties": {"type": {"type": ["strng", "null"]}, "b": {"pattern": "(", "minLength": "x"}},
        "required": {},
    }
    assert sorted((problem.pointer, problem.message) for problem in Validator(schema).problems) == [
        ("/properties/b/minLength", '"x" is a string, an integer was expected'),
        ("/properties/b/pattern", '"(" is no regular expression: missing ), unterminated subpattern at position 0'),
        ("/properties/type/type", '["strng","null"] fits none of the 2 alternatives'),
        ("/required", "{} is an object, an array was expected"),
        ("/type", "no type 'objekt'; did you mean 'object'?"),
    ]
    assert Validator({"properties": {"type": {"type": "string"}}}).problems == ()


@pytest.mark.parametrize("name", ["type", "properties"])
def test_a_property_may_have_the_name_of_a_keyword(name):
    (problem,) = Validator({"properties": {name: "string"}}).problems
    assert problem.pointer == f"/properties/{name}"
    assert "no type" not in problem.message


def test_a_name_in_a_pointer_is_escaped():
    (problem,) = Validator({"properties": {"a/b~c": {"type": "strng"}}}).problems
    assert problem.pointer == "/properties/a~1b~0c/type"
    assert Validator({"properties": {"a/b": {"type": "strng"}}}).problem.startswith("at /properties/a~1b/type: ")


@pytest.mark.parametrize(
    ("schema", "declared", "draft7"),
    [
        ({"prefixItems": [{"type": "string"}]}, False, True),
        ({"$schema": "http://json-schema.org/draft-07/schema#", "prefixItems": [{"type": "string"}]}, True, True),
        ({"$schema": "http://json-schema.org/draft-07/schema#", "items": [{"type": "string"}]}, False, False),
        ({"$schema": "http://example.org/mine", "prefixItems": [{"type": "string"}]}, False, True),
        ({"$ref": "#/$defs/a", "type": "string", "$defs": {"a": True}}, False, True),
        ({"$defs": {"a": {"type": "strnig"}}}, False, True),
        (True, True, False),
    ],
)
def test_the_declared_draft_and_draft7_are_two_answers(schema, declared, draft7):
    validator = Validator(schema)
    assert validator.is_valid([1]) is declared
    assert validator.is_valid_draft7([1]) is draft7


@pytest.mark.parametrize("reference", ["#/$defs/none", "http://127.0.0.1:9/schema.json", "other.json"])
def test_a_schema_with_a_reference_that_leads_nowhere_admits_nothing(reference):
    validator = Validator({"properties": {"a": {"$ref": reference}}})
    assert not validator.problems
    for value in ({"a": 1}, {"b": 1}):
        assert not validator.is_valid(value)
        assert "the schema cannot be applied: " in str(validator.first_error(value))


def test_a_reference_to_itself_ends():
    validator = Validator({"properties": {"a": {"allOf": [{"$ref": "#/properties/a"}, {"type": "integer"}]}}})
    assert validator.is_valid({"a": 1})
    assert not validator.is_valid({"a": "x"})


HOSTILE = "^(a+)+$"
LONG = "a" * 5000 + "!"
DRAFT_4 = "http://json-schema.org/draft-04/schema#"


@pytest.mark.timeout(60)
@pytest.mark.parametrize("draft", [{}, {"$schema": DRAFT_4}], ids=["latest", "4"])
@pytest.mark.parametrize(
    ("schema", "value", "valid"),
    [
        ({"pattern": HOSTILE}, LONG, False),
        ({"not": {"pattern": HOSTILE}}, LONG, True),
        ({"patternProperties": {HOSTILE: {"type": "null"}}}, {LONG: 1}, True),
        ({"patternProperties": {HOSTILE: {}}, "additionalProperties": False}, {LONG: 1}, False),
        ({"patternProperties": {HOSTILE: {}, "b": {}}, "additionalProperties": {"type": "null"}}, {LONG: None}, True),
        ({"items": {"$ref": "#/definitions/x"}, "definitions": {"x": {"pattern": HOSTILE}}}, [LONG], False),
        ({"pattern": r"^(?=(\w+\s?)*$)x"}, "word " * 1000 + "!", False),
        ({"pattern": r"^(.*)(.*)(.*)(.*)(.*)(.*)\1x$"}, "word " * 1000 + "!", False),
    ],
)
def test_no_pattern_hangs(draft, schema, value, valid):
    validator = Validator({**draft, **schema})
    assert validator.is_valid(value) is valid
    assert (validator.first_error(value) is None) is valid


def test_what_only_looks_like_a_pattern_is_no_mistake():
    schema = {"default": {"pattern": "("}, "properties": {"pattern": {"const": "("}}}
    assert Validator(schema).is_valid({"pattern": "("})


def nested(depth, make_level):
    value: object = {}
    for _ in range(depth):
        value = make_level(value)
    return value


def test_deep_values_and_schemas_do_not_crash():
    tree = Validator({"type": "object", "properties": {"a": {"$ref": "#"}}})
    assert tree.is_valid(nested(20, lambda inner: {"a": inner}))
    assert not tree.is_valid(nested(10_000, lambda inner: {"a": inner}))
    assert tree.first_error(nested(10_000, lambda inner: {"a": inner})) is not None
    assert "deep" in Validator(nested(10_000, lambda inner: {"not": inner})).problem


def test_a_long_value_is_shortened_in_a_reason():
    assert len(str(Validator({"type": "integer"}).first_error(["x" * 100_000]))) < 300


def test_errors_are_limited():
    validator = Validator({"items": {"type": "integer"}})
    assert [str(error.path) for error in validator.errors(["a", 1, "b", "c"], limit=2)] == ["[0]", "[2]"]
    assert validator.errors([1]) == ()


keywords = st.fixed_dictionaries(
    {},
    optional={
        "type": st.sampled_from(["object", "array", "string", "integer", "number", "boolean", "null", "any"])
        | st.lists(st.sampled_from(["string", "null", "integer"]), min_size=1, unique=True),
        "enum": st.lists(json_values, min_size=1, max_size=3),
        "const": json_values,
        "minimum": st.integers(-5, 5),
        "maxLength": st.integers(0, 5),
        "minItems": st.integers(0, 3),
        "uniqueItems": st.booleans(),
        "required": st.lists(st.text(max_size=3), max_size=2, unique=True),
        "multipleOf": st.sampled_from([1, 2, 0.5]),
        "pattern": st.sampled_from(["^a", "[a-z]+", "[^0]", "(a|b)?", "(?:x)", "("]),
        "format": st.just("date"),
        "$ref": st.sampled_from(["#", "#/properties/a", "#/not", "#/anyOf/0"]),
    },
)
schemas = st.recursive(
    keywords,
    lambda inner: st.builds(
        lambda base, more: {**base, **more},
        keywords,
        st.fixed_dictionaries(
            {},
            optional={
                "properties": st.dictionaries(st.text(max_size=3) | st.just("a"), inner, max_size=2),
                "items": inner | st.lists(inner, max_size=2),
                "prefixItems": st.lists(inner, min_size=1, max_size=2),
                "additionalProperties": inner | st.booleans(),
                "anyOf": st.lists(inner, min_size=1, max_size=2),
                "oneOf": st.lists(inner, min_size=1, max_size=2),
                "not": inner,
                "contains": inner,
            },
        ),
    ),
    max_leaves=5,
)


@given(schemas, json_values | st.dictionaries(st.text(max_size=3) | st.just("a"), json_values, max_size=3))
def test_verdicts_are_those_of_jsonschema(schema, value):
    validator = Validator(schema)
    assert (validator.first_error(value) is None) == validator.is_valid(value)
    assert bool(validator.problems) is (validator.problem is not None)
    if "cannot be applied" in str(validator.first_error(value)):  # a reference leads nowhere: nothing is admitted
        return
    try:
        jsonschema.Draft202012Validator.check_schema(schema)
        expected = jsonschema.Draft202012Validator(schema).is_valid(value)
    except (jsonschema.SchemaError, re.error, RecursionError, Unresolvable):
        return
    assert validator.is_valid(value) == expected


@pytest.mark.parametrize("keyword", ["anyOf", "oneOf"])
def test_a_mistake_deep_in_alternatives_is_told_in_little_time(keyword):
    parts = {"type": "array", "items": {keyword: [{"$ref": "#/$defs/section"}, {"$ref": "#/$defs/item"}]}}
    made = {"type": "object", "properties": {"title": {"type": "string"}, "parts": parts}, "required": ["title"]}
    validator = Validator({"$defs": {"section": made, "item": made}, "$ref": "#/$defs/section"})
    value = nested(40, lambda inner: {"title": "a", "parts": [inner or {"title": 7}]})
    assert "fits none of the 2 alternatives" in str(validator.first_error(value))


@pytest.mark.parametrize("keyword", ["anyOf", "oneOf"])
def test_so_is_one_where_unevaluated_wants_to_know_what_they_looked_at(keyword):
    closed = {"unevaluatedProperties": False}
    parts = [{"$ref": "#/$defs/section"}, {"allOf": [{"$ref": "#/$defs/section"}], "required": ["note"]}]
    made = {"properties": {"title": {"type": "string"}, "part": {keyword: parts, **closed}}}
    validator = Validator({"$defs": {"section": made}, "$ref": "#/$defs/section", **closed})
    right, wrong, more = (
        nested(40, lambda inner, end=end: {"title": "a", "part": inner or end})
        for end in ({"title": "b"}, {"title": 7}, {"title": "b", "extra": 1})
    )
    assert validator.first_error(right) is None
    assert "fits none of the 2 alternatives" in str(validator.first_error(wrong))
    assert not validator.is_valid(more)
    (only,) = validator.errors({"title": "a", "part": {"title": "b"}, "extra": 1})
    assert "('extra' was unexpected)" in str(only)


@pytest.mark.parametrize(
    "more", [{"patternProperties": {"^part": {"$ref": "#"}}}, {"allOf": [{"$ref": "#/$defs/twin"}]}]
)
def test_so_is_one_where_two_parts_hold_for_each_value(more):
    part = {"properties": {"title": {"type": "string"}, "part": {"$ref": "#"}}}
    validator = Validator({"$defs": {"twin": part}, "type": "object", **part, **more})
    right, wrong = (nested(60, lambda inner, end=end: {"part": inner or {"title": end}}) for end in ("a", 7))
    assert validator.is_valid(right)
    assert not validator.is_valid(wrong)
    (only,) = validator.errors(wrong)
    assert str(only).endswith("part.title`: 7 is an integer, a string was expected")


def test_values_of_subclasses_are_what_they_derive_from():
    class Text(str):
        __slots__ = ()

    class Number(float):
        __slots__ = ()

    validator = Validator({"type": "object", "properties": {"a": {"type": Text("number")}}, "required": [Text("a")]})
    assert validator.is_valid({Text("a"): Number(1.5)})
    assert not validator.is_valid({"a": Text("x")})


@pytest.mark.parametrize("draft", [DRAFT_4, "http://json-schema.org/draft-07/schema#", ""])
@pytest.mark.parametrize(
    ("pattern", "value"),
    [("^[a-z]{2}]?$", "de]"), (r"^\[a]$", "[a]"), ("^a}$", "a}"), (r"^\p{L}[}\]]]$", "é}]"), ("^x{2}$", "xx")],
)
def test_bare_brackets_in_patterns_are_characters(draft, pattern, value):
    validator = Validator(({"$schema": draft} if draft else {}) | {"patternProperties": {"a]": {"pattern": pattern}}})
    assert validator.is_valid({"a]": value})
    assert "does not match" in str(validator.first_error({"a]": "7"}))


@pytest.mark.parametrize("draft", [DRAFT_4, "http://json-schema.org/draft-07/schema#", ""])
@pytest.mark.parametrize("name", ["Page<Item>", "Record<string,any>", "A|B", "two words", "rows[]", "Größe"])
def test_names_of_definitions_need_no_escapes(draft, name):
    schema = {"properties": {"a": {"$ref": f"#/definitions/{name}"}}, "definitions": {name: {"type": "integer"}}}
    validator = Validator(({"$schema": draft} if draft else {}) | schema)
    assert validator.is_valid({"a": 1})
    assert str(validator.first_error({"a": "x"})) == '`a`: "x" is a string, an integer was expected'


@pytest.mark.parametrize("name", ["default", "const", "examples", "pattern"])
def test_a_property_named_like_a_keyword_of_data_is_a_schema(name):
    schema = {"$schema": DRAFT_4, "properties": {name: {"type": "string", "pattern": "^a]$"}}}
    assert Validator(schema).is_valid({name: "a]"})
    assert not Validator(schema).is_valid({name: "a"})


def test_definitions_may_stand_under_any_key():
    made = {"anyOf": [{"type": "string", "pattern": "^a]$"}, {"$ref": "#/components/schemas/Page<Item>"}]}
    schema = {"$schema": DRAFT_4, "items": {"$ref": "#/components/schemas/Text"}}
    schema["components"] = {"schemas": {"Text": made, "Page<Item>": {"type": "integer"}}}
    assert Validator(schema).is_valid(["a]", 1])
    assert str(Validator(schema).first_error(["b"])) == '`[0]`: "b" fits none of the 2 alternatives'


def test_a_schema_with_an_integer_too_long_to_show_where_none_can_stand():
    (problem,) = Validator({"required": 10**5000}).problems
    assert problem.message == "it has an integer of more than 4300 digits where none can stand"


def test_a_lone_surrogate_is_the_same_in_schema_and_value_whatever_the_order_of_keys():
    schema = {"properties": {"b": {"items": {"required": ["\ud800"]}}}}
    value = {"b": [{"\ud800": 1}], "\ud800": {}}
    for each in (value, dict(reversed(value.items())), {"b": [{"\ud800": 1}]}):
        assert Validator(schema).is_valid(each)
        assert Validator(schema).errors(each) == ()
    assert not Validator(schema).is_valid({"b": [{"a": 1}]})
