"""Numbers of runs as published: SOB's summary and leaderboard, ExtractBench's report and rates."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from operator import add
from typing import Final, Literal, TypeAlias

from pytest_extract.core.aggregate.bootstrap import SAMPLES, Estimate, intervals
from pytest_extract.core.complexity import referenced
from pytest_extract.core.measures.fields import harmonic_mean
from pytest_extract.core.measures.sob import PUBLISHED_NAMES
from pytest_extract.core.results import FailureKind, ScoreRecord, Status
from pytest_extract.core.values import MISSING, FieldPath, Json, Missing, Step
from pytest_extract.lazy import lazy_pattern

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
_COLUMNS: Final[Mapping[str, str]] = {
    "value_accuracy": "leaf_value_em",
    "faithfulness": "value_token_f1",
    "json_pass_rate": "schema_compliance",
    "path_recall": "hier_path_recall",
    "structure_coverage": "path_set_f1",
    "type_safety": "type_precision",
    "perfect_response": "strict_json_em",
}


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
    for name, (first, *others) in CATEGORIES.items():
        sums = columns[first]
        for part in others:
            sums = [*map(add, sums, columns[part])]
        columns[name] = [total / (1 + len(others)) for total in sums]
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
    for name, metric in _COLUMNS.items():
        counted = {m: found for m, found in there.items() if metric != "strict_json_em" or m in _PERFECT_FROM}
        total = sum(weights[modality] for modality in counted)
        if total:
            columns[name] = sum(weights[modality] * found[metric] for modality, found in counted.items()) / total
    if not columns or not any(records.values()):
        raise ValueError(f"the weights and numbers of records of {', '.join(there)} are all 0")
    raw = sum(columns.values()) / len(columns)
    coverage = sum(records[modality] for modality in there) / sum(records.values())
    return LeaderboardRow(model=model, overall=raw * coverage, raw=raw, columns=columns, modalities=tuple(there))


def leaderboard(models: Mapping[str, Mapping[str, Mapping[str, float] | None]]) -> list[LeaderboardRow]:
    """Rank models (name -> modality -> metric -> weighted mean): by overall to four places, then value accuracy."""
    rows = [sob_leaderboard_row(model, means) for model, means in models.items()]
    return sorted(rows, key=lambda row: (-round(row.overall, 4), -row.columns["value_accuracy"]))


Path: TypeAlias = tuple[Step, ...]
Row: TypeAlias = Mapping[str, Json]
"""A field result as in a results file: `path, metric, status, score, passed, reason, gold, extracted`."""
Absent: TypeAlias = Literal["both", "gold", "extracted"] | None

_JUDGED: Final = frozenset({"string_semantic", "string_llm", "array_llm"})
_TYPES: Final = ("string_", "number_", "integer_", "boolean_", "array_")
_BUCKETS: Final = ("0.0-0.2", "0.2-0.4", "0.4-0.6", "0.6-0.8", "0.8-1.0")
_AGREED: Final = lazy_pattern(r"both are (missing|null|empty|absent: .*)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Confusion:
    """Counts of field results: agreed on a value, invented, wrong or missed, agreed on absence."""

    tp: int = 0
    fp: int = 0
    fn: int = 0
    tn: int = 0

    @property
    def precision(self) -> float:
        """TP / (TP + FP); 1.0 on an empty denominator."""
        return self.tp / (self.tp + self.fp) if self.tp + self.fp else 1.0

    @property
    def recall(self) -> float:
        """TP / (TP + FN); 1.0 on an empty denominator."""
        return self.tp / (self.tp + self.fn) if self.tp + self.fn else 1.0

    @property
    def f1(self) -> float:
        """Harmonic mean of precision and recall; 0.0 when both are 0."""
        return harmonic_mean(self.precision, self.recall)


@dataclass(frozen=True, slots=True, kw_only=True)
class Passed:
    """How many field results passed and failed."""

    passed: int = 0
    failed: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedScores:
    """Scores of the metrics that a judge decides, agreement on absence included."""

    count: int
    mean: float
    median: float
    buckets: Mapping[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class ContentCoverage:
    """Leaf paths of gold and output: in both, in gold only, in the output only, and required ones of the missing."""

    both: int
    missing: int
    spurious: int
    required_missing: int


def content_coverage(schema: Json, gold: Json, extracted: Json | Missing) -> ContentCoverage:
    """Compare the leaf paths of two values as ExtractBench does (`content_stats.py`), whatever the metrics.

    Scalars and nulls are leaves, and so is an empty container that is the value of a key. A path is required if its
    last key is, along objects and references of the schema; not inside arrays and `anyOf`.
    """
    wanted = set(_leaf_paths(gold, ()))
    found = set() if extracted is MISSING else set(_leaf_paths(extracted, ()))
    missing = wanted - found
    return ContentCoverage(
        both=len(wanted & found),
        missing=len(missing),
        spurious=len(found - wanted),
        required_missing=len(missing.intersection(_required_paths(schema, schema, (), frozenset()))),
    )


def _leaf_paths(value: Json, path: Path) -> Iterator[Path]:
    stack: list[tuple[Path, Json]] = [(path, value)]
    while stack:
        place, node = stack.pop()
        if isinstance(node, dict) and node:
            stack.extend(((*place, key), child) for key, child in node.items())
        elif isinstance(node, list) and node:
            stack.extend(((*place, index), child) for index, child in enumerate(node))
        elif not isinstance(node, dict | list) or isinstance(place[-1] if place else 0, str):
            yield place


def _required_paths(schema: Json, root: Json, path: Path, seen: frozenset[str]) -> Iterator[Path]:
    if not isinstance(schema, dict):
        return
    reference = schema.get("$ref")
    if isinstance(reference, str):
        if reference not in seen:
            yield from _required_paths(referenced(root, reference), root, path, seen | {reference})
        return
    required, properties = schema.get("required"), schema.get("properties")
    yield from ((*path, name) for name in required if isinstance(name, str)) if isinstance(required, list) else ()
    for name, child in properties.items() if isinstance(properties, dict) else ():
        yield from _required_paths(child, root, (*path, name), seen)


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentReport:
    """ExtractBench's report of one document; rates are 0.0 when nothing was evaluated.

    `coverage`: of the leaf paths, None where the values were not given.
    """

    evaluated: int
    passed: int
    score: float
    confusion: Confusion
    by_metric: Mapping[str, Passed]
    by_type: Mapping[str, Passed]
    fail_reasons: Mapping[str, int]
    fail_prefixes: Mapping[str, int]
    judged: JudgedScores | None
    coverage: ContentCoverage | None = None

    @property
    def failed(self) -> int:
        """Evaluated results that did not pass."""
        return self.evaluated - self.passed

    @property
    def pass_rate(self) -> float:
        """Share of evaluated results that passed."""
        return self.passed / self.evaluated if self.evaluated else 0.0


def extract_bench_report(
    rows: Iterable[Row], coverage: ContentCoverage | None = None, added: Collection[str] = ()
) -> DocumentReport:
    """Report on the field results of one document; skipped ones are left out.

    `coverage`: that of the document's values (`content_coverage`). `added`: patterns of fields to leave out, which the
    published program does not rate (`Score.added`).
    """
    kept = [row for row in rows if row.get("pattern") not in added and row["status"] != "skipped"]
    failed = [row for row in kept if not row["passed"]]
    cells = Counter(_cell(row) for row in kept)
    metrics = [str(row["metric"]) for row in kept]
    types = [next((prefix[:-1] for prefix in _TYPES if metric.startswith(prefix)), "unknown") for metric in metrics]
    first_keys = (str(next(iter(FieldPath.parse(str(row["path"]))), "$")) for row in failed)
    return DocumentReport(
        evaluated=len(kept),
        passed=len(kept) - len(failed),
        score=sum(row["score"] for row in kept) / len(kept) if kept else 0.0,
        confusion=Confusion(**cells),
        by_metric=_split(zip(metrics, kept, strict=True)),
        by_type=_split(zip(types, kept, strict=True)),
        fail_reasons=dict(Counter(_fail_reason(row) for row in failed)),
        fail_prefixes=dict(Counter(first_keys)),
        judged=_judged([row["score"] for row in kept if row["metric"] in _JUDGED]),
        coverage=coverage,
    )


def absent_side(row: Row) -> Absent:
    """Which side of a result has no value."""
    if row["status"] == "hallucination":
        return "gold"
    if row["status"] == "omission":
        return "extracted"
    return "both" if _AGREED.fullmatch(str(row.get("reason"))) else None


def _cell(row: Row) -> str:
    side = absent_side(row)
    if row["passed"]:
        return "tn" if side == "both" else "tp"
    return "fp" if side == "gold" else "fn"


def _split(rows: Iterable[tuple[str, Row]]) -> dict[str, Passed]:
    counts: dict[str, list[int]] = {}
    for name, row in rows:
        counts.setdefault(name, [0, 0])[0 if row["passed"] else 1] += 1
    return {name: Passed(passed=passed, failed=failed) for name, (passed, failed) in counts.items()}


def _fail_reason(row: Row) -> str:
    side, metric = absent_side(row), str(row["metric"])
    if side in ("gold", "extracted") and row.get(str(side)) != []:
        return f"{side}_absent"
    if metric in _JUDGED:
        return "semantic_mismatch"
    return "numeric_mismatch" if "number" in metric or "integer" in metric else "value_mismatch"


def _judged(scores: Sequence[float]) -> JudgedScores | None:
    if not scores:
        return None
    buckets = Counter(_BUCKETS[min(4, int(score * 5))] for score in scores)
    return JudgedScores(
        count=len(scores), mean=sum(scores) / len(scores), median=statistics.median(scores), buckets=dict(buckets)
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Rates:
    """A run as ExtractBench's paper reports it: shares of outputs and of fields, pooled over all outputs.

    documents, valid: outputs, and those that parse and satisfy their schema. fields, passed: field results of all
    outputs and those that passed; every field of an invalid output counts as failed. valid_fields: of the valid ones
    only. failures: kinds of invalid output. A rate is None where there is nothing to divide by.
    """

    documents: int = 0
    valid: int = 0
    fields: int = 0
    passed: int = 0
    valid_fields: int = 0
    failures: Mapping[str, int] = field(default_factory=dict)

    def __add__(self, other: Rates) -> Rates:
        return Rates(
            documents=self.documents + other.documents,
            valid=self.valid + other.valid,
            fields=self.fields + other.fields,
            passed=self.passed + other.passed,
            valid_fields=self.valid_fields + other.valid_fields,
            failures=Counter(self.failures) + Counter(other.failures),
        )

    @property
    def valid_rate(self) -> float | None:
        """Share of outputs that are valid."""
        return _share(self.valid, self.documents)

    @property
    def pass_rate(self) -> float | None:
        """Share of the fields of all outputs that passed."""
        return _share(self.passed, self.fields)

    @property
    def accuracy_on_valid(self) -> float | None:
        """Share of the fields of valid outputs that passed."""
        return _share(self.passed, self.valid_fields)


def _share(part: int, whole: int) -> float | None:
    return part / whole if whole else None


def extract_bench_rates(scores: Iterable[ScoreRecord]) -> Rates:
    """Rate a run from its scores, by the fields that ExtractBench rates; `failures` counts kinds of broken output."""
    documents = valid = fields = passed = valid_fields = 0
    failures = Counter[str]()
    for score in scores:
        rated = [each for each in score.fields if each.status is not Status.SKIPPED and each.pattern not in score.added]
        documents += 1
        fields += len(rated)
        if score.failure is None and score.gates.structural:
            valid += 1
            valid_fields += len(rated)
            passed += sum(result.passed for result in rated)
        else:
            failures[FailureKind.SCHEMA_VIOLATION if score.failure is None else score.failure.kind] += 1
    return Rates(
        documents=documents,
        valid=valid,
        fields=fields,
        passed=passed,
        valid_fields=valid_fields,
        failures={str(kind): count for kind, count in failures.items()},
    )
