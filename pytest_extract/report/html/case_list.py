"""The list of cases: what is not green first and open, a filter above it, and its size bounded."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from pytest_extract.core.case_result import CaseResult, Outcome
from pytest_extract.report.html.arms import ICONS, MOST_ARMS, NO_ARM, ORDER, word_of
from pytest_extract.report.html.cases import LONGEST, CasePlace, case_body, case_item
from pytest_extract.report.html.markup import Markup, Part, element, joined
from pytest_extract.report.lines import plural, shorten
from pytest_extract.report.pattern_counts import case_means

MOST_CASES: Final = 20_000
"""Cases on the page; further ones are counted."""
AT_ONCE: Final = 200
"""Cases in view. Browsers take seconds, some minutes, to lay out or to hide ten thousand at once."""
ROOM: Final = 8_000_000
"""Characters for what unfolds below all cases together; when they are used up, a case is a line that says so."""
MOST_OPEN: Final = 100
"""Cases that are open at first."""
_LEFT_OUT: Final = "The page is full: this case's fields are left out. The results file has them."
_OPEN: Final = frozenset({Outcome.FAILED, Outcome.BROKEN})


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """The list, and what was left out of it."""

    markup: Markup
    limits: tuple[str, ...]


def listing(results: Sequence[CaseResult], places: Mapping[str, CasePlace], arms: Sequence[str]) -> Listing:
    """Write the section of the cases; `places` by node id."""
    ordered = _ordered(results, places)
    shown = ordered[:MOST_CASES]
    items, bodies = _items((results[row.position] for row in shown), places)
    limits = []
    if len(ordered) > len(shown):
        limits.append(f"{len(shown):,} of {plural(len(ordered), 'case')} are on this page, what is not green first")
    if bodies < len(shown):
        limits.append(
            f"{bodies:,} of {plural(len(shown), 'case')} unfold; there is no room for the fields of the others"
        )
    section = element(
        "section",
        element("h2", "Cases", id="cases-title"),
        _tools(shown, arms),
        element("p", *(f"{limit}. " for limit in limits), "The results file has everything.", class_="limit")
        if limits
        else None,
        element("ol", *items[:AT_ONCE], class_="cases", role="list", id="list"),
        *_chunks(items),
        element("p", "No case matches the filter.", id="none", hidden=True),
        element("button", "", type="button", id="more", hidden=True),
        id="cases",
        tabindex=-1,
        aria_labelledby="cases-title",
    )
    return Listing(markup=section, limits=tuple(limits))


class _Row(NamedTuple):
    """What orders and counts a case in the list; the case itself is read again when it is written."""

    outcome: int
    worse: int
    rate: float
    name: list[str | int]
    position: int


def _ordered(results: Iterable[CaseResult], places: Mapping[str, CasePlace]) -> list[_Row]:
    """Sort by outcome; then what got worse against the baseline, then the lowest pass rate, first; else by name."""
    return sorted(
        _Row(
            outcome=ORDER.index(result.outcome),
            worse=-len(places[result.nodeid].worse),
            rate=case_means(result, ["pass_rate"]).get("pass_rate", 0.0),
            name=_natural(result.nodeid),
            position=position,
        )
        for position, result in enumerate(results)
    )


def _natural(name: str) -> list[str | int]:
    """Cut a name so that case-2 stands before case-10; texts and numbers alternate, so that any two compare."""
    parts = re.split(r"([0-9]{1,18})", name)
    return [int(part) if index % 2 else part for index, part in enumerate(parts)]


def _items(shown: Iterable[CaseResult], places: Mapping[str, CasePlace]) -> tuple[list[Markup], int]:
    """Return the items, and how many of them unfold."""
    items: list[Markup] = []
    room, bodies, opened = ROOM, 0, 0
    for result in shown:
        place = places[result.nodeid]
        body: Part = case_body(result, place) if room > 0 else element("p", _LEFT_OUT)
        bodies += room > 0
        open_ = room > 0 and opened < MOST_OPEN and result.outcome in _OPEN
        opened += open_
        room -= len(body or "")
        items.append(case_item(result, place, body, opened=open_))
    return items, bodies


def _chunks(items: Sequence[Markup]) -> Iterator[Markup]:
    """Fold the cases that are too many to be in view; the script shows them by the filter instead."""
    for start in range(AT_ONCE, len(items), AT_ONCE):
        chunk = items[start : start + AT_ONCE]
        name = element("summary", f"Cases {start + 1:,} to {start + len(chunk):,}")
        yield element("details", name, element("ol", *chunk, class_="cases", role="list"), class_="chunk")


def _tools(rows: Sequence[_Row], arms: Sequence[str]) -> Markup:
    """Write the filter; it comes to life with the script, and is not there without it."""
    counts = Counter(ORDER[row.outcome] for row in rows)
    boxes = [_box("outcome", str(one), ICONS[one], word_of(one), counts[one]) for one in ORDER if counts[one]]
    worse = sum(row.worse < 0 for row in rows)
    if worse:
        boxes.append(_box("worse", "worse", "↓", "only what got worse", worse, checked=False))
    find = element("input", type="search", id="find", placeholder="name, field, value, reason", autocomplete="off")
    return element(
        "form",
        element("label", element("span", "Find"), find, class_="find"),
        element("fieldset", element("legend", "Outcome"), *boxes),
        _choice(arms) if len(arms) > 1 else None,
        element("button", "", type="button", id="only", hidden=True),
        element("button", "Open all", type="button", id="fold"),
        element("button", "Reset", type="button", id="all"),
        element("output", plural(len(rows), "case"), id="shown", aria_live="polite", for_="find"),
        element("p", "In the list: ↓ or j next case, ↑ or k previous, / to the filter.", class_="keys"),
        id="tools",
        class_="tools",
        role="search",
        aria_label="Filter the cases",
        hidden=True,
    )


def _box(name: str, value: str, icon: str, text: str, count: int, *, checked: bool = True) -> Markup:
    box = element("input", type="checkbox", name=name, value=value, checked=checked)
    return element("label", box, element("span", icon, aria_hidden="true"), f" {text} ({count:,})", class_=value)


def _choice(arms: Sequence[str]) -> Markup:
    options: Iterator[Markup] = (
        element("option", shorten(arm, LONGEST) or NO_ARM, value=index) for index, arm in enumerate(arms[:MOST_ARMS])
    )
    select = element("select", element("option", "all", value=""), joined(options), id="arm")
    return element("label", element("span", "Arm"), select)
