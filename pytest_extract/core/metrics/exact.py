"""Metrics of equal values, with or without a judge; and what makes metrics that read values first."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from posixpath import commonprefix
from types import MappingProxyType
from typing import Any, Final, TypeVar

from pytest_extract.core.metrics import base as check
from pytest_extract.core.metrics import equality
from pytest_extract.core.metrics.base import BoundMetric, Example, MetricSpec, Param, Params, SemanticsName
from pytest_extract.core.values import Json, canonical_json

Key = Callable[[Json], Hashable]
Explain = Callable[[Json, Json], str]
Read = TypeVar("Read")
_ROWS_AT_ONCE: Final = 64


def equality_metric(key: Key, explain: Explain, *, reflexive: bool = True) -> BoundMetric:
    """Make the metric that gives 1.0 where both values have the same key."""
    return BoundMetric(
        compare=lambda gold, extracted: 1.0 if key(gold) == key(extracted) else 0.0,
        explain=explain,
        key=key,
        reflexive=reflexive,
    )


def explain_read(
    read: Callable[[Json], Read | None], kind: str, show: Callable[[Read], object] = str
) -> Callable[[Json, Json], str]:
    """Return the reason where two values differ: which could not be read as `kind`, or what was read of both."""

    def reason(gold: Json, extracted: Json) -> str:
        one, other = read(gold), read(extracted)
        if one is None or other is None:
            return f"not {kind}: {equality.short(gold if one is None else extracted)}"
        return f"{show(one)} expected, got {show(other)}"

    return reason


def reading_metric(
    read: Callable[[Json], Read | None],
    agree: Callable[[Read, Read], float],
    explain: Explain,
    *,
    unread: Key = equality.text_key,
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


MEASURES: Final[Mapping[str, Callable[[Any, Any, Any], Any]]] = {
    "f1": lambda common, gold, extracted: 2 * common / (gold + extracted),
    "jaccard": lambda common, gold, extracted: common / (gold + extracted - common),
    "recall": lambda common, gold, _extracted: common / gold,
    "precision": lambda common, _gold, extracted: common / extracted,
}
"""Of two bags with elements in common, by how many these are and how many each has: numbers, or arrays of them."""


def bag_metric(
    read: Callable[[Json], Counter[Any]],
    measure: Callable[[Any, Any, Any], Any],
    threshold: float,
) -> BoundMetric:
    """Make a metric of two bags by how many elements they have in common, and each alone; 1.0 where both are empty."""

    def compare(gold: Json, extracted: Json) -> float:
        one, other = read(gold), read(extracted)
        common = (one & other).total()
        return float(measure(common, one.total(), other.total()) if common else one == other)

    def explain(gold: Json, extracted: Json) -> str:
        one, other = read(gold), read(extracted)
        return f"{(one - other).total()} of {one.total()} missing, {(other - one).total()} added"

    def matrix(gold: Sequence[Json], extracted: Sequence[Json]) -> Any:
        import numpy as np

        ours, theirs = [*map(read, gold)], [*map(read, extracted)]
        common = common_weights(ours, theirs)
        ones, others = np.ix_(*([float(bag.total()) for bag in side] for side in (ours, theirs)))
        with np.errstate(invalid="ignore"):  # 0 / 0
            scores = measure(common, ones, others)
        return np.where(common > 0, scores, ones + others == 0)

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
        return ("text", equality.text_key(value)) if found is None else ("read", found)

    return equality_metric(key, explain)


# --- reasons


def differ(gold: Json, extracted: Json) -> str:
    """Say how two values differ: by type, in case or white space only, or from which character on."""
    if equality.a_type(gold) != equality.a_type(extracted):
        return equality.types_differ(gold, extracted)
    if not isinstance(gold, str) or not isinstance(extracted, str):
        return "values differ"
    if equality.fold_case(gold) == equality.fold_case(extracted):
        return "texts differ only in case or white space"
    return f"texts differ from character {len(commonprefix((gold, extracted))) + 1} on"


# --- lists of right values, or of scalars that are one value


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


# --- what a judge decides where it is not equal without asking

_PLACES = {"{gold}": "the gold value", "{predicted}": "the extracted value", "{structured_output_schema}": "the answer"}


def plain_key(value: Json) -> Hashable:
    """Return what needs no judge where it is the same: the text after NFC, casefold and white space folding."""
    return equality.fold_case(_text_for_judge(value))


def form_key(value: Json) -> Hashable:
    """Return `plain_key` that leaves two Unicode forms of a text to the judge.

    Under the semantics extract-bench: there the judge is asked for every pair, and the published numbers hold
    judges that tell "e" + accent from "é". Case and white space no judge tells apart.
    """
    return " ".join(_text_for_judge(value).casefold().split())


def semantic_key(value: Json) -> Hashable:
    """Return `plain_key` of a text, and type and content of another value.

    For `semantic`: struct-extract-eval's judge is asked about 1 and "1".
    """
    return ("text", plain_key(value)) if isinstance(value, str) else equality.typed_key(value)


def _text_for_judge(value: Json) -> str:
    return value if isinstance(value, str) else canonical_json(value)


def _judged(
    key: Key = plain_key, published: Key = form_key, *, aligns: bool = False
) -> Callable[[Params, SemanticsName], BoundMetric]:
    """Return what makes a metric that asks where keys differ; `published`: the key under extract-bench."""

    def make(params: Params, semantics: SemanticsName) -> BoundMetric:
        own = published if semantics == "extract-bench" else key
        template = params.get("prompt_template") or ""
        for place, words in _PLACES.items():  # the judge's prompt fills them
            template = template.replace(place, words)
        return BoundMetric(
            compare=lambda gold, extracted: 1.0 if own(gold) == own(extracted) else 0.0,
            params={name: value for name, value in params.items() if value is not None},
            threshold=float(params["pass_threshold"]),
            judged=True,
            aligns=aligns,
            instructions="\n".join(part for part in (template, params["additional_instructions"]) if part),
            judge=params["judge"] or "",
            options={name: params[name] for name in _OPTIONS if params.get(name) is not None},
            key=own,
        )

    return make


def _check_template(value: Json) -> str | None:
    if not isinstance(value, str) or not all(place in value for place in _PLACES):
        return f"must be a text that holds {', '.join(_PLACES)}"
    return None


_OPTIONS = ("model", "temperature", "max_tokens")
_ADDITIONAL = Param(
    name="additional_instructions", check=check.text, doc="what the judge is told about this field, in your words"
)
_JUDGE = Param(
    name="judge", check=check.text, doc="name of a judge of the project's own (`extend.judge`) that decides this field"
)


def _pass_threshold(default: float) -> Param:
    return Param(
        name="pass_threshold", check=check.numeric(0, 1), default=default, doc="lowest score of the judge that passes"
    )


_EXTRACT_BENCH = (
    _pass_threshold(0.7),
    _ADDITIONAL,
    _JUDGE,
    Param(
        name="prompt_template",
        check=_check_template,
        doc="ExtractBench's own prompt, with its three places; its words reach the judge as instructions",
    ),
    Param(name="model", check=check.text, doc="model that judges this field in place of --extract-judge-model's"),
    Param(name="temperature", check=check.number(0), doc="temperature that it is asked with; without it, 0"),
    Param(name="max_tokens", check=check.integer(1), doc="longest answer, in tokens; it holds for a whole call"),
)
_SAME = (
    Example("Acme  GmbH", "ACME GmbH", 1.0),
    Example(42, "42", 1.0),
    Example("Acme GmbH", "Acme", 0.0),
)


# --- rows


def equal_by(
    key: Key, published: Mapping[SemanticsName, Key] = MappingProxyType({}), explain: Explain = differ
) -> Callable[[Params, SemanticsName], BoundMetric]:
    """Return what makes an equality of a key; `published`: the key under some system's semantics."""
    return lambda _params, semantics: equality_metric(published.get(semantics, key), explain)


JUDGED_SPECS = (
    MetricSpec(
        name="string_semantic",
        make=_judged(),
        doc="ExtractBench: the judge says how far two values mean the same. Equal after NFC, casefold and white "
        "space folding scores 1 without asking; the examples show this check, where 0 means that the judge is asked.",
        params=_EXTRACT_BENCH,
        examples=_SAME,
    ),
    MetricSpec(
        name="string_llm",
        make=_judged(),
        doc="ExtractBench: as `string_semantic`, meant for `additional_instructions` or your own `prompt_template`.",
        params=_EXTRACT_BENCH,
        examples=_SAME,
    ),
    MetricSpec(
        name="semantic",
        make=_judged(semantic_key, semantic_key),
        doc="struct-extract-eval: the judge says whether two values mean the same; passes at 1. Texts equal after NFC, "
        "casefold and white space folding, and other values that are the same, score 1 without asking.",
        params=(_pass_threshold(1.0), _ADDITIONAL, _JUDGE),
        examples=(_SAME[0], _SAME[2], Example(1, "1", 0.0)),
    ),
    MetricSpec(
        name="array_llm",
        make=_judged(aligns=True),
        doc="ExtractBench: the judge pairs the items of two lists. Lists that are equal are paired without asking.",
        params=_EXTRACT_BENCH,
        examples=(Example([{"a": 1}], [{"a": 1}], 1.0), Example([{"a": 1}], [{"a": 2}], 0.0)),
    ),
)

SPECS = (
    MetricSpec(
        name="text",
        make=equal_by(equality.text_key),
        doc="Strings are equal after Unicode NFC with each run of white space as one space; case counts. "
        'Any other value is compared as by `exact`, so 42 is not "42".',
        examples=(
            Example("Acme  GmbH\n", "Acme GmbH", 1.0),
            Example("Acme", "ACME", 0.0),
            Example("42", 42, 0.0),
        ),
    ),
    MetricSpec(
        name="exact",
        make=equal_by(equality.same_key, {"struct-extract-eval": equality.typed_key}),
        doc="JSON equality: 1 is 1.0, true is never 1, the order of keys does not count. Under the semantics "
        "struct-extract-eval as published: the same Python type and `==`, so 1 is not 1.0, but [1] is [1.0].",
        examples=(
            Example("a", "a ", 0.0),
            Example(1, 1.0, 1.0),
            Example(1, 1.0, 0.0, semantics="struct-extract-eval"),
            Example([1], [True], 0.0),
            Example([1], [True], 1.0, semantics="struct-extract-eval"),
        ),
    ),
    MetricSpec(
        name="boolean",
        make=equal_by(equality.text_key),
        doc='true is true and false is false; 1, "true" and "yes" are neither.',
        examples=(
            Example(gold=True, extracted=True, score=1.0),
            Example(gold=True, extracted=1, score=0.0),
            Example(gold=False, extracted="false", score=0.0),
        ),
    ),
    MetricSpec(
        name="string_exact",
        make=equal_by(equality.python_text),
        doc='ExtractBench: equal as Python text (`str`), so 42 is "42" but not 42.0, and true is "True".',
        examples=(Example(42, "42", 1.0), Example(42, 42.0, 0.0), Example("a b", "a  b", 0.0)),
    ),
    MetricSpec(
        name="string_case_insensitive",
        make=equal_by(lambda value: equality.python_text(value).casefold()),
        doc="ExtractBench: equal as Python text after casefold.",
        examples=(Example("Straße", "STRASSE", 1.0), Example("a", "b", 0.0)),
    ),
    MetricSpec(
        name="boolean_exact",
        make=equal_by(equality.text_key),
        doc="ExtractBench: two booleans that are the same. Two values that are no booleans are compared as text "
        "(published: any two of them pass).",
        examples=(
            Example(gold=True, extracted=True, score=1.0),
            Example(gold=True, extracted=1, score=0.0),
            Example("yes", "no", 0.0),
            Example("yes", "yes", 1.0),
        ),
    ),
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
    *JUDGED_SPECS,
)
