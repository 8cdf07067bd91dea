"""Mistakes that two values tell: in dates and times, in numbers, types and placeholders, and in texts."""

from __future__ import annotations

import html
import math
import re
import unicodedata
from fractions import Fraction
from typing import Final, NamedTuple

from pytest_extract.core.metrics.dates import PartialDate, full_year, read_iso, read_ordered
from pytest_extract.core.metrics.numbers import LOCALES, PERCENT, NumberStyle, currency_of, read_written, scale_of
from pytest_extract.core.mistakes import values_kind
from pytest_extract.core.values import MISSING, Json, Missing, a_type, fold, is_number, json_type, short_json
from pytest_extract.core.words import plural

# --- dates and times

_LONGEST: Final = 80
"""Longer texts are no date and no number."""
_MOST_TEXT: Final = 100_000
"""Characters of two texts together from which on they are not compared."""


def _is_short(value: Json) -> bool:
    """Whether a value is a number or a text, and not too long for one that is read."""
    if isinstance(value, int):
        return not isinstance(value, bool) and value.bit_length() < 200
    return isinstance(value, float) or (isinstance(value, str) and len(value) <= _LONGEST)


def _texts(gold: Json, extracted: Json) -> tuple[str, str] | None:
    """Return both values if they are texts that differ and are not too long to be compared."""
    if not isinstance(gold, str) or not isinstance(extracted, str) or gold == extracted:
        return None
    return (gold, extracted) if len(gold) + len(extracted) <= _MOST_TEXT else None


def _readings(value: Json) -> list[PartialDate]:
    """Return the readings of a text as a date: one in ISO 8601 or in words, up to two in numbers."""
    if not isinstance(value, str) or not 6 <= len(value) <= _LONGEST:
        return []
    text = fold(value)
    found = read_iso(text)
    if found is not None:
        return [found] if len(text) > 7 or (found.month is not None and "-" in text) else []
    short = re.fullmatch(r"(\d\d?)([./-])(\d\d?)\2(\d\d)", text)
    if short is not None:
        text = f"{short[1]}.{short[3]}.{full_year(int(short[4]))}"
    readings = [found for order in ("DMY", "MDY") if (found := read_ordered(text, order)) is not None]
    return readings[:1] if re.search(r"[^\W\d_]{3}", text) else readings


def reads_as_date(value: Json) -> bool:
    """Whether a value is a text that is a date in some order or in words."""
    is_like_one = isinstance(value, str) and _is_short(value) and re.search(r"\d\D+\d|[^\W\d_]{3}\D*\d", value)
    return bool(is_like_one and _readings(value))


def _date_pairs(gold: Json, extracted: Json) -> list[tuple[PartialDate, PartialDate]]:
    """Return the readings of two dates that go together: in the same order where both are written in one way."""
    one, other = _readings(gold), _readings(extracted)
    if one and len(one) == len(other) and re.sub(r"\d", "0", gold) == re.sub(r"\d", "0", extracted):
        return [*zip(one, other, strict=True)]
    return [(first, second) for first in one for second in other]


def are_one_day(gold: Json, extracted: Json) -> bool:
    """Whether two texts are the same date, in some reading."""
    return any(one.known == other.known for one, other in _date_pairs(gold, extracted))


@values_kind("2024-08-02", "August 2, 2024", "the same day in another format", read=_texts)
def date_format(gold: str, extracted: str) -> str:
    """Only the format of the date differs."""
    is_other = fold(gold) != fold(extracted) and are_one_day(gold, extracted)
    return "the same day in another format" if is_other else ""


@values_kind("2024-03-15", "2024-03-15T00:00:00", "only the time of day or its zone differs")
def time_or_zone(gold: Json, extracted: Json) -> str:
    """Time of day or time zone lost, added or changed."""
    pair = next(iter(_date_pairs(gold, extracted)), None)
    if pair is None or pair[0].known != pair[1].known:
        return ""
    return "" if str(pair[0]) == str(pair[1]) else "only the time of day or its zone differs"


@values_kind("2024-03-04", "2024-04-03", "day and month were swapped")
def day_and_month(gold: Json, extracted: Json) -> str:
    """Day and month of a date swapped."""
    pairs = _date_pairs(gold, extracted)
    swapped = any(one.day is not None and one.known == (other.year, other.day, other.month) for one, other in pairs)
    return "day and month were swapped" if swapped and not are_one_day(gold, extracted) else ""


@values_kind("2024-03-15", "2024-03", "one date is a part of the other")
def date_part(gold: Json, extracted: Json) -> str:
    """Only a part of a date, or more than the gold says."""
    one, other = (_known_parts(side) for side in (gold, extracted))
    shorter = min(len(one), len(other))
    is_part = shorter and len(one) != len(other) and one[:shorter] == other[:shorter]
    return "one date is a part of the other" if is_part else ""


def _known_parts(value: Json) -> tuple[int, ...]:
    """Return year, month and day of a date, as far as it has them; a year alone is a number or a text."""
    if isinstance(value, float) or not _is_short(value):
        return ()
    text = fold(str(value))
    found = read_iso(text) or next(iter(_readings(text)), None)
    return () if found is None else found.known


# --- numbers, types and placeholders

_ENGLISH: Final = LOCALES["en"]
_STYLES: Final = tuple(dict.fromkeys(LOCALES.values()))
"""The styles of all locales, the English one first."""
_CODE: Final = re.compile(r"\W*[^\W\d_]{1,3}-?\d")
"""Letters before the digits: the start of a code such as J45.9, if they are no currency."""


class Amount(NamedTuple):
    """A number, alone or in a text: its value with the scale of a word, what stands around it, and that scale."""

    value: Fraction
    around: str = ""
    scale: int = 1


def read_amount(value: Json, style: NumberStyle = _ENGLISH) -> Amount | None:
    """Read a JSON number, or a text that is one number with a unit, a currency or a scale; None for others."""
    if not _is_short(value):
        return None
    if isinstance(value, int):
        return Amount(Fraction(value))
    if isinstance(value, float):
        return Amount(Fraction(f"{value:.12g}")) if math.isfinite(value) else None
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
    is_prose = sum(map(str.isalpha, around)) > 20 or any(map(str.isdecimal, around))
    return None if is_prose else Amount(written.value * scale, around, scale)


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


@values_kind("00123", 123, "an integer instead of a string")
def wrong_type(gold: Json, extracted: Json) -> str:
    """Right value of another type: a number or a boolean as text, a list of one, a joined list."""
    if any(each is MISSING or each is None for each in (gold, extracted)):
        return ""
    types, one, other = {json_type(gold), json_type(extracted)}, read_amount(gold), read_amount(extracted)
    is_one_number = one and other and (one.value, one.around) == (other.value, other.around)
    one_is_written = is_one_number and is_number(gold) is not is_number(extracted)
    differ = len(types) > 1 and types & {"array", "object", "boolean"}
    return f"{a_type(extracted)} instead of {a_type(gold)}" if one_is_written or differ else ""


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
    sides = [side for side in (gold, extracted) if _is_short(side)]
    texts = [side for side in sides if isinstance(side, str) and re.search(r"[^\w\s]\d|\d\s\d", side)]
    if len(sides) < 2 or not texts or any(map(reads_as_date, sides)):
        return ""  # without a separator, every language reads the same number
    digits = {re.sub(r"\D", "", str(side)).rstrip("0") for side in sides}
    one, other = (
        {(each.value, each.around) for style in _STYLES if (each := read_amount(side, style))} for side in sides
    )
    return "the same number, written otherwise" if len(digits) == 1 and one & other else ""


@values_kind(0.12, "12 %", "100 times the gold: a percentage where the gold has a fraction", read=_amounts)
def percent_or_fraction(gold: Amount, extracted: Amount) -> str:
    """Percentage in place of a fraction, or the reverse."""
    small, large = sorted((gold.value, extracted.value), key=abs)
    written = {gold.around.casefold(), extracted.around.casefold()} & PERCENT
    if large != small * 100 or (not written and not abs(small) <= 1 < abs(large) <= 100):
        return ""
    if large == extracted.value:
        return "100 times the gold: a percentage where the gold has a fraction"
    return "a hundredth of the gold: a fraction where the gold has a percentage"


@values_kind(-1250, 1250, "the sign differs", read=_amounts)
def sign(gold: Amount, extracted: Amount) -> str:
    """Minus lost or added."""
    return "the sign differs" if gold.value == -extracted.value else ""


@values_kind(1234, 123400, "100 times the gold", read=_amounts)
def power_of_ten(gold: Amount, extracted: Amount) -> str:
    """Only a factor of 10, 100, 1,000 ... differs; a scale word was lost."""
    ratio = extracted.value / gold.value
    if ratio not in _POWERS:
        return ""
    scaled = ": a word such as million was lost or added" if gold.scale != extracted.scale else ""
    return (f"{ratio.numerator:,} times the gold" if ratio > 1 else f"1/{ratio.denominator:,} of the gold") + scaled


@values_kind(1234.56, 1235, "only digits at the end differ")
def rounded(gold: Json, extracted: Json) -> str:
    """Only digits at the end were rounded or cut, or added."""
    pair = _amounts(gold, extracted) if is_number(gold) and is_number(extracted) else None
    if pair is None:
        return ""
    one, other = (each.value for each in pair)
    return "only digits at the end differ" if _is_coarser(one, other) or _is_coarser(other, one) else ""


def _is_coarser(fine: Fraction, coarse: Fraction) -> bool:
    """Whether digits at the end of a number were lost, and no more than a twentieth of it."""
    steps = (Fraction(10) ** power for power in range(6, -9, -1))
    step = next((each for each in steps if (coarse / each).denominator == 1), Fraction(0))
    is_digit = coarse.denominator == 1 and abs(coarse) < 10 * step  # alike by chance
    apart, is_cut = abs(fine - coarse), abs(fine) > abs(coarse) and step < 1
    return 0 < apart <= min(step if is_cut else step / 2, abs(fine) / (100 if is_digit else 20))


def _digits(value: Json) -> tuple[str, str]:
    """Return the digits of a value that is no date, and the rest of it; ("", "") for too few digits, or too many."""
    if not _is_short(value):
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
        return "only leading zeros differ"
    if max(len(each if isinstance(gold, str) else each.strip("0")) for each in (one, other)) < 3:
        return ""  # round numbers differ in one digit by chance
    from rapidfuzz.distance import OSA  # imported where two numbers differ in their digits

    apart = len(other) - len(one)
    if abs(apart) > 2 or OSA.distance(one, other) != (abs(apart) or 1):
        return ""
    if apart:
        return f"{plural(abs(apart), 'digit')} {'lost' if apart < 0 else 'added'}"
    (right, wrong), *further = [pair for pair in zip(one, other, strict=True) if pair[0] != pair[1]]
    return f"the digits {right} and {wrong} were swapped" if further else f"one digit differs: {wrong} for {right}"


_WORDS_FOR_NOTHING: Final = (
    "- -- \u2013 \u2014 ... ? n/a n.a. na none null nil nan undefined unknown tbd empty blank missing unbekannt k.a. "
    "keine néant なし 無 无 없음 нет"
)
_NOTHING: Final = frozenset(_WORDS_FOR_NOTHING.split())
"""Texts, in lower case and without spaces, that stand for no value."""
_NOT_GIVEN: Final = re.compile(
    r"(?:not|none|no|nicht|keine?)[ _]?(?:mentioned|specified|provided|available|applicable|found|stated|given|listed|"
    r"data|value|angaben?|angegeben|vorhanden|verfügbar|bekannt)(?: (?:in|on|im) .{1,40})?"
)


def _is_placeholder(value: Json | Missing) -> bool:
    if not isinstance(value, str) or len(value) > _LONGEST:
        return False
    text = fold(value).strip("[]<>()").lower()
    return not text or text.replace(" ", "") in _NOTHING or bool(_NOT_GIVEN.fullmatch(text.strip(".")))


@values_kind(None, "N/A", '"N/A" stands for no value')
def placeholder(gold: Json, extracted: Json) -> str:
    """Text such as "N/A" in place of no value, or of the value."""
    if _is_placeholder(extracted):
        return f"{short_json(extracted)} stands for no value"
    if _is_placeholder(gold) and (extracted is None or extracted is MISSING):
        return f"{short_json(gold)} stands for no value"
    return ""


# --- texts

_WORD: Final = re.compile(r"[^\W_]+")
_LONGEST_MARKED_UP: Final = 4_000
"""Characters of two texts together from which on no markup is looked for."""

_INVISIBLE: Final = re.compile("[\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]")
"""Joiners, marks of direction, soft hyphens and the like."""


@values_kind("ACME Tools", "ACMETools", "only white space differs", read=_texts)
def white_space(gold: str, extracted: str) -> str:
    """White space lost or added."""
    one, other = ("".join(_INVISIBLE.sub("", text).split()) for text in (gold, extracted))
    return "only white space differs" if one == other else ""


@values_kind("ACME GmbH", "Acme GmbH", "only the case differs", read=_texts)
def case(gold: str, extracted: str) -> str:
    """Only upper and lower case differ."""
    one, other = fold(gold), fold(extracted)
    return "only the case differs" if one != other and one.lower() == other.lower() else ""


_MARKS: Final = str.maketrans(
    {
        **dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2015\u2212\ufe58\ufe63\uff0d", "-"),
        **dict.fromkeys('\u2018\u2019\u201a\u201b\u2032\u02bc\u00b4`\u201c\u201d\u201e\u201f\u2033\u00ab\u00bb"', "'"),
        **dict(zip("œæßłøđħ\u0131", ("oe", "ae", "ss", "l", "o", "d", "h", "i"), strict=True)),
    }
)
_TRANSLITERATED: Final = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "å": "aa", "ø": "oe"})
_OF_NUMBERS: Final = re.compile(r"(?<=\d)[.,'\u2019](?=\d)|(?<!\w)[-(\u2212](?=\s?\d)")
"""A decimal sign, a separator of thousands, a minus."""


def _without_marks(text: str) -> str:
    """Return a text without diacritics, ligatures and forms of dashes and quotation marks."""
    text = unicodedata.normalize("NFKD", text.translate(_MARKS)).replace("''", "'")
    return "".join(each for each in text if not unicodedata.combining(each))


def _is_said(character: str) -> bool:
    """Whether a character is no punctuation: a letter, a digit or a symbol, such as of a currency."""
    return character.isalnum() or character in "%#&/@" or unicodedata.category(character).startswith("S")


@values_kind("Müller", "Muller", "only diacritics, ligatures or punctuation differ", read=_texts)
def marks(gold: str, extracted: str) -> str:
    """Only diacritics, dashes, quotation marks, ligatures or punctuation differ."""
    one, other = fold(gold).lower(), fold(extracted).lower()
    said, other_said = ("".join(filter(_is_said, text)) for text in (one, other))
    only_marks_differ = (
        _without_marks(one) == _without_marks(other)
        or one.translate(_TRANSLITERATED) == other
        or one == other.translate(_TRANSLITERATED)
        or (said and said == other_said and _OF_NUMBERS.findall(one) == _OF_NUMBERS.findall(other))
    )
    return "only diacritics, ligatures or punctuation differ" if only_marks_differ else ""


_LONGEST_UNIT: Final = 3
_TAG: Final = re.compile(r"</?[A-Za-z][^<>]{0,200}>")
_MARKDOWN: Final = re.compile(
    r"(?:\*\*|__|~~|`|^#{1,6}\s|^>\s|^[-*]\s|(?<!\d)\*|\*(?!\d)|\[(?=[^\]]*\]\()|\]\([^)]{0,500}\)|\\(?=[^\w\s]))",
    re.MULTILINE,
)


@values_kind("ACME", "**ACME**", "only markup differs", read=_texts)
def markup(gold: str, extracted: str) -> str:
    """Markup of HTML or Markdown, or an entity, left in or lost."""
    if len(gold) + len(extracted) > _LONGEST_MARKED_UP:
        return ""
    numbers = [read_amount(side) for side in (gold, extracted)]  # their signs and currencies are no markup
    if all(each is not None and len(each.around) <= _LONGEST_UNIT for each in numbers):
        return ""
    one, other = fold(gold), fold(extracted)
    short, long = sorted((one, other), key=len)
    without_tags = [_TAG.sub("", long), _TAG.sub(" ", long)]  # in a word; between lines or cells
    is_same = one != other and short in {fold(_MARKDOWN.sub("", html.unescape(text))) for text in without_tags}
    return "only markup differs" if is_same else ""


_WITHOUT_SPACES: Final = re.compile("[\u0e00-\u0eff\u3005-\u30ff\u3400-\u9fff\uf900-\ufaff]")
"""Letters of scripts that put no spaces between words."""


def _within_word(left: str, right: str) -> bool:
    """Whether a word or a number goes on from one character to the next."""
    if _WITHOUT_SPACES.match(left) or _WITHOUT_SPACES.match(right):
        return False
    return (left.isalpha() and right.isalpha()) or (left.isdecimal() and right.isdecimal())


@values_kind(
    "Delivery to the main entrance only", "Delivery to the main ent", "cut after 24 of 34 characters", read=_texts
)
def truncated(gold: str, extracted: str) -> str:
    """End of a text cut off."""
    whole, part = fold(gold), fold(extracted)
    cut = part.rstrip(".… ") if part.endswith(("…", "...")) else part
    if len(cut) < 3 or len(cut) >= len(whole) or not whole.startswith(cut):
        return ""
    lost = whole[len(cut) :]
    words = len(lost) if _WITHOUT_SPACES.match(lost) else len(lost.split())
    if cut is part and not _within_word(cut[-1], lost[0]) and words < 5:
        return ""  # a part at the end, which `affix` names
    return f"cut after {len(cut):,} of {len(whole):,} characters"


@values_kind("4711", "Invoice No.: 4711", '"Invoice No.:" was kept')
def affix(gold: Json, extracted: Json) -> str:
    """Label, title, unit or suffix kept or lost, or a unit replaced."""
    one, other = read_amount(gold), read_amount(extracted)
    units = (one.around, other.around) if one and other and one.value == other.value else ("", "")
    if not isinstance(gold, str) or not isinstance(extracted, str):
        unit, what = units[0] or units[1], "kept" if isinstance(extracted, str) else "lost"
        return f"{short_json(unit)} beside the number was {what}" if unit else ""
    short, long = sorted((fold(gold), fold(extracted)), key=len)
    if (len(short) < 2 and not short.isdecimal()) or len(gold) + len(extracted) > _MOST_TEXT:
        return ""
    what = "kept" if short == fold(gold) else "lost"
    for match in re.finditer(re.escape(short), long):
        before, after = long[: match.start()], long[match.end() :]
        if not _within_word(before[-1:], short[0]) and not _within_word(short[-1], after[:1]):
            around = [each for each in (before.strip(), after.strip()) if each]
            return f"{short_json(' … '.join(around))} was {what}" if around else ""
    return "the same number with another unit or currency" if units[0].lower() != units[1].lower() else ""


@values_kind("John Doe", "Doe, John", "the same words in another order", read=_texts)
def word_order(gold: str, extracted: str) -> str:
    """Words in another order, such as last and first name."""
    one, other = (_WORD.findall(fold(text).lower()) for text in (gold, extracted))
    if not 1 < len(one) <= 200 or one == other or sorted(one) != sorted(other) or all(map(str.isdigit, one)):
        return ""
    return "the same words in another order"
