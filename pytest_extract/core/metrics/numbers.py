"""Metrics over numbers. A boolean is a number only where struct-extract-eval published it so."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping
from fractions import Fraction
from typing import Any

from pytest_extract.core.metrics import params as check
from pytest_extract.core.metrics import plain
from pytest_extract.core.metrics.base import BoundMetric, Example, MetricSpec, Param, SemanticsName
from pytest_extract.core.metrics.kernels import exact_float, key_matrix, number_matrix, number_near
from pytest_extract.core.values import Json

Number = int | float
Convert = Callable[[Json], Number | None]


def text_key(value: Json) -> Hashable:
    """Return the key of a value that is no number: strings folded, others by JSON equality."""
    return plain.fold(value) if isinstance(value, str) else plain.same_key(value)


def same_text(gold: Json, extracted: Json) -> float:
    """Compare two values of which at least one is no number: 1.0 when they are the same text or JSON value."""
    return 1.0 if text_key(gold) == text_key(extracted) else 0.0


# --- reading numbers


def read_json(value: Json) -> Number | None:
    """Return a JSON number as it is; anything else, a boolean and NaN too, is None."""
    return value if plain.is_number(value) else None


def read_text(value: Json) -> Number | None:
    """Return a number, or a text that Python's `float` reads ("1e3", " 7 ", "inf"), as a float; booleans are none.

    An integer too large for a float stays an integer, so that two of them are still told apart.
    """
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        return float(value)
    except OverflowError:
        return int(value)
    except ValueError:
        return None


def _read_published(value: Json) -> Number | None:
    return float(value) if isinstance(value, bool) else read_text(value)


def read_integer(value: Json) -> Number | None:
    """Return a number, or a text that Python's `int` reads ("7", " 7 "); booleans and "42.0" are none."""
    if isinstance(value, str):
        try:
            return int(value)
        except ValueError:
            return None
    return read_json(value)


def _float_of(convert: Convert) -> Callable[[Json], float | None]:
    return lambda value: exact_float(convert(value))


def _rough(convert: Convert) -> Callable[[Json], float | None]:
    """Make a reader of floats for sorting: too large is infinite; NaN and what is no number are None."""

    def read(value: Json) -> float | None:
        number = convert(value)
        if number is None or plain.is_nan(number):
            return None
        try:
            return float(number)
        except OverflowError:
            return math.inf if number > 0 else -math.inf

    return read


def _odd_key(convert: Convert) -> Callable[[Json], Hashable]:
    """Make the key of the values that `_rough` refuses: NaN however written is one, as are booleans; others are texts."""

    def key(value: Json) -> Hashable:
        if isinstance(value, bool):
            return ("boolean",)
        return ("nan",) if convert(value) is not None else text_key(value)

    return key


# --- comparing numbers


def gap(one: Number, other: Number) -> Number | Fraction:
    """Return |one - other|, exact where floats cannot hold it."""
    try:
        return abs(one - other)
    except OverflowError:
        return math.inf if math.inf in (abs(one), abs(other)) else abs(Fraction(one) - Fraction(other))


def close(gold: Number, extracted: Number, rel: float, tolerance: float) -> bool:
    """Whether the two are within `rel` of the larger magnitude, or within `tolerance`; infinity is only itself."""
    if gold == extracted:
        return True
    if math.inf in (abs(gold), abs(extracted)):
        return False
    largest = max(abs(gold), abs(extracted))
    try:
        return abs(gold - extracted) <= max(rel * largest, tolerance)
    except OverflowError:
        bound = max(Fraction(rel) * Fraction(largest), Fraction(tolerance))
        return abs(Fraction(gold) - Fraction(extracted)) <= bound


def explain_with(convert: Convert) -> Callable[[Json, Json], str]:
    """Make the reason of a number metric: which side is no number, or by how much they differ."""

    def explain(gold: Json, extracted: Json) -> str:
        one, other = convert(gold), convert(extracted)
        if one is None and other is None:
            return "neither is a number, and the texts differ"
        if one is None or other is None:
            return f"not a number: {plain.short(gold if one is None else extracted)}"
        return _error(one, other)

    return explain


def _error(gold: Number, extracted: Number) -> str:
    error = gap(gold, extracted)
    try:
        off = f"off by {float(error):.6g}"
        return f"{off}, relative error {float(error) / abs(gold):.3g}" if gold else off
    except OverflowError:
        return "off by more than a float can hold"


# --- ours


def _make_number(params: Mapping[str, Json], semantics: SemanticsName) -> BoundMetric:
    del semantics
    rel, tolerance = float(params["rel"]), float(params["abs"])

    def compare(gold: Json, extracted: Json) -> float:
        if plain.is_number(gold) and plain.is_number(extracted):
            return 1.0 if close(gold, extracted, rel, tolerance) else 0.0
        return same_text(gold, extracted)

    def kernel(gold: Any, extracted: Any) -> Any:
        import numpy as np

        bound = np.maximum(rel * np.maximum(abs(gold), abs(extracted)), tolerance)
        return abs(gold - extracted) <= bound

    def reach(gold: float) -> tuple[float, float]:
        if rel >= 1 or math.isinf(gold):
            return -math.inf, math.inf
        half = max(tolerance, rel / (1 - rel) * abs(gold)) * (1 + 1e-9) + abs(gold) * 1e-15
        return gold - half, gold + half

    return BoundMetric(
        name="number",
        compare=compare,
        params=params,
        explain=explain_with(read_json),
        matrix=number_matrix(exact_float, kernel, compare),
        near=number_near(_rough(read_json), reach, compare, text_key) if rel or tolerance else None,
        key=None if rel or tolerance else text_key,
    )


def _make_integer(params: Mapping[str, Json], semantics: SemanticsName) -> BoundMetric:
    del semantics
    return BoundMetric(
        name="integer",
        compare=same_text,
        params=params,
        explain=explain_with(read_json),
        matrix=key_matrix(text_key),
        key=text_key,
        triangle=True,
    )


# --- ExtractBench


def _make_number_exact(params: Mapping[str, Json], semantics: SemanticsName) -> BoundMetric:
    published = semantics == "extract-bench"

    def key(value: Json) -> Hashable:
        number = read_text(value)
        if number is None:
            return ("text", text_key(value))
        if plain.is_nan(number):
            # published: the text "nan" is not even equal to itself
            return ("nan", object() if published else 0)
        return number

    return BoundMetric(
        name="number_exact",
        compare=lambda gold, extracted: 1.0 if key(gold) == key(extracted) else 0.0,
        params=params,
        reflexive=not published,
        explain=explain_with(read_text),
        matrix=key_matrix(key),
        key=key,
        triangle=True,
    )


def _make_number_tolerance(params: Mapping[str, Json], semantics: SemanticsName) -> BoundMetric:
    published = semantics == "extract-bench"
    tolerance = float(params["tolerance"])

    def compare(gold: Json, extracted: Json) -> float:
        one, other = read_text(gold), read_text(extracted)
        if published and isinstance(gold, bool) and isinstance(extracted, bool):
            one, other = float(gold), float(extracted)  # only true against 1 is mended
        if one is None or other is None:
            return same_text(gold, extracted) if one is None and other is None else 0.0
        if not published and plain.same(one, other):
            return 1.0
        error = gap(one, other)
        return 1.0 if error <= tolerance or _at_bound(error, tolerance) else 0.0

    def kernel(gold: Any, extracted: Any) -> Any:
        import numpy as np

        error = abs(gold - extracted)
        return (error <= tolerance) | np.isclose(error, tolerance, rtol=1e-9, atol=1e-12)

    def reach(gold: float) -> tuple[float, float]:
        if math.isinf(gold):
            return -math.inf, math.inf
        half = tolerance * (1 + 1e-8) + 1e-11 + abs(gold) * 1e-15
        return gold - half, gold + half

    return BoundMetric(
        name="number_tolerance",
        compare=compare,
        params=params,
        reflexive=not published,
        explain=explain_with(read_text),
        matrix=number_matrix(_float_of(read_text), kernel, compare),
        near=number_near(_rough(read_text), reach, compare, _odd_key(read_text)),
    )


def _at_bound(error: Number | Fraction, tolerance: float) -> bool:
    try:
        return math.isclose(error, tolerance, rel_tol=1e-9, abs_tol=1e-12)
    except OverflowError:
        return False


def _make_integer_exact(params: Mapping[str, Json], semantics: SemanticsName) -> BoundMetric:
    del semantics

    def key(value: Json) -> Hashable:
        number = read_integer(value)
        if number is not None:
            return number
        other = read_text(value)
        # two texts that are numbers but no integers ("42.5") agree as numbers
        return ("text", text_key(value) if other is None or plain.is_nan(other) else other)

    return BoundMetric(
        name="integer_exact",
        compare=lambda gold, extracted: 1.0 if key(gold) == key(extracted) else 0.0,
        params=params,
        explain=explain_with(read_integer),
        matrix=key_matrix(key),
        key=key,
        triangle=True,
    )


# --- struct-extract-eval


def _check_tolerance(value: Json) -> str | None:
    wanted = "must be a mapping with the numbers `rel`, `abs` or both"
    if not isinstance(value, dict):
        return wanted
    if set(value) - {"rel", "abs"} or any(check.number()(bound) for bound in value.values() if bound is not None):
        return wanted
    return None


def _within(gold: Number, extracted: Number, rel: float | None, tolerance: float | None) -> bool:
    """Apply struct-extract-eval's rule: beyond a bound is a mismatch, so NaN (inf / inf) is none."""
    if plain.is_nan(gold) or plain.is_nan(extracted):
        return plain.is_nan(gold) and plain.is_nan(extracted)
    if rel is None and tolerance is None:
        return gold == extracted
    error = gap(gold, extracted)
    if rel is not None and float(error) / (abs(gold) or 1.0) > rel:
        return False
    return tolerance is None or not error > tolerance


def _make_numeric(params: Mapping[str, Json], semantics: SemanticsName) -> BoundMetric:
    published = semantics == "struct-extract-eval"
    bounds = params["tolerance"] or {}
    rel, tolerance = bounds.get("rel"), bounds.get("abs")
    read = _read_published if published else read_text

    def compare(gold: Json, extracted: Json) -> float:
        one, other = read(gold), read(extracted)
        if one is None or other is None:
            if published:
                return 1.0 if gold is None and extracted is None else 0.0
            return same_text(gold, extracted) if one is None and other is None else 0.0
        if not published and (plain.same(one, other) or math.inf in (abs(one), abs(other))):
            return 1.0 if plain.same(one, other) else 0.0
        try:
            return 1.0 if _within(one, other, rel, tolerance) else 0.0
        except OverflowError:
            return 1.0 if one == other else 0.0

    def kernel(gold: Any, extracted: Any) -> Any:
        import numpy as np

        error = abs(gold - extracted)
        if rel is None and tolerance is None:
            return error == 0
        beyond = np.zeros(error.shape, bool)
        if rel is not None:
            beyond |= error / np.where(gold == 0, 1.0, abs(gold)) > rel
        if tolerance is not None:
            beyond |= error > tolerance
        return ~beyond if published else ~beyond | (error == 0)

    return BoundMetric(
        name="numeric",
        compare=compare,
        params=params,
        reflexive=not published,
        explain=explain_with(read),
        matrix=number_matrix(_float_of(read), kernel, compare),
    )


SPECS = (
    MetricSpec(
        name="number",
        make=_make_number,
        doc="Two JSON numbers within a tolerance: |gold - extracted| <= max(rel * the larger magnitude, abs). "
        "A text or a boolean is no number; two that are none are compared as text.",
        params=(
            Param(name="rel", check=check.number(0), default=1e-9, doc="relative tolerance"),
            Param(name="abs", check=check.number(0), default=0.0, doc="absolute tolerance"),
        ),
        examples=(
            Example(0.3, 0.1 + 0.2, 1.0),
            Example(100, 101, 0.0),
            Example(100, 101, 1.0, {"rel": 0.01}),
            Example(5, "5", 0.0),
        ),
    ),
    MetricSpec(
        name="integer",
        make=_make_integer,
        doc="Numbers that are equal, however written: 42.0 is 42, 42.9 is not, true is not 1.",
        examples=(Example(42, 42.0, 1.0), Example(42, 42.9, 0.0), Example(1, True, 0.0)),
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
        make=_make_integer_exact,
        doc='ExtractBench: equal as whole numbers, texts like "7" included; 42.9 is not 42 (published: cut off), '
        "true is not 1, two values that are no integers are compared as text.",
        examples=(Example(42, 42.0, 1.0), Example(42, "42", 1.0), Example(42.9, 42.1, 0.0), Example(1, True, 0.0)),
    ),
    MetricSpec(
        name="numeric",
        make=_make_numeric,
        doc="struct-extract-eval: equal as numbers, texts included, within `tolerance: {rel, abs}` (rel of |gold|, of 1 "
        "where gold is 0; both must hold). Under its own semantics booleans are numbers, and a text that is no number "
        "matches nothing, not even itself; under others true is not 1 and equal texts match.",
        params=(Param(name="tolerance", check=_check_tolerance, doc="`{rel: number, abs: number}`, either or both"),),
        examples=(
            Example(100, 101, 1.0, {"tolerance": {"rel": 0.01}}),
            Example(100, 101, 0.0, {"tolerance": {"rel": 0.01, "abs": 0.5}}),
            Example(1, True, 0.0),
            Example(1, True, 1.0, semantics="struct-extract-eval"),
            Example("a", "a", 0.0, semantics="struct-extract-eval"),
        ),
        symmetric=False,
    ),
)
