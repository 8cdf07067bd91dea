"""A decision of the regression gate as plain JSON, for `compare --json` and other programs."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict
from typing import Final

from pytest_extract.core.values import MISSING, Json
from pytest_extract.regression.changes import ArmComparison, CaseComparison, FieldChange
from pytest_extract.regression.confirmation import Confirmation
from pytest_extract.regression.effects import Effect, tag_effects
from pytest_extract.regression.gate import GateDecision
from pytest_extract.regression.multiple_testing import Subject, TestResult
from pytest_extract.regression.snapshots import json_or_placeholder

FORMAT: Final = 2


def decision_record(decision: GateDecision) -> dict[str, Json]:
    """Return a decision with its comparison; shares are in [0, 1], and a missing value has no key."""
    return {
        "format": FORMAT,
        "verdict": str(decision.answer),
        "reasons": list(decision.reasons),
        "warnings": list(decision.warnings),
        "advice": list(decision.advice),
        "notes": list(decision.notes),
        "confirmation": None if decision.confirmation is None else _confirmation_record(decision.confirmation),
        "pairs": decision.comparison.pairs,
        "rules": asdict(decision.rules),
        "arms": [_arm_record(arm, decision) for arm in decision.comparison.arms],
    }


def _confirmation_record(confirmation: Confirmation) -> dict[str, Json]:
    return {
        "confirmed": bool(confirmation.fallen),
        "spent": asdict(confirmation.spent),
        "arms": [
            {
                "arm": plan.label,
                "cases": list(plan.cases),
                "runs": plan.runs,
                "baseline_runs": dict(plan.held),
                "effect": next((_effect_record(each) for each in confirmation.effects if each.arm == plan.label), None),
                "tests": [
                    {"subject": str(test.subject), "name": test.name, "drop": test.drop} | (_test_record(test) or {})
                    for test in confirmation.tests
                    if test.arm == plan.label
                ],
            }
            for plan in confirmation.plans
        ],
    }


def _arm_record(arm: ArmComparison, decision: GateDecision) -> dict[str, Json]:
    effect = next((effect for effect in decision.effects if effect.arm == arm.label), None)
    own = [test for test in decision.tests if test.arm == arm.label]
    tests = {test.pattern: test for test in own if test.subject is Subject.PATTERN}
    heads = {test.subject: test for test in own}
    broken = next((found for found in decision.broken if found.arm == arm.label), None)
    counts = Counter(row.kind for row in arm.cases)
    return {
        "arm": arm.label,
        "before": arm.before,
        "after": arm.after,
        "effect": None if effect is None else _effect_record(effect),
        "overall": _test_record(heads.get(Subject.OVERALL)),
        "complete_answers": _test_record(heads.get(Subject.COMPLETE)),
        "tags": [
            {"tag": test.name, "drop": test.drop, "test": _test_record(test)}
            for test in own
            if test.subject is Subject.TAG
        ],
        "slices": [asdict(effect) for effect in tag_effects(arm, decision.rules)],
        "broken_runs": None if broken is None else {**asdict(broken), "kinds": dict(broken.kinds)},
        "calls": [asdict(change) for change in decision.calls if change.arm == arm.label],
        "counts": {str(kind): counts[kind] for kind in sorted(counts)},
        "cases": [_case_record(row) for row in arm.cases],
        "patterns": [
            {
                "pattern": row.pattern,
                "kind": str(row.kind),
                "cases": row.cases,
                "fields": row.fields,
                "before": row.before,
                "after": row.after,
                "fixed": row.fixed,
                "regressed": row.regressed,
                "test": _test_record(tests.get(row.pattern)),
            }
            for row in arm.patterns
        ],
        "fields": [_field_record(change) for change in arm.fields],
        "known": list(arm.known),
        **({"rules": [asdict(change) for change in arm.rules]} if arm.rules else {}),
    }


def _effect_record(effect: Effect) -> dict[str, Json]:
    return {
        "measure": effect.measure,
        "cases": effect.cases,
        "before": effect.before,
        "after": effect.after,
        "runs": [list(side) for side in effect.runs],
        "fell": list(effect.fell),
        "rose": effect.rose,
        "failed_whole": list(effect.failed_whole),
        "bounds": None if effect.bounds is None else asdict(effect.bounds),
    }


def _test_record(test: TestResult | None) -> dict[str, Json] | None:
    if test is None:
        return None
    names = (
        "p",
        "adjusted",
        "luck",
        "significant",
        "doubtful",
        "counted",
        "decidable",
        "needed",
        "mcnemar",
        "changed",
        "regressed",
        "fixed",
    )
    return {name: getattr(test, name) for name in names}


def _case_record(row: CaseComparison) -> dict[str, Json]:
    record: dict[str, Json] = {"case": row.case, "kind": str(row.kind)}
    if row.fields:
        record |= {
            "fields": row.fields,
            "fixed": row.fixed,
            "regressed": row.regressed,
            "before": float(row.before),
            "after": float(row.after),
            "runs": list(row.runs),
            "measures": {name: [list(side) for side in sides] for name, sides in row.measure_runs.items()},
            "same_setup": row.same_setup,
        }
    if row.why:
        record["why"] = row.why
    return record


def _field_record(change: FieldChange) -> dict[str, Json]:
    record: dict[str, Json] = {
        "case": change.case,
        "path": change.path,
        "pattern": change.pattern,
        "kind": str(change.kind),
        "before": float(change.before),
        "after": float(change.after),
    }
    if change.mistake is not None:
        record["mistake"] = {"kind": change.mistake.kind, "text": change.mistake.text}
    values = {"value_before": change.value_before, "value_after": change.value_after, "gold": change.gold}
    return record | {name: json_or_placeholder(value) for name, value in values.items() if value is not MISSING}
