"""SOB's measures (`evaluate.py` of the Structured Output Benchmark): a row of numbers for a record, oddities included.

Schema compliance multiplies every content measure (hardening); a coverage gate multiplies value accuracy and
faithfulness. Beside them DeepJSONEval's three criteria (`utils.py: json_evaluation_new`): syntax, key match and strict.
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass
from typing import Final

from pytest_extract.core.gates import CoverageGate
from pytest_extract.core.measures.base import DocumentPair, DocumentSchema
from pytest_extract.core.values import MISSING, Json, Missing, canonical_json
from pytest_extract.lazy import lazy_pattern

_WORD: Final = lazy_pattern(r"\w+")
_ARTICLES: Final = ("a", "an", "the")


def sob_measures(sides: DocumentPair, gate: CoverageGate) -> dict[str, float]:
    """Return the SOB measures of one comparison under one coverage gate by name."""
    wanted, found = sides.wanted.values, sides.found.values
    pairs = [(value, found.get(path, MISSING)) for path, value in wanted.items()]
    json_pass = 1.0 if sides.valid_draft7 else 0.0
    content = json_pass * gate.factor(sides.coverage)
    equal = sum([one == other for one, other in pairs])
    required = len({*sides.schema.required})
    key_recall = 1.0 - len(sides.missing_required) / required if required else 1.0
    tokens = sum([token_f1(one, None if other is MISSING else other) for one, other in pairs])
    return {
        "json_parse": 1.0 if sides.structured else 0.0,
        "json_pass": json_pass,
        "value_accuracy": content * (equal / len(wanted) if wanted else 1.0),
        "faithfulness": content * (tokens / len(wanted) if wanted else 1.0),
        "path_recall": json_pass * (sides.shared / len(wanted) if wanted else 0.0),
        "structure_coverage": json_pass * sides.coverage,
        "type_safety": json_pass * (sides.schema.count_typed(sides.found) / len(found) if found else 0.0),
        "perfect": 1.0 if sides.identical else 0.0,
        "required_key_recall": key_recall if sides.structured and sides.schema.validator.valid_schema_draft7 else 0.0,
    }


def token_f1(gold: Json, value: Json) -> float:
    """F1 of the two multisets of words; 1 when neither has any, 0 when one has none."""
    if gold == value and type(gold) is type(value):
        return 1.0
    expected, found = words(gold), words(value)
    both = expected.total() + found.total()
    if not expected or not found:
        return 0.0 if both else 1.0
    return 2 * (expected & found).total() / both


def words(value: Json) -> Counter[str]:
    """Count the words of a scalar, in lower case, without punctuation and English articles.

    Null reads "null", true "true", numbers as JSON writes them (2.5 is two words).
    """
    found = Counter(_WORD.findall((value if isinstance(value, str) else canonical_json(value)).lower()))
    for article in _ARTICLES:
        del found[article]
    return found


def document_measures(sides: DocumentPair, gate: CoverageGate) -> dict[str, float]:
    """Return SOB's nine measures and DeepJSONEval's three."""
    return sob_measures(sides, gate) | deepjson_measures(sides)


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
