"""Which parts of a JSON Schema are schemas themselves: properties are, the words of an `enum` or an example are not."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from pytest_extract.core.schema.source import REFERENCES, SchemaSource, escape
from pytest_extract.core.values import Json

Change = Callable[[Json, str], Json]
"""(schema, its pointer) -> the schema to put there."""

_ONE: Final = (
    *("items", "additionalItems", "additionalProperties", "unevaluatedItems", "unevaluatedProperties", "contains"),
    *("propertyNames", "not", "if", "then", "else"),
)
_MANY: Final = ("anyOf", "oneOf", "allOf", "prefixItems", "items")
NAMED: Final = ("properties", "patternProperties", "$defs", "definitions", "dependentSchemas")
"""Keywords below which a key is a name and no keyword."""
_DATA: Final = ("const", "enum", "default", "examples", "example")
"""Keywords whose values are no schemas, whatever they look like."""
EVERYWHERE: Final = (*_ONE, *_MANY, *NAMED)


def schema_objects(schema: Json) -> Iterator[tuple[str, dict[str, Json]]]:
    """Yield every object of a schema that is a schema itself, with its pointer, the whole schema first."""
    stack: list[tuple[str, Json]] = [("", schema)]

    def keep(child: Json, pointer: str) -> Json:
        stack.append((pointer, child))
        return child

    while stack:
        pointer, part = stack.pop()
        if isinstance(part, dict):
            yield pointer, part
            map_children(part, pointer, keep)


def map_children(
    schema: dict[str, Json], pointer: str, change: Change, keywords: tuple[str, ...] = EVERYWHERE
) -> dict[str, Json]:
    """Return the schema with every schema directly inside it (under one of `keywords`) changed."""
    return {
        name: _changed(name, value, f"{pointer}/{name}", change) if name in keywords else value
        for name, value in schema.items()
    }


def led_to(source: SchemaSource, pointer: str, keywords: tuple[str, ...]) -> list[str]:
    """Return the places that the schema at a place leads to: what it refers to, and the schemas under `keywords`."""
    try:
        schema = source.at(pointer)
    except KeyError:  # a schema made in Python may have keys that are no text
        return []
    if not isinstance(schema, dict):
        return []
    refs = (ref for keyword in REFERENCES if isinstance(ref := schema.get(keyword), str))
    found = [target for ref in refs if (target := source.target(ref)) is not None]

    def add(child: Json, place: str) -> Json:
        found.append(place)
        return child

    map_children({name: schema[name] for name in keywords if name in schema}, pointer, add)
    return found


def map_parts(schema: Json, change: Callable[[Json], Json]) -> Json:
    """Return a schema, or a list of some, with whatever stands inside it and may be a schema changed.

    That is all but data: definitions may stand under any key, as long as a reference leads to them.
    """
    made: Json = schema
    if isinstance(schema, list):
        made = []
        for part in schema:  # loops, not comprehensions: a deep schema takes half the frames
            made.append(change(part))
    elif isinstance(schema, dict):
        made = {}
        for name, part in schema.items():
            if name in _DATA:
                made[name] = part
            elif name in NAMED and isinstance(part, dict):
                made[name] = {}
                for key, inner in part.items():
                    made[name][key] = change(inner)
            else:
                made[name] = change(part)
    return made


def _changed(name: str, value: Json, pointer: str, change: Change) -> Json:
    if name in _MANY and isinstance(value, list):
        return [change(item, f"{pointer}/{index}") for index, item in enumerate(value)]
    if name in NAMED and isinstance(value, dict):
        return {key: change(item, f"{pointer}/{escape(str(key))}") for key, item in value.items()}
    if name in _ONE and isinstance(value, dict):
        return change(value, pointer)
    return value
