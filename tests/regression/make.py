"""Results made by hand: a case whose fields are given as path -> passed, or path -> (gold, extracted)."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

from pytest_extract.core.case_result import Attempt, CaseResult, Outcome, Variant
from pytest_extract.core.results import FieldResult
from pytest_extract.regression.baseline import dump_baseline, load_baseline, updated_baseline
from pytest_extract.regression.snapshots import Snapshot, merge, snapshot
from pytest_extract.results import dump_result, load_result
from tests.records import field_result, pass_rate, score_record

FILE = "invoices/acme.extract.yaml"
DIGESTS = {"document": "d" * 64, "schema": "5" * 64, "gold": "6" * 64, "prompt": "a" * 64}
INVENTED = object()
"""Gold has nothing at this place, the output has."""


def leaf(path: str, what: Any, metric: str = "text") -> FieldResult:
    if what is INVENTED:
        return field_result(path, extracted="made up", metric=metric)
    gold, extracted = what if isinstance(what, tuple) else ("right", "right" if what else "wrong")
    return field_result(path, gold, extracted, metric=metric)


def attempt(
    fields: dict[str, Any], *, index: int = 0, failed_gate: str = "", metric: str = "text", **more: Any
) -> Attempt:
    leaves = [leaf(path, what, metric) for path, what in fields.items()]
    share = 0.0 if failed_gate else pass_rate(leaves)
    failed = {failed_gate: "it failed"} if failed_gate else {}
    score = score_record(*leaves, failed=failed, fields=tuple(leaves), measures={"pass_rate": share, "f1": share})
    outcome = Outcome.PASSED if share == 1 else Outcome.FAILED
    return Attempt(**({"index": index, "outcome": outcome, "score": score, "cost_usd": 0.01} | more))


def result(
    case_id: str, *runs: dict[str, Any] | Attempt, variant: Variant | None = None, file: str = FILE, **more: Any
) -> CaseResult:
    attempts = tuple(run if isinstance(run, Attempt) else attempt(run, index=index) for index, run in enumerate(runs))
    variant = variant or Variant()
    label = f"[{variant.label}]" if variant.label else ""
    values = {
        "nodeid": f"{file}::{case_id}{label}",
        "case_id": case_id,
        "file": file,
        "variant": variant,
        "outcome": Outcome.PASSED if all(one.outcome is Outcome.PASSED for one in attempts) else Outcome.FAILED,
        "attempts": attempts,
        "digests": DIGESTS | {"document": f"{case_id:x<64}"},
    }
    return CaseResult(**(values | more))


def broken(case_id: str, **more: Any) -> CaseResult:
    return result(case_id, **({"outcome": Outcome.ERROR, "why": "ConnectionError: no route\n  traceback"} | more))


def not_run(case_id: str, **more: Any) -> CaseResult:
    return result(case_id, **({"outcome": Outcome.NOT_RUN, "why": "the budget is spent"} | more))


def suite(count: int, fields: dict[str, Any], **more: Any) -> list[CaseResult]:
    return [result(f"c{number}", fields, **more) for number in range(count)]


def prompt_changed(results: list[CaseResult]) -> list[CaseResult]:
    return [replace(one, digests={**one.digests, "prompt": "b" * 64}) for one in results]


def stored(results: list[CaseResult]) -> Snapshot:
    """Return the snapshot of results as it comes back from a baseline file."""
    return load_baseline(dump_baseline(updated_baseline(None, snapshot(results)))).cases


def merged_results(*shards: tuple[str, list[CaseResult]]) -> SimpleNamespace:
    """Merge named shards whose results are in memory; the lines of what is kept are read again."""
    lines, conflicts = merge((name, ((dump_result(one).encode(), one) for one in results)) for name, results in shards)
    return SimpleNamespace(results=tuple(load_result(line.decode()) for line in lines), conflicts=tuple(conflicts))
