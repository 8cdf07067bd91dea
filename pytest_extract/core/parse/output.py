"""From what an extractor returned to a JSON value, or to the one failure kind that says why there is none."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from pytest_extract.core.parse.finish import CUT, EARLY, OUTAGE, REFUSED, plain_reason
from pytest_extract.core.parse.fit import Fits
from pytest_extract.core.parse.reader import Reader, SyntaxProblem, TooMany, line_column
from pytest_extract.core.parse.size import BYTES_A_VALUE, MAX_OUTPUT_BYTES, too_many_to_repair
from pytest_extract.core.parse.text import (
    AnswerPlace,
    Region,
    Regions,
    decode_json,
    fenced_scalar,
    find_answer,
    find_regions,
    only_punctuation,
    read_strict,
)
from pytest_extract.core.parse.thoughts import Thoughts
from pytest_extract.core.python_values import NotJson, plain_json
from pytest_extract.core.results import Failure, FailureKind, Wrapping
from pytest_extract.core.values import CONTAINERS, MISSING, Json, Missing, json_type

_NOT_WRAPPED: Final[Mapping[Wrapping, str]] = {}
_FENCED: Final = {Wrapping.FENCED: "JSON taken from a fenced block"}
_PROSE: Final = {Wrapping.PROSE: "JSON taken from the text around it"}


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
    most_repaired: int = MAX_OUTPUT_BYTES // BYTES_A_VALUE,
) -> ParsedOutput:
    """Read an extractor's output: text (strict JSON, a fenced block, JSON inside prose), or values (`plain_json`).

    Never raises. `repair` mends what breaks the strict rules (see `Reader`) and tells it in `wrapped`; a broken output
    of more than `most_repaired` values is `output_too_large`, because mending is slow.
    `finish_reason` is the provider's, and decides before the JSON does: an answer that was cut, refused or broken off
    is none, however much of it there is; with `repair`, a cut one is mended. Of several values the one that `fits`
    ranks highest is the answer, of equals the last.
    """
    reason = plain_reason(finish_reason)
    if isinstance(output, (bytes, bytearray)):
        output = bytes(output).decode("utf-8", "replace")
    if isinstance(output, str):
        return _parse_text(output, most_repaired=most_repaired if repair else None, reason=reason, fits=fits)
    if output is None:
        return _failed(_empty(reason), "")
    return _parse_value(output, reason)


def _parse_value(output: object, reason: str) -> ParsedOutput:
    if reason in EARLY:
        return _failed(_ended_early(reason, "what came is not the whole answer"), "")
    try:
        value = plain_json(output)
    except NotJson as problem:
        return _failed(Failure(kind=FailureKind.MALFORMED_JSON, message=str(problem), path=problem.path), "")
    return _structured(ParsedOutput(value=value))


def _parse_text(text: str, *, most_repaired: int | None, reason: str, fits: Fits | None) -> ParsedOutput:
    repair = most_repaired is not None
    answer = find_answer(text)
    start = answer.start
    if start >= len(text):
        return _failed(_empty(reason), text)
    if reason in REFUSED | OUTAGE:
        return _failed(_ended_early(reason, f"it says {_excerpt(text, start)}"), text)
    read = read_strict(text, start)
    cut = reason in CUT and not repair
    if read.value is not MISSING and not text[read.stop :].strip() and not cut:
        parsed = ParsedOutput(read.value, None, _lead(text, answer), text)
        return _structured(parsed, repair=repair, place=start)
    if not cut and (scalar := fenced_scalar(text, start)) is not None:
        parsed = ParsedOutput(value=scalar[0], wrapped=_lead(text, answer) | _FENCED, text=text)
        return _structured(parsed, repair=repair, place=scalar[1])
    found = find_regions(text, start, read=read, fits=fits)
    if found.thoughts is not None and found.thoughts.stop is None:
        return _failed(_inside_thoughts(text, found.thoughts, reason), text)
    good = found.take_good()
    if good is not None and cut:
        return _failed(_ended_early(reason, "the JSON before the cut may be a draft of the answer"), text)
    if good is not None:
        return _from_region(text, answer, good, found)
    if found.broken is None:
        return _without_json(text, start, reason, complete=found.complete)
    return _from_broken(text, found.broken, most_repaired=most_repaired, reason=reason)


def _ended_early(reason: str, what_came: str) -> Failure:
    """Fail an answer that ended before its time, whatever came of it."""
    if reason in REFUSED:
        kind, why = FailureKind.REFUSAL, "stopped by the provider"
    elif reason in OUTAGE:
        kind, why = FailureKind.EXTRACTOR_ERROR, "the provider broke down while it answered"
    else:
        kind, why = FailureKind.TRUNCATED_JSON, "cut at the token limit"
    return Failure(kind=kind, message=f"{why} (finish_reason={reason}): {what_came}")


def _inside_thoughts(text: str, thoughts: Thoughts, reason: str) -> Failure:
    line, column = line_column(text, thoughts.start)
    cut = f" (finish_reason={reason})" if reason in CUT else ""
    message = f"the answer ends inside the model's thoughts{cut}: `{thoughts.mark.strip()}` is never closed"
    return Failure(kind=FailureKind.TRUNCATED_JSON, message=message, line=line, column=column)


def _from_region(text: str, answer: AnswerPlace, region: Region, found: Regions) -> ParsedOutput:
    if found.thoughts is None and only_punctuation(text, answer.start, region):
        place = region.stop if text[region.stop :].strip() else answer.start
        message = f"`{text[place:].strip()[:12]}` stands beside a complete JSON value"
        return _failed(_failure(text, SyntaxProblem(FailureKind.MALFORMED_JSON, message, place)), text)
    wrapped = _lead(text, answer, found.thoughts) | (_FENCED if region.fenced else _PROSE)
    if found.count > 1:
        line, _ = line_column(text, region.start)
        count = f"{found.count}" if found.complete else f"more than {found.count}"
        wrapped[Wrapping.SEVERAL] = f"{count} JSON values in the text; took the one at line {line}"
    return ParsedOutput(value=region.value, wrapped=wrapped, text=text)


def _from_broken(text: str, region: Region, *, most_repaired: int | None, reason: str) -> ParsedOutput:
    """Read what `json` refused: mended if asked for, else with the exact problem."""
    mended = None if most_repaired is None else _mended(text, region, most_repaired)
    if mended is not None:
        return mended
    try:  # `json` also gives up where Python's own stack is nearly used up
        return ParsedOutput(value=Reader(text, region.start, region.stop).read(), text=text)
    except SyntaxProblem as problem:
        return _failed(_failure(text, _blamed(problem, reason, at_end=region.stop == len(text))), text)


def _mended(text: str, region: Region, most: int) -> ParsedOutput | None:
    reader = Reader(text, region.start, region.stop, lenient=True, most=most)
    try:
        value = reader.read()
    except SyntaxProblem:
        return None
    except TooMany:
        return _failed(too_many_to_repair(most), text)
    return ParsedOutput(value=value, wrapped={Wrapping.REPAIRED: "; ".join(reader.notes())}, text=text)


def _blamed(problem: SyntaxProblem, reason: str, *, at_end: bool) -> SyntaxProblem:
    """Give the token limit precedence over what it left behind."""
    if reason not in CUT:
        return problem
    if problem.kind is FailureKind.TRUNCATED_JSON or not at_end:
        return SyntaxProblem(
            problem.kind, f"{problem.message} (finish_reason={reason})", problem.position, problem.path
        )
    message = f"cut at the token limit (finish_reason={reason}); before that, {problem.message}"
    return SyntaxProblem(FailureKind.TRUNCATED_JSON, message, problem.position)


def _without_json(text: str, start: int, reason: str, *, complete: bool) -> ParsedOutput:
    cut = f"; the answer was cut at the token limit (finish_reason={reason})" if reason in CUT else ""
    where = "in the text" if complete else "in what was searched of the text, which has too many brackets"
    message = f"no JSON object or array {where}; it begins {_excerpt(text, start)}{cut}"
    return _failed(Failure(kind=FailureKind.NO_JSON, message=message), text)


def _structured(parsed: ParsedOutput, *, repair: bool = False, place: int = 0) -> ParsedOutput:
    """Give a value that is neither object nor array the failure `not_structured`; decode a text that holds JSON."""
    value = parsed.value
    if isinstance(value, CONTAINERS):
        return parsed
    message = f"the JSON is a bare {json_type(value)}; an object or array was expected"
    inner = decode_json(value, find_answer(value).start) if isinstance(value, str) else None
    if inner is not None and isinstance(inner[0], CONTAINERS):
        if repair:
            wrapped = {**parsed.wrapped, Wrapping.REPAIRED: "repaired: JSON encoded twice"}
            return ParsedOutput(value=inner[0], wrapped=wrapped, text=parsed.text)
        message += " (the text holds JSON: it was encoded twice)"
    line, column = line_column(parsed.text, place)
    failure = Failure(kind=FailureKind.NOT_STRUCTURED, message=message, line=line, column=column)
    return ParsedOutput(value=value, failure=failure, wrapped=parsed.wrapped, text=parsed.text)


def _empty(reason: str) -> Failure:
    if reason in REFUSED | OUTAGE:
        return _ended_early(reason, "the output is empty")
    cut = f": the token limit was used up before the answer began (finish_reason={reason})" if reason in CUT else ""
    return Failure(kind=FailureKind.EMPTY_RESPONSE, message=f"the output is empty{cut}")


def _lead(text: str, answer: AnswerPlace, among: Thoughts | None = None) -> dict[Wrapping, str]:
    found: dict[Wrapping, str] = {}
    thoughts = answer.thoughts or among
    if thoughts is not None:
        where = "in" if thoughts.opened else "before"
        found[Wrapping.REASONING] = f"reasoning {where} `{thoughts.mark.strip()}` left out"
    if "\ufeff" in text[: answer.start]:
        found[Wrapping.BYTE_ORDER_MARK] = "byte order mark left out"
    return found


def _failure(text: str, problem: SyntaxProblem) -> Failure:
    line, column = line_column(text, problem.position)
    return Failure(kind=problem.kind, message=problem.message, line=line, column=column, path=problem.path)


def _failed(failure: Failure, text: str) -> ParsedOutput:
    return ParsedOutput(value=MISSING, failure=failure, text=text)


def _excerpt(text: str, start: int) -> str:
    words = " ".join(text[start : start + 200].split())
    return repr(words if len(words) <= 80 else f"{words[:79]}…")
