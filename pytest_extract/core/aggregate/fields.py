"""Tables by field: over the field patterns of a run, and struct-extract-eval's run numbers (`core/record.py`)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from pytest_extract.core.measures.fields import harmonic_mean
from pytest_extract.core.results import COUNTED, SCORED, FieldResult, Status


@dataclass(slots=True, kw_only=True)
class FieldCounts:
    """How one field did: leaf results by status, their summed score, and the records that it occurs in."""

    match: int = 0
    mismatch: int = 0
    omission: int = 0
    hallucination: int = 0
    undecided: int = 0
    score: float = 0.0
    records: set[str] = field(default_factory=set)

    def add(self, leaf: FieldResult, record: str = "") -> None:
        """Count one leaf result; skipped ones do not count."""
        status = leaf.status
        if status in COUNTED:
            setattr(self, status, getattr(self, status) + 1)
            self.score += leaf.score if status in SCORED else 0.0
        elif status is Status.JUDGE_ERROR:
            self.undecided += 1
        else:
            return
        self.records.add(record)

    @property
    def compared(self) -> int:
        """Results with a value on both sides."""
        return self.match + self.mismatch

    @property
    def total(self) -> int:
        """All results that count; those that a judge left undecided do not."""
        return self.compared + self.omission + self.hallucination

    @property
    def mean_score(self) -> float:
        """Mean score, omissions and hallucinations as 0; 0.0 where nothing counts."""
        return self.score / self.total if self.total else 0.0

    @property
    def precision(self) -> float:
        """Score over what was extracted; 1.0 where that is nothing."""
        whole = self.compared + self.hallucination
        return self.score / whole if whole else 1.0

    @property
    def recall(self) -> float:
        """Score over what the gold holds; 1.0 where that is nothing."""
        whole = self.compared + self.omission
        return self.score / whole if whole else 1.0

    @property
    def f1(self) -> float:
        """Harmonic mean of precision and recall; 0.0 where both are 0, 1.0 where nothing counts."""
        return harmonic_mean(self.precision, self.recall)


def field_table(records: Iterable[tuple[str, Iterable[FieldResult]]]) -> dict[str, FieldCounts]:
    """Count leaf results by field pattern over records (name, leaf results); patterns in order of appearance."""
    table: dict[str, FieldCounts] = {}
    for record, leaves in records:
        for leaf in leaves:
            table.setdefault(leaf.pattern, FieldCounts()).add(leaf, record)
    return {pattern: counts for pattern, counts in table.items() if counts.records}


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
    each, per_field = [], dict[str, FieldCounts]()
    for leaves in records:
        counts = FieldCounts()
        each.append(counts)
        for leaf in leaves:
            counts.add(leaf)
            per_field.setdefault(str(leaf.path), FieldCounts()).add(leaf)
    return StructRun(
        mean_precision=_mean([counts.precision for counts in each]),
        mean_recall=_mean([counts.recall for counts in each]),
        mean_f1=_mean([counts.f1 for counts in each]),
        total_records=len(each),
        total_fields=sum(counts.total for counts in each),
        total_omissions=sum(counts.omission for counts in each),
        total_hallucinations=sum(counts.hallucination for counts in each),
        total_batch_errors=sum(counts.undecided for counts in each),
        per_field={path: counts for path, counts in per_field.items() if counts.total},
    )


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else 1.0
