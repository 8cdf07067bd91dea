"""Metrics with a list: of right readings, or of scalars that are one value whatever their order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from typing import Any

from pytest_extract.core.metrics import equality
from pytest_extract.core.metrics import params as check
from pytest_extract.core.metrics.base import BoundMetric, Example, MetricSpec, Param, Params, SemanticsName
from pytest_extract.core.metrics.exact import MEASURES, bag_metric, equal_keys
from pytest_extract.core.values import Json


def _item_key(params: Params) -> Callable[[Json], Hashable]:
    folded = equality.folding(case_sensitive=params["case_sensitive"])
    return lambda item: folded(item) if isinstance(item, str) else equality.same_key(item)


def _make_oneof(params: Params, semantics: SemanticsName) -> BoundMetric:
    values = params["values"]
    equal = equality.python_equal if semantics == "struct-extract-eval" else equality.same

    def compare(_gold: Json, extracted: Json) -> float:
        return 1.0 if any(equal(value, extracted) for value in values) else 0.0

    def explain(_gold: Json, extracted: Json) -> str:
        return f"{equality.short(extracted)} is none of the {len(values)} values"

    return BoundMetric(compare=compare, explain=explain, reflexive=False)


def _make_oneof_with_gold(params: Params, _semantics: SemanticsName) -> BoundMetric:
    key = _item_key(params)
    accepted = {key(value) for value in params["values"]}

    def compare(gold: Json, extracted: Json) -> float:
        return 1.0 if key(extracted) in accepted or key(extracted) == key(gold) else 0.0

    def explain(_gold: Json, extracted: Json) -> str:
        return f"{equality.short(extracted)} is neither the gold value nor one of the {len(accepted)} others"

    def matrix(gold: Sequence[Json], extracted: Sequence[Json]) -> Any:
        theirs = [*map(key, extracted)]
        scores = equal_keys(map(key, gold), theirs)
        scores[:, [other in accepted for other in theirs]] = 1.0
        return scores

    return BoundMetric(compare=compare, explain=explain, matrix=matrix)


def _bag_metric(*, repeats: bool) -> Callable[[Params, SemanticsName], BoundMetric]:
    def make(params: Params, _semantics: SemanticsName) -> BoundMetric:
        key, measure, separator = _item_key(params), MEASURES[params["measure"]], params["separator"]

        def read(value: Json) -> Counter[Hashable]:
            if isinstance(value, str) and separator is not None:
                value = [part for part in (item.strip() for item in value.split(separator)) if part]
            items = value if isinstance(value, list) else [] if value is None else [value]
            keys = [*map(key, items)]
            return Counter(keys if repeats else set(keys))

        return bag_metric(read, measure, float(params["threshold"]))

    return make


_VALUES = Param(name="values", check=check.any_list, required=True, doc="the list of right values")

_OF_SETS = (
    check.threshold(1.0),
    check.any_of("measure", tuple(MEASURES), "the score: f1, jaccard, recall or precision of the items"),
    check.switch("case_sensitive", "whether case counts", default=True),
    Param(name="separator", check=check.text, doc='a string value is split here ("," or ";")'),
)

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
    ),
    MetricSpec(
        name="oneof_with_gold",
        make=_make_oneof_with_gold,
        doc="The extracted value is the gold value or one of `values` (other right readings); strings after NFC, "
        "white space folding and casefold.",
        params=(
            _VALUES,
            check.switch("case_sensitive", "whether case counts"),
        ),
        examples=(
            Example("USA", "usa", 1.0, {"values": ["United States", "U.S."]}),
            Example("USA", "united states", 1.0, {"values": ["United States", "U.S."]}),
            Example("USA", "Canada", 0.0, {"values": ["United States", "U.S."]}),
        ),
    ),
    MetricSpec(
        name="set",
        make=_bag_metric(repeats=False),
        doc="Two lists of scalars as sets: neither order nor repeats count. Strings are compared after NFC and white "
        "space folding, numbers by value; a single value counts as a list of one.",
        params=_OF_SETS,
        examples=(
            Example(["a", "b"], ["b", "a", "a"], 1.0),
            Example(["a", "b", "c"], ["a", "b"], 4 / 5),
            Example(["a", "b", "c"], ["a", "b"], 2 / 3, {"measure": "jaccard"}),
            Example("a; b", ["b", "a"], 1.0, {"separator": ";"}),
        ),
    ),
    MetricSpec(
        name="multiset",
        make=_bag_metric(repeats=True),
        doc="Two lists of scalars as multisets: order does not count, repeats do. Items as in `set`.",
        params=_OF_SETS,
        examples=(
            Example([1, 1, 2], [2, 1, 1.0], 1.0),
            Example(["a", "a"], ["a"], 2 / 3),
        ),
    ),
)
