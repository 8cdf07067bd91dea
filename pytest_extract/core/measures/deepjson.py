"""DeepJSONEval's three criteria (`utils.py: json_evaluation_new`): syntax, key match and strict."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass
from typing import Final

from pytest_extract.core.measures.base import DocumentPair, DocumentSchema, Measure
from pytest_extract.core.values import MISSING, Json, Missing, canonical_json

NO_PATTERN: Final = "No markdown style JSON Pattern found"
NO_JSON: Final = "Not a invalid JSON"
NO_MATCH: Final = "JSON output doesn't match the schema"
SCORED: Final = "Give score in 3 criteria"
_FENCE: Final = "```json"


@dataclass(frozen=True, slots=True, kw_only=True)
class DeepJsonScore:
    """The published numbers of one answer, each in [0, 1], with the published note."""

    note: str
    format: int = 0
    detailed: float = 0.0
    strict: int = 0


def deepjson_measures(sides: DocumentPair) -> dict[str, float]:
    """Return the measures of one comparison by name."""
    if not sides.valid:
        return {"syntax": 0.0, "key_match": 0.0, "strict": 0.0}
    return {"syntax": 1.0, "key_match": key_match(sides.gold, sides.extracted), "strict": float(sides.equal)}


def key_match(gold: Json, value: Json | Missing) -> float:
    """Compare level by level, each key of a level weighing the same; a null gold never matches.

    Lists of objects go by index over the longer length, other lists by the Jaccard index of their sets; where these
    hold lists or objects (the published program raises), by that of their multisets of canonical JSON.
    """
    if isinstance(gold, dict) and isinstance(value, dict):
        if not gold:
            return 0.0 if value else 1.0
        scores = [key_match(own, value.get(name, MISSING)) for name, own in gold.items()]
        return sum(scores) / len(gold.keys() | value.keys())
    if not (isinstance(gold, list) and isinstance(value, list)):
        return float(gold is not None and gold == value)
    if not all(isinstance(row, dict) for row in gold):
        try:
            one, other = set(gold), set(value)
        except TypeError:
            ours, theirs = Counter(map(canonical_json, gold)), Counter(map(canonical_json, value))
            return (ours & theirs).total() / (ours | theirs).total()
        return len(one & other) / len(one | other)
    if not gold:
        return 0.0 if value else 1.0
    if not all(isinstance(row, dict) for row in value):
        return 0.0
    return sum(map(key_match, gold, value)) / max(len(gold), len(value))


def deepjson_text(model_output: object, gold: Json, schema: Json) -> DeepJsonScore:
    """Score a raw answer by the published protocol: the last ```json block or the bare text, not repaired."""
    if not isinstance(model_output, str):
        return DeepJsonScore(note=NO_PATTERN)
    block = model_output.rpartition(_FENCE)[2].partition("```")[0]
    try:
        value = json.loads(block)
    except (ValueError, RecursionError):
        return DeepJsonScore(note=NO_JSON)
    measures = deepjson_measures(DocumentPair(gold, value, DocumentSchema(schema)))
    if not measures["syntax"]:
        return DeepJsonScore(note=NO_MATCH)
    return DeepJsonScore(format=1, detailed=measures["key_match"], strict=int(measures["strict"]), note=SCORED)


MEASURES: Final = (
    Measure("syntax", "1 where the output satisfies the schema.", ("deepjsoneval",)),
    Measure(
        "key_match",
        "Share of matching keys, level by level, of an output that satisfies the schema.",
        ("deepjsoneval",),
    ),
    Measure("strict", "1 where an output that satisfies the schema equals the gold.", ("deepjsoneval",)),
)
