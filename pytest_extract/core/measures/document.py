"""Gates and document measures of a schema: compiled once, asked for each output, nothing worked out twice."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple

from pytest_extract.core.gates import GateConfig, gates_of
from pytest_extract.core.measures import deepjson, sob
from pytest_extract.core.measures.document_pair import DocumentPair
from pytest_extract.core.measures.leaf_paths import Declared, declare
from pytest_extract.core.results import ArrayResult, Failure, FailureKind, Gates
from pytest_extract.core.validate.validator import Validator
from pytest_extract.core.values import Json, Missing


class DocumentMeasures:
    """What one schema asks of any output as a whole; thread-safe."""

    def __init__(self, validator: Validator) -> None:
        self.validator = validator

    @cached_property
    def _declared(self) -> Declared:
        return declare(self.validator.schema)

    def of(
        self,
        gold: Json,
        extracted: Json | Missing,
        *,
        failure: Failure | None = None,
        modality: str = "text",
        config: GateConfig | None = None,
        arrays: Sequence[ArrayResult] = (),
    ) -> DocumentScore:
        """Return gates and measures of one output; `failure` says why there is no value.

        `arrays` say how rows were matched, so that the coverage gate names the rows that the results name.
        """
        config = config or GateConfig()
        sides = DocumentPair(gold, extracted, self.validator, self._declared)
        gates = gates_of(sides, failure, modality, config, arrays)
        if failure is None and gates.root.passed and not gates.schema.passed:
            violation = sides.violation
            message, path = (gates.schema.why, None) if violation is None else (violation.message, violation.path)
            failure = Failure(kind=FailureKind.SCHEMA_VIOLATION, message=message, path=path)
        own = sob.sob_measures(sides, config.coverage(modality))
        return DocumentScore(gates, failure, {**own, **deepjson.deepjson_measures(sides)})


class DocumentScore(NamedTuple):
    """What one output is as a whole.

    failure: why the output does not count: why there is none, or, where the schema gate fails, `schema_violation`.
    measures: SOB's nine and DeepJSONEval's three, by their names in contract section 6.
    """

    gates: Gates
    failure: Failure | None
    measures: dict[str, float]
