"""The regression gate: compares two snapshots and decides WORSE, PASS or UNDECIDED, with reasons.

WORSE needs evidence beyond noise, dead cases, or a broken hard rule. UNDECIDED says that something fell and may be
noise, or that too much is missing. PASS says which falls are excluded. Outages are evidence of neither, and a
comparison of nothing never passes. The confirmation comes first, then the decisions, then the sentences that give
their reasons.

Confirmation: the cases that fell run again on both sides, and the fresh runs alone decide (`--extract-confirm`).
Lemma: let the first runs choose cases and suspects by any rule. Given the cases, fresh runs do not depend on the first
ones, and without a change those of both sides have one distribution in every case. So the permutation test of the fresh
runs holds its level for every choice, and thus on average over choices. "Worse" then needs a first stage that is
significant at one part of alpha, or a confirmation that is at the rest: together at most alpha (Bonferroni), whatever
decides if a confirmation takes place at all.

Runs of a baseline are fresh if nothing was chosen by them: where it has several runs of a case, the first chooses and
the others confirm.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from enum import StrEnum
from typing import Final

from pytest_extract.core.aggregate.slices import tag_text
from pytest_extract.core.case_result import CaseResult, Origin, Spending
from pytest_extract.core.stats import Bounds
from pytest_extract.core.values import ROUNDING, nearly
from pytest_extract.core.words import listed, plural
from pytest_extract.errors import nearest
from pytest_extract.regression.baseline import MORE_CASES, MORE_RUNS, Falls, Resolution
from pytest_extract.regression.compare import (
    CaseComparison,
    Change,
    Comparison,
    FieldChange,
    VariantComparison,
    compare,
    compare_variants,
)
from pytest_extract.regression.facts import (
    OVERALL_SHARE,
    SMALLEST_FALL,
    CallChange,
    Collapse,
    Effect,
    ErrorRuns,
    Facts,
    Rules,
    Subject,
    Suspect,
    TestResult,
    Weight,
    establish_facts,
    find_collapse,
    losses_of,
    measure_effects,
    open_cases,
    run_tests,
    smallest_p,
    tag_effects,
)
from pytest_extract.regression.snapshots import CaseState, Snapshot, counted_states, snapshot

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
class Confirmation(Facts):
    """What the fresh runs show: their tests, worst first, and the change of each variant over the cases run again.

    `fallen`: the tests that are beyond noise, and whose fall is at least `SMALLEST_FALL` of the suite. `enough`: so
    many cases were run again that a fall in all of them is beyond noise. `spent`: what the fresh runs took.
    """

    plans: tuple[VariantPlan, ...]
    fallen: tuple[TestResult, ...]
    enough: bool
    spent: Spending


def suspects_of(variant: str, tests: Sequence[TestResult]) -> tuple[TestResult, ...]:
    """Return what may have fallen in a variant: the mean over all fields, and what else luck gives least often.

    The more improbable one, as the gate weighs them, is the first; empty where luck explains every fall.
    """
    found: dict[float, TestResult] = {}  # by the part of alpha
    for test in sorted(tests, key=lambda test: (test.luck, -test.drop)):
        if test.variant == variant and test.drop > 0 and test.luck <= _EVEN:
            found.setdefault(OVERALL_SHARE if test.subject is Subject.OVERALL else 1 - OVERALL_SHARE, test)
    return tuple(test for _, test in sorted(found.items(), key=lambda each: each[1].luck / each[0]))


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
) -> VariantPlan | None:
    """Plan the confirmation of a variant by the comparison that may choose, and its tests; None where it shows nothing.

    `held`: number of baseline runs of each case that were kept out of the comparison; None where both sides are called.
    `among`: the cases that can be run again, all of them by default. At most `most` cases, and four calls for each of
    these in all, so that fewer cases have more runs. Where cases died, these alone run again: beside others they would
    have too few runs to show it.
    """
    suspects = tuple(test.suspect for test in suspects_of(variant.label, tests))
    dead = find_collapse(variant, rules)
    losses = [loss for suspect in suspects for loss in losses_of(variant, suspect, rules).items()]
    fell = dict.fromkeys(case for case, loss in losses if loss > 0)
    if dead is not None and dead.weight is not Weight.TOLD:
        fell = dict.fromkeys(dead.cases)
    cases = [case for case in fell if (among is None or case in among) and (held is None or held.get(case, 0) > 0)]
    cases, level = cases[:most], _level(rules)

    def smallest(runs: int) -> float:
        return smallest_p((runs if held is None else held[case], runs) for case in cases)

    limit = CALLS_OF_A_CASE * most // (max(1, len(cases)) * (2 if held is None else 1))
    counts = range(_FEWEST_RUNS, max(limit, _FEWEST_RUNS) + 1)
    runs = next((count for count in counts if smallest(count) <= level / _SPARE), counts[-1])
    if smallest(runs) > level:  # of no case, it is 1
        return None
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
    one outcome. A run that ended in error counts as had.
    """
    had = [state.runs + sum(state.errors.values()) for state in states.values()]
    fewest = min((runs for runs in had if runs > 1), default=1)
    return {case: count for case, state in states.items() if (count := min(fewest, state.runs) - 1) > 0}


def confirm(
    first: Comparison, plans: Sequence[VariantPlan], fresh: Comparison, spent: Spending, rules: Rules
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
        rules=rules,
        tests=found.results,
        effects=measure_effects(fresh, rules, found),
        fallen=tuple(test for test in found.results if falls(test)),
        enough=any(smallest_p(row.runs for row in each.compared) <= _level(rules) for each in fresh.variants),
        spent=spent,
    )


def _size(comparison: Comparison, test: TestResult) -> int:
    """Return how many cases of its variant a test is about."""
    variant = comparison.variant(test.variant)
    if test.subject is Subject.PATTERN:
        return next((row.cases for row in variant.patterns if row.pattern == test.name), 0)
    return len(open_cases(variant.compared))


EXIT_PASS, EXIT_WORSE, EXIT_USAGE, EXIT_UNDECIDED = 0, 1, 2, 3


class Answer(StrEnum):
    """The three answers of the gate."""

    WORSE = "WORSE"
    PASS = "PASS"  # noqa: S105  # no password
    UNDECIDED = "UNDECIDED"


@dataclass(frozen=True, slots=True, kw_only=True)
class GateDecision(Facts):
    """The answer of the gate with its reasons, and the facts that it is decided from.

    `warnings`: what a reader of PASS has to know. `advice`: what to do next. `confirmation`: fresh runs of the cases
    that fell, None where there are none. `by_rule`: a hard rule is broken.
    """

    answer: Answer
    reasons: tuple[str, ...]
    notes: tuple[str, ...]
    warnings: tuple[str, ...] = ()
    advice: tuple[str, ...] = ()
    confirmation: Confirmation | None = None
    by_rule: bool = False

    @property
    def compared_nothing(self) -> bool:
        """Whether no (case, field) pair was compared; such a decision never passes, whatever `inconclusive` says."""
        return self.comparison.pairs == 0


def evaluate_gate(
    before: Snapshot, after: Snapshot, rules: Rules | None = None, *, level: float | None = None, confirm: bool = True
) -> GateDecision:
    """Compare two snapshots and decide; `level` and `confirm` as in `decide`.

    Raises ConfigError if `rules.measure` names a measure that the cases do not have.
    """
    if any(state.origin is Origin.SAMPLE for state in after.values()):  # else the run is compared case by case
        before, after = counted_states(before), counted_states(after)
    return decide(compare(before, after), rules, level=level, confirm=confirm)


def evaluate_base(
    results: Collection[CaseResult], base: str, rules: Rules, *, level: float | None = None, confirm: bool = True
) -> GateDecision:
    """Compare every other variant of a run with its variant `base`, and decide once: `alpha` holds for all together."""
    states = counted_states(snapshot(results))
    others = sorted({key.variant for key in states} - {base})
    comparison = Comparison(variants=tuple(compare_variants(states, states, base, other) for other in others))
    return decide(comparison, rules, level=level, confirm=confirm)


def decide(
    comparison: Comparison, rules: Rules | None = None, *, level: float | None = None, confirm: bool = True
) -> GateDecision:
    """Decide on a comparison.

    `level`: the rate of false WORSE answers of the tests, `rules.alpha` by default; less where a confirmation is to
    have the rest. `confirm`: as in `advice_texts`.

    Raises ConfigError where `rules.measure` names a measure that the cases do not have.
    """
    rules = rules or Rules()
    if rules.measure is not None:
        comparison = _comparable_in(comparison, rules.measure)
    facts = establish_facts(comparison, rules, level=level)
    found, broken = [test for test in facts.tests if test.significant], _rule_texts(facts)
    falls, means = _fall_texts(facts, found), sum(test.subject is Subject.OVERALL for test in found)
    dead = [_dead_text(each) for each in facts.collapses if each.weight is Weight.WORSE]
    answer, reasons = Answer.WORSE, [*falls[:means], *dead, *broken, *falls[means:]]
    if not reasons:
        answer, reasons = Answer.UNDECIDED, _doubt_texts(facts)
    if not reasons:
        answer, reasons = Answer.PASS, [_assurance_text(effect) for effect in facts.effects]
    passed = answer is Answer.PASS
    return GateDecision(
        **{field.name: getattr(facts, field.name) for field in fields(Facts)},
        answer=answer,
        reasons=_with_level(facts, reasons),
        notes=tuple(_note_texts(facts)),
        warnings=tuple(map(_dead_text, facts.collapses)) if passed else (),
        advice=() if passed else tuple(advice_texts(facts, confirm=confirm and answer is Answer.UNDECIDED)),
        by_rule=bool(broken) or (rules.max_dead is not None and bool(dead)),
    )


def _with_level(facts: Facts, reasons: Sequence[str]) -> tuple[str, ...]:
    """Return reasons of which the first has the mean before and now, if it is of one variant only."""
    levels = [level_text(effect) for effect in facts.effects]
    if len(levels) != 1 or levels[0] in reasons[0]:
        return tuple(reasons)
    return f"{levels[0]}; {reasons[0]}", *reasons[1:]


def _comparable_in(comparison: Comparison, measure: str) -> Comparison:
    """Return a comparison without the cases whose measures count what the fields' comparison leaves out."""
    why = f"{measure} counts a known failure, or a field whose gold or metric changed"

    def comparable(row: CaseComparison) -> CaseComparison:
        return CaseComparison(case=row.case, kind=Change.INCOMPARABLE, why=why) if row.measures_differ else row

    variants = (replace(each, cases=tuple(map(comparable, each.cases))) for each in comparison.variants)
    return replace(comparison, variants=tuple(variants))


def decide_confirmed(first: GateDecision, confirmation: Confirmation) -> GateDecision:
    """Decide by the fresh runs of the cases that fell; `first` is that of the first runs at their part of alpha.

    A fall that they confirm is WORSE. One that they do not is PASS where nothing else is in doubt, but UNDECIDED where
    the first runs alone would have been WORSE at all of alpha. Where too few cases ran again on both sides, the first
    runs decide.
    """
    first = replace(first, confirmation=confirmation)
    if not confirmation.enough:
        ran = sum(len(each.compared) for each in confirmation.comparison.variants)
        planned = sum(len(plan.cases) for plan in confirmation.plans)
        missing = f"not confirmed: {ran} of {planned} cases could run again, too few to show a fall"
        return replace(first, advice=(*first.advice, missing))
    advice = tuple(advice_texts(first, confirm=False))
    if confirmation.fallen:
        reasons: list[str] = []  # what fell by the first runs, each followed by what the fresh runs say of it
        for test in sorted(confirmation.fallen, key=lambda test: (test.subject is not Subject.OVERALL, test.adjusted)):
            found = [each for each in first.tests if (each.variant, each.suspect) == (test.variant, test.suspect)]
            fresh = _of(test.variant, f"confirmed by {_fresh_text(confirmation, test)}")
            reasons += [*_fall_texts(first, found), fresh]
        return replace(first, answer=Answer.WORSE, reasons=_with_level(first, reasons), advice=advice)
    failed = [
        _of(test.variant, f"not confirmed by {_fresh_text(confirmation, test)}")
        for test in confirmation.tests
        if test.subject is Subject.OVERALL
    ]
    others = _doubt_texts(first, falls=False)
    alone = run_tests(first.comparison, first.rules).results
    if not others and first.answer is not Answer.WORSE and not any(test.significant for test in alone):
        assured, warnings = map(_assurance_text, first.effects), (*failed, *map(_dead_text, first.collapses))
        return replace(first, answer=Answer.PASS, reasons=tuple(assured), warnings=warnings, advice=())
    seen, *further = first.reasons
    left = dict.fromkeys([f"in the first runs {seen}", *failed, *further, *others])
    return replace(first, answer=Answer.UNDECIDED, reasons=tuple(left), advice=advice)


def exit_status(decision: GateDecision) -> int:
    """Exit status of `compare`: 0 PASS, 1 WORSE, 3 UNDECIDED.

    The rule `inconclusive` maps the last to 0 (warn) or 1 (fail); but a comparison of nothing stays 3, or becomes 1.
    """
    inconclusive = decision.rules.inconclusive
    if decision.answer is Answer.PASS:
        return EXIT_PASS
    if decision.answer is Answer.WORSE or inconclusive == "fail":
        return EXIT_WORSE
    return EXIT_UNDECIDED if inconclusive is None or decision.compared_nothing else EXIT_PASS


# why a variant is worse

_MOST_LOST: Final = 0.1  # share of cases that may be lost to outages before the answer is UNDECIDED
_MOST_GONE: Final = 0.5  # share of the earlier cases that may be missing: the few that remain may not stand for them
_MOST_KINDS: Final = 3


def _dead_text(found: Collapse) -> str:
    """Return `4 of 4 documents died (c0, c1, c2, c3): right before, now unreadable or mostly wrong`."""
    tags = f", all of {listed(found.tags)}" if found.tags else ""
    count = f"{len(found.cases)} of {plural(found.of, 'document')} died ({_names(found.cases)}){tags}"
    return _of(found.variant, f"{count}: right before, now unreadable or mostly wrong")


def _fall_texts(facts: Facts, found: Sequence[TestResult]) -> list[str]:
    """Return a sentence a fall, the worst first."""
    means = {test.variant for test in found if test.subject is Subject.OVERALL}
    shown = [test for test in found if test.subject is not Subject.COMPLETE or test.variant not in means]
    shown.sort(key=lambda test: (test.subject is not Subject.OVERALL, test.adjusted, -test.drop))
    return [_of(test.variant, _fall_text(test, facts)) for test in shown]


def _fall_text(test: TestResult, facts: Facts) -> str:
    """Return the fall of a mean, a field or a tag.

    `fields right 95.0 %, was 100.0 %: worse in 2 of 40 documents (c1, c2), better in 0 (p = 0.012 after correction)`.
    """
    variant, effect = facts.comparison.variant(test.variant), facts.effect(test.variant)
    losses = losses_of(variant, test.suspect, facts.rules)
    cases, whole, how = len(losses), "", f"p {_p_text(test.adjusted)} after correction"
    match test.subject:
        case Subject.OVERALL:
            level, (before, after) = level_text(effect), effect.failed_whole
            whole = f"; {plural(after, 'answer')} failed as a whole, {before} before" if after > before else ""
            how = f"{interval_text(effect.bounds)}; {how}" if effect.bounds is not None else how
        case Subject.COMPLETE:
            level = f"{test.title}: {_points(test.drop)} fewer fields right"
        case Subject.PATTERN:
            row = next(row for row in variant.patterns if row.pattern == test.name)
            level, cases = f": {_percent(row.after)} right, was {_percent(row.before)}", row.cases
        case _:
            tag = next(each for each in tag_effects(variant, facts.rules) if f"{each.tag}={each.value}" == test.name)
            level = f": {effect.measure} {_percent(tag.after)}, was {_percent(tag.before)}"
    fell, rose = [case for case, loss in losses.items() if loss > 0], sum(loss < 0 for loss in losses.values())
    names = f" ({_names(fell)})" if fell else ""
    changes = [change for change in variant.fields if test.pattern in (None, change.pattern)]
    mistakes = _mistakes_text(change for change in changes if losses.get(change.case, 0) > 0)
    count = f"worse in {len(fell)} of {plural(cases, 'document')}{names}, better in {rose}"
    prompts = {row.case: tag_text(row.slices, "prompt") for row in variant.compared}
    shared = {prompts[case] for case in fell}
    prompt = f", all with {shared.pop()}" if len(shared) == 1 < len({*prompts.values()}) else ""
    return f"{test.name}{level}: {count}{prompt}{whole}{mistakes} ({how})"


def level_text(effect: Effect) -> str:
    """Return `fields right 93.1 %, was 93.4 %`."""
    return f"{effect.measure} {_percent(effect.after)}, was {_percent(effect.before)}"


def _mistakes_text(changes: Iterable[FieldChange]) -> str:
    """Return `; among new mistakes: 10 power of ten (1,000 times the gold), 2 affix`; empty if no mistake has a name.

    These are the commonest kinds; what a kind means here is said where it is the same for all of several values.
    """
    named = {  # a mistake of several values, such as swapped columns, once
        (change.case, change.mistake.paths): change.mistake
        for change in changes
        if change.after < change.before and change.mistake is not None
    }
    texts: dict[str, list[str]] = {}
    for mistake in named.values():
        texts.setdefault(mistake.kind.replace("_", " "), []).append(mistake.text)
    ranked = sorted(texts.items(), key=lambda item: (-len(item[1]), item[0]))[:_MOST_KINDS]
    told = ", ".join(
        f"{len(found):,} {kind}" + (f" ({found[0]})" if len(found) > 1 and len({*found}) == 1 else "")
        for kind, found in ranked
    )
    return f"; among new mistakes: {told}" if told else ""


def _rule_texts(facts: Facts) -> list[str]:
    """Return the hard rules that are broken: on fields, the measure, cost and latency."""
    rules, reasons = facts.rules, []
    fallen = sum(row.fell for variant in facts.comparison.variants for row in variant.cases)
    if rules.max_fallen is not None and fallen > rules.max_fallen:
        reasons.append(f"rule: {plural(fallen, 'field')} fell, at most {rules.max_fallen} allowed")
    for effect in facts.effects:
        drop = effect.before - effect.after
        if rules.max_drop is not None and drop > rules.max_drop + ROUNDING:
            fell = f"{_of(effect.variant, effect.measure)} fell by {_points(drop)}"
            reasons.append(f"rule: {fell}, at most {_points(rules.max_drop)} allowed")
    limits = {"cost": rules.max_cost_rise, "latency": rules.max_latency_rise}
    for change in facts.calls:
        limit = limits[change.what]
        if limit is not None and change.after > change.before * (1 + limit) + ROUNDING:
            reasons.append(f"rule: {call_text(change)}, at most +{100 * limit:g} % allowed")
    return reasons


# what is in doubt


def _doubt_texts(facts: Facts, *, falls: bool = True) -> list[str]:
    """Return what keeps the gate from PASS; `falls`: those of the tests and of dead cases too."""
    if not facts.comparison.pairs:
        kinds = [{row.kind for row in variant.cases} for variant in facts.comparison.variants]
        unlike = "; no case has its id and the path of its file from the rootdir in both runs"
        why = unlike if kinds == [{Change.GONE, Change.NEW}] else ""
        return [f"nothing was compared, so there is nothing to be sure of{why}"]
    doubts: list[str] = []
    if falls:
        doubts += [_dead_text(each) for each in facts.collapses if each.weight is Weight.DOUBT]
        doubtful = [each for each in facts.tests if each.doubtful]
        doubts += [f"{text}; it may be noise" for text in _fall_texts(facts, doubtful)]
    margin = facts.rules.margin
    doubts += [
        _of(effect.variant, f"{_excluded_text(effect.bounds)}, and a fall of {_points(margin)} must be (margin)")
        for effect in facts.effects
        if margin is not None and effect.bounds is not None and effect.bounds.worst >= margin
    ]
    for variant in facts.comparison.variants:
        lost, stale = len(variant.of_kind(Change.LOST)), sum(row.other_code for row in variant.compared)
        (gone, earlier), total = variant.gone, lost + len(variant.compared)
        missing = {
            f"{lost} of {total} cases ended in error or were not run, on one side or both": lost > _MOST_LOST * total,
            f"{plural(stale, 'case')} replayed outputs of other code than today's, which --extract-changed=REF or "
            "--extract-record=all calls": stale,
            f"{gone} of {earlier} earlier cases are not in this run, and the others do not stand for them": (
                variant.compared and gone > _MOST_GONE * earlier
            ),
        }
        doubts += [_of(variant.label, text) for text, is_so in missing.items() if is_so]
    return doubts + [
        f"{errors_text(found)}: more than chance gives (p {_p_text(found.p)}); an outage, or the change itself: to see "
        f"which, run {_names(found.names)} again: pytest --lf"
        for found in facts.errors
        if found.p <= facts.rules.alpha
    ]


# what PASS says


def _assurance_text(effect: Effect) -> str:
    """Say why a variant is not worse, and what is excluded."""
    why = "no result changed, and nothing that the results depend on did"
    if effect.bounds is not None:
        why = f"no fall found; {_excluded_text(effect.bounds)}"
    return _of(effect.variant, f"{level_text(effect)}; {why}")


def _excluded_text(bounds: Bounds) -> str:
    """Return `falls of the mean above 3.2 points are ruled out`."""
    if bounds.worst >= 1:
        return "no fall of the mean is ruled out"
    return f"falls of the mean above {_points(bounds.worst)} are ruled out"


# what to do


def advice_texts(facts: Facts, *, confirm: bool) -> list[str]:
    """Return what to do next; `confirm`: to run the cases that fell again is worth naming, with what it costs."""
    found: list[str] = []
    doubtful = {test.variant for test in facts.tests if test.doubtful}
    doubtful |= {dead.variant for dead in facts.collapses if dead.weight is Weight.DOUBT}
    for effect in facts.effects:
        variant = facts.comparison.variant(effect.variant)
        if effect.fell:
            found.append(_of(variant.label, f"look first at {_names(effect.fell)}"))
        if confirm and variant.label in doubtful:
            plan = plan_variant(variant, facts.tests, facts.rules, most=MOST_CONFIRMED)
            if plan is not None:
                which = "the case that fell" if len(plan.cases) == 1 else f"{len(plan.cases)} cases that fell"
                cost = _money(None if variant.cost_usd is None else plan.calls * variant.cost_usd)
                how = f"again on both sides: pytest --extract-confirm ({plan.calls} calls, {cost})"
                found.append(_of(variant.label, f"to see if the fall is real, run {which} {how}"))
    return found


# what fresh runs say


def _fresh_text(confirmation: Confirmation, test: TestResult) -> str:
    """Return `fresh runs of 5 documents that fell (2 before, 2 now): fields right 8.0 %, was 96.0 %: ...`."""
    planned = next(len(plan.cases) for plan in confirmation.plans if plan.label == test.variant)
    effect, compared = confirmation.effect(test.variant), len(confirmation.comparison.variant(test.variant).compared)
    count = f"{compared} of the {planned} documents" if compared < planned else plural(planned, "document")
    before, now = (f"{low:,}" if low == high else f"{low:,} to {high:,}" for low, high in effect.runs)
    return f"fresh runs of {count} that fell ({before} before, {now} now): {_fall_text(test, confirmation)}"


def spent_text(confirmation: Confirmation) -> str:
    """Return `the confirmation took 20 calls, $0.20`; an output that was recorded is no call."""
    spent = confirmation.spent
    return f"the confirmation took {plural(spent.calls, 'call')}, {_money(None if spent.unpriced else spent.cost_usd)}"


# what the suite can show


def resolution_text(found: Resolution) -> str:
    """Return what a suite can show, once its baseline is written."""
    text = f"{plural(found.cases, 'case')} with {plural(found.runs, 'run')} of each before and one later show "
    text += f"{_falls_text(found.now)}, in 8 of 10 comparisons; {MORE_CASES} cases more: "
    text += f"{_falls_text(found.more_cases)}; {MORE_RUNS} runs more: {_falls_text(found.more_runs)}"
    return _of(found.variant, text)


def _falls_text(falls: Falls) -> str:
    """Return `a fall of the mean by 3.1 points or of one field by 14 points`."""
    parts = [
        f"{what} by {_points(fall)}"
        for what, fall in (("the mean", falls.mean), ("one field", falls.field))
        if fall is not None
    ]
    return f"a fall of {' or of '.join(parts)}" if parts else "only a collapse"


# notes


def _note_texts(facts: Facts) -> list[str]:
    """Return falls that are beyond noise and too small, and what the comparison leaves out."""
    notes: list[str] = []
    for test in facts.tests:
        if test.beyond_noise and test.fall < SMALLEST_FALL and test.drop > 0:
            what = "the mean of all" if test.drop >= SMALLEST_FALL else "it"
            fall = f"{_of(test.variant, test.title)} fell by {_points(test.drop)}, beyond noise"
            notes.append(f"{fall}, but {what} by less than {_points(SMALLEST_FALL)}, which is no fall")
    variants = facts.comparison.variants
    rows = [row for variant in variants for row in variant.compared]
    for tag in facts.rules.by:
        if rows and not any(row.slices.get(tag) is not None for row in rows):
            known = {name for row in rows for name in row.slices}
            notes.append(f"no compared case has the tag {tag!r}{nearest(tag, known)}")
    return notes + [_of(variant.label, note) for variant in variants for note in _left_out_notes(variant)]


def _left_out_notes(variant: VariantComparison) -> list[str]:
    apart = [row for row in variant.cases if row.kind is Change.INCOMPARABLE or row.apart]
    causes = ", ".join(sorted({row.why for row in apart if row.why}))
    gone, earlier = variant.gone
    advice = "if they are gone for good, accept that: --extract-update-baseline"
    if gone == len(variant.cases):
        advice = "to compare without this variant, remove the baseline and write it anew"
    replayed = [row.replayed for row in variant.compared]
    notes = {
        f"{plural(len(apart), 'case')} not or only in part comparable ({causes}); score the old outputs under today's "
        "schema and gold: --extract-from OLD.jsonl": apart,
        f"{gone} of {earlier} earlier cases are not in this run, and not judged; {advice}": gone,
        "no earlier result: nothing to compare it with yet": not replayed and variant.of_kind(Change.NEW),
        "every output was replayed: a change of the extractor's code since it was recorded is not judged": (
            replayed and all(replayed)
        ),
        _build_note(variant): variant.before == variant.after,  # variants are meant to differ
        f"{plural(len(variant.known), 'known failure')} left out of the verdict": variant.known,
    }
    return [note for note, is_so in notes.items() if note and is_so]


def _build_note(variant: VariantComparison) -> str:
    """Say whether the provider served another build of the model than before, where both sides know."""
    known = [(row, row.builds) for row in variant.compared if row.builds is not None and not row.replayed]
    other = [(row, builds) for row, builds in known if not set(builds[0]) & set(builds[1])]
    if not other:
        return f"the provider served the same build of the model in {plural(len(known), 'case')}" if known else ""
    before, after = (listed(sorted({name for _, builds in other for name in builds[side]})) for side in (0, 1))
    same = "same prompt and code, " if all(row.same_setup for row, _ in other) else ""
    count = f"{len(other):,} of {plural(len(known), 'case')}"
    return f"{same}another build of the model in {count}: {after}, was {before}"


# names and numbers


def errors_text(found: ErrorRuns) -> str:
    """Return `5 of 50 cases ended in error, 0 before (5 BadRequestError)`."""
    kinds = ", ".join(f"{count} {kind}" for kind, count in found.kinds)
    text = f"{len(found.names)} of {plural(found.cases, 'case')} ended in error, {found.cases_before} before"
    return _of(found.variant, text + (f" ({kinds})" if kinds else ""))


def call_text(change: CallChange) -> str:
    """Return `cost of a call $0.024, was $0.020 (+20 %)`."""
    show = _money if change.what == "cost" else _seconds
    rise = f" ({100 * (change.after - change.before) / change.before:+.0f} %)" if change.before else ""
    return _of(change.variant, f"{change.what} of a call {show(change.after)}, was {show(change.before)}{rise}")


def interval_text(bounds: Bounds) -> str:
    """Return `change -4.0 points, from -6.1 to -2.0 at 94 %`."""
    change, low, high = (f"{round(100 * value, 1) + 0.0:+.1f}" for value in (bounds.change, bounds.low, bounds.high))
    return f"change {change} points, from {low} to {high} at {100 * bounds.interval:.3g} %"


def _of(variant: str, what: str) -> str:
    """Return a text with the variant that it is about, where there are several."""
    return f"[{variant}] {what}" if variant else what


def _names(cases: Sequence[str]) -> str:
    """Return the ids of the first cases, without their files."""
    return listed([case.rpartition("::")[2] for case in cases])


def _percent(share: float) -> str:
    return f"{nearly(share) or f'{100 * share:.1f}'} %"


def _points(share: float) -> str:
    return f"{100 * share:.1f} points"


def _p_text(value: float) -> str:
    """Return `= 0.012`, or `< 0.001`."""
    return f"= {value:.2g}" if value >= 0.001 else "< 0.001"


def _seconds(value: float) -> str:
    if value >= 100:
        return f"{value:,.0f} s"
    return f"{value:.3g} s" if value >= 0.01 else f"{1000 * value:.2g} ms"


def _money(cost: float | None) -> str:
    return "cost unknown" if cost is None else f"${cost:,.2f}" if cost >= 0.1 or not cost else f"${cost:.2g}"
