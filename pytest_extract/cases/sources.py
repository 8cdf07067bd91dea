"""Files that cases name, read once each: JSON and YAML text -> plain values, mistakes, and the places of parts.

JSON is read more strictly than by `json.loads`: a duplicate key, NaN, Infinity and a number out of range are mistakes
with their place. Places are computed by a second pass over the text, only when there is a mistake to report.

YAML is YAML 1.2 with JSON's scalars: a plain scalar is a number, `true`, `false` or `null` only where JSON would read
it so (`no`, `2024-01-02`, `1_000`, `0o17`, `007` and `True` are strings); nothing and `~` are null. Keys are always the
text as it is written. Anchors, aliases, merge keys (`<<`) and tags are mistakes. Values are built straight from
libyaml's events: a quarter of the time of composing nodes.
"""

from __future__ import annotations

import codecs
import json
import math
import os
import re
import sys
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple, TypeAlias

from pytest_extract.core.parse import too_deep
from pytest_extract.core.schema.source import INDEX, escape
from pytest_extract.core.values import MAX_DEPTH, Json, Step
from pytest_extract.errors import CaseFileError, closest, nearest
from pytest_extract.files import MOST_BULK_BYTES, MOST_BYTES, other_kind, read_regular

Steps: TypeAlias = tuple[Step, ...]
_TOO_DEEP: Final = f"nested deeper than {MAX_DEPTH} levels"


class SourcePosition(NamedTuple):
    """Line and column in a text, from 1."""

    line: int
    column: int


class TextRange(NamedTuple):
    """Offsets of a value in its text, the end exclusive.

    `entry`: where what holds the value begins, the key of a mapping; the value itself elsewhere.
    """

    start: int
    end: int
    entry: int


class Lines:
    """Offsets of a text to lines and columns; its first line may have another number in the file."""

    def __init__(self, text: str, first_line: int = 1) -> None:
        self._starts = [0, *(match.end() for match in re.finditer("\n", text))]
        self._first_line = first_line

    def place(self, offset: int) -> SourcePosition:
        """Return the line and column of an offset."""
        line = bisect_right(self._starts, offset) - 1
        return SourcePosition(line + self._first_line, offset - self._starts[line] + 1)


# --- JSON

_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?P<rest>(\.[0-9]+)?([eE][-+]?[0-9]+)?)")
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\]]|[^\s{}\[\]:,"]+', re.DOTALL)
_LAST_COMMA = re.compile(r",\s*[}\]]")


def parse_json_number(text: str) -> Json:
    """Return the number that JSON reads in `text`, or None when it is none; ValueError when it is out of range."""
    match = _NUMBER.fullmatch(text)
    if match is None:
        return None
    value = float(text) if match["rest"] else int(text)
    if value in (math.inf, -math.inf):
        raise ValueError(text)
    return value


def _read_json(path: Path, text: str, first_line: int) -> tuple[Json, list[Mistake]]:
    spoilt: list[str] = []  # what the second pass will place

    def number(word: str) -> Json:
        try:
            return parse_json_number(word)
        except ValueError:
            spoilt.append(word)
            return None

    def mapping(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
        value = dict(pairs)
        if len(value) != len(pairs):
            spoilt.append("a duplicate key")
        return value

    try:
        value = json.loads(
            text, object_pairs_hook=mapping, parse_int=number, parse_float=number, parse_constant=spoilt.append
        )
    except json.JSONDecodeError as error:
        # which Python tells in words and at places of each version's own
        comma = _LAST_COMMA.match(text, max(text.rfind(",", 0, error.pos + 1), 0))
        if comma is not None and comma.end() > error.pos:
            error = json.JSONDecodeError("a comma before the end", text, comma.start())
        comment = "; JSON has no comments" if error.doc.startswith(("//", "/*"), error.pos) else ""
        line = error.lineno + first_line - 1
        raise CaseFileError(f"not JSON: {error.msg}{comment}", path=path, line=line, column=error.colno) from None
    except RecursionError:
        raise CaseFileError(_TOO_DEEP, path=path, line=first_line) from None
    if too_deep(value):
        raise CaseFileError(_TOO_DEEP, path=path, line=first_line)
    return value, list(_json_mistakes(path, text, first_line)) if spoilt else []


def _json_mistakes(path: Path, text: str, first_line: int) -> Iterator[Mistake]:
    source, lines = SourceFile(path), Lines(text, first_line)
    seen: defaultdict[Steps, set[Step]] = defaultdict(set)
    for steps, span in _spans(_json_tokens(text)):
        word = text[span.start : span.end]
        names = seen[steps[:-1]]
        if not names.isdisjoint(steps[-1:]):
            message = f"duplicate key {steps[-1]!r}"
            yield Mistake(source, steps[:-1], message, place=lines.place(span.entry))
        names.update(steps[-1:])
        seen.pop(steps, None)  # the same place may come again, with parts of its own
        message = f"{word} is no JSON number" if word in ("NaN", "Infinity", "-Infinity") else ""
        try:
            parse_json_number(word)
        except ValueError:
            message = "the number is out of range"
        if message:
            yield Mistake(source, steps, message, place=lines.place(span.start))


class _Token(NamedTuple):
    """A token of JSON, an event of YAML. `kind`: the bracket that it is, "" for a scalar; `name`: as a key."""

    kind: str
    name: str
    start: int
    end: int


def _json_tokens(text: str) -> Iterator[_Token]:
    for match in _TOKEN.finditer(text):
        word = match.group()
        name = json.loads(word) if word.startswith('"') else ""
        yield _Token(word if word in "{}[]" else "", name, match.start(), match.end())


def _yaml_tokens(text: str) -> Iterator[_Token]:
    events = pyyaml().events
    brackets = {
        events.MappingStartEvent: "{",
        events.MappingEndEvent: "}",
        events.SequenceStartEvent: "[",
        events.SequenceEndEvent: "]",
    }
    for event in _events_of(text):
        start, end, kind = event.start_mark.index, event.end_mark.index, brackets.get(type(event), "")
        if kind in ("}", "]") and text[start:end] != kind:
            end = 0  # of a block, whose end mark stands behind the comments and blank lines that follow it
        elif not kind:
            end = start + len(text[start:end].rstrip())
        if kind or isinstance(event, events.NodeEvent):
            yield _Token(kind, getattr(event, "value", ""), start, end)


def _spans(tokens: Iterator[_Token]) -> list[tuple[Steps, TextRange]]:
    """Return path and range of every value, containers after their parts."""
    spans: list[tuple[Steps, TextRange]] = []

    def add(token: _Token, steps: Steps, entry: int) -> int:
        """Add the ranges of the value that begins with a token, and return where it ends."""
        end, index = token.end, 0
        if token.kind:
            while (inner := next(tokens)).kind not in ("}", "]"):
                if token.kind == "{":
                    end = max(inner.end, add(next(tokens), (*steps, inner.name), inner.start))
                else:
                    end = add(inner, (*steps, index), inner.start)
                    index += 1
            end = max(end, inner.end)
        spans.append((steps, TextRange(token.start, end, entry)))
        return end

    for token in tokens:
        add(token, (), token.start)
    return spans


# --- YAML

_WORDS: Final[dict[str, Json]] = {"": None, "~": None, "null": None, "true": True, "false": False}
_MEANS: Final = frozenset(("", *"~ntf-0123456789"))
"""How a plain scalar begins that may be no text."""
_TEXT_TAG: Final = "tag:yaml.org,2002:str"
_INSTEAD: Final = "put what cases share under `defaults:`"
_ANCHORS: Final = f"anchors and aliases (`&`, `*`) are not read; {_INSTEAD}, or write it out"


def pyyaml() -> Any:
    """Return PyYAML as libyaml's parser knows it: its events and errors are of these classes.

    Where PyYAML is imported a second time (`pytester` makes Python do so from one inner session to the next), the part
    in C keeps to the first import.
    """
    import yaml

    return getattr(sys.modules.get("yaml._yaml"), "yaml", yaml)


def _events_of(text: str) -> Iterator[Any]:
    """Yield the events of a text, from libyaml's parser where PyYAML was built with it; both give the same."""
    module = pyyaml()
    loader = getattr(module, "CSafeLoader", module.SafeLoader)(text)
    yield from iter(loader.get_event, None)


class _YamlReader:
    """Builds the value of one text from its events."""

    def __init__(self, path: Path, text: str) -> None:
        self._source = SourceFile(path)
        self._text = text
        self._lines = Lines(text)
        self._mistakes: list[Mistake] = []
        self._steps: list[Step] = []
        self._names = pyyaml().events
        self._events = _events_of(text)

    def read(self) -> tuple[Json, list[Mistake]]:
        """Return the value of the one document, null for an empty text."""
        value, documents = None, 0
        try:
            for event in self._events:
                if isinstance(event, self._names.NodeEvent):
                    value = self._value(event)
                elif isinstance(event, self._names.DocumentStartEvent):
                    documents += 1
                    if documents > 1:
                        raise self._error("a second YAML document begins; expected one a file", event)
        except pyyaml().YAMLError as error:
            mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
            if mark is None:  # a ReaderError
                place = max(self._text.find(chr(error.character)), 0)
                message = f"not YAML: the character U+{error.character:04X} must be escaped"
                raise self._error_at(message, place) from None
            words = " ".join(str(part) for part in (error.problem, error.context) if part)
            # libyaml, which looks ahead of what is read here, has a limit of its own
            raise self._error_at(_TOO_DEEP if "nesting depth" in words else f"not YAML: {words}", mark.index) from None
        except UnicodeEncodeError as error:
            raise self._error_at("a lone surrogate is no character", error.start) from None
        return value, self._mistakes

    def _error_at(self, message: str, offset: int) -> CaseFileError:
        line, column = self._lines.place(offset)
        return CaseFileError(message, path=self._source.path, line=line, column=column)

    def _error(self, message: str, event: Any) -> CaseFileError:
        return self._error_at(message, event.start_mark.index)

    def _value(self, event: Any) -> Json:
        """Return the value that begins with an event; one method, as each level of a file takes a frame of Python's."""
        names, steps = self._names, self._steps
        if event.anchor is not None:
            self._tell(_ANCHORS, event)
        if isinstance(event, names.AliasEvent):
            return None
        is_scalar = isinstance(event, names.ScalarEvent)
        if event.tag not in (None, "!") and not (is_scalar and event.tag == _TEXT_TAG):
            self._tell(f"the tag {event.tag!r} is no JSON type; leave it out", event)
        if is_scalar:
            return self._scalar(event)
        if len(steps) >= MAX_DEPTH:
            raise self._error(_TOO_DEEP, event)
        value: Json = {} if isinstance(event, names.MappingStartEvent) else []
        if isinstance(value, dict):
            while not isinstance(inner := next(self._events), names.MappingEndEvent):
                key = self._key(inner, value)
                steps.append(key)
                part = self._value(next(self._events))
                steps.pop()
                if key != "<<" or not inner.implicit[0]:
                    value[key] = part
        else:
            while not isinstance(inner := next(self._events), names.SequenceEndEvent):
                steps.append(len(value))
                value.append(self._value(inner))
                steps.pop()
        return value

    def _key(self, event: Any, mapping: dict[str, Json]) -> str:
        key = getattr(event, "value", None)
        if not isinstance(key, str):  # an alias, too, has no text
            raise self._error("a key must be a text" if event.anchor is None else _ANCHORS, event)
        if event.anchor is not None:
            self._tell(_ANCHORS, event)
        if key == "<<" and event.implicit[0]:
            self._tell(f"merge keys (`<<`) are no part of YAML 1.2; {_INSTEAD}", event)
        elif key in mapping:
            self._tell(f"duplicate key {key!r}", event)
        return sys.intern(key)  # thousands of files have the same keys

    def _scalar(self, event: Any) -> Json:
        text: str = event.value
        if not event.implicit[0] or text[:1] not in _MEANS:
            return text
        if text in _WORDS:
            return _WORDS[text]
        try:
            value = parse_json_number(text)
        except ValueError:
            shown = text if len(text) <= 40 else f"{text[:40]}… ({len(text)} characters)"
            self._tell(f"the number {shown} is out of range; quote it if it is a text", event)
            return None
        return text if value is None else value

    def _tell(self, message: str, event: Any) -> None:
        place = self._lines.place(event.start_mark.index)
        self._mistakes.append(Mistake(self._source, tuple(self._steps), message, place=place))


# --- files


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A text that was read.

    `mistakes`: what is wrong in it by itself, each with its place; such a part is None in the value.
    `first_line` is other than 1 for a line of a JSONL file.
    """

    path: Path
    text: str = ""
    language: Literal["json", "yaml"] = "json"
    value: Json = None
    mistakes: list[Mistake] = field(default_factory=list)
    first_line: int = 1

    @property
    def folder(self) -> str:
        """Where the paths that the text names resolve from."""
        return os.path.dirname(self.path)  # noqa: PTH120 - a path a case, and pathlib takes five times as long

    def ranges(self) -> dict[Steps, TextRange]:
        """Return where every value of the text stands."""
        return dict(_spans(_yaml_tokens(self.text) if self.language == "yaml" else _json_tokens(self.text)))

    def places(self, targets: Iterable[tuple[Steps, bool]]) -> Iterator[SourcePosition]:
        """Yield the place of the value at each of some steps, or (True) of the key that leads to it.

        What is not there has the place of the nearest thing around it.
        """
        ranges, lines = self.ranges(), Lines(self.text, self.first_line)
        for steps, on_key in targets:
            there = steps
            while there and there not in ranges:
                there = there[:-1]
            found = ranges.get(there, TextRange(0, 0, 0))
            yield lines.place(found.entry if on_key or there != steps else found.start)


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
    return Mistake(SourceFile(error.path), (), error.message, place=SourcePosition(error.line or 1, error.column or 1))


def errors_of(mistakes: Iterable[Mistake], first: Path) -> tuple[CaseFileError, ...]:
    """Place every mistake (each source is read a second time, once); those of the file `first` first, by place."""
    by_source: dict[int, list[Mistake]] = {}
    for mistake in mistakes:
        by_source.setdefault(id(mistake.source), []).append(mistake)
    errors: dict[tuple[bool, str, int, int, str], CaseFileError] = {}
    for group in by_source.values():
        source = group[0].source
        places = source.places((item.steps, item.on_key) for item in group)
        for item, place in zip(group, places, strict=True):
            line, column = item.place or place
            message = item.message.encode("utf-8", "backslashreplace").decode()  # lone surrogates cannot be printed
            error = CaseFileError(message, path=source.path, line=line, column=column)
            errors[source.path != first, str(source.path), line, column, message] = error
    return tuple(errors[key] for key in sorted(errors))


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
    """Split a path from the JSON pointer after its `#`, which may also be part of the file's name, or of a key."""
    if "#" not in given or is_there(given):
        return given, ""
    marks = [place for place, letter in enumerate(given) if letter == "#"]
    there = (place for place in marks if is_there(given[:place]))
    likely = (place for place in marks if given[place + 1 : place + 2] in ("", "/"))
    place = next(chain(there, likely), len(given))
    return given[:place], given[place + 1 :]


def no_file(key: str, path: Path) -> str:
    """Say that a file is not there, with the nearest name in its folder, or what is there that is no regular file."""
    with suppress(OSError, ValueError):
        kind = other_kind(os.stat(path).st_mode)  # noqa: PTH116 - pathlib's raises on a name that is too long
        return f"`{key}`: {path} is {kind}, not a file"
    gone = next((part for part in reversed(path.parents) if not os.path.isdir(part)), path)  # noqa: PTH112 - as above
    names: list[str] = []
    with suppress(OSError, ValueError):
        names = [name for name in os.listdir(gone.parent) if name != gone.name]  # noqa: PTH208 - as above
    why = f": there is no folder {gone}" if gone != path else ": the link leads nowhere" if os.path.islink(path) else ""  # noqa: PTH114 - as above
    return f"`{key}`: no file {path}{why}{closest(gone.name, names)}"


def reached(value: Json, steps: Steps) -> Json:
    """Return the part of a value at `steps`."""
    for step in steps:
        value = value[step]
    return value


def pointer_steps(value: Json, pointer: str) -> Steps | None:
    """Return the path that a JSON pointer (RFC 6901) names in `value`, or None if there is nothing."""
    steps: list[Step] = []
    if pointer and not pointer.startswith("/"):
        return None
    for part in pointer.split("/")[1:]:
        name = part.replace("~1", "/").replace("~0", "~")
        step: Step = int(name) if isinstance(value, list) and INDEX.fullmatch(name) else name
        try:
            value = value[step]
        except (LookupError, TypeError):
            return None
        steps.append(step)
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


def read_text(path: Path, most: int = MOST_BYTES, *, streams: bool = False) -> str:
    """Return the text of a UTF-8 file; raises CaseFileError.

    A file that is no regular one (`streams`: but a pipe or device may be), or has more than `most` bytes, is not read.
    """
    return _decoded(path, _read_bytes(path, most, streams=streams))


def source_lines(path: Path) -> Iterator[tuple[int, SourceFile | CaseFileError]]:
    """Yield number and content of each line of a JSONL file that is not blank, or why there is none.

    Raises CaseFileError for no file.
    """
    data = _read_bytes(path, MOST_BULK_BYTES)
    for number, line in enumerate(data.split(b"\n"), start=1):
        if line.strip():
            try:
                yield number, parse_source(path, _decoded(path, line, number), "json", number)
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
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        before = data[: error.start]
        line, column = before.count(b"\n") + first_line, len(before) - (before.rfind(b"\n") + 1) + 1
        message = f"the byte 0x{data[error.start]:02x} is not UTF-8; save the file as UTF-8"
        raise CaseFileError(message, path=path, line=line, column=column) from None
    return text.replace("\r\n", "\n")


def read_source(path: Path, language: Literal["json", "yaml"] | None = None) -> SourceFile:
    """Read a file; by its suffix, `.yaml`/`.yml` as YAML and all else as JSON. Raises CaseFileError."""
    return parse_source(path, read_text(path), language or language_of(path))


def language_of(path: Path) -> Literal["json", "yaml"]:
    """Return the language that a suffix means."""
    return "yaml" if path.suffix.lower() in (".yaml", ".yml") else "json"


def parse_source(path: Path, text: str, language: Literal["json", "yaml"], first_line: int = 1) -> SourceFile:
    """Parse the text of `path`; raises CaseFileError if it cannot be read to its end."""
    value, mistakes = _YamlReader(path, text).read() if language == "yaml" else _read_json(path, text, first_line)
    return SourceFile(path, text, language, value, mistakes, first_line)


def read_value(path: Path) -> Json:
    """Return the value of a JSON (by suffix YAML) file; raises CaseFileError with line and column."""
    return sound_value(read_source(path))


def read_json_lines(path: Path) -> Iterator[tuple[int, Json]]:
    """Yield number and value of each line of a JSONL file that is not blank; raises CaseFileError."""
    for number, source in source_lines(path):
        if isinstance(source, CaseFileError):
            raise source
        yield number, sound_value(source)


def sound_value(source: SourceFile) -> Json:
    """Return the value of a text in which nothing is wrong; raises CaseFileError."""
    for error in errors_of(source.mistakes, source.path):
        raise error
    return source.value
