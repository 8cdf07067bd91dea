"""Schemas out of files, which stand by themselves once what they refer to is brought along."""

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


DEEP = {}
for _ in range(20_000):
    DEEP = {"items": DEEP}


@pytest.mark.parametrize(
    ("root", "pointer"),
    [
        (FILE, ""),
        ({"a": {"type": "string"}}, "/a"),
        ({"a": {"$defs": {"b": {}}, "$ref": "#/$defs/b"}}, "/a"),
        ({"b": {}, "a": {"$id": "http://x/a", "$ref": "#/b"}}, "/a"),
        ({"a": True}, "/a"),
        ({"a": DEEP}, "/a"),
    ],
    ids=["whole file", "no reference", "reference inside itself", "document of its own", "boolean", "too deep"],
)
def test_what_stands_by_itself_is_left_as_it_is(root, pointer):
    inside = root[pointer[1:]] if pointer else root
    assert embedded(root, pointer, inside).value is inside


@pytest.mark.parametrize(
    ("schema", "found"),
    [
        ({"$ref": "#/$defs/a", "$defs": {"a": {"$anchor": "x"}, "b": {"$ref": "#x"}}}, []),
        ({"items": {"$ref": "#/$defs/a"}}, ["/items/$ref"]),
        ({"anyOf": [{}, {"$ref": "other.json#/a"}]}, ["/anyOf/1/$ref"]),
        ({"$ref": "#/$defs/a", "$defs": None, "definitions": 1}, ["/$ref"]),
        ({"$ref": "#/prefixItems/00", "prefixItems": [{}]}, ["/$ref"]),
        ({"$ref": "https://json-schema.org/draft/2020-12/schema"}, []),
        ({"enum": [{"$ref": "#/no"}], "properties": {"$ref": {}}}, []),
        ({"$defs": {"a": {"$id": "a.json", "$defs": {"c": {}}, "$ref": "#/$defs/c"}}}, []),
        pytest.param(DEEP, [], id="too deep"),
    ],
)
def test_references_that_lead_nowhere(schema, found):
    assert [each.pointer for each in dangling(schema)] == found


@pytest.fixture
def read_schema(tmp_path):
    """Write files, the first of which has the schema, in a project of this folder, and read that schema."""

    def read(project=".", **files):
        for name, value in files.items():
            path = tmp_path / f"{name.replace('__', '/')}.json"
            path.parent.mkdir(exist_ok=True)
            path.write_text(json.dumps(value))
        (tmp_path / project / "pytest.ini").touch()
        cache = SchemaCache()
        source = cache.source(str(tmp_path / f"{next(iter(files)).replace('__', '/')}.json"))
        place = cache.schema(source, ())
        assert cache.schema(source, ()) is place
        return place

    return read


def test_what_a_schema_refers_to_in_other_files_is_brought_along(tmp_path, read_schema):
    home = {"properties": {"zip": {"$ref": "#/$defs/zip"}, "owner": {"$ref": "people/person.json"}}}
    places = {"$id": "https://example.com/places.json", "$defs": {"Home": home, "zip": {"format": "date"}}}
    person = {"properties": {"name": {"type": "string"}, "home": {"$ref": "../places.json#/$defs/Home"}}}
    place = read_schema(people__person=person, places=places)
    assert dangling(place.value) == []
    assert place.others == (tmp_path / "places.json",)
    gold, other = ({"home": {"owner": {"name": "b", "home": {"zip": code}}}} for code in ("1", "2"))
    leaf = compile_schema(place.value).score(gold, other).leaves[-1]
    assert (str(leaf.path), leaf.metric, leaf.status) == ("home.owner.home.zip", "date", "mismatch")


def test_definitions_may_be_left_empty_beside_a_reference_to_another_file(read_schema):
    main = {"$defs": None, "properties": {"a": {"$ref": "other.json"}}}
    assert read_schema(main=main, other={"type": "string"}).value["$defs"] == {"other": {"type": "string"}}


@pytest.mark.parametrize("ref", ["../outside.json", "gone.json", "https://example.com/a.json", "other.json#/nowhere"])
def test_no_reference_leaves_the_project(read_schema, ref):
    main = {"properties": {"a": {"$ref": ref}}}
    place = read_schema("project", project__main=main, project__other={}, outside={"type": "string"})
    assert place.value == main
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
