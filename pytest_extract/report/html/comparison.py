"""A comparison with a baseline or between arms: the verdict and why, what broke, what was fixed, what stands alone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from pytest_extract.core.case_result import CaseResult
from pytest_extract.regression.changes import ArmComparison, CaseComparison, Change, FieldChange, PatternComparison
from pytest_extract.regression.gate import Answer, GateDecision
from pytest_extract.report.gate import effect_lines, p_text
from pytest_extract.report.html.anchors import Places
from pytest_extract.report.html.field import change_card
from pytest_extract.report.html.markup import Markup, Part, block, element, joined
from pytest_extract.report.lines import plural, shorten
from pytest_extract.report.values import percent

MOST: Final = 100
"""Rows of each table and list; further ones are counted."""
_AT_ONCE: Final = 12
"""Changed fields in view; the others unfold."""
_LONGEST: Final = 200
_TONES: Final = {Answer.WORSE: "bad", Answer.NOT_WORSE: "good", Answer.CANNOT_TELL: "warn"}
_ROW_TONES: Final = {Change.BROKEN: "bad", Change.FIXED: "good"}
_APART: Final = (Change.LOST, Change.INCOMPARABLE, Change.NEW, Change.GONE)


def broken_fields(judged: GateDecision | None) -> Mapping[tuple[str, str], Mapping[str, FieldChange]]:
    """Map (case, arm) to its fields that were right before and are wrong now, by path."""
    found: dict[tuple[str, str], dict[str, FieldChange]] = {}
    for arm in judged.comparison.arms if judged is not None else ():
        for change in arm.fields:
            if change.kind is Change.BROKEN:
                found.setdefault((change.case, arm.after), {})[change.path] = change
    return found


def case_key(result: CaseResult) -> tuple[str, str]:
    """Return what a comparison calls a case and its arm."""
    return f"{result.file}::{result.case_id}", result.arm.label


def compared_section(judged: GateDecision | None, places: Places) -> Markup | None:
    """Write a comparison, what got worse first; None where there is none."""
    if judged is None:
        return None
    return element(
        "section",
        element("h2", "What changed", id="compared-title"),
        _reasons(judged),
        *(_arm(arm, judged, places) for arm in judged.comparison.arms),
        id="compared",
        aria_labelledby="compared-title",
    )


def _reasons(verdict: GateDecision) -> Markup:
    answer = element("strong", str(verdict.answer), class_=_TONES[verdict.answer])
    listed = [
        *verdict.reasons[:MOST],
        *([f"… and {len(verdict.reasons) - MOST:,} more"] if len(verdict.reasons) > MOST else []),
    ]
    notes = [f"Note: {note}" for note in verdict.notes]
    return element("div", element("p", "Regression gate: ", answer), _listed(listed), _listed(notes), class_="reasons")


def _listed(texts: Sequence[str]) -> Markup | None:
    return element("ul", *(element("li", shorten(text, 1_000)) for text in texts)) if texts else None


def _arm(arm: ArmComparison, verdict: GateDecision, places: Places) -> Markup:
    pairs = plural(sum(row.fields for row in arm.compared), "field")
    title = f"{plural(len(arm.compared), 'case')}, {pairs} compared"
    effects = [line for effect in verdict.effects if effect.arm == arm.label for line in effect_lines(effect, verdict)]
    return joined(
        [
            element("h3", f"{shorten(arm.label, _LONGEST)}: {title}" if arm.label else title),
            block([line[1:] for line in effects]) if effects else None,  # without their indent
            _patterns(arm, verdict),
            *(_changes(arm, kind, places) for kind in (Change.BROKEN, Change.FIXED, Change.SHIFTED)),
            *(_apart(arm.of_kind(kind), kind) for kind in _APART),
        ]
    )


def _patterns(arm: ArmComparison, verdict: GateDecision) -> Markup | None:
    moved = [row for row in arm.patterns if row.kind is not Change.UNCHANGED]
    if not moved:
        return None
    tests = {test.pattern: test.adjusted for test in verdict.tests if test.arm == arm.label}
    heads = ("fields", "before", "now", "fixed", "broken", "p")
    head = element(
        "tr",
        *(element("th", name, scope="col") for name in ("field", "change")),
        *(element("th", name, scope="col", class_="num") for name in heads),
    )
    rows = joined(_pattern(row, tests.get(row.pattern)) for row in moved[:MOST])
    table = element("table", element("thead", head), element("tbody", rows))
    left, still = len(moved) - MOST, len(arm.patterns) - len(moved)
    told = [plural(left, "more changed field")] if left > 0 else []
    told += [f"{plural(still, 'field')} unchanged"] if still else []
    return joined(
        [
            element("div", table, class_="scroll", tabindex=0, role="region", aria_label="Changed fields"),
            element("p", ", ".join(told), class_="dim") if told else None,
        ]
    )


def _pattern(row: PatternComparison, adjusted: float | None) -> Markup:
    cells = ["", "", "", "", "", ""]
    if row.fields:
        cells = [f"{row.fields:,}", percent(row.before), percent(row.after), f"{row.fixed:,}", f"{row.broken:,}"]
        cells.append("" if adjusted is None else p_text(adjusted))
    return element(
        "tr",
        element("th", element("code", shorten(row.pattern, _LONGEST)), scope="row"),
        element("td", str(row.kind), class_=_ROW_TONES.get(row.kind)),
        *(element("td", cell, class_="num") for cell in cells),
    )


def _changes(arm: ArmComparison, kind: Change, places: Places) -> Markup | None:
    changes = [change for change in arm.fields if change.kind is kind]
    if not changes:
        return None
    cards = list(_cards(changes[:MOST], arm.after, places))
    rest = _list(cards[_AT_ONCE:])
    folded = element("details", element("summary", f"{len(cards) - _AT_ONCE:,} more"), rest) if rest else None
    left = len(changes) - MOST
    more = element("p", f"… and {plural(left, 'more field')}; the cases have them.", class_="dim") if left > 0 else None
    name = element("summary", element("h4", f"{plural(len(changes), 'field')} {kind}"))
    parts = (name, _list(cards[:_AT_ONCE]), folded, more)
    return element("details", *parts, open=kind is Change.BROKEN, class_="changes")


def _list(cards: Sequence[Part]) -> Markup | None:
    return element("ul", *cards, class_="fields", role="list") if cards else None


def _cards(changes: Sequence[FieldChange], arm: str, places: Places) -> Iterator[Part]:
    for change in changes:
        plain = change.before.denominator == change.after.denominator == 1
        rate = "" if plain else f"{percent(float(change.before))} → {percent(float(change.after))} of the runs"
        name = change.case.rpartition("::")[2] or change.case
        yield change_card(change, shorten(name, _LONGEST), places.get((change.case, arm)), rate)


def _apart(rows: Sequence[CaseComparison], kind: Change) -> Markup | None:
    if not rows:
        return None
    told = [f"{row.case}: {row.why}" if row.why else row.case for row in rows[:MOST]]
    told += [f"… and {plural(len(rows) - MOST, 'more case')}"] if len(rows) > MOST else []
    return element("details", element("summary", element("h4", f"{plural(len(rows), 'case')} {kind}")), _listed(told))
