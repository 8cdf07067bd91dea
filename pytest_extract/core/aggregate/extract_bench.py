"""ExtractBench's numbers: the report of one document, and the rates of a run."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Final, Literal, TypeAlias

from pytest_extract.core.measures.fields import harmonic_mean
from pytest_extract.core.results import FailureKind, ScoreRecord, Status
from pytest_extract.core.schema.source import SchemaSource
from pytest_extract.core.values import MISSING, FieldPath, Json, Missing, Step
from pytest_extract.lazy import lazy_pattern

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
