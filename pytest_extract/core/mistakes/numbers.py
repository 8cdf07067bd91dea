"""Mistakes in numbers, in values of another type, and placeholders where there is no value."""

from __future__ import annotations

import math
import re
from fractions import Fraction
from typing import Final, NamedTuple

from rapidfuzz.distance import Levenshtein

from pytest_extract.core.metrics.amounts import LOCALES, NumberStyle, currency_of, exactly, read_written, scale_of
from pytest_extract.core.metrics.equality import fold, is_number
from pytest_extract.core.mistakes.dates import reads_as_date
from pytest_extract.core.mistakes.output import read_values_kind, values_kind
from pytest_extract.core.values import MISSING, Json, Missing, json_type, with_article

_ENGLISH: Final = LOCALES["en"]
_STYLES: Final = tuple(dict.fromkeys(LOCALES.values()))
"""The styles of all locales, the English one first."""
LONGEST: Final = 80
"""Longer texts are no number."""
_CODE: Final = re.compile(r"\W*[^\W\d_]{1,3}-?\d")
"""Letters before the digits: the start of a code such as J45.9, if they are no currency."""


class Amount(NamedTuple):
    """A number, alone or in a text: its value with the scale of a word, what stands around it, and that scale."""

    value: Fraction
    around: str = ""
    scale: int = 1

    @property
    def is_percent(self) -> bool:
        """Whether the number is followed by a sign or word for percent."""
        return self.around.lower() in {"%", "percent", "per cent", "prozent"}


def read_amount(value: Json, style: NumberStyle = _ENGLISH) -> Amount | None:
    """Read a JSON number, or a text that is one number with a unit, a currency or a scale; None for others."""
    if isinstance(value, bool) or not isinstance(value, str | int | float) or not _is_short(value):
        return None
    if not isinstance(value, str):
        number = exactly(float(f"{value:.12g}") if isinstance(value, float) and math.isfinite(value) else value)
        return None if number is None else Amount(number)
    if not any(map(str.isdecimal, value)):
        return None
    written = read_written(value.strip(), (style,))
    if written is None or (_CODE.match(value) and currency_of(written.before, "") is None):
        return None
    words = f"{written.before} {written.after}".split()
    scale = 1
    for word in [word for word in words if len(word) > 1 or not word.isascii()]:
        factor = scale_of(word, (style,)) or 1
        if factor > 1 and scale == 1:
            scale = factor
            words.remove(word)
    around = " ".join(words)
    if sum(map(str.isalpha, around)) > 20 or any(map(str.isdecimal, around)):
        return None
    return Amount(written.value * scale, around, scale)


def _is_short(value: str | float) -> bool:
    if isinstance(value, str):
        return len(value) <= LONGEST
    return not isinstance(value, int) or value.bit_length() < 200


def _amounts(gold: Json, extracted: Json) -> tuple[Amount, Amount] | None:
    """Read two numbers with the same unit, or one of them without; None if they are no such numbers, or one is zero."""
    for style in (_ENGLISH,) if is_number(gold) and is_number(extracted) else _STYLES:
        one, other = read_amount(gold, style), read_amount(extracted, style)
        if one is not None and other is not None:
            units = {one.around, other.around} - {""}
            return (one, other) if one.value and other.value and len(units) < 2 else None
    return None


_POWERS: Final = frozenset(Fraction(10) ** power for power in range(-12, 13) if power)


def is_power_of_ten(gold: Json, extracted: Json) -> bool:
    """Whether one number is 10, 100, 1,000, ... times the other."""
    pair = _amounts(gold, extracted)
    return pair is not None and pair[1].value / pair[0].value in _POWERS


@values_kind("00123", 123, "a text of digits became a number, and leading zeros were lost")
def wrong_type(gold: Json, extracted: Json) -> str:
    """Right value of another type: a number or a boolean as text, a list of one, a joined list."""
    if any(each is MISSING or each is None for each in (gold, extracted)):
        return ""
    types = {json_type(extracted): extracted, json_type(gold): gold}
    if len(types) > 1 and not types.keys().isdisjoint({"array", "object", "boolean"}):
        return "{} instead of {}".format(*map(with_article, types))
    if is_number(gold) is is_number(extracted):
        return ""
    number, text = (gold, extracted) if is_number(gold) else (extracted, gold)
    one, other = read_amount(number), read_amount(text)
    if one is None or other is None or one.value != other.value or other.around:
        return ""
    if text is extracted:
        return "a number was written as a text"
    return f"a text of digits became a number{', and leading zeros were lost' if re.match(r'-?0[0-9]', text) else ''}"


@values_kind(1234.5, "1.234,50", "the same number, written otherwise")
def decimal_separator(gold: Json, extracted: Json) -> str:
    """Separators of thousands and decimals confused, or the same number written otherwise."""
    if is_number(gold) and is_number(extracted):
        pair = _amounts(gold, extracted)
        if pair is None:
            return ""
        small, large = sorted((each.value for each in pair), key=abs)
        if large != small * 1000 or small.denominator == 1 or large.denominator > 1 or abs(small) < 1:
            return ""
        return f"a separator of {'thousands' if large == pair[0].value else 'decimals'} was taken for the other one"
    sides = [side for side in (gold, extracted) if isinstance(side, str | int | float)]
    texts = [side for side in sides if isinstance(side, str) and re.search(r"[^\w\s]\d|\d\s\d", side)]
    if len(sides) < 2 or not texts or any(not _is_short(side) or reads_as_date(side) for side in sides):
        return ""  # without a separator, every language reads the same number
    digits = {re.sub(r"\D", "", str(side)).rstrip("0") for side in sides}
    one, other = (
        {(each.value, each.around) for style in _STYLES if (each := read_amount(side, style))} for side in sides
    )
    return "the same number, written otherwise" if len(digits) == 1 and one & other else ""


@read_values_kind(_amounts, 0.12, "12 %", "100 times the gold: a percentage where the gold has a fraction")
def percent_or_fraction(gold: Amount, extracted: Amount) -> str:
    """Percentage in place of a fraction, or the reverse."""
    small, large = sorted((gold.value, extracted.value), key=abs)
    written = gold.is_percent or extracted.is_percent
    if large != small * 100 or (not written and not abs(small) <= 1 < abs(large) <= 100):
        return ""
    if large == extracted.value:
        return "100 times the gold: a percentage where the gold has a fraction"
    return "a hundredth of the gold: a fraction where the gold has a percentage"


@read_values_kind(_amounts, -1250, 1250, "the minus was lost")
def sign(gold: Amount, extracted: Amount) -> str:
    """Minus lost or added."""
    if gold.value != -extracted.value:
        return ""
    return "the minus was lost" if gold.value < 0 else "a minus was added"


@read_values_kind(_amounts, 1234, 123400, "100 times the gold")
def power_of_ten(gold: Amount, extracted: Amount) -> str:
    """Only a factor of 10, 100, 1,000 ... differs; a scale word was lost."""
    ratio = extracted.value / gold.value
    if ratio not in _POWERS:
        return ""
    scaled = ": a word such as million was lost or added" if gold.scale != extracted.scale else ""
    return (f"{ratio.numerator:,} times the gold" if ratio > 1 else f"1/{ratio.denominator:,} of the gold") + scaled


@values_kind(1234.56, 1235, "rounded")
def rounded(gold: Json, extracted: Json) -> str:
    """Only digits at the end were rounded or cut, or added."""
    pair = _amounts(gold, extracted) if is_number(gold) and is_number(extracted) else None
    if pair is None or max(abs(each.value) for each in pair) > 10**15:
        return ""
    one, other = (each.value for each in pair)
    return _coarsened(one, other) or ("more digits than the gold" if _coarsened(other, one) else "")


def _coarsened(fine: Fraction, coarse: Fraction) -> str:
    """Say how digits at the end of a number were lost, and no more than a twentieth of it; "" if they were not."""
    apart = abs(fine - coarse)
    steps = (Fraction(10) ** power for power in range(6, -9, -1))
    step = next((each for each in steps if (coarse / each).denominator == 1), Fraction(0))
    is_digit = coarse.denominator == 1 and abs(coarse) < 10 * step  # alike by chance
    if not 0 < apart <= min(step, abs(fine) / (100 if is_digit else 20)):
        return ""
    if apart * 2 <= step:
        return "rounded"
    return "cut after some decimals" if abs(fine) > abs(coarse) and step < 1 else ""


def _digits(value: Json) -> tuple[str, str]:
    """Return the digits of a value that is no date, and the rest of it; ("", "") for too few digits, or too many."""
    if isinstance(value, bool) or not isinstance(value, str | int | float) or not _is_short(value):
        return "", ""
    text = f"{value:.12g}" if isinstance(value, float) else str(value)
    digits = re.sub(r"\D", "", text)
    if not 2 <= len(digits) <= 40 or (isinstance(value, float) and "e" in text) or reads_as_date(value):
        return "", ""
    return digits, re.sub(r"[\d.,\s]+", "0", text) if isinstance(value, str) else "0"


@values_kind(1109, 1190, "the digits 0 and 9 were swapped")
def wrong_digits(gold: Json, extracted: Json) -> str:
    """Two digits swapped, one or two lost or added, or one misread."""
    (one, around), (other, other_around) = _digits(gold), _digits(extracted)
    if one == other or around != other_around:
        return ""
    if one.lstrip("0") == other.lstrip("0"):
        return f"leading zeros were {'lost' if len(other) < len(one) else 'added'}"
    differing = [at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b]
    if len(one) == len(other) and len(differing) == 2:
        first, second = differing
        near = second == first + 1 or len(one) > 4  # farther apart, it is chance
        if near and (one[first], one[second]) == (other[second], other[first]):
            return f"the digits {one[first]} and {one[second]} were swapped"
    if max(len(each if isinstance(gold, str) else each.strip("0")) for each in (one, other)) < 3:
        return ""  # round numbers differ in one digit by chance
    if len(one) == len(other) and len(differing) == 1:
        return f"one digit differs: {other[differing[0]]} for {one[differing[0]]}"
    count = len(other) - len(one)
    if 1 <= abs(count) <= 2 and Levenshtein.distance(one, other) == abs(count):
        return f"{'a digit was' if abs(count) == 1 else 'two digits were'} {'lost' if count < 0 else 'added'}"
    return ""


_WORDS_FOR_NOTHING: Final = (
    "- -- --- \u2013 \u2014 . ... \u2026 ? ?? n/a n.a. na n/a. n.a none null nil nan undefined unknown tbd tba empty "
    "blank missing notfound notavailable notapplicable notspecified notstated notprovided notgiven notmentioned "
    "nodata novalue unbekannt keineangabe k.a. entfällt s/o keine ohneangabe o.a. n.v. n.v.t. néant sansobjet n.d. n/d "
    "nc noaplica ninguno nessuno n/v нет нетданных неуказано 該当なし なし 無 不明 記載なし 未定 无 未知 不适用 없음 "
    "0000-00-00 1970-01-01 1900-01-01 9999-12-31 00/00/0000 string loremipsum"
)
_NOTHING: Final = frozenset(_WORDS_FOR_NOTHING.split())
"""Texts, in lower case and without spaces, that stand for no value."""
_NOT_GIVEN: Final = re.compile(
    r"(?:not|none|no|nicht|keine?|non|pas|aucune?|sin|no se) "
    r"(?:mentioned|specified|provided|available|applicable|found|stated|given|listed|disclosed|reported|shown|present|"
    r"indicated|known|explicitly (?:stated|mentioned)|angegeben|vorhanden|verfügbar|bekannt|erwähnt|genannt|angaben?|"
    r"spécifiée?|précisée?|indiquée?|mentionnée?|disponible|renseignée?|especificado|indicado|indicata|disponibile)"
    r"(?: (?:in|on|by|for|im|dans|en|nel) .{1,40})?"
)


def _is_placeholder(value: Json | Missing) -> bool:
    if not isinstance(value, str) or len(value) > LONGEST:
        return False
    text = fold(value).strip("[]<>()").lower()
    return not text or re.sub(r"[\s_]", "", text) in _NOTHING or bool(_NOT_GIVEN.fullmatch(text.strip(".")))


@values_kind(None, "N/A", "“N/A” stands for no value")
def placeholder(gold: Json, extracted: Json) -> str:
    """Text such as "N/A" in place of no value, or of the value."""
    no_gold = gold is None or gold is MISSING or gold == ""
    if _is_placeholder(extracted) and (no_gold or not _is_placeholder(gold)):
        shown = f"“{extracted}”" if extracted.strip() else "an empty text"
        return f"{shown} stands for {'no value' if no_gold else 'the value'}"
    if gold and _is_placeholder(gold) and (extracted in (None, MISSING) or _is_placeholder(extracted)):
        return f"the gold has “{gold}” for no value"
    return ""
