"""Results files: lines, their messages, and lines that pass through `merge`."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from pytest_extract.cli import main
from pytest_extract.core.values import MISSING
from pytest_extract.errors import StoreError
from pytest_extract.regression.snapshots import snapshot
from pytest_extract.results import (
    ResultsReader,
    dump_result,
    load_result,
    read_results,
    write_results,
)
from tests.regression.make import attempt, result, suite

FIELDS = {"n": True, "m": (1, 2), "rows[0].p": True, "rows[1].p": (MISSING, 3)}
RESULT = result("case-0", FIELDS, tags={"kind": "a", "page": 1}, shape={"depth": 2, "leaves": 4})
LINE = dump_result(RESULT)
IN_OUTPUT = {"fields": [1], "leaves": [1], "arrays": []}


def with_output(output, made=RESULT):
    return replace(made, attempts=(replace(made.attempts[0], output=output),))


@pytest.mark.parametrize(
    "made",
    [
        pytest.param(RESULT, id="leaves are fields"),
        pytest.param(with_output(IN_OUTPUT), id="the same marks in the output"),
        pytest.param(with_output(json.dumps(IN_OUTPUT)), id="in its text"),
        pytest.param(result("c", {"a": (IN_OUTPUT, 1), "b": True}), id="in a gold value"),
        pytest.param(result("c", {"a": True}, {"a": False}), id="repeats"),
        pytest.param(result("c", attempt({})), id="nothing compared"),
        pytest.param(result("c", replace(attempt({"a": True}), score=None, output=IN_OUTPUT)), id="no score"),
        pytest.param(
            with_output(IN_OUTPUT, replace(RESULT, attempts=(replace(RESULT.attempts[0], score=None),))),
            id="no score, and the marks in the output",
        ),
    ],
)
def test_a_line_reads_as_its_json_whatever_of_it_is_parsed_once(made):
    line = dump_result(made)
    assert load_result(line) == made
    assert dump_result(load_result(line)) == line
    spaced = json.dumps(json.loads(line))
    assert load_result(spaced) == made


@pytest.mark.parametrize("broken", [LINE[:-9], LINE.replace('"leaves":[', '"leaves":[,', 1), LINE.replace("}", "]", 3)])
def test_a_damaged_line_has_the_message_of_the_whole_line(broken):
    with pytest.raises(json.JSONDecodeError) as found:
        json.loads(broken)
    with pytest.raises(StoreError) as problem:
        load_result(broken)
    assert str(problem.value) == f"not JSON: {found.value}"


def test_another_gold_value_has_another_digest():
    (one,) = snapshot([result("a", {"n": (1, 1)}, digests={"gold": "1"})]).values()
    (other,) = snapshot([result("a", {"n": (2, 2)}, digests={"gold": "2"})]).values()
    assert one.patterns["n"].gold != other.patterns["n"].gold


def test_the_same_lines_are_the_same_content(tmp_path):
    one, other, third = (tmp_path / f"{name}.jsonl" for name in "abc")
    one.write_text(f"{LINE}\n\n{LINE}\n")
    other.write_text(f"{LINE}\r\n{LINE}")
    third.write_text(f"{LINE}\n")
    assert ResultsReader(one).has_same_content(ResultsReader(other))
    assert not ResultsReader(one).has_same_content(ResultsReader(third))
    assert not ResultsReader(third).has_same_content(ResultsReader(one))


# --- merge


def test_merged_lines_stay_as_they_are(tmp_path, capsys):
    spaced = json.dumps(json.loads(LINE)).replace('"kind": "a"', '"kind": "é"')
    (tmp_path / "1.jsonl").write_text(f"{spaced}\n\n", encoding="utf-8")
    other = dump_result(result("z", FIELDS))
    (tmp_path / "2.jsonl").write_text(f"{other}\n{spaced}", encoding="utf-8")
    shards = [str(tmp_path / "1.jsonl"), str(tmp_path / "2.jsonl")]
    assert main(["merge", *shards, "-o", str(tmp_path / "out.jsonl")]) == 0
    assert (tmp_path / "out.jsonl").read_text(encoding="utf-8") == f"{spaced}\n{other}\n"
    assert "the same" in capsys.readouterr().err
    assert main(["merge", *shards]) == 0
    assert capsys.readouterr().out == f"{spaced}\n{other}\n"


def test_a_shard_can_be_the_output(tmp_path):
    write_results(tmp_path / "1.jsonl", suite(3, FIELDS))
    write_results(tmp_path / "2.jsonl", [result("z", FIELDS)])
    names = [str(tmp_path / f"{n}.jsonl") for n in (1, 2)]
    assert main(["merge", *names, "-o", names[0]]) == 0
    assert len(read_results(tmp_path / "1.jsonl").results) == 4


def test_merge_tells_a_damaged_line_and_writes_nothing(tmp_path, capsys):
    (tmp_path / "1.jsonl").write_text(f"{LINE}\n{LINE.replace('status', 'statuz', 1)}\n{LINE}\n")
    assert main(["merge", str(tmp_path / "1.jsonl"), "-o", str(tmp_path / "out.jsonl")]) == 2
    assert "1.jsonl:2: not a whole result" in capsys.readouterr().err
    assert not (tmp_path / "out.jsonl").exists()
