"""SOB's numbers of a run: the summary of a model's rows, and the leaderboard of models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from pytest_extract.core.aggregate.bootstrap import SAMPLES, Estimate, intervals
from pytest_extract.core.measures.sob import PUBLISHED_NAMES
from pytest_extract.core.values import Json

SOB_METRICS: Final[Mapping[str, str]] = {
    "json_parse_success": "JSON Parse Success",
    "json_root_structured": "Structured JSON Root",
    "schema_valid_input": "Schema Valid Input",
    "schema_compliance": "JSON Pass Rate",
    "leaf_value_em": "Truth Score",
    "value_token_f1": "Faithfulness Score",
    "hier_path_recall": "Path Recall",
    "path_set_f1": "Structure Coverage",
    "type_precision": "Type Safety",
    "strict_json_em": "Perfect Response Rate",
}
"""Column of a row -> published name; the random stream runs through them in this order."""

CATEGORIES: Final[Mapping[str, tuple[str, ...]]] = {
    "Long Context Extraction": ("leaf_value_em", "value_token_f1", "hier_path_recall"),
    "Complex Schema Handling": ("schema_compliance", "path_set_f1", "type_precision"),
    "Multi-Context Linking": ("leaf_value_em", "value_token_f1"),
    "Output Contract Reliability": ("json_parse_success", "schema_compliance", "type_precision"),
    "Strict Precision": ("strict_json_em",),
}

MODALITY_WEIGHTS: Final[Mapping[str, int]] = {"text": 13054, "image": 602, "audio": 343}
"""Sums of the difficulty weights of the published records."""
MODALITY_RECORDS: Final[Mapping[str, int]] = {"text": 5000, "image": 209, "audio": 115}
_PERFECT_FROM: Final = ("text", "image")


class SobColumn(NamedTuple):
    """A column of the leaderboard: its name there, our measure that it is the mean of, and a short head."""

    name: str
    measure: str
    head: str

    @property
    def metric(self) -> str:
        """The name of the measure in a row."""
        return PUBLISHED_NAMES[self.measure]


SOB_COLUMNS: Final = (
    SobColumn("value_accuracy", "value_accuracy", "value"),
    SobColumn("faithfulness", "faithfulness", "faith."),
    SobColumn("json_pass_rate", "json_pass", "json"),
    SobColumn("path_recall", "path_recall", "path"),
    SobColumn("structure_coverage", "structure_coverage", "struct."),
    SobColumn("type_safety", "type_safety", "types"),
    SobColumn("perfect_response", "perfect", "perfect"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class SobSummary:
    """Means of the ten metrics and the five categories over n rows, plain or weighted by difficulty."""

    n: int
    metrics: Mapping[str, Estimate]
    categories: Mapping[str, Estimate]

    def to_dict(self) -> dict[str, Json]:
        """Return the published form."""
        return {
            "n": self.n,
            "metrics": {
                name: {**_estimate(self.metrics[name]), "metric_name": SOB_METRICS[name]} for name in self.metrics
            },
            "category_scores": {
                name: {**_estimate(found), "category_name": name, "components": list(CATEGORIES[name])}
                for name, found in self.categories.items()
            },
        }


def _estimate(found: Estimate) -> dict[str, Json]:
    return {"mean": found.mean, "ci95_low": found.low, "ci95_high": found.high}


def published_columns(rows: Sequence[Mapping[str, float]]) -> list[dict[str, float]]:
    """Turn rows of our measures into rows of SOB's columns; a record's schema counts as valid."""
    names = {column: name for name, column in PUBLISHED_NAMES.items()} | {"json_root_structured": "json_parse"}
    return [{column: row[names[column]] if column in names else 1.0 for column in SOB_METRICS} for row in rows]


def sob_summary(
    rows: Sequence[Mapping[str, float]], weights: Sequence[float] | None = None, *, samples: int = SAMPLES
) -> SobSummary:
    """Summarize rows with SOB's columns; `weights` (easy 1, medium 2, hard 3, unknown 0) asks for the weighted block.

    A category is the mean over rows of the row's mean over its components.
    """
    columns = {name: [float(row[name]) for row in rows] for name in SOB_METRICS}
    for name, parts in CATEGORIES.items():
        columns[name] = [sum(values) / len(parts) for values in zip(*map(columns.get, parts), strict=True)]
    found = intervals(columns, weights, samples=samples)
    return SobSummary(
        n=len(rows),
        metrics={name: found[name] for name in SOB_METRICS},
        categories={name: found[name] for name in CATEGORIES},
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaderboardRow:
    """One model: the seven columns, their mean (`raw`), and `overall`: `raw` times the share of records seen."""

    model: str
    overall: float
    raw: float
    columns: Mapping[str, float]
    modalities: tuple[str, ...]

    def to_dict(self) -> dict[str, Json]:
        """Return the published form."""
        return {"model": self.model, "overall": self.overall, **self.columns, "modalities": list(self.modalities)}


def sob_leaderboard_row(
    model: str,
    means: Mapping[str, Mapping[str, float] | None],
    *,
    weights: Mapping[str, float] = MODALITY_WEIGHTS,
    records: Mapping[str, int] = MODALITY_RECORDS,
) -> LeaderboardRow:
    """Join one model's weighted means, modality -> metric -> mean, over its modalities.

    A column is the mean over the modalities at hand by their weights; perfect responses count text and images only.
    Raises ValueError when there is no known modality, or none that weighs anything.
    """
    there = {modality: found for modality in weights if (found := means.get(modality)) is not None}
    if not there:
        raise ValueError(f"no modality of {', '.join(weights)} for {model}")
    columns = {}
    for column in SOB_COLUMNS:
        counted = [each for each in there if column.measure != "perfect" or each in _PERFECT_FROM]
        total = sum(weights[modality] for modality in counted)
        if total:
            weighed = sum(weights[modality] * there[modality][column.metric] for modality in counted)
            columns[column.name] = weighed / total
    if not columns or not any(records.values()):
        raise ValueError(f"the weights and numbers of records of {', '.join(there)} are all 0")
    raw = sum(columns.values()) / len(columns)
    coverage = sum(records[modality] for modality in there) / sum(records.values())
    return LeaderboardRow(model=model, overall=raw * coverage, raw=raw, columns=columns, modalities=tuple(there))


def leaderboard(models: Mapping[str, Mapping[str, Mapping[str, float] | None]]) -> list[LeaderboardRow]:
    """Rank models (name -> modality -> metric -> weighted mean): by overall to four places, then value accuracy."""
    rows = [sob_leaderboard_row(model, means) for model, means in models.items()]
    return sorted(rows, key=lambda row: (-round(row.overall, 4), -row.columns["value_accuracy"]))
