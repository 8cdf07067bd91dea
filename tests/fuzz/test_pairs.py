"""A small, fixed slice of `tests/fuzz pairs`, and that the harness sees what is broken."""

from __future__ import annotations

import json

import pytest

from pytest_extract import MISSING, SchemaError, Score, Scorer, compile_schema
from tests.fuzz import pairs
from tests.fuzz.laws import LAWS
from tests.fuzz.pairs import Tally, decoded, encoded, main, replay, run_group

RECORD = {
    "law": "score",
    "schema": {"type": "object"},
    "options": {},
    "judge": None,
    "gold": {},
    "extracted": {},
    "seed": 1,
}


def tally_of(seed, groups, size):
    tally = Tally()
    for group in range(groups):
        run_group(seed, group, tally, pairs=size)
    return tally


def test_a_slice_of_random_pairs_keeps_every_law(monkeypatch):
    monkeypatch.setattr(pairs, "CPU_LIMIT_S", 60.0)  # the first report imports its libraries, on a machine of any speed
    tally = tally_of(1, 40, 8)
    assert tally.lines == {}
    assert tally.counts["laws"].keys() == LAWS.keys()
    assert tally.counts["schemas"]["drawn"] == 40
    assert tally.counts["schemas"]["refused"] < 20
    assert tally_of(7, 5, 3).counts == tally_of(7, 5, 3).counts


def test_a_score_beyond_1_is_found_made_small_and_replayed(monkeypatch, tmp_path):
    monkeypatch.setattr(Score, "ungated", {"pass_rate": 1.5})
    (line,) = (line for signature, line in tally_of(1, 4, 4).lines.items() if signature.startswith("range"))
    assert replay(line).law == "range"
    assert len(line) < 700
    (tmp_path / "failures").write_text(line)
    assert main(["--replay", str(tmp_path / "failures")]) == 1
    monkeypatch.undo()
    assert main(["--replay", str(tmp_path / "failures")]) == 0


def test_an_exception_is_found_with_its_place():
    with pytest.raises(SchemaError) as raised:
        compile_schema({"type": "string", "evaluation_config": "no such metric"})
    found = pairs.found_in("score", raised.value)
    assert found.signature.startswith("score: SchemaError: ")
    assert " at pytest_extract/core/" in found.signature


def test_changed_inputs_and_what_takes_too_long_are_found(monkeypatch):
    def changing(_scorer, gold, *_, **__):
        gold["b"] = 1

    def endless(*_, **__):
        while True:
            pass

    monkeypatch.setattr(pairs, "CPU_LIMIT_S", 0.1)
    monkeypatch.setattr(pairs, "LAWS", {})
    monkeypatch.setattr(Scorer, "score", changing)
    assert pairs.try_once({**RECORD, "law": "inputs"}).law == "inputs"
    monkeypatch.setattr(Scorer, "score", endless)
    assert "TooSlow" in pairs.try_once(RECORD).signature


@pytest.mark.parametrize(
    "value", [10**5000, -(10**401), float("inf"), "\ud800", [1, {"$a": None}], MISSING], ids=range(6)
)
def test_any_value_comes_back_from_a_line(value):
    assert decoded(json.loads(json.dumps(encoded({"gold": value})))) == {"gold": value}
