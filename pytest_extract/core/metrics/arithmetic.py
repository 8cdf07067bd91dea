"""Numbers in JSON values: reading them, how far two are apart, and saying so. Exact where floats are not."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from pytest_extract.core.metrics import equality
from pytest_extract.core.metrics.vectorized import exact_float
from pytest_extract.core.values import Json

if TYPE_CHECKING:
    from fractions import Fraction

Number = int | float
_READ_BY_FLOAT: Final = (int, float, str)
Convert = Callable[[Json], Number | None]


def same_text(gold: Json, extracted: Json) -> float:
    """Compare two values of which at least one is no number: 1.0 when they are the same text or JSON value."""
    return 1.0 if equality.text_key(gold) == equality.text_key(extracted) else 0.0


# --- reading numbers


def json_number(value: Json) -> Number | None:
    """Return a JSON number as it is; anything else, a boolean and NaN too, is None."""
    return value if equality.is_number(value) else None


def python_float(value: Json) -> Number | None:
    """Return a number, or a text that Python's `float` reads ("1e3", " 7 ", "inf"), as a float; booleans are none.

    An integer too large for a float stays an integer, so that two of them are still told apart.
    """
    if isinstance(value, bool) or not isinstance(value, _READ_BY_FLOAT):
        return None
    try:
        return float(value)
    except OverflowError:
        return int(value)
    except ValueError:
        return None


def python_float_or_boolean(value: Json) -> Number | None:
    """Return what `python_float` does, and a boolean as 1 or 0 (struct-extract-eval)."""
    return float(value) if isinstance(value, bool) else python_float(value)


def python_integer(value: Json) -> Number | None:
    """Return a number, or a text that Python's `int` reads ("7", " 7 "); booleans and "42.0" are none."""
    if isinstance(value, str):
        try:
            return int(value)
        except ValueError:
            return None
    return json_number(value)


def float_of(convert: Convert) -> Callable[[Json], float | None]:
    """Make a reader of the numbers that a float holds exactly."""
    return lambda value: exact_float(convert(value))


def rough(convert: Convert) -> Callable[[Json], float | None]:
    """Make a reader of floats for sorting: too large is infinite; NaN and what is no number are None."""

    def read(value: Json) -> float | None:
        number = convert(value)
        if number is None or equality.is_nan(number):
            return None
        try:
            return float(number)
        except OverflowError:
            return math.inf if number > 0 else -math.inf

    return read


# --- comparing numbers


def gap(one: Number, other: Number) -> Number | Fraction:
    """Return |one - other|, exact where floats cannot hold it."""
    try:
        return abs(one - other)
    except OverflowError:
        if equality.is_nan(one) or equality.is_nan(other):
            return math.nan
        from fractions import Fraction  # only for integers beyond floats

        return math.inf if math.inf in (abs(one), abs(other)) else abs(Fraction(one) - Fraction(other))


NOISE: Final = 1e-9
"""Relative tolerance where none is named: what floats lose. Whole numbers lose nothing, and are compared exactly."""


def is_whole(number: Number | Fraction) -> bool:
    """Whether a number has no fraction, however it is written: 42.0 is whole."""
    return number.is_integer() if isinstance(number, float) else number.denominator == 1


def close(gold: Number, extracted: Number, rel: float, tolerance: float) -> bool:
    """Whether the two are within `rel` of the larger magnitude, or within `tolerance`; infinity is only itself."""
    if gold == extracted:
        return True
    largest = max(abs(gold), abs(extracted))
    if largest == math.inf:
        return False
    try:
        return abs(gold - extracted) <= max(rel * largest, tolerance)
    except OverflowError:
        from fractions import Fraction

        bound = max(Fraction(rel) * Fraction(largest), Fraction(tolerance))
        return abs(Fraction(gold) - Fraction(extracted)) <= bound


def explain_with(convert: Convert) -> Callable[[Json, Json], str]:
    """Make the reason of a number metric: which side is no number, or by how much they differ."""

    def explain(gold: Json, extracted: Json) -> str:
        one, other = convert(gold), convert(extracted)
        if one is None and other is None:
            return "neither is a number, and the texts differ"
        if one is None or other is None:
            return f"not a number: {equality.short(gold if one is None else extracted)}"
        return _error(one, other)

    return explain


def error_text(error: float, sign: str = "") -> str:
    """Write the error of a number: one of a thousand or more in full with separators: `450,000,000`, not `4.5e+08`.

    `sign` is the option of a format specification: `+` writes the sign of positive errors, too.
    """
    if 1e3 <= abs(error) < 1e15:
        text = f"{error:{sign},.2f}"
        return text.rstrip("0").rstrip(".")
    return f"{error:{sign}.6g}"


def _error(gold: Number, extracted: Number) -> str:
    error = gap(gold, extracted)
    try:
        off = f"off by {error_text(float(error))}"
        return f"{off}, relative error {_ratio_text(float(error) / abs(gold))}" if gold else off
    except OverflowError:
        return "off by more than a float can hold"


def _ratio_text(ratio: float) -> str:
    return f"{ratio:,.0f}" if 1e3 <= ratio < 1e15 else f"{ratio:.3g}"
