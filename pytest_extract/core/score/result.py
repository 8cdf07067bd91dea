"""The score of one output: results, gates and measures, the costly ones worked out when first asked for."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, Final

from pytest_extract.core.measures.fields import field_measures
from pytest_extract.core.results import Failure, FieldResult, Gates
from pytest_extract.core.score.document import Scored
from pytest_extract.core.score.run import ArrayPairing
from pytest_extract.core.semantics import Semantics
from pytest_extract.core.values import MISSING, Json

if TYPE_CHECKING:
    from pytest_extract.core.measures.document import DocumentScore

FORMAT: Final = 1


class Score:
    """How one output compares with gold. Read-only.

    fields: field results (leaves outside arrays, and one for each array); `leaves`: leaf results everywhere.
    arrays: how the rows of each array were paired, with precision, recall and F1.
    unread: why there was no output to score, None where there was one; `semantics`: the name of those used.
    vacuous: places where both sides agree only on having nothing; `questions_asked`: what the judge was asked.
    """

    def __init__(
        self,
        scored: Scored,
        document: Callable[[], DocumentScore],
        semantics: Semantics,
        *,
        failure: Failure | None = None,
        questions_asked: int = 0,
    ) -> None:
        self.fields: tuple[FieldResult, ...] = scored.fields
        self.leaves: tuple[FieldResult, ...] = scored.leaves
        self.arrays: tuple[ArrayPairing, ...] = scored.arrays
        self.vacuous = scored.vacuous
        self.unread = failure
        self.semantics: str = semantics.name
        self.questions_asked = questions_asked
        self._document_of = document
        self._empty = semantics.empty_rate

    def __repr__(self) -> str:
        return f"<Score {self.semantics}: {len(self.fields)} fields, {len(self.leaves)} leaves>"

    @cached_property
    def _document(self) -> DocumentScore:
        return self._document_of()

    @cached_property
    def gates(self) -> Gates:
        """The parse, root, schema and coverage gates, each with its arithmetic."""
        return self._document.gates

    @cached_property
    def failure(self) -> Failure | None:
        """Why the output does not count: why there is none, or a `schema_violation`; None where it does."""
        return self.unread or self._document.failure

    @cached_property
    def ungated(self) -> dict[str, float]:
        """The measures over results whatever the gates say: what an output that breaks its schema got right."""
        return field_measures(self.fields, self.leaves, empty=self._empty)

    @cached_property
    def measures(self) -> dict[str, float]:
        """All measures by name (contract, section 6); those over results are 0 where a structural gate fails."""
        own = self.ungated
        if self.unread is not None or not self.gates.structural:
            own = dict.fromkeys(own, 0.0)
        return {**own, **self._document.measures}

    def to_dict(self) -> dict[str, Json]:
        """Return plain JSON, as a line of the results file holds it."""
        gates = (self.gates.parse, self.gates.root, self.gates.schema, self.gates.coverage)
        return {
            "format": FORMAT,
            "semantics": self.semantics,
            "failure": None if self.failure is None else _failure(self.failure),
            "fields": [_result(result) for result in self.fields],
            "leaves": [_result(result) for result in self.leaves],
            "arrays": [_array(array) for array in self.arrays],
            "measures": dict(self.measures),
            "gates": {gate.name: {"passed": gate.passed, "factor": gate.factor, "why": gate.why} for gate in gates},
            "vacuous": self.vacuous,
            "questions": self.questions_asked,
        }


def _failure(failure: Failure) -> dict[str, Json]:
    return {
        "kind": str(failure.kind),
        "message": failure.message,
        "line": failure.line,
        "column": failure.column,
        "path": None if failure.path is None else str(failure.path),
    }


def _result(result: FieldResult) -> dict[str, Json]:
    found: dict[str, Json] = {
        "path": str(result.path),
        "pattern": result.pattern,
        "metric": result.metric,
        "params": dict(result.params),
        "status": str(result.status),
        "score": result.score,
        "passed": result.passed,
    }
    if result.gold is not MISSING:
        found["gold"] = result.gold
    if result.extracted is not MISSING:
        found["extracted"] = result.extracted
    found |= {"reason": result.reason, "weight": result.weight}
    if result.matched is not None:
        found["matched"] = str(result.matched)
    return found


def _array(array: ArrayPairing) -> dict[str, Json]:
    return {
        "path": str(array.path),
        "pairs": [list(pair) for pair in array.pairs],
        "missing": list(array.missing),
        "extra": list(array.extra),
        "precision": array.precision,
        "recall": array.recall,
        "f1": array.f1,
    }
