"""The garbage collector is held back while a document is scored, and then as it was."""

from __future__ import annotations

import gc

import pytest

from pytest_extract import compile_schema
from pytest_extract.collector import no_collection, without_collection
from pytest_extract.core.scorer import MOST_SCORERS

SCHEMA = {"type": "object", "properties": {"a": {"type": "string"}}}


@pytest.fixture(params=[True, False], ids=["enabled", "disabled"])
def enabled(request):
    was = gc.isenabled()
    (gc.enable if request.param else gc.disable)()
    yield request.param
    (gc.enable if was else gc.disable)()


def test_a_function_runs_without_the_collector(enabled):
    assert without_collection(gc.isenabled)() is False
    assert gc.isenabled() is enabled


def test_a_function_that_raises_leaves_the_collector_as_it_was(enabled):
    @without_collection
    def broken():
        raise KeyError

    with pytest.raises(KeyError):
        broken()
    assert gc.isenabled() is enabled


def test_a_block_runs_without_the_collector(enabled):
    with no_collection():
        assert not gc.isenabled()
    assert gc.isenabled() is enabled


def test_scoring_leaves_the_collector_as_it_was(enabled):
    score = compile_schema(SCHEMA).score({"a": "x"}, {"a": "y"})
    assert [leaf.passed for leaf in score.leaves] == [False]
    assert gc.isenabled() is enabled


def test_scoring_leaves_nothing_to_collect():
    text, number = {"type": "string"}, {"type": "number"}
    row = {"type": "object", "properties": {"name": text, "price": number, "note": text}}
    properties = {"tags": {"type": "array", "items": text}, "rows": {"type": "array", "items": row}, "total": number}
    gold = {"tags": ["a", "b"], "rows": [{"name": "x", "price": 1, "note": "y"}] * 2, "total": 2}
    wrong = {"tags": ["a", "c"], "rows": [{"name": "x", "price": 1}, {"name": "z", "price": 1}], "total": 3}

    def score_all(comment):
        for place in range(MOST_SCORERS + 10):  # the scorers that are kept go, too
            schema = {"type": "object", "properties": properties, "$comment": f"{comment} {place}"}
            for output in (gold, wrong):
                score = compile_schema(schema).score(gold, output)
                assert score.leaves
                assert score.measures

    score_all("warm")
    gc.collect()
    gc.disable()
    try:
        score_all("measured")
        assert gc.collect() == 0
    finally:
        gc.enable()
