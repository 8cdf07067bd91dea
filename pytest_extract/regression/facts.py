"""What a decision of the gate rests on: tests, cases that died, and how much measures, failures and calls changed."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import IntEnum, StrEnum
from typing import TYPE_CHECKING, Final, Literal

from pytest_extract.core.aggregate.slices import DIMENSIONS, NONE, natural_key, tag_text
from pytest_extract.core.stats import Bounds, Runs, attainable, mcnemar, unseen_drop_bound
from pytest_extract.errors import ConfigError, nearest
from pytest_extract.regression.compare import CaseComparison, Change, Comparison, VariantComparison
from pytest_extract.regression.rules import Rules

if TYPE_CHECKING:
    from pytest_extract.core.stats.permutation import Lanes, Statistic


OVERALL_SHARE: Final = 0.6
"""The part of alpha for the test over all fields.

Half of the rest is for the same test without answers that failed as a whole; fields and tags have what these leave.
"""
DOUBT: Final = 2.0
"""At so many times alpha the family finds falls that may be noise (set by `tests/benchmarks/gate_power.py`)."""
SMALLEST_FALL: Final = 0.005
"""A fall of less than this is none, however sure."""
_UNSEEN_LOSS: Final = 1.0  # of a case that was never seen: any answer can fail as a whole


class Subject(StrEnum):
    """What a test is about."""

    OVERALL = "all fields"
    COMPLETE = "answers that did not fail as a whole"
    PATTERN = "field"
    TAG = "tag"


@dataclass(frozen=True, slots=True, kw_only=True)
class TestResult:
    """One test of "worse".

    `name`: the pattern, or the tag and its value; empty for the others. `drop`: mean over its cases of before - after,
    a share; `overall_drop`: of the mean over all fields; `fewer_failed_whole`: whether fewer answers failed as a whole
    than before, beyond noise. `p`: permutation test of the runs within cases, two standard errors more if it is
    sampled; `adjusted`: corrected for the whole family, to be compared with `level` (alpha). `luck`: how often some
    field would fall as far as this one without a change. `doubtful`: beyond noise at `DOUBT` times alpha only.
    """

    variant: str
    subject: Subject
    name: str
    drop: float
    overall_drop: float
    fewer_failed_whole: bool
    p: float
    luck: float
    adjusted: float
    level: float
    doubtful: bool = False

    @property
    def beyond_noise(self) -> bool:
        """Whether the fall is beyond noise, however small it is."""
        return self.adjusted <= self.level

    @property
    def significant(self) -> bool:
        """Whether the fall is beyond noise, and large enough to matter."""
        return self.beyond_noise and self.fall >= SMALLEST_FALL

    @property
    def fall(self) -> float:
        """The drop that counts against `SMALLEST_FALL`.

        Where fewer answers fail as a whole, a fall of the others counts only as far as the mean of all fell too.
        """
        made_up_for = self.subject is Subject.COMPLETE and self.fewer_failed_whole
        return min(self.drop, self.overall_drop) if made_up_for else self.drop

    @property
    def pattern(self) -> str | None:
        """The field pattern that the test is about; None for the other tests."""
        return self.name if self.subject is Subject.PATTERN else None

    @property
    def title(self) -> str:
        """What the test is about, in words."""
        return self.name or str(self.subject)


@dataclass(frozen=True, slots=True, kw_only=True)
class Tests:
    """All tests of a comparison, worst first; `bounds` works out how much the mean of each variant may have changed.

    A variant without a case that could have changed has no bounds.
    """

    results: tuple[TestResult, ...] = ()
    bounds: Callable[[], Mapping[str, Bounds]] = dict


def run_tests(
    comparison: Comparison,
    rules: Rules,
    *,
    level: float | None = None,
    only: Mapping[str, Collection[tuple[Subject, str]]] | None = None,
) -> Tests:
    """Test every variant over all fields and by field pattern, gate and tag.

    `level`: the part of `rules.alpha` that all tests have together, all of it by default; what the others have is part
    of the correction. `only`: the subjects and names to test of each variant, beside the mean over all fields.
    """
    alpha = rules.alpha if level is None else level
    families = [
        _Family(variant, rules, None if only is None else only.get(variant.label, ()))
        for variant in comparison.variants
        if variant.compared
    ]
    kept = attainable([family.smallest / OVERALL_SHARE for family in families], alpha)
    variants = max(1, len(kept))
    tests: list[TestResult] = []
    for family in families:
        weak = {
            (test.subject, test.name): test.adjusted
            for test in family.results(DOUBT * rules.alpha / variants, variants)
            if test.adjusted <= DOUBT * rules.alpha and test.fall >= SMALLEST_FALL
        }
        for test in family.results(alpha / variants, variants):
            found = replace(test, adjusted=min(1.0, test.adjusted * rules.alpha / alpha))
            p = weak.get((test.subject, test.name))
            if p is not None and not found.beyond_noise:
                found = replace(found, adjusted=max(p, math.nextafter(rules.alpha, 1)), doubtful=True)
            tests.append(found)
    return Tests(
        results=tuple(sorted(tests, key=lambda test: (test.adjusted, test.p, test.variant, test.subject, test.name))),
        bounds=lambda: {
            family.variant: family.bounds(alpha / variants, rules.alpha / len(families))
            for family in families
            if family.changes
        },
    )


def open_cases(rows: Sequence[CaseComparison]) -> list[CaseComparison]:
    """Return the cases whose results could have changed, or did.

    Unchanged cases that the change does not touch carry no information about it, if it touches any.
    """
    touched = any(not row.same_setup for row in rows)
    closed = [row.settled or (touched and row.same_setup) for row in rows]
    return [row for row, shut in zip(rows, closed, strict=True) if not shut or row.kind is not Change.UNCHANGED]


def overall_runs(row: CaseComparison, measure: str | None) -> Runs:
    """Return the runs of a case in the share of wrong fields, or in a measure (negated: larger is worse).

    Raises ConfigError where the case has no such measure on both sides.
    """
    if measure is None:
        return row.runs_overall
    if measure not in row.measure_runs:
        raise ConfigError(f"{row.case} has no measure {measure!r} on both sides{nearest(measure, row.measure_runs)}")
    before, after = row.measure_runs[measure]
    return Runs(tuple(-value for value in before), tuple(-value for value in after))


class _Member:
    """One test of a family: the cases whose runs differ in it; `statistic`: their sums in all arrangements.

    `drop`: mean over all `of` cases of the test, those without a change too.
    """

    def __init__(self, subject: Subject, name: str, runs: Mapping[int, Runs], of: int) -> None:
        self.subject, self.name = subject, name
        self.runs = {row: found for row, found in runs.items() if found.varies}
        self.statistic: Statistic
        self.drop = math.fsum(float(found.loss) for found in self.runs.values()) / of


class _Family:
    """The tests of one variant, as one family.

    All of them in the same arrangements of the runs (`core.stats.permutation`):

    - the mean over all fields, at `OVERALL_SHARE` of alpha;
    - the same without answers that failed as a whole, at half of what that leaves;
    - every field pattern, every structural gate and every tag value, by the largest standardized loss (Westfall and
      Young 1993, max-T, step-down), at the largest level with which all of these together stay within alpha: as they
      share arrangements, whatever correlation they have is used.

    Lemma: the lanes in which any test is significant at these levels are at most alpha of all lanes, by construction,
    and without a change the observed lane is equally likely to be any of them. The same holds for those tests alone
    whose subjects did not change, because fewer tests exceed a critical value less often.
    Variants are corrected for by Bonferroni's method, without those that cannot be significant (Tarone 1990).

    A fall is doubtful where the same family finds it at `DOUBT` times alpha, and not at alpha.
    """

    def __init__(self, variant: VariantComparison, rules: Rules, only: Collection[tuple[Subject, str]] | None) -> None:
        from pytest_extract.core.stats.permutation import Permutations

        self.variant, self.rules = variant.label, rules
        rows = open_cases(variant.compared)
        overall = {index: overall_runs(row, rules.measure) for index, row in enumerate(rows)}
        self.overall = _Member(Subject.OVERALL, "", overall, max(1, len(rows)))
        self.changes = sorted(-float(runs.loss) if runs.varies else 0.0 for runs in overall.values())
        shares = [(row.failed_whole[0] / row.runs[0], row.failed_whole[1] / row.runs[1]) for row in rows]
        fewer, more = (sum(before > after for before, after in shares), sum(before < after for before, after in shares))
        self.fewer_failed_whole = mcnemar(fewer, more) <= rules.alpha
        complete = {index: row.runs_complete for index, row in enumerate(rows) if row.runs_complete is not None}
        self.complete = (
            _Member(Subject.COMPLETE, "", complete, len(complete))
            if complete and (only is None or (Subject.COMPLETE, "") in only)
            else None
        )
        self.others = [*_pattern_members(variant, rows, only), *_tag_members(rows, rules, only)]
        self.members = [self.overall, *([self.complete] if self.complete else []), *self.others]
        self.permutations = Permutations(
            [row.runs for row in rows],
            [member.runs for member in self.members],
        )
        for member, statistic in zip(self.members, self.permutations.statistics, strict=True):
            member.statistic = statistic
        self.smallest = self.permutations.smallest

    def results(self, level: float, variants: int) -> list[TestResult]:
        """Return the results with the family at `level`, as one of so many variants that can be significant."""
        share = OVERALL_SHARE
        heads = [(self.overall, share)]
        if self.complete is not None:
            heads.append((self.complete, (1 - share) / 2))
        found: list[TestResult] = []
        open_heads: list[tuple[_Member, float]] = []
        for member, part in heads:
            p = self.permutations.p_value(member.statistic.as_large())
            adjusted = min(1.0, p / part)
            found.append(self._result(member, p, adjusted * variants))
            if adjusted > level:
                open_heads.append((member, part))
        return found + self._other_results(open_heads, level, variants)

    def bounds(self, level: float, of_worst: float) -> Bounds:
        """Return the limits of the mean change that the overall test does not reject with the family at `level`.

        `worst` is at a level of its own, and not less than what a case that was never seen may lose.
        """
        limits = self.permutations.limits(self.overall.statistic)
        most = self.permutations.most(OVERALL_SHARE * level)
        drop = limits.upper(self.permutations.most(of_worst))
        worst = unseen_drop_bound(self.changes, unseen_loss=_UNSEEN_LOSS, confidence=1 - of_worst)
        return Bounds(
            change=math.fsum(self.changes) / len(self.changes),
            low=max(-limits.upper(most), -1.0),
            high=min(-limits.lower(most), 1.0),
            interval=1 - 2 * OVERALL_SHARE * level,
            worst=max(worst, drop) if math.isfinite(drop) else worst,
            confidence=1 - of_worst,
        )

    def _other_results(self, heads: Sequence[tuple[_Member, float]], level: float, variants: int) -> list[TestResult]:
        """Max-T, step-down; beside the heads that are not significant."""
        if not self.others:
            return []
        from pytest_extract.core.stats.permutation import SAME_SCORE, largest_scores

        left = sorted(self.others, key=lambda member: -member.statistic.score)
        largest = largest_scores([member.statistic for member in left])
        found: list[TestResult] = []
        least = 0.0
        for member, largest_left in zip(left, largest, strict=True):
            statistic, luck = member.statistic, 1.0
            at_least = statistic.score - SAME_SCORE
            if statistic.score > 0:
                luck = self.permutations.p_value(largest[0] >= at_least)
            if least <= level and statistic.score > 0:
                least = max(least, self._joint_level(heads, largest_left >= at_least, level))
            else:
                least = 1.0
            p = self.permutations.p_value(statistic.as_large())
            found.append(self._result(member, p, least * variants, luck=luck))
        return found

    def _joint_level(self, heads: Sequence[tuple[_Member, float]], lanes: Lanes, most: float) -> float:
        """Return the smallest level at which these lanes and those of the heads are together within the level."""
        level = self.permutations.p_value(lanes)
        while level <= most:
            together = self.permutations.p_value(lanes | self._head_lanes(heads, level))
            if together <= level:
                return level
            level = together
        return 1.0

    def _head_lanes(self, heads: Sequence[tuple[_Member, float]], level: float) -> Lanes:
        lanes = self.overall.statistic.tail(0)  # none
        for member, part in heads:
            lanes = lanes | member.statistic.tail(self.permutations.most(part * level))
        return lanes

    def _result(self, member: _Member, p: float, adjusted: float, *, luck: float | None = None) -> TestResult:
        return TestResult(
            variant=self.variant,
            subject=member.subject,
            name=member.name,
            drop=member.drop,
            overall_drop=self.overall.drop,
            fewer_failed_whole=self.fewer_failed_whole,
            p=p,
            luck=p if luck is None else luck,
            adjusted=min(1.0, adjusted),
            level=self.rules.alpha,
        )


def tag_label(row: CaseComparison, tag: str) -> str:
    """Return `tag=value` of a case, as its test is named."""
    return f"{tag}={tag_text(row.slices, tag)}"


def _tag_members(
    rows: Sequence[CaseComparison], rules: Rules, only: Collection[tuple[Subject, str]] | None
) -> list[_Member]:
    """Return a test of the mean over all fields for each value of each tag; cases without the tag take no part.

    A value that all cases have is left to the overall test.
    """
    members: list[_Member] = []
    for tag in rules.by:
        by_value: dict[str, dict[int, CaseComparison]] = {}
        for index, row in enumerate(rows):
            if row.slices.get(tag) is not None:
                by_value.setdefault(tag_label(row, tag), {})[index] = row
        for label, found in by_value.items():
            if len(found) == len(rows):
                continue
            if only is not None and (Subject.TAG, label) not in only:
                continue
            runs = {index: overall_runs(row, rules.measure) for index, row in found.items()}
            members.append(_Member(Subject.TAG, label, runs, len(found)))
    return members


def _pattern_members(
    variant: VariantComparison, rows: Sequence[CaseComparison], only: Collection[tuple[Subject, str]] | None
) -> list[_Member]:
    by_pattern: dict[str, dict[int, Runs]] = {}
    for index, row in enumerate(rows):
        for pattern, runs in row.runs_by_pattern.items():
            by_pattern.setdefault(pattern, {})[index] = runs
    return [
        _Member(Subject.PATTERN, row.pattern, by_pattern.get(row.pattern, {}), row.cases)
        for row in variant.patterns
        if row.fields and (only is None or (Subject.PATTERN, row.pattern) in only)
    ]


_HALF: Final = 0.5
_FEWEST_FIELDS: Final = 3  # with fewer, half of the fields is one field, and only a gate kills a case
_WORSE_LUCK: Final = 1 / 16  # without a change, so many dead cases come up in at most 2 of 100 suites, at any rate
_DOUBTFUL_LUCK: Final = 1 / 8


class Weight(IntEnum):
    """What dead cases mean for the answer."""

    TOLD = 0
    DOUBT = 1
    WORSE = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Collapse:
    """The dead cases (`file::id`) of a variant, of all that are compared; `tags`: values all of whose cases died."""

    variant: str
    cases: tuple[str, ...]
    of: int
    tags: tuple[str, ...]
    weight: Weight


def find_collapse(variant: VariantComparison, rules: Rules) -> Collapse | None:
    """Return the cases of a variant that died; None where none did.

    They were right in every run before, and have nothing usable in any run now: they are always named. A run that
    breaks parse or schema has no right field. A case is dead if it lost more than half of its fields in every run now
    against every run before. Where runs of another case differ by as much, such a thing happens by chance, and the
    tests weigh it, unless most cases died; else luck is how probable it is that the dead runs are exactly the later
    ones.
    """
    dead = [row for row in variant.compared if _least_loss(row) > _HALF]
    if len(variant.compared) > 1 and all(_lost(row.runs_overall) > _HALF for row in variant.compared):
        dead = [*variant.compared]  # of few fields one may be wrong by chance, but not in every case
    if not dead:
        return None
    names = {row.case for row in dead}
    tags = tuple(tag for tag, cases in _cases_by_tag(variant).items() if len(cases) > 1 and cases <= names)
    return Collapse(
        variant=variant.label,
        cases=tuple(row.case for row in dead),
        of=len(variant.compared),
        tags=tags,
        weight=_weight(variant, dead, rules, whole_tag=bool(tags)),
    )


def _weight(variant: VariantComparison, dead: list[CaseComparison], rules: Rules, *, whole_tag: bool) -> Weight:
    if rules.max_dead is not None:
        return Weight.WORSE if len(dead) > rules.max_dead else Weight.TOLD
    several, most = len(dead) > 1, 2 * len(dead) > len(variant.compared)
    names = {row.case for row in dead}
    if any(_spread(row) > _HALF for row in variant.compared if row.case not in names):
        return (Weight.WORSE if several else Weight.DOUBT) if most else Weight.TOLD
    luck = math.prod(1 / math.comb(sum(row.runs), row.runs[1]) for row in dead)
    if several and (most or whole_tag or luck <= _WORSE_LUCK):
        return Weight.WORSE
    return Weight.DOUBT if several or most or luck <= _DOUBTFUL_LUCK else Weight.TOLD


def _shares(row: CaseComparison) -> tuple[list[float], list[float]]:
    """Return the share of wrong fields in each run before and now; of few fields, whether a gate failed."""
    if row.fields >= _FEWEST_FIELDS:
        return [*map(float, row.runs_overall.before)], [*map(float, row.runs_overall.after)]
    gates = [runs for name, runs in row.runs_by_pattern.items() if name.startswith("(")]
    before, after = (
        [max((float(side[run]) for side in sides), default=0.0) for run in range(count)]
        for count, sides in zip(
            row.runs, ([gate.before for gate in gates], [gate.after for gate in gates]), strict=True
        )
    )
    return before, after


def _least_loss(row: CaseComparison) -> float:
    before, after = _shares(row)
    return min(after) - max(before)


def _lost(wrong: Runs) -> float:
    """Return the least loss of any run now against any run before."""
    return float(min(wrong.after)) - float(max(wrong.before))


def _spread(row: CaseComparison) -> float:
    before, after = _shares(row)
    return max(*before, *after) - min(*before, *after)


def _cases_by_tag(variant: VariantComparison) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for row in variant.compared:
        for tag in row.slices:
            if tag not in DIMENSIONS:
                found.setdefault(f"{tag}={tag_text(row.slices, tag)}", set()).add(row.case)
    return found


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
