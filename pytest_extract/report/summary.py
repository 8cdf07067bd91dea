"""A whole run as lines: cases, measures, a line per variant, worst field patterns, failures, tokens, cost, slowest."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from pytest_extract.core.case_result import CaseResult, Origin, Outcome, Spending
from pytest_extract.core.judges import GIVE_A_JUDGE
from pytest_extract.core.results import RuleStatus
from pytest_extract.core.uncompared import uncompared_text
from pytest_extract.report.confidence import auto_accept_lines
from pytest_extract.report.lines import (
    Line,
    Span,
    Style,
    Table,
    line,
    listed,
    percent,
    plural,
    prose,
    safe_prose,
    shorten,
)
from pytest_extract.report.totals import (
    BY_EMPTINESS,
    MEASURES,
    NO_VARIANT,
    EmptinessTotals,
    Forecast,
    KnownTotals,
    PatternCounts,
    RuleTotals,
    RunTotals,
    VariantTotals,
    WrappedTotals,
    counted_total,
    failed_text,
    measure_text,
    order_text,
    totals_of,
    worst_patterns,
    wrong_count,
)
from pytest_extract.run_case import cannot_fail_text

if TYPE_CHECKING:
    from pytest_extract.core.mistakes.output import NamingLimit

WORST_FIELDS: Final = 10
_VERY_VERBOSE: Final = " (-vv shows all)"
_MOST_REASONS: Final = 3
_MOST_KNOWN: Final = 5
_MOST_CASES: Final = 5
_MOST_WRAPPED: Final = 20
_MOST_KINDS: Final = 10
_MOST_RULE_CASES: Final = 5
_MOST_LISTS: Final = 5
_MOST_ADJUSTMENTS: Final = 10
_LONGEST_ADJUSTMENT: Final = 300
_KEPT: Final = frozenset({RuleStatus.HELD, RuleStatus.NOT_APPLICABLE})
_RULE_WORDS: Final = {
    RuleStatus.HELD: "holds in",
    RuleStatus.BROKEN: "broken in",
    RuleStatus.UNCHECKED: "cannot be checked in",
    RuleStatus.NOT_APPLICABLE: "does not apply in",
}
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
    judge: Spending | None = None,
    reruns: Spending | None = None,
    expected: int = 0,
    width: int = 100,
    verbosity: int = 0,
    fields: bool = True,
    golds: bool = True,
    diffs: bool = True,
) -> list[Line]:
    """Summarize a run. Broken cases and cases not run are counted apart and take no part in any measure.

    `totals`: those of `results`, if the caller has them. `reruns`: spent before reruns. `expected`: number of cases
    that fail as an xfail mark expects. `fields`: list the worst field patterns, too. `golds`: every case has one to be
    compared with; else no score is told. `diffs`: the reader sees the diffs of failing cases, so that only fields that
    are wrong in several cases are news.
    """
    totals = totals_of(results) if totals is None else totals
    lines: list[Line] = []
    if golds:
        lines.append(_cases_line(totals, expected))
        if len(totals.variants) > 1:
            lines += variant_table(totals.variants).lines(width)
        if fields:
            most = None if verbosity >= 2 else WORST_FIELDS
            lines += _worst_field_lines(totals.fields, width, most=most, diffs=diffs)
        lines += _passed_wrong_lines(totals.passed_wrong, width, verbosity)
        lines += mistake_lines(totals.mistakes, totals.naming_limit, width=width)
    lines += failure_lines(totals, width=width)
    lines += wrapped_lines(totals.wrapped, verbosity=verbosity)
    lines += _break_off_lines(results, width)
    lines += order_lines(totals.reordered)
    lines += rule_lines(totals.rules, width=width, verbosity=verbosity)
    lines += auto_accept_lines(totals.auto_accept.decisions, width=width)
    lines += emptiness_lines(totals.emptiness, width=width, verbosity=verbosity)
    lines += known_lines(totals.known)
    lines += origin_lines(totals)
    if Origin.SYNTHETIC in totals.apart:
        from pytest_extract.report.slices import altered_tables

        lines += [each for table in altered_tables(results) for each in table.lines(width)]
    lines += adjustment_lines(totals.adjustments, width)
    lines += _money_lines(totals.spending, reruns or Spending())
    lines += _judge_lines(judge or Spending())
    return lines + _slowest_lines(totals.slowest, width)


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
    parts += [Span(f"; {' '.join(measure_text(name, value))}") for name, value in means.items()]
    return line(*parts)


def variant_table(variants: Mapping[str, VariantTotals]) -> Table:
    """Write the variants of a run as a table: counts of outcomes, means and cost."""
    rows = []
    for label, variant in sorted(variants.items()):
        counts, means = variant.outcomes, variant.means
        figures = [f"{count:,}" for count in (counts.total(), *(counts[each] for each in _OUTCOME_STYLE))]
        scores = [measure_text(name, means[name])[1] if name in means else "-" for name in MEASURES]
        rows.append((label, *figures, *scores, variant.spending.cost_text))
    outcomes = [str(each).replace("_", " ") for each in _OUTCOME_STYLE]
    return Table(("", "cases", *outcomes, *(measure_text(name, 0.0)[0] for name in MEASURES), "cost"), rows)


def worst_fields_table(bad: Sequence[tuple[str, PatternCounts]], variants: Sequence[str] = ()) -> Table:
    """Write the fields that failed as a table; `variants`: those that have each a column for what is wrong."""
    rows = [
        (
            name,
            *(
                [_wrong_text(tally.statuses)]
                if not variants
                else [_wrong_text(tally.variants.get(variant, {})) for variant in variants]
            ),
            f"{len(tally.cases):,}",
            failed_text(tally),
        )
        for name, tally in bad
    ]
    wrong = [f"wrong in {variant or NO_VARIANT}" for variant in variants] or ["wrong"]
    return Table(("field", *wrong, "cases", "how"), rows)


def _wrong_text(statuses: Mapping[str, int]) -> str:
    wrong, total = wrong_count(statuses), counted_total(statuses)
    return f"{wrong:,} of {total:,} ({percent(wrong / total)})" if total else "-"


def _worst_field_lines(fields: Mapping[str, PatternCounts], width: int, *, most: int | None, diffs: bool) -> list[Line]:
    bad = worst_patterns(fields)
    telling = [each for each in bad if len(each[1].cases) > 1] if diffs else bad
    if not telling:
        return []
    shown = bad if most is None else telling
    table = worst_fields_table(shown).first(most, "field", _VERY_VERBOSE)
    single = len(bad) - len(shown)
    notes = [*table.notes, *([f"{plural(single, 'field')} wrong in one case only{_VERY_VERBOSE}"] if single else [])]
    return [line(Span("worst fields", "head")), *replace(table, notes=notes).lines(width)]


def _passed_wrong_lines(passed: Mapping[str, int], width: int, verbosity: int) -> list[Line]:
    """Name the passed cases that have wrong values all the same, those with the most first."""
    if not passed:
        return []
    ordered = sorted(passed.items(), key=lambda item: -item[1])
    named = [f"{nodeid.rpartition('::')[2]} ({count:,})" for nodeid, count in ordered]
    cases = plural(len(passed), "passed case has", "passed cases have")
    values = plural(sum(passed.values()), "wrong value")
    text = f"{cases} {values}, within the thresholds: {_all_if_verbose(named, verbosity)}"
    return prose(text, "warn", indent=0, width=width)


def _all_if_verbose(names: Sequence[str], verbosity: int) -> str:
    hint = " (-v shows all)" if verbosity < 1 and len(names) > _MOST_CASES else ""
    return listed(names, len(names) if verbosity > 0 else _MOST_CASES) + hint


def mistake_lines(mistakes: Mapping[str, int], limit: NamingLimit | None, *, width: int) -> list[Line]:
    """Count the mistakes of a run by kind, the most frequent first; `limit` counts the wrong values without a name."""
    if not mistakes:
        return []
    ordered = sorted(mistakes.items(), key=lambda item: (-item[1], item[0]))
    names = [f"{count:,} {kind.replace('_', ' ')}" for kind, count in ordered[:_MOST_KINDS]]
    left = sum(count for _, count in ordered[_MOST_KINDS:])
    more = f", {left:,} of {plural(len(ordered) - _MOST_KINDS, 'other kind')}" if left else ""
    first = f"; {limit}" if limit is not None else ""
    return prose(f"kinds of mistakes: {', '.join(names)}{more}{first}", "plain", indent=0, width=width)


def failure_lines(totals: RunTotals, *, width: int) -> list[Line]:
    """List why outputs were not scored, and why cases were broken or not run."""
    lines = []
    if totals.without_judge:
        needs = (
            "1 case is broken because it needs"
            if totals.without_judge == 1
            else (f"{totals.without_judge:,} cases are broken because they need")
        )
        text = f"{needs} a judge for semantic comparisons and the run has none: {GIVE_A_JUDGE}"
        lines += prose(text, "warn", indent=0, width=width)
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
        names = safe_prose(listed(known.stale, _MOST_KNOWN))
        lines.append(line(Span("known failures that pass now", "warn"), f": {names} (take out of known_failures)"))
    return lines


def origin_lines(totals: RunTotals) -> list[Line]:
    """Count the cases that headline rates and the regression gate leave out, by origin."""
    has_samples = totals.cases > sum(counts.total() for counts in totals.apart.values())
    lines = []
    for origin, counts in totals.apart.items():
        outcomes = ", ".join(f"{counts[each]:,} {str(each).replace('_', ' ')}" for each in Outcome if counts[each])
        text = f": {outcomes}; {'not in the rates above' if has_samples else 'no case is a sample, so these count'}"
        lines.append(line(Span(f"{origin} {'cases' if counts.total() > 1 else 'case'}", "head"), text))
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


def _break_off_lines(results: Sequence[CaseResult], width: int) -> list[Line]:
    if not any(array.missing for result in results for score in result.scores for array in score.arrays):
        return []
    from pytest_extract.core.aggregate.slices import list_recalls  # most runs lack no rows
    from pytest_extract.report.slices import list_lines

    return list_lines(list_recalls(results), width=width)


def order_lines(lists: Mapping[str, int]) -> list[Line]:
    """Count the lists of values that stand in another order than gold's, and name their places."""
    if not lists:
        return []
    ranked = sorted(lists.items(), key=lambda item: -item[1])
    named = listed([f"{pattern} ({count:,})" for pattern, count in ranked], _MOST_LISTS, "places")
    return [line(Span("order", "head"), f": {order_text(sum(lists.values()))}: {safe_prose(named)}")]


def rule_lines(totals: RuleTotals, *, width: int, verbosity: int = 0) -> list[Line]:
    """Count the outputs that keep each rule across fields, unless all do; name a rule that was compared nowhere."""
    if not totals.statuses:
        return []
    kept = {
        name: counts for name, counts in totals.statuses.items() if set(counts) <= _KEPT and counts[RuleStatus.HELD]
    }
    if len(kept) == len(totals.statuses) and verbosity < 1:
        return []
    head = f"{len(kept):,} of {plural(len(totals.statuses), 'rule')} {'holds' if len(kept) == 1 else 'hold'} everywhere"
    lines = [line(Span("rules", "head"), ": ", Span(head, "good" if len(kept) == len(totals.statuses) else "bad"))]
    for name, counts in totals.statuses.items():
        if name in kept and verbosity < 1:
            continue
        if not counts.keys() - {RuleStatus.NOT_APPLICABLE}:
            text = f"applied in none of {plural(counts.total(), 'output')}: nothing was compared"
        else:
            text = ", ".join(f"{_RULE_WORDS[status]} {counts[status]:,}" for status in RuleStatus if counts[status])
            text = f"{text} of {plural(counts.total(), 'output')}"
        cases = totals.cases[name]
        where = f" ({listed(cases, _MOST_RULE_CASES)})" if cases else ""
        lines += prose(f"{name}: {text}{where}", "plain" if name in kept else "warn", indent=2, width=width)
    return lines


def emptiness_lines(totals: EmptinessTotals, *, width: int, verbosity: int = 0) -> list[Line]:
    """Name the cases most of whose passed fields are empty, and count gold values that nothing reaches, and drafts."""
    texts = []
    if totals.passes:
        named = [f"{nodeid.rpartition('::')[2]} ({count})" for nodeid, count in totals.passes.items()]
        head = f"{BY_EMPTINESS}, without a value on either side, in {plural(len(named), 'case')}:"
        texts.append(f"{head} {_all_if_verbose(named, verbosity)}")
    if totals.uncompared:
        cases = totals.uncompared
        places = sum((Counter(places) for places, _ in cases.values()), Counter[str]())
        total = sum(total for _, total in cases.values())
        texts.append(f"{uncompared_text(places, total)}, in {plural(len(cases), 'case')}")
        texts += [f"  {case_id}: {uncompared_text(*of)}" for (_, case_id), of in cases.items() if verbosity > 0]
    if totals.cannot_fail:
        count = len(set[tuple[str, str]]().union(*totals.cannot_fail.values()))
        texts.append(f"{cannot_fail_text([*totals.cannot_fail])}, in {plural(count, 'case')}")
    if totals.drafts:
        golds = plural(len(totals.drafts), "case has a gold", "cases have golds")
        texts.append(f"{golds} that nobody has reviewed (pytest-extract review): no evidence for the regression gate")
    return [each for text in texts for each in prose(text, "warn", indent=0, width=width)]


def adjustment_lines(adjustments: Mapping[str, int], width: int) -> list[Line]:
    """Say what of the requests was changed for models."""
    texts = [
        f"{shorten(text, _LONGEST_ADJUSTMENT)} (in {plural(count, 'case')})" for text, count in adjustments.items()
    ]
    left = len(texts) - _MOST_ADJUSTMENTS
    shown = sorted(texts)[:_MOST_ADJUSTMENTS] + ([f"and {left:,} more changes of requests"] if left > 0 else [])
    return [each for text in shown for each in prose(text, "warn", indent=0, width=width)]


def _judge_lines(judge: Spending) -> list[Line]:
    if not judge.calls:
        return []
    told = f"judge: {plural(judge.calls, 'call')}, {plural(judge.tokens, 'token')}, cost: {judge.cost_text}"
    return [line(told + (f" ({_unknown_text(judge)} not counted)" if judge.uncounted else ""))]


def spending_facts(spent: Spending, reruns: Spending) -> list[tuple[str, str, str]]:
    """Return what a run took: names, values, and notes on them; `reruns` is a part of `spent`."""
    facts = []
    if spent.prompt_tokens or spent.completion_tokens:
        facts.append(("tokens", f"{spent.prompt_tokens:,} in, {spent.completion_tokens:,} out", ""))
    if spent.calls > spent.unpriced:
        notes = [f"{reruns.cost_text} of it for {plural(reruns.calls, 'call')} before reruns"] if reruns.calls else []
        notes += [f"{_unknown_text(spent)} not counted"] if spent.unpriced else []
        facts.append(("cost", spent.cost_text, ", ".join(notes)))
    elif spent.uncounted:
        facts.append(("cost", "unknown", _unknown_text(spent)))
    elif facts and spent.calls:
        facts.append(("cost", "unknown", "no call has a known price"))
    if spent.recorded:
        facts.append(("recorded earlier", plural(spent.recorded, "output"), "nothing spent on them now"))
    return facts


def _money_lines(spent: Spending, reruns: Spending) -> list[Line]:
    facts = spending_facts(spent + reruns, reruns)
    parts = [f"{name}: {value}{f' ({note})' if note else ''}" for name, value, note in facts]
    return [line("; ".join(parts))] if parts else []


def _unknown_text(spent: Spending) -> str:
    return ", ".join(f"{plural(count, 'call')} {what}" for count, what in spent.unknown)


def _slowest_lines(slow: Sequence[tuple[float, str]], width: int) -> list[Line]:
    if not slow or slow[0][0] < 0.1:
        return []
    cases = ", ".join(f"{safe_prose(nodeid.rpartition('::')[2])} {seconds:.1f} s" for seconds, nodeid in slow)
    return prose(f"slowest: {cases}", "plain", indent=0, width=width)


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
