"""Schemas without their scoring annotations, for reading cases that are not scored.

Listing cases and the inputs of their outputs needs neither the project's own metrics nor a judge: pass
`compile_structure` to `SchemaCache`.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from pytest_extract.core.schema.source import map_parts
from pytest_extract.core.values import Json

if TYPE_CHECKING:
    from pytest_extract.core.scorer import Scorer

ANNOTATION_PREFIXES: Final = ("evaluation_config", "x-eval-")
"""How the keys of either annotation dialect start."""
_DEEPEST: Final = 200


def compile_structure(schema: Json, **_how_to_score: Json) -> Scorer:
    """Compile a schema without its scoring annotations; never raises for a metric's name."""
    from pytest_extract.core.scorer import compile_schema

    return compile_schema(without_annotations(schema), semantics="default")


def without_annotations(schema: Json, drop: tuple[str, ...] = ANNOTATION_PREFIXES, level: int = 0) -> Json:
    """Return a copy of a schema without scoring annotations: those whose keys start with one of `drop`."""
    if level > _DEEPEST:
        return schema
    if isinstance(schema, dict):
        schema = {key: part for key, part in schema.items() if not str(key).startswith(drop)}
    return map_parts(schema, partial(without_annotations, drop=drop, level=level + 1))
