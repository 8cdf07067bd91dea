"""`pytest-extract review` in the terminal and `agree`: what is open, and decisions written to one place of a gold."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from pytest_extract.cases.edit import Candidate, GoldReview, OpenField, read_reviews, review_path, write_review
from pytest_extract.cases.load import load_cases
from pytest_extract.cases.schemas import SchemaCache
from pytest_extract.cli import main
from pytest_extract.core.values import MISSING
from pytest_extract.errors import ExtractError
from pytest_extract.extraction.call import Extraction
from pytest_extract.golds.review import Reviewer, merged_items, open_items
from pytest_extract.results import dump_result
from pytest_extract.run_case import run_case

SCHEMA = {
    "type": "object",
    "required": ["vendor"],
    "properties": {
        "vendor": {"type": "string"},
        "total": {"type": "number"},
        "items": {"type": "array", "items": {"type": "object", "properties": {"name": {"type": "string"}}}},
    },
}
GOLD = '{"vendor" : "ACME",\n   "total":1190.0,\n "items": [ {"name":"Bolt"}, {"name":"Nut"} , {"name": "Zinc"}]\n}\n'
TEXT = "ACME GmbH, total 1,109.00; Bolt, Nut"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "s.json").write_text(json.dumps(SCHEMA), encoding="utf-8")
    (tmp_path / "a.json").write_text(GOLD, encoding="utf-8")
    (tmp_path / "a.extract.yaml").write_text(f"text: '{TEXT}'\nschema: s.json\ngold: a.json  # by hand\n", "utf-8")
    return tmp_path


def dispute(folder: Path, **fields: OpenField) -> None:
    write_review(folder / "a.json", "$", GoldReview(reviewed=False, sources=("m", "n"), agreed=3, open=fields))


TOTAL = OpenField(
    why="outputs disagree",
    candidates=(
        Candidate(value=1190.0, sources=("m",), evidence=""),
        Candidate(value=1109.0, sources=("n",), evidence="line 1, column 18"),
    ),
)


@pytest.fixture
def answer(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str]]:
    def run(*lines: str, args: tuple[str, ...] = ()) -> tuple[int, str]:
        typed = iter(lines)

        def read(prompt: str) -> str:
            del prompt
            try:
                return next(typed)
            except StopIteration:
                raise EOFError from None

        monkeypatch.setattr("builtins.input", read)
        status = main(["review", "--terminal", "--by", "Ada", *args])
        return status, capsys.readouterr().out

    return run


def test_nothing_is_open_in_golds_written_by_hand(folder: Path, answer: Callable[..., tuple[int, str]]) -> None:
    assert answer() == (0, "nothing is open\n")


def test_a_candidate_is_written_to_its_place_alone(folder: Path, answer: Callable[..., tuple[int, str]]) -> None:
    dispute(folder, total=TOTAL)
    status, told = answer("2", "a")
    assert status == 0
    assert "[1/2] a.extract.yaml::a  total: outputs disagree" in told
    assert "  1  1190.0  (m, nowhere in the document)" in told
    assert "accepted: 1190.0 -> 1109.0" in told
    assert (folder / "a.json").read_text("utf-8") == GOLD.replace("1190.0", "1109.0")
    review = read_reviews(folder / "a.review.json")["$"]
    assert (review.reviewed, review.open) == (True, {})
    assert {path: (each.decision, each.by) for path, each in review.decisions.items()} == {
        "total": ("accept", "Ada"),
        "$": ("accept", "Ada"),
    }


def test_what_is_skipped_or_disputed_stays_open(folder: Path, answer: Callable[..., tuple[int, str]]) -> None:
    dispute(folder, total=TOTAL)
    status, told = answer("s", "a", "q")
    assert status == 1
    assert "fields of this gold are still open" in told
    assert answer("d", "q")[0] == 1
    assert read_reviews(folder / "a.review.json")["$"].open["total"].why == "disputed by a reviewer"
    assert (folder / "a.json").read_text("utf-8") == GOLD
    assert answer("k", "a")[0] == 0
    assert (folder / "a.json").read_text("utf-8") == GOLD


def test_a_gold_that_is_no_draft_is_reviewed_when_what_was_disputed_is_decided(folder: Path) -> None:
    write_review(folder / "a.json", "$", GoldReview(open={"total": TOTAL, "items[0]": ROW}))
    reviewer = _reviewer(folder)
    total, row = reviewer.items
    for item in (total, row):
        reviewer.decide(item, "dispute")
    assert [item.title for item in _reviewer(folder).items] == [
        "a.extract.yaml::a  total",
        "a.extract.yaml::a  items[0]",
    ]
    reviewer.decide(total, "keep")
    assert read_reviews(folder / "a.review.json")["$"].reviewed is False
    reviewer.decide(row, "absent")
    assert read_reviews(folder / "a.review.json")["$"].reviewed is True
    assert _reviewer(folder).items == []


@pytest.mark.parametrize(
    ("typed", "expected"),
    [("7.5", 7.5), ("x7", None), ('"x"', None)],
)
def test_an_edit_must_satisfy_the_schema(
    folder: Path, answer: Callable[..., tuple[int, str]], typed: str, expected: float | None
) -> None:
    dispute(folder, total=TOTAL)
    _, told = answer("e", typed, "q")
    changed = GOLD if expected is None else GOLD.replace("1190.0", str(expected))
    assert (folder / "a.json").read_text("utf-8") == changed
    assert ("the schema does not allow it" in told) is (expected is None)


def test_a_required_key_cannot_be_made_absent(folder: Path, answer: Callable[..., tuple[int, str]]) -> None:
    dispute(folder, vendor=OpenField(why="outputs disagree"), total=TOTAL)
    _, told = answer("x", "s", "x", "q")
    assert "the schema does not allow it" in told
    assert json.loads((folder / "a.json").read_text("utf-8")).keys() == {"vendor", "items"}


def test_a_removed_row_moves_what_is_open_behind_it(folder: Path) -> None:
    row = OpenField(
        why="1 of 2 outputs lack this row", candidates=(Candidate(value={"name": "Bolt"}), Candidate(value=MISSING))
    )
    name = OpenField(why="outputs disagree", candidates=(Candidate(value="Zinc"), Candidate(value="Zink")))
    dispute(folder, **{"items[0]": row, "items[2].name": name})
    cases = load_cases(folder / "a.extract.yaml", SchemaCache()).cases
    reviewer = Reviewer("Ada", [*open_items(cases)])
    first, second, rest = reviewer.items
    reviewer.decide(first, "accept", choice=1)
    assert str(second.path) == "items[1].name"
    assert [*read_reviews(review_path(folder / "a.json"))["$"].open] == ["items[1].name"]
    reviewer.decide(second, "accept", choice=1)
    reviewer.decide(rest, "accept")
    assert json.loads((folder / "a.json").read_text("utf-8"))["items"] == [{"name": "Nut"}, {"name": "Zink"}]


ROW = OpenField(why="1 of 2 outputs lack this row", candidates=(Candidate(value=MISSING),))


def added(name: str) -> OpenField:
    return OpenField(why="row", candidates=(Candidate(value={"name": name}), Candidate(value=MISSING)))


def rows_of(folder: Path) -> list[str]:
    return [row["name"] for row in json.loads((folder / "a.json").read_text("utf-8"))["items"]]


def test_what_names_a_removed_row_goes_and_what_names_later_rows_moves(folder: Path) -> None:
    name = OpenField(why="outputs disagree", candidates=(Candidate(value="Nuts"), Candidate(value="Zincs")))
    dispute(folder, **{"items[1]": ROW, "items[1].name": name, "items[2]": ROW, "items[2].name": name})
    keys = "accept: {'items[1].name': [N], 'items[2].name': [Z], 'items[].name': [any]}\n"
    for file in ("a.extract.yaml", "b.extract.yaml"):
        (folder / file).write_text(f"text: x\nschema: s.json\ngold: a.json\n{keys}", "utf-8")
    cases = [load_cases(folder / file, SchemaCache()).cases[0] for file in ("a.extract.yaml", "b.extract.yaml")]
    reviewer = Reviewer("Ada", [*open_items(cases)], cases)
    nut, nut_name, zinc, zinc_name, _ = reviewer.items
    reviewer.decide(zinc_name, "keep")
    reviewer.decide(nut, "absent")
    assert rows_of(folder) == ["Bolt", "Zinc"]
    assert (str(zinc.path), str(zinc_name.path), nut_name.done) == ("items[1]", "items[1].name", "gone with its row")
    with pytest.raises(ExtractError, match="this row is removed"):
        reviewer.decide(nut_name, "accept")
    review = read_reviews(folder / "a.review.json")["$"]
    assert [*review.open] == ["items[1]"]
    assert {path: each.decision for path, each in review.decisions.items()} == {
        "items[1].name": "keep",
        "items[1]": "absent",
    }
    for file in ("a.extract.yaml", "b.extract.yaml"):
        (case,) = load_cases(folder / file, SchemaCache()).cases
        assert dict(case.accept) == {"items[1].name": ("Z",), "items[].name": ("any",)}
    reviewer.decide(zinc, "absent")
    assert rows_of(folder) == ["Bolt"]
    reviewer.undo()
    reviewer.undo()
    assert rows_of(folder) == ["Bolt", "Nut", "Zinc"]
    assert (str(zinc.path), nut_name.done, nut_name.gone) == ("items[2]", "", False)


@pytest.mark.parametrize(
    "gold", ["golds.json#/acme", "{vendor: ACME, items: [{name: Bolt}, {name: Nut}, {name: Zinc}]}"]
)
def test_a_gold_that_cases_share_by_a_place_in_a_file_is_one(folder: Path, gold: str) -> None:
    (folder / "golds.json").write_text(f'{{"acme": {GOLD}}}', "utf-8")
    path = folder / "a.extract.yaml"
    head = f"defaults: {{schema: s.json, text: x, gold: {gold}}}\n"
    path.write_text(f"{head}cases: [{{id: a}}, {{id: b, accept: {{'items[2].name': [Z]}}}}]\n", "utf-8")
    cases = load_cases(path, SchemaCache()).cases
    name = OpenField(why="outputs disagree", candidates=(Candidate(value="Zincs"),))
    for case, found in zip(cases, ({"items[0]": ROW}, {"items[2].name": name}), strict=True):
        write_review(case.gold_path, case.id, GoldReview(reviewed=False, open=found))
    reviewer = Reviewer("Ada", merged_items(open_items(cases)), cases)
    bolt, zinc = reviewer.items
    reviewer.decide(bolt, "absent")
    assert [*read_reviews(review_path(cases[0].gold_path))["b"].open] == ["items[1].name"]
    assert reviewer.decide(zinc, "accept") == 'accepted: "Zinc" -> "Zincs"'
    reviews = read_reviews(review_path(cases[0].gold_path))
    assert [(each.reviewed, dict(each.open)) for each in reviews.values()] == [(True, {}), (True, {})]
    _, second = load_cases(path, SchemaCache()).cases
    assert second.gold["items"] == [{"name": "Nut"}, {"name": "Zincs"}]
    assert dict(second.accept) == {"items[1].name": ("Z",)}


def test_added_rows_stand_behind_those_that_are_there_in_the_order_of_their_decisions(folder: Path) -> None:
    dispute(folder, **{"items[3]": added("Wire"), "items[4]": added("Cable"), "items[5]": added("Tape")})
    wire, cable, tape, _ = (reviewer := _reviewer(folder)).items
    reviewer.decide(cable, "accept")
    assert [*read_reviews(folder / "a.review.json")["$"].open] == ["items[4]", "items[5]"]
    reviewer.decide(wire, "accept")
    reviewer.decide(tape, "accept")
    assert rows_of(folder) == ["Bolt", "Nut", "Zinc", "Cable", "Wire", "Tape"]
    reviewer.decide(cable, "absent")
    assert rows_of(folder) == ["Bolt", "Nut", "Zinc", "Wire", "Tape"]


def test_a_row_is_added_to_a_list_that_the_gold_lacks(folder: Path) -> None:
    (folder / "a.json").write_text('{"vendor": "ACME"}', "utf-8")
    dispute(folder, **{"items[1]": added("Cable"), "items[0]": added("Wire")})
    reviewer = _reviewer(folder)
    for item in reviewer.items[:2]:
        reviewer.decide(item, "accept")
    assert rows_of(folder) == ["Cable", "Wire"]


def test_a_field_of_a_row_that_somebody_has_removed_is_told(
    folder: Path, answer: Callable[..., tuple[int, str]]
) -> None:
    dispute(folder, **{"items[7].name": TOTAL})
    assert "items[7].name: the gold has no such row any more; start the review again" in answer("1", "q")[1]


def test_a_decision_on_a_row_leaves_the_rest_of_the_file_as_it_is(folder: Path) -> None:
    gold = "# head\nvendor: ACME\nitems:\n# first\n- name: Bolt  # as printed\n# second\n- name: Nut\n- name: Zinc # keep\n"
    (folder / "a.json").rename(folder / "old.json")
    (folder / "a.yaml").write_text(gold, "utf-8")
    (folder / "a.extract.yaml").write_text("text: x\nschema: s.json\ngold: a.yaml\n", "utf-8")
    write_review(folder / "a.yaml", "$", GoldReview(open={"items[1]": ROW}))
    reviewer = _reviewer(folder)
    reviewer.decide(reviewer.items[0], "absent")
    assert (folder / "a.yaml").read_text("utf-8") == gold.replace("- name: Nut\n", "")


ONE_LINE = "cases: [{id: a, gold: {vendor: A}}, {id: b, gold: {vendor: B}}]\n"
IN_BLOCKS = "cases:\n- id: a\n  gold:\n    vendor: A\n- id: b\n  gold:\n    vendor: B\n"


@pytest.mark.parametrize("cases", [ONE_LINE, IN_BLOCKS, "dataset: d.jsonl\n"])
def test_also_accept_goes_into_the_case_itself(folder: Path, cases: str) -> None:
    (folder / "d.jsonl").write_text('{"id":"a","gold":{"vendor":"A"}}\n{"id":"b","gold":{"vendor":"B"}}\n', "utf-8")
    (folder / "a.extract.yaml").write_text(f"defaults: {{schema: s.json, text: x}}\n{cases}", "utf-8")
    loaded = load_cases(folder / "a.extract.yaml", SchemaCache()).cases
    field = OpenField(why="outputs disagree", candidates=(Candidate(value=3),))
    for case in loaded:
        write_review(case.gold_path, case.id, GoldReview(open={"total": field, "vendor": field}))
    reviewer = Reviewer("Ada", [*open_items(loaded)])
    reviewer.decide(reviewer.items[0], "accept")
    for _ in range(2):
        reviewer.decide(reviewer.items[3], "also")
    first, second = load_cases(folder / "a.extract.yaml", SchemaCache()).cases
    assert (first.gold, dict(first.accept)) == ({"vendor": "A", "total": 3}, {})
    assert (second.gold, dict(second.accept)) == ({"vendor": "B"}, {"vendor": (3,)})


@pytest.mark.parametrize("typed", ["2026117", "C:\\temp", '"two\\nlines"', "12\u00a0000"])
def test_what_is_typed_is_kept_to_the_letter(folder: Path, answer: Callable[..., tuple[int, str]], typed: str) -> None:
    schema = {"type": "object", "properties": {"vendor": {"type": ["string", "null"]}}}
    (folder / "s.json").write_text(json.dumps(schema), "utf-8")
    (folder / "a.json").write_text('{"vendor": null}', "utf-8")
    dispute(folder, vendor=OpenField(why="outputs disagree"))
    answer("e", typed, "q")
    expected = json.loads(typed) if typed.startswith('"') else typed
    assert json.loads((folder / "a.json").read_text("utf-8")) == {"vendor": expected}


def test_also_accept_adds_a_right_value_to_the_case(folder: Path, answer: Callable[..., tuple[int, str]]) -> None:
    vendor = OpenField(why="outputs disagree", candidates=(Candidate(value="ACME GmbH"),))
    dispute(folder, vendor=vendor)
    answer("o", "a")
    (case,) = load_cases(folder / "a.extract.yaml", SchemaCache()).cases
    assert dict(case.accept) == {"vendor": ("ACME GmbH",)}
    assert "gold: a.json  # by hand" in (folder / "a.extract.yaml").read_text("utf-8")
    assert (folder / "a.json").read_text("utf-8") == GOLD


def test_failing_fields_of_a_run_are_offered_with_the_output_first(
    folder: Path, answer: Callable[..., tuple[int, str]]
) -> None:
    rows = [{"name": name} for name in ("Bolt", "Nut", "Cable", "Wire")]
    output = {"vendor": "ACME", "total": 1109.0, "items": rows}
    (case,) = load_cases(folder / "a.extract.yaml", SchemaCache()).cases
    result = run_case(case, lambda _index: Extraction(output), nodeid="a.extract.yaml::a", file="a.extract.yaml")
    (folder / "r.jsonl").write_text(dump_result(result) + "\n", "utf-8")
    status, told = answer("a", "a", "k", "a", args=("r.jsonl", "a.extract.yaml"))
    assert status == 0, told
    gold = json.loads((folder / "a.json").read_text("utf-8"))
    assert gold == {"vendor": "ACME", "total": 1109.0, "items": [{"name": name} for name in ("Bolt", "Nut", "Wire")]}
    assert "accepted: 1190.0 -> 1109.0" in told
    assert answer(args=("r.jsonl", "a.extract.yaml")) == (0, "nothing is open\n")


def run_of(folder: Path, name: str, outputs: dict[str, str]) -> str:
    """Write the results of cases by their files, all named from the folder."""
    lines = []
    for file, output in outputs.items():
        (case,) = load_cases(folder / file, SchemaCache()).cases
        result = run_case(case, lambda _i, o=output: Extraction({"vendor": o}), nodeid=f"{file}::{case.id}", file=file)  # type: ignore[misc]
        lines.append(dump_result(result))
    path = folder / name
    path.write_text("\n".join(lines) + "\n", "utf-8")
    return str(path)


@pytest.fixture
def twins(folder: Path) -> Path:
    """Two folders that hold a case file of one name, with equal golds."""
    for name in ("acme", "born"):
        (folder / name).mkdir()
        case = "text: ACME GmbH or Born AG\nschema: ../s.json\ngold: {vendor: Nobody}\n"
        (folder / name / "case.extract.yaml").write_text(case, "utf-8")
    return folder


def test_every_attempt_of_a_run_is_reviewed(folder: Path, answer: Callable[..., tuple[int, str]]) -> None:
    with (folder / "a.extract.yaml").open("a", encoding="utf-8") as file:
        file.write("repeat: {of: 3, pass: 1}\n")
    gold = json.loads(GOLD)
    outputs = [{**gold, "total": 1109.0}, {**gold, "total": 1109.0, "vendor": "ACNE"}, gold]
    (case,) = load_cases(folder / "a.extract.yaml", SchemaCache()).cases
    result = run_case(case, lambda index: Extraction(outputs[index]), nodeid="a.extract.yaml::a", file="a.extract.yaml")
    (folder / "r.jsonl").write_text(dump_result(result) + "\n", "utf-8")
    status, told = answer("1", "k", args=("r.jsonl", "a.extract.yaml"))
    assert status == 0, told
    assert "[1/2] a.extract.yaml::a  total: fails in the run\n  1  1109.0  (output #1, output #2, " in told
    assert json.loads((folder / "a.json").read_text("utf-8")) == {**gold, "total": 1109.0}


def test_a_case_file_that_cannot_be_read_leaves_the_review_open(
    folder: Path, answer: Callable[..., tuple[int, str]]
) -> None:
    (folder / "b.extract.yaml").write_text("text: [", "utf-8")
    assert answer() == (1, "nothing else is open\n")


@pytest.mark.parametrize("rootdir", [".", "born", ".."])
def test_a_decision_goes_into_the_gold_of_its_own_file(
    twins: Path, answer: Callable[..., tuple[int, str]], rootdir: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    born = (twins / "born" / "case.extract.yaml").read_text("utf-8")
    run = run_of(twins, "r.jsonl", {"acme/case.extract.yaml": "ACME GmbH"})
    folders = (str(twins / "acme"), str(twins / "born"))
    monkeypatch.chdir(twins / rootdir)
    status, told = answer("a", args=(run, *folders))
    assert status == 0, told
    assert "acme/case.extract.yaml::case  vendor" in told
    assert "ACME GmbH" in (twins / "acme" / "case.extract.yaml").read_text("utf-8").partition("gold")[2]
    assert (twins / "born" / "case.extract.yaml").read_text("utf-8") == born


def test_a_result_whose_case_cannot_be_told_is_named(
    twins: Path, answer: Callable[..., tuple[int, str]], capsys: pytest.CaptureFixture[str]
) -> None:
    run = run_of(twins / "acme", "r.jsonl", {"case.extract.yaml": "ACME GmbH"})
    main(["review", "--list", run, "acme", "born"])
    assert "several cases given may be meant; give case.extract.yaml" in capsys.readouterr().err
    main(["review", "--list", run, "a.extract.yaml"])
    assert "no such case among those given; give case.extract.yaml" in capsys.readouterr().err
    assert answer("a", args=(run, "acme"))[0] == 0


def test_an_added_row_is_offered_without_its_confidence(folder: Path, answer: Callable[..., tuple[int, str]]) -> None:
    with (folder / "a.extract.yaml").open("a", encoding="utf-8") as case_file:
        case_file.write("confidence: wrapper\n")
    rows = [{"name": {"value": name, "confidence": 0.9}} for name in ("Bolt", "Nut", "Zinc", "Wire")]
    output = {"vendor": {"value": "ACME", "confidence": 0.9}, "total": {"value": 1190.0, "confidence": 1}}
    (case,) = load_cases(folder / "a.extract.yaml", SchemaCache()).cases
    result = run_case(
        case, lambda _index: Extraction({**output, "items": rows}), nodeid="a.extract.yaml::a", file="a.extract.yaml"
    )
    (folder / "r.jsonl").write_text(dump_result(result) + "\n", "utf-8")
    status, told = answer("a", args=("r.jsonl", "a.extract.yaml"))
    assert status == 0, told
    assert json.loads((folder / "a.json").read_text("utf-8"))["items"][3:] == [{"name": "Wire"}]


def test_agreement_field_by_field_and_disputes(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name, total, rows in (("A", 1, ["x", "y"]), ("B", 1.0, ["y", "z"])):
        (folder / name).mkdir()
        gold = {"vendor": "ACME", "total": total, "items": [{"name": row} for row in rows]}
        (folder / name / "one.json").write_text(json.dumps(gold), encoding="utf-8")
    assert main(["agree", "A", "B", "--schema", "s.json"]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("1 gold: 3 of 5 values agree")
    assert not (folder / "A" / "one.review.json").exists()
    before = (folder / "A" / "one.json").read_bytes()
    assert main(["agree", "A", "B", "--schema", "s.json", "--dispute"]) == 1
    assert (folder / "A" / "one.json").read_bytes() == before
    review = read_reviews(folder / "A" / "one.review.json")["$"]
    assert review.reviewed is False
    assert {each.why for each in review.open.values()} == {"two reviewers disagree"}
    assert main(["agree", "A", "A", "--schema", "s.json"]) == 0


def test_no_dispute_is_written_where_a_gold_cannot_be_read(folder: Path) -> None:
    for name, vendor in (("A", "x"), ("B", "y")):
        (folder / name).mkdir()
        (folder / name / "one.json").write_text(json.dumps({"vendor": vendor}), encoding="utf-8")
        (folder / name / "two.json").write_text("{", encoding="utf-8")
    assert main(["agree", "A", "B", "--schema", "s.json", "--dispute"]) == 2
    assert not (folder / "A" / "one.review.json").exists()


@pytest.mark.parametrize(
    ("first", "second", "message"),
    [
        ("golds", "nowhere", "nowhere is not there: give two golds, or two folders of golds"),
        ("golds", "golds/one.json", "golds/one.json is no folder: give two golds, or two folders of golds"),
        ("golds/one.json", "golds/one.json", "have no value that s.json compares: give other golds"),
    ],
)
def test_where_there_is_nothing_to_compare(
    folder: Path, capsys: pytest.CaptureFixture[str], first: str, second: str, message: str
) -> None:
    (folder / "golds").mkdir()
    (folder / "golds" / "one.json").write_text("{}", "utf-8")
    assert main(["agree", first, second, "--schema", "s.json"]) == 2
    assert message in capsys.readouterr().err


def test_values_of_one_gold_alone_and_skipped_ones(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    schema = {"properties": {"a": {"type": "string"}, "b": {"type": "string"}}, "x-eval-nulls": "absent"}
    schema["properties"]["a"]["x-eval-compare"], schema["properties"]["b"]["x-eval-skip"] = "exact", True
    (folder / "s.json").write_text(json.dumps(schema), "utf-8")
    for name, gold in (("A", {"a": "x", "b": "1"}), ("B", {"a": "x", "b": "2"}), ("C", {"a": "x", "c": "x"})):
        (folder / f"{name}.json").write_text(json.dumps(gold), "utf-8")
    assert main(["agree", "A.json", "B.json", "--schema", "s.json"]) == 0
    assert capsys.readouterr().out.startswith("1 gold: 1 of 1 values agree")
    assert main(["agree", "A.json", "C.json", "--schema", "s.json"]) == 1
    assert capsys.readouterr().out.startswith("1 gold: 1 of 2 values agree")


def test_nearly_all_is_told_from_all(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [{"name": f"n{number}"} for number in range(2_999)]
    for name, vendor in (("A", "x"), ("B", "y")):
        (folder / f"{name}.json").write_text(json.dumps({"vendor": vendor, "items": rows}), "utf-8")
    assert main(["agree", "A.json", "B.json", "--schema", "s.json"]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "1 gold: 2,999 of 3,000 values agree (> 99.9 %)"
    assert [line.split(maxsplit=4)[4] for line in lines[1:3]] == ["0 %", "100 %"]


def test_what_reviewers_no_longer_dispute_is_closed(folder: Path) -> None:
    for name, vendor, total in (("A", "ACME", 1), ("B", "Acme", 2), ("C", "ACME", 3)):
        (folder / name).mkdir()
        (folder / name / "one.json").write_text(json.dumps({"vendor": vendor, "total": total}), "utf-8")
    gold, path = folder / "A" / "one.json", folder / "A" / "one.review.json"

    def disputed(total: float, vendor: str, other: str = "B") -> tuple[bool, list[str]]:
        gold.write_text(json.dumps({"vendor": vendor, "total": total}), "utf-8")
        main(["agree", "A", other, "--schema", "s.json", "--dispute"])
        review = read_reviews(path)["$"]
        return review.reviewed, [*review.open]

    assert disputed(1, "ACME") == (False, ["vendor", "total"])
    assert disputed(2, "ACME") == (False, ["vendor"])
    assert disputed(2, "Acme", "C") == (False, ["vendor", "total"])  # those with C stand beside those with B
    assert disputed(2, "Acme") == (False, ["vendor", "total"])
    assert disputed(3, "ACME", "C") == (True, [])
    write_review(gold, "$", GoldReview(reviewed=False, sources=("m1", "m2"), agreed=2))
    assert disputed(1, "ACME", "C") == (False, ["total"])
    assert disputed(3, "ACME", "C") == (False, [])  # still a draft


def test_texts_for_a_judge_are_disputed_and_golds_of_one_reviewer_named(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    schema = {"type": "object", "properties": {"vendor": {"type": "string", "evaluation_config": "string_semantic"}}}
    (folder / "s.json").write_text(json.dumps(schema), "utf-8")
    for name, vendor in (("A/gold/1", "ACME"), ("B/gold/1", "the vendor"), ("A/gold/2", "x"), ("B/gold/3", "x")):
        (folder / f"{name}.json").parent.mkdir(parents=True, exist_ok=True)
        (folder / f"{name}.json").write_text(json.dumps({"vendor": vendor}), "utf-8")
    assert main(["agree", "A/gold", "B/gold", "--schema", "s.json", "--dispute"]) == 1
    told = capsys.readouterr()
    assert told.out.startswith("1 gold: 0 of 1 values agree")
    assert [line.partition(": the other")[0] for line in told.err.splitlines()] == [
        "pytest-extract agree: A/gold/2.json",
        "pytest-extract agree: B/gold/3.json",
    ]
    (field,) = read_reviews(folder / "A" / "gold" / "1.review.json")["$"].open.values()
    assert [each.sources for each in field.candidates] == [("A/gold",), ("B/gold",)]


def _reviewer(folder: Path) -> Reviewer:
    (case,) = load_cases(folder / "a.extract.yaml", SchemaCache()).cases
    return Reviewer("Ada", [*open_items([case])])


def test_decisions_are_undone_one_by_one_to_the_byte(folder: Path) -> None:
    (folder / "a.json").chmod(0o600)
    zinc = OpenField(why="most lack it", candidates=(Candidate(value={"name": "Nut"}, sources=("m",)),))
    dispute(folder, **{"items[1]": zinc, "items[2]": zinc, "total": TOTAL})
    reviewer = _reviewer(folder)
    before = [(folder / name).read_bytes() for name in ("a.json", "a.review.json", "a.extract.yaml")]
    first, second, total, _ = reviewer.items
    reviewer.decide(first, "absent")
    assert str(second.path) == "items[1]"
    with pytest.raises(ExtractError, match="this row is removed: undo that"):
        reviewer.decide(first, "accept")
    reviewer.decide(total, "also", choice=1)
    assert "1109.0" in (folder / "a.extract.yaml").read_text("utf-8")
    assert reviewer.undo() is total
    assert reviewer.undo() is first
    assert [(folder / name).read_bytes() for name in ("a.json", "a.review.json", "a.extract.yaml")] == before
    assert (str(second.path), first.done) == ("items[2]", "")
    assert os.name == "nt" or (folder / "a.json").stat().st_mode & 0o777 == 0o600
    with pytest.raises(ExtractError, match="nothing to undo"):
        reviewer.undo()


def test_what_somebody_else_has_changed_since_is_not_undone(folder: Path) -> None:
    dispute(folder, total=TOTAL)
    reviewer = _reviewer(folder)
    reviewer.decide(reviewer.items[0], "accept", choice=1)
    theirs = (folder / "a.json").read_text("utf-8").replace("ACME", "ACNE")
    (folder / "a.json").write_text(theirs, "utf-8")
    with pytest.raises(ExtractError, match=r"a\.json has changed since that decision"):
        reviewer.undo()
    assert (folder / "a.json").read_text("utf-8") == theirs
