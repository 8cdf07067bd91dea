"""The page of a run, in a real browser (skipped where there is none)."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pytest_extract.core.case_result import CaseResult, Outcome
from pytest_extract.core.scorer import compile_schema
from pytest_extract.regression.gate import evaluate_base
from pytest_extract.regression.rules import Rules
from pytest_extract.report.html.cases import AT_ONCE, anchor
from pytest_extract.report.html.page import page
from pytest_extract.report.run_report import RunReport
from tests.report.html.browser import browser, chromium, scheme, until, window
from tests.report.runs import GOLD, TEXT, broken, case, scored, wrong

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
    "long": "A" * 1_000_000,
    "entity": "&lt;b&gt;'\"",
}
Open = Callable[..., Any]


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
    """Open the page of some results; by default with everything on it."""

    def open_page(results: list[CaseResult] | None = None, fragment: str = "", **keys: Any) -> Any:
        file = tmp_path / "report.html"
        text = page(RunReport(results=mixed() if results is None else results, **keys))
        file.write_text(text, encoding="utf-8")
        browser.get(file.as_uri() + fragment)
        return browser

    return open_page


def one(browser: Any, selector: str) -> Any:
    return browser.find_element("css selector", selector)


def names(browser: Any) -> list[str]:
    """Return the names of the cases in view."""
    script = (
        "return [...document.querySelectorAll('.case h3')].filter(e => e.checkVisibility()).map(e => e.textContent)"
    )
    found: list[str] = browser.execute_script(script)
    return found


def focused(browser: Any) -> Any:
    return browser.switch_to.active_element


def test_the_verdict_stands_on_top_and_what_is_not_green_is_open(show: Open) -> None:
    browser = show()
    assert browser.title == "✗ Failed: 2 of 5 cases failed"
    assert one(browser, "h1").text.split("\n")[1:] == ["Failed", "2 of 5 cases failed"]
    assert [item.text for item in browser.find_elements("css selector", "header li")] == [
        "1 of 5 cases broken",
        "1 of 5 cases not run",
    ]
    assert names(browser) == ["sum", "typo", "down", "later", "fine"]
    opened = [item.text for item in browser.find_elements("css selector", "details[open] h3")]
    assert opened == ["sum", "typo", "down"]


def test_differing_characters_are_marked_on_both_sides(show: Open) -> None:
    browser = show([scored("typo", wrong(vendor="ACME Gmbh"))])
    assert [mark.text for mark in browser.find_elements("css selector", ".f mark")] == ["H", "h"]
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
    browser = show(results, mistakes=values, suite=[(False, value) for value in values], gate="suite")
    assert browser.title.startswith("✗ Failed: ")
    assert browser.get_log("browser") == []
    count = "return arguments[0].map(each => document.querySelectorAll(each).length)"
    assert browser.execute_script(count, ["script", "img, iframe, object, base", "[href^=javascript]"]) == [1, 0, 0]
    assert len(names(browser)) == len(results)
    assert browser.execute_script("return document.documentElement.outerHTML.length") < 500_000
    for width in (1400, 390):
        window(browser, width)
        assert browser.execute_script("return document.documentElement.scrollWidth - innerWidth") <= 0


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
    browser = show()
    one(browser, "#find").send_keys(typed)
    until(browser, lambda: one(browser, "#shown").text == f"{len(found)} of 5 cases")
    assert names(browser) == found
    assert one(browser, "#none").is_displayed() is not bool(found)
    one(browser, "#all").click()
    until(browser, lambda: one(browser, "#shown").text == "5 cases")
    assert one(browser, "#find").get_attribute("value") == ""


def test_cases_are_filtered_by_outcome_and_arm(show: Open) -> None:
    browser = show()
    one(browser, "[value=failed]").click()
    until(browser, lambda: names(browser) == ["down", "later", "fine"])
    one(browser, "#arm").send_keys("small")
    until(browser, lambda: names(browser) == ["fine"])
    assert one(browser, "#shown").text == "1 of 5 cases"
    assert one(browser, "#shown").get_attribute("aria-live") == "polite"


def test_a_field_leads_to_the_cases_in_which_it_fails(show: Open) -> None:
    browser = show()
    row = browser.find_element("xpath", "//tr[th='total']")
    assert "1 of 3" in row.text
    row.find_element("css selector", "a").click()
    until(browser, lambda: names(browser) == ["sum"])
    chosen = one(browser, "#only")
    assert chosen.accessible_name == "Only field total; press to show all"
    chosen.click()
    until(browser, lambda: len(names(browser)) == 5)
    assert focused(browser).get_attribute("id") == "find"


def press(browser: Any, key: str, there: str) -> None:
    """Press a key where the focus is, and wait until the focus is on what has this text or id."""
    focused(browser).send_keys(key)
    until(browser, lambda: there in f"{focused(browser).text} {focused(browser).get_attribute('id')}".split())


def test_the_list_is_walked_by_keys(show: Open) -> None:
    from selenium.webdriver import Keys

    browser = show()
    browser.execute_script("document.querySelector('.case summary').focus()")
    press(browser, "j", "typo")
    press(browser, Keys.ARROW_DOWN, "down")
    press(browser, "k", "typo")
    press(browser, Keys.ARROW_UP, "sum")
    press(browser, Keys.ENTER, "sum")
    until(browser, lambda: len(browser.find_elements("css selector", ".case > details[open]")) == 2)
    press(browser, "/", "find")
    press(browser, "j/k", "find")
    assert focused(browser).get_attribute("value") == "j/k"


def test_the_first_stop_of_the_tabulator_skips_to_the_cases(show: Open) -> None:
    from selenium.webdriver import Keys

    browser = show()
    press(browser, Keys.TAB, "Skip")
    press(browser, Keys.ENTER, "cases")


def test_a_link_to_a_case_opens_it(show: Open) -> None:
    results = mixed()
    fine, typo = (anchor(next(one for one in results if one.case_id == name)) for name in ("fine", "typo"))
    browser = show(results, f"#{fine}")
    until(browser, lambda: "fine" in focused(browser).text)
    assert one(browser, f"#{fine} > details").get_attribute("open")
    one(browser, "[value=failed]").click()
    until(browser, lambda: "typo" not in names(browser))
    browser.execute_script("location.hash = arguments[0]", typo)
    until(browser, lambda: "typo" in focused(browser).text)
    assert len(names(browser)) == 5


def test_open_and_close_all(show: Open) -> None:
    browser = show()
    fold = one(browser, "#fold")
    assert fold.text == "Close all"
    fold.click()
    until(browser, lambda: not browser.find_elements("css selector", ".case > details[open]"))
    assert fold.text == "Open all"
    fold.click()
    until(browser, lambda: len(browser.find_elements("css selector", ".case > details[open]")) == 5)


def test_thousands_of_cases_are_shown_in_part_and_found_all_the_same(show: Open) -> None:
    results = [scored(f"case-{index}", GOLD) for index in range(AT_ONCE * 2 + 50)]
    last = f"case-{len(results) - 1}"
    browser = show(results)
    assert one(browser, "#shown").text == f"{len(results)} cases, {AT_ONCE} in view"
    one(browser, "#more").click()
    until(browser, lambda: len(names(browser)) == 2 * AT_ONCE)
    assert f"case-{AT_ONCE}" in focused(browser).text
    one(browser, "#find").send_keys(last)
    until(browser, lambda: names(browser) == [last])
    browser.execute_script("location.hash = arguments[0]", anchor(results[-2]))
    until(browser, lambda: f"case-{len(results) - 2}" in focused(browser).text)
    assert one(browser, "#only").text == f"case case-{len(results) - 2} ✕"


def test_what_got_worse_stands_first_and_can_be_filtered(show: Open) -> None:
    results = [scored(f"c{index}", GOLD, model="base") for index in range(3)]
    results += [scored("c0", wrong(vendor=None, total=1), model="new"), scored("c1", wrong(total=2), model="new")]
    results += [scored("c2", GOLD, model="new"), scored("old", wrong(vendor="x", total=0, items=[]), model="new")]
    browser = show(results, judged=evaluate_base(results, "base", Rules()))
    assert names(browser)[:3] == ["c0", "c1", "old"]
    assert "right in the baseline" in one(browser, ".case .f").text
    changed = browser.find_elements("css selector", "#compared .f")
    assert "gold\n907.2\nbefore\n907.2\nnow" in "\n".join(item.text for item in changed)
    one(browser, "#compared .f a").click()
    until(browser, lambda: "c0" in focused(browser).text)
    one(browser, "[name=worse]").click()
    until(browser, lambda: names(browser) == ["c0", "c1"])


def test_without_scripts_all_of_it_can_be_read(show: Open, browser: Any) -> None:
    browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
    results = [scored("typo", wrong(vendor="ACME Gmbh")), *(scored(f"c{index}", GOLD) for index in range(AT_ONCE))]
    show(results)
    assert one(browser, "h1").is_displayed()
    assert not one(browser, "#tools").is_displayed()
    assert one(browser, ".f dd").is_displayed()
    chunk = one(browser, ".chunk > summary")
    assert chunk.text == f"Cases {AT_ONCE + 1} to {AT_ONCE + 1}"
    chunk.click()
    until(browser, lambda: one(browser, ".chunk .case h3").is_displayed())


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
    show()
    assert browser.execute_script("return matchMedia(`(prefers-color-scheme: dark)`).matches") is (name == "dark")
    assert browser.execute_script(CONTRAST) == []


def test_the_page_has_landmarks_names_and_one_title(show: Open) -> None:
    browser = show()
    count = "return arguments[0].map(each => document.querySelectorAll(each).length)"
    assert browser.execute_script(count, ["header", "main", "footer", "h1", "html[lang]", "[role=search]"]) == [1] * 6
    for control in browser.find_elements("css selector", "input, select, button, summary, a, [role=region]"):
        if control.is_displayed():
            assert control.accessible_name, control.get_attribute("outerHTML")
    ids = browser.execute_script("return [...document.querySelectorAll('[id]')].map(each => each.id)")
    assert len(ids) == len(set(ids))


def test_paper_has_no_tools(show: Open, browser: Any) -> None:
    show()
    scheme(browser, "light", "print")
    assert not one(browser, "#tools").is_displayed()
    assert one(browser, ".f dd").is_displayed()
