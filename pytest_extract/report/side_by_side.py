"""Gold and extracted side by side, each with the characters marked that the other one does not have."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from pytest_extract.core.values import Json, Missing
from pytest_extract.report.lines import ELLIPSIS, Line, Span, safe
from pytest_extract.report.texts import cut
from pytest_extract.report.values import show

_LEAD: Final = 40
"""Characters shown before the first difference of texts that are too long to be shown whole."""


class SideBySide(NamedTuple):
    """Both values as lines, at most about as wide as asked for; `marked`: the differing characters are."""

    gold: Line
    extracted: Line
    marked: bool = False


class _Piece(NamedTuple):
    text: str
    same: bool


def side_by_side(gold: Json | Missing, extracted: Json | Missing, width: int) -> SideBySide:
    """Write both values; texts that are alike have their differences marked, and the first one is in view."""
    parts = cut(gold, extracted) if isinstance(gold, str) and isinstance(extracted, str) else None
    if parts is None:
        return SideBySide((Span(show(gold, width)),), (Span(show(extracted, width)),))
    before, after = _Piece(parts.before, same=True), _Piece(parts.after, same=True)
    ours = [before, *(_Piece(run.gold, run.same) for run in parts.runs), after]
    theirs = [before, *(_Piece(run.extracted, run.same) for run in parts.runs), after]
    long = max(sum(len(piece.text) for piece in side) for side in (ours, theirs)) > width
    start = max(len(parts.before) - _LEAD, 0) if long else 0
    return SideBySide(_line(ours, start, width), _line(theirs, start, width), marked=True)


def _line(pieces: Sequence[_Piece], start: int, width: int) -> Line:
    """Write the characters from `start` on, at most `width` of them, and say what the whole is."""
    size = sum(len(piece.text) for piece in pieces)
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
