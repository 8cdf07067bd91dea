"""Metrics that are an equality: two values are the same, or they are not."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Hashable, Iterable, Mapping
from itertools import compress, count
from operator import ne
from types import MappingProxyType

from pytest_extract.core.metrics import equality
from pytest_extract.core.metrics.base import BoundMetric, Example, MetricSpec, SemanticsName
from pytest_extract.core.metrics.vectorized import key_matrix
from pytest_extract.core.values import Json

Key = Callable[[Json], Hashable]


def equality_metric(
    name: str,
    key: Key,
    explain: Callable[[Json, Json], str],
    params: Mapping[str, Json] | None = None,
) -> BoundMetric:
    """Make the metric that gives 1.0 where both values have the same key."""
    return BoundMetric(
        name=name,
        compare=lambda gold, extracted: 1.0 if key(gold) == key(extracted) else 0.0,
        params=params or {},
        explain=explain,
        matrix=key_matrix(key),
        key=key,
    )


# --- reasons


def differ(gold: Json, extracted: Json) -> str:
    """Say how two values differ: by type, by case only, or from which character on."""
    if isinstance(gold, str) and isinstance(extracted, str):
        return _texts_differ(gold, extracted)
    if equality.a_type(gold) != equality.a_type(extracted):
        return f"{equality.a_type(gold)} expected, got {equality.a_type(extracted)}"
    return "values differ"


def _sharp_s(text: str) -> str:
    return text.replace("ß", "ss").replace("ẞ", "SS")


_LIGATURES = {
    code: unicodedata.normalize("NFKC", chr(code)) for code in (*range(0xFB00, 0xFB07), *range(0xFB13, 0xFB18))
}
_LEVELLED: Mapping[str, Callable[[str], str]] = MappingProxyType(
    {
        "white space or Unicode form": equality.fold,
        "ligatures": lambda text: text.translate(_LIGATURES),
        "ß and ss": _sharp_s,
        "compatibility forms of characters": lambda text: equality.fold(unicodedata.normalize("NFKC", text)),
        "case": str.lower,
    }
)
"""What two texts may differ in, and what takes it away; the more special before the more general."""


def _texts_differ(gold: str, extracted: str) -> str:
    """Say in which of the levelled ways two texts differ, in as few as make them equal; else from where on."""
    if gold.isascii() and extracted.isascii():  # all but white space and case are as they are
        alike = gold.lower().split() == extracted.lower().split()
    else:
        alike = _equal_without(_LEVELLED, gold, extracted)
    if not alike:
        common = min(len(gold), len(extracted))
        continues = gold[:common] == extracted[:common]
        where = common + 1 if continues else next(compress(count(1), map(ne, gold, extracted)))
        return f"texts differ from character {where} on"
    ways = list(_LEVELLED)
    for way in reversed([*_LEVELLED]):
        fewer = [one for one in ways if one != way]
        ways = fewer if _equal_without(fewer, gold, extracted) else ways
    return f"texts differ only in {' and in '.join(ways)}"


def _equal_without(ways: Iterable[str], one: str, other: str) -> bool:
    for way in ways:
        one, other = _LEVELLED[way](one), _LEVELLED[way](other)
    return one == other


# --- ours


def _make_text(params: Mapping[str, Json], semantics: SemanticsName) -> BoundMetric:
    del params, semantics
    return equality_metric("text", equality.text_key, differ)


def _make_exact(params: Mapping[str, Json], semantics: SemanticsName) -> BoundMetric:
    del params
    return equality_metric(
        "exact", equality.typed_key if semantics == "struct-extract-eval" else equality.same_key, differ
    )


def _make_boolean(params: Mapping[str, Json], semantics: SemanticsName) -> BoundMetric:
    del params, semantics
    return equality_metric("boolean", equality.text_key, differ)


# --- ExtractBench


def _make_string_exact(params: Mapping[str, Json], semantics: SemanticsName) -> BoundMetric:
    del params, semantics
    return equality_metric("string_exact", equality.python_text, differ)


def _casefold_key(value: Json) -> Hashable:
    return equality.python_text(value).casefold()


def _make_string_case_insensitive(params: Mapping[str, Json], semantics: SemanticsName) -> BoundMetric:
    del params, semantics
    return equality_metric("string_case_insensitive", _casefold_key, differ)


def _make_boolean_exact(params: Mapping[str, Json], semantics: SemanticsName) -> BoundMetric:
    del params, semantics
    return equality_metric("boolean_exact", equality.text_key, differ)


SPECS = (
    MetricSpec(
        name="text",
        make=_make_text,
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
        make=_make_exact,
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
        make=_make_boolean,
        doc='true is true and false is false; 1, "true" and "yes" are neither.',
        examples=(
            Example(gold=True, extracted=True, score=1.0),
            Example(gold=True, extracted=1, score=0.0),
            Example(gold=False, extracted="false", score=0.0),
        ),
    ),
    MetricSpec(
        name="string_exact",
        make=_make_string_exact,
        doc='ExtractBench: equal as Python text (`str`), so 42 is "42" but not 42.0, and true is "True".',
        examples=(Example(42, "42", 1.0), Example(42, 42.0, 0.0), Example("a b", "a  b", 0.0)),
    ),
    MetricSpec(
        name="string_case_insensitive",
        make=_make_string_case_insensitive,
        doc="ExtractBench: equal as Python text after casefold.",
        examples=(Example("Straße", "STRASSE", 1.0), Example("a", "b", 0.0)),
    ),
    MetricSpec(
        name="boolean_exact",
        make=_make_boolean_exact,
        doc="ExtractBench: two booleans that are the same. Two values that are no booleans are compared as text "
        "(published: any two of them pass).",
        examples=(
            Example(gold=True, extracted=True, score=1.0),
            Example(gold=True, extracted=1, score=0.0),
            Example("yes", "no", 0.0),
            Example("yes", "yes", 1.0),
        ),
    ),
)
