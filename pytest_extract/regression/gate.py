"""The regression gate: compares two snapshots and decides "worse", "not worse" or "cannot tell", with reasons.

"Worse" needs evidence beyond noise, or a broken hard rule. "Not worse" needs evidence too: that a drop of the margin
is excluded. Without either, the answer is "cannot tell". Outages are evidence of neither, and a comparison of nothing
never passes.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final, Literal, NamedTuple, TypeAlias

from pytest_extract.core.case_result import CaseResult
from pytest_extract.core.stats.exact import mcnemar
from pytest_extract.core.stats.interval import Bounds, unseen_drop_bound
from pytest_extract.core.stats.permutation import Arrangements, Runs, Statistic, Values
from pytest_extract.core.stats.power import Further, Needs, Sample, needs
from pytest_extract.errors import nearest
from pytest_extract.regression.baseline import Baseline, pattern_rates
from pytest_extract.regression.changes import ArmComparison, CaseComparison, Change, Comparison
from pytest_extract.regression.compare import compare, compare_arms
from pytest_extract.regression.multiple_testing import (
    Interval,
    Subject,
    TestResult,
    Tests,
    open_cases,
    overall_runs,
    run_tests,
    tag_label,
)
from pytest_extract.regression.rules import Rules
from pytest_extract.regression.snapshots import Snapshot, snapshot

Inconclusive: TypeAlias = Literal["pass", "warn", "fail"]
EXIT_NOT_WORSE, EXIT_WORSE, EXIT_USAGE, EXIT_CANNOT_TELL = 0, 1, 2, 3
_RATE_ROUNDING: Final = 1e-6  # rates in the baseline file have six digits
_HALF: Final = 0.5
_UNLIKELY: Final = 0.2  # a fall of one field that luck gives less often than this is a doubt, if not yet a proof
_EVEN: Final = 0.5  # and from here on it is a warning no more
_MOST_NAMED: Final = 5


class Answer(StrEnum):
    """The three answers of the gate."""

    WORSE = "worse"
    NOT_WORSE = "not worse"
    CANNOT_TELL = "cannot tell"


@dataclass(frozen=True, slots=True, kw_only=True)
class Effect:
    """How much one arm changed: means over the compared cases, and how large the change may be.

    `cases`: number of cases that all numbers are of, without those whose setup and results are unchanged (all of them
    where no case is left). `bounds` is None without such cases: nothing can have become worse.
    `runs`: fewest and most runs of a case before and after. `fell`: cases that fell, the worst first; `rose`: how many
    did the opposite. `failed_whole`: number of runs that failed as a whole before and after.
    `assumed`: the bound of the drop takes for granted that no answer fails as a whole, as none ever did.
    """

    arm: str
    measure: str
    cases: int
    before: float
    after: float
    bounds: Bounds | None
    runs: tuple[tuple[int, int], tuple[int, int]]
    fell: tuple[str, ...] = ()
    rose: int = 0
    failed_whole: tuple[int, int] = (0, 0)
    assumed: bool = False
    needs: Needs | None = None

    @property
    def drop(self) -> float:
        """Before minus after."""
        return self.before - self.after


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokenRuns:
    """Cases in which a run broke before and now, shares of broken runs, and the test that there are more of them now.

    `kinds`: what broke now. `p`: permutation test of the runs within cases.
    """

    arm: str
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

    arm: str
    what: Literal["cost", "latency"]
    cases: int
    before: float
    after: float

    @property
    def rise(self) -> float | None:
        """The rise as a share of the earlier value; None where that is 0."""
        return (self.after - self.before) / self.before if self.before else None


@dataclass(frozen=True, slots=True, kw_only=True)
class GateDecision:
    """The answer of the gate with its reasons, and the comparison, tests and effects that it is decided from.

    `warnings`: what a reader of "not worse" has to know. `advice`: what to do next.
    """

    answer: Answer
    reasons: tuple[str, ...]
    notes: tuple[str, ...]
    comparison: Comparison
    tests: tuple[TestResult, ...]
    effects: tuple[Effect, ...]
    rules: Rules
    warnings: tuple[str, ...] = ()
    advice: tuple[str, ...] = ()
    broken: tuple[BrokenRuns, ...] = ()
    calls: tuple[CallChange, ...] = ()

    @property
    def compared_nothing(self) -> bool:
        """Whether no (case, field) pair was compared; such a decision never passes, whatever `inconclusive` says."""
        return self.comparison.pairs == 0


class FallenPattern(NamedTuple):
    """A pattern of an arm below its best accepted rate (shares of passed fields, in [0, 1])."""

    arm: str
    pattern: str
    best: float
    now: float


@dataclass(frozen=True, slots=True, kw_only=True)
class RatchetCheck:
    """A run compared with the best accepted rates. `unchecked`: (arm, pattern) of which some cases are missing.

    It is a hard rule: a best rate was partly luck, so without slack it raises more false alarms than the statistics.
    """

    fallen: tuple[FallenPattern, ...] = ()
    unchecked: tuple[tuple[str, str], ...] = ()


def evaluate_gate(
    before: Snapshot,
    after: Snapshot,
    rules: Rules | None = None,
    *,
    best: Baseline | None = None,
    same_run: bool = False,
) -> GateDecision:
    """Compare two snapshots and decide. `best`: the baseline with the best accepted rates, for `rules.ratchet_slack`.

    `same_run`: both are known to be one and the same run. Raises ConfigError if `rules.measure` names a measure that
    the cases do not have.
    """
    rules = rules or Rules()
    comparison = compare(before, after, same_run=same_run)
    if best is None or rules.ratchet_slack is None:
        return decide(comparison, rules)
    return decide(comparison, rules, check_ratchet(best, after, slack=rules.ratchet_slack))


def evaluate_run(results: Sequence[CaseResult], baseline: Baseline, rules: Rules) -> GateDecision:
    """Compare a run with a baseline and decide (`--extract-gate=regression`)."""
    return evaluate_gate(baseline.cases, snapshot(results), rules, best=baseline)


def evaluate_base(results: Sequence[CaseResult], base: str, rules: Rules) -> GateDecision:
    """Compare every other arm of a run with its arm `base` and decide once: `alpha` holds for all arms together."""
    states = snapshot(results)
    others = sorted({key.arm for key in states} - {base})
    return decide(Comparison(arms=tuple(compare_arms(states, states, base, other) for other in others)), rules)


def decide(comparison: Comparison, rules: Rules | None = None, ratchet: RatchetCheck | None = None) -> GateDecision:
    """Decide on a comparison. Each pattern below its best accepted rate (`ratchet`) is a broken hard rule.

    Raises ConfigError where `rules.measure` names a measure that the cases do not have.
    """
    rules = rules or Rules()
    ratchet = ratchet or RatchetCheck()
    tests = run_tests(comparison, rules) if rules.statistics else Tests()
    intervals = {interval.arm: interval for interval in tests.intervals()}
    effects = tuple(_effect(arm, rules, intervals.get(arm.label)) for arm in comparison.arms if arm.compared)
    broken = tuple(found for arm in comparison.arms if (found := _broken_runs(arm, rules)) is not None)
    calls = tuple(change for arm in comparison.arms for change in _call_changes(arm))
    worse = [
        *_failed_rules(comparison, effects, rules),
        *_rise_rules(broken, calls, rules),
        *map(_fallen_text, ratchet.fallen),
        *_significant(tests.results, effects, comparison, rules),
    ]
    doubts = _doubts(comparison, effects, tests.results, broken, rules)
    warnings: list[str] = []
    if worse:
        answer, reasons = Answer.WORSE, worse
    elif doubts:
        answer, reasons = Answer.CANNOT_TELL, doubts
    else:
        answer, reasons = Answer.NOT_WORSE, [_assurance(effect, rules) for effect in effects]
        warnings = _warnings(comparison, effects, tests.results, rules)
    return GateDecision(
        answer=answer,
        reasons=tuple(reasons),
        notes=(*_notes(comparison, effects, tests.results, rules), *_ratchet_notes(ratchet)),
        comparison=comparison,
        tests=tests.results,
        effects=effects,
        rules=rules,
        warnings=tuple(warnings),
        advice=tuple(_advice(answer, effects)),
        broken=broken,
        calls=calls,
    )


def exit_status(decision: GateDecision, inconclusive: Inconclusive | None = None) -> int:
    """Exit status of `compare`: 0 not worse, 1 worse, 3 cannot tell.

    `inconclusive` maps the last to 0 (pass, warn) or 1 (fail); but a comparison of nothing stays 3, or becomes 1.
    """
    match decision.answer, inconclusive:
        case Answer.NOT_WORSE, _:
            return EXIT_NOT_WORSE
        case (Answer.WORSE, _) | (_, "fail"):
            return EXIT_WORSE
        case _, "pass" | "warn" if not decision.compared_nothing:
            return EXIT_NOT_WORSE
        case _:
            return EXIT_CANNOT_TELL


def _effect(arm: ArmComparison, rules: Rules, interval: Interval | None) -> Effect:
    open_rows = open_cases(arm.compared)
    rows = open_rows or list(arm.compared)
    runs = [overall_runs(row, rules.measure) for row in rows]
    before, after = (
        _level(math.fsum(float(sum(side)) / len(side) for side in sides) / len(rows), rules) for sides in _sides(runs)
    )
    losses = sorted(
        ((float(one.loss) if one.varies else 0.0, row.case) for one, row in zip(runs, rows, strict=True)),
        key=lambda pair: (-pair[0], pair[1]),
    )
    shapes = [row.runs for row in rows]
    whole = (sum(row.failed_whole[0] for row in rows), sum(row.failed_whole[1] for row in rows))
    bounds, assumed = None, False
    if open_rows and rules.statistics and interval is not None:
        bounds, assumed = _bounds([-loss for loss, _ in losses], sum(whole), rules, interval)
    effect = Effect(
        arm=arm.label,
        measure=rules.measure or "fields right",
        cases=len(rows),
        before=before,
        after=after,
        bounds=bounds,
        runs=_least_and_most(shapes),
        fell=tuple(case for loss, case in losses if loss > 0),
        rose=sum(loss < 0 for loss, _ in losses),
        failed_whole=whole,
        assumed=assumed,
    )
    if bounds is None or bounds.worst < rules.margin:
        return effect
    unseen = _HALF if assumed else 1.0
    unseen = unseen if rules.unseen_loss is None else rules.unseen_loss
    return replace(effect, needs=_needs(arm, rows, [-loss for loss, _ in losses], unseen, rules))


def _sides(runs: Sequence[Runs]) -> tuple[list[Values], list[Values]]:
    return [one.before for one in runs], [one.after for one in runs]


def _least_and_most(shapes: Sequence[tuple[int, int]]) -> tuple[tuple[int, int], tuple[int, int]]:
    before, after = [shape[0] for shape in shapes], [shape[1] for shape in shapes]
    return (min(before), max(before)), (min(after), max(after))


def _bounds(changes: Sequence[float], failed_whole: int, rules: Rules, interval: Interval) -> tuple[Bounds, bool]:
    """Return the bounds of the change, and whether the bound of the drop assumes that no answer fails as a whole.

    The strict bound counts on an unseen case that loses everything. Where that is all that stands against "not worse",
    and no answer ever failed as a whole, the mild one counts, and the verdict says so.
    """
    confidence = 1 - rules.alpha

    def worst(unseen: float) -> float:
        least = unseen_drop_bound(
            changes, unseen_loss=unseen, confidence=confidence, resamples=rules.resamples, seed=rules.seed
        )
        return max(least, interval.worst) if math.isfinite(interval.worst) else least

    bound, assumed = worst(1.0 if rules.unseen_loss is None else rules.unseen_loss), False
    if rules.unseen_loss is None and not failed_whole and bound >= rules.margin:
        bound, assumed = worst(_HALF), True
    found = Bounds(
        change=math.fsum(changes) / len(changes),
        low=max(interval.low, -1.0),
        high=min(interval.high, 1.0),
        interval=interval.confidence,
        worst=bound,
        confidence=confidence,
    )
    return found, assumed


def _needs(
    arm: ArmComparison, rows: Sequence[CaseComparison], changes: Sequence[float], unseen_loss: float, rules: Rules
) -> Needs | None:
    noises = [row.noise for row in rows if row.noise is not None]
    sample = Sample(
        changes=changes,
        repeats=min(min(row.runs) for row in rows),
        noise=sum(noises) / len(noises) if noises and rules.measure is None else None,
    )
    return needs(
        sample,
        margin=rules.margin,
        alpha=rules.alpha * rules.overall_share,
        confidence=1 - rules.alpha,
        unseen_loss=unseen_loss,
        cost_per_call=arm.cost_usd,
    )


def _broken_runs(arm: ArmComparison, rules: Rules) -> BrokenRuns | None:
    """Test whether more runs broke than before; None where none did."""
    rows = [(row, row.runs_broken) for row in arm.cases if row.runs_broken is not None]
    if not any(any(runs.before) or any(runs.after) for _, runs in rows):
        return None
    varying = [runs for _, runs in rows if runs.varies]
    p = 1.0
    if varying:
        shapes = [runs.shape for runs in varying]
        arrangements = Arrangements(shapes, lanes=rules.permutations, seed=rules.seed)
        statistic = Statistic(varying)
        for case, lanes in enumerate(arrangements):
            statistic.take(case, lanes)
        statistic.finish()
        p = arrangements.p_value(statistic.at_least(statistic.observed, arrangements.every).bit_count())
    kinds: Counter[str] = Counter()
    for row, _ in rows:
        kinds.update(row.errors)
    return BrokenRuns(
        arm=arm.label,
        cases=len(rows),
        cases_before=sum(any(runs.before) for _, runs in rows),
        cases_after=sum(any(runs.after) for _, runs in rows),
        before=sum(float(sum(runs.before)) / len(runs.before) for _, runs in rows) / len(rows),
        after=sum(float(sum(runs.after)) / len(runs.after) for _, runs in rows) / len(rows),
        p=p,
        kinds=tuple(kinds.most_common()),
    )


def _call_changes(arm: ArmComparison) -> list[CallChange]:
    found: list[CallChange] = []
    kinds: tuple[tuple[Literal["cost", "latency"], list[tuple[float, float]]], ...] = (
        ("cost", [row.cost_usd for row in arm.compared if row.cost_usd is not None]),
        ("latency", [row.latency_s for row in arm.compared if row.latency_s is not None]),
    )
    for what, pairs in kinds:
        if pairs:
            before, after = (sum(pair[side] for pair in pairs) / len(pairs) for side in (0, 1))
            found.append(CallChange(arm=arm.label, what=what, cases=len(pairs), before=before, after=after))
    return found


def _significant(
    tests: Sequence[TestResult], effects: Sequence[Effect], comparison: Comparison, rules: Rules
) -> list[str]:
    """Return the falls that are beyond noise and at least `min_drop`; the fall of all fields first, then the worst."""
    found = [test for test in tests if test.adjusted <= rules.alpha and test.drop >= rules.min_drop]
    means = {test.arm for test in found if test.subject is Subject.OVERALL}
    found = [test for test in found if test.subject is not Subject.COMPLETE or test.arm not in means]
    found.sort(key=lambda test: (test.subject is not Subject.OVERALL, test.adjusted, -test.drop))
    return [_fall_text(test, effects, comparison, rules) for test in found]


def _fall_text(test: TestResult, effects: Sequence[Effect], comparison: Comparison, rules: Rules) -> str:
    arm = next(arm for arm in comparison.arms if arm.label == test.arm)
    how = f"p {p_text(test.adjusted)} after correction"
    if test.subject is Subject.OVERALL:
        effect = next(effect for effect in effects if effect.arm == test.arm)
        share = f"{interval_text(effect.bounds)}; {how}" if effect.bounds is not None else how
        where = f"{effect.measure}: {_percent_text(effect.after)}, was {_percent_text(effect.before)}"
        return _with_arm(test.arm, f"{where} ({share}); {_fell_text(effect)}")
    if test.subject is Subject.COMPLETE:
        return _with_arm(test.arm, f"{test.title}: {_points_text(test.drop)} fewer fields right ({how})")
    if test.subject is Subject.TAG:
        return _with_arm(test.arm, f"{_tag_fall_text(test, arm, rules)} ({how})")
    return _with_arm(test.arm, f"{_pattern_text(test, arm)} ({how})")


def _tag_fall_text(test: TestResult, arm: ArmComparison, rules: Rules) -> str:
    """Return `kind=credit: fields right 20.0 %, was 100.0 %: worse in 4 of 5 documents (c1, c2, ...), better in 0`."""
    tag = next(tag for tag in rules.by if test.name.startswith(f"{tag}="))
    rows = [
        row for row in open_cases(arm.compared) if row.tags.get(tag) is not None and tag_label(row, tag) == test.name
    ]
    runs = [overall_runs(row, rules.measure) for row in rows]
    losses = sorted(((-float(one.loss), row.case) for one, row in zip(runs, rows, strict=True)))
    before, after = (float(sum(sum(side) / len(side) for side in sides)) / len(rows) for sides in _sides(runs))
    rates = f"{_percent_text(_level(after, rules))}, was {_percent_text(_level(before, rules))}"
    fell, rose = [case for loss, case in losses if loss < 0], sum(loss > 0 for loss, _ in losses)
    where = f"worse in {len(fell)} of {len(rows)} documents ({_names(fell)}), better in {rose}"
    return f"{test.name}: {rules.measure or 'fields right'} {rates}: {where}"


def _level(wrong: float, rules: Rules) -> float:
    """Return a mean as readers see it, from the mean of values of which larger ones are worse."""
    return 1 - wrong if rules.measure is None else -wrong


def _pattern_text(test: TestResult, arm: ArmComparison) -> str:
    """Return `total: 88.0 % right, was 100.0 %: worse in 6 documents (c1, c2, ...), better in 0`."""
    losses = sorted(
        (
            (float(row.runs_by_pattern[test.name].loss), row.case)
            for row in arm.compared
            if test.name in row.runs_by_pattern
        ),
        key=lambda pair: (-pair[0], pair[1]),
    )
    row = next(row for row in arm.patterns if row.pattern == test.name)
    fell = [case for loss, case in losses if loss > 0]
    rose = sum(loss < 0 for loss, _ in losses)
    rates = f"{_percent_text(row.after)} right, was {_percent_text(row.before)}"
    return f"{test.name}: {rates}: worse in {len(fell)} of {row.cases} documents ({_names(fell)}), better in {rose}"


def _fell_text(effect: Effect) -> str:
    names = f" ({_names(effect.fell)})" if effect.fell else ""
    before, after = effect.failed_whole
    whole = f"; {_count(after, 'answer')} failed as a whole, {before} before" if after > before else ""
    return f"{len(effect.fell)} of {effect.cases} documents fell{names}, {effect.rose} rose{whole}"


def _names(cases: Sequence[str]) -> str:
    """Return the ids of the first cases, without their files."""
    shown = [case.rpartition("::")[2] for case in cases[:_MOST_NAMED]]
    return ", ".join(shown) + (f" and {len(cases) - len(shown)} more" if len(cases) > len(shown) else "")


def _failed_rules(comparison: Comparison, effects: Sequence[Effect], rules: Rules) -> list[str]:
    reasons: list[str] = []
    regressed = sum(row.regressed for arm in comparison.arms for row in arm.cases)
    if rules.max_regressed is not None and regressed > rules.max_regressed:
        reasons.append(f"rule: {regressed} regressed fields, at most {rules.max_regressed} allowed")
    reasons += [
        f"rule: {_with_arm(effect.arm, effect.measure)} fell by {_points_text(effect.drop)}, "
        f"at most {_points_text(rules.max_drop)} allowed"
        for effect in effects
        if rules.max_drop is not None and effect.drop > rules.max_drop + 1e-12
    ]
    for arm in comparison.arms:
        reasons += [
            f"rule: {_with_arm(arm.label, row.pattern)} fell by {_points_text(row.before - row.after)}, "
            f"at most {_points_text(rules.max_pattern_drop)} allowed"
            for row in arm.patterns
            if rules.max_pattern_drop is not None and row.before - row.after > rules.max_pattern_drop + 1e-12
        ]
    return reasons


def _rise_rules(broken: Sequence[BrokenRuns], calls: Sequence[CallChange], rules: Rules) -> list[str]:
    reasons = [
        f"rule: {broken_text(found)}, a rise of {_points_text(found.after - found.before)}, "
        f"at most {_points_text(rules.max_broken_rise)} allowed"
        for found in broken
        if rules.max_broken_rise is not None and found.after - found.before > rules.max_broken_rise + 1e-12
    ]
    limits = {"cost": rules.max_cost_rise, "latency": rules.max_latency_rise}
    for change in calls:
        limit = limits[change.what]
        if limit is not None and change.after > change.before * (1 + limit) + 1e-12:
            reasons.append(f"rule: {call_text(change)}, at most +{_whole_percent(limit)} allowed")
    return reasons


def _fallen_text(fallen: FallenPattern) -> str:
    where = _with_arm(fallen.arm, fallen.pattern)
    return f"ratchet: {where} is at {_percent_text(fallen.now)}, its best accepted rate is {_percent_text(fallen.best)}"


def _doubts(
    comparison: Comparison,
    effects: Sequence[Effect],
    tests: Sequence[TestResult],
    broken: Sequence[BrokenRuns],
    rules: Rules,
) -> list[str]:
    if not comparison.pairs:
        return ["nothing was compared, so there is nothing to be sure of"]
    doubts = [
        f"{_with_arm(effect.arm, effect.measure)}: {_percent_text(effect.after)}, was {_percent_text(effect.before)}; "
        f"{_count(effect.cases, 'case')} cannot exclude a fall of {_points_text(rules.margin)} or more: "
        f"it may be {_points_text(effect.bounds.worst)} ({_whole_percent(effect.bounds.confidence)} sure)"
        for effect in effects
        if rules.statistics and effect.bounds and effect.bounds.worst >= rules.margin
    ]
    arms = {arm.label: arm for arm in comparison.arms}
    doubts += [
        f"{_with_arm(test.arm, _pattern_text(test, arms[test.arm]))}; luck gives some field such a fall in "
        f"{_whole_percent(test.luck)} of comparisons: too little for a proof, too much to ignore"
        for test in _fallen_fields(tests, rules)
        if test.luck <= _UNLIKELY
    ]
    doubts += [doubt for arm in comparison.arms for doubt in _doubts_by_missing_cases(arm, rules)]
    doubts += [
        f"{broken_text(found)}: more than chance gives (p {p_text(found.p)}); an outage, or the change itself"
        for found in broken
        if rules.statistics and found.p <= rules.alpha and found.after > found.before
    ]
    return doubts


def _fallen_fields(tests: Sequence[TestResult], rules: Rules) -> list[TestResult]:
    """Return the tests of fields that fell by more than the margin, the least probable by luck first."""
    found = [test for test in tests if test.subject is Subject.PATTERN and test.drop > rules.margin + 1e-12]
    return sorted(found, key=lambda test: (test.luck, -test.drop, test.name))


def _doubts_by_missing_cases(arm: ArmComparison, rules: Rules) -> list[str]:
    """Return the doubts because of lost cases, and of earlier cases that the run does not have."""
    doubts: list[str] = []
    lost = len(arm.of_kind(Change.LOST))
    total = lost + len(arm.compared)
    if total and lost > rules.max_lost * total:
        doubts.append(f"{_with_arm(arm.label, f'{lost} of {total} cases')} broke or were not run, on one side or both")
    gone, earlier = arm.gone
    if rules.statistics and arm.compared and gone > rules.max_gone * earlier:
        what = _with_arm(arm.label, f"{gone} of {earlier} earlier cases")
        limit = f"at most {_whole_percent(rules.max_gone)} may be gone"
        doubts.append(f"{what} are not in this run, and the others do not stand for them ({limit})")
    return doubts


def _assurance(effect: Effect, rules: Rules) -> str:
    where = f"{effect.measure}: {_percent_text(effect.after)}, was {_percent_text(effect.before)}"
    if not rules.statistics:
        return _with_arm(effect.arm, f"{where}; no rule is broken")
    if effect.bounds is None:
        return _with_arm(effect.arm, f"{where}; no result changed, and nothing that the results depend on did")
    return _with_arm(
        effect.arm,
        f"{where}; {_count(effect.cases, 'case')} exclude a fall of {_points_text(rules.margin)} or more "
        f"(at most {_points_text(effect.bounds.worst)}, {_whole_percent(effect.bounds.confidence)} sure)",
    )


def _warnings(
    comparison: Comparison, effects: Sequence[Effect], tests: Sequence[TestResult], rules: Rules
) -> list[str]:
    """Return what "not worse" takes for granted, and the fields of which it cannot say anything."""
    arms = {arm.label: arm for arm in comparison.arms}
    fallen = [test for test in _fallen_fields(tests, rules) if test.luck <= _EVEN]
    found = [
        f"{_with_arm(test.arm, _pattern_text(test, arms[test.arm]))}: {_too_little_text(test)}" for test in fallen[:3]
    ]
    if len(fallen) > 3:
        found.append(
            f"{len(fallen) - 3} more fields fell by more than {_points_text(rules.margin)}, which is not beyond noise"
        )
    for effect in effects:
        if effect.assumed and effect.bounds is not None:
            runs = effect.cases
            share = 1 - (1 - effect.bounds.confidence) ** (1 / runs)
            found.append(
                f"{_with_arm(effect.arm, 'this assumes')} that answers do not begin to fail as a whole: none of {runs} "
                f"did, which does not exclude that {_percent_text(share)} will"
            )
    return found


def _too_little_text(test: TestResult) -> str:
    if not test.decidable and test.needed is not None:
        return f"too few to be sure ({test.needed} would be enough)"
    return f"luck gives some field such a fall in {_whole_percent(test.luck)} of comparisons"


def _advice(answer: Answer, effects: Sequence[Effect]) -> list[str]:
    """Return what to do next, with its price."""
    if answer is Answer.NOT_WORSE:
        return []
    found = [_with_arm(effect.arm, f"look first at {_names(effect.fell)}") for effect in effects if effect.fell]
    if answer is Answer.CANNOT_TELL:
        found += [_with_arm(effect.arm, needs_text(effect.needs)) for effect in effects if effect.needs is not None]
    return found


def needs_text(needs: Needs) -> str:
    """Describe what would decide: `to decide: 23 to 60 more cases (46 to 120 calls, $0.12 to $0.31)`."""
    ways = []
    if needs.repeats is not None:
        ways.append(_amount_text(needs.repeats, "more run of each case", "more runs of each case"))
    if needs.cases is not None:
        ways.append(_amount_text(needs.cases, "more case", "more cases"))
    if not ways:
        return "no number of cases or repeats would decide, if the cases seen are like the others"
    return f"to decide: {', or '.join(ways)}"


def _amount_text(amounts: tuple[Further, Further | None], noun: str, nouns: str) -> str:
    low, high = amounts
    if high is None:
        return f"at least {low.count:,} {nouns} ({low.calls:,} calls, {_money(low.cost_usd)})"
    if low.count == high.count:
        return f"{low.count:,} {noun if low.count == 1 else nouns} ({low.calls:,} calls, {_money(low.cost_usd)})"
    cost = _money(low.cost_usd)
    cost += f" to {_money(high.cost_usd)}" if low.cost_usd is not None else ""
    return f"{low.count:,} to {high.count:,} {nouns} ({low.calls:,} to {high.calls:,} calls, {cost})"


def _money(cost: float | None) -> str:
    return "cost unknown" if cost is None else f"${cost:,.2f}" if cost >= 0.1 or not cost else f"${cost:.2g}"


def _notes(comparison: Comparison, effects: Sequence[Effect], tests: Sequence[TestResult], rules: Rules) -> list[str]:
    """Return what the comparison leaves out, and what to do about it."""
    notes = [note for effect in effects if (note := _trade_note(effect, tests, rules))]
    lucky = [test for test in _fallen_fields(tests, rules) if test.luck > _EVEN]
    if lucky:
        arm = next(arm for arm in comparison.arms if arm.label == lucky[0].arm)
        which = f"{_count(len(lucky), 'field')} fell by more than {_points_text(rules.margin)}, as luck gives"
        notes.append(f"{which}: {_with_arm(arm.label, _pattern_text(lucky[0], arm))}")
    small = [test for test in tests if test.adjusted <= rules.alpha and 0 < test.drop < rules.min_drop]
    notes += [
        f"{_with_arm(test.arm, test.title)} fell by {_points_text(test.drop)}, beyond noise but less than min_drop "
        f"({_points_text(rules.min_drop)})"
        for test in small
    ]
    for tag in rules.by:
        rows = [row for arm in comparison.arms for row in arm.compared]
        if rows and not any(row.tags.get(tag) is not None for row in rows):
            known = {name for row in rows for name in row.tags}
            notes.append(f"no compared case has the tag {tag!r}{nearest(tag, known)}")
    for arm in comparison.arms:
        apart = [row for row in arm.cases if row.kind is Change.INCOMPARABLE or row.apart]
        if apart:
            causes = ", ".join(sorted({row.why for row in apart if row.why}))
            notes.append(
                f"{_with_arm(arm.label, f'{len(apart)} cases')} not or only in part comparable ({causes}); "
                "score the old outputs under today's schema and gold: --extract-from OLD.jsonl"
            )
        gone, earlier = arm.gone
        if gone:
            what = _with_arm(arm.label, f"{gone} of {earlier} earlier cases")
            notes.append(
                f"{what} are not in this run, and not judged; if they are gone for good, accept that: "
                "--extract-update-baseline"
            )
        if not arm.compared and arm.of_kind(Change.NEW):
            notes.append(f"{_with_arm(arm.after, 'no earlier result')}: nothing to compare it with yet")
        if arm.compared and all(row.replayed for row in arm.compared):
            what = _with_arm(arm.label, "every output was replayed")
            notes.append(f"{what}: a change of the extractor's code since it was recorded is not judged")
        if arm.known:
            notes.append(f"{_with_arm(arm.label, f'{len(arm.known)} known failures')} left out of the verdict")
    return notes


def _trade_note(effect: Effect, tests: Sequence[TestResult], rules: Rules) -> str | None:
    """Say that many cases lost a little and few gained a lot, where that is beyond noise and the mean is not."""
    overall = next((test for test in tests if test.arm == effect.arm and test.subject is Subject.OVERALL), None)
    worse = overall is not None and overall.adjusted <= rules.alpha and overall.drop >= rules.min_drop
    if worse or overall is None or overall.p <= rules.alpha or not effect.rose:
        return None
    if mcnemar(len(effect.fell), effect.rose) > rules.alpha:
        return None
    return _with_arm(
        effect.arm,
        f"{len(effect.fell)} cases fell and {effect.rose} rose, more than chance gives, but those that rose did so by "
        "more: the mean did not fall beyond noise",
    )


def _ratchet_notes(ratchet: RatchetCheck) -> list[str]:
    count = len(ratchet.unchecked)
    if not count:
        return []
    arm, pattern = ratchet.unchecked[0]
    return [
        f"ratchet: {count} patterns not checked ({_with_arm(arm, pattern)}, ...): some of their cases were not scored"
    ]


def broken_text(found: BrokenRuns) -> str:
    """Return `5 of 50 cases broke, 0 before (5 BadRequestError)`."""
    kinds = ", ".join(f"{count} {kind}" for kind, count in found.kinds)
    text = f"{found.cases_after} of {found.cases} cases broke, {found.cases_before} before"
    return _with_arm(found.arm, text + (f" ({kinds})" if kinds else ""))


def call_text(change: CallChange) -> str:
    """Return `cost of a call $0.024, was $0.020 (+20 %)`."""
    show = _money if change.what == "cost" else _seconds
    rise = f" ({change.rise:+.0%})" if change.rise is not None else ""
    return _with_arm(
        change.arm, f"{change.what} of a call {show(change.after)}, was {show(change.before)}{rise.replace('%', ' %')}"
    )


def _seconds(value: float) -> str:
    return f"{value:.3g} s" if value >= 0.01 else f"{1000 * value:.2g} ms"


def interval_text(bounds: Bounds) -> str:
    """Return `change -4.0 points, from -6.1 to -2.0 at 94 %`."""
    change, low, high = (f"{round(100 * value, 1) + 0.0:+.1f}" for value in (bounds.change, bounds.low, bounds.high))
    return f"change {change} points, from {low} to {high} at {100 * bounds.interval:.3g} %"


def _with_arm(arm: str, what: str) -> str:
    return f"[{arm}] {what}" if arm else what


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def _percent_text(share: float) -> str:
    return f"{100 * share:.1f} %"


def _whole_percent(share: float) -> str:
    return f"{100 * share:.0f} %"


def _points_text(share: float) -> str:
    return f"{100 * share:.1f} points"


def p_text(value: float) -> str:
    """Return `= 0.012`, or `< 0.001`."""
    return f"= {value:.2g}" if value >= 0.001 else "< 0.001"


def check_ratchet(baseline: Baseline, run: Snapshot, *, slack: float) -> RatchetCheck:
    """Find the patterns that are more than `slack` below their best accepted rate; the worst first.

    A rate is compared with the best only if every case of the baseline that has the pattern was scored in this run: the
    rate of a selection of cases differs without any change.
    """
    fallen: list[FallenPattern] = []
    unchecked: list[tuple[str, str]] = []
    for arm, best in baseline.best.items():
        states = {key: state for key, state in run.items() if key.arm == arm and not state.lost}
        missing = _patterns_of_missing(baseline, arm, states)
        rates = pattern_rates(states.values())
        for pattern, rate in best.items():
            if pattern in missing:
                unchecked.append((arm, pattern))
            elif pattern in rates and rates[pattern] < rate - slack - _RATE_ROUNDING:
                fallen.append(FallenPattern(arm, pattern, rate, rates[pattern]))
    worst_first = sorted(fallen, key=lambda row: (row.now - row.best, row.arm, row.pattern))
    return RatchetCheck(fallen=tuple(worst_first), unchecked=tuple(unchecked))


def _patterns_of_missing(baseline: Baseline, arm: str, states: Snapshot) -> set[str]:
    missing = (state for key, state in baseline.cases.items() if key.arm == arm and key not in states)
    return {pattern for state in missing for pattern in state.patterns}
