"""Measures over what an extractor reports beside its values; an output has them where its case asks for them."""

from __future__ import annotations

from typing import Final

from pytest_extract.core.auto_accept import AcceptedCounts
from pytest_extract.core.measures.base import Measure

MEASURES: Final[tuple[Measure[[AcceptedCounts]], ...]] = (
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


def accepted_measures(counts: AcceptedCounts) -> dict[str, float]:
    """Return the measures of one output by name."""
    return {measure.name: measure.function(counts) for measure in MEASURES}
