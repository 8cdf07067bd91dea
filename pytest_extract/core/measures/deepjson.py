"""DeepJSONEval's three criteria (`utils.py: json_evaluation_new`): syntax, key match and strict."""

from __future__ import annotations

import json
from typing import Final, NamedTuple

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
_new: Final = tuple.__new__


@dataclass(frozen=True, slots=True, kw_only=True)
class DeepJsonScore:
    """The published numbers of one answer, each in [0, 1], with the published note."""

    format: int
    detailed: float
    strict: int
    note: str


class DeepJsonMeasures(NamedTuple):
    """The measures of one comparison, in the order of `MEASURES`, whose rows tell what each is."""

    syntax: float
    key_match: float
    strict: float


def deepjson_measures(sides: DocumentPair) -> DeepJsonMeasures:
    """Compute the measures of one comparison."""
    if not sides.valid:
        return _NOT_VALID
    return _new(DeepJsonMeasures, (1.0, sides.key_match, float(sides.equal)))


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
    if not measures.syntax:
        return DeepJsonScore(format=0, detailed=0.0, strict=0, note=NO_MATCH)
    return DeepJsonScore(format=1, detailed=measures.key_match, strict=int(measures.strict), note=SCORED)


_NOT_VALID: Final = DeepJsonMeasures(syntax=0.0, key_match=0.0, strict=0.0)

MEASURES: Final = (
    Measure(
        name="syntax",
        doc="1 where the output satisfies the schema.",
        systems=("deepjsoneval",),
    ),
    Measure(
        name="key_match",
        doc="Share of matching keys, level by level, of an output that satisfies the schema.",
        systems=("deepjsoneval",),
    ),
    Measure(
        name="strict",
        doc="1 where an output that satisfies the schema equals the gold.",
        systems=("deepjsoneval",),
    ),
)
