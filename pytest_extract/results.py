r"""The results file: one `CaseResult` a line, as JSON with a version number.

The text also travels from xdist workers to the controller; `--extract-from`, `runs compare` and `runs merge` read it.
Text is plain ASCII (`\u` escapes), so that lone surrogates survive any transport.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import MISSING, dataclass, fields, is_dataclass
from enum import Enum
from functools import cache, partial
from pathlib import Path
from types import UnionType
from typing import Any, Final, TypeAlias, get_args, get_origin, get_type_hints

from pytest_extract.core.case_result import Arm, Attempt, Breach, CaseResult, Outcome, Usage
from pytest_extract.core.results import DECLINED, ScoreRecord
from pytest_extract.core.score_json import score_from_json, score_to_json
from pytest_extract.core.values import FieldPath, Json, writable
from pytest_extract.errors import StoreError
from pytest_extract.files import MOST_BULK_BYTES, read_regular_text, write_atomic
from pytest_extract.redact.secrets import TALLY, Owned, Secret, clean_message, current, withheld

__all__ = [
    "Arm",
    "Attempt",
    "Breach",
    "CaseResult",
    "Outcome",
    "ResultsFile",
    "ScoreRecord",
    "Usage",
    "dump_result",
    "load_result",
    "read_results",
    "write_results",
]

FORMAT: Final = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultsFile:
    """The content of a results file; `torn`: its last line was cut off, as a killed run leaves it."""

    results: tuple[CaseResult, ...]
    torn: bool = False


def dump_result(result: CaseResult) -> str:
    """One line of the results file, without the newline. Never raises, whatever the extractor returned.

    The result is written as it is: of one that has just been measured, `dump_safely` is what may leave the process.
    """
    return _dumped(_record(result))[1]


def dump_safely(result: CaseResult, owned: Owned | None = None) -> str:
    """`dump_result`, without secrets: the form in which a result leaves the process that measured it.

    Reports, baselines, JUnit XML and the terminal are made from this form, so that all of them hide the same. Messages
    are cleaned, and a secret among values is replaced by a mark. An output that holds one is left out as a whole, and
    `withheld` has the reason: only the output that was scored may be scored again. `owned`: whether a secret is in the
    user's own files (gold, document), and so is data.
    """
    record = _record(result)
    _clean_messages(record)
    record, text = _dumped(record)
    found = [each for each in current().find(text) if owned is None or not owned(each)]
    if not found:
        return text
    TALLY.add("result", found)
    for attempt in record["attempts"]:
        attempt["withheld"] = withheld(attempt["output"], owned)
        if attempt["withheld"] is not None:
            attempt["output"] = None
    return _dump(_marked(record, found))


def _dump(record: Json) -> str:
    return json.dumps(record, allow_nan=False, separators=(",", ":"))


def _dumped(record: dict[str, Json]) -> tuple[dict[str, Json], str]:
    """Return a record that can be written, and its text."""
    try:
        return record, _dump(record)
    except (TypeError, ValueError, RecursionError):
        plain: dict[str, Json] = writable(record)
        return plain, _dump(plain)


def _clean_messages(record: dict[str, Json]) -> None:
    """Clean the messages of exceptions and providers; those of the scorer are about data, and stay."""
    if record["outcome"] in {Outcome.BROKEN, Outcome.NOT_RUN}:
        record["why"] = record["why"] and clean_message(record["why"])
    for attempt in record["attempts"]:
        attempt["error"] = attempt["error"] and clean_message(attempt["error"])
        attempt["notes"] = [clean_message(note) for note in attempt["notes"]]
        score = attempt["score"]
        if score and (failure := score.get("failure")) and failure["kind"] in DECLINED:
            message = clean_message(failure["message"])
            attempt["score"] = {**score, "failure": {**failure, "message": message}}


def _marked(record: dict[str, Json], found: Sequence[Secret]) -> dict[str, Json]:
    """Return a record with marks for secrets; the names of the case stay."""
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
        result: CaseResult = _fields_from_json(CaseResult, record)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise StoreError(f"not a whole result: {type(error).__name__}: {error}") from error
    return result


def read_results(path: Path) -> ResultsFile:
    """Read a results file; StoreError with `path:line` for a bad line.

    A last line that was cut off, as a killed run leaves it, is left out and sets `torn`.
    """
    try:
        text = read_regular_text(path, MOST_BULK_BYTES)
    except (OSError, UnicodeDecodeError) as error:
        raise StoreError(f"{path}: cannot be read: {error}") from error
    results: list[CaseResult] = []
    torn = False
    lines = text.split("\n")
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            results.append(load_result(line))
        except StoreError as error:
            if number < len(lines):
                raise StoreError(f"{path}:{number}: {error}") from error
            torn = True
    return ResultsFile(results=tuple(results), torn=torn)


def write_results(path: Path, results: Iterable[CaseResult]) -> None:
    """Write a whole results file at once, atomically."""
    write_atomic(path, "".join(f"{dump_result(result)}\n" for result in results))


_Convert: TypeAlias = Callable[[Any], Any]


def _record(result: CaseResult) -> dict[str, Json]:
    return {"format": FORMAT, **_fields_to_json(result)}


def _fields_to_json(instance: Any) -> dict[str, Json]:
    """Return the fields of a result type by name. `withheld` is left out where it is None, as files always did."""
    kind: Any = type(instance)
    record: dict[str, Json] = {}
    for name, (encode, _decode, _default) in _codec(kind).items():
        value = getattr(instance, name)
        record[name] = value if value is None or encode is None else encode(value)
    if record.get("withheld", "") is None:
        del record["withheld"]
    return record


def _fields_from_json(kind: Any, record: Mapping[str, Any]) -> Any:
    """Read what `_fields_to_json` has written; KeyError or TypeError for anything else."""
    codec = _codec(kind)
    if kind is not CaseResult and (unknown := record.keys() - codec.keys()):
        raise TypeError(f"{kind.__name__} has no {min(unknown)!r}")
    values: dict[str, Any] = {}
    for name, (_encode, decode, has_default) in codec.items():
        if name in record or not has_default:
            values[name] = decode(record[name])
    return kind(**values)


@cache
def _codec(kind: Any) -> Mapping[str, tuple[_Convert | None, _Convert, bool]]:
    """Map each field of a result type to its encoder (None: written as it is), its decoder, and if it has a default."""
    hints = get_type_hints(kind)
    return {
        each.name: (
            *_conversions(hints[each.name], each.name),
            each.default is not MISSING or each.default_factory is not MISSING,
        )
        for each in fields(kind)
    }


def _conversions(hint: Any, name: str) -> tuple[_Convert | None, _Convert]:
    origin, parts = get_origin(hint), get_args(hint)
    if hint is Any:
        return None, lambda value: value
    if origin is UnionType:  # `X | None`
        encode, decode = _conversions(parts[0], name)
        return encode, lambda value: None if value is None else decode(value)
    if origin is tuple:
        encode, decode = _conversions(parts[0], name)
        return (lambda value: [*map(encode, value)]) if encode else list, lambda value: tuple(map(decode, value))
    if origin is Mapping:
        _, decode = _conversions(parts[1], name)
        return dict, lambda value: {key: decode(each) for key, each in value.items()}
    if hint is ScoreRecord:
        return score_to_json, score_from_json
    if is_dataclass(hint):
        return _fields_to_json, partial(_fields_from_json, hint)
    if issubclass(hint, Enum):
        return str, hint
    return None, partial(_checked_value, name, object if hint is float else hint)


def _checked_value(name: str, kind: Any, value: Any) -> Any:
    if not isinstance(value, kind):
        raise TypeError(f"{name!r} has a value of another type")
    return value
