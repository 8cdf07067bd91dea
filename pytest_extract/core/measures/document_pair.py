"""Gold and extracted value side by side: what gates and document measures need of both, worked out once."""

from __future__ import annotations

from pytest_extract.core.measures.leaf_counts import LeafCounts, count_leaves
from pytest_extract.core.measures.leaf_paths import Declared, declare, leaf_map, missing_required
from pytest_extract.core.parse.text import too_deep
from pytest_extract.core.validate import Validator, Violation
from pytest_extract.core.values import CONTAINERS, MISSING, Json, Missing


class DocumentPair:
    """One comparison.

    extracted: MISSING without JSON, and where either side is nested too deeply to be walked (`deep`).
    structured: whether the extracted value is an object or an array, which is what SOB calls parsed.
    declared: types and required keys of the schema, as SOB reads them; counts: over the leaves of both.
    coverage: SOB's `path_set_f1` before hardening: F1 of the two path sets, 0 when either is empty.
    equal: Python equality of the whole values: 1, 1.0 and true are one, as in DeepJSONEval's `strict`.
    valid: whether the schema, under its declared draft, admits the extracted value.
    """

    __slots__ = (
        "_violation", "counts", "coverage", "declared", "deep", "equal", "extracted", "gold", "structured", "valid",
        "validator",
    )  # fmt: skip

    def __init__(
        self,
        gold: Json,
        extracted: Json | Missing,
        validator: Validator,
        declared: Declared | None = None,
    ) -> None:
        self.gold = gold
        self.validator = validator
        self.declared = declared or declare(validator.schema)
        self.deep = too_deep(gold) or too_deep(extracted)
        self.extracted = MISSING if self.deep else extracted
        self.counts = LeafCounts() if self.deep else count_leaves(gold, extracted, self.declared)
        counts = self.counts
        self.coverage: float = 2 * counts.shared / (counts.expected + counts.found) if counts.shared else 0.0
        self.structured = isinstance(self.extracted, CONTAINERS)
        self.equal = not self.deep and self.extracted is not MISSING and bool(gold == self.extracted)
        self.valid = self.extracted is not MISSING and validator.is_valid(self.extracted)
        self._violation: Violation | None = None

    @property
    def valid_draft7(self) -> bool:
        """SOB's `schema_compliance`: an object or array that satisfies the schema under Draft 7."""
        return self.structured and self.validator.is_valid_draft7(self.extracted)

    @property
    def violation(self) -> Violation | None:
        """First place where the extracted value breaks the schema."""
        if self._violation is None and not self.valid and self.extracted is not MISSING:
            self._violation = self.validator.first_error(self.extracted)
        return self._violation

    @property
    def missing_required(self) -> list[str]:
        """Required paths that the output lacks: sorted, or all in schema order where nothing could be looked up."""
        if not self.structured or not self.validator.valid_schema_draft7:
            return [path for path, _ in self.declared.required]
        return missing_required(self.extracted, self.declared, ambiguous=self.counts.ambiguous)

    @property
    def identical(self) -> bool:
        """Equality of the JSON texts but for key order, as in SOB's `strict_json_em`.

        What is not structured counts as not parsed there, and that as null.
        """
        if self.deep:
            return False
        if not self.structured:
            return self.gold is None
        return self.equal and written_alike(self.gold, self.extracted)

    def lacking(self) -> list[str]:
        """Paths of gold leaves that the output has not, in the order of the gold."""
        found = leaf_map(self.extracted)
        return [path for path in leaf_map(self.gold) if path not in found]


def written_alike(one: Json, other: Json) -> bool:
    """Whether two values equal in Python are also written the same in JSON: 1 and 1.0 are not, nor 0.0 and -0.0."""
    if type(one) is not type(other):
        return False
    if isinstance(one, dict):
        return all(written_alike(value, other[name]) for name, value in one.items())
    if isinstance(one, list):
        return all(map(written_alike, one, other))
    return not isinstance(one, float) or repr(one) == repr(other)
