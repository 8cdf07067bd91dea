"""The judge that is a model: few calls for a case's questions, some concurrent, and new calls for unusable answers."""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import partial
from typing import Final

from pytest_extract.core.case_result import Spending
from pytest_extract.core.results import FailureKind, Question
from pytest_extract.core.values import Json, canonical_json
from pytest_extract.extraction.judge.answers import Decision, UnansweredQuestion
from pytest_extract.extraction.judge.long_lists import MOST_CHARACTERS, ask_question
from pytest_extract.extraction.judge.prompt import batch_of, judge_messages, judge_response_format, quoted, read_answers
from pytest_extract.extraction.llm.client import Completion, LlmError, Retry, complete, started
from pytest_extract.extraction.llm.outage import Outage

_CALLS_FOR_ONE: Final = 3
"""Calls in which questions that fit one call are answered, or stay undecided."""
_IDLE_ROUNDS: Final = 2
"""Rounds without any answer after which a judge is not asked again."""


def _spending_of(answer: Completion) -> Spending:
    usage = answer.usage
    uncounted = answer.cost_usd is None and not (usage and usage.complete)
    return Spending(
        calls=1,
        unpriced=int(answer.cost_usd is None),
        uncounted=int(uncounted),
        cost_usd=answer.cost_usd or 0.0,
        estimated_usd=answer.estimated_usd if uncounted else 0.0,
        prompt_tokens=(usage and usage.prompt_tokens) or 0,
        completion_tokens=(usage and usage.completion_tokens) or 0,
    )


class LlmJudge:
    """Ask `model` through litellm.

    "equal" questions go up to 50 a call (and 60,000 characters), an "align" question a call, or several for lists of
    more than 50 rows (or 60,000 characters); each call holds one of `slots` (four at once over all threads, if none are
    given). Questions without a sound answer are asked again while that helps, in three calls at most for what one call
    could have answered, and then stay undecided; a batch of "equal" questions that is too long for the model is cut
    until it fits. `options` go to `litellm.completion`; a field's own (another model,
    say: `Question.options`) go before them, in calls of their own.
    """

    def __init__(
        self,
        model: str,
        *,
        slots: AbstractContextManager[object] | None = None,
        retry: Retry | None = None,
        options: Mapping[str, Json] | None = None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self.model = model
        self.identity = model
        self.spent = Spending()
        self._slots = slots or threading.BoundedSemaphore(4)
        self._lock = threading.Lock()
        self._retry = retry
        self._options = dict(options or {})
        self._sleep = sleep
        self._outage = Outage()

    def __call__(self, questions: Sequence[Question]) -> list[Decision]:
        """Return a decision for each question, in order; a failed call leaves its questions undecided."""
        decisions: list[Decision] = [UnansweredQuestion("not asked")] * len(questions)
        asking = {index: ask_question(question) for index, question in enumerate(questions)}
        wanted = {index: next(one) for index, one in asking.items()}
        while wanted:
            answers = iter(self._decide([question for asked in wanted.values() for question in asked]))
            for index, asked in list(wanted.items()):
                try:
                    wanted[index] = asking[index].send([next(answers) for _ in asked])
                except StopIteration as finished:
                    decisions[index] = finished.value
                    del wanted[index]
        return decisions

    def _decide(self, questions: Sequence[Question]) -> list[Decision]:
        """Ask questions, each in one call, and again what has no sound answer."""
        decisions: list[Decision] = [UnansweredQuestion("not asked")] * len(questions)
        fits, idle = _Fits(), 0
        groups = list(_grouped(questions, range(len(questions)), fits))
        left = _CALLS_FOR_ONE * len(groups)
        while groups and len(groups) <= left and idle < _IDLE_ROUNDS:
            answers = self._ask_all(questions, groups)
            for group, answered in zip(groups, answers, strict=True):
                for index, answer in zip(group, answered, strict=True):
                    decisions[index] = answer
            declined = any(isinstance(answered[0], _TooLong) for answered in answers)
            left -= len(groups)
            settled = any(not _worth_asking(answer) for answered in answers for answer in answered)
            idle = 0 if settled or declined else idle + 1
            fits = fits if settled and not declined else fits.halved()
            open_ones = [index for index, decision in enumerate(decisions) if _worth_asking(decision)]
            groups = list(_grouped(questions, open_ones, fits))
            left = _CALLS_FOR_ONE * len(groups) if declined else left
        return decisions

    def _ask_all(self, questions: Sequence[Question], groups: Sequence[Sequence[int]]) -> list[list[Decision]]:
        batches = [[questions[index] for index in group] for group in groups]
        calls = [started(partial(self._ask, batch)) for batch in batches]
        return [call.result() for call in calls]

    def _ask(self, questions: Sequence[Question]) -> list[Decision]:
        batch = batch_of(questions, secrets.token_hex(6))
        options = {"model": self.model, **self._options, **questions[0].options}
        try:
            with self._slots:
                answer = complete(
                    options.pop("model"),
                    judge_messages(batch),
                    retry=self._retry,
                    preferred={"temperature": 0.0, "response_format": judge_response_format(batch.kind)},
                    sleep=self._sleep,
                    outage=self._outage,
                    **options,
                )
        except LlmError as error:
            too_long = error.kind is FailureKind.CONTEXT_LENGTH and len(questions) > 1
            return [(_TooLong if too_long else _Failed)(f"the judge could not be asked: {error}")] * len(questions)
        with self._lock:
            self.spent += _spending_of(answer)
        if answer.refusal:
            return [UnansweredQuestion(f"the judge refused: {answer.refusal}")] * len(questions)
        return list(read_answers(batch, answer.text, answer.finish_reason).values())


class _Failed(UnansweredQuestion):
    """A call that was retried in vain already: asking again in the same breath helps nobody."""


class _TooLong(UnansweredQuestion):
    """A batch that the model declined for its length; it costs nothing, and half of it may fit."""


@dataclass(frozen=True, slots=True)
class _Fits:
    """How much goes in one call."""

    questions: int = 50
    characters: int = MOST_CHARACTERS

    def halved(self) -> _Fits:
        """Return half as much: what was cut off, or too long, may then be whole."""
        return _Fits(-(-self.questions // 2), -(-self.characters // 2))


def _worth_asking(decision: Decision) -> bool:
    return isinstance(decision, UnansweredQuestion) and not isinstance(decision, _Failed)


def _grouped(questions: Sequence[Question], indices: Iterable[int], fits: _Fits) -> Iterator[list[int]]:
    """Yield the indices that go in one call: alignments alone, the others as many as fit, alike in their options."""
    group: list[int] = []
    size = 0
    for index in sorted(indices, key=lambda index: canonical_json(dict(questions[index].options))):
        question = questions[index]
        if question.kind == "align":
            yield [index]
            continue
        length = len(quoted([question.gold, question.extracted, question.instructions]))
        full = len(group) == fits.questions or size + length > fits.characters
        if group and (full or questions[group[0]].options != question.options):
            yield group
            group, size = [], 0
        group.append(index)
        size += length
    if group:
        yield group
