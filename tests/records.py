"""Scores made by hand, for the tests of what reads them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from pytest_extract.core.case_result import CaseResult
from pytest_extract.core.results import Failure, FailureKind, FieldResult, GateResult, Gates, ScoreRecord, Status
from pytest_extract.core.values import MISSING, FieldPath
from pytest_extract.results import load_result


def field_result(path: str, gold: object = MISSING, extracted: object = MISSING, **keys: Any) -> FieldResult:
    """Make a result of the metric `text` whose status follows from the two values."""
    status = Status.MISMATCH
    if gold is extracted or gold == extracted:
        status = Status.MATCH
    elif gold is MISSING or extracted is MISSING:
        status = Status.OMISSION if extracted is MISSING else Status.HALLUCINATION
    matched = keys.pop("matched", None)
    values = {
        "path": keys.pop("path", None) or FieldPath.parse(path),
        "pattern": re.sub(r"\[-?\d+\]", "[]", path),
        "metric": "text",
        "params": {},
        "status": status,
        "score": float(status is Status.MATCH),
        "passed": status is Status.MATCH,
        "gold": gold,
        "extracted": extracted,
        "matched": None if matched is None else FieldPath.parse(matched),
    }
    return FieldResult(**{**values, **keys, "status": Status(keys.get("status", status))})


def results_of(table: Any) -> list[CaseResult]:
    """Read the results that a table of Arrow holds."""
    return [load_result(line) for line in table.column("record_json").to_pylist() if line is not None]


def gates(**why: str) -> Gates:
    """Make gates that pass, but for those named with what is wrong."""
    names = ("parse", "root", "schema", "coverage")
    made = {
        name: GateResult(name=name, passed=name not in why, factor=float(name not in why), why=why.get(name, ""))  # type: ignore[arg-type]
        for name in names
    }
    return Gates(**made)


def score_record(*leaves: FieldResult, failed: dict[str, str] | None = None, **keys: Any) -> ScoreRecord:
    """Make a score of these leaf results; `failed` gates with what is wrong; `failure` as text is its kind."""
    failure = keys.pop("failure", None)
    if isinstance(failure, str):
        failure = Failure(kind=FailureKind(failure), message=f"it is {failure}")
    values = {
        "semantics": "default",
        "failure": failure,
        "fields": (),
        "leaves": tuple(leaves),
        "arrays": (),
        "measures": {},
        "gates": gates(**(failed or {})),
        "vacuous": 0,
        "questions": 0,
    }
    return ScoreRecord(**{**values, **keys})


def pass_rate(leaves: Sequence[FieldResult]) -> float:
    """Return the share of results that passed."""
    return sum(leaf.passed for leaf in leaves) / len(leaves) if leaves else 0.0
