"""Asking: every question goes to the judge that its field names, all others to one; what comes back is checked."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from pytest_extract.core.engine.context import Decision, NoAnswer
from pytest_extract.core.engine.pairing import paired, wrong_rows
from pytest_extract.core.results import Alignment, Answer, Judge, JudgeAnswer, Question

NO_JUDGE: Final = "needs a judge and none is configured"
WITHOUT_JUDGE: Final = "no judge for "
"""Begins the error of a case that is an error because a comparison needs a judge and none is configured."""
GIVE_A_JUDGE: Final = (
    "give --extract-judge-model=PROVIDER/NAME, write a fixture `extract_judge`, or decide without a model by "
    "--extract-judge=exact or fuzzy"
)
"""What a user can do about it in a run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Panel:
    """Several judges as one: `named` answer the questions that name them (`Question.judge`), `default` all others."""

    default: Judge | None = None
    named: Mapping[str, Judge] = field(default_factory=dict)

    def __call__(self, questions: Sequence[Question]) -> list[Answer]:
        """Answer all questions; None where nobody could."""
        found = ask(self, {str(index): question for index, question in enumerate(questions)})
        return [None if isinstance(answer, NoAnswer) else answer for answer in found.values()]

    def of(self, question: Question) -> Judge | None:
        """Return who answers a question."""
        return self.named.get(question.judge, self.default)


def judges_of(given: Judge | None, named: Mapping[str, Judge]) -> Judge | None:
    """Return the judge to ask: `given` as it is where it is complete, else with those that fields name."""
    if not named or isinstance(given, Panel):
        return given
    return Panel(default=given, named=named)


def ask(judge: Judge, questions: Mapping[str, Question]) -> dict[str, Decision]:
    """Ask a judge; whatever it gives that is no answer counts as none, and so does its failing.

    A judge may say why it left a question open: `judge.why(question)`. Of several judges each is called once, so that
    one that fails takes no answers of the others with it.
    """
    found: dict[str, Decision] = dict.fromkeys(questions, NoAnswer(NO_JUDGE))
    if isinstance(judge, Panel):
        asked = {id(one): one for one in map(judge.of, questions.values()) if one is not None}
        for one in asked.values():
            found |= ask(one, {key: question for key, question in questions.items() if judge.of(question) is one})
        return found
    found |= zip(questions, checked_answers(judge, tuple(questions.values())), strict=True)
    why = getattr(judge, "why", None)
    for key, question in questions.items():
        if found[key] is _UNDECIDED and callable(why) and (told := why(question)):
            found[key] = NoAnswer(str(told))
    return found


_UNDECIDED: Final = NoAnswer("the judge did not decide")


def checked_answers(
    judge: Callable[[Sequence[Question]], object],
    questions: Sequence[Question],
    *,
    told: Callable[[BaseException], str] = lambda error: f"{type(error).__name__}: {error}",
) -> list[Decision]:
    """Call a judge, which may fail: return a valid decision on each question; `told` words an exception."""
    try:
        answers = judge(questions)
    except (Exception, SystemExit) as error:  # noqa: BLE001 - the judge is the user's code, and its failing is an outcome
        why = f"the judge raised {told(error)}"
    else:
        if isinstance(answers, Sequence) and not isinstance(answers, str) and len(answers) == len(questions):
            return [checked_answer(question, answer) for question, answer in zip(questions, answers, strict=True)]
        size = f" of {len(answers)}" if isinstance(answers, Sequence) else ""
        returned = f"{type(answers).__name__}{size}"  # its text may fail, or hold a secret
        why = f"the judge returned {returned}, not a list of as many answers as questions ({len(questions)})"
    return [NoAnswer(why)] * len(questions)


def checked_answer(question: Question, answer: Any) -> Decision:
    """Return a valid decision; `NoAnswer` with the reason for an answer that does not fit its question.

    A bare number in [0, 1] or a boolean counts as a `JudgeAnswer`. Only the pairs of an `Alignment` are used; the rows
    left over on each side follow from them.
    """
    if answer is None or isinstance(answer, NoAnswer):
        return answer or _UNDECIDED
    if question.kind == "align":
        return _checked_alignment(question, answer)
    if isinstance(answer, bool | int | float):
        answer = JudgeAnswer(answer)
    if not isinstance(answer, JudgeAnswer):
        return NoAnswer(f"the judge answered {type(answer).__name__} where a JudgeAnswer was asked for")
    score: object = answer.score  # of the user's making: its type is not to be relied on
    if not isinstance(score, int | float) or not 0 <= score <= 1:  # a NaN is not in any range
        return NoAnswer("the judge's score is no number from 0 to 1")
    return JudgeAnswer(float(score), str(answer.reason or ""))


def _checked_alignment(question: Question, answer: Any) -> Decision:
    if not isinstance(answer, Alignment):
        return NoAnswer(f"the judge answered {type(answer).__name__} where an Alignment was asked for")
    try:
        pairs = [(operator.index(row), operator.index(column)) for row, column in answer.pairs]
    except (TypeError, ValueError):
        return NoAnswer("the judge's alignment has pairs that are not two numbers of rows")
    if problem := wrong_rows(pairs, *lengths(question)):
        return NoAnswer(f"the judge's alignment {problem}")
    return Alignment(*paired(pairs, *lengths(question)), str(answer.reason or ""))


def lengths(question: Question) -> tuple[int, int]:
    """Return how many rows an "align" question has on its gold and on its extracted side."""
    return tuple(len(side) if isinstance(side, list) else 0 for side in (question.gold, question.extracted))  # type: ignore[return-value]
