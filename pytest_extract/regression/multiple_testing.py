"""All tests of a comparison as one family: its error rate over variants, fields, tags and the overall test is alpha.

The family of one variant, all of it in the same arrangements of the runs (`core.stats.permutation`):

- the mean over all fields, at `OVERALL_SHARE` of alpha;
- the same without answers that failed as a whole, at half of what that leaves;
- every field pattern, every structural gate and every tag value, by the largest standardized loss (Westfall and Young
  1993, max-T, step-down), at the largest level with which all of these together stay within alpha: as they share
  arrangements, whatever correlation they have is used.

Lemma: the lanes in which any test is significant at these levels are at most alpha of all lanes, by construction, and
without a change the observed lane is equally likely to be any of them. The same holds for those tests alone whose
subjects did not change, because fewer tests exceed a critical value less often.
Variants are corrected for by Bonferroni's method, without those that cannot be significant (Tarone 1990).

A fall is doubtful where the same family finds it at `DOUBT` times alpha, and not at alpha.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Final

from pytest_extract.core.aggregate.slices import tag_text
from pytest_extract.core.stats.runs import Bounds, Runs, attainable, mcnemar, unseen_drop_bound
from pytest_extract.errors import ConfigError, nearest
from pytest_extract.regression.changes import CaseComparison, Change, Comparison, VariantComparison
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
    """The tests of one variant."""

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
