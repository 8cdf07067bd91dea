"""The page of a run as text: what browsers are told, what is escaped, what is cut and said to be."""

from __future__ import annotations

import base64
import hashlib
import re
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_extract.core.case_result import Attempt, CaseResult, Outcome
from pytest_extract.core.results import Failure, FailureKind
from pytest_extract.report.html import cases
from pytest_extract.report.html.cases import anchor
from pytest_extract.report.html.markup import Markup, element, escaped, join
from pytest_extract.report.html.page import page
from pytest_extract.report.run_report import RunReport
from pytest_extract.report.totals import JudgeSpending
from tests.records import score_record
from tests.report.runs import GOLD, broken, case, scored, wrong


class Tags(HTMLParser):
    """Collects elements, their attributes, and the text between them."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.texts: list[str] = []
        self.open: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs
        if tag not in {"meta", "link", "input"}:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def shown(*results: CaseResult, **keys: object) -> str:
    return page(RunReport(results=results, **keys))  # type: ignore[arg-type]


def test_only_the_page_s_own_style_and_script_are_allowed() -> None:
    text = shown(scored("a", GOLD))
    policy = re.search(r'content="(default-src [^"]*)"', text)
    assert policy is not None
    for tag in ("style", "script"):
        content = re.search(rf"<{tag}[^>]*>(.*?)</{tag}>", text, re.DOTALL)
        assert content is not None
        digest = base64.b64encode(hashlib.sha256(content[1].encode()).digest()).decode()
        assert f"{tag}-src &#x27;sha256-{digest}&#x27;" in policy[1]
    assert policy[1].startswith("default-src &#x27;none&#x27;;")
    attributes = Tags(text).attributes
    assert not [name for name, _ in attributes if name.startswith("on") or name == "style"]
    assert [value for name, value in attributes if name in {"src", "href"} and not (value or "").startswith("#")] == [
        value for name, value in attributes if (value or "").startswith("data:image/svg+xml")
    ]


@given(st.text(), st.text())
def test_any_text_is_one_text(text: str, name: str) -> None:
    tags = Tags(element("p", text, title=name))
    assert tags.tags == ["p"]
    assert "".join(tags.texts) == "".join(Tags(escaped(text)).texts)
    assert "".join(tags.texts).isprintable()
    assert [key for key, _ in tags.attributes] == ["title"]


def test_markup_is_escaped_once() -> None:
    assert join(["<", Markup("<br>"), None, ""]) == "&lt;<br>"
    assert element("a", data_x=0, hidden=True, class_=None, open=False) == '<a data-x="0" hidden></a>'


@given(st.text(min_size=1), st.text())
def test_whatever_a_case_is_called_the_page_is_well_formed(name: str, value: str) -> None:
    text = shown(scored(name, wrong(vendor=value), tags={name: value}), broken(value, name), mistakes=[value])
    tags = Tags(text)
    assert tags.open == []
    assert tags.tags.count("script") == 1
    text.encode("utf-8")


def test_a_fragment_stays_the_same_and_is_nobody_else_s() -> None:
    one, again, other = scored("Acme & Co", GOLD), scored("Acme & Co", wrong(total=1)), scored("acme co", GOLD)
    assert anchor(one) == anchor(again) == "acme-co-2a447263"
    assert anchor(one) != anchor(other)
    assert anchor(scored("\ud800", GOLD)).startswith("case-")
    assert len(anchor(scored("x" * 1_000, GOLD))) < 64


def test_further_fields_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cases, "MOST_FIELDS", 1)
    text = shown(scored("a", wrong(vendor="x", total=0)))
    assert "… 1 more failing field; the results file has them." in text


def test_a_full_page_says_what_it_leaves_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cases, "MOST_CHARACTERS", 1)
    text = shown(scored("a", GOLD), scored("b", wrong(vendor="x")))
    assert "1 of 2 cases unfold" in text
    assert text.count("The page is full: this case&#x27;s fields are left out.") == 1
    assert text.index("<h3>b</h3>") < text.index("The page is full")


def test_a_page_of_very_many_cases_says_how_many_it_has(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cases, "MOST_CASES", 2)
    text = shown(*(scored(name, GOLD) for name in "abc"), broken("d", "down"))
    assert "2 of 4 cases are on this page, what is not green first" in text
    assert re.findall(r"<h3>(.)</h3>", text) == ["d", "a"]


def test_a_green_case_shows_what_failed_in_it_all_the_same() -> None:
    lenient = scored("a", wrong(vendor="ACME"), breaches=())
    text = shown(case("a", Outcome.PASSED, *lenient.attempts))
    assert 'class="path">vendor</code>' in text


def test_known_failures_are_told_apart() -> None:
    text = shown(scored("a", wrong(total=1), known=("total",)))
    assert "<summary>1 known failure, not in the verdict</summary>" in text


def test_repeats_are_told_one_by_one() -> None:
    bad, good = scored("a", wrong(total=1)).attempts[0], scored("a", GOLD).attempts[0]
    text = shown(case("a", Outcome.FAILED, good, bad, bad, needed=2))
    assert "1 of 3 repeats passed, 2 needed." in text
    assert text.count("<h4>Repeat 1 of 3: failed</h4>") == 2  # both were made as the first
    assert "unsteady" in text


def test_an_output_that_cannot_be_scored_is_shown_around_the_place() -> None:
    failure = Failure(kind=FailureKind.TRAILING_COMMA, message="a comma too many", line=2, column=7)
    score = score_record(failure=failure, measures={"pass_rate": 0.0})
    attempt = Attempt(index=0, outcome=Outcome.FAILED, score=score, output='{\n  "a": 1,\n}')
    text = shown(case("a", Outcome.FAILED, attempt))
    assert '<span class="head">trailing_comma at line 2, column 7: </span>' in text
    assert "unusable outputs" in text


def test_the_judge_s_cost_is_told() -> None:
    text = shown(scored("a", GOLD), judge=JudgeSpending(calls=3, cost_usd=0.5))
    assert "<dt>judge</dt><dd>3 calls</dd>" in text
    assert "<dt>cost of the judge</dt><dd>$0.5000</dd>" in text


def test_a_run_without_results_has_a_page() -> None:
    text = shown()
    assert "<title>! Nothing run: no case was run</title>" in text
    assert Tags(text).open == []


def test_letters_that_look_alike_are_named() -> None:
    text = shown(scored("a", wrong(vendor="АCME GmbH")))
    assert "gold has U+0041 LATIN CAPITAL LETTER A, extracted U+0410 CYRILLIC CAPITAL LETTER A" in text


def test_cases_alike_stand_in_the_order_of_their_names() -> None:
    text = shown(*(scored(name, GOLD) for name in ("case-10", "case-2", "case-1")))
    assert re.findall(r"<h3>(.*?)</h3>", text) == ["case-1", "case-2", "case-10"]
