"""Result types as plain JSON, and back, by their annotations: a new field of a type needs no code here."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Mapping
from enum import Enum
from functools import cache
from sys import intern
from types import UnionType
from typing import Any, Final, Literal, NamedTuple, TypeAlias, Union, get_args, get_origin, get_type_hints

from pytest_extract.core.results import ArrayResult, ScoreRecord
from pytest_extract.core.values import MISSING, FieldPath, Json, Missing

_strict: Final = json.JSONEncoder(allow_nan=False, separators=(",", ":"), default=repr).encode

_Convert: TypeAlias = Callable[[Any], Any]
_RARE: Final = frozenset({
    "withheld", "auto_accept", "wrapped", "mistakes", "rules", "added", "matched", "confidence", "citations", "page",
    "quote", "box", "unit",
})  # fmt: skip
"""Fields that few results have: they are written where they are not what they are by default."""
_DERIVED: Final[Mapping[type, tuple[str, ...]]] = {
    ScoreRecord: ("empty_passes",),
    ArrayResult: ("set_precision", "set_recall", "set_f1"),
}
"""Properties that are written for those who read the file with other programs."""


def dump_json(value: Json) -> str:
    """Write compact ASCII JSON; NaN, infinities and what is of no type that JSON has become texts."""
    try:
        return _strict(value)
    except ValueError:
        return _strict(json.loads(json.dumps(value, default=repr), parse_constant=str))


class _Field(NamedTuple):
    """How a field is converted (None: it is written as it is), and its default (dataclasses.MISSING: none)."""

    encode: _Convert | None
    decode: _Convert
    default: Any


def to_json(instance: Any) -> dict[str, Json]:
    """Return the fields of a result type by name, those of fields too; a key for MISSING is left out.

    A type with `SPARSE` has only fields that are not what they are by default.
    """
    kind: Any = type(instance)
    sparse = getattr(kind, "SPARSE", False)
    record: dict[str, Json] = {}
    for name, (encode, _, default) in _fields(kind).items():
        value = getattr(instance, name)
        if value is not MISSING and not ((sparse or name in _RARE) and value == default):
            record[name] = value if encode is None else encode(value)
    for name in _DERIVED.get(kind, ()):
        record[name] = getattr(instance, name)
    return record


def from_json(kind: Any, record: Mapping[str, Any]) -> Any:
    """Read what `to_json` has written; KeyError, TypeError or ValueError for anything else."""
    known = _fields(kind)
    values = {}
    for name, value in record.items():
        if name in known:
            values[name] = known[name].decode(value)
        elif name not in _DERIVED.get(kind, ()):
            raise TypeError(f"{kind.__name__} has no {name!r}")
    return kind(**values)


@cache
def _fields(kind: Any) -> Mapping[str, _Field]:
    hints = get_type_hints(kind)
    if dataclasses.is_dataclass(kind):
        defaults: dict[str, Any] = {
            each.name: each.default if each.default_factory is dataclasses.MISSING else each.default_factory()
            for each in dataclasses.fields(kind)
        }
    else:
        defaults = dict.fromkeys(kind._fields, dataclasses.MISSING) | kind._field_defaults
    return {name: _Field(*_conversions(hints[name]), default) for name, default in defaults.items()}


def _conversions(hint: Any) -> tuple[_Convert | None, _Convert]:
    """Return how values of an annotation are written and read."""
    origin, parts = get_origin(hint), get_args(hint)
    if hint is Any:
        return None, lambda value: value
    if origin in (UnionType, Union):  # `X | None`, `Json | Missing`
        encode, decode = _conversions(parts[0])
        if parts[1] is Missing:
            return encode, decode
        write = encode or (lambda value: value)
        return (
            lambda value: None if value is None else write(value),
            lambda value: None if value is None else decode(value),
        )
    if hint is FieldPath:
        return str, path_of
    if origin is tuple:
        encode, decode = _conversions(parts[0])
        return (lambda value: [*map(encode, value)]) if encode else list, lambda value: tuple(map(decode, value))
    if origin is Mapping:
        each, decode = _conversions(parts[1])
        return (
            (lambda value: dict(zip(value, map(each, value.values()), strict=True))) if each else dict,
            lambda value: {intern(key): decode(item) for key, item in value.items()},
        )
    if dataclasses.is_dataclass(hint) or hasattr(hint, "_fields"):
        return to_json, lambda record: from_json(hint, record)
    if isinstance(hint, type) and issubclass(hint, Enum):
        return str, {str(member): member for member in hint}.__getitem__
    kinds = {type(each) for each in parts} if origin is Literal else {int, float} if hint is float else {hint}
    return None, lambda value: _checked(value, kinds)


def _checked(value: Any, kinds: set[type]) -> Any:
    if type(value) not in kinds:
        raise TypeError(f"{value!r:.60} is not of type {' or '.join(sorted(kind.__name__ for kind in kinds))}")
    return value


def path_of(text: str) -> FieldPath:
    """Read a path; a text that is none any more, because a secret was taken out of a key, becomes one key."""
    try:
        return FieldPath.parse(text)
    except ValueError:
        return FieldPath((text,))
