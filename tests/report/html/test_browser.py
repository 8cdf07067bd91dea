"""The page of a run, in a real browser (skipped where there is none)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pytest_extract.core.case_result import Attempt, CaseResult, Outcome
from pytest_extract.core.results import Failure, FailureKind
from pytest_extract.core.scorer import compile_schema
from pytest_extract.documents import Document
from pytest_extract.regression.facts import Rules
from pytest_extract.regression.gate import evaluate_base
from pytest_extract.report.html.page import anchor, page
from pytest_extract.report.run_report import RunReport
from tests.records import score_record
from tests.report.html.browser import browser, chromium, scheme, until, window
from tests.report.runs import GOLD, TEXT, broken, case, scored, wrong
from tests.small_pdf import small_pdf

__all__ = ["browser", "chromium"]

HOSTILE = {
    "script": "</script><script>document.title='acted'</script>",
    "style": "</style><script>document.title='acted'</script>",
    "image": "<img src=x onerror=\"document.title='acted'\">",
    "link": "javascript:document.title='acted'",
    "direction": "\u202eHbmG\u202c \u2066x\u2069 שלום",
    "controls": "\x00\x1b[2J\x7f\u2028",
    "surrogate": "\ud800",
    "marks": "a\u0300" * 400,
    "long": "A" * 200_000,
    "entity": "&lt;b&gt;'\"",
}
Open = Callable[..., Any]
AT_ONCE = 200


def mixed() -> list[CaseResult]:
    return [
        scored("fine", GOLD, model="small"),
        scored("typo", wrong(vendor="ACME Gmbh"), model="small"),
        scored("sum", wrong(total=1.5, vendor=None), model="large"),
        broken("down", "RuntimeError: 503 Service Unavailable", model="large"),
        case("later", Outcome.NOT_RUN, model="large", why="the budget is spent"),
    ]


@pytest.fixture
def show(browser: Any, tmp_path: Path) -> Open:
    """Open the page of some results; by default with everything on it. With `scripts`, wait until they have run."""

    def has_run() -> bool:
        if not browser.find_elements("css selector", ".scripted[hidden]"):
            return True
        browser.refresh()  # a page that is loaded just after scripts were allowed again may still be without them
        return False

    def open_page(
        results: list[CaseResult] | None = None, fragment: str = "", *, scripts: bool = True, **keys: Any
    ) -> Any:
        file = tmp_path / "report.html"
        text = page(RunReport(results=mixed() if results is None else results, **keys))
        file.write_text(text, encoding="utf-8")
        browser.get(file.as_uri() + fragment)
        if scripts:
            until(browser, has_run)
        return browser

    return open_page


def one(browser: Any, selector: str) -> Any:
    return browser.find_element("css selector", selector)


def names(browser: Any) -> list[str]:
    """Return the names of the cases in view."""
    script = (
        "return [...document.querySelectorAll('#list .name')].filter(e => e.checkVisibility()).map(e => e.textContent)"
    )
    found: list[str] = browser.execute_script(script)
    return found


def shown_case(browser: Any) -> str:
    """Return the name of the case that is open."""
    return str(one(browser, "#case h3").text)


def focused(browser: Any) -> Any:
    return browser.switch_to.active_element


def test_the_verdict_stands_on_top_and_the_worst_case_is_open(show: Open) -> None:
    browser = show()
    assert browser.title == "✗ Failed: small: 1 of 2 cases failed"
    assert one(browser, "h1").text.split("\n")[1:] == ["Failed", "small: 1 of 2 cases failed"]
    assert [item.text for item in browser.find_elements("css selector", "header > ul li")] == [
        "large: 1 of 3 cases failed",
        "1 of 5 cases broken",
        "1 of 5 cases not run",
    ]
    assert one(browser, ".steps li").text.startswith("Mend what broke 1 case")
    assert names(browser) == ["sum", "typo", "down", "later", "fine"]
    assert shown_case(browser) == "sum"
    assert browser.execute_script("return scrollY") == 0


def test_differing_characters_are_marked(show: Open) -> None:
    browser = show([scored("typo", wrong(vendor="ACME Gmbh"))])
    assert [mark.text for mark in browser.find_elements("css selector", ".f mark")] == ["[H→h]"]
    assert "ACME GmbH" in one(browser, ".f").text.replace("\n", "")


def test_nothing_is_loaded_and_nothing_is_complained_about(show: Open) -> None:
    browser = show()
    loaded = browser.execute_script("return performance.getEntriesByType('resource').map(each => each.name)")
    assert [name for name in loaded if not name.startswith("data:")] == []
    assert browser.get_log("browser") == []


def test_the_policy_lets_no_other_script_act(show: Open) -> None:
    browser = show()
    script = """
        const done = arguments[0];
        document.addEventListener('securitypolicyviolation', event => done(event.effectiveDirective));
        document.body.insertAdjacentHTML('beforeend', '<img src="data:," onerror="document.title = 1">');
    """
    browser.set_script_timeout(60)
    assert browser.execute_async_script(script) == "script-src-attr"
    assert browser.title.startswith("✗ Failed")


def hostile(value: str) -> list[CaseResult]:
    scorer = compile_schema({"type": "object", "properties": {value[:1_000]: TEXT, "b": TEXT}})
    gold, extracted = {value[:1_000]: "gold", "b": value}, {value[:1_000]: value, "b": f"{value}!"}
    return [
        scored(value, extracted, gold=gold, scorer=scorer),
        broken(value * 2, value, model=value),
        scored(f"fine {value}", GOLD, tags={value: value}),
    ]


def test_hostile_values_are_inert_and_stay_in_the_window(show: Open) -> None:
    values = list(HOSTILE.values())
    results = [result for value in values for result in hostile(value)]
    document = Document(text="\n".join(values).encode("utf-8", "replace").decode())

    def find(_: object) -> Any:
        return type("Case", (), {"document": document})

    results = [replace(each, digests={"document": document.sha256}) for each in results]
    browser = show(results, mistakes=values, suite=[(False, value) for value in values], gate="suite", find_case=find)
    assert browser.title.startswith("✗ Failed: ")
    count = "return arguments[0].map(each => document.querySelectorAll(each).length)"
    inert = ["script:not([type='application/json'])", "img, iframe, object, base", "[href^=javascript]"]
    assert len(names(browser)) == len(results)
    links = len(browser.find_elements("css selector", "#list a"))
    for width in (1400, 390):
        window(browser, width)
        for index in range(links):
            browser.execute_script("document.querySelectorAll('#list a')[arguments[0]].click()", index)
        assert browser.execute_script("return document.documentElement.scrollWidth - innerWidth") <= 0
        assert browser.execute_script(count, inert) == [1, 0, 0]
    assert browser.title.startswith("✗ Failed: ")
    assert browser.get_log("browser") == []


@pytest.mark.parametrize(
    ("typed", "found"),
    [
        pytest.param("typo", ["typo"], id="name"),
        pytest.param("GMBH", ["sum", "typo"], id="value, whatever its case"),
        pytest.param("503 large", ["down"], id="two words"),
        pytest.param("budget", ["later"], id="reason"),
        pytest.param("nowhere", [], id="nothing"),
    ],
)
def test_cases_are_found_by_text(show: Open, typed: str, found: list[str]) -> None:
    results = [result for result in mixed() if result.case_id != "fine"]
    browser = show(results)
    one(browser, "#find").send_keys(typed)
    until(browser, lambda: one(browser, "#shown").text == f"{len(found)} of 4 cases")
    assert names(browser) == found
    assert one(browser, "#none").is_displayed() is not bool(found)
    one(browser, "#all").click()
    until(browser, lambda: one(browser, "#shown").text == "4 cases")
    assert one(browser, "#find").get_attribute("value") == ""


def test_cases_are_filtered_by_outcome_and_variant(show: Open) -> None:
    browser = show()
    one(browser, "[value=failed]").click()
    until(browser, lambda: names(browser) == ["down", "later", "fine"])
    one(browser, "#variant").send_keys("small")
    until(browser, lambda: names(browser) == ["fine"])
    assert one(browser, "#shown").text == "1 of 5 cases"
    assert one(browser, "#shown").get_attribute("aria-live") == "polite"


def test_cases_are_filtered_by_tag_and_mistake_and_sorted(show: Open) -> None:
    results = [
        scored("b", wrong(vendor=None), tags={"domain": "mail"}),
        scored("a", wrong(vendor="x", total=1), tags={"domain": "scan"}),
        scored("c", GOLD, tags={"domain": "scan"}),
    ]
    browser = show(results)
    one(browser, "select.tag").send_keys("scan")
    until(browser, lambda: names(browser) == ["a", "c"])
    one(browser, "#all").click()
    one(browser, "#status").send_keys("omission")
    until(browser, lambda: names(browser) == ["b"])
    one(browser, "#all").click()
    one(browser, "#sort").send_keys("name")
    until(browser, lambda: names(browser) == ["a", "b", "c"])


def test_a_field_leads_to_the_cases_in_which_it_fails(show: Open) -> None:
    browser = show()
    row = browser.find_element("xpath", "//tr[th='total']")
    assert "1 of 1 (100 %) 0 of 2 (0 %)" in row.text
    row.find_element("css selector", "a").click()
    until(browser, lambda: names(browser) == ["sum"])
    chosen = one(browser, "#only")
    assert chosen.accessible_name == "Only field total; press to show all"
    chosen.click()
    until(browser, lambda: len(names(browser)) == 5)
    assert focused(browser).get_attribute("id") == "find"


def test_a_kind_of_mistake_leads_to_its_cases(show: Open) -> None:
    results = [scored("a", wrong(total=-907.2)), scored("b", wrong(vendor="ACME GMBH"))]
    browser = show(results)
    browser.find_element("link text", "1 case").click()
    until(browser, lambda: names(browser) == ["b"])
    assert one(browser, "#status option:checked").text == "case (1)"
    assert shown_case(browser) == "b"


def test_the_cases_are_walked_by_keys(show: Open) -> None:
    from selenium.webdriver import Keys

    browser = show()
    browser.execute_script("document.querySelector('#list a').focus()")
    for key, name in (("j", "typo"), (Keys.ARROW_DOWN, "down"), ("k", "typo"), (Keys.ARROW_UP, "sum")):
        focused(browser).send_keys(key)
        until(browser, lambda name=name: shown_case(browser) == name)  # type: ignore[misc]
        assert name in focused(browser).text
    focused(browser).send_keys("n")
    until(browser, lambda: focused(browser).get_attribute("data-path") == "vendor")
    focused(browser).send_keys("n")
    until(browser, lambda: focused(browser).get_attribute("data-path") == "total")
    focused(browser).send_keys("p")
    until(browser, lambda: focused(browser).get_attribute("data-path") == "vendor")
    focused(browser).send_keys(Keys.ESCAPE)
    until(browser, lambda: "sum" in focused(browser).text)
    focused(browser).send_keys("/")
    until(browser, lambda: focused(browser).get_attribute("id") == "find")
    focused(browser).send_keys("j/k")
    assert focused(browser).get_attribute("value") == "j/k"


def test_the_first_stop_of_the_tabulator_skips_to_the_cases(show: Open) -> None:
    from selenium.webdriver import Keys

    browser = show()
    focused(browser).send_keys(Keys.TAB)
    assert focused(browser).text == "Skip to the cases"
    focused(browser).send_keys(Keys.ENTER)
    until(browser, lambda: focused(browser).get_attribute("id") == "cases")


def test_a_link_to_a_case_opens_it(show: Open) -> None:
    results = mixed()
    fine, typo = (anchor(next(one for one in results if one.case_id == name)) for name in ("fine", "typo"))
    browser = show(results, f"#{fine}")
    until(browser, lambda: shown_case(browser) == "fine")
    assert focused(browser).get_attribute("aria-label") == "Case fine"
    one(browser, "[value=failed]").click()
    until(browser, lambda: "typo" not in names(browser))
    browser.execute_script("location.hash = arguments[0]", typo)
    until(browser, lambda: shown_case(browser) == "typo")
    assert len(names(browser)) == 5


def test_a_fragment_that_is_no_link_to_a_case_leaves_the_worst_case_open(show: Open) -> None:
    assert shown_case(show(fragment="#100%")) == "sum"


def test_thousands_of_cases_are_shown_in_part_and_found_all_the_same(show: Open) -> None:
    results = [scored(f"case-{index}", GOLD) for index in range(AT_ONCE * 2 + 50)]
    last = f"case-{len(results) - 1}"
    browser = show(results)
    assert one(browser, "#shown").text == f"{len(results)} cases, {AT_ONCE} in view"
    one(browser, "#more-cases").click()
    until(browser, lambda: len(names(browser)) == 2 * AT_ONCE)
    assert f"case-{AT_ONCE}" in focused(browser).text
    one(browser, "#find").send_keys(last)
    until(browser, lambda: names(browser) == [last])
    browser.execute_script("location.hash = arguments[0]", anchor(results[-2]))
    until(browser, lambda: shown_case(browser) == f"case-{len(results) - 2}")
    assert one(browser, "#only").text == f"case case-{len(results) - 2} ✕"


def test_what_got_worse_stands_first_and_can_be_filtered(show: Open) -> None:
    results = [scored(f"c{index}", GOLD, model="base") for index in range(3)]
    results += [scored("c0", wrong(vendor=None, total=1), model="new"), scored("c1", wrong(total=2), model="new")]
    results += [scored("c2", GOLD, model="new"), scored("old", wrong(vendor="x", total=0, items=[]), model="new")]
    browser = show(results, judged=evaluate_base(results, "base", Rules()))
    assert names(browser)[:3] == ["c0", "c1", "old"]
    assert "right before" in one(browser, "#case .f").text
    assert one(browser, "#case .f dl").text.split("\n")[:4] == ["gold", '"ACME GmbH"', "before", '"ACME GmbH"']
    one(browser, "#compared summary").click()
    group = one(browser, "#compared .group")
    assert group.text == "total 2 times"
    group.find_element("css selector", "summary").click()
    group.find_elements("css selector", "a")[1].click()
    until(browser, lambda: shown_case(browser) == "c1")
    one(browser, "[name=worse]").click()
    until(browser, lambda: names(browser) == ["c0", "c1"])


def test_the_heat_map_sorts_and_opens_cases(show: Open) -> None:
    results = [
        scored("a", wrong(total=1, vendor="x", items=[])),
        scored("b", wrong(items=[{"name": "Bolt", "price": 7}, GOLD["items"][1]])),
        scored("c", GOLD),
    ]
    browser = show(results)
    cells = "return [...document.querySelectorAll('#heat-table tbody tr')].map(row => [...row.children].map(cell => cell.textContent))"
    heads = [each.text for each in browser.find_elements("css selector", "#heat-table thead button")]
    column = heads.index("items[].price") + 1
    assert [row[column] for row in browser.execute_script(cells)] == ["−", "≠"]
    browser.find_elements("css selector", "#heat-table thead button")[heads.index("vendor")].click()
    until(browser, lambda: one(browser, "#heat-table [aria-sort]").text == "vendor")
    assert [row[0] for row in browser.execute_script(cells)] == ["a", "b"]
    cell = one(browser, f"#heat-table tbody tr:nth-child(2) td:nth-child({column + 1})")
    assert cell.accessible_name == "items[].price: wrong in part"
    cell.click()
    until(browser, lambda: focused(browser).get_attribute("data-path") == "items[0].price")
    assert shown_case(browser) == "b"


def test_the_heat_map_has_all_columns_of_the_data(show: Open) -> None:
    names = [f"f{index}" for index in range(60)]
    scorer = compile_schema({"type": "object", "properties": dict.fromkeys(names, TEXT)})
    gold = dict.fromkeys(names, "a")
    results = [scored(name, dict.fromkeys(names, name), gold=gold, scorer=scorer) for name in "bc"]
    browser = show(results)
    assert len(browser.find_elements("css selector", "#heat-table thead button")) == 60


def test_the_heat_map_is_walked_by_arrow_keys(show: Open) -> None:
    from selenium.webdriver import Keys

    browser = show()
    browser.execute_script("document.querySelector('#heat-table td').focus()")
    focused(browser).send_keys(Keys.ARROW_DOWN, Keys.ARROW_RIGHT)
    place = "const cell = document.activeElement; return [cell.parentElement.sectionRowIndex, cell.cellIndex, cell.tabIndex]"
    assert browser.execute_script(place) == [1, 2, 0]
    focused(browser).send_keys(Keys.ENTER)
    until(browser, lambda: shown_case(browser) == "typo")


LETTER = "🎉 Invoice of ACME GmbH\nTotal: 907.20\n1.50 each"


@pytest.fixture
def with_document(show: Open) -> Any:
    document = Document(text=LETTER)
    result = replace(scored("a", wrong(total=1.5)), digests={"document": document.sha256})
    return show([result], find_case=lambda _: type("Case", (), {"document": document}))


def marked(browser: Any) -> list[str]:
    return [each.text for each in browser.find_elements("css selector", ".mark.on")]


def test_a_field_shows_its_place_and_a_place_its_field(with_document: Any) -> None:
    from selenium.webdriver import ActionChains

    browser = with_document
    assert one(browser, ".paper .written").text == LETTER
    field = one(browser, "#case .f")
    ActionChains(browser).move_to_element(field).perform()
    until(browser, lambda: marked(browser) == ["907.20", "1.50"])
    assert "gold: in the document" in field.text
    ActionChains(browser).move_to_element(one(browser, "#case h3")).perform()
    until(browser, lambda: marked(browser) == [])
    place = browser.find_element("xpath", "//mark[.='907.20']")
    assert place.accessible_name == "907.20: gold of total"
    place.click()
    until(browser, lambda: focused(browser).get_attribute("data-path") == "total")
    browser.find_element("xpath", "//mark[.='ACME GmbH']").click()
    until(browser, lambda: focused(browser).get_attribute("data-path") == "vendor")
    assert one(browser, "details[open] .f-match").is_displayed()


HTML_LETTER = """<!doctype html><html><head><title>Invoice 118</title><style>b { color: red }</style></head><body>
<h1>Invoice 😀 of <b>ACME</b> GmbH</h1>
<table><tr><th colspan="2">Items</th></tr><tr><td>Bolt</td><td>2.50</td></tr><tr><td>Nut</td><td>1.50</td></tr></table>
<p>Total: <em>907</em>.20<br>paid</p><ul><li>one</li></ul></body></html>"""


def html_case(tmp_path: Path, source: str, **keys: Any) -> tuple[list[CaseResult], dict[str, Any]]:
    file = tmp_path / "letter.html"
    file.write_text(source, encoding="utf-8")
    document = Document(file)
    result = replace(scored("a", wrong(total=1.5)), digests={"document": document.sha256})
    return [result], {"find_case": lambda _: type("Case", (), {"document": document}), **keys}


def test_an_html_document_is_rendered_with_its_places_marked_both_ways(show: Open, tmp_path: Path) -> None:
    from selenium.webdriver import ActionChains

    results, keys = html_case(tmp_path, HTML_LETTER)
    browser = show(results, **keys)
    paper = one(browser, ".paper .rendered")
    assert [row.text for row in paper.find_elements("css selector", "tr")] == ["Items", "Bolt 2.50", "Nut 1.50"]
    assert paper.find_element("css selector", "th").get_attribute("colspan") == "2"
    assert one(browser, ".rendered .heading.h1").text == "Invoice 😀 of ACME GmbH"
    assert paper.text.split("\n")[:2] == ["Invoice 118", "Invoice 😀 of ACME GmbH"]
    ActionChains(browser).move_to_element(one(browser, "#case .f")).perform()
    until(browser, lambda: marked(browser) == ["1.50", "907", ".20"])  # a place goes on in the next element
    browser.find_element("xpath", "//mark[.='907']").click()
    until(browser, lambda: focused(browser).get_attribute("data-path") == "total")
    browser.find_element("xpath", "//mark[starts-with(., 'ACME')]").click()
    until(browser, lambda: focused(browser).get_attribute("data-path") == "vendor")
    window(browser, 390)
    assert browser.execute_script("return document.documentElement.scrollWidth - innerWidth") <= 0
    assert browser.get_log("browser") == []


HOSTILE_HTML = """<html><head><base href="https://evil.example/"><title>Invoice</title>
<meta http-equiv="refresh" content="0;url=https://evil.example/"><link rel="stylesheet" href="https://evil.example/a.css">
<style>@import url(https://evil.example/b.css); body { background: url(https://evil.example/c.png) }</style>
<script>document.title = 'acted'; top.document.title = 'acted'</script></head>
<body onload="document.title='acted'" background="https://evil.example/d.png">
<p onclick="document.title='acted'" style="position:fixed;inset:0;background:url(https://evil.example/e.png)" id="view"
 class="mark on">Total: 907.20 of ACME GmbH</p>
<img src="https://evil.example/f.png" onerror="document.title='acted'"><img src="x" srcset="https://evil.example/g.png 1x">
<svg onload="document.title='acted'"><script>document.title='acted'</script><image href="https://evil.example/h.png"/></svg>
<iframe src="https://evil.example/i.html" srcdoc="<script>top.document.title='acted'</script>"></iframe>
<object data="https://evil.example/j.swf"></object><embed src="https://evil.example/k.swf">
<video src="https://evil.example/l.mp4" autoplay poster="https://evil.example/m.png"></video><audio src="n.mp3"></audio>
<form action="https://evil.example/o"><input name="p" autofocus onfocus="document.title='acted'"><button>Send</button></form>
<a href="javascript:document.title='acted'" ping="https://evil.example/q">link</a><a href="https://evil.example/r">out</a>
<math><mtext><table><mglyph><style><img src=x onerror="document.title='acted'"></style></mglyph></table></mtext></math>
<details open ontoggle="document.title='acted'"><summary>more</summary></details><template><img src=x onerror=1></template>
<td colspan="99999999999999999999" rowspan="-1">1.50</td><noscript><p title="</noscript><img src=x onerror=1>"></noscript>
<!--[if IE]><script>document.title='acted'</script><![endif]--></body></html>"""


def test_a_hostile_html_document_runs_nothing_and_fetches_nothing(show: Open, tmp_path: Path) -> None:
    results, keys = html_case(tmp_path, HOSTILE_HTML)
    browser = show(results, **keys)
    assert "Total: 907.20 of ACME GmbH" in one(browser, ".rendered").text
    assert browser.title == "✗ Failed: 1 of 1 case failed" or browser.title.startswith("✗ Failed")
    script = """
        const all = [...document.querySelectorAll('.rendered, .rendered *')];
        const own = ['class', 'data-place', 'role', 'tabindex', 'aria-label', 'title', 'colspan', 'rowspan'];
        return {
            names: [...new Set(all.map(each => each.localName))].sort(),
            attributes: all.flatMap(each => each.getAttributeNames()).filter(name => !own.includes(name)),
            fixed: all.filter(each => getComputedStyle(each).position === 'fixed').length,
            images: all.filter(each => getComputedStyle(each).backgroundImage !== 'none').length,
            views: document.querySelectorAll('#view').length,
        };
    """
    found = browser.execute_script(script)
    assert {*found["names"]} <= {"div", "p", "mark", "td", "table", "title"}
    assert (found["attributes"], found["fixed"], found["images"]) == ([], 0, 0)
    for button in browser.find_elements("css selector", ".rendered p, .rendered div"):
        browser.execute_script("arguments[0].click()", button)
    loaded = browser.execute_script("return performance.getEntriesByType('resource').map(each => each.name)")
    assert [name for name in loaded if not name.startswith("data:")] == []
    assert browser.current_url.startswith("file:")
    assert browser.title.startswith("✗ Failed")
    assert browser.get_log("browser") == []


def test_a_place_of_several_fields_has_one_mark(show: Open) -> None:
    document = Document(text="2.5")
    items = [{"name": "Bolt", "price": 9}, {"name": "Nut", "price": 8}]
    gold = wrong(items=[{"name": "Bolt", "price": 2.5}, {"name": "Nut", "price": 2.5}])
    result = replace(scored("a", wrong(items=items), gold=gold), digests={"document": document.sha256})
    browser = show([result], find_case=lambda _: type("Case", (), {"document": document}))
    assert len(browser.find_elements("css selector", ".mark")) == 1
    second = browser.find_elements("css selector", "#case .f .place.gold")[1]
    second.click()
    assert marked(browser) == ["2.5"]


def test_a_pdf_has_boxes_over_its_pages(show: Open, tmp_path: Path) -> None:
    pytest.importorskip("PIL")
    file = tmp_path / "a.pdf"
    file.write_bytes(small_pdf("Cover", "total 907.20"))
    document = Document(file)
    result = replace(scored("a", wrong(total=4_321)), digests={"document": document.sha256})
    browser = show([result], find_case=lambda _: type("Case", (), {"document": document}))
    assert "gold: page 2" in one(browser, "#case .f").text
    assert "extracted: not in the document" in one(browser, "#case .f").text
    one(browser, "#case .place.gold").click()
    box = focused(browser)
    assert box.accessible_name == "gold of total"
    picture, rect = one(browser, ".picture img").rect, box.rect
    assert picture["width"] > 300
    assert abs((rect["x"] - picture["x"]) / picture["width"] - 100 / 612) < 0.03  # "total " is 28 points wide, from 72
    assert abs((rect["y"] - picture["y"]) / picture["height"] - 60 / 792) < 0.03
    box.click()
    until(browser, lambda: focused(browser).get_attribute("data-path") == "total")
    assert browser.get_log("browser") == []


def test_a_pdf_is_opened_at_the_first_failing_field_in_it(show: Open, tmp_path: Path) -> None:
    pytest.importorskip("PIL")
    file = tmp_path / "a.pdf"
    file.write_bytes(small_pdf("ACME GmbH", "Terms", "total 907.20"))
    document = Document(file)
    result = replace(scored("a", wrong(total=4_321)), digests={"document": document.sha256})
    browser = show([result], pages="all", find_case=lambda _: type("Case", (), {"document": document}))
    inside = """
        const [frame, box] = [".pages", ".mark.gold"].map((each) => document.querySelector(each).getBoundingClientRect());
        return frame.top <= box.top && box.bottom <= frame.bottom"""
    assert browser.execute_script(inside)
    assert browser.execute_script("return scrollY") == 0


def test_the_place_of_a_parse_error_is_marked_in_the_output(show: Open) -> None:
    failure = Failure(kind=FailureKind.TRAILING_COMMA, message="a comma too many", line=2, column=9)
    score = score_record(failure=failure, measures={"pass_rate": 0.0})
    attempt = Attempt(index=0, outcome=Outcome.FAILED, score=score, output='{\n  "😀": 1,\n}')
    browser = show([case("a", Outcome.FAILED, attempt)])
    browser.find_element("xpath", "//summary[.='Raw output']").click()
    assert one(browser, ".raw .fault").text == ","


def test_nearly_all_is_told_from_all(show: Open) -> None:
    rates = {"a": 1.0, "b": 0.99997, "c": 0.0002, "d": 0.0}
    attempts = {
        name: Attempt(index=0, outcome=Outcome.PASSED, score=score_record(measures={"pass_rate": rate}))
        for name, rate in rates.items()
    }
    browser = show([case(name, Outcome.PASSED, attempt) for name, attempt in attempts.items()])
    shown = {each.text for each in browser.find_elements("css selector", "#list .num")}
    assert shown == {"100 %", "> 99.9 %", "< 0.1 %", "0 %"}


def test_without_scripts_the_failures_can_be_read(show: Open, browser: Any) -> None:
    browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
    show([scored("typo", wrong(vendor="ACME Gmbh")), scored("fine", GOLD)], scripts=False)
    assert one(browser, "h1").is_displayed()
    assert not one(browser, "main").is_displayed()
    assert "ACME Gmb[H→h]" in one(browser, "noscript pre").text


CONTRAST = """
const canvas = document.createElement('canvas').getContext('2d', {willReadFrequently: true});
const parts = colour => { canvas.clearRect(0, 0, 1, 1); canvas.fillStyle = colour; canvas.fillRect(0, 0, 1, 1); return [...canvas.getImageData(0, 0, 1, 1).data]; };
const light = colour => parts(colour).slice(0, 3).map(c => c / 255).map(c => c <= .04045 ? c / 12.92 : ((c + .055) / 1.055) ** 2.4).reduce((sum, c, i) => sum + c * [.2126, .7152, .0722][i], 0);
const ground = element => { for (; element; element = element.parentElement) { const c = getComputedStyle(element).backgroundColor; if (parts(c)[3] === 255) return c; } return 'white'; };
const bad = [];
const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
for (let node; node = texts.nextNode();) {
  const element = node.parentElement;
  if (!node.data.trim() || !element.checkVisibility()) continue;
  const [one, other] = [light(getComputedStyle(element).color), light(ground(element))].sort((a, b) => b - a);
  if ((one + .05) / (other + .05) < 4.5) bad.push(node.data);
}
return bad;
"""


@pytest.mark.parametrize("name", ["light", "dark"])
def test_all_text_has_contrast(show: Open, browser: Any, name: str) -> None:
    scheme(browser, name)
    results = [*mixed(), scored("rows", wrong(items=[{"name": "Bolt", "price": 7}]))]
    show(results, by=["modality"])
    assert browser.execute_script("return matchMedia(`(prefers-color-scheme: dark)`).matches") is (name == "dark")
    for link in browser.find_elements("css selector", "#list a"):
        link.click()
        assert browser.execute_script(CONTRAST) == []


def test_the_page_has_landmarks_names_and_one_title(show: Open) -> None:
    browser = show()
    count = "return arguments[0].map(each => document.querySelectorAll(each).length)"
    landmarks = ["body > header", "main", "footer", "h1", "html[lang]", "[role=search]", "article"]
    assert browser.execute_script(count, landmarks) == [1] * 7
    for control in browser.find_elements("css selector", "input, select, button, summary, a, [role=region]"):
        if control.is_displayed():
            assert control.accessible_name, control.get_attribute("outerHTML")
    ids = browser.execute_script("return [...document.querySelectorAll('[id]')].map(each => each.id)")
    assert len(ids) == len(set(ids))


def test_the_axis_of_a_plot_has_numbers(show: Open) -> None:
    costs = {"small": 0.001, "large": 0.02}
    browser = show([scored("a", GOLD, model=model, cost_usd=cost) for model, cost in costs.items()])
    axis = [each.text for each in browser.find_elements("css selector", "#ranking text[y='192']")]
    assert (axis[0], axis[-1]) == ("1,000", "20,000")


def test_the_tools_stay_in_a_narrow_window(show: Open, browser: Any) -> None:
    window(browser, 320)
    show([scored("a", wrong(total=1)), scored("b", GOLD)])
    assert browser.execute_script("return document.documentElement.scrollWidth - innerWidth") <= 0


def test_paper_has_the_failing_cases_and_no_tools(show: Open, browser: Any) -> None:
    show()
    scheme(browser, "light", "print")
    browser.execute_script("dispatchEvent(new Event('beforeprint'))")
    assert not one(browser, "#tools").is_displayed()
    assert not one(browser, ".browser").is_displayed()
    assert [each.text for each in browser.find_elements("css selector", "#print h3")] == [
        "✗ sum",
        "✗ typo",
        "! down",
        "○ later",
    ]
    assert one(browser, "#print .f dd").is_displayed()
    assert "Not printed" not in one(browser, "#print").text  # what passed is no news


def test_an_earlier_page_is_compared_by_the_reader(show: Open, tmp_path: Path) -> None:
    now = [scored("a", wrong(total=1)), scored("b", GOLD), scored("c", GOLD), scored("d", wrong(total=1))]
    now += [replace(scored("dear", GOLD), outcome=Outcome.FAILED), scored("e", wrong(total=1))]
    then = [
        scored("dear", GOLD),
        scored("e", wrong(total=1, vendor="x")),
        scored("a", GOLD),
        scored("b", wrong(total=1, vendor="x")),
        scored("c", GOLD),
    ]
    (tmp_path / "then.html").write_text(page(RunReport(results=then)), encoding="utf-8")
    (tmp_path / "other.html").write_text("<script>document.title = 'owned'</script>", encoding="utf-8")
    browser = show(now)
    one(browser, "#earlier").send_keys(str(tmp_path / "then.html"))
    until(browser, lambda: "5 not as on the earlier page" in one(browser, "#shown").text)
    chips = {
        item.find_element("css selector", ".name").text: [
            (chip.text, chip.get_attribute("class").split()[1:]) for chip in item.find_elements("css selector", ".chip")
        ]
        for item in browser.find_elements("css selector", "#list li")
    }
    assert chips == {
        "a": [("was passed", ["bad"])],
        "d": [("new", [])],
        "e": [("was 33.3 %", ["good"])],
        "dear": [("was passed", ["bad"])],
        "b": [("was failed", ["good"])],
        "c": [],
    }
    assert [*chips][-1] == "c"
    one(browser, "#earlier").send_keys(str(tmp_path / "other.html"))
    until(browser, lambda: one(browser, "#shown").text == "other.html is no page of this kind")
    assert "owned" not in browser.title
    one(browser, "#earlier").send_keys(str(tmp_path / "then.html"))
    until(browser, lambda: "5 not as on the earlier page" in one(browser, "#shown").text)
    one(browser, "#all").click()
    assert one(browser, "#shown").text == "6 cases"
    assert browser.find_elements("css selector", "#list .chip") == []
