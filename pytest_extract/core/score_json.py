"""A score as plain JSON, and back: the one place that knows the keys of a score in a results file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from pytest_extract.core.results import (
    ArrayResult,
    Failure,
    FailureKind,
    FieldResult,
    GateResult,
    Gates,
    ScoreRecord,
    Status,
)
from pytest_extract.core.values import MISSING, FieldPath, Json

FORMAT: Final = 1
_STATUSES: Final = {str(status): status for status in Status}
_new: Final = tuple.__new__


def score_to_json(score: ScoreRecord) -> dict[str, Json]:
    """Return a score as JSON; `gold` and `extracted` of a result are left out where they are MISSING."""
    gates = score.gates
    return {
        "format": FORMAT,
        "semantics": score.semantics,
        "failure": None if score.failure is None else failure_to_json(score.failure),
        "fields": [_result_to_json(result) for result in score.fields],
        "leaves": [_result_to_json(result) for result in score.leaves],
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
    }


def score_from_json(record: Mapping[str, Any]) -> ScoreRecord:
    """Read what `score_to_json` has written; KeyError, TypeError or ValueError for anything else."""
    failure = record["failure"]
    return ScoreRecord(
        semantics=record["semantics"],
        failure=None if failure is None else failure_from_json(failure),
        fields=tuple(map(_result_from_json, record["fields"])),
        leaves=tuple(map(_result_from_json, record["leaves"])),
        arrays=tuple(map(_array_from_json, record["arrays"])),
        measures={name: _number(value) for name, value in record["measures"].items()},
        gates=Gates(**{name: GateResult(name=name, **gate) for name, gate in record["gates"].items()}),
        vacuous=record["vacuous"],
        questions=record["questions"],
        wrapped=record.get("wrapped", {}),
    )


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
        path=None if path is None else _path(path),
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
    return found


def _result_from_json(record: Mapping[str, Any]) -> FieldResult:
    get, score, matched = record.get, record["score"], record.get("matched")
    if type(score) is not float:
        score = _number(score)
    values = (
        _path(record["path"]), record["pattern"], record["metric"], record["params"], _STATUSES[record["status"]],
        score, record["passed"], get("gold", MISSING), get("extracted", MISSING), record["reason"], record["weight"],
        None if matched is None else _path(matched),
    )  # fmt: skip
    return _new(FieldResult, values)


def _array_to_json(array: ArrayResult) -> dict[str, Json]:
    sets = {"set_precision": array.set_precision, "set_recall": array.set_recall, "set_f1": array.set_f1}
    return {**array._asdict(), "path": str(array.path), **sets}


def _array_from_json(record: Mapping[str, Any]) -> ArrayResult:
    return ArrayResult(
        path=_path(record["path"]),
        pairs=tuple((i, j) for i, j in record["pairs"]),
        missing=tuple(record["missing"]),
        extra=tuple(record["extra"]),
        precision=record["precision"],
        recall=record["recall"],
        f1=record["f1"],
    )


def _path(text: str) -> FieldPath:
    """Read a path; a text that is none any more, because a secret was taken out of a key, becomes one key."""
    try:
        return FieldPath.parse(text)
    except ValueError:
        return FieldPath((text,))


def _number(value: Any) -> float:
    if not isinstance(value, int | float):
        raise TypeError(f"{value!r} is not a number")
    return value
