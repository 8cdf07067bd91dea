"""Judges of several processes that keep their answers in one folder: what they all want to know is asked once.

Two desks know nothing of each other but through the folder, as those of two processes.
"""

from __future__ import annotations

import os
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from pytest_extract.core.results import JudgeAnswer
from pytest_extract.extraction.caching_judge import answer_files, build_judge
from tests.extraction.judge.questions import equal


class Named:
    """A judge that can be asked in several processes: it has a name of its own."""

    identity = "mine"

    def __init__(self, answer=1.0):
        self.answer = answer
        self.asked = []

    def __call__(self, questions):
        self.asked.extend(question.gold for question in questions)
        return [self.answer for _ in questions]


class Slow(Named):
    """Is not done before another desk waits for it."""

    def __init__(self, waited, answer=1.0):
        super().__init__(answer)
        self.waited = waited
        self.entered = threading.Event()

    def __call__(self, questions):
        self.entered.set()
        self.waited.wait()
        answers = super().__call__(questions)
        if self.answer == "raises":
            raise KeyboardInterrupt
        return answers


def both(folder, slow, other, **how):
    """Ask one desk about a and b, and another about b and c while the first is at it."""
    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(build_judge(user=slow, folder=folder, **how), [equal("a", "x"), equal("b", "x")])
        slow.entered.wait()
        second = build_judge(user=other, folder=folder, **how)([equal("b", "x"), equal("c", "x")])
    return first, second


@pytest.mark.parametrize("since", [None, 0.0], ids=["new", "asked anew"])
def test_two_desks_that_meet_the_same_new_question_ask_it_once(tmp_path, waited, since):
    slow, other = Slow(waited, 0.25), Named(0.75)
    first, second = both(tmp_path, slow, other, since=since)
    assert first.result() == [JudgeAnswer(0.25, "")] * 2
    assert second == [JudgeAnswer(0.25, ""), JudgeAnswer(0.75, "")]
    assert slow.asked == ["a", "b"]
    assert other.asked == ["c"]


def test_who_waited_for_a_judge_that_did_not_decide_asks_its_own(tmp_path, waited):
    slow, other = Slow(waited, None), Named()
    first, second = both(tmp_path, slow, other)
    assert first.result() == [None, None]
    assert second == [JudgeAnswer(1.0, "")] * 2
    assert sorted(other.asked) == ["b", "c"]


def test_who_waited_for_a_judge_that_was_interrupted_asks_its_own(tmp_path, waited):
    slow, other = Slow(waited, "raises"), Named()
    first, second = both(tmp_path, slow, other)
    assert isinstance(first.exception(), KeyboardInterrupt)
    assert second == [JudgeAnswer(1.0, "")] * 2


def test_two_judges_do_not_wait_for_each_other(tmp_path):
    other = Named()
    other.identity = "another"

    class Asking(Named):
        def __call__(self, questions):
            self.inner = build_judge(user=other, folder=tmp_path)(questions)
            return super().__call__(questions)

    asking = Asking(0.5)
    assert build_judge(user=asking, folder=tmp_path)([equal("a", "x")]) == [JudgeAnswer(0.5, "")]
    assert asking.inner == [JudgeAnswer(1.0, "")]


def test_who_asks_anew_asks_what_another_has_not_asked_anew(tmp_path):
    build_judge(user=Named(0.0), folder=tmp_path)([equal("a", "x"), equal("b", "x")])
    for path in answer_files(tmp_path):
        os.utime(path, (1_000.0, 1_000.0))
    first, second = Named(0.25), Named(0.75)
    desks = [build_judge(user=each, folder=tmp_path, since=2_000.0) for each in (first, second)]
    assert desks[0]([equal("a", "x")]) == [JudgeAnswer(0.25, "")]
    assert desks[1]([equal("a", "x"), equal("b", "x")]) == [JudgeAnswer(0.25, ""), JudgeAnswer(0.75, "")]
    assert second.asked == ["b"]
