"""Metrics of how alike two texts are."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from pytest_extract.core.metrics import equality
from pytest_extract.core.metrics import params as check
from pytest_extract.core.metrics.base import BoundMetric, Compare, Example, MetricSpec, Param, SemanticsName
from pytest_extract.core.metrics.vectorized import (
    Edits,
    Texts,
    edit_similarity,
    text_matrix,
)
from pytest_extract.core.values import Json

Normal = Callable[[Json], str | None]


def _edit_similarity(name: str, normal: Normal, texts_of: Texts, edits: Edits = "Levenshtein") -> BoundMetric:
    """Make the metric 1 - edits / most edits of two texts; values without a text by JSON equality."""
    similarity = edit_similarity(edits)

    def compare(gold: Json, extracted: Json) -> float:
        one, other = normal(gold), normal(extracted)
        if one is None or other is None:
            return 1.0 if equality.same(gold, extracted) else 0.0
        return float(similarity(one, other))

    return BoundMetric(
        name=name,
        compare=compare,
        explain=_explain_similarity(compare),
        matrix=text_matrix(normal, compare, texts_of, edits),
    )


def _explain_similarity(compare: Compare) -> Callable[[Json, Json], str]:
    def explain(gold: Json, extracted: Json) -> str:
        if isinstance(gold, str) is not isinstance(extracted, str):
            return f"{equality.a_type(gold)} expected, got {equality.a_type(extracted)}"
        return f"similarity {compare(gold, extracted):.3f}"

    return explain


# --- ours


def _normal_text(params: Mapping[str, Json]) -> Normal:
    ignore_order = params["ignore_order"]
    folded = equality.fold if params["case_sensitive"] else equality.fold_case

    def normal(value: Json) -> str | None:
        if not isinstance(value, str):
            return None
        text = folded(value)
        return " ".join(sorted(text.split())) if ignore_order else text

    return normal


def _make_fuzzy(params: Mapping[str, Json], semantics: SemanticsName) -> BoundMetric:
    del semantics
    normal = _normal_text(params)

    def texts_of(values: Sequence[Json]) -> Sequence[str | None]:
        texts = [value for value in values if isinstance(value, str)]
        at_once = len(texts) == len(values) and not (params["case_sensitive"] or params["ignore_order"])
        return equality.fold_cases(texts) if at_once else [*map(normal, values)]

    return replace(_edit_similarity("fuzzy", normal, texts_of), params=params, threshold=float(params["threshold"]))


# --- ExtractBench


def _make_string_fuzzy(params: Mapping[str, Json], semantics: SemanticsName) -> BoundMetric:
    published = semantics == "extract-bench"
    # published: any text, even "false", is true
    case_sensitive = bool(params["case_sensitive"])

    def normal(value: Json) -> str:
        text = equality.python_text(value)
        return text if case_sensitive else text.lower()

    def texts_of(values: Sequence[Json]) -> Sequence[str]:
        texts = [value for value in values if isinstance(value, str)]
        joined = "\0".join(texts)
        if len(texts) == len(values) == joined.count("\0") + 1 and joined.isascii():
            return texts if case_sensitive else joined.lower().split("\0")
        return [*map(normal, values)]

    # what difflib matches is a common subsequence, of which Indel counts the longest: its matrix holds upper bounds
    edited = _edit_similarity("string_fuzzy", normal, texts_of, "Indel" if published else "Levenshtein")
    compare = _difflib(normal) if published else edited.compare

    def explain(gold: Json, extracted: Json) -> str:
        return f"similarity {compare(gold, extracted):.3f}"

    return replace(edited, compare=compare, params=params, threshold=float(params["threshold"]), explain=explain)


def _difflib(normal: Callable[[Json], str]) -> Compare:
    """Make the published comparison: difflib's ratio, with its autojunk, which depends on the order of the sides."""

    def compare(gold: Json, extracted: Json) -> float:
        one, other = normal(gold), normal(extracted)
        return 1.0 if one == other else difflib.SequenceMatcher(None, one, other).ratio()

    return compare


def _boolean_or_text(value: Json) -> str | None:
    return None if isinstance(value, bool | str) else "must be true or false"


SPECS = (
    MetricSpec(
        name="fuzzy",
        make=_make_fuzzy,
        doc="Normalised Levenshtein similarity of two strings, 1 - edits / length of the longer, after NFC, white "
        "space folding and casefold. Passes from `threshold` on. Other values by JSON equality. Two texts of 100,000 "
        "characters that share little take about a second, and the time grows with the square of their length; texts "
        "that are nearly equal take milliseconds.",
        params=(
            check.threshold(0.8),
            Param(name="case_sensitive", check=check.boolean, default=False, doc="whether case counts"),
            Param(
                name="ignore_order",
                check=check.boolean,
                default=False,
                doc='whether words are sorted first ("Doe John" is "John Doe")',
            ),
        ),
        examples=(
            Example("kitten", "sitting", 1 - 3 / 7),
            Example("ACME  GmbH", "acme gmbh", 1.0),
            Example("John Doe", "Doe John", 1.0, {"ignore_order": True}),
            Example("7", 7, 0.0),
        ),
    ),
    MetricSpec(
        name="string_fuzzy",
        make=_make_string_fuzzy,
        doc="ExtractBench: likeness of the lower-cased Python texts. Under the semantics extract-bench difflib's ratio "
        "with autojunk, as published; under others normalised Levenshtein, which takes as long as `fuzzy`.",
        params=(
            Param(name="threshold", check=check.numeric(0, 1), default=0.8, doc="lowest score that passes"),
            Param(
                name="case_sensitive",
                check=_boolean_or_text,
                default=False,
                doc='whether case counts; a text that is not empty, even "false", counts as true, as published',
            ),
        ),
        examples=(
            Example("kitten", "sitting", 8 / 13, semantics="extract-bench"),
            Example("kitten", "sitting", 1 - 3 / 7),
            Example("ACME", "acme", 1.0),
            Example("ACME", "acme", 0.0, {"case_sensitive": True}),
        ),
        symmetric=False,
    ),
)
