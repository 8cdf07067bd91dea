"""Mistakes in numbers, in values of another type, and placeholders where there is no value."""

from __future__ import annotations

import math
import re
from fractions import Fraction
from typing import Final, NamedTuple

from pytest_extract.core.metrics.amounts import LOCALES, NumberStyle, currency_of, exactly, read_written, scale_of
from pytest_extract.core.metrics.equality import fold, is_number
from pytest_extract.core.mistakes.dates import reads_as_date
from pytest_extract.core.mistakes.output import values_kind
from pytest_extract.core.values import MISSING, Json, Missing, json_type

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
    if is_number(value):
        if not _is_short(value):
            return None
        number = exactly(float(f"{value:.12g}") if isinstance(value, float) and math.isfinite(value) else value)
        return None if number is None else Amount(number)
    if not isinstance(value, str) or len(value) > LONGEST or not any(map(str.isdecimal, value)):
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


def is_power_of_ten(gold: Json, extracted: Json) -> bool:
    """Whether one number is 10, 100, 1,000, ... times the other."""
    pair = _amounts(gold, extracted)
    ratio = Fraction(1) if pair is None else pair[1].value / pair[0].value
    factor = max(ratio.numerator, ratio.denominator)
    return min(ratio.numerator, ratio.denominator) == 1 and re.fullmatch("10{1,12}", str(factor)) is not None


@values_kind("00123", 123, "a text of digits became a number, and leading zeros were lost")
def wrong_type(gold: Json, extracted: Json) -> str:
    """Right value of another type: a number or a boolean as text, a list of one, a joined list."""
    if any(each is MISSING or each is None for each in (gold, extracted)):
        return ""
    if isinstance(gold, dict | list) or isinstance(extracted, dict | list):
        if json_type(gold) == json_type(extracted):
            return ""
        is_list = isinstance(gold, list)
        many, one = (gold, extracted) if is_list else (extracted, gold)
        if isinstance(many, list) and len(many) == 1 and many[0] == one:
            return "a single value instead of a list" if is_list else "a list of one instead of a single value"
        are_texts = isinstance(many, list) and isinstance(one, str) and all(isinstance(item, str) for item in many)
        if are_texts and many and all(item in one for item in many):
            return "the list was joined into one text" if is_list else "one text was split into a list"
        return f"{json_type(extracted)} instead of {json_type(gold)}"
    if isinstance(gold, bool) is not isinstance(extracted, bool):
        truth, written = (gold, extracted) if isinstance(gold, bool) else (extracted, gold)
        says = "was written as" if truth is gold else "stands for"
        return f"a boolean {says} {json_type(written)} “{written}”" if _is_short(written) else ""
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
        small, large = sorted((pair[0].value, pair[1].value), key=abs)
        if large == small * 1000 and small.denominator > 1 and large.denominator == 1 and abs(small) >= 1:
            thousands = large == pair[0].value
            return f"a separator of {'thousands' if thousands else 'decimals'} was taken for the other one"
        return ""
    sides = [side for side in (gold, extracted) if isinstance(side, str | int | float)]
    if len(sides) < 2 or any(not _is_short(side) or reads_as_date(side) for side in sides):
        return ""
    if not any(isinstance(side, str) and re.search(r"[^\w\s]\d|\d\s\d", side) for side in (gold, extracted)):
        return ""  # without a separator, every language reads the same number
    digits = {re.sub(r"\D", "", str(side)).rstrip("0") for side in (gold, extracted)}
    readings = [
        {(each.value, each.around) for style in _STYLES if (each := read_amount(side, style))}
        for side in (gold, extracted)
    ]
    return "the same number, written otherwise" if len(digits) == 1 and readings[0] & readings[1] else ""


@values_kind(0.12, "12 %", "100 times the gold: a percentage where the gold has a fraction")
def percent_or_fraction(gold: Json, extracted: Json) -> str:
    """Percentage in place of a fraction, or the reverse."""
    pair = _amounts(gold, extracted)
    if pair is None:
        return ""
    small, large = sorted((each.value for each in pair), key=abs)
    written = any(each.is_percent for each in pair)
    if large != small * 100 or (not written and not abs(small) <= 1 < abs(large) <= 100):
        return ""
    if abs(pair[0].value) < abs(pair[1].value):
        return "100 times the gold: a percentage where the gold has a fraction"
    return "a hundredth of the gold: a fraction where the gold has a percentage"


@values_kind(-1250, 1250, "the minus was lost")
def sign(gold: Json, extracted: Json) -> str:
    """Minus lost or added."""
    pair = _amounts(gold, extracted)
    if pair is None or pair[0].value != -pair[1].value:
        return ""
    return "the minus was lost" if pair[0].value < 0 else "a minus was added"


@values_kind(1234, 123400, "100 times the gold")
def power_of_ten(gold: Json, extracted: Json) -> str:
    """Only a factor of 10, 100, 1,000 ... differs; a scale word was lost."""
    pair = _amounts(gold, extracted)
    if pair is None or not is_power_of_ten(gold, extracted):
        return ""
    ratio = pair[1].value / pair[0].value
    scaled = ": a word such as million was lost or added" if pair[0].scale != pair[1].scale else ""
    return (f"{ratio.numerator:,} times the gold" if ratio > 1 else f"1/{ratio.denominator:,} of the gold") + scaled


@values_kind(1234.56, 1235, "rounded")
def rounded(gold: Json, extracted: Json) -> str:
    """Only digits at the end were rounded or cut, or added."""
    if not is_number(gold) or not is_number(extracted):
        return ""
    pair = _amounts(gold, extracted)
    if pair is None or max(abs(each.value) for each in pair) > 10**15:
        return ""
    for fine, coarse, says in ((*pair, "rounded"), (pair[1], pair[0], "more digits than the gold")):
        apart = abs(fine.value - coarse.value)
        if apart * 20 > abs(fine.value):
            continue
        steps = (Fraction(10) ** power for power in range(6, -9, -1))
        step = next((each for each in steps if (coarse.value / each).denominator == 1), None)
        digits = 0 if step is None else len(str(abs(coarse.value / step)))
        if (
            step is None
            or apart > step
            or (digits < 2 and coarse.value.denominator == 1 and apart * 100 > abs(fine.value))
        ):
            continue
        if apart * 2 <= step or (abs(fine.value) > abs(coarse.value) and step < 1):
            return says if apart * 2 <= step or says != "rounded" else "cut after some decimals"
    return ""


def _digits(gold: Json, extracted: Json) -> tuple[str, str] | None:
    """Return the digits of two values that are the same but for their digits."""
    sides = []
    for value in (gold, extracted):
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            return None
        if not _is_short(value):
            return None
        text = f"{value:.12g}" if isinstance(value, float) else str(value)
        digits = re.sub(r"\D", "", text)
        if not 2 <= len(digits) <= 40 or (isinstance(value, float) and "e" in text) or reads_as_date(value):
            return None
        sides.append((digits, re.sub(r"[\d.,\s]+", "0", text) if isinstance(value, str) else "0"))
    return (sides[0][0], sides[1][0]) if sides[0] != sides[1] and sides[0][1] == sides[1][1] else None


@values_kind(1109, 1190, "the digits 0 and 9 were swapped")
def wrong_digits(gold: Json, extracted: Json) -> str:
    """Two digits swapped, one or two lost or added, or one misread."""
    pair = _digits(gold, extracted)
    if pair is None:
        return ""
    one, other = pair
    if one.lstrip("0") == other.lstrip("0"):
        return f"leading zeros were {'lost' if len(other) < len(one) else 'added'}"
    differing = [at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b]
    if len(one) == len(other) and len(differing) == 2:
        first, second = differing
        near = second == first + 1 or len(one) > 4  # farther apart, it is chance
        if near and (one[first], one[second]) == (other[second], other[first]):
            return f"the digits {one[first]} and {one[second]} were swapped"
    if max(len(each if isinstance(gold, str) else each.strip("0")) for each in pair) < 3:
        return ""  # round numbers differ in one digit by chance
    if len(one) == len(other) and len(differing) == 1:
        return f"one digit differs: {other[differing[0]]} for {one[differing[0]]}"
    long, short = sorted(pair, key=len, reverse=True)
    count = len(long) - len(short)
    if count in {1, 2}:
        for at in range(len(short) + 1):
            if long[:at] + long[at + count :] == short:
                what = "a digit was" if count == 1 else "two digits were"
                return f"{what} {'lost' if long is one else 'added'}: {' '.join(long[at : at + count])}"
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


def _is_hollow(value: Json, depth: int = 0) -> bool:
    """Whether a list or an object holds nothing but placeholders."""
    if isinstance(value, dict | list) and depth < 20:
        return all(_is_hollow(item, depth + 1) for item in (value.values() if isinstance(value, dict) else value))
    return value is None or _is_placeholder(value)


@values_kind(None, "N/A", "“N/A” stands for no value")
def placeholder(gold: Json, extracted: Json) -> str:
    """Text such as "N/A" in place of no value, or of the value."""
    no_gold = gold is None or gold is MISSING or gold == ""
    if _is_placeholder(extracted) and (no_gold or not _is_placeholder(gold)):
        shown = f"“{extracted}”" if extracted.strip() else "an empty text"
        return f"{shown} stands for {'no value' if no_gold else 'the value'}"
    if gold and _is_placeholder(gold) and (extracted in (None, MISSING) or _is_placeholder(extracted)):
        return f"the gold has “{gold}” for no value"
    if gold is None and isinstance(extracted, dict | list) and _is_hollow(extracted):
        return f"{'only empty values stand' if extracted else f'an empty {json_type(extracted)} stands'} for no value"
    if gold is None and isinstance(extracted, int | float) and not extracted:
        return f"{'false' if extracted is False else '0'} stands for no value"
    return ""
