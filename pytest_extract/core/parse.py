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
    Json,
    Missing,
    canonical_json,
    json_type,
)
from pytest_extract.lazy import lazy_pattern

_BLANK = lazy_pattern(r"([ \t\n\r]*+)(?:[\s\ufeff]++|//[^\n]*+|\#[^\n]*+|/\*[\s\S]*?\*/)*+")
_LOOSE_STRING = lazy_pattern(r"\"(?:[^\"\\]++|\\.)*+\"|'(?:[^'\\]++|\\.)*+'", re.DOTALL)
_TOKEN = lazy_pattern(r"[^\s,:\[\]{}\"'/#]*+")
_CUT_SCALAR = lazy_pattern(r"-?(?:\d+\.?\d*(?:[eE][+-]?)?)?|t(?:ru?)?|f(?:a(?:ls?)?)?|n(?:ul?)?")
_WORD = lazy_pattern(r"[A-Za-z_$][\w$]*+")
_PYTHON_WORDS: Final = {"True": "true", "False": "false", "None": "null"}
_LOOSE = json.JSONDecoder(strict=False)


class SyntaxProblem(ValueError):
    """Why a text is no JSON: failure kind, what was found, offset into the text."""

    def __init__(self, kind: FailureKind, message: str, position: int) -> None:
        super().__init__(message)
        self.kind = kind
        self.message = message
        self.position = position


def line_column(text: str, position: int) -> tuple[int, int]:
    """Line and column, both from 1, of an offset into a text."""
    return text.count("\n", 0, position) + 1, position - text.rfind("\n", 0, position)


class Reader:
    """Reads one JSON value of `text[start:end]`; `position` is then the offset behind it.

    It mends trailing commas, comments, single quotes, bare keys, Python's `True False None`, raw line breaks in
    strings, repeated keys (the last one counts) and unclosed brackets.
    """

    def __init__(self, text: str, start: int, end: int) -> None:
        self.text = text
        self.position = start
        self.end = end
        self._first: dict[bool, SyntaxProblem] = {}  # whether it is a repeated key
        self._mended: dict[str, list[int]] = {}

    def read(self) -> Json | Missing:
        """Return the value; MISSING where it cannot be mended."""
        try:
            return self._value(0)
        except SyntaxProblem as problem:
            self._first.setdefault(False, problem)
            return MISSING

    @property
    def problem(self) -> SyntaxProblem | None:
        """The first thing that strict JSON has not; a repeated key is one only where there is no other."""
        return self._first.get(False) or self._first.get(True)

    def notes(self) -> str:
        """Return what was mended: a phrase for each kind, with the place of the first."""
        notes = []
        for what, places in self._mended.items():
            line, column = line_column(self.text, places[0])
            notes.append(f"repaired {len(places)} x {what}, first at line {line}, column {column}")
        return "; ".join(notes)

    def _value(self, depth: int) -> Json:
        char = self._next("a value was expected")
        if char in "{[":
            return self._container(depth)
        return self._string() if char in "\"'" else self._scalar()

    def _string(self) -> str:
        loose = _LOOSE_STRING.match(self.text, self.position, self.end)
        single = self.text[self.position] == "'"
        if loose is None and not single:
            raise self._truncated("a string is not closed")
        written = loose[0] if loose else ""
        try:
            decoded: str = json.loads(written)
        except json.JSONDecodeError as error:
            place = self.position + error.pos
            try:
                decoded = _LOOSE.decode(f'"{_requoted(written[1:-1])}"' if single and written else written)
            except ValueError:
                raise self._malformed(f"a string breaks off before {self.text[place : place + 2]!r}", place) from None
            self._mend("single-quoted string" if single else "line break or control character in a string", place)
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
                        self._mend("trailing comma", comma, FailureKind.TRAILING_COMMA)
        except SyntaxProblem as problem:
            if problem.kind is not FailureKind.TRUNCATED_JSON:
                raise
            self._first.setdefault(False, problem)
            self._mend("unclosed bracket", self.end)
            self.position = self.end  # the value that the cut went through is left out
        else:
            self.position += 1
        return made

    def _key(self, made: dict[str, Json]) -> str:
        """Read a key and the colon behind it."""
        char, place = self._next("a key was expected"), self.position
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
            message = f"the key {key!r} stands twice in one object"
            self._mend("repeated key (the last one counts)", place, FailureKind.DUPLICATE_KEY, message)
        return key

    def _next(self, expected: str) -> str:
        """Return the next character that is no blank."""
        blank = _BLANK.match(self.text, self.position, self.end)
        if blank is not None:
            if blank.end(1) < blank.end():
                self._mend("comment or blank of another kind", blank.end(1))
            self.position = blank.end()
        if self.position >= self.end:
            raise self._truncated(expected)
        return self.text[self.position]

    def _mend(
        self, what: str, place: int, kind: FailureKind = FailureKind.MALFORMED_JSON, message: str | None = None
    ) -> None:
        self._mended.setdefault(what, []).append(place)
        problem = SyntaxProblem(kind, message or f"{what}, which JSON does not have", place)
        self._first.setdefault(kind is FailureKind.DUPLICATE_KEY, problem)

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
        message = f"the answer ends inside the model's thoughts: `{thoughts.mark.strip()}` is never closed"
        return _failed(text, FailureKind.TRUNCATED_JSON, message, thoughts.start)
    region = regions.choose(fits)
    if region is None:
        where = "in the text" if regions.complete else "in what was searched of the text, which has too many brackets"
        ended = f"; the answer was cut (finish_reason={finish.reason})" if finish.cut else ""
        message = f"no JSON object or array {where}; it begins {_excerpt(text, start)}{ended}"
        return _failed(text, FailureKind.NO_JSON, message)
    if cut:
        return _ended_early(text, finish, f"what came begins {_excerpt(text, start)}")
    if region.value is MISSING:
        return _from_broken(text, region, repair=repair)
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


def _from_broken(text: str, region: Region, *, repair: bool) -> ParsedOutput:
    """Read what `json` refused: mended if asked for, else with the exact problem."""
    reader = Reader(text, region.start, region.stop)
    value, problem = reader.read(), reader.problem
    if problem is None:  # `json` also gives up where Python's own stack is nearly used up
        return ParsedOutput(value, text=text)
    if repair and value is not MISSING:
        return ParsedOutput(value, None, {Wrapping.REPAIRED: reader.notes()}, text)
    return _failed(text, problem.kind, problem.message, problem.position)


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
