"""Mistakes in numbers, dates, booleans and types, and placeholders where there is no value."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator
from datetime import date, timedelta
from fractions import Fraction
from functools import lru_cache
from random import Random
from typing import Final, NamedTuple

from pytest_extract.core.metrics.calendar import MONTHS, PartialDate, full_year, read_iso, read_ordered
from pytest_extract.core.metrics.currencies import currency_of
from pytest_extract.core.metrics.equality import fold, is_number
from pytest_extract.core.metrics.locales import LOCALES, NumberStyle, exactly, read_written, scale_of
from pytest_extract.core.metrics.units import Unit, read_unit
from pytest_extract.core.mistakes.base import MistakeExample, MistakeKind
from pytest_extract.core.values import MISSING, Json, Missing, json_type

_ENGLISH: Final = (LOCALES["en"],)
_STYLES: Final = tuple(dict.fromkeys(LOCALES.values()))
"""The styles of all locales, the English one first."""
_COARSEST: Final = 10**6
_FINEST: Final = 10**8
"""Numbers are rounded to a multiple of up to a million, and to up to eight decimals."""
LONGEST: Final = 80
"""Longer texts are neither a number nor a date."""


_CODE: Final = re.compile(r"\W*[^\W\d_]{1,3}\d")
"""Letters before the digits: the start of a code such as J45.9, if they are no currency."""
_THOUSANDS: Final = re.compile(r"\b[TtKk](EUR|CHF|USD|GBP|€|\$|£)")
"""Thousands of a currency, as balance sheets have them: TEUR, k€."""


class Amount(NamedTuple):
    """A number, alone or in a text: its value with the scale of a word, what stands around it, and that scale."""

    value: Fraction
    around: str
    scale: int = 1
    percent: bool = False


def read_amount(value: Json, styles: tuple[NumberStyle, ...] = _ENGLISH) -> Amount | None:
    """Read a JSON number, or a text that is one number with a unit, a currency or a scale; None for others."""
    if isinstance(value, int) and not isinstance(value, bool) and not _is_short(value):
        return None
    if is_number(value):
        return _plain_amount(value)
    return _read_written_amount(value, styles) if isinstance(value, str) and len(value) <= LONGEST else None


@lru_cache(maxsize=4096, typed=True)  # several kinds read the same two values
def _plain_amount(value: Json) -> Amount | None:
    number = exactly(float(f"{value:.12g}") if isinstance(value, float) and math.isfinite(value) else value)
    return None if number is None else Amount(number, "")


@lru_cache(maxsize=4096)
def _read_written_amount(value: str, styles: tuple[NumberStyle, ...]) -> Amount | None:
    if not any(map(str.isdecimal, value)):
        return None
    written = read_written(value.strip(), styles)
    if written is None or (_CODE.match(value) and currency_of(written.before, "") is None):
        return None
    words = _THOUSANDS.sub(r"tsd \1", f"{written.before} {written.after}").split()
    scale = 1
    of_money = any(currency_of(word, "") is not None for word in words)  # where k is a thousand, and M a million
    for word in words:
        is_word = len(word) > 1 or not word.isascii() or (of_money and word != "t")
        factor = scale_of(word, styles) if scale == 1 and is_word else None
        if factor is not None and factor > 1:
            scale = factor
            words = [each for each in words if each is not word]
    around = " ".join(words)
    if sum(map(str.isalpha, around)) > 20 or any(map(str.isdecimal, around)):
        return None
    percent = around.lower() in {"%", "percent", "per cent", "prozent"}
    return Amount(written.value * scale, around, scale, percent)


def _amounts(gold: Json, extracted: Json, styles: tuple[NumberStyle, ...] = _STYLES) -> tuple[Amount, Amount] | None:
    """Read two numbers, alone or with a known unit or currency, in the first style that reads both."""
    for side in (gold, extracted):
        if not (
            is_number(side) if not isinstance(side, str) else len(side) <= LONGEST and any(map(str.isdecimal, side))
        ):
            return None
    return _read_amounts(gold, extracted, styles)


@lru_cache(maxsize=4096, typed=True)  # several kinds read the same pair
def _read_amounts(gold: Json, extracted: Json, styles: tuple[NumberStyle, ...]) -> tuple[Amount, Amount] | None:
    for style in styles:
        one, other = read_amount(gold, (style,)), read_amount(extracted, (style,))
        if one is not None and other is not None and _is_unit(one.around) and _is_unit(other.around):
            return one, other
    return None


# --- the same number in another form


def _number_as_text(gold: Json, extracted: Json) -> str:
    if is_number(gold) == is_number(extracted):
        return ""
    text = extracted if is_number(gold) else gold
    if isinstance(text, str) and text.isdecimal() and 15 < len(text) <= LONGEST and float(text) in (gold, extracted):
        return "a text of digits became a number that has lost some of them"
    pair = _amounts(gold, extracted, _ENGLISH)
    if not isinstance(text, str) or pair is None or pair[0].value != pair[1].value or any(each.around for each in pair):
        return ""
    if re.match(r"-?0\d", text):
        return ""  # `leading_zeros`
    return "a number was written as a text" if text is extracted else "a text of digits became a number"


_LEADING_ZEROS: Final = re.compile(r"(?<![\d.,])0+(?=\d)")


def _leading_zeros(gold: Json, extracted: Json) -> str:
    if isinstance(gold, bool) or isinstance(extracted, bool):
        return ""
    one, other = (str(side) if isinstance(side, str | int) and _is_short(side) else "" for side in (gold, extracted))
    if (
        len(one) == len(other)
        or not one.strip("0")
        or _LEADING_ZEROS.sub("", one) != _LEADING_ZEROS.sub("", other)
        or reads_as_date(one)
        or reads_as_date(other)
    ):
        return ""
    return "leading zeros were lost" if len(other) < len(one) else "leading zeros were added"


def _is_short(value: str | int) -> bool:
    return len(value) <= LONGEST if isinstance(value, str) else value.bit_length() < 200


def _separator(gold: Json, extracted: Json) -> str:
    if isinstance(gold, int | float) and isinstance(extracted, int | float):
        one, other = exactly(gold), exactly(extracted)
        if one is None or other is None or not _is_short(int(one)) or not _is_short(int(other)):
            return ""
        large, small = (one, other) if abs(one) > abs(other) else (other, one)
        if small and large == small * 1000 and small.denominator > 1 and large.denominator == 1 and abs(small) >= 1:
            return (
                "a separator of thousands was taken for a decimal one"
                if large == one
                else "a decimal separator was taken for one of thousands"
            )
        return ""
    texts = [side for side in (gold, extracted) if isinstance(side, str)]
    if not texts or any(len(text) > LONGEST for text in texts):
        return ""
    pair = _amounts(gold, extracted)
    if len(texts) == 2 and pair is not None and (pair[0].value, pair[0].around) == (pair[1].value, pair[1].around):
        return "the same number, written otherwise" if fold(texts[0]) != fold(texts[1]) else ""
    if not any(re.search(r"[^\w\s]\d|\d\s\d", text) for text in texts):
        return ""  # without a separator, every language reads the same number
    readings = [
        {amount for style in _STYLES if (amount := _value_in(side, style)) is not None} for side in (gold, extracted)
    ]
    if not readings[0] & readings[1] or _value_in(gold, _ENGLISH[0]) == _value_in(extracted, _ENGLISH[0]):
        return ""
    return "the decimal separator of another language"


def _value_in(value: Json, style: NumberStyle) -> Fraction | None:
    amount = read_amount(value, (style,))
    return None if amount is None else amount.value


def _unit(gold: Json, extracted: Json) -> str:
    if isinstance(gold, str) and isinstance(extracted, str) and _measure_alike(gold, extracted):
        return f"“{extracted}” stands where gold has “{gold}”"
    pair = _amounts(gold, extracted)
    if pair is None or not (isinstance(gold, str) or isinstance(extracted, str)):
        return ""
    one, other = pair
    if one.around != other.around and _is_converted(one, other):
        return f"the same quantity in “{other.around}” instead of “{one.around}”"
    if (
        one.value != other.value
        or one.around == other.around
        or ((one.percent or other.percent) and one.around and other.around)
    ):
        return ""
    if not one.around:
        return f"the unit or currency “{other.around}” was kept in the value"
    if not other.around:
        return f"the unit or currency “{one.around}” was lost"
    return f"“{other.around}” stands where gold has “{one.around}”"


def _is_unit(text: str) -> bool:
    """Whether a text beside a number is nothing, or a known unit or currency."""
    return not text or currency_of(text, "") is not None or _unit_of(text) is not None


def _measure_alike(one: str, other: str) -> bool:
    """Whether two texts are different units of one kind without a number, or two currencies."""
    one, other = one.strip(), other.strip()
    if not one or not other or one == other or max(len(one), len(other)) > LONGEST:
        return False
    currencies = [currency_of(text, "") for text in (one, other) if len(text) > 2 or not text.isalpha()]  # no country
    if len(currencies) == 2 and None not in currencies:
        return True
    first, second = _unit_of(one), _unit_of(other)
    return first is not None and second is not None and first[1::2] == second[1::2] and first != _unit_of("")


def _is_converted(one: Amount, other: Amount) -> bool:
    """Whether two amounts are one quantity in two units, but for rounding."""
    if not one.around or not other.around:
        return False
    first, second = _unit_of(one.around), _unit_of(other.around)
    if first is None or second is None or first[1::2] != second[1::2] or first == second:
        return False
    apart = one.value * first.factor + first.zero - other.value * second.factor - second.zero
    return abs(apart) * 200 <= abs(one.value * first.factor)


def _unit_of(text: str) -> Unit | None:
    try:
        return read_unit(text)
    except ValueError:
        return None


def _percent(gold: Json, extracted: Json) -> str:
    pair = _amounts(gold, extracted)
    if pair is None or not pair[0].value:
        return ""
    one, other = pair
    if one.percent != other.percent and (
        one.value == other.value * 100 if one.percent else one.value * 100 == other.value
    ):
        return "a percentage was taken for a fraction" if one.percent else "a fraction was taken for a percentage"
    if (
        one.around == other.around
        and abs(min(one.value, other.value, key=abs)) <= 1 < abs(max(one.value, other.value, key=abs)) <= 100
    ):
        if other.value == one.value * 100:
            return "100 times the gold: a percentage where gold has a fraction"
        if one.value == other.value * 100:
            return "a hundredth of the gold: a fraction where gold has a percentage"
    return ""


# --- another number


def _sign(gold: Json, extracted: Json) -> str:
    pair = _amounts(gold, extracted)
    if pair is None or not pair[0].value or pair[0].value != -pair[1].value or pair[0].around != pair[1].around:
        return ""
    return "the minus was lost" if pair[0].value < 0 else "a minus was added"


def _power_of_ten(gold: Json, extracted: Json) -> str:
    pair = _amounts(gold, extracted)
    if pair is None or not pair[0].value or not pair[1].value:
        return ""
    if pair[0].around != pair[1].around and pair[0].around and pair[1].around:
        return ""
    ratio = pair[1].value / pair[0].value
    power = _power(ratio)
    if power is None or not 1 <= abs(power) <= 12:
        return ""
    what = f"{10**power:,} times the gold" if power > 0 else f"1/{10**-power:,} of the gold"
    if pair[0].scale != pair[1].scale:
        return f"{what}: a word such as million was lost or added"
    return what


def _power(ratio: Fraction) -> int | None:
    top, bottom = ratio.numerator, ratio.denominator
    if min(top, bottom) != 1 or top == bottom:
        return None
    text = str(max(top, bottom)) if max(top, bottom) < 10**15 else ""
    if not re.fullmatch(r"10+", text):
        return None
    return len(text) - 1 if top > 1 else 1 - len(text)


def _rounded(gold: Json, extracted: Json) -> str:
    if not is_number(gold) or not is_number(extracted):
        return ""
    one, other = exactly(gold), exactly(extracted)
    if one is None or other is None or one == other or not other or max(abs(one), abs(other)) > 10**15:
        return ""
    unit = 1
    while unit % one.denominator or unit % other.denominator:
        unit *= 10
    gold_units, extracted_units = int(one * unit), int(other * unit)  # fractions would take ten times as long
    for fine, coarse, says in (
        (gold_units, extracted_units, "rounded"),
        (extracted_units, gold_units, "more digits than gold"),
    ):
        apart = abs(fine - coarse)
        digits = re.sub(r"0+$", "", re.sub(r"\D", "", f"{coarse / unit:.12g}")).lstrip("0")
        if apart * 20 > abs(fine) or (
            len(digits) < 2 and coarse % unit == 0 and abs(coarse) > 10 * unit and apart * 100 > abs(fine)
        ):
            continue
        step = unit * _COARSEST
        while coarse % step and step > unit // _FINEST:
            step //= 10
        if coarse % step:
            continue
        if apart * 2 <= step:
            return says
        if abs(fine) // step * step == abs(coarse) and fine * coarse > 0 and one.denominator != other.denominator:
            return "cut after some decimals" if says == "rounded" else says
    return ""


def _digits_of(value: Json) -> tuple[str, str] | None:
    """Return the digits of a value, and the rest of it with its digits taken out."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return None
    if isinstance(value, int) and value.bit_length() > 200:
        return None
    text = str(value) if not isinstance(value, float) else f"{value:.12g}"
    if len(text) > LONGEST:
        return None
    digits = re.sub(r"\D", "", text)
    if not 2 <= len(digits) <= 40 or ("e" in text and not isinstance(value, str)):
        return None
    return digits, re.sub(r"\d+", "0", text) if isinstance(value, str) else "0"


def _digits(gold: Json, extracted: Json) -> tuple[str, str] | None:
    one, other = _digits_of(gold), _digits_of(extracted)
    if one is None or other is None or one == other or reads_as_date(gold) or reads_as_date(extracted):
        return None
    same_rest = one[1] == other[1] or re.sub(r"[.,\s]", "", one[1]) == re.sub(r"[.,\s]", "", other[1])
    return (one[0], other[0]) if same_rest else None


def _are_long(gold: Json, digits: tuple[str, str]) -> bool:
    """Whether two values have digits enough to differ in one by a mistake: round numbers do so by chance."""
    return max(len(each if isinstance(gold, str) else each.strip("0")) for each in digits) > 2


def _digits_swapped(gold: Json, extracted: Json) -> str:
    pair = _digits(gold, extracted)
    if pair is None or len(pair[0]) != len(pair[1]):
        return ""
    one, other = pair
    differing = [index for index, (a, b) in enumerate(zip(one, other, strict=True)) if a != b]
    if len(differing) != 2 or (differing[1] > differing[0] + 1 and len(one) < 5):  # far apart, by chance
        return ""
    if one[differing[0]] == other[differing[1]] and one[differing[1]] == other[differing[0]]:
        first, second = one[differing[0]], one[differing[1]]
        return f"the digits {first} and {second} were swapped"
    return ""


def _digit_lost(gold: Json, extracted: Json) -> str:
    pair = _digits(gold, extracted)
    if pair is None or abs(len(pair[0]) - len(pair[1])) not in {1, 2} or not _are_long(gold, pair):
        return ""
    long, short = sorted(pair, key=len, reverse=True)
    count = len(long) - len(short)
    for at in range(len(long) - count + 1):
        if long[:at] + long[at + count :] == short:
            what = "a digit was" if count == 1 else "two digits were"
            return f"{what} {'lost' if long is pair[0] else 'added'}: {' '.join(long[at : at + count])}"
    return ""


def _digit_misread(gold: Json, extracted: Json) -> str:
    pair = _digits(gold, extracted)
    if pair is None or len(pair[0]) != len(pair[1]) or not _are_long(gold, pair):
        return ""
    differing = [(a, b) for a, b in zip(*pair, strict=True) if a != b]
    return f"one digit differs: {differing[0][1]} for {differing[0][0]}" if len(differing) == 1 else ""


# --- dates


_KOREAN: Final = str.maketrans("년월일", "年月日", " ")


def _readings(value: Json) -> dict[str, PartialDate]:
    """Return the readings of a date by its order: `iso`, `DMY`, `MDY`, or `year` of two digits."""
    if not isinstance(value, str) or not 6 <= len(value) <= LONGEST:
        return {}
    text = fold(value)
    if "년" in text:
        text = text.translate(_KOREAN)
    found = read_iso(text)
    if found is not None:
        return {"iso": found} if len(text) > 7 or (found.month is not None and "-" in text) else {}
    short = re.fullmatch(r"(\d\d?)([./-])(\d\d?)\2(\d\d)", text)
    if short is not None:
        text = f"{short[1]}.{short[3]}.{full_year(int(short[4]))}"
    named = re.fullmatch(r"(\d\d?)[ ./-]?([^\W\d_]{3,})\.?[ ./'\u2019-]\s?(\d\d)", text)
    if named is not None:
        text = f"{named[1]} {named[2]} {full_year(int(named[3]))}"
    readings = {order: found for order in ("DMY", "MDY") if (found := read_ordered(text, order)) is not None}
    if re.search(r"[^\W\d_]{3}", text) and readings:
        return {"words": next(iter(readings.values()))}
    return readings


def reads_as_date(value: Json) -> bool:
    """Whether a value is a text that is a date in some order or in words."""
    return (
        isinstance(value, str)
        and len(value) < LONGEST
        and bool(re.search(r"\d\D+\d|[^\W\d_]{3}\D*\d", value))
        and bool(_readings(value))
    )


def _dates(gold: Json, extracted: Json) -> tuple[list[PartialDate], list[PartialDate]] | None:
    if gold == extracted:
        return None
    one, other = _readings(gold), _readings(extracted)
    return ([*one.values()], [*other.values()]) if one and other else None


def _date_pairs(gold: Json, extracted: Json) -> list[tuple[PartialDate, PartialDate]]:
    """Return the readings of two dates that go together: in the same order where both are written in one way."""
    pair = _dates(gold, extracted)
    if pair is None:
        return []
    if re.sub(r"\d", "0", gold) == re.sub(r"\d", "0", extracted) and len(pair[0]) == len(pair[1]):
        return [*zip(*pair, strict=True)]
    return [(one, other) for one in pair[0] for other in pair[1]]


def are_one_day(gold: Json, extracted: Json) -> bool:
    """Whether two texts are the same date, in some reading."""
    return any(one.known == other.known for one, other in _date_pairs(gold, extracted))


def _date_format(gold: Json, extracted: Json) -> str:
    pairs = _date_pairs(gold, extracted)
    if not pairs or fold(gold) == fold(extracted):
        return ""
    same = [(a, b) for a, b in pairs if a.known == b.known]
    if not same or (gold.strip()[:10] == extracted.strip()[:10] and len(gold) > 9 and all(a != b for a, b in pairs)):
        return ""
    return "the same day in another format" if len(same[0][0].known) == 3 else "the same month in another format"


_CLOCK: Final = re.compile(r"(\d\d?)(?:[:h](\d\d))?(?::(\d\d))?\s?(?:([ap])\.?m\.?|h|uhr|o'clock)?", re.IGNORECASE)


def _seconds(value: Json) -> int | None:
    """Read a time of day without a date, in seconds."""
    match = _CLOCK.fullmatch(value.strip()) if isinstance(value, str) and len(value) < 20 else None
    if match is None or match[0].isdecimal():
        return None
    hour, minute, second = (int(part or 0) for part in match.groups()[:3])
    if match[4]:
        hour = hour % 12 + (12 if match[4] in "pP" else 0)
    return hour * 3600 + minute * 60 + second if hour < 24 and minute < 60 and second < 60 else None


def _time_of_day(gold: Json, extracted: Json) -> str:
    moments = _seconds(gold), _seconds(extracted)
    if moments[0] is not None and moments[1] is not None and gold != extracted:
        apart = abs(moments[0] - moments[1])
        return {0: "the same time in another format", 12 * 3600: "12 hours off: am and pm were confused"}.get(apart, "")
    pair = _dates(gold, extracted)
    if pair is None:
        return ""
    one, other = pair[0][0], pair[1][0]
    if one.time is not None and other.time is not None and one.time.tzinfo and other.time.tzinfo:
        if one.time == other.time:
            return "the same moment in another time zone"
        if one.time.replace(tzinfo=None) == other.time.replace(tzinfo=None):
            return "another time zone"
    if one.known != other.known or one.time == other.time:
        return ""
    if one.time is not None and other.time is not None:
        same = one.time.replace(tzinfo=None) == other.time.replace(tzinfo=None)
        return "the time zone was lost or added" if same else "another time of the same day"
    return "the time of day was lost" if other.time is None else "a time of day was added"


def _day_and_month(gold: Json, extracted: Json) -> str:
    pairs = _date_pairs(gold, extracted)
    if any(one.known == other.known for one, other in pairs):
        return ""
    if any(one.day is not None and one.known == (other.year, other.day, other.month) for one, other in pairs):
        return "day and month were swapped"
    return ""


def _date_part(gold: Json, extracted: Json) -> str:
    gold, extracted = (str(side) if type(side) is int and 1000 <= side <= 9999 else side for side in (gold, extracted))
    one, other = (_known_parts(side) for side in (gold, extracted))
    if one is None or other is None or len(one) == len(other):
        return ""
    shorter = min(len(one), len(other))
    if one[:shorter] != other[:shorter]:
        return ""
    names = ("", "the year", "the month", "the day")
    return f"only {names[shorter]} was kept" if len(other) < len(one) else f"more than gold says: {names[len(other)]}"


def _known_parts(value: Json) -> tuple[int, ...] | None:
    if isinstance(value, str) and re.fullmatch(r"[12]\d{3}", value.strip()):
        return (int(value),)
    found = _readings(value)
    if not found and isinstance(value, str) and (month := read_iso(fold(value))) is not None:
        return month.known
    return next(iter(found.values())).known if found else None


def _date_close(gold: Json, extracted: Json) -> str:
    if reads_as_date(gold) and isinstance(extracted, str) and not _readings(extracted):
        same_form = re.sub(r"\d", "0", gold) == re.sub(r"\d", "0", extracted)
        return "no such day in the calendar" if same_form else ""
    pair = _dates(gold, extracted)
    if pair is None:
        return ""
    one, other = pair[0][0], pair[1][0]
    if (
        one.known == other.known
        or one.day is None
        or other.day is None
        or any(len(side) > 1 and (side[0].day or 0) < 13 for side in pair)
    ):
        return ""  # a date that can be read in two ways
    days = (other.first_day - one.first_day).days
    if abs(days) == 1:
        return "one day later" if days > 0 else "one day earlier"
    if (one.month, one.day) == (other.month, other.day):
        years = other.year - one.year
        count = f"{abs(years):,} {'year' if abs(years) == 1 else 'years'}"
        return f"the same day of another year ({count} {'later' if years > 0 else 'earlier'})"
    if (one.year, one.day) == (other.year, other.month and other.day):
        return "the same day of another month"
    if (one.year, one.month) == (other.year, other.month):
        return "another day of the same month"
    return ""


# --- types, booleans, nothing


_TRUE: Final = frozenset(
    "true yes y 1 x ja j wahr oui vrai si sí sim да はい 是 نعم on checked ☑ ☒ ✓ ✔".split()  # noqa: SIM905 - a table
)
_FALSE: Final = frozenset(
    "false no n 0 nein falsch non faux não нет いいえ 否 لا off unchecked ☐".split()  # noqa: SIM905 - a table
)


def _boolean_as_text(gold: Json, extracted: Json) -> str:
    for truth, written, says in (
        (gold, extracted, "a boolean was written as"),
        (extracted, gold, "a boolean stands for"),
    ):
        if (
            isinstance(truth, bool)
            and not isinstance(written, bool)
            and isinstance(written, str | int)
            and _is_short(written)
            and str(written).strip().lower() not in (_FALSE if truth else _TRUE)  # what `boolean_flipped` names
        ):
            return f"{says} {json_type(written)} “{written}”"
    return ""


def _boolean_flipped(gold: Json, extracted: Json) -> str:
    if isinstance(gold, bool) and isinstance(extracted, bool):
        return "yes and no were confused" if gold is not extracted else ""
    for truth, written in ((gold, extracted), (extracted, gold)):
        if isinstance(truth, bool) and isinstance(written, str | int) and _is_short(written):
            opposite = str(written).strip().lower() in (_FALSE if truth else _TRUE)
            return "yes and no were confused" if opposite else ""
    return ""


PLACEHOLDERS: Final = frozenset(
    {
        "", "-", "--", "---", "\u2013", "\u2014", ".", "...", "\u2026", "?", "??", "n/a", "n.a.", "na", "n/a.", "n.a",
        "none", "null", "nil", "nan", "undefined", "unknown", "tbd", "tba", "empty", "blank", "missing", "not_found",
        "not_available", "not_applicable", "not_specified", "not_stated", "not found", "not available",
        "not applicable", "not specified", "not stated", "not provided", "not given", "not mentioned", "not present",
        "no data", "no value", "none found", "no information", "unbekannt", "keine angabe", "k.a.", "entfällt", "s/o",
        "keine", "ohne angabe", "o.a.", "n.v.", "n.v.t.", "néant", "sans objet", "n.d.", "n/d", "nc", "no aplica",
        "ninguno", "nessuno", "n/v", "нет", "нет данных", "не указано", "該当なし", "なし", "無し", "無", "不明",
        "記載なし", "未定", "无", "未知", "不适用", "없음", "لا يوجد", "غير متوفر", "غير محدد", "غير معروف",
        "0000-00-00", "1970-01-01", "1900-01-01", "9999-12-31", "00/00/0000", "string", "lorem ipsum",
    }
)  # fmt: skip
"""Texts, in lower case, that stand for no value."""
_NOT_GIVEN: Final = re.compile(
    r"(?:not|none|no|nicht|keine?|non|pas|aucune?|sin|no se) "
    r"(?:mentioned|specified|provided|available|applicable|found|stated|given|listed|disclosed|reported|shown|present|"
    r"indicated|known|explicitly (?:stated|mentioned)|angegeben|vorhanden|verfügbar|bekannt|erwähnt|genannt|angaben?|"
    r"spécifiée?|précisée?|indiquée?|mentionnée?|disponible|renseignée?|especificado|indicado|indicata|disponibile)"
    r"(?: (?:in|on|by|for|im|dans|en|nel) .{1,40})?"
)


def is_placeholder(value: Json | Missing) -> bool:
    """Whether a value is a text, or a list or an object of nothing, that stands for no value."""
    if isinstance(value, str):
        text = fold(value[:LONGEST]).strip("[]<>()").lower() if len(value) < LONGEST else "a long text"
        return not {text, text.replace(" ", "")}.isdisjoint(PLACEHOLDERS) or bool(_NOT_GIVEN.fullmatch(text.strip(".")))
    return False


def _placeholder(gold: Json, extracted: Json) -> str:
    if is_placeholder(extracted) and (
        gold is None or gold is MISSING or gold == "" or (gold != extracted and not is_placeholder(gold))
    ):
        shown = f"“{extracted}”" if extracted.strip() else "an empty text"
        return f"{shown} stands for no value" if gold is None or gold is MISSING else f"{shown} stands for the value"
    if is_placeholder(gold) and gold and (extracted is None or extracted is MISSING or is_placeholder(extracted)):
        return f"gold has “{gold}” for no value"
    if gold is None:
        if extracted in (0, False) and type(extracted) in (int, float, bool):
            return f"{'false' if extracted is False else '0'} stands for no value"
        if isinstance(extracted, dict | list) and _is_hollow(extracted):
            return (
                f"{'only empty values stand' if extracted else f'an empty {json_type(extracted)} stands'} for no value"
            )
    return ""


def _is_hollow(value: Json, depth: int = 0) -> bool:
    if isinstance(value, dict | list):
        return depth < 20 and all(
            _is_hollow(item, depth + 1) for item in (value.values() if isinstance(value, dict) else value)
        )
    return value is None or is_placeholder(value)


def _holds_values(text: str, whole: dict[str, Json]) -> bool:
    """Whether a text has all values of an object, at least two of them."""
    values = [value for value in whole.values() if value is not None]
    if not 1 < len(values) < 50 or len(text) > 10_000:
        return False
    return all(
        isinstance(value, float) or (isinstance(value, str | int) and _is_short(value)) for value in values
    ) and all(str(value) in text for value in values)


def _list_or_single(gold: Json, extracted: Json) -> str:
    if gold is MISSING or extracted is MISSING or (isinstance(gold, list) and isinstance(extracted, list)):
        return ""
    for whole, text, says in (
        (gold, extracted, "the object was joined into one text"),
        (extracted, gold, "one text was split into an object"),
    ):
        if isinstance(whole, dict) and isinstance(text, str) and _holds_values(text, whole):
            return says
    many, one = (gold, extracted) if isinstance(gold, list) else (extracted, gold)
    if one is None or not isinstance(many, list):
        return ""
    if len(many) == 1 and (many[0] == one or isinstance(one, dict)):
        return "a single value instead of a list" if many is gold else "a list of one instead of a single value"
    if isinstance(one, str) and many and all(isinstance(item, str) and item in one for item in many):
        return "the list was joined into one text" if many is gold else "one text was split into a list"
    if isinstance(one, dict) and many is gold:
        return "an object instead of a list"
    return "only the first of a list" if many is gold and many and one == many[0] else ""


# --- mistakes from a gold value


def _make_number_as_text(value: Json, _random: Random) -> Json | Missing:
    if not is_number(value) or (not math.isfinite(value) if isinstance(value, float) else not _is_short(value)):
        return MISSING
    return str(value)


def _make_leading_zeros(value: Json, _random: Random) -> Json | Missing:
    return value.lstrip("0") if isinstance(value, str) and re.fullmatch(r"0+[1-9]\d*", value) else MISSING


def _make_separator(value: Json, _random: Random) -> Json | Missing:
    if type(value) is int and 1000 <= abs(value) < 10**6 and value % 10:
        return value / 1000
    if type(value) is float and abs(value) < 10**12 and not value.is_integer():
        return f"{value:,}".translate(str.maketrans(",.", ".,"))
    return MISSING


def _make_unit(value: Json, random: Random) -> Json | Missing:
    if is_number(value) and abs(value) < 10**12:
        return random.choice((f"${value}", f"{value} EUR"))
    amount = read_amount(value) if isinstance(value, str) else None
    if amount is not None and amount.around:
        return value.replace(amount.around, "").strip() or MISSING
    return MISSING


def _make_percent(value: Json, _random: Random) -> Json | Missing:
    if type(value) is float and 0.01 < abs(value) < 1:
        return float(exactly(value) * 100)  # type: ignore[operator]
    return MISSING


def _make_sign(value: Json, _random: Random) -> Json | Missing:
    return -value if is_number(value) and value else MISSING


def _make_power_of_ten(value: Json, random: Random) -> Json | Missing:
    if not is_number(value) or not value or abs(value) > 10**12:
        return MISSING
    return value * (10 if value != int(value) else random.choice((10, 100, 1000)))


def _make_rounded(value: Json, _random: Random) -> Json | Missing:
    if type(value) is not float or not 10 < abs(value) < 10**12 or value == int(value):
        return MISSING
    return float(round(value))


def _edited(value: Json, edit: Callable[[str], Iterator[str]], random: Random) -> Json | Missing:
    """Change the digits of a number, or of a text that is only digits and signs."""
    if (
        isinstance(value, bool)
        or not isinstance(value, str | int | float)
        or (isinstance(value, float) and not math.isfinite(value))
    ):
        return MISSING
    if isinstance(value, str) and (not re.fullmatch(r"[A-Z]{0,4}[\d\s./-]*\d", value) or reads_as_date(value)):
        return MISSING
    if not isinstance(value, str) and abs(value) > 10**15:
        return MISSING
    choices = sorted({text for text in edit(str(value)) if text != str(value)})
    if not choices:
        return MISSING
    text = random.choice(choices)
    return text if isinstance(value, str) else type(value)(text)


def _swaps(text: str) -> Iterator[str]:
    for at in range(len(text) - 1):
        if text[at : at + 2].isdecimal() and text[at] != text[at + 1] and not (text[at + 1] == "0" and at == 0):
            yield text[:at] + text[at + 1] + text[at] + text[at + 2 :]


def _make_digits_swapped(value: Json, random: Random) -> Json | Missing:
    return _edited(value, _swaps, random)


def _losses(text: str) -> Iterator[str]:
    digits = [at for at, each in enumerate(text) if each.isdecimal()]
    if len(digits) > 3:
        yield from (text[:at] + text[at + 1 :] for at in digits[1:-1] if text[at] != "0")


def _make_digit_lost(value: Json, random: Random) -> Json | Missing:
    return _edited(value, _losses, random)


def _misreadings(text: str) -> Iterator[str]:
    if sum(map(str.isdecimal, text)) > 2:
        for one, other in ("38", "83", "17", "71", "56", "65", "69", "49"):
            yield from (text[:at] + other + text[at + 1 :] for at, each in enumerate(text) if each == one)


def _make_digit_misread(value: Json, random: Random) -> Json | Missing:
    return _edited(value, _misreadings, random)


def _iso_day(value: Json) -> date | None:
    if not isinstance(value, str) or not re.fullmatch(r"\d{4}-\d\d-\d\d", value):
        return None
    found = read_iso(value)
    return None if found is None else found.first_day


def _make_date_format(value: Json, random: Random) -> Json | Missing:
    day = _iso_day(value)
    if day is None:
        return MISSING
    month = next(name for name, number in MONTHS.items() if number == day.month and len(name) > 2).title()
    return random.choice((f"{day:%d.%m.%Y}", f"{day:%m/%d/%Y}", f"{month} {day.day}, {day.year:04}"))


def _make_day_and_month(value: Json, _random: Random) -> Json | Missing:
    day = _iso_day(value)
    if day is None or day.day > 12 or day.day == day.month:
        return MISSING
    return f"{day.year:04}-{day.day:02}-{day.month:02}"


def _make_time_of_day(value: Json, _random: Random) -> Json | Missing:
    return MISSING if _iso_day(value) is None else f"{value}T00:00:00"


def _make_date_part(value: Json, _random: Random) -> Json | Missing:
    return MISSING if _iso_day(value) is None else value[:7]


def _make_date_close(value: Json, random: Random) -> Json | Missing:
    day = _iso_day(value)
    if day is None or not 1 < day.year < 9998:
        return MISSING
    return str(day + timedelta(days=random.choice((-1, 1))))


def _make_boolean_as_text(value: Json, _random: Random) -> Json | Missing:
    return ("yes" if value else "no") if isinstance(value, bool) else MISSING


def _make_boolean_flipped(value: Json, _random: Random) -> Json | Missing:
    return not value if isinstance(value, bool) else MISSING


def _make_placeholder(value: Json, random: Random) -> Json | Missing:
    return MISSING if isinstance(value, dict | list) or is_placeholder(value) else random.choice(("N/A", "", "unknown"))


def _make_list_or_single(value: Json, _random: Random) -> Json | Missing:
    if isinstance(value, list):
        return value[0] if len(value) == 1 and value[0] is not None else MISSING
    return MISSING if value is None or isinstance(value, dict) else [value]


TYPES = (
    MistakeKind(
        name="placeholder",
        doc='A text such as "N/A" or "" stands where there is no value, or for the value.',
        compare=_placeholder,
        make=_make_placeholder,
        examples=(
            MistakeExample(gold=None, extracted="N/A", text="“N/A” stands for no value"),
            MistakeExample(gold=None, extracted="", text="an empty text stands for no value"),
            MistakeExample(gold="ACME", extracted="unknown", text="“unknown” stands for the value"),
            MistakeExample(
                gold=None, extracted="not mentioned in the text", text="“not mentioned in the text” stands for no value"
            ),
        ),
    ),
    MistakeKind(
        name="list_or_single",
        doc="A list stands for a single value, or a single value for a list; a text has a whole list or object.",
        compare=_list_or_single,
        make=_make_list_or_single,
        examples=(
            MistakeExample(gold=["a"], extracted="a", text="a single value instead of a list"),
            MistakeExample(gold="a", extracted=["a"], text="a list of one instead of a single value"),
            MistakeExample(gold=["red", "blue"], extracted="red, blue", text="the list was joined into one text"),
        ),
    ),
    MistakeKind(
        name="boolean_as_text",
        doc="A boolean was written as a text or a number.",
        compare=_boolean_as_text,
        make=_make_boolean_as_text,
        examples=(
            MistakeExample(gold=True, extracted="yes", text="a boolean was written as string “yes”"),
            MistakeExample(gold=True, extracted=1, text="a boolean was written as integer “1”"),
            MistakeExample(gold="approved", extracted=True, text="a boolean stands for string “approved”"),
        ),
    ),
    MistakeKind(
        name="boolean_flipped",
        doc="True stands for false, or false for true.",
        compare=_boolean_flipped,
        make=_make_boolean_flipped,
        examples=(
            MistakeExample(gold=True, extracted=False, text="yes and no were confused"),
            MistakeExample(gold=True, extracted="no", text="yes and no were confused"),
        ),
    ),
    MistakeKind(
        name="number_as_text",
        doc="A number was written as a text, or digits of a text became a number.",
        compare=_number_as_text,
        make=_make_number_as_text,
        examples=(
            MistakeExample(gold=42, extracted="42", text="a number was written as a text"),
            MistakeExample(gold=-1250, extracted="(1,250)", text="a number was written as a text"),
            MistakeExample(gold="42", extracted=42, text="a text of digits became a number"),
        ),
    ),
    MistakeKind(
        name="leading_zeros",
        doc="Leading zeros were lost or added.",
        compare=_leading_zeros,
        make=_make_leading_zeros,
        examples=(
            MistakeExample(gold="00123", extracted="123", text="leading zeros were lost"),
            MistakeExample(gold="00123", extracted=123, text="leading zeros were lost"),
            MistakeExample(gold="RE-00412", extracted="RE-412", text="leading zeros were lost"),
        ),
    ),
)
"""The value has another type, or is none."""

DATES = (
    MistakeKind(
        name="time_of_day",
        doc="The time of day or the time zone was lost, added or changed.",
        compare=_time_of_day,
        make=_make_time_of_day,
        examples=(
            MistakeExample(gold="2024-03-15", extracted="2024-03-15T00:00:00", text="a time of day was added"),
            MistakeExample(
                gold="2024-03-15T10:00:00Z",
                extracted="2024-03-15T11:00:00+01:00",
                text="the same moment in another time zone",
            ),
            MistakeExample(gold="14:30", extracted="2:30 PM", text="the same time in another format"),
        ),
    ),
    MistakeKind(
        name="date_format",
        doc="The same day is written in another format.",
        compare=_date_format,
        make=_make_date_format,
        examples=(
            MistakeExample(gold="2024-08-02", extracted="02.08.2024", text="the same day in another format"),
            MistakeExample(gold="2024-08-02", extracted="August 2, 2024", text="the same day in another format"),
        ),
    ),
    MistakeKind(
        name="day_and_month",
        doc="Day and month of a date were swapped.",
        compare=_day_and_month,
        make=_make_day_and_month,
        examples=(MistakeExample(gold="2024-03-04", extracted="2024-04-03", text="day and month were swapped"),),
    ),
    MistakeKind(
        name="date_part",
        doc="Only a part of a date was extracted, or more than the gold says.",
        compare=_date_part,
        make=_make_date_part,
        examples=(
            MistakeExample(gold="2024-03-15", extracted="2024-03", text="only the month was kept"),
            MistakeExample(gold="2024-03", extracted="2024-03-01", text="more than gold says: the day"),
        ),
    ),
)
"""The same date in another form."""

AMOUNTS = (
    MistakeKind(
        name="decimal_separator",
        doc="A separator of thousands was taken for a decimal one, or the reverse; the same number, written otherwise.",
        compare=_separator,
        make=_make_separator,
        examples=(
            MistakeExample(gold=1234.5, extracted="1.234,50", text="the decimal separator of another language"),
            MistakeExample(gold=1234, extracted=1.234, text="a separator of thousands was taken for a decimal one"),
            MistakeExample(gold="1,250", extracted="1250", text="the same number, written otherwise"),
            MistakeExample(gold="(4,321)", extracted="-4,321", text="the same number, written otherwise"),
        ),
    ),
    MistakeKind(
        name="percent_or_fraction",
        doc="A percentage stands for a fraction, or a fraction for a percentage.",
        compare=_percent,
        make=_make_percent,
        examples=(
            MistakeExample(gold=0.12, extracted=12, text="100 times the gold: a percentage where gold has a fraction"),
            MistakeExample(gold=0.12, extracted="12 %", text="a fraction was taken for a percentage"),
        ),
    ),
    MistakeKind(
        name="unit_or_currency",
        doc="A unit or a currency was lost, kept in the value or changed.",
        compare=_unit,
        make=_make_unit,
        examples=(
            MistakeExample(gold="5 kg", extracted="5", text="the unit or currency “kg” was lost"),
            MistakeExample(gold=1234.5, extracted="$1,234.50", text="the unit or currency “$” was kept in the value"),
            MistakeExample(gold="5 kg", extracted="5 lb", text="“lb” stands where gold has “kg”"),
            MistakeExample(gold="mg/dL", extracted="g/dL", text="“g/dL” stands where gold has “mg/dL”"),
            MistakeExample(gold="98.6 °F", extracted="37 °C", text="the same quantity in “°C” instead of “°F”"),
        ),
    ),
    MistakeKind(
        name="sign",
        doc="A minus was lost or added.",
        compare=_sign,
        make=_make_sign,
        examples=(MistakeExample(gold=-1250, extracted=1250, text="the minus was lost"),),
    ),
    MistakeKind(
        name="power_of_ten",
        doc="The number is 10, 100, 1,000, ... times too large or too small; a scale word was lost.",
        compare=_power_of_ten,
        make=_make_power_of_ten,
        examples=(
            MistakeExample(gold=1234, extracted=123400, text="100 times the gold"),
            MistakeExample(
                gold="$1.2 million",
                extracted="$1.2",
                text="1/1,000,000 of the gold: a word such as million was lost or added",
            ),
        ),
    ),
)
"""The same digits as another number."""

DIGITS = (
    MistakeKind(
        name="rounded",
        doc="The number was rounded, or has more digits than the gold.",
        compare=_rounded,
        make=_make_rounded,
        examples=(MistakeExample(gold=1234.56, extracted=1235, text="rounded"),),
    ),
    MistakeKind(
        name="digits_swapped",
        doc="Two digits were swapped.",
        compare=_digits_swapped,
        make=_make_digits_swapped,
        examples=(
            MistakeExample(gold=1109, extracted=1190, text="the digits 0 and 9 were swapped"),
            MistakeExample(gold="4232-17", extracted="4322-17", text="the digits 2 and 3 were swapped"),
        ),
    ),
    MistakeKind(
        name="digit_lost",
        doc="One or two digits were lost or added.",
        compare=_digit_lost,
        make=_make_digit_lost,
        examples=(
            MistakeExample(gold=12345, extracted=1245, text="a digit was lost: 3"),
            MistakeExample(gold="4711", extracted="47111", text="a digit was added: 1"),
        ),
    ),
    MistakeKind(
        name="digit_misread",
        doc="One digit differs.",
        compare=_digit_misread,
        make=_make_digit_misread,
        examples=(MistakeExample(gold=1834, extracted=1334, text="one digit differs: 3 for 8"),),
    ),
    MistakeKind(
        name="date_close",
        doc="A date is off by one day, its day, month or year differs alone, or there is no such day.",
        compare=_date_close,
        make=_make_date_close,
        examples=(
            MistakeExample(gold="2024-03-15", extracted="2024-03-14", text="one day earlier"),
            MistakeExample(
                gold="2024-03-15", extracted="2023-03-15", text="the same day of another year (1 year earlier)"
            ),
        ),
    ),
)
"""Other digits, or another date."""
