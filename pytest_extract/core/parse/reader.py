"""A JSON reader that never recurses: it says exactly what is wrong with a text and where, or mends it when asked.

`json` reads the objects and lists in which nothing is wrong; the others are read here, value by value.
"""

from __future__ import annotations

import json
import re
from typing import Final

from pytest_extract.core.parse.text import strict_json, too_deep
from pytest_extract.core.results import FailureKind
from pytest_extract.core.values import MAX_DEPTH, MISSING, FieldPath, Json, Missing
from pytest_extract.lazy import lazy_pattern

_SPACE = lazy_pattern(r"[ \t\n\r]*+")
_LOOSE_SPACE = lazy_pattern(r"(?:[\s\ufeff]++|//[^\n]*+|\#[^\n]*+|/\*[\s\S]*?\*/)*+")
_NO_SPACE: Final = frozenset("\"'{}[]:,-0123456789")
"""What most tokens begin with, and no blank or comment does."""
_STRING = lazy_pattern(r'"(?:[^"\\\x00-\x1f]++|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*+"')
_STRING_START = lazy_pattern(r'"(?:[^"\\\x00-\x1f]++|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*+')
_LOOSE_STRING = lazy_pattern(r"\"(?:[^\"\\]++|\\.)*+\"|'(?:[^'\\]++|\\.)*+'", re.DOTALL)
_NUMBER = lazy_pattern(r"-?(?:0|[1-9][0-9]*+)(\.[0-9]++)?([eE][+-]?[0-9]++)?")
_NUMBER_START = lazy_pattern(r"-?[0-9]*\.?[0-9]*(?:[eE][+-]?)?")
_WORD = lazy_pattern(r"-?[A-Za-z_$][\w$]*+")
_WORDS: Final[dict[str, Json]] = {"true": True, "false": False, "null": None}
_PYTHON_WORDS: Final[dict[str, Json]] = {"True": True, "False": False, "None": None}
_OPENED: Final = object()
_LOOSE = json.JSONDecoder(strict=False)


class SyntaxProblem(ValueError):
    """Why a text is no JSON: failure kind, what was found, offset into the text, path of the value around it."""

    def __init__(self, kind: FailureKind, message: str, position: int, path: FieldPath | None = None) -> None:
        super().__init__(message)
        self.kind = kind
        self.message = message
        self.position = position
        self.path = path


class TooMany(ValueError):
    """A text holds more values than the reader may read."""


def line_column(text: str, position: int) -> tuple[int, int]:
    """Line and column, both from 1, of an offset into a text."""
    return text.count("\n", 0, position) + 1, position - text.rfind("\n", 0, position)


class Reader:
    """Reads one JSON value of `text[start:end]`; `position` is then the offset behind it.

    `lenient` mends trailing commas, comments, single quotes, bare keys, Python's `True False None`, raw line breaks
    in strings, repeated keys (the last one counts) and unclosed brackets; `repairs` counts what was mended.
    `most`: values after which it raises TooMany.
    """

    def __init__(self, text: str, start: int, end: int, *, lenient: bool = False, most: int | None = None) -> None:
        self.text = text
        self.position = start
        self.end = end
        self.lenient = lenient
        self.repairs: dict[str, list[int]] = {}
        self._left = most
        self._space = _LOOSE_SPACE if lenient else _SPACE
        self._stack: list[dict[str, Json] | list[Json]] = []
        self._keys: list[str] = []
        self._opened: list[int] = []
        self._duplicate: SyntaxProblem | None = None

    def read(self) -> Json:
        """Return the value; raises Problem. A syntax error anywhere outranks a repeated key before it."""
        try:
            value = self._read(self._value())
        except SyntaxProblem as problem:
            if not (self.lenient and problem.kind is FailureKind.TRUNCATED_JSON and self._stack):
                raise
            self._mend("unclosed bracket", self.position, len(self._stack))
            value = self._close_all()
        if self._duplicate is not None:
            raise self._duplicate
        return value

    def notes(self) -> tuple[str, ...]:
        """Return what was repaired, a sentence for each kind of repair with the place of the first."""
        notes = []
        for what, places in self.repairs.items():
            line, column = line_column(self.text, places[0])
            notes.append(f"repaired {len(places)} x {what}, first at line {line}, column {column}")
        return tuple(notes)

    def _read(self, value: Json) -> Json:
        """Read on from a value, or from a bracket that was just opened, until the outermost is complete."""
        while True:
            if value is _OPENED:
                if not self._empty():
                    value = self._value()
                    continue
                value = self._pop()
            while self._stack:
                self._attach(value)
                if self._another():
                    break
                value = self._pop()
            else:
                return value
            value = self._value()

    # -- values ------------------------------------------------------------------------------------------------

    def _value(self) -> Json:
        if self._left is not None:
            self._left -= 1
            if self._left < 0:
                raise TooMany
        self._skip()
        if self.position >= self.end:
            raise self._truncated("a value was expected")
        char = self.text[self.position]
        if char in "{[":
            sound = MISSING if self.lenient else self._sound()
            return self._open(char) if sound is MISSING else sound
        if char == '"' or (char == "'" and self.lenient):
            return self._string()
        if char in "-0123456789" and (number := _NUMBER.match(self.text, self.position, self.end)):
            return self._number(number)
        return self._word()

    def _sound(self) -> Json | Missing:
        """Read a whole object or list by `json`; MISSING where something may be wrong with it."""
        start, depth = self.position, len(self._stack)
        if depth == 0:  # that is why it is read here
            return MISSING
        try:
            value, stop = strict_json.scan_once(self.text, start)  # type: ignore[attr-defined]
        except (StopIteration, ValueError, RecursionError):
            return MISSING
        if stop > self.end or (stop - start > 2 * (MAX_DEPTH - depth) and too_deep(value, depth)):
            return MISSING
        self.position = stop
        return value

    def _open(self, char: str) -> object:
        if len(self._stack) >= MAX_DEPTH:
            raise self._malformed(f"nested more than {MAX_DEPTH} levels deep")
        self._opened.append(self.position)
        self._stack.append({} if char == "{" else [])
        self._keys.append("")
        self.position += 1
        return _OPENED

    def _empty(self) -> bool:
        """Whether the container just opened closes at once; reads the first key of an object otherwise."""
        self._skip()
        if self._closes():
            self.position += 1
            return True
        if isinstance(self._stack[-1], dict):
            self._key()
        return False

    def _string(self) -> str:
        match = _STRING.match(self.text, self.position, self.end)
        if match is not None:
            self.position = match.end()
            decoded: str = json.loads(match[0])
            return decoded
        if self.lenient:
            loose = _LOOSE_STRING.match(self.text, self.position, self.end)
            if loose is not None:
                return self._loose_string(loose)
        raise self._string_problem()

    def _loose_string(self, match: re.Match[str]) -> str:
        token = match[0]
        what = "line break or control character in a string"
        if token[0] == "'":
            what = "single-quoted string"
            token = f'"{_requoted(token[1:-1])}"'
        try:
            decoded: str = _LOOSE.decode(token)
        except ValueError:
            raise self._string_problem() from None
        self._mend(what, self.position)
        self.position = match.end()
        return decoded

    def _string_problem(self) -> SyntaxProblem:
        start = _STRING_START.match(self.text, self.position, self.end)
        stop = start.end() if start is not None else self.position
        rest = self.text[stop : min(stop + 6, self.end)]
        if not rest or (rest[0] == "\\" and stop + len(rest) >= self.end and re.fullmatch(r"\\(u[\da-fA-F]*)?", rest)):
            return self._truncated("a string is not closed")
        if rest[0] == "\\":
            return self._malformed(f"`{rest[:2]}` is no escape of JSON", stop)
        if rest[0] == "'":
            return self._malformed("a string in single quotes; JSON wants double quotes")
        return self._malformed(f"a string holds the raw control character {rest[0]!r}; JSON wants it escaped", stop)

    def _number(self, match: re.Match[str]) -> int | float:
        token, stop = match[0], match.end()
        if stop < self.end and self.text[stop].isdecimal():  # only a zero matches up to another digit
            raise self._malformed("a number begins with 0, as none does in JSON; write it as a text", stop)
        if stop < self.end and self.text[stop] in ".eE" and _NUMBER_START.fullmatch(self.text, match.start(), self.end):
            raise self._truncated("a number is not finished")
        try:
            number = float(token) if match[1] or match[2] else int(token)
        except ValueError:
            raise self._malformed(f"a number of {len(token)} digits is too long to read") from None
        if number in (float("inf"), float("-inf")):
            raise self._malformed(f"the number {token[:40]} is beyond the range of numbers that can be compared")
        self.position = stop
        return number

    def _word(self) -> Json:
        match = _WORD.match(self.text, self.position, self.end)
        word = match[0] if match else self.text[self.position]
        stop = self.position + len(word)
        if word in _WORDS:
            self.position = stop
            return _WORDS[word]
        if self.lenient and word in _PYTHON_WORDS:
            self._mend("Python literal", self.position)
            self.position = stop
            return _PYTHON_WORDS[word]
        if stop >= self.end and (word == "-" or any(known.startswith(word) for known in _WORDS)):
            raise self._truncated("a value is not finished")
        raise self._malformed(_word_message(word))

    # -- structure ---------------------------------------------------------------------------------------------

    def _key(self) -> None:
        self._skip()
        place = self.position
        if place >= self.end:
            raise self._truncated("a key was expected")
        char = self.text[place]
        bare = _WORD.match(self.text, place, self.end) if self.lenient else None
        if char == '"' or (char == "'" and self.lenient):
            key = self._string()
        elif bare is not None:
            key = bare[0]
            self._mend("key without quotes", place)
            self.position = bare.end()
        else:
            hint = "; a number has no separators of thousands in JSON" if char.isdecimal() else ""
            raise self._malformed(f"a key in double quotes was expected, found {self._found()}{hint}")
        self._skip()
        if self.position >= self.end:
            raise self._truncated("a key has no value")
        if self.text[self.position] != ":":
            raise self._malformed(f"`:` was expected after the key {key!r}, found {self._found()}")
        self.position += 1
        self._note_duplicate(key, place)
        self._keys[-1] = key

    def _note_duplicate(self, key: str, place: int) -> None:
        if key not in self._stack[-1]:
            return
        if self.lenient:
            self._mend("repeated key (the last one counts)", place)
        elif self._duplicate is None:
            path = FieldPath((*self._path(), key))
            message = f"the key {key!r} stands twice in one object"
            self._duplicate = SyntaxProblem(FailureKind.DUPLICATE_KEY, message, place, path)

    def _path(self) -> tuple[str | int, ...]:
        """Path of the innermost open container."""
        parents = zip(self._stack[:-1], self._keys[:-1], strict=True)
        return tuple(key if isinstance(parent, dict) else len(parent) for parent, key in parents)

    def _attach(self, value: Json) -> None:
        parent = self._stack[-1]
        if isinstance(parent, dict):
            parent[self._keys[-1]] = value
        else:
            parent.append(value)

    def _another(self) -> bool:
        """Whether another element follows; steps over the comma and, in an object, the next key."""
        self._skip()
        if self._closes():
            self.position += 1
            return False
        closing = "}" if isinstance(self._stack[-1], dict) else "]"
        if self.position >= self.end:
            raise self._truncated(f"`,` or `{closing}` was expected")
        if self.text[self.position] != ",":
            raise self._malformed(f"`,` or `{closing}` was expected, found {self._found()}")
        comma = self.position
        self.position += 1
        self._skip()
        if self._closes():
            if not self.lenient:
                raise SyntaxProblem(FailureKind.TRAILING_COMMA, f"a comma stands before `{closing}`", comma, None)
            self._mend("trailing comma", comma)
            self.position += 1
            return False
        if isinstance(self._stack[-1], dict):
            self._key()
        return True

    def _closes(self) -> bool:
        closing = "}" if isinstance(self._stack[-1], dict) else "]"
        return self.position < self.end and self.text[self.position] == closing

    def _pop(self) -> Json:
        self._keys.pop()
        self._opened.pop()
        return self._stack.pop()

    def _close_all(self) -> Json:
        """Close what is open after a cut; the value that the cut went through is left out."""
        value = self._pop()
        while self._stack:
            self._attach(value)
            value = self._pop()
        return value

    # -- telling -----------------------------------------------------------------------------------------------

    def _skip(self) -> None:
        if self.text[self.position : self.position + 1] in _NO_SPACE and self.position < self.end:
            return
        match = self._space.match(self.text, self.position, self.end)
        stop = match.end() if match is not None else self.position
        if self.lenient and any(mark in self.text[self.position : stop] for mark in ("/", "#")):
            self._mend("comment", self.position)
        self.position = stop

    def _mend(self, what: str, place: int, count: int = 1) -> None:
        self.repairs.setdefault(what, []).extend([place] * count)

    def _found(self) -> str:
        return f"`{self.text[self.position : min(self.position + 12, self.end)]}`".replace("\n", "\\n")

    def _malformed(self, message: str, position: int | None = None) -> SyntaxProblem:
        return SyntaxProblem(FailureKind.MALFORMED_JSON, message, self.position if position is None else position)

    def _truncated(self, message: str) -> SyntaxProblem:
        opened = self._opened
        if opened:
            line, column = line_column(self.text, opened[-1])
            plural = "bracket is" if len(opened) == 1 else "brackets are"
            message += f"; {len(opened)} {plural} open, the innermost from line {line}, column {column}"
        return SyntaxProblem(FailureKind.TRUNCATED_JSON, f"the text ends too early: {message}", self.end)


def _requoted(inside: str) -> str:
    """Return the content of single quotes as it is written between double ones."""
    parts = inside.split(r"\\")  # a pair of backslashes escapes nothing behind it
    return r"\\".join(part.replace(r"\'", "'").replace(r"\"", '"').replace('"', r"\"") for part in parts)


def _word_message(word: str) -> str:
    if word in _PYTHON_WORDS:
        return f"`{word}` is Python; JSON wants `{json.dumps(_PYTHON_WORDS[word])}`"
    if word.lstrip("-") in ("NaN", "Infinity"):
        return f"`{word}` is no JSON value; use null or a text"
    if word == "'":
        return "a string in single quotes; JSON wants double quotes"
    return f"`{word[:20]}` is no JSON value"
