from __future__ import annotations

import pytest

from tests.core.metrics.helpers import bound


@pytest.mark.parametrize(
    ("locale", "text", "value"),
    [
        ("en", "1,234,567.89", 1234567.89),
        ("en", "1234567.89", 1234567.89),
        ("en", ".5", 0.5),
        ("en", "1,23", None),
        ("en", "1,2345", None),
        ("en", "1.234.567", None),
        ("en-IN", "12,34,567", 1234567),
        ("de", "1.234,5", 1234.5),
        ("de", "1234,5", 1234.5),
        ("de-CH", "1'234.50", 1234.5),
        ("de-CH", "1\u2019234", 1234),
        ("fr", "1\u202f234,50", 1234.5),
        ("fr", "1 234\u00a0567", 1234567),
        ("pt", "1 234,5", 1234.5),
        ("plain", "1,234", None),
        ("plain", "1234.5", 1234.5),
        (["de", "en"], "1,234.5", 1234.5),
        ("en", "-5", -5),
        ("en", "\u22125", -5),
        ("en", "5-", -5),
        ("en", "(5)", -5),
        ("en", "(-5)", None),
        ("en", "+5", 5),
        ("en", "5 %", 5),
        ("en", "5 kg", None),
        ("en", "5 6", None),
        ("en", "5 - 10", None),
        ("en", "1e6", 1_000_000),
        ("en", "1.5E-3", 0.0015),
        ("en", "5.5 \u00d7 10\u2079", 5_500_000_000),
        ("en", "5.5x10^-2", 0.055),
        ("en", "5 x 103", None),
        ("en", "10\u00b2", None),
        ("en", "1e9999", None),
        ("en", "\uff11\uff0c\uff12\uff13\uff14", 1234),
        ("en", "\u202a-5\u202c", -5),
        ("en", "12.5 per cent", 12.5),
        ("de", "12,5 Prozent", 12.5),
        ("es", "12 345,5", 12345.5),
        ("en", "(5)-", None),
        ("en", "-5-", None),
        ("en", "1" * 300, None),
        ("en", "", None),
        ("en", "\u0663\u0664", 34),
    ],
)
def test_numbers_are_read_as_the_locale_writes_them(locale, text, value):
    metric = bound("locale_number", {"locale": locale})
    assert metric.compare(text, -987654 if value is None else value) == (0.0 if value is None else 1.0)
    if value is None:
        assert "not a number in" in metric.explain(text, 1)


@pytest.mark.parametrize(
    ("params", "gold", "extracted", "score"),
    [
        ({}, 0.1, "0.1", 1.0),
        ({"rel": 0.01}, 100, "101", 1.0),
        ({"abs": 0.005}, "1.00", "1.01", 0.0),
        ({"scales": True, "locale": "de"}, 1.5e9, "1,5 Mrd.", 1.0),
        ({"scales": True, "locale": "de"}, 10**12, "1 Billion", 1.0),
        ({"scales": True, "locale": "en"}, 10**9, "1 billion", 1.0),
        ({"scales": True, "locale": "en-IN"}, 250_000, "2.5 lakh", 1.0),
        ({}, 1_000_000, "1 million", 0.0),
        ({}, float("inf"), float("inf"), 1.0),
        ({}, 10**400, 10**400 + 1, 0.0),
    ],
)
def test_locale_numbers(params, gold, extracted, score):
    assert bound("locale_number", params).compare(gold, extracted) == score


@pytest.mark.parametrize(
    ("params", "gold", "extracted", "score"),
    [
        ({}, "-$5.00", "$(5)", 1.0),
        ({"locale": "de"}, "-1.234,56 €", "1.234,56- €", 1.0),
        ({"locale": "de"}, "-1.234,56 €", "\u22121.234,56 €", 1.0),
        ({"locale": "de"}, "-1.234,56 €", "(1.234,56 €)", 1.0),
        ({"locale": "de"}, "5,00 €", "5,\u2013 €", 1.0),
        ({"locale": "de"}, "5,00 €", "5,-- €", 1.0),
        ({"locale": "de"}, "1.234 €", "1.234,- €", 1.0),
        ({"locale": "de"}, "250 T€", "250 TEUR", 1.0),
        ({"locale": "de"}, "250 T€", "250.000 EUR", 1.0),
        ({"locale": "de"}, "3,2 Mio. US-Dollar", "USD 3.200.000", 1.0),
        ({"locale": "fr"}, "1,5 million d'euros", "1 500 000 €", 1.0),
        ({"locale": "fr"}, "1,5 Md€", "1 500 000 000 €", 1.0),
        ({"locale": "sv"}, "1 234:-", "1 234 kr", 1.0),
        ({"locale": "ja"}, "\uffe51,000", "1,000円", 1.0),
        ({"locale": "ja"}, "1万円", "10,000円", 1.0),
        ({}, "USD$5", "5 U.S. dollars", 1.0),
        ({}, "$5 - $10", "$5", 0.0),
        ({}, "5 MUSD", "USD 5,000,000", 1.0),
        ({}, "5 KRW", "5 won", 1.0),
        ({}, "5 USD/t", "5 USD", 0.0),
        ({}, "-$5.00", "($5.00)", 1.0),
        ({}, "-$5.00", "$-5", 1.0),
        ({}, "US$ 5", "5 USD", 1.0),
        ({}, "$5 USD", "5 dollars", 1.0),
        ({}, "$5 EUR", "5 EUR", 0.0),
        ({"currency": "CAD"}, "C$5", "$5", 1.0),
        ({"currency": "EUR"}, "5", "$5", 0.0),
        ({"currency": "NOK", "locale": "nb"}, "5 kr", "NOK 5,00", 1.0),
        ({"locale": "de"}, "1.234,50 EUR", 1234.5, 1.0),
        ({"locale": "de-CH"}, "CHF 5.-", "Fr. 5.00", 1.0),
        ({"locale": "de"}, "2,5 Mio. €", "2.500.000 EUR", 1.0),
        ({}, "$2.5bn", 2_500_000_000, 1.0),
        ({"require_currency": True}, "$5", "5", 0.0),
        ({"require_currency": True, "currency": "USD"}, "$5", "5", 1.0),
        ({"abs": 0.01}, "$5", "$5.01", 1.0),
        ({}, "about $5", "$5", 0.0),
        ({}, "5 USD", "USD $5", 1.0),
        ({}, "1 millón EUR", "1000000 EUR", 1.0),
        ({}, "n/a", "n/a", 1.0),
        ({}, True, 1, 0.0),
    ],
)
def test_money(params, gold, extracted, score):
    assert bound("money", params).compare(gold, extracted) == score


@pytest.mark.parametrize(
    ("gold", "extracted", "reason"),
    [
        ("EUR 5", "$5", "5 EUR expected, got 5 USD"),
        ("EUR 5", "6 €", "5 EUR expected, got 6 EUR"),
        ("EUR 5", "five", "not an amount in 'en': \"five\""),
    ],
)
def test_reasons(gold, extracted, reason):
    assert bound("money").explain(gold, extracted) == reason
