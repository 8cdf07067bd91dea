"""The metric of quantities: a number with a unit, whichever of the equal units it is written in."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

from pytest_extract.core.metrics import equality
from pytest_extract.core.metrics import params as check
from pytest_extract.core.metrics.base import BoundMetric, Example, MetricSpec, Param, Params, SemanticsName
from pytest_extract.core.metrics.exact import explain_read, reading_metric
from pytest_extract.core.metrics.locales import (
    LOCALE,
    LONGEST,
    NumberStyle,
    decimal_text,
    exactly,
    read_written,
    styles_of,
    within,
)
from pytest_extract.core.metrics.numbers import NOISE, is_whole
from pytest_extract.core.metrics.units import BASE_UNITS, Powers, Unit, read_unit, unit_names
from pytest_extract.core.values import Json
from pytest_extract.errors import closest

_BOUND = re.compile(r"(<=|>=|[<>≤≥~≈])\s?")
_BOUNDS: Mapping[str, str] = {"<=": "≤", ">=": "≥", "≈": "~"}
_BETWEEN = re.compile(r"(?<=[^\W\d_])\s(?=\d)|(?<=['\"])\s?(?=\d)")
"""Where "5 ft 11 in" and 5'11" fall apart."""
_SPAN = re.compile(r"(?P<low>.*?\d\D*?)\s?(?:[-\u2012-\u2015\u2212]|\b(?:to|bis)\b)\s?(?P<high>\d.*)")


class Quantity(NamedTuple):
    """A value in units that are measured by no other, and their powers.

    high: where a range ends, else the value again; bound: "<", "≤", ">", "≥" or "~" before it. whole: whether its
    numbers are written without a fraction, in whatever unit.
    """

    value: Fraction
    high: Fraction
    powers: Powers
    bound: str = ""
    whole: bool = True

    def same_kind(self, other: Quantity) -> bool:
        """Whether both are measured in the same units."""
        return self.powers == other.powers

    @property
    def text(self) -> str:
        """The numbers, in base units."""
        low, high = decimal_text(self.value), decimal_text(self.high)
        return self.bound + (low if self.value == self.high else f"{low} to {high}")


@dataclass(frozen=True, slots=True)
class _QuantityReader:
    """Reads quantities in some styles of numbers; `default` is the unit of those that name none."""

    styles: tuple[NumberStyle, ...]
    default: Unit | None

    def __call__(self, value: Json) -> Quantity | None:
        """Read a number or a text; None for what is no quantity."""
        if not isinstance(value, str):
            number = exactly(value)
            return None if number is None else _in_base(number, number, self.default)
        text = equality.written(value)
        if len(text) > LONGEST:
            return None
        sign = _BOUND.match(text)
        found = self._unsigned(text[sign.end() :] if sign else text)
        if found is None or sign is None:
            return found
        return found._replace(bound=_BOUNDS.get(sign[1], sign[1]))

    def _unsigned(self, text: str) -> Quantity | None:
        return self._one(text) or self._sum(text) or self._span(text)

    def _unit(self, text: str) -> Unit | None:
        return read_unit(text, known=False) if text else self.default

    def _one(self, text: str) -> Quantity | None:
        found = read_written(text, self.styles)
        if found is None or found.before:
            return None
        return _in_base(found.value, found.value, self._unit(found.after))

    def _sum(self, text: str) -> Quantity | None:
        """Read "5 ft 11 in" and "1 h 30 min": parts in units of one kind, each smaller than the one before."""
        parts = [self._one(part) for part in _BETWEEN.split(text)]
        first = parts[0]
        if len(parts) < 2 or first is None or BASE_UNITS.isdisjoint(name for name, _ in first.powers):
            return None
        total = last = first.value
        whole = first.whole
        for part in parts[1:]:
            if part is None or not part.same_kind(first) or not 0 <= part.value < last:
                return None
            last = part.value
            total += last
            whole = whole and part.whole
        return first._replace(value=total, high=total, whole=whole)

    def _span(self, text: str) -> Quantity | None:
        """Read "3.5-5.0 mmol/L" and "2 g to 3 g"."""
        match = _SPAN.fullmatch(text)
        if match is None:
            return None
        low, high = (read_written(match[name], self.styles) for name in ("low", "high"))
        if low is None or high is None or low.before or high.before:
            return None
        unit = self._unit(high.after)
        if unit is None or (low.after and self._unit(low.after) != unit) or low.value > high.value:
            return None
        return _in_base(low.value, high.value, unit)


def _in_base(low: Fraction, high: Fraction, unit: Unit | None) -> Quantity | None:
    if unit is None:
        return None
    first, last = (number * unit.factor + unit.zero for number in (low, high))
    return Quantity(first, last, unit.powers, whole=is_whole(low) and is_whole(high))


def _make_quantity(params: Params, _semantics: SemanticsName) -> BoundMetric:
    read = _QuantityReader(styles_of(params["locale"]), read_unit(params["unit"] or ""))
    rel = NOISE if params["rel"] is None else float(params["rel"])
    of_fractions = within(rel, 0.0)
    of_whole = within(0.0, 0.0) if params["rel"] is None else of_fractions

    def agree(gold: Quantity, extracted: Quantity) -> bool:
        if gold.bound != extracted.bound or not gold.same_kind(extracted):
            return False
        admits = of_whole if gold.whole and extracted.whole else of_fractions
        return admits(gold.value, extracted.value) and admits(gold.high, extracted.high)

    def differ(gold: Quantity, extracted: Quantity) -> str:
        if not gold.same_kind(extracted):
            return "units of different kinds"
        return f"{gold.text} expected, got {extracted.text} (both in SI base units)"

    explain = explain_read(read, "a quantity", differ)
    return reading_metric(read, agree, explain, near=(lambda quantity: float(quantity.value), rel, 0.0))


def _check_unit(value: Json) -> str | None:
    known = isinstance(value, str) and value and read_unit(value)
    return None if known else f"must be a known unit such as 'kg' or 'm/s'{closest(value, unit_names())}"


SPECS = (
    MetricSpec(
        name="quantity",
        make=_make_quantity,
        doc="Numbers, ranges (3.5-5.0 mmol/L), bounds (< 5 ng/ml) and sums (5 ft 11 in) with a unit: equal in base "
        "units. Knows SI units with prefixes, imperial ones, temperatures, data sizes, percent, IU, months, years, "
        "their products and quotients; any other word is a unit that agrees with itself only.",
        params=(
            LOCALE,
            Param(name="unit", check=_check_unit, doc="unit of values that name none"),
            Param(
                name="rel",
                check=check.number(0),
                doc="tolerance relative to |gold|; default 1e-9, and none between whole numbers",
            ),
        ),
        examples=(
            Example("5 kg", "5,000 g", 1.0),
            Example("36 km/h", "10 m/s", 1.0),
            Example("20 °C", "68 °F", 1.0),
            Example("5.5 \u00d7 10⁹/L", "5,500 /µL", 1.0),
            Example("3 years", "36 months", 1.0),
            Example("10 mEq/L", "10.0 mEq/l", 1.0),
            Example("3.5-5.0 mmol/L", "3.5 to 5 mmol/l", 1.0),
            Example("< 0.5 ng/mL", "0.5 ng/mL", 0.0),
            Example("5 kg", "5 m", 0.0),
            Example("4006381333931 kWh", "4006381333932 kWh", 0.0),
            Example(2.5, "2500 ml", 1.0, {"unit": "l"}),
            Example("1 inch", "2.5 cm", 0.0),
            Example("1 inch", "2.5 cm", 1.0, {"rel": 0.02}),
        ),
        symmetric=False,
    ),
)
