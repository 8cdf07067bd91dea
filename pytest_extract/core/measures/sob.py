"""SOB's measures (`evaluate.py` of the Structured Output Benchmark): a row of numbers for a record, oddities included.

Schema compliance multiplies every content measure (hardening); a coverage gate multiplies value accuracy and
faithfulness.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from typing import Any, Final

from pytest_extract.core.gates import CoverageGate, coverage_gate
from pytest_extract.core.measures.leaves import missing_required
from pytest_extract.core.measures.sides import Sides
from pytest_extract.core.validate import Validator
from pytest_extract.core.values import MISSING, Json, Missing

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

DIFFICULTY_WEIGHTS: Final[Mapping[str, float]] = {"easy": 1.0, "medium": 2.0, "hard": 3.0}

_PUNCTUATION = re.compile(r"[^\w\s]")
_ARTICLES = re.compile(r"\b(?:a|an|the)\b")
_PLAIN_WORD = re.compile(r"[^\W_]+")


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
    hardening = 1.0 if sides.valid_draft7 else 0.0
    factor = hardening * gate.factor(sides.coverage) if hardening else 0.0
    exact, tokens = _content(sides) if factor else (0.0, 0.0)
    expected, found = sides.gold_leaves, sides.found if hardening else None
    return {
        "json_parse": 1.0 if sides.structured else 0.0,
        "json_pass": hardening,
        "value_accuracy": exact * factor,
        "faithfulness": tokens * factor,
        "path_recall": sides.shared / len(expected) if hardening and expected else 0.0,
        "structure_coverage": sides.coverage if hardening else 0.0,
        "type_safety": found.typed / len(found.values) if found and found.values else 0.0,
        "perfect": 1.0 if sides.identical else 0.0,
        "required_key_recall": _required_recall(sides),
    }


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
        ((name, level) for name, level in known if isinstance(level, str) and level in DIFFICULTY_WEIGHTS),
        ("unknown", "unknown"),
    )
    weight = DIFFICULTY_WEIGHTS.get(difficulty, 0.0)
    return {
        "schema_complexity": metadata.get("schema_complexity") or "unknown",
        "question_difficulty": metadata.get("difficulty") or "unknown",
        "difficulty": difficulty,
        "weighting_basis": basis,
        "difficulty_weight": weight,
        "known_difficulty": 1.0 if weight else 0.0,
    }


def missing_paths(sides: Sides) -> tuple[list[str], list[str]]:
    """Paths of gold leaves that the output lacks, and required paths that it lacks, as SOB lists them for images."""
    found = sides.found.values if sides.structured else {}
    lacking = sorted(path for path in sides.gold_leaves if path not in found)
    required = sides.declared.required
    if not sides.structured or not sides.validator.valid_schema_draft7:
        return lacking, [path for path, _ in required]
    return lacking, missing_required(sides.extracted, sides.declared)


def _required_recall(sides: Sides) -> float:
    if not sides.structured or not sides.validator.valid_schema_draft7:
        return 0.0
    required = {path for path, _ in sides.declared.required}
    if not required:
        return 1.0
    return 1.0 - len(set(missing_required(sides.extracted, sides.declared))) / len(required)


def _content(sides: Sides) -> tuple[float, float]:
    """Share of gold leaves with an equal value at their path, and their mean token F1 (a missing leaf reads "null")."""
    expected, found = sides.gold_leaves, sides.found.values
    equal = 0
    tokens = 0.0
    for path, gold in expected.items():
        value = found.get(path, MISSING)
        if value is MISSING:
            tokens += token_f1(gold, None)
        elif value == gold:
            equal += 1
            tokens += 1.0 if type(value) is type(gold) else token_f1(gold, value)
        else:
            tokens += token_f1(gold, value)
    count = len(expected)
    return (equal / count, tokens / count) if count else (1.0, 1.0)


def token_f1(gold: Json, value: Json) -> float:
    """F1 of the two multisets of words; 1 when neither has any, 0 when one has none."""
    if type(gold) is str and type(value) is str and _PLAIN_WORD.fullmatch(gold) and _PLAIN_WORD.fullmatch(value):
        one, other = gold.lower(), value.lower()
        if one == other:
            return 1.0
    expected, found = words(gold), words(value)
    if not expected or not found:
        return 1.0 if not expected and not found else 0.0
    shared = (Counter(expected) & Counter(found)).total()
    return 2 * shared / (len(expected) + len(found)) if shared else 0.0


def words(value: Json) -> list[str]:
    """Words of a leaf: lower case, no punctuation, no articles; null reads "null", numbers as Python writes them."""
    if value is None:
        text = "null"
    elif isinstance(value, bool):
        text = "true" if value else "false"
    else:
        text = _text(value).lower()
    return _ARTICLES.sub(" ", _PUNCTUATION.sub(" ", text)).split()


def _text(value: Json) -> str:
    try:
        return str(value)
    except ValueError:  # more digits than Python writes in decimal
        return hex(value)
