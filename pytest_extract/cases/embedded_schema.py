"""A schema out of the middle of a file, with what it refers to elsewhere in that file brought along."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

from pytest_extract.cases.json_text import pointer_steps
from pytest_extract.cases.source_position import Steps
from pytest_extract.core.schema.source import SchemaSource, escape
from pytest_extract.core.values import Json
from pytest_extract.errors import nearest
from pytest_extract.schema_tools.subschemas import map_children

_METASCHEMAS: Final = ("http://json-schema.org/", "https://json-schema.org/")
_SHARED: Final = ("$defs", "definitions")

SCHEMA_KEYWORDS: Final = frozenset(
    (
        "type", "properties", "items", "enum", "const", "required", "not", "if", "$ref", "allOf", "anyOf",
        "oneOf", "$defs", "definitions", "prefixItems", "additionalProperties", "patternProperties", "propertyNames",
        "dependentSchemas", "contains", "$dynamicRef", "evaluation_config",
    )
)  # fmt: skip
"""A schema's root has at least one of these keywords, unless it accepts any value."""


class EmbeddedSchema(NamedTuple):
    """A self-contained schema; `moved`: name in its `$defs` -> place of that definition in the file."""

    value: Json
    moved: Mapping[str, Steps]


def embedded_schema(root: Json, pointer: str, inside: Json) -> EmbeddedSchema:
    """Make the schema `inside` a file, at a pointer, stand by itself.

    Its references mean places of the file. A reference that leads nowhere in the file is left as it is: it may mean a
    place of the schema itself. A schema with an `$id` is a document of its own.
    """
    if not pointer or not isinstance(inside, dict) or "$id" in inside:
        return EmbeddedSchema(inside, {})
    try:
        return _Bundler(root, pointer, inside).bundled()
    except RecursionError:  # told where the schema is compiled
        return EmbeddedSchema(inside, {})


class _Bundler:
    def __init__(self, root: Json, pointer: str, inside: dict[str, Json]) -> None:
        self._root = root
        self._source = SchemaSource(root)
        self._pointer = pointer
        self._inside = inside
        own = inside.get("$defs")
        self._taken = set(own) if isinstance(own, dict) else set()
        self._names: dict[str, str] = {}

    def bundled(self) -> EmbeddedSchema:
        value = self._rewritten(self._inside, self._pointer)
        done: dict[str, Json] = {}
        while waiting := [target for target in self._names if self._names[target] not in done]:
            for target in waiting:
                done[self._names[target]] = self._rewritten(self._source.at(target), target)
        if not done:
            return EmbeddedSchema(self._inside, {})
        moved = {name: pointer_steps(self._root, target) or () for target, name in self._names.items()}
        own = value.get("$defs")
        return EmbeddedSchema({**value, "$defs": {**(own if isinstance(own, dict) else {}), **done}}, moved)

    def _rewritten(self, schema: Json, pointer: str) -> Json:
        if not isinstance(schema, dict):
            return schema
        new = map_children(schema, pointer, self._rewritten)
        ref = schema.get("$ref")
        target = self._source.target(ref) if isinstance(ref, str) else None
        return new if target is None else {**new, "$ref": self._place_of(target)}

    def _place_of(self, target: str) -> str:
        if target == self._pointer:
            return "#"
        if target.startswith(f"{self._pointer}/"):
            return f"#{target.removeprefix(self._pointer)}"
        if target not in self._names:
            self._names[target] = self._free_name(target)
        return f"#/$defs/{escape(self._names[target])}"

    def _free_name(self, target: str) -> str:
        name = target.rpartition("/")[2].replace("~1", "/").replace("~0", "~") or "root"
        taken = self._taken | set(self._names.values())
        return next(free for free in _numbered(name) if free not in taken)


def _numbered(name: str) -> Iterator[str]:
    yield name
    number = 2
    while True:
        yield f"{name}-{number}"
        number += 1


class Dangling(NamedTuple):
    """A reference that leads nowhere: the pointer of its place, and what is wrong with it."""

    pointer: str
    message: str


def dangling(schema: Json) -> list[Dangling]:
    """Return the references of a schema that lead nowhere in it.

    None for a schema that holds documents of their own (with an `$id`): what a reference means inside those is
    jsonschema's to say.
    """
    source = SchemaSource(schema)
    found: list[Dangling] = []
    documents: list[str] = []

    def look(part: Json, pointer: str) -> Json:
        if isinstance(part, dict):
            if pointer and isinstance(part.get("$id"), str):
                documents.append(pointer)
            ref = part.get("$ref")
            if isinstance(ref, str) and not ref.startswith(_METASCHEMAS) and source.target(ref) is None:
                found.append(Dangling(f"{pointer}/$ref", _message(ref, schema)))
            map_children(part, pointer, look)
        return part

    try:
        look(schema, "")
    except RecursionError:  # told where the schema is compiled
        return []
    return [] if documents else found


def _message(ref: str, schema: Json) -> str:
    if not ref.startswith("#"):
        return f"the reference {ref!r} leads to another document, which is not fetched; put what it means under `$defs`"
    known = [f"#/{key}/{escape(name)}" for key in _SHARED for name in _members(schema, key)]
    return f"the reference {ref!r} leads nowhere{nearest(ref, known)}"


def _members(schema: Json, key: str) -> list[str]:
    members = schema.get(key) if isinstance(schema, dict) else None
    return [str(name) for name in members] if isinstance(members, dict) else []


def wrapped_schema(value: Json) -> str | None:
    """Return the key that holds the schema, if the root has no keyword of a schema."""
    if (
        not isinstance(value, dict)
        or any(key in SCHEMA_KEYWORDS for key in value)
        or any(key[:7] == "x-eval-" for key in value)
    ):
        return None
    inner = [key for key, part in value.items() if isinstance(part, dict) and ("type" in part or "properties" in part)]
    return inner[0] if len(inner) == 1 and inner[0] not in ("$defs", "definitions") else None
