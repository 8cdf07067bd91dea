"""Where a model's thoughts begin and end in its answer, in the notations of the common models and servers.

What stands in thoughts is a draft, and no answer.
"""

from __future__ import annotations

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
_PAIRS: Final = tuple((lazy_pattern(opening), lazy_pattern(closing)) for opening, closing in _NOTATIONS)
_ANY_OPENING: Final = "|".join(opening for opening, _ in _NOTATIONS)
_ANY_CLOSING: Final = "|".join(closing for _, closing in _NOTATIONS[:-1])
_MARK: Final = lazy_pattern(rf"{_ANY_OPENING}|(?P<closing>{_ANY_CLOSING})(?:\s*+(?:{_ANY_CLOSING}))*+")
_BLANK: Final = lazy_pattern(r"[\s\ufeff]*+")
_BEGINS_AS_JSON: Final = ("{", "[", '"', "`")
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


def next_thoughts(text: str, position: int) -> Thoughts | None:
    """Return the first thoughts that begin at `position` or behind it."""
    mark = _MARK.search(text, position)
    if mark is None:
        return None
    if mark["closing"] is not None:
        return Thoughts(mark.start(), mark.end(), opened=False, mark=mark["closing"])
    closing = next(closing for opening, closing in _PAIRS if opening.match(text, mark.start()))
    end = closing.search(text, mark.end())
    return Thoughts(mark.start(), None if end is None else end.end(), opened=True, mark=mark[0])


def find_answer(text: str) -> tuple[int, Thoughts | None]:
    """Find the answer behind a leading byte order mark and a model's thoughts; return the last of these as well.

    A mark that closes what nothing opened ends thoughts whose beginning stood in the prompt.
    """
    start, lead = _skip_blank(text, 0), None
    begins_as_json = text.startswith(_BEGINS_AS_JSON, start) and not _MARK.match(text, start)
    found = None if begins_as_json else next_thoughts(text, start)
    for _ in range(_MOST_THOUGHTS):
        if found is None or found.stop is None:
            break
        if not found.opened or not text[start : found.start].strip():
            lead, start = found, found.stop
        found = next_thoughts(text, found.stop)
    return _skip_blank(text, start), lead


def _skip_blank(text: str, start: int) -> int:
    blank = _BLANK.match(text, start)
    return start if blank is None else blank.end()
