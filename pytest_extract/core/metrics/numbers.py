"""Metrics over numbers. A boolean is a number only where struct-extract-eval published it so."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable
from fractions import Fraction
from typing import Final

from pytest_extract.core.metrics import equality
from pytest_extract.core.metrics import params as check
from pytest_extract.core.metrics.base import BoundMetric, Example, MetricSpec, Param, Params, SemanticsName
from pytest_extract.core.metrics.exact import equal_by, equality_metric, reading_metric
from pytest_extract.core.values import Json

Number = int | float
_READ_BY_FLOAT: Final = (int, float, str)
Convert = Callable[[Json], Number | None]


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


# --- comparing numbers


def gap(one: Number, other: Number) -> Number | Fraction:
    """Return |one - other|, exact where floats cannot hold it."""
    try:
        return abs(one - other)
    except OverflowError:
        if equality.is_nan(one) or equality.is_nan(other):
            return math.nan
        return math.inf if math.inf in (abs(one), abs(other)) else abs(Fraction(one) - Fraction(other))


def exact(value: Number) -> Fraction:
    """Return a finite number as it is written in decimals: 0.1 is one tenth."""
    return Fraction(value if isinstance(value, int) else repr(value))


NOISE: Final = 1e-9
"""Relative tolerance where none is named: what floats lose. Whole numbers lose nothing, and are compared exactly."""


def explain_with(convert: Convert) -> Callable[[Json, Json], str]:
    """Make the reason of a number metric: which side is no number, or by how much they differ."""

    def reason(gold: Json, extracted: Json) -> str:
        one, other = convert(gold), convert(extracted)
        if one is None or other is None:
            return f"not a number: {equality.short(gold if one is None else extracted)}"
        return _error(one, other)

    return reason


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
        ratio = float(error) / abs(gold) if gold else 0.0
    except OverflowError:
        return "off by more than a float can hold"
    if not gold:
        return off
    return f"{off}, relative error {ratio:,.0f}" if 1e3 <= ratio < 1e15 else f"{off}, relative error {ratio:.3g}"


# --- metrics


def _make_number(params: Params, _semantics: SemanticsName) -> BoundMetric:
    rel = NOISE if params["rel"] is None else float(params["rel"])
    tolerance = float(params["abs"])
    of_fractions, absolute = exact(rel), exact(tolerance)
    of_whole = 0 if params["rel"] is None else of_fractions

    def within(gold: Number, extracted: Number) -> bool:
        if gold == extracted or math.inf in (abs(gold), abs(extracted)):
            return gold == extracted
        one, other = exact(gold), exact(extracted)
        relative = of_whole if one.denominator == other.denominator == 1 else of_fractions
        return abs(one - other) <= max(relative * max(abs(one), abs(other)), absolute)

    return reading_metric(json_number, within, explain_with(json_number), near=(float, rel, tolerance))


def _make_number_exact(_params: Params, semantics: SemanticsName) -> BoundMetric:
    published = semantics == "extract-bench"

    def key(value: Json) -> Hashable:
        number = python_float(value)
        if number is None:
            return ("text", equality.text_key(value))
        if equality.is_nan(number):
            # published: the text "nan" is not even equal to itself
            return ("nan", object() if published else 0)
        return number

    return equality_metric(key, explain_with(python_float), reflexive=not published)


def _make_number_tolerance(params: Params, semantics: SemanticsName) -> BoundMetric:
    published = semantics == "extract-bench"
    tolerance = float(params["tolerance"])

    def within(gold: Number, extracted: Number) -> bool:
        if not published and equality.same(gold, extracted):
            return True
        error = gap(gold, extracted)
        try:
            return bool(error <= tolerance) or math.isclose(error, tolerance, rel_tol=1e-9, abs_tol=1e-12)
        except OverflowError:
            return False

    def unread(value: Json) -> Hashable:
        any_boolean = published and isinstance(value, bool) and tolerance >= 1  # only true against 1 is mended
        return bool if any_boolean else equality.text_key(value)

    return reading_metric(
        python_float,
        within,
        explain_with(python_float),
        unread=unread,
        reflexive=not published,
        near=(float, 0.0, 1.00001 * tolerance + 1e-11),
    )


def _integer_key(value: Json) -> Hashable:
    number = python_integer(value)
    if number is not None:
        return number
    other = python_float(value)
    # two texts that are numbers but no integers ("42.5") agree as numbers
    return ("text", equality.text_key(value) if other is None or equality.is_nan(other) else other)


def _check_tolerance(value: Json) -> str | None:
    wanted = "must be a mapping with the numbers `rel`, `abs` or both"
    if not isinstance(value, dict):
        return wanted
    if set(value) - {"rel", "abs"} or any(check.number()(bound) for bound in value.values() if bound is not None):
        return wanted
    return None


def _make_numeric(params: Params, semantics: SemanticsName) -> BoundMetric:
    published = semantics == "struct-extract-eval"
    bounds = {name: bound for name, bound in (params["tolerance"] or {}).items() if bound is not None}
    rel, tolerance = bounds.get("rel"), bounds.get("abs")

    def within(gold: Number, extracted: Number) -> bool:
        is_same = equality.same(gold, extracted)
        if is_same or not bounds or not (abs(gold) < math.inf and abs(extracted) < math.inf):
            return is_same
        one, other = exact(gold), exact(extracted)
        near = rel is None or abs(one - other) <= exact(rel) * (abs(one) or 1)
        return near and (tolerance is None or abs(one - other) <= exact(tolerance))

    def as_published(gold: Number, extracted: Number) -> bool:
        if not bounds or equality.is_nan(gold) or equality.is_nan(extracted):
            return equality.same(gold, extracted)
        error = gap(gold, extracted)
        try:  # beyond a bound is a mismatch, so NaN (inf / inf) is none
            far = rel is not None and float(error) / (abs(gold) or 1.0) > rel
        except OverflowError:
            return gold == extracted
        return not far and (tolerance is None or not error > tolerance)

    def unread(value: Json) -> Hashable:
        return object() if published and value is not None else equality.text_key(value)

    read = python_float_or_boolean if published else python_float
    return reading_metric(
        read,
        as_published if published else within,
        explain_with(read),
        unread=unread,
        reflexive=not published,
        near=(float, rel or 0.0, max(rel or 0.0, tolerance or 0.0)),
    )


SPECS = (
    MetricSpec(
        name="number",
        make=_make_number,
        doc="Two JSON numbers within a tolerance: |gold - extracted| <= max(rel * the larger magnitude, abs). "
        "A text or a boolean is no number; two that are none are compared as text.",
        params=(
            Param(
                name="rel",
                check=check.number(0),
                doc="relative tolerance; where none is named, 1e-9 for fractions and none between whole numbers",
            ),
            check.tolerance("abs", "absolute tolerance"),
        ),
        examples=(
            Example(0.3, 0.1 + 0.2, 1.0),
            Example(100, 101, 0.0),
            Example(4006381333931, 4006381330931, 0.0),
            Example(100, 101, 1.0, {"rel": 0.01}),
            Example(5, "5", 0.0),
        ),
    ),
    MetricSpec(
        name="integer",
        make=equal_by(equality.text_key, explain=explain_with(json_number)),
        doc="Numbers that are equal, however written: 42.0 is 42, 42.9 is not, true is not 1.",
        examples=(Example(42, 42.0, 1.0), Example(42, 42.9, 0.0), Example(gold=1, extracted=True, score=0.0)),
    ),
    MetricSpec(
        name="number_exact",
        make=_make_number_exact,
        doc="ExtractBench: equal as numbers, texts that are numbers included. Two values that are no numbers "
        "(no booleans) are compared as text (published: any two of them pass).",
        examples=(Example(1000, "1e3", 1.0), Example(0.3, 0.30000000000000004, 0.0), Example("abc", "xyz", 0.0)),
    ),
    MetricSpec(
        name="number_tolerance",
        make=_make_number_tolerance,
        doc="ExtractBench: equal as numbers within an absolute tolerance: 1e-6, but 1e-3 as the preset "
        '"number_tolerance" and as the default of numbers, as published.',
        params=(Param(name="tolerance", check=check.numeric(0), default=1e-6, doc="largest difference that passes"),),
        examples=(
            Example(1.0, 1.001, 0.0),
            Example(1.0, 1.001, 1.0, {"tolerance": 0.001}),
            Example("33-37", "1-2", 0.0),
        ),
    ),
    MetricSpec(
        name="integer_exact",
        make=equal_by(_integer_key, explain=explain_with(python_integer)),
        doc='ExtractBench: equal as whole numbers, texts like "7" included; 42.9 is not 42 (published: cut off), '
        "true is not 1, two values that are no integers are compared as text.",
        examples=(
            Example(42, 42.0, 1.0),
            Example(42, "42", 1.0),
            Example(42.9, 42.1, 0.0),
            Example(gold=1, extracted=True, score=0.0),
        ),
    ),
    MetricSpec(
        name="numeric",
        make=_make_numeric,
        doc="struct-extract-eval: equal as numbers, texts included, within `tolerance: {rel, abs}` (rel of |gold|, of "
        "1 where gold is 0; both must hold). Only under its own semantics booleans are numbers, and a text that is no "
        "number does not match even itself.",
        params=(Param(name="tolerance", check=_check_tolerance, doc="`{rel: number, abs: number}`, either or both"),),
        examples=(
            Example(100, 101, 1.0, {"tolerance": {"rel": 0.01}}),
            Example(100, 101, 0.0, {"tolerance": {"rel": 0.01, "abs": 0.5}}),
            Example(gold=1, extracted=True, score=0.0),
            Example(gold=1, extracted=True, score=1.0, semantics="struct-extract-eval"),
            Example("a", "a", 0.0, semantics="struct-extract-eval"),
        ),
    ),
)
