"""Ask, then score: questions, rounds, answers; failures; what a score holds."""

from __future__ import annotations

import json

import pytest

from pytest_extract import compile_schema, score, score_text
from pytest_extract.core.results import Alignment, Failure, FailureKind, JudgeAnswer, Status
from pytest_extract.core.scorer import NO_JUDGE
from pytest_extract.core.values import MISSING
from pytest_extract.errors import ConfigError
from pytest_extract.testing import Gold

JUDGED = {"type": "string", "evaluation_config": "string_semantic"}
FIELDS = ("pass_rate", "mean_score", "precision", "recall", "f1")


def obj(**properties):
    return {"type": "object", "properties": properties}


class Recorder:
    """A judge that notes every batch and answers by a function."""

    def __init__(self, answer):
        self.batches = []
        self.answer = answer

    def __call__(self, questions):
        self.batches.append(list(questions))
        return [self.answer(question) for question in questions]


def test_equal_after_folding_is_never_asked():
    judge = Recorder(lambda question: JudgeAnswer(0.0))
    found = score(obj(a=JUDGED, b=JUDGED), {"a": "New  York"}, {"a": "new york"}, judge=judge)
    assert judge.batches == []
    assert found.questions_asked == 0
    assert found.measures["pass_rate"] == 1.0


def test_equal_questions_are_asked_once():
    judge = Recorder(lambda question: JudgeAnswer(0.9, "same firm"))
    values = {"a": "IBM", "b": "IBM"}, {"a": "Big Blue", "b": "Big Blue"}
    found = score(obj(a=JUDGED, b=JUDGED), *values, judge=judge)
    assert [len(batch) for batch in judge.batches] == [1]
    assert [(r.score, r.passed, r.reason) for r in found.leaves] == [(0.9, True, "same firm")] * 2


def test_rows_are_aligned_in_the_first_round_and_compared_in_the_second():
    def answer(question):
        return Alignment(((0, 1), (1, 0))) if question.kind == "align" else JudgeAnswer(1.0)

    rows = {"type": "array", "items": obj(n=JUDGED, k={"type": "integer"})}
    judge = Recorder(answer)
    gold = {"rows": [{"n": "one", "k": 1}, {"n": "two", "k": 2}], "title": "A"}
    extracted = {"rows": [{"n": "deux", "k": 2}, {"n": "un", "k": 1}], "title": "B"}
    found = score(obj(rows=rows, title=JUDGED), gold, extracted, judge=judge)
    kinds = [sorted(question.kind for question in batch) for batch in judge.batches]
    assert kinds == [["align", "equal"], ["equal", "equal"]]
    aligning = next(question for question in judge.batches[0] if question.kind == "align")
    assert aligning.metrics == {"n": "string_semantic", "k": "integer_exact"}
    assert found.measures["pass_rate"] == 1.0
    assert found.questions_asked == 4
    assert [str(r.matched) for r in found.leaves[:2]] == ["rows[1].n", "rows[1].k"]


def test_a_list_of_the_same_rows_needs_no_alignment():
    rows = obj(rows={"type": "array", "items": obj(n=JUDGED)})
    judge = Recorder(lambda question: None)
    found = score(rows, {"rows": [{"n": "a"}, {"n": "b"}]}, {"rows": [{"n": "b"}, {"n": "a"}]}, judge=judge)
    assert judge.batches == []
    assert found.measures["f1"] == 1.0


@pytest.mark.parametrize(
    "judge",
    [
        lambda questions: [None] * len(questions),
        lambda questions: [],
        lambda questions: [JudgeAnswer(7.0)] * len(questions),
        lambda questions: [JudgeAnswer(float("nan"))] * len(questions),
        lambda questions: ["yes"] * len(questions),
        lambda questions: 1 / 0,
    ],
    ids=["none", "too-few", "out-of-range", "nan", "no-verdict", "raises"],
)
def test_what_is_no_answer_is_a_judge_error(judge):
    found = score(obj(a=JUDGED, b={"type": "integer"}), {"a": "x", "b": 1}, {"a": "y", "b": 1}, judge=judge)
    assert [r.status for r in found.leaves] == [Status.JUDGE_ERROR, Status.MATCH]
    assert found.leaves[0].score == 0.0
    assert "judge" in (found.leaves[0].reason or "")


def test_a_judge_may_say_why_it_decided_nothing():
    judge = Recorder(lambda question: None)
    judge.why = lambda question: f"out of tokens at {question.path}"
    found = score(obj(a=JUDGED), {"a": "x"}, {"a": "y"}, judge=judge)
    assert found.leaves[0].reason == "out of tokens at a"


@pytest.mark.parametrize("pairs", [((0, 0), (0, 1)), ((0, 5),), ((-1, 0),)], ids=["twice", "beyond", "negative"])
def test_an_alignment_that_cannot_be_is_a_judge_error(pairs):
    rows = obj(rows={"type": "array", "items": {"type": "string"}, "evaluation_config": "array_llm"})
    found = score(rows, {"rows": ["a", "b"]}, {"rows": ["c", "d"]}, judge=lambda questions: [Alignment(pairs)])
    assert [r.status for r in found.fields] == [Status.JUDGE_ERROR]


def test_without_a_judge_the_reason_says_so():
    scorer = compile_schema(obj(a=JUDGED))
    assert scorer.needs_judge
    found = scorer.score({"a": "x"}, {"a": "y"})
    assert (found.leaves[0].status, found.leaves[0].reason) == (Status.JUDGE_ERROR, NO_JUDGE)


def test_callers_may_drive_the_rounds_themselves():
    scorer = compile_schema(obj(a=JUDGED))
    (question,) = scorer.questions({"a": "x"}, {"a": "y"})
    answers = {question.key: JudgeAnswer(1.0)}
    assert scorer.questions({"a": "x"}, {"a": "y"}, answers=answers) == ()
    assert scorer.score({"a": "x"}, {"a": "y"}, answers=answers).measures["pass_rate"] == 1.0


@pytest.mark.parametrize(("mode", "passed"), [("exact", False), ("fuzzy", True)])
def test_a_mode_without_judge_decides_at_once(mode, passed):
    scorer = compile_schema(obj(a=JUDGED), judge_mode=mode)
    assert not scorer.needs_judge
    assert scorer.score({"a": "Acme Corporation"}, {"a": "Acme Corporatio"}).leaves[0].passed is passed


def test_fuzzy_mode_aligns_by_best_fit():
    rows = obj(rows={"type": "array", "items": obj(n=JUDGED)})
    scorer = compile_schema(rows, judge_mode="fuzzy")
    found = scorer.score({"rows": [{"n": "alpha"}, {"n": "omega"}]}, {"rows": [{"n": "omega"}, {"n": "alphas"}]})
    assert found.arrays[0].pairs == ((0, 1), (1, 0))


def test_rows_are_paired_by_likeness_and_then_judged():
    rows = obj(rows={"type": "array", "items": obj(n={"type": "string", "evaluation_config": "string_semantic"})})
    scorer = compile_schema(rows, overrides={"rows": {"align": "hungarian"}})
    judge = Recorder(lambda question: JudgeAnswer(1.0))
    found = scorer.score({"rows": [{"n": "Big Blue"}]}, {"rows": [{"n": "Blue, big"}]}, judge=judge)
    assert [question.gold for question in judge.batches[0]] == ["Big Blue"]
    assert found.measures["f1"] == 1.0
    unlike = scorer.score(
        {"rows": [{"n": "Big Blue"}]}, {"rows": [{"n": "Blue, big"}]}, judge=lambda q: [JudgeAnswer(0.0)]
    )
    assert sorted(str(r.status) for r in unlike.leaves) == ["hallucination", "omission"]


def test_a_failed_output_fails_every_field():
    scorer = compile_schema(obj(a={"type": "string"}, b={"type": "integer"}))
    found = scorer.failed({"a": "x", "b": 1}, Failure(kind=FailureKind.EMPTY_RESPONSE, message="nothing came"))
    assert [field.passed for field in found.fields] == [False, False]
    assert {name: found.measures[name] for name in FIELDS} == dict.fromkeys(FIELDS, 0.0)
    assert found.to_dict()["failure"]["kind"] == "empty_response"


def test_a_failed_output_fails_fields_that_gold_leaves_empty():
    scorer = compile_schema(obj(a=JUDGED))
    found = scorer.failed({}, Failure(kind=FailureKind.NO_JSON, message="prose"))
    assert [(field.status, field.reason) for field in found.fields] == [(Status.MISMATCH, "no output: no_json")]


def test_a_failing_schema_gate_zeroes_measures_but_keeps_results():
    schema = {**obj(a={"type": "string"}, b={"type": "integer"}), "required": ["b"]}
    found = score(schema, {"a": "x", "b": 1}, {"a": "x"})
    assert not found.gates.schema.passed
    assert [r.passed for r in found.fields] == [True, False]
    assert found.measures["pass_rate"] == 0.0
    assert score(schema, {"a": "x", "b": 1}, {"a": "x"}, gates={"schema": False}).measures["pass_rate"] == 0.5


def test_text_is_parsed_first():
    schema = obj(a={"type": "integer"})
    assert score_text(schema, {"a": 1}, 'Here you are:\n```json\n{"a": 1}\n```').measures["pass_rate"] == 1.0
    broken = score_text(schema, {"a": 1}, '{"a": 1,}')
    assert broken.failure is not None
    assert broken.failure.kind is FailureKind.TRAILING_COMMA
    scalar = score_text(schema, {"a": 1}, "17")
    assert scalar.failure is not None
    assert scalar.measures["pass_rate"] == 0.0


def test_a_score_is_plain_json():
    schema = obj(a={"type": "string"}, rows={"type": "array", "items": obj(b={"type": "integer"})})
    found = score(schema, {"a": "x", "rows": [{"b": 1}]}, {"rows": [{"b": 2}]})
    again = json.loads(json.dumps(found.to_dict()))
    assert again["semantics"] == "default"
    assert again["semantics"] == "default"
    assert "extracted" not in again["leaves"][0]
    assert again["leaves"][0]["path"] == "a"
    assert set(again["gates"]) == {"parse", "root", "schema", "coverage"}
    assert again["arrays"][0]["path"] == "rows"


def test_weights_count_in_the_mean_score():
    scorer = compile_schema(obj(a={"type": "integer"}, b={"type": "integer"}), overrides={"a": {"weight": 3}})
    assert scorer.score({"a": 1, "b": 1}, {"a": 1, "b": 2}).measures["mean_score"] == 0.75


@pytest.mark.parametrize("name", ["odd key", '["odd key"]', "$.odd key", '$["odd key"]'])
def test_a_field_may_be_spelled_in_any_way(name):
    schema, gold = obj(**{"odd key": {"type": "string"}}), {"odd key": "x"}
    assert score(schema, gold, {"odd key": "y"}, accept={name: ["y"]}).measures["f1"] == 1.0
    assert score(schema, gold, {}, absent={name: "either"}).fields[0].status is Status.SKIPPED
    assert score(schema, gold, {"odd key": "X"}, overrides={name: "string_case_insensitive"}).measures["f1"] == 1.0
    assert Gold(gold, schema=schema, thresholds={"fields": {name: 1.0}}) != {"odd key": "y"}
    assert Gold({}, schema=schema, thresholds={"pass_rate": 0}, absent={name: "must"}) != {"odd key": "y"}


@pytest.mark.parametrize(
    "how",
    [{"absent": {"a": "never"}}, {"accept": {"a": "x"}}, {"gates": {"shema": True}}, {"modality": "video"}],
    ids=["absent", "accept", "gates", "modality"],
)
def test_bad_arguments_are_told(how):
    with pytest.raises(ConfigError):
        compile_schema(obj(a={"type": "string"})).score({}, {}, **how)


def test_missing_is_no_value():
    assert score(obj(a={"type": "string"}), {"a": "x"}, MISSING).measures["recall"] == 0.0


def test_an_output_that_breaks_the_schema_says_so_as_its_failure():
    schema = {"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "string"}}, "required": ["a"]}
    scorer = compile_schema(schema)
    broken = scorer.score({"a": 1}, {"a": "1"})
    assert broken.failure is not None
    assert (broken.failure.kind, str(broken.failure.path)) == ("schema_violation", "a")
    assert broken.to_dict()["failure"]["kind"] == "schema_violation"
    assert broken.unread is None  # there was an output, and its fields are there for the reader
    assert scorer.score({"a": 1}, {"a": "1"}, gates={"schema": False}).failure is None
    assert scorer.score({"a": 1}, {"a": 1}).failure is None


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        (' {"a": 1}\n', []),
        ('```json\n{"a": 1}\n```', ["fenced"]),
        ('Sure! {"a": 1} Bye', ["surrounded by prose"]),
        ('{} or {"a": 1}.', ["surrounded by prose", "several values"]),
        ('<think>?</think>{"a": 1}', ["reasoning"]),
        ('\ufeff{"a": 1}', ["byte order mark"]),
    ],
)
def test_what_stands_around_the_json_is_said_and_refused_where_only_json_is_wanted(text, kinds):
    schema = {"type": "object", "properties": {"a": {"type": "integer"}}}
    read = score_text(schema, {"a": 1}, text)
    assert read.measures["pass_rate"] == 1.0
    assert [str(kind) for kind in read.wrapped] == kinds
    assert list(read.to_dict().get("wrapped", {})) == kinds
    strict = score_text(schema, {"a": 1}, text, gates={"bare": True})
    assert strict.measures["pass_rate"] == strict.measures["json_parse"] == (0.0 if kinds else 1.0)
    assert (strict.failure.kind if strict.failure else None) == ("not_bare" if kinds else None)
    assert score_text(schema, {"a": 1}, {"a": 1}, gates={"bare": True}).failure is None


def test_a_repaired_output_is_not_bare():
    schema = {"type": "object", "properties": {"a": {"type": "integer"}}}
    repaired = score_text(schema, {"a": 1}, '{"a": 1,}', repair=True)
    assert list(map(str, repaired.wrapped)) == ["repaired"]
    assert score_text(schema, {"a": 1}, '{"a": 1,}', repair=True, gates={"bare": True}).failure.kind == "not_bare"


@pytest.mark.parametrize(
    ("output", "limit", "said"),
    [
        ('{"a": "' + "x" * 100 + '"}', 100, "the output has 109 bytes, more than the 100 of `max_output_bytes`"),
        ('{"a": "' + "ä" * 50 + '"}', 100, "the output has 109 bytes"),
        (b'{"a": "' + b"x" * 100 + b'"}', 100, "the output has 109 bytes"),
        ("[" + "1," * 200 + "1]", 1000, "the output holds 202 values, more than the 5 "),
        ({"a": [1] * 200}, 1000, "the output holds 202 values"),
        (" " * 10_000_001, None, "more than the 10,000,000 of"),
        ([1] * 50_001, None, "more than the 50,000 that"),
    ],
)
def test_an_output_that_is_too_large_is_a_failure_of_its_own(output, limit, said):
    schema = {"type": "object", "properties": {"a": {"type": "string"}}}
    found = score_text(schema, {"a": "x"}, output, max_output_bytes=limit)
    assert found.failure.kind == "output_too_large"
    assert said in found.failure.message
    assert found.measures["pass_rate"] == 0.0


def test_an_output_may_be_ten_times_as_large_as_its_gold():
    gold = {"rows": ["x" * 20] * 8_000}
    schema = {"type": "object", "properties": {"rows": {"type": "array", "items": {"type": "string"}}}}
    output = {"rows": gold["rows"] * 7}
    assert score_text(schema, gold, output).failure is None
    assert score_text(schema, gold, output, max_output_bytes=10_000_000).failure is None
