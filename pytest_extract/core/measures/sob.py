"""SOB's measures (`evaluate.py` of the Structured Output Benchmark): a row of numbers for a record, oddities included.

Schema compliance multiplies every content measure (hardening); a coverage gate multiplies value accuracy and
faithfulness.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from pytest_extract.core.complexity import WEIGHTS
from pytest_extract.core.gates import CoverageGate, coverage_gate
from pytest_extract.core.measures.base import Measure
from pytest_extract.core.measures.document_pair import DocumentPair

_new: Final = tuple.__new__


class SobMeasures(NamedTuple):
    """The measures of one comparison, in the order of `MEASURES`, whose rows tell what each is."""

    json_parse: float
    json_pass: float
    value_accuracy: float
    faithfulness: float
    path_recall: float
    structure_coverage: float
    type_safety: float
    perfect: float
    required_key_recall: float


def sob_measures(sides: DocumentPair, gate: CoverageGate) -> SobMeasures:
    """Compute the SOB measures of one comparison under one coverage gate."""
    counts, structure_coverage = sides.counts, sides.coverage
    expected, found, shared, equal, *_ = counts
    json_parse = 1.0 if sides.structured else 0.0
    json_pass = 1.0 if sides.valid_draft7 else 0.0
    content = json_pass * gate.factor(structure_coverage)
    value_accuracy = content * (equal / expected if expected else 1.0)
    faithfulness = content * (counts.tokens / expected if expected else 1.0)
    path_recall = json_pass * (shared / expected if expected else 0.0)
    structure_coverage *= json_pass
    type_safety = json_pass * (counts.typed / found if found else 0.0)
    perfect = 1.0 if sides.identical else 0.0
    required_key_recall = _required_recall(sides)
    measures = (
        json_parse, json_pass, value_accuracy, faithfulness, path_recall, structure_coverage, type_safety, perfect,
        required_key_recall,
    )  # fmt: skip
    return _new(SobMeasures, measures)


def _required_recall(sides: DocumentPair) -> float:
    if not sides.structured or not sides.validator.valid_schema_draft7:
        return 0.0
    required = sides.declared.required_paths
    return 1.0 - len(sides.missing_required) / required if required else 1.0


MEASURES: Final = (
    Measure(
        name="json_parse",
        doc="1 where the output is a JSON object or array.",
        systems=("sob",),
        column="json_parse_success",
    ),
    Measure(
        name="json_pass",
        doc="1 where the output satisfies the schema under Draft 7.",
        systems=("sob",),
        column="schema_compliance",
    ),
    Measure(
        name="value_accuracy",
        doc="Equal leaves / gold leaves, under the schema and coverage gates.",
        systems=("sob",),
        column="leaf_value_em",
    ),
    Measure(
        name="faithfulness",
        doc="Mean token F1 of the gold leaves, under the schema and coverage gates.",
        systems=("sob",),
        column="value_token_f1",
    ),
    Measure(
        name="path_recall",
        doc="Gold paths that the output has / gold paths, under the schema gate.",
        systems=("sob",),
        column="hier_path_recall",
    ),
    Measure(
        name="structure_coverage",
        doc="F1 of the two sets of leaf paths, under the schema gate.",
        systems=("sob",),
        column="path_set_f1",
    ),
    Measure(
        name="type_safety",
        doc="Output leaves of the declared type / output leaves, under the schema gate.",
        systems=("sob",),
        column="type_precision",
    ),
    Measure(
        name="perfect",
        doc="1 where the output is the gold but for the order of keys.",
        systems=("sob",),
        column="strict_json_em",
    ),
    Measure(
        name="required_key_recall",
        doc="Required keys that the output has / required keys.",
        systems=("sob",),
        column="required_key_recall",
    ),
)

PUBLISHED_NAMES: Final[Mapping[str, str]] = {
    measure.name: measure.column for measure in MEASURES if measure.column is not None
}
"""Our name of a measure -> the column of a published row."""


def published_row(sides: DocumentPair, metadata: Mapping[str, Any], modality: str = "text") -> dict[str, Any]:
    """Return the row that the published program writes for a record with this metadata."""
    measures = sob_measures(sides, coverage_gate(modality))._asdict()
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
