"""Valid answers of a judge, and the check of every answer before it is scored."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from pytest_extract.core.results import Alignment, JudgeAnswer, Question


@dataclass(frozen=True, slots=True)
class UnansweredQuestion:
    """No usable answer, and why: the comparison becomes a `judge_error`."""

    reason: str


Decision: TypeAlias = JudgeAnswer | Alignment | UnansweredQuestion
NO_SCORE: Final = "the judge's score is no number from 0 to 1"
Ask: TypeAlias = Callable[[Sequence[Question]], Sequence[Decision]]
"""Decisions in the order and number of the questions; never raises for what a model or provider did."""


def checked_answer(question: Question, answer: Any) -> Decision:
    """Return a valid decision; `UnansweredQuestion` with the reason for an answer that does not fit its question.

    A bare number in [0, 1] or a boolean counts as a `JudgeAnswer`. Only the pairs of an `Alignment` are used; the rows
    left over on each side follow from them.
    """
    if isinstance(answer, UnansweredQuestion):
        return answer
    if answer is None:
        return UnansweredQuestion("the judge did not decide")
    if question.kind == "align":
        return _checked_alignment(question, answer)
    if isinstance(answer, bool | int | float):
        answer = JudgeAnswer(answer)
    if not isinstance(answer, JudgeAnswer):
        return UnansweredQuestion(f"the judge answered {type(answer).__name__} where a Verdict was asked for")
    return _checked_verdict(answer)


def alignment(gold: int, extracted: int, pairs: Iterable[tuple[int, int]], reason: str = "") -> Alignment:
    """Return the alignment of two lists of these lengths that has these pairs, with what is left over on each side."""
    ordered = tuple(sorted(pairs))
    rows, columns = {row for row, _ in ordered}, {column for _, column in ordered}
    missed = tuple(index for index in range(gold) if index not in rows)
    spurious = tuple(index for index in range(extracted) if index not in columns)
    return Alignment(ordered, missed, spurious, reason)


def lengths(question: Question) -> tuple[int, int]:
    """Return how many rows an "align" question has on its gold and on its extracted side."""
    return tuple(len(side) if isinstance(side, list) else 0 for side in (question.gold, question.extracted))  # type: ignore[return-value]


def _checked_verdict(verdict: JudgeAnswer) -> Decision:
    score: object = verdict.score  # of the user's making: its type is not to be relied on
    if not isinstance(score, int | float) or not 0 <= score <= 1:  # a NaN is not in any range
        return UnansweredQuestion(NO_SCORE)
    return JudgeAnswer(float(score), str(verdict.reason))


def _checked_alignment(question: Question, answer: Any) -> Decision:
    if not isinstance(answer, Alignment):
        return UnansweredQuestion(f"the judge answered {type(answer).__name__} where an Alignment was asked for")
    gold, extracted = lengths(question)
    problem = _pairs_problem(answer.pairs, gold, extracted)
    if problem:
        return UnansweredQuestion(f"the judge's alignment {problem}")
    return alignment(gold, extracted, answer.pairs, str(answer.reason))


def _pairs_problem(pairs: Sequence[tuple[int, int]], gold: int, extracted: int) -> str:
    for index, size, side in ((0, gold, "gold"), (1, extracted, "extracted")):
        used = [pair[index] for pair in pairs]
        outside = next((row for row in used if not 0 <= row < size), None)
        if outside is not None:
            return f"names {side} row {outside} of {size}"
        if len(set(used)) < len(used):
            return f"uses a {side} row twice"
    return ""
