"""Measures that an output has where its case asks for them: over what an extractor reports beside its values, rules."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

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


_OF_ACCEPTED: Final[tuple[Measure[[AcceptedCounts]], ...]] = (
    Measure(
        name="auto_accept_precision",
        function=lambda counts: counts.precision,
        doc="Right values / values that `auto_accept` takes; 1 where it takes none. Needs `auto_accept`.",
        systems=(),
    ),
    Measure(
        name="auto_accept_coverage",
        function=lambda counts: counts.coverage,
        doc="Values that `auto_accept` takes / compared values. Needs `auto_accept`.",
        systems=(),
    ),
)

_OF_CITATIONS: Final[tuple[Measure[[CitationCounts]], ...]] = (
    Measure(
        name="citation_precision",
        function=lambda counts: counts.precision,
        doc="Right citations / citations; 1 without any. Needs citations and a document with text.",
        systems=(),
    ),
    Measure(
        name="citation_recall",
        function=lambda counts: counts.recall,
        doc="Values with a right citation / extracted values that stand in the document. Needs citations and a text.",
        systems=(),
    ),
)


def _rules_held(results: Sequence[RuleResult]) -> float:
    applying = [
        result for result in results if result.severity == "error" and result.status is not RuleStatus.NOT_APPLICABLE
    ]
    held = sum(result.status is RuleStatus.HELD for result in applying)
    return held / len(applying) if applying else 1.0


_OF_RULES: Final[tuple[Measure[[Sequence[RuleResult]]], ...]] = (
    Measure(
        name="rules_held",
        function=_rules_held,
        doc="Rules across fields that hold / rules that apply (unchecked ones do not hold; those of severity `warning` "
        "are left out); 1 where none applies. Needs `rules`.",
        systems=(),
    ),
)

MEASURES: Final[tuple[Measure[Any], ...]] = (
    *_OF_ACCEPTED,
    *_OF_CITATIONS,
    *_OF_RULES,
    Measure(
        name="grounded_rate",
        function=lambda rate: rate,
        doc="Extracted values that stand in the document / extracted values that a text can show. Needs citations, a "
        "threshold for it or `gates: {grounded: ...}`, and a document with text.",
        systems=(),
    ),
)


def rule_measures(results: Sequence[RuleResult]) -> dict[str, float]:
    """Return the measures of rules across fields by name."""
    return {measure.name: measure.function(results) for measure in _OF_RULES}


def accepted_measures(counts: AcceptedCounts) -> dict[str, float]:
    """Return the measures of auto-accept by name."""
    return {measure.name: measure.function(counts) for measure in _OF_ACCEPTED}


def citation_measures(counts: CitationCounts) -> dict[str, float]:
    """Return the measures of citations by name."""
    return {measure.name: measure.function(counts) for measure in _OF_CITATIONS}
