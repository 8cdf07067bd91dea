"""A run as one HTML page: headline, overview, comparison, fields, arms, cases."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from importlib import resources
from typing import Final

from pytest_extract.regression.snapshots import CaseKey, case_key
from pytest_extract.report.gate import repeat_lines
from pytest_extract.report.html.cases import CasePlace, anchor, case_list
from pytest_extract.report.html.comparison import broken_fields, comparison_section
from pytest_extract.report.html.markup import Markup, Part, bullet_list, element, join, preformatted
from pytest_extract.report.html.overview import MOST_PATTERNS as MOST_ROWS
from pytest_extract.report.html.overview import arms_section, fields_section, overview_section
from pytest_extract.report.lines import line, plural, shorten
from pytest_extract.report.run_report import Headline, RunReport, headline
from pytest_extract.report.summary import wrapped_lines
from pytest_extract.report.totals import PatternCounts, worst_patterns

_ICONS: Final = {"good": "✓", "bad": "✗", "warn": "!"}
_COLOURS: Final = {"good": "#1a7f37", "bad": "#c62828", "warn": "#9a6700"}
_MOST_MISTAKES: Final = 50
_MESSAGE: Final = 1_000
_SENTENCE: Final = 300
_MOST_REASONS: Final = 20
_SECTIONS: Final = {
    "mistakes": "Mistakes in case files",
    "compared": "What changed",
    "fields": "Fields",
    "arms": "Models, prompts and revisions",
    "more": "Repeats",
    "cases": "Cases",
}


def page(run: RunReport) -> str:
    """Write a run as HTML, with failures first and open.

    The page loads nothing, can be read without its script, and allows no other script. Text of documents and models
    is escaped. Long values, long lists and many cases are cut, with a note.
    """
    head = headline(run)
    return f"<!doctype html>\n{element('html', _page_head(head), _page_body(run, head), lang='en')}\n"


def _page_head(head: Headline) -> Markup:
    style, script = _page_asset("page.css"), _page_asset("page.js")
    policy = (
        f"default-src 'none'; style-src '{_csp_digest(style)}'; script-src '{_csp_digest(script)}'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )
    return element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", http_equiv="Content-Security-Policy", content=policy),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="color-scheme", content="light dark"),
        element("meta", name="referrer", content="no-referrer"),
        element("title", f"{_ICONS[head.tone]} {_sentence(head)}"),
        element("link", rel="icon", href=_icon(head)),
        element("style", style),
        element("script", script, type="module"),
    )


def _page_asset(name: str) -> Markup:
    return Markup((resources.files("pytest_extract.report.html") / name).read_text(encoding="utf-8"))


def _csp_digest(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


def _icon(head: Headline) -> str:
    drawn = (
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16">'
        f'<circle cx="8" cy="8" r="8" fill="{_COLOURS[head.tone]}"/></svg>'
    )
    return f"data:image/svg+xml;base64,{base64.b64encode(drawn.encode()).decode()}"


def _sentence(head: Headline) -> str:
    return f"{head.word}: {shorten(head.text, _SENTENCE)}" if head.text else head.word


def _page_body(run: RunReport, head: Headline) -> Markup:
    totals = run.totals
    arms, found = sorted(totals.arms), totals.fields
    bad = worst_patterns(found)
    places, targets = _case_places(run, arms, bad)
    cases = case_list(run.results, places, arms)
    sections = {
        "mistakes": _mistakes(run.mistakes),
        "compared": comparison_section(run.judged, targets),
        "fields": fields_section(bad, found, arms),
        "arms": arms_section(totals.arms),
        "more": _more(run),
        "cases": cases.markup,
    }
    there = [name for name, section in sections.items() if section is not None]
    return element(
        "body",
        element("a", "Skip to the cases", href="#cases", class_="skip"),
        _header(head),
        element("nav", *(element("a", _SECTIONS[name], href=f"#{name}") for name in there), aria_label="Sections"),
        element("main", overview_section(run), *sections.values()),
        _footer(run, cases.limits),
    )


def _case_places(
    run: RunReport, arms: Sequence[str], bad: Sequence[tuple[str, PatternCounts]]
) -> tuple[dict[str, CasePlace], dict[CaseKey, str]]:
    """Return the place of each case on the page by node id, and its anchor by the key of a snapshot."""
    numbers = {arm: index for index, arm in enumerate(arms)}
    worse = broken_fields(run.judged)
    rows: dict[str, list[int]] = {}
    for index, (_name, tally) in enumerate(bad[:MOST_ROWS]):
        for nodeid in tally.cases:
            rows.setdefault(nodeid, []).append(index)
    places: dict[str, CasePlace] = {}
    targets: dict[CaseKey, str] = {}
    for result in run.results:
        key = case_key(result)
        targets[key] = anchor(result)
        places[result.nodeid] = CasePlace(
            anchor=targets[key],
            arm=numbers[result.arm.label],
            rows=rows.get(result.nodeid, ()),
            worse=worse.get(key, {}),
        )
    return places, targets


def _header(head: Headline) -> Markup:
    icon = element("span", _ICONS[head.tone], class_="icon", aria_hidden="true")
    title = element(
        "h1", icon, element("span", element("strong", head.word), element("span", shorten(head.text, _SENTENCE)))
    )
    return element(
        "header", title, bullet_list(head.reasons, most=_MOST_REASONS, longest=_SENTENCE), class_=f"verdict {head.tone}"
    )


def _mistakes(mistakes: Sequence[str]) -> Markup | None:
    if not mistakes:
        return None
    rows = [line(shorten(each, _MESSAGE)) for text in mistakes[:_MOST_MISTAKES] for each in text.splitlines()]
    left = len(mistakes) - _MOST_MISTAKES
    return element(
        "section",
        element("h2", _SECTIONS["mistakes"], id="mistakes-title"),
        element("p", "These cases are in no number below: their files could not be read."),
        preformatted([*rows, line(f"… and {plural(left, 'more file')}")] if left > 0 else rows),
        id="mistakes",
        aria_labelledby="mistakes-title",
    )


def _more(run: RunReport) -> Markup | None:
    """Write what the repeats show, and further notes of the run."""
    repeated = run.totals.repeated
    lines = [*(repeat_lines(run.results) if repeated else ()), *wrapped_lines(run.totals.wrapped), *run.lines]
    if not lines:
        return None
    return element(
        "section",
        element("h2", _SECTIONS["more"] if repeated else "Notes", id="more-title"),
        preformatted(lines),
        id="more",
        aria_labelledby="more-title",
    )


def _footer(run: RunReport, limits: Sequence[str]) -> Markup:
    parts: list[Part] = [shorten(run.written, _SENTENCE) or None, "Everything, uncut: --extract-results=FILE.jsonl."]
    cut = [f"Cut: {limit}." for limit in limits]
    return element("footer", join(element("p", part) for part in (*parts, *cut) if part))
