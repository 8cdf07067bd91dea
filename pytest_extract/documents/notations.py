"""Numbers and dates in a text, in whatever notation, each with the values that it can mean."""

from __future__ import annotations

import re
from collections.abc import Iterator
from decimal import Context, Decimal
from typing import Final, NamedTuple

from pytest_extract.core.metrics.dates import MONTHS, full_year, make_date
from pytest_extract.core.metrics.equality import is_number
from pytest_extract.core.values import Json

_MARKS: Final = {"\uff0c": ",", "\uff0e": ".", "\u066c": ",", "\u066b": "."}
"""Separators of other scripts."""
_NUMBER: Final = re.compile(
    rf"(?<!\d)(?:(?<![^\s($€£¥+\-\u2212\u2013])[.,])?\d+(?:[.,'\u2019\u00a0\u202f\u2009{''.join(_MARKS)}]\d+)*"
)
_SPACED: Final = re.compile(r"(?<![\d.,])\d{1,3}(?:[ \u00a0]\d{3})+(?:[.,]\d+)?(?![\d])")
_SCALES: Final = {
    "thousand": 3, "k": 3, "tsd": 3, "mille": 3,
    "million": 6, "millions": 6, "mm": 6, "mio": 6, "mn": 6, "m": 6, "millionen": 6,
    "billion": 9, "billions": 9, "bn": 9, "b": 9, "mrd": 9, "milliarden": 9,
    "trillion": 12, "%": -2, "\uff05": -2, "percent": -2, "per cent": -2, "prozent": -2,
}  # fmt: skip
_SCALE: Final = re.compile(
    rf"[\s\u00a0-]?({'|'.join(sorted(_SCALES, key=len, reverse=True))})(?![^\W\d_])", re.IGNORECASE
)
_EXACT: Final = Context(prec=200)
LONGEST_NUMBER: Final = 40
"""Digits of the longest number that is looked for."""
_MONTH: Final = "|".join(sorted(MONTHS, key=len, reverse=True))
_YEAR: Final = rf"\d{{4}}(?!\d)|\d\d(?!\d|[.,:]\d|\s?[ap]\.?m\b|[\s-]{{1,3}}(?:{_MONTH})(?![^\W\d_]))"
"""Two digits are a year beside a month in words, unless a time or another date begins with them."""
_DATE: Final = re.compile(
    rf"(?<!\d)(?P<iso>\d{{4}}[-/.]\d\d?[-/.]\d\d?|\d{{4}}-\d\d(?![-\d]))(?!\d)"
    r"|(?<![\d.])(?P<numeric>\d\d?([-/.])\d\d?\3(?:\d{4}|\d\d)|\d\d?\.\s\d\d?\.\s\d{4})(?!\d)"
    rf"|(?<![^\W_])(?P<month>{_MONTH})\.?[\s-]{{1,3}}(?P<day>\d\d?)(?:st|nd|rd|th)?,?[\s-]{{1,3}}(?P<year>\d{{4}})(?!\d)"
    rf"|(?<!\d)(?P<day2>\d\d?)(?:st|nd|rd|th|er|\.)?[\s/-]{{0,3}}(?:(?:de|of)\s)?(?P<month2>{_MONTH})[.,]?[\s/-]{{0,3}}(?:(?:de|del)\s)?"
    rf"(?P<year2>{_YEAR})"
    rf"|(?<![^\W_])(?P<month3>{_MONTH})[.,]?[\s-]{{1,3}}(?P<year3>\d{{4}})(?!\d)"
    r"|(?P<han>\d{4}\s?年(?:\s?\d\d?\s?月(?:\s?\d\d?\s?日)?)?)",
    re.IGNORECASE,
)


class Notation(NamedTuple):
    """A number or a date in a text: its offsets, and the keys of what it can mean."""

    start: int
    end: int
    keys: tuple[str, ...]

    @property
    def span(self) -> tuple[int, int]:
        """The offsets."""
        return self.start, self.end


def numbers_in(text: str) -> Iterator[Notation]:
    """Yield the numbers of a text; "1.234" can mean 1234 as well as 1.234, and "5 %" 5 as well as 0.05."""
    for found in _NUMBER.finditer(text):
        if found.end() - found.start() > LONGEST_NUMBER:
            continue
        keys = _readings(_in_ascii(found[0]))
        if not keys:  # a date or a section's number: each of its parts is a number
            for each in re.finditer(r"\d+", found[0]):
                start = found.start() + each.start()
                yield Notation(start, start + len(each[0]), (_key(_in_ascii(each[0])),))
            continue
        scale = _SCALE.match(text, found.end())
        yield Notation(*found.span(), keys)
        if scale is not None:
            power = _SCALES[scale[1].lower()]
            yield Notation(found.start(), scale.end(), tuple(scaled(key, power) for key in keys))
    for found in _SPACED.finditer(text):
        number = re.sub(r"[^\d.]", "", _in_ascii(found[0]).replace(",", "."))
        yield Notation(*found.span(), (_key(number),))


_TABLE_UNITS: Final = {"thousands": 3, "millions": 6, "billions": 9, "tsd": 3, "mio": 6, "mrd": 9, "000": 3, "000s": 3}
_TABLE_UNIT: Final = re.compile(
    r"(?:\bin\s+(?:[A-Z$€£]{1,4}\s?)?|[$€£(']\s?)(?P<unit>thousands|millions|billions|tsd|mio|mrd|000s?)\b",
    re.IGNORECASE,
)


def table_units_in(text: str) -> Iterator[Notation]:
    """Yield the places that say in which unit tables are ("in millions"), with the unit as a number."""
    for found in _TABLE_UNIT.finditer(text):
        yield Notation(*found.span("unit"), (scaled("1", _TABLE_UNITS[found["unit"].lower()]),))


def _readings(token: str) -> tuple[str, ...]:
    """Return what digits with separators can mean; nothing if they are no number."""
    if token[0] in ".,":
        return (_key(f"0.{token[1:]}"),) if token[1:].isdecimal() else ()
    separators = [each for each in token if not each.isdecimal()]
    if not separators:
        return (_key(token),)
    groups = re.split(r"\D", token)
    *before, last = separators
    grouped = all(len(group) == 3 for group in groups[1:]) and len(groups[0]) <= 3 and len(set(separators)) == 1
    indian = (
        len(groups) > 2 and len(groups[-1]) == 3 and all(len(g) == 2 for g in groups[1:-1]) and {*separators} == {","}
    )
    keys = [_key("".join(groups))] if grouped or indian else []
    inner = all(len(group) == 3 for group in groups[1:-1]) and len(set(before)) < 2 and last not in before
    inner = inner or (all(len(group) == 2 for group in groups[1:-2]) and len(groups) > 3 and len(groups[-2]) == 3)
    if inner and last in ".," and not (keys and groups[-1] == "000"):  # nobody writes 17 as 17,000
        keys.append(_key(f"{''.join(groups[:-1])}.{groups[-1]}"))
    return tuple(dict.fromkeys(keys))


def _in_ascii(token: str) -> str:
    """Return digits and separators of any script as those of ASCII."""
    if token.isascii():
        return token
    return "".join(str(int(each)) if each.isdecimal() else _MARKS.get(each, each) for each in token)


def _key(number: str) -> str:
    """Return the one spelling of a decimal number: without zeros that say nothing."""
    whole, _, part = number.partition(".")
    whole, part = whole.lstrip("0") or "0", part.rstrip("0")
    return f"{whole}.{part}" if part else whole


def scaled(key: str, power: int) -> str:
    """Return the key of a number times a power of ten."""
    return _key(f"{Decimal(key).scaleb(power, _EXACT):f}")


def number_key(value: Json) -> str | None:
    """Return the key of a number, without its sign; None for a value that is none, or too long."""
    if not is_number(value) or (isinstance(value, int) and value.bit_length() > LONGEST_NUMBER * 4):
        return None
    text = f"{Decimal(repr(value)):f}".removeprefix("-")
    return _key(text) if text[0].isdecimal() and len(text) <= 2 * LONGEST_NUMBER else None


def dates_in(text: str) -> Iterator[Notation]:
    """Yield the dates of a text: numeric ones in any order of day and month, and ones with the month as a word."""
    for found in _DATE.finditer(text):
        keys = tuple(dict.fromkeys(_date_keys(found)))
        if keys:
            yield Notation(*found.span(), keys)


def _date_keys(found: re.Match[str]) -> Iterator[str]:
    if (numeric := found["numeric"]) is not None:
        one, other, year = map(int, re.split(r"[-/.]", numeric))
        yield from _day_key(year, other, one)
        yield from _day_key(year, one, other)
    elif (whole := found["iso"] or found["han"]) is not None:
        parts = [int(part) for part in re.findall(r"\d+", whole)]
        if len(parts) > 1 or found["iso"]:
            yield from _day_key(*parts)
    elif found["month3"] is not None:
        yield from _day_key(int(found["year3"]), MONTHS[found["month3"].lower()])
    else:
        suffix = "" if found["month"] is not None else "2"
        year_text, month_text, day_text = (found[f"{name}{suffix}"] for name in ("year", "month", "day"))
        yield from _day_key(int(year_text), MONTHS[month_text.lower()], int(day_text))


def _day_key(year: int, month: int, day: int | None = None) -> Iterator[str]:
    found = make_date(full_year(year) if year < 100 else year, month, day)
    if found is not None:
        yield found.text


def date_keys(text: str) -> tuple[str, ...]:
    """Return what a text can mean that is a date and nothing else, as `2024-03-15` or `2024-03`; () for others."""
    text = text.strip()
    if len(text) > 60:
        return ()
    found = _DATE.match(text)
    if found is None:
        return ()
    rest = text[found.end() :]
    if rest and not re.fullmatch(r"[T ]\d\d?:\d\d.{0,20}", rest):
        return ()
    return tuple(dict.fromkeys(_date_keys(found)))
