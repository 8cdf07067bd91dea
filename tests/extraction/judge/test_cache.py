"""Where answers come from: people, kept answers, the judge; and what is kept."""

from __future__ import annotations

import json
import os
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from pytest_extract import redact as secrets
from pytest_extract.core.results import Alignment, JudgeAnswer
from pytest_extract.errors import CaseFileErrors, ConfigError
from pytest_extract.extraction import caching_judge
from pytest_extract.extraction.caching_judge import answer_files, build_judge
from tests.extraction.judge.questions import align, equal
from tests.redact.corpus import SECRETS, made


class Rule:
    """A user's judge that counts; one with a name of its own can be asked in several processes."""

    identity = "mine"

    def __init__(self, answer=1.0):
        self.answer = answer
        self.asked = []

    def __call__(self, questions):
        self.asked += [question.gold for question in questions]
        return [
            self.answer if question.kind == "equal" else Alignment(((0, 0),), reason="first") for question in questions
        ]


AB = equal("a", "b")


def scores(answers):
    return [None if answer is None else answer.score for answer in answers]


def test_equal_questions_are_asked_once_and_get_one_answer(tmp_path):
    rule = Rule()
    judge = build_judge(user=rule, folder=tmp_path)
    same = [AB, equal("a", "b", "loosely"), AB, equal(1, 2), equal(True, 2), equal(1.0, 2)]
    assert judge(same) == [JudgeAnswer(1.0)] * 6
    assert rule.asked == ["a", "a", 1, True, 1.0]
    judge(same)
    assert len(rule.asked) == 5


def test_answers_are_kept_over_runs_and_reviewable(tmp_path):
    questions = [equal("a", "b", "loosely"), align([1], [2, 3], {"": "exact"})]
    first = build_judge(user=Rule(JudgeAnswer(1.0, "by rule")), folder=tmp_path)(questions)
    rule = Rule(0.0)
    assert build_judge(user=rule, folder=tmp_path)(questions) == first
    assert first == [JudgeAnswer(1.0, "by rule"), Alignment(((0, 0),), missed=(), spurious=(1,), reason="first")]
    assert rule.asked == []
    bodies = [json.loads(path.read_text()) for path in answer_files(tmp_path)]
    (verdict,) = (body for body in bodies if body["question"]["kind"] == "equal")
    values = {"gold": "a", "extracted": "b"}
    assert verdict["question"] == {"kind": "equal", **values, "instructions": "loosely", "metrics": {}}
    assert verdict["answer"] == {"score": 1.0, "reason": "by rule"}
    assert (verdict["prompt_version"], verdict["redacted"]) == (1, False)


def test_a_new_prompt_for_lists_leaves_the_answers_to_single_values_valid(tmp_path, monkeypatch):
    rule, questions = Rule(), [AB, align([1], [2])]
    build_judge(user=rule, folder=tmp_path)(questions)
    monkeypatch.setattr(caching_judge, "PROMPT_VERSIONS", {"equal": 1, "align": 99})
    build_judge(user=rule, folder=tmp_path)(questions)
    assert rule.asked == ["a", [1], [1]]


def test_another_judge_is_asked_anew(tmp_path):
    build_judge(user=Rule(0.0), folder=tmp_path)([AB])
    other = Rule(1.0)
    other.identity = "mine, version 2"
    assert scores(build_judge(user=other, folder=tmp_path)([AB])) == [1.0]


def test_refresh_asks_again_once_and_keeps_the_new_answer(tmp_path):
    build_judge(user=Rule(0.0), folder=tmp_path)([AB])
    rule = Rule(1.0)
    judge = build_judge(user=rule, folder=tmp_path, since=time.time() + 1.0)
    assert scores(judge([AB]) + judge([AB])) == [1.0, 1.0]
    assert rule.asked == ["a"]
    assert scores(build_judge(user=Rule(0.5), folder=tmp_path)([AB])) == [1.0]


def test_replay_only_takes_what_is_kept_and_says_what_is_not(tmp_path):
    build_judge(user=Rule(), folder=tmp_path)([AB])
    rule = Rule(0.0)
    judge = build_judge(user=rule, folder=tmp_path, replay_only=True)
    assert scores(judge([AB, equal("x", "y")])) == [1.0, None]
    assert rule.asked == []
    assert judge.why(AB) is None
    assert "--extract-record=once" in judge.why(equal("x", "y"))


def test_an_undecided_question_is_asked_again_next_time(tmp_path):
    answers = [None, 1.0]
    judge = build_judge(user=lambda questions: [answers.pop(0)], folder=tmp_path)
    assert scores(judge([AB])) == [None]
    assert scores(judge([AB])) == [1.0]
    assert judge.why(AB) is None


@pytest.mark.parametrize("value", ["\ud800", {"\udfff": float("nan")}, 10**400, {"a": [None, -0.0]}], ids=repr)
def test_odd_values_are_kept(tmp_path, value):
    build_judge(user=Rule(), folder=tmp_path)([equal(value, "a")])
    assert scores(build_judge(user=Rule(0.0), folder=tmp_path)([equal(value, "a")])) == [1.0]


@pytest.mark.parametrize("text", ["{", '{"answer": {}}', '{"answer": {"score": 7, "reason": ""}}'])
def test_a_damaged_answer_is_told(tmp_path, text):
    build_judge(user=Rule(), folder=tmp_path)([AB])
    (path,) = answer_files(tmp_path)
    path.write_text(text)
    judge = build_judge(user=Rule(), folder=tmp_path)
    assert judge([AB]) == [None]
    assert ("no number from 0 to 1" if "7" in text else "delete it") in judge.why(AB)


def test_no_secret_is_kept(tmp_path, monkeypatch):
    monkeypatch.setattr(secrets, "_current", None)
    secrets.TALLY.taken()
    planted = made("{a32}")
    monkeypatch.setenv("SOME_TOKEN", planted)
    key, other = SECRETS["openai, project"], SECRETS["notion"]
    judge = build_judge(user=Rule(JudgeAnswer(1.0, f"both say {planted}")), folder=tmp_path)
    assert scores(judge([equal(key, {"password": "data", "key": other}, f"key: {SECRETS['aws']}")])) == [1.0]
    (text,) = [path.read_text() for path in answer_files(tmp_path)]
    assert all(secret not in text for secret in (planted, key, other, SECRETS["aws"]))
    assert json.loads(text)["redacted"] is True
    assert json.loads(text)["question"]["extracted"]["password"] == "data"
    assert {place for place, _, _ in secrets.TALLY.taken()} == {"kept judge answer"}


@pytest.mark.parametrize(("given", "message"), [({}, "--extract-judge-model"), ({"user": 3}, "cannot be called")])
def test_a_judge_that_cannot_be_is_refused(given, message):
    with pytest.raises(ConfigError, match=message):
        build_judge(**given)


# --- threads of one process


@pytest.mark.parametrize("locks", [True, False], ids=["locks", "no locks"])
@pytest.mark.parametrize("keeps", [True, False], ids=["kept", "in memory"])
def test_threads_that_meet_the_same_new_question_ask_it_once(tmp_path, monkeypatch, keeps, locks):
    if not locks:
        monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "missing"))
    asked, again = [], threading.Event()

    def judge(questions):
        asked.extend(question.gold for question in questions)
        if len(asked) > 3:
            again.set()
        again.wait(0.05)  # room for whoever asks the same beside it
        return [float(question.gold == "a") for question in questions]

    desk = build_judge(user=judge, folder=tmp_path if keeps else None)
    a, b, c = (equal(gold, "x") for gold in "abc")
    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(desk, [[a, b], [b, a], [b, c], [c, a]]))
    assert sorted(asked) == ["a", "b", "c"]
    assert [scores(row) for row in answers] == [[1, 0], [0, 1], [0, 0], [0, 1]]


def test_threads_that_wait_for_a_judge_take_that_it_did_not_decide(waited):
    slow = Slow(waited, None)
    desk = build_judge(user=slow)
    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(desk, [AB])
        slow.entered.wait()
        assert desk([AB]) == first.result() == [None]
    assert slow.asked == ["a"]
    assert "did not decide" in desk.why(AB)


# --- several processes: two desks know nothing of each other but through the folder, as those of two processes


class Slow(Rule):
    """Is not done before another desk waits for it."""

    def __init__(self, waited, answer):
        super().__init__(answer)
        self.waited = waited
        self.entered = threading.Event()

    def __call__(self, questions):
        self.entered.set()
        self.waited.wait()
        answers = super().__call__(questions)
        if self.answer == "is interrupted":
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
    slow, other = Slow(waited, 0.25), Rule(0.75)
    first, second = both(tmp_path, slow, other, since=since)
    assert scores(first.result()) == [0.25, 0.25]
    assert scores(second) == [0.25, 0.75]
    assert (slow.asked, other.asked) == (["a", "b"], ["c"])


@pytest.mark.parametrize("answer", [None, "is interrupted"])
def test_who_waited_for_a_judge_that_gave_no_answer_asks_its_own(tmp_path, waited, answer):
    slow, other = Slow(waited, answer), Rule()
    first, second = both(tmp_path, slow, other)
    if answer is None:
        assert first.result() == [None, None]
    else:
        assert isinstance(first.exception(), KeyboardInterrupt)
    assert scores(second) == [1.0, 1.0]
    assert sorted(other.asked) == ["b", "c"]


def test_two_judges_do_not_wait_for_each_other(tmp_path):
    other = Rule()
    other.identity = "another"

    class Asking(Rule):
        def __call__(self, questions):
            self.inner = build_judge(user=other, folder=tmp_path)(questions)
            return super().__call__(questions)

    asking = Asking(0.5)
    assert scores(build_judge(user=asking, folder=tmp_path)([AB])) == [0.5]
    assert scores(asking.inner) == [1.0]


def test_who_asks_anew_asks_what_another_has_not_asked_anew(tmp_path):
    a, b = equal("a", "x"), equal("b", "x")
    build_judge(user=Rule(0.0), folder=tmp_path)([a, b])
    for path in answer_files(tmp_path):
        os.utime(path, (1_000.0, 1_000.0))
    first, second = Rule(0.25), Rule(0.75)
    assert scores(build_judge(user=first, folder=tmp_path, since=2_000.0)([a])) == [0.25]
    assert scores(build_judge(user=second, folder=tmp_path, since=2_000.0)([a, b])) == [0.25, 0.75]
    assert second.asked == ["b"]


# --- verdicts of people

VERDICTS = """
- gold: ACME Corporation
  extracted: Acme Corp.
  equal: true
  reason: the same company
  by: anna
- gold: ACME Corporation
  extracted: Acme Corp.
  instructions: strictly
  equal: false
- {gold: no, extracted: "false", score: 0.5}
"""


def decided_by(path, text, **given):
    path.write_text(text)
    return build_judge(**given, overrides=path)


def test_peoples_verdicts_win_over_the_judge(tmp_path):
    rule = Rule(0.25)
    judge = decided_by(tmp_path / "verdicts.yaml", VERDICTS, user=rule)
    pair = ("ACME Corporation", "Acme Corp.")
    anna = JudgeAnswer(1.0, "decided by anna: the same company")
    assert judge([equal(*pair), equal(*pair, "strictly"), equal(*pair, "loosely"), equal("no", "false")]) == [
        anna,
        JudgeAnswer(0.0, "decided in verdicts.yaml"),
        anna,
        JudgeAnswer(0.5, "decided in verdicts.yaml"),
    ]
    assert rule.asked == []


def test_peoples_verdicts_win_over_kept_answers(tmp_path):
    kept = {"user": Rule(0.0), "folder": tmp_path / "judge"}
    build_judge(**kept)([AB])
    verdicts = "verdicts:\n- {gold: a, extracted: b, equal: true}\n"
    assert scores(decided_by(tmp_path / "verdicts.yaml", verdicts, **kept)([AB])) == [1.0]


def test_an_empty_file_of_verdicts_is_fine(tmp_path):
    judge = decided_by(tmp_path / "verdicts.yaml", "# none yet\n", user=Rule(0.25))
    assert scores(judge([AB])) == [0.25]


MISTAKES = {
    "no yaml": ("- {gold: [", ""),
    "no list": ("gold: a", "1:1: {'gold': 'a'} does not fit: verdicts are a list of mappings"),
    "no mapping": ("- a", "1:3: 'a' does not fit: verdicts are a list of mappings"),
    "unknown key": ("- {gold: a, extracted: b, equals: true}", "1:3"),
    "no gold": ("- {extracted: b, equal: true}", "1:3"),
    "neither": ("- {gold: a, extracted: b}", "1:3"),
    "both": ("- {gold: a, extracted: b, equal: true, score: 1}", "1:3"),
    "yes is a text": ("- {gold: a, extracted: b, equal: yes}", "1:34: 'yes' does not fit"),
    "score": ("- {gold: a, extracted: b, score: 2}", "1:34: 2 does not fit"),
    "no number": ("- {gold: a, extracted: b, score: .nan}", "1:34"),
    "reason": ("- {gold: a, extracted: b, equal: true, reason: 3}", "1:48: 3 does not fit"),
    "twice": (
        "- {gold: a, extracted: b, equal: true}\n- {gold: a, extracted: b, equal: true}",
        "2:3: the same pair has a verdict already",
    ),
}


@pytest.mark.parametrize(("text", "message"), MISTAKES.values(), ids=MISTAKES)
def test_a_mistake_in_the_verdicts_is_told_with_its_place(tmp_path, text, message):
    with pytest.raises(CaseFileErrors) as caught:
        decided_by(tmp_path / "verdicts.yaml", text, user=Rule())
    assert f"verdicts.yaml:{message}" in str(caught.value)
