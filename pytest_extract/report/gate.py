"""The regression gate, the A/A test and flaky fields as lines."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Final

from pytest_extract.core.case_result import CaseResult
from pytest_extract.core.stats.power import Needs
from pytest_extract.regression.changes import (
    ArmComparison,
    CaseComparison,
    Change,
    FieldChange,
    PatternComparison,
)
from pytest_extract.regression.flakiness import AATest, FlakyField, flaky_fields, repeat_snapshots, suite_pass_hat_k
from pytest_extract.regression.gate import Answer, Effect, GateDecision
from pytest_extract.report.lines import Line, Span, Style, line, percent, plural, safe_prose, shorten
from pytest_extract.report.values import show

MOST: Final = 10
"""Rows of each table without `-v`."""
_ANSWER_STYLE: Final[Mapping[Answer, Style]] = {
    Answer.WORSE: "bad",
    Answer.NOT_WORSE: "good",
    Answer.CANNOT_TELL: "warn",
}
_KIND_STYLE: Final[Mapping[Change, Style]] = {
    Change.BROKEN: "bad",
    Change.FIXED: "good",
    Change.LOST: "warn",
    Change.GONE: "warn",
}


def gate_lines(decision: GateDecision, *, width: int = 100, verbosity: int = 0) -> list[Line]:
    """Show the decision of the gate and its reasons; `verbosity` 1 or more shows every row."""
    most = 10**9 if verbosity >= 1 else MOST
    lines = [line(Span("regression gate: ", "head"), Span(str(decision.answer), _ANSWER_STYLE[decision.answer]))]
    lines += [line(safe_prose(reason), indent=2) for reason in decision.reasons[:most]]
    lines += _more_rows_line(len(decision.reasons), most, "reason")
    lines += [line(Span(f"note: {safe_prose(note)}", "dim"), indent=2) for note in decision.notes]
    for arm in decision.comparison.arms:
        lines += _arm_lines(arm, decision, width, most)
    return lines


def _arm_lines(arm: ArmComparison, decision: GateDecision, width: int, most: int) -> list[Line]:
    counts = Counter(row.kind for row in arm.cases)
    kinds = ", ".join(f"{counts[kind]} {kind}" for kind in Change if counts[kind])
    name = f"[{safe_prose(arm.label)}] " if arm.label else ""
    pairs = plural(sum(row.fields for row in arm.compared), "field")
    lines = [line(Span(f"{name}{plural(len(arm.compared), 'case')}, {pairs} compared", "head"), f" ({kinds})")]
    for effect in decision.effects:
        if effect.arm == arm.label:
            lines += effect_lines(effect, decision)
    lines += _pattern_table(arm, decision, width, most)
    for kind in (Change.BROKEN, Change.FIXED, Change.SHIFTED):
        lines += _changed_field_lines([change for change in arm.fields if change.kind is kind], width, most)
    return lines + _changed_case_lines(arm, most)


def effect_lines(effect: Effect, decision: GateDecision) -> list[Line]:
    """Show the change of a measure, its confidence interval, and what would decide if the answer is `cannot tell`."""
    text = f"{effect.measure}: {percent(effect.before)} -> {percent(effect.after)}"
    if effect.bounds is not None:
        low, high = 100 * effect.bounds.low, 100 * effect.bounds.high
        text += f" (95 % interval of the change, over {plural(effect.cases, 'case')}: {low:+.1f} to {high:+.1f} points)"
    lines = [line(text, indent=2)]
    if effect.needs is not None and decision.answer is Answer.CANNOT_TELL:
        lines.append(line(needs_text(effect.needs), indent=2))
    return lines


def needs_text(needs: Needs) -> str:
    """Describe what would decide: `would decide (likely "not worse"), ...: about 23 more cases (46 calls, $0.12)`."""
    ways = []
    if needs.cases is not None:
        ways.append(f"{plural(needs.cases, 'more case')} ({_price_text(needs.cases_calls, needs.cases_cost_usd)})")
    if needs.repeats is not None:
        least = "at least " if needs.guess else ""
        calls = _price_text(needs.repeats_calls, needs.repeats_cost_usd)
        ways.append(f"{least}{plural(needs.repeats, 'more repeat')} of each case ({calls})")
    if not ways:
        return "no number of cases or repeats would decide, if what is seen is the truth"
    return f'would decide (likely "{needs.towards}"), if what is seen is the truth: about {", or ".join(ways)}'


def _price_text(calls: int | None, cost: float | None) -> str:
    money = "cost unknown" if cost is None else f"${cost:,.2f}" if cost >= 0.1 or not cost else f"${cost:.2g}"
    return f"{plural(calls or 0, 'call')}, {money}"


def _pattern_table(arm: ArmComparison, decision: GateDecision, width: int, most: int) -> list[Line]:
    moved = [row for row in arm.patterns if row.kind is not Change.UNCHANGED]
    adjusted = {test.pattern: test.adjusted for test in decision.tests if test.arm == arm.label}
    if not moved:
        return []
    wide = min(max(len(safe_prose(row.pattern)) for row in moved[:most]), max(20, width - 70))
    head = f"{'field':<{wide}} {'':<12} {'fields':>7} {'before':>8} {'after':>8} {'fixed':>6} {'broken':>7} {'p':>9}"
    lines = [line(Span(head, "dim"), indent=2)]
    lines += [line(_pattern_span(row, adjusted.get(row.pattern), wide), indent=2) for row in moved[:most]]
    lines += _more_rows_line(len(moved), most, "changed pattern")
    still = len(arm.patterns) - len(moved)
    return [*lines, line(Span(f"{plural(still, 'pattern')} unchanged", "dim"), indent=2)] if still else lines


def _pattern_span(row: PatternComparison, adjusted: float | None, wide: int) -> Span:
    name = f"{shorten(safe_prose(row.pattern), wide):<{wide}} {row.kind:<12}"
    if not row.fields:
        return Span(name, "dim")
    text = f"{name} {row.fields:>7,} {percent(row.before):>8} {percent(row.after):>8} {row.fixed:>6,} {row.broken:>7,}"
    return Span(f"{text} {'' if adjusted is None else p_text(adjusted):>9}", _KIND_STYLE.get(row.kind, "plain"))


def p_text(value: float) -> str:
    """Write a p-value."""
    return f"{value:.2g}" if value >= 0.0001 else "<0.0001"


def _changed_field_lines(changes: Sequence[FieldChange], width: int, most: int) -> list[Line]:
    if not changes:
        return []
    lines = [line(Span(f"{changes[0].kind} ({len(changes):,}):", _KIND_STYLE.get(changes[0].kind, "plain")), indent=2)]
    for change in changes[:most]:
        room = max(12, (width - 30) // 3)
        values = (
            f"{show(change.value_before, room)} -> {show(change.value_after, room)} (gold {show(change.gold, room)})"
        )
        gate = change.path.startswith("(")
        rates = f" {_rate_change(change)}" if change.before.denominator > 1 or change.after.denominator > 1 else ""
        where = f"{safe_prose(change.case)} {safe_prose(change.path)}{rates}"
        lines.append(line(where if gate else f"{where}: {values}", indent=4))
    return [*lines, *_more_rows_line(len(changes), most, "field", indent=4)]


def _rate_change(change: FieldChange) -> str:
    return f"[{percent(float(change.before))} -> {percent(float(change.after))} of the runs]"


def _changed_case_lines(arm: ArmComparison, most: int) -> list[Line]:
    rows = sorted(arm.compared, key=lambda row: (row.change, row.case))
    lines = [_case_line(row) for row in rows if row.kind is not Change.UNCHANGED][:most]
    shown = [line(Span("cases changed:", "head"), indent=2), *lines] if lines else []
    moved = sum(row.kind is not Change.UNCHANGED for row in rows)
    shown += _more_rows_line(moved, most, "changed case", indent=4) if lines else []
    for kind in (Change.LOST, Change.INCOMPARABLE, Change.NEW, Change.GONE):
        apart = arm.of_kind(kind)
        if apart:
            shown.append(line(Span(f"{plural(len(apart), 'case')} {kind}:", _KIND_STYLE.get(kind, "dim")), indent=2))
            shown += [line(_apart_text(row), indent=4) for row in apart[:most]]
            shown += _more_rows_line(len(apart), most, "case", indent=4)
    return shown


def _case_line(row: CaseComparison) -> Line:
    rates = f"{percent(float(row.before))} -> {percent(float(row.after))}"
    text = f"{safe_prose(row.case)}: {rates}, {row.fixed} fixed, {row.broken} broken"
    return line(Span(text, _KIND_STYLE.get(row.kind, "plain")), indent=4)


def _apart_text(row: CaseComparison) -> str:
    return safe_prose(f"{row.case}: {row.why}" if row.why else row.case)


def _more_rows_line(count: int, most: int, noun: str, indent: int = 2) -> list[Line]:
    left = count - most
    return (
        [line(Span(f"... and {plural(left, f'more {noun}')} (-v shows all)", "dim"), indent=indent)] if left > 0 else []
    )


def aa_test_lines(test: AATest) -> list[Line]:
    """Show how often the gate said worse when each run was compared with each other one."""
    style: Style = "bad" if test.rate > test.alpha else "good"
    rates = f"{percent(test.rate)}; stated {percent(test.alpha)}"
    worse = f"{test.worse} of {test.comparisons} comparisons said worse ({rates})"
    lines = [line(Span("A/A: ", "head"), f"{plural(test.runs, 'run')} of the same: ", Span(worse, style))]
    lines.append(
        line(f"{test.cannot_tell} could not tell; {plural(test.fields, 'field')} compared each time", indent=2)
    )
    lines += [line(safe_prose(reason), indent=2) for reason in test.reasons]
    count = len(test.flaky)
    unsteady = (
        f"{plural(count, 'unsteady field')}, listed above" if count else "every field came out the same in all runs"
    )
    return [*lines, line(unsteady, indent=2)]


MOST_FLAKY: Final = 10
"""Flaky fields shown without `-v`."""


def repeat_lines(results: Sequence[CaseResult], *, verbosity: int = 0) -> list[Line]:
    """Show pass^k and flaky fields of the repeats of a run; nothing if no case was run twice."""
    if all(len(result.attempts) < 2 for result in results):
        return []
    rates = suite_pass_hat_k(results)
    fields = flaky_fields(repeat_snapshots(results))
    if max(rates, default=0) < 2 and not fields:
        return []
    shares = ", ".join(f"pass^{k} {percent(rate)}" for k, rate in rates.items())
    count = plural(len(fields), "unsteady field")
    lines = [line(Span("repeats: ", "head"), f"{shares}; {count}")]
    most = len(fields) if verbosity >= 1 else MOST_FLAKY
    lines += [_flaky_field_line(field) for field in fields[:most]]
    left = plural(len(fields) - most, "more field")
    return [*lines, line(Span(f"... and {left} (-v shows all)", "dim"), indent=2)] if len(fields) > most else lines


def _flaky_field_line(field: FlakyField) -> Line:
    arm = f" [{field.arm}]" if field.arm else ""
    rate = f"passed {field.passes} of {plural(field.runs, 'run')}, {plural(field.values, 'value')}"
    return line(
        safe_prose(f"{field.case}{arm} {field.path}: {rate}; twice in a row {percent(field.pass_twice)}"), indent=2
    )
