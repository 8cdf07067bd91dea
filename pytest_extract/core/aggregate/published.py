"""The published systems' numbers of a run: SOB's, ExtractBench's and struct-extract-eval's."""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, TypeAlias

from pytest_extract.core.measures import PUBLISHED_NAMES, FieldCounts, count_leaves, harmonic_mean
from pytest_extract.core.results import FailureKind, FieldResult, ScoreRecord, Status
from pytest_extract.core.schema.source import SchemaSource
from pytest_extract.core.values import MISSING, FieldPath, Json, Missing, Step
from pytest_extract.lazy import lazy_pattern

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    _Floats: TypeAlias = npt.NDArray[np.float64]


PLAIN_SEED: Final = 42
WEIGHTED_SEED: Final = 43
SAMPLES: Final = 1000
_MOST_OWN_DRAWS: Final = 6_000  # rows; SOB publishes 5,000 records at most
_FEWEST_DRAWN: Final = 10_000


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

    With `own_draws`, one random stream runs through the columns in the order given: to the last digit SOB's numbers
    (`evaluate.py: summarize_rows`). Without, all columns share the draws of the first: each interval is distributed
    alike, and the time is that of one column.
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
    draws = _draws(PLAIN_SEED if weights is None else WEIGHTED_SEED, size)
    if own_draws:
        means = np.array([_means_in_order(each, shares, islice(draws, samples)) for each in products]).T
    else:
        means = _means_together(products, shares, islice(draws, samples))
    low, high = math.floor(0.025 * (samples - 1)), math.ceil(0.975 * (samples - 1))
    means = np.sort(means, axis=0)
    return {
        name: Estimate(mean=mean(column, weights), low=float(means[low, place]), high=float(means[high, place]))
        for place, (name, column) in enumerate(columns.items())
    }


def mean(column: Sequence[float], weights: Sequence[float] | None = None) -> float:
    """(Weighted) mean, summed from left to right; 0 for no rows or no weight."""
    total = weight = 0.0
    for index, value in enumerate(column):
        share = 1.0 if weights is None else weights[index]
        total += share * value
        weight += share
    return total / weight if weight else 0.0


def _means_in_order(products: _Floats, shares: _Floats, draws: Iterable[npt.NDArray[np.int64]]) -> list[float]:
    """Return the mean of each resample of a column, summed in Python's order, from left to right."""
    import numpy as np

    found = []
    for rows in draws:
        total = np.cumsum(shares.take(rows))[-1]
        found.append(float(np.cumsum(products.take(rows))[-1] / total) if total else 0.0)
    return found


def _means_together(products: _Floats, shares: _Floats, draws: Iterable[npt.NDArray[np.int64]]) -> _Floats:
    """Return a row of means of all columns for each resample: a row that is drawn twice counts twice."""
    import numpy as np

    found = []
    for rows in draws:
        times = np.bincount(rows, minlength=len(shares))
        total = (shares * times).sum()
        found.append((products * times).sum(axis=1) / total if total else np.zeros(len(products)))
    return np.array(found)


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
            drawn = (generator.random_raw(max(_FEWEST_DRAWN, 2 * size)) >> bits).view(np.int64)
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
        required_missing=len(missing.intersection(_required_paths(schema, SchemaSource(schema), (), frozenset()))),
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
    """Rate a run from its scores; `failures` counts kinds of broken output."""
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
    per_field: dict[str, FieldCounts] = {}
    for leaf in chain.from_iterable(records):
        per_field.setdefault(str(leaf.path), FieldCounts()).add(leaf)
    return StructRun(
        mean_precision=_mean_or_one([counts.precision for counts in each]),
        mean_recall=_mean_or_one([counts.recall for counts in each]),
        mean_f1=_mean_or_one([counts.f1 for counts in each]),
        total_records=len(each),
        total_fields=sum(counts.total for counts in each),
        total_omissions=sum(counts.omission for counts in each),
        total_hallucinations=sum(counts.hallucination for counts in each),
        total_batch_errors=sum(counts.undecided for counts in each),
        per_field={path: counts for path, counts in per_field.items() if counts.total},
    )


def _mean_or_one(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else 1.0
