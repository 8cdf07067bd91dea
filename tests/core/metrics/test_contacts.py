"""Telephone numbers, addresses of pages, addresses of mail."""

from __future__ import annotations

import pytest

from tests.core.metrics.helpers import bound, check


@pytest.mark.parametrize(
    ("metric", "params", "gold", "alike", "unlike"),
    [
        ("phone", {"country": "DE"}, "+49 30 123456", ["Tel.: 030/123 456", "0049 30 123456"], []),
        ("phone", {"country": "DE"}, "112", ["112"], ["110"]),
        ("phone", {"country": "IT"}, "+39 06 1234567", ["06 1234567"], []),
        ("phone", {"country": "US"}, "(212) 555-0100", ["1-212-555-0100"], []),
        ("phone", {"country": "US"}, "+49 30 123456", ["011 49 30 123456"], []),
        ("phone", {"country": "JP"}, "+49 30 123456", ["010 49 30 123456"], []),
        ("phone", {}, "+49 30 123456", ["(+49) 30 123456", "\uff0b\uff14\uff19 30 123456"], []),
        ("phone", {}, "+49 30 123456", ["\u202a+49 30 123456\u202c"], []),
        ("phone", {}, "+49 30 123456", [], ["+49 30 123457", "+49 30 123456 ext. 5"]),
        ("phone", {}, "+49 30 123456 ext. 5", ["tel:+49-30-123456;ext=5", "+49 30 123456, ext. 5"], []),
        ("phone", {}, "+49 170 1234567", ["Mobile +49 170 1234567", "+49 (0) 170 1234567"], []),
        ("phone", {}, "(212) 555-0100", ["Fax: 212-555-0100"], []),
        ("phone", {}, "+44 (0)20 7946 0000", ["+44 020 7946 0000"], []),
        ("phone", {}, "+39 06 1234567", [], ["+39 6 1234567"]),
        ("phone", {}, "49 30 1234", ["\u0664\u0669 30 1234"], []),
        ("phone", {}, 493012345, ["493012345"], []),
        ("phone", {}, "call me", ["call  me"], []),
        ("phone", {}, "12", [], ["1-2"]),
        ("phone", {}, "123456", [], ["Total 123456"]),
        ("url", {}, "example.com/a", ["HTTP://EXAMPLE.com/%7Ejo/../a"], []),
        ("url", {}, "http://example.com", [], ["http://example.com:8080"]),
        ("url", {}, "https://münchen.de/ä", ["https://xn--mnchen-3ya.de/%C3%A4", "https://MÜNCHEN.de/ä"], []),
        ("url", {}, "https://faß.de", ["https://xn--fa-hia.de"], ["https://fass.de"]),
        ("url", {}, "x.org/a", ["x.org/a#top", "<https://x.org/a>"], ["x.org/%61%2F", "https://jo@x.org/a"]),
        ("url", {"ignore_fragment": False}, "x.org/a#top", [], ["x.org/a"]),
        ("url", {}, "https://x.org/?a=1", [], ["https://x.org/?a=1&utm_source=b"]),
        ("url", {}, "https://x.org/?a=1&b=2", [], ["https://x.org/?a=1%26b%3D2"]),
        ("url", {"ignore_scheme": True}, "x.org:8080/?n=http://y.org", ["http://x.org:8080/?n=http%3A%2F%2Fy.org"], []),
        ("url", {}, "http://[::1", ["http://[::1"], []),
        ("url", {}, "https://[::1]/a", ["https://[0:0:0:0:0:0:0:1]/a"], []),
        ("url", {}, "http://1.2.3.4/", ["1.2.3.4"], []),
        ("url", {}, "not a url", ["not a  url"], []),
        ("url", {}, "x.org/\ud800", ["x.org/\ud800"], ["x.org/"]),
        ("url", {}, "https://x.org/?a=\ud800", ["https://x.org/?a=\ud800"], []),
        ("url", {}, "x.org/a%2Fb", [], ["x.org/a/b"]),
        ("url", {}, "3.14", [], ["3.140"]),
        ("email", {}, "a@x.org", ["A@X.org", "Jo Doe <A@x.org>", "a@x.org."], ["a at x.org"]),
        ("email", {}, "jo@xn--mnchen-3ya.de", ["E-Mail: jo@münchen.de"], []),
        ("email", {}, "c.org", [], ["a@b@c.org"]),
    ],
)
def test_addresses(metric, params, gold, alike, unlike):
    check(bound(metric, params), gold, alike, unlike)
