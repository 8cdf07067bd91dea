"""Auto-accept as lines: the share of accepted values that are right, what the cases show of it, and the coverage."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from pytest_extract.core.aggregate.confidence import CONFIDENCE, AutoAcceptDecision, Shown
from pytest_extract.report.lines import Line, Span, Style, line, listed, number_text, percent, plural, prose, safe_prose

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
    counts, precision = decision.counts, decision.rule.precision
    head = f"{variant}auto-accept at confidence {decision.rule.text}"
    if not counts.accepted:
        return f"{head}: no value reaches it, so nothing is shown"
    right = counts.accepted - counts.wrong
    share = (
        f"{number_text(right)} of {number_text(counts.accepted)} accepted values right ({share_text(counts.precision)})"
    )
    where = f"coverage {percent(counts.coverage)}, {plural(decision.cases, 'case')}"
    shown = f"at least {share_text(decision.lowest, down=True)} by case ({CONFIDENCE * 100:g} % sure)"
    if precision is None:
        return f"{head}: {share}, {shown}; {where}"
    asked = share_text(precision)
    if decision.shown is Shown.HOLDS:
        return f"{head} holds {asked}: {share}, {shown}; {where}"
    if decision.shown is Shown.MISSED:
        return f"{head} misses {asked}: {share}; {where}"
    text = f"{head}: too few cases to show {asked}: {share}, {shown}; {where}"
    if decision.needed is not None and decision.needed > decision.cases:
        return f"{text}; about {decision.needed:,} cases without a wrong value would show it"
    return f"{text}; more cases at this rate would show it"


def share_text(share: float, *, down: bool = False) -> str:
    """Write a share as percent with a decimal place; `down`: never more than it is."""
    tenths = share * 1000
    return f"{(int(tenths + 1e-9) if down else round(tenths, 1)) / 10:g} %"


def auto_accept_lines(decisions: Sequence[AutoAcceptDecision], *, width: int) -> list[Line]:
    """Write a sentence a decision, and the fields of accepted values that are wrong."""
    lines: list[Line] = []
    for decision in decisions:
        lines += prose(auto_accept_text(decision), _STYLES[decision.shown], indent=0, width=width)
        if decision.wrong:
            wrong = [f"{safe_prose(pattern)} {count:,}" for pattern, count in decision.wrong.most_common()]
            lines.append(line(Span(f"accepted and wrong: {listed(wrong, _MOST_PATTERNS, 'fields')}"), indent=2))
    return lines
