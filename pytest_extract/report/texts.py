"""What differs inside two texts: the differing characters marked, and named where they look alike."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from typing import Final, NamedTuple

from pytest_extract.report.lines import ELLIPSIS, Span, plural, safe, shorten

ALIKE: Final = 0.4
"""Texts less similar than this differ throughout: marking single characters would only confuse."""
LONGEST_COMPARED: Final = 4_000
"""Characters that are compared between the first and the last difference; what is beyond counts as one difference."""
_BY_LETTER: Final = 60
"""Longer stretches are compared word by word: people read words."""
_WORD: Final = re.compile(r"\w+|\s+|[^\w\s]")
_LAST_WORD: Final = re.compile(r"\w+\Z")
_FIRST_WORD: Final = re.compile(r"\A\w+")
_AROUND: Final = 20
"""Equal characters shown before the first mark and after the last, at least."""
_BETWEEN: Final = 40
_MORE: Final = 26
"""Characters that it takes to say how many differences are not shown."""


class CharacterRun(NamedTuple):
    """A stretch of both texts; `same` where they agree."""

    gold: str
    extracted: str
    same: bool


def first_difference(gold: str, extracted: str) -> int:
    """Return the index of the first character that differs; the shorter length where one text begins the other."""
    size = min(len(gold), len(extracted))
    if gold[:size] == extracted[:size]:
        return size
    low, high = 0, size  # equal up to `low`, no longer up to `high`; slices compare at the speed of memory
    while high - low > 1:
        middle = (low + high) // 2
        if gold[low:middle] == extracted[low:middle]:
            low = middle
        else:
            high = middle
    return low


def text_difference(gold: str, extracted: str, width: int) -> tuple[Span, ...]:
    """Mark what differs, in about `width` characters around the first difference; no spans for texts unlike throughout.

    `ACME Gmb[H→h]` was replaced, `[-lost]` is only in gold, `[+invented]` only in the extracted text.
    """
    parts = cut(gold, extracted)
    return () if parts is None else tuple(_window(parts.before, parts.runs, parts.after, width))


class Cut(NamedTuple):
    """Two texts that are alike: what both begin with, the stretches where they differ and agree, what both end in."""

    before: str
    runs: Sequence[CharacterRun]
    after: str


def cut(gold: str, extracted: str) -> Cut | None:
    """Cut two texts where they differ; None for equal texts and for texts unlike throughout."""
    if gold == extracted:
        return None
    start, end = _common(gold, extracted)
    if max(len(gold), len(extracted)) - start - end > _BY_LETTER:
        start -= _length(_LAST_WORD, gold[max(start - _BETWEEN, 0) : start])
        end -= _length(_FIRST_WORD, gold[len(gold) - end :][:_BETWEEN])
    one, other = gold[start : len(gold) - end], extracted[start : len(extracted) - end]
    runs = _joined(_runs(one, other))
    equal = start + end + sum(len(run.gold) for run in runs if run.same)
    if equal < ALIKE * max(len(gold), len(extracted)):
        return None
    return Cut(gold[:start], runs, gold[len(gold) - end :])


def _length(part: re.Pattern[str], text: str) -> int:
    """Return the length of the word that a text ends or begins in: words are compared whole."""
    found = part.search(text)
    return len(found[0]) if found else 0


def _common(gold: str, extracted: str) -> tuple[int, int]:
    """Return how many characters both texts begin and, apart from those, end with."""
    start = first_difference(gold, extracted)
    size = min(len(gold), len(extracted)) - start
    return start, first_difference(gold[len(gold) - size :][::-1], extracted[len(extracted) - size :][::-1])


def _runs(gold: str, extracted: str) -> list[CharacterRun]:
    """Cut two texts into stretches that agree and that differ, with as few characters or words changed as can be."""
    from rapidfuzz.distance import Levenshtein

    if not gold or not extracted:
        return [CharacterRun(gold, extracted, same=False)]
    by_letter = max(len(gold), len(extracted)) <= _BY_LETTER
    one, other = (list(text) if by_letter else _WORD.findall(text[:LONGEST_COMPARED]) for text in (gold, extracted))
    runs = [
        CharacterRun(
            "".join(one[step.src_start : step.src_end]),
            "".join(other[step.dest_start : step.dest_end]),
            same=step.tag == "equal",
        )
        for step in Levenshtein.opcodes(one, other)
    ]
    rest = CharacterRun(gold[LONGEST_COMPARED:], extracted[LONGEST_COMPARED:], same=False)
    return [*runs, rest] if rest.gold or rest.extracted else runs


def _joined(runs: Sequence[CharacterRun]) -> list[CharacterRun]:
    """Join changes with less between them than they change themselves: `[2024→1999]`, not `[+1][-2][0→9][2→9][-4]`."""
    done: list[CharacterRun] = []
    for run in runs:
        now = run
        while done and not now.same and not done[-1].same:
            now = _sum(done.pop(), now)
        while not now.same and len(done) > 1 and len(done[-1].gold) <= min(_size(now), _size(done[-2])):
            between, before = done.pop(), done.pop()
            now = _sum(_sum(before, between), now)
        done.append(now)
    return done


def _sum(one: CharacterRun, other: CharacterRun) -> CharacterRun:
    return CharacterRun(one.gold + other.gold, one.extracted + other.extracted, same=False)


def _size(run: CharacterRun) -> int:
    return max(len(run.gold), len(run.extracted))


def _window(before: str, runs: Sequence[CharacterRun], after: str, width: int) -> list[Span]:
    """Show the marks with a little around them; say how many more differences there are."""
    free = width - sum(_size(run) + 3 for run in runs)
    around = max(_AROUND, free // 2, free - len(after))
    kept = [Span((ELLIPSIS if len(before) > around else "") + safe(before[-around:]))]
    used = len(kept[0].text)
    for index, run in enumerate(runs):
        left = sum(not each.same for each in runs[index:])
        if not run.same and used >= width - _MORE * (left > 1) and len(kept) > 1:
            return [*kept, Span(f"{ELLIPSIS} and {plural(left, 'more difference')}")]
        room = max(width - used, 16)
        kept.append(Span(shorten(safe(run.gold), min(room, _BETWEEN))) if run.same else _mark(run, room))
        used += len(kept[-1].text)
    around = max(width - used, _AROUND // 2)
    kept.append(Span(safe(after[:around]) + (ELLIPSIS if len(after) > around else "")))
    return [span for span in kept if span.text]


def _mark(run: CharacterRun, room: int) -> Span:
    if not run.extracted:
        return Span(f"[-{shorten(safe(run.gold), room)}]", "mark")
    if not run.gold:
        return Span(f"[+{shorten(safe(run.extracted), room)}]", "mark")
    return Span(f"[{shorten(safe(run.gold), room // 2)}→{shorten(safe(run.extracted), room // 2)}]", "mark")


def look_alike(gold: str, extracted: str) -> str:
    """Name the first characters that differ where they can hardly be told apart by eye; else nothing."""
    start, end = _common(gold, extracted)
    one, other = gold[start : len(gold) - end], extracted[start : len(extracted) - end]
    run = next((run for run in _joined(_runs(one, other)) if not run.same), None)
    if run is None or not _look_alike(run.gold, run.extracted):
        return ""
    return f"gold has {_named(run.gold)}, extracted {_named(run.extracted)}"


def _look_alike(gold: str, extracted: str) -> bool:
    if not gold or not extracted or max(len(gold), len(extracted)) > 3 or (gold + extracted).isascii():
        return False
    if unicodedata.normalize("NFKC", gold) == unicodedata.normalize("NFKC", extracted):
        return True
    kinds = {unicodedata.category(char)[0] for char in gold + extracted}
    if kinds == {"L"}:
        return len(gold) == len(extracted) and _scripts(gold) != _scripts(extracted)
    return len(kinds) == 1 and kinds <= {"P", "S", "Z"}


def _scripts(text: str) -> list[str]:
    """Name the script of each letter: the first word of its Unicode name, `LATIN` or `CYRILLIC`."""
    return [unicodedata.name(char, "?").partition(" ")[0] for char in text]


def _named(text: str) -> str:
    codes = " ".join(f"U+{ord(char):04X}" for char in text)
    return f"{codes} {unicodedata.name(text, '')}".strip() if len(text) == 1 else codes
