"""Whether a value fits a schema node, as far as telling the branches of an `anyOf` apart needs: no full validation."""

from __future__ import annotations

from collections.abc import Collection
from typing import TypeAlias

from pytest_extract.core.schema.source import Key
from pytest_extract.core.schema.tree import Schema, SchemaNode
from pytest_extract.core.values import CONTAINERS, Json, json_type

_Known: TypeAlias = dict[tuple[int, int], bool]
_DEEP = 24
"""Levels that are looked at; what differs only below them is not told apart."""


class Conformance:
    """Answers for one schema."""

    def __init__(self, schema: Schema) -> None:
        self._schema = schema

    def __call__(self, node: SchemaNode, value: Json) -> bool:
        """Whether the value has a type, a constant and keys that the node allows, and so all the way down."""
        return self._fits(node, value, 0, {})

    def _fits(self, node: SchemaNode, value: Json, depth: int, known: _Known) -> bool:
        key = id(node), id(value)  # recursive alternatives ask again for each way that leads to a value
        if key not in known:
            known[key] = self._found(node, value, depth, known)
        return known[key]

    def _found(self, node: SchemaNode, value: Json, depth: int, known: _Known) -> bool:
        if value is None and node.nullable:
            return True
        if depth > _DEEP:
            return True
        if node.branches:
            return any(self._fits(self._schema.node(branch), value, depth + 1, known) for branch in node.branches)
        if not type_fits(node.types, value):
            return False
        if node.values is not None and not any(
            type(value) is type(one) and value == one if _is_scalar(one) else json_type(one) == json_type(value)
            for one in node.values
        ):
            return False
        if isinstance(value, dict):
            has_all = node.required <= value.keys()
            return has_all and all(self._key_fits(node, name, item, depth + 1, known) for name, item in value.items())
        if isinstance(value, list):
            rows = [(node.child(index), item) for index, item in enumerate(value)]
            return all(key is None or self._fits(self._schema.node(key), row, depth + 1, known) for key, row in rows)
        return True

    def _key_fits(self, node: SchemaNode, name: str, item: Json, depth: int, known: _Known) -> bool:
        keys: list[Key] = [key for pattern, key in node.patterns if pattern.search(name)]
        if name in node.properties:
            keys.append(node.properties[name])
        if not keys and isinstance(node.additional, tuple):
            keys.append(node.additional)
        if not keys:
            return node.additional is not False
        return all(self._fits(self._schema.node(key), item, depth, known) for key in keys)


def type_fits(types: Collection[str], value: Json) -> bool:
    """Whether a value is of one of these JSON types; an integer is a number, 3.0 is an integer; no types: any."""
    if not types:
        return True
    own = json_type(value)
    if own in types:
        return True
    if own == "integer":
        return "number" in types
    return own == "number" and "integer" in types and value.is_integer()


def _is_scalar(value: Json) -> bool:
    return not isinstance(value, CONTAINERS)
