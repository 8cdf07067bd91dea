"""From a model's text to a JSON value, or to what is wrong with it and where.

First what stands around the JSON of an answer: thoughts (drafts, and no answer), why it ended, and what clients return
with it. Then the JSON is found: the whole text, a fenced block, or a value inside prose; the work grows with the length
of the text, whatever is in it, as each stretch is read a fixed number of times, and a search in prose ends after
MOST_PLACES places. Last, what `json` refused is read for its exact problem, or repaired.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple, TypeAlias

from pytest_extract.core.arguments import NotJson, plain_json
from pytest_extract.core.results import Failure, FailureKind, Wrapping
from pytest_extract.core.schema.source import Key
from pytest_extract.core.schema.tree import Schema
from pytest_extract.core.values import CONTAINERS, MAX_DEPTH, MISSING, Json, Missing, canonical_json, json_type

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
_PAIRS: Final = tuple((re.compile(opening), re.compile(closing)) for opening, closing in _NOTATIONS)
_ANY_OPENING: Final = "|".join(opening for opening, _ in _NOTATIONS)
_ANY_CLOSING: Final = "|".join(closing for _, closing in _NOTATIONS[:-1])
_MARK: Final = re.compile(rf"{_ANY_OPENING}|(?P<closing>{_ANY_CLOSING})(?:\s*+(?:{_ANY_CLOSING}))*+")
_SPACE: Final = re.compile(r"[\s\ufeff]*+")
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
    blank = _SPACE.match(text, start)
    return start if blank is None else blank.end()


_BODIES: Final = (
    "choices created model",
    "output object created_at",
    "content stop_reason",
    "candidates usageMetadata",
    "candidates usage_metadata",
    "output stopReason",
    "message done model",
    "response done model",
)
"""The names that each service's answers have."""
_PARTS: Final = (
    "content role tool_calls",
    "function type=function id",
    "content response_metadata",
    "output all_messages",
    "status_code headers text",
)
"""Those of messages, tool calls and what frameworks return; in a text, the model may have written them itself."""
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
    return any(all(_has(value, name) for name in form.split()) for form in forms)


def _has(value: object, name: str) -> bool:
    """Whether a mapping or an object has a name, with the word behind `=`."""
    name, _, word = name.partition("=")
    try:
        found = value.get(name, MISSING) if isinstance(value, Mapping) else getattr(value, name, MISSING)
        return bool(found == word) if word else found is not MISSING
    except Exception:  # noqa: BLE001 - a client's property computes, and fails
        return False


Fits: TypeAlias = Callable[[Json], "FitRank"]


class FitRank(NamedTuple):
    """How well a value fits, the better the greater: it satisfies the schema, or has so many of the declared keys.

    What has nothing to do with the schema does not satisfy it, whatever that admits.
    """

    valid: bool = False
    known: int = 0


class SchemaFit:
    """A schema that values are held against; `admits` says whether one satisfies it."""

    def __init__(self, schema: Json, admits: Callable[[Json], bool]) -> None:
        self._schema = Schema(schema)
        self._admits = admits

    def __call__(self, value: Json) -> FitRank:
        """Rank a value, a list by its rows."""
        root = self._schema.node(Schema.root)
        rows, key = (value, root.items) if isinstance(value, list) else ([value], Schema.root)
        names = set() if key is None else self._names(key)
        known = sum(len(names & row.keys()) for row in rows if isinstance(row, dict))
        if (known or not names or value == []) and self._admits(value):
            return FitRank(valid=True)
        return FitRank(known=known)

    def _names(self, key: Key) -> set[str]:
        """Return the keys that a place or its alternatives declare; none where any key may stand."""
        node = self._schema.node(key)
        nodes = [node, *map(self._schema.node, node.branches)]
        if any(each.patterns or isinstance(each.additional, tuple) for each in nodes):
            return set()
        return {name for each in nodes for name in each.properties}


MOST_PLACES: Final = 20_000
"""Brackets in prose that are tried as the beginning of a value; an answer has a handful."""

_FENCE: Final = r"```(?!`)[ \t]*+[\w+-]*+\s*+"
_OBJECT: Final = r"\{(?=\s*+(?:[\"'}]|[A-Za-z_]\w*+\s*+:|//|/\*))"
_ARRAY: Final = r"\[(?=\s*+[\[{\"'\]])"
_PLACE: Final = re.compile(rf"{_FENCE}(?=[{{\[])|{_OBJECT}|{_ARRAY}")
"""Where a value may begin: behind a fence, or at a bracket that JSON, or what is meant as JSON, can follow."""
_BRACKET: Final = re.compile(r"[{\[]")
_OPENING_FENCE: Final = re.compile(_FENCE)
_TEXT: Final = r'"[^"\\]*+(?:\\.[^"\\]*+)*+"'
_NEXT_BRACKET: Final = re.compile(rf'[^"\[\]{{}}]*+(?:{_TEXT}[^"\[\]{{}}]*+)*+([\[\]{{}}])', re.DOTALL)
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


def choose(found: Sequence[Region], fits: Fits | None) -> Region | None:
    """Return the answer: the value that fits best, objects before bare arrays of scalars, the last of equals.

    A broken stretch is more likely the answer if it is longer than that value; half as long if the value may be a draft
    before it, and not at all if the value fits the schema and comes after it.
    """

    def rank(region: Region) -> tuple[FitRank, bool]:
        value = region.value
        nested = isinstance(value, list) and any(isinstance(item, CONTAINERS) for item in value)
        return fits(value) if fits else FitRank(), bool(value) and (isinstance(value, dict) or nested)

    good = max((each for each in reversed(found) if each.value is not MISSING), key=rank, default=None)
    broken = max((each for each in found if each.value is MISSING), key=lambda each: each.weight, default=None)
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


STRICT: Final = json.JSONDecoder(object_pairs_hook=_unique_keys, parse_float=_finite, parse_constant=_finite)


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


def find_regions(text: str, start: int) -> tuple[list[Region], bool, Thoughts | None]:
    """Find the outermost stretches of `text[start:]` that hold JSON or set out to, in order, and stand in no thoughts.

    Returns as well whether the search came to the end of the text, and the last thoughts that stand among them.
    """
    found: list[Region] = []
    thoughts: Thoughts | None = None
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
            found, thoughts = found if ahead.opened else [], ahead
            if ahead.stop is None:
                return found, True, thoughts
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
        found.append(Region(start=place, stop=position, fenced=fenced, value=read.value))
    return found, _PLACE.search(text, position) is None, thoughts


_BLANK = re.compile(r"([ \t\n\r]*+)(?:[\s\ufeff]++|//[^\n]*+|\#[^\n]*+|/\*[\s\S]*?\*/)*+")
_STRING_START = re.compile(r'"(?:[^"\\\x00-\x1f]++|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*+')
_CUT_ESCAPE = re.compile(r"(?:\\(?:u[\da-fA-F]*+)?)?")
_TOKEN = re.compile(r"[^\s,:\[\]{}\"'/#]*+")
_CUT_SCALAR = re.compile(r"-?(?:\d+\.?\d*(?:[eE][+-]?)?)?|t(?:ru?)?|f(?:a(?:ls?)?)?|n(?:ul?)?")


class SyntaxProblem(ValueError):
    """Why a text is no JSON: failure kind, what was found, offset into the text."""

    def __init__(self, kind: FailureKind, message: str, position: int) -> None:
        super().__init__(message)
        self.kind = kind
        self.position = position


def line_column(text: str, position: int) -> tuple[int, int]:
    """Line and column, both from 1, of an offset into a text."""
    return text.count("\n", 0, position) + 1, position - text.rfind("\n", 0, position)


class Reader:
    """Reads one JSON value of `text[start:end]`; `position` is then the offset behind it.

    It repairs trailing commas, comments, blanks that JSON does not have, and unclosed brackets.
    """

    def __init__(self, text: str, start: int, end: int) -> None:
        self.text = text
        self.position = start
        self.end = end
        self._first: SyntaxProblem | None = None
        self._repeated: SyntaxProblem | None = None
        self._repaired: dict[str, list[int]] = {}

    def read(self) -> Json | Missing:
        """Return the value; MISSING where it cannot be repaired."""
        try:
            value = self._value(0)
        except SyntaxProblem as problem:
            self._first = self._first or problem
            return MISSING
        return value if self._repeated is None else MISSING

    @property
    def problem(self) -> SyntaxProblem | None:
        """The first thing that strict JSON has not; a repeated key is one only where there is no other."""
        return self._first or self._repeated

    def notes(self) -> str:
        """Return what was repaired: a phrase for each kind, with the place of the first."""
        notes = []
        for what, places in self._repaired.items():
            line, column = line_column(self.text, places[0])
            notes.append(f"repaired {len(places)} x {what}, first at line {line}, column {column}")
        return "; ".join(notes)

    def _value(self, depth: int) -> Json:
        char = self._next("a value was expected")
        if char in "{[":
            return self._container(depth)
        return self._string() if char == '"' else self._scalar()

    def _string(self) -> str:
        start = _STRING_START.match(self.text, self.position, self.end)
        stop = self.position if start is None else start.end()
        if self.text.startswith('"', stop, self.end):
            written = self.text[self.position : stop + 1]
            self.position = stop + 1
            return str(json.loads(written))
        if _CUT_ESCAPE.fullmatch(self.text, stop, self.end):
            raise self._truncated("a string is not closed")
        raise self._malformed(f"a string breaks off before {self.text[stop : stop + 2]!r}", stop)

    def _scalar(self) -> Json:
        match = _TOKEN.match(self.text, self.position, self.end)
        token = match[0] if match else ""
        try:
            value: Json = STRICT.decode(token)
        except ValueError:
            if self.position + len(token) >= self.end and _CUT_SCALAR.fullmatch(token):
                raise self._truncated("a value is not finished") from None
            raise self._malformed(f"{self._found()} is no JSON value") from None
        self.position += len(token)
        return value

    def _container(self, depth: int) -> Json:
        if depth >= MAX_DEPTH:
            raise self._malformed(f"nested more than {MAX_DEPTH} levels deep")
        made: dict[str, Json] | list[Json] = {} if self.text[self.position] == "{" else []
        closing = "}" if isinstance(made, dict) else "]"
        self.position += 1
        try:
            char = self._next(f"`{closing}` was expected")
            while char != closing:
                if isinstance(made, dict):
                    key = self._key(made)
                    made[key] = self._value(depth + 1)
                else:
                    made.append(self._value(depth + 1))
                char = self._next(f"`,` or `{closing}` was expected")
                if char not in (",", closing):
                    raise self._malformed(f"`,` or `{closing}` was expected, found {self._found()}")
                if char == ",":
                    comma = self.position
                    self.position += 1
                    char = self._next("more was expected behind the comma")
                    if char == closing:
                        told = f"a comma stands before `{closing}`"
                        self._note("trailing comma", SyntaxProblem(FailureKind.TRAILING_COMMA, told, comma))
        except SyntaxProblem as problem:
            if problem.kind is not FailureKind.TRUNCATED_JSON:
                raise
            self._note("unclosed bracket", problem)
            self.position = self.end  # the value that the cut went through is left out
        else:
            self.position += 1
        return made

    def _key(self, made: dict[str, Json]) -> str:
        """Read a key and the colon behind it."""
        char, place = self._next("a key was expected"), self.position
        if char != '"':
            hint = "; a number has no separators of thousands in JSON" if char.isdecimal() else ""
            raise self._malformed(f"a key in double quotes was expected, found {self._found()}{hint}")
        key = self._string()
        if self._next("a key has no value") != ":":
            raise self._malformed(f"`:` was expected after the key {key!r}, found {self._found()}")
        self.position += 1
        if key in made and self._repeated is None:
            message = f"the key {key!r} stands twice in one object"
            self._repeated = SyntaxProblem(FailureKind.DUPLICATE_KEY, message, place)
        return key

    def _next(self, expected: str) -> str:
        """Return the next character that is no blank."""
        blank = _BLANK.match(self.text, self.position, self.end)
        if blank is not None:
            if blank.end(1) < blank.end():
                told = "a comment or a blank that JSON does not have"
                self._note("comment or blank of another kind", self._malformed(told, blank.end(1)))
            self.position = blank.end()
        if self.position >= self.end:
            raise self._truncated(expected)
        return self.text[self.position]

    def _note(self, what: str, problem: SyntaxProblem) -> None:
        self._repaired.setdefault(what, []).append(problem.position)
        self._first = self._first or problem

    def _found(self) -> str:
        return f"`{self.text[self.position : min(self.position + 12, self.end)]}`".replace("\n", "\\n")

    def _malformed(self, message: str, position: int | None = None) -> SyntaxProblem:
        return SyntaxProblem(FailureKind.MALFORMED_JSON, message, self.position if position is None else position)

    def _truncated(self, message: str) -> SyntaxProblem:
        return SyntaxProblem(FailureKind.TRUNCATED_JSON, f"the text ends too early: {message}", self.end)


_NOT_WRAPPED: Final[Mapping[Wrapping, str]] = {}
_PUNCTUATION: Final = re.compile(r"[\s{}\[\],:\"]*+")


class ParsedOutput(NamedTuple):
    """An output as JSON: `value` (MISSING without one), why not, and the text it came from.

    With the failure `not_structured` the value is there: JSON, but neither object nor array.
    `wrapped`: why the text as a whole is not that JSON, each with a sentence; empty where it is, or was no text.
    """

    value: Json | Missing
    failure: Failure | None = None
    wrapped: Mapping[Wrapping, str] = _NOT_WRAPPED
    text: str = ""

    @property
    def notes(self) -> tuple[str, ...]:
        """What is worth telling of the text around the JSON."""
        return tuple(self.wrapped.values())


def parse_output(
    output: object, *, repair: bool = False, finish_reason: str | None = None, fits: Fits | None = None
) -> ParsedOutput:
    """Read an extractor's output: text (strict JSON, a fenced block, JSON inside prose), or values (`plain_json`).

    Never raises. `repair` fixes some of what breaks the strict rules (see `Reader`) and tells it in `wrapped`.
    `finish_reason` is the provider's, and decides before the JSON does: an answer that was cut, refused or broken off
    is none, however much of it there is; with `repair`, a cut one is repaired. Of several values the one that `fits`
    ranks highest is the answer, of equals the last.
    """
    finish = finish_of(finish_reason)
    if isinstance(output, (bytes, bytearray)):
        output = bytes(output).decode("utf-8", "replace")
    if isinstance(output, str):
        return _parse_text(output, finish, repair=repair, fits=fits)
    if output is None:
        return _empty("", finish)
    if finish.early:
        return _ended_early("", finish, "what came is not the whole answer")
    try:
        return _structured(ParsedOutput(plain_json(output)))
    except NotJson as problem:
        return ParsedOutput(MISSING, no_value(problem))


def no_value(problem: NotJson) -> Failure:
    """Return the failure of an output that holds what JSON cannot."""
    return Failure(kind=FailureKind.MALFORMED_JSON, message=str(problem), path=problem.path)


def _parse_text(text: str, finish: Finish, *, repair: bool, fits: Fits | None) -> ParsedOutput:
    start, lead = find_answer(text)
    if start >= len(text):
        return _empty(text, finish)
    if finish.refused or finish.outage:
        return _ended_early(text, finish, f"it says {_excerpt(text, start)}")
    cut = finish.cut and not repair
    whole = None if cut else whole_value(text, start)
    if whole is not None:
        wrapped = _around(text, start, lead, whole)
        return _structured(ParsedOutput(whole.value, None, wrapped, text), whole.start)
    found, complete, thoughts = find_regions(text, start)
    if thoughts is not None and thoughts.stop is None:
        message = f"the answer ends inside the model's thoughts: `{thoughts.mark.strip()}` is never closed"
        return _failed(text, FailureKind.TRUNCATED_JSON, message, thoughts.start)
    region = choose(found, fits)
    if region is None:
        where = "in the text" if complete else "in what was searched of the text, which has too many brackets"
        ended = f"; the answer was cut (finish_reason={finish.reason})" if finish.cut else ""
        message = f"no JSON object or array {where}; it begins {_excerpt(text, start)}{ended}"
        return _failed(text, FailureKind.NO_JSON, message)
    if cut:
        return _ended_early(text, finish, f"what came begins {_excerpt(text, start)}")
    if region.value is MISSING:
        return _from_broken(text, region, finish, repair=repair)
    beside = (_PUNCTUATION.fullmatch(text, start, region.start), _PUNCTUATION.fullmatch(text, region.stop))
    if thoughts is None and not region.fenced and all(beside):  # a bracket too many, and no prose
        place = region.stop if text[region.stop :].strip() else start
        message = f"`{text[place:].strip()[:12]}` stands beside a complete JSON value"
        return _failed(text, FailureKind.MALFORMED_JSON, message, place)
    wrapped = _around(text, start, lead or thoughts, region)
    if len(found) > 1:
        line, _ = line_column(text, region.start)
        count = f"{'' if complete else 'more than '}{len(found)}"
        wrapped[Wrapping.SEVERAL] = f"{count} JSON values in the text; took the one at line {line}"
    return ParsedOutput(region.value, None, wrapped, text)


def _around(text: str, start: int, thoughts: Thoughts | None, region: Region) -> dict[Wrapping, str]:
    """Tell what stands around a value."""
    found: dict[Wrapping, str] = {}
    if thoughts is not None:
        where = "in" if thoughts.opened else "before"
        found[Wrapping.REASONING] = f"reasoning {where} `{thoughts.mark.strip()}` left out"
    if "\ufeff" in text[:start]:
        found[Wrapping.BYTE_ORDER_MARK] = "byte order mark left out"
    if region.fenced:
        found[Wrapping.FENCED] = "JSON taken from a fenced block"
    elif region.start > start or text[region.stop :].strip():
        found[Wrapping.PROSE] = "JSON taken from the text around it"
    return found


def _from_broken(text: str, region: Region, finish: Finish, *, repair: bool) -> ParsedOutput:
    """Read what `json` refused: repaired if asked for, else with the exact problem."""
    reader = Reader(text, region.start, region.stop)
    value, problem = reader.read(), reader.problem
    if problem is None:  # `json` also gives up where Python's own stack is nearly used up
        return ParsedOutput(value, text=text)
    if repair and value is not MISSING:
        return ParsedOutput(value, None, {Wrapping.REPAIRED: reader.notes()}, text)
    if finish.cut and region.stop == len(text):
        return _ended_early(text, finish, str(problem))
    return _failed(text, problem.kind, str(problem), problem.position)


def _structured(parsed: ParsedOutput, place: int = 0) -> ParsedOutput:
    """Give a value that is neither object nor array the failure `not_structured`."""
    value = parsed.value
    if isinstance(value, CONTAINERS):
        return parsed
    message = f"the JSON is a bare {json_type(value)}; an object or array was expected"
    inner = read_at(value, find_answer(value)[0]).value if isinstance(value, str) else None
    if isinstance(inner, CONTAINERS):
        message += " (the text holds JSON: it was encoded twice)"
    line, column = line_column(parsed.text, place)
    failure = Failure(kind=FailureKind.NOT_STRUCTURED, message=message, line=line, column=column)
    return parsed._replace(failure=failure)


def _failed(text: str, kind: FailureKind, message: str, position: int | None = None) -> ParsedOutput:
    line, column = (None, None) if position is None else line_column(text, position)
    return ParsedOutput(MISSING, Failure(kind=kind, message=message, line=line, column=column), text=text)


def _empty(text: str, finish: Finish) -> ParsedOutput:
    if finish.refused or finish.outage:
        return _ended_early(text, finish, "the output is empty")
    cut = f": the token limit was used up before the answer began (finish_reason={finish.reason})" if finish.cut else ""
    return _failed(text, FailureKind.EMPTY_RESPONSE, f"the output is empty{cut}")


def _ended_early(text: str, finish: Finish, what_came: str) -> ParsedOutput:
    """Fail an answer that ended before its time, whatever came of it."""
    kind, why = FailureKind.TRUNCATED_JSON, "cut at the token limit"
    if finish.refused:
        kind, why = FailureKind.REFUSAL, "stopped by the provider"
    elif finish.outage:
        kind, why = FailureKind.EXTRACTOR_ERROR, "the provider broke down while it answered"
    return _failed(text, kind, f"{why} (finish_reason={finish.reason}): {what_came}")


def _excerpt(text: str, start: int) -> str:
    words = " ".join(text[start : start + 200].split())
    return repr(words if len(words) <= 80 else f"{words[:79]}…")


MAX_OUTPUT_BYTES: Final = 10_000_000
"""Bytes of an output that are read where nobody says otherwise; models write some hundred thousand at most."""
BYTES_A_VALUE: Final = 200
"""Bytes that a text, number, list or object counts for at least: that many values are scored at most."""
_TIMES_GOLD: Final = 10
"""An output may be so many times as large as its gold, whatever the default."""


def _too_large(message: str) -> Failure:
    hint = "raise it in the case, or for all cases by `extract_max_output_bytes`, where outputs may be that large"
    return Failure(kind=FailureKind.OUTPUT_TOO_LARGE, message=f"{message}; {hint}")


def too_many_bytes(output: str | bytes, gold: Json, limit: int | None) -> Failure | None:
    """Say that an output is longer than `limit` (None: the default, or ten times the gold)."""
    most = MAX_OUTPUT_BYTES if limit is None else limit
    size = len(output.encode("utf-8", "surrogatepass") if isinstance(output, str) else output)
    if size <= most or (limit is None and size <= _TIMES_GOLD * len(canonical_json(gold).encode("utf-8", "replace"))):
        return None
    return _too_large(f"the output has {size:,} bytes, more than the {most:,} of `max_output_bytes`")


def too_many_values(value: Json, gold: Json, limit: int | None) -> Failure | None:
    """Say that an output holds more values than `limit` allows: one for each 200 bytes, or ten times those of gold."""
    size = MAX_OUTPUT_BYTES if limit is None else limit
    count, most = count_nodes(value), size // BYTES_A_VALUE
    if count <= most or count <= _TIMES_GOLD * count_nodes(gold):
        return None
    allowed = f"the {most:,} that `max_output_bytes` of {size:,} allows, one for each {BYTES_A_VALUE}"
    return _too_large(f"the output holds {count:,} values, more than {allowed}")


def count_nodes(value: Json) -> int:
    """Count the values in a value, itself and containers included, at any depth."""
    count, stack = 0, [value]
    while stack:
        node = stack.pop()
        count += 1
        stack += node.values() if isinstance(node, dict) else node if isinstance(node, list) else ()
    return count
