"""What a confidence is worth: auto-accept as lines; calibration, and proposed thresholds as a table, keys and JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Final

from pytest_extract.core.aggregate.confidence import (
    ALL_FIELDS,
    CONFIDENCE,
    AutoAcceptDecision,
    Calibration,
    CaseCounts,
    Shown,
    ThresholdProposal,
)
from pytest_extract.core.aggregate.published import Estimate
from pytest_extract.core.values import Json, nearly
from pytest_extract.report.lines import (
    Line,
    Span,
    Style,
    Table,
    line,
    listed,
    number_text,
    percent,
    plural,
    prose,
    safe_prose,
)

_STYLES: Final[dict[Shown | None, Style]] = {
    Shown.HOLDS: "good",
    Shown.MISSED: "bad",
    Shown.UNDECIDED: "warn",
    None: "plain",
}
_MOST_PATTERNS: Final = 5


def auto_accept_text(decision: AutoAcceptDecision) -> str:
    """Write one decision as a sentence."""
    variant = f"[{decision.variant}] " if decision.variant else ""
    cases, counts, precision = len(decision.counts.accepted), decision.counts.total, decision.rule.precision
    head = f"{variant}auto-accept at confidence {decision.rule.text}"
    if not counts.accepted:
        return f"{head}: no value reaches it, so nothing is shown"
    right = counts.accepted - counts.wrong
    share = (
        f"{number_text(right)} of {number_text(counts.accepted)} accepted values right ({share_text(counts.precision)})"
    )
    where = f"coverage {percent(counts.coverage)}, {plural(cases, 'case')}"
    shown = f"at least {share_text(decision.counts.lowest, down=True)} by case ({CONFIDENCE * 100:g} % sure)"
    if precision is None:
        return f"{head}: {share}, {shown}; {where}"
    asked = share_text(precision)
    if decision.shown is Shown.HOLDS:
        return f"{head} holds {asked}: {share}, {shown}; {where}"
    if decision.shown is Shown.MISSED:
        return f"{head} misses {asked}: {share}; {where}"
    text = f"{head}: too few cases to show {asked}: {share}, {shown}; {where}"
    needed = decision.counts.needed(precision)
    if needed is not None and needed > cases:
        return f"{text}; about {needed:,} cases without a wrong value would show it"
    return f"{text}; more cases at this rate would show it"


def share_text(share: float, *, down: bool = False) -> str:
    """Write a share as percent with a decimal place; `down`: never more than it is."""
    tenths = share * 1000
    if down:
        return f"{int(tenths + 1e-9) / 10:g} %"
    return f"{nearly(share, digits=2) or f'{round(tenths, 1) / 10:g}'} %"


def auto_accept_lines(decisions: Sequence[AutoAcceptDecision], *, width: int) -> list[Line]:
    """Write a sentence a decision, and the fields of accepted values that are wrong."""
    lines: list[Line] = []
    for decision in decisions:
        lines += prose(auto_accept_text(decision), _STYLES[decision.shown], indent=0, width=width)
        if decision.wrong:
            wrong = [f"{safe_prose(pattern)} {count:,}" for pattern, count in decision.wrong.most_common()]
            lines.append(line(Span(f"accepted and wrong: {listed(wrong, _MOST_PATTERNS, 'fields')}"), indent=2))
    return lines


_HEADS = ("field", "confidence", "right", "at least", "coverage", "checked: right", "at least", "coverage", "")


def threshold_lines(
    variant: str, proposals: Sequence[ThresholdProposal], precision: float, parts: tuple[int, int], *, width: int
) -> list[Line]:
    """Show the thresholds of one variant: what they gave where they were proposed, and on the other cases."""
    name = f"{safe_prose(variant)}: " if variant else ""
    head = (
        f"{name}auto-accept with {share_text(precision)} right: thresholds proposed on {plural(parts[0], 'case')}, "
        f"checked on {parts[1]:,} others"
    )
    lines = [*prose(head, "head", indent=0, width=width)]
    found = [each for each in proposals if each.threshold is not None]
    if found:
        lines += Table(_HEADS, [_row(each, precision) for each in found]).lines(width)
    for each in proposals:
        if each.threshold is None:
            lines += prose(_without_threshold_text(each, precision), "warn", indent=2, width=width)
    if found:
        lines += [line(), *_keys(found, precision)]
    return lines


def _row(proposal: ThresholdProposal, precision: float) -> list[str]:
    proposed, checked = proposal.proposed, proposal.checked
    cells = [_name(proposal.pattern), f"{proposal.threshold:g}", *_part_cells(proposed), *_part_cells(checked)]
    return [*cells, "" if checked is None else _verdict(checked, precision)]


def _part_cells(part: CaseCounts | None) -> list[str]:
    if part is None:
        return ["-"] * 3
    counts = part.total
    right = f"{share_text(counts.precision)} of {counts.accepted:,.4g}" if counts.accepted else "-"
    return [right, share_text(part.lowest, down=True), percent(counts.coverage)]


def _verdict(part: CaseCounts, precision: float) -> str:
    if not part.total.accepted:
        return "no value"
    return {Shown.HOLDS: "holds", Shown.UNDECIDED: "holds, not shown", Shown.MISSED: "missed"}[part.shown(precision)]


def _name(pattern: str) -> str:
    return "all fields" if pattern == ALL_FIELDS else pattern


def _without_threshold_text(proposal: ThresholdProposal, precision: float) -> str:
    name, asked = safe_prose(_name(proposal.pattern)), share_text(precision)
    if proposal.needed is None:
        return f"{name}: no value has a confidence"
    cases = len(proposal.every.accepted)
    if proposal.needed > cases:
        return (
            f"{name}: too few cases: {cases:,} propose, and {asked} needs about {proposal.needed:,} without a "
            "wrong value"
        )
    return f"{name}: no confidence is shown to have {asked} right"


def _keys(found: Sequence[ThresholdProposal], precision: float) -> list[Line]:
    """Write the thresholds as the key `auto_accept` of a case file."""
    fields = {each.pattern: each.threshold for each in found}
    for_all = fields.pop(ALL_FIELDS, None)
    keys = ["auto_accept:", f"  precision: {precision:g}"]
    keys += [f"  confidence: {for_all:g}"] if for_all is not None else []
    keys += ["  fields:"] if fields else []
    keys += [f"    {json.dumps(name)}: {lowest:g}" for name, lowest in fields.items()]
    head = line(Span("for the case files or their defaults:", "dim"))
    return [head, *(line(safe_prose(key), indent=2) for key in keys)]


def threshold_record(variant: str, proposals: Sequence[ThresholdProposal], precision: float) -> dict[str, Json]:
    """Return the thresholds of one variant as JSON."""
    return {"variant": variant, "precision": precision, "fields": [_proposal_record(each) for each in proposals]}


def _proposal_record(proposal: ThresholdProposal) -> dict[str, Json]:
    return {
        "field": None if proposal.pattern == ALL_FIELDS else proposal.pattern,
        "confidence": proposal.threshold,
        "proposed": _part_record(proposal.proposed),
        "checked": _part_record(proposal.checked),
        "cases": len(proposal.every.accepted),
        "cases_needed": proposal.needed,
    }


def _part_record(part: CaseCounts | None) -> dict[str, Json] | None:
    if part is None:
        return None
    counts = part.total
    return {
        "cases": len(part.accepted),
        "accepted": counts.accepted,
        "wrong": counts.wrong,
        "precision": counts.precision,
        "precision_lower_bound": part.lowest,
        "coverage": counts.coverage,
    }


_CALIBRATION: Final = ("", "values", "confidence", "right", "95 %", "calibration error", "95 %")


def calibration_lines(variant: str, parts: Mapping[str, Calibration], *, width: int) -> list[Line]:
    """Show the calibration of a variant: all values first, then the fields, worst calibrated first."""
    overall, *fields = parts.items()
    rows = [overall, *sorted(fields, key=lambda part: -part[1].error.mean)]
    title = f"{safe_prose(variant)}: confidence" if variant else "confidence"
    head = f"{title} of {number_text(overall[1].values)} values in {plural(overall[1].cases, 'case')}"
    cells = [(safe_prose(name) or "all", *_calibration_cells(each)) for name, each in rows]
    return Table(_CALIBRATION, cells, head).lines(width)


def _calibration_cells(part: Calibration) -> tuple[str, ...]:
    right, error = part.accuracy, part.error
    numbers = (number_text(part.values), _three(part.confidence), _three(right.mean), _between(right))
    return (*numbers, _three(error.mean), _between(error))


def _three(value: float) -> str:
    return nearly(value, 1, 3) or number_text(round(value, 3))


def _between(estimate: Estimate) -> str:
    return " - ".join(number_text(round(bound, 3)) for bound in (estimate.low, estimate.high))


def calibration_record(variant: str, parts: Mapping[str, Calibration]) -> dict[str, Json]:
    """Return the calibration of one variant as JSON: of all values, and by field."""
    overall, *fields = ((name, asdict(each)) for name, each in parts.items())
    return {"variant": variant, "overall": overall[1], "fields": dict(fields)}
