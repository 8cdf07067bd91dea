"""SOB's published tables from its own results: the leaderboard, and metrics and categories of each modality."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from pytest_extract.core.aggregate.bootstrap import SAMPLES, Estimate
from pytest_extract.core.aggregate.published import (
    CATEGORIES,
    MODALITY_RECORDS,
    MODALITY_WEIGHTS,
    SOB_METRICS,
    LeaderboardRow,
    SobSummary,
    leaderboard,
    sob_summary,
)
from pytest_extract.core.values import Json
from pytest_extract.importers.sob_results import SobRun
from pytest_extract.report.aggregates import SOB_COLUMNS
from pytest_extract.report.lines import Line, line, plural
from pytest_extract.report.table import Table


@dataclass(frozen=True, slots=True, kw_only=True)
class SobTables:
    """The leaderboard, and the summaries of each model and modality with rows: plain and weighted by complexity."""

    board: Sequence[LeaderboardRow]
    summaries: Mapping[tuple[str, str], tuple[SobSummary, SobSummary]]


def sob_tables(runs: Sequence[SobRun], *, samples: int | None = None) -> SobTables:
    """Compute the tables; a later run of the same model and modality replaces an earlier one.

    `samples`: resamples of the intervals; by default what each file says, else SOB's 1,000.
    """
    models: dict[str, dict[str, Mapping[str, float] | None]] = {}
    summaries: dict[tuple[str, str], tuple[SobSummary, SobSummary]] = {}
    for run in runs:
        means = run.means
        if means is None:
            count = samples or run.samples or SAMPLES
            plain, weighted = run.summaries or (
                sob_summary(run.rows, samples=count),
                sob_summary(run.rows, run.weights, samples=count),
            )
            summaries[run.modality, run.model] = plain, weighted
            means = {name: weighted.metrics[name].mean for name in SOB_METRICS}
        models.setdefault(run.model, {})[run.modality] = means
    return SobTables(board=leaderboard(models), summaries=summaries)


def sob_lines(tables: SobTables, *, width: int) -> list[Line]:
    """Write the tables as lines."""
    weights = ", ".join(f"{name} {weight:,}" for name, weight in MODALITY_WEIGHTS.items())
    title = (
        f"SOB leaderboard: complexity-weighted means over the modalities (weights {weights}); overall: their mean "
        f"times the share of the {sum(MODALITY_RECORDS.values()):,} records in the model's modalities"
    )
    rows = [
        (f"{place:>2} {row.model}", f"{row.overall:.4f}", *(_cell(row.columns.get(name)) for name in SOB_COLUMNS),
         "+".join(row.modalities))
        for place, row in enumerate(tables.board, start=1)
    ]  # fmt: skip
    heads = ("   model", "overall", *SOB_COLUMNS.values(), "modalities")
    lines = Table(heads, rows, title).lines(width)
    for modality in MODALITY_WEIGHTS:
        found = {model: each for (kind, model), each in tables.summaries.items() if kind == modality}
        if found:
            lines += [line(), *_modality_lines(modality, found, width)]
    return lines


def _cell(value: float | None) -> str:
    return "-" if value is None else f"{value:.4f}"


def _modality_lines(modality: str, found: Mapping[str, tuple[SobSummary, SobSummary]], width: int) -> list[Line]:
    lines: list[Line] = []
    ranked = sorted(found.items(), key=lambda each: -each[1][1].metrics["leaf_value_em"].mean)
    count = plural(max(plain.n for plain, _ in found.values()), "record")
    for index, name in enumerate(("plain", "weighted by complexity")):
        heads = ("model", *_SHORT.values())
        rows = [(model, *(_cell(both[index].metrics[key].mean) for key in _SHORT)) for model, both in ranked]
        lines += Table(heads, rows, f"{modality}: metrics, {name} ({count})").lines(width)
    for index, name in enumerate(("plain", "weighted by complexity")):
        rows = [
            (f"{model}: {category}", *_estimate(both[index].categories[category]))
            for model, both in ranked
            for category in CATEGORIES
        ]
        lines += Table(("category", "mean", "95 % interval"), rows, f"{modality}: categories, {name}").lines(width)
    return lines


_SHORT: Final[Mapping[str, str]] = {
    "leaf_value_em": "value", "value_token_f1": "faith.", "schema_compliance": "json", "hier_path_recall": "path",
    "path_set_f1": "struct.", "type_precision": "types", "strict_json_em": "perfect",
}  # fmt: skip


def _estimate(found: Estimate) -> tuple[str, str]:
    return f"{found.mean:.4f}", f"{found.low:.4f} - {found.high:.4f}"


def sob_record(tables: SobTables) -> dict[str, Json]:
    """Return the tables as JSON, in the published form."""
    return {
        "leaderboard": [row.to_dict() for row in tables.board],
        "summaries": [
            {"modality": modality, "model": model, "overall": plain.to_dict(), "overall_weighted": weighted.to_dict()}
            for (modality, model), (plain, weighted) in tables.summaries.items()
        ],
    }
