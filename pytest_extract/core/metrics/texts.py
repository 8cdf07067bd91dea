"""Metrics of texts: how alike two are, what words they share, how long one is, what it looks like."""

from __future__ import annotations

import difflib
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from typing import Any, Final, Literal, TypeAlias

from pytest_extract.core.metrics import base as check
from pytest_extract.core.metrics.base import BoundMetric, Example, Matrix, MetricSpec, Param, Params, SemanticsName
from pytest_extract.core.metrics.exact import accepting_metric, bag_metric, differ, reading_metric
from pytest_extract.core.values import Json, canonical_json, compile_regex, folding, text_key

Normal: TypeAlias = Callable[[Json], str | None]
"""The text that a value is compared by; None for a value without one."""
Edits: TypeAlias = Literal["Levenshtein", "Indel"]
"""What is counted in 1 - edits / most edits: with substitutions, or insertions and deletions only (rapidfuzz)."""
_LONG: Final = 100
_NEARLY: Final = 0.9
LONGEST_TEXT: Final = 5000
"""Characters of the longest text that is looked at for a pattern."""

# --- edits


@cache
def _similarity(edits: Edits) -> Any:
    from rapidfuzz import distance

    return getattr(distance, edits).normalized_similarity


def text_matrix(
    normal: Normal, compare: Callable[[Json, Json], float], edits: Edits = "Levenshtein", least: float = 0.0
) -> Matrix:
    """Make the matrix of normalised similarity, or of `least`; values without a text are compared pair by pair.

    Long texts are compared only as far as it takes to see that they are not nearly the same.
    """

    def matrix(gold: Sequence[Json], extracted: Sequence[Json]) -> Any:
        import numpy as np
        from rapidfuzz.process import cdist

        rows, columns = ([normal(value) for value in side] for side in (gold, extracted))
        ours, theirs = ([text or "" for text in side] for side in (rows, columns))
        is_long = sum(map(len, (*ours, *theirs))) > _LONG * (len(ours) + len(theirs))
        bound = _NEARLY if is_long else least
        scores = cdist(ours, theirs, scorer=_similarity(edits), dtype=np.float64, score_cutoff=bound)
        result = scores.clip(bound)
        odd = [j for j, text in enumerate(columns) if text is None]
        for i, text in enumerate(rows):
            for j in range(len(columns)) if text is None else odd:
                result[i, j] = compare(gold[i], extracted[j])
        return result

    return matrix


def _text_metric(
    read: Normal, agree: Callable[[str, str], float], explain: Callable[[str, str], str], threshold: float = 1.0
) -> BoundMetric:
    """Make a metric of two texts; values without a text are compared by JSON equality."""

    def reason(gold: Json, extracted: Json) -> str:
        one, other = read(gold), read(extracted)
        return differ(gold, extracted) if one is None or other is None else explain(one, other)

    return reading_metric(read, agree, reason, threshold=threshold)


def _likeness(
    normal: Normal, ratio: Callable[[str, str], float], threshold: float, edits: Edits = "Levenshtein"
) -> BoundMetric:
    metric = _text_metric(normal, ratio, lambda one, other: f"similarity {ratio(one, other):.3f}", threshold)
    return replace(metric, matrix=text_matrix(normal, metric.compare, edits))


@MetricSpec.row(
    "fuzzy",
    Example("kitten", "sitting", 1 - 3 / 7),
    Example("ACME  GmbH", "acme gmbh", 1.0),
    Example("John Doe", "Doe John", 1.0, {"ignore_order": True}),
    Example("7", 7, 0.0),
    params=(
        check.threshold(0.8),
        check.switch("case_sensitive", "whether case counts"),
        check.switch("ignore_order", 'whether words are sorted first ("Doe John" is "John Doe")'),
    ),
)
def _fuzzy(params: Params, _semantics: SemanticsName) -> BoundMetric:
    """Normalised Levenshtein similarity of two strings, 1 - edits / length of the longer.

    It is taken after NFC, white space folding and casefold, of other values by JSON equality. Two unlike texts of
    100,000 characters take about a second, and the time grows with the square of their length; nearly equal ones take
    milliseconds.
    """
    folded = folding(case_sensitive=params["case_sensitive"])

    def normal(value: Json) -> str | None:
        if not isinstance(value, str):
            return None
        text = folded(value)
        return " ".join(sorted(text.split())) if params["ignore_order"] else text

    return _likeness(normal, _similarity("Levenshtein"), float(params["threshold"]))


@MetricSpec.row(
    "string_fuzzy",
    Example("kitten", "sitting", 8 / 13, semantics="extract-bench"),
    Example("kitten", "sitting", 1 - 3 / 7),
    Example("ACME", "acme", 1.0),
    Example("ACME", "acme", 0.0, {"case_sensitive": True}),
    params=(
        Param(name="threshold", check=check.numeric(0, 1), default=0.8, doc="lowest score that passes"),
        Param(
            name="case_sensitive",
            check=lambda value: None if isinstance(value, bool | str) else "must be true or false",
            default=False,
            doc='whether case counts; a text that is not empty, even "false", counts as true, as published',
        ),
    ),
)
def _string_fuzzy(params: Params, semantics: SemanticsName) -> BoundMetric:
    """ExtractBench: likeness of the lower-cased Python texts.

    Under the semantics extract-bench difflib's ratio with autojunk, as published; under others normalised
    Levenshtein, which takes as long as `fuzzy`.
    """

    def normal(value: Json) -> str:
        text = str(value)
        return text if params["case_sensitive"] else text.lower()

    def difflib_ratio(one: str, other: str) -> float:
        return 1.0 if one == other else difflib.SequenceMatcher(None, one, other).ratio()

    threshold = float(params["threshold"])
    if semantics != "extract-bench":
        return _likeness(normal, _similarity("Levenshtein"), threshold)
    # what difflib matches is a common subsequence, of which Indel counts the longest: upper bounds
    return _likeness(normal, difflib_ratio, threshold, "Indel")


# --- words

_WORD: Final = re.compile(r"\w+")


def words(text: str) -> Counter[str]:
    """Count the words of a text, in lower case, without punctuation and English articles."""
    found = Counter(_WORD.findall(text.lower()))
    for article in ("a", "an", "the"):
        del found[article]
    return found


@MetricSpec.row(
    "token_f1",
    Example("The red house", "Red house!", 1.0),
    Example("The red house", "a red, old house", 4 / 5),
    Example(3, 3.0, 2 / 3),
    Example("東京都", "東京", 4 / 5, {"unit": "character"}),
    params=(check.threshold(0.8), check.any_of("unit", ("word", "character"), "what is counted: word or character")),
)
def _token_f1(params: Params, _semantics: SemanticsName) -> BoundMetric:
    """F1 of the two multisets of words, as SOB and SQuAD count them.

    That is in lower case, punctuation to spaces, the words a, an, the dropped. `unit: character` counts characters
    instead, for texts without spaces.
    """

    def tokens(value: Json) -> Counter[str]:
        plain = value is None or isinstance(value, bool)
        text = unicodedata.normalize("NFC", canonical_json(value) if plain else str(value))
        found = words(text)
        return Counter("".join(found.elements())) if params["unit"] == "character" else found

    return bag_metric(tokens, float(params["threshold"]))


@MetricSpec.row(
    "limited_text",
    Example("a summary", "another one", 1.0, {"max_length": 20}),
    Example("a summary", "a text that is too long", 0.0, {"max_length": 20}),
    Example("a summary", "", 0.0, {"max_length": 20}),
    params=(Param(name="max_length", check=check.integer(1), required=True, doc="characters of the longest text"),),
)
def _limited_text(params: Params, _semantics: SemanticsName) -> BoundMetric:
    """A free text of which only the length counts: from one character to `max_length`.

    A string equal to the gold always scores 1, a value of another type 0.
    """
    longest = int(params["max_length"])
    return _text_metric(
        lambda value: value if isinstance(value, str) else None,
        lambda gold, extracted: gold == extracted or 1 <= len(extracted) <= longest,
        lambda _gold, extracted: f"{len(extracted):,} characters, allowed are 1 to {longest:,}",
    )


# --- patterns


@MetricSpec.row(
    "regex",
    Example("INV-0001", "INV-0417", 1.0, {"pattern": r"INV-\d{4}"}),
    Example("INV-0001", "no. INV-0417", 0.0, {"pattern": r"INV-\d{4}"}),
    params=(
        Param(
            name="pattern",
            check=check.taken_by(compile_regex, "a regular expression"),
            required=True,
            doc="regular expression",
        ),
    ),
)
def _regex(params: Params, _semantics: SemanticsName) -> BoundMetric:
    """The extracted string equals the gold or matches `pattern` as a whole, whatever the gold is.

    Syntax as of JSON Schema's `pattern` (JavaScript's, with the flag `u`); no value can make it hang.
    """
    compiled = compile_regex(f"^(?:{params['pattern']})$")
    return accepting_metric(
        text_key,
        lambda value: isinstance(value, str) and len(value) <= LONGEST_TEXT and compiled.search(value),
        lambda _: f"no string of at most {LONGEST_TEXT:,} characters that matches {params['pattern']}",
    )
