"""Where a model's thoughts begin and end in its answer, in the notations of the common models and servers.

What stands in thoughts is a draft, and no answer.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, NamedTuple

from pytest_extract.lazy import lazy_pattern

_NAMES: Final = r"(?:\w{1,20}:)?(?:think|thinking|thoughts?|reasoning|reflection|scratchpad|inner_monologue|analysis)"
_NOTATIONS: Final = (
    (rf"(?i:<{_NAMES}(?:\s[^<>]*+)?>)", rf"(?i:</{_NAMES}\s*+>)"),
    (r"\[THINK(?:ING)?\]", r"\[/THINK(?:ING)?\]"),
    ("◁think▷", "◁/think▷"),
    (r"<\|think\|>", r"<\|/think\|>"),
    (r"<\|begin_of_thought\|>", r"<\|end_of_thought\|>"),
    (r"<\|START_THINKING\|>", r"<\|END_THINKING\|>"),
    (r"<\|channel\|>\s*+(?:analysis|commentary)\b", r"<\|channel\|>\s*+final\b[^{\[<]*+(?:<\|message\|>)?"),
    (r"<\|channel>thought\b", r"<channel\|>"),
    (r"<unused94>", r"<unused95>"),
    (r"\A\s*+analysis(?=[A-Z])", r"assistantfinal"),
)
"""What opens thoughts, and what closes them. The last one is `channel` without its marks: words that close nothing
unless they were opened."""
_OPENINGS: Final = tuple(lazy_pattern(opening) for opening, _ in _NOTATIONS)
_CLOSINGS: Final = tuple(lazy_pattern(closing) for _, closing in _NOTATIONS)
_ANY_OPENING: Final = "|".join(opening for opening, _ in _NOTATIONS)
_ANY_CLOSING: Final = "|".join(closing for _, closing in _NOTATIONS[:-1])
_MARK: Final = lazy_pattern(rf"{_ANY_OPENING}|(?P<closing>{_ANY_CLOSING})(?:\s*+(?:{_ANY_CLOSING}))*+")


_MOST_THOUGHTS: Final = 20_000
"""Thoughts that are left out one after the other before an answer; there are a handful."""


class Thoughts(NamedTuple):
    """Thoughts in a text, from their opening mark, or (`opened` false) the closing mark of what began unmarked.

    `stop`: the offset behind their closing mark; None where they are never closed.
    """

    start: int
    stop: int | None
    opened: bool
    mark: str


@dataclass(slots=True)
class ThoughtsAhead:
    """A search for thoughts that goes forward through a text, at a cost that grows with the text alone."""

    text: str
    _known: Thoughts | None = None
    _from: int = field(default=-1)

    def at(self, position: int) -> Thoughts | None:
        """Return the first thoughts that begin at `position` or behind it; positions never go back."""
        if self._from < 0 or (self._known is not None and self._known.start < position):
            self._from, self._known = position, _next(self.text, position)
        return self._known


def _next(text: str, position: int) -> Thoughts | None:
    mark = _MARK.search(text, position)
    if mark is None:
        return None
    if mark["closing"] is not None:
        return Thoughts(mark.start(), mark.end(), opened=False, mark=mark["closing"])
    pairs = zip(_OPENINGS, _CLOSINGS, strict=True)
    closing = next(closing for opening, closing in pairs if opening.match(text, mark.start()))
    end = closing.search(text, mark.end())
    return Thoughts(mark.start(), None if end is None else end.end(), opened=True, mark=mark[0])


def thoughts_before_answer(text: str, start: int) -> Thoughts | None:
    """Return the last of the thoughts that stand before the answer in `text[start:]`; None where none do.

    A mark that closes what nothing opened ends thoughts whose beginning stood in the prompt.
    """
    ahead, lead, position = ThoughtsAhead(text), None, start
    for _ in range(_MOST_THOUGHTS):
        found = ahead.at(position)
        if found is None or found.stop is None:
            break
        if not found.opened or not text[start : found.start].strip():
            lead, start = found, found.stop
        position = found.stop
    return lead
