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
        ("phone", {}, "tel:+49-30-123456;ext=5", "+49 30 123456 ext. 5", 1.0),
        ("phone", {}, "+49 30 123456 ext. 5", "+49 30 123456, ext. 5", 1.0),
        ("phone", {}, "Fax: 212-555-0100", "(212) 555-0100", 1.0),
        ("phone", {}, "Mobile +49 170 1234567", "+49 (0) 170 1234567", 1.0),
        ("phone", {}, "\uff0b\uff14\uff19 30 123456", "\u202a+49 30 123456\u202c", 1.0),
        ("phone", {}, "\u0664\u0669 30 1234", "49 30 1234", 1.0),
        ("phone", {}, "+44 020 7946 0000", "+44 (0)20 7946 0000", 1.0),
        ("phone", {}, "+39 06 1234567", "+39 6 1234567", 0.0),
        ("phone", {}, "(+49) 30 123456", "0049 30 123456", 1.0),
        ("phone", {}, "+49 30 123456", "+49 30 123457", 0.0),
        ("phone", {"country": "US"}, "011 49 30 123456", "+49 30 123456", 1.0),
        ("phone", {"country": "JP"}, "010 49 30 123456", "+49 30 123456", 1.0),
        ("phone", {"country": "AU"}, "(02) 9374 4000", "+61 2 9374 4000", 1.0),
        ("phone", {}, "Total 123456", "123456", 0.0),
        ("phone", {"country": "AR"}, "011 15-2345-6789", "+54 9 11 2345 6789", 1.0),
        ("phone", {"country": "PK"}, "(042) 111 222 333", "+92 42 111222333", 1.0),
        ("phone", {"country": "DE"}, "112", "112", 1.0),
        ("phone", {"country": "DE"}, "112", "110", 0.0),
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
        ("url", {}, "https://straße.de", "https://strasse.de", 0.0),
        ("url", {}, "https://faß.de", "https://xn--fa-hia.de", 1.0),
        ("url", {}, "https://MÜNCHEN.de", "https://münchen.de", 1.0),
        ("url", {}, "http://1.2.3.4/", "1.2.3.4", 1.0),
        ("url", {}, "https://[::1]/a", "https://[0:0:0:0:0:0:0:1]/a", 1.0),
        ("url", {}, "https://jo@x.org/", "https://x.org/", 0.0),
        ("url", {}, "<https://x.org>", "https://x.org", 1.0),
        ("url", {}, "https://x.org/?a=1&utm_source=b", "https://x.org/?a=1", 0.0),
        ("url", {"query": "no_tracking"}, "https://x.org/?fbclid=3", "https://x.org/", 1.0),
        ("url", {"query": "no_tracking"}, "https://x.org/?b=1&a=2", "https://x.org/?a=2&b=1", 1.0),
        ("url", {}, "3.14", "3.140", 0.0),
        ("email", {}, "A@x.org", "a@X.ORG", 1.0),
        ("email", {}, "a at x.org", "a@x.org", 0.0),
        ("email", {}, "Jo Doe <jo@x.org>", "JO@x.org", 1.0),
        ("email", {}, "E-Mail: jo@münchen.de", "jo@xn--mnchen-3ya.de", 1.0),
        ("email", {}, "jo@x.org.", "jo@x.org", 1.0),
        ("email", {}, "a@b@c.org", "c.org", 0.0),
    ],
)
def test_contacts(metric, params, gold, extracted, score):
    assert bound(metric, params).compare(gold, extracted) == score


def test_the_reason_shows_both_normal_forms():
    phone = bound("phone", {"country": "DE"})
    assert phone.explain("030 1234", "040 1234") == "+49301234 expected, got +49401234"
    assert phone.explain("030 1234", "none") == 'not a telephone number: "none"'
    assert bound("url").explain("x.org/a", "x.org/b") == "x.org/a expected, got x.org/b"
