"""`--extract-gate=regression`: baselines, and variants compared with each other."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Literal

import pytest

from pytest_extract.cases.cache import SchemaCache, compile_structure
from pytest_extract.cases.load import load_cases
from pytest_extract.core.case_result import CaseResult
from pytest_extract.errors import ConfigError, StoreError
from pytest_extract.plugin.options import Settings
from pytest_extract.plugin.run_results import RunResults
from pytest_extract.regression.baseline import Baseline, in_ci, read_baseline, refusal, resolutions, update_baseline
from pytest_extract.regression.gate import (
    Answer,
    GateDecision,
    evaluate_base,
    evaluate_gate,
    exit_status,
    resolution_text,
)
from pytest_extract.regression.rules import Rules
from pytest_extract.regression.snapshots import reviewed_results, snapshot
from pytest_extract.report.gate import verdict_lines
from pytest_extract.report.lines import Line, Span, line, plural, text_of
from pytest_extract.report.summary import DRAFTS

_BASELINE = pytest.StashKey[Baseline]()
_CONFIRMED = pytest.StashKey[GateDecision]()


def read_gate_inputs(config: pytest.Config, settings: Settings) -> None:
    """Read the rules and the baseline before the first call; UsageError where the gate could not decide."""
    try:
        rules_of(settings)
        if settings.update_baseline:
            _check_baseline_can_be_updated(settings)
        elif settings.baseline is not None:
            config.stash[_BASELINE] = read_baseline(settings.baseline)
    except (ConfigError, StoreError) as error:
        raise pytest.UsageError(str(error)) from error


def _check_baseline_can_be_updated(settings: Settings) -> None:
    if settings.baseline is None:
        raise ConfigError("--extract-update-baseline needs --extract-baseline=FILE")
    if in_ci(os.environ) and not settings.force:
        raise ConfigError(
            "--extract-update-baseline: a baseline is not written in CI: write it where its diff is reviewed, "
            "or add --extract-force"
        )
    if settings.baseline.exists():
        read_baseline(settings.baseline)


def rules_of(settings: Settings) -> Rules:
    """Return the gate's rules from `extract_rules`; ConfigError for a value out of range.

    What the reports are split by splits the verdict as well, if it groups cases.
    """
    from pytest_extract.core.aggregate.slices import case_dimensions, slice_name

    named = map(slice_name, settings.rules.get("by", ()))
    by = tuple(dict.fromkeys([*named, *case_dimensions(settings.by)]))
    return Rules(**{**settings.rules, "by": by})


def gate_decision(config: pytest.Config, run_results: RunResults) -> GateDecision | None:
    """Compare the run with its baseline, or its variants with the base; None where there is nothing to compare."""
    return config.stash.get(_CONFIRMED, None) or first_decision(config, run_results)


def first_decision(
    config: pytest.Config, run_results: RunResults, *, level: float | None = None
) -> GateDecision | None:
    """Decide by the run's own results; `level`: the part of alpha where a confirmation can follow."""
    settings = run_results.settings
    if not run_results.results or settings.update_baseline:
        return None
    rules = rules_of(settings)
    results = evidence(run_results, rules)
    if _BASELINE in config.stash:
        found = evaluate_gate(config.stash[_BASELINE].cases, snapshot(results), rules, level=level)
        return found if results else replace(found, reasons=(only_drafts_text(len(run_results.results)),), notes=())
    base = base_label(config, run_results)
    return None if base is None else evaluate_base(results, base, rules, level=level)


def baseline_of(config: pytest.Config) -> Baseline | None:
    """Return the baseline that the run is compared with."""
    return config.stash.get(_BASELINE, None)


def put_decision(config: pytest.Config, decision: GateDecision) -> None:
    """Keep the decision that fresh runs led to."""
    config.stash[_CONFIRMED] = decision


def evidence(run_results: RunResults, rules: Rules) -> Sequence[CaseResult]:
    """Return the results that the gate counts: those of drafts only where a rule allows them."""
    if DRAFTS not in run_results.totals.remarks:
        return run_results.results
    return reviewed_results(run_results.results, allow_drafts=rules.allow_drafts)


def only_drafts_text(count: int) -> str:
    """Say that no result of a run is evidence, and what makes it one."""
    return (
        f"{'the gold is an unreviewed draft' if count == 1 else f'all {count:,} golds are unreviewed drafts'}: "
        "pytest-extract review decides them, --extract-rule=allow_drafts=true counts them as they are"
    )


def base_label(config: pytest.Config, run_results: RunResults) -> str | None:
    """Return the label of the variant that the others are compared with; None for a run of one variant.

    It is the first that the options name, of a past run the first that it has, and of a revision if there is one.
    """
    settings = run_results.settings
    variants = {label: totals.variant for label, totals in run_results.totals.variants.items()}
    if len(variants) < 2:
        return None
    # Not the first result's: pytest-randomly shuffles.
    prompts = settings.prompt_names(config.rootpath)
    orders: Sequence[Sequence[object]] = (
        *([*run_results.params], settings.model, [*prompts], settings.mode),
        run_results.past_variants,
    )

    def position(label: str) -> tuple[object, ...]:
        variant = variants[label]
        parts = (variant.param, variant.model, variant.prompt, variant.mode, variant)
        places = (order.index(part) if part in order else -1 for order, part in zip(orders, parts, strict=True))
        return variant.revision is None, *places

    return min(variants, key=lambda label: (position(label), label))


def _decides(settings: Settings) -> bool:
    """Whether the regression gate decides about the run; not about one that writes what it would be compared by."""
    return settings.gate == "regression" and not settings.update_baseline and settings.update_gold is None


def gate_fails(decision: GateDecision | None, settings: Settings) -> bool:
    """Whether the regression gate fails the run; a gate that compared nothing does."""
    return _decides(settings) and (decision is None or exit_status(decision, settings.inconclusive) != 0)


def decision_lines(decision: GateDecision | None, settings: Settings, *, verbosity: int) -> list[Line]:
    """Return the verdict as lines, or that the gate compared nothing."""
    if decision is not None:
        return verdict_lines(decision, verbosity=verbosity)
    if _decides(settings):
        return [line(Span("UNDECIDED. Nothing was compared.", "bad"))]
    return []


def decision_word(decision: GateDecision | None, settings: Settings) -> str | None:
    """Return the word for pytest's last line, where the gate decides about the run."""
    if not _decides(settings):
        return None
    if decision is None:
        return "UNDECIDED"
    dead = sum(len(each.cases) for each in decision.collapses)
    told = decision.answer is Answer.PASS and dead
    return f"{decision.answer}, {plural(dead, 'document')} died" if told else str(decision.answer)


def report_to_junit(config: pytest.Config, decision: GateDecision | None, settings: Settings) -> None:
    """Add a test `regression gate` to the JUnit file: it fails as the run does, and is skipped if undecided."""
    from _pytest.junitxml import xml_key

    xml = config.stash.get(xml_key, None)
    word = decision_word(decision, settings)
    if xml is None or word is None:
        return
    text = "\n".join(map(text_of, decision_lines(decision, settings, verbosity=0)))
    name = "regression gate"
    undecided = word.startswith("UNDECIDED")
    outcome: Literal["passed", "failed", "skipped"] = "skipped" if undecided else "passed"
    outcome = "failed" if gate_fails(decision, settings) else outcome
    where = ("", None, name)
    longrepr = ("", 0, text) if outcome == "skipped" else text if outcome == "failed" else None
    xml.pytest_runtest_logreport(pytest.TestReport(name, where, {}, outcome, longrepr, "call"))
    xml.pytest_runtest_logreport(pytest.TestReport(name, where, {}, "passed", None, "teardown"))


def write_baseline(session: pytest.Session, run_results: RunResults) -> tuple[bool, list[str]] | None:
    """Write the baseline under `--extract-update-baseline`; return whether that worked, and sentences for people."""
    settings = run_results.settings
    if not settings.update_baseline or settings.baseline is None:
        return None
    rules = rules_of(settings)
    results = evidence(run_results, rules)
    if run_results.results and not results:
        return False, [f"baseline not written: {only_drafts_text(len(run_results.results))}"]
    completed = session.exitstatus in {pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED} and not session.shouldfail
    refused = refusal(results, completed=completed, ci=in_ci(os.environ), force=settings.force)
    if refused is not None:
        return False, [f"baseline not written: {refused}"]
    try:
        gone = _deleted_cases(settings.baseline, session.config.rootpath)
        keep = rules.keep_runs if settings.update_baseline == "add" else None
        stored = update_baseline(settings.baseline, results, gone=gone, keep_runs=keep)
    except StoreError as error:
        return False, [str(error)]
    states = {key: state for key, state in snapshot(results).items() if not state.lost}
    new = len(states)
    kept, counts = len(stored.cases) - new, plural(new, "case")
    counts += f", {kept:,} kept as they were" if kept else ""
    counts += f", {len(gone):,} dropped that no longer exist" if gone else ""
    runs = [stored.cases[key].runs for key in states]
    if runs and max(runs) > 1:
        low, high = min(runs), max(runs)
        counts += f", {high} runs of each" if low == high else f", {low} to {high} runs of each"
        counts += " (--extract-repeat=1 for one)" if settings.repeat is None and keep is None else ""
    text = f"baseline written: {settings.baseline} ({counts})"
    if runs and max(runs) == 1 and any(state.cost_usd for state in states.values()):
        text += (
            "; one run of each case: with --extract-repeat=3 the gate finds more, and this run's luck counts for less"
        )
    gate = (
        ["the regression gate did not compare: this run is the baseline now"] if settings.gate == "regression" else []
    )
    return True, [text, *gate, *map(resolution_text, resolutions(stored.cases, rules))]


def _deleted_cases(baseline: Path, root: Path) -> list[str]:
    """Return the cases (`file::id`) of the baseline that their file no longer has; a file with mistakes keeps all."""
    if not baseline.exists():
        return []
    by_file: dict[str, set[str]] = {}
    for key in read_baseline(baseline).cases:
        file, _, case = key.case.partition("::")
        by_file.setdefault(file, set()).add(case)
    cache = SchemaCache(compile_structure)
    deleted: list[str] = []
    for file, cases in by_file.items():
        known: set[str] = set()
        if (root / file).exists():
            loaded = load_cases(root / file, cache)
            if loaded.errors:
                continue
            known = {case.id for case in loaded.cases}
        deleted += [f"{file}::{case}" for case in cases - known]
    return sorted(deleted)
