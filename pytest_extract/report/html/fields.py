"""The table of field patterns: which fields fail, how often, how, in which cases, and on which arm."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from pytest_extract.report.findings import FAILING
from pytest_extract.report.html.arms import NO_ARM
from pytest_extract.report.html.markup import Markup, Part, element, joined, share_bar
from pytest_extract.report.lines import plural, shorten
from pytest_extract.report.pattern_counts import PatternCounts, total_of, wrong_of
from pytest_extract.report.values import percent

MOST: Final = 200
"""Rows of the table; further patterns are counted."""
_MOST_ARMS: Final = 6
_LONGEST: Final = 200


def fields_section(
    bad: Sequence[tuple[str, PatternCounts]], found: Mapping[str, PatternCounts], arms: Sequence[str]
) -> Markup | None:
    """Write the patterns that failed (worst first), and count the others; None where no field was compared."""
    if not found:
        return None
    parts: list[Part] = [element("h2", "Fields", id="fields-title")]
    if bad:
        parts.append(element("p", "Worst first: by what they lose in score over all cases.", class_="dim"))
        parts.append(_table(bad[:MOST], arms if 1 < len(arms) <= _MOST_ARMS else ()))
    left, fine = len(bad) - MOST, len(found) - len(bad)
    if left > 0:
        parts.append(element("p", f"{plural(left, 'more field')} failed; the results file has them.", class_="dim"))
    if fine:
        parts.append(_fine([name for name in found if not found[name].wrong]))
    return element("section", *parts, id="fields", aria_labelledby="fields-title")


def _fine(names: Sequence[str]) -> Markup:
    shown = joined((element("code", shorten(name, _LONGEST)) for name in names[:MOST]), ", ")
    more = f" and {plural(len(names) - MOST, 'more field')}" if len(names) > MOST else None
    count = plural(len(names), "field has no failure", "fields have no failure")
    return element("details", element("summary", count), element("p", shown, more, class_="names"))


def _table(rows: Sequence[tuple[str, PatternCounts]], arms: Sequence[str]) -> Markup:
    head = element(
        "tr",
        element("th", "field", scope="col"),
        *(element("th", name, scope="col", class_="num") for name in ("wrong", "share", "cases")),
        element("th", "how", scope="col"),
        *(element("th", shorten(arm, 40) or NO_ARM, scope="col", class_="num") for arm in arms),
    )
    body = joined(_row(index, name, tally, arms) for index, (name, tally) in enumerate(rows))
    table = element("table", element("thead", head), element("tbody", body))
    return element("div", table, class_="scroll", tabindex=0, role="region", aria_label="Fields, worst first")


def _row(index: int, name: str, tally: PatternCounts, arms: Sequence[str]) -> Markup:
    share = tally.wrong / tally.total
    how = ", ".join(f"{count:,} {status}" for status, count in tally.statuses.most_common() if status in FAILING)
    link = element("a", plural(len(tally.cases), "case"), href="#cases", data_field=index)
    return element(
        "tr",
        element("th", element("code", shorten(name, _LONGEST)), scope="row"),
        element("td", f"{tally.wrong:,} of {tally.total:,}", class_="num"),
        element("td", f"{percent(share)} ", share_bar(share, "bad"), class_="num"),
        element("td", link, class_="num"),
        element("td", how),
        *(element("td", _of_arm(tally, arm), class_="num") for arm in arms),
    )


def _of_arm(tally: PatternCounts, arm: str) -> str:
    statuses: Mapping[str, int] = tally.arms.get(arm, {})
    total = total_of(statuses)
    return percent(wrong_of(statuses) / total) if total else "-"
