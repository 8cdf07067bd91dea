"""Measures that an output has where its case asks for them: over what an extractor reports beside its values, rules."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from pytest_extract.core.auto_accept import AcceptedCounts
from pytest_extract.core.measures.base import Measure
from pytest_extract.core.results import RuleResult, RuleStatus


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
        return self.right / self.given if self.given else 1.0

    @property
    def recall(self) -> float:
        """Share of the values in the document that have a right citation; 1.0 without any."""
        return self.cited / self.citable if self.citable else 1.0


def rule_measures(results: Sequence[RuleResult]) -> dict[str, float]:
    """Return the measures of rules across fields by name."""
    applying = [
        result for result in results if result.severity == "error" and result.status is not RuleStatus.NOT_APPLICABLE
    ]
    held = sum(result.status is RuleStatus.HELD for result in applying)
    return {"rules_held": held / len(applying) if applying else 1.0}


def accepted_measures(counts: AcceptedCounts) -> dict[str, float]:
    """Return the measures of auto-accept by name."""
    return {"auto_accept_precision": counts.precision, "auto_accept_coverage": counts.coverage}


def citation_measures(counts: CitationCounts) -> dict[str, float]:
    """Return the measures of citations by name."""
    return {"citation_precision": counts.precision, "citation_recall": counts.recall}


MEASURES: Final = (
    Measure(
        "auto_accept_precision",
        "Right values / values that `auto_accept` takes; 1 where it takes none. Needs `auto_accept`.",
    ),
    Measure("auto_accept_coverage", "Values that `auto_accept` takes / compared values. Needs `auto_accept`."),
    Measure(
        "citation_precision", "Right citations / citations; 1 without any. Needs citations and a document with text."
    ),
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
)
