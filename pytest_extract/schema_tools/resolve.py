"""Resolving the references and compositions of a JSON Schema into one plain tree; schemas of OpenAPI and Gemini, too.

The steps are those of struct-extract-eval; what it loses on the way and resolving can keep is kept: annotations
beside a `$ref`, `required` of all branches, null, and recursion, which stays a `$ref` into `$defs`.
"""

from __future__ import annotations

from typing import Final

from pytest_extract.core.arguments import schema_argument
from pytest_extract.core.schema.source import SchemaSource, map_children, schema_objects
from pytest_extract.core.values import Json, json_type
from pytest_extract.errors import SchemaError

MOST_NODES: Final = 100_000
"""Schema objects that resolving may make: definitions that use each other twice double with each level."""

_NULLS: Final = ({"type": "null"}, {"type": None})
_BEYOND_TYPES: Final = frozenset(("$ref", "const", "allOf", "anyOf", "oneOf", "not", "if"))
"""Keywords that hold for null too, whatever types a schema allows."""
_OF_ROOT: Final = frozenset(("$schema", "$id", "id", "$defs", "definitions"))
"""Keywords to which references lead by their place in the document."""


def resolve_schema_references(schema: Json, *, published: bool = False) -> dict[str, Json]:
    """Return a new schema without local references, `allOf`, and `anyOf` that only lists types.

    In this order:

    1. each `$ref` is replaced by what it refers to; keys beside it win; a recursive one stays;
    2. the single branch of an `anyOf` beside null becomes part of its parent, whose type then has null too (the
       branch's keys win); one that says more than types and parts can, such as a recursive reference, stays;
    3. `allOf` is merged into its parent through `properties` and `items`: the first to define a key wins,
       `properties` and `required` are united;
    4. an `anyOf` whose branches all have types, two different ones at least, becomes `type: [...]`;
    5. `$defs` go, but for those that a recursive reference needs.

    `published`: exactly as struct-extract-eval, which drops null branches, keys beside a `$ref` and `required` of later
    branches.
    Raises SchemaError with the pointer of a reference that leads nowhere, out of the document, or (published, or
    outside `$defs`) back to itself.
    """
    schema = schema_argument(schema)
    if not isinstance(schema, dict):
        raise SchemaError(f"a schema to resolve must be an object, not {json_type(schema)}")
    try:
        return _Resolver(schema, keep=not published).resolved()
    except RecursionError:
        raise SchemaError("the schema is nested too deep to be resolved") from None


def _references(schema: Json) -> list[str]:
    return [ref for _, part in schema_objects(schema) if isinstance(ref := part.get("$ref"), str)]


def _is_definition(pointer: str) -> bool:
    return pointer.rpartition("/")[0] in {"/$defs", "/definitions"}


def _united(first: dict[str, Json], second: dict[str, Json], *, keep: bool) -> dict[str, Json]:
    """Return both as one: keys of the first win, `properties` are united; `keep`: also `required` and `allOf`."""
    merged = {**first, **{key: value for key, value in second.items() if key not in first}}
    for name in ("allOf", "required") if keep else ():
        if isinstance(one := first.get(name), list) and isinstance(other := second.get(name), list):
            merged[name] = [*one, *other] if name == "allOf" else list(dict.fromkeys([*one, *other]))
    if isinstance(first.get("properties"), dict) and isinstance(second.get("properties"), dict):
        merged["properties"] = _united(first["properties"], second["properties"], keep=False)
    return merged


class _Resolver:
    """Resolves one schema in the steps of `resolve_schema_references`; `keep`: with what struct-extract-eval loses."""

    def __init__(self, schema: dict[str, Json], *, keep: bool) -> None:
        self._keep = keep
        self._source = SchemaSource(schema if keep else self._without_nulls(schema, ""))
        self._made = 0

    def resolved(self) -> dict[str, Json]:
        resolved: dict[str, Json] = self._at("")
        resolved.pop("$defs", None)
        needed: dict[str, Json] = {}
        waiting = _references(resolved)
        while waiting:
            target = self._source.target(waiting.pop()) or ""
            name = target.removeprefix("/$defs/").replace("~1", "/").replace("~0", "~")
            if target.startswith("/$defs/") and name not in needed:
                needed[name] = self._at(target)
                waiting += _references(needed[name])
        return {**resolved, "$defs": needed} if needed else resolved

    def _at(self, pointer: str) -> Json:
        """Return what stands at a place of the document, resolved."""
        expanded = self._expanded(self._source.at(pointer), pointer, (pointer,))
        if not isinstance(expanded, dict):
            return expanded
        plain = self._without_nulls(expanded, "") if self._keep else expanded
        return self._with_type_lists(self._without_all_of(plain, ""), "")

    def _expanded(self, schema: Json, pointer: str, inside: tuple[str, ...]) -> Json:
        """Return the schema at `pointer` with its references replaced; those to a place that we are `inside` stay."""
        if not isinstance(schema, dict):
            return schema
        self._made += 1
        if self._made > MOST_NODES:
            raise SchemaError(f"resolving makes more than {MOST_NODES} schema objects", pointer=pointer)

        def change(child: Json, at: str) -> Json:
            return self._expanded(child, at, (*inside, at) if _is_definition(at) else inside)

        ref = schema.get("$ref")
        if not isinstance(ref, str):
            return map_children(schema, pointer, change)
        beside = map_children({key: value for key, value in schema.items() if key != "$ref"}, pointer, change)
        target = self._source.target(ref)
        if target is None:
            where = "leads nowhere in this document" if ref.startswith("#") else "leads out of this document"
            raise SchemaError(f"the reference {ref!r} {where}; only local references are resolved", pointer=pointer)
        if target in inside:
            if not self._keep or (target and not _is_definition(target)):
                advice = "; move what it refers to under `$defs` and it can stay" if self._keep else ""
                raise SchemaError(f"the reference {ref!r} leads back to itself{advice}", pointer=pointer)
            return {"$ref": ref, **beside}
        found = self._expanded(self._source.at(target), target, (*inside, target))
        if not isinstance(found, dict):
            return beside or found
        return _united(beside, found, keep=True) if self._keep else found

    def _without_nulls(self, schema: dict[str, Json], pointer: str) -> dict[str, Json]:
        """Return a schema in which the one branch beside null, or alone, is part of its parent.

        As published, null is then no longer allowed, nor beside several branches; `keep`: the type has it.
        """
        node = map_children(schema, pointer, self._without_nulls)
        if not isinstance(node.get("anyOf"), list):
            return node
        branches = [branch for branch in node["anyOf"] if branch not in _NULLS]
        only = branches[0] if len(branches) == 1 and isinstance(branches[0], dict) else None
        parent = {key: value for key, value in node.items() if key != "anyOf"}
        if only is None:
            return node if self._keep else {**node, "anyOf": branches}
        if not self._keep:
            return {**parent, **only}
        branch = self._all_of(only)
        merged = _united(branch, parent, keep=True)
        if len(node["anyOf"]) == 1:
            return merged
        if not isinstance(branch.get("type"), str | list) or not _BEYOND_TYPES.isdisjoint(branch):
            return node
        allowed = parent.get("type", "null")  # a type beside `anyOf` decides on null as well
        return with_null(merged) if "null" in allowed else merged

    def _without_all_of(self, schema: dict[str, Json], pointer: str) -> Json:
        return map_children(self._all_of(schema), pointer, self._without_all_of, keywords=("properties", "items"))

    def _all_of(self, schema: dict[str, Json]) -> dict[str, Json]:
        """Return a schema with its `allOf` merged; a recursive reference says what it says where it stands."""
        branches = schema.get("allOf")
        if not isinstance(branches, list):
            return schema
        merged = {key: value for key, value in schema.items() if key != "allOf"}
        left: list[Json] = []
        for branch in branches:
            if not isinstance(branch, dict) or "$ref" in branch:
                left.append(branch)
            else:
                merged = _united(merged, self._all_of(branch), keep=self._keep)
        return {**merged, "allOf": left} if left else merged

    def _with_type_lists(self, schema: dict[str, Json], pointer: str) -> Json:
        types = self._types_of(schema.get("anyOf"))
        if types is not None:
            schema = {key: value for key, value in schema.items() if key != "anyOf"} | {"type": types}
        # from the outside in, as published: an `anyOf` of which a branch is one itself stays
        return map_children(schema, pointer, self._with_type_lists)

    def _types_of(self, branches: Json) -> list[Json] | None:
        """Return the types that the branches of an `anyOf` name; None where it says more, or fewer than two."""
        if not isinstance(branches, list) or not all(isinstance(each, dict) and "type" in each for each in branches):
            return None
        named: list[Json] = []
        for branch in branches:
            named.extend(branch["type"] if isinstance(branch["type"], list) else [branch["type"]])
        types = list(dict.fromkeys(name for name in named if isinstance(name, str) and (self._keep or name != "null")))
        return types if len([name for name in types if name != "null"]) > 1 else None


DIALECTS: Final = ("openapi", "gemini")
_GEMINI_TYPES: Final = frozenset({"STRING", "NUMBER", "INTEGER", "BOOLEAN", "ARRAY", "OBJECT", "NULL"})


def is_gemini(schema: Json) -> bool:
    """Whether a schema names its type in capitals, as Gemini's do."""
    return isinstance(schema, dict) and isinstance(name := schema.get("type"), str) and name in _GEMINI_TYPES


def as_json_schema(schema: Json, pointer: str = "") -> Json:
    """Return a schema of OpenAPI 3.0 or Gemini as JSON Schema: `nullable`, exclusive bounds, types in capitals."""
    if not isinstance(schema, dict):
        return schema
    made = map_children(schema, pointer, as_json_schema)
    made.pop("propertyOrdering", None)
    if is_gemini(made):
        made["type"] = made["type"].lower()
    for exclusive, bound in (("exclusiveMinimum", "minimum"), ("exclusiveMaximum", "maximum")):
        if isinstance(is_exclusive := made.get(exclusive), bool):
            del made[exclusive]
            if is_exclusive and bound in made:
                made[exclusive] = made.pop(bound)
    if made.pop("nullable", False) is not True:
        return made
    if isinstance(made.get("type"), str | list) and _BEYOND_TYPES.isdisjoint(made):
        return with_null(made)
    outside = {name: made.pop(name) for name in [*made] if name in _OF_ROOT}
    return {**outside, "anyOf": [made, {"type": "null"}]}


def with_null(schema: dict[str, Json]) -> dict[str, Json]:
    """Return a schema that names its types, with null as one of them."""
    types = schema["type"]
    made = {**schema, "type": list(dict.fromkeys([*([types] if isinstance(types, str) else types), "null"]))}
    if isinstance(listed := schema.get("enum"), list) and None not in listed:
        made["enum"] = [*listed, None]
    return made
