"""A small, fixed slice of `tests/fuzz pairs`, and that the harness sees what is broken."""

from __future__ import annotations

import json

import pytest

from pytest_extract import SchemaError, Score, Scorer, compile_schema
from tests.fuzz import pairs
from tests.fuzz.generate import Setup
from tests.fuzz.laws import LAWS
from tests.fuzz.pairs import Tally, replay, run_group

GROUPS = 40


def test_a_slice_of_random_pairs_keeps_every_law(monkeypatch):
    monkeypatch.setattr(pairs, "CPU_LIMIT_S", 60.0)  # the first report imports its libraries, on a machine of any speed
    tally = Tally()
    for group in range(GROUPS):
        run_group(1, group, tally, pairs=8)
    assert tally.failures == {}
    assert tally.checks.keys() == LAWS.keys()
    assert tally.schemas == GROUPS
    assert tally.refused < GROUPS / 2


def test_equal_seeds_give_equal_pairs():
    one, other = Tally(), Tally()
    for tally in (one, other):
        for group in range(5):
            run_group(7, group, tally, pairs=3)
    assert (one.checks, one.statuses, one.metrics) == (other.checks, other.statuses, other.metrics)


def test_a_score_beyond_1_is_found_and_made_small(monkeypatch):
    monkeypatch.setattr(Score, "ungated", {"pass_rate": 1.5})
    tally = Tally()
    run_group(1, 0, tally, pairs=4)
    (line,) = (line for signature, line in tally.lines.items() if signature.startswith("range"))
    found = replay(line)
    assert found is not None
    assert found.law == "range"
    assert len(line) < 700
    monkeypatch.undo()
    assert replay(line) is None


def test_an_exception_is_found_with_its_place():
    with pytest.raises(SchemaError) as raised:
        compile_schema({"type": "string", "evaluation_config": "no such metric"})
    found = pairs.found_in("score", raised.value)
    assert found.signature.startswith("score: SchemaError: ")
    assert " at pytest_extract/core/" in found.signature


def test_changed_inputs_are_found(monkeypatch):
    setup = Setup({"type": "object"}, {})
    scorer = pairs.compiled(setup)
    score = scorer.score

    def changing(gold, extracted, **how):
        gold["b"] = 1
        return score(gold, extracted, **how)

    monkeypatch.setattr(scorer, "score", changing)
    found, _, _ = pairs.check_pair(scorer, setup, {"a": 1}, {"a": 1}, 1, "inputs")
    assert found is not None
    assert found.law == "inputs"


def test_what_takes_too_long_is_stopped(monkeypatch):
    monkeypatch.setattr(pairs, "CPU_LIMIT_S", 0.1)

    def endless(*_, **__):
        while True:
            pass

    monkeypatch.setattr(Scorer, "score", endless)
    found = pairs.try_once(Setup({"type": "object"}, {}), {}, {}, 1, "score")
    assert found is not None
    assert "TooSlow" in found.signature


VALUES = {
    "long": 10**5000,
    "negative": -(10**401),
    "infinite": float("inf"),
    "surrogate": "\ud800",
    "nested": [1, {"$a": None}],
    "missing": pairs.MISSING,
}


@pytest.mark.parametrize("value", VALUES.values(), ids=VALUES)
def test_any_value_comes_back_from_a_line(value):
    line = json.dumps(pairs.encoded({"gold": value}))
    assert pairs.decoded(json.loads(line)) == {"gold": value}
