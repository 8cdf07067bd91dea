"""Gold and extracted value side by side: what gates and document measures need of both, worked out once."""

from __future__ import annotations

from functools import cached_property
from math import copysign

from pytest_extract.core.measures.leaves import Declared, Found, declare, leaf_map, typed_leaves
from pytest_extract.core.parse_text import too_deep
from pytest_extract.core.validate import Validator, Violation
from pytest_extract.core.values import MISSING, Json, Missing


class Sides:
    """One comparison; everything lazy. `extracted` is MISSING without JSON, and where either side is nested too deeply.

    `structured`: the extracted value is an object or an array, which is what SOB calls parsed.
    """

    def __init__(
        self, gold: Json, extracted: Json | Missing, validator: Validator, declared: Declared | None = None
    ) -> None:
        self.gold = gold
        self.validator = validator
        self.deep = too_deep(extracted) or too_deep(gold)
        self.extracted = MISSING if self.deep else extracted
        self.structured = isinstance(self.extracted, dict | list)
        self._declared = declared

    @cached_property
    def declared(self) -> Declared:
        """Types and required keys of the schema, as SOB reads them."""
        return self._declared or declare(self.validator.schema)

    @cached_property
    def gold_leaves(self) -> dict[str, Json]:
        """Path -> value of the gold's leaves."""
        return {} if self.deep else leaf_map(self.gold)

    @cached_property
    def found(self) -> Found:
        """Leaves of the extracted value, and how many have their declared type."""
        return typed_leaves(self.extracted, self.declared)

    @cached_property
    def shared(self) -> int:
        """Number of paths that both sides have."""
        return len(self.gold_leaves.keys() & self.found.values.keys())

    @cached_property
    def coverage(self) -> float:
        """SOB's `path_set_f1` before hardening: F1 of the two path sets, 0 when either is empty."""
        total = len(self.gold_leaves) + len(self.found.values)
        return 2 * self.shared / total if self.shared else 0.0

    @cached_property
    def valid(self) -> bool:
        """Whether the schema, under its declared draft, admits the extracted value."""
        return self.extracted is not MISSING and self.validator.is_valid(self.extracted)

    @cached_property
    def valid_draft7(self) -> bool:
        """SOB's `schema_compliance`: an object or array that satisfies the schema under Draft 7."""
        if not self.structured or not self.validator.valid_schema_draft7:
            return False
        return self.valid if self.validator.same_as_draft7 else self.validator.is_valid_draft7(self.extracted)

    @cached_property
    def violation(self) -> Violation | None:
        """First place where the extracted value breaks the schema."""
        return None if self.valid or self.extracted is MISSING else self.validator.first_error(self.extracted)

    @cached_property
    def equal(self) -> bool:
        """Python equality of the whole values: 1, 1.0 and true are one, as in DeepJSONEval's `strict`."""
        return not self.deep and self.extracted is not MISSING and bool(self.gold == self.extracted)

    @cached_property
    def identical(self) -> bool:
        """Equality of the JSON texts but for key order, as in SOB's `strict_json_em`; no JSON counts as null there."""
        if self.deep:
            return False
        if self.extracted is MISSING:
            return self.gold is None
        return self.equal and same_types(self.gold, self.extracted)


def same_types(one: Json, other: Json) -> bool:
    """Whether two values that are equal in Python are written the same in JSON: 1 and 1.0 are not, nor 0.0 and -0.0."""
    kind = type(one)
    if kind is not type(other):
        return False
    if kind is dict:
        return all(_same(value, other[name]) for name, value in one.items())
    if kind is list:
        return all(map(_same, one, other))
    return _same(one, other)


def _same(one: Json, other: Json) -> bool:
    kind = type(one)
    if kind is dict or kind is list:
        return same_types(one, other)
    if kind is not type(other):
        return False
    return kind is not float or one != 0.0 or copysign(1.0, one) == copysign(1.0, other)
