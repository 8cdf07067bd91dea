"""What changed, as the page tells it."""

from __future__ import annotations

import re

import pytest

from pytest_extract.core.case_result import CaseResult
from pytest_extract.regression.gate import evaluate_base
from pytest_extract.regression.rules import Rules
from pytest_extract.report.html import comparison
from pytest_extract.report.html.cases import anchor
from pytest_extract.report.html.page import page
from pytest_extract.report.run_report import RunReport
from tests.report.runs import GOLD, broken, scored, wrong

BASE = [scored(f"c{index}", GOLD if index else wrong(vendor="x"), model="base") for index in range(8)]
NEW = [scored(f"c{index}", wrong(total=index), model="new") for index in range(6)]
NEW += [scored("c6", GOLD, model="new"), broken("c7", "RuntimeError: down", model="new")]


def shown(results: list[CaseResult]) -> str:
    judged = evaluate_base(results, "base", Rules())
    text = page(RunReport(results=results, judged=judged, gate="regression"))
    found = re.search(r'<section id="compared".*?</section>', text, re.DOTALL)
    assert found is not None
    assert f'<div class="reasons"><p>Regression gate: <strong class="bad">{judged.answer}</strong>' in found[0]
    return found[0]


def test_what_broke_was_fixed_and_was_lost() -> None:
    text = shown([*BASE, *NEW])
    assert "<h3>base -&gt; new: 7 cases, " in text
    assert "<summary><h4>6 fields broken</h4></summary>" in text
    assert "<summary><h4>1 field fixed</h4></summary>" in text
    assert "<summary><h4>1 case lost</h4></summary>" in text
    assert "RuntimeError: down" in text
    row = re.search(r"<tr><th scope=\"row\"><code>total</code></th>(.*?)</tr>", text)
    assert row is not None
    cells = [re.sub("<[^>]*>", "", cell) for cell in re.findall(r"<td.*?</td>", row[1])]
    assert cells[:6] == ["broken", "7", "100 %", "14.3 %", "0", "6"]


def test_a_broken_field_stands_with_its_values_and_leads_to_its_case() -> None:
    text = shown([*BASE, *NEW])
    place = anchor(next(one for one in NEW if one.case_id == "c3"))
    found = re.search(rf'<a href="#{place}">c3</a>.*?</li>', text)
    assert found is not None
    told = re.sub("<[^>]*>", " ", found[0])
    assert told.split() == ["c3", "gold", "907.2", "before", "907.2", "now", "3"]


def test_long_lists_of_changes_are_folded_and_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(comparison, "_AT_ONCE", 2)
    monkeypatch.setattr(comparison, "MOST", 4)
    text = shown([*BASE, *NEW])
    assert "<summary>2 more</summary>" in text
    assert "… and 2 more fields; the cases have them." in text
    assert text.count('<code class="path">total</code>') == 4


def test_a_run_that_is_compared_with_nothing_says_nothing_of_it() -> None:
    assert 'id="compared"' not in page(RunReport(results=NEW))
