"""One field as HTML: its path, what is wrong with it, and its values side by side."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from pytest_extract.core.results import FieldResult, Status
from pytest_extract.core.values import MISSING
from pytest_extract.regression.changes import FieldChange
from pytest_extract.report.diff import SEEN
from pytest_extract.report.findings import Finding, metric_label
from pytest_extract.report.html.markup import Markup, Part, element, joined, styled
from pytest_extract.report.lines import Line, Span, number, shorten
from pytest_extract.report.nested_diff import object_lines
from pytest_extract.report.side_by_side import SideBySide, side_by_side
from pytest_extract.report.texts import look_alike
from pytest_extract.report.values import difference, show

WIDTH: Final = 400
"""Characters of a value; more are counted, and stand in the results file."""
_LONGEST_NAME: Final = 300
_CHANGES: Final = 5
"""Differences told inside two values that have no declared fields."""


class Value(NamedTuple):
    """A value under its name; `missing` ones are told as such."""

    label: str
    told: Line
    tone: str
    missing: bool = False


def card(path: str, chips: Sequence[Part], values: Sequence[Value], notes: Sequence[Part] = ()) -> Markup:
    """Write a field as an item of a list."""
    head = element("div", element("code", shorten(path, _LONGEST_NAME), class_="path"), *chips, class_="fh")
    told = element("dl", *map(_value, values)) if values else None
    return element("li", head, told, *(element("p", note, class_="note") for note in notes), class_="f")


def _value(value: Value) -> Markup:
    content = "missing" if value.missing else styled(value.told)
    name = "v missing" if value.missing else f"v {value.tone}"
    return element("div", element("dt", value.label), element("dd", element("bdi", content), class_=name))


def chip(text: str, tone: str = "") -> Markup:
    """Write a short word in a frame."""
    return element("span", shorten(text, _LONGEST_NAME), class_=f"chip {tone}".rstrip())


def finding_card(finding: Finding, *, was_right: bool = False) -> Markup:
    """Write a failing comparison; `was_right`: in the baseline."""
    item = finding.result
    chips: list[Part] = [chip(item.status, "warn" if item.status is Status.JUDGE_ERROR else "bad")]
    if was_right:
        chips.append(chip("right in the baseline", "bad"))
    chips.append(element("span", shorten(metric_label(item), _LONGEST_NAME), class_="metric"))
    if 0 < item.score < 1:
        chips.append(element("span", f"score {number(item.score)}", class_="metric"))
    both = side_by_side(item.gold, item.extracted, WIDTH)
    return card(str(item.path), chips, _values(item, both), _notes(finding, both))


def _values(item: FieldResult, both: SideBySide) -> list[Value]:
    if item.metric == "order":
        return []
    return [
        Value("gold", both.gold, "good", item.gold is MISSING),
        Value("extracted", both.extracted, "bad", item.extracted is MISSING),
    ]


def _notes(finding: Finding, both: SideBySide) -> list[Part]:
    item = finding.result
    notes: list[Part] = [finding.note or None]
    if item.status in {Status.MISMATCH, Status.JUDGE_ERROR}:
        told = item.reason is not None and not item.reason.startswith((SEEN, "values differ"))
        notes.append(shorten(item.reason or "", WIDTH) if told else _difference(item, both))
        if isinstance(item.gold, dict | list) and isinstance(item.extracted, dict | list) and item.metric != "order":
            notes.append(styled(object_lines(item.gold, item.extracted, WIDTH, limit=_CHANGES)))
    if item.matched and item.matched != item.path:
        verb = "stands at" if item.status is Status.HALLUCINATION else "matched with"
        notes.append(joined([f"{verb} ", element("code", shorten(str(item.matched), _LONGEST_NAME))]))
    return [note for note in notes if note]


def _difference(item: FieldResult, both: SideBySide) -> Part:
    """Say what no mark in the two values shows: how far off a number is, that types or whole texts differ."""
    if not (isinstance(item.gold, str) and isinstance(item.extracted, str)):
        return styled(difference(item.gold, item.extracted, WIDTH))
    if both.marked:
        return look_alike(item.gold, item.extracted) or None
    return item.reason


def change_card(change: FieldChange, name: str, target: str | None, rate: str) -> Markup:
    """Write a field whose verdict changed: its case (a link where that is on the page), and gold, before and now."""
    case = element("a", name, href=f"#{target}") if target else element("span", name)
    chips: list[Part] = [element("span", "in ", case, class_="metric")]
    if rate:
        chips.append(element("span", rate, class_="metric"))
    if change.path.startswith("("):
        return card(change.path, chips, [])
    now = side_by_side(change.gold, change.value_after, WIDTH)
    values = [
        Value("gold", now.gold, "good", change.gold is MISSING),
        Value("before", (Span(show(change.value_before, WIDTH)),), "", change.value_before is MISSING),
        Value("now", now.extracted, "bad", change.value_after is MISSING),
    ]
    return card(change.path, chips, values)
