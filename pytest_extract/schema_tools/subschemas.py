"""Which parts of a JSON Schema are schemas themselves: properties are, the words of an `enum` or an example are not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from pytest_extract.core.schema.source import escape
from pytest_extract.core.values import Json

Change = Callable[[Json, str], Json]
"""(schema, its pointer) -> the schema to put there."""

_ONE: Final = (
    *("items", "additionalItems", "additionalProperties", "unevaluatedItems", "unevaluatedProperties", "contains"),
    *("propertyNames", "not", "if", "then", "else"),
)
_MANY: Final = ("anyOf", "oneOf", "allOf", "prefixItems", "items")
_NAMED: Final = ("properties", "patternProperties", "$defs", "definitions", "dependentSchemas")
EVERYWHERE: Final = (*_ONE, *_MANY, *_NAMED)


def map_children(
    schema: dict[str, Json], pointer: str, change: Change, keywords: tuple[str, ...] = EVERYWHERE
) -> dict[str, Json]:
    """Return the schema with every schema directly inside it (under one of `keywords`) changed."""
    return {
        name: _changed(name, value, f"{pointer}/{escape(name)}", change) if name in keywords else value
        for name, value in schema.items()
    }


def _changed(name: str, value: Json, pointer: str, change: Change) -> Json:
    if name in _MANY and isinstance(value, list):
        return [change(item, f"{pointer}/{index}") for index, item in enumerate(value)]
    if name in _NAMED and isinstance(value, dict):
        return {key: change(item, f"{pointer}/{escape(key)}") for key, item in value.items()}
    if name in _ONE and isinstance(value, dict):
        return change(value, pointer)
    return value
