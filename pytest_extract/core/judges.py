"""Asking: every question goes to the judge that its field names, all others to one; what comes back is checked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from pytest_extract.core.engine.context import NO_ANSWER, NoAnswer
from pytest_extract.core.results import Alignment, Answer, Judge, JudgeAnswer, Question

NO_JUDGE: Final = "needs a judge and none is configured"
WITHOUT_JUDGE: Final = "no judge for "
"""Begins the error of a case that is broken because a comparison needs a judge and none is configured."""
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


def ask(judge: Judge, questions: Mapping[str, Question]) -> dict[str, Answer | NoAnswer]:
    """Ask a judge; whatever it gives that is no answer counts as none, and so does its failing.

    A judge may say why it left a question open: `judge.why(question)`. Of several judges each is called once, so that
    one that fails takes no answers of the others with it.
    """
    found: dict[str, Answer | NoAnswer] = dict.fromkeys(questions, NoAnswer(NO_JUDGE))
    if isinstance(judge, Panel):
        asked = {id(one): one for one in map(judge.of, questions.values()) if one is not None}
        for one in asked.values():
            found |= ask(one, {key: question for key, question in questions.items() if judge.of(question) is one})
        return found
    try:
        answers = list(judge(tuple(questions.values())))
    except Exception as error:  # noqa: BLE001 - the judge is the user's code, and its failing is an outcome
        return dict.fromkeys(questions, NoAnswer(f"the judge failed: {type(error).__name__}: {error}"))
    if len(answers) != len(questions):
        why = f"the judge gave {len(answers)} answers to {len(questions)} questions"
        return dict.fromkeys(questions, NoAnswer(why))
    for (key, question), answer in zip(questions.items(), answers, strict=True):
        found[key] = answer if _usable(question, answer) else _unanswered(judge, question, answer)
    return found


def _unanswered(judge: Judge, question: Question, answer: object) -> NoAnswer:
    if answer is not None:
        return NoAnswer(f"the judge gave no usable answer: {answer!r:.80}")
    why = getattr(judge, "why", None)
    return NoAnswer(str((why(question) if callable(why) else None) or NO_ANSWER))


def _usable(question: Question, answer: object) -> bool:
    if question.kind == "align":
        return isinstance(answer, Alignment)
    score = answer.score if isinstance(answer, JudgeAnswer) else None
    return isinstance(score, int | float) and not isinstance(score, bool) and 0.0 <= score <= 1.0
