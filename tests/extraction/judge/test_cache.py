"""Where answers come from: people, kept answers, the judge; and what is kept."""

from __future__ import annotations

import functools
import json
import multiprocessing
import tempfile
import threading
import time
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import pytest

from pytest_extract import redact as secrets
from pytest_extract.core.results import Alignment, JudgeAnswer
from pytest_extract.errors import CaseFileErrors, ConfigError
from pytest_extract.extraction import caching_judge
from pytest_extract.extraction.caching_judge import AnswerCache, answer_files, build_judge, question_key
from pytest_extract.extraction.judges import identity_of
from tests.extraction.judge.questions import align, equal
from tests.redact.corpus import SECRETS, made
from tests.strategies import nested


class Rule:
    """A user's judge that counts."""

    def __init__(self, score=1.0):
        self.score = score
        self.asked = []

    def __call__(self, questions):
        self.asked.extend(questions)
        return [
            JudgeAnswer(self.score, "by rule") if question.kind == "equal" else Alignment(((0, 0),), reason="first")
            for question in questions
        ]


def test_equal_questions_are_asked_once_and_get_one_answer(tmp_path):
    rule = Rule()
    judge = build_judge(user=rule, folder=tmp_path)
    got = judge([equal("a", "b"), equal("a", "c"), equal("a", "b")])
    assert got == [JudgeAnswer(1.0, "by rule")] * 3
    assert len(rule.asked) == 2
    judge([equal("a", "b")])
    assert len(rule.asked) == 2


def test_instructions_make_another_question():
    rule = Rule()
    build_judge(user=rule)([equal("a", "b"), equal("a", "b", "loosely")])
    assert len(rule.asked) == 2


def test_true_is_not_one():
    rule = Rule()
    build_judge(user=rule)([equal(1, 2), equal(True, 2), equal(1.0, 2)])
    assert len(rule.asked) == 3


def test_answers_are_kept_over_runs_and_reviewable(tmp_path):
    questions = [equal("a", "b", "loosely"), align([1], [2, 3], {"": "exact"})]
    first = build_judge(user=Rule(), folder=tmp_path)(questions)
    rule = Rule()
    assert build_judge(user=rule, folder=tmp_path)(questions) == first
    assert first[1] == Alignment(((0, 0),), missed=(), spurious=(1,), reason="first")
    assert rule.asked == []
    bodies = [json.loads(path.read_text()) for path in tmp_path.rglob("*.json")]
    (verdict,) = (body for body in bodies if body["question"]["kind"] == "equal")
    assert verdict["question"] == {
        "kind": "equal",
        "gold": "a",
        "extracted": "b",
        "instructions": "loosely",
        "metrics": {},
    }
    assert verdict["answer"] == {"score": 1.0, "reason": "by rule"}
    assert (verdict["prompt_version"], verdict["redacted"]) == (1, False)


def test_another_judge_is_asked_anew(tmp_path):
    build_judge(user=Rule(0.0), folder=tmp_path)([equal("a", "b")])
    other = Rule(1.0)
    other.identity = "mine, version 2"
    assert build_judge(user=other, folder=tmp_path)([equal("a", "b")]) == [JudgeAnswer(1.0, "by rule")]


def test_refresh_asks_again_once_and_keeps_the_new_answer(tmp_path):
    named = Rule(0.0)
    named.identity = "mine"
    build_judge(user=named, folder=tmp_path)([equal("a", "b")])
    named.score = 1.0
    judge = build_judge(user=named, folder=tmp_path, since=time.time() + 1.0)
    judge([equal("a", "b")])
    judge([equal("a", "b")])
    assert len(named.asked) == 2
    assert build_judge(user=named, folder=tmp_path)([equal("a", "b")]) == [JudgeAnswer(1.0, "by rule")]


def test_replay_only_takes_what_is_kept_and_says_what_is_not(tmp_path):
    build_judge(user=Rule(), folder=tmp_path)([equal("a", "b")])
    rule = Rule()
    judge = build_judge(user=rule, folder=tmp_path, replay_only=True)
    assert judge([equal("a", "b"), equal("x", "y")]) == [JudgeAnswer(1.0, "by rule"), None]
    assert rule.asked == []
    assert judge.why(equal("a", "b")) is None
    assert "--extract-record=once" in judge.why(equal("x", "y"))


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


def test_an_undecided_question_is_asked_again_next_time(tmp_path):
    answers = [None, JudgeAnswer(1.0, "")]
    judge = build_judge(user=lambda questions: [answers.pop(0)], folder=tmp_path)
    assert judge([equal("a", "b")]) == [None]
    assert judge([equal("a", "b")]) == [JudgeAnswer(1.0, "")]
    assert judge.why(equal("a", "b")) is None


@pytest.mark.parametrize("locks", [True, False], ids=["locks", "no locks"])
@pytest.mark.parametrize("keeps", [True, False], ids=["kept", "in memory"])
def test_threads_that_meet_the_same_new_question_ask_it_once(tmp_path, monkeypatch, keeps, locks):
    if not locks:
        monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "missing"))
    asked = []
    again = threading.Event()

    def judge(questions):
        asked.extend(questions)
        if len(asked) > 3:
            again.set()
        again.wait(0.05)  # room for whoever asks the same beside it
        return [float(question.gold == "a") for question in questions]

    desk = build_judge(user=judge, folder=tmp_path if keeps else None)
    a, b, c = equal("a", "x"), equal("b", "x"), equal("c", "x")
    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(desk, [[a, b], [b, a], [b, c], [c, a]]))
    assert sorted(question.gold for question in asked) == ["a", "b", "c"]
    assert [[answer.score for answer in row] for row in answers] == [[1, 0], [0, 1], [0, 0], [0, 1]]


def test_threads_that_wait_for_a_judge_take_that_it_did_not_decide(tmp_path, monkeypatch):
    asked, waiting = [], threading.Semaphore(0)

    class Watched(Future):
        def result(self, timeout=None):
            waiting.release()
            return super().result(timeout)

    def judge(questions):
        asked.extend(questions)
        for _ in range(3):
            waiting.acquire(timeout=60)
        return [None for _ in questions]

    monkeypatch.setattr(caching_judge, "Future", Watched)
    desk = build_judge(user=judge, folder=tmp_path)
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(desk, [[equal("a", "b")]] * 4)) == [[None]] * 4
    assert len(asked) == 1
    assert "did not decide" in desk.why(equal("a", "b"))


def test_a_judge_that_is_interrupted_keeps_no_other_thread_waiting():
    entered, go_on = threading.Event(), threading.Event()

    def judge(_questions):
        entered.set()
        go_on.wait()
        raise KeyboardInterrupt

    desk = build_judge(user=judge)
    with ThreadPoolExecutor(2) as pool:
        interrupted = pool.submit(desk, [equal("a", "b")])
        entered.wait()
        waiting = pool.submit(desk, [equal("a", "b")])
        while not waiting.running():
            pass
        go_on.set()
        assert isinstance(interrupted.exception(), KeyboardInterrupt)
        assert waiting.exception() is not None or waiting.result() == [None]


@pytest.mark.parametrize(
    ("value", "why"),
    [(nested(10_000, []), "nested too deeply"), (10**5000, "cannot be written down")],
    ids=["deep", "long"],
)
def test_what_cannot_be_written_down_is_undecided(value, why):
    rule = Rule()
    judge = build_judge(user=rule)
    assert judge([equal(value, "a"), equal("a", "b")]) == [None, JudgeAnswer(1.0, "by rule")]
    assert why in judge.why(equal(value, "a"))
    assert len(rule.asked) == 1


@pytest.mark.parametrize("value", ["\ud800", {"\udfff": float("nan")}, 10**400, {"a": [None, -0.0]}], ids=repr)
def test_odd_values_are_kept(tmp_path, value):
    build_judge(user=Rule(), folder=tmp_path)([equal(value, "a")])
    rule = Rule()
    assert build_judge(user=rule, folder=tmp_path)([equal(value, "a")]) == [JudgeAnswer(1.0, "by rule")]
    assert rule.asked == []


def test_a_damaged_answer_is_told(tmp_path):
    rule = Rule()
    build_judge(user=rule, folder=tmp_path)([equal("a", "b")])
    (path,) = tmp_path.rglob("*.json")
    for text in ("{", '{"answer": {}}', '{"answer": {"score": 7, "reason": ""}}'):
        path.write_text(text)
        judge = build_judge(user=rule, folder=tmp_path)
        assert judge([equal("a", "b")]) == [None]
        assert "delete it" in judge.why(equal("a", "b")) or "no number from 0 to 1" in judge.why(equal("a", "b"))


def test_no_secret_is_kept(tmp_path, monkeypatch):
    monkeypatch.setattr(secrets, "_current", None)
    secrets.TALLY.taken()
    planted = made("{a32}")
    monkeypatch.setenv("SOME_TOKEN", planted)
    said = JudgeAnswer(1.0, f"both say {planted}")
    key, other = SECRETS["openai, project"], SECRETS["notion"]
    judge = build_judge(user=lambda questions: [said], folder=tmp_path)
    assert judge([equal(key, {"password": "data", "key": other}, f"key: {SECRETS['aws']}")]) == [said]
    (text,) = [path.read_text() for path in answer_files(tmp_path)]
    assert all(secret not in text for secret in (planted, key, other, SECRETS["aws"]))
    assert json.loads(text)["redacted"] is True
    assert json.loads(text)["question"]["extracted"]["password"] == "data"
    assert {place for place, _, _ in secrets.TALLY.taken()} == {"kept judge answer"}


def test_an_answer_that_cannot_be_written_counts_and_is_told(tmp_path):
    (tmp_path / "file").write_text("")
    rule, told = Rule(), []
    judge = build_judge(user=rule, folder=tmp_path / "file", on_write_error=told.append)
    for _ in range(2):
        assert judge([equal("a", "b")]) == [JudgeAnswer(1.0, "by rule")]
    assert len(rule.asked) == len(told) == 1
    assert told[0].path.parents[1] == tmp_path / "file"


def _put(folder, score):
    question = equal("a", "b")
    cache = AnswerCache(Path(folder), "m")
    return cache.put(str(question_key(question)), question, JudgeAnswer(score, "")).score


def test_of_many_writers_the_first_wins(tmp_path):
    context = multiprocessing.get_context("spawn")
    with context.Pool(2) as pool:
        got = pool.starmap(_put, [(str(tmp_path), n / 20) for n in range(20)])
    assert len(set(got)) == 1
    assert [json.loads(path.read_text())["answer"]["score"] for path in answer_files(tmp_path)] == got[:1]


OVERRIDES = """
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


@pytest.mark.parametrize("mode", ["exact", "fuzzy", "llm"])
def test_peoples_verdicts_win_over_every_judge(tmp_path, mode):
    path = tmp_path / "verdicts.yaml"
    path.write_text(OVERRIDES)
    rule = Rule(0.25)
    judge = build_judge(mode, user=rule if mode == "llm" else None, overrides=path)
    pair = ("ACME Corporation", "Acme Corp.")
    got = judge([equal(*pair), equal(*pair, "strictly"), equal(*pair, "loosely"), equal("no", "false")])
    assert got == [
        JudgeAnswer(1.0, "decided by anna: the same company"),
        JudgeAnswer(0.0, "decided in verdicts.yaml"),
        JudgeAnswer(1.0, "decided by anna: the same company"),
        JudgeAnswer(0.5, "decided in verdicts.yaml"),
    ]
    assert rule.asked == []


def test_peoples_verdicts_win_over_kept_answers(tmp_path):
    build_judge(user=Rule(0.0), folder=tmp_path / "judge")([equal("a", "b")])
    path = tmp_path / "verdicts.yaml"
    path.write_text("verdicts:\n- {gold: a, extracted: b, equal: true}\n")
    judge = build_judge(user=Rule(0.0), folder=tmp_path / "judge", overrides=path)
    assert judge([equal("a", "b")])[0].score == 1.0


MISTAKES = {
    "no yaml": ("- {gold: [", "verdicts.yaml:"),
    "no list": ("gold: a", "verdicts.yaml:1:1: {'gold': 'a'} does not fit: verdicts are a list of mappings"),
    "no mapping": ("- a", "verdicts.yaml:1:3: 'a' does not fit: verdicts are a list of mappings"),
    "unknown key": ("- {gold: a, extracted: b, equals: true}", "verdicts.yaml:1:3"),
    "no gold": ("- {extracted: b, equal: true}", "verdicts.yaml:1:3"),
    "neither": ("- {gold: a, extracted: b}", "verdicts.yaml:1:3"),
    "both": ("- {gold: a, extracted: b, equal: true, score: 1}", "verdicts.yaml:1:3"),
    "yes is a text": ("- {gold: a, extracted: b, equal: yes}", "verdicts.yaml:1:34: 'yes' does not fit"),
    "score": ("- {gold: a, extracted: b, score: 2}", "verdicts.yaml:1:34: 2 does not fit"),
    "no number": ("- {gold: a, extracted: b, score: .nan}", "verdicts.yaml:1:34"),
    "reason": ("- {gold: a, extracted: b, equal: true, reason: 3}", "verdicts.yaml:1:48: 3 does not fit"),
    "twice": ("- &x {gold: a, extracted: b, equal: true}\n- *x", "has a verdict already"),
}


@pytest.mark.parametrize(("text", "message"), MISTAKES.values(), ids=MISTAKES)
def test_a_mistake_in_the_verdicts_is_told_with_its_place(tmp_path, text, message):
    path = tmp_path / "verdicts.yaml"
    path.write_text(text)
    with pytest.raises(CaseFileErrors) as caught:
        build_judge("exact", overrides=path)
    assert message in str(caught.value)
    assert "verdicts.yaml:" in str(caught.value)


def test_an_empty_file_of_verdicts_is_fine(tmp_path):
    path = tmp_path / "verdicts.yaml"
    path.write_text("# none yet\n")
    assert build_judge("exact", overrides=path)([equal("a", "A ")])[0].score == 1.0


REFUSED = {
    "nobody": ({}, "--extract-judge-model"),
    "misspelt": ({"mode": "fuzy"}, "did you mean 'fuzzy'"),
    "not callable": ({"user": 3}, "cannot be called"),
}


@pytest.mark.parametrize(("given", "message"), REFUSED.values(), ids=REFUSED)
def test_a_judge_that_cannot_be_is_refused(given, message):
    with pytest.raises(ConfigError, match=message):
        build_judge(**given)


def make_judge(model):
    def judge(questions):
        return [model for _ in questions]

    return judge


def test_the_identity_of_a_users_judge_follows_what_it_is():
    assert identity_of(make_judge("a")) == identity_of(make_judge("a"))
    assert identity_of(make_judge("a")) != identity_of(make_judge("b"))
    assert identity_of(Rule(1.0)) != identity_of(Rule(0.5))
    assert identity_of(len) is None


def with_keyword(*, strict):
    def judge(questions, *, strict=strict):
        return [float(strict) for _ in questions]

    return judge


def with_settings(*, strict):
    settings = {"limits": {"score": float(strict)}}

    def judge(questions):
        return [settings["limits"]["score"] for _ in questions]

    return judge


def wrapped(*, strict):
    inner = with_keyword(strict=strict)

    @functools.wraps(inner)
    def judge(questions):
        return inner(questions)

    return judge


@dataclass(frozen=True, slots=True)
class Slotted:
    strict: bool

    def __call__(self, questions):
        return self.ask(questions)

    def ask(self, questions):
        return [float(self.strict) for _ in questions]


def judged(questions, strict):
    return [float(strict) for _ in questions]


@pytest.mark.parametrize(
    "make",
    [
        lambda *, strict: functools.partial(judged, strict=strict),
        lambda *, strict: functools.partial(Slotted(strict)),
        lambda *, strict: Slotted(strict).ask,
        Slotted,
        with_keyword,
        with_settings,
        wrapped,
    ],
    ids=["partial", "partial of an object", "method", "slots", "keyword", "settings", "wrapped"],
)
def test_a_judge_that_holds_another_value_never_gets_the_answers_of_the_first(tmp_path, make):
    assert identity_of(make(strict=True)) == identity_of(make(strict=True))
    for strict in (True, False):
        assert build_judge(user=make(strict=strict), folder=tmp_path)([equal("a", "A ")])[0].score == float(strict)


def test_a_new_prompt_for_lists_leaves_the_answers_to_single_values_valid(tmp_path, monkeypatch):
    asked = []

    def ask(questions):
        asked.extend(question.kind for question in questions)
        return [JudgeAnswer(1.0) if question.kind == "equal" else Alignment(((0, 0),)) for question in questions]

    def judge():
        return build_judge(user=ask, folder=tmp_path)

    questions = [equal("a", "b"), align([1], [2])]
    judge()(questions)
    judge()(questions)
    assert asked == ["equal", "align"]
    monkeypatch.setattr("pytest_extract.extraction.caching_judge.PROMPT_VERSIONS", {"equal": 1, "align": 99})
    judge()(questions)
    assert asked == ["equal", "align", "align"]
