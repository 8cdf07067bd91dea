"""The metric of quantities: a number with a unit, whichever of the equal units it is written in."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import NamedTuple

from pytest_extract.core.metrics import params as check
from pytest_extract.core.metrics import plain
from pytest_extract.core.metrics.base import BoundMetric, Example, MetricSpec, Param, SemanticsName
from pytest_extract.core.metrics.locales import (
    LOCALE,
    Exact,
    decimal_text,
    exact,
    exactly,
    read_written,
    styles_of,
    within,
)
from pytest_extract.core.metrics.reading import reading_metric
from pytest_extract.core.metrics.units import Dimensions, Unit, read_unit, unit_names
from pytest_extract.core.values import Json
from pytest_extract.errors import closest


class Quantity(NamedTuple):
    """A value in base units, their powers, and those of units of their own."""

    value: Exact
    dimensions: Dimensions
    own: tuple[tuple[str, int], ...]

    def same_kind(self, other: Quantity) -> bool:
        """Whether both are measured in the same base units."""
        return self[1:] == other[1:]


def _reader(params: Mapping[str, Json]) -> Callable[[Json], Quantity | None]:
    styles = styles_of(params["locale"])
    default = read_unit(params["unit"] or "")

    def in_base(number: Fraction, unit: Unit | None) -> Quantity | None:
        return None if unit is None else Quantity(exact(number * unit.factor + unit.zero), unit.dimensions, unit.own)

    def read(value: Json) -> Quantity | None:
        if not isinstance(value, str):
            number = exactly(value)
            return None if number is None else in_base(number, default)
        found = read_written(plain.written(value), styles)
        if found is None or found.before:
            return None
        return in_base(found.value, read_unit(found.after, known=False) if found.after else default)

    return read


def _make_quantity(params: Mapping[str, Json], semantics: SemanticsName) -> BoundMetric:
    del semantics
    read, admits = _reader(params), within(float(params["rel"]), 0.0)

    def agree(gold: Quantity, extracted: Quantity) -> float:
        return 1.0 if gold.same_kind(extracted) and admits(gold.value, extracted.value) else 0.0

    def explain(gold: Json, extracted: Json) -> str:
        one, other = read(gold), read(extracted)
        if one is None or other is None:
            return f"not a quantity: {plain.short(gold if one is None else extracted)}"
        if not one.same_kind(other):
            return "units of different kinds"
        return f"{decimal_text(one.value)} expected, got {decimal_text(other.value)} (both in SI base units)"

    return reading_metric("quantity", read, agree, explain, params)


def _check_unit(value: Json) -> str | None:
    known = isinstance(value, str) and value and read_unit(value)
    return None if known else f"must be a known unit such as 'kg' or 'm/s'{closest(value, unit_names())}"


SPECS = (
    MetricSpec(
        name="quantity",
        make=_make_quantity,
        doc="Numbers with a unit: equal when they are so in base units, within a relative tolerance. Knows SI units "
        "with prefixes, common imperial ones, temperatures, data sizes, percent, IU, months and years, and their "
        "products and quotients; any other word is a unit that agrees with itself only.",
        params=(
            LOCALE,
            Param(name="unit", check=_check_unit, doc="unit of values that name none"),
            Param(name="rel", check=check.number(0), default=1e-9, doc="tolerance relative to |gold|"),
        ),
        examples=(
            Example("5 kg", "5,000 g", 1.0),
            Example("36 km/h", "10 m/s", 1.0),
            Example("20 °C", "68 °F", 1.0),
            Example("5.5 \u00d7 10⁹/L", "5,500 /µL", 1.0),
            Example("3 years", "36 months", 1.0),
            Example("10 mEq/L", "10.0 mEq/l", 1.0),
            Example("5 kg", "5 m", 0.0),
            Example(2.5, "2500 ml", 1.0, {"unit": "l"}),
            Example("1 inch", "2.5 cm", 0.0),
            Example("1 inch", "2.5 cm", 1.0, {"rel": 0.02}),
        ),
        symmetric=False,
    ),
)
