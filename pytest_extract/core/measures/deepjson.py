"""DeepJSONEval's three criteria (`utils.py: json_evaluation_new`): syntax, key match and strict."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass
from typing import Final

from pytest_extract.core.measures.base import Measure
from pytest_extract.core.measures.document_pair import DocumentPair
from pytest_extract.core.validate.validator import Validator
from pytest_extract.core.values import MISSING, Json, canonical_json

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


def key_match(gold: Json, value: Json) -> float:
    """Compare two values level by level, each key of a level weighing the same; a null gold never matches.

    Lists of objects go by index over the longer length, other lists by the Jaccard index of their sets; where these
    hold lists or objects (the published program raises), by that of their multisets of canonical JSON.
    """
    kind = type(gold)
    if kind is dict:
        return _match_objects(gold, value)
    if kind is list:
        return _match_lists(gold, value)
    return 1.0 if gold is not None and gold == value else 0.0


def _match_objects(gold: dict[str, Json], value: Json) -> float:
    if type(value) is not dict:
        return 0.0
    if not gold:
        return 0.0 if value else 1.0
    total = 0.0
    shared = 0
    for name, expected in gold.items():
        found = value.get(name, MISSING)
        if found is MISSING:
            continue
        shared += 1
        kind = type(expected)
        if kind is dict or kind is list:
            total += key_match(expected, found)
        elif expected is not None and expected == found:
            total += 1.0
    return total / (len(gold) + len(value) - shared)


def _match_lists(gold: list[Json], value: Json) -> float:
    if type(value) is not list:
        return 0.0
    if not gold:
        return 0.0 if value else 1.0
    if all(type(item) is dict for item in gold):
        if not all(type(item) is dict for item in value):
            return 0.0
        return sum(map(_match_objects, gold, value)) / max(len(gold), len(value))
    try:
        one, other = set(gold), set(value)
    except TypeError:
        return _jaccard_of_texts(gold, value)
    return len(one & other) / len(one | other)


def _jaccard_of_texts(gold: list[Json], value: list[Json]) -> float:
    one, other = Counter(map(canonical_json, gold)), Counter(map(canonical_json, value))
    return (one & other).total() / (one | other).total()


MEASURES: Final[tuple[Measure[[DocumentPair]], ...]] = (
    Measure(
        name="syntax",
        function=lambda sides: 1.0 if sides.valid else 0.0,
        doc="1 where the output satisfies the schema.",
        systems=("deepjsoneval",),
    ),
    Measure(
        name="key_match",
        function=lambda sides: key_match(sides.gold, sides.extracted) if sides.valid else 0.0,
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
