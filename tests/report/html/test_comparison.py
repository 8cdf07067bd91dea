"""What changed, as the page tells it."""

from __future__ import annotations

from typing import Any, cast

import pytest

from pytest_extract.core.case_result import CaseResult
from pytest_extract.regression.facts import Rules
from pytest_extract.regression.gate import evaluate_base
from pytest_extract.report.html import page as page_module
from pytest_extract.report.html.page import anchor, page
from pytest_extract.report.run_report import RunReport
from tests.report.html.data import PageData, page_data, texts_in
from tests.report.runs import GOLD, broken, scored, wrong

BASE = [scored(f"c{index}", GOLD if index else wrong(vendor="x"), model="base") for index in range(8)]
NEW = [scored(f"c{index}", wrong(total=index), model="new") for index in range(6)]
NEW += [scored("c6", GOLD, model="new"), broken("c7", "RuntimeError: down", model="new")]


def page_of(results: list[CaseResult]) -> str:
    return page(RunReport(results=results, judged=evaluate_base(results, "base", Rules()), gate="regression"))


def shown(results: list[CaseResult]) -> PageData:
    return page_data(page_of(results))


def changed(data: PageData, kind: str) -> dict[str, Any]:
    """Return the changes of one kind: `fell` or `rose`."""
    (found,) = [each for each in data.parts("compared", "changes") if each["title"].endswith(kind)]
    return cast("dict[str, Any]", found)


def test_what_broke_was_fixed_and_was_lost() -> None:
    data = shown([*BASE, *NEW])
    (verdict,) = data.parts("compared", "verdict")
    assert (verdict["title"], verdict["answer"]) == ("Regression gate", "WORSE")
    assert data.parts("compared", "head")[0].startswith("base -> new: 7 cases, ")
    titles = [each["title"] for each in (*data.parts("compared", "changes"), *data.parts("compared", "fold"))]
    assert titles == ["6 fields fell", "1 field rose", "1 case lost"]
    assert "RuntimeError: down" in texts_in(data.parts("compared", "fold"))
    (table,) = data.parts("compared", "table")
    (row,) = [row for row in table["rows"] if row[0] == "total"]
    assert row[1:7] == ["regressed", "7", "100 %", "14.3 %", "0", "6"]


def test_a_field_that_broke_in_many_cases_is_one_row_that_unfolds() -> None:
    (group,) = changed(shown([*BASE, *NEW]), "fell")["groups"]
    assert (group["pattern"], group["count"]) == ("total", 6)
    place = anchor(next(one for one in NEW if one.case_id == "c3"))
    rows = dict(zip(group["anchors"], group["table"]["rows"], strict=True))
    assert rows[place][:5] == ["total", "c3", "907.2", "907.2", "3"]


def test_a_row_of_one_field_counts_its_mistakes() -> None:
    new = [scored(f"c{index}", wrong(total=-907.2 if index < 2 else 9_072), model="new") for index in range(3)]
    (group,) = changed(shown([*BASE[:3], *new]), "fell")["groups"]
    assert (group["pattern"], group["count"], group["mistakes"]) == ("total", 3, "2 sign, 1 power of ten")


def test_a_comparison_that_is_no_gate_is_named_by_what_it_compares() -> None:
    def title(results: list[CaseResult]) -> str:
        text = page(RunReport(results=results, judged=evaluate_base(results, "base", Rules())))
        (fold,) = page_data(text).parts("compared", "fold")  # below the ranking, pair by pair
        return next(str(content["title"]) for kind, content in fold["parts"] if kind == "verdict")

    assert title([*BASE, *NEW]) == "new compared with base"
    others = [scored("c1", GOLD, model=f"m{number}") for number in range(5)]
    assert title([*BASE, *others]) == "m0, m1, m2 and 2 more compared with base"


def test_a_gate_that_broke_in_many_cases_has_no_values() -> None:
    base = [scored(f"c{index}", GOLD, model="base") for index in range(3)]
    data = shown([*base, *(scored(f"c{index}", "{", model="new") for index in range(3))])
    (group,) = [each for each in changed(data, "fell")["groups"] if each["pattern"] == "(root gate)"]
    assert group["count"] == 3
    assert [row[1:5] for row in group["table"]["rows"]] == [[f"c{index}", "", "", ""] for index in range(3)]


def test_what_the_verdict_rests_on_is_told() -> None:
    (verdict,) = shown([*BASE, *NEW]).parts("compared", "verdict")
    assert "[base -> new] 7 cases: 1 run of each before, 1 run now" in verdict["notes"]


def test_many_changed_fields_are_folded(monkeypatch: pytest.MonkeyPatch) -> None:
    assert changed(shown([*BASE, *NEW]), "fell")["open"]
    monkeypatch.setattr(page_module, "MOST_OPEN", 0)
    assert not changed(shown([*BASE, *NEW]), "fell")["open"]


def test_long_lists_of_changes_are_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page_module, "MOST_REPEATS", 4)
    assert changed(shown([*BASE, *NEW]), "fell")["groups"][0]["table"]["notes"] == ["and 2 more; the cases have them"]
    monkeypatch.setattr(page_module, "MOST_CHANGED", 1)
    other = [scored("c7", wrong(total=3, vendor="y"), model="new")]
    assert changed(shown([*BASE, *NEW[:7], *other]), "fell")["left"] == "… and 1 more field; the cases have them."


def test_a_case_has_the_values_of_before() -> None:
    found = page_data(page_of([*BASE, *NEW]))
    index = next(number for number, row in enumerate(found.rows) if (row.name, row.variant) == ("c3", "new"))
    field = found.bodies[index]["attempts"][0]["fields"][0]
    assert (field["p"], field["b"], field["w"]) == ("total", "907.2", "right before")
    assert found.rows[index].worse == 1


def test_a_run_that_is_compared_with_nothing_says_nothing_of_it() -> None:
    assert "compared" not in page_data(page(RunReport(results=NEW))).sections
