"""What a run's results add up to: means with intervals, field tables, and the published systems' own numbers.

Cases in error or not run have no measures: they are counted and take no part in any mean.
"""

from __future__ import annotations

import math
import random
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from itertools import islice
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, TypeAlias

from pytest_extract.core.case_result import CaseResult, Outcome
from pytest_extract.core.complexity import WEIGHTS, depth_class
from pytest_extract.core.gates import MODALITIES
from pytest_extract.core.measures import (
    MEASURES,
    PUBLISHED_NAMES,
    FieldCounts,
    count_leaves,
    harmonic_mean,
    measures_of_system,
)
from pytest_extract.core.results import FailureKind, FieldResult, ScoreRecord, Status
from pytest_extract.core.schema.source import SchemaSource
from pytest_extract.core.values import CONTAINERS, MISSING, FieldPath, Json, Missing, Step, iter_leaves

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    _Floats: TypeAlias = npt.NDArray[np.float64]

SAMPLES: Final = 1000
_MOST_OWN_DRAWS: Final = 6_000  # rows; SOB publishes 5,000 records at most


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """A mean over rows with its 95 % interval."""

    mean: float
    low: float
    high: float


def intervals(
    columns: Mapping[str, Sequence[float]],
    weights: Sequence[float] | None = None,
    *,
    samples: int = SAMPLES,
    own_draws: bool = True,
) -> dict[str, Estimate]:
    """Estimate the (weighted) mean of every column by a percentile bootstrap.

    With `own_draws`, one random stream runs through the columns in the order given: SOB's numbers but for
    rounding (`evaluate.py: summarize_rows`). Without, all columns share the draws of the first: each interval is
    distributed alike, and the time is that of one column.
    Columns are of equal length n, in any unit; `weights`, of length n, makes the mean sum(w·m) / sum(w), 0 where the
    weights sum to 0. Raises ValueError where lengths differ.
    """
    size = len(next(iter(columns.values()), ()))
    if any(len(column) != size for column in (*columns.values(), *([] if weights is None else [weights]))):
        raise ValueError("all columns and the weights must be of one length")
    if size == 0:
        return {name: Estimate(mean=0.0, low=0.0, high=0.0) for name in columns}
    import numpy as np

    shares = np.ones(size) if weights is None else np.asarray(weights, dtype=float)
    products = shares * np.array([*columns.values()], dtype=float)
    draws = _draws(42 if weights is None else 43, size)
    parts: list[_Floats] = [*products[:, None]] if own_draws else [products]
    means = np.empty((samples, len(products)))
    for place, part in enumerate(parts):
        for resample, rows in enumerate(islice(draws, samples)):
            times = np.bincount(rows, minlength=size)  # a row that is drawn twice counts twice
            total = shares @ times
            means[resample, place : place + len(part)] = part @ times / total if total else 0.0
    low, high = math.floor(0.025 * (samples - 1)), math.ceil(0.975 * (samples - 1))
    means.sort(axis=0)
    return {
        name: Estimate(mean=mean(column, weights), low=float(means[low, place]), high=float(means[high, place]))
        for place, (name, column) in enumerate(columns.items())
    }


def mean(column: Sequence[float], weights: Sequence[float] | None = None) -> float:
    """(Weighted) mean; 0 for no rows or no weight."""
    shares = [1.0] * len(column) if weights is None else weights
    whole = sum(shares)
    return sum(share * value for share, value in zip(shares, column, strict=True)) / whole if whole else 0.0


def _draws(seed: int, size: int) -> Iterator[npt.NDArray[np.int64]]:
    """Yield resamples without end: `size` row numbers each, as `random.Random(seed).randrange(size)` draws them.

    They are the top bits of successive 32-bit Mersenne-Twister outputs, those >= `size` rejected; numpy draws the same
    stream from the same state.
    """
    import numpy as np

    *key, position = random.Random(seed).getstate()[1]  # noqa: S311 - statistics, not secrets
    generator = np.random.MT19937()
    state: Any = generator.state
    state["state"] = {"key": np.array(key, dtype=np.uint32), "pos": position}
    generator.state = state
    bits = np.uint64(32 - size.bit_length())
    left = np.empty(0, dtype=np.int64)
    while True:
        while len(left) < size:
            drawn = (generator.random_raw(max(10_000, 2 * size)) >> bits).view(np.int64)
            left = np.concatenate([left, drawn.compress(drawn < size)])  # a fourth of the time of drawn[...]
        yield left[:size]
        left = left[size:]


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


class SobColumn(NamedTuple):
    """A column of the leaderboard: its name there, our measure that it is the mean of, and a short head."""

    name: str
    measure: str
    head: str


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
    found = intervals(columns, weights, samples=samples, own_draws=len(rows) <= _MOST_OWN_DRAWS)
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
        counted = [each for each in there if column.measure != "perfect" or each != "audio"]
        total = sum(weights[modality] for modality in counted)
        if total:
            name = PUBLISHED_NAMES[column.measure]
            columns[column.name] = sum(weights[modality] * there[modality][name] for modality in counted) / total
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

_JUDGED: Final = frozenset({"string_semantic", "string_llm", "array_llm"})
_TYPES: Final = ("string_", "number_", "integer_", "boolean_", "array_")
_BUCKETS: Final = ("0.0-0.2", "0.2-0.4", "0.4-0.6", "0.6-0.8", "0.8-1.0")
_AGREED: Final = re.compile(r"both are (missing|null|empty|absent: .*)")


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
    wanted, found = _leaf_paths(gold), _leaf_paths(extracted)
    missing = wanted - found
    return ContentCoverage(
        both=len(wanted & found),
        missing=len(missing),
        spurious=len(found - wanted),
        required_missing=len(missing.intersection(_required_paths(schema, SchemaSource(schema), (), frozenset()))),
    )


def _leaf_paths(value: Json | Missing) -> set[Path]:
    return {
        path
        for path, node in (() if value is MISSING else iter_leaves(value, containers=True))
        if not isinstance(node, CONTAINERS) or (not node and path and isinstance(path[-1], str))
    }


def _required_paths(schema: Json, source: SchemaSource, path: Path, seen: frozenset[str]) -> Iterator[Path]:
    if not isinstance(schema, dict):
        return
    for _, target in source.references(schema):
        if target is not None and target not in seen:
            yield from _required_paths(source.at(target), source, path, seen | {target})
        return
    required, properties = schema.get("required"), schema.get("properties")
    yield from ((*path, name) for name in required if isinstance(name, str)) if isinstance(required, list) else ()
    for name, child in properties.items() if isinstance(properties, dict) else ():
        yield from _required_paths(child, source, (*path, name), seen)


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


def _absent_side(row: Row) -> Literal["both", "gold", "extracted"] | None:
    """Which side of a result has no value."""
    if row["status"] == "hallucination":
        return "gold"
    if row["status"] == "omission":
        return "extracted"
    return "both" if _AGREED.fullmatch(str(row.get("reason"))) else None


def _cell(row: Row) -> str:
    side = _absent_side(row)
    if row["passed"]:
        return "tn" if side == "both" else "tp"
    return "fp" if side == "gold" else "fn"


def _split(rows: Iterable[tuple[str, Row]]) -> dict[str, Passed]:
    counts = Counter((name, bool(row["passed"])) for name, row in rows)
    return {name: Passed(passed=counts[name, True], failed=counts[name, False]) for name, _ in counts}


def _fail_reason(row: Row) -> str:
    side, metric = _absent_side(row), str(row["metric"])
    if side in ("gold", "extracted") and row.get(str(side)) != []:
        return f"{side}_absent"
    if metric in _JUDGED:
        return "semantic_mismatch"
    return "numeric_mismatch" if "number" in metric or "integer" in metric else "value_mismatch"


def _judged(scores: Sequence[float]) -> JudgedScores | None:
    if not scores:
        return None
    from statistics import median  # few runs show the report of a document

    buckets = Counter(_BUCKETS[min(4, int(score * 5))] for score in scores)
    return JudgedScores(count=len(scores), mean=sum(scores) / len(scores), median=median(scores), buckets=dict(buckets))


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
    failures: Counter[str] = field(default_factory=Counter)

    @classmethod
    def of(cls, score: ScoreRecord) -> Rates:
        """Rate one output by the fields that ExtractBench rates."""
        rated = [each for each in score.fields if each.status is not Status.SKIPPED and each.pattern not in score.added]
        if score.failure is None and score.gates.structural:
            passed = sum(result.passed for result in rated)
            return cls(documents=1, valid=1, fields=len(rated), passed=passed, valid_fields=len(rated))
        kind = FailureKind.SCHEMA_VIOLATION if score.failure is None else score.failure.kind
        return cls(documents=1, fields=len(rated), failures=Counter({str(kind): 1}))

    def __add__(self, other: Rates) -> Rates:
        return Rates(**{each.name: getattr(self, each.name) + getattr(other, each.name) for each in fields(self)})

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
    """Rate a run from its scores; `failures` counts kinds of unusable output."""
    return sum(map(Rates.of, scores), Rates())


@dataclass(frozen=True, slots=True, kw_only=True)
class StructRun:
    """struct-extract-eval's numbers of a run: means over records, totals, and counts by instance path."""

    mean_precision: float
    mean_recall: float
    mean_f1: float
    total_records: int
    total_fields: int
    total_omissions: int
    total_hallucinations: int
    total_batch_errors: int
    per_field: Mapping[str, FieldCounts]


def struct_eval_run(records: Sequence[Sequence[FieldResult]]) -> StructRun:
    """Summarize records of leaf results; every mean is 1.0 without records."""
    each = [count_leaves(leaves) for leaves in records]
    per_field = field_table((("", leaves) for leaves in records), place=lambda leaf: str(leaf.path))
    precision, recall, f1 = (
        mean([getattr(counts, name) for counts in each]) if each else 1.0 for name in ("precision", "recall", "f1")
    )
    return StructRun(
        mean_precision=precision,
        mean_recall=recall,
        mean_f1=f1,
        total_records=len(each),
        total_fields=sum(counts.total for counts in each),
        total_omissions=sum(counts.omission for counts in each),
        total_hallucinations=sum(counts.hallucination for counts in each),
        total_batch_errors=sum(counts.undecided for counts in each),
        per_field={path: counts for path, counts in per_field.items() if counts.total},
    )


def field_table(
    records: Iterable[tuple[str, Iterable[FieldResult]]], place: Callable[[FieldResult], str] = attrgetter("pattern")
) -> dict[str, FieldCounts]:
    """Count leaf results by field over records (name, leaf results); in order of appearance."""
    table: dict[str, FieldCounts] = {}
    for record, leaves in records:
        for leaf in leaves:
            table.setdefault(place(leaf), FieldCounts()).add(leaf, record)
    return {field: counts for field, counts in table.items() if counts.records}


DEEPJSON: Final = measures_of_system("deepjsoneval")


class CaseMeasures(NamedTuple):
    """One scored case: the mean of each measure over its repeats, and what it weighs.

    weight: 1 easy, 2 medium, 3 hard, 0 where the complexity is unknown; depth: of nesting, None where unknown.
    """

    measures: Mapping[str, float]
    weight: float = 0.0
    depth: int | None = None


class MeasureMeans(NamedTuple):
    """One measure over a run; `weighted` is None where no case's complexity is known."""

    plain: Estimate
    weighted: Estimate | None


def case_rows(results: Iterable[CaseResult]) -> list[CaseMeasures]:
    """Turn results into rows, in their order; cases without a scored repeat are left out."""
    return [
        CaseMeasures(result.means, WEIGHTS.get(result.complexity or "", 0.0), result.shape.get("depth"))
        for result in results
        if result.scores
    ]


def measure_means(rows: Sequence[CaseMeasures], *, samples: int = SAMPLES) -> dict[str, MeasureMeans]:
    """Estimate the measures that all rows have; empty without rows."""
    own = sorted({name for row in rows for name in row.measures} - MEASURES.keys())  # a project's
    names = [name for name in (*MEASURES, *own) if rows and all(name in row.measures for row in rows)]
    columns = {name: [row.measures[name] for row in rows] for name in names}
    weights = [row.weight for row in rows]
    plain = intervals(columns, samples=samples, own_draws=False)
    weighted = intervals(columns, weights, samples=samples, own_draws=False) if any(weights) else {}
    return {name: MeasureMeans(plain=found, weighted=weighted.get(name)) for name, found in plain.items()}


def by_depth(rows: Sequence[CaseMeasures]) -> dict[str, dict[str, float]]:
    """DeepJSONEval's table: mean of its three criteria over cases of depth 3-4 (medium), 5 and more (hard), and all."""
    found = {}
    for level in ("medium", "hard", "all"):
        group = [row.measures for row in rows if level in ("all", depth_class(row.depth or 0))]
        if group:
            found[level] = {name: mean([measures.get(name, 0.0) for measures in group]) for name in DEEPJSON}
    return found


class RunAggregate(NamedTuple):
    """Everything that the systems report of a run, for one variant.

    cases: all; scored: those with measures; errors and not_run: those without, for these reasons.
    sob, sob_weighted: SOB's summary, None without scored cases; rates: ExtractBench's over all scored repeats.
    by_depth: DeepJSONEval's split; fields: leaf results by pattern, in order of appearance.
    """

    cases: int
    scored: int
    errors: int
    not_run: int
    measures: Mapping[str, MeasureMeans]
    sob: SobSummary | None
    sob_weighted: SobSummary | None
    rates: Rates
    by_depth: Mapping[str, Mapping[str, float]]
    fields: Mapping[str, FieldCounts]


def aggregate(results: Collection[CaseResult], *, samples: int = SAMPLES) -> RunAggregate:
    """Aggregate the results of one variant."""
    rows = case_rows(results)
    published, weights = published_columns([row.measures for row in rows]), [row.weight for row in rows]
    return RunAggregate(
        cases=len(results),
        scored=len(rows),
        errors=sum(result.outcome is Outcome.ERROR for result in results),
        not_run=sum(result.outcome is Outcome.NOT_RUN for result in results),
        measures=measure_means(rows, samples=samples),
        rates=extract_bench_rates(score for result in results for score in result.scores),
        sob=sob_summary(published, samples=samples) if rows else None,
        sob_weighted=sob_summary(published, weights, samples=samples) if any(weights) else None,
        by_depth=by_depth(rows),
        fields=field_table((result.nodeid, score.leaves) for result in results for score in result.scores),
    )


class Standing(NamedTuple):
    """One variant: its leaderboard row, None where not one case has a score.

    `overall` is the row's `raw` times `coverage`: the share of all cases of all variants that this one has a score for.
    `pass_rate`: the mean over its scored cases.
    """

    variant: str
    row: LeaderboardRow | None
    coverage: float
    results: tuple[CaseResult, ...]
    pass_rate: float = 0.0

    @property
    def overall(self) -> float:
        """Coverage-adjusted score, 0.0 without a scored case."""
        return 0.0 if self.row is None else self.row.raw * self.coverage

    @property
    def value_accuracy(self) -> float:
        """SOB's column of this name, 0.0 without one."""
        return 0.0 if self.row is None else self.row.columns.get("value_accuracy", 0.0)


def standings(results: Iterable[CaseResult]) -> list[Standing]:
    """Rank variants by overall to four places, then value accuracy, as SOB does, then by pass rate.

    SOB's numbers are 0 for all variants where each output breaks the schema, as those that repeat a gold that does.

    A modality counts with the difficulty weights of its cases; where no case's complexity is known, with their number.
    """
    variants: dict[str, list[CaseResult]] = {}
    cases: dict[tuple[str, str], CaseResult] = {}
    for result in results:
        variants.setdefault(result.variant.label, []).append(result)
        case = (result.file, result.case_id)
        if case not in cases or cases[case].complexity is None:  # a case that crashed knows nothing of itself
            cases[case] = result
    weights = {}
    for kind in MODALITIES:
        known = [WEIGHTS.get(case.complexity or "", 0.0) for case in cases.values() if case.modality == kind]
        weights[kind] = sum(known) or float(len(known))
    found = []
    for variant, members in variants.items():
        by_kind = {kind: case_rows(one for one in members if one.modality == kind) for kind in MODALITIES}
        pass_rates = [row.measures["pass_rate"] for rows in by_kind.values() for row in rows]
        means = {kind: _sob_means(rows) if rows else None for kind, rows in by_kind.items()}
        records = {kind: len(rows) for kind, rows in by_kind.items()}
        standing = Standing(
            variant=variant,
            row=sob_leaderboard_row(variant, means, weights=weights, records=records) if pass_rates else None,
            coverage=len(pass_rates) / len(cases),
            results=tuple(members),
            pass_rate=mean(pass_rates),
        )
        found.append(standing)
    return sorted(found, key=lambda each: (-round(each.overall, 4), -each.value_accuracy, -each.pass_rate))


def _sob_means(rows: Sequence[CaseMeasures]) -> dict[str, float]:
    """Means of SOB's columns, weighted by complexity where any is known."""
    columns = published_columns([row.measures for row in rows])
    weights = [row.weight for row in rows] if any(row.weight for row in rows) else None
    return {name: mean([column[name] for column in columns], weights) for name in SOB_METRICS}
