"""Where a case's questions are answered: people's verdicts first, then kept answers, then the judge itself."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Future

from pytest_extract.core.results import Alignment, Answer, JudgeAnswer, Question
from pytest_extract.extraction.judge.answers import Ask, Decision, UnansweredQuestion
from pytest_extract.extraction.judge.kept import KeptAnswers
from pytest_extract.extraction.judge.keys import question_key
from pytest_extract.extraction.judge.llm import JudgeSpending
from pytest_extract.extraction.judge.overrides import Overrides


class CachingJudge:
    """A `Judge` (`core.results`): `desk(questions) -> answers`, None where nobody could decide; `why` says why not.

    ask: the judge itself, None to replay only. kept: None keeps answers in memory only.
    """

    def __init__(
        self,
        ask: Ask | None,
        *,
        kept: KeptAnswers | None = None,
        overrides: Overrides | None = None,
    ) -> None:
        self._ask = ask
        self._kept = kept
        self._overrides = overrides or Overrides()
        self._lock = threading.Lock()
        self._known: dict[str, JudgeAnswer | Alignment] = {}
        self._undecided: dict[str, str] = {}
        self._under_way: dict[str, Future[Decision]] = {}

    def __call__(self, questions: Sequence[Question]) -> list[Answer]:
        """Answer all questions; equal ones get one answer, and are asked once."""
        keys = [question_key(question) for question in questions]
        wanted = {key: question for key, question in zip(keys, questions, strict=True) if isinstance(key, str)}
        decided: dict[str, Decision] = {key: self._at_hand(key, question) for key, question in wanted.items()}
        unasked = {key: wanted[key] for key, found in decided.items() if isinstance(found, _ToAsk)}
        decided.update(self._asked(unasked))
        with self._lock:
            settled = {key: self._settle(key, found) for key, found in decided.items()}
        return [settled[key] if isinstance(key, str) else None for key in keys]

    def why(self, question: Question) -> str | None:
        """Say why a question was left undecided, None if it was not."""
        key = question_key(question)
        return key.reason if isinstance(key, UnansweredQuestion) else self._undecided.get(key)

    @property
    def spent(self) -> JudgeSpending:
        """What the model that judges has cost so far in this process; nothing for other judges."""
        spent = getattr(self._ask, "spent", None)
        return spent if isinstance(spent, JudgeSpending) else JudgeSpending()

    @property
    def undecided(self) -> Mapping[str, str]:
        """Reasons by question key."""
        return dict(self._undecided)

    def _at_hand(self, key: str, question: Question) -> Decision:
        override = self._overrides.find(question)
        if override is not None:
            return override
        with self._lock:
            known = self._known.get(key)
        if known is not None:
            return known
        kept = None if self._kept is None else self._kept.find(key, question)
        return _ToAsk("not asked yet") if kept is None else kept

    def _asked(self, questions: Mapping[str, Question]) -> dict[str, Decision]:
        if not questions:
            return {}
        if self._ask is None:
            told = "replay only, and no answer is kept for this pair: run once with --extract-record=once"
            return dict.fromkeys(questions, UnansweredQuestion(told))
        mine, others = self._claimed(questions)
        try:
            decided = self._ask_for(self._ask, {key: questions[key] for key in mine})
        except BaseException:
            decided = dict.fromkeys(mine, UnansweredQuestion("the judge was interrupted"))
            raise
        finally:
            self._tell_others(mine, decided)
        return decided | {key: told.result() for key, told in others.items()}

    def _claimed(self, questions: Iterable[str]) -> tuple[dict[str, Future[Decision]], dict[str, Future[Decision]]]:
        """Part questions into those that this thread has to ask, and those that another one is asking just now.

        Nobody waits for another before its own are answered, so that two cannot wait for each other.
        """
        with self._lock:
            others = {key: self._under_way[key] for key in questions if key in self._under_way}
            mine: dict[str, Future[Decision]] = {key: Future() for key in questions if key not in others}
            for key, told in mine.items():
                if key in self._known:  # answered since this thread looked
                    told.set_result(self._known[key])
            others |= {key: told for key, told in mine.items() if told.done()}
            mine = {key: told for key, told in mine.items() if key not in others}
            self._under_way |= mine
        return mine, others

    def _ask_for(self, ask: Ask, questions: Mapping[str, Question]) -> dict[str, Decision]:
        if not questions:
            return {}
        if self._kept is not None:
            return self._kept.asked(ask, questions)
        return dict(zip(questions, ask(list(questions.values())), strict=True))

    def _tell_others(self, mine: Mapping[str, Future[Decision]], decided: Mapping[str, Decision]) -> None:
        with self._lock:
            for key, told in mine.items():
                found = decided[key]
                if not isinstance(found, UnansweredQuestion):
                    self._known.setdefault(key, found)
                told.set_result(found)
                del self._under_way[key]

    def _settle(self, key: str, found: Decision) -> Answer:
        """Remember a decision; the first one of this process counts, also when two threads asked at once."""
        if isinstance(found, UnansweredQuestion):
            self._undecided[key] = found.reason
            return None
        self._undecided.pop(key, None)
        return self._known.setdefault(key, found)


class _ToAsk(UnansweredQuestion):
    """Nobody has answered yet."""
