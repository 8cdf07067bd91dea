"""Schemas without their scoring annotations, for reading cases that are not scored.

Listing cases and the inputs of their outputs needs neither the project's own metrics nor a judge: pass
`compile_structure` to `SchemaCache`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pytest_extract.core.values import Json

if TYPE_CHECKING:
    from pytest_extract.core.scorer import Scorer

ANNOTATION_PREFIXES: Final = ("evaluation_config", "x-eval-")
"""How the keys of either annotation dialect start."""
_NAMED: Final = frozenset({"properties", "patternProperties", "$defs", "definitions", "dependentSchemas"})
_VALUES: Final = frozenset({"const", "enum", "default", "examples"})
_DEEPEST: Final = 200


def compile_structure(schema: Json, **_how_to_score: Json) -> Scorer:
    """Compile a schema without its scoring annotations; never raises for a metric's name."""
    from pytest_extract.core.scorer import compile_schema

    return compile_schema(without_annotations(schema), semantics="ours")


def without_annotations(schema: Json, drop: tuple[str, ...] = ANNOTATION_PREFIXES, level: int = 0) -> Json:
    """Return a copy of a schema without scoring annotations: those whose keys start with one of `drop`."""
    if level > _DEEPEST:
        return schema
    if isinstance(schema, list):
        return [without_annotations(part, drop, level + 1) for part in schema]
    if not isinstance(schema, dict):
        return schema
    return {
        key: part
        if key in _VALUES
        else _named_schemas(part, drop, level)
        if key in _NAMED
        else without_annotations(part, drop, level + 1)
        for key, part in schema.items()
        if not str(key).startswith(drop)
    }


def _named_schemas(members: Json, drop: tuple[str, ...], level: int) -> Json:
    if not isinstance(members, dict):
        return members
    return {name: without_annotations(member, drop, level + 2) for name, member in members.items()}
