"""SOB's measures (`evaluate.py` of the Structured Output Benchmark): a row of numbers for a record, oddities included.

Schema compliance multiplies every content measure (hardening); a coverage gate multiplies value accuracy and
faithfulness.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Final

from pytest_extract.core.gates import CoverageGate
from pytest_extract.core.measures.base import DocumentPair, Measure
from pytest_extract.core.values import MISSING, Json, canonical_json
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


MEASURES: Final = (
    Measure("json_parse", "1 where the output is a JSON object or array.", ("sob",), "json_parse_success"),
    Measure("json_pass", "1 where the output satisfies the schema under Draft 7.", ("sob",), "schema_compliance"),
    Measure(
        "value_accuracy", "Equal leaves / gold leaves, under the schema and coverage gates.", ("sob",), "leaf_value_em"
    ),
    Measure(
        "faithfulness",
        "Mean token F1 of the gold leaves, under the schema and coverage gates.",
        ("sob",),
        "value_token_f1",
    ),
    Measure(
        "path_recall",
        "Gold paths that the output has / gold paths, under the schema gate.",
        ("sob",),
        "hier_path_recall",
    ),
    Measure("structure_coverage", "F1 of the two sets of leaf paths, under the schema gate.", ("sob",), "path_set_f1"),
    Measure(
        "type_safety",
        "Output leaves of the declared type / output leaves, under the schema gate.",
        ("sob",),
        "type_precision",
    ),
    Measure("perfect", "1 where the output is the gold but for the order of keys.", ("sob",), "strict_json_em"),
    Measure(
        "required_key_recall", "Required keys that the output has / required keys.", ("sob",), "required_key_recall"
    ),
)

PUBLISHED_NAMES: Final[Mapping[str, str]] = {
    measure.name: measure.column for measure in MEASURES if measure.column is not None
}
"""Our name of a measure -> the column of a published row."""
