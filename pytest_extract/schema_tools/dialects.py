"""Schemas of OpenAPI 3.0 and of Gemini, which are nearly JSON Schema, written as JSON Schema."""

from __future__ import annotations

from typing import Final

from pytest_extract.core.schema.source import map_children
from pytest_extract.core.values import Json

DIALECTS: Final = ("openapi", "gemini")
_GEMINI_TYPES: Final = frozenset({"STRING", "NUMBER", "INTEGER", "BOOLEAN", "ARRAY", "OBJECT", "NULL"})


def is_gemini(schema: Json) -> bool:
    """Whether a schema names its type in capitals, as Gemini's do."""
    return isinstance(schema, dict) and isinstance(name := schema.get("type"), str) and name in _GEMINI_TYPES


def as_json_schema(schema: Json, pointer: str = "") -> Json:
    """Return a schema of OpenAPI 3.0 or Gemini as JSON Schema: `nullable`, exclusive bounds, types in capitals."""
    if not isinstance(schema, dict):
        return schema
    made = map_children(schema, pointer, as_json_schema)
    made.pop("propertyOrdering", None)
    if is_gemini(made):
        made["type"] = made["type"].lower()
    for exclusive, bound in (("exclusiveMinimum", "minimum"), ("exclusiveMaximum", "maximum")):
        if isinstance(is_exclusive := made.get(exclusive), bool):
            del made[exclusive]
            if is_exclusive and bound in made:
                made[exclusive] = made.pop(bound)
    return _with_null(made) if made.pop("nullable", False) is True else made


def _with_null(schema: dict[str, Json]) -> dict[str, Json]:
    if not isinstance(schema.get("type"), str):
        return {"anyOf": [schema, {"type": "null"}]}
    made = {**schema, "type": [schema["type"], "null"]}
    if isinstance(listed := schema.get("enum"), list) and None not in listed:
        made["enum"] = [*listed, None]
    return made
