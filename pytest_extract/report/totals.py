"""Totals of a run, added up in one pass: outcomes, measures, spending, field patterns, known failures."""

from __future__ import annotations

import heapq
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from math import fsum
from typing import TYPE_CHECKING, Final, NamedTuple

from pytest_extract.core.aggregate.confidence import AutoAcceptTotals
from pytest_extract.core.case_result import Breach, CaseResult, Origin, Outcome, Spending, Variant
from pytest_extract.core.judges import WITHOUT_JUDGE
from pytest_extract.core.results import RuleStatus, ScoreRecord, Status, is_covered
from pytest_extract.core.values import pattern_of
from pytest_extract.report.findings import FAILED, failed_results, passing_known_failures, split_known
from pytest_extract.report.lines import percent, plural, safe_prose, score_number, shorten

if TYPE_CHECKING:
    from pytest_extract.core.mistakes.output import NamingLimit

NO_VARIANT: Final = "(no model)"
"""Stands for the label of a variant without one."""
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
