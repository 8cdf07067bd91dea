"""Metrics of numbers and money as people write them, in declared locales."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from fractions import Fraction
from types import MappingProxyType
from typing import Final, NamedTuple

from pytest_extract.core.metrics import equality
from pytest_extract.core.metrics import params as check
from pytest_extract.core.metrics.base import BoundMetric, Example, MetricSpec, Param, Params, SemanticsName
from pytest_extract.core.metrics.exact import equality_of_read, explain_read, reading_metric
from pytest_extract.core.metrics.locales import (
    LOCALE,
    NumberStyle,
    decimal_text,
    exactly,
    read_written,
    scale_of,
    styles_of,
    within,
)
from pytest_extract.core.values import Json
from pytest_extract.errors import closest

# --- numbers

_PERCENT = frozenset(("%", "percent", "per cent", "pct", "prozent", "pour cent", "por ciento", "per cento", "procent"))


def number_reader(params: Params) -> Callable[[Json], Fraction | None]:
    """Return what reads a value as the metric `locale_number` with these parameters does; None for no number."""
    styles, scales, percent = styles_of(params["locale"]), bool(params["scales"]), params["percent"]

    def read(value: Json) -> Fraction | None:
        if not isinstance(value, str):
            return exactly(value)
        found = read_written(equality.written(value), styles)
        if found is None or found.before:
            return None
        if found.after.casefold() in _PERCENT:
            return found.value / 100 if percent == "fraction" else found.value
        factor = scale_of(found.after, styles) if scales or not found.after else None
        return None if factor is None else found.value * factor

    return read


def _make_locale_number(params: Params, _semantics: SemanticsName) -> BoundMetric:
    read, rel, tolerance = number_reader(params), float(params["rel"]), float(params["abs"])

    def differ(gold: Fraction, extracted: Fraction) -> str:
        return f"{decimal_text(gold)} expected, got {decimal_text(extracted)}"

    explain = explain_read(read, f"a number in {params['locale']!r}", differ)
    if not (rel or tolerance):
        return equality_of_read(read, explain)
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
_SYMBOLS: Mapping[str, str] = MappingProxyType(
    {name.replace("_", " "): code for code, names in _NAMES.items() for name in names.split()}
)
_SHARED: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "$": ("USD", "CAD", "AUD", "NZD", "HKD", "SGD", "TWD", "MXN", "ARS", "CLP", "COP"),
        "¥": ("JPY", "CNY"),
        "kr": ("SEK", "NOK", "DKK", "ISK"),
        "kr.": ("DKK", "SEK", "NOK", "ISK"),
    }
)


def currency_of(word: str, default: str) -> str | None:
    """Return the ISO code of a code, symbol or name; None if it is none.

    A sign that several currencies share is `default` if that is one of them, else the first: "$" is USD.
    """
    name = word.strip()
    if not name:
        return default
    code = name.removesuffix("$").upper()  # "USD$" is USD
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


def money_reader(params: Params) -> Callable[[Json], Money | None]:
    """Return what reads a value as the metric `money` with these parameters does; None for no amount."""
    styles, default = styles_of(params["locale"]), str(params["currency"] or "")

    def read(value: Json) -> Money | None:
        if not isinstance(value, str):
            amount = exactly(value)
            return None if amount is None else Money(amount, default)
        found = read_written(equality.written(value), styles)
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
    currency = currency_of(after, default)
    if currency is not None:
        return 1, currency
    first, _, rest = after.partition(" ")
    factor, currency = scale_of(first, styles), currency_of(_OF.sub("", rest), default)
    if factor is not None and currency is not None:
        return factor, currency
    return _glued(after, styles, default)


def _glued(after: str, styles: tuple[NumberStyle, ...], default: str) -> tuple[int | None, str | None]:
    for end in range(1, min(len(after), 5)):
        factor, currency = scale_of(after[:end], styles), currency_of(after[end:], default)
        if factor is not None and currency is not None:
            return factor, currency
    return None, None


def _make_money(params: Params, _semantics: SemanticsName) -> BoundMetric:
    read, strict = money_reader(params), bool(params["require_currency"])
    rel, tolerance = float(params["rel"]), float(params["abs"])
    admits = within(rel, tolerance)

    def same_currency(one: Money, other: Money) -> bool:
        unsaid = not strict and not (one.currency and other.currency)
        return unsaid or one.currency == other.currency

    def agree(gold: Money, extracted: Money) -> bool:
        return same_currency(gold, extracted) and admits(gold.amount, extracted.amount)

    def differ(gold: Money, extracted: Money) -> str:
        if not same_currency(gold, extracted):
            return f"currency {gold.currency or 'none'} expected, got {extracted.currency or 'none'}"
        return f"amount {decimal_text(gold.amount)} expected, got {decimal_text(extracted.amount)}"

    explain = explain_read(read, f"an amount in {params['locale']!r}", differ)
    # an amount without currency agrees with two that differ, so it takes `require_currency` to make an equality
    if strict and not (rel or tolerance):
        return equality_of_read(read, explain)
    return reading_metric(read, agree, explain, near=(lambda money: float(money.amount), rel, tolerance))


def _check_currency(value: Json) -> str | None:
    if isinstance(value, str) and value in CODES:
        return None
    return f"must be an ISO 4217 code such as 'EUR'{closest(value, CODES)}"


_TOLERANCES = (
    check.tolerance("rel", "tolerance relative to |gold|"),
    check.tolerance("abs", "absolute tolerance"),
)

SPECS = (
    MetricSpec(
        name="locale_number",
        make=_make_locale_number,
        doc="JSON numbers and numbers as texts of declared locales, exactly or within a tolerance. Brackets and a "
        "minus at either end are negative; powers of ten (1.5 \u00d7 10⁶) count. What is no number there is "
        "compared as text.",
        params=(
            LOCALE,
            *_TOLERANCES,
            check.any_of("percent", ("number", "fraction"), "whether 12.5 % is the number 12.5 or the fraction 0.125"),
            Param(name="scales", check=check.boolean, default=False, doc="whether words like million count"),
        ),
        examples=(
            Example(1234.5, "1.234,50", 1.0, {"locale": "de"}),
            Example(1234.5, "1.234,50", 0.0),
            Example(-1200, "(1,200)", 1.0),
            Example(0.125, "12.5%", 1.0, {"percent": "fraction"}),
            Example(1_200_000, "1.2 million", 1.0, {"scales": True}),
        ),
        symmetric=False,
    ),
    MetricSpec(
        name="money",
        make=_make_money,
        doc="Numbers as of `locale_number` with a currency: the amounts are equal, and so are the currencies where "
        "both sides name one. Symbols and ISO codes agree, words like million count; $ is USD unless `currency` is "
        "another dollar.",
        params=(
            LOCALE,
            *_TOLERANCES,
            Param(name="currency", check=_check_currency, doc="ISO code of amounts that name none"),
            Param(
                name="require_currency",
                check=check.boolean,
                default=False,
                doc="whether an amount without currency differs from one with",
            ),
        ),
        examples=(
            Example("1,234.50 EUR", "€1234.5", 1.0),
            Example("EUR 5", "$5", 0.0),
            Example(1234.5, "1.234,50 €", 1.0, {"locale": "de"}),
            Example(5, "USD 5", 0.0, {"currency": "EUR"}),
            Example("$1.2 million", "1,200,000", 1.0),
            Example("250 k€", "250 000 EUR", 1.0, {"locale": "fr"}),
            Example("$(1,234.50)", "-1234.5", 1.0),
        ),
        symmetric=False,
    ),
)
