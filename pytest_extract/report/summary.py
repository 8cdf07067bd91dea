"""A run summed up in one pass, and its totals as lines: cases, measures, variants, worst fields, failures, cost."""

from __future__ import annotations

import heapq
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import fsum
from typing import TYPE_CHECKING, Final, NamedTuple

from pytest_extract.core.aggregate.confidence import CONFIDENCE, AutoAcceptDecision, AutoAcceptTotals, Shown
from pytest_extract.core.case_result import Breach, CaseResult, Origin, Outcome, Spending, Variant
from pytest_extract.core.judges import GIVE_A_JUDGE, WITHOUT_JUDGE
from pytest_extract.core.results import RuleStatus, ScoreRecord, Status, is_covered
from pytest_extract.core.uncompared import uncompared_text
from pytest_extract.core.values import nearly, pattern_of
from pytest_extract.report.findings import FAILED, failed_results, passing_known_failures, split_known
from pytest_extract.report.lines import (
    NO_VARIANT,
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
    score_number,
    shorten,
)
from pytest_extract.run_case import cannot_fail_text

if TYPE_CHECKING:
    from pytest_extract.core.mistakes.output import NamingLimit

SLOWEST: Final = 3
_LONGEST_REASON: Final = 90


MEASURES: Final = ("pass_rate", "f1")
"""The measures that every report shows of runs, variants and cases; the results file has the others."""


def measure_text(name: str, value: float) -> tuple[str, str]:
    """Return how people read a measure: its name and its value. `pass_rate` is the share of fields that are right."""
    return ("fields right", percent(value)) if name == "pass_rate" else (name, score_number(value))


def reason_of(result: CaseResult) -> str:
    """Return why a case is not green: the bounds that it misses, or why there is no result."""
    bounds = "; ".join(breach.message for breach in result.breaches)
    return bounds or result.why or str(result.outcome).replace("_", " ")


NO_VALUES: Final = frozenset({"max_cost_usd", "max_latency_s", "rules", "rules_held"})
"""Kinds of bounds toward which no value counts."""
_BESIDE_FIELDS: Final = NO_VALUES | {"grounded", "gold", "known_failures"}
"""Kinds of bounds that an output can miss in which every field is right."""


def other_breaches(result: CaseResult) -> list[Breach]:
    """Return the missed bounds of a case and of its repeats that its failing fields do not explain."""
    missed = (*result.breaches, *(breach for attempt in result.attempts for breach in attempt.breaches))
    return [*dict.fromkeys(breach for breach in missed if breach.what.partition(".")[0] in _BESIDE_FIELDS)]


def read_scores(result: CaseResult) -> list[ScoreRecord]:
    """Return the scores of the outputs that were scored field by field: those that could be read."""
    return [score for score in result.scores if score.readable]


@dataclass(slots=True)
class PatternCounts:
    """Leaf results of one field pattern over all cases, by status and by variant; `lost`: the sum of 1 - score."""

    statuses: Counter[str] = field(default_factory=Counter)
    variants: dict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    cases: set[str] = field(default_factory=set)
    lost: float = 0.0

    @property
    def wrong(self) -> int:
        """Results that failed."""
        return wrong_count(self.statuses)

    @property
    def total(self) -> int:
        """Results that failed or matched."""
        return counted_total(self.statuses)


def wrong_count(statuses: Mapping[str, int]) -> int:
    """Count the results that failed."""
    return sum(statuses.get(status, 0) for status in FAILED)


def counted_total(statuses: Mapping[str, int]) -> int:
    """Count the results that failed or matched."""
    return wrong_count(statuses) + statuses.get("match", 0)


def add_leaf_results(patterns: dict[str, PatternCounts], result: CaseResult) -> None:
    """Count the leaf results of a case by field pattern, without known failures and outputs that could not be read."""
    for score in read_scores(result):
        for leaf in score.leaves:
            if is_covered(leaf, result.known):
                continue
            tally = patterns.setdefault(leaf.pattern, PatternCounts())
            tally.statuses[leaf.status] += 1
            tally.variants[result.variant.label][leaf.status] += 1
            if leaf.status in FAILED:
                tally.cases.add(result.nodeid)
                tally.lost += 1 - leaf.score


def failed_text(tally: PatternCounts) -> str:
    """Count the failures of a field by their status: `2 mismatch, 1 omission`."""
    return ", ".join(f"{count:,} {status}" for status, count in tally.statuses.most_common() if status in FAILED)


def worst_patterns(found: Mapping[str, PatternCounts]) -> list[tuple[str, PatternCounts]]:
    """Return the patterns with failures, sorted by lost score, then by share of failures, then by name."""
    bad = ((name, tally) for name, tally in found.items() if tally.wrong)
    return sorted(bad, key=lambda item: (-item[1].lost, -item[1].wrong / item[1].total, item[0]))


BY_EMPTINESS: Final = "right by emptiness"


class EmptyPasses(NamedTuple):
    """Passed field results of an output, and how many of them have no value on either side (`empty`).

    `compared`: whether any field was compared.
    """

    empty: int
    passed: int
    compared: bool

    @classmethod
    def of(cls, score: ScoreRecord) -> EmptyPasses:
        """Count the field results of a score."""
        compared = any(result.status is not Status.SKIPPED for result in (*score.fields, *score.leaves))
        return cls(score.empty_passes, sum(result.passed for result in score.fields), compared)

    @property
    def is_most(self) -> bool:
        """Whether the pass rate says little: nothing was compared, or most of what passed is empty on both sides."""
        return not self.compared or self.empty > self.passed - self.empty

    def __str__(self) -> str:
        if not self.compared:
            return "nothing was compared"
        return f"{self.empty:,} of {plural(self.passed, 'passed field')}"


def mostly_empty(result: CaseResult) -> EmptyPasses | None:
    """Return the passes of the first repeat whose passes are mostly empty; None if no repeat is like that."""
    return next((passes for passes in map(EmptyPasses.of, read_scores(result)) if passes.is_most), None)


def uncompared_places(result: CaseResult) -> tuple[Mapping[str, int], int]:
    """Return the gold values of a case that no comparison reaches, by pattern, and the number of all of them."""
    return result.uncompared, result.shape.get("leaves", 0)


@dataclass(slots=True)
class EmptinessTotals:
    """Cases of a run whose passes are mostly empty, by node id; gold values that no comparison reaches, by case.

    `cannot_fail`: fields of which no wrong value fails a case, and the cases.
    `drafts`: the cases whose golds nobody has reviewed.
    """

    passes: dict[str, EmptyPasses] = field(default_factory=dict)
    uncompared: dict[tuple[str, str], tuple[Mapping[str, int], int]] = field(default_factory=dict)
    cannot_fail: dict[str, set[tuple[str, str]]] = field(default_factory=lambda: defaultdict(set))
    drafts: dict[tuple[str, str], None] = field(default_factory=dict)

    @classmethod
    def of(cls, results: Iterable[CaseResult]) -> EmptinessTotals:
        """Add up cases."""
        totals = cls()
        for result in results:
            totals.add(result)
        return totals

    def add(self, result: CaseResult) -> None:
        """Add a case."""
        if (passes := mostly_empty(result)) is not None:
            self.passes[result.nodeid] = passes
        if result.uncompared:
            self.uncompared[result.file, result.case_id] = uncompared_places(result)
        for pattern in result.cannot_fail:
            self.cannot_fail[pattern].add((result.file, result.case_id))
        if result.draft:
            self.drafts[result.file, result.case_id] = None


@dataclass(slots=True)
class KnownTotals:
    """Known failures of a run: failing values and their number of cases, and `stale` ones, which pass now."""

    values: int = 0
    cases: int = 0
    stale: list[str] = field(default_factory=list)

    def add(self, result: CaseResult) -> None:
        """Add a case."""
        scores = read_scores(result)
        if not result.known or not scores:
            return
        known = [split_known(score, result.known).known for score in scores]
        failing = sum(len(failed_results(results)) for results in known)
        self.values += failing
        self.cases += failing > 0
        passing = [passing_known_failures(results, result.known) for results in known]
        stale = [place for place in passing[0] if all(place in places for places in passing)]
        self.stale += [f"{place} ({result.nodeid.rpartition('::')[2]})" for place in stale]


@dataclass(slots=True)
class WrappedTotals:
    """Outputs with more than bare JSON (a code fence, prose, reasoning): counted by kind, and described one by one."""

    kinds: Counter[str] = field(default_factory=Counter)
    outputs: list[tuple[str, str]] = field(default_factory=list)

    def add(self, result: CaseResult) -> None:
        """Add a case."""
        for attempt in result.attempts:
            if attempt.score is not None and attempt.score.wrapped:
                self.kinds.update(attempt.score.wrapped.keys())
                self.outputs.append((result.nodeid, "; ".join(attempt.score.wrapped.values())))


def order_text(lists: int) -> str:
    """Say that lists of values have the right values in another order."""
    return f"{plural(lists, 'list stands', 'lists stand')} in another order, not compared"


@dataclass(slots=True)
class RuleTotals:
    """Rules across fields, by name: the outputs in each status, and the cases in which it does not hold."""

    statuses: dict[str, Counter[RuleStatus]] = field(default_factory=lambda: defaultdict(Counter))
    cases: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))

    def add(self, result: CaseResult) -> None:
        """Add a case."""
        for score in result.scores:
            for rule in score.rules:
                self.statuses[rule.name][rule.status] += 1
                named = self.cases[rule.name]
                if rule.status in (RuleStatus.BROKEN, RuleStatus.UNCHECKED) and named[-1:] != [result.case_id]:
                    named.append(result.case_id)


@dataclass(frozen=True, slots=True, kw_only=True)
class Forecast:
    """Expected calls and cost of one case (None: no known price), and its number of recorded outputs."""

    calls: int
    recorded: int
    cost_usd: float | None


@dataclass(slots=True)
class VariantTotals:
    """The cases of one variant: outcomes, the `MEASURES` of each case, and spending.

    `apart`: the measures of cases that are no samples, which count where no case is one.
    """

    variant: Variant
    outcomes: Counter[Outcome] = field(default_factory=Counter)
    measures: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    apart: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    spending: Spending = field(default_factory=Spending)

    @property
    def means(self) -> dict[str, float]:
        """Means over the cases, without measures that no case has."""
        return _means([self])


def _means(variants: Iterable[VariantTotals]) -> dict[str, float]:
    every = list(variants)
    parts = [each.measures for each in every if each.measures] or [each.apart for each in every]
    values = {name: [value for part in parts for value in part.get(name, ())] for name in MEASURES}
    return {name: fsum(found) / len(found) for name, found in values.items() if found}


@dataclass(slots=True)
class RunTotals:
    """The cases of a run.

    `variants` by label. `fields`: leaf results by pattern. `unusable`: failures of outputs. `reasons`: why cases were
    broken or not run, except the cases `without_judge`, which need a judge where none is configured. `passed_wrong`:
    wrong values of passed cases, by node id. `adjustments`: cases by what of their requests was changed for a model.
    `reordered`: lists of values in another order than gold's, by pattern.
    `slowest`: seconds and node id, the slowest first. `repeated`: whether a case was run twice. `apart`: outcomes of
    the cases that are no samples, by origin.
    """

    variants: dict[str, VariantTotals] = field(default_factory=dict)
    fields: dict[str, PatternCounts] = field(default_factory=dict)
    unusable: Counter[str] = field(default_factory=Counter)
    reasons: Mapping[Outcome, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    without_judge: int = 0
    known: KnownTotals = field(default_factory=KnownTotals)
    emptiness: EmptinessTotals = field(default_factory=EmptinessTotals)
    wrapped: WrappedTotals = field(default_factory=WrappedTotals)
    rules: RuleTotals = field(default_factory=RuleTotals)
    reordered: Counter[str] = field(default_factory=Counter)
    auto_accept: AutoAcceptTotals = field(default_factory=AutoAcceptTotals)
    mistakes: Counter[str] = field(default_factory=Counter)
    naming_limit: NamingLimit | None = None
    passed_wrong: dict[str, int] = field(default_factory=dict)
    adjustments: Counter[str] = field(default_factory=Counter)
    slowest: list[tuple[float, str]] = field(default_factory=list)
    repeated: bool = False
    apart: dict[Origin, Counter[Outcome]] = field(default_factory=lambda: defaultdict(Counter))

    @property
    def cases(self) -> int:
        """Number of cases, each variant's counted by itself."""
        return self.outcomes.total()

    @property
    def outcomes(self) -> Counter[Outcome]:
        """Cases by outcome."""
        return sum((variant.outcomes for variant in self.variants.values()), Counter())

    @property
    def means(self) -> dict[str, float]:
        """Means over the cases of all variants."""
        return _means(self.variants.values())

    @property
    def spending(self) -> Spending:
        """Spending of all variants."""
        return sum((variant.spending for variant in self.variants.values()), Spending())

    def add(self, result: CaseResult) -> None:
        """Add a case."""
        self.auto_accept.add(result)
        variant = self.variants.setdefault(result.variant.label, VariantTotals(result.variant))
        variant.outcomes[result.outcome] += 1
        variant.spending += Spending.of([result])
        if result.origin is not Origin.SAMPLE:
            self.apart[result.origin][result.outcome] += 1
        values = variant.measures if result.origin is Origin.SAMPLE else variant.apart
        means = result.means
        for name in MEASURES:
            if name in means:
                values[name].append(means[name])
        add_leaf_results(self.fields, result)
        for attempt in result.attempts:
            score = attempt.score
            if score is not None:
                if score.failure is not None:
                    self.unusable[score.failure.kind] += 1
                self.reordered.update(map(pattern_of, score.reordered))
                self._add_mistakes(score)
            if attempt.latency_s:
                self.slowest = heapq.nlargest(SLOWEST, [*self.slowest, (attempt.latency_s, result.nodeid)])
        if result.outcome is Outcome.BROKEN and (result.why or "").startswith(WITHOUT_JUDGE):
            self.without_judge += 1
        elif result.outcome in (Outcome.BROKEN, Outcome.NOT_RUN):
            self.reasons[result.outcome][shorten(safe_prose(result.why or "?"), _LONGEST_REASON)] += 1
        if result.outcome is Outcome.PASSED and (wrong := _most_wrong(result)):
            self.passed_wrong[result.nodeid] = wrong
        self.known.add(result)
        self.emptiness.add(result)
        self.wrapped.add(result)
        self.rules.add(result)
        self.adjustments.update({text for attempt in result.attempts for text in attempt.adjustments})
        self.repeated = self.repeated or len(result.attempts) > 1

    def _add_mistakes(self, score: ScoreRecord) -> None:
        """Count the mistakes of an output."""
        if not score.mistakes:
            return
        from pytest_extract.core.mistakes.output import NamingLimit

        self.mistakes.update(mistake.kind for mistake in score.mistakes)
        limit = NamingLimit.of(score)
        if limit is not None:
            self.naming_limit = limit if self.naming_limit is None else self.naming_limit + limit


def _most_wrong(result: CaseResult) -> int:
    """Count the wrong values of a case in its worst output, known failures left out."""
    inexact = [
        score
        for score in read_scores(result)
        if any(score.measures.get(name, 0.0) < 1 for name in MEASURES)  # most outputs that pass are right
    ]
    return max((len(failed_results(split_known(score, result.known).counted)) for score in inexact), default=0)


def totals_of(results: Iterable[CaseResult]) -> RunTotals:
    """Add up the cases of a run."""
    totals = RunTotals()
    for result in results:
        totals.add(result)
    return totals


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


_SHOWN_STYLE: Final[dict[Shown | None, Style]] = {
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
        lines += prose(auto_accept_text(decision), _SHOWN_STYLE[decision.shown], indent=0, width=width)
        if decision.wrong:
            wrong = [f"{safe_prose(pattern)} {count:,}" for pattern, count in decision.wrong.most_common()]
            lines.append(line(Span(f"accepted and wrong: {listed(wrong, _MOST_PATTERNS, 'fields')}"), indent=2))
    return lines


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
