"""Scoring with a model as judge, end to end over HTTP: calls per case, kept answers, outages."""

from __future__ import annotations

import json

import pytest

from pytest_extract.core.results import Status
from pytest_extract.core.scorer import compile_schema
from pytest_extract.extraction.caching_judge import build_judge
from pytest_extract.extraction.litellm import Retry
from tests.extraction.judge.questions import asked_of, by_rule, data_of
from tests.llm_server import MODEL, answer, llm_server, server_error

__all__ = ["llm_server"]
SEMANTIC = {"type": "string", "evaluation_config": "string_semantic"}
NOTED = {"metrics": [{"metric_id": "string_semantic", "params": {"additional_instructions": "Ignore the legal form."}}]}
SCHEMA = {
    "type": "object",
    "properties": {
        **{f"f{n}": SEMANTIC for n in range(47)},
        "vendor": {"type": "string", "evaluation_config": NOTED},
        "rows": {"type": "array", "items": {"type": "object", "properties": {"a": {"type": "string"}}}},
        "tags": {"type": "array", "items": {"type": "string"}},
    },
}
GOLD = {
    **{f"f{n}": f"gold {n}" for n in range(47)},
    "vendor": "ACME",
    "rows": [{"a": "x"}, {"a": "y"}],
    "tags": ["p", "q"],
}
FOUND = {
    **{f"f{n}": f"other {n}" for n in range(47)},
    "vendor": "Acme GmbH",
    "rows": [{"a": "y"}, {"a": "z"}],
    "tags": ["q", "p", "r"],
}
SCORER = compile_schema(SCHEMA)


def desk(folder=None):
    return build_judge("llm", model=MODEL, folder=folder, retry=Retry(attempts=2, first_wait_s=0.0))


def test_fifty_questions_take_three_calls_and_then_none(llm_server, tmp_path):
    llm_server.otherwise = by_rule
    first = SCORER.score(GOLD, FOUND, judge=desk(tmp_path))
    assert first.questions_asked == 50
    assert len(llm_server.requests) == 3, "the record, and each of two arrays"
    again = SCORER.score(GOLD, FOUND, judge=desk(tmp_path))
    assert len(llm_server.requests) == 3
    assert again.to_dict() == first.to_dict()
    statuses = {str(result.path): result.status for result in first.fields}
    assert statuses["f0"] is Status.MISMATCH
    assert Status.JUDGE_ERROR not in statuses.values()


def test_instructions_of_a_field_reach_the_prompt(llm_server):
    llm_server.otherwise = by_rule
    SCORER.score(GOLD, {**GOLD, "vendor": "Acme GmbH"}, judge=desk())
    (body,) = (body for body in llm_server.bodies if "Acme GmbH" in json.dumps(body))
    (asked,) = asked_of(body).values()
    assert asked["instructions"] == "Ignore the legal form."
    assert [(item["gold"], item["extracted"]) for item in data_of(body).values()] == [("ACME", "Acme GmbH")]


def test_equal_values_ask_nobody(llm_server):
    found = {**GOLD, "vendor": " acme", "f1": "GOLD  1"}
    score = SCORER.score(GOLD, found, judge=desk())
    assert score.measures["pass_rate"] == 1.0
    assert all("vendor" not in json.dumps(body) for body in llm_server.bodies)


def test_an_outage_breaks_and_does_not_fail(llm_server):
    llm_server.otherwise = server_error()
    judge = desk()
    score = SCORER.score(GOLD, {**GOLD, "vendor": "Acme GmbH"}, judge=judge)
    (result,) = (result for result in score.fields if str(result.path) == "vendor")
    assert result.status is Status.JUDGE_ERROR
    assert any("could not be asked" in why for why in judge._undecided.values())


@pytest.mark.parametrize("mode", ["exact", "fuzzy"])
def test_the_other_modes_call_nobody(llm_server, mode):
    score = SCORER.score(GOLD, FOUND, judge=build_judge(mode))
    assert Status.JUDGE_ERROR not in {result.status for result in score.fields}
    assert llm_server.requests == []


def by_name(body):
    """A model that does as the prompt asks: rows are a pair when they name the same thing."""
    ((name, item),) = data_of(body).items()
    assert "the same thing" in body["messages"][0]["content"]
    assert "every field agrees" not in body["messages"][0]["content"]
    places = {row["name"]: j for j, row in enumerate(item["extracted"])}
    pairs = [[i, places[row["name"]]] for i, row in enumerate(item["gold"]) if row["name"] in places]
    return answer(json.dumps({"answers": [{"id": name, "pairs": pairs, "reason": "by name"}]}))


@pytest.mark.parametrize("semantics", ["extract-bench", "default"])
def test_one_wrong_price_is_one_mismatch_and_not_a_missing_and_an_invented_row(llm_server, semantics):
    llm_server.otherwise = by_name
    exact = {"type": "string", "evaluation_config": "string_exact"}
    row = {"type": "object", "properties": {"name": exact, "unit": exact, "price": {"type": "number"}}}
    schema = {"type": "array", "items": row, "evaluation_config": {"metrics": [{"metric_id": "array_llm"}]}}
    gold = [{"name": name, "unit": "kg", "price": price} for name, price in (("a", 1), ("b", 2), ("c", 3))]
    extracted = [gold[2], {**gold[1], "price": 20}, gold[0]]
    score = compile_schema(schema, semantics=semantics).score(gold, extracted, judge=desk())
    wrong = [(str(leaf.path), leaf.status) for leaf in score.leaves if not leaf.passed]
    assert wrong == [("[1].price", Status.MISMATCH)]
    assert score.measures["f1"] == pytest.approx(8 / 9)
    (field,) = score.fields
    assert not field.passed
