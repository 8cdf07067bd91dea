"""A score as plain JSON, and back: the one place that knows the keys of a score in a results file."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict
from sys import intern
from typing import Any, Final

from pytest_extract.core.field_metadata import metadata_from_json, metadata_to_json
from pytest_extract.core.results import (
    STATUS_OF,
    AnnotatedResult,
    ArrayResult,
    Failure,
    FailureKind,
    FieldResult,
    GateResult,
    Gates,
    NamedMistake,
    RuleResult,
    RuleStatus,
    ScoreRecord,
)
from pytest_extract.core.values import MISSING, FieldPath, Json

FORMAT: Final = 1


dump_json: Final = json.JSONEncoder(allow_nan=False, separators=(",", ":")).encode
"""Write compact ASCII JSON; TypeError, ValueError or RecursionError for what JSON cannot hold."""


def score_to_json(score: ScoreRecord) -> dict[str, Json]:
    """Return a score as JSON; `gold` and `extracted` of a result are left out where they are MISSING."""
    results = {name: [*map(_result_to_json, getattr(score, name))] for name in ("fields", "leaves")}
    return {**score_to_json_without_results(score), **results}


def score_to_json_without_results(score: ScoreRecord) -> dict[str, Json]:
    """Return a score as JSON, without its field and leaf results."""
    gates = score.gates
    return {
        "format": FORMAT,
        "semantics": score.semantics,
        "failure": None if score.failure is None else failure_to_json(score.failure),
        "arrays": [_array_to_json(array) for array in score.arrays],
        "measures": dict(score.measures),
        "gates": {
            gate.name: {"passed": gate.passed, "factor": gate.factor, "why": gate.why}
            for gate in (gates.parse, gates.root, gates.schema, gates.coverage)
        },
        "vacuous": score.vacuous,
        "empty_passes": score.empty_passes,
        "questions": score.questions,
        **({"wrapped": dict(score.wrapped)} if score.wrapped else {}),
        **({"mistakes": [_mistake_to_json(mistake) for mistake in score.mistakes]} if score.mistakes else {}),
        **({"rules": [asdict(rule) | {"status": str(rule.status)} for rule in score.rules]} if score.rules else {}),
        **({"added": list(score.added)} if score.added else {}),
    }


def score_from_json(
    record: Mapping[str, Any], results: tuple[tuple[FieldResult, ...], tuple[FieldResult, ...]] | None = None
) -> ScoreRecord:
    """Read what `score_to_json` has written; KeyError, TypeError or ValueError for anything else.

    `results`: field and leaf results that were read otherwise.
    """
    failure = record["failure"]
    fields, leaves = results or fields_and_leaves(record, _result_from_json)
    return ScoreRecord(
        semantics=record["semantics"],
        failure=None if failure is None else failure_from_json(failure),
        fields=fields,
        leaves=leaves,
        arrays=tuple(map(_array_from_json, record["arrays"])),
        measures={intern(name): _number(value) for name, value in record["measures"].items()},
        gates=Gates(**{name: GateResult(name=name, **gate) for name, gate in record["gates"].items()}),
        vacuous=record["vacuous"],
        questions=record["questions"],
        wrapped=record.get("wrapped", {}),
        mistakes=tuple(map(_mistake_from_json, record.get("mistakes", ()))),
        rules=tuple(RuleResult(**{**rule, "status": RuleStatus(rule["status"])}) for rule in record.get("rules", ())),
        added=tuple(record.get("added", ())),
    )


def fields_and_leaves(
    record: Mapping[str, Any], read: Callable[[Mapping[str, Any]], FieldResult]
) -> tuple[tuple[FieldResult, ...], tuple[FieldResult, ...]]:
    """Return the field and the leaf results of a score, each read by `read`; a list that is both is read once."""
    fields = tuple(map(read, record["fields"]))
    return fields, fields if record["leaves"] == record["fields"] else tuple(map(read, record["leaves"]))


def _mistake_to_json(mistake: NamedMistake) -> dict[str, Json]:
    return {"kind": mistake.kind, "paths": [str(path) for path in mistake.paths], "text": mistake.text}


def _mistake_from_json(record: Mapping[str, Any]) -> NamedMistake:
    return NamedMistake(record["kind"], tuple(map(path_of, record["paths"])), record["text"])


def failure_to_json(failure: Failure) -> dict[str, Json]:
    """Return what is wrong with an output as JSON."""
    return {
        "kind": str(failure.kind),
        "message": failure.message,
        "line": failure.line,
        "column": failure.column,
        "path": None if failure.path is None else str(failure.path),
    }


def failure_from_json(record: Mapping[str, Any]) -> Failure:
    """Read what `failure_to_json` has written."""
    path = record.get("path")
    return Failure(
        kind=FailureKind(record["kind"]),
        message=record["message"],
        line=record.get("line"),
        column=record.get("column"),
        path=None if path is None else path_of(path),
    )


def _result_to_json(result: FieldResult) -> dict[str, Json]:
    found: dict[str, Json] = {
        "path": str(result.path),
        "pattern": result.pattern,
        "metric": result.metric,
        "params": dict(result.params),
        "status": str(result.status),
        "score": result.score,
        "passed": result.passed,
    }
    if result.gold is not MISSING:
        found["gold"] = result.gold
    if result.extracted is not MISSING:
        found["extracted"] = result.extracted
    found |= {"reason": result.reason, "weight": result.weight}
    if result.matched is not None:
        found["matched"] = str(result.matched)
    return found | metadata_to_json(result.metadata) if isinstance(result, AnnotatedResult) else found


_NO_PARAMS: Final[Mapping[str, Json]] = {}


def _shared(name: Any) -> Any:
    """Return a name as the one object that all results with it have."""
    return intern(name) if type(name) is str else name


def _result_from_json(record: Mapping[str, Any]) -> FieldResult:
    gold, extracted, matched = record.get("gold", MISSING), record.get("extracted", MISSING), record.get("matched")
    if type(gold) is type(extracted) is str and gold == extracted:
        extracted = gold  # most values are right, and a large run is in memory as a whole
    result = FieldResult(
        path=path_of(record["path"]),
        pattern=_shared(record["pattern"]),
        metric=_shared(record["metric"]),
        params=record["params"] or _NO_PARAMS,
        status=STATUS_OF[record["status"]],
        score=_number(record["score"]),
        passed=record["passed"],
        gold=gold,
        extracted=extracted,
        reason=record["reason"],
        weight=record["weight"],
        matched=None if matched is None else path_of(matched),
    )
    if "confidence" in record or "citations" in record:
        return AnnotatedResult.of(result, metadata_from_json(record))
    return result


def _array_to_json(array: ArrayResult) -> dict[str, Json]:
    sets = {"set_precision": array.set_precision, "set_recall": array.set_recall, "set_f1": array.set_f1}
    return {**array._asdict(), "path": str(array.path), **sets}


def _array_from_json(record: Mapping[str, Any]) -> ArrayResult:
    return ArrayResult(
        path=path_of(record["path"]),
        pairs=tuple((i, j) for i, j in record["pairs"]),
        missing=tuple(record["missing"]),
        extra=tuple(record["extra"]),
        precision=record["precision"],
        recall=record["recall"],
        f1=record["f1"],
    )


def path_of(text: str) -> FieldPath:
    """Read a path; a text that is none any more, because a secret was taken out of a key, becomes one key."""
    try:
        return FieldPath.parse(text)
    except ValueError:
        return FieldPath((text,))


def _number(value: Any) -> float:
    if not isinstance(value, int | float):
        raise TypeError(f"{value!r} is not a number")
    return value
