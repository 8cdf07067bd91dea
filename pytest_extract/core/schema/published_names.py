"""Which metrics and transforms the published systems have: a schema written for one may mean its project's own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from pytest_extract.core.extensions import Extensions
from pytest_extract.core.metrics import PRESETS
from pytest_extract.core.schema.annotations import Dialect
from pytest_extract.core.schema.tree import Schema
from pytest_extract.core.values import Json

_PUBLISHED: Final[Mapping[Dialect, frozenset[str]]] = {
    "evaluation_config": frozenset({*PRESETS, "skip"}),
    "x-eval": frozenset(
        {"exact", "numeric", "oneof", "semantic"}
        | {"lowercase", "strip", "normalize_whitespace", "sort_tokens", "round_digits", "type_convert"}
    ),
}
SYSTEMS: Final[Mapping[Dialect, str]] = {"evaluation_config": "ExtractBench", "x-eval": "struct-extract-eval"}


def not_published(schema: Json, extensions: Extensions | None) -> Iterator[tuple[Dialect, str, str]]:
    """Yield dialect, name and pointer where a schema names a metric or transform that is ours alone.

    In a schema that comes from a published system it means something else, unless the project registers its own.
    """
    own = {*extensions.metrics, *extensions.batches, *extensions.transforms} if extensions is not None else set()
    for node in Schema(schema).annotated():
        annotation = node.annotation
        if annotation is not None and annotation.dialect in _PUBLISHED:
            for use in (*(annotation.metrics or ()), *(annotation.transforms or ())):
                if use.name not in _PUBLISHED[annotation.dialect] and use.name not in own:
                    yield annotation.dialect, use.name, node.pointer
