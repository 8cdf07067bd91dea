"""Equal values and mappings in memory once, for reductions of large runs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

_T = TypeVar("_T")


class SharedValues:
    """Gives the first of equal values."""

    def __init__(self) -> None:
        self._known: dict[Any, Any] = {}
        self._mappings: dict[tuple[Any, ...], Mapping[str, Any]] = {}

    def value(self, value: _T) -> _T:
        """Return the first value that is equal to this one, which has a type of its own."""
        return self.kept(value, value)

    def kept(self, key: Any, value: _T) -> _T:
        """Return the first value that was given for this key."""
        found: _T = self._known.setdefault(key, value)
        return found

    def mapping(self, found: Mapping[str, _T]) -> Mapping[str, _T]:
        """Return the first mapping with the same members, in the same order and of the same types."""
        try:
            return self._mappings.setdefault((*found.items(), *map(type, found.values())), found)
        except TypeError:  # a member that has no hash
            return found
