"""The one table of measures, read-only: name -> row.

A new measure is a value that the function of its family returns by name, and a row. Case checks, aggregates, the
comparison of systems and the JSON Schema of the case file read their lists from here.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, NamedTuple


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
        "faithfulness",
        "Mean token F1 of gold leaves, under schema and coverage gate.",
        ("sob",),
        "value_token_f1",
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
        "Rules across fields that hold / rules that apply (unchecked ones do not hold; those of severity `warning` "
        "are left out); 1 where none applies. Needs `rules`.",
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
