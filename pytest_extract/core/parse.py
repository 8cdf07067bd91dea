"""From a model's text to a JSON value, or to what is wrong with it and where."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Final, NamedTuple

from pytest_extract.core.answers import (
    STRICT,
    Finish,
    Fits,
    Region,
    Thoughts,
    find_answer,
    find_regions,
    finish_of,
    read_at,
    whole_value,
)
from pytest_extract.core.arguments import NotJson, plain_json
from pytest_extract.core.results import Failure, FailureKind, Wrapping
from pytest_extract.core.values import (
    CONTAINERS,
    MAX_DEPTH,
    MISSING,
    FieldPath,
    Json,
    Missing,
    canonical_json,
    json_type,
)
from pytest_extract.lazy import lazy_pattern

_BLANK = lazy_pattern(r"([ \t\n\r]*+)(?:[\s\ufeff]++|//[^\n]*+|\#[^\n]*+|/\*[\s\S]*?\*/)*+")
_STRING_START = lazy_pattern(r'"(?:[^"\\\x00-\x1f]++|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*+')
_CUT_ESCAPE = lazy_pattern(r"(?:\\(?:u[\da-fA-F]*+)?)?")
_LOOSE_STRING = lazy_pattern(r"\"(?:[^\"\\]++|\\.)*+\"|'(?:[^'\\]++|\\.)*+'", re.DOTALL)
_TOKEN = lazy_pattern(r"[^\s,:\[\]{}\"'/#]*+")
_CUT_SCALAR = lazy_pattern(r"-?(?:\d+\.?\d*(?:[eE][+-]?)?)?|t(?:ru?)?|f(?:a(?:ls?)?)?|n(?:ul?)?")
_WORD = lazy_pattern(r"[A-Za-z_$][\w$]*+")
_PYTHON_WORDS: Final = {"True": "true", "False": "false", "None": "null"}
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

    It mends trailing commas, comments, single quotes, bare keys, Python's `True False None`, raw line breaks in
    strings, repeated keys (the last one counts) and unclosed brackets. `problem` is the first thing that strict JSON
    has not; a repeated key is one only where there is no other.
    """

    def __init__(self, text: str, start: int, end: int) -> None:
        self.text = text
        self.position = start
        self.end = end
        self._problem: SyntaxProblem | None = None
        self._duplicate: SyntaxProblem | None = None
        self._mended: dict[str, list[int]] = {}
        self._path: list[str | int] = []
        self._depth = 0

    def read(self) -> Json | Missing:
        """Return the value; MISSING where it cannot be mended."""
        try:
            return self._value()
        except SyntaxProblem as problem:
            self._problem = self._problem or problem
            return MISSING

    @property
    def problem(self) -> SyntaxProblem | None:
        """The first thing that strict JSON has not."""
        return self._problem or self._duplicate

    def notes(self) -> str:
        """Return what was mended: a phrase for each kind, with the place of the first."""
        notes = []
        for what, places in self._mended.items():
            line, column = line_column(self.text, places[0])
            notes.append(f"repaired {len(places)} x {what}, first at line {line}, column {column}")
        return "; ".join(notes)

    # -- values ------------------------------------------------------------------------------------------------

    def _value(self) -> Json:
        char = self._next("a value was expected")
        if char in "{[":
            return self._container({} if char == "{" else [])
        if char in "\"'":
            return self._string()
        return self._scalar()

    def _string(self) -> str:
        start = _STRING_START.match(self.text, self.position, self.end)
        stop = self.position if start is None else start.end()
        if start is not None and stop < self.end and self.text[stop] == '"':
            self.position = stop + 1
            decoded: str = json.loads(f'{start[0]}"')
            return decoded
        loose = _LOOSE_STRING.match(self.text, self.position, self.end)
        if loose is None and _CUT_ESCAPE.fullmatch(self.text, stop, self.end):
            raise self._truncated("a string is not closed")
        single = self.text[self.position] == "'"
        written = loose[0] if loose else ""
        try:
            decoded = _LOOSE.decode(f'"{_requoted(written[1:-1])}"' if single and written else written)
        except ValueError:
            raise self._malformed(f"a string breaks off before {self.text[stop : stop + 2]!r}", stop) from None
        self._mend("single-quoted string" if single else "line break or control character in a string", stop)
        self.position += len(written)
        return decoded

    def _scalar(self) -> Json:
        match = _TOKEN.match(self.text, self.position, self.end)
        token = match[0] if match else ""
        if token in _PYTHON_WORDS:
            self._mend("Python literal", self.position)
        try:
            value: Json = STRICT.decode(_PYTHON_WORDS.get(token, token))
        except ValueError:
            if self.position + len(token) >= self.end and _CUT_SCALAR.fullmatch(token):
                raise self._truncated("a value is not finished") from None
            raise self._malformed(f"{self._found()} is no JSON value") from None
        self.position += len(token)
        return value

    # -- structure ---------------------------------------------------------------------------------------------

    def _container(self, made: dict[str, Json] | list[Json]) -> Json:
        if self._depth >= MAX_DEPTH:
            raise self._malformed(f"nested more than {MAX_DEPTH} levels deep")
        self._depth += 1
        self.position += 1
        try:
            self._fill(made, "}" if isinstance(made, dict) else "]")
        except SyntaxProblem as problem:
            if problem.kind is not FailureKind.TRUNCATED_JSON:
                raise
            self._mend("unclosed bracket", self.end, problem)
            self.position = self.end  # the value that the cut went through is left out
        self._depth -= 1
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
                message = f"a comma stands before `{closing}`"
                self._mend("trailing comma", comma, SyntaxProblem(FailureKind.TRAILING_COMMA, message, comma))

    def _key(self, made: dict[str, Json]) -> str:
        """Read a key and the colon behind it."""
        char = self._next("a key was expected")
        place = self.position
        if char in "\"'":
            key = self._string()
        elif bare := _WORD.match(self.text, place, self.end):
            key = bare[0]
            self._mend("key without quotes", place)
            self.position = bare.end()
        else:
            hint = "; a number has no separators of thousands in JSON" if char.isdecimal() else ""
            raise self._malformed(f"a key in double quotes was expected, found {self._found()}{hint}")
        if self._next("a key has no value") != ":":
            raise self._malformed(f"`:` was expected after the key {key!r}, found {self._found()}")
        self.position += 1
        if key in made:
            path = FieldPath((*self._path, key))
            message = f"the key {key!r} stands twice in one object"
            found = SyntaxProblem(FailureKind.DUPLICATE_KEY, message, place, path)
            self._duplicate = self._duplicate or found
            self._mended.setdefault("repeated key (the last one counts)", []).append(place)
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
        blank = _BLANK.match(self.text, self.position, self.end)
        if blank is None:
            return
        if blank.end(1) < blank.end():
            self._mend("comment or blank of another kind", blank.end(1))
        self.position = blank.end()

    # -- telling -----------------------------------------------------------------------------------------------

    def _mend(self, what: str, place: int, problem: SyntaxProblem | None = None) -> None:
        self._mended.setdefault(what, []).append(place)
        self._problem = self._problem or problem or self._malformed(f"{what}, which JSON does not have", place)

    def _found(self) -> str:
        return f"`{self.text[self.position : min(self.position + 12, self.end)]}`".replace("\n", "\\n")

    def _malformed(self, message: str, position: int | None = None) -> SyntaxProblem:
        return SyntaxProblem(FailureKind.MALFORMED_JSON, message, self.position if position is None else position)

    def _truncated(self, message: str) -> SyntaxProblem:
        return SyntaxProblem(FailureKind.TRUNCATED_JSON, f"the text ends too early: {message}", self.end)


def _requoted(inside: str) -> str:
    """Return the content of single quotes as it is written between double ones."""
    parts = inside.split(r"\\")  # a pair of backslashes escapes nothing behind it
    return r"\\".join(part.replace(r"\'", "'").replace(r"\"", '"').replace('"', r"\"") for part in parts)


_NOT_WRAPPED: Final[Mapping[Wrapping, str]] = {}
_PUNCTUATION: Final = lazy_pattern(r"[\s{}\[\],:\"]*+")


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
    output: object,
    *,
    repair: bool = False,
    finish_reason: str | None = None,
    fits: Fits | None = None,
) -> ParsedOutput:
    """Read an extractor's output: text (strict JSON, a fenced block, JSON inside prose), or values (`plain_json`).

    Never raises. `repair` mends what breaks the strict rules (see `Reader`) and tells it in `wrapped`.
    `finish_reason` is the provider's, and decides before the JSON does: an answer that was cut, refused or broken off
    is none, however much of it there is; with `repair`, a cut one is mended. Of several values the one that `fits`
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
        failure = Failure(kind=FailureKind.MALFORMED_JSON, message=str(problem), path=problem.path)
        return ParsedOutput(MISSING, failure)


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
        return _structured(ParsedOutput(whole.value, None, wrapped, text), whole.start, repair=repair)
    regions = find_regions(text, start)
    thoughts = regions.thoughts
    if thoughts is not None and thoughts.stop is None:
        mark = f"the model's thoughts{_told_cut(finish)}: `{thoughts.mark.strip()}` is never closed"
        return _failed(text, FailureKind.TRUNCATED_JSON, f"the answer ends inside {mark}", thoughts.start)
    region = regions.choose(fits)
    if region is None:
        where = "in the text" if regions.complete else "in what was searched of the text, which has too many brackets"
        ended = f"; the answer was cut at the token limit{_told_cut(finish)}" if finish.cut else ""
        begins = f"it begins {_excerpt(text, start)}{ended}"
        return _failed(text, FailureKind.NO_JSON, f"no JSON object or array {where}; {begins}")
    if region.value is MISSING:
        return _from_broken(text, region, finish, repair=repair)
    if cut:
        return _ended_early(text, finish, "the JSON before the cut may be a draft of the answer")
    beside = (_PUNCTUATION.fullmatch(text, start, region.start), _PUNCTUATION.fullmatch(text, region.stop))
    if thoughts is None and not region.fenced and all(beside):  # a bracket too many, and no prose
        place = region.stop if text[region.stop :].strip() else start
        message = f"`{text[place:].strip()[:12]}` stands beside a complete JSON value"
        return _failed(text, FailureKind.MALFORMED_JSON, message, place)
    wrapped = _around(text, start, lead or thoughts, region)
    if len(regions.found) > 1:
        line, _ = line_column(text, region.start)
        count = f"{'' if regions.complete else 'more than '}{len(regions.found)}"
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
    """Read what `json` refused: mended if asked for, else with the exact problem."""
    reader = Reader(text, region.start, region.stop)
    value, problem = reader.read(), reader.problem
    if problem is None:  # `json` also gives up where Python's own stack is nearly used up
        return ParsedOutput(value, text=text)
    if repair and value is not MISSING:
        return ParsedOutput(value, None, {Wrapping.REPAIRED: reader.notes()}, text)
    kind, message = problem.kind, f"{problem.message}{_told_cut(finish)}"
    if finish.cut and kind is not FailureKind.TRUNCATED_JSON and region.stop == len(text):
        kind = FailureKind.TRUNCATED_JSON
        message = f"cut at the token limit{_told_cut(finish)}; before that, {problem.message}"
    return _failed(text, kind, message, problem.position, problem.path)


def _structured(parsed: ParsedOutput, place: int = 0, *, repair: bool = False) -> ParsedOutput:
    """Give a value that is neither object nor array the failure `not_structured`; decode a text that holds JSON."""
    value = parsed.value
    if isinstance(value, CONTAINERS):
        return parsed
    message = f"the JSON is a bare {json_type(value)}; an object or array was expected"
    inner = read_at(value, find_answer(value)[0]).value if isinstance(value, str) else None
    if isinstance(inner, CONTAINERS):
        if repair:
            return parsed._replace(
                value=inner, wrapped={**parsed.wrapped, Wrapping.REPAIRED: "repaired: JSON encoded twice"}
            )
        message += " (the text holds JSON: it was encoded twice)"
    line, column = line_column(parsed.text, place)
    failure = Failure(kind=FailureKind.NOT_STRUCTURED, message=message, line=line, column=column)
    return parsed._replace(failure=failure)


# --- failures


def _failed(
    text: str, kind: FailureKind, message: str, position: int | None = None, path: FieldPath | None = None
) -> ParsedOutput:
    line, column = (None, None) if position is None else line_column(text, position)
    return ParsedOutput(MISSING, Failure(kind=kind, message=message, line=line, column=column, path=path), text=text)


def _empty(text: str, finish: Finish) -> ParsedOutput:
    if finish.refused or finish.outage:
        return _ended_early(text, finish, "the output is empty")
    cut = f": the token limit was used up before the answer began{_told_cut(finish)}" if finish.cut else ""
    return _failed(text, FailureKind.EMPTY_RESPONSE, f"the output is empty{cut}")


def _ended_early(text: str, finish: Finish, what_came: str) -> ParsedOutput:
    """Fail an answer that ended before its time, whatever came of it."""
    kind, why = FailureKind.TRUNCATED_JSON, "cut at the token limit"
    if finish.refused:
        kind, why = FailureKind.REFUSAL, "stopped by the provider"
    elif finish.outage:
        kind, why = FailureKind.EXTRACTOR_ERROR, "the provider broke down while it answered"
    return _failed(text, kind, f"{why} (finish_reason={finish.reason}): {what_came}")


def _told_cut(finish: Finish) -> str:
    return f" (finish_reason={finish.reason})" if finish.cut else ""


def _excerpt(text: str, start: int) -> str:
    words = " ".join(text[start : start + 200].split())
    return repr(words if len(words) <= 80 else f"{words[:79]}…")


MAX_OUTPUT_BYTES: Final = 10_000_000
"""Bytes of an output that are read where nobody says otherwise; models write some hundred thousand at most."""
BYTES_A_VALUE: Final = 200
"""Bytes that a text, number, list or object counts for at least: that many values are scored at most."""
_TIMES_GOLD: Final = 10
"""An output may be so many times as large as its gold, whatever the default."""


def byte_count(text: str) -> int:
    """Length of a text in UTF-8; lone surrogates count as they are."""
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


def _too_large(message: str) -> Failure:
    hint = "raise it in the case, or for all cases by `extract_max_output_bytes`, where outputs may be that large"
    return Failure(kind=FailureKind.OUTPUT_TOO_LARGE, message=f"{message}; {hint}")


def too_many_bytes(output: str | bytes, gold: Json, limit: int | None) -> Failure | None:
    """Say that an output is longer than `limit` (None: the default, or ten times the gold)."""
    most = MAX_OUTPUT_BYTES if limit is None else limit
    if isinstance(output, str) and len(output) * 4 <= most:
        return None
    size = byte_count(output) if isinstance(output, str) else len(output)
    if size <= most or (limit is None and size <= _TIMES_GOLD * byte_count(canonical_json(gold))):
        return None
    return _too_large(f"the output has {size:,} bytes, more than the {most:,} of `max_output_bytes`")


def too_many_values(value: Json, gold: Json, limit: int | None, text: object = None) -> Failure | None:
    """Say that an output holds more values than `limit` allows: one for each 200 bytes, or ten times those of gold.

    `text`: what the value was read from; a short one need not be counted, as a value takes a character at least.
    """
    size = MAX_OUTPUT_BYTES if limit is None else limit
    most = size // BYTES_A_VALUE
    if isinstance(text, str) and len(text) <= most:
        return None
    count = count_nodes(value)
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
