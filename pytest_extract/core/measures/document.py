"""Gates and document measures of a schema: compiled once, asked for each output, nothing worked out twice."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Final, NamedTuple

from pytest_extract.core.gates import CoverageGate, GateConfig, gates_of
from pytest_extract.core.measures import deepjson, fields, sob
from pytest_extract.core.measures.document_pair import DocumentPair
from pytest_extract.core.measures.leaf_paths import Declared, declare
from pytest_extract.core.results import ArrayResult, Failure, FailureKind, Gates
from pytest_extract.core.validate import Validator
from pytest_extract.core.values import Json, Missing

SCORE_MEASURES: Final = tuple(measure.name for family in (fields, sob, deepjson) for measure in family.MEASURES)
"""The measures of every score; those of `reported` need more than gold and output."""


class DocumentMeasures:
    """What one schema asks of any output as a whole; thread-safe."""

    def __init__(self, schema: Callable[[], Json]) -> None:
        self._schema = schema

    @cached_property
    def validator(self) -> Validator:
        """The schema, ready to be asked."""
        return Validator(self._schema())

    @cached_property
    def _declared(self) -> Declared:
        return declare(self.validator.schema)

    def pair(self, gold: Json, extracted: Json | Missing) -> DocumentPair:
        """Return gold and output side by side."""
        return DocumentPair(gold, extracted, self.validator, self._declared)


class OutputCheck(NamedTuple):
    """Whether an output counts.

    failure: why it does not: why there is none, or, where the schema gate fails, `schema_violation`.
    """

    gates: Gates
    failure: Failure | None


def check_output(
    sides: DocumentPair,
    failure: Failure | None,
    modality: str,
    config: GateConfig,
    arrays: Sequence[ArrayResult] = (),
) -> OutputCheck:
    """Look at the gates of one output; `failure` says why there is no value.

    `arrays` say how rows were matched, so that the coverage gate names the rows that the results name.
    """
    gates = gates_of(sides, failure, modality, config, arrays)
    if failure is None and gates.root.passed and not gates.schema.passed:
        violation = sides.violation
        message, path = (gates.schema.why, None) if violation is None else (violation.message, violation.path)
        failure = Failure(kind=FailureKind.SCHEMA_VIOLATION, message=message, path=path)
    return OutputCheck(gates, failure)


def document_measures(sides: DocumentPair, gate: CoverageGate) -> tuple[float, ...]:
    """Return SOB's nine measures and DeepJSONEval's three, as `SCORE_MEASURES` ends with them."""
    return sob.sob_measures(sides, gate) + deepjson.deepjson_measures(sides)
