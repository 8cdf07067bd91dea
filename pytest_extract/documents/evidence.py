"""Evidence: the places in a document where a value stands, and the nearest text if it stands nowhere.

`find_evidence` searches the text of a document: exactly, then folded (white space, case, dashes, quotes, ligatures,
line breaks inside words; numbers and dates in any notation), then by similarity. `find_boxes` gives the places on the
page of a PDF.
"""

from __future__ import annotations

import re
import unicodedata
from array import array
from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Context, Decimal
from enum import StrEnum
from functools import cached_property, lru_cache
from itertools import accumulate, chain, islice
from typing import Final, NamedTuple, TypeAlias

from pytest_extract.core.metrics.dates import MONTHS, full_year, read_ordered
from pytest_extract.core.metrics.numbers import LOCALES, PERCENT, currency_of, read_digits, scale_of
from pytest_extract.core.metrics.quantity import read_unit
from pytest_extract.core.values import FieldPath, Json, is_number, iter_leaves, short_repr
from pytest_extract.core.words import first_of
from pytest_extract.documents import Box, Document, DocumentError

__all__ = ("Box", "Evidence", "MatchLevel", "TextLocation", "find_boxes", "find_evidence")

MOST_LOCATIONS: Final = 20
"""Locations listed for one value; further ones are counted."""
LONGEST_SEARCHED: Final = 20_000
"""Characters of the longest text that is searched for."""
MOST_MATCHES: Final = 10_000
"""Matches of one value that are counted."""
_MOST_COMPARED: Final = 2_000_000
_LEAST_COMPARED: Final = 20
"""Characters, and matches in any case, whose groups of digits are compared with those of one value."""
LEAST_LETTERS: Final = 6
"""Shorter texts are not searched for without their punctuation and spaces."""
LEAST_MIXED: Final = 4
"""The same, of texts with letters and digits."""
LEAST_IDENTIFIER: Final = 7
"""Digits of the shortest number whose digits may stand in other groups: a telephone or card number, no amount."""
SIMILAR_FROM: Final = 0.6
"""Least similarity of the nearest text."""
_SHORT: Final = 8
_SHORT_SIMILAR_FROM: Final = 0.87
"""Least similarity of texts of at most `_SHORT` characters."""
_LONG: Final = 200
"""Characters of a text up to which it is aligned as a whole: the time grows with the cube of the length."""
_UNSPACED: Final = "\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff\u0e00-\u0e7f"
"""Scripts without spaces between words."""
_BOUND: Final = rf"[^\W_{_UNSPACED}]"
_INSIDE_WORD: Final = re.compile(rf"(?<={_BOUND}){_BOUND}")
_GOES_BACK: Final = re.compile(rf"(?<=\d[.,])\d|(?<={_BOUND}){_BOUND}")
"""Where a word or a number that began before goes on."""
_GOES_ON: Final = re.compile(rf"(?<=\d)[.,]?\d|(?<={_BOUND})(?!\d){_BOUND}")
"""The same, but for the number of a footnote or an affiliation behind a word: "Jane Doe1"."""
Span: TypeAlias = tuple[int, int]
"""Offsets in the text of all pages."""
Notation: TypeAlias = tuple[int, int, Iterable[str]]
"""A number or a date in a text: its offsets, and the keys of what it can mean: `1234.5`, `2024-03-15`, `2024-03`."""


class MatchLevel(StrEnum):
    """How the text at a location agrees with the value."""

    EXACT = "exact"
    FOLDED = "folded"
    FUZZY = "fuzzy"


class TextLocation(NamedTuple):
    """A part of the text of a document.

    `page`, `line` and `column` count from 1; `page` is None for a document without pages. `start` and `end` are offsets
    in the text of its page (`document.pages`), in characters from 0; `quote` is the text between them. `similarity` is
    in [0, 1], and 1.0 unless `level` is fuzzy.
    """

    page: int | None
    line: int
    column: int
    start: int
    end: int
    quote: str
    level: MatchLevel
    similarity: float = 1.0

    def __str__(self) -> str:
        page = f"page {self.page}, " if self.page is not None else ""
        return f"{page}line {self.line}, column {self.column}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """Where a value stands in a document.

    `locations`: the exact and folded ones in the order of the text, at most as many as were asked for; `count` counts
    all of them. `nearest`: if there is none, the most similar part of the text.
    """

    locations: tuple[TextLocation, ...] = ()
    count: int = 0
    nearest: TextLocation | None = None

    @property
    def found(self) -> bool:
        """Whether the value stands in the document, exactly or folded."""
        return self.count > 0


def find_evidence(
    document: Document, value: Json, *, most: int = MOST_LOCATIONS, nearest: bool = True
) -> Evidence | None:
    """Return where a text or a number stands in a document; None for a value that is not searched for.

    These are null, booleans, lists, objects, empty texts and those of more than 20,000 characters. With `nearest=False`
    the most similar part of the text is not searched for. The index of the document is made once and kept until
    `document.release()`. Raises DocumentError for a document without text: an image, a scanned PDF, a broken file.
    """
    index = document.once("evidence", lambda: _TextIndex(document.pages))
    if not index.folded.text.strip():
        raise DocumentError(f"{document.path or 'the document'}: has no text (a scan?), so no value can be found in it")
    if isinstance(value, dict | list):
        return None
    key = type(value), value, most, nearest  # columns of tables hold the same value many times
    if key not in index.known:
        index.known[key] = index.evidence(value, most, nearest=nearest)
    return index.known[key]


def stands_in(document: Document, value: Json) -> bool | None:
    """Whether a value stands in a document; None for one that no text can show (a boolean, null)."""
    evidence = find_evidence(document, value, most=1, nearest=False)
    return None if evidence is None else evidence.found


def find_boxes(document: Document, locations: Sequence[TextLocation]) -> list[tuple[Box, ...]]:
    """Return for each location its boxes on the page of a PDF, one for each line of text; none in other documents.

    The PDF is opened once for all locations. Raises DocumentError for a file that cannot be read.
    """
    return document.boxes([((location.page or 1) - 1, location.start, location.end) for location in locations])


class _TextIndex:
    """The pages of a document, prepared for searches; what a search needs is made by the first that needs it."""

    def __init__(self, pages: Sequence[str]) -> None:
        self._pages = tuple(pages)
        self._text = "\f".join(pages)
        self._page_starts = list(accumulate((len(page) + 1 for page in pages), initial=0))[:-1]
        self._line_ends = [[end.start() for end in re.finditer("\n", page)] for page in pages]
        self.folded = _folded_text(self._text)
        self.known: dict[Hashable, Evidence | None] = {}

    def evidence(self, value: Json, most: int, *, nearest: bool) -> Evidence | None:
        """Return where a text or a number stands; None for a value that is not searched for."""
        wanted = _folded_text(value).text.strip() if isinstance(value, str) else ""
        if isinstance(value, str):
            if not wanted or len(value) > LONGEST_SEARCHED:
                return None
            days = date_keys(value)
            keys = days or _keys_of(value)
            found = self._find_text(value, wanted, keys, is_date=bool(days))
        elif (key := number_key(value)) is not None:
            keys = [key]
            found = self._notations.get(key) or self._in_table_units(key)
        else:
            return None
        if found:
            return Evidence(locations=tuple(self.location(span, value) for span in found[:most]), count=len(found))
        similar = None
        if nearest:
            similar = self._nearest_notation(keys) if keys else self._nearest_text(wanted)
        return Evidence(nearest=None if similar is None else self.location(similar[0], value, similar[1]))

    @cached_property
    def _letters(self) -> _DerivedText:
        return _letters_of(self.folded.text)

    @cached_property
    def _notations(self) -> dict[str, list[Span]]:
        """The places of numbers and dates by what they can mean."""
        dates = ((*found.span(), _date_keys(found[0])) for found in _DATE.finditer(self._text))
        return _by_key(chain(numbers_in(self._text), dates))

    @cached_property
    def _table_units(self) -> dict[str, list[Span]]:
        """The places that say in which unit tables are ("in millions"), by the unit as a number."""
        found = _TABLE_UNIT.finditer(self._text)
        return _by_key((*unit.span(1), [plain_number("1", _TABLE_UNITS[unit[1].lower()])]) for unit in found)

    def location(self, span: Span, value: Json, similarity: float = 1.0) -> TextLocation:
        """Return the place of a part of the text, which ends with its page."""
        page = bisect_right(self._page_starts, span[0]) - 1
        text = self._pages[page]
        start, end = span[0] - self._page_starts[page], min(span[1] - self._page_starts[page], len(text))
        level = MatchLevel.EXACT if self._is_exact(span, value) else MatchLevel.FOLDED
        return TextLocation(
            page=page + 1 if len(self._pages) > 1 else None,
            line=bisect_left(self._line_ends[page], start) + 1,
            column=start - text.rfind("\n", 0, start),
            start=start,
            end=end,
            quote=text[start:end],
            level=MatchLevel.FUZZY if similarity < 1 else level,
            similarity=similarity,
        )

    def _is_exact(self, span: Span, value: Json) -> bool:
        """Whether a part of the text is the value but for white space."""
        text = value if isinstance(value, str) else repr(value).removesuffix(".0")
        return self._text[slice(*span)].split() == text.split()

    def _in_table_units(self, key: str) -> list[Span]:
        """Return the places of a number in a document that says "in thousands" or "in millions" of its tables."""
        return [
            place
            for unit in sorted(self._table_units)
            if len((less := plain_number(key, 1 - len(unit))).replace(".", "").strip("0")) > 2  # fewer are everywhere
            for place in self._notations.get(less, ())
        ] + self._table_units.get(key, [])

    def _find_text(self, value: str, wanted: str, keys: Sequence[str], *, is_date: bool) -> list[Span]:
        occurrences = [*self._occurrences(self.folded.text, wanted, self.folded.span)]
        # Where the value itself stands, texts in another case or with other quotes are others.
        found = {span for span in occurrences if self._is_exact(span, value)} or {*occurrences}
        if is_date or not found:
            found |= {span for key in keys for span in self._notations.get(key, ())}
        found = found or {*self._spelled(wanted, is_number=bool(keys) and not is_date)}
        widest: list[Span] = []
        for span in sorted(found, key=lambda span: (span[0], -span[1])):
            if not widest or span[1] > widest[-1][1]:  # not what lies inside another: a month and a year inside a day
                widest.append(span)
        return widest

    def _spelled(self, wanted: str, *, is_number: bool) -> Iterator[Span]:
        """Yield where the letters and digits of a folded text stand with other punctuation between them.

        A number has no other punctuation; its digits may be those of an identifier ("4111 1111 1111 1111").
        """
        letters = _letters_of(wanted).text
        has_both = any(map(str.isdecimal, letters)) and any(map(str.isalpha, letters))
        if len(letters) < (LEAST_MIXED if has_both else LEAST_LETTERS) or (is_number and letters not in wanted):
            return
        most = max(_LEAST_COMPARED, _MOST_COMPARED // len(letters))
        found = self._occurrences(
            self._letters.text, letters, lambda *ends: self.folded.span(*self._letters.span(*ends))
        )
        for span in islice(found, most):
            if _same_digits(wanted, _folded_text(self._text[slice(*span)]).text):
                yield span

    def _occurrences(
        self, text: str, wanted: str, span: Callable[[int, int], tuple[int, int]]
    ) -> Iterator[tuple[int, int]]:
        """Yield the offsets of each occurrence that does not begin or end inside a word or a number."""
        at, count = text.find(wanted), 0
        while at >= 0 and count < MOST_MATCHES:
            start, end = span(at, at + len(wanted))
            if not _GOES_BACK.match(self._text, start) and not _GOES_ON.match(self._text, end):
                count += 1
                yield start, end
            at = text.find(wanted, at + 1)

    # --- the nearest text

    def _nearest_notation(self, keys: Iterable[str]) -> tuple[Span, float] | None:
        from rapidfuzz import process
        from rapidfuzz.distance import OSA

        similar = []
        for key in keys:
            of_its_kind = [other for other in self._notations if ("-" in other) == ("-" in key)]
            for other, similarity, _ in process.extract(
                key, of_its_kind, scorer=OSA.normalized_similarity, score_cutoff=SIMILAR_FROM, limit=1
            ):
                span = self._notations[other][0]
                similar.append((similarity, -span[0], span))
        return (max(similar)[2], min(max(similar)[0], 0.99)) if similar else None

    def _nearest_text(self, wanted: str) -> tuple[Span, float] | None:
        from rapidfuzz import fuzz

        text = self.folded.text
        head = fuzz.partial_ratio_alignment(wanted[:_LONG], text)
        if head is None:
            return None
        start, end = head.dest_start, head.dest_end
        if len(wanted) > _LONG:
            from_end = max(start + len(wanted) - 2 * _LONG, end)
            tail = fuzz.partial_ratio_alignment(wanted[-_LONG:], text[from_end : start + len(wanted) + 2 * _LONG])
            end = end if tail is None else from_end + tail.dest_end
        start, end = self._whole_words(start, end)
        similarity = fuzz.ratio(wanted, text[start:end]) / 100
        if similarity < (SIMILAR_FROM if len(wanted) > _SHORT else _SHORT_SIMILAR_FROM):
            return None
        return self.folded.span(start, end), min(similarity, 0.99)

    def _whole_words(self, start: int, end: int) -> tuple[int, int]:
        """Extend a part of the folded text to whole words, without spaces at its ends."""
        text = self.folded.text
        while _INSIDE_WORD.match(text, start):
            start -= 1
        while _INSIDE_WORD.match(text, end):
            end += 1
        part = text[start:end]
        return start + len(part) - len(part.lstrip()), end - len(part) + len(part.rstrip())


def _by_key(notations: Iterable[Notation]) -> dict[str, list[Span]]:
    found: dict[str, list[Span]] = defaultdict(list)
    for start, end, keys in notations:
        for key in keys:
            if len(found[key]) < MOST_MATCHES:
                found[key].append((start, end))
    return dict(found)


def _keys_of(value: str) -> list[str]:
    """Return the keys of a text that is one number, with a currency, a unit or a scale at most; [] for others."""
    notations = [*numbers_in(value)] if len(value) <= LONGEST_NOTATION else []
    if not notations:
        return []
    width = max(end - start for start, end, _ in notations)
    whole = [each for each in notations if each[1] - each[0] == width]
    before, after = value[: whole[0][0]].strip(_AROUND), value[whole[0][1] :].strip(_AROUND_END)
    if any(map(str.isdecimal, before + after)):
        return []
    if (any(map(str.isalpha, before)) and not currency_of(before, "")) or not _is_unit(after):
        return []
    return [key for _, _, keys in whole for key in keys]


_AROUND: Final = " \t\n\u00a0+-\u2212\u2013()\u00b1~"
_AROUND_END: Final = " \t\n\u00a0()."
"""What stands around a number and is no part of it."""


def _is_unit(text: str) -> bool:
    """Whether a text is a currency or a unit, or several, if it has letters: "EUR", "TEUR", "kWh", "EUR/kWh"."""
    if not any(map(str.isalpha, text)):
        return True
    parts = [text] if currency_of(text, "") else re.split(r"\s*/\s*|\s+", text)
    return all(currency_of(part, "") or currency_of(part.removeprefix("T"), "") or read_unit(part) for part in parts)


_IDENTIFIER: Final = re.compile(r"(?:[a-z]{2}\d\d)?[\d\W_]+|[a-z]{2}\d\d[a-z]{4}[\d\W_]+")
"""A folded telephone or card number, or IBAN."""


def _same_digits(value: str, text: str) -> bool:
    """Whether two folded texts of the same letters and digits have the same numbers in them.

    An identifier, which no amount is, may have its digits in more groups or in fewer (`LEAST_IDENTIFIER`).
    """
    ends, others = ({*accumulate(map(len, re.findall(r"\d+", each)))} for each in (value, text))
    if ends == others or not (ends <= others or ends >= others):
        return ends == others
    return bool(_IDENTIFIER.fullmatch(value)) and max(ends) >= LEAST_IDENTIFIER and not _keys_of(text)


_DASHES: Final = "\u2010\u2011\u2012\u2013\u2014\u2015\u2212\ufe58\ufe63\uff0d"
_QUOTES: Final = "\u2018\u2019\u201a\u201b\u2032\u02bc\u00b4\u201c\u201d\u201e\u201f\u2033\u00ab\u00bb\u2039\u203a"
_PLAIN: Final = str.maketrans('"`', "''")
_LOOK_ALIKE: Final = {ord(each): "-" for each in _DASHES} | {ord(each): "'" for each in _QUOTES}
_INVISIBLE: Final = frozenset("\u00ad\u200b\u200c\u200d\u2060\ufeff\ufffe")
_MARKS: Final = "\u0300-\u036f"
_PIECES: Final = re.compile(
    rf"((?:[\x21-\x7e](?![{_MARKS}]))+(?: (?:[\x21-\x7e](?![{_MARKS}]))+)*)|(\s+)|(.[{_MARKS}]*)", re.DOTALL
)
"""Plain ASCII words with single spaces between them; white space; another character with its combining marks."""
_LETTERS: Final = re.compile(r"[^\W_]+")


class _DerivedText:
    """A text made from pieces of another, each with the offsets of its origin; `span` leads back.

    A piece as long as its origin is its characters.
    """

    def __init__(self, pieces: Iterable[tuple[str, int, int]]) -> None:
        parts: list[str] = []
        self._starts, self._ends = array("I"), array("I")
        for text, start, end in pieces:
            parts.append(text)
            if len(text) == end - start:
                self._starts.extend(range(start, end))
                self._ends.extend(range(start + 1, end + 1))
            else:
                self._starts.extend([start] * len(text))
                self._ends.extend([end] * len(text))
        self.text: Final = "".join(parts)

    def span(self, start: int, end: int) -> tuple[int, int]:
        """Return the offsets in the origin of the characters from `start` to `end`, of which there is at least one."""
        return self._starts[start], self._ends[end - 1]


def _folded_text(text: str) -> _DerivedText:
    """Fold a text: lower case, equal dashes and quotes, no ligatures, no invisible characters, one space for many."""
    pieces = _PIECES.finditer(text)
    return _DerivedText((_FOLDS[piece.lastindex or 0](piece[0]), piece.start(), piece.end()) for piece in pieces)


@lru_cache(maxsize=4096)
def _folded_character(character: str) -> str:
    if character in _INVISIBLE:
        return ""
    text = unicodedata.normalize("NFKC", character).casefold()
    return unicodedata.normalize("NFC", text).translate(_LOOK_ALIKE).translate(_PLAIN)


_FOLDS: Final = (str, lambda plain: plain.lower().translate(_PLAIN), lambda _space: " ", _folded_character)
"""By the number of its group, how a piece of a text (`_PIECES`) is folded."""


def _letters_of(text: str) -> _DerivedText:
    """Keep the letters and digits of a text: neither punctuation, nor spaces, nor hyphens at the end of a line."""
    return _DerivedText((piece[0], piece.start(), piece.end()) for piece in _LETTERS.finditer(text))


# --- numbers and dates in a text, in whatever notation, each with the values that it can mean

_SEPARATORS: Final = str.maketrans("\uff0c\uff0e\u066c\u066b\uff05", ",.,.%")
"""Separators and percent signs of other scripts."""
_NUMBER: Final = re.compile(r"(?<!\d)(?:(?<![^\s($€£¥+\-\u2212\u2013])[.,])?\d+(?:[.,'\u2019\u00a0\u202f\u2009]\d+)*")
_SPACED: Final = re.compile(r"(?<![\d.,])\d{1,3}(?:[ \u00a0]\d{3})+(?:[.,]\d+)?(?![\d])")
_STYLES: Final = tuple(dict.fromkeys(LOCALES.values()))
_WORD_BEHIND: Final = re.compile(rf"[\s\u00a0-]?({'|'.join(sorted(PERCENT))}|[^\W\d_]+)(?![^\W\d_])", re.IGNORECASE)
_EXACT: Final = Context(prec=200)
LONGEST_NUMBER: Final = 40
"""Digits of the longest number that is looked for."""
LONGEST_NOTATION: Final = 60
"""Characters of the longest text that can be a number or a date."""
_MONTH: Final = "|".join(sorted(MONTHS, key=len, reverse=True))
_YEAR: Final = rf"\d{{4}}(?!\d)|\d\d(?!\d|[.,:]\d|\s?[ap]\.?m\b|[\s-]{{1,3}}(?:{_MONTH})(?![^\W\d_]))"
"""Two digits are a year beside a month in words, unless a time or another date begins with them."""
_DATE: Final = re.compile(
    r"(?<!\d)(?:\d{4}[-/.]\d\d?[-/.]\d\d?|\d{4}-\d\d(?![-\d]))(?!\d)"
    r"|(?<![\d.])(?:\d\d?([-/.])\d\d?\1(?:\d{4}|\d\d)|\d\d?\.\s\d\d?\.\s\d{4})(?!\d)"
    rf"|(?<![^\W_])(?:{_MONTH})\.?[\s-]{{1,3}}\d\d?(?:st|nd|rd|th)?,?[\s-]{{1,3}}\d{{4}}(?!\d)"
    rf"|(?<!\d)\d\d?(?:st|nd|rd|th|er|\.)?[\s/-]{{0,3}}(?:(?:de|of)\s)?(?:{_MONTH})[.,]?[\s/-]{{0,3}}(?:(?:de|del)\s)?"
    rf"(?:{_YEAR})"
    rf"|(?<![^\W_])(?:{_MONTH})[.,]?[\s-]{{1,3}}\d{{4}}(?!\d)"
    r"|\d{4}\s?年(?:\s?\d\d?\s?月(?:\s?\d\d?\s?日)?)?",
    re.IGNORECASE,
)


def numbers_in(text: str) -> Iterator[Notation]:
    """Yield the numbers of a text; "1.234" can mean 1234 as well as 1.234, and "5 %" 5 as well as 0.05."""
    text = text.translate(_SEPARATORS)
    for found in _NUMBER.finditer(text):
        if found.end() - found.start() > LONGEST_NUMBER:
            continue
        keys = _readings(found[0])
        if not keys:  # a date or a section's number: each of its parts is a number
            for part in re.finditer(r"\d+", found[0]):
                yield found.start() + part.start(), found.start() + part.end(), (plain_number(part[0]),)
            continue
        yield *found.span(), keys
        word = _WORD_BEHIND.match(text, found.end())
        power = None if word is None else _power_of(word[1].casefold())
        if word is not None and power is not None:
            yield found.start(), word.end(), [plain_number(key, power) for key in keys]
    for found in _SPACED.finditer(text):
        yield *found.span(), (plain_number(re.sub(r"\s", "", found[0]).replace(",", ".")),)


_TABLE_UNITS: Final = {"thousands": 3, "millions": 6, "billions": 9, "tsd": 3, "mio": 6, "mrd": 9, "000": 3, "000s": 3}
_TABLE_UNIT: Final = re.compile(
    r"(?:\bin\s+(?:[A-Z$€£]{1,4}\s?)?|[$€£(']\s?)(thousands|millions|billions|tsd|mio|mrd|000s?)\b",
    re.IGNORECASE,
)


@lru_cache(maxsize=4096)
def _readings(token: str) -> tuple[str, ...]:
    """Return what digits with separators can mean, in any style; nothing if they are no number."""
    read = {value for style in _STYLES if (value := read_digits(token, [style])) is not None}
    if token.endswith("000") and read:
        read = {max(read)}  # nobody writes 17 as 17,000
    exact = (_EXACT.divide(Decimal(value.numerator), Decimal(value.denominator)) for value in sorted(read))
    return tuple(map(plain_number, exact))


@lru_cache(maxsize=4096)
def _power_of(word: str) -> int | None:
    """Return the power of ten that a word behind a number means; None for another word."""
    factor = None if word == "t" else scale_of(word, _STYLES)  # in documents it is a tonne, or the T of "T€"
    return -2 if word in PERCENT else None if factor is None else len(str(factor)) - 1


def plain_number(number: str | Decimal, power: int = 0) -> str:
    """Return the one spelling of a number times a power of ten: its key, without sign and zeros that say nothing."""
    return f"{Decimal(number).copy_abs().scaleb(power, _EXACT).normalize(_EXACT):f}"


def number_key(value: Json) -> str | None:
    """Return the key of a number; None for a value that is none, or too long."""
    if not is_number(value) or (isinstance(value, int) and value.bit_length() > LONGEST_NUMBER * 4):
        return None
    key = plain_number(repr(value))
    return key if key[0].isdecimal() and len(key) <= 2 * LONGEST_NUMBER else None


def _date_keys(text: str) -> list[str]:
    """Return what a date can mean, by day and month in either order."""
    text = text.replace(",", " ")
    if not re.search(r"\d{4}", text):
        text = re.sub(r"\d\d$", lambda year: str(full_year(int(year[0]))), text)
    dates = (read_ordered(text, order) for order in ("DMY", "MDY"))
    return list(dict.fromkeys(str(date) for date in dates if date is not None and date.month is not None))


def date_keys(text: str) -> list[str]:
    """Return what a text can mean that is a date and nothing else, as `2024-03-15` or `2024-03`; [] for others."""
    text = text.strip()
    found = _DATE.match(text) if len(text) <= LONGEST_NOTATION else None
    if found is None or not re.fullmatch(r"(?:[T ]\d\d?:\d\d.{0,20})?", text[found.end() :]):
        return []
    return _date_keys(found[0])


# --- lines that look like the rows of a list, and that none of its rows is read from
#
# It needs no gold: a table of twenty lines of which an output has eighteen is seen by the shape of the lines.

_MOST_LINES: Final = 200
_NUMBER_WORD: Final = re.compile(r"[^\w\s]{0,3}\d[\d.,'/:-]*[^\w\s]{0,2}[A-Za-z]{0,3}")
_NEAR: Final = 3
"""Lines that may stand between two rows: the second line of a cell, a heading."""
_LEAST_ROWS: Final = 3
_LEAST_VALUES: Final = 2
_LEAST_SHARE: Final = 0.25


def more_rows(document: Document, value: Json) -> Iterator[tuple[FieldPath, str]]:
    """Yield the lists of a value for which the document shows more rows, with a sentence that names the lines.

    These stand near the lines of the rows, have their shape and hold no row of any list and no text of a single field.
    A row belongs to the line that holds most of its values, at least two. Raises DocumentError for a document without
    text.
    """
    lines = [
        (page if len(document.pages) > 1 else None, number, text)
        for page, content in enumerate(document.pages, start=1)
        for number, text in enumerate(content.split("\n"), start=1)
    ]
    places = {line[:2]: index for index, line in enumerate(lines)}

    def lines_with(leaf: Json) -> set[int]:
        evidence = find_evidence(document, leaf, most=_MOST_LINES, nearest=False)
        return set() if evidence is None else {places[each.page, each.line] for each in evidence.locations}

    def lines_of(rows: list[Json]) -> set[int]:
        counts = [Counter(line for _, leaf in iter_leaves(row) for line in lines_with(leaf)) for row in rows]
        return {line for each in counts for line, count in each.most_common(1) if count >= _LEAST_VALUES}

    lists = {
        path: (len(rows), lines_of(rows))
        for path, rows in iter_leaves(value, containers=True)
        if isinstance(rows, list) and any(isinstance(row, dict) for row in rows)
    }
    near = {path: _lines_like([text for *_, text in lines], taken) for path, (_, taken) in lists.items()}
    known = set[int]().union(*(taken for _, taken in lists.values()))
    for place, leaf in iter_leaves(value) if any(near.values()) else ():
        is_row = any(isinstance(step, int) for step in place)
        if isinstance(leaf, str) and " " in leaf.strip() and not is_row:  # one word may be in every row
            known |= lines_with(leaf)
    for path, (count, _) in lists.items():
        if missing := [lines[index] for index in sorted(near[path] - known)]:
            named = [
                f"{'' if page is None else f'page {page}, '}line {number} {short_repr(' '.join(text.split()), 60)}"
                for page, number, text in missing
            ]
            verb = "1 more line looks like one" if len(missing) == 1 else f"{len(missing)} more lines look like some"
            yield path, f"has {count} rows; {verb}: {'; '.join(first_of(named, 3))}"


def _lines_like(lines: Sequence[str], taken: set[int]) -> set[int]:
    """Return the lines of rows, and those near them of the same shape; none where there is no usual shape."""
    shapes = Counter(_shape(lines[index]) for index in taken)
    usual = {shape for shape, count in shapes.items() if count >= max(2, _LEAST_SHARE * len(taken)) and len(shape) > 1}
    if len(taken) < _LEAST_ROWS or not usual:
        return set()
    alike = [index for index, line in enumerate(lines) if index in taken or _shape(line) in usual]
    near = set(taken)
    for order in (alike, alike[::-1]):  # down from each row, then up
        for index in order:
            if not near.isdisjoint(range(index - _NEAR, index + _NEAR + 1)):
                near.add(index)
    return near


def _shape(line: str) -> str:
    """Return the numbers and words of a line in order, words side by side as one: "wnnn"."""
    return re.sub("w+", "w", "".join("n" if _NUMBER_WORD.fullmatch(word) else "w" for word in line.split()))
