"""The one table of measures, read-only: name -> row.

A new measure is a value that the function of its family returns by name, and a row. Case checks, aggregates, the
comparison of systems and the JSON Schema of the case file read their lists from here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from types import MappingProxyType
from typing import Final, NamedTuple

from pytest_extract.core.case_result import AcceptedCounts
from pytest_extract.core.results import COUNTED, SCORED, WRONG, FieldResult, RuleResult, RuleStatus, Status, share
from pytest_extract.core.values import Json, Missing, Step


class Measure(NamedTuple):
    """One measure of an output, a number in [0, 1]; a better output has a higher one.

    systems: the systems that report it; column: its name in a row that the published program writes, None without one.
    """

    name: str
    doc: str
    systems: tuple[str, ...] = ()
    column: str | None = None


ROWS: Final = (
    Measure("pass_rate", "Passed fields / evaluated fields.", ("default", "extract-bench")),
    Measure("mean_score", "Weighted mean score of the evaluated fields.", ("default", "extract-bench")),
    Measure("precision", "Sum of leaf scores / leaves that the output has.", ("default", "struct-extract-eval")),
    Measure("recall", "Sum of leaf scores / leaves that the gold has.", ("default", "struct-extract-eval")),
    Measure("f1", "Harmonic mean of precision and recall.", ("default", "struct-extract-eval")),
    Measure("leaf_accuracy", "Leaves that match / leaves of either side; one error counts once.", ("default",)),
    Measure(
        "kept_empty",
        "Places that both sides leave empty / places that the gold leaves empty; 1 without any. 1 - `kept_empty` is "
        "how often a value is invented there; invented rows count in `row_precision`.",
        ("default",),
    ),
    Measure("row_precision", "Rows that are right in every value / rows of the output; 1 without rows.", ("default",)),
    Measure("row_recall", "Rows that are right in every value / rows of the gold; 1 without rows.", ("default",)),
    Measure("row_f1", "Harmonic mean of `row_precision` and `row_recall`.", ("default",)),
    Measure("json_parse", "1 where the output is a JSON object or array.", ("sob",), "json_parse_success"),
    Measure("json_pass", "1 where the output satisfies the schema under Draft 7.", ("sob",), "schema_compliance"),
    Measure("value_accuracy", "Equal leaves / gold leaves, under schema and coverage gate.", ("sob",), "leaf_value_em"),
    Measure(
        "faithfulness", "Mean token F1 of gold leaves, under schema and coverage gate.", ("sob",), "value_token_f1"
    ),
    Measure(
        "path_recall", "Gold paths of the output / gold paths, under the schema gate.", ("sob",), "hier_path_recall"
    ),
    Measure("structure_coverage", "F1 of the two sets of leaf paths, under the schema gate.", ("sob",), "path_set_f1"),
    Measure("type_safety", "Leaves of the declared type / leaves, under the schema gate.", ("sob",), "type_precision"),
    Measure("perfect", "1 where the output is the gold but for the order of keys.", ("sob",), "strict_json_em"),
    Measure("required_key_recall", "Required keys of the output / required keys.", ("sob",), "required_key_recall"),
    Measure("syntax", "1 where the output satisfies the schema.", ("deepjsoneval",)),
    Measure("key_match", "Matching keys, level by level, of an output that satisfies the schema.", ("deepjsoneval",)),
    Measure("strict", "1 where an output that satisfies the schema equals the gold.", ("deepjsoneval",)),
    Measure(
        "auto_accept_precision", "Right values / those that `auto_accept` takes; 1 without any. Needs `auto_accept`."
    ),
    Measure("auto_accept_coverage", "Values that `auto_accept` takes / compared values. Needs `auto_accept`."),
    Measure("citation_precision", "Right citations / citations; 1 without any. Needs citations and a text."),
    Measure(
        "citation_recall",
        "Values with a right citation / extracted values that stand in the document. Needs citations and a text.",
    ),
    Measure(
        "rules_held",
        "Rules across fields that hold / rules that apply (unchecked ones do not hold); 1 where none applies. "
        "Needs `rules`.",
    ),
    Measure(
        "grounded_rate",
        "Extracted values that stand in the document / extracted values that a text can show. Needs citations, a "
        "threshold for it or `gates: {grounded: ...}`, and a document with text.",
    ),
    Measure("anls_star", "ANLS* (arXiv 2402.03848). Needs a threshold; for comparison with papers, not for a gate."),
    Measure("n_ted", "1 - tree edits / size of the gold (arXiv 2111.15664). Needs a threshold; for papers."),
)
MEASURES: Final[Mapping[str, Measure]] = MappingProxyType({measure.name: measure for measure in ROWS})
"""Every measure, in the order of tables; the random stream of the bootstrap runs through them in this order."""

SCORE_MEASURES: Final = tuple(measure.name for measure in ROWS if measure.systems)
"""The measures of every score; the others need more than gold and output, or a threshold."""

PUBLISHED_NAMES: Final[Mapping[str, str]] = {
    measure.name: measure.column for measure in ROWS if measure.column is not None
}
"""Our name of a measure of SOB -> the column of a published row."""


def measures_of_system(system: str) -> tuple[str, ...]:
    """Return the names of the measures that a system reports."""
    return tuple(name for name, measure in MEASURES.items() if system in measure.systems)


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
        return share(self.score, self.compared + self.hallucination)

    @property
    def recall(self) -> float:
        """Score over what the gold holds; 1.0 where that is nothing."""
        return share(self.score, self.compared + self.omission)

    @property
    def f1(self) -> float:
        """Harmonic mean of precision and recall; 0.0 where both are 0, 1.0 where nothing counts."""
        return harmonic_mean(self.precision, self.recall)


def harmonic_mean(precision: float, recall: float) -> float:
    """Return the harmonic mean of precision and recall; 0.0 where both are."""
    return 2 * precision * recall / (precision + recall) if precision + recall else 0.0


def count_leaves(leaves: Iterable[FieldResult]) -> FieldCounts:
    """Count leaf results of all patterns together."""
    counts = FieldCounts()
    for leaf in leaves:
        counts.add(leaf)
    return counts


def row_measures(leaves: Iterable[FieldResult]) -> dict[str, float]:
    """Return the shares of rows of objects that are right as a whole, by name; 1.0 where there is no row.

    The rows are those that leaf results lie in; a row inside a row is one more.
    """
    in_gold: set[tuple[Step, ...]] = set()
    in_output: set[tuple[Step, ...]] = set()
    wrong: set[tuple[Step, ...]] = set()
    for leaf in leaves:
        if leaf.status not in COUNTED:
            continue
        steps = tuple(leaf.path)
        inside = enumerate(pairwise(steps), start=1)
        around = [steps[:end] for end, (row, key) in inside if isinstance(row, int) and isinstance(key, str)]
        in_gold.update(around if leaf.status is not Status.HALLUCINATION else ())
        in_output.update(around if leaf.status is not Status.OMISSION else ())
        if leaf.status in WRONG:
            own = _rows_within(steps, leaf.gold, 0), _rows_within(steps, leaf.extracted, 1)
            in_gold.update(own[0])
            in_output.update(own[1])
            wrong.update(around, *own)
    right = len((in_gold | in_output) - wrong)
    precision, recall = share(right, len(in_output)), share(right, len(in_gold))
    return {"row_precision": precision, "row_recall": recall, "row_f1": harmonic_mean(precision, recall)}


def _rows_within(steps: tuple[Step, ...], value: Json | Missing, side: int) -> list[tuple[Step, ...]]:
    """Return the places of the rows that one side of a result compared as one is, or holds."""
    if isinstance(value, list):
        return [(*steps, side, index) for index, item in enumerate(value) if isinstance(item, dict)]
    return [steps] if isinstance(value, dict) and steps and isinstance(steps[-1], int) else []


def field_measures(
    fields: Iterable[FieldResult], leaves: Sequence[FieldResult], *, empty: float = 1.0, vacuous: int = 0
) -> dict[str, float]:
    """Return the measures over results by name; `empty` is the rate where no field was evaluated or nothing weighs.

    `vacuous`: places that are empty on both sides.
    """
    evaluated = [result for result in fields if result.status is not Status.SKIPPED]
    weight = sum([result.weight for result in evaluated])
    counts = count_leaves(leaves)
    paths = [leaf.path for leaf in leaves if leaf.status is Status.HALLUCINATION]
    invented = sum(all(isinstance(step, str) or step >= 0 for step in path) for path in paths)  # not in invented rows
    return {
        "pass_rate": sum([result.passed for result in evaluated]) / len(evaluated) if evaluated else empty,
        "mean_score": sum([result.score * result.weight for result in evaluated]) / weight if weight else empty,
        "precision": counts.precision,
        "recall": counts.recall,
        "f1": counts.f1,
        "leaf_accuracy": share(counts.match, counts.total),
        "kept_empty": share(vacuous, vacuous + invented),
        **row_measures(leaves),
    }


class CitationCounts(NamedTuple):
    """The citations of one output: how many are given and right, and of the values in the document how many are cited.

    citable: values that stand in the document; cited: those of them with a right citation.
    """

    given: int = 0
    right: int = 0
    citable: int = 0
    cited: int = 0

    @property
    def precision(self) -> float:
        """Share of the citations that are right; 1.0 without any."""
        return share(self.right, self.given)

    @property
    def recall(self) -> float:
        """Share of the values in the document that have a right citation; 1.0 without any."""
        return share(self.cited, self.citable)


def rule_measures(results: Sequence[RuleResult]) -> dict[str, float]:
    """Return the measures of rules across fields by name."""
    applying = [result for result in results if result.status is not RuleStatus.NOT_APPLICABLE]
    return {"rules_held": share(sum(result.status is RuleStatus.HELD for result in applying), len(applying))}


def accepted_measures(counts: AcceptedCounts) -> dict[str, float]:
    """Return the measures of auto-accept by name."""
    return {"auto_accept_precision": counts.precision, "auto_accept_coverage": counts.coverage}


def citation_measures(counts: CitationCounts) -> dict[str, float]:
    """Return the measures of citations by name."""
    return {"citation_precision": counts.precision, "citation_recall": counts.recall}
