"""The judge that is a model: few calls for a case's questions, some concurrent, and new calls for unusable answers.

Lists that are too long for one call are cut into parts that the judge aligns, and the answers put together again.
"""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from functools import partial
from typing import Final, NamedTuple, TypeAlias, TypeVar

from pytest_extract.core.case_result import Spending
from pytest_extract.core.engine.fits import metric_shares
from pytest_extract.core.engine.keyed import fitting_pairs
from pytest_extract.core.metrics.base import BoundMetric
from pytest_extract.core.results import Alignment, FailureKind, Question
from pytest_extract.core.values import Json, canonical_json
from pytest_extract.extraction.completions import Completion, LlmError, Retry, check_call_options, complete, started
from pytest_extract.extraction.judge.judges import Decision, UnansweredQuestion, alignment, folded_text, lengths
from pytest_extract.extraction.judge.prompt import batch_of, judge_messages, judge_response_format, quoted, read_answers
from pytest_extract.extraction.provider_errors import Outage

MOST_ROWS: Final = 50
"""Rows of each side in one call."""
MOST_CHARACTERS: Final = 60_000
"""Characters of both sides in one call; a longer row goes by itself."""
_ROUNDS: Final = 3

_T = TypeVar("_T")
_Sides: TypeAlias = tuple[Sequence[_T], Sequence[_T]]
Asking: TypeAlias = Generator[list[Question], list[Decision], Decision]
"""Yields questions to ask at once, receives their decisions in order, and returns one decision."""


class _Part(NamedTuple):
    """Rows of both sides, by index, that go in one call."""

    gold: tuple[int, ...]
    extracted: tuple[int, ...]


def ask_question(question: Question) -> Asking:
    """Ask a question as it is, but for an "align" question with long lists: that is asked in parts.

    Rows that are alike in their letters go in the same call, by best fit. What no call paired is asked once more, in up
    to `_ROUNDS` rounds, until a round pairs nothing or brings no rows together that have not met. A row that two calls
    paired belongs to the earlier one. The parts depend on the two lists only.
    """
    if question.kind != "align" or _fits(question):
        (decision,) = yield [question]
        return decision
    height, width = lengths(question)
    gold, extracted = set(range(height)), set(range(width))
    texts = [folded_text(row) for row in question.gold], [folded_text(row) for row in question.extracted]
    sizes = [len(quoted(row)) for row in question.gold], [len(quoted(row)) for row in question.extracted]
    pairs: list[tuple[int, int]] = []
    asked: list[_Part] = []
    for _ in range(_ROUNDS):
        cut = _cut(texts, sizes, sorted(gold), sorted(extracted))
        parts = [part for part in cut if not any(_covers(earlier, part) for earlier in asked)]
        if not parts:
            break
        decisions = yield [_part_of(question, part) for part in parts]
        before = len(pairs)
        for part, decision in zip(parts, decisions, strict=True):
            if not isinstance(decision, Alignment):
                why = decision.reason if isinstance(decision, UnansweredQuestion) else "no alignment"
                return UnansweredQuestion(f"one of the {len(parts)} calls for this long list was not answered: {why}")
            for i, j in decision.pairs:
                pair = part.gold[i], part.extracted[j]
                if pair[0] in gold and pair[1] in extracted:
                    pairs.append(pair)
                    gold.remove(pair[0])
                    extracted.remove(pair[1])
        asked += parts
        if len(pairs) == before or not gold or not extracted:
            break
    return alignment(height, width, pairs, f"asked in {len(asked)} parts")


def _fits(question: Question) -> bool:
    short = max(lengths(question)) <= MOST_ROWS
    return short and len(quoted([question.gold, question.extracted])) <= MOST_CHARACTERS


def _part_of(question: Question, part: _Part) -> Question:
    gold, extracted = [question.gold[i] for i in part.gold], [question.extracted[j] for j in part.extracted]
    return replace(question, gold=gold, extracted=extracted)


def _covers(earlier: _Part, part: _Part) -> bool:
    """Whether all rows of a part have met in an earlier call."""
    return set(part.gold) <= set(earlier.gold) and set(part.extracted) <= set(earlier.extracted)


def _cut(texts: _Sides[str], sizes: _Sides[int], gold: Sequence[int], extracted: Sequence[int]) -> Iterator[_Part]:
    """Cut the shorter side in its order, each piece with the rows of the longer side that go with it.

    So every row of the longer side is asked about, in as many calls as it takes.
    """
    if len(gold) <= len(extracted):
        homes = _homes(texts[0], texts[1], gold, extracted)
        yield from (_Part(few, many) for few, many in _pieces_of(homes, sizes[0], sizes[1]))
    else:
        homes = _homes(texts[1], texts[0], extracted, gold)
        yield from (_Part(many, few) for few, many in _pieces_of(homes, sizes[1], sizes[0]))


def _homes(
    few_texts: Sequence[str], many_texts: Sequence[str], few: Sequence[int], many: Sequence[int]
) -> dict[int, list[int]]:
    """Give each row of the longer side to one of the shorter side: by best fit, as often as it takes."""
    from rapidfuzz.distance import Indel

    metric = BoundMetric(name="letters", compare=Indel.normalized_similarity)
    homes: dict[int, list[int]] = {row: [] for row in few}
    left = list(many)
    while left:
        texts = [few_texts[i] for i in few], [many_texts[j] for j in left]
        pairs = fitting_pairs(metric_shares(metric, [texts]))
        # rows that are like none go with the others' in turn
        pairs = pairs or [(place % len(few), place) for place in range(len(left))]
        for i, j in pairs:
            homes[few[i]].append(left[j])
        placed = {j for _, j in pairs}
        left = [row for place, row in enumerate(left) if place not in placed]
    return homes


def _pieces_of(
    homes: Mapping[int, Sequence[int]], few_sizes: Sequence[int], many_sizes: Sequence[int]
) -> Iterator[tuple[tuple[int, ...], tuple[int, ...]]]:
    for few in _pieces(list(homes), few_sizes):
        turns = max(len(homes[row]) for row in few)
        many = [homes[row][turn] for turn in range(turns) for row in few if turn < len(homes[row])]  # best fits first
        yield from ((tuple(few), tuple(piece)) for piece in _pieces(many, many_sizes))


def _pieces(rows: Sequence[int], sizes: Sequence[int]) -> Iterator[list[int]]:
    """Cut rows so that each piece takes at most half of the characters and all of the rows that a call may have."""
    piece: list[int] = []
    size = 0
    for row in rows:
        if piece and (len(piece) == MOST_ROWS or size + sizes[row] > MOST_CHARACTERS // 2):
            yield piece
            piece, size = [], 0
        piece.append(row)
        size += sizes[row]
    if piece:
        yield piece


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
        check_call_options(self._options)
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
        if answer.elsewhere:
            return [UnansweredQuestion(f"the judge's answer is empty; {answer.elsewhere}")] * len(questions)
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
