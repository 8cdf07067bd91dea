"""The regression gate and flaky fields as lines."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from itertools import zip_longest
from typing import Final, TypeVar

from pytest_extract.core.case_result import CaseResult
from pytest_extract.regression.compare import (
    CaseComparison,
    Change,
    FieldChange,
    PatternComparison,
    VariantComparison,
)
from pytest_extract.regression.facts import Effect, Subject, TestResult, tag_effects
from pytest_extract.regression.gate import Answer, GateDecision, broken_text, call_text, interval_text, spent_text
from pytest_extract.regression.suite import FlakyField, flaky_fields, suite_pass_hat_k
from pytest_extract.report.lines import Line, Span, Style, Table, first_of, line, percent, plural, safe_prose
from pytest_extract.report.values import show

_Row = TypeVar("_Row")
MOST_CHANGED: Final = 5
"""Changes of fields of one kind that are shown without `-v`."""
MOST: Final = 10
"""Rows of each table without `-v`."""
_SHOWS_ALL: Final = " (-v shows all)"
_SHORTEST_CALL_S: Final = 0.2
"""Mean latency in seconds from which on it is shown; below, no model was called."""
MOST_REASONS: Final = 4
"""Further reasons of a verdict that are shown without `-v`."""
_MOST_TITLED: Final = 3
"""Variants that a title names."""
ANSWER_STYLE: Final[Mapping[Answer, Style]] = {
    Answer.WORSE: "bad",
    Answer.PASS: "good",
    Answer.UNDECIDED: "warn",
}


CHANGED_KINDS: Final = (Change.FELL, Change.ROSE, Change.SHIFTED)
"""Changes of a field, in the order in which reports show them."""
UNCOMPARED_KINDS: Final = (Change.LOST, Change.INCOMPARABLE, Change.NEW, Change.GONE)
"""Kinds of cases that are not compared, in the order in which reports show them."""


def comparison_title(decision: GateDecision | None, *, is_gate: bool) -> str:
    """Name the regression gate where it judges the run, else what is compared: its verdict is then a remark."""
    if is_gate or decision is None:
        return "regression gate"
    variants = [variant for variant in decision.comparison.variants if variant.before != variant.after]
    if not variants:
        return "this run compared with its baseline"
    names = ", ".join(variant.after or "now" for variant in variants[:_MOST_TITLED])
    more = f" and {len(variants) - _MOST_TITLED:,} more" if len(variants) > _MOST_TITLED else ""
    return safe_prose(f"{names}{more} compared with {variants[0].before or 'before'}")


def gate_lines(decision: GateDecision, *, width: int = 100, verbosity: int = 0) -> list[Line]:
    """Show a comparison, and below it the decision of the gate; `verbosity` 1 or more shows every row."""
    return [
        *changed_lines(decision, width=width, verbosity=verbosity),
        *verdict_lines(decision, verbosity=verbosity),
    ]


def changed_lines(decision: GateDecision, *, width: int = 100, verbosity: int = 0) -> list[Line]:
    """Show what changed, variant by variant."""
    most = 10**9 if verbosity >= 1 else MOST
    return [each for variant in decision.comparison.variants for each in _variant_lines(variant, decision, width, most)]


def verdict_lines(decision: GateDecision, *, verbosity: int = 0) -> list[Line]:
    """Show the decision: a sentence with the main reason, further reasons, what to do next, and what it rests on."""
    most = 10**9 if verbosity >= 1 else MOST_REASONS
    style = "warn" if decision.warnings else ANSWER_STYLE[decision.answer]
    first, *others = decision.reasons or ("nothing was compared",)
    told: list[tuple[str, Style]] = [(text, "plain") for text in first_of(others, most, "reason", _SHOWS_ALL)]
    told += [(text, "warn") for text in decision.warnings]
    told += [(text, "plain") for text in (*decision.advice, *basis_texts(decision))]
    lines = [line(Span(f"{decision.answer}. ", style), Span(safe_prose(_sentence(first)), "head"))]
    lines += [line(Span(safe_prose(_sentence(text)), style), indent=2) for text, style in told]
    return lines + [line(Span(f"note: {safe_prose(note)}", "dim"), indent=2) for note in decision.notes]


def basis_texts(decision: GateDecision) -> list[str]:
    """Return what a confirmation took, how many runs each side has, what broke, and what a call costs and takes."""
    texts = [] if decision.confirmation is None else [spent_text(decision.confirmation)]
    texts += [runs_text(effect) for effect in decision.effects if effect.bounds is not None]
    found = [broken_text(broken) for broken in decision.broken]
    texts += [text for text in found if not any(text in reason for reason in decision.reasons)]
    calls = [
        call_text(change)
        for change in decision.calls
        if change.what == "cost" or max(change.before, change.after) >= _SHORTEST_CALL_S
    ]
    return [*texts, "; ".join(calls)] if calls else texts


def runs_text(effect: Effect) -> str:
    """Return `baseline: 3 runs of each case; now: 1`."""
    before, after = (plural(low, "run") if low == high else f"{low} to {high} runs" for low, high in effect.runs)
    variant = f"[{effect.variant}] " if effect.variant else ""
    return f"{variant}{plural(effect.cases, 'case')}: {before} of each before, {after} now"


def _sentence(text: str) -> str:
    """Return a text with a full stop."""
    return text if text.endswith((".", "!", "?")) else f"{text}."


def _variant_lines(variant: VariantComparison, decision: GateDecision, width: int, most: int) -> list[Line]:
    counts = Counter(row.kind for row in variant.cases)
    kinds = ", ".join(f"{counts[kind]} {kind}" for kind in Change if counts[kind])
    name = f"[{safe_prose(variant.label)}] " if variant.label else ""
    pairs = plural(sum(row.fields for row in variant.compared), "field")
    lines = [line(Span(f"{name}{plural(len(variant.compared), 'case')}, {pairs} compared", "head"), f" ({kinds})")]
    lines += [line(effect_text(effect), indent=2) for effect in decision.effects if effect.variant == variant.label]
    patterns = pattern_table(variant, decision, most, _SHOWS_ALL)
    for table in (*tag_tables(variant, decision, most, _SHOWS_ALL), *([patterns] if patterns is not None else [])):
        lines += table.lines(width)
    few = min(most, MOST_CHANGED) if most <= MOST else most
    for kind in CHANGED_KINDS:
        groups = [found for _, found in changes_by_pattern(variant, kind)]
        ordered = [change for rank in zip_longest(*groups) for change in rank if change is not None]
        title = f"{kind} ({len(ordered):,}):"
        lines += _listing(title, "plain", ordered, lambda change: _change_text(change, width), few, "field")
    moved = sorted(
        (row for row in variant.compared if row.kind is not Change.UNCHANGED), key=lambda row: (row.change, row.case)
    )
    lines += _listing("cases changed:", "head", moved, _case_text, most, "changed case")
    for kind in UNCOMPARED_KINDS:
        apart = variant.of_kind(kind)
        style: Style = "warn" if kind in {Change.LOST, Change.GONE} else "dim"
        lines += _listing(f"{plural(len(apart), 'case')} {kind}:", style, apart, uncompared_case_text, most, "case")
    return lines


def _listing(
    title: str, style: Style, rows: Sequence[_Row], write: Callable[[_Row], str], most: int, noun: str
) -> list[Line]:
    """Show a title and the first rows below it; nothing without rows."""
    if not rows:
        return []
    texts = [write(row) for row in rows[:most]]
    texts += [f"… and {plural(len(rows) - most, f'more {noun}')}{_SHOWS_ALL}"] if len(rows) > most else []
    return [line(Span(title, style), indent=2), *(line(safe_prose(text), indent=4) for text in texts)]


def effect_text(effect: Effect) -> str:
    """Return the change of a measure and its confidence interval."""
    text = f"{effect.measure}: {percent(effect.before)} -> {percent(effect.after)}"
    if effect.bounds is not None:
        text += f" ({interval_text(effect.bounds)}, over {plural(effect.cases, 'case')})"
    return text


def tag_tables(variant: VariantComparison, decision: GateDecision, most: int, hint: str = "") -> list[Table]:
    """Return how much the cases of each value of each tag changed that the comparison is split by."""
    tests = {
        test.name: test for test in decision.tests if test.variant == variant.label and test.subject is Subject.TAG
    }
    by_tag: dict[str, list[tuple[str, ...]]] = {}
    for each in tag_effects(variant, decision.rules):
        p = p_cell(tests.get(f"{each.tag}={each.value}")) if each.before != each.after else ""
        row = (each.value, f"{each.cases:,}", percent(each.before), percent(each.after), p)
        by_tag.setdefault(each.tag, []).append(row)
    return [
        Table((tag, "cases", "before", "after", "p"), rows).first(most, f"{tag} value", hint)
        for tag, rows in by_tag.items()
    ]


def pattern_table(variant: VariantComparison, decision: GateDecision, most: int, hint: str = "") -> Table | None:
    """Return the field patterns that changed; None if none did."""
    moved = [row for row in variant.patterns if row.kind is not Change.UNCHANGED]
    if not moved:
        return None
    tests = {test.pattern: test for test in decision.tests if test.variant == variant.label}
    heads = ("field", "change", "fields", "before", "after", "rose", "fell", "p")
    rows = [(row.pattern, *_pattern_cells(row, tests.get(row.pattern))) for row in moved]
    styles: list[Style] = [
        "dim" if not row.fields else "bad" if _is_proved(tests.get(row.pattern)) else "plain" for row in moved
    ]
    still = len(variant.patterns) - len(moved)
    notes = [f"{plural(still, 'field')} unchanged"] if still else []
    return Table(heads, rows, notes=notes, styles=styles).first(most, "changed field", hint)


def _pattern_cells(row: PatternComparison, test: TestResult | None) -> tuple[str, ...]:
    if not row.fields:
        return (str(row.kind), *("",) * 6)
    word = "regressed" if _is_proved(test) else str(row.kind)
    shares = (percent(row.before), percent(row.after))
    p = p_cell(test) if row.after < row.before else ""  # the test is of falls
    return (word, f"{row.fields:,}", *shares, f"{row.rose:,}", f"{row.fell:,}", p)


def _is_proved(test: TestResult | None) -> bool:
    """Whether a fall is beyond noise: only then has a field regressed."""
    return test is not None and test.significant


def p_cell(test: TestResult | None) -> str:
    """Return the corrected p-value of a row, empty without a test."""
    if test is None or not test.beyond_noise:
        return "" if test is None else f">{test.level:g}"
    return f"{test.adjusted:.2g}" if test.adjusted >= 0.001 else "<0.001"


def changes_by_pattern(variant: VariantComparison, kind: Change) -> list[tuple[str, list[FieldChange]]]:
    """Return the changes of one kind by field pattern, the most frequent first."""
    found: dict[str, list[FieldChange]] = {}
    for change in variant.fields:
        if change.kind is kind:
            found.setdefault(change.pattern, []).append(change)
    return sorted(found.items(), key=lambda item: -len(item[1]))


def _change_text(change: FieldChange, width: int) -> str:
    rates = f" [{text}]" if (text := rates_text(change)) else ""
    where = f"{change.case} {change.path}{rates}"
    if change.path.startswith("("):
        return where
    room = max(12, (width - 30) // 3)
    values = f"{show(change.value_before, room)} -> {show(change.value_after, room)} (gold {show(change.gold, room)})"
    if change.mistake is not None and len(change.mistake.paths) == 1:
        values += f": {change.mistake.text}"
    return f"{where}: {values}"


def rates_text(change: FieldChange) -> str:
    """Return the shares of right runs before and now: `100 % -> 33.3 % of the runs`; "" where each side's agree."""
    if {change.before, change.after} <= {0, 1}:
        return ""
    return f"{percent(change.before)} -> {percent(change.after)} of the runs"


def _case_text(row: CaseComparison) -> str:
    rates = f"{percent(float(row.before))} -> {percent(float(row.after))}"
    return f"{row.case}: {rates}, {row.rose} rose, {row.fell} fell"


def uncompared_case_text(row: CaseComparison) -> str:
    """Name a case that is not compared, and say why."""
    return f"{row.case}: {row.why}" if row.why else row.case


MOST_FLAKY: Final = 10
"""Flaky fields shown without `-v`."""


def repeat_lines(results: Sequence[CaseResult], *, verbosity: int = 0) -> list[Line]:
    """Show pass^k and flaky fields of the repeats of a run; nothing if no case was run twice."""
    if all(len(result.attempts) < 2 for result in results):
        return []
    rates = suite_pass_hat_k(results)
    fields = flaky_fields(results)
    if max(rates, default=0) < 2 and not fields:
        return []
    shares = ", ".join(f"pass^{k} {percent(rate)}" for k, rate in rates.items())
    count = plural(len(fields), "unsteady field")
    lines = [line(Span("repeats: ", "head"), f"{shares}; {count}")]
    most = len(fields) if verbosity >= 1 else MOST_FLAKY
    texts = first_of([_flaky_field_text(field) for field in fields], most, "field", _SHOWS_ALL)
    return [*lines, *(line(safe_prose(text), indent=2) for text in texts)]


def _flaky_field_text(field: FlakyField) -> str:
    variant = f" [{field.variant}]" if field.variant else ""
    rate = f"passed {field.passes} of {plural(field.runs, 'run')}"
    return f"{field.case}{variant} {field.path}: {rate}; twice in a row {percent(field.pass_twice)}"
