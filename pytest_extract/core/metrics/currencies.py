"""Currencies: ISO 4217 codes, signs and names."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

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
