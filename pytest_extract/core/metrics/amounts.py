"""Metrics of numbers and money as people write them, in declared locales."""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Mapping
from fractions import Fraction
from typing import NamedTuple

from pytest_extract.core.metrics import equality
from pytest_extract.core.metrics import params as check
from pytest_extract.core.metrics.base import BoundMetric, Example, MetricSpec, Param, SemanticsName
from pytest_extract.core.metrics.currencies import CODES, currency_of
from pytest_extract.core.metrics.locales import (
    LOCALE,
    Exact,
    NumberStyle,
    decimal_text,
    exact,
    exactly,
    read_written,
    scale_of,
    styles_of,
    within,
)
from pytest_extract.core.metrics.parsed import reading_metric
from pytest_extract.core.values import Json
from pytest_extract.errors import closest

# --- numbers

_PERCENT = frozenset(("%", "percent", "per cent", "pct", "prozent", "pour cent", "por ciento", "per cento", "procent"))


def number_reader(params: Mapping[str, Json]) -> Callable[[Json], Exact | None]:
    """Return what reads a value as the metric `locale_number` with these parameters does; None for no number."""
    styles, scales, percent = styles_of(params["locale"]), bool(params["scales"]), params["percent"]

    def read(value: Json) -> Exact | None:
        number = fraction(value)
        return None if number is None else exact(number)

    def fraction(value: Json) -> Fraction | None:
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


def _make_locale_number(params: Mapping[str, Json], semantics: SemanticsName) -> BoundMetric:
    del semantics
    read = number_reader(params)
    rel, tolerance = float(params["rel"]), float(params["abs"])
    admits = within(rel, tolerance)

    def agree(gold: Exact, extracted: Exact) -> float:
        return 1.0 if admits(gold, extracted) else 0.0

    def explain(gold: Json, extracted: Json) -> str:
        one, other = read(gold), read(extracted)
        if one is None or other is None:
            return f"not a number in {params['locale']!r}: {equality.short(gold if one is None else extracted)}"
        return f"{decimal_text(one)} expected, got {decimal_text(other)}"

    canonical = None if rel or tolerance else _itself
    return reading_metric("locale_number", read, agree, explain, params, canonical=canonical)


def _itself(value: Hashable) -> Hashable:
    return value


# --- money


class Money(NamedTuple):
    """An amount, and its currency (ISO 4217 where it is known, "" where there is none)."""

    amount: Exact
    currency: str


def money_reader(params: Mapping[str, Json]) -> Callable[[Json], Money | None]:
    """Return what reads a value as the metric `money` with these parameters does; None for no amount."""
    styles, default = styles_of(params["locale"]), str(params["currency"] or "")

    def read(value: Json) -> Money | None:
        if not isinstance(value, str):
            amount = exactly(value)
            return None if amount is None else Money(exact(amount), default)
        found = read_written(equality.written(value), styles)
        if found is None:
            return None
        factor, currency = _scale_and_currency(found.after, styles, "" if found.before else default)
        if found.before and currency is not None:
            own = currency
            currency = currency_of(found.before, own or default)
            if own and currency != own:
                return None  # "EUR 5 USD"
        return None if factor is None or currency is None else Money(exact(found.value * factor), currency)

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


def _make_money(params: Mapping[str, Json], semantics: SemanticsName) -> BoundMetric:
    del semantics
    read = money_reader(params)
    rel, tolerance, strict = float(params["rel"]), float(params["abs"]), bool(params["require_currency"])
    admits = within(rel, tolerance)

    def same_currency(one: Money, other: Money) -> bool:
        unsaid = not strict and not (one.currency and other.currency)
        return unsaid or one.currency == other.currency

    def agree(gold: Money, extracted: Money) -> float:
        return 1.0 if same_currency(gold, extracted) and admits(gold.amount, extracted.amount) else 0.0

    def explain(gold: Json, extracted: Json) -> str:
        one, other = read(gold), read(extracted)
        if one is None or other is None:
            return f"not an amount in {params['locale']!r}: {equality.short(gold if one is None else extracted)}"
        if not same_currency(one, other):
            return f"currency {one.currency or 'none'} expected, got {other.currency or 'none'}"
        return f"amount {decimal_text(one.amount)} expected, got {decimal_text(other.amount)}"

    # an amount without currency agrees with two that differ, so it takes `require_currency` to make an equality
    canonical = _itself if strict and not (rel or tolerance) else None
    return reading_metric("money", read, agree, explain, params, canonical=canonical)


def _check_currency(value: Json) -> str | None:
    if isinstance(value, str) and value in CODES:
        return None
    return f"must be an ISO 4217 code such as 'EUR'{closest(value, CODES)}"


_TOLERANCES = (
    Param(name="rel", check=check.number(0), default=0.0, doc="tolerance relative to |gold|"),
    Param(name="abs", check=check.number(0), default=0.0, doc="absolute tolerance"),
)

SPECS = (
    MetricSpec(
        name="locale_number",
        make=_make_locale_number,
        doc="Numbers as JSON numbers or as texts in declared locales, compared exactly or within a tolerance. "
        "Brackets and a minus at either end are negative; powers of ten (1.5e6, 1.5 \u00d7 10⁶) count. Texts that "
        "are no number there are compared as text.",
        params=(
            LOCALE,
            *_TOLERANCES,
            Param(
                name="percent",
                check=check.choice(("number", "fraction")),
                default="number",
                doc="whether 12.5 % is the number 12.5 or the fraction 0.125",
            ),
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
        doc="Amounts with a currency, as JSON numbers or texts in declared locales: the amounts are equal (within a "
        "tolerance) and so are the currencies, where both sides name one. Symbols and ISO codes agree, words like "
        "million count; the sign $ is USD unless `currency` is another dollar.",
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
