"""`--extract-gate regression`, baselines, arms against each other, and a run against itself."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from pytest_extract.cases.cache import SchemaCache
from pytest_extract.cases.load import load_cases
from pytest_extract.cases.structure import compile_structure
from pytest_extract.core.case_result import Arm
from pytest_extract.errors import ConfigError, StoreError
from pytest_extract.plugin.options import Settings
from pytest_extract.plugin.run_results import RunResults
from pytest_extract.regression.baseline import Baseline
from pytest_extract.regression.baseline_file import in_ci, read_baseline, refusal, update_baseline
from pytest_extract.regression.flakiness import aa_test, repeat_snapshots
from pytest_extract.regression.gate import GateDecision, evaluate_base, evaluate_run, exit_status
from pytest_extract.regression.rules import Rules
from pytest_extract.regression.snapshots import snapshot
from pytest_extract.report.gate import aa_test_lines, gate_lines
from pytest_extract.report.lines import Line, Span, line, plural

_BASELINE = pytest.StashKey[Baseline]()


def prepare(config: pytest.Config, settings: Settings) -> None:
    """Read the rules and the baseline before anything is paid for; UsageError where the gate could not decide."""
    try:
        rules_of(settings)
        if settings.update_baseline:
            _check_writing(settings)
        elif settings.baseline is not None:
            config.stash[_BASELINE] = read_baseline(settings.baseline)
        else:
            _check_base_arm(settings)
    except (ConfigError, StoreError) as error:
        raise pytest.UsageError(str(error)) from error


def _check_writing(settings: Settings) -> None:
    if settings.baseline is None:
        raise ConfigError("--extract-update-baseline needs --extract-baseline=FILE")
    if in_ci(os.environ) and not settings.force:
        raise ConfigError(
            "--extract-update-baseline: a baseline is not written in CI: write it where its diff is reviewed, "
            "or add --extract-force"
        )
    if settings.baseline.exists():
        read_baseline(settings.baseline)


def _check_base_arm(settings: Settings) -> None:
    if settings.base_ref is None and len(settings.model) < 2 and len(settings.prompt) < 2:
        raise ConfigError(
            "--extract-gate=regression needs something to compare with: --extract-baseline=FILE, "
            "--extract-base-ref=REF, or two of --extract-model or --extract-prompt (the first is the base)"
        )


def rules_of(settings: Settings) -> Rules:
    """Return the gate's rules from `extract_rules`; ConfigError for a value out of range."""
    return Rules(**settings.rules)


def judgement(config: pytest.Config, gathered: RunResults) -> GateDecision | None:
    """Compare the run with its baseline, or its arms with the base arm, in one verdict; None: nothing to compare."""
    results = gathered.results
    settings = gathered.settings
    if not results or settings.update_baseline:
        return None
    rules = rules_of(settings)
    if _BASELINE in config.stash:
        return evaluate_run(results, config.stash[_BASELINE], rules)
    arms = {label: totals.arm for label, totals in gathered.totals.arms.items()}
    if len(arms) < 2:
        return None
    return evaluate_base(results, _base_label(arms, settings), rules)


def _base_label(arms: Mapping[str, Arm], settings: Settings) -> str:
    if settings.base_ref is not None:
        return next((label for label, arm in arms.items() if arm.revision is not None), next(iter(arms)))
    # Not the first result's: pytest-randomly shuffles.
    order = [*settings.model, *(path.name for path in settings.prompt)]
    return min(arms, key=lambda label: _place(order, arms[label]))


def _place(order: Sequence[str], arm: Arm) -> tuple[int, int]:
    prompt = Path(arm.prompt).name if arm.prompt else None
    names = [name for name in (arm.model, prompt) if name in order]
    places = [order.index(name) for name in names]
    return (places[0] if places else 0, places[-1] if places else 0)


def failed(judged: GateDecision | None, settings: Settings) -> bool:
    """Whether the regression gate turns the run red; a gate that compared nothing does."""
    if settings.gate != "regression" or settings.update_baseline:
        return False
    return judged is None or exit_status(judged, settings.inconclusive) != 0


def lines_of(judged: GateDecision | None, settings: Settings, *, width: int, verbosity: int) -> list[Line]:
    """Tell the comparison, or that the gate had none."""
    if judged is not None:
        return gate_lines(judged, width=width, verbosity=verbosity)
    if settings.gate == "regression" and not settings.update_baseline:
        return [line(Span("regression gate: nothing was compared", "bad"))]
    return []


def against_itself(gathered: RunResults) -> list[Line]:
    """`--extract-aa`: judge the repeats of the run by each other."""
    if gathered.settings.aa is None:
        return []
    runs = repeat_snapshots(gathered.results)
    if len(runs) < 2:
        return [line(Span("A/A: fewer than two runs were scored; nothing was compared", "bad"))]
    return aa_test_lines(aa_test(runs, rules_of(gathered.settings)))


def write_baseline(session: pytest.Session, gathered: RunResults) -> tuple[bool, str] | None:
    """Write the baseline if asked to; whether it worked, and a sentence about it."""
    settings = gathered.settings
    if not settings.update_baseline or settings.baseline is None:
        return None
    results = gathered.results
    completed = session.exitstatus in {pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED} and not session.shouldfail
    why = {"completed": completed, "ci": in_ci(os.environ), "force": settings.force}
    refused = refusal(results, **why)
    if refused is not None:
        return False, f"baseline not written: {refused}"
    try:
        gone = _gone(settings.baseline, session.config.rootpath)
        stored = update_baseline(settings.baseline, results, **why, gone=gone)
    except StoreError as error:
        return False, str(error)
    new = sum(not state.lost for state in snapshot(results).values())
    kept, told = len(stored.cases) - new, plural(new, "case")
    told += f", {kept:,} kept as they were" if kept else ""
    told += f", {len(gone):,} dropped that no longer exist" if gone else ""
    return True, f"baseline written: {settings.baseline} ({told})"


def _gone(path: Path, root: Path) -> list[str]:
    """Cases (`file::id`) of the baseline whose file no longer has them; a file with mistakes keeps all of its own."""
    if not path.exists():
        return []
    by_file: dict[str, set[str]] = {}
    for key in read_baseline(path).cases:
        file, _, case = key.case.partition("::")
        by_file.setdefault(file, set()).add(case)
    cache = SchemaCache(compile_structure)
    gone = []
    for file, cases in by_file.items():
        known = _cases_in(root / file, cache)
        gone += [f"{file}::{case}" for case in cases if known is not None and case not in known]
    return sorted(gone)


def _cases_in(path: Path, cache: SchemaCache) -> set[str] | None:
    if not path.exists():
        return set()
    loaded = load_cases(path, cache)
    return None if loaded.errors else {case.id for case in loaded.cases}


def read_rule(text: str) -> tuple[str, Any]:
    """Read `NAME=VALUE` of the option `--extract-rule`; ValueError says what is wrong."""
    from dataclasses import fields

    from pytest_extract.errors import nearest

    name, sign, value = (part.strip() for part in text.partition("="))
    kinds: Mapping[str, str] = {field.name: str(field.type) for field in fields(Rules)}
    if not sign or name not in kinds:
        raise ValueError(f"must read NAME=VALUE with a rule of the gate{nearest(name, kinds)}")
    try:
        return name, _rule_value(kinds[name], value)
    except ValueError:
        raise ValueError(f"must give {name} a value of type {kinds[name]}") from None


def _rule_value(kind: str, value: str) -> Any:
    if kind.startswith("bool"):
        return {"true": True, "1": True, "false": False, "0": False}[value.lower()] if value else True
    if kind.startswith("int"):
        return int(value)
    return float(value) if kind.startswith("float") else value
