"""The one table of measures, read-only: name -> row.

A new measure is a value that the function of its family returns by name, and a row. Case checks, aggregates, the
comparison of systems and the JSON Schema of the case file read their lists from here.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from pytest_extract.core.measures import deepjson, fields, reported, sob
from pytest_extract.core.measures.base import Measure

MEASURES: Final[Mapping[str, Measure]] = MappingProxyType(
    {measure.name: measure for family in (fields, sob, deepjson, reported) for measure in family.MEASURES}
)
"""Every measure, in the order of tables; the random stream of the bootstrap runs through them in this order."""

THRESHOLD_MEASURES: Final = tuple(name for name, measure in MEASURES.items() if measure.threshold)
"""The measures that a threshold can bound."""


def measures_of_system(system: str) -> tuple[str, ...]:
    """Return the names of the measures that a system reports."""
    return tuple(name for name, measure in MEASURES.items() if system in measure.systems)
