"""What metrics say of two values that differ."""

from __future__ import annotations

import pytest

from tests.core.metrics.helpers import bound


@pytest.mark.parametrize(
    ("metric", "params", "gold", "extracted", "reason"),
    [
        ("text", {}, "Acme", "Acme Inc", ""),
        ("text", {}, "42", 42, "a string expected, got an integer"),
        ("fuzzy", {}, "kitten", "sitting", "similarity 0.571"),
        ("fuzzy", {}, "7", 7, "a string expected, got an integer"),
        ("token_f1", {}, "red old house", "red new house", "1 of 3 missing, 1 added"),
        ("limited_text", {"max_length": 4}, "a", "abcde", "5 characters, allowed are 1 to 4"),
        ("limited_text", {"max_length": 4}, "a", 5, "a string expected, got an integer"),
        ("oneof", {"values": ["a"]}, "a", "b", '"b" is none of the 1 values'),
        ("oneof_with_gold", {"values": ["a"]}, "x", "b", '"b" is neither the gold value nor one of the 1 others'),
        ("set", {}, ["a", "b"], ["a", "c", "d"], "1 of 2 missing, 2 added"),
        ("regex", {"pattern": r"\d+"}, "1", "x", r"no string of at most 5,000 characters that matches \d+"),
        ("number", {}, 100, 101.2, "off by 1.2, relative error 0.012"),
        ("number", {}, 0, 2, "off by 2"),
        ("number", {}, 500_000_000, 50_000_000, "off by 450,000,000, relative error 0.9"),
        ("number", {}, 0.125, 2000, "off by 1,999.88, relative error 1.6e+04"),
        ("number", {}, 5, "abc", 'not a number: "abc"'),
        ("number", {}, "a", "b", 'not a number: "a"'),
        ("number", {}, 10**400, 1, "off by more than a float can hold"),
        ("number_exact", {}, "$5", 5, 'not a number: "$5"'),
        ("money", {}, "EUR 5", "$5", "5 EUR expected, got 5 USD"),
        ("money", {}, "EUR 5", "6 €", "5 EUR expected, got 6 EUR"),
        ("money", {}, "EUR 5", "five", "not an amount in 'en': \"five\""),
        ("date", {}, "2024-03-15", "2024-03-14", "2024-03-15 expected, got 2024-03-14"),
        ("date", {}, "2024-03-15", "2024-03", "2024-03-15 expected, got 2024-03"),
        ("date", {}, "2024-03-15", "soon", 'not a date in the declared forms: "soon"'),
        ("date", {"time": True}, "2024-03-15T10:00", "2024-03-15", "2024-03-15T10:00:00 expected, got 2024-03-15"),
        ("quantity", {}, "5 kg", "5 m", "5 kg expected, got 5 m"),
        ("quantity", {}, "5 kg", "5 kgg", "5 kg expected, got 5 kgg"),
        ("quantity", {}, "< 5 kg", "5-6 kg", "<5 kg expected, got 5 to 6 kg"),
        ("quantity", {}, "5 kg", "about 5", 'not a quantity: "about 5"'),
        ("quantity", {}, "4006381333931 g", "4006381333932 g", "4006381333.931 kg expected, got 4006381333.932 kg"),
        ("phone", {"country": "DE"}, "030 1234", "040 1234", "+49301234 expected, got +49401234"),
        ("phone", {"country": "DE"}, "030 1234", "none", 'not a telephone number: "none"'),
        ("url", {}, "x.org/a", "x.org/b", "x.org/a expected, got x.org/b"),
    ],
)
def test_reasons(metric, params, gold, extracted, reason):
    assert bound(metric, params).explain(gold, extracted) == reason
