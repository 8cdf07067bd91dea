"""Metrics of equal values, with or without a judge; and what makes metrics that read values first."""

from __future__ import annotations

import math
import operator
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, TypeVar

from pytest_extract.core.metrics import base as check
from pytest_extract.core.metrics.base import BoundMetric, Example, MetricSpec, Param, Params, SemanticsName
from pytest_extract.core.values import (
    Json,
    a_type,
    canonical_json,
    fold_case,
    folding,
    same,
    same_key,
    short_json,
    text_key,
    typed_key,
    types_differ,
)

Key = Callable[[Json], Hashable]
Explain = Callable[[Json, Json], str]
Read = TypeVar("Read")
_ROWS_AT_ONCE: Final = 64


def differ(gold: Json, extracted: Json) -> str:
    """Say which type was expected where another came; "" for two values of one type, which both are shown."""
    return types_differ(gold, extracted) if a_type(gold) != a_type(extracted) else ""


def equality_metric(key: Key, explain: Explain = differ, *, reflexive: bool = True) -> BoundMetric:
    """Make the metric that gives 1.0 where both values have the same key."""
    return BoundMetric(
        compare=lambda gold, extracted: 1.0 if key(gold) == key(extracted) else 0.0,
        explain=explain,
        key=key,
        reflexive=reflexive,
    )


def explain_read(
    read: Callable[[Json], Read | None], kind: str, told: Callable[[Read, Read], str] = "{} expected, got {}".format
) -> Explain:
    """Return the reason where two values differ: which could not be read as `kind`, or what is told of both."""

    def reason(gold: Json, extracted: Json) -> str:
        one, other = read(gold), read(extracted)
        if one is None or other is None:
            return f"not {kind}: {short_json(gold if one is None else extracted)}"
        return told(one, other)

    return reason


def reading_metric(
    read: Callable[[Json], Read | None],
    agree: Callable[[Read, Read], float],
    explain: Explain,
    *,
    unread: Key = text_key,
    threshold: float = 1.0,
    reflexive: bool = True,
    near: tuple[Callable[[Read], float], float, float] | None = None,
) -> BoundMetric:
    """Make a metric that scores `agree` of both values as `read` parses them; of two that it cannot read, keys.

    In a long list each value is read once, whatever it is compared with. `near`: a size, and how far apart the sizes of
    values that agree can be: relative to the larger, or absolutely.
    """

    def compare(gold: Json, extracted: Json) -> float:
        one, other = read(gold), read(extracted)
        if one is not None and other is not None:
            return float(agree(one, other))
        return 1.0 if one is other and unread(gold) == unread(extracted) else 0.0

    def matrix(gold: Sequence[Json], extracted: Sequence[Json]) -> Any:
        import numpy as np

        sides = [[*map(read, side)] for side in (gold, extracted)]
        rows, columns = ([i for i, value in enumerate(side) if value is not None] for side in sides)
        ours, theirs = ([value for value in side if value is not None] for side in sides)
        scores = equal_keys(map(unread, gold), map(unread, extracted))
        scores[rows] = scores[:, columns] = 0.0
        for i, j in np.ndindex(len(ours), len(theirs)) if near is None else _near_pairs(ours, theirs, *near):
            scores[rows[i], columns[j]] = float(agree(ours[i], theirs[j]))
        return scores

    return BoundMetric(compare=compare, threshold=threshold, reflexive=reflexive, explain=explain, matrix=matrix)


def accepting_metric(key: Key, accepts: Callable[[Json], bool], explain: Callable[[Json], str]) -> BoundMetric:
    """Make the metric that gives 1.0 where both values have the same key, or the extracted one is accepted anyway."""
    return reading_metric(
        lambda value: (key(value), accepts(value)),
        lambda gold, extracted: gold[0] == extracted[0] or extracted[1],
        lambda _gold, extracted: explain(extracted),
    )


def equal_keys(ours: Iterable[Hashable], theirs: Iterable[Hashable]) -> Any:
    """Return a table with 1.0 where two keys are equal."""
    import numpy as np

    numbers: dict[Hashable, int] = {}
    left, right = (np.array([numbers.setdefault(key, len(numbers)) for key in side], int) for side in (ours, theirs))
    return np.equal.outer(left, right).astype(float)


def common_weights(ours: Sequence[Mapping[Hashable, float]], theirs: Sequence[Mapping[Hashable, float]]) -> Any:
    """Return the weight that each two bags (element -> weight) have in common."""
    import numpy as np

    places: dict[Hashable, tuple[list[int], list[float]]] = {}
    for column, bag in enumerate(theirs):
        for element, weight in bag.items():
            columns, weights = places.setdefault(element, ([], []))
            columns.append(column)
            weights.append(weight)
    arrays = {element: (np.array(columns), np.array(weights)) for element, (columns, weights) in places.items()}
    total = np.zeros((len(ours), len(theirs)))
    for row, bag in enumerate(ours):
        for element in bag.keys() & arrays.keys():
            own, others = arrays[element]
            total[row, own] += np.minimum(bag[element], others)
    return total


def bag_f1(one: Counter[Any], other: Counter[Any]) -> float:
    """Return the F1 of two bags; 1.0 where both are empty."""
    both = one.total() + other.total()
    return 2 * (one & other).total() / both if both else 1.0


def bag_metric(read: Callable[[Json], Counter[Any]], threshold: float) -> BoundMetric:
    """Make the metric that scores the F1 of two bags."""

    def compare(gold: Json, extracted: Json) -> float:
        return bag_f1(read(gold), read(extracted))

    def explain(gold: Json, extracted: Json) -> str:
        one, other = read(gold), read(extracted)
        return f"{(one - other).total()} of {one.total()} missing, {(other - one).total()} added"

    def matrix(gold: Sequence[Json], extracted: Sequence[Json]) -> Any:
        import numpy as np

        ours, theirs = [*map(read, gold)], [*map(read, extracted)]
        both = np.add.outer(*([float(bag.total()) for bag in side] for side in (ours, theirs)))
        with np.errstate(invalid="ignore"):  # 0 / 0
            return np.where(both > 0, 2 * common_weights(ours, theirs) / both, 1.0)

    return BoundMetric(compare=compare, threshold=threshold, explain=explain, matrix=matrix)


def _near_pairs(
    ours: Sequence[Read], theirs: Sequence[Read], size: Callable[[Read], float], rel: float, least: float
) -> list[tuple[int, int]]:
    """Return the places of values that are near enough to agree, looking at as many at a time as a cache holds."""
    import numpy as np

    def rough(value: Read) -> float:
        try:
            return float(size(value))
        except OverflowError:
            return math.nan

    left, right = (np.array([*map(rough, side)], np.float64) for side in (ours, theirs))
    found: list[tuple[int, int]] = []
    with np.errstate(all="ignore"):
        for start in range(0, len(left), _ROWS_AT_ONCE):
            some = left[start : start + _ROWS_AT_ONCE]
            largest = np.maximum.outer(abs(some), abs(right))
            bound = np.maximum(rel * largest, least) + 1e-9 * largest  # floats lose far less than that of their size
            too_far = abs(np.subtract.outer(some, right)) > bound  # what no float is near (NaN) never is
            found += [(start + i, j) for i, j in np.argwhere(~too_far).tolist()]
    return found


def equality_of_read(read: Callable[[Json], Hashable | None], explain: Explain) -> BoundMetric:
    """Make the metric that gives 1.0 where `read` parses both values as the same; unreadable ones as text."""

    def key(value: Json) -> Hashable:
        found = read(value)
        return ("text", text_key(value)) if found is None else ("read", found)

    return equality_metric(key, explain)


# --- equal values


@MetricSpec.row(
    "text",
    Example("Acme  GmbH\n", "Acme GmbH", 1.0),
    Example("Acme", "ACME", 0.0),
    Example("42", 42, 0.0),
)
def _text(_params: Params, _semantics: SemanticsName) -> BoundMetric:
    """Strings are equal after Unicode NFC with each run of white space as one space; case counts.

    Any other value is compared as by `exact`, so 42 is not "42".
    """
    return equality_metric(text_key)


@MetricSpec.row(
    "exact",
    Example("a", "a ", 0.0),
    Example(1, 1.0, 1.0),
    Example(1, 1.0, 0.0, semantics="struct-extract-eval"),
    Example([1], [True], 0.0),
    Example([1], [True], 1.0, semantics="struct-extract-eval"),
)
def _exact(_params: Params, semantics: SemanticsName) -> BoundMetric:
    """JSON equality: 1 is 1.0, true is never 1, the order of keys does not count.

    Under the semantics struct-extract-eval as published: the same Python type and `==`, so 1 is not 1.0, but [1] is
    [1.0].
    """
    return equality_metric(typed_key if semantics == "struct-extract-eval" else same_key)


@MetricSpec.row(
    "boolean",
    Example(gold=True, extracted=True, score=1.0),
    Example(gold=True, extracted=1, score=0.0),
    Example(gold=False, extracted="false", score=0.0),
)
def _boolean(_params: Params, _semantics: SemanticsName) -> BoundMetric:
    """true is true and false is false; 1, "true" and "yes" are neither."""
    return equality_metric(text_key)


@MetricSpec.row(
    "string_exact",
    Example(42, "42", 1.0),
    Example(42, 42.0, 0.0),
    Example("a b", "a  b", 0.0),
)
def _string_exact(_params: Params, _semantics: SemanticsName) -> BoundMetric:
    """ExtractBench: equal as Python text (`str`), so 42 is "42" but not 42.0, and true is "True"."""
    return equality_metric(str)


@MetricSpec.row(
    "string_case_insensitive",
    Example("Straße", "STRASSE", 1.0),
    Example("a", "b", 0.0),
)
def _string_case_insensitive(_params: Params, _semantics: SemanticsName) -> BoundMetric:
    """ExtractBench: equal as Python text after casefold."""
    return equality_metric(lambda value: str(value).casefold())


@MetricSpec.row(
    "boolean_exact",
    Example(gold=True, extracted=True, score=1.0),
    Example(gold=True, extracted=1, score=0.0),
    Example("yes", "no", 0.0),
    Example("yes", "yes", 1.0),
)
def _boolean_exact(_params: Params, _semantics: SemanticsName) -> BoundMetric:
    """ExtractBench: two booleans that are the same.

    Two values that are no booleans are compared as text (published: any two of them pass).
    """
    return equality_metric(text_key)


# --- one of the right values


def _item_key(params: Params) -> Callable[[Json], Hashable]:
    folded = folding(case_sensitive=params["case_sensitive"])
    return lambda item: folded(item) if isinstance(item, str) else same_key(item)


_VALUES = Param(name="values", check=check.any_list, required=True, doc="the list of right values")


@MetricSpec.row(
    "oneof",
    Example("CVD", "PVD", 1.0, {"values": ["PVD", "Sputtering"]}),
    Example("x", "x", 0.0, {"values": ["PVD"]}),
    Example(gold=1, extracted=True, score=0.0, params={"values": [1]}),
    Example(gold=1, extracted=True, score=1.0, params={"values": [1]}, semantics="struct-extract-eval"),
    params=(_VALUES,),
)
def _oneof(params: Params, semantics: SemanticsName) -> BoundMetric:
    """struct-extract-eval: the extracted value is one of `values`.

    The gold is not looked at, as published; `oneof_with_gold` looks at it.
    """
    values = params["values"]
    equal = operator.eq if semantics == "struct-extract-eval" else same

    def compare(_gold: Json, extracted: Json) -> float:
        return 1.0 if any(equal(value, extracted) for value in values) else 0.0

    def explain(_gold: Json, extracted: Json) -> str:
        return f"{short_json(extracted)} is none of the {len(values)} values"

    return BoundMetric(compare=compare, explain=explain, reflexive=False)


@MetricSpec.row(
    "oneof_with_gold",
    Example("USA", "usa", 1.0, {"values": ["United States", "U.S."]}),
    Example("USA", "united states", 1.0, {"values": ["United States", "U.S."]}),
    Example("USA", "Canada", 0.0, {"values": ["United States", "U.S."]}),
    params=(_VALUES, check.switch("case_sensitive", "whether case counts")),
)
def _oneof_with_gold(params: Params, _semantics: SemanticsName) -> BoundMetric:
    """The extracted value is the gold value or one of `values` (other right readings).

    Strings are compared after NFC, white space folding and casefold.
    """
    key = _item_key(params)
    accepted = {key(value) for value in params["values"]}

    return accepting_metric(
        key,
        lambda value: key(value) in accepted,
        lambda value: f"{short_json(value)} is neither the gold value nor one of the {len(accepted)} others",
    )


# --- lists of scalars that are one value

_OF_SETS = (check.threshold(1.0), check.switch("case_sensitive", "whether case counts", default=True))


def _bag_of_items(params: Params, counted: Callable[[Iterable[Hashable]], Iterable[Hashable]]) -> BoundMetric:
    key = _item_key(params)
    return bag_metric(lambda value: Counter(counted(map(key, check.as_list(value)))), float(params["threshold"]))


@MetricSpec.row(
    "set",
    Example(["a", "b"], ["b", "a", "a"], 1.0),
    Example(["a", "b", "c"], ["a", "b"], 4 / 5),
    params=_OF_SETS,
)
def _set(params: Params, _semantics: SemanticsName) -> BoundMetric:
    """F1 of two lists of scalars as sets: neither order nor repeats count.

    Strings are compared after NFC and white space folding, numbers by value; a single value counts as a list of one.
    """
    return _bag_of_items(params, set)


@MetricSpec.row(
    "multiset",
    Example([1, 1, 2], [2, 1, 1.0], 1.0),
    Example(["a", "a"], ["a"], 2 / 3),
    params=_OF_SETS,
)
def _multiset(params: Params, _semantics: SemanticsName) -> BoundMetric:
    """F1 of two lists of scalars as multisets: order does not count, repeats do. Items as in `set`."""
    return _bag_of_items(params, list)


# --- what a judge decides where it is not equal without asking

_PLACES = {"{gold}": "the gold value", "{predicted}": "the extracted value", "{structured_output_schema}": "the answer"}
_OPTIONS = ("model", "temperature", "max_tokens")


def _check_template(value: Json) -> str | None:
    if not isinstance(value, str) or not all(place in value for place in _PLACES):
        return f"must be a text that holds {', '.join(_PLACES)}"
    return None


_OF_JUDGES = (
    Param(name="pass_threshold", check=check.numeric(0, 1), default=0.7, doc="lowest score of the judge that passes"),
    Param(
        name="additional_instructions", check=check.text, doc="what the judge is told about this field, in your words"
    ),
    Param(
        name="judge",
        check=check.text,
        doc="name of a judge of the project's own (`extend.judge`) that decides this field",
    ),
)
_EXTRACT_BENCH = (
    *_OF_JUDGES,
    Param(
        name="prompt_template",
        check=_check_template,
        doc="ExtractBench's own prompt, with its three places; its words reach the judge as instructions",
    ),
    Param(name="model", check=check.text, doc="model that judges this field in place of --extract-judge-model's"),
    Param(name="temperature", check=check.number(0), doc="temperature that it is asked with; without it, 0"),
    Param(name="max_tokens", check=check.integer(1), doc="longest answer, in tokens; it holds for a whole call"),
)


def _judged(params: Params, key: Key, *, aligns: bool = False) -> BoundMetric:
    """Make a metric that asks where keys differ."""
    template = params.get("prompt_template") or ""
    for place, words in _PLACES.items():  # the judge's prompt fills them
        template = template.replace(place, words)
    return replace(
        equality_metric(key),
        explain=None,
        params={name: value for name, value in params.items() if value is not None},
        threshold=float(params["pass_threshold"]),
        judged=True,
        aligns=aligns,
        instructions="\n".join(part for part in (template, params["additional_instructions"]) if part),
        judge=params["judge"] or "",
        options={name: params[name] for name in _OPTIONS if params.get(name) is not None},
    )


def _text_key(semantics: SemanticsName) -> Key:
    """Return the key of what needs no judge: the text after NFC, casefold and white space folding.

    Under the semantics extract-bench two Unicode forms of a text are left to the judge: there it is asked for every
    pair, and the published numbers hold judges that tell "e" + accent from "é". Case and white space no judge tells
    apart.
    """

    def key(value: Json) -> str:
        text = value if isinstance(value, str) else canonical_json(value)
        return " ".join(text.casefold().split()) if semantics == "extract-bench" else fold_case(text)

    return key


@MetricSpec.row(
    "string_semantic",
    Example("Acme  GmbH", "ACME GmbH", 1.0),
    Example(42, "42", 1.0),
    Example("Acme GmbH", "Acme", 0.0),
    params=_EXTRACT_BENCH,
)
def _string_semantic(params: Params, semantics: SemanticsName) -> BoundMetric:
    """ExtractBench: the judge says how far two values mean the same.

    Equal after NFC, casefold and white space folding scores 1 without asking; the examples show this check, where 0
    means that the judge is asked.
    """
    return _judged(params, _text_key(semantics))


_string_llm = replace(
    _string_semantic,
    name="string_llm",
    doc="ExtractBench: as `string_semantic`, meant for `additional_instructions` or your own `prompt_template`.",
)


@MetricSpec.row(
    "semantic",
    Example("Acme  GmbH", "ACME GmbH", 1.0),
    Example("Acme GmbH", "Acme", 0.0),
    Example(1, "1", 0.0),
    params=(replace(_OF_JUDGES[0], default=1.0), *_OF_JUDGES[1:]),
)
def _semantic(params: Params, _semantics: SemanticsName) -> BoundMetric:
    """struct-extract-eval: the judge says whether two values mean the same; passes at 1.

    Texts equal after NFC, casefold and white space folding, and other values that are the same, score 1 without asking.
    """
    return _judged(params, lambda value: fold_case(value) if isinstance(value, str) else typed_key(value))


@MetricSpec.row(
    "array_llm",
    Example([{"a": 1}], [{"a": 1}], 1.0),
    Example([{"a": 1}], [{"a": 2}], 0.0),
    params=_EXTRACT_BENCH,
)
def _array_llm(params: Params, semantics: SemanticsName) -> BoundMetric:
    """ExtractBench: the judge pairs the items of two lists. Lists that are equal are paired without asking."""
    return _judged(params, _text_key(semantics), aligns=True)
