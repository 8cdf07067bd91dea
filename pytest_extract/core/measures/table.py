"""The one table of measures, read-only: name -> row.

A new measure is a value that the function of its family returns by name, and a row. Case checks, aggregates, the
comparison of systems and the JSON Schema of the case file read their lists from here.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from pytest_extract.core.measures import deepjson, fields, papers, reported, sob

if TYPE_CHECKING:
    from pytest_extract.core.gates import CoverageGate
    from pytest_extract.core.measures.base import DocumentPair, Measure

SCORE_MEASURES: Final = tuple(measure.name for family in (fields, sob, deepjson) for measure in family.MEASURES)
"""The measures of every score; those of `reported` need more than gold and output, those of `papers` a threshold."""

MEASURES: Final[Mapping[str, Measure]] = MappingProxyType(
    {measure.name: measure for family in (fields, sob, deepjson, reported, papers) for measure in family.MEASURES}
)
"""Every measure, in the order of tables; the random stream of the bootstrap runs through them in this order."""


def document_measures(sides: DocumentPair, gate: CoverageGate) -> dict[str, float]:
    """Return SOB's nine measures and DeepJSONEval's three."""
    return sob.sob_measures(sides, gate) | deepjson.deepjson_measures(sides)


def measures_of_system(system: str) -> tuple[str, ...]:
    """Return the names of the measures that a system reports."""
    return tuple(name for name, measure in MEASURES.items() if system in measure.systems)
