"""A whole run as lines: cases, measures, a line per arm, worst field patterns, failures, tokens, cost, slowest."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Final

from pytest_extract.core.case_result import CaseResult, Outcome
from pytest_extract.core.uncompared import uncompared_text
from pytest_extract.report.auto_accept import auto_accept_lines
from pytest_extract.report.findings import FAILED
from pytest_extract.report.lines import (
    Line,
    Span,
    Style,
    line,
    percent,
    plural,
    prose,
    safe_prose,
    score_number,
    text_of,
)
from pytest_extract.report.totals import (
    BY_EMPTINESS,
    MEASURES,
    ArmTotals,
    EmptinessTotals,
    EmptyPasses,
    Forecast,
    JudgeSpending,
    KnownTotals,
    PatternCounts,
    RunTotals,
    Spending,
    WrappedTotals,
    totals_of,
    worst_patterns,
)

WORST_FIELDS: Final = 10
_MOST_REASONS: Final = 3
_MOST_KNOWN: Final = 5
_MOST_EMPTY: Final = 5
_MOST_PASSED_WRONG: Final = 5
_MOST_WRAPPED: Final = 20
_MOST_KINDS: Final = 10
_OUTCOME_STYLE: Final[Mapping[Outcome, Style]] = {
    Outcome.PASSED: "good",
    Outcome.FAILED: "bad",
    Outcome.BROKEN: "warn",
    Outcome.NOT_RUN: "warn",
}


def summary_lines(
    results: Sequence[CaseResult],
    *,
    totals: RunTotals | None = None,
    judge: JudgeSpending | None = None,
    expected: int = 0,
    width: int = 100,
    verbosity: int = 0,
    fields: bool = True,
) -> list[Line]:
    """Summarize a run. Broken cases and cases not run are counted apart and take no part in any measure.

    `totals`: those of `results`, if the caller has them. `expected`: number of cases that fail as an xfail mark
    expects. `fields`: list the worst field patterns, too.
    """
    totals = totals_of(results) if totals is None else totals
    lines = [_cases_line(totals, expected)]
    if len(totals.arms) > 1:
        lines += _arm_table(totals.arms)
    if fields:
        lines += _worst_field_lines(totals.fields, width, most=None if verbosity >= 2 else WORST_FIELDS)
    lines += _passed_wrong_lines(totals.passed_wrong, width, verbosity)
    lines += mistake_lines(totals.mistakes, width=width)
    lines += failure_lines(totals)
    lines += wrapped_lines(totals.wrapped, verbosity=verbosity)
    lines += auto_accept_lines(totals.auto_accept.decisions, width=width)
    lines += emptiness_lines(totals.emptiness, width=width, verbosity=verbosity)
    lines += known_lines(totals.known)
    lines += _money_lines(totals.spending)
    lines += _judge_lines(judge or JudgeSpending())
    return lines + _slowest_lines(totals.slowest)


def _cases_line(totals: RunTotals, expected: int) -> Line:
    counts = totals.outcomes
    parts: list[Span] = [Span(plural(totals.cases, "case"), "head"), Span(": ")]
    for index, outcome in enumerate(outcome for outcome in Outcome if counts[outcome]):
        count = counts[outcome]
        parts.append(
            Span(f"{', ' if index else ''}{count:,} {str(outcome).replace('_', ' ')}", _OUTCOME_STYLE[outcome])
        )
    if expected:
        parts.append(Span(f" ({expected:,} as an xfail mark says)"))
    means = totals.means
    parts += [Span(f"; {name} {score_number(value)}") for name, value in means.items()]
    return line(*parts)


def _arm_table(arms: Mapping[str, ArmTotals]) -> list[Line]:
    wide = max(len(arm) for arm in arms)
    head = f"{'':<{wide}}  {'cases':>6} {'passed':>7} {'failed':>7} {'broken':>7} {'not run':>8}"
    lines = [line(Span(head + "".join(f" {name:>10}" for name in MEASURES) + f" {'cost':>10}", "dim"), indent=2)]
    for label, arm in sorted(arms.items()):
        counts, means = arm.outcomes, arm.means
        text = f"{safe_prose(label):<{wide}}  {counts.total():>6,} {counts[Outcome.PASSED]:>7,}"
        text += f" {counts[Outcome.FAILED]:>7,} {counts[Outcome.BROKEN]:>7,} {counts[Outcome.NOT_RUN]:>8,}"
        text += "".join(f" {score_number(means[name]) if name in means else '-':>10}" for name in MEASURES)
        lines.append(line(f"{text} {arm.spending.cost_text:>10}", indent=2))
    return lines


def _worst_field_lines(fields: Mapping[str, PatternCounts], width: int, most: int | None) -> list[Line]:
    bad = worst_patterns(fields)
    if len({case for _, tally in bad for case in tally.cases}) < 2:  # the diff of the only case says it all
        return []
    shown = bad[:most]
    wide = min(max(len(safe_prose(name)) for name, _ in shown), max(width - 40, 20))
    lines = [line(Span("worst fields", "head"))]
    for name, tally in shown:
        kinds = ", ".join(f"{count} {status}" for status, count in tally.statuses.most_common() if status in FAILED)
        row = line(
            f"{safe_prose(name):<{wide}}  ",
            Span(f"{tally.wrong:,} of {tally.total:,} wrong ({percent(tally.wrong / tally.total)})", "bad"),
            f" in {plural(len(tally.cases), 'case')}",
            indent=2,
        )
        fits = len(text_of(row)) + len(kinds) + 2 <= width
        lines.append((*row, Span(f": {kinds}")) if fits else row)
    if len(bad) > len(shown):
        lines.append(line(Span(f"… {plural(len(bad) - len(shown), 'more field')} (-vv shows all)", "dim"), indent=2))
    return lines


def _passed_wrong_lines(passed: Mapping[str, int], width: int, verbosity: int) -> list[Line]:
    """Name the passed cases that have wrong values all the same, those with the most first."""
    if not passed:
        return []
    ordered = sorted(passed.items(), key=lambda item: -item[1])
    named = [f"{nodeid.rpartition('::')[2]} ({count:,})" for nodeid, count in ordered]
    shown = named if verbosity > 0 else named[:_MOST_PASSED_WRONG]
    more = f", and {len(named) - len(shown):,} more (-v shows all)" if len(shown) < len(named) else ""
    cases = plural(len(passed), "passed case has", "passed cases have")
    values = plural(sum(passed.values()), "wrong value")
    return prose(f"{cases} {values}, within the thresholds: {', '.join(shown)}{more}", "warn", indent=0, width=width)


def mistake_lines(mistakes: Mapping[str, int], *, width: int) -> list[Line]:
    """Count the mistakes of a run by kind, the most frequent first."""
    if not mistakes:
        return []
    ordered = sorted(mistakes.items(), key=lambda item: (-item[1], item[0]))
    names = [f"{count:,} {kind.replace('_', ' ')}" for kind, count in ordered[:_MOST_KINDS]]
    left = sum(count for _, count in ordered[_MOST_KINDS:])
    more = f", {left:,} of {plural(len(ordered) - _MOST_KINDS, 'other kind')}" if left else ""
    return prose(f"kinds of mistakes: {', '.join(names)}{more}", "plain", indent=0, width=width)


def failure_lines(totals: RunTotals) -> list[Line]:
    """List why outputs were not scored, and why cases were broken or not run."""
    lines = []
    if totals.unusable:
        kinds = ", ".join(f"{count} {kind}" for kind, count in totals.unusable.most_common())
        lines.append(line(Span("unusable outputs", "head"), ": ", Span(kinds, "bad")))
    for outcome, title in ((Outcome.BROKEN, "broken"), (Outcome.NOT_RUN, "not run")):
        reasons = totals.reasons[outcome].most_common()
        for reason, count in reasons[:_MOST_REASONS]:
            lines.append(line(Span(title, "head"), ": ", Span(f"{plural(count, 'case')}: {reason}", "warn")))
        if left := sum(count for _, count in reasons[_MOST_REASONS:]):
            lines.append(line(Span(title, "head"), ": ", Span(f"{plural(left, 'case')} for other reasons", "warn")))
    return lines


def known_lines(known: KnownTotals) -> list[Line]:
    """Count the values that fail as known, and name the known failures that pass now."""
    lines: list[Line] = []
    if known.values:
        count = f"{plural(known.values, 'value')} in {plural(known.cases, 'case')}"
        lines.append(line(Span("known failures", "head"), f": {count}, not in the verdict"))
    if known.stale:
        more = f", and {len(known.stale) - _MOST_KNOWN:,} more" if len(known.stale) > _MOST_KNOWN else ""
        names = safe_prose(", ".join(known.stale[:_MOST_KNOWN]))
        lines.append(
            line(Span("known failures that pass now", "warn"), f": {names}{more} (take out of known_failures)")
        )
    return lines


def wrapped_lines(totals: WrappedTotals, *, verbosity: int = 0) -> list[Line]:
    """Count the outputs whose text is more than their JSON; with -v name their cases."""
    if not totals.outputs:
        return []
    kinds = ", ".join(f"{count:,} {safe_prose(kind)}" for kind, count in totals.kinds.most_common())
    count = plural(len(totals.outputs), "output")
    lines = [line(Span("not bare JSON", "head"), ": ", Span(f"{count}: {kinds}", "warn"))]
    if verbosity < 1:
        return lines
    shown = totals.outputs if verbosity >= 2 else totals.outputs[:_MOST_WRAPPED]
    lines += [line(safe_prose(f"{nodeid}: {text}"), indent=2) for nodeid, text in shown]
    if len(shown) < len(totals.outputs):
        lines.append(line(f"and {len(totals.outputs) - len(shown):,} more (-vv shows all)", indent=2))
    return lines


def emptiness_lines(totals: EmptinessTotals, *, width: int, verbosity: int = 0) -> list[Line]:
    """Name the cases most of whose passed fields are empty, and count gold values that nothing reaches, and drafts."""
    return [
        *_empty_pass_lines(totals.passes, width, verbosity),
        *_uncompared_lines(totals, width, verbosity),
        *_draft_lines(totals, width),
    ]


def _empty_pass_lines(passes: Mapping[str, EmptyPasses], width: int, verbosity: int) -> list[Line]:
    if not passes:
        return []
    named = [f"{nodeid.rpartition('::')[2]} ({count})" for nodeid, count in passes.items()]
    shown = named if verbosity > 0 else named[:_MOST_EMPTY]
    more = f", and {len(named) - len(shown):,} more (-v shows all)" if len(shown) < len(named) else ""
    head = f"{BY_EMPTINESS}, without a value on either side, in {plural(len(passes), 'case')}:"
    return prose(f"{head} {', '.join(shown)}{more}", "warn", indent=0, width=width)


def _uncompared_lines(totals: EmptinessTotals, width: int, verbosity: int) -> list[Line]:
    cases = totals.uncompared.values()
    if not cases:
        return []
    places: Counter[str] = Counter()
    for case in cases:
        places.update(case.places)
    text = f"{uncompared_text(places, sum(case.total for case in cases))}, in {plural(len(cases), 'case')}"
    lines = prose(text, "warn", indent=0, width=width)
    if verbosity > 0:
        lines += [line(safe_prose(f"{case.case_id}: {case}"), indent=2) for case in cases]
    return lines


def _draft_lines(totals: EmptinessTotals, width: int) -> list[Line]:
    if not totals.drafts:
        return []
    count = len(totals.drafts)
    golds = "1 case has a gold" if count == 1 else f"{count:,} cases have golds"
    text = f"{golds} that nobody has reviewed (pytest-extract review): no evidence for the regression gate"
    return prose(text, "warn", indent=0, width=width)


def _judge_lines(judge: JudgeSpending) -> list[Line]:
    if not judge.calls:
        return []
    return [line(f"judge: {plural(judge.calls, 'call')}, {plural(judge.tokens, 'token')}, cost: {judge.cost_text}")]


def _money_lines(spent: Spending) -> list[Line]:
    parts = []
    if spent.prompt_tokens or spent.completion_tokens:
        parts.append(f"tokens: {spent.prompt_tokens:,} in, {spent.completion_tokens:,} out")
    if spent.calls > spent.unpriced:
        unpriced = f" ({plural(spent.unpriced, 'call')} without a known price not counted)" if spent.unpriced else ""
        parts.append(f"cost: {spent.cost_text}{unpriced}")
    elif parts and spent.calls:
        parts.append("cost: unknown, no call has a known price")
    if spent.recorded:
        parts.append(f"{plural(spent.recorded, 'output')} recorded earlier, nothing spent on them now")
    return [line("; ".join(parts))] if parts else []


def _slowest_lines(slow: Sequence[tuple[float, str]]) -> list[Line]:
    if not slow or slow[0][0] < 0.1:
        return []
    cases = ", ".join(f"{safe_prose(nodeid.rpartition('::')[2])} {seconds:.1f} s" for seconds, nodeid in slow)
    return [line("slowest: ", cases)]


def forecast_lines(forecasts: Sequence[Forecast]) -> list[Line]:
    """Estimate the calls and the cost of a run before any call."""
    calls = sum(one.calls for one in forecasts)
    recorded = sum(one.recorded for one in forecasts)
    unpriced = sum(one.calls for one in forecasts if one.cost_usd is None)
    cost = sum(one.cost_usd or 0.0 for one in forecasts)
    lines = [line(Span(plural(len(forecasts), "case"), "head"), f": {plural(calls, 'call')}, {recorded:,} recorded")]
    if unpriced < calls or not calls:
        lines.append(line(f"cost: about ${cost:,.4f}"))
    if unpriced:
        lines.append(line(Span(f"{plural(unpriced, 'call')} without a known price, not counted", "warn")))
    return lines
