"""The text of one document, prepared for many searches: folded, its numbers and dates read, its words listed."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from itertools import accumulate
from typing import Final, NamedTuple

from pytest_extract.core.values import Json
from pytest_extract.evidence.folding import DerivedText, fold_text, letters_of
from pytest_extract.evidence.notations import (
    Notation,
    date_keys,
    dates_in,
    number_key,
    numbers_in,
    scaled,
    table_units_in,
)

LONGEST_SEARCHED: Final = 20_000
"""Characters of the longest text that is searched for."""
MOST_MATCHES: Final = 10_000
"""Matches of one value that are counted."""
LEAST_LETTERS: Final = 6
"""Shorter texts are not searched for without their punctuation and spaces."""
SIMILAR_FROM: Final = 0.6
"""Least similarity of the nearest text."""
_SHORT: Final = 8
_SHORT_SIMILAR_FROM: Final = 0.87
"""Least similarity of texts of at most `_SHORT` characters."""
_MOST_NEAREST: Final = 3
_MOST_WORDS: Final = 200
"""Words of a long text by which the nearest text is found."""
_LONG: Final = 200
"""Characters of a text up to which it is aligned as a whole."""
_RARE: Final = 200
"""A word that occurs more often tells nothing about where a text stands."""
_UNSPACED: Final = "\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff\u0e00-\u0e7f"
"""Scripts without spaces between words."""
_WORD: Final = re.compile(rf"[{_UNSPACED}]|[^\W{_UNSPACED}]+")
_BOUND: Final = re.compile(rf"[^\W_{_UNSPACED}]")


class TextMatch(NamedTuple):
    """A part of a document by its offsets in all pages; `exact`: it is the value but for white space."""

    start: int
    end: int
    exact: bool = False
    similarity: float = 1.0


class TextIndex:
    """The pages of a document, prepared for searches; what a search needs is made by the first that needs it."""

    def __init__(self, pages: Sequence[str]) -> None:
        self.pages: Final = tuple(pages)
        self._text: Final = "\f".join(pages)
        self._page_starts: Final = list(accumulate((len(page) + 1 for page in pages), initial=0))[:-1]
        self._folded: Final = fold_text(self._text)

    @property
    def is_empty(self) -> bool:
        """Whether the document has no text."""
        return not self._folded.text.strip()

    def page_offsets(self, match: TextMatch) -> tuple[int, int, int]:
        """Return the number of the page from 0, and the offsets in its text; a match ends with its page."""
        page = bisect_right(self._page_starts, match.start) - 1
        first = self._page_starts[page]
        return page, match.start - first, min(match.end - first, len(self.pages[page]))

    def find(self, value: Json) -> list[TextMatch] | None:
        """Return the exact and folded matches of a text or a number in order; None for another value."""
        if isinstance(value, str):
            wanted = fold_text(value).text.strip()
            if not wanted or len(value) > LONGEST_SEARCHED:
                return None
            return self._find_text(value, wanted)
        key = number_key(value)
        if key is None:
            return None
        text = repr(value).removesuffix(".0")
        return [self._match(each.span, text) for each in self._numbers.get(key) or self._in_table_units(key)]

    def _in_table_units(self, key: str) -> list[Notation]:
        """Return the places of a number in a document that says "in thousands" or "in millions" of its tables."""
        return [
            place
            for unit in sorted(self._table_units)
            if len((less := scaled(key, 1 - len(unit))).replace(".", "").strip("0")) > 2  # fewer digits are everywhere
            for place in self._numbers.get(less, ())
        ] + self._table_units.get(key, [])

    def _find_text(self, value: str, wanted: str) -> list[TextMatch]:
        text = " ".join(value.split())
        occurrences = [*self._occurrences(self._folded.text, wanted, self._folded.span)]
        matches = [self._match(span, text) for span in occurrences]
        # Where the value itself stands, texts in another case or with other quotes are others.
        found = {(each.start, each.end) for each in matches if each.exact} or {*occurrences}
        days = date_keys(value)
        found |= {each.span for key in days for each in self._dates.get(key, ())}
        if not found:
            letters = letters_of(wanted).text
            if len(letters) >= LEAST_LETTERS:
                found |= {*self._occurrences(self._letters.text, letters, self._letter_span)}
        if not found and not days:
            found |= {each.span for key in _keys_of(value) for each in self._numbers.get(key, ())}
        widest = _without_inner(sorted(found, key=lambda span: (span[0], -span[1])))
        return [self._match(span, text) for span in widest]

    def _match(self, span: tuple[int, int], text: str) -> TextMatch:
        return TextMatch(*span, " ".join(self._text[slice(*span)].split()) == text)

    def _letter_span(self, start: int, end: int) -> tuple[int, int]:
        return self._folded.span(*self._letters.span(start, end))

    def _occurrences(
        self, text: str, wanted: str, span: Callable[[int, int], tuple[int, int]]
    ) -> Iterator[tuple[int, int]]:
        """Yield the offsets of each occurrence that does not begin or end inside a word or a number."""
        at, count = text.find(wanted), 0
        while at >= 0 and count < MOST_MATCHES:
            start, end = span(at, at + len(wanted))
            if self._is_whole(start, end):
                count += 1
                yield start, end
            at = text.find(wanted, at + 1)

    def _is_whole(self, start: int, end: int) -> bool:
        around = ((start - 1, start, start - 2), (end, end - 1, end + 1))
        return not any(
            (self._is_word(outer) and self._is_word(inner) and not self._is_note(inner, outer))
            or (self._is_digit(inner) and self._at(outer) in {".", ","} and self._is_digit(beyond))
            for outer, inner, beyond in around
        )

    def _is_note(self, inner: int, outer: int) -> bool:
        """Whether a word is followed by the number of a footnote or an affiliation: "Jane Doe1"."""
        return outer > inner and self._is_digit(outer) and not self._is_digit(inner)

    def _at(self, index: int) -> str:
        return self._text[index] if 0 <= index < len(self._text) else ""

    def _is_word(self, index: int) -> bool:
        return _BOUND.match(self._at(index)) is not None

    def _is_digit(self, index: int) -> bool:
        return self._at(index).isdecimal()

    # --- what a search may need

    @cached_property
    def _letters(self) -> DerivedText:
        return letters_of(self._folded.text)

    @cached_property
    def _numbers(self) -> dict[str, list[Notation]]:
        return _by_key(numbers_in(self._text))

    @cached_property
    def _table_units(self) -> dict[str, list[Notation]]:
        return _by_key(table_units_in(self._text))

    @cached_property
    def _dates(self) -> dict[str, list[Notation]]:
        return _by_key(dates_in(self._text))

    @property
    def dates(self) -> frozenset[str]:
        """The dates of the document, as `2024-03-15` or `2024-03`; an ambiguous one counts in each of its meanings."""
        return frozenset(self._dates)

    @cached_property
    def _words(self) -> list[tuple[str, int, int]]:
        return [(word[0], word.start(), word.end()) for word in _WORD.finditer(self._folded.text)]

    @cached_property
    def _postings(self) -> dict[str, list[int]]:
        found: dict[str, list[int]] = defaultdict(list)
        for index, (word, _, _) in enumerate(self._words):
            found[word].append(index)
        return found

    # --- the nearest text

    def nearest(self, value: Json) -> list[TextMatch]:
        """Return the parts of the text that are most similar to a text or a number, best first; at most three."""
        key = number_key(value)
        keys = [key] if key is not None else _keys_of(value) if isinstance(value, str) else []
        if keys:
            return self._nearest_notations(keys, self._numbers)
        if not isinstance(value, str):
            return []
        days = date_keys(value)
        if days:
            return self._nearest_notations(days, self._dates)
        return self._nearest_text(value)

    def _nearest_notations(self, keys: Iterable[str], notations: dict[str, list[Notation]]) -> list[TextMatch]:
        from rapidfuzz import process
        from rapidfuzz.distance import OSA

        found: list[TextMatch] = []
        for key in keys:
            scorer = OSA.normalized_similarity
            for other, similarity, _ in process.extract(
                key, notations.keys(), scorer=scorer, score_cutoff=SIMILAR_FROM, limit=_MOST_NEAREST
            ):
                place = notations[other][0]
                found.append(TextMatch(place.start, place.end, similarity=min(similarity, 0.99)))
        return sorted(set(found), key=lambda match: -match.similarity)[:_MOST_NEAREST]

    def _nearest_text(self, value: str) -> list[TextMatch]:
        from rapidfuzz import fuzz

        wanted = fold_text(value).text.strip()
        words = [word[0] for word in _WORD.finditer(wanted)][:_MOST_WORDS]
        found: dict[tuple[int, int], float] = {}
        for first in self._likely_starts(words):
            last = min(first + len(words) + 1, len(self._words))
            start, end = self._words[max(first - 1, 0)][1], self._words[last - 1][2]
            if len(words) == _MOST_WORDS:
                end = min(max(end, start + len(wanted) + 20), len(self._folded.text))
            part = _most_similar_part(wanted, self._folded.text[start:end])
            if not part:
                continue
            begin, stop = self._whole_words(start + part.start, start + part.stop)
            similarity = fuzz.ratio(wanted, self._folded.text[begin:stop]) / 100
            if similarity >= (SIMILAR_FROM if len(wanted) > _SHORT else _SHORT_SIMILAR_FROM):
                found[self._folded.span(begin, stop)] = min(similarity, 0.99)
        best: dict[str, TextMatch] = {}
        for span, similarity in sorted(found.items(), key=lambda item: (-item[1], item[0])):
            best.setdefault(self._text[slice(*span)], TextMatch(*span, similarity=similarity))
        return [*best.values()][:_MOST_NEAREST]

    def _likely_starts(self, words: Sequence[str]) -> list[int]:
        """Return the indices of the words at which the text most likely begins, by its rare words."""
        starts: Counter[int] = Counter()
        for index, word in enumerate(words):
            places = self._postings.get(word, ())
            if 0 < len(places) <= _RARE:
                starts.update({max(place - index, 0): 1 for place in places})
        if not starts:
            starts.update(self._similar_words(words))
        return [start for start, _ in starts.most_common(2 * _MOST_NEAREST)]

    def _similar_words(self, words: Sequence[str]) -> Iterator[int]:
        from rapidfuzz import fuzz, process

        for word in sorted({*words}, key=lambda each: -len(each))[:_MOST_NEAREST]:
            alike = process.extract(
                word, self._postings.keys(), scorer=fuzz.ratio, score_cutoff=70, limit=_MOST_NEAREST
            )
            for other, _, _ in alike:
                yield from (max(place - words.index(word), 0) for place in self._postings[other][:_MOST_NEAREST])

    def _whole_words(self, start: int, end: int) -> tuple[int, int]:
        """Extend a part of the folded text to whole words, without spaces at its ends."""
        text = self._folded.text
        while start > 0 and _BOUND.match(text[start]) and _BOUND.match(text[start - 1]):
            start -= 1
        while end < len(text) and _BOUND.match(text[end - 1]) and _BOUND.match(text[end]):
            end += 1
        part = text[start:end]
        return start + len(part) - len(part.lstrip()), end - len(part) + len(part.rstrip())


def _most_similar_part(wanted: str, text: str) -> range:
    """Return where the part of a text stands that is most similar to another: by the ends of that, where it is long.

    The time of an alignment grows with the cube of the length.
    """
    from rapidfuzz import fuzz

    if len(wanted) <= _LONG:
        whole = fuzz.partial_ratio_alignment(wanted, text)
        return range(0) if whole is None else range(whole.dest_start, whole.dest_end)
    rest = max(0, len(text) - 2 * _LONG)
    head = fuzz.partial_ratio_alignment(wanted[:_LONG], text[: 2 * _LONG])
    tail = fuzz.partial_ratio_alignment(wanted[-_LONG:], text[rest:])
    return range(0) if head is None or tail is None else range(head.dest_start, rest + tail.dest_end)


def _by_key(notations: Iterable[Notation]) -> dict[str, list[Notation]]:
    found: dict[str, list[Notation]] = defaultdict(list)
    for notation in notations:
        for key in notation.keys:
            if len(found[key]) < MOST_MATCHES:
                found[key].append(notation)
    return dict(found)


def _keys_of(value: str) -> list[str]:
    """Return the keys of a text that is one number, with a currency, a unit or a scale at most; [] for others."""
    notations = [*numbers_in(value)]
    if not notations or len(value) > 60:
        return []
    whole = [each for each in notations if each.end - each.start == max(n.end - n.start for n in notations)]
    rest = value[: whole[0].start] + value[whole[0].end :]
    if any(character.isdecimal() for character in rest) or sum(map(str.isalpha, rest)) > 4:
        return []
    return [key for each in whole for key in each.keys]


def _without_inner(spans: Iterable[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Leave out what lies inside another span: a month and a year inside a day."""
    end = -1
    for span in spans:
        if span[1] > end:
            end = span[1]
            yield span
