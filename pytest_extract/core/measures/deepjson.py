"""DeepJSONEval's three criteria (`utils.py: json_evaluation_new`): syntax, key match and strict."""

from __future__ import annotations

import json
from typing import Final

from pytest_extract.core.measures.base import Measure
from pytest_extract.core.measures.document_pair import DocumentPair
from pytest_extract.core.validate.validator import Validator
from pytest_extract.core.values import Json
from pytest_extract.lazy import dataclass

NO_PATTERN: Final = "No markdown style JSON Pattern found"
NO_JSON: Final = "Not a invalid JSON"
NO_MATCH: Final = "JSON output doesn't match the schema"
SCORED: Final = "Give score in 3 criteria"
_FENCE: Final = "```json"


@dataclass(frozen=True, slots=True, kw_only=True)
class DeepJsonScore:
    """The published numbers of one answer, each in [0, 1], with the published note."""

    format: int
    detailed: float
    strict: int
    note: str


def deepjson_measures(sides: DocumentPair) -> dict[str, float]:
    """Compute `syntax`, `key_match` and `strict` of one comparison."""
    return {measure.name: measure.function(sides) for measure in MEASURES}


def deepjson_text(model_output: object, gold: Json, schema: Json) -> DeepJsonScore:
    """Score a raw answer by the published protocol: the last ```json block or the bare text, not repaired."""
    if not isinstance(model_output, str):
        return DeepJsonScore(format=0, detailed=0.0, strict=0, note=NO_PATTERN)
    block = model_output.rpartition(_FENCE)[2].partition("```")[0]
    try:
        value = json.loads(block)
    except (ValueError, RecursionError):
        return DeepJsonScore(format=0, detailed=0.0, strict=0, note=NO_JSON)
    measures = deepjson_measures(DocumentPair(gold, value, Validator(schema)))
    if not measures["syntax"]:
        return DeepJsonScore(format=0, detailed=0.0, strict=0, note=NO_MATCH)
    return DeepJsonScore(format=1, detailed=measures["key_match"], strict=int(measures["strict"]), note=SCORED)


MEASURES: Final[tuple[Measure[[DocumentPair]], ...]] = (
    Measure(
        name="syntax",
        function=lambda sides: 1.0 if sides.valid else 0.0,
        doc="1 where the output satisfies the schema.",
        systems=("deepjsoneval",),
    ),
    Measure(
        name="key_match",
        function=lambda sides: sides.key_match if sides.valid else 0.0,
        doc="Share of matching keys, level by level, of an output that satisfies the schema.",
        systems=("deepjsoneval",),
    ),
    Measure(
        name="strict",
        function=lambda sides: 1.0 if sides.valid and sides.equal else 0.0,
        doc="1 where an output that satisfies the schema equals the gold.",
        systems=("deepjsoneval",),
    ),
)
