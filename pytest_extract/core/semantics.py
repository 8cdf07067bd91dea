"""The named ways of scoring: one frozen set of policies each, never a second code path (scoring.md, part A)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
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

    nulls: Literal["absent", "value"]
    both_absent: Literal["vacuous", "passed"]
    default_metrics: Mapping[str, DefaultMetric]
    format_metrics: Mapping[str, DefaultMetric]
    enforce_types: bool

    undeclared_keys: Literal["compare", "hallucinate", "ignore"]
    bare_object: Literal["value", "object"]
    object_metrics: Literal["replace", "add"]
    missing_container: Literal["whole", "leaves"]
    empty_subtree: Literal["omission", "free"]

    objects_array: Literal["best_fit", "judge", "position"]
    scalars_array: Literal["multiset", "judge", "position"]
    bare_array: Literal["value", "rows"]
    array_metrics: Literal["replace", "add"]
    default_array_metric: str | None
    array_result: Literal["f1", "recall"] | None
    array_threshold: float
    repeated_keys: Literal["best_fit", "first"]
    pair_objective: Literal["mean", "f1"]

    nullable_containers: bool
    union_fields: bool
    skipped_container: Literal["all", "as_property", "own_metrics"]

    empty_rate: float
    gated: bool


_STRICT_URL: Final[Mapping[str, Json]] = {"ignore_scheme": False, "ignore_fragment": False}
DEFAULT: Final = Semantics(
    name="default",
    nulls="absent",
    both_absent="vacuous",
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
        "email": DefaultMetric("email"),
        "idn-email": DefaultMetric("email"),
        "uri": DefaultMetric("url", _STRICT_URL),
        "iri": DefaultMetric("url", _STRICT_URL),
        "url": DefaultMetric("url", _STRICT_URL),
        "hostname": DefaultMetric("string_case_insensitive"),
        "idn-hostname": DefaultMetric("string_case_insensitive"),
        "uuid": DefaultMetric("string_case_insensitive"),
    },
    enforce_types=False,
    undeclared_keys="compare",
    bare_object="value",
    object_metrics="replace",
    missing_container="whole",
    empty_subtree="omission",
    objects_array="best_fit",
    scalars_array="multiset",
    bare_array="rows",
    array_metrics="add",
    default_array_metric=None,
    array_result="f1",
    array_threshold=1.0,
    repeated_keys="best_fit",
    pair_objective="mean",
    nullable_containers=True,
    union_fields=True,
    skipped_container="all",
    empty_rate=1.0,
    gated=True,
)
EXTRACT_BENCH: Final = Semantics(
    name="extract-bench",
    nulls="absent",
    both_absent="passed",
    default_metrics={
        "string": DefaultMetric("string_semantic"),
        "number": DefaultMetric("number_tolerance", {"tolerance": 0.001}),
        "integer": DefaultMetric("integer_exact"),
        "boolean": DefaultMetric("boolean_exact"),
    },
    format_metrics={},
    enforce_types=True,
    undeclared_keys="ignore",
    bare_object="object",
    object_metrics="add",
    missing_container="whole",
    empty_subtree="omission",
    objects_array="judge",
    scalars_array="judge",
    bare_array="rows",
    array_metrics="add",
    default_array_metric="array_llm",
    array_result="recall",
    array_threshold=0.7,
    repeated_keys="best_fit",
    pair_objective="mean",
    nullable_containers=False,
    union_fields=False,
    skipped_container="own_metrics",
    empty_rate=0.0,
    gated=False,
)
STRUCT_EXTRACT_EVAL: Final = Semantics(
    name="struct-extract-eval",
    nulls="value",
    both_absent="vacuous",
    default_metrics={},
    format_metrics={},
    enforce_types=False,
    undeclared_keys="hallucinate",
    bare_object="value",
    object_metrics="replace",
    missing_container="leaves",
    empty_subtree="free",
    objects_array="position",
    scalars_array="position",
    bare_array="value",
    array_metrics="replace",
    default_array_metric=None,
    array_result=None,
    array_threshold=1.0,
    repeated_keys="first",
    pair_objective="f1",
    nullable_containers=True,
    union_fields=True,
    skipped_container="as_property",
    empty_rate=1.0,
    gated=False,
)
SEMANTICS: Final[Mapping[SemanticsName, Semantics]] = {
    each.name: each for each in (DEFAULT, EXTRACT_BENCH, STRUCT_EXTRACT_EVAL)
}
