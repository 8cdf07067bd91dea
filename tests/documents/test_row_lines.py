"""Lines of a document that look like rows and belong to none."""

from __future__ import annotations

import json
import re

import pytest

from pytest_extract.cli import main
from pytest_extract.documents import Document
from pytest_extract.documents.evidence import more_rows

TEXT = """Invoice 4711 of 2026-01-02
Pos Article Qty Price Total
1 Blue widget 2 10.00 20.00
2 Red widget 1 12.50 12.50
3 Green long widget 4 3.00 12.00
4 Steel bolt M8 10 0.20 2.00
  zinc plated
5 Nut 9 0.15 1.35
Total 47.85
Paid on 2026-01-02 within 12 days by 3 transfers
"""
ROWS = [
    {"name": name, "quantity": quantity, "total": total}
    for name, quantity, total in [
        ("Blue widget", 2, 20), ("Red widget", 1, 12.5), ("Green long widget", 4, 12), ("Steel bolt M8", 10, 2), ("Nut", 9, 1.35)
    ]
]  # fmt: skip


@pytest.mark.parametrize(
    ("left_out", "numbers"), [((), []), ((3,), [6]), ((4,), [8]), ((0,), [3]), ((3, 4), [6, 8]), ((0, 1, 2), [])]
)
def test_the_lines_of_rows_that_are_missing_are_found(left_out, numbers):
    rows = [row for index, row in enumerate(ROWS) if index not in left_out]
    told = [text for _, text in more_rows(Document(text=TEXT), {"items": rows})]
    assert [int(number) for text in told for number in re.findall(r"\bline (\d+)", text)] == numbers


def test_a_sentence_names_the_list_and_the_lines():
    found = [*more_rows(Document(text=TEXT), {"bill": {"items": ROWS[:3]}})]
    assert [(str(path), text) for path, text in found] == [
        ("bill.items", "has 3 rows; 2 more lines look like some: line 6 '4 Steel bolt M8 10 0.20 2.00'; line 8 '5 Nut 9 0.15 1.35'")
    ]  # fmt: skip


def test_check_warns_of_rows_that_a_gold_lacks(tmp_path, capsys):
    schema = {"type": "object", "properties": {"items": {"type": "array", "items": {"type": "object", "properties": {
        "name": {"type": "string"}, "quantity": {"type": "number"}, "total": {"type": "number"}}}}}}  # fmt: skip
    case = {"text": TEXT, "schema": schema, "gold": {"items": ROWS[:4]}}
    (tmp_path / "a.extract.yaml").write_text(json.dumps(case), encoding="utf-8")
    assert main(["check", "--evidence", str(tmp_path)]) == 0
    told = capsys.readouterr().out
    assert "items has 4 rows; 1 more line looks like one: line 8 '5 Nut 9 0.15 1.35'" in told


def test_a_draft_says_which_rows_its_outputs_lack(pytester):
    schema = {"type": "object", "properties": {"items": {"type": "array", "items": {"type": "object", "properties": {
        "name": {"type": "string"}, "quantity": {"type": "number"}, "total": {"type": "number"}}}}}}  # fmt: skip
    (pytester.path / "a.extract.yaml").write_text(
        json.dumps({"text": TEXT, "schema": schema, "gold": "a.gold.json"}), encoding="utf-8"
    )
    pytester.makeconftest(
        f"import pytest\n@pytest.fixture\ndef extractor():\n    return lambda: {{'items': {ROWS[:4]}}}\n"
    )
    result = pytester.runpytest("--extract-update-gold=new")
    result.stdout.fnmatch_lines(
        ["*a.gold.json: draft of 1 output*", "*items has 4 rows; 1 more line looks like one: line 8 '5 Nut*"]
    )


def test_lines_of_other_lists_and_fields_are_no_rows_of_a_list():
    table = [("Bolt M6", 10), ("Nut M6", 20), ("Washer M6", 30), ("Screw M4", 40)]
    lines = ["Kettle 17", *(f"{name} {count}" for name, count in table), "Berlin 11", "Hamburg 12", "Bremen 13"]
    document = Document(text="\n".join(lines))
    gold = {
        "title": "Kettle 17",
        "parts": [{"name": name, "count": count} for name, count in table[:3]],
        "sites": [{"town": "Berlin", "n": 11}, {"town": "Hamburg", "n": 12}, {"town": "Bremen", "n": 13}],
    }
    told = "1 more line looks like one: line 5 'Screw M4 40'"  # of either list
    assert [(str(path), told in text) for path, text in more_rows(document, gold)] == [("parts", True), ("sites", True)]
