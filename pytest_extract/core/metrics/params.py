"""Checks of parameters: each returns what is wrong with a value, in words, or None."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection

from pytest_extract.core.metrics.base import Param
from pytest_extract.core.values import Json
from pytest_extract.errors import closest

Check = Callable[[Json], str | None]


def number(minimum: float | None = None, maximum: float | None = None) -> Check:
    """Check for a finite number within bounds."""
    wanted = f"must be a number{_bounds(minimum, maximum)}"

    def check(value: Json) -> str | None:
        if isinstance(value, bool) or not isinstance(value, int | float) or not _finite(value):
            return wanted
        return None if _within(value, minimum, maximum) else wanted

    return check


def numeric(minimum: float | None = None, maximum: float | None = None) -> Check:
    """Check for a number or a text that is one ("0.5"), as ExtractBench converts them."""
    inner = number(minimum, maximum)

    def check(value: Json) -> str | None:
        try:
            return inner(float(value) if isinstance(value, str) else value)
        except ValueError:
            return inner(value)

    return check


def integer(minimum: int | None = None, maximum: int | None = None) -> Check:
    """Check for a whole number within bounds."""
    wanted = f"must be a whole number{_bounds(minimum, maximum)}"

    def check(value: Json) -> str | None:
        if isinstance(value, bool) or not isinstance(value, int):
            return wanted
        return None if _within(value, minimum, maximum) else wanted

    return check


def _finite(value: float) -> bool:
    try:
        return math.isfinite(value)
    except OverflowError:  # an integer beyond every float
        return False


def _bounds(minimum: float | None, maximum: float | None) -> str:
    if minimum is not None and maximum is not None:
        return f" from {minimum:g} to {maximum:g}"
    if minimum is not None:
        return f" of {minimum:g} or more"
    return f" of {maximum:g} or less" if maximum is not None else ""


def _within(value: float, minimum: float | None, maximum: float | None) -> bool:
    return (minimum is None or value >= minimum) and (maximum is None or value <= maximum)


def boolean(value: Json) -> str | None:
    """Check for true or false."""
    return None if isinstance(value, bool) else "must be true or false"


def text(value: Json) -> str | None:
    """Check for a text that is not empty."""
    return None if isinstance(value, str) and value else "must be a text that is not empty"


def any_list(value: Json) -> str | None:
    """Check for a list."""
    return None if isinstance(value, list) else "must be a list"


def choice(names: Collection[str]) -> Check:
    """Check for one of some names."""

    def check(value: Json) -> str | None:
        if isinstance(value, str) and value in names:
            return None
        return f"must be one of {', '.join(map(repr, names))}{closest(value, names)}"

    return check


def list_of(item: Check) -> Check:
    """Check for a list with at least one item, each of which passes `item`."""

    def check(value: Json) -> str | None:
        if not isinstance(value, list) or not value:
            return "must be a list with at least one item"
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
