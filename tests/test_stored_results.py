"""Large results files: what stays in memory, results that are read again, and lines that pass through `merge`."""

from __future__ import annotations

import json
import tracemalloc
from dataclasses import replace

import pytest

from pytest_extract.cli import main
from pytest_extract.core.shared_values import SharedValues
from pytest_extract.core.values import MISSING
from pytest_extract.errors import StoreError
from pytest_extract.regression.snapshots import snapshot
from pytest_extract.results import (
    ResultsReader,
    StoredResults,
    dump_result,
    load_result,
    read_results,
    without_values,
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


def test_shared_results_are_those_that_are_read_alone_without_values():
    shared = SharedValues()
    lines = [dump_result(replace(RESULT, tags={"page": page})) for page in (1, True, 1.0, "1", [1])]
    found = [without_values(load_result(line), shared) for line in lines]
    assert [repr(one.tags) for one in found] == [
        "{'page': 1}",
        "{'page': True}",
        "{'page': 1.0}",
        "{'page': '1'}",
        "{'page': [1]}",
    ]
    assert found[0].shape is found[1].shape
    assert found[0].attempts[0].score.measures is found[1].attempts[0].score.measures
    assert found[0] == without_values(load_result(lines[0]), SharedValues())


def test_a_snapshot_is_the_same_whatever_shares_its_parts():
    before = [result(f"c{n}", FIELDS, tags={"page": [n, bool(n), 1.0][n % 3]}) for n in range(6)]
    after = [result(f"c{n}", FIELDS | {"n": n % 2 == 0, "new": True}, tags={"page": 1}) for n in range(6)]
    shared = SharedValues()
    first, second = snapshot(before, shared), snapshot(after, shared)
    for found, results in ((first, before), (second, after)):
        alone = {key: state for one in results for key, state in snapshot([one]).items()}
        assert found == alone
        assert repr(found) == repr(alone)
    states = zip(first.values(), snapshot(before, shared).values(), strict=True)
    assert all(
        one.patterns is other.patterns and one.measures is other.measures and one.digests is other.digests
        for one, other in states
    )


def test_another_gold_value_has_another_digest():
    shared = SharedValues()
    (one,) = snapshot([result("a", {"n": (1, 1)}, digests={"gold": "1"})], shared).values()
    (other,) = snapshot([result("a", {"n": (2, 2)}, digests={"gold": "2"})], shared).values()
    assert one.patterns["n"].gold != other.patterns["n"].gold


# --- memory


def bytes_a_result(kept, tmp_path, sizes=(200, 1_000)):
    """Return what each further result adds to the memory that `kept(path)` keeps."""
    taken = []
    for size in sizes:
        path = tmp_path / f"{size}.jsonl"
        lines = (LINE.replace("case-0", f"case-{number}") for number in range(size))
        path.write_text("".join(f"{line}\n" for line in lines), encoding="ascii")
        kept(path)  # what is imported or remembered once does not count
        tracemalloc.start()
        result_of = kept(path)
        taken.append(tracemalloc.get_traced_memory()[0])
        tracemalloc.stop()
        del result_of
    return (taken[1] - taken[0]) / (sizes[1] - sizes[0])


def test_memory_of_a_result_without_values(tmp_path):
    def kept(path):
        shared = SharedValues()
        return shared, [without_values(each, shared) for each in ResultsReader(path)]

    alone = bytes_a_result(kept, tmp_path)
    assert alone < 1_500
    assert 2 * alone < bytes_a_result(lambda path: list(ResultsReader(path)), tmp_path)


def test_memory_of_two_snapshots(tmp_path):
    def kept(path):
        shared = SharedValues()
        return shared, [snapshot(ResultsReader(path), shared) for _ in range(2)]

    assert bytes_a_result(kept, tmp_path) < 5_000


def test_memory_of_a_stored_result(tmp_path):
    def kept(path):
        stored = StoredResults()
        with stored:
            return stored, [place for place, _ in stored.read(ResultsReader(path))]

    assert bytes_a_result(kept, tmp_path) < 200


# --- results that are read again


@pytest.mark.parametrize("name", ["run.jsonl", "run.parquet"])
def test_stored_results_are_read_again_in_any_order(name, tmp_path):
    if name.endswith("parquet"):
        pytest.importorskip("pyarrow")
    results = suite(5, FIELDS)
    write_results(tmp_path / name, results)
    with StoredResults() as stored:
        places = []
        for place, found in stored.read(ResultsReader(tmp_path / name)):
            places.append(place)
            assert stored.load(places[0]) == results[0]  # reading elsewhere leaves the loop alone
            assert found == results[len(places) - 1]
        assert [stored.load(place) for place in reversed(places)] == results[::-1]


def test_a_file_that_became_shorter_is_told(tmp_path):
    path = tmp_path / "run.jsonl"
    write_results(path, suite(2, FIELDS))
    with StoredResults() as stored:
        places = [place for place, _ in stored.read(ResultsReader(path))]
        path.write_bytes(b"")
        with pytest.raises(StoreError, match="became shorter"):
            stored.load(places[1])


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
