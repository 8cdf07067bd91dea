"""Compiles schemas of plain places only: objects, lists and values, without annotations, references or choices.

Plain places of one kind compile alike but for their patterns. So `Compiler` compiles one of each kind that a schema
has, and the places of the schema are copies of these, which takes a third of the time.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Final, Literal, NamedTuple

from pytest_extract.core.compile.bind import Binder, JudgeMode
from pytest_extract.core.compile.compiler import Compiler, flat_table, row_table
from pytest_extract.core.compile.nodes import (
    NOTHING,
    Array,
    ElementPaths,
    FlatPaths,
    FlatTable,
    Leaf,
    Node,
    Object,
    Program,
    TableColumn,
    properties_of,
)
from pytest_extract.core.extensions import Extensions
from pytest_extract.core.metrics.base import SemanticsName
from pytest_extract.core.pattern import ROOT, is_row, items_pattern, property_pattern
from pytest_extract.core.schema.source import COMPOSING
from pytest_extract.core.schema.tree import Schema, SchemaNode
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
    "cell": {"type": "array", "items": _TEXT},
    "object": {"type": "object", "properties": {"a": _TEXT}},
    "array": {"type": "array", "items": _TEXT},
}
"""Rows of each kind: it is the kind that an array compiles by."""
_NO_PARAMS: Final[dict[str, Json]] = {}
_new: Final = tuple.__new__


class _NotPlainError(Exception):
    """A place is not plain."""


class _Scalar(NamedTuple):
    """A property that holds one value: its leaf, and what its column says of it."""

    leaf: Leaf
    metric: str
    params: Mapping[str, Json]
    weight: float
    fast: frozenset[type]
    rows: Object | None
    """What `row_table` makes of it."""

    def leaf_at(self, pattern: str, *, field: bool) -> Leaf:
        """Return the leaf of another place."""
        _, checks, _, types, by_type, structure, empty_absent, skipped = self.leaf
        return _new(Leaf, (pattern, checks, field, types, by_type, structure, empty_absent, skipped))

    def rows_of(self, leaf: Leaf) -> Object | None:
        """Return what `row_table` makes of the leaf of another place."""
        if self.rows is None:
            return None
        column = _new(TableColumn, ("", leaf, leaf.pattern, self.metric, self.params, self.weight, self.fast))
        _, _, _, names, _, bulk, *same, _, skipped = self.rows
        if bulk is None:
            return None
        weights, unsure, _, weight, likeness = bulk
        bulk = _new(FlatTable, (weights, unsure, (leaf,), weight, likeness))
        paths = ElementPaths()
        return _new(
            Object, (leaf.pattern, (column,), properties_of([column]), names, paths, bulk, *same, leaf.field, skipped)
        )


class _Specimens:
    """A compiled place of each kind, compiled when a schema first has one; what is not plain raises _NotPlainError."""

    def __init__(self, semantics: Semantics, judge_mode: JudgeMode) -> None:
        self.semantics = semantics
        self._judge_mode = judge_mode
        self._scalars: dict[object, _Scalar] = {}
        self._arrays: dict[str, Array] = {}
        self._object: Object | None = None

    def scalar(self, schema: dict[str, Json]) -> _Scalar:
        """Return the property that holds one value of the schema's type, or null where that is the second type."""
        _check_plain(schema)
        kind, form = schema.get("type"), schema.get("format")
        types = tuple(kind) if type(kind) is list else kind
        by_format = type(form) is str and form in self.semantics.format_metrics
        key = (types, form) if by_format else types
        try:
            found = self._scalars.get(key)
        except TypeError:  # a type that has no hash
            raise _NotPlainError from None
        if found is None:
            first, *others = types if type(types) is tuple else (types,)
            if first not in _SCALARS or others not in ([], ["null"]):
                raise _NotPlainError
            specimen = {"type": kind, "format": form} if by_format else {"type": kind}
            self._object, (_, leaf, _, metric, params, weight, fast) = self._compile(specimen)
            if not isinstance(leaf, Leaf) or not metric:
                raise _NotPlainError
            found = self._scalars[key] = _Scalar(leaf, metric, params, weight, fast, row_table(leaf))
        return found

    def object(self) -> Object:
        """Return an object, whatever its properties."""
        if self._object is None:
            self._object, _ = self._compile(_TEXT)
        return self._object

    def array(self, items: Json, *, in_list: bool) -> Array:
        """Return the array whose rows are of the same kind; values of a list inside a list stand in order."""
        of = items.get("type") if type(items) is dict else None
        kind = of if of in ("object", "array") else "cell" if in_list else "value"
        found = self._arrays.get(kind)
        if found is None:
            _, column = self._compile({"type": "array", "items": _ROWS[kind]})
            node = column.node.items if kind == "cell" and isinstance(column.node, Array) else column.node
            if not isinstance(node, Array):
                raise _NotPlainError
            found = self._arrays[kind] = node
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
        if type(schema) is not dict or depth > _DEEPEST or len(self.patterns) > _MOST_PLACES:
            raise _NotPlainError
        kind = schema.get("type")
        if kind == "object":
            node: Node = self._object(schema, pattern, depth, field=field, row=row)
        elif kind == "array":
            node = self._array(schema, pattern, depth, field=field)
        else:
            node = self._specimens.scalar(schema).leaf_at(pattern, field=field)
        self.patterns[pattern] = node
        return node

    def _object(self, schema: dict[str, Json], pattern: str, depth: int, *, field: bool, row: bool) -> Object:
        properties = schema.get("properties")
        if type(properties) is not dict or not properties:
            raise _NotPlainError
        _check_plain(schema)
        columns = self._columns(properties, pattern, depth + 1, field=field)
        table = flat_table(columns) if row else None
        same = self._specimens.object()[6:-2]  # `_replace` takes three times as long
        names, places = frozenset(properties), FlatPaths((*properties,))
        return _new(Object, (pattern, columns, properties_of(columns), names, places, table, *same, field, False))

    def _columns(
        self, properties: dict[str, Json], pattern: str, depth: int, *, field: bool
    ) -> tuple[TableColumn, ...]:
        columns = []
        for name, schema in properties.items():
            if type(name) is not str or type(schema) is not dict:
                raise _NotPlainError
            below = property_pattern(pattern, name)
            kind = schema.get("type")
            if kind in ("object", "array"):
                node = self.place(schema, below, depth, field=field)
                columns.append(_new(TableColumn, (name, node, below, "", _NO_PARAMS, 1.0, NOTHING)))
            else:
                scalar = self._specimens.scalar(schema)
                _, metric, params, weight, fast, _ = scalar
                leaf = self.patterns[below] = scalar.leaf_at(below, field=field)
                columns.append(_new(TableColumn, (name, leaf, below, metric, params, weight, fast)))
        return tuple(columns)

    def _array(self, schema: dict[str, Json], pattern: str, depth: int, *, field: bool) -> Array:
        _check_plain(schema)
        items: Json = schema.get("items")
        if "minItems" in schema and schema["minItems"] == schema.get("maxItems"):
            raise _NotPlainError  # compared in order
        specimen = self._specimens.array(items, in_list=is_row(pattern))
        field_row = field and getattr(specimen.items, "field", False)
        row = self.place(items, items_pattern(pattern), depth + 1, field=field_row, row=True)
        _, _, align, prefix, result, checks, _, *more, _, _, skipped = specimen
        values = self._specimens.scalar(items).rows_of(row) if isinstance(row, Leaf) else None
        table = row_table(row) if isinstance(row, Object) else values
        return _new(Array, (pattern, row, align, prefix, result, checks, field, *more, table, values, skipped))


def _check_plain(schema: dict[str, Json]) -> None:
    if not _FURTHER.isdisjoint(schema) and not _is_only_closed(schema):
        raise _NotPlainError


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
    return Program(root=root, semantics=specimens.semantics, patterns=copier.patterns, judged=False, fits=_fits_all)


def _fits_all(_node: SchemaNode, _value: Json) -> bool:
    """Stand in for what chooses between branches, of which there are none."""
    return True
