"""Metrics of telephone numbers, URLs and e-mail addresses: equal after normalising."""

from __future__ import annotations

import posixpath
import re
import unicodedata
from collections.abc import Callable, Mapping
from contextlib import suppress
from ipaddress import ip_address
from typing import Final
from urllib.parse import parse_qsl, quote, unquote, urlencode, urlsplit

from pytest_extract.core.metrics import base as check
from pytest_extract.core.metrics.base import BoundMetric, Example, MetricSpec, Param, Params, SemanticsName
from pytest_extract.core.metrics.exact import equality_of_read, explain_read
from pytest_extract.core.values import Json, written
from pytest_extract.errors import nearest

Normal = Callable[[str], str | None]
_LONGEST: Final = 5000
_LONGEST_HOST: Final = 253


def _normalised(kind: str, normal: Normal) -> BoundMetric:
    """Make an equality over the normal form; a text without one is compared as text."""

    def read(value: Json) -> str | None:
        text = str(value) if isinstance(value, int) and not isinstance(value, bool) and abs(value) < 10**20 else value
        return normal(written(text)) if isinstance(text, str) and len(text) <= _LONGEST else None

    return equality_of_read(read, explain_read(read, kind))


# --- telephone

_PHONE = re.compile(
    r"(?:(?:tele(?:fon|phone|fax)|téléphone|tel|tél|tlf|phone|ph|fax|mobile|mobil|mob|cell|handy|gsm|office|work|home|[tfmp])\b"
    r"[.:]*\s*)?(?P<main>\(?\+?[\d\s().\-/\u2010-\u2013]+)"
    r"(?:[\s,]*(?:;ext=|ext\.?|extension|x|durchwahl|#)\s*(?P<extension>\d{1,8}))?",
    re.IGNORECASE,
)


def _check_country(value: Json) -> str | None:
    from phonenumbers import SUPPORTED_REGIONS

    if isinstance(value, str) and value in SUPPORTED_REGIONS:
        return None
    return f"must be the ISO code of a country, such as 'DE'{nearest(value, SUPPORTED_REGIONS)}"


@MetricSpec.row(
    "phone",
    Example("+49 (0)30 1234-56", "0049 30 123456", 1.0),
    Example("030 123456", "+49 30 123456", 1.0, {"country": "DE"}),
    Example("030 123456", "+49 30 123456", 0.0),
    Example("(212) 555-0100 ext. 7", "+1 212 555 0100 x7", 1.0, {"country": "US"}),
    params=(
        Param(
            name="country", check=_check_country, doc="ISO code of the country of numbers that name none, such as DE"
        ),
    ),
)
def _phone(params: Params, _semantics: SemanticsName) -> BoundMetric:
    """Telephone numbers in one international form, whatever separates their digits and stands before them.

    Their country is known by + or 00, or by the prefixes of a declared `country`; extensions count.
    """
    from phonenumbers import NumberParseException, PhoneNumberFormat, format_number, parse

    country: str | None = params["country"]

    def normal(text: str) -> str | None:
        match = _PHONE.fullmatch(text)
        digits = "".join(str(int(c)) for c in match["main"] if c.isdecimal()) if match else ""
        if match is None or not 3 <= len(digits) <= 17:
            return None
        international = country is None and digits.startswith("00")
        try:
            number = parse(f"+{digits[2:]}" if international else match["main"].lstrip("( "), country)
            found = format_number(number, PhoneNumberFormat.E164)
        except NumberParseException:  # without a country, or one that has no such numbers
            found = digits
        return f"{found} ext. {match['extension']}" if match["extension"] else found

    return _normalised("a telephone number", normal)


# --- URL

_PORTS: Mapping[str, int] = {"http": 80, "https": 443, "ftp": 21, "ws": 80, "wss": 443}
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]*://")
_HOST = re.compile(r"[\w.\-]+\.[\w\-]{2,}|localhost")


def _host(name: str) -> str | None:
    """Return a host in lower case, its address or its labels in ASCII; None for what is no host."""
    name = name.rstrip(".")
    if len(name) > _LONGEST_HOST:
        return None
    with suppress(ValueError):
        return ip_address(name).compressed
    with suppress(UnicodeError):
        found = ".".join(map(_label, name.split(".")))
        return found if _HOST.fullmatch(found) else None
    return None


def _label(text: str) -> str:
    """Return one label of a host as browsers do (UTS 46, not transitional): straße is not strasse."""
    plain_text = unicodedata.normalize("NFKC", text.lower())
    return plain_text if plain_text.isascii() else f"xn--{plain_text.encode('punycode').decode('ascii')}"


def _path(path: str) -> str:
    """Normalise escapes and dot segments; a slash at the end does not count."""
    parts = (unquote(part, errors="surrogateescape") for part in path.split("/"))
    segments = (quote(part, safe=":@!$&'()*+,;=~-._", errors="surrogatepass") for part in parts)
    return posixpath.normpath("/".join(segments)).strip("/") if path.strip("/") else ""


@MetricSpec.row(
    "url",
    Example("https://Example.com:443/a/./b/", "example.com/a/b", 1.0),
    Example("https://x.org/?a=1&b=2", "https://x.org?b=2&a=1", 1.0),
    Example("https://münchen.de", "https://xn--mnchen-3ya.de", 1.0),
    Example("https://x.org/a", "http://x.org/a", 0.0, {"ignore_scheme": False}),
    Example("https://www.x.org", "https://x.org", 0.0),
    params=(
        check.switch("ignore_scheme", "whether http is https and none", default=True),
        check.switch("ignore_fragment", "whether #part is left out", default=True),
    ),
)
def _url(params: Params, _semantics: SemanticsName) -> BoundMetric:
    """URLs that mean the same.

    Case of the host, its spelling (IDN), default port, escapes, dot segments, a slash at the end and the order of
    ?a=1&b=2 do not count; the scheme and the fragment do only if asked for.
    """
    any_scheme, fragment = bool(params["ignore_scheme"]), not params["ignore_fragment"]

    def normal(text: str) -> str | None:
        text = text.removeprefix("<").removesuffix(">")
        try:
            parts = urlsplit(text if _SCHEME.match(text) else f"//{text}")
            host, port = _host(parts.hostname or ""), parts.port
        except ValueError:
            return None
        if not host or any(c.isspace() for c in text):
            return None
        scheme = "" if any_scheme else f"{parts.scheme.lower()}://"
        own_port = f":{port}" if port and port != _PORTS.get(parts.scheme.lower() or "http") else ""
        last = f"#{parts.fragment}" if fragment and parts.fragment else ""
        pairs = parse_qsl(parts.query, keep_blank_values=True, errors="surrogateescape")
        query = f"?{urlencode(sorted(pairs), errors='surrogatepass')}" if pairs else ""
        who = f"{parts.netloc.rpartition('@')[0]}@" if "@" in parts.netloc else ""
        return f"{scheme}{who}{host}{own_port}/{_path(parts.path)}{query}{last}"

    return _normalised("a URL", normal)


# --- e-mail

_EMAIL = re.compile(r"(?:e-?mail:\s*|mailto:)?([^@\s<>]+)@([^@\s<>]+)", re.IGNORECASE)


@MetricSpec.row(
    "email",
    Example("Jo@Example.com", "mailto:jo@example.com", 1.0),
    Example("Jo Doe <jo@a.com>", "jo@a.com", 1.0),
    Example("jo@a.com", "jo@b.com", 0.0),
)
def _email(_params: Params, _semantics: SemanticsName) -> BoundMetric:
    """E-mail addresses; case, a name before them (Jo <jo@x.org>) and the host's spelling do not count."""

    def normal(text: str) -> str | None:
        if text.endswith(">"):
            text = text[text.rfind("<") + 1 : -1]  # Jo Doe <jo@example.com>
        match = _EMAIL.fullmatch(text.partition("?")[0])
        host = None if match is None else _host(match[2])
        return None if match is None or host is None else f"{match[1].casefold()}@{host}"

    return _normalised("an e-mail address", normal)
