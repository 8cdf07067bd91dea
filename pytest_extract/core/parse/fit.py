"""How well a value fits a schema, to choose among the JSON values of one text."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Final, NamedTuple, TypeAlias

from pytest_extract.core.schema.source import Key
from pytest_extract.core.schema.tree import Schema
from pytest_extract.core.values import Json

Fits: TypeAlias = Callable[[Json], "FitRank"]
_MOST_LEVELS: Final = 4
"""Levels of alternatives inside alternatives whose keys are known."""


class FitRank(NamedTuple):
    """How well a value fits, the better the greater: whether it satisfies the schema, and the share of its keys.

    share: of its keys and the required ones, those that are there and declared; 0.0 where it has nothing to do with the
    schema, whatever that admits.
    """

    valid: bool = False
    share: float = 0.0


class _Keys(NamedTuple):
    """The keys of the objects at one place; `names` is empty where any key may stand."""

    names: frozenset[str]
    required: frozenset[str]

    def share(self, value: Json) -> float:
        if not isinstance(value, dict):
            return float(not self.names)
        if not value:
            return 0.0
        known = len(self.names & value.keys()) if self.names else len(value)
        return known / len(value.keys() | self.required)


class SchemaFit:
    """A schema that values are held against; `admits` says whether one satisfies it."""

    def __init__(self, schema: Json, admits: Callable[[Json], bool]) -> None:
        self._schema = Schema(schema)
        self._admits = admits

    @cached_property
    def _root(self) -> _Keys:
        return self._keys(Schema.root)

    @cached_property
    def _rows(self) -> _Keys:
        items = self._schema.node(Schema.root).items
        return _Keys(frozenset(), frozenset()) if items is None else self._keys(items)

    def __call__(self, value: Json) -> FitRank:
        """Rank a value."""
        if isinstance(value, list):
            share = sum(map(self._rows.share, value)) / len(value) if value else 1.0
        else:
            share = self._root.share(value)
        return FitRank(share > 0 and self._admits(value), share)

    def _keys(self, key: Key) -> _Keys:
        names = self._names(key, _MOST_LEVELS)
        return _Keys(names or frozenset(), self._schema.node(key).required)

    def _names(self, key: Key, levels: int) -> frozenset[str] | None:
        """Return the keys that objects at a place are known to have; None where any may stand."""
        node = self._schema.node(key)
        if node.patterns or isinstance(node.additional, tuple):
            return None
        names = frozenset(node.properties)
        for branch in node.branches if levels else ():
            more = self._names(branch, levels - 1)
            if more is None:
                return None
            names |= more
        return names
