"""Checks of the arguments of public functions: ConfigError with what is expected, before anything is looked at."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pytest_extract.core.values import short_repr
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
        raise ConfigError(f"{name} must be True or False, not {short_repr(value)}")


def function(name: str, value: object) -> None:
    """Refuse what is neither None nor can be called."""
    if value is not None and not callable(value):
        raise ConfigError(f"{name} must be a function, not {short_repr(value)}")
