"""What stands around the JSON of a model's answer: thoughts, why it ended, and what clients return with it.

What stands in thoughts is a draft, and no answer.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, TypeAlias

from pytest_extract.core.schema.source import Key
from pytest_extract.core.schema.tree import Schema
from pytest_extract.core.values import CONTAINERS, MAX_DEPTH, MISSING, Json, Missing
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


Fits: TypeAlias = Callable[[Json], "FitRank"]
_MOST_LEVELS: Final = 4
"""Levels of alternatives inside alternatives whose keys are known."""


class FitRank(NamedTuple):
    """How well a value fits, the better the greater: whether it satisfies the schema, and the share of its keys.

    share: of its keys and the required ones, those that are there and declared; 0.0 where it has nothing to do with the
    schema, whatever that admits.
    """

    valid: bool = False
    share: float = 0.0


class SchemaFit:
    """A schema that values are held against; `admits` says whether one satisfies it."""

    def __init__(self, schema: Json, admits: Callable[[Json], bool]) -> None:
        self._schema = Schema(schema)
        self._admits = admits
        self._keys: dict[Key, tuple[frozenset[str], frozenset[str]]] = {}

    def __call__(self, value: Json) -> FitRank:
        """Rank a value."""
        if isinstance(value, list):
            items = self._schema.node(Schema.root).items
            share = sum(self._share(items, row) for row in value) / len(value) if value else 1.0
        else:
            share = self._share(Schema.root, value)
        return FitRank(share > 0 and self._admits(value), share)

    def _share(self, key: Key | None, value: Json) -> float:
        """Return the share of keys at one place; no names: any key may stand there."""
        if key not in self._keys and key is not None:
            self._keys[key] = self._names(key, _MOST_LEVELS) or frozenset(), self._schema.node(key).required
        names, required = self._keys[key] if key is not None else (frozenset(), frozenset())
        if not isinstance(value, dict):
            return float(not names)
        known = len(names & value.keys()) if names else len(value)
        return known / len(value.keys() | required) if value else 0.0

    def _names(self, key: Key, levels: int) -> frozenset[str] | None:
        """Return the keys that objects at a place are known to have; None where any may stand."""
        node = self._schema.node(key)
        if node.patterns or isinstance(node.additional, tuple):
            return None
        names = frozenset(node.properties)
        for branch in node.branches if levels else ():
            more = self._names(branch, levels - 1)
            if more is None:
                return None
            names |= more
        return names


MOST_PLACES: Final = 20_000
"""Brackets in prose that are tried as the beginning of a value; an answer has a handful."""

_FENCE: Final = r"```(?!`)[ \t]*+[\w+-]*+\s*+"
_OBJECT: Final = r"\{(?=\s*+(?:[\"'}]|[A-Za-z_]\w*+\s*+:|//|/\*))"
_ARRAY: Final = r"\[(?=\s*+[\[{\"'\]])"
_PLACE: Final = lazy_pattern(rf"{_FENCE}(?=[{{\[])|{_OBJECT}|{_ARRAY}")
"""Where a value may begin: behind a fence, or at a bracket that JSON, or what is meant as JSON, can follow."""
_BRACKET: Final = lazy_pattern(r"[{\[]")
_OPENING_FENCE: Final = lazy_pattern(_FENCE)
_TEXT: Final = r'"[^"\\]*+(?:\\.[^"\\]*+)*+"'
_NEXT_BRACKET: Final = lazy_pattern(rf'[^"\[\]{{}}]*+(?:{_TEXT}[^"\[\]{{}}]*+)*+([\[\]{{}}])', re.DOTALL)
_DEEPEST: Final = 5 * MAX_DEPTH
"""Nesting from which on nobody asks any more where it closes."""


class Reading(NamedTuple):
    """What `json` finds at a place: a value and the offset behind it.

    Without one (MISSING), `stop` is the offset of the mistake, None where the text is JSON in form: it has a key twice,
    a number that is none or cannot be compared, or is nested too deeply.
    """

    value: Json | Missing
    stop: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Region:
    """A stretch `text[start:stop]` that holds a JSON value, or (value MISSING) set out to hold one."""

    start: int
    stop: int
    fenced: bool = False
    value: Json | Missing = MISSING

    @property
    def weight(self) -> tuple[bool, int, int]:
        """Order of preference between a value and a broken one: what stands in a fence, else the longer one."""
        return self.fenced, self.stop - self.start, self.start


@dataclass(slots=True)
class Regions:
    """The stretches of a text that hold JSON or set out to, in their order.

    `complete`: whether the search came to the end of the text. `thoughts`: the last that stand among them.
    """

    found: list[Region]
    complete: bool = False
    thoughts: Thoughts | None = None

    def choose(self, fits: Fits | None) -> Region | None:
        """Return the answer: the value that fits best, objects before bare arrays of scalars, the last of equals.

        A broken stretch is more likely the answer if it is longer than that value; half as long if the value may be a
        draft before it, and not at all if the value fits the schema and comes after it.
        """

        def rank(region: Region) -> tuple[FitRank, bool]:
            value = region.value
            nested = isinstance(value, list) and any(isinstance(item, CONTAINERS) for item in value)
            return fits(value) if fits else FitRank(), bool(value) and (isinstance(value, dict) or nested)

        good = max((each for each in reversed(self.found) if each.value is not MISSING), key=rank, default=None)
        broken = max((each for each in self.found if each.value is MISSING), key=lambda each: each.weight, default=None)
        if good is None or broken is None:
            return good or broken
        if good.start > broken.start and rank(good)[0].valid:
            return good
        fenced, length, start = broken.weight
        return good if good.weight > (fenced, 2 * length if good.start < start else length, start) else broken


def _unique_keys(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    made = dict(pairs)
    if len(made) != len(pairs):
        raise ValueError("a repeated key")
    return made


def _finite(token: str) -> float:
    number = float(token)
    if number - number != 0.0:
        raise ValueError("out of range")
    return number


def _no_constant(name: str) -> None:
    raise ValueError(name)


STRICT: Final = json.JSONDecoder(object_pairs_hook=_unique_keys, parse_float=_finite, parse_constant=_no_constant)


def read_at(text: str, start: int) -> Reading:
    """Read the strict JSON value that begins at `start`."""
    try:
        value, stop = STRICT.raw_decode(text, start)
    except json.JSONDecodeError as error:
        return Reading(MISSING, error.pos)
    except (ValueError, RecursionError):
        return Reading(MISSING)
    return Reading(MISSING) if too_deep(value) else Reading(value, stop)


def too_deep(value: Json, depth: int = 0) -> bool:
    """Whether a value that stands so deep is nested more than MAX_DEPTH levels deep; looks at one level at a time."""
    level = [value] if isinstance(value, dict | list) else []
    for _ in range(MAX_DEPTH - depth):
        level = [
            child
            for node in level
            for child in (node.values() if isinstance(node, dict) else node)
            if isinstance(child, CONTAINERS)
        ]
        if not level:
            return False
    return True


def closing(text: str, place: int, end: int) -> int:
    """Offset behind the bracket that closes the one at `place`; `end` where none does."""
    depth, position = 1, place + 1
    while depth <= _DEEPEST and (found := _NEXT_BRACKET.match(text, position, end)) is not None:
        position = found.end()
        depth += 1 if found[1] in "{[" else -1
        if depth == 0:
            return position
    return end


def whole_value(text: str, start: int) -> Region | None:
    """Return the value that is all of `text[start:]`, in a fenced block or as it stands; None where none is."""
    fence = _OPENING_FENCE.match(text, start)
    place = start if fence is None else fence.end()
    read = read_at(text, place)
    if read.value is MISSING or read.stop is None or text[read.stop :].strip() not in ("", "```" if fence else ""):
        return None
    return Region(start=place, stop=read.stop, fenced=fence is not None, value=read.value)


def find_regions(text: str, start: int) -> Regions:
    """Find the outermost stretches of `text[start:]` that hold JSON or set out to, and stand in no thoughts."""
    regions = Regions([])
    ahead = next_thoughts(text, start)
    position = start
    # what begins with a bracket sets out to be JSON, whatever follows
    match = _BRACKET.match(text, start) or _PLACE.search(text, start)
    for _ in range(MOST_PLACES):
        if ahead is not None and ahead.start < position:
            ahead = next_thoughts(text, position)
        if match is not None and match.start() < position:
            match = _PLACE.search(text, position)
        if ahead is not None and (match is None or ahead.start <= match.start()):
            # what closes unopened thoughts says that all before it were thoughts
            regions = Regions(regions.found if ahead.opened else [], thoughts=ahead)
            if ahead.stop is None:
                regions.complete = True
                return regions
            position = ahead.stop
            continue
        if match is None:
            break
        fenced = match[0][0] == "`"
        place = match.end() if fenced else match.start()
        read = read_at(text, place)
        if read.value is not MISSING and read.stop is not None:
            position = read.stop
        else:  # up to where it breaks off it is JSON, and a fence there is a piece of a text
            end = text.find("```", read.stop) if fenced and read.stop is not None else -1
            position = closing(text, place, end if end >= 0 else len(text))
        regions.found.append(Region(start=place, stop=position, fenced=fenced, value=read.value))
    regions.complete = _PLACE.search(text, position) is None
    return regions
