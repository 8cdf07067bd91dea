"""Questions find their judge: the one that a field names, else the one for everything."""

from __future__ import annotations

import pytest

from pytest_extract import Alignment, Extensions, SchemaError, Status, Verdict, compile_schema, extend, score
from pytest_extract.core.judges import Panel
from pytest_extract.errors import ConfigError


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


OWN = Extensions.of(yes, first_with_last, down)


def no(questions):
    return [Verdict(0.0, "no") for _ in questions]


def by(judge=None, metric="string_semantic"):
    params = {} if judge is None else {"judge": judge}
    return {"evaluation_config": {"metric_id": metric, "params": params}}


def scored(fields, judge=None, **how):
    schema = {"type": "object", "properties": fields}
    gold, extracted = ({name: f"{side} {name}" for name in fields} for side in ("gold", "other"))
    found = score(schema, gold, extracted, judge=judge, extensions=OWN, **how)
    return {str(result.path): (str(result.status), result.reason) for result in found.fields}


def test_each_field_is_decided_by_its_own_judge():
    assert scored({"a": by("yes"), "b": by()}, judge=no) == {"a": ("match", "yes to a"), "b": ("mismatch", "no")}


def test_without_a_judge_for_the_rest_only_the_rest_is_open():
    found = scored({"a": by("yes"), "b": by()})
    assert found["a"] == ("match", "yes to a")
    assert found["b"][0] == "judge_error"
    assert "none is configured" in found["b"][1]


def test_one_that_fails_takes_no_answers_of_the_others_with_it():
    found = scored({"a": by("down"), "b": by("yes"), "c": by()}, judge=no)
    assert found["a"] == ("judge_error", "the judge failed: ConnectionError: no line")
    assert found["b"] == ("match", "yes to b")
    assert found["c"] == ("mismatch", "no")


@pytest.mark.parametrize(("mode", "status"), [("exact", "mismatch"), ("fuzzy", "mismatch")])
def test_where_nobody_is_to_be_asked_the_named_are_not_either(mode, status):
    assert scored({"a": by("yes")}, judge_mode=mode)["a"][0] == status


def test_the_other_dialect_names_judges_too():
    field = {"type": "string", "x-eval-compare": {"semantic": {"judge": "yes"}}}
    assert scored({"a": field})["a"] == ("match", "yes to a")


def test_rows_are_paired_by_the_judge_that_the_array_names():
    rows = {"type": "array", "items": {"type": "object", "properties": {"x": {"type": "integer"}}}}
    schema = {"type": "object", "properties": {"rows": {**rows, **by("rows", "array_llm")}}}
    gold = {"rows": [{"x": 1}, {"x": 2}]}
    found = score(schema, gold, {"rows": [{"x": 2}, {"x": 1}, {"x": 3}]}, extensions=OWN)
    assert [array.pairs for array in found.arrays] == [((0, 2),)]


def test_the_same_pair_is_another_question_for_another_judge():
    schema = {"type": "object", "properties": {"a": by("yes"), "b": by()}}
    scorer = compile_schema(schema, extensions=OWN)
    asked = scorer.questions({"a": "x", "b": "x"}, {"a": "y", "b": "y"})
    assert [question.judge for question in asked] == ["yes", ""]
    assert scorer.judges == {"yes": yes}


def test_a_name_that_nobody_has_is_an_error_with_the_nearest():
    with pytest.raises(SchemaError, match=r"/properties/a.*no judge 'yess'; did you mean 'yes'"):
        scored({"a": by("yess")})


def test_a_judge_takes_the_questions_only():
    with pytest.raises(ConfigError, match="has no parameters"):

        @extend.judge()
        def strict(questions, *, least: float = 0.5):
            return []


def test_a_panel_can_be_called_like_any_judge():
    schema = {"type": "object", "properties": {"a": by("yes"), "b": by()}}
    asked = compile_schema(schema, extensions=OWN).questions({"a": "x", "b": "x"}, {"a": "y", "b": "y"})
    assert Panel(default=no, named={"yes": yes})(asked) == [Verdict(1.0, "yes to a"), Verdict(0.0, "no")]
    assert Panel(named={"yes": yes})(asked)[1] is None
    assert Status.JUDGE_ERROR == "judge_error"
