"""A score as plain JSON, and back: the one place that knows the keys of a score in a results file."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import asdict
from functools import lru_cache
from json.encoder import encode_basestring_ascii as _quote
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
_new: Final = tuple.__new__


dump_json: Final = json.JSONEncoder(allow_nan=False, separators=(",", ":")).encode
"""Write compact ASCII JSON; TypeError, ValueError or RecursionError for what JSON cannot hold."""


def score_to_json(score: ScoreRecord) -> dict[str, Json]:
    """Return a score as JSON; `gold` and `extracted` of a result are left out where they are MISSING."""
    return {
        **_json_before_results(score),
        "fields": [_result_to_json(result) for result in score.fields],
        "leaves": [_result_to_json(result) for result in score.leaves],
        **_json_after_results(score),
    }


def score_to_text(score: ScoreRecord, parts: set[str]) -> str:
    """Return `dump_json(score_to_json(score))`, in a third of the time; raise what `dump_json` raises.

    Adds every text of which the result is composed to `parts`, each once: a search of them takes less time than one of
    the whole.
    """
    write = _ResultWriter(parts)
    before, after = dump_json(_json_before_results(score)), dump_json(_json_after_results(score))
    parts |= {before, after}
    fields, leaves = ",".join(map(write, score.fields)), ",".join(map(write, score.leaves))
    return f'{before[:-1]},"fields":[{fields}],"leaves":[{leaves}],{after[1:]}'


def _json_before_results(score: ScoreRecord) -> dict[str, Json]:
    return {
        "format": FORMAT,
        "semantics": score.semantics,
        "failure": None if score.failure is None else failure_to_json(score.failure),
    }


def _json_after_results(score: ScoreRecord) -> dict[str, Json]:
    gates = score.gates
    return {
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


def score_to_json_without_results(score: ScoreRecord) -> dict[str, Json]:
    """Return a score as JSON, without its field and leaf results."""
    return _json_before_results(score) | _json_after_results(score)


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
        measures=_measures_from_json(record["measures"]),
        gates=Gates(**{name: _gate_result(name=name, **gate) for name, gate in record["gates"].items()}),
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
    return fields, fields if record["leaves"] is record["fields"] else tuple(map(read, record["leaves"]))


_gate_result: Final = lru_cache(maxsize=4096, typed=True)(GateResult)
"""The gates of most outputs are the same."""


def _measures_from_json(record: Mapping[str, Any]) -> Mapping[str, float]:
    if {*map(type, record.values())} == {float}:
        return _shared_measures((*record.items(),))
    return {intern(name): _number(value) for name, value in record.items()}


@lru_cache(maxsize=4096)
def _shared_measures(items: tuple[tuple[str, float], ...]) -> Mapping[str, float]:
    """Return measures as one object for all scores that have the same, as most of a run's have."""
    return {intern(name): value for name, value in items}


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


class _ResultWriter:
    """Writes results as `dump_json(_result_to_json(result))` does; texts that results share are written once."""

    def __init__(self, parts: set[str]) -> None:
        self._parts = parts
        self._checks: dict[tuple[str, str, int], str] = {}
        self._written: dict[int, str] = {}

    def __call__(self, result: FieldResult) -> str:
        text = self._written.get(id(result))
        if text is None:
            text = self._written[id(result)] = self._text_of(result)
        return text

    def _text_of(self, result: FieldResult) -> str:
        path, pattern, metric, params, status, score, passed, gold, extracted, reason, weight, matched = result
        check = self._checks.get((pattern, metric, id(params)))
        if check is None:
            options = ",".join([f"{_quote(name)}:{dump_value(value)}" for name, value in params.items()])
            check = f'"pattern":{_quote(pattern)},"metric":{_quote(metric)},"params":{{{options}}}'
            self._checks[pattern, metric, id(params)] = check
            self._parts.add(check)
        place = _quote(str(path))
        values = "" if gold is MISSING else f',"gold":{dump_value(gold)}'
        if extracted is not MISSING:
            values = f'{values},"extracted":{dump_value(extracted)}'
        why = "null" if reason is None else _quote(reason)
        where = "" if matched is None else f',"matched":{_quote(str(matched))}'
        if type(result) is AnnotatedResult:
            where += f",{dump_json(metadata_to_json(result.metadata))[1:-1]}"
        self._parts.update((place, values, why, where))
        return (
            f'{{"path":{place},{check},"status":"{status}","score":{dump_value(score)},'
            f'"passed":{"true" if passed else "false"}{values},"reason":{why},"weight":{dump_value(weight)}{where}}}'
        )


def dump_value(value: Json) -> str:
    """Return `dump_json(value)`, for scalars in a tenth of the time."""
    kind = type(value)
    if kind is str:
        return _quote(value)
    if value is None or kind is bool:
        return "null" if value is None else "true" if value else "false"
    if kind is float and math.isfinite(value):
        return float.__repr__(value)
    return int.__repr__(value) if kind is int else dump_json(value)


_NO_PARAMS: Final[Mapping[str, Json]] = {}


def _shared(name: Any) -> Any:
    """Return a name as the one object that all results with it have."""
    return intern(name) if type(name) is str else name


def _result_from_json(record: Mapping[str, Any]) -> FieldResult:
    get, score, matched = record.get, record["score"], record.get("matched")
    if type(score) is not float:
        score = _number(score)
    gold, extracted = get("gold", MISSING), get("extracted", MISSING)
    if type(gold) is type(extracted) is str and gold == extracted:
        extracted = gold  # most values are right, and a large run is in memory as a whole
    values = (
        path_of(record["path"]), _shared(record["pattern"]), _shared(record["metric"]), record["params"] or _NO_PARAMS,
        STATUS_OF[record["status"]],
        score, record["passed"], gold, extracted, record["reason"], record["weight"],
        None if matched is None else path_of(matched),
    )  # fmt: skip
    result = _new(FieldResult, values)
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
