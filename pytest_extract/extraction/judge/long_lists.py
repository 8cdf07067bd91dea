"""Lists that are too long for one call: cut into parts that a judge aligns, and the answers put together again."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final, NamedTuple, TypeAlias, TypeVar

from pytest_extract.core.engine.columns import MetricColumn
from pytest_extract.core.engine.keyed import fitting_pairs
from pytest_extract.core.metrics.base import BoundMetric
from pytest_extract.core.results import Alignment, Question
from pytest_extract.extraction.judge.answers import Decision, UnansweredQuestion, alignment, lengths
from pytest_extract.extraction.judge.builtin import folded_text
from pytest_extract.extraction.judge.prompt import quoted

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
        column = MetricColumn([few_texts[i] for i in few], [many_texts[j] for j in left], metric)
        pairs = fitting_pairs([column], len(few), len(left))
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
