"""The regression gate: compares two snapshots and decides "worse", "not worse" or "cannot tell", with reasons.

"Worse" needs evidence beyond noise, or a broken hard rule. "Not worse" needs evidence too: that a drop of the margin
is excluded. Without either, the answer is "cannot tell". Outages are evidence of neither, and a comparison of nothing
never passes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, Literal, NamedTuple, TypeAlias

from pytest_extract.core.case_result import CaseResult
from pytest_extract.core.stats.interval import Bounds, drop_bounds
from pytest_extract.core.stats.power import Needs, Sample, needs
from pytest_extract.regression.baseline import Baseline, pattern_rates
from pytest_extract.regression.changes import ArmComparison, CaseComparison, Change, Comparison
from pytest_extract.regression.compare import compare, compare_arms
from pytest_extract.regression.multiple_testing import TestResult, case_differences, run_tests
from pytest_extract.regression.rules import Rules
from pytest_extract.regression.snapshots import Snapshot, snapshot

Inconclusive: TypeAlias = Literal["pass", "warn", "fail"]
EXIT_NOT_WORSE, EXIT_WORSE, EXIT_USAGE, EXIT_CANNOT_TELL = 0, 1, 2, 3
_RATE_ROUNDING: Final = 1e-6  # rates in the baseline file have six digits


class Answer(StrEnum):
    """The three answers of the gate."""

    WORSE = "worse"
    NOT_WORSE = "not worse"
    CANNOT_TELL = "cannot tell"


@dataclass(frozen=True, slots=True, kw_only=True)
class Effect:
    """How much one arm changed: means over the compared cases, and how large the change may be.

    `cases`: number of cases that the bounds are computed from, without those whose setup and results are unchanged.
    `bounds` is None without such cases: nothing can have become worse.
    """

    arm: str
    measure: str
    cases: int
    before: float
    after: float
    bounds: Bounds | None
    needs: Needs | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class GateDecision:
    """The answer of the gate with its reasons, and the comparison, tests and effects that it is decided from."""

    answer: Answer
    reasons: tuple[str, ...]
    notes: tuple[str, ...]
    comparison: Comparison
    tests: tuple[TestResult, ...]
    effects: tuple[Effect, ...]
    rules: Rules

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
    tests = run_tests(comparison, rules) if rules.statistics else ()
    effects = tuple(_effect(arm, rules) for arm in comparison.arms if arm.compared)
    worse = [
        *_broken_rules(comparison, effects, rules),
        *map(_fallen_text, ratchet.fallen),
        *_significant(tests, rules),
    ]
    doubts = _doubts(comparison, effects, rules)
    if worse:
        answer, reasons = Answer.WORSE, worse
    elif doubts:
        answer, reasons = Answer.CANNOT_TELL, doubts
    else:
        answer, reasons = Answer.NOT_WORSE, [_assurance(effect, rules) for effect in effects]
    return GateDecision(
        answer=answer,
        reasons=tuple(reasons),
        notes=(*_notes(comparison), *_ratchet_notes(ratchet)),
        comparison=comparison,
        tests=tests,
        effects=effects,
        rules=rules,
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


def _effect(arm: ArmComparison, rules: Rules) -> Effect:
    rows = arm.compared
    open_rows = _open_rows(rows)
    changes = case_differences(open_rows, rules.measure)
    before, after = _means(rows, rules.measure)
    found = None
    if changes:
        found = drop_bounds(
            [float(change) for change in changes],
            unseen_loss=rules.unseen_loss,
            confidence=1 - rules.alpha,
            resamples=rules.resamples,
            seed=rules.seed,
        )
    undecided = found is not None and found.worst >= rules.margin
    return Effect(
        arm=arm.label,
        measure=rules.measure or "fields right",
        cases=len(open_rows),
        before=before,
        after=after,
        bounds=found,
        needs=_needed_cases(arm, open_rows, rules) if undecided else None,
    )


def _open_rows(rows: Sequence[CaseComparison]) -> list[CaseComparison]:
    """Return the cases whose results could have changed, or did.

    Unchanged cases that the change does not touch carry no information about it, if it touches any.
    """
    touched = any(not row.same_setup for row in rows)
    closed = [row.settled or (touched and row.same_setup) for row in rows]
    return [row for row, shut in zip(rows, closed, strict=True) if not shut or row.kind is not Change.UNCHANGED]


def _means(rows: Sequence[CaseComparison], measure: str | None) -> tuple[float, float]:
    if measure is None:
        pairs = [(float(row.before), float(row.after)) for row in rows]
    else:
        pairs = [row.measures[measure] for row in rows]
    return sum(before for before, _ in pairs) / len(pairs), sum(after for _, after in pairs) / len(pairs)


def _needed_cases(arm: ArmComparison, rows: Sequence[CaseComparison], rules: Rules) -> Needs | None:
    noises = [row.noise for row in rows if row.noise is not None]
    sample = Sample(
        changes=[float(change) for change in case_differences(rows, rules.measure)],
        repeats=min(row.runs for row in rows),
        noise=sum(noises) / len(noises) if noises and rules.measure is None else None,
    )
    return needs(
        sample,
        margin=rules.margin,
        alpha=rules.alpha * (1 - rules.reserve) * rules.overall_share,
        confidence=1 - rules.alpha,
        unseen_loss=rules.unseen_loss,
        cost_per_call=arm.cost_usd,
    )


def _significant(tests: Sequence[TestResult], rules: Rules) -> list[str]:
    return [
        f"{_with_arm(test.arm, test.pattern or 'all fields')}: {test.broken} broken, {test.fixed} fixed, "
        f"more than noise gives (p {_p_text(test.p)}, corrected {_p_text(test.adjusted)}, limit {rules.alpha:g})"
        for test in tests
        if test.adjusted <= rules.alpha
    ]


def _broken_rules(comparison: Comparison, effects: Sequence[Effect], rules: Rules) -> list[str]:
    reasons: list[str] = []
    broken = sum(row.broken for arm in comparison.arms for row in arm.cases)
    if rules.max_broken is not None and broken > rules.max_broken:
        reasons.append(f"rule: {broken} broken fields, at most {rules.max_broken} allowed")
    for effect in effects:
        drop = effect.before - effect.after
        if rules.max_drop is not None and drop > rules.max_drop + 1e-12:
            reasons.append(
                f"rule: {_with_arm(effect.arm, effect.measure)} fell by {_points_text(drop)}, "
                f"at most {_points_text(rules.max_drop)} allowed"
            )
    for arm in comparison.arms:
        reasons += [
            f"rule: {_with_arm(arm.label, row.pattern)} fell by {_points_text(row.before - row.after)}, "
            f"at most {_points_text(rules.max_pattern_drop)} allowed"
            for row in arm.patterns
            if rules.max_pattern_drop is not None and row.before - row.after > rules.max_pattern_drop + 1e-12
        ]
    return reasons


def _fallen_text(fallen: FallenPattern) -> str:
    where = _with_arm(fallen.arm, fallen.pattern)
    return f"ratchet: {where} is at {_percent_text(fallen.now)}, its best accepted rate is {_percent_text(fallen.best)}"


def _doubts(comparison: Comparison, effects: Sequence[Effect], rules: Rules) -> list[str]:
    if not comparison.pairs:
        return ["nothing was compared, so there is nothing to be sure of"]
    doubts = [doubt for arm in comparison.arms for doubt in _doubts_by_missing_cases(arm, rules)]
    doubts += [
        f"{_with_arm(effect.arm, effect.measure)}: {effect.cases} cases cannot exclude a drop of "
        f"{_points_text(effect.bounds.worst)} (asked: less than {_points_text(rules.margin)})"
        for effect in effects
        if rules.statistics and effect.bounds and effect.bounds.worst >= rules.margin
    ]
    return doubts


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
        limit = f"at most {rules.max_gone:.0%} may be gone"
        doubts.append(f"{what} are not in this run, and the others do not stand for them ({limit})")
    return doubts


def _assurance(effect: Effect, rules: Rules) -> str:
    where = _with_arm(effect.arm, effect.measure)
    if effect.bounds is None:
        return f"{where}: no result changed, and nothing that the results hang on did"
    if not rules.statistics:
        return f"{where}: no rule is broken ({_percent_text(effect.before)} -> {_percent_text(effect.after)})"
    return (
        f"{where}: no drop beyond noise; {effect.cases} cases exclude one of {_points_text(rules.margin)} "
        f"(at most {_points_text(effect.bounds.worst)}, {effect.bounds.confidence:.0%} sure)"
    )


def _notes(comparison: Comparison) -> list[str]:
    """Return what the comparison leaves out, and what to do about it."""
    notes: list[str] = []
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


def _ratchet_notes(ratchet: RatchetCheck) -> list[str]:
    count = len(ratchet.unchecked)
    if not count:
        return []
    arm, pattern = ratchet.unchecked[0]
    return [
        f"ratchet: {count} patterns not checked ({_with_arm(arm, pattern)}, ...): some of their cases were not scored"
    ]


def _with_arm(arm: str, what: str) -> str:
    return f"[{arm}] {what}" if arm else what


def _percent_text(share: float) -> str:
    return f"{100 * share:.1f} %"


def _points_text(share: float) -> str:
    return f"{100 * share:.1f} points"


def _p_text(value: float) -> str:
    return f"= {value:.2g}" if value >= 0.0001 else "< 0.0001"


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
