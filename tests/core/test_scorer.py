"""Ask, then score: questions, rounds, answers, judges by name; failures; what a score holds; and its way between processes."""

from __future__ import annotations

import json
import pickle
from concurrent.futures import ThreadPoolExecutor

import pytest

from pytest_extract import Alignment, Extensions, SchemaError, Verdict, compile_schema, extend, score, score_text
from pytest_extract.core.judges import Panel
from pytest_extract.core.results import Failure, FailureKind, JudgeAnswer, Status
from pytest_extract.core.scorer import NO_JUDGE
from pytest_extract.core.values import MISSING
from pytest_extract.errors import ConfigError
from pytest_extract.testing import Gold
from tests.core.schemas import INTEGER, NUMBER, TEXT, array, metric, obj, table, told

JUDGED = metric("string_semantic")
FIELDS = ("pass_rate", "mean_score", "precision", "recall", "f1")


class Recorder:
    """A judge that notes every batch and answers by a function."""

    def __init__(self, answer):
        self.batches = []
        self.answer = answer

    def __call__(self, questions):
        self.batches.append(list(questions))
        return [self.answer(question) for question in questions]


def test_equal_after_folding_is_never_asked_and_equal_questions_once():
    judge = Recorder(lambda question: JudgeAnswer(0.9, "same firm"))
    equal = score(obj(a=JUDGED, b=JUDGED), {"a": "New  York"}, {"a": "new york"}, judge=judge)
    rows = score(obj(r=table(n=JUDGED)), {"r": [{"n": "a"}, {"n": "b"}]}, {"r": [{"n": "b"}, {"n": "a"}]}, judge=judge)
    assert judge.batches == []
    assert (equal.questions_asked, equal.measures["pass_rate"], rows.measures["f1"]) == (0, 1.0, 1.0)
    values = {"a": "IBM", "b": "IBM"}, {"a": "Big Blue", "b": "Big Blue"}
    found = score(obj(a=JUDGED, b=JUDGED), *values, judge=judge)
    assert [len(batch) for batch in judge.batches] == [1]
    assert [(r.score, r.passed, r.reason) for r in found.leaves] == [(0.9, True, "same firm")] * 2


def test_rows_are_aligned_in_the_first_round_and_compared_in_the_second():
    def answer(question):
        return Alignment(((0, 1), (1, 0))) if question.kind == "align" else JudgeAnswer(1.0)

    judge = Recorder(answer)
    gold = {"rows": [{"n": "one", "k": 1}, {"n": "two", "k": 2}], "title": "A"}
    extracted = {"rows": [{"n": "deux", "k": 2}, {"n": "un", "k": 1}], "title": "B"}
    found = score(obj(rows=table(n=JUDGED, k=INTEGER), title=JUDGED), gold, extracted, judge=judge)
    kinds = [sorted(question.kind for question in batch) for batch in judge.batches]
    assert kinds == [["align", "equal"], ["equal", "equal"]]
    aligning = next(question for question in judge.batches[0] if question.kind == "align")
    assert aligning.metrics == {"n": "string_semantic", "k": "integer_exact"}
    assert (found.measures["pass_rate"], found.questions_asked) == (1.0, 4)
    assert [str(r.matched) for r in found.leaves[:2]] == ["rows[1].n", "rows[1].k"]


NO_ANSWERS = {
    "none": lambda questions: [None] * len(questions),
    "too few": lambda questions: [],
    "out of range": lambda questions: [JudgeAnswer(7.0)] * len(questions),
    "nan": lambda questions: [JudgeAnswer(float("nan"))] * len(questions),
    "no verdict": lambda questions: ["yes"] * len(questions),
    "raises": lambda questions: 1 / 0,
}


@pytest.mark.parametrize("judge", NO_ANSWERS.values(), ids=NO_ANSWERS)
def test_what_is_no_answer_is_a_judge_error(judge):
    found = score(obj(a=JUDGED, b=INTEGER), {"a": "x", "b": 1}, {"a": "y", "b": 1}, judge=judge)
    assert told(found.leaves) == "a judge_error, b match"
    assert "judge" in found.leaves[0].reason


@pytest.mark.parametrize(
    "pairs",
    [((0, 0), (0, 1)), ((0, 5),), ((-1, 0),), ((0,),), ((0, "b"),), ((0, 0.5),), None],
    ids=["twice", "beyond", "negative", "no pair", "a text", "half a row", "none"],
)
def test_an_alignment_that_cannot_be_is_a_judge_error(pairs):
    rows = obj(rows=array(TEXT, evaluation_config="array_llm"))
    found = score(rows, {"rows": ["a", "b"]}, {"rows": ["c", "d"]}, judge=lambda questions: [Alignment(pairs)])
    assert told(found.fields) == "rows judge_error"


def test_the_pairs_of_an_alignment_may_be_any_iterable():
    rows = obj(rows=array(TEXT, evaluation_config="array_llm"))
    found = score(rows, {"rows": ["a", "b"]}, {"rows": ["c", "a"]}, judge=lambda _: [Alignment(iter([(0, 1), (1, 0)]))])
    assert [each.pairs for each in found.arrays] == [((0, 1), (1, 0))]


def test_a_judge_may_say_why_it_decided_nothing_and_without_one_the_reason_says_so():
    judge = Recorder(lambda question: None)
    judge.why = lambda question: f"out of tokens at {question.path}"
    assert score(obj(a=JUDGED), {"a": "x"}, {"a": "y"}, judge=judge).leaves[0].reason == "out of tokens at a"
    judge = Recorder(lambda question: JudgeAnswer(1.0, {("a", 1): float("nan")}))
    assert score(obj(a=JUDGED), {"a": "x"}, {"a": "y"}, judge=judge).leaves[0].reason == "{('a', 1): nan}"
    scorer = compile_schema(obj(a=JUDGED))
    assert scorer.needs_judge
    (leaf,) = scorer.score({"a": "x"}, {"a": "y"}).leaves
    assert (leaf.status, leaf.reason) == (Status.JUDGE_ERROR, NO_JUDGE)


@pytest.mark.parametrize(("mode", "passed"), [("exact", False), ("fuzzy", True)])
def test_a_mode_without_judge_decides_at_once(mode, passed):
    scorer = compile_schema(obj(a=JUDGED), judge_mode=mode)
    assert not scorer.needs_judge
    assert scorer.score({"a": "Acme Corporation"}, {"a": "Acme Corporatio"}).leaves[0].passed is passed


def test_rows_of_judged_values_are_paired_by_likeness_and_then_judged():
    gold, alike = {"rows": [{"n": "alpha"}, {"n": "omega"}]}, {"rows": [{"n": "omega"}, {"n": "alphas"}]}
    assert score(obj(rows=table(n=JUDGED)), gold, alike, judge_mode="fuzzy").arrays[0].pairs == ((0, 1), (1, 0))
    scorer = compile_schema(obj(rows=table(n=JUDGED)), overrides={"rows": {"align": "hungarian"}})
    judge = Recorder(lambda question: JudgeAnswer(1.0))
    sides = {"rows": [{"n": "Big Blue"}]}, {"rows": [{"n": "Blue, big"}]}
    assert scorer.score(*sides, judge=judge).measures["f1"] == 1.0
    assert [question.gold for question in judge.batches[0]] == ["Big Blue"]
    unlike = scorer.score(*sides, judge=lambda questions: [JudgeAnswer(0.0)])
    assert sorted(str(leaf.status) for leaf in unlike.leaves) == ["hallucination", "omission"]


# --- judges by name


@extend.judge()
def yes(questions):
    return [Verdict(1.0, f"yes to {question.path}") for question in questions]


@extend.judge("rows")
def first_with_last(questions):
    """Pair the first row with the last."""
    return [Alignment(((0, len(question.extracted) - 1),)) for question in questions]


@extend.judge()
def down(questions):
    raise ConnectionError("no line")


def no(questions):
    return [Verdict(0.0, "no") for _ in questions]


OWN = Extensions.of(yes, first_with_last, down)
BY_YES, BY_DOWN = (metric("string_semantic", params={"judge": name}) for name in ("yes", "down"))
OTHER_DIALECT = {**TEXT, "x-eval-compare": {"semantic": {"judge": "yes"}}}
REFUSED = ("mismatch", "no")
JUDGES = {
    "each by its own": ({"a": BY_YES, "b": JUDGED}, no, {"a": ("match", "yes to a"), "b": REFUSED}),
    "none for all": ({"a": BY_YES, "b": JUDGED}, None, {"a": ("match", "yes to a"), "b": ("judge_error", NO_JUDGE)}),
    "one that fails": (
        {"a": BY_DOWN, "b": BY_YES, "c": JUDGED},
        no,
        {"a": ("judge_error", "the judge raised ConnectionError: no line"), "b": ("match", "yes to b"), "c": REFUSED},
    ),
    "the other dialect": ({"a": OTHER_DIALECT}, None, {"a": ("match", "yes to a")}),
}


@pytest.mark.parametrize(("fields", "judge", "expected"), JUDGES.values(), ids=JUDGES)
def test_a_field_is_decided_by_the_judge_that_it_names_else_by_the_one_for_all(fields, judge, expected):
    gold, extracted = ({name: f"{side} {name}" for name in fields} for side in ("gold", "other"))
    found = score(obj(**fields), gold, extracted, judge=judge, extensions=OWN)
    assert {str(leaf.path): (str(leaf.status), leaf.reason) for leaf in found.fields} == expected
    for mode in ("exact", "fuzzy"):  # nobody is to be asked
        unasked = score(obj(**fields), gold, extracted, extensions=OWN, judge_mode=mode)
        assert {str(leaf.status) for leaf in unasked.fields} == {"mismatch"}


def test_rows_are_paired_by_the_judge_that_the_array_names():
    rows = table(x=INTEGER) | metric("array_llm", "array", params={"judge": "rows"})
    extracted = {"rows": [{"x": 2}, {"x": 1}, {"x": 3}]}
    found = score(obj(rows=rows), {"rows": [{"x": 1}, {"x": 2}]}, extracted, extensions=OWN)
    assert [each.pairs for each in found.arrays] == [((0, 2),)]


def test_the_same_pair_is_another_question_for_another_judge_and_a_panel_asks_each_its_own():
    scorer = compile_schema(obj(a=BY_YES, b=JUDGED), extensions=OWN)
    judge = Recorder(lambda question: None)
    scorer.score({"a": "x", "b": "x"}, {"a": "y", "b": "y"}, judge=Panel(default=judge))
    (asked,) = judge.batches
    assert [question.judge for question in asked] == ["yes", ""]
    assert scorer.judges == {"yes": yes}
    assert Panel(default=no, named={"yes": yes})(asked) == [Verdict(1.0, "yes to a"), Verdict(0.0, "no")]
    assert Panel(named={"yes": yes})(asked)[1] is None


def test_a_wrong_judge_is_told_where_it_is_named_or_made():
    with pytest.raises(SchemaError, match=r"/properties/a.*no judge 'yess'; did you mean 'yes'"):
        compile_schema(obj(a=metric("string_semantic", params={"judge": "yess"})), extensions=OWN)
    with pytest.raises(ConfigError, match="has no parameters"):

        @extend.judge()
        def strict(questions, *, least: float = 0.5):
            return []


# --- failures


def test_a_failed_output_fails_every_field_also_what_gold_leaves_empty():
    scorer = compile_schema(obj(a=JUDGED, b=INTEGER))
    found = scorer.failed({"b": 1}, Failure(kind=FailureKind.EMPTY_RESPONSE, message="nothing came"))
    assert told(found.fields) == "a mismatch, b missing"
    assert found.fields[0].reason == "no output: empty_response"
    assert {name: found.measures[name] for name in FIELDS} == dict.fromkeys(FIELDS, 0.0)
    assert found.to_dict()["failure"]["kind"] == "empty_response"


def test_an_output_that_breaks_the_schema_says_so_as_its_failure_and_keeps_its_results():
    scorer = compile_schema({**obj(a=INTEGER, b=TEXT), "required": ["a"]})
    broken = scorer.score({"a": 1, "b": "x"}, {"a": "1", "b": "x"})
    assert str(broken.failure) == 'schema_violation at a: "1" is a string, an integer was expected'
    assert broken.to_dict()["failure"]["kind"] == "schema_violation"
    assert broken.unread is None  # there was an output, and its fields are there for the reader
    assert ([r.passed for r in broken.fields], broken.measures["pass_rate"]) == ([False, True], 0.0)
    ungated = scorer.score({"a": 1, "b": "x"}, {"a": "1", "b": "x"}, gates={"schema": False})
    assert (ungated.failure, ungated.measures["pass_rate"]) == (None, 0.5)
    assert scorer.score({"a": 1}, {"a": 1}).failure is None


@pytest.mark.parametrize(
    ("text", "kinds", "more"),
    [
        (' {"a": 1}\n', [], {}),
        ({"a": 1}, [], {}),
        ('```json\n{"a": 1}\n```', ["fenced"], {}),
        ('Sure! {"a": 1} Bye', ["surrounded by prose"], {}),
        ('{} or {"a": 1}.', ["surrounded by prose", "several values"], {}),
        ('<think>?</think>{"a": 1}', ["reasoning"], {}),
        ('\ufeff{"a": 1}', ["byte order mark"], {}),
        ('{"a": 1,}', ["repaired"], {"repair": True}),
    ],
)
def test_what_stands_around_the_json_is_said_and_refused_where_only_json_is_wanted(text, kinds, more):
    read = score_text(obj(a=INTEGER), {"a": 1}, text, **more)
    assert read.measures["pass_rate"] == 1.0
    assert [str(kind) for kind in read.wrapped] == [*read.to_dict().get("wrapped", {})] == kinds
    strict = score_text(obj(a=INTEGER), {"a": 1}, text, gates={"bare": True}, **more)
    assert strict.measures["pass_rate"] == strict.measures["json_parse"] == (0.0 if kinds else 1.0)
    assert (strict.failure.kind if strict.failure else None) == ("not_bare" if kinds else None)


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
    found = score_text(obj(a=TEXT), {"a": "x"}, output, max_output_bytes=limit)
    assert found.failure.kind == "output_too_large"
    assert said in found.failure.message
    assert found.measures["pass_rate"] == 0.0


def test_an_output_may_be_ten_times_as_large_as_its_gold():
    gold = {"rows": ["x" * 20] * 8_000}
    for limit in (None, 10_000_000):
        output = {"rows": gold["rows"] * 7}
        assert score_text(obj(rows=array(TEXT)), gold, output, max_output_bytes=limit).failure is None


# --- what a score holds


def test_a_score_is_plain_json():
    found = score(obj(a=TEXT, rows=table(b=INTEGER)), {"a": "x", "rows": [{"b": 1}]}, {"rows": [{"b": 2}]})
    again = json.loads(json.dumps(found.to_dict()))
    assert (again["semantics"], again["leaves"][0]["path"], again["arrays"][0]["path"]) == ("default", "a", "rows")
    assert "extracted" not in again["leaves"][0]
    assert set(again["gates"]) == {"parse", "root", "schema", "coverage"}


def test_missing_is_no_value():
    assert score(obj(a=TEXT), {"a": "x"}, MISSING).measures["recall"] == 0.0
    assert score({}, {"a": 1}, MISSING).measures["f1"] == score({}, MISSING, {"a": 1}).measures["f1"] == 0.0


@pytest.mark.parametrize("name", ["odd key", '["odd key"]', "$.odd key", '$["odd key"]'])
def test_a_field_may_be_spelled_in_any_way(name):
    schema, gold = obj(**{"odd key": TEXT}), {"odd key": "x"}
    assert score(schema, gold, {"odd key": "y"}, accept={name: ["y"]}).measures["f1"] == 1.0
    assert score(schema, gold, {}, absent={name: "either"}).fields[0].status is Status.SKIPPED
    assert score(schema, gold, {"odd key": "X"}, overrides={name: "string_case_insensitive"}).measures["f1"] == 1.0
    assert Gold(gold, schema=schema, thresholds={"fields": {name: 1.0}}) != {"odd key": "y"}
    assert Gold({}, schema=schema, thresholds={"pass_rate": 0}, absent={name: "must"}) != {"odd key": "y"}


# --- between processes and threads

LINES = table(sku=TEXT, price=NUMBER)
INVOICE = obj(vendor=TEXT, total=NUMBER, lines=LINES, parent={"$ref": "#"}) | {"required": ["vendor"]}
ROWS = [{"sku": "a", "price": 1}, {"sku": "b", "price": 2}]
GOLD = {"vendor": "ACME", "total": 9.5, "lines": ROWS, "parent": {"vendor": "X"}}
WRONG = {"vendor": "ACMe", "lines": [{"sku": "b", "price": 2}, {"sku": "c", "price": 1}], "parent": {"vendor": 3}}


@extend.metric()
def first_letter(gold: object, extracted: object, *, fold: bool = False) -> float:
    one, other = str(gold)[:1], str(extracted)[:1]
    return float(one.lower() == other.lower() if fold else one == other)


@extend.transform()
def digits(value: object) -> object:
    return "".join(filter(str.isdigit, str(value)))


@pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
def test_a_scorer_pickles_small_and_scores_the_same(protocol):
    scorer = compile_schema(INVOICE, nulls="value", overrides={"vendor": "string_fuzzy"}, judge_mode="exact")
    text = pickle.dumps(scorer, protocol)
    assert len(text) < 2 * len(json.dumps(INVOICE)) + 500
    again = pickle.loads(text)
    assert again.schema == INVOICE
    assert again.score(GOLD, WRONG).to_dict() == scorer.score(GOLD, WRONG).to_dict()
    published = pickle.loads(pickle.dumps(compile_schema(INVOICE, semantics="extract-bench")))
    assert published.score(GOLD, WRONG).gates.schema.passed  # who names a system asks for its numbers


@pytest.mark.parametrize("looked_at", [(), ("measures",), ("gates", "failure", "ungated", "measures")])
def test_a_score_pickles_whatever_was_looked_at_and_leaves_the_schema_behind(looked_at):
    found = compile_schema({**INVOICE, "description": "x" * 50_000}).score(GOLD, WRONG)
    for name in looked_at:
        getattr(found, name)
    text = pickle.dumps(found)
    assert len(text) < 10_000
    again = pickle.loads(text)
    assert (again.to_dict(), again.ungated, repr(again)) == (found.to_dict(), found.ungated, repr(found))


def test_extensions_pickle_with_the_functions_by_name():
    extensions = Extensions.of(first_letter, digits)
    folding = {"metrics": [{"metric_id": "first_letter", "params": {"fold": True}}]}
    overrides = {"a": folding, "b": {"transform": ["digits"]}}
    again = pickle.loads(pickle.dumps(compile_schema(obj(a=TEXT, b=TEXT), overrides=overrides, extensions=extensions)))
    assert again.source["extensions"].metrics["first_letter"].function is first_letter
    assert told(again.score({"a": "Abc", "b": "12-3"}, {"a": "axx", "b": "1 23"}).leaves) == "a match, b match"


def test_threads_share_a_scorer():
    scorer = compile_schema(INVOICE)
    outputs = [{**WRONG, "total": n, "parent": {"vendor": "y", "parent": {"vendor": str(n)}}} for n in range(40)]
    expected = [compile_schema({**INVOICE, "$comment": "alone"}).score(GOLD, output).to_dict() for output in outputs]
    with ThreadPoolExecutor(8) as threads:
        assert list(threads.map(lambda output: scorer.score(GOLD, output).to_dict(), outputs * 5)) == expected * 5
