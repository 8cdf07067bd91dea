"""What stands around the JSON of a model's answer: thoughts, why it ended, and what clients return with it.

What stands in thoughts is a draft, and no answer.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from pytest_extract.lazy import lazy_pattern

_CUT: Final = r"\w*length|max_\w*tokens|\w*context_window_exceeded|(?:token|error)_limit|incomplete"
_REFUSED: Final = (
    r"content_filter(?:ed)?|prohibited_content|refusal|(?:image_)?safety|recitation|blocklist|spii|language|sensitive"
    r"|guardrail_intervened|model_armor|error_toxic"
)
_OUTAGE: Final = r"(?:\w+_)?error|insufficient_system_resources?|abort(?:ed)?|cancell?ed|timeout|time_limit"


class Finish(NamedTuple):
    """Why an answer ended: `reason` as `FinishReason.MAX_TOKENS` is spelled here, `max_tokens`; empty where none is.

    cut: the answer was longer than it may be. refused: the model, or a filter behind it, did not want to give it.
    outage: the service broke down while it answered, and nothing is known about the model.
    """

    reason: str
    cut: bool
    refused: bool
    outage: bool

    @property
    def early(self) -> bool:
        """Whatever came is not the whole answer."""
        return self.cut or self.refused or self.outage


def finish_of(finish_reason: str | None) -> Finish:
    """Read a provider's reason."""
    reason = (finish_reason or "").rpartition(".")[2].strip().lower().replace("-", "_")
    return Finish(reason, *(re.fullmatch(words, reason) is not None for words in (_CUT, _REFUSED, _OUTAGE)))


_NAMES: Final = r"(?:\w{1,20}:)?(?:think|thinking|thoughts?|reasoning|reflection|scratchpad|inner_monologue|analysis)"
_NOTATIONS: Final = (
    (rf"(?i:<{_NAMES}(?:\s[^<>]*+)?>)", rf"(?i:</{_NAMES}\s*+>)"),
    (r"\[THINK(?:ING)?\]", r"\[/THINK(?:ING)?\]"),
    ("◁think▷", "◁/think▷"),
    (r"<\|think\|>", r"<\|/think\|>"),
    (r"<\|begin_of_thought\|>", r"<\|end_of_thought\|>"),
    (r"<\|START_THINKING\|>", r"<\|END_THINKING\|>"),
    (r"<\|channel\|>\s*+(?:analysis|commentary(?!\s+to=))\b", r"<\|channel\|>\s*+final\b[^{\[<]*+(?:<\|message\|>)?"),
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


_BODIES: Final = (
    "choices.0.message",
    "choices.0.delta",
    "choices.0.text choices.0.finish_reason",
    "output object=response",
    "content.0.type type=message",
    "candidates.0.content.parts",
    "output.message.content.0 stopReason",
    "message.content.0.text finish_reason",
    "message.content done",
    "response done model",
)
"""What the answers of services have: places that are there, or hold a certain word."""
_PARTS: Final = (
    "content response_metadata",
    "output all_messages",
    "content role=assistant",
    "function.name function.arguments",
    "0.function.name 0.function.arguments",
    "input name type=tool_use",
    "status_code headers text",
)
"""What messages and tool calls have; in a text, the model may have written them itself."""
IN_RESPONSE: Final = "the text or the arguments of the tool call in it, such as response.choices[0].message.content"


def is_response(value: object) -> bool:
    """Whether a value is what a client returns, or part of it, or the JSON of what a service answers."""
    forms: tuple[str, ...] = (*_BODIES, *_PARTS)
    if isinstance(value, str | bytes):
        forms = _BODIES
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            return False
    return any(all(_has(value, place) for place in form.split()) for form in forms)


def _has(value: Any, place: str) -> bool:
    """Whether anything, or the word behind `=`, stands at a dotted place of mappings, lists and objects."""
    steps, _, word = place.partition("=")
    for step in steps.split("."):
        try:
            if isinstance(value, Mapping):
                value = value[step]
            elif isinstance(value, Sequence):
                value = value[int(step)]
            else:
                value = getattr(value, step)
        except Exception:  # noqa: BLE001 - nothing is there; or a client's property computes, and fails
            return False
    return not word or value == word
