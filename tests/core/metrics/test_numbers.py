"""Numbers, numbers as locales write them, and amounts of money."""

from __future__ import annotations

import pytest

from pytest_extract import compile_schema
from tests.core.metrics.helpers import bound, check

HUGE = 10**400


@pytest.mark.parametrize(
    ("metric", "params", "gold", "alike", "unlike"),
    [
        ("number", {}, 1.0, [1.0 + 5e-10], [1.0 + 5e-9, "1"]),
        ("number", {}, True, [True], [1]),
        ("number", {}, "x  y", ["x y"], []),
        ("number", {}, float("inf"), [], [1e308]),
        ("number", {}, HUGE, [HUGE], [HUGE + 1]),
        ("number", {}, 4006381333931.0, [], [4006381330931]),  # whole numbers are exact
        ("number", {}, 2.512292042121e18, [], [2512292042121000001]),
        ("number", {}, 3.0, [2.9999999999999996], []),
        ("number", {"abs": 0.01}, 19.99, [20.0], [20.0000001]),  # a tolerance admits its own bound
        ("number", {"abs": 1}, 4006381333931, [4006381333932], [4006381333933]),
        ("number", {"abs": 0.5}, 0, [0.5], []),
        ("number", {"rel": 0.1}, 1.0, [1.1], [1.12]),
        ("number", {"rel": 1e-9}, HUGE, [HUGE + 1], []),
        ("number", {"rel": 0}, 2**53, [], [2**53 + 1]),
        ("number", {"rel": 1}, HUGE, [1.5], []),
        ("integer", {}, 42, [42], ["42", 43]),
        ("integer", {}, 42.5, [42.5], []),
        ("integer", {}, HUGE, [], [HUGE + 1]),
        ("number_exact", {}, 7, [" 7 ", 7.0], []),
        ("number_exact", {}, 1000, [], ["1,000"]),
        ("number_exact", {}, HUGE, [], [HUGE + 1]),
        ("number_exact", {}, "nan", ["nan"], []),
        ("number_tolerance", {"tolerance": "0.5"}, 42.5, [42], []),
        ("number_tolerance", {"tolerance": 1e-13}, 1e-13, [0.0], []),
        ("number_tolerance", {}, HUGE, [], [HUGE + 1, 1.0]),
        ("number_tolerance", {}, float("inf"), [float("inf")], []),
        ("integer_exact", {}, 42, [], ["42.0"]),
        ("integer_exact", {}, "inf", ["Infinity"], []),
        ("integer_exact", {}, -42.9, [], [-42, "no"]),
        ("integer_exact", {}, "yes", [], ["no"]),
        ("numeric", {}, "a", ["a"], []),
        ("numeric", {}, HUGE, [HUGE], []),
        ("numeric", {"tolerance": {"rel": 0.01}}, 0, [0.001], []),
        ("numeric", {"tolerance": {"rel": 0.01}}, "inf", [], [5]),
        ("numeric", {"tolerance": {"rel": 0.1}}, HUGE, [HUGE + 1], []),
        ("numeric", {"tolerance": {"rel": 0.1}}, 1.0, [1.1], []),
        ("numeric", {"tolerance": {"abs": 0.1}}, 1.1, [1.0], []),
        ("numeric", {"tolerance": {"abs": -1}}, 5, [], [6]),
        ("locale_number", {"rel": 0.01}, 100, ["101"], ["102"]),
        ("locale_number", {"abs": 0.005}, "1.00", [], ["1.01"]),
        ("locale_number", {}, float("inf"), [float("inf")], []),
        ("locale_number", {}, HUGE, [], [HUGE + 1]),
        ("locale_number", {}, 10**9, [], ["1 billion"]),  # words of scale count where they are asked for
        ("locale_number", {"scales": True}, 10**9, ["1 billion"], []),
        ("locale_number", {"locale": "de", "scales": True}, 10**12, ["1 Billion", "1.000 Mrd."], []),
        ("locale_number", {"locale": "en-IN", "scales": True}, 250_000, ["2.5 lakh"], []),
        ("money", {}, "-$5.00", ["$(5)", "($5.00)", "$-5"], ["$5"]),
        ("money", {}, "5 USD", ["US$ 5", "USD $5", "$5 USD", "USD$5"], ["5 USD/t", "about $5"]),
        ("money", {}, "5 USD", ["5 dollars", "5 U.S. dollars"], []),
        ("money", {}, "$5", [], ["$5 - $10", "5 EUR"]),
        ("money", {}, "5 EUR", [], ["$5 EUR"]),
        ("money", {}, "5 MUSD", ["USD 5,000,000"], []),
        ("money", {}, "5 KRW", ["5 won"], []),
        ("money", {}, "1 millón EUR", ["1000000 EUR"], []),
        ("money", {}, "$2.5bn", [2_500_000_000], []),
        ("money", {}, "n/a", ["n/a"], []),
        ("money", {}, True, [], [1]),
        ("money", {}, 500, ["Rs.500"], []),  # a point behind an abbreviation is no decimal point
        ("money", {}, 0.5, ["$.50"], ["Rs.500"]),
        ("money", {}, 1500, ["Rs.1,500"], []),
        ("money", {"locale": "de"}, "-1.234,56 €", ["1.234,56- €", "\u22121.234,56 €", "(1.234,56 €)"], []),
        ("money", {"locale": "de"}, "5,00 €", ["5,\u2013 €", "5,-- €"], []),
        ("money", {"locale": "de"}, "1.234,50 EUR", [1234.5], []),
        ("money", {"locale": "de"}, "1.234 €", ["1.234,- €"], []),
        ("money", {"locale": "de"}, "250 T€", ["250 TEUR", "250.000 EUR"], []),
        ("money", {"locale": "de"}, "2,5 Mio. €", ["2.500.000 EUR"], []),
        ("money", {"locale": "de"}, "3,2 Mio. US-Dollar", ["USD 3.200.000"], []),
        ("money", {"locale": "de-CH"}, "CHF 5.-", ["Fr. 5.00"], []),
        ("money", {"locale": "fr"}, "1,5 million d'euros", ["1 500 000 €"], []),
        ("money", {"locale": "fr"}, "1,5 Md€", ["1 500 000 000 €"], []),
        ("money", {"locale": "sv"}, "1 234:-", ["1 234 kr"], []),
        ("money", {"locale": "ja"}, "\uffe51,000", ["1,000円"], []),
        ("money", {"locale": "ja"}, "1万円", ["10,000円"], []),
        ("money", {"currency": "CAD"}, "C$5", ["$5"], []),
        ("money", {"currency": "EUR"}, "5", [], ["$5"]),
        ("money", {"currency": "NOK", "locale": "nb"}, "5 kr", ["NOK 5,00"], []),
        ("money", {"require_currency": True}, "$5", [], ["5"]),
        ("money", {"require_currency": True, "currency": "USD"}, "$5", ["5"], []),
        ("money", {"abs": 0.01}, "$5", ["$5.01"], ["$5.02"]),
        ("money", {"abs": 0.3}, 1.0, [1.3], []),
        ("money", {"rel": 0.3}, 100, [70], []),
    ],
)
def test_numbers_and_amounts(metric, params, gold, alike, unlike):
    check(bound(metric, params), gold, alike, unlike)


@pytest.mark.parametrize(
    ("metric", "params", "semantics", "gold", "alike", "unlike"),
    [
        ("number_exact", {}, "extract-bench", "nan", [], ["nan"]),
        ("number_exact", {}, "extract-bench", 2**53 + 1, [2**53], []),
        ("number_tolerance", {}, "extract-bench", "nan", [], ["nan"]),
        ("number_tolerance", {"tolerance": 1}, "extract-bench", True, [False], [1]),
        ("numeric", {}, "struct-extract-eval", None, [None], []),
        ("numeric", {}, "struct-extract-eval", [1], [], [[1]]),
        ("numeric", {"tolerance": {"rel": 0.01}}, "struct-extract-eval", "inf", [5], []),
        ("numeric", {"tolerance": {"abs": -1}}, "struct-extract-eval", 5, [], [5]),
        ("numeric", {"tolerance": {"abs": 1}}, "struct-extract-eval", 100, [], [101.0001]),
    ],
)
def test_numbers_as_published(metric, params, semantics, gold, alike, unlike):
    check(bound(metric, params, semantics), gold, alike, unlike)


@pytest.mark.parametrize(
    ("locale", "value", "texts"),
    [
        ("en", 1234567.89, ["1,234,567.89", "1234567.89"]),
        ("en", 1234, ["\uff11\uff0c\uff12\uff13\uff14"]),  # digits of full width
        ("en", 34, ["\u0663\u0664"]),
        ("en", 0.5, [".5"]),
        ("en", -5, ["-5", "\u22125", "5-", "(5)", "\u202a-5\u202c"]),
        ("en", 5, ["+5", "5 %"]),
        ("en", 12.5, ["12.5 per cent"]),
        ("en", 1_000_000, ["1e6"]),
        ("en", 0.0015, ["1.5E-3"]),
        ("en", 5_500_000_000, ["5.5 \u00d7 10\u2079"]),
        ("en", 0.055, ["5.5x10^-2"]),
        ("en-IN", 1234567, ["12,34,567"]),
        ("de", 1234.5, ["1.234,5", "1234,5"]),
        ("de", 12.5, ["12,5 Prozent"]),
        ("de-CH", 1234.5, ["1'234.50", "1\u2019234.5"]),
        ("es", 12345.5, ["12 345,5"]),
        ("fr", 1234.5, ["1\u202f234,50", "1 234,5", "1\u00a0234,5"]),
        ("plain", 1234.5, ["1234.5"]),
        ("pt", 1234.5, ["1 234,5"]),
        (["de", "en"], 1234.5, ["1,234.5", "1.234,5"]),
        ("plain", None, ["1,234"]),
        ("en", None, ["1,23", "1,2345", "1.234.567", "(-5)", "(5)-", "-5-", "5 kg", "5 6", "5 - 10", "5 x 103", ""]),
        ("en", None, ["10\u00b2", "1e9999", "1" * 300]),
    ],
)
def test_numbers_are_read_as_the_locale_writes_them(locale, value, texts):
    metric = bound("locale_number", {"locale": locale})
    if value is None:
        assert all("not a number in" in metric.explain(text, 1) for text in texts)
    check(metric, -987654 if value is None else value, [] if value is None else texts, texts if value is None else [])


@pytest.mark.parametrize("name", ["number", "number_tolerance", "numeric"])
@pytest.mark.parametrize("numbers", [[1e308 * (1 + n / 100) for n in range(20)], [HUGE, -HUGE, 1.5, 2.5]])
def test_lists_with_numbers_beyond_a_float_are_scored(name, numbers):
    number = {"type": "number", "evaluation_config": name}
    row = {"type": "object", "properties": {"id": {"type": "string"}, "n": number}}
    schema = {"type": "array", "items": row, "evaluation_config": {"align": "best_fit"}}
    scorer = compile_schema(schema, semantics="default")
    gold = [{"id": str(place), "n": number} for place, number in enumerate(numbers)]
    extracted = [{**row, "id": f"{row['id']}?"} for row in reversed(gold)]
    assert scorer.score(gold, extracted).measures["mean_score"] == pytest.approx(0.5)
