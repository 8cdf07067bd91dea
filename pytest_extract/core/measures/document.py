"""Gold and extracted value side by side: what gates and document measures need of both, worked out once."""

from __future__ import annotations

from functools import cached_property

from pytest_extract.core.measures.paths import Declared, declare, path_map
from pytest_extract.core.parse.text import too_deep
from pytest_extract.core.validate import Validator, Violation
from pytest_extract.core.values import CONTAINERS, MISSING, Json, Missing


class DocumentMeasures:
    """What one schema asks of any output as a whole; thread-safe."""

    def __init__(self, schema: Json) -> None:
        self.validator = Validator(schema)

    @cached_property
    def _declared(self) -> Declared:
        return declare(self.validator.schema)

    def pair(self, gold: Json, extracted: Json | Missing) -> DocumentPair:
        """Return gold and output side by side."""
        return DocumentPair(gold, extracted, self.validator, self._declared)


class DocumentPair:
    """One comparison.

    extracted: MISSING without JSON, and where either side is nested too deeply to be walked (`deep`).
    structured: whether the extracted value is an object or an array, which is what SOB calls parsed.
    declared: types and required keys of the schema, as SOB reads them. wanted, found: the values of gold and of the
    output by path; shared: the number of paths of both.
    coverage: SOB's `path_set_f1` before hardening: F1 of the two path sets, 0 when either is empty.
    equal: Python equality of the whole values: 1, 1.0 and true are one, as in DeepJSONEval's `strict`.
    valid: whether the schema, under its declared draft, admits the extracted value.
    """

    def __init__(
        self, gold: Json, extracted: Json | Missing, validator: Validator, declared: Declared | None = None
    ) -> None:
        self.gold = gold
        self.validator = validator
        self.declared = declared or declare(validator.schema)
        self.deep = too_deep(gold) or too_deep(extracted)
        self.extracted = MISSING if self.deep else extracted
        self.wanted, self.found = path_map(MISSING if self.deep else gold), path_map(self.extracted)
        self.shared = len(self.wanted.values.keys() & self.found.values.keys())
        both = len(self.wanted.values) + len(self.found.values)
        self.coverage = 2 * self.shared / both if both else 0.0
        self.structured = isinstance(self.extracted, CONTAINERS)
        self.equal = self.extracted is not MISSING and bool(gold == self.extracted)
        self.valid = self.extracted is not MISSING and validator.is_valid(self.extracted)

    @property
    def valid_draft7(self) -> bool:
        """SOB's `schema_compliance`: an object or array that satisfies the schema under Draft 7."""
        return self.structured and self.validator.is_valid_draft7(self.extracted)

    @cached_property
    def violation(self) -> Violation | None:
        """First place where the extracted value breaks the schema."""
        return None if self.valid or self.extracted is MISSING else self.validator.first_error(self.extracted)

    @property
    def missing_required(self) -> list[str]:
        """Required paths that the output lacks: sorted, or all in schema order where nothing could be looked up."""
        if not self.structured or not self.validator.valid_schema_draft7:
            return [*self.declared.required]
        return self.declared.missing(self.found)

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
        """Paths of gold values that the output has not, in the order of the gold."""
        return [path for path in self.wanted.values if path not in self.found.values]


def written_alike(one: Json, other: Json) -> bool:
    """Whether two values equal in Python are also written the same in JSON: 1 and 1.0 are not, nor 0.0 and -0.0."""
    if type(one) is not type(other):
        return False
    if isinstance(one, dict):
        return all(written_alike(value, other[name]) for name, value in one.items())
    if isinstance(one, list):
        return all(map(written_alike, one, other))
    return not isinstance(one, float) or repr(one) == repr(other)
