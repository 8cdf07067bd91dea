"""`pytest-extract review` in the terminal: what is open, and decisions written to one place of a gold."""

from __future__ import annotations

import io
import json
import os
from pathlib import Path

import pytest

from pytest_extract.cases.edit import Candidate, GoldReview, OpenField, read_reviews, review_path, write_review
from pytest_extract.cases.load import load_cases
from pytest_extract.cases.schemas import SchemaCache
from pytest_extract.core.values import MISSING
from pytest_extract.errors import ExtractError
from pytest_extract.extraction.call import Extraction
from pytest_extract.golds.review import Reviewer, merged_items, open_items
from pytest_extract.results import write_results
from pytest_extract.run_case import run_case
from tests.commands import write

SCHEMA = {
    "type": "object",
    "required": ["vendor"],
    "properties": {
        "vendor": {"type": "string"},
        "total": {"type": "number"},
        "items": {"type": "array", "items": {"type": "object", "properties": {"name": {"type": "string"}}}},
    },
}
TEXT = '{"vendor" : "ACME",\n   "total":1190.0,\n "items": [ {"name":"Bolt"}, {"name":"Nut"} , {"name": "Zinc"}]\n}\n'
CASE = "text: 'ACME GmbH, total 1,109.00; Bolt, Nut'\nschema: s.json\ngold: a.json  # by hand\n"
GOLD, SUITE = Path("a.json"), Path("a.extract.yaml")


@pytest.fixture(autouse=True)
def _folder(run):
    write({"s.json": SCHEMA, GOLD: TEXT, SUITE: CASE})


@pytest.fixture
def answer(run, monkeypatch):
    """Review in the terminal, with what is typed, line by line."""

    def answer(*lines, args=""):
        monkeypatch.setattr("sys.stdin", io.StringIO("".join(f"{line}\n" for line in lines)))
        return run(f"review --terminal --by Ada {args}")

    return answer


def field(*values, why="outputs disagree"):
    return OpenField(why=why, candidates=tuple(Candidate(value=value) for value in values))


ROW = field(MISSING, why="1 of 2 outputs lack this row")
NAME = field("Nuts", "Zincs")
TOTAL = OpenField(
    why="outputs disagree",
    candidates=(
        Candidate(value=1190.0, sources=("m",), evidence=""),
        Candidate(value=1109.0, sources=("n",), evidence="line 1, column 18"),
    ),
)


def dispute(fields, gold=GOLD):
    """Make a draft in which some places are open."""
    write_review(gold, "$", GoldReview(reviewed=False, sources=("m", "n"), agreed=3, open=fields))


def cases_of(*files):
    return [case for file in files or (SUITE,) for case in load_cases(Path(file), SchemaCache()).cases]


def reviewer_of(*files):
    cases = cases_of(*files)
    return Reviewer("Ada", [*open_items(cases)], cases)


def review():
    return read_reviews(Path("a.review.json"))["$"]


def decisions():
    return {path: each.decision for path, each in review().decisions.items()}


def gold():
    return json.loads(GOLD.read_text("utf-8"))


def rows():
    return [row["name"] for row in gold()["items"]]


def test_nothing_is_open_in_golds_written_by_hand_unless_a_case_file_cannot_be_read(answer):
    assert answer()[:2] == (0, "nothing is open\n")
    write({"b.extract.yaml": "text: ["})
    assert answer()[:2] == (1, "nothing else is open\n")


def test_a_candidate_is_written_to_its_place_alone_or_accepted_beside_the_gold(answer):
    dispute({"total": TOTAL, "vendor": field("ACME GmbH")})
    ended = answer("2", "o", "a")
    assert ended.status == 0
    assert "[1/3] a.extract.yaml::a  total: outputs disagree" in ended.out
    assert "  1  1190.0  (m, nowhere in the document)" in ended.out
    assert "accepted: 1190.0 -> 1109.0" in ended.out
    assert GOLD.read_text("utf-8") == TEXT.replace("1190.0", "1109.0")
    (case,) = cases_of()
    assert dict(case.accept) == {"vendor": ("ACME GmbH",)}
    assert "gold: a.json  # by hand" in SUITE.read_text("utf-8")
    assert (review().reviewed, review().open) == (True, {})
    assert decisions() == {"total": "accept", "vendor": "also", "$": "accept"}
    assert {each.by for each in review().decisions.values()} == {"Ada"}


def test_what_is_skipped_or_disputed_stays_open(answer):
    dispute({"total": TOTAL})
    ended = answer("s", "a", "q")
    assert (ended.status, "fields of this gold are still open" in ended.out) == (1, True)
    assert answer("d", "q").status == 1
    assert review().open["total"].why == "disputed by a reviewer"
    assert answer("k", "a").status == 0
    assert GOLD.read_text("utf-8") == TEXT
    write_review(GOLD, "$", GoldReview(open={"total": TOTAL, "items[0]": ROW}))  # of a gold that is no draft
    reviewer = reviewer_of()
    for item in reviewer.items:
        reviewer.decide(item, "dispute")
    for item, reviewed in zip(reviewer.items, (False, True), strict=True):
        reviewer.decide(item, "keep")
        assert review().reviewed is reviewed
    assert reviewer_of().items == []


@pytest.mark.parametrize(
    ("place", "typed", "expected"),
    [
        ("total", "7.5", 7.5),
        ("total", "x7", None),
        ("total", '"x"', None),
        ("vendor", "2026117", "2026117"),
        ("vendor", "C:\\temp", "C:\\temp"),
        ("vendor", '"two\\nlines"', "two\nlines"),
        ("vendor", "12\u00a0000", "12\u00a0000"),
    ],
)
def test_an_edit_is_kept_to_the_letter_and_must_satisfy_the_schema(answer, place, typed, expected):
    dispute({place: field()})
    ended = answer("e", typed, "q")
    assert gold() == json.loads(TEXT) | ({} if expected is None else {place: expected})
    assert ("the schema does not allow it" in ended.out) is (expected is None)


def test_a_required_key_cannot_be_made_absent(answer):
    dispute({"vendor": field(), "total": TOTAL})
    assert "the schema does not allow it" in answer("x", "s", "x", "q").out
    assert gold().keys() == {"vendor", "items"}


def test_a_field_of_a_row_that_somebody_has_removed_is_told(answer):
    dispute({"items[7].name": TOTAL})
    assert "items[7].name: the gold has no such row any more; start the review again" in answer("1", "q").out


def test_what_names_a_removed_row_goes_and_what_names_later_rows_moves():
    dispute({"items[1]": ROW, "items[1].name": NAME, "items[2]": ROW, "items[2].name": NAME})
    keys = "accept: {'items[1].name': [N], 'items[2].name': [Z], 'items[].name': [any]}\n"
    files = {"a.extract.yaml": CASE + keys, "b.extract.yaml": CASE + keys}
    write(files)
    reviewer = Reviewer("Ada", [*open_items(cases_of(*files))], cases_of(*files))
    nut, nut_name, zinc, zinc_name, _ = reviewer.items
    reviewer.decide(zinc_name, "keep")
    reviewer.decide(nut, "absent")
    assert rows() == ["Bolt", "Zinc"]
    assert (str(zinc.path), str(zinc_name.path), nut_name.done) == ("items[1]", "items[1].name", "gone with its row")
    assert ([*review().open], decisions()) == (["items[1]"], {"items[1].name": "keep", "items[1]": "absent"})
    for case in cases_of(*files):
        assert dict(case.accept) == {"items[1].name": ("Z",), "items[].name": ("any",)}


ADDED = {
    "added rows stand behind": (TEXT, {3: "Wire", 4: "Cable", 5: "Tape"}, "+4 +4 +5", "Bolt Nut Zinc Cable Wire Tape"),
    "an added row goes again": (TEXT, {3: "Wire", 4: "Cable"}, "+4 +4 -3", "Bolt Nut Zinc Wire"),
    "a list is made": ('{"vendor": "ACME"}', {1: "Cable", 0: "Wire"}, "+1 +1", "Cable Wire"),
}


@pytest.mark.parametrize(("text", "open_", "decided", "names"), ADDED.values(), ids=ADDED)
def test_rows_stand_in_the_order_of_their_decisions(text, open_, decided, names):
    write({GOLD: text})
    dispute({f"items[{row}]": field({"name": name}, MISSING, why="w") for row, name in open_.items()})
    reviewer = reviewer_of()
    for sign, row in decided.split():
        item = next(item for item in reviewer.items if str(item.path) == f"items[{row}]")
        reviewer.decide(item, "accept" if sign == "+" else "absent")
    assert rows() == names.split()


@pytest.mark.parametrize(
    "shared", ["golds.json#/acme", "{vendor: ACME, items: [{name: Bolt}, {name: Nut}, {name: Zinc}]}"]
)
def test_a_gold_that_cases_share_by_a_place_in_a_file_is_one(shared):
    head = f"defaults: {{schema: s.json, text: x, gold: {shared}}}\n"
    two = "cases: [{id: a}, {id: b, accept: {'items[2].name': [Z]}}]\n"
    write({"golds.json": f'{{"acme": {TEXT}}}', SUITE: head + two})
    cases = cases_of()
    for case, found in zip(cases, ({"items[0]": ROW}, {"items[2].name": field("Zincs")}), strict=True):
        write_review(case.gold_path, case.id, GoldReview(reviewed=False, open=found))
    reviewer = Reviewer("Ada", merged_items(open_items(cases)), cases)
    bolt, zinc = reviewer.items
    reviewer.decide(bolt, "absent")
    reviews = review_path(cases[0].gold_path)
    assert [*read_reviews(reviews)["b"].open] == ["items[1].name"]
    assert reviewer.decide(zinc, "accept") == 'accepted: "Zinc" -> "Zincs"'
    assert [(each.reviewed, dict(each.open)) for each in read_reviews(reviews).values()] == [(True, {}), (True, {})]
    second = cases_of()[1]
    assert second.gold["items"] == [{"name": "Nut"}, {"name": "Zincs"}]
    assert dict(second.accept) == {"items[1].name": ("Z",)}


def test_a_decision_on_a_row_leaves_the_rest_of_the_file_as_it_is():
    text = "# head\nvendor: ACME\nitems:\n# first\n- name: Bolt  # as printed\n# second\n- name: Nut\n- name: Zinc # keep\n"
    write({"a.yaml": text, SUITE: "text: x\nschema: s.json\ngold: a.yaml\n"})
    dispute({"items[1]": ROW}, Path("a.yaml"))
    reviewer = reviewer_of()
    reviewer.decide(reviewer.items[0], "absent")
    assert Path("a.yaml").read_text("utf-8") == text.replace("- name: Nut\n", "")


@pytest.mark.parametrize(
    "cases",
    [
        "# by hand\ncases: [{id: a, gold: {vendor: A}}, {id: b, gold: {vendor: B}}]\n",
        "cases:\n- id: a\n  gold:\n    vendor: A\n- id: b\n  gold:\n    vendor: B\n",
        "dataset: d.jsonl\n",
    ],
)
def test_also_accept_goes_into_the_case_itself(cases):
    write({"d.jsonl": '{"id":"a","gold":{"vendor":"A"}}\n{"id":"b","gold":{"vendor":"B"}}\n'})
    write({SUITE: f"defaults: {{schema: s.json, text: x}}\n{cases}"})
    for case in cases_of():
        write_review(case.gold_path, case.id, GoldReview(open={"total": field(3), "vendor": field(3)}))
    reviewer = reviewer_of()
    reviewer.decide(reviewer.items[0], "accept")
    for _ in range(2):
        reviewer.decide(reviewer.items[3], "also")
    first, second = cases_of()
    assert (first.gold, dict(first.accept)) == ({"vendor": "A", "total": 3}, {})
    assert (second.gold, dict(second.accept)) == ({"vendor": "B"}, {"vendor": (3,)})
    assert ("# by hand" in SUITE.read_text("utf-8")) == ("# by hand" in cases)


def run_of(outputs, file=SUITE):
    """Write the results of a case, of one output a run, named from the working folder."""
    (case,) = cases_of(file)
    result = run_case(case, lambda index: Extraction(outputs[index]), nodeid=f"{file}::{case.id}", file=str(file))
    write_results("r.jsonl", [result])


def named(*names):
    return [{"name": name} for name in names]


def test_failing_fields_of_a_run_are_offered_with_the_output_first(answer):
    run_of([{"vendor": "ACME", "total": 1109.0, "items": named("Bolt", "Nut", "Cable", "Wire")}])
    ended = answer("a", "a", "k", "a", args="r.jsonl a.extract.yaml")
    assert ended.status == 0, ended.out
    assert "accepted: 1190.0 -> 1109.0" in ended.out
    assert gold() == {"vendor": "ACME", "total": 1109.0, "items": named("Bolt", "Nut", "Wire")}
    assert answer(args="r.jsonl a.extract.yaml")[:2] == (0, "nothing is open\n")


def test_every_attempt_of_a_run_is_reviewed(answer):
    write({SUITE: f"{CASE}repeat: {{of: 3, pass: 1}}\n"})
    right = gold()
    run_of([{**right, "total": 1109.0}, {**right, "total": 1109.0, "vendor": "ACNE"}, right])
    ended = answer("1", "k", args="r.jsonl a.extract.yaml")
    assert ended.status == 0, ended.out
    assert "[1/2] a.extract.yaml::a  total: fails in the run\n  1  1109.0  (output #1, output #2, " in ended.out
    assert gold() == {**right, "total": 1109.0}


def test_an_added_row_is_offered_without_its_confidence(answer):
    write({SUITE: f"{CASE}confidence: wrapper\n"})
    sure = {"vendor": {"value": "ACME", "confidence": 0.9}, "total": {"value": 1190.0, "confidence": 1}}
    wrapped = [{"name": {"value": name, "confidence": 0.9}} for name in ("Bolt", "Nut", "Zinc", "Wire")]
    run_of([{**sure, "items": wrapped}])
    ended = answer("a", args="r.jsonl a.extract.yaml")
    assert (ended.status, rows()[3:]) == (0, ["Wire"]), ended.out


TWINS = [Path(folder, "case.extract.yaml") for folder in ("acme", "born")]


@pytest.fixture
def _twins():
    """Two folders that hold a case file of one name, with equal golds."""
    case = "text: ACME GmbH or Born AG\nschema: ../s.json\ngold: {vendor: Nobody}\n"
    write(dict.fromkeys(TWINS, case))


@pytest.mark.usefixtures("_twins")
def test_a_decision_goes_into_the_gold_of_its_own_file(answer):
    acme, born = TWINS
    untouched = born.read_text("utf-8")
    run_of([{"vendor": "ACME GmbH"}], acme)
    ended = answer("a", args="r.jsonl acme born")
    assert ended.status == 0, ended.out
    assert "acme/case.extract.yaml::case  vendor" in ended.out
    assert "ACME GmbH" in acme.read_text("utf-8").partition("gold")[2]
    assert born.read_text("utf-8") == untouched


@pytest.mark.usefixtures("_twins")
def test_a_result_whose_case_is_not_given_is_named(answer, run, monkeypatch):
    monkeypatch.chdir("acme")
    run_of([{"vendor": "ACME GmbH"}], "case.extract.yaml")
    told = run("review --list r.jsonl ../born").err
    assert "no such case among those given; give case.extract.yaml too, and review in the rootdir of that run" in told
    assert answer("a", args="r.jsonl .").status == 0


def test_decisions_are_undone_one_by_one_to_the_byte():
    GOLD.chmod(0o600)
    nuts = field({"name": "Nut"})
    dispute({"items[1]": nuts, "items[1].name": NAME, "items[2]": nuts, "total": TOTAL})
    reviewer = reviewer_of()
    files = [GOLD, Path("a.review.json"), SUITE]
    before = [path.read_bytes() for path in files]
    first, inner, second, total, _ = reviewer.items
    reviewer.decide(first, "absent")
    assert str(second.path) == "items[1]"
    for item in (first, inner):
        with pytest.raises(ExtractError, match="this row is removed: undo that"):
            reviewer.decide(item, "accept")
    reviewer.decide(total, "also", choice=1)
    assert "1109.0" in SUITE.read_text("utf-8")
    assert [reviewer.undo(), reviewer.undo()] == [total, first]
    assert [path.read_bytes() for path in files] == before
    assert (str(second.path), first.done, inner.done, inner.gone) == ("items[2]", "", "", False)
    assert os.name == "nt" or GOLD.stat().st_mode & 0o777 == 0o600
    with pytest.raises(ExtractError, match="nothing to undo"):
        reviewer.undo()


def test_what_somebody_else_has_changed_since_is_not_undone():
    dispute({"total": TOTAL})
    reviewer = reviewer_of()
    reviewer.decide(reviewer.items[0], "accept", choice=1)
    theirs = GOLD.read_text("utf-8").replace("ACME", "ACNE")
    GOLD.write_text(theirs, "utf-8")
    with pytest.raises(ExtractError, match=r"a\.json has changed since that decision"):
        reviewer.undo()
    assert GOLD.read_text("utf-8") == theirs
