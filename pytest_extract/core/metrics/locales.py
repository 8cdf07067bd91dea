"""Numbers as people write them, in declared locales: reading them exactly, or not at all.

A text is read only if it is written as the locale writes numbers: "1,23" is no English number, since the comma
does not stand before three digits. Guessing would turn 1.23 into 123.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from functools import cache
from types import MappingProxyType
from typing import Final, NamedTuple

from pytest_extract.core.metrics import params as check
from pytest_extract.core.metrics.base import Param
from pytest_extract.core.values import Json
from pytest_extract.errors import nearest

LONGEST: Final = 200
"""Texts longer than this are no number, date or the like: the values come from a model."""

MINUS: Final = "-\u2212\u2013"
"""Signs that people write for minus: hyphen, minus, en dash."""

_SPACES = " \u00a0\u202f\u2009"


class NumberStyle(NamedTuple):
    """How a locale writes numbers: the decimal sign, the signs between groups, Indian grouping, the scale of words."""

    decimal: str
    groups: str
    indian: bool = False
    short_scale: bool = False


_COMMA_POINT = NumberStyle(".", ",", short_scale=True)
_POINT_COMMA = NumberStyle(",", ".")
_SPACE_COMMA = NumberStyle(",", _SPACES)
_EITHER_COMMA = NumberStyle(",", "." + _SPACES)
_SWISS = NumberStyle(".", "'\u2019" + _SPACES)
_INDIAN = NumberStyle(".", ",", indian=True, short_scale=True)

_STYLES: Mapping[NumberStyle, str] = {
    _COMMA_POINT: "en en-US en-GB en-CA en-AU ja zh ko th he es-MX",
    _INDIAN: "hi en-IN",
    _POINT_COMMA: "de nl id tr da el hr sl ro is vi",
    _EITHER_COMMA: "es it pt de-AT",
    _SPACE_COMMA: "fr pl cs sk ru uk bg fi sv nb nn no hu et lv lt en-ZA fr-CA",
    _SWISS: "de-CH fr-CH it-CH",
    NumberStyle(".", "", short_scale=True): "plain",
}
LOCALES: Final[Mapping[str, NumberStyle]] = MappingProxyType(
    {name: style for style, names in _STYLES.items() for name in names.split()}
)
"""Locale -> style; a region that is not here is written as its language."""


def style_of(locale: str) -> NumberStyle | None:
    """Return the style of "de", "de-AT" or "de_AT"; None if the language is not known."""
    name = locale.replace("_", "-")
    return LOCALES.get(name) or LOCALES.get(name.split("-")[0])


def check_locale(value: Json) -> str | None:
    """Check one locale."""
    if isinstance(value, str) and style_of(value):
        return None
    return f"must be a locale such as 'en' or 'de-CH'{nearest(value, LOCALES)}"


LOCALE: Final = Param(
    name="locale",
    check=check.one_or_list(check_locale),
    default="en",
    doc="locale, or locales to try in this order, that the values are written in",
)


@cache
def _pattern(style: NumberStyle) -> re.Pattern[str]:
    whole = r"\d+"
    if style.groups:
        sign = f"(?P<group>[{re.escape(style.groups)}])"
        grouped = r"\d{1,2}(?:,\d\d)*,\d{3}" if style.indian else rf"\d{{1,3}}{sign}\d{{3}}(?:(?P=group)\d{{3}})*"
        whole = rf"(?:{grouped}|\d+)"
    decimal = re.escape(style.decimal)
    return re.compile(rf"(?P<whole>{whole})(?:{decimal}(?P<part>\d+))?|{decimal}(?P<only>\d+)")


def read_digits(text: str, styles: Sequence[NumberStyle]) -> Fraction | None:
    """Read digits without sign in the first style that fits, exactly; None if none does."""
    for style in styles:
        match = _pattern(style).fullmatch(text) if len(text) <= LONGEST else None
        if match is not None:
            whole = "".join(c for c in match["whole"] or "0" if c.isdecimal())
            part = match["part"] or match["only"] or ""
            return Fraction(int(whole + part), 10 ** len(part))
    return None


# --- words after a number


_WORDS: Mapping[int, str] = {
    3: "k thousand tsd tausend mille 千",
    4: "万 萬 만",
    6: "m mm mn mio mln million millions millionen millones milioni miljoen milhões 百万",
    8: "億 亿 억",
    9: "mrd md mld mia milliard milliards milliarde milliarden miliardi miljard",
}
_EVERYWHERE = {name: power for power, names in _WORDS.items() for name in names.split()}
_SHORT = {"b": 9, "bn": 9, "billion": 9, "billions": 9, "t": 12, "tn": 12, "trillion": 12, "trillions": 12}
_LONG = {"t": 3, "mil": 3, "bio": 12, "billion": 12, "billions": 12, "billionen": 12, "billones": 12}
_INDIAN_WORDS = {"lakh": 5, "lakhs": 5, "lac": 5, "crore": 7, "crores": 7, "cr": 7}


def scale_of(word: str, styles: Sequence[NumberStyle]) -> int | None:
    """Return the factor that a word like "million" or "Mrd." means; "billion" and "T" depend on the locale."""
    name = word.casefold().rstrip(".")
    if not name:
        return 1
    for style in styles:
        table = _EVERYWHERE | (_SHORT if style.short_scale else _LONG)
        power = (table | _INDIAN_WORDS if style.indian else table).get(name)
        if power is not None:
            return int(10**power)
    return None


# --- a signed number and the text around it


class Written(NamedTuple):
    """A number as it stood in a text: its value, and the text before and after it without signs and brackets."""

    value: Fraction
    before: str
    after: str


_DIGITS = re.compile(rf"[.,]?\d(?:[\d.,'\u2019{_SPACES}]*\d)?")
_RAISED = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁺", "0123456789-+")
_POWER = re.compile(
    r"(?:e(?P<plain>[-+\u2212]?\d{1,3})|\s?[x\u00d7*\u00b7\u22c5]\s?10(?:(?:\^|\*\*)(?P<marked>[-+\u2212]?\d{1,3})|(?P<raised>[⁻⁺]?[⁰¹²³⁴-⁹]{1,3})))(?!\d)",
    re.IGNORECASE,
)
_ROUND = re.compile(r"[.,:](?:-{1,2}|[\u2212\u2013\u2014])(?!\S*\d)\s*")
"""How "no cents" is written: "5.-" in Switzerland, "5,--" in Germany, "5:-" in Sweden."""


def read_written(text: str, styles: Sequence[NumberStyle]) -> Written | None:
    """Read "(1,234.50)", "-$5", "$(5)", "5 -", "EUR 1.234,50", "1.5e3" and the like.

    None if there is not exactly one number. A minus may stand before, after, or on either side of a currency;
    brackets around the number or around all of it are one.
    """
    if len(text) > LONGEST:
        return None
    match = _DIGITS.search(text)
    value = read_digits(match[0], styles) if match else None
    if match is None or value is None:
        return None
    end, factor = _power(text, match.end())
    before, after, bracketed = _without_brackets(text[: match.start()].strip(), text[end:].strip())
    before, signs = _without_sign(before)
    after = _ROUND.sub("", after) if _ROUND.match(after) else after
    after, trailing = ("", "") if not after else _without_trailing_sign(after)
    if bool(signs) + bool(trailing) + bracketed > 1:
        return None
    negative = bracketed or bool(trailing) or (bool(signs) and signs != "+")
    return Written((-value if negative else value) * factor, before, after)


def _power(text: str, end: int) -> tuple[int, Fraction]:
    """Return where a power of ten after the digits ends, and the power."""
    match = _POWER.match(text, end)
    if match is None:
        return end, Fraction(1)
    digits = next(part for part in match.groups() if part is not None)
    return match.end(), Fraction(10) ** int(digits.translate(_RAISED).replace("\u2212", "-"))


def _without_brackets(before: str, after: str) -> tuple[str, str, bool]:
    if before.startswith("(") and after.endswith(")"):
        return before[1:].strip(), after[:-1].strip(), True
    if before.endswith("(") and after.startswith(")"):
        return before[:-1].strip(), after[1:].strip(), True
    return before, after, False


def _without_trailing_sign(after: str) -> tuple[str, str]:
    """Take a minus that follows the digits, or at the very end."""
    if after[0] in MINUS and (len(after) == 1 or after[1].isspace()):
        return after[1:].strip(), after[0]
    if after[-1] in MINUS:
        return after[:-1].strip(), after[-1]
    return after, ""


def _without_sign(before: str) -> tuple[str, str]:
    """Take one sign from the start or end of the text before a number."""
    for place in (0, -1):
        if before and before[place] in MINUS + "+":
            return (before[1:] if place == 0 else before[:-1]).strip(), before[place]
    return before, ""


def styles_of(value: Json) -> tuple[NumberStyle, ...]:
    """Return the styles of the parameter `locale`."""
    return tuple(style for name in check.as_list(value) if (style := style_of(name)))


def exactly(value: Json) -> Fraction | None:
    """Return a finite JSON number as it is written (0.1 is one tenth); anything else is None."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    if isinstance(value, int):
        return Fraction(value)
    try:
        return Fraction(repr(value))
    except ValueError:  # infinite or NaN
        return None


def within(rel: float, tolerance: float) -> Callable[[Fraction, Fraction], bool]:
    """Make the check |gold - extracted| <= max(rel * |gold|, tolerance), exactly."""
    relative, absolute = Fraction(rel), Fraction(tolerance)
    return lambda gold, extracted: abs(gold - extracted) <= max(relative * abs(gold), absolute)


def decimal_text(value: Fraction) -> str:
    """Return a number as a short decimal text for a reason."""
    try:
        return f"{float(value):.15g}"
    except OverflowError:
        return "a number beyond floats"
