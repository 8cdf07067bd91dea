"""`--extract-gate=regression`: baselines, variants compared with each other, and fresh runs that decide.

Fresh runs (`--extract-confirm`): the cases that fell run again on both sides, in this process. Under xdist this is the
controller, which collects the files of these cases once the workers have ended.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple, TypeAlias

import pytest
from _pytest.runner import runtestprotocol

from pytest_extract.cases.load import load_cases
from pytest_extract.cases.schemas import SchemaCache, compile_structure
from pytest_extract.core.case_result import CaseResult, Outcome, Spending
from pytest_extract.core.words import plural
from pytest_extract.errors import ExtractError, StoreError
from pytest_extract.plugin.items import CASE, ExtractItem
from pytest_extract.plugin.options import Settings
from pytest_extract.plugin.run_results import RunResults, run_results_of, write_own_line
from pytest_extract.plugin.session import session_of
from pytest_extract.regression.baseline import Baseline, read_baseline, refusal, resolutions, update_baseline
from pytest_extract.regression.compare import Comparison, cases_of, compare_variants, match_variants
from pytest_extract.regression.facts import Rules, Weight, run_tests
from pytest_extract.regression.gate import (
    FIRST_SHARE,
    Answer,
    GateDecision,
    VariantPlan,
    confirm,
    decide_confirmed,
    evaluate_base,
    evaluate_gate,
    held_runs,
    may_have_fallen,
    plan_variant,
    resolution_text,
    rests_on_few,
)
from pytest_extract.regression.snapshots import CaseKey, CaseState, Snapshot, counted_states, snapshot
from pytest_extract.report.lines import Line, render_error, text_of, told
from pytest_extract.report.run_report import verdict_lines
from pytest_extract.report.summary import DRAFTS
from pytest_extract.results import load_result

_BASELINE = pytest.StashKey[Baseline]()
_CONFIRMED = pytest.StashKey[GateDecision]()


def read_gate_inputs(config: pytest.Config, settings: Settings) -> None:
    """Read the rules and the baseline before the first call; ConfigError or StoreError where the gate cannot decide."""
    rules_of(settings)
    if settings.baseline is not None and (settings.baseline.exists() or not settings.update_baseline):
        config.stash[_BASELINE] = read_baseline(settings.baseline)


def rules_of(settings: Settings) -> Rules:
    """Return the gate's rules from `extract_rules`; ConfigError for a value out of range.

    UNDECIDED is green unless a rule says otherwise. What the reports are split by splits the verdict as well, if it
    groups cases.
    """
    from pytest_extract.core.aggregate.slices import case_dimensions, slice_name

    named = map(slice_name, settings.rules.get("by", ()))
    by = tuple(dict.fromkeys([*named, *case_dimensions(settings.by)]))
    return Rules(**{"inconclusive": "warn", **settings.rules, "by": by})


def gate_decision(config: pytest.Config, run_results: RunResults, *, level: float | None = None) -> GateDecision | None:
    """Compare the run with its baseline, or its variants with the base; None where there is nothing to compare.

    By the run's own results, unless that is confirmed; `level`: the part of alpha where a confirmation can follow.
    """
    settings = run_results.settings
    if _CONFIRMED in config.stash:
        return config.stash[_CONFIRMED]
    if not run_results.results or settings.update_baseline:
        return None
    rules, advise = rules_of(settings), settings.confirm is None
    results = evidence(run_results, rules)
    if _BASELINE in config.stash:
        before = config.stash[_BASELINE].cases
        one_run = all(state.runs == 1 for state in before.values())
        found = evaluate_gate(before, snapshot(results), rules, level=level, confirm=advise and not one_run)
        may_have_fallen_now = found.collapses or any(test.doubtful for test in found.tests)
        if advise and one_run and found.answer is Answer.UNDECIDED and may_have_fallen_now:
            found = replace(found, advice=(*found.advice, f"to see if the fall is real, {_STORE_MORE}"))
        return found if results else replace(found, reasons=(only_drafts_text(len(run_results.results)),), notes=())
    base = base_label(config, run_results)
    return None if base is None else evaluate_base(results, base, rules, level=level, confirm=advise)


def evidence(run_results: RunResults, rules: Rules) -> Collection[CaseResult]:
    """Return the results that the gate counts: those of drafts only where a rule allows them."""
    if rules.allow_drafts or DRAFTS not in run_results.totals.remarks:
        return run_results.results
    return [result for result in run_results.results if not result.draft]


def only_drafts_text(count: int) -> str:
    """Say that no result of a run is evidence, and what makes it one."""
    return (
        f"{'the gold is an unreviewed draft' if count == 1 else f'all {count:,} golds are unreviewed drafts'}: "
        "pytest-extract review decides them, --extract-rule=allow_drafts=true counts them as they are"
    )


def base_label(config: pytest.Config, run_results: RunResults) -> str | None:
    """Return the label of the variant that the others are compared with; None for a run of one variant.

    It is that of a revision if there is one, the first that the options name, or the first that a past run has.
    """
    ran = run_results.totals.variants
    if len(ran) < 2:
        return None
    # Not the first result's, here or in a past run: workers and pytest-randomly shuffle.
    params, planned = (None, *run_results.params), session_of(config).variants
    variants = [replace(each, param=param) for param in params for each in planned if each.param in {None, param}]
    variants = sorted([*variants, *planned], key=lambda variant: variant.revision is None)
    return next((variant.label for variant in variants if variant.label in ran), None)


def decision_lines(decision: GateDecision | None, *, verbosity: int) -> list[Line]:
    """Return the verdict as lines, or that the gate compared nothing."""
    if decision is None:
        return [told("UNDECIDED. Nothing was compared.", "bad")]
    return verdict_lines(decision, verbosity=verbosity)


def decision_word(decision: GateDecision | None, settings: Settings) -> str | None:
    """Return the word for pytest's last line; None where the gate does not decide about the run.

    Nor does it about one that writes what it would be compared by.
    """
    if settings.gate != "regression" or settings.update_baseline or settings.update_gold is not None:
        return None
    if decision is None:
        return "UNDECIDED"
    dead = sum(len(each.cases) for each in decision.collapses) if decision.answer is Answer.PASS else 0
    return f"{decision.answer}, {plural(dead, 'document')} died" if dead else str(decision.answer)


def report_to_junit(config: pytest.Config, decision: GateDecision | None, word: str, *, green: bool) -> None:
    """Add a test `regression gate` to the JUnit file: it fails as the run does, and is skipped if undecided."""
    from _pytest.junitxml import xml_key

    xml = config.stash.get(xml_key, None)
    if xml is None:
        return
    text = "\n".join(map(text_of, decision_lines(decision, verbosity=0)))
    name, where = "regression gate", ("", None, "regression gate")
    outcome: Literal["passed", "failed", "skipped"] = "passed"
    longrepr: Any = None
    if not green:
        outcome, longrepr = "failed", text
    elif word.startswith("UNDECIDED"):
        outcome, longrepr = "skipped", ("", 0, text)
    xml.pytest_runtest_logreport(pytest.TestReport(name, where, {}, outcome, longrepr, "call"))
    xml.pytest_runtest_logreport(pytest.TestReport(name, where, {}, "passed", None, "teardown"))


def write_baseline(session: pytest.Session, run_results: RunResults, path: Path) -> list[Line]:
    """Write the run into its baseline; return lines that say so, a bad one where that is not possible."""
    settings = run_results.settings
    rules = rules_of(settings)
    results = evidence(run_results, rules)
    completed = session.exitstatus in {pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED} and not session.shouldfail
    refused = refusal(results, completed=completed)
    if run_results.results and not results:
        refused = only_drafts_text(len(run_results.results))
    if refused is not None:
        return [told(f"baseline not written: {refused}", "bad")]
    try:
        gone = _deleted_cases(path, session.config.rootpath)
        keep = rules.keep_runs if settings.update_baseline == "add" else None
        stored = update_baseline(path, results, gone=gone, keep_runs=keep)
    except StoreError as error:
        return [told(str(error), "bad")]
    states = {key: state for key, state in snapshot(results).items() if not state.lost}
    new = len(states)
    kept, counts = len(stored.cases) - new, plural(new, "case")
    counts += f", {kept:,} kept as they were" if kept else ""
    counts += f", {len(gone):,} dropped that no longer exist" if gone else ""
    runs = {stored.cases[key].runs for key in states}
    if max(runs, default=1) > 1:
        counts += f", {' to '.join(map(str, sorted({min(runs), max(runs)})))} runs of each"
    lines = [told(f"baseline written: {path} ({counts})", "good")]
    if settings.gate == "regression":
        lines.append(told("the regression gate did not compare: this run is the baseline now", indent=2))
    return lines + [told(resolution_text(each), indent=2) for each in resolutions(stored.cases, rules)]


def _deleted_cases(baseline: Path, root: Path) -> list[str]:
    """Return the cases (`file::id`) of the baseline that their file no longer has; a file with mistakes keeps all."""
    deleted = {key.case for key in read_baseline(baseline).cases} if baseline.exists() else set()
    cache = SchemaCache(compile_structure)
    for file in {name.partition("::")[0] for name in deleted}:
        if (root / file).exists():
            loaded = load_cases(root / file, cache)
            known = {f"{file}::{case.id}" for case in loaded.cases}
            deleted -= {name for name in deleted if name.startswith(f"{file}::")} if loaded.errors else known
    return sorted(deleted)


_STORE_MORE: Final = (
    "store a baseline of three runs where it is made (--extract-repeat=3 --extract-update-baseline), of which the "
    "first chooses the cases and the others are compared, or compare with a revision (--extract-base-ref)"
)


class _Compared(NamedTuple):
    """What can run again of one compared variant: its cases, before and now.

    `held`: of a baseline, the runs of each case that choose nothing; None where both sides are called again.
    """

    pairs: Mapping[str, tuple[CaseState, CaseState]]
    held: Mapping[str, int] | None


_Sides: TypeAlias = Mapping[tuple[str, str], _Compared]
"""Each compared variant, by its labels before and now."""


def confirm_decision(session: pytest.Session) -> None:
    """Decide by the run, and where that is open or rests on few cases, by fresh runs; the verdict says what failed.

    The sides are looked at before the results: where neither can run again, the run alone has all of alpha.
    """
    config, run_results = session.config, run_results_of(session.config)
    settings = run_results.settings
    most = settings.confirm
    if most is None or not run_results.results or settings.dry_run or settings.update_gold or settings.update_baseline:
        return
    rules = rules_of(settings)
    states = counted_states(snapshot(evidence(run_results, rules)))
    sides = _sides(session, run_results, states)
    any_can = any(each.pairs if each.held is None else each.held for each in sides.values())
    level = rules.alpha * FIRST_SHARE if any_can else None
    first = gate_decision(config, run_results, level=level)
    if first is None:
        return
    decision, why = first, None
    try:
        plans = _plans(first, sides, rules, most)
        if plans:
            decision = _confirmed(session, run_results, first, plans)
    except (KeyboardInterrupt, pytest.exit.Exception):
        why = "the fresh runs were interrupted; run the command again"
        raise
    except (ExtractError, pytest.UsageError) as error:
        why = str(error)
    except Exception as error:  # noqa: BLE001  # the run has its results, and the first runs can decide
        why = render_error("the confirmation", error)
    finally:
        if why is not None:
            decision = replace(first, advice=(*first.advice, f"not confirmed: {why}"))
        config.stash[_CONFIRMED] = decision


# which cases can run again


def _sides(session: pytest.Session, run_results: RunResults, states: Snapshot) -> _Sides:
    baseline = session.config.stash.get(_BASELINE, None)
    before = states if baseline is None else baseline.cases
    if baseline is None:
        base = base_label(session.config, run_results)
        labels = {key.variant for key in states}
        matched = [] if base is None else [(base, other) for other in sorted(labels - {base})]
    else:
        matched = match_variants(before, states)
    sides = {}
    for old, new in matched:
        was, now = cases_of(before, old), cases_of(states, new)
        both = {name: (was[name], now[name]) for name in now if name in was}
        pairs = {name: pair for name, pair in both.items() if not any(state.lost for state in pair)}
        held = None if baseline is None else held_runs({name: before for name, (before, _) in pairs.items()})
        sides[old, new] = _Compared(pairs, held)
    return sides


# what to run again


def _plans(first: GateDecision, sides: _Sides, rules: Rules, most: int) -> list[VariantPlan]:
    """Plan the fresh runs of the variants that need them; empty where the answer needs none.

    Raises ExtractError, with the reason, where it does and nothing can run again.
    """
    effects = [effect for effect in first.effects if may_have_fallen(effect.variant, first)]
    if first.by_rule:
        return []
    if first.answer is Answer.WORSE:
        fallen = {test.variant for test in first.tests if test.significant}
        fallen |= {each.variant for each in first.collapses if each.weight is Weight.WORSE}
        effects = [effect for effect in first.effects if effect.variant in fallen]
        if not all(rests_on_few(first.tests, effect, rules, most) for effect in effects):
            return []
    variants = {variant.label: variant for variant in first.comparison.variants}
    plans: list[VariantPlan] = []
    reasons: list[str] = []
    for effect in effects:
        variant = variants[effect.variant]
        pairs, held = sides.get((variant.before, variant.after), _Compared({}, None))
        if held is None:
            plan = plan_variant(variant, first.tests, rules, most=most, among=frozenset(pairs))
        elif not held:
            reasons.append(f"the baseline has one run of each case; {_STORE_MORE}")
            continue
        else:
            was = {CaseKey(name, variant.before): before.with_runs(0, 1) for name, (before, _) in pairs.items()}
            now = {CaseKey(name, variant.after): after for name, (_, after) in pairs.items()}
            variant = compare_variants(was, now, variant.before, variant.after)
            tests = run_tests(Comparison(variants=(variant,)), rules).results
            plan = plan_variant(variant, tests, rules, most=most, held=held)
        if plan is None:
            reasons.append("none of the cases that fell can run again often enough to show a fall")
        else:
            plans.append(plan)
    if reasons and first.answer is not Answer.PASS and (not plans or first.answer is Answer.WORSE):
        raise ExtractError("; ".join(dict.fromkeys(reasons)))
    return plans


# the fresh runs


def _confirmed(
    session: pytest.Session, run_results: RunResults, first: GateDecision, plans: Sequence[VariantPlan]
) -> GateDecision:
    cases = {name for plan in plans for name in plan.cases}
    reporter = session.config.pluginmanager.getplugin("terminalreporter")
    if reporter is not None and session.config.get_verbosity() >= 0:
        again = "1 case that fell runs" if len(cases) == 1 else f"{len(cases)} cases that fell run"
        calls = sum(plan.calls for plan in plans)
        write_own_line(reporter, f"confirmation: {again} again ({calls} calls at most)")
    held: dict[CaseKey, CaseState] = {}
    for plan in plans:
        for name, count in plan.held.items():
            key = CaseKey(name, plan.before)
            held[key] = session.config.stash[_BASELINE].cases[key].with_runs(1, 1 + count)
    with _items_of(session, cases) as items:
        fresh = _fresh_items(items, plans)
        results = _run(session, run_results, [*fresh.values()])
    after = {
        key: next(iter(snapshot([result]).values()))
        for key, result in zip(fresh, results, strict=True)
        if result is not None and result.outcome is not Outcome.NOT_RUN
    }
    before = held or after
    comparison = Comparison(variants=tuple(compare_variants(before, after, plan.before, plan.after) for plan in plans))
    spent = Spending.of(filter(None, results))
    confirmation = confirm(first.comparison, plans, comparison, spent, first.rules)
    if not confirmation.enough:
        unsure = [result for result in results if result is not None and result.outcome is not Outcome.FAILED]
        whys = dict.fromkeys(result.why for result in unsure if result.why)
        first = replace(first, advice=(*first.advice, *(why.partition("\n")[0] for why in [*whys][:1])))
    return decide_confirmed(first, confirmation)


@contextmanager
def _items_of(session: pytest.Session, cases: Iterable[str]) -> Iterator[Sequence[pytest.Item]]:
    """Give items among which are those of some cases; under xdist, only the workers have collected any.

    The run has selected these cases: no plugin selects among them once more (`--lf` knows by now that most passed).
    """
    if any(isinstance(item, ExtractItem) for item in session.items or ()):
        yield session.items
        return
    config = session.config
    hooks = config.pluginmanager.getplugin("pytest_extract_session")
    reporter = config.pluginmanager.getplugin("terminalreporter")
    items, counts, verbose = session.items, (session.testscollected, session.testsfailed), config.option.verbose
    mistakes = [*hooks.collection_errors]
    stats = {} if reporter is None else {name: [*reports] for name, reports in reporter.stats.items()}
    config.option.verbose = -1  # the reporter would tell of the items
    keep_all = _KeepAll()
    config.pluginmanager.register(keep_all)
    try:
        session.perform_collect(sorted({str(config.rootpath / name.partition("::")[0]) for name in cases}))
        config.option.verbose = verbose
        yield session.items
    finally:
        config.pluginmanager.unregister(keep_all)
        session.items, (session.testscollected, session.testsfailed) = items, counts
        config.option.verbose = verbose
        hooks.collection_errors[:] = mistakes  # the workers have told of the mistakes in these files
        if reporter is not None:
            reporter.stats.clear()
            reporter.stats.update(stats)


class _KeepAll:
    """Keeps the items that other plugins would deselect."""

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> Iterator[None]:
        collected = [*items]
        yield
        items[:] = collected


def _fresh_items(items: Iterable[pytest.Item], plans: Sequence[VariantPlan]) -> dict[CaseKey, ExtractItem]:
    """Return the items to run, both sides of a case in turn; those that variants share only once."""
    fresh: dict[CaseKey, ExtractItem] = {}
    own = {
        CaseKey(f"{item.nodeid.partition('::')[0]}::{item.case.id}", item.variant.label): item
        for item in items
        if isinstance(item, ExtractItem)
    }
    for plan in plans:
        labels = (plan.after,) if plan.held else (plan.before, plan.after)
        for key in (CaseKey(name, label) for name in plan.cases for label in labels):
            if key not in own:
                raise ExtractError(f"{key.case} is not collected any more")
            if key not in fresh:
                fresh[key] = ExtractItem.from_parent(
                    own[key].parent,  # type: ignore[arg-type]  # an item has one
                    name=own[key].name,
                    nodeid=own[key].nodeid,
                    case=own[key].case,
                    variant=own[key].variant,
                    runner=own[key].runner,
                )
                fresh[key].own_markers.extend(own[key].own_markers)
            fresh[key].fresh_runs = max(plan.runs, fresh[key].fresh_runs)
    return fresh


def _run(session: pytest.Session, run_results: RunResults, items: Sequence[ExtractItem]) -> list[CaseResult | None]:
    """Run the items as pytest does, but for its reports: they are no tests of the run."""
    results: list[CaseResult | None] = []
    for index, item in enumerate(items):
        following = items[index + 1] if index + 1 < len(items) else None
        found = None
        for report in runtestprotocol(item, log=False, nextitem=following):
            case: dict[str, Any] = vars(report).pop(CASE, {})
            run_results.take_side_effects(case)
            found = load_result(case["line"]) if "line" in case else found
        results.append(found)
        if session.shouldstop:
            raise session.Interrupted(session.shouldstop)
    return results
