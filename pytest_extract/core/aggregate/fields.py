"""Tables by field: over the field patterns of a run, and struct-extract-eval's run numbers (`core/record.py`)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

from pytest_extract.core.measures.fields import FieldCounts, count_leaves
from pytest_extract.core.results import FieldResult


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
    each = [count_leaves(leaves) for leaves in records]
    per_field: dict[str, FieldCounts] = {}
    for leaf in chain.from_iterable(records):
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
