"""Checks that a Python value is JSON: what an extractor hands over as dict or list is as untrusted as text."""

from __future__ import annotations

from typing import Final

from pytest_extract.core.parse.reader import MAX_DEPTH
from pytest_extract.core.values import FieldPath, Json, Step

_LEAVES: Final = frozenset({str, bool, type(None)})
_LONG_BITS: Final = 14_284  # 4,300 digits: more are refused in a text, too


class NotJson(ValueError):
    """A value that JSON cannot hold, and the path to it."""

    def __init__(self, message: str, path: tuple[Step, ...] = ()) -> None:
        super().__init__(message)
        self.path = FieldPath(path)


def plain_json(value: object) -> Json:
    """Return the value itself when it is JSON, with tuples as lists; raises NotJson with the path otherwise.

    JSON is dict with str keys, list, str, int, bool, None and finite float, at most MAX_DEPTH levels deep.
    Subclasses (an enum that is a str, a numpy float) are taken as their base, where JSON has one.
    """
    try:
        return _Walk().checked(value, ())
    except RecursionError:  # the caller's own stack was deep already
        raise NotJson("nested too deeply to be walked") from None


class _Walk:
    """One check: remembers the containers on the way down, to tell a cycle, and those found plain."""

    def __init__(self) -> None:
        self._open: set[int] = set()
        self._plain: dict[int, object] = {}

    def checked(self, value: object, path: tuple[Step, ...]) -> Json:
        if type(value) is int:
            if value.bit_length() > _LONG_BITS:
                raise NotJson("a number of more than 4300 digits is too long to read", path)
            return value
        if type(value) is float:
            if value - value != 0.0:
                raise NotJson(f"{value!r} is no JSON value", path)
            return value
        if isinstance(value, dict | list | tuple):
            return self._container(value, path)
        return _base(value, path)

    def _container(self, value: dict[Json, Json] | list[Json] | tuple[Json, ...], path: tuple[Step, ...]) -> Json:
        identity = id(value)
        if identity in self._plain:
            return value
        if identity in self._open:
            raise NotJson("the value contains itself", path)
        if len(path) >= MAX_DEPTH:
            raise NotJson(f"nested more than {MAX_DEPTH} levels deep", path)
        self._open.add(identity)
        plain = self._object(value, path) if isinstance(value, dict) else self._array(value, path)
        self._open.discard(identity)
        if plain is value:
            self._plain[identity] = value
        return plain

    def _object(self, value: dict[Json, Json], path: tuple[Step, ...]) -> Json:
        changed: dict[str, Json] = {}
        for key, item in value.items():
            if type(key) is not str:
                raise NotJson(f"the key {key!r} is of type {type(key).__name__}; JSON keys are texts", path)
            if type(item) not in _LEAVES:
                plain = self.checked(item, (*path, key))
                if plain is not item:
                    changed[key] = plain
        if changed or type(value) is not dict:
            return {key: changed.get(key, item) for key, item in value.items()}
        return value

    def _array(self, value: list[Json] | tuple[Json, ...], path: tuple[Step, ...]) -> Json:
        changed: dict[int, Json] = {}
        for index, item in enumerate(value):
            if type(item) not in _LEAVES:
                plain = self.checked(item, (*path, index))
                if plain is not item:
                    changed[index] = plain
        if changed or type(value) is not list:
            return [changed.get(index, item) for index, item in enumerate(value)]
        return value


def _base(value: object, path: tuple[Step, ...]) -> Json:
    """Return a leaf as the JSON type it derives from; raises NotJson where it has none."""
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, bool) or value is None:
        return value
    if isinstance(value, int) and value.bit_length() <= _LONG_BITS:
        return int(value)
    if isinstance(value, float) and value - value == 0.0:
        return float(value)
    raise NotJson(f"{_told(value)}, of type {type(value).__name__}, is no JSON value", path)


def _told(value: object) -> str:
    try:
        return repr(str(value)[:60])
    except Exception:  # noqa: BLE001 - the object is the user's, its `__str__` too
        return "a value"
