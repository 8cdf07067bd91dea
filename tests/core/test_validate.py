"""The schema gate's yes or no, and its reasons; which keyword each draft of JSON Schema knows, as jsonschema reads them."""

from __future__ import annotations

import re

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft7Validator
from jsonschema.validators import validator_for
from referencing.exceptions import Unresolvable

from pytest_extract.core.validate import Validator
from pytest_extract.core.values import same_key
from tests.core.schemas import INTEGER, TEXT, array, obj
from tests.strategies import json_values, nested

DRAFTS = {name: f"http://json-schema.org/draft-0{name}/schema#" for name in "467"}
DRAFTS |= {name: f"https://json-schema.org/draft/{name}/schema" for name in ("2019-09", "2020-12")}
ROWS = {
    **obj(rows=array({"$ref": "#/$defs/row"}), day={**TEXT, "pattern": r"^\d{4}-\d{2}$"}),
    "required": ["rows"],
    "$defs": {"row": {**obj(n=INTEGER), "required": ["n"]}},
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
        (True, {"a": 1}, True),
        (False, {"a": 1}, False),
        ({}, None, True),
        ({"type": "integer"}, 3.0, True),
        ({"type": "integer"}, True, False),
        ({"enum": [1, "a"]}, True, False),
        ({"enum": [1]}, 1.0, True),
        ({"const": None}, None, True),
        ({"type": "string", "format": "date"}, "no date", True),
        ({"contentMediaType": "application/json"}, "{", True),
        ({"multipleOf": 0.1}, 0.3, True),
        ({"uniqueItems": True}, [1, 1.0], False),
        ({"pattern": "(?i)^a$"}, "A", True),
        ({"not": {"pattern": r"^\d$"}}, "٢", True),
        ({"pattern": r"^(?!x)a$"}, "a", True),
        ({"type": "string", "maxLength": 1}, "\ud800", True),
        ({"additionalProperties": INTEGER}, {"\ud800": 1}, True),
        ({"minimum": 5}, 10**400, True),
        ({"minimum": 5}, -(10**400), False),
        ({"uniqueItems": True}, [1, True, "1"], True),
        ({"pattern": r"^(?<year>\d{4})-(?<month>\d\d)$"}, "2026-03", True),
        ({"pattern": r"^\cA[\s\S]\w$"}, "\x01\na", True),
        ({"pattern": r"^\p{Lu}\p{L}+(?=m)m$"}, "Özlem", True),
        ({"pattern": r"^(.)\1$"}, "aa", True),
        ({"pattern": "a"}, "\ud800a", True),
        ({"pattern": r"^(?!x)\d\u{31}[$]$"}, "31$", True),
        ({"pattern": r"^(?!x)a$"}, "a\n", False),
        ({"patternProperties": {"^a$": INTEGER}, "additionalProperties": False}, {"a\n": 1}, False),
    ],
)
def test_verdicts_on_odd_schemas_and_values(schema, value, valid):
    assert Validator(schema).is_valid(value) is valid


@pytest.mark.parametrize(
    ("schema", "problem"),
    [
        (None, "a JSON Schema is an object, not null"),
        ([], "a JSON Schema is an object, not array"),
        ({"pattern": "("}, "at /pattern: "),
        ({"$defs": {"a": {"type": "strnig"}}}, "at /$defs/a/type: "),
        ({"properties": {"a": {"type": "strnig"}}}, "at /properties/a/type: "),
        ({"required": "a"}, "at /required: "),
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
    assert Validator({"properties": {"type": TEXT}}).problems == ()


def test_places_in_a_schema_are_pointers():
    (problem,) = Validator({"properties": {"a/b~c": {"type": "strng"}}}).problems
    assert problem.pointer == "/properties/a~1b~0c/type"
    for name in ("type", "properties"):  # a property may have the name of a keyword
        (problem,) = Validator({"properties": {name: "string"}}).problems
        assert problem.pointer == f"/properties/{name}"
        assert "no type" not in problem.message


@pytest.mark.parametrize(
    ("schema", "declared", "draft7"),
    [
        ({"prefixItems": [TEXT]}, False, True),
        ({"$schema": DRAFTS["7"], "prefixItems": [TEXT]}, True, True),
        ({"$schema": DRAFTS["7"], "items": [TEXT]}, False, False),
        ({"$schema": "http://example.org/mine", "prefixItems": [TEXT]}, False, True),
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
    validator = Validator({"properties": {"a": {"allOf": [{"$ref": "#/properties/a"}, INTEGER]}}})
    assert validator.is_valid({"a": 1})
    assert not validator.is_valid({"a": "x"})


HOSTILE = "^(a+)+$"
LONG = "a" * 5000 + "!"
DRAFT_4 = DRAFTS["4"]


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


def test_deep_values_and_schemas_do_not_crash():
    tree = Validator(obj(a={"$ref": "#"}))
    assert tree.is_valid(nested(20, {}, objects=True))
    assert not tree.is_valid(nested(10_000, {}, objects=True))
    assert tree.first_error(nested(10_000, {}, objects=True)) is not None
    assert "deep" in Validator(nested(10_000, {}, objects=True, key="not")).problem


def test_errors_are_limited_in_number_and_length():
    validator = Validator({"items": INTEGER})
    assert [str(error.path) for error in validator.errors(["a", 1, "b", "c"], limit=2)] == ["[0]", "[2]"]
    assert validator.errors([1]) == ()
    assert len(str(validator.first_error(["x" * 100_000]))) < 300


# --- as jsonschema says

types = st.sampled_from(["object", "array", "string", "integer", "number", "boolean", "null", "any"])
names = st.text(max_size=3) | st.just("a")
keywords = st.fixed_dictionaries(
    {},
    optional={
        "type": types | st.lists(types, min_size=1, max_size=2, unique=True),
        # each value once: Draft 4 wants that, and jsonschema-rs does not look
        "enum": st.lists(json_values, min_size=1, max_size=3, unique_by=same_key),
        "const": json_values,
        "minimum": st.integers(-5, 5),
        "maxLength": st.integers(0, 5),
        "minItems": st.integers(0, 3),
        "minContains": st.integers(0, 2),
        "uniqueItems": st.booleans(),
        "required": st.lists(names, max_size=2, unique=True),
        "dependentRequired": st.just({"a": ["b"]}),
        "multipleOf": st.sampled_from([1, 2, 0.5]),
        "pattern": st.sampled_from(["^a", "[a-z]+", "[^0]", "(a|b)?", "(?:x)", "("]),
        "format": st.just("date"),
        "$ref": st.sampled_from(["#", "#/properties/a", "#/not", "#/anyOf/0"]),
    },
)
ONE = ["if", "then", "else", "not", "contains", "additionalItems", "additionalProperties"]
SEVERAL = ["anyOf", "oneOf", "prefixItems"]


def composed(inner):
    several = st.lists(inner | st.booleans(), min_size=1, max_size=2)
    optional = dict.fromkeys(ONE, inner | st.booleans()) | dict.fromkeys(SEVERAL, several) | {"items": inner | several}
    named = st.dictionaries(names, inner, max_size=2)
    parts = st.fixed_dictionaries({}, optional={**optional, "properties": named, "dependentSchemas": named})
    return st.builds(lambda own, more: own | more, keywords, parts)


schemas = st.recursive(keywords, composed, max_leaves=5)
values = json_values | st.dictionaries(names, json_values, max_size=3) | st.sampled_from([[1, 2, "x"], {"a": {"a": 3}}])


@given(schemas, st.sampled_from([*DRAFTS.values(), None]), values)
def test_verdicts_are_those_of_jsonschema(schema, uri, value):
    schema = {**schema, **({"$schema": uri} if uri else {})}
    validator = Validator(schema)
    assert (validator.first_error(value) is None) == validator.is_valid(value)
    assert bool(validator.problems) is (validator.problem is not None)
    if "cannot be applied" in str(validator.first_error(value)):  # a reference leads nowhere: nothing is admitted
        return
    kind = validator_for(schema)
    try:
        kind.check_schema(schema)
        expected = kind(schema).is_valid(value)
    except jsonschema.SchemaError:
        assert validator.problems
        return
    except (re.error, RecursionError, Unresolvable):
        return
    assert not validator.problems
    assert validator.is_valid(value) == expected
    if validator.valid_schema_draft7 and "$ref" not in str(schema):
        assert validator.is_valid_draft7(value) == Draft7Validator(schema).is_valid(value)


KEYWORDS = [*Draft7Validator.META_SCHEMA["properties"], "$defs", "prefixItems", "dependentRequired", "dependentSchemas"]
WRONG = {"type": "strnig"}
ODD = [WRONG, {"a": WRONG}, [WRONG], {"a": ["b"]}, ["b"], ["b", "b"], "(", "#", "a b"]
odd_values = json_values | st.sampled_from(ODD)


@given(st.dictionaries(st.sampled_from(KEYWORDS), odd_values, max_size=3), st.sampled_from(sorted(DRAFTS.values())))
def test_a_schema_satisfies_draft_7_whatever_it_declares(schema, uri):
    for odd in (schema, {"properties": {"a": schema}}, {"definitions": {"a": schema}}):
        declared = {"$schema": uri, **odd}
        if "(" not in str(odd):  # jsonschema asserts no formats
            judge = Draft7Validator(Draft7Validator.META_SCHEMA)
            assert Validator(declared).valid_schema_draft7 == judge.is_valid(declared)


@pytest.mark.parametrize(
    ("schema", "value", "known_by"),
    [
        ({"dependencies": {"a": ["b"]}}, {"a": 1}, ["4", "6", "7", "2019-09", "2020-12"]),
        ({"dependentRequired": {"a": ["b"]}}, {"a": 1}, ["2019-09", "2020-12"]),
        ({"dependentSchemas": {"a": False}}, {"a": 1}, ["2019-09", "2020-12"]),
        ({"if": True, "then": False}, {}, ["7", "2019-09", "2020-12"]),
        ({"const": 1}, 2, ["6", "7", "2019-09", "2020-12"]),
        ({"prefixItems": [False]}, [1], ["2020-12"]),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) and len(value) else None,
)
def test_each_draft_knows_its_own_keywords(schema, value, known_by):
    refused = [name for name, uri in DRAFTS.items() if not Validator({"$schema": uri, **schema}).is_valid(value)]
    assert refused == known_by
    by_draft_7 = [Validator({"$schema": uri, **schema}).is_valid_draft7(value) for uri in DRAFTS.values()]
    assert by_draft_7 == ["7" not in known_by] * len(DRAFTS)


# --- what is wrong deep inside is told in little time


def levels(count, make_level):
    value = {}
    for _ in range(count):
        value = make_level(value)
    return value


@pytest.mark.parametrize("keyword", ["anyOf", "oneOf"])
def test_a_mistake_deep_in_alternatives_is_told_in_little_time(keyword):
    parts = {"type": "array", "items": {keyword: [{"$ref": "#/$defs/section"}, {"$ref": "#/$defs/item"}]}}
    made = {**obj(title=TEXT, parts=parts), "required": ["title"]}
    validator = Validator({"$defs": {"section": made, "item": made}, "$ref": "#/$defs/section"})
    value = levels(40, lambda inner: {"title": "a", "parts": [inner or {"title": 7}]})
    assert "fits none of the 2 alternatives" in str(validator.first_error(value))


@pytest.mark.parametrize("keyword", ["anyOf", "oneOf"])
def test_so_is_one_where_unevaluated_wants_to_know_what_they_looked_at(keyword):
    closed = {"unevaluatedProperties": False}
    parts = [{"$ref": "#/$defs/section"}, {"allOf": [{"$ref": "#/$defs/section"}], "required": ["note"]}]
    made = {"properties": {"title": TEXT, "part": {keyword: parts, **closed}}}
    validator = Validator({"$defs": {"section": made}, "$ref": "#/$defs/section", **closed})
    right, wrong, more = (
        levels(40, lambda inner, end=end: {"title": "a", "part": inner or end})
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
    part = {"properties": {"title": TEXT, "part": {"$ref": "#"}}}
    validator = Validator({"$defs": {"twin": part}, "type": "object", **part, **more})
    right, wrong = (levels(60, lambda inner, end=end: {"part": inner or {"title": end}}) for end in ("a", 7))
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


OLD_AND_NEW = pytest.mark.parametrize("draft", [{"$schema": DRAFT_4}, {"$schema": DRAFTS["7"]}, {}], ids=str)


@OLD_AND_NEW
@pytest.mark.parametrize(
    ("pattern", "value"),
    [("^[a-z]{2}]?$", "de]"), (r"^\[a]$", "[a]"), ("^a}$", "a}"), (r"^\p{L}[}\]]]$", "é}]"), ("^x{2}$", "xx")],
)
def test_bare_brackets_in_patterns_are_characters(draft, pattern, value):
    validator = Validator({**draft, "patternProperties": {"a]": {"pattern": pattern}}})
    assert validator.is_valid({"a]": value})
    assert "does not match" in str(validator.first_error({"a]": "7"}))


@OLD_AND_NEW
@pytest.mark.parametrize("name", ["Page<Item>", "Record<string,any>", "A|B", "two words", "rows[]", "Größe"])
def test_names_of_definitions_need_no_escapes(draft, name):
    schema = {**draft, "properties": {"a": {"$ref": f"#/definitions/{name}"}}, "definitions": {name: INTEGER}}
    assert Validator(schema).is_valid({"a": 1})
    assert str(Validator(schema).first_error({"a": "x"})) == '`a`: "x" is a string, an integer was expected'


def test_what_only_looks_like_a_keyword_is_none():
    data = {"default": {"pattern": "("}, "properties": {"pattern": {"const": "("}}}
    assert Validator(data).is_valid({"pattern": "("})
    for name in ("default", "const", "examples", "pattern"):
        schema = {"$schema": DRAFT_4, "properties": {name: {**TEXT, "pattern": "^a]$"}}}
        assert Validator(schema).is_valid({name: "a]"})
        assert not Validator(schema).is_valid({name: "a"})


def test_definitions_may_stand_under_any_key():
    made = {"anyOf": [{**TEXT, "pattern": "^a]$"}, {"$ref": "#/components/schemas/Page<Item>"}]}
    schema = {"$schema": DRAFT_4, "items": {"$ref": "#/components/schemas/Text"}}
    schema["components"] = {"schemas": {"Text": made, "Page<Item>": INTEGER}}
    assert Validator(schema).is_valid(["a]", 1])
    assert str(Validator(schema).first_error(["b"])) == '`[0]`: "b" fits none of the 2 alternatives'


def test_a_schema_with_an_integer_too_long_to_show_where_none_can_stand():
    (problem,) = Validator({"required": 10**5000}).problems
    assert problem.message == "it has an integer of more than 4300 digits where none can stand"
