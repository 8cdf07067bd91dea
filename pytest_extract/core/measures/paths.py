"""Values by path as SOB writes them, and the types and required keys that a schema declares along such paths.

A path is `a.b[0].c`; names are not escaped, so that two places may share a path: the later one counts, as published.
Empty containers, a scalar root and the key `""` of the root, whose path is empty, give no value.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Final

from pytest_extract.core.parse.text import too_deep
from pytest_extract.core.values import MISSING, Json, Missing
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Declared:
    """A schema, ready for SOB's lookups: the Python types that fit at a path, and the required paths in its order."""

    types_at: Callable[[str], frozenset[type]]
    required: tuple[str, ...]

    def count_typed(self, found: PathMap) -> int:
        """Count the values that have the type that the schema declares at their path."""
        return sum([type(value) in self.types_at(found.first_rows[path]) for path, value in found.values.items()])

    def missing(self, found: PathMap) -> list[str]:
        """List the required paths (`items[].name`) that a document has nowhere, sorted."""
        there = {_INDEX.sub("[]", place) for place in found.places}
        return sorted({path for path in self.required if path not in there})


def declare(schema: Json) -> Declared:
    """Read a schema of any kind; what SOB does not follow has no type, nor has anything in one nested too deeply."""
    if too_deep(schema):
        schema = {}
    return Declared(types_at=lru_cache(4096)(partial(_types_at, schema)), required=(*_required(schema, ""),))


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
