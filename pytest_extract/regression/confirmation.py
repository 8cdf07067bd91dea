"""Confirmation: the cases that fell run again on both sides, and the fresh runs alone decide (`--extract-confirm`).

Lemma: let the first runs choose cases and suspects by any rule. Given the cases, fresh runs do not depend on the first
ones, and without a change those of both sides have one distribution in every case. So the permutation test of the fresh
runs holds its level for every choice, and thus on average over choices. "Worse" then needs a first stage that is
significant at one part of alpha, or a confirmation that is at the rest: together at most alpha (Bonferroni), whatever
decides if a confirmation takes place at all.

Runs of a baseline are fresh if nothing was chosen by them: where it has several runs of a case, the first chooses and
the others confirm.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from pytest_extract.regression.compare import Comparison, VariantComparison
from pytest_extract.regression.facts import (
    OVERALL_SHARE,
    SMALLEST_FALL,
    Effect,
    Facts,
    Subject,
    Suspect,
    TestResult,
    Weight,
    fallen_cases,
    find_collapse,
    measure_effects,
    open_cases,
    run_tests,
)
from pytest_extract.regression.rules import Rules
from pytest_extract.regression.snapshots import CaseState

FIRST_SHARE: Final = 0.5
"""The part of alpha for the first runs where a confirmation can follow, which has the rest."""
MOST_CONFIRMED: Final = 10
"""Cases that are run again at most, where nothing else is asked for."""
CALLS_OF_A_CASE: Final = 4
"""Calls for each case of the most: two runs on both sides. Fewer cases may have more runs each."""
_FEWEST_RUNS: Final = 2
_EVEN: Final = 0.5  # a fall that luck gives more often than this is not worth a call
_SUSPICIOUS: Final = 0.15  # a fall that luck gives less often than this is looked into, where calls are granted
_SPARE: Final = 10.0  # a fall in every run should be significant at a tenth of the level: some runs will not fall
_STRONG: Final = 50.0  # p of a fall below alpha / this needs no confirmation, on however few cases it rests


@dataclass(frozen=True, slots=True, kw_only=True)
class VariantPlan:
    """The cases (`file::id`) of one compared variant that are run again, the worst first.

    `suspects`: what the fresh runs are tested for. `runs`: fresh runs of each case on a side that is called. `held`:
    number of baseline runs of each case that stand for its fresh runs before; empty where both sides are called.
    """

    before: str
    after: str
    label: str
    suspects: tuple[Suspect, ...]
    cases: tuple[str, ...]
    runs: int
    held: Mapping[str, int]

    @property
    def calls(self) -> int:
        """Calls of the extractor, at most: recorded ones cost nothing."""
        return len(self.cases) * self.runs * (1 if self.held else 2)


@dataclass(frozen=True, slots=True, kw_only=True)
class Spent:
    """What the fresh runs took: calls, outputs that were replayed from recordings, and the cost of the calls in USD.

    `cost_usd` is None where the price of a call is unknown.
    """

    calls: int = 0
    recorded: int = 0
    cost_usd: float | None = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Confirmation:
    """What the fresh runs show: their tests, worst first, and the change of each variant over the cases run again.

    `fallen`: the tests that are beyond noise, and whose fall is at least `SMALLEST_FALL` of the suite. `enough`: so
    many cases were run again that a fall in all of them is beyond noise.
    """

    plans: tuple[VariantPlan, ...]
    comparison: Comparison
    tests: tuple[TestResult, ...]
    effects: tuple[Effect, ...]
    fallen: tuple[TestResult, ...]
    enough: bool
    spent: Spent

    @property
    def planned(self) -> int:
        """Cases that were to be run again."""
        return sum(len(plan.cases) for plan in self.plans)


def suspects_of(variant: str, tests: Sequence[TestResult]) -> tuple[TestResult, ...]:
    """Return what may have fallen in a variant: the mean over all fields, and what else luck gives least often.

    The more improbable one, as the gate weighs them, is the first; empty where luck explains every fall.
    """
    own = [test for test in tests if test.variant == variant and test.drop > 0 and test.luck <= _EVEN]
    overall = [test for test in own if test.subject is Subject.OVERALL]
    others = sorted(
        (test for test in own if test.subject is not Subject.OVERALL), key=lambda test: (test.luck, -test.drop)
    )
    weighed = [(test.luck / OVERALL_SHARE, test) for test in overall]
    weighed += [(test.luck / (1 - OVERALL_SHARE), test) for test in others[:1]]
    return tuple(test for _, test in sorted(weighed, key=lambda pair: pair[0]))


def may_have_fallen(variant: str, facts: Facts) -> bool:
    """Whether fresh runs of a variant are worth their calls, where they are asked for: less than a doubt is enough.

    What chooses may be anything, because the fresh runs alone decide.
    """
    dead = any(each.variant == variant for each in facts.collapses)
    return dead or any(test.variant == variant and test.drop > 0 and test.luck <= _SUSPICIOUS for test in facts.tests)


def plan_variant(
    variant: VariantComparison,
    tests: Sequence[TestResult],
    rules: Rules,
    *,
    most: int,
    held: Mapping[str, int] | None = None,
    among: Collection[str] | None = None,
) -> VariantPlan | str:
    """Plan the confirmation of a variant by the comparison that may choose, and its tests; or say why there is none.

    `held`: number of baseline runs of each case that were kept out of the comparison; None where both sides are called.
    `among`: the cases that can be run again, all of them by default. At most `most` cases, and four calls for each of
    these in all, so that fewer cases have more runs. Where cases died, these alone run again: beside others they would
    have too few runs to show it.
    """
    found = suspects_of(variant.label, tests)
    if not found:
        return "nothing fell by more than luck gives every other time"
    suspects = tuple(test.suspect for test in found)
    dead = find_collapse(variant, rules)
    fell = dict.fromkeys(case for suspect in suspects for case in fallen_cases(variant, suspect, rules))
    if dead is not None and dead.weight is not Weight.TOLD:
        fell = dict.fromkeys(dead.cases)
    cases = [case for case in fell if (among is None or case in among) and (held is None or held.get(case, 0) > 0)]
    cases = cases[:most]
    if not cases:
        return f"none of the {len(fell)} cases that fell can be run again" if fell else "no case fell"
    level = _level(rules)

    def smallest_p(runs: int) -> float:
        before = [runs if held is None else held[case] for case in cases]
        return math.prod(1 / math.comb(count + runs, runs) for count in before)

    limit = CALLS_OF_A_CASE * most // (len(cases) * (2 if held is None else 1))
    runs = next(
        (count for count in range(_FEWEST_RUNS, limit + 1) if smallest_p(count) <= level / _SPARE),
        max(limit, _FEWEST_RUNS),
    )
    if smallest_p(runs) > level:
        count = f"{len(cases)} case" + "s" * (len(cases) != 1)
        more = " of the baseline, which has too few runs" if held is not None else ""
        return f"{runs} fresh runs of {count}{more} cannot show a fall: even one in every run may be luck"
    return VariantPlan(
        before=variant.before,
        after=variant.after,
        label=variant.label,
        suspects=suspects,
        cases=tuple(cases),
        runs=runs,
        held={} if held is None else {case: held[case] for case in cases},
    )


def _level(rules: Rules) -> float:
    """Return the level of the stricter of the two tests of a confirmation."""
    return rules.alpha * (1 - FIRST_SHARE) * min(OVERALL_SHARE, 1 - OVERALL_SHARE)


def rests_on_few(tests: Sequence[TestResult], effect: Effect, rules: Rules, most: int) -> bool:
    """Whether a variant that is worse rests on at most `most` cases, and on a p-value of the order of alpha."""
    strong = any(test.variant == effect.variant and test.adjusted <= rules.alpha / _STRONG for test in tests)
    return not strong and len(effect.fell) <= most


def held_runs(states: Mapping[str, CaseState]) -> dict[str, int]:
    """Return how many runs of each case of a baseline can confirm: all but the first of as many as every case has.

    Repeats that stop once a case is decided end sooner where they agree, so more runs than all cases have would favour
    one outcome. A run that broke counts as had.
    """
    fewest = min((all_of for state in states.values() if (all_of := state.runs + state.broken) > 1), default=1)
    return {case: count for case, state in states.items() if (count := min(fewest, state.runs) - 1) > 0}


def confirm(
    first: Comparison, plans: Sequence[VariantPlan], fresh: Comparison, spent: Spent, rules: Rules
) -> Confirmation:
    """Test the fresh runs, at the rest of alpha. `first`: the comparison of the first runs."""
    only = {plan.label: plan.suspects for plan in plans}
    found = run_tests(fresh, rules, level=rules.alpha * (1 - FIRST_SHARE), only=only)

    def falls(test: TestResult) -> bool:
        """Whether the fall is beyond noise, and large enough with no fall of all the other cases of the suite."""
        again, all_of = _size(fresh, test), max(1, _size(first, test))
        return test.significant and test.fall * again / all_of >= SMALLEST_FALL

    return Confirmation(
        plans=tuple(plans),
        comparison=fresh,
        tests=found.results,
        effects=measure_effects(fresh, rules, found),
        fallen=tuple(test for test in found.results if falls(test)),
        enough=any(
            math.prod(1 / math.comb(sum(row.runs), row.runs[1]) for row in variant.compared) <= _level(rules)
            for variant in fresh.variants
            if variant.compared
        ),
        spent=spent,
    )


def _size(comparison: Comparison, test: TestResult) -> int:
    """Return how many cases of its variant a test is about."""
    variant = next(variant for variant in comparison.variants if variant.label == test.variant)
    if test.subject is Subject.PATTERN:
        return next((row.cases for row in variant.patterns if row.pattern == test.name), 0)
    return len(open_cases(variant.compared))
