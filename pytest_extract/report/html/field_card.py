"""One field as an HTML card: path, status, values side by side, notes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from pytest_extract.core.results import FieldResult, Status
from pytest_extract.core.values import MISSING
from pytest_extract.regression.changes import FieldChange
from pytest_extract.report.diff import SEEN
from pytest_extract.report.findings import Finding, metric_label
from pytest_extract.report.html.markup import Markup, Part, element, join, styled
from pytest_extract.report.lines import Line, Span, number_text, shorten
from pytest_extract.report.value_diff import (
    SideBySide,
    container_difference,
    look_alike_text,
    side_by_side,
    value_difference,
)
from pytest_extract.report.values import show

VALUE_WIDTH: Final = 400
"""Characters shown of a value."""
_LONGEST_NAME: Final = 300
_MOST_INNER_CHANGES: Final = 5
"""Differences listed inside two lists or objects without declared fields."""


class CardValue(NamedTuple):
    """A value of a card with its label."""

    label: str
    text: Line
    tone: str
    missing: bool = False


def field_card(path: str, chips: Sequence[Part], values: Sequence[CardValue], notes: Sequence[Part] = ()) -> Markup:
    """Write a field as an item of a list."""
    head = element("div", element("code", shorten(path, _LONGEST_NAME), class_="path"), *chips, class_="fh")
    listed = element("dl", *map(_value, values)) if values else None
    return element("li", head, listed, *(element("p", note, class_="note") for note in notes), class_="f")


def _value(value: CardValue) -> Markup:
    content = "missing" if value.missing else styled(value.text)
    name = "v missing" if value.missing else f"v {value.tone}"
    return element("div", element("dt", value.label), element("dd", element("bdi", content), class_=name))


def chip(text: str, tone: str = "") -> Markup:
    """Write a short word as a label."""
    return element("span", shorten(text, _LONGEST_NAME), class_=f"chip {tone}".rstrip())


def finding_card(finding: Finding, *, was_right: bool = False) -> Markup:
    """Write a failing comparison; `was_right`: in the baseline."""
    item = finding.result
    chips: list[Part] = [chip(item.status, "warn" if item.status is Status.JUDGE_ERROR else "bad")]
    if was_right:
        chips.append(chip("right in the baseline", "bad"))
    chips.append(element("span", shorten(metric_label(item), _LONGEST_NAME), class_="metric"))
    if 0 < item.score < 1:
        chips.append(element("span", f"score {number_text(item.score)}", class_="metric"))
    if item.confidence is not None:
        chips.append(element("span", f"confidence {number_text(item.confidence)}", class_="metric"))
    both = side_by_side(item.gold, item.extracted, VALUE_WIDTH)
    return field_card(str(item.path), chips, _card_values(item, both), _card_notes(finding, both))


def _card_values(item: FieldResult, both: SideBySide) -> list[CardValue]:
    if item.metric == "order":
        return []
    return [
        CardValue("gold", both.gold, "good", item.gold is MISSING),
        CardValue("extracted", both.extracted, "bad", item.extracted is MISSING),
    ]


def _card_notes(finding: Finding, both: SideBySide) -> list[Part]:
    item = finding.result
    notes: list[Part] = [finding.note or None]
    if item.status in {Status.MISMATCH, Status.JUDGE_ERROR}:
        shown = item.reason is not None and not item.reason.startswith((SEEN, "values differ"))
        notes.append(shorten(item.reason or "", VALUE_WIDTH) if shown else _unmarked_difference(item, both))
        if isinstance(item.gold, dict | list) and isinstance(item.extracted, dict | list) and item.metric != "order":
            notes.append(
                styled(container_difference(item.gold, item.extracted, VALUE_WIDTH, limit=_MOST_INNER_CHANGES))
            )
    if item.matched and item.matched != item.path:
        verb = "stands at" if item.status is Status.HALLUCINATION else "matched with"
        notes.append(join([f"{verb} ", element("code", shorten(str(item.matched), _LONGEST_NAME))]))
    return [note for note in notes if note]


def _unmarked_difference(item: FieldResult, both: SideBySide) -> Part:
    """Describe a difference that no mark shows: the error of a number, other types, dissimilar texts."""
    if not (isinstance(item.gold, str) and isinstance(item.extracted, str)):
        return styled(value_difference(item.gold, item.extracted, VALUE_WIDTH))
    if both.marked:
        return look_alike_text(item.gold, item.extracted) or None
    return item.reason


def change_card(change: FieldChange, name: str, target: str | None, rate: str) -> Markup:
    """Write a changed field: its case (a link if `target` is on the page), gold, and the values before and now."""
    case = element("a", name, href=f"#{target}") if target else element("span", name)
    chips: list[Part] = [element("span", "in ", case, class_="metric")]
    if rate:
        chips.append(element("span", rate, class_="metric"))
    if change.path.startswith("("):
        return field_card(change.path, chips, [])
    now = side_by_side(change.gold, change.value_after, VALUE_WIDTH)
    values = [
        CardValue("gold", now.gold, "good", change.gold is MISSING),
        CardValue("before", (Span(show(change.value_before, VALUE_WIDTH)),), "", change.value_before is MISSING),
        CardValue("now", now.extracted, "bad", change.value_after is MISSING),
    ]
    return field_card(change.path, chips, values)
