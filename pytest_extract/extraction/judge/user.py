"""The user's own judge (fixture `extract_judge`): called with the questions, sync or async, its answers checked."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from pytest_extract.core.results import Question
from pytest_extract.core.values import text_digest
from pytest_extract.errors import ConfigError
from pytest_extract.extraction.judge.answers import Decision, UnansweredQuestion, checked_answer
from pytest_extract.extraction.llm.errors import summary
from pytest_extract.extraction.loop import BackgroundLoop


class UserJudge:
    """Ask a callable from questions to answers (`Verdict`, `Alignment`, a bare score, `None`), sync or async.

    `identity` names it in kept answers: its attribute `identity`, else its name and a digest of its source, so that an
    edited judge is asked again. A callable whose source cannot be read has none, and its answers are not kept.
    A call holds one of `slots`, if there are any.
    """

    def __init__(
        self,
        judge: object,
        loop: BackgroundLoop | None = None,
        slots: AbstractContextManager[object] | None = None,
    ) -> None:
        if not callable(judge):
            raise ConfigError(
                f"the fixture `extract_judge` gave {judge!r:.80}, which cannot be called; return a function from "
                "questions to as many answers: def judge(questions): ..."
            )
        self.identity = identity_of(judge)
        self._judge: Callable[[Sequence[Question]], Any] = judge
        self._loop = loop
        self._slots = slots or nullcontext()

    def __call__(self, questions: Sequence[Question]) -> list[Decision]:
        """Return a decision for each question; whatever is wrong with the judge leaves them undecided, saying so."""
        try:
            with self._slots:
                answers = self._answers(questions)
        except (Exception, SystemExit) as error:  # noqa: BLE001  # the user's code: its fault breaks the case, not the run
            return [UnansweredQuestion(f"the judge raised {summary(error)}")] * len(questions)
        if isinstance(answers, str) or not isinstance(answers, Sequence):
            return [UnansweredQuestion(f"the judge returned {type(answers).__name__}, not a list of answers")] * len(
                questions
            )
        if len(answers) != len(questions):
            told = f"the judge gave {len(answers)} answers to {len(questions)} questions"
            return [UnansweredQuestion(told)] * len(questions)
        return [checked_answer(question, answer) for question, answer in zip(questions, answers, strict=True)]

    def _answers(self, questions: Sequence[Question]) -> Any:
        returned = self._judge(questions)
        if not inspect.isawaitable(returned):
            return returned
        if self._loop is not None:
            return self._loop.run(returned)
        with BackgroundLoop() as loop:
            return loop.run(returned)


def identity_of(judge: object) -> str | None:
    """Return the name that a judge's answers are kept under, None where there is none to rely on."""
    given = getattr(judge, "identity", None)
    if isinstance(given, str) and given:
        return given
    code = judge if inspect.isroutine(judge) else type(judge)
    try:
        source = inspect.getsource(code)
    except (OSError, TypeError):
        return None
    held = repr(_held(judge))
    digest = text_digest(f"{source}\n{held}")[:12]
    return f"{getattr(code, '__module__', '?')}.{getattr(code, '__qualname__', '?')}@{digest}"


def _held(judge: object) -> list[object]:
    """Plain values that a function or object carries along (a model's name, a threshold): part of what it is."""
    closure = [cell.cell_contents for cell in getattr(judge, "__closure__", None) or () if _filled(cell)]
    defaults = list(getattr(judge, "__defaults__", None) or ())
    attributes = list(vars(judge).items()) if not inspect.isroutine(judge) and hasattr(judge, "__dict__") else []
    plain = [item for item in (*closure, *defaults) if isinstance(item, str | int | float | bool | None)]
    return [*plain, *((name, item) for name, item in attributes if isinstance(item, str | int | float | bool))]


def _filled(cell: Any) -> bool:
    try:
        _ = cell.cell_contents
    except ValueError:
        return False
    return True
