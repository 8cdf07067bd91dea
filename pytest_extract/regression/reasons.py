"""The sentences of the regression gate: why a variant is worse, what is in doubt, what PASS excludes, what to do."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from pytest_extract.core.aggregate.slices import tag_text
from pytest_extract.core.stats import Bounds, mcnemar
from pytest_extract.core.values import ROUNDING, nearly
from pytest_extract.errors import nearest
from pytest_extract.regression.baseline import MORE_CASES, MORE_RUNS, Falls, Resolution
from pytest_extract.regression.compare import Change, FieldChange, RuleChange, VariantComparison
from pytest_extract.regression.confirmation import MOST_CONFIRMED, Confirmation, VariantPlan, fallen_cases, plan_variant
from pytest_extract.regression.facts import (
    SMALLEST_FALL,
    BrokenRuns,
    CallChange,
    Collapse,
    Effect,
    Facts,
    Subject,
    TestResult,
    Weight,
    tag_effects,
)

MOST_LOST: Final = 0.1
"""Share of cases that may be lost to outages before the answer is UNDECIDED."""
MOST_GONE: Final = 0.5
"""Share of the earlier cases that may be missing: the few that remain may not represent the suite."""
_MOST_NAMED: Final = 5
_MOST_KINDS: Final = 3
_MOST_ALIKE: Final = 3


# why a variant is worse


def worse_texts(facts: Facts) -> list[str]:
    """Return why the answer is WORSE: falls of the mean, dead cases, other falls beyond noise, broken hard rules."""
    found = [test for test in facts.tests if test.significant]
    falls, means = _fall_texts(facts, found), sum(test.subject is Subject.OVERALL for test in found)
    dead = [_dead_text(each) for each in facts.collapses if each.weight is Weight.WORSE]
    return [*falls[:means], *dead, *falls[means:], *rule_texts(facts)]


def _dead_text(found: Collapse) -> str:
    """Return `4 of 4 documents died (c0, c1, c2, c3): right before, now unreadable or mostly wrong`."""
    tags = f", all of {_list_text(found.tags)}" if found.tags else ""
    count = f"{len(found.cases)} of {_count(found.of, 'document')}"
    return _with_variant(
        found.variant, f"{count} died ({_names(found.cases)}){tags}: right before, now unreadable or mostly wrong"
    )


def _fall_texts(facts: Facts, found: Sequence[TestResult]) -> list[str]:
    """Return a sentence a fall, the worst first; fields that fell by the same in the same documents share one."""
    means = {test.variant for test in found if test.subject is Subject.OVERALL}
    shown = [test for test in found if test.subject is not Subject.COMPLETE or test.variant not in means]
    shown.sort(key=lambda test: (test.subject is not Subject.OVERALL, test.adjusted, -test.drop))
    names: dict[tuple[str, str], list[str]] = {}
    for test in shown:
        names.setdefault((test.variant, _fall_text(test, facts)), []).append(test.name)
    return [
        _with_variant(variant, f"{_list_text([name for name in alike if name])}{text}")
        for (variant, text), alike in names.items()
    ]


def _fall_text(test: TestResult, facts: Facts) -> str:
    """Describe a fall, without the name of the field or tag."""
    variant, how = facts.variant(test.variant), f"p {p_text(test.adjusted)} after correction"
    match test.subject:
        case Subject.OVERALL:
            effect = facts.effect(test.variant)
            share = f"{interval_text(effect.bounds)}; {how}" if effect.bounds is not None else how
            return f"{level_text(effect)} ({share}); {_fell_text(effect)}{_mistakes_text(variant.fields)}"
        case Subject.COMPLETE:
            return f"{test.title}: {_points_text(test.drop)} fewer fields right ({how})"
        case Subject.TAG:
            return f"{_tag_text(test, facts)} ({how})"
        case _:
            return f"{_pattern_text(test, variant)} ({how})"


def _list_text(names: Sequence[str]) -> str:
    """Return `total, tax, date and 4 more`."""
    more = f" and {len(names) - _MOST_ALIKE:,} more" if len(names) > _MOST_ALIKE else ""
    return ", ".join(names[:_MOST_ALIKE]) + more


def level_text(effect: Effect) -> str:
    """Return `fields right 93.1 %, was 93.4 %`."""
    return f"{effect.measure} {_percent_text(effect.after)}, was {_percent_text(effect.before)}"


def _tag_text(test: TestResult, facts: Facts) -> str:
    """Return `: fields right 20.0 %, was 100.0 %: worse in 4 of 5 documents (c1, c2, ...), better in 0`."""
    effects = tag_effects(facts.variant(test.variant), facts.rules)
    effect = next(each for each in effects if f"{each.tag}={each.value}" == test.name)
    rates = f"{facts.rules.measure or 'fields right'} {_percent_text(effect.after)}, was {_percent_text(effect.before)}"
    return f": {rates}: {_changed_cases_text(effect.losses, len(effect.losses))}"


def _pattern_text(test: TestResult, variant: VariantComparison) -> str:
    """Return `: 88.0 % right, was 100.0 %: worse in 6 of 40 documents (c1, c2, ...), better in 0`."""
    row = next(row for row in variant.patterns if row.pattern == test.name)
    losses = {
        each.case: each.runs_by_pattern[test.name].loss
        for each in variant.compared
        if test.name in each.runs_by_pattern
    }
    mistakes = _mistakes_text(change for change in variant.fields if change.pattern == test.name)
    rates = f"{_percent_text(row.after)} right, was {_percent_text(row.before)}"
    return f": {rates}: {_changed_cases_text(losses, row.cases)}{_prompt_text(losses, variant)}{mistakes}"


def _prompt_text(losses: Mapping[str, float], variant: VariantComparison) -> str:
    """Return `, all with prompts/credit.md`, where the cases have several prompts and all that fell share one."""
    prompts = {each.case: tag_text(each.slices, "prompt") for each in variant.compared}
    fell = {prompts[case] for case, loss in losses.items() if loss > 0}
    return f", all with {min(fell)}" if len(fell) == 1 < len({*prompts.values()}) else ""


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


def _changed_cases_text(losses: Mapping[str, float], cases: int) -> str:
    """Return `worse in 6 of 40 documents (c1, c2, ...), better in 0`, from the loss of each case."""
    fell = [case for case in sorted(losses, key=lambda case: (-losses[case], case)) if losses[case] > 0]
    rose = sum(loss < 0 for loss in losses.values())
    return f"worse in {len(fell)} of {_count(cases, 'document')} ({_names(fell)}), better in {rose}"


def _fell_text(effect: Effect) -> str:
    names = f" ({_names(effect.fell)})" if effect.fell else ""
    before, after = effect.failed_whole
    whole = f"; {_count(after, 'answer')} failed as a whole, {before} before" if after > before else ""
    return f"{len(effect.fell)} of {_count(effect.cases, 'document')} fell{names}, {effect.rose} rose{whole}"


def _names(cases: Sequence[str]) -> str:
    """Return the ids of the first cases, without their files."""
    shown = [case.rpartition("::")[2] for case in cases[:_MOST_NAMED]]
    return ", ".join(shown) + (f" and {len(cases) - len(shown)} more" if len(cases) > len(shown) else "")


def rule_texts(facts: Facts) -> list[str]:
    """Return the hard rules that are broken: on fields, the measure, cost and latency."""
    rules, reasons = facts.rules, []
    fallen = sum(row.fell for variant in facts.comparison.variants for row in variant.cases)
    if rules.max_fallen is not None and fallen > rules.max_fallen:
        reasons.append(f"rule: {_count(fallen, 'field')} fell, at most {rules.max_fallen} allowed")
    reasons += [
        f"rule: {_with_variant(effect.variant, effect.measure)} fell by {_points_text(effect.drop)}, "
        f"at most {_points_text(rules.max_drop)} allowed"
        for effect in facts.effects
        if rules.max_drop is not None and effect.drop > rules.max_drop + ROUNDING
    ]
    limits = {"cost": rules.max_cost_rise, "latency": rules.max_latency_rise}
    for change in facts.calls:
        limit = limits[change.what]
        if limit is not None and change.after > change.before * (1 + limit) + ROUNDING:
            reasons.append(f"rule: {call_text(change)}, at most +{100 * limit:g} % allowed")
    return reasons


# what is in doubt


def doubt_texts(facts: Facts, *, falls: bool = True) -> list[str]:
    """Return what keeps the gate from PASS; `falls`: those of the tests and of dead cases too."""
    if not facts.comparison.pairs:
        return ["nothing was compared, so there is nothing to be sure of"]
    doubts: list[str] = []
    if falls:
        doubts += [_dead_text(each) for each in facts.collapses if each.weight is Weight.DOUBT]
        doubts += [
            f"{text}; it may be noise" for text in _fall_texts(facts, [each for each in facts.tests if each.doubtful])
        ]
    margin = facts.rules.margin
    doubts += [
        _with_variant(effect.variant, f"{excluded_text(effect)}, and a fall of {_points_text(margin)} must be (margin)")
        for effect in facts.effects
        if margin is not None and effect.bounds is not None and effect.bounds.worst >= margin
    ]
    doubts += [doubt for variant in facts.comparison.variants for doubt in _doubts_by_missing_cases(variant)]
    return doubts + [
        f"{broken_text(found)}: more than chance gives (p {p_text(found.p)}); an outage, or the change itself"
        for found in facts.broken
        if _is_rise(found, facts)
    ]


def _doubts_by_missing_cases(variant: VariantComparison) -> list[str]:
    """Return the doubts because of lost cases, outdated outputs, and earlier cases that the run does not have."""
    doubts: list[str] = []
    lost = len(variant.of_kind(Change.LOST))
    total = lost + len(variant.compared)
    if total and lost > MOST_LOST * total:
        doubts.append(
            f"{_with_variant(variant.label, f'{lost} of {total} cases')} broke or were not run, on one side or both"
        )
    stale = sum(row.other_code for row in variant.compared)
    if stale:
        doubts.append(
            f"{_with_variant(variant.label, _count(stale, 'case'))} replayed outputs of other code than today's, which "
            "--extract-changed=REF or --extract-record=all calls"
        )
    gone, earlier = variant.gone
    if variant.compared and gone > MOST_GONE * earlier:
        what = _with_variant(variant.label, f"{gone} of {earlier} earlier cases")
        doubts.append(f"{what} are not in this run, and the others do not stand for them")
    return doubts


def _is_rise(broken: BrokenRuns, facts: Facts) -> bool:
    """Whether more runs broke than before, beyond noise."""
    return broken.p <= facts.rules.alpha and broken.after > broken.before


# what PASS says


def assurance_text(effect: Effect) -> str:
    """Say why a variant is not worse, and what is excluded."""
    if effect.bounds is None:
        why = "no result changed, and nothing that the results depend on did"
        return _with_variant(effect.variant, f"{level_text(effect)}; {why}")
    return _with_variant(effect.variant, f"{level_text(effect)}; no fall found; {excluded_text(effect)}")


def excluded_text(effect: Effect) -> str:
    """Return `falls of the mean above 3.2 points are ruled out`."""
    if effect.bounds is None or effect.bounds.worst >= 1:
        return f"no fall of the mean is ruled out by {_count(effect.cases, 'case')}"
    return f"falls of the mean above {_points_text(effect.bounds.worst)} are ruled out"


def warning_texts(facts: Facts) -> list[str]:
    """Return what a reader of PASS has to know: cases that died, though not so many that they decide."""
    return [_dead_text(each) for each in facts.collapses]


# what to do


def advice_texts(facts: Facts, *, undecided: bool, confirm: bool = True) -> list[str]:
    """Return what to do next, and what a decision costs where there is none.

    `confirm`: to run the cases that fell again is worth naming.
    """
    found: list[str] = []
    for effect in facts.effects:
        variant = facts.variant(effect.variant)
        if effect.fell:
            found.append(_with_variant(effect.variant, f"look first at {_names(effect.fell)}"))
        if undecided and confirm and is_in_doubt(effect.variant, facts):
            plan = plan_variant(variant, facts.tests, facts.rules, most=MOST_CONFIRMED)
            if isinstance(plan, VariantPlan):
                found.append(_with_variant(effect.variant, _confirm_text(plan, variant.cost_usd)))
    return found + [_rerun_text(each, facts) for each in facts.broken if undecided and _is_rise(each, facts)]


def _rerun_text(broken: BrokenRuns, facts: Facts) -> str:
    """Return `to see if it is an outage, run c0, c1 and 3 more again: pytest --lf (5 calls, $0.05)`."""
    variant = facts.variant(broken.variant)
    names = _names([row.case for row in variant.cases if row.runs_broken is not None and any(row.runs_broken.after)])
    price = _money(None if variant.cost_usd is None else broken.cases_after * variant.cost_usd)
    calls = _count(broken.cases_after, "call")
    return _with_variant(
        broken.variant, f"to see if it is an outage, run {names} again: pytest --lf ({calls}, {price})"
    )


def is_in_doubt(variant: str, facts: Facts) -> bool:
    """Whether fresh runs can decide about a variant: a fall of it may be noise."""
    dead = any(each.variant == variant and each.weight is Weight.DOUBT for each in facts.collapses)
    return dead or any(test.variant == variant and test.doubtful for test in facts.tests)


def _confirm_text(plan: VariantPlan, price: float | None) -> str:
    """Return `to see if the fall is real: run 5 cases again, --extract-confirm (20 calls, $0.20)`."""
    cost = _money(None if price is None else plan.calls * price)
    which = "the case that fell" if len(plan.cases) == 1 else f"{len(plan.cases)} cases that fell"
    calls = f"{plan.calls} calls, {cost}"
    return f"to see if the fall is real, run {which} again on both sides: pytest --extract-confirm ({calls})"


# what fresh runs say


def confirmed_texts(confirmation: Confirmation, facts: Facts) -> list[str]:
    """Return what fell by the first runs, each followed by what the fresh runs say of it."""
    ordered = sorted(confirmation.fallen, key=lambda test: (test.subject is not Subject.OVERALL, test.adjusted))
    texts: list[str] = []
    for label in dict.fromkeys(test.variant for test in ordered):
        effect, variant = facts.effect(label), facts.variant(label)
        texts.append(
            _with_variant(label, f"{level_text(effect)}; {_fell_text(effect)}{_mistakes_text(variant.fields)}")
        )
        for test in ordered:
            if test.variant == label:
                if test.subject is Subject.PATTERN:
                    texts.append(_with_variant(label, f"{test.name}{_pattern_text(test, variant)}"))
                texts.append(_with_variant(label, f"confirmed by {_fresh_text(confirmation, test, facts)}"))
    return texts


def unconfirmed_texts(confirmation: Confirmation, facts: Facts) -> list[str]:
    """Return for each variant whose fresh runs show no fall beyond noise what they show."""
    if not confirmation.enough:
        ran, planned = (sum(len(each.compared) for each in confirmation.comparison.variants), confirmation.planned)
        return [f"not confirmed: {ran} of {planned} cases could run again, too few to show a fall"]
    fallen = {test.variant for test in confirmation.fallen}
    heads = [test for test in confirmation.tests if test.subject is Subject.OVERALL and test.variant not in fallen]
    return [_with_variant(test.variant, f"not confirmed by {_fresh_text(confirmation, test, facts)}") for test in heads]


def _fresh_text(confirmation: Confirmation, test: TestResult, facts: Facts) -> str:
    """Return `fresh runs of the 5 documents that fell (2 before, 2 now): fields right 8.0 %, was 96.0 % (...); ...`.

    The last part names the documents that fell again.
    """
    variant = next(variant for variant in confirmation.comparison.variants if variant.label == test.variant)
    plan = next(plan for plan in confirmation.plans if plan.label == test.variant)
    effect = next(effect for effect in confirmation.effects if effect.variant == test.variant)
    planned, compared = len(plan.cases), len(variant.compared)
    count = f"{compared} of the {planned}" if compared < planned else f"{planned}"
    before, now = (f"{low:,}" if low == high else f"{low:,} to {high:,}" for low, high in effect.runs)
    sides = f"{before} before, {now} now"
    if plan.held:
        sides = f"{now} now, against {before} of the baseline that had no part in choosing them"
    rates, change = level_text(effect), ""
    if test.subject is Subject.OVERALL and effect.bounds is not None:
        change = f"{interval_text(effect.bounds)}; "
    if test.subject is Subject.PATTERN:
        row = next(row for row in variant.patterns if row.pattern == test.name)
        rates = f"{test.name} {_percent_text(row.after)} right, was {_percent_text(row.before)}"
    elif test.subject is not Subject.OVERALL:
        rates = f"{test.title}: {_points_text(test.drop)} fewer fields right"
    again = fallen_cases(variant, (test.subject, test.name), facts.rules)
    names = f" ({_names(again)})" if again else ""
    return (
        f"fresh runs of {count} documents that fell ({sides}): {rates} ({change}p {p_text(test.adjusted)} after "
        f"correction); {len(again)} fell again{names}"
    )


def spent_text(confirmation: Confirmation) -> str:
    """Return `the confirmation took 20 calls, $0.20`."""
    spent = confirmation.spent
    parts = [_count(spent.calls, "call")] if spent.calls or not spent.recorded else []
    parts += [_money(spent.cost_usd)] if spent.calls else []
    parts += [f"{_count(spent.recorded, 'output')} replayed from recordings"] if spent.recorded else []
    return f"the confirmation took {', '.join(parts)}"


# what the suite can show


def resolution_text(found: Resolution) -> str:
    """Return what a suite can show, once its baseline is written."""
    runs = f"{found.runs} run" + "s" * (found.runs != 1)
    text = f"{_count(found.cases, 'case')} with {runs} of each before and one later show {_falls_text(found.now)}"
    return _with_variant(
        found.variant,
        f"{text}, in 8 of 10 comparisons; {MORE_CASES} cases more: {_falls_text(found.more_cases)}; "
        f"{MORE_RUNS} runs more: {_falls_text(found.more_runs)}",
    )


def _falls_text(falls: Falls) -> str:
    """Return `a fall of the mean by 3.1 points or of one field by 14 points`."""
    parts = [
        f"{what} by {_points_text(fall)}"
        for what, fall in (("the mean", falls.mean), ("one field", falls.field))
        if fall is not None
    ]
    return f"a fall of {' or of '.join(parts)}" if parts else "only a collapse"


# notes


def note_texts(facts: Facts) -> list[str]:
    """Return what moved without proof, what the comparison leaves out, and what to do about it."""
    notes = [note for effect in facts.effects if (note := _trade_note(effect, facts))]
    dead = {each.variant for each in facts.collapses}
    variants = [effect.variant for effect in facts.effects if effect.variant not in dead]
    notes += [note for variant in variants if (note := _unproved_note(variant, facts))]
    for test in facts.tests:
        if test.beyond_noise and test.fall < SMALLEST_FALL and test.drop > 0:
            fewer = f"{_with_variant(test.variant, test.title)} fell by {_points_text(test.drop)}, beyond noise"
            why = (
                f"less than {_points_text(SMALLEST_FALL)} is no fall"
                if test.drop < SMALLEST_FALL
                else "fewer answers failed as a whole: the mean of all did not fall"
            )
            notes.append(f"{fewer}, but {why}")
    notes += [
        _with_variant(variant.label, _rule_change_text(change))
        for variant in facts.comparison.variants
        for change in variant.rules
    ]
    rows = [row for variant in facts.comparison.variants for row in variant.compared]
    for tag in facts.rules.by:
        if rows and not any(row.slices.get(tag) is not None for row in rows):
            known = {name for row in rows for name in row.slices}
            notes.append(f"no compared case has the tag {tag!r}{nearest(tag, known)}")
    return notes + [note for variant in facts.comparison.variants for note in _left_out_notes(variant)]


def _unproved_note(variant: str, facts: Facts) -> str | None:
    """Return `fell within noise: f1 by 6.0 points, f2 by 4.0 points and 2 more fields`; None where nothing did."""
    fallen = [
        test
        for test in facts.tests
        if test.variant == variant and test.subject is Subject.PATTERN and test.fall >= SMALLEST_FALL
        if not (test.beyond_noise or test.doubtful)
    ]
    fallen.sort(key=lambda test: -test.drop)
    shown = [f"{test.name} by {_points_text(test.drop)}" for test in fallen[:_MOST_KINDS]]
    more = f" and {_count(len(fallen) - len(shown), 'more field')}" if len(fallen) > len(shown) else ""
    return _with_variant(variant, f"fell within noise: {', '.join(shown)}{more}") if shown else None


def _trade_note(effect: Effect, facts: Facts) -> str | None:
    """Say that many cases lost a little and few gained a lot, where that is beyond noise and the mean is not."""
    overall = next(test for test in facts.tests if test.variant == effect.variant and test.subject is Subject.OVERALL)
    alpha = facts.rules.alpha
    if overall.p <= alpha or not effect.rose or mcnemar(len(effect.fell), effect.rose) > alpha:
        return None
    return _with_variant(
        effect.variant,
        f"{len(effect.fell)} cases fell and {effect.rose} rose, more than chance gives, but those that rose did so by "
        "more: the mean did not fall beyond noise",
    )


def _left_out_notes(variant: VariantComparison) -> list[str]:
    notes: list[str] = []
    apart = [row for row in variant.cases if row.kind is Change.INCOMPARABLE or row.apart]
    if apart:
        causes = ", ".join(sorted({row.why for row in apart if row.why}))
        notes.append(
            f"{_with_variant(variant.label, _count(len(apart), 'case'))} not or only in part comparable ({causes}); "
            "score the old outputs under today's schema and gold: --extract-from OLD.jsonl"
        )
    gone, earlier = variant.gone
    if gone:
        what = _with_variant(variant.label, f"{gone} of {earlier} earlier cases")
        is_whole = gone == len(variant.cases)
        advice = (
            "to compare without this variant, remove the baseline and write it anew"
            if is_whole
            else "if they are gone for good, accept that: --extract-update-baseline"
        )
        notes.append(f"{what} are not in this run, and not judged; {advice}")
    if not variant.compared and variant.of_kind(Change.NEW):
        notes.append(f"{_with_variant(variant.after, 'no earlier result')}: nothing to compare it with yet")
    if variant.compared and all(row.replayed for row in variant.compared):
        what = _with_variant(variant.label, "every output was replayed")
        notes.append(f"{what}: a change of the extractor's code since it was recorded is not judged")
    if (build := _build_note(variant)) is not None:
        notes.append(_with_variant(variant.label, build))
    if variant.known:
        notes.append(
            f"{_with_variant(variant.label, _count(len(variant.known), 'known failure'))} left out of the verdict"
        )
    return notes


def _build_note(variant: VariantComparison) -> str | None:
    """Say whether the provider served another build of the model than before, where both sides know; else None."""
    known = [(row, row.builds) for row in variant.compared if row.builds is not None and not row.replayed]
    other = [(row, builds) for row, builds in known if not set(builds[0]) & set(builds[1])]
    if not known or variant.before != variant.after:  # variants are meant to differ
        return None
    if not other:
        return f"the provider served the same build of the model in {_count(len(known), 'case')}"
    before, after = (_list_text(sorted({name for _, builds in other for name in builds[side]})) for side in (0, 1))
    same = "same prompt and code, " if all(row.same_setup for row, _ in other) else ""
    return f"{same}another build of the model in {len(other):,} of {_count(len(known), 'case')}: {after}, was {before}"


def _rule_change_text(change: RuleChange) -> str:
    """Return `rule start <= end: broken in 2 documents that kept it before (c1, c2), kept in 1 that broke it (c3)`."""
    parts = [
        f"{verb} {_count(len(cases), 'document')} that {before} it before ({_names(cases)})"
        for verb, before, cases in (("broken in", "kept", change.broken), ("kept in", "broke", change.mended))
        if cases
    ]
    return f"rule {change.rule}: {', '.join(parts)}"


# numbers


def broken_text(found: BrokenRuns) -> str:
    """Return `5 of 50 cases broke, 0 before (5 BadRequestError)`."""
    kinds = ", ".join(f"{count} {kind}" for kind, count in found.kinds)
    text = f"{found.cases_after} of {_count(found.cases, 'case')} broke, {found.cases_before} before"
    return _with_variant(found.variant, text + (f" ({kinds})" if kinds else ""))


def call_text(change: CallChange) -> str:
    """Return `cost of a call $0.024, was $0.020 (+20 %)`."""
    show = _money if change.what == "cost" else _seconds
    rise = f" ({change.rise:+.0%})" if change.rise is not None else ""
    return _with_variant(
        change.variant,
        f"{change.what} of a call {show(change.after)}, was {show(change.before)}{rise.replace('%', ' %')}",
    )


def _seconds(value: float) -> str:
    if value >= 100:
        return f"{value:,.0f} s"
    return f"{value:.3g} s" if value >= 0.01 else f"{1000 * value:.2g} ms"


def _money(cost: float | None) -> str:
    return "cost unknown" if cost is None else f"${cost:,.2f}" if cost >= 0.1 or not cost else f"${cost:.2g}"


def interval_text(bounds: Bounds) -> str:
    """Return `change -4.0 points, from -6.1 to -2.0 at 94 %`."""
    change, low, high = (f"{round(100 * value, 1) + 0.0:+.1f}" for value in (bounds.change, bounds.low, bounds.high))
    return f"change {change} points, from {low} to {high} at {100 * bounds.interval:.3g} %"


def _with_variant(variant: str, what: str) -> str:
    return f"[{variant}] {what}" if variant else what


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def _percent_text(share: float) -> str:
    return f"{nearly(share) or f'{100 * share:.1f}'} %"


def _points_text(share: float) -> str:
    return f"{100 * share:.1f} points"


def p_text(value: float) -> str:
    """Return `= 0.012`, or `< 0.001`."""
    return f"= {value:.2g}" if value >= 0.001 else "< 0.001"
