"""The overview of a run as HTML: totals, a table of field patterns, a table of arms."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from pytest_extract.core.case_result import Outcome
from pytest_extract.report.auto_accept import auto_accept_lines
from pytest_extract.report.findings import FAILED
from pytest_extract.report.html.markup import Markup, Part, element, join, preformatted, share_bar
from pytest_extract.report.lines import number_text, percent, plural, shorten
from pytest_extract.report.run_report import RunReport
from pytest_extract.report.summary import failure_lines
from pytest_extract.report.totals import MEASURES, ArmTotals, PatternCounts, RunTotals, counted_total, wrong_count

MOST_ARMS: Final = 50
_LINE_WIDTH: Final = 400
"""Arms in the table and the filter; further ones are counted."""
ORDER: Final = (Outcome.FAILED, Outcome.BROKEN, Outcome.NOT_RUN, Outcome.PASSED)
"""Outcomes in the order of the page."""
ICONS: Final = {Outcome.PASSED: "✓", Outcome.FAILED: "✗", Outcome.BROKEN: "!", Outcome.NOT_RUN: "○"}
NO_ARM: Final = "(no model)"


def outcome_text(outcome: Outcome) -> str:
    """Write an outcome."""
    return str(outcome).replace("_", " ")


def overview_section(run: RunReport) -> Markup:
    """Write the totals of the run, and why outputs or cases were not scored."""
    totals = run.totals
    counts, means, fields = totals.outcomes, totals.means, totals.fields.values()
    wrong, total = sum(tally.wrong for tally in fields), sum(tally.total for tally in fields)
    tiles = [(outcome_text(outcome), f"{counts[outcome]:,}", str(outcome)) for outcome in ORDER if counts[outcome]]
    tiles += [(name, number_text(round(value, 4)), "") for name, value in means.items()]
    if total:
        tiles.append(("values wrong", f"{wrong:,} of {total:,}", ""))
    tiles += [(name, text, "") for name, text in (*_spending_tiles(totals), *_judge_tiles(run))]
    hindered = [*failure_lines(totals), *auto_accept_lines(totals.auto_accept.decisions, width=_LINE_WIDTH)]
    return element(
        "section",
        element("h2", "Overview", id="overview-title", class_="hidden"),
        _outcome_bar(totals),
        element("dl", *(_tile(*tile) for tile in tiles), class_="tiles"),
        preformatted(hindered) if hindered else None,
        id="overview",
        aria_labelledby="overview-title",
    )


def _tile(name: str, value: str, tone: str) -> Markup:
    return element("div", element("dt", name), element("dd", value), class_=tone or None)


def _spending_tiles(totals: RunTotals) -> list[tuple[str, str]]:
    spent = totals.spending
    tiles = []
    if spent.calls > spent.unpriced:
        tiles.append(("cost", spent.cost_text))
        if spent.unpriced:
            tiles.append(("without a known price", plural(spent.unpriced, "call")))
    if spent.prompt_tokens or spent.completion_tokens:
        tiles.append(("tokens in, out", f"{spent.prompt_tokens:,}, {spent.completion_tokens:,}"))
    if spent.recorded:
        tiles.append(("recorded earlier", plural(spent.recorded, "output")))
    slowest = totals.slowest[0][0] if totals.slowest else 0.0
    return [*tiles, ("slowest", f"{slowest:.1f} s")] if slowest >= 0.1 else tiles


def _judge_tiles(run: RunReport) -> list[tuple[str, str]]:
    if not run.judge.calls:
        return []
    return [("judge", plural(run.judge.calls, "call")), ("cost of the judge", run.judge.cost_text)]


def _outcome_bar(totals: RunTotals) -> Markup | None:
    """Draw the shares of the outcomes as a bar."""
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
    """Write a row for each arm; None if there is only one."""
    if len(arms) < 2:
        return None
    heads = ("cases", *(outcome_text(outcome) for outcome in ORDER), *MEASURES, "cost")
    head = element("tr", element("th", "arm", scope="col"), *(_number_head(name) for name in heads))
    rows = join(_arm_row(label, arm) for label, arm in sorted(arms.items())[:MOST_ARMS])
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


def _number_head(name: str) -> Markup:
    return element("th", name, scope="col", class_="num")


def _arm_row(label: str, arm: ArmTotals) -> Markup:
    counts, means = arm.outcomes, arm.means
    cells = [f"{counts.total():,}", *(f"{counts[outcome]:,}" for outcome in ORDER)]
    cells += [number_text(round(means[name], 4)) if name in means else "-" for name in MEASURES]
    cells.append(arm.spending.cost_text)
    name = shorten(label, 120) or NO_ARM
    return element("tr", element("th", name, scope="row"), *(element("td", cell, class_="num") for cell in cells))


MOST_PATTERNS: Final = 200
"""Rows of the table; further patterns are counted."""
_MOST_ARM_COLUMNS: Final = 6
_LONGEST_PATTERN: Final = 200


def fields_section(
    bad: Sequence[tuple[str, PatternCounts]], found: Mapping[str, PatternCounts], arms: Sequence[str]
) -> Markup | None:
    """Write the field patterns that failed, worst first, and list the others; None if no field was compared."""
    if not found:
        return None
    parts: list[Part] = [element("h2", "Fields", id="fields-title")]
    if bad:
        parts.append(element("p", "Worst first: by what they lose in score over all cases.", class_="dim"))
        parts.append(_failing_fields_table(bad[:MOST_PATTERNS], arms if 1 < len(arms) <= _MOST_ARM_COLUMNS else ()))
    left, fine = len(bad) - MOST_PATTERNS, len(found) - len(bad)
    if left > 0:
        parts.append(element("p", f"{plural(left, 'more field')} failed; the results file has them.", class_="dim"))
    if fine:
        parts.append(_passing_fields([name for name in found if not found[name].wrong]))
    return element("section", *parts, id="fields", aria_labelledby="fields-title")


def _passing_fields(names: Sequence[str]) -> Markup:
    shown = join((element("code", shorten(name, _LONGEST_PATTERN)) for name in names[:MOST_PATTERNS]), ", ")
    more = f" and {plural(len(names) - MOST_PATTERNS, 'more field')}" if len(names) > MOST_PATTERNS else None
    count = plural(len(names), "field has no failure", "fields have no failure")
    return element("details", element("summary", count), element("p", shown, more, class_="names"))


def _failing_fields_table(rows: Sequence[tuple[str, PatternCounts]], arms: Sequence[str]) -> Markup:
    head = element(
        "tr",
        element("th", "field", scope="col"),
        *(element("th", name, scope="col", class_="num") for name in ("wrong", "share", "cases")),
        element("th", "how", scope="col"),
        *(element("th", shorten(arm, 40) or NO_ARM, scope="col", class_="num") for arm in arms),
    )
    body = join(_pattern_row(index, name, tally, arms) for index, (name, tally) in enumerate(rows))
    table = element("table", element("thead", head), element("tbody", body))
    return element("div", table, class_="scroll", tabindex=0, role="region", aria_label="Fields, worst first")


def _pattern_row(index: int, name: str, tally: PatternCounts, arms: Sequence[str]) -> Markup:
    share = tally.wrong / tally.total
    how = ", ".join(f"{count:,} {status}" for status, count in tally.statuses.most_common() if status in FAILED)
    link = element("a", plural(len(tally.cases), "case"), href="#cases", data_field=index)
    return element(
        "tr",
        element("th", element("code", shorten(name, _LONGEST_PATTERN)), scope="row"),
        element("td", f"{tally.wrong:,} of {tally.total:,}", class_="num"),
        element("td", f"{percent(share)} ", share_bar(share, "bad"), class_="num"),
        element("td", link, class_="num"),
        element("td", how),
        *(element("td", _arm_share(tally, arm), class_="num") for arm in arms),
    )


def _arm_share(tally: PatternCounts, arm: str) -> str:
    statuses: Mapping[str, int] = tally.arms.get(arm, {})
    total = counted_total(statuses)
    return percent(wrong_count(statuses) / total) if total else "-"
