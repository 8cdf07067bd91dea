"""Metrics with a list of right readings."""

from __future__ import annotations

from collections.abc import Hashable, Mapping

from pytest_extract.core.metrics import equality
from pytest_extract.core.metrics import params as check
from pytest_extract.core.metrics.base import BoundMetric, Example, MetricSpec, Param, SemanticsName
from pytest_extract.core.values import Json


def _make_oneof(params: Mapping[str, Json], semantics: SemanticsName) -> BoundMetric:
    values = params["values"]
    equal = equality.python_equal if semantics == "struct-extract-eval" else equality.same

    def compare(gold: Json, extracted: Json) -> float:
        del gold
        return 1.0 if any(equal(value, extracted) for value in values) else 0.0

    return BoundMetric(
        name="oneof",
        compare=compare,
        params=params,
        reflexive=False,
        explain=lambda _gold, extracted: f"{equality.short(extracted)} is none of the {len(values)} values",
    )


def _make_oneof_with_gold(params: Mapping[str, Json], semantics: SemanticsName) -> BoundMetric:
    del semantics
    folded = equality.fold if params["case_sensitive"] else equality.fold_case

    def key(value: Json) -> Hashable:
        return folded(value) if isinstance(value, str) else equality.same_key(value)

    accepted = {key(value) for value in params["values"]}

    def compare(gold: Json, extracted: Json) -> float:
        found = key(extracted)
        return 1.0 if found == key(gold) or found in accepted else 0.0

    return BoundMetric(
        name="oneof_with_gold",
        compare=compare,
        params=params,
        explain=lambda _gold, extracted: (
            f"{equality.short(extracted)} is neither the gold value nor one of the {len(accepted)} others"
        ),
    )


_VALUES = Param(name="values", check=check.any_list, required=True, doc="the list of right values")

SPECS = (
    MetricSpec(
        name="oneof",
        make=_make_oneof,
        doc="struct-extract-eval: the extracted value is one of `values`. The gold is not looked at, as published; "
        "`oneof_with_gold` looks at it.",
        params=(_VALUES,),
        examples=(
            Example("CVD", "PVD", 1.0, {"values": ["PVD", "Sputtering"]}),
            Example("x", "x", 0.0, {"values": ["PVD"]}),
            Example(gold=1, extracted=True, score=0.0, params={"values": [1]}),
            Example(gold=1, extracted=True, score=1.0, params={"values": [1]}, semantics="struct-extract-eval"),
        ),
        symmetric=False,
    ),
    MetricSpec(
        name="oneof_with_gold",
        make=_make_oneof_with_gold,
        doc="The extracted value is the gold value or one of `values` (other right readings); strings after NFC, "
        "white space folding and casefold.",
        params=(
            _VALUES,
            Param(name="case_sensitive", check=check.boolean, default=False, doc="whether case counts"),
        ),
        examples=(
            Example("USA", "usa", 1.0, {"values": ["United States", "U.S."]}),
            Example("USA", "united states", 1.0, {"values": ["United States", "U.S."]}),
            Example("USA", "Canada", 0.0, {"values": ["United States", "U.S."]}),
        ),
        symmetric=False,
    ),
)
