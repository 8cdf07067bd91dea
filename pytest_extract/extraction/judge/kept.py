"""A judge whose answers are kept: what is kept is not asked, and what several processes want to know is asked once."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from pytest_extract.core.results import Question
from pytest_extract.errors import NotWritten
from pytest_extract.extraction.judge.answers import Ask, Decision, UnansweredQuestion
from pytest_extract.extraction.judge.cache import AnswerCache


class KeptAnswers:
    """The answers in a cache, and the way to new ones. `refresh`: what is kept counts only if this run has asked it.

    A run is here whoever asks anew in the same folder at the same time: the workers of xdist. `on_unkept` is told of
    each answer that cannot be written: it counts all the same, for it was paid for.
    """

    def __init__(
        self, cache: AnswerCache, *, refresh: bool = False, on_unkept: Callable[[NotWritten], None] | None = None
    ) -> None:
        self._cache = cache
        self._on_unkept = on_unkept
        self._news = cache.renewed() if refresh else None
        self._renewed: set[str] = set()

    def find(self, key: str, question: Question) -> Decision | None:
        """Return the kept answer if it counts."""
        if self._news is not None:
            self._renewed.update(self._news.heard())
            if key not in self._renewed:
                return None
        return self._cache.get(question, key)

    def asked(self, ask: Ask, questions: Mapping[str, Question]) -> dict[str, Decision]:
        """Answer questions: those that another process is asking just now, by what it is told.

        Nobody waits for another before its own are answered, so that two cannot wait for each other; nor does who waits
        hold a slot. What the other leaves without an answer (it was killed, or its judge failed) is asked here.
        """
        with self._cache.claims.claim(questions.keys()) as claim:
            decided = self._found_or_asked(ask, {key: questions[key] for key in questions if key in claim.mine})
        claim.wait()
        return decided | self._found_or_asked(ask, {key: questions[key] for key in questions if key in claim.theirs})

    def _found_or_asked(self, ask: Ask, questions: Mapping[str, Question]) -> dict[str, Decision]:
        found = {key: self.find(key, question) for key, question in questions.items()}
        decided = {key: decision for key, decision in found.items() if decision is not None}
        left = {key: question for key, question in questions.items() if key not in decided}
        if left:
            answers = ask(list(left.values()))
            decided |= {key: self._kept(key, left[key], one) for key, one in zip(left, answers, strict=True)}
        return decided

    def _kept(self, key: str, question: Question, decision: Decision) -> Decision:
        if isinstance(decision, UnansweredQuestion):
            return decision
        try:
            counts = self._cache.put(question, key, decision, replace=self._news is not None)
        except NotWritten as error:
            if self._on_unkept is not None:
                self._on_unkept(error)
            return decision
        except RecursionError as error:
            return UnansweredQuestion(f"the answer could not be kept: {error}")
        if self._news is not None:
            self._news.tell(key)
        return counts
