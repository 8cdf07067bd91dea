"""One case from an output to its outcome."""

from __future__ import annotations

import json
from datetime import date

import pytest

from pytest_extract.cases.load import load_cases
from pytest_extract.core.case_result import Outcome
from pytest_extract.core.results import Failure, FailureKind, JudgeAnswer
from pytest_extract.errors import ConfigError
from pytest_extract.extraction.call import Extraction
from pytest_extract.results import dump_result, load_result
from pytest_extract.run_case import NotRun, RunPlan, plan_of, run_case
from tests.commands import write
from tests.core.schemas import INTEGER, JUDGED, TEXT, array, obj

SCHEMA = obj(a=TEXT, b=INTEGER, rows=array({"properties": {"x": INTEGER, "y": TEXT}}))
GOLD = {"a": "x", "b": 1, "rows": [{"x": 1, "y": "p"}, {"x": 2, "y": "q"}]}
SYNONYM = {"schema": obj(a=JUDGED), "gold": {"a": "car"}}
TODAY = date(2026, 11, 20)
PASSED, FAILED, ERROR = Outcome.PASSED, Outcome.FAILED, Outcome.ERROR


@pytest.fixture
def new_case(tmp_path):
    def make(**keys):
        write({"acme.extract.yaml": {"text": "a document", "schema": SCHEMA, "gold": GOLD, **keys}}, tmp_path)
        (case,) = load_cases(tmp_path / "acme.extract.yaml").cases
        return case

    return make


@pytest.fixture
def run(new_case):
    """Run a case of these keys on an output (an exception is raised); the result as it reads back from a file."""

    def run(output, keys=None, **how):
        def extract(_index):
            if isinstance(output, Exception):
                raise output
            return output if isinstance(output, Extraction) else Extraction(output)

        result = run_case(new_case(**keys or {}), extract, nodeid="n::acme", file="n", today=TODAY, **how)
        assert load_result(dump_result(result)) == result
        return result

    return run


def score_of(result):
    (attempt,) = result.attempts
    return attempt.score


def missed(result):
    return [breach.what for breach in result.breaches]


def test_gold_against_itself_passes(run):
    result = run(Extraction(GOLD, cost_usd=0.5, latency_s=2.0, finish_reason="stop", recorded=True))
    assert (result.outcome, result.why) == (PASSED, None)
    measures = score_of(result).measures
    assert {measures[name] for name in ("pass_rate", "f1", "perfect", "strict", "json_pass")} == {1.0}
    assert result.digests.keys() == {"document", "schema", "gold"}
    (attempt,) = result.attempts
    assert (attempt.cost_usd, attempt.latency_s, attempt.finish_reason, attempt.recorded) == (0.5, 2.0, "stop", True)


@pytest.mark.parametrize(
    ("output", "kind"),
    [
        ("", "empty_response"),
        ("7", "not_structured"),
        pytest.param("[" * 10_000, "malformed_json", id="deep"),
        (Extraction(None, failure=Failure(kind=FailureKind.REFUSAL, message="no")), "refusal"),
    ],
)
def test_an_unusable_output_fails_with_its_kind(run, output, kind):
    result = run(output)
    assert (result.outcome, score_of(result).failure.kind) == (FAILED, kind)
    assert score_of(result).measures["pass_rate"] == 0.0
    assert result.breaches[0].message.startswith("pass_rate 0 is below 1, by 1")


@pytest.mark.parametrize("reason", ["error", "FinishReason.ERROR", "network_error", "insufficient_system_resource"])
@pytest.mark.parametrize("output", [GOLD, json.dumps(GOLD), '{"a": ', None], ids=["value", "text", "cut", "nothing"])
def test_an_outage_that_an_extractor_tells_of_breaks_the_case(run, output, reason):
    caught = []
    result = run(Extraction(output, finish_reason=reason), on_error=caught.append)
    assert (result.outcome, len(caught)) == (ERROR, 1)
    assert "the provider broke down while it answered (finish_reason=" in result.why


def with_note(error, note):
    error.add_note(note)
    return error


NO_JSON = "the extractor returned no JSON: at $, a value of type object is no JSON value; return a text, number or list"
QUEUE_DOWN = Failure(kind=FailureKind.EXTRACTOR_ERROR, message="the queue was down")


@pytest.mark.parametrize(
    ("output", "why"),
    [
        (Extraction(object()), NO_JSON),
        (Extraction(None, failure=QUEUE_DOWN), "the queue was down"),
        (ValueError("down"), "ValueError: down"),
        (RuntimeError('status 529\n{\n  "type": "overloaded"\n}'), "RuntimeError: status 529"),
        (with_note(ValueError("no key"), "see the manual"), "ValueError: no key"),
        (SyntaxError("invalid syntax", ("f.py", 1, 1, "a b")), "SyntaxError: invalid syntax"),
        (KeyError(""), "KeyError: ''"),
        (RuntimeError(), "RuntimeError"),
        (ConfigError(""), None),
    ],
    ids=["no-json", "failure", "exception", "json", "note", "syntax", "key", "bare", "empty"],
)
def test_what_breaks_a_case_is_handed_over_and_named(run, output, why):
    caught = []
    result = run(output, on_error=caught.append)
    assert (result.outcome, result.breaches) == (ERROR, ())
    assert result.why == why
    assert caught == [output] or not isinstance(output, Exception)


def test_a_provider_that_declines_the_document_fails_the_case(run):
    class ContextWindowExceededError(Exception):
        """Named as litellm's."""

    result = run(ContextWindowExceededError("too long"))
    assert (result.outcome, score_of(result).failure.kind) == (FAILED, "context_length")


def test_not_run_is_neither_failed_nor_broken(run):
    result = run(NotRun("the budget is spent"))
    assert (result.outcome, result.why, result.attempts) == (Outcome.NOT_RUN, "the budget is spent", ())


# --- bounds

ONE_WRONG = [{"x": 1, "y": "p"}, {"x": 9, "y": "q"}]


@pytest.mark.parametrize(
    ("thresholds", "changed", "expected"),
    [
        ({}, {}, []),
        ({}, {"a": "y"}, ["pass_rate"]),
        ({"pass_rate": 0.6}, {"a": "y"}, []),
        ({"pass_rate": 0.7, "f1": 0.9}, {"a": "y"}, ["pass_rate", "f1"]),
        ({"fields": {"b": 1.0}}, {"a": "y"}, []),
        ({"fields": {"a": 0.5}}, {"a": "y"}, ["fields.a"]),
        ({"fields": {"rows[].x": 0.9}}, {"rows": ONE_WRONG}, ["fields.rows[].x"]),
        ({"fields": {"rows[].x": 0.5}}, {"rows": ONE_WRONG}, []),
        ({"fields": {"rows": 0.5}}, {"rows": []}, ["fields.rows"]),
        ({"perfect": 1.0}, {"a": "y"}, ["perfect"]),
    ],
)
def test_thresholds(run, thresholds, changed, expected):
    result = run({**GOLD, **changed}, {"thresholds": thresholds})
    assert missed(result) == expected
    assert result.outcome is (FAILED if expected else PASSED)


@pytest.mark.parametrize(
    ("thresholds", "right"), [({"f1": 0.75}, "abc"), ({"max_cost_usd": 0.3, "max_latency_s": 0.3}, "abcde")]
)
def test_a_rounding_error_misses_no_bound(run, thresholds, right):
    keys = {"schema": obj(**dict.fromkeys("abcde", TEXT)), "gold": dict.fromkeys("abcde", "x")}
    extraction = Extraction(dict.fromkeys(right, "x"), cost_usd=0.1 + 0.2, latency_s=0.1 + 0.2)
    assert missed(run(extraction, keys | {"thresholds": thresholds})) == []


def test_an_unknown_cost_does_not_pass_a_bound_and_what_is_missed_never_reads_like_it(run):
    (breach,) = run({**GOLD, "a": "y"}, {"thresholds": {"mean_score": 0.66667}}).breaches
    assert breach.message.startswith("mean_score 0.666667 is below 0.66667")
    bounded = {"thresholds": {"max_cost_usd": 1.0}}
    assert run(Extraction(GOLD, cost_usd=1.0), bounded).outcome is PASSED
    assert missed(run(GOLD, bounded)) == ["max_cost_usd"]
    slow = {"thresholds": {"max_latency_s": 1.0, "pass_rate": 0.5}}
    assert missed(run(Extraction("no", latency_s=2.0), slow)) == ["pass_rate", "max_latency_s"]


@pytest.mark.parametrize(
    ("known", "changed", "outcome"),
    [
        ("a", {"a": "y"}, PASSED),
        ("b", {"a": "y"}, FAILED),
        ("rows[].y", {"rows": [{"x": 1, "y": "?"}, {"x": 2, "y": "?"}]}, PASSED),
        ("rows[].y", {"rows": ONE_WRONG}, FAILED),
        ("rows", {"rows": []}, PASSED),
        ("rows[1].x", {"rows": ONE_WRONG}, PASSED),
        ("$", {"a": "y", "rows": []}, PASSED),
    ],
)
def test_known_failures_are_out_of_the_verdict(run, known, changed, outcome):
    result = run({**GOLD, **changed}, {"known_failures": [{"path": known}]})
    assert (result.outcome, result.known) == (outcome, (known,))
    assert score_of(result).measures["pass_rate"] < 1


def test_a_known_failure_holds_up_to_its_day(run):
    def until(day):
        return run({**GOLD, "a": "y"}, {"known_failures": [{"path": "a", "until": day, "reason": "EX-1"}]})

    assert until("2026-11-20").outcome is PASSED
    expired = until("2026-11-19")
    assert (expired.outcome, missed(expired)) == (FAILED, ["pass_rate", "known_failures.a"])
    assert expired.breaches[1].message == "known failure a expired on 2026-11-19: EX-1"


@pytest.mark.parametrize(
    ("gold", "place", "output", "message"),
    [
        ({"a": "x"}, "b", {"a": "x", "b": 5}, "b must stay empty, but was extracted"),
        ({}, "$", {"a": "x"}, "a must stay empty, but was extracted"),
    ],
)
def test_a_field_that_must_stay_empty(run, gold, place, output, message):
    keys = {"gold": gold, "absent": {place: "must"}, "thresholds": {"pass_rate": 0.0}}
    assert run(gold, keys).outcome is PASSED
    (breach,) = run(output, keys).breaches
    assert (breach.what, breach.message) == (f"absent.{place}", message)


def test_further_keys_are_named_by_a_star(run):
    schema = obj(meta={"type": "object", "additionalProperties": TEXT})
    right, wrong = {"meta": {"k": "x"}}, {"meta": {"k": "y"}}

    def missed_by(output, gold=right, **keys):
        return missed(run(output, {"schema": schema, "gold": gold, **keys}))

    bounded = {"fields": {"meta.*": 1.0}}
    assert missed_by(right, thresholds=bounded) == []
    assert missed_by(wrong, thresholds=bounded) == ["fields.meta.*"]
    assert missed_by(wrong, known_failures=[{"path": "meta.*"}]) == []
    assert missed_by(wrong, accept={"meta.*": ["y"]}) == []
    empty = missed_by(wrong, gold={"meta": {}}, absent={"meta.*": "must"}, thresholds={"pass_rate": 0.0})
    assert empty == ["absent.meta.*"]


# --- judges and repeats


def test_a_missing_judge_breaks_the_case_and_a_judge_decides_it(run):
    asked = []

    def judge(questions):
        asked.extend(str(question.path) for question in questions)
        return [JudgeAnswer(1.0, "same")] * len(questions)

    assert run({"a": "Car"}, SYNONYM).outcome is PASSED
    missing = run({"a": "automobile"}, SYNONYM)
    assert (missing.outcome, missing.why) == (ERROR, "no judge for 1 comparison: a")
    assert run({"a": "automobile"}, SYNONYM, judge=judge).outcome is PASSED
    assert asked == ["a"]


def test_a_judge_that_decides_nothing_breaks_the_case_with_its_reason(run):
    class Judge:
        def __call__(self, questions):
            return [None] * len(questions)

        def why(self, question):
            return f"no idea about {question.gold}"

    result = run({"a": "automobile"}, SYNONYM, judge=Judge())
    assert (result.outcome, result.why) == (ERROR, "a: no idea about car")


@pytest.mark.parametrize(
    ("repeat", "option", "plan"),
    [
        (1, None, RunPlan(of=1, needed=1)),
        ({"of": 3, "pass": 2}, None, RunPlan(of=3, needed=2)),
        (3, 5, RunPlan(of=5, needed=5, to_the_end=True)),
        ({"of": 3, "pass": 2}, 5, RunPlan(of=5, needed=4, to_the_end=True)),
        ({"of": 3, "pass": 2}, 1, RunPlan(of=1, needed=1, to_the_end=True)),
    ],
)
def test_the_share_of_repeats_that_must_pass_is_kept_and_rounded_up(new_case, repeat, option, plan):
    assert plan_of(new_case(repeat=repeat), option) == plan
