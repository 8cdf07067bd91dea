r"""The results file: one `CaseResult` a line, as JSON with a version number.

The text also travels from xdist workers to the controller; `--extract-from`, `runs compare` and `runs merge` read it.
Text is plain ASCII (`\u` escapes), so that lone surrogates survive any transport.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from pytest_extract.atomic import write_atomic
from pytest_extract.core.case_result import Arm, Attempt, Breach, CaseResult, Outcome, Usage
from pytest_extract.core.results import DECLINED
from pytest_extract.core.score_json import dump_json, score_from_json, score_to_json, score_to_text
from pytest_extract.core.values import FieldPath, Json, writable
from pytest_extract.errors import StoreError
from pytest_extract.redact.secrets import TALLY, Owned, Secret, clean_message, current, withheld
from pytest_extract.regular_file import MOST_BULK_BYTES, open_regular

FORMAT: Final = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultsFile:
    """What a results file holds; `torn`: its last line was cut off, as a killed run leaves it."""

    results: tuple[CaseResult, ...]
    torn: bool = False


def dump_result(result: CaseResult) -> str:
    """One line of the results file, without the newline. Never raises, whatever the extractor returned.

    The result is written as it is: of one that has just been measured, `dump_safely` is what may leave the process.
    """
    return _line_of(result)[0]


def dump_safely(result: CaseResult, owned: Owned | None = None) -> str:
    """`dump_result`, without secrets: the form in which a result leaves the process that measured it.

    Reports, baselines, JUnit XML and the terminal are made from this form, so that all of them hide the same. Messages
    are cleaned, and a secret among values is replaced by a mark, wherever it stands. An output that holds one is left
    out as a whole, and `withheld` says why: what is scored again must be what was scored. `owned`: whether a secret
    stands in the user's own files (gold, document), and so is data.
    """
    result = _with_clean_messages(result)
    text, searched = _line_of(result)
    found = [each for each in current().find(searched) if owned is None or not owned(each)]
    if not found:
        return text
    TALLY.add("result", found)
    record = json.loads(text)
    for attempt in record["attempts"]:
        attempt["withheld"] = withheld(attempt["output"], owned)
        if attempt["withheld"] is not None:
            attempt["output"] = None
    return dump_json(_marked(record, found))


def _line_of(result: CaseResult) -> tuple[str, str]:
    """Return a result as a line, and a shorter text that holds each text of the line once, to be searched."""
    parts: set[str] = set()
    try:
        attempts = ",".join(_attempt_text(attempt, parts) for attempt in result.attempts)
        before, after = dump_json(_before_attempts(result)), dump_json(_after_attempts(result))
    except (TypeError, ValueError, RecursionError):
        text = dump_json(writable(_record(result)))
        return text, text
    return f'{before[:-1]},"attempts":[{attempts}],{after[1:]}', "\n".join((before, after, *parts))


def _attempt_text(attempt: Attempt, parts: set[str]) -> str:
    score = "null" if attempt.score is None else score_to_text(attempt.score, parts)
    before, after = dump_json(_before_score(attempt)), dump_json(_after_score(attempt))
    parts |= {before, after}
    return f'{before[:-1]},"score":{score},{after[1:]}'


def _with_clean_messages(result: CaseResult) -> CaseResult:
    """Clean messages of exceptions and providers; messages of the scorer are about data, and stay."""
    attempts = tuple(map(_with_clean_attempt, result.attempts))
    why = result.why
    if why and result.outcome in {Outcome.BROKEN, Outcome.NOT_RUN}:
        why = clean_message(why)
    return replace(result, why=why, attempts=attempts)


def _with_clean_attempt(attempt: Attempt) -> Attempt:
    score = attempt.score
    if score is not None and score.failure is not None and score.failure.kind in DECLINED:
        score = replace(score, failure=replace(score.failure, message=clean_message(score.failure.message)))
    error = attempt.error and clean_message(attempt.error)
    return replace(attempt, score=score, error=error, notes=tuple(map(clean_message, attempt.notes)))


def _marked(record: dict[str, Json], found: Sequence[Secret]) -> dict[str, Json]:
    """Return a record with marks for secrets, but for what says which case it is."""
    for attempt in record["attempts"]:
        _mark_paths(attempt["score"] or {}, found)
    marked: dict[str, Json] = current().hide_in(record, found)
    told = f"hidden in this result: {', '.join(sorted({secret.kind for secret in found}))}"
    for attempt in marked["attempts"]:
        attempt["notes"] = [*attempt["notes"], told]
    return {**marked, **{name: record[name] for name in ("nodeid", "case_id", "file", "arm", "digests")}}


def _mark_paths(score: Json, found: Sequence[Secret]) -> None:
    """Put marks for secrets into paths key by key, so that each stays a path."""
    for result in (*score.get("fields", ()), *score.get("leaves", ()), *score.get("arrays", ())):
        for name in ("path", "matched"):
            if result.get(name):
                result[name] = str(FieldPath(current().hide_in(list(FieldPath.parse(result[name])), found)))


def load_result(line: str) -> CaseResult:
    """Read one line; StoreError when it is no result, or of another version."""
    try:
        record = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise StoreError(f"not JSON: {error}") from error
    if not isinstance(record, dict) or record.get("format") != FORMAT:
        found = record.get("format") if isinstance(record, dict) else None
        raise StoreError(f"not a result of format {FORMAT} (found {found!r}): written by another version?")
    try:
        return _result(record)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise StoreError(f"not a whole result: {type(error).__name__}: {error}") from error


def read_results(path: Path) -> ResultsFile:
    """Read a results file; StoreError with `path:line` for a bad line.

    A last line that was cut off, as a killed run leaves it, is left out; `torn` says so.
    """
    reader = ResultsReader(path)
    return ResultsFile(results=tuple(reader), torn=reader.torn)


class ResultsReader:
    """Reads a results file line by line, so that memory holds one result; StoreError with `path:line` for a bad line.

    After the last line: `torn`, whether that was cut off, and `digest`, the SHA-256 of all lines.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.torn = False
        self.digest = ""

    def __iter__(self) -> Iterator[CaseResult]:
        digest = hashlib.sha256()
        for number, line in enumerate(self._lines(), start=1):
            if not line.strip():
                continue
            digest.update(line.strip() + b"\n")
            try:
                result = load_result(line.decode("utf-8"))
            except (StoreError, UnicodeDecodeError) as error:
                if line.endswith((b"\n", b"\r")):
                    raise StoreError(f"{self.path}:{number}: {error}") from error
                self.torn = True
            else:
                yield result
        self.digest = digest.hexdigest()

    def _lines(self) -> Iterator[bytes]:
        try:
            with open_regular(self.path, MOST_BULK_BYTES) as file:
                yield from file
        except OSError as error:
            raise StoreError(f"{self.path}: cannot be read: {error}") from error


def write_results(path: Path, results: Iterable[CaseResult]) -> None:
    """Write a whole results file at once, atomically."""
    write_atomic(path, "".join(f"{dump_result(result)}\n" for result in results))


def _record(result: CaseResult) -> dict[str, Json]:
    attempts = [
        {
            **_before_score(attempt),
            "score": None if attempt.score is None else score_to_json(attempt.score),
            **_after_score(attempt),
        }
        for attempt in result.attempts
    ]
    return {**_before_attempts(result), "attempts": attempts, **_after_attempts(result)}


def _before_attempts(result: CaseResult) -> dict[str, Json]:
    return {
        "format": FORMAT,
        "nodeid": result.nodeid,
        "case_id": result.case_id,
        "file": result.file,
        "arm": {"model": result.arm.model, "prompt": result.arm.prompt, "revision": result.arm.revision},
        "outcome": str(result.outcome),
        "why": result.why,
        "needed": result.needed,
        "breaches": [_breach_record(breach) for breach in result.breaches],
    }


def _after_attempts(result: CaseResult) -> dict[str, Json]:
    return {
        "tags": dict(result.tags),
        "digests": dict(result.digests),
        "complexity": result.complexity,
        "modality": result.modality,
        "shape": dict(result.shape),
        "uncompared": dict(result.uncompared),
        "known": list(result.known),
        "duration_s": result.duration_s,
    }


def _before_score(attempt: Attempt) -> dict[str, Json]:
    return {"index": attempt.index, "outcome": str(attempt.outcome)}


def _after_score(attempt: Attempt) -> dict[str, Json]:
    usage = attempt.usage
    return {
        "output": attempt.output,
        "error": attempt.error,
        "breaches": [_breach_record(breach) for breach in attempt.breaches],
        "usage": None if usage is None else _usage_record(usage),
        "cost_usd": attempt.cost_usd,
        "latency_s": attempt.latency_s,
        "finish_reason": attempt.finish_reason,
        "recorded": attempt.recorded,
        "notes": list(attempt.notes),
        **({} if attempt.withheld is None else {"withheld": attempt.withheld}),
    }


def _usage_record(usage: Usage) -> dict[str, Json]:
    return {
        "prompt_tokens": usage.prompt_tokens,
        "completion_tokens": usage.completion_tokens,
        "total_tokens": usage.total_tokens,
    }


def _breach_record(breach: Breach) -> dict[str, Json]:
    return {"what": breach.what, "message": breach.message, "bound": breach.bound, "value": breach.value}


def _result(record: Mapping[str, Any]) -> CaseResult:
    texts = {name: record[name] for name in ("nodeid", "case_id", "file", "modality")}
    wrong = [name for name, text in texts.items() if not isinstance(text, str)]
    wrong += [name for name, size in record["shape"].items() if not isinstance(size, int)]
    if wrong:
        raise TypeError(f"{wrong[0]!r} has a value of another type")
    return CaseResult(
        **texts,
        arm=Arm(**record["arm"]),
        outcome=Outcome(record["outcome"]),
        why=record["why"],
        needed=record["needed"],
        breaches=tuple(Breach(**breach) for breach in record["breaches"]),
        attempts=tuple(_attempt(attempt) for attempt in record["attempts"]),
        tags=record["tags"],
        digests=record["digests"],
        complexity=record["complexity"],
        shape=record["shape"],
        uncompared=record.get("uncompared", {}),  # a file of before this was counted has none
        known=tuple(record["known"]),
        duration_s=record["duration_s"],
    )


def _attempt(record: Mapping[str, Any]) -> Attempt:
    score = record["score"]
    changed = {
        "score": None if score is None else score_from_json(score),
        "outcome": Outcome(record["outcome"]),
        "breaches": tuple(Breach(**breach) for breach in record["breaches"]),
        "usage": None if record["usage"] is None else Usage(**record["usage"]),
        "notes": tuple(record["notes"]),
    }
    return Attempt(**{**record, **changed})
