"""A run's aggregates as plain JSON: for `pytest-extract runs report --json` and `runs leaderboard --json`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pytest_extract.core.aggregate.fields import FieldCounts
from pytest_extract.core.aggregate.leaderboard import Standing
from pytest_extract.core.aggregate.run import RunAggregate, estimate_dict
from pytest_extract.core.case_result import CaseResult, Outcome
from pytest_extract.core.values import Json
from pytest_extract.report.totals import Spending

COUNTS = ("match", "mismatch", "omission", "hallucination", "undecided")


def aggregate_record(run: RunAggregate, standing: Standing) -> dict[str, Json]:
    """Return everything that is reported of one arm."""
    rates = run.rates
    return {
        "arm": standing.arm,
        "cases": run.cases,
        "scored": run.scored,
        "broken": run.broken,
        "not_run": run.not_run,
        "measures": {name: estimate_dict(means) for name, means in run.measures.items()},
        "fields": {pattern: field_record(counts) for pattern, counts in run.fields.items()},
        "extract_bench": {
            "documents": rates.documents,
            "valid": rates.valid,
            "fields": rates.fields,
            "passed": rates.passed,
            "valid_fields": rates.valid_fields,
            "valid_rate": rates.valid_rate,
            "pass_rate": rates.pass_rate,
            "accuracy_on_valid": rates.accuracy_on_valid,
            "failures": dict(rates.failures),
        },
        "sob": {
            "overall": standing.overall,
            "raw": None if standing.row is None else standing.row.raw,
            "coverage": standing.coverage,
            "plain": None if run.sob is None else run.sob.to_dict(),
            "weighted": None if run.sob_weighted is None else run.sob_weighted.to_dict(),
        },
        "deepjsoneval": {level: dict(means) for level, means in run.by_depth.items()},
        "complexity": [shape_record(result) for result in standing.results],
    }


def field_record(counts: FieldCounts) -> dict[str, Json]:
    """Return one row of the table by field pattern."""
    return {
        **{name: getattr(counts, name) for name in COUNTS},
        "total": counts.total,
        "records": len(counts.records),
        "mean_score": counts.mean_score,
        "precision": counts.precision,
        "recall": counts.recall,
        "f1": counts.f1,
    }


def shape_record(result: CaseResult) -> dict[str, Json]:
    """Return how complex one case is, and what became of it."""
    return {
        "case": result.nodeid,
        "outcome": str(result.outcome),
        "complexity": result.complexity,
        "modality": result.modality,
        **result.shape,
    }


def standing_record(standing: Standing, run: RunAggregate) -> dict[str, Json]:
    """Return one row of the leaderboard: SOB's columns, and how the arm's cases did."""
    spending = Spending.of(standing.results)
    columns: Mapping[str, float] = {} if standing.row is None else standing.row.columns
    modalities: Sequence[str] = () if standing.row is None else standing.row.modalities
    return {
        "arm": standing.arm,
        "overall": standing.overall,
        "raw": None if standing.row is None else standing.row.raw,
        "coverage": standing.coverage,
        **columns,
        "modalities": list(modalities),
        "cases": len(standing.results),
        "passed": sum(result.outcome is Outcome.PASSED for result in standing.results),
        "scored": run.scored,
        "broken": run.broken,
        "not_run": run.not_run,
        "pass_rate": estimate_dict(run.measures["pass_rate"])["plain"] if "pass_rate" in run.measures else None,
        "f1": estimate_dict(run.measures["f1"])["plain"] if "f1" in run.measures else None,
        "cost_usd": None if spending.calls and spending.unpriced == spending.calls else spending.cost_usd,
        "tokens": spending.prompt_tokens + spending.completion_tokens,
    }
