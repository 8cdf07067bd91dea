"""Judges that are no model: `exact` and `fuzzy`, which ask nobody, and the user's own; the check of every answer."""

from __future__ import annotations

import inspect
import json
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, TypeAlias

from pytest_extract.core.engine.fits import metric_shares
from pytest_extract.core.engine.keyed import fitting_pairs, multiset
from pytest_extract.core.metrics.base import BoundMetric
from pytest_extract.core.results import Alignment, JudgeAnswer, Question
from pytest_extract.core.values import Json, text_digest
from pytest_extract.errors import ConfigError
from pytest_extract.extraction.call import BackgroundLoop, awaited
from pytest_extract.extraction.provider_errors import summary


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
        return UnansweredQuestion(f"the judge answered {type(answer).__name__} where a JudgeAnswer was asked for")
    score: object = answer.score  # of the user's making: its type is not to be relied on
    if not isinstance(score, int | float) or not 0 <= score <= 1:  # a NaN is not in any range
        return UnansweredQuestion(NO_SCORE)
    return JudgeAnswer(float(score), str(answer.reason))


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


def _checked_alignment(question: Question, answer: Any) -> Decision:
    if not isinstance(answer, Alignment):
        return UnansweredQuestion(f"the judge answered {type(answer).__name__} where an Alignment was asked for")
    gold, extracted = lengths(question)
    for at, (side, size) in enumerate((("gold", gold), ("extracted", extracted))):
        used = [pair[at] for pair in answer.pairs]
        outside = next((row for row in used if not 0 <= row < size), None)
        if outside is not None:
            return UnansweredQuestion(f"the judge's alignment names {side} row {outside} of {size}")
        if len(set(used)) < len(used):
            return UnansweredQuestion(f"the judge's alignment uses a {side} row twice")
    return alignment(gold, extracted, answer.pairs, str(answer.reason))


def ask_exact(questions: Sequence[Question]) -> list[Decision]:
    """Decide by equality after NFC, casefold and white-space folding of all texts inside; rows are paired so, too."""
    return [_guarded(question, _exact) for question in questions]


def ask_fuzzy(questions: Sequence[Question]) -> list[Decision]:
    """Decide by 1 - edits / length of the longer folded text; rows are paired so that it is highest, row by row."""
    return [_guarded(question, _fuzzy) for question in questions]


def folded(value: Json) -> Json:
    """Return the value with every text (keys too) in NFC, casefolded, its white space folded and trimmed."""
    if isinstance(value, str):
        return " ".join(unicodedata.normalize("NFC", value).casefold().split())
    if isinstance(value, list):
        return [folded(item) for item in value]
    if isinstance(value, dict):
        return {folded(key): folded(item) for key, item in value.items()}
    return value


def folded_text(value: Json) -> str:
    """Return a value's folded text: a string as it is, anything else as canonical JSON."""
    plain = folded(value)
    return plain if isinstance(plain, str) else json.dumps(plain, sort_keys=True, ensure_ascii=False)


def similarity(gold: Json, extracted: Json) -> float:
    """Return the normalised Levenshtein similarity of two values' folded texts, in [0, 1]."""
    from rapidfuzz.distance import Levenshtein

    return float(Levenshtein.normalized_similarity(folded_text(gold), folded_text(extracted)))


def _guarded(question: Question, decide: Callable[[Question], Decision]) -> Decision:
    try:
        return decide(question)
    except RecursionError:
        return UnansweredQuestion("the values are nested too deeply to compare")


def _exact(question: Question) -> Decision:
    if question.kind == "equal":
        same = _key(question.gold) == _key(question.extracted)
        return JudgeAnswer(float(same), "equal after folding" if same else "not equal after folding")
    gold, extracted = lengths(question)
    pairs = multiset(question.gold, question.extracted, _key).pairs if gold and extracted else ()
    return alignment(gold, extracted, pairs, "rows equal after folding")


def _fuzzy(question: Question) -> Decision:
    if question.kind == "equal":
        score = similarity(question.gold, question.extracted)
        return JudgeAnswer(score, f"similarity of the letters: {score:.2f}")
    gold, extracted = lengths(question)
    metric = BoundMetric(name="fuzzy", compare=similarity)
    pairs = fitting_pairs(metric_shares(metric, [(question.gold, question.extracted)])) if gold and extracted else []
    return alignment(gold, extracted, pairs, "best fit of the letters")


def _key(value: Json) -> str:
    """Text of a value that no other value has: the string "1" is not the number 1."""
    return json.dumps(folded(value), sort_keys=True)


def user_judge(
    judge: object, loop: BackgroundLoop | None = None, slots: AbstractContextManager[object] | None = None
) -> Ask:
    """Return what asks a callable from questions to answers (`JudgeAnswer`, `Alignment`, a bare score, `None`).

    It may be sync or async; a call holds one of `slots`, if there are any. Whatever is wrong with it leaves its
    questions undecided, saying so.
    """
    if not callable(judge):
        raise ConfigError(
            f"the fixture `extract_judge` gave {judge!r:.80}, which cannot be called; return a function from "
            "questions to as many answers: def judge(questions): ..."
        )

    def ask(questions: Sequence[Question]) -> list[Decision]:
        try:
            with slots or nullcontext():
                answers = awaited(judge(questions), loop)
        except (Exception, SystemExit) as error:  # noqa: BLE001  # the user's code: its fault breaks the case, not the run
            why = f"the judge raised {summary(error)}"
        else:
            if isinstance(answers, Sequence) and not isinstance(answers, str) and len(answers) == len(questions):
                return [checked_answer(question, answer) for question, answer in zip(questions, answers, strict=True)]
            size = f" of {len(answers)}" if isinstance(answers, Sequence) else ""
            returned = f"{type(answers).__name__}{size}"  # its text may fail, or hold a secret
            why = f"the judge returned {returned}, not a list of as many answers as questions ({len(questions)})"
        return [UnansweredQuestion(why)] * len(questions)

    return ask


def identity_of(judge: object) -> str | None:
    """Return the name that a judge's answers are kept under, None where there is none to rely on.

    That is its attribute `identity`, else its name and a digest of its source and of the plain values that it holds, so
    that an edited judge is asked again. A callable whose source cannot be read has none, and its answers are not kept.
    """
    given = getattr(judge, "identity", None)
    if isinstance(given, str) and given:
        return given
    code = judge
    while isinstance(code, partial):
        code = code.func
    owner = getattr(code, "__self__", None) if inspect.ismethod(code) else None
    code = code if inspect.isroutine(code) else type(code)
    try:
        source = inspect.getsource(code)
        if owner is not None:
            source += inspect.getsource(owner if inspect.isclass(owner) else type(owner))
    except (OSError, TypeError):
        return None
    digest = text_digest(f"{source}\n{_held(judge)!r}")[:12]
    return f"{getattr(code, '__module__', '?')}.{getattr(code, '__qualname__', '?')}@{digest}"


def _held(judge: object, inside: frozenset[int] = frozenset()) -> list[object]:
    """Plain values that a function or object carries along (a model's name, a threshold): part of what it is."""
    parts: list[object]
    if isinstance(judge, partial):
        parts = [*_held(judge.func, inside), *judge.args, *judge.keywords.items()]
    elif inspect.ismethod(judge):
        parts = [judge.__func__, *_attributes(judge.__self__)]
    elif inspect.isroutine(judge):
        closure = [cell.cell_contents for cell in getattr(judge, "__closure__", None) or () if _filled(cell)]
        named = (getattr(judge, "__kwdefaults__", None) or {}).items()
        parts = [*closure, *(getattr(judge, "__defaults__", None) or ()), *named]
    else:
        parts = [part for part in _attributes(judge) if not isinstance(part[1], dict)]  # one may be filled by answers
    found: list[object] = []
    for part in parts:
        if _is_plain(part):
            found.append(part)
        elif (inspect.isroutine(part) or isinstance(part, partial)) and id(part) not in inside:
            found += _held(part, inside | {id(judge)})
    return found


def _attributes(judge: object) -> list[tuple[str, object]]:
    """Return the names and values that an object holds, in a dict or in slots."""
    state: Any = object.__getstate__(judge)
    parts = state if isinstance(state, tuple) else (state,)
    return [(name, item) for part in parts for name, item in (part or {}).items() if item is not None]


def _is_plain(value: object) -> bool:
    """Whether a value is a setting: no list, in which a judge may gather what it was asked."""
    if isinstance(value, dict):
        return all(map(_is_plain, value.items()))
    if isinstance(value, tuple):
        return all(map(_is_plain, value))
    return isinstance(value, str | int | float | bool | None)


def _filled(cell: Any) -> bool:
    try:
        _ = cell.cell_contents
    except ValueError:
        return False
    return True
