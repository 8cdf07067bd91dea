"""Metrics over the words or the length of a text."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Mapping

from pytest_extract.core.metrics import equality
from pytest_extract.core.metrics import params as check
from pytest_extract.core.metrics.base import BoundMetric, Compare, Example, MetricSpec, Param, SemanticsName
from pytest_extract.core.metrics.multiset import Bag, bag_f1, bag_of, common
from pytest_extract.core.metrics.parsed import reading_metric
from pytest_extract.core.values import Json

_PUNCTUATION = re.compile(r"[^\w\s]")
_ARTICLES = re.compile(r"\b(a|an|the)\b")


def _token_text(value: Json) -> str:
    if value is None or isinstance(value, bool):
        return equality.json_text(value)
    text = equality.python_text(value)
    return text if text.isascii() else unicodedata.normalize("NFC", text)


def _tokens(value: Json, *, articles: bool, characters: bool) -> list[str]:
    text = _PUNCTUATION.sub(" ", _token_text(value).lower())
    if articles:
        text = _ARTICLES.sub(" ", text)
    words = text.split()
    return list("".join(words)) if characters else words


def _make_token_f1(params: Mapping[str, Json], semantics: SemanticsName) -> BoundMetric:
    del semantics
    articles, characters = bool(params["drop_articles"]), params["unit"] == "character"

    def count(value: Json) -> Bag:
        return bag_of(_tokens(value, articles=articles, characters=characters))

    def explain(gold: Json, extracted: Json) -> str:
        one, other = count(gold), count(extracted)
        found = common(one, other)
        return f"{found} of {one.size} tokens found, {one.size - found} lost, {other.size - found} added"

    return reading_metric("token_f1", count, bag_f1, explain, params, threshold=float(params["threshold"]))


def _make_contains(params: Mapping[str, Json], semantics: SemanticsName) -> BoundMetric:
    del semantics
    folded = equality.fold if params["case_sensitive"] else equality.fold_case

    def compare(gold: Json, extracted: Json) -> float:
        if isinstance(gold, str) and isinstance(extracted, str):
            one, other = folded(gold), folded(extracted)
            return 1.0 if one == other or (one and one in other) else 0.0
        return 1.0 if equality.same(gold, extracted) else 0.0

    return BoundMetric(
        name="contains",
        compare=compare,
        params=params,
        explain=lambda gold, extracted: (
            "the extracted text does not contain the gold text"
            if isinstance(gold, str) and isinstance(extracted, str)
            else f"{equality.a_type(gold)} expected, got {equality.a_type(extracted)}"
        ),
    )


# --- length


def _length(text: str, unit: str) -> int:
    return len(text.split()) if unit == "words" else len(text)


def _make_limited_text(params: Mapping[str, Json], semantics: SemanticsName) -> BoundMetric:
    del semantics
    low, high, unit = int(params["min_length"]), int(params["max_length"]), str(params["unit"])
    return BoundMetric(
        name="limited_text",
        compare=_limited(low, high, unit),
        params=params,
        threshold=float(params["threshold"]),
        explain=_explain_limit(low, high, unit),
    )


def _limited(low: int, high: int, unit: str) -> Compare:
    def compare(gold: Json, extracted: Json) -> float:
        if not isinstance(extracted, str) or not isinstance(gold, str) or gold == extracted:
            return 1.0 if equality.same(gold, extracted) else 0.0
        length = _length(extracted, unit)
        if length > high:
            return high / length
        return length / low if length < low else 1.0

    return compare


def _explain_limit(low: int, high: int, unit: str) -> Callable[[Json, Json], str]:
    def explain(gold: Json, extracted: Json) -> str:
        if not isinstance(extracted, str) or not isinstance(gold, str):
            return f"{equality.a_type(gold)} expected, got {equality.a_type(extracted)}"
        return f"{_length(extracted, unit)} {unit}, allowed are {low} to {high}"

    return explain


SPECS = (
    MetricSpec(
        name="token_f1",
        make=_make_token_f1,
        doc="F1 of the two multisets of words, as SOB and SQuAD count them: lower case, punctuation to spaces, "
        "the words a, an, the dropped. `unit: character` counts characters instead, for texts without spaces.",
        params=(
            check.threshold(0.8),
            Param(name="drop_articles", check=check.boolean, default=True, doc="whether a, an, the are left out"),
            Param(
                name="unit",
                check=check.choice(("word", "character")),
                default="word",
                doc="what is counted: word or character",
            ),
        ),
        examples=(
            Example("The red house", "Red house!", 1.0),
            Example("The red house", "a red, old house", 4 / 5),
            Example(3, 3.0, 2 / 3),
            Example("東京都", "東京", 4 / 5, {"unit": "character"}),
        ),
    ),
    MetricSpec(
        name="contains",
        make=_make_contains,
        doc="The extracted string contains the gold string, after NFC, white space folding and casefold.",
        params=(Param(name="case_sensitive", check=check.boolean, default=False, doc="whether case counts"),),
        examples=(
            Example("Acme", "ACME GmbH, Berlin", 1.0),
            Example("Acme GmbH", "Acme", 0.0),
            Example("", "anything", 0.0),
        ),
        symmetric=False,
    ),
    MetricSpec(
        name="limited_text",
        make=_make_limited_text,
        doc="A free text of which only the length counts: 1 from `min_length` to `max_length`, beyond that the ratio "
        "of length and limit. A string equal to the gold always scores 1, a value of another type 0.",
        params=(
            Param(name="max_length", check=check.integer(1), required=True, doc="longest text that scores 1"),
            Param(name="min_length", check=check.integer(0), default=1, doc="shortest text that scores 1"),
            Param(
                name="unit",
                check=check.choice(("characters", "words")),
                default="characters",
                doc="what is counted: characters or words",
            ),
            check.threshold(1.0),
        ),
        examples=(
            Example("a summary", "another one", 1.0, {"max_length": 20}),
            Example("a summary", "five words are too many", 3 / 5, {"max_length": 3, "unit": "words"}),
            Example("a summary", "", 0.0, {"max_length": 20}),
        ),
        symmetric=False,
    ),
)
