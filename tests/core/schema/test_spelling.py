"""Keys of a schema that would be ignored: unknown annotations, and keywords that are a letter or two off."""

from __future__ import annotations

import pytest

from pytest_extract import compile_schema, score
from pytest_extract.errors import SchemaError

TEXT = {"type": "string"}


def of(**keys):
    return {"type": "object", "properties": {"a": {"type": "object", "properties": {"b": TEXT}, **keys}}}


SLIPS = [
    ("evaluation_confg", "string_fuzzy", "evaluation_config"),
    ("evaluationConfig", {"metrics": []}, "evaluation_config"),
    ("evaluatoin_config", "string_exact", "evaluation_config"),
    ("x_eval_compare", "exact", "x-eval-compare"),
    ("x-evl-compare", "exact", "x-eval-compare"),
    ("properteis", {"c": TEXT}, "properties"),
    ("propertes", {"c": TEXT}, "properties"),
    ("requird", ["b"], "required"),
    ("Required", ["b"], "required"),
    ("itmes", TEXT, "items"),
    ("item", TEXT, "items"),
    ("additional_properties", False, "additionalProperties"),
    ("aditionalProperties", False, "additionalProperties"),
    ("any_of", [TEXT], "anyOf"),
    ("anyof", [TEXT], "anyOf"),
    ("enun", ["x"], "enum"),
    ("tpye", "string", "type"),
    ("typ", ["string", "null"], "type"),
    ("fromat", "date", "format"),
    ("minimun", 3, "minimum"),
    ("maxItem", 3, "maxItems"),
    ("uniqueitems", True, "uniqueItems"),
    ("descripton", "what it is", "description"),
    ("defs", {"c": TEXT}, "$defs"),
]


@pytest.mark.parametrize(("key", "value", "meant"), SLIPS, ids=[key for key, *_ in SLIPS])
def test_a_key_a_letter_or_two_beside_a_known_one_is_a_mistake(key, value, meant):
    with pytest.raises(SchemaError, match=f"no keyword '{key}'; did you mean '{meant.replace('$', '[$]')}'") as caught:
        compile_schema(of(**{key: value}))
    assert caught.value.pointer == f"/properties/a/{key}"


@pytest.mark.parametrize(
    ("key", "hint"),
    [
        ("x-eval-metric", "known: x-eval-align, x-eval-compare,"),
        ("x-eval-mode", "known: x-eval-align"),
        ("x-eval-compar", "did you mean 'x-eval-compare'?"),
        ("x-eval-rule", "did you mean 'x-eval-rules'?"),
    ],
)
@pytest.mark.parametrize("place", ["root", "property", "rows", "definition", "branch"])
def test_every_unknown_annotation_is_a_mistake_wherever_it_stands(key, hint, place):
    part = {"type": "string", key: "fuzzy"}
    schema = {
        "root": {"type": "object", "properties": {}, key: 1},
        "property": {"type": "object", "properties": {"a": part}},
        "rows": {"type": "array", "items": part},
        "definition": {"type": "object", "$defs": {"never used": part}},
        "branch": {"anyOf": [{"type": "number"}, part]},
    }[place]
    with pytest.raises(SchemaError, match=f"no annotation '{key}'; {hint.replace('?', '[?]')}"):
        compile_schema(schema)


def test_all_slips_are_told_at_once_with_other_mistakes():
    schema = {**of(requird=["b"]), "properteis": {}, "evaluation_config": "nope"}
    with pytest.raises(SchemaError) as caught:
        compile_schema(schema)
    pointers = [error.pointer for error in caught.value.errors]
    assert pointers == ["/properteis", "/properties/a/requird", "/evaluation_config"]


DATA = {
    "properties": {
        "type": "object",
        "properties": {"itmes": TEXT, "requird": TEXT, "x-eval-metric": TEXT, "typ": TEXT},
    },
    "patterns": {"type": "object", "patternProperties": {"enun": TEXT}},
    "definitions": {"type": "object", "$defs": {"itmes": TEXT}, "definitions": {"typ": TEXT}},
    "constant": {"const": {"properteis": 1}},
    "words": {"enum": [{"requird": []}]},
    "default": {"type": "object", "default": {"x-eval-metric": 1}, "examples": [{"itmes": 1}], "example": {"typ": 1}},
    "inside an own key": {"type": "object", "x-ui": {"properteis": 1}, "widget": {"itmes": {}}},
    "vendor extension": {"type": "string", "x-ui-order": 3, "x-enum-varnames": ["A"], "x-order": 1},
    "far from any": {"type": "string", "label": "L", "unit": "EUR", "group": 1, "aliases": ["a"], "source": "p. 3"},
    "near one that holds something else": {"type": "string", "note": "a text", "ui": {"hidden": True}, "count": 3},
    "of other drafts": {"type": "object", "divisibleBy": 2, "extends": {}, "discriminator": {}, "propertyOrdering": []},
    "two edits from a short keyword": {"type": "object", "refs": {"c": TEXT}, "form": "b", "rows": {}, "tags": ["a"]},
    "put out of use": {"type": "object", "x-deprecated": True, "xrequired": ["b"], "x-format": "date"},
    "definitions by another name": {"properties": {"a": {"$ref": "#/defs/a"}}, "defs": {"a": TEXT}},
}


@pytest.mark.parametrize("schema", DATA.values(), ids=DATA)
def test_data_and_keys_of_others_are_no_mistakes(schema):
    compile_schema(schema)


def test_a_call_that_names_a_system_takes_what_its_program_takes():
    schema = {"type": "object", "properties": {"a": {"type": "string", "x-eval-compare": "exact", "x-eval-mode": 1}}}
    assert score(schema, {"a": "x"}, {"a": "x"}, semantics="struct-extract-eval").measures["f1"] == 1.0
    with pytest.raises(SchemaError, match="no annotation 'x-eval-mode'"):
        compile_schema(schema, semantics="struct-extract-eval", as_published=False)
