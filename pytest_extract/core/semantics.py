"""The named ways of scoring: one frozen value each, never a second code path (scoring.md, part A)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, Literal

from pytest_extract.core.metrics.base import SemanticsName


@dataclass(frozen=True, slots=True, kw_only=True)
class Semantics:
    """What differs between the systems, and nothing else.

    nulls: `absent` counts null (and `[]` on an array) as not there; `value` keeps null as a value.
    defaults: metric of a leaf without one, by JSON type; a type that is left out is not scored; empty: such a leaf
        is a configuration error.
    objects_array, scalars_array: alignment of an array without one.
    array_result: whether an array gives a field result, and which number it scores.
    array_threshold: the array's field result passes at this score.
    undeclared: whether a key that the schema does not declare is a hallucination.
    both_absent: whether agreeing on absence is a passed field result or only counted as vacuous.
    empty_subtree: whether null or `{}` of an object against a missing one costs nothing.
    pair_objective: what best fit maximises over the pairs of an array.
    empty_rate: pass rate and mean score where no field was evaluated.
    gated: whether the root and the schema gate count in a call that names the semantics and says nothing of gates; the
        published programs have neither.
    """

    name: SemanticsName
    nulls: Literal["absent", "value"]
    defaults: Mapping[str, str]
    objects_array: Literal["best_fit", "judge", "position"]
    scalars_array: Literal["multiset", "judge", "position"]
    array_result: Literal["f1", "recall"] | None
    array_threshold: float
    undeclared: bool
    both_absent: Literal["vacuous", "passed"]
    empty_subtree: Literal["omission", "free"]
    pair_objective: Literal["mean", "f1"]
    empty_rate: float = 1.0
    gated: bool = True


OURS: Final = Semantics(
    name="ours",
    nulls="absent",
    defaults=MappingProxyType(
        {"string": "text", "number": "number", "integer": "integer", "boolean": "boolean", "null": "exact"}
    ),
    objects_array="best_fit",
    scalars_array="multiset",
    array_result="f1",
    array_threshold=1.0,
    undeclared=True,
    both_absent="vacuous",
    empty_subtree="omission",
    pair_objective="mean",
)
EXTRACT_BENCH: Final = Semantics(
    name="extract-bench",
    nulls="absent",
    defaults=MappingProxyType(
        {
            "string": "string_semantic",
            "number": "number_tolerance",
            "integer": "integer_exact",
            "boolean": "boolean_exact",
        }
    ),
    objects_array="judge",
    scalars_array="judge",
    array_result="recall",
    array_threshold=0.7,
    undeclared=False,
    both_absent="passed",
    empty_subtree="omission",
    pair_objective="mean",
    empty_rate=0.0,
    gated=False,
)
STRUCT_EXTRACT_EVAL: Final = Semantics(
    name="struct-extract-eval",
    nulls="value",
    defaults=MappingProxyType({}),
    objects_array="position",
    scalars_array="position",
    array_result=None,
    array_threshold=1.0,
    undeclared=True,
    both_absent="vacuous",
    empty_subtree="free",
    pair_objective="f1",
    gated=False,
)
SEMANTICS: Final[Mapping[SemanticsName, Semantics]] = MappingProxyType(
    {"ours": OURS, "extract-bench": EXTRACT_BENCH, "struct-extract-eval": STRUCT_EXTRACT_EVAL}
)
