"""Metrics that take a list of scalars as one value, whose order does not count."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping

from pytest_extract.core.metrics import equality
from pytest_extract.core.metrics import params as check
from pytest_extract.core.metrics.base import BoundMetric, Example, MetricSpec, Param, SemanticsName
from pytest_extract.core.metrics.multiset import Bag, bag_of, common
from pytest_extract.core.metrics.parsed import reading_metric
from pytest_extract.core.values import Json


def _f1(common: int, gold: int, extracted: int) -> float:
    return 2 * common / (gold + extracted)


def _jaccard(common: int, gold: int, extracted: int) -> float:
    return common / (gold + extracted - common)


def _recall(common: int, gold: int, extracted: int) -> float:
    del extracted
    return common / gold if gold else 0.0


def _precision(common: int, gold: int, extracted: int) -> float:
    del gold
    return common / extracted if extracted else 0.0


_MEASURES: Mapping[str, Callable[[int, int, int], float]] = {
    "f1": _f1,
    "jaccard": _jaccard,
    "recall": _recall,
    "precision": _precision,
}


def _items(value: Json, separator: str | None) -> list[Json]:
    if isinstance(value, list):
        return value
    if isinstance(value, str) and separator is not None:
        return [part for part in (item.strip() for item in value.split(separator)) if part]
    return [] if value is None else [value]


def _reader(params: Mapping[str, Json], *, repeats: bool) -> Callable[[Json], Bag]:
    folded = equality.fold if params["case_sensitive"] else equality.fold_case
    separator = params["separator"]

    def key(item: Json) -> Hashable:
        return folded(item) if isinstance(item, str) else equality.same_key(item)

    def read(value: Json) -> Bag:
        return bag_of(map(key, _items(value, separator)), repeats=repeats)

    return read


def _make(name: str, params: Mapping[str, Json], *, repeats: bool) -> BoundMetric:
    read = _reader(params, repeats=repeats)
    measure = _MEASURES[params["measure"]]

    def agree(gold: Bag, extracted: Bag) -> float:
        if not gold.size and not extracted.size:
            return 1.0
        return measure(common(gold, extracted), gold.size, extracted.size)

    def explain(gold: Json, extracted: Json) -> str:
        one, other = read(gold), read(extracted)
        found = common(one, other)
        return f"{one.size - found} of {one.size} items missing, {other.size - found} added"

    return reading_metric(name, read, agree, explain, params, threshold=float(params["threshold"]))


def _make_set(params: Mapping[str, Json], semantics: SemanticsName) -> BoundMetric:
    del semantics
    return _make("set", params, repeats=False)


def _make_multiset(params: Mapping[str, Json], semantics: SemanticsName) -> BoundMetric:
    del semantics
    return _make("multiset", params, repeats=True)


_PARAMS = (
    check.threshold(1.0),
    Param(
        name="measure",
        check=check.choice(tuple(_MEASURES)),
        default="f1",
        doc="the score: f1, jaccard, recall or precision of the items",
    ),
    Param(name="case_sensitive", check=check.boolean, default=True, doc="whether case counts"),
    Param(name="separator", check=check.text, doc='a string value is split here ("," or ";")'),
)

SPECS = (
    MetricSpec(
        name="set",
        make=_make_set,
        doc="Two lists of scalars as sets: neither order nor repeats count. Strings are compared after NFC and white "
        "space folding, numbers by value; a single value counts as a list of one.",
        params=_PARAMS,
        examples=(
            Example(["a", "b"], ["b", "a", "a"], 1.0),
            Example(["a", "b", "c"], ["a", "b"], 4 / 5),
            Example(["a", "b", "c"], ["a", "b"], 2 / 3, {"measure": "jaccard"}),
            Example("a; b", ["b", "a"], 1.0, {"separator": ";"}),
        ),
        symmetric=False,
    ),
    MetricSpec(
        name="multiset",
        make=_make_multiset,
        doc="Two lists of scalars as multisets: order does not count, repeats do. Items as in `set`.",
        params=_PARAMS,
        examples=(
            Example([1, 1, 2], [2, 1, 1.0], 1.0),
            Example(["a", "a"], ["a"], 2 / 3),
        ),
        symmetric=False,
    ),
)
