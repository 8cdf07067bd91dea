from __future__ import annotations

import json
from pathlib import Path

import pytest

from pytest_extract.cases.schemas import SchemaCache, dangling, embedded_schema, wrapped_schema
from pytest_extract.core.scorer import compile_schema

FILE = {
    "type": "object",
    "definitions": {"Money": {"type": "number"}},
    "components": {
        "Money": {"enum": ["EUR"]},
        "Vendor": {"properties": {"parent": {"$ref": "#/components/Vendor"}, "debt": {"$ref": "#/definitions/Money"}}},
        "Invoice": {
            "$defs": {"Money": {"type": "integer"}},
            "properties": {
                "vendor": {"$ref": "#/components/Vendor"},
                "total": {"$ref": "#/definitions/Money"},
                "currency": {"$ref": "#/components/Money"},
                "part_of": {"$ref": "#/components/Invoice"},
                "own": {"$ref": "#/components/Invoice/$defs/Money"},
                "gone": {"$ref": "#/nowhere"},
                "note": {"const": {"$ref": "#/definitions/Money"}},
            },
        },
    },
}


def embedded(root, pointer, inside):
    def read(file):
        raise AssertionError(file)

    return embedded_schema(root, pointer, inside, Path("file.json").resolve(), read)


def test_what_a_schema_refers_to_in_its_file_is_brought_along():
    made = embedded(FILE, "/components/Invoice", FILE["components"]["Invoice"])
    fields = made.value["properties"]
    assert {name: fields[name]["$ref"] for name in list(fields)[:6]} == {
        "vendor": "#/$defs/Vendor",
        "total": "#/$defs/Money-2",
        "currency": "#/$defs/Money-3",
        "part_of": "#",
        "own": "#/$defs/Money",
        "gone": "#/nowhere",
    }
    assert fields["note"] == FILE["components"]["Invoice"]["properties"]["note"]
    assert made.value["$defs"] == {
        "Money": {"type": "integer"},
        "Vendor": {"properties": {"parent": {"$ref": "#/$defs/Vendor"}, "debt": {"$ref": "#/$defs/Money-2"}}},
        "Money-2": {"type": "number"},
        "Money-3": {"enum": ["EUR"]},
    }
    assert made.moved == {
        "Vendor": ("components", "Vendor"),
        "Money-2": ("definitions", "Money"),
        "Money-3": ("components", "Money"),
    }


@pytest.mark.parametrize(
    ("root", "pointer"),
    [
        pytest.param(FILE, "", id="whole-file"),
        pytest.param({"a": {"type": "string"}}, "/a", id="no-reference"),
        pytest.param({"a": {"$defs": {"b": {}}, "$ref": "#/$defs/b"}}, "/a", id="reference-inside-itself"),
        pytest.param({"b": {}, "a": {"$id": "http://x/a", "$ref": "#/b"}}, "/a", id="document-of-its-own"),
        pytest.param({"a": True}, "/a", id="boolean"),
    ],
)
def test_what_stands_by_itself_is_left_as_it_is(root, pointer):
    inside = root[pointer[1:]] if pointer else root
    assert embedded(root, pointer, inside).value is inside


@pytest.mark.parametrize(
    ("schema", "found"),
    [
        pytest.param({"$ref": "#/$defs/a", "$defs": {"a": {"$anchor": "x"}, "b": {"$ref": "#x"}}}, [], id="sound"),
        pytest.param({"items": {"$ref": "#/$defs/a"}}, ["/items/$ref"], id="nowhere"),
        pytest.param({"anyOf": [{}, {"$ref": "other.json#/a"}]}, ["/anyOf/1/$ref"], id="other-document"),
        pytest.param({"$ref": "#/$defs/a", "$defs": None, "definitions": 1}, ["/$ref"], id="definitions-left-empty"),
        pytest.param({"$ref": "#/prefixItems/00", "prefixItems": [{}]}, ["/$ref"], id="no-index"),
        pytest.param({"$ref": "https://json-schema.org/draft/2020-12/schema"}, [], id="metaschema"),
        pytest.param({"enum": [{"$ref": "#/no"}], "properties": {"$ref": {}}}, [], id="no-schema"),
        pytest.param(
            {"$defs": {"a": {"$id": "a.json", "$defs": {"c": {}}, "$ref": "#/$defs/c"}}}, [], id="inner-document"
        ),
    ],
)
def test_references_that_lead_nowhere(schema, found):
    assert [each.pointer for each in dangling(schema)] == found


def test_a_schema_too_deep_to_be_walked_is_left_to_its_compilation():
    deep = {}
    for _ in range(20_000):
        deep = {"items": deep}
    assert dangling(deep) == []
    assert embedded({"a": deep}, "/a", deep).value is deep


def write(folder, **files):
    for name, value in files.items():
        path = folder / f"{name.replace('__', '/')}.json"
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps(value))


PERSON = {"type": "object", "properties": {"name": {"type": "string"}, "home": {"$ref": "../places.json#/$defs/Home"}}}
PLACES = {
    "$id": "https://example.com/places.json",
    "$defs": {"Home": {"properties": {"zip": {"$ref": "#/$defs/zip"}, "owner": {"$ref": "people/person.json"}}}},
}


def test_what_a_schema_refers_to_in_other_files_is_brought_along(tmp_path):
    zips = {"type": "string", "format": "date"}
    write(tmp_path, people__person=PERSON, places={**PLACES, "$defs": {**PLACES["$defs"], "zip": zips}})
    (tmp_path / "pyproject.toml").touch()
    cache = SchemaCache()
    source = cache.source(str(tmp_path / "people" / "person.json"))
    place = cache.schema_in(source, "")
    assert dangling(place.value) == []
    assert [file.path for file in place.others] == [tmp_path / "places.json"]
    assert cache.schema_in(source, "") is place
    gold, other = ({"name": "a", "home": {"owner": {"name": "b", "home": {"zip": zip_}}}} for zip_ in ("1", "2"))
    leaves = compile_schema(place.value).score(gold, other).leaves
    assert [(str(leaf.path), leaf.metric, leaf.status) for leaf in leaves][-1] == (
        "home.owner.home.zip",
        "date",
        "mismatch",
    )


def test_definitions_may_be_left_empty_beside_a_reference_to_another_file(tmp_path):
    write(tmp_path, main={"$defs": None, "properties": {"a": {"$ref": "other.json"}}}, other={"type": "string"})
    cache = SchemaCache()
    place = cache.schema_in(cache.source(str(tmp_path / "main.json")), "")
    assert place.value["$defs"] == {"other": {"type": "string"}}


@pytest.mark.parametrize("ref", ["../outside.json", "gone.json", "https://example.com/a.json", "other.json#/nowhere"])
def test_no_reference_leaves_the_project(tmp_path, ref):
    write(tmp_path, outside={"type": "string"}, project__other={}, project__main={"properties": {"a": {"$ref": ref}}})
    (tmp_path / "project" / "pytest.ini").touch()
    cache = SchemaCache()
    place = cache.schema_in(cache.source(str(tmp_path / "project" / "main.json")), "")
    assert place.value == {"properties": {"a": {"$ref": ref}}}
    assert [each.pointer for each in dangling(place.value)] == ["/properties/a/$ref"]


BILL = {"type": "object", "properties": {}}


@pytest.mark.parametrize(
    ("value", "pointer"),
    [
        ({"type": "json_schema", "json_schema": {"name": "b", "schema": BILL}}, "json_schema/schema"),
        ({"type": "json_schema", "name": "b", "schema": BILL}, "schema"),
        ({"type": "function", "function": {"name": "b", "parameters": BILL}}, "function/parameters"),
        ({"type": "function", "name": "b", "parameters": BILL}, "parameters"),
        ({"name": "b", "input/schema": BILL}, "input~1schema"),
        (BILL, None),
    ],
)
def test_a_schema_that_is_wrapped_for_a_model_s_api_is_pointed_at(value, pointer):
    assert wrapped_schema(value) == pointer
