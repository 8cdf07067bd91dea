"""Result types as plain JSON, and back, field by field: a new field of a type needs no code here."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import MISSING, fields, is_dataclass
from enum import Enum
from functools import cache, lru_cache, partial
from sys import intern
from types import MappingProxyType, NoneType, UnionType
from typing import Any, Final, TypeAlias, get_args, get_origin, get_type_hints

from pytest_extract.core.case_result import Arm, CaseResult
from pytest_extract.core.results import ScoreRecord
from pytest_extract.core.score_json import score_from_json, score_to_json
from pytest_extract.core.values import Json

NOTHING_GIVEN: Final[Mapping[str, Any]] = MappingProxyType({})
_Convert: TypeAlias = Callable[[Any], Any]
_PLAIN: Final[frozenset[type]] = frozenset((str, bool, int, float, NoneType))
_LEFT_OUT: Final = frozenset(("withheld", "confidence", "citations", "auto_accept"))
"""Fields that few results have: a file has them where they are not None."""


def fields_to_json(instance: Any, *, but: Collection[str] = ()) -> dict[str, Json]:
    """Return the fields of a result type by name without `but`; those of `_LEFT_OUT` only if they have a value."""
    kind: Any = type(instance)
    record: dict[str, Json] = {}
    for name, (encode, *_) in _codec(kind).items():
        if name in but:
            continue
        value = getattr(instance, name)
        record[name] = value if value is None or encode is None else encode(value)
    for name in _LEFT_OUT & record.keys():
        if record[name] is None:
            del record[name]
    return record


def fields_from_json(kind: Any, record: Mapping[str, Any], *, given: Mapping[str, Any] = NOTHING_GIVEN) -> Any:
    """Read what `fields_to_json` has written; KeyError or TypeError for anything else.

    `given`: values of fields that have been read otherwise.
    """
    codec = _codec(kind)
    if kind is not CaseResult and not record.keys() <= codec.keys():
        raise TypeError(f"{kind.__name__} has no {min(record.keys() - codec.keys())!r}")
    values: dict[str, Any] = {}
    for name, (_encode, decode, plain, has_default) in codec.items():
        if name in given:
            values[name] = given[name]
        elif name in record:
            value = record[name]
            values[name] = value if type(value) in plain else decode(value)
        elif not has_default:
            raise KeyError(name)
    return kind(**values)


def field_from_json(kind: Any, name: str, value: Any) -> Any:
    """Read one field of what `fields_to_json` has written."""
    _encode, decode, *_ = _codec(kind)[name]
    return decode(value)


@cache
def _codec(kind: Any) -> Mapping[str, tuple[_Convert | None, _Convert, frozenset[type], bool]]:
    """Map each field of a result type to how it is converted, and whether it has a default.

    An encoder (None: written as it is), a decoder, and the types whose values need no decoder, as most in a file.
    """
    hints = get_type_hints(kind)
    return {
        each.name: (
            *_conversions(hints[each.name], each.name),
            _PLAIN.intersection(_options(hints[each.name])),
            each.default is not MISSING or each.default_factory is not MISSING,
        )
        for each in fields(kind)
    }


@lru_cache(maxsize=4096, typed=True)
def _arm_from_json(**record: Any) -> Arm:
    """Return the arm of a result: the results of a run share a few."""
    arm: Arm = fields_from_json(Arm, record)
    return arm


def _options(hint: Any) -> tuple[Any, ...]:
    return get_args(hint) if get_origin(hint) is UnionType else (hint,)


def _conversions(hint: Any, name: str) -> tuple[_Convert | None, _Convert]:
    origin, parts = get_origin(hint), get_args(hint)
    if hint is Any:
        return None, lambda value: value
    if origin is UnionType:  # `X | None`
        encode, decode = _conversions(parts[0], name)
        return encode, lambda value: None if value is None else decode(value)
    if origin is tuple:
        encode, decode = _conversions(parts[0], name)
        return (lambda value: [*map(encode, value)]) if encode else list, lambda value: tuple(map(decode, value))
    if origin is Mapping:
        _, decode = _conversions(parts[1], name)
        plain = _PLAIN if parts[1] is Any else _PLAIN.intersection(_options(parts[1]))
        return dict, lambda value: {
            intern(key): each if type(each) in plain else decode(each) for key, each in value.items()
        }
    if hint is ScoreRecord:
        return score_to_json, score_from_json
    if hint is Arm:
        return fields_to_json, lambda value: _arm_from_json(**value)
    if is_dataclass(hint):
        return fields_to_json, partial(fields_from_json, hint)
    if issubclass(hint, Enum):
        return str, hint
    return None, partial(_checked_value, name, object if hint is float else hint)


def _checked_value(name: str, kind: Any, value: Any) -> Any:
    if not isinstance(value, kind):
        raise TypeError(f"{name!r} has a value of another type")
    return value
