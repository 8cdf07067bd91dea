"""Resolving the references and compositions of a JSON Schema into one plain tree; schemas of OpenAPI and Gemini, too.

The steps are those of struct-extract-eval; what it loses on the way and resolving can keep is kept: annotations
beside a `$ref`, `required` of all branches, null, and recursion, which stays a `$ref` into `$defs`.
"""

from __future__ import annotations

from dataclasses import dataclass
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
        return _resolve(schema, keep=not published)
    except RecursionError:
        raise SchemaError("the schema is nested too deep to be resolved") from None


def _resolve(schema: dict[str, Json], *, keep: bool) -> dict[str, Json]:
    plain = schema if keep else _without_nulls(schema, "", keep=False)
    source = SchemaSource(plain)
    expander = _Expander(source, keep=keep)

    def finish(expanded: Json) -> Json:
        plain = _without_nulls(expanded, "", keep=True) if keep else expanded
        return _type_lists(_merge_all_of(plain, "", keep=keep), "", keep=keep)

    resolved: dict[str, Json] = finish(expander.expand(plain, "", ("",)))
    resolved.pop("$defs", None)
    needed: dict[str, Json] = {}
    waiting = _references(resolved)
    while waiting:
        target = source.target(waiting.pop()) or ""
        name = target.removeprefix("/$defs/").replace("~1", "/").replace("~0", "~")
        if target.startswith("/$defs/") and name not in needed:
            needed[name] = finish(expander.expand(source.at(target), target, (target,)))
            waiting += _references(needed[name])
    return {**resolved, "$defs": needed} if needed else resolved


def _references(schema: Json) -> list[str]:
    return [ref for _, part in schema_objects(schema) if isinstance(ref := part.get("$ref"), str)]


# --- 1. null branches


def _without_nulls(schema: Json, pointer: str, *, keep: bool) -> Json:
    """Return a schema in which the one branch beside null, or alone, is part of its parent.

    As published, null is then no longer allowed, nor beside several branches; `keep`: the type has it.
    """
    if not isinstance(schema, dict):
        return schema
    node = map_children(schema, pointer, lambda child, at: _without_nulls(child, at, keep=keep))
    if not isinstance(node.get("anyOf"), list):
        return node
    branches = [branch for branch in node["anyOf"] if branch not in _NULLS]
    only = branches[0] if len(branches) == 1 and isinstance(branches[0], dict) else None
    parent = {key: value for key, value in node.items() if key != "anyOf"}
    if only is None:
        return node if keep else {**node, "anyOf": branches}
    if not keep:
        return {**parent, **only}
    branch = _all_of(only, keep=True)
    if len(node["anyOf"]) == 1:
        return _over(branch, parent)
    if not isinstance(branch.get("type"), str | list) or not _BEYOND_TYPES.isdisjoint(branch):
        return node
    merged = _over(branch, parent)
    allowed = parent.get("type", "null")  # a type beside `anyOf` decides on null as well
    return with_null(merged) if "null" in allowed else merged


def _over(first: dict[str, Json], second: dict[str, Json]) -> dict[str, Json]:
    """Return both schemas as one: keys of the first win, `properties`, `required` and `allOf` are united."""
    merged = _first_wins(first, second)
    if isinstance(first.get("allOf"), list) and isinstance(second.get("allOf"), list):
        merged["allOf"] = [*first["allOf"], *second["allOf"]]
    if isinstance(first.get("required"), list) and isinstance(second.get("required"), list):
        merged["required"] = list(dict.fromkeys([*first["required"], *second["required"]]))
    return merged


def _first_wins(first: dict[str, Json], second: dict[str, Json]) -> dict[str, Json]:
    """Return both schemas as one, as published: `required` of the second is lost if the first has one."""
    merged = {**first, **{key: value for key, value in second.items() if key not in first}}
    if isinstance(first.get("properties"), dict) and isinstance(second.get("properties"), dict):
        merged["properties"] = _first_wins(first["properties"], second["properties"])
    return merged


# --- 2. references


@dataclass(slots=True)
class _Expander:
    """Replaces references, and counts the schema objects that it makes."""

    source: SchemaSource
    keep: bool
    nodes: int = 0

    def expand(self, schema: Json, pointer: str, inside: tuple[str, ...]) -> Json:
        """Return the schema at `pointer` with its references replaced; those to a place that we are `inside` stay."""
        if not isinstance(schema, dict):
            return schema
        self.nodes += 1
        if self.nodes > MOST_NODES:
            raise SchemaError(f"resolving makes more than {MOST_NODES} schema objects", pointer=pointer)

        def change(child: Json, at: str) -> Json:
            return self.expand(child, at, (*inside, at) if _is_definition(at) else inside)

        ref = schema.get("$ref")
        if not isinstance(ref, str):
            return map_children(schema, pointer, change)
        beside = map_children({key: value for key, value in schema.items() if key != "$ref"}, pointer, change)
        return self._replace(ref, beside, pointer, inside)

    def _replace(self, ref: str, beside: dict[str, Json], pointer: str, inside: tuple[str, ...]) -> Json:
        target = self.source.target(ref)
        if target is None:
            where = "leads nowhere in this document" if ref.startswith("#") else "leads out of this document"
            raise SchemaError(f"the reference {ref!r} {where}; only local references are resolved", pointer=pointer)
        if target in inside:
            if not self.keep:
                raise SchemaError(f"the reference {ref!r} leads back to itself", pointer=pointer)
            if target and not _is_definition(target):
                advice = "move what it refers to under `$defs` and it can stay"
                raise SchemaError(f"the reference {ref!r} leads back to itself; {advice}", pointer=pointer)
            return {"$ref": ref, **beside}
        found = self.expand(self.source.at(target), target, (*inside, target))
        if not isinstance(found, dict):
            return beside or found
        return _over(beside, found) if self.keep else found


def _is_definition(pointer: str) -> bool:
    return pointer.rpartition("/")[0] in {"/$defs", "/definitions"}


# --- 3. allOf


def _merge_all_of(schema: Json, pointer: str, *, keep: bool) -> Json:
    if not isinstance(schema, dict):
        return schema
    merged = _all_of(schema, keep=keep)
    return map_children(
        merged, pointer, lambda child, at: _merge_all_of(child, at, keep=keep), keywords=("properties", "items")
    )


def _all_of(schema: dict[str, Json], *, keep: bool) -> dict[str, Json]:
    branches = schema.get("allOf")
    if not isinstance(branches, list):
        return schema
    merged = {key: value for key, value in schema.items() if key != "allOf"}
    left: list[Json] = []
    for branch in branches:
        if not isinstance(branch, dict) or "$ref" in branch:
            left.append(branch)  # a recursive reference says what it says where it stands
            continue
        inner = _all_of(branch, keep=keep)
        merged = _over(merged, inner) if keep else _first_wins(merged, inner)
    return {**merged, "allOf": left} if left else merged


# --- 4. lists of types


def _type_lists(schema: Json, pointer: str, *, keep: bool) -> Json:
    if not isinstance(schema, dict):
        return schema
    types = _types_of(schema.get("anyOf"), keep=keep)
    if types is not None:
        schema = {key: value for key, value in schema.items() if key != "anyOf"} | {"type": types}
    # from the outside in, as published: an `anyOf` of which a branch is one itself stays
    return map_children(schema, pointer, lambda child, at: _type_lists(child, at, keep=keep))


def _types_of(branches: Json, *, keep: bool) -> list[Json] | None:
    """Return the types that the branches of an `anyOf` name; None where it says more, or fewer than two."""
    if not isinstance(branches, list) or not all(isinstance(branch, dict) and "type" in branch for branch in branches):
        return None
    named: list[Json] = []
    for branch in branches:
        named.extend(branch["type"] if isinstance(branch["type"], list) else [branch["type"]])
    types = list(dict.fromkeys(name for name in named if isinstance(name, str) and (keep or name != "null")))
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
    return _nullable(made) if made.pop("nullable", False) is True else made


def _nullable(schema: dict[str, Json]) -> dict[str, Json]:
    if isinstance(schema.get("type"), str | list) and _BEYOND_TYPES.isdisjoint(schema):
        return with_null(schema)
    outside = {name: value for name, value in schema.items() if name in _OF_ROOT}
    inside = {name: value for name, value in schema.items() if name not in _OF_ROOT}
    return {**outside, "anyOf": [inside, {"type": "null"}]}


def with_null(schema: dict[str, Json]) -> dict[str, Json]:
    """Return a schema that names its types, with null as one of them."""
    types = schema["type"]
    made = {**schema, "type": list(dict.fromkeys([*([types] if isinstance(types, str) else types), "null"]))}
    if isinstance(listed := schema.get("enum"), list) and None not in listed:
        made["enum"] = [*listed, None]
    return made
