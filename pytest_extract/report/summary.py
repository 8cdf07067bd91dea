"""A whole run as lines: cases, measures, a line per arm, worst field patterns, failures, tokens, cost, slowest."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from pytest_extract.core.case_result import CaseResult, Outcome
from pytest_extract.report.emptiness import emptiness_lines
from pytest_extract.report.findings import FAILING
from pytest_extract.report.known_failures import known_lines
from pytest_extract.report.lines import Line, Span, Style, line, number, plural, safe_prose, text_of
from pytest_extract.report.pattern_counts import MEASURES, PatternCounts, worst_first
from pytest_extract.report.totals import ArmTotals, RunTotals, Spending, totals_of
from pytest_extract.report.values import percent
from pytest_extract.report.wrapping import wrapped_lines

WORST_FIELDS: Final = 10
_REASONS: Final = 3
_STYLE: Final[Mapping[Outcome, Style]] = {
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
    """Tell a run. Broken cases and cases not run are counted apart and take no part in any measure.

    `totals` are those of `results`, where they are known. `expected` of the cases that are not green were marked to be
    so (xfail). `fields`: tell the worst of them, too.
    """
    totals = totals_of(results) if totals is None else totals
    lines = [_cases_line(totals, expected)]
    if len(totals.arms) > 1:
        lines += _arm_table(totals.arms)
    if fields:
        lines += _field_lines(totals.fields, width, most=None if verbosity >= 2 else WORST_FIELDS)
    lines += failure_lines(totals)
    lines += wrapped_lines(totals.wrapped, verbosity=verbosity)
    lines += emptiness_lines(totals.emptiness, width=width, verbosity=verbosity)
    lines += known_lines(totals.known)
    lines += _money_lines(totals.spending)
    lines += _judge_lines(judge or JudgeSpending())
    return lines + _slowest_lines(totals.slowest)


def _cases_line(totals: RunTotals, expected: int) -> Line:
    counts = totals.outcomes
    parts: list[Span] = [Span(plural(totals.cases, "case"), "head"), Span(": ")]
    told = [(outcome, counts[outcome]) for outcome in Outcome if counts[outcome]]
    for index, (outcome, count) in enumerate(told):
        parts.append(Span(f"{', ' if index else ''}{count:,} {str(outcome).replace('_', ' ')}", _STYLE[outcome]))
    if expected:
        parts.append(Span(f" ({expected:,} as an xfail mark says)"))
    means = totals.means
    parts += [Span(f"; {name} {number(round(value, 4))}") for name, value in means.items()]
    return line(*parts)


def _arm_table(arms: Mapping[str, ArmTotals]) -> list[Line]:
    wide = max(len(arm) for arm in arms)
    head = f"{'':<{wide}}  {'cases':>6} {'passed':>7} {'failed':>7} {'broken':>7} {'not run':>8}"
    lines = [line(Span(head + "".join(f" {name:>10}" for name in MEASURES) + f" {'cost':>10}", "dim"), indent=2)]
    for label, arm in sorted(arms.items()):
        counts, means = arm.outcomes, arm.means
        text = f"{safe_prose(label):<{wide}}  {counts.total():>6,} {counts[Outcome.PASSED]:>7,}"
        text += f" {counts[Outcome.FAILED]:>7,} {counts[Outcome.BROKEN]:>7,} {counts[Outcome.NOT_RUN]:>8,}"
        text += "".join(f" {number(round(means[name], 4)) if name in means else '-':>10}" for name in MEASURES)
        lines.append(line(f"{text} {arm.spending.cost_text:>10}", indent=2))
    return lines


def _field_lines(fields: Mapping[str, PatternCounts], width: int, most: int | None) -> list[Line]:
    bad = worst_first(fields)
    if not bad:
        return []
    shown = bad[:most]
    wide = min(max(len(safe_prose(name)) for name, _ in shown), max(width - 40, 20))
    lines = [line(Span("worst fields", "head"))]
    for name, tally in shown:
        kinds = ", ".join(f"{count} {status}" for status, count in tally.statuses.most_common() if status in FAILING)
        told = line(
            f"{safe_prose(name):<{wide}}  ",
            Span(f"{tally.wrong:,} of {tally.total:,} wrong ({percent(tally.wrong / tally.total)})", "bad"),
            f" in {plural(len(tally.cases), 'case')}",
            indent=2,
        )
        fits = len(text_of(told)) + len(kinds) + 2 <= width
        lines.append((*told, Span(f": {kinds}")) if fits else told)
    if len(bad) > len(shown):
        lines.append(line(Span(f"… {plural(len(bad) - len(shown), 'more field')} (-vv shows all)", "dim"), indent=2))
    return lines


def failure_lines(totals: RunTotals) -> list[Line]:
    """Tell what kept outputs from being scored, and what kept cases from having any."""
    lines = []
    if totals.unusable:
        told = ", ".join(f"{count} {kind}" for kind, count in totals.unusable.most_common())
        lines.append(line(Span("unusable outputs", "head"), ": ", Span(told, "bad")))
    for outcome, title in ((Outcome.BROKEN, "broken"), (Outcome.NOT_RUN, "not run")):
        reasons = totals.reasons[outcome].most_common()
        for reason, count in reasons[:_REASONS]:
            lines.append(line(Span(title, "head"), ": ", Span(f"{plural(count, 'case')}: {reason}", "warn")))
        if left := sum(count for _, count in reasons[_REASONS:]):
            lines.append(line(Span(title, "head"), ": ", Span(f"{plural(left, 'case')} for other reasons", "warn")))
    return lines


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeSpending:
    """What the judge's model has used; `unpriced` calls are those without a known price."""

    calls: int = 0
    unpriced: int = 0
    cost_usd: float = 0.0
    tokens: int = 0

    def __add__(self, other: JudgeSpending) -> JudgeSpending:
        return JudgeSpending(
            calls=self.calls + other.calls,
            unpriced=self.unpriced + other.unpriced,
            cost_usd=self.cost_usd + other.cost_usd,
            tokens=self.tokens + other.tokens,
        )

    @property
    def cost_text(self) -> str:
        """The cost as text; `unknown` when not one call has a price."""
        return "unknown" if self.unpriced == self.calls else f"${self.cost_usd:,.4f}"

    def __sub__(self, other: JudgeSpending) -> JudgeSpending:
        return JudgeSpending(
            calls=self.calls - other.calls,
            unpriced=self.unpriced - other.unpriced,
            cost_usd=self.cost_usd - other.cost_usd,
            tokens=self.tokens - other.tokens,
        )


def _judge_lines(judge: JudgeSpending) -> list[Line]:
    if not judge.calls:
        return []
    told = f"judge: {plural(judge.calls, 'call')}, {plural(judge.tokens, 'token')}, cost: {judge.cost_text}"
    return [line(told)]


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
    told = ", ".join(f"{safe_prose(nodeid.rpartition('::')[2])} {seconds:.1f} s" for seconds, nodeid in slow)
    return [line("slowest: ", told)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Forecast:
    """What running one case would take: calls, outputs that are recorded, and dollars (None: no known price)."""

    calls: int
    recorded: int
    cost_usd: float | None


def forecast_lines(forecasts: Sequence[Forecast]) -> list[Line]:
    """Tell what a run would take, without having called anything."""
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
