"""The named ways of scoring: one frozen set of policies each, never a second code path (scoring.md, part A)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Literal, NamedTuple

from pytest_extract.core.metrics.base import SemanticsName
from pytest_extract.core.values import Json


class DefaultMetric(NamedTuple):
    """The metric of a leaf that names none, with its parameters."""

    name: str
    params: Mapping[str, Json] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class Semantics:
    """All that differs between the systems, one policy a field. Code asks for a policy, never for the name.

    What a system does not say, it does as `default`.

    Leaves
        nulls: `absent` counts null (and `[]` on an array) as missing; `value` keeps null as a value.
        both_absent: a place that both sides lack is a passed field result, or only counted as vacuous.
        default_metrics: metric of a leaf without one, by JSON type. A type that is not listed is not scored; an empty
            table makes such a leaf a configuration error.
        format_metrics: metric of a text without one by the schema's `format`; formats that are not listed choose none.
        enforce_types: a value of another type than the schema declares is a mismatch, whatever the metric says.
    Objects
        undeclared_keys: a key that the schema does not declare is compared with gold's, is a hallucination (also where
            `additionalProperties` is a schema), or is ignored.
        bare_object: an object without declared properties is compared as one value, or is an object without fields.
        object_metrics: metrics on an object replace its properties, or add to them.
        missing_container: a container with metrics of its own that one side lacks is one result, or one a leaf.
        empty_subtree: null or `{}` of an object against a missing one is an omission, or costs nothing (`free`).
    Arrays
        objects_array, scalars_array: alignment of an array that names none.
        bare_array: an array whose `items` say nothing is compared as one value, or row by row.
        array_metrics: metrics on an array replace its alignment, or add to one that the schema names.
        default_array_metric: the judging metric of an array that names none.
        array_result: the number that an array's own field result scores; None: an array has no result.
        array_threshold: the array's field result passes at this score.
        repeated_keys: rows of one key are paired by best fit, or only the first row of a key is paired, and rows with
            unusable keys are not.
        pair_objective: what best fit maximises over the pairs of an array.
    Unions and skipped places
        nullable_containers: an object or array in a type list or a union (`null` counts) has the rules of containers.
        union_fields: what is inside a union gives field results, not only leaf results. Where results need not be as
            published (`compile_schema`), it does under every semantics.
        skipped_container: `x-eval-skip` and the like leave out all below a place; only where it is a property (as a row
            or as the root it is scored); or only the metrics of an object itself, whose properties are scored.
    Documents
        empty_rate: pass rate and mean score where no field was evaluated.
        gated: the root and the schema gate count in a call that names the semantics and no gates; the published
            programs have neither.
    """

    name: SemanticsName

    nulls: Literal["absent", "value"] = "absent"
    both_absent: Literal["vacuous", "passed"] = "vacuous"
    default_metrics: Mapping[str, DefaultMetric] = field(default_factory=dict)
    format_metrics: Mapping[str, DefaultMetric] = field(default_factory=dict)
    enforce_types: bool = False

    undeclared_keys: Literal["compare", "hallucinate", "ignore"] = "compare"
    bare_object: Literal["value", "object"] = "value"
    object_metrics: Literal["replace", "add"] = "replace"
    missing_container: Literal["whole", "leaves"] = "whole"
    empty_subtree: Literal["omission", "free"] = "omission"

    objects_array: Literal["best_fit", "judge", "position"] = "best_fit"
    scalars_array: Literal["multiset", "judge", "position"] = "multiset"
    bare_array: Literal["value", "rows"] = "rows"
    array_metrics: Literal["replace", "add"] = "add"
    default_array_metric: str | None = None
    array_result: Literal["f1", "recall"] | None = "f1"
    array_threshold: float = 1.0
    repeated_keys: Literal["best_fit", "first"] = "best_fit"
    pair_objective: Literal["mean", "f1"] = "mean"

    nullable_containers: bool = True
    union_fields: bool = True
    skipped_container: Literal["all", "as_property", "own_metrics"] = "all"

    empty_rate: float = 1.0
    gated: bool = False


_STRICT_URL: Final = DefaultMetric("url", {"ignore_scheme": False, "ignore_fragment": False})
_ANY_CASE: Final = DefaultMetric("string_case_insensitive")
DEFAULT: Final = Semantics(
    name="default",
    default_metrics={
        "string": DefaultMetric("text"),
        "number": DefaultMetric("number"),
        "integer": DefaultMetric("integer"),
        "boolean": DefaultMetric("boolean"),
        "null": DefaultMetric("exact"),
    },
    format_metrics={
        "date": DefaultMetric("date"),
        "date-time": DefaultMetric("date", {"time": True}),
        **dict.fromkeys(("email", "idn-email"), DefaultMetric("email")),
        **dict.fromkeys(("uri", "iri", "url"), _STRICT_URL),
        **dict.fromkeys(("hostname", "idn-hostname", "uuid"), _ANY_CASE),
    },
    gated=True,
)
EXTRACT_BENCH: Final = Semantics(
    name="extract-bench",
    both_absent="passed",
    default_metrics={
        "string": DefaultMetric("string_semantic"),
        "number": DefaultMetric("number_tolerance", {"tolerance": 0.001}),
        "integer": DefaultMetric("integer_exact"),
        "boolean": DefaultMetric("boolean_exact"),
    },
    enforce_types=True,
    undeclared_keys="ignore",
    bare_object="object",
    object_metrics="add",
    objects_array="judge",
    scalars_array="judge",
    default_array_metric="array_llm",
    array_result="recall",
    array_threshold=0.7,
    nullable_containers=False,
    union_fields=False,
    skipped_container="own_metrics",
    empty_rate=0.0,
)
STRUCT_EXTRACT_EVAL: Final = Semantics(
    name="struct-extract-eval",
    nulls="value",
    undeclared_keys="hallucinate",
    missing_container="leaves",
    empty_subtree="free",
    objects_array="position",
    scalars_array="position",
    bare_array="value",
    array_metrics="replace",
    array_result=None,
    repeated_keys="first",
    pair_objective="f1",
    skipped_container="as_property",
)
SEMANTICS: Final[Mapping[SemanticsName, Semantics]] = {
    each.name: each for each in (DEFAULT, EXTRACT_BENCH, STRUCT_EXTRACT_EVAL)
}
