from __future__ import annotations

import pytest

from tests.core.metrics.helpers import bound


@pytest.mark.parametrize(
    ("metric", "params", "gold", "extracted", "score"),
    [
        ("phone", {"country": "DE"}, "Tel.: 030/123 456", "+49 30 123456", 1.0),
        ("phone", {"country": "IT"}, "06 1234567", "+39 06 1234567", 1.0),
        ("phone", {"country": "HU"}, "06 1 234 5678", "+36 1 234 5678", 1.0),
        ("phone", {"country": "US"}, "1-212-555-0100", "(212) 555-0100", 1.0),
        ("phone", {}, "+1 212 555 0100 ext 5", "+1 212 555 0100", 0.0),
        ("phone", {}, 493012345, "493012345", 1.0),
        ("phone", {}, "call me", "call  me", 1.0),
        ("phone", {}, "12", "1-2", 0.0),
        ("url", {}, "HTTP://EXAMPLE.com/%7Ejo/../a", "example.com/a", 1.0),
        ("url", {}, "http://example.com:8080", "http://example.com", 0.0),
        ("url", {}, "https://münchen.de/ä", "https://xn--mnchen-3ya.de/%C3%A4", 1.0),
        ("url", {}, "x.org/a%2Fb", "x.org/a/b", 0.0),
        ("url", {}, "x.org/a#top", "x.org/a", 1.0),
        ("url", {"ignore_fragment": False}, "x.org/a#top", "x.org/a", 0.0),
        ("url", {"query": "ordered"}, "x.org/?a=1&b=2", "x.org/?b=2&a=1", 0.0),
        ("url", {"query": "ignore"}, "x.org/?utm=1", "x.org/", 1.0),
        ("url", {}, "http://[::1", "http://[::1", 1.0),
        ("url", {}, "not a url", "not a  url", 1.0),
        ("url", {}, "x.org/\ud800", "x.org/", 0.0),
        ("email", {}, "A@x.org", "a@X.ORG", 1.0),
        ("email", {}, "a at x.org", "a@x.org", 0.0),
    ],
)
def test_contacts(metric, params, gold, extracted, score):
    assert bound(metric, params).compare(gold, extracted) == score


def test_the_reason_shows_both_normal_forms():
    phone = bound("phone", {"country": "DE"})
    assert phone.explain("030 1234", "040 1234") == "+49301234 expected, got +49401234"
    assert phone.explain("030 1234", "none") == 'not a telephone number: "none"'
    assert bound("url").explain("x.org/a", "x.org/b") == "x.org/a expected, got x.org/b"
