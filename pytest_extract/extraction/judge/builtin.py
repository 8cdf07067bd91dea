"""Judges that ask nobody: `exact` (equal after folding) and `fuzzy` (normalised Levenshtein, best fit for rows)."""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Callable, Sequence

from pytest_extract.core.engine.columns import MetricColumn
from pytest_extract.core.engine.keyed import fitting_pairs, multiset
from pytest_extract.core.metrics.base import BoundMetric
from pytest_extract.core.results import JudgeAnswer, Question
from pytest_extract.core.values import MISSING, Json
from pytest_extract.extraction.judge.answers import Decision, UnansweredQuestion, alignment, lengths


def ask_exact(questions: Sequence[Question]) -> list[Decision]:
    """Decide by equality after NFC, casefold and white-space folding of all texts inside; rows are paired so, too."""
    return [_guarded(question, _exact) for question in questions]


def ask_fuzzy(questions: Sequence[Question]) -> list[Decision]:
    """Decide by 1 - edits / length of the longer folded text; rows are paired so that it is highest over their keys."""
    return [_guarded(question, _fuzzy) for question in questions]


def folded(value: Json) -> Json:
    """Return the value with every text (keys too) in NFC, casefolded, its white space folded and trimmed."""
    if isinstance(value, str):
        return " ".join(unicodedata.normalize("NFC", value).casefold().split())
    if isinstance(value, list):
        return [folded(item) for item in value]
    if isinstance(value, dict):
        return {folded(key): folded(item) for key, item in value.items()}
    return value


def folded_text(value: Json) -> str:
    """Return a value's folded text: a string as it is, anything else as canonical JSON."""
    plain = folded(value)
    return plain if isinstance(plain, str) else json.dumps(plain, sort_keys=True, ensure_ascii=False)


def similarity(gold: Json, extracted: Json) -> float:
    """Return the normalised Levenshtein similarity of two values' folded texts, in [0, 1]."""
    from rapidfuzz.distance import Levenshtein

    return float(Levenshtein.normalized_similarity(folded_text(gold), folded_text(extracted)))


def _guarded(question: Question, decide: Callable[[Question], Decision]) -> Decision:
    try:
        return decide(question)
    except RecursionError:
        return UnansweredQuestion("the values are nested too deeply to compare")


def _exact(question: Question) -> Decision:
    if question.kind == "equal":
        same = _key(question.gold) == _key(question.extracted)
        return JudgeAnswer(float(same), "equal after folding" if same else "not equal after folding")
    gold, extracted = lengths(question)
    pairs = multiset(question.gold, question.extracted, _key).pairs if gold and extracted else ()
    return alignment(gold, extracted, pairs, "rows equal after folding")


def _fuzzy(question: Question) -> Decision:
    if question.kind == "equal":
        score = similarity(question.gold, question.extracted)
        return JudgeAnswer(score, f"similarity of the letters: {score:.2f}")
    gold, extracted = lengths(question)
    columns = _columns(question.gold, question.extracted) if gold and extracted else []
    pairs = fitting_pairs(columns, gold, extracted) if columns else []
    return alignment(gold, extracted, pairs, "best fit of the letters")


def _key(value: Json) -> str:
    """Text of a value that no other value has: the string "1" is not the number 1."""
    return json.dumps(folded(value), sort_keys=True)


def _columns(gold: list[Json], extracted: list[Json]) -> list[MetricColumn]:
    """One column a key where all rows are objects, else one of whole rows."""
    metric = BoundMetric(name="fuzzy", compare=similarity)
    if not all(isinstance(row, dict) for row in (*gold, *extracted)):
        return [MetricColumn(gold, extracted, metric)]
    keys = list(dict.fromkeys(key for row in (*gold, *extracted) for key in row))

    def values(rows: list[Json], key: str) -> list[Json]:
        return [MISSING if row.get(key) is None else row[key] for row in rows]

    return [MetricColumn(values(gold, key), values(extracted, key), metric) for key in keys]
