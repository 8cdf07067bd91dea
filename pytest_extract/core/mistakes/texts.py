"""Mistakes in texts: the same text in another form, a part of it, or its words in another order."""

from __future__ import annotations

import html
import re
import unicodedata
from typing import Final

from pytest_extract.core.metrics.equality import fold
from pytest_extract.core.mistakes.numbers import read_amount
from pytest_extract.core.mistakes.output import read_values_kind, values_kind
from pytest_extract.core.values import Json

_WORD: Final = re.compile(r"[^\W_]+")
_LONGEST: Final = 100_000
"""Characters of two texts together from which on they are not compared."""
_LONGEST_MARKED_UP: Final = 4_000
"""Characters of two texts together from which on no markup is looked for."""
_MOST_SHOWN: Final = 40
"""Characters of an affix that are shown."""


def _texts(gold: Json, extracted: Json) -> tuple[str, str] | None:
    """Return both values if they are texts that differ and are not too long to be compared."""
    if not isinstance(gold, str) or not isinstance(extracted, str) or gold == extracted:
        return None
    return (gold, extracted) if len(gold) + len(extracted) <= _LONGEST else None


def _quoted(text: str) -> str:
    return f"“{text if len(text) <= _MOST_SHOWN else f'{text[: _MOST_SHOWN - 1]}…'}”"


_INVISIBLE: Final = re.compile("[\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]")
"""Joiners, marks of direction, soft hyphens and the like."""


@read_values_kind(_texts, "ACME Tools", "ACMETools", "only white space differs")
def white_space(gold: str, extracted: str) -> str:
    """White space lost or added."""
    one, other = ("".join(text.split()) for text in (gold, extracted))
    if one == other:
        return "only white space differs"
    return "only characters without a width differ" if _INVISIBLE.sub("", one) == _INVISIBLE.sub("", other) else ""


@read_values_kind(_texts, "ACME GmbH", "Acme GmbH", "only the case differs")
def case(gold: str, extracted: str) -> str:
    """Only upper and lower case differ."""
    one, other = fold(gold), fold(extracted)
    return "only the case differs" if one != other and one.lower() == other.lower() else ""


_MARKS: Final = str.maketrans(
    {
        **dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2015\u2212\ufe58\ufe63\uff0d", "-"),
        **dict.fromkeys('\u2018\u2019\u201a\u201b\u2032\u02bc\u00b4`\u201c\u201d\u201e\u201f\u2033\u00ab\u00bb"', "'"),
        "œ": "oe",
        "æ": "ae",
        "ß": "ss",
        "ł": "l",
        "ø": "o",
        "đ": "d",
        "ħ": "h",
        "\u0131": "i",
    }
)
_TRANSLITERATED: Final = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "å": "aa", "ø": "oe"})
_CODE_PAGES: Final = ("cp1252", "latin-1", "cp1250", "mac-roman", "cp437")
_OF_NUMBERS: Final = re.compile(r"(?<=\d)[.,'\u2019](?=\d)|(?<!\w)[-(\u2212](?=\s?\d)")
"""A decimal sign, a separator of thousands, a minus."""


def _without_marks(text: str) -> str:
    """Return a text in lower case without diacritics, ligatures and forms of dashes and quotation marks."""
    text = unicodedata.normalize("NFKD", text.lower().translate(_MARKS)).replace("''", "'")
    return "".join(each for each in text if not unicodedata.combining(each))


def _is_said(character: str) -> bool:
    """Whether a character is no punctuation: a letter, a digit or a symbol, such as of a currency."""
    return character.isalnum() or character in "%#&/@" or unicodedata.category(character).startswith("S")


def _misread(text: str, page: str) -> str:
    """Return the text as a program shows it that takes its UTF-8 for another encoding."""
    try:
        return text.encode("utf-8").decode(page)
    except UnicodeError:
        return text


@read_values_kind(_texts, "Müller", "Muller", "only diacritics, ligatures, dashes or quotation marks differ")
def marks(gold: str, extracted: str) -> str:
    """Only diacritics, dashes, quotation marks, ligatures, punctuation or the encoding differ."""
    one, other = fold(gold), fold(extracted)
    if one == other:
        return "the same characters are composed in another way"
    if (
        _without_marks(one) == _without_marks(other)
        or one.lower().translate(_TRANSLITERATED) == other.lower()
        or (other.lower().translate(_TRANSLITERATED) == one.lower())
    ):
        return "only diacritics, ligatures, dashes or quotation marks differ"
    if not (one + other).isascii():
        for page in _CODE_PAGES:
            if fold(_misread(gold, page)) == other or fold(_misread(extracted, page)) == one:
                return f"UTF-8 was read as {page}"
    said, other_said = ("".join(filter(_is_said, text)).lower() for text in (one, other))
    if said and said == other_said and _OF_NUMBERS.findall(one) == _OF_NUMBERS.findall(other):
        return "only punctuation differs"
    return ""


_LONGEST_UNIT: Final = 3
_TAG: Final = re.compile(r"</?[A-Za-z][^<>]{0,200}>")
_MARKDOWN: Final = re.compile(
    r"(?:\*\*|__|~~|`|^#{1,6}\s|^>\s|^[-*]\s|(?<!\d)\*|\*(?!\d)|\[(?=[^\]]*\]\()|\]\([^)]{0,500}\)|\\(?=[^\w\s]))",
    re.MULTILINE,
)
_LATEX: Final = re.compile(r"\\(?:text|mathrm|mathbf|textbf|textit|emph)\{([^{}]*)\}|\$([^$]*)\$")


@read_values_kind(_texts, "ACME", "**ACME**", "markup was left in")
def markup(gold: str, extracted: str) -> str:
    """Markup of HTML, Markdown or LaTeX, or an entity, left in or lost."""
    if len(gold) + len(extracted) > _LONGEST_MARKED_UP:
        return ""
    numbers = [read_amount(side) for side in (gold, extracted)]  # their signs and currencies are no markup
    if all(each is not None and len(each.around) <= _LONGEST_UNIT for each in numbers):
        return ""
    one, other = fold(gold), fold(extracted)
    for right, wrong, says in ((one, other, "left in"), (other, one, "lost")):
        without_tags = [_TAG.sub("", wrong), _TAG.sub(" ", wrong)]  # in a word; between lines or cells
        without = {fold(_MARKDOWN.sub("", html.unescape(html.unescape(text)))) for text in without_tags}
        if len(wrong) > len(right) and right in without | {fold(_LATEX.sub(r"\1\2", wrong))}:
            return f"markup was {says}"
    return ""


_WITHOUT_SPACES: Final = re.compile("[\u0e00-\u0eff\u3005-\u30ff\u3400-\u9fff\uf900-\ufaff]")
"""Letters of scripts that put no spaces between words."""


def _within_word(left: str, right: str) -> bool:
    """Whether a word or a number goes on from one character to the next."""
    if _WITHOUT_SPACES.match(left) or _WITHOUT_SPACES.match(right):
        return False
    return (left.isalpha() and right.isalpha()) or (left.isdecimal() and right.isdecimal())


@read_values_kind(
    _texts, "Delivery to the main entrance only", "Delivery to the main ent", "cut after 24 of 34 characters"
)
def truncated(gold: str, extracted: str) -> str:
    """End of a text cut off."""
    whole, part = fold(gold), fold(extracted)
    cut = part.rstrip(".… ") if part.endswith(("…", "...")) else part
    if len(cut) < 3 or len(cut) >= len(whole) or not whole.startswith(cut):
        return ""
    lost = whole[len(cut) :]
    words = len(lost) if _WITHOUT_SPACES.match(lost) else len(lost.split())
    at_words_end = cut is part and not _within_word(cut[-1], lost[0])
    if at_words_end and (words < 5 or len(cut) < len(lost) / 4):
        return ""  # a part at the end, which `affix` names
    return f"cut after {len(cut):,} of {len(whole):,} characters"


@values_kind("4711", "Invoice No.: 4711", "“Invoice No.:” before the value was kept")
def affix(gold: Json, extracted: Json) -> str:
    """Label, title, unit, suffix or words between others kept or lost, or a unit replaced."""
    one, other = read_amount(gold), read_amount(extracted)
    units = (one.around, other.around) if one and other and one.value == other.value else ("", "")
    if not isinstance(gold, str) or not isinstance(extracted, str):
        unit, what = units[0] or units[1], "kept" if isinstance(extracted, str) else "lost"
        return f"{_quoted(unit)} beside the number was {what}" if unit else ""
    short, long = sorted((fold(gold), fold(extracted)), key=len)
    if (len(short) < 2 and not short.isdecimal()) or len(gold) + len(extracted) > _LONGEST:
        return ""
    what = "kept" if short == fold(gold) else "lost"
    at = long.find(short)
    while at >= 0 and len(short) < len(long):
        before, after = long[:at], long[at + len(short) :]
        if not (before and _within_word(before[-1], short[0])) and not (after and _within_word(short[-1], after[0])):
            if before and after:
                return f"the text around the value was {what}"
            return f"{_quoted(fold(before or after))} {'before' if before else 'after'} the value was {what}"
        at = long.find(short, at + 1)
    words, more = short.split(), long.split()
    count = len(more) - len(words)
    if 0 < count <= len(words) and len(words) > 1:
        at = next((index for index, (a, b) in enumerate(zip(words, more, strict=False)) if a != b), 0)
        if at and words[at:] == more[at + count :]:
            return f"{_quoted(' '.join(more[at : at + count]))} inside the value was {what}"
    return "the same number with another unit or currency" if units[0].lower() != units[1].lower() else ""


@read_values_kind(_texts, "John Doe", "Doe, John", "the order of first and last name")
def word_order(gold: str, extracted: str) -> str:
    """Words in another order, such as last and first name."""
    one, other = (_WORD.findall(fold(text).lower()) for text in (gold, extracted))
    if not 1 < len(one) <= 200 or one == other or sorted(one) != sorted(other) or all(map(str.isdigit, one)):
        return ""
    return "the order of first and last name" if len(one) == 2 else "the same words in another order"
