"""Gold and extracted side by side, each with the characters marked that the other one does not have."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from pytest_extract.core.values import Json, Missing
from pytest_extract.report.lines import ELLIPSIS, Line, Span, safe
from pytest_extract.report.values import show

_ALIKE: Final = 0.4
"""Texts less similar than this differ throughout: marking single characters would only confuse."""
_LEAD: Final = 40
"""Characters shown before the first difference of texts that are too long to be shown whole."""
_TOGETHER: Final = 2
"""Differences with no more equal characters than this between them are marked as one: single letters confuse."""


class Sides(NamedTuple):
    """Both values as lines, at most about as wide as asked for."""

    gold: Line
    extracted: Line


def sides(gold: Json | Missing, extracted: Json | Missing, width: int) -> Sides:
    """Write both values; texts that are alike have their differences marked, and the first one is in view."""
    if isinstance(gold, str) and isinstance(extracted, str) and gold != extracted:
        start = max(_first_difference(gold, extracted) - _LEAD, 0) if max(len(gold), len(extracted)) > width else 0
        changes = _changes(gold[start : start + width], extracted[start : start + width])
        if changes:
            ours, theirs = zip(*changes, strict=True)
            return Sides(_marked(gold, start, width, ours), _marked(extracted, start, width, theirs))
    return Sides((Span(show(gold, width)),), (Span(show(extracted, width)),))


class _Piece(NamedTuple):
    """A stretch of a text that differs."""

    start: int
    end: int


def _first_difference(one: str, other: str) -> int:
    size = min(len(one), len(other))
    if one[:size] == other[:size]:
        return size
    low, high = 0, size  # the texts agree before `low`, and no longer before `high`
    while high - low > 1:
        middle = (low + high) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle
    return low


def _changes(gold: str, extracted: str) -> list[tuple[_Piece, _Piece]]:
    """Return what to mark in both texts; nothing where they differ throughout."""
    from rapidfuzz.distance import Levenshtein

    if Levenshtein.normalized_similarity(gold, extracted) < _ALIKE:
        return []
    found: list[tuple[_Piece, _Piece]] = []
    for step in Levenshtein.opcodes(gold, extracted):
        if step.tag == "equal":
            continue
        ours, theirs = _Piece(step.src_start, step.src_end), _Piece(step.dest_start, step.dest_end)
        if found and ours.start - found[-1][0].end <= _TOGETHER:
            before = found.pop()
            ours, theirs = _Piece(before[0].start, ours.end), _Piece(before[1].start, theirs.end)
        found.append((ours, theirs))
    return found


def _marked(text: str, start: int, width: int, pieces: Sequence[_Piece]) -> Line:
    window = text[start : start + width]
    spans = [Span(ELLIPSIS if start else '"')]
    at = 0
    for piece in pieces:
        spans += [Span(safe(window[at : piece.start])), Span(safe(window[piece.start : piece.end]), "mark")]
        at = piece.end
    spans.append(Span(safe(window[at:])))
    whole = start + width >= len(text)
    spans.append(Span('"' if whole else ELLIPSIS))
    if start or not whole:
        spans.append(Span(f" ({len(text):,} characters)", "dim"))
    return tuple(span for span in spans if span.text)
