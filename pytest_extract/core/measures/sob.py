"""SOB's measures (`evaluate.py` of the Structured Output Benchmark): a row of numbers for a record, oddities included.

Schema compliance multiplies every content measure (hardening); a coverage gate multiplies value accuracy and
faithfulness.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from pytest_extract.core.complexity import WEIGHTS
from pytest_extract.core.gates import CoverageGate, coverage_gate
from pytest_extract.core.measures.sides import Sides
from pytest_extract.core.validate.validator import Validator
from pytest_extract.core.values import Json, Missing

PUBLISHED_NAMES: Final[Mapping[str, str]] = {
    "json_parse": "json_parse_success",
    "json_pass": "schema_compliance",
    "value_accuracy": "leaf_value_em",
    "faithfulness": "value_token_f1",
    "path_recall": "hier_path_recall",
    "structure_coverage": "path_set_f1",
    "type_safety": "type_precision",
    "required_key_recall": "required_key_recall",
    "perfect": "strict_json_em",
}
"""Our name of a measure -> the column of a published row."""


def sob_measures(
    gold: Json,
    extracted: Json | Missing,
    validator: Validator,
    modality: str = "text",
    *,
    coverage: CoverageGate | None = None,
    sides: Sides | None = None,
) -> dict[str, float]:
    """Measures of contract section 6 that come from SOB, each in [0, 1].

    `coverage` takes the place of the modality's own coverage gate; `sides` shares work with the other measures.
    """
    both = sides or Sides(gold, extracted, validator)
    return measures_of(both, coverage or coverage_gate(modality))


def measures_of(sides: Sides, gate: CoverageGate) -> dict[str, float]:
    """Compute the SOB measures of one comparison under one coverage gate."""
    counts = sides.counts
    hardening = 1.0 if sides.valid_draft7 else 0.0
    factor = hardening * gate.factor(sides.coverage)
    return {
        "json_parse": 1.0 if sides.structured else 0.0,
        "json_pass": hardening,
        "value_accuracy": factor * _share(counts.equal, counts.expected, empty=1.0),
        "faithfulness": factor * _share(counts.tokens, counts.expected, empty=1.0),
        "path_recall": hardening * _share(counts.shared, counts.expected),
        "structure_coverage": hardening * sides.coverage,
        "type_safety": hardening * _share(counts.typed, counts.found),
        "perfect": 1.0 if sides.identical else 0.0,
        "required_key_recall": _required_recall(sides),
    }


def _share(part: float, whole: int, *, empty: float = 0.0) -> float:
    return part / whole if whole else empty


def _required_recall(sides: Sides) -> float:
    if not sides.structured or not sides.validator.valid_schema_draft7:
        return 0.0
    required = {path for path, _ in sides.declared.required}
    return 1.0 - len(sides.missing_required) / len(required) if required else 1.0


def published_row(sides: Sides, metadata: Mapping[str, Any], modality: str = "text") -> dict[str, Any]:
    """Return the row that the published program writes for a record with this metadata."""
    measures = measures_of(sides, coverage_gate(modality))
    row: dict[str, Any] = {"record_id": metadata.get("record_id", ""), "model_id": metadata.get("model_id", "unknown")}
    row.update(difficulty_columns(metadata))
    row["json_root_structured"] = measures["json_parse"]
    row["schema_valid_input"] = 1.0 if sides.validator.valid_schema_draft7 else 0.0
    row.update({column: measures[name] for name, column in PUBLISHED_NAMES.items()})
    return row


def difficulty_columns(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Columns about difficulty: the first of `schema_complexity`, `difficulty` that is easy, medium or hard weighs."""
    known = [(name, metadata.get(name)) for name in ("schema_complexity", "difficulty")]
    basis, difficulty = next(
        ((name, level) for name, level in known if isinstance(level, str) and level in WEIGHTS),
        ("unknown", "unknown"),
    )
    weight = WEIGHTS.get(difficulty, 0.0)
    return {
        "schema_complexity": metadata.get("schema_complexity") or "unknown",
        "question_difficulty": metadata.get("difficulty") or "unknown",
        "difficulty": difficulty,
        "weighting_basis": basis,
        "difficulty_weight": weight,
        "known_difficulty": 1.0 if weight else 0.0,
    }
