"""Checks of parameters: each returns what is wrong with a value, in words, or None."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Collection
from typing import Any

from pytest_extract.core.metrics.base import Param
from pytest_extract.core.values import Json
from pytest_extract.errors import closest

Check = Callable[[Json], str | None]


def number(minimum: float = -math.inf, maximum: float = math.inf) -> Check:
    """Check for a finite number within bounds."""
    return _bounded("number", (int, float), minimum, maximum)


def numeric(minimum: float = -math.inf, maximum: float = math.inf) -> Check:
    """Check for a number or a text that is one ("0.5"), as ExtractBench converts them."""
    inner = number(minimum, maximum)

    def check(value: Json) -> str | None:
        try:
            return inner(float(value) if isinstance(value, str) else value)
        except ValueError:
            return inner(value)

    return check


def integer(minimum: float = -math.inf, maximum: float = math.inf) -> Check:
    """Check for a whole number within bounds."""
    return _bounded("whole number", int, minimum, maximum)


def _bounded(what: str, kinds: Any, minimum: float, maximum: float) -> Check:
    bounds = f" of {minimum:g} or more" if maximum == math.inf else f" from {minimum:g} to {maximum:g}"
    wanted = f"must be a {what}{'' if minimum == -math.inf else bounds}"

    def check(value: Json) -> str | None:
        is_one = isinstance(value, kinds) and not isinstance(value, bool) and abs(value) <= sys.float_info.max
        return None if is_one and minimum <= value <= maximum else wanted

    return check


def boolean(value: Json) -> str | None:
    """Check for true or false."""
    return None if isinstance(value, bool) else "must be true or false"


def text(value: Json) -> str | None:
    """Check for a text that is not empty."""
    return None if isinstance(value, str) and value else "must be a text that is not empty"


def any_text(value: Json) -> str | None:
    """Check for a text, which may be empty."""
    return None if isinstance(value, str) else "must be a text"


def any_list(value: Json) -> str | None:
    """Check for a list."""
    return None if isinstance(value, list) else "must be a list"


def choice(values: Collection[Json]) -> Check:
    """Check for one of some values, of its type."""
    texts = [one for one in values if isinstance(one, str)]

    def check(value: Json) -> str | None:
        if any(type(value) is type(one) and value == one for one in values):
            return None
        return f"must be one of {', '.join(map(repr, values))}{closest(value, texts)}"

    return check


def list_of(item: Check, least: int = 1) -> Check:
    """Check for a list with at least so many items, 0 or 1, each of which passes `item`."""

    def check(value: Json) -> str | None:
        if not isinstance(value, list) or len(value) < least:
            return "must be a list with at least one item" if least else any_list(value)
        return next((f"item {i} {problem}" for i, one in enumerate(value) if (problem := item(one))), None)

    return check


def one_or_list(item: Check) -> Check:
    """Check for one item or a list of them."""
    many = list_of(item)
    return lambda value: many(value) if isinstance(value, list) else item(value)


def as_list(value: Json) -> list[Json]:
    """Return a parameter that may be one item or a list of them as a list; null as none."""
    if value is None:
        return []
    return value if isinstance(value, list) else [value]


def threshold(default: float, doc: str = "lowest score that passes") -> Param:
    """Make the parameter `threshold`."""
    return Param(name="threshold", check=number(0, 1), default=default, doc=doc)


def switch(name: str, doc: str, *, default: bool = False) -> Param:
    """Make a parameter that is true or false."""
    return Param(name=name, check=boolean, default=default, doc=doc)


def any_of(name: str, names: Collection[str], doc: str) -> Param:
    """Make a parameter that is one of some names, the first where none is given."""
    return Param(name=name, check=choice(names), default=next(iter(names)), doc=doc)


def tolerance(name: str, doc: str) -> Param:
    """Make a parameter that is a number of 0 or more, 0 where none is given."""
    return Param(name=name, check=number(0), default=0.0, doc=doc)
