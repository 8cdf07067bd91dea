"""A score as text for whoever mends the prompt: what is wrong, how, and at which fields."""

from __future__ import annotations

import json
from typing import Final

from pytest_extract.core.mistakes import compared_results, mistakes_by_path
from pytest_extract.core.results import WRONG, FieldResult, ScoreRecord, Status
from pytest_extract.core.values import MISSING, Json, Missing

_LONGEST_VALUE: Final = 80
_MOST_PATHS: Final = 3


def feedback_text(score: ScoreRecord, most: int) -> str:
    """Write a score in a few lines: failures first, then up to `most` mistakes with gold and extracted value."""
    fields = [result for result in score.fields if result.status is not Status.SKIPPED]
    passed = sum(result.passed for result in fields)
    lines = [f"{passed} of {len(fields)} fields are right."]
    lines += [f"The {gate.name} gate failed: {gate.why}." for gate in score.gates.failed if gate.name != "coverage"]
    named = mistakes_by_path(score.mistakes)
    written: set[int] = set()
    mistakes = []
    for result in compared_results(score.leaves, score.fields):
        if result.status not in WRONG:
            continue
        mistake = named.get(result.path)
        if mistake is None:
            reason = f" ({result.reason})" if result.reason and result.status is Status.MISMATCH else ""
            mistakes.append(f"- {result.path}: {_difference(result)}{reason}")
        elif id(mistake) not in written:  # a line for each, with all its fields
            written.add(id(mistake))
            more = len(mistake.paths) - _MOST_PATHS
            paths = ", ".join(map(str, mistake.paths[:_MOST_PATHS])) + (f" and {more} more" if more > 0 else "")
            mistakes.append(f"- {paths}: {_difference(result)} ({mistake.kind.replace('_', ' ')}: {mistake.text})")
    lines += mistakes[:most]
    if len(mistakes) > most:
        lines.append(f"And {len(mistakes) - most} more mistakes.")
    return "\n".join(lines)


def _difference(result: FieldResult) -> str:
    if result.status is Status.OMISSION:
        return f"is missing, expected {_value_text(result.gold)}"
    if result.status is Status.HALLUCINATION:
        return f"is {_value_text(result.extracted)}, expected no value"
    return f"is {_value_text(result.extracted)}, expected {_value_text(result.gold)}"


def _value_text(value: Json | Missing) -> str:
    if value is MISSING:
        return "nothing"
    try:
        text = json.dumps(value, ensure_ascii=False)
    except (TypeError, ValueError, RecursionError):
        text = repr(type(value).__name__)
    return text if len(text) <= _LONGEST_VALUE else f"{text[: _LONGEST_VALUE - 1]}…"
