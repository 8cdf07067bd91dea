"""Metrics over numbers. A boolean is a number only where struct-extract-eval published it so."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping
from typing import TYPE_CHECKING, Any

from pytest_extract.core.metrics import equality
from pytest_extract.core.metrics import params as check
from pytest_extract.core.metrics.arithmetic import (
    NOISE,
    Number,
    close,
    explain_with,
    float_of,
    gap,
    is_whole,
    json_number,
    python_float,
    python_float_or_boolean,
    python_integer,
    same_text,
)
from pytest_extract.core.metrics.base import BoundMetric, Example, MetricSpec, Param, SemanticsName
from pytest_extract.core.metrics.vectorized import exact_float, key_matrix, number_matrix
from pytest_extract.core.values import Json

if TYPE_CHECKING:
    from fractions import Fraction

# --- ours


def _make_number(params: Mapping[str, Json], semantics: SemanticsName) -> BoundMetric:
    del semantics
    rel = NOISE if params["rel"] is None else float(params["rel"])
    tolerance = float(params["abs"])
    whole_rel = 0.0 if params["rel"] is None else rel

    def compare(gold: Json, extracted: Json) -> float:
        if equality.is_number(gold) and equality.is_number(extracted):
            if is_whole(gold) and is_whole(extracted):  # as integers, whose difference no float rounds away
                return 1.0 if close(int(gold), int(extracted), whole_rel, tolerance) else 0.0
            return 1.0 if close(gold, extracted, rel, tolerance) else 0.0
        return same_text(gold, extracted)

    def kernel(gold: Any, extracted: Any) -> Any:
        import numpy as np

        both_whole = (gold == np.floor(gold)) & (extracted == np.floor(extracted))
        bound = np.where(both_whole, whole_rel, rel) * np.maximum(abs(gold), abs(extracted))
        return abs(gold - extracted) <= np.maximum(bound, tolerance)

    return BoundMetric(
        name="number",
        compare=compare,
        params=params,
        explain=explain_with(json_number),
        matrix=number_matrix(exact_float, kernel, compare),
        key=None if rel or tolerance else equality.text_key,
    )


def _make_integer(params: Mapping[str, Json], semantics: SemanticsName) -> BoundMetric:
    del semantics
    return BoundMetric(
        name="integer",
        compare=same_text,
        params=params,
        explain=explain_with(json_number),
        matrix=key_matrix(equality.text_key),
        key=equality.text_key,
    )


_NUMBERS = frozenset({int, float, bool})


# --- ExtractBench


def _make_number_exact(params: Mapping[str, Json], semantics: SemanticsName) -> BoundMetric:
    published = semantics == "extract-bench"

    def key(value: Json) -> Hashable:
        number = python_float(value)
        if number is None:
            return ("text", equality.text_key(value))
        if equality.is_nan(number):
            # published: the text "nan" is not even equal to itself
            return ("nan", object() if published else 0)
        return number

    return BoundMetric(
        name="number_exact",
        compare=lambda gold, extracted: 1.0 if key(gold) == key(extracted) else 0.0,
        params=params,
        reflexive=not published,
        sure=_NUMBERS,
        explain=explain_with(python_float),
        matrix=key_matrix(key),
        key=key,
    )


def _make_number_tolerance(params: Mapping[str, Json], semantics: SemanticsName) -> BoundMetric:
    published = semantics == "extract-bench"
    tolerance = float(params["tolerance"])

    def compare(gold: Json, extracted: Json) -> float:
        one, other = python_float(gold), python_float(extracted)
        if published and isinstance(gold, bool) and isinstance(extracted, bool):
            one, other = float(gold), float(extracted)  # only true against 1 is mended
        if one is None or other is None:
            return same_text(gold, extracted) if one is None and other is None else 0.0
        if not published and equality.python_scalars(one, other):
            return 1.0
        error = gap(one, other)
        return 1.0 if error <= tolerance or _at_bound(error, tolerance) else 0.0

    def kernel(gold: Any, extracted: Any) -> Any:
        import numpy as np

        error = abs(gold - extracted)
        return (error <= tolerance) | np.isclose(error, tolerance, rtol=1e-9, atol=1e-12)

    return BoundMetric(
        name="number_tolerance",
        compare=compare,
        params=params,
        reflexive=not published,
        sure=_NUMBERS,
        explain=explain_with(python_float),
        matrix=number_matrix(float_of(python_float), kernel, compare),
    )


def _at_bound(error: Number | Fraction, tolerance: float) -> bool:
    try:
        return math.isclose(error, tolerance, rel_tol=1e-9, abs_tol=1e-12)
    except OverflowError:
        return False


def _make_integer_exact(params: Mapping[str, Json], semantics: SemanticsName) -> BoundMetric:
    del semantics

    def key(value: Json) -> Hashable:
        number = python_integer(value)
        if number is not None:
            return number
        other = python_float(value)
        # two texts that are numbers but no integers ("42.5") agree as numbers
        return ("text", equality.text_key(value) if other is None or equality.is_nan(other) else other)

    return BoundMetric(
        name="integer_exact",
        compare=lambda gold, extracted: 1.0 if key(gold) == key(extracted) else 0.0,
        params=params,
        explain=explain_with(python_integer),
        matrix=key_matrix(key),
        key=key,
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
    if equality.is_nan(gold) or equality.is_nan(extracted):
        return equality.is_nan(gold) and equality.is_nan(extracted)
    if rel is None and tolerance is None:
        return gold == extracted
    error = gap(gold, extracted)
    if rel is not None and float(error) / (abs(gold) or 1.0) > rel:
        return False
    return tolerance is None or not error > tolerance


def _within_floats(gold: Any, extracted: Any, rel: float | None, tolerance: float | None) -> Any:
    """Apply `_within` to arrays of finite floats."""
    import numpy as np

    error = abs(gold - extracted)
    if rel is None and tolerance is None:
        return error == 0
    beyond = np.zeros(error.shape, bool)
    if rel is not None:
        beyond |= error / np.where(gold == 0, 1.0, abs(gold)) > rel
    if tolerance is not None:
        beyond |= error > tolerance
    return ~beyond


def _make_numeric(params: Mapping[str, Json], semantics: SemanticsName) -> BoundMetric:
    published = semantics == "struct-extract-eval"
    bounds = params["tolerance"] or {}
    rel, tolerance = bounds.get("rel"), bounds.get("abs")
    read = python_float_or_boolean if published else python_float

    def compare(gold: Json, extracted: Json) -> float:
        one, other = read(gold), read(extracted)
        if one is None or other is None:
            if published:
                return 1.0 if gold is None and extracted is None else 0.0
            return same_text(gold, extracted) if one is None and other is None else 0.0
        if not published and (equality.same(one, other) or math.inf in (abs(one), abs(other))):
            return 1.0 if equality.same(one, other) else 0.0
        try:
            return 1.0 if _within(one, other, rel, tolerance) else 0.0
        except OverflowError:
            return 1.0 if one == other else 0.0

    def kernel(gold: Any, extracted: Any) -> Any:
        fits = _within_floats(gold, extracted, rel, tolerance)
        return fits if published else fits | (gold == extracted)

    return BoundMetric(
        name="numeric",
        compare=compare,
        params=params,
        reflexive=not published,
        sure=_NUMBERS if all(bound is None or bound >= 0 for bound in (rel, tolerance)) else frozenset(),
        explain=explain_with(read),
        matrix=number_matrix(float_of(read), kernel, compare),
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
            Param(name="abs", check=check.number(0), default=0.0, doc="absolute tolerance"),
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
        make=_make_integer,
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
        make=_make_integer_exact,
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
        "1 where gold is 0; both must hold). Under its own semantics booleans are numbers, and a text "
        "that is no number matches nothing, not even itself; under others true is not 1 and equal texts match.",
        params=(Param(name="tolerance", check=_check_tolerance, doc="`{rel: number, abs: number}`, either or both"),),
        examples=(
            Example(100, 101, 1.0, {"tolerance": {"rel": 0.01}}),
            Example(100, 101, 0.0, {"tolerance": {"rel": 0.01, "abs": 0.5}}),
            Example(gold=1, extracted=True, score=0.0),
            Example(gold=1, extracted=True, score=1.0, semantics="struct-extract-eval"),
            Example("a", "a", 0.0, semantics="struct-extract-eval"),
        ),
        symmetric=False,
    ),
)
