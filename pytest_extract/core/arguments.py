"""Arguments of public functions: checks, and Python values as JSON.

What an extractor hands over is as untrusted as text. Values that are JSON in another dress are taken for what they are
(`plain_json` lists them). One of any other type is a mistake of the code that returned it, and never of a model.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import fields, is_dataclass
from datetime import date, datetime, time
from decimal import Decimal
from enum import Enum
from functools import partial
from pathlib import PurePath
from typing import Any, Final, get_origin

from pytest_extract.core.values import MAX_DEPTH, MISSING, FieldPath, Json, Missing, Step, short_repr
from pytest_extract.errors import ConfigError, closest, nearest


def one_of(name: str, value: object, known: Sequence[str]) -> None:
    """Refuse what is none of the known names."""
    if not isinstance(value, str) or value not in known:
        raise ConfigError(f"{name} must be {' or '.join(known)}, not {short_repr(value)}{closest(value, known)}")


def mapping(name: str, value: Any) -> Mapping[str, Any]:
    """Return a mapping with texts as keys, an empty one for None; refuse anything else."""
    if value is None:
        return {}
    if not isinstance(value, dict | Mapping):  # a dict is known at once
        raise ConfigError(f"{name} must be a mapping, not {short_repr(value)}")
    for key in value:
        if not isinstance(key, str):
            raise ConfigError(f"{name} must have texts as keys, not {short_repr(key)}")
    return value


def known_keys(name: str, given: Iterable[str], known: Sequence[str]) -> None:
    """Refuse a key that is none of the known ones."""
    for key in given:
        if key not in known:
            raise ConfigError(f"{name} has no key {key!r}{nearest(key, known)}".lstrip())


def values(name: str, value: object) -> None:
    """Refuse what is no list or other series of values."""
    if isinstance(value, str | bytes | Mapping) or not isinstance(value, Iterable):
        raise ConfigError(f"{name} must be a list of values, not {short_repr(value)}")


def instance(name: str, value: object, kind: type, what: str) -> None:
    """Refuse what is neither None nor of a type."""
    if value is not None and not isinstance(value, kind):
        raise ConfigError(f"{name} must be {what}, not {short_repr(value)}")


def count(name: str, value: object) -> None:
    """Refuse what is neither None nor a whole number from 1."""
    if value is not None and (type(value) is not int or value < 1):
        raise ConfigError(f"{name} must be a whole number, 1 or more, not {short_repr(value)}")


def flag(name: str, value: object) -> None:
    """Refuse what is neither True nor False."""
    if not isinstance(value, bool):
        raise ConfigError(f"{name} must be true or false, not {short_repr(value)}")


def function(name: str, value: object) -> None:
    """Refuse what is neither None nor can be called."""
    if value is not None and not callable(value):
        raise ConfigError(f"{name} must be a function, not {short_repr(value)}")


_LEAVES: Final = frozenset({str, bool, type(None)})
_SCALARS: Final = _LEAVES | {int, float}
_LONG_BITS: Final = 14_284  # 4,300 digits: more are refused in a text, too
_LONG_DIGITS: Final = 4_300
_UTC: Final = "+00:00"
_TOO_LONG: Final = "a number of more than 4300 digits is too long to read"


class NotJson(ValueError):
    """A value that JSON cannot hold, and the path to it."""

    def __init__(self, message: str, path: tuple[Step, ...] = ()) -> None:
        super().__init__(message)
        self.path = FieldPath(path)


class NoJsonType(NotJson):
    """A value that no JSON text can be read as, whatever a model says: a mistake of the code that made it."""


def plain_json(value: object, *, nan: bool = False) -> Json:
    """Return the value itself when it is JSON, else what it says in JSON; raises NotJson with the path.

    JSON is dict with str keys, list, str, int, bool, None and finite float, at most MAX_DEPTH levels deep. Taken too:

    - tuples as lists; mappings, dataclasses, and models of pydantic (by alias) as objects;
    - subclasses (numpy's float64 is a float) as their base, an enum's member as its value;
    - Decimal as a number, of exactly its value: an integer where it has no decimal places, else the float that is
      written with the same digits;
    - datetime, date and time in ISO 8601, UUID and path as text;
    - numpy's numbers, booleans, texts, dates and arrays, as Python's.

    `nan`: takes NaN and infinities, too. NoJsonType for any other type, and for a Decimal with more digits than a float
    has.
    """
    try:
        return _ValueCheck(nan=nan).checked(value, ())
    except RecursionError:  # the caller's own stack was deep already
        raise NotJson("nested too deeply to be walked") from None


def json_argument(name: str, value: object, *, nan: bool = False) -> Json:
    """Return an argument of a public function, a gold say, as JSON; ConfigError with its place for what has none.

    MISSING stays. `nan`: as `plain_json` does.
    """
    try:
        return value if value is MISSING else plain_json(value, nan=nan)
    except NotJson as problem:
        raise ConfigError(f"{name} is no JSON: at {problem.path}, {problem}") from problem


def json_output(value: object, told: str = "the extractor returned no JSON", *, nan: bool = False) -> Json:
    """Return an output as JSON; ConfigError, beginning as `told`, for a type that JSON does not have.

    That is a mistake of the code that returned it. Raises NotJson for what a model's own text may hold (NaN, a number
    of 5,000 digits, a deep nesting): that fails as the model's output.
    """
    try:
        return plain_json(value, nan=nan)
    except NoJsonType as problem:
        raise ConfigError(f"{told}: at {problem.path}, {problem}") from problem


def kept_text(value: object) -> str | None:
    """Return the text that is kept of an output that is no JSON: bytes as UTF-8, else as Python's json writes it.

    None where it does not: 5,000 digits, 1,000 levels.
    """
    if isinstance(value, bytes | bytearray):
        return bytes(value).decode("utf-8", "replace")
    with suppress(NotJson):
        value = plain_json(value, nan=True)
    try:
        return json.dumps(value, ensure_ascii=False, default=str)
    except Exception:  # noqa: BLE001  # a user's type may raise anything
        return None


def schema_argument(schema: object) -> Json:
    """Return the JSON Schema that is meant, which may be that of a class (`class_schema`); ConfigError for none."""
    is_json = isinstance(schema, Mapping | list | tuple) or type(schema) in _SCALARS
    return json_argument("schema", schema if is_json else class_schema("schema", schema))


def class_schema(name: str, given: Any) -> Json:
    """Return the JSON Schema of a class of pydantic, or of a dataclass, TypedDict or `list[Invoice]`, with pydantic.

    Raises ConfigError that begins with `name`.
    """
    is_class = isinstance(given, type) or get_origin(given) is not None
    try:
        if is_class and hasattr(given, "model_json_schema"):
            return given.model_json_schema()
        if is_class:
            from pydantic import TypeAdapter

            return TypeAdapter(given).json_schema()
    except Exception as error:  # the class is the user's, and pydantic refuses in many ways
        raise ConfigError(f"{name} gives no JSON Schema: {type(error).__name__}: {error}") from error
    raise ConfigError(
        f"{name} must be a JSON Schema or a class (of pydantic, a dataclass, a TypedDict), "
        f"not a value of type {type(given).__name__}"
    )


class _ValueCheck:
    """One check: remembers the containers on the way down, to tell a cycle."""

    def __init__(self, *, nan: bool) -> None:
        self._nan = nan
        self._open: set[int] = set()
        self._plain: dict[int, tuple[object, int]] = {}

    def checked(self, value: object, path: tuple[Step, ...]) -> Json:
        if type(value) in _SCALARS:
            if type(value) is int and value.bit_length() > _LONG_BITS:
                raise NotJson(_TOO_LONG, path)
            if type(value) is float and not (self._nan or math.isfinite(value)):
                raise NotJson(f"{value!r} is no JSON value", path)
            return value
        if id(value) in self._plain and len(path) <= self._plain[id(value)][1]:
            return value  # a part that stands in many places is read once, and again where it stands deeper
        if id(value) in self._open:
            raise NoJsonType("the value contains itself", path)
        if len(path) >= MAX_DEPTH:
            raise NotJson(f"nested more than {MAX_DEPTH} levels deep", path[:4])  # where that begins
        self._open.add(id(value))
        if isinstance(value, dict):
            plain = self._object(value, path)
        elif isinstance(value, list | tuple):
            plain = [item if type(item) in _LEAVES else self.checked(item, (*path, i)) for i, item in enumerate(value)]
            if type(value) is list and all(one is other for one, other in zip(value, plain, strict=True)):
                plain = value
        else:
            plain = self.checked(_undressed(value, path), path)
        self._open.discard(id(value))
        if plain is value:
            self._plain[id(value)] = value, len(path)
        return plain

    def _object(self, value: dict[Json, Json], path: tuple[Step, ...]) -> Json:
        plain: dict[str, Json] = {}
        same = type(value) is dict
        for key, item in value.items():
            name = key if type(key) is str else _name(key, path)
            if name in plain:
                raise NoJsonType(f"two keys of the object are written {name!r}", path)
            plain[name] = item if type(item) in _LEAVES else self.checked(item, (*path, name))
            same = same and name is key and plain[name] is item
        return value if same else plain


def _name(key: object, path: tuple[Step, ...]) -> str:
    text = key.value if isinstance(key, Enum) else key
    if isinstance(text, str):
        return str.__str__(text)
    raise NoJsonType(f"the key {short_repr(key)} is of type {type(key).__name__}; JSON keys are texts", path)


def _undressed(value: Any, path: tuple[Step, ...]) -> object:
    """Return what a value says in JSON, its parts not looked at yet; raises NoJsonType where it says nothing."""
    match value:
        case Missing():
            raise NoJsonType("MISSING stands for a whole value; leave the key out", path)
        case Enum():
            return value.value
        case str():
            return str.__str__(value)
        case int() | float():
            return int(value) if isinstance(value, int) else float(value)
        case Decimal():
            return _exact(value, path)
        case datetime() | date() | time() if str(value) != "NaT":  # a datetime of pandas that is none
            text = value.isoformat()
            return f"{text.removesuffix(_UTC)}Z" if text.endswith(_UTC) else text  # as pydantic writes it
        case PurePath():
            return str(value)
    try:
        parts = None if isinstance(value, bytes | bytearray | memoryview | type) else _parts(value)
    except Exception as error:  # the object is the user's, its methods too
        raise NoJsonType(f"a value of type {type(value).__name__} does not turn into JSON: {error}", path) from error
    if parts is None:
        raise NoJsonType(
            f"a value of type {type(value).__name__} is no JSON value; return a text, number or list", path
        )
    return parts


def _parts(value: Any) -> object:
    """Return the parts of an object as a dict or list, or what a library says of it; None for any other."""
    if isinstance(value, Mapping):
        return dict(value)
    dump = getattr(value, "model_dump", None)
    if not callable(dump) and hasattr(type(value), "__pydantic_serializer__"):  # a dataclass of pydantic
        dump = partial(type(value).__pydantic_serializer__.to_python, value)
    if callable(dump):
        return _with_decimals(dump(mode="json", by_alias=True), dump(by_alias=True))
    if is_dataclass(value):
        return {field.name: getattr(value, field.name) for field in fields(value)}
    if _is_a(value, "uuid", "UUID"):
        return str(value)
    if _is_a(value, "numpy", "ndarray"):
        return list(value) if value.ndim else value[()]
    if not _is_a(value, "numpy", "generic"):
        return None
    inner = value.item()
    if value.dtype.kind in "mM":  # nanoseconds come as an int
        return inner if isinstance(inner, date) else None
    return inner if type(inner) in _SCALARS else None


def _with_decimals(dumped: Any, inner: Any) -> Any:
    """Return what pydantic has dumped with the Decimals that it writes as texts: they are numbers everywhere else."""
    if isinstance(inner, Decimal) and isinstance(dumped, str):
        return inner
    if isinstance(dumped, dict) and isinstance(inner, dict) and len(dumped) == len(inner):
        return {key: _with_decimals(*each) for key, *each in zip(dumped, dumped.values(), inner.values(), strict=True)}
    if isinstance(dumped, list) and isinstance(inner, list | tuple | set | frozenset) and len(dumped) == len(inner):
        return [_with_decimals(*each) for each in zip(dumped, inner, strict=True)]
    return dumped


def _is_a(value: object, module: str, name: str) -> bool:
    """Whether a value is of a type whose module nobody imports for our sake."""
    kind = getattr(sys.modules.get(module), name, None)
    return isinstance(kind, type) and isinstance(value, kind)


def _exact(value: Decimal, path: tuple[Step, ...]) -> int | float:
    """Return a Decimal as a number of exactly its value."""
    if not value.is_finite():
        return math.nan if value.is_nan() else float(value)
    if value and value.adjusted() > _LONG_DIGITS:
        raise NotJson(_TOO_LONG, path)
    exponent = value.as_tuple().exponent
    if isinstance(exponent, int) and exponent >= 0:
        return int(value)
    number = float(value)
    if Decimal(repr(number)) == value:
        return number
    if value == value.to_integral_value():
        return int(value)
    message = f"Decimal({str(value)!r:.60}) has more digits than a JSON number keeps; return a text, or round it"
    raise NoJsonType(message, path)
