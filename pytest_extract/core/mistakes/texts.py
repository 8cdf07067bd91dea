"""Mistakes in texts: the same text in another form, a part of it, or a text misread."""

from __future__ import annotations

import html
import json
import re
import unicodedata
from random import Random
from typing import Final

from pytest_extract.core.metrics.equality import fold, is_number
from pytest_extract.core.mistakes.base import MistakeExample, MistakeKind
from pytest_extract.core.mistakes.scalars import are_one_day, read_amount, reads_as_date
from pytest_extract.core.values import MISSING, Json, Missing

_DASHES: Final = re.compile("[\u2010-\u2015\u2212\ufe58\ufe63\uff0d]")
_QUOTES: Final = re.compile('[\u2018\u2019\u201a\u201b\u2032\u02bc\u00b4`\u201c\u201d\u201e\u201f\u2033\u00ab\u00bb"]')
_DIGITS: Final = re.compile(r"\d+")
_WORD: Final = re.compile(r"[^\W_]+")
_SOME: Final = 40
"""Characters of an affix that are shown."""
LONGEST_COMPARED: Final = 100_000
"""Characters of two texts together from which on they are not compared."""
LONGEST: Final = 4_000
"""Longer texts are compared in their exact forms only."""


def _texts(gold: Json, extracted: Json) -> tuple[str, str] | None:
    """Return both values if they are texts that differ, each with single spaces."""
    if not isinstance(gold, str) or not isinstance(extracted, str) or gold == extracted:
        return None
    if len(gold) + len(extracted) > LONGEST_COMPARED:
        return None
    return fold(gold), fold(extracted)


_INVISIBLE: Final = re.compile("[\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]")
"""Joiners, marks of direction and the like; a soft hyphen is one of a line break."""


def _quoted(text: str) -> str:
    return f"“{text if len(text) <= _SOME else f'{text[: _SOME - 1]}…'}”"


# --- forms of the same text


def _white_space(gold: Json, extracted: Json) -> str:
    pair = _texts(gold, extracted)
    if pair is None:
        return ""
    one, other = ("".join(text.split()) for text in (gold, extracted))
    if one == other:
        return "only white space differs"
    return "only characters without a width differ" if _INVISIBLE.sub("", one) == _INVISIBLE.sub("", other) else ""


def _case(gold: Json, extracted: Json) -> str:
    pair = _texts(gold, extracted)
    return "only the case differs" if pair and pair[0] != pair[1] and pair[0].lower() == pair[1].lower() else ""


_STROKED: Final = str.maketrans("łŁøØđĐħıİ", "lLoOdDhiI")
"""Letters with marks that Unicode does not take apart."""


def _without_marks(text: str) -> str:
    text = unicodedata.normalize("NFD", text.translate(_STROKED))
    return "".join(each for each in text if not unicodedata.combining(each))


_TRANSLITERATED: Final = str.maketrans(
    {"ä": "ae", "ö": "oe", "ü": "ue", "Ä": "Ae", "Ö": "Oe", "Ü": "Ue", "å": "aa", "ø": "oe"}
)


def _diacritics(gold: Json, extracted: Json) -> str:
    pair = _texts(gold, extracted)
    if pair is None or pair[0].lower() == pair[1].lower():
        return ""
    one, other = (text.lower() for text in pair)
    if _without_marks(one) == _without_marks(other):
        return "only diacritics differ"
    if one.translate(_TRANSLITERATED) == other or other.translate(_TRANSLITERATED) == one:
        return "letters with diacritics are written as others (ü as ue)"
    return ""


def _look_alike(gold: Json, extracted: Json) -> str:
    pair = _texts(gold, extracted)
    if pair is None:
        return ""
    one, other = (_QUOTES.sub("'", _DASHES.sub("-", text)) for text in pair)
    if pair[0] == pair[1] or one.replace("''", "'") != other.replace("''", "'"):
        return ""
    return "only dashes or quotation marks differ"


def _compatible(text: str) -> str:
    return unicodedata.normalize("NFKC", text).translate(_JOINED)


_JOINED: Final = str.maketrans({"œ": "oe", "Œ": "Oe", "æ": "ae", "Æ": "Ae", "\u2044": "/"})
"""Ligatures that Unicode takes for letters of their own."""


_LOST_LIGATURES: Final = tuple(re.compile(each) for each in ("fi", "fl", "ff", "ffi", "ff[il]?|f[il]"))


def _ligature(gold: Json, extracted: Json) -> str:
    pair = _texts(gold, extracted)
    if pair is None:
        return ""
    if pair[0] == pair[1]:
        return "the same characters are composed in another way" if gold.split() != extracted.split() else ""
    if _compatible(pair[0]) == _compatible(pair[1]):
        return "a ligature or another compatibility form of the same characters"
    for right, wrong in (pair, pair[::-1]):
        if 2 < len(wrong) < len(right) and any(wrong == lost.sub("", right) for lost in _LOST_LIGATURES):
            return "a ligature was lost"
    if "ß" in (pair[0] + pair[1]).lower() and pair[0].casefold() == pair[1].casefold():
        return "ß is written as ss, or ss as ß"
    return ""


_CODE_PAGES: Final = ("cp1252", "latin-1", "cp1250", "mac-roman", "cp437")


def _misread(text: str, page: str) -> str:
    """Return the text as a program shows it that takes its UTF-8 for another encoding."""
    try:
        return text.encode("utf-8").decode(page)
    except UnicodeError:
        return text


def _encoding(gold: Json, extracted: Json) -> str:
    pair = _texts(gold, extracted)
    if pair is None or (gold + extracted).isascii():
        return ""
    for page in _CODE_PAGES:
        for right, wrong in (pair, pair[::-1]):
            if fold(_misread(right, page)) == wrong:
                return f"UTF-8 was read as {page}"
    for right, wrong in (pair, pair[::-1]):
        if "\ufffd" in wrong and re.fullmatch(
            "".join(".{1,3}" if each == "\ufffd" else re.escape(each) for each in wrong[:200]),
            right[: len(wrong) + 600],
            re.DOTALL,
        ):
            return "characters were lost in decoding"
    return ""


_TAG: Final = re.compile(r"</?[A-Za-z][^<>]{0,200}>")
_MARKDOWN: Final = re.compile(
    r"(?:\*\*|__|~~|`|^#{1,6}\s|^>\s|^[-*]\s|\*|\[(?=[^\]]*\]\()|\]\([^)]{0,500}\)|\\(?=[^\w\s]))", re.MULTILINE
)
_LATEX: Final = re.compile(r"\\(?:text|mathrm|mathbf|textbf|textit|emph)\{([^{}]*)\}|\$")


def _without_markup(text: str) -> str:
    return fold(_MARKDOWN.sub("", html.unescape(html.unescape(text))))


def _without_escapes(text: str) -> str:
    """Read the escapes of JSON that a text still has."""
    try:
        return fold(str(json.loads(f'"{text}"', strict=False))) if "\\" in text else text
    except ValueError:
        return text


def _markup(gold: Json, extracted: Json) -> str:
    pair = _texts(gold, extracted)
    if pair is None or len(gold) + len(extracted) > LONGEST:
        return ""
    for right, wrong, says in ((*pair, "left in"), (*pair[::-1], "lost")):
        if len(wrong) > len(right) and right in {
            _without_markup(_TAG.sub("", wrong)),
            _without_markup(_TAG.sub(" ", wrong)),  # of a line or a cell
            fold(_LATEX.sub(r"\1", wrong)),
            _without_escapes(wrong),
        }:
            entity = _TAG.search(wrong) is None and "&" in wrong and html.unescape(wrong) == right
            return f"{'an entity' if entity else 'markup'} was {says}"
    return ""


def _line_break_hyphen(gold: Json, extracted: Json) -> str:
    if _texts(gold, extracted) is None:
        return ""
    one, other = (
        fold(re.sub(r"(?<=[^\W\d_])[-\u00ad\u2010]\s+(?=[^\W\d_])|\u00ad", "", side)) for side in (gold, extracted)
    )
    if one == other and fold(gold) != fold(extracted):
        return (
            "the hyphen of a line break was kept"
            if len(extracted) > len(gold)
            else "gold keeps the hyphen of a line break"
        )
    return ""


_TELEPHONE: Final = re.compile(r"[+(]?[\d\s()/.-]{7,30}")
_OF_NUMBERS: Final = re.compile(r"(?<=\d)[.,'\u2019](?=\d)|(?<!\w)[-(\u2212](?=\s?\d)")
"""A decimal sign, a separator of thousands, a minus."""


def _punctuation(gold: Json, extracted: Json) -> str:
    pair = _texts(gold, extracted)
    if pair is None or any(not _WORD.search(text) for text in pair):
        return ""
    digits = ["".join(_DIGITS.findall(text)) for text in pair]
    if digits[0] == digits[1] and all(_TELEPHONE.fullmatch(text) for text in pair):
        return "only punctuation differs"  # no decimal sign, no brackets of a loss
    if _OF_NUMBERS.findall(pair[0]) != _OF_NUMBERS.findall(pair[1]):
        return ""
    one, other = ("".join(_WORD.findall(text)) for text in pair)
    if one == other:
        return "only punctuation differs"
    return "only punctuation and case differ" if one.lower() == other.lower() else ""


# --- texts misread


_ALIKE: Final = (
    ("0", "O"), ("0", "o"), ("1", "l"), ("1", "I"), ("l", "I"), ("5", "S"), ("8", "B"), ("2", "Z"), ("6", "G"),
    ("rn", "m"), ("cl", "d"), ("vv", "w"),
)  # fmt: skip
_LOOK_LATIN: Final = str.maketrans(
    "АВЕКМНОРСТУХаеорсухіјΑΒΕΖΗΙΚΜΝΟΡΤΥΧο",  # noqa: RUF001 - Cyrillic and Greek
    "ABEKMHOPCTYXaeopcyxijABEZHIKMNOPTYXo",
)
_SHAPE: Final = str.maketrans("0OQD1I|!i5S8B2Z6G9", "oooolllllssbbzzggg")


def _shape(text: str) -> str:
    return (
        text.translate(_SHAPE)
        .replace("rn", "m")
        .replace("cl", "d")
        .replace("vv", "w")
        .replace("ü", "ii".translate(_SHAPE))
    )


def _character_misread(gold: Json, extracted: Json) -> str:
    pair = _texts(gold, extracted)
    if pair is None or not any(map(str.isalpha, gold + extracted)) or pair[0].lower() == pair[1].lower():
        return ""
    if pair[0].translate(_LOOK_LATIN) == pair[1].translate(_LOOK_LATIN):
        return "letters of two alphabets that look alike were confused"
    if _shape(pair[0]) != _shape(pair[1]):
        return ""
    if [each for each in pair[0] if each.isdigit()] != [each for each in pair[1] if each.isdigit()]:
        return "a letter and a digit that look alike were confused"
    return "letters that look alike were confused"


def _spelling(gold: Json, extracted: Json) -> str:
    pair = _texts(gold, extracted)
    if pair is None or not 5 <= len(pair[0]) <= LONGEST:
        return ""
    if [each for each in pair[0] if not each.isalpha()] != [each for each in pair[1] if not each.isalpha()]:
        return ""  # digits and signs are not spelling
    from rapidfuzz.distance import OSA

    most = 1 if len(pair[0]) < 9 else 2
    one, other = (text.lower() for text in pair)
    edits = OSA.distance(one, other, score_cutoff=most)
    if not 0 < edits <= most:
        return ""
    changed = [each for each in zip(one.split(), other.split(), strict=False) if each[0] != each[1]]
    if len(one.split()) == len(other.split()) and any(
        OSA.distance(*words) * 4 > max(map(len, words)) for words in changed
    ):
        return ""  # another short word
    return "one letter differs" if edits == 1 else "two letters differ"


# --- parts of texts


_WITHOUT_SPACES: Final = re.compile("[\u0e00-\u0eff\u3005-\u30ff\u3400-\u9fff\uf900-\ufaff]")
"""Letters of scripts that put no spaces between words."""


def _within_word(left: str, right: str) -> bool:
    """Whether a word or a number goes on from one character to the next."""
    if _WITHOUT_SPACES.match(left) or _WITHOUT_SPACES.match(right):
        return False
    return (left.isalpha() and right.isalpha()) or (left.isdecimal() and right.isdecimal())


def _truncated(gold: Json, extracted: Json) -> str:
    pair = _texts(gold, extracted)
    if pair is None:
        return ""
    for whole, part, says in ((*pair, "cut"), (*pair[::-1], "gold ends")):
        cut = part.rstrip(".… ") if part.endswith(("…", "...")) else part
        if len(cut) < 3 or len(cut) >= len(whole) or not whole.startswith(cut):
            continue
        lost = whole[len(cut) :]
        words = len(lost) if _WITHOUT_SPACES.match(lost) else len(lost.split())
        if cut is part and not _within_word(cut[-1], lost[0]) and (words < 5 or len(cut) < len(lost) / 4):
            continue  # a part at the end, which `affix` names
        if says == "cut" or cut is not part or (len(lost) > 2 and _within_word(cut[-1], lost[0])):
            return f"{says} after {len(cut):,} of {len(whole):,} characters"
    return ""


def _affix(gold: Json, extracted: Json) -> str:
    pair = _texts(gold, extracted)
    if pair is None:
        return _around_number(gold, extracted)
    if min(map(len, pair)) < 2:
        return ""
    for short, long, kept in ((*pair, True), (*pair[::-1], False)):
        if len(short) >= len(long):
            continue
        what = "kept" if kept else "lost"
        if long.endswith(short) and not _within_word(long[-len(short) - 1], short[0]):
            return f"{_quoted(fold(long[: -len(short)]))} before the value was {what}"
        if long.startswith(short) and not _within_word(short[-1], long[len(short)]):
            return f"{_quoted(fold(long[len(short) :]))} after the value was {what}"
        at = long.find(short)
        if at > 0 and not _within_word(long[at - 1], short[0]) and not _within_word(short[-1], long[at + len(short)]):
            return f"the text around the value was {what}"
        words = _words_inside(short, long)
        if words:
            return f"{_quoted(words)} inside the value was {'added' if kept else 'lost'}"
    return _around_date(*pair) or _country_code(*pair)


_DATE_WITHIN: Final = re.compile(r"(?<![\d./-])\d{1,4}([./-])\d{1,2}\1\d{2,4}(?![./-]?\d)")


def _around_date(gold: str, extracted: str) -> str:
    """Compare a date with a text that has it, in any format, beside other words."""
    for day, text, what in ((gold, extracted, "kept"), (extracted, gold, "lost")):
        within = _DATE_WITHIN.search(text) if len(text) <= LONGEST and reads_as_date(day) else None
        if within is not None and within[0] != text and are_one_day(day, within[0]):
            return f"the text beside the date was {what}"
    return ""


def _around_number(gold: Json, extracted: Json) -> str:
    """Compare a number with a text that has it beside something that is no unit."""
    number, text = (gold, extracted) if isinstance(extracted, str) else (extracted, gold)
    if not is_number(number) or not isinstance(text, str) or len(text) > LONGEST:
        return ""
    what = "kept" if text is extracted else "lost"
    amounts = read_amount(number), read_amount(text)
    if amounts[0] and amounts[1] and amounts[1].around and amounts[0].value == amounts[1].value:
        return f"{_quoted(amounts[1].around)} beside the number was {what}"
    written = re.escape(
        f"{number:.15g}" if isinstance(number, float) else f"{number:.0f}" if abs(number) < 1e15 else ""
    )
    beside = (
        re.fullmatch(rf"(?P<before>(?:.*[^\d.,])?){written}(?P<after>(?![.,]?\d).*)", fold(text)) if written else None
    )
    return f"the text beside the number was {what}" if beside and beside["before"] + beside["after"] else ""


def _words_inside(short: str, long: str) -> str:
    """Return the words of a text, at most half of it, that are all that the other lacks between its words."""
    words, more = short.split(), long.split()
    count = len(more) - len(words)
    if not 0 < count <= len(words) or len(words) < 2:
        return ""
    at = next((index for index, (one, other) in enumerate(zip(words, more, strict=False)) if one != other), 0)
    return " ".join(more[at : at + count]) if at and words[at:] == more[at + count :] else ""


def _country_code(gold: str, extracted: str) -> str:
    """Compare two telephone numbers, one of them with the code of a country."""
    if not _TELEPHONE.fullmatch(gold) or not _TELEPHONE.fullmatch(extracted):
        return ""
    one, other = (re.sub(r"\D", "", text).lstrip("0") for text in (gold, extracted))
    if one == other:
        starts = {text[: 1 if text.startswith("+") else 2] for text in (gold, extracted)}
        return "00 and + before the country code were exchanged" if starts == {"+", "00"} else ""
    long, short = sorted((one, other), key=len, reverse=True)
    if len(short) < 6 or not 1 <= len(long) - len(short) <= 3 or not long.endswith(short):
        return ""
    if not (gold if long is one else extracted).startswith(("+", "00")):
        return ""
    return f"the country code {long[: -len(short)]} was {'lost' if long is one else 'added'}"


def _word_order(gold: Json, extracted: Json) -> str:
    pair = _texts(gold, extracted)
    if pair is None:
        return ""
    one, other = (_WORD.findall(text) for text in pair)
    if len(one) < 2 or len(one) > 200 or len(one) != len(other):
        return ""
    one, other = ([word.lower() for word in words] for words in (one, other))
    if one == other or sorted(one) != sorted(other):
        return ""
    if all(word.isdigit() for word in one):
        return ""  # a date or a number
    return "the order of first and last name" if len(one) == 2 else "the same words in another order"


def _abbreviation(gold: Json, extracted: Json) -> str:
    pair = _texts(gold, extracted)
    if pair is None:
        return ""
    for long, short, says in ((*pair, "abbreviated"), (*pair[::-1], "written out")):
        words, parts = _WORD.findall(long), _WORD.findall(short)
        letters = [word[0] for word in words if word.lower() not in {"and", "of", "the", "for", "und", "der", "de"}]
        if (
            len(letters) > 2
            and len(parts) == 1
            and parts[0].isupper()
            and parts[0] in ("".join(letters).upper(), "".join(word[0] for word in words).upper())
        ):
            return f"{says}: {_quoted(short)}"
        begins = len(words) == len(parts) > 1 and all(
            word == part
            or (
                len(part) < len(word)
                and word.lower().startswith(part.lower())
                and part[0] == word[0]
                and ((len(part) == 1 and part.isupper()) or f"{part}." in short)
            )
            for word, part in zip(words, parts, strict=True)
        )
        if begins and words != parts and not any(word.isdigit() for word in words if word not in parts):
            return f"{says}: {_quoted(short)}"
    return ""


def _repeated(gold: Json, extracted: Json) -> str:
    pair = _texts(gold, extracted)
    if pair is None:
        return ""
    for once, often, what in ((*pair, "the value stands"), (*pair[::-1], "gold has the value")):
        count = len(often) // len(once) if once else 0
        if count > 1 and often.replace(" ", "") == once.replace(" ", "") * count:
            return f"{what} {count} times"
    return ""


# --- mistakes from a gold value


def _changed(value: Json, text: str) -> Json | Missing:
    return text if isinstance(value, str) and text != value else MISSING


def _make_white_space(value: Json, _random: Random) -> Json | Missing:
    return _changed(value, value.replace(" ", "", 1)) if isinstance(value, str) and len(value.split()) > 1 else MISSING


def _make_case(value: Json, random: Random) -> Json | Missing:
    return _changed(value, random.choice((value.upper(), value.lower()))) if isinstance(value, str) else MISSING


def _make_diacritics(value: Json, _random: Random) -> Json | Missing:
    return _changed(value, _without_marks(value)) if isinstance(value, str) else MISSING


def _make_look_alike(value: Json, _random: Random) -> Json | Missing:
    if not isinstance(value, str):
        return MISSING
    return _changed(value, value.replace("-", "\u2013").replace("'", "\u2019"))


def _make_ligature(value: Json, _random: Random) -> Json | Missing:
    return _changed(value, value.replace("fi", "ﬁ").replace("fl", "ﬂ")) if isinstance(value, str) else MISSING


def _make_encoding(value: Json, _random: Random) -> Json | Missing:
    return _changed(value, _misread(value, "cp1252")) if isinstance(value, str) and not value.isascii() else MISSING


def _make_markup(value: Json, random: Random) -> Json | Missing:
    if not isinstance(value, str) or not value.strip():
        return MISSING
    return random.choice((f"**{value}**", f"<b>{value}</b>")) if "&" not in value else value.replace("&", "&amp;")


def _make_hyphen(value: Json, random: Random) -> Json | Missing:
    words = list(re.findall(r"[^\W\d_]{8,}", value)) if isinstance(value, str) else []
    if not words:
        return MISSING
    word = random.choice(words)
    return value.replace(word, f"{word[:4]}-\n{word[4:]}", 1)


def _make_punctuation(value: Json, _random: Random) -> Json | Missing:
    if not isinstance(value, str) or re.search(r"\d", value):
        return MISSING
    return _changed(value, re.sub(r"[.,;:]", "", value))


def _make_misread(value: Json, random: Random) -> Json | Missing:
    if not isinstance(value, str):
        return MISSING
    pairs = [(a, b) for pair in _ALIKE for a, b in (pair, pair[::-1]) if a in value]
    for one, other in random.sample(pairs, len(pairs)):
        wrong = value.replace(one, other, 1)
        if _character_misread(value, wrong):
            return wrong
    return MISSING


def _make_spelling(value: Json, random: Random) -> Json | Missing:
    if not isinstance(value, str) or len(value) < 5 or any(map(str.isdecimal, value)):
        return MISSING
    places = [found.start() for found in re.finditer(r"[^\W\d_](?=[^\W\d_])", value)]
    if not places:
        return MISSING
    at = random.choice(places)
    return value[:at] + value[at + 1 :]


def _make_truncated(value: Json, random: Random) -> Json | Missing:
    if not isinstance(value, str) or len(value) < 12:
        return MISSING
    places = [at for at in range(len(value) // 2, len(value) - 1) if value[at - 1].isalnum() and value[at].isalnum()]
    return value[: random.choice(places)] if places else MISSING


def _make_affix(value: Json, random: Random) -> Json | Missing:
    if not isinstance(value, str) or not value.strip():
        return MISSING
    words = value.split()
    return " ".join(words[:-1]) if len(words) > 2 and len(words) < 6 and random.random() < 0.5 else f"No.: {value}"


def _make_word_order(value: Json, _random: Random) -> Json | Missing:
    words = value.split() if isinstance(value, str) else []
    if not 1 < len(words) < 6 or words[-1] == words[0] or any(map(str.isdigit, value)):
        return MISSING
    return f"{words[-1]}, {' '.join(words[:-1])}"


def _make_abbreviation(value: Json, _random: Random) -> Json | Missing:
    words = value.split() if isinstance(value, str) else []
    if not 1 < len(words) < 5 or not all(word.isalpha() and word.istitle() and len(word) > 2 for word in words):
        return MISSING
    return " ".join([f"{words[0][0]}.", *words[1:]])


def _make_repeated(value: Json, _random: Random) -> Json | Missing:
    return f"{value} {value}" if isinstance(value, str) and value.strip() else MISSING


FORMS = (
    MistakeKind(
        name="white_space",
        doc="White space inside the value was lost or added.",
        compare=_white_space,
        make=_make_white_space,
        examples=(MistakeExample(gold="ACME Tools", extracted="ACMETools", text="only white space differs"),),
    ),
    MistakeKind(
        name="case",
        doc="Only upper and lower case differ.",
        compare=_case,
        make=_make_case,
        examples=(MistakeExample(gold="ACME GmbH", extracted="Acme GmbH", text="only the case differs"),),
    ),
    MistakeKind(
        name="diacritics",
        doc="Accents and umlauts were lost, added or written as other letters.",
        compare=_diacritics,
        make=_make_diacritics,
        examples=(
            MistakeExample(gold="Müller", extracted="Muller", text="only diacritics differ"),
            MistakeExample(gold="Muller", extracted="Müller", text="only diacritics differ"),
            MistakeExample(
                gold="Müller", extracted="Mueller", text="letters with diacritics are written as others (ü as ue)"
            ),
        ),
    ),
    MistakeKind(
        name="dash_or_quote",
        doc="Another dash or quotation mark stands where the gold has one.",
        compare=_look_alike,
        make=_make_look_alike,
        examples=(
            MistakeExample(gold="2019-2024", extracted="2019\u20132024", text="only dashes or quotation marks differ"),
            MistakeExample(gold="O'Neill", extracted="O\u2019Neill", text="only dashes or quotation marks differ"),
        ),
    ),
    MistakeKind(
        name="ligature",
        doc="A ligature, a full-width letter or ß was written otherwise, or characters are composed in another way.",
        compare=_ligature,
        make=_make_ligature,
        examples=(
            MistakeExample(
                gold="final", extracted="ﬁnal", text="a ligature or another compatibility form of the same characters"
            ),
            MistakeExample(gold="Straße", extracted="Strasse", text="ß is written as ss, or ss as ß"),
        ),
    ),
    MistakeKind(
        name="encoding",
        doc="The text was decoded in a wrong encoding.",
        compare=_encoding,
        make=_make_encoding,
        examples=(
            MistakeExample(gold="Müller", extracted="MÃ¼ller", text="UTF-8 was read as cp1252"),
            MistakeExample(gold="Müller", extracted="M�ller", text="characters were lost in decoding"),
        ),
    ),
    MistakeKind(
        name="markup",
        doc="Markup of HTML, Markdown or LaTeX, an entity, or an escape of JSON was left in the value.",
        compare=_markup,
        make=_make_markup,
        examples=(
            MistakeExample(gold="ACME", extracted="**ACME**", text="markup was left in"),
            MistakeExample(gold="AT&T", extracted="AT&amp;T", text="an entity was left in"),
            MistakeExample(gold="<b>ACME</b>", extracted="ACME", text="markup was lost"),
        ),
    ),
    MistakeKind(
        name="line_break_hyphen",
        doc="The hyphen of a word that a line break divides was kept.",
        compare=_line_break_hyphen,
        make=_make_hyphen,
        examples=(
            MistakeExample(
                gold="international", extracted="inter-\nnational", text="the hyphen of a line break was kept"
            ),
        ),
    ),
)
"""The same text in another form."""

PARTS = (
    MistakeKind(
        name="punctuation",
        doc="Only punctuation differs, or punctuation and case.",
        compare=_punctuation,
        make=_make_punctuation,
        examples=(
            MistakeExample(gold="ACME, Inc.", extracted="ACME Inc", text="only punctuation differs"),
            MistakeExample(gold="net_30", extracted="Net 30", text="only punctuation and case differ"),
        ),
    ),
    MistakeKind(
        name="character_misread",
        doc="Characters that look alike were confused, as OCR does.",
        compare=_character_misread,
        make=_make_misread,
        examples=(
            MistakeExample(
                gold="AO-17B", extracted="A0-17B", text="a letter and a digit that look alike were confused"
            ),
            MistakeExample(gold="modern", extracted="modem", text="letters that look alike were confused"),
        ),
    ),
    MistakeKind(
        name="word_order",
        doc="The same words stand in another order, such as last and first name.",
        compare=_word_order,
        make=_make_word_order,
        examples=(MistakeExample(gold="John Doe", extracted="Doe, John", text="the order of first and last name"),),
    ),
    MistakeKind(
        name="repeated",
        doc="The value stands several times in a row.",
        compare=_repeated,
        make=_make_repeated,
        examples=(MistakeExample(gold="ACME", extracted="ACME ACME", text="the value stands 2 times"),),
    ),
    MistakeKind(
        name="truncated",
        doc="The end of a text was cut off.",
        compare=_truncated,
        make=_make_truncated,
        examples=(
            MistakeExample(
                gold="Delivery to the main entrance only",
                extracted="Delivery to the main ent",
                text="cut after 24 of 34 characters",
            ),
        ),
    ),
    MistakeKind(
        name="abbreviation",
        doc="The value was abbreviated or written out.",
        compare=_abbreviation,
        make=_make_abbreviation,
        examples=(
            MistakeExample(gold="John Doe", extracted="J. Doe", text="abbreviated: “J. Doe”"),
            MistakeExample(gold="IBM", extracted="International Business Machines", text="written out: “IBM”"),
        ),
    ),
    MistakeKind(
        name="affix",
        doc="A label, a title, a suffix or words between others were kept or lost.",
        compare=_affix,
        make=_make_affix,
        examples=(
            MistakeExample(gold="4711", extracted="Invoice No.: 4711", text="“Invoice No.:” before the value was kept"),
            MistakeExample(gold="ACME GmbH", extracted="ACME", text="“GmbH” after the value was lost"),
            MistakeExample(
                gold="John Michael Smith", extracted="John Smith", text="“Michael” inside the value was lost"
            ),
            MistakeExample(gold=250, extracted="approx. 250", text="“approx.” beside the number was kept"),
            MistakeExample(gold="+49 30 1234567", extracted="030 1234567", text="the country code 49 was lost"),
        ),
    ),
    MistakeKind(
        name="spelling",
        doc="One or two letters differ.",
        compare=_spelling,
        make=_make_spelling,
        examples=(MistakeExample(gold="Guadalajara", extracted="Guadalajarra", text="one letter differs"),),
    ),
)
"""A text misread, a part of it, or its words in another order."""
