"""The overview: how many cases came out how, what they measure and cost; and the same for each arm."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from pytest_extract.core.case_result import Outcome
from pytest_extract.report.html.markup import Markup, Part, block, element, joined
from pytest_extract.report.lines import number, plural, shorten
from pytest_extract.report.pattern_counts import MEASURES
from pytest_extract.report.run_report import RunReport
from pytest_extract.report.summary import failure_lines
from pytest_extract.report.totals import ArmTotals, RunTotals

MOST_ARMS: Final = 50
"""Arms with a row in the table and a place in the filter; further ones are counted."""
ORDER: Final = (Outcome.FAILED, Outcome.BROKEN, Outcome.NOT_RUN, Outcome.PASSED)
"""Outcomes as the page lists them: what needs a look first."""
ICONS: Final = {Outcome.PASSED: "✓", Outcome.FAILED: "✗", Outcome.BROKEN: "!", Outcome.NOT_RUN: "○"}
NO_ARM: Final = "(no model)"


def word_of(outcome: Outcome) -> str:
    """Write an outcome."""
    return str(outcome).replace("_", " ")


def overview(run: RunReport) -> Markup:
    """Write the numbers of the whole run, and what kept outputs or cases from being scored."""
    totals = run.totals
    counts, means, fields = totals.outcomes, totals.means, totals.fields.values()
    wrong, total = sum(tally.wrong for tally in fields), sum(tally.total for tally in fields)
    tiles = [(word_of(outcome), f"{counts[outcome]:,}", str(outcome)) for outcome in ORDER if counts[outcome]]
    tiles += [(name, number(round(value, 4)), "") for name, value in means.items()]
    if total:
        tiles.append(("values wrong", f"{wrong:,} of {total:,}", ""))
    tiles += [(name, told, "") for name, told in (*_spent(totals), *_judged(run))]
    hindered = failure_lines(totals)
    return element(
        "section",
        element("h2", "Overview", id="overview-title", class_="hidden"),
        _bar(totals),
        element("dl", *(_tile(*tile) for tile in tiles), class_="tiles"),
        block(hindered) if hindered else None,
        id="overview",
        aria_labelledby="overview-title",
    )


def _tile(name: str, value: str, tone: str) -> Markup:
    return element("div", element("dt", name), element("dd", value), class_=tone or None)


def _spent(totals: RunTotals) -> list[tuple[str, str]]:
    spent = totals.spending
    told = []
    if spent.calls > spent.unpriced:
        told.append(("cost", spent.cost_text))
        if spent.unpriced:
            told.append(("without a known price", plural(spent.unpriced, "call")))
    if spent.prompt_tokens or spent.completion_tokens:
        told.append(("tokens in, out", f"{spent.prompt_tokens:,}, {spent.completion_tokens:,}"))
    if spent.recorded:
        told.append(("recorded earlier", plural(spent.recorded, "output")))
    slowest = totals.slowest[0][0] if totals.slowest else 0.0
    return [*told, ("slowest", f"{slowest:.1f} s")] if slowest >= 0.1 else told


def _judged(run: RunReport) -> list[tuple[str, str]]:
    if not run.judge.calls:
        return []
    return [("judge", plural(run.judge.calls, "call")), ("cost of the judge", run.judge.cost_text)]


def _bar(totals: RunTotals) -> Markup | None:
    """Draw the shares of the outcomes; the tiles below say them in words."""
    counts = totals.outcomes
    if not counts:
        return None
    rects: list[Part] = []
    at = 0.0
    for outcome in ORDER:
        share = 100 * counts[outcome] / totals.cases
        if share:
            rects.append(element("rect", x=f"{at:.2f}%", width=f"{share:.2f}%", height="100%", class_=str(outcome)))
        at += share
    return element("svg", *rects, class_="shares", aria_hidden="true")


def arms_section(arms: Mapping[str, ArmTotals]) -> Markup | None:
    """Write a row for each arm; None where there is only one."""
    if len(arms) < 2:
        return None
    heads = ("cases", *(word_of(outcome) for outcome in ORDER), *MEASURES, "cost")
    head = element("tr", element("th", "arm", scope="col"), *(_head(name) for name in heads))
    rows = joined(_row(label, arm) for label, arm in sorted(arms.items())[:MOST_ARMS])
    table = element("table", element("thead", head), element("tbody", rows))
    left = len(arms) - MOST_ARMS
    return element(
        "section",
        element("h2", "Models, prompts and revisions", id="arms-title"),
        element("div", table, class_="scroll", tabindex=0, role="region", aria_label="Arms"),
        element("p", f"{plural(left, 'more arm')} left out.", class_="dim") if left > 0 else None,
        id="arms",
        aria_labelledby="arms-title",
    )


def _head(name: str) -> Markup:
    return element("th", name, scope="col", class_="num")


def _row(label: str, arm: ArmTotals) -> Markup:
    counts, means = arm.outcomes, arm.means
    cells = [f"{counts.total():,}", *(f"{counts[outcome]:,}" for outcome in ORDER)]
    cells += [number(round(means[name], 4)) if name in means else "-" for name in MEASURES]
    cells.append(arm.spending.cost_text)
    name = shorten(label, 120) or NO_ARM
    return element("tr", element("th", name, scope="row"), *(element("td", cell, class_="num") for cell in cells))
