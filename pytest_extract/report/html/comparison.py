"""A comparison with a baseline or between variants, for the page: decision, changed fields, uncompared cases."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from pytest_extract.core.values import MISSING, Json, Missing
from pytest_extract.regression.compare import Change, FieldChange, VariantComparison
from pytest_extract.regression.gate import GateDecision
from pytest_extract.regression.snapshots import CaseKey, value_text
from pytest_extract.report.gate import (
    ANSWER_STYLE,
    CHANGED_KINDS,
    UNCOMPARED_KINDS,
    basis_texts,
    changes_by_pattern,
    comparison_title,
    effect_text,
    pattern_table,
    rates_text,
    tag_tables,
    uncompared_case_text,
)
from pytest_extract.report.html.text import VALUE_WIDTH, Anchors, message, short_name, styled, table_data
from pytest_extract.report.lines import first_of, plural
from pytest_extract.report.value_diff import side_by_side
from pytest_extract.report.values import show

MOST: Final = 100
"""Rows of each table and list; further ones are counted."""
MOST_REASONS: Final = 8
"""Reasons of the gate that are listed without a click."""
MOST_OPEN: Final = 12
"""Changed fields that are listed without a click."""
MOST_REPEATS: Final = 50
"""Different changes listed for one field pattern, and cases listed for them, at least one for each."""
_SHORT: Final = 60
"""Characters of a value in the title of a change."""


def broken_fields(judged: GateDecision | None) -> Mapping[CaseKey, Mapping[str, FieldChange]]:
    """Map each case to its fields that were right before and are wrong now, by path."""
    found: dict[CaseKey, dict[str, FieldChange]] = {}
    for variant in judged.comparison.variants if judged is not None else ():
        for change in variant.fields:
            if change.kind is Change.FELL:
                found.setdefault(CaseKey(change.case, variant.after), {})[change.path] = change
    return found


def comparison_parts(judged: GateDecision | None, anchors: Anchors, *, is_gate: bool) -> list[tuple[str, Any]]:
    """Return what the page shows of a comparison, what got worse first; nothing if nothing was compared.

    `is_gate`: the regression gate judges the run by it.
    """
    if judged is None:
        return []
    title = comparison_title(judged, is_gate=is_gate)
    reasons = _listed([*judged.reasons, *judged.warnings, *judged.advice])
    verdict = {
        "title": message(title[0].upper() + title[1:] if is_gate else title),
        "answer": str(judged.answer),
        "tone": ANSWER_STYLE[judged.answer],
        "reasons": reasons[:MOST_REASONS],
        "further": reasons[MOST_REASONS:],
        "notes": _listed([*basis_texts(judged), *judged.notes]),
    }
    return [
        ("verdict", verdict),
        *(part for variant in judged.comparison.variants for part in _variant_parts(variant, judged, anchors)),
    ]


def _listed(texts: Iterable[str]) -> list[str]:
    return first_of([*map(message, texts)], MOST)


def _variant_parts(variant: VariantComparison, decision: GateDecision, anchors: Anchors) -> Iterator[tuple[str, Any]]:
    pairs = plural(sum(row.fields for row in variant.compared), "field")
    title = f"{plural(len(variant.compared), 'case')}, {pairs} compared"
    yield "head", f"{short_name(variant.label)}: {title}" if variant.label else title
    effects = [effect_text(effect) for effect in decision.effects if effect.variant == variant.label]
    if effects:
        yield "list", effects
    for tags in tag_tables(variant, decision, MOST):
        yield "table", table_data(tags)
    if (patterns := pattern_table(variant, decision, MOST)) is not None:
        yield "table", table_data(patterns, paths=True)
    for kind in CHANGED_KINDS:
        if (changes := _changes(variant, kind, anchors)) is not None:
            yield "changes", changes
    for kind in UNCOMPARED_KINDS:
        if rows := variant.of_kind(kind):
            cases = _listed(map(uncompared_case_text, rows))
            yield "fold", {"title": f"{plural(len(rows), 'case')} {kind}", "parts": [("list", cases)]}


def _changes(variant: VariantComparison, kind: Change, anchors: Anchors) -> dict[str, Any] | None:
    """Return the changed fields of a kind, one row for all cases in which a field pattern changed."""
    ranked = changes_by_pattern(variant, kind)
    if not ranked:
        return None
    left = sum(len(found) for _, found in ranked[MOST:])
    return {
        "title": f"{plural(sum(len(found) for _, found in ranked), 'field')} {kind}",
        "open": kind is Change.FELL and len(ranked) <= MOST_OPEN,
        "groups": [_group(pattern, found, variant.after, anchors) for pattern, found in ranked[:MOST]],
        "left": f"… and {plural(left, 'more field')}; the cases have them." if left else "",
    }


def _group(pattern: str, changes: Sequence[FieldChange], variant: str, anchors: Anchors) -> dict[str, Any]:
    """Return the changes of a field pattern, equal ones once with their cases, the most frequent first."""
    equal: dict[tuple[str, ...], list[FieldChange]] = {}
    for change in changes:
        equal.setdefault(_key(change), []).append(change)
    ranked = sorted(equal.values(), key=lambda found: -len(found))
    room = MOST_REPEATS
    left = sum(map(len, ranked[MOST_REPEATS:]))
    shown = []
    for found in ranked[:MOST_REPEATS]:
        cases = [*dict.fromkeys(change.case for change in found)]
        listed = cases[: max(room, 1)]
        room -= len(listed)
        shown.append(_change(found) | {"cases": [_case(case, variant, anchors) for case in listed]})
        shown[-1]["more"] = len(cases) - len(listed)
    return {
        "pattern": short_name(pattern),
        "count": len(changes),
        "mistakes": _mistake_counts(changes),
        "changes": shown,
        "left": f"… and {left:,} more; the cases have them." if left else "",
    }


def _key(change: FieldChange) -> tuple[str, ...]:
    """Return what equal changes have in common: their values, their rates, and the kind of mistake."""
    values = (change.value_before, change.value_after, change.gold)
    kind = "" if change.mistake is None else change.mistake.kind
    return (*map(value_text, values), kind, rates_text(change))


def _mistake_counts(changes: Sequence[FieldChange]) -> str:
    """Count the mistakes of the values now by their kind."""
    kinds = Counter(change.mistake.kind.replace("_", " ") for change in changes if change.mistake is not None)
    return ", ".join(f"{number:,} {kind}" for kind, number in kinds.most_common())


def _case(case: str, variant: str, anchors: Anchors) -> tuple[str, str | None]:
    """Return the name of a case and its anchor."""
    return short_name(case.rpartition("::")[2] or case), anchors.get(CaseKey(case, variant))


def _change(equal: Sequence[FieldChange]) -> dict[str, Any]:
    """Return changes that are equal as one: its field, gold, and the values before and now."""
    change = equal[0]
    found: dict[str, Any] = {
        "path": short_name(change.path),
        "count": len(equal),
        "rate": rates_text(change),
        "title": None,
        "values": [],
    }
    if not change.path.startswith("("):
        now = side_by_side(change.gold, change.value_after, VALUE_WIDTH)
        before = show(change.value_before, VALUE_WIDTH)
        found["title"] = _short(change.value_before), _short(change.value_after)
        found["values"] = [
            ("gold", None if change.gold is MISSING else styled(now.gold), "good"),
            ("before", None if change.value_before is MISSING else [before], ""),
            ("now", None if change.value_after is MISSING else styled(now.extracted), "bad"),
        ]
        if change.mistake is not None:
            texts = {each.mistake.text for each in equal if each.mistake is not None}
            text = change.mistake.text if len(texts) == 1 else change.mistake.kind.replace("_", " ")
            found["values"].append(("mistake", [message(text)], ""))
    return found


def _short(value: Json | Missing) -> str | None:
    return None if value is MISSING else show(value, _SHORT)
