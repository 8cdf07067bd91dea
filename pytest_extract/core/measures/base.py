"""What measures of documents are given: gold and extracted value side by side, worked out once.

A path of SOB is `a.b[0].c`; names are not escaped, so that two places may share a path: the later one counts, as
published. Empty containers, a scalar root and the key `""` of the root, whose path is empty, give no value.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache, partial
from typing import Final

from pytest_extract.core.parse.text import too_deep
from pytest_extract.core.validate import Validator, Violation
from pytest_extract.core.values import CONTAINERS, MISSING, Json, Missing
from pytest_extract.lazy import lazy_pattern

_PYTHON_TYPES: Final[dict[str, frozenset[type]]] = {
    "string": frozenset({str}),
    "integer": frozenset({int}),
    "number": frozenset({int, float}),
    "boolean": frozenset({bool}),
    "null": frozenset({type(None)}),
}
_NOTHING: Final[frozenset[type]] = frozenset()
_INDEX: Final = lazy_pattern(r"\[\d+\]")
_STEP: Final = lazy_pattern(r"(\[[-+]?\d+\])|((?:[^.\[]|\[(?![-+]?\d+\]))+)")


@dataclass(frozen=True, slots=True)
class PathMap:
    """The values of a document by path, at most MAX_DEPTH levels deep.

    first_rows: for each path, that of the same value in the first row of each list, which is all a type depends on.
    places: the paths of containers and values in first rows.
    """

    values: dict[str, Json]
    first_rows: dict[str, str]
    places: set[str]


def path_map(document: Json | Missing) -> PathMap:
    """Collect the values of a document, in its order."""
    found = PathMap({}, {}, set())
    stack = [("", "", document)] if document is not MISSING else []
    while stack:
        path, first_row, node = stack.pop()
        if path:
            found.places.add(first_row)
        if isinstance(node, dict):
            inside = [
                (f"{path}.{name}", f"{first_row}.{name}", child) if path else (name, name, child)
                for name, child in node.items()
            ]
        elif isinstance(node, list):
            inside = [(f"{path}[{index}]", f"{first_row}[0]", child) for index, child in enumerate(node)]
        else:
            if path:
                found.values[path] = node
                found.first_rows[path] = first_row
            continue
        stack.extend(reversed(inside))
    return found


class DocumentSchema:
    """A schema, ready to be compared with any output as a whole, and for SOB's lookups; thread-safe.

    What SOB does not follow has no type, nor has anything in a schema nested too deeply.
    """

    def __init__(self, schema: Json) -> None:
        self.validator = Validator(schema)

    @cached_property
    def _followed(self) -> Json:
        return {} if too_deep(self.validator.schema) else self.validator.schema

    @cached_property
    def _types_at(self) -> Callable[[str], frozenset[type]]:
        return lru_cache(4096)(partial(_types_at, self._followed))

    @cached_property
    def required(self) -> tuple[str, ...]:
        """The required paths in the schema's order."""
        return (*_required(self._followed, ""),)

    def count_typed(self, found: PathMap) -> int:
        """Count the values that have the type that the schema declares at their path."""
        return sum([type(value) in self._types_at(found.first_rows[path]) for path, value in found.values.items()])

    def missing(self, found: PathMap) -> list[str]:
        """List the required paths (`items[].name`) that a document has nowhere, sorted."""
        there = {_INDEX.sub("[]", place) for place in found.places}
        return sorted({path for path in self.required if path not in there})


def _types_at(schema: Json, path: str) -> frozenset[type]:
    """Return the types at a path read back from its text: names between dots, indices in brackets.

    Only exact `object` and `array` types are followed. Brackets around no number, at which the published program stops,
    belong to a name.
    """
    node = schema
    for index, name in _STEP.findall(path):
        kind = node.get("type") if isinstance(node, dict) else None
        if index:
            node = node.get("items") if kind == "array" else None
        else:
            members = node.get("properties") if kind == "object" else None
            node = members.get(name) if isinstance(members, dict) else None
    declared = node.get("type") if isinstance(node, dict) else None
    if isinstance(declared, str):
        return _PYTHON_TYPES.get(declared, _NOTHING)
    names = [name for name in declared if isinstance(name, str)] if isinstance(declared, list) else []
    real = [name for name in names if name != "null"]
    taken = real if len(real) == 1 else names  # one type besides null is that type alone, as published
    return _NOTHING.union(*(_PYTHON_TYPES.get(name, _NOTHING) for name in taken))


def _required(schema: Json, path: str) -> Iterator[str]:
    """Yield required keys depth first; what is required inside an optional object is not asked for, as published."""
    kind = schema.get("type") if isinstance(schema, dict) else None
    if kind == "array":
        yield from _required(schema.get("items"), f"{path}[]")
    listed = schema.get("required") if kind == "object" else None
    members = schema.get("properties") if kind == "object" else None
    for name in listed if isinstance(listed, list | str) else ():
        if isinstance(name, str):
            place = f"{path}.{name}" if path else name
            yield place
            yield from _required(members.get(name) if isinstance(members, dict) else None, place)


class DocumentPair:
    """One comparison.

    extracted: MISSING without JSON, and where either side is nested too deeply to be walked (`deep`).
    structured: whether the extracted value is an object or an array, which is what SOB calls parsed.
    wanted, found: the values of gold and of the output by path; shared: the number of paths of both.
    coverage: SOB's `path_set_f1` before hardening: F1 of the two path sets, 0 when either is empty.
    equal: Python equality of the whole values: 1, 1.0 and true are one, as in DeepJSONEval's `strict`.
    valid: whether the schema, under its declared draft, admits the extracted value.
    """

    def __init__(self, gold: Json, extracted: Json | Missing, schema: DocumentSchema) -> None:
        self.gold = gold
        self.schema = schema
        self.deep = too_deep(gold) or too_deep(extracted)
        self.extracted = MISSING if self.deep else extracted
        self.wanted, self.found = path_map(MISSING if self.deep else gold), path_map(self.extracted)
        self.shared = len(self.wanted.values.keys() & self.found.values.keys())
        both = len(self.wanted.values) + len(self.found.values)
        self.coverage = 2 * self.shared / both if both else 0.0
        self.structured = isinstance(self.extracted, CONTAINERS)
        self.equal = self.extracted is not MISSING and bool(gold == self.extracted)
        self.valid = self.extracted is not MISSING and schema.validator.is_valid(self.extracted)

    @property
    def valid_draft7(self) -> bool:
        """SOB's `schema_compliance`: an object or array that satisfies the schema under Draft 7."""
        return self.structured and self.schema.validator.is_valid_draft7(self.extracted)

    @cached_property
    def violation(self) -> Violation | None:
        """First place where the extracted value breaks the schema."""
        return None if self.valid or self.extracted is MISSING else self.schema.validator.first_error(self.extracted)

    @property
    def missing_required(self) -> list[str]:
        """Required paths that the output lacks: sorted, or all in schema order where nothing could be looked up."""
        if not self.structured or not self.schema.validator.valid_schema_draft7:
            return [*self.schema.required]
        return self.schema.missing(self.found)

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
