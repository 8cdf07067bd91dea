"""Results without values, for aggregates over large runs: each distinct part is in memory once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any, Final, TypeAlias

from pytest_extract.core.results import STATUS_OF, FieldResult, ScoreRecord
from pytest_extract.core.score_json import fields_and_leaves, score_from_json
from pytest_extract.core.shared_values import SharedValues
from pytest_extract.core.values import MISSING, FieldPath, Json, Missing, json_type

_NO_PARAMS: Final[Mapping[str, Json]] = MappingProxyType({})
_TYPICAL: Final[Mapping[str, Json | Missing]] = {
    "null": None, "boolean": False, "integer": 0, "number": 0.5, "string": "", "array": [], "object": {},
    "missing": MISSING,
}  # fmt: skip
"""A value of each JSON type, in place of values that nobody reads."""

ResultColumns: TypeAlias = tuple[str, str, str, float, bool, float, tuple[str, str], str | None]
"""Pattern, metric, status, score, passed, weight, the JSON types of gold and extracted value (`missing` for no value),
and why a result passes although neither side has a value (None for another)."""


class SharedResults(SharedValues):
    """Makes scores whose results have no paths, parameters and values, only a typical value of the same JSON type."""

    def __init__(self) -> None:
        super().__init__()
        self._results: dict[tuple[object, ...], FieldResult] = {}
        self._types: dict[type, str] = {}

    def result(self, columns: ResultColumns) -> FieldResult:
        """Return the result of these columns."""
        found = self._results.get(columns)
        if found is None:
            pattern, metric, status, score, passed, weight, types, empty_reason = columns
            gold, extracted = (_TYPICAL[name] for name in types)
            found = self._results[columns] = FieldResult(
                FieldPath(), pattern, metric, _NO_PARAMS, STATUS_OF[status], score, passed, gold, extracted,
                empty_reason, weight, None,
            )  # fmt: skip
        return found

    def score_from_json(self, record: Mapping[str, Any]) -> ScoreRecord:
        """Read what `score_to_json` has written; KeyError, TypeError or ValueError for anything else."""
        results = fields_and_leaves(record, self._result_from_json)
        score = score_from_json({**record, "arrays": ()}, results)
        return replace(score, measures=self.mapping(score.measures), gates=self.value(score.gates))

    def _result_from_json(self, record: Mapping[str, Any]) -> FieldResult:
        status, reason = record["status"], record["reason"]
        gold, extracted = record.get("gold", MISSING), record.get("extracted", MISSING)
        types = self._type_of(gold), self._type_of(extracted)
        empty = reason is not None and status == "match" and _is_absent(gold) and _is_absent(extracted)
        return self.result((
            record["pattern"], record["metric"], status, record["score"], record["passed"], record["weight"], types,
            reason if empty else None,
        ))  # fmt: skip

    def _type_of(self, value: Json | Missing) -> str:
        kind = type(value)
        name = self._types.get(kind)
        if name is None:
            name = self._types[kind] = json_type(value)
        return name


def _is_absent(value: Json | Missing) -> bool:
    return value is None or value is MISSING or value == []
