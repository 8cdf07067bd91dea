"""Compiled schemas, scores and extensions travel between processes, and threads share a compiled schema."""

from __future__ import annotations

import json
import pickle
from concurrent.futures import ThreadPoolExecutor

import pytest

from pytest_extract import Extensions, compile_schema, extend

LINE = {"type": "object", "properties": {"sku": {"type": "string"}, "price": {"type": "number"}}}
INVOICE = {
    "type": "object",
    "required": ["vendor"],
    "properties": {
        "vendor": {"type": "string"},
        "total": {"type": "number"},
        "lines": {"type": "array", "items": LINE},
        "parent": {"$ref": "#"},
    },
}
GOLD = {
    "vendor": "ACME",
    "total": 9.5,
    "lines": [{"sku": "a", "price": 1}, {"sku": "b", "price": 2}],
    "parent": {"vendor": "X"},
}
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


def test_a_scorer_that_names_a_system_keeps_its_gates():
    scorer = pickle.loads(pickle.dumps(compile_schema(INVOICE, semantics="extract-bench")))
    assert scorer.semantics == "extract-bench"
    assert scorer.score(GOLD, WRONG).gates.schema.passed  # who names a system asks for its numbers


@pytest.mark.parametrize("looked_at", [(), ("measures",), ("gates", "failure", "ungated", "measures")])
def test_a_score_pickles_whatever_was_looked_at(looked_at):
    score = compile_schema(INVOICE).score(GOLD, WRONG)
    for name in looked_at:
        getattr(score, name)
    again = pickle.loads(pickle.dumps(score))
    assert again.to_dict() == score.to_dict()
    assert again.ungated == score.ungated
    assert repr(again) == repr(score)


def test_a_pickled_score_leaves_the_schema_behind():
    score = compile_schema({**INVOICE, "description": "x" * 50_000}).score(GOLD, WRONG)
    assert len(pickle.dumps(score)) < 10_000


def test_extensions_pickle_with_the_functions_by_name():
    extensions = Extensions.of(first_letter, digits)
    schema = {"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "string"}}}
    overrides = {
        "a": {"metrics": [{"metric_id": "first_letter", "params": {"fold": True}}]},
        "b": {"transform": ["digits"]},
    }
    scorer = compile_schema(schema, overrides=overrides, extensions=extensions)
    again = pickle.loads(pickle.dumps(scorer))
    assert again.source["extensions"].metrics["first_letter"].function is first_letter
    score = again.score({"a": "Abc", "b": "12-3"}, {"a": "axx", "b": "1 23"})
    assert [leaf.passed for leaf in score.leaves] == [True, True]


def test_threads_share_a_scorer():
    scorer = compile_schema(INVOICE)
    outputs = [
        {**WRONG, "total": number, "parent": {"vendor": "y", "parent": {"vendor": str(number)}}} for number in range(40)
    ]
    expected = [compile_schema({**INVOICE, "$comment": "alone"}).score(GOLD, output).to_dict() for output in outputs]
    with ThreadPoolExecutor(8) as threads:
        found = list(threads.map(lambda output: scorer.score(GOLD, output).to_dict(), outputs * 5))
    assert found == expected * 5
