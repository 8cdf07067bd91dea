"""Compiles schemas of plain places only: objects, lists and values, without annotations, references or choices.

Plain places of one kind compile alike but for their patterns. So `Compiler` compiles one of each kind that a schema
has, and the places of the schema are copies of these, which takes a third of the time.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache
from typing import Any, Final, Literal

from pytest_extract.core.compile.bind import Binder, JudgeMode
from pytest_extract.core.compile.compiler import Compiler, flat_table, row_table
from pytest_extract.core.compile.nodes import NOTHING, Array, FlatPaths, Leaf, Node, Object, Program, TableColumn
from pytest_extract.core.extensions import Extensions
from pytest_extract.core.metrics.base import SemanticsName
from pytest_extract.core.pattern import ROOT, items_pattern, property_pattern
from pytest_extract.core.schema.conformance import Conformance
from pytest_extract.core.schema.source import COMPOSING
from pytest_extract.core.schema.tree import Schema
from pytest_extract.core.semantics import SEMANTICS, Semantics
from pytest_extract.core.values import Json

_SCALARS: Final = frozenset({"string", "number", "integer", "boolean"})
_DEEPEST: Final = 50
_MOST_PLACES: Final = 10_000
_CLOSING: Final = ("additionalProperties", "unevaluatedProperties")
_FURTHER: Final = frozenset(
    {"nullable", "patternProperties", "prefixItems", "additionalItems", "anyOf", "oneOf", *_CLOSING, *COMPOSING}
)
"""Keywords of places that are not plain; those that close an object are plain where they are true or false."""
_TEXT: Final[Json] = {"type": "string"}
_ROWS: Final[dict[str, Json]] = {
    "value": _TEXT,
    "object": {"type": "object", "properties": {"a": _TEXT}},
    "array": {"type": "array", "items": _TEXT},
}
"""Rows of each kind: it is the kind that an array compiles by."""


class _NotPlainError(Exception):
    """A place is not plain."""


class _Specimens:
    """A compiled place of each kind, compiled when a schema first has one; what is not plain raises _NotPlainError."""

    def __init__(self, semantics: Semantics, judge_mode: JudgeMode) -> None:
        self.semantics = semantics
        self._judge_mode = judge_mode
        self._properties: dict[object, TableColumn] = {}
        self._arrays: dict[str, Array] = {}
        self._object: Object | None = None

    def property(self, schema: dict[str, Json]) -> TableColumn:
        """Return the property that holds one value of the schema's type, or null where that is the second type."""
        kind, form = schema.get("type"), schema.get("format")
        types = tuple(kind) if type(kind) is list else kind
        by_format = type(form) is str and form in self.semantics.format_metrics
        key = (types, form) if by_format else types
        try:
            found = self._properties.get(key)
        except TypeError:  # a type that has no hash
            raise _NotPlainError from None
        if found is None:
            first, *others = types if type(types) is tuple else (types,)
            if first not in _SCALARS or others not in ([], ["null"]):
                raise _NotPlainError
            self._object, found = self._compile({"type": kind, "format": form} if by_format else {"type": kind})
            if not isinstance(found.node, Leaf) or not found.metric:
                raise _NotPlainError
            self._properties[key] = found
        return found

    def object(self) -> Object:
        """Return an object, whatever its properties."""
        if self._object is None:
            self._object, _ = self._compile(_TEXT)
        return self._object

    def array(self, items: Json) -> Array:
        """Return the array whose rows are of the same kind."""
        of = items.get("type") if type(items) is dict else None
        kind = of if of in ("object", "array") else "value"
        found = self._arrays.get(kind)
        if found is None:
            _, column = self._compile({"type": "array", "items": _ROWS[kind]})
            if not isinstance(column.node, Array):
                raise _NotPlainError
            found = self._arrays[kind] = column.node
        return found

    def _compile(self, schema: Json) -> tuple[Object, TableColumn]:
        """Compile an object with one property, the general way."""
        source = Schema({"type": "object", "properties": {"a": schema}}, annotated=False)
        mistakes: list[str] = []
        binder = Binder(self.semantics, Extensions(), self._judge_mode)
        compiler = Compiler(source, self.semantics, binder, {}, lambda message, _: mistakes.append(message))
        root = compiler.compile(Schema.root)
        if mistakes or compiler.judged or not isinstance(root, Object):
            raise _NotPlainError
        return root, root.entries[0]


@lru_cache(maxsize=32)
def _specimens(
    semantics: SemanticsName, nulls: Literal["absent", "value"] | None, judge_mode: JudgeMode
) -> _Specimens | None:
    """Return the specimens; None under semantics that score plain places by more than their kind."""
    chosen = SEMANTICS[semantics] if nulls is None else replace(SEMANTICS[semantics], nulls=nulls)
    if not chosen.default_metrics or not chosen.union_fields or chosen.default_array_metric is not None:
        return None
    return _Specimens(chosen, judge_mode)


class _Copier:
    """Copies the specimens to the places of one schema; `patterns`: every place, those below first."""

    def __init__(self, specimens: _Specimens) -> None:
        self.patterns: dict[str, Node] = {}
        self._specimens = specimens

    def place(self, schema: Json, pattern: str, depth: int, *, field: bool, row: bool = False) -> Node:
        """Compile a place; `row`: it is the row of a list. Raises _NotPlainError."""
        if type(schema) is not dict or not (_FURTHER.isdisjoint(schema) or _is_only_closed(schema)):
            raise _NotPlainError
        if depth > _DEEPEST or len(self.patterns) > _MOST_PLACES:
            raise _NotPlainError
        kind = schema.get("type")
        if kind == "object":
            node: Node = self._object(schema, pattern, depth, field=field, row=row)
        elif kind == "array":
            node = self._array(schema, pattern, depth, field=field)
        else:
            leaf: Any = self._specimens.property(schema).node
            node = Leaf(pattern, leaf.checks, field, *leaf[3:])
        self.patterns[pattern] = node
        return node

    def _object(self, schema: dict[str, Json], pattern: str, depth: int, *, field: bool, row: bool) -> Object:
        properties = schema.get("properties")
        if type(properties) is not dict or not properties:
            raise _NotPlainError
        columns = tuple(self._columns(properties, pattern, depth + 1, field=field))
        table = flat_table(columns) if row else None
        same = self._specimens.object()[5:-2]  # `_replace` takes three times as long
        return Object(pattern, columns, frozenset(properties), FlatPaths(tuple(properties)), table, *same, field)

    def _columns(self, properties: dict[str, Json], pattern: str, depth: int, *, field: bool) -> Iterator[TableColumn]:
        for name, schema in properties.items():
            if type(name) is not str:
                raise _NotPlainError
            below = property_pattern(pattern, name)
            node = self.place(schema, below, depth, field=field)
            if isinstance(node, Leaf):
                yield TableColumn(name, node, below, *self._specimens.property(schema)[3:])
            else:
                yield TableColumn(name, node, below, "", {}, 1.0, NOTHING)

    def _array(self, schema: dict[str, Json], pattern: str, depth: int, *, field: bool) -> Array:
        items = schema.get("items")
        specimen = self._specimens.array(items)
        field_row = field and getattr(specimen.items, "field", False)
        row = self.place(items, items_pattern(pattern), depth + 1, field=field_row, row=True)
        return specimen._replace(pattern=pattern, items=row, field=field, table=row_table(row))


def _is_only_closed(schema: dict[str, Json]) -> bool:
    further = _FURTHER.intersection(schema)
    return further.issubset(_CLOSING) and all(type(schema[name]) is bool for name in further)


def compile_plain(
    document: Json, semantics: SemanticsName, nulls: Literal["absent", "value"] | None, judge_mode: JudgeMode
) -> Program | None:
    """Compile a schema that has no annotation; None where a place of it is not plain."""
    specimens = _specimens(semantics, nulls, judge_mode)
    if specimens is None:
        return None
    copier = _Copier(specimens)
    try:
        root = copier.place(document, ROOT, 0, field=True)
    except _NotPlainError:
        return None
    fits = Conformance(Schema(document, annotated=False))
    return Program(root=root, semantics=specimens.semantics, patterns=copier.patterns, judged=False, fits=fits)
