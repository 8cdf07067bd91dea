"""Files that cases name, read once each: JSON and YAML text -> plain values, mistakes, and the places of parts.

JSON is read more strictly than by `json.loads`: a duplicate key, NaN, Infinity and a number out of range are mistakes
with their place. Places are computed by a second pass over the text, only when there is a mistake to report.

YAML is YAML 1.2 with JSON's scalars: a plain scalar is a number, `true`, `false` or `null` only where JSON would read
it so (`no`, `2024-01-02`, `1_000`, `0o17`, `007` and `True` are strings); nothing and `~` are null. Keys are always the
text as it is written. Anchors and aliases are followed, each alias as a copy of its own and all copies together
bounded; merge keys (`<<`) and tags outside the JSON types are mistakes. Values are built straight from libyaml's
events: a quarter of the time of composing nodes, and no recursion, so that nesting is bounded by `MAX_DEPTH` and not by
the C stack.
"""

from __future__ import annotations

import codecs
import json
import math
import os
import re
import sys
import unicodedata
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import accumulate
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple, TypeAlias

from pytest_extract.core.schema.source import escape
from pytest_extract.core.values import Json, Step
from pytest_extract.errors import CaseFileError, closest, nearest
from pytest_extract.files import MOST_BULK_BYTES, MOST_BYTES, other_kind, read_regular
from pytest_extract.lazy import lazy_pattern

MAX_DEPTH: Final = 500
"""Deepest nesting of a case file, schema or gold; more is a mistake or an attack, and would end Python's recursion."""

Steps: TypeAlias = tuple[Step, ...]

_NUMBER = lazy_pattern(r"-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?")


class SourcePosition(NamedTuple):
    """Line and column in a text, from 1."""

    line: int
    column: int


class TextTarget(NamedTuple):
    """A part of a text to look up: the value at `steps`, or the key that leads to it."""

    steps: Steps
    on_key: bool = False


class TextProblem(NamedTuple):
    """A mistake in a text whose rest is readable; `steps` is the place of the invalid part in the value."""

    steps: Steps
    message: str
    place: SourcePosition


class TextError(Exception):
    """A text that cannot be read at all: what is wrong, and where (None: the text as a whole)."""

    def __init__(self, message: str, place: SourcePosition | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.place = place


@dataclass(frozen=True, slots=True)
class ParsedFile:
    """A text's value, and its mistakes; an invalid part is None in `value`.

    `rows`: first line of each item of a list that is a value of the root mapping, by its key (`cases:` needs it).
    """

    value: Json
    problems: tuple[TextProblem, ...] = ()
    rows: dict[str, list[int]] = field(default_factory=dict)


def parse_json_number(text: str) -> Json:
    """Return the number that JSON reads in `text`, or None when it is none; ValueError when it is out of range."""
    if text.isdecimal() and text.isascii() and (text[0] != "0" or text == "0"):
        return int(text)  # most numbers of a case file
    match = _NUMBER.fullmatch(text)
    if match is None:
        return None
    if match.group(1) is None and match.group(2) is None:
        return int(text)
    value = float(text)
    if math.isinf(value):
        raise ValueError(text)
    return value


_TOKEN = lazy_pattern(r'"(?:[^"\\]|\\.)*"|[{}\[\]:,]|[^\s{}\[\]:,"]+', re.DOTALL)
_BRACKET = lazy_pattern(r"[\[\]{}]")
_INDEX = lazy_pattern(r"0|[1-9][0-9]{0,8}")
_HUGE = lazy_pattern(r"[eE]\+?[0-9]{3}|[0-9]{309}")


class _Suspect(Exception):
    """The text is JSON but for something that the second pass will name."""


def read_json(text: str, first_line: int = 1) -> ParsedFile:
    """Read one JSON document that begins at line `first_line` of its file; TextError where there is no reading on."""
    _bound_depth(text, first_line)
    try:
        value = json.loads(text, object_pairs_hook=_unique, parse_constant=_refuse)
    except json.JSONDecodeError as error:
        raise _unreadable(text, error, first_line) from None
    except (_Suspect, ValueError):  # ValueError: an integer with more digits than Python converts
        return _read_suspect(text, first_line)
    return _read_suspect(text, first_line) if _HUGE.search(text) else ParsedFile(value)


def _unreadable(text: str, error: json.JSONDecodeError, first_line: int) -> TextError:
    """Return what stops the reading; a trailing comma has its own position with every version of Python."""
    before = text[: error.pos].rstrip()
    if text[error.pos : error.pos + 1] in ("}", "]") and before.endswith(","):
        error = json.JSONDecodeError("a comma before the end", text, len(before) - 1)
    elif error.msg.startswith("Illegal trailing comma"):
        error = json.JSONDecodeError("a comma before the end", text, error.pos)
    comment = "; JSON has no comments" if error.doc.startswith(("//", "/*"), error.pos) else ""
    return TextError(f"not JSON: {error.msg}{comment}", SourcePosition(error.lineno + first_line - 1, error.colno))


def _read_suspect(text: str, first_line: int) -> ParsedFile:
    try:
        value = json.loads(text, parse_int=_in_range, parse_float=_in_range, parse_constant=lambda _: None)
    except json.JSONDecodeError as error:
        raise _unreadable(text, error, first_line) from None
    return ParsedFile(value, tuple(_problems(text, first_line)))


def _bound_depth(text: str, first_line: int) -> None:
    """Refuse what would end Python's recursion; brackets inside strings are told apart only when it looks so."""
    if text.count("[") + text.count("{") <= MAX_DEPTH:
        return
    deepest = max(accumulate(1 if bracket in "[{" else -1 for bracket in _BRACKET.findall(text)), default=0)
    if deepest <= MAX_DEPTH:
        return
    depth = 0
    for match in _TOKEN.finditer(text):
        part = match.group()
        depth += 1 if part in "[{" else -1 if part in "]}" else 0
        if depth > MAX_DEPTH:
            place = Lines(text, first_line).place(match.start())
            raise TextError(f"nested deeper than {MAX_DEPTH} levels", place)


def find_in_json(text: str, targets: Collection[TextTarget], first_line: int = 1) -> dict[TextTarget, SourcePosition]:
    """Return the places of those targets that are there; of a duplicate key the last."""
    wanted = set(targets)
    lines = Lines(text, first_line)
    return {token.target: lines.place(token.offset) for token in _walk(text) if token.target in wanted}


def _unique(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    value = dict(pairs)
    if len(value) != len(pairs):
        raise _Suspect
    return value


def _refuse(_: str) -> Json:
    raise _Suspect


def _in_range(text: str) -> Json:
    try:
        return parse_json_number(text)
    except ValueError:
        return None


def _problems(text: str, first_line: int) -> Iterator[TextProblem]:
    seen: set[TextTarget] = set()
    lines = Lines(text, first_line)
    for target, offset, part in _walk(text):
        if target.on_key and target in seen:
            yield TextProblem(target.steps[:-1], f"duplicate key {target.steps[-1]!r}", lines.place(offset))
        elif part in ("NaN", "Infinity", "-Infinity"):
            yield TextProblem(target.steps, f"{part} is no JSON number", lines.place(offset))
        elif part[0] in "-0123456789" and not target.on_key:
            try:
                parse_json_number(part)
            except ValueError:
                yield TextProblem(target.steps, "the number is out of range", lines.place(offset))
        seen.add(target)


class _Token(NamedTuple):
    target: TextTarget
    offset: int
    text: str


def _walk(text: str) -> Iterator[_Token]:
    """Yield each key and each value's first token with its path; `text` is known to be JSON."""
    steps: list[Step] = []
    expect_key = False
    for match in _TOKEN.finditer(text):
        part = match.group()
        if part == ":":
            expect_key = False
        elif part == ",":
            last = steps[-1]
            expect_key = isinstance(last, str)
            if isinstance(last, int):
                steps[-1] = last + 1
        elif part in "}]":
            steps.pop()
        elif expect_key:
            steps[-1] = json.loads(part)
            yield _Token(TextTarget(tuple(steps), on_key=True), match.start(), part)
        else:
            yield _Token(TextTarget(tuple(steps)), match.start(), part)
            if part in "{[":
                steps.append("" if part == "{" else 0)
                expect_key = part == "{"


def value_spans(text: str) -> Iterator[tuple[Steps, int, int, int]]:
    """Yield (path, entry, start, end) of every value, containers after their parts; `text` is known to be JSON.

    `entry`: where the key begins that leads to the value; elsewhere, the value itself.
    """
    open_at: list[tuple[Steps, int, int]] = []
    ends = (match.end() for match in _TOKEN.finditer(text) if match.group() in "}]")
    closing = next(ends, None)
    key: int | None = None
    for token in _walk(text):
        while open_at and closing is not None and closing <= token.offset:
            yield (*open_at.pop(), closing)
            closing = next(ends, None)
        if token.target.on_key:
            key = token.offset
            continue
        entry, key = token.offset if key is None else key, None
        if token.text in "{[":
            open_at.append((token.target.steps, entry, token.offset))
        else:
            yield token.target.steps, entry, token.offset, token.offset + len(token.text)
    while open_at and closing is not None:
        yield (*open_at.pop(), closing)
        closing = next(ends, None)


class Lines:
    """Offsets to lines and columns; offsets are asked for in rising order, so each is found from the one before."""

    def __init__(self, text: str, first_line: int = 1) -> None:
        self._text = text
        self._line = first_line
        self._start = 0

    def place(self, offset: int) -> SourcePosition:
        """Return the line and column of an offset."""
        newline = self._text.find("\n", self._start, offset)
        while newline >= 0:
            self._line += 1
            self._start = newline + 1
            newline = self._text.find("\n", self._start, offset)
        return SourcePosition(self._line, offset - self._start + 1)


def pointer_steps(value: Json, pointer: str) -> Steps | None:
    """Return the path that a JSON pointer (RFC 6901) names in `value`, or None if there is nothing."""
    steps: list[Step] = []
    if pointer and not pointer.startswith("/"):
        return None
    for part in pointer.split("/")[1:]:
        name = part.replace("~1", "/").replace("~0", "~")
        if isinstance(value, list) and _INDEX.fullmatch(name) and int(name) < len(value):
            steps.append(int(name))
            value = value[int(name)]
        elif isinstance(value, dict) and name in value:
            steps.append(name)
            value = value[name]
        else:
            return None
    return tuple(steps)


def pointer_advice(value: Json, pointer: str) -> str:
    """Say what is near the first part of a pointer that leads nowhere: `; did you mean '/properties'?`."""
    if not pointer.startswith("/"):
        return "; a pointer starts with `/`"
    before = ""
    for part in pointer.split("/")[1:]:
        steps = pointer_steps(value, f"/{part}")
        if steps is None:
            names = [f"{before}/{escape(name)}" for name in value] if isinstance(value, dict) else []
            return nearest(f"{before}/{part}", names)
        value, before = value[steps[0]], f"{before}/{part}"
    return ""


MAX_ALIASED: Final = 100_000
"""Most values that all aliases of a file may stand for together (the "billion laughs" bound)."""

_WORDS: Final[dict[str, Json]] = {"": None, "~": None, "null": None, "true": True, "false": False}
_DIGITS: Final = frozenset("-0123456789")
_MEANS: Final = frozenset(("", "~", "n", "t", "f", *_DIGITS))
"""How a plain scalar begins that may be no text."""
_TAG: Final = "tag:yaml.org,2002:"
_TEXT_TAGS: Final = frozenset((None, "!", f"{_TAG}str"))
_CONTAINER_TAGS: Final = frozenset((None, "!", f"{_TAG}map", f"{_TAG}seq"))


def read_yaml(text: str) -> ParsedFile:
    """Read one YAML document; an empty text is null. Raises TextError where there is no reading on."""
    builder = _Builder(text)
    builder.run()
    return ParsedFile(builder.root, tuple(builder.problems), builder.rows)


def pyyaml() -> Any:
    """Return PyYAML as libyaml's parser knows it: its events and errors are of these classes.

    Where PyYAML is imported a second time (`pytester` makes Python do so from one inner session to the next), the part
    in C keeps to the first import.
    """
    import yaml

    return getattr(sys.modules.get("yaml._yaml"), "yaml", yaml)


def _parser(text: str) -> Any:
    """Return libyaml's parser, or PyYAML's own where it was built without libyaml; both give the same events."""
    try:
        try:
            from yaml._yaml import CParser
        except ImportError:
            return _pure_parser(text)
        return CParser(text)
    except pyyaml().YAMLError as error:
        raise _text_error(error, text) from None
    except UnicodeEncodeError as error:
        raise TextError("a lone surrogate is no character", _place_of(text, error.start)) from None


def _pure_parser(text: str) -> Any:
    from yaml.parser import Parser
    from yaml.reader import Reader
    from yaml.scanner import Scanner

    class PureParser(Reader, Scanner, Parser):
        def __init__(self, stream: str) -> None:
            Reader.__init__(self, stream)
            Scanner.__init__(self)
            Parser.__init__(self)

    return PureParser(text)


def events_of(text: str) -> Iterator[Any]:
    """Yield the events of a text that `read_yaml` has read."""
    parser = _parser(text)
    while (event := parser.get_event()) is not None:
        yield event


def _text_error(error: Any, text: str) -> TextError:
    mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
    if mark is None:  # a ReaderError
        found = text.find(chr(error.character))
        place = _place_of(text, found) if found >= 0 else None
        return TextError(f"not YAML: the character U+{error.character:04X} must be escaped", place)
    if "nesting depth" in str(error.problem):  # a limit of libyaml's, which looks ahead of what is read here
        return _too_deep(text, _place_of(text, mark.index))
    words = (str(part) for part in (error.problem, error.context) if part)
    return TextError(f"not YAML: {' '.join(words)}", _place_of(text, mark.index))


def _too_deep(text: str, place: SourcePosition) -> TextError:
    """Return where a text is nested too deep; `place`: where libyaml stopped, for what is no YAML before that."""
    depth = 0
    with suppress(pyyaml().YAMLError):
        for event in iter(_pure_parser(text).get_event, None):
            kind = type(event).__name__
            depth += kind in ("SequenceStartEvent", "MappingStartEvent")
            depth -= kind in ("SequenceEndEvent", "MappingEndEvent")
            if depth > MAX_DEPTH:
                place = _place_of(text, event.start_mark.index)
                break
    return TextError(f"nested deeper than {MAX_DEPTH} levels", place)


def _place_of(text: str, offset: int) -> SourcePosition:
    """Return the line and column of an offset; those of libyaml's marks also count U+0085, U+2028 and U+2029."""
    return Lines(text).place(offset)


def _ignore(_: Any) -> None:
    """Pass over events that carry no value: the begin and end of the stream, the end of a document."""


class _Builder:
    """Builds the value of one text from its events, without recursion."""

    def __init__(self, text: str) -> None:
        self.root: Json = None
        self.problems: list[TextProblem] = []
        self.rows: dict[str, list[int]] = {}
        self._parents: list[tuple[Any, str | None]] = []
        self._here: Any = None  # the container being filled
        self._key: str | None = None  # the key whose value comes next
        self._text = text
        self._lines = Lines(text)
        self._documents = 0
        self._anchors: dict[str, Json] = {}
        self._open: dict[str, int] = {}  # anchors of containers that are not closed yet: their depth
        self._aliased = 0
        self._merging: list[dict[str, Json]] = []

    def run(self) -> None:
        """Read all events; keys and texts of mappings, most of a file, are dealt with on the spot."""
        events = pyyaml().events
        scalar = events.ScalarEvent
        handle = {
            events.MappingStartEvent: self._start_mapping,
            events.SequenceStartEvent: self._start_list,
            events.MappingEndEvent: self._end,
            events.SequenceEndEvent: self._end,
            events.AliasEvent: self._alias,
            events.DocumentStartEvent: self._document,
        }.get
        next_event = _parser(self._text).get_event
        try:
            while (event := next_event()) is not None:
                kind = event.__class__
                if kind is not scalar:
                    handle(kind, _ignore)(event)
                    continue
                here, word = self._here, event.value
                if here.__class__ is not dict or event.anchor is not None:
                    self._scalar(event)
                elif self._key is None and word not in here and word != "<<":
                    self._key = sys.intern(word)  # thousands of files have the same keys
                elif self._key is not None and event.implicit[0] and word[:1] not in _MEANS:
                    here[self._key] = word
                    self._key = None
                else:
                    self._scalar(event)
        except pyyaml().YAMLError as error:
            raise _text_error(error, self._text) from None
        for merged in self._merging:
            merged.pop("<<", None)  # told; nobody needs to hear of it again as an unknown key

    def _document(self, event: Any) -> None:
        self._documents += 1
        if self._documents > 1:
            raise TextError("a second YAML document begins; expected one a file", self._place(event))

    def _scalar(self, event: Any) -> None:
        here = self._here
        text = event.value
        if here.__class__ is dict and self._key is None:
            self._take_key(event)
            return
        if event.implicit[0]:
            value = _WORDS.get(text, text)
            if value is text and text[0] in _DIGITS:
                value = self._number(event)
        elif event.implicit[1] or event.tag in _TEXT_TAGS:
            value = text
        else:
            value = self._tagged(event)
        if event.anchor is not None:
            self._anchors[event.anchor] = value
        if here.__class__ is dict:
            here[self._key] = value
            self._key = None
        elif here is None:
            self.root = value
        else:
            here.append(value)

    def _take_key(self, event: Any) -> None:
        key = event.value
        if key == "<<" and event.implicit[0]:
            self._tell("merge keys (`<<`) are no part of YAML 1.2; put what cases share under `defaults:`", event)
            self._merging.append(self._here)
        elif key in self._here:
            self._tell(f"duplicate key {key!r}", event)
        if event.anchor is not None:
            self._anchors[event.anchor] = key
        self._key = key

    def _number(self, event: Any) -> Json:
        try:
            value = parse_json_number(event.value)
        except ValueError:
            self._tell(f"the number {_shortened(event.value)} is out of range; quote it if it is a text", event)
            return None
        return event.value if value is None else value

    def _tagged(self, event: Any) -> Json:
        name = event.tag.removeprefix(_TAG)
        value = _WORDS.get(event.value, self._number(event))
        right = {"null": value is None, "bool": value.__class__ is bool, "int": value.__class__ is int}
        if name == "float" and isinstance(value, (int, float)):
            return float(value)
        if not right.get(name, False):
            self._tell(f"the tag {event.tag!r} does not fit {_shortened(event.value)}; expected a JSON type", event)
        return value

    def _start_mapping(self, event: Any) -> None:
        self._start({}, event)

    def _start_list(self, event: Any) -> None:
        self._start([], event)

    def _start(self, container: Any, event: Any) -> None:
        here, depth = self._here, len(self._parents)
        if depth >= MAX_DEPTH:
            raise TextError(f"nested deeper than {MAX_DEPTH} levels", self._place(event))
        if event.tag not in _CONTAINER_TAGS:
            self._tell(f"the tag {event.tag!r} is no JSON type; leave it out", event)
        if event.anchor is not None:
            self._anchors[event.anchor] = container
            self._open[event.anchor] = depth
        self._parents.append((here, self._key))
        if here.__class__ is dict:
            if self._key is None:
                raise TextError("a key must be a text, not a mapping or a list", self._place(event))
            here[self._key] = container
        elif here is None:
            self.root = container
        else:
            if depth == 2 and self._parents[1][1] is not None:  # an item of a list of the root mapping
                rows = self.rows.setdefault(self._parents[1][1], [])
                rows.extend([0] * (len(here) - len(rows)))  # scalars among the items
                rows.append(self._place(event).line)
            here.append(container)
        self._here = container
        self._key = None

    def _end(self, _: Any) -> None:
        self._here, self._key = self._parents.pop()
        if self._here.__class__ is dict:
            self._key = None
        if self._open:
            depth = len(self._parents)
            self._open = {name: at for name, at in self._open.items() if at < depth}

    def _alias(self, event: Any) -> None:
        name = event.anchor
        value: Json = None
        if name in self._open:
            self._tell(f"the alias *{name} stands inside its own anchor", event)
        elif name not in self._anchors:
            self._tell(f"no anchor &{name} above this alias", event)
        else:
            value = self._copied(self._anchors[name], event, len(self._parents))
        here = self._here
        if here.__class__ is dict:
            if self._key is None:
                if not isinstance(value, str):
                    raise TextError("a key must be a text", self._place(event))
                if value in here:
                    self._tell(f"duplicate key {value!r}", event)
                self._key = value
                return
            here[self._key] = value
            self._key = None
        elif here is not None:
            here.append(value)

    def _copied(self, value: Json, event: Any, depth: int) -> Json:
        self._aliased += 1
        if self._aliased > MAX_ALIASED:
            raise TextError(f"the aliases stand for more than {MAX_ALIASED} values", self._place(event))
        if depth > MAX_DEPTH:
            raise TextError(f"nested deeper than {MAX_DEPTH} levels", self._place(event))
        if isinstance(value, dict):
            return {key: self._copied(part, event, depth + 1) for key, part in value.items()}
        if isinstance(value, list):
            return [self._copied(part, event, depth + 1) for part in value]
        return value

    def _place(self, event: Any) -> SourcePosition:
        return self._lines.place(event.start_mark.index)

    def _tell(self, message: str, event: Any) -> None:
        self.problems.append(TextProblem(self._steps(), message, self._place(event)))

    def _steps(self) -> Steps:
        """Path of the container being filled, and of the key or index that comes next."""
        frames = [*self._parents[1:], (self._here, self._key)] if self._parents else []
        steps: list[Step] = []
        for container, key in frames:
            if key is not None:
                steps.append(key)
            elif isinstance(container, list):
                last = container is self._here
                steps.append(len(container) if last else len(container) - 1)
        return tuple(steps)


def _shortened(text: str) -> str:
    return text if len(text) <= 40 else f"{text[:40]}… ({len(text)} characters)"


def find_in_yaml(text: str, targets: Collection[TextTarget]) -> dict[TextTarget, SourcePosition]:
    """Return the places of those targets that are there; reads the text a second time, only to report mistakes."""
    wanted = set(targets)
    found: dict[TextTarget, SourcePosition] = {}
    frames: list[tuple[bool, Step | None]] = []  # is it a mapping, and the key or index whose value comes next
    lines = Lines(text)

    def note(target: TextTarget, event: Any) -> None:
        if target in wanted and target not in found:
            found[target] = lines.place(event.start_mark.index)

    events = pyyaml().events
    for event in events_of(text):
        if isinstance(event, events.CollectionEndEvent):
            frames.pop()
            _advance(frames)
        elif isinstance(event, events.NodeEvent):
            steps = tuple(step for _, step in frames if step is not None)
            if frames and frames[-1][1] is None:
                name = getattr(event, "value", getattr(event, "anchor", ""))
                frames[-1] = (True, name)
                note(TextTarget((*steps, name), on_key=True), event)
                continue
            note(TextTarget(steps), event)
            if isinstance(event, events.CollectionStartEvent):
                is_mapping = isinstance(event, events.MappingStartEvent)
                frames.append((is_mapping, None if is_mapping else 0))
            else:
                _advance(frames)
    return found


def _advance(frames: list[tuple[bool, Step | None]]) -> None:
    """Say that a value has ended: a mapping waits for its next key, a list for its next item."""
    if frames:
        is_mapping, step = frames[-1]
        frames[-1] = (is_mapping, None if is_mapping else (step + 1 if isinstance(step, int) else 0))


_UTF_16: Final = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
YAML_SUFFIXES = frozenset((".yaml", ".yml"))


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A text that was read; `first_line` is other than 1 for a line of a JSONL file."""

    path: Path
    text: str
    language: Literal["json", "yaml"]
    parsed: ParsedFile
    first_line: int = 1

    @property
    def value(self) -> Json:
        """The JSON value of the text."""
        return self.parsed.value

    @property
    def mistakes(self) -> list[Mistake]:
        """What is wrong in the text by itself: parts that are no JSON values."""
        return [Mistake(self, each.steps, each.message, place=each.place) for each in self.parsed.problems]

    @property
    def folder(self) -> str:
        """Where the paths that the text names resolve from."""
        return os.path.dirname(self.path)  # noqa: PTH120 - a path a case, and pathlib takes five times as long

    def places(self, targets: Iterable[TextTarget]) -> dict[TextTarget, SourcePosition]:
        """Return the place of each target, or of the nearest thing around it that is there."""
        asked = set(targets)
        ladder = {target: tuple(_around(target)) for target in asked}
        wanted = {step for rungs in ladder.values() for step in rungs}
        if self.language == "yaml":
            found = find_in_yaml(self.text, wanted)
        else:
            found = find_in_json(self.text, wanted, self.first_line)
        start = SourcePosition(self.first_line, 1)
        return {target: next((found[step] for step in ladder[target] if step in found), start) for target in asked}


def _around(target: TextTarget) -> Iterable[TextTarget]:
    """Yield the target and then what is around it, from the inside out; of a missing value its parent's key."""
    yield target
    if target.on_key:
        yield TextTarget(target.steps)
    for end in range(len(target.steps) - 1, -1, -1):
        yield TextTarget(target.steps[:end], on_key=True)
        yield TextTarget(target.steps[:end])


@dataclass(frozen=True, slots=True)
class Mistake:
    """What is wrong with a place of a source; the line and column are looked up last, for all mistakes at once."""

    source: SourceFile
    steps: Steps
    message: str
    on_key: bool = False
    place: SourcePosition | None = None


def mistake_in(error: CaseFileError) -> Mistake:
    """Carry over a mistake that a file's reader placed itself."""
    source = SourceFile(error.path, "", "json", ParsedFile(None))
    return Mistake(source, (), error.message, place=SourcePosition(error.line or 1, error.column or 1))


def is_file(path: str | Path) -> bool:
    """Whether a file is there; False for a name that no file can have, on which pathlib raises."""
    return os.path.isfile(path)  # noqa: PTH113


def path_from(folder: str, name: str) -> str:
    """Return the path that a file in `folder` names, without `..`; behind a link, as the system follows both."""
    path = os.path.join(folder, name)  # noqa: PTH118 - a path a case, and pathlib takes five times as long
    plain = os.path.normpath(path)
    if ".." in name and os.path.realpath(plain) != (real := os.path.realpath(path)):
        return real
    return plain


def path_and_pointer(given: str, is_there: Callable[[str], bool] = is_file) -> tuple[str, str]:
    """Split a path from the JSON pointer after its `#`, which may also be part of the file's name."""
    if "#" not in given or is_there(given):
        return given, ""
    marks = [at for at, character in enumerate(given) if character == "#"]
    pointed = [at for at in marks if given[at + 1 :].startswith("/") or at == len(given) - 1]
    files = [at for at in marks if is_there(given[:at])]
    at = (files[-1:] or pointed or [len(given)])[0]
    return given[:at], given[at + 1 :]


def no_file(key: str, path: Path) -> str:
    """Say that a file is not there, with the nearest name in its folder, or what is there that is no regular file."""
    with suppress(OSError, ValueError):
        kind = other_kind(os.stat(path).st_mode)  # noqa: PTH116 - pathlib's raises on a name that is too long
        return f"`{key}`: {path} is {kind}, not a file"
    other = _spelled_otherwise(path)
    if other:
        return f"`{key}`: no file {path}; {other}"
    if not os.path.isdir(path.parent):  # noqa: PTH112
        return f"`{key}`: no file {path}: there is no folder {path.parent}"
    return f"`{key}`: no file {path}{closest(path.name, _names_in(path.parent))}"


def _spelled_otherwise(path: Path) -> str:
    """Say how the file is named that the path means on another system, and what differs; "" where there is none."""
    native = path.parts[bool(path.anchor) :]
    parts = [part for each in native for part in each.split("\\") if part]
    real = Path(path.anchor)
    same: list[str] = []
    for part in parts:
        name = part if os.path.lexists(real / part) else _same_name(part, _names_in(real))
        if name is None:
            return ""
        same.append(name)
        real /= name
    if not is_file(real):
        return ""
    slashed = [at for at, part in enumerate(native) if "\\" in part]
    differing = [at for at, part in enumerate(parts) if part != same[at]]
    first = min(slashed + differing)
    found = "/".join(same[first:])
    if slashed:
        return f"write {found!r} (a backslash divides folders on Windows only)"
    if _composed(found) != _composed("/".join(parts[first:])):
        return f"did you mean {found!r}? (upper and lower case count here)"
    form = (
        "characters of their own (NFD, as macOS writes them)"
        if found != _composed(found)
        else "one with their letters (NFC)"
    )
    return f"the file's name {found!a} has its accents as {form}: rename the file, or copy its name into the path"


def _same_name(name: str, names: Iterable[str]) -> str | None:
    """Return the name that differs in case or in the form of its accents only."""
    folded = _composed(_composed(name).casefold())
    alike = (each for each in names if _composed(_composed(each).casefold()) == folded)
    return min(alike, key=lambda each: (_composed(each) != _composed(name), each), default=None)


def _composed(text: str) -> str:
    return unicodedata.normalize("NFC", text)


def _names_in(folder: Path) -> list[str]:
    try:
        return os.listdir(folder)  # noqa: PTH208
    except OSError:
        return []


def reached(value: Json, steps: Steps) -> Json:
    """Return the part of a value at `steps`."""
    for step in steps:
        value = value[step]
    return value


def errors_of(mistakes: Iterable[Mistake], first: Path) -> tuple[CaseFileError, ...]:
    """Place every mistake (each source is read a second time, once); those of the file `first` first, by place."""
    by_source: dict[int, list[Mistake]] = {}
    for mistake in mistakes:
        by_source.setdefault(id(mistake.source), []).append(mistake)
    errors: dict[tuple[bool, str, int, int, str], CaseFileError] = {}
    for group in by_source.values():
        source = group[0].source
        places = source.places(TextTarget(item.steps, item.on_key) for item in group if item.place is None)
        for item in group:
            line, column = item.place or places[TextTarget(item.steps, item.on_key)]
            message = item.message.encode("utf-8", "backslashreplace").decode()  # lone surrogates cannot be printed
            error = CaseFileError(message, path=source.path, line=line, column=column)
            errors[source.path != first, str(source.path), line, column, message] = error
    return tuple(errors[key] for key in sorted(errors))


def read_text(path: Path, most: int = MOST_BYTES, *, streams: bool = False) -> str:
    """Return the text of a UTF-8 (or BOM-marked UTF-16) file; raises CaseFileError.

    A file that is no regular one (`streams`: but a pipe or device may be), or has more than `most` bytes, is not read.
    """
    return _decoded(path, _read_bytes(path, most, streams=streams))


def read_lines(path: Path) -> Iterator[tuple[int, str | CaseFileError]]:
    """Yield the number and text of each line, or what is wrong with its bytes; raises CaseFileError for no file."""
    data = _read_bytes(path, MOST_BULK_BYTES)
    try:
        yield from enumerate(_decoded(path, data).split("\n"), start=1)
    except CaseFileError:
        if data.startswith(_UTF_16):
            raise
        for number, line in enumerate(data.split(b"\n"), start=1):
            try:
                yield number, _decoded(path, line, number)
            except CaseFileError as error:
                yield number, error


def _read_bytes(path: Path, most: int, *, streams: bool = False) -> bytes:
    try:
        data = read_regular(path, most, streams=streams)
    except (OSError, ValueError) as error:  # ValueError: a name with a NUL or a lone surrogate in it
        reason = getattr(error, "strerror", None) or error
        raise CaseFileError(f"cannot be read: {reason}", path=path) from None
    return data.removeprefix(codecs.BOM_UTF8)


def _decoded(path: Path, data: bytes, first_line: int = 1) -> str:
    encoding = "utf-16" if first_line == 1 and data.startswith(_UTF_16) else "utf-8"
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError as error:
        before = data[: error.start]
        line, column = before.count(b"\n") + first_line, len(before) - (before.rfind(b"\n") + 1) + 1
        message = f"the byte 0x{data[error.start]:02x} is not {error.encoding.upper()}; save the file as UTF-8"
        raise CaseFileError(message, path=path, line=line, column=column) from None
    return text.replace("\r\n", "\n")


def read_source(path: Path) -> SourceFile:
    """Read a file by its suffix, `.yaml`/`.yml` as YAML and all else as JSON; raises CaseFileError."""
    return parse_source(path, read_text(path), "yaml" if path.suffix.lower() in YAML_SUFFIXES else "json")


def parse_source(path: Path, text: str, language: Literal["json", "yaml"], first_line: int = 1) -> SourceFile:
    """Parse the text of `path`; raises CaseFileError if it cannot be read to its end."""
    try:
        parsed = read_yaml(text) if language == "yaml" else read_json(text, first_line)
    except TextError as error:
        line, column = error.place or (first_line, None)
        raise CaseFileError(error.message, path=path, line=line, column=column) from None
    return SourceFile(path, text, language, parsed, first_line)


def read_value(path: Path) -> Json:
    """Return the value of a JSON (by suffix YAML) file; raises CaseFileError with line and column."""
    return _whole_value(read_source(path))


def read_json_lines(path: Path) -> Iterator[tuple[int, Json]]:
    """Yield line number and value of each line of a JSONL file that is not blank; raises CaseFileError."""
    for number, line in enumerate(read_text(path, MOST_BULK_BYTES).split("\n"), start=1):
        if line.strip():
            yield number, _whole_value(parse_source(path, line, "json", number))


def _whole_value(source: SourceFile) -> Json:
    for problem in source.parsed.problems:
        raise CaseFileError(problem.message, path=source.path, line=problem.place.line, column=problem.place.column)
    return source.value
