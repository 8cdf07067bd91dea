"""Metrics of telephone numbers, URLs and e-mail addresses: equal after normalising."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Hashable, Mapping
from types import MappingProxyType
from typing import Final
from urllib.parse import SplitResult, parse_qsl, quote, unquote, urlsplit

from pytest_extract.core.metrics import params as check
from pytest_extract.core.metrics import plain
from pytest_extract.core.metrics.base import BoundMetric, Example, MetricSpec, Param, SemanticsName
from pytest_extract.core.metrics.equal import equality
from pytest_extract.core.values import Json

Normal = Callable[[str], Hashable | None]
_LONGEST: Final = 5000


def _normalised(name: str, kind: str, normal: Normal, params: Mapping[str, Json]) -> BoundMetric:
    """Make an equality over the normal form; a text without one is compared as text."""

    def form(value: Json) -> Hashable | None:
        text = str(value) if isinstance(value, int) and not isinstance(value, bool) and abs(value) < 10**20 else value
        return normal(text.strip()) if isinstance(text, str) and len(text) <= _LONGEST else None

    def key(value: Json) -> Hashable:
        found = form(value)
        return ("text", plain.text_key(value)) if found is None else found

    def explain(gold: Json, extracted: Json) -> str:
        one, other = form(gold), form(extracted)
        if one is None or other is None:
            return f"not {kind}: {plain.short(gold if one is None else extracted)}"
        return f"{_shown(one)} expected, got {_shown(other)}"

    return equality(name, key, explain, params)


def _shown(form: Hashable) -> str:
    return "".join(map(str, form)) if isinstance(form, tuple) else str(form)


# --- telephone

_COUNTRIES: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        "US": ("1", "1"), "CA": ("1", "1"), "GB": ("44", "0"), "IE": ("353", "0"), "DE": ("49", "0"), "AT": ("43", "0"),
        "CH": ("41", "0"), "FR": ("33", "0"), "BE": ("32", "0"), "NL": ("31", "0"), "LU": ("352", ""), "IT": ("39", ""),
        "ES": ("34", ""), "PT": ("351", ""), "DK": ("45", ""), "NO": ("47", ""), "SE": ("46", "0"), "FI": ("358", "0"),
        "IS": ("354", ""), "PL": ("48", ""), "CZ": ("420", ""), "SK": ("421", "0"), "HU": ("36", "06"),
        "RO": ("40", "0"), "BG": ("359", "0"), "GR": ("30", ""), "HR": ("385", "0"), "SI": ("386", "0"),
        "RS": ("381", "0"), "UA": ("380", "0"), "RU": ("7", "8"), "TR": ("90", "0"), "IL": ("972", "0"),
        "IN": ("91", "0"), "CN": ("86", "0"), "JP": ("81", "0"), "KR": ("82", "0"), "AU": ("61", "0"),
        "NZ": ("64", "0"), "SG": ("65", ""), "HK": ("852", ""), "TW": ("886", "0"), "TH": ("66", "0"),
        "MY": ("60", "0"), "ID": ("62", "0"),
        "PH": ("63", "0"), "VN": ("84", "0"), "BR": ("55", "0"), "MX": ("52", ""), "AR": ("54", "0"), "CL": ("56", ""),
        "CO": ("57", ""), "ZA": ("27", "0"), "NG": ("234", "0"), "KE": ("254", "0"), "EG": ("20", "0"),
        "AE": ("971", "0"), "SA": ("966", "0"),
    }
)  # fmt: skip
"""Country -> (calling code, trunk prefix that is left out after the calling code)."""

_EXTENSION = re.compile(r"\s*(?:ext\.?|extension|x|durchwahl|#)\s*(\d{1,8})$", re.IGNORECASE)
_PHONE = re.compile(r"\+?[\d\s().\-/\u00a0\u2010-\u2013]+")


def _phone_normal(country: str | None) -> Normal:
    code, trunk = _COUNTRIES[country] if country else ("", "")

    def normal(text: str) -> Hashable | None:
        text = re.sub(r"^tel(?:efon|ephone)?[.:]*\s*", "", text, flags=re.IGNORECASE)
        found = _EXTENSION.search(text)
        extension = f" ext. {found[1]}" if found else ""
        main = text[: found.start()] if found else text
        if not _PHONE.fullmatch(main):
            return None
        number = main.replace("(0)", "") if main.lstrip().startswith(("+", "00")) else main
        digits = "".join(c for c in number if c.isdecimal())
        if not 3 <= len(digits) <= 17:
            return None
        return _international(digits, code, trunk, signed=main.lstrip().startswith("+")) + extension

    return normal


def _international(digits: str, code: str, trunk: str, *, signed: bool) -> str:
    if signed:
        return f"+{digits}"
    if digits.startswith("00"):
        return f"+{digits[2:]}"
    if not code:
        return digits
    return f"+{code}{digits[len(trunk) :] if trunk and digits.startswith(trunk) else digits}"


def _make_phone(params: Mapping[str, Json], semantics: SemanticsName) -> BoundMetric:
    del semantics
    return _normalised("phone", "a telephone number", _phone_normal(params["country"]), params)


# --- URL

_PORTS: Mapping[str, int] = MappingProxyType({"http": 80, "https": 443, "ftp": 21, "ws": 80, "wss": 443})
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]*:")
_HOST = re.compile(r"[\w.\-]+\.[\w\-]{2,}\.?|localhost|\[[0-9A-Fa-f:.]+\]")


def _host(parts: SplitResult) -> str | None:
    name = (parts.hostname or "").rstrip(".")
    try:
        return name.encode("idna").decode("ascii") if not name.isascii() else name
    except UnicodeError:
        return None


def _path(path: str) -> str:
    """Normalise escapes and dot segments; a slash at the end does not count."""
    return posixpath.normpath("/".join(map(_segment, path.split("/")))).strip("/") if path.strip("/") else ""


def _segment(text: str) -> str:
    try:
        return quote(unquote(text, errors="surrogateescape"), safe=":@!$&'()*+,;=~-._", errors="surrogateescape")
    except UnicodeError:  # half a surrogate pair
        return text


def _url_normal(params: Mapping[str, Json]) -> Normal:
    any_scheme, any_www = bool(params["ignore_scheme"]), bool(params["ignore_www"])
    query, fragment = str(params["query"]), not params["ignore_fragment"]

    def normal(text: str) -> Hashable | None:
        try:
            parts = urlsplit(text if _SCHEME.match(text) and "//" in text else f"//{text}")
            host, port = _host(parts), parts.port
        except ValueError:
            return None
        if not host or not _HOST.fullmatch(host) or any(c.isspace() for c in text):
            return None
        scheme = "" if any_scheme else f"{parts.scheme.lower()}://"
        own_port = f":{port}" if port and port != _PORTS.get(parts.scheme.lower() or "http") else ""
        name = host.removeprefix("www.") if any_www else host
        asked = _query(parts.query, query)
        last = f"#{parts.fragment}" if fragment and parts.fragment else ""
        return (scheme, name, own_port, "/", _path(parts.path), asked, last)

    return normal


def _query(text: str, mode: str) -> str:
    if not text or mode == "ignore":
        return ""
    pairs = parse_qsl(text, keep_blank_values=True, errors="surrogateescape")
    return "?" + "&".join(f"{name}={value}" for name, value in (sorted(pairs) if mode == "any_order" else pairs))


def _make_url(params: Mapping[str, Json], semantics: SemanticsName) -> BoundMetric:
    del semantics
    return _normalised("url", "a URL", _url_normal(params), params)


# --- e-mail

_EMAIL = re.compile(r"(?:mailto:)?([^@\s<>]+)@([^@\s<>]+\.[^@\s<>.]+)", re.IGNORECASE)


def _email_normal(text: str) -> Hashable | None:
    match = _EMAIL.fullmatch(text)
    return None if match is None else (match[1].casefold(), "@", match[2].casefold())


def _make_email(params: Mapping[str, Json], semantics: SemanticsName) -> BoundMetric:
    del semantics
    return _normalised("email", "an e-mail address", _email_normal, params)


SPECS = (
    MetricSpec(
        name="phone",
        make=_make_phone,
        doc="Telephone numbers, whatever separates their digits: +, 00 and a declared `country` (for numbers without "
        "either) give one international form; extensions count.",
        params=(
            Param(
                name="country",
                check=check.choice(tuple(_COUNTRIES)),
                doc="ISO code of the country of numbers that name none, such as DE",
            ),
        ),
        examples=(
            Example("+49 (0)30 1234-56", "0049 30 123456", 1.0),
            Example("030 123456", "+49 30 123456", 1.0, {"country": "DE"}),
            Example("030 123456", "+49 30 123456", 0.0),
            Example("(212) 555-0100 ext. 7", "+1 212 555 0100 x7", 1.0, {"country": "US"}),
        ),
    ),
    MetricSpec(
        name="url",
        make=_make_url,
        doc="URLs that mean the same: case of the host, default port, escapes, dot segments and a slash at the end do "
        "not count; the scheme and the fragment do only if asked for.",
        params=(
            Param(name="ignore_scheme", check=check.boolean, default=True, doc="whether http is https and none"),
            Param(name="ignore_www", check=check.boolean, default=False, doc="whether www.x.org is x.org"),
            Param(name="ignore_fragment", check=check.boolean, default=True, doc="whether #part is left out"),
            Param(
                name="query",
                check=check.choice(("ordered", "any_order", "ignore")),
                default="any_order",
                doc="how ?a=1&b=2 counts: ordered, any_order or ignore",
            ),
        ),
        examples=(
            Example("https://Example.com:443/a/./b/", "example.com/a/b", 1.0),
            Example("https://x.org/?a=1&b=2", "https://x.org?b=2&a=1", 1.0),
            Example("https://x.org/a", "http://x.org/a", 0.0, {"ignore_scheme": False}),
            Example("https://www.x.org", "https://x.org", 1.0, {"ignore_www": True}),
        ),
    ),
    MetricSpec(
        name="email",
        make=_make_email,
        doc="E-mail addresses without case.",
        examples=(Example("Jo@Example.com", "mailto:jo@example.com", 1.0), Example("jo@a.com", "jo@b.com", 0.0)),
    ),
)
