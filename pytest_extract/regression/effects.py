"""How much each variant changed: the measure with its bounds, broken runs, and cost and latency of a call."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from pytest_extract.core.aggregate.slices import NONE, natural_key, tag_text
from pytest_extract.core.stats.runs import Bounds, Runs
from pytest_extract.regression.changes import CaseComparison, Comparison, VariantComparison
from pytest_extract.regression.collapse import Collapse, Weight, find_collapse
from pytest_extract.regression.multiple_testing import TestResult, open_cases, overall_runs, run_tests
from pytest_extract.regression.rules import Rules


@dataclass(frozen=True, slots=True, kw_only=True)
class Effect:
    """How much one variant changed: means over the compared cases, and how large the change may be.

    `cases`: number of cases that all numbers are of, without those whose setup and results are unchanged (all of them
    where no case is left). `bounds` is None without such cases: nothing can have become worse.
    `runs`: fewest and most runs of a case before and after. `fell`: cases that fell, the worst first; `rose`: how many
    did the opposite. `failed_whole`: number of runs that failed as a whole before and after.
    """

    variant: str
    measure: str
    cases: int
    before: float
    after: float
    bounds: Bounds | None
    runs: tuple[tuple[int, int], tuple[int, int]]
    fell: tuple[str, ...] = ()
    rose: int = 0
    failed_whole: tuple[int, int] = (0, 0)

    @property
    def drop(self) -> float:
        """Before minus after."""
        return self.before - self.after


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokenRuns:
    """Cases in which a run broke before and now, shares of broken runs, and the test that there are more of them now.

    `kinds`: what broke now. `p`: permutation test of the runs within cases.
    """

    variant: str
    cases: int
    cases_before: int
    cases_after: int
    before: float
    after: float
    p: float
    kinds: tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class CallChange:
    """Mean cost (USD) or latency (seconds) of a call before and now, over the cases in which both are known."""

    variant: str
    what: Literal["cost", "latency"]
    cases: int
    before: float
    after: float

    @property
    def rise(self) -> float | None:
        """The rise as a share of the earlier value; None where that is 0."""
        return (self.after - self.before) / self.before if self.before else None


@dataclass(frozen=True, slots=True, kw_only=True)
class TagEffect:
    """How much the cases of one variant with one value of a tag changed: means before and now, as in `Effect`.

    `losses`: how much each case (`file::id`) fell.
    """

    tag: str
    value: str
    losses: Mapping[str, float]
    before: float
    after: float


def tag_effects(variant: VariantComparison, rules: Rules) -> list[TagEffect]:
    """Measure how much each value of each tag of `rules.by` changed, tag by tag, the largest fall first."""
    found: list[TagEffect] = []
    for tag in rules.by:
        values: dict[str, dict[str, Runs]] = {}
        for row in _measured_rows(variant):
            values.setdefault(tag_text(row.slices, tag), {})[row.case] = overall_runs(row, rules.measure)
        effects: list[TagEffect] = []
        for value in sorted(values, key=natural_key) if values.keys() - {NONE} else ():
            runs = values[value]
            before, after = mean_levels([*runs.values()], rules)
            losses = {case: each.loss for case, each in runs.items()}
            effects.append(TagEffect(tag=tag, value=value, losses=losses, before=before, after=after))
        found += sorted(effects, key=lambda effect: effect.after - effect.before)
    return found


def _measured_rows(variant: VariantComparison) -> list[CaseComparison]:
    """Return the cases that effects are of: those that could have changed, all where none could."""
    return open_cases(variant.compared) or list(variant.compared)


def measure_effect(variant: VariantComparison, rules: Rules, bounds: Bounds | None) -> Effect:
    """Measure how much a variant with compared cases changed; `bounds`: those of its overall test."""
    rows = _measured_rows(variant)
    runs = [overall_runs(row, rules.measure) for row in rows]
    before, after = mean_levels(runs, rules)
    losses = sorted(
        ((one.loss, row.case) for one, row in zip(runs, rows, strict=True)), key=lambda pair: (-pair[0], pair[1])
    )
    before_runs, after_runs = zip(*(row.runs for row in rows), strict=True)
    whole = (sum(row.failed_whole[0] for row in rows), sum(row.failed_whole[1] for row in rows))
    return Effect(
        variant=variant.label,
        measure=rules.measure or "fields right",
        cases=len(rows),
        before=before,
        after=after,
        bounds=bounds,
        runs=((min(before_runs), max(before_runs)), (min(after_runs), max(after_runs))),
        fell=tuple(case for loss, case in sorted(losses, key=lambda pair: (-pair[0], pair[1])) if loss > 0),
        rose=sum(loss < 0 for loss, _ in losses),
        failed_whole=whole,
    )


def mean_levels(runs: Sequence[Runs], rules: Rules) -> tuple[float, float]:
    """Return the mean over cases before and after as readers see it: the share of right fields, or the measure."""
    before, after = (math.fsum(means) / len(runs) for means in zip(*(one.means for one in runs), strict=True))
    return (1 - before, 1 - after) if rules.measure is None else (-before, -after)


def count_broken_runs(variant: VariantComparison) -> BrokenRuns | None:
    """Test whether more runs broke than before; None where none did."""
    rows = [(row, row.runs_broken) for row in variant.cases if row.runs_broken is not None]
    if not any(any(runs.before) or any(runs.after) for _, runs in rows):
        return None
    varying = [runs for _, runs in rows if runs.varies]
    p = 1.0
    if varying:
        from pytest_extract.core.stats.permutation import Permutations

        shapes = [runs.shape for runs in varying]
        permutations = Permutations(shapes, [dict(enumerate(varying))])
        p = permutations.p_value(permutations.statistics[0].as_large())
    kinds: Counter[str] = Counter()
    for row, _ in rows:
        kinds.update(row.errors)
    return BrokenRuns(
        variant=variant.label,
        cases=len(rows),
        cases_before=sum(any(runs.before) for _, runs in rows),
        cases_after=sum(any(runs.after) for _, runs in rows),
        before=sum(float(sum(runs.before)) / len(runs.before) for _, runs in rows) / len(rows),
        after=sum(float(sum(runs.after)) / len(runs.after) for _, runs in rows) / len(rows),
        p=p,
        kinds=tuple(kinds.most_common()),
    )


def call_changes(variant: VariantComparison) -> list[CallChange]:
    """Compare the cost and the latency of a call, each where it is known of some case."""
    found: list[CallChange] = []
    kinds: tuple[tuple[Literal["cost", "latency"], list[tuple[float, float]]], ...] = (
        ("cost", [row.cost_usd for row in variant.compared if row.cost_usd is not None]),
        ("latency", [row.latency_s for row in variant.compared if row.latency_s is not None]),
    )
    for what, pairs in kinds:
        if pairs:
            before, after = (sum(pair[side] for pair in pairs) / len(pairs) for side in (0, 1))
            found.append(CallChange(variant=variant.label, what=what, cases=len(pairs), before=before, after=after))
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """All that a decision rests on: a comparison and the rules for it, and what is measured and tested."""

    comparison: Comparison
    rules: Rules
    tests: tuple[TestResult, ...] = ()
    effects: tuple[Effect, ...] = ()
    broken: tuple[BrokenRuns, ...] = ()
    calls: tuple[CallChange, ...] = ()
    collapses: tuple[Collapse, ...] = ()

    def variant(self, label: str) -> VariantComparison:
        """Return the comparison of a variant."""
        return next(variant for variant in self.comparison.variants if variant.label == label)

    @property
    def has_died(self) -> bool:
        """Whether more cases died than luck or the rules allow."""
        return any(each.weight is Weight.WORSE for each in self.collapses)

    def effect(self, label: str) -> Effect:
        """Return the change of a variant, some of whose cases are compared."""
        return next(effect for effect in self.effects if effect.variant == label)


def establish_facts(comparison: Comparison, rules: Rules, *, level: float | None = None) -> Facts:
    """Measure and test a comparison; `level`: as in `run_tests`.

    Raises ConfigError where `rules.measure` names a measure that the cases do not have.
    """
    tests = run_tests(comparison, rules, level=level)
    bounds, variants = tests.bounds(), comparison.variants
    return Facts(
        comparison=comparison,
        rules=rules,
        tests=tests.results,
        effects=tuple(
            measure_effect(variant, rules, bounds.get(variant.label)) for variant in variants if variant.compared
        ),
        broken=tuple(found for variant in variants if (found := count_broken_runs(variant)) is not None),
        calls=tuple(change for variant in variants for change in call_changes(variant)),
        collapses=tuple(dead for variant in variants if (dead := find_collapse(variant, rules)) is not None),
    )
