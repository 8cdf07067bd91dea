"""What changed, as the page tells it."""

import pytest

from pytest_extract.regression.facts import Rules
from pytest_extract.regression.gate import evaluate_base
from pytest_extract.report.html import page as page_module
from pytest_extract.report.html.page import anchor
from tests.report.html import data
from tests.report.html.data import texts_in
from tests.report.runs import GOLD, broken, scored, wrong

BASE = [scored(f"c{index}", GOLD if index else wrong(vendor="x"), model="base") for index in range(8)]
NEW = [scored(f"c{index}", wrong(total=index), model="new") for index in range(6)]
NEW += [scored("c6", GOLD, model="new"), broken("c7", "RuntimeError: down", model="new")]


def shown(*results, gate="regression"):
    return data.shown(*results, judged=evaluate_base(results, "base", Rules()), gate=gate)


def changed(found, kind):
    """Return the changes of one kind: `fell` or `rose`."""
    (changes,) = [each for each in found.parts("compared", "changes") if each["title"].endswith(kind)]
    return changes


def test_what_broke_was_fixed_and_was_lost():
    found = shown(*BASE, *NEW)
    (verdict,) = found.parts("compared", "verdict")
    assert (verdict["title"], verdict["answer"]) == ("Regression gate", "WORSE")
    assert "[base -> new] 7 cases: 1 run of each before, 1 run now" in verdict["notes"]
    assert found.parts("compared", "head")[0].startswith("base -> new: 7 cases, ")
    titles = [each["title"] for each in (*found.parts("compared", "changes"), *found.parts("compared", "fold"))]
    assert titles == ["6 fields fell", "1 field rose", "1 case lost"]
    assert "RuntimeError: down" in texts_in(found.parts("compared", "fold"))
    (table,) = found.parts("compared", "table")
    (row,) = [row for row in table["rows"] if row[0] == "total"]
    assert row[1:7] == ["regressed", "7", "100 %", "14.3 %", "0", "6"]
    # a field that broke in many cases is one row that unfolds
    (group,) = changed(found, "fell")["groups"]
    assert (group["pattern"], group["count"], changed(found, "fell")["open"]) == ("total", 6, True)
    c3 = next(one for one in NEW if one.case_id == "c3")
    rows = dict(zip(group["anchors"], group["table"]["rows"], strict=True))
    assert rows[anchor(c3)][:5] == ["total", "c3", "907.2", "907.2", "3"]
    # and each case has its values of before
    index = next(number for number, row in enumerate(found.rows) if row.anchor == anchor(c3))
    field = found.bodies[index]["attempts"][0]["fields"][0]
    assert (field["p"], field["b"], field["w"], found.rows[index].worse) == ("total", "907.2", "right before", 1)
    assert "compared" not in data.shown(*NEW).sections


def test_a_row_counts_its_mistakes_and_a_gate_has_no_values():
    new = [scored(f"c{index}", wrong(total=-907.2 if index < 2 else 9_072), model="new") for index in range(3)]
    (group,) = changed(shown(*BASE[:3], *new), "fell")["groups"]
    assert (group["pattern"], group["count"], group["mistakes"]) == ("total", 3, "2 sign, 1 power of ten")
    unread = [scored(f"c{index}", "{", model="new") for index in range(3)]
    groups = changed(shown(*BASE[:3], *unread), "fell")["groups"]
    (group,) = [each for each in groups if each["pattern"] == "(root gate)"]
    assert [row[1:5] for row in group["table"]["rows"]] == [[f"c{index}", "", "", ""] for index in range(3)]


@pytest.mark.parametrize(
    ("others", "title"),
    [
        (NEW, "new compared with base"),
        ([scored("c1", GOLD, model=f"m{n}") for n in range(7)], "m0, m1, m2, m3, m4 and 2 more compared with base"),
    ],
)
def test_a_comparison_that_is_no_gate_is_named_by_what_it_compares(others, title):
    (fold,) = shown(*BASE, *others, gate="case").parts("compared", "fold")  # below the ranking, pair by pair
    assert next(content["title"] for kind, content in fold["parts"] if kind == "verdict") == title


def test_long_lists_of_changes_are_folded_and_cut(monkeypatch):
    for name, most in (("MOST_OPEN", 0), ("MOST_REPEATS", 4), ("MOST_LISTED", 1)):
        monkeypatch.setattr(page_module, name, most)
    fell = changed(shown(*BASE, *NEW[:7], scored("c7", wrong(total=3, vendor="y"), model="new")), "fell")
    assert not fell["open"]
    assert fell["groups"][0]["table"]["notes"] == ["and 3 more; the cases have them"]
    assert fell["left"] == "… and 1 more field; the cases have them."
