"""The page of a run, in a real browser (skipped where there is none)."""

from dataclasses import replace

import pytest

from pytest_extract.core.case_result import Attempt, Outcome
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

AT_ONCE = 200
"""Cases of the list that are drawn at once."""


class View:
    """The page as its reader sees it."""

    def __init__(self, driver):
        self.driver = driver

    def one(self, selector):
        """Return an element by its CSS selector, or by its XPath."""
        return self.driver.find_element("xpath" if selector.startswith("//") else "css selector", selector)

    def all(self, selector):
        return self.driver.find_elements("css selector", selector)

    def texts(self, selector):
        return [each.text for each in self.all(selector)]

    def click(self, selector):
        self.one(selector).click()

    def enter(self, selector, text):
        self.one(selector).send_keys(text)

    def press(self, *keys):
        self.focus.send_keys(*keys)

    def hover(self, selector):
        from selenium.webdriver import ActionChains

        ActionChains(self.driver).move_to_element(self.one(selector)).perform()

    def run(self, script, *arguments):
        return self.driver.execute_script(script, *arguments)

    def count(self, *selectors):
        return [len(self.all(selector)) for selector in selectors]

    def until(self, condition):
        until(self.driver, condition)

    def until_names(self, *names):
        self.until(lambda: self.names == [*names])

    def until_open(self, name):
        self.until(lambda: self.open == name)

    def until_focus(self, value, attribute="data-path"):
        self.until(lambda: self.focus.get_attribute(attribute) == value)

    @property
    def focus(self):
        return self.driver.switch_to.active_element

    @property
    def names(self):
        """The names of the cases in view."""
        cells = "[...document.querySelectorAll('#list .name')]"
        return self.run(f"return {cells}.filter(e => e.checkVisibility()).map(e => e.textContent)")

    @property
    def open(self):
        """The name of the case that is open."""
        return str(self.one("#case h3").text)

    @property
    def marked(self):
        """The places of the document that are marked."""
        return self.texts(".mark.on")

    def assert_fits(self):
        assert self.run("return document.documentElement.scrollWidth - innerWidth") <= 0

    def assert_quiet(self):
        """Nothing was loaded, and nothing complained about."""
        loaded = self.run("return performance.getEntriesByType('resource').map(each => each.name)")
        assert [name for name in loaded if not name.startswith("data:")] == []
        assert self.driver.get_log("browser") == []


def mixed():
    return [
        scored("fine", GOLD, model="small"),
        scored("typo", wrong(vendor="ACME Gmbh"), model="small"),
        scored("sum", wrong(total=1.5, vendor=None), model="large"),
        broken("down", "RuntimeError: 503 Service Unavailable", model="large"),
        case("later", Outcome.NOT_RUN, model="large", why="the budget is spent"),
    ]


@pytest.fixture
def show(browser, tmp_path):
    """Open the page of some results; with `scripts`, wait until they have run; `document`: that of all cases."""

    def has_run():
        if not browser.find_elements("css selector", ".scripted[hidden]"):
            return True
        browser.refresh()  # a page that is loaded just after scripts were allowed again may still be without them
        return False

    def open_page(*results, fragment="", scripts=True, document=None, **keys):
        if document:
            results = tuple(replace(each, digests={"document": document.sha256}) for each in results)
            keys["find_case"] = lambda _: type("Case", (), {"document": document})
        file = tmp_path / "report.html"
        file.write_text(page(RunReport(results=results or mixed(), **keys)), encoding="utf-8")
        browser.get(file.as_uri() + fragment)
        if scripts:
            until(browser, has_run)
        return View(browser)

    return open_page


# --- the page of a run


def test_the_verdict_stands_on_top_and_the_worst_case_is_open(show):
    view = show(fragment="#100%")  # is no link to a case
    assert view.driver.title == "✗ Failed: small: 1 of 2 cases failed"
    assert view.one("h1").text.split("\n")[1:] == ["Failed", "small: 1 of 2 cases failed"]
    assert view.texts("header > ul li")[:2] == ["large: 1 of 3 cases failed", "1 of 5 cases in error"]
    assert view.one(".steps li").text.startswith("Fix the errors of 1 case")
    assert view.names == ["sum", "typo", "down", "later", "fine"]
    assert (view.open, view.run("return scrollY")) == ("sum", 0)
    landmarks = ("body > header", "main", "footer", "h1", "html[lang]", "[role=search]", "article")
    assert view.count(*landmarks) == [1] * 7
    for control in view.all("input, select, button, summary, a, [role=region]"):
        assert control.accessible_name or not control.is_displayed(), control.get_attribute("outerHTML")
    ids = view.run("return [...document.querySelectorAll('[id]')].map(each => each.id)")
    assert len(ids) == len(set(ids))
    view.all("#list a")[1].click()
    view.until_open("typo")
    assert view.texts(".f mark") == ["[H→h]"]
    assert "ACME GmbH" in view.one(".f").text.replace("\n", "")
    view.assert_quiet()


def test_the_policy_lets_no_other_script_act(show):
    driver = show().driver
    script = """
        const done = arguments[0];
        document.addEventListener('securitypolicyviolation', event => done(event.effectiveDirective));
        document.body.insertAdjacentHTML('beforeend', '<img src="data:," onerror="document.title = 1">');
    """
    driver.set_script_timeout(60)
    assert driver.execute_async_script(script) == "script-src-attr"
    assert driver.title.startswith("✗ Failed")


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
def test_all_text_has_contrast(show, browser, name):
    scheme(browser, name)
    view = show(*mixed(), scored("rows", wrong(items=[{"name": "Bolt", "price": 7}])), by=["modality"])
    assert view.run("return matchMedia(`(prefers-color-scheme: dark)`).matches") is (name == "dark")
    for link in view.all("#list a"):
        link.click()
        assert view.run(CONTRAST) == []


def test_paper_has_the_failing_cases_and_no_tools(show, browser):
    view = show()
    scheme(browser, "light", "print")
    view.run("dispatchEvent(new Event('beforeprint'))")
    assert not view.one("#tools").is_displayed()
    assert not view.one(".browser").is_displayed()
    assert view.texts("#print h3") == ["✗ sum", "✗ typo", "! down", "○ later"]
    assert view.one("#print .f dd").is_displayed()
    assert "Not printed" not in view.one("#print").text  # what passed is no news


def test_without_scripts_the_headline_can_be_read(show, browser):
    browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
    view = show(scored("typo", wrong(vendor="ACME Gmbh")), scored("fine", GOLD), scripts=False)
    assert view.one("h1").is_displayed()
    assert not view.one("main").is_displayed()
    assert "Scripts are off" in view.one("noscript").text


def test_nearly_all_is_told_from_all_in_a_narrow_window(show, browser):
    window(browser, 320)
    results = []
    for name, rate in (("a", 1.0), ("b", 0.99997), ("c", 0.0002), ("d", 0.0)):
        attempt = Attempt(index=0, outcome=Outcome.PASSED, score=score_record(measures={"pass_rate": rate}))
        results.append(case(name, Outcome.PASSED, attempt))
    view = show(*results)
    assert {*view.texts("#list .num")} == {"100 %", "> 99.9 %", "< 0.1 %", "0 %"}
    view.assert_fits()


# --- the list of cases


def test_cases_are_found_by_text_outcome_and_variant(show):
    view = show()
    for typed, found in (
        ("typo", ["typo"]),
        ("GMBH", ["sum", "typo", "fine"]),  # a value, whatever its case
        ("503 large", ["down"]),
        ("budget", ["later"]),
        ("nowhere", []),
    ):
        view.enter("#find", typed)
        view.until(lambda found=found: view.one("#shown").text == f"{len(found)} of 5 cases")
        assert view.names == found
        assert view.one("#none").is_displayed() is not bool(found)
        view.click("#all")
        view.until(lambda: view.one("#shown").text == "5 cases")
        assert view.one("#find").get_attribute("value") == ""
    assert view.one("#shown").get_attribute("aria-live") == "polite"
    view.click("[value=failed]")
    view.until_names("down", "later", "fine")
    view.enter("#variant", "small")
    view.until_names("fine")
    view.click("#all")
    row = view.one("//tr[th='total']")
    assert "1 of 1 (100 %) 0 of 2 (0 %)" in row.text
    row.find_element("css selector", "a").click()  # the cases in which a field fails
    view.until_names("sum")
    assert view.one("#only").accessible_name == "Only field total; press to show all"
    view.click("#only")
    view.until(lambda: len(view.names) == 5)
    assert view.focus.get_attribute("id") == "find"


def test_cases_are_filtered_by_tag_and_mistake_and_sorted(show):
    view = show(
        scored("b", wrong(vendor=None), tags={"domain": "mail"}),
        scored("a", wrong(vendor="ACME GMBH", total=1), tags={"domain": "scan"}),
        scored("c", GOLD, tags={"domain": "scan"}),
    )
    for selector, typed, found in (
        ("select.tag", "scan", ["a", "c"]),
        ("#status", "missing", ["b"]),
        ("#sort", "name", ["a", "b", "c"]),
    ):
        view.enter(selector, typed)
        view.until_names(*found)
        view.click("#all")
    view.driver.find_element("link text", "1 case").click()
    view.until_names("a")
    assert view.one("#status option:checked").text == "case (1)"
    assert view.open == "a"


def test_the_page_is_walked_by_keys(show):
    from selenium.webdriver import Keys

    view = show()
    view.press(Keys.TAB)
    assert view.focus.text == "Skip to the cases"
    view.press(Keys.ENTER)
    view.until_focus("cases", "id")
    view.run("document.querySelector('#list a').focus()")
    for key, name in (("j", "typo"), (Keys.ARROW_DOWN, "down"), ("k", "typo"), (Keys.ARROW_UP, "sum")):
        view.press(key)
        view.until_open(name)
        assert name in view.focus.text
    for key, path in (("n", "vendor"), ("n", "total"), ("p", "vendor")):
        view.press(key)
        view.until_focus(path)
    view.press(Keys.ESCAPE)
    view.until(lambda: "sum" in view.focus.text)
    view.press("/")
    view.until_focus("find", "id")
    view.press("j/k")
    assert view.focus.get_attribute("value") == "j/k"
    view.click("#all")
    view.until(lambda: view.one("#shown").text == "5 cases")
    view.run("document.querySelector('#heat-table td').focus()")
    view.press(Keys.ARROW_DOWN, Keys.ARROW_RIGHT)
    place = "const cell = document.activeElement; return [cell.parentElement.sectionRowIndex, cell.cellIndex, cell.tabIndex]"
    assert view.run(place) == [1, 2, 0]
    view.press(Keys.ENTER)
    view.until_open("typo")


def test_a_link_to_a_case_opens_it(show):
    fine, typo, *_ = map(anchor, mixed())
    view = show(fragment=f"#{fine}")
    view.until_open("fine")
    assert view.focus.get_attribute("aria-label") == "Case fine"
    view.click("[value=failed]")
    view.until(lambda: "typo" not in view.names)
    view.run("location.hash = arguments[0]", typo)
    view.until_open("typo")
    assert len(view.names) == 5


def test_thousands_of_cases_are_shown_in_part_and_found_all_the_same(show):
    results = [scored(f"case-{index}", GOLD) for index in range(AT_ONCE * 2 + 50)]
    *_, before, last = results
    view = show(*results)
    assert view.one("#shown").text == f"{len(results)} cases, {AT_ONCE} in view"
    view.click("#more-cases")
    view.until(lambda: len(view.names) == 2 * AT_ONCE)
    assert f"case-{AT_ONCE}" in view.focus.text
    view.enter("#find", last.case_id)
    view.until_names(last.case_id)
    view.run("location.hash = arguments[0]", anchor(before))
    view.until_open(before.case_id)
    assert view.one("#only").text == f"case {before.case_id} ✕"


def test_what_got_worse_stands_first_and_can_be_filtered(show):
    results = [scored(f"c{index}", GOLD, model="base") for index in range(3)]
    results += [scored("c0", wrong(vendor=None, total=1), model="new"), scored("c1", wrong(total=2), model="new")]
    results += [scored("c2", GOLD, model="new"), scored("old", wrong(vendor="x", total=0, items=[]), model="new")]
    view = show(*results, judged=evaluate_base(results, "base", Rules()))
    assert view.names[:3] == ["c0", "c1", "old"]
    assert "right before" in view.one("#case .f").text
    assert view.one("#case .f dl").text.split("\n")[:4] == ["gold", '"ACME GmbH"', "before", '"ACME GmbH"']
    view.click("#compared summary")
    assert view.one("#compared .group").text == "total 2 times"
    view.click("#compared .group summary")
    view.all("#compared .group a")[1].click()
    view.until_open("c1")
    view.click("[name=worse]")
    view.until_names("c0", "c1")


def test_the_heat_map_sorts_and_opens_cases(show):
    view = show(
        scored("a", wrong(total=1, vendor="x", items=[])),
        scored("b", wrong(items=[{"name": "Bolt", "price": 7}, GOLD["items"][1]])),
        scored("c", GOLD),
    )
    cells = "return [...document.querySelectorAll('#heat-table tbody tr')].map(row => [...row.children].map(cell => cell.textContent))"
    heads = view.texts("#heat-table thead button")
    column = heads.index("items[].price") + 1
    assert [row[column] for row in view.run(cells)] == ["−", "≠"]
    view.all("#heat-table thead button")[heads.index("vendor")].click()
    view.until(lambda: view.one("#heat-table [aria-sort]").text == "vendor")
    assert [row[0] for row in view.run(cells)] == ["a", "b"]
    cell = view.one(f"#heat-table tbody tr:nth-child(2) td:nth-child({column + 1})")
    assert cell.accessible_name == "items[].price: wrong in part"
    cell.click()
    view.until_focus("items[0].price")
    assert view.open == "b"


def test_the_heat_map_has_all_columns_of_the_data_and_the_axis_of_a_plot_numbers(show):
    names = [f"f{index}" for index in range(60)]
    scorer = compile_schema({"type": "object", "properties": dict.fromkeys(names, TEXT)})
    gold = dict.fromkeys(names, "a")
    costs = {"small": 0.001, "large": 0.02}
    runs = ((dict.fromkeys(names, model), model, cost) for model, cost in costs.items())
    view = show(*(scored("a", out, gold=gold, scorer=scorer, model=model, cost_usd=cost) for out, model, cost in runs))
    assert view.count("#heat-table thead button") == [60]
    axis = view.texts("#ranking text[y='192']")
    assert (axis[0], axis[-1]) == ("1,000", "20,000")


def test_an_earlier_page_is_compared_by_the_reader(show, tmp_path):
    now = {name: scored(name, wrong(total=1)) for name in "ade"} | {name: scored(name, GOLD) for name in "bc"}
    now["dear"] = replace(scored("dear", GOLD), outcome=Outcome.FAILED)
    then = [scored(name, GOLD) for name in ("a", "c", "dear")]
    then += [scored(name, wrong(total=1, vendor="x")) for name in "be"]
    (tmp_path / "then.html").write_text(page(RunReport(results=then)), encoding="utf-8")
    (tmp_path / "other.html").write_text("<script>document.title = 'owned'</script>", encoding="utf-8")
    view = show(*now.values())

    def compare(name, told):
        view.enter("#earlier", str(tmp_path / name))
        view.until(lambda: told in view.one("#shown").text)

    compare("then.html", "5 not as on the earlier page")
    cells = "return [...document.querySelectorAll('#list li')].map(item => [...item.querySelectorAll('.name, .chip')]"
    chips = view.run(f"{cells}.map(each => (each.textContent + each.className.replace(/name|chip/, '')).trim()))")
    assert sorted(chips[:-1]) == [
        ["a", "was passed bad"],
        ["b", "was failed good"],
        ["d", "new"],
        ["dear", "was passed bad"],
        ["e", "was 33.3 % good"],
    ]
    assert chips[-1] == ["c"]
    compare("other.html", "other.html is no page of this kind")
    assert "owned" not in view.driver.title
    compare("then.html", "5 not as on the earlier page")
    view.click("#all")
    assert view.one("#shown").text == "6 cases"
    assert view.texts("#list .chip") == []


# --- documents and outputs

LETTER = "🎉 Invoice of ACME GmbH\nTotal: 907.20\n1.50 each"
HTML_LETTER = """<!doctype html><html><head><title>Invoice 118</title><style>b { color: red }</style></head><body>
<h1>Invoice 😀 of <b>ACME</b> GmbH</h1>
<table><tr><th colspan="2">Items</th></tr><tr><td>Bolt</td><td>2.50</td></tr><tr><td>Nut</td><td>1.50</td></tr></table>
<p>Total: <em>907</em>.20<br>paid</p><ul><li>one</li></ul></body></html>"""


def written(path, content):
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return Document(path)


def test_a_field_shows_its_place_and_a_place_its_field(show):
    view = show(scored("a", wrong(total=1.5)), document=Document(text=LETTER))
    assert view.one(".paper .written").text == LETTER
    view.hover("#case .f")
    view.until(lambda: view.marked == ["907.20", "1.50"])
    assert "gold: in the document" in view.one("#case .f").text
    view.hover("#case h3")
    view.until(lambda: view.marked == [])
    assert view.one("//mark[.='907.20']").accessible_name == "907.20: gold of total"
    view.click("//mark[.='907.20']")
    view.until_focus("total")
    view.click("//mark[.='ACME GmbH']")
    view.until_focus("vendor")
    assert view.one("details[open] .f-match").is_displayed()


def test_an_html_document_is_rendered_with_its_places_marked_both_ways(show, browser, tmp_path):
    view = show(scored("a", wrong(total=1.5)), document=written(tmp_path / "letter.html", HTML_LETTER))
    assert view.texts(".paper .rendered tr") == ["Items", "Bolt 2.50", "Nut 1.50"]
    assert view.one(".paper .rendered th").get_attribute("colspan") == "2"
    assert view.one(".rendered .heading.h1").text == "Invoice 😀 of ACME GmbH"
    assert view.one(".paper .rendered").text.split("\n")[:2] == ["Invoice 118", "Invoice 😀 of ACME GmbH"]
    view.hover("#case .f")
    view.until(lambda: view.marked == ["1.50", "907", ".20"])  # a place goes on in the next element
    view.click("//mark[.='907']")
    view.until_focus("total")
    view.click("//mark[starts-with(., 'ACME')]")
    view.until_focus("vendor")
    window(browser, 390)
    view.assert_fits()
    view.assert_quiet()


def test_a_place_of_several_fields_has_one_mark(show):
    items = [{"name": "Bolt", "price": 9}, {"name": "Nut", "price": 8}]
    gold = wrong(items=[{**item, "price": 2.5} for item in items])
    view = show(scored("a", wrong(items=items), gold=gold), document=Document(text="2.5"))
    assert view.count(".mark") == [1]
    view.all("#case .f .place.gold")[1].click()
    assert view.marked == ["2.5"]


def test_a_pdf_has_boxes_over_its_pages(show, tmp_path):
    pytest.importorskip("PIL")
    document = written(tmp_path / "a.pdf", small_pdf("Cover", "total 907.20", "Terms"))
    view = show(scored("a", wrong(total=4_321)), document=document, pages="all")
    inside = """
        const [frame, box] = [".pages", ".mark.gold"].map((each) => document.querySelector(each).getBoundingClientRect());
        return frame.top <= box.top && box.bottom <= frame.bottom"""
    assert view.run(inside)  # opened at the first failing field
    assert view.run("return scrollY") == 0
    assert "gold: page 2" in view.one("#case .f").text
    assert "extracted: not in the document" in view.one("#case .f").text
    view.click("#case .place.gold")
    box = view.focus
    assert box.accessible_name == "gold of total"
    picture, rect = view.all(".picture img")[1].rect, box.rect
    assert picture["width"] > 300
    assert abs((rect["x"] - picture["x"]) / picture["width"] - 100 / 612) < 0.03  # "total " is 28 points wide, from 72
    assert abs((rect["y"] - picture["y"]) / picture["height"] - 60 / 792) < 0.03
    box.click()
    view.until_focus("total")
    view.assert_quiet()


def test_the_place_of_a_parse_error_is_marked_in_the_output(show):
    failure = Failure(kind=FailureKind.TRAILING_COMMA, message="a comma too many", line=2, column=9)
    score = score_record(failure=failure, measures={"pass_rate": 0.0})
    attempt = Attempt(index=0, outcome=Outcome.FAILED, score=score, output='{\n  "😀": 1,\n}')
    view = show(case("a", Outcome.FAILED, attempt))
    view.click("//summary[.='Raw output']")
    assert view.one(".raw .fault").text == ","


# --- hostile values

HOSTILE = [
    "</script><script>document.title='acted'</script>",
    "</style><script>document.title='acted'</script>",
    "<img src=x onerror=\"document.title='acted'\">",
    "javascript:document.title='acted'",
    "\u202eHbmG\u202c \u2066x\u2069 שלום",
    "\x00\x1b[2J\x7f\u2028",
    "\ud800",
    "a\u0300" * 400,
    "A" * 200_000,
    "&lt;b&gt;'\"",
]
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
INERT = ("script:not([type='application/json'])", "img, iframe, object, base", "[href^=javascript]")


def hostile(value):
    scorer = compile_schema({"type": "object", "properties": {value[:1_000]: TEXT, "b": TEXT}})
    gold, extracted = {value[:1_000]: "gold", "b": value}, {value[:1_000]: value, "b": f"{value}!"}
    return [
        scored(value, extracted, gold=gold, scorer=scorer),
        broken(value * 2, value, model=value),
        scored(f"fine {value}", GOLD, tags={value: value}),
    ]


def test_hostile_values_are_inert_and_stay_in_the_window(show, browser):
    results = [result for value in HOSTILE for result in hostile(value)]
    document = Document(text="\n".join(HOSTILE).encode("utf-8", "replace").decode())
    suite = [(False, value) for value in HOSTILE]
    view = show(*results, document=document, mistakes=HOSTILE, suite=suite, gate="suite")
    assert len(view.names) == len(results)
    for width in (1400, 390):
        window(browser, width)
        for index in range(*view.count("#list a")):
            view.run("document.querySelectorAll('#list a')[arguments[0]].click()", index)
        view.assert_fits()
        assert view.count(*INERT) == [1, 0, 0]
    assert browser.title.startswith("✗ Failed: ")
    view.assert_quiet()


def test_a_hostile_html_document_runs_nothing_and_fetches_nothing(show, browser, tmp_path):
    view = show(scored("a", wrong(total=1.5)), document=written(tmp_path / "letter.html", HOSTILE_HTML))
    assert "Total: 907.20 of ACME GmbH" in view.one(".rendered").text
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
    found = view.run(script)
    assert {*found.pop("names")} <= {"div", "p", "mark", "td", "table", "title"}
    assert found == {"attributes": [], "fixed": 0, "images": 0, "views": 0}
    for button in view.all(".rendered p, .rendered div"):
        view.run("arguments[0].click()", button)
    assert browser.current_url.startswith("file:")
    assert browser.title.startswith("✗ Failed")
    view.assert_quiet()
