from __future__ import annotations

import math
from pathlib import Path

import pytest

from pytest_extract.core.case_result import Arm, Attempt, Breach, CaseResult, Outcome, Usage
from pytest_extract.errors import StoreError
from pytest_extract.results_file import dump_result, load_result, read_results, write_results
from tests.records import field_result, score_record
from tests.strategies import nested

RESULT = CaseResult(
    nodeid="d/acme.extract.yaml::acme[m]",
    case_id="acme",
    file="d/acme.extract.yaml",
    arm=Arm(model="m"),
    outcome=Outcome.FAILED,
    why="pass_rate 0.5 < 1",
    needed=2,
    breaches=(Breach(what="pass_rate", message="pass_rate 0.5 < 1", bound=1.0, value=0.5),),
    attempts=(
        Attempt(
            index=0,
            outcome=Outcome.FAILED,
            score=score_record(
                field_result("a[0].b", 1, None), measures={"pass_rate": 0.5}, failure="schema_violation"
            ),
            output='{"a": "é\ud800"}',
            usage=Usage(prompt_tokens=3, completion_tokens=4, total_tokens=7),
            cost_usd=0.01,
            latency_s=1.5,
            finish_reason="stop",
            recorded=True,
        ),
        Attempt(index=1, outcome=Outcome.BROKEN, error="ValueError: no"),
    ),
    tags={"supplier": "acme"},
    digests={"document": "00"},
    complexity="easy",
    modality="image",
    shape={"depth": 2},
    known=("items[].tax",),
    duration_s=2.5,
)


def with_output(output: object) -> CaseResult:
    attempt = Attempt(index=0, outcome=Outcome.PASSED, output=output)
    return CaseResult(nodeid="n", case_id="c", file="f", arm=Arm(), outcome=Outcome.PASSED, attempts=(attempt,))


def test_round_trip() -> None:
    line = dump_result(RESULT)
    assert "\n" not in line
    assert line.isascii()
    assert load_result(line) == RESULT


@pytest.mark.parametrize(
    ("output", "expected"),
    [
        pytest.param(math.nan, "nan", id="nan"),
        pytest.param([math.inf], ["inf"], id="infinity"),
        pytest.param(object(), "<builtins.object>", id="object"),
        pytest.param({1: 2}, {"1": 2}, id="number-key-as-json-does"),
        pytest.param({(1, 2): 2}, {"<tuple key>": 2}, id="tuple-key"),
        pytest.param(10**5000, f"<an integer of {(10**5000).bit_length()} bits>", id="huge-integer"),
        pytest.param({"a": {1, 2}}, {"a": "<builtins.set>"}, id="set"),
    ],
)
def test_what_json_cannot_hold_is_shown_as_text(output: object, expected: object) -> None:
    assert load_result(dump_result(with_output(output))).attempts[0].output == expected


def test_deep_nesting_is_cut_and_says_so() -> None:
    line = dump_result(with_output(nested(10_000)))
    assert "nested deeper than" in line
    assert load_result(line).outcome is Outcome.PASSED


@pytest.mark.parametrize(
    ("line", "message"),
    [
        pytest.param("{", "not JSON", id="broken"),
        pytest.param("[1]", "not a result of format 1", id="array"),
        pytest.param('{"format": 99}', "found 99", id="other-version"),
        pytest.param('{"format": 1}', "not a whole result: KeyError", id="keys-missing"),
        pytest.param("[" * 100_000, "not JSON", id="deep"),
    ],
)
def test_a_bad_line_is_a_store_error(line: str, message: str) -> None:
    with pytest.raises(StoreError, match=message):
        load_result(line)


def test_file_round_trip(tmp_path: Path) -> None:
    path = tmp_path / "new" / "r.jsonl"
    write_results(path, [RESULT, with_output(1)])
    read = read_results(path)
    assert read.results == (RESULT, with_output(1))
    assert not read.torn
    assert [item.name for item in path.parent.iterdir()] == ["r.jsonl"]


def test_the_torn_last_line_of_a_killed_run_is_left_out_and_said(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    path.write_text(f"{dump_result(RESULT)}\n{dump_result(RESULT)[:50]}", encoding="utf-8")
    read = read_results(path)
    assert read.results == (RESULT,)
    assert read.torn


def test_a_bad_line_in_the_middle_is_an_error_with_its_number(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    path.write_text(f"\nnonsense\n{dump_result(RESULT)}\n", encoding="utf-8")
    with pytest.raises(StoreError, match=r"r\.jsonl:2: not JSON"):
        read_results(path)


def test_a_missing_file_is_a_store_error(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="cannot be read"):
        read_results(tmp_path / "none.jsonl")


def test_a_path_that_cannot_be_written_is_a_store_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="cannot be written"):
        write_results(tmp_path / "file" / "r.jsonl", [RESULT])


def test_what_looks_like_a_secret_is_never_written_and_told():
    key = "sk-" + "a1B2c3D4e5F6g7H8i9J0"
    score = score_record(field_result("note", None, f"key {key}"))
    attempt = Attempt(
        index=0, outcome=Outcome.BROKEN, output={"note": f"key {key}"}, error=f"401 for {key}", score=score
    )
    line = dump_result(
        CaseResult(
            nodeid="a", case_id="a", file="a", arm=Arm(), outcome=Outcome.BROKEN, attempts=(attempt,), why=f"401 {key}"
        )
    )
    assert key not in line
    back = load_result(line)
    assert back.attempts[0].output == {"note": "key [redacted: API key]"}
    assert back.attempts[0].notes == ("taken out of this result: API key",)
    assert dump_result(back) == line
