"""A JSON value as a short text that is safe to print, and how two values differ: marked characters, list items."""

from __future__ import annotations

import json
import math
import re
import unicodedata
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any, Final, NamedTuple

from pytest_extract.core.metrics.numbers import error_text
from pytest_extract.core.values import MISSING, FieldPath, Json, Missing, canonical_json, json_type
from pytest_extract.report.lines import (
    ELLIPSIS,
    Line,
    Span,
    left_part,
    line,
    plural,
    right_part,
    safe,
    safe_prose,
    shorten,
    text_width,
)

_MOST_PARTS: Final = 12
WHOLE: Final = 1_000_000
"""Width at which values are shown whole; only megabytes are shortened."""
_LEAST_TEXT: Final = 8
"""Columns of a text that is shortened."""


def show(value: Json | Missing, width: int, *, at: int = 0) -> str:
    """Write a value as JSON-like text of about `width` columns, with marks for what is left out.

    Of a long text, the part around the character `at` is shown, by default its beginning and its end.
    """
    match value:
        case Missing.MISSING:
            return "(missing)"
        case str():
            return _show_text(value, width, at)
        case list() | dict():
            return _show_container(value, width)
        case int() if not isinstance(value, bool) and value.bit_length() > 10_000:
            return f"(an integer of {value.bit_length():,} bits)"
        case _:
            return shorten(safe(_scalar_text(value)), width)


def _scalar_text(value: object) -> str:
    if type(value) is float and math.isfinite(value):  # `json.dumps` writes the same in ten times the time
        return repr(value)
    if value is None or isinstance(value, bool | int | float):
        return json.dumps(value)
    return repr(value)


def _show_text(value: str, width: int, at: int) -> str:
    # The text is cut before it is escaped, so that the time does not grow with its length.
    if len(value) <= max(width - 2, 5):
        shown = safe(value)
        if text_width(shown) <= width - 2:
            return f'"{shown}"'
    count = f" ({len(value):,} characters)"
    room = width - len(count) - 2
    if room < _LEAST_TEXT:  # the text says more than its length
        count, room = "", max(width - 2, _LEAST_TEXT)
    head, tail = room * 2 // 3, room - room * 2 // 3 - 1
    if len(value) <= room and text_width(value) <= room:
        return f'"{shorten(safe(value), max(width - 2, _LEAST_TEXT))}"'
    if at > len(left_part(value[:room], head)):
        return f'"{_text_around(value, at, room)}"{count}'
    begin, end = left_part(value[:head], head), right_part(value[max(len(value) - tail, 0) :], tail)
    return f'"{shorten(safe(begin + ELLIPSIS + end), room)}"{count}'


def _text_around(value: str, at: int, room: int) -> str:
    """Show the part around the character `at`, which is near the end if the text ends soon after it."""
    most = room - 2
    after = left_part(value[at : at + most], most - room // 2)
    before = right_part(value[max(at - most, 0) : at], most - text_width(after))
    part = left_part(safe(before + after), most)
    return f"{ELLIPSIS}{part}{ELLIPSIS if at + len(after) < len(value) else ''}"


def _show_container(value: list[Json] | dict[str, Json], width: int) -> str:
    """Show all of a container if it fits, else its first items, with counts of what is inside them."""
    if width >= WHOLE:
        return shorten(safe(json.dumps(value, ensure_ascii=False, default=repr)), width)
    whole = _inline_text(value, width)
    if whole is not None:
        return whole
    opening, closing = ("[", "]") if isinstance(value, list) else ("{", "}")
    parts: list[str] = []
    used = 2
    for name, item in _labelled_items(value):
        room = width - len(f", {ELLIPSIS} {len(value) - len(parts) - 1:,} more") * (len(parts) + 1 < len(value))
        text = shorten(name + _item_text(item, max(width // 2, 12)), max(room - 2, 12))
        if parts and used + text_width(text) + 2 > room:
            break
        parts.append(text)
        used += text_width(text) + 2
    left = len(value) - len(parts)
    more = f", {ELLIPSIS} {left:,} more" if left else ""
    return f"{opening}{', '.join(parts)}{more}{closing}"


def _labelled_items(value: list[Json] | dict[str, Json]) -> Iterator[tuple[str, Json]]:
    if isinstance(value, dict):
        return ((f"{safe(str(key))}: ", item) for key, item in islice(value.items(), _MOST_PARTS))
    return (("", item) for item in islice(value, _MOST_PARTS))


def _item_text(item: Json, width: int) -> str:
    if isinstance(item, list | dict):
        return _inline_text(item, width) or _size_text(item)
    return show(item, width)


def _inline_text(value: Json, room: int) -> str | None:
    """Write a whole value; None if it takes more than `room` characters."""
    if isinstance(value, str):
        text = f'"{safe(value)}"' if len(value) <= room else ""
        return text if text and text_width(text) <= room else None
    if not isinstance(value, list | dict):
        text = show(value, room)
        return text if text_width(text) <= room else None
    if len(value) > _MOST_PARTS or room < 2:
        return None
    parts: list[str] = []
    left = room - 2
    for name, item in _labelled_items(value):
        inner = _inline_text(item, left - text_width(name))
        if inner is None:
            return None
        parts.append(name + inner)
        left -= text_width(parts[-1]) + 2
    text = ", ".join(parts)
    if text_width(text) > room - 2:
        return None
    return f"[{text}]" if isinstance(value, list) else f"{{{text}}}"


def _size_text(value: list[Json] | dict[str, Json]) -> str:
    if not value:
        return "[]" if isinstance(value, list) else "{}"
    return f"[{plural(len(value), 'item')}]" if isinstance(value, list) else f"{{{plural(len(value), 'key')}}}"


ALIKE: Final = 0.4
"""In texts less similar than this, no characters are marked."""
LONGEST_COMPARED: Final = 4_000
"""Characters compared from the first difference on; the rest counts as one difference."""
_BY_LETTER: Final = 60
"""Longer texts are compared word by word, shorter ones by character."""
_WORD: Final = re.compile(r"\w+|\s+|[^\w\s]")
_LAST_WORD: Final = re.compile(r"\w+\Z")
_FIRST_WORD: Final = re.compile(r"\A\w+")
_AROUND: Final = 20
"""Least number of equal characters shown before the first mark and after the last."""
_BETWEEN: Final = 40
_MORE: Final = 26
"""Width of the text that counts the differences not shown."""


class CharacterRun(NamedTuple):
    """A part of both texts, in which they agree (`same`) or differ."""

    gold: str
    extracted: str
    same: bool


def first_difference(gold: str, extracted: str) -> int:
    """Return the index of the first difference, or the length of the shorter text if the other begins with it."""
    from rapidfuzz.distance import Prefix

    return Prefix.similarity(gold, extracted)


class TextDiff(NamedTuple):
    """Two similar texts: their common beginning, the runs that agree or differ, and their common end."""

    before: str
    runs: Sequence[CharacterRun]
    after: str


def diff_texts(gold: str, extracted: str) -> TextDiff | None:
    """Split two texts into equal and different runs; None for equal and for dissimilar texts."""
    if gold == extracted:
        return None
    start, end = _common_ends(gold, extracted)
    if max(len(gold), len(extracted)) - start - end > _BY_LETTER:
        start -= _word_length(_LAST_WORD, gold[max(start - _BETWEEN, 0) : start])
        end -= _word_length(_FIRST_WORD, gold[len(gold) - end :][:_BETWEEN])
    one, other = gold[start : len(gold) - end], extracted[start : len(extracted) - end]
    runs = _join_close_changes(_character_runs(one, other))
    equal = start + end + sum(len(run.gold) for run in runs if run.same)
    if equal < ALIKE * max(len(gold), len(extracted)):
        return None
    return TextDiff(gold[:start], runs, gold[len(gold) - end :])


def _word_length(part: re.Pattern[str], text: str) -> int:
    """Return the length of the word at the end or beginning of a text; words are compared whole."""
    found = part.search(text)
    return len(found[0]) if found else 0


def _common_ends(gold: str, extracted: str) -> tuple[int, int]:
    """Return the length of the common beginning, and of the common end of the rest."""
    from rapidfuzz.distance import Postfix

    start = first_difference(gold, extracted)
    return start, Postfix.similarity(gold[start:], extracted[start:])


def _character_runs(gold: str, extracted: str) -> list[CharacterRun]:
    """Split two texts into runs that agree or differ, with the fewest changed characters or words."""
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


def _join_close_changes(runs: Sequence[CharacterRun]) -> list[CharacterRun]:
    """Join changes that are longer than the text between them: `[2024→1999]`, not `[+1][-2][0→9][2→9][-4]`."""
    done: list[CharacterRun] = []
    for run in runs:
        now = run
        while (
            done
            and not now.same
            and (
                not done[-1].same
                or (len(done) > 1 and len(done[-1].gold) <= min(_run_length(now), _run_length(done[-2])))
            )
        ):
            before = done.pop()
            now = CharacterRun(before.gold + now.gold, before.extracted + now.extracted, same=False)
        done.append(now)
    return done


def _run_length(run: CharacterRun) -> int:
    return max(len(run.gold), len(run.extracted))


def _marked_window(before: str, runs: Sequence[CharacterRun], after: str, width: int) -> list[Span]:
    """Show the marks with some context; count the differences that do not fit."""
    free = width - sum(_run_length(run) + 3 for run in runs)
    around = max(_AROUND, free // 2, free - len(after))
    kept = [Span((ELLIPSIS if len(before) > around else "") + safe(before[-around:]))]
    used = len(kept[0].text)
    for index, run in enumerate(runs):
        left = sum(not each.same for each in runs[index:])
        if not run.same and used >= width - _MORE * (left > 1) and len(kept) > 1:
            return [*kept, Span(f"{ELLIPSIS} and {plural(left, 'more difference')}")]
        room = max(width - used, 16)
        kept.append(Span(shorten(safe(run.gold), min(room, _BETWEEN))) if run.same else _marked_change(run, room))
        used += len(kept[-1].text)
    around = max(width - used, _AROUND // 2)
    kept.append(Span(safe(after[:around]) + (ELLIPSIS if len(after) > around else "")))
    return [span for span in kept if span.text]


def _marked_change(run: CharacterRun, room: int) -> Span:
    if not run.extracted:
        return Span(f"[-{shorten(safe(run.gold), room)}]", "mark")
    if not run.gold:
        return Span(f"[+{shorten(safe(run.extracted), room)}]", "mark")
    return Span(f"[{shorten(safe(run.gold), room // 2)}→{shorten(safe(run.extracted), room // 2)}]", "mark")


def look_alike_text(gold: str, extracted: str) -> str:
    """Name the code points of the first differing characters if they look alike; otherwise return an empty text."""
    start, end = _common_ends(gold, extracted)
    one, other = gold[start : len(gold) - end], extracted[start : len(extracted) - end]
    run = next((run for run in _join_close_changes(_character_runs(one, other)) if not run.same), None)
    if run is None or not _look_alike(run.gold, run.extracted):
        return ""
    return f"gold has {_code_points(run.gold)}, extracted {_code_points(run.extracted)}"


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


def _code_points(text: str) -> str:
    codes = " ".join(f"U+{ord(char):04X}" for char in text)
    return f"{codes} {unicodedata.name(text, '')}".strip() if len(text) == 1 else codes


_BEFORE_DIFFERENCE: Final = 40
"""Characters shown before the first difference of long texts."""


class SideBySide(NamedTuple):
    """Both values as lines; `marked`: the differing characters are marked."""

    gold: Line
    extracted: Line
    marked: bool = False


def side_by_side(gold: Json | Missing, extracted: Json | Missing, width: int) -> SideBySide:
    """Write both values in about `width` characters each, with the differences of similar texts marked."""
    parts = diff_texts(gold, extracted) if isinstance(gold, str) and isinstance(extracted, str) else None
    if parts is None:
        return SideBySide((Span(show(gold, width)),), (Span(show(extracted, width)),))
    before, after = (parts.before, True), (parts.after, True)
    ours = [before, *((run.gold, run.same) for run in parts.runs), after]
    theirs = [before, *((run.extracted, run.same) for run in parts.runs), after]
    long = max(sum(len(text) for text, _ in side) for side in (ours, theirs)) > width
    start = max(len(parts.before) - _BEFORE_DIFFERENCE, 0) if long else 0
    return SideBySide(_marked_line(ours, start, width), _marked_line(theirs, start, width), marked=True)


def _marked_line(pieces: Sequence[tuple[str, bool]], start: int, width: int) -> Line:
    """Write at most `width` characters from `start` on, and the length of the whole text."""
    size = sum(len(text) for text, _ in pieces)
    spans = [Span(ELLIPSIS if start else '"')]
    at = 0
    for text, same in pieces:
        seen = safe(text[max(start - at, 0) : max(start + width - at, 0)])
        spans.append(Span(seen, "plain" if same else "mark"))
        at += len(text)
    whole = start + width >= size
    spans.append(Span('"' if whole else ELLIPSIS))
    if start or not whole:
        spans.append(Span(f" ({size:,} characters)", "dim"))
    return tuple(span for span in spans if span.text)


LARGEST_CONTAINERS: Final = 100_000
"""Containers whose JSON texts together are longer than this are not compared inside: deepdiff takes seconds."""


def container_difference(gold: Json, extracted: Json, width: int, *, limit: int | None) -> Line:
    """List the first `limit` differences as `path gold→extracted`, and count the others."""
    from deepdiff import DeepDiff

    try:
        if len(canonical_json([gold, extracted])) > LARGEST_CONTAINERS:
            return line(Span("too large to be compared inside", "dim"))
        tree: Any = DeepDiff(gold, extracted, view="tree", ignore_numeric_type_changes=False)
        changes = [(kind, change) for kind in sorted(tree) for change in tree[kind]]
    except RecursionError:
        return line(Span("nested too deeply to be compared inside", "dim"))
    texts = []
    for kind, change in changes[:limit]:
        place = safe_prose(str(FieldPath(change.path(output_format="list"))))
        one, other = show(change.t1, width // 2), show(change.t2, width // 2)
        what = f"lost {one}" if kind.endswith("_removed") else f"invented {other}" if kind.endswith("_added") else ""
        texts.append(f"{place} {what or f'{one}→{other}'}")
    left = len(changes) - len(texts)
    return line(Span("; ".join(texts), "mark"), f"; … {plural(left, 'more difference')}" if left else "")


def value_difference(gold: Json | Missing, extracted: Json | Missing, width: int) -> Line:
    """Describe the difference of two values: marked characters, the error of a number, or their types.

    In about `width` characters around the first difference `ACME Gmb[H→h]` was replaced, `[-lost]` is only in gold,
    `[+invented]` only in the extracted text. No spans for dissimilar texts, and if the two values show all of it.
    """
    if gold is MISSING or extracted is MISSING or gold is None or extracted is None:
        return ()
    if isinstance(gold, str) and isinstance(extracted, str):
        parts = diff_texts(gold, extracted)
        return () if parts is None else tuple(_marked_window(parts.before, parts.runs, parts.after, width))
    if _is_number(gold) and _is_number(extracted):
        return line(_number_difference(gold, extracted))
    if json_type(gold) != json_type(extracted):
        return line(f"{json_type(extracted)} where gold has {json_type(gold)}")
    return ()


def _is_number(value: Json) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _number_difference(gold: float, extracted: float) -> str:
    try:
        off, size = float(extracted - gold), abs(float(gold))
    except OverflowError:  # an integer may have thousands of digits
        return "off by more than a float holds"
    if not math.isfinite(off):
        return ""
    if abs(off) >= 100 * size:
        return f"off by {error_text(off, '+')}"
    relative = off / size
    return f"off by {relative:+.2%}" if abs(relative) >= 0.0001 else f"off by {relative:+.1e} of gold"
