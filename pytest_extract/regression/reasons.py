"""The sentences of the regression gate: why an arm is worse, what is in doubt, and what "not worse" rests on."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from pytest_extract.core.stats.exact import mcnemar
from pytest_extract.core.stats.interval import Bounds
from pytest_extract.core.stats.power import Further, Needs
from pytest_extract.errors import nearest
from pytest_extract.regression.changes import ArmComparison, Change, Comparison, FieldChange, RuleChange
from pytest_extract.regression.confirmation import MOST_CONFIRMED, ArmPlan, Confirmation, fallen_cases, plan_arm
from pytest_extract.regression.effects import BrokenRuns, CallChange, Effect, mean_levels
from pytest_extract.regression.multiple_testing import Subject, TestResult, open_cases, overall_runs, tag_label
from pytest_extract.regression.ratchet import FallenPattern, RatchetCheck
from pytest_extract.regression.rules import Rules

_UNLIKELY: Final = 0.2  # a fall of one field that luck gives less often than this is a doubt, if not yet a proof
_EVEN: Final = 0.5  # and from here on it is a warning no more
_MOST_NAMED: Final = 5
_MOST_KINDS: Final = 3
_MOST_ALIKE: Final = 3


def significant_falls(
    tests: Sequence[TestResult], effects: Sequence[Effect], comparison: Comparison, rules: Rules
) -> list[str]:
    """Return the falls that are beyond noise and at least `min_drop`; the fall of all fields first, then the worst."""
    found = [test for test in tests if test.significant and test.fall >= rules.min_drop]
    means = {test.arm for test in found if test.subject is Subject.OVERALL}
    found = [test for test in found if test.subject is not Subject.COMPLETE or test.arm not in means]
    found.sort(key=lambda test: (test.subject is not Subject.OVERALL, test.adjusted, -test.drop))
    texts: dict[str, str] = {}
    alike: dict[tuple[str, str], list[str]] = {}
    for test in found:
        if test.subject is not Subject.PATTERN:
            texts[_fall_text(test, effects, comparison, rules)] = ""
            continue
        arm = next(arm for arm in comparison.arms if arm.label == test.arm)
        same = f"{_pattern_text(test, arm, name='')} (p {p_text(test.adjusted)} after correction)"
        names = alike.setdefault((test.arm, same), [])
        names.append(test.name)
        texts.setdefault(_with_arm(test.arm, same), "")
    folded = {_with_arm(arm, same): _with_arm(arm, _list_text(names) + same) for (arm, same), names in alike.items()}
    return [folded.get(text, text) for text in texts]


def _list_text(names: Sequence[str]) -> str:
    """Return `total, tax, date and 4 more fields`."""
    shown = ", ".join(names[:_MOST_ALIKE])
    return shown + (f" and {_count(len(names) - _MOST_ALIKE, 'more field')}" if len(names) > _MOST_ALIKE else "")


def _fall_text(test: TestResult, effects: Sequence[Effect], comparison: Comparison, rules: Rules) -> str:
    arm = next(arm for arm in comparison.arms if arm.label == test.arm)
    how = f"p {p_text(test.adjusted)} after correction"
    if test.subject is Subject.OVERALL:
        effect = next(effect for effect in effects if effect.arm == test.arm)
        share = f"{interval_text(effect.bounds)}; {how}" if effect.bounds is not None else how
        where = f"{effect.measure}: {_percent_text(effect.after)}, was {_percent_text(effect.before)}"
        return _with_arm(test.arm, f"{where} ({share}); {_fell_text(effect)}{_mistakes_text(arm.fields)}")
    if test.subject is Subject.COMPLETE:
        return _with_arm(test.arm, f"{test.title}: {_points_text(test.drop)} fewer fields right ({how})")
    return _with_arm(test.arm, f"{_tag_fall_text(test, arm, rules)} ({how})")


def _tag_fall_text(test: TestResult, arm: ArmComparison, rules: Rules) -> str:
    """Return `kind=credit: fields right 20.0 %, was 100.0 %: worse in 4 of 5 documents (c1, c2, ...), better in 0`."""
    tag = next(tag for tag in rules.by if test.name.startswith(f"{tag}="))
    rows = [
        row for row in open_cases(arm.compared) if row.slices.get(tag) is not None and tag_label(row, tag) == test.name
    ]
    runs = [overall_runs(row, rules.measure) for row in rows]
    before, after = mean_levels(runs, rules)
    rates = f"{_percent_text(after)}, was {_percent_text(before)}"
    where = _changed_cases_text(((float(one.loss), row.case) for one, row in zip(runs, rows, strict=True)), len(rows))
    return f"{test.name}: {rules.measure or 'fields right'} {rates}: {where}"


def _pattern_text(test: TestResult, arm: ArmComparison, name: str | None = None) -> str:
    """Return `total: 88.0 % right, was 100.0 %: worse in 6 documents (c1, c2, ...), better in 0`, or with a `name`."""
    row = next(row for row in arm.patterns if row.pattern == test.name)
    rates = f"{_percent_text(row.after)} right, was {_percent_text(row.before)}"
    losses = (
        (float(each.runs_by_pattern[test.name].loss), each.case)
        for each in arm.compared
        if test.name in each.runs_by_pattern
    )
    mistakes = _mistakes_text(change for change in arm.fields if change.pattern == test.name)
    shown = test.name if name is None else name
    return f"{shown}: {rates}: {_changed_cases_text(losses, row.cases)}{mistakes}"


def _mistakes_text(changes: Iterable[FieldChange]) -> str:
    """Return `; new mistakes: 10 power of ten (1,000 times the gold), 2 others`; empty if no mistake has a name."""
    worse = [change for change in changes if change.after < change.before]
    named = {  # a mistake of several values, such as swapped columns, once
        (change.case, change.mistake.paths): change.mistake for change in worse if change.mistake is not None
    }
    if not named:
        return ""
    texts: dict[str, list[str]] = {}
    for mistake in named.values():
        texts.setdefault(mistake.kind, []).append(mistake.text)
    ranked = sorted(texts.items(), key=lambda item: (-len(item[1]), item[0]))[:_MOST_KINDS]
    parts = [f"{len(found):,} {_kind_text(kind, found)}" for kind, found in ranked]
    unnamed = sum(change.mistake is None for change in worse)
    left = unnamed + len(named) - sum(len(found) for _, found in ranked)
    return f"; new mistakes: {', '.join(parts)}" + (f", {left:,} other{'s' * (left > 1)}" if left else "")


def _kind_text(kind: str, texts: Sequence[str]) -> str:
    """Return the name of a kind, with what it means here if it is the same for all of several values."""
    name = kind.replace("_", " ")
    return f"{name} ({texts[0]})" if len(texts) > 1 and len({*texts}) == 1 else name


def _changed_cases_text(losses: Iterable[tuple[float, str]], cases: int) -> str:
    """Return `worse in 6 of 40 documents (c1, c2, ...), better in 0`, from the loss of each case and its name."""
    ordered = sorted(losses, key=lambda pair: (-pair[0], pair[1]))
    fell = [case for loss, case in ordered if loss > 0]
    rose = sum(loss < 0 for loss, _ in ordered)
    return f"worse in {len(fell)} of {cases} documents ({_names(fell)}), better in {rose}"


def _fell_text(effect: Effect) -> str:
    names = f" ({_names(effect.fell)})" if effect.fell else ""
    before, after = effect.failed_whole
    whole = f"; {_count(after, 'answer')} failed as a whole, {before} before" if after > before else ""
    return f"{len(effect.fell)} of {effect.cases} documents fell{names}, {effect.rose} rose{whole}"


def _rule_change_text(change: RuleChange) -> str:
    """Return `rule start <= end: broken in 2 documents that kept it before (c1, c2), kept in 1 that broke it (c3)`."""
    parts = [
        f"{verb} {_count(len(cases), 'document')} that {before} it before ({_names(cases)})"
        for verb, before, cases in (("broken in", "kept", change.broken), ("kept in", "broke", change.mended))
        if cases
    ]
    return f"rule {change.rule}: {', '.join(parts)}"


def _names(cases: Sequence[str]) -> str:
    """Return the ids of the first cases, without their files."""
    shown = [case.rpartition("::")[2] for case in cases[:_MOST_NAMED]]
    return ", ".join(shown) + (f" and {len(cases) - len(shown)} more" if len(cases) > len(shown) else "")


def broken_rule_texts(
    comparison: Comparison,
    effects: Sequence[Effect],
    broken: Sequence[BrokenRuns],
    calls: Sequence[CallChange],
    rules: Rules,
) -> list[str]:
    """Return the hard rules that are broken: on fields, the measure, patterns, broken runs, cost and latency."""
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
    reasons += [
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


def fallen_text(fallen: FallenPattern) -> str:
    """Say how far a pattern is below its best accepted rate."""
    where = _with_arm(fallen.arm, fallen.pattern)
    return f"ratchet: {where} is at {_percent_text(fallen.now)}, its best accepted rate is {_percent_text(fallen.best)}"


def doubt_texts(
    comparison: Comparison,
    effects: Sequence[Effect],
    tests: Sequence[TestResult],
    broken: Sequence[BrokenRuns],
    rules: Rules,
) -> list[str]:
    """Return what keeps the gate from "not worse": bounds, falls of fields, missing cases, broken runs."""
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
        if _is_rise(found, rules)
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


def assurance_text(effect: Effect, rules: Rules) -> str:
    """Say why an arm is not worse."""
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


def warning_texts(
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


def advice_texts(
    comparison: Comparison,
    effects: Sequence[Effect],
    tests: Sequence[TestResult],
    broken: Sequence[BrokenRuns],
    rules: Rules,
    *,
    undecided: bool,
    confirm: bool = True,
) -> list[str]:
    """Return what to do next, and what a decision costs where there is none.

    `confirm`: to run the cases that fell again is worth naming.
    """
    found = [_with_arm(effect.arm, f"look first at {_names(effect.fell)}") for effect in effects if effect.fell]
    if not undecided:
        return found
    arms = {arm.label: arm for arm in comparison.arms}
    for effect in effects if confirm and rules.statistics else ():
        arm = arms[effect.arm]
        if is_in_doubt(effect, tests, rules):
            plan = plan_arm(arm, tests, rules, most=MOST_CONFIRMED)
            if isinstance(plan, ArmPlan):
                found.append(_with_arm(effect.arm, _confirm_text(plan, arm.cost_usd)))
    found += [_rerun_text(each, arms[each.arm]) for each in broken if _is_rise(each, rules)]
    return found + [_with_arm(effect.arm, needs_text(effect.needs)) for effect in effects if effect.needs is not None]


def _is_rise(broken: BrokenRuns, rules: Rules) -> bool:
    """Whether more runs broke than before, beyond noise."""
    return rules.statistics and broken.p <= rules.alpha and broken.after > broken.before


def _rerun_text(broken: BrokenRuns, arm: ArmComparison) -> str:
    """Return `to see if it is an outage, run c0, c1 and 3 more again: pytest --lf (5 calls, $0.05)`."""
    names = _names([row.case for row in arm.cases if row.runs_broken is not None and any(row.runs_broken.after)])
    price = _money(None if arm.cost_usd is None else broken.cases_after * arm.cost_usd)
    calls = _count(broken.cases_after, "call")
    return _with_arm(broken.arm, f"to see if it is an outage, run {names} again: pytest --lf ({calls}, {price})")


def is_in_doubt(effect: Effect, tests: Sequence[TestResult], rules: Rules) -> bool:
    """Whether a fall of the mean by the margin, or of a field, is not excluded."""
    if effect.bounds is not None and effect.bounds.worst >= rules.margin:
        return True
    return any(test.arm == effect.arm and test.luck <= _UNLIKELY for test in _fallen_fields(tests, rules))


def _confirm_text(plan: ArmPlan, price: float | None) -> str:
    """Return `to see if the fall is real: run 5 of them again, --extract-confirm (20 calls, $0.20)`."""
    calls = plan.calls
    cost = _money(None if price is None else calls * price)
    which = "the case that fell" if len(plan.cases) == 1 else f"{len(plan.cases)} cases that fell"
    return (
        f"to see if the fall is real, run {which} again on both sides: pytest --extract-confirm ({calls} calls, {cost})"
    )


def confirmed_texts(
    confirmation: Confirmation, comparison: Comparison, effects: Sequence[Effect], rules: Rules
) -> list[str]:
    """Return what fell by the first runs, each followed by what the fresh runs say of it."""
    arms = {arm.label: arm for arm in comparison.arms}
    of = {effect.arm: effect for effect in effects}
    ordered = sorted(confirmation.fallen, key=lambda test: (test.subject is not Subject.OVERALL, test.adjusted))
    texts: list[str] = []
    for arm in dict.fromkeys(test.arm for test in ordered):
        effect = of[arm]
        where = f"{effect.measure}: {_percent_text(effect.after)}, was {_percent_text(effect.before)}"
        texts.append(_with_arm(arm, f"{where}; {_fell_text(effect)}{_mistakes_text(arms[arm].fields)}"))
        for test in ordered:
            if test.arm == arm:
                if test.subject is Subject.PATTERN:
                    texts.append(_with_arm(arm, _pattern_text(test, arms[arm])))
                texts.append(_with_arm(arm, f"confirmed by {_fresh_text(confirmation, test, rules)}"))
    return texts


def unconfirmed_texts(confirmation: Confirmation, rules: Rules) -> list[str]:
    """Return for each arm whose fresh runs show no fall beyond noise what they show."""
    if not confirmation.enough:
        ran, planned = (sum(len(each.compared) for each in confirmation.comparison.arms), confirmation.planned)
        return [f"not confirmed: {ran} of {planned} cases could run again, too few to show a fall"]
    fallen = {test.arm for test in confirmation.fallen}
    heads = [test for test in confirmation.tests if test.subject is Subject.OVERALL and test.arm not in fallen]
    return [_with_arm(test.arm, f"not confirmed by {_fresh_text(confirmation, test, rules)}") for test in heads]


def _fresh_text(confirmation: Confirmation, test: TestResult, rules: Rules) -> str:
    """Return `fresh runs of the 5 documents that fell (2 before, 2 now): fields right 8.0 %, was 96.0 % (...); ...`.

    The last part names the documents that fell again.
    """
    arm = next(arm for arm in confirmation.comparison.arms if arm.label == test.arm)
    plan = next(plan for plan in confirmation.plans if plan.label == test.arm)
    effect = next(effect for effect in confirmation.effects if effect.arm == test.arm)
    planned, compared = len(plan.cases), len(arm.compared)
    count = f"{compared} of the {planned}" if compared < planned else f"{planned}"
    before, now = map(_range_text, effect.runs)
    sides = f"{before} before, {now} now"
    if plan.held:
        sides = f"{now} now, against {before} of the baseline that had no part in choosing them"
    what = f"fresh runs of {count} documents that fell ({sides})"
    rates, change = f"{effect.measure} {_percent_text(effect.after)}, was {_percent_text(effect.before)}", ""
    if test.subject is Subject.OVERALL and effect.bounds is not None:
        change = f"{interval_text(effect.bounds)}; "
    if test.subject is Subject.PATTERN:
        row = next(row for row in arm.patterns if row.pattern == test.name)
        rates = f"{test.name} {_percent_text(row.after)} right, was {_percent_text(row.before)}"
    elif test.subject is not Subject.OVERALL:
        rates = f"{test.title}: {_points_text(test.drop)} fewer fields right"
    again = fallen_cases(arm, (test.subject, test.name), rules)
    names = f" ({_names(again)})" if again else ""
    return f"{what}: {rates} ({change}p {p_text(test.adjusted)} after correction); {len(again)} fell again{names}"


def _range_text(counts: tuple[int, int]) -> str:
    low, high = counts
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"


def spent_text(confirmation: Confirmation) -> str:
    """Return `the confirmation took 20 calls, $0.20`."""
    spent = confirmation.spent
    parts = [_count(spent.calls, "call")] if spent.calls or not spent.recorded else []
    parts += [_money(spent.cost_usd)] if spent.calls else []
    parts += [f"{_count(spent.recorded, 'output')} replayed from recordings"] if spent.recorded else []
    return f"the confirmation took {', '.join(parts)}"


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


def note_texts(
    comparison: Comparison,
    effects: Sequence[Effect],
    tests: Sequence[TestResult],
    ratchet: RatchetCheck,
    rules: Rules,
) -> list[str]:
    """Return what the comparison leaves out, and what to do about it."""
    notes = [note for effect in effects if (note := _trade_note(effect, tests, rules))]
    lucky = [test for test in _fallen_fields(tests, rules) if test.luck > _EVEN]
    if lucky:
        arm = next(arm for arm in comparison.arms if arm.label == lucky[0].arm)
        which = (
            f"{_count(len(lucky), 'field')} fell by more than {_points_text(rules.margin)}, which is not beyond noise"
        )
        notes.append(f"{which}: {_with_arm(arm.label, _pattern_text(lucky[0], arm))}")
    notes += [
        f"{_with_arm(test.arm, test.title)} fell by {_points_text(test.drop)}, beyond noise but less than min_drop "
        f"({_points_text(rules.min_drop)})"
        for test in tests
        if test.significant and 0 < test.drop < rules.min_drop
    ]
    notes += [
        f"{_with_arm(test.arm, test.title)} have {_points_text(test.drop)} fewer fields right, beyond noise, but fewer "
        "answers failed as a whole: the mean of all did not fall by min_drop"
        for test in tests
        if test.significant and test.fall < rules.min_drop <= test.drop
    ]
    notes += [_with_arm(arm.label, _rule_change_text(change)) for arm in comparison.arms for change in arm.rules]
    for tag in rules.by:
        rows = [row for arm in comparison.arms for row in arm.compared]
        if rows and not any(row.slices.get(tag) is not None for row in rows):
            known = {name for row in rows for name in row.slices}
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
    return notes + _unchecked_pattern_notes(ratchet)


def _trade_note(effect: Effect, tests: Sequence[TestResult], rules: Rules) -> str | None:
    """Say that many cases lost a little and few gained a lot, where that is beyond noise and the mean is not."""
    overall = next((test for test in tests if test.arm == effect.arm and test.subject is Subject.OVERALL), None)
    worse = overall is not None and overall.significant and overall.drop >= rules.min_drop
    if worse or overall is None or overall.p <= rules.alpha or not effect.rose:
        return None
    if mcnemar(len(effect.fell), effect.rose) > rules.alpha:
        return None
    return _with_arm(
        effect.arm,
        f"{len(effect.fell)} cases fell and {effect.rose} rose, more than chance gives, but those that rose did so by "
        "more: the mean did not fall beyond noise",
    )


def _unchecked_pattern_notes(ratchet: RatchetCheck) -> list[str]:
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
    if value >= 100:
        return f"{value:,.0f} s"
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
