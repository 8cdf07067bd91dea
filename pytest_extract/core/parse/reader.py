"""A JSON reader that says exactly what is wrong with a text and where, or mends it when asked."""

from __future__ import annotations

import json
import re
from typing import Final

from pytest_extract.core.results import FailureKind
from pytest_extract.core.values import MAX_DEPTH, FieldPath, Json
from pytest_extract.lazy import lazy_pattern

_SPACE = lazy_pattern(r"[ \t\n\r]*+")
_LOOSE_SPACE = lazy_pattern(r"(?:[\s\ufeff]++|//[^\n]*+|\#[^\n]*+|/\*[\s\S]*?\*/)*+")
_STRING_START = lazy_pattern(r'"(?:[^"\\\x00-\x1f]++|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*+')
_LOOSE_STRING = lazy_pattern(r"\"(?:[^\"\\]++|\\.)*+\"|'(?:[^'\\]++|\\.)*+'", re.DOTALL)
_NUMBER = lazy_pattern(r"-?(?:0|[1-9][0-9]*+)(\.[0-9]++)?([eE][+-]?[0-9]++)?")
_NUMBER_START = lazy_pattern(r"-?[0-9]*\.?[0-9]*(?:[eE][+-]?)?")
_WORD = lazy_pattern(r"-?[A-Za-z_$][\w$]*+")
_WORDS: Final[dict[str, Json]] = {"true": True, "false": False, "null": None}
_PYTHON_WORDS: Final[dict[str, Json]] = {"True": True, "False": False, "None": None}
_LOOSE = json.JSONDecoder(strict=False)


class SyntaxProblem(ValueError):
    """Why a text is no JSON: failure kind, what was found, offset into the text, path of the value around it."""

    def __init__(self, kind: FailureKind, message: str, position: int, path: FieldPath | None = None) -> None:
        super().__init__(message)
        self.kind = kind
        self.message = message
        self.position = position
        self.path = path


def line_column(text: str, position: int) -> tuple[int, int]:
    """Line and column, both from 1, of an offset into a text."""
    return text.count("\n", 0, position) + 1, position - text.rfind("\n", 0, position)


class Reader:
    """Reads one JSON value of `text[start:end]`; `position` is then the offset behind it.

    `lenient` mends trailing commas, comments, single quotes, bare keys, Python's `True False None`, raw line breaks
    in strings, repeated keys (the last one counts) and unclosed brackets; `repairs` counts what was mended.
    """

    def __init__(self, text: str, start: int, end: int, *, lenient: bool = False) -> None:
        self.text = text
        self.position = start
        self.end = end
        self.lenient = lenient
        self.repairs: dict[str, list[int]] = {}
        self._space = _LOOSE_SPACE if lenient else _SPACE
        self._path: list[str | int] = []
        self._opened: list[int] = []
        self._duplicate: SyntaxProblem | None = None

    def read(self) -> Json:
        """Return the value; raises SyntaxProblem. A syntax error anywhere outranks a repeated key before it."""
        value = self._value()
        if self._duplicate is not None:
            raise self._duplicate
        return value

    def notes(self) -> str:
        """Return what was repaired: a phrase for each kind of repair, with the place of the first."""
        notes = []
        for what, places in self.repairs.items():
            line, column = line_column(self.text, places[0])
            notes.append(f"repaired {len(places)} x {what}, first at line {line}, column {column}")
        return "; ".join(notes)

    # -- values ------------------------------------------------------------------------------------------------

    def _value(self) -> Json:
        char = self._next("a value was expected")
        if char in "{[":
            return self._container({} if char == "{" else [])
        if char == '"' or (char == "'" and self.lenient):
            return self._string()
        number = _NUMBER.match(self.text, self.position, self.end)
        return self._word() if number is None else self._number(number)

    def _string(self) -> str:
        start = _STRING_START.match(self.text, self.position, self.end)
        stop = self.position if start is None else start.end()
        if start is not None and stop < self.end and self.text[stop] == '"':
            self.position = stop + 1
            decoded: str = json.loads(f'{start[0]}"')
            return decoded
        loose = _LOOSE_STRING.match(self.text, self.position, self.end) if self.lenient else None
        if loose is not None:
            single = loose[0][0] == "'"
            try:
                decoded = _LOOSE.decode(f'"{_requoted(loose[0][1:-1])}"' if single else loose[0])
            except ValueError:
                raise self._string_problem(stop) from None
            self._mend("single-quoted string" if single else "line break or control character in a string")
            self.position = loose.end()
            return decoded
        raise self._string_problem(stop)

    def _string_problem(self, stop: int) -> SyntaxProblem:
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
        if self.lenient and word in _PYTHON_WORDS:
            self._mend("Python literal")
        elif word not in _WORDS:
            if stop >= self.end and (word == "-" or any(known.startswith(word) for known in _WORDS)):
                raise self._truncated("a value is not finished")
            raise self._malformed(_word_message(word))
        self.position = stop
        return {**_WORDS, **_PYTHON_WORDS}[word]

    # -- structure ---------------------------------------------------------------------------------------------

    def _container(self, made: dict[str, Json] | list[Json]) -> Json:
        if len(self._opened) >= MAX_DEPTH:
            raise self._malformed(f"nested more than {MAX_DEPTH} levels deep")
        self._opened.append(self.position)
        self.position += 1
        try:
            self._fill(made, "}" if isinstance(made, dict) else "]")
        except SyntaxProblem as problem:
            if not self.lenient or problem.kind is not FailureKind.TRUNCATED_JSON:
                raise
            self._mend("unclosed bracket")
            self.position = self.end  # the value that the cut went through is left out
        self._opened.pop()
        return made

    def _fill(self, made: dict[str, Json] | list[Json], closing: str) -> None:
        """Read up to the closing bracket and over it."""
        self._skip()
        while not self._passes(closing):
            if isinstance(made, dict):
                key = self._key(made)
                self._path.append(key)
                made[key] = self._value()
            else:
                self._path.append(len(made))
                made.append(self._value())
            self._path.pop()
            char = self._next(f"`,` or `{closing}` was expected")
            if char != ",":
                if self._passes(closing):
                    return
                raise self._malformed(f"`,` or `{closing}` was expected, found {self._found()}")
            comma = self.position
            self.position += 1
            self._skip()
            if self.text.startswith(closing, self.position, self.end):
                if not self.lenient:
                    raise SyntaxProblem(FailureKind.TRAILING_COMMA, f"a comma stands before `{closing}`", comma)
                self._mend("trailing comma", comma)

    def _key(self, made: dict[str, Json]) -> str:
        """Read a key and the colon behind it."""
        char = self._next("a key was expected")
        place = self.position
        bare = _WORD.match(self.text, place, self.end) if self.lenient else None
        if char == '"' or (char == "'" and self.lenient):
            key = self._string()
        elif bare is not None:
            key = bare[0]
            self._mend("key without quotes")
            self.position = bare.end()
        else:
            hint = "; a number has no separators of thousands in JSON" if char.isdecimal() else ""
            raise self._malformed(f"a key in double quotes was expected, found {self._found()}{hint}")
        if self._next("a key has no value") != ":":
            raise self._malformed(f"`:` was expected after the key {key!r}, found {self._found()}")
        self.position += 1
        if key in made and self.lenient:
            self._mend("repeated key (the last one counts)", place)
        elif key in made and self._duplicate is None:
            path = FieldPath((*self._path, key))
            message = f"the key {key!r} stands twice in one object"
            self._duplicate = SyntaxProblem(FailureKind.DUPLICATE_KEY, message, place, path)
        return key

    def _next(self, expected: str) -> str:
        """Return the next character that is no blank."""
        self._skip()
        if self.position >= self.end:
            raise self._truncated(expected)
        return self.text[self.position]

    def _passes(self, char: str) -> bool:
        """Step over a character, if it stands here."""
        there = self.text.startswith(char, self.position, self.end)
        self.position += there
        return there

    def _skip(self) -> None:
        match = self._space.match(self.text, self.position, self.end)
        stop = match.end() if match is not None else self.position
        if self.lenient and any(mark in self.text[self.position : stop] for mark in ("/", "#")):
            self._mend("comment")
        self.position = stop

    # -- telling -----------------------------------------------------------------------------------------------

    def _mend(self, what: str, place: int | None = None) -> None:
        self.repairs.setdefault(what, []).append(self.position if place is None else place)

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
