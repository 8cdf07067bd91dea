"""Gates and document measures of a schema: compiled once, asked for each output, nothing worked out twice."""

from __future__ import annotations

from functools import cached_property

from pytest_extract.core.gates import GateConfig, gates_of
from pytest_extract.core.measures import deepjson, sob
from pytest_extract.core.measures.document_pair import DocumentPair
from pytest_extract.core.measures.leaf_paths import Declared, declare
from pytest_extract.core.results import Failure, FailureKind, Gates
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
    ) -> DocumentScore:
        """Return the lazy score of one output; `failure` says why there is no value."""
        sides = DocumentPair(gold, extracted, self.validator, self._declared)
        return DocumentScore(sides, failure, modality, config or GateConfig())


class DocumentScore:
    """Gates and measures of one output, each worked out when first asked for."""

    def __init__(self, sides: DocumentPair, failure: Failure | None, modality: str, config: GateConfig) -> None:
        self.sides = sides
        self._failure = failure
        self._modality = modality
        self._config = config

    @cached_property
    def gates(self) -> Gates:
        """The four gates."""
        return gates_of(self.sides, self._failure, self._modality, self._config)

    @cached_property
    def failure(self) -> Failure | None:
        """Why the output does not count: why there is none, or, where the schema gate fails, `schema_violation`."""
        if self._failure is not None or not self.gates.root.passed or self.gates.schema.passed:
            return self._failure
        violation = self.sides.violation
        if violation is None:
            return Failure(kind=FailureKind.SCHEMA_VIOLATION, message=self.gates.schema.why)
        return Failure(kind=FailureKind.SCHEMA_VIOLATION, message=violation.message, path=violation.path)

    @property
    def measures(self) -> dict[str, float]:
        """SOB's nine measures and DeepJSONEval's three, by their names in contract section 6."""
        gate = self._config.coverage(self._modality)
        return {**sob.sob_measures(self.sides, gate), **deepjson.deepjson_measures(self.sides)}
