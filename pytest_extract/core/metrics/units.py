"""Units of measurement: a small table, and the reading of unit expressions such as "kWh", "m/s²" and "kg per m3".

Units that measure nothing physical (IU, months) and words that stand in no table ("5 Stück") are units of their own:
they agree with themselves only.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from fractions import Fraction
from functools import cache, lru_cache
from types import MappingProxyType
from typing import Final, NamedTuple

Dimensions = tuple[int, ...]
"""Powers of metre, kilogram, second, ampere, kelvin, mole, candela, bit."""


class Unit(NamedTuple):
    """`factor` of the base units, their powers, and the zero point in base units (temperatures only).

    own: units that are measured by nothing else, each with its power, sorted by name.
    """

    factor: Fraction
    dimensions: Dimensions
    zero: Fraction = Fraction(0)
    own: tuple[tuple[str, int], ...] = ()


_NONE: Final = (0, 0, 0, 0, 0, 0, 0, 0)
_BASES = {
    "one": _NONE,
    "length": (1, 0, 0, 0, 0, 0, 0, 0),
    "area": (2, 0, 0, 0, 0, 0, 0, 0),
    "volume": (3, 0, 0, 0, 0, 0, 0, 0),
    "mass": (0, 1, 0, 0, 0, 0, 0, 0),
    "time": (0, 0, 1, 0, 0, 0, 0, 0),
    "speed": (1, 0, -1, 0, 0, 0, 0, 0),
    "frequency": (0, 0, -1, 0, 0, 0, 0, 0),
    "force": (1, 1, -2, 0, 0, 0, 0, 0),
    "pressure": (-1, 1, -2, 0, 0, 0, 0, 0),
    "energy": (2, 1, -2, 0, 0, 0, 0, 0),
    "power": (2, 1, -3, 0, 0, 0, 0, 0),
    "current": (0, 0, 0, 1, 0, 0, 0, 0),
    "charge": (0, 0, 1, 1, 0, 0, 0, 0),
    "voltage": (2, 1, -3, -1, 0, 0, 0, 0),
    "resistance": (2, 1, -3, -2, 0, 0, 0, 0),
    "capacity": (-2, -1, 4, 2, 0, 0, 0, 0),
    "temperature": (0, 0, 0, 0, 1, 0, 0, 0),
    "amount": (0, 0, 0, 0, 0, 1, 0, 0),
    "light": (0, 0, 0, 0, 0, 0, 1, 0),
    "data": (0, 0, 0, 0, 0, 0, 0, 1),
}
_PREFIXED: Mapping[str, tuple[str, str]] = {
    "m": ("1", "length"),
    "g": ("0.001", "mass"),
    "s": ("1", "time"),
    "A": ("1", "current"),
    "K": ("1", "temperature"),
    "mol": ("1", "amount"),
    "cd": ("1", "light"),
    "l": ("0.001", "volume"),
    "\u2113": ("0.001", "volume"),
    "L": ("0.001", "volume"),
    "t": ("1000", "mass"),
    "Hz": ("1", "frequency"),
    "N": ("1", "force"),
    "Pa": ("1", "pressure"),
    "bar": ("100000", "pressure"),
    "J": ("1", "energy"),
    "Wh": ("3600", "energy"),
    "cal": ("4.184", "energy"),
    "eV": ("1.602176634e-19", "energy"),
    "W": ("1", "power"),
    "VA": ("1", "power"),
    "C": ("1", "charge"),
    "Ah": ("3600", "charge"),
    "V": ("1", "voltage"),
    "Ω": ("1", "resistance"),
    "ohm": ("1", "resistance"),
    "F": ("1", "capacity"),
    "bit": ("1", "data"),
    "B": ("8", "data"),
}
_FIXED: Mapping[str, tuple[str, str]] = {
    'in inch inches "': ("0.0254", "length"),
    "ft foot feet '": ("0.3048", "length"),
    "yd yard yards": ("0.9144", "length"),
    "mi mile miles": ("1609.344", "length"),
    "nmi": ("1852", "length"),
    "meter meters metre metres": ("1", "length"),
    "centimeter centimeters centimetre centimetres": ("0.01", "length"),
    "millimeter millimeters millimetre millimetres": ("0.001", "length"),
    "kilometer kilometers kilometre kilometres": ("1000", "length"),
    "micron microns": ("0.000001", "length"),
    "Å angstrom": ("1e-10", "length"),
    "gram grams gramme grammes gramm": ("0.001", "mass"),
    "kilogram kilograms kilo kilos kilogramm": ("1", "mass"),
    "mcg": ("1e-9", "mass"),
    "tonne tonnes tonnen": ("1000", "mass"),
    "lb lbs pound pounds": ("0.45359237", "mass"),
    "oz ounce ounces": ("0.028349523125", "mass"),
    "stone": ("6.35029318", "mass"),
    "sec secs second seconds sekunde sekunden sek seconde secondes": ("1", "time"),
    "min mins minute minutes minuten minuto minutos minuti": ("60", "time"),
    "h hr hrs hour hours stunde stunden std heure heures hora horas ora ore uur": ("3600", "time"),
    "d day days tag tage tagen jour jours día días dia dias giorno giorni dag dagen": ("86400", "time"),
    "wk week weeks woche wochen semaine semaines semana semanas settimana settimane weken": ("604800", "time"),
    "ha hectare hectares": ("10000", "area"),
    "acre acres": ("4046.8564224", "area"),
    "sqm qm": ("1", "area"),
    "sqft": ("0.09290304", "area"),
    "cbm": ("1", "volume"),
    "liter liters litre litres litro litros litri": ("0.001", "volume"),
    "Nm": ("1", "energy"),
    "kelvin": ("1", "temperature"),
    "floz": ("0.0000295735295625", "volume"),
    "gal gallon gallons": ("0.003785411784", "volume"),
    "cc": ("0.000001", "volume"),
    "mph": ("0.44704", "speed"),
    "kph kmh": ("5/18", "speed"),
    "kn knot knots": ("463/900", "speed"),
    "rpm": ("1/60", "frequency"),
    "atm": ("101325", "pressure"),
    "psi": ("6894.757293168", "pressure"),
    "mmHg": ("133.322387415", "pressure"),
    "BTU": ("1055.05585262", "energy"),
    "hp": ("745.69987158227022", "power"),
    "byte bytes": ("8", "data"),
    "bits": ("1", "data"),
    "% percent prozent": ("0.01", "one"),
    "‰": ("0.001", "one"),
    "ppm": ("0.000001", "one"),
    "pcs pc pieces piece units unit": ("1", "one"),
}
_PREFIXES: Mapping[str, Fraction] = {
    name: Fraction(10) ** power
    for name, power in {
        "p": -12, "n": -9, "µ": -6, "μ": -6, "u": -6, "m": -3, "c": -2, "d": -1, "h": 2, "k": 3, "M": 6, "G": 9,
        "T": 12, "P": 15,
    }.items()
}  # fmt: skip
_BINARY: Mapping[str, Fraction] = {
    name: Fraction(2**power) for name, power in {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40}.items()
}
_OWN: Mapping[str, tuple[int, str]] = {
    "IU I.U. U UI IE": (1, "IU"),
    "month months mo monat monate monaten mois mes meses mese mesi maand maanden": (1, "month"),
    "quarter quarters quartal quartale": (3, "month"),
    "year years yr yrs jahr jahre jahren an ans année années año años ano anos anno anni jaar": (12, "month"),
}
"""Names -> (how many of a unit of its own, that unit). A year has no exact number of days."""
_OWN_PREFIXES: Final = ("µ", "μ", "u", "m", "k", "M")
_SPELLINGS: Final = (
    (re.compile(r"\bmm hg\b", re.IGNORECASE), "mmHg"),
    (re.compile(r"\bfl\.? ?oz\b", re.IGNORECASE), "floz"),
    (re.compile(r"\b(?:sq\.?|square) ([^\W\d_]+)", re.IGNORECASE), r"\1^2"),
    (re.compile(r"\b(?:cu\.?|cubic) ([^\W\d_]+)", re.IGNORECASE), r"\1^3"),
)
_TEMPERATURES: Mapping[str, tuple[Fraction, Fraction]] = {
    "c": (Fraction(1), Fraction("273.15")),
    "f": (Fraction(5, 9), Fraction("459.67") * Fraction(5, 9)),
}
_DEGREES = re.compile(r"(?:degrees?|deg\.?|[°º])\s*([cf]|celsius|fahrenheit)|(celsius|fahrenheit)")


@cache
def _table() -> Mapping[str, Unit]:
    units: dict[str, Unit] = {}
    for name, (factor, base) in _PREFIXED.items():
        units[name] = Unit(Fraction(factor), _BASES[base])
        for prefix, power in {**_PREFIXES, **(_BINARY if base == "data" else {})}.items():
            units.setdefault(prefix + name, Unit(Fraction(factor) * power, _BASES[base]))
    for names, (factor, base) in _FIXED.items():
        units |= dict.fromkeys(names.split(), Unit(Fraction(factor), _BASES[base]))
    for names, (count, name) in _OWN.items():
        units |= dict.fromkeys(names.split(), _own(name, Fraction(count)))
    units |= {prefix + name: _own("IU", _PREFIXES[prefix]) for prefix in _OWN_PREFIXES for name in ("IU", "U")}
    return MappingProxyType(units)


@cache
def _caseless() -> Mapping[str, Unit]:
    """Units by caseless name, where that names one unit only: "KG" is kg, but "Mm" and "mm" stay apart."""
    names: dict[str, set[str]] = {}
    for name in _table():
        names.setdefault(name.casefold(), set()).add(name)
    return {
        folded: _table()[next(iter(exact))] for folded, exact in names.items() if len(exact) == 1 and len(folded) > 1
    }


_POWERS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻", "0123456789-")
_FACTOR = re.compile(r"(?P<name>[^\W\d_]+|[\"'%‰°]+[^\W\d_]*)\.?(?:\^|\*\*)?(?P<power>-?\d)?")
_STEP = re.compile(r"\s*(?P<over>/|\bper\b)\s*|\s*[*·⋅\u00d7]\s*|\s+")


def unit_names() -> Collection[str]:
    """Return the names of all known units, for advice."""
    return _table().keys()


@lru_cache(maxsize=1024)  # a column of a table has few units
def read_unit(text: str, *, known: bool = True) -> Unit | None:
    """Read a unit expression; "" is the number one; None where it is none.

    known: whether every word must be a unit that we know; else an unknown word is a unit of its own.
    """
    words = text.strip().translate(_POWERS)
    degrees = _DEGREES.fullmatch(words.casefold())
    if degrees is not None:
        factor, zero = _TEMPERATURES[(degrees[1] or degrees[2])[0]]
        return Unit(factor, _BASES["temperature"], zero)
    for pattern, usual in _SPELLINGS:
        words = pattern.sub(usual, words)
    return _product(words, known=known)


def _product(words: str, *, known: bool) -> Unit | None:
    product = Unit(Fraction(1), _NONE)
    step = _STEP.match(words)  # "5,000 /µl"
    place, over = step.end() if step else 0, bool(step and step["over"])
    while place < len(words):
        match = _FACTOR.match(words, place)
        unit = _unit_named(match["name"], known=known) if match else None
        if match is None or unit is None:
            return None
        product = _times(product, unit, int(match["power"] or 1) * (-1 if over else 1))
        step = _STEP.match(words, match.end())
        place = step.end() if step else match.end()
        over = over or bool(step and step["over"])
    return product


def _times(product: Unit, unit: Unit, power: int) -> Unit:
    own = dict(product.own)
    for name, its in unit.own:
        own[name] = own.get(name, 0) + power * its
    return Unit(
        product.factor * unit.factor**power,
        tuple(one + power * other for one, other in zip(product.dimensions, unit.dimensions, strict=True)),
        own=tuple(sorted((name, its) for name, its in own.items() if its)),
    )


def _own(name: str, factor: Fraction = Fraction(1)) -> Unit:
    return Unit(factor, _NONE, own=((name, 1),))


def _unit_named(name: str, *, known: bool) -> Unit | None:
    unit = _table().get(name) or _caseless().get(name.casefold())
    if unit is not None or known or not name[0].isalpha():
        return unit
    return _own(name.casefold())
