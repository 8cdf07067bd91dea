"""A user's own judge."""

from __future__ import annotations

import functools
from dataclasses import dataclass

import pytest

from pytest_extract.core.results import Alignment, JudgeAnswer
from pytest_extract.extraction.caching_judge import build_judge
from pytest_extract.extraction.judges import identity_of
from tests.extraction.judge.questions import align, equal


def exits(questions):
    raise SystemExit(3)


def raises(questions):
    raise ValueError("sk-planted0123456789abcdef is no key")


async def later(questions):
    return [0.5 for _ in questions]


class Untold:
    def __repr__(self):
        raise ValueError("no text")


JUDGES = {
    "async": (later, JudgeAnswer(0.5), None),
    "bare score": (lambda questions: [0.25], JudgeAnswer(0.25), None),
    "bare yes": (lambda questions: [True], JudgeAnswer(1.0), None),
    "exits": (exits, None, "the judge raised SystemExit: 3"),
    "raises": (raises, None, "the judge raised ValueError: [redacted: API key] is no key"),
    "none": (lambda questions: [None], None, "the judge did not decide"),
    "no list": (lambda questions: "1", None, "returned str of 1, not a list"),
    "untold": (lambda questions: Untold(), None, "returned Untold, not a list"),
    "too few": (lambda questions: [], None, "returned list of 0, not a list of as many answers as questions (1)"),
    "out of range": (lambda questions: [2], None, "no number from 0 to 1"),
    "no number from 0 to 1": (lambda questions: [float("nan")], None, "no number from 0 to 1"),
    "wrong kind": (lambda questions: [Alignment(())], None, "answered Alignment where a JudgeAnswer"),
    "other things": (lambda questions: ["yes"], None, "answered str where a JudgeAnswer"),
}


@pytest.mark.parametrize(("user", "expected", "why"), JUDGES.values(), ids=JUDGES)
def test_the_users_own_judge(user, expected, why):
    judge = build_judge(user=user)
    question = equal("a", "b")
    assert judge([question]) == [expected]
    told = judge.why(question)
    assert (told is None) if why is None else (why in told)


def test_an_unsound_alignment_of_the_users_judge_is_none():
    judge = build_judge(user=lambda questions: [Alignment(((0, 5),)), JudgeAnswer(1.0), Alignment(((0, 1), (1, 0)))])
    rows = [align(["a", "b"], [str(n), "d"]) for n in range(3)]
    assert judge(rows) == [None, None, Alignment(((0, 1), (1, 0)))]
    assert "row 5 of 2" in judge.why(rows[0])


def judged(questions, strict):
    return [float(strict) for _ in questions]


def with_variable(*, strict):
    return lambda questions: judged(questions, strict)


def with_keyword(*, strict):
    return lambda questions, *, strict=strict: judged(questions, strict)


def with_settings(*, strict):
    settings = {"limits": {"strict": strict}}
    return lambda questions: judged(questions, settings["limits"]["strict"])


@dataclass(frozen=True)
class Plain:
    strict: bool

    def __call__(self, questions):
        return self.ask(questions)

    def ask(self, questions):
        return judged(questions, self.strict)


@dataclass(frozen=True, slots=True)
class Slotted(Plain):
    strict: bool


@dataclass(frozen=True)
class Configured:
    settings: dict[str, bool]

    def ask(self, questions):
        return judged(questions, self.settings["strict"])


KINDS = {
    "variable": with_variable,
    "keyword": with_keyword,
    "settings": with_settings,
    "partial": lambda *, strict: functools.partial(judged, strict=strict),
    "partial of an object": lambda *, strict: functools.partial(Slotted(strict)),
    "method": lambda *, strict: Slotted(strict).ask,
    "method, of settings": lambda *, strict: Configured({"strict": strict}).ask,
    "object": Plain,
    "slots": Slotted,
}


@pytest.mark.parametrize("make", KINDS.values(), ids=KINDS)
def test_a_judge_that_holds_another_value_never_gets_the_answers_of_the_first(tmp_path, make):
    assert identity_of(make(strict=True)) == identity_of(make(strict=True)) is not None
    for strict in (True, False):
        assert build_judge(user=make(strict=strict), folder=tmp_path)([equal("a", "A ")])[0].score == float(strict)


class Gathering:
    """A judge that remembers what it was asked and what it answered."""

    def __init__(self):
        self.asked = []
        self.memory = {}

    def __call__(self, questions):
        self.asked += questions
        self.memory |= {question.gold: 1.0 for question in questions}
        return [1.0 for _ in questions]


def test_a_judge_that_gathers_what_it_was_asked_stays_the_same(tmp_path):
    judge = Gathering()
    for _ in range(2):
        assert build_judge(user=judge, folder=tmp_path)([equal("a", "A ")])[0].score == 1.0
    assert len(judge.asked) == 1


def test_a_judge_whose_source_cannot_be_read_has_no_identity():
    assert identity_of(len) is None


def test_a_function_that_a_judge_holds_does_not_count():
    made = {}
    exec("def made(question): return 1.0", made)

    def judge(questions, each=made["made"]):
        return [each(question) for question in questions]

    assert identity_of(judge) is not None
    assert identity_of(made["made"]) is None
