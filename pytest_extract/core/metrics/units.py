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

Powers = tuple[tuple[str, int], ...]
"""Units that are measured by no other, each with its power, sorted by name."""
BASE_UNITS: Final = frozenset(("m", "kg", "s", "A", "K", "mol", "cd", "bit"))


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
    "l": "0.001 m3",
    "\u2113": "0.001 m3",
    "L": "0.001 m3",
    "t": "1000 kg",
    "Hz": "1 s-1",
    "N": "1 m kg s-2",
    "Pa": "1 m-1 kg s-2",
    "bar": "100000 m-1 kg s-2",
    "J": "1 m2 kg s-2",
    "Wh": "3600 m2 kg s-2",
    "cal": "4.184 m2 kg s-2",
    "eV": "1.602176634e-19 m2 kg s-2",
    "W": "1 m2 kg s-3",
    "VA": "1 m2 kg s-3",
    "C": "1 s A",
    "Ah": "3600 s A",
    "V": "1 m2 kg s-3 A-1",
    "Ω": "1 m2 kg s-3 A-2",
    "ohm": "1 m2 kg s-3 A-2",
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
    "IU I.U. U UI IE": "1 IU",
    "month months mo monat monate monaten mois mes meses mese mesi maand maanden": "1 month",  # of no number of days
    "quarter quarters quartal quartale": "3 month",
    "year years yr yrs jahr jahre jahren an ans année années año años ano anos anno anni jaar": "12 month",
}
"""Names -> a number of base units; IU and months are measured by nothing else."""
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
_PREFIXES_OF_IU: Final = ("µ", "μ", "u", "m", "k", "M")
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
    for name, text in _PREFIXED.items():
        unit = units[name] = _unit_of(text)
        for prefix, power in {**_PREFIXES, **(_BINARY if unit.powers == (("bit", 1),) else {})}.items():
            units.setdefault(prefix + name, unit._replace(factor=unit.factor * power))
    for names, text in _FIXED.items():
        units |= dict.fromkeys(names.split(), _unit_of(text))
    units |= {
        prefix + name: Unit(_PREFIXES[prefix], (("IU", 1),)) for prefix in _PREFIXES_OF_IU for name in ("IU", "U")
    }
    return MappingProxyType(units)


def _unit_of(text: str) -> Unit:
    """Return what a row of a table says: "0.3048 m", "3600 m2 kg s-2"."""
    factor, *powers = text.split()
    named = [re.fullmatch(r"([A-Za-z]+)(-?\d)?", power) for power in powers]
    return Unit(Fraction(factor), tuple(sorted((match[1], int(match[2] or 1)) for match in named if match)))


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
        return Unit(factor, (("K", 1),), zero)
    for pattern, usual in _SPELLINGS:
        words = pattern.sub(usual, words)
    return _product(words, known=known)


def _product(words: str, *, known: bool) -> Unit | None:
    product = Unit(Fraction(1))
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
    powers = dict(product.powers)
    for name, its in unit.powers:
        powers[name] = powers.get(name, 0) + power * its
    return Unit(product.factor * unit.factor**power, tuple(sorted((name, its) for name, its in powers.items() if its)))


def _unit_named(name: str, *, known: bool) -> Unit | None:
    unit = _table().get(name) or _caseless().get(name.casefold())
    if unit is not None or known or not name[0].isalpha():
        return unit
    return Unit(Fraction(1), ((name.casefold(), 1),))
