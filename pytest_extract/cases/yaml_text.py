"""YAML text -> plain JSON values, and on demand the line and column of any of them.

YAML 1.2 with JSON's scalars: a plain scalar is a number, `true`, `false` or `null` only where JSON would read it so
(`no`, `2024-01-02`, `1_000`, `0o17`, `007` and `True` are strings); nothing and `~` are null. Keys are always the text
as it is written. Anchors and aliases are followed, each alias as a copy of its own and all copies together bounded;
merge keys (`<<`) and tags outside the JSON types are mistakes.

Values are built straight from libyaml's events: a quarter of the time of composing nodes, and no recursion, so that
nesting is bounded by `MAX_DEPTH` and not by the C stack.
"""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterator
from contextlib import suppress
from typing import Any, Final

from pytest_extract.cases.json_text import (
    MAX_DEPTH,
    Lines,
    ParsedFile,
    SourcePosition,
    Steps,
    TextError,
    TextProblem,
    TextTarget,
    parse_json_number,
)
from pytest_extract.core.values import Json, Step

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
