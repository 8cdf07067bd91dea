from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from datetime import date
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from pytest_extract.cases.load import load_cases
from pytest_extract.cases.model import Case
from pytest_extract.core.case_result import Attempt, CaseResult, Outcome
from pytest_extract.core.results import Answer, Failure, FailureKind, JudgeAnswer, Question
from pytest_extract.extraction.call import Extraction
from pytest_extract.results import dump_result, load_result
from pytest_extract.run_case import NotRun, RunPlan, plan_of, run_case

SCHEMA = {
    "type": "object",
    "properties": {
        "a": {"type": "string"},
        "b": {"type": "integer"},
        "rows": {"type": "array", "items": {"properties": {"x": {"type": "integer"}, "y": {"type": "string"}}}},
    },
}
GOLD: dict[str, Any] = {"a": "x", "b": 1, "rows": [{"x": 1, "y": "p"}, {"x": 2, "y": "q"}]}
JUDGED = {"type": "object", "properties": {"a": {"type": "string", "evaluation_config": "string_semantic"}}}
TODAY = date(2026, 11, 20)
NewCase = Callable[..., Case]


@pytest.fixture
def new_case(tmp_path: Path) -> NewCase:
    def make(**keys: Any) -> Case:
        path = tmp_path / "acme.extract.yaml"
        path.write_text(json.dumps({"text": "a document", "schema": SCHEMA, "gold": GOLD, **keys}), encoding="utf-8")
        loaded = load_cases(path)
        assert loaded.errors == ()
        return loaded.cases[0]

    return make


def run(case: Case, *outputs: Any, **how: Any) -> CaseResult:
    """Run a case on outputs (one a repeat; an exception is raised); the result as it reads back from a file."""

    def extract(index: int) -> Extraction:
        output = outputs[index]
        if isinstance(output, Exception):
            raise output
        return output if isinstance(output, Extraction) else Extraction(output)

    result = run_case(case, extract, nodeid="n::acme", file="n", today=TODAY, **how)
    assert load_result(dump_result(result)) == result
    return result


def only(result: CaseResult) -> Attempt:
    (attempt,) = result.attempts
    return attempt


def measures(result: CaseResult) -> dict[str, float]:
    score = only(result).score
    assert score is not None
    return dict(score.measures)


def failure(result: CaseResult) -> str | None:
    score = only(result).score
    assert score is not None
    return None if score.failure is None else score.failure.kind


def test_gold_against_itself_passes(new_case: NewCase) -> None:
    result = run(new_case(), GOLD)
    assert result.outcome is Outcome.PASSED
    assert result.why is None
    assert {measures(result)[name] for name in ("pass_rate", "f1", "perfect", "strict", "json_pass")} == {1.0}
    assert result.digests.keys() == {"document", "schema", "gold"}


@pytest.mark.parametrize(
    ("output", "kind"),
    [
        pytest.param("", "empty_response", id="empty"),
        pytest.param("sorry", "no_json", id="prose"),
        pytest.param('{"a": "x",}', "trailing_comma", id="comma"),
        pytest.param('{"a": ', "truncated_json", id="cut"),
        pytest.param("7", "not_structured", id="scalar"),
        pytest.param('{"a": 1, "a": 2}', "duplicate_key", id="duplicate"),
        pytest.param("[" * 10_000, None, id="deep"),
        pytest.param(
            Extraction(None, failure=Failure(kind=FailureKind.REFUSAL, message="no")), "refusal", id="refusal"
        ),
    ],
)
def test_an_unusable_output_fails_with_its_kind(new_case: NewCase, output: object, kind: str | None) -> None:
    result = run_case(new_case(), lambda _: as_extraction(output), nodeid="n", file="f", today=TODAY)
    assert result.outcome is Outcome.FAILED
    assert failure(result) == kind if kind else failure(result) is not None
    assert measures(result)["pass_rate"] == 0.0
    assert result.breaches[0].message.startswith("pass_rate 0 is below 1, by 1")


def as_extraction(output: object) -> Extraction:
    return output if isinstance(output, Extraction) else Extraction(output)


@pytest.mark.parametrize("reason", ["error", "FinishReason.ERROR", "network_error", "insufficient_system_resource"])
@pytest.mark.parametrize("output", [GOLD, json.dumps(GOLD), '{"a": ', None], ids=["value", "text", "cut", "nothing"])
def test_an_outage_that_an_extractor_tells_of_breaks_the_case(new_case: NewCase, output: object, reason: str) -> None:
    caught: list[Exception] = []
    result = run(new_case(), Extraction(output, finish_reason=reason), on_error=caught.append)
    assert result.outcome is Outcome.BROKEN
    assert "the provider broke down while it answered (finish_reason=" in (result.why or "")
    assert len(caught) == 1


def test_an_output_that_is_no_json_breaks_the_case(new_case: NewCase) -> None:
    result = run_case(new_case(), lambda _: Extraction(object()), nodeid="n", file="f", today=TODAY)
    assert result.outcome is Outcome.BROKEN
    assert "the extractor returned no JSON" in (result.why or "")


def test_a_failure_of_the_extractor_itself_breaks_the_case(new_case: NewCase) -> None:
    failure = Failure(kind=FailureKind.EXTRACTOR_ERROR, message="the queue was down")
    assert run(new_case(), Extraction(None, failure=failure)).why == "the queue was down"


def test_an_exception_breaks_the_case_and_is_handed_over(new_case: NewCase) -> None:
    caught: list[Exception] = []
    error = ValueError("down")
    result = run(new_case(), error, on_error=caught.append)
    assert (result.outcome, result.why, result.breaches) == (Outcome.BROKEN, "ValueError: down", ())
    assert caught == [error]


def with_note(error: Exception, note: str) -> Exception:
    error.add_note(note)
    return error


@pytest.mark.parametrize(
    ("error", "why"),
    [
        (RuntimeError('status 529\n{\n  "type": "overloaded"\n}'), "RuntimeError: status 529"),
        (with_note(ValueError("no key"), "see the manual"), "ValueError: no key"),
        (SyntaxError("invalid syntax", ("f.py", 1, 1, "a b")), "SyntaxError: invalid syntax"),
        (KeyError(""), "KeyError: ''"),
        (RuntimeError(), "RuntimeError"),
    ],
    ids=["json", "note", "syntax", "key", "bare"],
)
def test_a_broken_case_names_its_exception_however_long_the_message_is(
    new_case: NewCase, error: Exception, why: str
) -> None:
    result = run(new_case(), error)
    assert result.outcome is Outcome.BROKEN
    assert result.why == why


def test_a_provider_that_declines_the_document_fails_the_case(new_case: NewCase) -> None:
    class ContextWindowExceededError(Exception):
        """Named as litellm's."""

    result = run(new_case(), ContextWindowExceededError("too long"))
    assert (result.outcome, failure(result)) == (Outcome.FAILED, "context_length")


def test_not_run_is_neither_failed_nor_broken(new_case: NewCase) -> None:
    result = run(new_case(), NotRun("the budget is spent"))
    assert (result.outcome, result.why, result.attempts) == (Outcome.NOT_RUN, "the budget is spent", ())


def test_what_the_call_took_is_kept(new_case: NewCase) -> None:
    extraction = Extraction(GOLD, cost_usd=0.5, latency_s=2.0, finish_reason="stop", recorded=True)
    attempt = only(run(new_case(), extraction))
    assert (attempt.cost_usd, attempt.latency_s, attempt.finish_reason, attempt.recorded) == (0.5, 2.0, "stop", True)


@pytest.mark.parametrize(
    ("thresholds", "changed", "missed"),
    [
        pytest.param({}, {}, [], id="gold"),
        pytest.param({}, {"a": "y"}, ["pass_rate"], id="default"),
        pytest.param({"pass_rate": 0.6}, {"a": "y"}, [], id="lower"),
        pytest.param({"pass_rate": 0.7, "f1": 0.9}, {"a": "y"}, ["pass_rate", "f1"], id="two-measures"),
        pytest.param({"fields": {"b": 1.0}}, {"a": "y"}, [], id="field-reached"),
        pytest.param({"fields": {"a": 0.5}}, {"a": "y"}, ["fields.a"], id="field-missed"),
        pytest.param({"fields": {"rows[].x": 0.9}}, {"rows": [{"x": 1, "y": "p"}, {"x": 9, "y": "q"}]}, ["fields.rows[].x"], id="pattern"),
        pytest.param({"fields": {"rows[].x": 0.5}}, {"rows": [{"x": 1, "y": "p"}, {"x": 9, "y": "q"}]}, [], id="mean-of-a-pattern"),
        pytest.param({"fields": {"rows": 0.5}}, {"rows": []}, ["fields.rows"], id="array"),
        pytest.param({"perfect": 1.0}, {"a": "y"}, ["perfect"], id="document-measure"),
    ],
)  # fmt: skip
def test_thresholds(new_case: NewCase, thresholds: dict[str, Any], changed: dict[str, Any], missed: list[str]) -> None:
    result = run(new_case(thresholds=thresholds), {**GOLD, **changed})
    assert [breach.what for breach in result.breaches] == missed
    assert result.outcome is (Outcome.FAILED if missed else Outcome.PASSED)


@pytest.mark.parametrize(
    ("thresholds", "extracted"),
    [
        ({"f1": 0.75}, dict.fromkeys("abc", "x")),
        ({"max_cost_usd": 0.3, "max_latency_s": 0.3}, dict.fromkeys("abcde", "x")),
    ],
    ids=["measure", "cost-and-latency"],
)
def test_a_rounding_error_misses_no_bound(
    new_case: NewCase, thresholds: dict[str, Any], extracted: dict[str, Any]
) -> None:
    schema = {"type": "object", "properties": {name: {"type": "string"} for name in "abcde"}}
    case = new_case(schema=schema, gold=dict.fromkeys("abcde", "x"), thresholds=thresholds)
    assert run(case, Extraction(extracted, cost_usd=0.1 + 0.2, latency_s=0.1 + 0.2)).breaches == ()


def test_a_value_just_below_its_bound_never_reads_like_the_bound(new_case: NewCase) -> None:
    result = run(new_case(thresholds={"mean_score": 0.66667}), {**GOLD, "a": "y"})
    assert result.breaches[0].message.startswith("mean_score 0.666667 is below 0.66667")


@pytest.mark.parametrize(
    ("known", "changed", "outcome"),
    [
        pytest.param(["a"], {"a": "y"}, Outcome.PASSED, id="field"),
        pytest.param(["b"], {"a": "y"}, Outcome.FAILED, id="another-field"),
        pytest.param(["rows[].y"], {"rows": [{"x": 1, "y": "?"}, {"x": 2, "y": "?"}]}, Outcome.PASSED, id="inside-an-array"),
        pytest.param(["rows[].y"], {"rows": [{"x": 1, "y": "?"}, {"x": 9, "y": "q"}]}, Outcome.FAILED, id="not-all-inside"),
        pytest.param(["rows"], {"rows": []}, Outcome.PASSED, id="whole-array"),
        pytest.param(["rows[1].x"], {"rows": [{"x": 1, "y": "p"}, {"x": 9, "y": "q"}]}, Outcome.PASSED, id="concrete-path"),
        pytest.param(["$"], {"a": "y", "rows": []}, Outcome.PASSED, id="everything"),
    ],
)  # fmt: skip
def test_known_failures_are_out_of_the_verdict(
    new_case: NewCase, known: list[str], changed: dict[str, Any], outcome: Outcome
) -> None:
    case = new_case(known_failures=[{"path": path} for path in known])
    result = run(case, {**GOLD, **changed})
    assert result.outcome is outcome
    assert result.known == tuple(known)
    assert measures(result)["pass_rate"] < 1


@pytest.mark.parametrize(("until", "outcome"), [("2026-11-20", Outcome.PASSED), ("2026-11-19", Outcome.FAILED)])
def test_a_known_failure_holds_up_to_its_day(new_case: NewCase, until: str, outcome: Outcome) -> None:
    case = new_case(known_failures=[{"path": "a", "until": until, "reason": "EX-1"}])
    result = run(case, {**GOLD, "a": "y"})
    assert result.outcome is outcome
    if outcome is Outcome.FAILED:
        assert [breach.what for breach in result.breaches] == ["pass_rate", "known_failures.a"]
        assert result.breaches[1].message == "known failure a expired on 2026-11-19: EX-1"


def test_a_field_that_must_stay_empty(new_case: NewCase) -> None:
    case = new_case(gold={"a": "x"}, absent={"b": "must"}, thresholds={"pass_rate": 0.0})
    assert run(case, {"a": "x"}).outcome is Outcome.PASSED
    result = run(case, {"a": "x", "b": 5})
    assert [(breach.what, breach.message) for breach in result.breaches] == [
        ("absent.b", "b must stay empty, but was extracted")
    ]


def test_a_root_that_must_stay_empty(new_case: NewCase) -> None:
    case = new_case(gold={}, absent={"$": "must"}, thresholds={"pass_rate": 0.0})
    assert run(case, {}).outcome is Outcome.PASSED
    assert [breach.what for breach in run(case, {"a": "x"}).breaches] == ["absent.$"]


def test_further_keys_are_named_by_a_star(new_case: NewCase) -> None:
    schema = {"type": "object", "properties": {"meta": {"type": "object", "additionalProperties": {"type": "string"}}}}
    right, wrong = {"meta": {"k": "x"}}, {"meta": {"k": "y"}}
    new = partial(new_case, schema=schema, gold=right)
    bounded = new(thresholds={"fields": {"meta.*": 1.0}})
    assert run(bounded, right).outcome is Outcome.PASSED
    assert [breach.what for breach in run(bounded, wrong).breaches] == ["fields.meta.*"]
    assert run(new(known_failures=[{"path": "meta.*"}]), wrong).outcome is Outcome.PASSED
    assert run(new(accept={"meta.*": ["y"]}), wrong).outcome is Outcome.PASSED
    empty = new(gold={"meta": {}}, absent={"meta.*": "must"}, thresholds={"pass_rate": 0.0})
    assert [breach.what for breach in run(empty, wrong).breaches] == ["absent.meta.*"]


def test_a_missing_judge_breaks_the_case_and_says_what_to_do(new_case: NewCase) -> None:
    case = new_case(schema=JUDGED, gold={"a": "car"})
    assert run(case, {"a": "Car"}).outcome is Outcome.PASSED
    result = run(case, {"a": "automobile"})
    assert result.outcome is Outcome.BROKEN
    assert result.why is not None
    assert result.why == "no judge for 1 comparison: a"


def test_a_judge_decides(new_case: NewCase) -> None:
    asked: list[Question] = []

    def judge(questions: Sequence[Question]) -> list[Answer]:
        asked.extend(questions)
        return [JudgeAnswer(1.0, "same")] * len(questions)

    assert run(new_case(schema=JUDGED, gold={"a": "car"}), {"a": "automobile"}, judge=judge).outcome is Outcome.PASSED
    assert [str(question.path) for question in asked] == ["a"]


def test_a_judge_that_decides_nothing_breaks_the_case_with_its_reason(new_case: NewCase) -> None:
    class Judge:
        def __call__(self, questions: Sequence[Question]) -> list[Answer]:
            return [None] * len(questions)

        def why(self, question: Question) -> str:
            return f"no idea about {question.gold}"

    result = run(new_case(schema=JUDGED, gold={"a": "car"}), {"a": "automobile"}, judge=Judge())
    assert result.outcome is Outcome.BROKEN
    assert result.why == "a: no idea about car"


@pytest.mark.parametrize(
    ("repeat", "option", "plan"),
    [
        pytest.param(1, None, RunPlan(of=1, needed=1), id="one"),
        pytest.param({"of": 3, "pass": 2}, None, RunPlan(of=3, needed=2), id="own"),
        pytest.param(3, 5, RunPlan(of=5, needed=5, to_the_end=True), id="all-stays-all"),
        pytest.param({"of": 3, "pass": 2}, 5, RunPlan(of=5, needed=4, to_the_end=True), id="share-rounded-up"),
        pytest.param({"of": 3, "pass": 2}, 1, RunPlan(of=1, needed=1, to_the_end=True), id="fewer"),
    ],
)
def test_plan(new_case: NewCase, repeat: object, option: int | None, plan: RunPlan) -> None:
    assert plan_of(new_case(repeat=repeat), option) == plan


def test_an_unknown_cost_does_not_pass_a_bound(new_case: NewCase) -> None:
    case = new_case(thresholds={"max_cost_usd": 1.0})
    assert run(case, Extraction(GOLD, cost_usd=1.0)).outcome is Outcome.PASSED
    assert [breach.what for breach in run(case, GOLD).breaches] == ["max_cost_usd"]


def test_a_broken_output_that_costs_nothing_known_is_told_once(new_case: NewCase) -> None:
    case = new_case(thresholds={"max_latency_s": 1.0, "pass_rate": 0.5})
    result = run(case, Extraction("no", latency_s=2.0))
    assert [breach.what for breach in result.breaches] == ["pass_rate", "max_latency_s"]
