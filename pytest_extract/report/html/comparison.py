"""A comparison with a baseline or between arms as HTML: decision, broken and fixed fields, uncompared cases."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from pytest_extract.regression.changes import ArmComparison, CaseComparison, Change, FieldChange, PatternComparison
from pytest_extract.regression.gate import Answer, GateDecision
from pytest_extract.regression.snapshots import CaseKey
from pytest_extract.report.gate import effect_lines, p_text
from pytest_extract.report.html.cases import Anchors
from pytest_extract.report.html.field_card import change_card
from pytest_extract.report.html.markup import Markup, Part, bullet_list, element, join, preformatted
from pytest_extract.report.lines import percent, plural, shorten

MOST: Final = 100
"""Rows of each table and list; further ones are counted."""
_AT_ONCE: Final = 12
"""Changed fields shown at first; the others unfold."""
_LONGEST: Final = 200
_TONES: Final = {Answer.WORSE: "bad", Answer.NOT_WORSE: "good", Answer.CANNOT_TELL: "warn"}
_ROW_TONES: Final = {Change.BROKEN: "bad", Change.FIXED: "good"}
_APART: Final = (Change.LOST, Change.INCOMPARABLE, Change.NEW, Change.GONE)


def broken_fields(judged: GateDecision | None) -> Mapping[CaseKey, Mapping[str, FieldChange]]:
    """Map each case to its fields that were right before and are wrong now, by path."""
    found: dict[CaseKey, dict[str, FieldChange]] = {}
    for arm in judged.comparison.arms if judged is not None else ():
        for change in arm.fields:
            if change.kind is Change.BROKEN:
                found.setdefault(CaseKey(change.case, arm.after), {})[change.path] = change
    return found


def comparison_section(judged: GateDecision | None, anchors: Anchors) -> Markup | None:
    """Write a comparison, with what got worse first; None if nothing was compared."""
    if judged is None:
        return None
    return element(
        "section",
        element("h2", "What changed", id="compared-title"),
        _decision_part(judged),
        *(_arm_part(arm, judged, anchors) for arm in judged.comparison.arms),
        id="compared",
        aria_labelledby="compared-title",
    )


def _decision_part(decision: GateDecision) -> Markup:
    answer = element("strong", str(decision.answer), class_=_TONES[decision.answer])
    notes = [f"Note: {note}" for note in decision.notes]
    lists = (bullet_list(texts, most=MOST, longest=1_000) for texts in (decision.reasons, notes))
    return element("div", element("p", "Regression gate: ", answer), *lists, class_="reasons")


def _arm_part(arm: ArmComparison, decision: GateDecision, anchors: Anchors) -> Markup:
    pairs = plural(sum(row.fields for row in arm.compared), "field")
    title = f"{plural(len(arm.compared), 'case')}, {pairs} compared"
    effects = [effect for effect in decision.effects if effect.arm == arm.label]
    lines = [line for effect in effects for line in effect_lines(effect, decision)]
    return join(
        [
            element("h3", f"{shorten(arm.label, _LONGEST)}: {title}" if arm.label else title),
            preformatted([line[1:] for line in lines]) if lines else None,  # without their indent
            _changed_patterns(arm, decision),
            *(_changed_fields(arm, kind, anchors) for kind in (Change.BROKEN, Change.FIXED, Change.SHIFTED)),
            *(_uncompared_cases(arm.of_kind(kind), kind) for kind in _APART),
        ]
    )


def _changed_patterns(arm: ArmComparison, decision: GateDecision) -> Markup | None:
    moved = [row for row in arm.patterns if row.kind is not Change.UNCHANGED]
    if not moved:
        return None
    tests = {test.pattern: test.adjusted for test in decision.tests if test.arm == arm.label}
    heads = ("fields", "before", "now", "fixed", "broken", "p")
    head = element(
        "tr",
        *(element("th", name, scope="col") for name in ("field", "change")),
        *(element("th", name, scope="col", class_="num") for name in heads),
    )
    rows = join(_changed_pattern_row(row, tests.get(row.pattern)) for row in moved[:MOST])
    table = element("table", element("thead", head), element("tbody", rows))
    left, still = len(moved) - MOST, len(arm.patterns) - len(moved)
    counts = [plural(left, "more changed field")] if left > 0 else []
    counts += [f"{plural(still, 'field')} unchanged"] if still else []
    return join(
        [
            element("div", table, class_="scroll", tabindex=0, role="region", aria_label="Changed fields"),
            element("p", ", ".join(counts), class_="dim") if counts else None,
        ]
    )


def _changed_pattern_row(row: PatternComparison, adjusted: float | None) -> Markup:
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


def _changed_fields(arm: ArmComparison, kind: Change, anchors: Anchors) -> Markup | None:
    changes = [change for change in arm.fields if change.kind is kind]
    if not changes:
        return None
    cards = list(_change_cards(changes[:MOST], arm.after, anchors))
    rest = _list(cards[_AT_ONCE:])
    folded = element("details", element("summary", f"{len(cards) - _AT_ONCE:,} more"), rest) if rest else None
    left = len(changes) - MOST
    more = element("p", f"… and {plural(left, 'more field')}; the cases have them.", class_="dim") if left > 0 else None
    name = element("summary", element("h4", f"{plural(len(changes), 'field')} {kind}"))
    parts = (name, _list(cards[:_AT_ONCE]), folded, more)
    return element("details", *parts, open=kind is Change.BROKEN, class_="changes")


def _list(cards: Sequence[Part]) -> Markup | None:
    return element("ul", *cards, class_="fields", role="list") if cards else None


def _change_cards(changes: Sequence[FieldChange], arm: str, anchors: Anchors) -> Iterator[Part]:
    for change in changes:
        plain = change.before.denominator == change.after.denominator == 1
        rate = "" if plain else f"{percent(float(change.before))} → {percent(float(change.after))} of the runs"
        name = change.case.rpartition("::")[2] or change.case
        yield change_card(change, shorten(name, _LONGEST), anchors.get(CaseKey(change.case, arm)), rate)


def _uncompared_cases(rows: Sequence[CaseComparison], kind: Change) -> Markup | None:
    if not rows:
        return None
    texts = [f"{row.case}: {row.why}" if row.why else row.case for row in rows]
    title = element("summary", element("h4", f"{plural(len(rows), 'case')} {kind}"))
    return element("details", title, bullet_list(texts, most=MOST, longest=1_000))
