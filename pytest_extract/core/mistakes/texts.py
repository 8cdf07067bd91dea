"""Mistakes in texts: the same text in another form, a part of it, or a text misread."""

from __future__ import annotations

import html
import re
import unicodedata
from random import Random
from typing import Final

from pytest_extract.core.metrics.equality import fold
from pytest_extract.core.mistakes.base import MistakeExample, MistakeKind
from pytest_extract.core.values import MISSING, Json, Missing

_DASHES: Final = re.compile("[\u2010-\u2015\u2212\ufe58\ufe63\uff0d]")
_QUOTES: Final = re.compile('[\u2018\u2019\u201a\u201b\u2032\u02bc\u00b4`\u201c\u201d\u201e\u201f\u2033\u00ab\u00bb"]')
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


def _quoted(text: str) -> str:
    return f"“{text if len(text) <= _SOME else f'{text[: _SOME - 1]}…'}”"


# --- forms of the same text


def _white_space(gold: Json, extracted: Json) -> str:
    pair = _texts(gold, extracted)
    if pair is None or "".join(pair[0].split()) != "".join(pair[1].split()):
        return ""
    return "only white space differs"


def _case(gold: Json, extracted: Json) -> str:
    pair = _texts(gold, extracted)
    return "only the case differs" if pair and pair[0] != pair[1] and pair[0].lower() == pair[1].lower() else ""


def _without_marks(text: str) -> str:
    return "".join(each for each in unicodedata.normalize("NFD", text) if not unicodedata.combining(each))


_TRANSLITERATED: Final = str.maketrans(
    {"ä": "ae", "ö": "oe", "ü": "ue", "Ä": "Ae", "Ö": "Oe", "Ü": "Ue", "å": "aa", "ø": "oe", "æ": "ae", "ł": "l"}
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
    return unicodedata.normalize("NFKC", text)


def _ligature(gold: Json, extracted: Json) -> str:
    pair = _texts(gold, extracted)
    if pair is None or pair[0] == pair[1]:
        return ""
    if _compatible(pair[0]) == _compatible(pair[1]):
        return "a ligature or another compatibility form of the same characters"
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
    if "\ufffd" in extracted and re.fullmatch(
        "".join(".{1,3}" if each == "\ufffd" else re.escape(each) for each in pair[1][:200]),
        pair[0][: len(pair[1]) + 600],
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
    text = html.unescape(_TAG.sub("", text))
    return fold(_MARKDOWN.sub("", text))


def _markup(gold: Json, extracted: Json) -> str:
    pair = _texts(gold, extracted)
    if pair is None or len(gold) + len(extracted) > LONGEST:
        return ""
    for right, wrong, says in ((*pair, "left in"), (*pair[::-1], "lost")):
        if len(wrong) > len(right) and right in {_without_markup(wrong), fold(_LATEX.sub(r"\1", wrong))}:
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


def _punctuation(gold: Json, extracted: Json) -> str:
    pair = _texts(gold, extracted)
    if pair is None or any(not _WORD.search(text) for text in pair):
        return ""
    if re.search(r"\d[^\w\s]\s?\d|^[-(\u2212]\s?\d", gold + " " + extracted):  # a decimal point, a date, a sign
        return ""
    one, other = (_WORD.findall(text) for text in pair)
    return "only punctuation differs" if one == other or "".join(one) == "".join(other) else ""


# --- texts misread


_ALIKE: Final = (
    ("0", "O"), ("0", "o"), ("1", "l"), ("1", "I"), ("l", "I"), ("5", "S"), ("8", "B"), ("2", "Z"), ("6", "G"),
    ("rn", "m"), ("cl", "d"), ("vv", "w"),
)  # fmt: skip
_SHAPE: Final = str.maketrans("0OQD1I|!i5S8B2Z6G9", "oooolllllssbbzzggg")


def _shape(text: str) -> str:
    return text.translate(_SHAPE).replace("rn", "m").replace("cl", "d").replace("vv", "w")


def _character_misread(gold: Json, extracted: Json) -> str:
    pair = _texts(gold, extracted)
    if pair is None or not any(map(str.isalpha, gold + extracted)) or pair[0].lower() == pair[1].lower():
        return ""
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
    edits = OSA.distance(pair[0].lower(), pair[1].lower(), score_cutoff=most)
    if not 0 < edits <= most:
        return ""
    return "one letter differs" if edits == 1 else "two letters differ"


# --- parts of texts


def _truncated(gold: Json, extracted: Json) -> str:
    pair = _texts(gold, extracted)
    if pair is None:
        return ""
    whole, part = pair
    cut = part.rstrip(".… ") if part.endswith(("…", "...")) else part
    if not cut or len(cut) >= len(whole) or not whole.startswith(cut):
        return ""
    lost = whole[len(cut) :]
    inside = cut[-1].isalnum() and lost[0].isalnum()
    if cut is part and not inside and (len(lost.split()) < 5 or len(cut) < len(lost) / 4):
        return ""  # a part at the end, which `affix` names
    return f"cut after {len(cut):,} of {len(whole):,} characters"


def _affix(gold: Json, extracted: Json) -> str:
    pair = _texts(gold, extracted)
    if pair is None or min(map(len, pair)) < 2:
        return ""
    for short, long, kept in ((*pair, True), (*pair[::-1], False)):
        if len(short) >= len(long):
            continue
        for part, edge, place in (
            (long[: len(long) - len(short)], long.endswith(short), "before"),
            (long[len(short) :], long.startswith(short), "after"),
        ):
            joint = part[-1:] + short[:1] if place == "before" else short[-1:] + part[:1]
            if edge and not joint.isalnum() and fold(part):
                return f"{_quoted(fold(part))} {place} the value was {'kept' if kept else 'lost'}"
        at = long.find(short)
        if at > 0 and not (long[at - 1] + short[0]).isalnum() and not (short[-1] + long[at + len(short)]).isalnum():
            return f"the text around the value was {'kept' if kept else 'lost'}"
    return ""


def _word_order(gold: Json, extracted: Json) -> str:
    pair = _texts(gold, extracted)
    if pair is None:
        return ""
    one, other = (_WORD.findall(text) for text in pair)
    if len(one) < 2 or one == other or len(one) > 200 or sorted(map(str.lower, one)) != sorted(map(str.lower, other)):
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
    if pair is None or not pair[0] or len(pair[1]) < 2 * len(pair[0]):
        return ""
    count, rest = divmod(len(pair[1]) + 1, len(pair[0]) + 1)
    if count > 1 and not rest and pair[1] == " ".join([pair[0]] * count):
        return f"the value stands {count} times"
    return (
        f"the value stands {len(pair[1]) // len(pair[0])} times"
        if pair[1] == pair[0] * (len(pair[1]) // len(pair[0]))
        else ""
    )


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
        doc="A ligature, a full-width letter or ß was written otherwise.",
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
        doc="Markup of HTML, Markdown or LaTeX, or an entity, was left in the value.",
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
        doc="Only punctuation differs.",
        compare=_punctuation,
        make=_make_punctuation,
        examples=(MistakeExample(gold="ACME, Inc.", extracted="ACME Inc", text="only punctuation differs"),),
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
        name="repeated",
        doc="The value stands several times in a row.",
        compare=_repeated,
        make=_make_repeated,
        examples=(MistakeExample(gold="ACME", extracted="ACME ACME", text="the value stands 2 times"),),
    ),
    MistakeKind(
        name="affix",
        doc="A label, a title or a suffix beside the value was kept or lost.",
        compare=_affix,
        make=_make_affix,
        examples=(
            MistakeExample(gold="4711", extracted="Invoice No.: 4711", text="“Invoice No.:” before the value was kept"),
            MistakeExample(gold="ACME GmbH", extracted="ACME", text="“GmbH” after the value was lost"),
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
