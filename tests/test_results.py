from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path

import pytest

from pytest_extract.core.case_result import Attempt, Breach, CaseResult, Outcome, Usage, Variant
from pytest_extract.core.result_json import to_json
from pytest_extract.core.results import Failure, FailureKind
from pytest_extract.core.values import MISSING, FieldPath
from pytest_extract.errors import StoreError
from pytest_extract.results import dump_result, load_result, read_results, safe_form, write_results
from tests.records import field_result, score_record
from tests.redact.corpus import LEGAL, SECRETS, made
from tests.strategies import nested

RESULT = CaseResult(
    nodeid="d/acme.extract.yaml::acme[m]",
    case_id="acme",
    file="d/acme.extract.yaml",
    variant=Variant(model="m"),
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
    return CaseResult(nodeid="n", case_id="c", file="f", variant=Variant(), outcome=Outcome.PASSED, attempts=(attempt,))


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
        pytest.param('{"format": 1}', "not a whole result: .*missing.*'case_id'", id="keys-missing"),
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


KEY, OTHER = SECRETS["openai, project"], SECRETS["aws"]


def leaking(output):
    failure = Failure(kind=FailureKind.REFUSAL, message=f'sent {{\\"api_key\\": \\"{made("{a40}")}\\"}}')
    result = field_result(str(FieldPath(("a", KEY))), None, f"key {KEY}")
    score = score_record(result, failure=failure)
    attempt = Attempt(index=0, outcome=Outcome.BROKEN, output=output, error=f"401 for {KEY}", score=score)
    return replace(RESULT, outcome=Outcome.BROKEN, attempts=(attempt,), why=f"401: x-api-key={made('{a40}')}")


@pytest.mark.parametrize("output", [{"note": f"key {KEY}"}, json.dumps({"note": f"\n{KEY}"})], ids=["value", "text"])
def test_an_output_with_a_secret_is_left_out_and_what_is_shown_of_it_is_hidden(output):
    line, _ = safe_form(leaking(output))
    assert KEY not in line
    assert made("{a40}") not in line
    (attempt,) = load_result(line).attempts
    assert attempt.output is None
    assert attempt.withheld.startswith("the output holds a secret (API key) at ")
    assert attempt.score.leaves[0].extracted == "key [redacted: API key]"
    assert "[redacted: API key]" in str(attempt.score.leaves[0].path)
    assert attempt.notes[-1] == "hidden in this result: API key"
    assert dump_result(load_result(line)) == line
    assert safe_form(load_result(line))[0] == line


def test_a_secret_of_the_users_own_files_stays_where_data_is():
    line, _ = safe_form(leaking({"note": KEY}), lambda secret: secret.text == KEY)
    (attempt,) = load_result(line).attempts
    assert (attempt.output, attempt.withheld) == ({"note": KEY}, None)
    assert attempt.score.leaves[0].extracted == f"key {KEY}"
    assert attempt.error == "401 for [redacted: API key]"


def test_the_ids_of_a_result_stay():
    result = replace(leaking(KEY), nodeid=f"a.extract.yaml::{KEY}", digests={"document": KEY})
    assert load_result(safe_form(result)[0]).nodeid == result.nodeid


def test_data_is_written_as_it_is():
    result = with_output(
        {"values": LEGAL, "text": json.dumps(LEGAL), **{f"v{n}": each for n, each in enumerate(LEGAL)}}
    )
    assert safe_form(result)[0] == dump_result(result)


@pytest.mark.parametrize(
    "value", [0, -0.0, 1e300, 10**30, True, None, 'ü\n"\ud800', "", [], {"a": [1, None]}, MISSING], ids=repr
)
def test_a_line_is_the_json_of_its_results(value: object) -> None:
    leaves = (
        field_result("a.b[0]", value, "x", params={"case": None, "rel": 0.1}, reason="texts differ", weight=2.0),
        field_result('["odd.key"]', value, value, params={}, matched="a.b[1]"),
    )
    score = score_record(*leaves, fields=leaves[:1])
    attempt = Attempt(index=0, outcome=Outcome.FAILED, score=score, output={"a": 1}, notes=("n",))
    line = dump_result(replace(RESULT, attempts=(attempt, attempt)))
    assert json.loads(line)["attempts"][0]["score"] == to_json(score)
    assert line == json.dumps(json.loads(line), separators=(",", ":"))
    assert load_result(line).attempts[1].score == score
