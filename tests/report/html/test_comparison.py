"""What changed, as the page tells it."""

from __future__ import annotations

import re

import pytest

from pytest_extract.core.case_result import CaseResult
from pytest_extract.regression.gate import evaluate_base
from pytest_extract.regression.rules import Rules
from pytest_extract.report.html import comparison
from pytest_extract.report.html.page import page
from pytest_extract.report.html.text import anchor
from pytest_extract.report.run_report import RunReport
from tests.report.html.data import page_data
from tests.report.runs import GOLD, broken, scored, wrong

BASE = [scored(f"c{index}", GOLD if index else wrong(vendor="x"), model="base") for index in range(8)]
NEW = [scored(f"c{index}", wrong(total=index), model="new") for index in range(6)]
NEW += [scored("c6", GOLD, model="new"), broken("c7", "RuntimeError: down", model="new")]


def page_of(results: list[CaseResult]) -> str:
    return page(RunReport(results=results, judged=evaluate_base(results, "base", Rules()), gate="regression"))


def shown(results: list[CaseResult]) -> str:
    found = re.search(r'<section id="compared".*?</section>', page_of(results), re.DOTALL)
    assert found is not None
    return found[0]


def words(text: str) -> str:
    return " ".join(re.sub("<[^>]*>", " ", text).split())


def test_what_broke_was_fixed_and_was_lost() -> None:
    text = shown([*BASE, *NEW])
    told = words(text)
    assert told.startswith("What changed Regression gate: WORSE")
    for part in (
        "base -&gt; new: 7 cases, ",
        "6 fields regressed",
        "1 field fixed",
        "1 case lost",
        "RuntimeError: down",
    ):
        assert part in told
    row = re.search(r"<tr><th scope=\"row\"><code class=\"path\">total</code></th>(.*?)</tr>", text)
    assert row is not None
    cells = [re.sub("<[^>]*>", "", cell) for cell in re.findall(r"<td.*?</td>", row[1])]
    assert cells[:6] == ["regressed", "7", "100 %", "14.3 %", "0", "6"]


def test_a_field_that_broke_in_many_cases_is_one_row_that_unfolds() -> None:
    text = shown([*BASE, *NEW])
    (row,) = re.findall(r"<summary>(<code.*?)</summary>", text)
    assert words(row) == "total 6 times"
    place = anchor(next(one for one in NEW if one.case_id == "c3"))
    found = re.search(rf'<a href="#{place}">c3</a>.*?</li>', text, re.DOTALL)
    assert found is not None
    assert words(found[0]) == "c3 gold 907.2 before 907.2 now 3"


def test_a_row_of_one_field_counts_its_mistakes() -> None:
    new = [scored(f"c{index}", wrong(total=-907.2 if index < 2 else 9_072), model="new") for index in range(3)]
    assert "total 3 times 2 sign, 1 power of ten" in words(shown([*BASE[:3], *new]))


def test_a_comparison_that_is_no_gate_is_named_by_what_it_compares() -> None:
    def titles(results: list[CaseResult]) -> str:
        text = page(RunReport(results=results, judged=evaluate_base(results, "base", Rules())))
        return words(text[text.index('<section id="compared"') :])

    assert titles([*BASE, *NEW]).startswith("What changed new compared with base: WORSE")
    others = [scored("c1", GOLD, model=f"m{number}") for number in range(5)]
    assert titles([*BASE, *others]).startswith("What changed m0, m1, m2 and 2 more compared with base: ")


def test_equal_changes_of_a_field_stand_once_with_their_cases() -> None:
    new = [scored(f"c{index}", wrong(vendor=None if index in {1, 3, 5, 6} else "x"), model="new") for index in range(8)]
    new[7] = scored("c7", wrong(vendor="<b>"), model="new")
    base = [scored(f"c{index}", GOLD, model="base") for index in range(8)]
    text = shown([*base, *new])
    rows = re.findall(r'<details class="equal">(.*?)</details>', text, re.DOTALL)
    assert [words(row.split("</summary>")[0]) for row in rows] == [
        "&#34;ACME GmbH&#34; → null ×4",
        "&#34;ACME GmbH&#34; → &#34;x&#34; ×3",
    ]
    assert words(rows[0]).endswith("in c1 , c3 , c5 , c6")
    assert all(f'<a href="#{anchor(new[index])}">c{index}</a>' in rows[0] for index in (1, 3, 5, 6))
    assert "vendor in c7 gold" in words(text)


def test_a_field_that_changed_in_one_way_shows_it_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(comparison, "MOST_REPEATS", 2)
    base = [scored(f"c{index}", GOLD, model="base") for index in range(5)]
    text = shown([*base, *(scored(f"c{index}", wrong(total=1), model="new") for index in range(5))])
    (row,) = re.findall(r'<details class="equal" open>(.*?)</details>', text, re.DOTALL)
    assert words(row) == "907.2 → 1 ×5 gold 907.2 before 907.2 now 1 in c0 , c1 and 3 more"


def test_a_gate_that_broke_in_many_cases_stands_once() -> None:
    base = [scored(f"c{index}", GOLD, model="base") for index in range(3)]
    told = words(shown([*base, *(scored(f"c{index}", "{", model="new") for index in range(3))]))
    assert "(root gate) 3 times (root gate) ×3 in c0 , c1 , c2" in told


def test_what_the_verdict_rests_on_is_folded_and_so_are_many_reasons(monkeypatch: pytest.MonkeyPatch) -> None:
    text = shown([*BASE, *NEW])
    (basis,) = re.findall(r"<details><summary>What the verdict rests on</summary>(.*?)</details>", text)
    assert "7 cases: 1 run of each before, 1 run now" in words(basis)
    monkeypatch.setattr(comparison, "MOST_REASONS", 1)
    assert re.search(r"<details><summary>\d more</summary><ul><li>", shown([*BASE, *NEW]))


def test_many_changed_fields_are_folded(monkeypatch: pytest.MonkeyPatch) -> None:
    assert '<details class="changes" open>' in shown([*BASE, *NEW])
    monkeypatch.setattr(comparison, "MOST_OPEN", 0)
    assert '<details class="changes" open>' not in shown([*BASE, *NEW])


def test_long_lists_of_changes_are_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(comparison, "MOST_REPEATS", 4)
    assert "… and 2 more; the cases have them." in shown([*BASE, *NEW])
    monkeypatch.setattr(comparison, "MOST", 1)
    other = [scored("c7", wrong(total=3, vendor="y"), model="new")]
    assert "… and 1 more field; the cases have them." in shown([*BASE, *NEW[:7], *other])


def test_a_case_has_the_values_of_before() -> None:
    found = page_data(page_of([*BASE, *NEW]))
    index = next(number for number, row in enumerate(found.rows) if (row.name, row.arm) == ("c3", "new"))
    field = found.bodies[index]["attempts"][0]["fields"][0]
    assert (field["p"], field["b"], field["w"]) == ("total", "907.2", "right before")
    assert found.rows[index].worse == 1


def test_a_run_that_is_compared_with_nothing_says_nothing_of_it() -> None:
    assert 'id="compared"' not in page(RunReport(results=NEW))
