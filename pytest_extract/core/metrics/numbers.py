"""Metrics of numbers, and of numbers and money as people write them, in declared locales: read exactly, or not at all.

A boolean is a number only where struct-extract-eval published it so. A text is read only if it is written as the
locale writes numbers: "1,23" is no English number, since the comma does not stand before three digits. Guessing would
turn 1.23 into 123.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Hashable, Mapping, Sequence
from fractions import Fraction
from functools import cache
from typing import Final, NamedTuple

from pytest_extract.core.metrics import base as check
from pytest_extract.core.metrics.base import BoundMetric, Example, MetricSpec, Param, Params, SemanticsName
from pytest_extract.core.metrics.exact import equality_metric, explain_read, reading_metric
from pytest_extract.core.values import Json, is_nan, is_number, same, text_key, written
from pytest_extract.errors import closest, nearest

Number = int | float


# --- reading numbers


def json_number(value: Json) -> Number | None:
    """Return a JSON number as it is; anything else, a boolean and NaN too, is None."""
    return value if is_number(value) else None


def python_float(value: Json) -> Number | None:
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
        if is_nan(one) or is_nan(other):
            return math.nan
        return math.inf if math.inf in (abs(one), abs(other)) else abs(Fraction(one) - Fraction(other))


def exact(value: Number) -> Fraction:
    """Return a finite number as it is written in decimals: 0.1 is one tenth."""
    return Fraction(value if isinstance(value, int) else repr(value))


NOISE: Final = 1e-9
"""Relative tolerance where none is named: what floats lose. Whole numbers lose nothing, and are compared exactly."""


def off_by(gold: Number, extracted: Number) -> str:
    """Say how far two numbers are apart: `off by 450,000,000, relative error 0.9`, with separators from 1,000 on."""
    try:
        error = float(gap(gold, extracted))
        relative = f", relative error {error / abs(gold):.3g}" if gold else ""
    except OverflowError:
        return "off by more than a float can hold"
    shown = f"{error:,.2f}".rstrip("0").rstrip(".") if 1e3 <= error < 1e15 else f"{error:.6g}"
    return f"off by {shown}{relative}"


# --- metrics


@MetricSpec.row(
    "number",
    Example(0.3, 0.1 + 0.2, 1.0),
    Example(100, 101, 0.0),
    Example(4006381333931, 4006381330931, 0.0),
    Example(100, 101, 1.0, {"rel": 0.01}),
    Example(5, "5", 0.0),
    params=(
        Param(
            name="rel",
            check=check.number(0),
            doc="relative tolerance; where none is named, 1e-9 for fractions and none between whole numbers",
        ),
        check.tolerance("abs", "absolute tolerance"),
    ),
)
def _number(params: Params, _semantics: SemanticsName) -> BoundMetric:
    """Two JSON numbers within a tolerance: |gold - extracted| <= max(rel * the larger magnitude, abs).

    A text or a boolean is no number; two that are none are compared as text.
    """
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

    return reading_metric(
        json_number, within, explain_read(json_number, "a number", off_by), near=(float, rel, tolerance)
    )


@MetricSpec.row(
    "integer",
    Example(42, 42.0, 1.0),
    Example(42, 42.9, 0.0),
    Example(gold=1, extracted=True, score=0.0),
)
def _integer(_params: Params, _semantics: SemanticsName) -> BoundMetric:
    """Numbers that are equal, however written: 42.0 is 42, 42.9 is not, true is not 1."""
    return equality_metric(text_key, explain_read(json_number, "a number", off_by))


@MetricSpec.row(
    "number_exact",
    Example(1000, "1e3", 1.0),
    Example(0.3, 0.30000000000000004, 0.0),
    Example("abc", "xyz", 0.0),
)
def _number_exact(_params: Params, semantics: SemanticsName) -> BoundMetric:
    """ExtractBench: equal as numbers, texts that are numbers included.

    Two values that are no numbers (no booleans) are compared as text (published: any two of them pass).
    """
    published = semantics == "extract-bench"

    def key(value: Json) -> Hashable:
        number = python_float(value)
        if number is None:
            return ("text", text_key(value))
        if is_nan(number):
            # published: the text "nan" is not even equal to itself
            return ("nan", object() if published else 0)
        return number

    return equality_metric(key, explain_read(python_float, "a number", off_by), reflexive=not published)


@MetricSpec.row(
    "number_tolerance",
    Example(1.0, 1.001, 0.0),
    Example(1.0, 1.001, 1.0, {"tolerance": 0.001}),
    Example("33-37", "1-2", 0.0),
    params=(Param(name="tolerance", check=check.numeric(0), default=1e-6, doc="largest difference that passes"),),
)
def _number_tolerance(params: Params, semantics: SemanticsName) -> BoundMetric:
    """ExtractBench: equal as numbers within an absolute tolerance.

    It is 1e-6, but 1e-3 as the preset "number_tolerance" and as the default of numbers, as published.
    """
    published = semantics == "extract-bench"
    tolerance = float(params["tolerance"])

    def within(gold: Number, extracted: Number) -> bool:
        if not published and same(gold, extracted):
            return True
        error = gap(gold, extracted)
        try:
            return bool(error <= tolerance) or math.isclose(error, tolerance, rel_tol=1e-9, abs_tol=1e-12)
        except OverflowError:
            return False

    def unread(value: Json) -> Hashable:
        any_boolean = published and isinstance(value, bool) and tolerance >= 1  # only true against 1 is told apart
        return bool if any_boolean else text_key(value)

    return reading_metric(
        python_float,
        within,
        explain_read(python_float, "a number", off_by),
        unread=unread,
        reflexive=not published,
        near=(float, 0.0, 1.00001 * tolerance + 1e-11),
    )


@MetricSpec.row(
    "integer_exact",
    Example(42, 42.0, 1.0),
    Example(42, "42", 1.0),
    Example(42.9, 42.1, 0.0),
    Example(gold=1, extracted=True, score=0.0),
)
def _integer_exact(_params: Params, _semantics: SemanticsName) -> BoundMetric:
    """ExtractBench: equal as whole numbers, texts like "7" included.

    42.9 is not 42 (published: cut off), true is not 1, two values that are no integers are compared as text.
    """

    def key(value: Json) -> Hashable:
        number = python_integer(value)
        if number is not None:
            return number
        other = python_float(value)
        # two texts that are numbers but no integers ("42.5") agree as numbers
        return ("text", text_key(value) if other is None or is_nan(other) else other)

    return equality_metric(key, explain_read(python_integer, "a number", off_by))


def _check_tolerance(value: Json) -> str | None:
    is_one = isinstance(value, dict) and set(value) <= {"rel", "abs"}
    if is_one and not any(check.number()(bound) for bound in value.values() if bound is not None):
        return None
    return "must be a mapping with the numbers `rel`, `abs` or both"


@MetricSpec.row(
    "numeric",
    Example(100, 101, 1.0, {"tolerance": {"rel": 0.01}}),
    Example(100, 101, 0.0, {"tolerance": {"rel": 0.01, "abs": 0.5}}),
    Example(gold=1, extracted=True, score=0.0),
    Example(gold=1, extracted=True, score=1.0, semantics="struct-extract-eval"),
    Example("a", "a", 0.0, semantics="struct-extract-eval"),
    params=(Param(name="tolerance", check=_check_tolerance, doc="`{rel: number, abs: number}`, either or both"),),
)
def _numeric(params: Params, semantics: SemanticsName) -> BoundMetric:
    """struct-extract-eval: equal as numbers, texts included, within `tolerance: {rel, abs}`.

    That is rel of |gold|, of 1 where gold is 0; both must hold. Only under its own semantics booleans are numbers, and
    a text that is no number does not match even itself.
    """
    published = semantics == "struct-extract-eval"
    bounds = {name: bound for name, bound in (params["tolerance"] or {}).items() if bound is not None}
    rel, tolerance = bounds.get("rel"), bounds.get("abs")

    def within(gold: Number, extracted: Number) -> bool:
        is_same = same(gold, extracted)
        if is_same or not bounds or not (abs(gold) < math.inf and abs(extracted) < math.inf):
            return is_same
        one, other = exact(gold), exact(extracted)
        near = rel is None or abs(one - other) <= exact(rel) * (abs(one) or 1)
        return near and (tolerance is None or abs(one - other) <= exact(tolerance))

    def as_published(gold: Number, extracted: Number) -> bool:
        if not bounds or is_nan(gold) or is_nan(extracted):
            return same(gold, extracted)
        error = gap(gold, extracted)
        try:  # beyond a bound is a mismatch, so NaN (inf / inf) is none
            far = rel is not None and float(error) / (abs(gold) or 1.0) > rel
        except OverflowError:
            return gold == extracted
        return not far and (tolerance is None or not error > tolerance)

    def unread(value: Json) -> Hashable:
        return object() if published and value is not None else text_key(value)

    def read(value: Json) -> Number | None:
        return python_float(int(value) if published and isinstance(value, bool) else value)

    return reading_metric(
        read,
        as_published if published else within,
        explain_read(read, "a number", off_by),
        unread=unread,
        reflexive=not published,
        near=(float, rel or 0.0, max(rel or 0.0, tolerance or 0.0)),
    )


# --- numbers and money as people write them

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


_STYLES: Mapping[NumberStyle, str] = {
    NumberStyle(".", ",", short_scale=True): "en en-US en-GB en-CA en-AU ja zh ko th he es-MX",
    NumberStyle(".", ",", indian=True, short_scale=True): "hi en-IN",
    NumberStyle(",", "."): "de nl id tr da el hr sl ro is vi",
    NumberStyle(",", "." + _SPACES): "es it pt de-AT",
    NumberStyle(",", _SPACES): "fr pl cs sk ru uk bg fi sv nb nn no hu et lv lt en-ZA fr-CA",
    NumberStyle(".", "'\u2019" + _SPACES): "de-CH fr-CH it-CH",
    NumberStyle(".", "", short_scale=True): "plain",
}
LOCALES: Final[Mapping[str, NumberStyle]] = {name: style for style, names in _STYLES.items() for name in names.split()}
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
    6: "m mm mn mio mln million millions millionen millón millones milione milioni miljoen milhão milhões 百万",
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


_DIGITS = re.compile(rf"(?:(?<![^\W\d_])[.,])?\d(?:[\d.,'\u2019{_SPACES}]*\d)?")
RAISED: Final = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁺", "0123456789-+")
_POWER = re.compile(
    r"(?:e(?P<plain>[-+\u2212]?\d{1,3})|\s?[x\u00d7*\u00b7\u22c5]\s?10(?:(?:\^|\*\*)(?P<marked>[-+\u2212]?\d{1,3})|(?P<raised>[⁻⁺]?[⁰¹²³⁴-⁹]{1,3})))(?!\d)",
    re.IGNORECASE,
)
_ROUND = re.compile(r"^(?:[.,:](?:-{1,2}|[\u2212\u2013\u2014])(?!\S*\d)\s*)+")
"""How "no cents" is written: "5.-" in Switzerland, "5,--" in Germany, "5:-" in Sweden."""
_BEFORE = re.compile(rf"([{MINUS}+]?)\s*(.*?)\s*([{MINUS}+]?)$", re.DOTALL)
_AFTER = re.compile(rf"((?:[{MINUS}](?!\S))?)\s*(.*?)\s*([{MINUS}]?)$", re.DOTALL)
"""What stands before and after a number, between the signs at its ends."""


def read_written(text: str, styles: Sequence[NumberStyle]) -> Written | None:
    """Read "(1,234.50)", "-$5", "$(5)", "5 -", "EUR 1.234,50", "1.5e3" and the like.

    None if there is not exactly one number. A minus may stand before, after, or on either side of a currency;
    brackets around the number or around all of it are one.
    """
    match = _DIGITS.search(text) if len(text) <= LONGEST else None
    value = read_digits(match[0], styles) if match else None
    if match is None or value is None:
        return None
    power = _POWER.match(text, match.end())
    if power is not None:
        value *= Fraction(10) ** int(power[power.lastgroup or 0].translate(RAISED).replace("\u2212", "-"))
    before, after = text[: match.start()].strip(), text[(power or match).end() :].strip()
    is_bracketed = before[:1] + after[-1:] == "()" or before[-1:] + after[:1] == "()"
    if is_bracketed:
        before, after = before.replace("(", "", 1).strip(), after.replace(")", "", 1).strip()
    first, before, second = _BEFORE.findall(before)[0]
    third, after, last = _AFTER.findall(_ROUND.sub("", after))[0]
    signs = [sign for sign in (first, second, third, last, "()" if is_bracketed else "") if sign]
    if len(signs) > 1:
        return None
    return Written(value if signs in ([], ["+"]) else -value, before, after)


def styles_of(value: Json) -> tuple[NumberStyle, ...]:
    """Return the styles of the parameter `locale`."""
    return tuple(style for name in check.as_list(value) if (style := style_of(name)))


def exactly(value: Json) -> Fraction | None:
    """Return a finite JSON number as it is written (0.1 is one tenth); anything else is None."""
    number = json_number(value)
    return None if number is None or abs(number) == math.inf else exact(number)


def within(rel: float, tolerance: float) -> Callable[[Fraction, Fraction], bool]:
    """Make the check |gold - extracted| <= max(rel * |gold|, tolerance), exactly: 0.3 is three tenths."""
    relative, absolute = exact(rel), exact(tolerance)
    return lambda gold, extracted: abs(gold - extracted) <= max(relative * abs(gold), absolute)


def decimal_text(value: Fraction) -> str:
    """Return a number as a short decimal text for a reason."""
    try:
        return f"{float(value):.15g}"
    except OverflowError:
        return "a number beyond floats"


# --- numbers

_TOLERANCES = (check.tolerance("rel", "tolerance relative to |gold|"), check.tolerance("abs", "absolute tolerance"))
PERCENT: Final = frozenset(
    ("%", "percent", "per cent", "pct", "prozent", "pour cent", "por ciento", "per cento", "procent")
)


def number_reader(params: Params) -> Callable[[Json], Fraction | None]:
    """Return what reads a value as the metric `locale_number` with these parameters does; None for no number."""
    styles, scales, percent = styles_of(params["locale"]), bool(params["scales"]), params["percent"]

    def read(value: Json) -> Fraction | None:
        if not isinstance(value, str):
            return exactly(value)
        found = read_written(written(value), styles)
        if found is None or found.before:
            return None
        if found.after.casefold() in PERCENT:
            return found.value / 100 if percent == "fraction" else found.value
        factor = scale_of(found.after, styles) if scales or not found.after else None
        return None if factor is None else found.value * factor

    return read


@MetricSpec.row(
    "locale_number",
    Example(1234.5, "1.234,50", 1.0, {"locale": "de"}),
    Example(1234.5, "1.234,50", 0.0),
    Example(-1200, "(1,200)", 1.0),
    Example(0.125, "12.5%", 1.0, {"percent": "fraction"}),
    Example(1_200_000, "1.2 million", 1.0, {"scales": True}),
    params=(
        LOCALE,
        *_TOLERANCES,
        check.any_of("percent", ("number", "fraction"), "whether 12.5 % is the number 12.5 or the fraction 0.125"),
        check.switch("scales", "whether words like million count"),
    ),
)
def _locale_number(params: Params, _semantics: SemanticsName) -> BoundMetric:
    """JSON numbers and numbers as texts of declared locales, exactly or within a tolerance.

    Brackets and a minus at either end are negative; powers of ten (1.5 x 10⁶) count. What is no number there is
    compared as text.
    """
    read, rel, tolerance = number_reader(params), float(params["rel"]), float(params["abs"])
    explain = explain_read(
        read,
        f"a number in {params['locale']!r}",
        lambda one, other: f"{decimal_text(one)} expected, got {decimal_text(other)}",
    )
    return reading_metric(read, within(rel, tolerance), explain, near=(float, rel, tolerance))


# --- currencies

_ISO_4217 = (
    "AED AFN ALL AMD AOA ARS AUD AWG AZN BAM BBD BDT BGN BHD BIF BMD BND BOB BRL BSD BTN BWP BYN BZD CAD CDF CHF CLP "
    "CNY COP CRC CUP CVE CZK DEM DJF DKK DOP DZD EGP ERN ETB EUR FJD FKP FRF GBP GEL GHS GIP GMD GNF GTQ GYD HKD HNL "
    "HRK HTG HUF IDR ILS INR IQD IRR ISK ITL JMD JOD JPY KES KGS KHR KMF KPW KRW KWD KYD KZT LAK LBP LKR LRD LSL LYD "
    "MAD MDL MGA MKD MMK MNT MOP MRU MUR MVR MWK MXN MYR MZN NAD NGN NIO NLG NOK NPR NZD OMR PAB PEN PGK PHP PKR PLN "
    "PYG QAR RON RSD RUB RWF SAR SBD SCR SDG SEK SGD SHP SLE SOS SRD SSP STN SYP SZL THB TJS TMT TND TOP TRY TTD TWD "
    "TZS UAH UGX USD UYU UZS VES VND VUV WST XAF XCD XOF XPF YER ZAR ZMW"
)
CODES: Final = frozenset(_ISO_4217.split())
_NAMES: Mapping[str, str] = {
    "USD": "us$ dollar dollars us_dollar us_dollars",
    "CAD": "c$ ca$ can$ canadian_dollars",
    "AUD": "a$ au$ australian_dollars",
    "NZD": "nz$",
    "HKD": "hk$",
    "SGD": "s$",
    "TWD": "nt$",
    "MXN": "mx$",
    "BRL": "r$ reais",
    "EUR": "€ euro euros",
    "GBP": "£ pound pounds pound_sterling pounds_sterling pfund",
    "JPY": "yen 円",
    "INR": "₹ rs rupee rupees",
    "KRW": "₩ won 원",
    "RUB": "₽ \u0440\u0443\u0431",
    "TRY": "₺",
    "ILS": "₪",
    "THB": "฿",
    "VND": "₫",
    "UAH": "₴ грн",
    "NGN": "₦",
    "PLN": "zł zloty złoty złotych",
    "CZK": "kč",
    "HUF": "ft forint",
    "CHF": "sfr fr franken swiss_francs schweizer_franken",
    "CNY": "元 rmb yuan renminbi 人民币",
}
_SYMBOLS: Mapping[str, str] = {name.replace("_", " "): code for code, names in _NAMES.items() for name in names.split()}
_SHARED: Mapping[str, tuple[str, ...]] = {
    "$": ("USD", "CAD", "AUD", "NZD", "HKD", "SGD", "TWD", "MXN", "ARS", "CLP", "COP"),
    "¥": ("JPY", "CNY"),
    "kr": ("SEK", "NOK", "DKK", "ISK"),
    "kr.": ("DKK", "SEK", "NOK", "ISK"),
}


def currency_of(word: str, default: str) -> str | None:
    """Return the ISO code of a code, symbol or name; None if it is none.

    A sign that several currencies share is `default` if that is one of them, else the first: "$" is USD.
    """
    name = word.strip()
    if not name:
        return default
    code = name.removesuffix("$").strip().upper()  # "USD$" is USD
    if code in CODES:
        return code
    shared = _SHARED.get(name.casefold())
    if shared:
        return default if default in shared else shared[0]
    return _SYMBOLS.get(name.casefold().replace(".", "").replace("-", " "))


# --- money


class Money(NamedTuple):
    """An amount, and its currency (ISO 4217 where it is known, "" where there is none)."""

    amount: Fraction
    currency: str

    def __str__(self) -> str:
        return f"{decimal_text(self.amount)} {self.currency}".rstrip()


def money_reader(params: Params) -> Callable[[Json], Money | None]:
    """Return what reads a value as the metric `money` with these parameters does; None for no amount."""
    styles, default = styles_of(params["locale"]), str(params["currency"] or "")

    def read(value: Json) -> Money | None:
        if not isinstance(value, str):
            amount = exactly(value)
            return None if amount is None else Money(amount, default)
        found = read_written(written(value), styles)
        if found is None:
            return None
        factor, currency = _scale_and_currency(found.after, styles, "" if found.before else default)
        if found.before and currency is not None:
            own = currency
            currency = currency_of(found.before, own or default)
            if own and currency != own:
                return None  # "EUR 5 USD"
        return None if factor is None or currency is None else Money(found.value * factor, currency)

    return read


_OF = re.compile(r"^(?:(?:of|de|di|von|van)\s|d['\u2019])", re.IGNORECASE)


def _scale_and_currency(after: str, styles: tuple[NumberStyle, ...], default: str) -> tuple[int | None, str | None]:
    """Split what follows an amount: "EUR", "million", "Mio. EUR", "million d'euros", "bn USD", "k€", "TEUR"."""
    for end in range(len(after) + 1):
        factor = scale_of(after[:end].rstrip(), styles)
        currency = currency_of(_OF.sub("", after[end:].lstrip()), default)
        if factor is not None and currency is not None:
            return factor, currency
    return None, None


def _check_currency(value: Json) -> str | None:
    if isinstance(value, str) and value in CODES:
        return None
    return f"must be an ISO 4217 code such as 'EUR'{closest(value, CODES)}"


@MetricSpec.row(
    "money",
    Example("1,234.50 EUR", "€1234.5", 1.0),
    Example("EUR 5", "$5", 0.0),
    Example(1234.5, "1.234,50 €", 1.0, {"locale": "de"}),
    Example(5, "USD 5", 0.0, {"currency": "EUR"}),
    Example("$1.2 million", "1,200,000", 1.0),
    Example("250 k€", "250 000 EUR", 1.0, {"locale": "fr"}),
    Example("$(1,234.50)", "-1234.5", 1.0),
    params=(
        LOCALE,
        *_TOLERANCES,
        Param(name="currency", check=_check_currency, doc="ISO code of amounts that name none"),
        check.switch("require_currency", "whether an amount without currency differs from one with"),
    ),
)
def _money(params: Params, _semantics: SemanticsName) -> BoundMetric:
    """Numbers as of `locale_number` with a currency: the amounts are equal, and so are currencies that both name.

    Symbols and ISO codes agree, words like million count; $ is USD unless `currency` is another dollar.
    """
    read, strict = money_reader(params), bool(params["require_currency"])
    rel, tolerance = float(params["rel"]), float(params["abs"])
    admits = within(rel, tolerance)

    def agree(gold: Money, extracted: Money) -> bool:
        unsaid = not strict and not (gold.currency and extracted.currency)
        return (unsaid or gold.currency == extracted.currency) and admits(gold.amount, extracted.amount)

    explain = explain_read(read, f"an amount in {params['locale']!r}")
    return reading_metric(read, agree, explain, near=(lambda money: float(money.amount), rel, tolerance))
