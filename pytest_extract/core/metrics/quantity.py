"""The metric of quantities: a number with a unit, whichever of the equal units it is written in ("kWh", "m/s²").

Units that measure nothing physical (IU, months) and words that stand in no table ("5 Stück") are units of their own:
they agree with themselves only.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from functools import cache, lru_cache
from typing import Final, NamedTuple

from pytest_extract.core.metrics import base as check
from pytest_extract.core.metrics.base import BoundMetric, Example, MetricSpec, Param, Params, SemanticsName
from pytest_extract.core.metrics.exact import explain_read, reading_metric
from pytest_extract.core.metrics.numbers import (
    LOCALE,
    LONGEST,
    NOISE,
    RAISED,
    NumberStyle,
    decimal_text,
    exactly,
    read_written,
    styles_of,
    within,
)
from pytest_extract.core.values import Json, written
from pytest_extract.errors import closest

Powers = tuple[tuple[str, int], ...]
"""Units that are measured by no other, each with its power, sorted by name."""


class Unit(NamedTuple):
    """`factor` of the units that measure it, with their powers, and the zero point in them (temperatures only)."""

    factor: Fraction
    powers: Powers = ()
    zero: Fraction = Fraction(0)


_PREFIXED: Mapping[str, str] = {
    "m": "1 m",
    "g": "0.001 kg",
    "s": "1 s",
    "A": "1 A",
    "K": "1 K",
    "mol": "1 mol",
    "cd": "1 cd",
    "l L \u2113": "0.001 m3",
    "t": "1000 kg",
    "Hz": "1 s-1",
    "N": "1 m kg s-2",
    "Pa": "1 m-1 kg s-2",
    "bar": "100000 m-1 kg s-2",
    "J": "1 m2 kg s-2",
    "Wh": "3600 m2 kg s-2",
    "cal": "4.184 m2 kg s-2",
    "eV": "1.602176634e-19 m2 kg s-2",
    "W VA": "1 m2 kg s-3",
    "C": "1 s A",
    "Ah": "3600 s A",
    "V": "1 m2 kg s-3 A-1",
    "Ω ohm": "1 m2 kg s-3 A-2",
    "F": "1 m-2 kg-1 s4 A2",
    "bit": "1 bit",
    "B": "8 bit",
}
_FIXED: Mapping[str, str] = {
    'in inch inches "': "0.0254 m",
    "ft foot feet '": "0.3048 m",
    "yd yard yards": "0.9144 m",
    "mi mile miles": "1609.344 m",
    "nmi": "1852 m",
    "meter meters metre metres": "1 m",
    "centimeter centimeters centimetre centimetres": "0.01 m",
    "millimeter millimeters millimetre millimetres": "0.001 m",
    "kilometer kilometers kilometre kilometres": "1000 m",
    "micron microns": "0.000001 m",
    "Å angstrom": "1e-10 m",
    "gram grams gramme grammes gramm": "0.001 kg",
    "kilogram kilograms kilo kilos kilogramm": "1 kg",
    "mcg": "1e-9 kg",
    "tonne tonnes tonnen": "1000 kg",
    "lb lbs pound pounds": "0.45359237 kg",
    "oz ounce ounces": "0.028349523125 kg",
    "stone": "6.35029318 kg",
    "sec secs second seconds sekunde sekunden sek seconde secondes": "1 s",
    "min mins minute minutes minuten minuto minutos minuti": "60 s",
    "h hr hrs hour hours stunde stunden std heure heures hora horas ora ore uur": "3600 s",
    "d day days tag tage tagen jour jours día días dia dias giorno giorni dag dagen": "86400 s",
    "wk week weeks woche wochen semaine semaines semana semanas settimana settimane weken": "604800 s",
    "ha hectare hectares": "10000 m2",
    "acre acres": "4046.8564224 m2",
    "sqm qm": "1 m2",
    "sqft": "0.09290304 m2",
    "cbm": "1 m3",
    "liter liters litre litres litro litros litri": "0.001 m3",
    "Nm": "1 m2 kg s-2",
    "kelvin": "1 K",
    "floz": "0.0000295735295625 m3",
    "gal gallon gallons": "0.003785411784 m3",
    "cc": "0.000001 m3",
    "mph": "0.44704 m s-1",
    "kph kmh": "5/18 m s-1",
    "kn knot knots": "463/900 m s-1",
    "rpm": "1/60 s-1",
    "atm": "101325 m-1 kg s-2",
    "psi": "6894.757293168 m-1 kg s-2",
    "mmHg": "133.322387415 m-1 kg s-2",
    "BTU": "1055.05585262 m2 kg s-2",
    "hp": "745.69987158227022 m2 kg s-3",
    "byte bytes": "8 bit",
    "bits": "1 bit",
    "% percent prozent": "0.01",
    "‰": "0.001",
    "ppm": "0.000001",
    "pcs pc pieces piece units unit": "1",
    "IU U UI IE": "1 IU",
    "MIU MU": "1000000 IU",
    "kIU kU": "1000 IU",
    "mIU mU": "0.001 IU",
    "µIU μIU uIU µU μU uU": "0.000001 IU",
    "month months mo monat monate monaten mois mes meses mese mesi maand maanden": "1 month",  # of no number of days
    "quarter quarters quartal quartale": "3 month",
    "year years yr yrs jahr jahre jahren an ans année années año años ano anos anno anni jaar": "12 month",
}
"""Names -> a number of base units; IU and months are measured by nothing else."""
_PREFIXES: Mapping[int, str] = {
    -12: "p", -9: "n", -6: "µ μ u", -3: "m", -2: "c", -1: "d", 2: "h", 3: "k", 6: "M", 9: "G", 12: "T", 15: "P",
}  # fmt: skip
"""Power of ten -> prefixes."""
_SPELLINGS: Final = (
    (re.compile(r"\bmm hg\b", re.IGNORECASE), "mmHg"),
    (re.compile(r"\bfl\.? ?oz\b", re.IGNORECASE), "floz"),
    (re.compile(r"\b(?:sq\.?|square) ([^\W\d_]+)\.?", re.IGNORECASE), r"\1^2"),
    (re.compile(r"\b(?:cu\.?|cubic) ([^\W\d_]+)\.?", re.IGNORECASE), r"\1^3"),
)
_TEMPERATURES: Mapping[str, tuple[Fraction, Fraction]] = {
    "c": (Fraction(1), Fraction("273.15")),
    "f": (Fraction(5, 9), Fraction("459.67") * Fraction(5, 9)),
}
_DEGREES = re.compile(r"(?:degrees?|deg\.?|[°º])\s*([cf]|celsius|fahrenheit)|(celsius|fahrenheit)")


@cache
def _table() -> Mapping[str, Unit]:
    units: dict[str, Unit] = {}
    decimal = {name: Fraction(10) ** power for power, names in _PREFIXES.items() for name in names.split()}
    binary = {name: Fraction(2**power) for name, power in (("Ki", 10), ("Mi", 20), ("Gi", 30), ("Ti", 40))}
    for names, text in _PREFIXED.items():
        unit = _unit_of(text)
        for prefix, factor in {"": Fraction(1), **decimal, **(binary if "bit" in text else {})}.items():
            for name in names.split():
                units.setdefault(prefix + name, unit._replace(factor=unit.factor * factor))
    for names, text in _FIXED.items():
        units |= dict.fromkeys(names.split(), _unit_of(text))
    return units


def _unit_of(text: str) -> Unit:
    """Return what a row of a table says: "0.3048 m", "3600 m2 kg s-2"."""
    factor, *powers = text.split()
    named = [re.fullmatch(r"([A-Za-z]+)(-?\d)?", power) for power in powers]
    return Unit(Fraction(factor), tuple(sorted((match[1], int(match[2] or 1)) for match in named if match)))


@cache
def _caseless() -> Mapping[str, Unit]:
    """Units by caseless name, where that names one unit only: "KG" is kg, but "Mm" and "mm" stay apart."""
    names = Counter(map(str.casefold, _table()))
    return {
        folded: unit for name, unit in _table().items() if names[folded := name.casefold()] == 1 and len(folded) > 1
    }


_FACTOR = re.compile(
    r"(?:\s*(?P<over>/|\bper\b)\s*|\s*[*·⋅\u00d7]\s*|\s+)?"
    r"(?P<name>[^\W\d_]+|[\"'%‰°]+[^\W\d_]*)\.?(?:\^|\*\*)?(?P<power>-?\d)?"
)


@lru_cache(maxsize=1024)  # a column of a table has few units
def read_unit(text: str, *, known: bool = True) -> Unit | None:
    """Read a unit expression; "" is the number one; None where it is none.

    known: whether every word must be a unit that we know; else an unknown word is a unit of its own.
    """
    words = text.strip().translate(RAISED)
    degrees = _DEGREES.fullmatch(words.casefold())
    if degrees is not None:
        factor, zero = _TEMPERATURES[(degrees[1] or degrees[2])[0]]
        return Unit(factor, (("K", 1),), zero)
    for pattern, usual in _SPELLINGS:
        words = pattern.sub(usual, words)
    factor, powers, sign, place = Fraction(1), Counter[str](), 1, 0
    while place < len(words):
        match = _FACTOR.match(words, place)
        if match is None:
            return None
        unit = _table().get(match["name"]) or _caseless().get(match["name"].casefold())
        if unit is None:
            if known or not match["name"][0].isalpha():
                return None
            unit = Unit(Fraction(1), ((f"?{match['name'].casefold()}", 1),))  # no base unit has such a name
        sign = -1 if match["over"] else sign  # "5,000 /µl" begins with it
        power = int(match["power"] or 1) * sign
        factor *= unit.factor**power
        powers.update({name: its * power for name, its in unit.powers})
        place = match.end()
    return Unit(factor, tuple(sorted((name, power) for name, power in powers.items() if power)))


_BOUND = re.compile(r"(<=|>=|[<>≤≥~≈])\s?")
_BOUNDS: Mapping[str, str] = {"<=": "≤", ">=": "≥", "≈": "~"}
_MARKS: Final[Mapping[int, str]] = {0x2018: "'", 0x2019: "'", 0x201C: '"', 0x201D: '"', 0x2032: "'", 0x2033: '"'}
"""Marks of feet and inches, minutes and seconds, as they are printed."""
_SPAN = re.compile(r"(.*?\d\D*?)\s?(?:[-\u2012-\u2015\u2212]|\b(?:to|bis)\b)\s?([-+\u2212]?\d.*)")


class Quantity(NamedTuple):
    """A value in units that are measured by no other, and their powers.

    high: where a range ends, else the value again; bound: "<", "≤", ">", "≥" or "~" before it. whole: whether its
    numbers are written without a fraction, in whatever unit. zero: what the unit's own zero is in base units.
    """

    value: Fraction
    high: Fraction
    powers: Powers
    bound: str = ""
    whole: bool = True
    zero: Fraction = Fraction(0)

    def __str__(self) -> str:
        low, high = decimal_text(self.value), decimal_text(self.high)
        units = "".join(f" {name.lstrip('?')}{power if power != 1 else ''}" for name, power in self.powers)
        return f"{self.bound}{low}{'' if self.value == self.high else f' to {high}'}{units}"


def _in_base(low: Fraction, high: Fraction, unit: Unit | None) -> Quantity | None:
    if unit is None:
        return None
    first, last = (number * unit.factor + unit.zero for number in (low, high))
    return Quantity(first, last, unit.powers, whole=low.denominator == high.denominator == 1, zero=unit.zero)


def _quantity_reader(styles: Sequence[NumberStyle], default: Unit | None) -> Callable[[Json], Quantity | None]:
    """Return what reads a number or a text; None for no quantity. `default`: the unit of those that name none."""

    def unit_of(text: str) -> Unit | None:
        return read_unit(text, known=False) if text else default

    def between(*ends: str) -> Quantity | None:
        """Read one value, or the two ends of "3.5-5.0 mmol/L" and "2 g to 3 g"."""
        read_ends = [read_written(text, styles) for text in ends]
        low, high = read_ends[0], read_ends[-1]
        if low is None or high is None or low.before or high.before or low.value > high.value:
            return None
        unit = unit_of(high.after)
        return None if low.after and unit_of(low.after) != unit else _in_base(low.value, high.value, unit)

    def read(value: Json) -> Quantity | None:
        if not isinstance(value, str):
            number = exactly(value)
            return None if number is None else _in_base(number, number, default)
        text = written(value).translate(_MARKS)
        if len(text) > LONGEST:
            return None
        sign = _BOUND.match(text)
        text = text[sign.end() :] if sign else text
        span = _SPAN.fullmatch(text)
        found = between(text) or (between(*span.groups()) if span else None)
        return found._replace(bound=_BOUNDS.get(sign[1], sign[1])) if found and sign else found

    return read


def _check_unit(value: Json) -> str | None:
    known = isinstance(value, str) and value and read_unit(value)
    return None if known else f"must be a known unit such as 'kg' or 'm/s'{closest(value, _table())}"


@MetricSpec.row(
    "quantity",
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
    params=(
        LOCALE,
        Param(name="unit", check=_check_unit, doc="unit of values that name none"),
        Param(
            name="rel",
            check=check.number(0),
            doc="tolerance relative to |gold|; default 1e-9, and none between whole numbers",
        ),
    ),
)
def _quantity(params: Params, _semantics: SemanticsName) -> BoundMetric:
    """Numbers, ranges (3.5-5.0 mmol/L) and bounds (< 5 ng/ml) with a unit: equal in base units.

    Knows SI units with prefixes, imperial ones, temperatures, data sizes, percent, IU, months, years, their
    products and quotients; any other word is a unit that agrees with itself only.
    """
    read = _quantity_reader(styles_of(params["locale"]), read_unit(params["unit"] or ""))
    rel = NOISE if params["rel"] is None else float(params["rel"])
    of_fractions = within(rel, 0.0)
    of_whole = within(0.0, 0.0) if params["rel"] is None else of_fractions

    def agree(gold: Quantity, extracted: Quantity) -> bool:
        if gold.bound != extracted.bound or gold.powers != extracted.powers:
            return False
        admits = of_whole if gold.whole and extracted.whole else of_fractions
        return all(
            admits(one, other) and (not gold.zero or admits(one - gold.zero, other - gold.zero))  # 5 % of 20 °C is 1 °C
            for one, other in ((gold.value, extracted.value), (gold.high, extracted.high))
        )

    explain = explain_read(read, "a quantity")
    return reading_metric(read, agree, explain, near=(lambda quantity: float(quantity.value), rel, 0.0))
